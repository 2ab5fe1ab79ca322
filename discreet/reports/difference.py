"""The changes between two studies as a page, and one study in Bencher's metric format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.reports.measurements import Measurement
from discreet.reports.statistics.changes import Change, Changes
from discreet.reports.statistics.trials import trials
from discreet.showing import numerals
from discreet.showing.values import Section, Table

_KINDS = ("wrong", "worse", "better")


def page(changes: Changes) -> Section:
    """Return a verdict, followed by tables of what became wrong, worse and better."""
    tables = [_table(kind.capitalize(), changes.of(kind)) for kind in _KINDS]
    return Section("discreet diff", [verdict(changes), *filter(None, tables), _origin(changes)])


def verdict(changes: Changes) -> str:
    """Return a sentence that states how much changed."""
    counts = [f"{len(changes.of(kind))} {kind}" for kind in _KINDS]
    return f"**{', '.join(counts)}.**" if changes.changes else "**No change beyond the noise.**"


def _table(title: str, changes: Sequence[Change]) -> Section | None:
    lines = [
        (
            each.contestant,
            each.instance or "all",
            numerals.scientific(each.gap) if each.gap else numerals.NOTHING,
            each.what,
        )
        for each in changes
    ]
    table = Table("", ("backend", "instance", "gap", "change"), lines)
    return Section(title, [table]) if lines else None


def _origin(changes: Changes) -> str:
    timed = sum(pair.timed for pair in changes.pairs)
    noise = (
        "Times are not compared, as no attempt was repeated."
        if math.isnan(changes.noise)
        else f"Times of {timed} of them are compared; the noise is a factor of {changes.noise:.2f}."
    )
    return (
        f"{len(changes.pairs)} pairs of trials were compared. {noise} {changes.only_before} trials "
        f"are in the first study only, {changes.only_after} in the second only."
    )


def record(changes: Changes) -> dict[str, Any]:
    """Return the changes as plain values, for machines."""
    return {
        **{kind: changes.of(kind) for kind in _KINDS},
        "pairs": len(changes.pairs),
        "timed_pairs": sum(pair.timed for pair in changes.pairs),
        "noise": changes.noise,
        "only_before": changes.only_before,
        "only_after": changes.only_after,
    }


def bencher_metrics(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Return a study in Bencher's metric format: a benchmark for each trial, by configuration and
    task.

    latency is in nanoseconds, with the shortest and longest timing, if the trial is certified;
    certified and wrong-claim are 0 or 1; relative-gap is the certified gap, if there is one.

    Source: Bencher, "Bencher Metric Format (BMF)", bencher.dev.
    """
    return {
        f"{trial.label} on {trial.task.instance} to {trial.task.gap:g}": {
            "certified": {"value": float(trial.success)},
            "wrong-claim": {"value": float(trial.wrong)},
            **({"relative-gap": {"value": trial.achieved}} if trial.kept else {}),
            **({"latency": _latency(trial.seconds, trial.timings)} if trial.success else {}),
        }
        for trial in trials(rows)
        if trial.tried
    }


def _latency(seconds: float, timings: Sequence[float]) -> dict[str, float]:
    ends = timings or (seconds,)
    return {
        "value": 1e9 * seconds,
        "lower_value": 1e9 * min(ends),
        "upper_value": 1e9 * max(ends),
    }
