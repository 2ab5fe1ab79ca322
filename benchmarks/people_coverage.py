"""How often the limits of `ds.evaluate` hold: people are drawn from known laws, and it is counted
where the truth is inside.

    python benchmarks/people_coverage.py [draws of each case, 2000 by default]

Six cases (an independent guess, a rare group, a rare guess, ten classes, equalized odds, guesses by
stated probabilities), six measures, the odds, only the upper limit, and the error. 95 % is
promised; exact limits hold more often.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import discreet as ds

CONDITIONAL = "conditional-mutual-information"
MEASURES = (
    "mutual-information",
    "chi-square",
    "parity-difference",
    "maximal-leakage",
    "max-lift",
    CONDITIONAL,
)
NAMES = (*MEASURES, "odds", "at most", "error")
CASES = {  # rates [guesses, groups of each truth], shares of these, people
    "independent guess": ([[0.7, 0.7], [0.3, 0.3]], [0.5, 0.5], 500),
    "rare group": ([[0.9, 0.6], [0.1, 0.4]], [0.98, 0.02], 2000),
    "rare guess": ([[0.995, 0.999], [0.005, 0.001]], [0.4, 0.6], 2000),
    "ten classes": (np.full((10, 2), 0.1).tolist(), [0.7, 0.3], 3000),
    "equalized odds": ([[0.8, 0.8, 0.3, 0.3], [0.2, 0.2, 0.7, 0.7]], [0.3, 0.4, 0.2, 0.1], 1500),
    "stated probabilities": ([[0.7, 0.6], [0.3, 0.4]], [0.5, 0.5], 500),
}


def truth_of(rates: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    """The leakage of a law of two groups by every measure, the largest change of odds, and the
    error.
    """
    m = len(rates)
    given = (rates * shares).T.reshape(-1, 2, m)  # p(truth, group, guess)
    joint = given.sum(axis=0)
    loss = np.zeros((m, m))
    found = {
        name: ds.Problem(joint, loss, budget=1.0, measure=name).leakage(np.eye(m))
        for name in MEASURES[:-1]
    }
    found[CONDITIONAL] = ds.Problem(given, loss, budget=1.0, measure=CONDITIONAL).leakage(np.eye(m))
    seen = joint / joint.sum(axis=1, keepdims=True)
    error = 1.0 - sum(float(given[k, :, k].sum()) for k in range(len(given)))
    return found | {
        "odds": float((seen[:, None] / seen[None, :]).max()),
        "at most": found["mutual-information"],
        "error": error,
    }


def main(draws: int) -> None:
    """One row for each case: how often each number lay between its limits."""
    rng = np.random.default_rng(20261123)
    print(f"{'inside their limits':22}" + "".join(f"{name[:14]:>16}" for name in NAMES))
    for case, numbers in CASES.items():
        rates, shares, people = (np.asarray(each) for each in numbers)
        truth = truth_of(rates, shares)
        inside = dict.fromkeys(NAMES, 0)
        m = len(rates)
        for _ in range(draws):
            cell = rng.choice(len(shares), int(people), p=shares)
            if case == "stated probabilities":
                first = rng.beta(*(4.0 * rates[:, cell]))
                guess = np.column_stack([first, 1.0 - first])
            else:
                guess = (
                    rng.random(int(people))[:, None] > np.cumsum(rates[:, cell], axis=0).T
                ).sum(axis=1)
                guess = np.minimum(guess, m - 1)
            found = ds.evaluate(
                guess, None, cell // 2, sensitive_features=cell % 2, labels=list(range(m))
            )
            limits = {name: found.leakage_by(name) for name in MEASURES} | {
                "odds": found.odds,
                "error": found.error,
            }
            for name, each in limits.items():
                inside[name] += each.low <= truth[name] * (1 + 1e-12) and truth[
                    name
                ] <= each.high * (1 + 1e-12)
            inside["at most"] += truth["at most"] <= found.at_most
        print(f"{case:22}" + "".join(f"{inside[name] / draws:16.4f}" for name in NAMES), flush=True)
    spread = math.sqrt(0.95 * 0.05 / draws)
    print(f"95 % is promised; its own spread over {draws:,} draws is {spread:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
