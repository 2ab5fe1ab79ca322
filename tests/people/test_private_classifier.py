"""`ds.PrivateClassifier`: scikit-learn's conventions, and budgets that are kept for people who were
not in the table.
"""

import math
import subprocess
import sys
import warnings
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from numpy.random import default_rng
from refusals import raises_input_error
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from test_dilution import evaluation

import discreet as ds
from discreet.measures.registry import measure_of
from discreet.people.probabilities import classifier_of
from discreet.people.promise import LADDER, try_ladder
from discreet.problems.constraint import LeakageBudget


def population(people, seed=0, labels=("no", "yes")):
    """X, y and groups "f" and "m", both of which depend on the first column."""
    rng = default_rng(seed)
    table = rng.normal(size=(people, 3))
    group = np.where(rng.random(people) < 1 / (1 + np.exp(-1.5 * table[:, 0])), "m", "f")
    score = 2.0 * table[:, 0] + table[:, 1] + rng.logistic(size=people)
    return table, np.array(labels)[np.digitize(score, np.linspace(-1, 1, len(labels) - 1))], group


def classifier(**given):
    return ds.PrivateClassifier(GaussianNB(), GaussianNB(), random_state=0, **given)


def fitted(table, truth, group, **given):
    return classifier(**given).fit(table, truth, sensitive_features=group)


# -- budgets
# --------------------------------------------------------------------------------------------------


def test_too_few_people_are_promised_a_lottery_and_told_what_they_could_have():
    """A budget that a hundred people cannot show of any rule: a lottery keeps it, and says so."""
    table, truth, group = population(400)
    private = fitted(table, truth, group, budget=1e-3)
    lottery = private.promise_.taken.lottery.share
    assert 0.9 < lottery < 1.0
    assert private.rule_.share == pytest.approx(lottery)
    assert private.design_.rule.share == 0.0
    assert private.evaluation_.at_most <= 1e-3
    assert f"a lottery guesses for {100 * lottery:.3g} % of the people" in private.statement_
    nothing = fitted(table, truth, group, budget=0.0)
    assert len(set(nothing.predict(table).tolist())) == 1
    assert nothing.design_ is None
    assert nothing.promise_.least == pytest.approx(0.0142, rel=0.02)
    assert nothing.evaluation_.at_most == 0.0
    assert nothing.statement_.startswith("CONSTANT: ")
    assert nothing.constant_
    least = "with 200 calibration people; the smallest budget that they can prove is about 0.014"
    assert f"the budget of 0 nats {least}" in nothing.statement_


def test_a_group_that_only_fitted_people_belong_to_is_not_promised_away():
    table, truth, group = population(200)
    group[:3] = "x"
    private = fitted(table, truth, group, budget=0.25)
    assert private.evaluation_.groups == ("f", "m", "x")
    few = fitted(table[3:9], truth[3:9], group[3:9], budget=0.25)
    assert few.statement_.startswith("CONSTANT: ")  # one person apart, who shows nothing


def test_equalized_odds_are_kept_for_people():
    """The budget bounds what the guess says to who knows y, so a guess as informative as y is
    allowed.
    """
    table, truth, group = population(2400)
    measure = "conditional-mutual-information"
    private = fitted(table, truth, group, budget=0.05, measure=measure)
    assert (
        "0.05 nats of conditional-mutual-information (1,200 calibration people"
        in private.statement_
    )
    assert private.design_.solution.status is ds.Status.CERTIFIED
    assert private.rule_.groups == (("no", "f"), ("no", "m"), ("yes", "f"), ("yes", "m"))
    assert private.groups_ == ("f", "m")
    others, wanted, theirs = population(8000, seed=1)
    found = ds.evaluate(
        private, others, wanted, sensitive_features=theirs, measure=measure, ids=range(8000)
    )
    assert found.leakage.estimate < min(0.05, found.leakages["mutual-information"].low)
    p_y = private.estimator_.probabilities(others)
    p_x = private.private_estimator_.probabilities(others)
    assert (
        private.rule_.predict(p_y, p_x, np.arange(8000)) == private.predict(others, np.arange(8000))
    ).all()
    perfect = classifier(budget=0.0, measure=measure, calibration=0).fit(
        table, truth, sensitive_features=group
    )
    assert (
        ds.evaluate(
            perfect, others, wanted, sensitive_features=theirs, measure=measure
        ).leakage.estimate
        < 0.002
    )


def test_a_difference_of_equalized_odds_is_promised():
    """Rules are designed by information given the truth; the promise is about the difference."""
    table, truth, group = population(3000)
    measure = "equalized-odds-difference"
    private = fitted(table, truth, group, budget=0.1, measure=measure)
    assert "at most the budget of 0.1 of equalized-odds-difference" in private.statement_
    taken = private.promise_.taken
    assert taken.model_error < taken.design.constant_error
    others, wanted, theirs = population(8000, seed=1)
    guesses = private.predict(others, range(8000))
    rates = [
        np.mean(guesses[(wanted == each) & (theirs == sex)] == "yes")
        for each in ("no", "yes")
        for sex in "fm"
    ]
    apart = max(abs(rates[0] - rates[1]), abs(rates[2] - rates[3]))
    found = ds.evaluate(guesses, None, wanted, sensitive_features=theirs, measure=measure)
    assert found.leakage.estimate == pytest.approx(apart)
    assert not found.breaks(0.1)
    assert found.leakages[measure].estimate == found.leakage.estimate
    errors = [point.error for point in private.prospects(points=4)]
    assert errors == sorted(errors, reverse=True)
    with raises_input_error("give a budget"):
        fitted(table, truth, group, fraction=0.5, measure=measure)
    with raises_input_error("conditional-mutual-information"):
        ds.Problem(np.full((2, 2, 4), 1 / 16), np.ones((2, 4)), 0.1, measure=measure)


def test_without_people_apart_only_the_model_is_certain():
    table, truth, group = population(500)
    private = fitted(table, truth, group, fraction=0.3, calibration=0)
    assert private.statement_.startswith("certified for this model: ")
    assert private.promise_ is None
    assert private.evaluation_ is None
    unlimited = fitted(table, truth, group, budget=math.inf)
    assert unlimited.promise_ is None
    leaks = private.design_.solution
    assert leaks.leakage == pytest.approx(0.3 * leaks.problem.bayes_leakage, rel=1e-6)


def test_of_few_distinct_records_the_deployed_rule_is_the_certified_one():
    """Ties are listed where the deployed classifiers put these records, and each of the people who
    share one has a coin of their own.
    """
    for seed in range(4):
        rng = default_rng(seed)
        record = rng.integers(0, 6, 2000)
        truth = rng.random(2000) < np.array([0.3, 0.2, 0.6, 0.4, 0.8, 0.7])[record]
        group = rng.random(2000) < np.array([0.2, 0.3, 0.4, 0.6, 0.7, 0.8])[record]
        table = record[:, None].astype(float)
        private = classifier(budget=0.1, measure="parity-difference", calibration=0)
        private.fit(table, truth, sensitive_features=group)
        deployed = private.rule_.predict_proba(*private._probabilities(table))
        leaked = deployed.T @ (private.model_.p_xz / private.model_.p_x[:, None]).T
        assert np.ptp(leaked, axis=1).max() == pytest.approx(0.1, rel=1e-6)
        assert private.design_.solution.leakage == pytest.approx(0.1, rel=1e-6)
        drawn = deployed.max(axis=1) < 1.0
        guesses = private.predict(table, ids=np.arange(2000))
        assert 1 < len(np.unique(guesses[drawn])) or not drawn.any()
        found = ds.evaluate(
            guesses, None, truth, sensitive_features=group, measure="parity-difference"
        )
        assert not found.breaks(0.1)
        told = f"give these 2,000 people, the guess leaks {found.leakage.estimate:.4g}"
        assert told in private.statement_
        if drawn.any():
            with pytest.warns(UserWarning, match="ids="):
                assert len(np.unique(private.predict(table)[drawn])) == 1


def test_the_curve_of_people_has_a_band_that_holds_for_all_its_rules_together():
    private = fitted(*population(800), budget=0.02)
    others, wanted, theirs = population(4000, seed=1)
    curve = private.frontier(others, wanted, sensitive_features=theirs, points=4)
    assert [point.people.confidence for point in curve] == pytest.approx([1 - 0.05 / 8] * 4)
    assert all(point.design.solution.status is ds.Status.CERTIFIED for point in curve)
    budgets = [point.design.solution.problem.budget for point in curve]
    assert budgets == pytest.approx(
        (private.model_.bayes_leakage * np.geomspace(0.01, 1, 4)).tolist()
    )
    found = curve.best(0.05)
    assert found.people.leakage.high <= 0.05
    assert found.people.error.estimate == min(
        each.people.error.estimate for each in curve if each.people.leakage.high <= 0.05
    )
    assert curve.statement(0.05).startswith("holds for people, 95 %: the guess leaks at most ")
    assert curve.best(1e-6) is None
    assert curve.statement(1e-6).startswith(
        "not shown for people, 95 %: no rule keeps the budget of 1e-06 nats, the least is "
    )
    frame = curve.to_frame()
    assert frame["leakage"].tolist() == [point.people.leakage.estimate for point in curve]
    assert [row["error_high"] for row in curve.to_dict()["points"]] == frame["error_high"].tolist()
    assert curve.plot().x_label == "mutual-information (nats)"
    assert "Curve of people" in curve._repr_html_()
    few = private.frontier(
        others, wanted, sensitive_features=theirs, budgets=[0.3, 0.1], confidence=0.9
    )
    assert [round(point.design.solution.problem.budget, 12) for point in few] == [0.1, 0.3]
    assert few.points[0].people.confidence == pytest.approx(1 - 0.1 / 4)
    assert repr(few) == "PeopleFrontier(2 rules, 4,000 people, mutual-information)"


@pytest.mark.parametrize(
    "complaint, given",
    {
        "budgets is empty": {"budgets": []},
        "points is 1": {"points": 1},
        "confidence is 2.0": {"confidence": 2.0},
        "a group 'x'": {"sensitive_features": ["x"] * 300},
        "sensitive_features 1": {"sensitive_features": ["f"]},
        "y is missing": {"y": None},
    }.items(),
)
def test_no_curve_is_made_of_what_does_not_fit(given, complaint):
    table, truth, group = population(300)
    private = fitted(table, truth, group, budget=0.1)
    given = {"y": truth, "sensitive_features": group, **given}
    with raises_input_error(complaint):
        private.frontier(table, given.pop("y"), **given)
    plain = classifier().fit(table, truth)
    with raises_input_error("sensitive_features"):
        plain.frontier(table, truth, sensitive_features=group)


def evaluated_at(limit):
    """An evaluation with this upper limit."""
    found = evaluation(np.full((2, 2), 25.0), "chi-square")
    found.__dict__["at_most"] = limit
    return found


class Ladder:
    """Designs whose limits are listed; the rule of a design is its share of the budget."""

    def __init__(self, *limits):
        self.limits = iter(limits)
        self.asked = []

    def design(self, share):
        self.asked.append(share)
        return SimpleNamespace(
            rule=share,
            towards=np.array([1.0, 0.0]),
            is_plain=False,
            constant_error=1.3,
            diluted_error=lambda lottery: 0.3 + lottery.share,
        )

    def foresee(self, _):
        """Nothing but the constant guess, so that the ladder is climbed from the bottom."""
        return evaluated_at(math.inf)

    def look(self, rule):
        return evaluated_at(next(self.limits))


def test_the_ladder_is_climbed_until_a_rule_is_not_shown_to_keep_the_budget():
    budget = {"": LeakageBudget(0.05, measure_of("chi-square"))}
    climbed = Ladder(0.03, 0.04, 0.05, 0.06, 0.0)
    found = try_ladder(budget, climbed.design, climbed.look, climbed.foresee)
    assert climbed.asked == [1.0, *LADDER[:4]]
    assert found.taken is found.tried[2]
    failed = Ladder(0.2)
    diluted = try_ladder(budget, failed.design, failed.look, failed.foresee)
    assert diluted.taken.lottery.share == pytest.approx(0.75)
    assert diluted.taken.people.at_most <= 0.05
    nothing = {"": LeakageBudget(0.0, measure_of("chi-square"))}
    constant = try_ladder(nothing, (failed := Ladder(0.2)).design, failed.look, failed.foresee)
    assert constant.taken is None
    assert "they can prove is about 0.054" in constant.statement
    assert 1.0 in LADDER
    assert list(LADDER) == sorted(LADDER)


def test_the_ladder_begins_at_the_first_rung_that_is_expected_to_need_no_lottery():
    """In strides from the requested budget; no rule below it is designed."""
    ladder = Ladder(0.2)

    def design(share):
        made = ladder.design(share)
        made.diluted_error = lambda lottery: 1.0 / (1.0 + share) + lottery.share
        return made

    def foresee(made):
        return evaluated_at(0.1 * made.rule)  # within the budget up to a half of it

    budget = {"": LeakageBudget(0.05, measure_of("chi-square"))}
    found = try_ladder(budget, design, ladder.look, foresee)
    whole = LADDER.index(1.0)
    assert ladder.asked == [1.0, LADDER[whole - 2], LADDER[whole - 4]]
    assert found.tried[0].share == LADDER[whole - 4]


def test_a_budget_that_names_its_measure_is_promised_by_that_measure():
    """A budget of total variation was promised where mutual information had kept it."""
    table, truth, group = population(3000)
    budget = LeakageBudget(0.1, measure_of("total-variation"))
    private = fitted(table, truth, group, budget=budget)
    assert private.limit_ == budget
    assert private.model_.measure == private.evaluation_.measure == budget.measure
    assert private.evaluation_.at_most <= 0.1
    with raises_input_error("total-variation and the measure is chi-square"):
        fitted(table, truth, group, budget=budget, measure="chi-square")


# -- scikit-learn
# --------------------------------------------------------------------------------------------------


def test_the_checks_of_scikit_learn_pass():
    """All of them but the one about another array library, which needs a setting of SciPy, since
    scikit-learn 1.9.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            ds.PrivateClassifier(GaussianNB(), GaussianNB()), on_fail=None, on_skip=None
        )
    assert len(found) > 50
    assert {
        (each["check_name"], each["status"]) for each in found if each["status"] != "passed"
    } <= {("check_array_api_input", "skipped")}


def test_it_is_part_of_pipelines_cross_validation_and_searches():
    table, truth, group = population(240)
    private = classifier(budget=0.2, calibration=0)
    pipe = make_pipeline(StandardScaler(), private)
    parts = {"estimator": GaussianNB(), "private_estimator": GaussianNB()}
    pipe.fit(table, truth, privateclassifier__sensitive_features=group)
    assert pipe.score(table, truth) > 0.6
    plain = cross_validate(private, table, truth, cv=2, params={"sensitive_features": group})
    assert len(plain["test_score"]) == 2
    with config_context(enable_metadata_routing=True):
        weighed = {name: each.set_fit_request(sample_weight=True) for name, each in parts.items()}
        asking = (
            clone(private)
            .set_params(**weighed)
            .set_fit_request(sensitive_features=True, sample_weight=True)
        )
        asking.set_score_request(sample_weight=True)
        search = GridSearchCV(asking, {"budget": [0.05, 0.2]}, cv=2)
        search.fit(table, truth, sensitive_features=group, sample_weight=np.ones(240))
        assert search.best_params_["budget"] in (0.05, 0.2)
        routed = make_pipeline(StandardScaler(), asking)
        assert (
            len(
                cross_validate(routed, table, truth, cv=2, params={"sensitive_features": group})[
                    "test_score"
                ]
            )
            == 2
        )


def test_weights_are_routed_to_the_classifiers_that_ask_for_them():
    table, truth, group = population(300)
    weight = np.where(truth == "yes", 9.0, 1.0)
    with config_context(enable_metadata_routing=True):

        def fitted(first, second):
            given = {"sensitive_features": group, "sample_weight": weight}
            return ds.PrivateClassifier(first, second, budget=math.inf, random_state=0).fit(
                table, truth, **given
            )

        asks = GaussianNB().set_fit_request(sample_weight=True)
        declines = GaussianNB().set_fit_request(sample_weight=False)
        with pytest.raises(ValueError, match=r"GaussianNB\.fit"):
            fitted(GaussianNB(), asks)
        one = fitted(asks, declines)
        other = fitted(declines, declines)
        assert (
            one.estimator_.model.class_prior_.tolist()
            != other.estimator_.model.class_prior_.tolist()
        )
        assert (
            one.private_estimator_.parts[0].model.class_prior_.tolist()
            == other.private_estimator_.parts[0].model.class_prior_.tolist()
        )
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        piped = fitted(
            make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True)),
            KNeighborsClassifier(),
        )
        assert (piped.predict(table) == "yes").mean() > 0.7
    # Without routing it passes all on.
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=2)
    found = ds.PrivateClassifier(search, random_state=0).fit(table, truth, sample_weight=weight)
    assert found.estimator_.model.best_estimator_.class_prior_ == pytest.approx(
        one.estimator_.model.class_prior_
    )


def test_frames_with_texts_missing_values_and_unseen_categories():
    rng = default_rng(0)
    table, truth, group = population(160)
    frame = pandas.DataFrame(
        {
            "score": np.where(rng.random(160) < 0.1, np.nan, table[:, 0]),
            "town": np.where(table[:, 1] > 0, "Turku", "Oulu"),
            "asked": pandas.array(rng.integers(0, 5, 160), dtype="Int64"),
        }
    )
    frame.loc[:20, "asked"] = pandas.NA
    frame.loc[5:9, "town"] = None
    private = ds.PrivateClassifier(budget=0.5, calibration=0, random_state=0).fit(
        frame, truth, sensitive_features=pandas.Series(group)
    )
    assert private.feature_names_in_.tolist() == list(frame.columns)
    assert (private.predict(frame) == truth).mean() > 0.6
    new = frame.head(4).copy()
    new["town"] = ["Vaasa", None, "Oulu", "Turku"]
    assert set(private.predict(new).tolist()) <= {"no", "yes"}
    with pytest.raises(ValueError, match="feature names"):
        private.predict(frame.rename(columns={"town": "city"}))
    with raises_input_error("'high'"):
        private.predict(frame.assign(score="high"))
    with raises_input_error("'asked'"):
        private.predict(frame.assign(asked="often"))


KINDS = {
    "text": ["a", "b", None, "a"],
    "string": ("string", ["a", "b", None, "a"]),
    "category": ("category", ["a", "b", None, "a"]),
    "numbered": ("category", [1, 2, None, 1]),
    "truth": [True, False, True, True],
    "boolean": ("boolean", [True, False, None, True]),
    "Int64": ("Int64", [1, 2, None, 1]),
    "Float64": ("Float64", [1.5, 2.5, None, 1.5]),
    "objects": ("object", [1, 2.5, None, 1]),
    "mixed": ("object", ["a", 1, None, "a"]),
    "moment": ("datetime64[s]", ["2020-01-01", "2021-06-01", None, "2020-01-01"]),
    "zone": ("datetime64[s, UTC]", ["2020-01-01", "2021-06-01", None, "2020-01-01"]),
    "span": (
        "timedelta64[s]",
        [timedelta(seconds=10), timedelta(seconds=20), None, timedelta(seconds=10)],
    ),
    "arrow": (
        "timestamp[ns][pyarrow]",
        ["2020-01-01T00:00:00.123456789", "2021-06-01", None, "2020-01-01T00:00:00.123456789"],
    ),
    "period": ("period[M]", ["2020-01", "2021-06", None, "2020-01"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_every_kind_tell_what_they_hold(kind):
    """The second of four people differs, the third has nothing, and what was never seen counts as
    missing.
    """
    if kind == "arrow":
        pytest.importorskip("pyarrow")
    dtype, values = KINDS[kind] if isinstance(KINDS[kind], tuple) else (None, KINDS[kind])
    frame = pandas.DataFrame({"other": [0.0] * 200, "it": pandas.Series(values * 50, dtype=dtype)})
    differs = np.arange(200) % 4 == 1
    model = classifier_of(frame, False, 0).fit(frame, differs)
    assert (model.predict(frame) == differs).all()
    if kind in ("text", "string", "mixed"):
        unseen = frame.head(4).assign(it=pandas.Series(["c"] * 4, dtype=dtype))
        missing = frame.head(4).assign(it=pandas.Series([None] * 4, dtype=dtype))
        assert (model.predict_proba(unseen) == model.predict_proba(missing)).all()


def test_a_table_of_many_rare_categories_keeps_the_common_ones():
    codes = np.concatenate([np.arange(400), np.zeros(200), np.ones(200)])
    frame = pandas.DataFrame({"it": [f"k{code:.0f}" for code in codes]})
    model = classifier_of(frame, False, 0).fit(frame, codes == 1)
    assert (model.predict(frame)[400:] == (codes == 1)[400:]).all()


@pytest.mark.parametrize(
    "given, fit, complaint",
    [
        ({}, {"sensitive_features": None}, "budget .*sensitive_features"),
        ({"budget": None}, {}, "budget= .*fraction="),
        ({"fraction": 0.1}, {}, "budget= .*fraction="),
        ({"calibration": 1.5}, {}, "calibration is 1.5"),
        ({"loss_matrix": np.ones((2, 3))}, {}, "3 .*y 2"),
        ({}, {"sensitive_features": ["f"]}, "1 .* 200"),
        ({}, {"sensitive_features": np.linspace(0, 1, 200)}, "200 .* 200 .*ranges"),
        ({"estimator": LinearSVC()}, {}, "LinearSVC, which has no predict_proba"),
        ({"private_estimator": "boost"}, {}, "private_estimator is a str"),
        ({}, {"y": ["no", None] * 100}, "y .*100 of 200"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_a_sentence(given, fit, complaint):
    table, truth, group = population(200)
    fit = {"y": truth, "sensitive_features": group} | fit
    with raises_input_error(complaint):
        classifier(budget=0.1).set_params(**given).fit(table, **fit)


@pytest.mark.parametrize(
    "dtype", ["bool", "int64", "float64", "string", "category", "boolean", "Int64"]
)
def test_labels_of_every_kind_are_guessed_as_they_are_given(dtype):
    """Nullable numbers become numbers, as in scikit-learn's own classifiers."""
    table, truth, group = population(200)
    given = pandas.Series(truth if dtype in ("string", "category") else truth == "yes", dtype=dtype)
    private = fitted(table, given, group, budget=0.2, calibration=0)
    alone = GaussianNB().fit(table, given)
    assert private.classes_.tolist() == alone.classes_.tolist()
    assert set(private.predict(table).tolist()) <= set(given.tolist())
    assert private.score(table, given) == (private.predict(table) == given.to_numpy()).mean()
    assert private.rule_.guesses == tuple(private.classes_.tolist())


def test_an_estimator_without_weights_says_so():
    table, truth, _ = population(100)
    with raises_input_error(r"KNeighborsClassifier .*sample_weight"):
        ds.PrivateClassifier(KNeighborsClassifier()).fit(table, truth, sample_weight=np.ones(100))
    weighted = ds.PrivateClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), GaussianNB()
    )
    assert weighted.fit(table, truth, sample_weight=np.ones(100)).score(table, truth) > 0.6


def test_without_scikit_learn_the_module_loads_and_says_what_is_missing():
    code = (
        "import sys; sys.modules['sklearn'] = None\nimport discreet as ds\n"
        "try:\n    ds.PrivateClassifier(budget=0.1)\n"
        "except ds.InputError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs scikit-learn, which is not installed; run pip install" in done.stdout
    assert '"discreet[people]"' in done.stdout
