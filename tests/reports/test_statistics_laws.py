"""Laws of the statistics: monotone profiles, means between the ends, nothing depends on the order
of rows.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import answer, timeout

from discreet import Status
from discreet.reports.html import report_numbers
from discreet.reports.measurements import reference_measurements
from discreet.reports.statistics.aggregates import (
    PENALTIES,
    fitting_shift,
    means,
    noise_floor,
    shifted_geometric_mean,
)
from discreet.reports.statistics.agreement import agreements, summarise
from discreet.reports.statistics.claims import (
    claim_records,
    claimed_leaks,
    claims_success,
    failure_groups,
    reason_of,
)
from discreet.reports.statistics.profiles import data_profiles, performance_profiles
from discreet.reports.statistics.scaling import (
    WIDEST,
    CostCurve,
    crossovers,
    fit_exponent,
    series_by_size,
)
from discreet.reports.statistics.trials import comparable, control_of, trials

TIMES = st.floats(1e-6, 1e3)


@st.composite
def studies(draw):
    """Rows of up to three backends on up to five sizes, some failed."""
    return [
        draw(st.sampled_from([answer, timeout]))(backend, size, draw(TIMES))
        for backend in draw(st.sampled_from([("a",), ("a", "b"), ("a", "b", "c")]))
        for size in range(2, 2 + draw(st.integers(1, 5)))
    ]


@given(studies())
def test_profiles_rise_from_nothing_to_at_most_one_and_somebody_is_best(rows):
    found = trials(rows)
    for profile in (*performance_profiles(found), *data_profiles(found)):
        assert list(profile.shares) == sorted(profile.shares)
        assert list(profile.at) == sorted(profile.at)
        assert all(0.0 < share <= 1.0 for share in profile.shares)
        assert profile.share(0.0) == 0.0
    ratios = performance_profiles(found)
    if any(row.certified for row in rows):
        assert sum(profile.share(1.0) for profile in ratios) >= 1.0 - 1e-12
        assert all(value >= 1.0 for profile in ratios for value in profile.at)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20), st.floats(0.0, 1e3))
def test_a_shifted_geometric_mean_lies_between_the_ends_and_below_the_arithmetic(values, shift):
    mean, low, high = shifted_geometric_mean(values, shift)
    assert low <= mean <= high
    assert min(values) <= mean <= max(values)
    assert mean <= float(np.mean(values)) * (1.0 + 1e-9) + 1e-300


def test_failures_are_infinite_and_stay_in_the_number_of_tasks():
    rows = [
        answer("a", 2, 1.0),
        timeout("a", 4),
        answer("b", 2, 3.0),
        answer("b", 4, 5.0),
    ]
    a, b = data_profiles(trials(rows))
    assert (a.at, a.shares, a.tasks) == ((1.0,), (0.5,), 2)
    assert (b.at, b.shares) == ((3.0, 5.0), (0.5, 1.0))


def test_what_was_not_tried_is_neither_success_nor_failure():
    rows = [
        answer("a", 2),
        timeout("b", 2, status=Status.UNSUPPORTED),
        answer("b", 4, 2.0),
    ]
    found = trials(rows)
    assert [mean.failures for mean in means(found)] == [0] * 8


def test_one_repeat_that_fails_fails_the_trial():
    (trial,) = trials([answer(repeat=0), timeout(repeat=1)])
    assert not trial.success
    assert trial.cost == math.inf


def test_means_charge_failures_by_the_limit_and_show_what_all_solved():
    rows = [
        answer("a", 2, 1.0),
        timeout("a", 4),
        answer("b", 2, 2.0),
        answer("b", 4, 2.0),
    ]
    found = trials(rows)
    shift = fitting_shift(found)
    assert shift == pytest.approx(1.2)  # the tenth percentile of 1, 2, 2
    by = {(mean.contestant, mean.penalty): mean for mean in means(found)}
    for k in PENALTIES:
        assert by["a", k].seconds == pytest.approx(
            math.sqrt((1.0 + shift) * (10.0 * k + shift)) - shift
        )
        assert by["a", k].failures == 1
        assert by["b", k].seconds == pytest.approx(2.0)
    assert by["a", None].tasks == 1
    assert by["a", None].seconds == pytest.approx(1.0)
    assert all(mean.low <= mean.seconds <= mean.high for mean in means(found))
    assert means(found) == means(found)


def test_the_noise_floor_is_one_for_equal_repeats_and_nan_without():
    assert noise_floor(trials([answer(samples=(9.0, 1.0, 1.0))])) == 1.0
    assert noise_floor(trials([answer(samples=(9.0, 1.0, 2.0))])) == 2.0
    assert math.isnan(noise_floor(trials([answer()])))


def beside(*control, make=answer, **fields):
    """A row that ran on a cluster, with the seconds of its control."""
    return make(executor="dask", host="node", cells_at_once=4, control_seconds=control, **fields)


def test_a_shared_time_counts_where_its_control_stayed_within_five_percent():
    alone = [answer(size=size, executor="local", control_seconds=(0.9, 1.1)) for size in (2, 4)]
    assert control_of([*alone, beside(9.0, 9.0)]) == 1.0
    assert comparable(answer(), math.nan)  # no other work ran, before there was a control
    assert comparable(beside(0.96, 1.04), 1.0)
    assert not comparable(beside(0.96, 1.06), 1.0)
    assert not comparable(beside(0.94, 1.0), 1.0)
    assert not comparable(beside(), 1.0)
    # Without a row of its own the undisturbed speed is unknown.
    assert not comparable(beside(1.0, 1.0), control_of([answer(), beside(1.0, 1.0)]))
    # Every attempt ran next to others.
    assert control_of([beside(2.0, 2.0), beside(2.0, 4.0), beside(1.0, 1.0)]) == 2.0
    assert math.isnan(
        control_of([answer(submitted="sha256:0", executor="local", control_seconds=(1.0, 1.0))])
    )


def test_what_is_not_comparable_counts_by_its_answer_and_not_by_its_time():
    control = {"executor": "local", "control_seconds": (1.0, 1.0)}
    rows = [answer(name, size, 5.0, **control) for name in ("a", "b") for size in (2, 4)]
    rows += [answer("a", 8, 5.0, **control), beside(1.5, 1.0, backend="b", size=8, seconds=0.1)]
    numbers = report_numbers(rows)
    assert numbers["summary"]["certified_tasks"] == 3
    assert [record["true_claims"] for record in numbers["claims"]] == [3, 3]
    for profile, at in (("performance", 1.0), ("data", 5.0)):
        assert [(each["at"], each["tasks"]) for each in numbers[profile]] == [([at], 2)] * 2
    assert all(
        mean["tasks"] == 2 and mean["seconds"] == pytest.approx(5.0)
        for mean in numbers["means"]["rows"]
    )
    precision = [(each["answers"], each["median_seconds"]) for each in numbers["precision"]]
    assert precision == [(3, 5.0)] * 2
    assert sorted(str(each["seconds"]) for each in numbers["work_precision"]) == ["5.0"] * 5 + [
        "None"
    ]
    assert "1 of 6 attempts" in numbers["origin"]["shared"][0]
    assert report_numbers(rows[:-1])["origin"].get("shared") is None

    steady = [*rows[:-1], beside(0.98, 1.01, backend="b", size=8, seconds=0.1)]
    assert [each["tasks"] for each in report_numbers(steady)["performance"]] == [3, 3]


def test_exclusive_repeats_of_a_trial_tell_its_time():
    rows = [
        answer(seconds=3.0, executor="local"),
        beside(1.0, 1.0, seconds=9.0, repeat=1, samples=(9.0, 9.0)),
    ]
    (trial,) = trials(rows)
    assert (len(trial.rows), trial.seconds, trial.timings) == (2, 3.0, (3.0,))
    (failed,) = trials([rows[0], beside(1.0, 1.0, repeat=1, make=timeout)])
    assert not failed.success


@pytest.mark.parametrize(
    "word, solved",
    {
        "optimal": True,
        "Optimal": True,
        "tilt: optimal": True,
        "optimal (continued)": True,
        "optimal: the Bayes rule keeps the budget": True,
        "Optimization terminated successfully.": True,
        "Solve_Succeeded": True,
        "optimal_inaccurate": False,
        "solved (inaccurate)": False,
        "stalled": False,
        "": False,
        "splendid": False,
    }.items(),
)
def test_words_claim_success_or_nothing(word, solved):
    assert claims_success(word) is solved


def test_the_correct_rate_counts_claims_only():
    broke = {"status": Status.VIOLATED_PRIVACY, "own_leakage_nats": 0.04}
    rows = [
        answer(),
        answer(size=4, **broke),
        answer(size=6, claimed="stalled"),
        timeout(size=9),
    ]
    (record,) = claim_records(rows)
    assert (
        record.attempts,
        record.claims,
        record.true_claims,
        record.violations,
        record.unclaimed,
    ) == (4, 2, 1, 1, 1)
    assert record.correct_rate == 0.5
    assert record.worst_leakage == pytest.approx(4.0)
    assert [(row.leakage_over_budget, row.violated) for row in claimed_leaks(rows)] == [
        (4.0, True),
        (0.5, False),
    ]


def test_a_certified_answer_of_the_shipped_results_was_nearly_always_claimed():
    """A backend whose word for success is not known here would lose its claims."""
    records = claim_records(reference_measurements())
    assert not [record.contestant for record in records if record.unclaimed and not record.claims]


def test_work_is_shown_at_the_gap_achieved():
    rows = [
        answer(relative_gap=1e-12),
        answer(repeat=1, relative_gap=1e-10),
        timeout(size=3),
    ]
    (point,) = report_numbers(rows)["work_precision"]
    assert (point["asked"], point["achieved"], point["seconds"]) == (1e-9, 1e-10, 1.0)
    (line,) = report_numbers([*rows, answer(size=4, seconds=3.0, relative_gap=1e-11)])["precision"]
    assert line == {
        "contestant": "tilt",
        "answers": 2,
        "median_gap": (1e-10 + 1e-11) / 2,
        "largest_gap": 1e-10,
        "median_seconds": 2.0,
    }


def sweep(name, costs):
    return [answer(name, 10 ** (k + 1), cost) for k, cost in enumerate(costs)]


def test_exponents_are_fitted_above_the_floor_and_crossovers_lie_where_the_lines_meet():
    found = trials(
        [
            *sweep("steep", (1.0, 1.0, 10.0, 100.0, 1000.0)),
            *sweep("flat", (30.0, 30.0, 30.0, 30.0, 30.0)),
        ]
    )
    (fit,) = [
        fit for fit in map(fit_exponent, series_by_size(found, "outcomes")) if fit is not None
    ]
    assert (fit.contestant, fit.points, fit.from_size) == ("steep", 3, 1000.0)
    assert fit.exponent == pytest.approx(1.0)
    (cross,) = crossovers(series_by_size(found, "outcomes"), 1.5)
    assert (cross.faster, cross.slower) == ("flat", "steep")
    assert cross.size == pytest.approx(3000.0)
    assert crossovers(series_by_size(found, "outcomes"), 100.0) == ()


brackets = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)


@given(st.lists(brackets, min_size=2, max_size=5))
def test_brackets_around_one_optimum_agree_and_disjoint_ones_do_not(ends):
    rows = [answer(f"b{k}", lower=low, upper=high) for k, (low, high) in enumerate(ends)]
    for pair in agreements(rows):
        one = rows[int(pair.first[1:])]
        other = rows[int(pair.second[1:])]
        assert pair.agree == any(
            p <= min(one.upper, other.upper) for p in (max(one.lower, other.lower),)
        )
        assert pair.difference == abs(one.upper - other.upper)


def test_a_vacuous_bracket_agrees_with_nobody():
    good = answer("a", lower=0.2, upper=0.2)
    unsure = {"bayes_error": 0.1, "constant_error": 0.5, "status": Status.INACCURATE}
    for lower, upper, gap in ((0.1, 0.5, 0.8), (0.15, 0.4, 0.625), (0.05, 0.6, 0.4)):
        bad = replace(answer("b", lower=lower, upper=upper), relative_gap=gap, **unsure)
        assert agreements([good, bad]) == ()
        assert (
            len(agreements([good, bad, replace(bad, lower=0.19, upper=0.25, relative_gap=0.24)]))
            == 1
        )
    wrong = replace(answer("b", lower=0.3, upper=0.9), relative_gap=2 / 3, **unsure)
    assert not agreements([good, wrong])[0].agree  # at least one proof is wrong


def test_pairs_are_summed_up_over_the_cases_both_answered():
    bounds = {
        ("a", 2): (0.1, 0.2),
        ("b", 2): (0.15, 0.3),
        ("a", 3): (0.1, 0.2),
        ("b", 3): (0.25, 0.3),
        ("a", 4): (0.1, 0.2),
    }
    rows = [
        answer(name, size, lower=low, upper=high) for (name, size), (low, high) in bounds.items()
    ]
    (pair,) = summarise(agreements([*rows, timeout("b", 4)]))
    assert (pair.first, pair.second, pair.cases, pair.agreeing) == ("a", "b", 2, 1)
    assert pair.largest_difference == pytest.approx(0.1)


def test_at_budget_zero_brackets_are_compared_only_where_one_lower_bound_holds_for_both():
    def agree(one, other, budget=0.0):
        """Whether a bracket [0.2, 0.2] private within one number and a lower bracket within another
        agree.
        """
        low = 0.2 - 2e-15
        first = answer("a", budget_nats=budget, private_within=one)
        (pair,) = agreements(
            [first, answer("b", budget_nats=budget, lower=low, upper=low, private_within=other)]
        )
        return pair.agree

    assert agree(0.0, 1e-14)  # a less private estimator may err less
    assert not agree(1e-14, 0.0)
    assert not agree(0.0, 0.0)
    assert agree(math.inf, math.inf)  # rows of before the column
    assert not agree(math.inf, math.inf, budget=0.01)


def test_an_exponent_whose_interval_says_nothing_is_not_told():
    sizes = (10.0, 20.0, 40.0, 80.0)
    clean = fit_exponent(CostCurve("a", (1.0, *sizes), (1.0, *(size**1.1 for size in sizes))))
    assert clean.high - clean.low <= 2.0 * WIDEST
    assert fit_exponent(CostCurve("a", (1.0, *sizes), (1.0, 30.0, 5.0, 80.0, 20.0))) is None


def test_the_same_sentence_with_other_numbers_is_one_reason_and_paths_are_left_out():
    rows = [timeout(size=k, message=f"stopped after {k}.5 s in /tmp/someone/x.py") for k in (2, 3)]
    (group,) = failure_groups(rows)
    assert (group.count, group.example) == (2, "paper-single:bins=2 fraction=0.5")
    assert "someone" not in reason_of(rows[0])
    assert reason_of(rows[0]).startswith("stopped after # s")
