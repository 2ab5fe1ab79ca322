"""Backend `conic`: the problem as an exponential-cone program, through cvxpy.

Method: min ⟨L, P⟩ over column-stochastic P with Σ_ij KL(u_ij, π_j s_i) ≤ ε, each term one exponential cone, u explicit so
that the cones do not repeat the N outcomes. Two forms, setting `form`:

- `deviation`: variables D = (A P − π s) / sqrt(ε) and the Kullback–Leibler terms u log(u/v) − u + v, none of which is
  negative, in cones scaled by 1/sqrt(ε) (ECOS: 1/ε, without which it fails from 64 outcomes). Measured best for the interior
  point solvers: on the paper's 10 sensors Clarabel's own leakage is at most 5e-8 over the budget, with `joint` 1e-3; on 14
  sensors at most 3e-4 over, where `joint` ends at 1.1 to 2.1 times the budget. Default for clarabel, ecos and mosek.
- `joint`: variables U = A P, `rel_entr(U, s πᵀ)` summed and divided by ε: what one would write first, with the scaling that
  helps it. SCS prefers it. Default for scs.

At budget 0 the cones are dropped for the whitened equations of `linear_program`; at budget inf nothing is left but the
column sums. Tolerances are a tenth of the gap asked for: relative to an objective in units of the Bayes error.

Source: S. Diamond, S. Boyd, "CVXPY: a Python-embedded modeling language for convex optimization", JMLR 17 (2016); P. J.
Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", 2024
(arXiv:2405.12762); B. O'Donoghue et al., SCS, JOTA 169 (2016); A. Domahidi, E. Chu, S. Boyd, ECOS, ECC 2013.

Cannot: resolve small budgets. A cone stores its excess over the ray u = v, which is of the size of ε, next to numbers of
size one, so about log10(1/ε) digits of the leakage are lost; under 1e-8 nats nothing useful is left. ECOS has no time
limit. `claimed` is cvxpy's status; Clarabel's iterate without sufficient progress is kept and called "optimal_inaccurate".
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.linear_program import PrivacyRows, loss_unit, whitened_rows
from discreet.backends.settings import choice, positive
from discreet.problems.errors import Absent, BackendError, Interrupted
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["SETTINGS", "Conic"]

_DEFAULT_FORM = {"clarabel": "deviation", "ecos": "deviation", "mosek": "deviation", "scs": "joint"}
_CONE_SCALE_POWER = {"clarabel": 0.5, "ecos": 1.0, "mosek": 0.5, "scs": 0.5}  # cones are divided by ε to this power
_LEAST_UNIT_OF_CONES = 1e-3  # of the best constant's error probability: larger objectives cost the cones their digits
_LEAST_UNIT_WITHOUT = 1e-8
_LEAST_TOLERANCE = 1e-12  # below it the solvers only report failure sooner
_TIME_SHARE = 0.9  # of the limit: a solver that says "limit" this late means its time limit

SETTINGS = {
    "solver": "clarabel (default), scs, ecos or mosek (when installed and licensed)",
    "form": "deviation (default but for scs) or joint: how the leakage is written as cones",
    "tolerance": "the solver's tolerances, all of them; by default a tenth of the gap asked for, at least 1e-12",
}


@dataclass(frozen=True)
class _Lowered:
    """A compiled cvxpy problem. `slope` [m, n] and `price` are read off the duals of these constraints after solving."""

    program: Any  # cvxpy.Problem
    estimator: Any  # cvxpy.Variable [m, N]
    leakage: Any  # cvxpy expression in units of ε, or None
    constraints: dict[str, Any]
    problem: Problem
    rows: PrivacyRows | None
    unit: float
    form: str
    solver: str
    solver_options: dict[str, Any]


class Conic:
    """The exponential-cone program through cvxpy; see the module's docstring."""

    @property
    def name(self) -> str:
        """The registered name, conic."""
        return "conic"

    @property
    def capabilities(self) -> Capabilities:
        """Every budget; duals; N up to 200 000 (compilation and factorisation take seconds there)."""
        return Capabilities(
            regimes=frozenset(Regime),
            largest_outcomes=200_000,
            gives_duals=True,
            method="exponential-cone program (cvxpy), by an interior point or a splitting method",
            citation="P. J. Goulart, Y. Chen, Clarabel, arXiv:2405.12762 (2024); S. Diamond, S. Boyd, CVXPY, JMLR 17 (2016)",
            libraries=("cvxpy", "clarabel"),
            extra="conic",
            settings=SETTINGS,
        )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Write the program and compile it for the chosen solver. Raises Absent if cvxpy does not find that solver."""
        import cvxpy as cp

        solver = choice(options, self.name, "solver", _DEFAULT_FORM, "clarabel")
        if solver.upper() not in cp.installed_solvers():
            raise Absent(f'backend conic: cvxpy finds no solver {solver}; pip install "discreet[conic]", or {solver} itself')
        form = choice(options, self.name, "form", ("deviation", "joint"), _DEFAULT_FORM[solver])
        lowered = _write(problem, form, solver, _solver_options(options, solver, self.name))
        lowered.program.get_problem_data(solver=solver.upper())  # compiles; cvxpy keeps it for `solve`
        return lowered

    def solve(self, lowered: _Lowered, options: Options) -> Raw:
        """Run the solver once. Raises Interrupted at the time limit, and what cvxpy raises when the solver gives up."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            lowered.program.solve(solver=lowered.solver.upper(), **lowered.solver_options)
        statistics = lowered.program.solver_stats
        status = str(lowered.program.status)
        if _ran_out_of_time(status, statistics.solve_time, options):
            raise Interrupted(f"{lowered.solver} stopped at its time limit of {options.time_limit:g} s")
        if lowered.estimator.value is None:
            raise BackendError(f"{lowered.solver} ended with {status!r} and no point")
        return Raw(status, lowered, None if statistics.num_iters is None else int(statistics.num_iters))

    def lift(self, raw: Raw) -> Answer:
        """The estimator as solved; tilt and multiplier from the duals of u = A P and of the budget."""
        lowered: _Lowered = raw.value
        estimator = np.asarray(lowered.estimator.value)
        duals = {name: constraint.dual_value for name, constraint in lowered.constraints.items()}
        if any(value is None for value in duals.values()):
            return Answer(estimator)
        return Answer(estimator, *_lift_duals(lowered, duals))


def _write(problem: Problem, form: str, solver: str, solver_options: dict[str, Any]) -> _Lowered:
    """The cvxpy problem. The leakage expression counts in units of ε."""
    import cvxpy as cp

    estimator = cp.Variable((problem.m, problem.N), nonneg=True)
    unit = loss_unit(problem, _LEAST_UNIT_WITHOUT if problem.constraint.oblivious else _LEAST_UNIT_OF_CONES)
    constraints: dict[str, Any] = {}
    rows, leakage = None, None
    if problem.constraint.perfect:
        rows = whitened_rows(problem)
        if rows.private_values.size and problem.m > 1:
            constraints["privacy"] = estimator[:-1, :] @ (rows.features * problem.p_z).T == 0
    elif not problem.constraint.oblivious:
        if form == "deviation":
            leakage = _deviation_form(problem, estimator, constraints, problem.budget ** _CONE_SCALE_POWER[solver])
        else:
            leakage = _joint_form(problem, estimator, constraints)
        constraints["budget"] = leakage <= 1
    excess = (problem.loss - problem.loss.min(axis=0)) / unit
    program = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(excess, estimator))),
        [cp.sum(estimator, axis=0) == 1, *constraints.values()],
    )
    return _Lowered(program, estimator, leakage, constraints, problem, rows, unit, form, solver, solver_options)


def _deviation_form(problem: Problem, estimator: Any, constraints: dict[str, Any], scale: float) -> Any:
    """Leakage ÷ ε from D = (A P − π s)/sqrt(ε) and s, in cones divided by `scale`; adds the links "deviation" and "mass"."""
    import cvxpy as cp

    root = math.sqrt(problem.budget)
    shifted = problem.p_xz - problem.p_x[:, None] * problem.p_z
    deviation = cp.Variable((problem.m, problem.n))
    mass = cp.Variable((problem.m, 1))
    constraints["deviation"] = deviation == estimator @ (shifted / root).T
    constraints["mass"] = mass == estimator @ problem.p_z[:, None]
    independent = mass @ problem.p_x[None, :]
    joint = independent / scale + (root / scale) * deviation
    return cp.sum(cp.kl_div(joint, independent / scale)) * (scale / problem.budget)


def _joint_form(problem: Problem, estimator: Any, constraints: dict[str, Any]) -> Any:
    """Leakage ÷ ε from U = A P; adds the link "joint"."""
    import cvxpy as cp

    joint = cp.Variable((problem.m, problem.n))
    constraints["joint"] = joint == estimator @ problem.p_xz.T
    independent = cp.sum(joint, axis=1, keepdims=True) @ problem.p_x[None, :]
    return cp.sum(cp.rel_entr(joint, independent)) / problem.budget


def _lift_duals(lowered: _Lowered, duals: dict[str, Any]) -> tuple[Array, float]:
    """(tilt, multiplier). cvxpy's Lagrangian adds y·(left − right), so a link `u == A P` has tilt −y."""
    problem, unit = lowered.problem, lowered.unit
    if problem.constraint.oblivious:
        return np.zeros((problem.m, problem.n)), 0.0
    if problem.constraint.perfect:
        rows = lowered.rows
        if rows is None or "privacy" not in duals:
            return np.zeros((problem.m, problem.n)), math.inf
        return rows.tilt(-unit * np.asarray(duals["privacy"]), problem.m), math.inf
    multiplier = max(0.0, float(duals["budget"])) * unit / problem.budget
    if lowered.form == "joint":
        return -unit * np.asarray(duals["joint"]), multiplier
    slope = -unit / math.sqrt(problem.budget) * np.asarray(duals["deviation"])
    shift = -unit * np.asarray(duals["mass"]) - (slope @ problem.p_x)[:, None]  # D holds A P − π s, and s = Σ_j u_j
    return slope + shift, multiplier


def _solver_options(options: Options, solver: str, backend: str) -> dict[str, Any]:
    """The solver's own parameters for tolerance, iterations and time."""
    tolerance = positive(options, backend, "tolerance", max(0.1 * options.gap, _LEAST_TOLERANCE))
    found: dict[str, Any]
    if solver == "clarabel":
        found = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance, "accept_unknown": True}
        limits = {"max_iter": options.max_iterations, "time_limit": options.time_limit}
    elif solver == "scs":
        found = {"eps_abs": tolerance, "eps_rel": tolerance}
        limits = {"max_iters": options.max_iterations, "time_limit_secs": options.time_limit}
    elif solver == "ecos":
        found = {"abstol": tolerance, "reltol": tolerance, "feastol": tolerance}
        limits = {"max_iters": options.max_iterations}
    else:
        return {"mosek_params": _mosek_parameters(tolerance, options)}
    found.update({name: value for name, value in limits.items() if value is not None})
    return found


def _mosek_parameters(tolerance: float, options: Options) -> dict[str, float | int]:
    names = ("PFEAS", "DFEAS", "REL_GAP", "MU_RED")
    found: dict[str, float | int] = {f"MSK_DPAR_INTPNT_CO_TOL_{name}": tolerance for name in names}
    if options.time_limit is not None:
        found["MSK_DPAR_OPTIMIZER_MAX_TIME"] = options.time_limit
    if options.max_iterations is not None:
        found["MSK_IPAR_INTPNT_MAX_ITERATIONS"] = options.max_iterations
    return found


def _ran_out_of_time(status: str, seconds: float | None, options: Options) -> bool:
    if options.time_limit is None or seconds is None or status == "optimal":
        return False
    return seconds >= _TIME_SHARE * options.time_limit
