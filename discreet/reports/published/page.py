"""The Markdown of a snapshot: pictures first, then the tables, then how to read them and what it was measured on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord
from discreet.reports.measurements import Measurement
from discreet.reports.published.commits import commits_section
from discreet.reports.published.markdown import table
from discreet.reports.statistics.aggregates import PENALTIES, SHIFT_PERCENTILE, Mean, means, noise_floor
from discreet.reports.statistics.agreement_matrix import agreement_matrix
from discreet.reports.statistics.claims import claim_records, unknown_words
from discreet.reports.statistics.failures import Failure, failure_groups
from discreet.reports.statistics.scaling import Scaling, crossovers, scalings, series_by_size
from discreet.reports.statistics.trials import NOT_TRIED, Trial, by_task

__all__ = ["snapshot_page"]

_MOST_FAILURES = 40


def snapshot_page(
    rows: Sequence[Measurement],
    found: Sequence[Trial],
    sweep: Sequence[Trial],
    pictures: Iterable[str],
    commits: Sequence[AsvRecord] = (),
) -> str:
    """The text of README.md. `sweep` is what exponents are fitted to; `pictures` are the stems of the files there are."""
    shown = set(pictures)
    parts = [
        "# Measured: every backend on every family\n",
        _summary(rows, found),
        _picture("leakage", "True leakage over budget of every answer called optimal, by backend", shown),
        _picture("time", "Seconds against the number of outcomes, by backend", shown),
        "## What a claim is worth\n",
        'A claim is a backend calling its answer solved ("optimal"); it is true when the judge certified the gap asked for, '
        "within the budget.\n",
        _claims(rows),
        "## How cost grows\n",
        _exponents(found, sweep),
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
        _origin(rows),
        "One line a trial: [results.csv](results.csv).\n",
    ]
    return "\n".join(part for part in parts if part)


def _summary(rows: Sequence[Measurement], found: Sequence[Trial]) -> str:
    tasks = by_task(found)
    tried = [trial for trial in found if trial.tried]
    solved = sum(any(trial.success for trial in met.values()) for met in tasks.values())
    violated = sum(row.violated for row in rows)
    return (
        f"{len(tried)} trials of {len({t.contestant for t in tried})} backends on {len(tasks)} tasks (a problem, a budget, "
        f"a gap to be certified), {len(rows)} attempts in all. {solved} tasks were certified by somebody; {violated} "
        "answers broke their budget.\n"
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
    unknown = ", ".join(f"{word!r} ({count})" for word, count in unknown_words(rows).items())
    return table(heads, lines) + (f"\nWords that claim nothing here: {unknown}.\n" if unknown else "")


def _exponents(found: Sequence[Trial], sweep: Sequence[Trial]) -> str:
    lines = []
    for what, trials, size, cost in (
        ("time by outcomes N", sweep, "outcomes", "seconds"),
        ("memory by outcomes N", sweep, "outcomes", "bytes"),
        ("time by sensors", _of_entry(found, "paper-multi"), "sensors", "seconds"),
        ("time by n = m", _of_entry(found, "dirichlet"), "alphabet", "seconds"),
    ):
        lines += [_exponent(what, fit) for fit in scalings(trials, size, cost)]
    if not lines:
        return "No sweep has three sizes above its constant floor: nothing to fit.\n"
    note = (
        "Exponents of cost ≈ c · size^a over certified trials, least squares on logarithmic axes, only where cost is at "
        "least twice its floor; 95 % interval.\n\n"
    )
    floor = noise_floor(found)
    crossed = crossovers(series_by_size(sweep, "outcomes"), floor if math.isfinite(floor) else 1.0)
    told = "".join(f"- {c.faster} is faster than {c.slower} from N ≈ {wording.number(c.size, 2)} on\n" for c in crossed)
    fitted = table(("cost", "backend", "exponent", "interval", "sizes", "from"), lines)
    return note + fitted + (f"\nCrossovers beyond the noise:\n\n{told}" if told else "")


def _exponent(what: str, fit: Scaling) -> list[str]:
    interval = f"{fit.low:.2f} … {fit.high:.2f}"
    return [what, fit.contestant, f"{fit.exponent:.2f}", interval, str(fit.points), f"{fit.from_size:,.0f}"]


def _of_entry(found: Sequence[Trial], entry: str) -> list[Trial]:
    """The trials of a catalog entry under its most frequent budget and gap, so that one size is one kind of task."""
    groups: dict[tuple[str, float], list[Trial]] = {}
    for trial in found:
        row = trial.rows[0]
        if row.entry == entry:
            groups.setdefault((row.budget_word, row.gap_target), []).append(trial)
    return max(groups.values(), key=len) if groups else []


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
        f"Shifted geometric means of seconds with 95 % bootstrap intervals. The shift is {first.shift:.3g} s, the "
        f"{SHIFT_PERCENTILE:g}th percentile of all successful times. {_noise(found)}\n" + table(heads, lines) + alone
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
    matrix = agreement_matrix(rows)
    if not matrix.met:
        return "No two backends answered the same problem.\n"
    near = (
        f"{matrix.touching} of them, under perfect privacy, only within what counts as leak-free in double precision.\n"
        if matrix.touching
        else ""
    )
    if not matrix.against:
        return f"All {matrix.met} pairs of certified brackets of the same problem intersect. {near}".rstrip() + "\n"
    told = "".join(f"- {pair.case}: {pair.first} and {pair.second}\n" for pair in matrix.against)
    wrong = f"{len(matrix.against)} of {matrix.met} pairs of brackets exclude one another; a certificate is wrong:"
    return f"{wrong}\n\n{told}\n{near}"


def _failures(rows: Sequence[Measurement]) -> str:
    groups = [group for group in failure_groups(rows) if group.status not in NOT_TRIED]
    lines = [_failure(group) for group in groups[:_MOST_FAILURES]]
    if not lines:
        return "Nothing.\n"
    more = f"\n… and {len(groups) - len(lines)} reasons more.\n" if len(groups) > len(lines) else ""
    return table(("backend", "status", "reason", "times", "for example"), lines) + more


def _failure(group: Failure) -> list[str]:
    return [group.contestant, group.status.value, group.reason, str(group.count), group.example]


def _origin(rows: Sequence[Measurement]) -> str:
    machines = sorted({", ".join(f"{name}: {value}" for name, value in sorted(row.machine.items())) for row in rows} - {""})
    versions = sorted({f"{name} {version}" for row in rows for name, version in row.versions.items()})
    days = sorted({row.started[:10] for row in rows} - {""})
    commits = sorted({row.commit[:12] for row in rows} - {""})
    threads = sorted({row.threads for row in rows})
    when = " … ".join(dict.fromkeys((days[0], days[-1]))) if days else "not recorded"
    lines = [
        ("date", when),
        ("machine", "; ".join(machines) or "not recorded"),
        ("threads", ", ".join(map(str, threads))),
        ("commit", ", ".join(commits) or "not recorded"),
        ("versions", ", ".join(versions) or "not recorded"),
    ]
    return table(("", ""), [list(line) for line in lines])


def _percent(share: float) -> str:
    return wording.NOTHING if math.isnan(share) else f"{100.0 * share:.4g} %"


def _worst(ratio: float) -> str:
    return wording.NOTHING if math.isnan(ratio) else wording.scientific(ratio)
