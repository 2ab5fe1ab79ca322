"""`discreet evaluate`: what guesses do to people, from a table of people who had no part in the
making of the rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.checks import brief
from discreet.cli import screen
from discreet.cli.flags import Json, argument, column_names, flag, option
from discreet.cli.people import Budgets, Confidence, Hide, Measures, Person, by_column, check_column
from discreet.errors import InputError
from discreet.people.labels import RARE, TOGETHER, unnamed
from discreet.showing.data import plain

if TYPE_CHECKING:
    from discreet.files.tables import TableStream
    from discreet.people.folder import DeployedRule
    from discreet.people.secrets import PromiseTerms

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
    from discreet.measures.registry import measure_of
    from discreet.people.counting import evaluate as evaluated
    from discreet.people.secrets import PromiseTerms, promise_of

    if len(paths) > 2:
        raise InputError(
            f"there are {len(paths)} paths; give a table of people, and before it a folder with a "
            "rule if it guesses"
        )
    table = paths[-1]
    deployed = None
    asked = {}
    promised = PromiseTerms()
    if len(paths) == 2:
        from discreet.people.folder import DeployedRule

        deployed = DeployedRule.load(paths[0])
        asked = deployed.about["asked"]
        promised = promise_of(deployed)
        hide = hide or asked.get("hide")
        truth = truth or next(iter(asked.get("guess") or ()), None)
    if not hide or truth is None or (guesses is None) == (deployed is None):
        raise InputError(
            "say what is what: --hide, --truth and --guesses, or a folder with a "
            "rule before the table"
        )
    given = by_column(leakage, hide, "--leakage", float)
    measures = by_column(measure, hide, "--measure")
    together = () if {*hide} - {*(asked.get("hide") or ())} else (TOGETHER,)
    protected = {
        name: each for name, each in promised.budgets.items() if name in (*hide, *together)
    }
    own = {name: each.measure for name, each in protected.items()}
    chosen = {name: measure_of(each) for name, each in measures.items()} or own
    budget = given
    if not given and chosen == own and not all(each.oblivious for each in protected.values()):
        budget = {name: each.amount for name, each in protected.items()}
    if truth == guesses:
        raise InputError(
            f"--truth and --guesses both name {brief(truth)}; name the column of what was to be "
            "guessed, and that of the guesses"
        )
    needed = list(dict.fromkeys([*hide, truth, *([] if guesses is None else [guesses])]))
    person_column = [person] if person and deployed else []
    seen, texts = (deployed.columns, deployed.texts) if deployed else ((), ())
    stream = TableStream(
        table, [*needed, *person_column, *(each.name for each in seen)], texts=texts
    )
    for name in [*needed, *person_column]:
        check_column(table, stream.header, name)
    made, columns = _guess(deployed, stream, person, needed)
    made = columns[guesses] if guesses is not None else made
    known = _covered_groups(promised, asked.get("hide") or [], hide)
    parts: Any = {name: columns[name] for name in hide}
    if len(parts) == 1 and {*given, *chosen} <= {TOGETHER}:
        parts = parts[hide[0]]
        if hide[0] in known:
            known = {TOGETHER: known[hide[0]]}
    evaluation = evaluated(
        made,
        None,
        columns[truth],
        sensitive_features=parts,
        measure=chosen or "mutual-information",
        confidence=confidence,
        labels=deployed.possible_guesses if deployed else None,
        group_labels=known,
        groups=known if budget and not given else None,
    )
    known_guesses = [str(guess) for guess in evaluation.guesses]
    if selected is not None and selected not in known_guesses:
        problem_text = f"--selected is {brief(selected)}, which is no guess"
        raise InputError(f"{problem_text}; there are {', '.join(map(repr, known_guesses))}")
    sentence = (
        evaluation.cohort_statement(budget or None)
        if cohort
        else evaluation.statement(budget or None)
    )
    kept = None
    if budget:
        kept = evaluation.keeps(budget) if cohort else evaluation.holds(budget)
    broken = kept is False and (bool(given) or cohort or evaluation.breaks(budget))
    record = {
        "statement": sentence,
        "budget": plain(unnamed(budget)) if budget else None,
        "holds": kept,
        "left_out": evaluation.left_out,
    }
    screen.show(
        lambda: record | evaluation.to_dict(),
        lambda _: [sentence, "", *evaluation.tables(selected)],
        as_json=as_json,
    )
    if broken:
        raise typer.Exit(1)


def _covered_groups(
    promised: PromiseTerms, promised_columns: list[str], columns: list[str]
) -> dict[str, Any]:
    """The groups that a promise is about, by the columns that are evaluated: those of a column that
    has its own, all combinations, or of some of the combined columns the values that occur in them.
    """
    combined = promised.groups.get(TOGETHER, ())
    if combined and columns == promised_columns:
        return {TOGETHER: combined}
    if not combined or RARE in combined:
        return {name: promised.groups[name] for name in columns if name in promised.groups}
    values = zip(*combined, strict=True) if len(promised_columns) > 1 else [combined]
    by_column = dict(zip(promised_columns, values, strict=True))
    return {name: tuple(dict.fromkeys(by_column[name])) for name in columns if name in by_column}


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
