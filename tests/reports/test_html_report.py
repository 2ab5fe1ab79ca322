"""The page of `discreet report`: one file, nothing loaded; in a real browser it shows the
statistics of what is chosen.
"""

import json
import re
from dataclasses import replace
from functools import cache
from itertools import chain
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
from discreet.reports.statistics.trials import trials
from discreet.showing import numerals
from discreet.showing.page import MARK
from discreet.showing.svg import svg

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
    page = report_page(ROWS)
    assert page.count("</script>") == 3
    assert "\\u003c/script>" in page


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
    for name, figure in (
        ("leakage", leakage_figure(rows, counted=False)),
        ("perfect", perfect_figure(rows, counted=False)),
        ("precision", precision_figure(rows, tones(trials(rows)))),
    ):
        if not figure.series:  # none of the rows is at perfect privacy and says how private
            assert data[name] is None
            continue
        text = svg(figure, titled=False, legend=bool(figure.rows), live=True)
        assert [lines[k] for k in data[name]["lines"]] == text.splitlines()


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

    def numbers(self):
        """The statistics behind what is shown under the filters."""
        return json.loads(self.tab.evaluate("JSON.stringify(discreetNumbers())"))

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
DRAWN = {"leaks", "work_precision", "performance", "data"}  # shown as figures


def chosen_numbers(rows):
    """Return the numbers that the page must show for a choice that leaves these rows."""
    return {
        name: numerals.in_words(value)
        for name, value in report_numbers(rows).items()
        if name not in DRAWN
    }


def said_numbers(screen):
    """Return the numbers that it shows, apart from figures."""
    numbers = {name: value for name, value in screen.numbers().items() if name not in DRAWN}
    for sweep in numbers["sweeps"]:
        del sweep["figure"]
    del numbers["agreement"]["said"], numbers["means"]["noise"]
    return numbers


def in_the_end(profiles):
    """Configuration -> the share that its profile reaches."""
    return {
        each["contestant"]: numerals.in_words(each["shares"][-1] if each["shares"] else 0.0)
        for each in profiles
    }


def said_in_the_end(part):
    """Return the shares that the page shows."""
    return {line["contestant"]: line["shares"][-1] for line in part["lines"]}


def test_every_choice_shows_the_statistics_of_its_rows(opened, some):
    screen = opened(some)
    rows = some_measurements()
    assert said_numbers(screen) == chosen_numbers(rows)
    for words, kept in VIEWS.items():
        screen.view(words)
        left = [row for row in rows if kept(row)]
        assert said_numbers(screen) == chosen_numbers(left), words
        for name in ("performance", "data"):
            assert said_in_the_end(screen.numbers()[name]) == in_the_end(report_numbers(left)[name])
        assert screen.tab.inner_text("#shown") == f"{len(left)} of {len(rows)} attempts"
        wanted = report_numbers(left)
        columns = ("contestant", "attempts", "claims", "true_claims")
        assert [line[:5] for line in screen.cells("#claims .body > .scroll")] == [
            [*(str(row[name]) for name in columns), numerals.in_words(row["correct_rate"])]
            for row in wanted["claims"]
        ]
        assert len(screen.cells("#failures > .body > .scroll")) == sum(
            group["status"] not in ("unsupported", "absent") for group in wanted["failures"]
        )
        for section, part in (("claims", "leaks"), ("precision", "work_precision")):
            marks = screen.tab.query_selector_all(f"#{section} .stage [data-row]:not([hidden])")
            assert len(marks) == len(wanted[part])


def test_other_backends_are_left_out_and_change_no_number(opened, some):
    screen = opened(some)
    wanted = chosen_numbers(some_measurements())
    screen.view("label=tilt&label=conic%3Asolver%3Dscs")
    shown = screen.numbers()
    names = {"tilt", "conic:solver=scs"}
    lines = shown["performance"]["lines"], shown["data"]["lines"]
    fits = (sweep[part] for sweep in shown["sweeps"] for part in ("series", "fits"))
    assert {each["contestant"] for each in chain(*lines)} == names
    assert {each["contestant"] for each in chain(*fits)} == names
    for part in ("ranking", "claims", "precision", "failures"):
        assert shown[part] == [each for each in wanted[part] if each["contestant"] in names]
    means = [mean for mean in wanted["means"]["rows"] if mean["contestant"] in names]
    assert shown["means"]["rows"] == means
    (pair,) = (
        each for each in wanted["agreement"]["pairs"] if {each["first"], each["second"]} == names
    )
    assert screen.cells("#agreement .matrix")[0][2].startswith(
        f"{pair['agreeing']} of {pair['cases']}\n"
    )


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
    before = screen.numbers()
    marks = "#growth figure >> nth=0 >> .stage .mark:not([hidden])"
    count = len(screen.tab.query_selector_all(marks))
    screen.tab.click("#growth button.key >> text=conic >> nth=0")
    assert len(screen.tab.query_selector_all(marks)) < count
    assert screen.numbers() == before


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
    assert "Skipped on every commit: 1 more point" in screen.tab.text_content("#commits")
    assert opened(ROWS).tab.query_selector("#commits") is None
    assert "one commit only" in opened(ROWS, asv=COMMITS[:2]).tab.inner_text("#commits")
