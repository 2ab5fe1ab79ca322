"""A constraint in the plural form is the plain form, and a constraint that is stated twice changes
nothing.

For every backend, every measure that it serves and every kind of budget, the same model is given
with `budget=` and with `constraints=[...]`. The certified brackets must agree to the accuracy of
the backend. A backend for several constraints must also agree if the constraint is given twice.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from left_out import LEFT_OUT

from discreet.backends.contract import Kind
from discreet.backends.registry import backend_names, capabilities
from discreet.backends.run import solve
from discreet.problems.certificate import Certificate
from discreet.problems.constraint import Constraint
from discreet.problems.measures import GLeakage
from discreet.problems.measures.registry import CONDITIONAL, MEASURES
from discreet.problems.problem import Problem

BACKENDS = [name for name in backend_names(Kind.ARRAYS) if name not in LEFT_OUT]
PARAMETERS = {
    "sibson": "sibson:alpha=1.5",
    "g-leakage": str(GLeakage([[1.0, 0.0], [0.2, 1.0]])),
}
MEASURES_HERE = [PARAMETERS.get(name, name) for name in (*MEASURES, *CONDITIONAL)]
BUDGETS = {"perfect": 0.0, "positive": 0.2, "none": math.inf}
JOINT = np.random.default_rng(5).dirichlet(np.full(2 * 2 * 5, 0.7)).reshape(2, 2, 5)  # p(x, y, z)
LOSS = JOINT.sum(axis=(0, 1)) - JOINT.sum(axis=0)


def constraint(measure: str, kind: str) -> Constraint:
    """A budget of one kind; a positive one is a fifth of the Bayes leakage, or of two nats."""
    rows = JOINT.transpose(1, 0, 2) if measure in CONDITIONAL else JOINT.sum(axis=1)
    budget = BUDGETS[kind]
    if kind == "positive":
        most = Problem(rows, LOSS, math.inf, measure=measure).bayes_leakage
        budget *= most if math.isfinite(most) else 2.0
    return Constraint(rows, budget, measure)


def certificate(problem: Problem, backend: str) -> Certificate:
    found = solve(problem, backend, time_limit=120.0)
    assert found.certificate is not None, found.message
    return found.certificate


def agree(one: Certificate, other: Certificate) -> bool:
    """Whether neither bracket excludes the other, and both are as narrow within a factor of ten."""
    if one.excludes(other) or other.excludes(one):
        return False
    spare = 1e-12 * max(one.upper, other.upper)
    return one.gap <= 10.0 * other.gap + spare and other.gap <= 10.0 * one.gap + spare


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_constraint_in_the_plural_form_is_the_plain_form(backend: str) -> None:
    able = capabilities()[backend]
    for measure, kind in itertools.product(MEASURES_HERE, BUDGETS):
        only = constraint(measure, kind)
        plain = Problem(only.p_xz, LOSS, only.budget, measure=measure)
        plural = Problem(loss=LOSS, constraints=[only])
        assert plain.digest == plural.digest
        assert able.refusal(plain) == able.refusal(plural)
        if able.refusal(plain):
            continue
        judged = certificate(plural, backend)
        assert agree(judged, certificate(plain, backend)), (measure, kind)
        assert len(judged.terms) == 1


@pytest.mark.parametrize("backend", [name for name in BACKENDS if capabilities()[name].several])
def test_a_constraint_that_is_stated_twice_changes_nothing(backend: str) -> None:
    able = capabilities()[backend]
    for measure, kind in itertools.product(MEASURES_HERE, BUDGETS):
        only = constraint(measure, kind)
        twice = Problem(loss=LOSS, constraints=[only, only])
        if able.refusal(twice):
            continue
        once = certificate(Problem(loss=LOSS, constraints=[only]), backend)
        judged = certificate(twice, backend)
        assert not judged.excludes(once), (measure, kind)
        assert not once.excludes(judged), (measure, kind)
        assert judged.upper <= once.upper + 2e-6 * once.upper, (measure, kind)
        assert len(judged.terms) == 2
