"""A vertex: labels, ties, and the square system that determines them, solved by Newton's method.

At a vertex every outcome but a few *ties* has one certain guess, its label. Each unknown *share*
moves a tie from its label to another guess, so the law of (X, Ŷ) is linear in the shares. The
unknowns are the shares x, the price μ of each binding budget, and the tilts τ of secrets under
perfect privacy. With f_c(x) the leakage that budget c bounds, they satisfy

    for a share f of a tie:  L_guess − L_label + Σ_c μ_c ∂f_c/∂x_f + Σ τ ∂(u − s π)/∂x_f = 0,
    for each binding budget: f_c = B_c,    under perfect privacy: u − s π = 0.

A budget on each posterior counts once for every guess. The binding budgets are chosen at the start:
those whose price matters more than their unused part, and at least one. A budget whose price
becomes negative is dropped, and one that is exceeded is added.

Newton's method reaches rounding accuracy in a few steps, because the labels' deviation from
independence is summed only once. It needs the second derivative of f. Since g(u) = s G(x) is the
perspective of G, the second derivative of g along du is s times that of G along dx = (du/π − (1 +
x) ds)/s (`Measure.curvature`).

If all secrets are under perfect privacy, the equations of the shares are linear. They are solved a
second time, relative to the mass of each guess.

Source: discreet, docs/theory.md, sections 14 (the crossover) and 22.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.equations import least_norm, sizes, solve_bordered
from discreet.backends.precision import Precision
from discreet.backends.repairs import plain_law
from discreet.backends.tilt.model import Point
from discreet.measures.law import OutputLaw, distance_from_private, phi_residual
from discreet.measures.measure import Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.constraint import Term, asks_privacy
from discreet.problems.duals import no_multipliers
from discreet.problems.problem import Problem

_Index = NDArray[np.intp]
_STEPS = 14  # most steps of Newton's method, which takes four to seven from a good start
_CHANGES = 6  # most changes of the set of binding budgets


@dataclass(frozen=True, eq=False)
class _Group:
    """A group of rows with a prior of its own, and the masses of guesses in it.

    number    index of its term
    per_guess True if every guess has a budget of its own
    budgets   places of its budgets among all that have a price: one, or one for each guess; none
              under perfect privacy and without a limit
    p_x       prior within the group                              [k]
    certain   masses of guesses from the labels                   [m]
    by_mass   derivatives of the masses by each share             [F, m]
    by_joint  derivatives of the joint law by each share          [F, m, k]
    by_ratio  derivatives of the deviation over the prior         [F, m, k]
    never     guesses that never occur                            [m]
    """

    number: int
    term: Term
    rows: slice
    per_guess: bool
    budgets: slice
    p_x: Array
    certain: Array
    by_mass: Array
    by_joint: Array
    by_ratio: Array
    never: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _GroupState:
    """The masses [m] of a group at given shares, x = r − 1 and the slopes of its measure [m, k],
    and G(x) [m].
    """

    mass: Array
    x: Array
    slope: Array
    excess: Array


@dataclass(frozen=True, eq=False)
class _State:
    """What Newton's method needs at given shares: the state of each priced group, the leakage that
    each budget bounds, and the mass of the guesses that it applies to [B].
    """

    groups: list[_GroupState]
    leakages: Array
    masses: Array


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Shares [F], which budgets bind and their prices, 0 for the others [B], tilts [m, n] of
    secrets under perfect privacy, and the state of the shares if it is known.
    """

    shares: Array
    binds: NDArray[np.bool_]
    prices: Array
    exact: Array
    state: _State | None = None


class Vertex:
    """Labels and ties, with the equations of the unknowns: one share for every guess of a tie other
    than its label.

    certain [m, N] holds the labels of all outcomes; ties [K] are outcomes and own [K] their labels;
    start [m, K] holds their initial columns, positive at the guesses that each may get.
    """

    def __init__(
        self, problem: Problem, certain: Array, ties: _Index, own: _Index, start: Array
    ) -> None:
        self._problem = problem
        self._own = own
        guesses = np.eye(problem.m)
        self._guesses, self._places = np.nonzero((start > 0.0) & (guesses[:, own] == 0.0))
        self._shape = start.shape
        self._start = start[self._guesses, self._places]
        tied = ties[self._places]
        label = own[self._places]
        # ∂ Pr(Ŷ = y_i given the tie) / ∂ share [F, m]
        moves = guesses[self._guesses] - guesses[label]
        # [F, m, n]
        self._by_deviation = moves[:, :, None] * problem.deviations[:, tied].T[:, None, :]
        # L_guess − L_label
        self._lost = problem.loss[self._guesses, tied] - problem.loss[label, tied]
        self._scale = np.sqrt(np.concatenate([problem.p_x] * problem.m))
        effect = self._by_deviation.reshape(tied.size, -1) / self._scale
        self._size = sizes(effect)
        self._effect = effect / self._size[:, None]
        self._certain = certain @ problem.deviations.T
        self._groups = list(self._groups_of_moves(certain, tied, moves))
        self._priced = [group for group in self._groups if group.term.priced]
        # B of each budget, not rounded upward
        self._levels = np.zeros(self._groups[-1].budgets.stop)
        for group in self._priced:
            self._levels[group.budgets] = exact_level(group.term)
        # rows of secrets under perfect privacy [n]
        self._exact = np.zeros(problem.n, dtype=np.bool_)
        for term in problem.terms:
            self._exact[term.rows] = term.budget.perfect
        self._any_exact = asks_privacy(problem.terms)

    def _groups_of_moves(self, certain: Array, tied: _Index, moves: Array) -> Iterator[_Group]:
        count = 0
        for number, term in enumerate(self._problem.terms):
            per_guess = term.measure.scope is Scope.POSTERIOR
            own = self._problem.m if per_guess else 1
            budgets = slice(count, count + own * term.priced)
            count = budgets.stop
            for rows in term.groups:
                prior = self._problem.p_x[rows] / self._problem.p_x[rows].sum()
                mass = self._problem.p_z
                if len(term.groups) > 1:
                    mass = self._problem.p_xz[rows].sum(axis=0)
                by_mass = moves * mass[tied, None]
                by_deviation = self._by_deviation[:, :, rows]
                by_joint = by_deviation + by_mass[:, :, None] * prior
                masses = certain @ mass
                yield _Group(
                    number,
                    term,
                    rows,
                    per_guess,
                    budgets,
                    prior,
                    masses,
                    by_mass,
                    by_joint,
                    by_deviation / prior,
                    (masses == 0.0) & ~by_mass.any(axis=0),
                )

    # -- columns and laws
    # ----------------------------------------------------------------------------------------------

    def columns(self, shares: Array) -> Array:
        """Return the columns of the ties [m, K] for shares [F]."""
        columns = np.zeros(self._shape)
        rounded = np.rint(shares / UNIT) * UNIT
        if self._problem.perfect:
            # The equations of a rare guess need all digits of its shares.
            rounded = np.where(rounded == 0.0, 0.0, shares)
        columns[self._guesses, self._places] = rounded
        # so that each column sums to exactly one
        columns[self._own, np.arange(self._own.size)] = 1.0 - columns.sum(axis=0)
        return columns

    def deviation(self, columns: Array) -> Array:
        """Return u − s π for columns of the ties [m, K], for all rows [m, n]."""
        return self._deviation(columns[self._guesses, self._places])

    def _deviation(self, shares: Array) -> Array:
        change = shares @ self._by_deviation.reshape(shares.size, -1)
        return np.asarray(self._certain + change.reshape(self._certain.shape))

    def _sums(self, shares: Array, groups: list[_Group]) -> Iterator[tuple[Array, Array]]:
        """Iterate over the masses [m] and the deviations [m, k] of groups."""
        deviation = self._deviation(shares)
        for group in groups:
            part = deviation[:, group.rows]
            # A rounding error of the row sums would raise the price of a guess everywhere.
            part = part - part.sum(axis=1)[:, None] * group.p_x
            yield group.certain + shares @ group.by_mass, part

    def _laws(self, columns: Array) -> list[OutputLaw]:
        """Return the law of each group for columns of the ties [m, K]."""
        sums = self._sums(columns[self._guesses, self._places], self._groups)
        return [
            OutputLaw(mass, deviation, group.p_x, measure=group.term.measure)
            for group, (mass, deviation) in zip(self._groups, sums, strict=True)
        ]

    def columns_near(self, deviation: Array) -> Array | None:
        """Return columns [m, K] close to the start whose law has approximately this deviation [m,
        n]; None if they are out of range.

        The change of the shares has the least norm, measured by its effect on the law. Entries may
        lie outside [0, 1].
        """
        missing = deviation - self._deviation(self._start)
        step = least_norm(self._effect.T, missing.ravel() / self._scale)
        return None if step is None else self.columns(self._start + step / self._size)

    def direction(self, place: int, loses: int) -> Array | None:
        """Return the smallest change of the tilt [m, n] that raises the loss of this guess of a tie
        by 1 and leaves all other ties unchanged.
        """
        losses = (self._places == place) * (
            (self._guesses == loses) - 1.0 * (self._own[place] == loses)
        )
        move = least_norm(self._effect, losses / self._size)
        return None if move is None else (move / self._scale).reshape(self._problem.m, -1)

    # -- the solution
    # ----------------------------------------------------------------------------------------------

    def solve(
        self, columns: Array, tilt: Array, multipliers: Array, precision: Precision
    ) -> Point | None:
        """Return columns of the ties [m, K] and duals, starting from given columns; None if there
        is no solution.

        Entries of the columns may lie outside [0, 1]. tilt [m, n]: at ε = 0 the result is the
        closest tilt that the ties allow; guesses that never occur keep their rows. At ε > 0 the
        leakage lies as little below the budget as rounding allows. Masses and their sums are
        rounded by 2⁻⁵³, which raises the leakage by at most 2⁻⁵¹ Σ u |log r|, as a perturbation of
        2⁻⁵² of the ratios r does, and by more if ties cancel the mass of a guess. If the result
        exceeds the budget, the next law aims further inside.
        """
        shares = columns[self._guesses, self._places]
        if self._problem.perfect:
            return self._private(shares, tilt)
        at = self._begin(np.maximum(shares, Precision.settled), tilt, multipliers)
        inside = precision.vertex
        while at is not None and inside < 1.0:
            at = self._bound(at, inside)
            if at is None:
                return None
            columns = self.columns(at.shares)
            laws = self._laws(columns)
            excess = self._excess(laws)
            if excess <= 0.0:
                return self._point(columns, laws, at, tilt)
            inside = 2.0 * (inside + excess)
        return None

    def _private(self, shares: Array, tilt: Array) -> Point | None:
        """Return the point of shares after one more solution for the remaining deviation of the
        law; None if there are too few ties to cancel it.

        The equations of each guess are divided by its mass, so that a rare guess becomes as private
        as a frequent one.
        """
        scale = self._scale.reshape(self._certain.shape).copy()
        for group in self._groups:
            mass = group.certain + shares @ group.by_mass
            scale[:, group.rows] *= np.where(mass > 0.0, mass, 1.0)[:, None]
        effect = self._by_deviation.reshape(shares.size, -1) / scale.ravel()
        size = sizes(effect)
        residual = self._deviation(shares).ravel()
        step = least_norm((effect / size[:, None]).T, -residual / scale.ravel())
        if step is None:
            return None
        shares = shares + step / size
        columns = self.columns(shares)
        laws = self._laws(columns)
        leaks = max(phi_residual(law) for law in laws)
        if not leaks <= Precision.leak_free or max(map(distance_from_private, laws)) > (
            Precision.private
        ):
            return None
        none = np.zeros(self._levels.size)
        at = _Iterate(shares, none > 0.0, none, tilt)
        return self._point(columns, laws, at, tilt)

    # -- which budgets bind
    # ----------------------------------------------------------------------------------------------

    def _begin(self, shares: Array, tilt: Array, multipliers: Array) -> _Iterate | None:
        """Return the shares with the binding budgets and their prices; None outside the domain.

        A budget binds if its price matters more than its unused part. If no secret is under perfect
        privacy, at least one budget binds.
        """
        state = self._state(shares)
        if state is None:
            return None
        prices = np.zeros(self._levels.size)
        for group, here in zip(self._priced, state.groups, strict=True):
            prices[group.budgets] = (
                _prices_of_guesses(group, here, tilt[:, group.rows])
                if group.per_guess
                else multipliers[group.number]
            )
        prices = np.maximum(prices, 0.0)
        error = max(self._problem.constant_error, Precision.nonzero)
        matters = prices * self._levels * state.masses / error
        matters += state.leakages / self._levels - 1.0
        binds = (prices > 0.0) & (matters > 0.0)
        if not (self._any_exact or binds.any()) and prices.any():
            binds[np.where(prices > 0.0, matters, -math.inf).argmax()] = True
        return _Iterate(shares, binds, prices * binds, tilt * self._exact, state)

    def _bound(self, at: _Iterate, inside: float) -> _Iterate | None:
        """Solve the equations and determine which budgets bind. Levels aim inside the budgets by
        this relative margin. None if there is no solution.
        """
        for _ in range(_CHANGES):
            if not (self._any_exact or at.binds.any()):
                return None
            solution = self._newton(at, inside)
            if solution is None:
                return None
            at = solution
            binds = at.prices > 0.0
            prices = at.prices * binds
            state = None
            if not at.binds.all():
                state = self._state(at.shares)
                if state is None:
                    return None
                most = self._levels * (1.0 - inside) * (1.0 + Precision.searched)
                exceeded = (state.leakages > most) & ~at.binds
                dearest = float(at.prices.max(where=at.binds, initial=-math.inf))
                prices[exceeded] = Precision.certain * (dearest if at.binds.any() else 1.0)
                binds |= exceeded
            if (binds == at.binds).all():
                return at
            at = _Iterate(at.shares, binds, prices, at.exact, state)
        return None

    # -- Newton's method
    # ----------------------------------------------------------------------------------------------

    def _state(self, shares: Array) -> _State | None:
        """Return the state at given shares; None outside the domain."""
        groups = []
        leakages = np.zeros(self._levels.size)
        masses = np.ones(self._levels.size)
        sums = self._sums(shares, self._priced)
        for group, (mass, deviation) in zip(self._priced, sums, strict=True):
            mass = mass + group.never  # any number works for a guess that never occurs
            if not mass.min() > 0.0:
                return None
            x = deviation / (mass[:, None] * group.p_x)
            if not x.min() >= -1.0 - Precision.settled:
                return None
            x = np.maximum(x, -1.0)
            measure = group.term.measure
            excess = measure.excess(x, group.p_x)
            groups.append(_GroupState(mass, x, measure.slope(x, group.p_x), excess))
            if group.per_guess:
                leakages[group.budgets] = excess
                masses[group.budgets] = mass
            else:
                leakages[group.budgets] += mass @ excess
        return _State(groups, leakages, masses)

    def _newton(self, at: _Iterate, inside: float) -> _Iterate | None:
        """Return the solution by Newton's method; None if it does not converge.

        Steps that converge shrink quadratically, the next one to about size³ / last². Steps that
        consist of rounding errors do not shrink.
        """
        size = math.inf
        for _ in range(_STEPS):
            state = at.state or self._state(at.shares)
            step = None if state is None else self._step(at, state, inside)
            if step is None:
                return None
            last = size
            at, size = step
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
        return at

    def _step(self, at: _Iterate, state: _State, inside: float) -> tuple[_Iterate, float] | None:
        """Return the next iterate and the size of the step; None if it is out of range."""
        unit = float(at.prices.max(initial=0.0)) or 1.0
        relative = at.prices / unit
        levels = self._levels * (1.0 - inside)
        gradients, curvature = self._derivatives(state, relative, levels)
        borders = (gradients * relative[:, None])[at.binds]
        unequal = -self._lost / unit - borders.sum(axis=0)
        # A budget of a guess is multiplied by the mass of the guess.
        unused = ((levels - state.leakages) * state.masses * relative)[at.binds]
        exact = at.exact
        count = at.shares.size
        priced = count + unused.size
        if self._any_exact:
            private = self._by_deviation[:, :, self._exact].reshape(count, -1)
            unequal -= private @ exact[:, self._exact].ravel() / unit
            residual = -self._deviation(at.shares)[:, self._exact].ravel()
            borders = np.concatenate([borders, private.T])
            unused = np.concatenate([unused, residual])
        step = solve_bordered(curvature, borders, unequal, unused)
        if step is None:
            return None
        if self._any_exact:
            exact = exact.copy()
            exact[:, self._exact] += unit * step[priced:].reshape(len(exact), -1)
        prices = at.prices.copy()
        prices[at.binds] *= 1.0 + step[count:priced]
        size = float(np.abs(step[:priced]).max(initial=0.0))
        return _Iterate(at.shares + step[:count], at.binds, prices, exact), size

    def _derivatives(self, state: _State, prices: Array, levels: Array) -> tuple[Array, Array]:
        """Return the gradients of the budgets [B, F], and the second derivative of Σ μ f [F, F],
        for prices μ and aimed levels [B].
        """
        count = self._lost.size
        gradients = np.zeros((levels.size, count))
        curvature = np.zeros((count, count))
        for group, here in zip(self._priced, state.groups, strict=True):
            slope = here.slope
            if group.per_guess:
                slope = slope + (here.excess - levels[group.budgets])[:, None]
            along = (group.by_joint * slope).sum(axis=2)
            gradients[group.budgets] += along.T if group.per_guess else along.sum(axis=1)
            weights = prices[group.budgets] * here.mass
            bend, pull = group.term.measure.curvature(here.x, group.p_x)
            change = (group.by_ratio - here.x * group.by_mass[:, :, None]) / here.mass[:, None]
            bent = (change * (bend * weights[:, None])).reshape(count, -1)
            curvature += bent @ change.reshape(count, -1).T
            if pull.any():
                pulled = (change * pull).sum(axis=2) * np.sqrt(weights)
                curvature -= pulled @ pulled.T
        return gradients, curvature

    # -- the answer
    # ----------------------------------------------------------------------------------------------

    def _excess(self, laws: list[OutputLaw]) -> float:
        """Return the largest relative excess over a budget; inf if a secret under perfect privacy
        leaks.

        The judge moves such secrets to exact privacy, by up to the rounding of sums, which changes
        the leakages of other budgets.
        """
        perturbation = Precision.leak_free if self._any_exact else Precision.entry
        ceilings = np.zeros(len(self._problem.terms))
        for group, law in zip(self._groups, laws, strict=True):
            if group.term.budget.perfect and distance_from_private(law) > Precision.private:
                return math.inf
            if group.term.priced:
                made = law.mass > 0.0
                cancelled = float((group.certain[made] / law.mass[made]).max(initial=1.0))
                ceilings[group.number] += law.leakage_ceiling(perturbation * cancelled)
        terms = zip(self._problem.terms, ceilings.tolist(), strict=True)
        return max(
            (ceiling / term.budget.amount - 1.0 for term, ceiling in terms if term.priced),
            default=-math.inf,
        )

    def _point(
        self, columns: Array, laws: list[OutputLaw], at: _Iterate, tilt: Array
    ) -> Point | None:
        """Return the columns with the cheapest tilt that equalises the losses of ties; None if a
        guess that occurs has no mass.
        """
        multipliers = no_multipliers(self._problem.terms)
        duals = np.zeros_like(tilt)
        ratios = np.zeros_like(tilt)
        joint = np.zeros_like(tilt)
        for group, law in zip(self._groups, laws, strict=True):
            rows = group.rows
            if group.term.budget.perfect:
                duals[:, rows] = at.exact[:, rows] - (at.exact[:, rows] @ group.p_x)[:, None]
                joint[:, rows] = group.p_x
                continue
            mass = law.mass + group.never  # any number works for a guess that never occurs
            if not mass.min() > 0.0:
                return None
            masses = np.maximum(mass, Precision.nonzero)[:, None]
            ratios[:, rows] = np.maximum(law.ratio_minus_one(), UNIT / masses - 1.0)
            joint[:, rows] = masses * (1.0 + ratios[:, rows]) * group.p_x
            if group.term.priced:
                slope = group.term.measure.slope(law.ratio_minus_one(), group.p_x)
                duals[:, rows] = at.prices[group.budgets, None] * slope
                if not group.per_guess:
                    multipliers[group.number] = at.prices[group.budgets.start]
            if group.never.any():
                own = tilt[group.never, rows]
                level = exact_level(group.term)
                price = float(multipliers[group.number])
                over = group.term.measure.ceiling(own, group.p_x, price, level)
                duals[group.never, rows] = own - over[:, None]
        equal = self._equal(duals, joint, ratios)
        return None if equal is None else Point(columns, equal, multipliers)

    def _equal(self, tilt: Array, joint: Array, ratios: Array) -> Array | None:
        """Return the cheapest tilt [m, n] for the law u [m, n] that equalises the losses of ties
        after the shares were rounded.

        A change δ with Σ_j u_ij δ_ij = 0 in every group leaves h_i unchanged to first order, and
        costs Σ_ij u_ij δ_ij² / (2 μ). The change of u by a share, minus its mass times the
        posterior, is computed from deviations and from ratios minus one [m, n], which are small
        for rare values.
        """
        unequal = -self._lost
        apart = self._by_deviation.copy()
        for group in self._groups:
            part = ratios[:, group.rows]
            mean = (part @ group.p_x)[:, None]
            posterior = group.p_x * (part - mean) / (1.0 + mean)
            apart[:, :, group.rows] -= group.by_mass[:, :, None] * posterior
            unequal = unequal - (group.by_joint * tilt[:, group.rows]).sum(axis=(1, 2))
        scale = np.sqrt(joint)
        effect = (apart / scale).reshape(len(apart), -1)
        size = sizes(effect)
        move = least_norm(effect / size[:, None], unequal / size)
        return None if move is None else tilt + move.reshape(tilt.shape) / scale


def _prices_of_guesses(group: _Group, here: _GroupState, tilt: Array) -> Array:
    """Return the price of the budget of each guess at the start [m]: the size of the tilt [m, k]
    along the gradient of that budget.
    """
    weights = here.mass[:, None] * group.p_x * (1.0 + here.x)
    mean = (weights * here.slope).sum(axis=1) / weights.sum(axis=1)
    spread = weights * (here.slope - mean[:, None])
    along = np.maximum((spread * here.slope).sum(axis=1), Precision.nonzero)
    return np.asarray((spread * tilt).sum(axis=1) / along)


def is_entropic(problem: Problem) -> bool:
    """Return True if there is a single constraint, on mutual information (conditional or not) or of
    perfect privacy. Then a tilt determines a law.
    """
    first, *others = problem.terms
    entropic = first.measure == MUTUAL_INFORMATION or first.measure.conditional
    return not others and (entropic or first.budget.perfect)


def proven_width(problem: Problem, at: Point, precision: Precision) -> float:
    """Return the relative width of the bracket that a vertex proves, up to rounding.

    It is a sum of terms ≥ 0: the loss of the columns relative to the best guess of each outcome,
    the infeasibility of the tilt, and the unused budgets. At a vertex Σ t·u is Σ μ times the
    leakages. A sum below 0 consists of rounding errors of large tilts, and counts by its size.
    """
    losses = problem.loss + at.tilt @ problem.p_xz
    law = plain_law(problem, at.columns)
    wasted = 0.0
    terms = zip(problem.terms, at.multipliers.tolist(), law.constraints, law.levels, strict=True)
    for number, (term, price, groups, level) in enumerate(terms):
        for rows, group in zip(term.groups, groups, strict=True):
            tilt = at.tilt[:, rows]
            if term.budget.perfect:
                over = tilt @ group.p_x
            else:
                over = term.measure.ceiling(tilt, group.p_x, price, term.level)
                over = np.maximum(over, 0.0)
            whole = len(groups) == 1
            mass = problem.p_z if whole else problem.p_xz[rows].sum(axis=0)
            losses -= over[:, None] * mass
            wasted += float(group.mass @ over)
        if term.priced and price > 0.0:
            wasted += price * max(0.0, term.level * (1.0 - precision.undercuts[number]) - level)
    losses -= losses.min(axis=0)
    error = max(float(np.vdot(at.columns, problem.loss)), Precision.nonzero)
    return abs(wasted + float(np.vdot(at.columns, losses))) / error


def exact_level(term: Term) -> float:
    """Return B of a term, not rounded upward."""
    growth = term.measure.growth
    amount = term.budget.amount
    return math.expm1(growth * amount) if growth else amount
