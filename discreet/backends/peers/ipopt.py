"""Backend `ipopt`: the problem as a sparse nonlinear program for IPOPT, written in CasADi.

Method: the variables and equations of `lowering`, and one inequality leakage(D, s)/ε ≤ 1, with the
leakage as the sum over (i, j) of u log1p(sqrt(ε) D/(π s)) − sqrt(ε) D with u = π s + sqrt(ε) D,
which keeps its digits at small budgets (with plain logarithms the gap at 20 of the paper's sensors
is 1e-7 instead of 1e-9). CasADi differentiates it twice: the Hessian has entries only for D and s.
The start is the uniform guess. At budgets 0 and inf the program is linear. Other smooth measures
have their own function of D and s; a measure of each posterior is one inequality for each guess,
and linear measures are the linear inequalities of `Program.linear_program`.

Source: A. Wächter, L. T. Biegler, "On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming", Math. Program. 106 (2006) 25–57; J. A. E.
Andersson et al., "CasADi", Math. Prog. Comp. 11 (2019); IPOPT's page of options.

Limitations: it reports no gap; "Solve_Succeeded" refers to its own scaled residuals. Linear systems
are solved by MUMPS, the only solver in CasADi's wheels; solvers that need a licence are faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.lowering import LinearProgram, Lowered, Program, Setting
from discreet.backends.parts import LeakageConstraint
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import ANY_BUDGET, PEER, ProgramSolver, SolverResult
from discreet.measures.measure import Cone, Scope
from discreet.numerics.double_double import Array

if TYPE_CHECKING:
    import casadi


class Ipopt(ProgramSolver["CasadiProgram"]):
    """The sparse nonlinear program through CasADi's IPOPT; see the docstring of the module."""

    name = "ipopt"
    solver = "IPOPT"
    capabilities = Capabilities(
        **PEER,
        **ANY_BUDGET,
        largest_outcomes=100_000,
        method=(
            "sparse nonlinear program, by IPOPT's filter line-search interior point method (CasADi)"
        ),
        citation="A. Wächter, L. T. Biegler, Math. Program. 106 (2006) 25–57",
        method_class="barrier",
        reach=(Reach("more than 20 s for 65,536 outcomes", 30_000),),
        libraries=("casadi",),
    )
    _share = ShareOfGap(Precision.own_gap, 1e-15, per_outcome=True)
    tuning: Tuning = (
        Tuned("print_level", 0, 5, "nothing is printed"),
        Tuned("sb", "yes", "no", "no banner is printed"),
        Tuned("tol", _share, 1e-8, "the gap is a sum of m·N complementarities, each under tol"),
        Tuned("dual_inf_tol", _share, 1.0, "as tol: the defaults let IPOPT stop at 1e-4"),
        Tuned("constr_viol_tol", _share, 1e-4, "as dual_inf_tol"),
        Tuned("compl_inf_tol", _share, 1e-4, "as dual_inf_tol"),
        Tuned("acceptable_iter", 0, 15, "no early end at the acceptable level, which is 1e-6"),
        Tuned(
            "bound_relax_factor",
            0.0,
            1e-8,
            ("nothing is relaxed: the default oversteps budgets by 1e-8"),
        ),
        Tuned(
            "mu_strategy",
            "adaptive",
            "monotone",
            ("fewer iterations, and half as many digits again at 40 sensors"),
        ),
        Tuned(
            "mu_min",
            1e-17,
            1e-11,
            ("adaptive stops at this barrier parameter; the default leaves gaps of 1e-8"),
        ),
    )

    limits = ("max_iter", "max_wall_time")

    def model(self, program: Program) -> CasadiProgram:
        """Return the smooth program, with IPOPT loaded."""
        import casadi

        casadi.load_nlpsol("ipopt")
        return CasadiProgram.of(program)

    def run(
        self, lowered: Lowered[CasadiProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run IPOPT as a CasADi function."""
        import casadi

        smooth = lowered.model
        settings: Any = {"print_time": False, "ipopt": lowered.options}
        solver = casadi.nlpsol("peer", "ipopt", smooth.form, settings | smooth.derivatives)
        solution = solver(x0=smooth.start, lbx=smooth.least, lbg=smooth.low, ubg=smooth.high)
        statistics = solver.stats()
        claimed = str(statistics["return_status"])
        late = claimed in {"Maximum_WallTime_Exceeded", "Maximum_CpuTime_Exceeded"}
        prices = np.asarray(solution["lam_g"]).ravel()
        variables = np.asarray(solution["x"]).ravel()
        return SolverResult(claimed, late, variables, prices, int(statistics["iter_count"]))


@dataclass(frozen=True)
class CasadiProgram:
    """min f(x) with low ≤ g(x) ≤ high and x ≥ least, and where to start.

    form          x, f and g as CasADi expressions
    derivatives   CasADi functions by the names that its nlpsol gives them: grad_f, jac_g, and
                  hess_lag, the upper triangle
    """

    form: dict[str, casadi.MX]
    derivatives: dict[str, casadi.Function]
    start: Array
    least: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, program: Program) -> CasadiProgram:
        """The smooth program of a program."""
        import casadi

        arrays = program.linear_program()
        x = casadi.MX.sym("x", arrays.cost.size)
        form, derivatives = _functions(program, arrays, x)
        smooth = form["g"].size1() - arrays.low.size
        return cls(
            form,
            derivatives,
            np.append(program.uniform_start(), np.zeros(arrays.cost.size - sum(program.sizes))),
            arrays.least,
            np.append(arrays.low, [-math.inf] * smooth),
            np.append(arrays.high, [0.0] * smooth),
        )


def _functions(
    program: Program, arrays: LinearProgram, x: casadi.MX
) -> tuple[dict[str, casadi.MX], dict[str, casadi.Function]]:
    """Return the program {x, f, g} and its derivatives. CasADi's own detection of the sparsity of g
    takes time quadratic in N.
    """
    import casadi
    from scipy import sparse

    masses, deviations, guesses = program.sizes
    rest = x.size1() - masses - deviations - guesses
    cost = casadi.DM(arrays.cost)
    # CasADi before 3.7 reads SciPy's matrices, but not its arrays
    matrix = casadi.DM(sparse.csc_matrix(arrays.matrix))
    law = casadi.SX.sym("law", deviations + guesses)
    leaked = casadi.vertcat(
        casadi.SX(0, 1),
        *(
            each
            for part in program.parts
            if not part.linear
            for each in _leakage(program, part, law)
        ),
    )
    smooth = leaked.size1()
    objective = casadi.dot(cost, x)
    constraint = casadi.mtimes(matrix, x)
    jacobian = casadi.MX(matrix)
    nothing = casadi.MX.sym("p", 0)
    price_f = casadi.MX.sym("f")
    price_g = casadi.MX.sym("g", matrix.size1() + smooth)
    hessian = casadi.MX(x.size1(), x.size1())
    if smooth:
        prices = casadi.SX.sym("prices", smooth)
        second, _ = casadi.hessian(casadi.dot(prices, leaked), law)
        here = x[masses : masses + law.size1()]
        value, slope = casadi.Function("leakage", [law], [leaked, casadi.jacobian(leaked, law)])(
            here
        )
        curvature = casadi.Function("curvature", [law, prices], [casadi.triu(second)])(
            here, price_g[matrix.size1() :]
        )
        constraint = casadi.vertcat(constraint, value)
        jacobian = casadi.vertcat(
            jacobian, casadi.horzcat(casadi.MX(smooth, masses), slope, casadi.MX(smooth, rest))
        )
        hessian = casadi.diagcat(casadi.MX(masses, masses), curvature, casadi.MX(rest, rest))
    derivatives = {
        "grad_f": casadi.Function(
            "grad_f", [x, nothing], [objective, cost], ["x", "p"], ["f", "grad_f_x"]
        ),
        "jac_g": casadi.Function(
            "jac_g", [x, nothing], [constraint, jacobian], ["x", "p"], ["g", "jac_g_x"]
        ),
        "hess_lag": casadi.Function(
            "hess_lag",
            [x, nothing, price_f, price_g],
            [hessian],
            ["x", "p", "lam_f", "lam_g"],
            ["hess_gamma_x_x"],
        ),
    }
    return {"x": x, "f": objective, "g": constraint}, derivatives


def _leakage(program: Program, part: LeakageConstraint, law: casadi.SX) -> list[casadi.SX]:
    """Return the expressions in the stacked D and s that must be at most 0: Σ g(u_i)/B − 1, or
    g(u_i)/B − s_i for each guess.
    """
    each = {Cone.QUADRATIC: _quadratic, Cone.POWER: _norm, Cone.ENTROPY: _divergence}[part.cone]
    start = program.sizes[0]
    leakages = list[Any]()
    guesses = list[Any]()
    for _, places, guess, group in program.places(part):
        guesses.append(law[int(guess - start)])
        leakages.append(
            each(part, part.root * law[(places - start).tolist()], guesses[-1], group.prior)
        )
    if part.measure.scope is Scope.TOTAL:
        return [sum(leakages) - 1.0]
    return [leaked - mass for leaked, mass in zip(leakages, guesses, strict=True)]


def _divergence(
    part: LeakageConstraint, deviation: casadi.SX, mass: casadi.SX, prior: Array
) -> casadi.SX:
    """Return Σ_j u log1p(d/(π s)) − d divided by B, with d = u − π s."""
    import casadi

    independent = casadi.DM(prior) * mass
    return (
        casadi.sum1((independent + deviation) * casadi.log1p(deviation / independent) - deviation)
        / part.level
    )


def _quadratic(
    part: LeakageConstraint, deviation: casadi.SX, mass: casadi.SX, prior: Array
) -> casadi.SX:
    """Return Σ_j d²/(π s) divided by B."""
    import casadi

    return casadi.sum1(deviation**2 / casadi.DM(prior)) / (mass * part.level)


def _norm(
    part: LeakageConstraint, deviation: casadi.SX, mass: casadi.SX, prior: Array
) -> casadi.SX:
    """Return s (N − 1)/B with N^α − 1 = Σ_j π ((1 + x)^α − 1 − α x), x = d/(π s)."""
    import casadi

    alpha = part.measure.order
    x = deviation / (casadi.DM(prior) * mass)
    above = (1.0 + x) * casadi.expm1((alpha - 1.0) * casadi.log1p(x)) - (alpha - 1.0) * x
    return (
        mass * casadi.expm1(casadi.log1p(casadi.dot(casadi.DM(prior), above)) / alpha) / part.level
    )
