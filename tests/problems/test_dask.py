"""Problems in Dask: the answer of the same arrays in this process, bit for bit, on any workers and
in any partition.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from refusals import raises_input_error

import discreet as ds
from discreet.errors import Absent
from discreet.measures import measure_of
from discreet.problems import ArrayBlocks, LeakageBudget, block_problem, from_dask, outcomes
from discreet.problems.streams import dask_
from discreet.problems.streams.dask_ import DaskBlocks

dask = pytest.importorskip("dask", reason="the extra `distributed` is not installed")
da = pytest.importorskip("dask.array")

SIZE = 1 << 11
"""Outcomes in a chunk, few enough for a tree of chunks with three levels."""
OUTCOMES = 99 * SIZE + 321
CUTS = {
    "one block": (OUTCOMES,),
    "whole chunks": (40 * SIZE, OUTCOMES - 40 * SIZE),
    "cut inside chunks": (30_001, 1, 90_000, 3, OUTCOMES - 120_005),
    "many small": (*[1_999] * 100, OUTCOMES - 199_900),
}


@pytest.fixture(scope="module")
def arrays():
    problem = ds.problems.paper_single(bins=OUTCOMES, budget=0.01)
    return problem.p_xz, problem.loss


@pytest.fixture(scope="module", autouse=True)
def in_numpy():
    """Small chunks, several parts also on a machine of many cores, and no compiled kernels in any
    process.
    """
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="threads", num_workers=2):
        patch.setattr(outcomes, "chunk_size", lambda count: SIZE)
        patch.setattr(dask_, "chunk_size", lambda outcomes: SIZE)
        patch.setattr(dask_, "_threads", lambda: 2)
        for module in ("judge.cases", "problems.streams.sources"):
            patch.setattr(f"discreet.{module}.compiled_pays", lambda outcomes: False)
        yield


@pytest.fixture(scope="module")
def local(arrays):
    return block_problem(ArrayBlocks(*arrays), 0.01)


def in_dask(arrays, cuts):
    return tuple(da.from_array(array, chunks=(array.shape[0], cuts)) for array in arrays)


def solved(problem):
    return ds.solve(problem, "tilt", settings={"kernels": "numpy"})


def assert_same(found, expected):
    """Every number of the answer and of its certificate, bit for bit."""
    assert found.status.value == expected.status.value == "certified"
    assert found.certificate == expected.certificate
    assert found.passes == expected.passes
    for name in ("tilt", "ties", "columns"):
        assert_array_equal(getattr(found.rule, name), getattr(expected.rule, name))


@pytest.fixture(scope="module")
def expected(local):
    return solved(local)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=list(CUTS))
def test_the_answer_is_that_of_arrays_whatever_the_partition(arrays, local, expected, cuts):
    problem = from_dask(*in_dask(arrays, cuts), 0.01)
    assert all(start % SIZE == 0 for start in problem.blocks.starts)
    assert_array_equal(problem.p_x, local.p_x)
    assert_array_equal(problem.constant_errors, local.constant_errors)
    assert_same(solved(problem), expected)


def test_chunks_are_those_of_the_arrays(arrays):
    held = from_dask(*in_dask(arrays, CUTS["cut inside chunks"]), 0.01).blocks
    assert (held.n, held.m, held.N) == (2, 2, OUTCOMES)
    for mine, theirs in zip(held.chunks(), ArrayBlocks(*arrays).chunks(), strict=True):
        assert (mine.start, mine.count) == (theirs.start, theirs.count)
        # Two of them with a cut inside.
        if mine.start % (13 * SIZE) == 0 or mine.start // SIZE in (14, 58):
            for one, other in zip(mine.read(), theirs.read(), strict=True):
                assert_array_equal(one, other)


def test_small_blocks_are_put_together_and_large_ones_are_not(arrays):
    few = from_dask(*in_dask(arrays, CUTS["one block"]), 0.01).blocks
    many = from_dask(*in_dask(arrays, CUTS["many small"]), 0.01).blocks
    assert len(few.parts) == 1
    assert 2 <= len(many.parts) <= 4  # two for each thread


def test_perfect_privacy_and_measures(arrays):
    for budget in (0.0, LeakageBudget(0.02, measure_of("parity-difference"))):
        one = solved(block_problem(ArrayBlocks(*arrays), budget))
        other = solved(from_dask(*in_dask(arrays, CUTS["cut inside chunks"]), budget))
        assert_same(other, one)


def test_totals_that_are_slightly_off_are_divided_out(arrays):
    off = arrays[0] * (1.0 + 3e-10), arrays[1]
    one = solved(block_problem(ArrayBlocks(*off), 0.01))
    assert_same(solved(from_dask(*in_dask(off, CUTS["many small"]), 0.01)), one)


# -- what may be given
# --------------------------------------------------------------------------------------------------


def test_data_frames_delayed_blocks_parquet_and_zarr(arrays, expected, tmp_path):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    names = ["p0", "p1", "l0", "l1"]
    table = pd.DataFrame(np.concatenate(arrays).T, columns=names)
    for number, rows in enumerate((slice(0, 70_000), slice(70_000, None))):
        table[rows].to_parquet(tmp_path / f"{number}.parquet")
    read = dd.read_parquet(tmp_path / "*.parquet")
    assert_same(solved(from_dask(read[names[:2]], read[names[2:]], 0.01)), expected)

    for name, array in zip(
        ("p_xz", "loss"), in_dask(arrays, (80_000, OUTCOMES - 80_000)), strict=True
    ):
        array.rechunk((1, 50_000)).to_zarr(tmp_path / f"{name}.zarr")
    stored = [da.from_zarr(tmp_path / f"{name}.zarr") for name in ("p_xz", "loss")]
    assert_same(solved(from_dask(*stored, 0.01)), expected)

    def block(start, stop):
        return arrays[0][:, start:stop], arrays[1][:, start:stop].astype(">f8")

    delayed = [dask.delayed(block)(0, 100_000), dask.delayed(block)(100_000, OUTCOMES)]
    assert_same(solved(from_dask(delayed, budget=0.01)), expected)


def test_few_outcomes_are_solved_as_arrays():
    small = ds.problems.paper_single(bins=64, budget=0.01)
    found = ds.solve(
        from_dask(
            da.from_array(small.p_xz, chunks=30), da.from_array(small.loss, chunks=(1, 50)), 0.01
        )
    )
    assert (
        found.error_probability
        == ds.solve(block_problem(ArrayBlocks(small.p_xz, small.loss), 0.01)).error_probability
    )


def bad_values(arrays):
    spoilt = arrays[1].copy()
    spoilt[1, 123_456] = np.nan
    return in_dask((arrays[0], spoilt), CUTS["many small"])


@pytest.mark.parametrize(
    "words, given",
    {
        "p_xz is ndarray": lambda arrays: (arrays[0], arrays[1]),
        r"p_xz .*\[\d+\]": lambda arrays: (da.from_array(arrays[0][0]), arrays[1]),
        "other things than delayed blocks": lambda arrays: ([arrays[0]], [arrays[1]]),
        "give pairs": lambda arrays: (in_dask(arrays, CUTS["one block"])[0], None),
        r"p_xz of block 0 .*\[\]": lambda arrays: ([dask.delayed(1)], [dask.delayed(2)]),
        "not made of numbers": lambda arrays: ([dask.delayed("words")], [dask.delayed(2)]),
        "with the same B": lambda arrays: (
            [dask.delayed(np.ones((2, 3)))],
            [dask.delayed(np.ones((2, 4)))],
        ),
        "1 .*loss 2": lambda arrays: (in_dask(arrays, CUTS["one block"])[0], [dask.delayed(1)] * 2),
        r"loss\[1, 123456\] is nan": bad_values,
    }.items(),
)
def test_bad_input_is_refused(arrays, given, words):
    with raises_input_error(words):
        from_dask(*given(arrays), 0.01)


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dask.delayed", None)
    with pytest.raises(Absent, match=r"pip install \"discreet\[distributed\]\""):
        from_dask(None, None, 0.01)


# -- processes
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mortal:
    """Work that kills the process it runs in, the first time that it meets one chunk."""

    work: Callable[..., Any]
    start: int
    mark: str

    def __call__(self, chunk, *given):
        if chunk.start == self.start:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.work(chunk, *given)


@dataclass(frozen=True, eq=False)
class Dying(DaskBlocks):
    """Blocks of which a worker dies in the middle of a pass."""

    mark: str = ""

    def fold(self, work, merge, given):
        return super().fold(Mortal(work, self.starts[-1] + self.size, self.mark), merge, given)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    settings = {"distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "60s"}
    with dask.config.set(settings):
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
            silence_logs=50,
        )
        with distributed.Client(cluster) as found:
            yield found
        try:
            cluster.close(timeout=30)
        except (
            TimeoutError
        ):  # distributed may wait forever for a worker that it was about to start again
            for process in multiprocessing.active_children():
                process.kill()


@pytest.mark.gate
def test_two_processes_and_a_worker_that_dies(arrays, expected, client, tmp_path):
    mark = tmp_path / "a worker has died"
    with dask.config.set(scheduler=client):
        problem = from_dask(*in_dask(arrays, CUTS["cut inside chunks"]), 0.01)
        assert_same(solved(problem), expected)
        held = problem.blocks
        before = set(client.run(os.getpid).values())
        fields = {each: getattr(held, each) for each in ("n", "m", "N", "size", "starts", "parts")}
        assert_same(solved(replace(problem, blocks=Dying(**fields, mark=str(mark)))), expected)
        assert mark.exists()
        assert set(client.run(os.getpid).values()) != before
