"""The interior point under every measure and several constraints: each chart's relation, and where
iterations end.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_laws import random_joint
from solving import TEXTS, assert_certified, under

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt.interior_point import _start, solve_interior
from discreet.backends.tilt.model import model_of
from discreet.backends.tilt.newton import Newton, Targets

CONDITIONAL = "conditional-mutual-information"


def drawn(text, seed, share):
    """A random law under a share of what the Bayes rule leaks, or of 3 where that is infinite."""
    return under(random_joint(seed, 3, 2, 40, spread=0.3), text, share, 3.0)


def lowered(problem):
    return model_of(problem, Precision.of(problem, 1e-9))


@pytest.mark.parametrize("text", [*TEXTS, "sibson:alpha=1.1", "sibson:alpha=30", CONDITIONAL])
@pytest.mark.parametrize("fraction", [0.5, 1e-4])
def test_the_iteration_alone_proves_the_optimum_under_every_measure(text, fraction):
    for seed in range(3):
        problem = drawn(text, seed, fraction)
        point, ending = solve_interior(lowered(problem), gap=2.5e-10, max_iterations=100)
        assert ending.optimal
        assert (
            ds.certify(problem, point.columns, point.tilt, point.multipliers).relative_gap <= 1e-9
        )


@pytest.mark.parametrize("text", TEXTS)
def test_a_newton_step_keeps_what_is_linear(text):
    """A whole step of the coordinates satisfies the relation of the law that it predicts."""
    model = lowered(drawn(text, 2, 0.3))
    at, _ = _start(model)
    law = model.law_of(at.estimator)
    (block,) = model.chart.blocks
    target = Targets(1e-2, 0.5 * at.inner.products)
    step = Newton(model, at, law).direction(target)
    predicted = np.matmul(at.estimator * step.estimator, model.weighted.transpose(0, 2, 1)).sum(
        axis=0
    )
    inner = at.inner.moved(step.inner, 1.0)
    # Pieces: everything but the products is linear.
    position = model.chart.position(inner)
    if block.paired.size == position.coordinates.shape[1]:
        after = block.law(law.blocks[0].coordinates + predicted)
        relation = block.relation(position, after)
        slack = inner.slack[: relation.value.size].reshape(relation.value.shape)
        assert_allclose(relation.value, -slack, atol=1e-13)
        assert_allclose(relation.balance, 0.0, atol=1e-13)
    assert_allclose(predicted.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("text", TEXTS[1:])
def test_budgets_at_the_edge_of_double_precision_are_certified(text):
    """Where a budget cannot be told from nothing, perfect privacy is solved; a gain's budget 0 is a
    constraint.
    """
    for budget in (0.0, 1e-14, 1e-12, 50.0):
        assert_certified(drawn(text, 3, 0.5).with_budget(budget), "tilt")
