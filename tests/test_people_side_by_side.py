"""The page of rules for people: one split of a table end to end, and what the page says of its
rows.
"""

from dataclasses import asdict, replace

import numpy as np
import pytest
from checkout import text_of

pytestmark = pytest.mark.gate


def test_one_split_end_to_end(load, tmp_path):
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
    page = text_of(tmp_path / "people.md")
    assert "On the fitted law, 0 of " in page
    assert "kept in 2 of 2 splits" in page
    assert (tmp_path / "people-parity.svg").exists()
    # what was written is read again, and no split is done twice
    main.replace_file(tmp_path / "people.csv", main.records_csv([asdict(row) for row in rows]))
    assert main.read(tmp_path / "people.csv") == rows
    command = ["--only", "diabetes", "--splits", "1", "--out", str(tmp_path / "people")]
    assert main.main(command) == 0
    assert text_of(tmp_path / "people.md") == page
    # some rows are made anew, and the others stay
    assert main.main([*command, "--again", "--method", "discreet"]) == 0
    for new, old in zip(main.read(tmp_path / "people.csv"), rows, strict=True):
        assert replace(new, seconds=None) == replace(old, seconds=None)
        assert (new.seconds == old.seconds) == (old.method != "discreet")


def test_the_seldonian_engine_joins_where_it_is_installed(load, monkeypatch, tmp_path):
    """Its rows are read, kept and shown everywhere; they are made where the engine is."""
    split = load("fairness.split")
    engine = load("fairness.seldonian_engine")
    diabetes = load("fairness.tables").diabetes(None)
    place = ("blind", "parity", split.SELDONIAN)
    monkeypatch.setattr(engine, "is_installed", lambda: False)
    assert list(split.rows_of(diabetes, 0, [place])) == []
    monkeypatch.setattr(engine, "is_installed", lambda: True)
    models = iter([lambda people: np.full((len(people), 2), 0.5), None])
    monkeypatch.setattr(engine, "fit", lambda *_: next(models))
    rows = [row for k in range(2) for row in split.rows_of(diabetes, k, [place])]
    assert [row.error for row in rows] == [0.5, None]
    load("fairness.report").write(tmp_path / "people", rows)
    shown = "| Seldonian engine, promised (1 of 2 splits) | blind |"
    assert shown in text_of(tmp_path / "people.md")
