"""What a backend is: three functions and its capabilities as data.

A backend turns a `Problem` into something its solver understands (`lower`), lets the solver work (`solve`) and turns what
came back into an estimator and, if it has them, duals (`lift`). It never judges itself: the loop in `run` times the three
steps, catches what they raise and hands the answer to the judge. Zero-mass and proportional outcomes are gone before
`lower` is called (`problems.reduction`), and put back after `lift`.

Signs of duals: `tilt` t_ij [m, n] is the dual of u_i = A P_i such that the optimal rule is
argmin_i L_il + Σ_j t_ij a_jl, and `multiplier` μ ≥ 0 the dual of leakage ≤ ε, in error probability per nat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from discreet.problems.errors import InputError, Unsupported
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["Answer", "Backend", "Capabilities", "Follower", "Known", "Options", "Raw", "Regime", "refuse_unserved"]


class Regime(Enum):
    """The three kinds of budget; the value is the word for it in messages."""

    PERFECT = "perfect privacy (budget 0)"
    CONSTRAINED = "a positive finite budget"
    OBLIVIOUS = "no privacy constraint (budget inf)"

    @classmethod
    def of(cls, problem: Problem) -> Regime:
        """The regime of a problem's budget."""
        if problem.constraint.perfect:
            return cls.PERFECT
        return cls.OBLIVIOUS if problem.constraint.oblivious else cls.CONSTRAINED


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do, as data.

    regimes            the budgets it serves
    largest_outcomes   N above which it refuses
    gives_duals        whether its answers carry tilt and multiplier
    streams            whether it can work on outcomes that are never all in memory
    method             one line: the method
    citation           where the method is described
    libraries          importable names it needs, beyond the base install
    extra              the extra of discreet that installs them ("" = base install)
    settings           name -> what it means, for every entry `Options.settings` may hold
    peer               whether it is there to be compared with: never chosen unless it is named
    """

    regimes: frozenset[Regime]
    largest_outcomes: int
    gives_duals: bool
    method: str
    citation: str
    streams: bool = False
    libraries: tuple[str, ...] = ()
    extra: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    peer: bool = False


@dataclass(frozen=True)
class Options:
    """What the caller asks of a backend; each lowers these to its own solver's parameters as far as they exist.

    gap             relative certified gap aimed at
    time_limit      seconds for `solve`, or None
    max_iterations  or None for the backend's own limit
    settings        backend-specific, by the names in `Capabilities.settings`
    """

    gap: float = 1e-9
    time_limit: float | None = None
    max_iterations: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 < self.gap < 1.0:
            raise InputError(f"the gap is {self.gap}; give a relative gap between 0 and 1, such as 1e-9")
        if self.time_limit is not None and not self.time_limit > 0.0:
            raise InputError(f"the time limit is {self.time_limit} s; give a positive number of seconds")
        if self.max_iterations is not None and self.max_iterations < 1:
            raise InputError(f"max_iterations is {self.max_iterations}; give at least 1")


@dataclass(frozen=True)
class Raw:
    """What came out of a solver: its own word for how it went (never believed), and whatever `lift` needs."""

    claimed: str
    value: Any
    iterations: int | None = None


@dataclass(frozen=True)
class Answer:
    """An estimator [m, N] with optional duals; the judge checks all of it.

    anchors: estimators [m, N] that the backend believes to leak nothing; the judge verifies and may repair towards them.
    """

    estimator: Array
    tilt: Array | None = None
    multiplier: float | None = None
    anchors: tuple[Array, ...] = ()


@runtime_checkable
class Backend(Protocol):
    """The contract. Law: lifting a lowered optimum gives an estimator that is optimal for the problem, up to tolerance."""

    @property
    def name(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def lower(self, problem: Problem, options: Options) -> Any: ...
    def solve(self, lowered: Any, options: Options) -> Raw: ...
    def lift(self, raw: Raw) -> Answer: ...


@dataclass(frozen=True, eq=False)
class Known:
    """A certified budget of a model, in nats, with its tilt [m, n] and multiplier (inf at budget 0)."""

    budget: float
    tilt: Array
    multiplier: float


@runtime_checkable
class Follower(Protocol):
    """Optional: a backend that solves faster when other budgets of the same model are solved (see `sweep`).

    None means that the budget has to be solved afresh; so does an answer that the judge does not certify.
    """

    def follow(self, problem: Problem, options: Options, known: Sequence[Known]) -> Raw | None: ...
    def lift(self, raw: Raw) -> Answer: ...


def refuse_unserved(
    backend: Backend, problem: Problem, options: Options, alternatives: Callable[[], Mapping[str, Capabilities]]
) -> None:
    """Raise Unsupported (or InputError for an unknown setting) in the same words for every backend.

    alternatives: name -> capabilities of the backends to point to, asked for when one has to be.
    """
    able = backend.capabilities
    unknown = sorted(set(options.settings) - set(able.settings))
    if unknown:
        known = ", ".join(sorted(able.settings)) or "none"
        raise InputError(f"backend {backend.name} has no setting {unknown[0]!r}; it knows: {known}")
    regime = Regime.of(problem)
    if regime not in able.regimes:
        raise Unsupported(
            f"backend {backend.name} does not serve {regime.value}; {_others(regime, problem.N, alternatives, backend.name)}"
        )
    if problem.N > able.largest_outcomes:
        raise Unsupported(
            f"backend {backend.name} refuses more than {able.largest_outcomes} outcomes and this problem has {problem.N}; "
            f"{_others(regime, problem.N, alternatives, backend.name)}"
        )


def _others(regime: Regime, outcomes: int, alternatives: Callable[[], Mapping[str, Capabilities]], name: str) -> str:
    able = {k: c for k, c in alternatives().items() if k != name and not c.peer}
    fit = [k for k, c in able.items() if regime in c.regimes and outcomes <= c.largest_outcomes]
    return f"use one of: {', '.join(fit)}" if fit else "no other backend serves it either"
