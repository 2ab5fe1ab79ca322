"""The documentation does what it says: its examples run and print what the page shows, and its
links lead somewhere.

What runs, page by page, in a forked process and an empty folder of its own, in the order of the
page:

    ```python     executed; all blocks of a page share one namespace. A block that opens with `#
                  file: NAME` is written.
    ```toml       with `# file: NAME` in its first line: written.
    ```console    lines that start with `$ discreet` are run by the command's own entry point; `#
                  exits with K` after a command states its exit status (0 otherwise). Lines after a
                  command are its output on stdout.
    ```text       directly after a python block: what that block printed.

Expected output is compared by `printed.agrees`: `...` stands for anything, runs of blanks are
equal, and a number with a decimal point may differ by one unit of its last digit. A
`pyproject.toml` that a page writes is installed as metadata only, so that its entry points are
found as after `pip install`. Every other block says why it is not run, in a comment above it, `<!--
not run: REASON -->`, and command lines in it are read without being run.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass

import pytest
from checkout import DOCS, REPORTS, ROOT, text_of
from printed import agrees

PAGES = sorted(DOCS.rglob("*.md"))
WITH_CODE = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
]
LINKED = sorted({*WITH_CODE, *ROOT.glob("*.md"), *(REPORTS).rglob("*.md")})
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A# file: (\S+)\n")
COMMAND = re.compile(r"^\$ (.*?)(?:\s+# exits with (\d+))?$")
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = re.compile(r"<!-- not run: [^>]{8,} -->\n\Z")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LIMIT_SECONDS = 300

# One process reads pages as JSON lines and forks a process for each, so that the libraries are
# imported once; that process goes through the steps and stops at the first that does not do what
# the page says.
DRIVER = r"""
import contextlib, gc, importlib, io, json, os, pkgutil, shlex, signal, sys, tomllib, traceback
from pathlib import Path
import discreet
import typer.main
from command import COMMAND, solving_here
from printed import agrees
from pytest import MonkeyPatch

def expect(step, got):
    if step["output"] is not None and not agrees(step["output"], got):
        raise SystemExit(f"{step['where']}: the page shows\n{step['output']}\nbut it printed\n{got}")

def install(project):
    metadata = tomllib.loads(Path(project).read_text())["project"]
    folder = Path(f"{metadata['name'].replace('-', '_')}-{metadata['version']}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {metadata['name']}\nVersion: {metadata['version']}\n")
    groups = metadata.get("entry-points", {})
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (folder / "entry_points.txt").write_text("".join(lines))
    from discreet.problems.catalog import registry
    registry._load_installed.cache_clear()  # a user's next command is a new process

def run(words):
    from discreet.cli import main
    sys.argv = words
    said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said[0]), contextlib.redirect_stderr(said[1]):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), *(text.getvalue() for text in said)

def go_through(steps):
    namespace = {"__name__": "__docs__"}
    for step in steps:
        if step["kind"] == "file":
            Path(step["name"]).write_text(step["text"])
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

def begin(page):
    "In the process of the page: its folder comes first wherever modules are looked for, also by processes that it starts."
    signal.alarm(page["seconds"])
    said = os.open(page["said"], os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(page["folder"])
    sys.path.insert(0, page["folder"])
    os.environ["PYTHONPATH"] = os.pathsep.join([page["folder"], os.environ["PYTHONPATH"]])
    if not page["apart"]:
        solving_here(MonkeyPatch())

typer.main.get_command = lambda _: COMMAND  # built once, since that takes longer than most command lines
ours = [each.name for each in pkgutil.walk_packages(discreet.__path__, "discreet.") if each.name != "discreet.__main__"]
for name in (*sys.argv[1:], *ours):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
os.fsync = lambda descriptor: None  # as in conftest.py
run(["discreet", "problems", "--json"])  # imports what every command line needs, and makes what checks its options
gc.freeze()
for line in sys.stdin:
    page = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            begin(page)
            go_through(page["steps"])
            status = 0
        except SystemExit as end:
            print(end.code)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)  # without taking all those modules apart
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
APART = ("how-to/add-a-backend.md",)
"""Pages whose commands solve in processes of their own, as usual; for the others that would take
longer than the rest.
"""
IMPORTED = (
    "scipy.optimize",
    "scipy.stats",
    "cvxpy",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "distributed",
)
"""Libraries that several pages need."""


@dataclass
class Step:
    """One thing a page does: kind is "file", "python" or "command"."""

    kind: str
    text: str
    where: str
    name: str = ""
    output: str | None = None
    status: int = 0


def steps_of(page):
    source = text_of(page)
    steps = []
    last_end = 0
    for found in FENCE.finditer(source):
        language = found.group(1)
        text = found.group(2)
        line = source.count("\n", 0, found.start()) + 1
        where = f"{page.relative_to(ROOT)}:{line}"
        named = FILE.match(text)
        if named and language in ("python", "toml"):
            steps.append(Step("file", text, where, name=named.group(1)))
        elif language == "python":
            steps.append(Step("python", "\n" * line + text, where))
        elif language == "console":
            steps.extend(commands(text, where))
        elif (
            language == "text"
            and steps
            and steps[-1].kind == "python"
            and not source[last_end : found.start()].strip()
        ):
            steps[-1].output = text
        last_end = found.end()
    return steps


def commands(text, where):
    steps = []
    for line in text.splitlines():
        found = COMMAND.match(line)
        if found:
            assert found.group(1).startswith("discreet"), (
                f"{where}: only `$ discreet ...` is run, this is {line!r}"
            )
            steps.append(Step("command", found.group(1), where, status=int(found.group(2) or 0)))
        else:
            assert steps, f"{where}: output before any command: {line!r}"
            steps[-1].output = f"{steps[-1].output or ''}{line}\n"
    return steps


@pytest.fixture(scope="module")
def driver():
    """The process that runs pages."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
        ),
        "COLUMNS": "150",
        "PYTHONWARNINGS": "error::RuntimeWarning",
        "NO_COLOR": "1",
    }
    command = [sys.executable, "-c", DRIVER, *IMPORTED]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process


RUN = [page for page in WITH_CODE if steps_of(page)]


def name_of(page):
    return str(page.relative_to(DOCS if DOCS in page.parents else ROOT))


@pytest.mark.gate
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_examples_of_a_page_run_and_print_what_it_shows(page, driver, tmp_path):
    folder = tmp_path / "page"
    said = tmp_path / "said.txt"
    folder.mkdir()
    steps = [asdict(step) for step in steps_of(page)]
    asked = {"folder": str(folder), "said": str(said), "seconds": LIMIT_SECONDS, "steps": steps}
    driver.stdin.write(json.dumps({**asked, "apart": name_of(page) in APART}))
    driver.stdin.write("\n")
    driver.stdin.flush()
    status = driver.stdout.readline()
    assert status == "0\n", f"{page.relative_to(ROOT)}: {status}\n{text_of(said)}"


@pytest.mark.parametrize(
    "printed, same",
    {
        "a 0.1235 of 7 at 1e-14, 1.30 s\n": True,
        "a 0.1234  of 7 at 2e-14, 0.07 s\n": True,
        "a 0.1236 of 7 at 0e-14, 9 s": True,
        "a 0.1237 of 7 at 1e-14, 1 s": False,
        "a 0.1233 of 7 at 1e-14, 1 s": False,
        "a 0.1235 of 8 at 1e-14, 1 s": False,
        "a 0.1235 of 7 at 3e-14, 1 s": False,
        "a 0.1235 of 7 at 1e-13, 1 s": False,
        "a 0.12350 of 7 at 1e-14, 1 s": False,
        "b 0.1235 of 7 at 1e-14, 1 s": False,
    }.items(),
)
def test_a_number_may_differ_by_one_unit_of_its_last_digit_and_nothing_else(printed, same):
    assert agrees("a 0.1235 of 7 at 1e-14, ... s\n", printed) is same


def anchors_of(page):
    """Heading anchors as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_of_a_page_have_targets(page):
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.relative_to(ROOT)} links to {link}, which does not exist"
        assert not anchor or anchor in anchors_of(file), (
            f"{page.relative_to(ROOT)} links to {link}: no such heading"
        )


def left_alone(page):
    """The blocks of a page that are not run, each with what stands before it."""
    source = text_of(page)
    run = {step.text.strip() for step in steps_of(page)} | {
        step.output.strip() for step in steps_of(page) if step.output
    }
    found = [
        (block["text"], source[: block.start()])
        for block in BLOCK.finditer(source)
        if block["language"] != "console"
    ]
    return [(text, before) for text, before in found if text.strip() not in run]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_every_block_of_code_is_run_or_says_why_not(page):
    silent = [text for text, before in left_alone(page) if not NOT_RUN.search(before)]
    assert not silent, (
        f"{page.relative_to(ROOT)} has a block that is not run and says no reason:\n{silent[0]}"
    )


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_commands_that_are_not_run_have_these_names_and_options(page):
    from command import parse_line

    for text, _ in left_alone(page):
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] != ["discreet"]:
                continue
            parse_line(words[1:])


def test_every_how_to_has_examples():
    pages = list((DOCS / "how-to").glob("*.md"))
    assert pages
    assert not [page.name for page in pages if not steps_of(page)]
