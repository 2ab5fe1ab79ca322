"""The trade-off between error and leakage among people: rules for many budgets, with a band that
holds for all of them together.

Each rule was designed without these people, and each limit has an equal part of the level: one for
the error, and one for each leakage with a budget. So with the stated confidence no limit of any
rule is wrong, and anyone who picks one of the rules after looking at all of them may quote its
limits.

`discreet.reports.curve` has the curve of a model, which is proven; this one is about people, and
measured.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks import as_numbers, whole
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.numerics.double_double import Array
from discreet.people.deployed import Rule
from discreet.people.design import RuleDesign
from discreet.people.evaluation import Evaluation, list_budgets, list_leakages
from discreet.people.labels import TOGETHER, about, unnamed
from discreet.people.places import Lottery
from discreet.people.promise import Budgets, PeoplePoint
from discreet.problems.problem import Problem
from discreet.showing.data import plain
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card, frame
from discreet.showing.values import Table

if TYPE_CHECKING:
    import pandas as pd

_LEAST = 0.01  # share of the leakage of the plain rule: the first budget by default


@dataclass(frozen=True, eq=False)
class PeopleFrontier:
    """The curve: rules by increasing design budget. All limits of all points hold together with the
    confidence.

    measures  measures of leakage, by the name of the sensitive column; an empty name means all
              together
    """

    measures: Mapping[Any, Measure]
    confidence: float
    points: tuple[PeoplePoint, ...]

    @property
    def measure(self) -> Measure | Mapping[Any, Measure]:
        """The measures by name, or the only one if it is about all sensitive columns together."""
        return unnamed(self.measures)

    def __iter__(self) -> Iterator[PeoplePoint]:
        return iter(self.points)

    @property
    def people(self) -> int:
        """The number of people examined."""
        return self.points[0].people.people

    def best(self, budget: float | Mapping[Any, float]) -> PeoplePoint | None:
        """Return the rule with the fewest errors here among those that are shown to keep a budget,
        or a budget for each sensitive column; None if there is none.

        Examining the curve first, or asking for many budgets, needs no correction.
        """
        kept = [point for point in self.points if _farthest(point, budget) <= 0.0]
        return min(kept, key=lambda point: point.people.error.estimate, default=None)

    def statement(self, budget: float | Mapping[Any, float]) -> str:
        """Return one sentence about people: the result of the best rule for a budget, or the
        smallest budget that could be promised.
        """
        sure = f"{100.0 * self.confidence:g} %"
        counted = f"({self.people:,} people, {len(self.points)} rules together)"
        best = self.best(budget)
        nearest = best or min(self.points, key=lambda point: _farthest(point, budget))
        parts = nearest.people.under(budget)
        leaks = list_leakages(parts, lambda each: each.leakage.high)
        asked = list_budgets(parts)
        if best is None:
            return (
                f"not shown for people, {sure}: no rule keeps {asked}, the least is {leaks} "
                f"{counted}"
            )
        return (
            f"holds for people, {sure}: the guess leaks at most {leaks}, within {asked}, and "
            f"{best.people.error_in_words} {counted}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, for JSON."""
        return {
            "measure": unnamed({str(name): str(each) for name, each in self.measures.items()}),
            "confidence": self.confidence,
            "people": self.people,
            "points": [plain(point.to_dict()) for point in self.points],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for each rule; names of values about one of several
        sensitive columns end with its name.
        """
        rows = []
        for point in self.points:
            row = point.to_dict()
            for name, each in row.pop("secrets", {}).items():
                row |= {f"{what} about {name}": value for what, value in each.items()}
            rows.append(row)
        return frame(rows)

    def plot(self) -> Figure:
        """Return a figure of error against leakage among people, with limits, and of the model; for
        several columns against the share.
        """
        rows = [point.to_dict() for point in self.points]
        together = self.measures.get(TOGETHER)
        label = "design budgets ÷ budgets asked for"
        if together is not None:
            label = f"{together} ({together.unit})".removesuffix(" ()")
        series = []
        for tone, (start, words) in enumerate((("", "among people"), ("model_", "in the model"))):
            x = tuple(row.get(f"{start}leakage", row["share"]) for row in rows)
            y = tuple(row[f"{start}error"] for row in rows)
            low, high = (
                tuple(row[f"error_{end}"] for row in rows) if not tone else ()
                for end in ("low", "high")
            )
            series.append(Series(words, x, y, "both", tone, low, high))
        return Figure(
            "people",
            "Errors and leakage",
            f"{self.people:,} people; the band of errors holds for all rules together, "
            f"{100.0 * self.confidence:g} %",
            label,
            "share of errors",
            tuple(series),
            f"Errors of {len(rows)} rules.",
        )

    def _repr_html_(self) -> str:
        lines = [
            (
                " and ".join(f"{amount:.4g}" for amount in point.design.budgets.values()),
                str(point.people.error),
                *(str(point.people.each[name].leakage) for name in point.design.budgets),
            )
            for point in self.points
        ]
        note = f"all limits hold together with {100.0 * self.confidence:g} %."
        table = Table("", ("designed for", "errors", *self._leaks()), lines)
        return card("Curve of people", f"{self.people:,} people", note, table)

    def _leaks(self) -> list[str]:
        return [f"{measure}{about(name)}" for name, measure in self.measures.items()]

    def __repr__(self) -> str:
        return (
            f"PeopleFrontier({len(self.points)} rules, {self.people:,} people, "
            f"{', '.join(self._leaks())})"
        )


def _farthest(point: PeoplePoint, budget: float | Mapping[Any, float]) -> float:
    """Return the largest relative excess of the limits of leakage over budgets; at most 0 if they
    are kept.
    """
    each = (
        (evaluation.leakage.high, amount) for _, evaluation, amount in point.people.under(budget)
    )
    return max(
        0.0 if high <= amount else (high - amount) / max(amount, 1e-300) for high, amount in each
    )


def units_of(budgets: Budgets) -> list[float]:
    """Return the budgets that steps of a curve multiply: the requested ones, or 1 for all columns
    together.
    """
    return [1.0 if name == TOGETHER else each.amount for name, each in budgets.items()]


def steps_of(model: Problem, budgets: Budgets, count: int) -> Array:
    """Return steps of a curve in a fixed ratio: factors of `units_of`.

    They range from a hundredth of the leakage of the plain rule in the model to all of it, or to
    the requested budget if that leakage is unbounded; none if the plain rule leaks nothing, or if
    no budget was requested.
    """
    leaked = [
        each.measure.amount_of_design(leaks)
        for each, leaks in zip(budgets.values(), model.bayes_leakages, strict=True)
    ]
    pairs = zip(leaked, units_of(budgets), strict=True)
    most = max((leaks / unit for leaks, unit in pairs if 0.0 < unit < np.inf), default=0.0)
    if most == np.inf:
        most = budgets[TOGETHER].amount if TOGETHER in budgets else 1.0
    return np.geomspace(_LEAST, 1.0, count) * most if 0.0 < most < np.inf else np.zeros(0)


def frontier_of(
    model: Problem,
    asked: Budgets,
    budgets: Sequence[float] | None,
    points: int,
    confidence: float,
    design: Callable[[float], RuleDesign],
    look: Callable[[Rule, float], Evaluation],
) -> PeopleFrontier:
    """Return the curve of rules that `design` makes, each evaluated with the confidence that its
    limits need.

    asked: the requested budgets; budgets: the steps of `steps_of`, by default `points` of them.
    """
    if budgets is None:
        steps = steps_of(model, asked, whole(points, "points", 2, 1000))
    else:
        steps = np.unique(as_numbers(budgets, "budgets", "[points]"))
        if steps.ndim != 1 or not steps.size:
            raise InputError(
                "budgets is empty or no list; give one number for each point of the curve"
            )
    each = 1.0 - (1.0 - confidence) / ((1 + len(asked)) * steps.size)
    made = [(step, design(step)) for step in steps.tolist()]
    evaluated = tuple(
        PeoplePoint(step, one, look(one.rule, each), Lottery(0.0, one.towards))
        for step, one in made
    )
    measures = {name: budget.measure for name, budget in asked.items()}
    return PeopleFrontier(measures, confidence, evaluated)
