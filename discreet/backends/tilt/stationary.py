"""The vertex under smooth measures of leakage, and under several constraints: its equations and Newton's method.

Labels, ties and shares are those of `vertex`, which has the case of mutual information alone. Unknown are the shares x, the
price μ of every budget that binds, and the tilts τ of secrets that must not leak at all. With f_c, the level of a budget as
a function of x, they satisfy

    for a share f of a tie:  L_guess − L_label + Σ_c μ_c ∂f_c/∂x_f + Σ τ ∂(u − s π)/∂x_f = 0,    f_c = B_c,    u − s π = 0.

A budget of each posterior counts once for every guess. Which budgets bind is read off the start: those whose price matters
more than what is left of them. One with a price below 0 is dropped, and one that is exceeded binds.

Newton's method needs the second derivative of f. As g(u) = s G(x) is the perspective of G, that of g along du is s times
that of G along dx = (du/π − (1 + x) ds)/s (`Measure.curvature`).

Source: discreet, docs/theory.md, sections 14 and 22.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.equations import equilibrated, least_norm, sizes
from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.problems.constraint import Term
from discreet.problems.measures.law import OutputLaw
from discreet.problems.measures.measure import Scope
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import UNIT
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
                found.append(cls(number, rows, own / own.sum(), problem.p_z if whole else problem.p_xz[rows].sum(axis=0)))
        return found


@dataclass(frozen=True, eq=False)
class _State:
    """What Newton's method needs of shares: the laws of all parts and the levels of all budgets."""

    laws: list[OutputLaw]
    slopes: list[Array]
    levels: dict[_Budget, float]


class Stationary:
    """As `Vertex`: labels `certain` [m, N], ties [K] with labels own [K], their columns at first [m, K]."""

    def __init__(self, problem: Problem, certain: Array, ties: _Index, own: _Index, start: Array) -> None:
        self._problem, self._own, every = problem, own, np.eye(problem.m)
        self._parts = Part.of(problem)
        self._first = {part.term: k for k, part in reversed(list(enumerate(self._parts)))}  # the only one, of posteriors
        self._guesses, self._places = np.nonzero((start > 0.0) & (every[:, own] == 0.0))
        self._shape, self._start = start.shape, start[self._guesses, self._places]
        tied, label = ties[self._places], own[self._places]
        moves = every[self._guesses] - every[label]  # [F, m]
        self._by_mass = [moves * part.mass[tied, None] for part in self._parts]
        self._by_deviation = moves[:, :, None] * problem.deviations[:, tied].T[:, None, :]  # [F, m, n]
        self._mass = [certain @ part.mass for part in self._parts]
        self._deviation = certain @ problem.deviations.T
        self._lost = problem.loss[self._guesses, tied] - problem.loss[label, tied]
        self._scale = np.sqrt(np.concatenate([problem.p_x] * problem.m))
        effect = self._by_deviation.reshape(tied.size, -1) / self._scale
        self._size = sizes(effect)
        self._effect = effect / self._size[:, None]

    @property
    def shares(self) -> int:
        """How many there are."""
        return self._start.size

    def columns(self, shares: Array) -> Array:
        """[m, K] the ties' columns for the free shares [F]."""
        found = np.zeros(self._shape)
        found[self._guesses, self._places] = np.rint(shares / UNIT) * UNIT
        found[self._own, np.arange(self._own.size)] = 1.0 - found.sum(axis=0)
        return found

    def deviation(self, columns: Array) -> Array:
        """u − s π of columns of the ties [m, K], for all rows [m, n]."""
        return self._deviation_of(columns[self._guesses, self._places])

    def _deviation_of(self, shares: Array) -> Array:
        return self._deviation + np.tensordot(shares, self._by_deviation, 1)

    def near(self, deviation: Array) -> Array | None:
        """The columns [m, K] next to the start with about that deviation [m, n]; None beyond range."""
        missing = deviation - self._deviation_of(self._start)
        step = least_norm(self._effect.T, missing.ravel() / self._scale)
        return None if step is None else self.columns(self._start + step / self._size)

    def direction(self, place: int, loses: int) -> Array | None:
        """The least change of tilts [m, n] by which that guess of a tie becomes dearer by 1; all other ties stay."""
        losses = (self._places == place) * ((self._guesses == loses) - 1.0 * (self._own[place] == loses))
        move = least_norm(self._effect, losses / self._size)
        return None if move is None else (move / self._scale).reshape(self._deviation.shape)

    def solve(self, columns: Array, tilt: Array, multiplier: float | Array, precision: Precision) -> Point | None:
        """As `Vertex.solve`."""
        terms = self._problem.terms
        prices = np.broadcast_to(np.asarray(multiplier, dtype=np.float64), (len(terms),))
        shares, inside = np.maximum(columns[self._guesses, self._places], Precision.settled), precision.vertex
        exact = tilt * self._exact
        binding = self._binding(self._state(shares), tilt, prices)
        while inside < 1.0:
            found = self._bound(shares, binding, exact, inside)
            if found is None:
                return None
            shares, binding, exact = found
            columns = self.columns(shares)
            excess = self._excess(columns[self._guesses, self._places])
            if excess <= 0.0:
                return self._point(columns, binding, exact, tilt)
            inside = 2.0 * (inside + excess)
        return None

    # -- which budgets bind ----------------------------------------------------------------------------------------------

    @property
    def _exact(self) -> NDArray[np.bool_]:
        """Rows of secrets that must not leak [n]."""
        found = np.zeros(self._problem.n, dtype=np.bool_)
        for term in self._problem.terms:
            found[term.rows] = term.budget.perfect
        return found

    def _budgets(self) -> list[_Budget]:
        """All that may bind."""
        each, guesses = Scope.POSTERIOR, range(self._problem.m)
        return [
            (number, guess)
            for number, term in enumerate(self._problem.terms)
            if not (term.budget.perfect or term.budget.oblivious)
            for guess in (guesses if term.measure.scope is each else [-1])
        ]

    def _binding(self, state: _State | None, tilt: Array, prices: Array) -> dict[_Budget, float]:
        """Their prices, by the start; a price of each guess is that of the tilt along the gradient of its budget."""
        found: dict[_Budget, float] = {}
        if state is None:
            return found
        error = max(float(self._problem.constant_error), Precision.nonzero)
        for number, guess in self._budgets():
            term = self._problem.terms[number]
            price = float(prices[number])
            law, mass = state.laws[self._first[number]], 1.0
            if guess >= 0:
                slope, own, mass = state.slopes[self._first[number]][guess], tilt[guess, term.rows], float(law.mass[guess])
                weights = law.mass[guess] * law.p_x + law.deviation[guess]
                spread = slope - weights @ slope / weights.sum()
                price = float((weights * spread) @ own / max((weights * spread) @ spread, Precision.nonzero))
            level = _level(term)
            unused = 1.0 - state.levels[number, guess] / level
            if price > 0.0 and price * level * mass / error > unused:
                found[number, guess] = price
        return found

    def _bound(
        self, shares: Array, binding: dict[_Budget, float], exact: Array, inside: float
    ) -> tuple[Array, dict[_Budget, float], Array] | None:
        """Shares, prices and tilts that solve the equations, with the budgets that bind found out."""
        for _ in range(_CHANGES):
            if not binding and not self._exact.any():
                return None
            found = self._newton(shares, binding, exact, inside)
            if found is None:
                return None
            shares, binding, exact, state = found
            dear = {budget: price for budget, price in binding.items() if price > 0.0}
            for budget in self._budgets():
                level = _level(self._problem.terms[budget[0]]) * (1.0 - inside)
                if budget not in binding and state.levels[budget] > level * (1.0 + Precision.searched):
                    dear[budget] = max(binding.values(), default=1.0) * Precision.certain
            if dear.keys() == binding.keys():
                return shares, binding, exact
            binding = dear
        return None

    # -- Newton's method -------------------------------------------------------------------------------------------------

    def _state(self, shares: Array) -> _State | None:
        """None outside the domain."""
        deviation, laws, slopes = self._deviation_of(shares), [], []
        levels = dict.fromkeys(self._budgets(), 0.0)
        for part, mass, by_mass in zip(self._parts, self._mass, self._by_mass, strict=True):
            term = self._problem.terms[part.term]
            s, d = mass + shares @ by_mass, deviation[:, part.rows]
            d = d - d.sum(axis=1)[:, None] * part.p_x
            never = (s == 0.0) & ~by_mass.any(axis=0)
            s = s + never
            law = OutputLaw(s, d, part.p_x, measure=term.measure)
            x = d / (s[:, None] * part.p_x)
            if not (s.min() > 0.0 and x.min() >= -1.0 - Precision.settled):
                return None
            laws.append(law)
            slopes.append(term.measure.slope(law.ratio_minus_one(), part.p_x))
            if term.budget.perfect or term.budget.oblivious:
                continue
            excess = np.where(never, 0.0, term.measure.excess(law.ratio_minus_one(), part.p_x))
            if term.measure.scope is Scope.POSTERIOR:
                levels |= {(part.term, guess): float(value) for guess, value in enumerate(excess)}
            else:
                levels[part.term, -1] += float(s @ excess)
        return _State(laws, slopes, levels)

    def _newton(
        self, shares: Array, binding: dict[_Budget, float], exact: Array, inside: float
    ) -> tuple[Array, dict[_Budget, float], Array, _State] | None:
        size = math.inf
        for _ in range(_STEPS):
            state = self._state(shares)
            if state is None:
                return None
            moved = self._step(shares, state, binding, exact, inside)
            if moved is None:
                return None
            last, (shares, binding, exact, size) = size, moved
            following = size * (size / last) * (size / last) if last < 1.0 else math.inf
            if size <= Precision.settled or following <= Precision.settled or 0.5 * last <= size <= 1e3 * Precision.settled:
                break
        else:
            if size > 1e6 * Precision.settled:
                return None
        state = self._state(shares)
        return None if state is None else (shares, binding, exact, state)

    def _step(
        self, shares: Array, state: _State, binding: dict[_Budget, float], exact: Array, inside: float
    ) -> tuple[Array, dict[_Budget, float], Array, float] | None:
        """Shares, prices, tilts and the size of the step; None outside the domain."""
        keys, prices = list(binding), np.array(list(binding.values()))
        unit = float(prices.max(initial=0.0)) or 1.0
        gradients, unused = np.zeros((len(keys), shares.size)), np.zeros(len(keys))
        curvature = np.zeros((shares.size, shares.size))
        for k, part in enumerate(self._parts):
            term, law = self._problem.terms[part.term], state.laws[k]
            if not any(number == part.term for number, _ in keys):
                continue
            x, by_mass = law.ratio_minus_one(), self._by_mass[k]
            by_joint = self._by_deviation[:, :, part.rows] + by_mass[:, :, None] * part.p_x
            slope, per_guess = state.slopes[k], np.zeros(law.mass.size)
            if term.measure.scope is Scope.POSTERIOR:
                slope = slope + (term.measure.excess(x, part.p_x) - _level(term) * (1.0 - inside))[:, None]
            for row, (number, guess) in enumerate(keys):
                if number == part.term:
                    chosen = slice(None) if guess < 0 else slice(guess, guess + 1)
                    gradients[row] += np.einsum("fij,ij->f", by_joint[:, chosen], slope[chosen])
                    per_guess[chosen] = prices[row] / unit
            bend, pull = term.measure.curvature(x, part.p_x)
            change = (by_joint / part.p_x - (1.0 + x) * by_mass[:, :, None]) / law.mass[:, None]
            weighted = change * (bend * (per_guess * law.mass)[:, None])
            curvature += np.einsum("fij,gij->fg", weighted, change)
            pulled = np.einsum("fij,ij->fi", change, pull) * np.sqrt(per_guess * law.mass)
            curvature -= pulled @ pulled.T
        for row, (number, guess) in enumerate(keys):
            unused[row] = _level(self._problem.terms[number]) * (1.0 - inside) - state.levels[number, guess]
            if guess >= 0:
                unused[row] *= state.laws[self._first[number]].mass[guess]
        borders = gradients * (prices / unit)[:, None]
        private = self._by_deviation[:, :, self._exact].reshape(shares.size, -1)
        left = -(self._lost / unit + borders.sum(axis=0) + private @ exact[:, self._exact].ravel() / unit)
        missing = -self._deviation_of(shares)[:, self._exact].ravel()
        right = np.concatenate([left, unused * prices / unit, missing])
        count = right.size
        whole = np.zeros((count, count))
        whole[: shares.size, : shares.size] = curvature
        rest = np.concatenate([borders, private.T])
        whole[shares.size :, : shares.size], whole[: shares.size, shares.size :] = rest, rest.T
        step = equilibrated(whole, right)
        if step is None:
            return None
        grown = step[shares.size : shares.size + len(keys)]
        exact = exact.copy()
        exact[:, self._exact] += unit * step[shares.size + len(keys) :].reshape(len(exact), -1)
        moved = np.concatenate([step[: shares.size], grown])
        new = dict(zip(keys, (prices * (1.0 + grown)).tolist(), strict=True))
        return shares + step[: shares.size], new, exact, float(np.abs(moved).max(initial=0.0))

    # -- the answer ------------------------------------------------------------------------------------------------------

    def _excess(self, shares: Array) -> float:
        """By how much budgets are exceeded, relative, at most; inf where a secret leaks that must not.

        The judge moves those to exact privacy, by up to the rounding of sums, which the other budgets feel.
        """
        worst, deviation = -math.inf, self._deviation_of(shares)
        moved = Precision.leak_free if self._exact.any() else Precision.entry
        ceilings = np.zeros(len(self._problem.terms))
        for part, mass, by_mass in zip(self._parts, self._mass, self._by_mass, strict=True):
            term = self._problem.terms[part.term]
            s, d = mass + shares @ by_mass, deviation[:, part.rows]
            law = OutputLaw(s, d - d.sum(axis=1)[:, None] * part.p_x, part.p_x, measure=term.measure)
            if term.budget.perfect:
                if np.abs(law.ratio_minus_one()).max() > Precision.private:
                    return math.inf
                continue
            if not term.budget.oblivious:
                cancelled = float((mass[s > 0.0] / s[s > 0.0]).max(initial=1.0))
                ceilings[part.term] += law.leakage_ceiling(moved * max(1.0, cancelled))
                worst = max(worst, ceilings[part.term] / term.budget.amount - 1.0)
        return worst

    def _point(self, columns: Array, binding: dict[_Budget, float], exact: Array, tilt: Array) -> Point | None:
        problem = self._problem
        state = self._state(columns[self._guesses, self._places])
        if state is None:
            return None
        prices, duals, joint = np.zeros(len(problem.terms)), np.zeros_like(tilt), np.zeros_like(tilt)
        for part, law, slope, mass, by_mass in zip(
            self._parts, state.laws, state.slopes, self._mass, self._by_mass, strict=True
        ):
            term, never = problem.terms[part.term], (mass == 0.0) & ~by_mass.any(axis=0)
            joint[:, part.rows] = np.maximum(law.mass[:, None] * part.p_x + law.deviation, UNIT * part.p_x)
            if term.budget.perfect:
                own = exact[:, part.rows]
                duals[:, part.rows] = own - (own @ part.p_x)[:, None]
                joint[:, part.rows] = part.p_x
                prices[part.term] = math.inf
                continue
            if term.measure.scope is Scope.POSTERIOR:
                own = np.array([binding.get((part.term, guess), 0.0) for guess in range(problem.m)])[:, None]
            else:
                prices[part.term] = binding.get((part.term, -1), 0.0)
                own = np.full((problem.m, 1), prices[part.term])
            duals[:, part.rows] = own * slope
            if never.any():
                found = tilt[never, part.rows]
                over = term.measure.ceiling(found, part.p_x, prices[part.term], _level(term))
                duals[never, part.rows] = found - over[:, None]
        equal = self._equal(duals, joint)
        multiplier = prices if prices.size > 1 else float(prices[0])
        return None if equal is None else Point(columns, equal, multiplier)

    def _equal(self, tilt: Array, joint: Array) -> Array | None:
        """As `Vertex._equal`, for every part."""
        by_joint, scale = np.zeros_like(self._by_deviation), np.sqrt(joint)
        raised = np.zeros_like(self._by_deviation)
        for part, by_mass in zip(self._parts, self._by_mass, strict=True):
            own = joint[:, part.rows]
            by_joint[:, :, part.rows] = self._by_deviation[:, :, part.rows] + by_mass[:, :, None] * part.p_x
            raised[:, :, part.rows] = by_mass[:, :, None] * (own / own.sum(axis=1)[:, None])
        effect = ((by_joint - raised) / scale).reshape(len(by_joint), -1)
        size = sizes(effect)
        unequal = -self._lost - np.einsum("fij,ij->f", by_joint, tilt)
        move = least_norm(effect / size[:, None], unequal / size)
        return None if move is None else tilt + move.reshape(tilt.shape) / scale


def _level(term: Term) -> float:
    growth, amount = term.measure.growth, term.budget.amount
    return math.expm1(growth * amount) if growth else amount
