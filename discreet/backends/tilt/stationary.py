"""The vertex under smooth measures of leakage, and under several constraints: its equations and
Newton's method.

Labels, ties and shares are those of `vertex`, which has the case of mutual information alone.
Unknown are the shares x, the price μ of every budget that binds, and the tilts τ of secrets that
must not leak at all. With f_c, the level of a budget as a function of x, they satisfy

    for a share f of a tie:  L_guess − L_label + Σ_c μ_c ∂f_c/∂x_f + Σ τ ∂(u − s π)/∂x_f = 0, f_c =
                             B_c, u − s π = 0.

A budget of each posterior counts once for every guess. Which budgets bind is read off the start:
those whose price matters more than what is left of them. One with a price below 0 is dropped, and
one that is exceeded binds.

Newton's method needs the second derivative of f. As g(u) = s G(x) is the perspective of G, that of
g along du is s times that of G along dx = (du/π − (1 + x) ds)/s (`Measure.curvature`).

Source: discreet, docs/theory.md, sections 14 and 22.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.backends.equations import equilibrated, least_norm, sizes
from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.measures.law import OutputLaw
from discreet.measures.measure import Scope
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem

_Index = NDArray[np.intp]
_STEPS = 14  # of Newton's method
_CHANGES = 6  # of which budgets bind
_Budget = tuple[int, int]  # a term, and a guess or −1 for all


@dataclass(frozen=True)
class Part:
    """A group of rows with a prior of its own.

    term   of the problem, by number; rows of p_xz
    p_x    of the group, given it [k]
    mass   of the group at every outcome [N]
    """

    term: int
    rows: slice
    p_x: Array
    mass: Array

    @classmethod
    def of(cls, problem: Problem) -> list[Part]:
        """The groups of all terms."""
        found = []
        for number, term in enumerate(problem.terms):
            for rows in term.groups:
                own = problem.p_x[rows]
                whole = len(term.groups) == 1
                found.append(
                    cls(
                        number,
                        rows,
                        own / own.sum(),
                        problem.p_z if whole else problem.p_xz[rows].sum(axis=0),
                    )
                )
        return found


@dataclass(frozen=True, eq=False)
class _State:
    """What Newton's method needs of shares: the laws of all parts and the levels of all budgets."""

    laws: list[OutputLaw]
    slopes: list[Array]
    levels: dict[_Budget, float]


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Shares [F], the prices of the budgets that bind, and tilts [m, n] of secrets that must not
    leak.
    """

    shares: Array
    binding: dict[_Budget, float]
    exact: Array


class Shares(ABC):
    """Shares that move ties from their labels to other guesses, and how the law of (X, Ŷ) changes
    with them.

    ties [K]: outcomes, own [K]: their labels; start [m, K]: their columns at first, positive at the
    guesses that each may get.
    """

    def __init__(self, problem: Problem, ties: _Index, own: _Index, start: Array) -> None:
        self._problem = problem
        self._own = own
        every = np.eye(problem.m)
        self._guesses, self._places = np.nonzero((start > 0.0) & (every[:, own] == 0.0))
        self._shape = start.shape
        self._start = start[self._guesses, self._places]
        self._tied = ties[self._places]
        label = own[self._places]
        # ∂ Pr(Ŷ = y_i given the tie) / ∂ share [F, m]
        self._moves = every[self._guesses] - every[label]
        # [F, m, n]
        self._by_deviation = (
            self._moves[:, :, None] * problem.deviations[:, self._tied].T[:, None, :]
        )
        # L_guess − L_label
        self._lost = problem.loss[self._guesses, self._tied] - problem.loss[label, self._tied]
        self._scale = np.sqrt(np.concatenate([problem.p_x] * problem.m))
        effect = self._by_deviation.reshape(self._tied.size, -1) / self._scale
        self._size = sizes(effect)
        self._effect = effect / self._size[:, None]

    @abstractmethod
    def _deviation(self, shares: Array) -> Array:
        """u − s π at shares [F], for all rows [m, n]."""

    def columns(self, shares: Array) -> Array:
        """[m, K] the ties' columns for the free shares [F]."""
        found = np.zeros(self._shape)
        # So that a column sums to one exactly.
        found[self._guesses, self._places] = np.rint(shares / UNIT) * UNIT
        found[self._own, np.arange(self._own.size)] = 1.0 - found.sum(axis=0)
        return found

    def deviation(self, columns: Array) -> Array:
        """u − s π of columns of the ties [m, K], for all rows [m, n]."""
        return self._deviation(columns[self._guesses, self._places])

    def near(self, deviation: Array) -> Array | None:
        """The columns [m, K] next to the start with about that deviation of the law [m, n].

        The change of shares is of least norm, counted in effects; some probability may be outside
        [0, 1]. None beyond range.
        """
        missing = deviation - self._deviation(self._start)
        step = least_norm(self._effect.T, missing.ravel() / self._scale)
        return None if step is None else self.columns(self._start + step / self._size)

    def direction(self, place: int, loses: int) -> Array | None:
        """The least change of tilts [m, n] by which that guess of a tie becomes dearer by 1; all
        other ties stay.
        """
        losses = (self._places == place) * (
            (self._guesses == loses) - 1.0 * (self._own[place] == loses)
        )
        move = least_norm(self._effect, losses / self._size)
        return None if move is None else (move / self._scale).reshape(self._problem.m, -1)


class Stationary(Shares):
    """The equations of `Shares`; certain [m, N]: the labels of all outcomes."""

    def __init__(
        self, problem: Problem, certain: Array, ties: _Index, own: _Index, start: Array
    ) -> None:
        super().__init__(problem, ties, own, start)
        self._parts = Part.of(problem)
        # The only one, of posteriors.
        self._first = {part.term: k for k, part in reversed(list(enumerate(self._parts)))}
        self._by_mass = [self._moves * part.mass[self._tied, None] for part in self._parts]
        self._mass = [certain @ part.mass for part in self._parts]
        self._certain = certain @ problem.deviations.T

    def _deviation(self, shares: Array) -> Array:
        return self._certain + np.tensordot(shares, self._by_deviation, 1)

    def solve(
        self, columns: Array, tilt: Array, multipliers: Array, precision: Precision
    ) -> Point | None:
        """As `Vertex.solve`."""
        shares = np.maximum(columns[self._guesses, self._places], Precision.settled)
        inside = precision.vertex
        state = self._state(shares)
        if state is None:
            return None
        at = _Iterate(shares, self._binding(state, tilt, multipliers), tilt * self._exact)
        while inside < 1.0:
            bound = self._bound(at, inside)
            if bound is None:
                return None
            at = bound
            columns = self.columns(at.shares)
            excess = self._excess(columns[self._guesses, self._places])
            if excess <= 0.0:
                return self._point(columns, at, tilt)
            inside = 2.0 * (inside + excess)
        return None

    # -- which budgets bind
    # ----------------------------------------------------------------------------------------------

    @property
    def _exact(self) -> NDArray[np.bool_]:
        """Rows of secrets that must not leak [n]."""
        found = np.zeros(self._problem.n, dtype=np.bool_)
        for term in self._problem.terms:
            found[term.rows] = term.budget.perfect
        return found

    def _budgets(self) -> list[_Budget]:
        """All that may bind."""
        guesses = range(self._problem.m)
        terms = enumerate(self._problem.terms)
        each = [
            (k, guesses if term.measure.scope is Scope.POSTERIOR else [-1])
            for k, term in terms
            if term.priced
        ]
        return [(number, guess) for number, own in each for guess in own]

    def _binding(self, state: _State, tilt: Array, prices: Array) -> dict[_Budget, float]:
        """Their prices, by the start; a price of each guess is that of the tilt along the gradient
        of its budget.
        """
        found = dict[_Budget, float]()
        error = max(self._problem.constant_error, Precision.nonzero)
        for number, guess in self._budgets():
            term = self._problem.terms[number]
            law = state.laws[self._first[number]]
            price = float(prices[number])
            mass = 1.0
            if guess >= 0:
                slope = state.slopes[self._first[number]][guess]
                own = tilt[guess, term.rows]
                mass = float(law.mass[guess])
                weights = law.mass[guess] * law.p_x + law.deviation[guess]
                spread = slope - weights @ slope / weights.sum()
                price = float(
                    (weights * spread) @ own / max((weights * spread) @ spread, Precision.nonzero)
                )
            unused = 1.0 - state.levels[number, guess] / _level(term)
            if price > 0.0 and price * _level(term) * mass / error > unused:
                found[number, guess] = price
        return found

    def _bound(self, at: _Iterate, inside: float) -> _Iterate | None:
        """What solves the equations, with the budgets that bind found out; levels aim inside
        budgets by that share.
        """
        for _ in range(_CHANGES):
            if not at.binding and not self._exact.any():
                return None
            found = self._newton(at, inside)
            if found is None:
                return None
            at, state = found
            dear = {budget: price for budget, price in at.binding.items() if price > 0.0}
            for budget in self._budgets():
                level = _level(self._problem.terms[budget[0]]) * (1.0 - inside)
                if budget not in at.binding and state.levels[budget] > level * (
                    1.0 + Precision.searched
                ):
                    dear[budget] = max(at.binding.values(), default=1.0) * Precision.certain
            if dear.keys() == at.binding.keys():
                return at
            at = _Iterate(at.shares, dear, at.exact)
        return None

    # -- Newton's method
    # ----------------------------------------------------------------------------------------------

    def _laws(
        self, shares: Array
    ) -> Iterator[tuple[Part, Term, OutputLaw, NDArray[np.bool_], Array]]:
        """Of every part: its term, its law, which guesses are never made, and masses of guesses by
        labels alone.
        """
        deviation = self._deviation(shares)
        for part, mass, by_mass in zip(self._parts, self._mass, self._by_mass, strict=True):
            term = self._problem.terms[part.term]
            own = deviation[:, part.rows]
            never = (mass == 0.0) & ~by_mass.any(axis=0)
            law = OutputLaw(
                mass + shares @ by_mass,
                own - own.sum(axis=1)[:, None] * part.p_x,
                part.p_x,
                measure=term.measure,
            )
            yield part, term, law, never, mass

    def _state(self, shares: Array) -> _State | None:
        """None outside the domain."""
        laws = list[OutputLaw]()
        slopes = list[Array]()
        levels = dict.fromkeys(self._budgets(), 0.0)
        for part, term, plain, never, _ in self._laws(shares):
            # Any number will do for a guess that never occurs.
            law = replace(plain, mass=plain.mass + never)
            with np.errstate(divide="ignore", invalid="ignore"):
                least = float((law.deviation / (law.mass[:, None] * part.p_x)).min())
            if not (law.mass.min() > 0.0 and least >= -1.0 - Precision.settled):
                return None
            x = law.ratio_minus_one()
            laws.append(law)
            slopes.append(term.measure.slope(x, part.p_x))
            excess = (
                np.where(never, 0.0, term.measure.excess(x, part.p_x))
                if term.priced
                else np.zeros(0)
            )
            if term.priced and term.measure.scope is Scope.POSTERIOR:
                levels |= {(part.term, guess): float(value) for guess, value in enumerate(excess)}
            elif term.priced:
                levels[part.term, -1] += float(law.mass @ excess)
        return _State(laws, slopes, levels)

    def _newton(self, at: _Iterate, inside: float) -> tuple[_Iterate, _State] | None:
        size = math.inf
        for _ in range(_STEPS):
            state = self._state(at.shares)
            moved = None if state is None else self._step(at, state, inside)
            if moved is None:
                return None
            last = size
            (at, size) = moved
            following = size * (size / last) * (size / last) if last < 1.0 else math.inf
            if (
                size <= Precision.settled
                or following <= Precision.settled
                or 0.5 * last <= size <= 1e3 * Precision.settled
            ):
                break
        else:
            if size > 1e6 * Precision.settled:
                return None
        state = self._state(at.shares)
        return None if state is None else (at, state)

    def _step(self, at: _Iterate, state: _State, inside: float) -> tuple[_Iterate, float] | None:
        """The next iterate and the size of the step; None beyond range."""
        keys = list(at.binding)
        prices = np.array(list(at.binding.values()))
        count = at.shares.size
        unit = float(prices.max(initial=0.0)) or 1.0
        gradients, curvature = self._curved(at, state, unit, inside)
        borders = gradients * (prices / unit)[:, None]
        chosen = self._exact
        private = self._by_deviation[:, :, chosen].reshape(count, -1)
        left = -(
            self._lost / unit + borders.sum(axis=0) + private @ at.exact[:, chosen].ravel() / unit
        )
        missing = -self._deviation(at.shares)[:, chosen].ravel()
        right = np.concatenate([left, self._unused(at, state, inside) * prices / unit, missing])
        rest = np.concatenate([borders, private.T])
        whole = np.zeros((right.size, right.size))
        whole[:count, :count] = curvature
        whole[count:, :count] = rest
        whole[:count, count:] = rest.T
        step = equilibrated(whole, right)
        if step is None:
            return None
        moved = step[: count + len(keys)]
        exact = at.exact.copy()
        exact[:, chosen] += unit * step[moved.size :].reshape(len(exact), -1)
        binding = dict(zip(keys, (prices * (1.0 + moved[count:])).tolist(), strict=True))
        return _Iterate(at.shares + moved[:count], binding, exact), float(
            np.abs(moved).max(initial=0.0)
        )

    def _unused(self, at: _Iterate, state: _State, inside: float) -> Array:
        """What is left of the budgets that bind; of each posterior, by the mass of the guess."""
        found = []
        for number, guess in at.binding:
            left = (
                _level(self._problem.terms[number]) * (1.0 - inside) - state.levels[number, guess]
            )
            found.append(left if guess < 0 else left * state.laws[self._first[number]].mass[guess])
        return np.array(found)

    def _curved(
        self, at: _Iterate, state: _State, unit: float, inside: float
    ) -> tuple[Array, Array]:
        """Gradients of the budgets that bind [budgets, F], and the second derivative of Σ μ f /
        unit [F, F].
        """
        gradients = np.zeros((len(at.binding), at.shares.size))
        curvature = np.zeros((at.shares.size, at.shares.size))
        for part, law, slope, by_mass in zip(
            self._parts, state.laws, state.slopes, self._by_mass, strict=True
        ):
            term = self._problem.terms[part.term]
            own = [key[0] == part.term for key in at.binding]
            if not any(own):
                continue
            x = law.ratio_minus_one()
            per_guess = np.zeros(law.mass.size)
            by_joint = self._by_deviation[:, :, part.rows] + by_mass[:, :, None] * part.p_x
            if term.measure.scope is Scope.POSTERIOR:
                slope = (
                    slope
                    + (term.measure.excess(x, part.p_x) - _level(term) * (1.0 - inside))[:, None]
                )
            for row, ((_, guess), price) in enumerate(at.binding.items()):
                if own[row]:
                    chosen = slice(None) if guess < 0 else slice(guess, guess + 1)
                    gradients[row] += np.einsum("fij,ij->f", by_joint[:, chosen], slope[chosen])
                    per_guess[chosen] = price / unit
            bend, pull = term.measure.curvature(x, part.p_x)
            change = (by_joint / part.p_x - (1.0 + x) * by_mass[:, :, None]) / law.mass[:, None]
            curvature += np.einsum(
                "fij,gij->fg", change * (bend * (per_guess * law.mass)[:, None]), change
            )
            pulled = np.einsum("fij,ij->fi", change, pull) * np.sqrt(per_guess * law.mass)
            curvature -= pulled @ pulled.T
        return gradients, curvature

    # -- the answer
    # ----------------------------------------------------------------------------------------------

    def _excess(self, shares: Array) -> float:
        """By how much budgets are exceeded, relative, at most; inf where a secret leaks that must
        not.

        The judge moves those to exact privacy, by up to the rounding of sums, which the other
        budgets feel.
        """
        moved = Precision.leak_free if self._exact.any() else Precision.entry
        ceilings = np.zeros(len(self._problem.terms))
        for part, term, law, _, mass in self._laws(shares):
            if term.budget.perfect and np.abs(law.ratio_minus_one()).max() > Precision.private:
                return math.inf
            if term.priced:
                made = law.mass > 0.0
                cancelled = float((mass[made] / law.mass[made]).max(initial=1.0))
                ceilings[part.term] += law.leakage_ceiling(moved * cancelled)
        terms = zip(self._problem.terms, ceilings.tolist(), strict=True)
        return max(
            (ceiling / term.budget.amount - 1.0 for term, ceiling in terms if term.priced),
            default=-math.inf,
        )

    def _point(self, columns: Array, at: _Iterate, tilt: Array) -> Point | None:
        shares = columns[self._guesses, self._places]
        state = self._state(shares)
        if state is None:
            return None
        prices = np.array(
            [math.inf if term.budget.perfect else 0.0 for term in self._problem.terms]
        )
        duals = np.zeros_like(tilt)
        joint = np.zeros_like(tilt)
        guesses = range(self._problem.m)
        for law, slope, (part, term, _, never, _) in zip(
            state.laws, state.slopes, self._laws(shares), strict=True
        ):
            rows = part.rows
            joint[:, rows] = np.maximum(
                law.mass[:, None] * part.p_x + law.deviation, UNIT * part.p_x
            )
            if term.budget.perfect:
                duals[:, rows] = at.exact[:, rows] - (at.exact[:, rows] @ part.p_x)[:, None]
                joint[:, rows] = part.p_x
                continue
            if term.measure.scope is Scope.TOTAL:
                prices[part.term] = at.binding.get((part.term, -1), 0.0)
            own = [at.binding.get((part.term, guess), prices[part.term]) for guess in guesses]
            duals[:, rows] = np.array(own)[:, None] * slope
            if never.any():
                over = term.measure.ceiling(
                    tilt[never, rows], part.p_x, prices[part.term], _level(term)
                )
                duals[never, rows] = tilt[never, rows] - over[:, None]
        equal = self._equal(duals, joint)
        return None if equal is None else Point(columns, equal, prices)

    def _equal(self, tilt: Array, joint: Array) -> Array | None:
        """As `Vertex._equal`, for every part."""
        by_joint = np.zeros_like(self._by_deviation)
        scale = np.sqrt(joint)
        raised = np.zeros_like(self._by_deviation)
        for part, by_mass in zip(self._parts, self._by_mass, strict=True):
            own = joint[:, part.rows]
            by_joint[:, :, part.rows] = (
                self._by_deviation[:, :, part.rows] + by_mass[:, :, None] * part.p_x
            )
            raised[:, :, part.rows] = by_mass[:, :, None] * (own / own.sum(axis=1)[:, None])
        effect = ((by_joint - raised) / scale).reshape(len(by_joint), -1)
        size = sizes(effect)
        unequal = -self._lost - np.einsum("fij,ij->f", by_joint, tilt)
        move = least_norm(effect / size[:, None], unequal / size)
        return None if move is None else tilt + move.reshape(tilt.shape) / scale


def _level(term: Term) -> float:
    growth = term.measure.growth
    amount = term.budget.amount
    return math.expm1(growth * amount) if growth else amount
