"""The counts per bin of independent sensors: the lattice of count vectors, and their law.

**Identical sensors.** Their law is multinomial, evaluated in the saddle-point form

    log p(c) = δ(M) − Σ_k δ(c_k) + ½ log(2πM / Π_{c_k>0} 2πc_k) − Σ_k M f_k φ(c_k / (M f_k)),

with f_k the probability of bin k, δ the remainder of Stirling's formula and φ(r) = r log r − r + 1,
in which no large logarithms cancel; its relative error is a small multiple of 2^-53 (1 + |log p(c)|
+ max_k |c_k − M f_k|).

**Heterogeneous sensors.** Sensor s reports bin k with probability f_sk; the law of the counts is
Poisson-multinomial. The counts start at (M, 0, …, 0), and sensor s moves one of them to the bin
that it reports,

    p(c)  ←  f_s0 p(c) + Σ_{k≥1} f_sk p(c + e_0 − e_k).

All terms are ≥ 0, so nothing cancels: every probability has a relative error of about M (bins + 1)
2^-53. In lexicographic order c + e_0 − e_k comes after c, so the step works in place from the
front; only the last C(s + bins − 1, bins − 1) places are used after s sensors. The starting mass is
2^960 instead of 1, which is divided out at the end without rounding: intermediate masses keep all
their digits down to 1e-597, so every result above the smallest normal double keeps them too.

Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000), extended to
several bins; D. E. Knuth, *The Art of Computer Programming* 4A, §7.2.1.3 (combinatorial number
system); the name Poisson-multinomial: C. Daskalakis, G. Kamath, C. Tzamos, "On the structure,
covering, and learning of Poisson multinomial distributions", FOCS 2015. The recursion is plain
convolution.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.checks import brief, whole
from discreet.errors import InputError
from discreet.measures.mutual_information import phi_divergence
from discreet.numerics.double_double import Array
from discreet.problems.sensors.inputs import DEFAULT_MAX_BYTES, allow, count_text

Counts = NDArray[np.int32]


def lattice_size(sensors: int, bins: int) -> int:
    """Return the number of count vectors, C(sensors + bins − 1, bins − 1). InputError if it would
    take too long to compute.
    """
    if min(sensors, bins) > 10_000 or max(sensors, bins) >= 1 << 62:
        raise InputError(
            f"{brief(sensors)} sensors with {brief(bins)} bins have too many count vectors to "
            "count; take fewer of one"
        )
    return math.comb(sensors + bins - 1, bins - 1)


def count_vectors(sensors: int, bins: int, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Counts:
    """Return all vectors of counts c [N, bins] with Σ_k c_k = sensors in lexicographic order: (0,
    …, 0, M) first, (M, 0, …, 0) last.

    Raises InputError if this takes more than `max_bytes` of memory.
    """
    sensors = whole(sensors, "sensors", 0)
    bins = whole(bins, "bins", 1)
    size = lattice_size(sensors, bins)
    what = f"{sensors} sensors with {bins} bins have {count_text(size)} count vectors"
    allow(law_bytes(sensors, bins, 0), max_bytes, what, "take fewer sensors or bins")
    return unrank(np.arange(size), sensors, bins)


def unrank(ranks: NDArray[np.int64], sensors: int, bins: int) -> Counts:
    """Return the count vectors [·, bins] with these numbers in lexicographic order, by the
    combinatorial number system.
    """
    # Contiguous in memory for each bin, in the order in which it is written and read.
    counts = np.zeros((bins, ranks.size), dtype=np.int32).T
    left = np.full(ranks.size, sensors)
    for k in range(bins - 1) if sensors else ():
        ways = _ways(sensors, bins - k)
        following = ways[left] - ranks
        # The least remainder for which that many vectors follow.
        rest = np.searchsorted(ways, following)
        counts[:, k] = left - rest
        ranks = ways[rest] - following
        left = rest
    counts[:, -1] = left
    return counts


@lru_cache(maxsize=64)
def _ways(most: int, parts: int) -> NDArray[np.int64]:
    """Return the numbers of ways to distribute 0 … `most` among some parts."""
    return np.array([lattice_size(count, parts) for count in range(most + 1)], dtype=np.int64)


def law_bytes(sensors: int, bins: int, pairs: int, *, alike: bool = True) -> int:
    """Return an upper estimate of the peak memory of `count_vectors` and `count_law` for this
    number of pairs (x, y).
    """
    # Bytes per count vector in addition to counts, predecessors and result (measured: up to 42).
    working = 48
    predecessors, checks = (0, 0) if alike else (8 * (bins - 1), 128 * sensors * bins * pairs)
    return lattice_size(sensors, bins) * (4 * bins + predecessors + working + 8 * pairs) + checks


def count_law(counts: Counts, laws: Array, wanted: NDArray[np.bool_]) -> Array:
    """Return Pr(counts given x_j, y_i) [n, m, N] under laws [sensors, n, m, bins] where `wanted`
    [n, m]; 0 elsewhere.

    counts are all count vectors [N, bins]. One law [1, n, m, bins] represents any number of
    identical sensors.
    """
    laws_of_counts = np.zeros((*wanted.shape, len(counts)))
    if (laws == laws[0]).all():
        coefficient = _log_coefficient(counts)
        for j, i in np.argwhere(wanted):
            _multinomial(counts, coefficient, laws[0, j, i], out=laws_of_counts[j, i])
        return laws_of_counts
    places = _predecessors(counts)
    for j, i in np.argwhere(wanted):
        laws_of_counts[j, i] = _poisson_multinomial(laws[:, j, i], places, len(counts))
    return laws_of_counts


def _multinomial(counts: Counts, coefficient: Array, law: Array, out: Array) -> None:
    """Compute the law [N] of all count vectors under the bin probabilities of one sensor; it sums
    to one up to rounding.
    """
    sensors = int(counts[0].sum())
    number = np.arange(sensors + 1, dtype=np.float64)
    out[:] = coefficient
    for k, probability in enumerate(law):
        out -= deviance(number, sensors * probability)[counts[:, k]]
    np.exp(out, out=out)
    out /= out.sum()


def _log_coefficient(counts: Counts) -> Array:
    """Return the part of log p(c) that does not depend on the bin probabilities [N]."""
    sensors = int(counts[0].sum())
    factor = log_factor(sensors)
    total = np.full(len(counts), factor[sensors])
    for k in range(counts.shape[1]):
        total -= factor[counts[:, k]]
    return total


def log_factor(largest: int) -> Array:
    """Return δ(c) + ½ log(2πc) for c = 0..largest, the part of a count in addition to its
    `deviance`; 0 for an empty bin.
    """
    factor = _stirling_remainder(largest) + 0.5 * np.log(
        2.0 * np.pi * np.maximum(np.arange(largest + 1), 1.0)
    )
    factor[0] = 0.0
    return np.asarray(factor)


def _stirling_remainder(largest: int) -> Array:
    """Return δ(c) = log c! − (½ log(2πc) + c log c − c) for c = 0..largest; δ(0) is set to 0."""
    c = np.maximum(np.arange(largest + 1, dtype=np.float64), 1.0)
    s = 1.0 / (c * c)
    remainder = (
        1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))
    ) / c
    for k in range(1, min(largest + 1, 16)):  # for c ≥ 16 the series is exact up to rounding
        remainder[k] = math.log(
            math.factorial(k) * math.exp(k) / (math.sqrt(2.0 * math.pi * k) * float(k) ** k)
        )
    remainder[0] = 0.0
    return np.asarray(remainder)


def deviance(count: Array, mean: float) -> Array:
    """Return ν φ(c/ν) = c log(c/ν) + ν − c for a mean ν, accurate near c = ν; inf where c > 0 = ν,
    0 where both are 0.
    """
    if mean == 0.0:
        return np.where(count > 0.0, np.inf, 0.0)
    close = np.abs(count - mean) < 0.5 * mean
    by_series = mean * phi_divergence(np.where(close, count - mean, 0.0) / mean)
    far = count * (np.log(np.maximum(count, 1.0)) - math.log(mean)) + (mean - count)
    return np.where(close, by_series, far)


def _predecessors(counts: Counts) -> list[NDArray[np.intp]]:
    """Return, for every bin k ≥ 1, the index of c + e_0 − e_k [N]; where c_k = 0 the index is N, a
    place that contains 0.

    Places with c_k ≥ 1 and places with c_0 ≥ 1 correspond one to one, in lexicographic order.
    """
    size = len(counts)
    sources = np.flatnonzero(counts[:, 0])
    places = []
    for k in range(1, counts.shape[1]):
        place = np.full(size, size, dtype=np.intp)
        place[np.flatnonzero(counts[:, k])] = sources
        places.append(place)
    return places


def _poisson_multinomial(laws: Array, predecessors: list[NDArray[np.intp]], size: int) -> Array:
    """Return the law [N] of the counts of sensors with bin probabilities [sensors, bins]."""
    sensors, bins = laws.shape
    scale = 960
    at_once = 1 << 15  # temporaries of this size stay in cache
    masses = np.zeros(size + 1)
    masses[size - 1] = 2.0**scale
    total = np.empty(at_once)
    term = np.empty(at_once)
    for s in range(sensors):
        for start in range(size - lattice_size(s + 1, bins), size, at_once):
            stop = min(start + at_once, size)
            t = total[: stop - start]
            u = term[: stop - start]
            np.multiply(masses[start:stop], laws[s, 0], out=t)
            for place, probability in zip(predecessors, laws[s, 1:], strict=True):
                # "clip" avoids a copy of u; every index is in range.
                np.take(masses, place[start:stop], out=u, mode="clip")
                u *= probability
                t += u
            masses[start:stop] = t
    return np.asarray(np.ldexp(masses[:size], -scale))
