"""Counts of groups of sensors that are never stored: products of the count vectors of the groups,
generated chunk by chunk.

The outcomes and their order are those of `grouped_count_vectors`. Given (x, y) the groups are
independent, so the probability of an outcome is a product over groups. Two tables are stored: the
joint law of the first groups, and that of the others, split where the tables are smallest. Their
products are computed in each pass. All factors are ≥ 0, so nothing cancels.

**Truncation.** With `tail` > 0 each of G groups leaves out its least probable count vectors, as
many as have a total probability of at most tail/G under *every* (x_j, y_i). The kept outcomes again
form a product. An outcome is left out if a count vector of any group is left out: under a pair the
probability is 1 − Π_g (1 − o_g) ≤ tail, where group g leaves out o_g. All of it is gathered in one
last outcome, *rest*. The generated outcomes are scaled to make totals exact.

Source: docs/theory.md, sections 18 (truncation) and 19 (sensors).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.checks import as_list
from discreet.numerics.double_double import Array, dd_sum
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget
from discreet.problems.outcomes import CHUNK_OUTCOMES, Chunk
from discreet.problems.sensors.counts import count_law, count_vectors, lattice_size, law_bytes
from discreet.problems.sensors.inputs import check_law
from discreet.problems.sensors.several import join_numbers, product_law
from discreet.problems.streams.lattice import Lattice, check_lattice, problem_of


class GroupLattice(Lattice):
    """The counts of groups of sensors as blocks of outcomes [n, ·] and [m, ·]; only two tables are
    stored.

    groups         as for `grouped_sensors`: one array per group, Pr(sensor s of the group reports
                   bin k given x_j, y_i) [sensors, n, m, bins]
    p_xy           p(x_j, y_i) [n, m]
    loss_matrix    loss of guessing i' when the truth is i [m, guesses], ≥ 0; default 0/1 loss
    tail           most mass that may be gathered in a last outcome "rest"; 0 keeps every outcome

    `rest` [n, m] is the mass of each (x_j, y_i) in the last outcome, all 0 if nothing was left out;
    `left_out` counts the outcomes in it, and N the generated outcomes and the last one; `tail` is
    then its mass, at least the mass that was left out. Raises InputError for arrays that are not
    probabilities within 1e-9, more than 2^62 outcomes, or half a GiB of tables.
    """

    def __init__(
        self, groups: Sequence[Any], p_xy: Any, loss_matrix: Any = None, tail: float = 0.0
    ) -> None:
        super().__init__(p_xy, loss_matrix, tail)
        laws = [
            check_law(law, self.prior, f"groups[{g}]", sensors=True)
            for g, law in enumerate(as_list(groups, "groups", "one law per group"))
        ]
        self.size = _check_size(laws, self.prior)
        self._pairs = np.argwhere(self.prior > 0.0)
        tables_and_losses = [_keep_likely(law, self.prior, tail / len(laws)) for law in laws]
        tables = [table for table, _ in tables_and_losses]
        self._keep(math.prod(table.shape[1] for table in tables))
        kept = np.prod([dd_sum(table)[0] for table in tables], axis=0)
        # Rounded up with a margin.
        lost = -np.expm1(np.sum([np.log1p(-out) for _, out in tables_and_losses], axis=0))
        weight = self._gather_rest(self._pairs, lost * (1.0 + 1e-9), kept)
        cut = _find_cut([table.shape[1] for table in tables])
        self._left = product_law(weight[:, None], tables[:cut])
        self._right = product_law(np.ones((len(weight), 1)), tables[cut:])

    def _generate_chunks(self) -> Iterator[Chunk]:
        """Yield runs of whole rows of the right table, or pieces of one row."""
        rows = self._left.shape[1]
        width = self._right.shape[1]
        at_once = max(1, CHUNK_OUTCOMES // width)
        piece = min(width, CHUNK_OUTCOMES)
        for row in range(0, rows, at_once):
            several = slice(row, min(row + at_once, rows))
            for first in range(0, width, piece):
                some = slice(first, min(first + piece, width))
                count = (several.stop - row) * (some.stop - first)
                yield Chunk(row * width + first, count, partial(self._read, several, some))

    def _read(self, rows: slice, columns: slice) -> tuple[Array, Array]:
        left = self._left[:, rows]
        right = self._right[:, columns]
        shape = left.shape[1], right.shape[1]
        p_xz = np.zeros((self.n, *shape))
        by_y = np.zeros((self.prior.shape[1], *shape))
        mass = np.empty(shape)
        for (j, i), one, other in zip(self._pairs, left, right, strict=True):
            np.multiply(one[:, None], other, out=mass)
            p_xz[j] += mass
            by_y[i] += mass
        loss = np.zeros((self.m, *shape))
        for i, guess in np.argwhere(self.loss_matrix > 0.0):
            lost = self.loss_matrix[i, guess]
            loss[guess] += by_y[i] if lost == 1.0 else np.multiply(by_y[i], lost, out=mass)
        return p_xz.reshape(self.n, -1), loss.reshape(self.m, -1)


def grouped_problem(
    groups: Sequence[Any],
    p_xy: Any,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    loss_matrix: Any = None,
    tail: float = 0.0,
    name: str = "",
) -> BlockProblem:
    """Return the problem of groups of sensors whose counts by group the estimator sees, as blocks
    (see `GroupLattice`).

    Give one of budget (nats) and equivocation (H0, nats). Law: with tail = 0 the concatenated
    blocks equal the problem of `grouped_sensors` within a relative 1e-12.
    """
    lattice = GroupLattice(groups, p_xy, loss_matrix, tail)
    return problem_of(lattice, budget, equivocation, name)


def _check_size(laws: Sequence[Array], prior: Array) -> int:
    """Return the number of outcomes; InputError if it, or the size of the tables, is too large."""
    sizes = [lattice_size(law.shape[0], law.shape[3]) for law in laws]
    what = f"{len(laws)} groups of {join_numbers([law.shape[0] for law in laws])} sensors"
    cut = _find_cut(sizes)
    tables = 16 * prior.size * (math.prod(sizes[:cut]) + math.prod(sizes[cut:]) + sum(sizes))
    tables += max(law_bytes(law.shape[0], law.shape[3], prior.size, alike=False) for law in laws)
    size = math.prod(sizes)
    check_lattice(what, size, tables, "join groups whose sensors differ little")
    return size


def _find_cut(sizes: Sequence[int]) -> int:
    """Return the number of groups before the split, such that both products together are
    smallest.
    """
    return min(
        range(len(sizes) + 1), key=lambda cut: math.prod(sizes[:cut]) + math.prod(sizes[cut:])
    )


def _keep_likely(law: Array, prior: Array, tail: float) -> tuple[Array, Array]:
    """Return the probabilities of the kept count vectors of a group [pairs, kept], and upper bounds
    of the probability left out for each pair [pairs].
    """
    sensors = law.shape[0]
    bins = law.shape[3]
    table = count_law(count_vectors(sensors, bins), law, prior > 0.0)[prior > 0.0]
    if tail == 0.0:
        return table, np.zeros(len(table))
    order = np.argsort(table.max(axis=0), kind="stable")
    lost = np.cumsum(table[:, order], axis=1) * (1.0 + 1e-9)  # covers the rounding of the sum
    out = int(np.searchsorted(lost.max(axis=0), tail, side="right"))
    keeps = np.ones(table.shape[1], dtype=np.bool_)
    keeps[order[:out]] = False
    return table[:, keeps], lost[:, out - 1] if out else np.zeros(len(table))
