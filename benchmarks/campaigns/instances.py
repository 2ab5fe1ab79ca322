"""The problems of a campaign: sixteen kinds, each a pure function of (seed, index).

    edge        1 … 6 values of each, 1 … 60 outcomes; zeros, copies, masses down to 1e-150, twelve
                decades of budgets
    small       those of `edge` with 1 … 3 values of each and 1 … 12 outcomes
    sparse      1 … 6 values of each, 1 … 300 outcomes, up to nine entries in ten zero
    dirichlet   2 … 5 values of each, 20 … 250 outcomes, no zeros
    catalog     what `discreet crosscheck` draws: every family, adversarial ones too, under every
                kind of budget
    weighted    2 … 8 private values, 5 … 40 guesses, 500 … 3,000 outcomes of masses over some ten
                decades
    large       2 … 4 values of each, 5,000 … 60,000 points of a Gaussian mixture
    blocks      those of `edge`, with their outcomes in blocks: the answer is a rule
    measures    other measures than mutual information in turn: 2 … 5 values of each, 2 … 2,000
                outcomes, or those of `edge`
    secrets     one to three secrets, of 2 or 3 values each, by any measure, also given Y; 2 … 300
                outcomes
    gains       budget 0 of an adversary's gain, with several best actions in four of five; arrays,
                blocks, counts of sensors
    underflow   masses and losses down to 1e-300, every measure, also of two secrets and given
                another variable
    given       answers to such problems, given to the judge and not solved: estimators, rules and
                causal rules with probabilities down to 1e-300, losses up to 1e90, budgets at the
                edge, ceilings of measures with powers
    rare        one secret with values of probability 1e-6 … 1e-13, under every measure in turn; 2 …
                100 outcomes
    rare-secrets  two or three secrets by any measure; dense, sparse, rare or integer masses; 2 …
                  100 outcomes
    rare-blocks   the same with 513 … 3,000 outcomes, in blocks
    chains      Markov chains of 2 … 4 states and 2 … 5 steps, with one guess at each step;
                budgets down to 1e-30 of what the Bayes rule leaks

Problems with densities are missing: the second opinion does not read them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import guesses_over_time
import numpy as np
import random_problems
from campaigns import gains, underflow
from campaigns.rare import rare_blocks, rare_secrets, rare_value

from discreet.measures import GLeakage
from discreet.measures.registry import MEASURES
from discreet.problems import BlockProblem, Problem, catalog
from discreet.problems.constraint import Constraint
from discreet.reports.crosscheck.instances import DEFAULT_SIZE, Selection, select

__all__ = ["KINDS", "drawn"]

Drawn = tuple[str, Any]
"""Words that build the problem again, and the problem."""

OTHERS = tuple(name for name in MEASURES if name != "mutual-information")
_FRACTIONS = (0.0, 1e-8, 1e-4, 0.01, 0.3, 0.9)


def drawn(kind: str, seed: int, index: int) -> Drawn:
    """Problem number `index` of a kind."""
    return KINDS[kind](seed, index)


def _first(
    generator: Callable[[np.random.Generator, int], Iterator[Any]],
) -> Callable[[int, int], Drawn]:
    """The first problem of a generator of `random_problems`, started with (seed, index)."""
    return lambda seed, index: next(generator(np.random.default_rng([seed, index]), 1))


def _small(seed: int, index: int) -> Drawn:
    drawn_seed = int(np.random.default_rng([seed, index]).integers(2**32))
    return f"edge_problem({drawn_seed}, 3, 12)", random_problems.edge_problem(drawn_seed, 3, 12)


def _of_catalog(seed: int, index: int) -> Drawn:
    instance = _selection(seed, index // DEFAULT_SIZE).instances[index % DEFAULT_SIZE]
    return instance.title, instance.problem


@lru_cache(maxsize=2)
def _selection(seed: int, part: int) -> Selection:
    return select(int(np.random.default_rng([seed, part]).integers(2**31)), DEFAULT_SIZE)


def _large(seed: int, index: int) -> Drawn:
    rng = np.random.default_rng([seed, index])
    n, m = (int(size) for size in rng.integers(2, 5, size=2))
    parameters = {
        "n": n,
        "m": m,
        "N": int(rng.integers(5_000, 60_001)),
        "seed": int(rng.integers(10**6)),
    }
    parameters |= {"d": int(rng.integers(1, 5)), "fraction": float(rng.choice(_FRACTIONS))}
    return f"mixture {parameters}", catalog.build("mixture", **parameters)


def _in_blocks(seed: int, index: int) -> Drawn:
    words, problem = drawn("edge", seed, index)
    return f"BlockProblem.of({words})", BlockProblem.of(problem)


def _of_measures(seed: int, index: int) -> Drawn:
    """Budgets from half of what the Bayes rule leaks, or of one nat if that is ∞, down to 1e-4 of
    it.
    """
    rng = np.random.default_rng([seed, index])
    name = OTHERS[index % len(OTHERS)]
    if rng.random() < 0.5:
        edge_seed = int(rng.integers(2**32))
        words = f"edge_problem({edge_seed}, 5, 60)"
        problem = random_problems.edge_problem(edge_seed, 5, 60)
    else:
        n, m = rng.integers(2, 6, size=2).tolist()
        outcomes = int(2 * 1000.0 ** rng.random())
        joint_seed = int(rng.integers(10**6))
        parameters = {"n": n, "m": m, "N": outcomes, "seed": joint_seed}
        words = f"dirichlet {parameters}"
        problem = catalog.build("dirichlet", **parameters)
    if name == "sibson":
        name = f"sibson:alpha={float(rng.choice([1.01, 1.5, 2.0, 5.0, 100.0]))!r}"
    if name == "g-leakage":
        name = str(GLeakage(rng.integers(1, 9, (int(rng.integers(2, 6)), problem.n))))
    free = problem.with_budget(math.inf, measure=name)
    leaked = free.bayes_leakage
    budget = float(10.0 ** rng.uniform(-4.0, math.log10(0.5))) * (
        leaked if math.isfinite(leaked) else 1.0
    )
    return f"{words} under {budget!r} of {name}", free.with_budget(budget)


def _of_secrets(seed: int, index: int) -> Drawn:
    """x, x' and x given y, each with a measure and a budget of its own, some of them 0."""
    rng = np.random.default_rng([seed, index])
    outcomes = int(2 * 150.0 ** rng.random())
    sizes = rng.integers(2, 4, size=3).tolist()
    joint = rng.gamma(rng.choice([0.3, 1.0]), size=(*sizes, outcomes)) + 1e-9  # of x, x', y and z
    joint /= joint.sum()
    plain = [name for name in MEASURES if name not in ("sibson", "g-leakage")]
    stated = [
        (joint.sum(axis=(1, 2)), str(rng.choice(plain))),
        (joint.sum(axis=(0, 2)), str(rng.choice(plain))),
    ]
    stated.append((joint.sum(axis=1).transpose(1, 0, 2), "conditional-mutual-information"))
    chosen = [
        stated[k]
        for k in sorted(rng.choice(3, size=int(rng.integers(1, 4)), replace=False).tolist())
    ]
    loss = Problem.from_joint(joint.sum(axis=0), math.inf).loss
    free = Problem(
        loss=loss, constraints=[Constraint(p_xz, math.inf, name) for p_xz, name in chosen]
    )
    leaks = [leaked if math.isfinite(leaked) else 1.0 for leaked in free.bayes_leakages]
    budgets = [float(leaked * rng.choice([0.0, 1e-4, 0.01, 0.1, 0.5])) for leaked in leaks]
    return f"drawn('secrets', {seed}, {index})", free.with_budget(
        budgets if len(budgets) > 1 else budgets[0]
    )


def _given(seed: int, index: int) -> Drawn:
    words, case = underflow.given(seed, index)
    return words, case.problem


KINDS: Mapping[str, Callable[[int, int], Drawn]] = {
    "edge": _first(random_problems.edge),
    "small": _small,
    "sparse": _first(random_problems.sparse),
    "dirichlet": _first(random_problems.dirichlet),
    "catalog": _of_catalog,
    "weighted": _first(random_problems.weighted),
    "large": _large,
    "blocks": _in_blocks,
    "measures": _of_measures,
    "secrets": _of_secrets,
    "gains": gains.drawn,
    "underflow": underflow.problem_of,
    "given": _given,
    "rare": rare_value,
    "rare-secrets": rare_secrets,
    "rare-blocks": rare_blocks,
    "chains": guesses_over_time.drawn,
}
