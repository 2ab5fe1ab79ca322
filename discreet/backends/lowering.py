"""A problem as one sparse program, in the variables and scales that suit other solvers, and the way
back from their answers.

**Losses.** Only the differences L_il − min_k L_kl matter. So solvers get this *excess* loss, whose
minimum is 0 at every outcome, in units of the size of the answer. The subtracted losses sum to the
error probability of the Bayes rule.

**Variables** of `Program`, guess by guess: R_il = v_l P_il [m, N] and, under a leakage constraint,
D_ij = (u_ij − π_j s_i)/root [m, n] and s_i = Pr(Ŷ = y_i) [m], so that the leakage is a function of
m·(n + 1) variables and its Hessian does not fill up over the outcomes. The root is sqrt(ε) for
mutual information.

**Equations**, in this order:

    Σ_i R_il = v_l  for every l,    D_ij = Σ_l (a_jl − π_j w_l) P_il / root,    s_i = Σ_l w_l P_il,

the last two only at positive finite budgets. At budget 0 the equations of perfect privacy (`parts`)
replace them. The equations of the last guess follow from the others, because Σ_i Φ P_i = Φ 1 = 0,
so a lowering omits them: its tilt row is 0.

**Scales.** In a linear program v_l = sqrt(w_l). In measurements it was better than P, whose small
coefficients HiGHS drops (‖ΦP‖ 1e-8 at 20 sensors), and than masses w_l P_il, whose columns lie
below the tolerances (gap 4e-10 compared with 2e-11). If the leakage is a constraint, v_l = 1 was
best for all solvers except QICS.

Source: the linear program is that of S. Asoodeh, F. Alajaji, T. Linder, "On maximal correlation,
mutual information and data privacy", CWIT 2015, and of the paper (docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.backends.contract import Answer, Options
from discreet.backends.parts import (
    Equations,
    LeakageConstraint,
    PriorGroup,
    PrivacyRows,
    stacked_rows,
    whitened_rows,
)
from discreet.backends.precision import Precision
from discreet.backends.repairs import without_rare
from discreet.measures.measure import Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import normalise
from discreet.problems.constraint import Term, entropy
from discreet.problems.duals import no_multipliers
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array, sparray


_Model = TypeVar("_Model")
_Arguments = TypeVar("_Arguments")
Setting: TypeAlias = str | float | bool
"""The value of a setting of a solver."""


@dataclass(frozen=True)
class Lowered(Generic[_Model, _Arguments]):
    """A program in the form of one solver: its model, and the settings or arguments to run it
    with.
    """

    program: Program
    model: _Model
    options: _Arguments


@dataclass(frozen=True)
class LinearProgram:
    """A linear program: min cost·x with low ≤ matrix x ≤ high and x ≥ least."""

    cost: Array
    matrix: csc_array
    low: Array
    high: Array
    least: Array

    @property
    def most(self) -> Array:
        """Upper bounds of x, which are infinite."""
        return np.full(self.cost.size, math.inf)


@dataclass(frozen=True)
class Program:
    """min cost·x with equations x = right, R ≥ 0 and a leakage constraint on (D, s) for each part.

    cost   [m, N] excess losses per unit of R, in `unit`s of error probability
    scale  [N] v_l, with R_il = v_l P_il
    rows   the equations of perfect privacy; none at other budgets
    parts  the leakage constraints with a positive budget
    """

    problem: Problem
    cost: Array
    scale: Array
    unit: float
    rows: PrivacyRows
    parts: tuple[LeakageConstraint, ...]

    @classmethod
    def of(cls, problem: Problem, power: float = 0.0, loose: float = Precision.unit[2]) -> Program:
        """Return the program of a problem without zero masses, with v_l = (N w_l)^power. loose:
        least unit if there is no leakage constraint.
        """
        slack = all(term.budget.oblivious or _is_slack(problem, term) for term in problem.terms)
        return cls._in_units(
            problem,
            (problem.N * problem.p_z) ** power,
            loose if slack else Precision.unit[0],
            whitened_rows,
        )

    @classmethod
    def linear(cls, problem: Problem, equations: Equations = whitened_rows) -> Program:
        """Return the program of linear measures with v_l = sqrt(w_l); budget 0 by `whitened_rows`
        unless other equations are given.
        """
        return cls._in_units(problem, np.sqrt(problem.p_z), Precision.unit[1], equations)

    @classmethod
    def _in_units(
        cls, problem: Problem, scale: Array, least: float, equations: Equations
    ) -> Program:
        """Return the program with costs in units of the Bayes error, or of a share `least` of the
        constant guess's error if that is larger.
        """
        unit = max(problem.bayes_error, least * problem.constant_error) or 1.0
        cost = (problem.loss - problem.loss.min(axis=0)) / scale / unit
        constraints = list[LeakageConstraint]()
        private = list[PriorGroup]()
        first = 0
        guesses = 0
        for number, term in enumerate(problem.terms):
            groups = [PriorGroup.of(problem, rows) for rows in term.groups]
            if term.budget.perfect:
                private += groups
            elif not (term.budget.oblivious or _is_slack(problem, term)):
                part = LeakageConstraint(number, term, tuple(groups), first, guesses)
                constraints.append(part)
                first += part.width
                guesses += len(groups)
        rows = stacked_rows(problem, private, equations)
        return cls(problem, cost, scale, unit, rows, tuple(constraints))

    @property
    def leaks(self) -> bool:
        """True if there is a leakage constraint, and hence D and s. A budget of at least H(X) is no
        constraint.
        """
        return bool(self.parts)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of variables R, D and s."""
        m = self.problem.m
        return m * self.problem.N, m * self._widths[0], m * self._widths[1]

    @property
    def _widths(self) -> tuple[int, int]:
        """The numbers of columns of D and s."""
        return sum(part.width for part in self.parts), sum(len(part.groups) for part in self.parts)

    def places(
        self, part: LeakageConstraint
    ) -> Iterator[tuple[int, NDArray[np.intp], int, PriorGroup]]:
        """Yield, guess by guess, the guess, the positions of D_i and of s_i among the variables,
        and the group.
        """
        (masses, deviations, _) = self.sizes
        (width, count) = self._widths
        for i in range(self.problem.m):
            start = masses + i * width + part.first
            mass = masses + deviations + i * count + part.guesses
            for group in part.groups:
                end = start + group.prior.size
                yield i, np.arange(start, end), mass, group
                start = end
                mass += 1

    @property
    def row(self) -> Array:
        """The privacy equations of one guess [r, N]: Σ_l row_rl R_il = 0."""
        return self.rows.features * (self.problem.p_z / self.scale)

    def law(self) -> tuple[Array, Array]:
        """Return the matrices [columns of D, N] and [columns of s, N] that map P_i to D_i and
        s_i.
        """
        groups = [(group, part.root) for part in self.parts for group in part.groups]
        return np.vstack([group.deviation / root for group, root in groups]), np.vstack(
            [group.mass for group, _ in groups]
        )

    def equations(self) -> tuple[csc_array, Array]:
        """Return (E, right): the matrix [equations, variables] and the right-hand sides."""
        from scipy import sparse

        problem = self.problem
        m = self.problem.m
        sums = sparse.hstack([sparse.eye_array(problem.N)] * m)
        whole: Any = sums
        if self.row.size and m > 1:
            private = _diagonal(self.row, m - 1)
            empty = sparse.csc_array(((m - 1) * len(self.row), problem.N))
            whole = sparse.vstack([sums, sparse.hstack([private, empty])])
        if self.leaks:
            links, masses = (_diagonal(-each / self.scale, m) for each in self.law())
            _, deviations, guesses = self.sizes
            law = sparse.block_array(
                [
                    [links, sparse.eye_array(deviations), None],
                    [masses, None, sparse.eye_array(guesses)],
                ]
            )
            empty = sparse.csc_array((whole.shape[0], deviations + guesses))
            whole = sparse.vstack([sparse.hstack([whole, empty]), law])
        matrix = sparse.csc_array(whole)
        return matrix, np.concatenate([self.scale, np.zeros(matrix.shape[0] - problem.N)])

    def linear_program(self) -> LinearProgram:
        """Return the linear parts of the program as arrays. For each guess i and piece R_k of these
        parts, a variable h_ik is appended.

        The rows are the equations; R_k (D_i, s_i) ≤ h_ik; and Σ h_ik ≤ 1 over all guesses, or for
        each guess. A measure of each posterior has only R_k (D_i, s_i) ≤ 0, without h.
        """
        from scipy import sparse

        matrix, right = self.equations()
        rows, limits = self._inequalities()
        if not limits.size:
            return LinearProgram(self.objective(), matrix, right, right, self.lower_bounds())
        heights = rows.shape[1] - matrix.shape[1]
        below = np.full(limits.size, -math.inf)
        whole = sparse.vstack(
            [sparse.hstack([matrix, sparse.csc_array((right.size, heights))]), rows]
        )
        return LinearProgram(
            np.append(self.objective(), np.zeros(heights)),
            sparse.csc_array(whole),
            np.append(right, below),
            np.append(right, limits),
            np.append(self.lower_bounds(), np.full(heights, -math.inf)),
        )

    def _inequalities(self) -> tuple[csc_array, Array]:
        """Return rows [·, variables and h] and their upper limits; the budgets come last."""
        columns = sum(self.sizes)
        rows = list[Sum]()
        budgets = list[Sum]()
        limits = list[float]()
        for part in (each for each in self.parts if each.linear):
            own = list[list[int]]([] for _ in range(self.problem.m))
            for i, deviation, guess, group in self.places(part):
                for piece in part.pieces(group):
                    places = [*deviation.tolist(), guess]
                    height = list[float]()
                    if part.measure.scope is not Scope.POSTERIOR:
                        places.append(columns)
                        own[i].append(columns)
                        height.append(-1.0)
                        columns += 1
                    rows += [(places, [*row, *height]) for row in piece.tolist()]
            if part.measure.scope is Scope.TOTAL:
                own = [[place for places in own for place in places]]
            for heights in filter(None, own):
                budgets.append((heights, [1.0] * len(heights)))
                limits.append(part.level / part.unit)
        return sparse_rows(rows + budgets, columns), np.append(np.zeros(len(rows)), limits)

    def objective(self) -> Array:
        """Return the cost of every variable."""
        return np.concatenate([self.cost.ravel(), np.zeros(sum(self.sizes[1:]))])

    def uniform_start(self) -> Array:
        """Return all variables for the uniform guess, which leaks nothing and lies strictly within
        every bound.
        """
        m = self.problem.m
        masses, deviations, guesses = self.sizes
        start = np.zeros(masses + deviations + guesses)
        start[:masses] = np.tile(self.scale / m, m)
        if self.leaks:
            start[masses + deviations :] = np.tile(self.law()[1].sum(axis=1) / m, m)
        return start

    def lower_bounds(self) -> Array:
        """Return lower bounds: 0 for R and s, −inf for D."""
        masses, deviations, guesses = self.sizes
        return np.concatenate([np.zeros(masses), np.full(deviations, -math.inf), np.zeros(guesses)])

    def answer(self, variables: Array, prices: Array) -> Answer:
        """Return the `estimator`, with duals if they are finite.

        variables  all variables; R comes first
        prices     of the equations, then of other rows, in the Lagrangian cost·x + prices·(E x −
                   right); those of the budgets come last, linear parts first
        """
        estimator = self.estimator(variables[: self.cost.size])
        first = self.problem.N
        expected = first + (self.problem.m - 1) * len(self.rows.features) + sum(self.sizes[1:])
        if prices.size < expected or not np.isfinite(prices[:expected]).all():
            return Answer(estimator)
        if not all(map(math.isfinite, self._budget_prices(prices))):
            return Answer(estimator)
        return Answer(estimator, *self.duals(prices[first:]))

    def estimator(self, variables: Array) -> Array:
        """Return P = R / v; under a measure of each posterior, guesses that only rounding makes are
        removed, since their posteriors are arbitrary.
        """
        columns = variables.reshape(self.cost.shape) / self.scale
        if all(part.measure.scope is not Scope.POSTERIOR for part in self.parts):
            return columns
        return without_rare(normalise(columns), self.problem.p_z, Precision.unseen)

    def _budget_prices(self, prices: Array) -> list[float]:
        """Return the price of each part's budget, in units of B, from the last prices: first the
        linear parts, then the others.
        """
        price_of = dict[int, float]()
        end = prices.size
        # Read backwards from the end.
        for part in sorted(self.parts, key=lambda part: (part.linear, -part.number)):
            count = 1 if part.measure.scope is Scope.TOTAL else self.problem.m
            count = 0 if part.linear and part.measure.scope is Scope.POSTERIOR else count
            price_of[part.number] = float(prices[end - count : end].sum())
            end -= count
        return [price_of[part.number] for part in self.parts]

    def duals(self, prices: Array) -> tuple[Array, Array]:
        """Return (tilt [m, n], multipliers [C]) from the prices of all rows except the first N."""
        private = (self.problem.m - 1) * len(self.rows.features)
        links = prices[private : private + self.sizes[1]]
        masses = prices[private + self.sizes[1] :]
        tilt = self.rows.tilt(
            -self.unit * prices[:private].reshape(self.problem.m - 1, len(self.rows.features)),
            self.problem.m,
        )
        multipliers = no_multipliers(self.problem.terms)
        for part, price in zip(self.parts, self._budget_prices(prices), strict=True):
            multipliers[part.number] = max(0.0, price) * self.unit / part.unit
            for i, deviation, guess, group in self.places(part):
                start = self.sizes[0]
                slope = -self.unit / part.root * links[deviation - start]
                # D is (u − π s)/root.
                shift = -self.unit * masses[guess - start - links.size] - slope @ group.prior
                tilt[i, group.rows] = slope + shift
        return tilt, multipliers


def _is_slack(problem: Problem, term: Term) -> bool:
    """Return True if a budget of mutual information is at least the entropy of its X."""
    return term.measure == MUTUAL_INFORMATION and term.budget.amount >= entropy(
        problem.p_x[term.rows]
    )


def _diagonal(block: Array, times: int) -> sparray:
    """Return the block repeated along the diagonal, as a sparse matrix."""
    from scipy import sparse

    return sparse.block_diag([sparse.csc_array(block)] * times)


Sum: TypeAlias = "tuple[list[int], list[float]]"
"""A sum of variables: their positions and their factors."""


def sparse_rows(sums: Sequence[Sum], columns: int) -> csc_array:
    """Return the matrix [sums, columns] whose rows are sums of variables."""
    from scipy import sparse

    counts = [len(places) for places, _ in sums]
    places, factors = (np.array([each for one in sums for each in one[k]]) for k in (0, 1))
    rows = np.repeat(np.arange(len(sums)), counts)
    return sparse.csc_array((factors, (rows, places)), shape=(len(sums), columns))


def limits(options: Options, iterations: str, seconds: str) -> dict[str, Setting]:
    """Return the limits requested by the caller, with the solver's own names; an empty name is left
    out.
    """
    asked = ((iterations, options.max_iterations), (seconds, options.time_limit))
    return {name: limit for name, limit in asked if name and limit is not None}
