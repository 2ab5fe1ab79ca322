"""`discreet bench`: the work–precision study, every cell in a process of its own, here or on other
machines, resumable.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Force, Json, Results, argument, flag, option, study_names
from discreet.errors import FileError, InputError
from discreet.showing.values import Table

if TYPE_CHECKING:
    from discreet.reports.measurements import Measurement
    from discreet.reports.study.cells import Cell
    from discreet.reports.study.plan import Study
    from discreet.reports.study.runner import Summary, Watch

_MOST_FAILURES = 5  # shown after a run, each reason once
_PLAIN_SECONDS = 10.0  # between lines of progress where standard error is not a terminal


def bench(
    study: Annotated[
        str,
        argument(
            "STUDY",
            "A TOML file, default, quick, or the folder of a study to continue.",
            complete=study_names,
        ),
    ] = "default",
    out: Results = None,
    only: Annotated[
        list[str] | None,
        option(
            "TEXT",
            "Only cells with TEXT in their title. Repeat it to require several texts.",
            "--only",
        ),
    ] = None,
    executor: Annotated[
        str,
        option(
            "WHERE",
            "What runs the cells: local (one at a time), loky[:N], "
            "dask:ADDRESS or submitit:PARTITION.",
        ),
    ] = "local",
    dry_run: Annotated[
        bool,
        flag("List the profiles, the cells and the estimated time; run nothing.", "--dry-run"),
    ] = False,
    query: Annotated[
        str | None,
        option("SQL", "Query the table `cells` of a study's folder with DuckDB; run nothing."),
    ] = None,
    reference: Annotated[
        str | None,
        option(
            "FILE", "Write a study's rows, free of names and paths, to FILE.csv.gz; run nothing."
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run a study: measure time, accuracy, true leakage and memory of backends on problems.

    Every cell is an attempt in its own process, with limits of time and memory. Its answer is
    judged, and its row is written at once. After an interruption, the same command runs only the
    missing cells, with this executor or another. Times of cells that ran at the same time as others
    are flagged; they are compared only if a control measurement allows it. Exits with 1 if no cell
    of the study is certified.

    Examples:

      discreet bench --dry-run

      discreet bench quick --out quick --only paper-single

      discreet bench quick --out quick

      discreet bench quick --out quick --executor loky:4

      discreet bench default --executor dask:tcp://10.0.0.1:8786

      discreet bench quick --query "SELECT backend, count(*) FROM cells GROUP BY ALL"
    """
    from discreet.reports.study.executors import check_executor

    check_executor(executor)
    place = place_of(study, out)
    if query is not None:
        _answer(place, query, as_json)
    elif reference is not None:
        _write_reference(place, reference, force, as_json)
    else:
        _run(study_of(study), place, tuple(only or ()), executor, dry_run, force, as_json)


def place_of(study: str, out: str | None) -> Path:
    """The folder of the results of a study, which may itself be named as the study."""

    if "\0" in study or (out is not None and "\0" in out):
        raise InputError("a path holds a null character, which no path can; choose another")
    if not Path(study).is_dir():
        return Path(out or "discreet-bench")
    _study_file(study)
    if out is not None and Path(out) != Path(study):
        raise InputError(
            f"{study!r} is the folder of a study, which continues in place; leave out --out"
        )
    return Path(study)


def study_of(name: str) -> Study:
    """The study of that name, file or folder."""
    from discreet.reports.study.plan import read_study

    return read_study(_study_file(name) if Path(name).is_dir() else name)


def _study_file(folder: str) -> str:
    """The study file in a folder; FileError if it has none."""
    path = Path(folder, "study.toml")
    if not path.is_file():
        raise FileError(
            f"{folder!r} is a folder without a study.toml; give a study file, default or quick"
        )
    return str(path)


def _run(
    study: Study,
    place: Path,
    only: Sequence[str],
    where: str,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    from discreet.reports.study.cells import cells_of, choose
    from discreet.reports.study.store import Store, check_study

    if not dry_run:
        check_study(place, study.source, overwrite=force)
    with screen.waiting("building the problems"):
        work = cells_of(study)
    cells = choose(work.cells, only)
    for sentence in work.left_out:
        screen.say(sentence)
    if dry_run:
        _plan(study, cells, place, as_json)
        return
    with Store(place) as store:
        store.adopt(study.name, study.source, overwrite=force)
        known, notices = store.finished()
        for sentence in notices:
            screen.say(sentence)
        summary = _measure(study, cells, store, known, where)
    _report(study, summary, place, notices, as_json)
    exit_unless_certified(summary.rows)


def exit_unless_certified(rows: Sequence[Measurement]) -> None:
    """Name the certificates that `verify` contradicts. Exit with 1 where there are any, and where
    no row is certified.
    """
    contradicted = [row for row in rows if row.contradictions]
    for row in contradicted:
        screen.say(f"verify contradicts the certificate of {row.label} on {row.instance}")
    if contradicted or not any(row.certified for row in rows):
        raise typer.Exit(1)


def _measure(
    study: Study, cells: Sequence[Cell], store: Any, known: dict[str, Any], where: str
) -> Summary:
    from discreet.reports.study.executors import open_executor
    from discreet.reports.study.runner import run_cells

    try:
        with open_executor(where, store.folder, study.limits) as executor, _progress() as watch:
            return run_cells(cells, store, known, watch, executor)
    except KeyboardInterrupt:
        kept, _ = store.finished()
        count = sum(cell.key in kept for cell in cells)
        screen.say(
            f"{count} of {len(cells)} cells are kept in {store.folder}; run the same "
            "command again to continue"
        )
        raise


@contextlib.contextmanager
def _progress() -> Iterator[Watch]:
    """A bar on a terminal; elsewhere a line every ten seconds."""

    with screen.progress() as bar:
        said = [0.0]

        def watch(done: int, total: int, what: str, left: float) -> None:
            about = f"{_duration(left)} left; {what}"
            bar(done, total, about)
            if not sys.stderr.isatty() and (
                time.monotonic() - said[0] >= _PLAIN_SECONDS or done == total
            ):
                said[0] = time.monotonic()
                screen.say(f"{done} of {total} cells, about {about}")

        yield watch


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _plan(study: Study, cells: Sequence[Cell], place: Path, as_json: bool) -> None:
    from discreet.reports.study.runner import estimated_seconds
    from discreet.reports.study.store import rows

    known: list[Measurement] = []
    if (place / "cells").is_dir():
        with contextlib.suppress(FileError):  # a run will set the damaged file aside and say so
            known = rows(place)
    finished = {row.cell for row in known}
    missing = [cell for cell in cells if cell.key not in finished]
    seconds = estimated_seconds(missing, known)
    listed = [
        {"cell": cell.key, "title": cell.title, "repeat": cell.repeat, "skipped": cell.skipped}
        for cell in cells
    ]
    record = {
        "study": study.name,
        "cells": listed,
        "missing": len(missing),
        "estimated_seconds": round(seconds, 1),
    }
    if not as_json:
        screen.say(f"{len(cells)} cells, {len(missing)} to run, about {_duration(seconds)}")
    screen.show(
        lambda: record,
        lambda _: [_profile_table(study), _cell_table(cells, finished), *_reasons_to_skip(cells)],
        as_json=as_json,
    )


def _profile_table(study: Study) -> Table:
    lines = []
    for profile in study.profiles:
        for each in study.backends:
            if each.profiles is None or profile.name in each.profiles:
                settings = {**profile.settings.get(each.backend, {}), **each.settings}
                pairs = ", ".join(f"{name} = {value}" for name, value in settings.items())
                lines.append((profile.name, f"{profile.gap:g}", each.label, pairs or "nothing"))
    return Table(
        "Accuracy profiles",
        ("profile", "relative gap", "backend", "set beyond its defaults"),
        lines,
    )


def _cell_table(cells: Sequence[Cell], finished: set[str]) -> Table:
    lines = []
    for cell in cells:
        state = "skipped" if cell.skipped else "to run"
        if cell.key in finished:
            state = "done"
        lines.append((cell.title, state, str(cell.repeat)))
    return Table(
        "Cells, in the order of running", ("cell", "state", "repeat"), lines, (), ("repeat",)
    )


def _reasons_to_skip(cells: Sequence[Cell]) -> list[str]:
    """Why cells are skipped, a sentence for each reason."""
    counts = Counter(cell.skipped for cell in cells if cell.skipped)
    return [f"{count} skipped: {reason}." for reason, count in counts.items()]


def _report(
    study: Study, summary: Summary, place: Path, notices: Sequence[str], as_json: bool
) -> None:
    from discreet.reports.statistics.numbers import shared_words

    record = {
        "study": study.name,
        "folder": str(place),
        "cells": len(summary.rows),
        "measured": summary.measured,
        "statuses": summary.statuses,
        "set_aside": list(notices),
        "seconds": round(summary.seconds, 3),
    }
    statuses = [(row.label, row.status) for row in summary.rows]
    screen.show(
        lambda: record,
        lambda tables: [tables.status_table("Cells by backend and status", statuses)],
        as_json=as_json,
    )
    if not as_json:
        screen.say(
            f"{summary.measured} cells measured in {_duration(summary.seconds)}, "
            f"{len(summary.rows)} are in {place}"
        )
        failed = {
            (row.label, row.message): row for row in summary.rows if row.status.value == "failed"
        }
        for row in list(failed.values())[:_MOST_FAILURES]:
            screen.say(f"{row.label} failed on {row.instance}: {row.message}")
        if warning := shared_words(summary.rows):
            screen.say(warning)


def _answer(place: Path, sql: str, as_json: bool) -> None:
    from discreet.reports.study.store import query
    from discreet.showing.data import plain

    names, rows = query(place, sql)

    lines = [tuple("" if value is None else str(value) for value in row) for row in rows]
    records = [plain(dict(zip(names, row, strict=True))) for row in rows]
    screen.show(lambda: records, lambda _: [Table("", names, lines)], as_json=as_json)


def _write_reference(place: Path, target: str, force: bool, as_json: bool) -> None:
    from discreet.reports.study.store import write_reference

    count = write_reference(place, Path(target), overwrite=force)
    if as_json:
        screen.print_json({"file": target, "rows": count})
    else:
        screen.say(f"wrote {count} rows to {target}")
