"""The interactive page of results: the template of all pages, its scripts and its data in one file.

The data are the attempts as columns of words, and for every choice of the filters the sections of a
report (`reports.sections`), written as HTML. The scripts do not compute or draw: they select, show
and hide. Data that several choices share are stored once: a figure is a list of numbers of SVG
lines, a section a list of numbers of its parts. The page contains no folder and no name of a
machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

from discreet.backends.solution import Status
from discreet.errors import InputError
from discreet.reports import pictures, wording
from discreet.reports.asv_results import AsvRecord, commits_section
from discreet.reports.measurements import SHARED, SUBMITTED, Measurement
from discreet.reports.outputs import replace_file
from discreet.reports.sections import HEADINGS, report_sections
from discreet.reports.statistics.claims import has_weight
from discreet.reports.statistics.numbers import report_numbers as report_numbers
from discreet.reports.statistics.numbers import statistics_of
from discreet.reports.statistics.trials import comparable, control_of, trials
from discreet.reports.study.machine import without_folders
from discreet.showing import numerals
from discreet.showing.data import plain
from discreet.showing.figures import Figure
from discreet.showing.page import MARK, cards, document, html
from discreet.showing.plane import LIGHT
from discreet.showing.svg import sample_svg, svg
from discreet.showing.values import BAD, Facts, OneOf, Part, Sentences, Toned
from discreet.storage.writing import check_output, marked

IS_REPORT = marked(MARK)
"""Recognises a page."""

SCRIPTS = (
    "rows.js", "elements.js", "state.js", "figures.js", "sections.js", "attempts.js", "filters.js",
    "main.js",
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
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Nothing in it can end the script, or begin a comment.
    text = text.replace("</", "<\\/").replace("<!", "\\u003c!")
    held = f'<script type="application/json" id="data">{text}</script>'
    held += f'<script type="text/plain" id="lines">{chr(10).join(lines)}</script>'
    return document(
        "discreet: every backend, measured",
        heading="Every backend, measured",
        lead=f'<p class="lead" id="lead"></p>{html([Sentences(verdict)])}<div id="cards"></div>',
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
    commits = commits_section(asv)
    page = _Page(rows, control, commits)
    views = {words: page.view(kept) for words, kept in _choices(rows)}
    data = {
        "source": source,
        "marks": "".join(words for words, used in marks.items() if used),
        "rows": _columns(rows, _ROW, others),
        "choices": CHOICES,
        "tables": _TABLES,
        "headings": [(name, *HEADINGS[name]) for name in HEADINGS if name != "commits" or commits],
        "views": views,
        "contents": list(page.contents),
        "figures": [json.loads(figure) for figure in page.figures],
        "samples": [sample_svg(tone) for tone in range(len(LIGHT) ** 2)],
        "statuses": {status.value: status.meaning for status in Status},
        "nothing": numerals.NOTHING,
        "tones": page.tone,
    }
    return data, list(page.lines)


class _Page:
    """The lines of figures, the figures as JSON and the parts of sections as HTML: each is stored
    once and has a number.
    """

    def __init__(
        self,
        rows: Sequence[Measurement],
        control: float,
        commits: Mapping[str, list[Part]],
    ) -> None:
        self.tone = pictures.tones(trials(rows))
        self.lines = dict[str, int]()
        self.figures = dict[str, int]()
        self.contents = dict[str, int]()
        self._places = dict[Figure, str]()
        self._control = control
        self._commits = commits
        self._claims = (
            pictures.leakage_figure(rows, counted=False),
            pictures.perfect_figure(rows, counted=False),
        )
        self._precision = pictures.precision_figure(rows, self.tone, control)

    def view(self, rows: Sequence[Measurement]) -> dict[str, Any]:
        """Return the parts of each section for these rows, and the cards at the top."""
        statistics = statistics_of(rows, self._control)
        sections = report_sections(statistics, self.tone, self._claims, self._precision)
        sections |= self._commits
        parts = {name: [*map(self._part, own)] for name, own in sections.items()}
        return parts | {"cards": _number(self.contents, cards(_cards(statistics["summary"])))}

    def _part(self, part: Part) -> Any:
        """Return the number of a part; of a choice its name, and the numbers of what it offers."""
        if isinstance(part, OneOf):
            offers = [(each.title, self._written(each.parts)) for each in part.sections]
            return {"name": part.name, "label": part.label, "offers": offers}
        return self._written([part])

    def _written(self, parts: Iterable[Part | None]) -> int:
        return _number(self.contents, html(parts, self._place))

    def _place(self, figure: Figure) -> str:
        """Return the element in whose place the scripts put a figure."""
        if figure not in self._places:
            number = _number(self.figures, json.dumps(self._held(figure)))
            self._places[figure] = f'<figure data-figure="{number}"></figure>'
        return self._places[figure]

    def _held(self, figure: Figure) -> dict[str, Any]:
        """Return the figure's title, its note, its legend with words and tones, and its lines of
        SVG.
        """
        keys: list[Any] = [[name, name, None] for name in figure.rows]
        keys = keys or [[each.owner, each.label, each.tone] for each in figure.series if each.label]
        text = svg(figure, titled=False, legend=bool(figure.rows), live=True)
        lines = [_number(self.lines, line) for line in text.splitlines()]
        return {"title": figure.title, "note": figure.subtitle, "keys": keys, "lines": lines}


def _number(known: dict[str, int], text: str) -> int:
    """Return the number of a text, a new one for a new text."""
    return known.setdefault(text, len(known))


def _cards(summary: Mapping[str, int]) -> Facts:
    broken = str(summary["violations"])
    lines = [
        ("attempts", str(summary["attempts"])),
        ("backends", str(summary["contestants"])),
        ("tasks certified", f"{summary['certified_tasks']} of {summary['tasks']}"),
        ("claims that were true", f"{summary['true_claims']} of {summary['claims']}"),
        ("claims that broke the budget", Toned(broken, BAD) if summary["violations"] else broken),
    ]
    return Facts("", lines)


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
