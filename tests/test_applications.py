"""The pages of the applications show the catalog's models: every parameter with its default, and a
figure of that model.
"""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from checkout import DOCS, text_of

import discreet as ds

PAGES = DOCS / "applications"
NAMES = [entry.name for entry in ds.problems.catalog.entries() if entry.family == "application"]


def page(name):
    return text_of(PAGES / f"{name}.md")


def test_every_application_has_a_page_and_a_figure():
    assert {path.stem for path in PAGES.glob("*.md")} == set(NAMES)
    assert {path.stem for path in PAGES.glob("*.svg")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_lists_every_parameter_with_its_default_and_a_source(name):
    model = page(name).partition("## The frontier")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (.+) \|$", model, flags=re.MULTILINE)
    assert [(found, value) for found, value, _ in rows] == [
        (p.name, str(p.default)) for p in ds.problems.catalog.entry(name).parameters
    ]
    # a source has a year
    assert all("assumed" in words or re.search(r"\(\d{4}\)", words) for _, _, words in rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_figure_of_a_page_is_that_of_the_present_model(name):
    assert f"]({name}.svg)" in page(name)
    text = text_of(PAGES / f"{name}.svg")
    ElementTree.fromstring(text)  # well-formed
    problem = ds.problems.catalog.build(name, budget=0.0)
    perfect = ds.solve(problem, "tilt").error_probability
    for value in (perfect, problem.bayes_error, problem.bayes_leakage):
        assert re.search(rf"\b{re.escape(f'{value:.4g}')}\b", text), (
            f"docs/applications/{name}.svg does not show {value:.4g}"
        )


@pytest.mark.parametrize("name", NAMES)
def test_perfect_privacy_costs_something_but_not_everything(name):
    """Perfect privacy costs something, but far from everything, and the whole curve lies in
    between.
    """
    problem = ds.problems.catalog.build(name, budget=0.0)
    budgets = np.array([0.0, 0.01, 0.1, 0.5, 1.0]) * problem.bayes_leakage
    errors = [ds.solve(problem.with_budget(budget)).error_probability for budget in budgets]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1.5 * errors[-1]
    assert errors[0] < 0.8 * problem.constant_error
