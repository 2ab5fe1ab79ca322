"""Quantiser design: the envelope gradient, the optimum with few bins, and how many bins reach the
continuous rule.
"""

from functools import cache

import numpy as np
import pytest
from density_cases import P_XY, grid
from refusals import raises_input_error
from scipy import stats

import discreet as ds
from discreet.problems import paper_continuous
from discreet.problems.sensors import even_edges


@cache
def continuous():
    """Of the sensor under the budget that most tests here ask for."""
    return ds.solve(paper_continuous(0.01))


def optimum(problem, edges):
    return ds.solve(problem.on(edges), backend="tilt", gap=1e-12)


@pytest.mark.parametrize("budget", [0.0, 0.001, 0.01])
def test_three_bins_reach_the_continuous_optimum_on_the_papers_model(budget):
    design = ds.design_quantiser(paper_continuous(budget), 3)
    assert design.solution.status is ds.Status.CERTIFIED
    assert design.excess < 1e-8
    assert design.error_probability >= design.continuous.certificate.lower
    np.testing.assert_allclose(design.edges[1:-1], design.continuous.rule.boundaries, atol=2e-4)


@pytest.mark.gate
def test_with_two_bins_no_single_edge_is_better():
    problem = paper_continuous(0.01)
    design = ds.design_quantiser(problem, 2, continuous=continuous())
    tried = [
        optimum(problem, np.array([-np.inf, edge, np.inf])).error_probability
        for edge in np.linspace(-0.3, 1.3, 81)
    ]
    assert design.error_probability <= min(tried) + 1e-12
    assert 0.2 < design.excess < 0.22


def test_a_model_whose_rule_needs_more_bins_than_it_gets():
    laws = grid(lambda j, i: stats.cauchy(i + 0.5 * j, 0.3))
    problem = ds.ContinuousProblem(laws, P_XY, 0.02)
    needed = ds.solve(problem).rule.edges.size - 1
    few = ds.design_quantiser(problem, 3)
    enough = ds.design_quantiser(problem, needed)
    assert few.error_probability > enough.error_probability
    assert enough.excess < 1e-7
    assert len(few.starts) == 5


@pytest.mark.gate
def test_the_random_starts_are_seeded():
    problem = paper_continuous(0.01)
    a, b = (
        ds.design_quantiser(problem, 2, rng=np.random.default_rng(3), continuous=continuous())
        for _ in range(2)
    )
    assert (a.edges == b.edges).all()
    assert a.starts == b.starts
    assert "2 bins" in repr(a)


def test_even_edges_are_equally_wide():
    assert even_edges(4, 0.0, 1.0).tolist() == [-np.inf, 0.25, 0.5, 0.75, np.inf]
    assert even_edges(2, 0.0, 1.0).tolist() == [-np.inf, 0.5, np.inf]


def test_impossible_numbers_of_bins_are_refused():
    for bins in (1, 0, 2.5, 10**7):
        with raises_input_error("bins"):
            ds.design_quantiser(paper_continuous(0.01), bins)
