"""The published snapshot: a folder that GitHub shows, with Markdown, SVG pictures and one CSV, made from measurements.

Equal rows give equal bytes, in whatever order they come. No path and no user name of a machine gets in: file problems are
named by their last part, messages lose their paths, and tracebacks are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.problems.errors import InputError
from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord, commits_csv, commits_figure, commits_section
from discreet.reports.figure_svg import standalone
from discreet.reports.html.data import cleaned
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import check_folder, csv_text, write_folder
from discreet.reports.pictures import data_figure, leakage_figure, performance_figure, precision_figure, time_figure, tones
from discreet.reports.statistics.aggregates import PENALTIES, SHIFT_PERCENTILE, Mean, means, noise_floor
from discreet.reports.statistics.agreement import agreements
from discreet.reports.statistics.claims import Failure, claim_records, claimed_leaks, failure_groups
from discreet.reports.statistics.numbers import report_numbers
from discreet.reports.statistics.scaling import WIDEST, Scaling, crossovers, fit_exponent, scalings, sweeps
from discreet.reports.statistics.trials import NOT_TRIED, Trial, trials

__all__ = ["NAMES", "publish"]

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
    drawn = [
        each for each in (leakage_figure(claimed_leaks(ordered)), *figures, commits_figure(commits)) if each is not None
    ]
    page = _page(ordered, found, [figure.name for figure in drawn], commits)
    results = csv_text(_record(found[0]), (_record(trial).values() for trial in found))
    history = {"commits.csv": commits_csv(commits)} if commits else {}
    return {"README.md": page, **{f"{f.name}.svg": standalone(f) for f in drawn}, "results.csv": results, **history}


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


# -- the page --------------------------------------------------------------------------------------------------------------


def _page(
    rows: Sequence[Measurement],
    found: Sequence[Trial],
    pictures: Iterable[str],
    commits: Sequence[AsvRecord] = (),
) -> str:
    """The text of README.md. `pictures` are the stems of the files there are."""
    shown, numbers = set(pictures), report_numbers(rows)
    parts = [
        "# Measured: every backend on every family\n",
        _summary(numbers["summary"], rows),
        _picture("leakage", "True leakage over budget of every answer called optimal, by backend", shown),
        _picture("time", "Seconds against the number of outcomes, by backend", shown),
        "## What a claim is worth\n",
        'A claim is a backend calling its answer solved ("optimal"); it is true when the judge certified the gap asked for, '
        "within the budget.\n",
        _claims(rows),
        "## How cost grows\n",
        _exponents(found),
        "## Who solves what, how fast\n",
        _picture("performance", "Performance profile", shown),
        _picture("data", "Share of tasks solved within a time", shown),
        _picture("precision", "Seconds against the certified gap", shown),
        _means(found),
        "## Over commits\n" if commits else "",
        _picture("commits", "Seconds over commits", shown),
        commits_section(commits),
        "## Agreement\n",
        _agreement(rows),
        "## What was not certified, and why\n",
        _failures(rows),
        "## Measured on\n",
        _origin(numbers["origin"]),
        "One line a trial: [results.csv](results.csv).\n",
    ]
    return "\n".join(part for part in parts if part)


def _summary(counted: Mapping[str, int], rows: Sequence[Measurement]) -> str:
    return (
        f"{counted['trials']} trials of {counted['contestants']} backends on {counted['tasks']} tasks (a problem, a budget, "
        f"a gap to be certified), {counted['attempts']} attempts in all. {counted['certified_tasks']} tasks were certified "
        f"by at least one backend; {sum(row.violated for row in rows)} answers broke their budget.\n"
    )


def _picture(name: str, words: str, shown: set[str]) -> str:
    return f"![{words}]({name}.svg)\n" if name in shown else ""


def _claims(rows: Sequence[Measurement]) -> str:
    lines = [
        [r.contestant, str(r.attempts), str(r.claims), str(r.true_claims), _percent(r.correct_rate), str(r.violations),
         _worst(r.worst_leakage), str(r.unclaimed)]
        for r in claim_records(rows)
    ]  # fmt: skip
    heads = ("backend", "attempts", "claimed", "true", "correct rate", "broke the budget", "worst leakage ÷ budget",
             "certified, not claimed")  # fmt: skip
    return wording.markdown_table(heads, lines)


def _exponents(found: Sequence[Trial]) -> str:
    lines, crossed = [], ""
    floor = noise_floor(found)
    shown: set[str] = set()
    for sweep in sweeps(found):
        if sweep.size in shown or not sweep.constrained:
            continue
        shown.add(sweep.size)  # the widest of its kind comes first
        what = {"outcomes": "outcomes N", "sensors": "sensors", "alphabet": "n = m"}[sweep.size]
        lines += [_exponent(f"time by {what}", fit) for fit in map(fit_exponent, sweep.series) if fit is not None]
        if sweep.size == "outcomes":
            own = [t for t in found if (t.rows[0].entry, t.rows[0].budget_word, t.task.gap) == sweep.key]
            lines += [_exponent("memory by outcomes N", fit) for fit in scalings(own, "outcomes", "bytes")]
            crossed = "".join(
                f"- {c.faster} is faster than {c.slower} from N ≈ {wording.number(c.size, 2)} on\n"
                for c in crossovers(sweep.series, floor if math.isfinite(floor) else 1.0)
            )
    if not lines:
        return "No sweep says how cost grows: too few sizes above the least cost, or intervals too wide.\n"
    note = (
        "Exponents of cost ≈ c · size^a over certified trials, least squares on logarithmic axes, only where cost is at "
        f"least twice its least; 95 % interval. Wider ones than ± {WIDEST:g} are not told.\n\n"
    )
    fitted = wording.markdown_table(("cost", "backend", "exponent", "interval", "sizes", "from"), lines)
    return note + fitted + (f"\nCrossovers beyond the noise:\n\n{crossed}" if crossed else "")


def _exponent(what: str, fit: Scaling) -> list[str]:
    interval = f"{fit.low:.2f} … {fit.high:.2f}"
    return [what, fit.contestant, f"{fit.exponent:.2f}", interval, str(fit.points), f"{fit.from_size:,.0f}"]


def _means(found: Sequence[Trial]) -> str:
    by_name: dict[str, dict[float | None, Mean]] = {}
    for mean in means(found):
        by_name.setdefault(mean.contestant, {})[mean.penalty] = mean
    if not by_name:
        return ""
    first = next(iter(by_name.values()))[PENALTIES[0]]
    shared = max(own[None].tasks for own in by_name.values())
    columns = (*PENALTIES, None) if shared else PENALTIES
    lines = [
        [name, f"{own[PENALTIES[0]].tasks - own[PENALTIES[0]].failures} of {own[PENALTIES[0]].tasks}",
         *(_mean(own[k]) for k in columns)]
        for name, own in by_name.items()
    ]  # fmt: skip
    heads = ["backend", "certified of tried", *(f"failures × {k:g} limits" for k in PENALTIES)]
    heads += [f"the {shared} all solved"] if shared else []
    alone = "" if shared else f"\nNo task was certified by all {len(by_name)}, so there is no mean over what all solved.\n"
    return (
        f"Shifted geometric means of seconds with 95 % intervals over tasks. The shift is {first.shift:.3g} s, the "
        f"{SHIFT_PERCENTILE:g}th percentile of all successful times. {_noise(found)}\n"
        + wording.markdown_table(heads, lines)
        + alone
    )


def _noise(found: Sequence[Trial]) -> str:
    floor = noise_floor(found)
    if not math.isfinite(floor):
        return "No trial was repeated: how much of a difference is noise is not known.\n"
    return (
        f"Repeats of the same trial differ by a factor of up to {floor:.2f} (95th percentile of an A/A test): smaller "
        "differences say nothing.\n"
    )


def _mean(mean: Mean) -> str:
    return wording.NOTHING if math.isnan(mean.seconds) else f"{mean.seconds:.3g} ({mean.low:.2g} … {mean.high:.2g})"


def _agreement(rows: Sequence[Measurement]) -> str:
    found = agreements(rows)
    if not found:
        return "No two backends answered the same problem.\n"
    touching = sum(pair.touching for pair in found)
    near = f"{touching} of them, under perfect privacy, only within what counts as leak-free in double precision.\n"
    against = [pair for pair in found if not pair.agree]
    if not against:
        all_of_them = f"All {len(found)} pairs of certified brackets of the same problem intersect."
        return f"{all_of_them} {near}" if touching else f"{all_of_them}\n"
    told = "".join(f"- {pair.case}: {pair.first} and {pair.second}\n" for pair in against)
    wrong = f"{len(against)} of {len(found)} pairs of brackets exclude one another; a certificate is wrong:"
    return f"{wrong}\n\n{told}\n{near if touching else ''}"


def _failures(rows: Sequence[Measurement]) -> str:
    groups = [group for group in failure_groups(rows) if group.status not in NOT_TRIED]
    lines = [_failure(group) for group in groups[:40]]
    if not lines:
        return "Nothing.\n"
    more = f"\n… and {len(groups) - len(lines)} reasons more.\n" if len(groups) > len(lines) else ""
    return wording.markdown_table(("backend", "status", "reason", "times", "for example"), lines) + more


def _failure(group: Failure) -> list[str]:
    return [group.contestant, group.status.value, group.reason, str(group.count), group.example]


def _origin(found: Mapping[str, Sequence[Any]]) -> str:
    days = found["days"]
    told = {
        "date": " … ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "machine": "; ".join(found["machines"]),
        "threads": ", ".join(map(str, found["threads"])),
        "commit": ", ".join(found["commits"]),
        "versions": ", ".join(found["versions"]),
    }
    return wording.markdown_table(("", ""), [(name, words or "not recorded") for name, words in told.items()])


def _percent(share: float) -> str:
    return wording.NOTHING if math.isnan(share) else f"{100.0 * share:.4g} %"


def _worst(ratio: float) -> str:
    return wording.NOTHING if math.isnan(ratio) else wording.scientific(ratio)
