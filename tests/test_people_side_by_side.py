"""The page of rules for people: one split of a table end to end, and what the page says of its
rows.
"""

import importlib
import io
import tarfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.gate

pytest.importorskip("sklearn")
pytest.importorskip("statsmodels")

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """Import a module of the benchmarks, which do not belong to the package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_one_split_end_to_end(load, tmp_path):
    pytest.importorskip("fairlearn")
    split = load("fairness.split")
    report = load("fairness.report")
    main = load("fairness.main")
    rows = list(split.rows_of(load("fairness.tables").diabetes(None), 0))
    named = {(row.method, row.setting, row.constraint): row for row in rows}
    for row in rows:
        # Nobody errs less than the certified least error at the same leakage.
        if row.fitted_error is not None:
            assert row.fitted_error >= row.least_error - 1e-9
        assert row.error is not None
        assert row.difference_low <= row.difference <= row.difference_high
    for setting in ("blind", "aware"):
        for constraint, tolerance in split.CONSTRAINTS.items():
            ours, theirs = (
                named[name, setting, constraint] for name in ("discreet", "program of LinearPost")
            )
            perturbed = named["LinearPost through cvxpy", setting, constraint]
            assert perturbed.fitted_error == pytest.approx(theirs.fitted_error, abs=1e-3)
            assert ours.fitted_leakage <= tolerance + 1e-20
            assert ours.fitted_error == pytest.approx(theirs.fitted_error, abs=1e-6)
        # 88 people can promise little else
        note = named["discreet, promised", setting, "parity"].note
        assert note == "constant" or float(note.removeprefix("lottery of ")) > 0.5
    assert named["ThresholdOptimizer", "aware", "equalized odds"].seconds > 0.0
    report.write(tmp_path / "people", rows)
    page = (tmp_path / "people.md").read_text(encoding="utf-8")
    assert "On the fitted law 0 of " in page
    assert "kept in 2 of 2 splits" in page
    assert (tmp_path / "people-parity.svg").exists()
    # what was written is read again, and no split is done twice
    main.replace_file(tmp_path / "people.csv", main.records_csv([asdict(row) for row in rows]))
    assert main.read(tmp_path / "people.csv") == rows
    assert (
        main.main(["--only", "diabetes", "--splits", "1", "--out", str(tmp_path / "people")]) == 0
    )
    assert (tmp_path / "people.md").read_text(encoding="utf-8") == page
    # some rows are made anew, and the others stay
    again = ["--again", "--method", "plain", "--method", "discreet"]
    assert (
        main.main(
            ["--only", "diabetes", "--splits", "1", "--out", str(tmp_path / "people"), *again]
        )
        == 0
    )
    anew = main.read(tmp_path / "people.csv")
    assert [row.place for row in anew] == [row.place for row in rows]
    for new, old in zip(anew, rows, strict=True):
        assert replace(new, seconds=None) == replace(old, seconds=None)
        assert (new.seconds == old.seconds) == (old.method not in ("discreet",))


def test_a_broken_promise_and_slow_methods_are_told(load, tmp_path):
    split = load("fairness.split")
    report = load("fairness.report")
    row = split.Row(
        "fair",
        0,
        "parity",
        0.02,
        "discreet",
        "aware",
        100_000,
        5_000,
        0.1,
        0.2,
        0.02,
        0.2,
        0.2,
        0.01,
        0.0,
        0.03,
    )
    slow = replace(row, method="ThresholdOptimizer", seconds=0.5, fitted_error=0.19)
    broken = replace(
        row, method="discreet, promised", difference=0.05, difference_low=0.03, difference_high=0.07
    )
    report.write(tmp_path / "people", [row, slow, broken])
    page = (tmp_path / "people.md").read_text(encoding="utf-8")
    assert "On the fitted law 1 of 3 answers err less" in page
    assert "kept in 0 of 1 splits" in page
    assert "discreet the others take to design a rule for 100,000 people" in page
    [line] = [each for each in page.splitlines() if each.startswith("| ThresholdOptimizer | – |")]
    assert line == "| ThresholdOptimizer | – | 5 (5) | – | – | 4 |"


def test_the_seldonian_engine_joins_where_it_is_installed(load, monkeypatch, tmp_path):
    """Its rows are read, kept and shown everywhere; they are made where the engine is."""
    split = load("fairness.split")
    report = load("fairness.report")
    engine = load("fairness.seldonian_engine")
    tables = load("fairness.tables")
    place = ("blind", "parity", split.SELDONIAN)
    assert place in split.places()
    monkeypatch.setattr(engine, "is_installed", lambda: False)
    assert list(split.rows_of(tables.diabetes(None), 0, [place])) == []
    monkeypatch.setattr(engine, "is_installed", lambda: True)
    told = []

    def fit(features, truth, group, tolerance, seed):
        told.append((features.shape, truth.shape, group.max(), tolerance, seed))
        return (lambda people: np.full((len(people), 2), 0.5)) if len(told) == 1 else None

    monkeypatch.setattr(engine, "fit", fit)
    rows = [row for k in range(2) for row in split.rows_of(tables.diabetes(None), k, [place])]
    assert told == [((221, 9), (221,), 1, 0.02, 0), ((221, 9), (221,), 1, 0.02, 1)]
    assert rows[0].error == 0.5
    assert rows[0].difference == 0.0
    assert (rows[1].error, rows[1].note) == (None, "no solution")
    report.write(tmp_path / "people", rows)
    page = (tmp_path / "people.md").read_text(encoding="utf-8")
    assert "The Seldonian engine returns a model in 1 of 2 splits" in page
    assert "| Seldonian engine, promised (1 of 2 splits) | blind |" in page
    [many] = split.rows_of(tables.modechoice(None), 0, [place])
    assert many.note.startswith("serves two guesses")


def test_the_census_is_read_from_its_archive(load, tmp_path):
    tables = load("fairness.tables")
    line = ["a"] * 42
    lines = []
    for age, sex, income in (("30", "Female", "- 50000."), ("40", "Male", "50000+.")):
        line[0] = age
        line[12] = sex
        line[24] = "1700.5"
        line[41] = income
        lines.append(", ".join(line))
    archive = tmp_path / "archive.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for name, text in zip(tables._CENSUS, lines, strict=True):
            member = tarfile.TarInfo(f"package/data/{name}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    found = tables.census(archive)
    assert found.features.shape == (2, 39)
    assert found.hide.tolist() == [0, 1]
    assert found.guess.tolist() == [0, 1]
    assert found.categories is not None
    assert found.categories[0] is False
    with pytest.raises(SystemExit, match="--census PATH"):
        tables.census(None)
