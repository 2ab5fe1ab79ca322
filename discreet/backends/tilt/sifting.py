"""The vertex of a problem whose measures of leakage are linear: a small linear program, solved to
the last digits.

Method: sifting. A tilt that is nearly known decides most outcomes. In the program these are summed
by their labels, and each sum counts as one outcome. Others may get the second best guess as well as
their label, so that the share that moves is merely bounded and needs no row: the dual simplex
method passes such bounds in long steps, and takes few steps for thousands of outcomes. A few, the
*candidates*, may get any guess, as sums may, so that the program has a solution that keeps the
budget. Its duals price all outcomes. Those that they contradict may next get the guess that they
had, too, or become candidates. If none is left, the solution is optimal for the whole problem.

Far from the optimum all outcomes are in the program. Its tilt need not be exact: the programs after
it take in eight outcomes for each one that was contradicted, and all of them where more were
contradicted than a program held. The first tilt of all comes from a problem of every eighth outcome
and the heavy ones, found alike. So does that of many outcomes from which the tilt at hand is too
far: a step of HiGHS that passes tens of thousands of bounds takes a tenth of a second.

With shares x_f of outcomes that move from their label to another guess, the law is linear in x. A
measure with the pieces R bounds the levels h of their maxima:

    minimise Σ_f x_f (L_guess − L_label)   subject to R u_i(x) ≤ h_iR, Σ_iR h_iR ≤ B, Σ_{f at l} x_f
                                           ≤ 1, x ≥ 0,

Σ_R h_iR ≤ B for every guess i under `Scope.SHARE`, and R u_i ≤ 0 under `Scope.POSTERIOR`. The
prices λ ≥ 0 of the first rows give the tilt t_i = Σ λ R, which is in μ V since those of one maximum
add up to μ, the price of the budget. Pieces are widened by the rounding of a law, R + a |R|, so
that the answer keeps the budget in the judge's arithmetic, too.

A simplex method answers within absolute tolerances. So the program is solved again about the
solution, with what is left of right-hand sides, bounds and reduced costs magnified to the size of
one (iterative refinement). Degenerate programs, guesses that are never made and several optima need
no treatment of their own.

Source: docs/theory.md, section 14; R. E. Bixby, J. W. Gregory, I. J. Lustig, R. E. Marsten, D. F.
Shanno, "Very large-scale linear programming: a case study in combining interior point and simplex
methods", Operations Research 40 (1992); A. M. Gleixner, D. E. Steffy, K. Wolter, "Iterative
refinement for linear programming", INFORMS Journal on Computing 28 (2016).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.backends.repairs import amounts_to_keep
from discreet.backends.tilt.point import Ending, Point
from discreet.measures.measure import Scope
from discreet.measures.registry import LINEAR
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import one_hot
from discreet.numerics.rounding import UNIT
from discreet.numerics.tilted_losses import first_least, least_two
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from highspy import Highs

_PROGRAMS = 12  # at most; from a tilt worth having one or two, from none five to eleven
# Of a program, zeros among them: more take a tenth of a second, and a nearer tilt may cost less.
_ENTRIES = 1 << 21
# Times as many columns as rows: in a program of fewer, a few pivots cost less than an interior
# point.
_BROAD = 8
_REFINED = 6  # solutions of each at most; two or three reach rounding
# Times the candidates, or the outcomes contradicted: so many may get their second best guess.
_SHARED = 8
_THINNED = 8  # of so many outcomes one is in the smaller problem that a first tilt comes from
_NEARBY = 4  # next to that tilt one of so many outcomes is in the program
# Equalized odds of two groups and two or three guesses: benchmarks/people_side_by_side.py.
_FEW_EQUATIONS = 4
_TOLERANCE = 1e-9  # of HiGHS; a refinement magnifies by its inverse at most


def is_linear(problem: Problem) -> bool:
    """Whether the problem is a linear program, of perfect privacy about a single secret one of few
    equations.

    Where they are more an interior point takes less time, and always if the secret is given
    nothing.
    """
    linear = [term.measure.name in LINEAR for term in problem.terms if term.priced]
    if not all(linear) or len(linear) + len(problem.terms) > 1:
        return all(linear)
    equations = (problem.m - 1) * (problem.n - len(problem.terms[0].groups))
    return problem.terms[0].measure.conditional and equations <= _FEW_EQUATIONS


def sifted(
    problem: Problem,
    tilt: Array,
    precision: Precision,
    columns: Array | None = None,
    gap: float = math.inf,
    far: bool = False,
    deadline: float = math.inf,
) -> tuple[Point, Ending] | None:
    """The optimal vertex of a linear problem, from a tilt [m, n]; the nearer, the sooner.

    columns: an interior estimator [m, N], where one is known: outcomes that hesitate are
    candidates. far: whether the tilt may be far off. None where HiGHS finds no solution, if a
    program would be too large, or if rounding leaves more than the relative gap. From a gap of 1e-7
    on (`Precision.drawn`), if the precision asks for less, a point within it is enough. After the
    deadline, on the clock of time.perf_counter, the answer of the last program is returned; one is
    always solved. Such points keep their budgets to the tolerances of HiGHS only. Outcomes and
    private values need positive probability.
    """
    count = problem.m * (problem.n + 1)
    shared = max(problem.N if far else 0, _SHARED * count)
    thins = _THINNED * _SHARED * count < problem.N
    if (
        far
        and thins
        and not tilt.any()
        and (few := _tilt_of_few(problem, tilt, precision, deadline)) is not None
    ):
        tilt = few
        shared = max(shared // _NEARBY, _SHARED * count)
        thins = False
    losses = problem.loss + tilt @ problem.p_xz
    labels = first_least(losses)
    widened = precision.widened
    rough = max(precision.drawn, 2.0 * precision.bracket) <= gap < math.inf
    candidates = _nearest(losses, labels, problem.p_z, count) & (not far)
    if columns is not None:
        hesitating = columns.max(axis=0) < 1.0 - Precision.certain
        candidates |= hesitating & (np.count_nonzero(hesitating) <= 4 * count)
    held = np.zeros((problem.m, problem.N), dtype=np.bool_)
    # Whether the last program had all outcomes, so that tolerances alone may contradict its duals.
    whole = False
    for _ in range(_PROGRAMS):
        if _is_too_large(problem, int(np.count_nonzero(candidates)), shared):
            return None
        last = (whole or shared <= _SHARED * count) and not rough
        small = _gathered(problem, losses, labels, candidates, shared, held)
        program = _Restricted(small, widened)
        solved = _refined(program, _REFINED if last else 1)
        if solved is None:
            if not shared:
                return None
            shared = 0  # sums may get any guess, so that there is a solution
            continue
        of_small, found, prices = program.answer(*solved)
        columns = of_small.take(small.place, axis=1)
        kept = not last or widened >= precision.certain or _keeps(problem, columns)
        late = time.perf_counter() > deadline
        if not kept and not late:
            widened *= 4.0
            continue
        priced = problem.loss + found @ problem.p_xz
        least = priced.min(axis=0)
        wasted = np.einsum("il,il->l", columns, priced - least)
        rounding = problem.loss.max(axis=0) + np.abs(found).max(axis=0) @ problem.p_xz
        wrong = wasted > precision.contradicted * rounding
        number = int(np.count_nonzero(wrong & ~candidates))
        error = float(np.vdot(columns, problem.loss))
        width = error - float(least.sum()) + program.price_of_budgets(prices)
        point = Point(columns, found, prices)
        refined = not number or (whole and width <= precision.bracket * error)
        if (rough and width <= gap * error) or (last and kept and refined):
            return (point, Ending("optimal", 0, gap)) if width <= gap * error else None
        if late:
            return point, Ending("time limit", 0, width / max(error, precision.nonzero))
        if 0 < shared < number:  # the tilt has moved too far for those in the program
            shared = problem.N
            few = None
            if thins and _THINNED**2 * _SHARED * count < problem.N:
                few = _tilt_of_few(problem, tilt, precision, deadline)
                thins = False
            if few is not None:
                losses = problem.loss + few @ problem.p_xz
                shared = max(shared // _NEARBY, _SHARED * count)
                labels = first_least(losses)
            continue
        whole = shared >= problem.N
        losses = priced
        labels = first_least(priced)
        drawn = small.alone.take(small.place) & (columns.max(axis=0) < 1.0)
        held = (columns > 0.0) & (_worst(wasted * wrong, _SHARED * count) | drawn)
        if shared <= _SHARED * count:
            count += count // 2
        shared = _SHARED * max(count, number)
        if shared <= _SHARED * count:
            candidates |= _worst(np.where(candidates, 0.0, wasted * wrong), 2 * count)
            candidates |= _nearest(losses, labels, problem.p_z, count)
    return None


def _worst(wasted: Array, most: int) -> NDArray[np.bool_]:
    """The outcomes that waste anything, at most so many: those that waste the most [N]."""
    chosen = wasted > 0.0
    if np.count_nonzero(chosen) > most:
        chosen[np.argpartition(wasted, -most)[:-most]] = False
    return chosen


def _tilt_of_few(
    problem: Problem, tilt: Array, precision: Precision, deadline: float
) -> Array | None:
    """The tilt of one of every `_THINNED` outcomes and all heavy ones, with the same budgets; None
    without a solution.
    """
    light = problem.p_z < _THINNED / problem.N
    taken = ~light
    taken[np.flatnonzero(light)[::_THINNED]] = True
    rows = np.concatenate([problem.p_xz, problem.loss])[:, taken] * np.where(
        light[taken], _THINNED, 1.0
    )
    rows /= rows[: problem.terms[0].rows.stop].sum()
    small = Problem.of_rows(rows[: problem.n], rows[problem.n :], problem.terms)
    if not (small.p_x > 0.0).all():
        return None
    found = sifted(
        small, np.zeros_like(tilt), precision, gap=precision.sampled, far=True, deadline=deadline
    )
    return None if found is None else found[0].tilt


def _is_too_large(problem: Problem, candidates: int, shared: int) -> bool:
    """Whether an interior point costs less than the program of so many candidates, where `shared`
    outcomes may move once.

    The simplex method takes about one pivot for each row, each of which costs rows × columns. A
    step of the interior point costs rows³, whatever the columns.
    """
    pieces = [
        term.measure.pieces(problem.p_x[term.rows], term.level) or ()
        for term in problem.terms
        if term.priced
    ]
    rows = candidates + problem.m * (
        sum(len(rows) for found in pieces for rows in found) + problem.n
    )
    shares = candidates * problem.m + min(shared, problem.N)
    return rows * (rows + shares) > _ENTRIES and shares > _BROAD * rows


def _nearest(losses: Array, labels: NDArray[np.intp], p_z: Array, count: int) -> NDArray[np.bool_]:
    """The outcomes whose labels are the nearest to another guess [N]."""
    if len(losses) == 1 or labels.size <= 2 * count:
        return np.ones(labels.size, dtype=np.bool_)
    least, runner = np.partition(losses, 1, axis=0)[:2]
    chosen = np.zeros(labels.size, dtype=np.bool_)
    chosen[np.argpartition((runner - least) / p_z, count - 1)[:count]] = True
    return chosen


@dataclass(frozen=True, eq=False)
class _Small:
    """K outcomes, of which the last are sums of others by label; deviations are sums, too, and not
    formed again.

    place: of every outcome of the problem among them [N]; labels [K]; others: the guesses to which
    each may move [m, K]; alone: which are no sums [K].
    """

    problem: Problem
    p_xz: Array
    p_z: Array
    deviations: Array
    loss: Array
    labels: NDArray[np.intp]
    place: NDArray[np.intp]
    others: NDArray[np.bool_]
    alone: NDArray[np.bool_]


def _gathered(
    problem: Problem,
    losses: Array,
    labels: NDArray[np.intp],
    candidates: NDArray[np.bool_],
    shared: int,
    held: NDArray[np.bool_],
) -> _Small:
    """Candidates and sums may get any guess; `shared` others the second best one and what they hold
    [m, N].
    """
    near = candidates
    if shared:
        near = (
            candidates
            | held.any(axis=0)
            | _nearest(losses, labels, problem.p_z, min(shared, problem.N))
        )
    alone = np.flatnonzero(near)
    used = np.unique(labels[~near])
    rest = (one_hot(labels, problem.m)[used] * ~near).T

    def summed(rows: Array) -> Array:
        return (
            np.concatenate([rows.take(alone, axis=-1), rows @ rest], axis=-1) if used.size else rows
        )

    place = alone.size + np.searchsorted(used, labels)
    place[alone] = np.arange(alone.size)
    p_xz, p_z, deviations, loss = map(
        summed, (problem.p_xz, problem.p_z, problem.deviations, problem.loss)
    )
    others = one_hot(np.concatenate([labels[alone], used]), problem.m) == 0.0
    one = np.flatnonzero(~candidates[alone])
    if problem.m > 2 and one.size:
        second = least_two(losses[:, alone[one]])[2]
        every = np.arange(problem.m)[:, None]
        others[:, one] &= (second == every) | held[:, alone[one]]
    labels = np.concatenate([labels[alone], used])
    single = np.arange(alone.size + used.size) < alone.size
    return _Small(problem, p_xz, p_z, deviations, loss, labels, place, others, single)


class _Restricted:
    """min cost·x with matrix x = right and least ≤ x ≤ most, for shares, levels, and slacks of all
    rows, in this order.

    Outcomes that may get one other guess have no row: their share is at most 1.
    """

    def __init__(self, small: _Small, widened: float) -> None:
        self._small = small
        self._guesses, self._places = np.nonzero(small.others)
        self._own = small.labels[self._places]
        self.scale = np.sqrt(small.p_z[self._places] / small.p_z.max())  # of shares in the program
        lost = (
            small.loss[self._guesses, self._places] - small.loss[self._own, self._places]
        ) / self.scale
        self._unit = float(np.abs(lost).max(initial=0.0)) or 1.0
        self._bounds = [_bound(small, term, widened) for term in small.problem.terms]
        alternatives = np.bincount(self._places, minlength=small.labels.size)
        tied = np.flatnonzero(alternatives > 1)
        self._row = np.full(small.labels.size, -1)  # of each outcome
        self._row[tied] = np.arange(tied.size)
        self._starts = tied.size + np.cumsum([0, *(bound.right.size for bound in self._bounds)])
        self.right = np.concatenate(
            [np.sqrt(small.p_z[tied] / small.p_z.max()), *(bound.right for bound in self._bounds)]
        )
        levels = sum(bound.of_levels.shape[1] for bound in self._bounds)
        self._levels = np.zeros((self.right.size - tied.size, levels))
        right = 0
        for bound, start in zip(self._bounds, self._starts - tied.size, strict=False):
            down, across = bound.of_levels.shape
            self._levels[start : start + down, right : right + across] = bound.of_levels
            right += across
        self.shares = lost.size
        self.free = slice(lost.size, lost.size + levels)
        self.cost = np.concatenate([lost / self._unit, np.zeros(levels + self.right.size)])
        self.least = np.zeros(self.cost.size)
        self.most = np.full(self.cost.size, math.inf)
        self.least[self.free] = -math.inf
        self.most[: lost.size] = np.where(alternatives[self._places] > 1, math.inf, self.scale)
        for bound, start in zip(self._bounds, self.free.stop + self._starts, strict=False):
            if isinstance(bound, _Equations):
                self.most[start : start + bound.right.size] = 0.0

    def entries(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """The matrix by columns: how many entries each has, rows, and values."""
        own = self._row[self._places][:, None]
        rows = [own]
        values = [np.ones_like(own, dtype=np.float64)]
        there = [own >= 0]
        for bound, start in zip(self._bounds, self._starts, strict=False):
            effect = bound.effect.T[self._places] / self.scale[:, None]
            for guess, signed in ((self._guesses, effect), (self._own, -effect)):
                rows.append(
                    (start + guess * len(bound.effect))[:, None] + np.arange(len(bound.effect))
                )
                values.append(signed)
                there.append(np.logical_and((guess < bound.guesses)[:, None], signed != 0.0))
        used = np.concatenate(there, axis=1)
        row, column = np.nonzero(self._levels)
        order = np.argsort(column, kind="stable")
        tied = self.right.size - len(self._levels)
        slacks = np.arange(self.right.size)
        of_shares = np.count_nonzero(used, axis=1)
        of_levels = np.bincount(column, minlength=self._levels.shape[1])
        counts = np.concatenate([of_shares, of_levels, np.ones_like(slacks)])
        every = np.concatenate([np.concatenate(rows, axis=1)[used], tied + row[order], slacks])
        levels = self._levels[row[order], column[order]]
        return (
            counts,
            every,
            np.concatenate([np.concatenate(values, axis=1)[used], levels, np.ones(slacks.size)]),
        )

    def answer(self, variables: Array, prices: Array) -> tuple[Array, Array, Array]:
        """Columns of the outcomes [m, K], tilt [m, n], and the prices of the terms' budgets.

        Probabilities are multiples of 2⁻⁵³ times the size of the mass of their guess, so that those
        of a rare one have as many digits. A guess that is made by rounding only is never made.
        """
        small = self._small
        problem = self._small.problem
        columns = np.zeros((problem.m, small.labels.size))
        every = np.arange(small.labels.size)
        columns[self._guesses, self._places] = np.clip(
            variables[: self._places.size] / self.scale, 0.0, 1.0
        )
        columns[small.labels, every] = np.maximum(1.0 - columns.sum(axis=0), 0.0)
        mass = columns @ small.p_z
        made = mass >= Precision.rank
        columns[~made] = 0.0
        grid = UNIT * np.exp2(np.floor(np.log2(np.maximum(mass, Precision.rank))))[:, None]
        columns = np.rint(columns / grid) * grid
        columns[np.where(made[:, None], columns, -1.0).argmax(axis=0), every] += 1.0 - columns.sum(
            axis=0
        )
        tilt = np.zeros((problem.m, problem.n))
        budgets = np.zeros(len(self._bounds))
        for k, (bound, term) in enumerate(zip(self._bounds, problem.terms, strict=True)):
            each, price = bound.duals(prices[self._starts[k] : self._starts[k + 1]])
            tilt[:, term.rows] = self._unit * each
            budgets[k] = self._unit * price
        return columns, tilt, budgets

    def price_of_budgets(self, prices: Array) -> float:
        """Σ μ B over the terms."""
        terms = self._small.problem.terms
        return math.fsum(
            price * _level(term)
            for term, price in zip(terms, prices.tolist(), strict=True)
            if term.priced
        )


def _bound(small: _Small, term: Term, widened: float) -> _Bound | _Equations:
    return (_Bound if term.priced else _Equations)(small, term, widened)


class _Equations:
    """The rows of a secret that must not leak, u_i = s_i π for all guesses but the last; or none,
    without a constraint.

    Only independent combinations of private values are rows: more would be inconsistent in their
    last digits.

    effect: of moving an outcome to a guess, on the rows of that guess [P, K]; guesses: how many
    have rows.
    """

    def __init__(self, small: _Small, term: Term, _: float) -> None:
        root = np.sqrt(small.problem.p_x[term.rows])
        features = small.deviations[term.rows] / root[:, None] / np.sqrt(small.p_z)
        left, values, _right = np.linalg.svd(features, full_matrices=False)
        kept = (values > Precision.rank) & term.budget.perfect
        self._combined = (left[:, kept] / values[kept]).T / root
        self.effect = self._combined @ small.deviations[term.rows]
        self.guesses = small.problem.m - 1
        self.right = -(self.effect @ one_hot(small.labels, small.problem.m)[:-1].T).T.ravel()
        self.of_levels = np.zeros((self.right.size, 0))
        self._price = math.inf if term.budget.perfect else 0.0

    def duals(self, prices: Array) -> tuple[Array, float]:
        """Tilt [m, n] and multiplier from the prices of the rows."""
        own = prices.reshape(self.guesses, -1) @ self._combined
        return np.concatenate([own, np.zeros((1, own.shape[1]))]), self._price


class _Bound:
    """The rows of a term: its pieces for every guess, and then its budget, or one for each guess.

    effect     of moving an outcome to a guess, on the pieces of that guess [P, K]; guesses: how
               many have pieces
    of_levels  coefficients of the levels; right: right-hand sides
    """

    def __init__(self, small: _Small, term: Term, widened: float) -> None:
        measure = term.measure
        p_x = small.problem.p_x[term.rows]
        m = small.problem.m
        level = _level(term) * (1.0 - Precision.inside)
        pieces = measure.pieces(p_x, level)
        assert pieces is not None
        self._pieces = np.vstack(pieces)
        self.guesses = m
        count = len(pieces)
        mean = self._pieces @ p_x
        size = np.abs(self._pieces)
        mean[np.abs(mean) <= 2 * (p_x.size + 2) * UNIT * (size @ p_x)] = 0.0
        effect = self._pieces @ small.deviations[term.rows] + mean[:, None] * small.p_z
        wide = np.full(len(size), widened)
        if level == 0.0:  # of equations nothing may be widened
            wide[mean == 0.0] = 0.0
        effect += wide[:, None] * (size @ small.p_xz[term.rows])
        self._unit = max(level, float(np.abs(effect).max())) or 1.0
        effect /= self._unit
        self.effect = effect
        self.right = -(effect @ one_hot(small.labels, m).T).T.ravel()
        self.of_levels = np.zeros((self.right.size, 0))
        if measure.scope is not Scope.POSTERIOR:
            # The level of each piece.
            own = np.repeat(np.eye(count), [len(each) for each in pieces], axis=0)
            sums = (
                np.repeat(np.eye(m), count, axis=1)
                if measure.scope is Scope.SHARE
                else np.ones((1, m * count))
            )
            self.of_levels = np.vstack([np.kron(np.eye(m), -own), sums])
            self.right = np.append(self.right, np.full(len(sums), level / self._unit))

    def duals(self, prices: Array) -> tuple[Array, float]:
        """Tilt [m, n] and multiplier from the prices ≥ 0 of the rows."""
        own = prices[: self.guesses * len(self._pieces)]
        return own.reshape(self.guesses, -1) @ self._pieces / self._unit, float(
            prices[own.size :].sum()
        ) / self._unit


def _level(term: Term) -> float:
    """B, not rounded upward."""
    growth = term.measure.growth
    amount = term.budget.amount
    return math.expm1(growth * amount) if growth else amount


def _refined(program: _Restricted, times: int) -> tuple[Array, Array] | None:
    """Solution, and prices λ ≥ 0 of the rows; None where HiGHS finds none.

    times: how often at most it is solved. Once is to the tolerance of HiGHS, `_REFINED` times as
    exact as rounding allows.
    """
    counts, row, values = program.entries()
    solver = _solver(program, counts, row, values)
    found = _solution(solver)
    if found is None or times == 1:
        return None if found is None else (found[0], -found[1])
    rows = program.right.size
    count = program.cost.size
    column = np.repeat(np.arange(count), counts)
    free = np.isinf(program.least)
    bounded = np.isfinite(program.most)
    every = np.arange(count, dtype=np.int32)
    down_to = np.arange(rows, dtype=np.int32)
    most = np.where(bounded, program.most, 0.0)
    x = np.zeros(count)
    y = np.zeros(rows)
    across = 1.0
    down = 1.0
    best: tuple[Array, Array] | None = None
    least_off = math.inf
    rounding = 4.0 * UNIT
    for _ in range(times):
        if found is None:
            break
        x = x + found[0] / across
        y = y + found[1] / down
        terms = values * x[column]
        missing = program.right - np.bincount(row, terms, rows)
        reduced = program.cost - np.bincount(column, values * y[row], count)
        below = float(
            np.maximum(
                np.where(free, 0.0, program.least - x), np.where(bounded, x - most, 0.0)
            ).max(initial=0.0)
        )
        unpriced = float(
            np.where(bounded, 0.0, np.maximum(-reduced, np.where(free, reduced, 0.0))).max(
                initial=0.0
            )
        )
        inside = np.where(bounded & (reduced < 0.0), most - x, x)
        wasted = float(np.abs(reduced * np.where(free, 0.0, inside)).max(initial=0.0))
        lacks = float(np.abs(missing).max(initial=0.0))
        off = max(below, unpriced, wasted, lacks)
        if not off <= max(least_off, rounding):
            break
        best = (x, -y)
        least_off = off
        sizes = np.bincount(row, np.abs(terms), rows)
        # Also of the rows of rare guesses.
        if off <= rounding and (np.abs(missing) <= rounding * sizes).all():
            break
        across = min(across / _TOLERANCE, 1.0 / max(lacks, below, UNIT * UNIT))
        down = min(down / _TOLERANCE, 1.0 / max(unpriced, UNIT))
        solver.setOptionValue("objective_bound", math.inf)
        solver.changeColsCost(count, every, down * reduced)
        solver.changeColsBounds(
            count, every, across * (program.least - x), across * (program.most - x)
        )
        solver.changeRowsBounds(rows, down_to, across * missing, across * missing)
        found = _solution(solver)
    return best


def _solver(
    program: _Restricted, counts: NDArray[np.intp], row: NDArray[np.intp], values: Array
) -> Highs:
    """HiGHS with the program."""
    import highspy

    solver = highspy.Highs()
    rows = program.right.size
    columns = program.cost.size
    options = {
        "output_flag": False,
        "presolve": "off",
        "solver": "simplex",
        "small_matrix_value": 1e-12,
    }
    options |= dict.fromkeys(
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), _TOLERANCE
    )
    # No solution costs more, so duals that promise more show that there is none: a step towards
    # these can take seconds.
    options["objective_bound"] = 1.0 + 2.0 * float(
        np.abs(program.cost[: program.shares]) @ program.scale
    )
    for name, value in options.items():
        solver.setOptionValue(name, value)
    starts = np.cumsum(counts) - counts
    solver.passModel(
        columns,
        rows,
        values.size,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        program.cost,
        program.least,
        program.most,
        program.right,
        program.right,
        starts.astype(np.int32),
        row.astype(np.int32),
        values,
        np.zeros(columns, dtype=np.int32),
    )
    return solver


def _solution(solver: Highs) -> tuple[Array, Array] | None:
    """Values of the variables and duals of the rows; None unless they are optimal."""
    import highspy

    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual)


def _keeps(problem: Problem, columns: Array) -> bool:
    """Whether columns [m, N] keep all budgets, also if the masses of outcomes are rounded once.

    The judge moves secrets that must not leak to exact privacy, by up to the rounding of sums,
    which the others feel.
    """
    moved = (
        Precision.leak_free
        if any(term.budget.perfect for term in problem.terms)
        else Precision.entry
    )
    ceilings = problem.law(columns).ceilings(moved).tolist()
    return all(
        not term.priced or ceiling <= amount
        for term, ceiling, amount in zip(
            problem.terms, ceilings, amounts_to_keep(problem), strict=True
        )
    )
