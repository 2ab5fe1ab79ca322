"""A row of a study for tests of what is made of rows."""

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement


def measurement(**fields):
    """A certified attempt without an answer, with other values of some fields."""
    given = {
        "study": "s",
        "cell": "abc",
        "problem": "paper-single:bins=4",
        "entry": "paper-single",
        "family": "paper",
        "parameters": {"bins": 4},
        "budget_word": "perfect",
        "budget_nats": 0.0,
        "private_values": 2,
        "guesses": 2,
        "outcomes": 4,
        "bayes_error": 0.1,
        "bayes_leakage_nats": 0.1,
        "constant_error": 0.5,
        "problem_hash": "h",
        "backend": "tilt",
        "settings": {},
        "settings_hash": "k",
        "profile": "default",
        "gap_target": 1e-9,
        "repeat": 0,
        "status": Status.CERTIFIED,
    }
    return Measurement(**given | fields)
