"""A Gaussian mixture seen on scattered points that weigh by its density: many guesses, and masses over ten decades."""

from __future__ import annotations

import numpy as np

from discreet.problems.catalog.registry import finished, register, title
from discreet.problems.checks import positive, whole
from discreet.problems.problem import Problem

__all__ = ["weighted_mixture"]


@register(
    "weighted-mixture",
    family="random",
    summary="a Gaussian mixture on scattered points, each point an outcome weighted by its density",
    meanings={
        "n": "private values",
        "m": "public values",
        "N": "points; each is an outcome whose probability is its share of the density",
        "d": "dimension of the points: the more, the further apart the masses",
        "variance": "of a component in each coordinate, in units of that of the component means",
        "seed": "seed of the generator",
    },
)
def weighted_mixture(
    n: int = 2,
    m: int = 5,
    N: int = 1000,  # noqa: N803 (the symbol of the theory)
    d: int = 4,
    variance: float = 0.7,
    seed: int = 0,
    *,
    budget: float | None = None,
    equivocation: float | None = None,
    fraction: float | None = None,
) -> Problem:
    """Density of component (x, y) at points from a wider Gaussian; p(x, y) is uniform on the simplex before it is scaled."""
    sizes, points, d = (whole(n, "n", 1), whole(m, "m", 1)), whole(N, "N", 1), whole(d, "d", 1)
    width = positive(variance, "variance")
    rng = np.random.default_rng(whole(seed, "seed", 0))
    centres = rng.standard_normal((*sizes, d))
    places = 1.5 * rng.standard_normal((points, d))
    weights = rng.dirichlet(np.ones(sizes[0] * sizes[1])).reshape(sizes)
    joint = np.empty((*sizes, points))
    for pair in np.ndindex(*sizes):
        joint[pair] = -0.5 * ((places - centres[pair]) ** 2).sum(axis=1) / width
    np.exp(joint - joint.max(), out=joint)
    joint *= weights[:, :, np.newaxis]
    name = title("weighted-mixture", n=n, m=m, N=N, d=d, variance=variance, seed=seed)
    return finished(joint / joint.sum(), name, budget, equivocation, fraction)
