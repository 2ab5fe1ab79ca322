"""The other pictures of a snapshot as `Figure`s: time against size, profiles, work–precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.reports.figures import Figure, Series
from discreet.reports.statistics.profiles import Profile, data_profiles, performance_profiles, work_precision
from discreet.reports.statistics.scaling import fit_exponent, series_by_size
from discreet.reports.statistics.trials import Trial, contestants

__all__ = ["data_figure", "performance_figure", "precision_figure", "time_figure", "tones", "widest_sweep"]


def tones(found: Sequence[Trial]) -> dict[str, int]:
    """A tone for every contestant, the same in all pictures; the native solver first."""
    names = sorted(contestants(found), key=lambda name: (name != "tilt", name))
    return {name: tone for tone, name in enumerate(names)}


def widest_sweep(found: Sequence[Trial]) -> tuple[Trial, ...]:
    """The trials of the family of problems, budget and gap that spans the most sizes N: one curve a contestant.

    Trials of different problems at one size would make a curve of their mixture.
    """
    groups: dict[tuple[str, str, float], list[Trial]] = {}
    for trial in found:
        row = trial.rows[0]
        if row.regime == "constrained":
            groups.setdefault((row.entry, row.budget_word, row.gap_target), []).append(trial)
    if not groups:
        return ()

    def breadth(key: tuple[str, str, float]) -> tuple[int, int, str]:
        sizes = {trial.rows[0].outcomes for trial in groups[key]}
        return len(sizes), sum(trial.success for trial in groups[key]), repr(key)

    return tuple(groups[max(groups, key=breadth)])


def time_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """Seconds against N on logarithmic axes, certified answers only, with the exponents; None without a sweep."""
    sweep = widest_sweep(found)
    curves = [series for series in series_by_size(sweep, "outcomes") if len(series.sizes) > 1]
    if not curves:
        return None
    series, words = [], []
    for curve in sorted(curves, key=lambda curve: tone[curve.contestant]):
        fit = fit_exponent(curve)
        label = curve.contestant if fit is None else f"{curve.contestant} N^{fit.exponent:.2f}"
        hints = tuple(f"{curve.contestant}, N = {n:,.0f}: {s:.3g} s" for n, s in zip(curve.sizes, curve.costs, strict=True))
        series.append(Series(label, curve.sizes, curve.costs, "both", tone[curve.contestant], hints=hints))
        words.append(f"{label}: {curve.costs[-1]:.3g} s at N = {curve.sizes[-1]:,.0f}")
    row = sweep[0].rows[0]
    return Figure(
        "time",
        "Time against the number of outcomes",
        f"{row.entry}, {row.budget_word}, certified to a relative gap of {row.gap_target:g}",
        "outcomes N",
        "seconds to solve",
        tuple(series),
        "Seconds until a certified answer. " + "; ".join(words) + ".",
        log_x=True,
        log_y=True,
    )


def performance_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """The Dolan–Moré profile; None when nobody solved anything."""
    profiles = performance_profiles(found)
    n = max((profile.tasks for profile in profiles), default=0)
    subtitle = f"share of the {n} tasks somebody certified; failures are infinite"
    return _profile_figure("performance", "Performance profile", subtitle, "time ÷ best time, at most", profiles, tone)


def data_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """Seconds against the share solved; None when nobody solved anything."""
    profiles = data_profiles(found)
    n = max((profile.tasks for profile in profiles), default=0)
    return _profile_figure("data", "Solved within a time", f"share of all {n} tasks", "seconds, at most", profiles, tone)


def precision_figure(found: Sequence[Trial], tone: Mapping[str, int]) -> Figure | None:
    """Seconds against the certified gap achieved, one mark a trial; None without an answer."""
    points = [point for point in work_precision(found) if point.seconds > 0.0]
    if not points:
        return None
    series = []
    for name in sorted({point.contestant for point in points}, key=lambda name: tone[name]):
        own = [point for point in points if point.contestant == name]
        gaps = tuple(min(1.0, max(point.achieved, 1e-16)) for point in own)
        hints = tuple(f"{name} on {p.instance}, asked {p.asked:g}: gap {p.achieved:.1e} in {p.seconds:.3g} s" for p in own)
        series.append(Series(name, gaps, tuple(p.seconds for p in own), "points", tone[name], hints=hints))
    return Figure(
        "precision",
        "Work and precision",
        "every answer that kept its budget, at the gap certified for it",
        "relative gap achieved, certified",
        "seconds to solve",
        tuple(series),
        f"Seconds against the certified gap of {len(points)} answers.",
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
