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

**How.** Numbers are cut into digits of 18 bits, each at its place 2^(18 k). Products of two are below 2^36, and doubles add
2^16 of them in any order without rounding. Only m·n logarithms and exponentials are irrational: they are balls, whose
precision is doubled until the question is decided.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
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

BITS = 18  # of a digit
PART = 1 << 16  # outcomes that are read at once, and terms of a sum of products of digits
TOLERANCE = 1e-9  # how far Σ a and the columns of an estimator may be from one before they count as a mistake
LARGEST = 1e200  # losses, tilts and finite multipliers beyond it are refused

_Array = Any  # of numpy, [..., B]; the last axis counts outcomes
_Pieces = dict[int, Any]  # place k → whole numbers [..., B], meaning Σ_k 2^(18 k) pieces[k]
_Digits = dict[int, Any]  # the same, of 18 bits each, as int64
_Member = tuple[tuple[int, ...], Callable[[int, int], _Array]]  # shape, and what reads columns: (start, count) → doubles
_Part = tuple[_Array, ...]  # (joint [n, m, B],) or (p_xz [n, B], loss [m, B]) of consecutive outcomes


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
        said = f"{fault}" if isinstance(fault, ValueError) else f"a file cannot be read ({fault}); write it by numpy.savez"
        raise ValueError(" ".join(said.split())[:400]) from fault
    bracket = lower, _outward(error if kept else min(constants))[1]
    return Verification(_outward(error), nats, _outward(_deviation(law, prior)), model.budget, kept, lower, bracket)


def _pieces(values: _Array, terms: int) -> _Pieces:
    """Whole numbers w_k with Σ_k 2^(18 k) w_k = values, so small that doubles add as many as `terms` without rounding."""
    left, pieces = np.multiply(values, 2.0 ** (12 * BITS), dtype=np.float64), _Pieces()  # `left` is never subnormal
    while not pieces or left.any():
        k = -((53 - terms.bit_length() - math.frexp(max(left.max(), -left.min()))[1]) // BITS)
        pieces[k - 12] = np.rint(left * 2.0 ** (-BITS * k))  # at most 2^53 / terms
        left -= pieces[k - 12] * 2.0 ** (BITS * k)  # exact: at most half a unit is left, in bits that the number has
    return pieces


def _digits(pieces: _Pieces) -> _Digits:
    """Σ_k 2^(18 k) w_k as digits from 0 to 2^18 − 1, but for −1 in the last place of negative numbers."""
    x, digits, carry = {k: whole.astype(np.int64) for k, whole in pieces.items()}, {}, 0
    for k in range(min(x), max(x) + 5):  # four more places take all 64 bits
        amount = x.get(k, 0) + carry
        digits[k], carry = amount & ((1 << BITS) - 1), amount >> BITS
    digits[max(x) + 5] = carry
    return {k: digit for k, digit in digits.items() if digit.any()} or {0: carry}


def _product(x: _Digits, y: _Digits, plus: _Digits) -> _Digits:
    """The matrix x y + plus, not carried. Its sums of products are integers up to 2^53, which doubles hold exactly."""
    found = dict(plus)
    for h, other in y.items():
        factor = other.astype(np.float64)
        for k, one in x.items():
            found[k + h] = found.get(k + h, 0) + (one.astype(np.float64) @ factor).astype(np.int64)
    return found


def _exact(x: _Digits) -> _Array:
    """The numbers as an array of fractions."""
    low = min(x)
    return sum(digit.astype(object) << BITS * (k - low) for k, digit in x.items()) * Fraction(2) ** (BITS * low)


def _masses(part: _Part) -> _Digits:
    """The digits of p_xz and, below it, the loss masses [n + m, B]."""
    if len(part[0]) > PART or not all(((array >= 0.0) & (array <= LARGEST)).all() for array in part):
        raise ValueError(f"the problem has more than {PART} values of X or an entry not in [0, {LARGEST:g}]; correct it")
    if len(part) == 2:
        return _digits(_pieces(np.concatenate(part), 1))
    cells = _pieces(part[0], part[0].shape[0] * part[0].shape[1])
    return _digits({k: np.vstack([w.sum(axis=1), w.sum(axis=(0, 1)) - w.sum(axis=0)]) for k, w in cells.items()})


def _completed(columns: _Array, start: int) -> _Digits:
    """The digits of an estimator's columns [m, B], in each of which the likeliest guess gets what the others leave."""
    wrong = (columns < 0.0).any(axis=0) | ~(np.abs(columns.sum(axis=0) - 1.0) <= TOLERANCE)
    if wrong.any():
        raise ValueError(f"column {start + wrong.argmax()} of the estimator is not ≥ 0 with sum 1 within 1e-9; correct it")
    likeliest, places = columns.argmax(axis=0), np.arange(columns.shape[1])
    pieces = _pieces(columns * (np.arange(len(columns))[:, None] != likeliest), len(columns))
    for whole in pieces.values():
        whole[likeliest, places] = -whole.sum(axis=0)
    pieces.setdefault(0, np.zeros(columns.shape))[likeliest, places] += 1.0
    return _digits(pieces)


def _sums(model: _Model, answer: _Answer) -> tuple[Fraction, _Array, _Array, Fraction, _Array]:
    """τ, and divided by it: prior [n], law of guess and X [m, n], error probability, errors of constant guesses [m]."""
    drawn = np.full((model.m, model.n + model.m), Fraction(0))  # by guess: masses of X, then losses
    for start, part in model.parts():
        masses = _masses(part)
        drawn += _exact(_product(_completed(answer.columns(start, part), start), {k: d.T for k, d in masses.items()}, {}))
        for tie in [tie for tie in answer.rational if start <= tie < start + part[0].shape[-1]]:
            change = answer.rational[tie] - np.eye(model.m, dtype=int)[0]  # `columns` has the first guess there
            drawn += np.outer(change, _exact({k: digit[:, tie - start] for k, digit in masses.items()}))
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
    stored, value = _digits(_pieces(np.hstack([answer.tilt, shifts]), 1)), Fraction(0)
    weights = {k: digit[:, :-1] - digit[:, -1:] for k, digit in stored.items()}
    for _, part in model.parts():
        masses = _masses(part).items()
        tilted = _digits(_product(weights, {k: d[: model.n] for k, d in masses}, {k: d[model.n :] for k, d in masses}))
        least = np.full((model.m, part[0].shape[-1]), True)  # up to the digits read so far
        for k in sorted(tilted, reverse=True):
            digit = np.where(least, tilted[k], 1 << BITS).min(axis=0)
            least &= tilted[k] == digit
            value += int(digit.sum()) * Fraction(2) ** (BITS * k)
    return value / total - (Fraction(mu) * Fraction(budget) if 0.0 < mu < math.inf else 0)


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


# -- what is read ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Model:
    n: int
    m: int
    N: int
    budget: float
    parts: Callable[[], Iterator[tuple[int, _Part]]]  # each with the index of its first outcome


@dataclass(frozen=True)
class _Answer:
    columns: Callable[[int, _Part], _Array]  # of an estimator [m, B] at the outcomes of a part
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
    """Columns as doubles of the same value; texts stay texts."""
    kind, part = "masked" if np.ma.isMaskedArray(array) else array.dtype.kind, array[..., start : start + count]
    if kind not in "fiubU" or (kind == "f" and array.itemsize > 8) or (kind in "iu" and (abs(part) > 2**53).any()):
        raise ValueError(f"elements that are masked or of type {array.dtype} are no doubles; give arrays of float64")
    return part if kind == "U" else part.astype(np.float64)


def _stored(archive: Any, info: zipfile.ZipInfo, files: ExitStack) -> _Member:
    """A member of an `.npz`, of which few columns at a time are in memory. Nothing is unpickled."""
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
        raw = bytearray()
        for row in range(rows):
            opened(row).seek(offset + (row * shape[-1] + start) * step)
            raw += opened(row).read(count * step)
        return _doubles(np.frombuffer(raw, dtype).reshape((*shape[:-1], count), order="F" if fortran else "C"), 0, count)

    return shape, take


def _model(source: Any, budget: float | None, files: ExitStack) -> _Model:
    """The problem of a file, a mapping, a Problem or a BlockProblem."""
    stated, blocks = getattr(source, "budget", None), getattr(source, "blocks", None)
    if blocks is None:
        members = _members({"p_xz": source.p_xz, "loss": source.loss} if hasattr(source, "p_xz") else source, files)
        stated = members["budget"][1](0, 1)[0] if "budget" in members else stated
        arrays = [members[name] for name in ("joint", "p_xz", "loss") if name in members]
        shapes = [shape for shape, _ in arrays]
        if [len(shape) for shape in shapes] not in ([3], [2, 2]) or len({shape[-1] for shape in shapes}) > 1:
            raise ValueError(f"the problem holds shapes {shapes}; give joint [n, m, N], or p_xz [n, N] and loss [m, N]")
    n, m, size = (shapes[0][0], *shapes[-1][-2:]) if blocks is None else (blocks.n, blocks.m, blocks.N)
    limit = stated if budget is None else budget
    if limit is None or not limit >= 0.0:
        raise ValueError(f"the budget is {limit}; give nats ≥ 0, inf for no constraint")

    def parts() -> Iterator[tuple[int, _Part]]:
        step = min(PART, -(-(1 << 18) // (n * m)))
        for start in range(0, size, step) if blocks is None else ():
            yield start, tuple(take(start, min(step, size - start)) for _, take in arrays)
        for chunk in blocks.chunks() if blocks is not None else ():
            whole = chunk.read()
            for at in range(0, chunk.count, step):
                yield chunk.start + at, tuple(array[:, at : at + step] for array in whole)

    return _Model(n, m, size, float(limit), parts)


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
    ties = small("ties", *members["ties"][0] if "ties" in members else (0,), most=model.N - 1).astype(np.int64)
    stated = whole[0] == (m, model.N) if whole is not None else "rule_tilt" in members
    if not stated or min(mu, share, band, *ties) < 0.0 or LARGEST < mu < math.inf or len(set(ties.tolist())) < ties.size:
        raise ValueError(f"the solution needs an estimator {[m, model.N]} or a rule_tilt, all else ≥ 0, each of ties once")
    towards = _exact(_completed((small("towards", m) if share else np.eye(m)[0])[:, None], 0))[:, 0]
    decide, classes, drawn = small("rule_tilt", m, n), small("tie_classes", m * m, m), small("columns", m, ties.size)
    texts = json.loads(str(members["exact_columns"][1](0, 1)[0])) if "exact_columns" in members else {}
    weights = {int(tie): [int(str(weight), 0) for weight in texts[tie]] for tie in texts}
    if any(len(column) != m or min(column) < 0 for column in weights.values()):
        raise ValueError(f"a column of exact_columns is not {m} integers ≥ 0, in texts; correct it")
    rational = {tie: np.array([Fraction(weight, sum(column)) for weight in column]) for tie, column in weights.items()}

    def columns(start: int, part: _Part) -> _Array:
        count = part[0].shape[-1]
        found = _by_rule(decide, band or -1.0, classes, *part) if whole is None else whole[1](start, count)
        here = (ties >= start) & (ties < start + count)
        found[:, ties[here] - start] = drawn[:, here]
        found[:, [tie - start for tie in rational if start <= tie < start + count]] = np.eye(m)[:, :1]
        return found

    return _Answer(columns, rational, Fraction(share), towards, small("tilt", m, n), float(mu))


@np.errstate(all="ignore")
def _by_rule(tilt: _Array, band: float, classes: _Array, a: _Array, loss: _Array | None = None) -> _Array:
    """The columns [m, B] of a rule, whose labels and tie classes are decided in doubles."""
    if loss is None:
        raise ValueError("a rule needs the doubles of p_xz and loss to decide; write the problem with save_problem")
    value, mass = loss + tilt[:, :1] * a[:1], a[0]
    for j in range(1, len(a)):
        value, mass = value + tilt[:, j : j + 1] * a[j], mass + a[j]
    best, places = value.argmin(axis=0), np.arange(mass.size)
    columns, least = np.eye(len(value))[:, best], value.min(axis=0)
    value[best, places] = math.inf
    near = np.divide(value.min(axis=0) - least, mass, out=np.full(mass.size, math.inf), where=mass > 0.0) <= band
    columns[:, near] = classes[best[near] * len(value) + value.argmin(axis=0)[near]].T
    return columns
