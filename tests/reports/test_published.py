"""The snapshot: equal rows give equal bytes, no path gets in, the pictures are well-formed and say
what the tables say.
"""

import csv
import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from measured import HOME, ORIGIN, answer, timeout
from refusals import raises_file_error, raises_input_error

from discreet import Status
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord
from discreet.reports.pictures import leakage_figure, perfect_figure
from discreet.reports.published import NAMES, publish


def row(*given, make=answer, **fields):
    """A row with what a snapshot shows."""
    return make(*given, started="2026-01-02T03:04:05", **ORIGIN, **fields)


ROWS = [
    *(row("tilt", 10**k, 1e-3 * 3.0**k) for k in range(1, 6)),
    *(row("conic", 10**k, 1e-3 * 9.0**k, ratio=10.0**k / 100.0) for k in range(1, 5)),
    row(
        "conic",
        10**5,
        2.0,
        make=timeout,
        status=Status.FAILED,
        message=f"no progress after 12 steps | in {HOME}/x.py",
    ),
]


def test_equal_rows_give_equal_bytes_in_any_order(tmp_path):
    publish(ROWS, tmp_path / "a")
    publish(list(reversed(ROWS)), tmp_path / "b")
    for path in publish(ROWS, tmp_path / "a"):  # and again over what was made here
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
        assert path.name in NAMES
        text = path.read_text()
        assert "someone" not in text
        assert "secret" not in text


def test_the_page_says_what_was_measured(tmp_path):
    publish(ROWS, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert page.index("| tilt | 5 | 5 | 0 | 1 |") < page.index("| conic | 2 | 5 | 2 | 5.2 |")
    assert page.index("| conic | 2 | 5 |") < page.index("leakage.svg")
    assert "## Limitations" in page
    assert "| conic | 5 | 4 | 2 | 0.5 | 2 | 100 | 0 |" in page  # none was at budget 0
    assert "| tilt | 5 | 5 | 5 | 1 | 0 | 0.5 | 0 |" in page
    assert "Exponents of time by outcomes N:\n\n" in page
    assert "| tilt | 0.477 | 0.477 | 0.477 | 4 |" in page
    assert "no progress after # steps \\| in …" in page
    certified = sum(row.certified for row in ROWS)
    assert f"discreet verify checked 0 of {certified} certified answers and contradicts 0." in page
    for words in ("2026-01-02", "processor: fast", "abcdef012345", "numpy 2.0"):
        assert words in page
    for picture in ("leakage", "time-outcomes", "performance", "data", "precision"):
        assert f"({picture}.svg)" in page


def test_the_pictures_are_well_formed_and_name_every_backend(tmp_path):
    for path in publish(ROWS, tmp_path):
        if path.suffix == ".svg":
            text = "".join(ET.parse(path).getroot().itertext())
            assert "tilt" in text
            assert "conic" in text
    leakage = (tmp_path / "leakage.svg").read_text()
    assert "2 of 4" in leakage
    assert leakage.count("<title>") == 9


def test_the_table_has_one_line_a_trial(tmp_path):
    publish(ROWS, tmp_path)
    with (tmp_path / "results.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == len(ROWS)
    assert {line["status"] for line in lines} == {"certified", "violated-privacy", "failed"}


def test_privacy_within_a_tolerance_has_a_mark_of_its_own_at_budget_0(tmp_path):
    perfect = replace(ROWS[0], budget_nats=0.0, budget_word="perfect", own_phi_residual=1e-20)
    broken = replace(perfect, status=Status.VIOLATED_PRIVACY)
    for backend, base, share, words in (
        ("exact", perfect, 0.0, "exactly private"),
        ("near", perfect, 3e-13, "private within 3·10⁻¹³"),
        ("rare", broken, 0.5, "private within 0.5"),  # a rare guess that tells all: ΦP is tiny
        ("old", perfect, math.inf, "ΦP 10⁻²⁰"),
    ):
        rows = [replace(base, backend=backend, own_private_within=share)]
        publish(rows, tmp_path / backend)
        assert wording.excess(rows[0]) == words
        assert leakage_figure(rows).series == ()
        # It was not recorded, or all marks would be at the left edge.
        drawn = backend in ("near", "rare")
        assert (tmp_path / backend / "perfect.svg").exists() == drawn
        if drawn:
            (series,) = perfect_figure(rows).series
            assert words in series.hints[0]
            assert series.label == ("not private" if base is broken else "within a tolerance")
    figure = perfect_figure([replace(broken, own_private_within=0.5)])
    assert figure.series[0].x == (0.5,)
    assert figure.zone_from == PRIVATE_LIMIT


def test_the_lead_picture_tells_rounding_from_harm():
    """In nats beyond the budget: a tenth of a picobit is not millions of times a budget."""
    leaks = {1e-14: 0.01 * (1 + 1e-12), 1e-8: 0.01 * (1 + 1e-6 + 1e-9), 1e-5: 0.01005, 0.01: 0.02}
    rows = [
        replace(row("conic", k, 1.0, ratio=2.0), own_leakage_nats=leaked)
        for k, leaked in enumerate(leaks.values(), 2)
    ]
    figure = leakage_figure(rows)
    assert {series.label: len(series.x) for series in figure.series} == {
        "keeps the budget": 1,
        "up to 1 % beyond": 2,
        "more than 1 % beyond": 1,
    }
    drawn = sorted(value for series in figure.series for value in series.x)
    assert drawn == pytest.approx([leaked - 0.01 for leaked in leaks.values()], rel=1e-9)
    assert figure.x_label.startswith("nats leaked beyond the budget")
    assert figure.rows == ("conic: 3 of 4 break it",)
    assert "0.01 nats beyond" in figure.series[-1].hints[0]


def record(
    method,
    size,
    commit,
    value,
    *,
    unit="seconds",
    outcome="measured",
):
    """A value of asv on the commit of that number."""
    return AsvRecord(
        f"bench_bins.Bins{method}",
        (("backend", "tilt"), ("bins", str(size))),
        f"{commit:08x}beef",
        f"2026-01-{commit + 1:02d}T00:00:00+00:00",
        "box",
        outcome,
        value,
        value,
        value,
        unit,
    )


HISTORY = [
    *(record("Steps.time_solve", 100, k, 8.0 / 2**k) for k in range(4)),
    *(record("Steps.time_solve", 20, k, 0.5) for k in (0, 3)),
    record("Steps.time_solve", 3000, 2, 7.0),
    record("Steps.time_solve", 20, 1, float("nan"), outcome="skipped"),
    record("Steps.time_solve", 20, 2, float("nan"), outcome="failed"),
    *(record("Answers.track_gap_over_target", 100, k, 1.0, unit="× target") for k in range(4)),
    *(
        record("Answers.track_gap_over_target", 20, k, 9.0 if k else 1.0, unit="× target")
        for k in range(4)
    ),
]


def test_history_is_a_figure_and_a_file(tmp_path):
    publish(ROWS, tmp_path / "a", HISTORY)
    for path in publish(ROWS, tmp_path / "b", list(reversed(HISTORY))):
        if path.name != "commits.csv":
            assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
    page = (tmp_path / "a" / "README.md").read_text()
    assert "asv measured 4 commits (2026-01-01 … 2026-01-04) on box" in page
    drawn = (tmp_path / "a" / "commits.svg").read_text()
    assert "tilt, Bins 100: 8 s, then 1 s" in "".join(ET.fromstring(drawn).get("aria-label", ""))
    with (tmp_path / "a" / "commits.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["outcome"] for line in lines].count("failed") == 1
    assert len(lines) == len(HISTORY) - 1


def test_nobody_answered_is_published_too(tmp_path):
    names = {path.name for path in publish([ROWS[-1]], tmp_path)}
    assert names == {"README.md", "results.csv"}


def test_what_stops_a_snapshot_is_a_sentence(tmp_path):
    with raises_input_error("no measurements"):
        publish([], tmp_path)
    (tmp_path / "README.md").write_text("mine")
    with raises_file_error(r"README\.md"):
        publish(ROWS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
