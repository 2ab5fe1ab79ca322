"""The lower side: the integral of the least tilted loss, ∫ min_i F_i(z) dz, bounded from below by
certified subdivision.

On an interval that gets a label k, ∫ min_i F_i is at least ∫ F_k, exact through the cdf, less a
*slack*: the least of four bounds of ∫ max_i (F_k − F_i)⁺, by the ranges of densities on the
interval, by their distances from their chords, by masses, and by monotone ratios (see `families`).
The intervals with the largest slack are quartered until the sum is under a target. No root finder,
no derivative, and no quadrature is trusted.

What is assumed: densities, cdfs and survival functions have the problem's stated relative accuracy
η (values are widened by it), and the densities are monotone between their breakpoints. Roundings of
the coefficients widen them. At a breakpoint, where a density may jump, the neighbouring doubles are
edges too, so that no value from the wrong side of a jump is taken for a range. Densities under
1e-300 count as zero.

Source: docs/theory.md, section 17 (lower bound).
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.roots import midpoints

if TYPE_CHECKING:
    from discreet.problems.continuous.density import Component
    from discreet.problems.continuous.model import ContinuousProblem


@dataclass(frozen=True)
class SweptCells:
    """The result of a certified subdivision.

    value       a lower bound of ∫ min_i F_i, everything allowed for
    slack       the part of it lost to undecided intervals
    allowance   the part lost to the assumed inaccuracy of the densities and cdfs, and to undecided
                intervals between two doubles
    edges       [K + 1] neighbouring intervals of one label joined
    labels      [K]
    brackets    [K − 1, 2] an interval around each inner edge whose outer neighbours carry the two
                labels
    cells       intervals looked at
    """

    value: float
    slack: float
    allowance: float
    edges: Array
    labels: NDArray[np.intp]
    brackets: Array
    cells: int


@dataclass(frozen=True, eq=False)
class _Cells:
    """Edges [E + 1], and the densities, cdf and survival values of all components at them [3, Q, E
    + 1].
    """

    edges: Array
    values: Array

    @classmethod
    def at(cls, problem: ContinuousProblem, edges: Array) -> _Cells:
        return cls(edges, np.stack([problem.densities(edges), *problem.tails(edges)]))

    def split(self, problem: ContinuousProblem, points: Array) -> _Cells:
        place = np.searchsorted(self.edges, points)
        more = _Cells.at(problem, points).values
        edges = np.insert(self.edges, place, points)
        return _Cells(edges, np.insert(self.values, place, more, axis=2))


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Coefficients c [m, Q] of the tilted losses, and the sizes Σ |terms| they were summed from."""

    coefficients: Array
    size: Array

    def over(self, k: int, terms: int) -> _Excess:
        """F_k − F_i, roundings included."""
        difference = self.coefficients[k] - self.coefficients
        doubt = 2.0 * UNIT * (terms + 4) * (self.size[k] + self.size)
        doubt[k] = 0.0
        gain = np.maximum(difference + doubt, 0.0)
        cost = np.maximum(-difference - doubt, 0.0)
        return _Excess(gain, cost, np.abs(difference) + doubt)


@dataclass(frozen=True, eq=False)
class _Excess:
    """F_k − F_i = Σ_q d_iq f_q of one label k: upper bounds of (d_iq)⁺, lower bounds of (d_iq)⁻ and
    upper bounds of |d_iq| [m, Q].
    """

    gain: Array
    cost: Array
    size: Array


def sweep(
    problem: ContinuousProblem, tilt: Array, target: float, deadline: float = math.inf
) -> SweptCells:
    """Bound ∫ min_i F_i for a tilt [m, n] from below by subdivision, until at most `target` is
    lost, more cells do not help, or `time.perf_counter()` has passed the deadline.

    The value is a valid bound however the subdivision ends.
    """
    tilted = _Tilted(problem.tilted(tilt), problem.losses + np.abs(tilt) @ problem.private)
    cells = _Cells.at(problem, _first_edges(problem))
    before = math.inf
    most = 60_000
    for _ in range(200):
        labels, slack = _decide(problem, tilted, cells)
        swept = _join_cells(problem, tilted, cells, labels, slack)
        # a slack below a tenth of the allowance hardly changes the bound
        enough = max(target, 0.1 * swept.allowance)
        points = _where_to_split(cells.edges, slack, enough, most - labels.size)
        stalled = labels.size > most // 8 and swept.slack > 0.999 * before
        late = time.perf_counter() > deadline
        if swept.slack <= enough or not points.size or stalled or late:
            break
        before = swept.slack
        cells = cells.split(problem, points)
    return swept


def _first_edges(problem: ContinuousProblem) -> Array:
    known = [each.bends for each in problem.components if each.bends is not None]
    points = np.unique(np.concatenate([problem.breakpoints, *known]))
    neighbours = np.concatenate(
        [np.nextafter(points, -np.inf), points, np.nextafter(points, np.inf)]
    )
    return np.unique(np.concatenate([[-np.inf, np.inf], problem.quantiles, neighbours]))


# Fields of `_Ranges` with an entry for each cell.
_OF_CELLS = ("masses", "errors", "ends", "low", "high", "bending", "likely")


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Bounds of every density and its mass on every cell [Q, cells].

    masses, errors  of the cells, and upper bounds of the error of each mass
    ends            values of the density at both ends [2, Q, cells]
    low, high       bounds of the density
    bending         largest distance of the density from its chord
    likely          masses, or multiples of them where masses are nothing but rounding
    accuracy        relative error of the values, roundings included [Q, 1]
    """

    masses: Array
    errors: Array
    ends: Array
    low: Array
    high: Array
    bending: Array
    likely: Array
    accuracy: Array

    @classmethod
    def of(cls, problem: ContinuousProblem, cells: _Cells) -> _Ranges:
        density, below, above = cells.values
        masses, errors = problem.masses_from(cells.edges, below, above)
        accuracy = problem.accuracies + 4.0 * UNIT * (len(problem.components) + 4)
        ends = np.stack([density[:, :-1], density[:, 1:]])
        low = np.minimum(*ends) * (1.0 - accuracy)
        low[np.isinf(low)] = 0.0  # at a pole: no floor is known there
        high = np.maximum(*ends) * (1.0 + accuracy)
        vague = (
            (errors.sum(axis=0) > 1e-3 * masses.sum(axis=0))
            & np.isfinite(high).all(axis=0)
            & (high.max(axis=0) > 0.0)
        )
        likely = np.where(vague, low + high, masses)
        low[within_a_double(problem.components, cells.edges)] = 0.0
        bending = chord_distances(problem.components, cells.edges, density, accuracy)
        return cls(masses, errors, ends, low, high, bending, likely, accuracy)

    def at(self, cells: NDArray[Any]) -> _Ranges:
        """The bounds on some of the cells."""
        return replace(self, **{name: getattr(self, name)[..., cells] for name in _OF_CELLS})

    def slack(self, excess: _Excess, widths: Array, families: list[list[int]]) -> Array:
        """The least of the bounds of ∫ max_i (F_k − F_i)⁺ over cells of these widths [cells]."""
        by_range = _product(excess.gain, self.high) - excess.cost @ self.low
        by_chord = self._at_ends(excess) + _product(excess.size, self.bending)
        largest = np.maximum(np.fmin(by_range, by_chord).max(axis=0), 0.0)
        with np.errstate(invalid="ignore"):  # 0 · inf: a decided cell of infinite width, or a pole
            by_width = np.where(largest == 0.0, 0.0, largest * widths)
        by_mass = excess.gain.max(axis=0) @ (self.masses + self.errors)
        slack = np.minimum(by_width, by_mass)
        undecided = np.flatnonzero(slack > 0.0)
        if families:
            by_ratio = self.at(undecided)._by_ratio(excess, families)
            slack[undecided] = np.minimum(slack[undecided], by_ratio)
        return np.asarray(slack)

    def _at_ends(self, excess: _Excess) -> Array:
        """The larger of the values of F_k − F_i at the two ends of each cell, which bounds a chord
        from above [m, cells]; NaN next to a pole.
        """
        gain = excess.gain * (1.0 + self.accuracy.T)
        cost = excess.cost * (1.0 - self.accuracy.T)
        with np.errstate(invalid="ignore"):
            left, right = (gain @ end - cost @ end for end in self.ends)
        return np.asarray(np.maximum(left, right))

    def _by_ratio(self, excess: _Excess, families: list[list[int]]) -> Array:
        """The slack by monotone ratios within families, and by masses for all other
        components [cells].
        """
        masses = self.masses + self.errors
        gain = excess.gain
        related = [q for members in families for q in members]
        alone = np.setdiff1d(np.arange(masses.shape[0]), related)
        total: Array = gain[:, alone].max(axis=0) @ masses[alone]
        columns = np.arange(masses.shape[1])
        for members in families:
            reference = masses[members].argmax(axis=0)
            ratios = []
            for end in self.ends:
                density = end[members]
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    ratios.append(density / density[reference, columns])
            doubt = 3.0 * self.accuracy[members].max()
            low = np.minimum(*ratios) * (1.0 - doubt)
            high = np.maximum(*ratios) * (1.0 + doubt)
            usable = np.isfinite(low).all(axis=0) & np.isfinite(high).all(axis=0)
            low = np.where(usable, low, 0.0)
            high = np.where(usable, high, 0.0)
            bracket = (gain[:, members] @ high - excess.cost[:, members] @ low).max(axis=0)
            part = np.maximum(bracket, 0.0) * masses[members][reference, columns]
            total = total + np.where(usable, part, gain[:, members].max(axis=0) @ masses[members])
        return total


def _decide(
    problem: ContinuousProblem, tilted: _Tilted, cells: _Cells
) -> tuple[NDArray[np.intp], Array]:
    """A label for every cell, and its slack. Any label is valid; the slack tells how good it is."""
    ranges = _Ranges.of(problem, cells)
    labels = np.asarray((tilted.coefficients @ ranges.likely).argmin(axis=0))
    families = _families(problem)
    widths = np.diff(cells.edges)
    slack = np.zeros(labels.size)
    for k in np.unique(labels):
        mine = labels == k
        slack[mine] = ranges.at(mine).slack(tilted.over(k, problem.n), widths[mine], families)
    return labels, slack


def chord_distances(
    components: Sequence[Component], edges: Array, density: Array, accuracy: Array
) -> Array:
    """How far each density may be from its chord on each cell [Q, cells]; inf where unknown.

    A convex density lies below its chord and above the chords of both neighbouring cells,
    prolonged; a concave one the other way round. With slopes that differ by A and B from those of
    the neighbours the three lines enclose a height of |S| A B / (A + B).
    """
    widths = np.diff(edges)
    # Next to a bend a value may be from its other side.
    apart = np.isfinite(widths) & (np.nextafter(edges[:-1], np.inf) != edges[1:])
    with np.errstate(all="ignore"):
        slope = np.diff(density, axis=1) / widths
        doubt = accuracy * (density[:, :-1] + density[:, 1:]) / widths
        turn = np.abs(np.diff(slope, axis=1)) + doubt[:, 1:] + doubt[:, :-1]
        turn[~np.isfinite(turn)] = np.inf
        for q, each in enumerate(components):
            comparable = np.zeros(turn.shape[1], dtype=bool)
            if each.bends is not None:
                piece = np.searchsorted(each.bends, edges[:-1], side="right")
                whole = apart & (piece == np.searchsorted(each.bends, edges[1:], side="left"))
                comparable = whole[1:] & whole[:-1] & (piece[1:] == piece[:-1])
            turn[q, ~comparable] = np.inf
        unknown = np.full((len(turn), 1), np.inf)
        left = np.concatenate([unknown, turn], axis=1)
        right = np.concatenate([turn, unknown], axis=1)
        height = widths / (1.0 / left + 1.0 / right)
    return np.asarray(height * (1.0 + 8.0 * UNIT))


def within_a_double(components: Sequence[Component], edges: Array) -> NDArray[np.bool_]:
    """Cells [Q, cells] in which a density may jump between two doubles."""
    rounded = np.stack([np.isin(edges, each.rounded) for each in components])
    return np.asarray(rounded[:, :-1] | rounded[:, 1:])


def _families(problem: ContinuousProblem) -> list[list[int]]:
    """Indices of the components of each ratio family with at least two members."""
    groups: dict[Hashable, list[int]] = {}
    for q, each in enumerate(problem.components):
        if each.family is not None:
            groups.setdefault(each.family, []).append(q)
    return [members for members in groups.values() if len(members) > 1]


def _product(gain: Array, high: Array) -> Array:
    """gain @ high where a density may be infinite at the end of a cell (0 · inf counts as 0)."""
    if np.isfinite(high).all():
        return np.asarray(gain @ high)
    poles = (gain > 0.0).astype(np.float64) @ np.isinf(high).astype(np.float64)
    return np.where(poles > 0.0, np.inf, gain @ np.where(np.isinf(high), 0.0, high))


def _where_to_split(edges: Array, slack: Array, target: float, room: int) -> Array:
    """At most `room` points, which quarter the cells with more than their part of the slack where
    there are doubles between their ends. An unbounded cell is cut once.
    """
    undecided = max(1, int((slack > 0.0).sum()))
    chosen = np.flatnonzero(slack > 0.5 * target / undecided)
    most = room // 3
    if chosen.size > most:
        chosen = np.sort(chosen[np.argsort(-slack[chosen], kind="stable")[:most]])
    low = edges[:-1][chosen]
    high = edges[1:][chosen]
    left = np.isinf(low)
    right = np.isinf(high)
    middle = midpoints(np.where(left, 0.0, low), np.where(right, 0.0, high))
    span = edges[-2] - edges[1]
    with np.errstate(over="ignore"):
        middle = np.where(left, high - span, np.where(right, low + span, middle))
    halves = [
        np.where(left | right, middle, midpoints(*ends)) for ends in ((low, middle), (middle, high))
    ]
    points = np.stack([middle, *halves])
    return np.unique(points[(low < points) & (points < high) & np.isfinite(points)])


def _join_cells(
    problem: ContinuousProblem,
    tilted: _Tilted,
    cells: _Cells,
    labels: NDArray[np.intp],
    slack: Array,
) -> SweptCells:
    """Join cells of one label and add up: their masses, minus slack, minus what the errors of
    masses may hide.
    """
    changes = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    kept = np.concatenate([[0], changes, [labels.size]])
    edges = cells.edges[kept]
    names = labels[kept[:-1]]
    masses, error = problem.masses(edges)
    total = math.fsum((tilted.coefficients[names].T * masses).ravel())
    rounding = 2.0 * UNIT * (problem.n + 4)
    allowance = float((tilted.size[names].T * (error + rounding * masses)).sum()) * (1.0 + 1e-12)
    whole = np.nextafter(cells.edges[:-1], np.inf) == cells.edges[1:]
    allowance += float(slack[whole].sum()) * (1.0 + 1e-12)
    lost = float(slack[~whole].sum()) * (1.0 + 1e-12)
    brackets = np.stack(
        [cells.edges[changes - 1], cells.edges[np.minimum(changes + 1, labels.size)]], axis=1
    )
    return SweptCells(
        total - lost - allowance, lost, allowance, edges, names, brackets, int(labels.size)
    )
