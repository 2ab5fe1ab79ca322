"""State of the solvers: what each release of a solver certifies, where it claims to be done and is
not, and how long it takes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement, group_by
from discreet.reports.outputs import write_pages
from discreet.reports.statistics.claims import claim_records, claims_success
from discreet.reports.study.store import rows as rows_of
from discreet.showing.values import Section, Table

__all__ = ["main", "page"]

HERE = Path(__file__).resolve().parent

PROJECTS = {
    "clarabel": "Clarabel, by its own interface",
    "scs": "SCS, through cvxpy",
    "ecos": "ECOS, through cvxpy",
    "cvxpy": "cvxpy, with Clarabel 0.11.1",
    "casadi": "IPOPT, in CasADi",
    "highspy": "HiGHS, by its own interface",
    "ortools": "OR-Tools, GLOP",
    "pyomo": "Pyomo, with HiGHS 1.14",
}
"""The project whose releases are compared -> how it is run. The requirement that names it comes
first.
"""


def project_of(row: Measurement) -> str:
    """The project whose release the row measures."""
    return row.environment.partition("==")[0]


def page(rows: Sequence[Measurement]) -> Section:
    """The page of the rows of the study."""
    absent = [row for row in rows if row.status is Status.ABSENT]
    installed = [row for row in rows if row.status is not Status.ABSENT]
    pairs = {row.environment.split()[0] for row in installed}
    controls = sorted(seconds for row in installed for seconds in row.control_seconds)
    minutes = sum(row.wall_seconds for row in rows) / 60.0
    wrong = [row for row in installed if claims_success(row.claimed) and not row.certified]
    machine = rows[0].machine
    answered = {row.environment.split()[0] for row in installed if row.answered}
    summary = (
        f"{len(pairs)} releases of {len(PROJECTS)} projects, each in an environment of its own, on "
        f"{len({row.instance for row in rows})} problems; {len(answered)} releases gave answers. "
        f"Requested: a relative certified gap of "
        f"{rows[0].gap_target:g} within {rows[0].time_limit_seconds:g} s. The judge certified "
        f"{sum(row.certified for row in installed)} of {len(installed)} answers. Of "
        f"{sum(claims_success(row.claimed) for row in installed)} answers that a solver called "
        f"optimal, {len(wrong)} were not: they broke the budget, or the requested gap could not "
        "be proven for them."
    )
    return Section(
        "State of the solvers",
        [
            summary,
            *(_project(project, installed) for project in PROJECTS),
            _wrong_claims(wrong),
            _reasons("Failed", [row for row in installed if row.status is Status.FAILED]),
            _reasons("Could not be installed", absent),
            Section(
                "Limitations",
                [
                    f"Measured on {machine['processor']}, {machine['cores']} cores, with Python "
                    f"{rows[0].versions['python']}, in {minutes:.0f} minutes without the making of "
                    "the environments. Other work ran on the machine meanwhile: a control, the "
                    f"same solve before and after every attempt, took {1e3 * controls[0]:.1f} to "
                    f"{1e3 * controls[-1]:.1f} ms, {1e3 * statistics.median(controls):.1f} ms in "
                    "the median. So seconds do not rank releases; certified answers and claims "
                    "do not depend on the load, except where the time limit was reached.",
                    "Releases without a wheel for this Python, most of those before 2022, could "
                    "not be installed. Six problems are too few to rank solvers; three of them "
                    "have exponential cones, three are linear programs. Settings are those of the "
                    "newest release, as far as an older one has them: HiGHS before 1.11 lacks some "
                    "tolerances. Libraries between, such as NumPy and SciPy, are the newest that a "
                    "release accepts; the CSV names their versions.",
                    "Tolerances are those of the backends: a tenth of the gap for cvxpy and HiGHS, "
                    "a ten-thousandth for Clarabel by its own interface. So the tables compare "
                    "releases of one project and not projects. ModuleNotFoundError and "
                    "AttributeError mean that the interface written here needs a newer release of "
                    "Pyomo or OR-Tools; they say nothing about the solver.",
                ],
            ),
        ],
    )


def _project(project: str, rows: Sequence[Measurement]) -> Table | None:
    own = [row for row in rows if project_of(row) == project]
    records = {record.contestant: record for record in claim_records(own)}
    lines = []
    for label, each in sorted(group_by(own, lambda row: row.label).items(), key=_release):
        record = records.get(label)
        release = each[0].environment.split()[0].partition("==")[2]
        method = each[0].settings.get("method")
        over = [row.leakage_over_budget for row in each if row.violated]
        lines.append(
            [
                f"{release}, {method}" if method else release,
                f"{sum(row.certified for row in each)} of {len(each)}",
                f"{record.claims if record else 0}",
                f"{record.claims - record.true_claims if record else 0}",
                f"{sum(row.violated for row in each)}",
                f"{max(over) - 1.0:.1e}" if over and each[0].budget_nats else "–",
                f"{sum(row.status is Status.FAILED for row in each)}",
                f"{statistics.median(row.seconds for row in each):.3f}",
            ]
        )
    heads = (
        "release",
        "certified",
        "called optimal",
        "of these wrong",
        "broke the budget",
        "largest excess ÷ budget",
        "failed",
        "median s",
    )
    return Table(PROJECTS[project], heads, lines, numbers=heads[2:]) if lines else None


def _release(item: tuple[str, list[Measurement]]) -> tuple[list[int], str]:
    """Releases in the order of their numbers."""
    version = item[1][0].environment.split()[0].partition("==")[2]
    return [int(part) for part in version.split(".") if part.isdigit()], item[0]


def _wrong_claims(rows: Sequence[Measurement]) -> Table | None:
    lines = [
        [
            row.environment.split()[0],
            row.instance,
            row.claimed,
            row.status.value,
            f"{row.relative_gap:.1e}",
            f"{row.leakage_over_budget - 1.0:.1e}" if row.violated and row.budget_nats else "–",
        ]
        for row in sorted(rows, key=lambda row: (row.instance, row.label))
    ]
    heads = ("release", "problem", "claimed", "judged", "proven gap", "excess ÷ budget")
    return Table("Called optimal, and wrong", heads, lines, numbers=heads[4:]) if lines else None


def _reasons(title: str, rows: Sequence[Measurement]) -> Table | None:
    """Every different reason of an environment, with how many rows have it."""
    found = group_by(rows, lambda row: (row.environment, " ".join(row.message.split())[:160]))
    lines = [[*words, str(len(own))] for words, own in sorted(found.items())]
    heads = ("requirements", "why", "times")
    return Table(title, heads, lines, numbers=("times",)) if lines else None


def _record(row: Measurement) -> dict[str, object]:
    names = (
        "environment",
        "backend",
        "problem",
        "budget_word",
        "status",
        "claimed",
        "relative_gap",
        "violated",
        "leakage_over_budget",
        "iterations",
        "seconds",
        "load",
    )
    found: dict[str, object] = {name: getattr(row, name) for name in names}
    versions = (f"{name} {version}" for name, version in row.versions.items())
    return found | {"status": row.status.value, "versions": ", ".join(versions)}


def main(words: Sequence[str] | None = None) -> int:
    """Run the study and write the page."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--study", type=Path, required=True, help="the folder of its rows")
    asked.add_argument("--out", type=Path, default=HERE.parents[1] / "reports" / "solvers")
    asked.add_argument("--page-only", action="store_true", help="measure nothing")
    given = asked.parse_args(words)
    if not given.page_only:
        command = [sys.executable, "-m", "discreet", "bench", str(HERE / "releases.toml")]
        subprocess.run([*command, "--out", str(given.study)], check=True)
    rows = rows_of(given.study)
    ordered = sorted(rows, key=lambda row: (row.environment, row.instance))
    write_pages(given.out, page(ordered), [_record(row) for row in ordered])
    return 0
