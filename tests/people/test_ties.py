"""Ties of designs, above all where a whole group ties."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.people import design, ties
from discreet.people.design import designed
from discreet.people.ties import NEAR


def aware(people: int, guesses: int, seed: int = 1) -> np.ndarray:
    """p(y_k, x_j given z, x) of people whose group is seen [people, guesses, 2]; the second is easier to tell apart."""
    rng = np.random.default_rng(seed)
    group = rng.random(people) < 0.4
    scores = rng.normal(size=(people, guesses)) * np.where(group, 2.5, 0.7)[:, None] + 0.4 * np.arange(guesses)
    p_y = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return p_y[:, :, None] * np.eye(2)[group.astype(int)][:, None, :]


def equalized(joint: np.ndarray, budget: float = 0.0) -> ds.Problem:
    mass = 1.0 / len(joint)
    given = ds.Constraint(mass * np.moveaxis(joint, 0, 2), budget, "conditional-mutual-information")
    return ds.Problem(loss=mass * (1.0 - joint.sum(axis=2)).T, constraints=[given])


@pytest.mark.parametrize("budget", [0.0, 1e-3])
def test_a_group_that_ties_as_a_whole_is_treated_by_a_second_tilt(budget: float) -> None:
    joint = aware(1500, 2)
    problem = equalized(joint, budget)
    made = designed(problem, None, None, None, None, key="0" * 32)
    assert made.solution.status is ds.Status.CERTIFIED
    ties = made.rule.document["ties"]
    assert ties["second"] is not None
    assert len(ties["points"]) <= 2 * problem.n
    # what is deployed is what was judged, for everybody
    columns = made.rule.predict_proba(joint.sum(axis=2), joint.reshape(len(joint), -1)).T
    again = ds.certify(problem, columns, made.solution.tilt, made.solution.multiplier)
    assert again.status is ds.Status.CERTIFIED
    assert again.error_probability == pytest.approx(made.solution.error_probability, rel=1e-12)
    # other people of the same population: error and rates are near those of the design, though a whole group ties
    others = aware(20_000, 2, seed=2)
    columns = made.rule.predict_proba(others.sum(axis=2), others.reshape(len(others), -1))
    error = 1.0 - (columns * others.sum(axis=2)).sum(axis=1).mean()
    assert error == pytest.approx(made.solution.error_probability, abs=0.02)
    law = np.einsum("lk,lij->kij", columns, others)
    rates = law / law.sum(axis=0)
    assert np.abs(rates[..., 0] - rates[..., 1]).max() < 0.05 + budget**0.5


def test_where_three_guesses_tie_they_are_listed_and_exactly_private() -> None:
    made = designed(equalized(aware(200, 3)), None, None, None, None, key="0" * 32)
    assert made.solution.status is ds.Status.CERTIFIED


def test_the_second_tilt_decides_only_where_its_guesses_tie() -> None:
    joint = aware(1500, 2)
    made = designed(equalized(joint), None, None, None, None, key="0" * 32)
    tilts = np.array(made.rule.document["tilt"])
    group = joint.sum(axis=1).argmax(axis=1)
    scores = (1.0 - joint.sum(axis=2)) + joint.reshape(len(joint), -1) @ tilts.T
    tied = np.abs(scores[:, 0] - scores[:, 1]) <= NEAR
    assert set(group[tied]) == {1}  # the group that is easier to tell apart has no price of its own
    assert tied[group == 1].all()
    columns = made.rule.predict_proba(joint.sum(axis=2), joint.reshape(len(joint), -1))
    second = made.rule.document["ties"]["second"]
    low = second["share"] * np.array(second["towards"])
    assert (columns[tied] >= low - 1e-12).all()
    assert (np.isin(columns[~tied], [0.0, 1.0]).all(axis=1)).sum() >= (~tied).sum() - 4


def test_two_people_at_one_point_of_the_boundary_are_treated_alike() -> None:
    """Of two alike the linear program may draw for one only; the rule cannot tell them apart."""
    joint = np.repeat(aware(400, 2), 2, axis=0)
    made = designed(equalized(joint), None, None, None, None, key="0" * 32)
    assert made.solution.status is ds.Status.CERTIFIED
    assert made.rule.document["ties"]["second"] is not None


def test_ties_of_other_guesses_are_listed_beside_a_second_tilt() -> None:
    joint = aware(150, 4, seed=3)
    made = designed(equalized(joint), None, None, None, None, key="0" * 32)
    assert made.solution.status is ds.Status.CERTIFIED


@pytest.mark.parametrize(("rows", "alike"), [(2, 1), (3, 1), (4, 1), (2, 40)])
def test_small_programs_find_the_second_tilt_of_the_program_of_all(
    rows: int, alike: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(rows)
    mass = np.repeat(rng.dirichlet(np.ones(6000 // alike)), alike) / alike
    seen = np.repeat(rng.dirichlet(0.3 * np.ones(rows), size=6000 // alike).T, alike, axis=1) * mass
    chosen = (rng.random(6000) < 0.3 + 0.5 * seen[0] / mass).astype(float)
    mean = float(chosen @ mass)
    start, away = mean * seen.sum(axis=1), seen @ (chosen - mean)
    sizes = []
    whole = ties._program(seen, start, away)
    program = ties._program
    monkeypatch.setattr(ties, "_program", lambda sums, *rest: (sizes.append(sums.shape[1]), program(sums, *rest))[1])
    found = ties._farthest(seen, mass, start, away)
    assert whole is not None
    assert found is not None
    prices, treated, reach, drawn = found
    assert reach == pytest.approx(whole[2], rel=1e-9)
    assert prices == pytest.approx(whole[0], rel=1e-6)
    assert seen @ treated == pytest.approx(start + reach * away, abs=1e-13)
    assert drawn.size <= rows * alike
    assert max(sizes) <= 6000 // (10 if rows == 2 else 1)


def test_a_design_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    certify = design.certify
    monkeypatch.setattr(
        design, "certify", lambda *given, **options: (judged.append(given[1]), certify(*given, **options))[1]
    )
    monkeypatch.setattr(design, "solve", lambda *given, **options: pytest.fail("the loop is asked too"))
    made = designed(equalized(aware(1500, 2)), None, None, None, None, key="0" * 32)
    assert made.solution.status is ds.Status.CERTIFIED
    assert len(judged) == 1


def test_of_two_repairs_the_better_one_is_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second tilt that leaks a little too much is repaired at next to no cost; a list of some of many ties is not."""
    problem = equalized(aware(1500, 2), 1e-3)
    best = ds.solve(problem)
    with_ties = design.with_ties

    def leaky(problem: ds.Problem, estimator: np.ndarray, tilt: np.ndarray, *, second: bool = True) -> ties.Tied:
        made = with_ties(problem, estimator, tilt, second=second)
        known = np.eye(2)[:, problem.loss[:, made.rule.ties].argmin(axis=0)]
        columns = made.rule.columns + (1e-5 if second else 1.0) * (known - made.rule.columns)
        return ties.Tied(ds.OutcomeRule(tilt, made.rule.ties, columns), made.listed, made.second)

    monkeypatch.setattr(design, "with_ties", leaky)
    made = designed(problem, None, None, None, None, key="0" * 32)
    assert made.solution.leakage <= 1e-3
    assert made.solution.error_probability == pytest.approx(best.error_probability, rel=1e-3)
