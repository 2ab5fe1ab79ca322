"""The figures of results: claims, gaps, time against size, profiles, work–precision, privacy–utility curves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.reports import wording
from discreet.reports.curve import Frontier
from discreet.reports.figures import Figure, Series
from discreet.reports.measurements import Measurement
from discreet.reports.statistics.claims import claimed_leaks
from discreet.reports.statistics.profiles import Profile, data_profiles, performance_profiles
from discreet.reports.statistics.scaling import sweeps
from discreet.reports.statistics.trials import Trial, labels_of

_Mark = tuple[str, float, str]
"""The configuration on whose line a mark lies, its value, and the words for it."""


def tones(found: Sequence[Trial]) -> dict[str, int]:
    """A tone for every solver configuration, the same in all pictures; the native solver first, those never tried last."""
    tried = labels_of(found)
    names = sorted({trial.contestant for trial in found}, key=lambda name: (name not in tried, name != "tilt", name))
    return {name: tone for tone, name in enumerate(names)}


def leakage_figure(rows: Sequence[Measurement]) -> Figure:
    """What every answer called solved really leaks, as a multiple of its budget: one line a solver configuration.

    At budget 0 the ratio is ‖ΦP‖∞ ÷ what counts as zero. What lies right of 1 breaks the budget.
    """
    leaks = claimed_leaks(rows)
    weighed, broken = Counter(row.label for row in leaks), Counter(row.label for row in leaks if row.violated)
    worst = {name: max(row.leakage_over_budget for row in leaks if row.label == name) for name in weighed}
    names = sorted(worst, key=lambda name: (worst[name], name))

    def mark(row: Measurement) -> _Mark:
        told = f"claimed {row.claimed!r}, leaks {wording.scientific(row.leakage_over_budget)} × the budget"
        return row.label, max(row.leakage_over_budget, 1e-2), f"{row.label} on {row.instance}: {told}"

    kept = _strip("keeps the budget", 2, names, [mark(row) for row in leaks if not row.violated])
    broke = _strip("breaks it", 1, names, [mark(row) for row in leaks if row.violated])
    told = "; ".join(f"{name}: largest {wording.scientific(worst[name])} ×" for name in names) or "none was called solved"
    return Figure(
        "leakage",
        'What answers called "optimal" really leak',
        "true leakage ÷ budget; at perfect privacy ΦP ÷ what counts as zero",
        "right of 1 the budget is broken; ratios below 0.01 are drawn at 0.01",
        "",
        (kept, broke),
        f"True leakage over budget of claimed successes. {told}.",
        log_x=True,
        rows=tuple(f"{name}: {broken[name]} of {weighed[name]} broken" for name in names),
        zone_from=1.0,
    )


def gap_figure(rows: Sequence[Measurement]) -> Figure:
    """The width of every certified bracket relative to its upper end: one line a solver configuration."""
    answered = [row for row in rows if row.answered]
    attempts, answers = Counter(row.label for row in rows), Counter(row.label for row in answered)
    names = list(attempts)

    def mark(row: Measurement) -> _Mark:
        told = f"{wording.bracket(row.lower, row.upper)}, relative gap {wording.scientific(row.relative_gap)}"
        gap = min(1.0, max(row.relative_gap, 1e-16))
        return row.label, gap, f"{row.label} on {row.instance}: {row.status.value}, {told}"

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


def _strip(label: str, tone: int, names: Sequence[str], marks: Iterable[_Mark]) -> Series:
    """Marks on the lines of their configurations, spread a little so that they do not hide one another."""
    spread = (0.0, -0.18, 0.18, -0.32, 0.32)
    shown = sorted(mark for mark in marks if math.isfinite(mark[1]))
    lanes = tuple(names.index(who) + spread[place % len(spread)] for place, (who, _, _) in enumerate(shown))
    values, hints = tuple(value for _, value, _ in shown), tuple(words for _, _, words in shown)
    return Series(label, values, lanes, "points", tone, hints=hints)


def time_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """Seconds against N in the widest sweep with a positive budget, certified answers only; None without a sweep."""
    sweep = next((each for each in sweeps(found) if each.size == "outcomes" and each.constrained), None)
    if sweep is None:
        return None
    series, words, exponents = [], [], {fit.contestant: fit.exponent for fit in sweep.fits}
    drawn = [curve for curve in sweep.series if len(curve.sizes) > 1]
    for curve in sorted(drawn, key=lambda curve: tone[curve.contestant]):
        name = curve.contestant
        label = f"{name} N^{exponents[name]:.2f}" if name in exponents else name
        hints = tuple(f"{curve.contestant}, N = {n:,.0f}: {s:.3g} s" for n, s in zip(curve.sizes, curve.costs, strict=True))
        series.append(Series(label, curve.sizes, curve.costs, "both", tone[curve.contestant], hints=hints))
        words.append(f"{label}: {curve.costs[-1]:.3g} s at N = {curve.sizes[-1]:,.0f}")
    if not series:
        return None
    return Figure(
        "time",
        "Time against the number of outcomes",
        f"{sweep.entry}, {sweep.budget}, certified to a relative gap of {sweep.gap:g}",
        "outcomes N",
        "seconds to solve",
        tuple(series),
        "Seconds until a certified answer. " + "; ".join(words) + ".",
        log_x=True,
        log_y=True,
    )


def performance_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """The Dolan–Moré profile; None when nothing was solved."""
    profiles = performance_profiles(found)
    n = max((profile.tasks for profile in profiles), default=0)
    subtitle = f"share of the {n} tasks that any backend certified; a failure counts as infinite time"
    return _profile_figure("performance", "Performance profile", subtitle, "time ÷ best time, at most", profiles, tone)


def data_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """Seconds against the share solved; None when nothing was solved."""
    profiles = data_profiles(found)
    n = max((profile.tasks for profile in profiles), default=0)
    return _profile_figure("data", "Solved within a time", f"share of all {n} tasks", "seconds, at most", profiles, tone)


def precision_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """Seconds against the certified gap achieved, one mark a trial; None without an answer."""
    kept = [trial for trial in found if trial.kept and trial.seconds > 0.0]
    if not kept:
        return None
    series = []
    for name in sorted({trial.contestant for trial in kept}, key=lambda name: tone[name]):
        own = [trial for trial in kept if trial.contestant == name]
        gaps = tuple(min(1.0, max(trial.achieved, 1e-16)) for trial in own)
        asked = (f"{name} on {trial.task.instance}, asked {trial.task.gap:g}" for trial in own)
        hints = tuple(f"{a}: gap {t.achieved:.1e} in {t.seconds:.3g} s" for a, t in zip(asked, own, strict=True))
        series.append(Series(name, gaps, tuple(trial.seconds for trial in own), "points", tone[name], hints=hints))
    return Figure(
        "precision",
        "Work and precision",
        "every answer that kept its budget, at the gap certified for it",
        "relative gap achieved, certified",
        "seconds to solve",
        tuple(series),
        f"Seconds against the certified gap of {len(kept)} answers.",
        log_x=True,
        log_y=True,
    )


def _profile_figure(
    name: str, title: str, subtitle: str, x_label: str, profiles: Sequence[Profile], tone: Mapping[str, int]
) -> Figure | None:
    reached = [profile for profile in profiles if profile.at]
    if not reached:
        return None
    start = min(profile.at[0] for profile in reached)
    end = max(max(profile.at[-1] for profile in reached), 1.01 * start)
    series = tuple(
        Series(
            profile.contestant,
            (start, *profile.at, end),
            (profile.share(start), *profile.shares, profile.shares[-1]),
            "steps",
            tone[profile.contestant],
        )
        for profile in sorted(reached, key=lambda profile: tone[profile.contestant])
    )
    words = "; ".join(f"{p.contestant} {p.shares[-1]:.0%}" for p in reached)
    description = f"Shares reached in the end: {words}."
    return Figure(name, title, subtitle, x_label, "share of tasks", series, description, log_x=True, y_range=(0.0, 1.02))


def curve_figure(curve: Frontier) -> Figure:
    """The curve over budgets from 0 to I_MAP, with the solved ones."""
    envelope, grid, bayes_error = curve.envelope, curve_grid(curve), curve.bayes_error_probability
    upper, lower = envelope.upper(grid), envelope.lower(grid)
    solved = _solved(curve)
    at = envelope.upper(solved)
    hints = tuple(
        f"budget {wording.number(float(budget), 4)} nats: error probability {wording.bracket(float(low), float(high))}"
        for budget, low, high in zip(solved, envelope.lower(solved), at, strict=True)
    )
    perfect, free = float(at[0]) if solved.size else float(upper[0]), float(upper[-1])
    return Figure(
        name="frontier",
        title=f"Privacy and utility: {curve.problem or 'problem'}",
        subtitle=f"{len(curve.rows)} points; certified within {wording.number(100 * curve.width, 2)} % of its height",
        x_label="leakage budget ε, nats",
        y_label="error probability",
        series=(
            Series("between the envelopes", floats(grid), floats(upper), "line", 0, floats(lower), floats(upper)),
            Series("solved", floats(solved), floats(at), "points", 0, hints=hints),
            Series("the Bayes rule, no privacy", (0.0, envelope.horizon), (bayes_error, bayes_error), "line", 5),
        ),
        description=(
            f"The best error probability falls from {wording.number(perfect, 4)} at perfect privacy to "
            f"{wording.number(free, 4)} at {wording.number(envelope.horizon, 4)} nats, convex in between."
        ),
    )


def curve_grid(curve: Frontier) -> Array:
    """Budgets from 0 to I_MAP, dense near 0 where the curve is steep, among them every vertex and the solved ones."""
    even = curve.envelope.horizon * np.linspace(0.0, 1.0, 160) ** 2
    return np.unique(np.concatenate([even, curve.envelope.vertices[:, 0], _solved(curve)]))


def _solved(curve: Frontier) -> Array:
    return np.array([row.budget_nats for row in curve.rows if row.budget_nats <= curve.envelope.horizon])


def floats(values: Array) -> tuple[float, ...]:
    """An array as the plain numbers that a `Series` holds."""
    return tuple(float(value) for value in values)
