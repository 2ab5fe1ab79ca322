"""Fail when a test of a required backend was skipped, or when nothing was tested at all.

`python check_skips.py JUNIT.xml NAME,NAME,...` reads pytest's JUnit file. A skipped test counts
against a backend when its id (file, class, parameters) or the reason it gives names the backend,
with `-` and `_` alike. A skip that says "unsupported" is the backend's own stated refusal of a
problem, which is tested elsewhere, and is let through.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

__all__ = ["complaints"]


def complaints(junit: Path, required: list[str]) -> list[str]:
    """One sentence for each required backend's skipped test, or for an empty run; empty when all is
    well.
    """
    cases = list(ElementTree.parse(junit).iter("testcase"))
    skipped = [(case, skip) for case in cases for skip in case.iter("skipped")]
    report = []
    if len(cases) == len(skipped):
        report.append(
            f"{len(cases)} tests were collected and {len(skipped)} skipped: nothing was tested"
        )
    for case, skip in skipped:
        title = f"{case.get('classname', '')}.{case.get('name', '')}"
        reason = skip.get("message", "")
        if skip.get("type") == "pytest.xfail" or "unsupported" in reason.lower():
            continue
        text = " ".join(re.findall(r"[a-z]+", f"{title} {reason}".lower()))
        for name in required:
            if re.search(rf"\b{' '.join(name.split('-'))}\b", text):
                report.append(f"{title} was skipped though {name} is required: {reason}")
    return report


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]), sys.argv[2].split(","))
    print("\n".join(wrong) or f"no test of {sys.argv[2]} was skipped")
    sys.exit(1 if wrong else 0)
