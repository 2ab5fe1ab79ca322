"""What the judge and the loop need of a rule for guessing, for every kind of problem: the problem
over outcomes in which it is judged, how inexact that is, its decisions there, and its blends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.measures.law import OutputLaw
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import Decisions
from discreet.numerics.label_strips import StripSums
from discreet.problems.outcomes import Kind

if TYPE_CHECKING:
    from discreet.problems.blocks import BlockProblem
    from discreet.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Inexact:
    """Upper bounds of the errors of sums under a rule, if masses or the rule itself are rounded.

    joint      absolute error of every u_ij = Pr(X = x_j, Ŷ = y_i) [m, n]
    loss       absolute error of the error probability
    relative   relative error of every u_ij and of the error probability
    vanished   absolute error of every u_ij times 2^lift_j from underflow [m, n]
    """

    joint: Array | float = 0.0
    loss: float = 0.0
    relative: float = 0.0
    vanished: Array | float = 0.0

    def relative_to(self, law: OutputLaw) -> float:
        """Return an upper bound of the error `joint` relative to the entries of a law; inf if the
        error of a zero entry may be positive.
        """
        if not np.any(self.joint):
            return 0.0
        entries = law.mass[:, None] * law.p_x + law.deviation
        unknown = np.where(self.joint > np.zeros(entries.shape), math.inf, 0.0)
        return float(np.divide(self.joint, entries, out=unknown, where=entries > 0.0).max()) * (
            1.0 + 2.0**-30
        )


EXACT = Inexact()
"""No error: the sums are exact for the stored numbers."""


@dataclass(frozen=True, eq=False)
class Discrete:
    """The problem over outcomes in which a rule is a matrix or an `OutcomeRule`.

    wrong_mass   upper bounds of the errors of `p_xz` [n, N]
    wrong_loss   upper bounds of the errors of `loss` [m, N]
    """

    problem: Problem | BlockProblem
    wrong_mass: Array | None = None
    wrong_loss: Array | None = None


class Rule:
    """A randomised rule for guessing, as the judge and the loop use it; the base class of every
    rule.

    kinds      the kinds of problem that it answers
    explicit   True if it lists the guess of every outcome, so that another pass over the outcomes
               costs no more than the rule itself
    unfiled    the reason why solution files cannot contain it; empty if they can
    shape      [m, N] if it is a matrix; else None
    tilt       duals that come with the rule [m, n]; None if there are none
    share      probability that the measurement is ignored and the guess drawn from `towards` [m]
    """

    kinds: ClassVar[frozenset[Kind]]
    explicit: ClassVar[bool] = False
    unfiled: ClassVar[str] = ""
    shape: tuple[int, ...] | None = None
    tilt: Array | None = None
    share: float = 0.0
    towards: Array

    @property
    def answer(self) -> Any:
        """The rule in the form that backends return: an array if it is a matrix."""
        return self

    def fitted(self, problem: Any) -> Self:
        """Return the rule in the form in which it is judged for the problem; InputError if its
        sizes differ.
        """
        raise NotImplementedError

    def discrete(self, problem: Any) -> Discrete:
        """Return the problem over outcomes in which the rule is judged."""
        return Discrete(problem)

    def inexact(self, discrete: Discrete) -> Inexact:
        """Return the errors of sums over the outcomes of the discrete problem."""
        return EXACT

    def decisions(self, outcomes: NDArray[np.int64], p_xz: Array, loss: Array) -> Decisions:
        """Return the guesses at outcomes [B] of the discrete problem, of increasing index, with
        p_xz [n, B] and loss [m, B].
        """
        raise NotImplementedError

    def clear(self, start: int, p_xz: Array, loss: Array, tilt: Array) -> StripSums | None:
        """Return sums, by compiled code, over the clear outcomes of a chunk that begins at `start`:
        those whose guess is the best whatever the rounding. Return None if the rule does not follow
        a tilt.
        """
        return None

    def blended(self, share: float, towards: Any) -> Rule:
        """Return this rule with probability 1 − share, otherwise a guess drawn from the
        probabilities `towards` [m]; `towards` itself if share is 1.
        """
        raise NotImplementedError

    def anchors(self, problem: Any) -> Iterable[tuple[Rule, float]]:
        """Return estimators to blend the rule towards, each with the probability that its guess
        differs.
        """
        return ()

    def draws_exactly(self, column: Array) -> bool:
        """Return True if the rule blended with share 1 draws from the column [m] without
        rounding.
        """
        return True

    def blend_doubt(self, own: float) -> float:
        """Return an upper bound of the relative error of the law of a blend, if that of this rule
        is `own`.
        """
        return own

    def matrix(self, problem: Any) -> Array:
        """Return the rule as a matrix [m, N]; InputError if there is none."""
        raise InputError("a continuous measurement has no estimator matrix; use `solution.rule`")

    def stated(self, problem: Any, tilt: Array) -> Rule:
        """Return the rule in the form of a solution, with the tilt of its duals [m, n]."""
        return self

    def checked(self, guesses: int) -> Rule:
        """Return the rule; InputError unless it is a law of this number of guesses at every
        outcome.
        """
        raise NotImplementedError

    def members(self) -> dict[str, Array]:
        """Return the arrays that a solution file stores for it, by name."""
        raise NotImplementedError
