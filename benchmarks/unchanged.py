"""How often `discreet diff` reports a change between two runs of the same code.

    .venv/bin/python benchmarks/unchanged.py [--runs 7] [--study quick] [--only TEXT] [--out DIR]

It runs a study several times, compares every pair of runs, and prints how many pairs show a change;
at most one in twenty should. Runs that are in the folder already are not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, print a line for each pair with a change and the count; 1 beyond one in
    twenty.
    """
    from discreet.cli.app import app
    from discreet.reports.statistics.changes import changes_between
    from discreet.reports.study.store import read_results

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--study", default="quick")
    parser.add_argument("--only", help="only cells with this text in their title")
    parser.add_argument("--out", default=str(Path(tempfile.gettempdir()) / "discreet-unchanged"))
    asked = parser.parse_args(arguments)
    folders = [Path(asked.out) / f"run-{k}" for k in range(asked.runs)]
    for folder in folders:
        words = ["bench", asked.study, "--out", str(folder)]
        words += ["--only", asked.only] if asked.only else []
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
            app(words)
    runs = [read_results([folder]) for folder in folders]
    changed = 0
    compared = 0
    pairs = list(combinations(range(asked.runs), 2))
    for first, second in pairs:
        found = changes_between(runs[first], runs[second])
        compared += sum(pair.timed for pair in found.pairs)
        changed += bool(found.changes)
        for each in found.changes:
            print(f"{first} → {second}: {each}")
    print(f"{changed} of {len(pairs)} pairs of runs show a change; {compared} times were compared")
    return int(20 * changed > len(pairs))


if __name__ == "__main__":
    sys.exit(main())
