"""A crosscheck for machines of continuous integration: JUnit XML, and annotations of GitHub."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from discreet.problems.errors import FileError
from discreet.reports.crosscheck.gate import Crosscheck, Finding

__all__ = ["explanation", "github_annotations", "write_junit"]


def explanation(finding: Finding) -> str:
    """The finding in words: what, on which instance, and the command that shows it again."""
    where = f"{finding.instance}: " if finding.instance else ""
    again = f" (again: {finding.command})" if finding.command else ""
    return f"{finding.kind}: {where}{finding.message}{again}"


def github_annotations(result: Crosscheck) -> list[str]:
    """One workflow command `::error` per finding."""
    return [f"::error title=discreet crosscheck::{_escaped(explanation(finding))}" for finding in result.findings]


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def write_junit(result: Crosscheck, path: Path) -> None:
    """A test case per attempt and one per finding that concerns several or none; raises FileError."""
    suite = ElementTree.Element("testsuite", name="discreet crosscheck", time=f"{result.seconds:.3f}")
    failures = skips = 0
    for (title, backend), found in result.solutions.items():
        case = ElementTree.SubElement(suite, "testcase", classname=f"crosscheck.{backend}", name=title)
        mine = [each for each in result.findings if each.instance == title and backend in each.backends]
        if mine:
            failures += 1
            text = "\n".join(map(explanation, mine))
            ElementTree.SubElement(case, "failure", message=_legible(mine[0].message)).text = _legible(text)
        elif found.certificate is None:
            skips += 1
            ElementTree.SubElement(case, "skipped", message=_legible(f"{found.status.value}: {found.message}"))
    for finding in (each for each in result.findings if not each.instance):
        failures += 1
        case = ElementTree.SubElement(suite, "testcase", classname="crosscheck.required", name=finding.backends[0])
        ElementTree.SubElement(case, "failure", message=_legible(finding.message))
    suite.attrib.update(tests=str(len(suite)), failures=str(failures), errors="0", skipped=str(skips))
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}; give another file") from None


def _legible(text: str) -> str:
    """Without the control characters that XML forbids."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in text)
