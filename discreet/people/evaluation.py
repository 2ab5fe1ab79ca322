"""What a fixed rule does to people: error, leakage, odds and rates, with limits that hold with a stated confidence.

A *certificate* is about a model. An evaluation is about the people that a table of people was drawn from, independently and
all alike: whatever the rule sees, what it leaks depends on the law of (X, Ŷ) alone, and N people say where that law lies
(`discreet.people.region`). The rule must not have been chosen with the help of these people.

All numbers of an evaluation that are functions of the law of (X, Ŷ) hold together with probability `confidence`: leakage by
every measure, odds, rates and shares. The error holds with that probability on its own.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.people.extremes import MOST_GROUPS, leakage_of, limits_of
from discreet.people.labels import Codes, coded, column, groups
from discreet.people.region import Region, binomial_limits, region_of
from discreet.problems.checks import as_numbers, check_columns, loss_table
from discreet.problems.constraint import LeakageBudget
from discreet.problems.errors import InputError
from discreet.problems.inference.adversary import check_confidence
from discreet.problems.measures.each_guess import LocalDifferentialPrivacy
from discreet.problems.measures.measure import Measure
from discreet.problems.measures.registry import MEASURES, measure_of
from discreet.problems.numerics.double_double import Array


@dataclass(frozen=True)
class Limits:
    """What the table says, and between which numbers the truth lies with the confidence of the evaluation."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a rule does to people, estimated from N of them, with limits.

    people       N
    confidence   probability with which the limits hold
    measure      by which `leakage` is counted
    guesses      labels of the guesses, the rows of `table`
    groups       labels of the groups, the columns of `table`
    table        how many people of each group got each guess [m, n], or sums of the probabilities
    counted      whether guesses were counted, not probabilities summed
    error        share of wrong guesses (mean loss with a loss matrix)
    """

    people: int
    confidence: float
    measure: Measure
    guesses: tuple[Any, ...]
    groups: tuple[Any, ...]
    table: Array
    counted: bool
    error: Limits

    @cached_property
    def region(self) -> Region:
        """Where the law of (X, Ŷ) lies with the confidence."""
        return region_of(self.table, self.confidence, self.counted)

    @cached_property
    def leakage(self) -> Limits:
        """What a guess says about the group, by the evaluation's measure and in its unit."""
        return self.leakage_by(self.measure)

    def leakage_by(self, measure: str | Measure) -> Limits:
        """The same by any measure. All of them hold together, so choosing one afterwards costs nothing."""
        chosen = measure_of(measure)
        low, high = limits_of(chosen, self.region)
        estimate = leakage_of(chosen, self.region.rates, self.region.shares) if len(self.guesses) > 1 else 0.0
        return Limits(estimate, min(low, estimate), high)

    @cached_property
    def leakages(self) -> Mapping[str, Limits]:
        """By every measure that needs no parameter, and Sibson's of order 2."""
        names = [name for name in MEASURES if name not in ("sibson", "g-leakage")]
        if len(self.groups) > MOST_GROUPS:
            names = ["mutual-information", "chi-square"]
        return {name: self.leakage_by(name) for name in (*names, "sibson:alpha=2.0")}

    @cached_property
    def odds(self) -> Limits:
        """The largest factor by which one guess changes the odds of two groups; inf if a guess may exclude a group."""
        found = self.leakage_by(LocalDifferentialPrivacy())
        with np.errstate(over="ignore"):
            return Limits(*(float(np.exp(value)) for value in (found.estimate, found.low, found.high)))

    @cached_property
    def rates(self) -> Mapping[Any, Mapping[Any, Limits]]:
        """Group → guess → the probability of that guess for a person of that group."""
        found = self.region
        return {
            group: {
                guess: Limits(float(found.rates[i, j]), float(found.low[i, j]), float(found.high[i, j]))
                for i, guess in enumerate(self.guesses)
            }
            for j, group in enumerate(self.groups)
        }

    @cached_property
    def shares(self) -> Mapping[Any, Limits]:
        """Group → its share of the people."""
        found = self.region
        numbers = zip(found.shares.tolist(), found.share_low.tolist(), found.share_high.tolist(), strict=True)
        return {group: Limits(*each) for group, each in zip(self.groups, numbers, strict=True)}

    def holds(self, budget: float) -> bool:
        """Whether the leakage is at most the budget, with the confidence."""
        return self.leakage.high <= LeakageBudget(budget, self.measure).amount

    def statement(self, budget: float | None = None) -> str:
        """One sentence about people, with the confidence; of whether a budget is kept if one is given."""
        unit = f" {self.measure.unit}".rstrip()
        sure = f"{100.0 * self.confidence:g} %"
        at_most = f"the guess leaks at most {self.leakage.high:.4g}{unit} of {self.measure}"
        errs = f"errs between {self.error.low:.4g} and {self.error.high:.4g}"
        counted = f"({self.people:,} people)"
        if budget is None:
            return f"for people, {sure}: {at_most} and {errs} {counted}"
        if self.holds(budget):
            return f"holds for people, {sure}: {at_most}, within the budget of {budget:g}, and {errs} {counted}"
        if self.leakage.low > budget:
            least = f"the guess leaks at least {self.leakage.low:.4g}{unit} of {self.measure}"
            return f"broken for people, {sure}: {least}, more than the budget of {budget:g} {counted}"
        return f"not shown for people, {sure}: {at_most}, which is no proof of the budget of {budget:g} {counted}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON; None for what is not finite."""

        def plain(limits: Limits) -> dict[str, float | None]:
            return {
                name: value if np.isfinite(value := float(getattr(limits, name))) else None
                for name in ("estimate", "low", "high")
            }

        return {
            "people": self.people,
            "confidence": self.confidence,
            "measure": str(self.measure),
            "error": plain(self.error),
            "leakage": plain(self.leakage),
            "odds": plain(self.odds),
            "leakages": {name: plain(limits) for name, limits in self.leakages.items()},
            "groups": [str(group) for group in self.groups],
            "guesses": [str(guess) for guess in self.guesses],
            "table": self.table.tolist(),
            "rates": [
                {"group": str(group), "share": plain(self.shares[group])}
                | {"guesses": {str(guess): plain(limits) for guess, limits in row.items()}}
                for group, row in self.rates.items()
            ],
        }

    def __repr__(self) -> str:
        unit = f" {self.measure.unit}".rstrip()
        return (
            f"Evaluation({self.people:,} people, error {self.error}, leakage {self.leakage}{unit}, "
            f"limits of {100.0 * self.confidence:g} %)"
        )


def evaluate(
    rule_or_predictions: Any,
    X: Any = None,  # noqa: N803 (the name that scikit-learn uses)
    y: Any = None,
    *,
    sensitive_features: Any,
    measure: str | Measure = "mutual-information",
    confidence: float = 0.95,
    labels: Sequence[Any] | None = None,
    group_labels: Sequence[Any] | None = None,
    loss_matrix: Any = None,
) -> Evaluation:
    """What a fixed rule does to people who had no part in its making.

    rule_or_predictions  anything with `predict`, which is asked about X; or the guesses of these people; or, for a rule that
                         draws, the probabilities of their guesses [people, guesses]
    X                    what the rule sees of each person (a tuple: several arguments); not read beside predictions
    y                    the truth for each person
    sensitive_features   the group of each person: one column or several; a missing value is a group of its own
    measure              of `leakage`, by name or as an object of `discreet.measures`
    labels               the guesses in the order of the columns of probabilities, or guesses that the rule might also make;
                         without them every value of y and every guess that is seen
    group_labels         groups that the population has, even if none of these people belongs to one
    loss_matrix          loss of guess i' when the truth is i, in the order of the guesses; 0/1 by default

    A rule may list its `possible_guesses`: a rule that always guesses alike then leaks exactly nothing. Raises InputError.
    """
    chosen, level = measure_of(measure), check_confidence(confidence)
    guesses: Any = rule_or_predictions
    known = tuple(labels) if labels is not None else tuple(getattr(rule_or_predictions, "possible_guesses", ()))
    if hasattr(rule_or_predictions, "predict"):
        guesses = rule_or_predictions.predict(*X) if isinstance(X, tuple) else rule_or_predictions.predict(X)
    truth = column(y, "y")
    found_groups, group_codes = coded(groups(sensitive_features), "sensitive_features", tuple(group_labels or ()))
    known, weights, counted = _guesses(guesses, truth, known)
    for what, found in (("the guesses", weights.shape[0]), ("sensitive_features", len(group_codes))):
        if found != len(truth):
            raise InputError(f"there are {found} entries of {what} and {len(truth)} of y; give one for each person")
    if not len(truth):
        raise InputError("there are no people; give at least one")
    if len(found_groups) < 2:
        raise InputError(
            f"all {len(truth)} people are of one group, of whom no guess can say more; give people of every group, or name "
            "the others with group_labels="
        )
    table = np.zeros((len(known), len(found_groups)))
    for i in range(len(known)):
        table[i] = np.bincount(group_codes, weights=weights[:, i], minlength=len(found_groups))
    values, true_codes = coded(truth, "y", known)
    error = _error(weights, true_codes, loss_matrix, len(values), level, counted)
    return Evaluation(len(truth), level, chosen, known, found_groups, _tidied(table, group_codes), counted, error)


def _guesses(guesses: Any, truth: Any, known: tuple[Any, ...]) -> tuple[tuple[Any, ...], Array, bool]:
    """The labels of the guesses, the probability of each [people, m], and whether they are certain."""
    if getattr(guesses, "ndim", 1) == 2 and np.shape(guesses)[1] > 1:
        weights = as_numbers(guesses, "the probabilities of the guesses", "[people, guesses]")
        found = known or coded(truth, "y")[0]
        if len(found) != weights.shape[1]:
            raise InputError(
                f"the probabilities have {weights.shape[1]} columns and there are {len(found)} labels; "
                "give labels= in the order of the columns"
            )
        if not (weights >= 0.0).all():
            raise InputError("a probability of a guess is negative or not a number; give numbers from 0 to 1")
        check_columns(weights.T, "the probabilities of the guesses, transposed")
        return found, np.minimum(weights, 1.0), False
    made = column(guesses, "the guesses")
    found = known or coded(truth, "y")[0]
    found, codes = coded(made, "the guesses", found)
    return found, np.asarray(np.equal.outer(codes, np.arange(len(found))), dtype=np.float64), True


def _tidied(table: Array, codes: Codes) -> Array:
    """The table with columns that add up to whole people, as rounding may have lost a last digit."""
    people = np.bincount(codes, minlength=table.shape[1])
    nearest = np.round(table)
    table = np.where(np.abs(table - nearest) < 1e-9, nearest, table)
    return np.asarray(table * (people / np.where(people > 0, table.sum(axis=0), 1.0)))


def _error(weights: Array, truth: Codes, loss_matrix: Any, values: int, confidence: float, counted: bool) -> Limits:
    m, most = weights.shape[1], 1.0
    if loss_matrix is None:
        right = np.where(truth < m, weights[np.arange(len(truth)), np.minimum(truth, m - 1)], 0.0)
        losses = 1.0 - right
    else:
        matrix = loss_table(loss_matrix, values)
        if matrix.shape[1] != m:
            raise InputError(f"loss_matrix has {matrix.shape[1]} columns and there are {m} guesses; give one for each guess")
        most = float(matrix.max())
        losses = (weights * matrix[truth]).sum(axis=1) / (most or 1.0)
        counted = counted and bool(((matrix == 0.0) | (matrix == most)).all())
    total = np.array([min(losses.sum(), len(losses))])
    low, high = binomial_limits(total, np.array([float(len(losses))]), 1.0 - confidence, counted)
    return Limits(most * float(total[0]) / len(losses), most * float(low[0]), most * float(high[0]))
