"""The cost of starting: `import discreet` and the command line, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


class Start:
    """Wall-clock seconds, including the start of the interpreter; `time_numpy` is the yardstick."""

    number = 1
    repeat = (5, 20, 10.0)
    warmup_time = 0.0

    def time_numpy(self) -> None:
        """`import numpy`, which discreet cannot do without."""
        _run("-c", "import numpy")

    def time_import(self) -> None:
        """Run `import discreet` in a new process."""
        _run("-c", "import discreet")

    def time_help(self) -> None:
        """Run `discreet --help` in a new process."""
        _run("-m", "discreet", "--help")

    def time_solve_four_bins(self) -> None:
        """`discreet solve paper-single`, from nothing to a certified answer of four outcomes."""
        _run("-m", "discreet", "solve", "paper-single", "--leakage", "0.01")


class StartMemory:
    """Largest resident memory, in bytes, of a child process that only starts."""

    unit = "bytes"

    def track_numpy(self) -> int:
        """Measure `import numpy`, the yardstick."""
        return _peak("import numpy")

    def track_import(self) -> int:
        """`import discreet` and the function that solves."""
        return _peak("import discreet; discreet.solve")


def _peak(code: str) -> int:
    """Largest resident memory of an interpreter that runs the code, in bytes, as the kernel counts
    it for that program.
    """
    if sys.platform != "linux":
        from asv_runner.benchmarks.mark import SkipNotImplemented

        raise SkipNotImplemented("the peak memory of a fresh interpreter is read on Linux only")
    ask = (
        "print(next(line.split()[1] for line in open('/proc/self/status') if "
        "line.startswith('VmHWM')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{ask}"], check=True, capture_output=True, text=True
    )
    return int(done.stdout) * 1024
