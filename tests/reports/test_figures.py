"""Figures: axes that show everything, ticks that are round, SVG that is well-formed."""

import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from refusals import raises_input_error

import discreet as ds
from discreet.reports.curve import curve_grid
from discreet.showing.figures import Figure, Series, extent, ticks
from discreet.showing.markdown import markdown
from discreet.showing.page import html
from discreet.showing.plane import DARK, LIGHT, WIDTH, Words, draw_figure
from discreet.showing.svg import LOOK_STYLE, standalone, svg
from discreet.showing.values import OneOf, Section, Table

NAMESPACE = {"s": "http://www.w3.org/2000/svg"}
FIGURE = Figure(
    name="all",
    title="Everything <&> more",
    subtitle="a subtitle",
    x_label="x",
    y_label="y",
    log_y=True,
    series=(
        Series(
            "a line",
            (0.0, 1.0, 2.0),
            (1.0, 0.1, 0.01),
            "line",
            0,
            (0.9, 0.09, 0.009),
            (1.1, 0.11, 0.011),
        ),
        Series(
            "points", (0.0, 1.0), (0.5, 0.05), "points", 1, (0.4, 0.04), (0.6, 0.06), ("i", "<k>")
        ),
        Series("both", (0.0, 2.0), (0.02, 0.03), "both", 2),
        *(Series(f"tone {tone}", (1.0,), (0.2,), "points", tone) for tone in (3, 4, 5)),
        Series("", (0.0, 2.0), (0.3, 0.3), "line", 5),
    ),
    description="what it shows",
)
CATEGORIES = Figure(
    name="categories",
    title="Categories",
    subtitle="",
    x_label="",
    y_label="",
    series=(Series("a", (0.0, 1.0), (0.3, 0.7), "points", 0, (0.2, 0.6), (0.4, 0.8)),),
    description="",
    categories=("one", "two"),
    y_range=(0.0, 1.0),
)


@given(st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_an_axis_shows_everything_and_its_ticks_lie_on_it(values, log, padded):
    low, high = ends = extent(values, log, padded=padded)
    assert low < high
    assert low <= min(values) * (1.0 + 1e-12)
    assert high >= max(values) * (1.0 - 1e-12)
    marks = ticks(ends, log)
    assert 1 <= len(marks) <= 9
    places = [place for place, _ in marks]
    assert places == sorted(places)
    assert all(low - 1e-6 * (high - low) <= place <= high + 1e-6 * (high - low) for place in places)
    assert len({words for _, words in marks}) == len(marks)


@pytest.mark.parametrize(
    "ends, log, words",
    [
        ((0.0, 1.0), False, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ((1.0, 30.0), False, ["5", "10", "15", "20", "25", "30"]),
        (
            (0.0, 1.2e-5),
            False,
            ["0", "0.2·10⁻⁵", "0.4·10⁻⁵", "0.6·10⁻⁵", "0.8·10⁻⁵", "1.0·10⁻⁵", "1.2·10⁻⁵"],
        ),
        ((1e-7, 0.2), True, ["10⁻⁶", "10⁻⁴", "0.01"]),
        ((0.06, 0.13), True, ["0.06", "0.08", "0.10", "0.12"]),
        ((-1.0, 1.0), False, ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
    ],
)
def test_ticks_are_round_numbers(ends, log, words):
    found = [word for _, word in ticks(ends, log)]
    assert found == words or set(words) <= set(found)


def test_an_axis_that_counts_has_whole_ticks():
    series = replace(FIGURE.series[0], x=(1.0, 2.0, 3.0, 4.0), y=(1.0,) * 4, low=(), high=())
    figure = replace(FIGURE, series=(series,), log_x=False)
    assert [words for _, words in figure.x_axis()[1]] == ["1", "2", "3", "4"]


def test_values_that_cannot_be_shown_are_left_out_of_the_ends():
    assert extent([0.0, 0.1, np.inf, np.nan], True, padded=False) == (0.05, 0.2)
    assert extent([], False, padded=True) == (0.5, 1.5)


@pytest.mark.parametrize("figure", [FIGURE, CATEGORIES], ids=lambda figure: figure.name)
def test_the_file_is_well_formed_and_says_what_it_shows(figure):
    root = ET.fromstring(standalone(figure))
    assert root.attrib["role"] == "img"
    assert figure.title in root.attrib["aria-label"]
    assert "prefers-color-scheme:dark" in standalone(figure)
    words = {text.text for text in root.iterfind(".//s:text", NAMESPACE)}
    assert figure.title in words
    assert {series.label for series in figure.series if series.label} <= words
    assert set(figure.categories) <= words
    hints = [title.text for title in root.iterfind(".//s:title", NAMESPACE)]
    assert hints == [hint for series in figure.series for hint in series.hints]
    assert "nan" not in standalone(figure)


def test_everything_stays_inside_the_box():
    for figure in (FIGURE, CATEGORIES):
        root = ET.fromstring(standalone(figure))
        width, height = map(float, root.attrib["viewBox"].split()[2:])
        for element in root.iter():
            for name, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
                if name in element.attrib and "%" not in element.attrib[name]:
                    assert 0.0 <= float(element.attrib[name]) <= most
        for path in root.iterfind(".//s:path", NAMESPACE):
            start = re.match(r"M([-\d.]+) ([-\d.]+)", path.attrib["d"])
            assert 0.0 <= float(start[1]) <= width
            assert 0.0 <= float(start[2]) <= height


def test_long_words_stay_inside_the_box():
    """Letters are some 5.6 wide at the size of ticks and subtitles."""
    long = Figure("long", "", "all the words of a long subtitle " * 5, "", "", log_x=True)
    pieces = draw_figure(replace(long, series=(Series("", (1e-16, 2e-16), (0.0, 1.0)),)))[1]
    words = [piece for piece in pieces if isinstance(piece, Words) and not piece.turned]
    assert sum(each.look == "soft" for each in words) > 3
    for each in words:
        share = {"start": 1.0, "middle": 0.5}.get(each.anchor, 0.0)
        assert each.place[0] + 5.6 * share * len(each.text) <= WIDTH


def test_inside_a_page_there_is_no_second_style_and_no_title():
    inside = svg(FIGURE, titled=False)
    assert "<style" not in inside
    assert ">a subtitle<" not in inside
    ET.fromstring(inside)


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("tones, ground", [(LIGHT, "#ffffff"), (DARK, "#161b22")])
def test_tones_stand_out_from_their_ground(tones, ground):
    for tone in tones:
        light, dark = sorted((luminance(tone), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_figure_is_saved_as_the_file_that_is_drawn(tmp_path):
    FIGURE.save(tmp_path / "all.svg")
    assert (tmp_path / "all.svg").read_text() == standalone(FIGURE)
    with pytest.raises(ds.FileError):
        FIGURE.save(tmp_path / "nowhere" / "all.svg")


def test_a_figure_is_saved_as_pdf(tmp_path):
    try:
        import cairosvg  # noqa: F401
    except (ImportError, OSError):
        pytest.skip("CairoSVG is not installed, or the library cairo")
    FIGURE.save(tmp_path / "all.pdf")
    content = (tmp_path / "all.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")


def test_a_pdf_without_its_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    with raises_input_error(r"discreet\[pdf\]"):
        FIGURE.save(tmp_path / "all.pdf")
    assert not (tmp_path / "all.pdf").exists()


def test_the_legend_shows_a_hollow_mark_as_the_plane_does():
    series = Series("by lot", (1.0,), (1.0,), "points", hollow=True)
    pieces = draw_figure(Figure("one", "", "", "", "", (series,)))[1]
    assert [piece.look for piece in pieces if piece.look in ("mark", "hollow")] == [
        "hollow",
        "hollow",
    ]


def test_the_picture_of_a_curve_shows_both_envelopes_and_every_point():
    curve = ds.frontier(ds.problems.paper_single(bins=16), points=6)
    budgets = [row.budget for row in curve.rows]
    figure = curve.plot()
    band, solved, bayes = figure.series
    assert (np.array(band.low) <= np.array(band.high)).all()
    assert list(solved.x) == budgets
    assert len(solved.hints) == len(budgets)
    assert bayes.y[0] == curve.bayes_error_probability
    grid = curve_grid(curve)
    assert set(curve.envelope.vertices[:, 0]) <= set(grid)
    assert (grid[0], grid[-1]) == (0.0, curve.envelope.horizon)
    ET.fromstring(standalone(figure))


PUBLISHED = [
    path for folder in ("docs", "reports") for path in sorted((ROOT / folder).rglob("*.svg"))
]
RULE = re.compile(r"\.\w+ \.?([\w.]+)\{([^}]*)\}")


def light_style(text):
    """The style sheet of an SVG file as programs read it that skip at-rules."""
    return re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1].partition("@supports")[0]


def unpainted(text):
    """The elements of an SVG file to which a program that knows no CSS variables gives no colour,
    or black, as no rule for the element itself says what fills it.
    """
    rules = [(set(names.split(".")), body) for names, body in RULE.findall(light_style(text))]
    found = set()
    for element in ET.fromstring(text).iter():
        kind = element.tag.rpartition("}")[2]
        own = {kind, *element.get("class", "").split()}
        looks = ";".join(body for names, body in rules if names <= own)
        painted = "fill:" in looks and re.search(r"\b(fill|stroke):#[0-9a-f]{3,6}\b", looks)
        if kind in ("path", "circle", "rect", "text") and not painted:
            found.add(ET.tostring(element, encoding="unicode"))
    return found


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_published_picture_is_painted_by_programs_that_know_no_css_variables(path):
    text = path.read_text()
    assert "var(" not in light_style(text)
    assert not unpainted(text)


def test_a_picture_in_css_variables_is_noticed():
    assert len(unpainted(f"{svg(FIGURE, style=LOOK_STYLE)}")) > 20


def test_a_medium_without_choice_and_folding_shows_the_first_section_and_no_folded_table():
    first, other = (
        Section(title, [Table(title, ("a", "b"), [("x", "1")]), f"text of {title}"])
        for title in ("first", "second")
    )
    folded = Table("folded", ("a", "b"), [("y", "2")], folded=True)
    choice = OneOf("which", "Which", [first, other])
    parts = [choice, folded, Table("empty", ("a",), []), OneOf("none", "None", [])]
    text = markdown(parts)
    assert "text of first" in text
    assert "second" not in text
    assert "folded" not in text
    assert "empty" not in text
    page = html(parts)
    assert "text of first" in page
    assert "second" not in page
    assert "<details><summary>folded</summary>" in page
    assert "empty" not in page
