"""`discreet hunt`: search for problems on which a backend claims success and is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from discreet.cli import screen
from discreet.cli.flags import Force, Json, argument, backend_list, option
from discreet.errors import InputError
from discreet.showing.values import Facts

if TYPE_CHECKING:
    from discreet.reports.hunt.search import Find, Progress


def hunt(
    backend: Annotated[
        str,
        argument("BACKEND", "A backend; conic:solver=scs gives a setting.", complete=backend_list),
    ],
    time: Annotated[float, option("S", "Seconds to search, beyond those of earlier runs.")] = 60.0,
    out: Annotated[str, option("DIR", "Where the find goes.")] = "discreet-hunt",
    gap: Annotated[float, option("G", "Relative gap that the backend is asked for.")] = 1e-4,
    time_limit: Annotated[float, option("S", "Seconds per attempt.")] = 1.0,
    seed: Annotated[int, option("N", "Seed of the problems.")] = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Search for problems on which a backend claims success and is wrong, and shrink the find.

    It tries random, adversarial and mutated problems. A claim is wrong if the answer leaks more
    than the budget, or errs more than the certified optimum, by more than ten times the gap. The
    simplest find is written as an instance (CBF, MPS, Clarabel's JSON) with the exact bracket of
    its optimum, a script that needs the solver only, and a draft of a report. The same command
    again goes on. Needs python-flint (the extra verify).

    Examples:

      discreet hunt conic:solver=scs --time 600 --out hunts/scs

      discreet hunt clarabel --gap 1e-6 --time 3600
    """
    from importlib.util import find_spec
    from pathlib import Path

    from discreet.backends.contract import Options
    from discreet.reports import notation
    from discreet.reports.hunt import findings, search
    from discreet.reports.outputs import check_folder

    if find_spec("flint") is None:
        raise InputError("hunt needs python-flint; install it with: pip install 'discreet[verify]'")
    chosen = notation.configurations(backend)
    if len(chosen) != 1 or not time > 0.0 or seed < 0:
        raise InputError("give one backend, a positive --time and a --seed of at least 0")
    (configuration,) = chosen
    options = Options(gap, time_limit, settings=configuration.settings)
    quarry = search.Quarry(configuration, options, seed)
    folder = Path(out)
    check_folder(folder, findings.NAMES, overwrite=force)
    known = findings.resume(folder, quarry)
    try:
        with screen.progress() as watch:
            for latest in search.hunt(quarry, time, known, watch):
                known = latest
                findings.save(folder, quarry, known, overwrite=force)
    except KeyboardInterrupt:
        screen.say(f"stopped; run the same command again to continue the hunt in {out}")
        raise
    find = None if known.best is None else findings.examine(quarry, known.best)
    if find is not None:
        written = findings.write(folder, quarry, known, find, overwrite=force)
        screen.say(f"wrote {len(written)} files to {out}")
    record = {**known.counts, "find": find and find.record}
    screen.show(lambda: record, lambda _: [_facts(known, find)], as_json=as_json)


def _facts(known: Progress, find: Find | None) -> Facts:
    lines = [
        ("seconds", f"{known.seconds:.0f}"),
        ("problems", str(known.tried)),
        ("claims of success", str(known.claims)),
        ("wrong claims", str(known.wrong)),
    ]
    if find is not None:
        problem = find.problem
        lines += [
            ("the simplest", f"{problem.n} × {problem.m}, {problem.N} outcomes"),
            ("relative excess over the budget", f"{find.excess:.2g}"),
            ("relative excess of the error", f"{find.loss:.2g}"),
        ]
    return Facts("Hunt", lines)
