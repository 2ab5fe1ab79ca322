"""`verify` by every measure of leakage: it confirms what is certified, refuses what was altered,
never proves too much.
"""

import json
import math
import sys
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from command import run
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from random_laws import laws_of_secrets, random_columns, random_joint
from solving import TEXTS, under
from strategies import seeds

import discreet as ds
from discreet import Status, verify
from discreet.measures import GLeakage
from discreet.reports.second_opinion import second_opinion

CONDITIONAL = "conditional-mutual-information"
JOINT = random_joint(0, 3, 3, 10, spread=0.5)


def _solved(text, fraction=0.3):
    return ds.solve(under(JOINT, text, fraction, unbounded=2.0), "tilt")


def confirmed(solution):
    """What `verify` finds about a certified solution, in which it finds no fault."""
    assert solution.status is Status.CERTIFIED, solution
    found, faults = second_opinion(solution, 1e-9)
    assert faults == []
    return found


def assert_refused_if_altered(solution, share):
    """A share of the Bayes rule in the estimator leaks, and a higher tilt proves too much."""
    bayes = solution.problem.bayes_estimator
    leaking = (1.0 - share) * np.asarray(solution.estimator) + share * bayes
    assert verify(solution.problem, leaking).budget_kept is False
    tilt = np.array(solution.tilt)
    at = np.unravel_index(np.abs(tilt).argmax(), tilt.shape)
    tilt[at] += 1e-4 * np.abs(tilt).max()
    for changes, said in (
        ({"answer": leaking}, "the estimator leaks"),
        ({"tilt": tilt}, "the duals prove"),
    ):
        altered = replace(solution, verdict=replace(solution.verdict, **changes))
        assert any(said in fault for fault in second_opinion(altered, 1e-9)[1])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("fraction", [0.3, 1e-3, 0.0])
def test_what_the_judge_certifies_is_confirmed(text, fraction):
    solution = _solved(text, fraction)
    found = confirmed(solution)
    assert (found.measure, found.budget) == (str(solution.problem.measure), solution.problem.budget)
    assert found.budget_kept or solution.certificate.private_within > 0.0
    assert (
        solution.certificate.lower
        <= found.lower_bound
        <= found.error[1]
        <= solution.certificate.upper
    )


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_altered_a_hair_is_refused(text):
    solution = _solved(text)
    problem = solution.problem
    honest = verify(solution.problem, solution)
    assert honest.budget_kept
    for share in (1e-4, 1e-7):
        assert_refused_if_altered(solution, share)
    less = honest.leakage[0] * (1.0 - 1e-12)
    assert verify(problem, solution, budget=less).budget_kept is False
    assert verify(problem, solution, budget=less).bracket[1] > honest.bracket[1]
    assert verify(problem, solution, budget=honest.leakage[1]).budget_kept is True


def test_a_tilt_of_a_value_that_hardly_happens_proves_what_the_judge_says():
    """Its entry may exceed the others by fifty powers of ten, and is known to as many digits."""
    p_xz = [[0.998, 0.002], [6.6e-176, 9.2e-177]]
    problem = ds.Problem(
        p_xz, [[0.0, 0.002], [0.998, 0.0]], 5e-139, measure="sibson:alpha=87.42864756813643"
    )
    confirmed(ds.solve(problem, "tilt"))


@given(seeds, st.sampled_from(TEXTS), st.sampled_from([0.0, 1e-6, 0.1, 1.0, 30.0]))
def test_no_duals_prove_too_much(seed, text, multiplier):
    """Not more than an estimator errs, under a budget of just what it leaks."""
    rng = default_rng(seed)
    m = int(rng.integers(1, 4))
    size = int(rng.integers(1, 7))
    apart = float(rng.choice([1.0, 1e-3, 1e-9]))
    p_xz = np.outer(rng.dirichlet(np.full(3, 0.5)), rng.dirichlet(np.ones(size)))
    p_xz *= 1.0 + apart * rng.uniform(-1.0, 1.0, (3, size))
    p_xz[rng.integers(3)] *= rng.integers(2)
    p_xz /= p_xz.sum()
    estimator = random_columns(rng, m, size, 0.3)
    loss = rng.random((m, size)) * p_xz.sum(axis=0)
    tilt = rng.normal(size=(m, 3)) * 10.0 ** rng.uniform(-9.0, 2.0)
    members = {"estimator": estimator, "tilt": tilt, "multiplier": multiplier}
    model = {"p_xz": p_xz, "loss": loss, "budget": inf}
    free = verify(model, members, measure=text)
    assert free.budget_kept
    if math.isinf(free.leakage[1]):
        return
    found = verify(model, members, budget=free.leakage[1], measure=text)
    assert found.budget_kept
    assert found.lower_bound <= found.error[1]
    assert free.leakage[0] <= free.leakage[1] <= free.leakage[0] * (1.0 + 1e-15) + 5e-324


@pytest.mark.parametrize("text", ["mutual-information", "chi-square", "maximal-leakage"])
def test_numbers_beyond_all_doubles_are_bounded_by_infinity(text):
    """A value of mass 5e-324 that a guess of mass 5e-324 gives away is 2e323 times as likely as
    before.
    """
    p_xz = np.array([[5e-324, 0.0], [0.0, 1.0]])
    found = verify({"p_xz": p_xz, "loss": p_xz, "budget": 1.0}, np.eye(2), measure=text)
    assert found.deviation == (sys.float_info.max, inf)
    assert 0.0 <= found.leakage[0] <= found.leakage[1] <= 1.0
    assert found.budget_kept


@pytest.mark.parametrize(
    "text, said",
    {
        "sibson": "names no measure",
        "sibson:alpha=1": "names no measure",
        "sibson:alpha=Infinity": "names no measure",
        "g-leakage:gain=[[-1,0]]": "names no measure",
        "g-leakage:gain=[]": "names no measure",
        "g-leakage:gain=[[0,0]]": "names no measure",
        "g-leakage:gain=[[1,0,0]]": "one column per value",
    }.items(),
)
def test_what_names_no_measure_is_refused(text, said):
    model = {"p_xz": np.eye(2) / 2.0, "loss": (1.0 - np.eye(2)) / 2.0, "budget": 1.0}
    with pytest.raises(ValueError, match=said):
        verify(model, np.eye(2), measure=text)


@pytest.mark.parametrize(
    "constraint, said",
    {
        "{": "Expecting",
        "[]": "keep one",
        '{"measure": "chi-square", "budget": -1}': "give one ≥ 0",
        '{"measure": "chi-square", "budget": "1"}': "give one ≥ 0",
        '{"measure": "chi", "budget": 1}': "names no measure",
        '[{"groups": [2], "measure": "chi-square", "budget": 0.1}]': "2 rows .*p_xz has 5",
        '[{"groups": [5.0], "measure": "chi-square", "budget": 0.1}]': "the groups of rows",
        f'[{{"groups": [0, 5], "measure": "{CONDITIONAL}", "budget": 0.1}}]': "the groups of rows",
        "[5]": "cannot be read",
    }.items(),
)
def test_a_constraint_that_is_none_is_refused(constraint, said):
    model = {"p_xz": np.full((5, 2), 0.1), "loss": np.full((2, 2), 0.1)}
    with pytest.raises(ValueError, match=said):
        verify(model | {"constraint": constraint}, np.eye(2))


@pytest.mark.parametrize("text", TEXTS)
def test_files_are_verified_like_objects(text, tmp_path):
    solution = _solved(text)
    ds.save_problem(tmp_path / "problem.npz", solution.problem)
    solution.save(str(tmp_path / "solution.npz"))
    found = verify(tmp_path / "problem.npz", tmp_path / "solution.npz")
    assert found == verify(solution.problem, solution)
    assert found == verify(ds.BlockProblem.of(solution.problem), tmp_path / "solution.npz")


def test_two_best_actions_cost_nothing():
    """The gain of an adversary may be counted from either; of a uniform X every guess is as good
    without a hint.
    """
    uniform = ds.Problem(
        np.eye(3) / 3.0, (1.0 - np.eye(3)) / 3.0, 0.2, measure="min-entropy-leakage"
    )
    gain = "g-leakage:gain=[[1,0,0],[0,1,0],[0,0,1],[0.5,0.5,0]]"
    for problem in (uniform, uniform.with_budget(0.2, measure=gain)):
        found = confirmed(ds.solve(problem, "tilt"))
        assert found.bracket[1] - found.bracket[0] < 1e-12


# -- several constraints
# -------------------------------------------------------------------------------------------------

# p(x, x', y, z)
FULL = random_joint(1, 2, 3, 2, 12, spread=0.7)
FIRST, SECOND, GIVEN, LOSS = laws_of_secrets(FULL)
SECRETS = {
    "mutual-information": FIRST,
    "chi-square": SECOND,
    "local-differential-privacy": SECOND,
    CONDITIONAL: GIVEN,
}


def _several(*budgets):
    stated = [ds.Constraint(SECRETS[measure], budget, measure) for measure, budget in budgets]
    return ds.Problem(loss=LOSS, constraints=stated)


def test_information_given_another_variable_is_the_mean_of_what_each_value_leaves():
    problem = ds.Problem(GIVEN, LOSS, 0.1, measure=CONDITIONAL)
    estimator = problem.bayes_estimator
    expected = 0.0
    for part in GIVEN:
        law = (part @ estimator.T) / part.sum()
        expected += (
            part.sum() * (law * np.log(law / np.outer(law.sum(axis=1), law.sum(axis=0)))).sum()
        )
    found = verify(problem, estimator)
    assert found.leakage == pytest.approx((expected, expected), rel=1e-12)
    assert found.measure == CONDITIONAL
    assert len(found.terms) == 1


@pytest.mark.parametrize(
    "budgets",
    [
        [(CONDITIONAL, 0.002)],
        [("mutual-information", 0.002), ("chi-square", 0.01)],
        [("local-differential-privacy", 0.1), (CONDITIONAL, 0.001), ("mutual-information", 0.001)],
    ],
)
def test_solved_problems_of_several_constraints_are_confirmed_and_altered_ones_refused(budgets):
    solution = ds.solve(_several(*budgets), "tilt")
    found = confirmed(solution)
    assert found.budget_kept
    assert found.bracket[1] - found.bracket[0] <= 1e-9 * found.bracket[1]
    assert_refused_if_altered(solution, 1e-4)


@pytest.mark.parametrize(
    "budgets",
    [
        [(CONDITIONAL, 0.0)],
        [("mutual-information", 0.0), (CONDITIONAL, 0.01)],
        [("mutual-information", 0.0), ("chi-square", 0.0)],
    ],
)
def test_perfect_privacy_of_several_secrets_is_proven_by_integers(budgets):
    """A problem of 12 outcomes has more freedom than equations; an estimator of doubles would not
    be exactly private.
    """
    problem = _several(*budgets)
    solution = ds.solve(problem, "tilt")
    assert solution.certificate.private_within == 0.0
    found = confirmed(solution)
    assert found.budget_kept
    assert verify(problem, solution.estimator).budget_kept is False
    for term, (_, budget) in zip(found.terms, budgets, strict=True):
        assert (term.deviation == term.leakage == (0.0, 0.0)) == (budget == 0.0)


def test_an_adversary_of_the_second_secret_gains_by_its_own_rows():
    """Also where a value of it has no probability."""
    second = np.concatenate([SECOND, np.zeros((1, 12))])
    gain = GLeakage([[1.0, 0.0, 0.3, 5.0], [0.2, 1.0, 0.0, 0.0], [0.0, 0.1, 2.0, 1.0]])
    stated = [ds.Constraint(FIRST, 0.01), ds.Constraint(second, 0.02, gain)]
    found = confirmed(ds.solve(ds.Problem(loss=LOSS, constraints=stated), "tilt"))
    assert found.terms[1].leakage[1] <= 0.02
    assert found.bracket[1] - found.bracket[0] <= 1e-9 * found.bracket[1]


@given(seeds)
def test_no_duals_of_several_constraints_prove_too_much(seed):
    rng = default_rng(seed)
    names = rng.choice(list(SECRETS), size=int(rng.integers(1, 4)), replace=False).tolist()
    estimator = random_columns(rng, 2, 12)
    rows = sum(math.prod(SECRETS[name].shape[:-1]) for name in names)
    members = {
        "estimator": estimator,
        "tilt": rng.normal(size=(2, rows)) * 10.0 ** rng.uniform(-4.0, 1.0),
        "multiplier": rng.choice([0.0, 0.01, 0.3, 3.0], size=len(names)),
    }
    free = verify(_several(*((name, inf) for name in names)), members)
    leaked = [term.leakage[1] for term in free.terms] or [free.leakage[1]]
    found = verify(_several(*zip(names, leaked, strict=True)), members)
    assert found.budget_kept
    assert found.lower_bound <= found.error[1]
    for k in range(len(names)):
        less = [leak * (1.0 - 1e-12 * (k == j)) for j, leak in enumerate(leaked)]
        told = verify(
            _several(*zip(names, leaked, strict=True)),
            members,
            budget=less if len(less) > 1 else less[0],
        )
        assert told.budget_kept is False
        assert [term.budget_kept for term in told.terms] == [j != k for j in range(len(told.terms))]


def test_several_constraints_of_a_file(tmp_path):
    problem = _several(("mutual-information", 0.005), ("chi-square", 0.02), (CONDITIONAL, 0.003))
    ds.save_problem(tmp_path / "problem.npz", problem)
    judged = ds.certify(
        problem, problem.bayes_estimator, np.full((2, problem.n), 0.01), [0.1, 0.1, 0.1]
    )
    judged.save(tmp_path / "answer.npz")
    paths = str(tmp_path / "problem.npz"), str(tmp_path / "answer.npz")
    told = run("verify", *paths, "--json")
    assert told.exit_code == 0
    record = json.loads(told.stdout)
    assert [term["measure"] for term in record["terms"]] == [
        "mutual-information",
        "chi-square",
        CONDITIONAL,
    ]
    assert [term["budget"] for term in record["terms"]] == [0.005, 0.02, 0.003]
    assert "budget" not in record
    assert "budget 2" in run("verify", *paths).stdout
    for wrong in (0.1, [0.1], [0.1, 0.1, -1.0]):
        with pytest.raises(ValueError, match=r"3 constraints|-1\.0"):
            verify(*paths, budget=wrong)
    with pytest.raises(ValueError, match="3 constraints"):
        verify(*paths, measure="chi-square")
