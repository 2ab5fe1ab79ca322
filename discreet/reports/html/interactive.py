"""The interactive page of results: the template of all pages, its scripts and its data in one file.

The data are the attempts as columns of words, and the statistics and figures for every choice of
the filters. The scripts do not compute or draw: they select, show and hide. Data that several
choices share are stored once: a figure is a list of numbers of SVG lines, a section the number of
its content. The page contains no folder and no name of a machine.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

from discreet.backends.solution import Status
from discreet.errors import InputError
from discreet.reports import pictures, wording
from discreet.reports.asv_results import AsvRecord, commits_figure
from discreet.reports.measurements import SHARED, SUBMITTED, Measurement
from discreet.reports.outputs import replace_file
from discreet.reports.statistics.aggregates import SHIFT_PERCENTILE
from discreet.reports.statistics.claims import NOT_TRIED, has_weight
from discreet.reports.statistics.numbers import TABLES, statistics_of
from discreet.reports.statistics.numbers import report_numbers as report_numbers
from discreet.reports.statistics.scaling import WIDEST
from discreet.reports.statistics.trials import comparable, control_of, trials
from discreet.reports.study.machine import without_folders
from discreet.showing import numerals
from discreet.showing.data import plain
from discreet.showing.figures import Figure
from discreet.showing.page import MARK, document, html
from discreet.showing.plane import LIGHT
from discreet.showing.svg import sample_svg, svg
from discreet.showing.values import Sentences
from discreet.storage.writing import check_output, marked

IS_REPORT = marked(MARK)
"""Recognises a page."""

SCRIPTS = (
    "rows.js", "elements.js", "state.js", "figures.js", "claims.js", "growth.js", "profiles.js",
    "problems.js", "tables.js", "commits.js", "filters.js", "main.js",
)  # fmt: skip
"""The scripts in the order in which they are put together."""


def report_page(
    rows: Sequence[Measurement],
    *,
    asv: Sequence[AsvRecord] = (),
    source: str = "",
    verdict: Sequence[str] = (),
) -> str:
    """Return the interactive page; equal rows give equal text in any order. Raises InputError
    without rows.

    source    the origin of the rows, in words
    verdict   sentences at the top of the page
    """
    if not rows:
        raise InputError(
            "there are no measurements to report; give the results of a discreet bench that has run"
        )
    data, lines = page_data(clean_rows(rows), asv, source)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    held = f'<script type="application/json" id="data">{text}</script>'
    held += f'<script type="text/plain" id="lines">{chr(10).join(lines)}</script>'
    return document(
        "discreet: every backend, measured",
        heading="Every backend, measured",
        lead=f'<p class="lead" id="lead"></p>{html([Sentences(verdict)])}<dl class="cards" '
        'id="cards"></dl>',
        body=_asset("report.html") + held,
        footer="<p>Nothing is loaded from anywhere: rows, styles and scripts are in this file. "
        "Filters, hidden backends and "
        "the theme stand in the address, so that a view can be shared with the file.</p>",
        script='(() => {\n"use strict";\n' + "\n".join(map(_asset, SCRIPTS)) + "})();\n",
    )


def write_report(
    rows: Sequence[Measurement],
    path: str | Path,
    *,
    asv: Sequence[AsvRecord] = (),
    source: str = "",
    overwrite: bool = False,
) -> Path:
    """Write the page to a file, all or nothing, and return its path.

    Raises InputError without rows; FileError for an existing file that was not made here (unless it
    is to be overwritten) and for a place that cannot be written. In each case nothing is changed.
    """
    target = check_output(path, IS_REPORT, overwrite=overwrite)
    return replace_file(target, report_page(rows, asv=asv, source=source))


def _asset(name: str) -> str:
    return files("discreet.reports.html").joinpath(name).read_text(encoding="utf-8")


CHOICES = ("family", "profile", "regime")
"""Of each of these the reader keeps one value or all: the statistics are those of what is kept."""

_ROW = (
    "label",
    "instance",
    "private_values",
    "guesses",
    "outcomes",
    "gap_target",
    "repeat",
    "status",
    "message",
    "claimed",
    "answered",
    "relative_gap",
    "violated",
    *CHOICES,
)


_TABLES = {
    "answers": {
        "backend": "label",
        "status": "status",
        "claimed": "claimed",
        "gap asked": "gap_target",
        "error probability, certified bracket": "bracket",
        "relative gap": "relative_gap",
        "true leakage ÷ budget": "leaks",
        "seconds": "seconds",
    },
    "claimed": {
        "backend": "label",
        "problem and budget": "instance",
        "gap asked": "gap_target",
        "claimed": "claimed",
        "true leakage ÷ budget": "leaks",
    },
    "kept": {
        "backend": "label",
        "problem and budget": "instance",
        "gap asked": "gap_target",
        "certified gap": "relative_gap",
        "seconds": "seconds",
    },
}
"""The tables of attempts: each heading with the column of its values."""


def clean_rows(rows: Sequence[Measurement]) -> list[Measurement]:
    """Return the rows without folders of a machine, in the order of their trials, which does not
    depend on the order given.
    """
    return [row for trial in trials(map(without_folders, rows)) for row in trial.rows]


def page_data(
    rows: Sequence[Measurement], asv: Sequence[AsvRecord] = (), source: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """Return everything that the scripts read, and the lines of SVG. `rows` are the result of
    `clean_rows`; `source` says where they come from.
    """
    control = control_of(rows)
    page = _Page(pictures.tones(trials(rows)), control)

    def seconds(row: Measurement) -> Any:
        number = numerals.in_words(plain(row.seconds))
        return number if row.seconds == 0.0 or comparable(row, control) else f"{number} {SHARED}"

    others = {
        "seconds": seconds,
        "weighed": has_weight,
        "leaks": wording.excess,
        "bracket": lambda row: numerals.bracket(row.lower, row.upper),
    }
    marks = {
        f" {SUBMITTED}: {wording.SUBMITTED}.": any(row.submitted for row in rows),
        f" {SHARED}: {wording.SHARED}.": not all(comparable(row, control) for row in rows),
    }
    data = {
        "source": source,
        "ranked": wording.RANKING,
        "limitations": [*wording.STUDY_LIMITATIONS, wording.KNOWN],
        "marks": "".join(words for words, used in marks.items() if used),
        "rows": _columns(rows, _ROW, others),
        "leakage": page.figure(pictures.leakage_figure(rows, counted=False)),
        "perfect": page.figure(pictures.perfect_figure(rows, counted=False)),
        "precision": page.figure(pictures.precision_figure(rows, page.tone, control)),
        "sizes": pictures.SIZE_WORDS,
        "choices": CHOICES,
        "tables": {**TABLES, **_TABLES},
        "views": {words: page.view(kept) for words, kept in _choices(rows)},
        "contents": [json.loads(content) for content in page.contents],
        "samples": [sample_svg(tone) for tone in range(len(LIGHT) ** 2)],
        "statuses": {status.value: status.meaning for status in Status},
        "not_tried": sorted(status.value for status in NOT_TRIED),
        "shift_percentile": SHIFT_PERCENTILE,
        "widest": WIDEST,
        "nothing": numerals.NOTHING,
        "asv": _columns(
            asv, ("benchmark", "place", "commit", "date", "machine", "outcome", "value", "unit"), {}
        ),
        "course": page.figure(commits_figure(asv)),
        "tones": page.tone,
    }
    return data, list(page.lines)


class _Page:
    """The data of the page: tones, the median of the control, and the lines of figures and the
    contents as JSON that several choices share, by their numbers.
    """

    def __init__(self, tone: Mapping[str, int], control: float) -> None:
        self.tone = tone
        self.control = control
        self.lines = dict[str, int]()
        self.contents = dict[str, int]()

    def figure(self, figure: Figure) -> dict[str, Any] | None:
        """Return the figure's title, its note, its legend with words and tones, and its lines of
        SVG.
        """
        if not figure.series:
            return None
        keys: list[Any] = [[name, name, None] for name in figure.rows]
        keys = keys or [[each.owner, each.label, each.tone] for each in figure.series if each.label]
        text = svg(figure, titled=False, legend=bool(figure.rows), live=True)
        lines = [self.lines.setdefault(line, len(self.lines)) for line in text.splitlines()]
        return {"title": figure.title, "note": figure.subtitle, "keys": keys, "lines": lines}

    def view(self, rows: Sequence[Measurement]) -> dict[str, int]:
        """Return the contents of each section for these rows; the columns hold single attempts."""
        statistics = statistics_of(rows, self.control)
        contents = {
            name: numerals.in_words(plain(statistics[name]))
            for name in statistics
            if name not in ("leaks", "work_precision")
        }
        met = statistics["agreement"]
        contents["agreement"]["said"] = " ".join(
            (
                wording.agreement(met["met"], len(met["against"])),
                wording.verified(**met["verified"]),
            )
        )
        contents["means"]["noise"] = wording.noise(statistics["means"]["noise_floor"])
        for sweep, words in zip(statistics["sweeps"], contents["sweeps"], strict=True):
            words["figure"] = self.figure(pictures.sweep_figure(sweep, self.tone))
        contents["sweeps"] = [self._content(words) for words in contents["sweeps"]]
        for name, at in (
            ("performance", (1.0, 2.0, 10.0, 100.0)),
            ("data", (0.01, 0.1, 1.0, 10.0)),
        ):
            lines = [
                {
                    "contestant": each.contestant,
                    "shares": numerals.in_words([each.share(value) for value in (*at, math.inf)]),
                }
                for each in statistics[name]
            ]
            figure = self.figure(pictures.profile_figure(name, statistics[name], self.tone))
            contents[name] = {"at": numerals.in_words(list(at)), "lines": lines, "figure": figure}
        return {name: self._content(words) for name, words in contents.items()}

    def _content(self, words: Any) -> int:
        return self.contents.setdefault(json.dumps(words), len(self.contents))


def _choices(rows: Sequence[Measurement]) -> Iterable[tuple[str, Sequence[Measurement]]]:
    """Yield every choice, as its words joined by newlines ("" keeps all), with the rows that it
    keeps.
    """
    words = [sorted({getattr(row, name) for row in rows}) for name in CHOICES]
    for chosen in product(*(["", *each] if len(each) > 1 else [""] for each in words)):
        asked = [(name, word) for name, word in zip(CHOICES, chosen, strict=True) if word]
        yield (
            "\n".join(chosen),
            [row for row in rows if all(getattr(row, name) == word for name, word in asked)],
        )


def _columns(
    records: Sequence[Any], names: Iterable[str], others: Mapping[str, Callable[[Any], Any]]
) -> dict[str, Any]:
    """Return records of one kind by column: its distinct values, as words, and for every record the
    index of its value.
    """
    columns: dict[str, Any] = {}
    for name in (*names, *others):
        values = [
            numerals.in_words(plain(others.get(name, attrgetter(name))(record)))
            for record in records
        ]
        place = {different: k for k, different in enumerate(dict.fromkeys(values))}
        columns[name] = {"values": list(place), "at": [place[each] for each in values]}
    return {"length": len(records), "columns": columns}
