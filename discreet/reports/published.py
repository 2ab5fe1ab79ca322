"""The published snapshot: a folder that GitHub shows, with Markdown, SVG pictures and one CSV, made from measurements.

Equal rows give equal bytes, in whatever order they come. No path and no user name of a machine gets in: file problems are
named by their last part, messages lose their paths, and tracebacks are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.problems.errors import InputError
from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord, commits_csv, commits_figure, commits_section
from discreet.reports.figure_svg import standalone
from discreet.reports.html.data import cleaned
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import check_folder, csv_text, plain, write_folder
from discreet.reports.pictures import data_figure, leakage_figure, performance_figure, precision_figure, time_figure, tones
from discreet.reports.statistics.aggregates import PENALTIES, SHIFT_PERCENTILE
from discreet.reports.statistics.numbers import report_numbers
from discreet.reports.statistics.scaling import WIDEST
from discreet.reports.statistics.trials import NOT_TRIED, Trial, trials

NAMES = (
    "README.md", "leakage.svg", "time.svg", "performance.svg", "data.svg", "precision.svg", "commits.svg", "results.csv",
    "commits.csv",
)  # fmt: skip
"""Every file a snapshot may hold."""


def publish(rows: Sequence[Measurement], folder: str | Path, commits: Sequence[AsvRecord] = ()) -> tuple[Path, ...]:
    """Write the snapshot of these rows, and of asv's results over commits, into a folder, made if need be; the paths.

    Raises InputError without rows; FileError, changing nothing, when a name is taken by a file that was not made here or has
    been changed since, or when the folder cannot be written.
    """
    if not rows:
        raise InputError("there are no measurements to publish; give the results of a discreet bench that has run")
    check_folder(folder, NAMES)
    return write_folder(folder, _contents(rows, commits), {"kind": "snapshot", "rows": len(rows)})


def _contents(rows: Sequence[Measurement], commits: Sequence[AsvRecord]) -> dict[str, str]:
    """Name -> text of every file; `commits` are results of asv."""
    ordered = cleaned(rows)
    found = trials(ordered)
    tone = tones(found)
    figures = [make(found, tone) for make in (time_figure, performance_figure, data_figure, precision_figure)]
    drawn = [each for each in (leakage_figure(ordered), *figures, commits_figure(commits)) if each is not None]
    page = _page(report_numbers(ordered), [figure.name for figure in drawn], commits)
    results = csv_text(_record(found[0]), (_record(trial).values() for trial in found))
    history = {"commits.csv": commits_csv(commits)} if commits else {}
    return {"README.md": page, **{f"{f.name}.svg": standalone(f) for f in drawn}, "results.csv": results, **history}


def _record(trial: Trial) -> dict[str, str | int | float | None]:
    row = trial.rows[0]
    peaks = [each.peak_bytes for each in trial.rows if each.peak_bytes is not None]
    problem = ("problem", "family", "budget_nats", "private_values", "guesses", "outcomes", "gap_target")
    answer = ("claimed", "lower", "upper", "relative_gap", "leakage_over_budget")
    return {
        **{name: plain(getattr(row, name)) for name in problem},
        "budget": row.budget_word,
        "backend": trial.contestant,
        "repeats": len(trial.rows),
        "status": max(trial.rows, key=lambda each: not each.certified).status.value,
        **{name: plain(getattr(row, name)) for name in answer},
        "seconds": trial.seconds,
        "peak_bytes": max(peaks, default=None),
        "message": row.message,
    }


# -- the page --------------------------------------------------------------------------------------------------------------


def _page(numbers: Mapping[str, Any], pictures: Collection[str], commits: Sequence[AsvRecord]) -> str:
    """The text of README.md. `numbers` are those of `report_numbers`, `pictures` the stems of the files there are."""

    def picture(name: str, words: str) -> str:
        return f"![{words}]({name}.svg)\n" if name in pictures else ""

    parts = [
        "# Measured: every backend on every family\n",
        _summary(numbers["summary"]),
        picture("leakage", "True leakage over budget of every answer called optimal, by backend"),
        picture("time", "Seconds against the number of outcomes, by backend"),
        "## What a claim is worth\n",
        'A claim is a backend calling its answer solved ("optimal"); it is true when the judge certified the gap asked for, '
        "within the budget.\n",
        _table(_CLAIMS, numbers["claims"]),
        "## How cost grows\n",
        _exponents(numbers["sweeps"]),
        "## Who solves what, how fast\n",
        picture("performance", "Performance profile"),
        picture("data", "Share of tasks solved within a time"),
        picture("precision", "Seconds against the certified gap"),
        _means(numbers["means"]),
        "## Over commits\n" if commits else "",
        picture("commits", "Seconds over commits"),
        commits_section(commits),
        "## Agreement\n",
        _agreement(numbers["agreement"]),
        "## What was not certified, and why\n",
        _failures(numbers["failures"]),
        "## Measured on\n",
        wording.markdown_table(
            ("", ""), [(name, ", ".join(map(str, all_of_it))) for name, all_of_it in numbers["origin"].items()]
        ),
        "One line a trial: [results.csv](results.csv).\n",
    ]
    return "\n".join(part for part in parts if part)


_CLAIMS = {
    "backend": "contestant", "attempts": "attempts", "claimed": "claims", "true": "true_claims",
    "correct rate": "correct_rate", "broke the budget": "violations", "worst leakage ÷ budget": "worst_leakage",
    "certified, not claimed": "unclaimed",
}  # fmt: skip
_FITS = {"backend": "contestant", "exponent": "exponent", "from": "low", "to": "high", "sizes": "points"}
_MEANS = {
    "backend": "contestant", "tasks": "tasks", "failures": "failures", "seconds": "seconds", "from": "low", "to": "high",
}  # fmt: skip
_FAILURES = {"backend": "contestant", "status": "status", "reason": "reason", "times": "count", "for example": "example"}


def _table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of records; `columns` are headings with the names of their values."""
    return wording.markdown_table(tuple(columns), [[_cell(row[name]) for name in columns.values()] for row in rows])


def _cell(value: Any) -> str:
    if value is None:
        return wording.NOTHING
    return wording.scientific(value, 2) if isinstance(value, float) else str(value)


def _summary(counted: Mapping[str, int]) -> str:
    return (
        f"{counted['trials']} trials of {counted['contestants']} backends on {counted['tasks']} tasks (a problem, a budget, "
        f"a gap to be certified), {counted['attempts']} attempts in all. {counted['certified_tasks']} tasks were certified "
        f"by at least one backend; {counted['violations']} answers called solved broke their budget.\n"
    )


def _exponents(sweeps: Iterable[Mapping[str, Any]]) -> str:
    """Fits and crossovers of the widest constrained sweep of each kind of size."""
    widest: dict[str, Mapping[str, Any]] = {}
    for sweep in sweeps:
        if sweep["constrained"]:
            widest.setdefault(sweep["size"], sweep)
    names = {"outcomes": "outcomes N", "sensors": "sensors", "alphabet": "n = m"}
    told = [f"Time by {names[size]}:\n\n{_table(_FITS, sweep['fits'])}" for size, sweep in widest.items() if sweep["fits"]]
    if not told:
        return "No sweep says how cost grows: too few sizes above the least cost, or intervals too wide.\n"
    note = (
        "Exponents of cost ≈ c · size^a over certified trials with 95 % intervals: least squares on logarithmic axes, only "
        f"where cost is at least twice its least. Intervals wider than ± {WIDEST:g} are left out.\n"
    )
    crossed = "".join(
        f"- {each['faster']} is faster than {each['slower']} from N ≈ {wording.number(each['size'], 2)} on\n"
        for each in widest.get("outcomes", {"crossovers": ()})["crossovers"]
    )
    return "\n".join([note, *told, *([f"Crossovers beyond the noise:\n\n{crossed}"] if crossed else [])])


def _means(found: Mapping[str, Any]) -> str:
    if not found["rows"]:
        return ""
    floor = found["noise_floor"]
    noise = (
        "No trial was repeated: how much of a difference is noise is not known."
        if floor is None
        else f"Repeats of the same trial differ by a factor of up to {floor:.2f} (95th percentile of an A/A test): smaller "
        "differences say nothing."
    )
    parts = [
        f"Shifted geometric means of seconds with 95 % intervals over tasks. The shift is {found['shift']:.3g} s, the "
        f"{SHIFT_PERCENTILE:g}th percentile of all successful times. {noise}\n"
    ]
    for penalty in (*PENALTIES, None):
        rows = [row for row in found["rows"] if row["penalty"] == penalty]
        if penalty is not None:
            parts.append(f"A failure counts as {penalty:g} time limits:\n\n{_table(_MEANS, rows)}")
        elif rows[0]["tasks"]:
            parts.append(f"Over the tasks that all certified:\n\n{_table(_MEANS, rows)}")
        else:
            parts.append(f"No task was certified by all {len(rows)}, so there is no mean over what all solved.\n")
    return "\n".join(parts)


def _agreement(found: Mapping[str, Any]) -> str:
    said = f"{wording.agreement(found['met'], len(found['against']))}\n"
    if found["touching"]:
        said += f"{found['touching']} of them, under perfect privacy, intersect only within what counts as leak-free.\n"
    against = "".join(f"- {pair['case']}: {pair['first']} and {pair['second']}\n" for pair in found["against"])
    return f"{said}\n{against}" if against else said


def _failures(found: Sequence[Mapping[str, Any]]) -> str:
    groups = [group for group in found if group["status"] not in {status.value for status in NOT_TRIED}]
    if not groups:
        return "Nothing.\n"
    more = f"\n… and {len(groups) - 40} reasons more.\n" if len(groups) > 40 else ""
    return _table(_FAILURES, groups[:40]) + more
