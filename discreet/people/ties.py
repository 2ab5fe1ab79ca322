"""Ties of a design: who draws a guess, and what decides where a whole part of the people ties.

An optimal estimator is a tilted Bayes rule but for ties. Usually these are a few people, and the rule lists them. But the
tilt may cancel the loss of a whole group: under equalized odds the group that is easier to tell apart has an operating point
inside of what it could reach, and so no price of its own. Then every treatment of the tied people with the same sums
Σ_l P_il a_l is optimal, and a *second tilt* is chosen that people who were not in the table can be given too: with
probability `share` the guess is drawn from `towards` whatever is seen, else it is the least of the second scores
Σ_j t'_ij p(x_j given z).

Its sums lie on the ray from the constant treatment c_i A through b_i, A = Σ_l a_l, as far out as treatments reach:

    max μ  such that  Σ_l V_il a_l = c_i A + μ (b_i − c_i A),  V a treatment of the tied people,

a linear program with as many rows as there are private values and a bound for each person, where two guesses tie. The
multipliers of its rows are the second tilt, and share = 1 − 1/μ. Only people whose second scores are near 0 matter one by
one, so the others are put together by the sign of theirs, and small programs do (`_farthest`). Of a group that is seen by
the rule this makes the construction of Hardt, Price and Srebro. Where three guesses or more tie the ties are listed, as far
as the list goes.

Source: docs/theory.md, section 23; M. Hardt, E. Price, N. Srebro, Equality of Opportunity in Supervised Learning, NIPS 2016,
arXiv:1610.02413.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.repairs import private_versions
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import one_hot
from discreet.problems.numerics.tilted_losses import in_order_losses, least_two
from discreet.problems.problem import Problem
from discreet.problems.rule import OutcomeRule

ROUNDING = 1e-9
"""By so much the probabilities of one person may differ from one process to the next."""

NEAR = 1e-6
"""Guesses whose scores differ by more are no tie."""

_MOST_TIES = 256
"""Distinct ties that are listed; an optimal vertex has at most (m − 1)(n − 1) that are drawn."""

_KEPT = 512
"""People that are kept one by one in the first program for a second tilt; eight times as many in each that follows."""


@dataclass(frozen=True)
class SecondTilt:
    """What decides where the scores of exactly the guesses `among` [m] are least within `band`.

    With probability `share` the guess is drawn from `towards` [m]; else it has the least Σ_j tilt_ij p(x_j given z).
    """

    among: NDArray[np.bool_]
    tilt: Array
    share: float
    towards: Array
    band: float = NEAR

    def to_dict(self) -> dict[str, Any]:
        """As the file of a rule holds it."""
        return {
            "among": self.among.tolist(),
            "band": self.band,
            "tilt": self.tilt.tolist(),
            "share": self.share,
            "towards": self.towards.tolist(),
        }


@dataclass(frozen=True)
class Tied:
    """A design as a rule for the people of its table, and as it is written down.

    rule     every tie with its column
    listed   which of its ties are to be listed; the second tilt treats the others
    """

    rule: OutcomeRule
    listed: NDArray[np.intp]
    second: SecondTilt | None


def with_ties(problem: Problem, estimator: Array, tilt: Array, *, second: bool = True) -> Tied:
    """An estimator [m, N] as a rule: its ties, and the same column for all who cannot be told apart there.

    second: whether a second tilt may treat them, where they are many.
    """
    nobody = np.zeros(0, dtype=np.intp)
    if problem.m == 1:
        return Tied(OutcomeRule(tilt), nobody, None)
    losses = in_order_losses(problem.p_xz, problem.loss, tilt)
    best, least, _, runner = least_two(losses)
    mass = problem.p_z
    margin = np.divide(runner - least, mass, out=np.full_like(mass, np.inf), where=mass > 0.0)
    drawn = estimator[best, np.arange(problem.N)] < 1.0
    ties = np.flatnonzero((margin <= ROUNDING) | (drawn & (margin <= NEAR)))
    if not ties.size:
        return Tied(OutcomeRule(tilt), nobody, None)
    if second and _are_many(problem, ties):
        found = _second(problem, estimator, losses - least <= NEAR * mass)
        if found is not None:
            tied, made, tossed, treatment = found
            others = np.setdiff1d(ties, tied, assume_unique=True)  # ties of other guesses: they are listed
            columns = _alike(problem, others, estimator[:, others])[1]
            every = OutcomeRule(tilt, np.append(tied, others), np.hstack([made, columns]))
            listed = np.isin(every.ties, np.append(tied[tossed], others))
            return Tied(every, np.flatnonzero(listed), treatment)
    kinds, columns = _alike(problem, ties, estimator[:, ties])
    weights = np.bincount(kinds, weights=mass[ties])
    kept = np.flatnonzero(np.isin(kinds, np.argsort(-weights, kind="stable")[:_MOST_TIES]))
    ties, columns = ties[kept], _private(problem, best, ties[kept], columns[:, kept])
    return Tied(OutcomeRule(tilt, ties, columns), np.arange(ties.size), None)


def points_of(problem: Problem, ties: NDArray[Any]) -> Array:
    """Where people are: the expected loss of each guess, then p(x_j given z) [K, m + n]."""
    both = np.vstack([problem.loss[:, ties], problem.p_xz[:, ties]])
    return np.asarray((both / problem.p_z[ties]).T)


def _are_many(problem: Problem, ties: NDArray[np.intp]) -> bool:
    """Whether more kinds of people tie than a vertex draws for; most often some of the ties tell."""
    most = 2 * (problem.m - 1) * problem.n
    some = ties[:: max(1, ties.size // (8 * most))]
    return any(_kinds(problem, each).max() + 1 > most for each in (some, ties))


def _kinds(problem: Problem, ties: NDArray[np.intp]) -> NDArray[np.intp]:
    """A number for each tie, the same for people who cannot be told apart."""
    return np.unique(np.round(points_of(problem, ties), 9), axis=0, return_inverse=True)[1].reshape(-1)


def _alike(problem: Problem, ties: NDArray[np.intp], columns: Array) -> tuple[NDArray[np.intp], Array]:
    """The kind of each tie, and one column for all of a kind, their mean by mass."""
    kinds = _kinds(problem, ties)
    sums = np.array([np.bincount(kinds, weights=row) for row in columns * problem.p_z[ties]])
    means = np.maximum(sums, 0.0)
    means = means / means.sum(axis=0)
    return kinds, means[:, kinds]


def _private(problem: Problem, best: NDArray[Any], ties: NDArray[np.intp], columns: Array) -> Array:
    """Columns of ties that make the rule exactly private, where perfect privacy is asked for and so small a change does it.

    The answer of an interior point has a trace of every guess everywhere, and a rule has none off its ties.
    """
    if not any(term.budget.perfect for term in problem.terms):
        return columns
    both, labels = np.vstack([problem.p_xz, problem.loss]), one_hot(best, problem.m)
    labels[:, ties] = 0.0  # whoever draws nothing is not moved, so the sums by guess stand for them
    merged = np.hstack([both[:, ties], both @ labels.T])
    whole = np.hstack([columns, np.eye(problem.m)])[:, (present := merged[: problem.n].any(axis=0))]
    small = Problem.of_rows(merged[: problem.n, present], merged[problem.n :, present], problem.terms)
    found = private_versions(small, whole)
    if not found or np.abs(found[0] - whole).max() > NEAR:
        return columns
    return np.asarray(found[0][:, : ties.size])


def _second(
    problem: Problem, estimator: Array, least: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], Array, NDArray[np.intp], SecondTilt] | None:
    """The tied people, their columns, which of them to list, and the second tilt; None where more than two guesses tie.

    least: whether a guess is among the best of a person [m, N].
    """
    sets = least.T @ (1 << np.arange(problem.m))
    several = np.flatnonzero(least.sum(axis=0) > 1)
    masses = np.bincount(sets[several], weights=problem.p_z[several])
    tied = several[sets[several] == masses.argmax()]
    among = least[:, tied[0]]
    if among.sum() != 2:
        return None
    first, other = np.flatnonzero(among)
    mass = problem.p_z[tied] / problem.p_z[tied].sum()
    rows = problem.p_xz[:, tied] / problem.p_z[tied].sum()
    values, vectors = np.linalg.eigh((rows / mass) @ rows.T)
    basis = vectors[:, values > 1e-12 * values[-1]]  # what can be told apart among the tied
    seen = basis.T @ rows
    chosen = estimator[first, tied]
    mean = float(chosen @ mass)
    away = seen @ (chosen - mean)
    share, prices, treated = 1.0, np.zeros(len(seen)), np.full(tied.size, mean)
    drawn = np.zeros(0, dtype=np.intp)
    if np.abs(away).max() > 1e-13:
        found = _farthest(seen, mass, mean * seen.sum(axis=1), away)
        if found is None:
            return None
        prices, treated, reach, drawn = found
        share = 1.0 - 1.0 / reach
    made, towards, second = np.zeros((problem.m, tied.size)), np.zeros(problem.m), np.zeros((problem.m, problem.n))
    towards[[first, other]] = mean, 1.0 - mean
    made[first] = share * mean + (1.0 - share) * treated
    made[other] = 1.0 - made[first]
    second[first] = basis @ prices
    return tied, made, drawn, SecondTilt(among, second, share, towards)


def _farthest(seen: Array, mass: Array, start: Array, away: Array) -> tuple[Array, Array, float, NDArray[np.intp]] | None:
    """Prices of the rows, the probabilities V of the first guess, μ, and who draws; None without a sharp answer.

    max μ such that Σ_l V_l seen_l = start + μ away, 0 ≤ V ≤ 1. The first program treats neighbours in the order of a linear
    score alike. Each that follows treats those alike whose scores under the last prices have one sign and are not among the
    nearest to 0. Where none of them has another sign under its own prices, it is the program of all. The drawn people and μ
    are then solved for to the last digit.
    """
    people, kept, settled = mass.size, min(_KEPT, mass.size), mass.size <= _KEPT
    groups = np.empty(people, dtype=np.intp)
    groups[np.argsort((away / (seen * seen / mass).sum(axis=1)) @ seen / mass)] = np.arange(people) * kept // people
    signs = np.zeros(people)  # of those who are put together
    while True:
        found = _program(np.stack([np.bincount(groups, weights=row) for row in seen]), start, away)
        if found is None:
            return None
        prices, shares, reach = found
        scores = prices @ seen / mass
        edge = ROUNDING * np.abs(scores).max()
        if settled or (signs.any() and (scores * signs > edge)[signs != 0.0].all()):
            break
        near = np.argpartition(np.abs(scores), kept - 1)[:kept]
        signs = np.where(scores < 0.0, -1.0, 1.0)
        signs[near] = 0.0
        groups = np.where(signs < 0.0, kept, kept + 1)
        groups[near] = np.arange(kept)
        settled, kept = kept == people, min(8 * kept, people)
    drawn = np.flatnonzero(np.abs(scores) <= edge)
    treated = np.asarray(scores < 0.0, dtype=np.float64)
    kinds = np.unique(np.round(seen[:, drawn] / mass[drawn], 9), axis=1, return_inverse=True)[1].reshape(-1)
    if kinds.max(initial=-1) >= 2 * len(seen):  # a part of them has no price here either
        return None
    alike = np.equal.outer(kinds, np.arange(kinds.max(initial=-1) + 1)).astype(np.float64)
    treated[drawn] = ((mass[drawn] * shares[groups[drawn]]) @ alike / (mass[drawn] @ alike))[kinds]
    matrix = np.column_stack([seen[:, drawn] @ alike, -away])
    missing = start + reach * away - seen @ treated
    change = np.linalg.lstsq(matrix, missing, rcond=None)[0]
    treated[drawn] += change[:-1][kinds]
    if np.abs(matrix @ change - missing).max() > 1e-13 or not ((treated >= 0.0) & (treated <= 1.0)).all():
        return None
    return prices, treated, float(reach + change[-1]), drawn


def _program(sums: Array, start: Array, away: Array) -> tuple[Array, Array, float] | None:
    """Prices of the rows, V and μ of the program for columns [·, K]; None where HiGHS has no answer."""
    from scipy.optimize import linprog

    count = sums.shape[1]
    cost = np.append(np.zeros(count), -float(count))  # so that tolerances of HiGHS are shares of what a column is worth
    bounds = np.column_stack([np.zeros(count + 1), np.append(np.ones(count), np.inf)])
    run: Any = linprog
    found = run(cost, A_eq=count * np.column_stack([sums, -away]), b_eq=count * start, bounds=bounds, method="highs")
    if found.x is None:
        return None
    return np.asarray(-found.eqlin.marginals), np.clip(found.x[:-1], 0.0, 1.0), float(found.x[-1])
