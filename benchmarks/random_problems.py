"""Count the random problems that `tilt` does not certify: five kinds, budgets from 0 to just under
the Bayes leakage.

    .venv/bin/python benchmarks/random_problems.py [--seed 1] [--count 200] [--backend tilt]

dirichlet  2 … 5 values of X and of Y, 20 … 250 outcomes
weighted   2 … 8 values of X, 5 … 40 guesses, 500 … 3000 outcomes with masses over some ten decades
sparse     1 … 6 values of each, 1 … 300 outcomes, up to nine entries in ten zero and the others of
           any size
catalog    the catalog's real and degenerate problems, each at `count`/10 budgets over nine decades
edge       1 … 6 values of each, 1 … 60 outcomes: zeros, copies, masses down to 1e-150, twelve
           decades of budgets

Counts, no times. A problem fails if its certified gap exceeds 1e-9 of the error probability plus
2e-15. It is printed with the parameters that build it again. Problems of more than 20 iterations
are counted too.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

import discreet as ds
from discreet.problems import Problem, catalog
from discreet.problems.catalog.random_ import random_joint

_GAP = 1e-9
_ROUNDING = 2e-15  # allowed on top of the gap, for error probabilities below 1e-6
_FRACTIONS = (0.0, 1e-10, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.999)
_CATALOG = (
    *("road", "building", "smart-meter", "anes96", "fair", "multi-mixed"),
    *("near-deterministic", "zero-mass", "duplicated"),
)
_TINIEST = 150.0  # decades: products of two such masses are at the end of double precision

Named = tuple[str, Problem]


def dirichlet(rng: np.random.Generator, count: int) -> Iterator[Named]:
    """Random joint laws without zeros."""
    for _ in range(count):
        n, m, outcomes = (int(rng.integers(*limits)) for limits in ((2, 6), (2, 6), (20, 251)))
        yield _built(
            "dirichlet",
            n=n,
            m=m,
            N=outcomes,
            seed=int(rng.integers(10**6)),
            fraction=float(rng.choice(_FRACTIONS)),
        )


def weighted(rng: np.random.Generator, count: int) -> Iterator[Named]:
    """Many guesses and very unequal masses."""
    for _ in range(count):
        n, m, outcomes = (int(rng.integers(*limits)) for limits in ((2, 9), (5, 41), (500, 3001)))
        seed = int(rng.integers(10**6))
        yield _built(
            "weighted-mixture",
            n=n,
            m=m,
            N=outcomes,
            seed=seed,
            fraction=float(rng.choice(_FRACTIONS[:-1])),
        )


def sparse(rng: np.random.Generator, count: int) -> Iterator[Named]:
    """Joint laws with many zeros and entries of any size."""
    for _ in range(count):
        seed = int(rng.integers(2**32))
        n = int(rng.integers(1, 7))
        m = int(rng.integers(1, 7))
        outcomes = int(rng.choice([rng.integers(1, 12), rng.integers(1, 300)]))
        kind = {
            "sparsity": float(rng.choice([0.0, 0.5, 0.9])),
            "concentration": float(rng.choice([0.05, 1.0])),
        }
        yield _built(
            "dirichlet",
            n=n,
            m=m,
            N=outcomes,
            seed=seed,
            fraction=float(rng.choice(_FRACTIONS)),
            **kind,
        )


def shipped(_: np.random.Generator, count: int) -> Iterator[Named]:
    """The catalog's problems over their budgets."""
    for name in _CATALOG:
        problem = catalog.build(name, fraction=0.5)
        for fraction in np.geomspace(1e-9, 0.99, max(2, count // 10)):
            yield f"{name} at {fraction:.3g}", problem.with_budget(fraction * problem.bayes_leakage)


def edge(rng: np.random.Generator, count: int) -> Iterator[Named]:
    """Small problems at the edge of double precision."""
    for seed in rng.integers(2**32, size=count).tolist():
        yield f"edge_problem({seed})", edge_problem(seed)


def edge_problem(seed: int, most_values: int = 6, most_outcomes: int = 60) -> Problem:
    """One of a family whose masses differ by any power of ten; all about it follows from the seed
    and the largest sizes.

    Sizes, zeros and unevenness are drawn first. Then some entries, private values, public values or
    outcomes become rare: each kind in one problem of four, by up to 150 decades in half of these.
    Half of the problems have proportional outcomes, exactly or up to rounding. One problem in six
    has its own loss matrix. One budget in eight is 0; the others spread over the twelve decades
    below what the Bayes rule leaks.
    """
    rng = np.random.default_rng(seed)
    n, m = (1 + rng.integers(1, 2 * most_values, size=2) // 2).tolist()  # 1 half as often as others
    outcomes = int(rng.integers(1, most_outcomes + 1))
    kind = {
        "sparsity": float(rng.choice([0.0, 0.5, 0.9])),
        "concentration": float(rng.choice([0.05, 0.3, 1.0])),
    }
    joint = random_joint(n, m, outcomes, rng=rng, **kind)
    for axes in ((), (1, 2), (0, 2), (0, 1)):
        if rng.random() < 0.25:
            decades = float(rng.choice([12.0, _TINIEST]))
            shape = tuple(1 if axis in axes else size for axis, size in enumerate(joint.shape))
            rare = rng.random(shape) < rng.choice([0.1, 0.5])
            joint *= np.where(rare, 10.0 ** -rng.uniform(0.0, decades, shape), 1.0)
    if rng.random() < 0.5:
        copied = rng.integers(outcomes, size=int(rng.integers(1, outcomes + 1)))
        factors = rng.choice([1.0, 0.5, 1.0 / 3.0, 0.7, 1e-6], size=copied.size)
        joint = np.concatenate([joint, joint[:, :, copied] * factors], axis=2)[:, :, :most_outcomes]
    losses = rng.choice([0.0, 1.0, 1e-3, 5.0], size=(m, m)) if rng.random() < 1.0 / 6.0 else None
    problem = Problem.from_joint(joint / joint.sum(), math.inf, loss_matrix=losses)
    share = 0.0 if rng.random() < 0.125 else float(10.0 ** -rng.uniform(0.0, 12.0))
    return problem.with_budget(share * problem.bayes_leakage)


def _built(name: str, **parameters: float) -> Named:
    return f"{name} {parameters}", catalog.build(name, **parameters)


_KINDS = {
    "dirichlet": dirichlet,
    "weighted": weighted,
    "sparse": sparse,
    "catalog": shipped,
    "edge": edge,
}


def fails(solution: ds.Solution) -> bool:
    """Return whether the solution is not certified within the gap."""
    certificate = solution.certificate
    return (
        certificate is None or not certificate.gap <= _GAP * solution.error_probability + _ROUNDING
    )


def main() -> None:
    """Print the counts of all kinds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="problems of each kind")
    parser.add_argument("--backend", default="tilt")
    given = parser.parse_args()
    solve = partial(ds.solve, backend=given.backend, gap=_GAP, time_limit=60.0)
    rows = []
    for name, kind in _KINDS.items():
        failed = long = iterations = count = 0
        for words, problem in kind(np.random.default_rng(given.seed), given.count):
            solution = solve(problem)
            count = count + 1
            taken = solution.iterations or 0
            iterations = iterations + taken
            long = long + (taken > 20)
            if fails(solution):
                failed += 1
                gap = math.inf if solution.relative_gap is None else solution.relative_gap
                print(f"{words}: {solution.status.value}, gap {gap:.1e}", flush=True)
        rows.append(f"{name:10} {count:6} {failed:7} {iterations:11} {long:8}")
    print(
        f"\n{'kind':10} {'solved':>6} {'failed':>7} {'iterations':>11} {'over 20':>8}",
        *rows,
        sep="\n",
    )


if __name__ == "__main__":
    main()
