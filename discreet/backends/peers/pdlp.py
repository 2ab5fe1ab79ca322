"""Backend `pdlp`: perfect privacy and linear measures of leakage by the first-order method PDLP of
OR-Tools.

Method: the linear programs of `lowering` (whitened equations, variables sqrt(w_l) P_il) as arrays
for PDLP's own Python interface: primal–dual hybrid gradient with adaptive steps, restarts, diagonal
preconditioning and presolve. The dual iterate becomes the tilt. Without a constraint (budget inf)
the program has no privacy equations.

It runs in a process of its own, since the libhighs of OR-Tools and that of highspy break each
other.

Source: D. Applegate et al., "Practical large-scale linear programming using primal-dual hybrid
gradient", NeurIPS 2021, and "PDLP: a practical first-order method for large-scale linear
programming", arXiv:2501.07018; the comments of solvers.proto.

Limitations: no positive finite budgets of mutual information and other measures that are not
linear. Iterations are cheap but their number is not bounded in practice: a first-order method
reaches high accuracy only on well-conditioned programs. At a hundredth of the leakage of the Bayes
rule, 10⁴ to 10⁶ iterations certify ten outcomes; at a ten-thousandth, 5 s are not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.lowering import LinearProgram, Lowered, Program, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.process import call, import_for_call
from discreet.backends.solvers import LINEAR_BUDGETS, PEER, LinearSolver, SolverResult

if TYPE_CHECKING:
    from ortools.pdlp.python.pdlp import QuadraticProgram
    from ortools.pdlp.solvers_pb2 import PrimalDualHybridGradientParams


def _accuracy(criterion: str, value: float | ShareOfGap, why: str) -> Tuned:
    """Return a tolerance by the path of its field; PDLP's default for all of them is 1e-6."""
    return Tuned(
        f"termination_criteria.detailed_optimality_criteria.eps_optimal_{criterion}",
        value,
        1e-6,
        why,
    )


class Pdlp(LinearSolver[LinearProgram]):
    """The linear programs through PDLP; see the docstring of the module."""

    name = "pdlp"
    solver = "PDLP"
    capabilities = Capabilities(
        **PEER,
        **LINEAR_BUDGETS,
        largest_outcomes=30_000,  # 48 s on the single sensor, over 90 s at 100 000
        method="linear program, by the first-order method PDLP (OR-Tools)",
        citation="D. Applegate et al., PDLP, NeurIPS 2021",
        method_class="first order",
        reach=(Reach("the linear program of 16,384 outcomes did not end within 20 s", 10_000),),
        libraries=("ortools",),
    )
    _share = ShareOfGap(Precision.own_gap, 1e-12)
    tuning: Tuning = (
        # An estimator counts as private up to a residual of 1e-13.
        _accuracy("primal_residual_absolute", 1e-14, "a residual of a privacy equation is a leak"),
        _accuracy(
            "primal_residual_relative", 0.0, ("as the absolute one: leaks are judged absolutely")
        ),
        _accuracy("dual_residual_absolute", _share, "what the dual bound loses"),
        _accuracy("dual_residual_relative", _share, "as the absolute one"),
        _accuracy("objective_gap_absolute", _share, "the gap"),
        _accuracy("objective_gap_relative", _share, "the gap"),
        Tuned(
            "use_feasibility_polishing",
            True,
            False,
            "meant for small primal residuals: 12 of 13 problems certified, without it 6 of 7",
        ),
        Tuned(
            "handle_some_primal_gradients_on_finite_bounds_as_residuals",
            False,
            True,
            "polishing asks for it",
        ),
        Tuned("num_threads", 1, 1, "as for every solver configuration"),
    )

    limits = ("termination_criteria.iteration_limit", "termination_criteria.time_sec_limit")

    def model(self, program: Program) -> LinearProgram:
        """Return the arrays."""
        import_for_call("ortools.pdlp.python.pdlp")
        import_for_call("ortools.pdlp.solve_log_pb2")
        return program.linear_program()

    def run(
        self, lowered: Lowered[LinearProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run PDLP in a process without highspy."""
        request = lowered.model, lowered.options
        result: SolverResult = call(f"{__name__}:run", request, options.time_limit)
        return result


def run(
    send: Callable[[SolverResult], None], arrays: LinearProgram, settings: dict[str, Setting]
) -> None:
    """Solve a linear program by PDLP, and send how it ended."""
    from ortools.pdlp.python import pdlp

    result = pdlp.primal_dual_hybrid_gradient(_model(arrays), _parameters(settings))
    log = result.solve_log
    reasons = log.DESCRIPTOR.fields_by_name["termination_reason"].enum_type.values_by_number
    claimed = reasons[log.termination_reason].name.removeprefix("TERMINATION_REASON_")
    point = np.asarray(result.primal_solution)
    variables = point if point.size == arrays.cost.size else None
    prices = -np.asarray(result.dual_solution)
    late = claimed == "TIME_LIMIT"
    send(SolverResult(claimed, late, variables, prices, int(log.iteration_count)))


def _model(arrays: LinearProgram) -> QuadraticProgram:
    from ortools.pdlp.python import pdlp
    from scipy import sparse

    model = pdlp.QuadraticProgram()
    model.resize_and_initialize(arrays.cost.size, arrays.low.size)
    model.objective_vector = arrays.cost
    model.constraint_matrix = sparse.csc_matrix(arrays.matrix)
    model.constraint_lower_bounds = arrays.low
    model.constraint_upper_bounds = arrays.high
    model.variable_lower_bounds = arrays.least
    model.variable_upper_bounds = arrays.most
    return model


def _parameters(settings: dict[str, Setting]) -> PrimalDualHybridGradientParams:
    """Return PrimalDualHybridGradientParams with the settings, whose names are paths of fields."""
    from ortools.pdlp import solvers_pb2

    parameters = solvers_pb2.PrimalDualHybridGradientParams()
    for name, value in settings.items():
        *path, last = name.split(".")
        message = parameters
        for part in path:
            message = getattr(message, part)
        setattr(message, last, value)
    return parameters
