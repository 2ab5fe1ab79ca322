"""From a table of people to the joint law of a secret, of what is guessed, and of what is seen:
bin, count, smooth.

Every column that is seen is cut at quantiles or at given edges, or kept categorical; an outcome is
a combination of bins (a *cell*) that was observed. Smoothing adds α pseudo-records per cell, spread
over (x, y) as in the whole sample. Leakage and certificate are those of the smoothed model; α = 0
keeps the raw frequencies.

The report of the counting also places other people in the cells (`SampleReport.outcome_of`), and is
kept in files.

Source: docs/theory.md, section 21, which says what smoothing does.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import brief, loss_table, nearest, positive, whole
from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.numerics.double_double import Array
from discreet.problems.binning import BinnedColumn, Binning
from discreet.problems.constraint import Constraint
from discreet.problems.frames import (
    Codes,
    Values,
    columns_of,
    digest_of,
    label_column,
    names_of,
    one_or_several,
    plain,
    refuse_many,
    title,
)
from discreet.problems.provenance import date_now, version_of
from discreet.problems.stacking import measure_asked

REST = -1
"""In `SampleReport.cells`: the outcome that gathers the cells with too few records."""

ENOUGH = 5.0
"""Records for each number of the joint law p(x, y, cell) on average; fewer are few, by Cochran's
rule for tables of counts (W. G. Cochran, "Some Methods for Strengthening the Common χ² Tests",
Biometrics 10 (1954))."""


class FewRecordsWarning(UserWarning):
    """The people of a table are few for so many cells, so what is certified for the model need not
    hold for people.
    """


_LARGEST = 1 << 27  # entries of a joint tensor: a gigabyte
_AT_ONCE = 1 << 22  # distances that are compared together
_FINE = 2.0**30  # parts of the largest distance of two bins that are told apart


@dataclass(frozen=True, eq=False)
class Placement:
    """Where people belong among the outcomes of a problem.

    outcomes   index of each person's outcome [people]
    fallback   whether the person has no cell of its own, so that another outcome stands in [people]
    """

    outcomes: Codes
    fallback: NDArray[np.bool_]

    @property
    def fallbacks(self) -> int:
        """How many people have no cell of their own."""
        return int(self.fallback.sum())

    def __repr__(self) -> str:
        return (
            f"Placement({len(self.outcomes):,} people, {self.fallbacks:,} of them in no cell "
            "of their own)"
        )


@dataclass(frozen=True, eq=False)
class SampleReport:
    """How a table became a model, and where other people belong in it.

    records          people who were counted
    dropped          people who were left out because a value was missing, or because they weigh
                     nothing
    hide, guess      names of the secrets, and of what is guessed
    private_labels   name of each secret → its values, in the order of its rows of p_xz
    truths, guesses  the values of what is guessed, and the guesses, the rows of the loss
    weights          name of the column of weights; None without one
    columns          the columns that are seen, and their bins
    cells            bin per column of every outcome [N, columns]; a row of `REST` is the rest
    counts           records per outcome [N]
    cells_occupied   cells that were observed
    merged_cells     observed cells with under `min_count` records that were gathered into the rest
    smoothing        pseudo-records per cell, α
    min_count        least number of records of an outcome asked for
    digest           SHA-256 of the columns that were used
    seed             decides the coins by which guesses are drawn for people; as secret as a
                     password
    date, versions   when it was counted (UTC), and by what
    """

    records: int
    dropped: int
    hide: tuple[str, ...]
    guess: str
    private_labels: Mapping[str, tuple[Any, ...]]
    truths: tuple[Any, ...]
    guesses: tuple[Any, ...]
    weights: str | None
    columns: tuple[BinnedColumn, ...]
    cells: Codes
    counts: Codes
    cells_occupied: int
    merged_cells: int
    smoothing: float
    min_count: int
    digest: str
    seed: int
    date: str
    versions: Mapping[str, str]

    @property
    def cells_possible(self) -> int:
        """Product of the numbers of bins."""
        return math.prod(column.bins for column in self.columns)

    @property
    def records_per_number(self) -> float:
        """Records for each number of the joint law p(x, y, cell), of the secret with the most
        values.
        """
        most = max(map(len, self.private_labels.values()))
        return self.records / (most * len(self.truths) * len(self.counts))

    @property
    def few(self) -> str:
        """A sentence if the records are few for so many cells; else empty."""
        if self.records_per_number >= ENOUGH:
            return ""
        most = max(map(len, self.private_labels.values()))
        return (
            f"{self.records:,} people are few for {len(self.counts):,} cells of {most} × "
            f"{len(self.truths)} values "
            f"({self.records_per_number:.2g} for each number, {ENOUGH:g} are a usual minimum), so "
            "what is certified for "
            "this model need not hold for people; take fewer columns (use=), fewer bins or a "
            "larger min_count, and evaluate "
            "the rule on people apart"
        )

    @cached_property
    def rest(self) -> int | None:
        """The outcome that gathers the cells with too few records; None without one."""
        return len(self.cells) - 1 if self.cells[-1, 0] == REST else None

    def outcome_of(self, table: Any) -> Placement:
        """Where people belong: a table with at least the columns that are seen, of which no other
        is read.

        A person whose cell is no outcome falls back: to the rest if there is one, which gathers all
        cells of too few records; else to the nearest cell. The distance of two cells is the sum
        over the columns of how far the bins are apart, from 0 to 1 (`BinnedColumn.apart`); a
        category never seen says nothing about it. Of several nearest cells the one with most
        records is taken. Raises InputError for a column that is missing or of another kind.
        """
        seen = columns_of(table, [column.name for column in self.columns])
        codes = np.stack([column.codes(seen[column.name]) for column in self.columns], axis=1)
        kinds, index = _distinct(codes, [column.bins for column in self.columns])
        at = np.zeros(len(kinds), dtype=np.intp)
        known = np.zeros(len(kinds), dtype=bool)
        place = {cell.tobytes(): k for k, cell in enumerate(np.ascontiguousarray(self.cells))}
        for k, kind in enumerate(np.ascontiguousarray(kinds)):
            found = place.get(kind.tobytes())
            known[k] = found is not None
            at[k] = found or 0
        if not known.all():
            at[~known] = self._nearest(kinds[~known]) if self.rest is None else self.rest
        return Placement(at[index], ~known[index])

    def _nearest(self, kinds: Codes) -> Codes:
        """The nearest cell of each row of bins [k, columns], the one with most
        records of several.
        """
        order = np.argsort(-self.counts, kind="stable")
        cells = np.concatenate(
            [
                np.equal.outer(np.arange(each.bins), codes)
                for each, codes in zip(self.columns, self.cells[order].T, strict=True)
            ]
        ).astype(np.float64)
        apart = np.concatenate(
            [each.apart(codes) for each, codes in zip(self.columns, kinds.T, strict=True)], axis=1
        )
        # Whole numbers, so that equal distances are equal in any order of the sum.
        apart = np.round(apart * _FINE)
        step = max(1, _AT_ONCE // len(order))
        parts = (apart[start : start + step] @ cells for start in range(0, len(kinds), step))
        return np.concatenate([order[distances.argmin(axis=1)] for distances in parts])

    def __repr__(self) -> str:
        return (
            f"SampleReport({self.records:,} records, {self.dropped:,} dropped, "
            f"{len(self.columns)} columns, "
            f"{len(self.counts):,} outcomes of {self.cells_possible:,} possible cells, "
            f"{self.merged_cells} cells and "
            f"{sum(column.merged for column in self.columns)} edges merged, smoothing "
            f"{self.smoothing:g})"
        )


@dataclass(frozen=True, eq=False)
class Counted:
    """Counted people: the joint tensor p(x, y, z) [n, m, N] of each secret, and the report."""

    joints: tuple[Array, ...]
    report: SampleReport


@dataclass(frozen=True, eq=False)
class PeopleModel:
    """Counted people as what a `Problem` is made of.

    losses        loss masses [guesses, N]
    constraints   one for each secret, without a bound
    budgets       the budget given for each secret
    report        how the table was counted
    """

    losses: Array
    constraints: list[Constraint]
    budgets: list[Any]
    report: SampleReport

    @classmethod
    def of(
        cls, table: Any, *, budget: Any, measure: Any, loss_matrix: Any, **counting: Any
    ) -> PeopleModel:
        """Count a table by `count`, with the budget and the measure of each secret.

        budget and measure are one for all secrets or a mapping from their names; loss_matrix is
        that of `named_losses`. Raises InputError.
        """
        counted = count(table, **counting)
        report = counted.report
        budgets = each_secret(budget, report.hide, "budget", every=True)
        measures = each_secret(measure, report.hide, "measure", every=False)
        constraints = []
        for joint, amount, named in zip(counted.joints, budgets, measures, strict=True):
            chosen = measure_asked(amount, named)
            if chosen is not None and chosen.conditional:
                p_xz = joint.transpose(1, 0, 2)
            else:
                p_xz = joint.sum(axis=1)
            constraints.append(Constraint(p_xz, math.inf, chosen))
        matrix, guesses = named_losses(loss_matrix, report.truths)
        losses = loss_table(matrix, len(report.truths)).T @ counted.joints[0].sum(axis=0)
        return cls(losses, constraints, budgets, replace(report, guesses=guesses))

    def shares(self, fraction: Any) -> list[float]:
        """The share of what the Bayes rule leaks that each secret may leak, each ≥ 0. Raises
        InputError.
        """
        shares = each_secret(fraction, self.report.hide, "fraction", every=True)
        return [positive(share, "fraction", zero=True) for share in shares]

    @property
    def few(self) -> FewRecordsWarning | None:
        """The warning that there are few people for so many cells; None if there are enough."""
        return FewRecordsWarning(self.report.few) if self.report.few else None


def count(
    table: Any,
    *,
    hide: Any,
    guess: Any,
    use: Any = None,
    weights: Any = None,
    binning: Binning | None = None,
    seed: int | None = None,
) -> Counted:
    """Count the people of a table (see `frames` for what a table is).

    hide      the name of a column of labels that stays hidden, or several; each is a secret
    guess     the name of the column of labels that is guessed
    use       names of the columns that are seen; by default all others
    weights   the name of a column of weights ≥ 0: how many people each stands for
    seed      see `SampleReport`; by default a new one from the system's generator

    A person of whom a value is missing is left out, or is counted in a bin for that
    (`Binning.missing`), but never without the guess or the weight. Raises InputError, with what to
    do, also for dates and for labels that are measurements.
    """
    secret = one_or_several(hide, "hide")
    target = _one(guess, "guess")
    weight = None if weights is None else _one(weights, "weights")
    named = [*secret, target, *([] if weight is None else [weight])]
    seen = (
        [name for name in names_of(table) if name not in named]
        if use is None
        else list(one_or_several(use, "use"))
    )
    if target in secret or target in seen or weight in {*secret, target, *seen}:
        raise InputError(
            f"one column is named for two things (hide {brief(list(secret))}, guess "
            f"{brief(target)}, use {brief(seen)}, "
            f"weights {brief(weight)}); only a hidden column may also be seen"
        )
    if not seen:
        raise InputError(
            "no column is left to be seen; give at least one beside those that are "
            "hidden and guessed"
        )
    columns = columns_of(table, [*named, *(name for name in seen if name not in named)])
    chosen = (binning or Binning()).checked(seen)
    kept, masses = _select_people(columns, target, weight, chosen.missing == "category")
    columns = {name: values.kept(kept) for name, values in columns.items()}
    truths = _labels(columns[target], "guessed")
    private = {name: _labels(columns[name], "hidden") for name in secret}
    binned = tuple(chosen.column(columns[name]) for name in seen)
    cells, codes = _distinct(
        np.stack([each.codes(columns[each.name]) for each in binned], axis=1),
        [each.bins for each in binned],
    )
    occupied = len(cells)
    cells, codes = _gather_rare(cells, codes, chosen.min_count)
    y_codes = columns[target].codes(truths)
    joints = tuple(
        _joint(
            columns[name].codes(labels),
            y_codes,
            codes,
            (len(labels), len(truths), len(cells)),
            masses,
            chosen.smoothing,
        )
        for name, labels in private.items()
    )
    totals = np.bincount(codes, minlength=len(cells))
    for array in (cells, totals):
        array.setflags(write=False)
    report = SampleReport(
        records=int(kept.sum()),
        dropped=int((~kept).sum()),
        hide=secret,
        guess=target,
        private_labels=private,
        truths=truths,
        guesses=truths,
        weights=weight,
        columns=binned,
        cells=cells,
        counts=totals,
        cells_occupied=occupied,
        merged_cells=int(occupied - (cells[:, 0] != REST).sum()),
        smoothing=float(chosen.smoothing),
        min_count=int(chosen.min_count),
        digest=digest_of(columns.values()),
        seed=secrets.randbits(128) if seed is None else whole(seed, "seed", 0, (1 << 128) - 1),
        date=date_now(),
        versions={library: version_of(library) for library in ("discreet", "numpy")},
    )
    return Counted(joints, report)


def each_secret(given: Any, names: Sequence[str], what: str, *, every: bool) -> list[Any]:
    """What is given for each secret: one value for all, or a mapping from their names; `every`:
    which must name all.
    """
    if not isinstance(given, Mapping):
        return [given] * len(names)
    values = {title(name): value for name, value in given.items()}
    for name in values:
        if name not in names:
            raise InputError(
                f"{what} names {brief(name)}, which is not hidden{nearest(name, names)}; hidden: "
                f"{', '.join(names)}"
            )
    lacking = [name for name in names if name not in values]
    if lacking and every:
        raise InputError(
            f"{what} says nothing about the hidden column {brief(lacking[0])}; name "
            "every hidden column"
        )
    return [values.get(name) for name in names]


def named_losses(losses: Any, truths: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The matrix of losses [truths, guesses] and the labels of the guesses.

    losses: None for 0/1, a matrix in the order of the truths, or a mapping truth → guess → loss,
    whose guesses may be others too ("don't know"); the loss of the guess that is the truth may be
    left out, and is 0.
    """
    if not isinstance(losses, Mapping):
        columns = np.shape(losses)[1] if np.ndim(losses) == 2 else len(truths)
        return losses, truths if columns == len(truths) else tuple(range(columns))
    losses_of = {plain(truth): row for truth, row in losses.items()}
    wrong = [truth for truth in truths if not isinstance(losses_of.get(truth), Mapping)] + [
        t for t in losses_of if t not in truths
    ]
    if wrong:
        raise InputError(
            f"loss_matrix does not fit the value {brief(wrong[0])}; give a mapping guess → loss "
            "for each of "
            f"{brief(list(truths))}"
        )
    rows = {
        truth: {plain(guess): loss for guess, loss in row.items()}
        for truth, row in losses_of.items()
    }
    guesses = tuple(dict.fromkeys([*truths, *(guess for truth in truths for guess in rows[truth])]))
    for truth in truths:
        rows[truth].setdefault(truth, 0.0)
        lacking = [guess for guess in guesses if guess not in rows[truth]]
        if lacking:
            raise InputError(
                f"loss_matrix lacks the loss of the guess {brief(lacking[0])} when "
                f"the truth is {brief(truth)}"
            )
    return [[rows[truth][guess] for guess in guesses] for truth in truths], guesses


def _one(name: Any, what: str) -> str:
    names = one_or_several(name, what)
    if len(names) != 1:
        raise InputError(f"{what} is {brief(name)}; give the name of one column")
    return names[0]


def _select_people(
    columns: Mapping[str, Values], target: str, weight: str | None, keep: bool
) -> tuple[NDArray[np.bool_], Array | None]:
    """Who is counted, and their weights of mean 1; None without weights."""
    people = len(columns[target])
    always = [name for name in (target, weight) if name is not None]
    lost = [values.missing for name, values in columns.items() if not keep or name in always]
    kept = ~np.logical_or.reduce(lost)
    masses = None
    if weight is not None:
        numbers = columns[weight].numbers
        if (
            numbers is None
            or not (numbers[~columns[weight].missing] >= 0.0).all()
            or np.isinf(numbers).any()
        ):
            raise InputError(
                f"the weights {brief(weight)} are not all finite numbers ≥ 0; give "
                "one for each person"
            )
        kept &= numbers > 0.0
        masses = numbers[kept]
    if not kept.any():
        raise InputError(
            f"none of the {people} people is complete; give at least one with a value in every "
            "column that is used, or take "
            "missing='category'"
        )
    return kept, None if masses is None else np.asarray(masses / masses.mean())


def _labels(values: Values, what: str) -> tuple[Any, ...]:
    """The values of a column that is hidden or guessed; a missing one comes last, as None."""
    labels = label_column(values, what).labels()
    refuse_many(labels, values.name)
    return (*labels, None) if values.missing.any() else labels


def _joint(
    x: Codes, y: Codes, cell: Codes, sizes: tuple[int, int, int], masses: Array | None, alpha: float
) -> Array:
    """Posterior mean [n, m, N] of the counts under α pseudo-records per cell, spread as p(x, y) of
    the sample.
    """
    if math.prod(sizes) > _LARGEST:
        raise InputError(
            f"{sizes[0]:,} hidden values, {sizes[1]:,} guessed ones and {sizes[2]:,} cells make "
            f"{math.prod(sizes):,} "
            f"entries and the limit is {_LARGEST:,}; merge rare values, or take fewer bins or a "
            "larger min_count"
        )
    flat = np.ravel_multi_index((x, y, cell), sizes)
    counts = np.bincount(flat, weights=masses, minlength=math.prod(sizes)).reshape(sizes)
    overall = counts.sum(axis=2, keepdims=True) / counts.sum()
    model = counts + alpha * overall
    return np.asarray(model / model.sum())


# -- cells
# --------------------------------------------------------------------------------------------------


def _distinct(codes: Codes, bins: Sequence[int]) -> tuple[Codes, Codes]:
    """The distinct rows of codes [people, columns] ≥ `UNKNOWN`, in lexical order, and the place of
    each row among them.
    """
    key = np.zeros(len(codes), dtype=np.int64)
    most = 1
    for column, count_ in zip(codes.T, bins, strict=True):
        if most > 2**62 // (count_ + 2):  # before the keys overflow: the same order by smaller ones
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            most = len(codes)
        key = key * (count_ + 2) + (column + 2)
        most = most * (count_ + 2)
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return codes[first], index.reshape(-1)


def _gather_rare(cells: Codes, codes: Codes, least: int) -> tuple[Codes, Codes]:
    """Merge cells with fewer than `least` records into one outcome, the last; its cell is a row of
    `REST`.
    """
    counts = np.bincount(codes, minlength=len(cells))
    order = np.argsort(counts, kind="stable")
    total = np.cumsum(counts[order])
    rare = int((counts < least).sum())
    while 0 < rare < len(cells) and total[rare - 1] < least:
        rare += 1
    if rare == 0:
        return cells, codes
    common = np.ones(len(cells), dtype=bool)
    common[order[:rare]] = False
    index = np.where(common, np.cumsum(common) - 1, common.sum())
    rest = np.full((1, cells.shape[1]), REST, dtype=np.intp)
    return np.concatenate([cells[common], rest]), index[codes]
