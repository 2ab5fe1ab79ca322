"""The figure of the first page: its data are certified optima of today, and a real browser shows
them by the slider.
"""

import importlib
import json
import re
import shutil
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest
from browser import Tab
from checkout import DOCS, ROOT, text_of
from printed import agrees

import discreet as ds

FIGURES = DOCS / "figures"
AGAIN = "run `python docs/figures/budget.py`, which writes this file"


@pytest.fixture(scope="module")
def programs():
    """The programs that write the drawings, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FIGURES))
        yield importlib.import_module


@pytest.fixture(scope="module")
def budget(programs):
    """The program that writes the figure with the slider."""
    return programs("budget")


@pytest.fixture(scope="module")
def states():
    """The committed data."""
    text = text_of(FIGURES / "budgets.js")
    return json.loads(text[text.index("{") : text.rindex(";")])["states"]


# -- the data
# --------------------------------------------------------------------------------------------------


def test_some_budgets_solved_again_give_the_committed_numbers(budget, states):
    assert len(states) == budget.STEPS + 1
    for step in (0, 13, 40, 67, budget.STEPS):
        solved = budget.state(step)
        committed = states[step]
        for name in ("budget", "error", "lower", "leakage", "posteriors"):
            assert solved[name] == pytest.approx(committed[name], rel=1e-9), (step, name)
        assert solved["guess"] == pytest.approx(committed["guess"], abs=1e-6)
        # Its twelfth digit may be that of another processor.
        solved["words"]["bracket"] = committed["words"]["bracket"]
        assert solved["words"] == committed["words"]


def test_every_rule_has_the_error_the_leakage_and_the_beliefs_that_are_stated(budget, states):
    most = budget.sensor().bayes_leakage
    for step, state in enumerate(states):
        problem = budget.sensor().with_budget(state["budget"])
        estimator = np.stack([1.0 - np.array(state["guess"]), state["guess"]])
        joint = problem.p_xz @ estimator.T  # p(x, guess)
        assert state["step"] == step
        assert state["budget"] == pytest.approx(most * (step / budget.STEPS) ** 2, rel=1e-12)
        assert problem.error_probability(estimator) == pytest.approx(state["error"], rel=1e-12)
        assert state["lower"] <= state["error"] <= state["lower"] * (1.0 + 1e-9)
        assert problem.leakage(estimator) == pytest.approx(state["leakage"], rel=1e-9, abs=1e-30)
        assert state["leakage"] <= state["budget"] * (1.0 + 1e-9)
        assert state["posteriors"] == pytest.approx(joint[1] / joint.sum(axis=0), rel=1e-12)


def test_the_words_and_drawings_are_those_of_the_numbers(budget, states):
    for state in states:
        assert budget.words(state) == state["words"]
        assert budget.labels(state["guess"]) == state["labels"]
    assert budget.script(states) == text_of(FIGURES / "budgets.js"), AGAIN
    assert budget.still(states) == text_of(FIGURES / "budget.svg"), AGAIN


def test_the_set_ups_are_what_their_program_draws_and_a_page_shows_each(programs):
    shown = "".join(text_of(page) for page in FIGURES.parent.rglob("*.md"))
    for name, text in programs("setups").files():
        assert text == text_of(FIGURES / name), "run `python docs/figures/setups.py`"
        assert f"figures/{name})" in shown


@pytest.fixture(scope="module")
def claims(programs):
    """The program of the picture of the README, with the recorded answers of SCS."""
    return programs("claims")


def test_the_picture_of_the_readme_shows_claims_that_cannot_be_true(claims):
    figure = claims.draw()
    curve, claimed, measured, accurate = figure.series
    for budget, error, leakage in zip(claimed.x, claimed.y, measured.x, strict=True):
        certified = np.interp(budget, curve.x, curve.y)
        assert error < 0.95 * certified
        assert leakage > 1.4 * budget
    assert accurate.y == pytest.approx(np.interp(accurate.x, curve.x, curve.y), rel=1e-3)
    drawn = claims.standalone(figure)
    assert agrees(text_of(FIGURES / "claims.svg"), drawn), "run `python docs/figures/claims.py`"


def test_the_example_of_the_readme_prints_what_the_recorded_answers_are_worth(
    claims, monkeypatch, capsys
):
    estimators = {
        claim.accuracy: claim.estimator for claim in claims.recorded() if claim.fraction == 0.5
    }
    solve = ds.solve

    def solve_or_recall(problem, backend, *, gap, **options):
        if backend == "conic":
            judged = ds.certify(problem, estimators[gap])
            return SimpleNamespace(claimed="optimal", certificate=judged.certificate)
        return solve(problem, backend, gap=gap, **options)

    monkeypatch.setattr(ds, "solve", solve_or_recall)
    page = text_of(ROOT / "README.md")
    code, printed = re.search(r"```python\n(.*?)```\s+```text\n(.*?)```", page, re.DOTALL).groups()
    exec(code, {})
    assert agrees(printed, capsys.readouterr().out)


def test_the_table_of_the_readme_is_that_of_the_published_study():
    root = FIGURES.parents[1]
    page = text_of(root / "reports" / "published" / "README.md")
    claims, failures = (
        rows_after(page, heading)
        for heading in ("## Claim against truth", "A failure counts as 1 ×")
    )
    published = {}
    for name, (tasks, failed, *_) in failures.items():
        _, claimed, true, _, broken, *_ = claims[name]
        certified = f"{int(tasks) - int(failed)}/{tasks}"
        published[name] = [certified, f"{true}/{claimed}", broken]
    readme = rows_after(text_of(root / "README.md"), "## Solvers")
    shown = {
        re.sub(r"[`*]| \(Clarabel\)", "", name): cells
        for name, cells in readme.items()
        if any(cells)
    }
    assert shown == published


def rows_after(page, heading):
    """The first table after a heading: the cells of each row, by its first cell."""
    table = re.search(r"(?:^\|.*\n)+", page[page.index(heading) :], re.MULTILINE)[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {name: cells for name, *cells in rows}


def test_the_files_are_small_and_name_no_address_but_that_of_svg():
    texts = [text_of(FIGURES / name) for name in ("budgets.js", "slider.js", "budget.svg")]
    assert sum(len(text.encode()) for text in texts[:2]) < 150_000
    assert set(re.findall(r"https?://[^\s\"'`<)\\]+", "".join(texts))) == {
        "http://www.w3.org/2000/svg"
    }
    assert not re.findall(
        r"toFixed|toPrecision|toExponential|toLocaleString|Intl\.|fetch\(|import\(", texts[1]
    )


# -- the page
# --------------------------------------------------------------------------------------------------


def pages_of(menu):
    """The pages of a part of the navigation; single decisions, and what is made with the site, are
    left out.
    """
    if isinstance(menu, str):
        names = menu, menu.replace(".md", ".ipynb")
        there = any(
            (folder / name).is_file()
            for name in names
            for folder in (FIGURES.parent, FIGURES.parents[1])
        )
        return {menu} if there and not re.match(r"decisions/\d", menu) else set()
    entries = menu.values() if isinstance(menu, dict) else menu
    return set().union(*map(pages_of, entries))


def test_the_first_page_leads_every_role_to_the_pages_of_its_navigation():
    docs = FIGURES.parent
    sections = re.split(r"^## ", text_of(docs / "index.md"), flags=re.MULTILINE)[1:]
    linked = {
        section.splitlines()[0]: {
            link.partition("#")[0].removeprefix("../").replace(".ipynb", ".md")
            for link in re.findall(r"\]\(([^)\s]+)\)", section)
        }
        for section in sections
    }
    site = tomllib.loads(text_of(docs / "site" / "zensical.toml"))["project"]
    assert "figures/slider.js" in site["extra_javascript"]
    roles = {name: pages_of(part) for entry in site["nav"] for name, part in entry.items()}
    for role in ("Researcher", "Privacy engineer", "Author of a solver", "Maintainer"):
        assert linked[role] - {"theory.md"} == roles[role], role


# -- in a browser
# --------------------------------------------------------------------------------------------------

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>page</title>
<meta name="viewport" content="width=device-width"></head><body style="margin:0 .8rem"><p>
<img src="figures/budget.svg" alt="still"></p><p>after</p>
<script src="figures/slider.js"></script></body></html>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with the still picture and the two scripts, as a file."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "figures").mkdir()
    for name in ("budgets.js", "slider.js", "budget.svg"):
        shutil.copy(FIGURES / name, folder / "figures" / name)
    (folder / "index.html").write_text(PAGE)
    return folder / "index.html"


@pytest.fixture(scope="module")
def tab(browser):
    """A tab for all tests: opening one takes longer than most of them."""
    return Tab(browser)


@pytest.fixture
def shown(tab, page):
    """The page, just opened, wide and light; at the end there are no complaints, and
    no requests for anything but files.
    """
    tab.page.set_viewport_size({"width": 1280, "height": 800})
    tab.page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    tab.page.goto(page.as_uri())
    tab.page.wait_for_selector(".budget")
    yield tab.page
    assert tab.complaints == []


SHOWN = """() => {
  const share = (bar, way) => Number(bar.style.transform.match(/scale[XY]\\((.*)\\)/)[1]);
  const all = (selector) => [...document.querySelectorAll(`.budget ${selector}`)];
  return {
    words: Object.fromEntries(all("[data-word]").map((place) => [place.dataset.word, place.textContent])),
    beliefs: all(".beliefs .words").map((text) => text.textContent),
    valuetext: document.querySelector(".budget input").getAttribute("aria-valuetext"),
    guess: all(".plot .band.t1").map((bar) => share(bar)),
    strip: all(".plot .mark.t1").map((bar) => share(bar)),
    other: all(".plot .band.t0").map((bar) => share(bar)),
    posteriors: all(".beliefs .mark").map((bar) => share(bar)),
    labels: all(".plot .moving").map((text) => text.textContent),
    at: all(".curve circle").findIndex((mark) => getComputedStyle(mark).visibility === "visible"),
  };
}"""


def assert_shows(page, state):
    """The page shows this state and no other."""
    shown = page.evaluate(SHOWN)
    words = state["words"]
    assert shown["words"] == {
        name: words[name] for name in ("budget", "error", "bracket", "leakage", "summary")
    }
    assert (shown["beliefs"], shown["valuetext"], shown["at"]) == (
        words["beliefs"],
        words["budget"],
        state["step"],
    )
    inner = state["guess"][1:-1]
    assert shown["guess"] == shown["strip"] == pytest.approx(inner, abs=1e-5)
    assert shown["other"] == pytest.approx([1.0 - each for each in inner], abs=1e-5)
    assert shown["posteriors"] == pytest.approx(state["posteriors"], abs=1e-5)
    assert shown["labels"] == [label[-1] for label in state["labels"]]


def test_keys_move_the_slider_to_the_certified_numbers(shown, states):
    tab = shown
    last = len(states) - 1
    assert tab.query_selector("img") is None
    assert_shows(tab, states[40])
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.type") == "range"
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", (
        "the focus is not seen"
    )
    at = 40
    for key, to in {
        "Home": 0,
        "ArrowRight": 1,
        "PageUp": None,
        "End": last,
        "ArrowLeft": last - 1,
    }.items():
        tab.keyboard.press(key)
        at = int(tab.input_value("input")) if to is None else to
        assert_shows(tab, states[at])
    assert (
        tab.evaluate("document.querySelector('.budget [aria-live=polite]').textContent")
        == states[at]["words"]["summary"]
    )
    assert tab.get_by_role("slider", name="Leakage budget", exact=True).count() == 1
    assert (
        tab.locator("[aria-live=polite], output:not([aria-live=off]), [role=status]").count() == 1
    ), "a reader would hear several things at once"


def test_it_fits_a_screen_and_a_phone_and_stands_still_where_that_is_asked(shown):
    bottom = "(selector) => document.querySelector(selector).getBoundingClientRect().bottom"
    moving = "getComputedStyle(document.querySelector('.budget .band')).transitionDuration"
    assert shown.evaluate(bottom, ".budget") <= 640, (
        "with the heading of the page it has to fit into 800"
    )
    assert shown.evaluate(moving) != "0s"
    shown.set_viewport_size({"width": 390, "height": 844})
    shown.emulate_media(reduced_motion="reduce")
    assert shown.evaluate("document.documentElement.scrollWidth") == 390
    assert shown.evaluate(bottom, ".budget .beliefs") <= 540, (
        "with the heading of the page all but the curve has to fit"
    )
    sizes = shown.evaluate(
        "[...document.querySelectorAll('.budget text')].map((text) => "
        "text.getBoundingClientRect().height)"
    )
    assert min(size for size in sizes if size) >= 11.0, (
        "words in the drawings are too small to be read"
    )
    assert shown.evaluate(moving) == "0s"


def test_without_scripts_the_still_picture_stays(browser, page):
    tab = Tab(browser, java_script_enabled=False)
    tab.page.goto(page.as_uri())
    assert tab.page.get_attribute("img", "alt") == "still"
    assert tab.page.is_visible("img")
    assert tab.complaints == []
