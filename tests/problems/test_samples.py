"""From a table of people to a problem: binning, smoothing, missing values, labels, merging,
secrets, other people.
"""

import inspect
from math import inf, nan

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import raises_input_error
from solving import assert_certified

import discreet as ds
from discreet import InputError, Problem
from discreet.problems.binning import Binning

pytestmark = pytest.mark.filterwarnings("ignore::discreet.FewRecordsWarning")


def survey(records=400, seed=1):
    rng = default_rng(seed)
    x = rng.integers(0, 2, records)
    y = rng.integers(0, 3, records)
    z = np.stack(
        [
            0.4 * x + 0.6 * y + rng.normal(0.0, 0.3, records),
            rng.integers(0, 4, records).astype(float),
        ],
        axis=1,
    )
    return x, y, z


def from_samples(x, y, z, budget=inf, **options):
    """The problem of triples: the columns x and y, and those of z by their numbers."""
    if not isinstance(z, dict):
        z = np.asarray(z)
        z = {str(k): column for k, column in enumerate(z.T if z.ndim == 2 else [z])}
    return Problem.from_frame({"x": x, "y": y, **z}, hide="x", guess="y", budget=budget, **options)


# -- the model
# --------------------------------------------------------------------------------------------------


def test_without_smoothing_the_model_is_the_table_of_frequencies():
    x, y, z = survey()
    problem = from_samples(x, y, z[:, 0], edges={"0": [0.3, 0.8]}, smoothing=0.0)
    cell = np.searchsorted([0.3, 0.8], z[:, 0])
    wanted_a = np.zeros((2, 3))
    wanted_loss = np.zeros((3, 3))
    for j, i, k in zip(x, y, cell, strict=True):
        wanted_a[j, k] += 1 / len(x)
        wanted_loss[[g for g in range(3) if g != i], k] += 1 / len(x)
    assert_allclose(problem.p_xz, wanted_a, rtol=1e-12)
    assert_allclose(problem.loss, wanted_loss, rtol=1e-12)


# -- binning
# --------------------------------------------------------------------------------------------------


def test_quantile_bins_are_closed_above_and_hold_equal_shares():
    problem = from_samples([0, 1] * 50, [0, 1] * 50, np.arange(100.0), bins=4)
    report = problem.samples
    assert_array_equal(report.columns[0].edges, [24.0, 49.0, 74.0])
    assert_array_equal(report.counts, [25, 25, 25, 25])
    assert report.columns[0].merged == 0


def test_equal_quantiles_merge_and_are_counted():
    z = np.array([0.0] * 90 + list(range(1, 11)))
    report = from_samples(np.arange(100) % 2, np.arange(100) % 3, z, bins=5).samples
    assert_array_equal(report.columns[0].edges, [0.0])
    assert report.columns[0].merged == 3
    assert_array_equal(report.counts, [90, 10])
    constant = from_samples([0, 1], [0, 1], [7.0, 7.0], bins=3).samples
    assert constant.columns[0].edges.size == 0
    assert constant.columns[0].merged == 2


def test_given_edges_are_half_open_and_infinite_ends_are_implied():
    z = np.array([-5.0, 0.2, 0.21, 0.9, inf])
    for edges in ([0.2, 0.5, 0.8], [-inf, 0.2, 0.5, 0.8, inf], [[0.2, 0.5, 0.8]]):
        report = from_samples([0, 1, 0, 1, 0], [0, 1, 1, 0, 1], z, edges={"0": edges}).samples
        assert_array_equal(report.columns[0].edges, [0.2, 0.5, 0.8])
        assert_array_equal(report.cells[:, 0], [0, 1, 3])
        assert_array_equal(report.counts, [2, 1, 2])
        assert report.cells_possible == 4


def test_many_columns_do_not_overflow():
    rng = default_rng(0)
    z = rng.normal(size=(50, 40))
    report = from_samples(rng.integers(0, 2, 50), rng.integers(0, 2, 50), z, bins=8).samples
    assert report.cells_possible == 8**40
    assert report.cells_occupied == 50


def test_every_kind_of_table_gives_the_same_problem():
    import pandas as pd

    class Frame:
        """As data frames of other libraries: names of columns, and columns by name."""

        def __init__(self, columns):
            self.columns = list(columns)
            self._held = columns

        def __getitem__(self, name):
            return self._held[name]

    x, y, z = survey()
    columns = {"x": x, "y": y.astype(str), "a": z[:, 0], "b": z[:, 1]}
    fields = [(name, column.dtype) for name, column in columns.items()]
    records = np.array(list(zip(*columns.values(), strict=True)), dtype=fields)
    listed = {name: column.tolist() for name, column in columns.items()}
    asked = {"hide": "x", "guess": "y", "budget": 0.01}
    one, *others = (
        Problem.from_frame(table, **asked)
        for table in (
            columns,
            listed,
            pd.DataFrame(columns),
            pd.DataFrame(columns).convert_dtypes(),
            Frame(columns),
            records,
        )
    )
    for other in others:
        assert_array_equal(one.p_xz, other.p_xz)
        assert_array_equal(one.loss, other.loss)
        assert one.samples.digest == other.samples.digest
        assert other.samples.private_labels == {"x": (0, 1)}
        assert other.samples.truths == ("0", "1", "2")
    changed = Problem.from_frame(columns | {"a": z[:, 0] + 1e-9}, **asked)
    assert changed.samples.digest != one.samples.digest


# -- rare cells
# --------------------------------------------------------------------------------------------------


def test_a_rest_that_is_still_rare_takes_the_smallest_other_cell():
    z = ["a"] * 5 + ["b"] * 1 + ["c"] * 9
    report = from_samples([0, 1, 1] * 5, [0, 1, 0] * 5, z, min_count=3).samples
    assert report.cells.tolist() == [[2], [-1]]
    assert report.counts.tolist() == [9, 6]
    everything = from_samples([0, 1, 1] * 5, [0, 1, 0] * 5, z, min_count=1000).samples
    assert everything.counts.tolist() == [15]


# -- people and labels
# -------------------------------------------------------------------------------------------------


def test_incomplete_people_are_left_out_and_counted():
    import pandas as pd

    table = pd.DataFrame(
        {
            "x": [0.0, nan, 1.0, 1.0, 0.0],
            "y": ["yes", "no", None, "no", "yes"],
            "a": [1.0, 2.0, 3.0, 4.0, nan],
            "b": pd.array([1, 2, 3, pd.NA, 5], dtype="Int64"),
            "ignored": [nan] * 5,
        }
    )
    asked = {"hide": "x", "guess": "y", "use": ["a", "b"], "budget": inf}
    report = Problem.from_frame(table, **asked).samples
    assert (report.records, report.dropped) == (1, 4)
    assert report.private_labels == {"x": (0,)}
    assert report.truths == ("yes",)
    kept = Problem.from_frame(table, missing="category", **asked).samples
    assert (kept.records, kept.dropped) == (4, 1)  # without the guess no one is counted
    assert kept.private_labels == {"x": (0, 1, None)}
    assert [(each.missing, each.bins) for each in kept.columns] == [(True, 4), (True, 4)]
    assert kept.outcome_of(table).fallbacks == 1
    assert kept.outcome_of(table[table["y"].notna()]).fallbacks == 0


def test_labels_may_be_anything_hashable():
    import pandas as pd

    report = from_samples([(1, 2), (0, 5), (1, 2)], ["b", 3, "b"], [1.0, 2.0, 3.0]).samples
    assert report.private_labels["x"] == ((0, 5), (1, 2))
    assert report.truths == (3, "b")
    assert from_samples([1, "1", 1], [0, 1, 1], [1.0, 2.0, 3.0]).samples.private_labels["x"] == (
        1,
        "1",
    )
    ranges = pd.cut(pd.Series([1.0, 5.0, 9.0, 2.0]), [0, 3, 6, 10])
    assert from_samples([0, 1, 1, 0], ranges, [1, 2, 3, 4]).samples.truths == (
        "(0, 3]",
        "(3, 6]",
        "(6, 10]",
    )


def test_losses_are_a_matrix_or_named():
    x, y, z = survey()
    y = np.array(["bad", "fair", "good"])[y]
    matrix = [[0.0, 2.0, 3.0, 0.5], [1.0, 0.0, 1.0, 0.5], [5.0, 1.0, 0.0, 0.5]]
    plain = from_samples(x, y, z, loss_matrix=matrix)
    assert plain.m == 4
    assert plain.samples.guesses == (0, 1, 2, 3)
    named = {
        "good": {"bad": 5, "fair": 1, "?": 0.5},
        "bad": {"?": 0.5, "fair": 2, "good": 3},
        "fair": {"bad": 1, "good": 1, "?": 0.5},
    }
    other = from_samples(x, y, z, loss_matrix=named)
    assert_array_equal(plain.loss, other.loss)
    assert other.samples.guesses == ("bad", "fair", "good", "?")
    assert from_samples(x, y, z, loss_matrix=np.ones((3, 3))).samples.guesses == (
        "bad",
        "fair",
        "good",
    )


def test_weights_count_people_as_often_as_they_say():
    x, y, z = survey(60)
    times = default_rng(0).integers(0, 4, 60)
    table = {"x": x, "y": y, "z": z[:, 1], "times": times}
    repeated = {name: np.repeat(column, times) for name, column in table.items() if name != "times"}
    asked = {"hide": "x", "guess": "y", "budget": inf, "bins": None, "smoothing": 0.0}
    one = Problem.from_frame(table, weights="times", **asked)
    two = Problem.from_frame(repeated, **asked)
    assert_allclose(one.p_xz, two.p_xz, rtol=1e-13)
    assert_allclose(one.loss, two.loss, rtol=1e-13)
    assert (one.samples.records, one.samples.dropped) == (
        int((times > 0).sum()),
        int((times == 0).sum()),
    )
    equal = Problem.from_frame(
        table | {"times": np.full(60, 7.0)}, weights="times", **asked | {"smoothing": 2.0}
    )
    unweighted = Problem.from_frame(table, use="z", **asked | {"smoothing": 2.0})
    assert_allclose(equal.p_xz, unweighted.p_xz, rtol=1e-13)


# -- secrets
# --------------------------------------------------------------------------------------------------


def people(count=3000, seed=5):
    rng = default_rng(seed)
    sex = rng.choice(["f", "m"], count)
    race = rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2])
    score = rng.normal(size=count) + 0.6 * (sex == "m") + 0.4 * (race == "a")
    income = np.where(score + rng.normal(size=count) > 0.5, "high", "low")
    return {
        "sex": sex,
        "race": race,
        "score": score,
        "town": rng.choice(["n", "s"], count),
        "income": income,
    }


def of_people(table, hide="sex", **options):
    """The problem of guessing the income."""
    return Problem.from_frame(table, hide=hide, guess="income", **options)


def test_several_hidden_columns_are_several_constraints_on_the_same_guesses():
    table = people()
    both = of_people(
        table,
        ["sex", "race"],
        budget={"race": 0.002, "sex": 0.001},
        measure={"race": "chi-square"},
    )
    alone = of_people(table, budget=0.001, use=["score", "town"])
    assert [str(term.budget) for term in both.terms] == ["0.001 nats", "0.002 of chi-square"]
    assert [term.sizes for term in both.terms] == [[2], [3]]
    assert_array_equal(both.p_xz[:2], alone.p_xz)
    assert_allclose(both.loss, alone.loss, rtol=1e-13)
    assert both.samples.private_labels == {"sex": ("f", "m"), "race": ("a", "b", "c")}
    assert [column.name for column in both.samples.columns] == ["score", "town"]
    found = assert_certified(both, "tilt")
    leaks = both.leakages(found.estimator)
    assert leaks[0] <= 0.001 * (1 + 1e-9)
    assert leaks[1] <= 0.002 * (1 + 1e-9)
    shares = of_people(table, ["sex", "race"], fraction={"sex": 0.0, "race": 0.5})
    assert shares.terms[0].budget.perfect
    assert shares.terms[1].budget.amount == pytest.approx(0.5 * shares.bayes_leakages[1])


def test_a_conditional_measure_is_given_the_guess():
    table = people()
    odds = of_people(table, fraction=0.3, measure="conditional-mutual-information")
    (term,) = odds.terms
    assert term.sizes == [2, 2]  # of each income
    assert term.budget.amount == pytest.approx(0.3 * odds.bayes_leakage)
    income = np.unique(table["income"], return_counts=True)[1] / len(table["income"])
    assert [odds.p_x[group].sum() for group in term.groups] == pytest.approx(income)
    mixed = of_people(
        table,
        ["sex", "race"],
        budget=ds.problems.LeakageBudget(
            0.01, ds.measures.measure_of("conditional-mutual-information")
        ),
    )
    assert [each.sizes for each in mixed.terms] == [[2, 2], [3, 3]]


def test_a_hidden_column_is_seen_only_on_request():
    table = people()
    hidden = of_people(table, budget=0.0)
    seen = of_people(table, budget=0.0, use=["sex", "score"])
    assert "sex" not in {column.name for column in hidden.samples.columns}
    assert seen.samples.columns[0].categories == ("f", "m")


# -- other people
# --------------------------------------------------------------------------------------------------


def test_people_of_the_table_are_placed_where_they_were_counted():
    table = people()
    for options in ({}, {"bins": 30}, {"min_count": 40}, {"bins": {"score": 900}}):
        report = of_people(table, budget=1.0, **options).samples
        placed = report.outcome_of(
            {"score": table["score"], "race": table["race"], "town": table["town"]}
        )
        assert_array_equal(
            np.bincount(placed.outcomes, minlength=len(report.counts)), report.counts
        )
        rest = (
            (placed.outcomes == report.rest)
            if report.rest is not None
            else np.zeros(len(table["sex"]), dtype=bool)
        )
        assert_array_equal(placed.fallback, rest)


def test_an_unseen_cell_falls_back_to_the_nearest_with_most_records():
    z = {"level": [1, 1, 1, 2, 3, 3, 4], "town": ["n", "n", "s", "n", "s", "s", "s"]}
    report = from_samples([0, 1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0, 1], z, bins=None).samples
    assert report.cells.tolist() == [[0, 0], [0, 1], [1, 0], [2, 1], [3, 1]]
    new = {"level": [1, 4, 2, 4, 9, None, 3], "town": ["n", "n", "s", "?", "s", "n", None]}
    placed = report.outcome_of(new)
    # (4, n): a town off (4, s), but two thirds of the levels off (2, n). (2, s): a third off (1, s)
    # and (3, s), of which the latter has more people. A level or a town never seen, or missing,
    # says nothing; then the fullest cell is taken.
    assert placed.outcomes.tolist() == [0, 2, 3, 4, 3, 0, 3]
    assert placed.fallback.tolist() == [False, True, True, True, True, True, True]
    assert repr(placed) == "Placement(7 people, 6 of them in no cell of their own)"


def test_other_tables_may_write_the_same_values_otherwise():
    import pandas as pd

    table = pd.DataFrame({"x": [0, 1] * 8, "y": [0, 0, 1, 1] * 4, "z": list(range(4)) * 4})
    report = Problem.from_frame(table, hide="x", guess="y", budget=1.0, bins={"z": None}).samples
    for z in (
        [0.0, 3.0],
        pd.array([0, 3], dtype="Int64"),
        np.array([0, 3], dtype=np.int8),
        pd.Categorical([0, 3]),
    ):
        assert report.outcome_of({"z": z}).outcomes.tolist() == [0, 3]
    codes = Problem.from_frame(
        {"x": [0, 1] * 4, "y": [0, 0, 1, 1] * 2, "z": ["01", "7", "12", "7"] * 2},
        hide="x",
        guess="y",
        budget=1.0,
    )
    # a file without leading zeros has numbers in this column
    placed = codes.samples.outcome_of({"z": [7, 12.0, None, 1]})
    assert placed.fallback.tolist() == [False, False, True, True]
    assert [
        codes.samples.columns[0].categories[cell]
        for (cell,) in codes.samples.cells[placed.outcomes[:2]]
    ] == ["7", "12"]
    with raises_input_error(r"'z' .*texts"):
        report.outcome_of({"z": ["0", "3"]})
    grades = pd.Categorical(["low", "top", "mid", "low"], ["low", "mid", "top"], ordered=True)
    column = from_samples([0, 1, 0, 1], [0, 1, 1, 0], {"grade": grades}).samples.columns[0]
    assert (column.categories, column.ordered) == (("low", "mid", "top"), True)


# -- refusals
# --------------------------------------------------------------------------------------------------

DAYS = np.array(["2024-01-05", "2024-02-06"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    "asked, named",
    [
        ({"x": [0, 1, 1]}, "'y' .* 2 .*'x' 3"),
        ({"z": [nan, nan]}, "2 people"),
        ({"z": np.zeros((2, 1))}, r"'z' .*\[2, 1\]"),
        ({"z": 7}, "'z' is 7"),
        ({"x": [[0], [1]]}, "hashable"),
        ({"z": np.ma.masked_array([1.0, 2.0], mask=[True, False])}, "'z' .*masked"),
        ({"y": [0.25, 1.5]}, "'y' .*0.25.*guessed"),
        ({"x": [0.25, 1.5]}, "'x' .*0.25.*hidden"),
        ({"x": [0.0, inf]}, "'x' .*infinite"),
        ({"y": DAYS}, "'y' .*dates"),
        ({"z": DAYS}, "'z' .*dates.*use="),
        ({"z": ["2024-01-05", "2024-02-06"]}, "'z' .*dates"),
        ({"bins": {"z": 0}}, "bins of z is 0"),
        ({"bins": {"Z": 3}}, "bins .*'Z'"),
        ({"edges": {"z": [0.5, nan]}}, "edges of z"),
        ({"edges": {"z": ["a"]}}, "edges of z"),
        ({"edges": [0.5]}, r"edges is \[0.5\]"),
        ({"z": ["a", "b"], "edges": {"z": [0.5]}}, "'z' .*edges"),
        ({"smoothing": -1.0}, "smoothing is -1.0"),
        ({"min_count": -1}, "min_count is -1"),
        ({"missing": "keep"}, "missing is 'keep'"),
        ({"hide": "sex"}, "'sex'.* x, y, z"),
        ({"hide": []}, "hide is empty"),
        ({"hide": ["x", "x"]}, "hide .*twice"),
        ({"guess": ["x", "y"]}, "guess is .*one column"),
        ({"guess": "x"}, "one column .*two"),
        ({"w": [1.0, -1.0], "weights": "w", "use": "z"}, "weights 'w'"),
        ({"budget": None}, "budget= .*fraction="),
        ({"budget": None, "fraction": -1.0}, "fraction is -1.0"),
        ({"budget": {"y": 1.0}}, "budget .*'y'"),
        ({"budget": {}}, "budget .*'x'"),
        ({"loss_matrix": {0: {1: 1.0}}}, "loss_matrix .* 1"),
        ({"loss_matrix": {0: {1: 1.0}, 1: {}}}, "loss_matrix .* 0 .* 1"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(asked, named):
    options = {"hide": "x", "guess": "y", "budget": inf} | asked
    table = {"x": [0, 1], "y": [0, 1], "z": [1.0, 2.0]}
    table |= {name: options.pop(name) for name in asked if name in "wxyz"}
    with raises_input_error(named):
        Problem.from_frame(table, **options)


@pytest.mark.parametrize("table", [5, [[1, 2]], np.zeros((2, 2)), None])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(InputError):
        Problem.from_frame(table, hide="x", guess="y", budget=1.0)


def test_measurements_and_names_are_no_labels():
    count = 1200
    x = np.arange(count) % 2
    numbers = np.arange(count)
    with raises_input_error("'y' has 1,200"):
        from_samples(x, numbers, numbers)
    names = [f"person {k}" for k in range(count)]
    with raises_input_error("'name' has 1,200"):
        from_samples(x, x, {"name": names})
    with raises_input_error("no column is left to be seen"):
        Problem.from_frame({"x": x, "y": x}, hide="x", guess="y", budget=1.0)


def test_other_people_without_a_column_that_is_seen_are_refused():
    report = from_samples(*survey()).samples
    with raises_input_error("'1'"):
        report.outcome_of({"0": [1.0]})
    with raises_input_error(r"'1' .*edges"):
        report.outcome_of({"0": [1.0], "1": ["a"]})


def test_the_defaults_of_a_table_are_those_of_its_binning():
    defaults = inspect.signature(ds.Problem.from_frame).parameters
    for name, value in vars(Binning()).items():
        assert defaults[name].default == value
