"""What the loop offers to the judge: an answer moved onto perfect privacy, and duals for answers
without any, under every measure and several constraints.
"""

import math

import numpy as np
import pytest
import scipy.optimize
from random_laws import random_columns, random_joint
from solving import GAIN, TEXTS, assert_certified, of_secrets, under

import discreet as ds
from discreet.backends import Answer, Timings, run
from discreet.backends.attempts import Attempt
from discreet.backends.multipliers import multipliers_of
from discreet.backends.precision import Precision
from discreet.backends.repairs import duals_along, private_versions, within_budget
from discreet.backends.run import conclude, judge_answer
from discreet.judge import certify
from discreet.measures.law import distance_from_private
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import CONDITIONAL
from discreet.numerics.estimators import normalise
from discreet.numerics.rounding import UNIT
from discreet.problems import grouped_problem, lattice_problem
from discreet.problems.problem import Problem


def _small(budget):
    return ds.Problem.from_joint(random_joint(11, 2, 3, 4), budget)


def _dirichlet(budget, n=2, m=2, outcomes=6, seed=0):
    return ds.Problem.from_joint(
        random_joint(seed, n, m, outcomes),
        budget,
    )


def _derived(problem, law):
    if problem.constraint.perfect or problem.constraint.oblivious:
        return np.zeros((problem.m, problem.n)), 0.0
    direction = MUTUAL_INFORMATION.slope(law.ratio_minus_one(), law.p_x)
    return duals_along(direction, problem.p_xz, problem.loss, problem.budget)


def test_derived_multiplier_is_the_best():
    problem = _small(0.004)
    law = problem.output_law(0.7 * problem.bayes_estimator + 0.1)
    tilt, multiplier = _derived(problem, law)
    direction = tilt / multiplier

    def bound(mu):
        return (
            float((problem.loss + mu * direction @ problem.p_xz).min(axis=0).sum())
            - mu * problem.budget
        )

    grid = multiplier * np.linspace(0.5, 2.0, 301)
    assert bound(multiplier) >= max(map(bound, grid)) - 1e-12


@pytest.mark.parametrize("shape", [(2, 2, 8), (3, 2, 12), (3, 4, 20)])
def test_projection_reaches_perfect_privacy_from_nearby(shape):
    n, m, outcomes = shape
    problem = _dirichlet(0.0, n, m, outcomes)
    own = normalise(
        0.9 * np.random.default_rng(1).dirichlet(np.ones(m))[:, None]
        + 0.05 * problem.bayes_estimator
    )
    (estimator,) = private_versions(problem, own)
    assert distance_from_private(problem.output_law(estimator)) <= Precision.leak_free
    assert 0.0 < 0.5 * float(np.abs(estimator - own).sum(axis=0) @ problem.p_z) < 0.05
    assert problem.error_probability(estimator) == pytest.approx(
        problem.error_probability(own), rel=0.05
    )


@pytest.mark.parametrize("seed", range(5))
def test_what_is_offered_narrows_the_bracket(seed):
    problem = ds.Problem.from_joint(random_joint(seed, 2, 2, 40, spread=0.4), 0.01)
    private = ds.solve(problem.with_budget(0.0), backend="tilt").estimator
    # Less than the answer leaks.
    for model in (problem.with_budget(2e-5), problem.with_budget(0.0)):
        answer = 0.9 * private + 0.1 * problem.bayes_estimator
        alone = certify(model, answer).certificate
        offered = ds.certify(model, answer).certificate
        assert offered.lower >= alone.lower
        assert offered.upper <= alone.upper
        assert offered.gap < alone.gap


def test_a_rule_is_judged_once(monkeypatch):
    """Nothing is derived from a rule on outcomes, so the outcomes are not taken again."""
    problem = ds.Problem.from_joint(random_joint(0, 2, 2, 40, spread=0.4), 0.001)
    calls = []
    monkeypatch.setattr(
        run.judge,
        "certify",
        lambda *given, **more: (calls.append(given), certify(*given, **more))[1],
    )
    judged = ds.certify(problem, ds.OutcomeRule(np.zeros((2, 2))), None, 0.0).certificate
    assert judged.blend > 0.0
    assert judged.relative_gap > 1e-9
    assert len(calls) == 1


def test_a_step_of_the_projection_that_overflows_is_given_up_without_a_warning():
    """Warnings are errors in these tests."""
    least = 1e-320
    drawn = [
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.5, 0.0, 1.0, least, 0.0],
        [least, least, 1.0, 0.0, 1.0],
        [0.0, 1.0, least, 1.0, 0.0],
    ]
    for seed in (0, 2):
        assert (
            ds.certify(
                ds.problems.dirichlet(n=2, m=4, N=5, seed=seed, budget=0.0), drawn
            ).certificate
            is not None
        )


@pytest.mark.parametrize("masses", [(3, 96, 3), (7, 4, 98), (4, 79, 8)])
def test_plain_sums_do_not_confirm_a_budget_below_their_rounding(masses):
    """They cancel to less than 1e-18, and the answer leaks up to 3e-17."""
    first, second, third = np.divide(masses, sum(masses))
    p_xz = [[first, 1e-40, 0.0, 0.0], [0.0, 0.0, second, third]]
    loss = [
        [0.7 * first, 0.0, 0.9 * second, 0.4 * third],
        [0.5 * first, 0.0, 0.4 * second, 0.9 * third],
    ]
    problem = ds.Problem(p_xz, loss, 1e-18, measure="maximal-leakage")
    share = np.rint(third / (second + third) / UNIT) * UNIT
    answer = np.array([[share, 1.0, 0.0, 1.0], [1.0 - share, 0.0, 1.0, 0.0]])
    assert problem.law(answer).leakages[0] > 1e-18
    assert problem.law(within_budget(problem, answer)).ceilings()[0] <= 1e-18


@pytest.mark.parametrize("seed", [14, 117])
def test_an_answer_with_a_guess_that_is_never_made_proves_its_bound(seed, load):
    """The guess has no slope; a tilt of 0 made it better than the guesses in use."""
    problem = load("random_problems").edge_problem(seed)
    answer = ds.solve(problem, backend="tilt").estimator
    assert (problem.law(answer).mass == 0.0).any()
    assert ds.certify(problem, answer).certificate.relative_gap <= 1e-9


# p(x, x', y, z)
JOINT = random_joint(5, 2, 3, 3, 20, spread=0.5)
PLAIN = JOINT.sum(axis=0)
WITHOUT_GAINS = [text for text in TEXTS if text != GAIN]
ROWS = PLAIN.sum(axis=1)
LOSS = Problem.from_joint(PLAIN, math.inf).loss


def own_gap(problem):
    """Return the gap of the optimal estimator without the duals with which it was found."""
    estimator = assert_certified(problem, "tilt", gap=1e-9).estimator
    return judge_answer(problem, Answer(np.asarray(estimator))).certificate.relative_gap


@pytest.mark.parametrize("name", [*TEXTS, *CONDITIONAL])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_an_optimal_estimator_alone_is_certified(name, share):
    assert own_gap(under(PLAIN, name, share)) <= 1e-9


@pytest.mark.parametrize(
    "constraints",
    [
        [(0, 0.01, "mutual-information"), (1, 0.02, "parity-difference")],
        [(0, 0.0, "total-variation"), (1, 0.02, "chi-square")],
        [
            (0, 0.01, "pointwise-information"),
            (1, 0.0, "min-entropy-leakage"),
            (2, 0.01, "conditional-mutual-information"),
        ],
    ],
    ids=str,
)
def test_so_is_one_of_several_secrets(constraints):
    assert own_gap(of_secrets(JOINT, *constraints)) <= 1e-9


def test_nothing_is_derived_where_outcomes_are_many():
    many = ds.problems.dirichlet(n=2, m=2, N=5_000, seed=1).with_budget(0.01, measure="chi-square")
    assert multipliers_of(many, many.law(many.bayes_estimator)) is None


ESTIMATORS = {
    "constant": np.eye(3)[:, [0] * 20],
    "drawn": random_columns(1, 3, 20),
}
BUDGETS = (0.0, 0.02, 50.0, 1000.0)


def bracket_of(problem, estimator):
    certificate = ds.certify(problem, estimator).certificate
    return [certificate.lower, certificate.upper]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", WITHOUT_GAINS)
def test_what_never_happens_changes_no_bracket(name, budget, estimator):
    """Law: neither a private value nor an outcome of probability 0 changes what is proven about an
    estimator.
    """
    columns = ESTIMATORS[estimator]
    known = bracket_of(Problem(ROWS, LOSS, budget, measure=name), columns)
    more = Problem(np.insert(ROWS, 1, 0.0, axis=0), LOSS, budget, measure=name)
    assert bracket_of(more, columns) == pytest.approx(known, rel=1e-9)
    rare = Problem(
        *(np.insert(each, 1, 0.0, axis=1) for each in (ROWS, LOSS)), budget, measure=name
    )
    assert bracket_of(rare, np.insert(columns, 1, 1.0 / 3.0, axis=1)) == pytest.approx(
        known, rel=1e-9
    )


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", WITHOUT_GAINS)
def test_a_private_value_of_subnormal_probability_is_judged(name, budget):
    """1/π overflows, so that the linear program cannot be stated."""
    rare = Problem(np.insert(ROWS, 1, 1e-320, axis=0), LOSS, budget, measure=name)
    lower, upper = bracket_of(rare, ESTIMATORS["drawn"])
    assert lower <= upper


def test_no_linear_program_is_solved_without_time_left(monkeypatch):
    """An attempt that took its whole time limit is judged with its own duals and
    closed forms only.
    """
    problem = Problem.from_joint(PLAIN, 0.02, measure="max-lift")
    answer = Answer(problem.bayes_estimator)
    programs = []
    solved = scipy.optimize.linprog

    def counted(*arguments, **options):
        programs.append(options["options"]["time_limit"])
        return solved(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", counted)
    for seconds, left in [(1.0, [4.0]), (5.0, []), (6.0, [])]:
        programs.clear()
        tried = Attempt("", answer, None, timings=Timings(solve_seconds=seconds))
        assert conclude(problem, tried, ds.Options(time_limit=5.0)).certificate is not None
        assert programs == left


def test_several_linear_programs_share_the_time_limit(ticking, monkeypatch):
    """Guesses that are never made take several programs; each reading of the clock is a second."""
    problem = Problem.from_joint(PLAIN, 0.02, measure="chi-square")
    left = []
    solved = scipy.optimize.linprog

    def limited(*arguments, **options):
        left.append(options["options"]["time_limit"])
        return solved(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", limited)
    law = problem.law(ESTIMATORS["constant"])
    for seconds, limits in [(2.5, [2.5, 1.5]), (0.5, [0.5])]:
        left.clear()
        assert multipliers_of(problem, law, seconds) is not None
        assert left == limits


@pytest.mark.parametrize("tail", [0.0, 0.05])
def test_rules_for_count_vectors_are_judged_without_an_impossible_value(tail):
    """Law: a private value of probability 0 changes nothing for lattices and groups of sensors,
    either.
    """
    law = np.random.default_rng(0).dirichlet(np.ones(2), (2, 2))
    prior = np.array([[0.3, 0.2], [0.1, 0.4]])

    def proven(law, prior):
        lattice = lattice_problem(law, prior, 5, 0.0, tail=tail)
        groups = grouped_problem([np.array([law] * 3), np.array([law] * 2)], prior, 0.0, tail=tail)
        guess = np.zeros((2, len(prior)))
        return [
            *bracket_of(lattice, ds.OutcomeRule(guess)),
            *bracket_of(groups, ds.OutcomeRule(guess)),
        ]

    more = np.insert(law, 1, 0.5, axis=0), np.insert(prior, 1, 0.0, axis=0)
    assert proven(*more) == pytest.approx(proven(law, prior), rel=1e-9)
