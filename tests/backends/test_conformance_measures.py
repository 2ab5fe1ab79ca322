"""Every backend under every measure of leakage that it declares, and under several constraints,
judged alike.

What is asserted is what the judge finds on small problems: an estimator within its budgets, a
bracket as narrow as the class of methods promises where the backend gives duals, and brackets that
overlap those of all others. What a backend does not declare, it refuses in a sentence.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from left_out import LEFT_OUT

from discreet.backends.contract import ACCURACY, Kind
from discreet.backends.registry import backend_names, capabilities
from discreet.backends.run import solve
from discreet.backends.solution import Solution, Status
from discreet.problems.certificate import Certificate
from discreet.problems.constraint import Constraint
from discreet.problems.measures import GLeakage
from discreet.problems.measures.registry import CONDITIONAL, MEASURES
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

# auto asks the others
BACKENDS = [name for name in backend_names(Kind.ARRAYS) if name not in {"auto", *LEFT_OUT}]
PARAMETERS = {
    "sibson": ["sibson:alpha=1.5", "sibson:alpha=8"],
    "g-leakage": [str(GLeakage([[1.0, 0.0, 0.3], [0.2, 1.0, 0.0], [0.0, 0.1, 2.0]]))],
}
TEXTS = [text for name in [*MEASURES, *CONDITIONAL] for text in PARAMETERS.get(name, [name])]
# p(x, another x, y, z)
JOINT = np.random.default_rng(8).dirichlet(np.full(3 * 2 * 3 * 8, 0.6)).reshape(3, 2, 3, 8)
LOSS = JOINT.sum(axis=(0, 1, 2)) - JOINT.sum(axis=(0, 1))
ROWS: dict[bool, Array] = {
    True: JOINT.sum(axis=1).transpose(1, 0, 2),
    False: JOINT.sum(axis=(1, 2)),
}
OTHER = JOINT.sum(axis=(0, 2))
SEVERAL = {
    "linear": ("maximal-leakage", "parity-difference"),
    "linear, one for each guess": ("total-variation", "max-lift"),
    "the same": ("mutual-information", "mutual-information"),
    "smooth": ("sibson:alpha=2", "chi-square"),
    "smooth and linear": ("pointwise-information", "total-variation"),
    "conditional": ("conditional-mutual-information", "total-variation"),
    "perfect and linear": ("perfect", "local-differential-privacy"),
    "perfect and smooth": ("perfect", "mutual-information"),
}
FEW = 1e-7
"""Gap of cones and other methods of fewer digits here, where budgets are a fifth of what the Bayes
rule leaks.
"""


def constraint(rows: Array, measure: str, fraction: float) -> Constraint:
    """A budget of a fraction of what the Bayes rule leaks, or of 2 nats where that is no number."""
    if measure == "perfect":
        return Constraint(rows, 0.0)
    most = Problem(rows, LOSS, math.inf, measure=measure).bayes_leakage
    return Constraint(rows, fraction * (most if math.isfinite(most) else 2.0), measure)


@cache
def problem_of(case: str) -> Problem:
    """The problem of a measure, or of two constraints by name."""
    if case in SEVERAL:
        first, second = SEVERAL[case]
        rows = ROWS[first in CONDITIONAL], OTHER
        given = [
            constraint(*each)
            for each in zip(
                rows[:: -1 if first == "perfect" else 1], (first, second), (0.3, 0.2), strict=True
            )
        ]
        return Problem(loss=LOSS, constraints=given)
    only = constraint(ROWS[case in CONDITIONAL], case, 0.2)
    return Problem(only.p_xz, LOSS, only.budget, measure=only.measure)


@cache
def solution_of(name: str, case: str) -> Solution:
    return solve(problem_of(case), name, time_limit=600.0)


def serving(case: str) -> list[str]:
    return [name for name in BACKENDS if not capabilities()[name].refusal(problem_of(case))]


def certificate_of(name: str, case: str) -> Certificate:
    solution = solution_of(name, case)
    assert solution.certificate is not None, solution.message
    return solution.certificate


@pytest.mark.parametrize("name", BACKENDS)
def test_what_a_backend_declares_is_certified_or_bracketed_and_the_rest_refused(name: str) -> None:
    for case in (*TEXTS, *SEVERAL):
        check(name, case)


def check(name: str, case: str) -> None:
    """The law for one case."""
    problem = problem_of(case)
    able = capabilities()[name]
    solution = solution_of(name, case)
    if name not in serving(case):
        assert solution.status is Status.UNSUPPORTED
        several = len(problem.terms) > 1 and not able.several
        assert (
            ("does not serve several constraints") if several else "does not serve"
        ) in solution.message
        return
    judged = certificate_of(name, case)
    estimator = np.asarray(solution.estimator)
    np.testing.assert_allclose(estimator.sum(axis=0), 1.0, rtol=1e-14)
    for term, leakage in zip(problem.terms, problem.leakages(estimator), strict=True):
        assert leakage <= max(term.budget.amount, 1e-15)
    assert (
        judged.lower
        <= judged.upper
        == pytest.approx(problem.error_probability(estimator), rel=1e-13)
    )
    if able.gives_duals:
        assert judged.relative_gap <= max(FEW, ACCURACY[able.method_class].gap[0]), solution
        assert np.shape(solution.multipliers) == (len(problem.terms),)


@pytest.mark.parametrize("case", [*TEXTS, *SEVERAL])
def test_brackets_overlap_and_some_backend_knows_the_optimum(case: str) -> None:
    judged = [certificate_of(name, case) for name in serving(case)]
    assert not any(one.excludes(other) for one, other in itertools.permutations(judged, 2))
    lower = max(each.lower for each in judged)
    upper = min(each.upper for each in judged)
    assert upper - lower <= 1e-9 * upper
    assert problem_of(case).bayes_error < lower
    assert upper < problem_of(case).constant_error * (1.0 - 1e-6)


def test_every_measure_is_served_and_every_declared_measure_exists() -> None:
    declared = {name: capabilities()[name].measures for name in BACKENDS}
    assert set().union(*declared.values()) == {*MEASURES, *CONDITIONAL} - {"mutual-information"}
    assert all(len(serving(case)) > 1 for case in [*TEXTS, *SEVERAL])
