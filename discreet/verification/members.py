"""Stored problems and solutions: files of any program, members by name, or objects; read in parts.

Nothing is unpickled, and nothing that a file claims about itself is trusted.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial, reduce
from typing import Any

import numpy as np

from discreet.verification.exact import Array, Sums, add, bits_for, integers, pieces
from discreet.verification.measures import ExactMeasure, measure_of

ROUNDED = 2.0**-50  # Σ a counts as one within this
# Σ a and the column sums of an estimator must be one within this.
TOLERANCE = 1e-9
LARGEST = 1e200  # larger losses, tilts and finite multipliers are refused

# A shape, and a function that reads columns: (start, count) → doubles.
_Member = tuple[tuple[int, ...], Callable[[int, int], Array]]


def proper(columns: Array, start: int) -> Array:
    """Return the columns of an estimator unchanged after checking that they are ≥ 0 with sum 1."""
    wrong = (columns < 0.0).any(axis=0) | ~(np.abs(columns.sum(axis=0) - 1.0) <= TOLERANCE)
    if wrong.any():
        raise ValueError(
            f"column {start + wrong.argmax()} of the estimator is not ≥ 0 with sum 1 "
            "within 1e-9; correct it"
        )
    return columns


def least_of(values: Array) -> tuple[Array, Array, Array]:
    """Return the row of the least entry of each column (the first of several); that entry, which is
    overwritten by inf; and the least of the other entries.
    """
    label = values.argmin(axis=0)
    index = np.arange(values.shape[1])
    first = values[label, index]
    values[label, index] = math.inf
    return label, first, values.min(axis=0)


@dataclass(frozen=True)
class StoredTerm:
    """A constraint: rows of p_xz, slices of them that have a prior of their own, a measure and its
    budget.
    """

    rows: slice
    groups: tuple[slice, ...]
    measure: ExactMeasure
    budget: float

    @classmethod
    def of(cls, start: int, sizes: list[int], measure: Any, budget: Any) -> StoredTerm:
        """Return the constraint on stacked groups of rows of these sizes; ValueError if it is not
        valid.
        """
        if not isinstance(budget, int | float) or not budget >= 0.0:
            raise ValueError(f"the budget is {budget}; give one ≥ 0, inf for no constraint")
        named = measure_of(str(measure or "mutual-information"))
        if (
            not sizes
            or not all(isinstance(size, int) and size > 0 for size in sizes)
            or len(sizes) > 1 > named.groups
        ):
            raise ValueError(
                f"{named.name} has the groups of rows {sizes}; give one, or of a "
                "conditional measure several"
            )
        ends = [start + sum(sizes[:k]) for k in range(len(sizes) + 1)]
        return cls(
            slice(start, ends[-1]), tuple(map(slice, ends[:-1], ends[1:])), named, float(budget)
        )


@dataclass(frozen=True)
class StoredModel:
    """A problem of n private values, m guesses and N outcomes."""

    n: int
    m: int
    N: int
    terms: tuple[StoredTerm, ...]
    # Yields the index of the first outcome, and p_xz stacked on the loss [n + m, B].
    parts: Callable[[], Iterator[tuple[int, Array]]]


@dataclass(frozen=True)
class StoredAnswer:
    """An estimator and its duals."""

    columns: Callable[[int, Array], Array]  # (first outcome, entries) → new columns [m, B]
    rational: Mapping[int, Array]  # outcome → column of fractions [m]
    share: Fraction
    towards: Array
    tilt: Array
    multipliers: list[float]


def members_of(source: Any, files: ExitStack) -> dict[str, _Member]:
    """Return the arrays of an `.npz` file, or of a mapping, by name."""
    if isinstance(source, str | os.PathLike):
        if not os.path.exists(source):
            raise ValueError(f"{source} does not exist; give an .npz file")
        if not os.path.isfile(source):  # reading a pipe could block
            raise ValueError(f"{source} is not an ordinary file; give an .npz file")
        archive = files.enter_context(zipfile.ZipFile(source))
        if not len(set(archive.namelist())) == len(archive.infolist()) <= 100:
            raise ValueError(
                f"{archive.filename} has two members of the same name, or more than "
                "100; keep one of each"
            )
        members = {
            info.filename.removesuffix(".npy"): _open_member(archive, info, files)
            for info in archive.infolist()
        }
    else:
        arrays = {name: np.atleast_1d(values) for name, values in dict(source).items()}
        members = {name: (each.shape, partial(_doubles, each)) for name, each in arrays.items()}
    if "version" in members and members["version"][1](0, 1) != 1:
        raise ValueError("the file has another version than 1; check it with a newer discreet")
    return members


def _doubles(array: Array, start: int, count: int) -> Array:
    """Return columns as doubles of the same value; a text is not changed."""
    kind = "masked" if np.ma.isMaskedArray(array) else array.dtype.kind
    part = array[..., start : start + count]
    if (
        kind not in "fiubU"
        or (kind == "f" and array.itemsize > 8)
        or (kind in "iu" and (abs(part) > 2**53).any())
    ):
        raise ValueError(
            f"elements that are masked or of type {array.dtype} are not doubles; give "
            "arrays of float64"
        )
    return part if kind == "U" else np.asarray(part, dtype=np.float64)


def _open_member(archive: Any, info: zipfile.ZipInfo, files: ExitStack) -> _Member:
    """Return a member of an `.npz`, which is read a few columns at a time. Nothing is unpickled."""
    with archive.open(info) as stream:
        header = f"read_array_header_{min(2, np.lib.format.read_magic(stream)[0])}_0"
        shape, fortran, dtype = getattr(np.lib.format, header)(stream)
        offset = stream.tell()
        shape = shape or (1,)
        rows, together = (1, math.prod(shape[:-1])) if fortran else (math.prod(shape[:-1]), 1)
        step = together * dtype.itemsize
        size = offset + math.prod(shape) * dtype.itemsize
        if dtype.hasobject or rows > 10_000 or step > 1 << 26 or size != info.file_size:
            raise ValueError(
                f"{archive.filename}: {info.filename} holds no numbers of shape "
                f"{list(shape)}; write it again"
            )
        # zipfile compares the checksum at the end of the member.
        if offset + sum(map(len, iter(partial(stream.read, 1 << 20), b""))) != size:
            raise ValueError(
                f"{archive.filename}: {info.filename} ends before its shape does; write it again"
            )
    # One stream for each row.
    opened: Callable[[int], Any] = cache(lambda _: files.enter_context(archive.open(info)))
    # An uncompressed member is read from the file itself, where seeking is fast.
    if info.compress_type == zipfile.ZIP_STORED and info.compress_size == size:
        archive.fp.seek(info.header_offset + 26)
        # The lengths of its name and of its extra field.
        between = sum(np.frombuffer(archive.fp.read(4), "<u2").tolist())
        offset = info.header_offset + 30 + between + offset
        opened = lambda _: archive.fp  # noqa: E731

    def take(start: int, count: int) -> Array:
        raw = np.empty((rows, count * step), np.uint8)
        for row in range(rows):
            opened(row).seek(offset + (row * shape[-1] + start) * step)
            raw[row] = np.frombuffer(opened(row).read(count * step), np.uint8)
        return _doubles(
            raw.view(dtype).reshape((*shape[:-1], count), order="F" if fortran else "C"), 0, count
        )

    return shape, take


def _row(values: Any) -> list[Any]:
    """Return the entries of a list; a single value becomes a list of one."""
    return list(values) if isinstance(values, list | tuple) else [values]


def _read_constraints(
    source: Any, members: Mapping[str, _Member], n: int
) -> list[tuple[list[int], Any, Any]]:
    """Return, for every constraint, the sizes of its groups of rows, its measure (None: mutual
    information), and its budget.
    """
    if hasattr(source, "terms"):
        return [
            ([one.stop - one.start for one in each.groups], each.measure, each.budget.amount)
            for each in source.terms
        ]
    if "constraint" not in members:
        budget = (
            members["budget"][1](0, members["budget"][0][-1]).item()
            if "budget" in members
            else None
        )
        return [([n], None, budget)]
    document = json.loads(str(members["constraint"][1](0, 1)[0]))
    several = [{"groups": [n], **each} for each in _row(document)]
    if (
        "budget" in members
        or not several
        or any(set(each) != {"groups", "measure", "budget"} for each in several)
    ):
        raise ValueError(
            "the problem needs a budget, or a constraint of measure and budget; keep one"
        )
    return [(each["groups"], each["measure"], each["budget"]) for each in several]


def _terms(
    constraints: list[tuple[list[int], Any, Any]], budget: Any, measure: Any, n: int
) -> tuple[StoredTerm, ...]:
    """Return the stated constraints, stacked, with the budget and measure replaced if others are
    given.
    """
    unchanged = [None] * len(constraints)
    budgets = unchanged if budget is None else _row(budget)
    measures = unchanged if measure is None else [measure]
    if not len(budgets) == len(measures) == len(constraints):
        raise ValueError(
            f"the problem has {len(constraints)} constraints; give a budget for each, and no "
            "measure"
        )
    terms: list[StoredTerm] = []
    for (sizes, named, own), asked, other in zip(constraints, measures, budgets, strict=True):
        start = terms[-1].rows.stop if terms else 0
        terms.append(StoredTerm.of(start, sizes, asked or named, own if other is None else other))
    if terms[-1].rows.stop != n:
        raise ValueError(
            f"the constraints are about {terms[-1].rows.stop} rows and p_xz has {n}; "
            "correct the groups"
        )
    return tuple(terms)


def model_of(source: Any, budget: Any, measure: Any, files: ExitStack) -> StoredModel:
    """Return the problem of a file, a mapping, a Problem or a BlockProblem."""
    blocks = getattr(source, "blocks", None)
    members = {}
    arrays = []
    if blocks is not None:
        n = blocks.n
        m = blocks.m
        size = blocks.N
    elif hasattr(source, "terms") and not hasattr(source, "p_xz"):
        raise ValueError(
            f"a {type(source).__name__} is not a problem of outcomes; give a Problem, a "
            "BlockProblem or a file"
        )
    else:
        own = {"p_xz": source.p_xz, "loss": source.loss} if hasattr(source, "p_xz") else source
        members = members_of(own, files)
        arrays = [members[name] for name in ("joint", "p_xz", "loss") if name in members]
        shapes = [shape for shape, _ in arrays]
        if [len(s) for s in shapes] not in ([3], [2, 2]) or len({s[-1] for s in shapes}) > 1:
            raise ValueError(
                f"the shapes are {shapes}; give joint [n, m, N], or p_xz [n, N] and loss [m, N]"
            )
        n = shapes[0][0]
        m, size = shapes[-1][-2:]
    terms = _terms(_read_constraints(source, members, n), budget, measure, n)
    joint = len(arrays) == 1
    rows = n * m if joint else n + m
    step = max(32, min((1 << 15) // rows, (1 << 18) // (rows * m)))  # caches hold a step

    def read() -> Iterator[tuple[int, Sequence[Array]]]:
        if blocks is not None:
            for chunk in blocks.chunks():
                yield chunk.start, chunk.read()
            return
        block = -(-(1 << 18) // rows)
        for start in range(0, size, block):
            count = min(block, size - start)
            yield start, [take(start, count) for _, take in arrays]

    def parts() -> Iterator[tuple[int, Array]]:
        for start, several in read():
            masses = np.concatenate(several).reshape(rows, -1)
            if not (0.0 <= masses.min() and masses.max() <= LARGEST):
                raise ValueError(f"the problem has an entry not in [0, {LARGEST:g}]; correct it")
            if joint:
                masses = _of_joint(masses.reshape(n, m, -1))
            for at in range(0, masses.shape[1], step):
                yield start + at, masses[:, at : at + step]

    model = StoredModel(n, m, size, terms, parts)
    return model if hasattr(source, "terms") else _of_total_one(model)


def _of_joint(joint: Array) -> Array:
    """Return p_xz stacked on the loss [n + m, B] for a joint tensor [n, m, B]; sums are added from
    the left.
    """
    own = reduce(np.add, joint)  # the loss of a guess is all mass but that of its own y
    losses = [reduce(np.add, np.delete(own, i, axis=0), 0.0 * own[0]) for i in range(len(own))]
    return np.concatenate([reduce(np.add, joint.swapaxes(0, 1)), losses])


def _of_total_one(model: StoredModel) -> StoredModel:
    """Return the model divided, in doubles, by every total that differs from 1 by more than
    rounding; the loss is divided by the total of the first constraint.
    """
    sums: Sums = {0: np.zeros((1, model.n), np.int64)}
    for _, part in model.parts():
        add(
            sums,
            [(0, np.ones((1, part.shape[1])))],
            pieces(part[: model.n], bits_for(part.shape[1], model.N)),
        )
    whole, unit = integers(sums)
    totals = [float(whole[0, term.rows].sum() * unit) for term in model.terms]
    by = [total if ROUNDED < abs(total - 1.0) <= TOLERANCE else 1.0 for total in totals]
    if set(by) == {1.0}:
        return model
    sizes = [term.rows.stop - term.rows.start for term in model.terms]
    column = np.repeat([*by, by[0]], [*sizes, model.m])[:, None]
    return replace(model, parts=lambda: ((start, part / column) for start, part in model.parts()))


def answer_of(source: Any, model: StoredModel, files: ExitStack) -> StoredAnswer:
    """Return the solution of a file, a mapping, an estimator [m, N] or a Solution."""
    arrays = {"estimator": source} if isinstance(source, np.ndarray) else source
    members = members_of(source.members() if hasattr(source, "members") else arrays, files)
    n = model.n
    m = model.m
    small = partial(_small, members)
    whole = members.get("estimator")
    (share,) = small("share", 1, most=1.0)
    (band,) = small("band", 1)
    prices = small("multiplier", len(model.terms), most=math.inf)
    count = members["ties"][0] if "ties" in members else (0,)
    ties = small("ties", *count, most=model.N - 1)
    complete = whole[0] == (m, model.N) if whole is not None else "rule_tilt" in members
    priced = ((prices <= LARGEST) | np.isinf(prices)).all()
    listed_once = len({*map(int, ties)} & {*ties}) == ties.size
    if not (complete and priced and listed_once) or min(share, band, *prices, *ties) < 0:
        raise ValueError(
            f"the solution needs an estimator {[m, model.N]} or a rule_tilt, all "
            "else ≥ 0, each of ties once"
        )
    decide = small("rule_tilt", m, n)
    classes = small("tie_classes", m * m, m)
    drawn = small("columns", m, ties.size)
    rational = _exact_columns(members, model)

    def columns(start: int, part: Array) -> Array:
        end = start + part.shape[1]
        if whole is not None:
            own = whole[1](start, part.shape[1]).copy()
        else:
            own = _by_rule(decide, band, classes, part, n)
        here = (ties >= start) & (ties < end)
        own[:, (ties[here] - start).astype(int)] = drawn[:, here]
        positions = [tie - start for tie in rational if start <= tie < end]
        own[:, positions] = np.eye(m)[:, :1]
        return own

    towards = _towards(small("towards", m) if share else np.eye(m)[0])
    tilt = small("tilt", m, n)
    return StoredAnswer(columns, rational, Fraction(share), towards, tilt, prices.tolist())


def _small(members: Mapping[str, _Member], name: str, *shape: int, most: float = LARGEST) -> Array:
    """Return a member of this shape with entries up to `most` in size, zeros if it is absent;
    ValueError for anything else.
    """
    if name not in members:
        return np.zeros(shape)
    size, take = members[name]
    if size == shape and math.prod(size) <= 1 << 24:
        values = take(0, shape[-1])
        if values.dtype.kind != "U" and (np.abs(values) <= most).all():
            return values
    raise ValueError(
        f"{name} of the solution is not {list(shape)} with entries up to {most:g}; correct it"
    )


def _towards(law: Array) -> Array:
    """Return the law of a guess [m] as fractions with sum 1."""
    fractions = np.array([Fraction(p) for p in proper(law[:, None], 0)[:, 0]])
    fractions[fractions.argmax()] += 1 - fractions.sum()
    return fractions


def _exact_columns(members: Mapping[str, _Member], model: StoredModel) -> dict[int, Array]:
    """Return outcome → column of fractions [m], if a file states columns as integers."""
    if "exact_columns" not in members:
        return {}
    texts = json.loads(str(members["exact_columns"][1](0, 1)[0]))
    refusal = ValueError(
        f"exact_columns is not, for some outcomes, {model.m} integers ≥ 0 in texts; correct it"
    )
    columns = {}
    for text in texts:
        outcome = int(text)
        if text != str(outcome) or not 0 <= outcome < model.N:
            raise refusal
        weights = [int(str(weight), 0) for weight in texts[text]]
        if len(weights) != model.m or min(weights) < 0:
            raise refusal
        columns[outcome] = np.array([Fraction(weight, sum(weights)) for weight in weights])
    return columns


@np.errstate(all="ignore")
def _by_rule(tilt: Array, band: float, classes: Array, entries: Array, n: int) -> Array:
    """Return the columns [m, B] of a rule, whose labels and tie classes are decided in doubles."""
    a = entries[:n]
    value = entries[n:] + tilt[:, :1] * entries[:1]
    mass = entries[0]
    for j in range(1, n):
        value = value + tilt[:, j : j + 1] * a[j]
        mass = mass + a[j]
    best, smallest, second = least_of(value)
    columns = np.eye(len(value))[:, best]
    tied = np.divide(
        second - smallest, mass, out=np.full(mass.size, math.inf), where=mass > 0.0
    ) <= (band or -1.0)
    columns[:, tied] = classes[best[tied] * len(value) + value.argmin(axis=0)[tied]].T
    return columns
