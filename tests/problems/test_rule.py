"""Rules: their decisions, the agreement of all ways to evaluate them, and their refusals."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_columns, random_problem
from refusals import raises_file_error, raises_input_error
from strategies import problems

from discreet.numerics.tilted_losses import in_order_losses
from discreet.problems import ArrayBlocks, OutcomeRule

problem_of = partial(random_problem, spread=0.5)


def random_rule(problem, ties, seed=0, share=0.0):
    rng = default_rng(seed)
    index = rng.choice(problem.N, size=ties, replace=False)
    columns = random_columns(rng, problem.m, ties)
    return OutcomeRule(
        rng.normal(size=(problem.m, problem.n)) * 0.3,
        index,
        columns,
        share,
        rng.dirichlet(np.ones(problem.m)) if share else None,
    )


def blocks_of(problem, size=1 << 16):
    return ArrayBlocks(problem.p_xz, problem.loss, size)


@given(st.data())
def test_off_ties_a_rule_is_the_first_least_tilted_loss(data):
    problem = data.draw(problems())
    tilt = np.array(
        data.draw(
            st.lists(
                st.floats(-2, 2), min_size=problem.m * problem.n, max_size=problem.m * problem.n
            )
        )
    )
    rule = OutcomeRule(tilt.reshape(problem.m, problem.n))
    columns = rule.columns_for(0, problem.p_xz, problem.loss)
    losses = in_order_losses(problem.p_xz, problem.loss, rule.tilt)
    assert_array_equal(columns.argmax(axis=0), np.argmin(losses, axis=0))
    assert_array_equal(columns.sum(axis=0), 1.0)


def test_an_estimator_stated_as_a_rule_loses_no_probability_however_small():
    problem = problem_of(5, 2, 3)
    tilt = np.zeros((3, 2))
    estimator = OutcomeRule(tilt).dense(blocks_of(problem))
    rare = int(estimator[:, 2].argmin())
    estimator[rare, 2] = 1e-18  # its label's probability rounds to one
    rule = OutcomeRule.of(tilt, estimator, problem.p_xz, problem.loss)
    assert rule.ties.tolist() == [2]
    assert_array_equal(rule.dense(blocks_of(problem)), estimator)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_of_any_size_give_the_same_estimator(size):
    problem = problem_of(300, 3, 4)
    rule = random_rule(problem, 9, share=0.25)
    whole = rule.columns_for(0, problem.p_xz, problem.loss)
    assert_array_equal(rule.dense(blocks_of(problem, size)), whole)
    assert_allclose(whole.sum(axis=0), 1.0, rtol=1e-15)
    assert_allclose(
        whole[:, rule.ties], 0.75 * rule.columns + 0.25 * rule.towards[:, None], rtol=1e-15
    )


def test_ties_may_come_in_any_order():
    problem = problem_of(30, 2, 2)
    columns = np.array([[0.25, 0.5], [0.75, 0.5]])
    left = OutcomeRule(np.zeros((2, 2)), [20, 3], columns)
    right = OutcomeRule(np.zeros((2, 2)), [3, 20], columns[:, ::-1])
    assert_array_equal(left.dense(blocks_of(problem)), right.dense(blocks_of(problem)))
    assert left.ties.tolist() == [3, 20]
    assert left.ties_in(3, 1) == slice(0, 1)
    assert left.ties_in(4, 17) == slice(1, 2)
    assert left.ties_in(21, 5) == slice(2, 2)


def test_blending_composes():
    problem = problem_of(40, 2, 3)
    rule = random_rule(problem, 4, share=0.1)
    towards = np.array([0.0, 1.0, 0.0])
    expected = 0.7 * rule.dense(blocks_of(problem)) + 0.3 * towards[:, None]
    assert_allclose(
        rule.blended(0.3, towards).dense(blocks_of(problem)), expected, rtol=1e-14, atol=1e-16
    )
    assert rule.blended(0.0, towards) is rule
    assert (rule.blended(1.0, towards).dense(blocks_of(problem)) == towards[:, None]).all()


# -- the dense matrix
# --------------------------------------------------------------------------------------------------


def test_dense_into_a_file_is_all_or_nothing(tmp_path):
    problem = problem_of(500, 2, 3)
    rule = random_rule(problem, 5)
    target = tmp_path / "estimator.npy"
    mapped = rule.dense(blocks_of(problem, 64), target)
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    assert_array_equal(np.load(target), rule.dense(blocks_of(problem)))
    with raises_file_error(target.name):
        rule.dense(blocks_of(problem), target)
    rule.dense(blocks_of(problem), str(target), overwrite=True)

    class Breaking(ArrayBlocks):
        def chunks(self):
            yield from list(super().chunks())[:2]
            raise KeyboardInterrupt

    fresh = tmp_path / "other.npy"
    with pytest.raises(KeyboardInterrupt):
        rule.dense(Breaking(problem.p_xz, problem.loss, 64), fresh)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["estimator.npy"]


def test_dense_into_an_array():
    problem = problem_of(50, 2, 2)
    rule = random_rule(problem, 2)
    out = np.empty((2, 50))
    assert rule.dense(blocks_of(problem), out) is out
    with raises_input_error("shape"):
        rule.dense(blocks_of(problem), np.empty((2, 49)))


def test_a_dense_estimator_that_is_too_large_needs_out():
    with raises_input_error("out="):
        OutcomeRule(np.zeros((2, 2))).dense(SimpleNamespace(n=2, m=2, N=10**10))


# -- refusals
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, words",
    [
        (([1.0, 2.0],), r"give \[m, n\]"),
        (([[np.nan]],), r"tilt\[0, 0\]"),
        (("words",), "not an array"),
        (([[0.0]], [-1], [[1.0]]), "indices ≥ 0"),
        (([[0.0]], [0.5], [[1.0]]), "indices ≥ 0"),
        (([[0.0]], [3, 3], [[1.0, 1.0]]), "listed twice"),
        (([[0.0], [0.0]], [3], [[0.5], [0.4]]), "sums to 0.9"),
        (([[0.0], [0.0]], [3], [[-0.5], [1.5]]), "negative"),
        (([[0.0]], (), None, 0.5), "towards is not given"),
        (([[0.0]], (), None, 1.5, [1.0]), "share"),
        (([[0.0]], (), None, 0.5, [0.5, 0.5]), "towards has shape"),
    ],
)
def test_invalid_rules_are_refused(arguments, words):
    with raises_input_error(words):
        OutcomeRule(*arguments)


def test_a_rule_is_shown_in_one_line():
    rule = OutcomeRule([[0.0, 0.1], [0.2, 0.0]], ties=[3], columns=[[0.5], [0.5]])
    assert repr(rule) == "OutcomeRule(n=2, m=2, 1 ties)"
    assert (
        repr(rule.blended(0.25, np.array([1.0, 0.0])))
        == "OutcomeRule(n=2, m=2, 1 ties, ignores the outcome with probability 0.25)"
    )
