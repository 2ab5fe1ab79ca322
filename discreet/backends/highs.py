"""Backend `highs`: perfect privacy and linear measures of leakage as linear programs, solved
through HiGHS's own interface.

Method: min ⟨L, P⟩ over column-stochastic P with Φ P_i = 0, in the scaled form of `lowering`
(whitened equations, variables sqrt(w_l) P_il), passed to HiGHS in one call as column-wise sparse
arrays. `method` selects the dual simplex method, one of HiGHS's interior point methods IPX and HiPO
(with crossover), or the first-order method PDLP. Row duals become the tilt. Without a constraint
(budget inf) the program is the same without privacy equations. A measure that is a maximum of
linear functions, or a sum of such maxima, adds rows and variables instead
(`Program.linear_program`), at any budget.

Source: Q. Huangfu, J. A. J. Hall, "Parallelizing the dual revised simplex method", Math. Prog.
Comp. 10 (2018); L. Schork, J. Gondzio, "Implementation of an interior point method with basis
preconditioning", Math. Prog. Comp. 12 (2020); D. Applegate et al., "Practical large-scale linear
programming using primal-dual hybrid gradient", NeurIPS 2021.

Limitations: no positive finite budgets of mutual information and other measures that are not
linear. Its tolerances are absolute and at least 1e-10 (1e-12 for IPX's own gap), so error
probabilities much smaller than that relative to the best constant guess lose digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.lowering import Lowered, Program, Setting, limits
from discreet.backends.precision import Precision
from discreet.backends.settings import choice
from discreet.backends.solvers import LINEAR_BUDGETS, LinearSolver, SolverResult
from discreet.errors import Absent, BackendError
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from highspy import HighsLp

METHODS = {"simplex": "simplex", "ipx": "ipm", "hipo": "ipm", "pdlp": "pdlp"}
"""Values of the setting `method`, with HiGHS's names for them in its limits and iteration
counts.
"""

_NEWER_OPTIONS = (
    "primal_residual_tolerance",
    "dual_residual_tolerance",
    "pdlp_optimality_tolerance",
)
"""Options that releases before 1.11 lack; these check fewer residuals."""

SETTINGS = {
    "method": (
        "simplex (default), ipx or hipo (interior points with crossover; hipo needs "
        "highspy-extras), or pdlp (first order)"
    ),
    "presolve": "on, off or choose (default): whether HiGHS simplifies the program first",
}


class Highs(LinearSolver["HighsLp"]):
    """The linear programs through highspy; see the docstring of the module."""

    name = "highs"
    solver = "HiGHS"
    capabilities = Capabilities(
        **LINEAR_BUDGETS,
        largest_outcomes=200_000,  # 20 s at 100 000, over 150 s at 300 000, mostly in presolve
        gives_duals=True,
        method="linear program, by HiGHS's simplex, interior point or first-order method",
        citation="Q. Huangfu, J. A. J. Hall, Math. Prog. Comp. 10 (2018), 119–142",
        method_class="simplex",
        reach=(Reach("the linear program of 32,459 outcomes did not end within 11 s", 20_000),),
        libraries=("highspy",),
        settings=SETTINGS,
        several=True,
    )

    def settings(self, options: Options, problem: Problem) -> dict[str, Setting]:
        """Return HiGHS's options."""
        return highs_options(options, self.name)

    def model(self, program: Program) -> HighsLp:
        """Return the program as a HighsLp, in the order of `Program.linear_program`."""
        import highspy

        arrays = program.linear_program()
        entries = arrays.matrix
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = entries.shape
        model.col_cost_ = arrays.cost
        model.col_lower_ = arrays.least
        model.col_upper_ = arrays.most
        model.row_lower_ = arrays.low
        model.row_upper_ = arrays.high
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.num_row_, matrix.num_col_ = entries.shape
        matrix.start_ = entries.indptr
        matrix.index_ = entries.indices
        matrix.value_ = entries.data
        return model

    def run(self, lowered: Lowered[HighsLp, dict[str, Setting]], options: Options) -> SolverResult:
        """Run HiGHS; `claimed` is its model status."""
        import highspy

        solver = highspy.Highs()
        for name, value in lowered.options.items():
            taken = solver.setOptionValue(name, value) == highspy.HighsStatus.kOk
            if not taken and value == "hipo":
                raise Absent(
                    f"HiGHS {solver.version()} has no HiPO here; it needs highspy-extras of "
                    f"the same release"
                )
            if not taken and name not in _NEWER_OPTIONS:
                raise BackendError(
                    f"HiGHS {solver.version()} does not take the option {name} = {value!r}"
                )
        solver.passModel(lowered.model)
        solver.run()
        status = solver.getModelStatus()
        solution = solver.getSolution()
        prices = np.asarray(solution.row_dual if solution.dual_valid else [], dtype=np.float64)
        counted = f"{METHODS[str(lowered.options['solver'])]}_iteration_count"
        return SolverResult(
            solver.modelStatusToString(status),
            status == highspy.HighsModelStatus.kTimeLimit,
            solution.col_value if solution.value_valid else None,
            -prices,
            int(getattr(solver.getInfo(), counted)),
        )


def highs_options(options: Options, backend: str) -> dict[str, Setting]:
    """Return options with HiGHS's own names; no tolerance is smaller than HiGHS allows (1e-10, or
    1e-12 for IPX's own gap).
    """
    method = choice(options, backend, "method", METHODS, "simplex")
    share = Precision.own_gap * options.gap
    each = (
        "primal_feasibility",
        "dual_feasibility",
        "primal_residual",
        "dual_residual",
        "pdlp_optimality",
    )
    settings: dict[str, Setting] = {f"{name}_tolerance": max(share, 1e-10) for name in each}
    settings |= {
        "ipm_optimality_tolerance": max(share, 1e-12),
        "output_flag": False,
        "solver": method,
    }
    settings["presolve"] = choice(options, backend, "presolve", ("on", "off", "choose"), "choose")
    return settings | limits(options, f"{METHODS[method]}_iteration_limit", "time_limit")
