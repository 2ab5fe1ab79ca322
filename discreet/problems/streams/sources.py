"""Sources of blocks: ranges of outcomes, and any iterator that can be restarted.

One pass checks every entry and adds up the totals, with the rules and messages of `Problem`. If a
total is one within 1e-9 but not within rounding, every chunk is divided by it when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from discreet.checks import (
    TOTAL_TOLERANCE,
    are_masses,
    check_ceiling,
    check_entries,
    check_name,
    check_stray_losses,
    refuse_total,
    whole,
)
from discreet.errors import InputError
from discreet.numerics.double_double import Array, DoubleDouble, dd_add
from discreet.numerics.label_strips import compiled_pays, strip_sums
from discreet.numerics.sums import totals
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import (
    LeakageBudget,
    Term,
    label_constraints,
)
from discreet.problems.folds import fold
from discreet.problems.outcomes import CHUNK_OUTCOMES, Blocks, Chunk, Mapped, chunks_of_pairs
from discreet.problems.problem import LARGEST_LOSS, ROUNDED_TOTAL
from discreet.problems.stacking import check_rows, check_same_outcomes

Pairs = tuple[Array, Array]


# -- any blocks
# --------------------------------------------------------------------------------------------------


def block_problem(
    blocks: Blocks,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    terms: tuple[Term, ...] | None = None,
    name: str = "",
    threads: int = 0,
) -> BlockProblem:
    """Return the problem of any blocks: one pass checks every entry and adds up the totals.

    Give one of budget (nats) and equivocation (H0, nats); or terms, if the rows of p_xz are the
    stacked private joints of several secrets. threads: 0 = all cores. Raises InputError, naming the
    entry, for everything that `Problem` refuses (entries that are negative or not finite, a total
    further than 1e-9 from one, a loss above 1e100 or on an outcome without probability), and for
    blocks of the wrong shape or number.
    """
    if blocks.N < 1:
        raise InputError("the blocks hold no outcomes; give at least one")
    if terms is not None and not (budget is None and equivocation is None):
        raise InputError("the terms state their budgets; leave budget and equivocation out")
    chosen = (Term.of(LeakageBudget(math.inf), [blocks.n]),) if terms is None else terms
    check_rows(chosen, blocks.n)
    checked = partial(_check_chunk, blocks.n, blocks.m, compiled_pays(blocks.N), chosen)
    seen, sums = fold(blocks, checked, _add_totals, threads=threads)
    if seen != blocks.N:
        raise InputError(
            f"the blocks hold {seen} outcomes but say N = {blocks.N}; state the number they hold"
        )
    totals = [
        math.fsum([*sums[0][term.rows].tolist(), *sums[1][term.rows].tolist()]) for term in chosen
    ]
    places = label_constraints("constraints[{}]: ", chosen)
    for total, place in zip(totals, places, strict=True):
        refuse_total(total, f"{place}p_xz")
    totals = [1.0 if abs(total - 1.0) <= ROUNDED_TOTAL else total for total in totals]
    if any(total != 1.0 for total in totals):
        by = np.repeat([*totals, totals[0]], [*(sum(term.sizes) for term in chosen), blocks.m])
        blocks = Mapped(blocks, partial(_scale_pairs, by))
        sums = sums[0] / by, sums[1] / by
    p_x, losses = np.split(sums[0] + sums[1], [blocks.n])
    problem = BlockProblem(blocks, chosen, p_x, losses, check_name(name))
    return problem if terms else problem.with_budget(budget, equivocation=equivocation)


def _add_totals(parts: list[tuple[int, DoubleDouble]]) -> tuple[int, DoubleDouble]:
    """Return the total number of outcomes, and their totals."""
    return sum(count for count, _ in parts), reduce(dd_add, [totals for _, totals in parts])


def _check_chunk(
    n: int, m: int, compiled: bool, terms: tuple[Term, ...], chunk: Chunk
) -> tuple[int, DoubleDouble]:
    """Return the number of outcomes of a chunk, and their totals [n + m], after checking all
    entries.
    """
    a, loss = chunk.read()
    for what, array, rows in (("p_xz", a, n), ("loss", loss, m)):
        if array.shape != (rows, chunk.count):
            raise InputError(
                f"the {what} of the chunk at outcome {chunk.start} has shape {list(array.shape)}; "
                f"give {[rows, chunk.count]}"
            )
    strips = None
    rest = (a, loss)
    if compiled:  # entries that are not masses make their outcome unclear
        strips = strip_sums(a, loss, np.zeros((m, n)), 0.0)
        rest = a[:, strips.unclear], loss[:, strips.unclear]
    if not are_masses(*rest):
        _refuse_no_masses(chunk.start, a, loss)
    sums = totals(*rest, strips)
    if not (sums[0][:n].max() <= 1.0 and sums[0][n:].max() <= LARGEST_LOSS):
        # If no sum is too large, no entry is.
        _refuse_no_masses(chunk.start, a, loss)
    if not any(row.min() > 0.0 for row in a):
        check_stray_losses(a, loss, chunk.start)
    check_same_outcomes(a, terms, chunk.start)
    return chunk.count, sums


def _refuse_no_masses(start: int, a: Array, loss: Array) -> None:
    """Raise InputError for entries that are not masses, naming the first."""
    check_entries(a, "p_xz", start)
    check_entries(loss, "loss", start)
    check_ceiling(a, "p_xz", 1.0 + TOTAL_TOLERANCE, "divide p_xz by its sum", start)
    check_ceiling(loss, "loss", LARGEST_LOSS, "state losses in a larger unit", start)


@dataclass(frozen=True, eq=False)
class _Source:
    """Blocks of the sizes n, m, N, with chunks from a function."""

    n: int
    m: int
    N: int
    chunks: Callable[[], Iterator[Chunk]]


def _scale_pairs(totals: Array, p_xz: Array, loss: Array) -> Pairs:
    """Return p_xz and loss with every row divided by a total [n + m]."""
    n = len(p_xz)
    return p_xz / totals[:n, None], loss / totals[n:, None]


def blocks_by_range(n: int, m: int, outcomes: int, read: Callable[[int, int], Pairs]) -> Blocks:
    """Return blocks from a function read(start, stop) that returns a range of outcomes."""

    def chunks() -> Iterator[Chunk]:
        for start in range(0, outcomes, CHUNK_OUTCOMES):
            stop = min(start + CHUNK_OUTCOMES, outcomes)
            yield Chunk(start, stop - start, partial(read, start, stop))

    return _Source(n, m, outcomes, chunks)


# -- iterators
# --------------------------------------------------------------------------------------------------


def blocks_from(
    factory: Callable[[], Iterable[Pairs]], n: int, m: int, N: int | None = None
) -> Blocks:
    """Return blocks from an iterator that can be restarted: factory() yields (p_xz [n, ·], loss [m,
    ·]) pairs.

    Every call must yield the same outcomes in the same order. If N is not given, it is counted in a
    separate pass. Raises InputError for pairs of the wrong shape, or another number of outcomes
    than N.
    """
    sizes = whole(n, "n", 1, 1e6), whole(m, "m", 1, 1e6)
    if N is None:
        N = sum(a.shape[1] for a, _ in _pairs(factory, *sizes))
    N = whole(N, "N", 1)
    return _Source(*sizes, N, lambda: chunks_of_pairs(_pairs(factory, *sizes, N), CHUNK_OUTCOMES))


def check_shapes(
    place: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], n: int, m: int
) -> None:
    """Raise InputError unless these are shapes [n, B] of p_xz and [m, B] of losses."""
    mine, theirs = shapes
    width = mine[-1] if mine else 0
    if (mine, theirs) != ((n, width), (m, width)):
        raise InputError(
            f"{place} has p_xz of shape {list(mine)} and loss of {list(theirs)}; "
            f"give [{n}, B] and [{m}, B] with the same B"
        )


def _pairs(
    factory: Callable[[], Iterable[Pairs]], n: int, m: int, announced: int | None = None
) -> Iterator[Pairs]:
    """Yield the pairs that hold outcomes, after checking their shapes, and their number if it was
    announced.
    """
    outcomes = 0
    for number, pair in enumerate(factory()):
        try:
            a, loss = (np.asarray(part, dtype=np.float64) for part in pair)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"item {number} of the iterator is not a pair of arrays ({error}); "
                "give (p_xz, loss)"
            ) from None
        check_shapes(f"item {number} of the iterator", (a.shape, loss.shape), n, m)
        outcomes += a.shape[1]
        if a.shape[1]:
            yield a, loss
    if announced is not None and outcomes != announced:
        raise InputError(
            f"the iterator gave {outcomes} outcomes where {announced} were announced; it must give "
            "the same ones every time"
        )
