"""Problems of several secrets and conditional information on the command line, and how they are
shown.
"""

import numpy as np
import pytest
from command import done, recorded, refused, solving_here
from random_laws import random_joint
from solving import of_secrets

import discreet as ds

# p(x, x', y, z)
FULL = random_joint(4, 2, 3, 2, 10)
CONDITIONAL = "conditional-mutual-information"


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.npz"
    ds.save_problem(path, of_secrets(FULL, (0, 0.0), (1, 0.002, "chi-square")))
    return str(path)


def test_solve_and_audit_show_every_constraint(two, tmp_path, monkeypatch):
    solving_here(monkeypatch)
    out = str(tmp_path / "answer.npz")
    shown = done(f"solve {two} --backend conic --gap 1e-7 --out {out}")
    assert "leakage 0" in shown.output
    assert "leakage 1" in shown.output
    assert "budget 0.002 of chi-square" in shown.output
    done(f"audit {two} {out} --gap 1e-7")
    told = recorded(f"audit {two} {out} --gap 1e-7 --json")
    assert [each["own_budget_kept"] for each in told["constraints"]] == [True, True]
    assert told["inference"] is None
    repaired = done(f"audit {two} {out} --fraction 0.0001", code=1)
    assert "its repair" in repaired.output


def test_what_is_about_one_secret_is_refused_in_a_sentence(two):
    assert "scales all budgets together" in refused(f"frontier {two}")
    assert "2 constraints" in refused(f"solve {two} --equivocation 0.1")


def test_a_joint_is_conditioned_on_y(tmp_path, monkeypatch):
    solving_here(monkeypatch)
    path = tmp_path / "joint.npz"
    np.savez(path, joint=FULL.sum(axis=1))
    shown = done(f"solve {path} --measure {CONDITIONAL} --leakage 0.002 --backend conic --gap 1e-7")
    assert f"0.002 nats of {CONDITIONAL}" in shown.output
    problem = ds.load_problem(path, budget=0.002, measure=CONDITIONAL)
    assert (
        problem.terms == ds.Problem.from_joint(FULL.sum(axis=1), 0.002, measure=CONDITIONAL).terms
    )
    ds.save_problem(tmp_path / "rows.npz", ds.Problem.from_joint(FULL.sum(axis=1), 0.1))
    assert "no given variable" in refused(
        f"solve {tmp_path / 'rows.npz'} --measure {CONDITIONAL} --leakage 0.1"
    )
