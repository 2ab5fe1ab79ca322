"""A rule in production: a folder with the rule, its classifiers as an ONNX graph, and its card.

rule.json    the rule; `about` holds its facts, and the SHA-256 of the graph
model.onnx   maps the columns of a table to the probabilities of guesses (`discreet.people.graph`)
card.html, card.json   the facts about the rule, for people and for programs

None of them is code, so a folder from a stranger can be loaded. Predicting needs NumPy and
onnxruntime, but not scikit-learn. The file FOLDER.key next to it holds the key that signs rule.json
and tosses the coins; only its owner may read it.

Coins are tossed by the ids of people or, without ids, by their records: the cells of the columns
that the graph reads. A fitted `PrivateClassifier` tosses the same coins. A rule with a lottery
needs ids: otherwise anyone who changes a record slightly gets another coin, and the mean over many
coins is the guess that the lottery hides.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import brief, nearest
from discreet.errors import FileError, InputError
from discreet.numerics.double_double import Array
from discreet.people.deployed import NEEDS_IDS, Rule, coins, find_key
from discreet.people.labels import objects
from discreet.people.tables import guesses_like, in_columns
from discreet.problems.frames import is_missing
from discreet.storage.texts import check_ordinary
from discreet.storage.writing import PathLike, shown_path

RULE, GRAPH, CARD, CARD_DATA = NAMES = ("rule.json", "model.onnx", "card.html", "card.json")
"""The files of a folder."""

GRAPH_FORMAT = "discreet rule graph"
GRAPH_VERSION = 1

_BLOCK = 1 << 13  # number of records that are hashed at a time
_TOGETHER = 1 << 15  # number of people that the graph processes at a time


@dataclass(frozen=True)
class Column:
    """A column that the graph reads, which holds "numbers", "times" (as seconds since 1970) or
    "texts".
    """

    name: str
    kind: str

    @classmethod
    def of(cls, table: Any) -> tuple[Column, ...]:
        """Return the columns of a data frame or a mapping of arrays; none for an array."""
        return (
            tuple(cls(str(name), _kind(part)) for name, part in table.items())
            if hasattr(table, "items")
            else ()
        )

    def check(self, names: Iterable[Any]) -> None:
        """Raise InputError unless a table with these column names has this one."""
        have = [str(name) for name in names]
        if self.name not in have:
            raise InputError(
                "the people have no column "
                f"{brief(self.name)}{nearest(self.name, have)}, which the rule "
                "reads"
            )

    def cells(self, table: Any) -> NDArray[Any]:
        """Return the cells of a table as the graph reads them [people, 1]; InputError if there are
        none of that kind.
        """
        self.check(table)
        part = table[next(name for name in table if str(name) == self.name)]
        if self.kind == "texts":
            return objects(map(as_text, part.tolist()))[:, None]
        numbers = numbers_of(part)
        if numbers is None:
            other = next((value for value in part.tolist() if not _is_number(value)), part.dtype)
            raise InputError(
                f"column {brief(self.name)} held {self.kind} when the rule was fitted and now has "
                f"{brief(other)}; give such again"
            )
        return numbers[:, None]


def read_cells(table: Any, kind: str) -> NDArray[Any]:
    """Return the cells of a table whose columns are all of this kind [people, columns]; a text that
    is missing is None.
    """
    cells = np.hstack([Column(str(name), kind).cells(table) for name in table])
    if kind == "texts":
        cells[cells == ""] = None
    return cells


def _kind(part: Any) -> str:
    if getattr(part.dtype, "kind", "O") in "Mm":
        return "times"
    return "texts" if numbers_of(part) is None else "numbers"


def as_text(value: Any) -> str:
    """Return a category as text; an empty text for a missing value."""
    if isinstance(value, str):
        return value
    return "" if is_missing(value) else repr(value)


def numbers_of(part: Any) -> Array | None:
    """Return a column as numbers, times as seconds, missing values as NaN; None if it holds
    anything else.
    """
    kind = getattr(part.dtype, "kind", "O")
    if type(part.dtype).__name__ == "CategoricalDtype":
        return None
    if kind in "Mm":
        times = np.asarray(
            part
            if kind == "m" or getattr(part.dtype, "tz", None) is None
            else part.dt.tz_convert(None)
        )
        seconds = times.astype(f"{kind}8[us]").astype(np.float64) / 1e6
        return np.where(np.isnat(times), np.nan, seconds)
    if kind in "biuf" and isinstance(part.dtype, np.dtype):
        return np.asarray(part, dtype=np.float64)
    values = part.tolist()
    if all(map(_is_number, values)):
        return np.array([np.nan if is_missing(value) else float(value) for value in values])
    return None


def _is_number(value: Any) -> bool:
    """Return True for a number or a missing value."""
    return is_missing(value) or isinstance(value, int | float | np.number)


def feeds(
    table: Any, columns: tuple[Column, ...], width: int | None = None
) -> dict[str, NDArray[Any]]:
    """Return the inputs of the graph for a table: its columns, or numbers [people, width]. Raises
    InputError.
    """
    table = in_columns(table)
    if columns:
        if not hasattr(table, "items"):
            raise InputError(
                "the rule reads columns by name; give a data frame, or a mapping of arrays"
            )
        inputs = {each.name: each.cells(table) for each in columns}
        if len({len(each) for each in inputs.values()}) > 1:
            raise InputError("the columns are not equally long; give a cell for each person")
        return inputs
    if isinstance(table, Mapping):
        raise InputError(
            f"the rule reads an array of numbers [people, {width}]; give that, or "
            "fit it on columns with names"
        )
    numbers = np.ascontiguousarray(table, dtype=np.float64)
    if numbers.ndim != 2 or width not in (None, numbers.shape[1]):
        raise InputError(f"X has shape {list(numbers.shape)}; give numbers [people, {width}]")
    return {"X": numbers}


class DeployedRule:
    """A rule with its classifiers, from a folder: tables of people in, guesses out.

    rule      the `Rule`, with its facts in `rule.document["about"]`
    columns   the columns that it reads; none if it reads an array
    """

    def __init__(self, rule: Rule, graph: bytes) -> None:
        """Load a graph from bytes. Raises InputError for a graph that does not belong to the
        rule.
        """
        try:
            import onnxruntime
        except ImportError as error:
            raise InputError(
                "onnxruntime runs the classifiers, and is not installed; pip install onnxruntime "
                f"({error})"
            ) from None
        digest = rule.document["about"].get("graph")
        if digest != graph_digest(graph):
            raise InputError(
                "the graph is not the one that the rule was made with; take the "
                "original files of the folder"
            )
        try:
            self._session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
            about = json.loads(self._session.get_modelmeta().custom_metadata_map["discreet"])
            if (about["format"], about["version"]) != (GRAPH_FORMAT, GRAPH_VERSION):
                raise ValueError(f"its format is {about['format']!r}, version {about['version']!r}")
            self.columns = tuple(
                Column(str(each["name"]), str(each["kind"])) for each in about["columns"]
            )
        except Exception as error:  # onnxruntime raises many kinds of errors
            raise InputError(
                f"the graph cannot be run ({brief(str(error))}); take the original files, or update"
            ) from None
        self.rule = rule
        self._width = None if self.columns else self._session.get_inputs()[0].shape[1]

    @classmethod
    def load(cls, folder: PathLike, key: PathLike | None = None) -> DeployedRule:
        """Load the rule of a folder. Raises FileError.

        key: 32 hexadecimal digits or the path of a file that contains them; else the environment
        variable DISCREET_KEY, else the file FOLDER.key. Without a key a warning states that the
        signature was not checked, and a rule that randomises can only toss fresh coins.
        """
        place = Path(folder)
        shown = shown_path(folder)
        if not place.is_dir():
            raise FileError(
                f"{shown} is not a folder with a rule; give one that discreet fit or "
                "PrivateClassifier.save made"
            )
        for name in (RULE, GRAPH):
            check_ordinary(place / name)
        try:
            rule = Rule.load(place / RULE, find_key(key, key_path(folder)))
            return cls(rule, (place / GRAPH).read_bytes())
        except (InputError, ValueError) as error:
            raise FileError(f"{shown}: {error}") from None

    @property
    def about(self) -> dict[str, Any]:
        """The facts about the rule."""
        return dict(self.rule.document["about"])

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are read as texts, even if all of their values look like numbers."""
        return tuple(each.name for each in self.columns if each.kind == "texts")

    @property
    def possible_guesses(self) -> tuple[Any, ...]:
        """The guesses that it can make; a single one for a constant rule."""
        return self.rule.possible_guesses

    @property
    def needs_ids(self) -> bool:
        """True if it needs ids to predict, because a lottery hides a guess."""
        return self.rule.needs_ids

    def predict_proba(self, table: Any) -> Array:
        """Return the probabilities of the guesses [people, guesses], from which `predict` draws."""
        return self._columns_of(feeds(table, self.columns, self._width))

    def predict(self, table: Any, ids: Any = None, fresh: np.random.Generator | None = None) -> Any:
        """Return the guesses [people] as an array, or as a column of X's library if X is a data
        frame of another library than pandas. Coins are tossed by ids (an integer or a text for
        each person), by records, or by a random generator.
        """
        labels = objects(self.rule.guesses)
        return guesses_like(table, labels[self.decide(table, ids, fresh)[0]])

    def decide(
        self, table: Any, ids: Any = None, fresh: Any = None
    ) -> tuple[NDArray[np.intp], Array]:
        """Return the positions of the guesses in `rule.guesses`, and their probabilities [people,
        guesses]. Raises InputError for a rule with a lottery if neither ids nor a generator are
        given.
        """
        if ids is None and fresh is None and self.needs_ids:
            raise InputError(f"{NEEDS_IDS}; give ids=")
        seen = feeds(table, self.columns, self._width)
        columns = self._columns_of(seen)

        def record(drawn: NDArray[np.intp]) -> NDArray[np.int64]:
            cells = {name: each[drawn] for name, each in seen.items()}
            return record_ids(cells, str(self.rule.key))

        try:
            return self.rule.draw(columns, ids, fresh, record), columns
        except ValueError as error:
            raise InputError(str(error)) from None

    def _columns_of(self, seen: Mapping[str, NDArray[Any]]) -> Array:
        people = len(next(iter(seen.values())))
        probabilities = np.empty((people, len(self.rule.guesses)))
        for start in range(0, people, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            probabilities[part] = self._session.run(
                ["probabilities"], {name: each[part] for name, each in seen.items()}
            )[0]
        return probabilities


def key_path(folder: PathLike) -> Path:
    """Return the path of the key file next to a folder (not next to a link to it)."""
    return Path(f"{os.path.realpath(folder)}.key")


def graph_digest(graph: bytes) -> str:
    """Return the SHA-256 of a graph, as a rule states it."""
    return f"sha256:{hashlib.sha256(graph).hexdigest()}"


def record_ids(seen: Mapping[str, NDArray[Any]], key: str) -> NDArray[np.int64]:
    """Return an id for each record [people], as a whole number: a coin under the key, of the cells
    that the graph reads in their order.

    A number is hashed as its double (with one zero and one NaN), a text by its own coin. So equal
    records have the same id in every process, whatever file or library holds them.
    """
    people = len(next(iter(seen.values())))
    if people > _BLOCK:  # fits into a cache
        parts = range(0, people, _BLOCK)
        return np.concatenate(
            [
                record_ids({name: each[k : k + _BLOCK] for name, each in seen.items()}, key)
                for k in parts
            ]
        )
    words = [_words(each, key) for each in seen.values()]
    return (coins(np.hstack(words), key) * 2.0**53).astype(np.int64)


def _words(cells: NDArray[Any], key: str) -> Array:
    if cells.dtype.kind == "f":
        numbers = cells + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers
    texts = cells[:, 0].tolist()
    place = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    index = np.array([place[text] for text in texts], dtype=np.intp)
    return coins(objects(place), key)[index, None]
