"""The published collection of hard instances: its table is that of the study, brackets hold, files
are made again.
"""

import csv
import hashlib
from pathlib import Path

import pytest
from checkout import REPORTS, text_of

import discreet as ds
from discreet.measures.registry import CONDITIONAL, MEASURES
from discreet.reports.study.cells import instances_of
from discreet.reports.study.plan import read_study

pytestmark = pytest.mark.gate

SMALL = 100  # outcomes


@pytest.fixture(scope="module")
def published():
    """The lines of the table, one for each file."""
    with (REPORTS / "instances.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def instances():
    """The instances of the study, by their names."""
    found, left_out = instances_of(read_study("hard"))
    assert not left_out
    return {instance.slug: instance for instance in found}


def test_the_table_is_that_of_the_study(published, instances):
    assert list(dict.fromkeys(line["name"] for line in published)) == list(instances)
    assert len(instances) >= 60
    for line in published:
        problem = instances[line["name"]].problem
        assert [int(line[name]) for name in ("private_values", "guesses", "outcomes")] == [
            problem.n,
            problem.m,
            problem.N,
        ]
        assert float(line["lower_bound"]) <= float(line["upper_bound"])
        assert line["note"]


def test_the_collection_has_what_it_promises(instances):
    terms = [term for instance in instances.values() for term in instance.problem.terms]
    assert {term.measure.name for term in terms} == {*MEASURES, *CONDITIONAL}
    assert {1e-12, 0.0} <= {term.budget.amount for term in terms}
    assert {10, 100_000} <= {instance.problem.N for instance in instances.values()}
    assert any(instance.parameters.get("sensors") == 40 for instance in instances.values())
    assert any(len(instance.problem.terms) > 1 for instance in instances.values())


def test_published_brackets_hold_the_optimum_found_now(published, instances):
    brackets = {
        line["name"]: (float(line["lower_bound"]), float(line["upper_bound"])) for line in published
    }
    small = [instance for instance in instances.values() if instance.problem.N <= SMALL]
    assert len(small) > 20
    for instance in small:
        found = ds.solve(instance.problem).certificate
        (lower, upper) = brackets[instance.slug]
        near = 1e-12 * upper  # masses may be rounded differently there
        assert lower <= found.upper + near, instance.slug
        assert found.lower <= upper + near, instance.slug


def test_small_files_are_made_again_byte_for_byte(published, instances, load, tmp_path):
    if f"`{load('hard.report').arithmetic()}`" not in text_of("reports/instances.md"):
        pytest.skip("elementary functions or decompositions round differently here")
    for line in published:
        if int(line["outcomes"]) <= SMALL:
            path = ds.export(instances[line["name"]].problem, tmp_path / line["file"])
            assert hashlib.sha256(path.read_bytes()).hexdigest() == line["sha256"], line["file"]
            assert instances[line["name"]].problem.digest == line["digest"]


def test_every_row_is_about_a_file_that_the_solver_reads(published, load):
    solvers = load("hard.solvers").SOLVERS
    with (REPORTS / "instances-solvers.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    files = {(line["name"], Path(line["file"]).suffix) for line in published}
    assert len({(row["name"], row["solver"]) for row in rows}) == len(rows)
    for row in rows:
        assert (row["name"], solvers[row["solver"]].ending) in files
        if row["right"] == "True":
            assert float(row["excess"]) <= load("hard.main").WITHIN
            assert row["objective"]


def test_only_what_is_near_and_keeps_the_budget_is_right(load):
    main = load("hard.main")
    problem = ds.problems.paper_single(bins=8, budget=0.005)
    best = ds.solve(problem)
    offset, unit = main.units(problem, linear=False)
    objective = (best.error_probability - offset) / unit
    empty = main.Row("name", "Clarabel", "Solved", True, 0.1)
    variables = best.estimator.ravel()
    assert main.judged(empty, problem, objective, variables, linear=False).right
    assert not main.judged(empty, problem, objective * (1.0 + 1e-4), variables, linear=False).right
    bayes = main.judged(empty, problem, 0.0, problem.bayes_estimator.ravel(), linear=False)
    assert not bayes.right
    assert bayes.excess == pytest.approx(problem.bayes_leakage / problem.budget - 1.0)
    marks = load("hard.report").MARKS
    assert load("hard.report").mark(bayes) == marks["wrong"]


@pytest.mark.parametrize("solver", ["HiGHS simplex", "HiGHS IPX", "Clarabel", "SCS", "ECOS"])
def test_every_solver_reads_its_file(solver, load, tmp_path):
    pytest.importorskip("ecos")
    problem = ds.problems.paper_single(bins=8, budget=0.1, measure="parity-difference")
    found = load("hard.solvers").SOLVERS[solver]
    path = ds.export(problem, tmp_path / f"program{found.ending}")
    answer = found.solve(path)
    assert answer.claims
    empty = load("hard.main").Row("name", solver, answer.status, answer.claims, 0.1)
    assert (
        load("hard.main")
        .judged(empty, problem, answer.objective, answer.variables, linear=found.ending == ".mps")
        .right
    )
    assert load("hard.report").kind_of(ds.export(problem, tmp_path / "program.cbf")) == "linear"
