"""The card of a rule for people: what was promised, what it does, to whom, and by what it was made.

It is drawn from the member `about` of rule.json, so everyone who has the rule can draw it again. As
a page it is one file that loads nothing, as data it is JSON. Sentences about people and about the
model stay apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.showing import numerals
from discreet.showing.figures import Figure, Series
from discreet.showing.page import cards, document, html
from discreet.showing.values import Facts, Part, Section, Sentences, Table

FORMAT = "discreet rule card"
VERSION = 1

_ABOUT = (
    "least",
    "asked",
    "data",
    "people",
    "tried",
    "curve",
    "model",
    "graph",
    "made",
    "versions",
)


class CardRule(Protocol):
    """A rule for people, as a card needs it: what its file holds, and whether it draws guesses."""

    document: dict[str, Any]

    @property
    def draws(self) -> bool:
        """True if a coin decides for some people."""
        ...


def card_data(rule: CardRule) -> dict[str, Any]:
    """The card as data."""
    document = rule.document
    about = document["about"]
    return {
        "format": FORMAT,
        "version": VERSION,
        "constant": bool(about.get("constant")),
        "rule": document["checksum"],
        "guesses": document["guesses"],
        "groups": document["groups"],
        "draws": rule.draws,
        "statement": about.get("statement"),
        **{name: about.get(name) for name in _ABOUT},
    }


def card_page(rule: CardRule) -> str:
    """The card as a page."""
    card = card_data(rule)
    asked = card["asked"] or {}
    hidden, guessed = (" and ".join(map(str, asked.get(name) or ())) for name in ("hide", "guess"))
    what = "what the guess may reveal"
    if hidden and guessed:
        what = f"a limit on what the guess of {guessed} may reveal about {hidden}"
    budgets = asked_budgets(card)
    sections = [
        Section("What it does to people", _people(card)),
        Section("Errors against the budget", _curve(card, budgets)),
        Section("What is certain in the model", _model(card["model"], budgets)),
        Section("What it was made of", [_origin_facts(card)]),
    ]
    lead: list[Part] = [
        f"A rule under a budget: {what}.",
        Sentences([card["statement"] or "nothing is promised"]),
    ]
    return document(
        "Card of a private rule",
        lead=html(lead) + cards(main_facts(card)),
        body=f'<main id="results">{html(sections)}</main>',
        footer="<p>Nothing is loaded from anywhere. The same facts stand in card.json, and signed "
        "in rule.json. “Certified” "
        "is about the model, “holds for people” about the population that these people were drawn "
        "from.</p>",
    )


@dataclass(frozen=True)
class AskedBudget:
    """What was asked for about a sensitive column; without a name about all together.

    about, unit   words behind a number; empty where there is nothing to say
    """

    name: str
    amount: float | None
    measure: str
    unit: str

    @property
    def about(self) -> str:
        """Words that name the column."""
        return f" about {self.name}" if self.name else ""

    def of(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of a record that is about it."""
        return dict(record["secrets"][self.name]) if self.name else record


def asked_budgets(card: Mapping[str, Any]) -> list[AskedBudget]:
    """The budgets that a card states."""
    asked = card["asked"] or {}
    columns: list[Any] = [asked.get(name) for name in ("budget", "measure", "unit")]
    if not isinstance(columns[0], Mapping):  # one budget for all columns together
        columns = [{"": each} for each in columns]
    budgets, measures, units = columns
    return [
        AskedBudget(name, amount, str(measures[name]), f" {units[name]}" if units[name] else "")
        for name, amount in budgets.items()
    ]


def _number(value: float | None, figures: int = 3) -> str:
    return "∞" if value is None else numerals.number(value, figures)


def _at_most(value: float | None, figures: int = 3) -> str:
    return numerals.outward(value, figures, up=True)


def _at_least(value: float | None, figures: int = 3) -> str:
    return numerals.outward(value, figures, up=False)


def _limits(limits: Mapping[str, float | None]) -> tuple[str, str, str]:
    return _number(limits["estimate"]), _at_least(limits["low"]), _at_most(limits["high"])


def _rate(limits: Mapping[str, float | None]) -> tuple[str, str, str]:
    """Return the limits of a rate; files leave out numbers about few people."""
    estimate, low, high = _limits(limits)
    return "< 5" if limits["estimate"] is None else estimate, low, high


def _confidence(people: Mapping[str, Any]) -> str:
    return f"{100 * people['confidence']:g} %"


def main_facts(card: Mapping[str, Any], title: str = "") -> Facts:
    """The few numbers at the top."""
    people = card["people"]
    budgets = asked_budgets(card)
    lines = []
    if (card["asked"] or {}).get("budget") is not None:
        lines += [
            (f"budget of {each.measure}{each.about}", f"{_number(each.amount)}{each.unit}")
            for each in budgets
        ]
    if people:
        sure = _confidence(people)
        for each in budgets:
            own = each.of(people)
            if own["leakage"] is not None:  # few people are left out
                leaks = f"{_at_most(own['leakage_at_most'])}{each.unit}"
                lines.append((f"leaks at most{each.about}, {sure}", leaks))
        lines.append(("errors", f"{100 * people['error']['estimate']:.1f} %"))
        if people["odds"] is not None:
            odds = f"{_at_most(people['odds']['high'])} ×"
            lines.append((f"one guess changes odds by at most, {sure}", odds))
        lines.append(("people looked at", f"{people['people']:,}"))
    return Facts(title, lines)


def evaluation_tables(evaluation: Mapping[str, Any], selected: str | None = None) -> list[Table]:
    """The tables of what guesses do to people, from the record of an evaluation; impact ratios of
    the guess that is selected, or of all.
    """
    numbers = ("estimate", "at least", "at most")
    leaks = {"errors": evaluation["error"], **evaluation["leakages"]}
    leaks |= {
        f"{each['measure']} about {name}": each["leakage"]
        for name, each in evaluation.get("secrets", {}).items()
    }
    leaks["largest change of odds"] = evaluation["odds"]
    # Files from before impact ratios were counted have none.
    rates, ratios = (
        [
            (str(row["group"]), str(guess), *_rate(limits))
            for row in evaluation["rates"]
            for guess, limits in row.get(name, {}).items()
            if name == "guesses" or selected in (None, guess)
        ]
        for name in ("guesses", "impact_ratios")
    )
    shares = [(str(row["group"]), *_rate(row["share"])) for row in evaluation["rates"]]
    tables = [
        Table(
            "Errors and leakage",
            ("", *numbers),
            [(name, *_limits(each)) for name, each in leaks.items() if each is not None],
            numbers,
        ),
        Table("How often each group gets each guess", ("group", "guess", *numbers), rates, numbers),
        Table("How large the groups are", ("group", *numbers), shares, numbers),
    ]
    if ratios:
        heads = ("group", "guess", *numbers)
        tables.insert(2, Table("Impact ratios of guesses", heads, ratios, numbers))
    return tables


def _people(card: Mapping[str, Any]) -> list[Part]:
    people = card["people"]
    if not people:
        return [
            "Nobody was kept apart, so nothing is known about people. Evaluate the rule on "
            "new ones."
        ]
    apart = "the errors and of single columns" if people.get("secrets") else "the errors"
    drawn = (
        "Some guesses are drawn by lot; the same person always gets the same guess."
        if card["draws"]
        else "No guess is drawn by lot."
    )
    note = (
        f"Measured on {people['people']:,} people who had no part in making the classifiers. The "
        "limits are about the population that these people come from; except those of "
        f"{apart}, they hold together with {_confidence(people)} confidence. {drawn} “< 5” stands "
        "for a count below five, and for any number from which such a count could be computed. "
        "Where a count is withheld, the only leakage stated is the promise."
    )
    return [note, *evaluation_tables(people)]


def _curve(card: Mapping[str, Any], budgets: Sequence[AskedBudget]) -> list[Part]:
    """The rules that were tried on people, or what rules for other budgets would do
    in the model.
    """
    if len(card["tried"] or ()) >= 2:
        return _trial_parts(card["tried"], _confidence(card["people"]), budgets)
    rows = card["curve"] or ()
    if len(rows) < 2:
        return []
    certified = sum(row["status"] == "certified" for row in rows)
    count = "" if certified == len(rows) else f"{certified} of {len(rows)} "
    errors, lowest = (tuple(row[name] for row in rows) for name in ("model_error", "lower_bound"))
    axis, x = _axis(budgets[0], rows)
    figure = _figure(
        "Errors of rules for other budgets",
        f"{count}certified for this model; nothing is promised for people",
        axis,
        Series("reached", x, errors, "both", 0),
        Series("no rule errs less", x, lowest, "line", 1),
    )
    heads = (
        f"design budget{budgets[0].about}", *(f"leaks{each.about}" for each in budgets), "errors",
        "no rule errs less than", "for this model",
    )  # fmt: skip
    lines = [
        (
            _number(budgets[0].of(row)["design_budget"]),
            *(_number(each.of(row)["model_leakage"]) for each in budgets),
            _number(row["model_error"], 6),
            _at_least(row["lower_bound"], 6),
            row["status"],
        )
        for row in rows
    ]
    return [figure, Table("Rules for other budgets", heads, lines)]


def _trial_parts(
    rows: Sequence[Mapping[str, Any]], sure: str, budgets: Sequence[AskedBudget]
) -> list[Part]:
    errors, low, high = (
        tuple(row["error"][name] for row in rows) for name in ("estimate", "low", "high")
    )
    axis, x = _axis(budgets[0], rows)
    figure = _figure(
        "Errors of the rules that were tried",
        f"each designed for another budget; the band holds for all of them together, {sure}",
        axis,
        Series("calibration people", x, errors, "both", 0, low, high),
        Series("the model", x, tuple(row["model_error"] for row in rows), "line", 1),
    )
    heads = [f"design budget{budgets[0].about}"]
    for each in budgets:
        heads += [
            f"leaks{each.about} in the model",
            f"leaks{each.about} for people",
            f"at most, {sure}",
        ]
    lines = []
    for row in rows:
        line = [_number(budgets[0].of(row)["design_budget"])]
        for each in budgets:
            own = each.of(row)
            line += [
                _number(own["model_leakage"]),
                *(
                    ("< 5", "< 5")
                    if own["leakage"] is None
                    else (_number(own["leakage"]), _at_most(own["leakage_at_most"]))
                ),
            ]
        verdict = "kept the budget" if row["passed"] else "not shown to keep it"
        if row["taken"]:
            lottery = row.get("lottery", 0.0)
            verdict = f"taken, with a lottery for {100.0 * lottery:.3g} %" if lottery else "taken"
        lines.append([*line, _number(row["error"]["estimate"]), verdict])
    note = (
        "Rules were tried from a budget on that the other people chose. The last that was shown to "
        "keep the budget is taken, or the next one, with a lottery that guesses for a "
        "share of the people. The numbers are those without a lottery."
    )
    return [note, figure, Table("Rules that were tried", [*heads, "errors", ""], lines)]


def _axis(first: AskedBudget, rows: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[float, ...]]:
    """The label of the axis of budgets, and the budget on it of each row."""
    if first.name:
        return "budgets of the design ÷ budgets asked for", tuple(row["share"] for row in rows)
    label = f"budget of the design,{first.unit or ' in the unit of the measure'}"
    return label, tuple(row["design_budget"] for row in rows)


def _figure(title: str, subtitle: str, axis: str, *series: Series) -> Figure:
    errors = series[0].y
    description = (
        f"Errors fall from {_number(errors[0])} to {_number(errors[-1])} as the budget grows."
    )
    return Figure("curve", title, subtitle, axis, "error", series, description, log_x=True)


def _model(model: Mapping[str, Any] | None, budgets: Sequence[AskedBudget]) -> list[Part]:
    if not model:
        return ["The rule always makes the same guess. It leaks nothing, in any model."]
    lines = [
        ("status", f"{model['status']} for this model"),
        ("errors", _number(model["error_probability"], 6)),
        ("no rule errs less than", _at_least(model["lower_bound"], 6)),
    ]
    for each in budgets:
        own = each.of(model)
        proven = f"proven at most {_at_most(own['leakage_ceiling'], 6)}{each.unit}"
        lines += [
            (f"leaks{each.about}", f"{_number(own['leakage'], 4)}{each.unit}, {proven}"),
            (
                f"budget of the design{each.about}",
                f"{_number(own['budget'], 4)}{each.unit} of {own['measure']}",
            ),
        ]
    lines.append(("outcomes", f"{model['outcomes']:,}"))
    return [
        "The model is what the classifiers say about the people they were fitted on.",
        Facts("", lines),
    ]


def _origin_facts(card: Mapping[str, Any]) -> Facts:
    last = {name: card[name] for name in ("made", "graph", "rule")}
    facts = {**(card["asked"] or {}), **(card["data"] or {}), **last}
    versions = ", ".join(f"{name} {version}" for name, version in (card["versions"] or {}).items())
    lines = [(name, _words(value)) for name, value in facts.items() if value not in (None, [], "")]
    return Facts("", [*lines, ("versions", versions)])


def _words(value: Any) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{name}: {each}" for name, each in value.items() if each is not None)
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
