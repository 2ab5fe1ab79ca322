"""How many guesses a second a deployed rule makes, after the classifiers: the best of five runs on
a million people.

    python benchmarks/people_rule.py

Two and three guesses and groups; a rule that draws at rare ties, one that lists every kind of
people, one whose second tilt decides for a whole group, and one that draws for everybody: by ids,
by texts, by the record, by fresh coins. Wall time, and processor time next to it, which other work
on the machine changes less.
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


def listing(rng: np.random.Generator, m: int) -> tuple[ds.Rule, np.ndarray, np.ndarray]:
    """A rule with 200 listed ties, and people of whom each is at one of them."""
    kinds, by_group = (rng.dirichlet(np.ones(m), 200) for _ in range(2))
    designed = ds.design_rule(kinds, by_group, budget=0.0).rule
    points = np.hstack([1.0 - kinds, by_group])
    ties = [
        {"point": point, "column": column}
        for point, column in zip(points.tolist(), kinds.tolist(), strict=True)
    ]
    document = {**designed.document, "ties": {**designed.document["ties"], "points": ties}}
    rule = ds.Rule.sealed(document, designed.key)
    who = rng.integers(0, len(kinds), PEOPLE)
    return rule, kinds[who], by_group[who]


def equalizing(rng: np.random.Generator, m: int) -> tuple[ds.Rule, np.ndarray, np.ndarray]:
    """A rule of equalized odds where two groups are seen: one of them ties as a whole, and a second
    tilt decides.
    """
    group = (rng.random(PEOPLE) < 0.4).astype(int)
    powers = np.exp(rng.normal(size=(PEOPLE, m)) * np.array([0.7, 2.5])[group][:, None])
    p_y = powers / powers.sum(axis=1, keepdims=True)
    p_x = p_y[:, :, None] * np.eye(2)[group][:, None, :]
    few = slice(2000)
    measure = "conditional-mutual-information"
    return (
        ds.design_rule(p_y[few], p_x[few], 0.0, measure=measure).rule,
        p_y,
        p_x.reshape(PEOPLE, -1),
    )


def main() -> None:
    """One row for each rule."""
    rng = np.random.default_rng(0)
    numbers = np.arange(PEOPLE)
    texts = np.array([f"person {k}" for k in numbers], dtype=object)
    for m, n in ((2, 2), (3, 3)):
        features = rng.normal(size=(PEOPLE, 4))
        p_y = probabilities(rng, features, m)
        p_x = probabilities(rng, features, n)
        at_ties = ds.design_rule(p_y[:20_000], p_x[:20_000], fraction=0.3).rule
        everybody = with_ignore(at_ties, m)
        rows = [
            ("drawn at rare ties", at_ties, p_y, p_x, {}),
            ("200 listed ties", *listing(rng, m), {}),
        ]
        rows.append(("second tilt", *equalizing(rng, m), {}))
        for what, how in (
            ("record", {}),
            ("integer ids", {"ids": numbers}),
            ("text ids", {"ids": texts}),
            ("fresh coins", {"fresh": rng}),
        ):
            rows.append((f"everybody, {what}", everybody, p_y, p_x, how))
        for what, rule, first, second, how in rows:
            wall = []
            processor = []
            for _ in range(5):
                started = time.perf_counter(), time.process_time()
                rule.predict(first, second, **how)
                wall.append(time.perf_counter() - started[0])
                processor.append(time.process_time() - started[1])
            drawn = (rule.predict_proba(first, second).max(axis=1) < 1.0).mean()
            speeds = (
                f"{PEOPLE / min(wall):12,.0f} a second {PEOPLE / min(processor):12,.0f} by "
                "processor time"
            )
            print(f"{m} guesses, {n} groups  {what:24}{speeds} ({drawn:.0%} drawn)", flush=True)


def with_ignore(rule: ds.Rule, m: int) -> ds.Rule:
    """The rule that ignores whatever is seen, and draws for everybody."""
    document = {
        **rule.document,
        "ignore": {"probability": 1.0, "towards": np.full(m, 1.0 / m).tolist()},
    }
    return ds.Rule.sealed(document, rule.key)


if __name__ == "__main__":
    main()
