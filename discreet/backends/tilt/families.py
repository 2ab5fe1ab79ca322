"""The chart of each family of measures: smooth ones and pieces.

- A smooth g has θ = t. K = H/μ, with H the inverse of the Hessian of g off its null vector V = u, Γ
  = H∇g/μ, G = g(u), c = Σ ∇g'H∇g/μ.
- Of pieces, g(u) = Σ_R max_k (R u)_k: with a height y for each matrix R and the slacks σ = E y − R
  u ≥ 0, θ are their multipliers λ ≥ 0, so that t = R'λ. K = diag(σ/λ), V = E with ρ = dy, Γ = 0, G
  = 1. No Hessian is needed.

The letters are those of `charts`. Source: docs/theory.md, sections 13 and 22.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.backends.tilt.charts import Inner, Part, Relation, Single
from discreet.lazy import cached_property
from discreet.measures.each_guess import (
    LocalDifferentialPrivacy,
    MaxLift,
    ParityDifference,
)
from discreet.measures.maximal_leakage import MaximalLeakage
from discreet.measures.measure import Cone, Measure, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION, phi_divergence
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT

_FAR = -5.0  # a log ratio below it makes coordinates about posteriors
# Of an inverse Hessian, times the mass: more only takes digits from other directions.
_STEEPEST = 1e6


class _Smooth(Single):
    """The tilt is μ times the gradient of g; where each guess has a budget, of G(u) = g(u) − B s,
    with a μ of its own.
    """

    @abstractmethod
    def curved(self, part: Part) -> tuple[Array, Array, Array]:
        """H [m, k, k], H∇g [m, k] and ∇g'H∇g [m]."""

    def part(self, coordinates: Array) -> Part:
        """The gradient along u is g."""
        mass, joint, deviation, x = self._law(coordinates, -1.0)
        slope = self.measure.slope(x, self.p_x)
        excess = self.measure.excess(x, self.p_x)
        gradient = (slope * self.p_x) @ self.frame
        gradient[:, 0] = excess - (x * slope) @ self.p_x
        return Part(coordinates, mass, joint, deviation, slope, gradient, mass * excess)

    @property
    @abstractmethod
    def steep(self) -> float:
        """The size of ∇g where x has the size that the budget allows."""

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """The tilt of the law."""
        multiplier = np.array([unit / self.steep])
        none = np.zeros((part.mass.size, 0))
        return Inner(multiplier * part.gradient, none, none), multiplier

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """By the inverse Hessian."""
        block, bent, square = self.curved(part)
        none = np.zeros((part.mass.size, 1))
        return Relation(
            multiplier,
            block,
            part.coordinates[:, :, None],
            bent[:, :, None],
            part.leakages[:, None, None],
            square[:, None],
            at.coordinates - multiplier * part.gradient,
            none,
            none[:, :0],
            self.counted(at, part),
        )

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """The support function of the measure."""
        price = float(multiplier[0])
        tilt = at.coordinates @ self.frame.T
        return self.measure.ceiling(tilt, self.p_x, price, self.level), price * self.level


@final
class Entropic(_Smooth):
    """Mutual information: H = frame' diag(u) frame, and log ratios, which need coordinates of their
    own.
    """

    @property
    def size(self) -> float:  # type: ignore[override]
        """G is half the square of small log ratios."""
        return math.sqrt(2.0 * self.level)

    @property
    def steep(self) -> float:
        """Log ratios."""
        return self.size

    def part(self, coordinates: Array) -> Part:
        """With log ratios."""
        # Of a guess that excludes a private value.
        mass, joint, deviation, x = self._law(coordinates, -1.0 + UNIT)
        log_ratio = np.log1p(x)
        gradient = (log_ratio * self.p_x) @ self.frame
        divergence = phi_divergence(x)
        # log(1 + x) − x is φ − x log(1 + x), without cancellation near 0
        gradient[:, 0] = (divergence - x * log_ratio) @ self.p_x  # Σ π log(1 + x) where Σ π x = 0
        return Part(
            coordinates, mass, joint, deviation, log_ratio, gradient, mass * (divergence @ self.p_x)
        )

    @cached_property
    def _identity(self) -> Array:
        return np.eye(self.frame.shape[1])

    def curved(self, part: Part) -> tuple[Array, Array, Array]:
        """By log ratios."""
        ratios = part.joint * part.slope
        bent = np.matmul(self.frame.T, part.deviation[:, :, None] * self.frame)
        tilted = ratios @ self.frame
        tilted[:, 0] = part.leakages
        block = bent + part.mass[:, None, None] * self._identity  # so that nothing cancels
        return block, tilted, np.add.reduce(ratios * part.slope, axis=1)

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """h_i(t, μ)."""
        price = float(multiplier[0])
        return log_mean(at.coordinates @ self.frame.T / price, self.p_x, price), price * self.level

    def own(self, part: Part) -> Array | None:
        """About posteriors, where one all but excludes a private value."""
        return about_posteriors(self, part) if part.slope.min() < _FAR else None


@final
class Quadratic(_Smooth):
    """Chi-square information, which is |d|²/s: H = s/2 on deviations."""

    @property
    def size(self) -> float:  # type: ignore[override]
        """√B."""
        return math.sqrt(self.level)

    @property
    def steep(self) -> float:
        """The gradient is 2 x."""
        return 2.0 * self.size

    def curved(self, part: Part) -> tuple[Array, Array, Array]:
        """Nothing of the masses."""
        block = 0.5 * part.mass[:, None, None] * np.diag(np.arange(part.coordinates.shape[1]) > 0)
        bent = part.coordinates.copy()
        bent[:, 0] = 0.0
        return block, bent, 2.0 * part.leakages


@final
class Normed(_Smooth):
    """Sibson's information, with the norm ν = s N of u/π: H = ν/(α − 1) frame' diag(π (r/N)^{2 −
    α}) frame.
    """

    @property
    def size(self) -> float:  # type: ignore[override]
        """G is about (α − 1) x²/2."""
        return math.sqrt(2.0 * self.level / (self.measure.order - 1.0))

    @property
    def room(self) -> float:  # type: ignore[override]
        """A quarter of N/(α − 1), as the gradient (r/N)^{α−1} − 1 changes by the (α − 1)-th power
        of what N does.
        """
        return 0.25 * (1.0 + self.level) / (self.measure.order - 1.0)

    @property
    def steep(self) -> float:
        """The gradient is about (α − 1) x."""
        return (self.measure.order - 1.0) * self.size

    def curved(self, part: Part) -> tuple[Array, Array, Array]:
        """By powers of r/N."""
        norm = part.mass + part.leakages
        ratio = np.maximum(part.joint / (norm[:, None] * self.p_x), UNIT)
        flat = np.minimum(ratio ** (2.0 - self.measure.order), _STEEPEST)
        inverse = (norm / (self.measure.order - 1.0))[:, None] * self.p_x * flat
        bent = inverse * part.slope
        block = np.matmul(self.frame.T, inverse[:, :, None] * self.frame)
        return block, bent @ self.frame, np.add.reduce(bent * part.slope, axis=1)

    def own(self, part: Part) -> Array | None:
        """As of mutual information; of orders above 2 no entry of H is small."""
        far = self.measure.order < 2.0 and (
            part.joint / part.mass[:, None] / self.p_x
        ).min() < math.exp(_FAR)
        return about_posteriors(self, part) if far else None


@final
class Pointwise(Single):
    """KL(q_i ‖ π) ≤ B for each guess, that is g(u_i) ≤ B s_i: θ_i = (t_i, μ_i) with t_i = μ_i
    (∇g(u_i) − B).
    """

    apart = True
    pairs = 1

    @property
    def cross(self) -> Array:  # type: ignore[override]
        """The multiplier is no part of the tilt."""
        return np.eye(self.p_x.size + 1)[:, :-1]

    @property
    def size(self) -> float:  # type: ignore[override]
        """As of mutual information."""
        return math.sqrt(2.0 * self.level)

    @property
    def _information(self) -> Entropic:
        return Entropic(MUTUAL_INFORMATION, self.p_x, self.level, self.lift, self.frame)

    def part(self, coordinates: Array) -> Part:
        """As of mutual information."""
        return self._information.part(coordinates)

    def _gradient(self, part: Part) -> Array:
        gradient = part.gradient.copy()
        gradient[:, 0] -= self.level
        return gradient

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """The tilt of the law."""
        price = np.full((part.mass.size, 1), unit / self.size)
        slack = (self.level * part.mass - part.leakages)[:, None]
        return Inner(
            np.hstack([price * self._gradient(part), price]), slack, slack[:, :0]
        ), np.zeros(0)

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """By the inverse Hessian, with the multipliers as coordinates."""
        m, k = part.coordinates.shape
        price = at.multipliers
        over = (part.leakages - self.level * part.mass)[:, None]
        ratios = part.joint * (part.slope - self.level)
        block = np.zeros((m, k + 1, k + 1))
        bent = ratios @ self.frame
        block[:, :k, :k] = self._information.curved(part)[0]
        block[:, :k, k] = block[:, k, :k] = -bent
        block[:, k, k] = (ratios * (part.slope - self.level)).sum(axis=1)
        residual = at.coordinates - np.hstack([price * self._gradient(part), price])
        null = np.hstack([part.coordinates, -over])[:, :, None]
        none = np.zeros((m, 1))
        empty = np.zeros((m, k + 1, 0))
        return Relation(
            price, block, null, empty, empty[:, :1], none[:, :0], residual, none, over, np.zeros(0)
        )

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """t·q ≤ μ_i log Σ π e^{t/μ_i} + μ_i B for every posterior that is allowed."""
        price = at.multipliers
        tilt = at.coordinates[:, :-1] @ self.frame.T
        return log_mean(tilt / price, self.p_x, price[:, 0]) + self.level * price[:, 0], 0.0


@final
@dataclass(frozen=True, eq=False)
class Pieces(Single):
    """g(u) = Σ_R c_R max_k (R u)_k. Each guess has a height y_R ≥ R u for each matrix; each budget
    bounds Σ_R c_R y_R.

    pieces   all matrices, in coordinates of laws, [K, k]; where guesses have budgets, the row −B s
             or 0 follows
    below    which height is above which row [K, r]; then −c
    offset   B in the row of a budget that is the same for all guesses; else 0
    weights  c [r]
    """

    pieces: Array
    below: Array
    offset: Array
    weights: Array

    @classmethod
    def of(cls, measure: Measure, p_x: Array, level: float, lift: Array, frame: Array) -> Pieces:
        """By the measure's pieces; of posteriors those of max x and −min x, as the ratios of its
        budget are of these.
        """
        if isinstance(measure, MaxLift):
            matrices = MaximalLeakage().pieces(p_x, level)
            weights = np.ones(1)
        elif isinstance(measure, LocalDifferentialPrivacy):  # max x ≤ B + (1 + B) min x
            matrices = ParityDifference().pieces(p_x, level)
            weights = np.array([1.0, 1.0 + level])
        else:
            matrices = measure.pieces(p_x, level) or ()
            weights = np.ones(len(matrices))
        stacked = np.vstack(matrices)
        below = np.repeat(np.eye(len(matrices)), [len(each) for each in matrices], axis=0)
        mean = stacked @ p_x
        size = np.abs(stacked) @ p_x
        mean = np.where(np.abs(mean) > 2 * (p_x.size + 2) * UNIT * size, mean, 0.0)
        rows = np.column_stack([mean, (stacked * p_x) @ lift])
        offset = np.zeros(len(stacked))
        if measure.scope is not Scope.TOTAL:
            by_mass = measure.scope is Scope.POSTERIOR
            rows = np.vstack([rows, np.eye(rows.shape[1])[:1] * -level * by_mass])
            below = np.vstack([below, -weights])
            offset = np.append(offset, 0.0 if by_mass else level)
        return cls(measure, p_x, level, lift, frame, rows, below, offset, weights)

    apart = True

    @property
    def pairs(self) -> int:  # type: ignore[override]
        """All."""
        return len(self.pieces)

    @property
    def ranks(self) -> int:  # type: ignore[override]
        """Matrices."""
        return self.weights.size

    @property
    def cross(self) -> Array:  # type: ignore[override]
        """R, in coordinates."""
        return self.pieces

    @property
    def size(self) -> float:  # type: ignore[override]
        """Linear."""
        return self.level

    def part(self, coordinates: Array) -> Part:
        """With all values R u."""
        mass, joint, deviation, x = self._law(coordinates, -1.0)
        values = coordinates @ self.pieces.T
        return Part(
            coordinates, mass, joint, deviation, x, values, self._highest(values) @ self.weights
        )

    def _highest(self, values: Array) -> Array:
        """The largest value of every matrix [m, r]."""
        own = self.below[: len(self.below) - (not self.shared)].T > 0.0
        return np.stack([values[:, : own.shape[1]][:, each].max(axis=1) for each in own], axis=1)

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """Heights half of what the budget leaves above the values; multipliers in inverse
        proportion to the slacks.
        """
        if self.shared:
            left = (self.level - self.leaked(part)) * part.mass
        else:
            left = (
                self.level * (1.0 if self.measure.scope is Scope.SHARE else part.mass)
                - part.leakages
            )
        heights = self._highest(part.gradient) + (0.5 / self.weights.sum() * left)[:, None]
        slack = heights @ self.below.T + self.offset - part.gradient
        above = self.below > 0.0
        inverse = (self.weights / ((1.0 / slack) @ above)) @ above.T / slack
        inverse[:, len(inverse.T) - (not self.shared) :] = 1.0
        return Inner(unit * inverse, slack, heights), np.full(int(self.shared), unit)

    def counted(self, at: Inner, part: Part) -> Array:
        """Heights."""
        return np.full(self.shared_levels.size, (at.heights @ self.weights).sum())

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """Linear."""
        (m, p) = at.coordinates.shape
        q = multiplier.size
        leak = self.weights[:, None] * np.ones(q)
        return Relation(
            np.ones(1),
            np.zeros((m, p, p)),
            np.broadcast_to(self.below, (m, *self.below.shape)),
            np.zeros((m, p, q)),
            np.broadcast_to(leak, (m, *leak.shape)),
            np.zeros((m, q)),
            np.zeros((m, p)),
            leak @ multiplier - at.coordinates @ self.below,
            part.gradient - at.heights @ self.below.T - self.offset,
            self.counted(at, part),
        )

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """Multipliers ≥ 0 make feasible tilts."""
        return np.zeros(()), float(
            multiplier.sum() * self.level + (at.coordinates @ self.offset).sum()
        )


def chart_of(measure: Measure) -> Callable[[Measure, Array, float, Array, Array], Single]:
    """What makes the chart of a measure."""
    if measure.cone is None:
        return Pieces.of
    if measure.scope is Scope.POSTERIOR:
        return Pointwise
    return {Cone.ENTROPY: Entropic, Cone.QUADRATIC: Quadratic, Cone.POWER: Normed}[measure.cone]


def about_posteriors(chart: Single, part: Part) -> Array:
    """The vectors e_j − q_ij 1 [m, k, n] in coordinates, but 1 in place of the commonest j of a
    posterior q_i.
    """
    m, n = part.joint.shape
    own = np.tile((chart.frame * chart.p_x[:, None]).T, (m, 1, 1))  # e_j
    own[:, 0] = -part.deviation / part.mass[:, None]  # e_j − q_ij 1
    own[np.arange(m), :, part.joint.argmax(axis=1)] = np.eye(n)[0]
    return own


def log_mean(scaled: Array, p_x: Array, multiplier: float | Array) -> Array:
    """h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m] of t/μ [m, n]."""
    largest = np.maximum.reduce(scaled, axis=1)[:, None]
    # But for an absolute rounding.
    close = largest + np.log(np.exp(scaled - largest) @ p_x)[:, None]
    return np.asarray(multiplier * (close[:, 0] + np.log1p(np.expm1(scaled - close) @ p_x)))
