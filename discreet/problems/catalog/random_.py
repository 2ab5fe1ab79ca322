"""Random problems, pure in (sizes, seed): sparse joints of Dirichlet type, and Gaussian mixtures on
random points.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from discreet.numerics.double_double import Array
from discreet.problems.catalog.registry import Number, Whole, check_size, register

Private = Annotated[int, Whole("private values")]
Public = Annotated[int, Whole("public values")]
Outcomes = Annotated[int, Whole("outcomes")]
Seed = Annotated[int, Whole("seed of the generator", 0)]


def random_joint(
    n: int,
    m: int,
    outcomes: int,
    *,
    sparsity: float,
    concentration: float,
    rng: np.random.Generator,
) -> Array:
    """Return a joint [n, m, N] of gamma(concentration) entries, each zeroed with probability
    `sparsity`, scaled to sum to one.

    The largest entry of every outcome stays, so that every outcome has a positive probability.
    """
    # Gamma variates of small shape underflow, which could leave a column of zeros. So variates of
    # a larger shape are drawn, and their logarithms are shifted.
    raw = np.log(rng.gamma(concentration + 1.0, size=(n, m, outcomes)))
    raw += np.log1p(-rng.random((n, m, outcomes))) / concentration
    joint = np.exp(raw - raw.max())
    keep = rng.random((n, m, outcomes)) >= sparsity
    keep |= raw == raw.max(axis=(0, 1))
    joint = np.where(keep, joint, 0.0)
    return np.asarray(joint / joint.sum())


@register("random")
def dirichlet(
    n: Private = 3,
    m: Public = 3,
    N: Outcomes = 100,
    sparsity: Annotated[
        float, Number("probability that an entry is zero, in [0, 1]", zero=True, most=1.0)
    ] = 0.3,
    concentration: Annotated[
        float, Number("shape of the gamma entries: small is uneven, 1 is uniform on the simplex")
    ] = 1.0,
    seed: Seed = 0,
) -> Array:
    """Random sparse joint tensor: a point drawn from a symmetric Dirichlet law, with random
    zeros.
    """
    return random_joint(
        n, m, N, sparsity=sparsity, concentration=concentration, rng=np.random.default_rng(seed)
    )


@register("random")
def mixture(
    n: Private = 2,
    m: Public = 2,
    N: Annotated[int, Whole("points; each is an outcome of probability 1/N")] = 1000,
    d: Annotated[int, Whole("dimension of the points", most=500)] = 2,
    spread: Annotated[
        float,
        Number(
            "standard deviation of the component means per coordinate, in units of the noise's",
            zero=True,
        ),
    ] = 1.5,
    seed: Seed = 0,
) -> Array:
    """Posteriors of a sample from a Gaussian mixture, one component per (x, y), each point an
    outcome.

    Z given (x, y) is N(mean_xy, identity); p(x, y) is Dirichlet(5). The model (means, weights) does
    not depend on N.
    """
    check_size("mixture", {"n·m + N": n * m + N, "d": d})
    rng = np.random.default_rng(seed)
    means = spread * rng.standard_normal((n * m, d))
    # This concentration keeps the weights away from zero.
    weights = rng.dirichlet(np.full(means.shape[0], 5.0))
    return (_posteriors(means, weights, N, rng) / N).reshape(n, m, N)


def _posteriors(means: Array, weights: Array, points: int, rng: np.random.Generator) -> Array:
    """Return p(component given point) [components, points] of a sample of the mixture, by
    log-sum-exp.
    """
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


@register("random")
def weighted_mixture(
    n: Private = 2,
    m: Public = 5,
    N: Annotated[
        int, Whole("points; each is an outcome whose probability is its share of the density")
    ] = 1000,
    d: Annotated[
        int, Whole("dimension of the points: the larger, the further apart the masses", most=500)
    ] = 4,
    variance: Annotated[
        float,
        Number("of a component in each coordinate, in units of that of the component means"),
    ] = 0.7,
    seed: Seed = 0,
) -> Array:
    """A Gaussian mixture on scattered points, each point an outcome weighted by its density.

    The points are drawn from a wider Gaussian; p(x, y) is uniform on the simplex before scaling.
    """
    check_size("weighted-mixture", {"n": n, "m": m, "N": N, "d": d})
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n, m, d))
    places = 1.5 * rng.standard_normal((N, d))
    weights = rng.dirichlet(np.ones(n * m)).reshape(n, m)
    joint = np.empty((n, m, N))
    for pair in np.ndindex(n, m):
        joint[pair] = -0.5 * ((places - centres[pair]) ** 2).sum(axis=1) / variance
    np.exp(joint - joint.max(), out=joint)
    joint *= weights[:, :, np.newaxis]
    return joint
