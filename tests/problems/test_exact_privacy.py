"""Columns of integers make perfectly private estimators exactly private: laws, checked with
fractions.
"""

import json
import random
from fractions import Fraction

import exactly
import numpy as np
import pytest
import strategies as make
from hypothesis import given
from hypothesis import strategies as st
from solving import assert_certified

import discreet as ds
from discreet.problems import Problem, blocks_from
from discreet.problems.exact_privacy import _exact_sum, _solution
from discreet.reports.second_opinion import second_opinion


def exact_columns_of(solution):
    """Outcome → integers, as a file states them."""
    texts = json.loads(str(solution.members().get("exact_columns", "{}")))
    return {
        int(outcome): [int(weight, 0) for weight in column] for outcome, column in texts.items()
    }


def columns_of(estimator, exact):
    """The columns as fractions: those of integers, and otherwise those of doubles, completed at the
    likeliest guess.
    """
    found = exactly.completed(np.asarray(estimator))
    for outcome, weights in exact.items():
        found[:, outcome] = exactly.fractions(weights) / sum(weights)
    return found


@given(make.problems(0.0, general=False))
def test_an_answer_is_stated_as_exactly_private_where_the_judge_proves_that_it_can_be(problem):
    solution = ds.solve(problem, "tilt")
    if solution.certificate is None or solution.estimator is None:
        return
    columns = columns_of(solution.estimator, exact_columns_of(solution))
    assert (columns >= 0).all()
    assert (columns.sum(axis=0) == 1).all()
    if solution.certificate.private_within == 0.0:
        assert exactly.distance(problem, columns) == 0
        error = exactly.error_probability(problem, columns)
        assert error <= Fraction(solution.certificate.upper)


@pytest.mark.parametrize("backend", ["tilt", "highs"])
@pytest.mark.parametrize(
    "problem",
    [
        ds.problems.paper_single(bins=20, budget=0.0),
        ds.problems.paper_multi(sensors=2, bins=2, budget=0.0),  # the vertex randomises nowhere
        ds.problems.dirichlet(n=4, m=3, N=30, seed=1, budget=0.0),
        ds.problems.x_equals_y(n=3, N=12, budget=0.0),
        ds.problems.duplicated(N=6, copies=3, budget=0.0),
    ],
    ids=["single", "multi", "dirichlet", "x-equals-y", "duplicated"],
)
def test_answers_of_solvers_are_verified_as_private(problem, backend):
    solution = ds.solve(problem, backend)
    found = ds.verify(problem, solution)
    if problem.N == 3 and backend == "highs":  # it leaves a vertex that randomises nowhere as it is
        assert 0.0 < found.deviation[0] <= solution.certificate.private_within < 1e-15
        return
    assert solution.certificate.private_within == 0.0
    assert found.budget_kept
    assert found.deviation == found.leakage == (0.0, 0.0)
    assert found.bracket[1] - found.bracket[0] <= 1e-9 * found.bracket[1]


def test_an_estimator_that_ignores_the_outcome_needs_no_integers():
    problem = ds.problems.dirichlet(n=3, m=3, N=10, seed=2, budget=0.0)
    assert exact_columns_of(ds.certify(problem, np.eye(3)[:, [1] * 10])) == {}


def test_an_estimator_that_leaks_is_not_called_private():
    """p(z given x) = ½(1 ± 2e-14): the Bayes rule is within rounding of privacy, and no small
    change makes it private.
    """
    p_xz = np.array([[0.25 + 5e-15, 0.25 - 5e-15], [0.25 - 5e-15, 0.25 + 5e-15]])
    problem = Problem(p_xz, p_xz[::-1], 0.0)
    solution = ds.certify(problem, problem.bayes_estimator)
    assert exact_columns_of(solution) == {}
    found = ds.verify(problem, solution)
    assert found.budget_kept is False
    assert found.lower_bound < 0.5 == found.bracket[1]


def test_what_a_file_cannot_state_exactly_is_stated_within_a_number():
    """An exactly private estimator next to this one differs in 105 probabilities: as integers these
    would be too long.
    """
    problem = ds.problems.dirichlet(n=4, m=36, N=300, seed=1, budget=0.0)
    solution = assert_certified(problem, "tilt")
    within = solution.certificate.private_within
    assert 0.0 < within < 1e-12
    stated = float(solution.message.partition("private within ")[2].partition(":")[0])
    assert within <= stated <= 1.1 * within
    assert exact_columns_of(solution) == {}
    found, contradictions = second_opinion(solution, 1e-9)
    assert contradictions == []
    assert 0.0 < found.deviation[0] <= within


def test_a_rule_of_blocks_is_verified_as_private():
    problem = ds.problems.paper_single(bins=3000, budget=0.0)
    pieces = [slice(start, start + 700) for start in range(0, 3000, 700)]
    blocks = blocks_from(
        lambda: ((problem.p_xz[:, piece], problem.loss[:, piece]) for piece in pieces), 2, 2
    )
    streamed = ds.problems.block_problem(blocks, budget=0.0)
    solution = ds.solve(streamed, "tilt")
    members = solution.members()
    assert set(json.loads(str(members["exact_columns"]))) == {
        str(tie) for tie in members["ties"].tolist()
    }
    for source in (streamed, problem):
        found = ds.verify(source, members)
        assert found.budget_kept
        assert found.bracket[1] - found.bracket[0] < 1e-12
    without = ds.verify(
        streamed, {name: value for name, value in members.items() if name != "exact_columns"}
    )
    assert without.budget_kept is False
    assert without.deviation[1] < 1e-12


@pytest.mark.parametrize("size", [1, 2, 30])
def test_equations_with_long_integers_are_solved_exactly(size):
    """Also with a common factor, with integer solutions of either sign, and where pivots vanish
    modulo the prime.
    """
    rng = random.Random(size)
    matrix = [[rng.randrange(-(2**150), 2**150) for _ in range(size)] for _ in range(size)]
    matrix[0][0] = 2**127 - 1 if size > 1 else 6
    sides = [rng.randrange(-(2**150), 2**150) for _ in range(size)]
    for system in (
        [[*row, side] for row, side in zip(matrix, sides, strict=True)],
        [[6 * entry for entry in (*row, side)] for row, side in zip(matrix, sides, strict=True)],
        [[*row, sum(a * (7 - k) for k, a in enumerate(row))] for row in matrix],
        [[-3 * (k == j) for j in range(size)] + [k - 1] for k in range(size)],
    ):
        values = _solution([[Fraction(entry, 6) for entry in row] for row in system])
        for row in system:
            assert sum(a * x for a, x in zip(row, values, strict=False)) == row[-1]


@given(
    st.lists(st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 1e-300), st.just(5e-324)), max_size=40)
)
def test_sums_of_doubles_are_exact(values):
    assert _exact_sum(np.array(values)) == sum(map(Fraction, values))
