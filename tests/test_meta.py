"""Tests of the project itself: its layers, its public names, its docstrings, the modules an import
loads, its README.

They read the source in the checkout, by syntax tree where no import is needed. So a file that
breaks a rule is named with its line.
"""

import ast
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from checkout import PROJECT, ROOT, ci_script, python, text_of
from fake_backends import Bayes
from left_out import LEFT_OUT
from weight import tokens_of

from discreet import Problem, errors
from discreet.backends import (
    Backend,
    Options,
    Status,
    availability,
    backend_names,
    load_backend,
)
from discreet.backends.declared import BACKENDS, UNTESTED
from discreet.backends.registry import own_backends
from discreet.backends.run import attempt, solve

PACKAGE = ROOT / "discreet"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]
OWN_BACKENDS = tuple(own_backends())


@cache
def parsed(path):
    return ast.parse(text_of(path))


def tree_of(name):
    return parsed(MODULES[name])


# -- layers
# --------------------------------------------------------------------------------------------------


@cache
def homes(face):
    """Where the names are defined that a package loads lazily, as its stub lists them; none for
    other modules.
    """
    stub = MODULES[face].with_suffix(".pyi") if face in MODULES else None
    tree = ast.parse(text_of(stub)) if stub is not None and stub.exists() else ast.Module([], [])
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
    return {
        alias.name: f"{face}.{node.module}" if node.module else f"{face}.{alias.name}"
        for node in nodes
        for alias in node.names
    }


@cache
def imports_of(name, *, run=False):
    """Modules of the package that a module imports, anywhere in it, or in statements
    that run only.
    """
    return imported_by(statements_that_run(name) if run else tree_of(name).body, name)


def statements(nodes):
    """All statements, also inside others; not their expressions, which take most of a walk."""
    for node in nodes:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from statements(getattr(node, part, ()))


def imported_by(nodes, name):
    """Modules of the package that statements import.

    A name that a package loads lazily counts as its module; who imports such a package whole
    imports all that it names.
    """
    found = set()
    for node in statements(nodes):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{name}:{node.lineno} has a relative import; write the absolute one"
            )
            lazy = homes(node.module)
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else lazy.get(alias.name, node.module))
    while faces := {module for module in found if homes(module)}:
        found = (found - faces).union(*(homes(face).values() for face in faces))
    return frozenset(found & MODULES.keys())


def reached(name):
    """Modules of the package that a module imports, itself or through others, also inside
    functions.
    """
    found = set[str]()
    left = {name}
    while left:
        module = left.pop()
        found.add(module)
        left |= imports_of(module, run=True) - found
    return found - {name}


FLOORS = (
    "errors lazy verification",
    "checks numerics storage",
    "measures",
    "problems showing",
    "judge files",
    "backends",
    "reports",
)
"""Rooms by floor, from the ground up; all others, such as `people` and `cli`, lie above."""


def layer_of(name):
    """The floor of a room, from the ground up; a room may use its own floor and those below."""
    room = ".".join(name.split(".")[:2])
    floors = [set(line.split()) for line in FLOORS]
    return next(
        (k for k, rooms in enumerate(floors) if room.removeprefix("discreet.") in rooms),
        len(floors),
    )


def test_imports_point_down_the_layers_only():
    modules = set(MODULES) - {"discreet"}  # the face: it names what it loads lazily
    upward = [
        f"{name} imports {other}"
        for name in sorted(modules)
        for other in imports_of(name)
        if layer_of(other) > layer_of(name)
    ]
    assert not upward, "\n".join(upward)


def test_imports_have_no_cycles_even_inside_functions():
    graph = {name: imports_of(name, run=True) - {name} for name in MODULES}
    TopologicalSorter(graph).prepare()  # the error names the circle


def statements_that_run(name):
    """All statements except those for type checkers only."""
    return [
        node
        for node in tree_of(name).body
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]


def test_imports_are_seen_through_the_packages_that_load_lazily():
    """Otherwise `from discreet import judge` would hide the judge from the tests below."""
    assert homes("discreet")["judge"] == "discreet.judge"
    hidden = [
        "from discreet import judge",
        "import discreet as ds",
    ]
    assert all("discreet.judge" in imported_by(ast.parse(line).body, "a test") for line in hidden)


def test_no_backend_reaches_the_judge():
    """Not through other modules either: only the loop asks the judge, and no backend calls the
    loop.
    """
    for name, target in own_backends().items():
        module = target.split(":")[0]
        for each in {
            other
            for other in MODULES
            if name != "auto" and other.startswith(module.removesuffix(".backend"))
        }:
            seen = {other for other in reached(each) if other.startswith("discreet.judge")}
            assert not seen, f"{each} of the backend {name} reaches {sorted(seen)}"


def test_the_judge_imports_no_backend_and_keeps_nothing_between_calls():
    """Values of its modules cannot be changed, and it uses neither caches, threads nor what
    survives a call.
    """
    judge = [name for name in MODULES if name.startswith("discreet.judge")]
    assert len(judge) > 1
    for name in judge:
        assert not {other for other in reached(name) if other.startswith("discreet.backends")}, name
        text = text_of(MODULES[name])
        found = re.search(
            r"\b(global|threading|cache|lru_cache|contextvars|weakref|__dict__)\b", text
        )
        assert found is None, f"{name} holds state: {found}"
        values = {
            key: value
            for key, value in vars(importlib.import_module(name)).items()
            if not key.startswith("__")
        }
        kept = [
            key
            for key, value in values.items()
            if isinstance(value, list | dict | set | np.ndarray)
        ]
        assert not kept, f"{name} holds what a call could change: {kept}"


def test_the_second_opinion_shares_no_line_with_the_rest():
    """It imports the standard library, NumPy and python-flint only, and is short enough to be read
    in a sitting.
    """
    checker = "discreet.verification"
    own = [name for name in MODULES if name == checker or name.startswith(f"{checker}.")]
    heads = set()
    for node in (node for name in own for node in ast.walk(tree_of(name))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or "discreet"]
            )
            heads.update(name.split(".")[0] for name in names if not name.startswith(checker))
    assert heads - sys.stdlib_module_names == {"numpy", "flint"}
    assert sum(tokens_of(MODULES[name]) for name in own) <= 10_000
    users = {
        name.split(".")[1] for name in MODULES if name not in own and imports_of(name) & set(own)
    }
    assert users <= {"cli", "reports"}, "neither solvers nor the judge may use it"


def test_the_theory_lists_what_the_judge_shares():
    section = text_of("docs/theory.md").split("**What is shared")[1].split("\n\n")[1]
    first_cells = " ".join(line.split("|")[1] for line in section.splitlines())
    listed = {"discreet." + name.replace("/", ".") for name in re.findall(r"`(\S+)`", first_cells)}
    trusted = tuple(f"discreet.{name}" for name in ("judge", "numerics", "measures"))
    used = {other for name in MODULES if name.startswith(trusted) for other in imports_of(name)}
    homes = {
        next((home for home in listed if other == home or other.startswith(f"{home}.")), other)
        for other in used
    }
    assert homes == listed


def test_no_module_writes_into_the_dictionary_of_an_object():
    for name, path in MODULES.items():
        assert ".__dict__" not in text_of(path), f"{name} reaches into __dict__"


# -- public names
# --------------------------------------------------------------------------------------------------


def test_no_lazily_loaded_name_is_that_of_a_module_beside_it():
    """Importing that module would replace the name by it, before lazy-loader 0.6."""
    for name in PUBLIC:
        found = {
            each
            for each, home in homes(name).items()
            if f"{name}.{each}" in MODULES and home != f"{name}.{each}"
        }
        assert not found, f"{name}.{found} are modules too"


def test_every_lazily_loaded_name_is_listed_by_dir():
    for name in PUBLIC:
        module = importlib.import_module(name)
        if hasattr(module, "__getattr__"):
            assert set(module.__all__) - {"__version__"} <= set(dir(module)), name
            with pytest.raises(AttributeError, match="nothing_of_this_name"):
                module.nothing_of_this_name  # noqa: B018


# -- docstrings
# --------------------------------------------------------------------------------------------------


def test_every_file_opens_with_a_docstring():
    opening = {
        name: (ast.get_docstring(tree_of(name)) or "").split("\n\n")[0].rstrip() for name in MODULES
    }
    without = [name for name, sentence in opening.items() if not sentence.endswith((".", ":", "?"))]
    assert not without, f"these do not open with a docstring that begins with a sentence: {without}"


# -- tests
# --------------------------------------------------------------------------------------------------


CLOCKS = re.compile(
    r"\btime\.(?!sleep\b)\w+|\b(?:datetime|date)\.(?:now|utcnow|today)\b|\btimeit\b|\bfrom time import\b"
)


def test_no_test_reads_a_clock():
    """Only `waiting` reads one, to stop waiting; timed ratios are recorded by benchmarks/ratios."""
    read = {
        path.name: found.group()
        for path in (ROOT / "tests").rglob("*.py")
        if path.stem not in ("waiting", "test_meta") and (found := CLOCKS.search(text_of(path)))
    }
    assert not read


# -- the cost of an import
# -----------------------------------------------------------------------------------------------

HEAVY = (
    "casadi",
    "clarabel",
    "cvxpy",
    "ecos",
    "highspy",
    "matplotlib",
    "numba",
    "ortools",
    "pandas",
    "pyomo",
    "qics",
    "qif",
    "rich",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.stats",
    "scs",
    "sklearn",
    "statsmodels",
    "typer",
)


def run_python(code):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    return python("-c", code, cwd=ROOT, env=environment, timeout=120)


def test_importing_discreet_loads_nothing_else():
    """The cost of an import is counted, not timed: it is the modules that it loads."""
    loaded = set(run_python("import sys, discreet; print(*sys.modules)").split())
    assert {name for name in loaded if name.startswith("discreet")} == {"discreet"}
    assert not loaded & {*HEAVY, "numpy"}


def test_using_a_problem_and_the_judge_loads_nothing_heavy():
    code = (
        "import sys, numpy, discreet\nfrom discreet.problems import catalog\n"
        "p = discreet.Problem.from_joint(numpy.full((2, 2, 3), 1 / 12), budget=0.1)\n"
        "assert discreet.certify(p, p.bayes_estimator).certificate.upper > 0\n"
        "print(*sys.modules)"
    )
    assert not set(run_python(code).split()) & set(HEAVY)


def test_listing_the_backends_loads_none_of_their_libraries():
    """Beside what scipy.special itself loads, which is scipy.sparse before SciPy 1.17."""
    code = (
        "import sys, scipy.special; before = set(sys.modules); import discreet; "
        "discreet.backends.capabilities()"
    )
    assert not set(run_python(f"{code}; print(*set(sys.modules) - before)").split()) & set(HEAVY)


# -- backends
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OWN_BACKENDS)
def test_every_backend_has_a_method_and_a_citation(name):
    backend = load_backend(name)
    able = backend.capabilities
    assert backend.name == name
    assert len(able.method) > 10
    found = re.search(r"\b(1[89]|20)\d\d\b|arXiv|docs/", able.citation)
    assert found, f"{name} cites nothing one could find: {able.citation!r}"


@pytest.mark.parametrize("name", OWN_BACKENDS)
def test_the_extra_that_a_backend_names_exists(name):
    able = load_backend(name).capabilities
    if not able.extra:
        heads = {library.split(".")[0] for library in able.libraries}
        assert heads <= {"numpy", "scipy", "highspy"}, (
            "a library outside the base install needs an extra"
        )
        return
    wanted = " ".join(PROJECT["optional-dependencies"][able.extra])
    for library in able.libraries:
        head = library.split(".")[0]
        assert head in wanted or head in " ".join(PROJECT["dependencies"]), (
            f"[{able.extra}] does not install {head}"
        )


def test_required_backends_are_available():
    """CI names the backends that must run; elsewhere none is required. See `.ci/run`."""
    required = [
        name for name in os.environ.get("DISCREET_REQUIRED_BACKENDS", "").split(",") if name
    ]
    assert set(required) <= set(backend_names())
    required = [name for name in required if name not in LEFT_OUT]
    lost = {
        name: found.reason
        for name in required
        if (found := availability(name)).state != "available"
    }
    assert not lost


def subclasses(kind):
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


OUTCOMES = {
    errors.Unsupported: Status.UNSUPPORTED,
    errors.Absent: Status.ABSENT,
    errors.Broken: Status.FAILED,
    errors.Interrupted: Status.TIMED_OUT,
    errors.BackendError: Status.FAILED,
}


class Raiser(Bayes):
    """A backend that raises a given exception."""

    def __init__(self, error):
        self.error = error

    def lower(self, problem, options):
        raise self.error


def attempt_with(error, monkeypatch):
    assert isinstance(Raiser(error), Backend)
    monkeypatch.setattr("discreet.backends.run.load_backend", lambda name: Raiser(error))
    problem = Problem.from_joint(np.full((2, 2, 3), 1 / 12), budget=0.1)
    return attempt(problem, "raiser", Options())


def test_a_backend_that_does_not_load_fails(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", "absent=no_such_module:Backend")
    solution = solve(Problem.from_joint(np.full((2, 2, 3), 1 / 12), budget=0.1), "absent")
    assert solution.status is Status.FAILED
    assert "no_such_module" in solution.message


def test_every_exception_of_the_project_is_mapped_to_an_outcome(monkeypatch):
    own = {
        kind for kind in subclasses(errors.DiscreetError) if kind.__module__.startswith("discreet.")
    }
    assert {kind.__name__ for kind in own} <= set(vars(errors)) | {
        kind.__name__ for kind in OUTCOMES
    }
    backend_errors = {kind for kind in own if issubclass(kind, errors.BackendError)}
    assert backend_errors == set(OUTCOMES)
    assert all(
        issubclass(kind, errors.InputError)
        for kind in own - backend_errors - {errors.DiscreetError}
    )
    for kind, status in OUTCOMES.items():
        tried = attempt_with(kind("the reason"), monkeypatch)
        assert (tried.status, tried.answer) == (status, None)
        assert "the reason" in tried.message


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), ZeroDivisionError("x"), MemoryError("x"), SystemError("x")]
)
def test_a_foreign_exception_is_a_failure_with_its_message(error, monkeypatch):
    tried = attempt_with(error, monkeypatch)
    assert tried.status is Status.FAILED
    assert tried.message == f"{type(error).__name__}: x"


@pytest.mark.parametrize("kind", [errors.InputError, errors.FileError])
def test_a_mistake_of_the_caller_is_raised(kind, monkeypatch):
    with pytest.raises(kind, match="what, where"):
        attempt_with(kind("what, where"), monkeypatch)


# -- the repository
# --------------------------------------------------------------------------------------------------


@cache
def tracked_files():
    """Files under version control; none in a tree without git."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    paths = (ROOT / name for name in done.stdout.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def test_no_tracked_file_holds_a_path_of_a_machine():
    places = {f"{ROOT}/", f"{Path.home()}/", f"{Path(sys.prefix).resolve()}/"} - {"//"}
    pattern = re.compile(
        "|".join(
            [r"(?<![\w.])/(?:home|Users)/\w", r"[A-Z]:\\Users\\", *map(re.escape, sorted(places))]
        ).encode()
    )
    this = Path(__file__).resolve()
    found = [
        f"{path}: {hit.group()!r}"
        for path in tracked_files()
        if path != this and (hit := pattern.search(path.read_bytes()))
    ]
    assert not found, "\n".join(found)


def test_no_lock_file_and_no_address_in_the_constraints():
    assert not [
        path for path in tracked_files() if path.name in {"uv.lock", "poetry.lock", "pdm.lock"}
    ]
    lines = text_of("constraints.txt").splitlines()
    strange = [
        line
        for line in lines
        if not re.fullmatch(
            r"[a-z0-9][a-z0-9._-]*==[0-9][\w.!+]*( ; [\w '\".<>=!()]+)?",
            line,
        )
    ]
    assert not strange


@pytest.mark.parametrize(
    "heading, beginning, ending",
    [
        ("Run it", "python3 -m venv .venv && ", "discreet compare"),
        ("Test it", "python3 -m venv .venv && ", "-m pytest -n 2 --dist worksteal"),
    ],
)
def test_the_readme_has_one_command_under_each_heading(heading, beginning, ending):
    command = ci_script("readme_command").command_under(heading, text_of("README.md"))
    assert command.startswith(beginning)
    assert command.endswith(ending)
    assert "-c constraints.txt" in command
    assert "://" not in command
    assert "index" not in command
    extras = re.search(r'(-e )?"\.\[([a-z,]+)\]"', command)
    assert bool(extras[1]) == (heading == "Test it")  # users who only run it may delete the clone
    known = PROJECT["optional-dependencies"]
    assert set(extras[2].split(",")) <= set(known)


@pytest.mark.parametrize(
    "text, complaint",
    {
        "# a\n": "0 headings",
        "## Run it\n```sh\na\n```\n## Run it\n```sh\na\n```\n": "2 headings",
        "## Run it\nwords\n## Next\n```sh\na\n```\n": "0 fenced blocks",
        "## Run it\n```sh\na\n```\n```sh\nb\n```\n": "2 fenced blocks",
        "## Run it\n```sh\na\nb\n```\n": "2 lines",
    }.items(),
)
def test_a_readme_without_exactly_one_command_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        ci_script("readme_command").command_under("Run it", text)


JUNIT = (
    '<testsuites><testsuite><testcase classname="tests.test_a" '
    'name="test_fine"/>{}</testsuite></testsuites>'
)
SKIP = (
    '<testcase classname="tests.{}" name="{}"><skipped type="pytest.skip" message="{}"/></testcase>'
)


@pytest.mark.parametrize(
    "case, count",
    [
        ((), 0),
        (("test_conformance", "test_law[conic-dirichlet]", "cvxpy is not installed"), 1),
        (("backends.test_blahut_arimoto", "test_law", "no reason"), 1),
        (("test_b", "test_c", "backend blahut-arimoto is absent"), 1),
        (("test_conformance", "test_law[other]", "backend other is absent"), 0),
        (("test_conformance", "test_law[conic]", "unsupported: N is too large"), 0),
    ],
)
def test_a_skipped_required_backend_is_noticed(case, count, tmp_path):
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT.format(SKIP.format(*case) if case else ""))
    assert len(ci_script("check_skips").complaints(junit, ["conic", "blahut-arimoto"])) == count


def test_a_run_without_tests_is_noticed(tmp_path):
    junit = tmp_path / "junit.xml"
    junit.write_text("<testsuites><testsuite/></testsuites>")
    assert ci_script("check_skips").complaints(junit, []) == [
        "0 tests were collected and 0 skipped: nothing was tested"
    ]


def test_the_gate_requires_every_backend_of_the_project():
    """The gate reads the declarations from the files, before anything is installed, and leaves out no
    marked test.
    """
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    gate = text_of(".ci/run")
    assert "PYTEST_ADDOPTS=\"-m '' " in gate
    asked = re.search(r"^required=\$\(python3 (.+)\)$", gate, flags=re.MULTILINE)
    said = python(*asked[1].split(), cwd=ROOT)
    assert sorted([*said.strip().split(","), *UNTESTED]) == sorted(OWN_BACKENDS)


@pytest.mark.gate
def test_a_file_and_a_line_in_the_list_add_a_backend(tmp_path, monkeypatch):
    """No other file is edited: names, capabilities and the grid of the benchmarks come from these."""
    copy = tmp_path / "discreet"
    # Files that are being written stay.
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.pyc.*", "*.nb*"))
    text = text_of(copy / "backends" / "slsqp.py")
    (copy / "backends" / "descent.py").write_text(
        text.replace('name = "slsqp"', 'name = "descent"'), encoding="utf-8"
    )
    listed = copy / "backends" / "declared.py"
    text = text_of(listed)
    added = '    "descent": "discreet.backends.descent:Slsqp",\n}'
    listed.write_text(text.replace("\n}", f"\n{added}", 1))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code = (
        "import discreet as d; p = d.problems.paper_single(bins=4, budget=0.01); print(d.solve(p, "
        "'descent').status.value)"
    )
    assert python("-c", code, cwd=tmp_path).split() == ["certified"]
    assert "descent" in python(str(listed)).strip().split(",")


def test_every_class_with_capabilities_is_in_the_list_of_backends():
    declaring = [
        path.stem
        for path in (PACKAGE / "backends").rglob("*.py")
        if re.search(r"^    capabilities = Capabilities\(", text_of(path), re.M)
    ]
    targets = [*BACKENDS.values(), *UNTESTED.values()]
    listed = [target.partition(":")[0].rpartition(".")[2] for target in targets]
    assert sorted(declaring) == sorted(listed)
