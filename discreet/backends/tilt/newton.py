"""One Newton step of the interior point. All N outcomes are eliminated, which leaves one augmented
system.

On the central path P_il z_il = τ ω_l / w_l, where z is the slack of guess i at outcome l per unit
of its mass and ω are the barrier weights of the model. The products of the other multipliers and
their slacks are constant multiples of τ. Eliminating dP, dz and dλ outcome by outcome leaves dU =
reduced − M dt, with ψ = P/z and M_ii' = Σ_l w_l F_l F_l' (ψ_il δ_ii' − ψ_il ψ_i'l / Σ_k ψ_kl).
Together with the relations between dθ and dU (`relation`) this gives a symmetric system in (dθ, ρ,
dμ):

    [ C M C' + K   V     −Γ        ]
    [ V'           0     −G        ]
    [ −Γ'          −G'   c + ε₀/μ  ]

For mutual information θ = t, C = I, K_i = H/μ with H = frame' diag(u_i) frame, V_i = (s_i, d_i),
G_i = g(u_i), Γ_i = frame' (u_i ∘ v_i)/μ and c = Σ u v²/μ, where v = ∇g(u).

The system contains no 1/ε. M does not change if all t_i shift together, and the terms that
determine this common shift are so small that they would be lost in the rounding of M. There are two
remedies, both with one guess as reference:

- *Summed*, for smooth measures. The rows of the reference are replaced by the sum of all rows, in
  which M vanishes exactly. For guesses that almost exclude a private value, small entries of M
  would be lost as well. So the other rows use coordinates in which these entries stay small
  (`Chart.own`).
- *Apart*, for piecewise linear measures. There the entries of K = diag(σ/λ) span many orders of
  magnitude, and differ between guesses. So dU and the differences of dt from the reference are
  unknowns too, and nothing is added to K.

Under perfect privacy (μ = ∞) the system reduces to the blocks of M for the directions, without the
reference.

Gradients are linear only in small relative changes. Since g is homogeneous, they may be linearised
about any multiple of u_i; the predictor determines which one (`anticipate`).

Source: docs/theory.md, section 13; the elimination is that of S. Mehrotra, SIAM J. Optim. 2 (1992)
for linear programs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.linalg.lapack import dgetrf, dgetrs

from discreet.backends.tilt.model import Model
from discreet.backends.tilt.relation import Inner, JointLaw
from discreet.numerics.double_double import Array

# smallest growth of a guess's mass, as no step comes closer to the boundary
_SMALLEST_GROWTH = 0.01


@dataclass(frozen=True, eq=False)
class Iterate:
    """A strictly interior point: estimator P > 0 [K, m, W], slack z > 0 [K, m, W], tilt [m, k], and
    the coordinates of the chart.
    """

    estimator: Array
    slack: Array
    tilt: Array
    inner: Inner


class System(ABC):
    """The system at one iterate. Guesses are permuted so that the reference comes last."""

    def __init__(self, model: Model, at: Iterate, law: JointLaw, order: NDArray[np.intp]) -> None:
        self._model = model
        self._at = at
        self._law = law
        self._order = order

    def features(self) -> Iterator[Array]:
        """Iterate over features in blocks [·, W], or [m − 1, ·, W] if they differ between the
        guesses other than the reference. M is summed from their products.
        """
        return iter(self._model.features)

    @abstractmethod
    def linearise(self, outcomes: Array, growth: Array | None = None) -> None:
        """Factorise the system with this M. Gradients are linearised about the masses of the
        guesses, times factors `growth` [m] if given.
        """

    @abstractmethod
    def solve(self, reduced: Array, products: Array) -> tuple[Array, Inner]:
        """Return dt up to a common shift [m, k], and the change of the chart.

        reduced [m, k] is the right-hand side of the outcomes; products [K] are the targets of the
        chart's multipliers times slacks.
        """

    def _factorise(self, matrix: Array, rows: Array, columns: Array) -> None:
        """Factorise a matrix after scaling rows and columns, so that pivots depend neither on units
        nor on masses.
        """
        self._matrix = matrix * rows[:, None] * columns
        self._rows = rows
        self._columns = columns
        if matrix.size:  # LAPACK prints a complaint about a system without unknowns
            self._factors, self._pivots, self._singular = dgetrf(self._matrix)

    def _solve_refined(self, right: Array, times: int = 1) -> Array:
        """Return the solution of the last system after this number of refinements."""
        if not right.size:
            return right
        if self._singular:  # to working precision; the caller detects a step that is not finite
            return np.full_like(right, np.nan)
        right = self._rows * right
        solution = dgetrs(self._factors, self._pivots, right)[0]
        for _ in range(times):
            solution += dgetrs(self._factors, self._pivots, right - self._matrix @ solution)[0]
        return np.asarray(self._columns * solution)


@final
class Perfect(System):
    """Under perfect privacy the deviations of all guesses but the reference vanish."""

    def features(self) -> Iterator[Array]:
        """Iterate over features without the first row, the ones."""
        return iter(self._model.features[:, 1:])

    def linearise(self, outcomes: Array, growth: Array | None = None) -> None:
        """Factorise M itself."""
        self._factorise(outcomes, np.ones(1), np.ones(1))

    def solve(self, reduced: Array, products: Array) -> tuple[Array, Inner]:
        """Return the change of the tilts; the chart has no other unknowns."""
        others = self._order[:-1]
        tilt = np.zeros_like(reduced)
        right = (reduced + self._law.blocks[0].coordinates)[others, 1:]
        tilt[others, 1:] = self._solve_refined(right.ravel()).reshape(right.shape)
        return tilt, replace(self._at.inner, unknowns=tilt[:, 1:].ravel())


class _Related(System):
    """The relations between tilts and laws, with m guesses, p coordinates, r columns of V and q
    shared budgets.
    """

    def __init__(self, model: Model, at: Iterate, law: JointLaw, order: NDArray[np.intp]) -> None:
        super().__init__(model, at, law, order)
        self._position = model.chart.position(at.inner)
        position = self._position
        self._relations = model.chart.relations(position, law)
        self._p = position.coordinates.shape[1]
        self._r = position.heights.shape[1]
        self._size = position.coordinates.size
        self._border = self._size + position.heights.size
        # Indices of the unknowns in the order of the system, and of the paired unknowns.
        numbers = np.arange(at.inner.unknowns.size)
        tilts = numbers[: self._size].reshape(order.size, -1)[order]
        heights = numbers[self._size : self._border].reshape(order.size, -1)[order]
        self._numbers = np.concatenate([tilts, heights, numbers[self._border :]], axis=None)
        self._pairs = self._numbers.argsort()[at.inner.paired]

    def _residual(self) -> Array:
        """θ minus its value under the law [m, p]."""
        return np.hstack([relation.residual for relation in self._relations])[self._order]

    def _without_outcomes(self, growth: Array | None) -> Array:
        """Return the matrix without M. Gradients are linear about masses times growth [m]."""
        m = len(self._order)
        guesses = np.arange(m)
        size = self._numbers.size
        matrix = np.zeros((size, size))
        rows = matrix[: self._size].reshape(m, self._p, size)
        tilts = rows[:, :, : self._size].reshape(m, self._p, m, self._p)
        nulls = rows[:, :, self._size : self._border].reshape(m, self._p, m, self._r)
        bent = rows[:, :, self._border :]
        leaks = matrix[self._size : self._border, self._border :]
        leaks = leaks.reshape(m, self._r, bent.shape[2])
        inner = self._at.inner
        diagonal = np.zeros(size)
        diagonal[self._pairs] = inner.slack
        squares = diagonal[self._border :]
        grown = np.ones(m) if growth is None else growth
        for place, relation in zip(self._model.chart.places, self._relations, strict=True):
            scale = (grown[:, None] / relation.price)[self._order]
            hessian = relation.hessian[self._order] * scale[:, :, None]
            tilts[guesses, place.own, guesses, place.own] = hessian
            nulls[guesses, place.own, guesses, place.ranks] = relation.null[self._order]
            bent[:, place.own, place.budget] = -relation.bent[self._order] * scale[:, :, None]
            leaks[:, place.ranks, place.budget] = -relation.leak[self._order]
            squares[place.budget] += grown @ relation.square
        matrix[self._size :, : self._size] = matrix[: self._size, self._size :].T
        matrix[self._border :, self._size : self._border] = matrix[
            self._size : self._border, self._border :
        ].T
        diagonal[self._pairs] /= inner.multipliers
        matrix.flat[:: size + 1] += diagonal
        return matrix

    def _right(self, towards: Array) -> Array:
        """Return the right-hand side without the contributions of the outcomes and of the target
        products; towards is the residual of θ to remove.
        """
        chart = self._model.chart
        right = towards
        if chart.apart:  # else V'θ = G μ holds
            balance = np.hstack([relation.balance for relation in self._relations])
            right[self._size : self._border] += balance[self._order].ravel()
        right[self._border :] += chart.counted(self._position, self._law) - chart.shared_levels
        return right

    def _aim(self, right: Array, products: Array) -> Array:
        """Add the target products to the right-hand side."""
        right = right.copy()
        right[self._pairs] += products / self._at.inner.multipliers
        return right

    def _change(self, solution: Array, products: Array) -> Inner:
        """Return the change of the chart from the unknowns in the order of the system."""
        at = self._at.inner
        unknowns = np.empty_like(at.unknowns)
        unknowns[self._numbers] = solution[: unknowns.size]
        change = replace(at, unknowns=unknowns)
        ahead = products - at.slack * change.multipliers
        return replace(change, slack=ahead / at.multipliers - at.slack)


@final
class Summed(_Related):
    """The system whose reference rows are the sums of all rows. The unknowns are the tilt of the
    reference and the differences from it.
    """

    def __init__(self, model: Model, at: Iterate, law: JointLaw, order: NDArray[np.intp]) -> None:
        super().__init__(model, at, law, order)
        self._own = model.chart.own(law)
        self._coordinates = None
        if self._own is not None:
            self._own = self._own[order[:-1]]
            others = self._numbers.size - self._size
            self._coordinates = block_diag(*self._own, np.eye(self._p + others))

    def features(self) -> Iterator[Array]:
        """Iterate over features in the coordinates of `Chart.own`."""
        if self._own is None:
            return super().features()
        towards = self._own.transpose(0, 2, 1)
        return (np.matmul(towards, block) for block in self._model.features)

    def linearise(self, outcomes: Array, growth: Array | None = None) -> None:
        """Factorise the matrix, and keep the part of the right-hand side that does not depend on
        the target products.
        """
        matrix = self._without_outcomes(growth)
        residual = self._residual()
        inner = len(outcomes)
        rows = matrix[: self._size].reshape(*residual.shape, -1)
        columns = matrix[:, : self._size].reshape(-1, *residual.shape)
        rows[-1] = rows.sum(axis=0)
        columns[:, -1] = columns.sum(axis=1)
        residual[:-1] -= residual[-1]
        self._fixed = self._right(-residual.ravel() @ matrix[: self._size])
        if self._coordinates is not None:
            matrix = self._coordinates.T @ matrix @ self._coordinates
        matrix[:inner, :inner] += outcomes
        scale = 1.0 / np.sqrt(np.maximum.reduce(np.abs(matrix), axis=1))
        self._factorise(matrix, scale, scale)

    def solve(self, reduced: Array, products: Array) -> tuple[Array, Inner]:
        """Return all unknowns; the coordinates determine the tilt."""
        right = self._aim(self._fixed, products)
        moved = reduced[self._order[:-1]].ravel()
        right[: moved.size] += moved
        if self._coordinates is None:
            solution = self._solve_refined(right, times=2)
        else:
            solution = self._coordinates @ self._solve_refined(right @ self._coordinates, times=2)
        tilts = solution[: self._size].reshape(-1, self._p)
        tilts[:-1] += tilts[-1]
        change = self._change(solution, products)
        return change.unknowns[: self._size].reshape(reduced.shape), change


@final
class Apart(_Related):
    """The system in which the laws of all guesses, and the differences of tilts from the reference,
    are unknowns too.
    """

    def linearise(self, outcomes: Array, growth: Array | None = None) -> None:
        """Factorise with two more groups of rows: dU + M dt = reduced, and dt = C' times the
        differences of dθ.
        """
        matrix = self._without_outcomes(growth)
        inner = len(outcomes)
        size = len(matrix)
        others = len(self._order) - 1
        self._fixed = self._right(-self._residual().ravel() @ matrix[: self._size])
        values = np.hstack([relation.value for relation in self._relations])
        self._fixed[: self._size] += values[self._order].ravel()
        laws = slice(size, size + inner)
        tilts = slice(size + inner, size + 2 * inner)
        whole = np.zeros((size + 2 * inner, size + 2 * inner))
        whole[:size, :size] = matrix
        # The laws of all guesses, in coordinates.
        signs = np.vstack([np.eye(others), -np.ones(others)])
        towards = np.asarray(np.kron(signs, self._model.chart.cross), dtype=np.float64)
        whole[: self._size, laws] = -towards
        whole[laws, laws] = whole[tilts, tilts] = np.eye(inner)
        whole[laws, tilts] = outcomes
        whole[tilts, : self._size] = -towards.T
        rows = np.ones(len(whole))
        columns = np.ones(len(whole))
        for _ in range(3):  # until the largest entries of rows and columns are about one
            entries = np.abs(whole * rows[:, None] * columns)
            rows = rows / np.sqrt(entries.max(axis=1))
            columns = columns / np.sqrt(entries.max(axis=0))
        self._factorise(whole, rows, columns)

    def solve(self, reduced: Array, products: Array) -> tuple[Array, Inner]:
        """Return all unknowns."""
        others = self._order[:-1]
        right = self._aim(self._fixed, products)
        laws = reduced[others].ravel()
        solution = self._solve_refined(np.concatenate([right, laws, np.zeros(laws.size)]), times=3)
        tilt = np.zeros_like(reduced)
        tilt[others] = solution[solution.size - laws.size :].reshape(others.size, -1)
        return tilt, self._change(solution, products)


def system_of(model: Model, at: Iterate, law: JointLaw) -> tuple[System, NDArray[np.intp]]:
    """Return the system at an iterate, and the order of its guesses."""
    reference = _reference(model, law)
    order = np.array([*range(reference), *range(reference + 1, law.mass.size), reference])
    kind = Perfect if model.perfect else Apart if model.chart.apart else Summed
    return kind(model, at, law, order), order


def _reference(model: Model, law: JointLaw) -> int:
    """Return the guess whose smallest entry of H is largest, so that the sum of all rows does not
    lose it; the likeliest under perfect privacy, which has no H.
    """
    return int((law.mass if model.perfect else model.chart.least(law)).argmax())


@dataclass(frozen=True, eq=False)
class Step:
    """A change of the iterate; absolute unless stated otherwise.

    estimator, slack   relative changes dP/P and dz/z                                  [K, m, W]
    falls              largest relative decrease of a probability, and of a slack, of each outcome
                       [2, K, W]
    """

    estimator: Array
    slack: Array
    falls: Array
    inner: Inner


@dataclass(frozen=True, eq=False)
class Targets:
    """Target products: P z in multiples of the barrier, and those of the chart's multipliers and
    slacks [K].
    """

    outcomes: float
    inner: Array

    def times(self, factor: float) -> Targets:
        """Return all targets multiplied by a factor."""
        return Targets(factor * self.outcomes, factor * self.inner)


class Newton:
    """The linearised optimality conditions at one iterate, factorised once and solved for several
    right-hand sides.
    """

    def __init__(self, model: Model, at: Iterate, law: JointLaw) -> None:
        self._model = model
        self._at = at
        self._law = law
        self._per_slack = 1.0 / at.slack
        self._curvature = at.estimator * self._per_slack
        self._curvature_sum = np.add.reduce(self._curvature, axis=1)
        self._per_product = self._per_slack / at.estimator
        self._system, order = system_of(model, at, law)
        self._others = order[:-1]
        self._outcomes = self._schur()
        self._system.linearise(self._outcomes)

    def anticipate(self, step: Step, length: float) -> None:
        """Linearise gradients about the masses after a step of this length, if some guess loses at
        least half of its mass.
        """
        gained = np.matmul(self._at.estimator * step.estimator, self._model.mass[:, :, None]).sum(
            axis=0
        )[:, 0]
        growth = 1.0 + length * gained / self._law.mass
        if growth.min() < 0.5:
            self._system.linearise(
                self._outcomes, np.clip(growth, _SMALLEST_GROWTH, 1.0 / _SMALLEST_GROWTH)
            )

    def direction(self, target: Targets, predictor: Step | None = None) -> Step:
        """Return the step towards the target products, with second-order corrections from a
        predictor if given.
        """
        at = self._at
        curvature = self._curvature
        curvature_sum = self._curvature_sum
        product: Array | float = 0.0
        products = target.inner
        if predictor is not None:
            product = predictor.estimator * predictor.slack
            products = products - predictor.inner.products
        aim = target.outcomes * self._model.barrier[:, None] * self._per_product - (1.0 + product)
        estimator = np.empty_like(at.slack)
        slack = np.empty_like(at.slack)
        missing = np.empty_like(curvature_sum)
        falls = np.empty((2, *curvature_sum.shape))
        reduced = np.zeros(at.tilt.shape)
        for b, weighted in enumerate(self._model.weighted):
            wanted = np.multiply(at.estimator[b], aim[b], out=estimator[b])
            missing[b] = -np.add.reduce(wanted, axis=0)
            wanted += curvature[b] * (missing[b] / curvature_sum[b])
            reduced += wanted @ weighted.T
        tilt, inner = self._system.solve(reduced, products)
        for b, features in enumerate(self._model.features):
            change = np.matmul(tilt, features, out=slack[b])
            change -= (np.einsum("il,il->l", curvature[b], change) + missing[b]) / curvature_sum[b]
            change *= self._per_slack[b]
            np.subtract(aim[b], change, out=estimator[b])
            np.minimum.reduce(estimator[b], out=falls[0, b])
            np.minimum.reduce(change, out=falls[1, b])
        return Step(estimator, slack, np.negative(falls, out=falls), inner)

    def _schur(self) -> Array:
        """Return M over all guesses but the reference, [(m − 1)·rows, (m − 1)·rows].

        The off-diagonal blocks are −G G' with G_i = F·ψ_i sqrt(w / Σ_k ψ_k), one symmetric product.
        On the diagonal ψ_i − ψ_i²/Σ ψ would cancel, so these blocks use ψ_i (Σ_{k≠i} ψ_k)/Σ ψ.
        """
        rows = self._at.tilt.shape[1] - self._model.perfect
        count = self._others.size
        total = np.zeros((count * rows, count * rows))
        guesses = np.arange(count)
        diagonal = np.zeros((count, rows, rows))
        features = self._system.features()
        shares = self._model.mass / self._curvature_sum
        but_own = (1.0 - np.eye(count + 1))[self._others]
        for chosen, curvature, share in zip(features, self._curvature, shares, strict=True):
            own = curvature[self._others]
            if count > 1:
                flat = ((own * np.sqrt(share))[:, None, :] * chosen).reshape(
                    count * rows, chosen.shape[-1]
                )
                total -= flat @ flat.T
            weights = own * (but_own @ curvature) * share
            diagonal += np.matmul(weights[:, None, :] * chosen, np.swapaxes(chosen, -1, -2))
        total.reshape(count, rows, count, rows)[guesses, :, guesses] = diagonal
        return total
