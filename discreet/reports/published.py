"""The published snapshot: a folder that GitHub shows, with Markdown, SVG pictures and one CSV, made from measurements.

Equal rows give equal bytes in any order. It contains no path and no user name of a machine: file problems
are named by their last part, messages lose their paths, and tracebacks are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.problems.errors import InputError
from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord, commits_csv, commits_figure, commits_section
from discreet.reports.figure_svg import standalone
from discreet.reports.html.data import cleaned
from discreet.reports.html.page import asset
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import csv_text, plain, write_folder
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
from discreet.reports.statistics.numbers import statistics_of
from discreet.reports.statistics.scaling import WIDEST
from discreet.reports.statistics.trials import NOT_TRIED, Trial, trials

NAMES = (
    "README.md", "leakage.svg", "perfect.svg", "time.svg", "performance.svg", "data.svg", "precision.svg", "commits.svg",
    "results.csv", "commits.csv",
)  # fmt: skip
"""Every file a snapshot may hold."""


def publish(
    rows: Sequence[Measurement], folder: str | Path, commits: Sequence[AsvRecord] = (), *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write the snapshot of these rows, and of asv's results over commits, into a folder, made if need be; the paths.

    Raises InputError without rows; FileError, changing nothing, when a name is taken by a file that was not made here or has
    been changed since (unless it is to be overwritten), or when the folder cannot be written.
    """
    if not rows:
        raise InputError("there are no measurements to publish; give the results of a discreet bench that has run")
    ordered = cleaned(rows)
    found = trials(ordered)
    tone = tones(found)
    statistics = statistics_of(ordered)
    sweep = next((each for each in statistics["sweeps"] if each.size == "outcomes" and each.constrained), None)
    figures = [
        leakage_figure(ordered),
        perfect if (perfect := perfect_figure(ordered)).series else None,
        sweep and sweep_figure(sweep, tone),
        profile_figure("performance", statistics["performance"], tone),
        profile_figure("data", statistics["data"], tone),
        precision_figure(ordered, tone),
        commits_figure(commits),
    ]
    drawn = [each for each in figures if each is not None]
    results = csv_text(_record(found[0]), (_record(trial).values() for trial in found))
    page = _page(plain(statistics), [figure.name for figure in drawn], commits)
    files = {"README.md": page, **{f"{f.name}.svg": standalone(f) for f in drawn}, "results.csv": results}
    files |= {"commits.csv": commits_csv(commits)} if commits else {}
    return write_folder(folder, files, {"kind": "snapshot", "rows": len(rows)}, overwrite=overwrite)


def _record(trial: Trial) -> dict[str, str | int | float | None]:
    row = trial.rows[0]
    peaks = [each.peak_bytes for each in trial.rows if each.peak_bytes is not None]
    problem = ("problem", "family", "budget_nats", "private_values", "guesses", "outcomes", "gap_target")
    answer = ("claimed", "lower", "upper", "relative_gap", "leakage_over_budget")
    privacy = ("own_private_within", "leakage_ceiling_nats")
    return {
        **{name: plain(getattr(row, name)) for name in problem},
        "budget": row.limit,
        "backend": trial.label,
        "repeats": len(trial.rows),
        "status": max(trial.rows, key=lambda each: not each.certified).status.value,
        **{name: plain(getattr(row, name)) for name in answer + privacy},
        "seconds": trial.seconds if trial.timed else None,
        "peak_bytes": max(peaks, default=None),
        "message": row.message,
    }


def _page(numbers: Mapping[str, Any], pictures: Collection[str], commits: Sequence[AsvRecord]) -> str:
    """The text of README.md. `numbers` are those of `report_numbers`, `pictures` the stems of the files there are."""
    text = asset("published.txt").format(
        **numbers["summary"],
        records=_table(_CLAIMS, numbers["claims"]),
        exponents=_exponents(numbers["sweeps"]),
        shift=wording.told(numbers["means"]["shift"]),
        percentile=SHIFT_PERCENTILE,
        noise=wording.noise(numbers["means"]["noise_floor"]),
        means=_means(numbers["means"]["rows"]),
        commits=f"## Over commits\n\n![Seconds over commits](commits.svg)\n\n{commits_section(commits)}\n"
        if commits
        else "",
        agreement=_agreement(numbers["agreement"]),
        failures=_failures(numbers["failures"]),
        origin=wording.markdown_table(
            ("", ""), [(name, ", ".join(map(str, all_of_it))) for name, all_of_it in numbers["origin"].items()]
        ),
    )
    missing = [name for name in re.findall(r"\((\w+)\.svg\)", text) if name not in pictures]
    return re.sub(rf"!\[.*\]\(({'|'.join(missing)})\.svg\)\n\n", "", text) if missing else text


_CLAIMS = {
    "backend": "contestant", "attempts": "attempts", "claimed": "claims", "true": "true_claims",
    "correct rate": "correct_rate", "broke the budget": "violations", "worst leakage ÷ budget": "worst_leakage",
    "largest deviation at budget 0": "worst_deviation",
    "certified, not claimed": "unclaimed",
}  # fmt: skip
_FITS = {"backend": "contestant", "exponent": "exponent", "from": "low", "to": "high", "sizes": "points"}
_MEANS = {
    "backend": "contestant", "tasks": "tasks", "failures": "failures", "seconds": "seconds", "from": "low", "to": "high",
}  # fmt: skip
_FAILURES = {"backend": "contestant", "status": "status", "reason": "reason", "times": "count", "for example": "example"}


def _table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of records; `columns` are headings with the names of their values."""
    return wording.markdown_table(
        tuple(columns), [[str(wording.told(row[name])) for name in columns.values()] for row in rows]
    )


def _exponents(sweeps: Iterable[Mapping[str, Any]]) -> str:
    """Fits and crossovers of the widest constrained sweep of each kind of size."""
    widest: dict[str, Mapping[str, Any]] = {}
    for sweep in sweeps:
        if sweep["constrained"]:
            widest.setdefault(sweep["size"], sweep)
    told = [f"Time by {SIZE_WORDS[s][0]}:\n\n{_table(_FITS, w['fits'])}" for s, w in widest.items() if w["fits"]]
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


def _means(found: Sequence[Mapping[str, Any]]) -> str:
    """The means for each charge of a failure, and over the tasks that all certified."""
    words = {k: f"A failure counts as {k:g} × its time limit" for k in PENALTIES} | {
        None: "Over the tasks that all certified"
    }
    means = {k: [row for row in found if row["penalty"] == k and row["tasks"]] for k in words}
    none = "No task was certified by all, so there is no mean over what all solved.\n"
    return "\n".join(f"{words[k]}:\n\n{_table(_MEANS, rows)}" if rows else none for k, rows in means.items())


def _agreement(found: Mapping[str, Any]) -> str:
    against = "".join(f"\n- {pair['case']}: {pair['first']} and {pair['second']}" for pair in found["against"])
    said = wording.agreement(found["met"], len(found["against"]))
    return f"{said} {wording.verified(**found['verified'])}\n{against}\n"


def _failures(found: Sequence[Mapping[str, Any]]) -> str:
    groups = [group for group in found if group["status"] not in {status.value for status in NOT_TRIED}]
    more = f"\n… and {len(groups) - 40} reasons more.\n" if len(groups) > 40 else ""
    return _table(_FAILURES, groups[:40]) + more if groups else "Nothing.\n"
