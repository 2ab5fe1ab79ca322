"""`discreet evaluate`: what guesses do to people, from a table of people who had no part in the
making of the rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    from discreet.people.evaluation import Evaluation
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
    rule, table = _rule_and_table(paths)
    promise = _promise_of(rule)
    columns = _columns_of(hide or promise.hidden, truth or promise.truth, guesses, rule)
    limits = _limits_of(promise, columns.hidden, leakage, measure)
    people = _read_people(table, rule, columns, person)
    evaluation = _evaluate_people(people, rule, promise, columns, limits, confidence)
    _check_selected(selected, evaluation)
    verdict = _verdict_of(evaluation, limits, cohort)
    screen.show(
        lambda: verdict.record | evaluation.to_dict(),
        lambda _: [verdict.record["statement"], "", *evaluation.tables(selected)],
        as_json=as_json,
    )
    if verdict.broken:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Promise:
    """What a rule promises, the columns it is about, and the column that it guesses."""

    hidden: list[str] = field(default_factory=list)
    truth: str | None = None
    budgets: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, Any] = field(default_factory=dict)

    def budgets_about(self, hidden: list[str]) -> dict[str, Any]:
        """The budgets of these columns; that of all combined only if it says something of each."""
        names = [*hidden] if {*hidden} - {*self.hidden} else [*hidden, TOGETHER]
        return {name: budget for name, budget in self.budgets.items() if name in names}

    def groups_of(self, hidden: list[str]) -> dict[str, Any]:
        """The groups that the promise is about, by these columns: those of a column that has its
        own, all combinations, or of some of the combined columns the values that occur in them.
        """
        combined = self.groups.get(TOGETHER, ())
        if combined and hidden == self.hidden:
            return {TOGETHER: combined}
        if not combined or RARE in combined:
            return {name: self.groups[name] for name in hidden if name in self.groups}
        values = zip(*combined, strict=True) if len(self.hidden) > 1 else [combined]
        of_column = dict(zip(self.hidden, values, strict=True))
        return {name: tuple(dict.fromkeys(of_column[name])) for name in hidden if name in of_column}


@dataclass(frozen=True)
class _Columns:
    """What the columns of the table are. `guesses` is None if a rule guesses."""

    hidden: list[str]
    truth: str
    guesses: str | None

    @property
    def all(self) -> list[str]:
        """Every column, once."""
        names = [*self.hidden, self.truth, self.guesses]
        return [name for name in dict.fromkeys(names) if name is not None]


@dataclass(frozen=True)
class _Limits:
    """The measures that are reported and the budgets that are judged, by column.

    given: True if the budgets come from the command line, not from a promise.
    """

    measures: dict[str, Any]
    budgets: dict[str, float]
    given: bool


@dataclass(frozen=True)
class _People:
    """The guesses about people and the values of their columns."""

    guesses: Any
    values: dict[str, Any]


@dataclass(frozen=True)
class _Verdict:
    """What is said of the guesses, and whether they break what was asked."""

    record: dict[str, Any]
    broken: bool


def _rule_and_table(paths: list[str]) -> tuple[DeployedRule | None, str]:
    from discreet.people.folder import DeployedRule

    if len(paths) > 2:
        raise InputError(
            f"there are {len(paths)} paths; give a table of people, and before it a folder with a "
            "rule if it guesses"
        )
    rule = DeployedRule.load(paths[0]) if len(paths) == 2 else None
    return rule, paths[-1]


def _promise_of(rule: DeployedRule | None) -> _Promise:
    from discreet.people.secrets import promise_of

    if rule is None:
        return _Promise()
    asked = rule.about["asked"]
    terms = promise_of(rule)
    truth = next(iter(asked.get("guess") or ()), None)
    return _Promise(asked.get("hide") or [], truth, {**terms.budgets}, {**terms.groups})


def _columns_of(
    hidden: list[str], truth: str | None, guesses: str | None, rule: DeployedRule | None
) -> _Columns:
    if not hidden or truth is None or (guesses is None) == (rule is None):
        raise InputError(
            "say what is what: --hide, --truth and --guesses, or a folder with a "
            "rule before the table"
        )
    if truth == guesses:
        raise InputError(
            f"--truth and --guesses both name {brief(truth)}; name the column of what was to be "
            "guessed, and that of the guesses"
        )
    return _Columns(hidden, truth, guesses)


def _limits_of(
    promise: _Promise, hidden: list[str], leakage: list[str] | None, measure: list[str] | None
) -> _Limits:
    """The limits that the options give; by default those of the promise, unless other measures are
    asked for.
    """
    from discreet.measures.registry import measure_of

    budgets = by_column(leakage, hidden, "--leakage", float)
    measures = {
        name: measure_of(each) for name, each in by_column(measure, hidden, "--measure").items()
    }
    promised = promise.budgets_about(hidden)
    own = {name: each.measure for name, each in promised.items()}
    measures = measures or own
    if budgets:
        return _Limits(measures, budgets, given=True)
    if measures != own or all(each.oblivious for each in promised.values()):
        return _Limits(measures, {}, given=False)
    return _Limits(measures, {name: each.amount for name, each in promised.items()}, given=False)


def _evaluate_people(
    people: _People,
    rule: DeployedRule | None,
    promise: _Promise,
    columns: _Columns,
    limits: _Limits,
    confidence: float,
) -> Evaluation:
    from discreet.people.counting import evaluate as evaluate_guesses

    groups = promise.groups_of(columns.hidden)
    secrets: Any = {name: people.values[name] for name in columns.hidden}
    if len(secrets) == 1 and {*limits.budgets, *limits.measures} <= {TOGETHER}:
        (only,) = columns.hidden
        secrets = secrets[only]
        groups = {TOGETHER: groups[only]} if only in groups else groups
    return evaluate_guesses(
        people.guesses,
        None,
        people.values[columns.truth],
        sensitive_features=secrets,
        measure=limits.measures or "mutual-information",
        confidence=confidence,
        labels=None if rule is None else rule.possible_guesses,
        group_labels=groups,
        groups=groups if limits.budgets and not limits.given else None,
    )


def _check_selected(selected: str | None, evaluation: Evaluation) -> None:
    known = [str(guess) for guess in evaluation.guesses]
    if selected is not None and selected not in known:
        fault = f"--selected is {brief(selected)}, which is not a guess"
        raise InputError(f"{fault}; there are {', '.join(map(repr, known))}")


def _verdict_of(evaluation: Evaluation, limits: _Limits, cohort: bool) -> _Verdict:
    """A given budget must be shown to be kept; a promise must not be shown to be broken."""
    budgets = limits.budgets
    say = evaluation.cohort_statement if cohort else evaluation.statement
    record = {
        "statement": say(budgets or None),
        "budget": plain(unnamed(budgets)) if budgets else None,
        "holds": None,
        "left_out": evaluation.left_out,
    }
    if not budgets:
        return _Verdict(record, broken=False)
    kept = evaluation.keeps(budgets) if cohort else evaluation.holds(budgets)
    must_be_shown = limits.given or cohort
    broken = not kept if must_be_shown else evaluation.breaks(budgets)
    return _Verdict(record | {"holds": kept}, broken)


def _read_people(
    table: str, rule: DeployedRule | None, columns: _Columns, person: str | None
) -> _People:
    """Read the table, and let a rule guess, for some people at a time. Without ids of persons, all
    have independent coins, the same each time.
    """
    import numpy as np

    from discreet.files.tables import TableStream

    features = () if rule is None else rule.columns
    persons = [person] if rule and person else []
    named = [*columns.all, *persons]
    texts = () if rule is None else rule.texts
    stream = TableStream(table, [*named, *(each.name for each in features)], texts=texts)
    for name in named:
        check_column(table, stream.header, name)
    for each in features:
        each.check(stream.header)
    fresh = np.random.default_rng(0)
    guesses = list[Any]()
    kept: dict[str, list[Any]] = {name: [] for name in columns.all}
    with screen.progress() as tell:
        done = 0
        for part in stream.parts():
            tell(done, stream.people, "guessing" if rule else "reading")
            done += len(part[columns.truth])
            if rule:
                who, coins = (part[person], None) if person else (None, fresh)
                guesses.append(rule.predict(part, who, coins))
            for name, parts in kept.items():
                parts.append(part[name])
    values = {name: np.concatenate(parts) for name, parts in kept.items()}
    if columns.guesses is not None:
        return _People(values[columns.guesses], values)
    return _People(np.concatenate(guesses), values)
