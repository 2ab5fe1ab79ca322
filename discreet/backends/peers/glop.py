"""Backend `glop`: perfect privacy and linear measures of leakage by GLOP, the simplex method of
OR-Tools.

Method: the linear programs of `lowering` (whitened equations, variables sqrt(w_l) P_il), as in the
backend `highs`, passed as sparse arrays through OR-Tools' model builder. Row duals become the tilt.
Without a constraint (budget inf) the program has no privacy equations.

It runs in a process of its own, since the libhighs of OR-Tools and that of highspy break each
other.

Source: L. Perron, V. Furnon, "OR-Tools", Google, 2024, developers.google.com/optimization; its
guide "Advanced LP solving" and the comments of glop/parameters.proto for the settings.

Limitations: no positive finite budgets of mutual information and other measures that are not
linear; no number of iterations, which the model builder does not pass on. Tolerances are absolute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.backends.contract import Capabilities, Options
from discreet.backends.lowering import LinearProgram, Lowered, Program, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.process import call, import_for_call
from discreet.backends.solvers import LINEAR_BUDGETS, PEER, LinearSolver, SolverResult, is_late
from discreet.problems.problem import Problem


class Glop(LinearSolver[LinearProgram]):
    """The linear programs through GLOP; see the docstring of the module."""

    name = "glop"
    solver = "GLOP"
    capabilities = Capabilities(
        **PEER,
        **LINEAR_BUDGETS,
        largest_outcomes=300_000,  # 1 s; at a million it claims OPTIMAL with a gap of 0.65
        method="linear program, by GLOP's simplex method (OR-Tools)",
        citation="L. Perron, V. Furnon, OR-Tools, Google (2024)",
        method_class="simplex",
        libraries=("ortools",),
    )
    _share = ShareOfGap(Precision.own_gap, 1e-12)
    tuning: Tuning = (
        Tuned(
            "primal_feasibility_tolerance",
            _share,
            1e-8,
            ("absolute, in units of sqrt(w) P and of the answer"),
        ),
        Tuned("dual_feasibility_tolerance", _share, 1e-8, "as primal_feasibility_tolerance"),
        Tuned(
            "use_dual_simplex",
            True,
            False,
            ("a third of the time of the primal method on 14 problems, to the same digits"),
        ),
    )

    limits = ("max_number_of_iterations", "")

    def settings(self, options: Options, problem: Problem) -> str:
        """Return the settings in protobuf's text format."""
        settings = super().settings(options, problem)
        return " ".join(f"{name}: {_text(value)}" for name, value in settings.items())

    def model(self, program: Program) -> LinearProgram:
        """Return the arrays."""
        import_for_call("ortools.linear_solver.python.model_builder_helper")
        return program.linear_program()

    def run(self, lowered: Lowered[LinearProgram, str], options: Options) -> SolverResult:
        """Run GLOP in a process without highspy."""
        limit = options.time_limit
        result: SolverResult = call(
            f"{__name__}:run", (lowered.model, lowered.options, limit), limit
        )
        return result


def run(
    send: Callable[[SolverResult], None], arrays: LinearProgram, settings: str, limit: float | None
) -> None:
    """Solve a linear program by GLOP, and send how it ended."""
    from ortools.linear_solver.python import model_builder_helper
    from scipy import sparse

    model = model_builder_helper.ModelBuilderHelper()
    fill: Any = model.fill_model_from_sparse_data  # its stub lacks an argument
    matrix = sparse.csr_matrix(arrays.matrix)
    fill(arrays.least, arrays.most, arrays.cost, arrays.low, arrays.high, matrix)
    solver = model_builder_helper.ModelSolverHelper("glop")
    solver.set_solver_specific_parameters(settings)
    if limit is not None:
        solver.set_time_limit_in_seconds(limit)
    started = time.perf_counter()
    solver.solve(model)
    seconds = time.perf_counter() - started
    claimed = f"{solver.status().name} {solver.status_string()}".strip()
    late = claimed != "OPTIMAL" and is_late(limit, seconds)
    variables = np.asarray(solver.variable_values()) if solver.has_solution() else None
    send(SolverResult(claimed, late, variables, -np.asarray(solver.dual_values())))


def _text(value: Setting) -> str:
    """Return a value in protobuf's text format."""
    return str(value).lower() if isinstance(value, bool) else str(value)
