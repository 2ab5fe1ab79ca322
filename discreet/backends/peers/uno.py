"""Backend `uno`: the sparse nonlinear program of the backend `ipopt`, solved by Uno.

Method: the program and its exact derivatives as CasADi functions (`ipopt.CasadiProgram`), passed to
Uno's own Python interface as callbacks, with the preset `filtersqp`: sequential quadratic programs
in a trust region, accepted by a filter. The start is the uniform guess. The preset `ipopt` was
tried too: its answers kept gaps of 2e-7, at any tolerance.

Source: C. Vanaret, S. Leyffer, "Implementing a unified solver for nonlinearly constrained
optimization", Math. Prog. Comp. (2025), arXiv:2406.13454.

Cannot: report a gap; "FEASIBLE_KKT_POINT" refers to its own scaled residuals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.lowering import Lowered, Program, Setting
from discreet.backends.peers.ipopt import CasadiProgram
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import ANY_BUDGET, PEER, ProgramSolver, SolverResult
from discreet.numerics.double_double import Array


class Uno(ProgramSolver[CasadiProgram]):
    """The sparse nonlinear program through Uno's own interface; see the module's docstring."""

    name = "uno"
    solver = "Uno"
    capabilities = Capabilities(
        **PEER,
        **ANY_BUDGET,
        largest_outcomes=20_000,
        method="sparse nonlinear program, by Uno's sequential quadratic programs with a filter",
        citation="C. Vanaret, S. Leyffer, Math. Prog. Comp. (2025), arXiv:2406.13454",
        method_class="dense SQP",
        falls_short={
            "zero-mass-N=20-half": "ends with ALGORITHMIC_ERROR after a few iterations",
        },
        reach=(Reach("its times above 2,000 outcomes have not been measured", 2_000),),
        libraries=("unopy", "casadi"),
    )
    _share = ShareOfGap(Precision.own_gap, 1e-15, per_outcome=True)
    tuning: Tuning = (
        Tuned("preset", "filtersqp", "auto", "with ipopt the gaps are 1e-9 to 1e-7"),
        Tuned("logger", "SILENT", "INFO", "nothing is printed"),
        Tuned("primal_tolerance", _share, 1e-8, "an infeasibility is a leak"),
        Tuned("dual_tolerance", _share, 1e-8, "the gap is a sum of m·N complementarities"),
    )

    limits = ("max_iterations", "time_limit")

    def model(self, program: Program) -> CasadiProgram:
        """Return the program with its derivatives."""
        return CasadiProgram.of(program)

    def run(
        self, lowered: Lowered[CasadiProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run Uno."""
        import unopy

        solver = unopy.UnoSolver()
        settings = dict(lowered.options)
        solver.set_preset(settings.pop("preset"))
        for name, value in settings.items():
            # It refuses integers.
            solver.set_option(name, float(value) if name == "time_limit" else value)
        result = solver.optimize(_model(lowered.model))
        return SolverResult(
            f"{result.optimization_status.name} {result.solution_status.name}",
            result.optimization_status == unopy.OptimizationStatus.TIME_LIMIT,
            np.asarray(result.primal_solution),
            np.asarray(result.constraint_dual_solution),
            int(result.number_iterations),
        )


def _model(smooth: CasadiProgram) -> Any:
    """Uno's model of the program: callbacks write the values of the derivatives' nonzeros."""
    import unopy

    gradient = smooth.derivatives["grad_f"]
    jacobian = smooth.derivatives["jac_g"]
    hessian = smooth.derivatives["hess_lag"]
    size = smooth.start.size

    def write_gradient(x: Array, values: Array) -> None:
        values[:] = gradient(x, [])[1].full().ravel()

    def write_constraints(x: Array, values: Array) -> None:
        values[:] = jacobian(x, [])[0].full().ravel()

    def write_jacobian(x: Array, values: Array) -> None:
        values[:] = jacobian(x, [])[1].nonzeros()

    def write_hessian(x: Array, price: float, prices: Array, values: Array) -> None:
        values[:] = hessian(x, [], price, prices).nonzeros()

    most = [math.inf] * size
    model = unopy.Model(
        unopy.PROBLEM_NONLINEAR, size, smooth.least, most, unopy.ZERO_BASED_INDEXING
    )
    model.set_objective(unopy.MINIMIZE, lambda x: float(gradient(x, [])[0]), write_gradient)
    rows, columns = jacobian.sparsity_out(1).get_triplet()
    model.set_constraints(
        smooth.low.size,
        write_constraints,
        smooth.low,
        smooth.high,
        len(rows),
        rows,
        columns,
        write_jacobian,
    )
    rows, columns = hessian.sparsity_out(0).get_triplet()
    model.set_lagrangian_hessian(len(rows), unopy.UPPER_TRIANGLE, rows, columns, write_hessian)
    model.set_lagrangian_sign_convention(unopy.MULTIPLIER_POSITIVE)
    model.set_initial_primal_iterate(smooth.start)
    return model
