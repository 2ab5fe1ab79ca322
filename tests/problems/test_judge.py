"""The judge: the bracket holds the optimum for any input, its repair makes any matrix a feasible
estimator and any duals feasible, and the gap is the sum of the KKT residuals.
"""

import math
from fractions import Fraction
from functools import partial
from math import inf, nan
from types import SimpleNamespace

import exactly
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from judging import assert_bound_proven, assert_optimum_bracketed, lower_bound
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from random_laws import random_columns, random_joint, random_problem
from refusals import raises_input_error
from solving import at_share
from strategies import anything, budgets, estimators, finite_tilts, garbage, problems, tilts

import discreet as ds
from discreet.backends import Status, run
from discreet.backends.repairs import private_versions
from discreet.backends.solution import derive_status
from discreet.judge import certify, conclusion
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.measures.law import phi_residual
from discreet.numerics.estimators import column_error, normalise
from discreet.numerics.rounding import LARGEST_TILT
from discreet.numerics.tilted_losses import dd_label_doubt, in_order_losses, label_doubt
from discreet.problems import Certificate, KKTResiduals, Problem, TermLeakage, blend
from discreet.problems.duals import feasible_duals, feasible_for

_POSITIVE = budgets.filter(lambda budget: budget > 0.0)


def _assert_proven(problem, verdict):
    """Check every claim of a certificate with exact arithmetic."""
    judged = verdict.certificate
    assert 0.0 <= judged.lower <= judged.upper
    for normalised in (False, True):
        error = exactly.error_probability(problem, verdict.estimator, normalised)
        assert error <= Fraction(judged.upper)
        assert exactly.leakage(problem, verdict.estimator, normalised) <= judged.leakage_ceiling
    assert judged.leakage <= judged.leakage_ceiling
    if problem.constraint.perfect:
        assert exactly.distance(problem, verdict.estimator) <= PRIVATE_LIMIT
        assert_optimum_bracketed(problem, judged)
    elif not problem.constraint.oblivious:
        assert judged.leakage_ceiling <= problem.budget  # and so is what leaks exactly
    assert_bound_proven(problem, verdict)


# -- any input
# --------------------------------------------------------------------------------------------------


@given(st.data())
def test_certificates_are_proofs_for_arbitrary_input(data):
    problem = data.draw(problems())
    shape = (problem.m, problem.N)
    tilt = data.draw(st.one_of(st.none(), tilts((problem.m, problem.n))))
    multiplier = data.draw(st.one_of(st.none(), st.floats(0.0, 5.0), anything))
    anchors = data.draw(st.lists(garbage(shape), max_size=1))
    verdict = certify(
        problem,
        data.draw(st.one_of(garbage(shape), estimators(shape))),
        tilt,
        multiplier,
        anchors=anchors,
    )
    _assert_proven(problem, verdict)
    assert np.isfinite(verdict.tilt).all()
    assert verdict.multiplier >= 0.0


@given(st.data())
def test_given_duals_never_widen_the_bracket(data):
    problem = data.draw(problems(_POSITIVE))
    estimator = data.draw(estimators((problem.m, problem.N)))
    without = certify(problem, estimator).certificate
    with_them = certify(
        problem, estimator, data.draw(tilts((problem.m, problem.n))), data.draw(anything)
    ).certificate
    assert with_them.upper == without.upper
    assert with_them.lower >= without.lower or with_them.relative_gap <= 1e-9


# -- precision and edges
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dependence", [1e-3, 1e-7, 1e-12])
def test_tiny_leakages_are_judged_relative_to_their_budget(dependence):
    """X and Z nearly independent, leakages down to 1e-28 nats: nothing is lost but what rounded
    columns can leak.
    """
    rng = default_rng(5)
    w = rng.dirichlet(np.ones(10))
    tells = 1.0 + dependence * np.array([[0.7], [-0.3]]) * rng.uniform(-1, 1, 10)
    p_xz = np.array([[0.3], [0.7]]) * w * tells
    right = rng.random(10)
    problem = Problem(p_xz, np.array([right, 1 - right]) * p_xz.sum(axis=0), inf)
    problem = problem.with_budget(0.25 * problem.bayes_leakage)
    verdict = certify(problem, problem.bayes_estimator)
    _assert_proven(problem, verdict)
    assert verdict.certificate.leakage >= (1 - 4e-15 / math.sqrt(problem.budget)) * problem.budget
    assert verdict.certificate.upper < problem.constant_error


@pytest.mark.parametrize("budget", [0.0, 0.01, inf])
def test_loss_that_is_zero_everywhere(budget):
    problem = Problem([[0.3, 0.2], [0.1, 0.4]], np.zeros((2, 2)), budget)
    judged = certify(problem, np.eye(2)).certificate
    assert (judged.lower, judged.upper, judged.relative_gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-30, 1e90])
def test_losses_of_any_size(scale):
    rng = default_rng(1)
    p_xz = random_joint(rng, 2, 4)
    for budget in (0.0, 0.01, inf):
        problem = Problem(p_xz, scale * rng.random((3, 4)), budget)
        verdict = certify(
            problem, problem.bayes_estimator, scale * rng.uniform(-1, 1, (3, 2)), scale
        )
        _assert_proven(problem, verdict)
        assert certify(problem, problem.bayes_estimator).certificate.lower > 0.0


def test_rare_outcomes_with_large_losses():
    problem = Problem([[1.0, 5e-324], [0.0, 1e-310]], [[0.0, 1.0], [1.0, 0.0]], 0.1)
    verdict = certify(problem, np.full((2, 2), 0.5))
    _assert_proven(problem, verdict)
    assert verdict.certificate.kkt.worst_entry == inf


def test_nearly_independent_data_at_budget_zero_is_consistent():
    """Φ is not zero, but less than what counts as zero: the bound must hold for estimators that use
    the difference.
    """
    w = np.full(4, 0.25)
    p_xz = (
        np.array([[0.5], [0.5]])
        * w
        * (1 + 1e-14 * np.array([[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0]]))
    )
    loss = [[0.25, 0.0, 0.25, 0.0], [0.0, 0.25, 0.0, 0.25]]
    problem = Problem(p_xz, loss, 0.0)
    for size in (1.0, 1e13, 1e15):
        judged = certify(
            problem, problem.bayes_estimator, size * np.array([[1.0, -1.0], [-1.0, 1.0]])
        ).certificate
        assert judged.lower <= judged.upper == 0.0


def test_the_certificate_of_a_violated_budget_reports_the_given_answer():
    problem = random_problem(4, budget=1e-3)
    judged = certify(problem, problem.bayes_estimator).certificate
    assert judged.own_leakage == pytest.approx(problem.bayes_leakage)
    assert judged.own_error == pytest.approx(problem.bayes_error)
    assert judged.own_leakage_ratio == pytest.approx(problem.bayes_leakage / 1e-3)
    assert 0.0 < judged.blend <= 1.0
    assert judged.leakage <= 1e-3
    assert (
        certify(problem.with_budget(0.0), problem.bayes_estimator).certificate.own_leakage_ratio
        == inf
    )
    assert (
        certify(problem.with_budget(inf), problem.bayes_estimator).certificate.own_leakage_ratio
        == 0.0
    )


@pytest.mark.parametrize(
    "lower, upper, status",
    [
        (0.0, 1e-150, Status.CERTIFIED),
        (0.0, 5e-324, Status.CERTIFIED),
        (0.0, 1e-90, Status.INACCURATE),
        (1e-90, 1e-90 * (1.0 + 1e-8), Status.INACCURATE),
        (1e-90, 1e-90 * (1.0 + 1e-10), Status.CERTIFIED),
    ],
)
def test_an_error_probability_that_is_negligible_is_certified(lower, upper, status):
    """A relative gap does not tell two error probabilities apart of which both are
    practically 0.
    """
    kept = TermLeakage(
        1.0, "mutual-information", 0.0, 0.0, 0.0, 0.0, own_budget_kept=True, perfect=False
    )
    nothing = KKTResiduals(0.0, 0.0, 0.0, 0.0)
    judged = Certificate(lower, upper, 0.0, inf, 0.0, 0.0, 0.0, inf, nothing, (kept,))
    assert derive_status(judged, 1e-9) is status


@pytest.mark.parametrize(
    "estimator, tilt, words",
    [
        (np.ones((2, 3)), None, r"estimator .*\[2, 3\] .*\[2, 4\]"),
        (np.ones((2, 4)), np.ones((4, 2)), r"tilt .*\[4, 2\] .*\[2, 2\]"),
        (np.ones((2, 4), dtype=complex), None, "estimator"),
        (np.full((2, 4), "a"), None, "estimator"),
        (np.full((2, 4), None), np.full((2, 2), object()), "tilt"),
    ],
)
def test_input_that_cannot_be_judged_is_refused(estimator, tilt, words):
    with raises_input_error(words):
        certify(random_problem(4, budget=0.1), estimator, tilt, 1.0)


def test_arguments_are_not_changed():
    problem = random_problem(4)
    estimator = np.array(problem.bayes_estimator)
    tilt = np.ones((2, 2))
    before = estimator.copy()
    verdict = certify(problem, estimator, tilt, 1.0, anchors=[estimator])
    assert_array_equal(estimator, before)
    assert_array_equal(tilt, 1.0)
    assert verdict.estimator.flags.writeable


@given(st.data())
def test_a_wrong_repair_makes_the_bracket_wide_and_never_wrong(data):
    """The search for repairs is not trusted: with nonsense in its place every certificate is still
    true.
    """
    problem = data.draw(problems())
    rng = default_rng(data.draw(st.integers(0, 1000)))
    garbled = random_columns(rng, problem.m, problem.N)

    def somewhere(*_):
        return data.draw(st.sampled_from([None, 0.0, 1e-9, 0.5, 1.0]))

    def proposals(*arguments):
        for _ in range(3):
            yield data.draw(st.integers(0, len(arguments[2]) - 1)), data.draw(st.floats(0.0, 1.0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "private_versions", lambda *_: [garbled])
        patch.setattr(
            run,
            "duals_for",
            lambda *_: iter([(rng.normal(size=(problem.m, problem.n)), float(rng.exponential()))]),
        )
        patch.setattr(blend, "least_share", somewhere)
        if data.draw(st.booleans()):
            patch.setattr(conclusion, "blends", proposals)
        judged = ds.certify(problem, problem.bayes_estimator)
    assert judged.verdict is not None
    _assert_proven(problem, judged.verdict)


def _assert_stochastic(estimator):
    assert (estimator >= 0.0).all()
    assert np.abs(estimator.sum(axis=0) - 1.0).max() <= (estimator.shape[0] + 1) * 2.0**-52


@given(st.data())
def test_feasible_estimators_are_left_alone(data):
    problem = data.draw(problems(1.0))
    own = normalise(data.draw(estimators((problem.m, problem.N))))
    law = problem.output_law(own)
    for budget in (law.leakage() * (1 + 1e-9) + 1e-15, math.inf):
        kept = certify(problem.with_budget(budget), own)
        assert kept.certificate.blend == 0.0
        assert_array_equal(kept.estimator, normalise(own))


@pytest.mark.parametrize("fraction", [0.9, 0.5, 1e-2, 1e-6, 1e-10])
def test_blend_uses_the_whole_budget(fraction):
    problem = at_share(random_problem(6), fraction)
    repaired = certify(problem, problem.bayes_estimator).certificate
    assert repaired.leakage == pytest.approx(problem.budget, rel=1e-6)
    assert repaired.leakage <= problem.budget
    assert repaired.upper < problem.constant_error


def test_least_share_is_found_when_it_is_minute():
    """A budget smaller by a relative 1e-9 costs a share of about that size."""
    problem = random_problem(6)
    own = normalise(0.9 * problem.bayes_estimator + 0.05)
    leakage = problem.leakage(own)
    repaired = certify(problem.with_budget(leakage * (1 - 1e-9)), own).certificate
    assert 0.0 < repaired.blend < 1e-8
    assert repaired.upper == pytest.approx(problem.error_probability(own), rel=1e-7)


def test_an_estimator_worse_than_a_constant_is_replaced_by_it():
    """An estimator worse than a constant is replaced by the constant, instead of being blended as
    little as possible.
    """
    problem = random_problem(6, budget=1e-4)
    worst = np.eye(2)[:, np.argmax(problem.loss, axis=0)]
    assert certify(problem, worst).certificate.upper <= problem.constant_error * (1 + 1e-14)


def test_a_valid_anchor_helps_and_an_invalid_one_is_harmless():
    problem = random_problem(8, budget=0.0)
    even = normalise(0.9 * np.full((2, 8), 0.5) + 0.1 * problem.bayes_estimator)
    (good,) = private_versions(problem, even)
    tight = problem.with_budget(1e-9)
    nonsense = (np.full((2, 8), np.nan), np.ones((1, 8)), problem.bayes_estimator, np.zeros((3, 3)))
    plain, helped, harmed = (
        certify(tight, problem.bayes_estimator, anchors=anchors)
        for anchors in ((), (good,), nonsense)
    )
    assert helped.certificate.upper <= plain.certificate.upper
    assert harmed.certificate.upper <= plain.certificate.upper * (1 + 1e-12)
    for verdict in (helped, harmed):
        assert exactly.leakage(tight, verdict.estimator) <= 1e-9


@pytest.mark.parametrize("budget", [1e-300, 1e-100, 1e-60])
def test_budgets_below_rounding_leave_a_constant(budget):
    problem = random_problem(6, budget=budget)
    repaired = certify(problem, np.full((2, 6), 0.5) + 0.1 * problem.bayes_estimator)
    assert exactly.leakage(problem, repaired.estimator) == 0
    assert column_error(repaired.estimator) == 0.0
    assert repaired.certificate.upper == pytest.approx(problem.constant_error, rel=1e-15)


@given(garbage((3, 7)))
def test_normalise_makes_columns_of_anything(matrix):
    before = matrix.copy()
    estimator = normalise(matrix)
    _assert_stochastic(estimator)
    assert_array_equal(matrix, before)
    usable = np.where(np.isfinite(matrix), np.clip(matrix, 0.0, None), 0.0)
    assert_array_equal(estimator[:, usable.max(axis=0) == 0.0], 1 / 3)


@given(estimators((3, 5)))
def test_column_error_covers_the_columns(matrix):
    estimator = normalise(matrix)
    sums = [sum(map(exactly.Fraction, column.tolist())) for column in estimator.T]
    assert max(abs(total - 1) for total in sums) <= column_error(estimator)


def test_a_guess_that_is_always_the_same_leaks_nothing_of_any_secret():
    """The totals of two secrets differ by rounding, which exceeds a budget of 1e-240."""
    joint = default_rng(0).dirichlet(np.ones(24)).reshape(2, 2, 6)
    secrets = [ds.Constraint(joint.sum(axis=k), 1e-240, "total-variation") for k in (0, 1)]
    problem = ds.Problem(loss=joint.sum(axis=1), constraints=secrets)
    solution = ds.certify(problem, [[1.0] * 6, [0.0] * 6])
    assert solution.certificate is not None
    assert [term.own_leakage_ceiling for term in solution.certificate.terms] == [0.0, 0.0]
    assert solution.certificate.own_budget_kept


def test_a_guess_that_is_always_the_same_is_private_whatever_the_prior():
    """The products of masses with a prior of 2e-316 have no digits."""
    p_xz = [[0.4, 0.6], [2e-316, 0.0]]
    problem = ds.Problem(p_xz, [[0.1, 0.2], [0.2, 0.1]], 0.0)
    certificate = ds.certify(problem, [[1.0, 1.0], [0.0, 0.0]]).certificate
    assert certificate is not None
    assert certificate.own_private_within == 0.0


def test_underflow_does_not_make_a_leaking_estimator_private():
    """p(ŷ given x_2) is 0.3 away from p(ŷ), but every product with π_2 underflows."""
    problem = ds.Problem([[0.5, 0.5], [5e-324, 0.0]], [[0.0, 0.5], [0.5, 0.0]], 0.0)
    law = problem.output_law(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert phi_residual(law) >= 0.3
    assert certify(problem, [[0.8, 0.2], [0.2, 0.8]]).certificate.phi_residual == 0.0
    rare = ds.Problem([[0.5, 0.5], [1e-310, 0.0]], [[0.0, 0.5], [0.5, 0.0]], 0.0)
    assert phi_residual(rare.output_law(np.array([[0.8, 0.2], [0.2, 0.8]]))) == pytest.approx(
        0.3, rel=1e-9
    )


_MULTIPLIERS = st.one_of(
    st.floats(0.0, 10.0),
    st.sampled_from([0.0, 1e-320, 1e-300, 1e-12, 1e5, 1e150, 1e300]),
    st.floats(0.0, allow_nan=False, allow_infinity=False),
)

_SMALL = st.sampled_from([0.0, 1e-9, 0.01])


_small = partial(random_problem, 4, m=3, seed=11)


@given(st.data())
def test_repaired_duals_are_feasible_and_their_bound_is_rounded_down(data):
    problem = data.draw(problems())
    repaired = feasible_duals(
        data.draw(finite_tilts((problem.m, problem.n))),
        data.draw(_MULTIPLIERS),
        problem.p_x,
        problem.budget,
    )
    tilt, multiplier = repaired
    assert np.isfinite(tilt).all()
    if not problem.constraint.oblivious:
        assert exactly.support(problem, tilt, multiplier) <= 0
    bound = lower_bound(problem, tilt, multiplier)
    assert bound == -inf or Fraction(bound) <= exactly.bound(problem, tilt, multiplier)


@given(st.data())
def test_repair_moves_feasible_duals_by_rounding_only(data):
    problem = data.draw(problems(_SMALL))
    tilt = data.draw(hnp.arrays(np.float64, (problem.m, problem.n), elements=st.floats(-1e6, 1e6)))
    multiplier = data.draw(st.floats(1e-3, 1e3))
    first = feasible_duals(tilt, multiplier, problem.p_x, problem.budget)
    second = feasible_duals(*first, problem.p_x, problem.budget)
    size = np.abs(tilt).max(axis=1, keepdims=True) + 1e-300
    far = 800.0 * multiplier  # log of the smallest prior
    assert (
        np.abs(second[0] - first[0]) <= 2.0**-45 * (size + (far if np.isfinite(second[1]) else 0.0))
    ).all()


def test_a_rare_private_value_costs_the_others_no_digits():
    """Its log ratios may be of order one where those of common values are 1e-9: h_i is off by
    rounding of its own terms.
    """
    for seed in range(40):
        rng = default_rng(seed)
        rare = 10.0 ** -rng.uniform(3.0, 60.0)
        p_x = np.array([0.3, 0.7 - rare, rare])
        problem = Problem(p_x[:, None] * [0.5, 0.5], np.ones((2, 2)), 1e-9)
        multiplier = 10.0 ** rng.uniform(-3.0, 12.0)
        log_ratio = rng.uniform(-1.0, 1.0, (2, 3)) * [1e-9, 1e-9, 10.0 ** rng.uniform(0.0, 1.5)]
        repaired = feasible_duals(multiplier * log_ratio, multiplier, problem.p_x, problem.budget)
        size = np.abs(repaired[0] / multiplier)
        terms = float((problem.p_x * (np.expm1(size) + size)).sum(axis=1).max())
        assert -256.0 * 2.0**-53 * terms <= float(exactly.support(problem, *repaired)) <= 0.0


def test_a_rare_value_of_a_group_costs_the_others_no_digits():
    """Its tilt is of order μ where those of common values are 1e-9 μ: the rounding of its prior
    counts by its probability.
    """
    for seed in range(40):
        rng = default_rng(seed)
        rare = 10.0 ** -rng.uniform(3.0, 60.0)
        p_x = np.outer([0.4, 0.6], [0.3, 0.7 - rare, rare])
        joint = p_x[:, :, None] * [0.5, 0.5]
        problem = Problem(joint, np.ones((2, 2)), 1e-9, measure="conditional-mutual-information")
        multiplier = 10.0 ** rng.uniform(-3.0, 12.0)
        size = [1e-9, 1e-9, 10.0 ** rng.uniform(0.0, 1.5)]
        log_ratio = rng.uniform(-1.0, 1.0, (2, 6)) * np.tile(size, 2)
        tilt, prices = feasible_for(
            multiplier * log_ratio, np.array([multiplier]), problem.p_x, problem.terms
        )
        for rows in problem.groups:
            group = SimpleNamespace(p_xz=problem.p_xz[rows])
            prior = group.p_xz.sum(axis=1) / group.p_xz.sum()
            reached = np.abs(tilt[:, rows] / multiplier)
            terms = float((prior * (np.expm1(reached) + reached)).sum(axis=1).max())
            support = exactly.support(group, tilt[:, rows], prices[0])
            assert -256.0 * 2.0**-53 * terms <= float(support) <= 0.0


@pytest.mark.parametrize("budget", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.3])
def test_bound_loses_no_more_than_rounding(budget, scale):
    problem = _small(budget=budget)
    tilt = scale * default_rng(1).uniform(-1, 1, (3, 2))
    repaired = feasible_duals(tilt, 2.0, problem.p_x, problem.budget)
    exact = exactly.bound(problem, *repaired)
    assert 0 <= exact - Fraction(lower_bound(problem, *repaired)) <= abs(exact) * 2**-50
    assert exactly.support(problem, *repaired) > -1e-13


@pytest.mark.parametrize(
    "tilt, multiplier",
    [
        (nan, 1.0),
        (inf, 1.0),
        (0.0, -1.0),
        (0.0, nan),
        (0.0, inf),
        (-inf, 0.0),
    ],
)
def test_unusable_duals_are_refused(tilt, multiplier):
    assert feasible_duals(np.full((3, 2), tilt), multiplier, _small().p_x, 0.1) is None


def test_tilts_stay_within_the_largest_after_they_are_lowered():
    """Larger ones are refused in files, and by the exact second opinion."""
    problem = _small(budget=1e-3)
    repaired = feasible_duals(
        np.array([[-1e308, 1e308], [1.0, -1e308], [0.0, 0.0]]), 1.0, problem.p_x, problem.budget
    )
    assert repaired is not None
    assert np.abs(repaired[0]).max() <= LARGEST_TILT


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_label_doubt_covers_rounding_where_guesses_are_nearly_equal(n):
    """Two guesses whose tilted losses differ by less than rounding, checked at every outcome."""
    rng = default_rng(n)
    for _ in range(300):
        p_xz = rng.dirichlet(np.ones(n))[:, None]
        tilt = rng.standard_normal((2, n)) * 10.0 ** rng.integers(-3, 3)
        loss = np.abs(rng.standard_normal((2, 1)))
        loss[1] = max(0.0, float(loss[0, 0] + (tilt[0] - tilt[1]) @ p_xz[:, 0]))
        losses = in_order_losses(p_xz, loss, tilt)
        size = float(np.abs(tilt).max() + loss.max())
        products = exactly.fractions(tilt) @ exactly.fractions(p_xz)
        true = (exactly.fractions(loss) + products)[:, 0]
        for chosen in range(2):
            doubt = label_doubt(p_xz, tilt, losses[chosen], losses[1 - chosen])
            finer = dd_label_doubt(p_xz, loss, tilt)[chosen]
            wasted = true[chosen] - min(true)
            assert wasted <= Fraction(float(doubt[0]))
            assert (
                wasted
                <= Fraction(float(finer[0]))
                <= wasted * Fraction(1.0 + 2.0**-48) + Fraction(1e-25 * size)
            )
