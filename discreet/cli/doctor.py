"""`discreet doctor`: which backends can run here, and why the others cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Json, backend_list, option

if TYPE_CHECKING:
    from discreet.backends.registry import Availability


def doctor(
    require: Annotated[
        str | None,
        option("A,B,...", "Exit with 1 unless these backends can run here.", complete=backend_list),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the backends with versions and capabilities, and why one is absent or broken; peers are
    marked.

    Each is tried in a process of its own, so a library that crashes at import does not stop this
    command.

    Examples:

      discreet doctor

      discreet doctor --json --require tilt,conic
    """
    from concurrent.futures import ThreadPoolExecutor

    from discreet.backends.isolated import probe
    from discreet.backends.registry import backend_names, refuse_unknown_names
    from discreet.reports.notation import split_list

    names = backend_names()
    required = split_list(require or "")
    refuse_unknown_names(required)
    with screen.waiting("asking every backend"), ThreadPoolExecutor(2) as pool:
        probes = list(pool.map(probe, names))
    screen.show(
        lambda: [*map(_describe, probes)],
        lambda tables: tables.doctor_parts(probes),
        as_json=as_json,
    )
    missing = [p for p in probes if p.name in required and p.state != "available"]
    for backend in missing:
        screen.say(f"required backend {backend.name} is {backend.state}: {backend.reason}")
    if missing:
        raise typer.Exit(1)


def _describe(probe: Availability) -> dict[str, Any]:
    from discreet.showing.data import chosen

    able = probe.capabilities
    same = (
        "largest_outcomes",
        "gives_duals",
        "method",
        "method_class",
        "citation",
        "libraries",
        "peer",
    )
    capabilities = able and chosen(able, same) | {
        "regimes": sorted(regime.name.lower() for regime in able.regimes),
        "measures": sorted(able.measures),
        "kinds": sorted(kind.name.lower() for kind in able.kinds),
        "streams": any(kind.name == "BLOCKS" for kind in able.kinds),
        "extra": able.extra or None,
        "settings": dict(able.settings),
    }
    state = {"state": probe.state, "reason": probe.reason or None, "versions": probe.versions}
    return {"backend": probe.name, **state, "capabilities": capabilities}
