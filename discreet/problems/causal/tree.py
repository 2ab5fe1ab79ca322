"""The tree of histories: measurements and guesses so far, and sums over it in one backward pass.

A guess ŷ_t may depend on z_1 … z_t and on ŷ_1 … ŷ_{t−1}. With M_t = m_1 ⋯ m_t sequences of guesses
and K_t = N_1 ⋯ N_t of measurements, both in lexicographic order, every array over histories is
[M_t, K_t]. A *kernel* of step t is Pr(ŷ_t given ŷ_1 … ŷ_{t−1}, z_1 … z_t) [M_{t−1}, m_t, K_t]; the
products of the kernels are the *weights* [M_t, K_t] of the sequence form, in which every
expectation is linear.

Source: docs/theory.md, section 24; B. von Stengel, Games and Economic Behavior 14 (1996).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from discreet.numerics.double_double import Array, DoubleDouble, dd_add
from discreet.numerics.rounding import UNIT


@dataclass(frozen=True)
class Tree:
    """The numbers of guesses and measurements at each of the T steps.

    guesses        m_1 … m_T
    measurements   N_1 … N_T
    """

    guesses: tuple[int, ...]
    measurements: tuple[int, ...]

    @property
    def steps(self) -> int:
        """The number of steps T."""
        return len(self.guesses)

    def sizes(self, step: int) -> tuple[int, int]:
        """Return (M_t, K_t): the numbers of sequences of guesses and of measurements up to a step
        from 0 to T.
        """
        return math.prod(self.guesses[:step]), math.prod(self.measurements[:step])

    def kernel_shape(self, step: int) -> tuple[int, int, int]:
        """Return the shape [M_{t−1}, m_t, K_t] of the kernel of a step from 1 to T."""
        return self.sizes(step - 1)[0], self.guesses[step - 1], self.sizes(step)[1]

    def weights(self, kernels: Sequence[Array]) -> list[Array]:
        """Return Pr(ŷ_1 … ŷ_t given z_1 … z_t) [M_t, K_t] for t = 0 … T, the products of
        kernels.
        """
        weights = [np.ones((1, 1))]
        for step, kernel in enumerate(kernels, 1):
            before = np.repeat(weights[-1], self.measurements[step - 1], axis=1)
            weights.append((before[:, None, :] * kernel).reshape(self.sizes(step)))
        return weights

    def kernels(self, last: Array) -> list[Array]:
        """Return the kernels of weights [M_T, K_T] ≥ 0 of the last step; they are uniform where all
        weights are 0.

        Weights of earlier steps must not depend on later measurements; if they do because of
        rounding, their mean is used.
        """
        kernels = list[Array]()
        reached = last
        for step in range(self.steps, 0, -1):
            each = reached.reshape(self.kernel_shape(step))
            total = each.sum(axis=1)
            uniform = np.full(each.shape, 1.0 / self.guesses[step - 1])
            kernels.append(
                np.divide(each, total[:, None, :], out=uniform, where=total[:, None, :] > 0.0)
            )
            reached = total.reshape(len(total), -1, self.measurements[step - 1]).mean(axis=2)
        return kernels[::-1]

    def _costs_by_step(self, costs: Array) -> Iterator[Array]:
        """Yield, from the last step to the first, the costs [M_{t−1}, m_t, K_t] of each guess if
        all later guesses are best, for costs [M_T, K_T] of all steps.
        """
        for step in range(self.steps, 0, -1):
            each = costs.reshape(self.kernel_shape(step))
            yield each
            best = each.min(axis=1)
            costs = best.reshape(len(best), -1, self.measurements[step - 1]).sum(axis=2)

    def least(self, costs: Array) -> float:
        """Return the minimum of Σ costs · weights over all kernels, for costs [M_T, K_T]: minima
        over guesses, sums over measurements.
        """
        *_, first = self._costs_by_step(costs)
        return float(first.min(axis=1).sum())

    def best_kernels(self, costs: Array) -> list[Array]:
        """Return deterministic kernels that reach `least`; ties go to the first guess."""
        kernels = [
            np.asarray(each.argmin(axis=1)[:, None, :] == np.arange(m)[:, None], dtype=np.float64)
            for each, m in zip(self._costs_by_step(costs), self.guesses[::-1], strict=True)
        ]
        return kernels[::-1]

    def least_bound(self, costs: DoubleDouble, doubt: Array) -> tuple[float, float, float]:
        """Return numbers whose exact sum is at most `least` for all costs that differ by at most
        `doubt` from these [M_T, K_T].

        Each value carries an upper bound of its error. The error of a sum of two double-doubles is
        below 4 u² of their sizes.
        """
        high, low = costs
        for step in range(self.steps, 0, -1):
            shape = self.kernel_shape(step)
            count = self.measurements[step - 1]
            high, low, doubt = (each.reshape(shape) for each in (high, low, doubt))
            smallest = high.min(axis=1, keepdims=True)
            rest = np.where(high == smallest, low, np.inf).min(axis=1, keepdims=True)
            doubt = doubt.max(axis=1)
            high, low, doubt = (
                each.reshape(shape[0], -1, count) for each in (smallest, rest, doubt)
            )
            size = np.abs(high).sum(axis=2) + np.abs(low).sum(axis=2)
            doubt = (doubt.sum(axis=2) + 8.0 * count * UNIT**2 * size) * (
                1.0 + 4.0 * (count + 2) * UNIT
            )
            parts = [(high[:, :, place], low[:, :, place]) for place in range(count)]
            high, low = reduce(dd_add, parts)
        return float(high[0, 0]), float(low[0, 0]), -float(doubt[0, 0])
