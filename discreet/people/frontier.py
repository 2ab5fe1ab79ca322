"""The trade of errors for leakage among people: rules for many budgets, with a band that holds for all of them together.

Each rule was designed without these people, and each limit has an equal part of the level, half of it for errors and half
for leakage. So with the stated confidence no limit of any rule is wrong, and whoever picks one of the rules after looking at
all of them may quote its limits.

`discreet.reports.curve` has the curve of a model, which is proven; this one is about people, and measured.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.people.deployed import Rule
from discreet.people.design import RuleDesign
from discreet.people.evaluation import Evaluation
from discreet.problems import showing
from discreet.problems.checks import as_numbers, whole
from discreet.problems.constraint import LeakageBudget
from discreet.problems.errors import InputError
from discreet.problems.measures.measure import Measure
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LEAST = 0.01  # of what the plain rule leaks: the first budget that is looked at by default


@dataclass(frozen=True, eq=False)
class PeoplePoint:
    """A rule of the curve, with its certificate for the model, and what it does to people."""

    design: RuleDesign
    people: Evaluation

    @property
    def rule(self) -> Rule:
        """To save and to deploy."""
        return self.design.rule

    def to_dict(self) -> dict[str, float]:
        """Plain numbers."""
        found, error, leakage = self.design.solution, self.people.error, self.people.leakage
        return {
            "design_budget": found.problem.budget,
            "model_error": found.error_probability,
            "model_leakage": found.leakage,
            "error": error.estimate,
            "error_low": error.low,
            "error_high": error.high,
            "leakage": leakage.estimate,
            "leakage_low": leakage.low,
            "leakage_high": leakage.high,
        }


@dataclass(frozen=True, eq=False)
class PeopleFrontier:
    """The curve: rules by growing design budget. All limits of all points hold together with the confidence."""

    measure: Measure
    confidence: float
    points: tuple[PeoplePoint, ...]

    def __iter__(self) -> Iterator[PeoplePoint]:
        return iter(self.points)

    @property
    def people(self) -> int:
        """How many people were looked at."""
        return self.points[0].people.people

    def best(self, budget: float) -> PeoplePoint | None:
        """The rule of fewest errors here among those that are shown to keep a budget; None if no rule is.

        Looking at the curve first, or asking for many budgets, costs nothing.
        """
        amount = LeakageBudget(budget, self.measure).amount
        kept = [point for point in self.points if point.people.leakage.high <= amount]
        return min(kept, key=lambda point: point.people.error.estimate, default=None)

    def statement(self, budget: float) -> str:
        """One sentence about people: what the best rule for a budget does, or which budget could be promised."""
        sure, unit = f"{100.0 * self.confidence:g} %", f" {self.measure.unit}".rstrip()
        counted = f"({self.people:,} people, {len(self.points)} rules together)"
        found = self.best(budget)
        if found is None:
            least = min(point.people.leakage.high for point in self.points)
            none = f"no rule keeps the budget of {budget:g}{unit}, the least is {least:.2g}"
            return f"not shown for people, {sure}: {none} {counted}"
        error, leakage = found.people.error, found.people.leakage
        return (
            f"holds for people, {sure}: the guess leaks at most {leakage.high:.4g}{unit} of {self.measure}, within the "
            f"budget of {budget:g}, and errs between {error.low:.4g} and {error.high:.4g} {counted}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON."""
        rows = [
            {name: value if np.isfinite(value) else None for name, value in point.to_dict().items()} for point in self.points
        ]
        return {"measure": str(self.measure), "confidence": self.confidence, "people": self.people, "points": rows}

    def to_frame(self) -> pd.DataFrame:
        """A row for each rule."""
        rows = [point.to_dict() for point in self.points]
        return showing.frame({name: [row[name] for row in rows] for name in rows[0]})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Errors over leakage among people, with the band, and what the model says."""
        drawn, rows = showing.axes(ax), [point.to_dict() for point in self.points]
        for k, row in enumerate(rows):
            sides = ([row["leakage_low"], row["leakage_high"]], row["error_low"], row["error_high"])
            band = f"band of {100.0 * self.confidence:g} %" if k == 0 else None
            drawn.fill_between(*sides, color=showing.INKS[0], alpha=0.18, linewidth=0, label=band)
        for start, style, ink, words in (("", "o-", 0, "among people"), ("model_", "--", 1, "in the model")):
            x, y = ([row[f"{start}{name}"] for row in rows] for name in ("leakage", "error"))
            drawn.plot(x, y, style, color=showing.INKS[ink], markersize=4.5, label=words)
        unit = f" ({self.measure.unit})" if self.measure.unit else ""
        title = f"Errors and leakage: {self.people:,} people"
        return showing.finish(drawn, title, f"{self.measure}{unit}", "share of errors", legend=True)

    def _repr_html_(self) -> str:
        lines = [
            (f"{point.design.solution.problem.budget:.4g}", str(point.people.error), str(point.people.leakage))
            for point in self.points
        ]
        told = f"all limits hold together with {100.0 * self.confidence:g} %."
        table = showing.html_table(("designed for", "errors", str(self.measure)), lines)
        return showing.card("Curve of people", f"{self.people:,} people", [], words=(told,), more=table)

    def __repr__(self) -> str:
        return f"PeopleFrontier({len(self.points)} rules, {self.people:,} people, {self.measure})"


def frontier_of(
    model: Problem,
    budgets: Sequence[float] | None,
    points: int,
    confidence: float,
    design: Callable[[float], RuleDesign],
    look: Callable[[Rule, float], Evaluation],
) -> PeopleFrontier:
    """The curve of rules that `design` makes for budgets, each looked at with the confidence that its limits need.

    budgets: by default `points` of them in a fixed ratio, from a hundredth of what the plain rule leaks in the model to all.
    """
    if budgets is None:
        count = whole(points, "points", 2, 1000)
        amounts = np.geomspace(_LEAST, 1.0, count) * model.bayes_leakage
    else:
        amounts = np.unique(as_numbers(budgets, "budgets", "[points]"))
        if amounts.ndim != 1 or not amounts.size:
            raise InputError("budgets is empty or no list; give one number for each point of the curve")
    each = 1.0 - (1.0 - confidence) / (2 * amounts.size)
    made = [design(amount) for amount in amounts.tolist()]
    return PeopleFrontier(model.measure, confidence, tuple(PeoplePoint(one, look(one.rule, each)) for one in made))
