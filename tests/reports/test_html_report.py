"""The page of `discreet report`: one file, nothing loaded; in a real browser it shows the
statistics of what is chosen.
"""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from browser import Tab
from measured import HOME, ORIGIN, answer, timeout
from refusals import raises_file_error, raises_input_error

from discreet import Status
from discreet.reports.asv_results import AsvRecord
from discreet.reports.html import interactive, report_numbers, report_page, write_report
from discreet.reports.html.interactive import SCRIPTS, clean_rows
from discreet.reports.measurements import reference_measurements
from discreet.reports.pictures import leakage_figure, perfect_figure, precision_figure, tones
from discreet.reports.sections import HEADINGS, report_sections
from discreet.reports.statistics.agreement import agreements, summarise
from discreet.reports.statistics.numbers import statistics_of
from discreet.reports.statistics.trials import control_of, trials
from discreet.showing import numerals
from discreet.showing.page import MARK
from discreet.showing.svg import svg
from discreet.showing.values import OneOf, Table

FOLDER = Path(interactive.__file__).parent
SECTIONS = (
    "ranking",
    "claims",
    "problems",
    "growth",
    "precision",
    "profiles",
    "means",
    "agreement",
    "failures",
    "limitations",
    "origin",
)


def row(backend, size, seconds, *, repeat=0, make=answer, **fields):
    """A row with what the page shows."""
    return make(
        backend,
        size,
        seconds,
        problem=f"{HOME}/models/multi:sensors={size}",
        entry="paper-multi",
        parameters={"sensors": size},
        outcomes=size * size,
        repeat=repeat,
        message="words </script> of mine",
        started=f"2026-01-02T03:04:0{repeat}Z",
        samples=(9.0, seconds, 1.1 * seconds, 0.9 * seconds),
        **ORIGIN,
        **fields,
    )


ROWS = [
    *(row("tilt", k, 1e-3 * k**1.5, repeat=repeat) for k in (2, 4, 8, 16, 32) for repeat in (0, 1)),
    *(row("conic", k, 2e-4 * k**3.0, ratio=10.0**k / 1e5) for k in (2, 4, 8, 16, 32)),
    row("conic", 64, 0.0, make=timeout, status=Status.FAILED),
    row("slow", 2, 0.0, make=timeout, status=Status.UNSUPPORTED),
]
COMMITS = [
    AsvRecord(
        "bins.Bins.time_solve",
        (("backend", backend),),
        f"{k}" * 40,
        f"2026-01-0{k}T00:00:00+00:00",
        "bench",
        "measured",
        k * 0.1,
        k * 0.09,
        k * 0.11,
        "seconds",
    )
    for k in (1, 2, 3)
    for backend in ("tilt", "conic")
]


# -- the file
# --------------------------------------------------------------------------------------------------


def test_equal_rows_give_equal_pages_in_any_order():
    assert report_page(ROWS) == report_page(list(reversed(ROWS)))


def test_no_folder_no_name_and_no_traceback_gets_in():
    page = report_page(ROWS)
    assert "someone" not in page
    assert "secret" not in page


def test_the_page_names_no_address_but_that_of_svg(shipped):
    page = shipped.read_text()
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert "unsafe" not in page


def test_words_of_a_row_cannot_end_the_data():
    page = report_page([replace(each, message="<!-- <script> </script>") for each in ROWS])
    assert page.count("</script>") == 3
    assert page.count("<!--") == 1  # the mark of the page
    data, _ = carried(page)
    assert "<!-- <script> </script>" in data["rows"]["columns"]["message"]["values"]


def test_every_script_of_the_folder_is_on_the_page_once():
    assert sorted(SCRIPTS) == sorted(path.name for path in FOLDER.glob("*.js"))


def carried(page):
    """The data of a page and its lines of SVG."""
    data, lines = (
        re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL) for name in ("data", "lines")
    )
    return json.loads(data[1]), lines[1].split("\n")


def test_the_figures_of_the_page_are_those_of_the_writer():
    data, lines = carried(report_page(ROWS))
    rows = clean_rows(ROWS)
    drawn = {each["title"]: each["lines"] for each in data["figures"]}
    # None of the rows is at perfect privacy and says how private.
    assert perfect_figure(rows).title not in drawn
    for figure in (
        leakage_figure(rows, counted=False),
        precision_figure(rows, tones(trials(rows))),
    ):
        text = svg(figure, titled=False, legend=bool(figure.rows), live=True)
        assert [lines[k] for k in drawn[figure.title]] == text.splitlines()


def test_no_line_of_a_figure_is_carried_twice():
    _, lines = carried(report_page(ROWS))
    assert len(lines) == len(set(lines))


def test_the_scripts_write_no_number_and_know_no_scale():
    words = r"toFixed|toPrecision|toExponential|toLocaleString|Math\.log|Intl\."
    for name in SCRIPTS:
        assert not re.findall(words, (FOLDER / name).read_text()), name


def test_a_page_is_replaced_and_a_foreign_file_is_not(tmp_path):
    page = write_report(ROWS, tmp_path / "page.html")
    assert MARK in page.read_text()
    assert write_report(ROWS[:5], page) == page
    foreign = tmp_path / "mine.html"
    foreign.write_text("<p>mine</p>")
    with raises_file_error(foreign.name):
        write_report(ROWS, foreign)
    assert foreign.read_text() == "<p>mine</p>"
    with raises_file_error("folder"):
        write_report(ROWS, tmp_path)
    with raises_file_error(r"no/such/page.html"):
        write_report(ROWS, tmp_path / "no" / "such" / "page.html")
    with raises_input_error("no measurements"):
        write_report([], tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


# -- in a browser
# --------------------------------------------------------------------------------------------------


class Screen:
    """One page in a tab of a given width in pixels."""

    def __init__(self, tab, path, width):
        self.tab = tab.page
        self.tab.set_viewport_size({"width": width, "height": 800})
        self.tab.goto("about:blank")
        self.tab.goto(path.as_uri())

    def view(self, words):
        """Changes the address to that of another view; the page has drawn it when this returns."""
        heard = "addEventListener('hashchange', () => done(), { once: true })"
        self.tab.evaluate(
            f"words => new Promise(done => {{ {heard}; location.hash = words; }})", words
        )

    def tables(self, place=".part"):
        """The lines of every table in a place, also of folded ones, without what is hidden."""
        shown = "each => !each.hidden"
        words = "cell => cell.textContent"
        lines = f"table => [...table.tBodies[0].rows].filter({shown})"
        cells = f"row => [...row.cells].filter({shown}).map({words})"
        return self.tab.eval_on_selector_all(
            f"{place} table", f"all => all.map(table => ({lines})(table).map({cells}))"
        )

    def cells(self, table):
        """The words of a table's body."""
        found = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
        return list(self.tab.eval_on_selector_all(f"{table} tbody tr", found))


@pytest.fixture(scope="module")
def usual(browser):
    """The tab of pages without settings of their own: opening one takes longer than
    most pages do.
    """
    return Tab(browser)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The page of the shipped results."""
    return write_report(reference_measurements(), tmp_path_factory.mktemp("shipped") / "page.html")


@cache
def some_measurements():
    """Real rows of four backends, of every family: their page is drawn sooner than a page of all
    rows.
    """
    names = ("tilt", "blahut-arimoto", "slsqp", "conic:solver=scs")
    return [row for row in clean_rows(reference_measurements()) if row.label in names]


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    """The page of these rows."""
    return write_report(some_measurements(), tmp_path_factory.mktemp("some") / "page.html")


@pytest.fixture
def opened(browser, usual, shipped, tmp_path):
    """Opens a page, or one of rows; at the end there are no complaints and no requests."""
    tabs = [usual]

    def opening(rows=shipped, *, asv=(), width=1100, **settings):
        if settings:
            tabs.append(Tab(browser, **settings))
        page = (
            rows if isinstance(rows, Path) else write_report(rows, tmp_path / "page.html", asv=asv)
        )
        return Screen(tabs[-1] if settings else usual, page, width)

    yield opening
    for tab in tabs[1:]:
        tab.page.close()
    complaints = [said for tab in tabs for said in tab.complaints]
    usual.complaints.clear()
    assert complaints == []


VIEWS = {
    "family=paper": lambda row: row.family == "paper",
    "family=paper&family=survey": lambda row: True,  # one or all
    "profile=default&regime=perfect": lambda row: (
        row.profile == "default" and row.regime == "perfect"
    ),
    "family=sensors&profile=coarse&regime=perfect": lambda row: False,
}


def tables_in(parts):
    """The lines of the tables of a section, of a choice those of the first offer."""
    for part in parts:
        match part:
            case OneOf():
                yield from tables_in(part.sections[0].parts)
            case Table():
                if part:
                    yield [list(map(str, line)) for line in part.lines]


@cache
def figures_of_some():
    """The figures that do not depend on the choice, and the tones."""
    rows = some_measurements()
    tone = tones(trials(rows))
    return tone, (leakage_figure(rows), perfect_figure(rows)), precision_figure(rows, tone)


def chosen_tables(rows):
    """The tables that the page must show for a choice that leaves these rows."""
    control = control_of(some_measurements())
    sections = report_sections(statistics_of(rows, control), *figures_of_some())
    return {name: list(tables_in(parts)) for name, parts in sections.items()}


def said_tables(screen):
    """The tables that it shows, apart from those of single attempts."""
    named = (name for name in HEADINGS if name not in ("problems", "commits"))
    return {name: screen.tables(f"#{name} .part") for name in named}


def test_every_choice_shows_the_statistics_of_its_rows(opened, some):
    screen = opened(some)
    rows = some_measurements()
    assert said_tables(screen) == chosen_tables(rows)
    for words, kept in VIEWS.items():
        screen.view(words)
        left = [row for row in rows if kept(row)]
        assert said_tables(screen) == chosen_tables(left), words
        assert screen.tab.inner_text("#shown") == f"{len(left)} of {len(rows)} attempts"


def test_other_backends_are_left_out_and_change_no_number(opened, some):
    screen = opened(some)
    names = {"tilt", "conic:solver=scs"}
    others = {row.label for row in some_measurements()} - names
    wanted = {
        name: [
            kept for table in tables if (kept := [line for line in table if not others & {*line}])
        ]
        for name, tables in chosen_tables(some_measurements()).items()
    }
    screen.view("label=tilt&label=conic%3Asolver%3Dscs")
    shown = {name: [*filter(None, tables)] for name, tables in said_tables(screen).items()}
    (matrix,) = shown.pop("agreement")
    assert shown == {name: tables for name, tables in wanted.items() if name != "agreement"}
    pairs = summarise(agreements(some_measurements()))
    (pair,) = (each for each in pairs if {each.first, each.second} == names)
    assert [pair.agreeing] == [int(cell.partition("/")[0]) for cell in matrix[0][1:] if cell]


def test_clicking_filters_changes_every_number_shown(opened, some):
    rows = some_measurements()
    screen = opened(some)
    tab = screen.tab
    tab.click("#unfold")
    tab.click("#filters >> text=random")
    tab.click("text=blahut-arimoto >> nth=0")
    left = [each for each in rows if each.family == "random" and each.label != "blahut-arimoto"]
    wanted = report_numbers(left)
    assert tab.inner_text("#shown") == f"{len(left)} of {len(rows)} attempts"
    columns = ("contestant", "attempts", "claims", "true_claims")
    (claims,) = screen.tables("#claims .part")
    assert [line[:5] for line in claims] == [
        [*(str(row[name]) for name in columns), numerals.in_words(row["correct_rate"])]
        for row in wanted["claims"]
    ]
    assert len(screen.tables("#failures .part")[0]) == sum(
        group["status"] not in ("unsupported", "absent") for group in wanted["failures"]
    )
    for section, part in (("claims", "leaks"), ("precision", "work_precision")):
        marks = tab.query_selector_all(f"#{section} .stage [data-row]:not([hidden])")
        assert len(marks) == len(wanted[part])
    tab.click("#reset")
    assert tab.inner_text("#shown") == f"{len(rows)} of {len(rows)} attempts"
    assert "#" not in tab.url


def test_a_view_is_an_address(opened, some):
    screen = opened(some)
    tab = screen.tab
    tab.click("#unfold")
    tab.click("#filters >> text=random")
    tab.click("#reset")
    assert "#" not in tab.url
    tab.click("#filters >> text=random")
    tab.click("#claims button.key >> text=slsqp")
    tab.select_option("#show-outcomes", index=1)
    tab.click("#theme")
    address = tab.url
    shown = tab.inner_text("#shown")
    chosen = tab.input_value("#show-outcomes")
    tab.goto("about:blank")
    tab.goto(address)
    assert tab.inner_text("#shown") == shown
    assert tab.input_value("#show-outcomes") == chosen
    assert tab.get_attribute("html", "data-theme") == "dark"
    assert tab.get_attribute("#claims [data-key=slsqp]", "aria-pressed") == "false"
    screen.view("family=nobody&label=&theme=pink&hide=nobody")  # what is not known is passed over
    assert tab.inner_text("#shown").startswith("0 of ")


def test_hiding_a_backend_hides_its_marks_and_keeps_the_numbers(opened):
    screen = opened(ROWS)
    before = said_tables(screen)
    marks = "#growth figure >> nth=0 >> .stage .mark:not([hidden])"
    count = len(screen.tab.query_selector_all(marks))
    screen.tab.click("#growth button.key >> text=conic >> nth=0")
    assert len(screen.tab.query_selector_all(marks)) < count
    assert said_tables(screen) == before


def test_empty_filters_leave_a_sentence_in_every_section(opened):
    screen = opened(ROWS)
    screen.view("label=")
    for section in SECTIONS:
        sentence = ".body li" if section == "limitations" else ".empty"
        assert screen.tab.query_selector(f"#{section} {sentence}") is not None, section
        assert screen.tab.query_selector(f"#{section} table") is None, section
    assert screen.tab.query_selector("#limitations li") is not None


def test_the_row_behind_a_mark_is_told_by_pointer_and_by_keyboard(opened):
    tab = opened(ROWS).tab
    tab.locator("#claims .stage svg").scroll_into_view_if_needed()
    tab.locator("#claims .stage .mark").last.hover(force=True)
    assert "×" in tab.inner_text("#tip")
    tab.mouse.move(1, 1)
    assert tab.is_hidden("#tip")
    tab.focus("#growth .stage svg >> nth=1")
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "Home"):
        tab.keyboard.press(key)
        told.append(tab.inner_text("#tip"))
    assert told[0] == told[4] != told[1]
    assert "tilt" in told[0]
    assert "conic" in told[2]
    assert "conic" in told[3]
    tab.keyboard.press("Escape")
    assert tab.is_hidden("#tip")


def test_everything_is_reached_and_worked_by_keyboard(opened):
    tab = opened(ROWS).tab
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.focus("#unfold")
    tab.keyboard.press("Enter")
    assert tab.get_attribute("#unfold", "aria-expanded") == "true"
    tab.focus("#filters input[value=conic]")
    tab.keyboard.press("Space")
    assert tab.inner_text("#shown").startswith("11 of 17")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.evaluate(outline) == "solid"
    where = (
        "(e => e.closest('section')?.id + ' ' + e.tagName.toLowerCase())(document.activeElement)"
    )
    shown = f"document.activeElement === document.body || {outline} === 'solid'"
    passed = set()
    for _ in range(120):
        tab.keyboard.press("Tab")
        place, seen = tab.evaluate(f"[{where}, {shown}]")
        assert seen, place
        passed.add(place)
    assert {
        "claims svg",
        "growth select",
        "profiles svg",
        "claims button",
        "means div",
        "growth summary",
    } <= passed


def test_a_column_without_a_value_is_left_out(opened):
    heads = opened(ROWS).tab.locator("#ranking thead th").all_inner_texts()
    assert "mutual information" in heads
    assert not {"budget 0", "no constraint"} & set(heads)


def test_sizes_that_nobody_varied_are_one_sentence(opened):
    screen = opened(ROWS[:1])
    assert screen.tab.locator("#growth .empty").count() == 1
    assert screen.tab.locator("#growth h3").count() == 0


def test_a_phone_is_wide_enough(opened):
    tab = opened(width=380).tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= 380
    tab.click("#unfold")
    tab.eval_on_selector_all("details", "all => all.forEach(each => { each.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 380


def test_a_phone_is_wide_enough_for_long_names_of_benchmarks(opened):
    long = [replace(each, benchmark=f"bench_{'x' * 80}.time_solve") for each in COMMITS]
    tab = opened(ROWS, asv=long, width=380).tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= 380


def test_results_of_asv_are_drawn_over_commits_and_only_then(opened):
    screen = opened(ROWS, asv=COMMITS)
    assert screen.tab.query_selector_all("#commits .stage svg") is not None
    assert len(screen.tab.query_selector_all("#commits .stage .mark")) == 6
    screen.tab.click("#commits summary")
    assert screen.cells("#commits details")[1] == ["backend=tilt", "bench", "0.1", "0.2", "0.3"]
    unasked = [
        replace(each, parameters=(("backend", "auto"),), outcome="skipped", value=float("nan"))
        for each in COMMITS[::2]
    ]
    screen = opened(ROWS, asv=[*COMMITS, *unasked])
    assert len(screen.cells("#commits details")) == 2
    assert "skipped on every commit: 1" in screen.tab.text_content("#commits")
    assert opened(ROWS).tab.query_selector("#commits") is None
    assert "one commit only" in opened(ROWS, asv=COMMITS[:2]).tab.inner_text("#commits")
