"""The constraint on the information about the private variable: a leakage budget in nats."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.problems.checks import brief
from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array


@dataclass(frozen=True)
class LeakageBudget:
    """The constraint I(X; Ŷ) ≤ nats on the private variable; 0 is perfect privacy, inf no constraint."""

    nats: float

    def __post_init__(self) -> None:
        nats = _number(self.nats, "the leakage budget")
        if not nats >= 0.0:
            raise InputError(f"the leakage budget is {nats:g} nats; give a number ≥ 0 (inf for no constraint)")
        object.__setattr__(self, "nats", nats + 0.0)  # −0 becomes 0

    @property
    def perfect(self) -> bool:
        """Perfect privacy: Ŷ must be independent of X."""
        return self.nats == 0.0

    @property
    def oblivious(self) -> bool:
        """No privacy constraint at all."""
        return math.isinf(self.nats)


def constraint_of(budget: float | LeakageBudget | None, equivocation: float | None, entropy_x: float) -> LeakageBudget:
    """The constraint given by a budget or an equivocation, both in nats; InputError unless exactly one is given."""
    if (budget is None) == (equivocation is None):
        raise InputError(
            "give exactly one of budget= (nats; 0 for perfect privacy, inf for no constraint) and equivocation= (nats)"
        )
    if isinstance(budget, LeakageBudget):
        return budget
    if equivocation is None:
        return LeakageBudget(budget)  # type: ignore[arg-type]
    wanted = _number(equivocation, "the equivocation")
    if not wanted <= entropy_x * (1.0 + 1e-12):
        raise InputError(
            f"equivocation {wanted:g} nats exceeds H(X) = {entropy_x:.12g} nats, which no estimator can keep; "
            "give at most H(X) (equal to it is perfect privacy)"
        )
    return LeakageBudget(max(0.0, entropy_x - wanted))


def entropy(p: Array) -> float:
    """Shannon entropy of a probability vector p [k], in nats; 0 log 0 = 0."""
    positive = p[p > 0]
    return max(0.0, float(-(positive * np.log(positive)).sum()))


class Constrained:
    """The part of every kind of problem that needs only its constraint, the prior of X and the errors of constant guesses.

    p_x               π_j [n]
    constant_errors   error probability of always guessing y_i [m]
    """

    if TYPE_CHECKING:

        @property
        def constraint(self) -> LeakageBudget: ...
        @property
        def p_x(self) -> Array: ...
        @property
        def constant_errors(self) -> Array: ...

    def _freeze(self, **fields: Any) -> None:
        """Set fields of a frozen value; arrays among them become read-only."""
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def with_budget(self, budget: float | LeakageBudget | None = None, *, equivocation: float | None = None) -> Self:
        """The same model, with everything already computed, under another budget or equivocation (nats)."""
        other = copy(self)
        other._freeze(constraint=constraint_of(budget, equivocation, self.entropy_x))
        return other

    @property
    def n(self) -> int:
        """Number of private values."""
        return int(self.p_x.size)

    @property
    def constant_error(self) -> float:
        """Error probability of the best constant guess, which leaks nothing."""
        return float(self.constant_errors.min())

    @property
    def budget(self) -> float:
        """Leakage budget ε in nats."""
        return self.constraint.nats

    @cached_property
    def entropy_x(self) -> float:
        """H(X) in nats."""
        return entropy(self.p_x)

    @property
    def equivocation(self) -> float:
        """The paper's H0 = H(X) − ε in nats: the least equivocation asked for (−inf without a constraint)."""
        return self.entropy_x - self.budget


def _number(value: Any, what: str) -> float:
    try:
        if isinstance(value, str | bytes | bool):  # float() would read these
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} is {brief(value)}, which is not a number; give nats as one number") from None
