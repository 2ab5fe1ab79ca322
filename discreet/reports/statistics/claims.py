"""Claims of the backends: how often a backend's claim to have solved a task was true, and why
attempts failed.

A claim is the text that a solver wrote in `claimed`. A claim is *true* if the judge certified the
requested gap within the budget; the *correct rate* is true claims ÷ claims. "Almost solved" and
unknown words claim nothing.

Failures are grouped by their reasons. Messages that differ only in numbers have the same reason.

Source of the term: S. Caron et al., qpbenchmark (2023), "correct rate".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement, group_by

NOT_TRIED = frozenset({Status.UNSUPPORTED, Status.ABSENT})
"""The backend does not serve the task, or is not installed: neither success nor failure."""


def claims_success(claimed: str) -> bool:
    """Return whether a backend's status text claims that its answer is solved, regardless of case.

    A prefix that ends in a colon ("tilt: optimal") and a suffix in brackets are ignored.
    """
    successes = {
        "optimal",  # tilt, blahut-arimoto, cvxpy, HiGHS, OR-Tools, QICS
        "converged",
        "convergencecriteriasatisfied",  # Pyomo
        "optimization terminated successfully",  # SLSQP
        "one guess",
        # Trust-constr, by the callback that ends it.
        "optimality, constraints and barrier within tolerance",
        "`gtol` termination condition is satisfied",  # trust-constr: first-order conditions
        "`xtol` termination condition is satisfied",  # trust-constr calls both a success
        "solve_succeeded",  # IPOPT
        "solved",  # Clarabel, SCS, Moreau
        "success feasible_kkt_point",  # Uno
    }
    word = claimed.strip().lower().rstrip(". ")
    bare = word.partition(" (")[0]
    almost = word == "solved (inaccurate)"  # SCS
    return not almost and any(
        part.strip() in successes for part in (word, *word.split(":"), bare, *bare.split(":"))
    )


def has_weight(row: Measurement) -> bool:
    """Return whether a claim can be weighed by its leakage: the answer was called solved, under a
    finite budget.
    """
    return row.answered and math.isfinite(row.budget_nats) and claims_success(row.claimed)


@dataclass(frozen=True)
class ClaimRecord:
    """How often the claims of a solver configuration were true. All counts are numbers of attempts.

    attempts         attempts that were tried
    claims           attempts that the backend called solved
    true_claims      claims that the judge certified
    violations       claims whose answer exceeds the budget
    unclaimed        attempts that are certified although the backend did not call them solved
    worst_leakage    largest leakage ÷ budget of a claim under a positive budget
    worst_deviation  largest relative change of a probability by a guess, over the claims of perfect
                     privacy
    """

    contestant: str
    attempts: int
    claims: int
    true_claims: int
    violations: int
    unclaimed: int
    worst_leakage: float
    worst_deviation: float

    @property
    def correct_rate(self) -> float:
        """Return true_claims ÷ claims; nan if nothing was claimed."""
        return self.true_claims / self.claims if self.claims else math.nan


def claim_records(rows: Iterable[Measurement]) -> tuple[ClaimRecord, ...]:
    """Return one record for each solver configuration, sorted by label. Attempts that were not
    tried are left out.
    """
    groups = group_by((row for row in rows if row.status not in NOT_TRIED), lambda row: row.label)
    return tuple(_record(label, groups[label]) for label in sorted(groups))


def claimed_leaks(rows: Iterable[Measurement]) -> list[Measurement]:
    """Return every answer that its backend called solved under a finite budget, in a fixed
    order.
    """
    return sorted(
        filter(has_weight, rows),
        key=lambda row: (row.label, row.instance, row.gap_target, row.leakage_over_budget),
    )


@dataclass(frozen=True)
class Failure:
    """How often a solver configuration failed with one status and reason; `example` is one of the
    instances.
    """

    contestant: str
    status: Status
    reason: str
    count: int
    example: str


def failure_groups(rows: Iterable[Measurement]) -> tuple[Failure, ...]:
    """Group every attempt that is not certified by configuration, status and reason; the most
    frequent group comes first.
    """
    attempts = group_by(
        (row for row in rows if not row.certified),
        lambda row: (row.label, row.status, reason_of(row)),
    )
    groups = [
        Failure(*key, len(own), min(row.instance for row in own)) for key, own in attempts.items()
    ]
    return tuple(
        sorted(
            groups, key=lambda each: (-each.count, each.contestant, each.status.value, each.reason)
        )
    )


def reason_of(row: Measurement) -> str:
    """Return the shortened message of an attempt without paths and with # for its numbers; if there
    is an answer, return what its backend claimed.
    """
    if row.answered:
        return f"claimed {row.claimed!r}" if row.claimed else row.status.meaning
    path = r"(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?|~[\\/][\w.@~+\\/-]+"
    number = r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
    words = " ".join(re.sub(number, "#", re.sub(path, "…", row.message)).split())
    return words if len(words) <= 160 else f"{words[:159]}…"


def _record(label: str, rows: list[Measurement]) -> ClaimRecord:
    solved = [row for row in rows if claims_success(row.claimed)]
    ratios = [
        row.leakage_over_budget for row in rows if has_weight(row) and row.regime != "perfect"
    ]
    deviations = [
        row.own_private_within for row in rows if has_weight(row) and row.regime == "perfect"
    ]
    return ClaimRecord(
        label,
        attempts=len(rows),
        claims=len(solved),
        true_claims=sum(row.certified for row in solved),
        violations=sum(row.violated for row in solved),
        unclaimed=sum(row.certified for row in rows) - sum(row.certified for row in solved),
        worst_leakage=max(ratios, default=math.nan),
        worst_deviation=max(deviations, default=math.nan),
    )
