"""Problems of random laws for tests, under a share of what their Bayes rule leaks, and answers that
have to be certified.
"""

import math

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt.model import model_of
from discreet.judge import certify
from discreet.measures import GLeakage
from discreet.measures.registry import MEASURES

GAIN = str(GLeakage([[1.0, 0.0, 0.3], [0.2, 1.0, 0.0], [0.5, 0.5, 0.5], [0.0, 0.1, 2.0]]))
TEXTS = [{"sibson": "sibson:alpha=2", "g-leakage": GAIN}.get(name, name) for name in MEASURES]
"""Every measure, for three private values."""


def at_share(problem, share, unbounded=1.0):
    """The problem with a budget of this share of what its Bayes rule leaks, or of `unbounded` nats
    where that is infinite.
    """
    leaked = problem.bayes_leakage
    return problem.with_budget(share * (leaked if math.isfinite(leaked) else unbounded))


def under(joint, measure, share, unbounded=1.0):
    """The problem of a law p(x, y, z) under such a budget of a measure."""
    return at_share(ds.Problem.from_joint(joint, math.inf, measure=measure), share, unbounded)


def of_secrets(joint, *constraints):
    """The problem of a law p(x, x', y, z); each constraint says whose it is, 0 for X, 1 for X' and
    2 for X given Y, then its budget and perhaps its measure.
    """
    secrets = (
        joint.sum(axis=(1, 2)),
        joint.sum(axis=(0, 2)),
        joint.sum(axis=1).transpose(1, 0, 2),
    )
    stated = [ds.Constraint(secrets[which], *limit) for which, *limit in constraints]
    loss = ds.Problem.from_joint(joint.sum(axis=0), 0.0).loss
    return ds.Problem(loss=loss, constraints=stated)


def model_at(problem):
    """What the interior point solves for a gap of 1e-9."""
    return model_of(problem, Precision.of(problem, 1e-9))


def certificate_of(problem, point):
    """What the judge proves of a point of the native solver."""
    return certify(problem, point.columns, point.tilt, point.multipliers).certificate


def assert_certified(problem, backend="auto", **options):
    """The solution, whose status is certified."""
    found = ds.solve(problem, backend, **options)
    assert found.status is ds.Status.CERTIFIED, found
    return found
