"""The constraint on what an answer may tell about the private variable: a leakage budget in nats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.problems.errors import InputError

__all__ = ["LeakageBudget", "constraint_of"]


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
    """The constraint meant by exactly one of a budget and an equivocation, both in nats; raises InputError otherwise."""
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


def _number(value: Any, what: str) -> float:
    try:
        if isinstance(value, str | bytes | bool):  # float() would read these
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} is {value!r}, which is not a number; give nats as one number") from None
