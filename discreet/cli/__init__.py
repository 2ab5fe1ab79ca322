"""The command line, one file per command; `discreet --help` lists them. `main` is the entry point."""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process; never returns."""
    from discreet.cli.app import app

    app()
