"""One line for each ratio after the run."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Each way's fastest turn ÷ that of the way it is compared with, and the noise of the run."""
    session = getattr(config, "_benchmarksession", None)
    found = (
        [bench for bench in session.benchmarks if "ratios" in bench.extra_info] if session else []
    )
    if found:
        terminalreporter.section("ratios")
    for bench in found:
        first = next(iter(bench.extra_info["seconds"]))
        told = ", ".join(
            f"{name} ÷ {first} {ratio:.3g}" for name, ratio in bench.extra_info["ratios"].items()
        )
        terminalreporter.write_line(f"{bench.name}: {told} (noise {bench.extra_info['noise']:.3g})")
