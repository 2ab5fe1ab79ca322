"""The figures of results: claims, gaps, time against size, profiles, work–precision, privacy–utility curves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from discreet.backends.solution import PRIVACY_TOLERANCE
from discreet.problems.judge.privacy import PRIVATE_LIMIT
from discreet.problems.measures.registry import measure_of
from discreet.reports import wording
from discreet.reports.figures import Figure, Series
from discreet.reports.measurements import Measurement, grouped
from discreet.reports.statistics.claims import weighed
from discreet.reports.statistics.comparable import comparable, control_of
from discreet.reports.statistics.profiles import Profile
from discreet.reports.statistics.scaling import Sweep
from discreet.reports.statistics.trials import Trial, labels_of

_Mark = tuple[str, float, str, int]
"""The configuration on whose line a mark lies, its value, the words for it, the number of its attempt."""


def tones(found: Sequence[Trial]) -> dict[str, int]:
    """A tone for every solver configuration, the same in all pictures; the native solver first, those never tried last."""
    tried = labels_of(found)
    names = sorted({trial.label for trial in found}, key=lambda name: (name not in tried, name != "tilt", name))
    return {name: tone for tone, name in enumerate(names)}


_FLOOR = 1e-16
"""Nats beyond a budget, and deviations, that are drawn as none: what rounding leaves of probabilities."""

_KEPT = {"keeps the budget": 2, "up to 1 % beyond": 3, "more than 1 % beyond": 1}
"""What an answer does to a positive budget, and the tone of its mark."""

_PRIVATE = {"exactly private": 2, "within a tolerance": 3, "not private": 1}
"""The same at perfect privacy."""


def leakage_figure(rows: Sequence[Measurement], *, counted: bool = True) -> Figure:
    """What every answer called solved leaks beyond its positive budget: one line for each configuration, in nats.

    The amount says how much harm is done; its tone, whether it is more than a solver's rounding. The words beside a line
    count its marks, except on a page, where the filters change them.
    """
    leaks = [(number, row) for number, row in enumerate(rows) if weighed(row) and row.regime != "perfect"]
    units = {measure_of(row.measure).unit if row.secrets == 1 else "" for _, row in leaks}
    unit = "nats" if units <= {"nats"} else "leakage"

    def kept(row: Measurement) -> str:
        if not row.violated:
            return "keeps the budget"
        return "more than 1 % beyond" if row.own_leakage_nats > 1.01 * row.budget_nats else "up to 1 % beyond"

    return _claims_figure(
        "leakage",
        'How far answers called "optimal" break their budget',
        f"positive budgets, the judge's numbers; up to {wording.scientific(PRIVACY_TOLERANCE)} of it beyond counts as kept",
        f"{unit} leaked beyond the budget; less than {wording.scientific(_FLOOR)} is drawn at the left edge",
        [(number, row, row.own_leakage_nats - row.budget_nats, kept(row)) for number, row in leaks],
        _KEPT,
        lambda row: f"true leakage ÷ budget: {wording.excess(row)}{wording.beyond(row)}",
        "break it" if counted else "",
    )


def perfect_figure(rows: Sequence[Measurement], *, counted: bool = True) -> Figure:
    """What every answer called solved reveals at perfect privacy: the largest relative change of a probability by a guess.

    Rows that do not record it are left out.
    """
    known = [
        (number, row)
        for number, row in enumerate(rows)
        if weighed(row) and row.regime == "perfect" and math.isfinite(row.own_private_within)
    ]

    def kept(row: Measurement) -> str:
        return "not private" if row.violated else "within a tolerance" if row.own_private_within > 0.0 else "exactly private"

    return _claims_figure(
        "perfect",
        'What answers called "optimal" reveal at perfect privacy',
        f"budget 0, the judge's numbers; up to {wording.scientific(PRIVATE_LIMIT)} counts as private",
        f"largest relative change of p(x) by a guess; less than {wording.scientific(_FLOOR)} at the left edge",
        [(number, row, row.own_private_within, kept(row)) for number, row in known],
        _PRIVATE,
        wording.excess,
        "not private" if counted else "",
        zone_from=PRIVATE_LIMIT,
    )


def _claims_figure(
    name: str,
    title: str,
    subtitle: str,
    x_label: str,
    marks: Sequence[tuple[int, Measurement, float, str]],
    tones_of: Mapping[str, int],
    told: Callable[[Measurement], str],
    broken: str,
    zone_from: float | None = None,
) -> Figure:
    """One line for each configuration, the worst below, and on it a mark for each of (number, row, amount, what it does).

    broken   the words after the number of marks that break what was asked for; empty: none
    """
    own = grouped(marks, lambda mark: mark[1].label)
    worst = {label: max(_FLOOR, *(amount for _, _, amount, _ in own[label])) for label in own}
    names = sorted(own, key=lambda label: (worst[label], label))

    def line(label: str) -> str:
        violated = sum(row.violated for _, row, _, _ in own[label])
        return f"{label}: {violated} of {len(own[label])} {broken}" if broken else label

    def strip(words: str, tone: int) -> Series:
        hint = "{0.label} on {0.instance}: claimed {0.claimed!r}, {1}"
        drawn = (
            (row.label, max(amount, _FLOOR), hint.format(row, told(row)), number)
            for number, row, amount, kept in marks
            if kept == words
        )
        return _strip(words, tone, names, drawn, hollow=tone == 3)

    found = "; ".join(f"{label}: at most {wording.scientific(worst[label])}" for label in names)
    return Figure(
        name,
        title,
        subtitle,
        x_label,
        "",
        tuple(each for each in map(strip, tones_of, tones_of.values()) if each.x),
        f"{x_label}. {found or 'None was called solved'}.",
        log_x=True,
        rows=tuple(map(line, names)),
        zone_from=zone_from,
    )


def gap_figure(rows: Sequence[Measurement]) -> Figure:
    """The width of every certified bracket relative to its upper end: one line for each configuration."""
    answered = [row for row in rows if row.answered]
    attempts, answers = Counter(row.label for row in rows), Counter(row.label for row in answered)
    names = list(attempts)

    def mark(row: Measurement) -> _Mark:
        told = f"{wording.bracket(row.lower, row.upper)}, relative gap {wording.scientific(row.relative_gap)}"
        gap = min(1.0, max(row.relative_gap, 1e-16))
        return row.label, gap, f"{row.label} on {row.instance}: {row.status.value}, {told}", -1

    certified = _strip("certified", 2, names, [mark(row) for row in answered if row.certified])
    others = _strip("not certified", 1, names, [mark(row) for row in answered if not row.certified])
    told = "; ".join(f"{row.label} on {row.instance} {wording.scientific(row.relative_gap)}" for row in answered)
    return Figure(
        "brackets",
        "Certified brackets of the optimum",
        "relative gap between the proven bound and the error probability reached",
        "relative gap, certified",
        "",
        (certified, others),
        f"Relative gaps of certified brackets: {told or 'there is no answer'}.",
        log_x=True,
        rows=tuple(f"{name}: {answers[name]} of {attempts[name]} answered" for name in names),
    )


def _strip(label: str, tone: int, names: Sequence[str], marks: Iterable[_Mark], *, hollow: bool = False) -> Series:
    """Marks on the lines of their configurations, spread a little so that they do not hide one another."""
    spread = (0.0, -0.18, 0.18, -0.32, 0.32)
    shown = sorted(mark for mark in marks if math.isfinite(mark[1]))
    lanes = tuple(names.index(who) + spread[place % len(spread)] for place, (who, *_) in enumerate(shown))
    _, values, hints, behind = zip(*shown, strict=True) if shown else ((),) * 4
    return Series(label, values, lanes, "points", tone, hints=hints, behind=behind, hollow=hollow)


SIZE_WORDS = {"outcomes": ("outcomes N", "N"), "sensors": ("sensors M", "M"), "alphabet": ("n = m", "n")}
"""What is measured against: its words, and its letter."""


def sweep_figure(sweep: Sweep, tone: Mapping[str, int]) -> Figure:
    """Seconds against size in one sweep, certified answers only, with the lines that are fitted."""
    words, letter = SIZE_WORDS[sweep.size]
    series, fits = [], {fit.contestant: fit for fit in sweep.fits}
    for curve in sorted(sweep.series, key=lambda curve: tone[curve.contestant]):
        name, sizes, label = curve.contestant, curve.sizes, curve.contestant
        if name in fits:
            fit, ends = fits[name], (fits[name].from_size, sizes[-1])
            label = f"{name} {letter}^{fit.exponent:.2f}"
            series.append(Series("", ends, tuple(fit.factor * x**fit.exponent for x in ends), "fit", tone[name], owner=name))
        hints = tuple(f"{name}\n{s:.3g} s at {letter} = {n:,.0f}" for n, s in zip(sizes, curve.costs, strict=True))
        series.append(Series(label, sizes, curve.costs, "both", tone[name], hints=hints, owner=name))
    told = (f"{each.label}: {each.y[-1]:.3g} s at {letter} = {each.x[-1]:,.0f}" for each in series if each.label)
    return Figure(
        "time",
        f"Time against {words}",
        f"{sweep.entry}, {sweep.budget}, certified to a gap of {wording.scientific(sweep.gap)}; broad pale lines are fits",
        words,
        "seconds to solve",
        tuple(series),
        f"Seconds until a certified answer. {'; '.join(told)}.",
        log_x=True,
        log_y=True,
    )


def precision_figure(rows: Sequence[Measurement], tone: Mapping[str, int], control: float | None = None) -> Figure | None:
    """Seconds against the certified gap achieved, one mark for each answer that kept its budget; None without.

    Answers whose times are not comparable are left out; control: its median, of these rows unless it is given.
    """
    control = control_of(rows) if control is None else control
    clocked = [(number, row) for number, row in enumerate(rows) if comparable(row, control)]
    kept = [(number, row) for number, row in clocked if row.answered and not row.violated and row.seconds > 0.0]
    if not kept:
        return None
    series = []
    for name in sorted({row.label for _, row in kept}, key=lambda name: tone[name]):
        numbers, own = zip(*(each for each in kept if each[1].label == name), strict=True)
        gaps, seconds = tuple(min(1.0, max(row.relative_gap, 1e-16)) for row in own), tuple(row.seconds for row in own)
        asked = (f"{name} on {row.instance}, asked {row.gap_target:g}" for row in own)
        hints = tuple(f"{a}: gap {row.relative_gap:.1e} in {row.seconds:.3g} s" for a, row in zip(asked, own, strict=True))
        series.append(Series(name, gaps, seconds, "points", tone[name], hints=hints, owner=name, behind=numbers))
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
    "data": ("Solved within a time", "share of all {} tasks certified within so many seconds", "seconds, at most"),
}
"""Title, subtitle with the number of tasks, words of the x axis."""


def profile_figure(name: str, profiles: Sequence[Profile], tone: Mapping[str, int]) -> Figure | None:
    """The "performance" or "data" profiles; None when nothing was solved."""
    reached = [profile for profile in profiles if profile.at]
    if not reached:
        return None
    start = min(profile.at[0] for profile in reached)
    end = max(max(profile.at[-1] for profile in reached), 1.01 * start)
    series = []
    for profile in sorted(reached, key=lambda profile: tone[profile.contestant]):
        who, steps = profile.contestant, zip(profile.at, profile.shares, strict=True)
        hints = ("", *(f"{share:.3g} at {wording.scientific(at, 2)}" for at, share in steps), "")
        shares = (profile.share(start), *profile.shares, profile.shares[-1])
        series.append(Series(who, (start, *profile.at, end), shares, "steps", tone[who], hints=hints, owner=who))
    title, subtitle, x_label = _PROFILES[name]
    told = "; ".join(f"{p.contestant} {p.shares[-1]:.0%}" for p in reached)
    description = f"Shares reached in the end: {told}."
    subtitle, y_range = subtitle.format(reached[0].tasks), (0.0, 1.02)
    return Figure(name, title, subtitle, x_label, "share of tasks", tuple(series), description, log_x=True, y_range=y_range)
