"""What things show in a notebook: cards of HTML, pictures and tables, all of one kind; and short
reprs.
"""

import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from command import solving_here
from refusals import raises_input_error

import discreet as ds
from discreet.problems import paper_single
from discreet.reports import Case, Configuration, run_comparison
from discreet.showing.figures import Figure

EVIL = '<script>alert("&")</script>$\\frac$'
KINDS = ("problem", "secrets", "solution", "certificate", "frontier", "comparison", "evaluation")


@pytest.fixture(scope="module")
def things():
    """One of each kind, with markup in every name."""
    problem = paper_single(bins=16, budget=0.003).titled(EVIL)
    rng = np.random.default_rng(0)
    group = rng.choice([EVIL, "m"], 400)
    truth = rng.choice(["high", EVIL], 400)
    with pytest.MonkeyPatch.context() as patch:
        solving_here(patch)
        solution = ds.solve(problem)
        return {
            "problem": problem,
            "secrets": ds.problems.catalog.build("census", secrets=2).titled(EVIL),
            "solution": solution,
            "certificate": solution.certificate,
            "frontier": ds.frontier(problem, points=4),
            "comparison": run_comparison(
                [Case(EVIL, problem)], [Configuration("tilt"), Configuration("blahut-arimoto")]
            ),
            "evaluation": ds.evaluate(truth, None, truth, sensitive_features=group),
        }


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}
        if tag not in ("br", "wbr", "circle", "path", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("circle", "path", "rect"):
            assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_loads_nothing_and_escapes_every_name(things, kind):
    card = things[kind]._repr_html_()
    reader = _Reader()
    reader.feed(card)
    assert reader.open == []
    assert "script" not in reader.seen
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", card)
    assert kind == "certificate" or "&lt;script&gt;" in card
    words = re.sub(r"<style>.*?</style>|<[^>]*>", " ", card, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None)\b", words)


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_a_figure_of_the_one_writer(things, kind, tmp_path):
    figure = things[kind].plot()
    assert isinstance(figure, Figure)
    assert figure.title
    assert figure.series
    figure.save(tmp_path / "it.svg")
    assert ET.parse(tmp_path / "it.svg").getroot().tag.endswith("svg")
    reader = _Reader()
    reader.feed(figure._repr_html_())
    assert "script" not in reader.seen


def test_the_line_of_a_rule_parts_its_guesses(things):
    solution = things["solution"]
    problem = solution.problem
    *_, line = solution.plot().series
    (left, right) = line.x
    (low, high) = line.y
    across = problem.p_xz[1] / problem.p_z
    up = (problem.loss[0] - problem.loss[1]) / problem.p_z
    above = up - (low + (high - low) * (across - left) / (right - left))
    sure = solution.estimator.max(axis=0) > 0.999
    assert ((above > 0.0) == (solution.estimator[1] > 0.5))[sure].all()


@pytest.mark.parametrize(
    "kind, rows, columns",
    [
        ("problem", 16, ["probability", "x=0", "x=1", "loss of guess 0", "loss of guess 1"]),
        ("solution", 16, ["probability", "guess 0", "guess 1"]),
        ("certificate", 1, ["lower", "upper", "phi_residual"]),
        ("frontier", 4, ["budget_nats", "lower", "upper"]),
        ("comparison", 2, ["case", "contestant", "status"]),
        ("evaluation", None, ["what", "group", "guess", "estimate", "low", "high"]),
    ],
)
def test_a_table_of_pandas(things, kind, rows, columns):
    frame = things[kind].to_frame()
    assert len(frame) == rows or (rows is None and len(frame) > 12)
    assert list(frame.columns)[: len(columns)] == columns
    assert frame.to_csv()


def test_tables_hold_the_numbers(things):
    problem = things["problem"]
    solution = things["solution"]
    curve = things["frontier"]
    table = solution.to_frame()
    assert (table[["guess 0", "guess 1"]].to_numpy().T == solution.estimator).all()
    told = problem.to_frame()
    assert np.allclose(told["probability"] * told["x=1"], problem.p_xz[1], rtol=1e-15)
    assert curve.to_frame()["upper"].tolist() == [row.upper for row in curve.rows]


def test_without_its_extra_it_says_what_to_install(things, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for thing in things.values():
        with raises_input_error(r'^to_frame needs pandas.* pip install "discreet\[data\]"'):
            thing.to_frame()


def test_columns_and_pictures_have_the_names_of_a_table():
    table = {
        "sex": ["f", "m"] * 60,
        "age": [k % 3 for k in range(120)],
        "paid": ["no", "yes", "yes"] * 40,
    }
    problem = ds.Problem.from_frame(table, hide="sex", guess="paid", budget=0.01, bins=None)
    columns = ["probability", "sex=f", "sex=m", "loss of paid=no", "loss of paid=yes"]
    assert list(problem.to_frame().columns) == columns
    solution = ds.solve(problem)
    assert list(solution.to_frame().columns) == ["probability", "paid=no", "paid=yes"]
    assert solution.plot().x_label == "p(sex=m given the outcome)"


def test_what_has_no_matrix_says_so():
    refused = ds.solve(paper_single(bins=400, budget=0.01), backend="slsqp")
    assert refused.verdict is None
    assert "unsupported" in refused._repr_html_()
    for show in (refused.plot, refused.to_frame):
        with raises_input_error("400"):
            show()
    continuous = replace(refused, problem=ds.problems.paper_continuous(budget=0.01))
    for show in (continuous.plot, continuous.to_frame):
        with raises_input_error(r"problem.on\(edges\)"):
            show()


def test_a_bar_shows_what_runs_and_goes(capsys):
    with ds.progress() as watch:
        curve = ds.frontier(paper_single(bins=4, budget=0.003), points=3, watch=watch)
    assert len(curve.rows) == 3
    assert capsys.readouterr().out == ""
