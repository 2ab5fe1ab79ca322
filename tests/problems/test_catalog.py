"""The catalog: reference values, laws of every entry, parameters from text, refusals, lazily loaded
names.
"""

import importlib
import inspect
import math
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import assert_same_arrays
from refusals import raises_input_error

import discreet.problems
from discreet import InputWarning, Problem, problems
from discreet.problems import catalog
from discreet.problems.catalog import registry, surveys
from discreet.problems.catalog.disclosure import census_joint
from discreet.problems.catalog.registry import check_size

NAMES = [entry.name for entry in catalog.entries()]
EVERY_ENTRY = pytest.mark.parametrize("name", NAMES)

# -- reference values
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "count, error, leakage",
    [
        (1, 0.0793277702915145, 0.0106239724139194),
        (5, 0.014776890093557, 3.67611840049955e-4),
        (10, 0.00226509296060852, 1.71545731245243e-5),
    ],
)
def test_the_papers_sensors_have_their_exact_values(count, error, leakage):
    """Bayes error and I_MAP, summed over the count lattice in 40-digit arithmetic."""
    problem = problems.paper_multi(sensors=count)
    assert problem.bayes_error == pytest.approx(error, rel=1e-13)
    assert problem.bayes_leakage == pytest.approx(leakage, rel=1e-12)


# -- laws of every entry
# -----------------------------------------------------------------------------------------------


@EVERY_ENTRY
def test_every_entry_builds_a_documented_problem(name):
    entry = catalog.entry(name)
    problem = entry.build()
    assert problem.name == name
    first_paragraph = inspect.getdoc(entry.build).split("\n\n")[0]
    assert entry.summary == " ".join(first_paragraph.split()).rstrip("."), "it is not cut off"
    assert entry.family in registry.FAMILIES
    assert all(parameter.meaning for parameter in entry.parameters)
    assert problem.p_xz.sum() == pytest.approx(1.0, abs=1e-14)
    assert problem.bayes_error <= problem.constant_error
    shown = list(inspect.signature(entry.build).parameters)
    budgets = ["budget", "equivocation", "fraction", "measure"]
    assert shown == [*(p.name for p in entry.parameters), *budgets]
    with pytest.raises(TypeError, match="colour"):
        entry.build(colour="red")


@EVERY_ENTRY
def test_every_entry_takes_budget_equivocation_and_fraction(name):
    assert catalog.build(name, budget=0.125).budget == 0.125
    assert catalog.build(name, budget=math.inf).constraint.oblivious
    quarter = catalog.build(name, fraction=0.25)
    assert quarter.budget == 0.25 * quarter.bayes_leakage
    assert_same_arrays(catalog.build(name, fraction=0.25), quarter)
    assert catalog.build(name, fraction=0).constraint.perfect
    kept = 0.5 * quarter.entropy_x
    assert catalog.build(name, equivocation=kept).equivocation == pytest.approx(kept)
    with raises_input_error("leakage and fraction"):
        catalog.build(name, budget=0.1, fraction=0.1)


# -- what the families promise
# -----------------------------------------------------------------------------------------


def test_zero_mass_has_outcomes_and_values_that_never_happen():
    problem = catalog.build("zero-mass", N=50, share=0.4)
    assert (problem.p_z == 0).sum() == 20
    assert problem.p_x[-1] == 0.0
    assert problem.loss[-1] @ np.ones(50) == pytest.approx(1.0)  # the last guess is always wrong


def test_near_deterministic_tends_to_a_deterministic_channel():
    assert problems.near_deterministic(noise=1e-6).bayes_error == pytest.approx(
        3 / 5 * 1e-6, rel=1e-9
    )
    assert problems.near_deterministic(noise=0.0).bayes_error == 0.0
    assert problems.near_deterministic(n=1, m=1).bayes_error == 0.0


def test_x_equals_y_leaks_as_documented():
    problem = problems.x_equals_y()
    # 0/1 loss of Y = X: the loss mass of guess i is the mass of the other private values.
    assert_allclose(problem.loss, problem.p_z - problem.p_xz, atol=1e-15)
    assert problem.bayes_leakage > 0.1


def test_independent_has_phi_exactly_zero():
    problem = problems.independent(n=4, m=3, N=50, seed=7)
    assert (problem.phi == 0.0).all()
    assert problem.phi_rank.rank == 0
    assert problem.bayes_leakage == 0.0
    assert problem.constraint.perfect


def test_the_released_variable_is_the_one_that_is_asked_for():
    problem = problems.release(n=5, skew=1.0)
    assert_array_equal(problem.p_xz, np.diag(problem.p_x))
    assert_allclose(problem.p_x, np.array([60, 30, 20, 15, 12]) / 137, rtol=1e-15)
    assert problem.bayes_error == 0.0
    assert problem.bayes_leakage == pytest.approx(problem.entropy_x, rel=1e-12)
    assert problem.with_budget(math.inf, measure="maximal-leakage").bayes_leakage == pytest.approx(
        math.log(5), rel=1e-12
    )


def test_the_binary_channel_is_a_chain():
    problem = problems.binary_channel(prior=0.25, flip_0=0.2, flip_1=0.1, noise=0.0)
    assert_allclose(problem.p_xz, [[0.6, 0.15], [0.025, 0.225]], rtol=1e-14)
    assert_allclose(problem.loss, [[0.0, 0.375], [0.625, 0.0]], atol=1e-16)
    assert problems.binary_channel(noise=0.5).bayes_leakage == pytest.approx(0.0, abs=1e-15)


def test_the_census_is_the_model_that_it_states():
    joint = census_joint(3, 4, 5, 1.0)  # sex, age, income, outcome
    assert joint.shape == (2, 3, 2, 60)
    assert joint.sum() == pytest.approx(1.0, rel=1e-14)
    assert_allclose(joint.sum(axis=(2, 3)), 1 / 6, rtol=1e-13)
    problem = problems.census(ages=3, educations=4, occupations=5)
    assert_allclose(problem.p_xz, joint.sum(axis=(1, 2)), rtol=1e-13)
    earns = joint.sum(axis=(1, 3))
    assert earns[1, 1] > earns[0, 1]
    assert problems.census(bias=0.0).bayes_leakage < 1e-25  # sex is in no answer
    assert problems.census(ages=1, educations=1, occupations=1).N == 3


def test_the_secrets_of_the_census_have_a_constraint_each():
    joint = census_joint(4, 5, 6, 1.0)
    problem = problems.census(secrets=3)
    sex, age, both = (problem.p_xz[term.rows] for term in problem.terms)
    assert_allclose(sex, joint.sum(axis=(1, 2)), rtol=1e-13)
    assert_allclose(age, joint.sum(axis=(0, 2)), rtol=1e-13)
    assert_allclose(both, joint.sum(axis=2).reshape(8, -1), rtol=1e-13)
    assert_allclose(problem.loss, problems.census().loss, rtol=1e-13)
    assert [term.budget.amount for term in problem.terms] == [
        0.5 * most for most in problem.bayes_leakages
    ]
    fair = problems.census(secrets=2, budget=0.02, measure="parity-difference")
    assert [str(term.budget) for term in fair.terms] == ["0.02 of parity-difference"] * 2
    assert all(term.budget.perfect for term in problems.census(secrets=2, fraction=0).terms)
    with raises_input_error(r"constraints\[0\]"):
        problems.census(secrets=2, measure="conditional-mutual-information")
    given = problems.census(measure="conditional-mutual-information")
    assert given.budget == 0.5 * given.bayes_leakage
    assert len(given.terms[0].groups) == 2


def test_tiny_and_slack_budgets():
    assert problems.tiny_budget().budget == 1e-12
    assert problems.tiny_budget(nats=1e-15, fraction=0.5).budget == pytest.approx(0.00619414556)
    slack = problems.slack_budget(factor=3.0)
    assert slack.budget == 3.0 * slack.bayes_leakage


def test_correlation_of_x_and_y_keeps_their_marginals():
    for correlation in (-0.6, 0.3):
        problem = problems.multi_mixed(sensors=2, correlation=correlation)
        assert_allclose(problem.p_x, [0.7, 0.3], rtol=1e-14)
        assert_allclose(problem.constant_errors, [0.5, 0.5], rtol=1e-14)
    both = problems.multi_mixed(sensors=8, sigma=(0.02, 0.02), correlation=0.5)
    p_y_given_x = 0.5 + np.array([-1, 1]) * 0.5 * math.sqrt(0.25 * 0.21) / np.array([0.7, 0.3])
    joint = np.array([[0.7, 0.7], [0.3, 0.3]]) * np.stack([1.0 - p_y_given_x, p_y_given_x], axis=1)
    mutual = (joint * np.log(joint / np.outer([0.7, 0.3], [0.5, 0.5]))).sum()
    assert both.bayes_leakage == pytest.approx(mutual, rel=1e-3)  # the guess is all but Y itself


def test_smart_meter_has_the_marginals_of_its_parameters():
    problem = problems.smart_meter(home=0.3, heating_home=0.5, heating_away=0.25)
    assert problem.p_x[1] == pytest.approx(0.3)
    assert 1.0 - problem.loss[1].sum() == pytest.approx(0.3 * 0.5 + 0.7 * 0.25)


def test_building_readings_tell_the_two_variables_apart():
    problem = problems.building(temperature_bins=10, co2_bins=12)
    assert problem.N == 120
    assert_allclose(problem.p_x, [0.4, 0.35, 0.25], rtol=1e-12)
    given_x = (problem.p_xz / problem.p_x[:, None]).reshape(3, 10, 12)
    stale = given_x.sum(axis=1) @ np.arange(12)
    assert stale[0] < stale[1] < stale[2]
    # Dependent given X: the joint of a class is not the product of its marginals.
    few = given_x[1]
    assert np.abs(few - np.outer(few.sum(axis=1), few.sum(axis=0))).max() > 1e-4


def test_building_leaks_by_the_coupling_of_load_and_occupancy():
    apart = problems.building(coupling=0.0)
    coupled = problems.building()
    assert_allclose(apart.constant_errors, coupled.constant_errors, rtol=1e-13)
    assert_allclose(apart.p_x, coupled.p_x, rtol=1e-13)
    assert coupled.bayes_leakage > 10.0 * apart.bayes_leakage


def test_road_equals_a_simulation():
    problem = problems.road(bins=6, segments=3)
    rng = np.random.default_rng(5)
    size = 400_000
    x = rng.choice(3, size, p=[0.3, 0.5, 0.2])
    speed = (np.array([0.75, 1.0, 1.3])[x] * 50.0 + rng.normal(0.0, 5.0, size)) / 3.6
    s = rng.normal(0.0, 30.0, size) + 8.0 * speed
    z = s + rng.normal(0.0, 10.0, size)
    y = np.clip(s // 50.0, 0, 2).astype(int)
    k = np.clip(z // 25.0, 0, 5).astype(int)
    joint = np.zeros((3, 3, 6))
    np.add.at(joint, (x, y, k), 1.0 / size)
    wanted = Problem.from_joint(joint / joint.sum(), math.inf)
    assert_allclose(problem.p_xz, wanted.p_xz, atol=4e-3)
    assert_allclose(problem.loss, wanted.loss, atol=4e-3)


# -- refusals
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, parameters, message",
    [
        ("paper-singel", {}, "'paper-singel' .*'paper-single'.*paper-multi"),
        ("paper-single", {"bin": 3}, "'bin' .*'bins'.*bins .*4"),
        ("paper-single", {"bins": "many"}, "bins of paper-single is 'many'.* 4"),
        ("paper-single", {"bins": 1}, "bins is 1"),
        ("paper-single", {"fraction": -0.5}, "fraction is -0.5"),
        ("paper-multi", {"sensors": 3000}, "4 GiB"),
        ("dirichlet", {"sparsity": "nan"}, "sparsity of dirichlet is 'nan'"),
        ("dirichlet", {"sparsity": 1.5}, "sparsity is 1.5"),
        ("zero-mass", {"share": 1.0}, "of 60 outcomes"),
        ("multi-mixed", {"groups": 9}, "groups is 9 .*sensors is 6"),
        ("multi-mixed", {"weight_x": (0.1,)}, r"weight_x is \(0.1,\)"),
        ("multi-mixed", {"sigma": "0.2,-1"}, "sigma holds -1.0"),
        ("multi-mixed", {"correlation": 0.7}, "correlation is 0.7.* 0.65"),
        ("multi-groups", {"sizes": ()}, "sizes is empty"),
        ("building", {"few": 12}, "give many > few"),
        ("road", {"noise": 1e-3}, "too small"),
        ("anes96", {"x": "voet"}, "'voet'.*popul"),
        ("anes96", {"x": "age"}, "age of anes96 has 71"),
        ("anes96", {"z": "age,educ"}, "bins .*4 .*z .*2"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(name, parameters, message):
    with raises_input_error(message):
        catalog.build(name, **parameters)


def test_without_statsmodels_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    with raises_input_error(r"needs statsmodels; run pip install \"discreet\[data\]\""):
        problems.anes96()


@pytest.mark.parametrize("name", ["anes96", "fair"])
def test_a_survey_is_the_table_of_statsmodels(name):
    table = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    found = surveys._table(name)
    assert set(found) >= set(table.columns) - {"logpopul"}
    for column, values in found.items():
        assert_allclose(values, table[column], rtol=1e-15)


def test_text_is_read_as_the_type_of_the_default():
    def read(default, text):
        return registry._parse("it", registry.Parameter("p", default, ""), text)

    assert read(True, "off") is False
    assert read(4, " 12 ") == 12
    assert read(0.5, "1e-3") == 1e-3
    assert read((0.5,), "(1, 2.5)") == (1.0, 2.5)
    assert read((1, 2), "3,4,5") == (3, 4, 5)
    assert read(("a",), "b, c") == ("b", "c")
    for default, text in ((True, "maybe"), (0.5, "word"), ((1,), "1.5")):
        with raises_input_error(f"'{text}'"):
            read(default, text)


def test_a_duplicate_or_incomplete_entry_is_refused():
    def paper_single():
        return np.ones((1, 1, 1))

    def new(size=3):
        return np.ones((1, 1, size))

    with pytest.raises(ValueError, match="'paper-single'"):
        registry.register("paper")(paper_single)
    with pytest.raises(ValueError, match="'new'"):
        registry.register("paper")(new)
    with pytest.raises(ValueError, match="'odd'"):
        registry.register("odd")(new)
    assert "new" not in [entry.name for entry in catalog.entries()]


@pytest.mark.parametrize("name", sorted({*NAMES} - {"tiny-budget", "slack-budget"}))
def test_every_entry_takes_a_measure_and_half_of_what_the_bayes_rule_leaks_by_it(name):
    problem = catalog.build(name, measure="maximal-leakage")
    assert str(problem.measure) == "maximal-leakage"
    assert problem.budget == 0.5 * problem.bayes_leakage
    plain = catalog.build(name)
    assert plain.budget == 0.5 * plain.bayes_leakage
    # Mutual information is never more.
    assert problem.bayes_leakage >= (1.0 - 1e-9) * plain.bayes_leakage
    asked = catalog.build(name, budget=0.2, measure="sibson:alpha=2")
    assert str(asked.constraint) == "0.2 nats of sibson:alpha=2.0"


def test_a_measure_cannot_be_guessed():
    with raises_input_error(r"chi-square .*leakage"):
        problems.tiny_budget(measure="chi-square")  # its own is one of mutual information
    with raises_input_error("local-differential-privacy"):
        problems.release(measure="local-differential-privacy")
    with raises_input_error("'privacy'"):
        problems.release(measure="privacy")
    with raises_input_error("equivocation"):
        problems.release(measure="chi-square", equivocation=0.1)


def test_titles_name_what_differs_from_the_defaults():
    assert problems.paper_single(bins=64).name == "paper-single(bins=64)"
    assert problems.dirichlet(n=2, seed=5).name == "dirichlet(n=2, seed=5)"


# -- names of the package
# ----------------------------------------------------------------------------------------------


def test_every_builder_is_exported():
    builders = {entry.build.__name__ for entry in catalog.entries()}
    assert builders <= set(discreet.problems.__all__)
    assert {entry.name.replace("-", "_") for entry in catalog.entries()} == builders


def test_sizes_that_the_benchmarks_measure_are_not_refused():
    check_size("mixture", {"n": 10, "m": 10, "N": 1_000_000})
    check_size("paper-single", {"bins": 20_000_000})


def test_a_family_of_another_package_that_cannot_be_imported_is_left_out(monkeypatch):
    from importlib import metadata

    broken = metadata.EntryPoint("theirs", "no_such_module", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [broken])
    load = registry._load_installed.__wrapped__
    with pytest.warns(InputWarning, match=r"theirs \(no_such_module\) cannot be loaded"):
        load()
