"""Charts: how the tilts of a measure follow the law of (X, Ŷ), which is all that a Newton step
knows of the measure.

At the optimum t_i is in μ ∂g(u_i). A chart gives tilts coordinates θ_i, in which a step has for
each guess

    K_i dθ_i + V_i ρ_i − Γ_i dμ = − C du_i,    V_i' dθ_i = G_i dμ,    with dt_i = C' dθ_i,

up to residuals, and for the budget Σ_i (Γ_i' dθ_i + G_i' ρ_i) = (c + ε₀/μ) dμ. The elimination of
the outcomes (`newton`) adds C M C' to K. Here is what a chart is, that of perfect privacy, and how
the charts of several constraints, or of groups of rows, make one. `families` has the chart of each
family of measures.

Where the budget is one of each guess, so is the multiplier μ_i. It is one more coordinate then,
with the slack of the guess, and without an effect on tilts (C has a row of zeros) unless the budget
grows with the mass of the guess.

Source: docs/theory.md, sections 13 and 22.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from discreet.backends.precision import Precision
from discreet.lazy import cached_property
from discreet.measures.measure import Measure, Scope
from discreet.numerics.double_double import Array


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
    heights      y [m, r], r = 0 of smooth measures
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
        return Inner(
            coordinates, self.slack + length * step.slack, self.heights + length * step.heights
        )

    def products(self) -> Array:
        """Of multipliers and slacks [m, p']."""
        return self.multipliers * self.slack if self.slack.size else self.slack


@dataclass(frozen=True, eq=False)
class Relation:
    """The linearised relation of a chart with q shared budgets; K, Γ and c times the multiplier,
    and K without σ/λ.

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

    apart          whether slacks over multipliers, which differ from guess to guess by any power of
                   ten, are in the relation
    cross          C [p, k]; None where it is the identity
    pairs          p', how many coordinates have a slack: the last
    ranks          r, columns of V; where they are no heights, they do not matter
    levels         B of every budget; of perfect privacy the leak that counts as none
    shared_levels  B of the budgets that are about all guesses together [q]
    start_levels   B of the budgets that a start must keep; inf for the others
    size           what relative changes x of posteriors the budgets allow
    room           by how much a step may raise what the levels are compared with; a number, or one
                   for each
    """

    apart: bool
    cross: Array | None
    pairs: int
    ranks: int
    levels: Array
    shared_levels: Array
    start_levels: Array
    size: float
    room: float | Array = math.inf

    @abstractmethod
    def part(self, coordinates: Array) -> Part:
        """The law of coordinates [m, k]."""

    @abstractmethod
    def leaked(self, part: Part) -> Array:
        """What the levels are compared with."""

    @abstractmethod
    def start(self, part: Part, unit: float) -> tuple[Inner, Array]:
        """For a law strictly within the budgets: tilts of about that size per unit of mass, and the
        multipliers [q].
        """

    @abstractmethod
    def counted(self, at: Inner, part: Part) -> Array:
        """Leakages of the shared budgets, as its relation counts them [q]."""

    @abstractmethod
    def relation(self, at: Inner, multiplier: Array, part: Part) -> Relation:
        """Linearised about a law."""

    @abstractmethod
    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """By how much the rows of the tilt must be lowered to be feasible [m], [m, k] or [], and
        what multipliers cost.
        """

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
        """Coordinates [m, p, p], as columns, in which posteriors far from the prior keep their
        digits; None if none is.
        """
        return None


@dataclass(frozen=True, eq=False)
class Single(Chart):
    """A measure of leakage about private values of prior π [n], with B (`level`), less what is kept
    in reserve.

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
    def shared_levels(self) -> Array:
        """One or none."""
        return np.full(int(self.shared), self.level)

    @cached_property
    def levels(self) -> Array:
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
        return np.array(
            [(part.leakages / (1.0 if self.measure.scope is Scope.SHARE else part.mass)).max()]
        )

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
    def levels(self) -> Array:
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
        """No relation but the law; nothing determines a common shift of tilts, so a
        small K does.
        """
        m, p = at.coordinates.shape
        none = np.zeros((m, p, 0))
        q = multiplier.size
        block = np.broadcast_to(Precision.ridge * np.eye(p), (m, p, p))
        empty = np.zeros((m, 0, q))
        return Relation(
            np.ones(1),
            block,
            none,
            np.zeros((m, p, q)),
            empty,
            np.zeros((m, q)),
            np.zeros((m, p)),
            np.zeros((m, 0)),
            part.coordinates[:, 1:],
            np.zeros(q),
        )

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
    """Charts of several constraints, or of groups of rows: their coordinates one after the other,
    those with a slack last.

    numbers   of each chart that of its constraint, which groups share, out of so many
    places    of each chart that of its rows among the rows of the problem, out of so many
    """

    def __init__(
        self,
        charts: Sequence[Single],
        numbers: Sequence[int],
        constraints: int,
        places: Sequence[slice],
        rows: int,
    ) -> None:
        self._charts = tuple(charts)
        self._constraints = constraints
        self._places = tuple(places)
        self._rows = rows
        self._terms = sorted(set(numbers))
        self.apart = len(self._terms) > 1 or any(chart.apart for chart in charts)
        self._budgets = budgets = [self._terms.index(number) for number in numbers]
        ends = np.cumsum([0, *(chart.frame.shape[1] for chart in charts)]).tolist()
        self._columns = tuple(map(slice, ends[:-1], ends[1:]))
        crosses = [
            np.eye(chart.frame.shape[1]) if chart.cross is None else chart.cross for chart in charts
        ]
        free = [len(cross) - chart.pairs for chart, cross in zip(charts, crosses, strict=True)]
        self.pairs = sum(chart.pairs for chart in charts)
        self.ranks = sum(chart.ranks for chart in charts)
        towards = np.zeros((sum(map(len, crosses)), ends[-1]))
        first = 0
        paired = sum(free)
        own = []
        for chart, cross, few, columns in zip(charts, crosses, free, self._columns, strict=True):
            own.append(
                np.append(np.arange(first, first + few), np.arange(paired, paired + chart.pairs))
            )
            towards[own[-1], columns] = cross
            first = first + few
            paired = paired + chart.pairs
        self._own = tuple(own)
        self.cross = towards
        count = 1 + max(budgets)
        self._first = [budgets.index(budget) for budget in range(count)]
        self.levels = self._gathered([chart.levels for chart in charts], np.maximum)
        self.start_levels = self._gathered([chart.start_levels for chart in charts], np.maximum)
        self._shared = [b for b in range(count) if charts[self._first[b]].shared_levels.size]
        self.shared_levels = self.levels[self._shared]
        self.size = min(chart.size for chart in charts)
        self.room = np.array([charts[first].room for first in self._first])

    def _gathered(self, numbers: Sequence[Array], together: Any = np.add) -> Array:
        """One number of each chart → one of each budget."""
        found = np.zeros(1 + max(self._budgets))
        together.at(found, np.array(self._budgets), np.concatenate(numbers))
        return found

    def _of(self, chart: int, at: Inner) -> Inner:
        """Where an iterate is in a chart."""
        before = sum(each.pairs for each in self._charts[:chart])
        pairs = self._charts[chart].pairs
        first = sum(each.ranks for each in self._charts[:chart])
        count = self._charts[chart].ranks
        own = at.coordinates[:, self._own[chart]]
        slack = at.slack[:, before : before + pairs]
        return Inner(own, slack, at.heights[:, first : first + count])

    def _price(self, chart: int, multiplier: Array) -> Array:
        budget = self._budgets[chart]
        return (
            multiplier[[self._shared.index(budget)]] if budget in self._shared else multiplier[:0]
        )

    def _joined(self, inners: Sequence[Inner]) -> Inner:
        m = len(inners[0].coordinates)
        heights = []
        coordinates = np.zeros((m, sum(map(len, self._own))))
        for chart, own, inner in zip(self._charts, self._own, inners, strict=True):
            coordinates[:, own] = inner.coordinates
            heights.append(inner.heights if inner.heights.size else np.zeros((m, chart.ranks)))
        return Inner(coordinates, np.hstack([each.slack for each in inners]), np.hstack(heights))

    def part(self, coordinates: Array) -> Parts:  # type: ignore[override]
        """Of all groups; the first constraint has the masses of guesses."""
        each = tuple(
            chart.part(coordinates[:, own])
            for chart, own in zip(self._charts, self._columns, strict=True)
        )
        first = [
            part.mass
            for part, budget in zip(each, self._budgets, strict=True)
            if budget == self._budgets[0]
        ]
        return Parts(np.add.reduce(first), each)

    def leaked(self, part: Parts) -> Array:  # type: ignore[override]
        """Groups add up."""
        return self._gathered(
            [chart.leaked(each) for chart, each in zip(self._charts, part.each, strict=True)]
        )

    def start(self, part: Parts, unit: float) -> tuple[Inner, Array]:  # type: ignore[override]
        """Each its share."""
        share = unit / (1 + max(self._budgets))
        found = [
            chart.start(each, share) for chart, each in zip(self._charts, part.each, strict=True)
        ]
        # Groups of a constraint agree.
        multipliers = [found[self._first[budget]][1] for budget in self._shared]
        return self._joined([inner for inner, _ in found]), np.concatenate(
            [np.zeros(0), *multipliers]
        )

    def counted(self, at: Inner, part: Parts) -> Array:  # type: ignore[override]
        """Groups add up."""
        found = np.zeros(len(self._shared))
        for number, (chart, each) in enumerate(zip(self._charts, part.each, strict=True)):
            if (one := chart.counted(self._of(number, at), each)).size:
                found[self._shared.index(self._budgets[number])] += one[0]
        return found

    def relation(self, at: Inner, multiplier: Array, part: Parts) -> Relation:  # type: ignore[override]
        """In blocks."""
        (m, p) = at.coordinates.shape
        q = multiplier.size
        block = np.zeros((m, p, p))
        bent = np.zeros((m, p, q))
        residual = np.zeros((m, p))
        value = np.zeros((m, p))
        counted = np.zeros(q)
        square = np.zeros((m, q))
        nulls = []
        leaks = []
        balances = []
        price = np.ones((m, p))
        for number, (chart, each, own) in enumerate(
            zip(self._charts, part.each, self._own, strict=True)
        ):
            one = chart.relation(self._of(number, at), self._price(number, multiplier), each)
            block[:, own[:, None], own] = one.block
            residual[:, own] = one.residual
            price[:, own] = one.price
            value[:, own[own.size - one.value.shape[1] :]] = one.value
            null = np.zeros((m, p, one.null.shape[2]))
            leak = np.zeros((m, one.null.shape[2], q))
            null[:, own] = one.null
            if one.counted.size:
                budget = self._shared.index(self._budgets[number])
                bent[:, own, budget] = one.bent[:, :, 0]
                leak[:, :, budget] = one.leak[:, :, 0]
                square[:, budget] += one.square[:, 0]
                counted[budget] += one.counted[0]
            nulls.append(null)
            leaks.append(leak)
            balances.append(one.balance)
        null = np.concatenate(nulls, axis=2)
        leak = np.concatenate(leaks, axis=1)
        balance = np.hstack(balances)
        return Relation(price, block, null, bent, leak, square, residual, balance, value, counted)

    def bound(self, at: Inner, multiplier: Array) -> tuple[Array, float]:
        """Of the rows of every chart: of the coordinates of its masses [m, k]."""
        above = np.zeros((len(at.coordinates), self._columns[-1].stop))
        cost = 0.0
        for number, (chart, own) in enumerate(zip(self._charts, self._columns, strict=True)):
            above[:, own.start], paid = chart.bound(
                self._of(number, at), self._price(number, multiplier)
            )
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

    def own(self, part: Parts) -> Array | None:  # type: ignore[override]
        """In blocks."""
        each = [chart.own(law) for chart, law in zip(self._charts, part.each, strict=True)]
        if all(one is None for one in each):
            return None
        found = np.tile(np.eye(self._columns[-1].stop), (part.mass.size, 1, 1))
        for one, columns in zip(each, self._columns, strict=True):
            if one is not None:
                found[:, columns, columns] = one
        return found

    def rows(self, tilt: Array) -> Array:
        """Each in its place; 0 elsewhere."""
        found = np.zeros((len(tilt), self._rows))
        for chart, own, place in zip(self._charts, self._columns, self._places, strict=True):
            found[:, place] += chart.rows(tilt[:, own])
        return found
