"""Problem and solution files keep how a table became the problem: bins, labels, digest, seed, date
and versions.
"""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from refusals import raises_file_error, raises_input_error

import discreet as ds
from discreet.files.counted import report_members
from discreet.problems.provenance import date_now
from discreet.storage.archive import read_archive

pytestmark = [
    pytest.mark.filterwarnings("ignore::discreet.FewRecordsWarning"),
    pytest.mark.usefixtures("here"),
]


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
