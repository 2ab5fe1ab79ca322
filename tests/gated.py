"""Which parameters of a test run in the README's line, too."""

import pytest


def gated(values, quick=1):
    """Parameters of a test; those after the first few are more instances of a law, for the gate."""
    parameters = []
    for each in values:
        arguments = each if isinstance(each, tuple) else [each]
        marks = [] if len(parameters) < quick else [pytest.mark.gate]
        parameters.append(pytest.param(*arguments, marks=marks))
    return parameters
