"""The application: its commands, and the one place where errors become exit codes.

Exit codes: 0 all well; 1 a result is not certified, or backends disagree; 2 bad input, explained in one sentence on standard
error; 130 interrupted. A traceback is a defect.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet.cli import (
    advise,
    audit,
    bench,
    compare,
    crosscheck,
    doctor,
    frontier,
    problems,
    report,
    reproduce,
    solve,
    verify,
)
from discreet.problems.errors import DiscreetError

BAD_INPUT = 2
INTERRUPTED = 130


class _Commands(TyperGroup):
    """Turns every exception that a command raises on purpose into one sentence and an exit code."""

    def main(  # type: ignore[override]  # the signature differs between typer's releases
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        extra["standalone_mode"] = False
        try:
            code = super().main(args, prog_name, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_stdout()
            sys.exit(0)
        except (DiscreetError, MemoryError) as error:
            _complain(
                str(error) if isinstance(error, DiscreetError) else "the problem does not fit into memory; make it smaller"
            )
            sys.exit(BAD_INPUT)
        except (KeyboardInterrupt, typer.Abort):
            _complain("interrupted")
            sys.exit(INTERRUPTED)
        except Exception as error:
            if not hasattr(error, "format_message"):  # no error of the parser, whose class moves between typer's releases
                raise
            _complain(f"{error.format_message().rstrip('.')}; see discreet --help")
            sys.exit(BAD_INPUT)
        if code == INTERRUPTED:
            _complain("interrupted")
        sys.exit(code if isinstance(code, int) else 0)


def _complain(sentence: str) -> None:
    print(f"discreet: {' '.join(sentence.split())}", file=sys.stderr)


def _drop_stdout() -> None:
    """The reader has left; keep the interpreter from complaining about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=_Commands,
    name="discreet",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    solve.solve, compare.compare, advise.advise, bench.bench, report.report, frontier.frontier, audit.audit,
    verify.verify, reproduce.reproduce, problems.problems, crosscheck.crosscheck, doctor.doctor,
):  # fmt: skip
    app.command()(command)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Design, solve, compare and certify privacy-aware minimum-error estimators.

    Exit codes: 0 all well; 1 a result is not certified or backends disagree; 2 bad input; 130 interrupted.
    """
    if version:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
