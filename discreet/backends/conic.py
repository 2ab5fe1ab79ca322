"""Backend `conic`: the problem as an exponential-cone program, through cvxpy.

Method: min ⟨L, P⟩ over column-stochastic P with Σ_ij KL(u_ij, π_j s_i) ≤ ε, each term one
exponential cone, with u as explicit variables so that the cones do not repeat the N outcomes. Two
forms, setting `form`:

- `deviation`: variables D = (A P − π s) / sqrt(ε) and the Kullback–Leibler terms u log(u/v) − u +
  v, none of which is negative, in cones scaled by 1/sqrt(ε) (ECOS: 1/ε, without which it fails from
  64 outcomes on). In measurements it was best for the interior point solvers: on the paper's 10
  sensors Clarabel's own leakage exceeds the budget by at most 5e-8, with `joint` by 1e-3; on 14
  sensors by at most 3e-4, whereas `joint` ends at 1.1 to 2.1 times the budget. Default for
  clarabel, ecos and mosek.
- `joint`: variables U = A P, `rel_entr(U, s πᵀ)` summed and divided by ε: the obvious form, with a
  scaling that helps. It suits SCS best. Default for scs.

Other measures of leakage are also written in D and s: the polyhedral ones by their pieces, the
others by quadratic, power or exponential cones. With several constraints each has its own terms,
and a conditional measure has terms for every group of rows. Everything is written in cvxpy
functions, which produce the same cones as `cones`, in another order: the last digits of its solvers
depend on the order, for better on some problems and for worse on others.

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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Program, is_late, limits, point_of
from discreet.backends.parts import LeakageConstraint
from discreet.backends.precision import Precision
from discreet.backends.settings import choice, number
from discreet.errors import Absent, how_to_install
from discreet.measures.measure import Cone, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import CONDITIONAL, OTHERS
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    import cvxpy

    _Links: TypeAlias = dict[str, cvxpy.Constraint]

_UNTRIED = ("copt", "cuclarabel", "cuopt", "gurobi", "knitro")

_FORMS = {
    **dict.fromkeys(_UNTRIED, ("deviation", 0.5)),
    "clarabel": ("deviation", 0.5),
    "ecos": ("deviation", 1.0),
    "mosek": ("deviation", 0.5),
    "scs": ("joint", 0.5),
}
"""Solver -> its default form, and the power of ε that divides its cones in the `deviation` form.

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
class _Compiled:
    """A compiled cvxpy problem; after solving, tilt and multiplier are read from the duals of these
    constraints.
    """

    model: cvxpy.Problem
    estimator: cvxpy.Variable  # [m, N]
    constraints: _Links
    program: Program
    solver: str
    solver_options: dict[str, object]


class Conic(Unlifted):
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
        form = choice(options, self.name, "form", ("deviation", "joint"), _FORMS[solver][0])
        lowered = _write(problem, form, solver, _solver_options(options, solver, self.name))
        # This compiles the problem; cvxpy caches the result for `solve`.
        lowered.model.get_problem_data(solver=solver.upper())
        return lowered

    def solve(self, lowered: _Compiled, options: Options) -> Raw[Answer]:
        """Run the solver once. Raises Interrupted at the time limit, and cvxpy's exceptions if the
        solver fails.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message="Solution may be inaccurate", category=UserWarning
            )
            lowered.model.solve(solver=lowered.solver.upper(), **lowered.solver_options)
        statistics = lowered.model.solver_stats
        status = str(lowered.model.status)
        late = status != "optimal" and is_late(options, statistics.solve_time)
        estimator = point_of(lowered.solver, status, late, options, lowered.estimator.value)
        duals = {name: constraint.dual_value for name, constraint in lowered.constraints.items()}
        known = all(value is not None for value in duals.values())
        answer = Answer(estimator, *_duals(lowered.program, duals)) if known else Answer(estimator)
        return Raw(
            status, answer, None if statistics.num_iters is None else int(statistics.num_iters)
        )


def _write(
    problem: Problem, form: str, solver: str, solver_options: dict[str, object]
) -> _Compiled:
    """Return the cvxpy problem. Every leakage expression is in units of its B."""
    import cvxpy as cp

    estimator = cp.Variable((problem.m, problem.N), nonneg=True)
    program = Program.of(problem)
    constraints: _Links = {}
    plain = problem.measures == (MUTUAL_INFORMATION,)
    if program.leaks and plain and form == "joint":
        constraints["budget 0"] = _joint_form(problem, estimator, constraints) <= 1
    elif program.leaks:
        _deviation_form(program, estimator, constraints, solver)
    if program.row.size and problem.m > 1:
        constraints["privacy"] = estimator[:-1, :] @ program.row.T == 0
    model = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(program.cost, estimator))),
        [cp.sum(estimator, axis=0) == 1, *constraints.values()],
    )
    return _Compiled(model, estimator, constraints, program, solver, solver_options)


def _deviation_form(
    program: Program, estimator: cvxpy.Variable, constraints: _Links, solver: str
) -> None:
    """Add every part's leakage ÷ B ≤ 1 in terms of D = (A P − π s)/root and s, with the links
    "deviation" and "mass".
    """
    import cvxpy as cp

    m = program.problem.m
    (deviations, masses) = program.law()
    deviation = cp.Variable((m, len(deviations)))
    mass = cp.Variable((m, len(masses)))
    constraints["deviation"] = deviation == estimator @ deviations.T
    constraints["mass"] = mass == estimator @ masses.T
    for k, part in enumerate(program.parts):
        laws = [
            _GroupLaw(
                deviation
                if len(deviations) == group.prior.size
                else deviation[:, first : first + group.prior.size],
                mass if len(masses) == 1 else mass[:, guess : guess + 1],
                group.prior,
            )
            for first, guess, group in part.laws()
        ]
        own: _Links = {}
        leakage = _leakage(part, laws, own, solver)
        constraints |= {f"{name} {k}": link for name, link in own.items()}
        if leakage is not None:
            constraints[f"budget {k}"] = leakage <= 1


@dataclass(frozen=True)
class _GroupLaw:
    """The law of a group: D [m, k], s [m, 1] and its prior [k]."""

    deviation: cvxpy.Expression
    mass: cvxpy.Expression
    prior: Array

    @property
    def independent(self) -> cvxpy.Expression:
        """The law s πᵀ under independence."""
        return self.mass @ self.prior[None, :]


def _leakage(
    part: LeakageConstraint, laws: list[_GroupLaw], constraints: _Links, solver: str
) -> cvxpy.Expression | None:
    """Return leakage ÷ B by the measure of a part; None if every single guess is constrained."""
    import cvxpy as cp

    measure = part.measure
    level = part.level
    unit = part.unit
    root = part.root
    law = laws[0]
    if part.linear:
        rows = [
            law.deviation @ each[:, :-1].T + law.mass @ each[:, -1:].T for each in part.pieces[0]
        ]
        if measure.scope is Scope.POSTERIOR:
            constraints["guesses"] = cp.hstack(rows) <= 0
            return None
        added = sum(cp.max(each, axis=1) for each in rows)
        if measure.scope is Scope.SHARE:
            constraints["guesses"] = added <= level / unit
            return None
        return cp.sum(added) + (1.0 - level / unit)
    if measure.cone is Cone.ENTROPY and measure.scope is Scope.TOTAL:
        scale = level ** _FORMS[solver][1]
        joints = [each.independent / scale + (root / scale) * each.deviation for each in laws]
        divergences = [
            cp.kl_div(u, each.independent / scale) for u, each in zip(joints, laws, strict=True)
        ]
        return sum(cp.sum(each) for each in divergences) * (scale / level)
    m, n = law.deviation.shape
    if measure.cone is Cone.QUADRATIC:
        return sum(
            cp.quad_over_lin(law.deviation[i] / np.sqrt(law.prior), law.mass[i, 0])
            for i in range(m)
        )
    if measure.cone is Cone.POWER:
        joint = law.independent + root * law.deviation
        order = 1.0 / measure.order
        norms = cp.Variable(m)
        powers = cp.Variable((m, n))
        constraints["norms"] = cp.sum(powers, axis=1) == norms
        for i in range(m):  # u_j π_j^{1/α − 1} ≤ powers^{1/α} norm^{1 − 1/α}
            weighted = cp.multiply(joint[i], law.prior ** (order - 1.0))
            constraints[f"power {i}"] = cp.PowCone3D(
                powers[i], norms[i] * np.ones(n), weighted, order
            )
        return (cp.sum(norms) - 1.0) / unit
    independent = law.independent / root  # divided by root, as for mutual information
    scaled = cp.kl_div(independent + law.deviation, independent)
    constraints["guesses"] = cp.sum(scaled, axis=1) * (root / unit) <= law.mass[:, 0]
    return None


def _joint_form(
    problem: Problem, estimator: cvxpy.Variable, constraints: _Links
) -> cvxpy.Expression:
    """Return leakage ÷ ε from U = A P; adds the link "joint"."""
    import cvxpy as cp

    joint = cp.Variable((problem.m, problem.n))
    constraints["joint"] = joint == estimator @ problem.p_xz.T
    independent = cp.sum(joint, axis=1, keepdims=True) @ problem.p_x[None, :]
    return cp.sum(cp.rel_entr(joint, independent)) / problem.budget


def _duals(program: Program, duals: Mapping[str, Array]) -> tuple[Array, Any]:
    """Return (tilt, multipliers). cvxpy's Lagrangian adds y·(left − right), so a link `u == A P`
    has tilt −y.
    """
    prices = [float(np.sum(duals.get(f"budget {k}", 0.0))) for k in range(len(program.parts))]
    if "joint" in duals:
        return -program.unit * np.asarray(duals["joint"]), program.multipliers(prices)
    links = [np.ravel(duals[name]) for name in ("privacy", "deviation", "mass") if name in duals]
    return program.duals(np.concatenate([np.zeros(0), *links]), prices)


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
    found: dict[str, object] = dict.fromkeys(tolerances, tolerance)
    found |= limits(options, iterations, seconds)
    if solver == "mosek":
        return {"mosek_params": found}
    if solver == "clarabel" and _accepts_unknown():
        return found | {"accept_unknown": True}
    return found


def _accepts_unknown() -> bool:
    """Whether this release of cvxpy keeps Clarabel's iterate without sufficient progress."""
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

    return hasattr(CLARABEL, "ACCEPT_UNKNOWN")
