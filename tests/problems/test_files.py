"""Problem and solution files: round trips, a one-sentence refusal of every kind of bad file, atomic
writes, fuzzing; and how a table became the problem: bins, labels, digest, seed, date and versions.
"""

import dataclasses
import json
import os
import pickle
import stat
import struct
import zipfile
from contextlib import suppress
from functools import partial
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from block_cases import together
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from random_laws import assert_same_arrays
from refusals import raises_file_error, raises_input_error

import discreet as ds
from discreet import (
    FileError,
    OutcomeRule,
    Problem,
    load_problem,
    load_solution,
    problems,
    save_problem,
    save_solution,
)
from discreet.files import map_problem
from discreet.files.counted import report_members
from discreet.problems import catalog
from discreet.problems.provenance import date_now
from discreet.storage import archive
from discreet.storage.archive import read_archive

pytestmark = [
    pytest.mark.filterwarnings("ignore::discreet.FewRecordsWarning"),
    pytest.mark.usefixtures("here"),
]

JOINT = np.arange(1.0, 13.0).reshape(2, 2, 3) / 78.0
ESTIMATOR = np.array([[1.0, 0.25, 0.0], [0.0, 0.75, 1.0]])
TILT = np.array([[0.1, -0.2], [0.0, 0.3]])
RULE = {
    "estimator": None,  # a rule is stored in its place
    "rule_tilt": TILT,
    "ties": np.zeros(0),
    "columns": np.zeros((2, 0)),
    "share": 0.0,
    "towards": np.array([1.0, 0.0]),
    "band": 0.0,
    "tie_classes": np.full((4, 2), 0.5),
}


def npz(path, **members):
    np.savez(path, **members)
    return path


def raw_member(path, payload, name="joint.npy"):
    with zipfile.ZipFile(path, "w") as target:
        target.writestr(name, payload)
    return path


def npy(header, data=b"", version=(1, 0)):
    text = header.encode("latin1")
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text + data


def refused(path, message, readers=(load_problem, map_problem)):
    """A problem file is refused by a message that begins with its path."""
    for read in readers:
        with raises_file_error(message) as caught:
            read(path)
        assert str(caught.value).startswith(os.fspath(path))


def limited_to(size):
    """The reader that has a limit on the size of a file."""
    return [partial(load_problem, max_bytes=size)]


# -- problems: round trips
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", catalog.entries(), ids=lambda entry: entry.name)
def test_every_catalog_problem_is_saved_and_loaded_unchanged(entry):
    problem = catalog.build(entry.name)
    save_problem("p.npz", problem)
    again = load_problem("p.npz")
    assert_same_arrays(again, problem)
    assert (again.budget, again.name) == (problem.budget, problem.name)


def test_integer_and_single_precision_arrays_are_read():
    sure = np.zeros((1, 2, 2), dtype=np.int16)
    sure[0, 1, 0] = 1
    assert load_problem(npz("i.npz", joint=sure), budget=0.0).bayes_error == 0.0
    quarter = np.full((1, 2, 2), 0.25, dtype=np.float32)
    assert load_problem(npz("f.npz", joint=quarter), budget=0.0).bayes_error == 0.5


def test_without_any_budget_the_message_says_what_to_pass():
    refused(
        npz("p.npz", joint=JOINT),
        r"holds no budget; pass budget= or equivocation= in nats",
    )


# -- problems: refusals
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message, members",
    {
        r"budget .*\[2\]": {"joint": JOINT, "budget": [0.1, 0.2]},
        r"(joint|p_xz) .*2\.0": {"joint": JOINT * 2, "budget": 0.1},
        r"joint\[1, 0, 2\] is nan": {"joint": np.where(JOINT == 9 / 78, nan, JOINT), "budget": 0.1},
        r"joint .*'complex128'": {"joint": JOINT.astype(complex), "budget": 0.1},
        r"joint .*'object'": {"joint": np.array([1, "a", None], dtype=object)},
        r"joint .*\[1, 1, 1, 1\]": {"joint": np.zeros((1, 1, 1, 1))},
        "joint, loss": {"joint": JOINT, "loss": JOINT[0], "budget": 0.1},
        "holds no model; a problem needs joint": {"budget": 0.1},
        r"'Budget\.npy' .*joint, p_xz, loss": {"joint": JOINT, "Budget": 0.1},
        "name is not a single text": {"joint": JOINT, "budget": 0.1, "name": ["a", "b"]},
        "the name has unprintable characters": {"joint": JOINT, "budget": 0.1, "name": "\x1b[2J"},
    }.items(),
)
def test_wrong_members_are_refused_in_one_sentence(members, message):
    refused(npz("bad.npz", **members), message)


def test_a_pickle_is_never_run():
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (os.fspath("boom"),))

    np.savez("bomb.npz", joint=np.array([Bomb()], dtype=object))
    refused("bomb.npz", "'object'")
    raw_member("raw.npz", pickle.dumps(Bomb()))
    refused("raw.npz", r"joint .*NPY")
    assert not Path("boom").exists()


@pytest.mark.parametrize(
    "payload, message",
    [
        (b"", r"joint .*NPY"),
        (b"\x93NUMPY\x09\x00" + bytes(40), r"joint .*NPY"),
        (b"\x93NUMPY\x01\x00", r"joint .*NPY"),
        (
            npy("{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (1,)}"),
            r"joint .*header",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999,)}"),
            r"\[9999999999999999999\]",
        ),
        (
            npy("{'descr': '<f1', 'fortran_order': False, 'shape': (1,)}", b"a"),
            "'<f1'",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(8)),
            r"\[2\], 16 .* 8",
        ),
        (npy("x" * 60_000), "60000"),
    ],
)
def test_malformed_members_are_refused_in_one_sentence(payload, message):
    refused(raw_member("bad.npz", payload), message)


def test_other_files_are_refused_in_one_sentence(tmp_path):
    refused("absent.npz", "cannot be read: No such file")
    refused(tmp_path, "is not an ordinary file")
    Path("text.npz").write_text("joint = 1")
    refused("text.npz", r"is not a readable \.npz file")
    Path("empty.npz").write_bytes(b"")
    refused("empty.npz", r"is not a readable \.npz file")
    with open("single.npz", "wb") as stream:
        np.save(stream, JOINT)
    refused("single.npz", r"is not a readable \.npz file")
    refused(
        raw_member("folder.npz", b"", "joint/"),
        "has a member 'joint/' that does not belong",
    )
    with zipfile.ZipFile("none.npz", "w"):
        pass
    refused("none.npz", "holds no model")
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.npz")
        refused("pipe.npz", "is not an ordinary file")


def test_two_members_of_one_name_are_refused():
    path = npz("two.npz", joint=JOINT)
    with (
        zipfile.ZipFile(path, "a") as target,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        target.writestr("joint.npy", target.read("joint.npy"))
    refused(path, "'joint'")


def test_unusual_compression_is_refused():
    stored = npz("stored.npz", joint=JOINT)
    with (
        zipfile.ZipFile(stored) as source,
        zipfile.ZipFile("lzma.npz", "w", zipfile.ZIP_LZMA) as target,
    ):
        target.writestr("joint.npy", source.read("joint.npy"))
    refused("lzma.npz", "joint is encrypted or compressed in an unusual way")


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_read(monkeypatch):
    np.savez_compressed("bomb.npz", joint=np.zeros((1, 1, 2_000_000)), budget=0.1)
    assert os.path.getsize("bomb.npz") < 50_000
    monkeypatch.setattr(
        archive, "_read_numbers", lambda *_: pytest.fail("read before its size was checked")
    )
    refused(
        "bomb.npz",
        r"unpacks to 16,000,.* bytes and the limit is 1,000,000",
        limited_to(1_000_000),
    )


def test_a_file_larger_than_the_limit_is_refused_unopened():
    np.savez("big.npz", joint=np.zeros((1, 1, 300_000)))
    refused("big.npz", r"takes 2,4.* bytes and the limit is 1,000", limited_to(1000))


def test_a_member_with_a_wrong_size_is_refused():
    # Directory and header state 8 GB, under the limit, but the data is missing: no memory may be
    # allocated.
    header = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000,)}")
    path = raw_member(Path("lie.npz"), header)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, entry + 24, 4_000_000_000)
    path.write_bytes(bytes(data))
    refused(path, "the file is damaged|is not a readable", limited_to(2**33))


# -- fuzzing
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """The bytes of a valid file, stored and compressed, with its folder."""
    folder = tmp_path_factory.mktemp("fuzz")
    problem = Problem.from_joint(JOINT, 0.01)
    members = {"p_xz": problem.p_xz, "loss": problem.loss, "budget": 0.01, "name": "fuzz"}
    np.savez(folder / "stored.npz", **members)
    np.savez_compressed(folder / "packed.npz", **members)
    return folder, [(folder / name).read_bytes() for name in ("stored.npz", "packed.npz")]


def same_or_refused(folder, data):
    """A reader that verifies checksums finds the same problem or none, and the other one masses."""
    path = folder / "mutated.npz"
    path.write_bytes(data)
    with suppress(FileError):
        a, loss = together(map_problem(path).blocks)
        assert (a >= 0.0).all()
        assert (loss >= 0.0).all()
        assert a.sum() == pytest.approx(1.0, abs=2e-15)
    try:
        found = load_problem(path)
    except FileError as refusal:
        sentence = str(refusal)
    else:
        sentence = ""
        assert_same_arrays(found, Problem.from_joint(JOINT, 0.01))
        assert (found.budget, found.name) == (0.01, "fuzz")
    assert "\n" not in sentence


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_bytes_are_refused_or_change_nothing(valid, data):
    folder, originals = valid
    mutated = bytearray(data.draw(st.sampled_from(originals)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(mutated) - 1))
        kind = data.draw(st.sampled_from(["set", "delete", "insert"]))
        if kind == "set":
            mutated[place] = data.draw(st.integers(0, 255))
        elif kind == "delete" and len(mutated) > 60:
            del mutated[place : place + data.draw(st.integers(1, 40))]
        else:
            mutated[place:place] = data.draw(st.binary(max_size=8))
    same_or_refused(folder, bytes(mutated))


@pytest.mark.gate
def test_no_changed_byte_of_the_directory_goes_unnoticed(valid):
    folder, originals = valid
    stored = originals[0]
    for place in range(stored.index(b"PK\x01\x02"), len(stored)):
        for value in (0, 1, 255, stored[place] ^ 0x80):
            mutated = bytearray(stored)
            mutated[place] = value
            same_or_refused(folder, bytes(mutated))


def test_every_truncation_is_refused(valid):
    folder, originals = valid
    for data in originals:
        for size in range(0, len(data), 7):
            path = folder / "short.npz"
            path.write_bytes(data[:size])
            refused(path, r"is not a readable \.npz file")


# -- solutions
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiplier", [0.0, 2.5, 1e300, inf])
def test_a_saved_solution_is_loaded_bit_for_bit(multiplier):
    metadata = {
        "status": "certified",
        "leakage_nats": 1e-300,
        "versions": {"numpy": "2"},
        "note": "Ŷ",
        "none": None,
    }
    save_solution("s.npz", ESTIMATOR, TILT, multiplier, metadata)
    found = load_solution("s.npz")
    assert_array_equal(found.estimator, ESTIMATOR)
    assert_array_equal(found.tilt, TILT)
    assert found.multiplier == multiplier
    assert found.metadata == metadata
    with pytest.raises(ValueError, match="read-only"):
        found.estimator[0, 0] = 2.0


@pytest.mark.parametrize(
    "rule",
    [
        OutcomeRule(TILT),
        OutcomeRule(
            TILT,
            [2, 0],
            [[0.5, 0.25], [0.5, 0.75]],
            0.125,
            [0.0, 1.0],
            1e-3,
            np.full((4, 2), 0.5),
        ),
    ],
)
def test_a_rule_is_saved_and_loaded_bit_for_bit(rule):
    save_solution("s.npz", rule, TILT, 1.0, {})
    found = load_solution("s.npz").estimator
    for name in ("tilt", "ties", "columns", "share", "towards", "band", "tie_classes"):
        assert_array_equal(getattr(found, name), getattr(rule, name))


def test_exact_columns_are_written_for_verify():
    save_solution("s.npz", ESTIMATOR, TILT, 1.0, {}, exact={2: [1, 2**100], 0: [3, 0]})
    assert load_solution("s.npz").estimator.tolist() == ESTIMATOR.tolist()
    with np.load("s.npz") as stored:
        text = str(stored["exact_columns"])
    assert json.loads(text) == {"2": ["0x1", hex(2**100)], "0": ["0x3", "0x0"]}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"estimator": ESTIMATOR * 2}, r"column 0 .*2\.0"),
        ({"estimator": ESTIMATOR[0]}, r"estimator .*\[3\] .*tilt"),
        ({"tilt": TILT + inf}, r"tilt\[.*\] is .*finite"),
        ({"multiplier": nan}, r"multiplier is \[nan\]"),
        ({"multiplier": [[1.0, 2.0]]}, r"multiplier has shape \[1, 2\]"),
        ({"metadata": "[1]"}, "metadata .*list"),
        ({"metadata": '{"a": NaN}'}, "metadata is not JSON"),
        ({"metadata": '{"a":' * 100_000}, "metadata is not JSON"),
        ({"metadata": None}, "metadata; .*estimator, tilt, multiplier"),
        ({"extra": 1.0}, "'extra.npy'"),
        ({"estimator": None, "rule_tilt": TILT}, "has no"),
        (RULE | {"band": [1.0, 2.0]}, r"band has shape \[2\]"),
        (RULE | {"share": 2.0}, "share is 2.0"),
        (RULE | {"ties": [5.0, 5.0], "columns": np.full((2, 2), 0.5)}, "outcome 5 .*twice"),
    ],
)
def test_bad_solution_files_are_refused_in_one_sentence(change, message):
    members = {"estimator": ESTIMATOR, "tilt": TILT, "multiplier": 1.0, "metadata": "{}"} | change
    path = npz("s.npz", **{name: value for name, value in members.items() if value is not None})
    with raises_file_error(message):
        load_solution(path)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((ESTIMATOR * 2, TILT, 1.0, {}), "column 0 of estimator"),
        ((ESTIMATOR, TILT, -1.0, {}), r"multiplier is \[-1\.\]"),
        ((ESTIMATOR, TILT, 1.0, {"a": inf}), "metadata .*JSON"),
    ],
)
def test_an_invalid_solution_is_not_written(tmp_path, arguments, message):
    with raises_file_error(message):
        save_solution("s.npz", *arguments)
    assert list(tmp_path.iterdir()) == []


# -- writing
# --------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_refused_in_one_sentence(tmp_path):
    with raises_file_error(r"no/p.npz"):
        save_problem(tmp_path / "no" / "p.npz", problems.paper_single(budget=0.01))
    with raises_file_error("overwrite=True"):
        save_problem(tmp_path, problems.paper_single(budget=0.01))
    with raises_file_error(tmp_path.name):
        save_problem(tmp_path, problems.paper_single(budget=0.01), overwrite=True)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX systems")
def test_written_files_have_the_permissions_of_any_new_file(tmp_path):
    save_problem("p.npz", problems.paper_single(budget=0.01))
    Path("plain").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("p.npz", "plain")}
    assert len(modes) == 1


def test_an_unreadable_name_is_not_written(tmp_path):
    problem = Problem.from_joint(JOINT, 0.1, name="two\nlines")
    with raises_file_error(r"p\.npz"):
        save_problem("p.npz", problem)
    assert list(tmp_path.iterdir()) == []


def test_files_state_their_version_and_those_of_before_are_read():
    problem = Problem.from_joint(JOINT, budget=0.01)
    save_problem("problem.npz", problem)
    save_solution("solution.npz", ESTIMATOR, TILT, 0.5, {})
    for name, load in (("problem", load_problem), ("solution", load_solution)):
        with np.load(f"{name}.npz") as file:
            members = dict(file)
        assert members["version"] == 1
        members["version"] = np.array(2)
        with raises_file_error("version 2"):
            load(npz("later.npz", **members))
        del members["version"]
        load(npz("before.npz", **members))


PAYS = ("low", "mid", "high")


def people(count=500):
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, count).astype(float)
    town = rng.choice(["n", "s", "w"], count).astype(object)
    age[:20] = np.nan
    town[10:30] = None
    pay = np.array(PAYS)[rng.integers(0, 3, count)]
    return {
        "sex": rng.choice(["f", "m"], count),
        "race": rng.integers(0, 3, count),
        "age": age,
        "town": town,
        "pay": pay,
    }


def problem(**options):
    asked = {
        "hide": "sex",
        "guess": "pay",
        "fraction": 0.5,
        "missing": "category",
        "min_count": 5,
        "seed": 12345,
    }
    return ds.Problem.from_frame(people(), **asked | options)


def same(one, other):
    assert repr(one) == repr(other)
    for field in dataclasses.fields(one):
        mine = getattr(one, field.name)
        theirs = getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert_array_equal(mine, theirs)
        elif field.name == "columns":
            for column, again in zip(mine, theirs, strict=True):
                assert_array_equal(column.edges, again.edges)
                assert dataclasses.asdict(column) | {"edges": 0} == dataclasses.asdict(again) | {
                    "edges": 0
                }
        else:
            assert mine == theirs, field.name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_count": 0, "bins": None},
        {"hide": ["race", "sex"], "measure": {"sex": "conditional-mutual-information"}},
        {
            "loss_matrix": {
                pay: {guess: float(guess != pay) for guess in PAYS} | {"?": 0.4} for pay in PAYS
            }
        },
    ],
)
def test_what_is_saved_is_loaded(options):
    made = problem(**options)
    ds.save_problem("p.npz", made)
    again = ds.load_problem("p.npz")
    same(made.samples, again.samples)
    found = ds.solve(made, "tilt", gap=1e-3)
    found.save("s.npz")
    stored = ds.load_solution("s.npz")
    same(made.samples, stored.samples)
    one = made.samples.outcome_of(people())
    other = stored.samples.outcome_of(people())
    assert_array_equal(one.outcomes, other.outcomes)
    assert ds.verify("p.npz", "s.npz").budget_kept is not False


def test_a_file_says_from_what_when_and_by_what_it_was_made(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    made = problem()
    ds.save_problem("p.npz", made)
    text = json.loads(str(np.load("p.npz")["samples"]))
    assert text["date"] == "2026-01-01T00:00:00Z"
    assert text["versions"] == {"discreet": ds.__version__, "numpy": np.__version__}
    assert text["seed"] == f"{12345:032x}"
    assert text["digest"].startswith("sha256:")
    assert text["secrets"] == [{"name": "sex", "labels": ["f", "m"]}]
    assert (text["truths"], text["guesses"]) == (["high", "low", "mid"], ["high", "low", "mid"])
    race, age, town = text["columns"]
    assert (race["name"], len(race["edges"])) == ("race", 2)
    assert (age["name"], len(age["edges"]), age["missing"]) == ("age", 3, True)
    assert (town["categories"], town["edges"], town["missing"]) == (["n", "s", "w"], None, True)
    ds.solve(made, "tilt").save("s.npz")
    metadata = ds.load_solution("s.npz").metadata
    assert metadata["date"] == "2026-01-01T00:00:00Z"
    assert metadata["versions"]["discreet"] == ds.__version__


def test_with_a_seed_and_a_stated_date_files_are_made_again_byte_for_byte(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    for name in ("one", "two"):
        ds.save_problem(f"{name}.npz", problem())
    assert Path("one.npz").read_bytes() == Path("two.npz").read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert problem().samples.date == "1970-01-01T00:00:01Z"
    for wrong in ("", "soon", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with raises_input_error(r"SOURCE_DATE_EPOCH "):
            date_now()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert problem(seed=None).samples.seed != problem(seed=None).samples.seed


def test_readers_without_tables_refuse_a_file_of_a_table_and_read_all_others():
    arrays = ("joint", "p_xz", "loss", "budget", "version")
    texts = ("name", "constraint")
    ds.save_problem("table.npz", problem())
    with raises_file_error(r"'(cells|counts|samples)\.npy'"):
        read_archive("table.npz", arrays=arrays, texts=texts, max_bytes=1 << 30)
    plain = ds.problems.paper_single(bins=8)
    ds.save_problem("plain.npz", plain)
    read_archive("plain.npz", arrays=arrays, texts=texts, max_bytes=1 << 30)
    ds.solve(plain, "tilt").save("answer.npz")
    members = ("estimator", "tilt", "multiplier", "version"), ("metadata", "exact_columns")
    read_archive("answer.npz", arrays=members[0], texts=members[1], max_bytes=1 << 30)
    ds.solve(problem(), "tilt").save("counted.npz")
    with raises_file_error(r"counted\.npz .*'samples\.npy'"):
        read_archive("counted.npz", arrays=members[0], texts=members[1], max_bytes=1 << 30)
    assert ds.load_problem("plain.npz").samples is None


def test_another_budget_and_a_mapped_file_read_it_too():
    made = problem()
    ds.save_problem("p.npz", made)
    again = ds.load_problem("p.npz", budget=0.5)
    assert again.samples is not None
    assert ds.files.map_problem("p.npz").N == made.N


def _text(change):
    return lambda members: (
        members | {"samples": np.array(json.dumps(json.loads(str(members["samples"])) | change))}
    )


@pytest.mark.parametrize(
    "said, change",
    {
        "samples, cells and counts": lambda members: {
            k: v for k, v in members.items() if k != "cells"
        },
        "samples cannot be read": lambda members: members | {"samples": np.array("{")},
        "version 2.*version 1": _text({"version": 2}),
        "cells have shape": _text({"columns": []}),
        "records is -1": _text({"records": -1}),
        "5 is not a text": _text({"digest": 5}),
        "make no sense": _text({"smoothing": None}),
        "about other guesses, secrets or outcomes": _text({"guesses": ["a"]}),
        "labels are not a list": _text({"truths": "high"}),
        "counts .*≥ 0": lambda members: members | {"counts": members["counts"] + 0.5},
        "cells have a bin": lambda members: members | {"cells": members["cells"] + 9},
        "cells .*≥ -1": lambda members: members | {"cells": members["cells"] - 5},
    }.items(),
)
def test_bad_reports_are_refused_in_one_sentence(change, said):
    made = problem()
    members = {"p_xz": made.p_xz, "loss": made.loss, "budget": 0.5, **report_members(made.samples)}
    np.savez("p.npz", **change(members))
    with raises_file_error(said):
        ds.load_problem("p.npz")
