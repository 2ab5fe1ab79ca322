"""What guesses do to the people who got them, for tests."""

import discreet as ds


def evaluated(guesses, truths, hidden, **asked):
    """The evaluation of these guesses."""
    return ds.evaluate(guesses, None, truths, sensitive_features=hidden, **asked)
