"""Backend `clarabel`: the exponential-cone program passed to Clarabel directly, without a modelling layer.

Method: the variables and equations of `lowering`, and for each pair (i, j) one exponential cone (x, y, z), y e^{x/y} ≤ z,
with y = u_ij/sqrt(ε), z = π_j s_i/sqrt(ε) and x a variable of its own, so that z − y − x is an upper bound of the term
u log(u/(π s)) − u + π s of the leakage. Their sum is kept below the budget. Every row is divided by sqrt(ε) or ε as in the
backend `conic`, which reaches the same solver through cvxpy. Sparse arrays are built here, in one pass.

Source: P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", 2024
(arXiv:2405.12762).

Cannot: resolve small budgets, for the reason given in `conic`: at 20 of the paper's sensors it ends without progress. Where
it runs out of precision it keeps its last point and says so ("AlmostSolved", "InsufficientProgress").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csc_matrix

    _ConeProgram: TypeAlias = tuple[csc_matrix, Array, csc_matrix, Array, list[object]]


class Clarabel(Unlifted):
    """The exponential-cone program through Clarabel's own interface; see the module's docstring."""

    name = "clarabel"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=1_000_000,  # 39 s on the single sensor
        gives_duals=True,
        method="exponential cones in sparse arrays, by Clarabel's interior point method",
        citation="P. J. Goulart, Y. Chen, Clarabel, arXiv:2405.12762 (2024)",
        method_class="cones",
        reach=(Reach("did not end within 30 s for 1,000,000 outcomes", 200_000),),
        libraries=("clarabel",),
        extra="peers",
        peer=True,
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
        solution = clarabel.DefaultSolver(*lowered.model, settings).solve()
        claimed = str(solution.status)
        variables = point_of("Clarabel", claimed, claimed == "MaxTime", options, solution.x)
        program, prices = lowered.program, np.asarray(solution.z)
        masses, terms, _ = program.sizes
        budget = prices.size - 3 * terms - program.leaks  # the row of the budget, before those of the cones
        price = float(prices[budget]) if program.leaks else 0.0
        return Raw(claimed, program.answer(variables, prices[: budget - masses], price), int(solution.iterations))


def _cone_program(program: Program) -> _ConeProgram:
    """(P, q, A, b, cones) of Clarabel's form min q·x with A x + slack = b; rows: equations, R ≥ 0, budget, cones."""
    import clarabel
    from scipy import sparse

    equations, right = program.equations()
    masses, terms, _ = program.sizes
    known = sum(program.sizes)  # variables of `lowering`; after them one x per cone
    below = [sparse.hstack([-sparse.eye_array(masses), sparse.csc_array((masses, known - masses + terms))])]
    offsets = [right, np.zeros(masses)]
    cones = [clarabel.ZeroConeT(right.size), clarabel.NonnegativeConeT(masses + program.leaks)]
    if program.leaks:
        below.append(_leakage_rows(program))
        offsets.append(np.append(1.0, np.zeros(3 * terms)))
        cones += [clarabel.ExponentialConeT()] * terms
    above = sparse.hstack([equations, sparse.csc_array((right.size, terms))])
    matrix = sparse.csc_matrix(sparse.vstack([above, *below]))
    cost = np.concatenate([program.objective(), np.zeros(terms)])
    return sparse.csc_matrix((cost.size, cost.size)), cost, matrix, np.concatenate(offsets), cones


def _leakage_rows(program: Program) -> csc_array:
    """Rows of −slack: the budget Σ (z − y − x)/sqrt(ε) ≤ 1 with z − y = −D, then x, y = π s/sqrt(ε) + D, z for each term."""
    from scipy import sparse

    problem, root = program.problem, program.root
    masses, terms, guesses = program.sizes
    k = np.arange(terms)
    d, s, x = masses + k, masses + terms + k // problem.n, masses + terms + guesses + k
    prior = np.tile(problem.p_x, problem.m) / root
    each, ones = 1 + 3 * k, np.ones(terms)
    entries = [
        (0 * k, d, -ones / root),
        (0 * k, x, -ones / root),
        (each, x, -ones),
        (each + 1, s, -prior),
        (each + 1, d, -ones),
        (each + 2, s, -prior),
    ]
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csc_array((value, (row, column)), shape=(1 + 3 * terms, masses + 2 * terms + guesses))
