"""Parameters that are more instances of a law, for `.ci/run` only."""

import pytest


def mostly_in_the_gate(values, *plain):
    """The values as parameters; all but the plain ones have the marker `gate`."""
    return [
        value if value in plain else pytest.param(value, marks=pytest.mark.gate) for value in values
    ]
