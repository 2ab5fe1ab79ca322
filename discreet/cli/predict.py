"""`discreet predict`: guesses for people by a rule from a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from discreet.cli import screen
from discreet.cli.flags import Force, Json, argument, flag, option
from discreet.cli.people import People, Person, check_column
from discreet.errors import FileError, InputError, how_to_install
from discreet.showing.values import Table

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from discreet.people.folder import DeployedRule

    Columns = Mapping[str, NDArray[Any]]

Folder = Annotated[str, argument("RULE", "A folder that discreet fit wrote.")]
Out = Annotated[
    str | None,
    option("FILE", "CSV or Parquet; by default CSV on standard output."),
]
Fresh = Annotated[bool, flag("Toss new coins, instead of the same for the same person.", "--fresh")]
Probabilities = Annotated[bool, flag("Also how likely each guess was made.", "--probabilities")]


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

    Coins are sticky: the same person gets the same guess however often it is asked. --id names the
    column that identifies a person, which is copied; without it all columns that the rule reads
    do. A rule with a lottery needs --id. Tables of any length are read some people at a time.

    The key of the coins is in RULE.key, or in the environment variable DISCREET_KEY (the key or the
    path of its file). Without it the signature of the rule is not checked.

    Examples:

      discreet predict rule new.csv --id customer --out guesses.csv

      discreet predict rule new.parquet --id customer --out guesses.parquet --force

      discreet predict rule new.csv --id customer --probabilities | head
    """
    import contextlib
    from collections import Counter

    import numpy as np

    from discreet.files.tables import TableStream
    from discreet.people.deployed import NEEDS_IDS
    from discreet.people.folder import NAMES, DeployedRule
    from discreet.storage.writing import check_output

    if as_json and out is None:
        raise InputError("--json describes the guesses that are written; say where with --out")
    if out is not None:
        inputs = [people, *(f"{rule}/{name}" for name in NAMES)]
        check_output(out, None, inputs=inputs, overwrite=force)
    counts = Counter[str]()
    coins = np.random.default_rng() if fresh else None
    silent = contextlib.nullcontext(lambda *_: None)
    with screen.progress() if out is not None else silent as tell:
        tell(0, None, "reading")
        deployed = DeployedRule.load(rule)
        read = {each.name for each in deployed.columns}
        stream = TableStream(people, read | {person or ""} if read else None, texts=deployed.texts)
        for each in deployed.columns:
            each.check(stream.header)
        if person is not None:
            check_column(people, stream.header, person)
        elif deployed.needs_ids and not fresh:
            raise InputError(f"{NEEDS_IDS}; give --id COLUMN")

        def guesses() -> Iterator[Columns]:
            for table in stream.parts():
                tell(counts["people"], stream.people, "guessing")
                yield _guesses(deployed, table, person, coins, probabilities, counts)

        _write(guesses(), out)
    if out is None:
        return
    labels = [str(label) for label in deployed.rule.guesses]
    record = {
        "people": counts["people"],
        "guesses": {label: counts[f"guess {label}"] for label in labels},
        "drawn": counts["drawn"],
        "statement": deployed.about.get("statement"),
    }
    screen.show(lambda: {"file": out, **record}, lambda _: [_table(out, record)], as_json=as_json)


def _guesses(
    deployed: DeployedRule,
    table: Columns,
    person: str | None,
    coins: Any,
    probabilities: bool,
    counts: Counter[str],
) -> Columns:
    """The columns that are written for these people; adds how many got which guess and drew it."""
    from discreet.people.labels import objects

    places, columns = deployed.decide(table, None if person is None else table[person], coins)
    labels = objects(deployed.rule.guesses)
    written = {} if person is None else {person: table[person]}
    written["guess"] = labels[places]
    if probabilities:
        written |= {f"p({label})": column for label, column in zip(labels, columns.T, strict=True)}
    counts.update({f"guess {label}": int((places == k).sum()) for k, label in enumerate(labels)})
    counts["people"] += len(places)
    counts["drawn"] += int((columns.max(axis=1, initial=0.0) < 1.0).sum())
    return written


def _write(parts: Iterator[Columns], out: str | None) -> None:
    """Write the parts one below the other: to standard output, or to a file, all or nothing."""
    import sys

    from discreet.storage.writing import replacing

    if out is None:
        sys.stdout.writelines(_csv(parts))
        return
    with replacing(out, overwrite=True) as stream:
        if out.lower().endswith(".parquet"):
            stream.write(_parquet(parts))
        else:
            stream.writelines(text.encode() for text in _csv(parts))


def _csv(parts: Iterator[Columns]) -> Iterator[str]:
    from discreet.showing.data import csv_text

    for number, part in enumerate(parts):
        lines = zip(*(column.tolist() for column in part.values()), strict=True)
        yield csv_text(None if number else part, lines)


def _parquet(parts: Iterator[Columns]) -> bytes:
    """One Parquet file of all parts, each of which is written to a file of its own first."""
    from pathlib import Path

    from discreet.files.parquet import library
    from discreet.storage.writing import scratch_folder

    try:
        import pandas
    except ImportError as error:
        raise FileError(
            f"writing Parquet needs pandas, which does not import ({error}); give CSV, or "
            f"{how_to_install('people,bench')}"
        ) from None
    with scratch_folder() as scratch, library().connect() as engine:
        engine.execute("SET threads = 1")  # the same bytes each time
        for number, part in enumerate(parts):
            engine.register("guesses", pandas.DataFrame(dict(part)))
            engine.execute(f"COPY guesses TO '{scratch}/{number:06d}.parquet' (FORMAT parquet)")
        names = f"'{scratch}/[0-9]*.parquet'"
        selection = f"SELECT * FROM read_parquet({names}, union_by_name = true)"
        engine.execute(f"COPY ({selection}) TO '{scratch}/whole.parquet' (FORMAT parquet)")
        return Path(scratch, "whole.parquet").read_bytes()


def _table(out: str, record: dict[str, Any]) -> Table:
    rows = [(label, f"{count:,}") for label, count in record["guesses"].items()]
    rows.append(("drawn by a coin", f"{record['drawn']:,}"))
    return Table(f"{out}: {record['people']:,} people", ("guess", "people"), rows, ("people",))
