"""Draws the picture of the README: `python docs/figures/claims.py` writes `claims.svg`.

The certified curve of error against leakage for seven binary sensors, and the answers that SCS
called optimal at two accuracies. Each answer is drawn at the budget that it was asked to keep, and
the broken ones once more at the leakage that was measured.

`python docs/figures/claims.py --record` asks SCS again and writes its answers into `claims.json`.
They are recorded because they depend on the last digits of a processor, as `--perturb` shows: it
changes the tenth digit of the budget, and counts how often SCS calls an answer optimal that breaks
it. A test measures the recorded answers again, and compares the picture.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import discreet as ds
from discreet.backends.attempts import Attempt
from discreet.backends.contract import Options
from discreet.backends.run import attempt
from discreet.problems.problem import Array
from discreet.showing.figures import Figure, Series
from discreet.showing.svg import standalone

HERE = Path(__file__).resolve().parent
STEPS = 40
FRACTIONS = (0.5, 0.6, 0.7)
"""Budgets that SCS was given, as fractions of the leakage of the Bayes rule."""
DEFAULT = 1e-9
COARSE = 1e-4
"""Accuracies: the default of discreet, and the default of SCS."""
ENOUGH = 1_000_000
"""Most iterations of SCS."""
PERTURBED = {COARSE: 60, DEFAULT: 12}
"""Runs of `--perturb` for each fraction, by accuracy."""
RECORDED = HERE / "claims.json"


class Claim(NamedTuple):
    """An answer that SCS called optimal at an accuracy, and the fraction of the leakage of the
    Bayes rule that was its budget.
    """

    accuracy: float
    fraction: float
    estimator: Array

    @property
    def leakage(self) -> float:
        """The measured leakage, as a fraction of that of the Bayes rule."""
        return sensors().leakage(self.estimator) / sensors().bayes_leakage

    @property
    def error(self) -> float:
        """The measured error probability."""
        return sensors().error_probability(self.estimator)


@cache
def sensors() -> ds.Problem:
    """Seven sensors of the paper."""
    return ds.problems.paper_multi(sensors=7, budget=0.0)


def certified_curve() -> Series:
    """The certified optimum at `STEPS` + 1 budgets, even in the square root of the budget."""
    fractions = tuple((step / STEPS) ** 2 for step in range(STEPS + 1))
    errors = (ds.solve(_problem_at(fraction), "tilt").certificate.upper for fraction in fractions)
    return Series("certified optimum", _percent(fractions), _percent(errors), tone=0)


def recorded() -> tuple[Claim, ...]:
    """The answers of the file, whose estimators are given by the probability of the guess 1."""
    entries = json.loads(RECORDED.read_text(encoding="utf-8"))["answers"]
    return tuple(_claim_of(**entry) for entry in entries)


def record() -> None:
    """Solve with SCS again, and write the file."""
    entries = [_answer(accuracy, f) for accuracy in (DEFAULT, COARSE) for f in FRACTIONS]
    versions = {library: version(library) for library in ("cvxpy", "scs")}
    text = json.dumps({"versions": versions, "answers": entries}, indent=1)
    RECORDED.write_text(text + "\n", encoding="utf-8")


def perturb() -> None:
    """Print how often SCS calls an answer optimal that leaks 1 % more than a budget whose tenth
    digit is changed, and its iterations.
    """
    rng = np.random.default_rng(0)
    for accuracy, runs in PERTURBED.items():
        for fraction in FRACTIONS:
            changed = fraction * (1.0 + 1e-10 * rng.uniform(-1.0, 1.0, runs))
            attempts = [_attempt(accuracy, each) for each in changed]
            broken = sum(
                each.claimed == "optimal"
                and sensors().leakage(each.answer.estimator)
                > 1.01 * fraction * sensors().bayes_leakage
                for each in attempts
            )
            counts = [each.iterations for each in attempts]
            print(
                f"SCS at {accuracy:g}, {fraction:.0%} of the leakage: {broken} of {runs} broken, "
                f"{min(counts):,} to {max(counts):,} iterations"
            )


def _claim_of(accuracy: float, fraction: float, guess: list[float]) -> Claim:
    return Claim(accuracy, fraction, np.stack([1.0 - np.array(guess), guess]))


def _answer(accuracy: float, fraction: float) -> dict[str, Any]:
    """The answer of SCS itself, before any repair."""
    found = _attempt(accuracy, fraction)
    if found.claimed != "optimal":
        raise RuntimeError(f"SCS claims {found.claimed!r} at {fraction}")
    guess = found.answer.estimator[1].tolist()
    return {"accuracy": accuracy, "fraction": fraction, "guess": guess}


def _attempt(accuracy: float, fraction: float) -> Attempt:
    options = Options(gap=accuracy, settings={"solver": "scs"}, max_iterations=ENOUGH)
    return attempt(_problem_at(fraction), "conic", options)


def _problem_at(fraction: float) -> ds.Problem:
    """The problem with this fraction of the leakage of the Bayes rule as its budget."""
    return sensors().with_budget(fraction * sensors().bayes_leakage)


def draw() -> Figure:
    """The figure of the file."""
    coarse = [claim for claim in recorded() if claim.accuracy == COARSE]
    accurate = [claim for claim in recorded() if claim.accuracy == DEFAULT]
    errors = _percent(claim.error for claim in coarse)
    return Figure(
        name="claims",
        title="What a solver called optimal, and what is possible",
        subtitle="seven sensors; no estimator reaches a point below the line",
        x_label="leakage, % of what the most accurate guess reveals",
        y_label="wrong guesses, %",
        series=(
            certified_curve(),
            Series("SCS at 1e-4 claims", _budgets(coarse), errors, "points", tone=1),
            Series(
                "SCS at 1e-4, measured",
                _percent(claim.leakage for claim in coarse),
                errors,
                "points",
                tone=1,
                hollow=True,
            ),
            Series(
                "SCS at 1e-9 claims",
                _budgets(accurate),
                _percent(claim.error for claim in accurate),
                "points",
                tone=2,
            ),
        ),
        description="The certified error falls from 1.10 % at no leakage to 0.69 %. Three answers "
        "of SCS at accuracy 1e-4 claim 0.69 % at budgets of 50 to 70 %; all of them leak 100 %. "
        "At accuracy 1e-9 its answers lie on the curve.",
    )


def _budgets(claims: Iterable[Claim]) -> tuple[float, ...]:
    return _percent(claim.fraction for claim in claims)


def _percent(shares: Iterable[float]) -> tuple[float, ...]:
    return tuple(100.0 * share for share in shares)


if __name__ == "__main__":
    if "--perturb" in sys.argv[1:]:
        sys.exit(perturb())
    if "--record" in sys.argv[1:]:
        record()
    (HERE / "claims.svg").write_text(standalone(draw()), encoding="utf-8")
