"""The continuous problem: find the rule P(z) of least error probability whose guess leaks at most a
budget about X.

    minimise ∫ Σ_i P_i(z) L_i(z) dz   over rules with I(X; Ŷ) ≤ ε, L_i(z) = Σ_jk loss(y_k, i) p(x_j,
                                      y_k, z)

It is the paper's OP (and OP-PP-CM at ε = 0) for a one-dimensional Z. Everything is linear in the
component densities f_q: p(x_j, z) = Σ_q `private`[j, q] f_q(z) and L_i(z) = Σ_q `losses`[i, q]
f_q(z), so that a tilt t gives the tilted losses F_i(z) = Σ_q α_iq f_q(z) with α = losses +
t·private. On a partition into intervals it is a discrete `Problem` (`on`).

Source: docs/theory.md, section 17, and the paper, its reference 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.checks import (
    check_name,
    check_prior,
    check_table,
    freeze,
    loss_table,
    positive,
)
from discreet.lazy import cached_property
from discreet.numerics.double_double import Array, difference_below
from discreet.numerics.rounding import SMALLEST, UNIT
from discreet.problems.constraint import Constrained, LeakageBudget, Term, constraint_of
from discreet.problems.continuous.bound import (
    SweptCells,
    chord_distances,
    sweep,
    within_a_double,
)
from discreet.problems.continuous.density import UNDERFLOW, Component, component, expand
from discreet.problems.continuous.families import Member
from discreet.problems.duals import change_with_prior
from discreet.problems.outcomes import Kind
from discreet.problems.problem import Problem
from discreet.problems.rule import Discrete
from discreet.problems.sensors.bins import NormalDensity
from discreet.problems.sensors.paper_sensor import (
    PAPER_SIGMA,
    PAPER_WEIGHT_X,
    PAPER_WEIGHT_Y,
    paper_p_xy,
)

ACCURACY = 5e-13
"""Relative error allowed for in densities, cdfs and survival functions; a normal law needs 1e-14 at
8σ, 4e-13 at 37σ.
"""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ContinuousProblem(Constrained):
    """A privacy-aware estimation problem over a one-dimensional continuous measurement. Immutable.

    p_xy          p(x_j, y_k) [n, m], sums to one
    loss_matrix   loss of guessing i when the truth is k [m, guesses]
    components    the distinct densities f_q, Q of them
    private       coefficients of p(x_j, z) [n, Q]
    losses        coefficients of L_i(z) [guesses, Q]
    accuracy      assumed relative error of densities, cdfs and survival functions
    """

    kind: ClassVar[Literal[Kind.DENSITIES]] = Kind.DENSITIES

    p_xy: Array
    loss_matrix: Array
    components: tuple[Component, ...]
    private: Array
    losses: Array
    accuracy: float
    terms: tuple[Term, ...]
    name: str

    def __init__(
        self,
        distributions: Sequence[Sequence[Any]],
        p_xy: Any,
        budget: float | LeakageBudget | None = None,
        *,
        equivocation: float | None = None,
        loss_matrix: Any = None,
        accuracy: float = ACCURACY,
        name: str = "",
    ) -> None:
        """Validate and freeze.

        distributions   [n][m] laws of Z given (x_j, y_k): frozen scipy.stats distributions,
                        `NormalDensity`, `Density` made of callables, or a `Mixture` of these
        p_xy            p(x_j, y_k) [n, m]
        loss_matrix     [m, guesses] ≥ 0; 0/1 loss by default
        budget          leakage budget ε in nats (0 perfect privacy, inf none), or `equivocation` H0
                        in nats

        Raises InputError in one sentence for a p_xy that is not a law within 1e-9, NaN anywhere, a
        shape that does not fit, or a density that does not integrate to one within 1e-9 against its
        own cdf. Equal distributions (the same object, or the same scipy family with the same
        parameters) are recognised as one density.
        """
        prior = check_prior(p_xy)
        matrix = loss_table(loss_matrix, prior.shape[1])
        components, weights = _components(check_table(distributions, prior), prior)
        freeze(
            self,
            p_xy=prior,
            loss_matrix=matrix,
            components=components,
            private=weights.sum(axis=1),
            name=check_name(name),
        )
        freeze(
            self,
            losses=np.einsum("jkq,ki->iq", weights, matrix),
            accuracy=positive(accuracy, "accuracy", most=1e-6),
        )
        limit = constraint_of(budget, equivocation, self._prior)
        freeze(self, terms=(Term.of(limit, [len(prior)]),))

    # -- sizes and laws
    # ----------------------------------------------------------------------------------------------

    @property
    def m(self) -> int:
        """Number of guesses."""
        return int(self.losses.shape[0])

    @cached_property
    def _law(self) -> Problem:
        """The problem on the trivial partition, which has one outcome."""
        everything = np.ones((len(self.components), 1))
        return Problem(self.private @ everything, self.losses @ everything, np.inf)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What every certificate of this problem assumes, one sentence each."""
        components = self.components
        of_some = {
            "densities of one stated ratio family have monotone ratios": [
                c.what for c in components if c.family_stated
            ],
            "upper tails without a survival function are accurate to 4e-16 absolute": [
                c.what for c in components if c.upper_floor
            ],
            "densities are monotone between turning points found numerically": [
                c.what for c in components if c.located
            ],
        }
        steady = max((each.steady for each in components if each.steady < 1.0), default=None)
        tails = (
            "cdfs and survival functions v of known families are accurate to the share "
            f"max({steady}, log v / log 1e-300) of that"
        )
        return (
            f"densities, cdfs and survival functions are accurate to {self.accuracies.max():g} "
            "relative or "
            f"{UNDERFLOW:g} absolute",
            *([] if steady is None else [tails]),
            "between doubles next to a breakpoint a density is at most the larger of its values "
            "at them",
            *(f"{sentence}: {', '.join(whose)}" for sentence, whose in of_some.items() if whose),
            "other densities are monotone between their stated breakpoints",
        )

    @cached_property
    def p_x(self) -> Array:
        """π_j = p(x_j) [n], each within three roundings of itself."""
        rows = np.array([math.fsum(row) for row in self.private.tolist()])
        return np.asarray(rows / math.fsum(self.private.ravel().tolist()))

    @property
    def _prior(self) -> Sequence[Array]:
        return list(self.private.T)

    @cached_property
    def rounding(self) -> float:
        """Relative error of sums over densities with `private` or `losses`, at most, for a total
        probability of one.
        """
        return (len(self.components) + 8) * UNIT + abs(
            math.fsum(self.private.ravel().tolist()) - 1.0
        )

    @property
    def constant_errors(self) -> Array:
        """Error probability of always guessing y_i [guesses]."""
        return self._law.constant_errors

    @cached_property
    def breakpoints(self) -> Array:
        """All points where a component turns or jumps, increasing."""
        return np.unique(
            np.concatenate([np.empty(0), *(each.breakpoints for each in self.components)])
        )

    @cached_property
    def quantiles(self) -> Array:
        """Quantiles of all components, both tails, increasing: edges for a first partition."""
        return np.unique(np.concatenate([each.quantiles for each in self.components]))

    # -- values at points and on intervals
    # -----------------------------------------------------------------------------

    def densities(self, z: Any) -> Array:
        """f_q(z) [Q, points]; 0 at ±inf."""
        points = np.atleast_1d(np.asarray(z, dtype=np.float64))
        return np.stack([each.pdf(points) for each in self.components])

    def tails(self, z: Array) -> tuple[Array, Array]:
        """Cdf and survival function of every component at points, ±inf included; each
        [Q, points].
        """
        pairs = [each.tails(z) for each in self.components]
        return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])

    @cached_property
    def accuracies(self) -> Array:
        """Relative error of the functions of each component [Q, 1], at most: `accuracy`, or more
        for some families.
        """
        return np.array([[max(self.accuracy, each.accuracy)] for each in self.components])

    def masses(self, edges: Array) -> tuple[Array, Array]:
        """Mass of every component in every interval [Q, N] of edges [N + 1], and an upper bound of
        the error of each.

        Masses below the median are differences of cdf values, those above it of survival values, so
        that tails keep their relative precision. Where an interval is too narrow for that, its mass
        is its width times the density.
        """
        masses, error = self.masses_from(edges, *self.tails(edges))
        unavoidable = 2.0 * UNDERFLOW + np.array(
            [[4.0 * each.upper_floor] for each in self.components]
        )
        # A density does not determine a mass more closely than that.
        vague = (error > 2.0 * self.accuracies * masses) & (error > unavoidable)
        chosen = vague.any(axis=0) & np.isfinite(np.diff(edges))
        if not chosen.any():
            return masses, error
        by_density, wrong = self._masses_by_density(edges[:-1][chosen], edges[1:][chosen])
        better = wrong < error[:, chosen]
        masses[:, chosen] = np.where(better, by_density, masses[:, chosen])
        error[:, chosen] = np.where(better, wrong, error[:, chosen])
        return masses, error

    def masses_from(self, edges: Array, below: Array, above: Array) -> tuple[Array, Array]:
        """Differences of the cdf and survival values at the edges [Q, N + 1], and an upper bound of
        the error of each.

        The error is that of the two values used, and the rounding of one or two differences. Values
        that underflow err by `UNDERFLOW` at most.
        """
        median = np.array([each.median for each in self.components])[:, None]
        floor = np.array([each.upper_floor for each in self.components])[:, None]
        left = edges[1:] <= median
        right = edges[:-1] >= median
        across = ~(left | right)
        # A mass is the mass of a whole without what lies below and above the interval.
        whole = np.where(left, below[:, 1:], np.where(right, above[:, :-1], 1.0))
        under = np.where(right, 0.0, below[:, :-1])
        over = np.where(left, 0.0, above[:, 1:])
        masses = np.maximum(whole - under - over, 0.0)
        error = np.where(across, 0.0, self._tail_errors(whole))
        error += self._tail_errors(under) + self._tail_errors(over)
        error += 2.0 * UNIT * np.where(across, under > 0.0, masses)
        return masses, error + np.where(left, 0.0, 2.0 * floor) + UNDERFLOW

    def _tail_errors(self, tails: Array) -> Array:
        """Upper bounds of the errors of cdf or survival values [Q, N]. Accuracies are relative to
        the true values, hence the factor 1 + 2⁻¹⁸.
        """
        steady = np.array([[each.steady] for each in self.components])
        share = np.clip(np.log(np.maximum(tails, UNDERFLOW)) / math.log(UNDERFLOW), steady, 1.0)
        return np.asarray(self.accuracies * (1.0 + 2.0**-18) * share * tails)

    def _masses_by_density(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Masses of intervals [Q, N] from low to high, increasing, as width times density of
        sixteen parts of each, and their errors, at most; inf where that says nothing.

        In a part without a breakpoint inside, a density lies between its values at both ends, and
        where it is convex or concave in a triangle below or above its chord, whose area is half its
        height times its width. Next to a breakpoint that may lie between two doubles it may be 0.
        """
        ends = [low, high]
        for _ in range(2):  # a breakpoint may be at an end, or next to it
            ends = [*ends, np.nextafter(ends[-2], np.inf), np.nextafter(ends[-1], -np.inf)]
        parts = low + (high - low) * np.linspace(0.0, 1.0, 17)[:, None]
        points = np.unique(np.clip(np.concatenate([parts, np.stack(ends)]), low, high))
        values = self.densities(points)
        widths = np.diff(points)
        most = np.maximum(values[:, :-1], values[:, 1:])
        least = np.minimum(values[:, :-1], values[:, 1:])
        jumps = within_a_double(self.components, points)
        least[jumps] = 0.0
        turns = [each.breakpoints for each in self.components]
        turning = np.stack(
            [
                np.searchsorted(b, points[:-1], "right") < np.searchsorted(b, points[1:], "left")
                for b in turns
            ]
        )
        heights = chord_distances(self.components, points, values, self.accuracies)
        with np.errstate(over="ignore", invalid="ignore"):
            half = 0.5 * np.where(jumps, most, np.minimum(most - least, heights))
            middle = 0.5 * (least + most) * widths
            error = (half + (self.accuracies + 8.0 * UNIT) * most) * widths
            error = error * (1.0 + 2.0**-30) + (1.0 + widths) * UNDERFLOW
        error = np.where(np.isfinite(error) & ~turning, error, np.inf)
        # Every other segment lies between two intervals.
        segments = np.searchsorted(points, np.stack([low, high], axis=1).ravel())[:-1]
        return (
            np.add.reduceat(middle, segments, axis=1)[:, ::2],
            np.add.reduceat(error, segments, axis=1)[:, ::2],
        )

    def tilted(self, tilt: Array) -> Array:
        """Coefficients α [m, Q] of the tilted losses F_i = Σ_q α_iq f_q for a tilt [m, n]."""
        return np.asarray(self.losses + tilt @ self.private)

    def least(
        self, tilt: Array, multipliers: Array, error: float, numbers: tuple[float, ...] | None
    ) -> tuple[float, ...]:
        """The integral of the least tilted loss, bounded from below by certified subdivision.

        So no rule, on any number of intervals, has an error probability under the bound.
        """
        # For undecided intervals: well under any gap.
        target = 2e-10 * (error or self.constant_error)
        return (self.bound_losses(tilt, float(multipliers[0]), target).value,)

    def bound_losses(
        self, tilt: Array, multiplier: float, target: float, deadline: float = math.inf
    ) -> SweptCells:
        """`sweep` of feasible duals. Its value is valid although the p(x_j) for which the duals are
        feasible are rounded, and so is the total of all densities.

        Each row of the tilt is lowered by the most that rounding can make it infeasible, which
        costs little where a guess with a large tilt is rarely made.
        """
        # Three roundings of each p(x_j), and of the total by which feasible duals divide them.
        infeasible = 8.0 * UNIT * change_with_prior(tilt, multiplier, self.p_x)
        swept = sweep(self, difference_below(tilt, infeasible[:, None]), target, deadline)
        return replace(swept, value=swept.value - 8.0 * self.rounding * abs(swept.value))

    def posterior(self, z: Any) -> Array:
        """p(x_j given z) [n, points]; the prior where no density is positive."""
        with np.errstate(invalid="ignore"):  # 0 · inf at a pole
            joint = self.private @ self.densities(z)
        total = joint.sum(axis=0)
        prior = np.tile(self.p_x[:, None], (1, total.size))
        return np.asarray(np.divide(joint, total, out=prior, where=total > 0.0))

    def on(self, edges: Array) -> Problem:
        """The discrete problem on the intervals (e_k, e_{k+1}] of edges [N + 1] that run from −inf
        to inf.
        """
        problem: Problem = self.on_within(edges).problem  # type: ignore[assignment]
        return problem

    def on_within(self, edges: Array) -> Discrete:
        """`on`, and how far each entry of its `p_xz` [n, N] and `loss` [m, N] may be from the true
        one, at most.

        True are Σ_q `private`_jq f_q and Σ_q `losses`_iq f_q, integrated over the intervals. Their
        sums over q are rounded, and the problem may have been scaled to a total of one.
        """
        masses, error = self.masses(edges)
        problem = Problem(
            self.private @ masses, self.losses @ masses, self.constraint, name=self.name
        )

        def wrong(coefficients: Array, stored: Array) -> Array:
            computed = coefficients @ masses
            scaled = np.abs(stored - computed) + self.rounding * (stored + computed)
            return np.asarray(
                (coefficients @ error + scaled) * (1.0 + 2.0**-30)
                + np.where(stored > 0.0, SMALLEST, 0.0)
            )

        wrong_mass = wrong(self.private, problem.p_xz)
        return Discrete(problem, wrong_mass, wrong(self.losses, problem.loss))

    @property
    def _sizes(self) -> str:
        return f"n={self.n}, m={self.m}, {len(self.components)} densities"


def _components(
    distributions: Sequence[Sequence[Any]], prior: Array
) -> tuple[tuple[Component, ...], Array]:
    """The distinct densities, checked, and p(x_j, y_k) × their weight in Z given (x_j, y_k), [n, m,
    Q].
    """
    components: dict[Any, Component] = {}
    terms: list[tuple[int, int, Any, float]] = []
    for j, row in enumerate(distributions):
        for k, entry in enumerate(row):
            what = f"Z given (x[{j}], y[{k}])"
            for weight, part in expand(entry, what):
                key = _identity(part)
                if key not in components:
                    components[key] = component(part, what)
                terms.append((j, k, key, weight * prior[j, k]))
    order = {key: q for q, key in enumerate(components)}
    weights = np.zeros((*prior.shape, len(components)))
    for j, k, key, weight in terms:
        weights[j, k, order[key]] += weight
    return tuple(components.values()), weights


def _identity(part: Any) -> Any:
    """A key, equal for distributions that are certainly the same: frozen ones by family and
    parameters, others by object.
    """
    member = Member.of(part)
    if member is not None:
        return member.name, member.shapes, member.location, member.scale
    try:
        hash(part)
    except TypeError:
        return id(part)
    return part


def paper_continuous(
    budget: float | None = None, *, equivocation: float | None = None
) -> ContinuousProblem:
    """The paper's single sensor without bins: X ∈ {0, 1} with probabilities 0.7 and 0.3, and
    independently Y ∈ {0, 1} with 0.5 and 0.5.
    """
    means = [[PAPER_WEIGHT_X * x + PAPER_WEIGHT_Y * y for y in (0, 1)] for x in (0, 1)]
    distributions = [[NormalDensity(mean, PAPER_SIGMA) for mean in row] for row in means]
    return ContinuousProblem(
        distributions, paper_p_xy(), budget, equivocation=equivocation, name="paper-continuous"
    )
