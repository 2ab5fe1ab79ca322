"""Count lattices that are never stored: the counts of M identical sensors, generated chunk by
chunk.

The outcomes and their order are those of `count_vectors`. The outcomes of a *row* have the same
first K − 2 of K counts; a chunk is a run of rows. The law of each (x_j, y_i) is evaluated in the
saddle-point form of `sensors.counts`, once per 64 outcomes of a row, and continued by ratios of
neighbouring probabilities away from the row's mode, so that after an underflow all further values
are smaller still. With numba a chunk is generated compiled, otherwise by NumPy (`lattice_kernels`);
values agree to about 1e-13.

**Truncation.** With `tail` > 0 outcomes that are too improbable under *every* (x_j, y_i) are left
out (docs/theory.md, section 18, has the threshold T and its proof). Those kept of a row are an
interval. Everything left out is gathered in one last outcome, *rest*. Its mass is the known total
less the mass generated, where that difference is accurate, and in any case not less than the mass
left out nor more than `tail`. The generated outcomes are scaled to make totals exact.

Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000); H. Chernoff, "A
measure of asymptotic efficiency for tests of a hypothesis based on the sum of observations", Ann.
Math. Statist. 23 (1952).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import check_prior, loss_table, positive, whole
from discreet.errors import InputError
from discreet.numerics.compiled import compiled_available
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget, constraint_of, one_term
from discreet.problems.outcomes import CHUNK_OUTCOMES, Chunk, in_order
from discreet.problems.roots import bisect
from discreet.problems.sensors.counts import deviance, lattice_size, log_factor
from discreet.problems.sensors.inputs import check_law, count_text
from discreet.problems.streams.lattice_kernels import (
    Run,
    Tables,
    compiled_generate,
    generate,
    windows,
)


class Lattice(ABC):
    """Counts of sensors as blocks of outcomes [n, ·] and [m, ·]; those left out come last, as one.

    prior        p(x_j, y_i) [n, m], and loss_matrix [m, guesses]
    size         how many outcomes there are; N: those generated, and one for what is left out
    left_out     how many outcomes are gathered in the last one
    rest         the mass of each (x_j, y_i) in it [n, m]; tail: its whole mass

    Raises InputError for a p_xy or a loss matrix that is none, and for a tail above ½.
    """

    size: int
    left_out: int
    N: int

    def __init__(self, p_xy: Any, loss_matrix: Any, tail: float) -> None:
        """tail: the most mass that may be left out, from 0 to ½."""
        self.tail = positive(tail, "tail", zero=True, most=0.5)
        self.prior = check_prior(p_xy)
        self.loss_matrix = loss_table(loss_matrix, self.prior.shape[1])
        self.n = self.prior.shape[0]
        self.m = self.loss_matrix.shape[1]
        self.rest = np.zeros_like(self.prior)

    def _keep(self, generated: int) -> None:
        """Gather all outcomes but the number generated in a last one."""
        self.left_out = self.size - generated
        self.N = generated + (1 if self.left_out else 0)

    def chunks(self) -> Iterator[Chunk]:
        """Runs of at most 65,536 outcomes, and last the rest."""
        yield from self._generate_chunks()
        if self.left_out:
            yield Chunk(self.N - 1, 1, self._read_rest)

    @abstractmethod
    def _generate_chunks(self) -> Iterator[Chunk]:
        """The chunks of the outcomes that are not left out."""

    def _read_rest(self) -> tuple[Array, Array]:
        return self.rest.sum(axis=1)[:, None], (self.loss_matrix.T @ self.rest.sum(axis=0))[:, None]


def problem_of(
    lattice: Lattice, budget: float | LeakageBudget | None, equivocation: float | None, name: str
) -> BlockProblem:
    """The problem of the outcomes of a lattice under a budget or an equivocation in nats."""
    p_x = lattice.prior.sum(axis=1)
    terms = one_term(constraint_of(budget, equivocation, [p_x]), p_x.size)
    losses = lattice.loss_matrix.T @ lattice.prior.sum(axis=0)
    return BlockProblem(lattice, terms, p_x, losses, name, lattice.tail)


class CountLattice(Lattice):
    """The counts of `sensors` independent sensors as blocks of outcomes [n, ·] and [m, ·]; nothing
    is stored.

    p_z_given_xy   Pr(one sensor reports bin k given x_j, y_i) [n, m, bins], bins ≥ 2
    p_xy           p(x_j, y_i) [n, m]
    loss_matrix    loss of guessing i' when the truth is i [m, guesses], ≥ 0; default 0/1 loss
    tail           most mass that may be gathered in a last outcome "rest"; 0 keeps every outcome
    threads        for the passes that plan the chunks (0 = all cores)
    compiled       whether to use numba; by default where it is installed and there are enough
                   outcomes

    `rest` [n, m] is the mass of each (x_j, y_i) in the last outcome, all 0 if nothing was left out;
    `left_out` counts the outcomes in it, and N those generated with it; `tail` is then its mass, at
    least that of what was left out. Values are the same for every `threads`. Planning takes two
    passes. Raises InputError for arrays that are not probabilities within 1e-9, and for more than
    2^62 outcomes or half a GiB of tables.
    """

    def __init__(
        self,
        p_z_given_xy: Any,
        p_xy: Any,
        sensors: int,
        loss_matrix: Any = None,
        tail: float = 0.0,
        *,
        threads: int = 0,
        compiled: bool | None = None,
    ) -> None:
        self.sensors = whole(sensors, "sensors", 1)
        super().__init__(p_xy, loss_matrix, tail)
        law = check_law(p_z_given_xy, self.prior, "p_z_given_xy", sensors=False)
        self.bins = law.shape[2]
        self.size = _check_size(self.sensors, self.bins, self.prior)
        # from 2^16 outcomes on waiting for a compiled kernel pays
        self._compiled = (
            compiled_available() and self.size >= 1 << 16 if compiled is None else compiled
        )
        self._tables = _tables_of(law, self.prior, self.loss_matrix, self.sensors, tail)
        self._runs = self._plan()
        self._keep(self._runs[-1].start + self._runs[-1].count)
        self._weights = np.ones(len(self._tables.pairs))
        self._normalise(tail, threads)
        self.tail = float(self.rest.sum())

    def _generate_chunks(self) -> Iterator[Chunk]:
        for run in self._runs:
            yield Chunk(run.start, run.count, partial(self._read, run))

    def _read(self, run: Run) -> tuple[Array, Array]:
        p_xz = np.empty((self.n, run.count))
        loss = np.empty((self.m, run.count))
        self._generate(run, p_xz, loss)
        return p_xz, loss

    def _generate(self, run: Run, p_xz: Array | None, loss: Array | None) -> Array:
        """Fill the arrays, if given, and return the sum over the run of each pair's probabilities
        [pairs].
        """
        make = compiled_generate if self._compiled else generate
        return make(self._tables, self._weights, run, p_xz, loss)

    def _plan(self) -> list[Run]:
        """Runs of `CHUNK_OUTCOMES` kept outcomes, and a last one of what is left over."""
        rows = lattice_size(self.sensors, self.bins - 1)
        at_once = 1 << 15
        kept = 0
        # First outcome of a run, its row, its second to last count.
        cuts = list[tuple[int, int, int]]()
        for done in range(0, rows, at_once):
            low, high = windows(
                self._tables, self._tables.unrank(np.arange(done, min(done + at_once, rows)))
            )
            reached = kept + np.concatenate([[0], np.cumsum(high - low)])
            starts = np.arange(
                -(-kept // CHUNK_OUTCOMES) * CHUNK_OUTCOMES, reached[-1], CHUNK_OUTCOMES
            )
            row = np.searchsorted(reached, starts, side="right") - 1
            cuts += zip(
                starts.tolist(),
                (done + row).tolist(),
                (low[row] + starts - reached[row]).tolist(),
                strict=True,
            )
            kept = int(reached[-1])
        cuts.append((kept, rows - 1, self.sensors + 1))
        ends = pairwise(cuts)
        return [
            Run(row, last - row + 1, start, stop - start, low, high)
            for (start, row, low), (stop, last, high) in ends
        ]

    def _normalise(self, tail: float, threads: int) -> None:
        """One pass for the totals; then the rest, and the weights that make all totals exact."""
        parts = in_order(self._runs, threads, lambda run: self._generate(run, None, None))
        generated = np.array([math.fsum(column) for column in np.array(list(parts)).T])
        pairs = tuple(self._tables.pairs.T)
        prior = self.prior[pairs]
        rest = np.zeros_like(prior)
        # 1e-12 bounds the relative rounding of a sum of generated probabilities generously
        if self.left_out:
            rest = prior * np.minimum(tail, np.maximum(0.0, 1.0 - generated) + 1e-12)
        self.rest[pairs] = rest
        self._weights = (prior - rest) / generated


def lattice_problem(
    p_z_given_xy: Any,
    p_xy: Any,
    sensors: int,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    loss_matrix: Any = None,
    tail: float = 0.0,
    name: str = "",
    threads: int = 0,
    compiled: bool | None = None,
) -> BlockProblem:
    """The problem of `sensors` identical sensors whose counts the estimator sees, as blocks (see
    `CountLattice`).

    Give one of budget (nats) and equivocation (H0, nats). Law: with tail = 0 the blocks, put
    together, are the problem of `iid_sensors` within a relative 1e-12.
    """
    lattice = CountLattice(
        p_z_given_xy, p_xy, sensors, loss_matrix, tail, threads=threads, compiled=compiled
    )
    return problem_of(lattice, budget, equivocation, name)


def _check_size(sensors: int, bins: int, prior: Array) -> int:
    if bins < 2:
        raise InputError(
            "p_z_given_xy has one bin, so its counts say nothing; give at least two bins"
        )
    size = lattice_size(sensors, bins)
    if size > 1 << 62:
        raise InputError(
            f"{sensors} sensors with {bins} bins have {count_text(size)} count vectors, more than "
            "can be visited; "
            "take fewer sensors or bins"
        )
    needed = 16 * prior.size * bins * (sensors + 1)
    most = 1 << 29
    if needed > most:
        raise InputError(
            f"{sensors} sensors with {bins} bins need {needed:,} bytes of tables and the limit is "
            f"{most:,}; "
            "take fewer sensors or bins"
        )
    return size


def _tables_of(laws: Array, prior: Array, losses: Array, sensors: int, tail: float) -> Tables:
    """Everything that depends on one count only, for laws [n, m, bins]."""
    pairs = np.argwhere(prior > 0.0)
    law = laws[tuple(pairs.T)]
    number = np.arange(sensors + 1, dtype=np.float64)
    factor = log_factor(sensors)
    distance = np.array([[deviance(number, sensors * q) for q in row] for row in law])
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(number > 0.0, 1.0 / number, 0.0)
        up = np.where(law[:, -1] > 0.0, law[:, -2] / law[:, -1], 0.0)
        down = np.where(law[:, -2] > 0.0, law[:, -1] / law[:, -2], 0.0)
        share = np.where(law[:, -2] > 0.0, law[:, -2] / (law[:, -2] + law[:, -1]), 0.0)
    return Tables(
        sensors=sensors,
        bins=law.shape[1],
        pairs=pairs,
        shape=(prior.shape[0], prior.shape[1]),
        losses=losses,
        log=-factor - distance,
        top=float(factor[sensors]),
        deviance=distance if tail > 0.0 else np.zeros((len(law), law.shape[1], 0)),
        limit=_limit(tail, law.shape[1] - 1),
        inverse=inverse,
        up=up,
        down=down,
        share=share,
    )


def _limit(tail: float, degrees: int) -> float:
    """The T of the module's theorem, rounded upward; inf for tail = 0."""
    if tail == 0.0:
        return math.inf

    def above(x: Array) -> NDArray[np.bool_]:
        return np.asarray(degrees * (1.0 + np.log(x / degrees)) - x > math.log(tail))

    _, x = bisect(above, degrees, 10.0 * (degrees - math.log(tail)) + 10.0)
    return (float(x) + degrees * math.log(2.0)) * (1.0 + 1e-9)  # covers the rounding of S
