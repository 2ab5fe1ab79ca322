"""Stack the private joints of several secrets, and check that they have the same outcomes.

Each constraint of a problem has its own private joint p(x_j, z_l), or p(given value, x_j, z_l)
under a conditional measure. Their rows are stacked, so that the tilted loss of an outcome is one
product of the tilt with its column (docs/decisions/0007-several-secrets.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import TOTAL_TOLERANCE, as_list, brief, mass_array
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.numerics.double_double import Array, dd_sum
from discreet.problems.constraint import (
    Constraint,
    LeakageBudget,
    Term,
    about_constraint,
    constraint_of,
    measure_asked,
)


def _private_rows(p_xz: Any, measure: Measure | None) -> tuple[Array, list[int]]:
    """Return the rows [R, N] of a private joint [n, N], or [given, n, N] under a conditional
    measure, and the sizes of its groups.
    """
    if measure is None or not measure.conditional:
        rows = mass_array(p_xz, "p_xz", 2, "[n, N]")
        return rows, [len(rows)]
    blocks = mass_array(p_xz, "p_xz", 3, "[given, n, N]")
    return blocks.reshape(-1, blocks.shape[2]), [blocks.shape[1]] * blocks.shape[0]


def stack_constraints(
    constraints: Sequence[Constraint], equivocation: float | None
) -> tuple[Array, tuple[Term, ...]]:
    """Return the stacked rows [R, N] of all constraints, and their terms; InputError names the
    constraint.

    equivocation: in nats, instead of the budget of the only constraint
    """
    given = as_list(constraints, "constraints", "one discreet.Constraint for each secret")
    rows = list[Array]()
    terms = list[Term]()
    for number, each in enumerate(given):
        if not isinstance(each, Constraint):
            raise InputError(f"constraints[{number}] is {brief(each)}; give a discreet.Constraint")
        with about_constraint(number, given):
            measure = measure_asked(each.budget, each.measure)
            own, sizes = _private_rows(each.p_xz, measure)
            if rows and own.shape[1] != rows[0].shape[1]:
                raise InputError(
                    f"p_xz has {own.shape[1]} outcomes and p_xz of constraints[0] has "
                    f"{rows[0].shape[1]}; give equal numbers"
                )
            # Only an equivocation needs more of the prior than its size.
            prior = [own[:, 0]] if equivocation is None else dd_sum(own)
            budget = constraint_of(each.budget, equivocation, prior, measure)
            terms.append(Term.of(budget, sizes, terms[-1].rows.stop if terms else 0))
        rows.append(own)
    return np.concatenate(rows), tuple(terms)


def check_rows(terms: Sequence[Term], count: int) -> None:
    """Raise InputError unless the groups of the terms are consecutive and cover all `count`
    rows.
    """
    groups = [group for term in terms for group in term.groups]
    joined = all(each.stop == later.start for each, later in pairwise(groups))
    if not groups or not joined or (groups[0].start, groups[-1].stop) != (0, count):
        raise InputError(
            f"the terms do not cover the {count} rows of p_xz consecutively; give terms whose "
            "groups follow each other from row 0 to the last"
        )


def kept_terms(terms: Sequence[Term], rows: NDArray[np.intp]) -> tuple[Term, ...]:
    """Return the terms after keeping only the rows with these increasing indices; empty groups are
    left out.
    """
    if rows.size == terms[-1].rows.stop:
        return tuple(terms)
    terms_kept = list[Term]()
    for term in terms:
        kept = [
            rows[(group.start <= rows) & (rows < group.stop)] - term.rows.start
            for group in term.groups
        ]
        measure = term.measure.on(np.concatenate(kept), sum(term.sizes))
        budget = LeakageBudget(term.budget.amount, measure)
        terms_kept.append(
            Term.of(
                budget,
                [each.size for each in kept if each.size],
                terms_kept[-1].rows.stop if terms_kept else 0,
            )
        )
    return tuple(terms_kept)


def check_same_outcomes(p_xz: Array, terms: Sequence[Term], start: int = 0) -> None:
    """Raise InputError unless all constraints give the outcomes of p_xz [n, ·] the probabilities of
    the first; the first outcome has index `start`.
    """
    for number, term in enumerate(terms[1:], 1):
        first = p_xz[terms[0].rows].sum(axis=0)
        each = p_xz[term.rows].sum(axis=0)
        apart = np.where((each > 0.0) == (first > 0.0), np.abs(each - first), np.inf)
        if apart.max() > TOTAL_TOLERANCE:
            at = int(apart.argmax())
            raise InputError(
                f"outcome {start + at} has probability {each[at]:.12g} by constraints[{number}] "
                f"and {first[at]:.12g} by constraints[0]; give private joints of the same outcomes"
            )
