"""The perfect-privacy linear program as HiGHS gets it: its rows are the problem's, options arrive,
duals are prices.
"""

import numpy as np
import pytest
from block_cases import random_problem
from hypothesis import given
from hypothesis import strategies as st
from solving import assert_certified
from strategies import seeds

from discreet import Constraint, Problem, Status, solve
from discreet.backends.highs import METHODS
from discreet.backends.lowering import Program
from discreet.backends.parts import rows_by_private_value, whitened_rows
from discreet.problems import catalog, reduce


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 12), seeds)
def test_equations_that_follow_from_those_of_another_secret_are_left_out(n, m, outcomes, seed):
    problem = reduce(random_problem("sparse", n, m, outcomes, seed, 0.0)).problem
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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["highs", "pyomo"])
def test_every_method_is_reached_and_certified(name, method, monkeypatch):
    made = record_solvers(monkeypatch)
    solution = solve(
        catalog.build("paper-multi", sensors=10, budget=0.0), name, settings={"method": method}
    )
    if method == "hipo" and solution.status is Status.ABSENT:
        pytest.skip("highspy-extras of the same release is not installed")
    assert made[-1].getOptionValue("solver")[1] == method
    assert solution.error_probability == pytest.approx(0.004182361, abs=5e-9)
    assert solution.relative_gap <= 1e-9


@pytest.mark.parametrize("sensors", [1, 20, 30])
def test_the_root_mass_scaling_keeps_tiny_answers(sensors):
    solution = assert_certified(catalog.build("paper-multi", sensors=sensors, budget=0.0), "highs")
    assert solution.certificate.own_phi_residual <= 1e-14


REACHED = [("highs", "ipx", "ipm_iteration_limit"), ("pyomo", "simplex", "simplex_iteration_limit")]


@pytest.mark.parametrize(
    "gap, tolerance, ipm",
    [
        (1e-4, 1e-5, 1e-5),
        (1e-9, 0.1 * 1e-9, 0.1 * 1e-9),
        (1e-10, 1e-10, 0.1 * 1e-10),
        (1e-15, 1e-10, 1e-12),
    ],
)
@pytest.mark.parametrize("backend, method, limit", REACHED)
def test_the_gap_and_the_limits_reach_highs(
    backend, method, limit, gap, tolerance, ipm, monkeypatch
):
    made = record_solvers(monkeypatch)
    solve(
        catalog.build("paper-single", budget=0.0),
        backend,
        gap=gap,
        time_limit=77.0,
        max_iterations=55,
        settings={"method": method, "presolve": "off"},
    )
    given = {
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        "pdlp_optimality_tolerance": tolerance,
        "ipm_optimality_tolerance": ipm,
        "time_limit": 77.0,
        limit: 55,
        "presolve": "off",
        "solver": method,
    }
    assert given == {name: made[-1].getOptionValue(name)[1] for name in given}


def record_solvers(monkeypatch):
    """Every highspy.Highs made from now on, in order."""
    import highspy

    made = []

    class Recorded(highspy.Highs):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(highspy, "Highs", Recorded)
    return made
