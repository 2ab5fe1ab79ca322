"""Comparison of a solution's certificate with `verify`: one sentence for every contradiction."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.backends.solution import Solution, Status
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.problems.certificate import Certificate, TermLeakage
from discreet.problems.constraint import label_constraints
from discreet.verification import TermVerification, Verification, verify

_STATED = 1e-9  # relative: how closely a reported leakage has to be the true one
_NO_LEAKAGE = 1e-24  # leakages below are reported to no fixed number of digits
_SQUARES = frozenset(
    {
        "mutual-information",
        "conditional-mutual-information",
        "chi-square",
        "sibson",
        "pointwise-information",
    }
)
"""Measures of which an answer private within δ, as roundings make it, leaks of the order δ²; of
others up to 4 δ.
"""


def second_opinion(solution: Solution, gap: float) -> tuple[Verification | None, list[str]]:
    """Verify the answer of a solution, and return the verification and a sentence for every
    contradiction to its certificate.

    The verification is None without python-flint, without a certificate, and if `verify` refuses
    the answer, which counts as a contradiction.
    """
    if solution.certificate is None:
        return None, []
    try:
        verification = verify(solution.problem, solution)
    except ImportError:
        return None, []
    except ValueError as refusal:
        return None, [f"verify refuses the solution: {refusal}"]
    return verification, contradictions(solution, verification, gap)


def contradictions(solution: Solution, verification: Verification, gap: float) -> list[str]:
    """Return a sentence for every number in the certificate of a solution, of whatever status, that
    `verify` contradicts.

    The numbers of the certificate must hold up to the outward rounding of the numbers that `verify`
    shows. At budget 0 the estimator of the solution's file must be exactly private, or private
    within the number that the certificate states.
    """
    judged = solution.certificate
    assert judged is not None  # it is what was verified
    bracket = f"[{judged.lower!r}, {judged.upper!r}]"
    if not judged.lower <= judged.upper < math.inf:
        return [f"{bracket} is no bracket"]
    faults = _privacy_faults(judged, verification)
    if solution.status is Status.CERTIFIED and judged.relative_gap > gap:
        faults.append(
            f"it is called certified, and its bracket {bracket} is wider than a gap of {gap:g}"
        )
    if verification.error[0] > judged.upper:
        faults.append(
            f"the estimator errs with probability {verification.error[0]!r}, above the upper "
            f"bound {judged.upper!r}"
        )
    bound = Fraction(math.nextafter(verification.lower_bound, math.inf))
    if 0.0 < judged.lower and Fraction(judged.lower) > bound - _relaxation(solution, judged):
        faults.append(
            f"the lower bound is stated as {judged.lower!r}; the duals prove "
            f"{verification.lower_bound!r}"
        )
    return faults


def _privacy_faults(judged: Certificate, verification: Verification) -> list[str]:
    faults = []
    places = label_constraints("constraints[{}]: ", judged.terms)
    for where, own, proven in zip(places, judged.terms, verification.terms, strict=True):
        within = judged.private_within if own.perfect else math.inf
        faults += [f"{where}{fault}" for fault in _term_faults(own, within, proven)]
    return faults


def _term_faults(
    judged: TermLeakage, tolerance: float, verification: TermVerification
) -> list[str]:
    """Return the faults of one constraint.

    tolerance  δ within which the answer is stated to be private; ∞ if it need not be
    """
    low, high = verification.leakage
    share = verification.deviation[0]
    faults = []
    if math.isfinite(tolerance) and share > tolerance:
        faults.append(
            f"a guess changes p(x) by the share {share:.3e}, above the {tolerance:.3e} that is "
            "stated"
        )
    relaxed = judged.budget == 0.0 and high <= judged.leakage_ceiling <= PRIVATE_LIMIT
    if math.isinf(tolerance) and not verification.budget_kept and not relaxed:
        faults.append(
            f"the estimator leaks {low!r} to {high!r} of a budget of {verification.budget!r} "
            f"({verification.measure})"
        )
    if low > judged.leakage_ceiling:
        faults.append(
            f"the leakage is stated as {judged.leakage_ceiling!r} at most and is {low!r} at least"
        )
    least = (
        _NO_LEAKAGE
        if verification.measure.partition(":")[0] in _SQUARES
        else 4.0 * math.sqrt(_NO_LEAKAGE)
    )
    if max(low - judged.leakage, judged.leakage - high) > _STATED * high + least:
        faults.append(f"the leakage is stated as {judged.leakage!r} and is {high!r}")
    return faults


def _relaxation(solution: Solution, judged: Certificate) -> Fraction:
    """Return δ max_i min_c Σ_j π_j |t_ij − c|, by which the bound is lower for all estimators
    private within δ.

    With several secrets, or groups of rows, it is the sum over the constraints that ask for perfect
    privacy. If an adversary's gain may leak up to δ, it is μ (e^δ − 1).
    """
    gains = Fraction(0)
    ceilings = [each.leakage_ceiling for each in judged.terms]
    prices = np.asarray(solution.multipliers).tolist()
    for term, ceiling, price in zip(solution.problem.terms, ceilings, prices, strict=True):
        if term.budget.amount == 0.0 and term.priced and ceiling > 0.0:
            gains += Fraction(price) * Fraction(math.expm1(ceiling) * (1.0 + 2.0**-50))
    if judged.private_within in (0.0, math.inf):
        return gains
    total = Fraction(0)
    tilt = np.asarray(solution.tilt)
    for group in (
        group for term in solution.problem.terms if term.budget.perfect for group in term.groups
    ):
        prior = [Fraction(mass) for mass in solution.problem.p_x[group].tolist()]
        rows = [[Fraction(t) for t in row] for row in tilt[:, group].tolist()]
        total += max(
            min(sum(p * abs(t - c) for p, t in zip(prior, row, strict=True)) for c in row)
            for row in rows
        )
    return Fraction(judged.private_within) * total + gains
