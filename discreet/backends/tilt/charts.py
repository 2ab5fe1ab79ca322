"""Charts: how the tilts of a measure follow the law of (X, Ŷ), which is all that a Newton step knows of the measure.

At the optimum t_i is in μ ∂g(u_i). A chart gives tilts coordinates θ_i, in which a step has for each guess

    K_i dθ_i + V_i ρ_i − Γ_i dμ = − C du_i,    V_i' dθ_i = G_i dμ,    with dt_i = C' dθ_i,

up to residuals, and for the budget Σ_i (Γ_i' dθ_i + G_i' ρ_i) = (c + ε₀/μ) dμ. The elimination of the outcomes (`newton`)
adds C M C' to K. There are two kinds of charts.

- A smooth g has θ = t. K = H/μ, with H the inverse of the Hessian of g off its null vector V = u, Γ = H∇g/μ, G = g(u),
  c = Σ ∇g'H∇g/μ.
- Of pieces, g(u) = Σ_R max_k (R u)_k: with a height y for each matrix R and the slacks σ = E y − R u ≥ 0, θ are their
  multipliers λ ≥ 0, so that t = R'λ. K = diag(σ/λ), V = E with ρ = dy, Γ = 0, G = 1. No Hessian is needed.

Where the budget is one of each guess, so is the multiplier μ_i. It is one more coordinate then, with the slack of the guess,
and without an effect on tilts (C has a row of zeros) unless the budget grows with the mass of the guess.

Source: docs/theory.md, sections 13 and 22.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from discreet.problems.measures.chi_square import ChiSquare
from discreet.problems.measures.each_guess import LocalDifferentialPrivacy, MaxLift, ParityDifference
from discreet.problems.measures.maximal_leakage import MaximalLeakage
from discreet.problems.measures.measure import Measure, Scope
from discreet.problems.measures.mutual_information import MutualInformation, phi_divergence
from discreet.problems.measures.sibson import Sibson
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import UNIT

_FAR = -5.0  # a log ratio below it makes coordinates about posteriors
_STEEPEST = 1e6  # of an inverse Hessian, times the mass: more only takes digits from other directions


@dataclass(frozen=True, eq=False)
class Part:
    """The law of (X, Ŷ), with what Newton's method needs of g at u_i.

    coordinates  (s_i, d_i)                                            [m, k]
    mass         s_i                                                   [m]
    joint        u_i                                                   [m, n]
    deviation    u_i − π s_i = diag(π) B d_i                           [m, n]
    slope        ∇g(u_i) of a smooth measure                           [m, n]
    gradient     coordinates of ∇g(u_i), or the values R u_i of pieces  [m, p]
    leakages     g(u_i)                                                [m]
    """

    coordinates: Array
    mass: Array
    joint: Array
    deviation: Array
    slope: Array
    gradient: Array
    leakages: Array


@dataclass(frozen=True, eq=False)
class Inner:
    """Where an iterate is in a chart, or a change of that.

    coordinates  θ                                                       [m, p]
    slack        of the last p' coordinates, which are multipliers ≥ 0   [m, p']
    heights      y                                                       [m, r], r = 0 of smooth measures
    """

    coordinates: Array
    slack: Array
    heights: Array

    @property
    def multipliers(self) -> Array:
        """The coordinates that have a slack [m, p']."""
        return self.coordinates[:, self.coordinates.shape[1] - self.slack.shape[1] :]

    def moved(self, step: Inner, length: float) -> Inner:
        """After a step of that length."""
        coordinates = self.coordinates + length * step.coordinates
        if not self.slack.size:
            return Inner(coordinates, self.slack, self.heights)
        return Inner(coordinates, self.slack + length * step.slack, self.heights + length * step.heights)

    def products(self) -> Array:
        """Of multipliers and slacks [m, p']."""
        return self.multipliers * self.slack if self.slack.size else self.slack


@dataclass(frozen=True, eq=False)
class Relation:
    """The linearised relation of a chart with q shared budgets; K, Γ and c times the multiplier, and K without σ/λ.

    price     the multiplier of each row; of pieces 1   [m, p], [m, 1] or [1]
    block     K                                         [m, p, p]
    null      V                                         [m, p, r]
    bent      Γ                                         [m, p, q]
    leak      G                                         [m, r, q]
    square    c, the part of each guess                 [m, q]
    residual  θ less what the law says it is            [m, p]
    balance   by how much V'θ falls short of G μ        [m, r]
    value     of each pair, that of its constraint      [m, p']
    counted   leakages of the shared budgets            [q]
    """

    price: Array
    block: Array
    null: Array
    bent: Array
    leak: Array
    square: Array
    residual: Array
    balance: Array
    value: Array
    counted: Array


@dataclass(frozen=True, eq=False)
class Chart(ABC):
    """A measure of leakage about private values of prior π [n], with B (`level`), less what is kept in reserve.

    lift   coordinates of deviations → R^n, per unit of π     [n, k − 1]
    frame  (1, basis): coordinates of tilts → R^n             [n, k]
    """

    measure: Measure
    p_x: Array
    level: float
    lift: Array
    frame: Array

    @cached_property
    def shared(self) -> bool:
        """Whether one budget and its multiplier are about all guesses."""
        return self.measure.scope is Scope.TOTAL

    @property
    def linear(self) -> bool:
        """Whether it is one of pieces."""
        return False

    @cached_property
    def shared_levels(self) -> Array:
        """B of the shared budgets [q]."""
        return np.full(int(self.shared), self.level)

    @cached_property
    def levels(self) -> Array:
        """B of every budget."""
        return np.array([self.level])

    @property
    def cross(self) -> Array | None:
        """C [p, k]; None where it is the identity."""
        return None

    @property
    @abstractmethod
    def size(self) -> float:
        """What relative changes x of the posterior the budget allows."""

    @abstractmethod
    def part(self, coordinates: Array) -> Part:
        """The law of coordinates [m, k]."""

    @abstractmethod
    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """For a law strictly within the budget: tilts of about that size per unit of mass, and the multipliers [q]."""

    @abstractmethod
    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """Linearised about a law."""

    @abstractmethod
    def bound(self, at: Inner, multiplier: Array) -> tuple[Array | float, float]:
        """By how much the rows of the tilt must be lowered to be feasible [m], and what the multipliers cost."""

    def own(self, part: Part) -> Array | None:
        """Coordinates [m, p, p], as columns, in which posteriors far from the prior keep their digits; None if none is."""
        return None

    def leaked(self, part: Part) -> Array:
        """What the levels are compared with."""
        if self.shared:
            return np.asarray(part.leakages.sum(keepdims=True))
        return np.array([(part.leakages / (1.0 if self.measure.scope is Scope.SHARE else part.mass)).max()])

    def _law(self, coordinates: Array, least: float) -> tuple[Array, Array, Array, Array]:
        """s, u, the deviation, and x ≥ least."""
        mass = coordinates[:, 0]
        base = mass[:, None] * self.p_x
        deviation = (coordinates[:, 1:] @ self.lift.T) * self.p_x
        x = np.maximum(deviation / base, least)
        return mass, base * (1.0 + x), deviation, x


class _Smooth(Chart):
    """The tilt is μ times the gradient of g; where each guess has a budget, of G(u) = g(u) − B s, with a μ of its own."""

    @abstractmethod
    def _curved(self, part: Part) -> tuple[Array, Array, Array]:
        """H [m, k, k], H∇g [m, k] and ∇g'H∇g [m]."""

    def part(self, coordinates: Array) -> Part:
        """The gradient along u is g."""
        mass, joint, deviation, x = self._law(coordinates, -1.0)
        slope, excess = self.measure.slope(x, self.p_x), self.measure.excess(x, self.p_x)
        gradient = (slope * self.p_x) @ self.frame
        gradient[:, 0] = excess - (x * slope) @ self.p_x
        return Part(coordinates, mass, joint, deviation, slope, gradient, mass * excess)

    @property
    @abstractmethod
    def steep(self) -> float:
        """The size of ∇g where x has the size that the budget allows."""

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """The tilt of the law."""
        multiplier, none = np.array([unit / self.steep]), np.zeros((part.mass.size, 0))
        return Inner(multiplier * part.gradient, none, none), multiplier

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """By the inverse Hessian."""
        block, bent, square = self._curved(part)
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
            self.leaked(part),
        )

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array | float, float]:
        """The support function of the measure."""
        price = float(multiplier[0])
        tilt = at.coordinates @ self.frame.T
        return self.measure.support(tilt, self.p_x, price, self.level)[0], price * self.level


@final
class Entropic(_Smooth):
    """Mutual information: H = frame' diag(u) frame, and log ratios, which need coordinates of their own."""

    @property
    def size(self) -> float:
        """G is half the square of small log ratios."""
        return math.sqrt(2.0 * self.level)

    @property
    def steep(self) -> float:
        """Log ratios."""
        return self.size

    def part(self, coordinates: Array) -> Part:
        """With log ratios."""
        mass, joint, deviation, x = self._law(coordinates, -1.0 + UNIT)  # of a guess that excludes a private value
        log_ratio = np.log1p(x)
        gradient = (log_ratio * self.p_x) @ self.frame
        divergence = phi_divergence(x)
        # log(1 + x) − x is φ − x log(1 + x), without cancellation near 0
        gradient[:, 0] = (divergence - x * log_ratio) @ self.p_x  # Σ π log(1 + x) where Σ π x = 0
        return Part(coordinates, mass, joint, deviation, log_ratio, gradient, mass * (divergence @ self.p_x))

    def _curved(self, part: Part) -> tuple[Array, Array, Array]:
        ratios = part.joint * part.slope
        bent = np.matmul(self.frame.T, part.deviation[:, :, None] * self.frame)
        tilted = ratios @ self.frame
        tilted[:, 0] = part.leakages
        block = bent + part.mass[:, None, None] * np.eye(self.frame.shape[1])  # so that nothing cancels
        return block, tilted, np.add.reduce(ratios * part.slope, axis=1)

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array | float, float]:
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
    def size(self) -> float:
        """√B."""
        return math.sqrt(self.level)

    @property
    def steep(self) -> float:
        """The gradient is 2 x."""
        return 2.0 * self.size

    def _curved(self, part: Part) -> tuple[Array, Array, Array]:
        block = 0.5 * part.mass[:, None, None] * np.diag(np.arange(part.coordinates.shape[1]) > 0)
        bent = part.coordinates.copy()
        bent[:, 0] = 0.0
        return block, bent, 2.0 * part.leakages


@final
class Normed(_Smooth):
    """Sibson's information, with the norm ν = s N of u/π: H = ν/(α − 1) frame' diag(π (r/N)^{2 − α}) frame."""

    @property
    def _order(self) -> float:
        assert isinstance(self.measure, Sibson)
        return self.measure.alpha

    @property
    def size(self) -> float:
        """G is about (α − 1) x²/2."""
        return math.sqrt(2.0 * self.level / (self._order - 1.0))

    @property
    def steep(self) -> float:
        """The gradient is about (α − 1) x."""
        return (self._order - 1.0) * self.size

    def _curved(self, part: Part) -> tuple[Array, Array, Array]:
        norm = part.mass + part.leakages
        ratio = np.maximum(part.joint / (norm[:, None] * self.p_x), UNIT)
        flat = np.minimum(ratio ** (2.0 - self._order), _STEEPEST)
        inverse = (norm / (self._order - 1.0))[:, None] * self.p_x * flat
        bent = inverse * part.slope
        block = np.matmul(self.frame.T, inverse[:, :, None] * self.frame)
        return block, bent @ self.frame, np.add.reduce(bent * part.slope, axis=1)

    def own(self, part: Part) -> Array | None:
        """As of mutual information; of orders above 2 no entry of H is small."""
        far = self._order < 2.0 and (part.joint / part.mass[:, None] / self.p_x).min() < math.exp(_FAR)
        return about_posteriors(self, part) if far else None


@final
@dataclass(frozen=True, eq=False)
class Pieces(Chart):
    """g(u) = Σ_R c_R max_k (R u)_k. Each guess has a height y_R ≥ R u for each matrix; each budget bounds Σ_R c_R y_R.

    rows     all matrices, in coordinates of laws, [K, k]; where guesses have budgets, the row −B s or 0 follows
    below    which height is above which row [K, r]; then −c
    offset   B in the row of a budget that is the same for all guesses; else 0
    weights  c [r]
    """

    rows: Array
    below: Array
    offset: Array
    weights: Array

    @classmethod
    def of(cls, measure: Measure, p_x: Array, level: float, lift: Array, frame: Array) -> Pieces:
        """By the measure's pieces; of posteriors those of max x and −min x, as the ratios of its budget are of these."""
        if isinstance(measure, MaxLift):
            matrices, weights = MaximalLeakage().pieces(p_x, level), np.ones(1)
        elif isinstance(measure, LocalDifferentialPrivacy):  # max x ≤ B + (1 + B) min x
            matrices, weights = ParityDifference().pieces(p_x, level), np.array([1.0, 1.0 + level])
        else:
            matrices = measure.pieces(p_x, level) or ()
            weights = np.ones(len(matrices))
        stacked, below = np.vstack(matrices), np.repeat(np.eye(len(matrices)), [len(each) for each in matrices], axis=0)
        mean, size = stacked @ p_x, np.abs(stacked) @ p_x
        mean = np.where(np.abs(mean) > 2 * (p_x.size + 2) * UNIT * size, mean, 0.0)
        rows, offset = np.column_stack([mean, (stacked * p_x) @ lift]), np.zeros(len(stacked))
        if measure.scope is not Scope.TOTAL:
            by_mass = measure.scope is Scope.POSTERIOR
            rows = np.vstack([rows, np.eye(rows.shape[1])[:1] * -level * by_mass])
            below, offset = np.vstack([below, -weights]), np.append(offset, 0.0 if by_mass else level)
        return cls(measure, p_x, level, lift, frame, rows, below, offset, weights)

    @property
    def linear(self) -> bool:
        """It is."""
        return True

    @property
    def cross(self) -> Array | None:
        """R, in coordinates."""
        return self.rows

    @property
    def size(self) -> float:
        """Linear."""
        return self.level

    def part(self, coordinates: Array) -> Part:
        """With all values R u."""
        mass, joint, deviation, x = self._law(coordinates, -1.0)
        values = coordinates @ self.rows.T
        return Part(coordinates, mass, joint, deviation, x, values, self._highest(values) @ self.weights)

    def _highest(self, values: Array) -> Array:
        """The largest value of every matrix [m, r]."""
        own = self.below[: len(self.below) - (not self.shared)].T > 0.0
        return np.stack([values[:, : own.shape[1]][:, each].max(axis=1) for each in own], axis=1)

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """Heights half of what the budget leaves above the values; multipliers in inverse proportion to the slacks."""
        if self.shared:
            left = (self.level - self.leaked(part)) * part.mass
        else:
            left = self.level * (1.0 if self.measure.scope is Scope.SHARE else part.mass) - part.leakages
        heights = self._highest(part.gradient) + (0.5 / self.weights.sum() * left)[:, None]
        slack, above = heights @ self.below.T + self.offset - part.gradient, self.below > 0.0
        inverse = (self.weights / ((1.0 / slack) @ above)) @ above.T / slack
        inverse[:, len(inverse.T) - (not self.shared) :] = 1.0
        return Inner(unit * inverse, slack, heights), np.full(int(self.shared), unit)

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """Linear."""
        (m, p), q = at.coordinates.shape, multiplier.size
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
            np.full(q, (at.heights @ self.weights).sum()),
        )

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array | float, float]:
        """Multipliers ≥ 0 make feasible tilts."""
        return 0.0, float(multiplier.sum() * self.level + (at.coordinates @ self.offset).sum())


@final
class Exact(Chart):
    """Perfect privacy: d = 0, with any tilt of mean 0. Newton's method knows that relation."""

    @property
    def size(self) -> float:
        """None."""
        return 0.0

    def part(self, coordinates: Array) -> Part:
        """Without a leakage."""
        mass, joint, deviation, x = self._law(coordinates, -1.0)
        return Part(coordinates, mass, joint, deviation, x, coordinates, np.zeros_like(mass))

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """No tilt."""
        none = np.zeros((part.mass.size, 0))
        return Inner(np.zeros_like(part.coordinates), none, none), none[0]

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """No relation between tilts and laws."""
        raise NotImplementedError

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array | float, float]:
        """Every tilt of mean 0 is feasible."""
        return 0.0, 0.0


def chart_of(measure: Measure) -> Callable[[Measure, Array, float, Array, Array], Chart]:
    """What makes the chart of a measure."""
    smooth: dict[type[Measure], type[_Smooth]] = {MutualInformation: Entropic, ChiSquare: Quadratic, Sibson: Normed}
    return smooth.get(type(measure), Pieces.of)


def about_posteriors(chart: Chart, part: Part) -> Array:
    """The vectors e_j − q_ij 1 [m, k, n] in coordinates, but 1 in place of the commonest j of a posterior q_i."""
    m, n = part.joint.shape
    own = np.tile((chart.frame * chart.p_x[:, None]).T, (m, 1, 1))  # e_j
    own[:, 0] = -part.deviation / part.mass[:, None]  # e_j − q_ij 1
    own[np.arange(m), :, part.joint.argmax(axis=1)] = np.eye(n)[0]
    return own


def log_mean(scaled: Array, p_x: Array, multiplier: float) -> Array:
    """h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m] of t/μ [m, n]."""
    largest = scaled.max(axis=1)[:, None]
    close = largest + np.log(np.exp(scaled - largest) @ p_x)[:, None]  # but for an absolute rounding
    return np.asarray(multiplier * (close[:, 0] + np.log1p(np.expm1(scaled - close) @ p_x)))
