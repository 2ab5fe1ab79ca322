"""The figures of results: claims, gaps, time against size, profiles, work–precision,
privacy–utility curves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.backends.solution import PRIVACY_TOLERANCE
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.measures.registry import measure_of
from discreet.reports import wording
from discreet.reports.measurements import Measurement, group_by
from discreet.reports.statistics.claims import has_weight
from discreet.reports.statistics.profiles import Profile
from discreet.reports.statistics.scaling import SizeSweep
from discreet.reports.statistics.trials import Trial, comparable, control_of, labels_of
from discreet.showing import numerals
from discreet.showing.figures import Figure, Series


@dataclass(frozen=True)
class _Mark:
    """One attempt on the line of its configuration: its number, its value, what the value means,
    and its description.
    """

    number: int
    row: Measurement
    value: float
    kind: str
    hint: str


def tones(trials: Sequence[Trial]) -> dict[str, int]:
    """Return a tone for every solver configuration, the same in all figures; the native solver
    comes first, configurations that were never tried come last.
    """
    tried = labels_of(trials)
    names = sorted(
        {trial.label for trial in trials},
        key=lambda name: (name not in tried, name != "tilt", name),
    )
    return {name: tone for tone, name in enumerate(names)}


_FLOOR = 1e-16
"""Excesses in nats, and deviations, up to the rounding of probabilities, which are drawn as
zero.
"""

_KEPT = {"keeps the budget": 2, "up to 1 % beyond": 3, "more than 1 % beyond": 1}
"""Classes of an answer under a positive budget, with the tones of their marks."""

_PRIVATE = {"exactly private": 2, "within a tolerance": 3, "not private": 1}
"""Classes of an answer at perfect privacy, with the tones of their marks."""


def leakage_figure(rows: Sequence[Measurement], *, counted: bool = True) -> Figure:
    """Draw the leakage beyond the positive budget of every answer that was called solved: one line
    for each configuration, in nats.

    The position of a mark shows the amount, its tone whether the amount exceeds a solver's
    rounding. The text next to a line counts its marks, except on a page, where the filters change
    them.
    """
    claims = [
        (number, row)
        for number, row in enumerate(rows)
        if has_weight(row) and row.regime != "perfect"
    ]
    units = {measure_of(row.measure).unit if row.secrets == 1 else "" for _, row in claims}
    unit = "nats" if units <= {"nats"} else "leakage"
    marks = []
    for number, row in claims:
        kind = "keeps the budget"
        if row.violated:
            far = row.own_leakage_nats > 1.01 * row.budget_nats
            kind = "more than 1 % beyond" if far else "up to 1 % beyond"
        words = f"true leakage ÷ budget: {wording.excess(row)}{wording.beyond(row)}"
        marks.append(_Mark(number, row, row.own_leakage_nats - row.budget_nats, kind, words))
    figure = Figure(
        "leakage",
        'How far answers called "optimal" break their budget',
        f"{_count(marks, counted)} under positive budgets; up to "
        f"{numerals.scientific(PRIVACY_TOLERANCE)} of it beyond counts as kept",
        f"{unit} leaked beyond the budget; less than {numerals.scientific(_FLOOR)} is drawn at "
        "the left edge",
        "",
    )
    return _with_claims(figure, marks, _KEPT, "break it" if counted else "")


def perfect_figure(rows: Sequence[Measurement], *, counted: bool = True) -> Figure:
    """Draw the largest relative change of a probability by a guess, for every answer that was
    called solved at perfect privacy.

    Rows that do not record it are left out.
    """
    marks = []
    for number, row in enumerate(rows):
        share = row.own_private_within
        if has_weight(row) and row.regime == "perfect" and math.isfinite(share):
            kind = "within a tolerance" if share > 0.0 else "exactly private"
            if row.violated:
                kind = "not private"
            marks.append(_Mark(number, row, share, kind, wording.excess(row)))
    figure = Figure(
        "perfect",
        'What answers called "optimal" reveal at perfect privacy',
        f"{_count(marks, counted)} at budget 0; up to {numerals.scientific(PRIVATE_LIMIT)} counts "
        "as private",
        f"largest relative change of p(x) by a guess; less than {numerals.scientific(_FLOOR)} at "
        "the left edge",
        "",
        zone_from=PRIVATE_LIMIT,
    )
    return _with_claims(figure, marks, _PRIVATE, "not private" if counted else "")


def _count(marks: Sequence[_Mark], counted: bool) -> str:
    return f"{len(marks)} claims" if counted else "claims"


def _with_claims(
    figure: Figure, marks: Sequence[_Mark], tones_of: Mapping[str, int], broken: str
) -> Figure:
    """Draw one line for each configuration, with the worst at the bottom; no series if no value
    exceeds the floor.

    broken   the text after the number of marks that exceed the budget; an empty text shows no
             number
    """
    own = group_by(marks, lambda mark: mark.row.label)
    worst = {label: max(_FLOOR, *(mark.value for mark in own[label])) for label in own}
    if max(worst.values(), default=_FLOOR) <= _FLOOR:
        marks = ()
    lines = {}
    for label in sorted(own, key=lambda label: (worst[label], label)):
        violated = sum(mark.row.violated for mark in own[label])
        lines[label] = f"{label}: {violated} of {len(own[label])} {broken}" if broken else label
    shown = [
        replace(
            mark,
            value=max(mark.value, _FLOOR),
            hint=f"{mark.row.label} on {mark.row.instance}: claimed {mark.row.claimed!r}, "
            f"{mark.hint}",
        )
        for mark in marks
    ]
    claims = "; ".join(f"{label}: at most {numerals.scientific(worst[label])}" for label in lines)
    described = replace(
        figure, description=f"{figure.x_label}. {claims or 'None was called solved'}."
    )
    return _strips(described, shown, tones_of, lines)


def gap_figure(rows: Sequence[Measurement]) -> Figure:
    """Draw the width of every certified bracket relative to its upper end: one line for each
    configuration.
    """
    answered = [row for row in rows if row.answered]
    attempts = Counter(row.label for row in rows)
    answers = Counter(row.label for row in answered)
    marks = []
    for row in answered:
        words = (
            f"{numerals.bracket(row.lower, row.upper)}, relative gap "
            f"{numerals.scientific(row.relative_gap)}"
        )
        kind = "certified" if row.certified else "not certified"
        hint = f"{row.label} on {row.instance}: {row.status.value}, {words}"
        marks.append(_Mark(-1, row, _drawn_gap(row), kind, hint))
    gaps = "; ".join(
        f"{row.label} on {row.instance} {numerals.scientific(row.relative_gap)}" for row in answered
    )
    figure = Figure(
        "brackets",
        "Certified brackets of the optimum",
        "relative gap between the proven bound and the error probability reached",
        "relative gap, certified",
        "",
        description=f"Relative gaps of certified brackets: {gaps or 'there is no answer'}.",
    )
    lines = {name: f"{name}: {answers[name]} of {attempts[name]} answered" for name in attempts}
    return _strips(figure, marks, {"certified": 2, "not certified": 1}, lines)


def _drawn_gap(row: Measurement) -> float:
    return min(1.0, max(row.relative_gap, 1e-16))


def _strips(
    figure: Figure, marks: Sequence[_Mark], tones_of: Mapping[str, int], lines: Mapping[str, str]
) -> Figure:
    """Return the figure with a line for each configuration, and its marks spread slightly so that
    none hides another.

    tones_of  dictionary from a kind of mark to its tone
    lines     dictionary from a configuration to the text next to its line
    """
    spread = (0.0, -0.18, 0.18, -0.32, 0.32)
    lanes = list(lines)
    series = []
    for kind, tone in tones_of.items():
        own = sorted(
            (mark for mark in marks if mark.kind == kind and math.isfinite(mark.value)),
            key=lambda mark: (mark.row.label, mark.value, mark.hint, mark.number),
        )
        points = (
            (
                mark.value,
                lanes.index(mark.row.label) + spread[k % len(spread)],
                mark.hint,
                mark.number,
            )
            for k, mark in enumerate(own)
        )
        series.append(Series.of(kind, points, tone, hollow=tone == 3))
    shown = tuple(each for each in series if each.x)
    return replace(figure, series=shown, rows=tuple(lines.values()), log_x=True)


SIZE_WORDS = {
    "outcomes": ("outcomes N", "N"),
    "sensors": ("sensors M", "M"),
    "alphabet": ("n = m", "n"),
}
"""Sizes on the horizontal axis: the words and the letter of each."""


def sweep_figure(sweep: SizeSweep, tone: Mapping[str, int]) -> Figure:
    """Draw the seconds of certified answers against size in one sweep, with the fitted lines."""
    words, letter = SIZE_WORDS[sweep.size]
    fits = {fit.contestant: fit for fit in sweep.fits}
    series = []
    for curve in sorted(sweep.series, key=lambda curve: tone[curve.contestant]):
        name = label = curve.contestant
        if name in fits:
            fit = fits[name]
            label = f"{name} {letter}^{fit.exponent:.2f}"
            ends = (fit.from_size, curve.sizes[-1])
            fitted = tuple(fit.factor * x**fit.exponent for x in ends)
            series.append(Series("", ends, fitted, "fit", tone[name], owner=name))
        hints = tuple(
            f"{name}\n{s:.3g} s at {letter} = {n:,.0f}"
            for n, s in zip(curve.sizes, curve.costs, strict=True)
        )
        series.append(
            Series(label, curve.sizes, curve.costs, "both", tone[name], hints=hints, owner=name)
        )
    exponents = (
        f"{each.label}: {each.y[-1]:.3g} s at {letter} = {each.x[-1]:,.0f}"
        for each in series
        if each.label
    )
    return Figure(
        f"time-{sweep.size}",
        f"Time against {words}",
        f"{sweep.entry}, {sweep.budget}, certified to a gap of {numerals.scientific(sweep.gap)}; "
        "broad pale lines are fits",
        words,
        "seconds to solve",
        tuple(series),
        f"Seconds until a certified answer. {'; '.join(exponents)}.",
        log_x=True,
        log_y=True,
    )


def precision_figure(
    rows: Sequence[Measurement], tone: Mapping[str, int], control: float | None = None
) -> Figure:
    """Draw the seconds against the certified gap, one mark for each answer that kept its budget.

    Answers whose times are not comparable are left out.

    control   the median seconds of the control; computed from these rows by default
    """
    control = control_of(rows) if control is None else control
    kept = [
        (number, row)
        for number, row in enumerate(rows)
        if comparable(row, control) and row.answered and not row.violated and row.seconds > 0.0
    ]
    series = []
    for name, own in sorted(
        group_by(kept, lambda each: each[1].label).items(), key=lambda each: tone[each[0]]
    ):
        points = [
            (
                _drawn_gap(row),
                row.seconds,
                f"{name} on {row.instance}, asked {row.gap_target:g}: gap {row.relative_gap:.1e} "
                f"in {row.seconds:.3g} s",
                number,
            )
            for number, row in own
        ]
        series.append(Series.of(name, points, tone[name], owner=name))
    return Figure(
        "precision",
        "Work and precision",
        "every answer that kept its budget, at the gap proven for it; left and low is better",
        "relative gap achieved, certified",
        "seconds to solve",
        tuple(series),
        f"Seconds against the certified gap of {len(kept)} answers.",
        log_x=True,
        log_y=True,
    )


_PROFILES = {
    "performance": (
        "Performance profile",
        "share of the {} tasks that any backend certified; a failure counts as infinite time",
        "time ÷ best time, at most",
    ),
    "data": (
        "Solved within a time",
        "share of all {} tasks certified within the seconds on the axis",
        "seconds, at most",
    ),
}
"""Title, subtitle with the number of tasks, words of the x axis."""


def profile_figure(name: str, profiles: Sequence[Profile], tone: Mapping[str, int]) -> Figure:
    """Draw the "performance" or "data" profiles; the figure has no series if nothing was solved."""
    reached = sorted(
        (profile for profile in profiles if profile.at),
        key=lambda profile: tone[profile.contestant],
    )
    start = min((profile.at[0] for profile in reached), default=1.0)
    end = max((profile.at[-1] for profile in reached), default=1.0)
    end = max(end, 1.01 * start)
    series = []
    for profile in reached:
        who = profile.contestant
        steps = zip(profile.at, profile.shares, strict=True)
        hints = ("", *(f"{share:.3g} at {numerals.scientific(at, 2)}" for at, share in steps), "")
        shares = (profile.share(start), *profile.shares, profile.shares[-1])
        series.append(
            Series(
                who, (start, *profile.at, end), shares, "steps", tone[who], hints=hints, owner=who
            )
        )
    title, subtitle, x_label = _PROFILES[name]
    final_shares = "; ".join(f"{each.contestant} {each.shares[-1]:.0%}" for each in reached)
    return Figure(
        name,
        title,
        subtitle.format(max((each.tasks for each in reached), default=0)),
        x_label,
        "share of tasks",
        tuple(series),
        f"Shares reached in the end: {final_shares}.",
        log_x=True,
        y_range=(0.0, 1.02),
    )
