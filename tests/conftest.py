"""Settings of all tests: threads, garbage, disks, Ctrl-C, clocks, the gate, examples of Hypothesis,
and tests of only one backend.

Numerical libraries get one thread, unless the environment says otherwise: the workers of
pytest-xdist share the cores.

The tests start some hundred processes. Where PYTHONDONTWRITEBYTECODE is set, each of them would
compile every module that it imports; the cache of pytest keeps their bytecode instead, and the
checkout and the environment stay as they are.

No test cuts the power, so none has to wait for the disk, which takes seconds for each file just
after an installation: `os.fsync` returns at once, and temporary folders are in memory where Linux
offers that, unless TMPDIR names another place.

A process started in the background ignores Ctrl-C, and so would every process that a test starts
and interrupts. So the usual handler is installed again.

Tests with the marker `gate` run by `.ci/run` only: pages of the site and of benchmarks, examples of
the documentation, everything in a browser, most of the table of conformance, and what takes seconds
or is one more instance of a law (`gated.gated`). `-m gate` runs them, and `-m ''`
runs all tests.

Hypothesis has no deadline, since machines differ, and takes the same ten examples of a law on every
run. HYPOTHESIS_PROFILE=gate, which `.ci/run` sets, takes thirty; HYPOTHESIS_PROFILE=search looks
for new ones, 2,000 of each. A law says how many only where its examples cost much, or nothing: a
byte of a file.
"""

import gc
import importlib
import itertools
import os
import signal
import sys
import tempfile
import time

import pytest
from browser import CHROMIUM
from checkout import BENCHMARKS, ROOT
from hypothesis import settings

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(ROOT / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_IN_MEMORY = "/dev/shm"
if "TMPDIR" not in os.environ and os.path.isdir(_IN_MEMORY) and os.access(_IN_MEMORY, os.W_OK):
    _mounted = os.statvfs(_IN_MEMORY)
    if _mounted.f_bavail * _mounted.f_frsize >= 2 << 30 and not _mounted.f_flag & os.ST_NOEXEC:
        tempfile.tempdir = os.environ["TMPDIR"] = _IN_MEMORY

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARING = (
    "test_checker.py",
    "test_docs.py",
    "test_first_page.py",
    "test_html_report.py",
    "test_pictures.py",
    "test_site.py",
)
"""Their tests share a process that is slow to start. An idle worker takes over another's last
tests, so these come first.
"""

for _profile, _examples in (("quick", 10), ("gate", 30)):
    settings.register_profile(
        _profile, deadline=None, max_examples=_examples, derandomize=True, database=None
    )
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True, scope="session")
def never_waiting_for_the_disk():
    """Make `os.fsync` do nothing in tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def load(monkeypatch):
    """Import a module of the benchmarks, which do not belong to the package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder is an empty one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ticking(monkeypatch):
    """A clock that advances one second with every reading: times are then counts, which a test can
    assert.
    """
    readings = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(readings)))


_OPEN = []
"""Playwright and its browser while tests share them; it keeps an event loop running, which other
tests would trip over.
"""


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium, one for all files that share processes; skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not _OPEN:
        engine = playwright.sync_playwright().start()
        _OPEN.append(
            (
                engine,
                engine.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
                ),
            )
        )
    return _OPEN[0][1]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Close the browser after the last file that may use it."""
    if _OPEN and (nextitem is None or nextitem.path.name not in (item.path.name, *SHARING)):
        engine, found = _OPEN.pop()
        found.close()
        engine.stop()


def pytest_addoption(parser):
    parser.addoption(
        "--backend",
        metavar="NAME",
        help="run only the tests of one backend: conformance, and its own file",
    )


def pytest_configure(config):
    if config.getoption("--backend") is not None:
        config.option.markexpr = ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what needs a browser, and put tests that share a process first; `--backend NAME` keeps
    tests with `name=NAME`, and those of its own file, also if they are marked.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("gate")
    items.sort(key=lambda each: each.path.name not in SHARING)
    name = config.getoption("--backend")
    if name is None:
        return
    file = f"test_{name.replace('-', '_')}"
    kept = [each for each in items if each.path.stem == file or _parameter(each) == name]
    if not kept:
        raise pytest.UsageError(
            f"no test here is one of a backend {name}; DISCREET_BACKENDS "
            "names those of other packages"
        )
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def pytest_collection_finish():
    """From here on the garbage collector looks at what tests make only."""
    gc.freeze()


def pytest_unconfigure():
    """At the exit it takes everything apart, or libraries complain of leaks."""
    gc.unfreeze()


def _parameter(item):
    """The value of a test's parameter `name`; None without one."""
    return item.callspec.params.get("name") if hasattr(item, "callspec") else None
