"""The documentation does what it says: its examples run and print what the page shows, and its links lead somewhere.

What runs, page by page, in a process and an empty folder of its own, in the order of the page:

    ```python     executed; all blocks of a page share one namespace. A block that opens with `# file: NAME` is written.
    ```toml       with `# file: NAME` in its first line: written.
    ```console    lines that start with `$ discreet` are run by the command's own entry point; `# exits with K` after a
                  command states its exit status (0 otherwise). Lines after a command are its output on stdout.
    ```text       directly after a python block: what that block printed.

In expected output `...` stands for anything, and runs of blanks are equal. Other fences are left alone. A `pyproject.toml`
that a page writes is installed as metadata only, so that its entry points are found as after `pip install`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A# file: (\S+)\n")
COMMAND = re.compile(r"^\$ (.*?)(?:\s+# exits with (\d+))?$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LIMIT_SECONDS = 300

# Runs in the page's own process: reads the steps as JSON, stops at the first that does not do what the page says.
DRIVER = r"""
import contextlib, doctest, io, json, shlex, sys, tomllib
from pathlib import Path

def expect(step, got):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if step["output"] is not None and not doctest.OutputChecker().check_output(step["output"], got, flags):
        raise SystemExit(f"{step['where']}: the page shows\n{step['output']}\nbut it printed\n{got}")

def install(project):
    metadata = tomllib.loads(Path(project).read_text(encoding="utf-8"))["project"]
    folder = Path(f"{metadata['name'].replace('-', '_')}-{metadata['version']}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {metadata['name']}\nVersion: {metadata['version']}\n")
    groups = metadata.get("entry-points", {})
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (folder / "entry_points.txt").write_text("".join(lines))

def run(words):
    from discreet.cli import main
    sys.argv = words
    said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said[0]), contextlib.redirect_stderr(said[1]):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), *(text.getvalue() for text in said)

namespace = {"__name__": "__docs__"}
for step in json.loads(sys.argv[1]):
    if step["kind"] == "file":
        Path(step["name"]).write_text(step["text"], encoding="utf-8")
        if step["name"] == "pyproject.toml":
            install(step["name"])
    elif step["kind"] == "python":
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(step["text"], step["where"], "exec"), namespace)
        expect(step, out.getvalue())
    else:
        status, out, err = run(shlex.split(step["text"]))
        if status != step["status"]:
            raise SystemExit(f"{step['where']}: `{step['text']}` exited with {status}\n{out}\n{err}")
        expect(step, out)
"""


@dataclass
class Step:
    """One thing a page does: kind is "file", "python" or "command"."""

    kind: str
    text: str
    where: str
    name: str = ""
    output: str | None = None
    status: int = 0


def steps_of(page: Path) -> list[Step]:
    source = page.read_text(encoding="utf-8")
    steps: list[Step] = []
    last_end = 0
    for found in FENCE.finditer(source):
        language, text = found.group(1), found.group(2)
        line = source.count("\n", 0, found.start()) + 1
        where = f"{page.relative_to(ROOT)}:{line}"
        named = FILE.match(text)
        if named and language in ("python", "toml"):
            steps.append(Step("file", text, where, name=named.group(1)))
        elif language == "python":
            steps.append(Step("python", "\n" * line + text, where))
        elif language == "console":
            steps.extend(commands(text, where))
        elif language == "text" and steps and steps[-1].kind == "python" and not source[last_end : found.start()].strip():
            steps[-1].output = text
        last_end = found.end()
    return steps


def commands(text: str, where: str) -> list[Step]:
    steps: list[Step] = []
    for line in text.splitlines():
        found = COMMAND.match(line)
        if found:
            assert found.group(1).startswith("discreet"), f"{where}: only `$ discreet ...` is run, this is {line!r}"
            steps.append(Step("command", found.group(1), where, status=int(found.group(2) or 0)))
        else:
            assert steps, f"{where}: output before any command: {line!r}"
            steps[-1].output = f"{steps[-1].output or ''}{line}\n"
    return steps


@pytest.mark.parametrize("page", [p for p in PAGES if steps_of(p)], ids=lambda p: str(p.relative_to(DOCS)))
def test_examples_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "COLUMNS": "120",
        "PYTHONWARNINGS": "error::RuntimeWarning",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([asdict(step) for step in steps_of(page)])],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, f"{page.relative_to(ROOT)}:\n{done.stdout}\n{done.stderr}"


def anchors_of(page: Path) -> set[str]:
    """Heading anchors as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.relative_to(ROOT)} links to {link}, which does not exist"
        assert not anchor or anchor in anchors_of(file), f"{page.relative_to(ROOT)} links to {link}: no such heading"


def test_every_how_to_has_examples() -> None:
    pages = list((DOCS / "how-to").glob("*.md"))
    assert pages
    assert not [page.name for page in pages if not steps_of(page)]
