"""Before a budget is chosen: how many people a promise needs, and what error a promise would cost.

A promise is a limit of leakage on people set aside. Its possible size is known in advance: the
smallest limit that this number of people can show is that of guesses that are independent of the
group, and the model predicts the limit of any other rule. Nothing here reads the calibration
people, so a budget chosen with these results may be promised to them.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.checks import as_numbers, positive, whole
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.people.design import RuleDesign
from discreet.people.labels import TOGETHER, unnamed
from discreet.people.places import upper_limit
from discreet.problems.adversary.inference import check_confidence
from discreet.showing.figures import Figure, Series
from discreet.showing.numerals import number
from discreet.showing.values import Table

_FEWEST = 8
_MOST = 10**9
_CLOSE = 1.01  # the number of people is found to within 1 %


def people_needed(
    budget: float,
    *,
    measure: str | Measure = "mutual-information",
    groups: int | Sequence[float] = 2,
    guesses: int | Sequence[float] = 2,
    truths: int | Sequence[float] = 2,
    confidence: float = 0.95,
) -> int:
    """Return the number of calibration people who show, in half of all draws, that a guess keeps a
    budget if it is independent of the group; to within 1 %.

    A rule that leaks anything needs more people.

    budget           in the unit of the measure
    groups, guesses  how many, or the share of each
    truths           the same for the truth; used only under a conditional measure

    Raises InputError, also if 10⁹ people are too few.
    """
    amount = positive(budget, "budget")
    chosen = measure_of(measure)
    sure = check_confidence(confidence)
    shares, rates, given = (
        _shares(each, what)
        for each, what in ((groups, "groups"), (guesses, "guesses"), (truths, "truths"))
    )
    strata = given if chosen.conditional else np.ones(1)
    law = rates[:, None] * np.concatenate([part * shares for part in strata])

    def enough(people: int) -> bool:
        table = np.round(people * law)
        return upper_limit(chosen, table, sure, given=strata.size) <= amount

    high = _FEWEST
    while not enough(high):
        high *= 2
        if high > _MOST:
            raise InputError(f"{_MOST:,} people cannot show a budget of {amount:g}; ask for more")
    low = high // 2
    while high > _CLOSE * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _shares(given: int | Sequence[float], what: str) -> Array:
    if np.ndim(given) == 0:
        return np.full(whole(given, what, 2, 1000), 1.0) / int(np.asarray(given))
    shares = as_numbers(given, what, f"[{what}]")
    if shares.ndim != 1 or shares.size < 2 or not (shares > 0.0).all():
        raise InputError(
            f"{what} is not a list of at least two shares > 0; give their number, or such"
        )
    return np.asarray(shares / shares.sum())


@dataclass(frozen=True)
class PromisePoint:
    """The expected result of the best rule for a budget, if people are as the model predicts.

    budget   the promised budget or, for several sensitive columns, the factor of the requested ones
    error    error probability in the model
    lottery  share of the people for whom a lottery guesses
    """

    budget: float
    error: float
    lottery: float


@dataclass(frozen=True, eq=False)
class Prospects:
    """The errors of rules over the budgets that could be promised, before one is chosen.

    measures        measures of leakage, by the name of the sensitive column
    people          number of people who would be set aside for the promise
    plain_error     error in the model of the rule without a budget
    constant_error  error in the model of the best constant guess
    """

    measures: Mapping[Any, Measure]
    confidence: float
    people: int
    plain_error: float
    constant_error: float
    points: tuple[PromisePoint, ...]

    def __iter__(self) -> Iterator[PromisePoint]:
        return iter(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, for JSON."""
        return {
            "measure": unnamed({str(name): str(each) for name, each in self.measures.items()}),
            "confidence": self.confidence,
            "calibration_people": self.people,
            "plain_error": self.plain_error,
            "constant_error": self.constant_error,
            "points": [vars(point) for point in self.points],
        }

    def plot(self) -> Figure:
        """Return a figure of the errors over the budgets that could be promised."""
        budgets = tuple(point.budget for point in self.points)
        ends = (budgets[0], budgets[-1])
        lines = (
            Series("promised", budgets, tuple(point.error for point in self.points), "both", 0),
            Series("a constant guess", ends, (self.constant_error,) * 2, "line", 1),
            Series("no budget", ends, (self.plain_error,) * 2, "line", 2),
        )
        return Figure(
            "prospects",
            "Errors against the budget that could be promised",
            f"{self.people:,} people apart, {100.0 * self.confidence:g} %, as the model expects",
            self._unit,
            "error probability",
            lines,
            f"Expected errors of rules for {len(self.points)} budgets.",
            log_x=True,
        )

    def tables(self) -> list[Table]:
        """Return a table with one line for each budget."""
        lines = [
            (number(each.budget, 3), number(each.error, 4), f"{100.0 * each.lottery:.3g} %")
            for each in self.points
        ]
        heads = (self._unit, "errors", "lottery")
        sentence = (
            f"Expected with {self.people:,} people apart, {100.0 * self.confidence:g} %. A "
            f"constant guess errs {number(self.constant_error, 4)}, the plain rule "
            f"{number(self.plain_error, 4)}."
        )
        return [Table("Errors for a promise", heads, lines, heads, caption=sentence)]

    @property
    def _unit(self) -> str:
        together = self.measures.get(TOGETHER)
        if together is None:
            return "promised ÷ asked for"
        return f"promised {together} ({together.unit})".removesuffix(" ()")


def prospects_of(
    measures: Mapping[Any, Measure],
    units: Sequence[float],
    steps: Array,
    design: Callable[[float], RuleDesign],
    people: int,
    confidence: float,
    *,
    asymptotic: bool,
) -> Prospects:
    """Return the errors over the budgets that could be promised, with the rules of these steps.

    units: the budgets that steps and budgets of the result multiply.
    """
    designs = [design(step) for step in steps.tolist()]
    if not designs:
        raise InputError("the plain rule leaks nothing in the model, so every budget is kept")
    expected = [
        made.foresee(people, confidence, measures.values(), asymptotic=asymptotic)
        for made in designs
    ]
    provable = [
        max(each.each[name].at_most / unit for name, unit in zip(measures, units, strict=True))
        for each in expected
    ]
    some = [each for each in provable if np.isfinite(each)]
    if not some:
        raise InputError(f"{people:,} people apart can show no budget; give more")
    points = []
    for budget in np.geomspace(0.25 * min(some), max(some), 2 * len(designs)).tolist():
        asked = {name: budget * unit for name, unit in zip(measures, units, strict=True)}
        lotteries = [
            each.dilution(asked, made.towards) for each, made in zip(expected, designs, strict=True)
        ]
        errors = [
            made.diluted_error(lottery) for made, lottery in zip(designs, lotteries, strict=True)
        ]
        best = int(np.argmin(errors))
        points.append(PromisePoint(budget, errors[best], lotteries[best].share))
    first = designs[0]
    return Prospects(
        measures,
        confidence,
        people,
        first.problem.bayes_error,
        first.constant_error,
        tuple(points),
    )
