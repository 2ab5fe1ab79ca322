"""What stands in the files of a snapshot."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from discreet.reports.asv_results import AsvRecord
from discreet.reports.figure_svg import standalone
from discreet.reports.measurements import Measurement
from discreet.reports.published.commits import commits_csv, commits_figure
from discreet.reports.published.leakage import leakage_picture
from discreet.reports.published.page import snapshot_page
from discreet.reports.published.pictures import (
    data_figure,
    performance_figure,
    precision_figure,
    time_figure,
    tones,
    widest_sweep,
)
from discreet.reports.statistics.claims import claimed_leaks
from discreet.reports.statistics.trials import Trial, trials

__all__ = ["contents"]

_PATH = re.compile(r"(?:[A-Za-z]:[\\/]|[\\/]|~[\\/])(?:[^\s\\/'\":,;]+[\\/])+")


def contents(rows: Sequence[Measurement], commits: Sequence[AsvRecord] = ()) -> dict[str, str]:
    """Name -> text of every file; `commits` are results of asv."""
    clean = [_without_paths(row) for row in rows]
    found = trials(clean)
    ordered = [row for trial in found for row in trial.rows]
    tone = tones(found)
    figures = [make(found, tone) for make in (time_figure, performance_figure, data_figure, precision_figure)]
    figures.append(commits_figure(commits))
    pictures = {"leakage.svg": leakage_picture(claimed_leaks(ordered))}
    pictures |= {f"{figure.name}.svg": standalone(figure) for figure in figures if figure is not None}
    stems = [name.removesuffix(".svg") for name in pictures]
    page = snapshot_page(ordered, found, widest_sweep(found), stems, commits)
    history = {"commits.csv": commits_csv(commits)} if commits else {}
    return {"README.md": page, **pictures, "results.csv": _csv(found), **history}


def _without_paths(row: Measurement) -> Measurement:
    def bare(words: str) -> str:
        return _PATH.sub("", words)

    machine = {name: value for name, value in row.machine.items() if name in ("processor", "cores", "memory_gib", "system")}
    return replace(
        row, problem=bare(row.problem), message=bare(row.message), claimed=bare(row.claimed), traceback="", machine=machine
    )


def _csv(found: Sequence[Trial]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(_record(found[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_record(trial) for trial in found)
    return text.getvalue()


def _record(trial: Trial) -> dict[str, str | int | float | None]:
    row = trial.rows[0]
    peaks = [each.peak_bytes for each in trial.rows if each.peak_bytes is not None]
    return {
        "problem": row.problem,
        "family": row.family,
        "budget": row.budget_word,
        "budget_nats": _number(row.budget_nats),
        "private_values": row.private_values,
        "guesses": row.guesses,
        "outcomes": row.outcomes,
        "gap_target": row.gap_target,
        "backend": trial.contestant,
        "repeats": len(trial.rows),
        "status": max(trial.rows, key=lambda each: not each.certified).status.value,
        "claimed": row.claimed,
        "lower": _number(row.lower),
        "upper": _number(row.upper),
        "relative_gap": _number(row.relative_gap),
        "leakage_over_budget": _number(row.leakage_over_budget),
        "seconds": trial.seconds,
        "peak_bytes": max(peaks, default=None),
        "message": row.message,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
