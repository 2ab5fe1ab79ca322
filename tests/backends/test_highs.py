"""The perfect-privacy linear program as HiGHS gets it: its rows are the problem's, options arrive,
duals are prices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

from discreet.backends.contract import Options
from discreet.backends.highs import METHODS, Highs
from discreet.backends.lowering import Program
from discreet.backends.parts import rows_by_private_value, whitened_rows
from discreet.backends.run import solve
from discreet.backends.solution import Status
from discreet.problems import catalog
from discreet.problems.constraint import Constraint
from discreet.problems.errors import InputError, Interrupted
from discreet.problems.judge import certify
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce

REFERENCE = [
    ("paper-single", {"bins": 4}, 0.130702456, 1e-9),
    ("paper-single", {"bins": 64}, 0.121218220, 1e-9),
    ("paper-single", {"bins": 1000}, 0.120815366, 1e-9),
    ("paper-multi", {"sensors": 5}, 0.023651613, 2e-9),
    ("paper-multi", {"sensors": 10}, 0.004182361, 5e-9),
]


def random_problem(seed: int) -> Problem:
    """A random sparse joint at budget 0, reduced as `solve` would, n and m up to 4, N up to 12."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 5)
    m = rng.integers(1, 5)
    count = rng.integers(1, 13)
    joint = rng.gamma(0.5, size=(n, m, count)) * (rng.random((n, m, count)) > 0.25)
    joint[0, 0, 0] += 0.01
    return reduce(Problem.from_joint(joint / joint.sum(), budget=0.0)).problem


def random_estimator(problem: Problem, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    estimator = rng.gamma(0.5, size=(problem.m, problem.N)) + 1e-12
    return np.asarray(estimator / estimator.sum(axis=0))


@given(st.integers(0, 10**6))
def test_the_privacy_rows_span_exactly_the_rows_of_phi(seed: int) -> None:
    problem = random_problem(seed)
    for equations in (whitened_rows, rows_by_private_value):
        rows = Program.linear(problem, equations).rows
        assert rows.features.shape[0] == problem.phi_rank.rank
        weighted = rows.features * problem.p_z
        np.testing.assert_allclose(
            weighted,
            rows.combination @ problem.p_xz,
            atol=1e-9 * max(1.0, np.abs(rows.combination).max(initial=0.0)),
        )
        np.testing.assert_allclose(weighted.sum(axis=1), 0.0, atol=1e-12)
        np.testing.assert_allclose((rows.features**2) @ problem.p_z, 1.0, rtol=1e-9)
        basis = (rows.features * np.sqrt(problem.p_z)).T
        scaled = (problem.phi / np.sqrt(problem.p_z)).T
        rest = (
            scaled - basis @ np.linalg.lstsq(basis, scaled, rcond=None)[0] if basis.size else scaled
        )
        np.testing.assert_allclose(rest, 0.0, atol=1e-9 * max(1.0, np.abs(scaled).max()))


@given(st.integers(0, 10**6))
def test_equations_that_follow_from_those_of_another_secret_are_left_out(seed: int) -> None:
    problem = random_problem(seed)
    coarser = np.vstack([problem.p_xz[:-1].sum(axis=0), problem.p_xz[-1]])
    private = [Constraint(rows, 0.0) for rows in (problem.p_xz, coarser, problem.p_xz)]
    several = Problem(loss=problem.loss, constraints=private)
    for equations in (whitened_rows, rows_by_private_value):
        rows = Program.linear(several, equations).rows
        assert rows.features.shape[0] == problem.phi_rank.rank
        np.testing.assert_allclose(
            rows.features * several.p_z,
            rows.combination @ several.p_xz,
            atol=1e-9 * max(1.0, np.abs(rows.combination).max(initial=0.0)),
        )


@given(st.integers(0, 10**6))
def test_the_arrays_given_to_highs_are_those_of_the_program(
    seed: int,
) -> None:
    problem = random_problem(seed)
    lowered = Highs().lower(problem, Options())
    model = lowered.model
    program = lowered.program
    estimator = random_estimator(problem, seed)
    point = (estimator * program.scale).ravel()
    error = program.unit * float(np.asarray(model.col_cost_) @ point) + problem.bayes_error
    assert error == pytest.approx(problem.error_probability(estimator), rel=1e-12)
    matrix = csc_matrix(
        (model.a_matrix_.value_, model.a_matrix_.index_, model.a_matrix_.start_),
        shape=(model.num_row_, model.num_col_),
    )
    activity = matrix @ point
    np.testing.assert_allclose(activity[: problem.N], program.scale, rtol=1e-12)
    deviation = problem.output_law(estimator).deviation[:-1]  # A P − π s, from double-length sums
    expected = deviation @ program.rows.combination.T
    np.testing.assert_allclose(
        activity[problem.N :],
        expected.ravel(),
        atol=1e-13 * max(1.0, np.abs(program.rows.combination).max(initial=0.0)),
    )
    assert (
        list(model.row_lower_)
        == list(model.row_upper_)
        == [*program.scale, *np.zeros(expected.size)]
    )


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_random_problems_are_certified_by_the_lifted_estimator_and_duals(seed: int) -> None:
    problem = random_problem(seed)
    assume(problem.N > 1)
    solution = solve(problem, "highs")
    assert solution.status is Status.CERTIFIED, solution
    assert solution.relative_gap <= 1e-12


@pytest.mark.parametrize(("name", "parameters", "error", "within"), REFERENCE)
@pytest.mark.parametrize("method", METHODS)
def test_reference_values(
    name: str, parameters: dict[str, int], error: float, within: float, method: str
) -> None:
    problem = catalog.build(name, budget=0.0, **parameters)
    solution = solve(problem, "highs", settings={"method": method})
    assert solution.error_probability == pytest.approx(error, abs=within)
    assert solution.relative_gap <= 1e-9


@pytest.mark.parametrize("sensors", [1, 20, 30])
def test_the_root_mass_scaling_keeps_tiny_answers(sensors: int) -> None:
    solution = solve(catalog.build("paper-multi", sensors=sensors, budget=0.0), "highs")
    assert solution.status is Status.CERTIFIED, solution
    assert solution.certificate is not None
    assert solution.certificate.own_phi_residual <= 1e-14


def test_the_tilt_has_the_sign_of_the_contract_and_averages_to_zero() -> None:
    problem = catalog.build("dirichlet", n=3, m=3, N=40, budget=0.0)
    backend = Highs()
    answer = backend.lift(backend.solve(backend.lower(problem, Options()), Options()))
    assert answer.tilt is not None
    assert answer.multiplier == math.inf
    np.testing.assert_allclose(answer.tilt @ problem.p_x, 0.0, atol=1e-15)
    right = certify(problem, answer.estimator, answer.tilt, answer.multiplier).certificate
    wrong = certify(problem, answer.estimator, -answer.tilt, answer.multiplier).certificate
    assert right.relative_gap < 1e-12
    assert wrong.relative_gap > 1e-3


def test_without_constraint_there_are_no_equations_left() -> None:
    problem = catalog.build("dirichlet", N=30, budget=math.inf)
    assert Highs().lower(problem, Options()).model.num_row_ == 30
    solution = solve(problem, "highs")
    assert solution.status is Status.CERTIFIED
    assert solution.multiplier == 0.0
    assert solution.error_probability == pytest.approx(problem.bayes_error, rel=1e-14)


@pytest.mark.parametrize(
    ("gap", "tolerance", "ipm"),
    [
        (1e-4, 1e-5, 1e-5),
        (1e-9, 0.1 * 1e-9, 0.1 * 1e-9),
        (1e-10, 1e-10, 0.1 * 1e-10),
        (1e-15, 1e-10, 1e-12),
    ],
)
def test_the_gap_reaches_highs_down_to_its_own_minima(
    gap: float, tolerance: float, ipm: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record_solvers(monkeypatch)
    settings_ = {"method": "ipx", "presolve": "off"}
    solve(
        catalog.build("paper-single", budget=0.0),
        "highs",
        gap=gap,
        time_limit=77.0,
        max_iterations=55,
        settings=settings_,
    )
    (solver,) = made
    for option in (
        "primal_feasibility_tolerance",
        "dual_feasibility_tolerance",
        "pdlp_optimality_tolerance",
    ):
        assert solver.getOptionValue(option)[1] == tolerance
    assert solver.getOptionValue("ipm_optimality_tolerance")[1] == ipm
    assert solver.getOptionValue("time_limit")[1] == 77.0
    assert solver.getOptionValue("ipm_iteration_limit")[1] == 55
    assert solver.getOptionValue("presolve")[1] == "off"
    assert solver.getOptionValue("solver")[1] == "ipx"


def record_solvers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every highspy.Highs made from now on, in order."""
    import highspy

    made: list[Any] = []

    class Recorded(highspy.Highs):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(highspy, "Highs", Recorded)
    return made


def test_the_time_limit_interrupts() -> None:
    problem = catalog.build("mixture", N=3000, n=4, m=4, budget=0.0)
    options = Options(time_limit=1e-6)
    backend = Highs()
    with pytest.raises(Interrupted, match="time limit of 1e-06 s"):
        backend.solve(backend.lower(problem, options), options)
    assert solve(problem, "highs", time_limit=1e-6).status is Status.TIMED_OUT


@pytest.mark.parametrize(
    ("name", "value"), [("method", "hipo"), ("presolve", "maybe"), ("speed", 3)]
)
def test_a_wrong_setting_is_a_sentence(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        solve(catalog.build("paper-single", budget=0.0), "highs", settings={name: value})


def test_a_positive_budget_is_refused_with_alternatives() -> None:
    solution = solve(catalog.build("paper-single", budget=0.001), "highs")
    assert solution.status is Status.UNSUPPORTED
    assert "a positive finite budget" in solution.message
    assert "conic" in solution.message


def test_the_program_counts_in_units_of_the_bayes_error() -> None:
    problem = catalog.build("paper-multi", sensors=10, budget=0.0)
    program = Program.linear(problem)
    assert program.unit == problem.bayes_error
    assert program.cost.min(axis=0).max() == 0.0
    assert np.abs(program.row).max() <= 1.0
