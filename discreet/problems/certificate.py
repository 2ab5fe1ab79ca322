"""The result of the judge: the certificate with the residuals of the optimality conditions, and the
repaired answer.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.checks import at_most
from discreet.numerics.double_double import Array
from discreet.problems.constraint import label_constraints, only_of
from discreet.problems.outcome_rules import OutcomeRule
from discreet.problems.outcomes import Blocks
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card, frame
from discreet.showing.values import Facts

if TYPE_CHECKING:
    import pandas as pd

_Answer = TypeVar("_Answer")


class Bracket(Protocol):
    """A lower bound for the estimators that are private within δ, and an error probability that one
    of them reaches.
    """

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def private_within(self) -> float: ...


def excludes(one: Bracket, other: Bracket) -> bool:
    """Return True if the lower bound of `one` applies to the estimators of `other` and exceeds the
    upper bound of `other`, so that both cannot be true.
    """
    return other.private_within <= one.private_within and one.lower > other.upper


NEGLIGIBLE = 1e-100
"""Smaller error probabilities count as zero: gaps are relative to the upper bound or to this
number, whichever is larger.

10^10 people who guess 10^10 times a second for 10^10 years make fewer than 10^38 guesses, so an
error of this probability never occurs. The unit is that of the losses, which are at most 1 by
default.
"""


@dataclass(frozen=True)
class KKTResiduals:
    """The three parts of the gap, in units of error probability, and the worst single entry.

    complementarity  Σ_il P_il r_il: probability spent on guesses that are not optimal
    alignment        Σ_i μ g(u_i) − t_i·u_i: deviation of tilts from μ log ratio
    slackness        μ (ε − leakage): unused budget at a positive multiplier
    worst_entry      max_il P_il r_il / w_l: the loss of the worst outcome, given that outcome; inf
                     if unknown: for densities, and for a rule that ignores some outcomes
    """

    complementarity: float
    alignment: float
    slackness: float
    worst_entry: float

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class TermLeakage:
    """The proven leakage under one constraint, in the unit of its measure.

    budget, measure      budget and measure of the constraint
    perfect              True if it requires perfect privacy
    leakage              of the repaired answer: an estimate, which loses digits below 1e-24 nats
                         and nearly all below 1e-44
    leakage_ceiling      a proven upper bound of it, ≤ budget if the budget is positive. At budget 0
                         for the gain of an adversary with several best actions it may be a number δ
                         ≤ 1e-12, if no estimator without leakage is proven to exist next to the
                         answer; then the bracket is about the estimators that leak at most δ
    own_leakage          of the answer as given
    own_leakage_ceiling  a proven upper bound of it
    own_budget_kept      True if the answer as given is proven to satisfy this budget
    """

    budget: float
    measure: str
    leakage: float
    leakage_ceiling: float
    own_leakage: float
    own_leakage_ceiling: float
    own_budget_kept: bool
    perfect: bool

    @property
    def own_leakage_ratio(self) -> float:
        """Leakage of the answer as given ÷ budget.

        0 without a constraint; at budget 0 it is 0 if the budget is satisfied, and inf otherwise.
        """
        if self.budget > 0.0:
            return self.own_leakage / self.budget
        return 0.0 if self.own_budget_kept else math.inf

    @property
    def gain_is_bounded(self) -> bool:
        """True at budget 0 for the gain of an adversary, in which case the bracket depends on
        `leakage_ceiling`.
        """
        return self.budget == 0.0 and not self.perfect

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return the values by name."""
        return asdict(self)


@dataclass(frozen=True)
class Certificate:
    """What is proven. `lower` is rounded downward and `upper` upward.

    The repaired answer satisfies every budget. It is the answer as given if that is proven to
    satisfy them (`own_budget_kept`). Only the numbers whose names begin with `own_` belong to the
    answer as given. If that leaks too much, `own_error` may be less than `lower`, which bounds the
    estimators that satisfy the budgets.

    lower, upper         bracket of the optimal error probability; the repaired answer reaches
                         `upper`
    phi_residual         ‖Φ P‖∞ of the repaired answer
    private_within       under perfect privacy, δ: the bracket is about the estimators under which
                         |p(x given ŷ) / p(x) − 1| ≤ δ for every guess and every x. If δ = 0, it is
                         about exact perfect privacy, and an estimator that has it is proven to
                         exist next to the answer with an error probability of at most `upper`. inf
                         at other budgets, where nothing is relaxed
    blend                share of a leak-free estimator that the repair mixed in (0 exactly if the
                         answer was not repaired); under perfect privacy, the probability that the
                         guess was changed
    own_error            error probability of the answer as given, after clipping and normalising
                         columns only
    own_phi_residual     ‖Φ P‖∞ of the answer as given
    own_private_within   δ of the answer as given
    kkt                  the three parts of the gap
    terms                what is proven about each constraint [C]

    `budget`, `leakage`, `leakage_ceiling`, `own_leakage` and `own_leakage_ceiling` belong to the
    only constraint. They raise InputError if there are several: `terms` has an entry for each.
    """

    lower: float
    upper: float
    phi_residual: float
    private_within: float
    blend: float
    own_error: float
    own_phi_residual: float
    own_private_within: float
    kkt: KKTResiduals
    terms: tuple[TermLeakage, ...]

    @property
    def only(self) -> TermLeakage:
        """What is proven about the only constraint; InputError if there are several."""
        return only_of(self.terms, ".terms")

    @property
    def budget(self) -> float:
        """The budget ε of the only constraint."""
        return self.only.budget

    @property
    def leakage(self) -> float:
        """The leakage of the repaired answer under the only constraint."""
        return self.only.leakage

    @property
    def leakage_ceiling(self) -> float:
        """A proven upper bound of `leakage`."""
        return self.only.leakage_ceiling

    @property
    def own_leakage(self) -> float:
        """The leakage of the answer as given under the only constraint."""
        return self.only.own_leakage

    @property
    def own_leakage_ceiling(self) -> float:
        """A proven upper bound of `own_leakage`."""
        return self.only.own_leakage_ceiling

    @property
    def gap(self) -> float:
        """The absolute gap, upper − lower ≥ 0."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """The relative gap, (upper − lower) / upper; relative to `NEGLIGIBLE` if the upper bound is
        smaller.
        """
        return self.gap / max(self.upper, NEGLIGIBLE)

    def to_frame(self) -> pd.DataFrame:
        """Return all numbers in a data frame with one row, so that frames of many certificates can
        be concatenated.

        If there are several constraints, the names of their numbers end with `_0`, `_1`, ….
        """
        numbers = {each.name: getattr(self, each.name) for each in fields(self)}
        del numbers["kkt"], numbers["terms"]
        suffixes = label_constraints("_{}", self.terms)
        for suffix, term in zip(suffixes, self.terms, strict=True):
            numbers |= {f"{name}{suffix}": value for name, value in term.to_dict().items()}
        numbers |= {"gap": self.gap, "relative_gap": self.relative_gap, **self.kkt.to_dict()}
        return frame({name: [value] for name, value in numbers.items()})

    def plot(self) -> Figure:
        """Return a figure of the parts of the gap, in units of error probability; values below
        1e-18 are drawn at the left edge.
        """
        parts = {
            "gap": self.gap,
            **{name: value for name, value in self.kkt.to_dict().items() if name != "worst_entry"},
        }
        lengths = tuple(max(value, 1e-18) for value in parts.values())
        places = tuple(map(float, range(len(parts))))
        title = f"Error probability in [{self.lower:.6g}, {self.upper:.6g}]"
        described = "; ".join(f"{name} {value:.2g}" for name, value in parts.items())
        return Figure(
            "certificate",
            title,
            "what the gap is made of",
            "error probability",
            "",
            (Series("", lengths, places, "points"),),
            f"{described}.",
            log_x=True,
            rows=tuple(parts),
        )

    def _repr_html_(self) -> str:
        facts = [
            ("error probability reached", f"{self.upper:.12g}"),
            ("no estimator errs less than", f"{self.lower:.12g}"),
            ("relative gap", f"{self.relative_gap:.2g}"),
        ]
        labels = label_constraints(" {}", self.terms)
        for label, term in zip(labels, self.terms, strict=True):
            ceiling = ""
            if math.isfinite(term.leakage_ceiling):
                ceiling = f", proven ≤ {at_most(term.leakage_ceiling, 9)}"
            leaked = f"{term.leakage:.6g}{ceiling}; budget {term.budget:.6g}"
            facts.append((f"leakage{label}", leaked))
        if self.private_within < math.inf:
            within = (
                "exactly"
                if self.private_within == 0.0
                else f"within {at_most(self.private_within, 2)}"
            )
            facts.append(("private", within))
        kept = (
            "is the answer as given"
            if self.own_budget_kept
            else ("is a repair of the answer as given, which leaked more")
        )
        return card("Certificate", "", Facts("", facts), f"The estimator that it is about {kept}.")

    def __repr__(self) -> str:
        leaked = " and ".join(f"{term.leakage:.6g} of {term.budget:.6g}" for term in self.terms)
        bracket = f"[{self.lower:.12g}, {self.upper:.12g}]"
        return f"Certificate({bracket}, gap {self.relative_gap:.1e}, leakage {leaked})"

    def excludes(self, other: Certificate) -> bool:
        """Return True if this lower bound exceeds the upper bound of the other certificate, so that
        both cannot be true.

        The lower bound must also apply to the estimators of the other certificate.
        """
        pairs = zip(self.terms, other.terms, strict=False)
        relaxed = any(
            own.gain_is_bounded and theirs.leakage_ceiling > own.leakage_ceiling
            for own, theirs in pairs
        )
        return excludes(self, other) and not relaxed

    @property
    def own_budget_kept(self) -> bool:
        """True if the answer as given is proven to satisfy every budget; then it is not
        repaired.
        """
        return self.blend == 0.0

    @property
    def own_leakage_ratio(self) -> float:
        """The largest leakage of the answer as given ÷ budget; see `TermLeakage`."""
        return max(term.own_leakage_ratio for term in self.terms)


@dataclass(frozen=True, eq=False)
class Verdict(Generic[_Answer]):
    """The repaired answer and duals, both feasible, and their certificate.

    answer             of the kind that was judged: a matrix [m, N] or a rule
    tilt, multipliers  t [m, n] and μ [C] (sign conventions of docs/theory.md)
    blocks             the outcomes that an `OutcomeRule` applies to
    moved              at budget 0, if an estimator with perfect privacy is proven to exist next to
                       the answer: the outcomes and guesses of the probabilities in which they
                       differ [2, K], except for the likeliest guess of each outcome
    """

    answer: _Answer
    tilt: Array
    multipliers: Array
    certificate: Certificate
    blocks: Blocks | None = None
    moved: NDArray[np.intp] = field(default_factory=lambda: np.zeros((2, 0), dtype=np.intp))

    @property
    def multiplier(self) -> float:
        """The multiplier μ of the only constraint; InputError if there are several."""
        return float(only_of(self.multipliers, ".multipliers"))

    @property
    def estimator(self) -> Array:
        """The answer as a matrix [m, N], computed from the rule if necessary; InputError if it
        takes more than 2 GiB.
        """
        if self.blocks is None:
            return np.asarray(self.answer)
        rule: OutcomeRule = self.answer  # type: ignore[assignment]
        return rule.dense(self.blocks)
