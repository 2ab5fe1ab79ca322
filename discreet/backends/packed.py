"""Problems and answers as plain arrays, to travel between processes as `.npz`, never as pickles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from discreet.backends.contract import Answer
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

__all__ = ["read_answer", "read_problem", "write_answer", "write_problem"]


def write_problem(path: Path, problem: Problem) -> None:
    """The arrays, the budget and the name of a problem."""
    np.savez(path, p_xz=problem.p_xz, loss=problem.loss, budget=np.float64(problem.budget), name=np.array(problem.name))


def read_problem(path: Path) -> Problem:
    """The problem that `write_problem` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return Problem(arrays["p_xz"], arrays["loss"], float(arrays["budget"]), name=str(arrays["name"]))


def write_answer(path: Path, answer: Answer) -> None:
    """An answer to a problem in arrays."""
    np.savez(path, **dict(_plain(answer)))


def read_answer(path: Path) -> Answer:
    """The answer that `write_answer` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
    rule = {field.name: arrays[f"rule/{field.name}"] for field in fields(Rule) if f"rule/{field.name}" in arrays}
    if rule:
        rule |= {"share": float(rule["share"]), "band": float(rule["band"])}
    anchors = sorted((name for name in arrays if name.startswith("anchor/")), key=lambda name: int(name[7:]))
    return Answer(
        Rule(**rule) if rule else arrays["estimator"],
        arrays.get("tilt"),
        float(arrays["multiplier"]) if "multiplier" in arrays else None,
        tuple(arrays[name] for name in anchors),
    )


def _plain(answer: Answer) -> Iterable[tuple[str, Any]]:
    if isinstance(answer.estimator, Rule):
        yield from ((f"rule/{field.name}", getattr(answer.estimator, field.name)) for field in fields(Rule))
    else:
        yield "estimator", np.asarray(answer.estimator, dtype=np.float64)
    yield from ((name, getattr(answer, name)) for name in ("tilt", "multiplier") if getattr(answer, name) is not None)
    yield from ((f"anchor/{k}", np.asarray(anchor, dtype=np.float64)) for k, anchor in enumerate(answer.anchors))
