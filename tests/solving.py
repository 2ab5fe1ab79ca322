"""Problems under a share of what their Bayes rule leaks, and answers that have to be certified."""

import math

import discreet as ds

__all__ = ["at_share", "certified"]


def at_share(problem, share, unbounded=1.0):
    """The problem with a budget of this share of what its Bayes rule leaks, or of `unbounded` nats
    where that is infinite.
    """
    leaked = problem.bayes_leakage
    return problem.with_budget(share * (leaked if math.isfinite(leaked) else unbounded))


def certified(problem, backend="auto", **options):
    """The solution, whose status is certified."""
    found = ds.solve(problem, backend, **options)
    assert found.status is ds.Status.CERTIFIED, found
    return found
