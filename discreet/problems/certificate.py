"""The judge's statement: the certificate with the residuals of the optimality conditions, and the
repaired answer.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.checks import at_most
from discreet.numerics.double_double import Array
from discreet.problems.constraint import label_constraints, only_of
from discreet.problems.outcomes import Blocks
from discreet.problems.rule import OutcomeRule
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card, frame
from discreet.showing.values import Facts

if TYPE_CHECKING:
    import pandas as pd

_Answer = TypeVar("_Answer")

NEGLIGIBLE = 1e-100
"""An error probability below it counts as nothing: gaps are relative to the upper bound, but never
to less than this.

10^10 people who guess 10^10 times a second for 10^10 years make fewer than 10^38 guesses, so none
of them ever sees an error of that probability. It is in the unit of the losses, whose largest is 1
by default.
"""


@dataclass(frozen=True)
class KKTResiduals:
    """The three parts of the gap, in units of error probability, and the worst single entry.

    complementarity  Σ_il P_il r_il: probability spent on guesses that are not best
    alignment        Σ_i μ g(u_i) − t_i·u_i: tilts that are not μ log ratio
    slackness        μ (ε − leakage): budget left unused at a positive price
    worst_entry      max_il P_il r_il / w_l: the loss of the worst outcome, given that outcome; inf
                     where it is not known: for densities, and for a rule that ignores some outcomes
    """

    complementarity: float
    alignment: float
    slackness: float
    worst_entry: float

    def to_dict(self) -> dict[str, float]:
        """Plain numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class TermLeakage:
    """What is proven about one constraint, in the unit of its measure.

    budget, measure      of the constraint; perfect: whether it asks for perfect privacy
    leakage              of the repaired answer: an estimate, of which digits are lost below 1e-24
                         nats and nearly all below 1e-44
    leakage_ceiling      a proven upper bound of it, ≤ budget where that is positive. At budget 0 of
                         an adversary's gain with several best actions it may be a number δ ≤ 1e-12,
                         if no estimator without leakage is proven to lie next to the answer; then
                         the bracket is about the estimators that leak at most δ
    own_leakage, own_leakage_ceiling
                         of the answer as given
    own_budget_kept      whether the answer as given is proven to keep this budget
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

        0 without a constraint; at budget 0 it is 0 if the budget is kept, and inf otherwise.
        """
        if self.budget > 0.0:
            return self.own_leakage / self.budget
        return 0.0 if self.own_budget_kept else math.inf

    @property
    def gain_is_bounded(self) -> bool:
        """Whether it is budget 0 of an adversary's gain, so that the bracket depends on
        `leakage_ceiling`.
        """
        return self.budget == 0.0 and not self.perfect

    def to_dict(self) -> dict[str, float | str | bool]:
        """Plain values by name."""
        return asdict(self)


@dataclass(frozen=True)
class Certificate:
    """What is proven. `lower` is rounded downward and `upper` upward.

    The repaired answer keeps every budget. It is the answer as given wherever that is proven to
    keep them (`own_budget_kept`). Only the numbers that begin with `own_` belong to the answer as
    given. If that leaks too much, `own_error` may be less than `lower`, which bounds the estimators
    that keep the budgets.

    lower, upper       bracket of the optimal error probability; the repaired answer reaches `upper`
    phi_residual       ‖Φ P‖∞ of the repaired answer
    private_within     at perfect privacy, δ: the bracket is about the estimators under which
                       |p(x given ŷ) / p(x) − 1| ≤ δ for every guess and every x. 0: about the
                       exactly private ones, of which one is proven to lie next to the answer and to
                       err no more than `upper`. inf at other budgets, where nothing is relaxed
    blend              share of a leak-free estimator that the repair mixed in (0 exactly where none
                       was needed); at perfect privacy, the probability that the guess was changed
    own_error, own_phi_residual, own_private_within
                       the same of the answer as given, after clipping and normalising columns only
    kkt                the gap's three parts
    terms              what is proven about each constraint [C]

    `budget`, `leakage`, `leakage_ceiling`, `own_leakage` and `own_leakage_ceiling` are those of the
    only constraint. InputError if there are several: `terms` has an entry for each.
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
        """ε of the only constraint."""
        return self.only.budget

    @property
    def leakage(self) -> float:
        """What the repaired answer leaks by the only constraint."""
        return self.only.leakage

    @property
    def leakage_ceiling(self) -> float:
        """Proven upper bound of `leakage`."""
        return self.only.leakage_ceiling

    @property
    def own_leakage(self) -> float:
        """What the answer as given leaks by the only constraint."""
        return self.only.own_leakage

    @property
    def own_leakage_ceiling(self) -> float:
        """Proven upper bound of `own_leakage`."""
        return self.only.own_leakage_ceiling

    @property
    def gap(self) -> float:
        """upper − lower ≥ 0."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """(upper − lower) / upper, or relative to `NEGLIGIBLE` where the upper bound is less."""
        return self.gap / max(self.upper, NEGLIGIBLE)

    def to_frame(self) -> pd.DataFrame:
        """One row of all numbers, so that those of many certificates can be put together.

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
        """What the gap is made of, in units of error probability; at most 1e-18 is drawn at the
        left edge.
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
        """Whether no estimator that the other is about can err as little as this one proves.

        This lower bound must hold for the estimators of the other certificate too.
        """
        pairs = zip(self.terms, other.terms, strict=False)
        relaxed = any(
            own.gain_is_bounded and theirs.leakage_ceiling > own.leakage_ceiling
            for own, theirs in pairs
        )
        return (
            other.private_within <= self.private_within and self.lower > other.upper and not relaxed
        )

    @property
    def own_budget_kept(self) -> bool:
        """Whether the answer as given is proven to keep every budget; then it is not repaired."""
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
    blocks             the outcomes that an `OutcomeRule` is a rule for
    moved              at budget 0, of an answer next to which an exactly private one is proven to
                       lie: the outcomes and the guesses of the probabilities in which they differ
                       [2, K], but for the likeliest guess of the outcome
    """

    answer: _Answer
    tilt: Array
    multipliers: Array
    certificate: Certificate
    blocks: Blocks | None = None
    moved: NDArray[np.intp] = field(default_factory=lambda: np.zeros((2, 0), dtype=np.intp))

    @property
    def multiplier(self) -> float:
        """μ of the only constraint; InputError if there are several."""
        return float(only_of(self.multipliers, ".multipliers"))

    @property
    def estimator(self) -> Array:
        """The answer as a matrix [m, N], made anew where it is a rule; InputError where that takes
        more than 2 GiB.
        """
        if self.blocks is None:
            return np.asarray(self.answer)
        rule: OutcomeRule = self.answer  # type: ignore[assignment]
        return rule.dense(self.blocks)
