"""Many inputs, one after the other: what became of them, the report, and the command line."""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzzing.examples import prepared
from fuzzing.inputs import DOORS, attempt, made

import discreet as ds
from discreet.reports.outputs import write_pages
from discreet.reports.wording import limitations_section
from discreet.showing.values import Section, Sentences, Table

__all__ = ["campaign", "main", "report"]

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 10.0
"""Of processor time; an input that takes more is a finding."""

_PATIENCE = 120.0
"""Seconds after which an input ends the process, with a traceback."""

_GIB = 8
"""Of address space of the process; an input that needs more is a finding."""

# In a hundred.
_SHARES = {
    "arrays": 35,
    "catalog": 5,
    "npz": 35,
    "study": 10,
    "results": 7,
    "json": 4,
    "options": 4,
}


@dataclass
class Found:
    """What became of the inputs of a door: how often what, the first input of each finding, and the
    most seconds of an input.
    """

    tally: Counter[str] = field(default_factory=Counter)
    examples: dict[str, int] = field(default_factory=dict)
    slowest: float = 0.0

    @property
    def findings(self) -> int:
        """How many inputs are findings."""
        return self.tally.total() - self.tally["taken"] - self.tally["refused"]


def campaign(inputs: int, seed: int, doors: Sequence[str]) -> dict[str, Found]:
    """Count the results of a number of inputs, by door.

    The address space of the process is limited, so that an input that needs too much memory ends in
    a MemoryError, which is a finding. An input that does not end ends the process.
    """
    shares = sum(_SHARES[door] for door in doors)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_GIB << 30, limits[1]))
    found = {}
    try:
        for door in doors:
            with prepared():  # what one door writes is nothing to the next
                found[door] = _tried(door, seed, -(-inputs * _SHARES[door] // shares))
            print(f"{door}: {dict(found[door].tally)}", file=sys.stderr)
    finally:
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_AS, limits)
    return found


def _tried(door: str, seed: int, count: int) -> Found:
    found = Found()
    for number in range(count):
        words, action, refusals = made(door, random.Random(f"{door} {seed} {number}"))
        faulthandler.dump_traceback_later(_PATIENCE, exit=True, file=sys.__stderr__)
        started = time.process_time()
        outcome = attempt(action, refusals)
        spent = time.process_time() - started
        found.slowest = max(found.slowest, spent)
        if spent > _SECONDS:
            outcome = f"{spent:.0f} s: {words[:120]}"
        found.tally[outcome] += 1
        if outcome not in ("taken", "refused"):
            found.examples.setdefault(outcome, number)
    return found


def report(found: dict[str, Found], inputs: int, seed: int) -> Section:
    """A row for each door, then every finding with the input that shows it."""
    rows = []
    findings = []
    for door, each in found.items():
        counts = (each.tally.total(), each.tally["taken"], each.tally["refused"], each.findings)
        rows.append((door, *(f"{count:,}" for count in counts), f"{each.slowest:.1f}"))
        findings += [
            f"`{door}:{example}` ({each.tally[outcome]} times): {outcome}"
            for outcome, example in sorted(each.examples.items())
        ]
    total = sum((each.tally for each in found.values()), Counter[str]())
    wrong = sum(each.findings for each in found.values())
    day = time.strftime("%Y-%m-%d", time.gmtime())
    command = f"python benchmarks/fuzz.py --inputs {inputs} --seed {seed}"
    return Section(
        "Garbage at every door",
        [
            f"**{total.total():,} inputs: {total['taken']:,} taken, {total['refused']:,} refused, "
            f"{wrong:,} findings.**",
            f"Written on {day} by `{command}` with discreet {ds.__version__}. `benchmarks/fuzz.py` "
            "defines what a finding is.",
            Table("", ("door", "inputs", "taken", "refused", "findings", "slowest (s)"), rows),
            Sentences(findings) if findings else None,
            limitations_section(_LIMITATIONS),
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, or one input; 1 if there are findings."""
    parser = argparse.ArgumentParser(description="Try garbage at every door.")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--doors",
        type=lambda words: words.split(","),
        default=list(DOORS),
        help="separated by commas",
    )
    parser.add_argument("--out", type=Path, default=_ROOT / "reports" / "fuzz.md")
    parser.add_argument("--show", metavar="DOOR:NUMBER", help="run one input again")
    asked = parser.parse_args(arguments)
    if asked.show:
        door, _, number = asked.show.partition(":")
        with prepared():
            words, action, _ = made(door, random.Random(f"{door} {asked.seed} {number}"))
            print(words[:2000])
            print(action())
        return 0
    found = campaign(asked.inputs, asked.seed, asked.doors)
    write_pages(asked.out.with_suffix(""), report(found, asked.inputs, asked.seed))
    print(asked.out.read_text(encoding="utf-8"))
    return 1 if any(each.examples for each in found.values()) else 0


_LIMITATIONS = (
    "Only the kinds of garbage that `benchmarks/fuzz.py` lists are tried, with small inputs.",
)
