"""A comparison as one self-contained HTML page: no network, no script, tables that a screen reader and a keyboard can walk.

Statuses are words with a symbol, never a colour alone; wide tables scroll inside a region that takes the focus; light and
dark follow the reader's system; it prints. Every number comes from the `Comparison` through `wording`, and cells carry the
unrounded value in a <data> element, so that the page can be read by a program too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from discreet.backends.solution import Status
from discreet.reports import wording
from discreet.reports.agreement import Pair, summarise
from discreet.reports.compare import CaseFacts, Comparison, Row
from discreet.reports.page_style import PAGE_STYLE
from discreet.reports.plots import PLOT_STYLE, Chart, bracket_charts, leakage_charts

__all__ = ["MARK", "SYMBOLS", "page"]

MARK = "made by discreet compare"
"""Stands at the top of every file of a report; a file without it is somebody else's and is never overwritten."""

SYMBOLS = {
    Status.CERTIFIED: "✓",
    Status.INACCURATE: "◆",
    Status.VIOLATED_PRIVACY: "✕",
    Status.FAILED: "!",
    Status.TIMED_OUT: "◷",
    Status.UNSUPPORTED: "–",
    Status.ABSENT: "∅",
}

_HEADINGS = (
    "backend",
    "status",
    "claimed",
    "error probability, certified bracket",
    "relative gap",
    "true leakage ÷ budget",
    "lower, s",
    "solve, s",
    "certify, s",
)


def page(comparison: Comparison) -> str:
    """The whole document."""
    return f"""<!doctype html>
<html lang="en">
<!-- {MARK} -->
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>discreet: claim against truth</title>
<style>{PAGE_STYLE}{PLOT_STYLE}</style>
</head>
<body>
<a class="skip" href="#cases">Skip to the results</a>
<header>
<p class="brand">discreet compare</p>
<h1>Claim against truth</h1>
<p class="lead">Every backend solved the same problems in a process of its own. An independent judge then computed, from the
problem's own numbers, what each answer really leaks and how far from the optimum it can be at most.</p>
{_verdict(comparison)}
</header>
<main>
<section aria-labelledby="overview"><h2 id="overview">At a glance</h2>
{_overview(comparison)}
{_legend()}
</section>
<section aria-labelledby="cases"><h2 id="cases">Problem by problem</h2>
{"".join(_case(comparison, case, k) for k, case in enumerate(comparison.cases))}
</section>
<section aria-labelledby="agreement"><h2 id="agreement">Who agrees with whom</h2>
<p>Two backends agree on a problem when their certified brackets intersect; each cell says on how many of the problems that
both answered, and the largest difference of their error probabilities there.</p>
{_matrix(comparison)}
</section>
</main>
<footer>{_footer(comparison)}</footer>
</body>
</html>
"""


def _verdict(comparison: Comparison) -> str:
    return f'<ul class="verdict">{"".join(f"<li>{escape(sentence)}</li>" for sentence in wording.verdict(comparison))}</ul>'


def _overview(comparison: Comparison) -> str:
    found = {(row.case, row.contestant): row for row in comparison.rows}
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in comparison.contestants)
    body = "".join(
        f'<tr><th scope="row"><a href="#case-{k}">{escape(case.title)}</a></th>'
        + "".join(_overview_cell(found.get((case.title, name))) for name in comparison.contestants)
        + "</tr>"
        for k, case in enumerate(comparison.cases)
    )
    return _scrolling(
        "Status of every backend on every problem",
        f'<table class="overview"><thead><tr><th scope="col">problem</th>{head}</tr></thead><tbody>{body}</tbody></table>',
    )


def _overview_cell(row: Row | None) -> str:
    if row is None:
        return '<td class="none"><span class="hidden">not asked</span></td>'
    return f"<td>{_chip(row.status, short=True)}</td>"


def _legend() -> str:
    entries = "".join(f"<div><dt>{_chip(status)}</dt><dd>{escape(status.meaning)}</dd></div>" for status in Status)
    return f"<details><summary>What the statuses mean</summary><dl class='legend'>{entries}</dl></details>"


def _chip(status: Status, *, short: bool = False) -> str:
    label = "hidden" if short else "word"
    return (
        f'<span class="chip {status.value}" title="{escape(status.value)}"><span aria-hidden="true">{SYMBOLS[status]}</span>'
        f'<span class="{label}">{status.value}</span></span>'
    )


def _case(comparison: Comparison, case: CaseFacts, number: int) -> str:
    rows = comparison.rows_of(case.title)
    charts = [chart for chart in (*leakage_charts(comparison), *bracket_charts(comparison)) if chart.title == case.title]
    return f"""<article id="case-{number}" aria-labelledby="case-{number}-title">
<h3 id="case-{number}-title">{escape(case.title)}</h3>
<p class="facts">{escape(wording.facts(case))}.</p>
{_figures(charts)}
{_scrolling(f"Results on {case.title}", _rows_table(case, rows))}
{_remarks(rows)}
</article>"""


def _figures(charts: Sequence[Chart]) -> str:
    return f'<div class="figures">{"".join(f"<figure>{chart.svg()}</figure>" for chart in charts)}</div>'


def _rows_table(case: CaseFacts, rows: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in _HEADINGS)
    return (
        f'<table class="results"><caption class="hidden">{escape(case.title)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_row(row) for row in rows)}</tbody></table>"
    )


def _row(row: Row) -> str:
    bracket = wording.bracket(row.lower_bound, row.error_probability)
    cells = [
        f"<td>{_chip(row.status)}</td>",
        f"<td>{escape(row.claimed or wording.NOTHING)}</td>",
        _number("error_probability", row.error_probability, bracket),
        _number("relative_gap", row.relative_gap, wording.scientific(row.relative_gap)),
        _number("excess", row.excess, wording.excess(row), css="bad" if row.status is Status.VIOLATED_PRIVACY else ""),
        *(_number(f"{step}_seconds", value, wording.seconds(value)) for step, value in _steps(row)),
    ]
    return f'<tr data-backend="{escape(row.contestant)}"><th scope="row">{escape(row.contestant)}</th>{"".join(cells)}</tr>'


def _steps(row: Row) -> Iterable[tuple[str, float]]:
    return (("lower", row.lower_seconds), ("solve", row.solve_seconds), ("certify", row.certify_seconds))


def _number(name: str, value: float, words: str, *, css: str = "") -> str:
    """A cell; `value` unrounded for programs, unless there is none."""
    inside = f'<data class="{name}" value="{value!r}">{escape(words)}</data>' if math.isfinite(value) else escape(words)
    return f'<td class="number {css}">{inside}</td>'


def _remarks(rows: Sequence[Row]) -> str:
    """The reasons of those that did not answer."""
    told = [row for row in rows if not row.answered]
    if not told:
        return ""
    entries = "".join(f"<li><strong>{escape(row.contestant)}</strong>: {escape(row.message)}</li>" for row in told)
    return f'<ul class="remarks">{entries}</ul>'


def _matrix(comparison: Comparison) -> str:
    names = comparison.contestants
    pairs = summarise(comparison.agreements, names)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{escape(one)}</th>{"".join(_meeting(one, other, pairs) for other in names)}</tr>'
        for one in names
    )
    return _scrolling(
        "Agreement of every two backends",
        f'<table class="matrix"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>',
    )


def _meeting(one: str, other: str, pairs: dict[tuple[str, str], Pair]) -> str:
    pair = pairs.get((one, other))
    if pair is None:
        return f'<td class="none">{"" if one == other else wording.NOTHING}</td>'
    css = "agree" if pair.agreeing == pair.cases else "disagree"
    largest = escape(wording.difference(pair.largest_difference))
    return (
        f'<td class="{css}"><span class="count">{pair.agreeing} of {pair.cases}</span>'
        f'<span class="apart">Δ <data value="{pair.largest_difference!r}">{largest}</data></span></td>'
    )


def _scrolling(label: str, table: str) -> str:
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">{table}</div>'


def _footer(comparison: Comparison) -> str:
    limit = comparison.time_limit_seconds
    limited = "no time limit" if limit is None else f"a time limit of {limit:g} s per attempt"
    versions = ", ".join(f"{name} {version}" for name, version in comparison.environment.items())
    return (
        f"<p>Asked for a relative gap of {wording.scientific(comparison.gap)} with {limited}; "
        f"took {wording.seconds(comparison.seconds)} s. "
        f"Seconds are of one run each, on one machine: they tell orders of magnitude, not percentages.</p>"
        f"<p>{escape(versions)}</p>"
    )
