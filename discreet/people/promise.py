"""The largest design budget whose rule is shown to keep the budget asked for, on people who had no
part in its making.

Rules are designed for a ladder of budgets that is fixed in advance, and tried from the smallest on.
A rule passes if the upper confidence limit of its leakage on the calibration people is within the
budget asked for; the first that does not pass ends the search, and the last that passed is taken.
Each rule was made without the calibration people. A rule that leaks more than the budget passes
with probability 1 − confidence at most, and what is taken breaks the budget only if the first such
rule on the ladder passed. So no allowance for trying many rules is needed (testing in a fixed
sequence).

Of several sensitive columns with a budget each, all budgets have one factor on the ladder, and a
rule passes if the limit of each column is within its budget. A rule that breaks one of them passes
only if the limit of that column fails, which happens with probability 1 − confidence. So the level
is not divided by the number of columns either (an intersection–union test).

Source: docs/theory.md, section 23; A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L.
Lei, Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control, Annals of Applied
Statistics 19 (2025), arXiv:2110.01052; R. L. Berger, Multiparameter Hypothesis Testing and
Acceptance Sampling, Technometrics 24 (1982) 295–300.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.people.deployed import Rule
from discreet.people.design import RuleDesign, each_secret_of
from discreet.people.evaluation import Evaluation, Limits
from discreet.people.labels import about, unnamed
from discreet.problems.constraint import LeakageBudget

LADDER = tuple(float(0.02 ** (1.0 - k / 19.0)) for k in range(20))
"""Design budgets over the budget asked for: a fiftieth to one, each 23 % above the last."""

Budgets = Mapping[Any, LeakageBudget]
"""The budget about each sensitive column by name, or about all together by an empty name."""


def amounts(budgets: Budgets) -> dict[Any, float]:
    """As `Evaluation.holds` takes them."""
    return {name: each.amount for name, each in budgets.items()}


@dataclass(frozen=True, eq=False)
class PeoplePoint:
    """A rule, with its certificate for the model, and what it does to people.

    share   of the budgets asked for, for which the rule was designed
    """

    share: float
    design: RuleDesign
    people: Evaluation

    @property
    def rule(self) -> Rule:
        """To save and to deploy."""
        return self.design.rule

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers; of several sensitive columns with a budget each a record of each in
        `secrets`.
        """
        error = {f"error{end}": value for end, value in _named(self.people.error)}
        each = {
            name: told
            | {f"leakage{end}": value for end, value in _named(self.people.each[name].leakage)}
            for name, told in self.design.in_model.items()
        }
        solved = self.design.solution.error_probability
        return {"share": self.share, "model_error": solved, **error, **each_secret_of(each)}


@dataclass(frozen=True, eq=False)
class Promise:
    """The rules that were tried, which of them is taken, and what so many people can promise at
    all.

    budgets  that are promised
    taken    the last rule that passed; None if none did
    tried    all rules, in the order of the ladder; the last may not have passed
    leasts   about the smallest budgets that could pass: the limits for guesses that are in truth
             independent of the group
    """

    budgets: Budgets
    confidence: float
    taken: PeoplePoint | None
    tried: tuple[PeoplePoint, ...]
    leasts: Mapping[Any, float]

    @property
    def budget(self) -> LeakageBudget | Budgets:
        """The budgets by name, or the only one if it is about all sensitive columns together."""
        return unnamed(self.budgets)

    @property
    def least(self) -> float | Mapping[Any, float]:
        """`leasts` in the same way."""
        return unnamed(self.leasts)

    @property
    def statement(self) -> str:
        """One sentence about people."""
        sure = f"{100.0 * self.confidence:g} %"
        people = f"{self.tried[-1].people.people:,} calibration people"
        limits = self.budgets
        asked = (
            f"the budget{'s' if len(limits) > 1 else ''} of "
            f"{_joined(f'{b}{about(name)}' for name, b in limits.items())}"
        )
        if (taken := self.taken) is not None:
            designed = _joined(f"{amount:.4g}" for amount in taken.design.budgets.values())
            leaked = _joined(f"{taken.people.each[name].leakage.estimate:.4g}" for name in limits)
            looked = f"({people}; designed for {designed}, leaked {leaked})"
            return f"holds for people, {sure}: the guess leaks at most {asked} {looked}"
        why = (
            "who can promise about "
            f"{_joined(f'{each:.2g}{about(name)}' for name, each in self.leasts.items())} at the "
            "least"
        )
        failed = self.tried[0]
        near = [
            name
            for name, each in limits.items()
            if self.leasts[name] <= each.amount < failed.people.each[name].at_most
        ]
        if near:
            first = ((about(name), failed.people.each[name]) for name in near)
            told = (
                (f"{each.leakage.estimate:.2g} and perhaps {each.at_most:.2g}{words}")
                for words, each in first
            )
            why = f"{why}, and for whom the most private one leaked {_joined(told)}"
        return (
            f"holds for people, {sure}: the guess leaks nothing, as it is always the same; no "
            "other rule could be shown to "
            f"keep {asked} with {people}, {why}"
        )


def _named(limits: Limits) -> list[tuple[str, float]]:
    return [("", limits.estimate), ("_low", limits.low), ("_high", limits.high)]


def _joined(words: Iterable[str]) -> str:
    return " and ".join(words)


def promised(
    budgets: Budgets, design: Callable[[float], RuleDesign], look: Callable[[Any], Evaluation]
) -> Promise:
    """Try the ladder. design: makes the rule of a share of the budgets; look: evaluates it on the
    calibration people.
    """
    tried: list[PeoplePoint] = []
    taken: PeoplePoint | None = None
    scaled = any(0.0 < each.amount < np.inf for each in budgets.values())
    for share in LADDER if scaled else (1.0,):
        made = design(share)
        step = PeoplePoint(share, made, look(made.rule))
        tried.append(step)
        if not step.people.holds(amounts(budgets)):
            break
        taken = step
    leasts = {name: _least(tried[0].people.each[name]) for name in budgets}
    return Promise(budgets, tried[0].people.confidence, taken, tuple(tried), leasts)


def _least(found: Evaluation) -> float:
    """The limit for guesses of the same frequencies that are independent of the group, given the
    truth if the measure is.
    """
    tables = found.by_truth if found.measure.conditional else found.table[None]
    people = np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    independent = np.round(
        tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True) / people
    )
    return replace(found, by_truth=independent, secrets={}).at_most
