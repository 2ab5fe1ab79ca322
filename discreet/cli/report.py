"""`discreet report`: measured results as one interactive page, and as a snapshot to publish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import screen
from discreet.cli.flags import Force, argument, flag, option
from discreet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.reports.measurements import Measurement

DEFAULT_OUT = "discreet-report.html"


def report(
    results: Annotated[
        list[str] | None,
        argument("RESULTS", "Folders of discreet bench, .parquet, .csv or .csv.gz files."),
    ] = None,
    asv: Annotated[
        list[str] | None,
        option("DIR", "Results of asv, shown over commits; may be repeated.", "--asv"),
    ] = None,
    backends: Annotated[
        str | None,
        option("LIST", "Only these backends, ranked among themselves; commas separate them."),
    ] = None,
    out: Annotated[
        str | None,
        option("FILE.html", f"Where the page goes.  [default: {DEFAULT_OUT}]"),
    ] = None,
    publish: Annotated[
        str | None,
        option(
            "DIR",
            "Write a snapshot of Markdown, SVG and CSV there, instead of the "
            "page unless --out is given.",
        ),
    ] = None,
    force: Force = False,
    as_json: Annotated[
        bool,
        flag(
            "The numbers as JSON, and nothing else, on standard output; no page "
            "unless --out is given.",
            "--json",
        ),
    ] = False,
) -> None:
    """Show measured results as one self-contained page with interactive plots: claims, the truth
    about them, and times.

    Without RESULTS, it shows those shipped with discreet. The page loads nothing and can be mailed.

    Examples:

      discreet report

      discreet report study --out study.html

      discreet report study --asv .asv/results --publish snapshot

      discreet report --backends tilt,conic,conic:solver=scs --json
    """
    from discreet.reports.asv_results import read_asv
    from discreet.reports.html import IS_REPORT, report_numbers, write_report
    from discreet.reports.outputs import check_folder
    from discreet.reports.published import NAMES
    from discreet.reports.published import publish as publish_snapshot
    from discreet.storage.writing import check_output

    page = out
    if out is None and publish is None and not as_json:
        page = DEFAULT_OUT
    if page is not None:
        check_output(page, IS_REPORT, inputs=results or (), overwrite=force)
    if publish is not None:
        check_folder(publish, NAMES, inputs=results or (), overwrite=force)
    with screen.waiting("reading the results"):
        rows = _rows(results or (), backends)
        commits = [record for folder in asv or () for record in read_asv(folder)]
    if page is not None:
        written = write_report(
            rows, page, asv=commits, source=_source(results or ()), overwrite=force
        )
        screen.say(
            f"wrote {written}, {written.stat().st_size / 1024:.0f} KiB, from {len(rows)} attempts"
        )
    if publish is not None:
        files = publish_snapshot(rows, publish, commits, overwrite=force)
        screen.say(f"wrote {len(files)} files to {publish}")
    if as_json:
        screen.print_json(report_numbers(rows))


def _rows(results: Sequence[str], backends: str | None) -> list[Measurement]:
    from discreet.reports import notation
    from discreet.reports.measurements import reference_measurements
    from discreet.reports.study.store import read_results

    rows = read_results(results) if results else reference_measurements()
    if not rows:
        raise InputError(
            f"{', '.join(map(repr, results))} hold no finished attempts; run "
            "discreet bench on the study first"
        )
    known = sorted({row.label for row in rows})
    wanted = (
        known if backends is None else [each.label for each in notation.configurations(backends)]
    )
    if missing := [label for label in wanted if label not in known]:
        raise InputError(f"{missing[0]!r} was not measured; the results are of {', '.join(known)}")
    return [row for row in rows if row.label in wanted]


def _source(results: Sequence[str]) -> str:
    """Where the rows come from, without folders of this machine."""
    if not results:
        return "the reference results shipped with discreet"
    return ", ".join(dict.fromkeys(Path(name).resolve().name for name in results))
