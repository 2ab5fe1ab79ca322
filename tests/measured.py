"""A row of a study for tests of what is made of rows."""

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement

HOME = "/" + "/".join(("home", "someone"))
ORIGIN = {
    "traceback": f"File {HOME}/secret.py",
    "machine": {"processor": "fast", "host": "secret-host"},
    "versions": {"numpy": "2.0"},
    "commit": "abcdef0123456789",
}
"""Where a row comes from; nothing published may show the folder, the host or the traceback."""


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


def timeout(backend="tilt", size=8, seconds=1.0, **fields):
    """An attempt at a single sensor of `size` bins that ended at its time limit."""
    given = {
        "problem": f"paper-single:bins={size}",
        "parameters": {"bins": size},
        "budget_word": "fraction=0.5",
        "budget_nats": 0.01,
        "outcomes": size,
        "bayes_leakage_nats": 0.02,
        "problem_hash": f"h{size}",
        "backend": backend,
        "status": Status.TIMED_OUT,
        "solve_seconds": seconds,
        "time_limit_seconds": 10.0,
    }
    return measurement(**given | fields)


def answer(backend="tilt", size=8, seconds=1.0, *, ratio=0.5, **fields):
    """One that was called optimal; it leaks `ratio` times its budget, and violates it above 1."""
    given = {
        "status": Status.CERTIFIED if ratio <= 1.0 else Status.VIOLATED_PRIVACY,
        "claimed": "optimal",
        "upper": 0.2,
        "lower": 0.2,
        "relative_gap": 1e-12,
        "own_leakage_nats": 0.01 * ratio,
    }
    return timeout(backend, size, seconds, **given | fields)
