"""What it costs to start: `import discreet` and the command line's help, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


class Start:
    """Wall-clock seconds, the interpreter's own start included; `time_numpy` is the yardstick."""

    number = 1
    repeat = (5, 20, 10.0)
    warmup_time = 0.0

    def time_numpy(self) -> None:
        """`import numpy`, which discreet cannot do without."""
        _run("-c", "import numpy")

    def time_import(self) -> None:
        """`import discreet`."""
        _run("-c", "import discreet")

    def time_help(self) -> None:
        """`discreet --help`."""
        _run("-m", "discreet", "--help")
