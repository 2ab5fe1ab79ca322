"""The rule of least predicted error that is shown to keep the requested budget, on people who were
not used to make it.

Rules are designed for a ladder of budgets, starting at a rung that only the design people
determine. A rule passes if the upper confidence limit of its leakage on the calibration people is
within the requested budget. The first that does not pass ends the search. It is *diluted*: a
lottery guesses for a share of the people, regardless of who they are, large enough that the limit
is within the budget (`Evaluation.dilution`). The diluted rule competes with the last rule that
passed; the one with the smaller error in the model is taken.

A rule that leaks more than the budget passes, or is diluted too little, only if its limit fails,
which has probability at most 1 − confidence. The rule that is taken breaks the budget only if this
happened to the first such rule on the ladder: rules before it keep the budget, and diluted rules
leak less. So trying many rules needs no correction (testing in a fixed sequence).

If several sensitive columns have a budget each, all budgets share one factor on the ladder, and a
rule passes if the limit of each column is within its budget. A rule that breaks one of them passes
only if the limit of that column fails, which happens with probability 1 − confidence. So the level
is not divided by the number of columns either (an intersection–union test).

Source: docs/theory.md, section 23; A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L.
Lei, Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control, Annals of Applied
Statistics 19 (2025), arXiv:2110.01052; R. L. Berger, Multiparameter Hypothesis Testing and
Acceptance Sampling, Technometrics 24 (1982) 295–300.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from discreet.lazy import cached_property
from discreet.people.deployed import Rule
from discreet.people.design import RuleDesign, diluted_rule, each_secret_of
from discreet.people.evaluation import Evaluation, Limits, list_budgets
from discreet.people.labels import about, unnamed
from discreet.people.places import Lottery
from discreet.people.published import published_lottery
from discreet.problems.constraint import LeakageBudget

LADDER = tuple(float(0.02 ** (1.0 - k / 19.0)) for k in range(39))
"""Design budgets relative to the requested budget: from a fiftieth to fifty times, in steps of 23
%.
"""

_STRIDE = 2  # rungs per step of the search for the starting rung

Budgets = Mapping[Any, LeakageBudget]
"""The budget of each sensitive column by name; an empty name means all together."""


def amounts(budgets: Budgets) -> dict[Any, float]:
    """Return the amounts as `Evaluation.holds` accepts them."""
    return {name: each.amount for name, each in budgets.items()}


@dataclass(frozen=True, eq=False)
class PeoplePoint:
    """A rule with its certificate for the model, and its effect on people.

    share    share of the requested budgets for which the rule was designed
    people   effect of the rule on people; if it is diluted, on average over its lottery
    lottery  the lottery that dilutes the rule, with share 0 if there is none
    """

    share: float
    design: RuleDesign
    people: Evaluation
    lottery: Lottery

    @property
    def rule(self) -> Rule:
        """The rule, to save and to deploy."""
        return diluted_rule(self.design.rule, self.lottery)

    @property
    def model_error(self) -> float:
        """The error probability in the model."""
        return self.design.diluted_error(self.lottery)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; if several sensitive columns have a budget each, `secrets` has a
        record for each.
        """
        each = {
            name: record | _named("leakage", self.people.each[name].leakage)
            for name, record in self.design.in_model.items()
        }
        known = {
            "share": self.share,
            "lottery": self.lottery.share,
            "model_error": self.model_error,
        }
        return {**known, **_named("error", self.people.error), **each_secret_of(each)}


@dataclass(frozen=True, eq=False)
class Promise:
    """The rules that were tried, the one that is taken, and what this number of people can promise
    at all.

    budgets  the promised budgets
    taken    the last rule that passed, or the next one, diluted; None if only a constant guess is
             shown to keep the budgets
    tried    all rules without dilution, in the order of the ladder; the last may not have passed
    """

    budgets: Budgets
    confidence: float
    taken: PeoplePoint | None
    tried: tuple[PeoplePoint, ...]

    @property
    def budget(self) -> LeakageBudget | Budgets:
        """The budgets by name, or the only one if it is about all sensitive columns together."""
        return unnamed(self.budgets)

    @cached_property
    def leasts(self) -> Mapping[Any, float]:
        """Return approximately the smallest budgets that could pass: the limits for guesses that
        are independent of the group.
        """
        first = self.tried[0].people
        return {name: _independent_limit(first.each[name]) for name in self.budgets}

    @property
    def least(self) -> float | Mapping[Any, float]:
        """`leasts` by name, or the only one."""
        return unnamed(self.leasts)

    @property
    def statement(self) -> str:
        """One sentence about people. It does not state their leakage, since that could reveal how
        many of few people got which guess.
        """
        shown = self.tried[-1].people
        sure = shown.sure
        people = f"{shown.people:,} calibration people"
        asked = list_budgets(shown.under(amounts(self.budgets)))
        if (taken := self.taken) is not None:
            designed = " and ".join(f"{amount:.4g}" for amount in taken.design.budgets.values())
            kept = (
                f"holds for people, {sure}: the guess leaks at most {asked} ({people}; designed "
                f"for {designed})"
            )
            if not taken.lottery.share:
                return kept
            return (
                f"{kept}; a lottery guesses for {100.0 * taken.lottery.share:.3g} % of the "
                "people, regardless of who they are"
            )
        leasts = " and ".join(f"{each:.2g}{about(name)}" for name, each in self.leasts.items())
        return (
            "CONSTANT: the guess is always the same and leaks nothing; no other rule could be "
            f"shown, {sure}, to keep {asked} with {people}; the smallest budget that they can "
            f"prove is about {leasts}"
        )


def _named(name: str, limits: Limits) -> dict[str, float]:
    """Return an estimate and its limits by name."""
    return {name: limits.estimate, f"{name}_low": limits.low, f"{name}_high": limits.high}


def cautious_confidence(confidence: float) -> float:
    """Return the confidence of the limits that are foreseen to choose the first rung.

    It is so high that the rule of this rung passes even if its people make it look worse than
    expected: a first rung that fails has to be diluted, while one that passes leads upward.
    """
    return 1.0 - (1.0 - confidence) ** 4


def try_ladder(
    budgets: Budgets,
    design: Callable[[float], RuleDesign],
    look: Callable[[Rule], Evaluation],
    foresee: Callable[[RuleDesign], Evaluation],
) -> Promise:
    """Try the rungs of the ladder.

    design   returns the rule for a share of the budgets
    look     evaluates a rule on the calibration people
    foresee  returns the expected evaluation of a rule there, by the model, with
             `cautious_confidence`
    """
    asked = amounts(budgets)
    design = cache(design)
    shares: Sequence[float] = (1.0,)
    if any(0.0 < amount < np.inf for amount in asked.values()):
        shares = LADDER[_beginning(asked, design, foresee) :]
    tried: list[PeoplePoint] = []
    taken: PeoplePoint | None = None
    for share in shares:
        made = design(share)
        people = look(made.rule)
        lottery = published_lottery(people, people.dilution(asked, made.towards))
        step = PeoplePoint(share, made, people, Lottery(0.0, made.towards))
        tried.append(step)
        if lottery.share:
            diluted = PeoplePoint(share, made, people.diluted(lottery), lottery)
            least = made.constant_error if taken is None else taken.model_error
            if diluted.model_error < least:
                taken = diluted
            break
        taken = step
        if made.is_plain:
            break
    return Promise(budgets, tried[0].people.confidence, taken, tuple(tried))


def _beginning(
    asked: Mapping[Any, float],
    design: Callable[[float], RuleDesign],
    foresee: Callable[[RuleDesign], Evaluation],
) -> int:
    """Return the rung whose diluted rule is expected to have the smallest error.

    It searches in strides from the requested budget while this helps. Below a rung that is expected
    to need no lottery, errors only grow. If nothing helps, rules are tried from the bottom.
    """

    def expect(rung: int) -> tuple[float, float]:
        """Return the expected error and the share of the lottery."""
        made = design(LADDER[rung])
        lottery = foresee(made).dilution(asked, made.towards)
        return made.diluted_error(lottery), lottery.share

    whole = int(np.searchsorted(LADDER[:-1], 1.0))
    rung = whole
    least, lottery = expect(rung)
    if least >= design(LADDER[rung]).constant_error:
        return 0
    for stride in (-_STRIDE, _STRIDE):  # usually the best is below the requested budget
        while 0 <= rung + stride < len(LADDER) and (lottery or stride > 0):
            error, share = expect(rung + stride)
            if error >= least:
                break
            rung += stride
            least = error
            lottery = share
        if rung != whole:
            break
    return rung


def _independent_limit(evaluation: Evaluation) -> float:
    """Return the limit for guesses with the same frequencies that are independent of the group,
    given the truth if the measure is conditional.
    """
    tables = evaluation.by_truth if evaluation.measure.conditional else evaluation.table[None]
    people = np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    independent = np.round(
        tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True) / people
    )
    return replace(evaluation, by_truth=independent, secrets={}).at_most
