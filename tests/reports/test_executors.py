"""Studies on loky, Dask and submitit: the rows of a local run, whatever becomes of a worker, and
resumed on any of them.
"""

import os
import platform
import signal
import socket
import sys
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import distributed
import fake_backends
import pytest
from command import environment, refused, solving_here, start
from gated import gated
from refusals import raises_input_error
from waiting import is_alive, within

from discreet import Status
from discreet.errors import Absent
from discreet.reports.measurements import read_csv
from discreet.reports.study import executors, runner
from discreet.reports.study.cells import cells_of
from discreet.reports.study.executors import check_executor, open_executor
from discreet.reports.study.plan import AttemptLimits, parse_study
from discreet.reports.study.runner import run_cells
from discreet.reports.study.store import Store, rows, write_reference

STUDY = """
name = "spread"
[limits]
time_seconds = 20
[profiles.default]
gap = 1e-9
[[backends]]
name = "tilt"
[[backends]]
name = "highs"
[[backends]]
name = "fake-raises"
[[backends]]
name = "fake-kills-worker"
[[instances]]
problem = "paper-single"
budgets = ["perfect"]
parameters = { bins = 4 }
"""


SIX = STUDY.replace("bins = 4", "bins = [4, 5]").replace(
    '[[backends]]\nname = "fake-kills-worker"\n', ""
)


def study_cells(text=STUDY):
    return cells_of(parse_study(text, "spread.toml")).cells


@pytest.fixture(autouse=True)
def trial(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", f"{fake_backends.TRIAL},{fake_backends.KILLS_WORKER}")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 0)


@pytest.fixture(scope="module")
def note(tmp_path_factory):
    """Where a backend that hangs writes the numbers of its processes."""
    return tmp_path_factory.mktemp("note") / "pids"


@pytest.fixture(scope="module")
def address(note):
    """Return a client of a cluster of one worker, which Dask replaces when it dies."""
    import dask

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_BACKENDS", f"{fake_backends.TRIAL},{fake_backends.KILLS_WORKER}")
        patch.setenv("FAKE_CHILD", str(note))
        settings = {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.comm.timeouts.connect": "60s",
        }
        with (
            dask.config.set(settings),
            distributed.LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                processes=True,
                dashboard_address=":0",
                memory_limit=0,
                silence_logs=50,
            ) as cluster,
        ):
            yield cluster.scheduler_address


SLURM = {
    "sbatch": """
        export SLURM_JOB_ID=$$ SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1
        cp "$1" "$QUEUE/submitted"
        cp "$1" "$QUEUE/script-$SLURM_JOB_ID"
        (sh "$QUEUE/script-$SLURM_JOB_ID"; touch "$QUEUE/over-$SLURM_JOB_ID") > /dev/null 2>&1 &
        echo "Submitted batch job $SLURM_JOB_ID\"""",
    "srun": """
        while :; do case "$1" in --output|--error) shift 2;; -*) shift;; *) break;; esac; done
        exec "$@\"""",
    "sacct": """
        echo "JobID|State|NodeList"
        for id in "$@"; do
            if [ -e "$QUEUE/over-$id" ]; then echo "$id|OUT_OF_MEMORY|node"; else echo "$id|RUNNING|node"; fi
        done""",
    "scancel": """echo "$@" >> "$QUEUE/cancelled\"""",
}
"""What submitit calls of SLURM: here a job begins at once from a copy of its script, since submitit
moves the script as soon as `sbatch` returns; of one that is over it is said that it ran out of
memory.
"""


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A folder of these programs, which keeps what was submitted."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, text in SLURM.items():
        (folder / name).write_text(f"#!/bin/sh\n{text.strip()}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("QUEUE", str(folder))
    return folder


def outcome(row):
    """Return the fields that depend neither on the clock nor on the place."""
    return (
        row.cell,
        row.label,
        row.status.value,
        row.upper,
        row.lower,
        row.own_leakage_nats,
        row.iterations,
        row.message,
    )


def on(words, folder, cells):
    """Run the missing cells of a study in a folder, one executor after another."""
    with Store(folder) as store, open_executor(words, folder, AttemptLimits(20.0)) as executor:
        run_cells(cells, store, store.finished()[0], None, executor)


@pytest.mark.gate
def test_begun_here_continued_on_each_executor_no_cell_twice_and_the_rows_of_a_local_run(
    tmp_path, address, queue
):
    by_backend = {cell.configuration.backend: cell for cell in study_cells()}
    cells = [by_backend[name] for name in ("highs", "fake-kills-worker", "tilt", "fake-raises")]
    with pytest.MonkeyPatch.context() as patch:
        solving_here(patch)
        on("local", tmp_path / "local", [cells[0], *cells[2:]])
        on("local", tmp_path / "spread", cells[:1])
    for number, words in enumerate(("loky:2", f"dask:{address}", "submitit:long"), start=2):
        on(words, tmp_path / "spread", cells[:number])
    by_key = {row.cell: row for row in rows(tmp_path / "spread")}
    highs, lost, *_ = found = [by_key.pop(cell.key) for cell in cells]
    assert not by_key
    assert [row.executor for row in found] == ["local", "loky", "dask", "submitit"]
    measured = [highs, *found[2:]]
    assert sorted(map(outcome, measured)) == sorted(map(outcome, rows(tmp_path / "local")))
    assert {row.host for row in measured} == {platform.node()}
    assert all(
        len(row.control_seconds) == 2 and 0.0 < row.load < 1e6 and row.machine["processor"]
        for row in measured
    )
    assert not (tmp_path / "spread" / "jobs").exists()
    submitted = (queue / "submitted").read_text()
    assert all(
        f"#SBATCH --{asked}\n" in submitted
        for asked in ("partition=long", "cpus-per-task=1", "mem=6GB", "time=4")
    )
    assert lost.message == "a worker process died (SIGKILL(-9)), and again when the cell ran alone"
    assert lost.status is Status.FAILED
    assert (lost.host, dict(lost.machine), lost.control_seconds) == ("", {}, ())

    write_reference(tmp_path / "spread", tmp_path / "rows.csv")
    published = read_csv(tmp_path / "rows.csv")
    assert {row.host for row in published} == {"host 1", ""}


@pytest.mark.parametrize("where", gated(["loky:1", "dask"]))
def test_a_lost_worker_is_told_from_other_exceptions_and_replaced(tmp_path, where, request):
    words = f"dask:{request.getfixturevalue('address')}" if where == "dask" else where
    with open_executor(words, tmp_path, AttemptLimits()) as executor:
        with pytest.raises((BrokenProcessPool, distributed.scheduler.KilledWorker)) as died:
            executor.submit(signal.raise_signal, signal.SIGKILL).result()
        assert "died" in executor.lost(died.value)
        with pytest.raises(ZeroDivisionError) as raised:
            executor.submit(divmod, 1, 0).result()
        assert executor.lost(raised.value) == ""
        assert executor.submit(divmod, 7, 2).result() == (3, 1)


def test_a_job_that_is_lost_or_cancelled(tmp_path, queue):
    with open_executor("submitit:long", tmp_path, AttemptLimits()) as executor:
        executor._executor._executor.python = "false"
        lost = executor.submit(divmod, 7, 2)
        cancelled = executor.submit(divmod, 7, 2)
        assert within(30, lambda: len([*queue.glob("over-*")]) == 2)
        with pytest.raises(Exception, match="OUT_OF_MEMORY") as ended:
            lost.result()
        assert executor.lost(ended.value) == "its job ended without a result (state OUT_OF_MEMORY)"
        assert executor.lost(ValueError("another")) == ""
        executor.stop([cancelled])
        assert (queue / "cancelled").read_text().split() == [cancelled._job.job_id]
    kept = [path.name for path in (tmp_path / "jobs").iterdir()]
    assert kept
    assert not [name for name in kept if name.startswith(cancelled._job.job_id)]


def test_ctrl_c_waits_until_a_job_is_known():
    known = []

    def submit():
        with executors._defer_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            known.append("a job")

    with pytest.raises(KeyboardInterrupt):
        submit()
    assert known


# -- the loop, with an executor that does what the test says
# ----------------------------------------------------------------


class Gone(Exception):
    """A worker is lost."""


class Scripted:
    """Runs a call when it is asked for the result, after losing the worker of some cells several
    times.
    """

    name = "loky"
    run = "a run"
    pause = 0.0

    def __init__(self, room, losses, fault=None):
        self._room = room
        self.losses = losses
        self.fault = fault
        self.under_way = []
        self.open = {}
        self.stopped = []

    def room(self):
        return self._room

    def submit(self, function, *given):
        cell = given[-1]
        future = Scripted.Call(self, lambda: function(*given), cell.key)
        self.open[future] = cell.key
        self.under_way.append(tuple(self.open.values()))
        return future

    def lost(self, error):
        return "the worker is gone" if isinstance(error, Gone) else ""

    def stop(self, futures):
        self.stopped = [self.open[future] for future in futures]

    def close(self):
        raise AssertionError("whoever opened it closes it")

    class Call:
        def __init__(self, owner, work, key):
            self.owner = owner
            self.work = work
            self.key = key

        def done(self):
            """Only with a full house, or when nothing else can be added."""
            return True

        def result(self):
            del self.owner.open[self]
            if self.owner.fault is not None:
                raise self.owner.fault
            if self.owner.losses.get(self.key, 0):
                self.owner.losses[self.key] -= 1
                raise Gone
            return self.work()


def run_scripted(tmp_path, executor, cells):
    with Store(tmp_path) as store:
        run_cells(cells, store, store.finished()[0], None, executor)
    return {row.cell: row for row in rows(tmp_path)}


@pytest.fixture
def cells(monkeypatch):
    solving_here(monkeypatch)
    return study_cells(SIX)


def test_cells_whose_worker_was_lost_run_once_more_alone(tmp_path, cells):
    keys = [cell.key for cell in cells]
    executor = Scripted(2, {keys[0]: 1, keys[1]: 1, keys[3]: 2})
    found = run_scripted(tmp_path, executor, cells)
    assert executor.under_way == [
        (keys[0],),
        (keys[0], keys[1]),
        (keys[0],),
        (keys[1],),
        (keys[2],),
        (keys[2], keys[3]),
        (keys[3],),
        (keys[4],),
        (keys[4], keys[5]),
    ]
    assert [found[key].cells_at_once for key in keys] == [1, 1, 2, 1, 2, 2]
    assert found[keys[3]].message == "the worker is gone, and again when the cell ran alone"
    assert found[keys[0]].status is not Status.ABSENT
    assert sum(row.message.startswith("the worker") for row in found.values()) == 1


def test_a_fault_of_the_workers_stops_the_study_and_ends_what_runs(tmp_path, cells):
    executor = Scripted(3, {}, ModuleNotFoundError("No module named 'discreet'"))
    with raises_input_error(r"loky .*'discreet'"):
        run_scripted(tmp_path, executor, cells)
    assert executor.stopped == [cell.key for cell in cells[1:3]]


def test_a_worker_with_other_versions_is_refused(tmp_path, cells, monkeypatch):
    keys = [cell.key for cell in cells]
    monkeypatch.setattr(runner, "versions", lambda *_: {**cells[0].versions, "numpy": "1.0"})
    with raises_input_error(r"numpy 1\.0, .*\d"):
        run_scripted(tmp_path, Scripted(1, {}), cells)
    assert [cell.key for cell in cells] == keys


def test_a_setting_of_bad_value_is_a_row(tmp_path, monkeypatch):
    solving_here(monkeypatch)
    cells = study_cells(
        SIX.replace('name = "fake-raises"', 'name = "tilt"\nsettings = { threads = "tiny" }')
    )
    found = run_scripted(tmp_path, Scripted(1, {}), cells)
    assert (
        sorted(row.message.partition(":")[0] for row in found.values() if not row.certified)
        == ["tilt"] * 2
    )
    assert sum("'tiny'" in row.message and not row.traceback for row in found.values()) == 2
    assert sum(row.certified for row in found.values()) == 4


def test_what_goes_wrong_around_a_backend_is_a_row_too(tmp_path, cells, monkeypatch):
    def measured(cell):
        if cell is cells[0]:
            raise MemoryError("cannot allocate 8 GiB")
        return replace(runner._failed_row(cell, "for the test"), status=Status.CERTIFIED)

    monkeypatch.setattr(runner, "measure", measured)
    found = run_scripted(tmp_path, Scripted(2, {}), cells)
    assert found[cells[0].key].message == "MemoryError: cannot allocate 8 GiB"
    assert sum(row.certified for row in found.values()) == len(cells) - 1


# -- what may be asked for
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, said",
    {
        "lokey": "'loky'",
        "loky:0": "loky:WORKERS",
        "loky:": "loky:WORKERS",
        "local:2": "give local",
        "dask": "dask:ADDRESS",
        "submitit:": "submitit:PARTITION",
    }.items(),
)
def test_other_words_are_refused_in_one_sentence(words, said, tmp_path):
    assert said in refused("bench quick --executor", words, "--out", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_missing_library_is_refused_with_its_extra(monkeypatch):
    others = [each for each in executors._EXECUTORS.values() if each.library[0]]
    for each in others:
        name, extra = each.library
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(Absent, match=rf'pip install "discreet\[{extra}\]"'):
            check_executor(f"{each.name}:1")


def test_no_scheduler_and_no_queue_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "_CONNECT", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as deaf,
        raises_input_error(r"Dask .*'127\.0\.0\.1:\d+' .*0\.5 s"),
        open_executor(f"dask:127.0.0.1:{deaf.getsockname()[1]}", tmp_path, AttemptLimits()),
    ):
        pass
    monkeypatch.setenv("PATH", "")
    for words, said in (
        ("dask:tcp://127.0.0.1:9", r"'tcp://127\.0\.0\.1:9'"),
        ("dask:what://is this", r"'what://is this'"),
        ("submitit:long", r"'long' .*submitit:local"),
    ):
        with (
            raises_input_error(said),
            open_executor(words, tmp_path, AttemptLimits()),
        ):
            pass


# -- Ctrl-C
# --------------------------------------------------------------------------------------------------

HANGING = """
name = "hangs"
[limits]
time_seconds = 600
[profiles.default]
gap = 1e-9
[[backends]]
name = "fake-hangs"
[[instances]]
problem = "paper-single"
budgets = ["perfect"]
parameters = { bins = 4 }
"""


@pytest.mark.gate
@pytest.mark.parametrize("where", ["loky:2", "dask"])
def test_ctrl_c_ends_every_process(tmp_path, where, note, request):
    words = f"dask:{request.getfixturevalue('address')}" if where == "dask" else where
    variables = {"FAKE_CHILD": str(note), "DISCREET_BACKENDS": os.environ["DISCREET_BACKENDS"]}
    (tmp_path / "hangs.toml").write_text(HANGING)
    note.unlink(missing_ok=True)
    line = f"bench hangs.toml --out out --executor {words}"
    running = start(line, variables, cwd=tmp_path, start_new_session=True)
    assert within(120, lambda: note.exists() and len(note.read_text().split()) == 2)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "0 of 1 cells are kept in out; run the same command again to continue" in said
    assert "Traceback" not in said
    assert within(30, lambda: not any(map(is_alive, map(int, note.read_text().split()))))
    assert within(30, lambda: not is_group(running.pid))


def is_group(pid):
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
