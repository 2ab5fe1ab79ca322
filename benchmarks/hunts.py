"""Hunt every backend for wrong claims, and write the index of what was found.

    .venv/bin/python benchmarks/hunts.py [--time 3600] [--backends A,B,...] [--out reports/hunts]

Hunts go on where they stopped; --time is of each, beyond what was hunted before, and 0 writes the
index only. Each backend has a folder, as `discreet hunt` writes it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
BACKENDS = (
    *("tilt", "blahut-arimoto", "highs", "highs:method=pdlp", "pyomo", "conic"),
    *("conic:solver=scs", "conic:solver=ecos", "slsqp", "clarabel", "glop", "pdlp", "ipopt"),
    *("moreau", "pounce", "uno", "qics", "qif", "trust-constr"),
)
"""Every solver configuration for arrays that the default study has."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt, and write the index."""
    from discreet.cli.app import app
    from discreet.reports.outputs import replace_file
    from discreet.showing.markdown import markdown

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--time", type=float, default=3600.0, metavar="S", help="of each hunt")
    parser.add_argument("--backends", default=";".join(BACKENDS), help="separated by semicolons")
    parser.add_argument("--out", default=str(_ROOT / "reports" / "hunts"))
    asked = parser.parse_args(arguments)
    out = Path(asked.out)
    for label in asked.backends.split(";") if asked.time > 0.0 else ():
        words = ["hunt", label, "--time", str(asked.time), "--out", str(out / _folder(label))]
        with contextlib.suppress(SystemExit):
            app(words)
    replace_file(out / "README.md", markdown([page(out)]) + "\n")
    return 0


def _folder(label: str) -> str:
    return label.replace(":", "-").replace("=", "-")


def page(out: Path) -> Any:
    """The index of the hunts in a folder, as a section."""
    from discreet.showing.values import Section, Table

    found = [json.loads(path.read_text("utf-8")) for path in sorted(out.glob("*/hunt.json"))]
    hits = sum(each["find"] is not None for each in found)
    measured = ("backend", "hunted (s)", "problems", "claims", "wrong")
    heads = (*measured, "simplest", "wrong by", "script")
    table = Table("", heads, [_line(each) for each in found])
    return Section(
        "Wrong claims",
        [
            f"**{hits} of {len(found)} solver configurations claim success on a problem on which "
            "they are wrong.**",
            "Written by `python benchmarks/hunts.py`. Each was asked for a relative gap of 1e-4. A "
            "claim is wrong if the answer leaks more than the budget, or errs more than the "
            "certified optimum, by more than ten times that. "
            "[How](../../docs/how-to/hunt-for-wrong-claims.md). Problems of shrinking are not "
            "counted; the time includes them.",
            _total_time(found),
            table,
            "*Simplest* is private values × guesses × outcomes, and links to the report with the "
            "exact bracket. *Script* says by how much the answer is wrong when the solver is "
            "called by its own interface, without discreet.",
            Section(
                "Limitations",
                [
                    "A find is about a solver with the formulation and scaling of its backend; "
                    "another formulation of the same problem may fare better. "
                    "Nothing found in this time is no proof that there is nothing, least of all "
                    "with 0 problems, where no batch ended in time. The machine was "
                    "busy with other work, so the number of problems says little about speed. "
                    "Measures with parameters, several secrets and conditional measures were "
                    "not hunted. SLSQP, IPOPT, Uno, QICS, libqif, trust-constr, Pyomo and the "
                    "project's own methods have no script of their own interface."
                ],
            ),
        ],
    )


def _total_time(found: Sequence[Mapping[str, Any]]) -> str:
    total = sum(each["seconds"] for each in found)
    return f"{total / 60.0:.0f} minutes were hunted in all, with the seeds in `hunt.json`."


def _line(record: Mapping[str, Any]) -> tuple[str, ...]:
    from discreet.showing import numerals

    find = record["find"]
    counts = [f"{record[name]:,}" for name in ("tried", "claims", "wrong")]
    begin = (record["backend"], f"{record['seconds']:.0f}", *counts)
    if find is None:
        return (*begin, *[numerals.NOTHING] * 3)
    size = " × ".join(str(find[name]) for name in ("private_values", "guesses", "outcomes"))
    link = f"[{size}]({_folder(record['backend'])}/report.md), {find['measure']}"
    wrong = numerals.scientific(max(find["excess"], find["loss"]))
    again = find["reproduced"]
    return (*begin, link, wrong, numerals.NOTHING if again is None else numerals.scientific(again))


if __name__ == "__main__":
    sys.exit(main())
