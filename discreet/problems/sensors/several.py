"""Several sensors: pooled counts, counts by group, and whole vectors of reports.

Pooling all sensors into one count vector loses the information which sensor reported which bin.
Counting by groups of identical sensors loses nothing: their counts are a sufficient statistic of
the reports. The outcomes are the product of the lattices of the groups. One group of all sensors
gives the pooled counts; groups of one sensor each give the full vector of reports.

Given (x, y) the groups are independent, so the law is a product of the laws of the groups
(`counts`), without any cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.checks import as_list, check_prior, whole
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.problems.sensors.counts import (
    Counts,
    count_law,
    count_vectors,
    lattice_size,
    law_bytes,
)
from discreet.problems.sensors.inputs import DEFAULT_MAX_BYTES, allow, check_law, count_text


def iid_sensors(
    p_z_given_xy: Any, p_xy: Any, sensors: int, *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Array:
    """Return the joint tensor [n, m, N] of the counts of `sensors` independent sensors, in the
    order of `count_vectors`.

    p_z_given_xy   Pr(one sensor reports bin k given x_j, y_i) [n, m, bins]
    p_xy           p(x_j, y_i) [n, m]

    Probabilities below the smallest double become 0. Raises InputError for arrays that are not
    probabilities within 1e-9 or a model that takes more than `max_bytes` of memory to build.
    """
    sensors = whole(sensors, "sensors", 1)
    prior = check_prior(p_xy)
    law = check_law(p_z_given_xy, prior, "p_z_given_xy", sensors=False)
    remedy = "take fewer sensors or bins, stream them (discreet.problems.lattice_problem)"
    return _pool_counts(law[None], sensors, prior, max_bytes, remedy, alike=True)


def mixed_sensors(p_z_given_xy: Any, p_xy: Any, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Array:
    """Return the joint tensor [n, m, N] of the pooled counts of sensors that may all differ, in the
    order of `count_vectors`.

    p_z_given_xy   Pr(sensor s reports bin k given x_j, y_i) [sensors, n, m, bins]
    p_xy           p(x_j, y_i) [n, m]

    Laws (tests/problems/test_sensors.py): the order of the sensors does not matter; identical
    sensors give the result of `iid_sensors`; counts of the index vectors of `index_sensors` have
    this law. Probabilities below the smallest double become 0. Raises InputError for arrays that
    are not probabilities within 1e-9 or a model that takes more than `max_bytes` of memory to
    build.

    Pooling loses the information which sensor reported which bin. If that matters, count by group
    (`grouped_sensors`).
    """
    prior = check_prior(p_xy)
    laws = check_law(p_z_given_xy, prior, "p_z_given_xy", sensors=True)
    return _pool_counts(
        laws, laws.shape[0], prior, max_bytes, "take fewer sensors or bins", alike=False
    )


def _pool_counts(
    laws: Array, sensors: int, prior: Array, max_bytes: int, remedy: str, *, alike: bool
) -> Array:
    bins = laws.shape[3]
    what = (
        f"{sensors} sensors with {bins} bins have {count_text(lattice_size(sensors, bins))} "
        "count vectors"
    )
    allow(law_bytes(sensors, bins, prior.size, alike=alike), max_bytes, what, remedy)
    joint = count_law(count_vectors(sensors, bins, max_bytes=max_bytes), laws, prior > 0.0)
    joint *= prior[:, :, None]
    joint /= joint.sum()
    return joint


def grouped_sensors(
    groups: Sequence[Any], p_xy: Any, *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Array:
    """Return the joint tensor [n, m, N] of the counts of every group, in the order of
    `grouped_count_vectors`.

    groups   one array per group, Pr(sensor s of the group reports bin k given x_j, y_i) [sensors,
             n, m, bins]; groups may have different numbers of sensors and bins. M copies of one law
             [n, m, bins]: np.tile(law, (M, 1, 1, 1)).
    p_xy     p(x_j, y_i) [n, m]

    Law: splitting a group never raises the optimal error probability, and does not change it if the
    sensors of the group are identical. Raises InputError for arrays that are not probabilities
    within 1e-9 or a model that takes more than `max_bytes` of memory to build.
    """
    prior = check_prior(p_xy)
    laws = [
        check_law(law, prior, f"groups[{g}]", sensors=True)
        for g, law in enumerate(as_list(groups, "groups", "one law per group"))
    ]
    sizes = [law.shape[0] for law in laws]
    bins = [law.shape[3] for law in laws]
    lattices = _lattices(sizes, bins)
    parts = sum(
        law_bytes(size, count, prior.size, alike=False)
        for size, count in zip(sizes, bins, strict=True)
    )
    _allow_groups(sizes, bins, _product_bytes(lattices, prior.size) + parts, max_bytes)
    wanted = prior > 0.0
    lattice = [
        count_vectors(size, count, max_bytes=max_bytes)
        for size, count in zip(sizes, bins, strict=True)
    ]
    return _joint(
        [count_law(counts, law, wanted) for counts, law in zip(lattice, laws, strict=True)], prior
    )


def grouped_count_vectors(
    sizes: Sequence[int], bins: Sequence[int], *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Counts:
    """Return the counts [N, Σ bins] of groups of `sizes` sensors with `bins` bins, side by side;
    the last group varies fastest.

    Within a group the order is that of `count_vectors`. Raises InputError if this takes more than
    `max_bytes`.
    """
    sizes = [whole(size, "sizes", 0) for size in as_list(sizes, "sizes", "one number per group")]
    bins = [whole(count, "bins", 1) for count in as_list(bins, "bins", "one number per group")]
    if len(sizes) != len(bins):
        raise InputError(
            f"sizes has {len(sizes)} entries and bins {len(bins)}; give one of each for every group"
        )
    total = math.prod(_lattices(sizes, bins))
    parts = max(law_bytes(size, count, 0) for size, count in zip(sizes, bins, strict=True))
    _allow_groups(sizes, bins, total * 4 * sum(bins) + parts, max_bytes)
    # Contiguous in memory for each bin, like `count_vectors`.
    vectors = np.empty((sum(bins), total), dtype=np.int32)
    inner = total
    column = 0
    for size, count in zip(sizes, bins, strict=True):
        lattice = count_vectors(size, count, max_bytes=max_bytes)
        inner //= len(lattice)
        vectors[column : column + count].reshape(count, -1, len(lattice), inner)[:] = lattice.T[
            :, None, :, None
        ]
        column += count
    return vectors.T


def _lattices(sizes: Sequence[int], bins: Sequence[int]) -> list[int]:
    return [lattice_size(size, count) for size, count in zip(sizes, bins, strict=True)]


def _allow_groups(sizes: Sequence[int], bins: Sequence[int], needed: int, max_bytes: int) -> None:
    vectors = count_text(math.prod(_lattices(sizes, bins)))
    what = (
        f"groups of {join_numbers(sizes)} sensors with {join_numbers(bins)} bins have {vectors} "
        "vectors of counts"
    )
    remedy = (
        "stream them (discreet.problems.grouped_problem), join groups whose sensors differ little"
    )
    allow(needed, max_bytes, what, remedy)


def index_sensors(
    p_z_given_xy: Sequence[Any], p_xy: Any, *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Array:
    """Return the joint tensor [n, m, N] of the whole vector of reports, in the order of
    `index_vectors`: for few sensors.

    p_z_given_xy   Pr(sensor s reports bin k given x_j, y_i), one array [n, m, bins] per sensor;
                   bins may differ
    p_xy           p(x_j, y_i) [n, m]

    N is the product of the numbers of bins. Raises InputError for arrays that are not probabilities
    within 1e-9 or a model that takes more than `max_bytes` of memory to build.
    """
    prior = check_prior(p_xy)
    sensors = as_list(p_z_given_xy, "p_z_given_xy", "one law per sensor")
    laws = [
        check_law(law, prior, f"p_z_given_xy[{s}]", sensors=False) for s, law in enumerate(sensors)
    ]
    bins = [law.shape[2] for law in laws]
    remedy = (
        "count the reports instead, by groups of identical sensors (grouped_sensors) or of "
        "all (mixed_sensors)"
    )
    _allow_reports(bins, _product_bytes(bins, prior.size), max_bytes, remedy)
    return _joint(laws, prior)


def index_vectors(bins: Sequence[int], *, max_bytes: int = DEFAULT_MAX_BYTES) -> Counts:
    """Return all vectors of reports [N, sensors], the bin of every sensor; the last sensor varies
    fastest.

    Raises InputError if this takes more than `max_bytes`.
    """
    shape = [whole(count, "bins", 1) for count in as_list(bins, "bins", "one number per group")]
    _allow_reports(
        shape, math.prod(shape) * 4 * len(shape), max_bytes, "take fewer sensors or bins"
    )
    return np.ascontiguousarray(np.indices(shape, dtype=np.int32).reshape(len(shape), -1).T)


def _allow_reports(bins: Sequence[int], needed: int, max_bytes: int, remedy: str) -> None:
    what = (
        f"{len(bins)} sensors with {join_numbers(bins)} bins have {count_text(math.prod(bins))} "
        "vectors of reports"
    )
    allow(needed, max_bytes, what, remedy)


def product_law(start: Array, laws: Sequence[Array]) -> Array:
    """Return start [pairs, ·] times the laws [pairs, N_g] of groups; the last varies fastest."""
    for law in laws:
        start = (start[:, :, None] * law[:, None, :]).reshape(len(start), -1)
    return start


def _joint(laws: Sequence[Array], prior: Array) -> Array:
    """Return p(x, y) Π_g law_g [n, m, Π N_g] for laws [n, m, N_g]."""
    rows = [law.reshape(prior.size, -1) for law in laws]
    joint = product_law(prior.reshape(-1, 1), rows).reshape(*prior.shape, -1)
    joint /= joint.sum()
    return joint


def _product_bytes(sizes: Sequence[int], pairs: int) -> int:
    """Return the peak memory of `_joint`: the result, the products of all factors except the last,
    and all factors.
    """
    total = math.prod(sizes)
    return 8 * pairs * (total + total // sizes[-1] + sum(sizes))


def join_numbers(numbers: Sequence[int]) -> str:
    """Return numbers as text, such as "1, 2 and 3"; long lists are shortened, equal numbers stated
    once.
    """
    if len(set(numbers)) == 1:
        return str(numbers[0])
    shown = (
        [str(number) for number in numbers] if len(numbers) <= 8 else [*map(str, numbers[:6]), "…"]
    )
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if shown[-1] != "…" else ", ".join(shown)
