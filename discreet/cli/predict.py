"""`discreet predict`: guesses for people by a rule from a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Force, Json
from discreet.cli.people import check_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]

Folder = Annotated[str, typer.Argument(metavar="RULE", help="A folder that discreet fit wrote.")]
People = Annotated[str, typer.Argument(metavar="PEOPLE.csv", help="CSV or Parquet, a line for each person.")]
Out = Annotated[str | None, typer.Option(metavar="FILE", help="CSV or Parquet; by default CSV on standard output.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Who a person is: decides coins, and is copied.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Toss new coins, instead of the same for the same person.")]
Probabilities = Annotated[bool, typer.Option("--probabilities", help="Also how likely each guess was made.")]


def predict(
    rule: Folder,
    people: People,
    out: Out = None,
    person: Id = None,
    fresh: Fresh = False,
    probabilities: Probabilities = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Guess for new people, a line for each in their order. Needs onnxruntime and no scikit-learn.

    Coins are sticky: the same person gets the same guess however often it is asked. Who a person is says --id, or else all
    columns that the rule reads.

    Examples:

      discreet predict rule new.csv --out guesses.csv

      discreet predict rule new.parquet --id customer --out guesses.parquet --force

      discreet predict rule new.csv --probabilities | head
    """
    import sys

    import numpy as np

    from discreet.people.folder import NAMES, DeployedRule
    from discreet.problems.errors import InputError
    from discreet.problems.files.tables import read_table
    from discreet.problems.files.writing import check_output

    if as_json and out is None:
        raise InputError("--json describes the guesses that are written; say where with --out")
    if out is not None:
        inputs = [people, *(f"{rule}/{name}" for name in NAMES)]
        check_output(out, lambda _: False, inputs=inputs, overwrite=force)
    with screen.waiting("guessing"):
        deployed = DeployedRule.load(rule)
        table = read_table(people, texts=deployed.texts)
        if person is not None:
            check_column(people, table, person)
        ids = None if person is None else table[person]
        places, columns = deployed.decide(table, ids, np.random.default_rng() if fresh else None)
    labels = np.array([*deployed.rule.guesses, None], dtype=object)[:-1]
    found: dict[str, Any] = {} if person is None else {person: table[person]}
    found["guess"] = labels[places]
    if probabilities:
        found |= {f"p({label})": column for label, column in zip(labels, columns.T, strict=True)}
    if out is None:
        sys.stdout.write(_csv(found))
        return
    _write(out, found)
    counts = {str(label): int((places == k).sum()) for k, label in enumerate(labels)}
    record = {"people": len(places), "guesses": counts, "drawn": int((columns.max(axis=1, initial=0.0) < 1.0).sum())}
    record["statement"] = deployed.about.get("statement")
    screen.show(lambda: {"file": out, **record}, lambda tables: [_table(tables, out, record)], as_json=as_json)


def _csv(found: Columns) -> str:
    from discreet.reports.outputs import csv_text

    return csv_text(found, zip(*(column.tolist() for column in found.values()), strict=True))


def _write(out: str, found: Columns) -> None:
    from pathlib import Path

    from discreet.problems.errors import FileError
    from discreet.problems.files.writing import scratch_folder
    from discreet.reports.outputs import replace_file

    if not out.lower().endswith(".parquet"):
        replace_file(out, _csv(found))
        return
    try:
        import duckdb
        import pandas
    except ImportError as error:
        raise FileError(f"{out} needs DuckDB and pandas to be written ({error}); pip install both, or give CSV") from None
    with scratch_folder() as scratch, duckdb.connect() as engine:
        engine.register("guesses", pandas.DataFrame(dict(found)))
        engine.execute(f"COPY guesses TO '{scratch}/guesses.parquet' (FORMAT parquet)")
        replace_file(out, Path(scratch, "guesses.parquet").read_bytes())


def _table(tables: Any, out: str, record: dict[str, Any]) -> Any:
    rows = [(label, f"{count:,}") for label, count in record["guesses"].items()]
    rows.append(("drawn by a coin", f"{record['drawn']:,}"))
    return tables.listed(f"{out}: {record['people']:,} people", ("guess", "people"), rows, right=("people",))
