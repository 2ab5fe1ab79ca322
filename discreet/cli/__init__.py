"""The command line, one file per command; `discreet --help` lists them. `main` is the entry point."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process; never returns."""
    from discreet.cli.app import app

    app()
