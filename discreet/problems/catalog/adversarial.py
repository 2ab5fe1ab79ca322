"""Problems made to break solvers: empty bins, nearly deterministic channels, duplicates, extreme
dependence and budgets.

Each is valid and has a well-defined answer; the summary states what makes it hard. Random ones are
pure in (sizes, seed).
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.problems.catalog.paper import paper_single
from discreet.problems.catalog.random_ import Outcomes, Private, Public, Seed, random_joint
from discreet.problems.catalog.registry import Number, Whole, check_size, register
from discreet.problems.problem import Problem


@register("adversarial")
def zero_mass(
    n: Annotated[int, Whole("private values", 2)] = 3,
    m: Annotated[int, Whole("public values", 2)] = 3,
    N: Outcomes = 60,
    share: Annotated[
        float, Number("share of outcomes with probability zero, in [0, 1)", zero=True, most=1.0)
    ] = 0.4,
    seed: Seed = 0,
) -> Array:
    """A random joint in which some outcomes, private values and public values have probability
    zero.

    A share of the outcomes has probability zero, and so do the last private and the last public
    value.
    """
    dead = math.floor(share * N)
    if dead == N:
        raise InputError(f"share is {share!r}, which leaves none of {N} outcomes; give less than 1")
    rng = np.random.default_rng(seed)
    joint = random_joint(n, m, N, sparsity=0.0, concentration=1.0, rng=rng)
    joint[-1] = 0.0
    joint[:, -1] = 0.0
    joint[:, :, rng.permutation(N)[:dead]] = 0.0
    return joint


@register("adversarial")
def near_deterministic(
    n: Private = 3,
    m: Public = 2,
    N: Outcomes = 60,
    noise: Annotated[
        float,
        Number(
            "probability, given the outcome, of another (x, y) than its own; in [0, 1]",
            zero=True,
            most=1.0,
        ),
    ] = 1e-9,
    seed: Seed = 0,
) -> Array:
    """Every outcome determines (x, y) up to a tiny noise: posteriors at the corners of the simplex.

    Outcome l belongs to one (x, y); the others share `noise` evenly. noise = 0 is a deterministic
    channel.
    """
    rng = np.random.default_rng(seed)
    pairs = n * m
    given = np.full((pairs, N), noise / max(1, pairs - 1))
    given[np.arange(N) % pairs, np.arange(N)] = 1.0 - noise if pairs > 1 else 1.0
    return np.asarray((given * rng.dirichlet(np.ones(N))).reshape(n, m, N))


@register("adversarial")
def duplicated(
    n: Private = 2,
    m: Public = 3,
    N: Annotated[int, Whole("different outcomes")] = 12,
    copies: Annotated[int, Whole("how many outcomes each is split into; there are N · copies")] = 8,
    seed: Seed = 0,
) -> Array:
    """Every outcome is split into proportional copies of random masses: highly degenerate optima.

    The problem has the same optimal values as the one with N outcomes.
    """
    rng = np.random.default_rng(seed)
    joint = random_joint(n, m, N, sparsity=0.0, concentration=1.0, rng=rng)
    shares = rng.dirichlet(np.ones(copies), size=N)
    return np.asarray((joint[:, :, :, None] * shares).reshape(n, m, N * copies))


@register("adversarial")
def x_equals_y(
    n: Annotated[int, Whole("values of X = Y")] = 3,
    N: Outcomes = 40,
    seed: Seed = 0,
) -> Array:
    """The private variable equals the public one: every bit of information about Y leaks."""
    check_size("x-equals-y", {"n²": n**2, "N": N})
    rng = np.random.default_rng(seed)
    p_xz = random_joint(n, 1, N, sparsity=0.0, concentration=1.0, rng=rng)[:, 0, :]
    joint = np.zeros((n, n, N))
    joint[np.arange(n), np.arange(n)] = p_xz
    return joint


@register("adversarial")
def independent(
    n: Private = 2,
    m: Public = 3,
    N: Outcomes = 40,
    seed: Seed = 0,
) -> Array:
    """Z is independent of X: Φ = 0 exactly, the Bayes rule leaks nothing and every budget is slack.

    p(x) p(y, z) with dyadic factors, so that the products, and with them Φ = 0, are exact in
    floating point. The default budget and every `fraction` are perfect privacy.
    """
    rng = np.random.default_rng(seed)
    parts = 1 << 20  # probabilities that are multiples of 2^-20 multiply exactly
    p_x = rng.multinomial(parts, rng.dirichlet(np.full(n, 2.0))) / parts
    p_yz = rng.multinomial(parts, rng.dirichlet(np.full(m * N, 1.0))).reshape(m, N) / parts
    return np.asarray(p_x[:, None, None] * p_yz)


@register("adversarial")
def tiny_budget(
    bins: Annotated[int, Whole("bins of the sensor", 2)] = 64,
    nats: Annotated[float, Number("the leakage budget when no other is given", zero=True)] = 1e-12,
) -> Problem:
    """The paper's single sensor with a budget of 1e-12 nats: nearly perfect privacy, a huge
    multiplier.

    It is `paper_single(bins)` at `nats`; budget, equivocation or fraction replace it.
    """
    return paper_single(bins, budget=nats)


@register("adversarial")
def slack_budget(
    bins: Annotated[int, Whole("bins of the sensor", 2)] = 64,
    factor: Annotated[
        float, Number("budget ÷ leakage of the Bayes rule when no other is given", zero=True)
    ] = 2.0,
) -> Problem:
    """The paper's single sensor with a budget above the leakage of the Bayes rule: no constraint.

    It is `paper_single(bins)` at `factor` times the leakage of the Bayes rule; budget, equivocation
    or fraction replace it.
    """
    return paper_single(bins, fraction=factor)
