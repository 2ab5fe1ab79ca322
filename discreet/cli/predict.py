"""`discreet predict`: guesses for people by a rule from a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Force, Json
from discreet.cli.people import People, Person, check_column
from discreet.showing.values import Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.people.folder import DeployedRule
    from discreet.problems.files.parts import Parts

    Columns = Mapping[str, NDArray[Any]]

Folder = Annotated[str, typer.Argument(metavar="RULE", help="A folder that discreet fit wrote.")]
Out = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="CSV or Parquet; by default CSV on standard output."),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Toss new coins, instead of the same for the same person.")
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Also how likely each guess was made.")
]


def predict(
    rule: Folder,
    people: People,
    out: Out = None,
    person: Person = None,
    fresh: Fresh = False,
    probabilities: Probabilities = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Guess for new people, a line for each in their order. Needs onnxruntime and no scikit-learn.

    Coins are sticky: the same person gets the same guess however often it is asked. Who a person is
    says --id, which is copied, or else all columns that the rule reads. Tables of any length are
    read some people at a time; if it is interrupted, the same command goes on with those who have
    no guess yet.

    Examples:

      discreet predict rule new.csv --out guesses.csv

      discreet predict rule new.parquet --id customer --out guesses.parquet --force

      discreet predict rule new.csv --probabilities | head
    """
    import contextlib
    import sys

    import numpy as np

    from discreet.people.folder import NAMES, DeployedRule
    from discreet.problems.errors import InputError
    from discreet.problems.files.parts import Parts
    from discreet.problems.files.tables import TOGETHER, TableStream
    from discreet.problems.files.writing import check_output

    if as_json and out is None:
        raise InputError("--json describes the guesses that are written; say where with --out")
    if out is not None:
        inputs = [people, *(f"{rule}/{name}" for name in NAMES)]
        check_output(out, lambda _: False, inputs=inputs, overwrite=force)
    silent = contextlib.nullcontext(lambda *_: None)
    with screen.progress() if out is not None else silent as tell, contextlib.ExitStack() as stack:
        tell(0, None, "reading")
        deployed = DeployedRule.load(rule)
        read = {each.name for each in deployed.columns}
        stream = TableStream(people, read | {person or ""} if read else None, texts=deployed.texts)
        for each in deployed.columns:
            each.check(stream.header)
        if person is not None:
            check_column(people, stream.header, person)
        first = 0
        parts = None
        total = stream.people
        if out is not None:
            asked = [
                deployed.rule.document["digest"],
                _identity(people),
                _is_parquet(out),
                person,
                fresh,
                probabilities,
            ]
            parts = Parts(out, {"asked": asked})
            stack.callback(parts.close)
            stack.enter_context(
                screen.resumable(lambda: _how(parts, min(parts.done * TOGETHER, total), total))
            )
            first = parts.done
            if first:
                screen.say(
                    f"going on after {first * TOGETHER:,} people, whose guesses are in "
                    f"{parts.folder}"
                )
        for number, table in enumerate(stream.parts(first), first):
            tell(number * TOGETHER, total, "guessing")
            coins = (
                np.random.default_rng([int(parts.entropy, 16), number] if parts else None)
                if fresh
                else None
            )
            found, counts = _guesses(deployed, table, person, coins, probabilities)
            if parts is None:
                sys.stdout.write(_csv(found, number == 0))
            else:
                parts.add(
                    _parquet(found) if _is_parquet(str(out)) else _csv(found, number == 0).encode(),
                    counts,
                )
        if parts is None:
            return
        tell(total, total, "writing")
        whole = [_joined(parts.folder, parts.paths)] if _is_parquet(str(out)) else None
        counts = parts.counts
        parts.join(str(out), whole)
    labels = [str(label) for label in deployed.rule.guesses]
    record = {
        "people": total,
        "guesses": {label: counts[f"guess {label}"] for label in labels},
        "drawn": counts["drawn"],
    }
    record["statement"] = deployed.about.get("statement")
    screen.show(
        lambda: {"file": out, **record}, lambda _: [_table(str(out), record)], as_json=as_json
    )


def _guesses(
    deployed: DeployedRule, table: Columns, person: str | None, coins: Any, probabilities: bool
) -> tuple[Columns, dict[str, int]]:
    """The columns that are written for these people, and how many got which guess and drew it."""
    import numpy as np

    places, columns = deployed.decide(table, None if person is None else table[person], coins)
    labels = np.array([*deployed.rule.guesses, None], dtype=object)[:-1]
    found = {} if person is None else {person: table[person]}
    found["guess"] = labels[places]
    if probabilities:
        found |= {f"p({label})": column for label, column in zip(labels, columns.T, strict=True)}
    counts = {f"guess {label}": int((places == k).sum()) for k, label in enumerate(labels)}
    return found, {**counts, "drawn": int((columns.max(axis=1, initial=0.0) < 1.0).sum())}


def _identity(people: str) -> list[Any]:
    """What tells whether a file is the one that an interrupted run has read."""
    from pathlib import Path

    found = Path(people).stat()
    return [str(Path(people).resolve()), found.st_size, found.st_mtime_ns]


def _how(parts: Parts, done: int, total: int) -> str:
    """Words for whoever interrupts it."""
    if not parts.done:
        return "no guess was written yet"
    return (
        f"the same command goes on after {done:,} of {total:,} people, whose guesses are in "
        f"{parts.folder}"
    )


def _is_parquet(out: str) -> bool:
    return out.lower().endswith(".parquet")


def _csv(found: Columns, header: bool) -> str:
    from discreet.showing.data import csv_text

    return csv_text(
        found if header else None, zip(*(column.tolist() for column in found.values()), strict=True)
    )


def _parquet(found: Columns) -> bytes:
    """A part of a Parquet file, itself one."""
    from pathlib import Path

    from discreet.problems.files.writing import scratch_folder

    duckdb, pandas = _writers()
    with scratch_folder() as scratch, duckdb.connect() as engine:
        engine.register("guesses", pandas.DataFrame(dict(found)))
        engine.execute(f"COPY guesses TO '{scratch}/guesses.parquet' (FORMAT parquet)")
        return Path(scratch, "guesses.parquet").read_bytes()


def _joined(folder: Path, paths: list[Path]) -> Path:
    """One Parquet file of many, in their order."""
    duckdb, _ = _writers()
    whole = folder / "part-all"
    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")  # the same bytes each time
        names = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
        found = f"SELECT * FROM read_parquet([{names}], union_by_name = true)"
        target = str(whole).replace("'", "''")
        engine.execute(f"COPY ({found}) TO '{target}' (FORMAT parquet)")
    return whole


def _writers() -> tuple[Any, Any]:
    from discreet.problems.errors import FileError

    try:
        import duckdb
        import pandas
    except ImportError as error:
        raise FileError(
            f"Parquet needs DuckDB and pandas to be written ({error}); pip install "
            "both, or give CSV"
        ) from None
    return duckdb, pandas


def _table(out: str, record: dict[str, Any]) -> Table:
    rows = [(label, f"{count:,}") for label, count in record["guesses"].items()]
    rows.append(("drawn by a coin", f"{record['drawn']:,}"))
    return Table(f"{out}: {record['people']:,} people", ("guess", "people"), rows, ("people",))
