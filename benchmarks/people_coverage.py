"""How often the limits of `ds.evaluate` hold: people are drawn from known laws, and it is counted where the truth is inside.

    python benchmarks/people_coverage.py [draws of each case, 2000 by default]

Five cases (an independent guess, a rare group, a rare guess, ten classes, guesses by stated probabilities), five measures
and the odds. 95 % is promised; exact limits hold more often.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import discreet as ds

MEASURES = ("mutual-information", "chi-square", "parity-difference", "maximal-leakage", "max-lift")
CASES = {  # rates [guesses, groups], shares of the groups, people
    "independent guess": ([[0.7, 0.7], [0.3, 0.3]], [0.5, 0.5], 500),
    "rare group": ([[0.9, 0.6], [0.1, 0.4]], [0.98, 0.02], 2000),
    "rare guess": ([[0.995, 0.999], [0.005, 0.001]], [0.4, 0.6], 2000),
    "ten classes": (np.full((10, 2), 0.1).tolist(), [0.7, 0.3], 3000),
    "stated probabilities": ([[0.7, 0.6], [0.3, 0.4]], [0.5, 0.5], 500),
}


def truth_of(rates: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    """The leakage of a law by every measure, and the largest change of odds."""
    joint = (rates * shares).T
    eye, loss = np.eye(len(rates)), np.zeros(rates.shape[:1] * 2)
    found = {name: ds.Problem(joint, loss, budget=1.0, measure=name).leakage(eye) for name in MEASURES}
    ratios = rates[:, :, None] / rates[:, None, :]
    return found | {"odds": float(ratios.max())}


def main(draws: int) -> None:
    """One row for each case: how often each number lay between its limits."""
    rng = np.random.default_rng(20261123)
    print(f"{'share of draws inside':24}" + "".join(f"{name:>20}" for name in (*MEASURES, "odds")) + f"{'error':>10}")
    for case, numbers in CASES.items():
        rates, shares, people = (np.asarray(each) for each in numbers)
        truth, inside = truth_of(rates, shares), dict.fromkeys((*MEASURES, "odds", "error"), 0)
        m, n = rates.shape
        for _ in range(draws):
            group = rng.choice(n, int(people), p=shares)
            if case == "stated probabilities":
                first = rng.beta(*(4.0 * rates[:, group]))
                guess = np.column_stack([first, 1.0 - first])
            else:
                guess = (rng.random(int(people))[:, None] > np.cumsum(rates[:, group], axis=0).T).sum(axis=1)
                guess = np.minimum(guess, m - 1)
            wanted = np.zeros(int(people), dtype=int)
            found = ds.evaluate(guess, None, wanted, sensitive_features=group, labels=list(range(m)))
            limits = {name: found.leakage_by(name) for name in MEASURES} | {"odds": found.odds}
            for name, each in limits.items():
                inside[name] += each.low <= truth[name] * (1 + 1e-12) and truth[name] <= each.high
            error = 1.0 - float(rates[0] @ shares)
            inside["error"] += found.error.low <= error <= found.error.high
        shown = "".join(f"{inside[name] / draws:20.4f}" for name in (*MEASURES, "odds"))
        print(f"{case:24}{shown}{inside['error'] / draws:10.4f}", flush=True)
    spread = math.sqrt(0.95 * 0.05 / draws)
    print(f"95 % is promised; its own spread over {draws:,} draws is {spread:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
