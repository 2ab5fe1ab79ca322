"""Mistakes that users made in a trial: each message names what was given, where, and what to do."""

from pathlib import Path

import pytest
from command import done, refused, solving_here

TABLE = "sex,age,income,guess\n" + "m,30,high,high\nf,40,low,high\nf,50,high,low\n" * 20


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a table of people and an empty folder, and solving in this process."""
    monkeypatch.chdir(tmp_path)
    solving_here(monkeypatch)
    Path("people.csv").write_text(TABLE)
    Path("folder").mkdir()


# -- tables
# --------------------------------------------------------------------------------------------------

EVALUATE = "evaluate FILE --hide sex --truth income --guesses guess"
READERS = ("fit FILE --hide sex --guess income --fraction 0.5 --out rule", EVALUATE)


@pytest.mark.gate
def test_the_truth_may_be_the_hidden_column_but_not_the_guesses():
    told = "evaluate people.csv --hide sex --guesses guess --truth"
    done(f"{told} sex")
    assert "--truth and --guesses both name 'guess'" in refused(f"{told} guess")


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    "content, said",
    [
        (TABLE.replace(",", ";").encode(), ("separated by semicolons", "commas")),
        (TABLE.replace(",", "\t").encode(), ("separated by tabs", "commas")),
        (TABLE.encode("utf-16"), ("UTF-16", "UTF-8")),
        (TABLE.replace("sex", "geschl\xe4cht").encode("latin-1"), ("0xe4", "UTF-8")),
        (b"PK\x03\x04\xff\xfe" + bytes(100), ("Excel", "CSV")),
        (b"", ("has no people",)),
        (b"\n\n", ("has no people",)),
        (TABLE.splitlines()[0].encode(), ("has no people",)),
    ],
)
def test_a_table_in_another_format_is_named(command, content, said):
    Path("other.csv").write_bytes(content)
    complaint = refused(command.replace("FILE", "other.csv"))
    assert "other.csv" in complaint
    for words in said:
        assert words in complaint


# -- problems and solutions
# --------------------------------------------------------------------------------------------------


def test_a_folder_is_not_taken_for_a_misspelled_problem():
    complaint = refused("solve folder")
    assert "folder is a folder" in complaint
    assert "did you mean" not in complaint


@pytest.mark.parametrize("name", ["a.xlsx", "a.tsv", "a.npy"])
def test_a_file_of_another_kind_is_told_what_is_read(name):
    Path(name).write_text("x")
    complaint = refused(f"solve {name}")
    for words in (name, ".npz", ".csv", ".parquet"):
        assert words in complaint
    assert "paper-single" not in complaint


@pytest.mark.parametrize("option", ["leakage", "fraction", "equivocation", "gap", "time-limit"])
def test_an_option_that_takes_a_number_shows_what_was_given(option):
    complaint = refused(f"solve paper-single --{option} abc")
    assert f"--{option}" in complaint
    assert "'abc' is not a number" in complaint


def test_a_percentage_is_shown_as_the_number_to_write():
    assert "write 0.3" in refused("solve paper-single --fraction 30%")


# -- studies and outputs
# --------------------------------------------------------------------------------------------------


OUTPUTS = ("solve no-such-problem --out {}/x.npz", "export no-such-problem --out {}/x.cbf")


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_folder_that_does_not_exist_is_to_be_created(command):
    assert "there is no folder nowhere; create it" in refused(command.format("nowhere"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("command", [*OUTPUTS, "compare no-such-problem --out {}/x"])
def test_a_place_that_takes_no_files_is_found_before_the_work(command):
    complaint = refused(command.format("/proc"))
    assert "cannot be written" in complaint
    assert "no-such-problem" not in complaint


def test_guesses_of_before_are_not_called_somebody_elses():
    Path("guesses.csv").write_text("id,guess\n1,high\n")
    complaint = refused("predict rule people.csv --out guesses.csv")
    assert "guesses.csv exists" in complaint
    assert "--force" in complaint
    assert "not made here" not in complaint
