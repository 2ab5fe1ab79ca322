"""The problem: find the estimator of Y with the least error probability whose leakage about X is at
most a budget.

    minimise ⟨L, P⟩   over column-stochastic P [m, N] with I(X; Ŷ) ≤ ε

Leakage may be another measure than mutual information, and there may be several constraints. One
immutable class covers the paper's three problems: ε = ∞ (privacy-oblivious), 0 < ε < ∞
(entropy-constrained) and ε = 0 (perfect privacy, a linear program). Backends and the judge read
only `p_xz`, `loss` and `terms`.

Source: E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, "Privacy-aware Minimum Error
Probability Estimation: An Entropy Constrained Approach"; vocabulary and notation of docs/theory.md.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from discreet.checks import (
    check_ceiling,
    check_name,
    check_stray_losses,
    check_total,
    freeze,
    loss_table,
    mass_array,
    real_numbers,
    row_totals,
)
from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.measures.law import OutputLaw, faint_lift
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import BLOCK, Array, DoubleDouble, Split, dd_sum
from discreet.numerics.estimators import Decisions, normalise
from discreet.numerics.rounding import UNIT
from discreet.numerics.sums import lifted_rows, sum_doubt
from discreet.problems.constraint import (
    Constrained,
    Constraint,
    LeakageBudget,
    Term,
    about_constraint,
    measure_asked,
)
from discreet.problems.laws import Law, laws_of
from discreet.problems.outcome_rules import Matrix
from discreet.problems.outcomes import ArrayBlocks, Kind, Totals
from discreet.problems.rule import Rule
from discreet.problems.stacking import (
    check_rows,
    check_same_outcomes,
    stack_constraints,
)

if TYPE_CHECKING:
    import pandas as pd

    from discreet.problems.samples import SampleReport
    from discreet.showing.figures import Figure

# A total this close to one counts as one: dividing by it again would only change the last digits.
ROUNDED_TOTAL = 2.0**-50
_RARE = 2.0**-10
"""All values but one are rare if together they are less likely by this factor. A difference of the
masses of that one value then has ten bits fewer than theirs.
"""
LARGEST_LOSS = 1e100  # keeps every product in the judge finite


@dataclass(frozen=True)
class PhiRank:
    """The number of independent equations that perfect privacy imposes, and how reliable that
    number is.

    The singular values [min(n, N)] belong to the matrix sqrt(π_j) φ_jl / sqrt(w_l): they are the
    canonical correlations of X and Z, lie in [0, 1] and do not change when an outcome is split.
    `rank` counts the values above `threshold`; `nullity` = N − rank; `gap` is (smallest counted) /
    (largest not counted), or inf if every value is counted. If `gap` is near 1, the rank is
    unreliable.
    """

    rank: int
    nullity: int
    singular_values: Array
    threshold: float
    gap: float


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem(Constrained):
    """A privacy-aware estimation problem over N outcomes. Immutable; arrays are read-only float64.

    p_xz        private joint a_jl = p(x_j, z_l)                         [n, N], sums to 1
    loss        loss mass L_il = E[loss(Y, y_i); Z = z_l]                [m, N], ≥ 0
    marginal    π_j, not rounded to doubles                              double-double [n]
    terms       the constraints; if there is only one, `budget` is its leakage budget ε by `measure`
    name        a title, without effect on results
    m, N        numbers of guesses and outcomes
    p_x         π_j = p(x_j), rounded to doubles                         [n]

    With several secrets, the private joints are stacked in p_xz, each with sum 1, and n is the
    number of all rows. With X given another variable, p_xz contains p(given value, x_j, z_l), a
    group of rows for each given value.
    """

    kind: ClassVar[Literal[Kind.ARRAYS]] = Kind.ARRAYS
    _by_measure = ("bayes_law", "bayes_leakages")

    p_xz: Array
    loss: Array
    marginal: DoubleDouble
    terms: tuple[Term, ...]
    name: str
    samples: SampleReport | None
    m: int
    N: int
    p_x: Array

    def __init__(
        self,
        p_xz: Any = None,
        loss: Any = None,
        budget: float | LeakageBudget | None = None,
        *,
        measure: str | Measure | None = None,
        equivocation: float | None = None,
        constraints: Sequence[Constraint] | None = None,
        name: str = "",
        samples: SampleReport | None = None,
    ) -> None:
        """Validate and freeze. Give one of `budget` (0 perfect privacy, inf none) and
        `equivocation` (H0, nats).

        measure      what the budget bounds, by name or as an object of `discreet.measures`;
                     default: mutual information. Under a conditional measure, p_xz is p(given
                     value, x_j, z_l) [given, n, N]
        constraints  for several secrets; replaces p_xz, budget, measure and equivocation

        Raises InputError, naming the entry, for anything that is not a probability model: wrong
        shape, non-finite or negative entries, a total further than 1e-9 from one (totals further
        than rounding from one are scaled to one), a loss mass on an outcome that has no probability
        or above 1e100, constraints whose outcomes differ in probability by more than 1e-9, a budget
        that is negative or an equivocation above H(X). Law: a problem built from the arrays of a
        problem has the same arrays.
        """
        if constraints is None:
            constraints = [Constraint(p_xz, budget, measure)]  # type: ignore[arg-type]
        elif any(each is not None for each in (p_xz, budget, measure, equivocation)):
            raise InputError(
                "the constraints state private joints, budgets and measures; give "
                "loss= and constraints= alone"
            )
        a, terms = stack_constraints(constraints, equivocation)
        self._fill(a, loss, terms, name, samples)

    @classmethod
    def of_rows(cls, p_xz: Any, loss: Any, terms: tuple[Term, ...], *, name: str = "") -> Problem:
        """Return the problem of private joints that are already stacked [n, N], under constraints
        on these rows.
        """
        self = cls.__new__(cls)
        a = mass_array(p_xz, "p_xz", 2, "[n, N]")
        check_rows(terms, len(a))
        self._fill(a, loss, terms, name, None)
        return self

    def _fill(
        self, a: Array, loss: Any, terms: tuple[Term, ...], name: str, samples: SampleReport | None
    ) -> None:
        """Check everything but the entries of `a`, which is scaled in place, and freeze."""
        cost = mass_array(loss, "loss", 2, "[m, N]")
        if a.shape[1] != cost.shape[1]:
            raise InputError(
                f"p_xz has {a.shape[1]} outcomes and loss has {cost.shape[1]}; both need shape "
                "[·, N] with the same N"
            )
        marginals = []
        for number, term in enumerate(terms):
            rows = a[term.rows]
            with about_constraint(number, terms):
                marginal, total = row_totals(rows, "p_xz")
            if abs(total - 1.0) > ROUNDED_TOTAL:
                rows /= total
                marginal = dd_sum(rows)
                if number == 0:
                    cost /= total
            marginals.append(marginal)
        high, low = (np.concatenate(parts) for parts in zip(*marginals, strict=True))
        check_ceiling(cost, "loss", LARGEST_LOSS, "state losses in a larger unit")
        check_stray_losses(a, cost)
        check_same_outcomes(a, terms)
        freeze(
            self,
            p_xz=a,
            loss=cost,
            marginal=(high, low),
            terms=terms,
            name=check_name(name),
            samples=samples,
            n=a.shape[0],
            m=cost.shape[0],
            N=a.shape[1],
            p_x=high,
        )

    @classmethod
    def from_joint(
        cls,
        joint: Any,
        budget: float | LeakageBudget | None = None,
        *,
        measure: str | Measure | None = None,
        equivocation: float | None = None,
        loss_matrix: Any = None,
        name: str = "",
    ) -> Problem:
        """Return the problem of a joint tensor p(x, y, z) [n, m, N].

        A conditional measure is about X given Y; with budget 0 it requires equalized odds.

        loss_matrix [m, m'] contains the loss of guessing i' when the truth is i (≥ 0; m' guesses);
        the default is 0/1 loss, which makes ⟨L, P⟩ the error probability. Loss masses are sums of
        the small terms Σ_{k≠i} p(y_k, z_l), never computed as p(z_l) − p(y_i, z_l). All sums are
        computed by `masses_of_joint`.
        """
        tensor = mass_array(joint, "joint", 3, "[n, m, N]")
        matrix = loss_table(loss_matrix, tensor.shape[1])
        check_total(tensor, "joint")
        asked = measure_asked(budget, measure)
        p_xz, loss = masses_of_joint(tensor, matrix)
        if asked is not None and asked.conditional:
            p_xz = tensor.transpose(1, 0, 2)
        return cls(p_xz, loss, budget, measure=measure, equivocation=equivocation, name=name)

    @classmethod
    def from_frame(
        cls,
        table: Any,
        *,
        hide: str | Sequence[str],
        guess: str,
        budget: float | LeakageBudget | Mapping[str, float | LeakageBudget] | None = None,
        fraction: float | Mapping[str, float] | None = None,
        measure: str | Measure | Mapping[str, str | Measure] | None = None,
        loss_matrix: Any = None,
        use: str | Sequence[str] | None = None,
        weights: str | None = None,
        bins: int | Mapping[str, int | None] | None = 4,
        edges: Mapping[str, Sequence[float]] | None = None,
        missing: str = "drop",
        smoothing: float = 1.0,
        min_count: int = 0,
        seed: int | None = None,
        name: str = "",
    ) -> Problem:
        """Return the problem of a table of people, with a `SampleReport` in its `samples`.

        table         a data frame, or a mapping from names of columns to one entry for each person
        hide          the column of labels that stays hidden, or several columns, which become
                      several constraints on the same guesses
        guess         the column of labels to be guessed
        budget        of leakage, for all secrets or by name; 0 is perfect privacy, inf no
                      constraint
        fraction      the budget as a fraction of the leakage of the plain Bayes rule in this model;
                      give either budget or fraction
        measure       of leakage, for all secrets or by name. A conditional measure is given the
                      guessed column (equalized odds)
        loss_matrix   loss of each guess [truths, guesses] in the order of the sorted values, or a
                      mapping truth → guess → loss, which may include other guesses; default: 0/1
                      loss
        use           the columns to guess from; default: all others
        weights       a column with the number of people that each row represents
        seed          seed of the random draws of `ds.TableRule`; it is stored in files, and random
                      by default

        bins, edges, missing, smoothing and min_count are described in
        `discreet.problems.samples.Binning`. A measurement or a date cannot be hidden or guessed and
        is refused with advice. Warns (`FewRecordsWarning`) if there are few people for the number
        of cells. Raises InputError.
        """
        from discreet.problems.binning import Binning
        from discreet.problems.samples import FewRecordsWarning, PeopleModel

        if (budget is None) == (fraction is None):
            raise InputError(
                "give one of budget= (in the unit of the measure; 0 for perfect privacy, inf for "
                "no constraint) and "
                "fraction= (of what the plain Bayes rule leaks)"
            )
        people = PeopleModel.of(
            table,
            hide=hide,
            guess=guess,
            use=use,
            weights=weights,
            binning=Binning(bins, edges, missing, smoothing, min_count),
            seed=seed,
            budget=math.inf if fraction is not None else budget,
            measure=measure,
            loss_matrix=loss_matrix,
        )
        model = cls(loss=people.losses, constraints=people.constraints, name=name)
        if fraction is not None:
            model = model.with_budget(shares_of_bayes(model, people.shares(fraction)))
        freeze(model, samples=people.report)
        if people.report.few:
            warnings.warn(people.report.few, FewRecordsWarning, stacklevel=2)
        return model

    def titled(self, name: str) -> Problem:
        """Return the same problem with another name."""
        other = copy(self)
        freeze(other, name=check_name(name))
        return other

    @property
    def _prior(self) -> DoubleDouble:
        return self.marginal

    @cached_property
    def p_z(self) -> Array:
        """The outcome masses w_l = p(z_l) [N]."""
        return _frozen(self.p_xz[self.terms[0].rows].sum(axis=0))

    @property
    def blocks(self) -> ArrayBlocks:
        """The outcomes as a source of blocks."""
        return ArrayBlocks(self.p_xz, self.loss)

    def in_arrays(self, what: str) -> Problem:
        """Return the problem itself, which is in arrays."""
        return self

    def rule_of(self, answer: Any, anchors: Iterable[Array] = ()) -> Rule:
        """Return a rule for this problem unchanged, and an estimator [m, N] of any numbers
        normalised.
        """
        if isinstance(answer, Rule):
            return super().rule_of(answer)
        return Matrix(normalise(real_numbers("estimator", answer, (self.m, self.N))), anchors)

    def totals(self, sums: DoubleDouble) -> Totals:
        """Return the stated totals; no totals are computed in a pass."""
        high, low = (part[self.terms[0].rows].tolist() for part in self.marginal)
        off = abs(math.fsum([*high, *low, -1.0]))
        return Totals(self.marginal, [1.0] * len(self.terms), self.constant_errors, off)

    def least(
        self, tilt: Array, multipliers: Array, error: float, numbers: tuple[float, ...] | None
    ) -> tuple[float, ...]:
        """Return the numbers of the pass, or the Bayes error for a zero tilt without a pass."""
        return (self.bayes_error * (1.0 - 4.0 * UNIT),) if numbers is None else numbers

    @cached_property
    def deviations(self) -> Array:
        """The deviations a_jl − π_j w_l [n, N] of X and the outcome from independence, within each
        group of rows.

        If all values but one are rare, the row of that value is minus the sum of the others, since
        a difference of its own masses would be rounding.
        """
        phi = np.empty_like(self.p_xz)
        for term in self.terms:
            for rows in term.groups:
                prior = self.p_x[rows]
                if term.measure.conditional:
                    prior = prior / (prior.sum() or 1.0)
                mass = self.p_xz[rows].sum(axis=0)
                apart = self.p_xz[rows] - prior[:, None] * mass
                likeliest = prior.argmax()
                if prior.sum() - prior[likeliest] < _RARE * prior[likeliest]:
                    apart[likeliest] = 0.0
                    apart[likeliest] -= apart.sum(axis=0)
                phi[rows] = apart
        return _frozen(phi)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that identify p_xz, loss and the constraints."""
        asked = [
            each
            for term in self.terms
            for each in (term.budget.amount, str(term.measure), *term.sizes)
        ]
        if self.measures == (MUTUAL_INFORMATION,):
            asked = asked[:1]
        digest = hashlib.sha256(repr((self.n, self.m, self.N, *asked)).encode("ascii"))
        for array in (self.p_xz, self.loss):
            digest.update(array.astype("<f8", order="C").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def phi(self) -> Array:
        """The matrix φ_jl = p(z_l given x_j) − p(z_l) [n, N]; a row with π_j = 0 is zero."""
        pi = self.p_x[:, None]
        return _frozen(np.divide(self.deviations, pi, out=np.zeros_like(self.p_xz), where=pi > 0))

    @cached_property
    def phi_rank(self) -> PhiRank:
        """Rank and nullity of Φ, and the gap in its singular values."""
        scale = np.sqrt(self.p_x)[:, None], np.sqrt(self.p_z)[None, :]
        kernel = np.divide(
            self.phi * scale[0], scale[1], out=np.zeros_like(self.phi), where=scale[1] > 0
        )
        values = np.linalg.svd(kernel, compute_uv=False)
        # Relative rounding error of each entry times sqrt(π w), and of the decomposition.
        rounding = np.finfo(float).eps
        threshold = float(rounding * (16 * min(kernel.shape) + values[0] * max(kernel.shape)))
        rank = int((values > threshold).sum())
        below = values[rank] if rank < values.size else 0.0
        gap = math.inf if rank == 0 or below == 0.0 else float(values[rank - 1]) / float(below)
        return PhiRank(rank, self.N - rank, _frozen(values), threshold, gap)

    def error_probability(self, estimator: Array) -> float:
        """Return ⟨L, P⟩ of an estimator [m, N]: its error probability under 0/1 loss, otherwise its
        expected loss.
        """
        high, low = Decisions.of(real_numbers("estimator", estimator, (self.m, self.N))).expected(
            self.loss
        )
        return float(high + low)

    def law(self, estimator: Array) -> Law:
        """Return the joint law of each secret and Ŷ under an estimator [m, N]."""
        decided = Decisions.of(real_numbers("estimator", estimator, (self.m, self.N)))
        lift = faint_lift(self.p_x)
        rows = self.rows
        joint = (
            decided.sums(lifted_rows(self.p_xz, lift)) if rows is None else decided.sums_of(rows)
        )
        return laws_of(joint, self.marginal, lift, self.terms)

    def output_law(self, estimator: Array) -> OutputLaw:
        """Return the joint law of (X, Ŷ) under an estimator [m, N]; InputError for several
        constraints and conditional measures.
        """
        law = self.law(estimator)
        if len(law.groups) != 1 or law.groups[0].measure.conditional:
            raise InputError(
                "this problem has no single law of X and the guess; use problem.law, which has "
                "one for each of .terms"
            )
        return law.groups[0]

    def leakage(self, estimator: Array) -> float:
        """Return the leakage of an estimator [m, N] by the measure of the problem; InputError for
        several constraints.
        """
        return float(self.leakages(estimator)[self.only])

    def leakages(self, estimator: Array) -> Array:
        """Return the leakage of an estimator [m, N] under each constraint [C], in the unit of its
        measure.
        """
        return self.law(estimator).leakages

    @cached_property
    def bayes_estimator(self) -> Array:
        """The plain Bayes (maximum a posteriori) rule [m, N]: least loss without privacy; ties go
        to the first guess.
        """
        estimator = np.zeros((self.m, self.N))
        estimator[np.argmin(self.loss, axis=0), np.arange(self.N)] = 1.0
        return _frozen(estimator)

    @cached_property
    def bayes_error(self) -> float:
        """The error probability of the Bayes rule, which is a lower bound for every estimator."""
        return float(dd_sum(self.loss.min(axis=0))[0])

    @cached_property
    def bayes_law(self) -> Law:
        """The joint law of each secret and Ŷ under the Bayes rule."""
        return self.law(self.bayes_estimator)

    @cached_property
    def bayes_leakages(self) -> Array:
        """Upper bounds [C] of the leakage of the Bayes rule under each constraint; 0 if the
        computed leakage is 0.

        A budget at or above its bound is slack.
        """
        leaked = self.bayes_law.leakages
        # Rounded up, so that a budget of this amount is slack despite rounding.
        ordinary = leaked * (1.0 + 2.0**-44)
        ceilings = self.bayes_law.ceilings(sum_doubt(self.N, self.m * self.n))
        return _frozen(np.where(leaked > 0.0, np.maximum(ordinary, ceilings), 0.0))

    @property
    def bayes_leakage(self) -> float:
        """I_MAP: the entry of `bayes_leakages` if there is only one constraint; otherwise
        InputError.
        """
        return float(self.bayes_leakages[self.only])

    @cached_property
    def constant_errors(self) -> Array:
        """Error probabilities of the constant guesses y_i [m]."""
        return _frozen(dd_sum(self.loss)[0])

    @cached_property
    def loss_totals(self) -> Array:
        """Error probabilities of the constant guesses [m] as plain sums: ten times as fast, and
        accurate up to the last digits.
        """
        return _frozen(self.loss.sum(axis=1))

    @cached_property
    def rows(self) -> Split | None:
        """p_xz, lifted and split for sums under many estimators; None if there are more outcomes
        than a block.
        """
        if self.N > BLOCK:
            return None
        return Split.of(lifted_rows(self.p_xz, faint_lift(self.p_x)))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per outcome: its probability, the posterior of each
        private value, the loss of each guess.
        """
        from discreet.problems.outcome_view import outcome_columns
        from discreet.showing.notebook import frame

        return frame(outcome_columns(self))

    def plot(self) -> Figure:
        """Return a figure of the outcomes, coloured by the guess of the Bayes rule; see
        `outcome_view.outcome_figure`.
        """
        from discreet.problems.outcome_view import outcome_figure

        title = f"{self.name or 'Problem'}: what the Bayes rule guesses"
        return outcome_figure(self, self.bayes_estimator, title)

    def _repr_html_(self) -> str:
        from discreet.problems.outcome_view import problem_card

        return problem_card(self)


def shares_of_bayes(problem: Constrained, shares: Sequence[float]) -> list[float]:
    """Return budgets [C] as shares of the leakage of the Bayes rule; InputError if that leakage is
    infinite.
    """
    leakages: list[float] = problem.bayes_leakages.tolist()  # type: ignore[attr-defined]
    budgets = [
        share * most if share > 0.0 else 0.0 for share, most in zip(shares, leakages, strict=True)
    ]
    for budget, term in zip(budgets, problem.terms, strict=True):
        if math.isinf(budget):
            raise InputError(
                f"the Bayes rule leaks without bound by {term.measure}, so no "
                "fraction of it is a budget"
            )
    return budgets


def masses_of_joint(joint: Array, loss_matrix: Array) -> tuple[Array, Array]:
    """Return p_xz [n, N] and loss [m, N] of a joint tensor p(x, y, z) [n, truths, N] and losses
    [truths, m].

    Each sum is added from the left, and each operation is rounded to a double.
    `discreet.verification` forms the same sums.
    """
    p_yz = reduce(np.add, joint)
    losses = [
        reduce(np.add, [loss * masses for loss, masses in zip(each, p_yz, strict=True)])
        for each in loss_matrix.T
    ]
    return reduce(np.add, joint.swapaxes(0, 1)), np.array(losses)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
