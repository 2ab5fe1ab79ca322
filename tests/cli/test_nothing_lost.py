"""Nothing is lost: outputs are checked before work begins, files of others and inputs stay, every
result is shown.
"""

import json
import os
from pathlib import Path

import pytest
from command import done, refused, solving_here
from refusals import raises_file_error

import discreet as ds
from discreet.reports.measurements import reference_measurements, write_csv
from discreet.reports.study.store import Store
from discreet.storage import writing
from discreet.storage.writing import check_output, lock, marked, replacing, scratch_folder

NOTHING = "no-such-problem"  # a complaint about it would mean that work has begun
FILES = (
    f"solve {NOTHING} --out",
    f"frontier {NOTHING} --csv",
    f"frontier {NOTHING} --svg",
    f"crosscheck --backends {NOTHING} --junit",
    f"report {NOTHING} --out",
)
FOLDERS = {
    f"compare {NOTHING} --out": "index.html",
    f"frontier {NOTHING} --out": "frontier.csv",
    f"report {NOTHING} --publish": "README.md",
    "reproduce --out": "sensors.csv",
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a file of somebody else, and solving in this process."""
    monkeypatch.chdir(tmp_path)
    solving_here(monkeypatch)
    Path("mine").write_text("my thesis")
    Path("folder").mkdir()
    Path("link").symlink_to("mine")
    os.mkfifo("pipe")


@pytest.mark.parametrize("door", FILES)
@pytest.mark.parametrize(
    "said, place",
    {
        "was not made here, or was changed since, and is left alone": "mine",
        "is a folder and cannot be written as a file": "folder",
        "is a link": "link",
        "is a device or pipe": "pipe",
        "is empty": "",
        "File name too long": "x" * 300,
        "there is no folder missing": "missing/x",
        "null character": "a\0b",
    }.items(),
)
def test_an_output_file_is_checked_before_work_begins(door, place, said):
    complaint = refused(door, place)
    assert said in complaint
    assert len(complaint) < 400
    if place != "mine":
        assert said in refused(door, place, "--force")
    assert Path("mine").read_text() == "my thesis"


@pytest.mark.parametrize("door", FOLDERS)
def test_a_folder_of_outputs_is_checked_before_work_begins(door):
    for place, said in (
        ("mine", "is a file"),
        ("", "is empty"),
        ("x" * 300, "too long"),
        ("a\0b", "null character"),
    ):
        assert said in refused(door, place)
    (Path("folder") / FOLDERS[door]).write_text("my thesis")
    assert "was not made here" in refused(f"{door} folder")


def test_an_input_is_never_an_output():
    ds.save_problem("model.npz", ds.problems.paper_single(budget=0.005))
    before = Path("model.npz").read_bytes()
    os.link("model.npz", "same.npz")
    write_csv(reference_measurements()[:5], Path("rows.csv"))
    for arguments in (
        "solve model.npz --out model.npz",
        "solve model.npz --out ./same.npz",
        "frontier ./model.npz --svg model.npz",
        "report rows.csv --out rows.csv",
    ):
        assert "is an input and would be lost" in refused(arguments)
        assert "is an input and would be lost" in refused(f"{arguments} --force")
    assert Path("model.npz").read_bytes() == before


def test_own_files_are_replaced_and_others_only_by_force():
    assert "was not made here" in refused("solve paper-single --out mine")
    done("solve paper-single --out mine --force")
    done("solve paper-single:bins=5 --out mine")
    assert ds.load_solution("mine").estimator.shape == (2, 5)
    curve = "frontier paper-single --points 2 --width 1 --csv c --svg s --out folder"
    Path("folder/frontier.csv").write_text("my thesis")
    assert "was not made here" in refused(curve)
    for more in (" --force", ""):
        done(curve + more)


def test_a_study_of_somebody_else_is_left_alone():
    Path("folder/study.toml").write_text("my thesis")
    assert "was not made here" in refused("bench quick --out folder")
    assert Path("folder/study.toml").read_text() == "my thesis"
    assert os.listdir("folder") == ["study.toml"]
    Path("locked").mkdir()
    os.mkfifo("locked/lock")
    with raises_file_error("locked/lock"), Store(Path("locked")):
        pass
    assert "was not made here" in refused("bench folder --reference", _csv("mine.csv"))


def _csv(name):
    os.link("mine", name)
    return name


def test_python_replaces_only_a_solution_unless_told():
    solution = ds.solve(ds.problems.paper_single(), "tilt")
    with raises_file_error(r"mine .*overwrite=True"):
        solution.save("mine")
    solution.save("mine", overwrite=True)
    solution.save("mine")
    with raises_file_error(r"mine .*overwrite=True"):
        solution.save("mine", overwrite=False)


def _full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "arguments, shown",
    {
        "solve paper-single --json --out x": '"error_probability": 0.0',
        "frontier paper-single --points 2 --width 1 --csv x": "certified",
        "compare paper-single --backends tilt --out x": "certified",
        "reproduce --sensors 1 --curves 1 --samples 9 --out x": "sensors,",
        "crosscheck --size 1 --backends tilt --junit x": "1 instances",
    }.items(),
)
def test_a_result_that_cannot_be_written_is_still_shown(arguments, shown, monkeypatch):
    monkeypatch.setattr(os, "replace", _full)
    found = done(arguments, code=2)
    assert shown in found.stdout
    assert "No space left on device" in found.stderr
    assert not Path("x").is_file()


# -- the mechanism
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_killed_runs_left_is_removed_and_what_is_in_use_stays(make, tmp_path, monkeypatch):
    monkeypatch.setattr(writing.tempfile, "tempdir", str(tmp_path))
    ending = "part" if make is Path.touch else "scratch"
    left, used, new = (tmp_path / f".discreet-{k}.{ending}" for k in range(3))
    mine = tmp_path / "discreet-bench"
    for each in (left, used, new, mine):
        make(each)
    for each in (left, used, mine):
        os.utime(each, (0, 0))
    descriptor = os.open(used, os.O_RDONLY)
    assert lock(descriptor)
    with scratch_folder() as folder:
        assert Path(folder).is_dir()
        with replacing(tmp_path / "file", overwrite=True):
            pass
    os.close(descriptor)
    assert not Path(folder).exists()
    assert [each.exists() for each in (left, used, new, mine)] == [False, True, True, True]


def test_an_unlucky_name_of_an_output_is_no_trouble():
    """The temporary file's name does not depend on the target's, which may take all that a name
    can.
    """
    with replacing("ε" * 127, overwrite=False) as stream:
        stream.write(b"x")
    assert check_output("ε" * 127, marked("x")).read_bytes() == b"x"
    assert json.dumps(sorted(os.listdir("."))).count(".part") == 0
