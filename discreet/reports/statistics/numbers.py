"""All numbers of a report on the given rows, as plain values. `discreet report --json` prints them,
and the sections of a report show them. The key `contestant` holds the label of a solver
configuration, as typed on the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from discreet.reports import wording
from discreet.reports.measurements import Measurement
from discreet.reports.statistics.aggregates import fitting_shift, means, noise_floor
from discreet.reports.statistics.agreement import agreements, summarise
from discreet.reports.statistics.claims import (
    NOT_TRIED,
    ClaimRecord,
    claim_records,
    claimed_leaks,
    failure_groups,
)
from discreet.reports.statistics.profiles import data_profiles, performance_profiles
from discreet.reports.statistics.ranking import CLASSES, ranking
from discreet.reports.statistics.scaling import sweeps
from discreet.reports.statistics.trials import (
    Trial,
    by_task,
    comparable,
    control_of,
    labels_of,
    timed,
    trials,
)
from discreet.showing.data import plain

TABLES = {
    "ranking": {
        "backend": "contestant",
        "solved": "solved",
        "of": "tasks",
        "wrong claims": "wrong",
        "seconds ÷ best": "seconds_over_best",
        **{words: name for name, words in CLASSES.items()},
    },
    "claims": {
        "backend": "contestant",
        "attempts": "attempts",
        "claimed": "claims",
        "true": "true_claims",
        "correct rate": "correct_rate",
        "broke the budget": "violations",
        "worst leakage ÷ budget": "worst_leakage",
        "largest deviation at budget 0": "worst_deviation",
        "certified, not claimed": "unclaimed",
    },
    "fits": {
        "backend": "contestant",
        "exponent": "exponent",
        "from": "low",
        "to": "high",
        "sizes": "points",
    },
    "precision": {
        "backend": "contestant",
        "answers": "answers",
        "median gap": "median_gap",
        "largest gap": "largest_gap",
        "median seconds": "median_seconds",
    },
    "means": {
        "backend": "contestant",
        "tasks": "tasks",
        "failures": "failures",
        "seconds": "seconds",
        "from": "low",
        "to": "high",
    },
    "failures": {
        "backend": "contestant",
        "status": "status",
        "reason": "reason",
        "times": "count",
        "for example": "example",
    },
}
"""The tables of these numbers: each heading with the key of its values."""


def statistics_of(rows: Sequence[Measurement], control: float | None = None) -> dict[str, Any]:
    """Return a dictionary from the name of a section to its statistics, some of them as records of
    their own types. Times are in seconds.

    control   the median seconds of the control; give it if the rows are a part of those that
              determine it
    """
    control = control_of(rows) if control is None else control
    all_trials = trials(rows, control)
    ordered = [row for trial in all_trials for row in trial.rows]
    clocked = timed(all_trials)
    floor = noise_floor(all_trials)
    claims = claim_records(ordered)
    kept = [trial for trial in all_trials if trial.kept]
    return {
        "summary": _summary(ordered, all_trials, claims),
        "ranking": [rank.record for rank in ranking(all_trials)],
        "claims": [plain(record) | {"correct_rate": record.correct_rate} for record in claims],
        "leaks": [
            {"contestant": row.label, "instance": row.instance, "gap": row.gap_target}
            | {"ratio": row.leakage_over_budget, "violated": row.violated}
            for row in claimed_leaks(ordered)
        ],
        "sweeps": sweeps(
            [trial for trial in all_trials if trial.timed], floor if math.isfinite(floor) else 1.0
        ),
        "work_precision": [
            {"contestant": trial.label, "instance": trial.task.instance, "asked": trial.task.gap}
            | {"achieved": trial.achieved, "seconds": trial.seconds if trial.timed else math.nan}
            for trial in kept
        ],
        "precision": _precision(kept),
        "performance": performance_profiles(clocked),
        "data": data_profiles(clocked),
        "means": {"shift": fitting_shift(clocked), "noise_floor": floor, "rows": means(clocked)},
        "agreement": _agreement(ordered),
        "failures": failure_groups(ordered),
        "origin": _origin(ordered, control),
    }


def report_numbers(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Return the statistics of `statistics_of` as plain values; undefined and infinite numbers
    become None.
    """
    return dict(plain(statistics_of(rows)))


def machine_words(row: Measurement) -> str:
    """Describe the machine of a row in one line; the text is empty if the machine was not
    recorded.
    """
    known = ("processor", "cores", "memory_gib", "system")
    return ", ".join(
        f"{name.replace('_gib', ' GiB')}: {row.machine[name]}"
        for name in known
        if name in row.machine
    )


def _summary(
    rows: Sequence[Measurement], trials: Sequence[Trial], claims: Sequence[ClaimRecord]
) -> dict[str, int]:
    tasks = by_task(trials)
    return {
        "attempts": len(rows),
        "trials": sum(trial.tried for trial in trials),
        "contestants": len(labels_of(trials)),
        "tasks": len(tasks),
        "certified_tasks": sum(
            any(trial.success for trial in met.values()) for met in tasks.values()
        ),
        **{
            name: sum(getattr(each, name) for each in claims)
            for name in ("claims", "true_claims", "violations")
        },
    }


def _precision(kept: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return one record for each configuration with the gaps that were certified, which may differ
    from those requested, and the seconds.
    """
    lines = []
    for name in labels_of(kept):
        own = [trial for trial in kept if trial.label == name]
        gaps = [trial.achieved for trial in own]
        seconds = [trial.seconds for trial in own if trial.timed]
        widths = {"median_gap": median(gaps), "largest_gap": max(gaps)}
        middle = median(seconds) if seconds else math.nan
        lines.append({"contestant": name, "answers": len(gaps), **widths, "median_seconds": middle})
    return lines


def _agreement(rows: Sequence[Measurement]) -> dict[str, Any]:
    pairs = agreements(rows)
    return {
        "contestants": sorted({row.label for row in rows if row.answered}),
        "met": len(pairs),
        "against": [
            {"case": pair.case, "first": pair.first, "second": pair.second}
            for pair in pairs
            if not pair.agree
        ],
        "pairs": summarise(pairs),
        "verified": {
            "certified": sum(row.certified for row in rows),
            "asked": sum(row.certified and row.contradictions is not None for row in rows),
            "contradicted": sum(bool(row.contradictions) for row in rows),
        },
    }


def shared_words(rows: Sequence[Measurement], control: float | None = None) -> str:
    """Return a sentence on the shared attempts (`Measurement.shared`) and on how many of their
    times are compared nevertheless; the text is empty if there are none.
    """
    control = control_of(rows) if control is None else control
    tried = [row for row in rows if row.status not in NOT_TRIED]
    shared = [row for row in tried if row.shared]
    if not shared:
        return ""
    executors = sorted({row.executor for row in shared})
    hosts = {row.host for row in shared} - {""}
    return wording.shared(
        len(shared),
        len(tried),
        sum(comparable(row, control) for row in shared),
        executors,
        len(hosts),
    )


def _origin(rows: Sequence[Measurement], control: float) -> dict[str, Any]:
    others = sorted({row.label for row in rows if row.submitted})
    sharing = shared_words(rows, control)
    return {
        **({"shared": [sharing]} if sharing else {}),
        **({"submitted": [f"{', '.join(others)}: {wording.SUBMITTED}"]} if others else {}),
        "machines": sorted({machine_words(row) for row in rows} - {""}),
        "versions": sorted(
            {f"{name} {version}" for row in rows for name, version in row.versions.items()}
        ),
        "days": sorted({row.started[:10] for row in rows} - {""}),
        "commits": sorted({row.commit[:12] for row in rows} - {""}),
        "threads": sorted({row.threads for row in rows}),
    }
