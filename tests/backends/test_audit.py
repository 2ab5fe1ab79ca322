"""`ds.audit`: what the judge says of an estimator from anywhere, whatever form it comes in."""

import math
from fractions import Fraction
from types import SimpleNamespace

import exactly
import numpy as np
import pytest
from fake_backends import Bayes
from random_laws import random_columns
from refusals import raises_input_error
from solving import assert_certified

import discreet as ds
from discreet.backends import Answer, load_backend, run
from discreet.problems import paper_single


def test_every_form_of_an_answer_is_judged_alike(tmp_path):
    problem = paper_single(bins=16, budget=0.01)
    solution = ds.solve(problem, "tilt")
    solution.save(str(tmp_path / "answer.npz"))
    ds.save_problem(str(tmp_path / "problem.npz"), problem)
    forms = (solution, str(tmp_path / "answer.npz"), tmp_path / "answer.npz")
    given = [ds.audit(problem, form) for form in forms]
    given.append(ds.audit(problem, solution.estimator, solution.tilt, solution.multiplier))
    given.append(ds.audit(problem, solution.rule, solution.tilt, solution.multiplier))
    given.append(ds.audit(tmp_path / "problem.npz", solution))
    for found in given:
        assert found.status is ds.Status.CERTIFIED
        assert found.error_probability == pytest.approx(solution.error_probability, rel=1e-14)
        assert repr(found).startswith("Solution(certified, ")


def over_its_budget():
    """A problem, and an optimal answer to it with a budget larger by 9e-7."""
    problem = paper_single(bins=16, budget=0.01)
    return problem, ds.solve(problem.with_budget(0.01 * (1.0 + 9e-7)), "tilt")


def test_an_answer_judged_as_it_stands_may_exceed_its_budget_by_nothing():
    problem, leaky = over_its_budget()
    found = ds.audit(problem, leaky)
    judged = found.certificate
    assert judged.own_leakage > problem.budget
    assert judged.own_error < judged.lower  # less than anything that keeps the budget
    assert found.status is ds.Status.VIOLATED_PRIVACY
    assert not judged.own_budget_kept
    assert "the estimator returned is its repair" in found.message
    assert found.leakage <= problem.budget
    assert judged.lower <= found.error_probability == judged.upper
    assert (
        ds.certify(problem, leaky.estimator, leaky.tilt, leaky.multiplier).status
        is ds.Status.VIOLATED_PRIVACY
    )


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.3, 0.9, 1.5])
def test_what_is_returned_stays_certified_when_it_is_judged_as_it_stands(share, tmp_path):
    model = paper_single(bins=16, fraction=0.5)
    problem = model.with_budget(share * model.bayes_leakage)
    path = str(tmp_path / "answer.npz")
    ds.solve(problem, "tilt").save(path)
    found = ds.audit(problem, path)
    assert found.status is ds.Status.CERTIFIED
    assert found.certificate.own_budget_kept
    assert found.certificate.own_leakage == found.leakage
    # At 0 the leakage of stored numbers is of rounding size.
    assert found.leakage <= problem.budget or share == 0.0


def test_a_backends_answer_is_repaired_before_it_is_certified(monkeypatch):
    problem, leaky = over_its_budget()

    class Leaky(Bayes):
        """Answers with what exceeds the budget by 9e-7."""

        name = "fake-leaky"

        def lift(self, raw):
            return Answer(leaky.estimator, leaky.tilt, leaky.multipliers)

    monkeypatch.setattr(run, "load_backend", lambda name: Leaky())
    found = assert_certified(problem, "fake-leaky", gap=1e-5)
    assert "the estimator keeps the budget" in found.message
    record = found.to_dict()
    assert record["leakage_nats"] <= problem.budget < record["own_leakage_nats"]
    assert (
        record["own_error_probability"]
        < record["lower_bound"]
        <= record["error_probability"]
        == record["upper_bound"]
    )
    assert record["own_budget_kept"] is False
    assert ds.audit(problem, found, gap=1e-5).status is ds.Status.CERTIFIED


def test_a_solution_without_an_answer_is_refused_in_a_sentence():
    problem = paper_single(bins=16, budget=0.001)
    without = ds.solve(problem, "highs")
    assert without.status is ds.Status.UNSUPPORTED
    with raises_input_error("unsupported"):
        ds.audit(problem, without)


def test_outcomes_in_blocks_are_not_limited_by_memory():
    problem = paper_single(bins=16, budget=0.001)
    many = SimpleNamespace(n=2, m=2, N=10**12)
    large = ds.BlockProblem(many, problem.terms, problem.p_x, problem.loss.sum(axis=1))
    assert load_backend("tilt").capabilities.refusal(large) == ""


# -- by every measure
# --------------------------------------------------------------------------------------------------


def _some_estimator(problem):
    columns = random_columns(5, problem.m, problem.N)
    columns[:, :3] = problem.bayes_estimator[:, :3]
    return columns


@pytest.mark.parametrize(
    "problem",
    [
        *(ds.problems.dirichlet(n=3, m=4, N=30, budget=nats) for nats in (0.0, 0.01, math.inf)),
        ds.problems.census(
            secrets=2, educations=3, occupations=3, budget=0.02, measure="parity-difference"
        ),
    ],
    ids=["perfect", "positive", "none", "two secrets"],
)
def test_an_audit_counts_the_leakage_by_every_measure_as_an_audit_of_that_measure_does(problem):
    estimator = _some_estimator(problem)
    estimator[0] += estimator[3:].sum(axis=0)
    estimator[3:] = 0.0  # a guess that is never made
    audit = ds.audit(problem, estimator)
    secrets = range(len(problem.terms))
    assert [leak.secret for leak in audit.own_leaks] == np.repeat(secrets, 10).tolist()
    free = [ds.Problem(problem.p_xz[term.rows], problem.loss, math.inf) for term in problem.terms]
    for leak in audit.own_leaks:
        model = free[leak.secret].with_budget(math.inf, measure=leak.measure)
        alone = ds.audit(model, estimator).certificate
        assert leak.leakage == alone.own_leakage <= leak.ceiling
        assert leak.ceiling == pytest.approx(alone.own_leakage_ceiling, rel=1e-12)
        assert leak.unit == model.measure.unit
    odds = [ds.audit(model, estimator).own_odds.factor for model in free]
    assert audit.own_odds.secret == int(np.argmax(odds))
    assert audit.own_odds.factor == pytest.approx(max(odds), rel=1e-12)


def test_an_audit_of_a_measure_with_parameters_counts_it_too():
    problem = ds.problems.dirichlet(n=3, m=4, N=30)
    gain = problem.with_budget(0.3, measure="g-leakage:gain=[[1,0,0],[0,2,1]]")
    own = ds.audit(gain, _some_estimator(problem))
    assert own.own_leaks[6].measure.startswith("g-leakage")
    assert own.own_leaks[6].leakage == own.certificate.own_leakage
    given = ds.problems.census(
        educations=3, occupations=3, measure="conditional-mutual-information"
    )
    estimator = _some_estimator(given)
    (leak,) = ds.audit(given, estimator).own_leaks
    assert leak.measure == "conditional-mutual-information"
    assert leak.leakage == pytest.approx(given.leakage(estimator), rel=1e-12)


def test_the_largest_change_of_odds_is_that_of_exact_arithmetic():
    problem = ds.problems.dirichlet(n=4, m=3, N=20, budget=0.1)
    estimator = _some_estimator(problem)
    odds = ds.audit(problem, estimator).own_odds
    joint = exactly.guess_law(problem, estimator)
    prior = joint.sum(axis=0)
    factors = joint / (joint.sum(axis=1, keepdims=True) - joint) * (1 - prior) / prior
    largest = factors[odds.guess, odds.value]
    assert largest == factors.max()
    assert odds.factor == pytest.approx(float(largest), rel=1e-14)
    assert largest <= Fraction(odds.ceiling) < largest * (1 + Fraction(1, 10**12))
    assert odds.after == pytest.approx(odds.before * odds.factor)
    within = next(
        leak
        for leak in ds.audit(problem, estimator).own_leaks
        if leak.measure == "local-differential-privacy"
    )
    assert odds.factor <= math.exp(within.leakage)


def test_a_guess_that_gives_a_value_away_has_unbounded_odds_and_a_record_without_infinities():
    problem = ds.Problem(np.eye(2) / 2, (1 - np.eye(2)) / 2, 0.1)
    found = ds.audit(problem, np.eye(2))
    assert found.own_odds.factor == found.own_odds.ceiling == math.inf
    assert found.to_dict()["own_odds"]["factor"] is None
    assert (
        ds.audit(ds.Problem(np.full((1, 2), 0.5), (1 - np.eye(2)) / 2, 0.1), np.eye(2)).own_odds
        is None
    )


def test_rules_on_blocks_and_on_densities_are_counted_too():
    problem = paper_single(bins=64, budget=0.005)
    solved = ds.solve(ds.BlockProblem.of(problem), "tilt")
    in_blocks = ds.audit(ds.BlockProblem.of(problem), solved)
    in_arrays = ds.audit(problem, solved.estimator)
    for one, other in zip(in_blocks.own_leaks, in_arrays.own_leaks, strict=True):
        assert one.leakage == pytest.approx(other.leakage, rel=1e-9)
    dense = ds.solve(ds.problems.paper_continuous(budget=0.005), gap=1e-6)
    audited = ds.audit(dense.problem, dense)
    assert (
        audited.own_leaks[0].leakage
        == audited.certificate.own_leakage
        <= audited.own_leaks[0].ceiling
        < math.inf
    )
    assert 0.0 < audited.own_leaks[1].leakage <= audited.own_leaks[1].ceiling < math.inf
