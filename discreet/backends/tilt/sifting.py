"""The vertex of a problem whose measures of leakage are linear: a small linear program, solved to the last digits.

Method: sifting. A tilt that is nearly known decides all outcomes but a few. These few, the *candidates*, may get any guess
in the linear program; all others are summed by their labels, and each sum counts as one outcome. So the program always has
a solution that keeps the budget. Its duals price all outcomes. Those that they contradict become candidates, too, and the
program is solved again. If none is left, its solution is optimal for the whole problem. Every time more become candidates,
so that a tilt far off only takes longer.

With shares x_f of candidates that move from their label to another guess, the law is linear in x. A measure with the pieces
R bounds the levels h of their maxima:

    minimise Σ_f x_f (L_guess − L_label)   subject to   R u_i(x) ≤ h_iR,   Σ_iR h_iR ≤ B,   Σ_{f at l} x_f ≤ 1,   x ≥ 0,

Σ_R h_iR ≤ B for every guess i under `Scope.SHARE`, and R u_i ≤ 0 under `Scope.POSTERIOR`. The prices λ ≥ 0 of the first
rows give the tilt t_i = Σ λ R, which is in μ V since those of one maximum add up to μ, the price of the budget. Pieces are
widened by the rounding of a law, R + a |R|, so that the answer keeps the budget in the judge's arithmetic, too.

A simplex method answers within absolute tolerances. So the program is solved again about the solution, with what is left of
right-hand sides, bounds and reduced costs magnified to the size of one (iterative refinement). Degenerate programs, guesses
that are never made and several optima need no treatment of their own.

Source: docs/theory.md, section 14; R. E. Bixby, J. W. Gregory, I. J. Lustig, R. E. Marsten, D. F. Shanno, "Very large-scale
linear programming: a case study in combining interior point and simplex methods", Operations Research 40 (1992); A. M.
Gleixner, D. E. Steffy, K. Wolter, "Iterative refinement for linear programming", INFORMS Journal on Computing 28 (2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.problems.constraint import Term
from discreet.problems.measures.measure import Scope
from discreet.problems.measures.registry import LINEAR
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import one_hot
from discreet.problems.numerics.rounding import UNIT
from discreet.problems.numerics.tilted_losses import first_least
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from highspy import Highs

_PROGRAMS = 12  # at most; from a tilt worth having one or two, from none five to eleven
_ENTRIES = 1 << 21  # of a program, zeros among them: more take a tenth of a second, and a nearer tilt costs less
_REFINED = 6  # solutions of each at most; two or three reach rounding
_TOLERANCE = 1e-9  # of HiGHS; a refinement magnifies by its inverse at most


def is_linear(problem: Problem) -> bool:
    """Whether the problem is a linear program, and not that of perfect privacy about a single secret."""
    linear = [term.measure.name in LINEAR for term in problem.terms if term.priced]
    return all(linear) and len(linear) + len(problem.terms) > 1


def sifted(
    problem: Problem, tilt: Array, precision: Precision, columns: Array | None = None, gap: float = math.inf
) -> Point | None:
    """The optimal vertex of a linear problem, from a tilt [m, n], of few outcomes any; the nearer, the sooner.

    columns: an interior estimator [m, N], where one is known: outcomes that hesitate are candidates. None where HiGHS finds
    no solution, if too many outcomes are candidates, or if rounding leaves more than the relative gap. Outcomes and private
    values need positive probability.
    """
    losses, count = problem.loss + tilt @ problem.p_xz, problem.m * (problem.n + 1)
    labels, widened = first_least(losses), precision.widened
    candidates = _nearest(losses, labels, problem.p_z, count)
    if columns is not None:
        hesitating = columns.max(axis=0) < 1.0 - Precision.certain
        candidates |= hesitating & (np.count_nonzero(hesitating) <= 4 * count)
    for _ in range(_PROGRAMS):
        if _entries(problem, int(np.count_nonzero(candidates))) > _ENTRIES:
            return None
        small = _gathered(problem, labels, candidates)
        program = _Restricted(small, widened)
        solved = _refined(program)
        if solved is None:
            return None
        few, tilt, prices = program.answer(*solved)
        columns = few.take(small.place, axis=1)
        if widened < precision.certain and not _keeps(problem, columns):
            widened *= 4.0
            continue
        losses = problem.loss + tilt @ problem.p_xz
        wasted = np.einsum("il,il->l", columns, losses - losses.min(axis=0))
        rounding = problem.loss.max(axis=0) + np.abs(tilt).max(axis=0) @ problem.p_xz
        wrong = np.flatnonzero(~candidates & (wasted > precision.contradicted * rounding))
        if not wrong.size:
            error = float(np.vdot(columns, problem.loss))
            narrow = error - float(losses.min(axis=0).sum()) + program.price_of_budgets(prices) <= gap * error
            return Point(columns, tilt, prices if prices.size > 1 else float(prices[0])) if narrow else None
        candidates[wrong[np.argsort(-wasted[wrong])[: 2 * count]]] = True
        labels = first_least(losses)
        candidates |= _nearest(losses, labels, problem.p_z, count)
        count += count // 2
    return None


def _entries(problem: Problem, candidates: int) -> int:
    """The size of a program with so many candidates."""
    pieces = [term.measure.pieces(problem.p_x[term.rows], term.level) or () for term in problem.terms if term.priced]
    rows = candidates + problem.m * (sum(len(rows) for found in pieces for rows in found) + problem.n)
    return rows * (rows + candidates * problem.m)


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
    """K outcomes, of which the last are sums of others by label; deviations are sums, too, and not formed again.

    place: of every outcome of the problem among them [N]; labels [K].
    """

    problem: Problem
    p_xz: Array
    p_z: Array
    deviations: Array
    loss: Array
    labels: NDArray[np.intp]
    place: NDArray[np.intp]


def _gathered(problem: Problem, labels: NDArray[np.intp], candidates: NDArray[np.bool_]) -> _Small:
    alone, used = np.flatnonzero(candidates), np.unique(labels[~candidates])
    rest = (one_hot(labels, problem.m)[used] * ~candidates).T

    def summed(rows: Array) -> Array:
        return np.concatenate([rows.take(alone, axis=-1), rows @ rest], axis=-1)

    place = alone.size + np.searchsorted(used, labels)
    place[alone] = np.arange(alone.size)
    p_xz, p_z, deviations, loss = map(summed, (problem.p_xz, problem.p_z, problem.deviations, problem.loss))
    return _Small(problem, p_xz, p_z, deviations, loss, np.concatenate([labels[alone], used]), place)


class _Restricted:
    """min cost·x with matrix x = right and x ≥ least, for shares, levels, and slacks of all rows, in this order."""

    def __init__(self, small: _Small, widened: float) -> None:
        self._small, every = small, np.eye(small.problem.m)
        self._guesses, self._places = np.nonzero(every[:, small.labels] == 0.0)
        own = small.labels[self._places]
        self._scale = np.sqrt(small.p_z[self._places] / small.p_z.max())  # of shares in the program
        moves = (every[self._guesses] - every[own]).T / self._scale
        lost = (small.loss[self._guesses, self._places] - small.loss[own, self._places]) / self._scale
        self._unit = float(np.abs(lost).max(initial=0.0)) or 1.0
        self._bounds = [_bound(small, term, moves, self._places, widened) for term in small.problem.terms]
        tied = np.flatnonzero(np.bincount(self._places, minlength=1))
        drawn = np.equal.outer(tied, self._places).astype(np.float64)
        shares = np.vstack([drawn, *(bound.of_shares for bound in self._bounds)])
        heights = np.zeros((len(shares), sum(bound.of_levels.shape[1] for bound in self._bounds)))
        self._starts, right = [len(drawn)], 0
        for bound in self._bounds:
            down, across = bound.of_levels.shape
            heights[self._starts[-1] : self._starts[-1] + down, right : right + across] = bound.of_levels
            self._starts.append(self._starts[-1] + down)
            right += across
        self.matrix = np.hstack([shares, heights, np.eye(len(shares))])
        room = np.sqrt(small.p_z[tied] / small.p_z.max())
        self.right = np.concatenate([room, *(bound.right for bound in self._bounds)])
        self.cost = np.concatenate([lost / self._unit, np.zeros(right + len(shares))])
        self.least = np.concatenate([np.zeros(lost.size), np.full(right, -math.inf), np.zeros(len(shares))])
        self.fixed = np.zeros(self.cost.size, dtype=np.bool_)
        for bound, start in zip(self._bounds, self._starts, strict=False):
            self.fixed[lost.size + right + start :][: bound.right.size] = isinstance(bound, _Equations)

    def answer(self, variables: Array, prices: Array) -> tuple[Array, Array, Array]:
        """Columns of the outcomes [m, K], tilt [m, n], and the prices of the terms' budgets.

        Probabilities are multiples of 2⁻⁵³ times the size of the mass of their guess, so that those of a rare one have as
        many digits. A guess that is made by rounding only is never made.
        """
        small, problem = self._small, self._small.problem
        columns, every = np.zeros((problem.m, small.labels.size)), np.arange(small.labels.size)
        columns[self._guesses, self._places] = np.clip(variables[: self._places.size] / self._scale, 0.0, 1.0)
        columns[small.labels, every] = np.maximum(1.0 - columns.sum(axis=0), 0.0)
        mass = columns @ small.p_z
        columns[mass < Precision.rank] = 0.0
        grid = UNIT * np.exp2(np.floor(np.log2(np.maximum(mass, Precision.rank))))[:, None]
        columns = np.rint(columns / grid) * grid
        columns[columns.argmax(axis=0), every] += 1.0 - columns.sum(axis=0)
        tilt, budgets = np.zeros((problem.m, problem.n)), np.zeros(len(self._bounds))
        for k, (bound, term) in enumerate(zip(self._bounds, problem.terms, strict=True)):
            each, price = bound.duals(prices[self._starts[k] : self._starts[k + 1]])
            tilt[:, term.rows], budgets[k] = self._unit * each, self._unit * price
        return columns, tilt, budgets

    def price_of_budgets(self, prices: Array) -> float:
        """Σ μ B over the terms."""
        terms = self._small.problem.terms
        return math.fsum(price * _level(term) for term, price in zip(terms, prices.tolist(), strict=True) if term.priced)


def _bound(small: _Small, term: Term, moves: Array, places: NDArray[np.intp], widened: float) -> _Bound | _Equations:
    return (_Bound if term.priced else _Equations)(small, term, moves, places, widened)


class _Equations:
    """The rows of a secret that must not leak, u_i = s_i π for all guesses but the last; or none, without a constraint.

    Only independent combinations of private values are rows: more would be inconsistent in their last digits.
    """

    def __init__(self, small: _Small, term: Term, moves: Array, places: NDArray[np.intp], _: float) -> None:
        root = np.sqrt(small.problem.p_x[term.rows])
        features = small.deviations[term.rows] / root[:, None] / np.sqrt(small.p_z)
        left, values, _right = np.linalg.svd(features, full_matrices=False)
        kept = (values > Precision.rank) & term.budget.perfect
        self._combined = (left[:, kept] / values[kept]).T / root
        effect, self._guesses = self._combined @ small.deviations[term.rows], small.problem.m
        self.of_shares = (effect[:, places] * moves[:-1, None, :]).reshape(-1, places.size)
        self.right = -(effect @ one_hot(small.labels, self._guesses)[:-1].T).T.ravel()
        self.of_levels, self._price = np.zeros((self.right.size, 0)), math.inf if term.budget.perfect else 0.0

    def duals(self, prices: Array) -> tuple[Array, float]:
        """Tilt [m, n] and multiplier from the prices of the rows."""
        own = prices.reshape(self._guesses - 1, -1) @ self._combined
        return np.concatenate([own, np.zeros((1, own.shape[1]))]), self._price


class _Bound:
    """The rows of a term: its pieces for every guess, and then its budget, or one for each guess.

    of_shares, of_levels  their coefficients; right: their right-hand sides
    """

    def __init__(self, small: _Small, term: Term, moves: Array, places: NDArray[np.intp], widened: float) -> None:
        measure, p_x, m = term.measure, small.problem.p_x[term.rows], small.problem.m
        level = _level(term) * (1.0 - Precision.inside)
        pieces = measure.pieces(p_x, level)
        assert pieces is not None
        self._pieces, self._guesses, count = np.vstack(pieces), m, len(pieces)
        mean, size = self._pieces @ p_x, np.abs(self._pieces)
        mean[np.abs(mean) <= 2 * (p_x.size + 2) * UNIT * (size @ p_x)] = 0.0
        effect = self._pieces @ small.deviations[term.rows] + mean[:, None] * small.p_z
        effect += widened * (size @ small.p_xz[term.rows])
        self._unit = max(level, float(np.abs(effect).max()))
        effect /= self._unit
        self.of_shares = (effect[:, places] * moves[:, None, :]).reshape(-1, places.size)
        self.right = -(effect @ one_hot(small.labels, m).T).T.ravel()
        self.of_levels = np.zeros((self.right.size, 0))
        if measure.scope is not Scope.POSTERIOR:
            own = np.repeat(np.eye(count), [len(each) for each in pieces], axis=0)  # the level of each piece
            sums = np.repeat(np.eye(m), count, axis=1) if measure.scope is Scope.SHARE else np.ones((1, m * count))
            self.of_shares = np.vstack([self.of_shares, np.zeros((len(sums), places.size))])
            self.of_levels = np.vstack([np.kron(np.eye(m), -own), sums])
            self.right = np.append(self.right, np.full(len(sums), level / self._unit))

    def duals(self, prices: Array) -> tuple[Array, float]:
        """Tilt [m, n] and multiplier from the prices ≥ 0 of the rows."""
        own = prices[: self._guesses * len(self._pieces)]
        return own.reshape(self._guesses, -1) @ self._pieces / self._unit, float(prices[own.size :].sum()) / self._unit


def _level(term: Term) -> float:
    """B, not rounded upward."""
    growth, amount = term.measure.growth, term.budget.amount
    return math.expm1(growth * amount) if growth else amount


def _refined(program: _Restricted) -> tuple[Array, Array] | None:
    """Solution, and prices λ ≥ 0 of the rows, as exact as rounding allows; None where HiGHS finds none."""
    solver, matrix, free = _solver(program), program.matrix, np.isinf(program.least)
    rows, count = matrix.shape
    every, sizes, most = np.arange(count, dtype=np.int32), np.abs(matrix), np.where(program.fixed, 0.0, math.inf)
    x, y, across, down = np.zeros(count), np.zeros(rows), 1.0, 1.0
    best: tuple[Array, Array] | None = None
    least_off, rounding = math.inf, 4.0 * UNIT
    for _ in range(_REFINED):
        found = _solution(solver)
        if found is None:
            break
        x, y = x + found[0] / across, y + found[1] / down
        missing, reduced = program.right - matrix @ x, program.cost - y @ matrix
        below = float(np.maximum(np.where(free, 0.0, program.least - x), np.where(program.fixed, x, 0.0)).max())
        unpriced = float(np.where(program.fixed, 0.0, np.maximum(-reduced, np.where(free, reduced, 0.0))).max())
        wasted = float(np.abs(reduced * np.where(free | program.fixed, 0.0, x)).max())
        lacks = float(np.abs(missing).max())
        off = max(below, unpriced, wasted, lacks)
        if not off <= max(least_off, rounding):
            break
        best, least_off = (x, -y), off
        if off <= rounding and (np.abs(missing) <= rounding * (sizes @ np.abs(x))).all():  # also of the rows of rare guesses
            break
        across = min(across / _TOLERANCE, 1.0 / max(lacks, below, UNIT * UNIT))
        down = min(down / _TOLERANCE, 1.0 / max(unpriced, UNIT))
        solver.changeColsCost(count, every, down * reduced)
        solver.changeColsBounds(count, every, across * (program.least - x), across * (most - x))
        for row, each in enumerate((across * missing).tolist()):
            solver.changeRowBounds(row, each, each)
    return best


def _solver(program: _Restricted) -> Highs:
    """HiGHS with the program."""
    import highspy

    solver, (rows, count) = highspy.Highs(), program.matrix.shape
    options = {"output_flag": False, "presolve": "off", "solver": "simplex", "small_matrix_value": 1e-12}
    options |= dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), _TOLERANCE)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows, count
    model.col_cost_, model.col_lower_ = program.cost, program.least
    model.col_upper_ = np.where(program.fixed, 0.0, highspy.kHighsInf)
    model.row_lower_ = model.row_upper_ = program.right
    column, row = np.nonzero(program.matrix.T)
    entries = model.a_matrix_
    entries.format_, entries.num_row_, entries.num_col_ = highspy.MatrixFormat.kColwise, rows, count
    entries.start_, entries.index_ = np.searchsorted(column, np.arange(count + 1)), row
    entries.value_ = program.matrix[row, column]
    solver.passModel(model)
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

    The judge moves secrets that must not leak to exact privacy, by up to the rounding of sums, which the others feel.
    """
    moved = Precision.leak_free if any(term.budget.perfect for term in problem.terms) else Precision.entry
    return all(
        not term.priced or law.leakage_ceiling(moved) <= term.budget.amount
        for term, law in zip(problem.terms, problem.laws(columns), strict=True)
    )
