"""The share of discreet in `PrivateClassifier.fit`: everything but gradient boosting itself.

    python -m benchmarks.people_fit_share [PEOPLE]

A table of 20 measured columns, by default of 100,000 people; two groups, two guesses, 0.01 nats.
The first fit, of few people, loads modules and is not counted.
"""

import sys
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import discreet as ds

COLUMNS = 20


class Boosting(HistGradientBoostingClassifier):
    """Gradient boosting that adds up its own seconds, in all of its copies."""

    seconds = 0.0

    def fit(self, X, y, sample_weight=None):
        started = time.perf_counter()
        super().fit(X, y, sample_weight)
        Boosting.seconds += time.perf_counter() - started
        return self

    def predict_proba(self, X):
        started = time.perf_counter()
        found = super().predict_proba(X)
        Boosting.seconds += time.perf_counter() - started
        return found


def boosting() -> Boosting:
    """Gradient boosting as it is by default."""
    return Boosting(learning_rate=0.05, max_leaf_nodes=15, max_iter=300, early_stopping=True)


def main() -> None:
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(0)
    table = rng.normal(size=(people, COLUMNS))
    chance = 1.0 / (1.0 + np.exp(-1.2 * table[:, 0] - 0.6 * table[:, 1]))
    sex = np.where(rng.random(people) < chance, "m", "f")
    chance = 1.0 / (1.0 + np.exp(-table[:, 0] - table[:, 2] + 0.5 * table[:, 3]))
    income = np.where(rng.random(people) < chance, "high", "low")
    private = ds.PrivateClassifier(boosting(), boosting(), budget=0.01, random_state=0)
    private.fit(table[:2000], income[:2000], sensitive_features=sex[:2000])
    Boosting.seconds = 0.0
    started = time.perf_counter()
    private.fit(table, income, sensitive_features=sex)
    whole = time.perf_counter() - started
    share = 1.0 - Boosting.seconds / whole
    print(f"{people:,} people: fit {whole:.2f} s, discreet's share {100.0 * share:.1f} %")


if __name__ == "__main__":
    main()
