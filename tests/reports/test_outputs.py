"""Writing files: all or nothing, and never over what was not made here or has been
changed since.
"""

import json
import os

import pytest
from refusals import raises_file_error

from discreet.reports.outputs import MANIFEST, check_folder, replace_file, write_folder

CONTENTS = {"a.txt": "one", "b.bin": b"\x00\xff"}


def test_a_folder_is_made_written_and_written_again(tmp_path):
    folder = tmp_path / "deep" / "down"
    paths = write_folder(folder, CONTENTS, {"command": "test"})
    assert [path.name for path in paths] == ["a.txt", "b.bin"]
    assert (folder / "b.bin").read_bytes() == b"\x00\xff"
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["command"] == "test"
    assert set(manifest["sha256"]) == set(CONTENTS)
    write_folder(folder, {"a.txt": "two", "c.txt": "new"}, {"command": "again"})
    assert (folder / "a.txt").read_text() == "two"
    assert (folder / "b.bin").exists()
    assert set(json.loads((folder / MANIFEST).read_text())["sha256"]) == {"a.txt", "b.bin", "c.txt"}
    assert sorted(entry.name for entry in folder.iterdir()) == ["a.txt", "b.bin", "c.txt", MANIFEST]


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("made_here", [False, True])
def test_a_file_of_somebody_else_or_changed_since_is_left_alone(tmp_path, made_here):
    """And so is the rest of the folder."""
    if made_here:
        write_folder(tmp_path, CONTENTS, {})
    (tmp_path / "b.bin").write_text("mine")
    before = snapshot(tmp_path)
    with raises_file_error(r"b\.bin "):
        check_folder(tmp_path, CONTENTS)
    with raises_file_error(r"b\.bin "):
        write_folder(tmp_path, CONTENTS, {})
    assert snapshot(tmp_path) == before


def test_links_folders_and_false_manifests_are_refused(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.txt").mkdir()
    with raises_file_error(r"one/a\.txt"):
        check_folder(tmp_path / "one", CONTENTS, overwrite=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.txt").symlink_to(tmp_path / "elsewhere")
    with raises_file_error(r"two/a\.txt"):
        check_folder(tmp_path / "two", CONTENTS, overwrite=True)
    for k, text in enumerate(["not json", "[]", "{}", '{"sha256": 3}', "[" * 100_000]):
        folder = tmp_path / f"false{k}"
        folder.mkdir()
        (folder / MANIFEST).write_text(text)
        with raises_file_error(f"false{k}/{MANIFEST}"):
            write_folder(folder, CONTENTS, {})
        assert snapshot(folder) == {MANIFEST: text.encode()}
    (tmp_path / "file").write_text("")
    for place, said in (
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "deeper", "is a file"),
        ("null\0character", "null character"),
    ):
        with raises_file_error(said):
            check_folder(place, CONTENTS)


def test_an_interruption_leaves_a_folder_that_can_be_written_again(tmp_path, monkeypatch):
    write_folder(tmp_path, CONTENTS, {})
    replace = os.replace
    done = []

    def interrupted(source, target):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(str(target))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path, {"a.txt": "new", "b.bin": "new"}, {})
    # Nothing temporary.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.bin", MANIFEST]
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\xff"
    write_folder(tmp_path, {"a.txt": "newer", "b.bin": "newer"}, {})
    assert (tmp_path / "b.bin").read_text() == "newer"


def test_one_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "curve.csv"
    assert replace_file(target, "old") == target
    replace_file(target, b"new")
    assert target.read_text() == "new"
    with raises_file_error(r"missing/curve.csv"):
        replace_file(tmp_path / "missing" / "curve.csv", "x")
    with raises_file_error(tmp_path.name):
        replace_file(tmp_path, "x")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with raises_file_error(target.name):
        replace_file(target, "newer")
    assert target.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1
