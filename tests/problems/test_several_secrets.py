"""Several constraints and conditional information: what is refused, the judge against exact
arithmetic, laws, files.
"""

import json
from fractions import Fraction
from math import inf
from types import SimpleNamespace

import exactly
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import laws_of_secrets, random_columns, random_joint
from refusals import raises_file_error, raises_input_error
from solving import GAIN, TEXTS, assert_certified
from strategies import estimators, finite_tilts, joints, seeds

import discreet as ds
from discreet.files import map_problem
from discreet.judge import certify
from discreet.measures import measure_of
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.estimators import normalise
from discreet.problems import (
    BlockProblem,
    Constraint,
    LeakageBudget,
    OutcomeRule,
    Problem,
    block_problem,
    reduce,
)
from discreet.problems.blend import least_share

CONDITIONAL = "conditional-mutual-information"
# p(x, x', y, z)
FULL = random_joint(1, 2, 3, 2, 12, spread=0.7)
FIRST, SECOND, GIVEN, LOSS = laws_of_secrets(FULL)


def several(*constraints, loss=LOSS):
    return Problem(loss=loss, constraints=[Constraint(*each) for each in constraints])


TWO = several((FIRST, 0.01), (SECOND, 0.02, "chi-square"))


# -- what is stated
# --------------------------------------------------------------------------------------------------


def test_rows_are_one_under_the_other_and_terms_say_whose_they_are():
    problem = several((FIRST, 0.01), (SECOND, 0.0, "total-variation"), (GIVEN, 0.02, CONDITIONAL))
    assert problem.p_xz.shape == (9, 12)
    assert_array_equal(problem.p_xz[2:5], SECOND)
    assert [term.rows for term in problem.terms] == [slice(0, 2), slice(2, 5), slice(5, 9)]
    assert [term.groups for term in problem.terms][2] == (slice(5, 7), slice(7, 9))
    assert [str(term.budget) for term in problem.terms] == [
        "0.01 nats",
        "0 of total-variation",
        f"0.02 nats of {CONDITIONAL}",
    ]
    assert_allclose(problem.p_z, FULL.sum(axis=(0, 1, 2)), rtol=1e-14)
    assert_allclose(problem.deviations.sum(axis=1), 0.0, atol=1e-15)
    assert repr(problem) == (
        "Problem(n=9, m=2, N=12, budget=0.01 nats and 0 of total-variation and "
        f"0.02 nats of {CONDITIONAL})"
    )
    assert not problem.perfect
    assert not problem.oblivious
    assert problem.equivocation == -inf


def test_what_is_about_one_budget_names_the_terms():
    for ask in (
        lambda: TWO.constraint,
        lambda: TWO.budget,
        lambda: TWO.measure,
        lambda: TWO.bayes_leakage,
        lambda: TWO.leakage(TWO.bayes_estimator),
        lambda: TWO.refuse_other_measures("densities are"),
    ):
        with raises_input_error(r"2 constraints.* \.terms"):
            ask()
    with raises_input_error(r"use problem\.law"):
        TWO.output_law(TWO.bayes_estimator)
    assert TWO.leakages(TWO.bayes_estimator) == pytest.approx(TWO.bayes_leakages, rel=1e-12)


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: Problem(loss=LOSS, constraints=[]), "constraints "),
        (
            lambda: Problem(loss=LOSS, constraints=[FIRST]),
            r"constraints\[0\] is .*discreet.Constraint",
        ),
        (
            lambda: Problem(FIRST, LOSS, constraints=[Constraint(FIRST, 0.1)]),
            "loss= .*constraints=",
        ),
        (lambda: several((FIRST, 0.1), (SECOND, -1.0)), r"constraints\[1\]: .*budget is -1"),
        (
            lambda: several((FIRST, 0.1), (SECOND[:, :5], 0.1)),
            r"constraints\[1\]: p_xz has 5 .* 12",
        ),
        (
            lambda: several((FIRST, 0.1), (SECOND[:, ::-1], 0.1)),
            r"outcome \d+ .*constraints\[1\] .*\[0\]",
        ),
        (
            lambda: several((FIRST, 0.1), (GIVEN, 0.1)),
            r"constraints\[1\]: p_xz .*\[2, 2, 12\].* \[n, N\]",
        ),
        (lambda: Problem(FIRST, LOSS, 0.1).with_budget(0.1, measure=CONDITIONAL), "given variable"),
        (
            lambda: Problem(GIVEN, LOSS, 0.1, measure=CONDITIONAL).with_budget(
                0.1, measure="chi-square"
            ),
            "given variable",
        ),
        (
            lambda: Problem(GIVEN, LOSS, equivocation=0.1, measure=CONDITIONAL),
            "equivocation",
        ),
        (lambda: TWO.with_budget(0.1), "budget has 1 .* 2"),
        (
            lambda: TWO.with_budget([0.1, 0.1], measure="chi-square"),
            r"2 constraints.*\.terms",
        ),
        (lambda: ds.inference(TWO, TWO.bayes_estimator), "inference"),
        (
            lambda: ds.certify(TWO, TWO.bayes_estimator, np.ones((2, 5)), 1.0),
            r"multiplier .*\[1\] .*\[2\]",
        ),
        (lambda: block_problem(BlockProblem.of(TWO).blocks, terms=TWO.terms[:1]), "terms .*5 rows"),
        (
            lambda: block_problem(BlockProblem.of(TWO).blocks, 0.1, terms=TWO.terms),
            "budget and equivocation",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(build, words):
    with raises_input_error(words):
        build()


def test_budgets_change_one_by_one():
    other = TWO.with_budget([0.5, LeakageBudget(0.25, measure_of("maximal-leakage"))])
    assert [str(term.budget) for term in other.terms] == [
        "0.5 nats",
        "0.25 nats of maximal-leakage",
    ]
    assert other.p_xz is TWO.p_xz
    assert TWO.with_budget([0.0, 0.0]).perfect
    assert TWO.with_budget([inf, inf]).oblivious


def test_scaled_to_one_each():
    scaled = several((FIRST * (1.0 + 5e-10), 0.01), (SECOND * (1.0 - 4e-10), 0.02, "chi-square"))
    assert_allclose(scaled.p_xz, TWO.p_xz, rtol=1e-15)
    assert_allclose(scaled.loss, TWO.loss / (1.0 + 5e-10), rtol=1e-15)


def test_reduction_keeps_terms():
    """Values and given values that never occur are left out, equal outcomes are merged."""
    given_value = np.concatenate([GIVEN, np.zeros((1, 2, 12))])
    wide = [
        np.concatenate([each / 2.0] * 2, axis=-1)
        for each in (FIRST, np.concatenate([SECOND, np.zeros((1, 12))]), given_value)
    ]
    problem = several(
        (wide[0], 0.01),
        (wide[1], 0.02, "chi-square"),
        (wide[2], 0.03, CONDITIONAL),
        loss=np.hstack([LOSS / 2] * 2),
    )
    found = reduce(problem)
    assert found.problem.N == 12
    assert [term.rows for term in found.problem.terms] == [slice(0, 2), slice(2, 5), slice(5, 9)]
    assert found.problem.terms[2].groups == (slice(5, 7), slice(7, 9))
    estimator = random_columns(0, 2, 12)
    assert found.problem.leakages(estimator) == pytest.approx(
        problem.leakages(found.restore(estimator)), rel=1e-12
    )


# -- leakage and duals
# -------------------------------------------------------------------------------------------------


def _exactly(problem, estimator):
    """The leakage of each term, given the groups, in 120 digits."""
    found = []
    for term in problem.terms:
        measure = MUTUAL_INFORMATION if term.measure.conditional else term.measure
        parts = [
            SimpleNamespace(p_xz=problem.p_xz[group])
            for group in term.groups
            if problem.p_xz[group].any()
        ]
        masses = [exactly.total(part) for part in parts]
        leaks = [exactly.leakage(part, estimator, True, measure) for part in parts]
        shares = [exactly.real(mass / sum(masses)) for mass in masses]
        found.append(mpmath.fdot(shares, leaks))
    return found


@st.composite
def secrets(draw):
    """X, Y, and X given Y as secrets, in any combination, by any measure but a gain and without a
    budget; any losses.
    """
    joint = draw(joints())
    loss = Problem.from_joint(joint, inf).loss
    if draw(st.booleans()):
        loss = default_rng(draw(seeds)).random(loss.shape) * (joint.sum(axis=(0, 1)) > 0.0)
    laws = [joint.sum(axis=1), joint.sum(axis=0), joint.transpose(1, 0, 2)]
    measures = st.sampled_from([text for text in TEXTS if text != GAIN])
    which = draw(st.sampled_from([(0,), (2,), (0, 1), (0, 2), (1, 0, 2), (2, 2)]))
    return several(
        *((laws[k], inf, CONDITIONAL if k == 2 else draw(measures)) for k in which), loss=loss
    )


@given(st.data(), secrets())
def test_no_certificate_is_false(data, problem):
    """With budgets set to what one estimator leaks, no duals prove that it errs more; and no
    ceiling is too low.
    """
    estimator = normalise(data.draw(estimators((problem.m, problem.N))))
    leaked = _exactly(problem, estimator)
    budgets = [float(each) * (1 + 1e-15) + 1e-320 if each > 0 else 0.0 for each in leaked]
    case = problem.with_budget(budgets if len(budgets) > 1 else budgets[0])
    tilt = data.draw(finite_tilts((problem.m, problem.n)))
    prices = [data.draw(st.sampled_from([0.0, 1e-9, 0.3, 50.0])) for _ in budgets]
    multiplier = np.array(prices) if len(prices) > 1 else prices[0]
    error = exactly.error_probability(problem, estimator, normalised=True)
    clipped = np.clip(tilt, -1e150, 1e150)
    answers = [(case, estimator), (case, OutcomeRule.of(clipped, estimator, case.p_xz, case.loss))]
    answers.append((BlockProblem.of(case), answers[1][1]))
    for model, answer in answers:
        judged = certify(model, answer, tilt, multiplier).certificate
        assert Fraction(judged.lower) <= error
        for term, stated, exact in zip(case.terms, judged.terms, leaked, strict=True):
            assert stated.own_leakage_ceiling >= exact
            assert stated.leakage_ceiling <= term.budget.amount or term.budget.perfect
        parts = judged.kkt.complementarity + judged.kkt.alignment + judged.kkt.slackness
        if judged.lower > 0.0 and judged.private_within == inf:
            assert parts == pytest.approx(judged.gap, rel=1e-6, abs=1e-9)


def test_given_y_from_a_joint_is_the_same_as_given_by_hand():
    joint = FULL.sum(axis=1)
    one = Problem.from_joint(joint, 0.01, measure=CONDITIONAL)
    two = Problem(GIVEN, LOSS, 0.01, measure=CONDITIONAL)
    assert_array_equal(one.p_xz, two.p_xz)
    assert one.terms == two.terms
    assert one.constraint == LeakageBudget(0.01, measure_of(CONDITIONAL))


def test_an_answer_over_one_of_the_budgets_is_repaired_until_all_are_kept():
    budgets = [0.5 * leaked for leaked in TWO.bayes_leakages]
    for share in ([1.0, 4.0], [4.0, 1.0], [1.0, 1.0]):
        case = TWO.with_budget([a * b for a, b in zip(budgets, share, strict=True)])
        judged = ds.certify(case, case.bayes_estimator)
        assert judged.status is ds.Status.VIOLATED_PRIVACY
        stated = judged.certificate.terms
        assert all(each.leakage <= each.leakage_ceiling <= each.budget for each in stated)
        assert max(each.leakage_ceiling / each.budget for each in stated) >= 0.999
        assert [each.own_budget_kept for each in stated] == [s > 2.0 for s in share]
        assert 0.0 < judged.certificate.blend < 1.0
        with raises_input_error("2 constraints"):
            _ = judged.certificate.budget
        with raises_input_error("2 constraints"):
            _ = judged.leakage
        assert judged.certificate.own_leakage_ratio == pytest.approx(2.0, rel=1e-9)


# -- perfect privacy next to others
# -------------------------------------------------------------------------------------


def test_exact_privacy_of_one_secret_beside_a_budget_of_another():
    problem = several((FIRST, 0.0), (SECOND, 0.05))
    judged = ds.certify(problem, assert_certified(problem, "tilt").estimator).certificate
    assert judged.private_within == 0.0
    assert judged.blend == 0.0
    first, second = judged.terms
    assert first.perfect
    assert first.own_budget_kept
    assert second.leakage <= second.leakage_ceiling <= 0.05


def test_exact_moves_count_for_the_budgets_of_others():
    """A budget that the stored estimator keeps by less than the moves may change is not called
    kept.
    """
    free = several((FIRST, 0.0), (SECOND, 0.01))
    answer = assert_certified(free, "tilt").estimator
    leaked = free.leakages(answer)[1]
    judged = certify(free.with_budget([0.0, leaked * (1.0 + 1e-15)]), answer).certificate
    assert not judged.terms[1].own_budget_kept
    assert judged.terms[1].leakage_ceiling <= leaked * (1.0 + 1e-15)
    assert judged.upper <= certify(free, answer).certificate.upper * (1.0 + 1e-9)


def test_both_secrets_and_given_values_are_exactly_private():
    for problem in (
        several((FIRST, 0.0), (SECOND, 0.0)),
        Problem(GIVEN, LOSS, 0.0, measure=CONDITIONAL),
    ):
        verdict = certify(problem, assert_certified(problem, "tilt").estimator)
        assert verdict.certificate.private_within == 0.0
        assert verdict.moved.size


def test_an_answer_that_is_not_private_is_replaced():
    problem = several((FIRST, 0.0), (SECOND, 0.05))
    judged = ds.certify(problem, problem.bayes_estimator)
    assert judged.status is ds.Status.VIOLATED_PRIVACY
    assert judged.error_probability == pytest.approx(problem.constant_error, rel=1e-12)
    private = assert_certified(problem, "tilt").estimator
    anchored = ds.certify(problem, problem.bayes_estimator, anchors=[private])
    assert anchored.error_probability < problem.constant_error


# -- blocks, files, records
# --------------------------------------------------------------------------------------------


def three_secrets(seed, budget):
    """One with a budget, an adversary's gain that must be 0, and one that must not leak."""
    joint = default_rng(seed).gamma(0.5, size=(2, 2, 2, 2, 12)) + 1e-9
    joint /= joint.sum()
    first, second, third = (joint.sum(axis=tuple({0, 1, 2, 3} - {k})) for k in range(3))
    return several(
        (first, budget, "pointwise-information"),
        (second, 0.0, "min-entropy-leakage"),
        (third, 0.0, "total-variation"),
        loss=Problem.from_joint(joint.sum(axis=(0, 1)), inf).loss,
    )


@pytest.mark.parametrize("seed", [1, 6, 13, 25])
def test_tilt_keeps_a_budget_beside_no_gain_and_no_leak(seed):
    solution = assert_certified(three_secrets(seed, 1e-4), "tilt", gap=1e-9)
    assert solution.certificate.blend == 0.0


def test_an_answer_a_little_over_its_budget_is_blended_a_little_beside_a_budget_of_no_gain():
    estimator = ds.solve(three_secrets(1, 1e-4), "tilt", gap=1e-9).estimator
    certificate = certify(three_secrets(1, 1e-4 * (1.0 - 1e-9)), estimator).certificate
    assert 0.0 < certificate.blend < 1e-3
    assert all(term.leakage_ceiling <= term.budget or term.perfect for term in certificate.terms)


@pytest.mark.parametrize(
    "problem",
    [
        TWO,
        Problem(GIVEN, LOSS, 0.0, measure=CONDITIONAL),
        several((GIVEN, 0.25, CONDITIONAL), (SECOND, 0.0)),
    ],
    ids=["two", "given", "mixed"],
)
def test_files_keep_all_constraints(problem, tmp_path):
    path = tmp_path / "problem.npz"
    ds.save_problem(path, problem)
    again = ds.load_problem(path)
    assert again.terms == problem.terms
    assert_array_equal(again.p_xz, problem.p_xz)
    mapped = map_problem(path)
    assert mapped.terms == problem.terms
    with np.load(path) as stored:  # a reader of one constraint finds no number, and no dictionary
        assert "budget" not in stored
        assert isinstance(json.loads(str(stored["constraint"])), list)
    one, other = (ds.verify(each, problem.bayes_estimator) for each in (path, problem))
    assert repr(one) == repr(other)  # nan is in both
    if len(problem.terms) > 1:
        with raises_input_error("budgets"):
            ds.load_problem(path, budget=0.1)
    judged = ds.certify(problem, problem.bayes_estimator, 0.1 * np.ones((2, problem.n)))
    place = tmp_path / "solution.npz"
    judged.save(place)
    found = ds.load_solution(place)
    assert_array_equal(found.multipliers, judged.multipliers)
    assert ds.audit(problem, place).error_probability == pytest.approx(judged.error_probability)


ENTRY = {"groups": [2], "measure": "chi-square", "budget": 0.1}


@pytest.mark.parametrize(
    "stated",
    [
        "{",
        '{"measure": "chi"}',
        '{"measure": "chi", "budget": 1}',
        '{"measure": "chi-square", "budget": -1}',
        *map(
            json.dumps,
            [
                [],
                [ENTRY],
                [ENTRY, {**ENTRY, "groups": [1, 2]}],
                [ENTRY, {**ENTRY, "groups": [0]}],
                [ENTRY, {**ENTRY, "groups": [3], "budget": -1}],
                [ENTRY, {"groups": [3]}],
                [ENTRY, 5],
            ],
        ),
    ],
)
def test_damaged_constraints_are_refused_in_a_sentence(stated, tmp_path):
    path = tmp_path / "problem.npz"
    np.savez(path, p_xz=TWO.p_xz, loss=TWO.loss, constraint=np.array(stated))
    with pytest.raises(ds.FileError, match=r"constraint|budget"):
        ds.load_problem(path)


def test_other_members_beside_constraints_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "problem.npz"
    joint = FULL.sum(axis=1)
    np.savez(path, joint=joint, constraint=np.array(json.dumps([ENTRY])))
    with raises_file_error("p_xz and loss"):
        ds.load_problem(path)
    np.savez(path, joint=joint, constraint=np.array("{}"), budget=1.0)
    with raises_file_error(r"budget.*constraint|constraint.*budget"):
        ds.load_problem(path)


def test_records_state_each_constraint():
    told = ds.certify(TWO, TWO.bayes_estimator).to_dict()
    assert [each["measure"] for each in told["constraints"]] == ["mutual-information", "chi-square"]
    assert [each["budget"] for each in told["constraints"]] == [0.01, 0.02]
    assert len(told["multiplier"]) == 2
    assert not {"leakage_nats", "budget_nats", "measure"} & set(told)
    json.dumps(told, allow_nan=False)
    given_y = ds.certify(
        Problem(GIVEN, LOSS, 0.01, measure=CONDITIONAL), TWO.bayes_estimator
    ).to_dict()
    assert given_y["measure"] == CONDITIONAL
    assert "constraints" not in given_y
    assert " and " in repr(ds.certify(TWO, TWO.bayes_estimator))


@pytest.mark.parametrize("parts", [(0.5, 0.5), (0.01, 0.9), (0.9, 1e-9), (inf, 0.3)])
def test_the_least_share_of_several_budgets_is_the_largest_that_one_of_them_needs(parts):
    law = TWO.law(TWO.bayes_estimator)
    end = law.under_guess(np.array([1.0, 0.0]))
    targets = np.array(parts) * law.leakages
    shares = [least_share(law.of(c), end.of(c), target, 0.0) for c, target in enumerate(targets)]
    share = least_share(law, end, targets, 0.0)
    assert share == pytest.approx(max(shares), rel=1e-11)
    assert (law.blend(end, share).ceilings() <= targets).all()


def test_a_budget_below_what_can_be_proven_has_no_share():
    law = TWO.law(TWO.bayes_estimator)
    end = law.under_guess(np.array([1.0, 0.0]))
    assert least_share(law.of(0), end.of(0), 1e-311, 0.0) is None
