"""What a measurement depends on besides the problem: the machine, the versions of every layer, the
commit.

No names of people or folders of this machine get into a row. The name of the host does, so that a
slow or broken one can be found; what is published numbers the hosts.
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
    """processor, cores, memory_gib and system."""
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
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1)
    except (AttributeError, ValueError, OSError):
        return None


def versions(backend: str, settings: Mapping[str, Any], environment: str = "") -> dict[str, str]:
    """Versions of Python, discreet and every library of the backend in an environment, without
    importing them; "absent" for what is missing. An environment is made if need be.

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
    found = {"python": platform.python_version()}
    return found | {
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
    """How many processes wanted to run here on average in the last minute; inf where the system
    does not say.
    """
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return math.inf


@cache
def commit() -> str:
    """Commit of the checkout this package runs from, with "+changes" where files of the package
    differ; "" outside one.
    """
    if not (_ROOT / ".git").exists():
        return ""
    try:
        found = _git("rev-parse", "HEAD")
        return f"{found}+changes" if _git("status", "--porcelain", "--", "discreet") else found
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
    """The text with folders of this machine cut off paths: what is inside a package stays, home and
    other folders go.
    """
    text = re.sub(r"(?:[A-Za-z]:)?[\\/][^\s\"':]*?site-packages[\\/]", "", text)
    text = text.replace(f"{_ROOT}{os.sep}", "")
    return re.sub(r"(?<![\w.<])(?:[A-Za-z]:)?[\\/](?:[^\s\"'\\/:,;()]+[\\/])+", "…/", text)


def without_hosts(rows: Iterable[Measurement]) -> list[Measurement]:
    """The rows with numbers instead of the names of hosts: host 1, host 2, in the order of their
    names.
    """
    rows = list(rows)
    number = {
        name: f"host {k}"
        for k, name in enumerate(sorted({row.host for row in rows} - {""}), start=1)
    }
    return [replace(row, host=number.get(row.host, "")) for row in rows]


def without_folders(row: Measurement) -> Measurement:
    """The row with its words scrubbed."""
    words = {
        name: scrub_paths(getattr(row, name))
        for name in ("problem", "message", "traceback", "claimed")
    }
    return replace(row, **words)  # type: ignore[arg-type]
