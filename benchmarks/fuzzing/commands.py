"""A door: whole command lines, run in this process; solving stays here too."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import shlex
from collections.abc import Callable
from typing import Any

from fuzzing.garbage import NUMBERS, TEXTS, text

import discreet as ds

__all__ = ["Finding", "Refused", "options", "run_command"]


class Refused(Exception):
    """A command line that ended with 2; the message is all that it said."""


class Finding(Exception):
    """Return what should not have happened, in words."""


_COMMANDS = tuple(
    line.split()
    for line in """
solve paper-single --set bins=6 --leakage 0.01 --backend tilt --option threads=1 --time-limit 5 --out out.npz --force --json
solve ./model.npz --fraction 0.5 --backend auto --json
solve dirichlet:n=2,m=2,N=5,seed=1 --perfect --backend highs
audit paper-single answer.npz --equivocation 0.3 --gap 1e-6 --json
verify ./model.npz answer.npz --leakage 0.01 --json
verify paper-single answer.npz --perfect
frontier paper-single --points 2 --width 0.9 --backend tilt --gap 1e-6 --time-limit 5 --json
frontier ./model.npz --points 2 --out curve --csv c.csv --svg s.svg --force
advise paper-single --gap 1e-6 --seconds 1 --results rows.csv --peers --json
bench quick --out study --only tilt --dry-run --json
bench study --query select
report rows.csv --out page.html --title x --force --json
report rows.csv --publish shown --force
doctor --json
""".strip().splitlines()
)


def options(r: random.Random) -> tuple[str, Callable[[], Any]]:
    """A command line with some words spoiled, left out, twice or in another place."""
    words = list(r.choice(_COMMANDS))
    for _ in range(r.randint(1, 3)):
        k = r.randrange(len(words))
        kind = r.randrange(5)
        if kind == 0:
            del words[k]
            words = words or ["solve"]
        elif kind == 1:
            words.insert(k, r.choice((*TEXTS, r.choice(r.choice(_COMMANDS)))))
        elif kind == 2:
            words[k] = text(r, words[k])
        else:
            words[k] = r.choice(
                (
                    *TEXTS,
                    *map(str, [n for n in NUMBERS if isinstance(n, float) or abs(n) < 10**4000]),
                )
            )
    words = [
        word.replace("/", "").replace("..", ".") if word not in ("./model.npz", "[/x]") else word
        for word in words
    ]
    words = [word for word in words if word not in ("compare", "crosscheck", "reproduce")]
    if "bench" in words and not {"quick", "study"} & {*words}:
        words.append("quick")
    if "bench" in words and "--query" not in words:
        words.append("--dry-run")
    return shlex.join(words), lambda: run_command(words)


@functools.cache
def _command() -> Any:
    from typer.main import get_command

    from discreet.backends import isolated
    from discreet.cli.app import app

    isolated.solve_isolated = lambda problem, backend, gap=1e-9, settings=None, **_: ds.solve(  # type: ignore[assignment]
        problem, backend, gap=gap, time_limit=5.0, settings=settings
    )
    return get_command(app)


def run_command(words: list[str]) -> str:
    """A command line in this process; what it prints. Raises Finding unless it ends with 0 or 1, or
    one line and 2.
    """
    out, said = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: Any = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            _command().main(list(words), "discreet")
        except SystemExit as end:
            code = end.code or 0
    complaint = said.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    if code == 2:
        if not complaint.startswith("discreet: "):
            raise Finding(f"exit code 2 without a sentence: {complaint[:200]!r}")
        raise Refused(complaint.removesuffix("\n"))
    if code not in (0, 1):
        raise Finding(f"exit code {code!r}")
    return out.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
