"""The application: its commands, and the one place where errors become exit codes.

Exit codes: 0 all well; 1 a result is not certified, a promise is broken, or backends disagree; 2 a
fault, explained in one sentence on standard error; 130 interrupted. A traceback is a defect.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.cli.flags import flag, with_options
from discreet.cli.screen import INTERRUPTED, drop_output
from discreet.errors import DiscreetError, shorten_message

FAULT = 2


GROUPS = {
    "Solve": {
        "solve": "Solve one problem and certify the answer.",
        "frontier": "Trace the least error at every leakage budget.",
        "audit": "Judge an estimator: what it leaks, and what can be inferred.",
        "verify": "Check a solution file again by exact arithmetic.",
        "problems": "List the catalog of problems, or show one of them.",
        "reproduce": "Compute the paper's numerical section again.",
    },
    "Compare": {
        "compare": "Run every backend on the same problems.",
        "advise": "Choose a backend for a problem from measurements.",
        "doctor": "List the backends, and why one cannot run here.",
        "crosscheck": "Check that all backends agree, for CI.",
        "export": "Write a problem in the formats of other solvers.",
        "submit": "Judge the answers of another program.",
    },
    "People": {
        "plan": "Compute how many people a promise needs.",
        "fit": "Fit a rule for people from a table.",
        "predict": "Guess for new people by a rule.",
        "evaluate": "Measure what guesses do to people.",
        "monitor": "Watch the guesses of a deployed rule.",
    },
    "Studies": {
        "bench": "Measure backends on many problems; resumable.",
        "report": "Write measured results as one interactive page.",
        "diff": "Say what changed between two studies.",
        "hunt": "Search for problems that a solver gets wrong.",
    },
}
"""The commands by the groups of the help, each with what it does."""


class _Command(TyperCommand):
    """A command whose help shows examples as they are typed, folded before options only."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description and the examples."""
        text, heading, examples = inspect.cleandoc(self.help or "").partition("Examples:\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
            if heading:
                formatter.write_paragraph()
                formatter.write_text("Examples:")
            for example in filter(None, examples.split("\n\n")):
                formatter.write_paragraph()
                for line in _fold(" ".join(example.split()), formatter.width - 8):
                    formatter.write(f"    {line}\n")


def _fold(example: str, width: int) -> list[str]:
    """A command line in lines of at most this width, as far as it can be broken before options."""
    lines: list[str] = []
    for piece in re.split(r" (?=--)", example):
        if lines and len(lines[-1]) + len(piece) < width:
            lines[-1] += f" {piece}"
        else:
            lines.append(f"  {piece}" if lines else piece)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


class _Commands(TyperGroup):
    """Turns every exception that a command raises on purpose into one sentence and an exit code."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in their groups."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def main(  # type: ignore[override]  # the signature differs between typer's releases
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        extra["standalone_mode"] = False
        _open_streams()
        warnings.formatwarning = _warning
        code = None
        try:
            code = super().main(args, prog_name, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            drop_output()
        except (DiscreetError, MemoryError, OSError) as error:
            _complain(_sentence(error))
            drop_output()
            sys.exit(FAULT)
        except (KeyboardInterrupt, typer.Abort):
            _complain("interrupted")
            sys.exit(INTERRUPTED)
        except Exception as error:
            # No error of the parser, whose class moves between typer's releases.
            if not hasattr(error, "format_message"):
                raise
            _complain(f"{error.format_message().rstrip('.')}; see discreet --help")
            sys.exit(FAULT)
        if code == INTERRUPTED:
            _complain("interrupted")
        sys.exit(code if isinstance(code, int) else 0)


_usual_warning = warnings.formatwarning


def _warning(message: Any, category: type[Warning], *where: Any, **more: Any) -> str:
    """A warning of discreet is a sentence like its errors; others are written as usual."""
    if category.__module__.partition(".")[0] == "discreet":
        return f"discreet: {shorten_message(str(message))}\n"
    return _usual_warning(message, category, *where, **more)


def _open_streams() -> None:
    """Writing to a closed stream goes nowhere; a character that the encoding lacks is written as an
    escape.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        with contextlib.suppress(OSError):
            if getattr(sys, name) is None:
                # Takes the lowest number that is free, which no other file may get.
                os.open(os.devnull, os.O_RDWR)
                mode = "w" if number else "r"
                setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        # a stream of another kind, or one that was read from
        with contextlib.suppress(AttributeError, OSError):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _sentence(error: DiscreetError | MemoryError | OSError) -> str:
    """Return what went wrong, and what to do."""
    match error:
        case MemoryError():
            return "the problem does not fit into memory; make it smaller"
        case OSError():
            where = error.filename or "standard output or a temporary file"
            why = error.strerror or error
            return f"{where} cannot be used: {why}; make room, or choose another place"
        case _:
            return str(error)


def _complain(sentence: str) -> None:
    with contextlib.suppress(OSError):  # standard error may be closed
        print(f"discreet: {shorten_message(sentence)}", file=sys.stderr)


app = typer.Typer(
    cls=_Commands,
    name="discreet",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Each command is a file in this folder, with a function of its name.
for name in (each for commands in GROUPS.values() for each in commands):
    command = with_options(getattr(import_module(f"discreet.cli.{name}"), name))
    app.command(cls=_Command)(command)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, flag("Print the version and exit.", "--version")] = False,
) -> None:
    """Design, solve, compare and certify privacy-aware minimum-error estimators.

    Exit codes: 0 all well; 1 a result is not certified, a promise is broken, or backends disagree;
    2 a fault; 130 interrupted.
    """
    if version:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
