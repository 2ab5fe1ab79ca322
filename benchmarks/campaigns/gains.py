"""Budget 0 of an adversary's gain: problems in which several actions are best without a guess, and
others.

The adversary guesses X (min-entropy leakage), or gains whole numbers. In four problems of five the
prior or the gains are such that some or all actions are equally good without a guess, up to the
rounding of sums. The outcomes follow a Dirichlet law, or they are those of `edge_problem` or counts
of sensors; they are in arrays or in blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import random_problems

from discreet.measures import GLeakage
from discreet.problems import BlockProblem, Problem, catalog
from discreet.problems.streams.lattice import lattice_problem

__all__ = ["drawn"]

_RARE = 150.0  # decades
# No more actions are equally good than there are likelier values: rounding of gains would be felt.
_FREQUENT = 1e-3


def drawn(seed: int, index: int) -> tuple[str, Problem | BlockProblem]:
    """Problem number `index`, a pure function of both numbers, and words that build it again."""
    rng = np.random.default_rng([seed, index])
    words = f"gains.drawn({seed}, {index})"
    shape = str(rng.choice(["dirichlet", "edge", "lattice"], p=[0.5, 0.3, 0.2]))
    if shape == "lattice":
        return words, _of_sensors(rng)
    if shape == "edge":
        free = random_problems.edge_problem(int(rng.integers(2**32)), 5, 60)
    else:
        n, m = rng.integers(2, 6, size=2).tolist()
        outcomes = int(2 * 200.0 ** rng.random())
        free = catalog.build("dirichlet", n=n, m=m, N=outcomes, seed=int(rng.integers(10**6)))
    factors, measure = _tied(rng, free.p_x)
    rows = free.p_xz * factors[:, None]
    problem = Problem(rows / rows.sum(), free.loss, 0.0, measure=measure)
    return words, BlockProblem.of(problem) if rng.random() < 0.3 else problem


def _of_sensors(rng: np.random.Generator) -> BlockProblem:
    """2 to 22 sensors of two or three bins; in one problem of two an entry of their law is rare."""
    n, m, bins = rng.integers(2, 4, size=3).tolist()
    law = rng.dirichlet(np.ones(bins), (n, m))
    if rng.random() < 0.5:
        law[rng.integers(n), rng.integers(m), rng.integers(bins)] = 10.0 ** -rng.uniform(0.0, _RARE)
    law /= law.sum(axis=2, keepdims=True)
    prior = rng.dirichlet(np.ones(n * m)).reshape(n, m)
    factors, measure = _tied(rng, prior.sum(axis=1))
    prior *= factors[:, None]
    sensors = int(rng.integers(2, 23))
    return lattice_problem(law, prior / prior.sum(), sensors, 0.0).with_budget(0.0, measure=measure)


def _tied(
    rng: np.random.Generator, prior: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], str]:
    """Factors of the private values [n], and a measure: under the new prior some actions are
    equally good.
    """
    n = prior.size
    factors = np.ones(n)
    guessing = rng.random() < 0.5
    gain = np.eye(n) if guessing else rng.integers(1, 9, (int(rng.integers(2, 6)), n)).astype(float)
    most = min(len(gain), np.count_nonzero(prior > _FREQUENT)) if prior.all() else 0
    if rng.random() < 0.8 and most > 1:
        best = rng.permutation(len(gain))[: int(rng.integers(2, most + 1))]
        worth = gain @ prior
        if guessing:
            factors[best] = prior.max() / prior[best]
        else:
            gain[best] *= (worth.max() / worth[best])[:, None]
    return factors, "min-entropy-leakage" if guessing else str(GLeakage(gain))
