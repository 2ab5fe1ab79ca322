"""The comparison and everything made of it: rows tell the judge's numbers, the page tells the rows', files are ours only."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.backends.solution import Status
from discreet.problems.errors import FileError, InputError
from discreet.problems.problem import Problem
from discreet.reports import wording
from discreet.reports.agreement import agreements, summarise
from discreet.reports.compare import Case, Comparison, Contestant, run_comparison
from discreet.reports.files import write_report
from discreet.reports.page import page
from discreet.reports.plots import Axis, bracket_charts, leakage_charts

FAKES = Path(__file__).parents[1] / "backends"
NAMES = ("fake-bayes", "fake-constant", "fake-crashes")
TRIAL = "fake-bayes=fake_backends:Bayes,fake-constant=fake_backends:Constant,fake-crashes=fake_backends:Crashes"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@pytest.fixture(scope="module")
def trial() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_BACKENDS", TRIAL)
        patch.syspath_prepend(str(FAKES))
        yield


@pytest.fixture(scope="module")
def model() -> Problem:
    joint = np.random.default_rng(8).dirichlet(np.full(2 * 2 * 9, 0.4)).reshape(2, 2, 9)
    return Problem.from_joint(joint, budget=math.inf, name="random")


@pytest.fixture(scope="module")
def comparison(trial: None, model: Problem) -> Comparison:
    cases = [
        Case("no <constraint> & more", model),
        Case("half", model.with_budget(0.5 * model.bayes_leakage)),
        Case("perfect", model.with_budget(0.0)),
    ]
    seen: list[tuple[int, int, str]] = []
    contestants = [Contestant("fake-bayes", {"knob": 1}), *map(Contestant, NAMES)]
    found = run_comparison(cases, contestants, time_limit=30, watch=lambda *news: seen.append(news))
    assert [done for done, _, _ in seen] == list(range(13))
    assert {total for _, total, _ in seen} == {12}
    return found


# -- rows -----------------------------------------------------------------------------------------------------------------


def test_a_row_for_every_attempt_also_of_those_that_crash(comparison: Comparison, model: Problem) -> None:
    assert comparison.contestants == ("fake-bayes:knob=1", *NAMES)
    assert len(comparison.rows) == 12
    by_key = {(row.case, row.contestant): row for row in comparison.rows}
    exact = by_key["no <constraint> & more", "fake-bayes"]
    assert exact.status is Status.CERTIFIED
    assert exact.own_error_probability == pytest.approx(model.bayes_error, rel=1e-14)
    leaky = by_key["half", "fake-bayes"]
    assert leaky.status is Status.VIOLATED_PRIVACY
    assert leaky.claimed == "optimal"
    assert leaky.leakage_ratio == pytest.approx(2.0, rel=1e-12)
    assert leaky.excess == pytest.approx(1.0, rel=1e-12)
    assert by_key["perfect", "fake-bayes"].excess == by_key["perfect", "fake-bayes"].own_phi_residual > 1e-3
    dead = by_key["half", "fake-crashes"]
    assert dead.status is Status.FAILED
    assert "exit code 3" in dead.message
    assert (dead.error_probability, dead.lower_bound, dead.relative_gap) == (math.inf, -math.inf, math.inf)
    assert comparison.uncertified_cases == ("half", "perfect")


def test_facts_hold_the_best_bracket(comparison: Comparison, model: Problem) -> None:
    for case in comparison.cases:
        rows = [row for row in comparison.rows_of(case.title) if row.answered]
        assert case.lower_bound == max(row.lower_bound for row in rows)
        assert case.upper_bound == min(row.error_probability for row in rows)
        assert model.bayes_error * (1 - 1e-12) <= case.optimum <= model.constant_error * (1 + 1e-12)


def test_the_record_is_strict_json(comparison: Comparison) -> None:
    record = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert len(record["rows"]) == 12
    assert record["rows"][3]["error_probability"] is None
    assert {row["status"] for row in record["rows"]} <= {status.value for status in Status}
    assert record["cases"][0]["budget_nats"] is None


def test_bad_plans_are_refused(trial: None, model: Problem) -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        run_comparison([])
    with pytest.raises(InputError, match="the problem 'a' is given twice"):
        run_comparison([Case("a", model), Case("a", model)])
    with pytest.raises(InputError, match="the backend 'highs' is given twice"):
        run_comparison([Case("a", model)], [Contestant("highs"), Contestant("highs")])
    with pytest.raises(InputError, match="there is no backend 'nobody'"):
        run_comparison([Case("a", model)], [Contestant("nobody")])
    with pytest.raises(InputError, match="no backend to compare"):
        run_comparison([Case("a", model)], [])


# -- agreement ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bracket:
    case: str
    contestant: str
    lower_bound: float
    error_probability: float
    answered: bool = True


brackets = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)


@given(st.lists(brackets, min_size=2, max_size=5))
def test_brackets_around_one_optimum_agree_and_disjoint_ones_do_not(ends: list[list[float]]) -> None:
    rows = [_Bracket("c", f"b{k}", *pair) for k, pair in enumerate(ends)]
    for pair in agreements(rows):
        one, other = rows[int(pair.first[1:])], rows[int(pair.second[1:])]
        common = [
            p for p in (one.lower_bound, other.lower_bound) if p <= min(one.error_probability, other.error_probability)
        ]
        assert pair.agree == (max(one.lower_bound, other.lower_bound) in common)
        assert pair.difference == abs(one.error_probability - other.error_probability)


def test_pairs_are_summed_up_over_the_cases_both_answered() -> None:
    rows = [
        _Bracket("c", "a", 0.1, 0.2),
        _Bracket("c", "b", 0.15, 0.3),
        _Bracket("d", "a", 0.1, 0.2),
        _Bracket("d", "b", 0.25, 0.3),
        _Bracket("e", "a", 0.1, 0.2),
        _Bracket("e", "b", -math.inf, math.inf, answered=False),
    ]
    summary = summarise(agreements(rows), ["a", "b"])
    assert summary["a", "b"] is summary["b", "a"]
    assert (summary["a", "b"].cases, summary["a", "b"].agreeing) == (2, 1)
    assert summary["a", "b"].largest_difference == pytest.approx(0.1)


def test_a_disagreement_is_said_in_words(comparison: Comparison) -> None:
    wrong = replace(comparison.agreements[0], agree=False)
    told = " ".join(wording.verdict(replace(comparison, agreements=(wrong,))))
    assert "exclude one another" in told
    assert "at least one certificate is wrong" in told


# -- words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (0.017376354412, 0.017376354439, "0.0173763544[120, 390]"),
        (0.25, 0.25, "0.250000000000"),
        (0.1, 0.4, "[0.1, 0.4]"),
        (0.0, 0.0, "0"),
        (-math.inf, math.inf, "–"),
        (0.0, 3e-40, "[0, 3e-40]"),
    ],
)
def test_brackets_share_their_digits(lower: float, upper: float, words: str) -> None:
    assert wording.bracket(lower, upper) == words


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_bracket_can_always_be_written(one: float, other: float) -> None:
    lower, upper = sorted((one, other))
    words = wording.bracket(lower, upper)
    assert words
    assert "nan" not in words
    assert "inf" not in words


def test_numbers_in_words() -> None:
    assert wording.scientific(3.2e-7) == "3.2·10⁻⁷"
    assert wording.scientific(1e-9) == "10⁻⁹"
    assert wording.scientific(0.58) == "0.58"
    assert wording.scientific(math.inf) == "–"
    assert [wording.seconds(v) for v in (0.0, 0.0123, 1.234, 12.34, 123.4)] == ["–", "0.012", "1.23", "12.3", "123"]
    assert "bits" in wording.budget(0.01)


# -- pictures -------------------------------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_the_axis_keeps_order_and_stays_inside(one: float, other: float) -> None:
    axis = Axis(-16, 2, two_sided=True)
    low, high = sorted((one, other))
    assert 0.0 <= axis.place(low) <= axis.place(high) <= 1.0
    assert axis.place(0.0) == 0.5
    assert axis.place(-one) == pytest.approx(1.0 - axis.place(one))


def test_every_chart_is_xml_with_a_line_for_every_row(comparison: Comparison) -> None:
    assert [chart.title for chart in leakage_charts(comparison)] == ["half", "perfect"]
    assert len(bracket_charts(comparison)) == 3
    for chart in (*leakage_charts(comparison), *bracket_charts(comparison)):
        root = ElementTree.fromstring(chart.svg())
        hints = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
        assert len(hints) == 4
        assert "fake-crashes: the process ended with exit code 3" in hints[-1]
        assert root.attrib["role"] == "img"


# -- the page -------------------------------------------------------------------------------------------------------------


class _Reader(HTMLParser):
    """Checks that elements nest, and collects the numbers of every results table by problem and backend."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.numbers: dict[tuple[str, str], dict[str, float]] = {}
        self.caption = self.backend = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [value for name in ("src", "href", "action") if (value := given.get(name))]
        if tag == "caption":
            self.caption = ""
        if given.get("data-backend"):
            self.backend = given["data-backend"] or ""
            self.numbers[self.caption, self.backend] = {}
        if tag == "data" and given.get("class"):
            self.numbers[self.caption, self.backend][given["class"] or ""] = float(given["value"] or "nan")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "caption":
            self.caption += data


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def _check_numbers(comparison: Comparison, reader: _Reader) -> None:
    assert set(reader.numbers) == {(row.case, row.contestant) for row in comparison.rows}
    for row in comparison.rows:
        told = reader.numbers[row.case, row.contestant]
        for name in ("error_probability", "relative_gap", "excess", "lower_seconds", "solve_seconds", "certify_seconds"):
            value = getattr(row, name)
            assert told.get(name, value) == value
            assert (name in told) == math.isfinite(value)


def test_the_page_tells_the_rows_numbers_and_needs_no_network(comparison: Comparison) -> None:
    html = page(comparison)
    reader = _read(html)
    _check_numbers(comparison, reader)
    assert all(address.startswith("#") for address in reader.addresses)
    assert "<script" not in html
    assert "no <constraint>" not in html
    assert "url(" not in html
    for sentence in wording.verdict(comparison):
        assert sentence.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in html


def test_the_page_in_a_real_browser(comparison: Comparison, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here: the page is checked by parsing only")
    (tmp_path / "index.html").write_text(page(comparison), encoding="utf-8")
    quiet = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    command = [browser, *quiet.split(), "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    try:
        done = subprocess.run(
            [*command, (tmp_path / "index.html").as_uri()], capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("Chromium did not start within a minute: the page is checked by parsing only")
    if done.returncode != 0:
        pytest.skip(f"Chromium does not run here (exit code {done.returncode}): the page is checked by parsing only")
    _check_numbers(comparison, _read(done.stdout))


# -- files ----------------------------------------------------------------------------------------------------------------


def test_a_report_is_written_twice_but_never_over_foreign_files(comparison: Comparison, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    first = write_report(comparison, folder)
    assert {path.name for path in first} == {"index.html", "leakage.svg", "brackets.svg", "comparison.json"}
    assert write_report(comparison, folder) == first
    for path in first[1:3]:
        ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert json.loads(first[3].read_text(encoding="utf-8"))["gap"] == comparison.gap
    (folder / "leakage.svg").write_text("<svg>mine</svg>")
    before = (folder / "index.html").stat().st_mtime_ns
    with pytest.raises(FileError, match=r"leakage\.svg was not made by discreet compare and is left alone"):
        write_report(comparison, folder)
    assert (folder / "leakage.svg").read_text() == "<svg>mine</svg>"
    assert (folder / "index.html").stat().st_mtime_ns == before
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in first)


def test_a_report_cannot_replace_a_file_or_follow_a_link(comparison: Comparison, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="is a file and a report needs a directory"):
        write_report(comparison, tmp_path / "file")
    (tmp_path / "index.html").symlink_to(tmp_path / "file")
    with pytest.raises(FileError, match="left alone"):
        write_report(comparison, tmp_path)
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(FileError):
        write_report(comparison, "a\0b")
