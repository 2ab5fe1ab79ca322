"""Random problems, pure in (sizes, seed): sparse joints of Dirichlet type, and Gaussian mixtures on random points."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.problems.catalog.registry import register
from discreet.problems.checks import positive, whole
from discreet.problems.numerics.double_double import Array

__all__ = ["dirichlet", "mixture", "random_joint", "weighted_mixture"]


def random_joint(n: int, m: int, outcomes: int, *, sparsity: float, concentration: float, rng: np.random.Generator) -> Array:
    """A joint [n, m, N] of gamma(concentration) entries, each zeroed with probability `sparsity`, scaled to sum to one.

    The largest entry of every outcome stays, so that every outcome can happen.
    """
    # Boosted and taken in logarithms: gamma variates of small shape underflow, and a column of zeros would be left.
    raw = np.log(rng.gamma(concentration + 1.0, size=(n, m, outcomes)))
    raw += np.log1p(-rng.random((n, m, outcomes))) / concentration
    joint = np.exp(raw - raw.max())
    keep = rng.random((n, m, outcomes)) >= sparsity
    keep |= raw == raw.max(axis=(0, 1))
    joint = np.where(keep, joint, 0.0)
    return np.asarray(joint / joint.sum())


@register(
    "dirichlet",
    family="random",
    summary="random sparse joint tensor",
    meanings={
        "n": "private values",
        "m": "public values",
        "N": "outcomes",
        "sparsity": "probability that an entry is zero, in [0, 1]",
        "concentration": "shape of the gamma entries: small is uneven, 1 is uniform on the simplex",
        "seed": "seed of the generator",
    },
)
def dirichlet(
    n: int = 3,
    m: int = 3,
    N: int = 100,  # noqa: N803 (the symbol of the theory)
    sparsity: float = 0.3,
    concentration: float = 1.0,
    seed: int = 0,
) -> Array:
    """A point of the simplex of joint tensors, drawn from a symmetric Dirichlet law, with random zeros."""
    return random_joint(
        whole(n, "n", 1),
        whole(m, "m", 1),
        whole(N, "N", 1),
        sparsity=positive(sparsity, "sparsity", zero=True, most=1.0),
        concentration=positive(concentration, "concentration"),
        rng=np.random.default_rng(whole(seed, "seed", 0)),
    )


@register(
    "mixture",
    family="random",
    summary="posteriors of a sample from a Gaussian mixture, one component per (x, y), each point an outcome",
    meanings={
        "n": "private values",
        "m": "public values",
        "N": "points; each is an outcome of probability 1/N",
        "d": "dimension of the points",
        "spread": "standard deviation of the component means per coordinate, in units of the noise's",
        "seed": "seed of the generator",
    },
)
def mixture(
    n: int = 2,
    m: int = 2,
    N: int = 1000,  # noqa: N803 (the symbol of the theory)
    d: int = 2,
    spread: float = 1.5,
    seed: int = 0,
) -> Array:
    """Z given (x, y) is N(mean_xy, identity); p(x, y) is Dirichlet(5). The model (means, weights) does not depend on N."""
    sizes = whole(n, "n", 1), whole(m, "m", 1)
    points, d = whole(N, "N", 1), whole(d, "d", 1)
    rng = np.random.default_rng(whole(seed, "seed", 0))
    means = positive(spread, "spread", zero=True) * rng.standard_normal((sizes[0] * sizes[1], d))
    weights = rng.dirichlet(np.full(means.shape[0], 5.0))  # a concentration that keeps weights away from zero
    return (_posteriors(means, weights, points, rng) / points).reshape(*sizes, points)


def _posteriors(means: Array, weights: Array, points: int, rng: np.random.Generator) -> Array:
    """p(component given point) [components, points] of a sample of the mixture, by log-sum-exp."""
    posterior = np.empty((means.shape[0], points))
    offset = np.log(weights) - 0.5 * (means**2).sum(axis=1)  # |z|² is common to all components
    at_once = 1 << 17
    for start in range(0, points, at_once):
        block: Any = slice(start, min(points, start + at_once))
        label = rng.choice(weights.size, size=block.stop - start, p=weights)
        z = means[label] + rng.standard_normal((label.size, means.shape[1]))
        log_weight = means @ z.T + offset[:, None]
        log_weight -= log_weight.max(axis=0)
        likelihood = np.exp(log_weight)
        posterior[:, block] = likelihood / likelihood.sum(axis=0)
    return posterior


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
) -> Array:
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
    return joint
