"""Backend `glop`: perfect privacy as a linear program, by GLOP, the simplex method of OR-Tools.

Method: the linear program of `linear_program` (whitened equations, variables sqrt(w_l) P_il), as the backend `highs` has
it, passed as sparse arrays through OR-Tools' model builder. Row duals become the tilt. Without a constraint (budget inf)
there are no privacy equations left.

Source: L. Perron, V. Furnon, "OR-Tools", Google, 2024, developers.google.com/optimization; its guide "Advanced LP
solving" and the comments of glop/parameters.proto for the settings.

Cannot: any positive finite budget; say how many iterations it took, which the model builder does not pass on. Tolerances are
absolute.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.linear_program import PrivateLP, no_rows, private_lp, whitened_rows
from discreet.backends.peers.tuning import ShareOfGap, Tuned, Tuning, native
from discreet.problems.errors import BackendError, Interrupted
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["TUNING", "Glop"]

_TIGHT = ShareOfGap(0.1, 1e-12)
_TIME_SHARE = 0.9  # of the limit: an end without a solution this late means the time limit

TUNING: Tuning = (
    Tuned("primal_feasibility_tolerance", _TIGHT, 1e-8, "absolute, in units of sqrt(w) P and of the answer"),
    Tuned("dual_feasibility_tolerance", _TIGHT, 1e-8, "as primal_feasibility_tolerance"),
    Tuned("use_dual_simplex", True, False, "a third of the time of the primal method on 14 problems, to the same digits"),
)


@dataclass(frozen=True)
class _Lowered:
    program: PrivateLP
    model: Any  # ortools' ModelBuilderHelper
    parameters: str


@dataclass(frozen=True)
class _Point:
    program: PrivateLP
    variables: Array
    prices: Array


class Glop:
    """The perfect-privacy linear program through GLOP; see the module's docstring."""

    @property
    def name(self) -> str:
        """The registered name, glop."""
        return "glop"

    @property
    def capabilities(self) -> Capabilities:
        """Budgets 0 and inf; duals; N up to 300 000 (1 s; at a million it claims OPTIMAL with a gap of 0.65)."""
        return Capabilities(
            regimes=frozenset({Regime.PERFECT, Regime.OBLIVIOUS}),
            largest_outcomes=300_000,
            gives_duals=True,
            method="linear program of perfect privacy, by GLOP's simplex method (OR-Tools)",
            citation="L. Perron, V. Furnon, OR-Tools, Google (2024)",
            libraries=("ortools",),
            extra="peers",
            peer=True,
        )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """The program as a ModelBuilderHelper, and the settings in GLOP's text format."""
        from ortools.linear_solver.python import model_builder_helper
        from scipy import sparse

        rows = no_rows(problem) if problem.constraint.oblivious else whitened_rows(problem)
        program = private_lp(problem, rows)
        start, index, value = program.columns()
        size, right = program.cost.size, program.right
        matrix = sparse.csr_matrix(sparse.csc_matrix((value, index, start), shape=(right.size, size)))
        model = model_builder_helper.ModelBuilderHelper()
        fill: Any = model.fill_model_from_sparse_data  # its stub forgets an argument
        fill(np.zeros(size), np.full(size, math.inf), program.cost.ravel(), right, right, matrix)
        settings = native(TUNING, options, problem.N, {"max_number_of_iterations": options.max_iterations})
        return _Lowered(program, model, " ".join(f"{name}: {_text(value)}" for name, value in settings.items()))

    def solve(self, lowered: _Lowered, options: Options) -> Raw:
        """Run GLOP; `claimed` is its status. Raises Interrupted at the time limit, BackendError without a point."""
        from ortools.linear_solver.python import model_builder_helper

        solver = model_builder_helper.ModelSolverHelper("glop")
        solver.set_solver_specific_parameters(lowered.parameters)
        if options.time_limit is not None:
            solver.set_time_limit_in_seconds(options.time_limit)
        started = time.perf_counter()
        solver.solve(lowered.model)
        seconds = time.perf_counter() - started
        claimed = f"{solver.status().name} {solver.status_string()}".strip()
        if options.time_limit is not None and claimed != "OPTIMAL" and seconds >= _TIME_SHARE * options.time_limit:
            raise Interrupted(f"GLOP stopped at its time limit of {options.time_limit:g} s")
        if not solver.has_solution():
            raise BackendError(f"GLOP ended with {claimed!r} and no point")
        prices = np.asarray(solver.dual_values())[lowered.program.root.size :]
        return Raw(claimed, _Point(lowered.program, np.asarray(solver.variable_values()), prices))

    def lift(self, raw: Raw) -> Answer:
        """P = R / sqrt(w); the tilt from the equations' row duals, the multiplier inf (0 without equations)."""
        point: _Point = raw.value
        free = point.program.row.shape[0] == 0
        return Answer(point.program.estimator(point.variables), point.program.tilt(point.prices), 0.0 if free else math.inf)


def _text(value: Any) -> str:
    """A value in protobuf's text format."""
    return str(value).lower() if isinstance(value, bool) else str(value)
