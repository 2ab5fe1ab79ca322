"""The vertex of a problem whose measures of leakage are linear: a small linear program, solved to
the last digits.

Method: sifting. A nearly known tilt decides most outcomes. In the program these are summed by
label, and each sum counts as one outcome. Some others may get their second best guess besides their
label; the share that moves is only bounded and needs no row, and the dual simplex method passes
such bounds in long steps, so it takes few steps for thousands of outcomes. A few outcomes, the
*candidates*, and the sums may get any guess, so the program has a solution that keeps the budget.
Its duals price all outcomes. Outcomes that contradict the duals may, in the next program, also get
the guess that they had, or become candidates. If none is left, the solution is optimal for the
whole problem.

Far from the optimum all outcomes are in the program. Its tilt need not be exact: each later program
includes eight outcomes for each contradicted one, and all of them if more were contradicted than a
program contained. The very first tilt comes from a problem of every eighth outcome and the heavy
ones, solved in the same way. So does the first tilt for many outcomes when the given tilt is too
far: a step of HiGHS that passes tens of thousands of bounds takes a tenth of a second.

With shares x_f of outcomes that move from their label to another guess, the law is linear in x. A
measure with the pieces R bounds the levels h of their maxima:

    minimise Σ_f x_f (L_guess − L_label)
    subject to R u_i(x) ≤ h_iR,  Σ_iR h_iR ≤ B,  Σ_{f at l} x_f ≤ 1,  x ≥ 0,

with Σ_R h_iR ≤ B for every guess i under `Scope.SHARE`, and R u_i ≤ 0 under `Scope.POSTERIOR`. The
prices λ ≥ 0 of the first rows give the tilt t_i = Σ λ R, which lies in μ V because the prices of
one maximum sum to μ, the price of the budget. The pieces are widened by the rounding error of a
law, R + a |R|, so that the answer also keeps the budget in the judge's arithmetic.

A simplex method is accurate to absolute tolerances only. So the program is solved again about its
solution, with the residuals of right-hand sides, bounds and reduced costs magnified to size one
(iterative refinement). Degenerate programs, guesses that never occur and multiple optima need no
special treatment.

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
from discreet.backends.tilt.model import Ending, Point
from discreet.backends.tilt.vertex import exact_level
from discreet.lazy import cached_property
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

_PROGRAMS = 12  # most programs; a good tilt takes one or two, none at all five to eleven
# Most entries of a program, counting zeros: more take a tenth of a second, and a closer tilt may
# cost less.
_ENTRIES = 1 << 21
# With fewer columns than this multiple of the rows, a few pivots cost less than an interior point.
_BROAD = 8
_REFINED = 6  # most solutions of each program; two or three reach rounding accuracy
# This multiple of the candidates, or of the contradicted outcomes, may get their second best guess.
_SHARED = 8
_THINNED = 8  # the smaller problem of a first tilt contains one in this many outcomes
_NEARBY = 4  # next to that tilt the program contains one in this many outcomes
# Equalized odds of two groups and two or three guesses: benchmarks/people_side_by_side.py.
_FEW_EQUATIONS = 4
# Pivots for each row and column: a program takes up to twice as many as rows and columns, one that
# cycles any number.
_PIVOTS = 20
_TOLERANCE = 1e-9  # tolerance of HiGHS; a refinement magnifies by at most its inverse


def is_linear(problem: Problem) -> bool:
    """Return True if the problem is a linear program; for a single secret under perfect privacy,
    only if it has few equations.

    With more equations an interior point takes less time, as it does for unconditional perfect
    privacy.
    """
    linear = [term.measure.name in LINEAR for term in problem.terms if term.priced]
    if not all(linear) or len(linear) + len(problem.terms) > 1:
        return all(linear)
    equations = (problem.m - 1) * (problem.n - len(problem.terms[0].groups))
    return problem.terms[0].measure.conditional and equations <= _FEW_EQUATIONS


def solve_by_sifting(
    problem: Problem,
    tilt: Array,
    precision: Precision,
    columns: Array | None = None,
    gap: float = math.inf,
    far: bool = False,
    deadline: float = math.inf,
) -> tuple[Point, Ending] | None:
    """Return the optimal vertex of a linear problem, starting from a tilt [m, n]; a closer tilt
    takes less time.

    columns: an interior estimator [m, N] if known, whose undecided outcomes become candidates. far:
    whether the tilt may be far from the optimum. Return None if HiGHS finds no solution, or if a
    program would be too large. The ending is "stalled" if rounding leaves more than the relative
    gap. If `gap` is at least 1e-7 (`Precision.drawn`) and looser than the precision requires, stop
    once the bracket is within `gap`. After the deadline, on the clock of time.perf_counter, return
    the answer of the last program; at least one is always solved. Such points keep their budgets
    only to the tolerances of HiGHS. Outcomes and private values need positive probability.
    """
    sifting = _Sifting(problem, precision, gap, deadline)
    if far:
        sifting.start_far(tilt)
    else:
        sifting.start_near(tilt, columns)
    return sifting.run()


@dataclass(frozen=True, eq=False)
class _Answer:
    """The answer of a program for the whole problem.

    small   outcomes of the program
    point   columns of all outcomes, tilt and multipliers
    losses  of all outcomes under the tilt                              [m, N]
    wasted  loss of each outcome beyond its best guess under the tilt   [N]
    wrong   where this exceeds rounding                                 [N]
    error   error probability
    width   width of the bracket
    """

    small: _Small
    point: Point
    losses: Array
    wasted: Array
    wrong: NDArray[np.bool_]
    error: float
    width: float

    def ending(self, reason: str) -> Ending:
        """The end with that reason, at this answer."""
        return Ending(reason, 0, self.width / max(self.error, Precision.nonzero))


class _Sifting:
    """The sequence of programs for one problem.

    losses      under the tilt that the next program starts from [m, N], and their labels [N]
    candidates  the outcomes that may get any guess              [N]
    shared      number of other outcomes that may get their second best guess; 0: the sums may get
                any guess
    held        guesses that these may get in addition           [m, N]
    widened     the relative widening of the pieces
    whole       whether the last program contained all outcomes, so that only tolerances can
                contradict its duals
    thins       whether a tilt may still come from few outcomes
    """

    def __init__(self, problem: Problem, precision: Precision, gap: float, deadline: float) -> None:
        self._problem = problem
        self._precision = precision
        self._gap = gap
        self._deadline = deadline
        # A point within the gap is sufficient.
        self._rough = max(precision.drawn, 2.0 * precision.bracket) <= gap < math.inf
        self._count = problem.m * (problem.n + 1)
        self._candidates = np.zeros(problem.N, dtype=np.bool_)
        self._shared = _SHARED * self._count
        self._held = np.zeros((problem.m, problem.N), dtype=np.bool_)
        self._widened = precision.widened
        self._whole = False
        self._thins = _THINNED * self._shared < problem.N

    # -- the start
    # ----------------------------------------------------------------------------------------------

    def start_near(self, tilt: Array, columns: Array | None) -> None:
        """Make candidates of the outcomes closest to a decision boundary, and of the undecided
        ones.
        """
        self._price(tilt)
        self._candidates = self._nearest(self._count)
        if columns is not None:
            hesitating = columns.max(axis=0) < 1.0 - Precision.certain
            few = np.count_nonzero(hesitating) <= 4 * self._count
            self._candidates |= hesitating & few

    def start_far(self, tilt: Array) -> None:
        """Put all outcomes into the program, or those close to the tilt of few outcomes."""
        self._shared = max(self._problem.N, self._shared)
        self._tilt = tilt
        if not (self._thins and not tilt.any() and self._start_next_to_few()):
            self._price(tilt)

    def _start_next_to_few(self) -> bool:
        """Start from the tilt of few outcomes; return False if they have none."""
        self._thins = False
        few = self._tilt_of_few()
        if few is None:
            return False
        self._price(few)
        self._shared = max(self._problem.N // _NEARBY, _SHARED * self._count)
        return True

    def _price(self, tilt: Array) -> None:
        self._tilt = tilt
        self._losses = self._problem.loss + tilt @ self._problem.p_xz
        self._labels = first_least(self._losses)

    # -- the programs
    # ----------------------------------------------------------------------------------------------

    @property
    def _has_few_outcomes(self) -> bool:
        """True if a program has few outcomes other than the candidates."""
        return self._shared <= _SHARED * self._count

    def run(self) -> tuple[Point, Ending] | None:
        """Solve programs until one is optimal for the whole problem."""
        for _ in range(_PROGRAMS):
            if self._is_too_large():
                return None
            exact = (self._whole or self._has_few_outcomes) and not self._rough
            answer = self._solve_restricted(_REFINED if exact else 1)
            if answer is None:
                if not self._shared:
                    return None
                self._shared = 0  # the sums may get any guess, which guarantees a solution
                continue
            widest = self._widened >= self._precision.certain
            kept = not exact or widest or keeps_budgets(self._problem, answer.point.columns)
            late = time.perf_counter() > self._deadline
            if not kept and not late:
                if not self._relabel(answer):
                    self._widened *= 4.0
                continue
            within = answer.width <= self._gap * answer.error
            if self._is_optimal(answer, exact and kept) or (self._rough and within):
                return answer.point, answer.ending("optimal" if within else "stalled")
            if late:
                return answer.point, answer.ending("time limit")
            if 0 < self._shared < self._contradictions(answer):
                self._restart()
            else:
                self._continue(answer)
        return None

    def _solve_restricted(self, times: int) -> _Answer | None:
        problem = self._problem
        small = self._gather()
        program = _Restricted(small, self._widened)
        solution = _refine_program(program, times)
        if solution is None:
            return None
        of_small, tilt, prices = program.answer(*solution)
        columns = of_small.take(small.place, axis=1)
        losses = problem.loss + tilt @ problem.p_xz
        least = losses.min(axis=0)
        wasted = np.einsum("il,il->l", columns, losses - least)
        rounding = problem.loss.max(axis=0) + np.abs(tilt).max(axis=0) @ problem.p_xz
        wrong = wasted > self._precision.contradicted * rounding
        error = float(np.vdot(columns, problem.loss))
        width = error - float(least.sum()) + program.price_of_budgets(prices)
        return _Answer(small, Point(columns, tilt, prices), losses, wasted, wrong, error, width)

    def _relabel(self, answer: _Answer) -> bool:
        """Label each outcome of the program by its likeliest guess; whether that changes a label.

        What a label keeps is one less the shares that move, which has few digits if it is small.
        """
        likeliest = answer.point.columns.argmax(axis=0)
        changed = (likeliest != self._labels) & answer.small.alone.take(answer.small.place)
        self._labels = np.where(changed, likeliest, self._labels)
        self._held |= changed & (answer.point.columns > 0.0)
        return bool(changed.any())

    def _contradictions(self, answer: _Answer) -> int:
        """Return the number of outcomes that contradict the duals and were not candidates."""
        return int(np.count_nonzero(answer.wrong & ~self._candidates))

    def _is_optimal(self, answer: _Answer, exact: bool) -> bool:
        narrow = answer.width <= self._precision.bracket * answer.error
        return exact and (not self._contradictions(answer) or (self._whole and narrow))

    def _restart(self) -> None:
        """Restart with all outcomes, or next to the tilt of few, because the tilt has moved too far
        for the outcomes of the program.
        """
        thins = self._thins and _THINNED**2 * _SHARED * self._count < self._problem.N
        self._thins = self._thins and not thins
        if not (thins and self._start_next_to_few()):
            self._shared = self._problem.N

    def _continue(self, answer: _Answer) -> None:
        """Start the next program at the tilt of this one, with more of the outcomes that contradict
        its duals.
        """
        number = self._contradictions(answer)
        small = answer.small
        columns = answer.point.columns
        wasted = answer.wasted * answer.wrong
        self._whole = self._shared >= self._problem.N
        self._tilt = answer.point.tilt
        self._losses = answer.losses
        self._labels = first_least(answer.losses)
        drawn = small.alone.take(small.place) & (columns.max(axis=0) < 1.0)
        self._held = (columns > 0.0) & (_worst(wasted, _SHARED * self._count) | drawn)
        if self._has_few_outcomes:
            self._count += self._count // 2
        self._shared = _SHARED * max(self._count, number)
        if self._has_few_outcomes:
            fresh = np.where(self._candidates, 0.0, wasted)
            self._candidates |= _worst(fresh, 2 * self._count)
            self._candidates |= self._nearest(self._count)

    def _tilt_of_few(self) -> Array | None:
        """Return the tilt of one in every `_THINNED` outcomes and all heavy ones, with the same
        budgets; None without a solution.
        """
        problem = self._problem
        light = problem.p_z < _THINNED / problem.N
        taken = ~light
        taken[np.flatnonzero(light)[::_THINNED]] = True
        weights = np.where(light[taken], _THINNED, 1.0)
        rows = np.concatenate([problem.p_xz, problem.loss])[:, taken] * weights
        rows /= rows[: problem.terms[0].rows.stop].sum()
        small = Problem.of_rows(rows[: problem.n], rows[problem.n :], problem.terms)
        if not (small.p_x > 0.0).all():
            return None
        precision = self._precision
        few = _Sifting(small, precision, precision.sampled, self._deadline)
        few.start_far(np.zeros_like(self._tilt))
        result = few.run()
        return None if result is None else result[0].tilt

    # -- the outcomes of a program
    # ----------------------------------------------------------------------------------------------

    def _is_too_large(self) -> bool:
        """Return True if an interior point costs less than the program.

        The simplex method takes about one pivot for each row, at a cost of rows × columns. A step
        of the interior point costs rows³, whatever the number of columns.
        """
        problem = self._problem
        candidates = int(np.count_nonzero(self._candidates))
        rows = candidates + problem.m * problem.n
        for term in problem.terms:
            pieces = term.measure.pieces(problem.p_x[term.rows], term.level) if term.priced else ()
            rows += problem.m * sum(map(len, pieces or ()))
        shares = candidates * problem.m + min(self._shared, problem.N)
        return rows * (rows + shares) > _ENTRIES and shares > _BROAD * rows

    def _nearest(self, count: int) -> NDArray[np.bool_]:
        """Return the outcomes with the smallest margins between their label and another
        guess [N].
        """
        m, outcomes = self._losses.shape
        if m == 1 or outcomes <= 2 * count:
            return np.ones(outcomes, dtype=np.bool_)
        least, runner = np.partition(self._losses, 1, axis=0)[:2]
        chosen = np.zeros(outcomes, dtype=np.bool_)
        chosen[np.argpartition((runner - least) / self._problem.p_z, count - 1)[:count]] = True
        return chosen

    def _gather(self) -> _Small:
        """Return the outcomes of the next program: the candidates and the outcomes with a choice
        one by one, and sums of all others by label.
        """
        problem = self._problem
        alone_mask = self._candidates
        if self._shared:
            nearest = self._nearest(min(self._shared, problem.N))
            alone_mask = alone_mask | self._held.any(axis=0) | nearest
        alone = np.flatnonzero(alone_mask)
        used = np.unique(self._labels[~alone_mask])
        rest = (one_hot(self._labels, problem.m)[used] * ~alone_mask).T

        def summed(rows: Array) -> Array:
            own = rows.take(alone, axis=-1)
            return np.concatenate([own, rows @ rest], axis=-1) if used.size else rows

        place = alone.size + np.searchsorted(used, self._labels)
        place[alone] = np.arange(alone.size)
        labels = np.concatenate([self._labels[alone], used])
        others = one_hot(labels, problem.m) == 0.0
        one = np.flatnonzero(~self._candidates[alone])
        if problem.m > 2 and one.size:
            second = least_two(self._losses[:, alone[one]])[2]
            guesses = np.arange(problem.m)[:, None]
            others[:, one] &= (second == guesses) | self._held[:, alone[one]]
        return _Small(
            problem,
            summed(problem.p_xz),
            summed(problem.p_z),
            summed(problem.deviations),
            summed(problem.loss),
            labels,
            place,
            others,
            np.arange(labels.size) < alone.size,
        )


def _worst(wasted: Array, most: int) -> NDArray[np.bool_]:
    """Return the outcomes with positive waste, and of these at most this number: those with the
    most [N].
    """
    chosen = wasted > 0.0
    if np.count_nonzero(chosen) > most:
        chosen[np.argpartition(wasted, -most)[:-most]] = False
    return chosen


@dataclass(frozen=True, eq=False)
class _Small:
    """K outcomes, the last of which are sums of others by label. Deviations are sums too; they are
    not recomputed.

    place: index among them of each outcome of the problem [N]; labels [K]; others: the guesses to
    which each may move [m, K]; alone: True for outcomes that are not sums [K].
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


class _Restricted:
    """min cost·x subject to matrix x = right and least ≤ x ≤ most. The variables are shares,
    levels, and slacks of all rows, in this order.

    An outcome with a single other guess has no row: its share is at most 1.
    """

    def __init__(self, small: _Small, widened: float) -> None:
        self._small = small
        self._guesses, self._places = np.nonzero(small.others)
        self._own = small.labels[self._places]
        # scale of shares in the program
        self.scale = np.sqrt(small.p_z[self._places] / small.p_z.max())
        lost = (
            small.loss[self._guesses, self._places] - small.loss[self._own, self._places]
        ) / self.scale
        self._unit = float(np.abs(lost).max(initial=0.0)) or 1.0
        self._bounds = [_bound(small, term, widened) for term in small.problem.terms]
        alternatives = np.bincount(self._places, minlength=small.labels.size)
        tied = np.flatnonzero(alternatives > 1)
        self._row = np.full(small.labels.size, -1)  # the row of each outcome, −1 if none
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
        """Return the matrix by columns: the number of entries in each, rows, and values."""
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
        all_rows = np.concatenate([np.concatenate(rows, axis=1)[used], tied + row[order], slacks])
        levels = self._levels[row[order], column[order]]
        return (
            counts,
            all_rows,
            np.concatenate([np.concatenate(values, axis=1)[used], levels, np.ones(slacks.size)]),
        )

    def answer(self, variables: Array, prices: Array) -> tuple[Array, Array, Array]:
        """Return columns of the outcomes [m, K], the tilt [m, n], and the prices of the terms'
        budgets.

        Probabilities are rounded to multiples of 2⁻⁵³ times the size of the guess's mass, so that
        rare guesses keep as many digits. A guess that only rounding makes is never made.
        """
        small = self._small
        problem = self._small.problem
        columns = np.zeros((problem.m, small.labels.size))
        outcomes = np.arange(small.labels.size)
        columns[self._guesses, self._places] = np.clip(
            variables[: self._places.size] / self.scale, 0.0, 1.0
        )
        columns[small.labels, outcomes] = np.maximum(1.0 - columns.sum(axis=0), 0.0)
        mass = columns @ small.p_z
        made = mass >= Precision.rank
        columns[~made] = 0.0
        grid = UNIT * np.exp2(np.floor(np.log2(np.maximum(mass, Precision.rank))))[:, None]
        columns = np.rint(columns / grid) * grid
        columns[np.where(made[:, None], columns, -1.0).argmax(axis=0), outcomes] += (
            1.0 - columns.sum(axis=0)
        )
        tilt = np.zeros((problem.m, problem.n))
        budgets = np.zeros(len(self._bounds))
        for k, (bound, term) in enumerate(zip(self._bounds, problem.terms, strict=True)):
            each, price = bound.duals(prices[self._starts[k] : self._starts[k + 1]])
            tilt[:, term.rows] = self._unit * each
            budgets[k] = self._unit * price
        return columns, tilt, budgets

    def price_of_budgets(self, prices: Array) -> float:
        """Return Σ μ B over the terms."""
        terms = self._small.problem.terms
        return math.fsum(
            price * exact_level(term)
            for term, price in zip(terms, prices.tolist(), strict=True)
            if term.priced
        )


def _bound(small: _Small, term: Term, widened: float) -> _Bound | _Equations:
    return (_Bound if term.priced else _Equations)(small, term, widened)


class _Equations:
    """The rows of a secret under perfect privacy, u_i = s_i π for all guesses but the last; no rows
    without a constraint.

    Only independent combinations of private values become rows, since dependent ones would be
    inconsistent in their last digits.

    effect: change of the rows of a guess when an outcome moves to it [P, K]; guesses: number of
    guesses with rows.
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
        """Return the tilt [m, n] and the multiplier from the prices of the rows."""
        own = prices.reshape(self.guesses, -1) @ self._combined
        return np.concatenate([own, np.zeros((1, own.shape[1]))]), self._price


class _Bound:
    """The rows of a term: its pieces for every guess, followed by its budget, or one budget for
    each guess.

    effect     change of the pieces of a guess when an outcome moves to it [P, K]; guesses: number
               of guesses with pieces
    of_levels  coefficients of the levels; right: right-hand sides
    """

    def __init__(self, small: _Small, term: Term, widened: float) -> None:
        measure = term.measure
        p_x = small.problem.p_x[term.rows]
        m = small.problem.m
        level = exact_level(term) * (1.0 - Precision.inside)
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
        if level == 0.0:  # equations may not be widened
            wide[mean == 0.0] = 0.0
        effect += wide[:, None] * (size @ small.p_xz[term.rows])
        if level == 0.0:
            # What equations of all guesses add up to is rounding, which outcomes share.
            even = mean == 0.0
            over = effect[even].sum(axis=1) + UNIT * np.abs(effect[even]).sum(axis=1)
            effect[even] -= over[:, None] * (small.p_z / small.p_z.sum())
        self._unit = max(level, float(np.abs(effect).max())) or 1.0
        effect /= self._unit
        self.effect = effect
        self.right = -(effect @ one_hot(small.labels, m).T).T.ravel()
        self.of_levels = np.zeros((self.right.size, 0))
        if measure.scope is not Scope.POSTERIOR:
            # the level of each piece
            own = np.repeat(np.eye(count), [len(each) for each in pieces], axis=0)
            sums = (
                np.repeat(np.eye(m), count, axis=1)
                if measure.scope is Scope.SHARE
                else np.ones((1, m * count))
            )
            self.of_levels = np.vstack([np.kron(np.eye(m), -own), sums])
            self.right = np.append(self.right, np.full(len(sums), level / self._unit))

    def duals(self, prices: Array) -> tuple[Array, float]:
        """Return the tilt [m, n] and the multiplier from the prices ≥ 0 of the rows.

        If HiGHS leaves the multiplier below the prices of a piece, within its tolerance, it is
        raised to them. Otherwise rare values would lower the tilt, which costs more.
        """
        own = prices[: self.guesses * len(self._pieces)]
        pieces = -own @ self.of_levels[: own.size]
        multiplier = max(float(prices[own.size :].sum()), float(pieces.max(initial=0.0)))
        tilt = own.reshape(self.guesses, -1) @ self._pieces
        return tilt / self._unit, multiplier / self._unit


def _refine_program(program: _Restricted, times: int) -> tuple[Array, Array] | None:
    """Return the solution, and prices λ ≥ 0 of the rows; None if HiGHS finds none.

    times: maximum number of solutions. One is accurate to the tolerance of HiGHS, `_REFINED` are
    accurate to rounding.
    """
    entries = _Entries(*program.entries())
    solver = _solver(program, entries)
    solution = _solution(solver)
    if times == 1 or solution is None:
        return None if solution is None else (solution[0], -solution[1])
    refinement = _Refinement(program, entries)
    for _ in range(times):
        if solution is None or not refinement.add(*solution):
            break
        refinement.magnify(solver)
        solution = _solution(solver) or _solution_unscaled(solver)
    return refinement.best


@dataclass(frozen=True, eq=False)
class _Entries:
    """A matrix by columns: the number of entries in each, rows, and values."""

    counts: NDArray[np.intp]
    row: NDArray[np.intp]
    value: Array

    @cached_property
    def column(self) -> NDArray[np.intp]:
        """The column of every entry."""
        return np.repeat(np.arange(self.counts.size), self.counts)


class _Refinement:
    """A solution to which the solutions of its magnified residuals are added.

    best     variables, and prices λ ≥ 0 of the rows, with the smallest residuals so far; None at
             first
    primal   magnification of right-hand sides and bounds
    dual     magnification of reduced costs
    """

    def __init__(self, program: _Restricted, entries: _Entries) -> None:
        self._program = program
        self._entries = entries
        self._free = np.isinf(program.least)
        self._bounded = np.isfinite(program.most)
        self._most = np.where(self._bounded, program.most, 0.0)
        self._x = np.zeros(program.cost.size)
        self._y = np.zeros(program.right.size)
        self._primal = self._dual = 1.0
        self._least_off = math.inf
        self.best: tuple[Array, Array] | None = None

    def add(self, x: Array, y: Array) -> bool:
        """Add the solution of a magnified program; return whether another may improve the sum."""
        self._x = self._x + x / self._primal
        self._y = self._y + y / self._dual
        entries = self._entries
        terms = entries.value * self._x[entries.column]
        rows = self._y.size
        priced = np.bincount(entries.column, entries.value * self._y[entries.row], self._x.size)
        self._missing = self._program.right - np.bincount(entries.row, terms, rows)
        self._reduced = self._program.cost - priced
        outside = self._bound_violation()
        unpriced = self._dual_violation()
        lacks = float(np.abs(self._missing).max(initial=0.0))
        off = max(outside, unpriced, self._complementarity(), lacks)
        rounding = 4.0 * UNIT
        if not off <= max(self._least_off, rounding):
            return False
        self.best = (self._x, -self._y)
        self._least_off = off
        sizes = np.bincount(entries.row, np.abs(terms), rows)
        # This must also hold for the rows of rare guesses.
        if off <= rounding and (np.abs(self._missing) <= rounding * sizes).all():
            return False
        self._primal = min(self._primal / _TOLERANCE, 1.0 / max(lacks, outside, UNIT * UNIT))
        self._dual = min(self._dual / _TOLERANCE, 1.0 / max(unpriced, UNIT))
        return True

    def _bound_violation(self) -> float:
        """Return the largest violation of a bound."""
        below = np.where(self._free, 0.0, self._program.least - self._x)
        above = np.where(self._bounded, self._x - self._most, 0.0)
        return float(np.maximum(below, above).max(initial=0.0))

    def _dual_violation(self) -> float:
        """Return the largest reduced cost of the wrong sign that no upper bound explains."""
        wrong = np.maximum(-self._reduced, np.where(self._free, self._reduced, 0.0))
        return float(np.where(self._bounded, 0.0, wrong).max(initial=0.0))

    def _complementarity(self) -> float:
        """Return the largest product of a reduced cost and the distance to its bound."""
        at_most = self._bounded & (self._reduced < 0.0)
        inside = np.where(at_most, self._most - self._x, self._x)
        wasted = self._reduced * np.where(self._free, 0.0, inside)
        return float(np.abs(wasted).max(initial=0.0))

    def magnify(self, solver: Highs) -> None:
        """Pass the program of the residuals to the solver."""
        program = self._program
        count = self._x.size
        rows = self._y.size
        columns = np.arange(count, dtype=np.int32)
        lower = self._primal * (program.least - self._x)
        upper = self._primal * (program.most - self._x)
        right = self._primal * self._missing
        solver.setOptionValue("objective_bound", math.inf)
        solver.changeColsCost(count, columns, self._dual * self._reduced)
        solver.changeColsBounds(count, columns, lower, upper)
        solver.changeRowsBounds(rows, np.arange(rows, dtype=np.int32), right, right)


def _solver(program: _Restricted, entries: _Entries) -> Highs:
    """Return a HiGHS instance with the program."""
    import highspy

    solver = highspy.Highs()
    rows = program.right.size
    columns = program.cost.size
    options = {
        "output_flag": False,
        "presolve": "off",
        "solver": "simplex",
        "small_matrix_value": 1e-12,
        "simplex_iteration_limit": _PIVOTS * (rows + columns),
    }
    options |= dict.fromkeys(
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), _TOLERANCE
    )
    # No solution costs more than this, so a larger dual bound proves infeasibility. A step towards
    # such a bound can take seconds.
    options["objective_bound"] = 1.0 + 2.0 * float(
        np.abs(program.cost[: program.shares]) @ program.scale
    )
    for name, value in options.items():
        solver.setOptionValue(name, value)
    starts = np.cumsum(entries.counts) - entries.counts
    solver.passModel(
        columns,
        rows,
        entries.value.size,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        program.cost,
        program.least,
        program.most,
        program.right,
        program.right,
        starts.astype(np.int32),
        entries.row.astype(np.int32),
        entries.value,
        np.zeros(columns, dtype=np.int32),
    )
    return solver


def _solution(solver: Highs) -> tuple[Array, Array] | None:
    """Return the values of the variables and the duals of the rows; None unless they are
    optimal.
    """
    import highspy

    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual)


def _solution_unscaled(solver: Highs) -> tuple[Array, Array] | None:
    """Return the solution from scratch without the scaling of HiGHS, which may make a pivot
    smaller than its tolerance.
    """
    solver.clearSolver()
    solver.setOptionValue("simplex_scale_strategy", 0)
    return _solution(solver)


def keeps_budgets(problem: Problem, columns: Array) -> bool:
    """Return True if columns [m, N] keep all budgets, even after the masses of outcomes are rounded
    once.

    The judge moves secrets under perfect privacy to exact privacy, by up to the rounding of sums,
    which changes the leakages of the others.
    """
    perturbation = (
        Precision.leak_free
        if any(term.budget.perfect for term in problem.terms)
        else Precision.entry
    )
    ceilings = problem.law(columns).ceilings(perturbation).tolist()
    return all(
        not term.priced or ceiling <= amount
        for term, ceiling, amount in zip(
            problem.terms, ceilings, amounts_to_keep(problem), strict=True
        )
    )
