"""Backend `pdlp`: perfect privacy as a linear program, by the first-order method PDLP of OR-Tools.

Method: the linear program of `linear_program` (whitened equations, variables sqrt(w_l) P_il) as arrays for PDLP's own Python
interface: primal–dual hybrid gradient with adaptive steps, restarts, diagonal preconditioning and presolve. The dual iterate
becomes the tilt. Without a constraint (budget inf) there are no privacy equations left.

Source: D. Applegate et al., "Practical large-scale linear programming using primal-dual hybrid gradient", NeurIPS 2021, and
"PDLP: a practical first-order method for large-scale linear programming", arXiv:2501.07018; the comments of solvers.proto.

Cannot: any positive finite budget. Iterations are cheap but their number is not bounded in practice: a first-order method
reaches high accuracy only on well-conditioned programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.linear_program import PrivateLP, no_rows, private_lp, whitened_rows
from discreet.backends.peers.tuning import ShareOfGap, Tuned, Tuning, native
from discreet.problems.errors import BackendError, Interrupted
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["TUNING", "Pdlp"]

_LEAK = 1e-14  # residual of the equations: an estimator counts as private up to 1e-13
_SHARE = ShareOfGap(0.1, 1e-12)
_ACCURACY = "termination_criteria.detailed_optimality_criteria.eps_optimal_"
_NO_RESIDUALS = "handle_some_primal_gradients_on_finite_bounds_as_residuals"

TUNING: Tuning = (
    Tuned(f"{_ACCURACY}primal_residual_absolute", _LEAK, 1e-6, "a residual of a privacy equation is a leak"),
    Tuned(f"{_ACCURACY}primal_residual_relative", 0.0, 1e-6, "as the absolute one: leaks are judged absolutely"),
    Tuned(f"{_ACCURACY}dual_residual_absolute", _SHARE, 1e-6, "what the dual bound loses"),
    Tuned(f"{_ACCURACY}dual_residual_relative", _SHARE, 1e-6, "as the absolute one"),
    Tuned(f"{_ACCURACY}objective_gap_absolute", _SHARE, 1e-6, "the gap"),
    Tuned(f"{_ACCURACY}objective_gap_relative", _SHARE, 1e-6, "the gap"),
    Tuned(
        "use_feasibility_polishing",
        True,
        False,
        "meant for small primal residuals: 12 of 13 problems certified, without it 6 of 7",
    ),
    Tuned(_NO_RESIDUALS, False, True, "polishing asks for it"),
    Tuned("num_threads", 1, 1, "as every contestant"),
)


@dataclass(frozen=True)
class _Lowered:
    program: PrivateLP
    model: Any  # pdlp.QuadraticProgram
    parameters: Any  # PrimalDualHybridGradientParams


@dataclass(frozen=True)
class _Point:
    program: PrivateLP
    variables: Array
    prices: Array


class Pdlp:
    """The perfect-privacy linear program through PDLP; see the module's docstring."""

    @property
    def name(self) -> str:
        """The registered name, pdlp."""
        return "pdlp"

    @property
    def capabilities(self) -> Capabilities:
        """Budgets 0 and inf; duals; N up to 30 000 (48 s on the single sensor, over 90 s at 100 000)."""
        return Capabilities(
            regimes=frozenset({Regime.PERFECT, Regime.OBLIVIOUS}),
            largest_outcomes=30_000,
            gives_duals=True,
            method="linear program of perfect privacy, by the first-order method PDLP (OR-Tools)",
            citation="D. Applegate et al., PDLP, NeurIPS 2021",
            libraries=("ortools",),
            extra="peers",
            peer=True,
        )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """The program as a pdlp.QuadraticProgram without quadratic part, and the parameters."""
        rows = no_rows(problem) if problem.constraint.oblivious else whitened_rows(problem)
        program = private_lp(problem, rows)
        limits = {
            "termination_criteria.time_sec_limit": options.time_limit,
            "termination_criteria.iteration_limit": options.max_iterations,
        }
        return _Lowered(program, _model(program), _parameters(native(TUNING, options, problem.N, limits)))

    def solve(self, lowered: _Lowered, options: Options) -> Raw:
        """Run PDLP; `claimed` is its termination reason. Raises Interrupted at the time limit, BackendError otherwise."""
        from ortools.pdlp.python import pdlp

        found = pdlp.primal_dual_hybrid_gradient(lowered.model, lowered.parameters)
        log = found.solve_log
        reasons = log.DESCRIPTOR.fields_by_name["termination_reason"].enum_type.values_by_number
        claimed = reasons[log.termination_reason].name.removeprefix("TERMINATION_REASON_")
        if claimed == "TIME_LIMIT":
            raise Interrupted(f"PDLP stopped at its time limit of {options.time_limit:g} s")
        variables, prices = np.asarray(found.primal_solution), np.asarray(found.dual_solution)
        if variables.size != lowered.program.cost.size or not np.isfinite(variables).all():
            raise BackendError(f"PDLP ended with {claimed!r} and no point")
        return Raw(
            claimed, _Point(lowered.program, variables, prices[lowered.program.root.size :]), int(log.iteration_count)
        )

    def lift(self, raw: Raw) -> Answer:
        """P = R / sqrt(w); the tilt from the equations' dual values, the multiplier inf (0 without equations)."""
        point: _Point = raw.value
        estimator = point.program.estimator(point.variables)
        if not np.isfinite(point.prices).all():
            return Answer(estimator)
        free = point.program.row.shape[0] == 0
        return Answer(estimator, point.program.tilt(point.prices), 0.0 if free else math.inf)


def _model(program: PrivateLP) -> Any:
    from ortools.pdlp.python import pdlp
    from scipy import sparse

    start, index, value = program.columns()
    size, right = program.cost.size, program.right
    model = pdlp.QuadraticProgram()
    model.resize_and_initialize(size, right.size)
    model.objective_vector = program.cost.ravel()
    model.constraint_matrix = sparse.csc_matrix((value, index, start), shape=(right.size, size))
    model.constraint_lower_bounds = model.constraint_upper_bounds = right
    model.variable_lower_bounds, model.variable_upper_bounds = np.zeros(size), np.full(size, math.inf)
    return model


def _parameters(settings: dict[str, Any]) -> Any:
    """PrimalDualHybridGradientParams with the settings, whose names are paths of fields."""
    from ortools.pdlp import solvers_pb2

    found = solvers_pb2.PrimalDualHybridGradientParams()
    for name, value in settings.items():
        *path, last = name.split(".")
        message = found
        for part in path:
            message = getattr(message, part)
        setattr(message, last, value)
    return found
