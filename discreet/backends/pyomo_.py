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
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.highs import SETTINGS, highs_options
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.parts import rows_by_private_value
from discreet.measures.measure import Scope
from discreet.measures.registry import LINEAR
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from pyomo.contrib.solver.common.solution_loader import SolutionLoaderBase
    from pyomo.environ import ConcreteModel


class Pyomo(Unlifted):
    """The linear programs as Pyomo models; see the docstring of the module."""

    name = "pyomo"
    capabilities = Capabilities(
        regimes=frozenset({Regime.PERFECT, Regime.OBLIVIOUS}),
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
        measures=LINEAR,
        several=True,
    )

    def lower(
        self, problem: Problem, options: Options
    ) -> Lowered[ConcreteModel, dict[str, Setting]]:
        """Return the problem as a Pyomo model."""
        program = Program.linear(problem, rows_by_private_value)
        wanted = highs_options(options, self.name)
        del wanted["output_flag"]  # Pyomo captures the log
        return Lowered(program, build_model(program), wanted)

    def solve(
        self, lowered: Lowered[ConcreteModel, dict[str, Setting]], options: Options
    ) -> Raw[Answer]:
        """Solve once; `claimed` is Pyomo's termination condition. Raises Interrupted, BackendError
        without a point.
        """
        from pyomo.contrib.solver.common.results import TerminationCondition
        from pyomo.contrib.solver.solvers.highs import Highs as Solver

        result = Solver().solve(
            lowered.model,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            solver_options=lowered.options,
        )
        claimed = str(result.termination_condition.name)
        late = result.termination_condition == TerminationCondition.maxTimeLimit
        loader = result.solution_loader
        values, prices = (
            _values(lowered.model, loader)
            if loader.get_number_of_solutions()
            else (None, np.zeros(0))
        )
        variables = point_of("HiGHS, through Pyomo,", claimed, late, options, values)
        return Raw(claimed, lowered.program.answer(variables, -prices))


def build_model(program: Program) -> ConcreteModel:
    """Return the Pyomo model of a program.

    Sets `guesses`, `outcomes`, `private_values`; variable `root_mass[i, z]` = sqrt(w_z) P_iz ≥ 0;
    objective `excess_error` in units of `program.unit`; constraints `column_sum[z]` and
    `perfect_privacy[i, j]` (all guesses except the last, an independent set of private values). For
    linear measures `_add_measures` adds more.
    """
    import pyomo.environ as pyo

    m, outcomes = program.cost.shape
    names = [int(j) for j in program.rows.private_values]
    cost = program.cost.tolist()
    root = program.scale.tolist()
    row = dict(zip(names, program.row.tolist(), strict=True))
    model = pyo.ConcreteModel(name="perfect privacy")
    model.guesses = pyo.RangeSet(0, m - 1)
    model.outcomes = pyo.RangeSet(0, outcomes - 1)
    model.private_values = pyo.Set(initialize=names)
    model.root_mass = pyo.Var(model.guesses, model.outcomes, domain=pyo.NonNegativeReals)
    model.excess_error = pyo.Objective(
        expr=pyo.quicksum(
            cost[i][z] * model.root_mass[i, z] for i in model.guesses for z in model.outcomes
        )
    )
    model.column_sum = pyo.Constraint(
        model.outcomes,
        rule=lambda at, z: pyo.quicksum(at.root_mass[i, z] for i in at.guesses) == root[z],
    )
    if program.leaks:
        _add_measures(model, program)
    model.perfect_privacy = pyo.Constraint(
        pyo.RangeSet(0, m - 2),
        model.private_values,
        rule=lambda at, i, j: (
            pyo.quicksum(row[j][z] * at.root_mass[i, z] for z in at.outcomes) == 0.0
        ),
    )
    return model


def _add_measures(model: ConcreteModel, program: Program) -> None:
    """Add linear measures of leakage: variables `deviation[i, x]` and `mass[i, g]`, D and s of
    `Program`, and `leaked`.

    Constraints `law[i, x]` and `made[i, g]` define the first two. Each linear function of a `piece`
    is at most one of `leaked`, or 0 if the measure is about posteriors; `budget` bounds the sum of
    `leaked`, for each guess or over all guesses.
    """
    import pyomo.environ as pyo

    deviations, masses = ((each / program.scale).tolist() for each in program.law())
    outcomes = model.outcomes
    values = range(len(deviations))
    groups = range(len(masses))

    def under(row: list[float], i: int) -> Any:
        return pyo.quicksum(row[z] * model.root_mass[i, z] for z in outcomes)

    model.deviation = pyo.Var(model.guesses, values)
    model.mass = pyo.Var(model.guesses, groups, domain=pyo.NonNegativeReals)
    model.leaked = pyo.VarList()
    model.law = pyo.Constraint(
        model.guesses, values, rule=lambda at, i, x: at.deviation[i, x] == under(deviations[x], i)
    )
    model.made = pyo.Constraint(
        model.guesses, groups, rule=lambda at, i, g: at.mass[i, g] == under(masses[g], i)
    )
    model.piece = pyo.ConstraintList()
    model.budget = pyo.ConstraintList()
    law = [*model.deviation.values(), *model.mass.values()]
    start = program.sizes[0]
    for part in program.parts:
        scope = part.measure.scope
        own = list[list[Any]]([] for _ in model.guesses)
        for i, deviation, guess, k, _ in program.places(part):
            every = [law[place - start] for place in (*deviation, guess)]
            for piece in part.pieces[k]:
                most = 0.0 if scope is Scope.POSTERIOR else model.leaked.add()
                own[i] += [] if scope is Scope.POSTERIOR else [most]
                for row in piece.tolist():
                    model.piece.add(pyo.quicksum(map(operator.mul, row, every)) <= most)
        for bounded in part.bounded(own):
            model.budget.add(pyo.quicksum(bounded) <= part.level / part.unit)


def _values(model: ConcreteModel, loader: SolutionLoaderBase) -> tuple[Array, Array]:
    """Return the values of the variables in the order of `Program`, and the duals of the equations
    in its order followed by those of the budget.
    """
    values = loader.get_vars()
    duals = loader.get_duals()
    variables = [values[model.root_mass[i, z]] for i in model.guesses for z in model.outcomes]
    names = ("column_sum", "perfect_privacy", "law", "made", "budget")
    parts = [part for name in names if (part := model.component(name)) is not None]
    return np.array(variables), np.array([duals[row] for part in parts for row in part.values()])
