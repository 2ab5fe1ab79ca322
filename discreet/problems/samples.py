"""From a table of people to the joint law of a secret, the guessed variable, and the outcomes: bin,
count, smooth.

Every column that is used for guessing is cut at quantiles or at given edges, or kept categorical;
an outcome is a combination of bins (a *cell*) that was observed. Smoothing adds α pseudo-records
per cell, distributed over (x, y) as in the whole sample. Leakage and certificate apply to the
smoothed model; α = 0 keeps the raw frequencies.

The report also maps other people to cells (`SampleReport.outcome_of`), and is stored in files.

Source: docs/theory.md, section 21, which describes the effect of smoothing.
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
from discreet.problems.constraint import Constraint, measure_asked
from discreet.problems.frames import (
    UNKNOWN,
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

REST = -1
"""In `SampleReport.cells`: marks the outcome that gathers the cells with too few records."""

ENOUGH = 5.0
"""Least average number of records for each entry of the joint law p(x, y, cell), by Cochran's rule
for tables of counts (W. G. Cochran, "Some Methods for Strengthening the Common χ² Tests",
Biometrics 10 (1954))."""


class FewRecordsWarning(UserWarning):
    """A table has too few people for its number of cells, so certificates for the model may not
    hold for people.
    """


_LARGEST = 1 << 27  # most entries of a joint tensor: one gigabyte
_AT_ONCE = 1 << 22  # number of distances that are compared together
_FINE = 2.0**30  # resolution of distances, relative to the largest distance of two bins


@dataclass(frozen=True, eq=False)
class Placement:
    """The outcomes of a problem that people belong to.

    outcomes   index of each person's outcome [people]
    fallback   True if the person's cell is not an outcome, so that another outcome is used [people]
    """

    outcomes: Codes
    fallback: NDArray[np.bool_]

    @property
    def fallbacks(self) -> int:
        """The number of people whose cell is not an outcome."""
        return int(self.fallback.sum())

    def __repr__(self) -> str:
        return (
            f"Placement({len(self.outcomes):,} people, {self.fallbacks:,} of them in no cell "
            "of their own)"
        )


@dataclass(frozen=True, eq=False)
class SampleReport:
    """How a table became a model, and which outcome other people belong to.

    records          people who were counted
    dropped          people who were left out because a value was missing, or because their weight
                     is 0
    hide, guess      names of the secrets, and of the guessed column
    private_labels   name of each secret → its values, in the order of its rows of p_xz
    truths, guesses  the values of the guessed column, and the guesses, which are the rows of the
                     loss
    weights          name of the column of weights, or None
    columns          the columns used for guessing, and their bins
    cells            bin per column of every outcome [N, columns]; a row of `REST` is the rest
    counts           records per outcome [N]
    cells_occupied   cells that were observed
    merged_cells     observed cells with under `min_count` records that were gathered into the rest
    smoothing        pseudo-records per cell, α
    min_count        requested least number of records of an outcome
    digest           SHA-256 of the columns that were used
    seed             seed of the random draws of guesses for people; as secret as a password
    date, versions   when it was counted (UTC), and with which versions of libraries
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
        """The product of the numbers of bins."""
        return math.prod(column.bins for column in self.columns)

    @property
    def records_per_number(self) -> float:
        """Records for each entry of the joint law p(x, y, cell), for the secret with the most
        values.
        """
        most = max(map(len, self.private_labels.values()))
        return self.records / (most * len(self.truths) * len(self.counts))

    @property
    def few(self) -> str:
        """A sentence that warns of too few records for the number of cells; empty if there are
        enough.
        """
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
        """The outcome that gathers the cells with too few records, or None."""
        return len(self.cells) - 1 if self.cells[-1, 0] == REST else None

    def outcome_of(self, table: Any) -> Placement:
        """Return the outcomes that people belong to, for a table with at least the columns used for
        guessing; other columns are not read.

        A person whose cell is not an outcome falls back: to the rest if there is one, which gathers
        all cells with too few records; otherwise to the nearest cell. The distance of two cells is
        the sum over the columns of the distances of their bins, from 0 to 1 (`BinnedColumn.apart`);
        a category never seen adds 0. Among several nearest cells, the one with most records is
        chosen. Raises InputError for a column that is missing or of another kind.
        """
        seen = columns_of(table, [column.name for column in self.columns])
        codes = np.stack([column.codes(seen[column.name]) for column in self.columns], axis=1)
        kinds, index = _distinct(codes, [column.bins for column in self.columns])
        place = {cell.tobytes(): k for k, cell in enumerate(self.cells)}
        at = np.array([place.get(kind.tobytes(), UNKNOWN) for kind in kinds], dtype=np.intp)
        unknown = at == UNKNOWN
        if unknown.any():
            at[unknown] = self._nearest(kinds[unknown]) if self.rest is None else self.rest
        return Placement(at[index], unknown[index])

    def _nearest(self, kinds: Codes) -> Codes:
        """Return the nearest cell of each row of bins [k, columns]; among several, the one with
        most records.
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
        # Distances are integers, so that their sums do not depend on the order.
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
class PeopleModel:
    """Counted people in the form that a `Problem` is made from.

    losses        loss masses [guesses, N]
    constraints   one for each secret
    report        how the table was counted
    """

    losses: Array
    constraints: list[Constraint]
    report: SampleReport

    @classmethod
    def of(
        cls, table: Any, *, budget: Any, measure: Any, loss_matrix: Any, **counting: Any
    ) -> PeopleModel:
        """Count a table by `count`, with the budget and the measure of each secret.

        budget and measure apply to all secrets or are mappings from their names; loss_matrix is
        described in `named_losses`. Raises InputError.
        """
        joints, report = count(table, **counting)
        budgets = each_secret(budget, report.hide, "budget", every=True)
        measures = each_secret(measure, report.hide, "measure", every=False)
        constraints = []
        for joint, amount, named in zip(joints, budgets, measures, strict=True):
            chosen = measure_asked(amount, named)
            if chosen is not None and chosen.conditional:
                p_xz = joint.transpose(1, 0, 2)
            else:
                p_xz = joint.sum(axis=1)
            constraints.append(Constraint(p_xz, amount, chosen))
        matrix, guesses = named_losses(loss_matrix, report.truths)
        losses = loss_table(matrix, len(report.truths)).T @ joints[0].sum(axis=0)
        return cls(losses, constraints, replace(report, guesses=guesses))

    def shares(self, fraction: Any) -> list[float]:
        """Return, for each secret, its budget as a share ≥ 0 of the leakage of the Bayes rule.
        Raises InputError.
        """
        shares = each_secret(fraction, self.report.hide, "fraction", every=True)
        return [positive(share, "fraction", zero=True) for share in shares]


def count(
    table: Any,
    *,
    hide: Any,
    guess: Any,
    use: Any = None,
    weights: Any = None,
    binning: Binning | None = None,
    seed: int | None = None,
) -> tuple[tuple[Array, ...], SampleReport]:
    """Count the people of a table (see `frames` for what a table is); return the joint tensor
    p(x, y, z) [n, m, N] of each secret, and the report.

    hide      name of a column of labels that stays hidden, or several names; each column is a
              secret
    guess     name of the column of labels that is guessed
    use       names of the columns to guess from; default: all others
    weights   name of a column of weights ≥ 0: the number of people that each row represents
    seed      see `SampleReport`; by default a new one from the system's generator

    A person with a missing value is left out, or is counted in a bin for missing values
    (`Binning.missing`), except that the guessed value and the weight must be present. Raises
    InputError with advice, also for dates and for labels that are measurements.
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
            "no column is left to be seen; give at least one besides the hidden and guessed columns"
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
    return joints, report


def each_secret(given: Any, names: Sequence[str], what: str, *, every: bool) -> list[Any]:
    """Return the value for each secret, from one value for all secrets or a mapping from their
    names; `every`: True if the mapping must include all names.
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
    """Return the matrix of losses [truths, guesses] and the labels of the guesses.

    losses: None for 0/1 loss, a matrix in the order of the truths, or a mapping truth → guess →
    loss, which may include other guesses ("don't know"); the loss of a correct guess may be
    omitted, and is 0.
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
    """Return a mask of the people who are counted, and their weights scaled to mean 1, or None."""
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
    """Return the values of a column that is hidden or guessed; the missing value comes last, as
    None.
    """
    labels = label_column(values, what).labels()
    refuse_many(labels, values.name)
    return (*labels, None) if values.missing.any() else labels


def _joint(
    x: Codes, y: Codes, cell: Codes, sizes: tuple[int, int, int], masses: Array | None, alpha: float
) -> Array:
    """Return the posterior mean [n, m, N] of the counts under α pseudo-records per cell,
    distributed as p(x, y) of the sample.
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
    """Return the distinct rows of codes [people, columns] ≥ `UNKNOWN`, in lexical order, and the
    index of each row among them.
    """
    key = np.zeros(len(codes), dtype=np.int64)
    most = 1
    for column, count_ in zip(codes.T, bins, strict=True):
        if most > 2**62 // (count_ + 2):  # avoid overflow: replace the keys by their ranks
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            most = len(codes)
        key = key * (count_ + 2) + (column + 2)
        most = most * (count_ + 2)
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return codes[first], index.reshape(-1)


def _gather_rare(cells: Codes, codes: Codes, least: int) -> tuple[Codes, Codes]:
    """Merge cells with fewer than `least` records into one last outcome, whose cell is a row of
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
