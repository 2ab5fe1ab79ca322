"""A study file means what it says; a mistake in it is one sentence that names its place and the
remedy.
"""

import re

import pytest
from refusals import raises_file_error, raises_input_error

from discreet.backends import Kind, Regime, backend_names, load_backend
from discreet.backends.declared import UNTESTED
from discreet.measures.registry import CONDITIONAL, MEASURES
from discreet.problems.catalog import entries
from discreet.problems.catalog.registry import FAMILIES
from discreet.reports.study.cells import cells_of, choose
from discreet.reports.study.plan import SHIPPED, parse_study, read_study

GOOD = """
name = "small"
repeats = 2
[limits]
time_seconds = 5
[profiles.default]
gap = 1e-9
settings.conic = { tolerance = 1e-10 }
[[backends]]
name = "tilt"
[[backends]]
name = "conic"
settings = { solver = "scs" }
[[instances]]
problem = "paper-single"
budgets = ["fraction=0.5", "perfect"]
parameters = { bins = [4, 8] }
[[reach]]
backends = ["conic"]
outcomes_above = 4
reason = "for the test"
"""


def cells_in(text=GOOD):
    return cells_of(parse_study(text, "small.toml")).cells


def keys_in(text=GOOD):
    return {cell.key for cell in cells_in(text)}


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_lists_multiply_and_reach_is_a_reason():
    cells = cells_in()
    assert len(cells) == len(keys_in()) == 2 * 2 * 2 * 2
    out = [cell for cell in cells if cell.skipped]
    assert {(cell.configuration.label, cell.instance.problem.N, cell.skipped) for cell in out} == {
        ("conic:solver=scs", 8, "conic:solver=scs is not tried above 4 outcomes: for the test")
    }
    scs = next(cell for cell in cells if cell.configuration.backend == "conic")
    assert scs.settings == {"solver": "scs", "tolerance": 1e-10}
    assert scs.configuration.settings == {"solver": "scs"}
    assert "scs" in scs.versions


def test_the_same_study_is_the_same_cells_in_the_same_order():
    first = cells_in()
    again = cells_in()
    assert [cell.key for cell in first] == [cell.key for cell in again]
    assert [cell.repeat for cell in first] == [0] * 8 + [1] * 8
    assert [cell.title for cell in first[:8]] != [cell.title for cell in first[8:]]


@pytest.mark.parametrize(
    "old, new",
    {
        "gap = 1e-9": "gap = 1e-8",
        "time_seconds = 5": "time_seconds = 6",
        'settings = { solver = "scs" }': 'settings = { solver = "clarabel" }',
        "tolerance = 1e-10": "tolerance = 1e-11",
        "fraction=0.5": "fraction=0.25",
    }.items(),
)
def test_what_changes_a_number_changes_the_key(old, new):
    assert keys_in(changed(old, new)) != keys_in()


def test_a_changed_version_is_another_cell(monkeypatch):
    from discreet.reports.study import cells

    before = keys_in()
    monkeypatch.setattr(cells, "versions", lambda backend, settings, environment: {"python": "4.0"})
    assert not before & keys_in()


def test_names_joined_by_a_comma_take_the_same_value_and_grids_are_logarithmic():
    text = changed(
        'problem = "paper-single"\nbudgets = ["fraction=0.5", "perfect"]\nparameters = { bins = '
        "[4, 8] }",
        'problem = "dirichlet:N=20"\nbudgets = ["own"]\n'
        'parameters = { "n,m" = [2, 3], seed = {from = 1, to = 100, points = 3} }',
    )
    found = {cell.instance.words for cell in cells_in(text)}
    assert found == {
        f"dirichlet:N=20,n={k},m={k},seed={seed}" for k in (2, 3) for seed in (1, 10, 100)
    }


def test_the_measure_is_a_parameter_and_a_row_says_who_does_not_serve_it():
    text = changed(
        "bins = [4, 8]", 'bins = 4, measure = ["mutual-information", "chi-square", "max-lift"]'
    )
    text = text.replace('name = "tilt"', 'name = "highs"').replace(
        "outcomes_above", "unknowns_above"
    )
    cells = [cell for cell in cells_in(text) if cell.repeat == 0]
    asked = {
        (each.configuration.backend, str(each.instance.problem.measure), each.instance.budget_word)
        for each in cells
    }
    assert ("highs", "mutual-information", "fraction=0.5") not in asked  # as ever
    assert {cell.skipped for cell in cells if cell.configuration.backend == "highs"} == {
        "", "highs does not serve a positive finite budget of chi-square"
    }  # fmt: skip
    assert len({cell.instance.problem.digest for cell in cells}) == 3 * 2
    half = next(cell.instance for cell in cells if "max-lift fraction" in cell.title)
    assert half.words == "paper-single:bins=4,measure=max-lift"
    assert half.problem.budget == 0.5 * half.problem.bayes_leakage


@pytest.mark.parametrize(
    "old, new, said",
    [
        ('name = "small"', "", "name is missing"),
        ('name = "small"', 'name = "small', "not TOML.*line 2"),
        ("repeats = 2", "repeat = 2", "repeat: .*'repeats'"),
        ("repeats = 2", "repeats = 0", "repeats is 0"),
        ("gap = 1e-9", "gap = 2", r"profiles.default.gap is 2"),
        ('name = "tilt"', 'name = "tlit"', r"backends\[1\].name: 'tlit' .*'tilt'"),
        ('{ solver = "scs" }', '{ solvr = "scs" }', "'solvr' .*conic .*'solver'"),
        (
            'name = "conic"\nsettings = { solver = "scs" }',
            'name = "tilt"',
            "backends has 'tilt' twice",
        ),
        ("bins = [4, 8]", "bins = { from = 8, to = 4, points = 3 }", "goes from 8 to 4"),
        ('"perfect"]', '"fraction=half"]', "'fraction=half' is not a budget"),
        ('"perfect"]', '"fraction=0.5"]', "budgets has 'fraction=0.5' twice"),
        ('backends = ["conic"]', 'backends = ["highs"]', r"reach\[1\].backends: 'highs'"),
    ],
)
def test_a_mistake_is_named(old, new, said):
    with raises_file_error(f"small.toml.*{said}"):
        parse_study(changed(old, new), "small.toml")


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("bins = [4, 8]", "bins = [4, 4]", "same cell twice"),
        (
            '"perfect"]',
            '"fraction=0"]\nbackends = ["tilt"]\n[[instances]]\nproblem = '
            '"paper-single:bins=4"\nbudgets = ["perfect"]',
            "twice",
        ),
        ("bins = [4, 8]", "bins = [4, -8]", r"small.toml: instances\[1\]: "),
        ('"paper-single"', '"model.npz"', r"small.toml: instances\[1\]: .*a file"),
        ("bins = [4, 8]", "bns = [4, 8]", r"small.toml: instances\[1\]: .*'bns' .*'bins'"),
    ],
)
def test_what_a_problem_refuses_names_the_instance(old, new, said):
    text = changed(old, new)
    if "sigma" in new or "[[instances]]" in new:
        text = text.replace("parameters = { bins = [4, 8] }\n", "")
    with raises_input_error(said):
        cells_in(text)


def test_only_picks_by_title_and_says_when_nothing_fits():
    cells = cells_in()
    assert {cell.configuration.label for cell in choose(cells, ["tilt", "bins=4"])} == {"tilt"}
    with raises_input_error("'bins=5'"):
        choose(cells, ["bins=5"])


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_studies_are_valid(name):
    assert read_study(name).name == name


def _shrunk(name):
    """The cells of a shipped study, large sizes replaced by others, each by its own: building them
    takes longest.
    """
    source = re.sub(
        r"\b\d{5,}\b", lambda size: str(1000 + int(size[0]) // 10_000), read_study(name).source
    )
    return cells_of(parse_study(source, f"{name}.toml"))


@pytest.mark.gate
def test_the_study_of_measures_has_every_measure_and_what_the_default_one_has_not():
    work = _shrunk("measures")
    default = _shrunk("default")
    asked = [{term.measure.name for term in cell.instance.problem.terms} for cell in work.cells]
    assert set().union(*asked) == {*MEASURES, *CONDITIONAL}
    assert {len(cell.instance.problem.terms) for cell in work.cells} == {1, 2, 3}
    taken = {cell.instance.entry for cell in (*work.cells, *default.cells)}
    assert taken == {each.name for each in entries()} - {
        sentence.split()[0] for sentence in default.left_out
    }
    for cell in work.cells:
        able = load_backend(cell.configuration.backend).capabilities
        assert bool(cell.skipped) == bool(able.skipped(cell.instance.problem, cell.settings))


@pytest.mark.gate
def test_the_default_study_has_every_family_and_every_backend():
    work = _shrunk("default")
    assert len(work.cells) >= 300
    assert {cell.instance.family for cell in work.cells} == set(FAMILIES)
    wanted = {
        name
        for name in backend_names(Kind.ARRAYS)
        if not name.startswith("fake") and name != "auto" and name not in UNTESTED
    }
    assert {
        cell.configuration.backend for cell in (*work.cells, *_shrunk("measures").cells)
    } == wanted
    assert all(
        Regime.of(c.instance.problem) in load_backend(c.configuration.backend).capabilities.regimes
        for c in work.cells
    )


def test_a_study_that_is_not_there():
    with raises_file_error(r"'quik'.*'quick'"):
        read_study("quik")
