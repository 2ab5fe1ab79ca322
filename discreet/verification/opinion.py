"""The proven facts about a solution: its error and leakage, whether it satisfies its budget, and a
lower bound of the error.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.verification import exact
from discreet.verification.exact import Array, outward
from discreet.verification.measures import ExactMeasure, Group, leakage, proven
from discreet.verification.members import (
    TOLERANCE,
    StoredAnswer,
    StoredModel,
    StoredTerm,
    answer_of,
    least_of,
    model_of,
    proper,
)


@dataclass(frozen=True)
class TermVerification:
    """The proven facts about one constraint. Intervals are pairs of doubles, rounded outwards.

    measure        the name of the measure, with its parameters
    budget         ε, in the unit of the measure
    budget_kept    True or False if proven; None if leakage and budget agree to 16,000 bits
    leakage        in the same unit; (0, 0) if it is exactly 0; (inf, inf) if it is infinite
    deviation      largest |posterior / prior − 1| over guesses and private values
    """

    measure: str
    budget: float
    budget_kept: bool | None
    leakage: tuple[float, float]
    deviation: tuple[float, float]


@dataclass(frozen=True)
class Verification:
    """The proven facts about a solution. Intervals are pairs of doubles (low, high), rounded
    outwards.

    error          error probability of the estimator
    budget_kept    True or False if it is proven whether all budgets are satisfied, else None
    lower_bound    lower bound of the error of every estimator that satisfies the budgets
    bracket        of the optimum: from lower_bound to `error` if the budgets are satisfied,
                   otherwise to the error of a constant guess
    terms          the proven facts about each constraint [C]

    `leakage`, `budget` and `measure` belong to the only constraint; ValueError if there are
    several. `deviation` is the largest over all constraints.
    """

    error: tuple[float, float]
    budget_kept: bool | None
    lower_bound: float
    bracket: tuple[float, float]
    terms: tuple[TermVerification, ...]

    @property
    def only(self) -> TermVerification:
        """The proven facts about the only constraint; ValueError if there are several."""
        if len(self.terms) != 1:
            raise ValueError(f"this is about {len(self.terms)} constraints; read its .terms")
        return self.terms[0]

    @property
    def leakage(self) -> tuple[float, float]:
        """The leakage under the only constraint, in the unit of its measure."""
        return self.only.leakage

    @property
    def budget(self) -> float:
        """The budget ε of the only constraint."""
        return self.only.budget

    @property
    def measure(self) -> str:
        """The name of the measure of the only constraint."""
        return self.only.measure

    @property
    def deviation(self) -> tuple[float, float]:
        """Largest |posterior / prior − 1| over constraints, guesses and private values."""
        return max([term.deviation for term in self.terms])


def verify(problem: Any, solution: Any, *, budget: Any = None, measure: Any = None) -> Verification:
    """Verify a solution of a problem; nothing that its file claims about itself is trusted.

    problem    path of a problem file, its members by name (joint, or p_xz and loss; budget or
               constraint), a Problem or a BlockProblem
    solution   path of a solution file, its members by name, an estimator [m, N], or a Solution
    budget     in the unit of the measure; replaces the budget of the problem. With several
               constraints, one for each
    measure    of leakage, or its name; replaces the measure of the problem; not allowed with
               several constraints

    Raises ValueError for anything that cannot be checked, and ImportError without python-flint.
    """
    if exact.arb is None:
        raise ImportError(
            "verify needs python-flint; install it with: pip install 'discreet[verify]'"
        )
    try:
        with ExitStack() as files:
            model = model_of(problem, budget, measure, files)
            answer = answer_of(solution, model, files)
            sums = _sums(model, answer)
            terms = tuple(_term(term, model, sums) for term in model.terms)
            lower = outward(max(Fraction(0), _bound(model, answer, sums)))[0]
    except Exception as fault:  # a damaged file can cause any exception
        said = (
            f"{fault}"
            if isinstance(fault, ValueError)
            else (f"this cannot be read ({fault}); give files of numpy.savez")
        )
        raise ValueError(" ".join(said.split())[:400]) from fault
    kept = [term.budget_kept for term in terms]
    all_kept = min(kept, key=[False, None, True].index)
    error = sums.error(model)
    constants = sums.totals[model.n :] / sums.total(model.terms[0])
    bracket = lower, outward(error if all_kept else min(constants))[1]
    return Verification(outward(error), all_kept, lower, bracket, terms)


@dataclass(frozen=True)
class _LawSums:
    """Exact sums over the outcomes, of masses and losses as they are stored.

    drawn    by guess: masses of X, then losses    [m, n + m]
    totals   its sums over the guesses             [n + m]
    """

    drawn: Array
    totals: Array

    def total(self, term: StoredTerm) -> Fraction:
        """Return τ of a constraint."""
        return Fraction(self.totals[term.rows].sum())

    def error(self, model: StoredModel) -> Fraction:
        """Return the error probability of the estimator."""
        return Fraction(np.trace(self.drawn[:, model.n :]) / self.total(model.terms[0]))

    def measure(self, term: StoredTerm) -> ExactMeasure:
        """Return the measure of a constraint for the private values of positive probability."""
        totals = self.totals[term.rows]
        return term.measure.of_values(np.flatnonzero(totals).tolist(), len(totals))

    def groups(self, term: StoredTerm, rows: Array) -> list[tuple[list[int], Group]]:
        """Return, for every group of a constraint, the rows of positive probability, their part of
        an array [m, n], and their prior.
        """
        groups = []
        for group in term.groups:
            possible = [j for j in range(group.start, group.stop) if self.totals[j]]
            if possible:
                groups.append(
                    (
                        possible,
                        (rows[:, possible], self.totals[possible] / self.totals[possible].sum()),
                    )
                )
        return groups


def _term(term: StoredTerm, model: StoredModel, sums: _LawSums) -> TermVerification:
    groups = sums.groups(term, sums.drawn[:, : model.n] / sums.total(term))
    away = max(_deviation(law, prior) for _, (law, prior) in groups)
    leaked, kept = (
        leakage(sums.measure(term), [group for _, group in groups], term.budget)
        if away
        else ((0.0, 0.0), True)
    )
    return TermVerification(term.measure.name, term.budget, kept, leaked, outward(away))


def _sums(model: StoredModel, answer: StoredAnswer) -> _LawSums:
    digits = {0: np.zeros((model.m, model.n + model.m), np.int64)}
    drawn = np.full((model.m, model.n + model.m), Fraction(0))  # by guess: masses of X, then losses
    for start, part in model.parts():
        columns = proper(answer.columns(start, part), start)
        # The likeliest guess gets the whole mass; the shares of the others are subtracted below.
        likeliest = np.arange(model.m)[:, None] == columns.argmax(axis=0)
        exact.add(
            digits,
            [(0, 1.0 * likeliest)],
            exact.pieces(part, exact.bits_for(part.shape[1], model.N)),
        )
        columns[likeliest] = 0.0
        if (mixed := columns.any(axis=0)).any():
            # 64 is the largest number of pieces with one exponent.
            bits = exact.bits_for(model.m * part.shape[1], 64 * model.m * model.N) // 2
            others = [
                (e, w - likeliest[:, mixed] * w.sum(axis=0))
                for e, w in exact.pieces(columns[:, mixed], bits)
            ]
            exact.add(digits, others, exact.pieces(part[:, mixed], bits))
        for tie in [tie for tie in answer.rational if start <= tie < start + part.shape[1]]:
            # `columns` contains the first guess at this outcome.
            change = answer.rational[tie] - np.eye(model.m, dtype=int)[0]
            drawn += np.outer(change, fractions(part[:, tie - start]))
    whole, unit = exact.integers(digits)
    drawn += whole * unit
    totals = drawn.sum(axis=0)  # because the columns of an estimator sum to one
    for term in model.terms:
        if abs((total := totals[term.rows].sum()) - 1) > TOLERANCE:
            raise ValueError(
                f"the masses of the problem sum to {float(total)!r}, not to 1; "
                "divide them by their sum"
            )
    return _LawSums(
        (1 - answer.share) * drawn + answer.share * np.outer(answer.towards, totals), totals
    )


def _deviation(law: Array, prior: Array) -> Any:
    """Return max |u_ij / (π_j s_i) − 1| over s_i > 0, a fraction; π_j > 0."""
    return max(
        abs(u / (p * sum(row)) - 1)
        for row in law
        if any(row)
        for u, p in zip(row, prior, strict=True)
    )


def _bound(model: StoredModel, answer: StoredAnswer, sums: _LawSums) -> Fraction:
    """Return the dual bound; 0 if an infinite multiplier proves nothing."""
    tilt = fractions(answer.tilt)
    shifts = []
    cost = Fraction(0)
    for term, multiplier in zip(model.terms, answer.multipliers, strict=True):
        groups = sums.groups(term, tilt)
        laws = [group for _, group in groups]
        duals = proven(sums.measure(term), laws, multiplier, term.budget)
        if duals is None:
            return Fraction(0)
        shifts += [(possible, shift) for (possible, _), shift in zip(groups, duals[0], strict=True)]
        cost += duals[1] * sums.total(term)
    return (_least_sum(model, answer.tilt, shifts) - cost) / sums.total(model.terms[0])


def _least_sum(
    model: StoredModel, tilt: Array, shifts: list[tuple[list[int], list[float]]]
) -> Fraction:
    """Return Σ_l min_i (L_il + Σ_j (t_ij − κ_i) a_jl), where the rows of each list j have their own
    κ_i.
    """
    weights = np.hstack([tilt, np.eye(model.m), -np.array([shift for _, shift in shifts]).T])
    each = np.eye(model.n + model.m)
    # Rows of p_xz, rows of the loss, and masses of groups.
    sums = np.vstack([each, *(each[rows].sum(axis=0) for rows, _ in shifts)])
    slopes = weights @ sums
    sizes = (np.abs(weights) @ sums).max(axis=0)
    value = Fraction(0)
    accumulator = exact.Sums()
    bits = exact.bits_for(sums.size, 0) // 2
    doubt = 2.0**-50 * sum(sums.shape)
    for _, part in model.parts():
        with np.errstate(all="ignore"):  # outcomes that overflow are not decided
            label, first, second = least_of(slopes @ part)
            decided = (second - first > doubt * np.einsum("r,rb->b", sizes, part) + 1e-300) | (
                part.max(axis=0) == 0.0
            )
        chosen = np.eye(model.m)[:, label] * decided
        exact.add(
            accumulator, [(0, chosen)], exact.pieces(part, exact.bits_for(part.shape[1], model.N))
        )
        if not decided.all():
            masses = ((e, w.T @ sums.T) for e, w in exact.pieces(part[:, ~decided], bits))
            whole, unit = exact.integers(exact.add({}, list(exact.pieces(weights, bits)), masses))
            value += whole.min(axis=0).sum() * unit
    whole, unit = exact.integers(accumulator)
    value += (fractions(weights) * (whole @ sums.T.astype(int).astype(object))).sum() * unit
    return Fraction(value)


def fractions(values: Array) -> Array:
    """Return the numbers as fractions, in an array of the same shape."""
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(values))
