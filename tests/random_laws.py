"""Random laws for tests: joint laws of any shape, and estimators."""

import math

import numpy as np


def random_joint(seed, *shape, spread=1.0):
    """A law of this shape with total 1, from Dirichlet entries: small spreads are uneven.

    seed: a number, or a generator that goes on.
    """
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(math.prod(shape), spread)).reshape(shape)


def random_columns(seed, m, outcomes, spread=1.0):
    """An estimator [m, outcomes] with Dirichlet columns."""
    return np.random.default_rng(seed).dirichlet(np.full(m, spread), size=outcomes).T
