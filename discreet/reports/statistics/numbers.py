"""Every number of a report for the rows given, as plain values: what `discreet report --json` prints.

`numbersOf` in the page's statistics.js computes the same, under the same names, for whatever the filters leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from discreet.reports.measurements import Measurement
from discreet.reports.outputs import plain
from discreet.reports.statistics.aggregates import (
    PENALTIES,
    SHIFT_PERCENTILE,
    fitting_shift,
    means,
    noise_floor,
    student_quantiles,
)
from discreet.reports.statistics.agreement import ALLOWED, agreements, summarise
from discreet.reports.statistics.claims import ClaimRecord, claim_records, claimed_leaks, failure_groups
from discreet.reports.statistics.profiles import data_profiles, performance_profiles, work_precision
from discreet.reports.statistics.scaling import ABOVE_FLOOR, FEWEST, WIDEST, Sweep, crossovers, fit_exponent, sweeps
from discreet.reports.statistics.trials import NOT_TRIED, Trial, by_task, labels_of, trials


def specification() -> dict[str, Any]:
    """The constants of the statistics, for the scripts that compute them again."""
    return {
        "penalties": PENALTIES,
        "shift_percentile": SHIFT_PERCENTILE,
        "student": student_quantiles(),
        "not_tried": sorted(status.value for status in NOT_TRIED),
        "above_floor": ABOVE_FLOOR,
        "fewest": FEWEST,
        "widest": WIDEST,
        "allowed": ALLOWED,
    }


def report_numbers(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Name -> numbers of a section; undefined and infinite numbers are None, times in seconds."""
    found = trials(rows)
    ordered = [row for trial in found for row in trial.rows]
    floor = noise_floor(found)
    claims = claim_records(ordered)
    shown = ("contestant", "instance", "gap", "ratio", "violated")
    numbers = {
        "summary": _summary(ordered, found, claims),
        "claims": [asdict(record) | {"correct_rate": record.correct_rate} for record in claims],
        "leaks": [{name: getattr(leak, name) for name in shown} for leak in claimed_leaks(ordered)],
        "sweeps": [_sweep(sweep, floor) for sweep in sweeps(found)],
        "work_precision": [asdict(point) for point in work_precision(found)],
        "performance": [asdict(profile) for profile in performance_profiles(found)],
        "data": [asdict(profile) for profile in data_profiles(found)],
        "means": {"shift": fitting_shift(found), "noise_floor": floor, "rows": [asdict(mean) for mean in means(found)]},
        "agreement": _agreement(ordered),
        "failures": [asdict(group) | {"status": group.status.value} for group in failure_groups(ordered)],
        "origin": _origin(ordered),
    }
    return dict(plain(numbers))


def machine_words(row: Measurement) -> str:
    """The machine of a row in one line; empty where it was not recorded."""
    known = ("processor", "cores", "memory_gib", "system")
    return ", ".join(f"{name.replace('_gib', ' GiB')}: {row.machine[name]}" for name in known if name in row.machine)


def _summary(rows: Sequence[Measurement], found: Sequence[Trial], claims: Sequence[ClaimRecord]) -> dict[str, int]:
    tasks = by_task(found)
    return {
        "attempts": len(rows),
        "trials": sum(trial.tried for trial in found),
        "contestants": len(labels_of(found)),
        "tasks": len(tasks),
        "certified_tasks": sum(any(trial.success for trial in met.values()) for met in tasks.values()),
        "claims": sum(record.claims for record in claims),
        "true_claims": sum(record.true_claims for record in claims),
        "violations": sum(record.violations for record in claims),
    }


def _sweep(sweep: Sweep, floor: float) -> dict[str, Any]:
    fits = [fit for fit in map(fit_exponent, sweep.series) if fit is not None]
    return asdict(sweep) | {
        "fits": [asdict(fit) for fit in fits],
        "crossovers": [asdict(each) for each in crossovers(sweep.series, floor if math.isfinite(floor) else 1.0)],
    }


def _agreement(rows: Sequence[Measurement]) -> dict[str, Any]:
    found = agreements(rows)
    pairs = summarise(found)
    return {
        "contestants": sorted({row.label for row in rows if row.answered}),
        "met": len(found),
        "touching": sum(pair.touching for pair in found),
        "against": [{"case": pair.case, "first": pair.first, "second": pair.second} for pair in found if not pair.agree],
        "pairs": [asdict(pairs[key]) for key in sorted(pairs) if key[0] < key[1]],
    }


def _origin(rows: Sequence[Measurement]) -> dict[str, Any]:
    return {
        "machines": sorted({machine_words(row) for row in rows} - {""}),
        "versions": sorted({f"{name} {version}" for row in rows for name, version in row.versions.items()}),
        "days": sorted({row.started[:10] for row in rows} - {""}),
        "commits": sorted({row.commit[:12] for row in rows} - {""}),
        "threads": sorted({row.threads for row in rows}),
    }
