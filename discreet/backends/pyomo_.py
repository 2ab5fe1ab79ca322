"""Backend `pyomo`: perfect privacy and linear measures as readable Pyomo models, solved through
Pyomo's interface to HiGHS.

Method: the linear program of backend `highs` in algebraic form: variables indexed by guess and
outcome, one constraint `column_sum` per outcome, one constraint `perfect_privacy` per guess and
private value. `build_model` returns the model for inspection, export (`model.write("model.lp")`) or
another solver. It differs from `highs` in its equations, which belong to single private values
instead of orthonormal features: easier to read, worse conditioned if private values are nearly
dependent. Under a linear measure of leakage the law of (X, Ŷ) has variables of its own, and the
measure is written in them.

Source: M. L. Bynum et al., *Pyomo: Optimization Modeling in Python*, 3rd ed., Springer 2021; the
program is the paper's (docs/theory.md).

Limitations: no positive finite budgets of mutual information and other measures that are not
linear; no large N, because building the model costs tens of microseconds per coefficient.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.highs import SETTINGS, highs_options
from discreet.backends.lowering import LinearProgram, Lowered, Program, Setting
from discreet.backends.parts import rows_by_private_value
from discreet.backends.solvers import LINEAR_BUDGETS, ProgramSolver, SolverResult
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

_ROWS = ("column_sum", "perfect_privacy", "law", "made", "piece", "budget")
"""The constraints of a model, in the order of `Program.linear_program`."""


class Pyomo(ProgramSolver["ConcreteModel"]):
    """The linear programs as Pyomo models; see the docstring of the module."""

    name = "pyomo"
    solver = "HiGHS, through Pyomo,"
    capabilities = Capabilities(
        **LINEAR_BUDGETS,
        largest_outcomes=100_000,  # some ten seconds, mostly Pyomo's
        gives_duals=True,
        method="linear program, an algebraic model solved by HiGHS through Pyomo",
        citation=(
            "M. L. Bynum et al., Pyomo: Optimization Modeling in Python, 3rd ed., Springer 2021"
        ),
        method_class="simplex",
        reach=(
            Reach(
                (
                    "writing and solving the linear program of 100,000 outcomes did not end "
                    "within 15 s"
                ),
                20_000,
            ),
        ),
        libraries=("pyomo", "highspy"),
        extra="pyomo",
        settings=SETTINGS,
        several=True,
    )

    def program(self, problem: Problem) -> Program:
        """Return the linear program, with equations of single private values."""
        return Program.linear(problem, rows_by_private_value)

    def settings(self, options: Options, problem: Problem) -> dict[str, Setting]:
        """Return HiGHS's options."""
        wanted = highs_options(options, self.name)
        del wanted["output_flag"]  # Pyomo captures the log
        return wanted

    def model(self, program: Program) -> ConcreteModel:
        """Return the Pyomo model."""
        return build_model(program)

    def run(
        self, lowered: Lowered[ConcreteModel, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Solve once; `claimed` is Pyomo's termination condition."""
        from pyomo.contrib.solver.common.results import TerminationCondition
        from pyomo.contrib.solver.solvers.highs import Highs as Solver

        model = lowered.model
        result = Solver().solve(
            model,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            solver_options=lowered.options,
        )
        loader = result.solution_loader
        variables = None
        prices = np.zeros(0)
        if loader.get_number_of_solutions():
            values = loader.get_vars()
            duals = loader.get_duals()
            variables = [values[each] for each in model.root_mass.values()]
            parts = [model.component(name) for name in _ROWS]
            prices = np.array([duals[row] for part in parts if part for row in part.values()])
        return SolverResult(
            str(result.termination_condition.name),
            result.termination_condition == TerminationCondition.maxTimeLimit,
            variables,
            -prices,
        )


def build_model(program: Program) -> ConcreteModel:
    """Return the Pyomo model of a program.

    Sets `guesses`, `outcomes`, `private_values`; variable `root_mass[i, z]` = sqrt(w_z) P_iz ≥ 0;
    objective `excess_error` in units of `program.unit`; constraints `column_sum[z]` and
    `perfect_privacy[i, j]` (all guesses except the last, an independent set of private values).

    Linear measures of leakage add the variables `deviation[i, x]` and `mass[i, g]`, D and s of
    `Program`, with their definitions `law[i, x]` and `made[i, g]`, and `leaked`. Each linear
    function of a `piece` is at most one of `leaked`, or 0 if the measure is about posteriors;
    `budget` bounds the sum of `leaked`, for each guess or over all guesses.
    """
    import pyomo.environ as pyo

    arrays = program.linear_program()
    names = [int(j) for j in program.rows.private_values]
    model = pyo.ConcreteModel(name="perfect privacy")
    model.guesses = pyo.RangeSet(0, program.problem.m - 1)
    model.outcomes = pyo.RangeSet(0, program.problem.N - 1)
    model.private_values = pyo.Set(initialize=names)
    model.root_mass = pyo.Var(model.guesses, model.outcomes, domain=pyo.NonNegativeReals)
    variables = list(model.root_mass.values())
    if program.leaks:
        deviations, masses = map(len, program.law())
        model.deviation = pyo.Var(model.guesses, range(deviations))
        model.mass = pyo.Var(model.guesses, range(masses), domain=pyo.NonNegativeReals)
        model.leaked = pyo.VarList()
        variables += [*model.deviation.values(), *model.mass.values()]
        variables += [model.leaked.add() for _ in range(arrays.cost.size - len(variables))]
    model.excess_error = pyo.Objective(
        expr=pyo.quicksum(map(operator.mul, arrays.cost.tolist(), model.root_mass.values()))
    )
    rows = _sums(arrays, variables)
    high = iter(arrays.high.tolist())

    def next_equation(*_: Any) -> Any:
        return next(rows) == next(high)

    model.column_sum = pyo.Constraint(model.outcomes, rule=next_equation)
    model.perfect_privacy = pyo.Constraint(
        pyo.RangeSet(0, program.problem.m - 2), model.private_values, rule=next_equation
    )
    if program.leaks:
        model.law = pyo.Constraint(model.guesses, range(deviations), rule=next_equation)
        model.made = pyo.Constraint(model.guesses, range(masses), rule=next_equation)
        model.piece = pyo.ConstraintList()
        model.budget = pyo.ConstraintList()
        for row, most in zip(rows, high, strict=True):
            (model.budget if most > 0.0 else model.piece).add(row <= most)
    return model


def _sums(arrays: LinearProgram, variables: list[Any]) -> Iterator[Any]:
    """Yield the rows of a linear program as Pyomo's sums of variables."""
    import pyomo.environ as pyo

    matrix = arrays.matrix.tocsr()
    for start, end in pairwise(matrix.indptr.tolist()):
        own = [variables[place] for place in matrix.indices[start:end]]
        yield pyo.quicksum(map(operator.mul, matrix.data[start:end].tolist(), own))
