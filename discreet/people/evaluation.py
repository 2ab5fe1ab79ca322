"""Measure what a fixed rule does to people: error, leakage, odds and rates, with limits that hold
with a stated confidence.

A *certificate* is about a model. An evaluation is about the population from which a table of people
was drawn independently: whatever the rule uses, its leakage depends only on the law of (X, Ŷ), and
N people determine where that law lies (`discreet.people.region`). These people must not have been
used to choose the rule.

All numbers of an evaluation that are functions of the law of (X, Ŷ) hold together with probability
`confidence`: leakage by every measure, odds, rates and shares. Three results hold with that
probability individually: the error, the leakage to someone who knows the truth (conditional
information, equalized odds), and the evaluation of each sensitive column.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.measures.each_guess import LocalDifferentialPrivacy
from discreet.measures.measure import Measure, Scope
from discreet.measures.region import Region
from discreet.measures.registry import CONDITIONAL, MEASURES, OF_PEOPLE, measure_of
from discreet.numerics.double_double import Array
from discreet.people.extremes import leakage_of, limits_of
from discreet.people.labels import (
    RARE,
    TOGETHER,
    about,
    by_name,
)
from discreet.people.places import Lottery, upper_limit
from discreet.people.region import binomial_limits, region_of
from discreet.problems.constraint import LeakageBudget
from discreet.showing.data import plain
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card, frame
from discreet.showing.values import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Limits:
    """An estimate, with limits between which the truth lies with the confidence of the
    evaluation.
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.4g} ({self.low:.4g} to {self.high:.4g})"


_HALVINGS = 20  # confidence of the interval for the share of a lottery


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a rule does to people, estimated from N of them, with limits.

    confidence   probability with which the limits hold
    measure      measure of `leakage`
    guesses      labels of the guesses
    groups       labels of the groups; tuples of values for several sensitive columns
    truths       labels of the truths
    by_truth     number of people of each truth and group who got each guess [truths, m, n], or sums
                 of probabilities; without the lottery
    losses       loss of guess i when the truth is k [truths, m]
    counted      True if guesses were counted, False if probabilities were summed
    secrets      column → the evaluation of that sensitive column, if there are several
    columns      names of the sensitive columns, if there are several
    asymptotic   True if `at_most` is asymptotic, which is smaller but needs many people
    lottery      the lottery that dilutes the rule after these guesses, or None
    left_out     number of people who were left out, since their groups are not those that the
                 evaluation is about
    """

    confidence: float
    measure: Measure
    guesses: tuple[Any, ...]
    groups: tuple[Any, ...]
    truths: tuple[Any, ...]
    by_truth: Array
    losses: Array
    counted: bool
    secrets: Mapping[Any, Evaluation] = field(default_factory=dict)
    columns: tuple[Any, ...] = ()
    asymptotic: bool = False
    lottery: Lottery | None = None
    left_out: int = 0

    @cached_property
    def before(self) -> Evaluation:
        """The evaluation of the rule without its lottery."""
        secrets = {name: each.before for name, each in self.secrets.items()}
        return replace(self, lottery=None, secrets=secrets)

    @cached_property
    def expected(self) -> Array:
        """`by_truth` on average over the lottery [truths, m, n]."""
        if self.lottery is None:
            return self.by_truth
        people = self.by_truth.sum(axis=1, keepdims=True)
        drawn = self.lottery.towards[:, None] * people
        return np.asarray((1.0 - self.lottery.share) * self.by_truth + self.lottery.share * drawn)

    @property
    def _certain(self) -> bool:
        """True if the guesses were counted and no lottery follows."""
        return self.counted and self.lottery is None

    @cached_property
    def table(self) -> Array:
        """Number of people of each group who got each guess [m, n], or sums of probabilities."""
        return np.asarray(self.expected.sum(axis=0))

    @cached_property
    def people(self) -> int:
        """The number of people, N."""
        return int(np.round(self.by_truth.sum()))

    @cached_property
    def error(self) -> Limits:
        """The share of wrong guesses; with a loss matrix, the mean loss."""
        most = float(self.losses.max())
        counted = self._certain and bool(((self.losses == 0.0) | (self.losses == most)).all())
        people = float(self.people)
        total = float((self.expected.sum(axis=2) * self.losses).sum()) / (most or 1.0)
        total = min(total, people)
        low, high = binomial_limits(
            np.array([total]), np.array([people]), 1.0 - self.confidence, counted
        )
        return Limits(most * total / people, most * float(low[0]), most * float(high[0]))

    @cached_property
    def region(self) -> Region:
        """The confidence region of the law of (X, Ŷ)."""
        if self.lottery is not None:
            return self.before.region.diluted(self.lottery.share, self.lottery.towards)
        return region_of(self.table, self.confidence, self.counted)

    @cached_property
    def region_given_truth(self) -> Region:
        """The confidence region of the law of (X, Ŷ) given each truth."""
        if self.lottery is not None:
            given = self.before.region_given_truth
            return given.diluted(self.lottery.share, self.lottery.towards)
        table = np.concatenate([*self.by_truth], axis=1)
        return region_of(table, self.confidence, self.counted, len(self.by_truth))

    @cached_property
    def given(self) -> Mapping[Any, Evaluation]:
        """Truth → the evaluation of the people with that truth: their rates, leakage and errors."""
        facts = zip(self.truths, self.by_truth, self.losses, strict=True)
        return {
            truth: replace(
                self,
                measure=self.measure.given_one,
                truths=(truth,),
                by_truth=table[None],
                losses=losses[None],
                secrets={},
                left_out=0,
            )
            for truth, table, losses in facts
            if table.any()
        }

    @cached_property
    def leakage(self) -> Limits:
        """The leakage about the group, by the evaluation's measure and in its unit."""
        return self.leakage_by(self.measure)

    def leakage_by(self, measure: str | Measure) -> Limits:
        """Return the leakage by any measure. These limits hold together, so the measure may be
        chosen afterwards.

        A conditional measure is about readers who know the truth, and its limits hold individually.
        """
        chosen = measure_of(measure)
        region = self.region_given_truth if chosen.conditional else self.region
        low, high = limits_of(chosen, region)
        if self.lottery is not None:
            kept = chosen.diluted(self.before.leakage_by(chosen).high, self.lottery.share)
            high = min(high, kept)
        estimate = (
            leakage_of(chosen, region.rates, region.shares, region.given)
            if len(self.guesses) > 1
            else 0.0
        )
        return Limits(estimate, min(low, estimate), high)

    @cached_property
    def at_most(self) -> float:
        """Return the upper limit of the leakage, with the confidence. It is smaller than
        `leakage.high`, which holds together with a lower limit.
        """
        if self.lottery is not None:
            return self.before.at_most_with(self.lottery)
        return self._limit(None)

    def at_most_with(self, lottery: Lottery) -> float:
        """Return the upper limit of the leakage of the rule with a lottery."""
        if self.measure.scope is not Scope.POSTERIOR:
            return self.measure.diluted(self.at_most, lottery.share)
        return min(self.at_most, self._limit(lottery))

    def _limit(self, lottery: Lottery | None) -> float:
        if self.asymptotic and self.counted:
            tables = self.by_truth if self.measure.conditional else self.table[None]
            level = self.measure.asymptotic_level(tables, 1.0 - self.confidence)
            if level < np.inf:  # otherwise the exact limit, which also holds for few people
                return self.measure.amount(level)
        table = np.concatenate([*self.by_truth], axis=1) if self.measure.conditional else self.table
        given = len(self.by_truth) if self.measure.conditional else 1
        return upper_limit(self.measure, table, self.confidence, self.counted, given, lottery)

    @cached_property
    def leakages(self) -> Mapping[str, Limits]:
        """Return the leakage by every measure that needs no parameter, and by Sibson's information
        of order 2; conditional on the truth if there are two truths.
        """
        names = [name for name in MEASURES if name not in ("sibson", "g-leakage")]
        given = (*CONDITIONAL, *OF_PEOPLE) if len(self.truths) > 1 else ()
        return {name: self.leakage_by(name) for name in (*names, "sibson:alpha=2.0", *given)}

    @cached_property
    def odds(self) -> Limits:
        """Return the largest factor by which one guess changes the odds between two groups; inf if
        a guess may exclude a group.
        """
        change = self.leakage_by(LocalDifferentialPrivacy())
        with np.errstate(over="ignore"):
            return Limits(
                *(float(np.exp(value)) for value in (change.estimate, change.low, change.high))
            )

    @cached_property
    def rates(self) -> Mapping[Any, Mapping[Any, Limits]]:
        """Return, by group and guess, the probability of the guess for a person of the group."""
        region = self.region
        return self._by_group(region.rates, region.low, region.high)

    def _by_group(
        self, estimate: Array, low: Array, high: Array
    ) -> Mapping[Any, Mapping[Any, Limits]]:
        """Return limits by group and guess, from arrays [m, n]."""
        return {
            group: {
                guess: Limits(float(estimate[i, j]), float(low[i, j]), float(high[i, j]))
                for i, guess in enumerate(self.guesses)
            }
            for j, group in enumerate(self.groups)
        }

    @cached_property
    def impact_ratios(self) -> Mapping[Any, Mapping[Any, Limits]]:
        """Return, by group and guess, the rate divided by that of the group that gets the guess
        most often; 1 if no one gets it. For a guess that means selection, this is the impact
        ratio.
        """
        region = self.region
        return self._by_group(
            _over_largest(region.rates, region.rates),
            _over_largest(region.low, region.high),
            _over_largest(region.high, region.low),
        )

    @cached_property
    def shares(self) -> Mapping[Any, Limits]:
        """Return the share of each group in the people."""
        region = self.region
        numbers = zip(
            region.shares.tolist(),
            region.share_low.tolist(),
            region.share_high.tolist(),
            strict=True,
        )
        return {group: Limits(*each) for group, each in zip(self.groups, numbers, strict=True)}

    def holds(self, budget: float | Mapping[Any, float]) -> bool:
        """Return True if the leakage is at most the budget, with the confidence.

        A mapping gives a budget for each sensitive column; then all must be kept. The confidence
        covers all of them together without a correction, because a false claim requires that one
        broken budget was misjudged.
        """
        return all(evaluation.at_most <= amount for _, evaluation, amount in self.under(budget))

    def diluted(self, lottery: Lottery) -> Evaluation:
        """Return the evaluation of the rule with a lottery."""
        secrets = {name: each.diluted(lottery) for name, each in self.secrets.items()}
        return replace(self, lottery=lottery, secrets=secrets)

    def dilution(self, budget: float | Mapping[Any, float], towards: Array) -> Lottery:
        """Return the lottery with the smallest share with which the rule keeps the budget (or the
        budget of each column), with the confidence. The share is 1 if no smaller one is known to
        suffice.

        towards: probabilities of the guesses that the lottery makes, for every person [m]
        """
        parts = self.under(budget)
        return Lottery(
            max(evaluation._share_within(amount, towards) for _, evaluation, amount in parts),
            towards,
        )

    def _share_within(self, budget: float, towards: Array) -> float:
        """Return the smallest share of a lottery for which the limit is within a budget."""
        if self.measure.scope is not Scope.POSTERIOR or self.at_most <= budget:
            return self.measure.dilution(self.at_most, budget)
        low = 0.0
        high = 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            kept = self.at_most_with(Lottery(middle, towards)) <= budget
            low, high = (low, middle) if kept else (middle, high)
        return high

    def breaks(self, budget: float | Mapping[Any, float]) -> bool:
        """Return True if the leakage exceeds the budget, or one of several, with the confidence."""
        return bool(self._broken(budget))

    def under(self, budget: float | Mapping[Any, float]) -> list[tuple[str, Evaluation, float]]:
        """Iterate over the budgets: whom each protects, in words; the evaluation that it is about;
        and its amount.
        """
        budgets = by_name(budget)
        if unknown := [name for name in budgets if name not in self.each]:
            raise InputError(
                f"there is no sensitive column {unknown[0]!r}; there are "
                f"{', '.join(map(repr, self.secrets))}"
            )
        parts = ((name, self.each[name], amount) for name, amount in budgets.items())
        return [
            (about(name), evaluation, LeakageBudget(amount, evaluation.measure).amount)
            for name, evaluation, amount in parts
        ]

    def _broken(self, budget: float | Mapping[Any, float]) -> list[tuple[str, Evaluation, float]]:
        """Return the budgets that are broken, with the error probability divided equally between
        them (Bonferroni).
        """
        parts = self.under(budget)
        if len(parts) > 1:
            each = 1.0 - (1.0 - self.confidence) / len(parts)
            parts = [
                (about, replace(evaluation, confidence=each), amount)
                for about, evaluation, amount in parts
            ]
        return [part for part in parts if part[1].leakage.low > part[2]]

    @property
    def sure(self) -> str:
        """The confidence in words."""
        return f"{100.0 * self.confidence:g} %" + ", asymptotically" * self.asymptotic

    def statement(self, budget: float | Mapping[Any, float] | None = None) -> str:
        """Return one sentence about the population, with the confidence. With a budget, or one for
        each column, it states whether the budget is kept.
        """
        sure = self.sure
        errs = self.error_in_words
        counted = f"({self.people:,} people){self._words_on_left_out}"
        parts = [("", self, np.inf)] if budget is None else self.under(budget)
        at_most = list_leakages(parts, lambda each: each.at_most, "at most ")
        if budget is None:
            return f"for people, {sure}: the guess leaks {at_most} and {errs} {counted}"
        asked = list_budgets(parts)
        if self.holds(budget):  # the limits of several columns hold individually, not together
            kept = f"at most {asked}" if len(parts) > 1 else f"{at_most}, within {asked}"
            return f"holds for people, {sure}: the guess leaks {kept}, and {errs} {counted}"
        if broken := self._broken(budget):
            least = list_leakages(broken, lambda each: each.leakage.low, "at least ")
            return (
                f"broken for people, {sure}: the guess leaks {least}, more than "
                f"{list_budgets(broken)} {counted}"
            )
        alone = ", each by itself" if len(parts) > 1 else ""
        return (
            f"not shown for people, {sure}: the guess leaks {at_most}{alone}, which does "
            f"not prove {asked} {counted}"
        )

    @property
    def error_in_words(self) -> str:
        """The limits of the error in words."""
        return f"errs between {self.error.low:.4g} and {self.error.high:.4g}"

    def keeps(self, budget: float | Mapping[Any, float]) -> bool:
        """Return True if the guesses of exactly these people leak at most the budget."""
        return all(each.leakage.estimate <= amount for _, each, amount in self.under(budget))

    def cohort_statement(self, budget: float | Mapping[Any, float] | None = None) -> str:
        """Return one sentence about exactly these people, for decisions that concern them and no
        one else. The leakage is then known exactly.
        """
        parts = [("", self, np.inf)] if budget is None else self.under(budget)
        leaked = list_leakages(parts, lambda each: each.leakage.estimate)
        asked = ""
        if budget is not None:
            asked = f", {'within' if self.keeps(budget) else 'more than'} {list_budgets(parts)}"
        made = "their guesses" if self._certain else "on average over its coins, the rule's guesses"
        return (
            f"holds exactly for this cohort of {self.people:,} people: {made} leak {leaked}"
            f"{asked}, and err {self.error.estimate:.4g}; nothing is said about other people"
            f"{self._words_on_left_out}"
        )

    @property
    def _words_on_left_out(self) -> str:
        """Return how many people were left out, and why, as the end of a sentence."""
        if not self.left_out:
            return ""
        return (
            f"; {self.left_out:,} people were left out, since the promise is not about their groups"
        )

    @property
    def each(self) -> Mapping[Any, Evaluation]:
        """Iterate over the names of sensitive columns and their evaluations; the empty name stands
        for this evaluation.
        """
        return {**self.secrets, TOGETHER: self}

    @cached_property
    def about_each(self) -> Mapping[str, Limits]:
        """Return a statement about each sensitive column, by its measure and name, if there are
        several.
        """
        return {
            (f"{evaluation.measure} about {name}"): evaluation.leakage
            for name, evaluation in self.secrets.items()
        }

    def called(self, group: Any) -> str:
        """Return a group in words. A combination of values is written by column, such as sex=f,
        race=0.
        """
        if not self.columns or group == RARE:
            return str(group)
        each = zip(self.columns, group, strict=True)
        return ", ".join(
            f"{name}={value}" if isinstance(name, str) else f"{value}" for name, value in each
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, for JSON; numbers that are not finite are None."""
        record: dict[str, Any] = {
            "people": self.people,
            "confidence": self.confidence,
            "measure": str(self.measure),
            "error": self.error,
            "leakage": self.leakage,
            "leakage_at_most": self.at_most,
            "odds": self.odds,
            "leakages": self.leakages,
            "groups": [self.called(group) for group in self.groups],
            "guesses": [str(guess) for guess in self.guesses],
            "table": self.table.tolist(),
            "rates": [
                {
                    "group": self.called(group),
                    "share": self.shares[group],
                    "guesses": {str(guess): limits for guess, limits in row.items()},
                    "impact_ratios": {
                        str(guess): limits for guess, limits in self.impact_ratios[group].items()
                    },
                }
                for group, row in self.rates.items()
            ],
        }
        if self.left_out:
            record["left_out"] = self.left_out
        if self.secrets:
            record["secrets"] = {str(name): each.to_dict() for name, each in self.secrets.items()}
        named: dict[str, Any] = plain(record)
        return named

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for the error, the leakage by every measure, each odds
        ratio and rate: estimate, low and high.
        """
        numbers = {
            "error": self.error,
            **self.leakages,
            **self.about_each,
            "largest change of odds": self.odds,
        }
        rows = [(what, "", "", limits) for what, limits in numbers.items()]
        for group, row in self.rates.items():
            name = self.called(group) if self.columns else group
            rows += [("rate", name, guess, limits) for guess, limits in row.items()]
        return frame(
            [
                {"what": what, "group": group, "guess": guess, **vars(limits)}
                for what, group, guess, limits in rows
            ]
        )

    def plot(self) -> Figure:
        """Return a figure of how often each group gets each guess, with limits."""
        series = []
        for j, group in enumerate(self.groups):
            shift = 0.6 / len(self.groups) * (j - 0.5 * (len(self.groups) - 1))
            places = tuple(k + shift for k in range(len(self.guesses)))
            rates, low, high = (
                tuple(each[:, j].tolist())
                for each in (self.region.rates, self.region.low, self.region.high)
            )
            series.append(Series(self.called(group), places, rates, "points", j, low, high))
        return Figure(
            "rates",
            "Guesses by group",
            f"{self.people:,} people, limits of {100.0 * self.confidence:g} %",
            "guess",
            "share of the group",
            tuple(series),
            "How often each group gets each guess.",
            categories=tuple(map(str, self.guesses)),
        )

    def tables(self, selected: str | None = None) -> list[Table]:
        """Return tables of the errors, leakages and odds, and of the rates, impact ratios and sizes
        of groups. selected: the guess, as text, for which to show impact ratios; by default
        every guess.
        """
        from discreet.reports.card import evaluation_tables

        return evaluation_tables(self.to_dict(), selected)

    def _repr_html_(self) -> str:
        each = " and of each sensitive column" * bool(self.secrets)
        note = (
            f"Limits of leakage, odds and rates hold together, those of errors{each} by themselves."
        )
        return card(
            "Evaluation", f"{self.people:,} people", f"{self.statement()}.", note, *self.tables()
        )

    def __repr__(self) -> str:
        return (
            f"Evaluation({self.people:,} people, error {self.error}, leakage "
            f"{self.leakage}{unit_of(self)}, "
            f"limits of {100.0 * self.confidence:g} %)"
        )


def unit_of(evaluation: Evaluation) -> str:
    """Return the unit of the evaluation's leakage after a space; empty if it has no unit."""
    return f" {evaluation.measure.unit}".rstrip()


def list_leakages(
    parts: list[tuple[str, Evaluation, float]],
    leakage: Callable[[Evaluation], float],
    bound: str = "",
) -> str:
    """Return a leakage of each evaluation in words, such as "at most 0.1 nats of
    mutual-information about sex".
    """
    return " and ".join(
        f"{bound}{leakage(each):.4g}{unit_of(each)} of {each.measure}{about}"
        for about, each, _ in parts
    )


def list_budgets(parts: list[tuple[str, Evaluation, float]]) -> str:
    """Return the budgets of evaluations in words."""
    each = (f"{LeakageBudget(amount, own.measure)}{about}" for about, own, amount in parts)
    return f"the budget{'s' if len(parts) > 1 else ''} of {' and '.join(each)}"


def _over_largest(own: Array, others: Array) -> Array:
    """Return rates [m, n] divided by the largest of their row; the rates of other groups count as
    equal to these.
    """
    apart = np.where(np.eye(own.shape[1], dtype=np.bool_), 0.0, others[:, None, :]).max(axis=2)
    largest = np.maximum(own, apart)
    return np.asarray(np.divide(own, largest, out=np.ones_like(own), where=largest > 0.0))
