"""The published snapshot: a folder with Markdown, SVG figures and CSV that GitHub displays, made
from measurements.

Equal rows give equal bytes in any order. The snapshot contains no path and no user name of a
machine: file problems are named by their last part, messages lose their paths, and tracebacks are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.reports.asv_results import AsvRecord, commits_csv, commits_section
from discreet.reports.html.interactive import clean_rows
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import write_folder
from discreet.reports.pictures import (
    SIZE_WORDS,
    leakage_figure,
    perfect_figure,
    precision_figure,
    tones,
)
from discreet.reports.sections import HEADINGS, report_sections
from discreet.reports.statistics.numbers import statistics_of
from discreet.reports.statistics.trials import Trial, trials
from discreet.showing.data import chosen, records_csv
from discreet.showing.figures import svg_files
from discreet.showing.markdown import markdown
from discreet.showing.values import Part, Section

NAMES = (
    "README.md",
    "leakage.svg",
    "perfect.svg",
    *(f"time-{size}.svg" for size in SIZE_WORDS),
    "performance.svg",
    "data.svg",
    "precision.svg",
    "commits.svg",
    "results.csv",
    "commits.csv",
)
"""Every file a snapshot may hold."""


def publish(
    rows: Sequence[Measurement],
    folder: str | Path,
    commits: Sequence[AsvRecord] = (),
    *,
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write the snapshot of these rows, and of asv's results over commits, into a folder, which is
    created if necessary, and return the paths.

    Raises InputError without rows; FileError, changing nothing, if a name is taken by a file that
    was not made here or has changed since (unless it is to be overwritten), or if the folder cannot
    be written.
    """
    if not rows:
        raise InputError(
            "there are no measurements to publish; give the results of a discreet "
            "bench that has run"
        )
    ordered = clean_rows(rows)
    all_trials = trials(ordered)
    tone = tones(all_trials)
    statistics = statistics_of(ordered)
    claims = (leakage_figure(ordered), perfect_figure(ordered))
    sections = report_sections(statistics, tone, claims, precision_figure(ordered, tone))
    page = _page(statistics["summary"], sections | commits_section(commits))
    files = {
        "README.md": markdown([page]) + "\n",
        **svg_files(page.figures()),
        "results.csv": records_csv([_record(trial) for trial in all_trials]),
    }
    if commits:
        files["commits.csv"] = commits_csv(commits)
    return write_folder(folder, files, {"kind": "snapshot", "rows": len(rows)}, overwrite=overwrite)


def _record(trial: Trial) -> dict[str, Any]:
    row = trial.rows[0]
    peaks = [each.peak_bytes for each in trial.rows if each.peak_bytes is not None]
    problem = (
        "problem",
        "family",
        "budget_nats",
        "private_values",
        "guesses",
        "outcomes",
        "gap_target",
    )
    answer = ("claimed", "lower", "upper", "relative_gap", "leakage_over_budget")
    privacy = ("own_private_within", "leakage_ceiling_nats")
    return {
        **chosen(row, problem),
        "budget": row.limit,
        "backend": trial.label,
        "repeats": len(trial.rows),
        "status": max(trial.rows, key=lambda each: not each.certified).status.value,
        **chosen(row, answer + privacy),
        "seconds": trial.seconds if trial.timed else None,
        "peak_bytes": max(peaks, default=None),
        "message": row.message,
    }


def _page(summary: Mapping[str, Any], sections: Mapping[str, Sequence[Part]]) -> Section:
    """Return the whole page."""
    counts = (
        f"{summary['trials']} trials of {summary['contestants']} backends on {summary['tasks']} "
        "tasks (a problem, a budget, "
        f"a gap to be certified), {summary['attempts']} attempts in all. "
        f"{summary['certified_tasks']} tasks were certified "
        f"by at least one backend; {summary['violations']} answers called solved broke their "
        "budget."
    )
    titled = [
        Section(title, [lead, *(sections[name] or [otherwise])])
        for name, (title, lead, otherwise) in HEADINGS.items()
        if name in sections
    ]
    files = "One line a trial: [results.csv](results.csv)."
    if sections.get("commits"):
        files += " Every value over commits: [commits.csv](commits.csv)."
    return Section("Measured: every backend on every family", [counts, *titled, files])
