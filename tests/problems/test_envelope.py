"""Laws of the envelopes: convex, non-increasing, in order, around the truth, and tighter with every
certificate.
"""

import itertools
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_laws import nearly_independent
from refusals import raises_input_error
from strategies import budgets, estimators, problems, tilts

from discreet import frontier
from discreet.judge import certify
from discreet.problems.catalog import build
from discreet.problems.envelope import Bound, Scale, envelope_of

MODELS = problems(inf, general=False)
BUDGETS = budgets.filter(np.isfinite)
KINDS = st.lists(st.integers(0, 3), max_size=4)
MULTIPLIERS = st.floats(0.0, 1e3)


@st.composite
def judged(draw):
    """A model and a few certificates of it at drawn budgets, from any estimators, with and without
    any duals.
    """
    model = draw(MODELS)
    bounds = []
    for kind in draw(KINDS):
        problem = model.with_budget(
            draw(BUDGETS) * (max(model.bayes_leakage, 1e-300) if kind % 2 else 1.0)
        )
        duals = (draw(tilts((model.m, model.n))), draw(MULTIPLIERS)) if kind >= 2 else ()
        verdict = certify(problem, draw(estimators((model.m, model.N))), *duals)
        bounds.append(
            Scale.of(model).bound(verdict.certificate, verdict.multipliers, problem.budget)
        )
    return model, bounds


def places(model, bounds, found):
    """Budgets to check: all known ones, some between and around them, and some beyond."""
    known = [
        0.0,
        5e-324,
        model.bayes_leakage,
        found.horizon,
        2.0 * found.horizon + 1.0,
        *(bound.budget for bound in bounds),
    ]
    known += [float(budget) for budget in found.candidates()[0]]
    ordered = np.unique(known)
    return np.unique(
        np.concatenate(
            [ordered, 0.5 * (ordered[1:] + ordered[:-1]), found.horizon * np.linspace(0, 1, 17)]
        )
    )


@given(judged(), st.data())
def test_laws_of_envelopes(drawn, data):
    """Every law is asked of every model, since to judge its estimators takes longer than all of
    them.
    """
    model, bounds = drawn
    found = envelope_of(model, bounds)
    in_order_and_not_increasing(model, bounds, found)
    convex_above_in_exact_arithmetic(found)
    convex_below(bounds, found)
    as_tight_as_every_certificate(model, bounds, found)
    over_no_estimator(model, data.draw(estimators((model.m, model.N))), found)
    no_wider_with_more_certificates(model, bounds, found)
    nowhere_wider_than_at_its_candidates(found)


def in_order_and_not_increasing(model, bounds, found):
    at = places(model, bounds, found)
    upper = found.upper(at)
    lower = found.lower(at)
    assert (lower <= upper).all()
    slack = 1e-14 * upper[:-1]  # each value is rounded on its own
    assert (np.diff(upper) <= slack).all()
    assert (np.diff(lower) <= slack + 1e-300).all()
    assert (found.width(at) >= 0.0).all()


def convex_above_in_exact_arithmetic(found):
    corners = [(Fraction(x), Fraction(y)) for x, y in found.vertices.tolist()]
    assert corners[0][0] == 0
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(corners)]
    assert all(slope < 0 for slope in slopes)
    # The hull is built in floating point: of three points that are in line up to rounding, the
    # middle one may be kept.
    assert all(a <= b * (1 - Fraction(1, 2**40)) for a, b in itertools.pairwise(slopes))


def convex_below(bounds, found):
    ends = [
        0.0,
        *(bound.budget for bound in bounds if bound.budget <= found.horizon),
        found.horizon,
    ]
    for a in ends:
        for b in ends:
            values = found.lower([a, 0.5 * (a + b), b])
            if a > 0.0 and b > 0.0:  # only at budget 0 may the function jump up
                assert values[1] <= 0.5 * (values[0] + values[2]) + 1e-13 * found.upper(0.0)


def as_tight_as_every_certificate(model, bounds, found):
    for bound in bounds:
        assert found.upper(max(bound.budget, bound.reached_at)) <= bound.upper * (1.0 + 1e-14)
        if 0.0 < bound.budget <= found.horizon:
            rounding = 1e-13 * (bound.lower + min(bound.multiplier, 1e300) * found.horizon)
            assert found.lower(bound.budget) >= bound.lower - rounding
    assert found.upper(0.0) <= model.constant_error * (1.0 + 1e-14)
    assert found.upper(found.horizon) <= model.bayes_error * (1.0 + 1e-14) or found.horizon == 0.0
    assert found.lower(inf) <= model.bayes_error


def over_no_estimator(model, estimator, found):
    leakage = model.output_law(estimator).leakage_ceiling(1e-15)
    assert model.error_probability(estimator) >= found.lower(leakage) * (1.0 - 1e-12)


def no_wider_with_more_certificates(model, bounds, many):
    few = envelope_of(model, bounds[:-1])
    at = places(model, bounds, many)
    slack = 1e-13 * few.upper(0.0)
    # Exact privacy may cost more than a rounded estimator.
    raised = max(0.0, float(many.upper(0.0) - few.upper(0.0)))
    assert raised <= 1e-9 * few.upper(0.0)
    assert (many.upper(at) <= few.upper(at) + slack + raised).all()
    assert (many.lower(at) >= few.lower(at) - slack).all()


def nowhere_wider_than_at_its_candidates(found):
    budget, width = found.candidates()
    assert (np.diff(width) <= 0.0).all()
    assert ((budget >= found.start) & (budget <= found.horizon)).all()
    dense = found.width(np.maximum(found.start, found.horizon * np.linspace(0.0, 1.0, 301) ** 2))
    assert dense.max() <= width[0] + 1e-12 * found.upper(0.0)


def test_a_single_tangent_is_followed_on_both_sides():
    model = build("paper-single", bins=16)
    bound = Bound(0.005, 0.09, 0.1, 2.0)
    found = envelope_of(model, [bound])
    assert found.lower([0.004, 0.005, 0.006]) == pytest.approx([0.092, 0.09, 0.088], rel=1e-12)
    assert found.upper([0.005, 0.01]) == pytest.approx(
        [0.1, 0.1 + (model.bayes_error - 0.1) * (0.01 - 0.005) / (model.bayes_leakage - 0.005)],
        rel=1e-9,
    )


def test_a_lower_bound_of_zero_gives_no_tangent():
    model = build("paper-single", bins=16)
    assert envelope_of(model, [Bound(0.005, 0.0, 0.1, 1e6)]).tangents.shape[0] == 1


def test_an_answer_private_within_a_number_counts_at_what_it_leaks():
    """p(z given x) = ½(1 ± 2e-14), Y = Z: the Bayes rule errs 0 and leaks 2e-28 nats; exactly
    private is only ½.
    """
    model = nearly_independent(2e-14)
    certificate = certify(model, model.bayes_estimator).certificate
    assert certificate.upper == 0.0 < certificate.private_within
    found = envelope_of(model, [Scale.of(model).bound(certificate, np.array([inf]), 0.0)])
    assert found.upper(0.0) == pytest.approx(0.5, rel=1e-14)
    assert found.upper(found.start) == 0.0 < model.leakage(model.bayes_estimator) <= found.start
    assert found.candidates()[1].max() == 0.0
    curve = frontier(model)
    assert curve.width == 0.0
    assert curve.rows[0].private_within == certificate.private_within


@pytest.mark.parametrize("bad", [-1.0, nan, [0.1, -1e-9]])
def test_an_invalid_budget_is_refused(bad):
    found = envelope_of(build("paper-single"), ())
    for side in (found.upper, found.lower, found.width):
        with raises_input_error("numbers ≥ 0"):
            side(bad)
