"""cuPDLPx needs a GPU. Here a stand-in with its documented interface solves by HiGHS, so that the
arrays, the settings, the signs of the prices and the statuses are tested, but not its method.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet import Status, solve
from discreet.problems import catalog

PRIVATE = catalog.build("paper-single", bins=24, budget=0.0)
LINEAR = catalog.build("dirichlet", n=3, m=3, N=20, measure="maximal-leakage", fraction=0.5)


class Model:
    """The part of `cupdlpx.Model` that the backend uses; python/README.md of version 0.3."""

    def __init__(self, objective_vector, constraint_matrix, *bounds):
        self.cost = objective_vector
        self.matrix = constraint_matrix.toarray()
        self.low, self.high, least, most = bounds
        self.limits = np.column_stack([least, most])
        self.settings = {}

    def setParams(self, **settings):  # noqa: N802
        known = {"optimality_norm", "eps_optimal_relative", "eps_feasible_relative"}
        assert known <= set(settings) <= known | {"iteration_limit", "time_sec_limit"}
        self.settings = settings

    def optimize(self):
        equal = self.low == self.high
        assert np.isneginf(self.low[~equal]).all()
        found = linprog(
            self.cost,
            A_ub=self.matrix[~equal],
            b_ub=self.high[~equal],
            A_eq=self.matrix[equal],
            b_eq=self.high[equal],
            bounds=self.limits,
        )
        self.Pi = np.empty(equal.size)
        self.Pi[equal] = found.eqlin.marginals
        self.Pi[~equal] = found.ineqlin.marginals
        self.X = found.x
        self.IterCount = self.settings.get("iteration_limit", found.nit)
        late = self.settings.get("time_sec_limit") == 1e-6
        self.StatusName = "TIME_LIMIT" if late else "OPTIMAL"


@pytest.fixture
def library(monkeypatch):
    """The stand-in, as the importable module `cupdlpx`."""
    found = SimpleNamespace(Model=Model, __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cupdlpx", found)


@pytest.mark.parametrize("problem", [PRIVATE, LINEAR], ids=["private", "linear"])
def test_its_answer_and_its_prices_are_certified(library, problem):
    found = solve(problem, "cupdlpx", gap=1e-7)
    assert found.claimed == "OPTIMAL"
    assert found.status is Status.CERTIFIED
    assert found.tilt is not None


def test_limits_reach_it_and_its_time_limit_is_a_status(library):
    assert solve(PRIVATE, "cupdlpx", gap=1e-7, max_iterations=3).iterations == 3
    assert solve(PRIVATE, "cupdlpx", time_limit=1e-6).status is Status.TIMED_OUT
