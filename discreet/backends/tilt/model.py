"""A problem in coordinates without cancellation, a point of it, and how a search for a point ended.

Losses are per unit of outcome mass, ℓ_il = L_il / w_l. Each outcome has the features F_l = (1,
B'c_l), where c_l = a_l/w_l − π is its centred posterior and B [n, n − 1] is a basis with π'B = 0
and B' diag(π) B = I. A row of duals t_i in R^n is stored as coordinates (α_i, ξ_i) with t_i = α_i 1
+ B ξ_i, so c_l·t_i = F_l·(α_i, ξ_i). A row u_i = A P_i is stored as (mass s_i, deviation d_i). Near
independence s is of order one and d is tiny, and neither is ever computed from the other.

Outcomes are stored in blocks of at most W, one after the other in each array [blocks, ·, W]. Each
kernel visits the blocks once, and its intermediate results stay in cache. The last block is padded
with outcomes of zero mass.

Perfect privacy only requires d_i = 0, equally for rare and common private values. So there B makes
F_l from the differences p(z_l given x_j) − p(z_l), rotated to independent rows; directions in which
Z carries no information are dropped.

Source: docs/theory.md, section 13 (the structured interior point).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.tilt.relation import Block, Chart, Exact, Inner, JointLaw, family_of
from discreet.numerics.double_double import Array
from discreet.problems.constraint import asks_privacy
from discreet.problems.duals import no_multipliers
from discreet.problems.problem import Problem

# Numbers in a block for each of the m k entries of the tilt: 512 KiB, half of a typical cache.
_BLOCK_ENTRIES = 1 << 16


@dataclass(frozen=True, eq=False)
class Point:
    """A primal–dual pair of a problem, whose K outcomes may be aggregates. It is not certified.

    columns      column-stochastic estimator                                        [m, K]
    tilt         duals of u_i                                                       [m, n]
    multipliers  μ ≥ 0 of each constraint: inf at ε = 0, 0 without a constraint     [C]
    """

    columns: Array
    tilt: Array
    multipliers: Array

    @classmethod
    def bayes(cls, problem: Problem) -> Point:
        """Return the Bayes rule with a tilt of 0, which is optimal if it keeps the budget."""
        nothing = np.zeros((problem.m, problem.n))
        return cls(problem.bayes_estimator, nothing, np.zeros(len(problem.terms)))


@dataclass(frozen=True)
class Ending:
    """How an iteration ended.

    reason      "optimal", or why it stopped earlier: "stalled", "time limit", "iteration limit", …
    iterations  interior-point iterations
    width       relative width of the bracket that the point proves, up to rounding
    """

    reason: str
    iterations: int = 0
    width: float = math.inf

    @property
    def optimal(self) -> bool:
        """True if the bracket is as narrow as requested."""
        return self.reason == "optimal"


@dataclass(frozen=True, eq=False)
class Model:
    """A problem lowered for the interior point, with k coordinates per guess and N outcomes in K
    blocks of W.

    outcomes  N
    mass      w_l                        [K, W], 0 in the padding
    barrier   ω_l / w_l, see below       [K, W]
    losses    ℓ_il                       [K, m, W]
    features  F                          [K, k, W], first row ones
    weighted  F·w                        [K, k, W]
    chart     the blocks of all constraints, with their budgets reduced by the undercut
    values    n, rows of p_xz
    perfect   whether perfect privacy is required
    undercut  relative reserve of the budget, from the precision policy
    constant_error  error probability of the best constant guess

    On the central path P_il z_il = τ ω_l / w_l, where ω_l is the mean of w_l and 1/N. The gap of
    the path is m τ.
    """

    outcomes: int
    mass: Array
    barrier: Array
    losses: Array
    features: Array
    weighted: Array
    chart: Chart
    values: int
    perfect: bool
    undercut: float
    constant_error: float

    def total(self, rows: Array) -> float:
        """Return Σ_l w_l r_l for rows [K, W]."""
        return float(np.vdot(self.mass, rows))

    def joined(self, blocks: Array) -> Array:
        """Reshape [K, r, W] to [r, N]."""
        return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)[:, : self.outcomes]

    def law_of(self, estimator: Array) -> JointLaw:
        """Return the law of (X, Ŷ) under a strictly positive estimator [K, m, W]."""
        return self.chart.law(np.matmul(estimator, self.weighted.transpose(0, 2, 1)).sum(axis=0))

    def tilt_of(self, inner: Inner) -> Array:
        """Return the tilt [m, k] for coordinates of the chart."""
        return self.chart.position(inner).coordinates @ self.chart.cross


def model_of(problem: Problem, precision: Precision) -> Model:
    """Lower a problem in which all private values and outcomes have positive probability."""
    mass = problem.p_z
    lowered = list[tuple[Block, Array]]()
    if asks_privacy(problem.terms):
        lowered.append(_private_block(problem, precision))
    for number, term in enumerate(problem.terms):
        for group in term.groups if term.priced else ():
            lowered.append(_block(problem, number, group, precision))
    blocks = [block for block, _ in lowered]
    features = np.concatenate([rows for _, rows in lowered])
    perfect = all(isinstance(block, Exact) for block in blocks)
    width = max(1024, _BLOCK_ENTRIES // (problem.m * features.shape[0]))
    barrier = 0.5 + 0.5 / np.maximum(problem.N * mass, precision.lightest)
    return Model(
        problem.N,
        _in_blocks(mass[None], width)[:, 0],
        _in_blocks(barrier[None], width, 1.0)[:, 0],
        _in_blocks(problem.loss / mass, width),
        _in_blocks(features, width),
        _in_blocks(features * mass, width),
        Chart(blocks, no_multipliers(problem.terms), problem.m, problem.n),
        features.shape[0] if perfect else problem.n,
        perfect,
        precision.undercut,
        problem.constant_error,
    )


def _private_block(problem: Problem, precision: Precision) -> tuple[Block, Array]:
    """Return the block of all rows under perfect privacy, and its features. Constraints may
    overlap, so dependent directions are dropped.
    """
    private = [term for term in problem.terms if term.budget.perfect]
    groups = [group for term in private for group in term.groups]
    p_x = problem.p_x.copy()
    for term in problem.terms:
        for group in term.groups if term.measure.conditional else ():
            p_x[group] /= p_x[group].sum()
    basis, lift = _independent(
        p_x, problem.deviations / p_x[:, None], problem.p_z, groups, precision
    )
    directions = basis.T @ (problem.deviations / problem.p_z)
    features = np.concatenate([np.ones((1, problem.N)), directions])
    frame = np.concatenate([np.ones((p_x.size, 1)), basis], axis=1)
    first = problem.terms.index(private[0])
    level = precision.leak_free
    return Exact(private[0].measure, first, slice(None), p_x, level, lift, frame), features


def _block(
    problem: Problem, number: int, group: slice, precision: Precision
) -> tuple[Block, Array]:
    """Return the block of a group of rows of a constraint, and its features [k, N]."""
    mass = problem.p_z
    measure = problem.terms[number].measure
    level = problem.terms[number].level * (1.0 - precision.undercuts[number])
    p_x = problem.p_x[group]
    share = np.ones(problem.N)
    if measure.conditional:
        p_x = p_x / p_x.sum()
        share = problem.p_xz[group].sum(axis=0) / mass
    basis = _basis(p_x)
    directions = basis.T @ (problem.deviations[group] / mass)
    frame = np.concatenate([np.ones((p_x.size, 1)), basis], axis=1)
    block = family_of(measure)(measure, number, group, p_x, level, basis, frame)
    return block, np.concatenate([share[None], directions])


def _in_blocks(rows: Array, width: int, beyond: float = 0.0) -> Array:
    """Reshape [r, N] to [K, r, W] with W ≤ width, padding the last block."""
    r, outcomes = rows.shape
    count = -(-outcomes // width)
    if count == 1:
        return rows[None]
    filled = np.full((r, count * -(-outcomes // count)), beyond)
    filled[:, :outcomes] = rows
    return np.ascontiguousarray(filled.reshape(r, count, -1).transpose(1, 0, 2))


def _basis(p_x: Array) -> Array:
    """Return B [n, n − 1] with π'B = 0 and B' diag(π) B = I, from the Householder reflection of
    sqrt(π).
    """
    root = np.sqrt(p_x / p_x.sum())
    most = p_x.argmax()  # reflect along the most probable value, so that rare values do not mix
    reflector = root.copy()
    reflector[most] += 1.0
    orthogonal = np.eye(root.size) - reflector[:, None] * reflector / reflector[most]
    return np.asarray(
        orthogonal.take((np.arange(root.size) != most).nonzero()[0], axis=1) / root[:, None]
    )


def _independent(
    p_x: Array, phi: Array, p_z: Array, groups: Sequence[slice], precision: Precision
) -> tuple[Array, Array]:
    """Return B [n, k − 1] with π'B = 0 in every group, whose coordinates vanish only under perfect
    privacy, and the lift back to R^n.

    The rows p(z_l given x_j) / √w_l − √w_l, scaled to length at most one, are rotated to
    independent rows. Rows outside the groups are free, and so are rows of negligible probability.
    """
    likeliest = [group.start + int(p_x[group].argmax()) for group in groups]
    others = np.zeros(p_x.size, dtype=np.bool_)
    for group in groups:
        others[group] = True
    others[likeliest] = False
    others &= p_x > Precision.nonzero
    rows = phi[others] / np.sqrt(p_z)
    sizes = np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    left, values, _ = np.linalg.svd(rows / sizes, full_matrices=False)
    rotation = left[:, values > precision.rank]
    basis, lift = np.zeros((2, p_x.size, rotation.shape[1]))
    basis[others] = rotation / sizes / p_x[others, None]
    lift[others] = rotation * sizes
    for group, most in zip(groups, likeliest, strict=True):
        lift[most] = -p_x[group] @ lift[group] / p_x[most]
        basis[group] -= p_x[group] @ basis[group]
    return basis, lift
