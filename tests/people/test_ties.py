"""Ties of designs, above all where a whole group ties."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from random_laws import random_columns, random_joint

import discreet as ds
from discreet.people import design, ties
from discreet.people.design import Labels, design_people


def seen_groups(people, guesses, scale, seed):
    """p(y_k, x_j given z, x) of people whose group is seen [people, guesses, 2]; the larger the
    scale of a group and a guess [2, guesses], the easier they are to tell apart.
    """
    rng = default_rng(seed)
    group = (rng.random(people) < 0.4).astype(int)
    scores = rng.normal(size=(people, guesses)) * scale[group] + 0.4 * np.arange(guesses)
    p_y = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return p_y[:, :, None] * np.eye(2)[group][:, None, :]


def aware(people, guesses, seed=1):
    """The second group is easier to tell apart in every guess."""
    return seen_groups(people, guesses, np.array([[0.7], [2.5]]), seed)


def spread(people, guesses, law, seed):
    """Each group is easier to tell apart in some of the guesses."""
    scale = default_rng(100 * law).uniform(0.3, 2.5, (2, guesses))
    return seen_groups(people, guesses, scale[::-1], seed)


def deployed(made, joint):
    """Probabilities of guesses [people, m], and how far apart those of the groups are."""
    columns = made.rule.predict_proba(joint.sum(axis=2), joint.reshape(len(joint), -1))
    law = np.einsum("lk,lij->kij", columns, joint)
    rates = law / law.sum(axis=0)
    return columns, np.abs(rates[..., 0] - rates[..., 1]).max()


def equalized(joint, budget=0.0):
    mass = 1.0 / len(joint)
    given = ds.Constraint(mass * np.moveaxis(joint, 0, 2), budget, "conditional-mutual-information")
    return ds.Problem(loss=mass * (1.0 - joint.sum(axis=2)).T, constraints=[given])


def rule_for(problem):
    labels = Labels.of(None, None, None, 1.0 - np.eye(problem.m), problem.n)
    return design_people(problem, labels, key="0" * 32)


@pytest.mark.parametrize("budget", [0.0, 1e-3])
def test_a_group_that_ties_as_a_whole_is_treated_by_a_second_tilt(budget):
    joint = aware(1500, 2)
    problem = equalized(joint, budget)
    made = rule_for(problem)
    assert made.solution.status is ds.Status.CERTIFIED
    ties = made.rule.document["ties"]
    assert ties["second"] is not None
    assert len(ties["points"]) <= 2 * problem.n
    # what is deployed is what was judged, for everybody
    columns, _ = deployed(made, joint)
    again = ds.certify(problem, columns.T, made.solution.tilt, made.solution.multiplier)
    assert again.status is ds.Status.CERTIFIED
    assert again.error_probability == pytest.approx(made.solution.error_probability, rel=1e-12)
    # Other people of the same population: error and rates are near those of the design, though a
    # whole group ties.
    others = aware(20_000, 2, seed=2)
    columns, apart = deployed(made, others)
    error = 1.0 - (columns * others.sum(axis=2)).sum(axis=1).mean()
    assert error == pytest.approx(made.solution.error_probability, abs=0.02)
    assert apart < 0.05 + budget**0.5


@pytest.mark.parametrize(
    "guesses, law, budget",
    [
        (3, 0, 0.0),
        (4, 0, 0.0),
        (3, 1, 0.0),
        (4, 2, 0.0),
        (3, 4, 1e-3),
        (4, 3, 1e-3),
        (4, 4, 1e-3),
        (4, 1, 1e-2),
    ],
)
def test_any_number_of_guesses_and_sets_of_them_may_tie(guesses, law, budget):
    """Listing 256 of them left a constant rule or a gap of .2. Law 0: all guesses tie for a group;
    else some of them.
    """

    def people(count, seed):
        return aware(count, guesses, seed=seed) if law == 0 else spread(count, guesses, law, seed)

    joint = people(2000, 0)
    made = rule_for(equalized(joint, budget))
    assert made.solution.status is ds.Status.CERTIFIED
    ties = made.rule.document["ties"]
    assert ties["second"] is not None
    assert not ties["points"]
    columns, _ = deployed(made, joint)
    again = ds.certify(
        equalized(joint, budget), columns.T, made.solution.tilt, made.solution.multiplier
    )
    assert again.error_probability == pytest.approx(made.solution.error_probability, rel=1e-9)
    assert deployed(made, people(20_000, 5))[1] < 0.07 + 1.5 * budget**0.5


@pytest.mark.parametrize("people", [300, 9000])
def test_newtons_method_finds_the_tilt_of_sums_that_some_tilt_has(people):
    """For sets of two to four guesses; a guess that is tied for no one stays as it is."""
    rng = default_rng(people)
    among = rng.random((5, people)) < 0.6
    among[:2] = True
    among[4] = False
    seen = random_columns(rng, 3, people)
    treated = ties._Treatment(seen, rng.dirichlet(np.ones(people)), among)
    tilt = 3.0 * rng.normal(size=(5, 3))
    wanted = treated.sums(tilt)[0]
    found, missed = treated.with_sums(np.zeros((5, 3)), wanted)
    assert missed <= 1e-13
    assert treated.sums(found)[0] == pytest.approx(wanted, abs=1e-13)
    drawn = ties._draw_treatment(found @ seen, among)
    assert drawn == pytest.approx(ties._draw_treatment(tilt @ seen, among), abs=1e-9)
    assert not drawn[~among].any()


def test_a_rule_leaks_its_budget_though_the_traces_of_an_answer_are_left_out():
    """The answer of an interior point; blending until the budget was kept cost 5e-8."""
    problem = equalized(aware(4000, 2, seed=2), 1.0)
    problem = problem.with_budget(1e-4 * problem.bayes_leakages[0])
    made = rule_for(problem)
    assert made.solution.status is ds.Status.CERTIFIED
    assert made.rule.document["ties"]["second"] is not None
    assert made.solution.leakage == pytest.approx(problem.terms[0].budget.amount, rel=1e-10)


@pytest.mark.parametrize("off", [1e-3, -1e-3])
@pytest.mark.parametrize("shares", [(0.3,), (0.3, 0.3), (0.5, 0.2), (0.3, 2.0)], ids=str)
def test_listed_ties_make_up_for_what_is_left_out_elsewhere(shares, off):
    """Under the budgets of all constraints that bind, one tie for each."""
    full = random_joint(3, 2, 2, 2, 3000)  # p(x, another x, y, z)
    secrets = (full.sum(axis=(1, 2)), full.sum(axis=(0, 2)))
    loss = full.sum(axis=(0, 1))[::-1]
    constraints = [ds.Constraint(rows, 1.0) for rows in secrets[: len(shares)]]
    problem = ds.Problem(loss=loss, constraints=constraints)
    problem = problem.with_budget((np.array(shares) * problem.bayes_leakages).tolist())
    found = ds.solve(problem)
    columns = found.estimator.copy()
    drawn = np.flatnonzero(columns.max(axis=0) < 1.0)
    assert drawn.size == np.count_nonzero(found.multipliers)
    columns[:, drawn] += off * np.array([[1.0], [-1.0]])
    made = ties.with_ties(problem, columns, found.tilt)
    assert made.rule.ties.tolist() == drawn.tolist()
    assert abs(made.rule.columns - columns[:, drawn]).max() > 5e-4
    judged = ds.certify(problem, made.rule, found.tilt, found.multipliers)
    assert judged.status is ds.Status.CERTIFIED


def test_equalized_odds_without_any_difference_is_a_linear_program():
    """The interior point took half of the time of a solve for 100,000 people."""
    joint = random_joint(0, 200, 2, 2)
    found = ds.solve(equalized(joint / joint.sum(axis=(1, 2), keepdims=True)), "tilt")
    assert found.status is ds.Status.CERTIFIED
    assert found.iterations == 0


def test_of_two_repairs_the_better_one_is_deployed(monkeypatch):
    """A second tilt that leaks a little too much is repaired at next to no cost; a list of some of
    many ties is not.
    """
    problem = equalized(aware(1500, 2), 1e-3)
    best = ds.solve(problem)
    with_ties = design.with_ties

    def leaky(problem, estimator, tilt, *, second=True):
        made = with_ties(problem, estimator, tilt, second=second)
        known = np.eye(2)[:, problem.loss[:, made.rule.ties].argmin(axis=0)]
        columns = made.rule.columns + (1e-5 if second else 1.0) * (known - made.rule.columns)
        return replace(made, rule=ds.OutcomeRule(tilt, made.rule.ties, columns))

    monkeypatch.setattr(design, "with_ties", leaky)
    made = rule_for(problem)
    assert made.solution.leakage <= 1e-3
    assert made.solution.error_probability == pytest.approx(best.error_probability, rel=1e-3)


def test_sums_that_no_treatment_has_are_missed():
    treated = ties._Treatment(np.eye(2), np.full(2, 0.5), np.ones((2, 2), dtype=bool))
    assert treated.with_sums(np.zeros((2, 2)), np.array([[0.6, 0.2], [-0.1, 0.3]]))[1] > 1e-13


@pytest.mark.parametrize("shift", [0.0, 5e-7])
@pytest.mark.parametrize("budget", [0.0, 2e-4])
def test_the_judged_rule_is_the_deployed_one_for_whoever_is_near_a_listed_point(budget, shift):
    """Kinds of people whose members are a millionth apart, around a rounding or at its edge."""
    rng = default_rng(4)
    kinds = np.round(rng.uniform(0.1, 0.9, (30, 2)), 2)[rng.integers(0, 30, 3000)]
    first = kinds + shift + rng.uniform(-4e-7, 4e-7, kinds.shape)
    p_y, p_x = (np.column_stack([each, 1.0 - each]) for each in first.T)
    made = ds.design_rule(p_y, p_x, budget, key="0" * 32)
    listing = made.rule.document["ties"]
    assert listing["points"]
    for tie in listing["points"]:
        assert tie["point"] == np.round(tie["point"], 6).tolist()
    problem = made.solution.problem
    deployed = made.rule.predict_proba(p_y, p_x)
    judged = made.solution.rule.matrix(problem).T
    drawn = (deployed.max(axis=1) < 1.0).sum()
    assert drawn > len(listing["points"])
    assert np.abs(deployed - judged).max() < 1e-12
    assert problem.leakage(deployed.T) <= budget * (1.0 + 1e-9) + 1e-25
    best = ds.solve(problem).error_probability
    assert made.solution.error_probability == pytest.approx(best, rel=1e-6)
