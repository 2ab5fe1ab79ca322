"""A scorer for the searches of scikit-learn: accuracy, unless the guesses leak too much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.people.counting import evaluate


def leakage_scorer(
    budget: float | Mapping[Any, float],
    *,
    measure: str | Measure | Mapping[Any, str | Measure] = "mutual-information",
    confidence: float | None = None,
) -> Any:
    """A scorer for `GridSearchCV` and its kin: one less the share of wrong guesses, and NaN, which
    ranks last, for a model whose guesses leak more than the budget about the people of a fold.

    budget, measure   of leakage, or by name of each sensitive column
    confidence        refuse also models that are not shown to keep the budget for people, with this
                      confidence in each fold; by default what a fold shows is compared

    The scorer asks for the metadata `sensitive_features`, so metadata routing must be enabled.
    Raises InputError where it is not.
    """
    from sklearn import get_config
    from sklearn.metrics import make_scorer

    if not get_config()["enable_metadata_routing"]:
        fault = "the scorer is passed the sensitive features by metadata routing, which is off"
        raise InputError(f"{fault}; call sklearn.set_config(enable_metadata_routing=True) first")
    scorer = make_scorer(_score, budget=budget, measure=measure, confidence=confidence)
    return scorer.set_score_request(sensitive_features=True)


def _score(
    truth: Any,
    guesses: Any,
    *,
    sensitive_features: Any,
    budget: Any,
    measure: Any,
    confidence: float | None,
) -> float:
    evaluation = evaluate(
        guesses,
        None,
        truth,
        sensitive_features=sensitive_features,
        measure=measure,
        confidence=0.95 if confidence is None else confidence,
    )
    kept = evaluation.keeps(budget) if confidence is None else evaluation.holds(budget)
    return 1.0 - evaluation.error.estimate if kept else math.nan
