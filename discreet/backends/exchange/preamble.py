"""The description in an exported file: the problem, the meaning of its objective, the position of
the estimator.

Only ASCII characters, and no date: equal problems give equal files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.backends.lowering import Program
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class Preamble:
    """The text before a program.

    problem   the original problem; the program is that of its reduction
    bracket   certified (lower, upper) of the least error probability, or None
    """

    problem: Problem
    program: Program
    bracket: tuple[float, float] | None = None

    @property
    def title(self) -> str:
        """The name of the problem as one word of printable ASCII."""
        return (
            "".join(each if "!" <= each <= "~" else "_" for each in self.problem.name) or "problem"
        )

    @property
    def offset(self) -> float:
        """The error probability at objective 0, which is the Bayes error."""
        return self.program.problem.bayes_error

    def error(self, objective: float) -> float:
        """Return the error probability of an objective."""
        return self.offset + self.program.unit * objective

    def lines(self) -> Iterator[str]:
        """Yield the lines, without comment marks."""
        problem = self.problem
        small = self.program.problem
        yield f"{self.title}: least error probability of a guess that keeps a budget of leakage"
        yield (
            f"problem {problem.digest}: {problem.n} private values, {problem.m} guesses, "
            f"{problem.N} outcomes"
        )
        for number, term in enumerate(problem.terms, start=1):
            yield f"budget {number}: {_budget(term)}"
        if small.N < problem.N:
            yield (
                f"proportional outcomes are merged and impossible ones left out: {small.N} of "
                f"{problem.N} remain"
            )
        yield f"error probability = {self.offset!r} + {self.program.unit!r} * objective"
        if self.bracket is not None:
            low, high = self.bracket
            yield f"certified: the least error probability is in [{low!r}, {high!r}]"
            yield (
                f"so the least objective is in [{self._objective(low, -1)!r}, "
                f"{self._objective(high, 1)!r}]"
            )
        count = small.m * small.N
        yield (
            f"the estimator is the first {count} variables, {small.N} for each of {small.m} "
            "guesses:"
        )
        yield (
            f"Pr(guess i given outcome l) = x[i*{small.N} + l] / sum over k of x[k*{small.N} + "
            "l], all counted from 0"
        )
        yield "made by discreet; docs/how-to/test-a-solver.md"

    def _objective(self, error: float, direction: int) -> float:
        """Return the objective of an error probability, moved outward by more than the rounding
        error of both.
        """
        rounding = 4.0 * 2.0**-53 * (abs(error) + abs(self.offset)) / self.program.unit
        return (error - self.offset) / self.program.unit + direction * rounding


def _budget(term: Term) -> str:
    if term.budget.oblivious:
        return "none"
    unit = f" {term.measure.unit}" if term.measure.unit else ""
    rows = f"rows {term.rows.start} to {term.rows.stop - 1} of the private joint"
    groups = f" in {len(term.groups)} groups" if len(term.groups) > 1 else ""
    exact = "perfect privacy" if term.budget.perfect else f"at most {term.budget.amount!r}{unit}"
    assert not math.isnan(term.budget.amount)
    return f"{term.measure}, {exact}, {rows}{groups}"
