"""The folder of a study: nothing finished is ever lost, nothing damaged is fatal, two writers are
refused.
"""

import errno
import os
from dataclasses import replace

import pytest
from command import files_limited_to
from measured import measurement
from refusals import raises_file_error

from discreet import FileError
from discreet.reports.study.store import Store, query, rows

KEYS = [f"{k:016x}" for k in range(4)]


@pytest.fixture
def folder(tmp_path):
    with Store(tmp_path / "study") as store:
        for key in KEYS:
            store.add(measurement(cell=key, repeat=int(key, 16)))
    return tmp_path / "study"


def test_what_was_added_is_found(folder):
    assert [row.cell for row in rows(folder)] == KEYS
    with Store(folder) as store:
        found, notices = store.finished()
    assert list(found) == KEYS
    assert notices == []


@pytest.mark.parametrize("damage", ["torn", "other", "folder"])
def test_a_damaged_file_is_set_aside_with_a_notice_and_the_rest_is_kept(folder, damage):
    path = folder / "cells" / f"{KEYS[1]}.parquet"
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        other = (folder / "cells" / f"{KEYS[2]}.parquet").read_bytes()
        path.write_bytes(
            {
                "torn": content[: len(content) // 2],
                "other": other,
            }[damage]
        )
    if damage != "other":
        with pytest.raises(FileError, match="discreet bench"):
            rows(folder)
    with Store(folder) as store:
        found, notices = store.finished()
    assert list(found) == [KEYS[0], *KEYS[2:]]
    assert len(notices) == 1
    assert KEYS[1] in notices[0]
    assert len(list((folder / "set-aside").iterdir())) == 1
    with Store(folder) as store:
        assert store.finished()[1] == []
        store.add(measurement(cell=KEYS[1]))
        assert len(store.finished()[0]) == 4


def test_two_runs_on_one_folder_are_refused(folder):
    with Store(folder), raises_file_error(folder.name), Store(folder):
        pass
    with Store(folder):
        pass


def test_a_temporary_file_that_a_kill_left_behind_is_removed(folder):
    left = folder / "cells" / ".abc.parquet.0123.part"
    left.write_bytes(b"half a row")
    with Store(folder) as store:
        assert not left.exists()
        assert len(store.finished()[0]) == 4


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_one_sentence_and_loses_nothing(folder, step, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store(folder) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full)
            with raises_file_error("No space left on device"):
                store.add(measurement(cell="f" * 16))
        assert len(store.finished()[0]) == 4
        assert not list((folder / "cells").glob(".*"))
        store.add(measurement(cell="f" * 16))
        assert len(store.finished()[0]) == 5


def test_a_write_that_really_fails_loses_nothing(folder):
    """Under a limit of file sizes the writes of DuckDB themselves fail, as on a full disk."""
    with (
        Store(folder) as store,
        files_limited_to(512),
        raises_file_error("make room there"),
    ):
        store.add(measurement(cell="f" * 16))
    assert [row.cell for row in rows(folder)] == KEYS


def test_a_folder_of_another_study_is_refused(folder):
    from discreet.reports.study.plan import read_study

    quick = read_study("quick")
    default = read_study("default")
    with Store(folder) as store:
        store.adopt(quick.name, quick.source)
        store.adopt(quick.name, quick.source)
        with raises_file_error(r"'quick'.*'default'"):
            store.adopt(default.name, default.source)


def test_a_place_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with raises_file_error("file"), Store(tmp_path / "file"):
        pass


def test_queries_see_the_rows_and_nothing_else(folder, tmp_path):
    assert query(folder, "SELECT count(*) AS n, max(repeat) AS r FROM cells") == (
        ["n", "r"],
        [(4, 3)],
    )
    with pytest.raises(FileError, match=r"study, cell"):
        query(folder, "SELECT nothing FROM cells")
    for forbidden in (
        f"COPY cells TO '{tmp_path / 'out.csv'}'",
        f"SELECT * FROM '{folder / 'cells' / KEYS[0]}.parquet'",
    ):
        with pytest.raises(FileError, match="the query is refused"):
            query(folder, forbidden)
    assert not (tmp_path / "out.csv").exists()
    assert replace(rows(folder)[0], repeat=9).repeat == 9
