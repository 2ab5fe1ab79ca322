"""A rule for a continuous measurement: finitely many intervals, each with a label or a
randomisation.

On its own partition a rule is an estimator of a discrete problem, so its error probability and
leakage are those of that problem. They are exact through the cdf; nothing is integrated
numerically.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import check_columns, freeze, mass_array
from discreet.errors import InputError
from discreet.measures.law import OutputLaw
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import Decisions, column_error, normalise
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.outcome_rules import Matrix
from discreet.problems.outcomes import Kind
from discreet.problems.problem import Problem
from discreet.problems.rule import Discrete, Inexact, Rule
from discreet.problems.sensors.bins import check_edges


@dataclass(frozen=True, eq=False)
class IntervalRule(Rule):
    """Guess i with probability estimator[i, k] when the measurement lies in (edges[k], edges[k +
    1]].

    edges       [K + 1], strictly increasing from −inf to inf
    estimator   [m, K], every column a probability vector

    Raises InputError for edges out of order, NaN, or columns that do not sum to one within 1e-9.
    """

    kinds = frozenset({Kind.DENSITIES})
    unfiled = "no file holds a rule on intervals; keep `rule.edges` and `rule.estimator`"

    edges: Array
    estimator: Array

    def __post_init__(self) -> None:
        edges = check_edges(self.edges)
        estimator = mass_array(self.estimator, "the estimator", 2, "[m, K]")
        if edges[0] != -np.inf or edges[-1] != np.inf:
            raise InputError(
                "the edges of a rule must run from -inf to inf; every measurement needs a guess"
            )
        if estimator.shape[1] != edges.size - 1:
            raise InputError(
                f"the estimator has shape {list(estimator.shape)} but the edges make "
                f"{edges.size - 1} intervals"
            )
        check_columns(estimator, "the estimator")
        freeze(self, edges=edges, estimator=estimator)

    @classmethod
    def from_labels(cls, boundaries: Any, labels: Any, guesses: int) -> IntervalRule:
        """The deterministic rule with finite boundaries [K − 1], increasing, and labels [K] out of
        `guesses`.
        """
        inner = np.asarray(boundaries, dtype=np.float64)
        chosen = np.asarray(labels)
        if (
            chosen.ndim != 1
            or chosen.dtype.kind not in "iu"
            or not ((chosen >= 0) & (chosen < guesses)).all()
        ):
            raise InputError(
                f"the labels are {labels!r}; give integers from 0 to {guesses - 1}, "
                "one per interval"
            )
        return cls(np.concatenate([[-np.inf], inner, [np.inf]]), np.eye(guesses)[:, chosen])

    @property
    def boundaries(self) -> Array:
        """The finite edges."""
        return self.edges[1:-1]

    @property
    def deterministic(self) -> bool:
        """Return True if every interval has one guess."""
        return bool(((self.estimator == 0.0) | (self.estimator == 1.0)).all())

    @property
    def labels(self) -> NDArray[np.intp]:
        """The guess of each interval [K]; −1 where it is random."""
        return np.where(self.estimator.max(axis=0) == 1.0, self.estimator.argmax(axis=0), -1)

    def probabilities(self, z: Any) -> Array:
        """Pr(Ŷ = i given z) [m, ...] for measurements of any shape; InputError for NaN."""
        points = np.asarray(z, dtype=np.float64)
        if np.isnan(points).any():
            raise InputError("a measurement is NaN; the rule has no guess for it")
        return np.asarray(
            self.estimator[:, np.maximum(np.searchsorted(self.edges, points, side="left") - 1, 0)]
        )

    def __call__(self, z: Any, rng: np.random.Generator | None = None) -> NDArray[np.intp]:
        """Guesses for measurements of any shape. Intervals that randomise need `rng`."""
        columns = self.probabilities(z)
        if (columns.max(axis=0) == 1.0).all():
            return np.asarray(columns.argmax(axis=0))
        if rng is None:
            raise InputError(
                "the rule is random at some of these measurements; give "
                "rng=numpy.random.default_rng(seed)"
            )
        drawn = rng.random(columns.shape[1:])
        guesses = (np.cumsum(columns, axis=0) <= drawn * columns.sum(axis=0)).sum(axis=0)
        return np.asarray(np.minimum(guesses, columns.shape[0] - 1))

    def on(self, problem: ContinuousProblem) -> Problem:
        """The discrete problem on the rule's own partition."""
        self.check(problem)
        return problem.on(self.edges)

    def check(self, problem: ContinuousProblem) -> None:
        """Refuse a problem with another number of guesses."""
        if self.estimator.shape[0] != problem.m:
            raise InputError(
                f"the rule has {self.estimator.shape[0]} guesses and the problem {problem.m}"
            )

    def fitted(self, problem: ContinuousProblem) -> IntervalRule:
        """The same rule with normalised columns. Neighbouring intervals of equal columns are
        joined, as masses are inexact at every edge.
        """
        problem.refuse_other_measures("constraints on densities are")
        self.check(problem)
        joined = self.simplified()
        columns = normalise(joined.estimator)
        kept = columns.shape == self.estimator.shape and np.array_equal(columns, self.estimator)
        return self if kept else IntervalRule(joined.edges, columns)

    def discrete(self, problem: ContinuousProblem) -> Discrete:
        """The problem on the rule's own partition, whose masses are inexact."""
        return problem.on_within(self.edges)

    def decisions(self, outcomes: NDArray[np.int64], p_xz: Array, loss: Array) -> Decisions:
        """The columns of consecutive intervals."""
        return Matrix(self.estimator).decisions(outcomes, p_xz, loss)

    def inexact(self, discrete: Discrete) -> Inexact:
        """Return how much the errors of masses may change sums under the rule."""
        assert discrete.wrong_mass is not None
        assert discrete.wrong_loss is not None
        spare = 1.0 + 2.0**-30
        return Inexact(
            self.estimator @ discrete.wrong_mass.T * spare,
            float((self.estimator * discrete.wrong_loss).sum()) * spare,
        )

    def blended(self, share: float, towards: Array) -> IntervalRule:
        """A blend on the rule's own partition."""
        return IntervalRule(self.edges, Matrix(self.estimator).blended(share, towards).estimator)

    def blend_doubt(self, own: float) -> float:
        """The doubt of a blend of the matrix on the partition."""
        return Matrix(self.estimator).blend_doubt(own)

    def error_probability(self, problem: ContinuousProblem) -> float:
        """Error probability (expected loss), exact through the cdf."""
        return self.on(problem).error_probability(self.estimator)

    def output_law(self, problem: ContinuousProblem) -> OutputLaw:
        """The joint law of (X, Ŷ), with bounds of its errors: masses are inexact, and columns sum
        to one up to rounding only.
        """
        self.check(problem)
        discrete = problem.on_within(self.edges)
        model: Problem = discrete.problem  # type: ignore[assignment]
        law = model.output_law(self.estimator)
        return replace(
            law,
            doubt=law.doubt + column_error(self.estimator),
            off=self.inexact(discrete).joint,
        )

    def leakage(self, problem: ContinuousProblem) -> float:
        """Return I(X; Ŷ) in nats."""
        return self.output_law(problem).leakage()

    def simplified(self) -> IntervalRule:
        """The same rule; neighbouring intervals of equal columns are joined."""
        changes = (self.estimator[:, 1:] != self.estimator[:, :-1]).any(axis=0)
        kept = np.concatenate([[True], changes])
        return IntervalRule(
            np.concatenate([self.edges[:-1][kept], [np.inf]]), self.estimator[:, kept]
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{edge:.9g}" for edge in self.boundaries[:6]) + (
            ", ..." if self.boundaries.size > 6 else ""
        )
        return f"IntervalRule(boundaries [{shown}], labels {self.labels[:7].tolist()})"
