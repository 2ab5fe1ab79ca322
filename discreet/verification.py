"""The second opinion: what is true of a solution, by rational numbers and ball arithmetic alone, in one file.

It shares no line with solvers or judge and imports the standard library, NumPy and python-flint. Stored doubles are exact.
Source: docs/theory.md, sections 3 and 5; balls: F. Johansson, "Arb", IEEE Transactions on Computers 66 (2017).

**What is meant**
  problem    p(x_j, z_l) = a_jl / τ and loss mass L_il / τ with τ = Σ a, which must be 1 within 1e-9. Of a joint tensor
             a_jl = Σ_i p_jil and L_il = Σ_{k≠i} Σ_j p_jkl, 0/1 loss.
  estimator  P_il = Pr(Ŷ = y_i given z_l) as stored, but for the likeliest guess of every column (the first of several): it
             gets one minus the sum of the others. Columns must sum to 1 within 1e-9.
  rule       Without an estimator the guess is the first i with the least v_i = L_i + d_i1 a_1 + d_i2 a_2 + … (d is
             `rule_tilt`), added from the left in doubles, whose roundings are part of the rule. In a tie class, where the
             second least v minus the least, divided by a_1 + a_2 + …, is at most `band`, `tie_classes` has the column.
  both       Outcomes in `ties` have the columns `columns`, those in `exact_columns` columns in proportion to its integers.
             With probability `share` the guess is drawn from `towards` instead.

**What is shown**, with u_ij = Σ_l P_il a_jl / τ, π_j = Σ_i u_ij, s_i = Σ_j u_ij:
  error      Σ_il P_il L_il / τ, exact
  leakage    Σ_ij u_ij log(u_ij / (π_j s_i)); 0 exactly when u_ij = π_j s_i for all i and j, which is decided exactly
  deviation  max_ij |u_ij / (π_j s_i) − 1|: how far a posterior is from the prior, exact
  bound      Σ_l min_i (L_il + Σ_j (t_ij − κ_i) a_jl) / τ − μ ε, exact, with doubles κ_i ≥ μ log Σ_j π_j e^{t_ij/μ} (at
             budget 0: κ_i ≥ Σ_j π_j t_ij; at μ = 0: κ_i = max_j t_ij). Nothing that keeps ε errs less. No duals: t = μ = 0.

**How.** Doubles are cut into whole numbers of few bits, at powers of two. Their sums, and those of products of two, stay
below 2^53, so doubles add them in any order without rounding. The least i of the bound is decided in doubles where the next
is further away than rounding can do, and by integers elsewhere. Only m·n logarithms and exponentials are irrational: they
are balls, whose precision is doubled until the question is decided.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

try:
    from flint import arb, ctx, fmpq
except ImportError:  # said in a sentence by `verify`
    fmpq = None  # type: ignore[assignment,misc]

TOLERANCE = 1e-9  # how far Σ a and the columns of an estimator may be from one before they count as a mistake
LARGEST = 1e200  # losses, tilts and finite multipliers beyond it are refused

_Array = Any  # of numpy, [..., B]; the last axis counts outcomes
_Pieces = Iterable[tuple[int, _Array]]  # exponents e and whole numbers w [a, b] in doubles, meaning Σ 2^e w
_Sums = dict[int, Any]  # the same with integers of 64 bits, by exponent
_Member = tuple[tuple[int, ...], Callable[[int, int], _Array]]  # shape, and what reads columns: (start, count) → doubles


@dataclass(frozen=True)
class Verification:
    """What is proven. Intervals are pairs of doubles (low, high), rounded outwards.

    error          error probability of the estimator
    leakage        I(X; Ŷ), nats; (0, 0) exactly if the guess is independent of X
    deviation      largest |posterior / prior − 1| over guesses and private values
    budget         ε, nats
    budget_kept    True or False if proven; None if leakage and budget agree to 16,000 bits
    lower_bound    no estimator that keeps the budget errs less
    bracket        of the optimum: from lower_bound to `error` if the budget is kept, otherwise to that of a constant guess
    """

    error: tuple[float, float]
    leakage: tuple[float, float]
    deviation: tuple[float, float]
    budget: float
    budget_kept: bool | None
    lower_bound: float
    bracket: tuple[float, float]


def verify(problem: Any, solution: Any, *, budget: float | None = None) -> Verification:
    """What is true of a solution of a problem; nothing that its file says about itself is believed.

    problem    path of a problem file, its members by name (joint, or p_xz and loss; budget), a Problem or a BlockProblem
    solution   path of a solution file, its members by name, an estimator [m, N], or a Solution
    budget     nats; replaces the problem's
    Raises ValueError for anything that cannot be checked, and ImportError without python-flint.
    """
    if fmpq is None:
        raise ImportError("verify needs python-flint; install it with: pip install 'discreet[verify]'")
    try:
        with ExitStack() as files:
            model = _model(problem, budget, files)
            answer = _answer(solution, model, files)
            total, prior, law, error, constants = _sums(model, answer)
            nats, kept = _leakage(law, prior, model.budget)
            lower = _outward(max(Fraction(0), _bound(model, answer, prior, total)))[0]
    except Exception as fault:  # what is wrong with a file shows in many ways
        said = f"{fault}" if isinstance(fault, ValueError) else f"this cannot be read ({fault}); give files of numpy.savez"
        raise ValueError(" ".join(said.split())[:400]) from fault
    bracket = lower, _outward(error if kept else min(constants))[1]
    return Verification(_outward(error), nats, _outward(_deviation(law, prior)), model.budget, kept, lower, bracket)


def _pieces(values: _Array, bits: int) -> _Pieces:
    """The values exactly, as whole numbers of so many bits."""
    left = np.multiply(values, 2.0**216, dtype=np.float64)  # so much larger, nothing here is subnormal
    while top := max(left.max(), -left.min()):
        e = math.frexp(top)[1] - bits
        whole = np.rint(left * 2.0**-e)
        left -= whole * 2.0**e  # exact: at most half a unit is left, in bits that the number has
        yield e - 216, whole


def _bits(terms: int, total: int) -> int:
    """How long numbers may be for exact sums: of so many terms in doubles, of twice the total in integers of 64 bits."""
    return min(53 - terms.bit_length(), 61 - total.bit_length())


def _add(found: _Sums, x: list[tuple[int, _Array]], y: _Pieces) -> _Sums:
    """Adds the matrix x yᵀ to what was found. Its sums of products must be at most 2^53, which doubles hold exactly."""
    for e, other in y:
        for k, one in x:
            found[e + k] = found.get(e + k, 0) + (one @ other.T).astype(np.int64)
    return found


def _exact(found: _Sums) -> tuple[_Array, Fraction]:
    """Python's integers, and the unit in which they are meant."""
    low = min(found)
    return sum(whole.astype(object) << (e - low) for e, whole in found.items()), Fraction(2) ** low


def _proper(columns: _Array, start: int) -> _Array:
    """The same columns of an estimator, which must be ≥ 0 with sum 1."""
    wrong = (columns < 0.0).any(axis=0) | ~(np.abs(columns.sum(axis=0) - 1.0) <= TOLERANCE)
    if wrong.any():
        raise ValueError(f"column {start + wrong.argmax()} of the estimator is not ≥ 0 with sum 1 within 1e-9; correct it")
    return columns


def _sums(model: _Model, answer: _Answer) -> tuple[Fraction, _Array, _Array, Fraction, _Array]:
    """τ, and divided by it: prior [n], law of guess and X [m, n], error probability, errors of constant guesses [m]."""
    sums, found = model.sums.astype(int).astype(object), {0: np.zeros((model.m, model.sums.shape[1]), np.int64)}
    drawn = np.full((model.m, model.n + model.m), Fraction(0))  # by guess: masses of X, then losses
    for start, part in model.parts():
        columns = _proper(answer.columns(start, part), start)
        likeliest = np.arange(model.m)[:, None] == columns.argmax(axis=0)  # has all, but for what the others take
        _add(found, [(0, 1.0 * likeliest)], _pieces(part, _bits(part.shape[1], model.N)))
        columns[likeliest] = 0.0
        if (mixed := columns.any(axis=0)).any():
            bits = _bits(model.m * part.shape[1], 64 * model.m * model.N) // 2  # 64: pieces of one exponent
            others = [(e, w - likeliest[:, mixed] * w.sum(axis=0)) for e, w in _pieces(columns[:, mixed], bits)]
            _add(found, others, _pieces(part[:, mixed], bits))
        for tie in [tie for tie in answer.rational if start <= tie < start + part.shape[1]]:
            change = answer.rational[tie] - np.eye(model.m, dtype=int)[0]  # `columns` has the first guess there
            drawn += np.outer(change, sums @ [Fraction(entry) for entry in part[:, tie - start].tolist()])
    whole, unit = _exact(found)
    drawn += whole @ sums.T * unit
    totals = drawn.sum(axis=0)  # as the columns of an estimator sum to one
    total = totals[: model.n].sum()
    if abs(total - 1) > TOLERANCE:
        raise ValueError(f"the masses of the problem sum to {float(total)!r}, not to 1; divide them by their sum")
    drawn = ((1 - answer.share) * drawn + answer.share * np.outer(answer.towards, totals)) / total
    return total, totals[: model.n] / total, drawn[:, : model.n], np.trace(drawn[:, model.n :]), totals[model.n :] / total


def _leakage(law: _Array, prior: _Array, budget: float) -> tuple[tuple[float, float], bool | None]:
    """I(X; Ŷ) as an interval, and whether it is at most the budget."""
    if _deviation(law, prior) == 0:
        return (0.0, 0.0), True
    cells = [(u, u / (p * row.sum())) for row in law for u, p in zip(row, prior, strict=True) if u]
    for precision in (2**k for k in range(7, 15)):
        with ctx.workprec(precision):
            nats = sum(_ball(mass) * _ball(ratio).log() for mass, ratio in cells)
            kept = True if nats <= arb(budget) else False if nats > arb(budget) else None
            interval = max(0.0, _outward(_end(nats.lower()))[0]), _outward(_end(nats.upper()))[1]
        if kept is not None and nats.rel_accuracy_bits() > 60:
            break
    return interval, kept


def _deviation(law: _Array, prior: _Array) -> Any:
    """max |u_ij / (π_j s_i) − 1| over s_i > 0 and π_j > 0, a fraction."""
    return max(abs(u / (p * sum(row)) - 1) for row in law if any(row) for u, p in zip(row, prior, strict=True) if p)


def _bound(model: _Model, answer: _Answer, prior: _Array, total: Fraction) -> Fraction:
    """The dual bound; 0 where an infinite multiplier proves nothing."""
    mu, budget = answer.multiplier, model.budget
    if math.isinf(mu) and 0.0 < budget < math.inf:
        return Fraction(0)
    mu = math.inf if budget == 0.0 else 0.0 if math.isinf(budget) else mu
    shifts = np.array([[_shift(row, prior, mu)] for row in answer.tilt])
    weights = np.hstack([answer.tilt, np.eye(model.m), -shifts])  # of p_xz, loss and p_z
    sums = np.vstack([model.sums, model.sums[: model.n].sum(axis=0)])
    slopes, sizes = weights @ sums, (np.abs(weights) @ sums).max(axis=0)
    value, found, bits, doubt = Fraction(0), _Sums(), _bits(sums.size, 0) // 2, 2.0**-50 * sum(sums.shape)
    for _, part in model.parts():
        with np.errstate(all="ignore"):  # what overflows is not decided
            label, first, second = _least(slopes @ part)
            decided = (second - first > doubt * np.einsum("r,rb->b", sizes, part) + 1e-300) | (part.max(axis=0) == 0.0)
        _add(found, [(0, np.eye(model.m)[:, label] * decided)], _pieces(part, _bits(part.shape[1], model.N)))
        if not decided.all():
            masses = ((e, w.T @ sums.T) for e, w in _pieces(part[:, ~decided], bits))
            whole, unit = _exact(_add({}, list(_pieces(weights, bits)), masses))
            value += whole.min(axis=0).sum() * unit
    whole, unit = _exact(found)
    slope = np.array([Fraction(weight) for weight in weights.ravel().tolist()]).reshape(weights.shape)
    value += (slope * (whole @ sums.T.astype(int).astype(object))).sum() * unit
    return Fraction(value / total - (Fraction(mu) * Fraction(budget) if 0.0 < mu < math.inf else 0))


def _least(values: _Array) -> tuple[_Array, _Array, _Array]:
    """The row of the least of every column (the first of several); that least, which becomes inf; the least of the rest."""
    label, every = values.argmin(axis=0), np.arange(values.shape[1])
    first = values[label, every]
    values[label, every] = math.inf
    return label, first, values.min(axis=0)


def _shift(row: _Array, prior: _Array, mu: float) -> float:
    """A double κ ≥ μ log Σ_j π_j e^{t_j/μ}, hardly above it; μ = ∞ stands for Σ_j π_j t_j."""
    pairs = [(p, Fraction(t)) for p, t in zip(prior, row.tolist(), strict=True) if p]
    largest = max(t for _, t in pairs)
    if mu == 0.0:
        return float(largest)
    if math.isinf(mu):
        return _outward(sum((p * t for p, t in pairs), Fraction(0)))[1]
    with ctx.workprec(1024):  # μ ≤ 1e200 < 2^665, so κ loses at most 2^-300
        powers = (_ball(p) * _ball((t - largest) / Fraction(mu)).exp() for p, t in pairs)
        return _outward(largest + Fraction(mu) * _end(sum(powers).log().upper()))[1]


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _end(ball: Any) -> Fraction:
    """The value of a ball of radius 0."""
    integer, exponent = ball.man_exp()
    return Fraction(int(integer)) * Fraction(2) ** int(exponent)


def _outward(value: Fraction) -> tuple[float, float]:
    """The largest double ≤ value and the smallest ≥ value."""
    nearest = float(value)
    low = nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    return low, nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


@dataclass(frozen=True)
class _Model:
    n: int
    m: int
    N: int
    budget: float
    joint: bool  # entries are those of a joint tensor [n m, N], otherwise p_xz and below it the loss [n + m, N]
    sums: _Array  # of zeros and ones: sums [n + m, rows] @ entries are p_xz and loss
    parts: Callable[[], Iterator[tuple[int, _Array]]]  # entries [rows, B], with the index of their first outcome


@dataclass(frozen=True)
class _Answer:
    columns: Callable[[int, _Array], _Array]  # a new estimator [m, B] for entries from an index
    rational: Mapping[int, _Array]  # outcome → column of fractions [m]
    share: Fraction
    towards: _Array
    tilt: _Array
    multiplier: float


def _members(source: Any, files: ExitStack) -> dict[str, _Member]:
    """The arrays of an `.npz` file, or of a mapping, by name."""
    if isinstance(source, str | os.PathLike):
        if not os.path.isfile(source):  # a pipe would be waited for
            raise ValueError(f"{source} is no ordinary file; give an .npz file")
        archive = files.enter_context(zipfile.ZipFile(source))
        if not len(set(archive.namelist())) == len(archive.infolist()) <= 100:
            raise ValueError(f"{archive.filename} has two members of the same name, or more than 100; keep one of each")
        return {info.filename.removesuffix(".npy"): _stored(archive, info, files) for info in archive.infolist()}
    arrays = {name: np.atleast_1d(values) for name, values in dict(source).items()}
    return {name: (each.shape, partial(_doubles, each)) for name, each in arrays.items()}


def _doubles(array: _Array, start: int, count: int) -> _Array:
    """Columns as doubles of the same value; a text stays as it is."""
    kind, part = "masked" if np.ma.isMaskedArray(array) else array.dtype.kind, array[..., start : start + count]
    if kind not in "fiubU" or (kind == "f" and array.itemsize > 8) or (kind in "iu" and (abs(part) > 2**53).any()):
        raise ValueError(f"elements that are masked or of type {array.dtype} are no doubles; give arrays of float64")
    return part if kind == "U" else np.asarray(part, dtype=np.float64)


def _stored(archive: Any, info: zipfile.ZipInfo, files: ExitStack) -> _Member:
    """A member of an `.npz`, which is read a few columns at a time. Nothing is unpickled."""
    with archive.open(info) as stream:
        header = f"read_array_header_{min(2, np.lib.format.read_magic(stream)[0])}_0"
        shape, fortran, dtype = getattr(np.lib.format, header)(stream)
        offset, shape = stream.tell(), shape or (1,)
        rows, together = (1, math.prod(shape[:-1])) if fortran else (math.prod(shape[:-1]), 1)
        step, size = together * dtype.itemsize, offset + math.prod(shape) * dtype.itemsize
        if dtype.hasobject or rows > 10_000 or step > 1 << 26 or size != info.file_size:
            raise ValueError(f"{archive.filename}: {info.filename} holds no numbers of shape {list(shape)}; write it again")
        all(iter(partial(stream.read, 1 << 20), b""))  # to the end, where the checksum is compared
    opened: Callable[[int], Any] = cache(lambda _: files.enter_context(archive.open(info)))  # one for each row
    if info.compress_type == zipfile.ZIP_STORED and info.compress_size == size:  # in the file itself seeking is not reading
        archive.fp.seek(info.header_offset + 26)
        between = sum(np.frombuffer(archive.fp.read(4), "<u2").tolist())  # lengths of its name and an extra field
        offset, opened = info.header_offset + 30 + between + offset, lambda _: archive.fp

    def take(start: int, count: int) -> _Array:
        raw = np.empty((rows, count * step), np.uint8)
        for row in range(rows):
            opened(row).seek(offset + (row * shape[-1] + start) * step)
            raw[row] = np.frombuffer(opened(row).read(count * step), np.uint8)
        return _doubles(raw.view(dtype).reshape((*shape[:-1], count), order="F" if fortran else "C"), 0, count)

    return shape, take


def _model(source: Any, budget: float | None, files: ExitStack) -> _Model:
    """The problem of a file, a mapping, a Problem or a BlockProblem."""
    stated, blocks, named = (getattr(source, name, None) for name in ("budget", "blocks", "measure"))
    if blocks is None:
        members = _members({"p_xz": source.p_xz, "loss": source.loss} if hasattr(source, "p_xz") else source, files)
        stated = members["budget"][1](0, members["budget"][0][-1]).item() if "budget" in members else stated
        arrays = [members[name] for name in ("joint", "p_xz", "loss") if name in members]
        shapes = [shape for shape, _ in arrays]
        if "constraint" in members or [len(s) for s in shapes] not in ([3], [2, 2]) or len({s[-1] for s in shapes}) > 1:
            raise ValueError(f"the shapes are {shapes}; give joint [n, m, N], or p_xz and loss, nats of mutual information")
    n, m, size = (shapes[0][0], *shapes[-1][-2:]) if blocks is None else (blocks.n, blocks.m, blocks.N)
    limit = stated if budget is None else budget
    if str(named or "mutual-information") != "mutual-information" or limit is None or not limit >= 0.0:
        raise ValueError(f"the budget is {limit}; give one ≥ 0 in nats of mutual information only, inf for no constraint")
    joint = blocks is None and len(shapes) == 1  # then the loss of a guess is all mass but that of its own y
    sums = np.vstack([np.repeat(np.eye(n), m, axis=1), np.tile(1.0 - np.eye(m), n)]) if joint else np.eye(n + m)
    rows = sums.shape[1]

    def parts() -> Iterator[tuple[int, _Array]]:
        block, step = -(-(1 << 18) // rows), max(32, min((1 << 15) // rows, (1 << 18) // (rows * m)))  # caches hold a step
        read = ((start, [take(start, min(block, size - start)) for _, take in arrays]) for start in range(0, size, block))
        for start, several in read if blocks is None else ((chunk.start, chunk.read()) for chunk in blocks.chunks()):
            entries = np.concatenate(several).reshape(rows, -1)
            if not (0.0 <= entries.min() and entries.max() <= LARGEST):
                raise ValueError(f"the problem has an entry not in [0, {LARGEST:g}]; correct it")
            yield from ((start + at, entries[:, at : at + step]) for at in range(0, entries.shape[1], step))

    return _Model(n, m, size, float(limit), joint, sums, parts)


def _answer(source: Any, model: _Model, files: ExitStack) -> _Answer:
    """The solution of a file, a mapping, an estimator [m, N] or a Solution."""
    arrays = {"estimator": source} if isinstance(source, np.ndarray) else source
    members = _members(source.members() if hasattr(source, "members") else arrays, files)
    n, m, whole = model.n, model.m, members.get("estimator")

    def small(name: str, *shape: int, most: float = LARGEST) -> _Array:
        size, take = members.get(name, (shape, lambda _, count: np.zeros(shape)))
        found = take(0, shape[-1]) if size == shape and math.prod(size) <= 1 << 24 else np.full(1, math.nan)
        if found.dtype.kind == "U" or not (np.abs(found) <= most).all():
            raise ValueError(f"{name} of the solution is not {list(shape)} with entries up to {most:g}; correct it")
        return found

    (mu,), (share,), (band,) = small("multiplier", 1, most=math.inf), small("share", 1, most=1.0), small("band", 1)
    ties = small("ties", *members["ties"][0] if "ties" in members else (0,), most=model.N - 1)
    own = whole[0] == (m, model.N) if whole is not None else "rule_tilt" in members
    if not own or min(mu, share, band, *ties) < 0 or LARGEST < mu < math.inf or len({*map(int, ties)} & {*ties}) < ties.size:
        raise ValueError(f"the solution needs an estimator {[m, model.N]} or a rule_tilt, all else ≥ 0, each of ties once")
    towards = np.array([Fraction(p) for p in _proper(small("towards", m)[:, None] if share else np.eye(m)[:, :1], 0)[:, 0]])
    towards[towards.argmax()] += 1 - towards.sum()
    decide, classes, drawn = small("rule_tilt", m, n), small("tie_classes", m * m, m), small("columns", m, ties.size)
    texts = json.loads(str(members["exact_columns"][1](0, 1)[0])) if "exact_columns" in members else {}
    weights = {int(t): [int(str(w), 0) for w in texts[t]] for t in texts if t == str(int(t)) and 0 <= int(t) < model.N}
    if len(weights) < len(texts) or any(len(column) != m or min(column) < 0 for column in weights.values()):
        raise ValueError(f"exact_columns is not, for some outcomes, {m} integers ≥ 0 in texts; correct it")
    rational = {tie: np.array([Fraction(weight, sum(column)) for weight in column]) for tie, column in weights.items()}

    def columns(start: int, part: _Array) -> _Array:
        if whole is None and model.joint:
            raise ValueError("a rule needs the doubles of p_xz and loss to decide; write the problem with save_problem")
        found = whole[1](start, len(part.T)).copy() if whole is not None else _by_rule(decide, band, classes, part, n)
        here = (ties >= start) & (ties < start + len(part.T))
        found[:, (ties[here] - start).astype(int)] = drawn[:, here]
        found[:, [tie - start for tie in rational if start <= tie < start + len(part.T)]] = np.eye(m)[:, :1]
        return found

    return _Answer(columns, rational, Fraction(share), towards, small("tilt", m, n), float(mu))


@np.errstate(all="ignore")
def _by_rule(tilt: _Array, band: float, classes: _Array, entries: _Array, n: int) -> _Array:
    """The columns [m, B] of a rule, whose labels and tie classes are decided in doubles."""
    a, value, mass = entries[:n], entries[n:] + tilt[:, :1] * entries[:1], entries[0]
    for j in range(1, n):
        value, mass = value + tilt[:, j : j + 1] * a[j], mass + a[j]
    best, least, second = _least(value)
    columns = np.eye(len(value))[:, best]
    near = np.divide(second - least, mass, out=np.full(mass.size, math.inf), where=mass > 0.0) <= (band or -1.0)
    columns[:, near] = classes[best[near] * len(value) + value.argmin(axis=0)[near]].T
    return columns
