"""Rows survive every kind of file they are kept in, and damaged files end in a sentence that names
the place.
"""

import contextlib
import math
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measured import measurement
from refusals import raises_file_error

import discreet as ds
from discreet.reports import Measurement
from discreet.reports.measurements import (
    COLUMNS,
    Stakes,
    from_record,
    landmarks,
    read_csv,
    reference_measurements,
    to_record,
    write_csv,
)
from discreet.reports.study.runner import _leakages
from discreet.reports.study.store import Store, read_results, rows
from discreet.reports.wording import excess

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
LINES = st.lists(TEXT, max_size=3).map("\n".join)
NUMBER = st.floats(0.0, 1e100)  # larger ones are refused
OR_UNDEFINED = st.one_of(NUMBER, st.just(math.inf))
WHOLE = st.integers(0, 2**62)
PLAIN = st.dictionaries(
    WORD,
    st.one_of(TEXT, WHOLE, NUMBER, st.booleans(), st.none(), st.lists(WHOLE, max_size=2)),
    max_size=2,
)
BY_TYPE = {
    "str": TEXT,
    "int": WHOLE,
    "int | None": st.one_of(WHOLE, st.none()),
    "float": OR_UNDEFINED,
    "Status": st.sampled_from(ds.Status),
    "Mapping[str, Any]": PLAIN,
    "Mapping[str, str]": st.dictionaries(WORD, TEXT, max_size=2),
    "tuple[float, ...]": st.lists(NUMBER, max_size=3).map(tuple),
}


def by_column():
    found = {each.name: BY_TYPE[str(each.type)] for each in fields(Measurement)}
    found["lower"] = st.one_of(NUMBER, st.just(-math.inf))
    for name in (
        "lower_seconds",
        "solve_seconds",
        "lift_seconds",
        "certify_seconds",
        "wall_seconds",
    ):
        found[name] = NUMBER
    found["message"] = found["traceback"] = LINES
    return found


MEASUREMENTS = st.builds(Measurement, **by_column())
MODEST = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@MODEST
@given(row=MEASUREMENTS)
def test_a_row_is_its_record(row):
    assert from_record(to_record(row), "here") == row
    assert tuple(to_record(row)) == COLUMNS


@MODEST
@given(found=st.lists(MEASUREMENTS, max_size=3))
def test_rows_survive_comma_separated_files(found, tmp_path):
    for name in ("rows.csv", "rows.csv.gz"):
        write_csv(found, tmp_path / name)
        assert read_csv(tmp_path / name) == found
    first = (tmp_path / "rows.csv.gz").read_bytes()
    write_csv(found, tmp_path / "rows.csv.gz")
    assert (tmp_path / "rows.csv.gz").read_bytes() == first


@pytest.mark.gate
@MODEST
@given(row=MEASUREMENTS)
def test_a_row_survives_parquet(row, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    row = replace(row, cell="0123456789abcdef")
    with Store(folder) as store:
        store.add(row)
    assert rows(folder) == [row]
    assert read_results([folder, folder / "cells" / "0123456789abcdef.parquet"]) == [row]


def test_a_file_of_before_the_later_columns_reads(tmp_path):
    record = to_record(measurement())
    for name in (
        "samples",
        "wall_seconds",
        "profile_settings",
        "distinct_outcomes",
        "traceback",
        "peak_bytes",
        "contradictions",
        "own_private_within",
        "leakage_ceiling_nats",
    ):
        del record[name]
    assert from_record(record | {"unheard_of": 3}, "here") == measurement()


def test_a_required_column_that_is_missing_is_named():
    record = to_record(measurement())
    del record["gap_target"]
    record.pop("outcomes")
    with raises_file_error("column outcomes "):
        from_record(record, "here")


@pytest.mark.parametrize(
    "column, text",
    [
        ("outcomes", "many"),
        ("outcomes", "-4"),
        ("status", "splendid"),
        ("parameters", "[1]"),
        ("samples", "{}"),
        ("upper", "low"),
        ("upper", "nan"),
        ("upper", "1e200"),
        ("versions", "{"),
        ("solve_seconds", "-1"),
        ("solve_seconds", "1e400"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_its_line(column, text, tmp_path):
    write_csv([measurement(), measurement()], tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    import csv

    cells = next(csv.reader([lines[2]]))
    cells[COLUMNS.index(column)] = text
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    (tmp_path / "rows.csv").write_text("\n".join([*lines[:2], quoted]) + "\n")
    with raises_file_error(rf"rows\.csv, line 3(: column {column}| has a time) "):
        read_csv(tmp_path / "rows.csv")


@MODEST
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_never_anything_else(data, tmp_path):
    written = [measurement(), measurement(cell="def")]
    write_csv(written, tmp_path / "whole.csv.gz")
    whole = (tmp_path / "whole.csv.gz").read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    flip = data.draw(st.integers(0, 255))
    (tmp_path / "torn.csv.gz").write_bytes(whole[:cut])
    (tmp_path / "bent.csv.gz").write_bytes(
        whole[:cut] + bytes([whole[cut] ^ flip]) + whole[cut + 1 :]
    )
    with raises_file_error(r"torn\.csv\.gz"):
        read_results([tmp_path / "torn.csv.gz"])
    with contextlib.suppress(ds.FileError):
        assert read_results([tmp_path / "bent.csv.gz"]) == written


def test_results_that_are_not_there_or_not_ours(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "wrong.parquet").write_text("hello")
    (tmp_path / "empty").mkdir()
    for name, said in {
        "nowhere.csv": "there are no results",
        "notes.txt": "not a file of results",
        "wrong.parquet": "cannot read",
        "empty": "not the folder of a study",
        "nul\0l": "cannot be read|there are no results",
    }.items():
        with raises_file_error(said):
            read_results([tmp_path / name])


def test_duckdb_that_is_absent_is_a_sentence_with_the_remedy(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "rows.parquet").write_bytes(b"")
    with raises_file_error(r'pip install "discreet\[bench\]"'):
        read_results([tmp_path / "rows.parquet"])
    with raises_file_error(r'pip install "discreet\[bench\]"'):
        Store(tmp_path)


def test_the_reference_results_read_and_hold_nothing_private():
    found = reference_measurements()
    assert len(found) > 100
    assert len({row.backend for row in found}) >= 5
    for row in found:
        text = " ".join(map(str, to_record(row).values()))
        assert not any(
            trace in text
            for trace in ("/" + name + "/" for name in ("home", "root", "tmp", "usr", "Users"))
        )


def test_derived_values_fail_safe():
    row = measurement()
    assert row.certified
    assert not row.answered
    assert row.leakage_over_budget == math.inf
    assert not row.violated
    assert measurement(upper=0.2, status=ds.Status.VIOLATED_PRIVACY).violated
    assert not measurement(upper=0.2, own_phi_residual=0.0).violated
    assert measurement(upper=0.2, budget_nats=0.1, own_leakage_nats=0.11).violated
    assert measurement(settings={"solver": "scs"}, backend="conic").label == "conic:solver=scs"


def test_of_several_constraints_the_unit_is_their_budgets():
    one, two = (ds.problems.census(secrets=count) for count in (1, 2))
    assert Stakes.of(one) == Stakes("mutual-information", 1, one.budget, one.bayes_leakage)
    assert Stakes.of(two) == Stakes("mutual-information", 2, 1.0, pytest.approx(2.0))
    limits = [
        two.terms[0].budget,
        ds.problems.LeakageBudget(0.01, ds.measures.measure_of("max-lift")),
    ]
    mixed = Stakes.of(two.with_budget(limits))
    assert mixed.measure == "mutual-information and max-lift"
    assert Stakes.of(two.with_budget([0.0, 0.0])).budget == 0.0
    assert Stakes.of(two.with_budget([0.0, math.inf])).bayes_leakage == math.inf
    assert Stakes.of(two.with_budget([math.inf] * 2)).budget == math.inf
    assert landmarks(two)["secrets"] == 2
    found = ds.certify(two.with_budget([1e-3, 1e-4]), two.bayes_estimator).certificate
    told = _leakages(found)
    assert told["own_leakage_nats"] == pytest.approx(two.bayes_leakages[1] / 1e-4, rel=1e-9)
    assert told["leakage_ceiling_nats"] <= 1.0


def test_budget_zero_of_an_adversarys_gain_is_no_perfect_privacy():
    row = next(
        each for each in reference_measurements() if each.budget_nats == 0.0 and each.certified
    )
    assert row.regime == "perfect"
    gain = replace(
        row, measure="min-entropy-leakage", own_leakage_nats=0.0, own_private_within=math.inf
    )
    assert (gain.regime, gain.leakage_over_budget, gain.violated) == ("constrained", 0.0, False)
    assert excess(gain) == "0 ×"
    assert replace(gain, own_leakage_nats=1e-11).leakage_over_budget == pytest.approx(10.0)
