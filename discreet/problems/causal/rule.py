"""A rule for guesses over time: the law of each guess, given the measurements and the guesses so
far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.checks import as_list, freeze, real_numbers, whole
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import Decisions, normalise
from discreet.numerics.rounding import LEAST_EXACT, SMALLEST, UNIT
from discreet.problems.causal.tree import Tree
from discreet.problems.outcomes import Kind
from discreet.problems.rule import Discrete, Inexact, Rule

if TYPE_CHECKING:
    from discreet.problems.causal.model import CausalProblem
    from discreet.problems.problem import Problem


@dataclass(frozen=True, init=False, eq=False)
class CausalRule(Rule):
    """Kernels of T steps: the law of ŷ_t given the measurements and guesses up to then. Immutable.

    tree      sizes of every step
    kernels   Pr(ŷ_t given ŷ_1 … ŷ_{t−1}, z_1 … z_t) [m_1 ⋯ m_{t−1}, m_t, N_1 ⋯ N_t] of every step,
              normalised over m_t; sequences are in lexicographic order

    Stored kernels represent their exact quotients by their totals.
    """

    kinds = frozenset({Kind.STEPS})
    explicit = True
    unfiled = "no file holds a rule for guesses over time; keep `rule.kernels`"

    tree: Tree
    kernels: tuple[Array, ...]

    def __init__(self, tree: Tree, kernels: Any) -> None:
        """Normalise and freeze. Raises InputError for another number of kernels, other shapes, or
        entries that are not numbers.
        """
        given = as_list(kernels, "kernels", f"{tree.steps} arrays, one for each step")
        if len(given) != tree.steps:
            raise InputError(
                f"there are {len(given)} kernels and {tree.steps} steps; give one for each step"
            )
        shapes = [tree.kernel_shape(step) for step in range(1, tree.steps + 1)]
        each = [
            real_numbers(f"kernels[{t}]", kernel, shape)
            for t, (kernel, shape) in enumerate(zip(given, shapes, strict=True))
        ]
        matrices = tuple(_over_guesses(kernel) for kernel in each)
        for kernel in matrices:
            kernel.setflags(write=False)
        freeze(self, tree=tree, kernels=matrices)

    @classmethod
    def constant(cls, tree: Tree, guess: int) -> CausalRule:
        """Return the rule that always makes the same sequence of guesses, given by its index in
        lexicographic order.
        """
        law = np.zeros(tree.sizes(tree.steps)[0])
        law[guess] = 1.0
        return cls.drawn(tree, law)

    @classmethod
    def drawn(cls, tree: Tree, law: Array) -> CausalRule:
        """Return the rule that draws a sequence of guesses from a law [m_1 ⋯ m_T], independently of
        the measurements.
        """
        return cls(tree, tree.kernels(np.repeat(law[:, None], tree.sizes(tree.steps)[1], axis=1)))

    @cached_property
    def weights(self) -> list[Array]:
        """The weights Pr(ŷ_1 … ŷ_t given z_1 … z_t) [m_1 ⋯ m_t, N_1 ⋯ N_t] for t = 0 … T."""
        return self.tree.weights(self.kernels)

    def fitted(self, problem: CausalProblem) -> Self:
        """Return the rule itself; InputError for other sizes."""
        if self.tree != problem.tree:
            raise InputError(
                f"the rule is {self} and the problem has {problem.tree}; give a rule "
                "of the same sizes"
            )
        return self

    def discrete(self, problem: CausalProblem) -> Discrete:
        """Return the problem without the order of time, in which the rule is the matrix of all
        guesses given all measurements.
        """
        return Discrete(problem.noncausal)

    def decisions(self, outcomes: NDArray[np.int64], p_xz: Array, loss: Array) -> Decisions:
        """Return the normalised columns of consecutive sequences of measurements."""
        columns = self.dense()[:, outcomes[0] : outcomes[-1] + 1]
        return Decisions.of(normalise(columns))

    def inexact(self, discrete: Discrete) -> Inexact:
        """Return bounds of the rounding errors of products of kernels.

        Each of T factors contributes its exact quotient by a total of m terms, and its product; the
        total of a column is rounded too.
        """
        tree = self.tree
        model: Problem = discrete.problem  # type: ignore[assignment]
        stored = self.dense()
        positive = [np.asarray(kernel > 0.0, dtype=np.float64) for kernel in self.kernels]
        made = tree.weights(positive)[-1] > 0.0
        sure = bool(((stored == 1.0) == made).all())
        factors = sum(tree.guesses) + 4 * tree.steps + len(stored)
        # For a subnormal entry, each product, and each of two quotients of `normalise`, has an
        # error of at most half of SMALLEST.
        faint = made & (stored < LEAST_EXACT)
        most = (tree.steps + 4) * SMALLEST
        loss = most * (1.0 + float(model.loss[faint].sum())) if faint.any() else 0.0
        return Inexact(
            loss=loss,
            relative=0.0 if sure else 2.0 * factors * UNIT,
            vanished=np.asarray(most * np.outer(faint.any(axis=1), model.p_x > 0.0)),
        )

    def blend_doubt(self, own: float) -> float:
        """Return the rounding error of the weights of both rules, and of their quotients."""
        return 2.0 * own + 8.0 * self.tree.steps * UNIT

    def draws_exactly(self, column: Array) -> bool:
        """Return True if the column has only one guess; kernels of other laws are rounded."""
        return bool(np.count_nonzero(column) == 1)

    def matrix(self, problem: CausalProblem) -> Array:
        """Return the law of all guesses given all measurements."""
        return self.dense()

    def blended(self, share: float, other: CausalRule | Array) -> CausalRule:
        """Return the rule that follows another one with probability `share`, decided once, before
        the first guess.

        other: a rule, or a law of sequences of guesses [m_1 ⋯ m_T], drawn independently of the
        measurements.
        """
        if not isinstance(other, CausalRule):
            other = CausalRule.drawn(self.tree, other)
        if share == 1.0:
            return other
        mixed = (1.0 - share) * self.dense() + share * other.dense()
        return CausalRule(self.tree, self.tree.kernels(mixed))

    def dense(self) -> Array:
        """Return the rule as a matrix [m_1 ⋯ m_T, N_1 ⋯ N_T]: the law of all guesses given all
        measurements.
        """
        return self.weights[-1]

    def probabilities(self, guessed: Sequence[int], measured: Sequence[int]) -> Array:
        """Return the law [m_t] of guess t, given the indices of the t − 1 guesses and the t
        measurements so far. Raises InputError.
        """
        step = len(measured)
        if not 1 <= step <= self.tree.steps or len(guessed) != step - 1:
            raise InputError(
                f"there are {len(guessed)} guesses and {step} measurements; give one measurement "
                "more than guesses, "
                f"and at most {self.tree.steps}"
            )
        pairs = (
            ("guessed", guessed, self.tree.guesses),
            ("measured", measured, self.tree.measurements),
        )
        row, column = (
            _place(
                [whole(i, f"{what}[{t}]", 0, most[t] - 1) for t, i in enumerate(given)],
                most[: len(given)],
            )
            for what, given, most in pairs
        )
        return np.asarray(self.kernels[step - 1][row, :, column])

    def __repr__(self) -> str:
        return (
            f"CausalRule({self.tree.steps} steps, guesses {self.tree.guesses}, measurements "
            f"{self.tree.measurements})"
        )


def _over_guesses(kernel: Array) -> Array:
    """Return the kernel [M, m, K] normalised over m."""
    columns = normalise(kernel.transpose(1, 0, 2).reshape(kernel.shape[1], -1))
    return np.ascontiguousarray(
        columns.reshape(kernel.shape[1], len(kernel), -1).transpose(1, 0, 2)
    )


def _place(indices: Sequence[int], sizes: Sequence[int]) -> int:
    return int(np.ravel_multi_index(tuple(indices), tuple(sizes))) if indices else 0
