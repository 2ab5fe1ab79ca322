"""How numbers are written: the same words in the terminal, on the page and in the pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.problems.checks import at_most
from discreet.problems.constraint import LeakageBudget
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.measures.registry import CONDITIONAL, LINEAR, MEASURES, OTHERS, measure_of

if TYPE_CHECKING:
    from discreet.backends.contract import Capabilities
    from discreet.problems.problem import Problem
    from discreet.reports.measurements import Measurement

NOTHING = "–"
SUBMITTED = "submitted as files; the answers are judged and verified here, the times are as their authors state them"
SHARED = "other work may have slowed this attempt, so its time is not compared"
_DIGITS = 12


def bracket(lower: float, upper: float) -> str:
    """A certified bracket with the digits both ends share written once: 0.0173763544[120, 390]; 12 significant digits."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return NOTHING
    if upper == 0.0:
        return "0"
    decimals = _DIGITS - 1 - math.floor(math.log10(upper))
    if decimals > 2 * _DIGITS:
        low, high = f"{lower:.{_DIGITS - 1}e}", f"{upper:.{_DIGITS - 1}e}"
    else:
        low, high = f"{lower:.{decimals}f}", f"{upper:.{decimals}f}"
    if low == high:
        return high
    shared = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    if "e" in high or shared < 4:
        return f"[{lower:.4g}, {upper:.4g}]"
    end = min(len(low), len(high), shared + 3)  # digits after the first that differs say little
    return f"{high[:shared]}[{low[shared:end]}, {high[shared:end]}]"


def leakage(estimate: float, ceiling: float, unit: str = "nats") -> str:
    """A leakage and its proven upper bound, which is rounded up."""
    words = f"{estimate:.6g} {unit}".rstrip()
    if not math.isfinite(ceiling):
        return words
    return f"{words}, proven ≤ {at_most(ceiling, 9)}"


def scientific(value: float, digits: int = 1) -> str:
    """3.2·10⁻⁷, without a mantissa that is one; plain figures between a thousandth and a thousand."""
    if value == 0.0 or not math.isfinite(value):
        return "0" if value == 0.0 else NOTHING
    if 1e-3 <= abs(value) < 1e3:
        return _plain(f"{value:.{digits + 1}g}")
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    superscript = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    power = f"10{str(int(exponent)).translate(superscript)}"
    return power if float(mantissa) == 1.0 else f"{mantissa}·{power}"


def number(value: float, figures: int) -> str:
    """A number in so many significant figures, with a power of ten where it is tiny."""
    if value == 0.0 or abs(value) >= 1e-4:
        return _plain(f"{value:.{figures}g}")
    return scientific(value, figures - 1)


def _plain(words: str) -> str:
    """1e+02 as 100; larger powers of ten stay as they are."""
    return f"{float(words):.0f}" if "e+0" in words and abs(float(words)) < 1e5 else words


def excess(row: Measurement) -> str:
    """True leakage of a row's own answer against its budget: 2.03 ×, 1 + 3·10⁻⁷, 1 − 2·10⁻¹².

    At budget 0: "exactly private", "private within 10⁻¹⁵", the largest relative change of a probability by a guess, or ‖ΦP‖
    where that was not recorded.
    """
    if not row.answered or math.isinf(row.budget_nats):
        return NOTHING
    if row.regime == "perfect":
        share = row.own_private_within
        if math.isfinite(share):
            return f"private within {scientific(float(at_most(share, 1)), 0)}" if share > 0.0 else "exactly private"
        residual = row.own_phi_residual
        return f"ΦP {scientific(residual, 0)}" if residual >= 1e-20 or residual == 0.0 else "ΦP < 10⁻²⁰"
    over = row.leakage_over_budget - 1.0
    if abs(over) >= 1e-3:
        return f"{number(row.leakage_over_budget, 4)} ×"
    if over == 0.0:
        return "1"
    return f"1 {'+' if over > 0.0 else '−'} {scientific(abs(over), 0)}"


def beyond(row: Measurement) -> str:
    """By how much a row's own answer leaks more than its budget, after a comma; nothing for perfect privacy."""
    if row.regime == "perfect" or row.own_leakage_nats <= row.budget_nats:
        return ""
    unit = "times its budget" if row.secrets > 1 else measure_of(row.measure).unit
    return f", {scientific(row.own_leakage_nats - row.budget_nats)} {unit} beyond".replace("  ", " ")


def seconds(value: float) -> str:
    """At most three significant digits, down to milliseconds; a dash for 0, the time of a step that was not reached."""
    if value == 0.0:
        return NOTHING
    if value >= 99.95:
        return f"{value:.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.9995 else f"{value:.3f}"


def span(seconds: float) -> str:
    """Seconds with two or three figures, down to microseconds."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 0.995:
            return f"{seconds * factor:.2g} {unit}" if seconds * factor < 99.5 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def budget(limit: LeakageBudget) -> str:
    """A budget; of mutual information in nats and bits."""
    if limit.perfect:
        return "perfect privacy (budget 0)"
    if limit.oblivious:
        return "no privacy constraint"
    return f"budget {information(limit.amount) if limit.measure == MUTUAL_INFORMATION else limit}"


def measures(able: Capabilities) -> str:
    """The measures other than mutual information whose budgets a backend serves, and whether several constraints."""
    names = {OTHERS: "all", LINEAR: "linear", frozenset[str](): NOTHING}
    served = able.measures
    words = names.get(served & OTHERS, ", ".join(name for name in MEASURES if name in served))
    conditional = ", conditional" if served & CONDITIONAL.keys() else ""
    return f"{words}{conditional}{', several' if able.several else ''}"


def agreement(pairs: int, against: int) -> str:
    """How many pairs of certified brackets exclude one another, in a sentence."""
    if not pairs:
        return "No two backends answered the same problem with brackets that are tight enough to compare."
    if against:
        return f"{against} of {pairs} pairs of certified brackets exclude one another: at least one certificate is wrong."
    return f"No pair of certified brackets, of {pairs}, excludes one another."


def verified(certified: int, asked: int, contradicted: int) -> str:
    """Of how many certified answers `verify` was asked, and how many certificates it contradicts, in a sentence."""
    return f"discreet verify was asked about {asked} of {certified} certified answers, and contradicts {contradicted}."


def shared(count: int, total: int, compared: int, executors: Sequence[str], hosts: int) -> str:
    """How many attempts ran beside others, and how many of their times are compared, in a sentence."""
    where = f"{', '.join(executors)}, {hosts} host{'s' * (hosts != 1)}"
    return (
        f"{count} of {total} attempts may have run beside other work ({where}). Times of {compared} of them are compared: "
        "those whose control stayed within 5 % of its median over attempts that ran alone, or over all where none did."
    )


def noise(floor: float | None) -> str:
    """What the noise floor means for differences of times; None or nan without repeats."""
    if floor is None or math.isnan(floor):
        return "No trial was repeated: how much of a difference is noise is not known."
    test = "(95th percentile of an A/A test)"
    return f"Repeats of one trial differ by a factor of up to {floor:.3g} {test}: smaller differences say nothing."


def facts(problem: Problem) -> str:
    """One line about a problem."""
    return (
        f"{problem.n} private values, {problem.m} guesses, {problem.N:,} outcomes; {budgets(problem)}; "
        f"the Bayes rule errs {number(problem.bayes_error, 6)} and leaks {bayes_leakages(problem, 4)}"
    )


def budgets(problem: Problem) -> str:
    """Those of all constraints."""
    return ", ".join(budget(term.budget) for term in problem.terms)


def bayes_leakages(problem: Problem, figures: int) -> str:
    """What the Bayes rule leaks, by each of the constraints, in so many significant figures."""
    amounts = zip(problem.bayes_leakages, problem.terms, strict=True)
    return " and ".join(f"{number(leaked, figures)} {term.measure.unit}".rstrip() for leaked, term in amounts)


def told(value: Any) -> Any:
    """Plain values with their numbers as words, whole ones in full, others in three figures; counts stay numbers."""
    if isinstance(value, dict):
        return {name: told(each) for name, each in value.items()}
    if isinstance(value, list):
        return [told(each) for each in value]
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e7 else scientific(value, 2)
    return NOTHING if value is None else value


def information(nats: float) -> str:
    """An amount of information in nats and bits."""
    return f"{number(nats, 6)} nats ({number(nats / math.log(2.0), 4)} bits)"


def markdown_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; special characters in its cells are escaped."""
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in (heads, ["---"] * len(heads), *lines))


def _cell(words: str) -> str:
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
