"""Identical sensors: the counts per bin are all that M independent copies of one sensor say.

Their order says nothing, so the outcome is the vector of counts, of which there are C(M + bins − 1, bins − 1). Its law is
multinomial, evaluated in the saddle-point form

    log p(c) = δ(M) − Σ_k δ(c_k) + ½ log(2πM / Π_{c_k>0} 2πc_k) − Σ_k D(c_k, M q_k),

with δ the remainder of Stirling's formula and D(c, μ) = c log(c/μ) + μ − c, in which no large logarithms cancel; its
relative error is a few times 2^-53 (1 + |log p(c)| + max_k |c_k − M q_k|).

Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000), extended to several bins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.checks import whole
from discreet.problems.measures.mutual_information import phi_divergence
from discreet.problems.numerics.double_double import Array
from discreet.problems.sensors.inputs import DEFAULT_MAX_BYTES, allow, checked_law, checked_prior, said

__all__ = ["Counts", "count_vectors", "deviance", "iid_sensors", "lattice_size", "multinomial", "stirling_remainder"]

Counts = NDArray[np.int32]

_STIRLING_TABLE = 16  # counts under this take δ from exact factorials; the series is exact to rounding from here on
_WORKING = 48  # bytes per count vector that are alive beside counts and result (measured: up to 42)
_FIXED = 1 << 20  # bytes of small tables, so that the estimate also covers tiny models


def lattice_size(sensors: int, bins: int) -> int:
    """Number of count vectors: C(sensors + bins − 1, bins − 1)."""
    return math.comb(sensors + bins - 1, bins - 1)


def count_vectors(sensors: int, bins: int, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Counts:
    """All vectors of counts c [N, bins] with Σ_k c_k = sensors, lexicographic: (0, …, 0, M) first, (M, 0, …, 0) last.

    Raises InputError if making them takes more than `max_bytes` of memory.
    """
    sensors, bins = whole(sensors, "sensors", 0), whole(bins, "bins", 1)
    size = lattice_size(sensors, bins)
    _allow(sensors, bins, size * (4 * bins + _WORKING), max_bytes)
    counts = np.zeros((size, bins), dtype=np.int32)
    # Level by level of a tree: `left` holds what each partial vector may still spend; it is repeated once per completion.
    left = np.array([sensors], dtype=np.int64)
    for k in range(bins - 1):
        branches = left + 1
        first = np.repeat(np.cumsum(branches) - branches, branches)
        spent = np.arange(first.size) - first
        left = np.repeat(left, branches) - spent
        counts[:, k] = np.repeat(spent, _completions(left, bins - 1 - k))
    counts[:, -1] = left
    return counts


def _completions(left: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Number of vectors of `bins` counts with sum `left`: C(left + bins − 1, bins − 1)."""
    table = np.array([lattice_size(c, bins) for c in range(int(left.max()) + 1)], dtype=np.int64)
    return table[left]


def iid_sensors(p_z_given_xy: Any, p_xy: Any, sensors: int, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Array:
    """The joint tensor [n, m, N] of the counts of `sensors` independent sensors, in the order of `count_vectors`.

    p_z_given_xy   Pr(one sensor reports bin k given x_j, y_i) [n, m, bins]
    p_xy           p(x_j, y_i) [n, m]

    Probabilities under the smallest double become 0. Raises InputError for arrays that are not probabilities within 1e-9
    or a model that takes more than `max_bytes` of memory to build.
    """
    sensors = whole(sensors, "sensors", 1)
    prior = checked_prior(p_xy)
    law = checked_law(p_z_given_xy, prior, "p_z_given_xy", sensors=False)
    bins = law.shape[2]
    _allow(sensors, bins, lattice_size(sensors, bins) * (4 * bins + _WORKING + 8 * prior.size), max_bytes)
    counts = count_vectors(sensors, bins, max_bytes=max_bytes)
    joint = multinomial(counts, law, prior > 0.0)
    joint *= prior[:, :, None]
    joint /= joint.sum()
    return joint


def _allow(sensors: int, bins: int, needed: int, max_bytes: int) -> None:
    allow(
        needed + _FIXED,
        max_bytes,
        f"{sensors} sensors with {bins} bins have {said(lattice_size(sensors, bins))} count vectors",
        "take fewer sensors or bins, stream them (discreet.problems.lattice_problem)",
    )


def multinomial(counts: Counts, law: Array, wanted: NDArray[np.bool_]) -> Array:
    """Pr(counts given x_j, y_i) [n, m, N] under a law [n, m, bins], where `wanted` [n, m]; 0 elsewhere.

    counts are all count vectors [N, bins]; each row of the result sums to one exactly but for rounding.
    """
    sensors = int(counts[0].sum())
    number = np.arange(sensors + 1, dtype=np.float64)
    coefficient = _log_coefficient(counts, sensors)
    found = np.zeros((*wanted.shape, len(counts)))
    for j, i in np.argwhere(wanted):
        masses = found[j, i]
        masses[:] = coefficient
        for k, probability in enumerate(law[j, i]):
            masses -= deviance(number, sensors * probability)[counts[:, k]]
        np.exp(masses, out=masses)
        masses /= masses.sum()
    return found


def _log_coefficient(counts: Counts, sensors: int) -> Array:
    """δ(M) − Σ δ(c_k) + ½ log(2πM / Π 2πc_k) [N]: all of log p(c) that does not depend on the bin probabilities."""
    table = stirling_remainder(sensors) + 0.5 * np.log(2.0 * np.pi * np.maximum(np.arange(sensors + 1), 1.0))
    table[0] = 0.0  # an empty bin contributes nothing
    total = np.full(len(counts), table[sensors])
    for k in range(counts.shape[1]):
        total -= table[counts[:, k]]
    return total


def stirling_remainder(largest: int) -> Array:
    """δ(c) = log c! − (½ log(2πc) + c log c − c) for c = 0..largest; δ(0) is set to 0."""
    c = np.maximum(np.arange(largest + 1, dtype=np.float64), 1.0)
    s = 1.0 / (c * c)
    remainder = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))) / c
    for k in range(1, min(largest + 1, _STIRLING_TABLE)):
        remainder[k] = math.log(math.factorial(k) * math.exp(k) / (math.sqrt(2.0 * math.pi * k) * float(k) ** k))
    remainder[0] = 0.0
    return np.asarray(remainder)


def deviance(count: Array, mean: float) -> Array:
    """D(c, μ) = c log(c/μ) + μ − c, without cancellation near c = μ; inf where c > 0 = μ, 0 where both are 0."""
    if mean == 0.0:
        return np.where(count > 0.0, np.inf, 0.0)
    close = np.abs(count - mean) < 0.5 * mean
    near = mean * phi_divergence(np.where(close, count - mean, 0.0) / mean)
    far = count * (np.log(np.maximum(count, 1.0)) - math.log(mean)) + (mean - count)
    return np.where(close, near, far)
