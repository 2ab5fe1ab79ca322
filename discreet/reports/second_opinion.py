"""What `verify` says of a solution that the judge certified: one sentence for everything that it contradicts."""

from __future__ import annotations

from discreet.backends.solution import Solution, Status
from discreet.verification import Verification, verify


def second_opinion(solution: Solution, gap: float) -> tuple[Verification | None, list[str]]:
    """What is proven of a certified solution of arrays, and a sentence for every contradiction.

    At positive budgets the numbers of the certificate must hold to the last bit. At budget 0 they are those of an estimator
    that is private up to a tolerance; the one of the solution's file must be exactly private, and as good within the gap
    (relative) that was asked for. None without python-flint, and for what is not certified.
    """
    judged = solution.certificate
    if judged is None or solution.status is not Status.CERTIFIED:
        return None, []
    try:
        found = verify(solution.problem, solution)
    except ImportError:
        return None, []
    faults = []
    if not found.budget_kept:
        faults.append(f"the estimator leaks {found.leakage[0]!r} to {found.leakage[1]!r} of {found.budget!r} nats")
    slack = gap * judged.upper if solution.problem.constraint.perfect else 0.0
    if found.error[0] > judged.upper + slack:
        faults.append(f"the estimator errs with probability {found.error[0]!r}, above the upper bound {judged.upper!r}")
    if judged.lower > found.lower_bound + slack:
        faults.append(f"the duals prove {found.lower_bound!r}, less than the lower bound {judged.lower!r}")
    return found, faults
