"""What one split of one table gives: a row for each method, setting and constraint.

Settings: *blind*, the rule sees the features, and one calibrated classifier guesses truth and group
together; *aware*, the rule sees the group too. Probabilities of the fitted people come from copies
of the classifier that were not fitted to them (`discreet.people.probabilities`). On this fitted law
every method's answer is judged, and the least error of any rule that leaks as much is found by
`tilt` and certified. On the held-out people error and differences of rates are counted.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fairness import seldonian_engine
from fairness.methods import METHODS, Method, Seen, conditional, model
from fairness.tables import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as ds
from discreet.people.probabilities import Calibrated, calibrate
from discreet.people.rows import Rows

__all__ = ["CONSTRAINTS", "PROMISED", "SELDONIAN", "Place", "Row", "places", "rows_of", "runnable"]

CONSTRAINTS = {"parity": 0.02, "equalized odds": 0.0}
"""The tolerance of each; ThresholdOptimizer has none but 0 for equalized odds."""

SETTINGS = ("blind", "aware")
PROMISED = "discreet, promised"
SELDONIAN = "Seldonian engine, promised"

Place = tuple[str, str, str]
"""Setting, constraint and method: what a split has one row of."""

_NOTHING = 1e-20
"""A leakage that is rounding."""


@dataclass
class Row:
    """One method on one split. A value that does not exist is None.

    tolerance       difference of rates that is asked for
    seconds         of processor time for the design, probabilities at hand; some methods fit
                    classifiers in it
    fitted_error, fitted_leakage   on the fitted law, by the judge; leakage in `unit`
    least_error     of any rule of this setting that leaks as much, certified from below
    error           share of wrong guesses among the held-out people, with probabilities where the
                    rule draws
    difference      largest difference of rates between groups among them, and its limits at 95 %
    """

    table: str
    split: int
    constraint: str
    tolerance: float
    method: str
    setting: str
    fitted: int
    held_out: int
    seconds: float | None = None
    fitted_error: float | None = None
    fitted_leakage: float | None = None
    least_error: float | None = None
    error: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    note: str = ""
    unit: str = field(default="")

    @property
    def place(self) -> Place:
        """Return the key of the row within its split."""
        return self.setting, self.constraint, self.method


def places() -> list[Place]:
    """All rows of a split, in order."""
    own = [
        (setting, constraint, method.name)
        for setting in SETTINGS
        for constraint in CONSTRAINTS
        for method in METHODS
        if method.aware in (None, setting == "aware")
    ]
    promised = (PROMISED, SELDONIAN)
    return own + [(setting, "parity", name) for name in promised for setting in SETTINGS]


def runnable() -> list[Place]:
    """Return the settings whose methods are installed, in order."""
    without = () if seldonian_engine.is_installed() else (SELDONIAN,)
    return [place for place in places() if place[2] not in without]


def rows_of(
    table: Table, split: int, wanted: Collection[Place] | None = None, *, fitted: int | None = None
) -> Iterator[Row]:
    """The wanted rows of a split, all of them by default, one after the other."""
    rng = np.random.default_rng([20261123, split])
    order = rng.permutation(len(table.guess))
    inside, outside = np.split(order, [fitted or table.fitted])
    chosen = [each for each in runnable() if wanted is None or each in wanted]
    methods = {each.name: each for each in METHODS}
    for setting in SETTINGS:
        own = [
            (constraint, methods[name])
            for s, constraint, name in chosen
            if s == setting and name in methods
        ]
        if own:
            people, others = _seen(
                table, inside, outside, setting, np.random.default_rng([split, setting == "aware"])
            )
        for constraint, method in own:
            yield _row(
                table, split, constraint, CONSTRAINTS[constraint], method, setting, people, others
            )
    for setting, _, name in chosen:
        if name == PROMISED:
            yield _promise(table, split, inside, outside, setting)
        if name == SELDONIAN:
            yield _seldonian(table, split, inside, outside, setting)


def _classifier(categories: tuple[bool, ...] | None, aware: bool) -> Any:
    if categories is None:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    mask = [*categories, *[False] * aware]
    return HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=60,
        max_leaf_nodes=15,
        early_stopping=False,
        categorical_features=mask,
        random_state=0,
    )


def _features(table: Table, people: np.ndarray, setting: str) -> np.ndarray:
    if setting == "blind":
        return table.features[people]
    return np.column_stack([table.features[people], table.hide[people]])


def _seen(
    table: Table, inside: Any, outside: Any, setting: str, rng: np.random.Generator
) -> tuple[Seen, Seen]:
    """The fitted and the held-out people."""
    truths = int(table.guess.max()) + 1
    groups = int(table.hide.max()) + 1
    aware = setting == "aware"
    estimator = _classifier(table.categories, aware)
    codes = table.guess if aware else table.guess * groups + table.hide
    labels = truths if aware else truths * groups
    fitted, own = calibrate(
        estimator,
        Rows(_features(table, inside, setting), codes[inside]),
        codes[inside],
        labels,
        rng,
    )
    sides = []
    for people, found in (
        (inside, own),
        (outside, _probabilities(fitted, _features(table, outside, setting))),
    ):
        joint = found.reshape(len(people), truths, -1)
        if aware:
            joint = joint * np.eye(groups)[table.hide[people]][:, None, :]
        sides.append(
            Seen(joint, table.features[people], table.guess[people], table.hide[people], estimator)
        )
    assert sides[0].p_y.shape[0] == sides[0].p_x.shape[0]  # at hand before anything is timed
    return sides[0], sides[1]


def _probabilities(fitted: Calibrated, features: np.ndarray) -> np.ndarray:
    return np.asarray(fitted.probabilities(features))


def _row(
    table: Table,
    split: int,
    constraint: str,
    tolerance: float,
    method: Method,
    setting: str,
    people: Seen,
    others: Seen,
) -> Row:
    row = Row(
        table.name,
        split,
        constraint,
        tolerance,
        method.name,
        setting,
        len(people.truth),
        len(others.truth),
    )
    if method.binary and people.p_y.shape[1] > 2:
        row.note = "serves two guesses only"
        return row
    try:
        row.seconds, treat = method.fit(people, constraint, tolerance)
        columns = treat(people)
    except (ValueError, RuntimeError, ds.DiscreetError) as error:
        row.note = f"{type(error).__name__}: {str(error).splitlines()[0]}"[:200]
        return row
    judged = ds.certify(model(people, constraint, np.inf), columns.T)
    row.fitted_error = judged.error_probability
    row.fitted_leakage = judged.leakage
    best = ds.solve(model(people, constraint, judged.leakage if judged.leakage > _NOTHING else 0.0))
    row.least_error = best.certificate.lower
    row.unit = best.problem.terms[0].measure.unit
    row.note = "" if best.status is ds.Status.CERTIFIED else f"bound: {best.status.value}"
    _held_out(row, treat(others), others.truth, others.group)
    return row


def _held_out(row: Row, columns: np.ndarray, truth: np.ndarray, group: np.ndarray) -> None:
    """Error and differences of rates; among those of each truth for equalized odds, with divided
    levels.
    """
    row.error = float(1.0 - columns[np.arange(len(truth)), truth].mean())
    kinds = np.unique(truth) if conditional(row.constraint) else [None]
    found = []
    for kind in kinds:
        chosen = np.ones(len(truth), dtype=bool) if kind is None else truth == kind
        if len(np.unique(group[chosen])) > 1:
            found.append(
                ds.evaluate(
                    columns[chosen],
                    None,
                    truth[chosen],
                    sensitive_features=group[chosen],
                    measure="parity-difference",
                    confidence=1.0 - 0.05 / len(kinds),
                    labels=list(range(columns.shape[1])),
                ).leakage
            )
    row.difference = max(each.estimate for each in found)
    row.difference_low = max(each.low for each in found)
    row.difference_high = max(each.high for each in found)


def _promise(
    table: Table, split: int, inside: np.ndarray, outside: np.ndarray, setting: str
) -> Row:
    """`ds.PrivateClassifier`, which fits everything itself and keeps people apart for
    its promise.
    """
    tolerance = CONSTRAINTS["parity"]
    row = Row(table.name, split, "parity", tolerance, PROMISED, setting, len(inside), len(outside))
    classifier = _classifier(table.categories, setting == "aware")
    start = time.process_time()
    private = ds.PrivateClassifier(
        classifier,
        classifier,
        budget=tolerance,
        measure="parity-difference",
        calibration=0.4,
        random_state=split,
    )
    private.fit(
        _features(table, inside, setting),
        table.guess[inside],
        sensitive_features=table.hide[inside],
    )
    row.seconds = time.process_time() - start
    taken = private.promise_.taken
    if taken is None:
        row.note = "constant"
    elif taken.lottery.share:
        row.note = f"lottery of {taken.lottery.share:.2f}"
    columns = private.predict_proba(_features(table, outside, setting))
    _held_out(row, columns, table.guess[outside], table.hide[outside])
    return row


def _seldonian(
    table: Table, split: int, inside: np.ndarray, outside: np.ndarray, setting: str
) -> Row:
    """The Seldonian engine, which fits its classifier itself and keeps as many people apart."""
    tolerance = CONSTRAINTS["parity"]
    row = Row(table.name, split, "parity", tolerance, SELDONIAN, setting, len(inside), len(outside))
    if table.guess.max() > 1 or table.categories is not None:
        row.note = "serves two guesses and columns of numbers only"
        return row
    seen, hidden = (_features(table, people, setting) for people in (inside, outside))
    start = time.process_time()
    treat = seldonian_engine.fit(seen, table.guess[inside], table.hide[inside], tolerance, split)
    row.seconds = time.process_time() - start
    if treat is None:
        row.note = "no solution"
        return row
    _held_out(row, treat(hidden), table.guess[outside], table.hide[outside])
    return row
