"""A budget for each of several sensitive columns: what is kept, promised, evaluated, drawn and
saved.
"""

import json

import numpy as np
import pandas
import pytest
from evaluating import evaluated
from numpy.random import default_rng
from refusals import raises_input_error
from sklearn.base import clone
from test_private_classifier import classifier
from test_private_classifier import fitted as fit

import discreet as ds
from discreet.measures.registry import measure_of
from discreet.people.design import people_problem
from discreet.problems.constraint import LeakageBudget

MUTUAL = measure_of("mutual-information")


def population(people, seed=0):
    """Sex and region hang on one column of X each, and what is guessed on both."""
    rng = default_rng(seed)
    table = rng.normal(size=(people, 3))
    sex = np.where(rng.random(people) < 1 / (1 + np.exp(-1.5 * table[:, 0])), "m", "f")
    region = np.array(["east", "north", "west"])[
        np.digitize(table[:, 1] + rng.logistic(size=people), [-1, 1])
    ]
    score = 2.0 * table[:, 0] + table[:, 1] + rng.logistic(size=people)
    return table, np.where(score > 0, "yes", "no"), pandas.DataFrame({"sex": sex, "region": region})


BUDGETS = {"sex": 0.02, "region": 0.25}
MEASURES = {"region": "total-variation"}


@pytest.fixture(scope="module")
def fitted():
    table, truth, hidden = population(4000)
    return classifier(budget=BUDGETS, measure=MEASURES).fit(table, truth, sensitive_features=hidden)


@pytest.mark.gate
def test_each_budget_is_kept_for_people_by_its_own_measure(fitted):
    assert fitted.statement_.startswith("holds for people, 95 %: ")
    for words in ("0.02 nats about sex", "0.25 of total-variation about region", "2,000 "):
        assert words in fitted.statement_
    assert fitted.limit_ == {
        "sex": LeakageBudget(0.02),
        "region": LeakageBudget(0.25, measure_of("total-variation")),
    }
    assert all(
        fitted.evaluation_.secrets[name].at_most <= amount for name, amount in BUDGETS.items()
    )
    assert fitted.rule_.groups == (
        *(("sex", v) for v in "fm"),
        *(("region", v) for v in ("east", "north", "west")),
    )
    designed = fitted.design_.budgets
    assert designed["region"] / designed["sex"] == pytest.approx(0.25 / 0.02)
    assert fitted.design_.solution.status is ds.Status.CERTIFIED
    others, wanted, theirs = population(20000, seed=1)
    guesses = fitted.predict(others, ids=np.arange(20000))
    found = evaluated(guesses, wanted, theirs, measure=MEASURES)
    assert found.holds(BUDGETS)
    assert found.secrets["sex"].leakage.estimate < 0.02
    assert found.secrets["region"].measure == measure_of("total-variation")
    assert 0.2 < found.error.estimate < 0.45


def test_the_design_is_the_optimum_of_the_problem_of_several_secrets():
    """Without people apart: the certified optimum of `Problem(constraints=...)`, which no other
    rule beats.
    """
    table, truth, hidden = population(600)
    private = fit(table, truth, hidden, fraction={"sex": 0.2, "region": 0.5}, calibration=0)
    model = private.model_
    assert private.limit_["sex"].amount == pytest.approx(0.2 * model.bayes_leakages[0])
    direct = ds.solve(model.with_budget([each.amount for each in private.limit_.values()]))
    assert private.design_.solution.error_probability == pytest.approx(
        direct.error_probability, rel=1e-8
    )
    assert private.statement_.startswith("certified for this model: leaks ")
    assert " nats about sex and " in private.statement_


@pytest.mark.gate
def test_equalized_odds_may_be_asked_for_one_column_and_parity_for_another():
    table, truth, hidden = population(1500)
    measure = {"sex": "conditional-mutual-information", "region": "parity-difference"}
    hidden = hidden.replace("north", "east")  # limits for two groups take less time
    private = fit(table, truth, hidden, budget={"sex": 0.05, "region": 0.3}, measure=measure)
    assert private.rule_.groups[:2] == (("sex", "no", "f"), ("sex", "no", "m"))
    assert private.evaluation_.secrets["sex"].measure.conditional
    tried = private.promise_.tried
    assert all(each.design.solution.relative_gap < 1e-7 for each in tried)
    leaked = tried[0].to_dict()["secrets"]["region"]["model_leakage"]
    assert leaked <= 0.3 * tried[0].share * (1 + 1e-9)


def test_a_number_is_about_all_columns_together_and_a_mapping_about_each():
    table, truth, hidden = population(800)
    together = fit(table, truth, hidden, budget=0.05, calibration=0)
    assert len(together.rule_.groups) == 6
    assert together.secrets_ == {}
    each = classifier(budget=0.05, measure={"sex": "mutual-information"}, calibration=0)
    each.fit(table, truth, sensitive_features=hidden)
    assert {name: limit.amount for name, limit in each.limit_.items()} == {
        "sex": 0.05,
        "region": 0.05,
    }
    assert each.design_.solution.error_probability < together.design_.solution.error_probability
    alone = fit(table, truth, hidden["sex"], budget={"sex": 0.05}, calibration=0)
    plain = fit(table, truth, hidden["sex"], budget=0.05, calibration=0)
    assert alone.design_.solution.error_probability == pytest.approx(
        plain.design_.solution.error_probability, rel=1e-9
    )
    by_place = classifier(budget={0: 0.05, 1: np.inf}, calibration=0)
    by_place.fit(table, truth, sensitive_features=hidden.to_numpy())
    loose = by_place.design_.solution.certificate
    assert loose.lower <= each.design_.solution.certificate.upper


def test_too_few_people_are_told_what_they_could_promise_about_each_column():
    table, truth, hidden = population(400)
    private = fit(table, truth, hidden, budget={"sex": 0.0, "region": 0.0})
    assert len(set(private.predict(table).tolist())) == 1
    assert private.statement_.startswith("CONSTANT: ")
    assert "they can prove is about 0.0" in private.statement_
    assert private.promise_.least["sex"] < private.promise_.least["region"]
    assert f"{private.promise_.least['sex']:.2g} about sex and" in private.statement_


def test_a_lottery_keeps_the_budget_of_every_column():
    table, truth, hidden = population(400)
    hidden = hidden.replace("north", "east")
    private = fit(table, truth, hidden, budget={"sex": 0.001, "region": 0.01})
    taken = private.promise_.taken
    assert 0.0 < taken.lottery.share < 1.0
    limits = [taken.people.secrets[name].at_most for name in ("sex", "region")]
    assert limits[0] <= 0.001
    assert limits[1] <= 0.01
    assert limits[0] == pytest.approx(0.001, rel=1e-6) or limits[1] == pytest.approx(0.01, rel=1e-6)


def test_a_statement_says_which_budget_is_broken_and_splits_the_level_for_it():
    rng = default_rng(1)
    sex, region = rng.integers(0, 2, size=(2, 2000))
    guess = np.where(rng.random(2000) < 0.8, sex, 1 - sex)
    found = evaluated(guess, guess, {"sex": sex, "region": region})
    assert not found.holds({"sex": 0.01, "region": 0.02})
    assert found.breaks({"sex": 0.01, "region": 0.02})
    told = found.statement({"sex": 0.01, "region": 0.02})
    assert told.startswith("broken for people, 95 %: ")
    assert told.endswith("more than the budget of 0.01 nats about sex (2,000 people)")
    told = found.statement({"sex": 1.0, "region": 0.02})
    assert told.startswith("holds for people, 95 %: ")
    assert "1 nats about sex and 0.02 nats about region" in told
    wide = found.secrets["sex"].leakage.low
    assert found.breaks({"sex": wide * 0.999})
    # At half of the level the limit is lower.
    assert not found.breaks({"sex": wide * 0.999, "region": 1.0})
    told = found.statement({"sex": 1.0, "region": found.secrets["region"].at_most * 0.99})
    assert told.startswith("not shown for people, 95 %: ")
    assert set(found.about_each) == {
        "mutual-information about sex",
        "mutual-information about region",
    }
    assert "mutual-information about sex" in found.to_frame()["what"].tolist()
    assert "mutual-information about sex" in found._repr_html_()


@pytest.mark.gate
def test_the_curve_is_over_the_common_factor_of_the_budgets(fitted):
    others, wanted, theirs = population(8000, seed=1)
    curve = fitted.frontier(others, wanted, sensitive_features=theirs, budgets=[0.1, 1.0])
    assert [point.share for point in curve] == [0.1, 1.0]
    # Errors and two columns, of two rules.
    assert curve.points[0].people.confidence == pytest.approx(1 - 0.05 / 6)
    best = curve.best({"sex": 0.02, "region": 0.5})
    assert best is curve.points[0]
    assert best.people.secrets["sex"].leakage.high <= 0.02
    assert curve.statement({"sex": 0.02, "region": 0.5}).startswith(
        "holds for people, 95 %: the guess leaks at most "
    )
    assert "no rule keeps the budget of 1e-06 nats about sex" in curve.statement({"sex": 1e-6})
    assert curve.to_dict()["measure"] == {"sex": "mutual-information", "region": "total-variation"}
    assert "leakage_high about region" in curve.to_frame().columns
    assert curve.plot().x_label == "design budgets ÷ budgets asked for"
    for shown in (curve._repr_html_(), repr(curve)):
        assert "total-variation about region" in shown
    with raises_input_error("'region'"):
        fitted.frontier(others, wanted, sensitive_features=theirs[["sex"]])
    default = fitted.frontier(others, wanted, sensitive_features=theirs, points=2)
    most = max(
        leaked / b for leaked, b in zip(fitted.model_.bayes_leakages, BUDGETS.values(), strict=True)
    )
    assert default.points[-1].share == pytest.approx(most)


@pytest.mark.gate
def test_it_is_cloned_and_deployed(fitted, tmp_path):
    assert clone(fitted).budget == BUDGETS
    rule = fitted.save(tmp_path / "rule", population(4000)[0])
    others = population(500, seed=3)[0]
    deployed = ds.DeployedRule.load(tmp_path / "rule")
    assert np.abs(deployed.predict_proba(others) - fitted.predict_proba(others)).max() < 1e-6
    asked = rule.document["about"]["asked"]
    assert asked["budget"] == BUDGETS
    assert asked["measure"] == {"sex": "mutual-information", "region": "total-variation"}
    page = (tmp_path / "rule" / "card.html").read_text()
    for words in (
        "budget of total-variation about region",
        "leaks at most about sex, 95 %",
    ):
        assert words in page
    card = json.loads((tmp_path / "rule" / "card.json").read_text())
    assert card["model"]["secrets"]["sex"]["budget"] == pytest.approx(fitted.design_.budgets["sex"])
    assert card["tried"][0]["secrets"]["region"]["design_budget"] == pytest.approx(
        0.25 * fitted.promise_.tried[0].share
    )


@pytest.mark.parametrize(
    "given, hidden, complaint",
    [
        ({"budget": {"sexe": 0.1, "region": 0.1}}, None, "budget .*'sexe'"),
        ({"budget": {"sex": 0.1}}, None, "'region'"),
        ({"budget": {"sex": 0.1}}, "array", "without a name"),
        ({"budget": {"sex": 0.1, "alike": 0.1}}, "alike", "'alike' is"),
        ({"budget": {"sex": 0.1, "many": 0.1}}, "many", "'many' has 120 .* 120 .*ranges"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(given, hidden, complaint):
    table, truth, both = population(120)
    columns = {
        None: both,
        "array": both["sex"].to_numpy(),
        "alike": both[["sex"]].assign(alike="x"),
        "many": both[["sex"]].assign(many=np.arange(120)),
        "none": None,
    }
    with raises_input_error(complaint):
        fit(table, truth, columns[hidden], **given)


@pytest.mark.parametrize(
    "p_x", [None, 0.5, "text", [[0.5], [0.5, 0.5]], {"sex": None}, np.ones((300, 2, 2)), []]
)
def test_probabilities_that_are_none_are_refused(p_x):
    with raises_input_error("p_x"):
        ds.design_rule(np.full((300, 2), 0.5), p_x, 0.1)


def test_a_rule_is_designed_for_several_columns_from_their_probabilities():
    rng = default_rng(0)
    p_y, sex, region = (rng.dirichlet(np.ones(k), 300) for k in (2, 2, 3))
    made = ds.design_rule(
        p_y, {"sex": sex, "region": region}, {"sex": 0.001, "region": 0.002}, key="0" * 32
    )
    assert made.solution.status is ds.Status.CERTIFIED
    assert made.rule.groups == (("sex", 0), ("sex", 1), ("region", 0), ("region", 1), ("region", 2))
    assert made.leakages["sex"] <= 0.001 * (1 + 1e-9)
    assert "about sex and" in repr(made)
    half = ds.design_rule(
        p_y, {"sex": sex, "region": region}, fraction=0.5, groups={"sex": "fm", "region": "enw"}
    )
    assert half.rule.groups[:2] == (("sex", "f"), ("sex", "m"))
    model = people_problem(p_y, {"sex": sex, "region": region}, None, None, [MUTUAL] * 2)
    assert half.budgets == pytest.approx(
        dict(zip(("sex", "region"), np.multiply(0.5, model.bayes_leakages), strict=True))
    )
