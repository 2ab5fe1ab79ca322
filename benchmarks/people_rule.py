"""How many guesses a second a deployed rule makes, after the classifiers: the best of five runs on a million people.

    python benchmarks/people_rule.py

Two and three guesses and groups; a rule that draws at rare ties, and one that draws for most people, by ids and without.
"""

from __future__ import annotations

import time

import numpy as np

import discreet as ds

PEOPLE = 1_000_000


def probabilities(rng: np.random.Generator, features: np.ndarray, labels: int) -> np.ndarray:
    """p(label given features) of a random linear model [people, labels]."""
    powers = np.exp(features @ rng.normal(size=(features.shape[1], labels)))
    return powers / powers.sum(axis=1, keepdims=True)


def main() -> None:
    """One row for each rule."""
    rng = np.random.default_rng(0)
    for m, n in ((2, 2), (3, 3)):
        features = rng.normal(size=(PEOPLE, 4))
        p_y, p_x = probabilities(rng, features, m), probabilities(rng, features, n)
        at_ties = ds.design_rule(p_y[:20_000], p_x[:20_000], fraction=0.3).rule
        kinds = 0.6 * np.eye(m) + 0.4 / m  # so few kinds of people that almost all of them are at a tie
        drawing = ds.design_rule(kinds, kinds, fraction=0.3).rule
        crowd = kinds[rng.integers(0, m, PEOPLE)]
        for what, rule, who, ids in (
            ("drawn at ties", at_ties, (p_y, p_x), None),
            ("drawn by ids", drawing, (crowd, crowd), np.arange(PEOPLE)),
            ("drawn by probabilities", drawing, (crowd, crowd), None),
        ):
            seconds = []
            for _ in range(5):
                started = time.perf_counter()
                rule.predict(*who, ids)
                seconds.append(time.perf_counter() - started)
            drawn = (rule.predict_proba(*who).max(axis=1) < 1.0).mean()
            print(f"{m} guesses, {n} groups, {what:24} {PEOPLE / min(seconds):12,.0f} a second ({drawn:.0%} drawn)")


if __name__ == "__main__":
    main()
