"""Garbage at every door, a little of what benchmarks/fuzz.py tries: it is taken, or refused in one sentence."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.backends import isolated
from discreet.problems.errors import shortened

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def fuzz() -> Iterator[Any]:
    """The module, in a folder with files that are right; solving stays in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        patch.setattr(isolated, "solve_isolated", isolated.solve_isolated)  # put back what the module replaces
        module = importlib.import_module("benchmarks.fuzz")
        with module.prepared():
            yield module


@pytest.mark.parametrize("door", ["arrays", "catalog", "npz", "study", "results", "json", "options"])
def test_garbage_is_taken_or_refused_in_words(fuzz: Any, door: str) -> None:
    @settings(max_examples=60)
    @given(st.randoms(use_true_random=False))
    def law(r: Random) -> None:
        words, action, refusals = fuzz.made(door, r)
        assert fuzz.attempt(action, refusals) in ("taken", "refused"), words[:1000]

    law()


def test_the_fuzzer_finds_what_is_wrong(fuzz: Any) -> None:
    """Any other exception, a warning and a long message are findings."""

    def fails(error: BaseException) -> Any:
        def action() -> None:
            raise error

        return fuzz.attempt(action)

    assert "ZeroDivisionError: outside" in fails(ZeroDivisionError("division by zero"))
    assert "RuntimeWarning" in fails(RuntimeWarning("overflow"))
    assert "a message of 2000 characters" in fails(ImportError("x" * 2000))
    assert "a message of 3 characters" in fails(fuzz.Refused("a\nb"))
    assert fails(ds.InputError("no")) == "refused"
    with pytest.raises(fuzz.Refused, match="discreet: the catalog has no problem 'nope'"):
        fuzz.run_command(["solve", "nope"])


def test_a_campaign_counts_every_input_once_and_goes_on(fuzz: Any, tmp_path: Path) -> None:
    target = tmp_path / "fuzz.md"
    parts = fuzz.campaign(3, 1, ["json"], target)
    assert parts == fuzz.campaign(3, 1, ["json"], target)
    assert sum(sum(each["tally"].values()) for each in parts) == 3
    assert "| json | 3 |" in fuzz.report(parts, 1)
    assert os.getcwd() != str(ROOT)


def test_a_message_quotes_at_most_a_line_or_two() -> None:
    assert shortened("one\n two") == "one two"
    assert len(shortened("x" * 10_000)) < 200
    assert len(shortened("a b " * 10_000)) < 1000
    assert len(str(ds.FileError("x" * 10_000 + " is wrong; give another"))) < 250
