"""What a backend's word claims, how often the claim was true, and why attempts failed.

The words are those that solvers put in `claimed`. A claim is *true* when the judge certified the gap that was asked for
within the budget; the *correct rate* is true claims ÷ claims. "Almost solved" is a claim of its own, neither counted as
solved nor as refused. A word that is not in the table claims nothing and is named by `unknown_words`.

Failures are grouped by their reasons: the same sentence with other numbers is the same reason.

Source of the term: S. Caron et al., qpbenchmark (2023), "correct rate".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement
from discreet.reports.statistics.trials import NOT_TRIED

__all__ = [
    "Claim",
    "ClaimRecord",
    "Failure",
    "Leak",
    "claim_of",
    "claim_records",
    "claimed_leaks",
    "failure_groups",
    "reason_of",
    "unknown_words",
]


class Claim(Enum):
    """What a word claims."""

    SOLVED = "solved"
    ALMOST = "almost solved"
    NOT_SOLVED = "not solved"
    SILENT = "nothing"
    UNKNOWN = "a word that is not in the table"


_WORDS = {
    Claim.SOLVED: (
        "optimal",  # tilt, blahut-arimoto, cvxpy, HiGHS, OR-Tools, QICS
        "converged",
        "convergencecriteriasatisfied",  # Pyomo
        "optimization terminated successfully",  # SLSQP
        "one guess",
        "optimality, constraints and barrier within tolerance",  # trust-constr, by the callback that ends it
        "`gtol` termination condition is satisfied",  # trust-constr: first-order conditions
        "`xtol` termination condition is satisfied",  # trust-constr calls both a success
        "solve_succeeded",  # IPOPT
        "solved",  # Clarabel, SCS
    ),
    Claim.ALMOST: (
        "optimal_inaccurate",  # cvxpy
        "solved_to_acceptable_level",  # IPOPT
        "almostsolved",  # Clarabel
        "solved (inaccurate)",
        "solved_inaccurate",  # SCS
        "near_optimal",  # QICS
        "feasible",  # OR-Tools
    ),
    Claim.NOT_SOLVED: (
        "stalled",
        "stopped: no further progress",  # trust-constr, by its callback
        "interrupted",
        "round limit",
        "iteration limit",
        "iteration limit reached",
        "time limit",
        "time limit reached",
        "limit reached",
        "max_iter",
        "max_time",
        "step_failure",
        "slow_progress",
        "diverged",
        "infeasible",
        "unbounded",
        "unknown",
        "unspecified",
        "abnormal",
        "not_solved",
        "not set",
        "maxiterations",
        "maxtime",
        "insufficientprogress",
        "numericalerror",
        "positive directional derivative for linesearch",
        "inequality constraints incompatible",
        "more equality constraints than independent variables",
        "more than 3*n iterations in lsq subproblem",
        "singular matrix c in lsq subproblem",
        "singular matrix e in lsq subproblem",
        "rank-deficient equality constraint subproblem hfti",
        "the maximum number of function evaluations is exceeded",
        "`callback` function requested termination",
        "constraint violation exceeds 'gtol'",
        "maximum_iterations_exceeded",
        "maximum_cputime_exceeded",
        "maximum_walltime_exceeded",
        "infeasible_problem_detected",
        "search_direction_becomes_too_small",
        "diverging_iterates",
        "restoration_failed",
        "error_in_step_computation",
        "invalid_number_detected",
        "user_requested_stop",
        "insufficient_progress",
        "user_limit",
    ),
}


def claim_of(claimed: str) -> Claim:
    """What a backend's word claims. What stands before a colon ("tilt: optimal") or in brackets after is set aside."""
    word = claimed.strip().lower().rstrip(". ")
    if not word:
        return Claim.SILENT
    bare = word.partition(" (")[0]
    heads = (word, bare, *(part.strip() for part in word.split(":")), *(part.strip() for part in bare.split(":")))
    return next((claim for head in heads for claim, words in _WORDS.items() if head in words), Claim.UNKNOWN)


@dataclass(frozen=True)
class ClaimRecord:
    """How far a solver configuration's word goes. Counts are of attempts.

    attempts    tried, whatever became of them
    claims      said to be solved;   true_claims  of these, certified;   violations  of these, beyond the budget
    unclaimed   certified although the backend did not say solved
    """

    contestant: str
    attempts: int
    claims: int
    true_claims: int
    violations: int
    unclaimed: int
    worst_leakage: float

    @property
    def correct_rate(self) -> float:
        """true_claims ÷ claims; nan where nothing was claimed."""
        return self.true_claims / self.claims if self.claims else math.nan


@dataclass(frozen=True)
class Leak:
    """A claimed success and what it leaks: `ratio` is true leakage ÷ budget, at budget 0 ‖ΦP‖∞ ÷ what counts as zero."""

    contestant: str
    instance: str
    gap: float
    regime: str
    claimed: str
    ratio: float
    violated: bool


def claim_records(rows: Iterable[Measurement]) -> tuple[ClaimRecord, ...]:
    """One record a solver configuration, by label; attempts that were not tried are left out."""
    found: dict[str, list[Measurement]] = {}
    for row in rows:
        if row.status not in NOT_TRIED:
            found.setdefault(row.label, []).append(row)
    return tuple(_record(label, found[label]) for label in sorted(found))


def claimed_leaks(rows: Iterable[Measurement]) -> tuple[Leak, ...]:
    """Every answer that its backend called solved, under a finite budget; in an order of its own."""
    leaks = [
        Leak(row.label, row.instance, row.gap_target, row.regime, row.claimed, row.leakage_over_budget, row.violated)
        for row in rows
        if row.answered and math.isfinite(row.budget_nats) and claim_of(row.claimed) is Claim.SOLVED
    ]
    return tuple(sorted(leaks, key=lambda leak: (leak.contestant, leak.instance, leak.gap, leak.ratio)))


def unknown_words(rows: Iterable[Measurement]) -> dict[str, int]:
    """Words that are not in the table, with how often they were said."""
    return dict(sorted(Counter(row.claimed for row in rows if claim_of(row.claimed) is Claim.UNKNOWN).items()))


@dataclass(frozen=True)
class Failure:
    """How often a solver configuration ended so, for this reason; `example` is one of the instances."""

    contestant: str
    status: Status
    reason: str
    count: int
    example: str


def failure_groups(rows: Iterable[Measurement]) -> tuple[Failure, ...]:
    """Every attempt that is not certified, grouped by configuration, status and reason; the most frequent first."""
    found: dict[tuple[str, Status, str], list[str]] = {}
    for row in rows:
        if not row.certified:
            found.setdefault((row.label, row.status, reason_of(row)), []).append(row.instance)
    groups = [Failure(*key, len(where), min(where)) for key, where in found.items()]
    return tuple(sorted(groups, key=lambda each: (-each.count, each.contestant, each.status.value, each.reason)))


def reason_of(row: Measurement) -> str:
    """The message with # for its numbers, without paths, shortened; for an answer, what its backend claimed of it."""
    if row.answered:
        return f"claimed {row.claimed!r}" if row.claimed else row.status.meaning
    path = r"(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?|~[\\/][\w.@~+\\/-]+"
    number = r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
    words = " ".join(re.sub(number, "#", re.sub(path, "…", row.message)).split())
    return words if len(words) <= 160 else f"{words[:159]}…"


def _record(label: str, rows: list[Measurement]) -> ClaimRecord:
    solved = [row for row in rows if claim_of(row.claimed) is Claim.SOLVED]
    ratios = [row.leakage_over_budget for row in solved if row.answered and math.isfinite(row.budget_nats)]
    return ClaimRecord(
        label,
        attempts=len(rows),
        claims=len(solved),
        true_claims=sum(row.certified for row in solved),
        violations=sum(row.violated for row in solved),
        unclaimed=sum(row.certified for row in rows) - sum(row.certified for row in solved),
        worst_leakage=max(ratios, default=math.nan),
    )
