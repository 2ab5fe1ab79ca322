"""Problems under every measure of leakage: who serves them, what is certified, and how they are stored and asked for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.backends.contract import Regime
from discreet.backends.registry import capabilities
from discreet.backends.solution import Status
from discreet.problems.measures import GLeakage, Scope, measure_of
from discreet.problems.measures.registry import MEASURES

JOINT = np.random.default_rng(0).dirichlet(np.full(90, 0.5)).reshape(3, 3, 10)
TEXTS = {"sibson": "sibson:alpha=2", "g-leakage": str(GLeakage([[1.0, 0.0, 0.3], [0.2, 1.0, 0.0], [0.0, 0.1, 2.0]]))}
NAMES = [TEXTS.get(name, name) for name in MEASURES]
OTHERS = NAMES[1:]


def _problem(text: str, fraction: float = 0.5) -> ds.Problem:
    free = ds.Problem.from_joint(JOINT, math.inf, measure=text)
    most = free.bayes_leakage
    return free.with_budget(fraction * (most if math.isfinite(most) else 2.0))


@pytest.mark.parametrize("text", OTHERS)
def test_budget_0_is_perfect_privacy_where_the_measure_separates(text: str) -> None:
    problem = _problem(text, 0.0)
    perfect = ds.solve(ds.Problem.from_joint(JOINT, 0.0), "tilt")
    if measure_of(text).separates:
        solution = ds.solve(problem, "tilt")
        assert solution.status is Status.CERTIFIED
        assert solution.error_probability == perfect.error_probability
    else:
        assert not problem.constraint.perfect
        assert Regime.of(problem) is Regime.CONSTRAINED


@pytest.mark.parametrize("text", OTHERS)
def test_a_backend_that_does_not_serve_the_measure_refuses(text: str) -> None:
    """So no backend solves another problem without saying so."""
    problem = _problem(text)
    for name, able in capabilities().items():
        if Regime.CONSTRAINED in able.regimes and problem.measure.name not in able.measures and name != "intervals":
            found = ds.solve(problem, name)
            assert found.status is Status.UNSUPPORTED
            assert f"does not serve a positive finite budget of {problem.measure.name}; " in found.message
    assert ds.solve(problem.with_budget(math.inf), "tilt").status is Status.CERTIFIED


def test_blending_repairs_measures_of_each_guess_too() -> None:
    """Towards a guess drawn from the law of Ŷ, which keeps its digits; a constant guess would cost everything."""
    for name in [text for text in NAMES if measure_of(text).scope is not Scope.TOTAL]:
        problem = _problem(name)
        repaired = ds.certify(problem, problem.bayes_estimator).certificate
        assert 0.0 < repaired.blend < 0.9
        assert repaired.upper < problem.constant_error
        assert 0.99 * problem.budget <= repaired.leakage_ceiling <= problem.budget


@pytest.mark.parametrize("text", NAMES)
def test_files_keep_the_measure(text: str, tmp_path: Path) -> None:
    problem, path = _problem(text), tmp_path / "problem.npz"
    ds.save_problem(path, problem)
    again = ds.load_problem(path)
    assert again.constraint == problem.constraint
    assert ds.problems.map_problem(path).constraint == problem.constraint
    assert ds.load_problem(path, budget=0.125).measure == problem.measure
    with np.load(path) as stored:
        assert ("budget" in stored) == (text == "mutual-information")  # readers of before know `budget` only
        assert ("constraint" in stored) != ("budget" in stored)
    if text != "mutual-information":
        for budget in (None, 0.1):
            with pytest.raises(ValueError, match="mutual information"):
                ds.verify(path, problem.bayes_estimator, budget=budget)


def test_a_damaged_constraint_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    for text in (
        "{",
        "[]",
        '{"measure": "chi"}',
        '{"measure": "chi", "budget": 1}',
        '{"measure": "chi-square", "budget": -1}',
    ):
        np.savez(path, joint=JOINT, constraint=np.array(text))
        with pytest.raises(ds.FileError, match=r"constraint|budget"):
            ds.load_problem(path)
    np.savez(path, joint=JOINT, constraint=np.array("{}"), budget=1.0)
    with pytest.raises(ds.FileError, match="keep one"):
        ds.load_problem(path)
