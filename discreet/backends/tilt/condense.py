"""Outcomes too rare to matter, put together.

Outcomes whose masses add up to less than a small share of the Bayes rule's error probability cannot change the optimum by
more than that share, yet each would have its own barrier product to centre. They are merged by the guess of the Bayes rule
into at most m outcomes. Merging restricts the estimator (all members are treated alike), so what is feasible stays
feasible exactly; the judge's bound still covers every outcome.

Source: docs/theory.md, section 13 (outcomes so rare that they cannot matter), section 18 (aggregation is a restriction).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["RARE", "Condensed", "condense"]

RARE = 0.01
"""Share of the asked gap that merging the rarest outcomes may cost."""


@dataclass(frozen=True, eq=False)
class Condensed:
    """The smaller problem and, for each original outcome, the index of the one that holds it (None: nothing merged)."""

    problem: Problem
    group: NDArray[np.intp] | None

    def restore(self, estimator: Array) -> Array:
        """The estimator [m, N] of the original."""
        return estimator if self.group is None else estimator[:, self.group]


def condense(problem: Problem, share: float) -> Condensed:
    """Merge, by Bayes guess, the rarest outcomes with a total mass of at most `share` × the Bayes rule's error."""
    allowed = share * problem.bayes_error
    if not problem.p_z.min() < allowed:
        return Condensed(problem, None)
    order = np.argsort(problem.p_z)
    count = int(np.searchsorted(np.cumsum(problem.p_z[order]), allowed))
    rare = order[:count]
    guesses, member = np.unique(np.argmin(problem.loss[:, rare], axis=0), return_inverse=True)
    if count <= guesses.size:
        return Condensed(problem, None)
    kept = np.sort(order[count:])
    group = np.empty(problem.N, dtype=np.intp)
    group[kept] = np.arange(kept.size)
    group[rare] = kept.size + member
    p_xz, loss = _sums(problem.p_xz, group), _sums(problem.loss, group)
    return Condensed(Problem(p_xz, loss, problem.constraint, name=problem.name), group)


def _sums(rows: Array, group: NDArray[np.intp]) -> Array:
    return np.stack([np.bincount(group, weights=row).astype(np.float64) for row in rows])
