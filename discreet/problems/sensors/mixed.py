"""Sensors that differ, seen through their pooled counts: the Poisson-multinomial law.

Sensor s reports bin k with probability p_sk. The counts c of all reports are built one sensor after the other. Let every
sensor that has not spoken yet stand in bin 0: the counts start at (M, 0, …, 0), and sensor s moves one of them to the bin
it reports,

    f(c)  ←  p_s0 f(c) + Σ_{k≥1} p_sk f(c + e_0 − e_k).

All terms are ≥ 0, so nothing cancels: after M steps every probability is relatively exact to about M (bins + 1) 2^-53. In
the lexicographic order of `count_vectors`, c + e_0 − e_k comes after c, so the step works in place from the front; and as
adding e_0 − e_k keeps the order, the places it leads to are simply counted off, never searched for. After s sensors only
the last C(s + bins − 1, bins − 1) places are used, so that the work is about C(M + bins, bins) bins multiplications per
pair (x, y).

Scaling: the start is 2^960 instead of 1, a power of two that is taken out at the end without rounding. Intermediate masses
then keep all their digits down to 1e-597, and every probability above the smallest normal double, 2e-308, comes out with
full relative precision, however far in the tail.

Source of the name and of what is known about the law: C. Daskalakis, G. Kamath, C. Tzamos, "On the structure, covering,
and learning of Poisson multinomial distributions", FOCS 2015. The recursion is plain convolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array
from discreet.problems.sensors.counts import Counts, count_vectors, lattice_size
from discreet.problems.sensors.inputs import DEFAULT_MAX_BYTES, allow, checked_law, checked_prior, said

__all__ = ["convolved", "mixed_bytes", "mixed_sensors"]

_SCALE = 960  # exponent of the power of two at which the convolution starts
_CHUNK = 1 << 15  # places handled at once: their temporaries stay in cache
_WORKING = 48  # bytes per count vector that are alive beside counts, predecessors and result (measured: up to 42)
_CHECKING = 128  # bytes per entry of the laws while they are checked
_FIXED = 1 << 20  # bytes of small tables, so that the estimate also covers tiny models


def mixed_sensors(p_z_given_xy: Any, p_xy: Any, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Array:
    """The joint tensor [n, m, N] of the pooled counts of sensors that may all differ, in the order of `count_vectors`.

    p_z_given_xy   Pr(sensor s reports bin k given x_j, y_i) [sensors, n, m, bins]
    p_xy           p(x_j, y_i) [n, m]

    Laws (tests/problems/test_mixed_sensors.py): the order of the sensors does not matter; identical sensors give what
    `iid_sensors` gives; counts of the index vectors of `index_sensors` have this law. Probabilities under the smallest
    double become 0. Raises InputError for arrays that are not probabilities within 1e-9 or a model that takes more than
    `max_bytes` of memory to build.

    Pooling forgets which sensor said what. Where that matters, count by group (`grouped_sensors`).
    """
    prior = checked_prior(p_xy)
    laws = checked_law(p_z_given_xy, prior, "p_z_given_xy", sensors=True)
    sensors, bins = laws.shape[0], laws.shape[3]
    allow(
        mixed_bytes(sensors, bins, prior.size),
        max_bytes,
        f"{sensors} sensors with {bins} bins have {said(lattice_size(sensors, bins))} count vectors",
        "take fewer sensors or bins",
    )
    joint = convolved(count_vectors(sensors, bins, max_bytes=max_bytes), laws, prior > 0.0)
    joint *= prior[:, :, None]
    joint /= joint.sum()
    return joint


def mixed_bytes(sensors: int, bins: int, pairs: int) -> int:
    """An upper estimate of the memory at the peak of `mixed_sensors` with so many pairs (x, y)."""
    per_count_vector = 4 * bins + 8 * (bins - 1) + _WORKING + 8 * pairs
    return lattice_size(sensors, bins) * per_count_vector + _CHECKING * sensors * bins * pairs + _FIXED


def convolved(counts: Counts, laws: Array, wanted: NDArray[np.bool_]) -> Array:
    """Pr(counts given x_j, y_i) [n, m, N] under laws [sensors, n, m, bins], where `wanted` [n, m]; 0 elsewhere.

    counts are all count vectors [N, bins].
    """
    predecessors = _predecessors(counts)
    found = np.zeros((*wanted.shape, len(counts)))
    for j, i in np.argwhere(wanted):
        found[j, i] = _pooled(laws[:, j, i], predecessors, len(counts))
    return found


def _predecessors(counts: Counts) -> list[NDArray[np.intp]]:
    """For every bin k ≥ 1 the place of c + e_0 − e_k [N]; N, a place that holds 0, where c_k = 0.

    Places with c_k ≥ 1 and places with c_0 ≥ 1 are in one-to-one correspondence, which keeps the lexicographic order.
    """
    size = len(counts)
    sources = np.flatnonzero(counts[:, 0])
    places = []
    for k in range(1, counts.shape[1]):
        place = np.full(size, size, dtype=np.intp)
        place[np.flatnonzero(counts[:, k])] = sources
        places.append(place)
    return places


def _pooled(laws: Array, predecessors: list[NDArray[np.intp]], size: int) -> Array:
    """The Poisson-multinomial law [N] of sensors with bin probabilities [sensors, bins]."""
    sensors, bins = laws.shape
    masses = np.zeros(size + 1)
    masses[size - 1] = 2.0**_SCALE
    total, term = np.empty(_CHUNK), np.empty(_CHUNK)
    for s in range(sensors):
        for start in range(size - lattice_size(s + 1, bins), size, _CHUNK):
            stop = min(start + _CHUNK, size)
            t, u = total[: stop - start], term[: stop - start]
            np.multiply(masses[start:stop], laws[s, 0], out=t)
            for place, probability in zip(predecessors, laws[s, 1:], strict=True):
                np.take(masses, place[start:stop], out=u, mode="clip")  # "clip": no copy of u; every place is in range
                u *= probability
                t += u
            masses[start:stop] = t
    return np.asarray(np.ldexp(masses[:size], -_SCALE))
