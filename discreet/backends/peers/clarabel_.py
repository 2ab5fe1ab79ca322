"""Backend `clarabel`: the problem as a cone program passed to Clarabel directly, without a modelling layer.

Method: the variables and equations of `lowering`, and for each pair (i, j) one exponential cone (x, y, z), y e^{x/y} ≤ z,
with y = u_ij/sqrt(ε), z = π_j s_i/sqrt(ε) and x a variable of its own, so that z − y − x is an upper bound of the term
u log(u/(π s)) − u + π s of the leakage. Their sum is kept below the budget. Every row is divided by sqrt(ε) or ε as in the
backend `conic`, which reaches the same solver through cvxpy. Sparse arrays are built here, in one pass.

Other measures of leakage: chi-square by second-order cones, Sibson's by power cones of what is over independence, the
divergence of each posterior by the same exponential cones, and linear measures by the rows of `Program.linear_program`.

Source: P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", 2024
(arXiv:2405.12762).

Cannot: resolve small budgets, for the reason given in `conic`: at 20 of the paper's sensors it ends without progress. Where
it runs out of precision it keeps its last point and says so ("AlmostSolved", "InsufficientProgress").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Group, Lowered, Part, Program, Setting, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.problems.measures.measure import Cone, Scope
from discreet.problems.measures.registry import linear_or_of
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csc_matrix


class Clarabel(Unlifted):
    """The cone program through Clarabel's own interface; see the module's docstring."""

    name = "clarabel"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=1_000_000,  # 39 s on the single sensor
        gives_duals=True,
        method="exponential, power and second-order cones in sparse arrays, by Clarabel's interior point method",
        citation="P. J. Goulart, Y. Chen, Clarabel, arXiv:2405.12762 (2024)",
        method_class="cones",
        reach=(Reach("did not end within 30 s for 1,000,000 outcomes", 200_000),),
        libraries=("clarabel",),
        extra="peers",
        peer=True,
        measures=linear_or_of(*Cone),
        several=True,
    )
    _share = ShareOfGap(Precision.cone, 1e-14)
    tuning: Tuning = (
        Tuned("verbose", False, True, "nothing is printed"),
        Tuned("tol_gap_abs", _share, 1e-8, "at a tenth of the gap its answers miss the gap by 10 to 100 times"),
        Tuned("tol_gap_rel", _share, 1e-8, "as tol_gap_abs; the price is a few more iterations"),
        Tuned("tol_feas", _share, 1e-8, "an infeasibility is a leak, to be compared with a small budget"),
    )

    def lower(self, problem: Problem, options: Options) -> Lowered[_ConeProgram, dict[str, Setting]]:
        """Clarabel's arrays P, q, A, b and cones, and its settings by name."""
        program = Program.of(problem)
        limits = {"max_iter": options.max_iterations, "time_limit": options.time_limit}
        return Lowered(program, _cone_program(program), native(self.tuning, options, problem.N, limits))

    def solve(self, lowered: Lowered[_ConeProgram, dict[str, Setting]], options: Options) -> Raw[Answer]:
        """Run Clarabel; `claimed` is its status. Raises Interrupted at the time limit, BackendError without a point."""
        import clarabel

        settings = clarabel.DefaultSettings()
        for name, value in lowered.options.items():
            setattr(settings, name, value)
        form = lowered.model
        arguments = form.quadratic, form.cost, form.matrix, form.right, form.cones
        solution = clarabel.DefaultSolver(*arguments, settings).solve()
        claimed = str(solution.status)
        variables = point_of("Clarabel", claimed, claimed == "MaxTime", options, solution.x)
        program, prices, equations = lowered.program, np.asarray(solution.z), lowered.program.equations()[1].size
        kept = np.append(prices[:equations], prices[equations + program.sizes[0] : lowered.model.linear])
        return Raw(claimed, program.answer(variables, kept), int(solution.iterations))


@dataclass(frozen=True)
class _ConeProgram:
    """Clarabel's form min q·x with A x + slack = b; rows: equations, R ≥ 0, budgets, and after `linear` of these cones."""

    quadratic: csc_matrix
    cost: Array
    matrix: csc_matrix
    right: Array
    cones: list[object]
    linear: int


def _cone_program(program: Program) -> _ConeProgram:
    import clarabel
    from scipy import sparse

    arrays, masses = program.linear_program(), program.sizes[0]
    found = _Cones(arrays.cost.size)
    for part in program.parts:
        if not part.linear:
            _add_cones(program, part, found)
    cost = np.append(arrays.cost, np.zeros(found.variables - arrays.cost.size))
    given = sparse.csr_array(
        sparse.hstack([arrays.matrix, sparse.csc_array((arrays.low.size, cost.size - arrays.cost.size))])
    )
    equations = int((arrays.low == arrays.high).sum())
    signs = sparse.eye_array(masses, cost.size) * -1.0
    matrix = sparse.vstack(
        [given[:equations], signs, given[equations:], _matrix(found.budgets, cost.size), _matrix(found.rows, cost.size)]
    )
    right = (arrays.high[:equations], np.zeros(masses), arrays.high[equations:], found.limits, np.zeros(len(found.rows)))
    linear = matrix.shape[0] - len(found.rows)
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(linear - equations), *found.cones]
    empty = sparse.csc_matrix((cost.size, cost.size))
    return _ConeProgram(empty, cost, sparse.csc_matrix(matrix), np.concatenate(right), cones, linear)


_Sum: TypeAlias = "tuple[list[int], list[float]]"
"""A sum of variables: places and factors."""


class _Cones:
    """Cones of sums of variables, and sums that are bounded; `variables` counts those of the program and new ones."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.cones, self.rows = list[object](), list[_Sum]()
        self.budgets, self.limits = list[_Sum](), list[float]()

    def new(self) -> int:
        """The place of one variable more."""
        self.variables += 1
        return self.variables - 1

    def add(self, cone: object, *members: _Sum) -> None:
        """Its members are slacks, so their rows have the opposite sign."""
        self.cones.append(cone)
        self.rows += [(places, [-factor for factor in factors]) for places, factors in members]


def _matrix(rows: list[_Sum], columns: int) -> csc_array:
    from scipy import sparse

    counts = [len(places) for places, _ in rows]
    places, factors = (np.array([each for row in rows for each in row[k]]) for k in (0, 1))
    return sparse.csc_array((factors, (np.repeat(np.arange(len(rows)), counts), places)), shape=(len(rows), columns))


def _add_cones(program: Program, part: Part, found: _Cones) -> None:
    """The cones of a measure that is not linear; Σ of what it returns for every guess is leakage/B, at most 1."""
    each = {Cone.QUADRATIC: _quadratic, Cone.POWER: _powers, Cone.ENTROPY: _exponential}[part.cone]
    leaks = list[tuple[int, _Sum]]()
    for _, deviation, guess, _, group in program.places(part):
        leaks.append((guess, each(part, group, deviation.tolist(), guess, found)))
    if part.measure.scope is Scope.TOTAL:
        places = [place for _, (its, _) in leaks for place in its]
        found.budgets.append((places, [factor for _, (_, its) in leaks for factor in its]))
        found.limits.append(1.0)
    else:
        found.budgets += [([*places, guess], [*values, -1.0]) for guess, (places, values) in leaks]
        found.limits += [0.0] * len(leaks)


def _exponential(part: Part, group: Group, deviation: list[int], guess: int, found: _Cones) -> _Sum:
    """Σ_j (z_j − y_j − x_j)/root with y e^{x/y} ≤ z, y = u/root and z = π s/root, so that z − y = −D."""
    import clarabel

    extra = list[int]()
    for place, prior in zip(deviation, group.prior.tolist(), strict=True):
        extra.append(found.new())
        independent = prior / part.root
        found.add(
            clarabel.ExponentialConeT(),
            ([extra[-1]], [1.0]),
            ([guess, place], [independent, 1.0]),
            ([guess], [independent]),
        )
    return [*deviation, *extra], [-1.0 / part.root] * (2 * len(deviation))


def _quadratic(part: Part, group: Group, deviation: list[int], guess: int, found: _Cones) -> _Sum:
    """h with Σ_j D_j²/π_j ≤ h s, as |(h − s, 2 D/√π)| ≤ h + s."""
    import clarabel

    h = found.new()
    sums = [([h, guess], [1.0, 1.0]), ([h, guess], [1.0, -1.0])]
    sums += [([place], [2.0 / math.sqrt(p)]) for place, p in zip(deviation, group.prior.tolist(), strict=True)]
    found.add(clarabel.SecondOrderConeT(len(sums)), *sums)
    return [h], [1.0]


def _powers(part: Part, group: Group, deviation: list[int], guess: int, found: _Cones) -> _Sum:
    """root Σ_j e_j/B, with q_j = π_j s + root e_j, norm Σ_j q_j = s + root Σ_j e_j and, divided by the root,

    u_j π_j^{1/α − 1} ≤ q_j^{1/α} norm^{1 − 1/α}.
    """
    import clarabel

    order, extra, root = 1.0 / part.measure.order, [found.new() for _ in deviation], part.root
    norm = ([guess, *extra], [1.0 / root, *[1.0] * len(extra)])
    for place, e, prior in zip(deviation, extra, group.prior.tolist(), strict=True):
        weight = prior ** (order - 1.0)
        found.add(
            clarabel.PowerConeT(order),
            ([guess, e], [prior / root, 1.0]),
            norm,
            ([guess, place], [weight * prior / root, weight]),
        )
    return extra, [root / part.unit] * len(extra)
