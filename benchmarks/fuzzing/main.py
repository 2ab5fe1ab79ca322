"""Many inputs: the processes that try them, the scratch folder of what became of them, the report,
and the command line.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import math
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from fuzzing.examples import prepared
from fuzzing.inputs import DOORS, attempt, made

import discreet as ds
from discreet.reports.outputs import replace_file, write_pages
from discreet.showing.values import Section, Sentences, Table

__all__ = ["campaign", "main", "report"]

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 10.0
_GIB = 4.0  # of an input, beyond which it is a finding
_MOST_SECONDS = 30
_MOST_GIB = 8  # of processor time and address space, beyond which the system ends the process
_PATIENCE = 60.0
_TURN = 0.5  # seconds that a process may wait before it is ended, and between two looks at it
_PART = 2000  # inputs of one process
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


@dataclass(frozen=True)
class Part:
    """Inputs first … first + count − 1 of a door."""

    door: str
    seed: int
    first: int
    count: int


@dataclass(frozen=True)
class Found:
    """What became of a part: how often what, the first input of each finding, the most seconds and
    GiB of an input, and the processor seconds of all."""

    tally: dict[str, int]
    examples: dict[str, int]
    slowest: float
    largest: float
    seconds: float


# -- the process that tries inputs
# -----------------------------------------------------------------------------------------


def _work(part: Part) -> None:
    """Try the inputs, and say of each what became of it, in a line of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what solvers print is no answer
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_GIB << 30, _MOST_GIB << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with prepared():
        for number in range(part.first, part.first + part.count):
            _peak(reset=True)
            words, action, refusals = made(
                part.door, random.Random(f"{part.door} {part.seed} {number}")
            )
            started = time.process_time()
            resource.setrlimit(
                resource.RLIMIT_CPU, (math.ceil(started) + _MOST_SECONDS, resource.RLIM_INFINITY)
            )
            outcome = attempt(action, refusals)
            spent = time.process_time() - started
            peak = _peak()
            if spent > _SECONDS:
                outcome = f"{spent:.0f} s: {words[:120]}"
            elif peak > _GIB:
                outcome = f"{peak:.1f} GiB: {words[:120]}"
            print(json.dumps([outcome, spent, peak, time.process_time()]), file=answers, flush=True)


def _peak(reset: bool = False) -> float:
    """Most memory of this process in GiB, since it was last reset where the system can."""
    with contextlib.suppress(OSError):
        if reset:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            return 0.0
        found = re.search(
            r"VmHWM:\s+(\d+) kB",
            Path("/proc/self/status").read_text(encoding="ascii", errors="replace"),
        )
        if found:
            return int(found[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


# -- the process that watches it
# -------------------------------------------------------------------------------------------


def _tried(part: Part) -> Found:
    tally = Counter[str]()
    examples = dict[str, int]()
    slowest = 0.0
    largest = 0.0
    used = 0.0
    number = part.first
    end = part.first + part.count
    while number < end:
        with contextlib.closing(
            _outcomes(Part(part.door, part.seed, number, end - number))
        ) as found:
            of_process = 0.0
            for outcome, seconds, gib, so_far in itertools.islice(found, end - number):
                tally[outcome] += 1
                slowest = max(slowest, seconds)
                largest = max(largest, gib)
                of_process = max(of_process, so_far)
                if outcome not in ("taken", "refused"):
                    examples.setdefault(outcome, number)
                number += 1
            used += of_process
    return Found(dict(tally), examples, slowest, largest, used)


def _outcomes(part: Part) -> Generator[tuple[str, float, float, float]]:
    """What became of inputs in one process: words, seconds, GiB, and seconds of the process; the
    last may be its end.
    """
    command = [
        sys.executable,
        str(_ROOT / "benchmarks" / "fuzz.py"),
        "--work",
        json.dumps(asdict(part)),
    ]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        assert child.stdout is not None  # PIPE was asked for
        try:
            rest = b""
            while not (waits := _waits(child.pid, child.stdout)) and (
                read := os.read(child.stdout.fileno(), 1 << 16)
            ):
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    yield tuple(json.loads(line))
            yield "it waits for a minute" if waits else _ending(child.wait(), errors), 0.0, 0.0, 0.0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()


def _waits(process: int, answers: IO[bytes]) -> bool:
    """Whether the process does nothing for a minute instead of answering. A stopped process does
    not wait, it is stopped.
    """
    turns = 0
    before = ""
    while turns * _TURN < _PATIENCE:
        if select.select([answers], [], [], _TURN)[0]:
            return False
        now = _asleep(process)
        turns = turns + 1 if now and now == before else 0
        before = now
    return True


def _asleep(process: int) -> str:
    """The processor time of a process that sleeps; empty of one that runs, was stopped or has
    ended.
    """
    with contextlib.suppress(OSError):
        fields = (
            Path(f"/proc/{process}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()
        )
        return " ".join(fields[11:13]) if fields[0] == "S" else ""
    return ""


def _ending(code: int, errors: IO[bytes]) -> str:
    if code == -signal.SIGXCPU:
        return f"more than {_MOST_SECONDS} s"
    errors.seek(0)
    return f"the process ended: {' '.join(errors.read().decode(errors='replace').splitlines()[-1:])[:120]}"


# -- a campaign
# --------------------------------------------------------------------------------------------------


def campaign(
    inputs: int, seed: int, doors: Sequence[str], scratch: Path, jobs: int
) -> dict[Part, Found]:
    """Try the parts that are not in the scratch folder yet; what became of those that are done.

    Ctrl-C and SIGTERM stop after the parts that have begun.
    """
    shares = sum(_SHARES[door] for door in doors)
    wanted = {door: -(-inputs * _SHARES[door] // shares) for door in doors}
    plan = [
        Part(door, seed, first, min(_PART, count - first))
        for door, count in wanted.items()
        for first in range(0, count, _PART)
    ]
    plan.sort(key=lambda part: part.first / wanted[part.door])
    folder = scratch / _code()
    folder.mkdir(parents=True, exist_ok=True)
    paths = {part: folder / f"{part.door}-{seed}-{part.first}-{part.count}.json" for part in plan}
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_tried, part): part for part in plan if not paths[part].exists()}
        try:
            for each in as_completed(running):
                part = running[each]
                found = each.result()
                replace_file(paths[part], json.dumps(asdict(found)))
                print(
                    f"{part.door}: {part.first} to {part.first + part.count}",
                    *found.examples.items(),
                    sep="\n  ",
                    flush=True,
                )
        except KeyboardInterrupt:
            print("stopping after the parts that have begun", file=sys.stderr)
            pool.shutdown(cancel_futures=True)
            for each, part in running.items():
                if not each.cancelled():
                    replace_file(paths[part], json.dumps(asdict(each.result())))
    return {
        part: Found(**json.loads(path.read_text(encoding="utf-8")))
        for part, path in paths.items()
        if path.exists()
    }


def _code() -> str:
    """A number that changes with the code that is tried, and with the inputs: counts of two codes
    never mix.
    """
    found = hashlib.sha256()
    for path in (
        *sorted((_ROOT / "discreet").rglob("*.py")),
        *sorted((_ROOT / "benchmarks" / "fuzzing").glob("*.py")),
    ):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def report(found: dict[Part, Found], inputs: int, seed: int) -> Section:
    """A row for each door, then every finding with the input that shows it."""
    rows = []
    findings = []
    total = Counter[str]()
    for door in DOORS:
        mine = [each for part, each in found.items() if part.door == door]
        if not mine:
            continue
        tally = sum((Counter(each.tally) for each in mine), Counter[str]())
        wrong = {
            outcome: times
            for outcome, times in tally.items()
            if outcome not in ("taken", "refused")
        }
        counts = {
            "taken": tally["taken"],
            "refused": tally["refused"],
            "findings": sum(wrong.values()),
        }
        total += Counter(counts)
        slowest = f"{max(each.slowest for each in mine):.1f}"
        largest = f"{max(each.largest for each in mine):.2f}"
        rows.append(
            (
                door,
                f"{tally.total():,}",
                *(f"{count:,}" for count in counts.values()),
                slowest,
                largest,
            )
        )
        for outcome, times in sorted(wrong.items()):
            example = next(each.examples[outcome] for each in mine if outcome in each.examples)
            findings.append(f"`{door}:{example}` ({times} times): {outcome}")
    day = time.strftime("%Y-%m-%d", time.gmtime())
    minutes = sum(each.seconds for each in found.values()) / 60.0
    command = f"python benchmarks/fuzz.py --inputs {inputs} --seed {seed}"
    missing = inputs - total.total()
    counts_words = (
        f"{total['taken']:,} taken, {total['refused']:,} refused, {total['findings']:,} findings"
    )
    heads = ("door", "inputs", "taken", "refused", "findings", "slowest (s)", "most memory (GiB)")
    return Section(
        "Garbage at every door",
        [
            f"**{total.total():,} inputs: {counts_words}.**",
            f"""Written on {day} by `{command}`, whose processes took {minutes:.0f} minutes of processor time.
Discreet {ds.__version__}, code {_code()}. What a finding is, is said in `benchmarks/fuzz.py`.""",
            f"**{missing:,} inputs that were asked for are not done yet.**"
            if missing > 0
            else None,
            Table("", heads, rows),
            Sentences(findings) if findings else None,
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
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path(tempfile.gettempdir()) / "discreet-fuzz",
        metavar="FOLDER",
    )
    parser.add_argument("--out", type=Path, default=_ROOT / "reports" / "fuzz.md")
    parser.add_argument("--show", metavar="DOOR:NUMBER", help="run one input again")
    parser.add_argument("--work", type=json.loads, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.work:
        _work(Part(**asked.work))
        return 0
    if asked.show:
        door, _, number = asked.show.partition(":")
        with prepared():
            words, action, _ = made(door, random.Random(f"{door} {asked.seed} {number}"))
            print(words[:2000])
            print(action())
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found = campaign(asked.inputs, asked.seed, asked.doors, asked.scratch, asked.jobs)
    write_pages(asked.out.with_suffix(""), report(found, asked.inputs, asked.seed))
    print(asked.out.read_text(encoding="utf-8"))
    return 1 if any(each.examples for each in found.values()) else 0
