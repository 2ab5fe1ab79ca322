"""A search refuses models whose guesses leak more than the budget."""

import numpy as np
import pytest
import sklearn
from refusals import raises_input_error
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import discreet as ds

RNG = np.random.default_rng(0)
SEEN = RNG.normal(size=(600, 1))
GROUP = np.where(SEEN[:, 0] + 0.3 * RNG.normal(size=600) > 0, "a", "b")
TRUTH = np.where(SEEN[:, 0] + RNG.normal(size=600) > -0.5, "yes", "no")
MODELS = [DummyClassifier(), LogisticRegression()]


def scores(budget, sensitive_features=GROUP, **more):
    """Of a constant and of a model that leaks."""
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = ds.leakage_scorer(budget, **more)
        search = GridSearchCV(Pipeline([("model", None)]), {"model": MODELS}, scoring=scorer, cv=2)
        search.fit(SEEN, TRUTH, sensitive_features=sensitive_features)
    return search.cv_results_["mean_test_score"]


def test_a_model_that_leaks_too_much_is_refused():
    with pytest.warns(UserWarning, match="non-finite"):
        constant, leaking = scores(0.05)
    assert 0.5 < constant < 1.0
    assert np.isnan(leaking)
    constant, leaking = scores(1.0)
    assert constant < leaking < 1.0


def test_with_a_confidence_the_budget_must_be_shown():
    """By 300 people of a fold, who cannot show so little of a constant guess either."""
    with pytest.warns(UserWarning, match="non-finite"):
        assert np.isnan(scores(1e-4, confidence=0.95)).all()
    assert np.isfinite(scores(0.69, confidence=0.95)).all()


def test_each_sensitive_column_may_have_a_budget():
    hidden = {"group": GROUP, "coin": RNG.integers(0, 2, 600)}
    table = np.column_stack([hidden["group"] == "a", hidden["coin"]])
    with pytest.warns(UserWarning, match="non-finite"):
        assert np.isnan(scores({0: 0.05, 1: 0.5}, table)[1])
    assert np.isfinite(scores({1: 0.5}, table)).all()


def test_without_metadata_routing_it_says_what_to_do():
    with raises_input_error("enable_metadata_routing"):
        ds.leakage_scorer(0.05)
