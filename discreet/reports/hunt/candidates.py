"""Candidates of a hunt: problems stated by few numbers, which are drawn, mutated and shrunk.

Some are small random problems. Others are those of `discreet crosscheck`: every family of the
catalog, including adversarial ones, in every regime of the budget. A mutation changes the budget or
some masses or losses by powers of ten, removes or repeats outcomes, or rounds. Shrinking proposes
fewer outcomes, guesses, private values and digits; delta debugging (A. Zeller, R. Hildebrandt, IEEE
TSE 28 (2002)) removes halves first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.numerics.double_double import Array
from discreet.problems.constraint import LeakageBudget
from discreet.problems.problem import Problem

_DIGITS = (1, 2, 3, 4, 6, 9)
_DECADES = 4.0  # powers of ten by which a mutation changes a budget, a mass or a loss


@dataclass(frozen=True, eq=False)
class Candidate:
    """A problem with one unconditional constraint, stated by weights that are not normalised.

    weights  p(x_j, z_l) times their sum [n, N]
    losses   loss masses times the same sum [m, N]
    amount   of the budget, in the unit of `measure`
    """

    weights: Array
    losses: Array
    amount: float
    measure: Measure

    @classmethod
    def of(cls, problem: Problem) -> Candidate:
        """Return the candidate of a problem with one constraint, with its largest weight scaled to
        1.
        """
        largest = problem.p_xz.max()
        budget = problem.terms[0].budget
        return cls(problem.p_xz / largest, problem.loss / largest, budget.amount, budget.measure)

    def problem(self) -> Problem | None:
        """Return the problem; None if these numbers do not define one, or if nothing is private."""
        total = self.weights.sum()
        secret = np.count_nonzero(self.weights.any(axis=1)) > 1
        if not (secret and self.losses.size):
            return None
        budget = LeakageBudget(self.amount, self.measure)
        try:
            return Problem(self.weights / total, self.losses / total, budget)
        except InputError:
            return None

    @property
    def size(self) -> tuple[int, int]:
        """The number of entries, then of digits; the smaller of two candidates is the
        simpler one.
        """
        numbers = [*self.weights.ravel().tolist(), *self.losses.ravel().tolist(), self.amount]
        return len(numbers), sum(map(_digits, numbers))

    def changed(self, name: str, numbers: Any) -> Candidate:
        """Return the candidate with other weights, losses or another amount."""
        return replace(self, **{name: numbers})

    def outcomes(self, kept: Any) -> Candidate:
        """Return the candidate with only these outcomes."""
        return replace(self, weights=self.weights[:, kept], losses=self.losses[:, kept])

    def rounded(self, digits: int) -> Candidate:
        """Return the candidate with all numbers rounded to this number of significant digits."""
        return replace(
            self,
            weights=_round_digits(self.weights, digits),
            losses=_round_digits(self.losses, digits),
            amount=float(_round_digits(np.array(self.amount), digits)),
        )


def drawn(measure: Measure, rng: np.random.Generator) -> Candidate:
    """Return a small random candidate with few digits: masses over up to eight decades, some of
    them zero; 0/1 loss; budget 0 in one of four cases, otherwise over eight decades below the
    leakage of the Bayes rule.
    """
    n, m, outcomes = (int(rng.integers(2, most)) for most in (4, 4, 7))
    decades = float(rng.choice([1.0, 3.0, 8.0]))
    joint = 10.0 ** -rng.uniform(0.0, decades, (n, m, outcomes))
    joint *= rng.random(joint.shape) >= rng.choice([0.0, 0.3])
    weights = joint.sum(axis=1)
    candidate = Candidate(weights, joint.sum(axis=(0, 1)) - joint.sum(axis=0), math.inf, measure)
    problem = candidate.rounded(2).problem()
    share = 0.0 if rng.random() < 0.25 else 10.0 ** -rng.uniform(0.0, 8.0)
    leaked = 0.0 if problem is None else problem.bayes_leakage
    amount = share * leaked if math.isfinite(leaked) else share
    return replace(candidate, amount=amount).rounded(2)


def mutated(candidate: Candidate, rng: np.random.Generator) -> Candidate:
    """Return the candidate with one to three random changes."""
    for change in rng.choice(5, size=int(rng.integers(1, 4))).tolist():
        factor = 10.0 ** rng.uniform(-_DECADES, _DECADES)
        if change == 0:
            candidate = candidate.changed("amount", candidate.amount * factor)
        elif change == 1:
            candidate = _scale_entries(candidate, "weights", factor, rng)
        elif change == 2:
            candidate = _scale_entries(candidate, "losses", min(factor, 1.0), rng)
        elif change == 3:
            count = candidate.weights.shape[1]
            candidate = candidate.outcomes(rng.integers(count, size=max(1, count)))
        else:
            candidate = candidate.rounded(int(rng.choice(_DIGITS)))
    return candidate


def _scale_entries(
    candidate: Candidate, name: str, factor: float, rng: np.random.Generator
) -> Candidate:
    """Return the candidate with random entries, whole rows or whole columns multiplied by a
    factor.
    """
    numbers = getattr(candidate, name)
    rows, columns = numbers.shape
    pattern = ((1, columns), (rows, 1), (rows, columns))[int(rng.integers(3))]
    chosen = rng.random(pattern) < rng.choice([0.1, 0.5])
    return candidate.changed(name, np.where(chosen, numbers * factor, numbers))


def simpler(candidate: Candidate) -> Iterator[Candidate]:
    """Iterate over smaller candidates: without some outcomes, a guess or a private value; with
    fewer digits; with 0/1 losses.
    """
    count = candidate.weights.shape[1]
    everything = np.arange(count)
    width = count // 2
    while width:
        for start in range(0, count, width):
            yield candidate.outcomes(np.delete(everything, slice(start, start + width)))
        width //= 2
    for name in ("losses", "weights"):
        numbers = getattr(candidate, name)
        for row in range(len(numbers)):
            yield candidate.changed(name, np.delete(numbers, row, axis=0))
    for digits in _DIGITS:
        rounded = candidate.rounded(digits)
        yield rounded
        for name in ("weights", "losses", "amount"):
            yield candidate.changed(name, getattr(rounded, name))
    for name in ("losses", "weights"):
        numbers = getattr(candidate, name)
        for place in zip(*np.nonzero(numbers), strict=True):
            fewer = numbers.copy()
            fewer[place] = 0.0
            yield candidate.changed(name, fewer)


def _round_digits(numbers: Array, digits: int) -> Array:
    return np.array([float(f"{each:.{digits}g}") for each in numbers.ravel().tolist()]).reshape(
        numbers.shape
    )


def _digits(number: float) -> int:
    """Return the number of significant digits in the shortest text of a number."""
    return len(f"{number!r}".partition("e")[0].replace(".", "").strip("0"))
