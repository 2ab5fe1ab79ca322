"""The constraints of a program: leakage constraints with a positive budget, and the equations of
perfect privacy at budget 0.

**Leakage.** Each constraint with a positive budget is a `LeakageConstraint` with columns of D and s
of its own, one of s for each group of rows that has a prior of its own (`PriorGroup`). `lowering`
defines these variables.

**Equations.** At budget 0 no function of X may be predictable from the guess: Φ P_i = 0. With
expectations over the outcomes, weights w_l, a *feature* is f_rl = Σ_j c_rj a_jl / w_l, of mean 0
and variance 1, and the equations are Σ_l w_l f_rl P_il = 0. Two choices of c:

- `whitened_rows`: orthonormal features, from the singular vectors of sqrt(π_j) φ_jl / sqrt(w_l). As
  well conditioned as the model permits; used by the solvers that take arrays.
- `rows_by_private_value`: one equation for each of an independent set of private values; easier to
  read.

Both drop implied equations (Σ_j π_j φ_j = 0; directions whose canonical correlation is a rounding
error).

Source: the canonical correlations are H. O. Lancaster's; the equations are those of the paper
(docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.measures.measure import Cone, Measure
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class PriorGroup:
    """Rows of the private joint that have a prior of their own: all rows of a secret, or those of
    one given value.

    rows       rows of `p_xz`
    prior      π_j within the group [k]
    mass       w_l of the group [N]
    deviation  a_jl − π_j w_l [k, N]
    """

    rows: slice
    prior: Array
    mass: Array
    deviation: Array

    @classmethod
    def of(cls, problem: Problem, rows: slice) -> PriorGroup:
        """Return the group of these rows."""
        prior = problem.p_x[rows]
        mass = problem.p_xz[rows].sum(axis=0)
        return cls(rows, prior / prior.sum(), mass, problem.deviations[rows])


@dataclass(frozen=True)
class LeakageConstraint:
    """One leakage constraint of a `Program`, in units of its B: Σ g(u_i)/B ≤ 1 over guesses and
    groups, or for each guess.

    number   index of the term
    groups   groups of rows with a prior of their own
    first, guesses   the first column of their D and of their s
    """

    number: int
    term: Term
    groups: tuple[PriorGroup, ...]
    first: int
    guesses: int

    @property
    def level(self) -> float:
        """B."""
        return self.term.level

    @property
    def unit(self) -> float:
        """B, or 1 at budget 0."""
        return self.level if self.term.budget.amount > 0.0 else 1.0

    @property
    def measure(self) -> Measure:
        """The measure of leakage of this constraint."""
        return self.term.measure

    def pieces(self, group: PriorGroup) -> list[Array]:
        """Return matrices R [r, k + 1] of a linear measure for a group: Σ_R max R (D_i, s_i) =
        g(u_i)/B, or ≤ 0 for posteriors.
        """
        rows = self.measure.pieces(group.prior, self.level)
        assert rows is not None
        return [self._append_mean(each, group.prior) for each in rows]

    @property
    def linear(self) -> bool:
        """True if the measure is piecewise linear in the law of (X, Ŷ)."""
        return self.measure.cone is None

    @property
    def cone(self) -> Cone:
        """The cone of a measure that is not linear."""
        assert self.measure.cone is not None
        return self.measure.cone

    @property
    def root(self) -> float:
        """The unit of D: sqrt(B), or B if the measure is linear in D."""
        return self.unit if self.linear else math.sqrt(self.unit)

    @property
    def width(self) -> int:
        """The number of its columns of D."""
        return sum(group.prior.size for group in self.groups)

    def _append_mean(self, piece: Array, prior: Array) -> Array:
        mean = piece @ prior
        size = np.abs(piece) @ prior  # size at independence; rounding errors are set to 0
        exact = np.where(np.abs(mean) > 2 * (prior.size + 2) * UNIT * size, mean, 0.0)
        return np.column_stack([piece * self.root, exact]) / self.unit


@dataclass(frozen=True)
class PrivacyRows:
    """Independent equations Σ_l w_l f_rl P_il = 0 equivalent to Φ P_i = 0.

    features        f_rl [r, N], mean 0 and variance 1 under w
    combination     c_rj [r, n] with w_l f_rl = Σ_j c_rj a_jl (so Σ_j π_j c_rj = 0)
    private_values  [r] the private value of each equation, or −1 if an equation mixes several
    """

    features: Array
    combination: Array
    private_values: NDArray[np.intp]

    def tilt(self, prices: Array, guesses: int) -> Array:
        """Return the tilt [m, n] of prices y [k, r] on the equations of the first k ≤ m guesses;
        Σ_j π_j t_ij = 0.

        Sign: y is the derivative of the optimal value with respect to the right-hand side, which is
        the sign of row duals in HiGHS and Pyomo, so the priced loss is L_il − Σ_r y_ir w_l f_rl =
        L_il + a_l·t_i.
        """
        tilt = np.zeros((guesses, self.combination.shape[1]))
        tilt[: prices.shape[0]] = -prices @ self.combination
        return tilt


Equations: TypeAlias = Callable[[PriorGroup, Array], PrivacyRows]
"""A function that returns the equations of perfect privacy of a group, given all w_l > 0."""


def stacked_rows(
    problem: Problem, groups: Sequence[PriorGroup], equations: Equations
) -> PrivacyRows:
    """Return the equations of perfect privacy of these groups of rows; combinations refer to all
    rows of the problem.

    Equations that follow from those of other groups are left out: an interior-point method may end
    far from the optimum if its equations are dependent.
    """
    none = PrivacyRows(
        np.zeros((0, problem.N)), np.zeros((0, problem.n)), np.zeros(0, dtype=np.intp)
    )
    parts_rows = [none]
    for group in groups:
        own = equations(group, problem.p_z)
        combination = np.zeros((len(own.features), problem.n))
        combination[:, group.rows] = own.combination
        parts_rows.append(PrivacyRows(own.features, combination, own.private_values))
    stacked = PrivacyRows(
        np.vstack([each.features for each in parts_rows]),
        np.vstack([each.combination for each in parts_rows]),
        np.concatenate([each.private_values for each in parts_rows]),
    )
    if len(groups) < 2 or not stacked.features.size:
        return stacked
    return _independent(stacked, problem.p_z)


def _independent(rows: PrivacyRows, p_z: Array) -> PrivacyRows:
    """Return a maximal set of independent equations, in their order.

    Each equation is scaled to length 1; its remainder orthogonal to the others counts as a rounding
    error below `Precision.rank`.
    """
    from scipy.linalg import qr

    kernel = rows.features * np.sqrt(p_z)
    lengths = np.linalg.norm(kernel, axis=1)
    triangle, order = qr((kernel / lengths[:, None]).T, mode="r", pivoting=True)
    remainders = np.abs(np.diag(triangle))
    chosen = np.sort(order[: int((remainders > Precision.rank).sum())])
    return PrivacyRows(rows.features[chosen], rows.combination[chosen], rows.private_values[chosen])


def whitened_rows(
    group: PriorGroup, p_z: Array, least: float = Precision.correlated
) -> PrivacyRows:
    """Return orthonormal features (rank r ≤ min(n − 1, N − 1)): those whose canonical correlation
    with the private values is above `least`.
    """
    kernel = _kernel(group)
    left, correlations, _ = np.linalg.svd(kernel, full_matrices=False)
    rank = int((correlations > least).sum())
    mix = _divided(left[:, :rank], np.sqrt(group.prior)[:, None]) / correlations[:rank]
    return _rows(group, p_z, mix.T, np.full(rank, -1))


def rows_by_private_value(group: PriorGroup, p_z: Array) -> PrivacyRows:
    """Return one feature per private value, φ_j / w scaled to variance 1, for an independent set of
    private values.
    """
    from scipy.linalg import qr

    kernel = _kernel(group)
    triangle, order = qr(kernel.T, mode="r", pivoting=True)
    chosen = np.sort(order[: int((np.abs(np.diag(triangle)) > Precision.correlated).sum())])
    spread = np.linalg.norm(kernel[chosen], axis=1)
    mix = np.zeros((chosen.size, group.prior.size))
    mix[np.arange(chosen.size), chosen] = 1.0 / (spread * np.sqrt(group.prior[chosen]))
    return _rows(group, p_z, mix, (group.rows.start + chosen).astype(np.intp))


def _kernel(group: PriorGroup) -> Array:
    """Return sqrt(π_j) φ_jl / sqrt(w_l) [n, N]; its singular values are the canonical correlations
    of X and Z.
    """
    return _divided(group.deviation, np.sqrt(group.prior[:, None] * group.mass))


def _rows(
    group: PriorGroup, p_z: Array, mix: Array, private_values: NDArray[np.intp]
) -> PrivacyRows:
    features = mix @ _divided(group.deviation, p_z)
    return PrivacyRows(features, mix - (mix @ group.prior)[:, None], private_values)


def _divided(values: Array, masses: Array) -> Array:
    """Return the quotients; 0 where a mass is 0."""
    return np.divide(values, masses, out=np.zeros_like(values), where=masses > 0.0)
