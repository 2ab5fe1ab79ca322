"""Backend `conic`: the problem as an exponential-cone program, through cvxpy.

Method: min ⟨L, P⟩ over column-stochastic P with Σ_ij KL(u_ij, π_j s_i) ≤ ε, each term one
exponential cone, u explicit so that the cones do not repeat the N outcomes. Two forms, setting
`form`:

- `deviation`: variables D = (A P − π s) / sqrt(ε) and the Kullback–Leibler terms u log(u/v) − u +
  v, none of which is negative, in cones scaled by 1/sqrt(ε) (ECOS: 1/ε, without which it fails from
  64 outcomes). Measured best for the interior point solvers: on the paper's 10 sensors Clarabel's
  own leakage is at most 5e-8 over the budget, with `joint` 1e-3; on 14 sensors at most 3e-4 over,
  where `joint` ends at 1.1 to 2.1 times the budget. Default for clarabel, ecos and mosek.
- `joint`: variables U = A P, `rel_entr(U, s πᵀ)` summed and divided by ε: the obvious form, with a
  scaling that helps. It suits SCS best. Default for scs.

The form `deviation` is the cone program of `cones`, for every measure of leakage and any number of
constraints; only the form `joint` is stated in functions of cvxpy.

At perfect privacy the whitened equations of `lowering` replace the cones; at budget inf only the
column sums are left. Tolerances are a tenth of the gap asked for, relative to an objective in units
of the Bayes error.

Source: S. Diamond, S. Boyd, "CVXPY: a Python-embedded modeling language for convex optimization",
JMLR 17 (2016); P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with
quadratic objectives", 2024 (arXiv:2405.12762); B. O'Donoghue et al., SCS, JOTA 169 (2016); A.
Domahidi, E. Chu, S. Boyd, ECOS, ECC 2013.

Cannot: resolve small budgets. A cone stores its excess over the ray u = v, which is of the size of
ε, next to numbers of size one, so about log10(1/ε) digits of the leakage are lost. Below 1e-8 nats
too few are left. ECOS has no time limit. `claimed` is cvxpy's status; Clarabel's iterate without
sufficient progress is kept and called "optimal_inaccurate".
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.backends.cones import Block, ConeProgram
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Program, is_late, limits, point_of
from discreet.backends.precision import Precision
from discreet.backends.settings import choice, number
from discreet.problems.errors import Absent
from discreet.problems.measures.measure import Cone
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.measures.registry import CONDITIONAL, OTHERS
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    import cvxpy

    _Links: TypeAlias = dict[str, cvxpy.Constraint]

_FORMS = {
    "clarabel": ("deviation", 0.5),
    "ecos": ("deviation", 1.0),
    "mosek": ("deviation", 0.5),
    "scs": ("joint", 0.5),
}
"""Solver -> its default form, and the power of ε by which its cones are divided in the `deviation`
form.
"""

SETTINGS = {
    "solver": "clarabel (default), scs, ecos or mosek (when installed and licensed)",
    "form": "deviation (default except for scs) or joint: how the leakage is written as cones",
    "tolerance": (
        "all tolerances of the solver; by default a tenth of the gap asked for, at least 1e-12"
    ),
}


@dataclass(frozen=True)
class _Compiled:
    """A compiled cvxpy problem, its variables, of which those of the estimator come first, and the
    constraints whose duals are the answer's.
    """

    model: cvxpy.Problem
    variables: cvxpy.Variable
    links: _Links
    program: Program
    solver: str
    solver_options: dict[str, object]


class Conic(Unlifted):
    """The exponential-cone program through cvxpy; see the module's docstring."""

    name = "conic"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=200_000,  # compilation and factorisation take seconds there
        gives_duals=True,
        method="exponential-cone program (cvxpy), by an interior point or a splitting method",
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
                f"backend conic: cvxpy finds no solver {solver}; pip install "
                f'"discreet[conic]", or {solver} itself'
            )
        form = choice(options, self.name, "form", ("deviation", "joint"), _FORMS[solver][0])
        lowered = _write(problem, form, solver, _solver_options(options, solver, self.name))
        # Compiles; cvxpy keeps it for `solve`.
        lowered.model.get_problem_data(solver=solver.upper())
        return lowered

    def solve(self, lowered: _Compiled, options: Options) -> Raw[Answer]:
        """Run the solver once. Raises Interrupted at the time limit, and what cvxpy raises when the
        solver gives up.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message="Solution may be inaccurate", category=UserWarning
            )
            lowered.model.solve(solver=lowered.solver.upper(), **lowered.solver_options)
        statistics = lowered.model.solver_stats
        status = str(lowered.model.status)
        late = status != "optimal" and is_late(options, statistics.solve_time)
        variables = point_of(lowered.solver, status, late, options, lowered.variables.value)
        iterations = statistics.num_iters
        return Raw(
            status,
            _answer(lowered, np.ravel(variables)),
            None if iterations is None else int(iterations),
        )


def _write(
    problem: Problem, form: str, solver: str, solver_options: dict[str, object]
) -> _Compiled:
    """The cvxpy problem. Every leakage counts in units of its B."""
    import cvxpy as cp

    program = Program.of(problem)
    links: _Links = {}
    if program.leaks and problem.measures == (MUTUAL_INFORMATION,) and form == "joint":
        variables = cp.Variable((problem.m, problem.N), nonneg=True)
        cost = cp.sum(cp.multiply(program.cost, variables))
        links["budget"] = _joint_form(problem, variables, links) <= 1
        constraints = [cp.sum(variables, axis=0) == 1, *links.values()]
    else:
        cones = ConeProgram.of(program, _FORMS[solver][1])
        variables = cp.Variable(cones.cost.size)
        cost = cones.cost @ variables
        constraints = _constraints(cones, variables, links)
    model = cp.Problem(cp.Minimize(cost), constraints)
    return _Compiled(model, variables, links, program, solver, solver_options)


def _constraints(
    cones: ConeProgram, variables: cvxpy.Variable, links: _Links
) -> list[cvxpy.Constraint]:
    """The rows of a cone program; adds the links "equations" and "inequalities"."""
    import cvxpy as cp

    slack = cones.right - cones.matrix @ variables
    links["equations"] = slack[: cones.equations] == 0
    if cones.inequalities:
        links["inequalities"] = slack[cones.equations : cones.linear] >= 0
    starts: dict[Block, list[int]] = {}
    first = cones.linear
    for block in cones.blocks:
        starts.setdefault(block, []).append(first)
        first += block.size
    found = [variables[: cones.signed] >= 0, *links.values()]
    for block, firsts in starts.items():
        members = [slack[np.array(firsts) + k] for k in range(block.size)]
        if block.cone is Cone.ENTROPY:
            found.append(cp.ExpCone(*members))
        elif block.cone is Cone.POWER:
            found.append(cp.PowCone3D(*members, block.power))
        else:
            found.append(cp.SOC(members[0], cp.vstack(members[1:])))
    return found


def _joint_form(
    problem: Problem, estimator: cvxpy.Variable, constraints: _Links
) -> cvxpy.Expression:
    """Leakage ÷ ε from U = A P; adds the link "joint"."""
    import cvxpy as cp

    joint = cp.Variable((problem.m, problem.n))
    constraints["joint"] = joint == estimator @ problem.p_xz.T
    independent = cp.sum(joint, axis=1, keepdims=True) @ problem.p_x[None, :]
    return cp.sum(cp.rel_entr(joint, independent)) / problem.budget


def _answer(lowered: _Compiled, variables: Array) -> Answer:
    """The estimator and its duals, where the solver has some.

    cvxpy's Lagrangian adds y·(left − right), so a link `u == A P` has tilt −y.
    """
    program = lowered.program
    duals = {name: link.dual_value for name, link in lowered.links.items()}
    if any(value is None for value in duals.values()):
        return program.answer(variables, np.zeros(0))
    if "joint" in duals:
        price = program.multipliers([float(duals["budget"])])
        return Answer(program.estimator(variables), -program.unit * duals["joint"], price)
    prices = np.concatenate([-duals["equations"], np.ravel(duals.get("inequalities", []))])
    return program.answer(variables, prices)


def _solver_options(options: Options, solver: str, backend: str) -> dict[str, object]:
    """The solver's own parameters for tolerance, iterations and time; under 1e-12 solvers only
    report failure sooner.
    """
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
    found: dict[str, object] = dict.fromkeys(tolerances, tolerance)
    found |= limits(options, iterations, seconds)
    if solver == "mosek":
        return {"mosek_params": found}
    return found | {"accept_unknown": True} if solver == "clarabel" else found
