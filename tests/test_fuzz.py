"""Garbage at every door, a little of what benchmarks/fuzz.py tries: it is taken, or refused in one
sentence.
"""

import importlib

import pytest
from checkout import BENCHMARKS, text_of
from hypothesis import given
from hypothesis import strategies as st

import discreet as ds
from discreet.backends import isolated
from discreet.errors import shorten_message

pytestmark = pytest.mark.gate

DOORS = ("arrays", "catalog", "npz", "study", "results", "json", "options")


@pytest.fixture(scope="module")
def load():
    """Import a module of the fuzzer, in a folder with files that are right; solving stays in this
    process.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        # Put back what the fuzzer replaces.
        patch.setattr(isolated, "solve_isolated", isolated.solve_isolated)
        with importlib.import_module("fuzzing.examples").prepared():
            yield lambda name: importlib.import_module(f"fuzzing.{name}")


@pytest.mark.parametrize("door", DOORS)
def test_garbage_is_taken_or_refused_in_words(load, door):
    inputs = load("inputs")

    @given(st.randoms(use_true_random=False))
    def law(r):
        words, action, refusals = inputs.made(door, r)
        assert inputs.attempt(action, refusals) in ("taken", "refused"), words[:1000]

    assert set(inputs.DOORS) == set(DOORS)
    law()


def test_the_fuzzer_finds_what_is_wrong(load):
    """Any other exception, a warning and a long message are findings."""
    attempt = load("inputs").attempt
    commands = load("commands")

    def fails(error):
        def action():
            raise error

        return str(attempt(action))

    assert "ZeroDivisionError: outside" in fails(ZeroDivisionError("division by zero"))
    assert "RuntimeWarning" in fails(RuntimeWarning("overflow"))
    assert "a message of 2000 characters" in fails(ImportError("x" * 2000))
    assert "a message of 3 characters" in fails(commands.Refused("a\nb"))
    assert fails(ds.InputError("no")) == "refused"
    with pytest.raises(commands.Refused, match="'nope'"):
        commands.run_command(["solve", "nope"])


def test_a_campaign_counts_every_input_once_and_shows_findings(load, tmp_path, capsys, monkeypatch):
    command = ["--inputs", "7", "--doors", "json,arrays", "--out", str(tmp_path / "fuzz.md")]
    main = load("main")
    assert main.main(command) == 0, capsys.readouterr()
    page = text_of(tmp_path / "fuzz.md")
    assert "**8 inputs: " in page
    assert "| json | 1 |" in page
    assert "| arrays | 7 |" in page
    monkeypatch.setattr(main, "attempt", lambda *_: "a finding")
    assert main.main(command) == 1
    assert "- `json:0` (1 times): a finding" in capsys.readouterr().out


def test_a_message_quotes_at_most_a_line_or_two():
    assert shorten_message("one\n two") == "one two"
    assert len(shorten_message("x" * 10_000)) < 200
    assert len(shorten_message("a b " * 10_000)) < 1000
    assert len(str(ds.FileError("x" * 10_000 + " is wrong; give another"))) < 250
