"""The Pyomo model of perfect privacy: its named parts, options that reach the solver, and duals
that are prices.
"""

import pytest
from test_highs import record_solvers

from discreet import InputError, solve
from discreet.backends.highs import METHODS
from discreet.problems import catalog


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_highs_is_reached(method, monkeypatch):
    made = record_solvers(monkeypatch)
    solution = solve(
        catalog.build("dirichlet", N=30, budget=0.0), "pyomo", settings={"method": method}
    )
    assert solution.relative_gap <= 1e-8
    assert made[-1].getOptionValue("solver")[1] == method


@pytest.mark.parametrize(("gap", "tolerance"), [(1e-4, 1e-5), (1e-15, 1e-10)])
def test_the_gap_and_the_limits_reach_highs_through_pyomo(gap, tolerance, monkeypatch):
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


def test_a_wrong_setting_names_the_backend():
    with pytest.raises(
        InputError,
        match=r"pyomo: .*method .*'hippo'.*simplex, ipx, hipo, pdlp",
    ):
        solve(catalog.build("paper-single", budget=0.0), "pyomo", settings={"method": "hippo"})
