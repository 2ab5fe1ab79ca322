"""Problems with rare private values, zeros and integer masses, for one secret and for several.

`rare_value` draws one secret, of which some values have probabilities of 1e-6 to 1e-13.
`rare_secrets` and `rare_blocks` draw two or three secrets with a measure and a budget each. The
masses of their joint law are dense, sparse, rare or integers. A problem follows from a seed and its
number.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.measures import GLeakage
from discreet.measures.registry import MEASURES
from discreet.numerics.double_double import Array
from discreet.problems import BlockProblem, Problem
from discreet.problems.constraint import Constraint

__all__ = ["rare_blocks", "rare_secrets", "rare_value"]

_DECADES = (6.0, 13.0)  # of the probabilities of rare values
_ORDERS = (1.01, 1.5, 2.0, 5.0, 100.0)  # of Sibson's information
_SHARES = (0.0, 1e-4, 0.01, 0.1, 0.5)  # budgets, as shares of what the Bayes rule leaks


def rare_value(seed: int, index: int) -> tuple[str, Problem]:
    """One secret of 2 to 5 values, or up to 13, of which one or more are rare; every measure in
    turn, 2 to 100 outcomes.
    """
    rng = np.random.default_rng([seed, index])
    measure = list(MEASURES)[index % len(MEASURES)]
    n = int(rng.integers(2, 6)) if rng.random() < 0.8 else int(rng.integers(6, 14))
    m = int(rng.integers(2, 5))
    outcomes = int(2 * 50.0 ** rng.random())
    joint = _masses(rng, (n, m, outcomes))
    rare = rng.permutation(n)[: int(rng.integers(1, max(2, n // 2)))]
    joint[rare] *= 10.0 ** -rng.uniform(*_DECADES, size=(rare.size, 1, 1))
    free = Problem.from_joint(joint / joint.sum(), math.inf, measure=_text(measure, n, rng))
    return f"rare_value({seed}, {index}): {measure}", free.with_budget(
        _budget(free.bayes_leakage, rng)
    )


def rare_secrets(seed: int, index: int) -> tuple[str, Problem]:
    """Two or three secrets of 1 to 6 values with a measure each, and 2 to 100 outcomes.

    One problem in ten has a secret of one value. In every second one the first value of the first
    secret is rare.
    """
    rng = np.random.default_rng([seed, index])
    return f"rare_secrets({seed}, {index})", _several(rng, int(2 * 50.0 ** rng.random()))


def rare_blocks(seed: int, index: int) -> tuple[str, BlockProblem]:
    """The same with 513 to 3,000 outcomes, in blocks; fewer are solved as arrays."""
    rng = np.random.default_rng([seed, index])
    return f"rare_blocks({seed}, {index})", BlockProblem.of(
        _several(rng, int(rng.integers(513, 3001)))
    )


def _several(rng: np.random.Generator, outcomes: int) -> Problem:
    sizes = rng.integers(2, 5 if rng.random() < 0.8 else 7, size=int(rng.integers(2, 4))).tolist()
    if rng.random() < 0.1:
        sizes[int(rng.integers(len(sizes)))] = 1
    m = int(rng.integers(2, 4))
    joint = _masses(rng, (*sizes, m, outcomes))
    if rng.random() < 0.5 and joint[1:].any():
        joint[0] *= 10.0 ** -rng.uniform(*_DECADES)
    joint /= joint.sum()
    loss = (1.0 - np.eye(m)) @ joint.sum(axis=tuple(range(len(sizes))))
    constraints = []
    for axis, n in enumerate(sizes):
        rows = joint.sum(axis=tuple(other for other in range(len(sizes) + 1) if other != axis))
        measure = _text(str(rng.choice(list(MEASURES))), n, rng)
        leaked = Problem(rows, loss, math.inf, measure=measure).bayes_leakage
        constraints.append(Constraint(rows, _budget(leaked, rng), measure))
    return Problem(loss=loss, constraints=constraints)


def _masses(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Masses of any total: dense, sparse, rare in single entries, or small integers; none has an
    empty total.
    """
    kind = str(rng.choice(["dense", "sparse", "rare", "integers"]))
    masses = rng.gamma(float(rng.choice([0.3, 1.0])), size=shape) + 1e-12
    if kind == "sparse":
        masses = masses * (rng.random(shape) < float(rng.choice([0.1, 0.3, 0.6])))
    if kind == "rare":
        rare = rng.random(shape) < 0.3
        masses = np.where(rare, masses * 10.0 ** -rng.uniform(0.0, 13.0, shape), masses)
    if kind == "integers":
        masses = rng.integers(0, 4, size=shape).astype(np.float64)
    masses[(0,) * len(shape)] += 1e-3 * (masses.sum() == 0.0)
    return np.asarray(masses)


def _text(measure: str, n: int, rng: np.random.Generator) -> str:
    """The measure with parameters, if it has any."""
    if measure == "sibson":
        return f"sibson:alpha={float(rng.choice(_ORDERS))!r}"
    if measure == "g-leakage":
        gain = rng.integers(0, 5, (int(rng.integers(2, 5)), n))
        gain[0] += 1
        return str(GLeakage(gain))
    return measure


def _budget(leaked: float, rng: np.random.Generator) -> float:
    """A share of the leakage of the Bayes rule, or of one nat where that is infinite."""
    return float(rng.choice(_SHARES)) * (leaked if math.isfinite(leaked) else 1.0)
