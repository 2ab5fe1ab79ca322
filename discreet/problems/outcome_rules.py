"""An estimator as a rule: m·n numbers and a few ties, instead of a matrix [m, N].

Except at ties, the guess at outcome l is the first i with the least L_il + Σ_j t_ij a_jl. At the
listed ties it is drawn from a column of probabilities. With probability `share` the outcome is
ignored and the guess is drawn from `towards`. Some optimal estimator has this form (docs/theory.md,
section 7). If `band` > 0, an outcome whose margin (the excess of the second best tilted loss over
the best, per unit of mass) is at most `band` draws its guess from the column of its *tie class*
(best, second best).

Tilted losses are computed by `in_order_losses`, so a rule makes the same decisions wherever it is
evaluated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.checks import (
    as_numbers,
    check_columns,
    check_entries,
    freeze,
    mass_array,
    positive,
    real_numbers,
)
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import Decisions, normalise, one_hot
from discreet.numerics.label_strips import StripSums
from discreet.numerics.rounding import LARGEST_TILT, UNIT
from discreet.numerics.sums import clear_strips
from discreet.numerics.tilted_losses import first_least, in_order_losses, least_two
from discreet.problems.outcomes import Blocks, Kind
from discreet.problems.rule import Rule
from discreet.storage.archive import new_array
from discreet.storage.writing import replacing

if TYPE_CHECKING:
    from discreet.problems.blocks import BlockProblem
    from discreet.problems.constraint import Constrained
    from discreet.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Matrix(Rule):
    """A rule that lists the guess of every outcome: a column-stochastic matrix.

    estimator   P_il [m, N]
    near        estimators to blend it towards; estimators of another shape are ignored
    """

    kinds = frozenset({Kind.ARRAYS})
    explicit = True

    estimator: Array
    near: Iterable[Array] = ()

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of the estimator."""
        return np.shape(self.estimator)

    @property
    def answer(self) -> Array:
        """The estimator as an array."""
        return self.estimator

    def fitted(self, problem: Constrained) -> Matrix:
        """Return the estimator unchanged; it was checked when it was read."""
        return self

    def decisions(self, outcomes: NDArray[np.int64], p_xz: Array, loss: Array) -> Decisions:
        """Return the columns of consecutive outcomes."""
        return Decisions.of(self.estimator[:, outcomes[0] : outcomes[-1] + 1])

    def blended(self, share: float, towards: Array) -> Matrix:
        """Return the blend with a column [m] or with another estimator [m, N], rounded and
        normalised.
        """
        end = towards if towards.ndim == 2 else towards[:, None]
        if share == 1.0:
            return Matrix(np.array(np.broadcast_to(end, self.estimator.shape)))
        return Matrix(normalise((1.0 - share) * self.estimator + share * end))

    def anchors(self, problem: Problem) -> Iterator[tuple[Matrix, float]]:
        """Yield the estimators in `near`, normalised."""
        for each in self.near:
            if np.shape(each) == self.estimator.shape:
                end = normalise(np.asarray(each, dtype=np.float64))
                changed = np.abs(end - self.estimator).sum(axis=0)
                yield Matrix(end), 0.5 * float(changed @ problem.p_z)

    def blend_doubt(self, own: float) -> float:
        """Return the rounding error of blended entries and of their columns; the sums are computed
        again.
        """
        return 2.0 * (len(self.estimator) + 1) * UNIT

    def matrix(self, problem: Any) -> Array:
        """Return the estimator as an array."""
        return np.asarray(self.estimator)

    def stated(self, problem: Any, tilt: Array) -> OutcomeRule:
        """Return the estimator as a rule with few ties."""
        return OutcomeRule.of(tilt, self.estimator, problem.p_xz, problem.loss)

    def checked(self, guesses: int) -> Matrix:
        """Return the rule; InputError unless the estimator [guesses, N] is column-stochastic."""
        estimator = as_numbers(self.estimator, "estimator", "[m, N]")
        shape = estimator.shape
        if len(shape) != 2 or 0 in shape or shape[0] != guesses:
            raise InputError(
                f"estimator has shape {list(shape)} and tilt has {guesses} rows; "
                "give [m, N] and [m, n] with the same m"
            )
        check_entries(estimator, "estimator")
        check_columns(estimator, "estimator")
        return Matrix(estimator)

    def members(self) -> dict[str, Array]:
        """Return the estimator by its name."""
        return {"estimator": self.estimator}


def as_rule(answer: Any) -> Rule:
    """Return an answer as a rule; a matrix keeps every digit."""
    return answer if isinstance(answer, Rule) else Matrix(answer)


RULE_FIELDS = ("ties", "columns", "share", "towards", "band", "tie_classes")
"""Fields of an `OutcomeRule` that a solution file stores by their names, besides its tilt."""


@dataclass(frozen=True, init=False, eq=False)
class OutcomeRule(Rule):
    """A randomised rule for guessing Y from outcomes; immutable.

    tilt          t_ij [m, n]
    ties          indices of outcomes, increasing                                [K]
    columns       probabilities of the guesses at the ties                       [m, K]
    share         probability that the outcome is ignored
    towards       probabilities of the guesses in that case                      [m]
    band          margin up to which an outcome belongs to a tie class; 0 for none
    tie_classes   probabilities of the guesses in the class of (best i, second k), in row i·m + k
                  [m·m, m]
    """

    kinds = frozenset({Kind.ARRAYS, Kind.BLOCKS})

    tilt: Array
    ties: NDArray[np.int64]
    columns: Array
    share: float
    towards: Array
    band: float
    tie_classes: Array

    def __init__(
        self,
        tilt: Any,
        ties: Any = (),
        columns: Any = None,
        share: float = 0.0,
        towards: Any = None,
        band: float = 0.0,
        tie_classes: Any = None,
    ) -> None:
        """Validate and freeze; ties may be in any order, and columns are normalised.

        Raises InputError for tilts that are not finite or above 1e200, ties that repeat or are
        negative, columns that are not probabilities within 1e-9, or a share without `towards`.
        """
        tilts = _tilts(tilt)
        m = tilts.shape[0]
        index = _indices(ties)
        drawn = _columns(np.zeros((m, 0)) if columns is None else columns, m, index.size, "columns")
        order = np.argsort(index, kind="stable")
        index = index[order]
        drawn = drawn.take(order, axis=1)  # unlike an index, keeps the rows contiguous
        repeated = np.flatnonzero(index[1:] == index[:-1])
        if repeated.size:
            raise InputError(
                f"outcome {index[repeated[0]]} is listed twice among the ties; give each one once"
            )
        ignoring = positive(share, "share", zero=True, most=1.0)
        if towards is None and ignoring > 0.0:
            raise InputError(
                f"share is {ignoring:g} but towards is not given; say which guess is made then"
            )
        guess = np.eye(m)[:, :1]
        if towards is not None:
            guess = _columns(as_numbers(towards, "towards", "[m]").reshape(-1, 1), m, 1, "towards")
        width = positive(band, "band", zero=True, most=1e100)
        if width > 0.0 and (tie_classes is None or m < 2):
            raise InputError(
                f"band is {width:g} but tie_classes is not given; say how outcomes within it "
                "guess, or leave band at 0"
            )
        sure = np.repeat(np.eye(m), m, axis=0)
        if tie_classes is not None:
            sure = _columns(
                as_numbers(tie_classes, "tie_classes", "[m·m, m]").T, m, m * m, "tie_classes"
            ).T
        freeze(
            self,
            tilt=tilts,
            ties=index,
            columns=drawn,
            share=ignoring,
            towards=guess[:, 0].copy(),
            band=width,
            tie_classes=sure.copy(),
        )

    @classmethod
    def of(cls, tilt: Array, estimator: Array, p_xz: Array, loss: Array) -> OutcomeRule:
        """Return an estimator [m, N] as a rule: its ties are the outcomes that do not follow the
        tilt with certainty.
        """
        labels = first_least(in_order_losses(p_xz, loss, tilt))
        ties = np.flatnonzero((estimator != one_hot(labels, len(estimator))).any(axis=0))
        return cls(tilt, ties, estimator.take(ties, axis=1))

    def __repr__(self) -> str:
        words = [f"n={self.n}", f"m={self.m}", f"{self.ties.size} ties"]
        words += [f"tie classes within {self.band:g}"] if self.band > 0.0 else []
        words += (
            [f"ignores the outcome with probability {self.share:g}"] if self.share > 0.0 else []
        )
        return f"OutcomeRule({', '.join(words)})"

    @property
    def n(self) -> int:
        """The number n of private values."""
        return int(self.tilt.shape[1])

    @property
    def m(self) -> int:
        """The number m of guesses."""
        return int(self.tilt.shape[0])

    def fitted(self, problem: Problem | BlockProblem) -> Self:
        """Return the rule itself; InputError for a tilt of another shape, or a tie that is not an
        outcome.
        """
        real_numbers("rule's tilt", self.tilt, (problem.m, problem.n))
        if self.ties.size and self.ties[-1] >= problem.N:
            raise InputError(
                f"outcome {self.ties[-1]} is listed as a tie, but the problem has "
                f"{problem.N} outcomes"
            )
        return self

    def matrix(self, problem: Problem | BlockProblem) -> Array:
        """Return the rule as a matrix [m, N] of at most 2 GiB; `dense` can write a larger one to a
        file.
        """
        return self.dense(problem.blocks)

    def checked(self, guesses: int) -> Self:
        """Return the rule; InputError for another number of guesses. Everything else was checked
        before.
        """
        if self.m != guesses:
            raise InputError(
                f"the rule has {self.m} guesses and tilt has {guesses} rows; give as many"
            )
        return self

    def members(self) -> dict[str, Array]:
        """Return the fields by name. In solution files, "tilt" refers to the duals."""
        values = {name: np.asarray(getattr(self, name)) for name in RULE_FIELDS}
        return {"rule_tilt": self.tilt, **values}

    def ties_in(self, start: int, count: int) -> slice:
        """Return the slice of ties among the outcomes start … start + count − 1."""
        return slice(*np.searchsorted(self.ties, (start, start + count)).tolist())

    def decisions(self, outcomes: NDArray[np.int64], p_xz: Array, loss: Array) -> Decisions:
        """Return the guesses at outcomes [B] of increasing index, with p_xz [n, B] and loss [m, B],
        provided that no outcome is ignored.

        The label is the first of equally good guesses.
        """
        tilted = in_order_losses(p_xz, loss, self.tilt)
        here = self.ties_in(outcomes[0], outcomes[-1] - outcomes[0] + 1)
        places = np.searchsorted(outcomes, self.ties[here])
        listed = outcomes[places] == self.ties[here]
        places = places[listed]
        columns = self.columns[:, here].compress(listed, axis=1)
        if self.band == 0.0:
            return Decisions.labelled(first_least(tilted), places, columns)
        best, least, second, runner = least_two(tilted)
        mass = p_xz.sum(axis=0)
        with np.errstate(over="ignore"):  # a margin that overflows is larger than any band
            margin = np.divide(
                runner - least, mass, out=np.full_like(mass, np.nan), where=mass > 0.0
            )
        within = np.setdiff1d(np.flatnonzero(margin <= self.band), places)
        columns = np.concatenate(
            [columns, self.tie_classes[(best * self.m + second)[within]].T], axis=1
        )
        places = np.concatenate([places, within])
        return Decisions.labelled(best, places, columns)

    def clear(self, start: int, p_xz: Array, loss: Array, tilt: Array) -> StripSums:
        """Return sums over the clear outcomes; ties are never clear."""
        ties = self.ties[self.ties_in(start, p_xz.shape[1])] - start
        masses = p_xz
        if ties.size:
            masses = p_xz.copy()
            masses[:, ties] = 0.0
        return clear_strips(masses, loss, self.tilt, tilt, self.band)

    def columns_for(self, start: int, p_xz: Array, loss: Array) -> Array:
        """Return Pr(Ŷ = y_i) [m, B] at the outcomes start … start + B − 1, given their p_xz [n, B]
        and loss [m, B].
        """
        drawn = self.decisions(np.arange(start, start + p_xz.shape[1]), p_xz, loss).matrix()
        if self.share:
            drawn *= 1.0 - self.share
            drawn += self.share * self.towards[:, None]
        return drawn

    def blended(self, share: float, towards: Array) -> OutcomeRule:
        """Return this rule with probability 1 − share, otherwise a guess drawn from `towards`
        [m].
        """
        if share == 0.0:
            return self
        ignoring = share + self.share * (1.0 - share)
        guess = (share * towards + (1.0 - share) * self.share * self.towards) / ignoring
        towards = normalise(guess[:, None])[:, 0]
        classes = self.tie_classes if self.band else None
        return OutcomeRule(
            self.tilt, self.ties, self.columns, min(1.0, ignoring), towards, self.band, classes
        )

    def dense(
        self,
        blocks: Blocks,
        out: Array | str | os.PathLike[str] | None = None,
        *,
        overwrite: bool = False,
    ) -> Array:
        """Return the whole estimator [m, N], computed block by block.

        out: an array to fill, the path of an `.npy` file to write (all or nothing; the result is
        mapped from it, read-only), or None for a new array of at most 2 GiB. Raises InputError for
        a wrong shape or too large an array, FileError if the file exists (and `overwrite` is not
        set) or cannot be written.
        """
        shape = (self.m, blocks.N)
        if isinstance(out, str | os.PathLike):
            return self._written(blocks, Path(out), overwrite)
        if out is None:
            if 8 * self.m * blocks.N > 1 << 31:
                raise InputError(
                    f"the estimator of {blocks.N:,} outcomes takes {8 * self.m * blocks.N:,} "
                    "bytes; "
                    "pass out= with the path of an .npy file, or an array of your own"
                )
            out = np.empty(shape)
        if out.shape != shape:
            raise InputError(f"out has shape {list(out.shape)} but the estimator has {list(shape)}")
        for chunk in blocks.chunks():
            out[:, chunk.start : chunk.start + chunk.count] = self.columns_for(
                chunk.start, *chunk.read()
            )
        return out

    def _written(self, blocks: Blocks, target: Path, overwrite: bool) -> Array:
        with replacing(target, overwrite=overwrite) as stream:
            mapped = new_array(stream, (self.m, blocks.N))
            self.dense(blocks, mapped)
            mapped.flush()
        columns: Array = np.load(target, mmap_mode="r", allow_pickle=False)
        return columns


def _tilts(tilt: Any) -> Array:
    tilts = np.array(as_numbers(tilt, "the tilt", "[m, n]"))
    if tilts.ndim != 2 or 0 in tilts.shape:
        raise InputError(f"the tilt has shape {list(tilts.shape)}; give [m, n]")
    bad = np.argwhere(~(np.abs(tilts) <= LARGEST_TILT))
    if bad.size:
        index = tuple(int(k) for k in bad[0])
        raise InputError(
            f"tilt{list(index)} is {tilts[index]}; every entry must be a number of "
            f"at most {LARGEST_TILT:g}"
        )
    return tilts


def _indices(ties: Any) -> NDArray[np.int64]:
    try:
        index = np.asarray(ties)
    except ValueError:  # rows of several lengths
        index = np.zeros((1, 1))
    if index.size == 0:
        return np.zeros(0, dtype=np.int64)
    if index.ndim != 1 or index.dtype.kind not in "iu" or index.min() < 0:
        raise InputError(
            "ties are not a row of indices ≥ 0; give the numbers of the outcomes that are drawn"
        )
    return index.astype(np.int64)


def _columns(columns: Any, m: int, count: int, what: str) -> Array:
    numbers = as_numbers(columns, what, f"{[m, count]}")
    if numbers.shape != (m, count):
        raise InputError(
            f"{what} has shape {list(numbers.shape)} but {m} guesses and {count} "
            f"outcomes need {[m, count]}"
        )
    if count == 0:
        return np.zeros((m, 0))
    drawn = mass_array(numbers, what, 2, "[m, K]")
    check_columns(drawn, what)
    return normalise(drawn)
