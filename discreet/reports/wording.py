"""Formatting of numbers and sentences, shared by the terminal, the pages and the pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.checks import at_most
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import CONDITIONAL, LINEAR, MEASURES, OTHERS, measure_of
from discreet.problems.constraint import LeakageBudget
from discreet.showing import numerals
from discreet.showing.numerals import NOTHING
from discreet.showing.values import Section, Sentences

if TYPE_CHECKING:
    from discreet.backends.contract import AnyProblem, Capabilities
    from discreet.problems.problem import Problem
    from discreet.reports.measurements import Measurement
    from discreet.verification import TermVerification

SUBMITTED = (
    "submitted as files; the answers are judged and verified here, the times are as their "
    "authors state them"
)
KNOWN = (
    "Known defects of the solvers, and solvers that have not been measured, are listed on the "
    "page docs/reference/limitations.md of the documentation."
)
TIMES = "Times are those of the machine and the versions named on this page."
SHARED = "other work may have slowed this attempt, so its time is not compared"


def excess(row: Measurement) -> str:
    """Return the true leakage of a row's own answer relative to its budget: 2.03 ×, 1 + 3·10⁻⁷, 1 −
    2·10⁻¹².

    At budget 0, return "exactly private", "private within 10⁻¹⁵", or ΦP with ‖ΦP‖ for rows that do
    not record δ.
    """
    if not row.answered or math.isinf(row.budget_nats):
        return NOTHING
    if row.regime == "perfect":
        share = row.own_private_within
        if math.isfinite(share):
            return (
                f"private within {numerals.scientific(float(at_most(share, 1)), 0)}"
                if share > 0.0
                else "exactly private"
            )
        residual = row.own_phi_residual
        return (
            f"ΦP {numerals.scientific(residual, 0)}"
            if residual >= 1e-20 or residual == 0.0
            else "ΦP < 10⁻²⁰"
        )
    over = row.leakage_over_budget - 1.0
    if abs(over) >= 1e-3:
        return f"{numerals.number(row.leakage_over_budget, 4)} ×"
    if over == 0.0:
        return "1"
    return f"1 {'+' if over > 0.0 else '−'} {numerals.scientific(abs(over), 0)}"


def beyond(row: Measurement) -> str:
    """Return the leakage of a row's own answer beyond its budget, after a comma; the text is empty
    for perfect privacy.
    """
    if row.regime == "perfect" or row.own_leakage_nats <= row.budget_nats:
        return ""
    unit = "times its budget" if row.secrets > 1 else measure_of(row.measure).unit
    return (
        f", {numerals.scientific(row.own_leakage_nats - row.budget_nats)} {unit} beyond"
    ).replace("  ", " ")


def budget(limit: LeakageBudget) -> str:
    """Describe a budget; a budget of mutual information is given in nats and bits."""
    if limit.perfect:
        return "perfect privacy (budget 0)"
    if limit.oblivious:
        return "no privacy constraint"
    if limit.measure == MUTUAL_INFORMATION:
        return f"budget {numerals.information(limit.amount)}"
    return f"budget {limit}"


def verified_budget(term: TermVerification) -> str:
    """Describe the budget of a constraint that was verified."""
    return budget(LeakageBudget(term.budget, measure_of(term.measure)))


def measures(able: Capabilities) -> str:
    """Describe the measures besides mutual information whose budgets a backend serves, and whether
    it serves several constraints.
    """
    names = {OTHERS: "all", LINEAR: "linear", frozenset[str](): NOTHING}
    served = able.measures
    words = names.get(served & OTHERS, ", ".join(name for name in MEASURES if name in served))
    conditional = ", conditional" if served & CONDITIONAL.keys() else ""
    return f"{words}{conditional}{', several' if able.several else ''}"


def agreement(pairs: int, against: int) -> str:
    """State how many pairs of certified brackets do not overlap."""
    if not pairs:
        return (
            "No two backends answered the same problem with brackets that are tight enough to "
            "compare."
        )
    if against:
        return (
            f"{against} of {pairs} pairs of certified brackets do not overlap: at least "
            "one certificate is wrong."
        )
    return f"All pairs of certified brackets overlap ({pairs})."


def verified(certified: int, asked: int, contradicted: int) -> str:
    """State how many certified answers `verify` was given, and how many certificates it
    contradicts.
    """
    return (
        f"discreet verify checked {asked} of {certified} certified answers and "
        f"contradicts {contradicted}."
    )


def shared(count: int, total: int, compared: int, executors: Sequence[str], hosts: int) -> str:
    """State how many attempts were shared, and how many of their times are compared."""
    where = f"{', '.join(executors)}, {hosts} host{'s' * (hosts != 1)}"
    return (
        f"{count} of {total} attempts may have run next to other work ({where}). Times of "
        f"{compared} of them are compared: "
        "those whose control stayed within 5 % of its median over attempts without other work, "
        "or over all attempts if there always was some."
    )


def noise(floor: float | None) -> str:
    """State how large a difference of times is noise according to the noise floor; None or nan
    means that no trial was repeated.
    """
    if floor is None or math.isnan(floor):
        return "No trial was repeated, so it is not known how much of a difference is noise."
    test = "(95th percentile of an A/A test)"
    return (
        f"Repeats of one trial differ by a factor of up to {floor:.3g} {test}: smaller "
        "differences are not significant."
    )


def facts(problem: Problem) -> str:
    """Describe a problem in one line."""
    return (
        f"{problem.n} private values, {problem.m} guesses, {problem.N:,} outcomes; "
        f"{budgets(problem)}; "
        f"the Bayes rule errs {numerals.number(problem.bayes_error, 6)} and leaks "
        f"{bayes_leakages(problem, 4)}"
    )


def budgets(problem: AnyProblem) -> str:
    """Describe the budgets of all constraints."""
    return ", ".join(budget(term.budget) for term in problem.terms)


def bayes_leakages(problem: Problem, figures: int) -> str:
    """State the leakage of the Bayes rule under each constraint, with `figures` significant
    digits.
    """
    amounts = zip(problem.bayes_leakages, problem.terms, strict=True)
    return " and ".join(
        (f"{numerals.number(leaked, figures)} {term.measure.unit}").rstrip()
        for leaked, term in amounts
    )


def limitations_section(lines: Sequence[str]) -> Section:
    """Return the section that ends every page of results: what the page does not show."""
    return Section("Limitations", [Sentences([*lines, KNOWN])])


STUDY_LIMITATIONS = (
    TIMES,
    "Backends are tried on the tasks that they serve and that are within their reach, so columns "
    "count different tasks: compare within a class of problems.",
    "Each solver gets the form and the settings that suited it best in trials "
    "(docs/reference/peers.md); others may do better.",
)
