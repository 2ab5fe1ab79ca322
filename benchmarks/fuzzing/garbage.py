"""What is wrong with a value: every function takes a `Random` and a valid value, and returns it
with something spoiled.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["NUMBERS", "TEXTS", "anything", "array", "data", "quoted", "spoiled", "text"]

NUMBERS = (
    *(
        0,
        -1,
        1,
        2,
        3,
        7,
        1000,
        10**6,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63),
        10**21,
        10**400,
        10**5000,
    ),
    *map(float, ("0", "-0.0", "0.5", "-0.5", "1e-9", "1e-17", "5e-324", "1e-320", "1e15", "1e200")),
    *map(float, ("1e308", "-1e308", "inf", "-inf", "nan")),
)
TEXTS = (
    "",
    " ",
    "x",
    "[/x]",
    "[bold]",
    "\0",
    "\udcff",
    "\x1b[31m",
    "é" * 9,
    "x" * 10_000,
    "a b " * 3000,
    "9" * 5000,
    "-" * 300,
    "=1+1",
    "@x",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e10",
    "0x10",
    "1_000",
    "true",
    "null",
    "None",
    "[]",
    "{}",
    "[" * 3000,
    "\n",
    "\r\n",
    "\t",
    '"',
    "'",
    "\\",
    "#",
    "=",
    ",",
    ";",
    "..",
    "~",
    "$HOME",
    "%s",
    "{0}",
    "\u202e",
    "\ufeff",
    "perfect",
    "own",
)
_NUMERAL = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?")


def anything(r: random.Random) -> Any:
    """A value that few places want."""
    kind = r.randrange(6)
    if kind < 2:
        return r.choice(NUMBERS)
    if kind == 2:
        return r.choice(TEXTS)
    if kind == 3:
        return r.choice(
            (
                None,
                True,
                False,
                b"x",
                1j,
                (),
                [],
                {},
                {"x": 1},
                [[]],
                [None],
                set(),
                object(),
                len,
                type,
                range(3),
            )
        )
    if kind == 4:
        return array(
            r,
            np.full(
                r.choice(((), (0,), (1,), (2, 2), (2, 0), (2, 2, 2), (3, 1, 4))),
                r.choice((0.0, 0.25, 1.0)),
            ),
        )
    return [r.choice(NUMBERS) for _ in range(r.randrange(4))]


def spoiled(r: random.Random, value: Any) -> Any:
    """The value with one thing wrong."""
    if isinstance(value, bool):
        return r.choice((None, 0, 1, "x", []))  # a flag is what Python takes for true or not
    if r.random() < 0.3:
        return anything(r)
    if isinstance(value, np.ndarray):
        return array(r, value)
    if isinstance(value, int | float):
        return r.choice(
            (*NUMBERS, str(value), -value, value * 1e6, np.float32(value), np.array([value]))
        )
    if isinstance(value, str):
        return text(r, value)
    if isinstance(value, Mapping):
        key = r.choice([*value, "x"])
        return {**value, key: spoiled(r, value.get(key))}
    if isinstance(value, list | tuple) and value:
        k = r.randrange(len(value))
        kind = type(value)
        return kind((*value[:k], spoiled(r, value[k]), *value[k + r.randrange(2) :]))
    return anything(r)


def array(r: random.Random, values: np.ndarray[Any, Any]) -> Any:
    """The array with an entry, its type or its shape changed."""
    found = values.copy()
    if found.size and r.random() < 0.5:
        entry = r.choice(
            [number for number in NUMBERS if isinstance(number, float) or abs(number) < 10**21]
        )
        if r.random() < 0.3:
            found = found.astype(object)
            entry = r.choice((*NUMBERS, *TEXTS, None, 1j, [1.0], np.ma.masked))
        with contextlib.suppress(ValueError, TypeError):
            found[tuple(r.randrange(size) for size in found.shape)] = entry
    kinds = ("f2", "f4", "i1", "u8", "?", "c16", "U", "S", "O", "g", "M8[s]", "V8", "f8")
    changes: tuple[Callable[[Any], Any], ...] = (
        lambda a: a.tolist(),
        lambda a: a.astype(r.choice(kinds)),
        lambda a: np.ma.maskedarray(a, mask=r.choice((True, False, a != 0.25))),
        lambda a: a[..., None],
        lambda a: a[None],
        lambda a: a.ravel(),
        lambda a: a.T,
        lambda a: a[..., ::-1],
        lambda a: a[:0],
        lambda a: a * r.choice((-1.0, 0.0, 1.0 + 1e-8, 1e-300, 1e300)),
        lambda a: np.repeat(a, 2, axis=-1),
        lambda a: [*a.tolist(), []],
        lambda a: a,
    )
    # Not every array can be changed in every way.
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        return r.choice(changes)(found)
    return found


def text(r: random.Random, value: str) -> str:
    """The text with one to three things wrong."""
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        at, end = sorted(r.randrange(len(value) + 1) for _ in range(2))
        token = r.choice(
            (
                *TEXTS,
                str(r.choice([n for n in NUMBERS if isinstance(n, float) or abs(n) < 10**4000])),
            )
        )
        places = [found.span() for found in _NUMERAL.finditer(value)]
        kind = r.randrange(6)
        if kind == 0 and places:
            at, end = r.choice(places)
            value = value[:at] + token + value[end:]
        elif kind <= 1:
            value = value[:at] + token + value[at:]
        elif kind == 2:
            value = value[:at] + value[min(end, at + 20) :]
        else:
            lines = value.splitlines(keepends=True) or [""]
            k = r.randrange(len(lines))
            changed = ([], [lines[k]] * 2, [lines[k][: len(lines[k]) // 2]], [token, lines[k]])[
                r.randrange(4)
            ]
            value = "".join([*lines[:k], *changed, *lines[k + 1 :]])
    return value


def data(r: random.Random, value: bytes) -> bytes:
    """The bytes with one to three things wrong."""
    for _ in range(r.randint(1, 3)):
        at, end = sorted(r.randrange(len(value) + 1) for _ in range(2))
        junk = r.choice(
            (
                r.randbytes(4),
                b"\0" * 8,
                b"\xff" * 8,
                b"PK\5\6",
                b"'descr'",
                b"(9999999999,)",
                value[at:end][:64],
            )
        )
        kind = r.randrange(4)
        if kind == 0:
            value = value[:at] + junk + value[at + len(junk) :]
        elif kind == 1:
            value = value[:at] + junk + value[at:]
        elif kind == 2:
            value = value[:at] + value[min(end, at + 40) :]
        else:
            value = (
                value[:at]
                if r.random() < 0.2
                else value[:at] + bytes([r.randrange(256)]) + value[at + 1 :]
            )
    return value


def quoted(value: Any) -> str:
    """Return the value in words."""
    with contextlib.suppress(ValueError):  # integers of too many digits
        return repr(value)
    return "10**5000"
