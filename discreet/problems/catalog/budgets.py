"""The four ways to say how much a guess may reveal, as one choice.

A budget is given in nats of leakage, in nats of equivocation (the paper's H0), as perfect privacy, or as a fraction of what
the plain Bayes rule leaks (I_MAP): 0 is perfect privacy, 1 costs nothing.
"""

from __future__ import annotations

from discreet.problems.checks import positive
from discreet.problems.errors import InputError
from discreet.problems.problem import Problem

__all__ = ["choose_budget"]


def choose_budget(
    problem: Problem,
    *,
    leakage: float | None = None,
    equivocation: float | None = None,
    perfect: bool = False,
    fraction: float | None = None,
) -> Problem:
    """The same model under the budget asked for; the problem itself when nothing is asked for.

    leakage        ε in nats, ≥ 0; inf for no constraint
    equivocation   H0 in nats, ≤ H(X)
    perfect        ε = 0
    fraction       ε = fraction · I_MAP, I_MAP what the Bayes rule of this model leaks; ≥ 0

    Raises InputError if more than one is given, or one is out of range.
    """
    given = {
        "leakage": leakage is not None,
        "equivocation": equivocation is not None,
        "perfect": perfect,
        "fraction": fraction is not None,
    }
    chosen = [name for name, present in given.items() if present]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} both set the leakage budget; give at most one of {', '.join(given)}")
    if perfect:
        return problem.with_budget(0.0)
    if fraction is not None:
        return problem.with_budget(positive(fraction, "fraction", zero=True) * problem.bayes_leakage)
    if leakage is not None or equivocation is not None:
        return problem.with_budget(leakage, equivocation=equivocation)
    return problem
