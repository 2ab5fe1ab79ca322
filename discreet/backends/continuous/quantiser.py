"""Quantiser design: bin edges that minimise the optimal error probability for a given number of
bins.

E(e), the error probability of the best estimator on the bins with edges e, has the derivatives of
docs/theory.md, section 17 ("Quantisers"). It is not convex, so L-BFGS descends from several starts:
the boundaries of the best continuous rule, edges at equal masses, even edges, and seeded draws. The
edges are quantiles of Z at levels whose gaps are a softmax, which keeps them in order whatever the
step. The judge certifies the optimum behind every E(e).

Source: D. C. Liu, J. Nocedal, "On the limited memory BFGS method for large scale optimization",
Math. Program. 45 (1989).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.run import solve
from discreet.backends.solution import Solution
from discreet.checks import whole
from discreet.errors import BackendError, InputError
from discreet.numerics.double_double import Array
from discreet.problems.constraint import kind_of
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.outcomes import Kind
from discreet.problems.sensors.bins import even_edges


@dataclass(frozen=True, eq=False)
class QuantiserDesign:
    """Bin edges and what they achieve.

    edges       [bins + 1] from −inf to inf
    solution    of the discrete problem on the bins, certified
    continuous  the solution of the continuous problem, whose lower bound holds for every quantiser
    starts      error probability reached from each start, by name
    """

    edges: Array
    solution: Solution
    continuous: Solution
    starts: dict[str, float]

    @property
    def error_probability(self) -> float:
        """Error probability of the best estimator on these bins."""
        return self.solution.error_probability

    @property
    def excess(self) -> float:
        """The relative excess over the continuous lower bound: no quantiser improves on this one by
        more.
        """
        lower = _lower_bound(self.continuous)
        return (self.error_probability - lower) / lower if lower > 0.0 else self.error_probability

    def __repr__(self) -> str:
        bins = self.edges.size - 1
        error = self.error_probability
        return (
            f"QuantiserDesign({bins} bins, error probability {error:.12g}, excess "
            f"{self.excess:.1e})"
        )


def design_quantiser(
    problem: ContinuousProblem,
    bins: int,
    *,
    rng: np.random.Generator | None = None,
    continuous: Solution | None = None,
) -> QuantiserDesign:
    """Design the edges of `bins` ≥ 2 bins for a problem under its own budget.

    rng         for the two random starts (seeded with 0 by default)
    continuous  the solution of the continuous problem, if it is known already

    Raises InputError for fewer than two bins, or more than 2,000.
    """
    if (kind := kind_of(problem)) is not Kind.DENSITIES:
        raise InputError(
            f"design_quantiser takes {Kind.DENSITIES.value}, not {kind.value}; give "
            "a ContinuousProblem"
        )
    bins = whole(bins, "bins", 2)
    if bins > 2000:
        raise InputError(
            f"{bins:,} bins; the limit is 2,000: a finer quantiser gains nothing "
            "over the continuous rule"
        )
    rng = np.random.default_rng(0) if rng is None else rng
    precision = Precision.of(problem, Precision.designed)
    best = solve(problem, "intervals", gap=precision.gap) if continuous is None else continuous
    scale = _QuantileScale(problem)
    lower = _lower_bound(best)
    reached: dict[str, float] = {}
    best_design: tuple[float, Array] | None = None
    for name, start in _starts(best, bins, scale, rng):
        value, edges = _descend(problem, scale, start)
        reached[name] = value
        if best_design is None or value < best_design[0]:
            best_design = value, edges
        if best_design[0] <= lower * (1.0 + precision.gap):  # no quantiser does noticeably better
            break
    if best_design is None:
        raise BackendError("no start of the quantiser design led to a solution")
    return QuantiserDesign(best_design[1], _solve_partition(problem, best_design[1]), best, reached)


def edge_gradient(problem: ContinuousProblem, edges: Array, solution: Solution) -> Array:
    """∂E/∂e_k [bins − 1] of the optimal error probability along the inner edges."""
    if solution.estimator is None or solution.tilt is None:
        raise InputError(
            "the solution has no estimator; solve the discrete problem on these edges first"
        )
    tilted = problem.tilted(solution.tilt) @ problem.densities(edges[1:-1])
    return np.asarray(
        ((solution.estimator[:, :-1] - solution.estimator[:, 1:]) * tilted).sum(axis=0)
    )


def _lower_bound(solution: Solution) -> float:
    if solution.certificate is None:
        raise BackendError(f"the continuous problem was not solved: {solution.message}")
    return solution.certificate.lower


def _solve_partition(problem: ContinuousProblem, edges: Array) -> Solution:
    solution = solve(problem.on(edges), "tilt", gap=Precision.compared)
    if solution.estimator is None:
        raise BackendError(
            f"the discrete problem of {edges.size - 1} bins was not solved: {solution.message}"
        )
    return solution


class _QuantileScale:
    """Quantiles of Z (tabulated, interpolated): a monotone map from levels in (0, 1) to edges, and
    its slope.
    """

    def __init__(self, problem: ContinuousProblem) -> None:
        inner = problem.quantiles
        points = np.unique(np.concatenate([inner, np.linspace(inner[9], inner[-10], 4096)]))
        weight = problem.private.sum(axis=0)
        levels = weight @ problem.tails(points)[0]
        kept = np.concatenate([[True], np.diff(np.maximum.accumulate(levels)) > 0.0])
        self.levels = np.maximum.accumulate(levels)[kept]
        self.points = points[kept]

    def edges(self, levels: Array) -> Array:
        """Edges at levels."""
        return np.asarray(np.interp(levels, self.levels, self.points))

    def slope(self, levels: Array) -> Array:
        """d edge / d level."""
        k = np.clip(np.searchsorted(self.levels, levels), 1, self.levels.size - 1)
        return np.asarray(
            (self.points[k] - self.points[k - 1]) / (self.levels[k] - self.levels[k - 1])
        )

    def inverse(self, edges: Array) -> Array:
        """Levels of edges."""
        return np.asarray(np.interp(edges, self.points, self.levels))


def _starts(
    best: Solution, bins: int, scale: _QuantileScale, rng: np.random.Generator
) -> list[tuple[str, Array]]:
    """Named starts, as levels [bins − 1], increasing in (0, 1)."""
    equal = np.arange(1, bins) / bins
    rule: Any = best.rule
    spread = scale.points[scale.levels > 1e-4][0], scale.points[scale.levels < 1.0 - 1e-4][-1]
    starts = [
        ("continuous rule", _fit_levels(scale.inverse(rule.boundaries), bins)),
        ("equal masses", equal),
        ("even edges", scale.inverse(even_edges(bins, *spread)[1:-1])),
    ]
    starts += [(f"random {k + 1}", np.sort(rng.uniform(0.02, 0.98, bins - 1))) for k in range(2)]
    return starts


def _fit_levels(levels: Array, count: int) -> Array:
    """Exactly count − 1 levels: while there are too few, halve the widest gap; while too many, join
    the closest two.
    """
    fitted = np.unique(np.clip(levels, 1e-6, 1.0 - 1e-6))
    while fitted.size > count - 1:
        k = int(np.diff(np.concatenate([[0.0], fitted, [1.0]])).argmin())
        fitted = np.delete(fitted, min(max(k - 1, 0), fitted.size - 1))
    while fitted.size < count - 1:
        ends = np.concatenate([[0.0], fitted, [1.0]])
        k = int(np.diff(ends).argmax())
        fitted = np.insert(fitted, k, 0.5 * (ends[k] + ends[k + 1]))
    return fitted


def _descend(
    problem: ContinuousProblem, scale: _QuantileScale, start: Array
) -> tuple[float, Array]:
    """L-BFGS on the logarithms of the level gaps, until values or slopes settle to their last
    digits; best point seen.
    """
    from scipy.optimize import minimize

    seen: list[tuple[float, Array]] = []

    def value(logs: Array) -> tuple[float, Array]:
        gaps = np.exp(logs - logs.max())
        gaps /= gaps.sum()
        levels = np.cumsum(gaps)[:-1]
        inner = scale.edges(levels)
        if not (np.diff(inner) > 0.0).all():
            return 1.0, np.zeros(logs.size)
        edges = np.concatenate([[-np.inf], inner, [np.inf]])
        solution = _solve_partition(problem, edges)
        seen.append((solution.error_probability, edges))
        along = edge_gradient(problem, edges, solution) * scale.slope(levels)
        # level_k = Σ_{h ≤ k} gap_h, and the gaps are a softmax of the logarithms
        by_gap = np.concatenate([np.cumsum(along[::-1])[::-1], [0.0]])
        return solution.error_probability, gaps * (by_gap - gaps @ by_gap)

    gaps = np.diff(np.concatenate([[0.0], start, [1.0]]))
    logs = np.log(np.maximum(gaps, 1e-4 / gaps.size))  # finite also where start levels coincide
    minimize(
        value,
        logs,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 100, "ftol": 1e-13, "gtol": 1e-9},
    )
    if not seen:
        raise BackendError("the starting edges of a quantiser design coincide")
    return min(seen, key=lambda pair: pair[0])
