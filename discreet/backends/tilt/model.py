"""The problem in the coordinates in which the interior point does not cancel; the point that is
found, and how the search for it ended.

Losses per unit of outcome mass, ℓ_il = L_il / w_l, and for each outcome the features F_l = (1,
B'c_l) with c_l = a_l/w_l − π its centred posterior and B [n, n − 1] a basis with π'B = 0 and B'
diag(π) B = I. A row of duals t_i in R^n is kept as coordinates (α_i, ξ_i), t_i = α_i 1 + B ξ_i, so
that c_l·t_i is F_l·(α_i, ξ_i); a row u_i = A P_i as (mass s_i, deviation d_i). Near independence s
is of order one and d tiny, and neither is ever formed from the other.

Outcomes lie in blocks of at most W, of which every array holds one after the other, [blocks, ·, W]:
each kernel goes through them once, and what it works on meanwhile stays in cache. The last block is
filled up with outcomes of no mass.

At perfect privacy only d_i = 0 is asked, of rare private values as of common ones. So B then makes
F_l of the differences p(z_l given x_j) − p(z_l), rotated to independent rows; directions that Z
says nothing about are dropped.

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

# Numbers per block for each of the m k entries of the tilt: 512 KiB, half of a usual cache.
_BLOCK_ENTRIES = 1 << 16


@dataclass(frozen=True, eq=False)
class Point:
    """A primal–dual pair of a problem, which may be one of K aggregated outcomes. Nothing is
    certified.

    columns      column-stochastic estimator                              [m, K]
    tilt         duals of u_i                                             [m, n]
    multipliers  μ ≥ 0 of each constraint: inf at ε = 0, 0 where none is  [C]
    """

    columns: Array
    tilt: Array
    multipliers: Array

    @classmethod
    def bayes(cls, problem: Problem) -> Point:
        """The Bayes rule under no tilt: the optimum where it keeps the budget."""
        nothing = np.zeros((problem.m, problem.n))
        return cls(problem.bayes_estimator, nothing, np.zeros(len(problem.terms)))


@dataclass(frozen=True)
class Ending:
    """How an iteration ended.

    reason      "optimal", or what stopped it before: "stalled", "time limit", "iteration limit", …
    iterations  interior-point iterations
    width       of the bracket that the point proves, relative to its error probability, up to
                rounding
    """

    reason: str
    iterations: int = 0
    width: float = math.inf

    @property
    def optimal(self) -> bool:
        """Whether the bracket is as narrow as was asked."""
        return self.reason == "optimal"


@dataclass(frozen=True, eq=False)
class Model:
    """A problem lowered for the interior point; k coordinates per guess, N outcomes in K blocks of
    W.

    outcomes  N
    mass      w_l                        [K, W], 0 beyond the N outcomes
    barrier   ω_l / w_l, see below       [K, W]
    losses    ℓ_il                       [K, m, W]
    features  F                          [K, k, W], first row ones
    weighted  F·w                        [K, k, W]
    chart     the blocks of all constraints, their budgets less the undercut
    values    n, rows of p_xz
    perfect   whether perfect privacy is asked for
    undercut  relative, of the precision policy
    constant_error  error probability of the best constant guess

    The products P_il z_il of the central path are τ ω_l / w_l, with ω_l the mean of w_l and 1/N.
    The path's gap is m τ.
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
        """Σ_l w_l r_l of rows [K, W]."""
        return float(np.vdot(self.mass, rows))

    def joined(self, blocks: Array) -> Array:
        """[K, r, W] → [r, N]."""
        return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)[:, : self.outcomes]

    def law_of(self, estimator: Array) -> JointLaw:
        """The law of (X, Ŷ) under a strictly positive estimator [K, m, W]."""
        return self.chart.law(np.matmul(estimator, self.weighted.transpose(0, 2, 1)).sum(axis=0))

    def tilt_of(self, inner: Inner) -> Array:
        """The tilt [m, k] of the chart's coordinates."""
        return self.chart.position(inner).coordinates @ self.chart.cross


def model_of(problem: Problem, precision: Precision) -> Model:
    """Lower a problem whose private values and outcomes all have positive probability."""
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
    """The block of all rows that must not leak, and its features. Constraints may demand the same:
    dependent directions are dropped.
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
    """The block of a group of rows of a constraint, and its features [k, N]."""
    mass = problem.p_z
    measure = problem.terms[number].measure
    undercut = Precision.at(problem, number, precision.gap).undercut
    level = problem.terms[number].level * (1.0 - undercut)
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
    """[r, N] → [K, r, W] with W ≤ width, the last block filled up."""
    r, outcomes = rows.shape
    count = -(-outcomes // width)
    if count == 1:
        return rows[None]
    filled = np.full((r, count * -(-outcomes // count)), beyond)
    filled[:, :outcomes] = rows
    return np.ascontiguousarray(filled.reshape(r, count, -1).transpose(1, 0, 2))


def _basis(p_x: Array) -> Array:
    """B [n, n − 1] with π'B = 0 and B' diag(π) B = I, from the Householder reflection
    of sqrt(π).
    """
    root = np.sqrt(p_x / p_x.sum())
    most = p_x.argmax()  # of the commonest value, so that rare ones stay apart
    reflector = root.copy()
    reflector[most] += 1.0
    orthogonal = np.eye(root.size) - reflector[:, None] * reflector / reflector[most]
    return np.asarray(
        orthogonal.take((np.arange(root.size) != most).nonzero()[0], axis=1) / root[:, None]
    )


def _independent(
    p_x: Array, phi: Array, p_z: Array, groups: Sequence[slice], precision: Precision
) -> tuple[Array, Array]:
    """B [n, k − 1] with π'B = 0 in every group, whose coordinates vanish only under perfect
    privacy, and the lift back.

    The rows p(z_l given x_j) / √w_l − √w_l, each at most of length one, are rotated to independent
    ones. Rows outside the groups are free, and so are those of values of next to no probability.
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
