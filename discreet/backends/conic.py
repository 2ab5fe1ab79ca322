"""Backend `conic`: the problem as an exponential-cone program, through cvxpy.

Method: min ⟨L, P⟩ over column-stochastic P with Σ_ij KL(u_ij, π_j s_i) ≤ ε, each term one
exponential cone, with u as explicit variables so that the cones do not repeat the N outcomes. Two
forms, setting `form`:

- `deviation`: the arrays and cones of `cones`, with variables D = (A P − π s) / sqrt(ε) and the
  Kullback–Leibler terms u log(u/v) − u + v, none of which is negative, in cones scaled by 1/sqrt(ε)
  (ECOS: 1/ε, without which it fails from 64 outcomes on). In measurements it was best for the
  interior point solvers: on the paper's 10 sensors, at a half and at a tenth of what the Bayes rule
  leaks, Clarabel's own leakage exceeds the budget by at most 2e-7, with `joint` by up to 8 %; on 14
  sensors at a half by 1e-5, whereas `joint` ends at twice the budget. Default for clarabel, ecos
  and mosek. Other measures of leakage and several constraints are always in this form.
- `joint`: variables U = A P, `rel_entr(U, s πᵀ)` summed and divided by ε: the obvious form, with a
  scaling that helps. It suits SCS best. Default for scs.

Under perfect privacy the whitened equations of `lowering` replace the cones; at budget inf only the
column sums remain. Tolerances are a tenth of the requested gap, relative to an objective in units
of the Bayes error.

Source: S. Diamond, S. Boyd, "CVXPY: a Python-embedded modeling language for convex optimization",
JMLR 17 (2016); P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with
quadratic objectives", 2024 (arXiv:2405.12762); B. O'Donoghue et al., SCS, JOTA 169 (2016); A.
Domahidi, E. Chu, S. Boyd, ECOS, ECC 2013.

Limitations: small budgets are not resolved. A cone stores its excess over the ray u = v, which is
of the size of ε, next to numbers of size one, so about log10(1/ε) digits of the leakage are lost.
Below 1e-8 nats too few are left. ECOS has no time limit. `claimed` is cvxpy's status; Clarabel's
iterate without sufficient progress is kept and called "optimal_inaccurate".
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Capabilities, Options, Reach, Regime
from discreet.backends.lowering import Lowered, Program, limits
from discreet.backends.precision import Precision
from discreet.backends.settings import choice, number
from discreet.backends.solvers import ProgramSolver, SolverResult, is_late
from discreet.errors import Absent, how_to_install
from discreet.measures.measure import Cone
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import CONDITIONAL, OTHERS
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    import cvxpy

_UNTRIED = ("copt", "cuclarabel", "cuopt", "gurobi", "knitro")

_FORMS = {
    **dict.fromkeys((*_UNTRIED, "clarabel", "ecos", "mosek"), "deviation"),
    "scs": "joint",
}
"""Solver -> its default form.

_UNTRIED   solvers that need a licence or a GPU: cvxpy passes the program on, and they keep their
           own default tolerances
"""

SETTINGS = {
    "solver": (
        "clarabel (default), scs or ecos; not tested here, since they need a licence or a GPU: "
        "mosek, copt, knitro, gurobi, cuopt (both without exponential cones), cuclarabel"
    ),
    "form": "deviation (default except for scs) or joint: how the leakage is written as cones",
    "tolerance": (
        "all tolerances of the solver; by default a tenth of the gap asked for, at least 1e-12"
    ),
}


@dataclass(frozen=True)
class _Compiled(Lowered["cvxpy.Problem", "dict[str, object]"]):
    """A compiled cvxpy problem.

    variables    in the order of the program, estimator first
    links        constraints whose duals are the prices, in the order of the program's rows. The
                 Lagrangian of cvxpy adds y·(left − right)
    """

    solver: str
    variables: cvxpy.Variable
    links: list[cvxpy.Constraint]

    def prices(self) -> Array:
        """Return the prices of the rows after solving; empty if the solver gives none."""
        duals = [each.dual_value for each in self.links]
        if any(each is None for each in duals):
            return np.zeros(0)
        return np.concatenate([np.ravel(each) for each in duals])


class _Joint(_Compiled):
    """The form in U, whose prices are those of D = (U − π s)/root and s."""

    def prices(self) -> Array:
        """Return the prices of the equations of D and s, and of the budget."""
        _, links, budget = (each.dual_value for each in self.links)
        if links is None:
            return np.zeros(0)
        problem = self.program.problem
        root = self.program.parts[0].root
        law = np.append(root * links, links @ problem.p_x)
        return np.concatenate([np.zeros(problem.N), law, np.ravel(budget)])


class Conic(ProgramSolver["cvxpy.Problem"]):
    """The exponential-cone program through cvxpy; see the docstring of the module."""

    name = "conic"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=200_000,  # compilation and factorisation take seconds there
        gives_duals=True,
        method=(
            "exponential-cone program (cvxpy), by an interior point or a splitting method; mosek, "
            "copt, knitro, gurobi, cuopt and cuclarabel are not tested here"
        ),
        citation=(
            "P. J. Goulart, Y. Chen, Clarabel, arXiv:2405.12762 (2024); S. Diamond, S. Boyd, "
            "CVXPY, JMLR 17 (2016)"
        ),
        method_class="cones",
        reach=(
            Reach(
                "a first-order method: the time limit passes before its tolerance is met",
                20_000,
                settings={"solver": "scs"},
            ),
            Reach(
                ("ECOS fails on entropy problems of this kind and size"),
                2_000,
                settings={"solver": "ecos"},
            ),
        ),
        libraries=("cvxpy", "clarabel"),
        extra="conic",
        settings=SETTINGS,
        measures=OTHERS.union(CONDITIONAL),
        several=True,
    )

    def lower(self, problem: Problem, options: Options) -> _Compiled:
        """Write the program and compile it for the chosen solver. Raises Absent if cvxpy does not
        find that solver.
        """
        import cvxpy as cp

        solver = choice(options, self.name, "solver", _FORMS, "clarabel")
        if solver.upper() not in cp.installed_solvers():
            raise Absent(
                f"backend conic: cvxpy finds no solver {solver}; {how_to_install('conic')}"
            )
        form = choice(options, self.name, "form", ("deviation", "joint"), _FORMS[solver])
        program = Program.of(problem)
        informed = program.leaks and problem.measures == (MUTUAL_INFORMATION,)
        write = _joint_form if informed and form == "joint" else _deviation_form
        lowered = write(program, solver, _solver_options(options, solver, self.name))
        # This compiles the problem; cvxpy caches the result for `solve`.
        lowered.model.get_problem_data(solver=solver.upper())
        return lowered

    def solver_name(self, lowered: Any) -> str:
        """Return the name of the chosen solver."""
        return str(lowered.solver)

    def run(self, lowered: Any, options: Options) -> SolverResult:
        """Run the solver once; raises cvxpy's exceptions if it fails."""
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message="Solution may be inaccurate", category=UserWarning
            )
            lowered.model.solve(solver=lowered.solver.upper(), **lowered.options)
        statistics = lowered.model.solver_stats
        status = str(lowered.model.status)
        late = status != "optimal" and is_late(options.time_limit, statistics.solve_time)
        count = None if statistics.num_iters is None else int(statistics.num_iters)
        return SolverResult(status, late, lowered.variables.value, lowered.prices(), count)


def _deviation_form(program: Program, solver: str, options: dict[str, object]) -> _Compiled:
    """Return the cones of `cones`; for ECOS divided by the root of the budget."""
    import cvxpy as cp

    form = ConeProgram.of(program)
    variables = cp.Variable(form.cost.size)
    equations = form.matrix[: form.equations] @ variables == form.right[: form.equations]
    links = [equations]
    if form.inequalities:
        own = slice(form.equations, form.linear)
        links.append(form.matrix[own] @ variables <= form.right[own])
    cones: list[cvxpy.Constraint] = []
    if form.blocks:
        unit = program.parts[0].root if solver == "ecos" else 1.0
        slack = (form.right[form.linear :] - form.matrix[form.linear :] @ variables) / unit
        entropies = [rows for block, rows in form.members() if block.cone is Cone.ENTROPY]
        if entropies:
            places = np.array(entropies).T - form.linear
            cones.append(cp.ExpCone(*(slack[own] for own in places)))
        for block, rows in form.members():
            first, *others = rows - form.linear
            if block.cone is Cone.QUADRATIC:
                cones.append(cp.SOC(slack[first], slack[np.array(others)]))
            elif block.cone is Cone.POWER:
                members = [slack[place] for place in (first, *others)]
                cones.append(cp.PowCone3D(*members, block.power))
    signs = variables[: form.signed] >= 0
    model = cp.Problem(cp.Minimize(form.cost @ variables), [*links, signs, *cones])
    return _Compiled(program, model, options, solver, variables, links)


def _joint_form(program: Program, solver: str, options: dict[str, object]) -> _Compiled:
    """Return the leakage ÷ ε from U = A P."""
    import cvxpy as cp

    problem = program.problem
    variables = cp.Variable(program.cost.size, nonneg=True)
    estimator = cp.reshape(variables, program.cost.shape, order="C")
    joint = cp.Variable((problem.m, problem.n))
    independent = cp.sum(joint, axis=1, keepdims=True) @ problem.p_x[None, :]
    links = [
        cp.sum(estimator, axis=0) == 1,
        joint == estimator @ problem.p_xz.T,
        cp.sum(cp.rel_entr(joint, independent)) / problem.budget <= 1,
    ]
    model = cp.Problem(cp.Minimize(program.cost.ravel() @ variables), links)
    return _Joint(program, model, options, solver, variables, links)


def _solver_options(options: Options, solver: str, backend: str) -> dict[str, object]:
    """Return the solver's own parameters for tolerance, iterations and time; below 1e-12 solvers
    only report failure sooner.
    """
    if solver in _UNTRIED:
        return {}
    tolerance = number(
        options, backend, "tolerance", float, max(Precision.own_gap * options.gap, 1e-12)
    )
    tolerances, iterations, seconds = {
        "clarabel": (("tol_gap_abs", "tol_gap_rel", "tol_feas"), "max_iter", "time_limit"),
        "scs": (("eps_abs", "eps_rel"), "max_iters", "time_limit_secs"),
        "ecos": (("abstol", "reltol", "feastol"), "max_iters", ""),
        "mosek": (
            tuple(
                f"MSK_DPAR_INTPNT_CO_TOL_{name}" for name in ("PFEAS", "DFEAS", "REL_GAP", "MU_RED")
            ),
            "MSK_IPAR_INTPNT_MAX_ITERATIONS",
            "MSK_DPAR_OPTIMIZER_MAX_TIME",
        ),
    }[solver]
    settings: dict[str, object] = dict.fromkeys(tolerances, tolerance)
    settings |= limits(options, iterations, seconds)
    if solver == "mosek":
        return {"mosek_params": settings}
    if solver == "clarabel" and _accepts_unknown():
        return settings | {"accept_unknown": True}
    return settings


def _accepts_unknown() -> bool:
    """Whether this release of cvxpy keeps Clarabel's iterate without sufficient progress."""
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

    return hasattr(CLARABEL, "ACCEPT_UNKNOWN")
