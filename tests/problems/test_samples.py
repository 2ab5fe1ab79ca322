"""From samples to a problem: binning, smoothing, missing values, labels, merging."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.problems import Problem
from discreet.problems.errors import InputError


def survey(records=400, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, records)
    y = rng.integers(0, 3, records)
    z = np.stack([0.4 * x + 0.6 * y + rng.normal(0.0, 0.3, records), rng.integers(0, 4, records).astype(float)], axis=1)
    return x, y, z


# -- the model ---------------------------------------------------------------------------------------------------------


def test_without_smoothing_the_model_is_the_table_of_frequencies():
    x, y, z = survey()
    problem = Problem.from_samples(x, y, z[:, 0], math.inf, edges=[0.3, 0.8], smoothing=0.0)
    cell = np.searchsorted([0.3, 0.8], z[:, 0])
    wanted_a = np.zeros((2, 3))
    wanted_loss = np.zeros((3, 3))
    for j, i, k in zip(x, y, cell, strict=True):
        wanted_a[j, k] += 1 / len(x)
        wanted_loss[[g for g in range(3) if g != i], k] += 1 / len(x)
    np.testing.assert_allclose(problem.p_xz, wanted_a, rtol=1e-12)
    np.testing.assert_allclose(problem.loss, wanted_loss, rtol=1e-12)


def test_smoothing_is_the_stated_posterior_mean():
    x, y, z = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0], ["a", "a", "b", "b", "c"]
    alpha = 2.0
    problem = Problem.from_samples(x, y, z, math.inf, smoothing=alpha)
    counts = np.zeros((2, 2, 3))
    for j, i, k in zip(x, y, [0, 0, 1, 1, 2], strict=True):
        counts[j, i, k] += 1
    joint = (counts + alpha * counts.sum(axis=2, keepdims=True) / 5) / (5 + 3 * alpha)
    wanted = Problem.from_joint(joint, math.inf)
    np.testing.assert_allclose(problem.p_xz, wanted.p_xz, rtol=1e-14)
    np.testing.assert_allclose(problem.loss, wanted.loss, rtol=1e-14)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 50.0), st.integers(1, 6), st.integers(0, 20))
def test_smoothing_and_merging_keep_the_laws_of_x_and_y(seed, alpha, bins, least):
    x, y, z = survey(120, seed)
    problem = Problem.from_samples(x, y, z, math.inf, bins=bins, smoothing=alpha, min_count=least)
    np.testing.assert_allclose(problem.p_x, np.bincount(x) / 120, rtol=1e-12)
    np.testing.assert_allclose(1.0 - problem.loss.sum(axis=1), np.bincount(y) / 120, atol=1e-12)
    assert problem.samples.counts.sum() == 120
    assert (problem.samples.counts > 0).all()


def test_more_smoothing_leaks_less():
    x, y, z = survey()
    leaks = [Problem.from_samples(x, y, z, math.inf, smoothing=alpha).bayes_leakage for alpha in (0.0, 1.0, 10.0)]
    assert leaks[0] > leaks[1] > leaks[2] >= 0.0


def test_a_pair_without_records_gets_no_mass():
    problem = Problem.from_samples([0, 0, 1], [0, 1, 1], ["a", "b", "a"], math.inf, smoothing=5.0)
    # (x, y) = (1, 0) never occurs: given x = 1, guessing y = 1 never errs, so its loss comes from x = 0, y = 0 alone.
    assert problem.loss[1].sum() == pytest.approx(1 / 3)


# -- binning -----------------------------------------------------------------------------------------------------------


def test_quantile_bins_are_closed_above_and_hold_equal_shares():
    problem = Problem.from_samples([0, 1] * 50, [0, 1] * 50, np.arange(100.0), math.inf, bins=4)
    report = problem.samples
    np.testing.assert_array_equal(report.edges[0], [24.0, 49.0, 74.0])
    np.testing.assert_array_equal(report.counts, [25, 25, 25, 25])
    assert report.merged_edges == (0,)


def test_equal_quantiles_merge_and_are_counted():
    z = np.array([0.0] * 90 + list(range(1, 11)))
    report = Problem.from_samples(np.arange(100) % 2, np.arange(100) % 3, z, math.inf, bins=5).samples
    np.testing.assert_array_equal(report.edges[0], [0.0])
    assert report.merged_edges == (3,)
    np.testing.assert_array_equal(report.counts, [90, 10])
    constant = Problem.from_samples([0, 1], [0, 1], [7.0, 7.0], math.inf, bins=3).samples
    assert constant.edges[0].size == 0
    assert constant.merged_edges == (2,)


def test_given_edges_are_half_open_and_infinite_ends_are_implied():
    z = np.array([-5.0, 0.2, 0.21, 0.9, math.inf])
    for edges in ([0.2, 0.5, 0.8], [-math.inf, 0.2, 0.5, 0.8, math.inf], [[0.2, 0.5, 0.8]]):
        report = Problem.from_samples([0, 1, 0, 1, 0], [0, 1, 1, 0, 1], z, math.inf, edges=edges).samples
        np.testing.assert_array_equal(report.edges[0], [0.2, 0.5, 0.8])
        np.testing.assert_array_equal(report.cells[:, 0], [0, 1, 3])
        np.testing.assert_array_equal(report.counts, [2, 1, 2])
        assert report.cells_possible == 4


def test_columns_mix_quantiles_edges_and_categories():
    x, y, z = survey()
    table = {"score": z[:, 0], "group": z[:, 1], "town": np.where(z[:, 0] > 0.5, "north", "south")}
    report = Problem.from_samples(x, y, table, math.inf, bins=[3, None, 9], edges=[None, None, None]).samples
    assert report.columns == ("score", "group", "town")
    assert report.categories == (None, (0.0, 1.0, 2.0, 3.0), ("north", "south"))
    assert report.edges[0].size == 2
    assert report.edges[1] is None
    assert report.cells_possible == 3 * 4 * 2
    assert report.cells_occupied == len(report.counts) <= report.cells_possible
    assert report.cells.tolist() == sorted(report.cells.tolist())


def test_outcomes_count_the_records_of_their_cell():
    x, y, z = survey()
    report = Problem.from_samples(x, y, z, math.inf, bins=[3, None]).samples
    bins = np.stack([np.searchsorted(report.edges[0], z[:, 0]), z[:, 1].astype(int)], axis=1)
    for cell, count in zip(report.cells, report.counts, strict=True):
        assert (bins == cell).all(axis=1).sum() == count


def test_rows_of_mixed_kinds_keep_their_kinds():
    rows = [[1, "a"], [2, "b"], [None, "a"], [4, "b"]]
    report = Problem.from_samples([0, 1, 0, 1], [0, 1, 1, 0], rows, math.inf, bins=2).samples
    assert (report.records, report.dropped) == (3, 1)
    np.testing.assert_array_equal(report.edges[0], [2.0])
    assert report.categories[1] == ("a", "b")
    flags = Problem.from_samples([0, 1], [0, 1], [True, False], math.inf).samples
    assert flags.categories == ((False, True),)


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 40))
    report = Problem.from_samples(rng.integers(0, 2, 50), rng.integers(0, 2, 50), z, math.inf, bins=8).samples
    assert report.cells_possible == 8**40
    assert report.cells_occupied == 50


def test_a_frame_and_its_columns_give_the_same_problem():
    import pandas as pd

    x, y, z = survey()
    frame = pd.DataFrame({"a": z[:, 0], "b": z[:, 1]})
    one = Problem.from_samples(pd.Series(x), pd.Series(y), frame, 0.01)
    two = Problem.from_samples(x, y, z, 0.01)
    np.testing.assert_array_equal(one.p_xz, two.p_xz)
    assert one.samples.columns == ("a", "b")
    assert two.samples.columns == ("0", "1")
    three = Problem.from_samples(x, y, pd.Series(z[:, 0]), 0.01)
    np.testing.assert_array_equal(three.p_xz, Problem.from_samples(x, y, z[:, 0].tolist(), 0.01).p_xz)


# -- rare cells --------------------------------------------------------------------------------------------------------


def test_rare_cells_are_merged_into_a_last_rest():
    z = ["a"] * 5 + ["b"] * 2 + ["c"] * 6 + ["d"] * 2
    report = Problem.from_samples([0, 1, 1] * 5, [0, 1, 0] * 5, z, math.inf, min_count=3).samples
    assert report.cells.tolist() == [[0], [2], [-1]]
    assert report.counts.tolist() == [5, 6, 4]
    assert report.merged_cells == 2
    assert report.cells_occupied == 4


def test_a_rest_that_is_still_rare_takes_the_smallest_other_cell():
    z = ["a"] * 5 + ["b"] * 1 + ["c"] * 9
    report = Problem.from_samples([0, 1, 1] * 5, [0, 1, 0] * 5, z, math.inf, min_count=3).samples
    assert report.cells.tolist() == [[2], [-1]]
    assert report.counts.tolist() == [9, 6]
    everything = Problem.from_samples([0, 1, 1] * 5, [0, 1, 0] * 5, z, math.inf, min_count=1000).samples
    assert everything.counts.tolist() == [15]


# -- records and labels ------------------------------------------------------------------------------------------------


def test_incomplete_records_are_dropped_and_counted():
    import pandas as pd

    x = np.array([0.0, math.nan, 1.0, 1.0, 0.0])
    y = ["yes", "no", None, "no", "yes"]
    z = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, math.nan], "b": pd.array([1, 2, 3, pd.NA, 5], dtype="Int64")})
    report = Problem.from_samples(x, y, z, math.inf).samples
    assert (report.records, report.dropped) == (1, 4)
    assert report.x_labels == (0.0,)
    assert report.y_labels == ("yes",)


def test_labels_may_be_anything_hashable():
    report = Problem.from_samples([(1, 2), (0, 5), (1, 2)], ["b", 3, "b"], [1.0, 2.0, 3.0], math.inf).samples
    assert report.x_labels == ((0, 5), (1, 2))
    assert report.y_labels == (3, "b")
    assert Problem.from_samples([1, "1", 1], [0, 1, 1], [1.0, 2.0, 3.0], math.inf).samples.x_labels == (1, "1")


def test_permuting_the_records_changes_nothing():
    x, y, z = survey()
    order = np.random.default_rng(3).permutation(len(x))
    one, two = Problem.from_samples(x, y, z, 0.02), Problem.from_samples(x[order], y[order], z[order], 0.02)
    np.testing.assert_array_equal(one.p_xz, two.p_xz)
    np.testing.assert_array_equal(one.loss, two.loss)


def test_problem_from_samples_passes_all_options_on():
    x, y, z = survey()
    problem = Problem.from_samples(x, y, z, equivocation=0.5, bins=3, name="mine")
    assert problem.name == "mine"
    assert problem.equivocation == pytest.approx(0.5)
    assert problem.samples.records == 400
    assert problem.with_budget(0.0).samples is problem.samples
    assert "400 records" in repr(problem.samples)


def test_a_loss_matrix_is_used():
    x, y, z = survey()
    matrix = [[0.0, 1.0], [1.0, 0.0], [5.0, 0.0]]
    assert Problem.from_samples(x, y, z, math.inf, loss_matrix=matrix).m == 2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [0], [1.0, 2.0]), {}, "x has 2 records and y has 1"),
        (([0], [0], [1.0, 2.0]), {}, "z column 0 has 2 records and y has 1"),
        (([0, 1], [0, 1], [math.nan, math.nan]), {}, "none of the 2 records is complete"),
        (([], [], []), {}, "none of the 0 records is complete"),
        (([0, 1], [0, 1], [[1.0], [2.0, 3.0]]), {}, "the rows of z differ in length"),
        (([0, 1], [0, 1], np.zeros((2, 1, 1))), {}, r"z has shape \[2, 1, 1\]"),
        (([0, 1], [0, 1], {}), {}, "z has no columns"),
        ((np.zeros((2, 2)), [0, 1], [1.0, 2.0]), {}, r"x has shape \[2, 2\]"),
        ((7, [0, 1], [1.0, 2.0]), {}, "x is 7; give one entry per record"),
        (([[0], [1]], [0, 1], [1.0, 2.0]), {}, "give hashable labels"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"bins": 0}, "bins of z column 0 is 0; give an integer ≥ 1"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"bins": [3, 3]}, "bins has 2 entries and z has 1 columns"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"bins": 2.5}, "bins is 2.5"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"edges": [0.5, 0.2]}, "do not increase at position 0"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"edges": [0.5, math.nan]}, "do not increase"),
        (([0, 1], [0, 1], ["a", "b"]), {"edges": [0.5]}, "is not numeric, so it cannot be cut at edges"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"edges": ["a"]}, "the edges of z column 0|edges"),
        (
            ([0, 1], [0, 1], [[1.0, 2.0], [3.0, 4.0]]),
            {"edges": [["a"], None]},
            "the row of edges of z column 0 is not an array of real numbers",
        ),
        (([0, 1], [0, 1], [[1.0, 2.0], [3.0, 4.0]]), {"edges": 0.5}, "edges is 0.5; give"),
        (([0, 1], [0, 1], 5), {}, "z is not a table"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"smoothing": -1.0}, "smoothing is -1.0; give a finite number ≥ 0"),
        (([0, 1], [0, 1], [1.0, 2.0]), {"min_count": -1}, "min_count is -1"),
    ],
)
def test_bad_samples_are_refused_in_one_sentence(arguments, options, message):
    with pytest.raises(InputError, match=message) as caught:
        Problem.from_samples(*arguments, math.inf, **options)
    assert "\n" not in str(caught.value)


def test_a_budget_is_required():
    with pytest.raises(InputError, match="give exactly one of budget="):
        Problem.from_samples([0, 1], [0, 1], [1.0, 2.0])
