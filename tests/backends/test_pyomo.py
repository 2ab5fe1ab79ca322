"""The Pyomo model of perfect privacy: its named parts, options that reach the solver, and duals
that are prices.
"""

import pytest
from test_highs import record_solvers

from discreet import solve
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
