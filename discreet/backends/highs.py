"""Backend `highs`: perfect privacy as a linear program, handed to HiGHS through its own interface.

Method: min ⟨L, P⟩ over column-stochastic P with Φ P_i = 0, in the scaled form of `linear_program` (whitened equations,
variables sqrt(w_l) P_il), passed to HiGHS in one call as column-wise sparse arrays. `method` selects the dual simplex
method, HiGHS's interior point method IPX (with crossover) or the first-order method PDLP. Row duals become the tilt.
Without a constraint (budget inf) the same program has no privacy equations left.

Source: Q. Huangfu, J. A. J. Hall, "Parallelizing the dual revised simplex method", Math. Prog. Comp. 10 (2018); L. Schork,
J. Gondzio, "Implementation of an interior point method with basis preconditioning", Math. Prog. Comp. 12 (2020);
D. Applegate et al., "Practical large-scale linear programming using primal-dual hybrid gradient", NeurIPS 2021.

Cannot: any positive finite budget. Its tolerances are absolute and not under 1e-10 (1e-12 for IPX's own gap), so answers
much smaller than that relative to the best constant guess lose digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.linear_program import PrivateLP, no_rows, private_lp, whitened_rows
from discreet.backends.settings import choice
from discreet.problems.errors import BackendError, Interrupted
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["HIGHS_METHODS", "SETTINGS", "Highs", "highs_options"]

HIGHS_METHODS = ("simplex", "ipx", "pdlp")
"""Values of the setting `method`."""

_PRESOLVE = ("on", "off", "choose")
_LEAST_TOLERANCE = 1e-10  # HiGHS refuses smaller ones
_LEAST_IPM_TOLERANCE = 1e-12
_TOLERANCES = (
    "primal_feasibility_tolerance",
    "dual_feasibility_tolerance",
    "primal_residual_tolerance",
    "dual_residual_tolerance",
    "pdlp_optimality_tolerance",
)
_ITERATION_LIMITS = {"simplex": "simplex_iteration_limit", "ipx": "ipm_iteration_limit", "pdlp": "pdlp_iteration_limit"}
_ITERATION_COUNTS = {"simplex": "simplex_iteration_count", "ipx": "ipm_iteration_count", "pdlp": "pdlp_iteration_count"}

SETTINGS = {
    "method": "simplex (default), ipx (interior point with crossover) or pdlp (first order)",
    "presolve": "on, off or choose (default): whether HiGHS simplifies the program first",
}


@dataclass(frozen=True)
class _Lowered:
    program: PrivateLP
    model: Any  # highspy.HighsLp
    options: dict[str, str | float | int | bool]
    method: str


@dataclass(frozen=True)
class _Point:
    program: PrivateLP
    variables: Array
    prices: Array
    constrained: bool


class Highs:
    """The perfect-privacy linear program through highspy; see the module's docstring."""

    @property
    def name(self) -> str:
        """The registered name, highs."""
        return "highs"

    @property
    def capabilities(self) -> Capabilities:
        """Budgets 0 and inf; duals; N up to 200 000 (20 s at 100 000, over 150 s at 300 000, mostly in presolve)."""
        return Capabilities(
            regimes=frozenset({Regime.PERFECT, Regime.OBLIVIOUS}),
            largest_outcomes=200_000,
            gives_duals=True,
            method="linear program of perfect privacy, by HiGHS's simplex, interior point or first-order method",
            citation="Q. Huangfu, J. A. J. Hall, Math. Prog. Comp. 10 (2018), 119–142",
            libraries=("highspy",),
            settings=SETTINGS,
        )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """The program as a HighsLp: columns guess by guess, rows first the N outcomes, then r equations per guess."""
        rows = no_rows(problem) if problem.constraint.oblivious else whitened_rows(problem)
        program = private_lp(problem, rows)
        method = choice(options, self.name, "method", HIGHS_METHODS, "simplex")
        return _Lowered(program, _model(program), highs_options(options, self.name), method)

    def solve(self, lowered: _Lowered, options: Options) -> Raw:
        """Run HiGHS; `claimed` is its model status. Raises Interrupted at the time limit, BackendError without a point."""
        import highspy

        solver = highspy.Highs()
        for name, value in lowered.options.items():
            if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
                raise BackendError(f"HiGHS {solver.version()} does not take the option {name} = {value!r}")
        solver.passModel(lowered.model)
        solver.run()
        status = solver.getModelStatus()
        claimed = solver.modelStatusToString(status)
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise Interrupted(f"HiGHS stopped at its time limit of {options.time_limit:g} s")
        solution = solver.getSolution()
        if not solution.value_valid:
            raise BackendError(f"HiGHS ended with {claimed!r} and no point")
        program = lowered.program
        prices = np.asarray(solution.row_dual)[program.root.size :] if solution.dual_valid else np.zeros(0)
        point = _Point(program, np.asarray(solution.col_value), prices, solution.dual_valid)
        return Raw(claimed, point, int(getattr(solver.getInfo(), _ITERATION_COUNTS[lowered.method])))

    def lift(self, raw: Raw) -> Answer:
        """P = R / sqrt(w); the tilt from the equations' row duals, the multiplier inf (0 without equations)."""
        point: _Point = raw.value
        estimator = point.program.estimator(point.variables)
        if not point.constrained:
            return Answer(estimator)
        free = point.program.row.shape[0] == 0
        return Answer(estimator, point.program.tilt(point.prices), 0.0 if free else math.inf)


def highs_options(options: Options, backend: str) -> dict[str, str | float | int | bool]:
    """HiGHS options by their names there; the gap becomes every tolerance, no smaller than HiGHS takes."""
    method = choice(options, backend, "method", HIGHS_METHODS, "simplex")
    tolerance = max(options.gap, _LEAST_TOLERANCE)
    found: dict[str, str | float | int | bool] = {
        "output_flag": False,
        "solver": method,
        "presolve": choice(options, backend, "presolve", _PRESOLVE, "choose"),
        "ipm_optimality_tolerance": max(options.gap, _LEAST_IPM_TOLERANCE),
    }
    found.update(dict.fromkeys(_TOLERANCES, tolerance))
    if options.time_limit is not None:
        found["time_limit"] = float(options.time_limit)
    if options.max_iterations is not None:
        found[_ITERATION_LIMITS[method]] = options.max_iterations
    return found


def _model(program: PrivateLP) -> Any:
    import highspy

    m, outcomes = program.cost.shape
    start, index, value = program.columns()
    right = program.right
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = m * outcomes, right.size
    model.col_cost_ = program.cost.ravel()
    model.col_lower_ = np.zeros(m * outcomes)
    model.col_upper_ = np.full(m * outcomes, highspy.kHighsInf)
    model.row_lower_ = model.row_upper_ = right
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.num_col_, matrix.num_row_ = m * outcomes, right.size
    matrix.start_, matrix.index_, matrix.value_ = start, index, value
    return model
