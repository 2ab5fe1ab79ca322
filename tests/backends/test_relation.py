"""The interior point under every measure: the optimum in few iterations."""

import pytest
from random_laws import random_joint
from solving import TEXTS, assert_certified, certificate_of, model_at, under

from discreet.backends.tilt.interior_point import solve_interior

CONDITIONAL = "conditional-mutual-information"


def drawn(text, seed, share):
    """A random law under a share of what the Bayes rule leaks, or of 3 where that is infinite."""
    return under(random_joint(seed, 3, 2, 40, spread=0.3), text, share, 3.0)


@pytest.mark.parametrize("text", [*TEXTS, "sibson:alpha=1.1", "sibson:alpha=30", CONDITIONAL])
@pytest.mark.parametrize("fraction", [0.5, 1e-4])
def test_the_iteration_alone_proves_the_optimum_under_every_measure(text, fraction):
    for seed in range(3):
        problem = drawn(text, seed, fraction)
        point, ending = solve_interior(model_at(problem), gap=2.5e-10, max_iterations=100)
        assert ending.optimal
        assert ending.iterations <= 20
        assert certificate_of(problem, point).relative_gap <= 1e-9


@pytest.mark.parametrize("text", TEXTS[1:])
def test_budgets_at_the_edge_of_double_precision_are_certified(text):
    """Where a budget cannot be told from nothing, perfect privacy is solved; a gain's budget 0 is a
    constraint.
    """
    for budget in (0.0, 1e-14, 1e-12, 50.0):
        assert_certified(drawn(text, 3, 0.5).with_budget(budget), "tilt")
