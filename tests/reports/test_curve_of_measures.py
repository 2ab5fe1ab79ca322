"""Curves under other measures and of several secrets: convex in the level, each point a solution,
each end known.
"""

import math
from functools import cache

import numpy as np
import pytest
from gated import gated
from random_laws import random_joint
from refusals import raises_input_error
from solving import TEXTS, of_secrets

import discreet as ds
from discreet.backends.sweep import Sweep
from discreet.measures import Scope, measure_of
from discreet.measures.registry import CONDITIONAL, LINEAR
from discreet.problems.envelope import Scale, envelope_of
from discreet.reports.curve import IS_CURVE
from discreet.reports.second_opinion import second_opinion

# p(x, x', y, z)
FULL = random_joint(1, 2, 3, 3, 40, spread=0.7)
JOINT = FULL.sum(axis=0)
NAMES = [*TEXTS, *CONDITIONAL]
EACH = [text for text in NAMES if measure_of(text).scope is Scope.POSTERIOR]
TOTALS = [text for text in NAMES if text not in EACH]


def model(text):
    return ds.Problem.from_joint(JOINT, math.inf, measure=text)


def two(first, second):
    return of_secrets(FULL, (0, *first), (1, *second))


SEVERAL = {
    "linear": two((0.01, "maximal-leakage"), (0.02, "total-variation")),
    "smooth": two((0.0005, "mutual-information"), (0.001, "chi-square")),
    "mixed": two((0.01, "sibson:alpha=2"), (0.01, "parity-difference")),
}
PROBLEMS = {text: model(text) for text in TOTALS} | SEVERAL
PLAIN = ("mutual-information", "total-variation", "mixed")


@cache
def traced(name):
    """A curve of twelve points; every law is asked of the same."""
    return ds.frontier(PROBLEMS[name], points=12)


def levels(curve, budgets):
    if len(curve.terms) > 1:
        return budgets
    return np.array([curve.terms[0].measure.level(budget) for budget in budgets])


@pytest.mark.parametrize(
    "name", gated(sorted(PROBLEMS, key=lambda name: name not in PLAIN), len(PLAIN))
)
def test_the_curve_is_convex_in_the_level_and_does_not_rise(name):
    curve = traced(name)
    assert curve.certified
    end = curve.bayes_leakage
    at = np.unique(
        np.concatenate(
            [[row.budget for row in curve.rows], 1.2 * end * np.linspace(0.0, 1.0, 41) ** 2]
        )
    )
    upper = curve.upper(at)
    lower = curve.lower(at)
    level = levels(curve, at)
    slack = 1e-13 * upper[0]
    assert (lower <= upper).all()
    for values in (upper, lower):
        assert (np.diff(values) <= slack).all()
        share = (level[2:] - level[1:-1]) / (level[2:] - level[:-2])
        start = 1 if values is lower else 0  # only at 0 may the lower one jump up
        chords = share * values[:-2] + (1.0 - share) * values[2:]
        assert (values[1:-1][start:] <= chords[start:] + slack).all()


@pytest.mark.parametrize(
    "name", gated(sorted(PROBLEMS, key=lambda name: name not in PLAIN), len(PLAIN))
)
def test_every_point_is_that_of_a_single_solve(name):
    curve = traced(name)
    problem = PROBLEMS[name]
    within = 1e-12 if all(term.measure.name in LINEAR for term in problem.terms) else 1e-9
    scale = Scale.of(problem)
    for row in curve.rows[:: 3 if len(problem.terms) > 1 else 1]:
        alone = ds.solve(problem.with_budget(scale.budgets(row.budget)), "tilt")
        assert row.upper == pytest.approx(alone.error_probability, rel=within)
        assert curve.lower(row.budget) <= alone.certificate.upper
        assert curve.upper(row.budget) >= alone.certificate.lower


@pytest.mark.gate
@pytest.mark.parametrize("name", PROBLEMS)
def test_points_are_confirmed_by_exact_arithmetic(name):
    problem = PROBLEMS[name]
    budgets = [row.budget for row in traced(name).rows]
    sweep = Sweep(problem, "tilt", gap=1e-9)
    for budget in budgets[1:-1:3]:
        solution, _ = sweep.solve(budget)
        assert solution.status is ds.Status.CERTIFIED
        found, faults = second_opinion(solution, 1e-9)
        assert faults == []
        assert found.budget_kept


@pytest.mark.parametrize("text", EACH)
def test_measures_of_posteriors_have_no_curve_and_say_why(text):
    problem = model(text)
    for ask in (lambda: ds.frontier(problem), lambda: envelope_of(problem, ())):
        with raises_input_error("each guess"):
            ask()


@pytest.mark.parametrize("budget", [0.0, math.inf, 1e-200])
def test_budgets_that_no_factor_changes_are_refused(budget):
    with raises_input_error(r"constraints\[1\] is"):
        ds.frontier(two((0.01, "chi-square"), (budget, "mutual-information")))


def test_linear_measures_have_chains_of_segments_which_are_found_exactly():
    for name in ("total-variation", "parity-difference"):
        curve = ds.frontier(PROBLEMS[name], width=1e-10)
        assert curve.reached
        assert curve.width <= 1e-10
        assert len(curve.rows) < 120


def test_a_curve_of_several_secrets_is_over_the_factor_of_their_levels():
    problem = SEVERAL["smooth"]
    curve = traced("smooth")
    assert 1.0 in [row.budget for row in curve.rows]
    assert curve.axis == "factor of the budgets 0.0005 nats and 0.001 of chi-square"
    half = ds.solve(problem.with_budget([0.00025, 0.0005]), "tilt")
    assert curve.lower(0.5) <= half.certificate.upper
    assert half.certificate.lower <= curve.upper(0.5)


def test_files_of_every_unit_are_known_again(tmp_path):
    for name in ("chi-square", "maximal-leakage", "smooth"):
        (tmp_path / "curve.csv").write_text(traced(name).to_csv())
        assert IS_CURVE(tmp_path / "curve.csv")
