"""How tilts follow the law of (X, Ŷ) under each measure, which is all that a Newton step knows of
the constraints: always a list of blocks, one for each group of rows that has a prior of its own.

At the optimum t_i is in μ ∂g(u_i). A block gives its tilts coordinates θ_i, in which a step has for
each guess

    K_i dθ_i + V_i ρ_i − Γ_i dμ = − C du_i,    V_i' dθ_i = G_i dμ,    with dt_i = C' dθ_i,

up to residuals, and for the budget Σ_i (Γ_i' dθ_i + G_i' ρ_i) = (c + ε₀/μ) dμ. The elimination of
the outcomes (`newton`) adds C M C' to K.

- A smooth g has θ = t. K = H/μ, with H the inverse of the Hessian of g off its null vector V = u, Γ
  = H∇g/μ, G = g(u), c = Σ ∇g'H∇g/μ.
- Of pieces, g(u) = Σ_R max_k (R u)_k: with a height y for each matrix R and the slacks σ = E y − R
  u ≥ 0, θ are their multipliers λ ≥ 0, so that t = R'λ. K = diag(σ/λ), V = E with ρ = dy, Γ = 0, G
  = 1. No Hessian is needed.
- Perfect privacy leaves the directions of the tilt free.

Where the budget is one of each guess, so is the multiplier μ_i. It is one more coordinate then,
with the slack of the guess, and without an effect on tilts (C has a row of zeros) unless the budget
grows with the mass of the guess.

Source: docs/theory.md, sections 13 and 22.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
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
# A mass of a private value and a guess below it has no digits; divisions by it are none by 0.
_LEAST_BASE = 2.0**-1020


@dataclass(frozen=True, eq=False)
class BlockLaw:
    """The law of (X, Ŷ) on the rows of a block, with what Newton's method needs of g at u_i.

    coordinates  (s_i, d_i)                                             [m, k]
    mass         s_i                                                    [m]
    joint        u_i                                                    [m, n]
    deviation    u_i − π s_i = diag(π) B d_i                            [m, n]
    slope        ∇g(u_i) of a smooth measure                            [m, n]
    gradient     coordinates of ∇g(u_i), or the values R u_i of pieces  [m, p]
    leakages     g(u_i)                                                 [m]
    """

    coordinates: Array
    mass: Array
    joint: Array
    deviation: Array
    slope: Array
    gradient: Array
    leakages: Array


@dataclass(frozen=True, eq=False)
class JointLaw:
    """The laws of all blocks, and the masses of guesses [m]."""

    mass: Array
    blocks: tuple[BlockLaw, ...]


@dataclass(frozen=True, eq=False)
class Position:
    """Where an iterate is in the coordinates of a block.

    coordinates  θ                              [m, p]
    heights      y [m, r]; not read of smooth measures
    multiplier   of the budget, if it is shared [q]
    """

    coordinates: Array
    heights: Array
    multiplier: Array


@dataclass(frozen=True, eq=False)
class Inner:
    """Where an iterate is in the coordinates of all blocks, or a change of that.

    unknowns  θ [m, p], heights [m, r] and shared multipliers [q], one after the other
    paired    those that are multipliers ≥ 0 of a constraint  [K]
    slack     of these constraints                            [K]
    """

    unknowns: Array
    paired: NDArray[np.intp]
    slack: Array

    @property
    def multipliers(self) -> Array:
        """The unknowns that have a slack [K]."""
        return self.unknowns[self.paired]

    @property
    def products(self) -> Array:
        """Of multipliers and slacks [K]."""
        return self.multipliers * self.slack

    def moved(self, step: Inner, length: float) -> Inner:
        """After a step of that length."""
        unknowns = self.unknowns + length * step.unknowns
        return replace(self, unknowns=unknowns, slack=self.slack + length * step.slack)


@dataclass(frozen=True, eq=False)
class Relation:
    """The linearised relation of a block whose constraint has q = 0 or 1 shared budgets; K, Γ and c
    times the multiplier, and K without σ/λ.

    price     the multiplier of each guess; of pieces 1  [m, 1] or [1]
    hessian   K                                          [m, p, p]
    null      V                                          [m, p, r]
    bent      Γ                                          [m, p, q]
    leak      G                                          [m, r, q]
    square    c, the part of each guess                  [m, q]
    residual  θ less what the law says it is             [m, p]
    balance   by how much V'θ falls short of G μ         [m, r]
    value     what a constraint of the coordinate is off [m, p]
    """

    price: Array
    hessian: Array
    null: Array
    bent: Array
    leak: Array
    square: Array
    residual: Array
    balance: Array
    value: Array


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A constraint about the private values of a group of rows, with their prior π [n].

    constraint  its number
    level       B, less what is kept in reserve
    lift        coordinates of deviations → R^n, per unit of π  [n, k − 1]
    frame       (1, basis): coordinates of tilts → R^n          [n, k]

    apart       whether slacks over multipliers, which differ from guess to guess by any power of
                ten, are in the relation
    paired      the coordinates that have a slack
    ranks       r, columns of V; where they are no heights, they do not matter
    """

    measure: Measure
    constraint: int
    rows: slice
    p_x: Array
    level: float
    lift: Array
    frame: Array

    apart: ClassVar[bool] = False
    ranks = 1

    @cached_property
    def paired(self) -> NDArray[np.intp]:
        """The coordinates that are multipliers ≥ 0 of a constraint."""
        return np.zeros(0, np.intp)

    @cached_property
    def cross(self) -> Array:
        """C [p, k]."""
        return np.eye(self.frame.shape[1])

    @cached_property
    def shared(self) -> bool:
        """Whether one budget and its multiplier are about all guesses."""
        return self.measure.scope is Scope.TOTAL

    @property
    def start_level(self) -> float:
        """What a start may leak."""
        return self.level

    @property
    @abstractmethod
    def size(self) -> float:
        """What relative changes x of posteriors the budget allows."""

    @property
    def room(self) -> float:
        """By how much a step may raise the leakage."""
        return math.inf

    @abstractmethod
    def law(self, coordinates: Array) -> BlockLaw:
        """The law of coordinates [m, k]."""

    @abstractmethod
    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """For a law strictly within the budget: tilts of about that size per unit of mass, and the
        slacks [m, ·] of the coordinates that have one.
        """

    @abstractmethod
    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Linearised about a law."""

    @abstractmethod
    def excess(self, at: Position) -> Array:
        """By how much the rows of the tilt must be lowered to be feasible [m]."""

    def leaked(self, law: BlockLaw) -> float:
        """What the level is compared with: the sum, or the most of a guess."""
        if self.shared:
            return float(np.add.reduce(law.leakages))
        share = 1.0 if self.measure.scope is Scope.SHARE else law.mass
        return float((law.leakages / share).max())

    def counted(self, at: Position, law: BlockLaw) -> float:
        """The leakage of a shared budget, as the relation counts it."""
        return self.leaked(law)

    def cost(self, at: Position) -> float:
        """What the multipliers of guesses add to the price of the budget."""
        return 0.0

    def is_far(self, law: BlockLaw) -> bool:
        """Whether a posterior is so far from the prior that coordinates about it keep digits."""
        return False

    def _law(self, coordinates: Array) -> tuple[Array, Array, Array, Array]:
        """s, u, the deviation, and x, more than −1 where rounding makes it less."""
        mass = coordinates[:, 0]
        base = mass[:, None] * self.p_x
        deviation = (coordinates[:, 1:] @ self.lift.T) * self.p_x
        x = np.maximum(deviation / np.maximum(base, _LEAST_BASE), -1.0 + UNIT)
        return mass, base * (1.0 + x), deviation, x


@final
class Exact(Block):
    """Perfect privacy: d = 0, with any tilt of mean 0, of the rows of all constraints that ask for
    it.
    """

    apart = True
    ranks = 0
    shared = False
    start_level = math.inf
    size = math.inf  # the conditions are linear, so nothing is too large

    @cached_property
    def cross(self) -> Array:
        """Directions alone."""
        return np.eye(self.frame.shape[1])[1:]

    def law(self, coordinates: Array) -> BlockLaw:
        """Nothing counts as leakage."""
        mass, joint, deviation, x = self._law(coordinates)
        return BlockLaw(coordinates, mass, joint, deviation, x, coordinates, np.zeros_like(mass))

    def leaked(self, law: BlockLaw) -> float:
        """The largest |p(ŷ_i given x_j) − p(ŷ_i)|."""
        return float(np.abs(law.deviation / self.p_x).max())

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """No tilt."""
        m, k = law.coordinates.shape
        return Position(np.zeros((m, k - 1)), np.zeros((m, 0)), np.zeros(0)), np.zeros((m, 0))

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """No relation but the law; nothing determines a common shift of tilts, so a
        small K does.
        """
        m, p = at.coordinates.shape
        return Relation(
            price=np.ones(1),
            hessian=np.broadcast_to(Precision.ridge * np.eye(p), (m, p, p)),
            null=np.zeros((m, p, 0)),
            bent=np.zeros((m, p, 0)),
            leak=np.zeros((m, 0, 0)),
            square=np.zeros((m, 0)),
            residual=np.zeros((m, p)),
            balance=np.zeros((m, 0)),
            value=law.coordinates[:, 1:],
        )

    def excess(self, at: Position) -> Array:
        """Every tilt of mean 0 is feasible."""
        return np.zeros(len(at.coordinates))


class _Smooth(Block):
    """The tilt is μ times the gradient of g. For small x, G(x) is bend Σ π x²/2."""

    bend: ClassVar[float]

    @property
    def size(self) -> float:
        """Where G is the level."""
        return math.sqrt(2.0 * self.level / self.bend)

    @abstractmethod
    def curved(self, law: BlockLaw) -> tuple[Array, Array, Array]:
        """H [m, k, k], H∇g [m, k] and ∇g'H∇g [m]."""

    def law(self, coordinates: Array) -> BlockLaw:
        """The gradient along u is g."""
        mass, joint, deviation, x = self._law(coordinates)
        slope = self.measure.slope(x, self.p_x)
        excess = self.measure.excess(x, self.p_x)
        gradient = (slope * self.p_x) @ self.frame
        gradient[:, 0] = excess - (x * slope) @ self.p_x
        return BlockLaw(coordinates, mass, joint, deviation, slope, gradient, mass * excess)

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """The tilt of the law."""
        multiplier = np.array([unit / (self.bend * self.size)])
        m = law.mass.size
        at = Position(multiplier * law.gradient, np.zeros((m, self.ranks)), multiplier)
        return at, np.zeros((m, 0))

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """By the inverse Hessian."""
        hessian, bent, square = self.curved(law)
        m = law.mass.size
        return Relation(
            price=at.multiplier,
            hessian=hessian,
            null=law.coordinates[:, :, None],
            bent=bent[:, :, None],
            leak=law.leakages[:, None, None],
            square=square[:, None],
            residual=at.coordinates - at.multiplier * law.gradient,
            balance=np.zeros((m, 1)),
            value=np.zeros_like(at.coordinates),
        )

    def excess(self, at: Position) -> Array:
        """The support function of the measure."""
        tilt = at.coordinates @ self.frame.T
        return self.measure.ceiling(tilt, self.p_x, float(at.multiplier[0]), self.level)


@final
class Entropic(_Smooth):
    """Mutual information: H = frame' diag(u) frame, and log ratios, which need coordinates of their
    own.
    """

    bend = 1.0

    def law(self, coordinates: Array) -> BlockLaw:
        """The slopes are log ratios."""
        mass, joint, deviation, x = self._law(coordinates)
        log_ratio = np.log1p(x)
        gradient = (log_ratio * self.p_x) @ self.frame
        divergence = phi_divergence(x)
        # log(1 + x) − x is φ − x log(1 + x), without cancellation near 0
        gradient[:, 0] = (divergence - x * log_ratio) @ self.p_x  # Σ π log(1 + x) where Σ π x = 0
        leakages = mass * (divergence @ self.p_x)
        return BlockLaw(coordinates, mass, joint, deviation, log_ratio, gradient, leakages)

    def curved(self, law: BlockLaw) -> tuple[Array, Array, Array]:
        """The part that does not depend on deviations is diagonal."""
        ratios = law.joint * law.slope
        bent = np.matmul(self.frame.T, law.deviation[:, :, None] * self.frame)
        tilted = ratios @ self.frame
        tilted[:, 0] = law.leakages
        hessian = bent + law.mass[:, None, None] * self.cross  # so that nothing cancels
        return hessian, tilted, np.add.reduce(ratios * law.slope, axis=1)

    def excess(self, at: Position) -> Array:
        """h_i(t, μ)."""
        price = float(at.multiplier[0])
        return log_mean(at.coordinates @ self.frame.T / price, self.p_x, price)

    def is_far(self, law: BlockLaw) -> bool:
        """By log ratios."""
        return bool(law.slope.min() < _FAR)


@final
class Quadratic(_Smooth):
    """Chi-square information, which is |d|²/s: H = s/2 on deviations."""

    bend = 2.0

    def curved(self, law: BlockLaw) -> tuple[Array, Array, Array]:
        """Nothing of the masses."""
        hessian = 0.5 * law.mass[:, None, None] * np.diag(np.arange(law.coordinates.shape[1]) > 0)
        bent = law.coordinates.copy()
        bent[:, 0] = 0.0
        return hessian, bent, 2.0 * law.leakages


@final
class Normed(_Smooth):
    """Sibson's information, with the norm ν = s N of u/π: H = ν/(α − 1) frame' diag(π (r/N)^{2 −
    α}) frame.
    """

    @property
    def bend(self) -> float:  # type: ignore[override]
        """α − 1."""
        return float(self.measure.order) - 1.0

    @property
    def room(self) -> float:
        """A quarter of N/(α − 1), as the gradient (r/N)^{α−1} − 1 changes by the (α − 1)-th power
        of what N does.
        """
        return 0.25 * (1.0 + self.level) / (self.measure.order - 1.0)

    def curved(self, law: BlockLaw) -> tuple[Array, Array, Array]:
        """By powers of r/N."""
        norm = law.mass + law.leakages
        ratio = np.maximum(law.joint / (norm[:, None] * self.p_x), UNIT)
        flat = np.minimum(ratio ** (2.0 - self.measure.order), _STEEPEST)
        inverse = (norm / (self.measure.order - 1.0))[:, None] * self.p_x * flat
        bent = inverse * law.slope
        hessian = np.matmul(self.frame.T, inverse[:, :, None] * self.frame)
        return hessian, bent @ self.frame, np.add.reduce(bent * law.slope, axis=1)

    def is_far(self, law: BlockLaw) -> bool:
        """As of mutual information; of orders above 2 no entry of H is small."""
        least = (law.joint / law.mass[:, None] / self.p_x).min()
        return bool(self.measure.order < 2.0 and least < math.exp(_FAR))


@final
class Pointwise(Block):
    """KL(q_i ‖ π) ≤ B for each guess, that is g(u_i) ≤ B s_i: θ_i = (t_i, μ_i) with t_i = μ_i
    (∇g(u_i) − B).
    """

    apart = True

    @cached_property
    def paired(self) -> NDArray[np.intp]:
        """The multiplier of each guess, its last coordinate."""
        return np.array([self.p_x.size])

    @cached_property
    def cross(self) -> Array:
        """The multiplier is no part of the tilt."""
        return np.eye(self.p_x.size + 1)[:, :-1]

    @property
    def size(self) -> float:
        """As of mutual information."""
        return self._information.size

    @cached_property
    def _information(self) -> Entropic:
        given = (self.constraint, self.rows, self.p_x, self.level, self.lift, self.frame)
        return Entropic(MUTUAL_INFORMATION, *given)

    def law(self, coordinates: Array) -> BlockLaw:
        """As of mutual information."""
        return self._information.law(coordinates)

    def _coordinates(self, law: BlockLaw, price: Array) -> Array:
        """Those that the law has under multipliers [m, 1]."""
        gradient = law.gradient.copy()
        gradient[:, 0] -= self.level
        return np.hstack([price * gradient, price])

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """The tilt of the law."""
        price = np.full((law.mass.size, 1), unit / self.size)
        slack = (self.level * law.mass - law.leakages)[:, None]
        at = Position(self._coordinates(law, price), np.zeros_like(slack), np.zeros(0))
        return at, slack

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """By the inverse Hessian, with the multipliers as coordinates."""
        m, k = law.coordinates.shape
        price = at.coordinates[:, self.paired]
        over = (law.leakages - self.level * law.mass)[:, None]
        slope = law.slope - self.level
        ratios = law.joint * slope
        bent = ratios @ self.frame
        hessian = np.zeros((m, k + 1, k + 1))
        hessian[:, :k, :k] = self._information.curved(law)[0]
        hessian[:, :k, k] = -bent
        hessian[:, k, :k] = -bent
        hessian[:, k, k] = (ratios * slope).sum(axis=1)
        return Relation(
            price=price,
            hessian=hessian,
            null=np.hstack([law.coordinates, -over])[:, :, None],
            bent=np.zeros((m, k + 1, 0)),
            leak=np.zeros((m, 1, 0)),
            square=np.zeros((m, 0)),
            residual=at.coordinates - self._coordinates(law, price),
            balance=np.zeros((m, 1)),
            value=np.hstack([np.zeros((m, k)), over]),
        )

    def excess(self, at: Position) -> Array:
        """t·q ≤ μ_i log Σ π e^{t/μ_i} + μ_i B for every posterior that is allowed."""
        price = at.coordinates[:, self.paired]
        tilt = at.coordinates[:, :-1] @ self.frame.T
        return log_mean(tilt / price, self.p_x, price[:, 0]) + self.level * price[:, 0]


@final
class Pieces(Block):
    """g(u) = Σ_R c_R max_k (R u)_k. Each guess has a height y_R ≥ R u for each matrix; each budget
    bounds Σ_R c_R y_R.
    """

    apart = True

    @cached_property
    def matrices(self) -> tuple[Array, ...]:
        """R, each [·, n]; of posteriors those of max x and −min x, as the ratios of its budget are
        of these.
        """
        if isinstance(self.measure, MaxLift):
            return MaximalLeakage().pieces(self.p_x, self.level)
        if isinstance(self.measure, LocalDifferentialPrivacy):
            return ParityDifference().pieces(self.p_x, self.level)
        return self.measure.pieces(self.p_x, self.level) or ()

    @cached_property
    def weights(self) -> Array:
        """c [r]."""
        if isinstance(self.measure, LocalDifferentialPrivacy):  # max x ≤ B + (1 + B) min x
            return np.array([1.0, 1.0 + self.level])
        return np.ones(len(self.matrices))

    @cached_property
    def pieces(self) -> Array:
        """All matrices, in coordinates of laws [K, k]; then −B s or 0 if guesses have budgets."""
        stacked = np.vstack(self.matrices)
        mean = stacked @ self.p_x
        size = np.abs(stacked) @ self.p_x
        mean = np.where(np.abs(mean) > 2 * (self.p_x.size + 2) * UNIT * size, mean, 0.0)
        pieces = np.column_stack([mean, (stacked * self.p_x) @ self.lift])
        if self.shared:
            return pieces
        by_mass = self.measure.scope is Scope.POSTERIOR
        return np.vstack([pieces, np.eye(pieces.shape[1])[:1] * -self.level * by_mass])

    @cached_property
    def below(self) -> Array:
        """Which height is above which row [K, r]; then −c."""
        heights = np.eye(len(self.matrices))
        below = np.repeat(heights, [len(each) for each in self.matrices], axis=0)
        return below if self.shared else np.vstack([below, -self.weights])

    @cached_property
    def offset(self) -> Array:
        """B in the row of a budget that is the same for all guesses; else 0 [K]."""
        offset = np.zeros(len(self.pieces))
        if self.measure.scope is Scope.SHARE:
            offset[-1] = self.level
        return offset

    @cached_property
    def paired(self) -> NDArray[np.intp]:
        """All coordinates."""
        return np.arange(len(self.pieces))

    @property
    def ranks(self) -> int:  # type: ignore[override]
        """A height for each matrix."""
        return self.weights.size

    @cached_property
    def cross(self) -> Array:
        """R, in coordinates."""
        return self.pieces

    @property
    def size(self) -> float:
        """Linear."""
        return self.level

    def law(self, coordinates: Array) -> BlockLaw:
        """With all values R u."""
        mass, joint, deviation, x = self._law(coordinates)
        values = coordinates @ self.pieces.T
        leakages = self._highest(values) @ self.weights
        return BlockLaw(coordinates, mass, joint, deviation, x, values, leakages)

    def _highest(self, values: Array) -> Array:
        """The largest value of every matrix [m, r]."""
        own = self.below[: len(self.below) - (not self.shared)].T > 0.0
        return np.stack([values[:, : own.shape[1]][:, each].max(axis=1) for each in own], axis=1)

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """Heights half of what the budget leaves above the values; multipliers in inverse
        proportion to the slacks.
        """
        share = 1.0 if self.measure.scope is Scope.SHARE else law.mass
        leaked = law.mass * self.leaked(law) if self.shared else law.leakages
        heights = self._highest(law.gradient)
        heights += (0.5 / self.weights.sum() * (self.level * share - leaked))[:, None]
        slack = heights @ self.below.T + self.offset - law.gradient
        above = self.below > 0.0
        inverse = (self.weights / ((1.0 / slack) @ above)) @ above.T / slack
        inverse[:, len(inverse.T) - (not self.shared) :] = 1.0
        return Position(unit * inverse, heights, np.full(int(self.shared), unit)), slack

    def counted(self, at: Position, law: BlockLaw) -> float:
        """Heights."""
        return float((at.heights @ self.weights).sum())

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Linear."""
        m, p = at.coordinates.shape
        q = at.multiplier.size
        leak = self.weights[:, None] * np.ones(q)
        return Relation(
            price=np.ones(1),
            hessian=np.zeros((m, p, p)),
            null=np.broadcast_to(self.below, (m, *self.below.shape)),
            bent=np.zeros((m, p, q)),
            leak=np.broadcast_to(leak, (m, *leak.shape)),
            square=np.zeros((m, q)),
            residual=np.zeros((m, p)),
            balance=leak @ at.multiplier - at.coordinates @ self.below,
            value=law.gradient - at.heights @ self.below.T - self.offset,
        )

    def excess(self, at: Position) -> Array:
        """Multipliers ≥ 0 make feasible tilts."""
        return np.zeros(len(at.coordinates))

    def cost(self, at: Position) -> float:
        """Budgets that are the same for all guesses."""
        return float((at.coordinates @ self.offset).sum())


def family_of(measure: Measure) -> type[Block]:
    """The class of the blocks of a measure."""
    if measure.cone is None:
        return Pieces
    if measure.scope is Scope.POSTERIOR:
        return Pointwise
    if measure.cone is Cone.ENTROPY:
        return Entropic
    return Quadratic if measure.cone is Cone.QUADRATIC else Normed


def about_posteriors(block: Block, law: BlockLaw) -> Array:
    """The vectors e_j − q_ij 1 [m, k, n] in coordinates, but 1 in place of the commonest j of a
    posterior q_i.
    """
    m, n = law.joint.shape
    own = np.tile((block.frame * block.p_x[:, None]).T, (m, 1, 1))  # e_j
    own[:, 0] = -law.deviation / law.mass[:, None]  # e_j − q_ij 1
    own[np.arange(m), :, law.joint.argmax(axis=1)] = np.eye(n)[0]
    return own


def log_mean(scaled: Array, p_x: Array, multiplier: float | Array) -> Array:
    """h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m] of t/μ [m, n]."""
    largest = np.maximum.reduce(scaled, axis=1)[:, None]
    # But for an absolute rounding.
    close = largest + np.log(np.exp(scaled - largest) @ p_x)[:, None]
    return np.asarray(multiplier * (close[:, 0] + np.log1p(np.expm1(scaled - close) @ p_x)))


@dataclass(frozen=True)
class Place:
    """Where a block is among the columns of all blocks: those of laws (k), of θ (p), of V (r) and
    of shared multipliers (q).
    """

    law: slice
    own: slice
    ranks: slice
    budget: slice


@final
class Chart:
    """All blocks, their coordinates one after the other.

    multipliers    under no tilt, one for each constraint: inf of perfect privacy   [C]
    shared         the constraints that have one budget for all guesses together    [q]
    paired         the unknowns that are multipliers ≥ 0 of a constraint            [K]
    levels         B of every constraint; of perfect privacy the leak that counts as none; inf
                   where there is none                                              [C]
    start_levels   what a start may leak                                            [C]
    room           by how much a step may raise leakages                            [C]
    size           what relative changes x of posteriors the budgets allow
    apart          whether the relation has entries of any power of ten, which differ from guess to
                   guess
    """

    def __init__(
        self, blocks: Sequence[Block], multipliers: Array, guesses: int, rows: int
    ) -> None:
        self.blocks = tuple(blocks)
        self._multipliers = multipliers
        self._guesses = guesses
        self._rows = rows
        constraints = {block.constraint: block for block in blocks}
        self.shared = np.array([c for c, block in constraints.items() if block.shared], np.intp)
        self.places = tuple(self._places())
        self.levels = np.full(multipliers.size, math.inf)
        self.start_levels = np.full(multipliers.size, math.inf)
        self.room = np.full(multipliers.size, math.inf)
        for constraint, block in constraints.items():
            self.levels[constraint] = block.level
            self.start_levels[constraint] = block.start_level
            self.room[constraint] = block.room
        self.shared_levels = self.levels[self.shared]
        self.size = min(block.size for block in blocks)
        self.apart = len(constraints) > 1 or any(block.apart for block in blocks)
        self._constraints = len(constraints)
        self.cross = np.zeros((self.places[-1].own.stop, self.places[-1].law.stop))
        for block, place in zip(self.blocks, self.places, strict=True):
            self.cross[place.own, place.law] = block.cross
        placed = zip(self.blocks, self.places, strict=True)
        paired = np.concatenate([place.own.start + block.paired for block, place in placed])
        self._tilts = guesses * len(self.cross)
        self._heights = self._tilts + guesses * self.places[-1].ranks.stop
        tilts = np.arange(self._tilts).reshape(guesses, len(self.cross))
        shared = self._heights + np.arange(self.shared.size)
        self.paired = np.concatenate([tilts[:, paired].ravel(), shared])

    def _places(self) -> list[Place]:
        widths = [(block.frame.shape[1], len(block.cross), block.ranks) for block in self.blocks]
        ends = np.cumsum([(0, 0, 0), *widths], axis=0).tolist()
        places = []
        for block, start, stop in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            budget = slice(0, 0)
            if block.shared:
                which = self.shared.tolist().index(block.constraint)
                budget = slice(which, which + 1)
            law, own, ranks = map(slice, start, stop)
            places.append(Place(law, own, ranks, budget))
        return places

    def position(self, at: Inner) -> Position:
        """Where an iterate is in all blocks, or a change of that."""
        return Position(
            at.unknowns[: self._tilts].reshape(self._guesses, len(self.cross)),
            at.unknowns[self._tilts : self._heights].reshape(
                self._guesses, self.places[-1].ranks.stop
            ),
            at.unknowns[self._heights :],
        )

    def _of_blocks(self, whole: Position) -> list[Position]:
        if len(self.blocks) == 1:
            return [whole]
        return [
            Position(
                whole.coordinates[:, place.own],
                whole.heights[:, place.ranks],
                whole.multiplier[place.budget],
            )
            for place in self.places
        ]

    def law(self, coordinates: Array) -> JointLaw:
        """The laws of coordinates [m, k]; the first constraint has the masses of guesses."""
        laws = tuple(
            block.law(coordinates[:, place.law])
            for block, place in zip(self.blocks, self.places, strict=True)
        )
        first = self.blocks[0].constraint
        masses = [
            law.mass
            for block, law in zip(self.blocks, laws, strict=True)
            if block.constraint == first
        ]
        return JointLaw(np.add.reduce(masses), laws)

    def leaked(self, law: JointLaw) -> Array:
        """What the levels are compared with [C]; groups of a constraint add up."""
        leaked = np.zeros(self.levels.size)
        for block, own in zip(self.blocks, law.blocks, strict=True):
            leaked[block.constraint] += block.leaked(own)
        return leaked

    def counted(self, at: Position, law: JointLaw) -> Array:
        """Leakages of the shared budgets, as the relations count them [q]."""
        counted = np.zeros(self.shared.size)
        positions = self._of_blocks(at)
        for block, place, own, part in zip(
            self.blocks, self.places, law.blocks, positions, strict=True
        ):
            counted[place.budget] += block.counted(part, own)
        return counted

    def start(self, law: JointLaw, unit: float) -> Inner:
        """For a law strictly within the budgets: tilts of about that size per unit of mass, an
        equal share for each constraint.
        """
        starts = [
            block.start(own, unit / self._constraints)
            for block, own in zip(self.blocks, law.blocks, strict=True)
        ]
        multipliers = np.zeros(self.shared.size)
        for place, (part, _) in zip(self.places, starts, strict=True):
            multipliers[place.budget] = part.multiplier
        coordinates = np.hstack([part.coordinates for part, _ in starts])
        heights = np.hstack([part.heights for part, _ in starts])
        unknowns = np.concatenate([coordinates.ravel(), heights.ravel(), multipliers])
        at = Inner(unknowns, self.paired, np.zeros(0))
        unused = self.shared_levels - self.counted(self.position(at), law)
        slack = np.hstack([own for _, own in starts])
        return replace(at, slack=np.concatenate([slack.ravel(), unused]))

    def relations(self, at: Position, law: JointLaw) -> list[Relation]:
        """Of every block."""
        positions = self._of_blocks(at)
        return [
            block.relation(part, own)
            for block, part, own in zip(self.blocks, positions, law.blocks, strict=True)
        ]

    def bound(self, at: Inner) -> tuple[Array, float]:
        """By how much the tilt must be lowered to be feasible, in coordinates [m, k], and what
        multipliers cost.
        """
        excess = np.zeros((self._guesses, self.places[-1].law.stop))
        whole = self.position(at)
        cost = float(whole.multiplier @ self.shared_levels)
        for block, place, part in zip(
            self.blocks, self.places, self._of_blocks(whole), strict=True
        ):
            excess[:, place.law.start] = block.excess(part)
            cost += block.cost(part)
        return excess, cost

    def multipliers(self, at: Inner) -> Array:
        """The multiplier of every constraint [C]; 0 where guesses have budgets."""
        multipliers = self._multipliers.copy()
        multipliers[self.shared] = self.position(at).multiplier
        return multipliers

    def least(self, law: JointLaw) -> Array:
        """The least u_ij/π_j of every guess [m]."""
        ratios = [own.joint / block.p_x for block, own in zip(self.blocks, law.blocks, strict=True)]
        return np.asarray(np.minimum.reduce(np.hstack(ratios), axis=1))

    def own(self, law: JointLaw) -> Array | None:
        """Coordinates [m, p, p], as columns, in which posteriors far from the prior keep their
        digits; None if none is.
        """
        blocks = list(zip(self.blocks, law.blocks, strict=True))
        if not any(block.is_far(own) for block, own in blocks):
            return None
        found = np.zeros((law.mass.size, *self.cross.shape))
        for place, (block, own) in zip(self.places, blocks, strict=True):
            found[:, place.own, place.law] = about_posteriors(block, own)
        return found

    def rows(self, tilt: Array) -> Array:
        """The tilt [m, n] of coordinates [m, k]: each block in its rows, 0 elsewhere."""
        rows = np.zeros((len(tilt), self._rows))
        for block, place in zip(self.blocks, self.places, strict=True):
            rows[:, block.rows] += tilt[:, place.law] @ block.frame.T
        return rows
