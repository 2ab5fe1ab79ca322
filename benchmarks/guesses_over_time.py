"""Random Markov chains, to see how often guesses over time are certified: `python benchmarks/guesses_over_time.py`.

Every chain has 2 to 4 states and 2 to 5 steps; its laws are drawn from Dirichlet distributions, from nearly deterministic to
even. X and Y are parts of the state. The budget is a share of what the causal Bayes rule leaks, or 0. Each that is not
certified to 1e-9 is listed; a table counts them by steps.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import discreet as ds


def chain(rng: np.random.Generator) -> ds.CausalProblem:
    """A chain whose Bayes rule leaks at least 1e-6 nats."""
    while True:
        steps, states = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        outcomes = 2 if steps > 3 else int(rng.integers(2, 5))
        evenness = 10.0 ** rng.uniform(-0.8, 0.5)
        move = rng.dirichlet(np.full(states, evenness), states) + 1e-3
        problem = ds.CausalProblem.from_chain(
            rng.dirichlet(np.ones(states)),
            move / move.sum(axis=1, keepdims=True),
            rng.dirichlet(np.full(outcomes, evenness), states),
            np.inf,
            steps=steps,
            private=np.arange(states) % 2,
            public=np.arange(states) // 2 % 2 if states > 2 else np.arange(states),
            name=f"{states} states, {outcomes} measurements, Dirichlet({evenness:.2f})",
        )
        if problem.bayes_leakage > 1e-6:
            return problem


def main() -> None:
    """Solve as many chains as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--perfect", action="store_true", help="budget 0 instead of a share from 1e-3 to 1")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    counts = Counter[tuple[int, str]]()
    for number in range(asked.count):
        problem = chain(rng)
        share = 0.0 if asked.perfect else float(10.0 ** rng.uniform(-3.0, 0.0))
        found = ds.solve(problem.with_budget(share * problem.bayes_leakage))
        counts[problem.steps, found.status.value] += 1
        if found.status is not ds.Status.CERTIFIED:
            print(f"{number}: {problem.steps} steps, {problem.name}, share {share:.1e}: {found}", flush=True)
    for (steps, status), count in sorted(counts.items()):
        print(f"{steps} steps: {count} {status}")


if __name__ == "__main__":
    main()
