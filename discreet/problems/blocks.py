"""Problems too large for memory: the outcomes come in blocks that are read again in every pass.

`BlockProblem` is the counterpart of `Problem` with a source of outcomes (`outcomes.Blocks`), and
with the totals that every pass would otherwise have to compute again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.checks import TOTAL_TOLERANCE
from discreet.errors import InputError
from discreet.measures.law import faint_lift, total_of
from discreet.numerics.double_double import Array, DoubleDouble
from discreet.problems.constraint import Constrained, Term
from discreet.problems.outcomes import Blocks, Kind, Totals
from discreet.problems.problem import Problem

_FEW = 512  # most outcomes to be solved as arrays: a rule that lists them all is still short
_LARGEST_ARRAYS = 1 << 31  # in bytes


@dataclass(frozen=True, eq=False, repr=False)
class BlockProblem(Constrained):
    """A privacy-aware estimation problem whose outcomes come in blocks.

    blocks            the source
    terms             the constraints
    p_x               π_j, exact totals over all outcomes      [n]
    constant_errors   Σ_l L_il, exact totals                   [m]
    tail              mass that the source gathered in one last outcome; nothing is discarded (0 =
                      none)
    """

    kind: ClassVar[Literal[Kind.BLOCKS]] = Kind.BLOCKS
    streamed = True
    rows = None

    blocks: Blocks
    terms: tuple[Term, ...]
    p_x: Array
    constant_errors: Array
    name: str = ""
    tail: float = 0.0

    @classmethod
    def of(cls, problem: Problem) -> BlockProblem:
        """Return a problem in memory as blocks."""
        return cls(problem.blocks, problem.terms, problem.p_x, problem.loss_totals, problem.name)

    @property
    def m(self) -> int:
        """The number m of guesses."""
        return self.blocks.m

    @property
    def N(self) -> int:  # noqa: N802
        """The number N of outcomes."""
        return self.blocks.N

    @property
    def few(self) -> bool:
        """True if the number of outcomes is small enough to solve the problem as arrays."""
        return self.N <= _FEW

    def in_memory(self) -> Problem:
        """Return the same problem in arrays."""
        columns = np.concatenate(
            [np.concatenate(chunk.read()) for chunk in self.blocks.chunks()], axis=1
        )
        return Problem.of_rows(columns[: self.n], columns[self.n :], self.terms, name=self.name)

    def in_arrays(self, what: str) -> Problem:
        """Return the same problem in arrays of at most 2 GiB; InputError if they are larger."""
        if 8 * (self.n + self.m) * self.N > _LARGEST_ARRAYS:
            return super().in_arrays(what)
        return self.in_memory()

    def totals(self, read_sums: DoubleDouble) -> Totals:
        """Return the totals of a pass [n + m]; InputError if they differ by more than 1e-9 from the
        stated ones.
        """
        high, low = read_sums
        marginal = high[: self.n], low[: self.n]
        sums = [total_of((high[term.rows], low[term.rows])) for term in self.terms]
        errors = high[self.n :] / sums[0]
        gap = float(np.abs(marginal[0] - self.p_x).max())
        same = np.array_equal(faint_lift(marginal[0]) > 0, faint_lift(self.p_x) > 0)
        total = max(sums, key=lambda each: abs(each - 1.0))
        if not (abs(total - 1.0) <= TOTAL_TOLERANCE and gap <= TOTAL_TOLERANCE and same):
            raise InputError(
                f"the blocks sum to {total!r} and their p_x is up to {gap:g} from the problem's; "
                "give the totals found"
            )
        if not np.allclose(errors, self.constant_errors, rtol=TOTAL_TOLERANCE, atol=0.0):
            raise InputError(
                f"the blocks' losses of constant guesses are {errors.tolist()} and the problem "
                "says "
                f"{np.asarray(self.constant_errors).tolist()}; give the totals found"
            )
        return Totals(marginal, sums, errors, 0.0)

    def least(
        self, tilt: Array, multipliers: Array, error: float, numbers: tuple[float, ...] | None
    ) -> tuple[float, ...]:
        """Return the numbers of the pass."""
        assert numbers is not None  # a rule over blocks is judged in one pass
        return numbers
