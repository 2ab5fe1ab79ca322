"""Random laws for tests: joint laws of any shape, estimators, and problems made of such laws."""

import math

import numpy as np
from numpy.random import default_rng
from numpy.testing import assert_allclose

from discreet.problems.problem import Problem


def random_joint(seed, *shape, spread=1.0):
    """A law of this shape with total 1, from Dirichlet entries: small spreads are uneven.

    seed: a number, or a generator that goes on.
    """
    rng = default_rng(seed)
    return rng.dirichlet(np.full(math.prod(shape), spread)).reshape(shape)


def random_columns(seed, m, outcomes, spread=1.0):
    """An estimator [m, outcomes] with Dirichlet columns."""
    return default_rng(seed).dirichlet(np.full(m, spread), size=outcomes).T


def random_problem(outcomes, n=2, m=2, *, seed=0, budget=0.01, spread=1.0, name=""):
    """A problem with 0/1 loss and a random joint law."""
    return Problem.from_joint(random_joint(seed, n, m, outcomes, spread=spread), budget, name=name)


def nearly_independent(apart):
    """X and Z binary and almost independent; Y is Z. The Bayes rule never errs, an exactly private
    one half the time.
    """
    p_xz = 0.25 * np.array([[1.0 + apart, 1.0 - apart], [1.0 - apart, 1.0 + apart]])
    return Problem(p_xz, p_xz.sum(axis=0) * np.array([[0.0, 1.0], [1.0, 0.0]]), 0.0)


def laws_of_secrets(joint):
    """From p(x, x', y, z): p(x, z), p(x', z), p(y, x, z), and the losses [m, N] of 0/1 loss."""
    loss = Problem.from_joint(joint.sum(axis=0), math.inf).loss
    given_y = joint.sum(axis=1).transpose(1, 0, 2)
    return joint.sum(axis=(1, 2)), joint.sum(axis=(0, 2)), given_y, loss


def assert_same_arrays(found, expected, rtol=0.0):
    """Two problems hold the same masses and losses."""
    assert_allclose(found.p_xz, expected.p_xz, rtol=rtol)
    assert_allclose(found.loss, expected.loss, rtol=rtol)
