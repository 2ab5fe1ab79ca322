"""`discreet verify`: exit codes, JSON, budgets and refusals."""

import os

import numpy as np
import pytest
from command import done, recorded, refused

import discreet as ds
from discreet import verification


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """model.npz with its budget, and answers to it: answer.npz (kept), bayes.npz (not), private.npz
    (budget 0).
    """
    found = tmp_path_factory.mktemp("verify")
    problem = ds.problems.paper_single(bins=8, budget=0.005)
    ds.save_problem(found / "model.npz", problem)
    ds.solve(problem, "tilt").save(str(found / "answer.npz"))
    ds.solve(problem.with_budget(0.0), "tilt").save(str(found / "private.npz"))
    np.savez(found / "bayes.npz", estimator=problem.bayes_estimator)
    return found


@pytest.mark.parametrize(
    "solution, budget, code",
    [
        ("answer.npz", "", 0),
        ("answer.npz", "--leakage 0.004999", 1),
        ("answer.npz", "--leakage inf", 0),
        ("answer.npz", "--perfect", 1),
        ("bayes.npz", "", 1),
        ("bayes.npz", "--fraction 1", 0),
        ("bayes.npz", "--fraction 0.999999", 1),
        ("private.npz", "--perfect", 0),
        ("private.npz", "", 0),
    ],
)
@pytest.mark.parametrize("catalog", [False, True])
def test_the_exit_code_says_whether_the_budget_is_kept(folder, solution, budget, code, catalog):
    problem = "paper-single:bins=8" if catalog else str(folder / "model.npz")
    budget = budget or ("--leakage 0.005" if catalog else "")
    record = recorded(f"verify {problem} {folder / solution} {budget} --json", code=code)
    assert record["budget_kept"] is (code == 0)
    for name in ("error", "leakage", "deviation", "bracket"):
        assert record[name][0] <= record[name][1]
    assert record["lower_bound"] == record["bracket"][0]
    assert (record["budget"] is None) == ("inf" in budget)
    words = done(f"verify {problem} {folder / solution} {budget}", code=code)
    assert ("proven to be kept" if code == 0 else "proven to be exceeded") in words.stdout


def test_an_equivocation_is_a_budget_too(folder):
    entropy = ds.problems.paper_single(bins=8, budget=0.0).entropy_x
    problem = str(folder / "model.npz")
    answer = str(folder / "answer.npz")
    done(f"verify {problem} {answer} --equivocation {entropy - 0.0051!r}")
    done(f"verify {problem} {answer} --equivocation {entropy - 0.0049!r}", code=1)


def test_refusals_are_one_sentence(folder):
    problem = str(folder / "model.npz")
    answer = str(folder / "answer.npz")
    absent = folder / "missing.npz"
    assert f"{absent} does not exist" in refused(f"verify {problem} {absent}")
    assert f"{absent} does not exist" in refused(f"verify {absent} {answer}")
    assert "estimator [2, 4]" in refused(f"verify paper-single:bins=4 {answer} --perfect")
    assert "budget" in refused(f"verify {problem} {answer} --leakage -1")
    assert "budget" in refused(f"verify {problem} {answer} --leakage nan")
    os.mkfifo(folder / "pipe.npz")
    assert "is not an ordinary file" in refused(f"verify {problem} {folder / 'pipe.npz'}")
    assert "is not an ordinary file" in refused(f"verify {folder / 'pipe.npz'} {answer}")
    (folder / "noise.npz").write_bytes(b"nothing")
    assert "noise.npz is not an .npz file" in refused(f"verify {problem} {folder / 'noise.npz'}")
    assert "noise.npz is not an .npz file" in refused(f"verify {folder / 'noise.npz'} {answer}")


def test_without_python_flint_it_says_what_to_install(folder, monkeypatch):
    monkeypatch.setattr(verification.exact, "arb", None)
    said = refused(f"verify {folder / 'model.npz'} {folder / 'answer.npz'}")
    assert 'pip install "discreet[verify]"' in said
    assert 'in a checkout pip install ".[verify]"' in said


def test_a_budget_other_than_the_one_that_the_solution_states_is_named(folder):
    model = str(folder / "model.npz")
    private = str(folder / "private.npz")
    for flags in ([], ["--json"]):
        said = done(f"verify {model} {private}", *flags).stderr
        assert "0.005 nats" in said
        assert "private.npz" in said
        assert "perfect privacy" in said
    tighter = done(f"verify {model} {private} --leakage 1e-3").stderr
    assert "0.001 nats" in tighter
    other = done(f"verify {model} {private} --leakage 1 --measure max-lift").stderr
    assert "max-lift" in other


def test_the_stated_budget_is_not_named_where_it_is_the_one_that_is_checked(folder):
    model = str(folder / "model.npz")
    assert not done(f"verify {model} {folder / 'answer.npz'}").stderr
    assert not done(f"verify {model} {folder / 'private.npz'} --perfect").stderr
    one = ds.load_problem(folder / "model.npz")
    secrets = [ds.Constraint(one.p_xz, 0.01), ds.Constraint(one.p_xz, 0.05, "total-variation")]
    both = ds.Problem(loss=one.loss, constraints=secrets)
    ds.save_problem(folder / "both.npz", both)
    ds.solve(both, "tilt").save(str(folder / "of-both.npz"))
    assert not done(f"verify {folder / 'both.npz'} {folder / 'of-both.npz'}").stderr


@pytest.mark.parametrize(
    "metadata", ["none", "[]", "{}", '{"budget_nats": "x"}', '{"measure": 3}', '{"constraints": 7}']
)
def test_a_solution_of_another_program_need_not_state_a_budget(folder, metadata):
    problem = ds.load_problem(folder / "model.npz")
    estimator = ds.solve(problem, "tilt").estimator
    np.savez(folder / "foreign.npz", estimator=estimator, metadata=np.array(metadata))
    assert not done(f"verify {folder / 'model.npz'} {folder / 'foreign.npz'}").stderr
