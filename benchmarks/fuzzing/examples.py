"""What is right: a problem, its solution, results, and a folder with files of them."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import discreet as ds
from discreet import problems

__all__ = ["answer", "model", "prepared", "rows"]


@functools.cache
def model() -> ds.Problem:
    return problems.paper_single(budget=0.005)


@functools.cache
def answer() -> ds.Solution:
    return ds.solve(model(), "tilt")


@functools.cache
def rows() -> str:
    from discreet.reports.measurements import reference_measurements, write_csv

    write_csv(reference_measurements()[:6], Path("rows.csv"))
    return Path("rows.csv").read_text()


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """A folder with files that are right, which is the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.chdir(folder)
        try:
            ds.save_problem("model.npz", model())
            answer().save("answer.npz")
            ds.solve(ds.BlockProblem.of(model()), "tilt").save("rule.npz")
            ds.solve(model().with_budget(0.0), "tilt").save("private.npz")
            rows()
            yield
        finally:
            os.chdir(before)
