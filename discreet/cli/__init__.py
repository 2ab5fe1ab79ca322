"""The command line, one file per command; `discreet --help` lists them. `main` is the
entry point.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process; never returns."""
    import sys

    try:
        from discreet.cli.app import app

        app()
    except KeyboardInterrupt:  # before the application could take it
        print("discreet: interrupted", file=sys.stderr)
        sys.exit(130)
