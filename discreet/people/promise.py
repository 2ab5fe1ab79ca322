"""The largest design budget whose rule is shown to keep the budget asked for, on people who had no part in its making.

Rules are designed for a ladder of budgets that is fixed in advance, and tried from the smallest on. A rule passes if the
upper confidence limit of its leakage on the calibration people is within the budget asked for; the first that does not pass
ends the search, and the last that passed is taken. Each rule was made without the calibration people. A rule that leaks more
than the budget passes with probability 1 − confidence at most, and what is taken breaks the budget only if the first such
rule on the ladder passed. So no allowance for trying many rules is needed (testing in a fixed sequence).

Source: docs/theory.md, section 23; A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei, Learn then Test:
Calibrating Predictive Algorithms to Achieve Risk Control, Annals of Applied Statistics 19 (2025), arXiv:2110.01052.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.people.design import RuleDesign
from discreet.people.evaluation import Evaluation
from discreet.problems.constraint import LeakageBudget

LADDER = tuple(float(0.02 ** (1.0 - k / 19.0)) for k in range(20))
"""Design budgets over the budget asked for: a fiftieth to one, each 23 % above the last."""


@dataclass(frozen=True, eq=False)
class Step:
    """A rule of the ladder, and what it does to the calibration people."""

    design: RuleDesign
    people: Evaluation

    @property
    def budget(self) -> float:
        """What the rule was designed for."""
        return self.design.solution.problem.budget

    def to_dict(self) -> dict[str, float]:
        """Plain numbers."""
        return {
            "design_budget": self.budget,
            "model_error": self.design.solution.error_probability,
            "model_leakage": self.design.solution.leakage,
            "error": self.people.error.estimate,
            "leakage": self.people.leakage.estimate,
            "leakage_at_most": self.people.at_most,
        }


@dataclass(frozen=True, eq=False)
class Promise:
    """The rules that were tried, which of them is taken, and what so many people can promise at all.

    taken    the last rule that passed; None if none did
    tried    all rules, in the order of the ladder; the last may not have passed
    least    about the smallest budget that could pass: the limit for guesses that are in truth independent of the group
    """

    budget: LeakageBudget
    confidence: float
    taken: Step | None
    tried: tuple[Step, ...]
    least: float

    @property
    def statement(self) -> str:
        """One sentence about people."""
        sure, people = f"{100.0 * self.confidence:g} %", f"{self.tried[-1].people.people:,} calibration people"
        if self.taken is not None:
            return (
                f"holds for people, {sure}: the guess leaks at most the budget of {self.budget} ({people}; designed for "
                f"{self.taken.budget:.4g}, leaked {self.taken.people.leakage.estimate:.4g})"
            )
        first = self.tried[0].people
        why = f"who can promise about {self.least:.2g} at the least"
        if self.least <= self.budget.amount:
            why = f"for whom the most private one leaked {first.leakage.estimate:.2g} and perhaps {first.at_most:.2g}"
        return (
            f"holds for people, {sure}: the guess leaks nothing, as it is always the same; no other rule could be shown to "
            f"keep the budget of {self.budget} with {people}, {why}"
        )


def promised(budget: LeakageBudget, design: Callable[[float], RuleDesign], look: Callable[[Any], Evaluation]) -> Promise:
    """Try the ladder. design: makes the rule of a budget; look: evaluates it on the calibration people."""
    tried: list[Step] = []
    taken: Step | None = None
    for part in LADDER if 0.0 < budget.amount < np.inf else (1.0,):
        made = design(part * budget.amount)
        step = Step(made, look(made.rule))
        tried.append(step)
        if not step.people.holds(budget.amount):
            break
        taken = step
    return Promise(budget, tried[0].people.confidence, taken, tuple(tried), _least(tried[0].people))


def _least(found: Evaluation) -> float:
    """The limit for guesses of the same frequencies that are independent of the group, given the truth if the measure is."""
    tables = found.by_truth if found.measure.conditional else found.table[None]
    people = np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    independent = np.round(tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True) / people)
    return replace(found, by_truth=independent, secrets={}).at_most
