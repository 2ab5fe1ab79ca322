"""A problem as a file for other solvers, and an estimator from the variables that they find.

The program is the one that the project's backends use: of the reduced problem, as `Program.linear`
in a linear format and otherwise as `ConeProgram`. Files have no date and no version, so equal
problems give equal bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.backends.cones import ConeProgram
from discreet.backends.exchange import cbf, clarabel_json, mps
from discreet.backends.exchange.preamble import Preamble
from discreet.backends.lowering import Program
from discreet.checks import brief, nearest, real_numbers
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import normalise
from discreet.problems.blocks import BlockProblem
from discreet.problems.certificate import Certificate
from discreet.problems.constraint import arrays_of
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce
from discreet.storage.writing import (
    Made,
    PathLike,
    check_output,
    marked,
    path_text,
    replacing,
)


@dataclass(frozen=True)
class Format:
    """A format: the extension of its files, whether it supports only linear programs, and its
    lines.
    """

    ending: str
    linear: bool
    lines: Callable[[Any, Preamble], Iterator[str]]


FORMATS: Mapping[str, Format] = {
    "cbf": Format(".cbf", False, cbf.lines),
    "mps": Format(".mps", True, mps.lines),
    "clarabel-json": Format(".json", False, clarabel_json.lines),
}
"""All formats by name."""

IS_EXPORT: Made = marked("made by discreet; docs/how-to/test-a-solver.md")
"""Recognises a file written by `export`."""


def format_named(name: str | None, path: PathLike) -> str:
    """Return the name of a format, given by its name or by the extension of a path; InputError if
    there is none.
    """
    if name is None:
        ending = os.path.splitext(path_text(path))[1]
        name_of_format = next(
            (each for each, form in FORMATS.items() if form.ending == ending), None
        )
        if name_of_format is None:
            endings = ", ".join(form.ending for form in FORMATS.values())
            raise InputError(
                f"{brief(path_text(path))} does not tell its format; let it end in {endings}, or "
                "name the format"
            )
        return name_of_format
    if name not in FORMATS:
        raise InputError(
            f"there is no format {brief(name)}{nearest(name, FORMATS)}; choose one "
            f"of: {', '.join(FORMATS)}"
        )
    return name


def is_linear(problem: Problem) -> bool:
    """Return True if the problem is a linear program: every budget is 0, inf, or of a linear
    measure.
    """
    return all(part.linear for part in Program.of(reduce(problem).problem).parts)


def formats_of(problem: Problem) -> list[str]:
    """Return the names of the formats that can hold a problem."""
    return [name for name, form in FORMATS.items() if not form.linear or is_linear(problem)]


def export(
    problem: Problem | BlockProblem,
    path: PathLike,
    format: str | None = None,
    *,
    certificate: Certificate | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a problem as a program for solvers, all or nothing, and return the path.

    format       cbf, mps (linear programs only) or clarabel-json; by default from the extension of
                 the path
    certificate  of the problem: its bracket is then stated in the file

    Raises InputError for a measure that the format does not support and for anything but a
    `Problem`; FileError if a file exists that `export` did not write, unless `overwrite` is set.
    """
    name = format_named(format, path)
    problem = arrays_of("export", problem)
    target = check_output(path, IS_EXPORT, overwrite=overwrite)
    content = export_lines(problem, name, certificate)
    with replacing(target, overwrite=True) as stream:
        for line in content:
            stream.write(f"{line}\n".encode("ascii"))
    return target


def export_lines(
    problem: Problem, name: str, certificate: Certificate | None = None
) -> Iterator[str]:
    """Return the lines of a file of that format."""
    format_ = FORMATS[name]
    small = reduce(problem).problem
    bracket = None if certificate is None else (certificate.lower, certificate.upper)
    if format_.linear:
        program = Program.linear(small)
        curved = next((part.measure for part in program.parts if not part.linear), None)
        if curved is not None:
            others = ", ".join(each for each, form in FORMATS.items() if not form.linear)
            raise InputError(
                f"a budget of {curved} makes no linear program, and {name} holds no other; choose "
                f"one of: {others}"
            )
        return format_.lines(program.linear_program(), Preamble(problem, program, bracket))
    program = Program.of(small)
    return format_.lines(ConeProgram.of(program), Preamble(problem, program, bracket))


def lift(problem: Problem | BlockProblem, variables: Any) -> Array:
    """Return the estimator [m, N] of the variables of an exported program; the variables of the
    estimator come first.

    Columns are divided by their sums, which undoes the scales of every format. Raises InputError
    for too few numbers, and for numbers that are not finite.
    """
    reduced = reduce(arrays_of("lift", problem))
    m = reduced.problem.m
    outcomes = reduced.problem.N
    numbers = real_numbers("the variables", variables, (np.size(variables),))
    if numbers.size < m * outcomes:
        raise InputError(
            f"there are {numbers.size:,} variables and the estimator of this problem has "
            f"{m * outcomes:,}; give all of the "
            "exported program, in its order"
        )
    own = numbers[: m * outcomes]
    wrong = np.flatnonzero(~np.isfinite(own))
    if wrong.size:
        raise InputError(f"variable {wrong[0]} is {float(own[wrong[0]])!r}; give finite numbers")
    return reduced.restore(normalise(own.reshape(m, outcomes)))
