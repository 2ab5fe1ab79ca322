"""Problems with densities that several tests share."""

from math import inf

import numpy as np
from random_laws import random_joint

from discreet.problems import ContinuousProblem, Mixture, NormalDensity

P_XY = np.array([[0.3, 0.2], [0.15, 0.35]])


def grid(family):
    """A density for each pair of two private and two public values."""
    return [[family(j, i) for i in range(2)] for j in range(2)]


NORMALS = grid(lambda j, i: NormalDensity(i + 0.5 * j, 0.3))


def mixtures(seed, n=3, m=3, parts=3, budget=inf):
    """A problem of mixtures of normal laws."""
    rng = np.random.default_rng(seed)

    def law():
        return Mixture(
            rng.dirichlet(np.ones(parts)),
            [NormalDensity(rng.normal(0, 2), rng.uniform(0.2, 1)) for _ in range(parts)],
        )

    laws = [[law() for _ in range(m)] for _ in range(n)]
    return ContinuousProblem(laws, random_joint(rng, n, m), budget)
