"""The contract of a backend: three functions, and its capabilities as data.

A backend turns a problem into the form its solver needs (`lower`), runs the solver (`solve`), and
turns the result into an estimator and, if available, duals (`lift`). It never judges itself: the
loop in `run` times the three steps, catches their exceptions and passes the answer to the judge.
Before `lower` is called, outcomes of probability zero are removed from a `Problem` and proportional
ones merged (`problems.reduction`); after `lift` they are restored.

Signs of duals: `tilt` t_ij [m, n] is the dual of u_i = A P_i, with the sign for which the optimal
rule is argmin_i L_il + Σ_j t_ij a_jl; `multiplier` μ ≥ 0 is the dual of Σ_i g(u_i) ≤ B, for mutual
information of leakage ≤ ε, in error probability per nat. A measure of single guesses needs no
multiplier.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

from discreet.checks import brief, whole
from discreet.errors import InputError
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import Term, kind_of, only_of
from discreet.problems.outcomes import Kind as Kind
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from discreet.problems.causal.model import CausalProblem
    from discreet.problems.causal.rule import CausalRule
    from discreet.problems.continuous.model import ContinuousProblem
    from discreet.problems.continuous.rule import IntervalRule
    from discreet.problems.outcome_rules import OutcomeRule

AnyProblem: TypeAlias = "Problem | BlockProblem | ContinuousProblem | CausalProblem"
"""All kinds of problem; each class has its `kind`."""

_P_contra = TypeVar("_P_contra", bound="AnyProblem", contravariant=True)
_Lowered = TypeVar("_Lowered")
_Result = TypeVar("_Result")


class Regime(Enum):
    """The three kinds of budget; each value is its description in messages."""

    PERFECT = "perfect privacy (budget 0)"
    CONSTRAINED = "a positive finite budget"
    OBLIVIOUS = "no privacy constraint (budget inf)"

    @classmethod
    def of(cls, problem: AnyProblem) -> Regime:
        """Return the regime of the budget of a problem; for several constraints the regime they
        share, otherwise the constrained one.
        """
        if problem.perfect:
            return cls.PERFECT
        return cls.OBLIVIOUS if problem.oblivious else cls.CONSTRAINED

    @classmethod
    def of_term(cls, term: Term) -> Regime:
        """Return the regime of one constraint."""
        if term.priced:
            return cls.CONSTRAINED
        return cls.PERFECT if term.budget.perfect else cls.OBLIVIOUS


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a class of methods with default options on small problems: ordinary,
    degenerate, with a tiny budget.

    words    description of the methods
    gap      largest relative certified gap
    excess   largest relative excess of the answer's own leakage over a positive budget, before any
             repair
    """

    words: str
    gap: tuple[float, float, float]
    excess: tuple[float, float, float]


ACCURACY = {
    "structured": Accuracy("use the form of the optimum", (1e-9, 1e-9, 1e-9), (1e-9, 1e-9, 1e-6)),
    "simplex": Accuracy("end at a vertex of a linear program", (1e-9, 1e-9, 1e-9), (0.0, 0.0, 0.0)),
    "fixed point": Accuracy(
        "alternate between closed forms", (1e-8, 1e-5, 1e-5), (1e-6, 1e-6, 1e-6)
    ),
    "cones": Accuracy(
        "interior points of exponential cones", (1e-7, 1e-6, math.inf), (1e-6, 1e-5, math.inf)
    ),
    "dense SQP": Accuracy(
        "sequential quadratic programming", (1e-7, 1e-2, 1e-7), (1e-7, 1e-3, 1e-5)
    ),
    "barrier": Accuracy(
        "interior points of a smooth program", (1e-8, 1e-8, 1e-7), (1e-6, 1e-6, 1e-6)
    ),
    "first order": Accuracy(
        "gradients only, run until they are exact", (1e-8, 1e-8, 1e-8), (0.0, 0.0, 0.0)
    ),
    "low accuracy": Accuracy(
        "a few digits, like plain gradients",
        (1e-2, math.inf, math.inf),
        (1e-2, math.inf, math.inf),
    ),
}
"""Accuracy by class of methods; a backend names its class, and the conformance tests check the row.
"""

COLUMNS = ("ordinary", "degenerate", "tiny budget")
"""The kinds of problem in an `Accuracy`, in the order of its numbers."""


@dataclass(frozen=True)
class Reach:
    """A size beyond which studies and benchmarks do not run a backend, although it would accept the
    problem, and the reason.

    outcomes   N above which it is not run
    unknowns   m N above which it is not run; without either limit it is never run
    settings   the reach applies only to the backend with these settings
    curves     True if the reach applies only to whole curves, which need many solves
    """

    reason: str
    outcomes: float = math.inf
    unknowns: float = math.inf
    settings: Mapping[str, object] = field(default_factory=dict)
    curves: bool = False

    def refusal(self, problem: Problem) -> str:
        """Return the reason why the problem is not run, as text after the name of the backend;
        empty if it is.
        """
        sizes = (
            (problem.N, self.outcomes, "outcomes"),
            (problem.m * problem.N, self.unknowns, "unknowns"),
        )
        given = [(size, most, what) for size, most, what in sizes if most < math.inf]
        if given and all(size <= most for size, most, _ in given):
            return ""
        sizes_above = " or ".join(f"above {most:,} {what}" for _, most, what in given)
        return f"is not tried {sizes_above or 'here'}: {self.reason}"


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a backend, as data; the rest of the project has no other information
    about it.

    regimes            the budgets it serves, for mutual information
    measures           other measures of leakage whose positive budgets it serves. Zero and infinite
                       budgets do not depend on the measure unless it is conditional
    several            True if it serves several constraints, with any regimes and measures that it
                       serves
    largest_outcomes   N of arrays above which it refuses; outcomes in blocks have no such limit
    largest_variables  (m − 1) N above which it refuses: a dense method would take minutes
    gives_duals        True if its answers contain tilt and multiplier
    method             the method, in one line
    citation           where the method is described
    kinds              the kinds of problem it serves
    method_class       its row of `ACCURACY`
    falls_short        problems of the conformance tests on which it misses that row -> reason
    unreliable         kinds of problem (`COLUMNS`) on some of which it misses that row or runs out
                       of time -> reason
    libraries          importable names it needs in addition to the base install
    extra              the extra of discreet that installs them ("" = base install)
    settings           name -> meaning, for every entry allowed in `Options.settings`
    peer               True if it exists for comparison and is used only if named
    reach              sizes beyond which studies and benchmarks do not run it
    """

    regimes: frozenset[Regime]
    largest_outcomes: int
    gives_duals: bool
    method: str
    citation: str
    kinds: frozenset[Kind] = frozenset({Kind.ARRAYS})
    method_class: str = "low accuracy"
    falls_short: Mapping[str, str] = field(default_factory=dict)
    unreliable: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    extra: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    peer: bool = False
    measures: frozenset[str] = frozenset()
    several: bool = False
    largest_variables: float = math.inf
    reach: tuple[Reach, ...] = ()

    def __post_init__(self) -> None:
        if self.method_class not in ACCURACY:
            raise InputError(
                f"there is no class of methods {self.method_class!r}; choose one of: "
                f"{', '.join(ACCURACY)}"
            )

    def refusal(self, problem: AnyProblem) -> str:
        """Return the reason why the problem is not served, as text after the name of the backend;
        empty if it is.
        """
        if (kind := kind_of(problem)) not in self.kinds:
            return f"does not serve {kind.value}"
        if len(problem.terms) > 1 and not self.several:
            return f"does not serve several constraints, and this problem has {len(problem.terms)}"
        for term in problem.terms:
            if self._serves(term):
                continue
            named = ""
            if term.measure != MUTUAL_INFORMATION and (term.priced or term.measure.conditional):
                named = f" of {term.measure.name}"
            return f"does not serve {Regime.of_term(term).value}{named}"
        if problem.kind is not Kind.ARRAYS:
            return ""
        if problem.N > self.largest_outcomes:
            return (
                f"refuses more than {self.largest_outcomes} outcomes and this problem has "
                f"{problem.N}"
            )
        variables = (problem.m - 1) * problem.N
        if variables > self.largest_variables:
            return (
                f"refuses more than {self.largest_variables} variables and here (m − 1) N = "
                f"{variables}"
            )
        return ""

    def serves_budget(self, problem: AnyProblem) -> bool:
        """Return True if it serves the budgets and measures of the problem, and their number."""
        return (self.several or len(problem.terms) == 1) and all(map(self._serves, problem.terms))

    def _serves(self, term: Term) -> bool:
        regime = Regime.of_term(term)
        if term.measure.conditional and term.measure.name not in self.measures:
            return False
        if regime is Regime.CONSTRAINED and term.measure != MUTUAL_INFORMATION:
            return term.measure.name in self.measures
        return regime in self.regimes

    def skipped(
        self, problem: Problem, settings: Mapping[str, object], *, curve: bool = False
    ) -> str:
        """Return the reason why studies and benchmarks do not run it, as text after its name; empty
        if they do.
        """
        reach = (
            each
            for each in self.reach
            if each.settings.items() <= settings.items() and (curve or not each.curves)
        )
        return self.refusal(problem) or next(
            filter(None, (each.refusal(problem) for each in reach)), ""
        )


@dataclass(frozen=True)
class Options:
    """The caller's options for a backend, which translates them to parameters of its solver where
    these exist.

    gap             requested relative certified gap
    time_limit      seconds for `solve`, or None
    max_iterations  or None for the backend's own limit
    settings        specific to the backend, with names from `Capabilities.settings`
    progress        called with (description, lower bound, upper bound) by backends that work in
                    rounds, and by the judge
    """

    gap: float = 1e-9
    time_limit: float | None = None
    max_iterations: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    progress: Callable[[str, float, float], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.gap, Real) and 0.0 < self.gap < 1.0):
            raise InputError(
                f"the gap is {brief(self.gap)}; give a relative gap between 0 and 1, such as 1e-9"
            )
        if self.time_limit is not None and not (
            isinstance(self.time_limit, Real) and self.time_limit > 0.0
        ):
            raise InputError(
                f"the time limit is {brief(self.time_limit)} s; give a positive number of seconds"
            )
        # Thirty years: operating systems do not support much longer waits.
        if self.time_limit is not None and self.time_limit > 1e9:
            object.__setattr__(self, "time_limit", None)
        if self.max_iterations is not None:
            whole(self.max_iterations, "max_iterations", 1)
        if not isinstance(self.settings, Mapping):
            raise InputError(
                f"the settings are {brief(self.settings)}; give a mapping of names to values"
            )
        if not (self.progress is None or callable(self.progress)):
            raise InputError(
                f"progress is {brief(self.progress)}, which cannot be called; give a "
                "function or None"
            )

    def deadline(self) -> float:
        """Return the time at which the time limit ends if it starts now, on the clock of
        time.perf_counter; inf without a limit.
        """
        return math.inf if self.time_limit is None else time.perf_counter() + self.time_limit


@dataclass(frozen=True)
class Raw(Generic[_Result]):
    """The result of a solver: its own status text (never trusted), and a value for `lift`.

    passes   passes over the outcomes, if the backend counts them
    """

    claimed: str
    value: _Result
    iterations: int | None = None
    passes: int | None = None


@dataclass(frozen=True)
class Answer:
    """An estimator with optional duals; the judge checks all of it.

    estimator    a matrix [m, N] or an `OutcomeRule`; an `IntervalRule` for densities, a
                 `CausalRule` for guesses over time
    tilt         of the duals [m, n]
    multipliers  ≥ 0, one for each constraint [C]; without duals a rule's own tilt is used
    anchors      estimators [m, N] that should leak nothing according to the backend; the judge may
                 repair towards them
    """

    estimator: Array | OutcomeRule | IntervalRule | CausalRule
    tilt: Array | None = None
    multipliers: Array | None = None
    anchors: tuple[Array, ...] = ()

    @property
    def multiplier(self) -> float | None:
        """The multiplier μ of the only constraint; None without duals, InputError if there are
        several.
        """
        if self.multipliers is None:
            return None
        return float(only_of(self.multipliers, ".multipliers"))


@runtime_checkable
class Backend(Protocol[_P_contra, _Lowered, _Result]):
    """The contract, with the type of problem, the result of `lower` and the result of `solve` as
    parameters.

    Law: lifting a lowered optimum gives an estimator that is optimal for the problem, up to
    tolerance.
    """

    @property
    def name(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def lower(self, problem: _P_contra, options: Options) -> _Lowered: ...
    def solve(self, lowered: _Lowered, options: Options) -> Raw[_Result]: ...
    def lift(self, raw: Raw[_Result]) -> Answer: ...


class Unlifted:
    """A base class for backends whose `solve` already returns an `Answer`, including any duals."""

    def lift(self, raw: Raw[Answer]) -> Answer:
        """Return the answer of `solve` unchanged."""
        return raw.value


AnyBackend: TypeAlias = Backend[Any, Any, Any]
"""A backend from the registry; its capabilities contain the kinds of problem it serves."""


class Policy:
    """A name for several backends, which are tried in turn until an answer is certified; otherwise
    the answer with the narrowest bracket is returned.
    """

    name: str
    capabilities: Capabilities
    preference: tuple[str, ...]


class Duals(NamedTuple):
    """A tilt [m, n] and multipliers μ [C]: inf at budget 0; with 0 the tilt of its rows is 0."""

    tilt: Array
    multipliers: Array


@runtime_checkable
class Continuation(Protocol[_Result]):
    """Optional: a backend that solves faster from duals predicted from other budgets of the same
    model (see `sweep`).

    The budget is positive and finite. It may be slack: the backend checks whether the Bayes rule
    satisfies it. starts: in the order of quality; there may be none. If it returns None, or an
    answer that the judge does not certify, the budget is solved without a start.
    """

    def continue_from(
        self, problem: Problem, options: Options, starts: Iterable[Duals]
    ) -> Raw[_Result] | None: ...
    def lift(self, raw: Raw[_Result]) -> Answer: ...
