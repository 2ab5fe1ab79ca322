"""Constraints on the information about private variables: leakage budgets, each with a measure.

A problem has one constraint for each secret. Their private joints are stacked in one matrix, and a
`Term` contains the rows of one constraint (docs/decisions/0007-several-secrets.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, localcontext
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from discreet.checks import are_masses, as_list, as_numbers, brief, freeze, real_numbers
from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.problems.outcomes import Kind
from discreet.problems.rule import Rule

if TYPE_CHECKING:
    from discreet.problems.problem import Problem
    from discreet.problems.samples import SampleReport

_Value = TypeVar("_Value")
_PRECISE = Context(prec=40)


@dataclass(frozen=True)
class LeakageBudget:
    """The constraint that the leakage is at most `amount`, in the unit of the measure; inf means no
    constraint.

    perfect     True for perfect privacy: Ŷ must be independent of X. This is budget 0, except for
                measures of the gain of an adversary
    oblivious   True if the leakage is not constrained
    """

    amount: float
    measure: Measure = MUTUAL_INFORMATION
    perfect: bool = field(init=False, repr=False, compare=False)
    oblivious: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        amount = _number(self.amount, "the leakage budget", self.measure)
        if not amount >= 0.0:
            raise InputError(
                f"the leakage budget is {_with_unit(amount, self.measure)}; give a number ≥ 0 "
                "(inf for no constraint)"
            )
        freeze(
            self,
            amount=amount + 0.0,  # −0 becomes 0
            perfect=amount == 0.0 and self.measure.separates,
            oblivious=math.isinf(amount),
        )

    def __str__(self) -> str:
        named = "" if self.measure == MUTUAL_INFORMATION else f" of {self.measure}"
        return f"{_with_unit(self.amount, self.measure)}{named}"


@dataclass(frozen=True)
class Term:
    """One constraint of a problem: the rows of `p_xz` that contain the private joint of one secret,
    and its budget.

    rows    rows of `p_xz` and `p_x`, and columns of tilts
    groups  rows with a prior of their own: all rows or, for a conditional measure, the block of
            each given value
    budget  the leakage budget and its measure
    level   B: the level of the budget, rounded upward
    priced  True if the budget has a multiplier: it is neither perfect privacy nor unlimited

    Leakage is Σ g(u_i^k) over the guesses i and the groups k, where u_i^k = A^k P_i is relative to
    the prior of the group.
    """

    rows: slice
    groups: tuple[slice, ...]
    budget: LeakageBudget
    measure: Measure = field(init=False, repr=False, compare=False)
    level: float = field(init=False, repr=False, compare=False)
    priced: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        budget = self.budget
        measure = budget.measure
        if measure.design is not measure:
            raise InputError(
                f"no problem is stated by {measure}; state it by {measure.design}, and "
                "evaluate the rule"
            )
        level = measure.level(budget.amount)
        priced = not (budget.perfect or budget.oblivious)
        freeze(self, measure=measure, level=level, priced=priced)

    @classmethod
    def of(cls, budget: LeakageBudget, sizes: Sequence[int], start: int = 0) -> Term:
        """Return the term of stacked groups of these sizes, beginning at row `start`."""
        ends = list(accumulate(sizes, initial=start))
        return cls(slice(start, ends[-1]), tuple(map(slice, ends[:-1], ends[1:])), budget)

    def tightened(self, share: float) -> Term:
        """Return the term with its budget reduced by that share."""
        return replace(self, budget=replace(self.budget, amount=self.budget.amount * (1.0 - share)))

    @property
    def sizes(self) -> list[int]:
        """The sizes of the groups."""
        return [group.stop - group.start for group in self.groups]


@dataclass(frozen=True, eq=False)
class Constraint:
    """One of several constraints, for `Problem(loss=..., constraints=[...])`, which checks it.

    p_xz     private joint p(x_j, z_l) of one secret [n, N]; for a conditional measure p(given
             value, x_j, z_l) [given, n, N]
    budget   upper limit of the leakage about the secret, in the unit of the measure
    measure  by name or as an object of `discreet.measures`; default: mutual information
    """

    p_xz: Any
    budget: float | LeakageBudget
    measure: str | Measure | None = None


def measure_asked(budget: Any, measure: str | Measure | None) -> Measure | None:
    """Return the measure of a budget; None if it is not stated, which means mutual information.
    InputError for an unknown measure, or if the two arguments disagree.
    """
    own: Measure | None = getattr(budget, "measure", None)
    if measure is None:
        return own
    chosen = measure_of(measure)
    if own is not None and chosen != own:
        raise InputError(
            f"the budget is one of {own} and the measure is {chosen}; give one of them"
        )
    return chosen


def constraint_of(
    budget: float | LeakageBudget | None,
    equivocation: float | None,
    prior: Sequence[Array],
    measure: Measure | None = None,
) -> LeakageBudget:
    """Return the constraint given by a budget or an equivocation in nats; InputError unless exactly
    one is given.

    prior     arrays of numbers ≥ 0 [n] whose sum is p(x_j), up to a common factor and a relative
              error of 2⁻⁶⁴
    measure   the `measure_asked`

    Law: a leakage within the budget of an equivocation H0 ≤ H(X) leaves H(X given Ŷ) ≥ H0. An H0
    that exceeds H(X) by a relative 1e-12 or less counts as H(X), which means perfect privacy, as
    does any H0 ≥ `entropy`.
    """
    if (budget is None) == (equivocation is None):
        raise InputError(
            "give exactly one of budget= (nats; 0 for perfect privacy, inf for no constraint) and "
            "equivocation= (nats)"
        )
    own: Measure = getattr(budget, "measure", MUTUAL_INFORMATION)
    chosen = own if measure is None else measure
    n = np.size(prior[0])
    chosen.on(np.arange(n), n)
    if isinstance(budget, LeakageBudget):
        return budget
    if equivocation is None:
        return LeakageBudget(budget, chosen)  # type: ignore[arg-type]
    if chosen != MUTUAL_INFORMATION:
        raise InputError(
            f"an equivocation bounds mutual information and not {chosen}; give a budget"
        )
    wanted = _number(equivocation, "the equivocation")
    entropy_x = _precise_entropy(prior)
    shown = entropy(np.sum(prior, axis=0))
    if not wanted <= max(float(entropy_x), shown) * (1.0 + 1e-12):
        raise InputError(
            f"equivocation {wanted:g} nats exceeds H(X) = {shown:.12g} nats, which no estimator "
            "can keep; "
            "give at most H(X) (equal to it is perfect privacy)"
        )
    if wanted >= shown:
        return LeakageBudget(0.0)
    # If every p changes by a relative δ, H changes by less than 2 δ (H + 1).
    with localcontext(_PRECISE):
        room = entropy_x - Decimal(2.0**-63) * (entropy_x + 1) - Decimal(wanted)
        nats = float(room)
        return LeakageBudget(
            max(0.0, nats if Decimal(nats) <= room else math.nextafter(nats, -math.inf))
        )


def entropy(p: Array) -> float:
    """Return the Shannon entropy of a probability vector p [k] in nats, with 0 log 0 = 0. Raises
    InputError unless p contains numbers ≥ 0.
    """
    if not are_masses(p := as_numbers(p, "p", "[k]")):
        raise InputError("p is not a vector of probabilities; give numbers from 0 to 1")
    positive = p[p > 0]
    return max(0.0, float(-(positive * np.log(positive)).sum()))


def _precise_entropy(parts: Sequence[Array]) -> Decimal:
    """Return H(p / Σ p) in nats to at least 30 digits, where p is the sum of the parts [n]."""
    with localcontext(_PRECISE):
        p = [
            sum(map(Decimal, each), Decimal(0))
            for each in zip(*(part.tolist() for part in parts), strict=True)
        ]
        total = sum(p, Decimal(0))
        return total.ln() - sum((each * each.ln() for each in p if each > 0), Decimal(0)) / total


class Constrained:
    """The base class of every kind of problem: the part that depends only on the constraints, the
    prior of X and the error probabilities of constant guesses.

    kind              kind of the problem
    blocks            source of the outcomes, if there are any
    streamed          True if outcomes are counted in every pass, because no totals are known
    tail              mass that the source gathered in one last outcome
    samples           report of the table that the problem came from
    terms             the constraints, one for each secret
    p_x               π_j [n]
    constant_errors   error probabilities of the constant guesses y_i [m]
    """

    kind: ClassVar[Kind]
    _by_measure: ClassVar[tuple[str, ...]] = ()  # cached properties that depend on the measures
    streamed: ClassVar[bool] = False
    tail: float = 0.0
    samples: SampleReport | None = None

    if TYPE_CHECKING:

        @property
        def m(self) -> int: ...
        @property
        def name(self) -> str: ...
        @property
        def terms(self) -> tuple[Term, ...]: ...
        @property
        def p_x(self) -> Array: ...
        @property
        def constant_errors(self) -> Array: ...
        @property
        def N(self) -> int: ...  # noqa: N802 (the symbol of the theory)

    @property
    def _prior(self) -> Sequence[Array]:
        """Arrays [n] whose sum is p(x_j)."""
        return (self.p_x,)

    @property
    def _sizes(self) -> str:
        """The sizes of the problem as words of its `repr`."""
        return f"n={self.n}, m={self.m}, N={self.N}"

    def __repr__(self) -> str:
        title = f"{self.name!r}, " if self.name else ""
        budgets = " and ".join(str(term.budget) for term in self.terms)
        return f"{type(self).__name__}({title}{self._sizes}, budget={budgets})"

    def least(
        self, tilt: Array, multipliers: Array, error: float, numbers: tuple[float, ...] | None
    ) -> tuple[float, ...]:
        """Return numbers whose exact sum is at most the least expected tilted loss of any rule.

        tilt, multipliers   feasible duals [m, n] and [C]
        error               error probability of some rule; much smaller losses of accuracy are
                            acceptable
        numbers             those of a pass over the outcomes under this tilt; None if there was
                            no pass, in which case the tilt must be zero
        """
        raise NotImplementedError

    def rule_of(self, answer: Any, anchors: Iterable[Array] = ()) -> Rule:
        """Return an answer as a rule for this problem, in the form in which it is judged.

        anchors: estimators [m, N] to blend a matrix towards. Raises InputError for an answer to
        another kind of problem, and for wrong sizes.
        """
        if self.kind not in getattr(answer, "kinds", ()):
            raise InputError(
                f"the judge was given {type(answer).__name__} for {self.kind.value}; "
                f"give {self.kind.answer}"
            )
        rule: Rule = answer.fitted(self)
        return rule

    def in_arrays(self, what: str) -> Problem:
        """Return the problem in arrays; otherwise InputError, naming the calling function
        `what`.
        """
        raise InputError(
            f"{what} takes {Kind.ARRAYS.value}, not {self.kind.value}; {self.kind.arrays}"
        )

    def with_budget(
        self,
        budget: float | LeakageBudget | Sequence[float | LeakageBudget] | None = None,
        *,
        equivocation: float | None = None,
        measure: str | Measure | None = None,
    ) -> Self:
        """Return the same model under other budgets, sharing what is already computed.

        budget: one for each constraint, or a number if there is only one. The measures do not
        change, unless a `LeakageBudget` has another. equivocation and measure apply to a single
        constraint; InputError if there are several.
        """
        wanted = f"as many budgets as there are constraints, {len(self.terms)}"
        given = isinstance(budget, Sequence | np.ndarray) and not isinstance(budget, str | bytes)
        budgets = as_list(budget, "budget", wanted) if given else [budget]
        if equivocation is not None or measure is not None:
            _ = self.only
        if len(budgets) != len(self.terms):
            raise InputError(f"budget has {len(budgets)} entries; give {wanted}")
        terms = []
        for number, (term, asked) in enumerate(zip(self.terms, budgets, strict=True)):
            prior = [part[term.rows] for part in self._prior]
            chosen = measure_asked(asked, measure)
            if chosen is None and equivocation is None:
                chosen = term.measure
            with about_constraint(number, self.terms):
                limit = constraint_of(asked, equivocation, prior, chosen)
                if limit.measure.conditional != term.measure.conditional:
                    kind = "a given variable" if term.measure.conditional else "no given variable"
                    raise InputError(
                        f"the private joint has {kind}, so its measure cannot become "
                        f"{limit.measure}; make another problem for that"
                    )
            terms.append(replace(term, budget=limit))
        other = copy(self)
        if any(new.measure != old.measure for new, old in zip(terms, self.terms, strict=True)):
            for name in self._by_measure:
                vars(other).pop(name, None)
        freeze(other, terms=tuple(terms))
        return other

    def refuse_other_measures(self, what: str) -> None:
        """Raise InputError if there are several constraints or leakage is not mutual information;
        what: the calling function.
        """
        if self.constraint.measure != MUTUAL_INFORMATION:
            raise InputError(
                f"{what} about mutual information only, and this problem's measure "
                f"is {self.measure}"
            )

    @property
    def only(self) -> int:
        """The index of the only constraint, 0; InputError if there are several."""
        return only_of(range(len(self.terms)), ".terms")

    @property
    def constraint(self) -> LeakageBudget:
        """The only constraint; InputError if there are several."""
        return self.terms[self.only].budget

    @property
    def perfect(self) -> bool:
        """True if all constraints require perfect privacy."""
        return all(term.budget.perfect for term in self.terms)

    @property
    def oblivious(self) -> bool:
        """True if no constraint limits the leakage."""
        return all(term.budget.oblivious for term in self.terms)

    @cached_property
    def n(self) -> int:
        """The number of private values."""
        return int(self.p_x.size)

    @property
    def constant_error(self) -> float:
        """The error probability of the best constant guess, which leaks nothing."""
        return float(self.constant_errors.min())

    @property
    def budget(self) -> float:
        """The leakage budget ε, in the unit of its measure."""
        return self.constraint.amount

    @property
    def measure(self) -> Measure:
        """The measure of leakage of the only constraint."""
        return self.constraint.measure

    @property
    def groups(self) -> tuple[slice, ...]:
        """The rows of each group with a prior of its own, over all constraints in order."""
        return tuple([group for term in self.terms for group in term.groups])

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measure of leakage of each constraint."""
        return tuple([term.measure for term in self.terms])

    @cached_property
    def entropy_x(self) -> float:
        """The entropy H(X) in nats."""
        return entropy(self.p_x)

    @property
    def equivocation(self) -> float:
        """The paper's H0 = H(X) − ε in nats: the least equivocation allowed, or −inf if there is no
        limit.
        """
        informed = self.measures == (MUTUAL_INFORMATION,)
        return self.entropy_x - self.budget if informed else -math.inf


def only_of(values: Sequence[_Value] | Array, place: str) -> _Value:
    """Return the only entry of a row [C]; InputError if there are several.

    place: the attribute with the entries of all constraints, for the message.
    """
    if len(values) != 1:
        raise InputError(
            f"there are {len(values)} constraints, so no one value; read {place}, which has an "
            "entry for each"
        )
    entry: _Value = values[0]
    return entry


def are_numbered(constraints: Sequence[object]) -> bool:
    """Return True if constraints are shown by number and leakage as a multiple of the budget, since
    units may differ. A single constraint is shown without a number, in the unit of its measure.
    """
    return len(constraints) > 1


def label_constraints(form: str, constraints: Sequence[object]) -> list[str]:
    """Return a label for each constraint: the form, such as "constraints[{}]: ", with its number;
    an empty label for a single constraint.
    """
    if not are_numbered(constraints):
        return [""]
    return [form.format(number) for number in range(len(constraints))]


def each_entry(what: str, values: Any, count: int) -> Array:
    """Return numbers given by a user, one for each constraint [count]; a single number is allowed
    if count is 1. InputError otherwise.
    """
    numbers = np.atleast_1d(as_numbers(values, f"the {what}", f"[{count}]"))
    return real_numbers(what, numbers, (count,))


AnyConstrained = TypeVar("AnyConstrained", bound=Constrained)


def kind_of(problem: Any) -> Kind:
    """Return the kind of a problem; raise InputError for anything else."""
    if not isinstance(problem, Constrained):
        kinds = "a Problem, a BlockProblem, a ContinuousProblem or a CausalProblem"
        raise InputError(f"{type(problem).__name__} is not a problem; give {kinds}")
    return problem.kind


def arrays_of(what: str, problem: Any) -> Problem:
    """Return a problem in arrays for the function `what`; raise InputError with advice if it has
    none.
    """
    kind_of(problem)
    arrays: Problem = problem.in_arrays(what)
    return arrays


def asks_privacy(terms: Sequence[Term]) -> bool:
    """Return True if any constraint is perfect privacy."""
    return any(term.budget.perfect for term in terms)


@contextmanager
def about_constraint(number: int, constraints: Sequence[object]) -> Iterator[None]:
    """Prefix error messages with the constraint that they are about, if there are several."""
    try:
        yield
    except InputError as error:
        if not are_numbered(constraints):
            raise
        raise InputError(f"constraints[{number}]: {error}") from None


def _with_unit(amount: float, measure: Measure) -> str:
    return f"{amount:g} {measure.unit}".rstrip()


def _number(value: Any, what: str, measure: Measure = MUTUAL_INFORMATION) -> float:
    try:
        if isinstance(value, str | bytes | bool | np.ma.MaskedArray):  # float() would accept these
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        words = "nats as one number" if measure.unit else "one number"
        raise InputError(f"{what} is {brief(value)}, which is not a number; give {words}") from None
