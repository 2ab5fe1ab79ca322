"""What is proven of a solution: its error and leakage, whether it keeps its budget, and a bound below which nothing errs.

What the numbers mean is said at the head of the package (`discreet.verification`).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.verification import exact
from discreet.verification.exact import Array, outward
from discreet.verification.measures import leakage, proven
from discreet.verification.members import TOLERANCE, Answer, Model, answer_of, least_of, model_of, proper


@dataclass(frozen=True)
class Verification:
    """What is proven. Intervals are pairs of doubles (low, high), rounded outwards.

    error          error probability of the estimator
    leakage        by the measure of the budget, in its unit; (0, 0) exactly if nothing is leaked; (inf, inf) without bound
    deviation      largest |posterior / prior − 1| over guesses and private values
    budget         ε, in the same unit
    budget_kept    True or False if proven; None if leakage and budget agree to 16,000 bits
    lower_bound    no estimator that keeps the budget errs less
    bracket        of the optimum: from lower_bound to `error` if the budget is kept, otherwise to that of a constant guess
    measure        the name of the measure, with its parameters
    """

    error: tuple[float, float]
    leakage: tuple[float, float]
    deviation: tuple[float, float]
    budget: float
    budget_kept: bool | None
    lower_bound: float
    bracket: tuple[float, float]
    measure: str = "mutual-information"


def verify(problem: Any, solution: Any, *, budget: float | None = None, measure: Any = None) -> Verification:
    """What is true of a solution of a problem; nothing that its file says about itself is believed.

    problem    path of a problem file, its members by name (joint, or p_xz and loss; budget or constraint), a Problem or a
               BlockProblem
    solution   path of a solution file, its members by name, an estimator [m, N], or a Solution
    budget     in the unit of the measure; replaces the problem's
    measure    of leakage, or its name; replaces the problem's
    Raises ValueError for anything that cannot be checked, and ImportError without python-flint.
    """
    if exact.arb is None:
        raise ImportError("verify needs python-flint; install it with: pip install 'discreet[verify]'")
    try:
        with ExitStack() as files:
            model = model_of(problem, budget, measure, files)
            answer = answer_of(solution, model, files)
            total, prior, law, error, constants = _sums(model, answer)
            possible = [j for j, p in enumerate(prior) if p]
            measure, prior, law = model.measure.of_values(possible, model.n), prior[possible], law[:, possible]
            away = _deviation(law, prior)
            leaked, kept = leakage(measure, law, prior, model.budget) if away else ((0.0, 0.0), True)
            duals = proven(measure, fractions(answer.tilt)[:, possible], prior, answer.multiplier, model.budget)
            bound = _least_sum(model, answer.tilt, duals[0]) / total - duals[1] if duals else Fraction(0)
    except Exception as fault:  # what is wrong with a file shows in many ways
        said = f"{fault}" if isinstance(fault, ValueError) else f"this cannot be read ({fault}); give files of numpy.savez"
        raise ValueError(" ".join(said.split())[:400]) from fault
    lower = outward(max(Fraction(0), bound))[0]
    bracket = lower, outward(error if kept else min(constants))[1]
    return Verification(outward(error), leaked, outward(away), model.budget, kept, lower, bracket, model.measure.name)


def _sums(model: Model, answer: Answer) -> tuple[Fraction, Array, Array, Fraction, Array]:
    """τ, and divided by it: prior [n], law of guess and X [m, n], error probability, errors of constant guesses [m]."""
    sums, found = model.sums.astype(int).astype(object), {0: np.zeros((model.m, model.sums.shape[1]), np.int64)}
    drawn = np.full((model.m, model.n + model.m), Fraction(0))  # by guess: masses of X, then losses
    for start, part in model.parts():
        columns = proper(answer.columns(start, part), start)
        likeliest = np.arange(model.m)[:, None] == columns.argmax(axis=0)  # has all, but for what the others take
        exact.add(found, [(0, 1.0 * likeliest)], exact.pieces(part, exact.bits_for(part.shape[1], model.N)))
        columns[likeliest] = 0.0
        if (mixed := columns.any(axis=0)).any():
            bits = exact.bits_for(model.m * part.shape[1], 64 * model.m * model.N) // 2  # 64: pieces of one exponent
            others = [(e, w - likeliest[:, mixed] * w.sum(axis=0)) for e, w in exact.pieces(columns[:, mixed], bits)]
            exact.add(found, others, exact.pieces(part[:, mixed], bits))
        for tie in [tie for tie in answer.rational if start <= tie < start + part.shape[1]]:
            change = answer.rational[tie] - np.eye(model.m, dtype=int)[0]  # `columns` has the first guess there
            drawn += np.outer(change, sums @ fractions(part[:, tie - start]))
    whole, unit = exact.integers(found)
    drawn += whole @ sums.T * unit
    totals = drawn.sum(axis=0)  # as the columns of an estimator sum to one
    total = totals[: model.n].sum()
    if abs(total - 1) > TOLERANCE:
        raise ValueError(f"the masses of the problem sum to {float(total)!r}, not to 1; divide them by their sum")
    drawn = ((1 - answer.share) * drawn + answer.share * np.outer(answer.towards, totals)) / total
    return total, totals[: model.n] / total, drawn[:, : model.n], np.trace(drawn[:, model.n :]), totals[model.n :] / total


def _deviation(law: Array, prior: Array) -> Any:
    """max |u_ij / (π_j s_i) − 1| over s_i > 0, a fraction; π_j > 0."""
    return max(abs(u / (p * sum(row)) - 1) for row in law if any(row) for u, p in zip(row, prior, strict=True))


def _least_sum(model: Model, tilt: Array, shifts: list[float]) -> Fraction:
    """Σ_l min_i (L_il + Σ_j (t_ij − κ_i) a_jl)."""
    weights = np.hstack([tilt, np.eye(model.m), -np.array(shifts)[:, None]])  # of p_xz, loss and p_z
    sums = np.vstack([model.sums, model.sums[: model.n].sum(axis=0)])
    slopes, sizes = weights @ sums, (np.abs(weights) @ sums).max(axis=0)
    value, found, bits, doubt = Fraction(0), exact.Sums(), exact.bits_for(sums.size, 0) // 2, 2.0**-50 * sum(sums.shape)
    for _, part in model.parts():
        with np.errstate(all="ignore"):  # what overflows is not decided
            label, first, second = least_of(slopes @ part)
            decided = (second - first > doubt * np.einsum("r,rb->b", sizes, part) + 1e-300) | (part.max(axis=0) == 0.0)
        exact.add(
            found, [(0, np.eye(model.m)[:, label] * decided)], exact.pieces(part, exact.bits_for(part.shape[1], model.N))
        )
        if not decided.all():
            masses = ((e, w.T @ sums.T) for e, w in exact.pieces(part[:, ~decided], bits))
            whole, unit = exact.integers(exact.add({}, list(exact.pieces(weights, bits)), masses))
            value += whole.min(axis=0).sum() * unit
    whole, unit = exact.integers(found)
    value += (fractions(weights) * (whole @ sums.T.astype(int).astype(object))).sum() * unit
    return Fraction(value)


def fractions(values: Array) -> Array:
    """The same numbers as fractions, in an array of the same shape."""
    return np.array([Fraction(value) for value in values.ravel().tolist()], dtype=object).reshape(values.shape)
