"""Backend `slsqp`: the problem as a general smooth program, by SciPy's sequential least squares.

Method: minimise ⟨L, P⟩ subject to 1 − leakage(P)/B ≥ 0 with analytic gradients. The last guess is
eliminated, so for two guesses the column sums are just bounds, for more they are N linear
inequalities. The variables sqrt(N w_l) P_il equalise the curvature of the leakage over the
outcomes: 10 iterations on the paper's 10 sensors, whereas plain P takes 70. The start is the blend
of the Bayes rule and the uniform guess that just satisfies the budget: feasible, and away from
every bound, where the leakage is smooth. Without a constraint the Bayes rule is the answer. Leakage
and gradient are computed from the accurate law of (X, Ŷ) (`measures.law`), so they keep their
digits at small budgets. If a guess excludes a private value (u_ij = 0) the log ratio is −∞; it is
truncated at −53 log 2.

At budget 0 the constraint is replaced by the whitened equations of `lowering`. The loop derives
duals from the estimator (`repairs`): the multiplier that SLSQP reports belongs to its last
subproblem and had an error of 4 % when the estimator was correct to 1e-9.

Other smooth measures of leakage have their own value and slope. A measure of each posterior gives m
constraints s_i (1 − leakage_i/B) ≥ 0.

Source: D. Kraft, "A software package for sequential quadratic programming", DFVLR-FB 88-28 (1988).

Limitations: it does not scale. Every iteration solves a dense least squares problem, cubic in (m −
1) N, and the Hessian is built from rank-two updates. It refuses more than 300 variables (m − 1) N:
on the single sensor with one BLAS thread, it takes at most 0.2 s at N = 64, 11 s at 256, 26 s at
320, 42 s at 400; two threads on two busy cores take three to four times as long. A time limit is
checked only between iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Capabilities, Options, Reach, Regime
from discreet.backends.lowering import Lowered, Program
from discreet.backends.precision import Precision
from discreet.backends.repairs import blend_to_target
from discreet.backends.solvers import ProgramSolver, SolverResult, time_guard
from discreet.measures.law import OutputLaw
from discreet.measures.measure import Scope
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

_ITERATIONS = 300
# Further iterations per variable: successful solves take up to 230 iterations with few variables,
# and two per variable with many; others take thousands at a tiny budget without improvement.
_MORE_ITERATIONS = 3


class Slsqp(ProgramSolver["SmoothProgram"]):
    """Sequential least squares on the reduced parametrisation; see the docstring of the module."""

    name = "slsqp"
    solver = "SLSQP"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=300,
        largest_variables=300,
        gives_duals=False,
        measures=frozenset({"chi-square", "sibson", "pointwise-information"}),
        method="sequential quadratic programming with dense least squares (SciPy's SLSQP)",
        citation=(
            "D. Kraft, A software package for sequential quadratic programming, DFVLR-FB "
            "88-28 (1988)"
        ),
        method_class="dense SQP",
        unreliable={
            "degenerate": (
                "a line search may fail first: a gap of 1e-2 on a nearly deterministic problem"
            ),
            "tiny budget": "the same, and its steps are many: of 40 drawn problems at 1e-12 nats "
            "8 had gaps over 1e-6, the "
            "largest 0.7",
        },
        reach=(Reach("a dense method: 62 s at 256 outcomes", unknowns=300),),
    )

    def program(self, problem: Problem) -> Program:
        """Return the program in the variables sqrt(N w_l) P_il; a linear program also loses digits
        next to larger costs.
        """
        return Program.of(problem, 0.5, Precision.unit[0])

    def settings(self, options: Options, problem: Problem) -> dict[str, float]:
        """Return SciPy's options."""
        variables = (problem.m - 1) * problem.N
        most = options.max_iterations or _ITERATIONS + _MORE_ITERATIONS * variables
        return {"ftol": max(Precision.descent * options.gap, 1e-15), "maxiter": most}

    def model(self, program: Program) -> SmoothProgram:
        """Return the objective, its constraints and a feasible start."""
        # Imported here, because the seconds of solving include no import.
        import scipy.optimize  # noqa: F401

        start = _start(program.problem)[:-1] * program.scale
        return SmoothProgram(program, start.ravel())

    def run(
        self, lowered: Lowered[SmoothProgram, dict[str, float]], options: Options
    ) -> SolverResult:
        """Run SLSQP; `claimed` is its message. Raises Interrupted from its callback at the time
        limit.
        """
        from scipy.optimize import minimize

        smooth = lowered.model
        no_prices = np.zeros(0)
        if smooth.settled:
            variables = smooth.variables(smooth.start)
            return SolverResult("optimal: nothing to decide", False, variables, no_prices, 0)
        watch = time_guard(self.solver, options)
        run: Any = minimize  # its type stubs reject a list of constraint dictionaries
        result = run(
            smooth.error,
            smooth.start,
            jac=lambda _: smooth.error_gradient,
            bounds=[(0.0, top) for top in np.tile(smooth.program.scale, smooth.free)],
            constraints=smooth.constraints(),
            method="SLSQP",
            callback=lambda _: watch(),
            options=lowered.options,
        )
        variables = smooth.variables(np.asarray(result.x))
        return SolverResult(str(result.message), False, variables, no_prices, int(result.nit))


@dataclass(frozen=True)
class SmoothProgram:
    """The problem in x = (sqrt(N w_l) P_il for i < m − 1), flattened guess by guess: the `program`
    without its last guess.

    start   a feasible x
    """

    program: Program
    start: Array

    @property
    def problem(self) -> Problem:
        """The problem that was lowered."""
        return self.program.problem

    @property
    def settled(self) -> bool:
        """True if the start is optimal: one guess, or the Bayes rule without a constraint.

        SLSQP would change it by rounding errors, multiplied by costs of up to 1e9.
        """
        perfect = self.problem.constraint.perfect
        return not self.free or not (self.program.leaks or perfect)

    @property
    def free(self) -> int:
        """The number of guesses that are variables, m − 1."""
        return self.problem.m - 1

    def estimator(self, x: Array) -> Array:
        """Return P [m, N]; the last row is one minus the others, and may be negative because of
        rounding or infeasibility.
        """
        upper = x.reshape(self.free, self.problem.N) / self.program.scale
        return np.concatenate([upper, 1.0 - upper.sum(axis=0, keepdims=True)])

    def variables(self, x: Array) -> Array:
        """Return the variables of the program, those of the last guess included."""
        return np.ravel(self.estimator(x) * self.program.scale)

    def error(self, x: Array) -> float:
        """Return the excess error probability over the Bayes rule, in units of the program."""
        return float((self.program.cost * self.program.scale * self.estimator(x)).sum())

    @property
    def error_gradient(self) -> Array:
        """The constant gradient of `error` [(m−1) N]."""
        return np.ravel(self.program.cost[:-1] - self.program.cost[-1])

    @property
    def equations(self) -> Array:
        """The privacy equations, block diagonal with the same rows for each guess [(m−1) r, (m−1)
        N].
        """
        return np.asarray(np.kron(np.eye(self.free), self.program.row))

    def slack(self, x: Array) -> Array:
        """Return 1 − leakage/B [1], or s_i (1 − leakage_i/B) [m] if the budget applies to every
        single guess.
        """
        law = self._law(x)
        measure = self.problem.measure
        level = self.program.parts[0].level
        each = measure.excess(law.ratio_minus_one(), law.p_x) / level
        if measure.scope is Scope.POSTERIOR:
            return np.asarray(law.mass * (1.0 - each))
        return np.array([1.0 - law.mass @ each])

    def slack_gradient(self, x: Array) -> Array:
        """Return the Jacobian of `slack`; for a single number it is −Σ_j a_jl (v_ij − v_mj) / (B
        sqrt(N w_l)) with the gradients v_i of g(u_i).
        """
        law = self._law(x)
        measure = self.problem.measure
        level = self.program.parts[0].level
        ratio = law.ratio_minus_one()
        slope = measure.slope(ratio, law.p_x) @ self.problem.p_xz
        if measure.scope is not Scope.POSTERIOR:
            return np.asarray(-((slope[:-1] - slope[-1]) / self.program.scale).ravel() / level)[
                None, :
            ]
        # The slope is the derivative of s (G(x) − G) with G fixed at its present value.
        excess = measure.excess(ratio, law.p_x)
        own = (
            self.problem.p_z * (1.0 - excess[:, None] / level) - slope / level
        ) / self.program.scale
        jacobian = np.zeros((self.problem.m, self.free, self.problem.N))
        jacobian[range(self.free), range(self.free)] = own[:-1]
        jacobian[-1] = -own[-1]
        return jacobian.reshape(self.problem.m, -1)

    def constraints(self) -> list[dict[str, Any]]:
        """Return SciPy's constraint dictionaries, the privacy constraint first."""
        dictionaries: list[dict[str, Any]] = []
        equations = self.equations
        if equations.size:
            dictionaries.append(
                {"type": "eq", "fun": lambda x: equations @ x, "jac": lambda _: equations}
            )
        elif self.program.leaks:
            dictionaries.append({"type": "ineq", "fun": self.slack, "jac": self.slack_gradient})
        if self.free > 1:
            sums = np.tile(-np.eye(self.problem.N), self.free)
            dictionaries.append(
                {
                    "type": "ineq",
                    "fun": lambda x: self.program.scale + sums @ x,
                    "jac": lambda _: sums,
                }
            )
        return dictionaries

    def _law(self, x: Array) -> OutputLaw:
        return self.problem.output_law(np.maximum(self.estimator(x), 0.0))


def _start(problem: Problem) -> Array:
    """Return the uniform guess, blended as far towards the Bayes rule as a finite positive budget
    permits.
    """
    uniform = np.full((problem.m, problem.N), 1.0 / problem.m)
    if problem.constraint.perfect:
        return uniform
    return blend_to_target(
        problem.bayes_estimator, problem.bayes_law, uniform, problem.law(uniform), problem.budget
    )
