"""How the tilts depend on the law of (X, Ŷ) under each measure of leakage.

This is all that a Newton step needs to know about the constraints. They form a list of blocks, one
for each group of rows with a prior of its own.

At the optimum t_i lies in μ ∂g(u_i). A block gives its tilts coordinates θ_i, and a Newton step
satisfies for each guess, up to residuals,

    K_i dθ_i + V_i ρ_i − Γ_i dμ = C du_i,    V_i' dθ_i = G_i dμ,    with dt_i = C' dθ_i,

and for the budget Σ_i (Γ_i' dθ_i + G_i' ρ_i) = (c + ε₀/μ) dμ. The elimination of the outcomes
(`newton`) adds C M C' to K.

- For a smooth g, θ = t. K = H/μ, where H is the inverse of the Hessian of g outside its null vector
  V = u; Γ = H∇g/μ, G = g(u) and c = Σ ∇g'H∇g/μ.
- For a piecewise linear g(u) = Σ_R max_k (R u)_k, each matrix R has a height y, with slacks σ = E y
  − R u ≥ 0. The coordinates θ are the multipliers λ ≥ 0 of the slacks, so t = R'λ. Then K =
  diag(σ/λ), V = E with ρ = dy, Γ = 0 and G = 1. No Hessian is needed.
- Perfect privacy leaves the directions of the tilt free.

If every guess has a budget of its own, it also has a multiplier μ_i of its own. This multiplier is
one more coordinate, paired with the slack of the guess. It has no effect on the tilt (its row of C
is zero) unless the budget grows with the mass of the guess.

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

_FAR = -5.0  # a smaller log ratio calls for coordinates about posteriors
# Upper bound of an inverse Hessian, relative to the mass: larger entries only cost other directions
# their digits.
_STEEPEST = 1e6
_CLOSE = 1e-8  # logarithms that differ by less count as equal
_MOST = 700.0  # largest exponent
# Joint probabilities below this have no digits left. As a floor it avoids a division by 0.
_LEAST_BASE = 2.0**-1020


@dataclass(frozen=True, eq=False)
class BlockLaw:
    """The law of (X, Ŷ) on the rows of a block, with the quantities of g at u_i that Newton's
    method needs.

    coordinates  (s_i, d_i)                                             [m, k]
    mass         s_i                                                    [m]
    joint        u_i                                                    [m, n]
    deviation    u_i − π s_i = diag(π) B d_i                            [m, n]
    slope        ∇g(u_i) of a smooth measure                            [m, n]
    gradient     ∇g(u_i) in coordinates; if g is piecewise linear, the values R u_i  [m, p]
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
    """An iterate in the coordinates of a block.

    coordinates  θ                                      [m, p]
    heights      y [m, r]; smooth measures ignore them
    multiplier   of the shared budget, if there is one  [q]
    """

    coordinates: Array
    heights: Array
    multiplier: Array


@dataclass(frozen=True, eq=False)
class Inner:
    """An iterate in the coordinates of all blocks, or a change of it.

    unknowns  θ [m, p], heights [m, r] and shared multipliers [q], concatenated
    paired    indices of the unknowns that are multipliers ≥ 0 of a constraint  [K]
    slack     slacks of these constraints                                       [K]
    """

    unknowns: Array
    paired: NDArray[np.intp]
    slack: Array

    @property
    def multipliers(self) -> Array:
        """The unknowns that are paired with a slack [K]."""
        return self.unknowns[self.paired]

    @property
    def products(self) -> Array:
        """The products of multipliers and slacks [K]."""
        return self.multipliers * self.slack

    def moved(self, step: Inner, length: float) -> Inner:
        """Return the point that a step of this length reaches."""
        unknowns = self.unknowns + length * step.unknowns
        return replace(self, unknowns=unknowns, slack=self.slack + length * step.slack)


@dataclass(frozen=True, eq=False)
class Relation:
    """The linearised relation of a block whose constraint has q = 0 or 1 shared budgets. K, Γ and c
    are multiplied by the multiplier, and K excludes σ/λ.

    price     the multiplier of each guess; 1 if g is piecewise linear  [m, 1] or [1]
    hessian   K                                          [m, p, p]
    null      V                                          [m, p, r]
    bent      Γ                                          [m, p, q]
    leak      G                                          [m, r, q]
    square    c, the contribution of each guess          [m, q]
    residual  θ minus its value under the law            [m, p]
    balance   G μ − V'θ                                  [m, r]
    value     residuals of the constraints of the coordinates  [m, p]
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
    """A constraint on the private values of a group of rows with prior π [n].

    constraint  index of the constraint
    level       B minus a reserve
    lift        maps coordinates of deviations to R^n, per unit of π  [n, k − 1]
    frame       (1, basis): maps coordinates of tilts to R^n          [n, k]

    apart       True if the relation contains ratios slack/multiplier, which span many orders of
                magnitude
    paired      the coordinates that are paired with a slack
    ranks       r, the number of columns of V; their values matter only if they are heights
    raised      factor of the multiplier in a bound
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
    raised: ClassVar[float] = 1.0

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
        """True if a single budget and multiplier cover all guesses together."""
        return self.measure.scope is Scope.TOTAL

    @property
    def start_level(self) -> float:
        """The leakage that a starting point may have."""
        return self.level

    @property
    @abstractmethod
    def size(self) -> float:
        """The relative change of posteriors that the budget allows."""

    @abstractmethod
    def law(self, coordinates: Array) -> BlockLaw:
        """Return the law for coordinates [m, k]."""

    @abstractmethod
    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """Return tilts of size `unit` per unit of mass, and the slacks [m, ·] of the paired
        coordinates, for a law strictly within the budget.
        """

    @abstractmethod
    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Return the relation, linearised about a law."""

    @abstractmethod
    def excess(self, at: Position) -> Array:
        """Return the shift that makes each row of the tilt feasible [m]."""

    def leaked(self, law: BlockLaw) -> float:
        """Return the leakage that is compared with the level: the sum over guesses, or the largest
        value of any guess.
        """
        if self.shared:
            return float(np.add.reduce(law.leakages))
        share = 1.0 if self.measure.scope is Scope.SHARE else law.mass
        return float((law.leakages / share).max())

    def counted(self, at: Position, law: BlockLaw) -> float:
        """Return the leakage of a shared budget as the relation models it."""
        return self.leaked(law)

    def cost(self, at: Position) -> float:
        """Return the contribution of the multipliers of individual guesses to Σ μB."""
        return 0.0

    def inverse(self, law: BlockLaw) -> Array:
        """Return the diagonal of H in units of π, up to a factor [m, n]."""
        return law.joint / self.p_x

    def is_far(self, law: BlockLaw) -> bool:
        """Return True if some posterior is so far from the prior that only coordinates about the
        posterior keep its digits.
        """
        return False

    def _law(self, coordinates: Array) -> tuple[Array, Array, Array, Array]:
        """Return s, u, the deviation, and x = u/(sπ) − 1, kept above −1 despite rounding."""
        mass = coordinates[:, 0]
        base = mass[:, None] * self.p_x
        deviation = (coordinates[:, 1:] @ self.lift.T) * self.p_x
        x = np.maximum(deviation / np.maximum(base, _LEAST_BASE), -1.0 + UNIT)
        return mass, base * (1.0 + x), deviation, x


@final
class Exact(Block):
    """Perfect privacy: d = 0 and any tilt of mean 0, on the rows of all constraints that
    demand it.
    """

    apart = True
    ranks = 0
    shared = False
    start_level = math.inf
    size = math.inf  # the conditions are linear, so no step is too large

    @cached_property
    def cross(self) -> Array:
        """C without the row of the mass."""
        return np.eye(self.frame.shape[1])[1:]

    def law(self, coordinates: Array) -> BlockLaw:
        """Return the law; its leakages are defined as 0."""
        mass, joint, deviation, x = self._law(coordinates)
        return BlockLaw(coordinates, mass, joint, deviation, x, coordinates, np.zeros_like(mass))

    def leaked(self, law: BlockLaw) -> float:
        """Return the largest |p(ŷ_i given x_j) − p(ŷ_i)|."""
        return float(np.abs(law.deviation / self.p_x).max())

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """Return a tilt of 0."""
        m, k = law.coordinates.shape
        return Position(np.zeros((m, k - 1)), np.zeros((m, 0)), np.zeros(0)), np.zeros((m, 0))

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Return the condition d = 0 only. A small K determines the common shift of the tilts,
        which is otherwise free.
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
        """Return 0, since every tilt of mean 0 is feasible."""
        return np.zeros(len(at.coordinates))


class _Smooth(Block):
    """A measure whose tilt is μ times the gradient of g. For small x, G(x) ≈ bend Σ π x²/2."""

    bend: ClassVar[float]

    @property
    def size(self) -> float:
        """The x at which G equals the level."""
        return math.sqrt(2.0 * self.level / self.bend)

    @abstractmethod
    def curved(self, at: Position, law: BlockLaw) -> tuple[Array, Array, Array]:
        """Return H [m, k, k], H∇g [m, k] and ∇g'H∇g [m]."""

    def law(self, coordinates: Array) -> BlockLaw:
        """Return the law, with the gradient shifted so that its product with u equals g."""
        mass, joint, deviation, x = self._law(coordinates)
        slope = self.measure.slope(x, self.p_x)
        excess = self.measure.excess(x, self.p_x)
        gradient = (slope * self.p_x) @ self.frame
        gradient[:, 0] = excess - (x * slope) @ self.p_x
        return BlockLaw(coordinates, mass, joint, deviation, slope, gradient, mass * excess)

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """Return the tilt that belongs to the law."""
        multiplier = np.array([unit / (self.bend * self.size)])
        m = law.mass.size
        at = Position(multiplier * law.gradient, np.zeros((m, self.ranks)), multiplier)
        return at, np.zeros((m, 0))

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Return the relation given by the inverse Hessian."""
        hessian, bent, square = self.curved(at, law)
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
        """Return the support function of the measure."""
        tilt = at.coordinates @ self.frame.T
        return self.measure.ceiling(tilt, self.p_x, float(at.multiplier[0]), self.level)


@final
class Entropic(_Smooth):
    """Mutual information: H = frame' diag(u) frame. Log ratios far below 0 need coordinates about
    posteriors.
    """

    bend = 1.0

    def law(self, coordinates: Array) -> BlockLaw:
        """Return the law; its slopes are log ratios."""
        mass, joint, deviation, x = self._law(coordinates)
        log_ratio = np.log1p(x)
        gradient = (log_ratio * self.p_x) @ self.frame
        divergence = phi_divergence(x)
        # log(1 + x) − x = φ − x log(1 + x), which does not cancel near 0
        # equals Σ π log(1 + x), as Σ π x = 0
        gradient[:, 0] = (divergence - x * log_ratio) @ self.p_x
        leakages = mass * (divergence @ self.p_x)
        return BlockLaw(coordinates, mass, joint, deviation, log_ratio, gradient, leakages)

    def curved(self, at: Position, law: BlockLaw) -> tuple[Array, Array, Array]:
        """Return H, H∇g and ∇g'H∇g; the part of H that does not depend on deviations is
        diagonal.
        """
        ratios = law.joint * law.slope
        bent = np.matmul(self.frame.T, law.deviation[:, :, None] * self.frame)
        tilted = ratios @ self.frame
        tilted[:, 0] = law.leakages
        # added last, so that no digits cancel
        hessian = bent + law.mass[:, None, None] * self.cross
        return hessian, tilted, np.add.reduce(ratios * law.slope, axis=1)

    def excess(self, at: Position) -> Array:
        """Return h_i(t, μ)."""
        price = float(at.multiplier[0])
        return log_mean(at.coordinates @ self.frame.T / price, self.p_x, price)

    def is_far(self, law: BlockLaw) -> bool:
        """Return True if a log ratio is far below 0."""
        return bool(law.slope.min() < _FAR)


@final
class Quadratic(_Smooth):
    """Chi-square information, |d|²/s: H = s/2 on deviations."""

    bend = 2.0

    def curved(self, at: Position, law: BlockLaw) -> tuple[Array, Array, Array]:
        """Return H, H∇g and ∇g'H∇g, which vanish in the coordinate of the mass."""
        hessian = 0.5 * law.mass[:, None, None] * np.diag(np.arange(law.coordinates.shape[1]) > 0)
        bent = law.coordinates.copy()
        bent[:, 0] = 0.0
        return hessian, bent, 2.0 * law.leakages


@final
class Normed(_Smooth):
    """Sibson's information, with the norm ν = s N of u/π: H = ν/(α − 1) frame' diag(π (r/N)^{2 −
    α}) frame.

    V has corners, for large α, where rounding of a tilt costs a shift 1/π times as large.
    """

    raised = 1.0 + Precision.raised

    @property
    def bend(self) -> float:  # type: ignore[override]
        """α − 1, the second derivative of G at independence."""
        return float(self.measure.order) - 1.0

    def curved(self, at: Position, law: BlockLaw) -> tuple[Array, Array, Array]:
        """Return H, H∇g and ∇g'H∇g from powers of r/N, bounded above."""
        power = self.measure.order - 1.0
        inverse = self.inverse(law, self._secant(at, law)) / power * self.p_x
        bent = inverse * law.slope
        hessian = np.matmul(self.frame.T, inverse[:, :, None] * self.frame)
        return hessian, bent @ self.frame, np.add.reduce(bent * law.slope, axis=1)

    def inverse(self, law: BlockLaw, secant: Array | float = 1.0) -> Array:
        """Return ν (r/N)^{2 − α}: α − 1 times the slope of ν r/N as a function of t/μ.

        secant: the ratio of a secant to this tangent.
        """
        norm = (law.mass + law.leakages)[:, None]
        flat = self._ratio(law) ** (2.0 - self.measure.order) * secant
        return norm * np.minimum(flat, _STEEPEST)

    def _ratio(self, law: BlockLaw) -> Array:
        return np.maximum(law.joint / ((law.mass + law.leakages)[:, None] * self.p_x), UNIT)

    def _secant(self, at: Position, law: BlockLaw) -> Array:
        """Return the secant between the law and the tilt relative to the tangent at the law.

        Tangents would change powers of r/N by factors up to e in a step.
        """
        power = self.measure.order - 1.0
        tilt = np.maximum(at.coordinates @ self.frame.T / at.multiplier, -1.0 + UNIT)
        ahead = np.log1p(tilt) - power * np.log(self._ratio(law))
        ahead = np.where(np.abs(ahead) < _CLOSE, _CLOSE, np.clip(ahead, -_MOST, _MOST))
        return power * np.expm1(np.minimum(ahead / power, _MOST)) / np.expm1(ahead)

    def is_far(self, law: BlockLaw) -> bool:
        """Return True if a ratio is far below 1 and the order is below 2; for larger orders no
        entry of H is small.
        """
        smallest = (law.joint / law.mass[:, None] / self.p_x).min()
        return bool(self.measure.order < 2.0 and smallest < math.exp(_FAR))


@final
class Pointwise(Block):
    """KL(q_i ‖ π) ≤ B for each guess, or g(u_i) ≤ B s_i: θ_i = (t_i, μ_i) with t_i = μ_i (∇g(u_i) −
    B).
    """

    apart = True

    @cached_property
    def paired(self) -> NDArray[np.intp]:
        """The last coordinate of each guess, its multiplier."""
        return np.array([self.p_x.size])

    @cached_property
    def cross(self) -> Array:
        """C, whose row is zero for the multiplier."""
        return np.eye(self.p_x.size + 1)[:, :-1]

    @property
    def size(self) -> float:
        """The relative change of posteriors that the budget allows, as for mutual information."""
        return self._information.size

    @cached_property
    def _information(self) -> Entropic:
        given = (self.constraint, self.rows, self.p_x, self.level, self.lift, self.frame)
        return Entropic(MUTUAL_INFORMATION, *given)

    def law(self, coordinates: Array) -> BlockLaw:
        """Return the law as for mutual information."""
        return self._information.law(coordinates)

    def _coordinates(self, law: BlockLaw, price: Array) -> Array:
        """Return θ of a law for multipliers [m, 1]."""
        gradient = law.gradient.copy()
        gradient[:, 0] -= self.level
        return np.hstack([price * gradient, price])

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """Return the tilt that belongs to the law."""
        price = np.full((law.mass.size, 1), unit / self.size)
        slack = (self.level * law.mass - law.leakages)[:, None]
        at = Position(self._coordinates(law, price), np.zeros_like(slack), np.zeros(0))
        return at, slack

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Return the relation given by the inverse Hessian, with the multipliers as coordinates."""
        m, k = law.coordinates.shape
        price = at.coordinates[:, self.paired]
        over = (law.leakages - self.level * law.mass)[:, None]
        slope = law.slope - self.level
        ratios = law.joint * slope
        bent = ratios @ self.frame
        hessian = np.zeros((m, k + 1, k + 1))
        hessian[:, :k, :k] = self._information.curved(at, law)[0]
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
        """Return the bound μ_i log Σ π e^{t/μ_i} + μ_i B of t·q over all admissible posteriors
        q.
        """
        price = at.coordinates[:, self.paired]
        tilt = at.coordinates[:, :-1] @ self.frame.T
        return log_mean(tilt / price, self.p_x, price[:, 0]) + self.level * price[:, 0]


@final
class Pieces(Block):
    """g(u) = Σ_R c_R max_k (R u)_k. Each guess has a height y_R ≥ R u for each matrix R; each
    budget bounds Σ_R c_R y_R.
    """

    apart = True

    @cached_property
    def matrices(self) -> tuple[Array, ...]:
        """The matrices R, each [·, n]. For bounds on each posterior these are the matrices of max x
        and −min x, whose ratios the budget bounds.
        """
        if isinstance(self.measure, MaxLift):
            return MaximalLeakage().pieces(self.p_x, self.level)
        if isinstance(self.measure, LocalDifferentialPrivacy):
            return ParityDifference().pieces(self.p_x, self.level)
        return self.measure.pieces(self.p_x, self.level) or ()

    @cached_property
    def weights(self) -> Array:
        """The weights c [r]."""
        if isinstance(self.measure, LocalDifferentialPrivacy):  # max x ≤ B + (1 + B) min x
            return np.array([1.0, 1.0 + self.level])
        return np.ones(len(self.matrices))

    @cached_property
    def pieces(self) -> Array:
        """All matrices in coordinates of laws [K, k], followed by the row −B s or 0 if each guess
        has a budget.
        """
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
        """The incidence of heights and rows [K, r], followed by −c if each guess has a budget."""
        heights = np.eye(len(self.matrices))
        below = np.repeat(heights, [len(each) for each in self.matrices], axis=0)
        return below if self.shared else np.vstack([below, -self.weights])

    @cached_property
    def offset(self) -> Array:
        """B in the row of a budget that is the same for all guesses, else 0 [K]."""
        offset = np.zeros(len(self.pieces))
        if self.measure.scope is Scope.SHARE:
            offset[-1] = self.level
        return offset

    @cached_property
    def paired(self) -> NDArray[np.intp]:
        """Every coordinate is a multiplier with a slack."""
        return np.arange(len(self.pieces))

    @property
    def ranks(self) -> int:  # type: ignore[override]
        """One height for each matrix."""
        return self.weights.size

    @cached_property
    def cross(self) -> Array:
        """The matrices R in coordinates."""
        return self.pieces

    @property
    def size(self) -> float:
        """The level, since g is piecewise linear."""
        return self.level

    def law(self, coordinates: Array) -> BlockLaw:
        """Return the law with all values R u."""
        mass, joint, deviation, x = self._law(coordinates)
        values = coordinates @ self.pieces.T
        leakages = self._highest(values) @ self.weights
        return BlockLaw(coordinates, mass, joint, deviation, x, values, leakages)

    def _highest(self, values: Array) -> Array:
        """Return the largest value for each matrix [m, r]."""
        members = self.below[: len(self.below) - (not self.shared)].T > 0.0
        return np.stack(
            [values[:, : members.shape[1]][:, each].max(axis=1) for each in members], axis=1
        )

    def start(self, law: BlockLaw, unit: float) -> tuple[Position, Array]:
        """Return heights that use half of the remaining budget, and multipliers inversely
        proportional to the slacks.
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
        """Return the weighted sum of the heights."""
        return float((at.heights @ self.weights).sum())

    def relation(self, at: Position, law: BlockLaw) -> Relation:
        """Return the relation, which is linear in the law."""
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
        """Return 0, since multipliers ≥ 0 make the tilt feasible."""
        return np.zeros(len(at.coordinates))

    def cost(self, at: Position) -> float:
        """Return the cost of budgets that are the same for all guesses."""
        return float((at.coordinates @ self.offset).sum())


def family_of(measure: Measure) -> type[Block]:
    """Return the class of blocks for a measure."""
    if measure.cone is None:
        return Pieces
    if measure.scope is Scope.POSTERIOR:
        return Pointwise
    if measure.cone is Cone.ENTROPY:
        return Entropic
    return Quadratic if measure.cone is Cone.QUADRATIC else Normed


def about_posteriors(block: Block, law: BlockLaw) -> Array:
    """Return the vectors e_j − q_ij 1 in coordinates [m, k, n], with 1 in place of the vector of
    the most probable value of each posterior q_i.
    """
    m, n = law.joint.shape
    vectors = np.tile((block.frame * block.p_x[:, None]).T, (m, 1, 1))  # e_j
    vectors[:, 0] = -law.deviation / law.mass[:, None]  # e_j − q_ij 1
    vectors[np.arange(m), :, law.joint.argmax(axis=1)] = np.eye(n)[0]
    return vectors


def log_mean(scaled: Array, p_x: Array, multiplier: float | Array) -> Array:
    """Return h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m] for scaled tilts t/μ [m, n]."""
    largest = np.maximum.reduce(scaled, axis=1)[:, None]
    # exact up to an absolute rounding error, which the last line removes
    close = largest + np.log(np.exp(scaled - largest) @ p_x)[:, None]
    return np.asarray(multiplier * (close[:, 0] + np.log1p(np.expm1(scaled - close) @ p_x)))


@dataclass(frozen=True)
class Place:
    """Position of a block among the columns of all blocks: those of laws (k), of θ (p), of V (r)
    and of shared multipliers (q).
    """

    law: slice
    own: slice
    ranks: slice
    budget: slice


@final
class Chart:
    """All blocks, with their coordinates concatenated.

    multipliers    of constraints without a budget in this system; inf for perfect privacy  [C]
    shared         indices of the constraints with one budget for all guesses               [q]
    paired         indices of the unknowns that are multipliers ≥ 0 of a constraint         [K]
    levels         B of each constraint; for perfect privacy the leakage that counts as zero; inf
                   for no constraint  [C]
    start_levels   the leakage that a starting point may have                               [C]
    size           the relative change of posteriors that the budgets allow
    apart          True if the relation contains ratios that span many orders of magnitude
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
        for constraint, block in constraints.items():
            self.levels[constraint] = block.level
            self.start_levels[constraint] = block.start_level
        self.shared_levels = self.levels[self.shared]
        self._raised = np.array([constraints[c].raised for c in self.shared])
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
        """Return an iterate, or a change of it, in the coordinates of all blocks."""
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
        """Return the laws for coordinates [m, k]. The masses of guesses come from the first
        constraint.
        """
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
        """Return the leakages to compare with the levels, summed over the groups of each constraint
        [C].
        """
        leaked = np.zeros(self.levels.size)
        for block, own in zip(self.blocks, law.blocks, strict=True):
            leaked[block.constraint] += block.leaked(own)
        return leaked

    def counted(self, at: Position, law: JointLaw) -> Array:
        """Return the leakages of the shared budgets as the relations model them [q]."""
        counted = np.zeros(self.shared.size)
        positions = self._of_blocks(at)
        for block, place, own, part in zip(
            self.blocks, self.places, law.blocks, positions, strict=True
        ):
            counted[place.budget] += block.counted(part, own)
        return counted

    def start(self, law: JointLaw, unit: float) -> Inner:
        """Return tilts of size `unit` per unit of mass, split equally between the constraints, for
        a law strictly within the budgets.
        """
        starts = [
            block.start(own, unit / self._constraints)
            for block, own in zip(self.blocks, law.blocks, strict=True)
        ]
        multipliers = np.zeros(self.shared.size)
        for place, (part, _) in zip(self.places, starts, strict=True):
            multipliers[place.budget] = part.multiplier
        coordinates = np.concatenate([part.coordinates for part, _ in starts], axis=1)
        heights = np.concatenate([part.heights for part, _ in starts], axis=1)
        unknowns = np.concatenate([coordinates.ravel(), heights.ravel(), multipliers])
        at = Inner(unknowns, self.paired, np.zeros(0))
        unused = self.shared_levels - self.counted(self.position(at), law)
        slack = np.concatenate([own for _, own in starts], axis=1)
        return replace(at, slack=np.concatenate([slack.ravel(), unused]))

    def relations(self, at: Position, law: JointLaw) -> list[Relation]:
        """Return the relations of all blocks."""
        positions = self._of_blocks(at)
        return [
            block.relation(part, own)
            for block, part, own in zip(self.blocks, positions, law.blocks, strict=True)
        ]

    def bound(self, at: Inner) -> tuple[Array, float]:
        """Return the shift that makes the tilt feasible, in coordinates [m, k], and Σ μB."""
        excess = np.zeros((self._guesses, self.places[-1].law.stop))
        whole = self._proven(at)
        cost = float(whole.multiplier @ self.shared_levels)
        for block, place, part in zip(
            self.blocks, self.places, self._of_blocks(whole), strict=True
        ):
            excess[:, place.law.start] = block.excess(part)
            cost += block.cost(part)
        return excess, cost

    def multipliers(self, at: Inner) -> Array:
        """Return the multiplier of each constraint; 0 if each guess has its own budget [C]."""
        multipliers = self._multipliers.copy()
        multipliers[self.shared] = self._proven(at).multiplier
        return multipliers

    def _proven(self, at: Inner) -> Position:
        """Return the iterate with the multipliers of a bound."""
        whole = self.position(at)
        return Position(whole.coordinates, whole.heights, self._raised * whole.multiplier)

    def least(self, law: JointLaw) -> Array:
        """Return the smallest entry of H of each guess, in units of π [m]."""
        entries = [block.inverse(own) for block, own in zip(self.blocks, law.blocks, strict=True)]
        return np.asarray(np.minimum.reduce(np.hstack(entries), axis=1))

    def own(self, law: JointLaw) -> Array | None:
        """Return coordinates, as columns [m, p, p], in which posteriors far from the prior keep
        their digits; None if no posterior is that far.
        """
        blocks = list(zip(self.blocks, law.blocks, strict=True))
        if not any(block.is_far(own) for block, own in blocks):
            return None
        coordinates = np.zeros((law.mass.size, *self.cross.shape))
        for place, (block, own) in zip(self.places, blocks, strict=True):
            coordinates[:, place.own, place.law] = about_posteriors(block, own)
        return coordinates

    def rows(self, tilt: Array) -> Array:
        """Return the tilt [m, n] for coordinates [m, k]: each block fills its own rows."""
        rows = np.zeros((len(tilt), self._rows))
        for block, place in zip(self.blocks, self.places, strict=True):
            rows[:, block.rows] += tilt[:, place.law] @ block.frame.T
        return rows
