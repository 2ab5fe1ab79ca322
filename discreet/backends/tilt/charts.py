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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from discreet.backends.precision import Precision
from discreet.problems.measures.chi_square import ChiSquare
from discreet.problems.measures.conditional import ConditionalMutualInformation
from discreet.problems.measures.each_guess import (
    LocalDifferentialPrivacy,
    MaxLift,
    ParityDifference,
    PointwiseInformation,
)
from discreet.problems.measures.maximal_leakage import MaximalLeakage
from discreet.problems.measures.measure import Measure, Scope
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION, MutualInformation, phi_divergence
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


class Chart(ABC):
    """What a Newton step knows of the constraints.

    apart          whether slacks over multipliers, which differ from guess to guess by any power of ten, are in the relation
    cross          C [p, k]; None where it is the identity
    pairs          p', how many coordinates have a slack: the last
    ranks          r, columns of V; where they are no heights, they do not matter
    levels         B of every budget; of perfect privacy the leak that counts as none
    shared_levels  B of the budgets that are about all guesses together [q]
    start_levels   B of the budgets that a start must keep; inf for the others
    size           what relative changes x of posteriors the budgets allow
    """

    apart: bool
    cross: Array | None
    pairs: int
    ranks: int
    levels: Array
    shared_levels: Array
    start_levels: Array
    size: float

    @abstractmethod
    def part(self, coordinates: Array) -> Part:
        """The law of coordinates [m, k]."""

    @abstractmethod
    def leaked(self, part: Part) -> Array:
        """What the levels are compared with."""

    @abstractmethod
    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """For a law strictly within the budgets: tilts of about that size per unit of mass, and the multipliers [q]."""

    @abstractmethod
    def counted(self, at: Inner, part: Part) -> Array:
        """Leakages of the shared budgets, as its relation counts them [q]."""

    @abstractmethod
    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """Linearised about a law."""

    @abstractmethod
    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """By how much the rows of the tilt must be lowered to be feasible [m], [m, k] or [], and what multipliers cost."""

    @abstractmethod
    def prices(self, multiplier: Array) -> float | Array:
        """The multiplier, or multipliers, of a point."""

    @abstractmethod
    def least(self, part: Part) -> Array:
        """The least u_ij/π_j of every guess [m]."""

    @abstractmethod
    def rows(self, tilt: Array) -> Array:
        """The tilt [m, n] of coordinates [m, k]."""

    def own(self, part: Part) -> Array | None:
        """Coordinates [m, p, p], as columns, in which posteriors far from the prior keep their digits; None if none is."""
        return None


@dataclass(frozen=True, eq=False)
class Single(Chart):
    """A measure of leakage about private values of prior π [n], with B (`level`), less what is kept in reserve.

    lift   coordinates of deviations → R^n, per unit of π     [n, k − 1]
    frame  (1, basis): coordinates of tilts → R^n             [n, k]
    """

    measure: Measure
    p_x: Array
    level: float
    lift: Array
    frame: Array

    apart = False
    cross = None
    pairs = 0
    ranks = 1

    @cached_property
    def shared(self) -> bool:
        """Whether one budget and its multiplier are about all guesses."""
        return self.measure.scope is Scope.TOTAL

    @cached_property
    def shared_levels(self) -> Array:  # type: ignore[override]
        """One or none."""
        return np.full(int(self.shared), self.level)

    @cached_property
    def levels(self) -> Array:  # type: ignore[override]
        """The level."""
        return np.array([self.level])

    @property
    def start_levels(self) -> Array:  # type: ignore[override]
        """The level."""
        return self.levels

    def leaked(self, part: Part) -> Array:
        """The sum, or the most of a guess."""
        if self.shared:
            return np.asarray(np.add.reduce(part.leakages, keepdims=True))
        return np.array([(part.leakages / (1.0 if self.measure.scope is Scope.SHARE else part.mass)).max()])

    def counted(self, at: Inner, part: Part) -> Array:
        """That of the law, if there is one."""
        return self.leaked(part)[: self.shared_levels.size]

    def prices(self, multiplier: Array) -> float | Array:
        """The multiplier."""
        return float(multiplier.sum())

    def least(self, part: Part) -> Array:
        """Of the law."""
        return np.asarray(np.minimum.reduce(part.joint / self.p_x, axis=1))

    def rows(self, tilt: Array) -> Array:
        """By the frame."""
        return tilt @ self.frame.T

    def _law(self, coordinates: Array, least: float) -> tuple[Array, Array, Array, Array]:
        """s, u, the deviation, and x ≥ least."""
        mass = coordinates[:, 0]
        base = mass[:, None] * self.p_x
        deviation = (coordinates[:, 1:] @ self.lift.T) * self.p_x
        x = np.maximum(deviation / base, least)
        return mass, base * (1.0 + x), deviation, x


class _Smooth(Single):
    """The tilt is μ times the gradient of g; where each guess has a budget, of G(u) = g(u) − B s, with a μ of its own."""

    @abstractmethod
    def curved(self, part: Part) -> tuple[Array, Array, Array]:
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
        return self.measure.support(tilt, self.p_x, price, self.level)[0], price * self.level


@final
class Entropic(_Smooth):
    """Mutual information: H = frame' diag(u) frame, and log ratios, which need coordinates of their own."""

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
        mass, joint, deviation, x = self._law(coordinates, -1.0 + UNIT)  # of a guess that excludes a private value
        log_ratio = np.log1p(x)
        gradient = (log_ratio * self.p_x) @ self.frame
        divergence = phi_divergence(x)
        # log(1 + x) − x is φ − x log(1 + x), without cancellation near 0
        gradient[:, 0] = (divergence - x * log_ratio) @ self.p_x  # Σ π log(1 + x) where Σ π x = 0
        return Part(coordinates, mass, joint, deviation, log_ratio, gradient, mass * (divergence @ self.p_x))

    def curved(self, part: Part) -> tuple[Array, Array, Array]:
        """By log ratios."""
        ratios = part.joint * part.slope
        bent = np.matmul(self.frame.T, part.deviation[:, :, None] * self.frame)
        tilted = ratios @ self.frame
        tilted[:, 0] = part.leakages
        block = bent + part.mass[:, None, None] * np.eye(self.frame.shape[1])  # so that nothing cancels
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
    """Sibson's information, with the norm ν = s N of u/π: H = ν/(α − 1) frame' diag(π (r/N)^{2 − α}) frame."""

    @property
    def _order(self) -> float:
        assert isinstance(self.measure, Sibson)
        return self.measure.alpha

    @property
    def size(self) -> float:  # type: ignore[override]
        """G is about (α − 1) x²/2."""
        return math.sqrt(2.0 * self.level / (self._order - 1.0))

    @property
    def steep(self) -> float:
        """The gradient is about (α − 1) x."""
        return (self._order - 1.0) * self.size

    def curved(self, part: Part) -> tuple[Array, Array, Array]:
        """By powers of r/N."""
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
class Pointwise(Single):
    """KL(q_i ‖ π) ≤ B for each guess, that is g(u_i) ≤ B s_i: θ_i = (t_i, μ_i) with t_i = μ_i (∇g(u_i) − B)."""

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
        return Inner(np.hstack([price * self._gradient(part), price]), slack, slack[:, :0]), np.zeros(0)

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """By the inverse Hessian, with the multipliers as coordinates."""
        m, k = part.coordinates.shape
        price, over = at.multipliers, (part.leakages - self.level * part.mass)[:, None]
        ratios = part.joint * (part.slope - self.level)
        block, bent = np.zeros((m, k + 1, k + 1)), ratios @ self.frame
        block[:, :k, :k] = self._information.curved(part)[0]
        block[:, :k, k] = block[:, k, :k] = -bent
        block[:, k, k] = (ratios * (part.slope - self.level)).sum(axis=1)
        residual = at.coordinates - np.hstack([price * self._gradient(part), price])
        null, none = np.hstack([part.coordinates, -over])[:, :, None], np.zeros((m, 1))
        empty = np.zeros((m, k + 1, 0))
        return Relation(price, block, null, empty, empty[:, :1], none[:, :0], residual, none, over, np.zeros(0))

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """t·q ≤ μ_i log Σ π e^{t/μ_i} + μ_i B for every posterior that is allowed."""
        price, tilt = at.multipliers, at.coordinates[:, :-1] @ self.frame.T
        return log_mean(tilt / price, self.p_x, price[:, 0]) + self.level * price[:, 0], 0.0


@final
@dataclass(frozen=True, eq=False)
class Pieces(Single):
    """g(u) = Σ_R c_R max_k (R u)_k. Each guess has a height y_R ≥ R u for each matrix; each budget bounds Σ_R c_R y_R.

    pieces   all matrices, in coordinates of laws, [K, k]; where guesses have budgets, the row −B s or 0 follows
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

    def counted(self, at: Inner, part: Part) -> Array:
        """Heights."""
        return np.full(self.shared_levels.size, (at.heights @ self.weights).sum())

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
            self.counted(at, part),
        )

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """Multipliers ≥ 0 make feasible tilts."""
        return np.zeros(()), float(multiplier.sum() * self.level + (at.coordinates @ self.offset).sum())


@final
@dataclass(frozen=True, eq=False)
class Exact(Single):
    """Perfect privacy: d = 0, with any tilt of mean 0, also of several groups of rows.

    price  the multiplier of a point, or multipliers
    """

    price: float | Array = math.inf

    apart = True
    ranks = 0
    start_levels = np.full(1, math.inf)
    shared_levels = np.zeros(0)

    @cached_property
    def levels(self) -> Array:  # type: ignore[override]
        """What counts as no leak."""
        return np.array([Precision.leak_free])

    @property
    def cross(self) -> Array:  # type: ignore[override]
        """Directions alone."""
        return np.eye(self.frame.shape[1])[1:]

    @property
    def size(self) -> float:  # type: ignore[override]
        """The conditions are linear, so nothing is too large."""
        return math.inf

    def part(self, coordinates: Array) -> Part:
        """Without a leakage."""
        mass, joint, deviation, x = self._law(coordinates, -1.0)
        return Part(coordinates, mass, joint, deviation, x, coordinates, np.zeros_like(mass))

    def leaked(self, part: Part) -> Array:
        """The largest |p(ŷ_i given x_j) − p(ŷ_i)|."""
        return np.array([np.abs(part.deviation / self.p_x).max()])

    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """No tilt."""
        none = np.zeros((part.mass.size, 0))
        return Inner(np.zeros_like(part.coordinates[:, 1:]), none, none), none[0]

    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """No relation but the law; nothing determines a common shift of tilts, so a small K does."""
        m, p = at.coordinates.shape
        none, q = np.zeros((m, p, 0)), multiplier.size
        block = np.broadcast_to(Precision.ridge * np.eye(p), (m, p, p))
        empty = np.zeros((m, 0, q))
        return Relation(
            np.ones(1), block, none, np.zeros((m, p, q)), empty, np.zeros((m, q)), np.zeros((m, p)), none[:, 0],
            part.coordinates[:, 1:], np.zeros(q),
        )  # fmt: skip

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """Every tilt of mean 0 is feasible."""
        return np.zeros(()), 0.0

    def prices(self, multiplier: Array) -> float | Array:
        """The price, whatever the multiplier."""
        return self.price


@dataclass(frozen=True, eq=False)
class Parts:
    """The laws of several groups of rows, and the masses of guesses [m]."""

    mass: Array
    each: tuple[Part, ...]


@final
class Stack(Chart):
    """Charts of several constraints, or of groups of rows: their coordinates one after the other, those with a slack last.

    numbers   of each chart that of its constraint, which groups share, out of so many
    places    of each chart that of its rows among the rows of the problem, out of so many
    """

    apart = True

    def __init__(
        self, charts: Sequence[Single], numbers: Sequence[int], constraints: int, places: Sequence[slice], rows: int
    ) -> None:
        self._charts, self._constraints, self._places, self._rows = tuple(charts), constraints, tuple(places), rows
        self._terms = sorted(set(numbers))
        self._budgets = budgets = [self._terms.index(number) for number in numbers]
        ends = np.cumsum([0, *(chart.frame.shape[1] for chart in charts)]).tolist()
        self._columns = tuple(map(slice, ends[:-1], ends[1:]))
        crosses = [np.eye(chart.frame.shape[1]) if chart.cross is None else chart.cross for chart in charts]
        free = [len(cross) - chart.pairs for chart, cross in zip(charts, crosses, strict=True)]
        self.pairs, self.ranks = sum(chart.pairs for chart in charts), sum(chart.ranks for chart in charts)
        towards = np.zeros((sum(map(len, crosses)), ends[-1]))
        first, paired, own = 0, sum(free), []
        for chart, cross, few, columns in zip(charts, crosses, free, self._columns, strict=True):
            own.append(np.append(np.arange(first, first + few), np.arange(paired, paired + chart.pairs)))
            towards[own[-1], columns] = cross
            first, paired = first + few, paired + chart.pairs
        self._own, self.cross = tuple(own), towards
        count = 1 + max(budgets)
        self._first = [budgets.index(budget) for budget in range(count)]
        self.levels = self._gathered([chart.levels for chart in charts], np.maximum)
        self.start_levels = self._gathered([chart.start_levels for chart in charts], np.maximum)
        self._shared = [b for b in range(count) if charts[self._first[b]].shared_levels.size]
        self.shared_levels = self.levels[self._shared]
        self.size = min(chart.size for chart in charts)

    def _gathered(self, numbers: Sequence[Array], together: Any = np.add) -> Array:
        """One number of each chart → one of each budget."""
        found = np.zeros(1 + max(self._budgets))
        together.at(found, np.array(self._budgets), np.concatenate(numbers))
        return found

    def _of(self, chart: int, at: Inner) -> Inner:
        """Where an iterate is in a chart."""
        before, pairs = sum(each.pairs for each in self._charts[:chart]), self._charts[chart].pairs
        first, count = sum(each.ranks for each in self._charts[:chart]), self._charts[chart].ranks
        own, slack = at.coordinates[:, self._own[chart]], at.slack[:, before : before + pairs]
        return Inner(own, slack, at.heights[:, first : first + count])

    def _price(self, chart: int, multiplier: Array) -> Array:
        budget = self._budgets[chart]
        return multiplier[[self._shared.index(budget)]] if budget in self._shared else multiplier[:0]

    def _joined(self, inners: Sequence[Inner]) -> Inner:
        m, heights = len(inners[0].coordinates), []
        coordinates = np.zeros((m, sum(map(len, self._own))))
        for chart, own, inner in zip(self._charts, self._own, inners, strict=True):
            coordinates[:, own] = inner.coordinates
            heights.append(inner.heights if inner.heights.size else np.zeros((m, chart.ranks)))
        return Inner(coordinates, np.hstack([each.slack for each in inners]), np.hstack(heights))

    def part(self, coordinates: Array) -> Parts:  # type: ignore[override]
        """Of all groups; the first constraint has the masses of guesses."""
        each = tuple(chart.part(coordinates[:, own]) for chart, own in zip(self._charts, self._columns, strict=True))
        first = [part.mass for part, budget in zip(each, self._budgets, strict=True) if budget == self._budgets[0]]
        return Parts(np.add.reduce(first), each)

    def leaked(self, part: Parts) -> Array:  # type: ignore[override]
        """Groups add up."""
        return self._gathered([chart.leaked(each) for chart, each in zip(self._charts, part.each, strict=True)])

    def start(self, part: Parts, unit: float) -> tuple[Inner, Array]:  # type: ignore[override]
        """Each its share."""
        share = unit / (1 + max(self._budgets))
        found = [chart.start(each, share) for chart, each in zip(self._charts, part.each, strict=True)]
        multipliers = [found[self._first[budget]][1] for budget in self._shared]  # groups of a constraint agree
        return self._joined([inner for inner, _ in found]), np.concatenate([np.zeros(0), *multipliers])

    def counted(self, at: Inner, part: Parts) -> Array:  # type: ignore[override]
        """Groups add up."""
        found = np.zeros(len(self._shared))
        for number, (chart, each) in enumerate(zip(self._charts, part.each, strict=True)):
            if (one := chart.counted(self._of(number, at), each)).size:
                found[self._shared.index(self._budgets[number])] += one[0]
        return found

    def relation(self, at: Inner, multiplier: Array, part: Parts) -> Relation:  # type: ignore[override]
        """In blocks."""
        (m, p), q = at.coordinates.shape, multiplier.size
        block, bent = np.zeros((m, p, p)), np.zeros((m, p, q))
        residual, value, counted, square = np.zeros((m, p)), np.zeros((m, p)), np.zeros(q), np.zeros((m, q))
        nulls, leaks, balances, price = [], [], [], np.ones((m, p))
        for number, (chart, each, own) in enumerate(zip(self._charts, part.each, self._own, strict=True)):
            one = chart.relation(self._of(number, at), self._price(number, multiplier), each)
            block[:, own[:, None], own], residual[:, own] = one.block, one.residual
            price[:, own] = one.price
            value[:, own[own.size - one.value.shape[1] :]] = one.value
            null, leak = np.zeros((m, p, one.null.shape[2])), np.zeros((m, one.null.shape[2], q))
            null[:, own] = one.null
            if one.counted.size:
                budget = self._shared.index(self._budgets[number])
                bent[:, own, budget], leak[:, :, budget] = one.bent[:, :, 0], one.leak[:, :, 0]
                square[:, budget] += one.square[:, 0]
                counted[budget] += one.counted[0]
            nulls.append(null)
            leaks.append(leak)
            balances.append(one.balance)
        null, leak, balance = np.concatenate(nulls, axis=2), np.concatenate(leaks, axis=1), np.hstack(balances)
        return Relation(price, block, null, bent, leak, square, residual, balance, value, counted)

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """Of the rows of every chart: of the coordinates of its masses [m, k]."""
        above, cost = np.zeros((len(at.coordinates), self._columns[-1].stop)), 0.0
        for number, (chart, own) in enumerate(zip(self._charts, self._columns, strict=True)):
            above[:, own.start], paid = chart.bound(self._of(number, at), self._price(number, multiplier))
            cost += paid if number in self._first else 0.0
        return above, cost

    def prices(self, multiplier: Array) -> float | Array:
        """One of each constraint; one number of a single constraint."""
        found = np.zeros(self._constraints)
        found[[self._terms[budget] for budget in self._shared]] = multiplier
        for chart in self._charts:
            found += chart.price if isinstance(chart, Exact) else 0.0
        return found if found.size > 1 else float(found[0])

    def least(self, part: Parts) -> Array:  # type: ignore[override]
        """Of all groups."""
        least = [chart.least(each) for chart, each in zip(self._charts, part.each, strict=True)]
        return np.asarray(np.minimum.reduce(least))

    def rows(self, tilt: Array) -> Array:
        """Each in its place; 0 elsewhere."""
        found = np.zeros((len(tilt), self._rows))
        for chart, own, place in zip(self._charts, self._columns, self._places, strict=True):
            found[:, place] += chart.rows(tilt[:, own])
        return found


def chart_of(measure: Measure) -> Callable[[Measure, Array, float, Array, Array], Single]:
    """What makes the chart of a measure."""
    smooth: dict[type[Measure], type[_Smooth | Pointwise]] = {
        MutualInformation: Entropic,
        ConditionalMutualInformation: Entropic,
        ChiSquare: Quadratic,
        Sibson: Normed,
        PointwiseInformation: Pointwise,
    }
    return smooth.get(type(measure), Pieces.of)


def about_posteriors(chart: Single, part: Part) -> Array:
    """The vectors e_j − q_ij 1 [m, k, n] in coordinates, but 1 in place of the commonest j of a posterior q_i."""
    m, n = part.joint.shape
    own = np.tile((chart.frame * chart.p_x[:, None]).T, (m, 1, 1))  # e_j
    own[:, 0] = -part.deviation / part.mass[:, None]  # e_j − q_ij 1
    own[np.arange(m), :, part.joint.argmax(axis=1)] = np.eye(n)[0]
    return own


def log_mean(scaled: Array, p_x: Array, multiplier: float | Array) -> Array:
    """h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m] of t/μ [m, n]."""
    largest = np.maximum.reduce(scaled, axis=1)[:, None]
    close = largest + np.log(np.exp(scaled - largest) @ p_x)[:, None]  # but for an absolute rounding
    return np.asarray(multiplier * (close[:, 0] + np.log1p(np.expm1(scaled - close) @ p_x)))
