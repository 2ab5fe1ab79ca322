"""How often a promise is broken: `PrivateClassifier` is fitted on people drawn from known laws, and
what its rule leaks in truth is computed.

    python benchmarks/people_broken.py [fits of each law, 125 by default] [laws, all by default]

Records lie on a grid, so a rule has one row of probabilities for each, and the law of (X, Ŷ) is a
sum over the grid. Leakages are written out here once more, apart from the library. 95 % is
promised, so at most 5 % of the fits of a law may be broken. It is not a suite of asv.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as ds

SIDE = 20  # of the grid
CONDITIONAL = "conditional-mutual-information"


@dataclass(frozen=True)
class Case:
    """What is promised to how many people; groups n, classes m, and different records in all."""

    measure: str
    budget: float
    people: int
    n: int = 2
    m: int = 2
    records: int = SIDE * SIDE
    more: tuple[tuple[str, Any], ...] = ()


CASES = {
    "parity": Case("parity-difference", 0.05, 800),
    "parity, 3 groups": Case("parity-difference", 0.1, 1500, 3, 3),
    "parity, six records": Case("parity-difference", 0.1, 1000, records=6),
    "information": Case("mutual-information", 0.01, 1000),
    "information, asymptotic": Case(
        "mutual-information", 0.01, 2000, 3, 3, more=(("promise", "asymptotic"),)
    ),
    "given the truth": Case(CONDITIONAL, 0.02, 1500),
    "differential privacy": Case("local-differential-privacy", 0.3, 1500),
    "max-lift": Case("max-lift", 0.15, 1500, 3, 2),
    "rare group merged": Case(
        "parity-difference", 0.1, 1500, 4, 2, more=(("rare_groups", "merge"), ("rare_below", 60))
    ),
}


def law_of(case: Case, rng: np.random.Generator) -> np.ndarray:
    """p(record, x, y) [records, n, m]: both depend on the first column, in a way that no line
    follows.
    """
    a, b = table_of(case).T
    wave = np.sin(3.0 * a)
    x = rng.normal(size=(case.n, 3)) @ np.stack([1.5 * a, wave, 0.3 * b])
    y = rng.normal(size=(case.m, 3)) @ np.stack([1.5 * a, 0.5 * wave, b])
    if "merged" in str(case.more):
        x[-1] -= 4.0
    p_x, p_y = (np.exp(each) / np.exp(each).sum(axis=0) for each in (x, y))
    return np.einsum("xz,yz->zxy", p_x, p_y) / len(a)


def table_of(case: Case) -> np.ndarray:
    """Return the records [records, 2]."""
    if case.records < SIDE:
        ends = np.linspace(-1.5, 1.5, case.records)
        return np.column_stack([ends, ends[::-1] ** 2])
    axis = np.linspace(-1.5, 1.5, SIDE)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def leakage(measure: str, law: np.ndarray) -> float:
    """Return the leakage of p(x, ŷ, y) [n, guesses, m]."""
    if measure == CONDITIONAL:
        return sum(part.sum() * leakage("mutual-information", part / part.sum()) for part in law.T)
    joint = law.sum(axis=2) if law.ndim == 3 else law.T
    prior = joint.sum(axis=1, keepdims=True)
    mass = joint.sum(axis=0)
    rates = (joint / prior)[:, mass > 1e-14]
    mass = mass[mass > 1e-14]
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "parity-difference":
            return float((rates.max(axis=0) - rates.min(axis=0)).max())
        if measure == "local-differential-privacy":
            return float(np.log(rates.max(axis=0) / rates.min(axis=0)).max())
        if measure == "max-lift":
            return float(np.log(rates.max(axis=0) / mass).max())
        terms = prior * rates * np.log(rates / mass)
        return float(np.nansum(terms))


def fit(case: Case, seed: int) -> tuple[float, float, float, float]:
    """What a fitted rule leaks and errs in truth, the error of the best constant, and the share of
    its lottery.
    """
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    law = law_of(case, rng)
    table = table_of(case)
    drawn = rng.choice(law.size, case.people, p=law.ravel() / law.sum())
    record, x, y = np.unravel_index(drawn, law.shape)
    model = LogisticRegression(max_iter=300)
    private = ds.PrivateClassifier(
        model, model, budget=case.budget, measure=case.measure, random_state=seed, **dict(case.more)
    )
    private.fit(table[record], y, sensitive_features=x)
    columns = np.zeros((len(table), case.m))
    columns[:, private.classes_] = private.predict_proba(table)
    groups = private.groups_
    if len(groups) < case.n or "other groups" in groups:  # the rare ones are one, or not promised
        kept = [each for each in groups if each != "other groups"]
        others = [k for k in range(case.n) if k not in kept]
        parts = [law[:, kept]]
        if "other groups" in groups:
            parts.append(law[:, others].sum(axis=1, keepdims=True))
        law = np.concatenate(parts, axis=1)
        law = law / law.sum()
    made = np.einsum("zxy,zi->xiy", law, columns)
    errs = 1.0 - float(np.einsum("xii->", made)) if case.m == made.shape[1] else np.nan
    taken = private.promise_.taken
    lottery = 1.0 if taken is None else taken.lottery.share
    return leakage(case.measure, made), errs, 1.0 - float(law.sum(axis=(0, 1)).max()), lottery


def main(fits: int, names: list[str]) -> int:
    """Print a line for each law; 1 if a promise is broken more often than it says."""
    warnings.simplefilter("ignore", ds.InputWarning)
    many = 0
    print("| law | fits | broken | constants | mean error | constant's | mean lottery | s a fit |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names or CASES:
        case = CASES[name]
        start = time.process_time()
        found = np.array([fit(case, seed) for seed in range(fits)])
        seconds = (time.process_time() - start) / fits
        broken = int((found[:, 0] > case.budget * (1.0 + 1e-9)).sum())
        many += broken > 0.05 * fits
        means = found.mean(axis=0)
        told = (
            f"| {name}, {case.measure} ≤ {case.budget:g}, {case.people:,} people | {fits} "
            f"| {broken} | {int((found[:, 3] == 1.0).sum())} | {means[1]:.3f} | {means[2]:.3f} "
            f"| {100 * means[3]:.0f} % | {seconds:.1f} |"
        )
        print(told, flush=True)
    return int(many > 0)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 125, sys.argv[2:]))
