"""The verdict: do certified brackets overlap, does every certificate hold, did every
required backend take part.

A *finding* is a reason to fail, with the command that reproduces it. On the seeded set it is also
one when a backend of the project that is installed fails, runs out of time or misses the accuracy
of its class of methods. On a problem of the user, for which no accuracy is declared, it is one when
no backend is certified. Everything else is only a row, unless a required backend answers nothing.
"""

from __future__ import annotations

import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

from discreet.backends import run
from discreet.backends.contract import ACCURACY, COLUMNS, Kind, Options
from discreet.backends.isolated import NOT_BEGUN, attempt_all
from discreet.backends.registry import (
    backend_names,
    capabilities,
    own_backends,
    peers,
    refuse_unknown_names,
)
from discreet.backends.solution import Solution, Status
from discreet.errors import InputError, how_to_install
from discreet.problems.certificate import Certificate
from discreet.problems.provenance import version_of
from discreet.reports.crosscheck.instances import CheckedInstance, Selection
from discreet.reports.outputs import replace_file
from discreet.reports.second_opinion import second_opinion
from discreet.showing.data import plain
from discreet.verification import Verification

REQUIRED_VARIABLE = "DISCREET_REQUIRED_BACKENDS"
"""Environment variable with backends that must take part, separated by commas."""


@dataclass(frozen=True)
class Finding:
    """A reason to fail: a disagreement, certificate, failure, accuracy, or uncertified; or skipped,
    without instance and command.
    """

    kind: str
    backends: tuple[str, ...]
    instance: str
    command: str
    message: str


@dataclass(frozen=True)
class Crosscheck:
    """The result: solutions by (instance title, backend), what `verify` proves of them, findings,
    what was left out.
    """

    selection: Selection
    backends: tuple[str, ...]
    solutions: dict[tuple[str, str], Solution]
    verified: dict[tuple[str, str], Verification]
    findings: tuple[Finding, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The record for machines."""
        rows = [
            solution.to_dict() | {"instance": key[0], "verification": plain(self.verified.get(key))}
            for key, solution in self.solutions.items()
        ]
        return {
            "made_by": "discreet crosscheck",
            "version": version_of("discreet"),
            "seconds": self.seconds,
            "backends": list(self.backends),
            "left_out": list(self.selection.left_out),
            "findings": plain(self.findings),
            "rows": rows,
        }


def run_crosscheck(
    selection: Selection,
    backends: Sequence[str] | None = None,
    required: Sequence[str] = (),
    *,
    gap: float = 1e-9,
    time_limit: float | None = 5.0,
    within: float = 100.0,
    jobs: int = 2,
) -> Crosscheck:
    """Every backend (of the peers only those named or required) on the instances it serves, `jobs`
    backends at once.

    time_limit   seconds per attempt; `within` seconds for all attempts, shared among the backends
                 that are left
    Raises InputError for an unknown backend or an option out of range.
    """
    usual = (name for name in backend_names(Kind.ARRAYS) if name in required or name not in peers())
    names = tuple(usual if backends is None else dict.fromkeys(backends))
    refuse_unknown_names((*names, *required))
    if find_spec("flint") is None:
        raise InputError(
            f"crosscheck needs python-flint, which is not installed; {how_to_install('verify')}"
        )
    if jobs < 1 or not within > 0.0 or not names:
        raise InputError(
            "give at least one backend, at least one job and a positive number of seconds"
        )
    options = Options(gap, time_limit)
    started = time.monotonic()
    left = len(names)

    def run_through(name: str) -> list[tuple[CheckedInstance, Solution]]:
        nonlocal left
        share = max(1.0, (within - (time.monotonic() - started)) * jobs / max(left, 1))
        left -= 1
        served = _served_instances(selection, name)
        tried = attempt_all(name, [each.problem for each in served], options, share)
        return [
            (each, run.conclude(each.problem, one, options))
            for each, one in zip(served, tried, strict=True)
        ]

    with ThreadPoolExecutor(jobs) as pool:
        solutions = {
            (each.title, name): solution
            for name, pairs in zip(names, pool.map(run_through, names), strict=True)
            for each, solution in pairs
        }
    opinions = {key: second_opinion(solution, gap) for key, solution in solutions.items()}
    answering = {name for (_, name), answer in solutions.items() if answer.certificate is not None}
    findings = [
        _skipped_finding(name, solutions)
        for name in dict.fromkeys(required)
        if name not in answering
    ]
    for each in selection.instances:
        own = {name: answer for (title, name), answer in solutions.items() if title == each.title}
        findings += _findings(each, own, {name: opinions[each.title, name][1] for name in own})
    verified = {key: answer for key, (answer, _) in opinions.items() if answer is not None}
    return Crosscheck(
        selection, names, solutions, verified, tuple(findings), time.monotonic() - started
    )


def _served_instances(selection: Selection, name: str) -> list[CheckedInstance]:
    able = capabilities().get(name)
    return [each for each in selection.instances if able is None or not able.refusal(each.problem)]


def _skipped_finding(name: str, solutions: dict[tuple[str, str], Solution]) -> Finding:
    why = next(
        (solution.message for (_, backend), solution in solutions.items() if backend == name),
        "it was given no instance",
    )
    return Finding("skipped", (name,), "", "", f"required backend {name} answered nothing: {why}")


def _findings(
    instance: CheckedInstance, solutions: Mapping[str, Solution], faults: Mapping[str, list[str]]
) -> list[Finding]:
    """What is wrong with the solutions of an instance, by backend; faults: what `verify`
    contradicts in each.
    """
    judged = {
        name: solution.certificate
        for name, solution in solutions.items()
        if solution.certificate is not None
    }

    def finding(kind: str, who: tuple[str, ...], message: str) -> Finding:
        return Finding(kind, who, instance.title, instance.command(who), message)

    findings = []
    for name, solution in solutions.items():
        own = f"{name}, a backend of the project,"
        broken = faults.get(name, [])
        findings += [
            finding("certificate", (name,), f"certificate of {name} is broken: {each}")
            for each in broken
        ]
        reliable = (
            instance.seeded
            and name in own_backends()
            and _kind(instance) not in capabilities()[name].unreliable
        )
        late = solution.status is Status.TIMED_OUT and solution.message != NOT_BEGUN and reliable
        failed = solution.status is Status.FAILED and name in own_backends() and instance.seeded
        if late or failed:
            findings.append(
                finding("failure", (name,), f"{own} {solution.status.value}: {solution.message}")
            )
        elif name in judged and reliable and not broken:  # of a broken one nothing is known
            wrong = _beyond_its_class(instance, capabilities()[name].method_class, judged[name])
            findings += [
                finding("accuracy", (name,), f"{own} is wrong beyond its class of methods: {fault}")
                for fault in wrong
            ]
    certified = any(each.status is Status.CERTIFIED for each in solutions.values())
    if not instance.seeded and not certified:
        findings.append(finding("uncertified", tuple(solutions), "no backend is certified on it"))
    for (name, its), (rival, theirs) in combinations(judged.items(), 2):
        if its.excludes(theirs) or theirs.excludes(its):
            first, second = (
                f"{who} proves [{c.lower!r}, {c.upper!r}]"
                for who, c in ((name, its), (rival, theirs))
            )
            findings.append(
                finding(
                    "disagreement",
                    (name, rival),
                    f"brackets do not overlap: {first} and {second}",
                )
            )
    return findings


def _kind(instance: CheckedInstance) -> str:
    """The kind of problem, one of `COLUMNS`."""
    if instance.regime == "tiny":
        return "tiny budget"
    return "degenerate" if instance.family == "adversarial" else "ordinary"


def _beyond_its_class(
    instance: CheckedInstance, method_class: str, judged: Certificate
) -> list[str]:
    """A sentence for a gap, and for an excess over a positive budget, more than a digit beyond what
    the class reaches.

    The classes are declared for the small problems of the conformance tests; a drawn one may cost a
    digit more. For degenerate problems under a tiny budget nothing is declared. Gaps are relative,
    or to 1e-9 of the worst constant guess.
    """
    problem = instance.problem
    column = COLUMNS.index(_kind(instance))
    if instance.regime == "tiny" and instance.family == "adversarial":
        return []
    gap, excess = (
        10.0 * row[column] for row in (ACCURACY[method_class].gap, ACCURACY[method_class].excess)
    )
    faults = []
    if judged.upper - judged.lower > max(
        gap * judged.upper, 1e-9 * float(problem.constant_errors.max())
    ):
        faults.append(
            f"its bracket [{judged.lower!r}, {judged.upper!r}] is wider than a gap of {gap:g}"
        )
    for term in judged.terms:
        if 0.0 < term.budget and term.own_leakage > term.budget * (1.0 + excess + 1e-9):
            faults.append(
                f"its own answer leaks {term.own_leakage!r} of {term.budget!r} ({term.measure})"
            )
    return faults


def explanation(finding: Finding) -> str:
    """The finding in words: what, on which instance, and the command that shows it again."""
    where = f"{finding.instance}: " if finding.instance else ""
    again = f" (again: {finding.command})" if finding.command else ""
    return f"{finding.kind}: {where}{finding.message}{again}"


def github_annotations(result: Crosscheck) -> list[str]:
    """One workflow command `::error` per finding."""
    escapes = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
    return [
        f"::error title=discreet crosscheck::{explanation(each).translate(escapes)}"
        for each in result.findings
    ]


def write_junit(result: Crosscheck, path: Path) -> None:
    """A test case per attempt and one per finding that concerns several or none;
    raises FileError.
    """
    suite = ElementTree.Element(
        "testsuite", name="discreet crosscheck", time=f"{result.seconds:.3f}"
    )
    failures = skips = 0
    for (title, backend), solution in result.solutions.items():
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"crosscheck.{backend}", name=title
        )
        mine = [
            each for each in result.findings if each.instance == title and backend in each.backends
        ]
        if mine:
            failures += 1
            text = "\n".join(map(explanation, mine))
            ElementTree.SubElement(
                case, "failure", message=_legible(mine[0].message)
            ).text = _legible(text)
        elif solution.certificate is None:
            skips += 1
            ElementTree.SubElement(
                case, "skipped", message=_legible(f"{solution.status.value}: {solution.message}")
            )
    for finding in (each for each in result.findings if not each.instance):
        failures += 1
        case = ElementTree.SubElement(
            suite, "testcase", classname="crosscheck.required", name=finding.backends[0]
        )
        ElementTree.SubElement(case, "failure", message=_legible(finding.message))
    suite.attrib.update(
        tests=str(len(suite)), failures=str(failures), errors="0", skipped=str(skips)
    )
    replace_file(path, ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def _legible(text: str) -> str:
    """Without the control characters that XML forbids."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in text)
