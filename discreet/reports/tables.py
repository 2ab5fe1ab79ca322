"""The tables of the terminal, for rich: solutions, audits, curves, comparisons, advice, the catalog, doctor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.backends.solution import Solution, Status
from discreet.reports import wording
from discreet.reports.measurements import Measurement
from discreet.reports.statistics.agreement import summarise

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from discreet.backends.isolated import Probe
    from discreet.problems.catalog.registry import Entry
    from discreet.problems.inference.adversary import Inference
    from discreet.problems.judge import Certificate
    from discreet.problems.problem import Problem
    from discreet.reports.advice.choose import Advice
    from discreet.reports.advice.prediction import Prospect
    from discreet.reports.compare import Comparison

__all__ = [
    "advice_tables",
    "agreement_table",
    "audit_table",
    "case_tables",
    "catalog_table",
    "curve_table",
    "doctor_table",
    "entry_table",
    "shown",
    "solution_table",
    "span",
]

_STYLES = {
    Status.CERTIFIED: "green",
    Status.INACCURATE: "yellow",
    Status.VIOLATED_PRIVACY: "bold red",
    Status.FAILED: "red",
    Status.TIMED_OUT: "red",
    Status.UNSUPPORTED: "dim",
    Status.ABSENT: "dim",
}
_AUDITED = {  # the same facts as Status.meaning, of an estimator that no backend gave
    Status.CERTIFIED: "it keeps the budget and lies within the asked gap of the optimum, proven",
    Status.INACCURATE: "it keeps the budget, but the proven bracket is wider than the asked gap",
    Status.VIOLATED_PRIVACY: "it leaks more than the budget; the bracket is that of its repair",
}
_STATES = {"available": "green", "absent": "yellow", "broken": "bold red"}


def solution_table(solution: Solution) -> Table:
    """One solution, a line per number."""
    table = _table(title=_plain(solution.problem.name or "problem"), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in _solution_lines(solution):
        table.add_row(name, value)
    return table


def audit_table(title: str, status: Status, judged: Certificate, found: Inference) -> Table:
    """What the judge says of an estimator as it stands, and what its guess gives away."""
    table = _table(title=_plain(title), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_row("status", _plain(f"{status.value}: {_AUDITED.get(status, status.meaning)}", _STYLES[status]))
    table.add_row("error probability", f"{judged.own_error:.12g}")
    table.add_row("best possible", _plain(_bracket_words(judged)))
    table.add_row(
        "leaks",
        _plain(f"{judged.own_leakage:.6g} nats, ‖ΦP‖ {judged.own_phi_residual:.1e}; {wording.budget(judged.budget)}"),
    )
    for name, words in wording.inference_lines(found):
        table.add_row(_plain(name), _plain(words))
    return table


def curve_table(title: str, points: Sequence[Mapping[str, Any]]) -> Table:
    """The solved points of a privacy–utility curve, as `FrontierPoint.to_dict` gives them."""
    table = _table(title=_plain(f"Privacy and utility: {title or 'problem'}"))
    for heading in ("budget, nats", "error probability", "leakage, nats", "equivocation, nats", "multiplier", "s"):
        table.add_column(heading, justify="right")
    table.add_column("status")
    for point in points:
        solved = point["leakage_nats"] is not None
        cells = [
            wording.number(point["budget_nats"], 6),
            wording.bracket(point["lower"], point["upper"]) if solved else wording.NOTHING,
            wording.number(point["leakage_nats"], 6) if solved else wording.NOTHING,
            f"{point['equivocation_nats']:.10g}" if solved else wording.NOTHING,
            "∞" if point["multiplier"] is None else wording.number(point["multiplier"], 5),
            wording.seconds(point["seconds"]),
        ]
        status = Status(point["status"])
        table.add_row(*map(_plain, cells), _plain(status.value, _STYLES[status]))
    return table


def case_tables(comparison: Comparison) -> list[Table]:
    """Claim against truth, one table per case."""
    return [_case_table(case.title, wording.facts(case.problem), comparison.rows_of(case)) for case in comparison.cases]


def agreement_table(comparison: Comparison) -> Table:
    """On how many common cases two backends' certified brackets intersect, and their largest |difference|."""
    names = comparison.labels
    pairs = summarise(comparison.agreements)
    table = _table(title="Agreement: brackets that intersect, largest |difference| of error probability")
    table.add_column("", style="bold", no_wrap=True)
    for name in names[1:]:
        table.add_column(_plain(name), justify="right")
    for k, one in enumerate(names[:-1]):
        cells: list[Text] = []
        for other in names[1:]:
            pair = pairs.get((one, other)) if other in names[k + 1 :] else None
            if pair is None:
                cells.append(_plain(""))
                continue
            words = f"{pair.agreeing}/{pair.cases}  {wording.difference(pair.largest_difference)}"
            cells.append(_plain(words, "" if pair.agreeing == pair.cases else "bold red"))
        table.add_row(_plain(one), *cells)
    return table


def catalog_table(entries: Iterable[Entry]) -> Table:
    """The catalog: name, what it is, parameters with their defaults."""
    table = _table(title="Catalog", show_lines=False)
    table.add_column("problem", no_wrap=True)
    for heading in ("family", "what", "parameters"):
        table.add_column(heading)
    for entry in entries:
        parameters = " ".join(f"{p.name}={shown(p.default)}" for p in entry.parameters)
        extra = f" (needs discreet[{entry.extra}])" if entry.extra else ""
        table.add_row(_plain(entry.name, "bold"), _plain(entry.family), _plain(entry.summary + extra), _plain(parameters))
    return table


def entry_table(entry: Entry, problem: Problem | None, trouble: str) -> Table:
    """One catalog entry: its parameters, and the problem it builds (or why it cannot be built here)."""
    table = _table(title=_plain(f"{entry.name}: {entry.summary}"), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for parameter in entry.parameters:
        table.add_row(_plain(f"{parameter.name}={shown(parameter.default)}"), _plain(parameter.meaning))
    if problem is None:
        table.add_row("", _plain(trouble, "yellow"))
        return table
    for name, value in _problem_lines(problem):
        table.add_row(name, value)
    return table


def doctor_table(probes: Sequence[Probe]) -> Table:
    """Every backend: whether it can run here, what it can do, and what to do about it if it cannot."""
    table = _table(title="Backends")
    table.add_column("backend", no_wrap=True)
    table.add_column("state")
    table.add_column("budgets")
    table.add_column("problems")
    table.add_column("largest N", justify="right")
    table.add_column("versions, or the reason")
    for probe in probes:
        found, able = probe.availability, probe.capabilities
        versions = ", ".join(f"{name} {version}" for name, version in found.versions.items() if name != "discreet")
        table.add_row(
            _plain(f"{found.name} (peer)" if able and able.peer else found.name, "bold"),
            _plain(found.state, _STATES[found.state]),
            _plain(", ".join(_regimes(able)) if able else wording.NOTHING),
            _plain(_kinds(able) if able else wording.NOTHING),
            _plain(f"{able.largest_outcomes:,}" if able and able.largest_outcomes else wording.NOTHING),
            _plain(f"{able.method}; {versions}" if able and not found.reason else found.reason),
        )
    return table


def advice_tables(advice: Advice) -> list[Table]:
    """The advice, its evidence, and the others with the reason against each."""
    return [_advised(advice), *([_evidence_table(advice.chosen)] if advice.chosen else []), _not_chosen(advice)]


def span(seconds: float) -> str:
    """Seconds with two or three figures, down to microseconds."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 0.995:
            return f"{seconds * factor:.2g} {unit}" if seconds * factor < 99.5 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _advised(advice: Advice) -> Table:
    table = _table(title=_plain(f"Advice for {advice.problem or 'this problem'}"), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    best, second = advice.chosen, advice.runner_up
    if best is not None:
        asked = "" if best.option.gap == advice.gap else f", asked for a gap of {best.option.gap:g}"
        style = "green" if advice.safe else "yellow"
        table.add_row("use", _plain(f"{best.option.label}{asked}", style))
        table.add_row("time", _plain(f"{_time_words(best)}"))
        table.add_row("certainty", _plain(f"at least {best.certainty:.0%} to be certified within a gap of {advice.gap:g}"))
        if second is not None:
            table.add_row("runner-up", _plain(f"{second.option.label}: {_time_words(second)}"))
    for note in advice.notes:
        table.add_row("note", _plain(note, "yellow"))
    local = f", {advice.local_rows} rows of your own" if advice.local_rows else ""
    speed = f"; this machine takes {advice.machine_factor:.2f} times as long" if advice.machine_factor != 1.0 else ""
    table.add_row("from", _plain(f"{advice.measured_rows} measurements shipped with discreet{local}{speed}"))
    return table


def _evidence_table(prospect: Prospect) -> Table:
    table = _table(title=_plain(f"Nearest measurements of {prospect.option.label}"))
    table.add_column("problem")
    table.add_column("outcomes", justify="right")
    table.add_column("came to")
    for heading in ("time", "gap", "distance"):
        table.add_column(heading, justify="right")
    for row in prospect.evidence:
        gap = row["relative_gap"]
        cells = (
            row["instance"] + (" (yours)" if row["local"] else ""),
            f"{row['outcomes']:,}",
            row["outcome"] if row["suffices"] or row["outcome"] != "certified" else "too wide a gap",
            span(row["seconds"]),
            wording.NOTHING if gap is None else wording.scientific(gap),
            f"{row['distance']:.1f}",
        )
        table.add_row(*map(_plain, cells))
    return table


def _not_chosen(advice: Advice) -> Table:
    table = _table(title="Not chosen")
    table.add_column("backend", style="bold", no_wrap=True)
    table.add_column("why")
    for label, reason in advice.not_chosen.items():
        table.add_row(_plain(label), _plain(reason))
    return table


def _time_words(prospect: Prospect) -> str:
    if prospect.remote:
        return "not predicted: nothing like it was measured"
    between = f"nine times in ten between {span(prospect.low)} and {span(prospect.high)}"
    return f"about {span(prospect.seconds)}, {between}; the judge's time comes on top"


def shown(value: Any) -> str:
    """A parameter's value as it is typed on the command line."""
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kinds(able: Any) -> str:
    words = {"ARRAYS": "arrays", "BLOCKS": "blocks", "DENSITIES": "densities"}
    return ", ".join(words[kind.name] for kind in type(next(iter(able.kinds))) if kind in able.kinds)


def _regimes(able: Any) -> list[str]:
    return sorted({"PERFECT": "ε = 0", "CONSTRAINED": "0 < ε", "OBLIVIOUS": "ε = ∞"}[regime.name] for regime in able.regimes)


def _case_table(title: str, facts: str, rows: Sequence[Measurement]) -> Table:
    table = _table(title=_plain(title), caption=_plain(facts, "dim"), caption_justify="left")
    headings = (
        "backend",
        "status",
        "claimed",
        "error probability",
        "gap",
        "true leakage ÷ budget",
        "lower",
        "solve",
        "certify s",
    )
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="left" if k < 3 else "right", no_wrap=k == 0)
    for row in rows:
        style = _STYLES[row.status]
        told = row.claimed or (wording.NOTHING if row.answered else row.message)
        table.add_row(
            _plain(row.label, "bold"),
            _plain(row.status.value, style),
            _plain(_shortened(told)),
            _plain(wording.bracket(row.lower, row.upper)),
            _plain(wording.scientific(row.relative_gap)),
            _plain(wording.excess(row), style if row.status is Status.VIOLATED_PRIVACY else ""),
            *(_plain(wording.seconds(value)) for value in (row.lower_seconds, row.solve_seconds, row.certify_seconds)),
        )
    return table


def _solution_lines(solution: Solution) -> list[tuple[str, Text]]:
    timings = solution.timings
    lines = [
        ("status", _plain(f"{solution.status.value}: {solution.message}", _STYLES[solution.status])),
        ("backend", _plain(f"{solution.backend}, which claimed {solution.claimed or 'nothing'}")),
    ]
    if solution.certificate is not None:
        judged = solution.certificate
        lines += [
            ("error probability", _plain(f"{solution.error_probability:.12g}")),
            ("certified bracket", _plain(_bracket_words(judged))),
            ("leakage", _plain(f"{judged.leakage:.6g} nats; {wording.budget(judged.budget)}")),
            ("equivocation", _plain(f"{solution.equivocation:.12g} of {solution.problem.entropy_x:.12g} nats")),
            ("own answer", _plain(f"error probability {judged.own_error:.12g}, leakage {judged.own_leakage:.6g} nats, "
                                  f"‖ΦP‖ {judged.own_phi_residual:.1e}")),
            ("multiplier", _plain(f"{solution.multiplier:.6g} per nat")),
        ]  # fmt: skip
    steps = zip(
        ("lower", "solve", "lift", "certify"),
        (timings.lower_seconds, timings.solve_seconds, timings.lift_seconds, timings.certify_seconds),
        strict=True,
    )
    words = ", ".join(f"{name} {wording.seconds(value)}" for name, value in steps)
    if timings.compile_seconds > 0.0:
        words += f"; of these, compiling for the first time {wording.seconds(timings.compile_seconds)}"
    lines.append(("seconds", _plain(words)))
    return lines


def _bracket_words(judged: Certificate) -> str:
    return f"[{judged.lower:.12g}, {judged.upper:.12g}], relative gap {judged.relative_gap:.1e}"


def _problem_lines(problem: Problem) -> list[tuple[str, str]]:
    return [
        ("sizes", f"n={problem.n} private values, m={problem.m} guesses, N={problem.N} outcomes"),
        ("H(X)", f"{problem.entropy_x:.6g} nats"),
        ("Bayes rule", f"errs {problem.bayes_error:.8g}, leaks {problem.bayes_leakage:.6g} nats"),
        ("constant guess", f"errs {problem.constant_error:.8g}"),
        ("default budget", wording.budget(problem.budget)),
    ]


def _shortened(words: str, limit: int = 60) -> str:
    return words if len(words) <= limit else words[: limit - 1] + "…"


def _table(**options: Any) -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", **options)


def _plain(words: str, style: str = "") -> Text:
    """Words as they are: names and messages may hold what rich would read as markup."""
    from rich.text import Text

    return Text(words, style=style)
