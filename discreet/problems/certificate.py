"""The judge's statement: the certificate with the residuals of the optimality conditions, and the repaired answer."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.problems.blocks import Blocks
from discreet.problems.checks import at_most
from discreet.problems.numerics.double_double import Array
from discreet.problems.rule import OutcomeRule
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card, frame
from discreet.showing.values import Facts

if TYPE_CHECKING:
    import pandas as pd

_Answer = TypeVar("_Answer")

NEGLIGIBLE = 1e-100
"""An error probability below it counts as nothing: gaps are relative to the upper bound, but never to less than this.

10^10 people who guess 10^10 times a second for 10^10 years make fewer than 10^38 guesses, so none of them ever sees an error
of that probability. It is in the unit of the losses, whose largest is 1 by default.
"""


@dataclass(frozen=True)
class KKTResiduals:
    """The three parts of the gap, in units of error probability, and the worst single entry.

    complementarity  Σ_il P_il r_il: probability spent on guesses that are not best
    alignment        Σ_i μ g(u_i) − t_i·u_i: tilts that are not μ log ratio
    slackness        μ (ε − leakage): budget left unused at a positive price
    worst_entry      max_il P_il r_il / w_l: the loss of the worst outcome, given that outcome; inf where it is not known:
                     for densities, and for a rule that ignores some outcomes
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
    """What is proven about one of several constraints, in the unit of its measure.

    budget, measure       of the constraint; perfect: whether it asks for perfect privacy
    leakage               of the repaired answer; an estimate, as of `Certificate`, and leakage_ceiling a proven upper bound
    own_leakage, own_leakage_ceiling
                          of the answer as given
    own_budget_kept       whether the answer as given is proven to keep this budget
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
        """Leakage of the answer as given ÷ budget; 0 without constraint, at budget 0 inf unless it is kept."""
        if self.budget > 0.0:
            return self.own_leakage / self.budget
        return 0.0 if self.own_budget_kept else math.inf

    def to_dict(self) -> dict[str, float | str | bool]:
        """Plain values by name."""
        return asdict(self)


@dataclass(frozen=True)
class Certificate:
    """What is proven. `lower` is rounded downward and `upper` upward.

    The repaired answer keeps the budget. It is the answer as given wherever that is proven to keep it (`own_budget_kept`).
    Only the numbers that begin with `own_` belong to the answer as given; where it leaks too much, `own_error` may be less
    than `lower`, which bounds the estimators that keep the budget.

    lower, upper       bracket of the optimal error probability; `upper` is reached by the repaired answer
    leakage            of the repaired answer, nats; ≤ budget; an estimate, of which digits are lost below 1e-24 nats and
                       nearly all below 1e-44
    phi_residual       ‖Φ P‖∞ of the repaired answer
    private_within     at budget 0, δ: the bracket is about the estimators under which |p(x given ŷ) / p(x) − 1| ≤ δ for
                       every guess and every x. 0: about the exactly private ones, of which one is proven to lie next to the
                       answer and to err no more than `upper`. inf at other budgets, where nothing is relaxed
    budget             ε, nats
    blend              share of a leak-free estimator that the repair mixed in (0 exactly where none was needed); at budget
                       0, the probability that the guess was changed
    own_error, own_leakage, own_phi_residual, own_private_within
                       the same of the answer as given, after clipping and normalising columns only
    kkt                the gap's three parts
    leakage_ceiling, own_leakage_ceiling
                       proven upper bounds of the two leakages, nats; that of the repaired answer is ≤ budget > 0. Where
                       several actions of an adversary are the best it may be a number δ ≤ 1e-12 at budget 0, if no
                       estimator without leakage is proven to lie next to the answer; then the bracket is about the
                       estimators that leak at most δ
    terms              of several constraints, what is proven about each; empty for one. The leakages above are inf then, and
                       the budget nan, as none of them is the one; `private_within` is about all that ask for perfect privacy
    """

    lower: float
    upper: float
    leakage: float
    phi_residual: float
    private_within: float
    budget: float
    blend: float
    own_error: float
    own_leakage: float
    own_phi_residual: float
    own_private_within: float
    kkt: KKTResiduals
    leakage_ceiling: float = math.inf
    own_leakage_ceiling: float = math.inf
    terms: tuple[TermLeakage, ...] = ()

    @property
    def gap(self) -> float:
        """upper − lower ≥ 0."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """(upper − lower) / upper, or relative to `NEGLIGIBLE` where the upper bound is less."""
        return self.gap / max(self.upper, NEGLIGIBLE)

    def to_frame(self) -> pd.DataFrame:
        """One row of all numbers, so that those of many certificates can be put together."""
        numbers = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("kkt", "terms")}
        numbers |= {"gap": self.gap, "relative_gap": self.relative_gap, **self.kkt.to_dict()}
        return frame({name: [value] for name, value in numbers.items()})

    def plot(self) -> Figure:
        """What the gap is made of, in units of error probability; at most 1e-18 is drawn at the left edge."""
        parts = {"gap": self.gap, **{name: value for name, value in self.kkt.to_dict().items() if name != "worst_entry"}}
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
        if not self.terms:
            ceiling = f", proven ≤ {at_most(self.leakage_ceiling, 9)}" if math.isfinite(self.leakage_ceiling) else ""
            facts.append(("leakage", f"{self.leakage:.6g}{ceiling}; budget {self.budget:.6g}"))
        for term in self.terms:
            facts.append((f"leakage of {term.measure}", f"{term.leakage:.6g}; budget {term.budget:.6g}"))
        if self.private_within < math.inf:
            within = "exactly" if self.private_within == 0.0 else f"within {at_most(self.private_within, 2)}"
            facts.append(("private", within))
        kept = "is the answer as given" if self.own_budget_kept else "is a repair of the answer as given, which leaked more"
        return card("Certificate", "", Facts("", facts), f"The estimator that it is about {kept}.")

    def __repr__(self) -> str:
        leaked = f"leakage {self.leakage:.6g} of {self.budget:.6g}" if not self.terms else f"{len(self.terms)} constraints"
        return f"Certificate([{self.lower:.12g}, {self.upper:.12g}], gap {self.relative_gap:.1e}, {leaked})"

    def excludes(self, other: Certificate) -> bool:
        """Whether this lower bound, which holds for what the other is about, lies above the other's upper one."""
        relaxed = math.isinf(self.private_within) and self.budget == 0.0 and other.leakage_ceiling > self.leakage_ceiling
        return other.private_within <= self.private_within and self.lower > other.upper and not relaxed

    @property
    def own_budget_kept(self) -> bool:
        """Whether the answer as given is proven to keep the budget (0: within `private_within`); then it is not repaired."""
        return self.blend == 0.0

    @property
    def own_leakage_ratio(self) -> float:
        """Leakage of the answer as given ÷ budget; 0 without constraint, inf if it had to be replaced at budget 0.

        Of several constraints the largest ratio of any.
        """
        if self.terms:
            return max(each.own_leakage_ratio for each in self.terms)
        if self.budget > 0.0:
            return self.own_leakage / self.budget
        return math.inf if self.blend > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class Verdict(Generic[_Answer]):
    """The repaired answer and duals, both feasible, and their certificate.

    answer             of the kind that was judged: a matrix [m, N] or a rule
    tilt, multiplier   t [m, n] and μ, one for each of several constraints [C] (sign conventions of docs/theory.md)
    blocks             the outcomes that an `OutcomeRule` is a rule for
    moved              at budget 0, of an answer next to which an exactly private one is proven to lie: the outcomes and the
                       guesses of the probabilities in which they differ [2, K], but for the likeliest guess of the outcome
    """

    answer: _Answer
    tilt: Array
    multiplier: float | Array
    certificate: Certificate
    blocks: Blocks | None = None
    moved: NDArray[np.intp] = field(default_factory=lambda: np.zeros((2, 0), dtype=np.intp))

    @property
    def estimator(self) -> Array:
        """The answer as a matrix [m, N], made anew where it is a rule; InputError where that takes more than 2 GiB."""
        if isinstance(self.answer, OutcomeRule) and self.blocks is not None:
            return self.answer.dense(self.blocks)
        return np.asarray(self.answer)
