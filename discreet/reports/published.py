"""The published snapshot: a folder with Markdown, SVG figures and CSV that GitHub displays, made
from measurements.

Equal rows give equal bytes in any order. The snapshot contains no path and no user name of a
machine: file problems are named by their last part, messages lose their paths, and tracebacks are
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord, commits_csv, commits_figure, commits_section
from discreet.reports.html.interactive import clean_rows
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import write_folder
from discreet.reports.pictures import (
    SIZE_WORDS,
    leakage_figure,
    perfect_figure,
    precision_figure,
    profile_figure,
    sweep_figure,
    tones,
)
from discreet.reports.statistics.aggregates import PENALTIES, SHIFT_PERCENTILE
from discreet.reports.statistics.claims import NOT_TRIED
from discreet.reports.statistics.numbers import TABLES, statistics_of
from discreet.reports.statistics.scaling import WIDEST
from discreet.reports.statistics.trials import Trial, trials
from discreet.showing import numerals
from discreet.showing.data import chosen, plain, records_csv
from discreet.showing.figures import Figure, svg_files
from discreet.showing.markdown import markdown
from discreet.showing.values import Facts, Part, Section, Sentences, Table

NAMES = (
    "README.md",
    "leakage.svg",
    "perfect.svg",
    "time.svg",
    "performance.svg",
    "data.svg",
    "precision.svg",
    "commits.svg",
    "results.csv",
    "commits.csv",
)
"""Every file a snapshot may hold."""

_MOST_REASONS = 40


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
    sweeps = [each for each in statistics["sweeps"] if each.size == "outcomes" and each.constrained]
    figures = [
        leakage_figure(ordered),
        perfect_figure(ordered),
        *(sweep_figure(each, tone) for each in sweeps[:1]),
        profile_figure("performance", statistics["performance"], tone),
        profile_figure("data", statistics["data"], tone),
        precision_figure(ordered, tone),
        commits_figure(commits),
    ]
    shown = {each.name: each for each in figures if each.series}
    page = _page(plain(statistics), shown, commits)
    files = {
        "README.md": markdown([page]) + "\n",
        **svg_files(figures),
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


def _page(
    numbers: Mapping[str, Any], figures: Mapping[str, Figure], commits: Sequence[AsvRecord]
) -> Section:
    """Return the whole page. `numbers` are those of `report_numbers`; `figures` are by name, and
    none is empty.
    """
    summary = numbers["summary"]
    means = numbers["means"]
    counts = (
        f"{summary['trials']} trials of {summary['contestants']} backends on {summary['tasks']} "
        "tasks (a problem, a budget, "
        f"a gap to be certified), {summary['attempts']} attempts in all. "
        f"{summary['certified_tasks']} tasks were certified "
        f"by at least one backend; {summary['violations']} answers called solved broke their "
        "budget."
    )
    claim = (
        'A claim is a backend calling its answer solved ("optimal"); it is true when the judge '
        "certified the requested gap within the budget. The table counts claims at every budget; "
        "each picture states the claims that it shows."
    )
    averaged = (
        "Shifted geometric means of seconds with 95 % intervals over tasks. The shift is "
        f"{numerals.in_words(means['shift'])} "
        f"s, the {SHIFT_PERCENTILE:g}th percentile of all successful times. "
        f"{wording.noise(means['noise_floor'])}"
    )
    against = Sentences(
        [
            f"{each['case']}: {each['first']} and {each['second']}"
            for each in numbers["agreement"]["against"]
        ]
    )
    said = wording.agreement(numbers["agreement"]["met"], len(against.lines))
    verified = wording.verified(**numbers["agreement"]["verified"])
    origin = [(name, ", ".join(map(str, values))) for name, values in numbers["origin"].items()]
    return Section(
        "Measured: every backend on every family",
        [
            counts,
            Section(
                "Which solver should I use?",
                [wording.RANKING, Table.of("", TABLES["ranking"], numbers["ranking"])],
            ),
            Section(
                "What a claim is worth",
                [
                    *map(figures.get, ("leakage", "perfect")),
                    claim,
                    Table.of("", TABLES["claims"], numbers["claims"]),
                ],
            ),
            Section("How cost grows", [figures.get("time"), *_growth(numbers["sweeps"])]),
            Section(
                "Who solves what, how fast",
                [
                    *map(figures.get, ("performance", "data", "precision")),
                    averaged,
                    *_means(means["rows"]),
                ],
            ),
            commits_section(commits),
            Section("Agreement", [f"{said} {verified}", against if against.lines else None]),
            Section("What was not certified, and why", list(_failures(numbers["failures"]))),
            wording.limitations_section(wording.STUDY_LIMITATIONS),
            Section(
                "Measured on", [Facts("", origin), "One line a trial: [results.csv](results.csv)."]
            ),
        ],
    )


def _growth(sweeps: Iterable[Mapping[str, Any]]) -> Iterable[Part]:
    """Yield fits and crossovers of the widest constrained sweep of each kind of size."""
    widest: dict[str, Mapping[str, Any]] = {}
    for sweep in sweeps:
        if sweep["constrained"] and sweep["fits"]:
            widest.setdefault(sweep["size"], sweep)
    if not widest:
        yield (
            "No sweep says how cost grows: too few sizes above the least cost, or intervals too "
            "wide."
        )
        return
    yield (
        "Exponents of cost ≈ c · size^a over certified trials with 95 % intervals: least squares "
        "on logarithmic axes, only "
        f"where cost is at least twice its least. Intervals wider than ± {WIDEST:g} are left out."
    )
    for size, sweep in widest.items():
        yield Table.of(f"Time by {SIZE_WORDS[size][0]}", TABLES["fits"], sweep["fits"])
    crossovers = widest.get("outcomes", {"crossovers": ()})["crossovers"]
    if crossovers:
        yield "Crossovers beyond the noise:"
        yield Sentences(
            [
                f"{e['faster']} is faster than {e['slower']} from N ≈ "
                f"{numerals.number(e['size'], 2)} on"
                for e in crossovers
            ]
        )


def _means(means: Sequence[Mapping[str, Any]]) -> Iterable[Part]:
    """Yield the means for each charge of a failure, and over the tasks that all configurations
    certified.
    """
    titles: dict[float | None, str] = {
        k: f"A failure counts as {k:g} × its time limit" for k in PENALTIES
    }
    titles[None] = "Over the tasks that all certified"
    for penalty, title in titles.items():
        rows = [row for row in means if row["penalty"] == penalty and row["tasks"]]
        none = "No task was certified by all, so there is no mean over what all solved."
        yield Table.of(title, TABLES["means"], rows) if rows else none


def _failures(failures: Sequence[Mapping[str, Any]]) -> Iterable[Part]:
    skipped = {status.value for status in NOT_TRIED}
    groups = [group for group in failures if group["status"] not in skipped]
    yield Table.of("", TABLES["failures"], groups[:_MOST_REASONS]) if groups else "Nothing."
    if len(groups) > _MOST_REASONS:
        yield f"… and {len(groups) - _MOST_REASONS} reasons more."
