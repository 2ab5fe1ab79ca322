"""`ds.audit`: what the judge says of an estimator from anywhere, whatever form it comes in."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_backends import Bayes

import discreet as ds
from discreet.backends import run
from discreet.backends.contract import Answer, Raw
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


def over_its_budget() -> tuple[ds.Problem, ds.Solution]:
    """A problem, and an optimal answer to it with a budget larger by 9e-7."""
    problem = ds.problems.paper_single(bins=16, budget=0.01)
    return problem, ds.solve(problem.with_budget(0.01 * (1.0 + 9e-7)), "tilt")


def test_an_answer_judged_as_it_stands_may_exceed_its_budget_by_nothing() -> None:
    problem, leaky = over_its_budget()
    found = ds.audit(problem, leaky)
    judged = found.certificate
    assert judged is not None
    assert judged.own_leakage > problem.budget
    assert judged.own_error < judged.lower  # less than anything that keeps the budget
    assert found.status is ds.Status.VIOLATED_PRIVACY
    assert not judged.own_budget_kept
    assert "the estimator returned is its repair" in found.message
    assert found.leakage <= problem.budget
    assert judged.lower <= found.error_probability == judged.upper
    assert ds.certify(problem, leaky.estimator, leaky.tilt, leaky.multiplier).status is ds.Status.VIOLATED_PRIVACY


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.3, 0.9, 1.5])
def test_what_is_returned_stays_certified_when_it_is_judged_as_it_stands(share: float, tmp_path: Path) -> None:
    model = ds.problems.paper_single(bins=16, fraction=0.5)
    problem = model.with_budget(share * model.bayes_leakage)
    path = str(tmp_path / "answer.npz")
    ds.solve(problem, "tilt").save(path)
    found = ds.audit(problem, path)
    assert found.status is ds.Status.CERTIFIED
    assert found.certificate is not None
    assert found.certificate.own_budget_kept
    assert found.certificate.own_leakage == found.leakage
    assert found.leakage <= problem.budget or share == 0.0  # at 0 the leakage of stored numbers is of rounding size


def test_a_backends_answer_is_repaired_before_it_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, leaky = over_its_budget()

    class Leaky(Bayes):
        """Answers with what exceeds the budget by 9e-7."""

        name = "fake-leaky"

        def lift(self, raw: Raw) -> Answer:
            return Answer(leaky.estimator, leaky.tilt, leaky.multiplier)

    monkeypatch.setattr(run, "load_backend", lambda name: Leaky())
    found = ds.solve(problem, "fake-leaky", gap=1e-5)
    assert found.status is ds.Status.CERTIFIED  # the estimator returned, which is not the backend's
    assert "the estimator keeps the budget" in found.message
    record = found.to_dict()
    assert record["leakage_nats"] <= problem.budget < record["own_leakage_nats"]
    assert record["own_error_probability"] < record["lower_bound"] <= record["error_probability"] == record["upper_bound"]
    assert record["own_budget_kept"] is False
    assert ds.audit(problem, found, gap=1e-5).status is ds.Status.CERTIFIED


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
