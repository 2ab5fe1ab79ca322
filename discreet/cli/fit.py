"""`discreet fit`: from a table of people to a folder with a rule, which predicts anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from discreet.checks import brief
from discreet.cli import screen
from discreet.cli.flags import Force, Json, option
from discreet.cli.people import Budgets, Confidence, Hide, Measures, People, by_column, check_column
from discreet.errors import InputError
from discreet.showing.values import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]

Guess = Annotated[str, option("COLUMN", "Column of what is to be guessed.")]
Out = Annotated[str, option("FOLDER", "Where the rule, its graph and its card go.")]
Fraction = Annotated[
    list[str] | None,
    option("[COLUMN=]F", "Budget as a fraction of what a plain guess leaks."),
]
Ignore = Annotated[
    list[str] | None,
    option("COLUMN", "Column that is not read; may be repeated."),
]
Calibration = Annotated[float, option("F", "Share of people who are kept apart for the promise.")]
Seed = Annotated[
    int | None,
    option("N", "Makes the same rule again; its key is then no secret."),
]

# Of the people have a text or a whole number of their own in a column that is no feature.
_IDENTIFIES = 0.5


def fit(
    people: People,
    hide: Annotated[list[str], Hide],
    guess: Guess,
    out: Out,
    leakage: Budgets = None,
    fraction: Fraction = None,
    measure: Measures = None,
    ignore: Ignore = None,
    confidence: Confidence = 0.95,
    calibration: Calibration = 0.25,
    seed: Seed = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a rule that guesses one column and reveals at most a budget about others, and write it
    into a folder.

    The sensitive columns are needed here and never to predict. The folder holds rule.json,
    model.onnx and a card; FOLDER.key beside it holds the key of its coins and of its signature,
    which only you may read; see discreet predict. One budget is about the sensitive columns
    together; --leakage COLUMN=NATS for each is about each. Where no other rule is shown to keep the
    budget, the rule always guesses alike, and says so.

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
    from discreet.reports.card import card_data
    from discreet.reports.outputs import check_folder

    check_folder(out, NAMES, inputs=[people], overwrite=force)
    if seed is None:  # then the key is a new one
        check_key_place(out, None, force)
    libraries()
    budget = by_column(leakage, hide, "--leakage", float)
    share = by_column(fraction, hide, "--fraction", float)
    measures = by_column(measure, hide, "--measure")
    if bool(budget) == bool(share):
        raise InputError("give one of --leakage and --fraction")
    with screen.progress() as tell:
        tell(0, None, "reading")
        table = read_table(people)
        features = _features(people, table, [*hide, guess], ignore or [])
        truth = _labels(people, table, guess)
        hidden = _frame({name: _labels(people, table, name, True) for name in hide})
        _check_asked(people, hide, guess, truth, hidden, calibration)
        private = PrivateClassifier(
            budget=budget or None,
            fraction=share or None,
            measure=measures or "mutual-information",
            confidence=confidence,
            calibration=calibration,
            random_state=seed,
        )
        private.watch = tell  # type: ignore[method-assign, assignment]
        try:
            private.fit(features, truth, sensitive_features=hidden)
        except InputError:
            raise
        except ValueError as error:  # scikit-learn's
            raise InputError(f"{people}: {error}") from None
        tell(1, 1, "writing")
        facts = {
            "asked": {"hide": hide, "guess": [guess]},
            "data": {"file": Path(people).name, "columns": [*features]},
        }
        card = card_data(private.save(out, features, facts=facts, overwrite=force).document)
    screen.show(
        lambda: {"folder": out, **card},
        lambda _: [_facts(out, card), private.statement_],
        as_json=as_json,
    )
    screen.say(
        f"wrote {Path(out) / CARD} and {len(NAMES) - 1} files beside it, and {key_path(out)}, "
        "which is a secret"
    )


def _frame(columns: Columns) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise InputError(
            f"fitting needs scikit-learn and pandas; pip install 'discreet[people,onnx]' ({error})"
        ) from None
    return pandas.DataFrame(dict(columns))


def _features(people: str, table: Columns, asked: list[str], ignored: list[str]) -> Any:
    """The columns that a guess is made from; a column that nearly identifies people is named."""

    for name in [*asked, *ignored]:
        check_column(people, table, name)
    found = {name: column for name, column in table.items() if name not in (*asked, *ignored)}
    if not found:
        raise InputError(
            f"{people} has no column to guess from; give one beside --hide and --guess"
        )
    for name, column in found.items():
        if not _is_measured(column) and len({*column.tolist()}) > max(
            50, _IDENTIFIES * len(column)
        ):
            kind = "texts" if column.dtype.kind == "O" else "numbers"
            told = f"column {brief(name)} has nearly as many {kind} as people"
            screen.say(f"{told}; if it says who a person is, leave it out with --ignore {name}")
    return _frame(found)


def _is_measured(column: NDArray[Any]) -> bool:
    """Whether a column holds times, or numbers that are not all whole."""
    return column.dtype.kind in "Mm" or (
        column.dtype.kind == "f" and bool((column % 1.0 > 0.0).any())
    )


def _check_asked(
    people: str, hide: list[str], guess: str, truth: NDArray[Any], hidden: Any, calibration: float
) -> None:
    """Raise InputError where there is nothing to guess, nothing to hide, or nobody to show the
    promise on.
    """
    from discreet.people.labels import encode_labels
    from discreet.people.probabilities import FOLDS

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
    if len(truth) < FOLDS:
        raise InputError(
            f"{people} has {len(truth)} people; give at least {FOLDS}, whom cross-fitting needs"
        )
    if 0.0 < calibration * len(truth) < 1.0:
        raise InputError(
            f"{people} has {len(truth)} people, of whom --calibration {calibration:g} keeps "
            "nobody apart to show the "
            "promise on; give more people, or --calibration 0 for a rule without a promise"
        )


def _labels(people: str, table: Columns, name: str, missing: bool = False) -> Any:
    """A column of labels; InputError for one of measurements, or where a label is missing and may
    not.
    """
    import numpy as np

    from discreet.people.folder import as_text

    column = table[name]
    if _is_measured(column):
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


def _facts(out: str, card: dict[str, Any]) -> Facts:
    """What is worth knowing at once."""
    from discreet.reports.card import asked_budgets

    people = card["people"]
    model = card["model"]
    data = card["data"]
    facts = [
        ("people", f"{data['people']:,}, of whom {data['calibration people']:,} were kept apart")
    ]
    if people:
        leaks = {f"leakage{each.about}": each.of(people)["leakage"] for each in asked_budgets(card)}
        facts += [
            (name, f"{limits['estimate']:.4g} ({limits['low']:.4g} to {limits['high']:.4g})")
            for name, limits in ({"errors": people["error"]} | leaks).items()
        ]
    if model:
        facts.append(("in the model", f"{model['status']}; errs {model['error_probability']:.6g}"))
    return Facts(out, facts)
