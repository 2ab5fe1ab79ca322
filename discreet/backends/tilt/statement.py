"""The answer of the rounds stated as a rule: a tilt and a few ties, or crowds of outcomes that decide together.

Many outcomes may agree in margin to more digits than a tilt can tell apart; which of them randomise is then not determined.
Among the bands of margin that the last pass distinguishes, the one is taken in which letting them decide together costs
least. It is a restriction like that of cells, so the rule stays feasible; the judge evaluates every rule as it is stated.

Source: discreet, docs/theory.md, section 18 (ties and crowds).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.aggregation import Aggregated, Proof, spread
from discreet.backends.tilt.cells import SHELLS, classified, is_far, shell_top
from discreet.backends.tilt.finish import shortcut
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.kernels import scan
from discreet.backends.tilt.model import model_of
from discreet.problems.blocks import CHUNK_OUTCOMES, BlockProblem
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.tilted_losses import in_order_losses
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

__all__ = ["rules_of"]

_BAND_GROWTH = 1.0 + 1e-6  # of the error, at which wider bands are given up
_BAND_LOSS = 1.0 + 1e-10  # of the error reached without bands, up to which a band is good enough
_BAND_GAP = 1e-11  # of the small problem of labels and crowds
_BAND_ITERATIONS = 60
_INSIDE = (2.0**-50, 2.0**-44)  # rounding of a crowd's column and of its sums, relative: what that may leak is not aimed at
_DETERMINED = 1.0 - 1e-9  # probability of a guess that counts as certain when an interior answer is stated as a rule


def rules_of(problem: BlockProblem, found: Aggregated, *, threads: int = 0) -> Iterator[Rule]:
    """Ways to state the answer as a rule, likeliest first; the judge has to find the best.

    A vertex is a rule, and at the optimum exact. Where there is none, crowds of outcomes agree in margin to more digits
    than the tilt can tell apart. They may decide together: among the bands of margin that a pass distinguishes, the one is
    taken in which randomising costs least. Or individuals are listed as they are, and outcomes that are no more
    than a chunk holds all of them.
    """
    source = found.source.found
    if found.vertex is not None:
        yield _listing(found.vertex, source.listed, source.columns, found.columns)
    if source.counts.size:
        yield from _crowded(problem, found, _proof(problem, found, threads))
    yield _listing(found.tilt, source.listed, source.columns, found.columns)
    if source.counts.size and problem.N <= CHUNK_OUTCOMES:
        held = np.concatenate([np.concatenate(chunk.read()) for chunk in problem.blocks.chunks()], axis=1)
        yield _listing(found.tilt, np.arange(problem.N), held, spread(problem.blocks, found, threads=threads))


def _listing(tilt: Array, outcomes: NDArray[np.intp], held: Array, columns: Array) -> Rule:
    """The rule of a tilt with the columns of those of some outcomes that randomise or, equal in margin, go another way.

    held: their (p_xz, loss) [n + m, K]. columns: [m, K …].
    """
    n = tilt.shape[1]
    labels = np.argmin(in_order_losses(held[:n], held[n:], tilt), axis=0)
    ties = np.flatnonzero(columns[labels, np.arange(outcomes.size)] < 1.0)
    return Rule(tilt, outcomes[ties], columns[:, ties])


def _proof(problem: BlockProblem, found: Aggregated, threads: int) -> Proof:
    """The pass under the answer's own tilt: the last one, unless the rounds ended without it."""
    if np.array_equal(found.proof.tilt, found.tilt):
        return found.proof
    scanned = scan(problem.blocks, found.tilt, -1.0, threads=threads)
    return Proof(found.tilt, found.multiplier, scanned, found.lower)


def _crowded(problem: BlockProblem, found: Aggregated, proof: Proof) -> Iterator[Rule]:
    """Rules with crowds, the nearest to the budget first: a leakage only just above it would cost far more to mend.

    Rounding moves laws by a share of themselves, and a law that leaks ε has log ratios of about √(2 ε).
    """
    budget = problem.budget
    for inside in _INSIDE if 0.0 < budget < np.inf else (0.0,):
        aim = float(budget - 4.0 * inside * np.sqrt(budget)) if inside else budget
        rule = _best_band(problem.with_budget(aim), found, proof) if aim >= 0.0 else None
        if rule is not None:
            yield rule


def _best_band(problem: BlockProblem, found: Aggregated, proof: Proof) -> Rule | None:
    """The rule with crowds of least error, or None if no band can meet the budget."""
    cells, pair, shell = _by_margin(problem, proof)
    best: tuple[float, Rule] | None = None
    for last in np.unique(shell[shell < SHELLS]).tolist():
        tried = _banded(problem, proof.tilt, cells, pair, shell <= last, shell_top(last))
        if tried is not None and (best is None or tried[0] < best[0]):
            best = tried
        if best is not None and (
            best[0] <= found.upper * _BAND_LOSS or (tried is not None and tried[0] > best[0] * _BAND_GROWTH)
        ):
            break
    return None if best is None else best[1]


def _by_margin(problem: BlockProblem, proof: Proof) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """All outcomes of a pass as cells [n + m, ·] with pair (best · m + second) and shell; individuals join their shell.

    Far cells are of no pair and beyond all shells.
    """
    n, found = problem.n, proof.found
    _, keys, _ = classified(found.columns[:n], found.columns[n:], proof.tilt)
    keys = np.concatenate([found.keys, keys])
    shell = np.where(is_far(keys, problem.m), SHELLS, keys % SHELLS)
    return np.concatenate([found.cells, found.columns], axis=1), keys // SHELLS, shell


def _banded(
    problem: BlockProblem, tilt: Array, cells: Array, pair: NDArray[np.intp], within: NDArray[np.bool_], band: float
) -> tuple[float, Rule] | None:
    """Error and rule when the cells within the band form crowds by pair and all others keep their label."""
    n, m = problem.n, problem.m
    best, second = pair // m, pair % m
    crowd = np.minimum(best, second) * m + np.maximum(best, second)  # both orders of a pair are one crowd
    used, place = np.unique(np.where(within, m + crowd, best), return_inverse=True)
    sums = np.stack([np.bincount(place, weights=row) for row in cells])
    small = Problem(sums[:n], sums[n:], problem.constraint)
    if small.bayes_leakage <= small.budget:
        return None
    outcome = solve_interior(
        model_of(small),
        small.bayes_estimator,
        gap=_BAND_GAP,
        max_iterations=_BAND_ITERATIONS,
        shortcut=shortcut(small, _BAND_GAP),
    )
    columns, determined = outcome.estimator, used < m
    if outcome.ended != "optimal":
        return None
    surely = columns.max(axis=0) >= _DETERMINED
    columns[:, surely] = np.eye(m)[:, np.argmax(columns[:, surely], axis=0)]
    if (columns[used[determined], np.flatnonzero(determined)] < 1.0).any():
        return None
    crowds = np.repeat(np.eye(m), m, axis=0)
    for drawn in np.flatnonzero(~determined):
        i, k = divmod(int(used[drawn]) - m, m)
        crowds[[i * m + k, k * m + i]] = columns[:, drawn]
    return small.error_probability(columns), Rule(tilt, band=band, crowds=crowds)
