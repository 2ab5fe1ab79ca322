"""What the lowerings to other solvers share: scaled losses, the privacy equations, one sparse program, its answers.

**Losses.** Only the differences L_il − min_k L_kl matter. So solvers get this *excess* loss, whose minimum is 0 at every
outcome, in units of the size of the answer. What is subtracted adds up to the Bayes rule's error probability.

**Variables** of `Program`, guess by guess: R_il = v_l P_il [m, N], and under a leakage constraint D_ij = (u_ij −
π_j s_i)/root [m, n] and s_i = Pr(Ŷ = y_i) [m], so that the leakage is a function of m·(n + 1) variables and its Hessian does
not fill up over the outcomes. The root is sqrt(ε) for mutual information. Each constraint with a positive budget is a `Part`
with columns of D and s of its own, one of s for each group of rows that has a prior of its own.

**Equations**, in this order:

    Σ_i R_il = v_l  for every l,    D_ij = Σ_l (a_jl − π_j w_l) P_il / root,    s_i = Σ_l w_l P_il,

the last two only at positive finite budgets. At budget 0 the equations of perfect privacy, Φ P_i = 0, replace them:
no function of X may be predictable from the guess. With E over the outcomes, weights w_l, a
*feature* is f_rl = Σ_j c_rj a_jl / w_l, of mean 0 and variance 1, and the equations are Σ_l w_l f_rl P_il = 0. Two choices
of c:

- `whitened_rows`: orthonormal features, from the singular vectors of sqrt(π_j) φ_jl / sqrt(w_l). As well conditioned as the
  model allows; used by the solvers that take arrays.
- `rows_by_private_value`: one equation for each of an independent set of private values; the readable form.

Both drop implied equations (Σ_j π_j φ_j = 0; directions whose canonical correlation is rounding). The equations of the
last guess follow from those of the others, because Σ_i Φ P_i = Φ 1 = 0, so a lowering omits them: its tilt row is 0.

**Scales.** In a linear program v_l = sqrt(w_l). In measurements it beat P, whose small coefficients HiGHS drops (‖ΦP‖ 1e-8
at 20 sensors), and masses w_l P_il, whose columns lie below the tolerances (gap 4e-10 against 2e-11). Where the leakage is a
constraint, v_l = 1 was best for all solvers but QICS.

Source: the linear program is that of S. Asoodeh, F. Alajaji, T. Linder, "On maximal correlation, mutual information and data
privacy", CWIT 2015, and of the paper (docs/theory.md); the canonical correlations are H. O. Lancaster's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.backends.contract import Answer, Options
from discreet.backends.precision import Precision
from discreet.backends.repairs import without_rare
from discreet.problems.constraint import Term, entropy
from discreet.problems.errors import BackendError, Interrupted
from discreet.problems.measures.measure import Cone, Measure, Scope
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import normalise
from discreet.problems.numerics.rounding import UNIT
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array, sparray


_Model = TypeVar("_Model")
_Arguments = TypeVar("_Arguments")
_Item = TypeVar("_Item")
Setting: TypeAlias = str | float | bool
"""A value of a solver's own setting."""


@dataclass(frozen=True)
class Lowered(Generic[_Model, _Arguments]):
    """A program in the form one solver takes: its model, and the settings or arguments to run it with."""

    program: Program
    model: _Model
    options: _Arguments


@dataclass(frozen=True)
class PrivacyRows:
    """Independent equations Σ_l w_l f_rl P_il = 0 equivalent to Φ P_i = 0.

    features        f_rl [r, N], mean 0 and variance 1 under w
    combination     c_rj [r, n] with w_l f_rl = Σ_j c_rj a_jl (so Σ_j π_j c_rj = 0)
    private_values  [r] the private value of each equation, or −1 where an equation mixes several
    """

    features: Array
    combination: Array
    private_values: NDArray[np.intp]

    def tilt(self, prices: Array, guesses: int) -> Array:
        """The tilt [m, n] of prices y [k, r] on the equations of the first k ≤ m guesses; Σ_j π_j t_ij = 0.

        Sign: y is the derivative of the optimal value by the right-hand side, as HiGHS and Pyomo report row duals, so
        the priced loss is L_il − Σ_r y_ir w_l f_rl = L_il + a_l·t_i.
        """
        tilt = np.zeros((guesses, self.combination.shape[1]))
        tilt[: prices.shape[0]] = -prices @ self.combination
        return tilt


@dataclass(frozen=True)
class LinearProgram:
    """min cost·x with low ≤ matrix x ≤ high and x ≥ least."""

    cost: Array
    matrix: csc_array
    low: Array
    high: Array
    least: Array


@dataclass(frozen=True)
class Group:
    """Rows of the private joint that have a prior of their own: all of a secret, or those of one given value.

    rows   of `p_xz`; joint: these rows [k, N]
    prior  π_j within the group [k]
    mass   w_l of the group [N]
    """

    rows: slice
    joint: Array
    prior: Array
    mass: Array

    @classmethod
    def of(cls, problem: Problem, rows: slice, alone: bool) -> Group:
        """The group of these rows; alone: whether the term has no other."""
        joint, prior = problem.p_xz[rows], problem.p_x[rows]
        return cls(rows, joint, prior if alone else prior / prior.sum(), joint.sum(axis=0))

    @property
    def deviation(self) -> Array:
        """a_jl − π_j w_l [k, N]."""
        return np.asarray(self.joint - self.prior[:, None] * self.mass)


@dataclass(frozen=True)
class Part:
    """One leakage constraint of a `Program`, in units of its B: Σ g(u_i)/B ≤ 1 over guesses and groups, or for each guess.

    number  of the term; groups: with rows of their own; `first`, `guesses`: the first column of their D and s
    level   B; unit: B, or 1 at budget 0
    """

    number: int
    term: Term
    groups: tuple[Group, ...]
    first: int
    guesses: int
    level: float
    unit: float

    @property
    def measure(self) -> Measure:
        """By which leakage is counted."""
        return self.term.measure

    @cached_property
    def pieces(self) -> tuple[tuple[Array, ...], ...]:
        """For each group matrices R [r, k + 1] of a linear measure: Σ_R max R (D_i, s_i) = g(u_i)/B, or ≤ 0 for posteriors.

        Without a piece if the measure is not linear.
        """
        return tuple(tuple(self._scaled(each, group.prior) for each in self._rows(group)) for group in self.groups)

    @cached_property
    def linear(self) -> bool:
        """Whether the measure is linear in the law of (X, Ŷ)."""
        return any(self._rows(group) for group in self.groups)

    @property
    def cone(self) -> Cone:
        """That of a measure which is not linear."""
        assert self.measure.cone is not None
        return self.measure.cone

    @property
    def root(self) -> float:
        """The unit of D: sqrt(B), or B where the measure is linear in D."""
        return self.unit if self.linear else math.sqrt(self.unit)

    @property
    def width(self) -> int:
        """How many columns of D are its own."""
        return sum(group.prior.size for group in self.groups)

    def _rows(self, group: Group) -> tuple[Array, ...]:
        return self.measure.pieces(group.prior, self.level) or ()

    def _scaled(self, piece: Array, prior: Array) -> Array:
        mean, size = piece @ prior, np.abs(piece) @ prior  # of independence; rounding is not divided by B
        exact = np.where(np.abs(mean) > 2 * (prior.size + 2) * UNIT * size, mean, 0.0)
        return np.column_stack([piece * self.root, exact]) / self.unit

    def bounded(self, own: list[list[_Item]]) -> list[list[_Item]]:
        """Of what belongs to each guess, the sums that the budget bounds: over all guesses, of each guess, or none."""
        if self.measure.scope is Scope.POSTERIOR:
            return []
        return [[each for items in own for each in items]] if self.measure.scope is Scope.TOTAL else own

    def laws(self) -> Iterator[tuple[int, int, Group]]:
        """The first column of D, the column of s, and the group, of every group."""
        first = self.first
        for k, group in enumerate(self.groups):
            yield first, self.guesses + k, group
            first += group.prior.size


@dataclass(frozen=True)
class Program:
    """min cost·x with equations x = right, R ≥ 0 and a leakage constraint on (D, s) for each part.

    cost   [m, N] excess losses by unit of R, in `unit`s of error probability
    scale  [N] v_l, with R_il = v_l P_il
    rows   the equations of perfect privacy, none of them at other budgets
    parts  the leakage constraints with a positive budget
    """

    problem: Problem
    cost: Array
    scale: Array
    unit: float
    rows: PrivacyRows
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, problem: Problem, power: float = 0.0, loose: float = Precision.unit[2]) -> Program:
        """The program of a problem without zero masses, with v_l = (N w_l)^power. loose: least unit without a leakage."""
        slack = all(term.budget.oblivious or _is_slack(problem, term) for term in problem.terms)
        return cls._scaled(problem, (problem.N * problem.p_z) ** power, loose if slack else Precision.unit[0], whitened_rows)

    @classmethod
    def linear(cls, problem: Problem, equations: Equations | None = None) -> Program:
        """The program of linear measures with v_l = sqrt(w_l); budget 0 by `whitened_rows` unless told otherwise."""
        return cls._scaled(problem, np.sqrt(problem.p_z), Precision.unit[1], equations or whitened_rows)

    @classmethod
    def _scaled(cls, problem: Problem, scale: Array, least: float, equations: Equations) -> Program:
        """Costs in units of the Bayes error, or of a share `least` of the constant guess's error where that is larger."""
        unit = max(problem.bayes_error, least * problem.constant_error) or 1.0
        cost = (problem.loss - problem.loss.min(axis=0)) / scale / unit
        groups = [[Group.of(problem, rows, len(term.groups) == 1) for rows in term.groups] for term in problem.terms]
        found, first, guesses = list[Part](), 0, 0
        for number, (term, own) in enumerate(zip(problem.terms, groups, strict=True)):
            if not (term.budget.perfect or term.budget.oblivious or _is_slack(problem, term)):
                level, amount = term.measure.level(term.budget.amount), term.budget.amount
                found.append(Part(number, term, tuple(own), first, guesses, level, level if amount > 0.0 else 1.0))
                first, guesses = first + found[-1].width, guesses + len(own)
        private = [group for term, own in zip(problem.terms, groups, strict=True) for group in own if term.budget.perfect]
        return cls(problem, cost, scale, unit, _stacked_rows(problem, private, equations), tuple(found))

    @property
    def leaks(self) -> bool:
        """Whether there is a leakage constraint, and with it D and s. A budget of H(X) constrains nothing."""
        return bool(self.parts)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many variables R, D and s there are."""
        m = self.problem.m
        return m * self.problem.N, m * self._widths[0], m * self._widths[1]

    @property
    def _widths(self) -> tuple[int, int]:
        """How many columns D and s have."""
        return sum(part.width for part in self.parts), sum(len(part.groups) for part in self.parts)

    def places(self, part: Part) -> Iterator[tuple[int, NDArray[np.intp], int, int, Group]]:
        """Guess, places of D_i and of s_i among the variables, number of the group, and group, guess by guess."""
        (masses, deviations, _), (width, count) = self.sizes, self._widths
        for i in range(self.problem.m):
            for k, (first, guess, group) in enumerate(part.laws()):
                start = masses + i * width + first
                yield i, np.arange(start, start + group.prior.size), masses + deviations + i * count + guess, k, group

    @property
    def row(self) -> Array:
        """The privacy equations of one guess [r, N]: Σ_l row_rl R_il = 0."""
        return self.rows.features * (self.problem.p_z / self.scale)

    def privacy_equations(self) -> csc_array | None:
        """The privacy equations of every guess but the last [(m − 1)·r, m·N]; None without any."""
        from scipy import sparse

        block, guesses = self.row, self.problem.m - 1
        if block.size == 0 or guesses == 0:
            return None
        empty = sparse.csc_array((guesses * block.shape[0], self.problem.N))
        return sparse.csc_array(sparse.hstack([_diagonal(block, guesses), empty]))

    def law(self) -> tuple[Array, Array]:
        """What D_i and s_i are of P_i: matrices [columns of D, N] and [columns of s, N]."""
        groups = [(group, part.root) for part in self.parts for group in part.groups]
        return np.vstack([group.deviation / root for group, root in groups]), np.vstack([group.mass for group, _ in groups])

    def equations(self) -> tuple[csc_array, Array]:
        """(E, right): the matrix [equations, variables] and the right-hand sides."""
        from scipy import sparse

        problem, m = self.problem, self.problem.m
        sums, privacy = sparse.hstack([sparse.eye_array(problem.N)] * m), self.privacy_equations()
        whole: Any = sums if privacy is None else sparse.vstack([sums, privacy])
        if self.leaks:
            links, masses = (_diagonal(-each / self.scale, m) for each in self.law())
            _, deviations, guesses = self.sizes
            law = sparse.block_array(
                [[links, sparse.eye_array(deviations), None], [masses, None, sparse.eye_array(guesses)]]
            )
            empty = sparse.csc_array((whole.shape[0], deviations + guesses))
            whole = sparse.vstack([sparse.hstack([whole, empty]), law])
        matrix = sparse.csc_array(whole)
        return matrix, np.concatenate([self.scale, np.zeros(matrix.shape[0] - problem.N)])

    def linear_program(self) -> LinearProgram:
        """The program as arrays, of linear parts alone. A variable h_ik follows for each guess i and piece R_k of these.

        Its rows are the equations; R_k (D_i, s_i) ≤ h_ik; and Σ h_ik ≤ 1 over all guesses, or for each. A measure of each
        posterior has R_k (D_i, s_i) ≤ 0 only, and no h.
        """
        from scipy import sparse

        matrix, right = self.equations()
        rows, limits = self._inequalities()
        if not limits.size:
            return LinearProgram(self.objective(), matrix, right, right, self.lower_bounds())
        heights, below = rows.shape[1] - matrix.shape[1], np.full(limits.size, -math.inf)
        whole = sparse.vstack([sparse.hstack([matrix, sparse.csc_array((right.size, heights))]), rows])
        return LinearProgram(
            np.append(self.objective(), np.zeros(heights)),
            sparse.csc_array(whole),
            np.append(right, below),
            np.append(right, limits),
            np.append(self.lower_bounds(), np.full(heights, -math.inf)),
        )

    def _inequalities(self) -> tuple[csc_array, Array]:
        """Rows [·, variables and h] and their upper limits; the budgets come last."""
        from scipy import sparse

        known = sum(self.sizes)
        entries, budgets = list[tuple[Any, Any, Any]](), list[tuple[list[int], float]]()  # rows, columns, values
        count, heights = 0, 0
        for part in (each for each in self.parts if each.linear):
            scope, own = part.measure.scope, list[list[int]]([] for _ in range(self.problem.m))
            for i, deviation, guess, k, _ in self.places(part):
                columns = np.append(deviation, guess)
                for piece in part.pieces[k]:
                    at, wide = np.arange(count, count + len(piece)), np.broadcast_to(columns, piece.shape)
                    entries.append((np.repeat(at, columns.size), wide.ravel(), piece.ravel()))
                    if scope is not Scope.POSTERIOR:
                        entries.append((at, np.full(at.size, known + heights), np.full(at.size, -1.0)))
                        own[i].append(known + heights)
                        heights += 1
                    count += len(piece)
            budgets += [(bounded, part.level / part.unit) for bounded in part.bounded(own)]
        for k, (heights_of, _) in enumerate(budgets):
            entries.append((np.full(len(heights_of), count + k), np.array(heights_of), np.ones(len(heights_of))))
        shape = (count + len(budgets), known + heights)
        if not entries:
            return sparse.csc_array(shape), np.zeros(0)
        row, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
        return sparse.csc_array((value, (row, column)), shape=shape), np.append(
            np.zeros(count), [most for _, most in budgets]
        )

    def objective(self) -> Array:
        """The cost of every variable."""
        return np.concatenate([self.cost.ravel(), np.zeros(sum(self.sizes[1:]))])

    def uniform_start(self) -> Array:
        """All variables for the uniform guess, which leaks nothing and lies inside every bound."""
        problem, (masses, deviations, guesses) = self.problem, self.sizes
        start = np.concatenate([np.zeros(masses + deviations), np.full(guesses, 1.0 / problem.m)])
        start[:masses] = np.tile(self.scale / problem.m, problem.m)
        if any(len(part.groups) > 1 for part in self.parts):
            start[masses + deviations :] *= np.tile(self.law()[1].sum(axis=1), problem.m)
        return start

    def lower_bounds(self) -> Array:
        """0 for R and s, −inf for D."""
        masses, deviations, guesses = self.sizes
        return np.concatenate([np.zeros(masses), np.full(deviations, -math.inf), np.zeros(guesses)])

    def answer(self, variables: Array, prices: Array, budget_prices: Sequence[float] | None = None) -> Answer:
        """`estimator`, and its duals where they are numbers.

        variables      of which R come first
        prices         of the equations, then of other rows, in the Lagrangian cost·x + prices·(E x − right)
        budget_prices  of each part, Σ budget_prices·(leakage/B − 1); by default the last prices, linear parts first
        """
        problem, estimator = self.problem, self.estimator(variables[: self.cost.size])
        expected = problem.N + (problem.m - 1) * len(self.rows.features) + sum(self.sizes[1:])
        if prices.size < expected:
            return Answer(estimator)
        each = self._last(prices) if budget_prices is None else budget_prices
        if not (np.isfinite(prices[:expected]).all() and np.isfinite(each).all()):
            return Answer(estimator)
        return Answer(estimator, *self.duals(prices[problem.N : expected], each))

    def estimator(self, variables: Array) -> Array:
        """P = R / v, under a measure of each posterior without guesses that rounding alone makes: they may say anything."""
        found = variables.reshape(self.cost.shape) / self.scale
        if all(part.measure.scope is not Scope.POSTERIOR for part in self.parts):
            return found
        return without_rare(normalise(found), self.problem.p_z, Precision.unseen)

    def _last(self, prices: Array) -> list[float]:
        """The price of each part's budget, from the last prices: first those of linear parts, then those of the others."""
        found, end = dict[int, float](), prices.size
        for part in sorted(self.parts, key=lambda part: (part.linear, -part.number)):  # from the end
            count = 1 if part.measure.scope is Scope.TOTAL else self.problem.m
            count = 0 if part.linear and part.measure.scope is Scope.POSTERIOR else count
            found[part.number] = float(prices[end - count : end].sum())
            end -= count
        return [found[part.number] for part in self.parts]

    def duals(self, prices: Array, budget_prices: Sequence[float]) -> tuple[Array, Any]:
        """(tilt [m, n], multiplier) of the prices of all equations but the first N, and of the budget of each part.

        The multiplier is a number, or one for each of several constraints.
        """
        r = (self.problem.m - 1) * len(self.rows.features)
        tilt = self.private_tilt(prices[:r])
        links, masses = prices[r : r + self.sizes[1]], prices[r + self.sizes[1] :]
        for part in self.parts:
            for i, deviation, guess, _, group in self.places(part):
                start = self.sizes[0]
                slope = -self.unit / part.root * links[deviation - start]
                shift = -self.unit * masses[guess - start - links.size] - slope @ group.prior  # D holds u − π s
                tilt[i, group.rows] = slope + shift
        return tilt, self.multiplier(budget_prices)

    def private_tilt(self, prices: Array) -> Array:
        """The tilt [m, n] of the prices of the privacy equations; 0 without any."""
        return self.rows.tilt(-self.unit * prices.reshape(self.problem.m - 1, len(self.rows.features)), self.problem.m)

    def multiplier(self, prices: Sequence[float]) -> Any:
        """Of the price of each part's budget in units of B: a number, or one for each of several constraints."""
        found = np.array([math.inf if term.budget.perfect else 0.0 for term in self.problem.terms])
        for part, price in zip(self.parts, prices, strict=True):
            found[part.number] = max(0.0, price) * self.unit / part.unit
        return float(found[0]) if found.size == 1 else found


def _is_slack(problem: Problem, term: Term) -> bool:
    """Whether a budget of mutual information is at least the entropy of its X."""
    return term.measure == MUTUAL_INFORMATION and term.budget.amount >= entropy(problem.p_x[term.rows])


def _stacked_rows(problem: Problem, groups: Sequence[Group], equations: Equations) -> PrivacyRows:
    """The equations of perfect privacy of these groups of rows; combinations are of all rows of the problem."""
    none = PrivacyRows(np.zeros((0, problem.N)), np.zeros((0, problem.n)), np.zeros(0, dtype=np.intp))
    found = [none]
    for group in groups:
        own = equations(group, problem.p_z)
        combination = np.zeros((len(own.features), problem.n))
        combination[:, group.rows] = own.combination
        found.append(PrivacyRows(own.features, combination, own.private_values))
    return PrivacyRows(
        np.vstack([each.features for each in found]),
        np.vstack([each.combination for each in found]),
        np.concatenate([each.private_values for each in found]),
    )


def _diagonal(block: Array, times: int) -> sparray:
    """The block repeated along the diagonal, sparse."""
    from scipy import sparse

    return sparse.block_diag([sparse.csc_array(block)] * times)


Equations: TypeAlias = Callable[[Group, Array], PrivacyRows]
"""What finds the equations of perfect privacy of a group, given all w_l > 0."""


def point_of(solver: str, claimed: str, out_of_time: bool, options: Options, variables: ArrayLike | None) -> Array:
    """The point that a solver ended with; Interrupted if its time limit ended it, BackendError if it is no point."""
    if out_of_time:
        raise Interrupted(f"{solver} stopped at its time limit of {options.time_limit:g} s")
    if variables is None or not np.isfinite(variables).all():
        raise BackendError(f"{solver} ended with {claimed!r} and no point")
    return np.asarray(variables)


def whitened_rows(group: Group, p_z: Array) -> PrivacyRows:
    """Orthonormal features of a problem without zero masses (rank r ≤ min(n − 1, N − 1))."""
    kernel = _kernel(group)
    left, correlations, _ = np.linalg.svd(kernel, full_matrices=False)
    rank = int((correlations > Precision.correlated).sum())
    mix = (left[:, :rank] / np.sqrt(group.prior)[:, None] / correlations[:rank]).T
    return _rows(group, p_z, mix, np.full(rank, -1))


def rows_by_private_value(group: Group, p_z: Array) -> PrivacyRows:
    """One feature per private value, φ_j / w scaled to variance 1, for an independent set of private values."""
    from scipy.linalg import qr

    kernel = _kernel(group)
    triangle, order = qr(kernel.T, mode="r", pivoting=True)
    chosen = np.sort(order[: int((np.abs(np.diag(triangle)) > Precision.correlated).sum())])
    spread = np.linalg.norm(kernel[chosen], axis=1)
    mix = np.zeros((chosen.size, group.prior.size))
    mix[np.arange(chosen.size), chosen] = 1.0 / (spread * np.sqrt(group.prior[chosen]))
    return _rows(group, p_z, mix, (group.rows.start + chosen).astype(np.intp))


def _kernel(group: Group) -> Array:
    """sqrt(π_j) φ_jl / sqrt(w_l) [n, N]; its singular values are the canonical correlations of X and Z."""
    expected = group.prior[:, None] * group.mass
    return np.divide(group.deviation, np.sqrt(expected), out=np.zeros_like(expected), where=expected > 0.0)


def _rows(group: Group, p_z: Array, mix: Array, private_values: NDArray[np.intp]) -> PrivacyRows:
    features = mix @ (group.joint / p_z - group.prior[:, None] * (group.mass / p_z))
    return PrivacyRows(features, mix - (mix @ group.prior)[:, None], private_values)
