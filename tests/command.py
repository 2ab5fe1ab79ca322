"""The command line for tests: in this process, or in one of its own where the process itself is tested."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from typer.testing import CliRunner, Result

from discreet.cli.app import app

__all__ = ["environment", "process", "refused", "run"]


def run(*arguments: str) -> Result:
    """What `discreet ARGUMENTS` says and its exit code. Nothing but an exit may get out."""
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result


def refused(*arguments: str) -> str:
    """The complaint of a command line that must be refused: one line, nothing on standard output."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("discreet: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def environment(**variables: str) -> dict[str, str]:
    """For another process: it imports what this one can import."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", **variables}


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """`discreet ARGUMENTS` in a process of its own."""
    command = [sys.executable, "-m", "discreet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment(), **options)
