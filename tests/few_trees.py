"""Boosted classifiers of few and small trees, for tests that need any classifier of people."""

from discreet.people import probabilities


def grow_few_trees(patch):
    """The classifiers that are fitted by default have eight trees of seven leaves."""
    boosting = probabilities._boosting
    few = {
        "max_iter": 8,
        "max_leaf_nodes": 7,
        "learning_rate": 0.1,
        "early_stopping": False,
    }
    patch.setattr(probabilities, "_boosting", lambda *asked: boosting(*asked).set_params(**few))
