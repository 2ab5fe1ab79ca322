"""How often `ds.PrivateClassifier` keeps its promise: fitted again and again, and looked at on 200,000 other people.

    python benchmarks/people_promise.py [trials of each budget, 40 by default]

Groups and labels depend on the features in a way that the classifiers (logistic regression) cannot express, so the model is
wrong and the plain design leaks more than its budget. The promise holds with 95 % for each trial.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

import discreet as ds

FITTED, OTHERS = 8_000, 200_000


def population(people: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X [people, 4], y, and groups: both of the latter depend on the first column and on a product."""
    table = rng.normal(size=(people, 4))
    group = rng.random(people) < 1 / (1 + np.exp(-table[:, 0] - table[:, 2] * table[:, 3]))
    score = 1.2 * table[:, 0] + table[:, 1] + 0.8 * table[:, 2] * table[:, 3]
    return table, rng.random(people) < 1 / (1 + np.exp(-score)), group


def main(trials: int) -> None:
    """One row for each budget and way of fitting."""
    rng = np.random.default_rng(20261123)
    others, wanted, theirs = population(OTHERS, rng)
    print(
        f"{'budget':>8} {'calibration':>11} {'broken':>14} {'leaked (median)':>15} {'most':>9} {'error':>7} {'constant':>8}"
    )
    for budget in (0.003, 0.01, 0.03):
        for calibration in (0.0, 0.4):
            leaked, errors, constants = [], [], 0
            for _ in range(trials):
                table, truth, group = population(FITTED, rng)
                private = ds.PrivateClassifier(
                    LogisticRegression(),
                    LogisticRegression(),
                    budget=budget,
                    calibration=calibration,
                    random_state=len(leaked),
                ).fit(table, truth, sensitive_features=group)
                found = ds.evaluate(private, others, wanted, sensitive_features=theirs)
                leaked.append(found.leakage.estimate)
                errors.append(found.error.estimate)
                constants += private.design_ is None
            broken = int((np.array(leaked) > budget).sum())
            print(
                f"{budget:8g} {calibration:11g} {broken:8} of {trials:2} {np.median(leaked):15.5f} {max(leaked):9.5f} "
                f"{np.mean(errors):7.4f} {constants:8}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
