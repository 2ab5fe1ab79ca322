"""Which parameters of a test run in the README's line, too."""

import pytest


def gated(values, quick=1):
    """Parameters of a test; those after the first few are more instances of a law, for the gate."""
    return [
        each if number < quick else pytest.param(*_listed(each), marks=pytest.mark.gate)
        for number, each in enumerate(values)
    ]


def _listed(value):
    return value if isinstance(value, tuple) else [value]
