"""The tables of the terminal, for rich: solutions, audits, curves, comparisons, advice, the catalog, doctor.

Two shapes of `layout` serve them all: `facts`, a line per number, and `listed`, a line per thing. Words are shown as they
are, since `cli.screen` reads no markup; what has a colour is a `Text`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from discreet.backends.contract import Kind
from discreet.backends.solution import Solution, Status
from discreet.problems.checks import at_most, shown
from discreet.problems.constraint import LeakageBudget, is_plain
from discreet.problems.measures.registry import measure_of
from discreet.reports import wording
from discreet.reports.layout import Cell, Facts, Listing, facts, listed
from discreet.reports.measurements import Measurement
from discreet.reports.statistics.agreement import summarise

if TYPE_CHECKING:
    from discreet.backends.registry import Availability
    from discreet.problems.adversary.inference import Inference
    from discreet.problems.catalog.registry import Entry
    from discreet.problems.certificate import Certificate
    from discreet.problems.constraint import Term
    from discreet.problems.problem import Problem
    from discreet.reports.advice.choose import Advice
    from discreet.reports.advice.prediction import Prospect
    from discreet.reports.compare import Comparison
    from discreet.reports.curve import Frontier, FrontierPoint
    from discreet.verification import Verification

_STYLES = {
    Status.CERTIFIED: "green",
    Status.INACCURATE: "yellow",
    Status.VIOLATED_PRIVACY: "bold red",
    Status.FAILED: "red",
    Status.TIMED_OUT: "red",
    Status.UNSUPPORTED: "dim",
    Status.ABSENT: "dim",
}
_STATES = {"available": "green", "absent": "yellow", "broken": "bold red"}


# -- answers -------------------------------------------------------------------------------------------------------------


def solution_table(solution: Solution) -> Facts:
    """One solution, a line per number."""
    timings = solution.timings
    lines: list[tuple[Cell, Cell]] = [
        ("status", Text(f"{solution.status.value}: {solution.message}", _STYLES[solution.status])),
        ("backend", f"{solution.backend}, which claimed {solution.claimed or 'nothing'}"),
    ]
    if solution.certificate is not None:
        judged = solution.certificate
        prices = [f"{price:.6g} per {term.measure.unit.removesuffix('s') or 'unit'}" for price, term in _priced(solution)]
        lines += [
            ("error probability", f"{solution.error_probability:.12g}"),
            ("certified bracket", _bracket_words(judged)),
            *_leakages(solution),
            *_kept_secret(solution),
            ("own answer", f"error probability {judged.own_error:.12g}, leakage {_revealed(solution)}"),
            ("multiplier", ", ".join(prices)),
        ]
    steps = ("lower", "solve", "lift", "certify")
    words = ", ".join(f"{step} {wording.seconds(getattr(timings, f'{step}_seconds'))}" for step in steps)
    if timings.compile_seconds > 0.0:
        words += f"; of these, compiling for the first time {wording.seconds(timings.compile_seconds)}"
    return facts(solution.problem.name or "problem", [*lines, ("seconds", words)])


def _priced(solution: Solution) -> Iterator[tuple[float, Term]]:
    """Each constraint with its multiplier."""
    return zip(
        [] if solution.multipliers is None else solution.multipliers.tolist(),
        solution.problem.terms,
        strict=True,
    )


def _leakages(solution: Solution) -> list[tuple[str, str]]:
    """The leakage of the estimator returned, with the budget, of each constraint."""
    judged, terms = solution.certificate, solution.problem.terms
    assert judged is not None  # of an answer
    lines = []
    for number, (each, term) in enumerate(zip(judged.terms, terms, strict=True)):
        leaked = wording.leakage(each.leakage, each.leakage_ceiling, term.measure.unit)
        lines.append((f"leakage{_which(number, terms)}", f"{leaked}; {wording.budget(term.budget)}"))
    return lines


def _which(number: int, constraints: Sequence[object]) -> str:
    """The number of a constraint after a word, if there are several."""
    return f" {number}" if len(constraints) > 1 else ""


def _kept_secret(solution: Solution) -> list[tuple[str, str]]:
    """Equivocation, where leakage is mutual information."""
    kept = solution.equivocation
    return [] if math.isnan(kept) else [("equivocation", f"{kept:.12g} of {solution.problem.entropy_x:.12g} nats")]


def audit_tables(title: str, audited: Solution, found: Inference | None) -> list[Facts | Listing]:
    """What the judge says of a given estimator, what its guess reveals, and what it leaks by every measure.

    found: None where X is not one secret with one prior.
    """
    judged = audited.certificate
    assert judged is not None  # an estimator was given
    lines: list[tuple[Cell, Cell]] = [
        ("status", Text(f"{audited.status.value}: {audited.message}", _STYLES[audited.status])),
        ("error probability", f"{judged.own_error:.12g}"),
        ("best within the budget", _bracket_words(judged)),
        ("leaks", f"{_revealed(audited)}; {', '.join(wording.budget(term.budget) for term in audited.problem.terms)}"),
    ]
    if found is not None:
        lines += [
            ("infers X", f"errs {wording.number(found.x_error, 6)}; without seeing it {found.x_error_blind:.6g}"),
            ("H(X given what is seen)", wording.information(found.equivocation_nats)),
            ("leakage", wording.information(found.leakage_nats)),
            ("Fano's bound", f"errs at least {wording.number(found.fano_sharp, 6)} (plain form {found.fano_plain:.6g})"),
        ]
        if found.y_error is not None:
            lines.append(("infers Y", f"errs {wording.number(found.y_error, 6)}"))
    if not judged.own_budget_kept:
        leaks = [words.partition(",")[0].partition(";")[0] for _, words in _leakages(audited)]
        repaired = f"error probability {judged.upper:.12g}, leakage {', '.join(leaks)}"
        lines.append(("its repair", f"{repaired}, made by blending in a share of {judged.blend:.3g}"))
    return [facts(title, lines), *(_leaks_table(audited, number) for number in range(len(audited.problem.terms)))]


def _leaks_table(audited: Solution, secret: int) -> Listing:
    """What the estimator given leaks of a secret by every measure, and its largest change of odds."""
    heads, numbers = ("measure", "guesses", "leaks", "proven ≤", "unit"), ("leaks", "proven ≤")
    lines = [
        (
            each.measure,
            each.guesses,
            wording.number(each.leakage, 6),
            _proven(each.ceiling),
            each.unit or wording.NOTHING,
        )
        for each in audited.own_leaks
        if each.secret == secret
    ]
    caption = "Leaks are computed, right to rounding; the exact leakage is proven to be at most what stands beside it."
    if (odds := audited.own_odds) is not None and odds.secret == secret:
        lines.append(("largest change of odds", "each", wording.number(odds.factor, 6), _proven(odds.ceiling), "factor"))
        before, after = wording.number(odds.before, 4), wording.number(odds.after, 4)
        change = f"Guess {odds.guess} raises the odds of private value {odds.value} most, from {before} to {after}."
        caption = f"{change} {caption}"
    which = _which(secret, audited.problem.terms)
    of_secret = f" of secret{which}" if which else ""
    return listed(f"What the estimator given leaks{of_secret}", heads, lines, right=numbers, caption=caption)


def _proven(ceiling: float) -> str:
    return at_most(ceiling, 7) if math.isfinite(ceiling) else wording.NOTHING


def _revealed(solution: Solution) -> str:
    """What the answer as given leaks."""
    judged = solution.certificate
    assert judged is not None  # of an answer
    found = [(each.own_leakage, each.own_leakage_ceiling) for each in judged.terms]
    units = [term.measure.unit for term in solution.problem.terms]
    leaks = zip(found, units, strict=True)
    words = f"{' and '.join(wording.leakage(*each, unit) for each, unit in leaks)}, ‖ΦP‖ {judged.own_phi_residual:.1e}"
    perfect = judged.private_within < math.inf
    return f"{words}, private within {at_most(judged.own_private_within, 2)}" if perfect else words


def verification_table(title: str, found: Verification) -> Facts:
    """What `verify` proves of a solution."""
    kept = {
        True: Text("proven to be kept", "green"),
        False: Text("proven to be exceeded", "bold red"),
        None: Text("undecided", "yellow"),
    }
    lines: list[tuple[Cell, Cell]] = []
    for k, term in enumerate(found.terms):
        measure, number = measure_of(term.measure), _which(k, found.terms)
        lines += [
            (f"asked for{number}", wording.budget(LeakageBudget(term.budget, measure))),
            (f"budget{number}", kept[term.budget_kept]),
            (f"leakage{number}", f"in [{term.leakage[0]!r}, {term.leakage[1]!r}] {measure.unit}".rstrip()),
        ]
    return facts(
        title,
        [
            *lines,
            ("posterior / prior − 1", f"at most {wording.number(float(at_most(found.deviation[1], 6)), 6)} in size"),
            ("error probability", f"in [{found.error[0]!r}, {found.error[1]!r}]"),
            ("no estimator errs less than", f"{found.lower_bound!r}"),
            ("best possible", f"in [{found.bracket[0]!r}, {found.bracket[1]!r}]"),
        ],
    )


def curve_table(curve: Frontier) -> Listing:
    """The solved points of a privacy–utility curve."""
    unit, about = f", {curve.unit}" if curve.unit else "", f"; {curve.axis}" if curve.is_other else ""
    heads = [f"budget{unit}", "error probability", f"leakage{unit}", "equivocation, nats", "multiplier", "s", "status"]
    lines, spare = [_curve_line(row) for row in curve.rows], (heads[3], heads[5], heads[4], heads[2])
    if curve.is_other:  # nothing is known of H(X given Ŷ)
        heads, lines = heads[:3] + heads[4:], [line[:3] + line[4:] for line in lines]
    title = f"Privacy and utility: {curve.problem or 'problem'}{about}"
    return listed(title, heads, lines, right=heads[:-1], spare=[head for head in spare if head in heads])


def _curve_line(point: FrontierPoint) -> tuple[Cell, ...]:
    answer: tuple[Cell, ...] = (wording.NOTHING,) * 3
    if math.isfinite(point.upper):
        leakage = wording.number(point.leakage, 6) if math.isfinite(point.leakage) else wording.NOTHING
        answer = wording.bracket(point.lower, point.upper), leakage, f"{point.equivocation_nats:.10g}"
    return (
        wording.number(point.budget, 6),
        *answer,
        wording.number(point.multiplier, 5) if math.isfinite(point.multiplier) else "∞",
        wording.seconds(point.seconds),
        Text(point.status.value, _STYLES[point.status]),
    )


def status_table(title: str, found: Iterable[tuple[str, Status]]) -> Listing:
    """How often each solver configuration came to each status, from (configuration, status) of every attempt."""
    counts = Counter((label, status.value) for label, status in found)
    labels, statuses = (sorted(set(words)) for words in zip(*counts, strict=True)) if counts else ([], [])
    lines = [(label, *(str(counts[label, status] or wording.NOTHING) for status in statuses)) for label in labels]
    return listed(title, ("backend", *statuses), lines, right=statuses)


def submission_table(program: str, rows: Iterable[Measurement]) -> Listing:
    """What the judge says of every answer of a program, and the time that its author states."""
    numbers = ("gap", "true leakage ÷ budget", "stated time")
    heads = ("problem and budget", "status", *numbers)
    return listed(f"Answers of {program}, judged", heads, map(_submission_line, rows), right=numbers)


def _submission_line(row: Measurement) -> Sequence[Cell]:
    gap, leaks = wording.scientific(row.relative_gap), wording.excess(row)
    return row.instance, row.status.value, gap, leaks, wording.span(row.seconds)


def _bracket_words(judged: Certificate) -> str:
    return f"[{judged.lower:.12g}, {judged.upper:.12g}], relative gap {judged.relative_gap:.1e}"


def case_tables(comparison: Comparison) -> list[Listing]:
    """Claim against truth, one table per case."""
    numbers = ("error probability", "gap", "true leakage ÷ budget", "seconds")
    heads = ("backend", "status", "claimed", *numbers)
    return [
        listed(case.title, heads, map(_case_line, own), right=numbers, caption=wording.facts(case.problem))
        for case, own in ((case, comparison.rows_of(case)) for case in comparison.cases)
    ]


def _case_line(row: Measurement) -> Sequence[Cell]:
    style = _STYLES[row.status]
    told = row.claimed or (wording.NOTHING if row.answered else row.message)
    return (
        row.label,
        Text(row.status.value, style),
        told,
        wording.bracket(row.lower, row.upper),
        wording.scientific(row.relative_gap),
        Text(wording.excess(row), style if row.status is Status.VIOLATED_PRIVACY else ""),
        wording.seconds(row.seconds),
    )


def agreement_table(comparison: Comparison) -> Listing:
    """On how many common cases two certified brackets do not exclude one another, and their largest |difference|."""
    names = comparison.labels
    pairs = {frozenset((pair.first, pair.second)): pair for pair in summarise(comparison.agreements)}

    def cell(one: str, other: str) -> Cell:
        pair = pairs.get(frozenset((one, other)))
        if names.index(other) <= names.index(one):
            return ""
        if pair is None:
            return wording.NOTHING
        words = f"{pair.agreeing}/{pair.cases}  {wording.scientific(pair.largest_difference, 0)}"
        return Text(words, "" if pair.agreeing == pair.cases else "bold red")

    title = "Agreement: brackets that do not exclude one another, largest |difference| of error probability"
    lines = [[one, *(cell(one, other) for other in names[1:])] for one in names[:-1]]
    return listed(title, ("", *names[1:]), lines, right=names[1:])


# -- what there is -------------------------------------------------------------------------------------------------------


def catalog_table(entries: Iterable[Entry]) -> Listing:
    """The catalog: name, what it is, parameters with their defaults."""
    lines = [
        (
            entry.name,
            entry.family,
            entry.summary + (f" (needs discreet[{entry.extra}])" if entry.extra else ""),
            " ".join(f"{p.name}={shown(p.default)}" for p in entry.parameters),
        )
        for entry in entries
    ]
    return listed("Catalog", ("problem", "family", "what", "parameters"), lines)


def entry_table(entry: Entry, problem: Problem | None, trouble: str) -> Facts:
    """One catalog entry: its parameters, and the problem it builds (or why it cannot be built here)."""
    lines: list[tuple[Cell, Cell]] = [(f"{each.name}={shown(each.default)}", each.meaning) for each in entry.parameters]
    if problem is None:
        lines.append(("", Text(trouble, "yellow")))
    else:
        lines += [
            ("sizes", f"n={problem.n} private values, m={problem.m} guesses, N={problem.N} outcomes"),
            *([("H(X)", f"{problem.entropy_x:.6g} nats")] if is_plain(problem.terms) else []),
            ("Bayes rule", f"errs {problem.bayes_error:.8g}, leaks {wording.bayes_leakages(problem, 6)}"),
            ("constant guess", f"errs {problem.constant_error:.8g}"),
            ("default budget", wording.budgets(problem)),
        ]
    return facts(f"{entry.name}: {entry.summary}", lines)


def doctor_table(probes: Sequence[Availability]) -> Listing:
    """Every backend: whether it can run here, what it can do, and what to do about it if it cannot."""
    heads = ("backend", "state", "budgets", "measures", "problems", "largest N", "versions, or the reason")
    return listed("Backends", heads, map(_doctor_line, probes), right=("largest N",))


def _doctor_line(probe: Availability) -> Sequence[Cell]:
    found, able = probe, probe.capabilities
    state = Text(found.state, _STATES[found.state])
    if able is None:
        return found.name, state, *[wording.NOTHING] * 4, found.reason
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items() if name != "discreet")
    budgets = {"PERFECT": "ε = 0", "CONSTRAINED": "0 < ε", "OBLIVIOUS": "ε = ∞"}
    return (
        f"{found.name} (peer)" if able.peer else found.name,
        state,
        ", ".join(sorted(budgets[regime.name] for regime in able.regimes)),
        wording.measures(able),
        ", ".join(kind.name.lower() for kind in Kind if kind in able.kinds),
        f"{able.largest_outcomes:,}" if able.largest_outcomes else wording.NOTHING,
        found.reason or f"{able.method}; {versions}",
    )


def advice_tables(advice: Advice) -> list[Facts | Listing]:
    """The advice, its evidence, and the others with the reason against each."""
    others = [listed("Not chosen", ("backend", "why"), advice.not_chosen.items())] if advice.not_chosen else []
    evidence = [_evidence_table(advice.chosen)] if advice.chosen and advice.chosen.evidence else []
    return [_advised(advice), *evidence, *others]


def _advised(advice: Advice) -> Facts:
    lines: list[tuple[Cell, Cell]] = []
    best, second = advice.chosen, advice.runner_up
    if best is not None:
        asked = "" if best.option.gap == advice.gap else f", asked for a gap of {best.option.gap:g}"
        lines += [
            ("use", Text(f"{best.option.label}{asked}", "green" if advice.safe else "yellow")),
            ("time", _time_words(best)),
            ("certainty", f"{best.record} within a gap of {advice.gap:g}"),
        ]
    if second is not None:
        lines.append(("runner-up", f"{second.option.label}: {_time_words(second)}"))
    lines += [("note", Text(note, "yellow")) for note in advice.notes]
    local = f", {advice.local_rows} rows of your own" if advice.local_rows else ""
    speed = f"; this machine takes {advice.machine_factor:.2f} times as long" if advice.machine_factor != 1.0 else ""
    lines.append(("from", f"{advice.measured_rows} measurements shipped with discreet{local}{speed}"))
    return facts(f"Advice for {advice.problem or 'this problem'}", lines)


def _evidence_table(prospect: Prospect) -> Listing:
    heads = ("problem", "outcomes", "came to", "time", "gap", "distance")
    lines = [
        (
            row["instance"] + (" (yours)" if row["local"] else ""),
            f"{row['outcomes']:,}",
            row["outcome"] if row["suffices"] or row["outcome"] != "certified" else "too wide a gap",
            wording.span(row["seconds"]),
            wording.NOTHING if row["relative_gap"] is None else wording.scientific(row["relative_gap"]),
            f"{row['distance']:.1f}",
        )
        for row in prospect.evidence
    ]
    title = f"Nearest measurements of {prospect.option.label}"
    return listed(title, heads, lines, right=("outcomes", "time", "gap", "distance"))


def _time_words(prospect: Prospect) -> str:
    if prospect.remote:
        return "not predicted: nothing like it was measured"
    between = f"nine times in ten between {wording.span(prospect.low)} and {wording.span(prospect.high)}"
    return f"about {wording.span(prospect.seconds)}, {between}; the judge's time comes on top"
