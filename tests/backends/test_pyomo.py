"""The Pyomo model of perfect privacy: its named parts, options that reach the solver, and duals
that are prices.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_highs import random_estimator, random_problem, record_solvers

from discreet.backends.contract import Options
from discreet.backends.highs import METHODS
from discreet.backends.pyomo_ import Pyomo
from discreet.backends.run import solve
from discreet.backends.solution import Status
from discreet.problems import catalog
from discreet.problems.errors import InputError, Interrupted
from discreet.problems.judge import certify


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_the_model_evaluates_to_the_error_probability_the_column_sums_and_phi(seed: int) -> None:
    import pyomo.environ as pyo

    problem = random_problem(seed)
    lowered = Pyomo().lower(problem, Options())
    model = lowered.model
    program = lowered.program
    estimator = random_estimator(problem, seed)
    for i in model.guesses:
        for z in model.outcomes:
            model.root_mass[i, z].value = estimator[i, z] * program.scale[z]
    error = program.unit * pyo.value(model.excess_error) + problem.bayes_error
    assert error == pytest.approx(problem.error_probability(estimator), rel=1e-12)
    for z in model.outcomes:
        assert pyo.value(model.column_sum[z].body) == pytest.approx(program.scale[z], rel=1e-12)
    phi = problem.output_law(estimator).deviation / problem.p_x  # (Φ P)_ij
    for r, j in enumerate(int(name) for name in program.rows.private_values):
        # The feature is this times π_j φ_j / w.
        size = program.rows.combination[r, j] / (1.0 - problem.p_x[j])
        for i in range(problem.m - 1):
            value = pyo.value(model.perfect_privacy[i, j].body)
            assert value == pytest.approx(
                size * problem.p_x[j] * phi[i, j], rel=1e-6, abs=1e-12 * max(1.0, size)
            )


def test_the_parts_of_the_model_have_readable_names() -> None:
    problem = catalog.build("dirichlet", n=3, m=3, N=8, budget=0.0)
    model = Pyomo().lower(problem, Options()).model
    assert {part.name for part in model.component_objects()} >= {
        "guesses",
        "outcomes",
        "private_values",
        "root_mass",
        "excess_error",
        "column_sum",
        "perfect_privacy",
    }
    assert len(model.column_sum) == 8
    assert len(model.private_values) == problem.phi_rank.rank == 2
    assert len(model.perfect_privacy) == 2 * 2  # guesses but the last × independent private values


@pytest.mark.parametrize(
    ("name", "parameters", "error", "within"),
    [
        ("paper-single", {"bins": 4}, 0.130702456, 1e-9),
        ("paper-single", {"bins": 64}, 0.121218220, 1e-9),
        ("paper-multi", {"sensors": 5}, 0.023651613, 2e-9),
        ("paper-multi", {"sensors": 10}, 0.004182361, 5e-9),
    ],
)
def test_reference_values(
    name: str, parameters: dict[str, int], error: float, within: float
) -> None:
    solution = solve(catalog.build(name, budget=0.0, **parameters), "pyomo")
    assert solution.error_probability == pytest.approx(error, abs=within)
    assert solution.status is Status.CERTIFIED
    assert solution.claimed == "convergenceCriteriaSatisfied"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_highs_is_reached(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = record_solvers(monkeypatch)
    solution = solve(
        catalog.build("dirichlet", N=30, budget=0.0), "pyomo", settings={"method": method}
    )
    assert solution.relative_gap <= 1e-8
    assert made[-1].getOptionValue("solver")[1] == method


@pytest.mark.parametrize(("gap", "tolerance"), [(1e-4, 1e-5), (1e-15, 1e-10)])
def test_the_gap_and_the_limits_reach_highs_through_pyomo(
    gap: float, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record_solvers(monkeypatch)
    problem = catalog.build("paper-single", budget=0.0)
    solve(
        problem, "pyomo", gap=gap, time_limit=77.0, max_iterations=55, settings={"presolve": "off"}
    )
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        assert made[-1].getOptionValue(option)[1] == tolerance
    assert made[-1].getOptionValue("time_limit")[1] == 77.0
    assert made[-1].getOptionValue("simplex_iteration_limit")[1] == 55
    assert made[-1].getOptionValue("presolve")[1] == "off"


def test_the_tilt_has_the_sign_of_the_contract() -> None:
    problem = catalog.build("dirichlet", n=3, m=3, N=40, budget=0.0)
    backend = Pyomo()
    answer = backend.lift(backend.solve(backend.lower(problem, Options()), Options()))
    assert answer.tilt is not None
    assert answer.multiplier == math.inf
    np.testing.assert_allclose(answer.tilt @ problem.p_x, 0.0, atol=1e-15)
    assert (
        certify(problem, answer.estimator, answer.tilt, answer.multiplier).certificate.relative_gap
        < 1e-12
    )
    assert (
        certify(problem, answer.estimator, -answer.tilt, answer.multiplier).certificate.relative_gap
        > 1e-3
    )


def test_without_constraint_the_bayes_rule_comes_out() -> None:
    problem = catalog.build("dirichlet", N=30, budget=math.inf)
    solution = solve(problem, "pyomo")
    assert solution.status is Status.CERTIFIED
    assert solution.multiplier == 0.0
    assert solution.error_probability == pytest.approx(problem.bayes_error, rel=1e-14)


def test_the_time_limit_interrupts() -> None:
    problem = catalog.build("mixture", N=1000, n=4, m=4, budget=0.0)
    options = Options(time_limit=1e-6)
    backend = Pyomo()
    with pytest.raises(Interrupted, match="time limit of 1e-06 s"):
        backend.solve(backend.lower(problem, options), options)


def test_a_wrong_setting_names_the_backend() -> None:
    with pytest.raises(
        InputError,
        match=("backend pyomo: setting method is 'hipo'; choose one of: simplex, ipx, pdlp"),
    ):
        solve(catalog.build("paper-single", budget=0.0), "pyomo", settings={"method": "hipo"})
