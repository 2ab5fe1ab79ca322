"""`ds.audit`: what the judge says of an estimator from anywhere, whatever form it comes in."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.backends.registry import load_backend
from discreet.problems.blocks import BlockProblem


class Many:
    """Blocks of more outcomes than any array here could hold; they are never read."""

    n = m = 2
    N = 10**12


def test_every_form_of_an_answer_is_judged_alike(tmp_path: Path) -> None:
    problem = ds.problems.paper_single(bins=16, budget=0.01)
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


def test_an_estimator_that_leaks_too_much_is_reported() -> None:
    problem = ds.problems.paper_single(bins=16, budget=0.001)
    found = ds.audit(problem, problem.bayes_estimator)
    assert found.status is ds.Status.VIOLATED_PRIVACY
    assert found.leakage <= problem.budget


def test_a_solution_without_an_answer_is_refused_in_a_sentence() -> None:
    problem = ds.problems.paper_single(bins=16, budget=0.001)
    without = ds.solve(problem, "highs")
    assert without.status is ds.Status.UNSUPPORTED
    with pytest.raises(ds.InputError, match="holds no answer: unsupported"):
        ds.audit(problem, without)


def test_outcomes_in_blocks_are_not_limited_by_memory() -> None:
    problem = ds.problems.paper_single(bins=16, budget=0.001)
    large = BlockProblem(Many(), problem.constraint, problem.p_x, problem.loss.sum(axis=1))  # type: ignore[arg-type]
    assert load_backend("tilt").capabilities.refusal(large) == ""
