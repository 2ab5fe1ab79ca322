"""The sections of a report on measured results: the interactive page and the published snapshot
show the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from discreet.reports import wording
from discreet.reports.pictures import SIZE_WORDS, profile_figure, sweep_figure
from discreet.reports.statistics.aggregates import PENALTIES, SHIFT_PERCENTILE
from discreet.reports.statistics.claims import NOT_TRIED
from discreet.reports.statistics.numbers import TABLES
from discreet.reports.statistics.profiles import Profile
from discreet.reports.statistics.scaling import WIDEST, SizeSweep
from discreet.reports.tables import agreement_table
from discreet.showing import numerals
from discreet.showing.data import plain
from discreet.showing.figures import Figure
from discreet.showing.values import Facts, OneOf, Part, Section, Sentences, Table

_MOST_REASONS = 40
_AT = {
    "performance": ((1.0, 2.0, 10.0, 100.0), "× the best time"),
    "data": ((0.01, 0.1, 1.0, 10.0), "s"),
}
"""Where the table of a profile reads it off, and the unit."""


class Heading(NamedTuple):
    """The title of a section, its first paragraph, and the sentence that it shows if it has no
    parts.
    """

    title: str
    lead: str
    otherwise: str


HEADINGS = {
    "ranking": Heading(
        "Which solver should I use?",
        "A task is solved if the judge certified the requested gap within the budget. A wrong "
        "claim is success claimed for a task that was not solved. Seconds ÷ best is the geometric "
        "mean, over the tasks that a backend solved, of its seconds divided by those of the "
        "fastest backend. The last columns count the tasks solved in each class of problems.",
        "There is no attempt, so there is nothing to rank.",
    ),
    "claims": Heading(
        "Claim against truth",
        'A claim is a backend calling its answer solved ("optimal"); it is true when the judge '
        "certified the requested gap within the budget. The correct rate is true claims ÷ claims. "
        "The table counts claims at every budget; each picture states the claims that it shows.",
        "There is no attempt, so there are no claims to judge.",
    ),
    "problems": Heading(
        "Problem by problem", "", "There is no attempt, so there is no problem to show."
    ),
    "growth": Heading(
        "Time against size",
        "Exponents of cost ≈ c · size^a over certified trials with 95 % intervals are fitted by "
        "least squares on logarithmic axes, only where the cost is at least twice its least. An "
        f"exponent is shown only if its interval is at most ± {WIDEST:g}, a crossover only if it "
        "exceeds the noise.",
        "No catalog entry has two sizes that were certified under one budget and gap, so there is "
        "nothing to draw.",
    ),
    "precision": Heading(
        "Work and precision",
        "Seconds against the gap that was proven, whatever gap was asked for.",
        "No answer with a time kept its budget, so there is nothing to draw.",
    ),
    "profiles": Heading(
        "Who solves what, how fast",
        "A failure counts as an infinite time, and so does a task that a backend does not serve.",
        "No task was certified, or not all times may be compared, so there is no profile.",
    ),
    "means": Heading(
        "Shifted geometric means",
        "Seconds, with 95 % intervals over tasks (Student's, of the mean logarithm).",
        "No backend was tried, or not all times may be compared, so there is nothing to average.",
    ),
    "agreement": Heading(
        "Agreement",
        "Certified brackets of one problem hold the same optimum, so none may exclude another. At "
        "budget 0 each is about estimators that are private within a number of its own.",
        "No two backends answered the same problem, so there is nothing to compare.",
    ),
    "failures": Heading(
        "What was not certified, and why", "", "Everything that was tried is certified."
    ),
    "commits": Heading("Over commits", "", ""),
    "limitations": Heading("Limitations", "", ""),
    "origin": Heading("Measured on", "", "There is no attempt."),
}
"""The sections by name, in the order of a report."""


def report_sections(
    statistics: Mapping[str, Any],
    tone: Mapping[str, int],
    claims: Sequence[Figure],
    precision: Figure,
) -> dict[str, list[Part]]:
    """Return the parts of sections by name; a section may have none. The page adds the problems,
    and results over commits are added where there are any.

    statistics   as `statistics_of` returns them
    claims       the figures of claims, and `precision` that of work and precision: a page draws the
                 marks of all attempts once, and shows those that its filters leave
    """
    numbers = plain(statistics)
    parts: dict[str, list[Part]] = {
        "ranking": [_table("ranking", numbers["ranking"])],
        "claims": _under(claims, _table("claims", numbers["claims"])),
        "growth": _growth(statistics["sweeps"], tone),
        "precision": _under([precision], _table("precision", numbers["precision"])),
        "profiles": [part for name in _AT for part in _profile(name, statistics[name], tone)],
        "means": list(_means(numbers["means"])),
        "agreement": _agreement(numbers["agreement"], statistics["agreement"]["pairs"]),
        "failures": _failures(numbers["failures"]),
        "limitations": [Sentences([*wording.STUDY_LIMITATIONS, wording.KNOWN])],
        "origin": [Facts("", [*map(_fact, numbers["origin"].items())])],
    }
    return {name: [each for each in own if each] for name, own in parts.items()}


def _under(figures: Sequence[Figure], table: Table) -> list[Part]:
    """Return figures and a table below; nothing if the table has no lines, since the figures are of
    other attempts too.
    """
    return [*figures, table] if table else []


def _table(name: str, records: Sequence[Mapping[str, Any]], title: str = "") -> Table:
    """Return one of `TABLES`, without the columns that have no value."""
    columns = {
        head: key
        for head, key in TABLES[name].items()
        if any(record[key] is not None for record in records)
    }
    return Table.of(title, columns, records)


def _growth(sweeps: Sequence[SizeSweep], tone: Mapping[str, int]) -> list[Part]:
    """Return a choice of sweeps for each kind of size."""
    parts: list[Part] = []
    for size in SIZE_WORDS:
        own = [
            Section(
                f"{sweep.entry}, {sweep.budget}, gap {numerals.in_words(sweep.gap)}",
                _sweep(sweep, tone),
            )
            for sweep in sweeps
            if sweep.size == size and sweep.series
        ]
        parts.append(OneOf(size, "Problems", own))
    return parts


def _sweep(sweep: SizeSweep, tone: Mapping[str, int]) -> list[Part]:
    words, letter = SIZE_WORDS[sweep.size]
    crossovers = [
        (each.faster, each.slower, numerals.number(each.size, 2)) for each in sweep.crossovers
    ]
    points = [
        (series.contestant, *map(numerals.in_words, point))
        for series in sweep.series
        for point in zip(series.sizes, series.costs, strict=True)
    ]
    heads = ("faster", "slower", f"from {letter} ≈")
    return [
        sweep_figure(sweep, tone),
        _table("fits", plain(sweep.fits), f"Exponents of time by {words}"),
        Table("Crossovers beyond the noise", heads, crossovers, heads[2:]),
        Table(f"Seconds by {words}", ("backend", letter, "seconds"), points, folded=True),
    ]


def _profile(name: str, profiles: Sequence[Profile], tone: Mapping[str, int]) -> list[Part]:
    figure = profile_figure(name, profiles, tone)
    places, unit = _AT[name]
    heads = [*(f"≤ {numerals.in_words(place)} {unit}" for place in places), "in the end"]
    lines = [
        (each.contestant, *(numerals.in_words(each.share(at)) for at in (*places, math.inf)))
        for each in profiles
    ]
    title = f"{figure.title}: shares of the tasks"
    table = Table(title, ("backend", *heads), lines, heads, folded=True)
    return [figure, table] if figure else []


def _means(means: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the means for each charge of a failure, and over the tasks that all configurations
    certified.
    """
    if not means["rows"]:
        return
    yield (
        f"The shift is {numerals.in_words(means['shift'])} s, the {SHIFT_PERCENTILE:g}th "
        f"percentile of all successful times. {wording.noise(means['noise_floor'])}"
    )
    titles: dict[float | None, str] = {
        k: f"A failure counts as {k:g} × its time limit" for k in PENALTIES
    }
    titles[None] = "Over the tasks that all certified"
    none = (
        "No task was certified by all backends; a report of fewer backends (--backends) compares "
        "these over what they all solved."
    )
    for penalty, title in titles.items():
        rows = [row for row in means["rows"] if row["penalty"] == penalty and row["tasks"]]
        yield _table("means", rows, title) or none


def _agreement(numbers: Mapping[str, Any], pairs: Sequence[Any]) -> list[Part]:
    if not pairs:
        return []
    against = numbers["against"]
    said = wording.agreement(numbers["met"], len(against))
    return [
        f"{said} {wording.verified(**numbers['verified'])}",
        Sentences([f"{each['case']}: {each['first']} and {each['second']}" for each in against]),
        replace(agreement_table(numbers["contestants"], pairs), folded=True),
    ]


def _failures(failures: Sequence[Mapping[str, Any]]) -> list[Part]:
    not_tried = {status.value for status in NOT_TRIED}
    tried = [group for group in failures if group["status"] not in not_tried]
    skipped = [group for group in failures if group["status"] in not_tried]
    rest = tried[_MOST_REASONS:]
    beyond = "Not tried: outside a backend's reach, or without its library"
    return [
        _table("failures", tried[:_MOST_REASONS]),
        f"… and {len(rest)} reasons more." if rest else "",
        replace(_table("failures", rest, "Less frequent reasons"), folded=True),
        replace(_table("failures", skipped, beyond), folded=True),
    ]


def _fact(each: tuple[str, Sequence[Any]]) -> tuple[str, str]:
    name, values = each
    return name, ", ".join(map(str, values))
