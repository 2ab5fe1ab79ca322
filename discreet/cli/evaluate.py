"""`discreet evaluate`: what guesses do to people, from a table of people who had no part in the
making of the rule.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.checks import brief
from discreet.cli import screen
from discreet.cli.flags import Json, argument, column_names, flag, option
from discreet.cli.people import Budgets, Confidence, Hide, Measures, Person, by_column, check_column
from discreet.errors import InputError
from discreet.people.labels import TOGETHER, by_name, unnamed
from discreet.showing.data import plain

if TYPE_CHECKING:
    from discreet.files.tables import TableStream
    from discreet.people.folder import DeployedRule

Paths = Annotated[
    list[str],
    argument("[RULE] PEOPLE.csv", "A folder with a rule, if it guesses; CSV or Parquet."),
]
Truth = Annotated[
    str | None, option("COLUMN", "Column that was to be guessed.", complete=column_names)
]
Guesses = Annotated[
    str | None,
    option("COLUMN", "Column of the guesses, if no rule is given.", complete=column_names),
]

Cohort = Annotated[bool, flag("Speak of these very people, not of others like them.", "--cohort")]
Selected = Annotated[
    str | None, option("VALUE", "The guess that selects, for impact ratios; by default each.")
]


def evaluate(
    paths: Paths,
    hide: Annotated[list[str] | None, Hide] = None,
    truth: Truth = None,
    guesses: Guesses = None,
    leakage: Budgets = None,
    measure: Measures = None,
    confidence: Confidence = 0.95,
    person: Person = None,
    cohort: Cohort = False,
    selected: Selected = None,
    as_json: Json = False,
) -> None:
    """Say what guesses do to people: errors, leakage by every measure, odds and rates, with limits
    that are exact.

    The people must have had no part in the making of the rule. Given a RULE that discreet fit
    wrote, it guesses; columns, measure and budget are its own, and the exit code is 1 if these
    people show that its promise is broken. With --leakage it is 1 unless they show that this budget
    is kept.

    Examples:

      discreet evaluate rule held-out.csv

      discreet evaluate held-out.csv --hide sex --truth hired --guesses invited --selected yes

      discreet evaluate held-out.csv --hide sex --truth income --guesses guess

      discreet evaluate held-out.csv --hide sex --hide age --truth income --guesses guess --leakage
      0.01

      discreet evaluate held-out.csv --hide sex --hide age --truth income --guesses guess --leakage
      sex=0.01
    """
    from discreet.files.tables import TableStream
    from discreet.people.evaluation import evaluate as evaluated

    if len(paths) > 2:
        raise InputError(
            f"there are {len(paths)} paths; give a table of people, and before it a folder with a "
            "rule if it guesses"
        )
    table = paths[-1]
    deployed = None
    asked = {}
    if len(paths) == 2:
        from discreet.people.folder import DeployedRule

        deployed = DeployedRule.load(paths[0])
        asked = deployed.about["asked"]
        hide = hide or asked.get("hide")
        truth = truth or next(iter(asked.get("guess") or ()), None)
    if not hide or truth is None or (guesses is None) == (deployed is None):
        raise InputError(
            "say what is what: --hide, --truth and --guesses, or a folder with a "
            "rule before the table"
        )
    given = by_column(leakage, hide, "--leakage", float)
    measures = by_column(measure, hide, "--measure")
    own = _about(hide, asked.get("measure") or "mutual-information")
    chosen = measures or own
    budget = given
    if not given and asked.get("budget") is not None and _measures(chosen) == _measures(own):
        budget = {
            name: math.inf if amount is None else amount
            for name, amount in _about(hide, asked["budget"]).items()
        }
    if truth == guesses:
        raise InputError(
            f"--truth and --guesses both name {brief(truth)}; name the column of what was to be "
            "guessed, and that of the guesses"
        )
    needed = list(dict.fromkeys([*hide, truth, *([] if guesses is None else [guesses])]))
    beside = [person] if person and deployed else []
    seen, texts = (deployed.columns, deployed.texts) if deployed else ((), ())
    stream = TableStream(table, [*needed, *beside, *(each.name for each in seen)], texts=texts)
    for name in [*needed, *beside]:
        check_column(table, stream.header, name)
    made, columns = _guess(deployed, stream, person, needed)
    made = columns[guesses] if guesses is not None else made
    labels = _labels(deployed, hide) if deployed else {}
    parts: Any = {name: columns[name] for name in hide}
    if len(parts) == 1 and {*given, *chosen} <= {TOGETHER}:
        parts = parts[hide[0]]
    found = evaluated(
        made,
        None,
        columns[truth],
        sensitive_features=parts,
        measure=chosen,
        confidence=confidence,
        **labels,
    )
    known_guesses = [str(guess) for guess in found.guesses]
    if selected is not None and selected not in known_guesses:
        told = f"--selected is {brief(selected)}, which is no guess"
        raise InputError(f"{told}; there are {', '.join(map(repr, known_guesses))}")
    sentence = found.cohort_statement(budget or None) if cohort else found.statement(budget or None)
    kept = None
    if budget:
        kept = found.keeps(budget) if cohort else found.holds(budget)
    broken = kept is False and (bool(given) or cohort or found.breaks(budget))
    record = {
        "statement": sentence,
        "budget": plain(unnamed(budget)) if budget else None,
        "holds": kept,
    }
    screen.show(
        lambda: record | found.to_dict(),
        lambda _: [sentence, "", *found.tables(selected)],
        as_json=as_json,
    )
    if broken:
        raise typer.Exit(1)


def _guess(
    deployed: DeployedRule | None, stream: TableStream, person: str | None, needed: list[str]
) -> tuple[Any, dict[str, Any]]:
    """What a rule guesses for everybody, if there is one, and the columns needed; others are held
    for some at a time. Without ids of persons all have independent coins, the same each time.
    """
    import numpy as np

    made = list[Any]()
    fresh = np.random.default_rng(0)
    kept = dict[str, list[Any]]()
    for each in deployed.columns if deployed else ():
        each.check(stream.header)
    with screen.progress() as tell:
        done = 0
        for part in stream.parts():
            tell(done, stream.people, "guessing" if deployed else "reading")
            done += len(part[needed[0]])
            if deployed:
                who, coins = (part[person], None) if person else (None, fresh)
                made.append(deployed.predict(part, who, coins))
            for name in needed:
                kept.setdefault(name, []).append(part[name])
    return np.concatenate(made) if made else None, {
        name: np.concatenate(parts) for name, parts in kept.items()
    }


def _labels(deployed: DeployedRule, hide: list[str]) -> dict[str, Any]:
    """The guesses that a rule may make and, where it hides these columns, the groups that it
    knows.
    """
    asked = deployed.about["asked"]
    known = None
    if hide == asked.get("hide"):
        known = _known_groups(deployed.rule.groups, asked["measure"])
    return {"labels": deployed.possible_guesses, "group_labels": known}


def _about(hide: list[str], told: Any) -> dict[str, Any]:
    """What a rule states about these columns, or about all together."""
    stated = by_name(told)
    return {name: stated[name] for name in (*hide, TOGETHER) if name in stated}


def _measures(given: dict[str, Any]) -> dict[str, Any]:
    """Measures by what they are, not by how they are called."""
    from discreet.measures.registry import measure_of

    return {name: measure_of(each) for name, each in given.items()}


def _known_groups(groups: tuple[Any, ...], measure: Any) -> Any:
    """The groups that a rule knows, or of a rule with a budget for each column its values; None
    under a given variable.
    """
    together = _measures(_about([], measure)).get(TOGETHER)
    if together is not None:
        return None if together.conditional else groups
    found: dict[str, list[Any]] = {}
    for name, *_, value in groups:
        found.setdefault(name, []).append(value)
    return {name: list(dict.fromkeys(values)) for name, values in found.items()}
