"""Backend `ipopt`: the problem as a sparse nonlinear program for IPOPT, written in CasADi.

Method: the variables and equations of `lowering`, and one inequality leakage(D, s)/ε ≤ 1, the leakage as the sum over (i, j)
of u log1p(sqrt(ε) D/(π s)) − sqrt(ε) D with u = π s + sqrt(ε) D, which keeps its digits at small budgets (with plain
logarithms the gap at 20 of the paper's sensors is 1e-7 instead of 1e-9). CasADi differentiates it twice: the Hessian has
entries for D and s only. The start is the uniform guess. At budgets 0 and inf the program is linear.

Source: A. Wächter, L. T. Biegler, "On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming", Math. Program. 106 (2006) 25–57; J. A. E. Andersson et al., "CasADi", Math. Prog. Comp. 11 (2019);
IPOPT's page of options.

Cannot: report a gap; "Solve_Succeeded" refers to its own scaled residuals. Linear systems go to MUMPS, the only solver in
CasADi's wheels; those that need a licence are faster.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    import casadi


class Ipopt(Unlifted):
    """The sparse nonlinear program through CasADi's IPOPT; see the module's docstring."""

    name = "ipopt"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000,
        gives_duals=True,
        method="sparse nonlinear program, by IPOPT's filter line-search interior point method (CasADi)",
        citation="A. Wächter, L. T. Biegler, Math. Program. 106 (2006) 25–57",
        method_class="barrier",
        reach=(Reach("more than 20 s for 65,536 outcomes", 30_000),),
        libraries=("casadi",),
        extra="peers",
        peer=True,
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
        Tuned("bound_relax_factor", 0.0, 1e-8, "nothing is relaxed: the default oversteps budgets by 1e-8"),
        Tuned("mu_strategy", "adaptive", "monotone", "fewer iterations, and half as many digits again at 40 sensors"),
        Tuned("mu_min", 1e-17, 1e-11, "adaptive stops at this barrier parameter; the default leaves gaps of 1e-8"),
    )

    def lower(self, problem: Problem, options: Options) -> Lowered[casadi.Function, dict[str, Array]]:
        """The program as a casadi nlpsol function with its options, bounds and start."""
        import casadi

        program = Program.of(problem)
        matrix, right = program.equations()
        x = casadi.MX.sym("x", sum(program.sizes))
        form, derivatives = _functions(program, casadi.DM(matrix.tocsc()), x)
        limits = {"max_iter": options.max_iterations, "max_wall_time": options.time_limit}
        settings: Any = {"print_time": False, "ipopt": native(self.tuning, options, problem.N, limits)}
        solver = casadi.nlpsol("peer", "ipopt", form, settings | derivatives)
        arguments = {
            "x0": program.uniform_start(),
            "lbx": program.lower_bounds(),
            "lbg": np.append(right, [-math.inf] * program.leaks),
            "ubg": np.append(right, [1.0] * program.leaks),
        }
        return Lowered(program, solver, arguments)

    def solve(self, lowered: Lowered[casadi.Function, dict[str, Array]], options: Options) -> Raw[Answer]:
        """Run IPOPT; `claimed` is its return status. Raises Interrupted at the time limit, BackendError without a point."""
        found = lowered.model(**lowered.options)
        statistics = lowered.model.stats()
        claimed = str(statistics["return_status"])
        late = claimed in {"Maximum_WallTime_Exceeded", "Maximum_CpuTime_Exceeded"}
        variables = point_of("IPOPT", claimed, late, options, np.asarray(found["x"]).ravel())
        program, prices = lowered.program, np.asarray(found["lam_g"]).ravel()
        price = float(prices[-1]) if program.leaks else 0.0
        answer = program.answer(variables, prices[: prices.size - program.leaks], price)
        return Raw(claimed, answer, int(statistics["iter_count"]))


def _functions(program: Program, matrix: casadi.DM, x: casadi.MX) -> tuple[dict[str, casadi.MX], dict[str, casadi.Function]]:
    """The program {x, f, g} and its derivatives. To find the pattern of g itself, CasADi needs time quadratic in N."""
    import casadi

    masses, terms, guesses = program.sizes
    cost = casadi.DM(program.objective())
    objective, constraint, jacobian = casadi.dot(cost, x), casadi.mtimes(matrix, x), casadi.MX(matrix)
    nothing, price_f, price_g = casadi.MX.sym("p", 0), casadi.MX.sym("f"), casadi.MX.sym("g", matrix.size1() + program.leaks)
    hessian = casadi.MX(x.size1(), x.size1())
    if program.leaks:
        law = casadi.SX.sym("law", terms + guesses)
        second, first = casadi.hessian(_leakage(program, law), law)
        parts = casadi.Function("leakage", [law], [_leakage(program, law), first.T, casadi.triu(second)])(x[masses:])
        constraint = casadi.vertcat(constraint, parts[0])
        jacobian = casadi.vertcat(jacobian, casadi.horzcat(casadi.MX(1, masses), parts[1]))
        hessian = casadi.diagcat(casadi.MX(masses, masses), price_g[-1] * parts[2])
    derivatives = {
        "grad_f": casadi.Function("grad_f", [x, nothing], [objective, cost], ["x", "p"], ["f", "grad_f_x"]),
        "jac_g": casadi.Function("jac_g", [x, nothing], [constraint, jacobian], ["x", "p"], ["g", "jac_g_x"]),
        "hess_lag": casadi.Function(
            "hess_lag", [x, nothing, price_f, price_g], [hessian], ["x", "p", "lam_f", "lam_g"], ["hess_gamma_x_x"]
        ),
    }
    return {"x": x, "f": objective, "g": constraint}, derivatives


def _leakage(program: Program, law: casadi.SX) -> casadi.SX:
    """leakage/ε as a CasADi expression in D and s, stacked."""
    import casadi

    problem = program.problem
    terms = program.sizes[1]
    deviation = program.root * law[:terms]
    guess = terms + np.arange(terms) // problem.n
    independent = casadi.DM(np.tile(problem.p_x, problem.m)) * law[guess.tolist()]
    joint = independent + deviation
    return casadi.sum1(joint * casadi.log1p(deviation / independent) - deviation) / problem.budget
