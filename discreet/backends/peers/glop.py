"""Backend `glop`: perfect privacy and linear measures of leakage by GLOP, the simplex method of
OR-Tools.

Method: the linear programs of `lowering` (whitened equations, variables sqrt(w_l) P_il), as in the
backend `highs`, passed as sparse arrays through OR-Tools' model builder. Row duals become the tilt.
Without a constraint (budget inf) the program has no privacy equations.

Source: L. Perron, V. Furnon, "OR-Tools", Google, 2024, developers.google.com/optimization; its
guide "Advanced LP solving" and the comments of glop/parameters.proto for the settings.

Limitations: no positive finite budgets of mutual information and other measures that are not
linear; no number of iterations, which the model builder does not pass on. Tolerances are absolute.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, is_late, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.measures.registry import LINEAR
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from ortools.linear_solver.python.model_builder_helper import ModelBuilderHelper


class Glop(Unlifted):
    """The linear programs through GLOP; see the docstring of the module."""

    name = "glop"
    capabilities = Capabilities(
        regimes=frozenset({Regime.PERFECT, Regime.OBLIVIOUS}),
        largest_outcomes=300_000,  # 1 s; at a million it claims OPTIMAL with a gap of 0.65
        gives_duals=True,
        method="linear program, by GLOP's simplex method (OR-Tools)",
        citation="L. Perron, V. Furnon, OR-Tools, Google (2024)",
        method_class="simplex",
        libraries=("ortools",),
        extra="peers",
        peer=True,
        measures=LINEAR,
        several=True,
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

    def lower(self, problem: Problem, options: Options) -> Lowered[ModelBuilderHelper, str]:
        """Return the program as a ModelBuilderHelper, and the settings in GLOP's text format."""
        from ortools.linear_solver.python import model_builder_helper
        from scipy import sparse

        program = Program.linear(problem)
        arrays = program.linear_program()
        model = model_builder_helper.ModelBuilderHelper()
        fill: Any = model.fill_model_from_sparse_data  # its stub lacks an argument
        fill(
            arrays.least,
            arrays.most,
            arrays.cost,
            arrays.low,
            arrays.high,
            sparse.csr_matrix(arrays.matrix),
        )
        settings = native(self.tuning, options, problem.N, "max_number_of_iterations", "")
        return Lowered(
            program, model, " ".join(f"{name}: {_text(value)}" for name, value in settings.items())
        )

    def solve(self, lowered: Lowered[ModelBuilderHelper, str], options: Options) -> Raw[Answer]:
        """Run GLOP; `claimed` is its status. Raises Interrupted at the time limit, BackendError
        without a point.
        """
        from ortools.linear_solver.python import model_builder_helper

        solver = model_builder_helper.ModelSolverHelper("glop")
        solver.set_solver_specific_parameters(lowered.options)
        if options.time_limit is not None:
            solver.set_time_limit_in_seconds(options.time_limit)
        started = time.perf_counter()
        solver.solve(lowered.model)
        seconds = time.perf_counter() - started
        claimed = f"{solver.status().name} {solver.status_string()}".strip()
        late = claimed != "OPTIMAL" and is_late(options, seconds)
        variables = point_of(
            "GLOP",
            claimed,
            late,
            options,
            solver.variable_values() if solver.has_solution() else None,
        )
        return Raw(claimed, lowered.program.answer(variables, -np.asarray(solver.dual_values())))


def _text(value: Setting) -> str:
    """Return a value in protobuf's text format."""
    return str(value).lower() if isinstance(value, bool) else str(value)
