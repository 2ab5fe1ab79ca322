"""How numbers are written: the same words in the terminal, on the page and in the pictures."""

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

if TYPE_CHECKING:
    from discreet.backends.contract import AnyProblem, Capabilities
    from discreet.problems.problem import Problem
    from discreet.reports.measurements import Measurement

SUBMITTED = (
    "submitted as files; the answers are judged and verified here, the times are as their "
    "authors state them"
)
SHARED = "other work may have slowed this attempt, so its time is not compared"


def excess(row: Measurement) -> str:
    """True leakage of a row's own answer against its budget: 2.03 ×, 1 + 3·10⁻⁷, 1 − 2·10⁻¹².

    At budget 0: "exactly private", "private within 10⁻¹⁵", the largest relative change of a
    probability by a guess, or ‖ΦP‖ where that was not recorded.
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
    """By how much a row's own answer leaks more than its budget, after a comma; nothing for perfect
    privacy.
    """
    if row.regime == "perfect" or row.own_leakage_nats <= row.budget_nats:
        return ""
    unit = "times its budget" if row.secrets > 1 else measure_of(row.measure).unit
    return (
        f", {numerals.scientific(row.own_leakage_nats - row.budget_nats)} {unit} beyond"
    ).replace("  ", " ")


def budget(limit: LeakageBudget) -> str:
    """A budget; of mutual information in nats and bits."""
    if limit.perfect:
        return "perfect privacy (budget 0)"
    if limit.oblivious:
        return "no privacy constraint"
    if limit.measure == MUTUAL_INFORMATION:
        return f"budget {numerals.information(limit.amount)}"
    return f"budget {limit}"


def measures(able: Capabilities) -> str:
    """The measures besides mutual information whose budgets a backend serves, and whether several
    constraints.
    """
    names = {OTHERS: "all", LINEAR: "linear", frozenset[str](): NOTHING}
    served = able.measures
    words = names.get(served & OTHERS, ", ".join(name for name in MEASURES if name in served))
    conditional = ", conditional" if served & CONDITIONAL.keys() else ""
    return f"{words}{conditional}{', several' if able.several else ''}"


def agreement(pairs: int, against: int) -> str:
    """How many pairs of certified brackets exclude one another, in a sentence."""
    if not pairs:
        return (
            "No two backends answered the same problem with brackets that are tight enough to "
            "compare."
        )
    if against:
        return (
            f"{against} of {pairs} pairs of certified brackets exclude one another: at least "
            "one certificate is wrong."
        )
    return f"No pair of certified brackets, of {pairs}, excludes one another."


def verified(certified: int, asked: int, contradicted: int) -> str:
    """Of how many certified answers `verify` was asked, and how many certificates it contradicts,
    in a sentence.
    """
    return (
        f"discreet verify was asked about {asked} of {certified} certified answers, and "
        f"contradicts {contradicted}."
    )


def shared(count: int, total: int, compared: int, executors: Sequence[str], hosts: int) -> str:
    """How many attempts ran beside others, and how many of their times are compared,
    in a sentence.
    """
    where = f"{', '.join(executors)}, {hosts} host{'s' * (hosts != 1)}"
    return (
        f"{count} of {total} attempts may have run beside other work ({where}). Times of "
        f"{compared} of them are compared: "
        "those whose control stayed within 5 % of its median over attempts that ran alone, or "
        "over all where none did."
    )


def noise(floor: float | None) -> str:
    """What the noise floor means for differences of times; None or nan without repeats."""
    if floor is None or math.isnan(floor):
        return "No trial was repeated: how much of a difference is noise is not known."
    test = "(95th percentile of an A/A test)"
    return (
        f"Repeats of one trial differ by a factor of up to {floor:.3g} {test}: smaller "
        "differences say nothing."
    )


def facts(problem: Problem) -> str:
    """One line about a problem."""
    return (
        f"{problem.n} private values, {problem.m} guesses, {problem.N:,} outcomes; "
        f"{budgets(problem)}; "
        f"the Bayes rule errs {numerals.number(problem.bayes_error, 6)} and leaks "
        f"{bayes_leakages(problem, 4)}"
    )


def budgets(problem: AnyProblem) -> str:
    """Those of all constraints."""
    return ", ".join(budget(term.budget) for term in problem.terms)


def bayes_leakages(problem: Problem, figures: int) -> str:
    """What the Bayes rule leaks, by each of the constraints, in so many significant figures."""
    amounts = zip(problem.bayes_leakages, problem.terms, strict=True)
    return " and ".join(
        (f"{numerals.number(leaked, figures)} {term.measure.unit}").rstrip()
        for leaked, term in amounts
    )


RANKING = (
    "Solved: certified by the judge to the gap asked for, within the budget. A wrong claim is "
    "success claimed of an answer that is not. Seconds ÷ best: the geometric mean, over the tasks "
    "that a backend solved, of its seconds divided by those of the fastest. The last columns count "
    "the tasks solved by class of problem."
)

LIMITATIONS = (
    "Backends are tried on the tasks that they serve and that are within their reach, so columns "
    "count different tasks: compare within a class of problem.",
    "Times are those of one machine, which is named on this page; the fastest backend of a task "
    "has the ratio 1.",
    "Each solver gets the form and the settings that suited it best in trials "
    "(docs/reference/peers.md); other forms may do better.",
    "A backend that is missing was not installed, or needs a licence or a GPU: MOSEK, COPT, "
    "KNITRO, Gurobi, cuOpt and CuClarabel are not tested here.",
)
"""What is known to be wrong with these pages, or not measured."""
