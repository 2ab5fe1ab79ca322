"""Facts and tables about solutions, audits, curves, comparisons, advice, the catalog, backends."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from discreet.backends.contract import Kind, Regime
from discreet.backends.solution import Solution, Status
from discreet.checks import at_most, format_value
from discreet.measures.registry import measure_of
from discreet.problems.constraint import label_constraints
from discreet.reports import wording
from discreet.reports.measurements import Measurement
from discreet.reports.statistics.numbers import TABLES
from discreet.reports.statistics.ranking import ranking
from discreet.reports.statistics.trials import trials
from discreet.showing import numerals
from discreet.showing.numerals import NOTHING
from discreet.showing.values import BAD, GOOD, UNSURE, Facts, Table, Toned

if TYPE_CHECKING:
    from discreet.backends.registry import Availability
    from discreet.problems.adversary.inference import Inference
    from discreet.problems.catalog.registry import Entry
    from discreet.problems.certificate import Certificate
    from discreet.problems.problem import Problem
    from discreet.reports.advice.choose import Advice
    from discreet.reports.advice.prediction import Prospect
    from discreet.reports.compare import Comparison
    from discreet.reports.curve import Frontier, FrontierPoint
    from discreet.reports.statistics.agreement import Pair
    from discreet.verification import Verification

_STATES = {"available": GOOD, "absent": UNSURE, "broken": BAD}
_KEPT = {
    True: Toned("proven to be kept", GOOD),
    False: Toned("proven to be exceeded", BAD),
    None: Toned("undecided", UNSURE),
}


# -- answers ---------------------------------------------------------------------------------------


def solution_facts(solution: Solution) -> Facts:
    """One solution, a line for each number."""
    judged = solution.certificate
    lines = [
        _status(solution),
        ("backend", f"{solution.backend}, which claimed {solution.claimed or 'nothing'}"),
    ]
    if judged is not None:
        assert solution.multipliers is not None  # of a judged answer
        units = [term.measure.unit.removesuffix("s") or "unit" for term in solution.problem.terms]
        pairs = zip(solution.multipliers.tolist(), units, strict=True)
        prices = (f"{price:.6g} per {unit}" for price, unit in pairs)
        lines += [
            ("error probability", f"{solution.error_probability:.12g}"),
            ("certified bracket", _bracket(judged)),
            *_leakages(solution),
        ]
        if not math.isnan(solution.equivocation):  # leakage is mutual information
            kept = f"{solution.equivocation:.12g} of {solution.problem.entropy_x:.12g} nats"
            lines.append(("equivocation", kept))
        own = f"error probability {judged.own_error:.12g}, leakage {_own_leakages(solution)}"
        lines += [("own answer", own), ("multiplier", ", ".join(prices))]
    times = solution.timings
    steps = ("lower", "solve", "lift", "certify")
    words = ", ".join(
        f"{step} {numerals.seconds(getattr(times, f'{step}_seconds'))}" for step in steps
    )
    if times.compile_seconds > 0.0:
        words += (
            f"; of these, compiling for the first time {numerals.seconds(times.compile_seconds)}"
        )
    return Facts(solution.problem.name or "problem", [*lines, ("seconds", words)])


def _status(solution: Solution) -> tuple[str, str]:
    return "status", Toned(f"{solution.status.value}: {solution.message}", solution.status.tone)


def _bracket(judged: Certificate) -> str:
    return f"[{judged.lower:.12g}, {judged.upper:.12g}], relative gap {judged.relative_gap:.1e}"


def _leakages(solution: Solution) -> list[tuple[str, str]]:
    """The leakage of the estimator returned, with the budget, under each constraint."""
    assert solution.certificate is not None  # there is an answer
    terms = solution.problem.terms
    labels = label_constraints(" {}", terms)
    lines = []
    for label, each, term in zip(labels, solution.certificate.terms, terms, strict=True):
        leaked = numerals.leakage(each.leakage, each.leakage_ceiling, term.measure.unit)
        lines.append((f"leakage{label}", f"{leaked}; {wording.budget(term.budget)}"))
    return lines


def _own_leakages(solution: Solution) -> str:
    """Return the leakage of the answer as given."""
    judged = solution.certificate
    assert judged is not None  # there is an answer
    leaks = (
        numerals.leakage(each.own_leakage, each.own_leakage_ceiling, term.measure.unit)
        for each, term in zip(judged.terms, solution.problem.terms, strict=True)
    )
    words = f"{' and '.join(leaks)}, ‖ΦP‖ {judged.own_phi_residual:.1e}"
    if judged.private_within < math.inf:
        words += f", private within {at_most(judged.own_private_within, 2)}"
    return words


def audit_tables(title: str, audited: Solution, inference: Inference | None) -> list[Facts | Table]:
    """What the judge says of a given estimator, what its guess reveals, and all that it leaks.

    inference   None where X is not one secret with one prior
    """
    judged = audited.certificate
    assert judged is not None  # an estimator was given
    budgets = wording.budgets(audited.problem)
    lines = [
        _status(audited),
        ("error probability", f"{judged.own_error:.12g}"),
        ("best within the budget", _bracket(judged)),
        ("leaks", f"{_own_leakages(audited)}; {budgets}"),
    ]
    if inference is not None:
        errors = (
            f"errs {numerals.number(inference.x_error, 6)}; without seeing it "
            f"{inference.x_error_blind:.6g}"
        )
        fano = (
            f"errs at least {numerals.number(inference.fano_sharp, 6)} (plain form "
            f"{inference.fano_plain:.6g})"
        )
        lines += [
            ("infers X", errors),
            ("H(X given what is seen)", numerals.information(inference.equivocation_nats)),
            ("leakage", numerals.information(inference.leakage_nats)),
            ("Fano's bound", fano),
        ]
        if inference.y_error is not None:
            lines.append(("infers Y", f"errs {numerals.number(inference.y_error, 6)}"))
    if not judged.own_budget_kept:
        leaks = ", ".join(
            words.partition(",")[0].partition(";")[0] for _, words in _leakages(audited)
        )
        blended = f"made by blending in a share of {judged.blend:.3g}"
        lines.append(
            ("its repair", f"error probability {judged.upper:.12g}, leakage {leaks}, {blended}")
        )
    labels = label_constraints(" of secret {}", audited.problem.terms)
    of_secrets = [_leaks(audited, secret, label) for secret, label in enumerate(labels)]
    return [Facts(title, lines), *of_secrets]


def _leaks(audited: Solution, secret: int, label: str) -> Table:
    """What the estimator given leaks of a secret by every measure, and its largest
    change of odds.
    """
    lines = [
        (
            each.measure,
            each.guesses,
            numerals.number(each.leakage, 6),
            _proven(each.ceiling),
            each.unit or NOTHING,
        )
        for each in audited.own_leaks
        if each.secret == secret
    ]
    caption = (
        "Leaks are computed, exact up to rounding; the true leakage is proven to be at most "
        "the number next to it."
    )
    odds = audited.own_odds
    if odds is not None and odds.secret == secret:
        lines.append(
            (
                "largest change of odds",
                "each",
                numerals.number(odds.factor, 6),
                _proven(odds.ceiling),
                "factor",
            )
        )
        change = f"from {numerals.number(odds.before, 4)} to {numerals.number(odds.after, 4)}"
        caption = (
            f"Guess {odds.guess} raises the odds of private value {odds.value} most, "
            f"{change}. {caption}"
        )
    heads = ("measure", "guesses", "leaks", "proven ≤", "unit")
    return Table(
        f"What the estimator given leaks{label}", heads, lines, heads[2:4], caption=caption
    )


def _proven(ceiling: float) -> str:
    return at_most(ceiling, 7) if math.isfinite(ceiling) else NOTHING


def verification_facts(title: str, verification: Verification) -> Facts:
    """Return what `verify` proves about a solution."""
    lines = []
    labels = label_constraints(" {}", verification.terms)
    for number, term in zip(labels, verification.terms, strict=True):
        unit = measure_of(term.measure).unit
        lines += [
            (f"asked for{number}", wording.verified_budget(term)),
            (f"budget{number}", _KEPT[term.budget_kept]),
            (
                f"leakage{number}",
                (f"in [{term.leakage[0]!r}, {term.leakage[1]!r}] {unit}").rstrip(),
            ),
        ]
    deviation = numerals.number(float(at_most(verification.deviation[1], 6)), 6)
    lines += [
        ("posterior / prior − 1", f"at most {deviation} in size"),
        ("error probability", f"in [{verification.error[0]!r}, {verification.error[1]!r}]"),
        ("no estimator errs less than", f"{verification.lower_bound!r}"),
        ("best possible", f"in [{verification.bracket[0]!r}, {verification.bracket[1]!r}]"),
    ]
    return Facts(title, lines)


def curve_table(curve: Frontier) -> Table:
    """The solved points of a privacy–utility curve."""
    unit = f", {curve.unit}" if curve.unit else ""
    heads = [
        f"budget{unit}",
        "error probability",
        f"leakage{unit}",
        "equivocation, nats",
        "multiplier",
        "s",
        "status",
    ]
    lines = [_curve_line(row) for row in curve.rows]
    spare = [heads[3], heads[5], heads[4], heads[2]]
    title = f"Privacy and utility: {curve.problem or 'problem'}"
    if curve.is_other:  # nothing is known of H(X given Ŷ)
        title += f"; {curve.axis}"
        lines = [line[:3] + line[4:] for line in lines]
        heads.remove(spare.pop(0))
    return Table(title, heads, lines, heads[:-1], spare)


def _curve_line(point: FrontierPoint) -> tuple[str, ...]:
    def finite(value: float, figures: int, otherwise: str = NOTHING) -> str:
        return numerals.number(value, figures) if math.isfinite(value) else otherwise

    answered = math.isfinite(point.upper)
    return (
        numerals.number(point.budget, 6),
        numerals.bracket(point.lower, point.upper),
        finite(point.leakage if answered else math.inf, 6),
        f"{point.equivocation_nats:.10g}" if answered else NOTHING,
        finite(point.multiplier, 5, "∞"),
        numerals.seconds(point.seconds),
        Toned(point.status.value, point.status.tone),
    )


def status_table(title: str, attempts: Iterable[tuple[str, Status]]) -> Table:
    """How often each configuration came to each status, from the pairs of all attempts."""
    counts = Counter((label, status.value) for label, status in attempts)
    labels = sorted({label for label, _ in counts})
    statuses = sorted({status for _, status in counts})
    lines = [
        (label, *(str(counts[label, each] or NOTHING) for each in statuses)) for label in labels
    ]
    return Table(title, ("backend", *statuses), lines, statuses)


def submission_table(program: str, rows: Iterable[Measurement]) -> Table:
    """What the judge says of every answer of a program, and the time that its author states."""
    heads = ("problem and budget", "status", "gap", "true leakage ÷ budget", "stated time")
    lines = [
        (
            row.instance,
            row.status.value,
            numerals.scientific(row.relative_gap),
            wording.excess(row),
            numerals.span(row.seconds),
        )
        for row in rows
    ]
    return Table(f"Answers of {program}, judged", heads, lines, heads[2:])


ANSWER_HEADS = (
    "backend",
    "status",
    "claimed",
    "error probability",
    "gap",
    "true leakage ÷ budget",
    "seconds",
)


def answer_line(row: Measurement) -> tuple[str, ...]:
    """Claim and truth of an attempt, under `ANSWER_HEADS`."""
    excess = wording.excess(row)
    return (
        row.label,
        Toned(row.status.value, row.status.tone),
        row.claimed or (NOTHING if row.answered else row.message),
        numerals.bracket(row.lower, row.upper),
        numerals.scientific(row.relative_gap),
        Toned(excess, BAD) if row.status is Status.VIOLATED_PRIVACY else excess,
        numerals.seconds(row.seconds),
    )


def case_tables(comparison: Comparison) -> list[Table]:
    """Claim against truth, one table for each case."""
    return [
        Table(
            case.title,
            ANSWER_HEADS,
            [answer_line(row) for row in comparison.rows_of(case)],
            ANSWER_HEADS[3:],
            ("claimed", "seconds", "error probability"),
            f"The optimum is {numerals.bracket(*comparison.bracket(case))}. "
            f"{wording.facts(case.problem)}.",
        )
        for case in comparison.cases
    ]


def ranking_table(comparison: Comparison) -> Table:
    """Return the ranking of a report: which configuration to use."""
    records = [rank.record for rank in ranking(trials(comparison.rows))]
    return Table.of("Backends", TABLES["ranking"], records)


def uncertified_table(comparison: Comparison) -> Table:
    """Claim against truth, of every answer that is not certified."""
    lines = []
    for row in comparison.rows:
        if row.answered and not row.certified:
            label, status, claimed, _, gap, excess, _ = answer_line(row)
            lines.append((row.instance, label, excess, gap, status, claimed))
    heads = ("problem", "backend", "true leakage ÷ budget", "gap", "status", "claimed")
    return Table("Answers that are not certified", heads, lines, heads[2:4])


def agreement_table(names: Sequence[str], agreed: Iterable[Pair]) -> Table:
    """On how many common cases two brackets overlap, and their largest
    |difference|.
    """
    pairs = {frozenset((pair.first, pair.second)): pair for pair in agreed}

    def cell(one: str, other: str) -> str:
        pair = pairs.get(frozenset((one, other)))
        if names.index(other) <= names.index(one):
            return ""
        if pair is None:
            return NOTHING
        words = f"{pair.agreeing}/{pair.cases}  {numerals.scientific(pair.largest_difference, 0)}"
        return words if pair.agreeing == pair.cases else Toned(words, BAD)

    title = "Agreement: brackets that overlap, largest |difference| of error probability"
    lines = [[one, *(cell(one, other) for other in names[1:])] for one in names[:-1]]
    return Table(title, ("", *names[1:]), lines, names[1:])


# -- what there is ---------------------------------------------------------------------------------


def catalog_table(entries: Iterable[Entry]) -> Table:
    """The catalog: name, what it is, parameters with their defaults."""
    lines = []
    for entry in entries:
        extra = f" (needs discreet[{entry.extra}])" if entry.extra else ""
        parameters = " ".join(
            f"{each.name}={format_value(each.default)}" for each in entry.parameters
        )
        lines.append((entry.name, entry.family, entry.summary + extra, parameters))
    return Table("Catalog", ("problem", "family", "what", "parameters"), lines)


def entry_facts(entry: Entry, problem: Problem | None, trouble: str) -> Facts:
    """One catalog entry: its parameters, and the problem it builds, or why it cannot
    be built here.
    """
    lines = [
        (f"{each.name}={format_value(each.default)}", each.meaning) for each in entry.parameters
    ]
    if problem is None:
        lines.append(("", Toned(trouble, UNSURE)))
    else:
        lines.append(
            (
                "sizes",
                f"n={problem.n} private values, m={problem.m} guesses, N={problem.N} outcomes",
            )
        )
        if len(problem.groups) == 1:
            lines.append(("H(X)", f"{problem.entropy_x:.6g} nats"))
        lines += [
            (
                "Bayes rule",
                f"errs {problem.bayes_error:.8g}, leaks {wording.bayes_leakages(problem, 6)}",
            ),
            ("constant guess", f"errs {problem.constant_error:.8g}"),
            ("default budget", wording.budgets(problem)),
        ]
    return Facts(f"{entry.name}: {entry.summary}", lines)


def doctor_parts(probes: Sequence[Availability]) -> list[str | Table]:
    """How many backends can run here, why the others cannot and what to do, and what each can
    do.
    """
    heads = (
        "backend",
        "state",
        "budgets",
        "largest N",
        "problems",
        "measures",
        "versions",
        "method",
    )
    able = sum(each.state == "available" for each in probes)
    return [
        f"{able} of {len(probes)} backends can run here.",
        *(f"{each.name} is {each.state}: {each.reason}" for each in probes if each.reason),
        "",
        Table(
            "Backends",
            heads,
            [_doctor_line(each) for each in probes],
            ("largest N",),
        ),
    ]


def _doctor_line(availability: Availability) -> Sequence[str]:
    able = availability.capabilities
    state = Toned(availability.state, _STATES[availability.state])
    if able is None:
        return availability.name, state, *[NOTHING] * 6
    versions = ", ".join(
        f"{name} {version}" for name, version in availability.versions.items() if name != "discreet"
    )
    budgets = {"PERFECT": "ε = 0", "CONSTRAINED": "0 < ε", "OBLIVIOUS": "ε = ∞"}
    served = [words for name, words in budgets.items() if Regime[name] in able.regimes]
    return (
        f"{availability.name} (peer)" if able.peer else availability.name,
        state,
        "all" if len(served) == len(budgets) else ", ".join(served) or NOTHING,
        f"{able.largest_outcomes:,}" if able.largest_outcomes else NOTHING,
        ", ".join(kind.name.lower() for kind in Kind if kind in able.kinds),
        wording.measures(able),
        versions,
        able.method,
    )


def advice_tables(advice: Advice) -> list[Facts | Table]:
    """The advice, its evidence, and the others with the reason against each."""
    best = advice.chosen
    tables: list[Facts | Table] = [_advice_facts(advice)]
    if best and best.evidence:
        tables.append(_evidence(best))
    if advice.not_chosen:
        tables.append(Table("Not chosen", ("backend", "why"), list(advice.not_chosen.items())))
    return tables


def _advice_facts(advice: Advice) -> Facts:
    lines = []
    best = advice.chosen
    if best is not None:
        asked = "" if best.option.gap == advice.gap else f", asked for a gap of {best.option.gap:g}"
        lines += [
            ("use", Toned(f"{best.option.label}{asked}", GOOD if advice.safe else UNSURE)),
            ("time", _time(best)),
            ("certainty", f"{best.record} within a gap of {advice.gap:g}"),
        ]
    if advice.runner_up is not None:
        lines.append(("runner-up", f"{advice.runner_up.option.label}: {_time(advice.runner_up)}"))
    lines += [("note", Toned(note, UNSURE)) for note in advice.notes]
    source = f"{advice.measured_rows} measurements shipped with discreet"
    if advice.local_rows:
        source += f", {advice.local_rows} rows of your own"
    if advice.machine_factor != 1.0:
        source += f"; this machine takes {advice.machine_factor:.2f} times as long"
    lines.append(("from", source))
    return Facts(f"Advice for {advice.problem or 'this problem'}", lines)


def _evidence(prospect: Prospect) -> Table:
    heads = ("problem", "came to", "time", "gap", "outcomes", "distance")
    lines = []
    for row in prospect.evidence:
        wide = row["outcome"] == "certified" and not row["suffices"]
        gap = row["relative_gap"]
        lines.append(
            (
                row["instance"] + " (yours)" * row["local"],
                "too wide a gap" if wide else row["outcome"],
                numerals.span(row["seconds"]),
                NOTHING if gap is None else numerals.scientific(gap),
                f"{row['outcomes']:,}",
                f"{row['distance']:.1f}",
            )
        )
    return Table(f"Nearest measurements of {prospect.option.label}", heads, lines, heads[2:])


def _time(prospect: Prospect) -> str:
    if prospect.remote:
        return "not predicted: nothing like it was measured"
    between = (
        f"nine times in ten between {numerals.span(prospect.low)} and "
        f"{numerals.span(prospect.high)}"
    )
    return f"about {numerals.span(prospect.seconds)}, {between}; the judge's time comes on top"
