"""The environment that a measurement depends on: the machine, the versions of every library, and
the commit.

Rows contain no names of users and no folders of this machine. They contain the name of the host, so
that a slow or broken host can be found; published rows number the hosts instead.
"""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from discreet.backends.environments import Environment
from discreet.backends.isolated import environment_of
from discreet.backends.registry import capabilities_of
from discreet.reports.measurements import Measurement

_ROOT = Path(__file__).resolve().parents[3]


@cache
def machine() -> dict[str, Any]:
    """Return a dictionary with the processor, cores, memory_gib and system."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return match.group(1).strip() if match else platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1)
    except (AttributeError, ValueError, OSError):
        return None


def versions(backend: str, settings: Mapping[str, Any], environment: str = "") -> dict[str, str]:
    """Return the versions of Python, discreet and every library of the backend in an environment,
    without importing them; "absent" for a missing library. An environment is made if need be.

    A setting whose value is the name of an installed library (conic's solver) counts as one.
    """
    able = capabilities_of(backend)
    libraries = able.libraries if able else ()
    place = environment_of(environment, backend)
    named = [
        value
        for value in settings.values()
        if isinstance(value, str) and _is_installed(value, place)
    ]
    own_versions = {"python": platform.python_version()}
    return own_versions | {
        name: place.version_of(name)
        for name in dict.fromkeys(("discreet", "numpy", "scipy", *libraries, *named))
    }


@cache
def _is_installed(word: str, place: Environment) -> bool:
    return (
        word.isidentifier()
        and word not in sys.stdlib_module_names
        and place.version_of(word) != "absent"
    )


def load() -> float:
    """Return the average number of runnable processes over the last minute; inf if the system does
    not report it.
    """
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return math.inf


@cache
def commit() -> str:
    """Return the commit of the checkout this package runs from, with "+changes" if files of the
    package differ; "" outside a checkout.
    """
    if not (_ROOT / ".git").exists():
        return ""
    try:
        head = _git("rev-parse", "HEAD")
        return f"{head}+changes" if _git("status", "--porcelain", "--", "discreet") else head
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(_ROOT), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=10.0,
    )
    return done.stdout.strip()


def scrub_paths(text: str) -> str:
    """Return the text with folders of this machine removed from paths. Paths inside a package are
    kept; home and other folders are removed.
    """
    text = re.sub(r"(?:[A-Za-z]:)?[\\/][^\s\"':]*?site-packages[\\/]", "", text)
    text = text.replace(f"{_ROOT}{os.sep}", "")
    return re.sub(r"(?<![\w.<])(?:[A-Za-z]:)?[\\/](?:[^\s\"'\\/:,;()]+[\\/])+", "…/", text)


def without_hosts(rows: Iterable[Measurement]) -> list[Measurement]:
    """Return the rows with the names of hosts replaced by host 1, host 2, … in the order of the
    names.
    """
    rows = list(rows)
    number = {
        name: f"host {k}"
        for k, name in enumerate(sorted({row.host for row in rows} - {""}), start=1)
    }
    return [replace(row, host=number.get(row.host, "")) for row in rows]


def without_folders(row: Measurement) -> Measurement:
    """Return the row with folders removed from its texts."""
    words = {
        name: scrub_paths(getattr(row, name))
        for name in ("problem", "message", "traceback", "claimed")
    }
    return replace(row, **words)  # type: ignore[arg-type]
