"""Certificates checked a second time, by the definitions, in decimal arithmetic of 120 digits.

Slow and plain on purpose: it shares no line with the judge, forms every quantity straight from its definition and uses many
digits instead of an analysis of rounding. Stored doubles are taken as exact; the problem stands for its law divided by its
total Σ a, and an estimator for its columns divided by their sums.

    error probability   Σ_il L_il P_il
    leakage             Σ_ij u_ij ln( u_ij / (π_j s_i) ),   u_ij = Σ_l P_il a_jl,  s_i = Σ_j u_ij
    lower bound         Σ_l min_i ( L_il + Σ_j t_ij a_jl ) − μ ε,   proven if Σ_j π_j e^{t_ij/μ} ≤ 1 for every i
                        (μ = 0: t ≤ 0;  budget 0: Σ_j π_j t_ij ≤ 0)
    distance            max_ij |u_ij / (π_j s_i) − 1|; where the bracket is about all estimators within a distance δ > 0, the
                        lower bound is δ max_i min_c Σ_j π_j |t_ij − c| less
    exactly private     an estimator with distance 0 that differs from the stored one only where that draws its guess, found
                        by elimination

Source: docs/theory.md, sections 3 and 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext

import numpy as np

from discreet.backends.solution import Solution, Status
from discreet.problems.certificate import Certificate
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

_DIGITS = Context(prec=120, Emin=-999_999_999, Emax=999_999_999)
_ROUNDING = Decimal("1e-100")  # of 120 digits, what sums of this size may lose
_STATED = Decimal("1e-9")  # relative: how closely a reported leakage has to be the true one
_COLUMN = Decimal("1e-12")  # how far a stored column may be from summing to one
_NO_LEAKAGE = Decimal("1e-24")  # nats: leakages below are reported to no fixed number of digits

_Rows = list[list[Decimal]]


@dataclass(frozen=True)
class Exact:
    """What is true of a pair (estimator, duals), to about 100 digits.

    error        error probability of the estimator
    leakage      nats
    distance     of the estimator from perfect privacy
    private      error probability of an exactly private estimator next to it, at budget 0; None where none is found
    bound        the dual bound
    spread       max_i min_c Σ_j π_j |t_ij − c|
    support      max_i of Σ_j π_j e^{t_ij/μ} − 1 (μ = 0: t_ij; budget 0: Σ_j π_j t_ij); the duals prove something if ≤ 0
    columns      largest distance of a stored column from summing to one
    """

    error: Decimal
    leakage: Decimal
    distance: Decimal
    private: Decimal | None
    bound: Decimal
    spread: Decimal
    support: Decimal
    columns: Decimal


def recompute(problem: Problem, estimator: Array, tilt: Array, multiplier: float) -> Exact:
    """Everything a certificate speaks of, from the problem's arrays."""
    with localcontext(_DIGITS):
        a, losses = _rows(problem.p_xz), _rows(problem.loss)
        total = sum((mass for row in a for mass in row), Decimal(0))
        prior = [sum(row, Decimal(0)) / total for row in a]
        stored, t = _rows(estimator), _rows(tilt)
        sums = [sum(column, Decimal(0)) for column in zip(*stored, strict=True)]
        guess = [[p / whole for p, whole in zip(row, sums, strict=True)] for row in stored]
        leakage, distance = _leakage(a, prior, total, guess)
        error = sum((_dot(*pair) for pair in zip(losses, guess, strict=True)), Decimal(0))
        rise = _rise_to_private(a, prior, guess, losses) if problem.constraint.perfect else None
        return Exact(
            error=error,
            leakage=leakage,
            distance=distance,
            private=None if rise is None else error + rise,
            bound=_bound(problem, a, losses, t, multiplier, total),
            spread=max(min(_apart(prior, row, center) for center in row) for row in t),
            support=max(_support(prior, row, multiplier, problem.constraint.perfect) for row in t),
            columns=max(abs(whole - 1) for whole in sums),
        )


def _rows(array: Array) -> _Rows:
    return [[Decimal(value) for value in row] for row in np.asarray(array, dtype=np.float64).tolist()]


def _dot(one: list[Decimal], other: list[Decimal]) -> Decimal:
    return sum((x * y for x, y in zip(one, other, strict=True)), Decimal(0))


def _leakage(a: _Rows, prior: list[Decimal], total: Decimal, guess: _Rows) -> tuple[Decimal, Decimal]:
    leakage, distance = Decimal(0), Decimal(0)
    for row in guess:
        u = [_dot(row, masses) / total for masses in a]
        s = sum(u, Decimal(0))
        for mass, pi in zip(u, prior, strict=True):
            if pi and s:
                distance = max(distance, abs(mass / (pi * s) - 1))
            if mass:
                leakage += mass * (mass / (pi * s)).ln()
    return leakage, distance


def _apart(prior: list[Decimal], row: list[Decimal], center: Decimal) -> Decimal:
    return sum((pi * abs(t - center) for pi, t in zip(prior, row, strict=True)), Decimal(0))


def _rise_to_private(a: _Rows, prior: list[Decimal], guess: _Rows, losses: _Rows) -> Decimal | None:
    """How much more an exactly private estimator errs that differs only where the guess is drawn; None if none is found.

    Probability is moved between the likeliest guess and the others of an outcome, by at most `room`. Elimination with
    complete pivoting finds the moves, each as a share of its room, that leave no deviation Σ_l P_il (a_jl − π_j w_l).
    """
    outcomes = [[mass - pi * sum(masses) for mass, pi in zip(masses, prior, strict=True)] for masses in zip(*a, strict=True)]
    rows: dict[tuple[int, int], list[Decimal]] = {(i, j): [] for i in range(len(guess)) for j in range(len(prior))}
    costs: list[Decimal] = []
    for place, column in enumerate(zip(*guess, strict=True)):
        base = max(range(len(column)), key=column.__getitem__)
        for i, share in enumerate(column):
            if i != base and share:
                room = min(share, column[base] / (len(column) - 1))
                costs.append(room * (losses[i][place] - losses[base][place]))
                for (k, j), row in rows.items():
                    row.append(room * ((k == i) - (k == base)) * outcomes[place][j])
    for (i, j), row in rows.items():
        row.append(-_dot(guess[i], [deviation[j] for deviation in outcomes]))
    shares = _solved(list(rows.values()))
    if shares is None or max(map(abs, shares), default=Decimal(0)) > 1:
        return None
    return _dot(shares, costs)


def _solved(rows: _Rows) -> list[Decimal] | None:
    """A solution of linear equations, each a row of coefficients and the right side; None if they contradict one another."""
    found = [Decimal(0)] * (len(rows[0]) - 1)
    chosen: list[int] = []
    while len(chosen) < len(rows):
        left = [(abs(value), r, k) for r in range(len(chosen), len(rows)) for k, value in enumerate(rows[r][:-1])]
        size, r, k = max(left, default=(Decimal(0), 0, 0))
        if size <= _ROUNDING:
            break
        here = len(chosen)
        rows[here], rows[r] = rows[r], rows[here]
        rows[here] = [value / rows[here][k] for value in rows[here]]
        for other in range(len(rows)):
            if other != here:
                factor = rows[other][k]
                rows[other] = [value - factor * own for value, own in zip(rows[other], rows[here], strict=True)]
        chosen.append(k)
    if any(abs(row[-1]) > _ROUNDING for row in rows[len(chosen) :]):
        return None
    for row, k in zip(rows, chosen, strict=False):
        found[k] = row[-1]
    return found


def _bound(problem: Problem, a: _Rows, losses: _Rows, t: _Rows, multiplier: float, total: Decimal) -> Decimal:
    value = Decimal(0)
    for column, masses in zip(zip(*losses, strict=True), zip(*a, strict=True), strict=True):
        value += min(loss + _dot(row, list(masses)) for loss, row in zip(column, t, strict=True))
    free = multiplier == 0.0 or problem.constraint.perfect
    return value if free else value - Decimal(multiplier) * Decimal(problem.budget) * total


def _support(prior: list[Decimal], row: list[Decimal], multiplier: float, perfect: bool) -> Decimal:
    possible = [(pi, t) for pi, t in zip(prior, row, strict=True) if pi]
    if perfect:
        return sum((pi * t for pi, t in possible), Decimal(0))
    if multiplier == 0.0:
        return max(t for _, t in possible)
    powers = [(pi, t / Decimal(multiplier)) for pi, t in possible]
    if max(power for _, power in powers) > 10_000:
        return Decimal("Infinity")
    return sum((pi * max(power, Decimal(-100_000)).exp() for pi, power in powers), Decimal(-1))


def broken(solution: Solution, gap: float) -> list[str]:
    """One sentence for everything the certificate of a solution says that is not so; empty for one that holds."""
    judged = solution.certificate
    if judged is None or solution.estimator is None or solution.tilt is None or solution.multiplier is None:
        return []
    numbers = {"lower bound": judged.lower, "upper bound": judged.upper, "leakage": judged.leakage}
    if not (all(math.isfinite(value) for value in numbers.values()) and np.isfinite(solution.tilt).all()):
        return ["the certificate or its tilt holds a number that is not finite"]
    estimator = solution.estimator
    if not (np.isfinite(estimator).all() and (estimator >= 0.0).all() and (estimator.sum(axis=0) > 0.0).all()):
        return ["the estimator has an entry that is no probability, or an empty column"]
    if math.isnan(solution.multiplier) or solution.multiplier < 0.0:
        return [f"the multiplier is {solution.multiplier}, which is not ≥ 0"]
    if math.isinf(solution.multiplier) and not solution.problem.constraint.perfect:
        return ["the multiplier is infinite though the budget is not 0, so the duals prove nothing"]
    assert isinstance(solution.problem, Problem)
    with localcontext(_DIGITS):
        true = recompute(solution.problem, estimator, solution.tilt, solution.multiplier)
        return [
            *_primal_faults(solution.problem, judged, true),
            *_dual_faults(solution.problem, judged, true),
            *_claim_faults(judged, solution.status is Status.CERTIFIED, gap),
        ]


def _primal_faults(problem: Problem, judged: Certificate, true: Exact) -> list[str]:
    faults = []
    if true.columns > _COLUMN:
        faults.append(f"a column of the estimator is {true.columns:.2e} away from summing to one")
    if true.error > Decimal(judged.upper) * (1 + _ROUNDING):
        faults.append(f"the estimator errs with probability {true.error:.17g}, above the upper bound {judged.upper!r}")
    if problem.constraint.perfect:
        within = Decimal(judged.private_within)
        if within and true.distance > within:
            faults.append(f"a guess moves p(x) by the share {true.distance:.3e}, above the {within:.3e} that is stated")
        if not within and true.private is None:
            faults.append("no exactly private estimator is found next to the answer")
        if not within and true.private is not None and true.private > Decimal(judged.upper) * (1 + _ROUNDING):
            faults.append(f"the exactly private estimator errs with probability {true.private:.17g}, above {judged.upper!r}")
    elif true.leakage > Decimal(problem.budget):
        faults.append(f"the estimator leaks {true.leakage:.17g} nats, above the budget of {problem.budget!r} nats")
    stated = abs(Decimal(judged.leakage) - true.leakage)
    if stated > _STATED * true.leakage + _NO_LEAKAGE:
        faults.append(f"the leakage is stated as {judged.leakage!r} nats and is {true.leakage:.17g} nats")
    return faults


def _dual_faults(problem: Problem, judged: Certificate, true: Exact) -> list[str]:
    if judged.lower <= 0.0:  # no estimator errs less than never
        return []
    faults = []
    if true.support > _ROUNDING:
        faults.append(f"the tilt is outside the dual's constraint by {true.support:.3e}, so it proves nothing")
    bound = true.bound - Decimal(judged.private_within) * true.spread if problem.constraint.perfect else true.bound
    if Decimal(judged.lower) > bound + _ROUNDING:
        faults.append(f"the lower bound is stated as {judged.lower!r}; its tilt proves {bound:.17g} only")
    return faults


def _claim_faults(judged: Certificate, claimed: bool, gap: float) -> list[str]:
    if judged.lower > judged.upper:
        return [f"the lower bound {judged.lower!r} lies above the upper bound {judged.upper!r}"]
    width = judged.upper - judged.lower
    if claimed and width > gap * judged.upper:
        return [
            f"it is called certified, and its bracket [{judged.lower!r}, {judged.upper!r}] is wider than a gap of {gap:g}"
        ]
    return []
