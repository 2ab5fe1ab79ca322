"""What used to end in a traceback, in silence or never: one sentence, exit code 2, at most a line
of the input.
"""

import csv
import gzip
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import COMMAND, done, files_limited_to, refused, run, solving_here

import discreet as ds
from discreet.reports.measurements import read_csv, reference_measurements, write_csv
from discreet.showing.data import csv_text

NINES = "9" * 5000
LONG = "x" * 10_000
STUDY = """name = "s"
repeats = 1
[limits]
time_seconds = 5
[profiles.default]
gap = 1e-9
[[backends]]
name = "tilt"
settings = { threads = 1 }
[[instances]]
problem = "paper-single"
parameters = { bins = [4] }
budgets = ["perfect"]
"""


pytestmark = pytest.mark.usefixtures("here")


# -- studies
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("repeats = 1", f"x = {'[' * 5000}{']' * 5000}", "is not TOML"),
        ("repeats = 1", f"repeats = {NINES}", "is not TOML"),
        ("repeats = 1", f"repeats = {NINES[:4000]}", "1,000,000,000"),
        ("repeats = 1", "repeats = 1000000", "1,000,000 cells"),
        (
            "time_seconds = 5",
            f"time_seconds = {NINES[:400]}",
            "1e9",
        ),
        ("threads = 1", "threads = 1979-05-27", "give a text, a number, a truth value"),
        ("bins = [4]", "bins = [1979-05-27]", "give a value, a list of values"),
        (
            "bins = [4]",
            f"bins = {{ from = 4, to = {NINES[:400]}, points = 3 }}",
            "1,000,000,000",
        ),
        ('"paper-single"', f'"{"x" * 10_000}"', "the catalog has no problem"),
        ('"paper-single"\nparameters = { bins = [4] }', '"a\\u0000.npz"', "null"),
    ],
)
def test_a_study_that_cannot_be_is_refused(old, new, said):
    assert old in STUDY
    Path("s.toml").write_text(STUDY.replace(old, new))
    complaint = refused("bench s.toml --out out --dry-run")
    assert said in complaint
    assert len(complaint) < 500


@pytest.mark.parametrize(
    "command", ["solve", "compare --backends tilt", "frontier --points 2", "advise"]
)
def test_the_name_of_a_problem_is_no_markup(command, monkeypatch):
    solving_here(monkeypatch)
    joint = np.full((2, 2, 3), 1.0 / 12.0)
    ds.save_problem("[bold].npz", ds.Problem.from_joint(joint, 0.01, name="[/x]"))
    found = run(f"{command} [bold].npz")
    assert found.exit_code in (0, 1), found.stderr
    assert "[/x]" in found.stdout or "[bold]" in found.stdout


@pytest.mark.parametrize("sql", ["", "  ", "-- nothing", "\udcff"])
def test_a_query_may_say_nothing(sql):
    Path("out/cells").mkdir(parents=True)
    assert run("bench out --query", sql).exit_code in (0, 2)


# -- files that are read
# --------------------------------------------------------------------------------------------------


def _pipe(name):
    os.mkfifo(name)


def _text(name, text):
    Path(name).write_text(text)


@pytest.mark.parametrize(
    "make, arguments, said",
    [
        (_pipe, "bench file", "is not an ordinary file"),
        (_pipe, "report file.csv", "is not an ordinary file"),
        (_pipe, "audit paper-single file", "is not an ordinary file"),
        (
            'study,cell\n"' + "x" * 200_000 + '",b\n',
            "report file.csv",
            "field larger than",
        ),
        (
            'study,parameters\na,"' + "[" * 100_000 + '"\n',
            "report file.csv",
            "column parameters",
        ),
        ("#" * (1 << 21), "bench file", "65,536"),
    ],
)
def test_files_that_cannot_be_read_are_refused(make, arguments, said):
    place = arguments.split()[-1]
    _pipe(place) if make is _pipe else _text(place, make)
    complaint = refused(arguments)
    assert said in complaint
    assert len(complaint) < 500


def test_a_bomb_is_refused_unpacked_no_further_than_the_limit(monkeypatch):
    monkeypatch.setattr("discreet.reports.measurements._LARGEST_FILE", 1 << 16)
    Path("bomb.csv.gz").write_bytes(gzip.compress(bytes(1 << 22)))
    assert "65,536" in refused("report bomb.csv.gz")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": 2, "date": 1' + "0" * 5000 + "}"])
def test_results_of_asv_that_cannot_be_read_are_refused(text):
    Path("asv/m").mkdir(parents=True)
    _text("asv/m/x.json", text)
    assert "asv/m/x.json" in refused("report --asv asv --json")


# -- arguments
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, said",
    {
        f"reproduce --samples {10**21}": "samples is",
        f"reproduce --samples {NINES}": "--samples",
        f"crosscheck --size {10**18}": "give --size 10000 or less",
        f"solve {LONG}.npz": "File name too long",
        f"solve paper-single --set bins={NINES}": "give a value like its default",
        f"solve paper-single --set {LONG}": "write key=value",
        f"solve paper-single --option {LONG}=1 --backend tilt": "has no setting",
        "solve \udcff.npz": "No such file",
    }.items(),
)
def test_arguments_that_cannot_be_are_refused(arguments, said):
    complaint = refused(arguments)
    assert said in complaint
    assert len(complaint) < 800


@pytest.mark.parametrize("limit", ["inf", "1e10"])
def test_a_time_limit_may_be_longer_than_systems_wait(limit):
    done(f"solve paper-single --backend tilt --time-limit {limit}")


# -- what the system refuses
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", ["solve paper-single --out x.npz", "frontier paper-single --points 2 --csv x.npz"]
)
def test_a_limit_of_the_size_of_files_is_one_sentence(words):
    with files_limited_to(0):
        found = run(words)
    assert found.exit_code == 2
    assert found.stderr.splitlines()[-1].startswith("discreet: ")
    assert not Path("x.npz").exists()


@pytest.fixture
def quick(monkeypatch):
    """Solving in this process."""
    solving_here(monkeypatch)


def _ended(*arguments):
    with pytest.raises(SystemExit) as end:
        COMMAND.main(list(arguments), "discreet")
    return int(end.value.code or 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_standard_output_is_a_fault(more, quick, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert _ended("solve", "paper-single", *more) == 2
        monkeypatch.setattr(sys, "stderr", full)
        assert _ended("solve", "nope") == 2
    assert "No space left on device" in capsys.readouterr().err


def test_a_closed_standard_output_is_nowhere(quick, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert _ended("solve", "paper-single", "--json", "--out", "x.npz") == 0
    assert Path("x.npz").is_file()


def test_what_an_encoding_lacks_is_escaped(quick, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    assert _ended("solve", "paper-single") == 0
    assert b"\\u03a6" in stream.buffer.getvalue()


def test_an_interruption_while_starting_is_said_in_one_line(monkeypatch, capsys):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    import discreet.cli

    monkeypatch.setitem(sys.modules, "discreet.cli.app", Interrupted())
    with pytest.raises(SystemExit) as end:
        discreet.cli.main()
    assert (end.value.code, capsys.readouterr().err) == (130, "discreet: interrupted\n")


# -- what is written
# --------------------------------------------------------------------------------------------------


def test_a_spreadsheet_runs_no_cell_and_reading_gives_it_back():
    words = ["=1+1", "+1", "-x", "@y", "'=z", "''-", "plain", "'quoted'", "\t=1"]
    lines = list(
        csv.reader(csv_text(("text", "number"), [(word, -1.5) for word in words]).splitlines())
    )[1:]
    assert not any(cell.startswith(tuple("=+-@\t")) for cell, _ in lines)
    assert {number for _, number in lines} == {"-1.5"}
    row = reference_measurements()[0]
    write_csv([replace(row, message=word) for word in words], Path("rows.csv"))
    assert [row.message for row in read_csv(Path("rows.csv"))] == words


def test_folders_of_this_machine_stay_out_of_pages(tmp_path):
    ds.save_problem("model.npz", ds.problems.paper_single(budget=0.005))
    place = str(tmp_path / "model.npz")
    done("compare", place, "--backends", "tilt", "--out", "out")
    written = [file.read_text() for file in Path("out").iterdir()]
    assert len(written) >= 4
    assert not any(str(tmp_path) in text for text in written)
    assert json.loads(Path("out/comparison.json").read_text())["cases"][0]["title"].startswith(
        "model.npz, "
    )
