"""`discreet fit`: from a table of people to a folder with a rule, which predicts anywhere."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.checks import brief
from discreet.cli import screen
from discreet.cli.flags import Force, Json, column_names, flag, number, option
from discreet.cli.people import Budgets, Confidence, Hide, Measures, People, by_column, check_column
from discreet.errors import InputError, how_to_install
from discreet.people.labels import TOGETHER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.people.planning import Prospects

    Columns = Mapping[str, NDArray[Any]]

Guess = Annotated[str, option("COLUMN", "Column to be guessed.", complete=column_names)]
Out = Annotated[str, option("FOLDER", "Where the rule, its graph and its card go.")]
Fraction = Annotated[
    list[str] | None,
    option("[COLUMN=]F", "Budget as a fraction of what a plain guess leaks."),
]
Ignore = Annotated[
    list[str] | None,
    option("COLUMN", "Column that is not read; may be repeated.", complete=column_names),
]
Calibration = Annotated[float, number("F", "Share of people who are kept apart for the promise.")]
Groups = Annotated[
    list[str] | None,
    option("[COLUMN=]GROUP,...", "Whom the promise is about; others are left out.", "--groups"),
]
PromiseKind = Annotated[
    str, option("HOW", "exact, or asymptotic: shorter limits, for many people.", "--promise")
]
Rare = Annotated[str | None, option("HOW", "merge or exclude groups of few people.", "--rare")]
RareBelow = Annotated[int, option("N", "People to fit on, below which a group is rare.")]
Row = Annotated[
    str | None,
    option("COLUMN", "Column that identifies a person, if people have several rows.", "--person"),
]
Frontier = Annotated[bool, flag("Write only the errors to expect for each promise.", "--frontier")]
FailIfConstant = Annotated[
    bool, flag("Exit with 1 if only a constant guess is shown.", "--fail-if-constant")
]
PROSPECTS = ("prospects.svg", "prospects.json")
Seed = Annotated[
    int | None,
    option("N", "Makes the same rule again; its key is then not secret."),
]


def fit(
    people: People,
    hide: Annotated[list[str], Hide],
    guess: Guess,
    out: Out,
    leakage: Budgets = None,
    fraction: Fraction = None,
    measure: Measures = None,
    ignore: Ignore = None,
    groups: Groups = None,
    rare: Rare = None,
    rare_below: RareBelow = 100,
    person: Row = None,
    promise: PromiseKind = "exact",
    confidence: Confidence = 0.95,
    calibration: Calibration = 0.5,
    seed: Seed = None,
    frontier: Frontier = False,
    fail_if_constant: FailIfConstant = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a rule that guesses one column and reveals at most a budget about others, and write it
    into a folder.

    The sensitive columns are needed to fit, but not to predict. The folder contains rule.json,
    model.onnx and a card. FOLDER.key contains the key of the coins and of the signature, and only
    you may read it; see discreet predict. One budget limits what the guess reveals about all
    sensitive columns together; --leakage COLUMN=NATS sets a budget for each column. If no other
    rule can be shown to keep the budget, a constant rule is written and reported as CONSTANT; with
    --fail-if-constant the exit code is then 1. With --frontier no rule is fitted: the folder
    receives the expected errors over the budgets that this number of people can be promised. You
    may look at them before you choose a budget.

    Examples:

      discreet fit people.csv --hide sex --guess income --fraction 0.3 --out rule

      discreet fit people.parquet --hide sex --hide race --guess income --leakage 0.01 --out rule
      --force

      discreet fit people.csv --hide sex --hide race --guess income --leakage sex=0.01 --leakage
      race=0.02 --out rule

      discreet fit people.csv --hide sex --guess hired --leakage 0.05 --measure parity-difference
      --out rule
    """
    from pathlib import Path

    from discreet.files.tables import read_table
    from discreet.people.classifier import PrivateClassifier
    from discreet.people.folder import CARD, NAMES, key_path
    from discreet.people.graph import libraries
    from discreet.people.saving import check_key_place
    from discreet.reports.card import card_data, main_facts
    from discreet.reports.outputs import check_folder

    check_folder(out, PROSPECTS if frontier else NAMES, inputs=[people], overwrite=force)
    if seed is None and not frontier:  # then the key is a new one
        check_key_place(out, None, force)
    libraries()
    budget = by_column(leakage, hide, "--leakage", float)
    share = by_column(fraction, hide, "--fraction", float)
    measures = by_column(measure, hide, "--measure")
    if frontier and not budget:
        budget = {TOGETHER: math.inf}
    if bool(budget) == bool(share):
        raise InputError("give one of --leakage and --fraction")
    with screen.progress() as tell:
        tell(0, None, "reading")
        table = read_table(people)
        rows = [] if person is None else [person]
        features = _features(people, table, [*hide, guess, *rows], ignore or [])
        truth = _labels(people, table, guess)
        hidden = _frame({name: _labels(people, table, name, True) for name in hide})
        _check_asked(people, hide, guess, truth, hidden)
        private = PrivateClassifier(
            budget=budget or None,
            fraction=share or None,
            measure=measures or "mutual-information",
            groups=_groups(groups, hidden),
            rare_groups=rare,
            rare_below=rare_below,
            promise=promise,
            confidence=confidence,
            calibration=calibration,
            random_state=seed,
        )
        private.watch = tell  # type: ignore[method-assign, assignment]
        try:
            persons = None if person is None else table[person]
            private.fit(features, truth, sensitive_features=hidden, person=persons)
        except InputError:
            raise
        except ValueError as error:  # scikit-learn's
            raise InputError(f"{people}: {error}") from None
        if frontier:
            _show_prospects(private.prospects(), out, force, as_json)
            return
        tell(1, 1, "writing")
        facts = {
            "asked": {"hide": hide, "guess": [guess]},
            "data": {"file": Path(people).name, "columns": [*features]},
        }
        card = card_data(private.save(out, features, facts=facts, overwrite=force))
    screen.show(
        lambda: {"folder": out, **card},
        lambda _: [main_facts(card, out), private.statement_][:: -1 if private.constant_ else 1],
        as_json=as_json,
    )
    screen.say(
        f"wrote {Path(out) / CARD} and {len(NAMES) - 1} files next to it, and {key_path(out)}, "
        "which is a secret"
    )
    if private.constant_ and fail_if_constant:
        raise typer.Exit(1)


def _show_prospects(prospects: Prospects, out: str, force: bool, as_json: bool) -> None:
    from discreet.reports.outputs import write_folder
    from discreet.showing.figures import svg_files

    contents = svg_files([prospects.plot()])
    contents["prospects.json"] = json.dumps(prospects.to_dict(), indent=1, allow_nan=False) + "\n"
    written = write_folder(out, contents, {"command": "discreet fit --frontier"}, overwrite=force)
    screen.show(prospects.to_dict, lambda _: prospects.tables(), as_json=as_json)
    screen.say(f"wrote {' and '.join(map(str, written))}")


def _groups(given: list[str] | None, hidden: Any) -> Any:
    """The groups that the promise is about, by the hidden column that names them."""
    if not given:
        return None
    groups_of = {}
    for name, texts in by_column(given, list(hidden.columns), "--groups").items():
        if name == TOGETHER and len(hidden.columns) > 1:
            raise InputError("there are several hidden columns; give --groups COLUMN=GROUP,...")
        groups_of[name] = texts.split(",")
    return groups_of if len(hidden.columns) > 1 else next(iter(groups_of.values()))


def _frame(columns: Columns) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise InputError(
            f"fitting needs pandas, which does not import ({error}); "
            f"{how_to_install('people,onnx')}"
        ) from None
    return pandas.DataFrame(dict(columns))


def _features(people: str, table: Columns, asked: list[str], ignored: list[str]) -> Any:
    """The columns that a guess is made from."""
    for name in [*asked, *ignored]:
        check_column(people, table, name)
    features = {name: column for name, column in table.items() if name not in (*asked, *ignored)}
    if not features:
        raise InputError(
            f"{people} has no column to guess from; add one that is not named by --hide or --guess"
        )
    return _frame(features)


def _check_asked(
    people: str, hide: list[str], guess: str, truth: NDArray[Any], hidden: Any
) -> None:
    """Raise InputError where there is nothing to guess or to hide."""
    from discreet.people.labels import encode_labels

    if guess in hide:
        raise InputError(
            f"column {brief(guess)} is both hidden and guessed; a guess cannot hide "
            "what it is about"
        )
    for name, what, column in [
        (guess, "guess", truth),
        *((name, "hide", hidden[name].to_numpy()) for name in hide),
    ]:
        if len(encode_labels(column, brief(name))[0]) < 2:
            raise InputError(
                f"column {brief(name)} of {people} is the same for everybody, so "
                f"there is nothing to {what}"
            )


def _labels(people: str, table: Columns, name: str, missing: bool = False) -> Any:
    """A column of labels; InputError for one of measurements, or where a label is missing and may
    not.
    """
    import numpy as np

    from discreet.people.folder import as_text
    from discreet.people.rows import is_measured

    column = table[name]
    if is_measured(column):
        raise InputError(
            f"column {brief(name)} of {people} holds measurements; cut it into "
            "ranges, and give those"
        )
    lost = np.array([as_text(value) == "" or value != value for value in column.tolist()])
    if not missing and lost.any():
        raise InputError(
            f"column {brief(name)} of {people} is empty for {int(lost.sum())} people, first in row "
            f"{int(lost.argmax()) + 1}; leave these people out"
        )
    return column.astype(str) if column.dtype.kind == "O" and not lost.any() else column
