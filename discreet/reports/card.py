"""The card of a rule for people: what was promised, what it does, to whom, and by what it was made.

It is drawn from what the file of the rule holds (`about` in rule.json), so anybody who has the rule can draw it again. As a
page it is one file that loads nothing, as data it is JSON. Sentences about people and about the model stay apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from html import escape
from typing import Any

from discreet.reports import wording
from discreet.reports.figure_svg import svg
from discreet.reports.figures import Figure, Series
from discreet.reports.html.page import MARK, document, sentences, table

FORMAT, VERSION = "discreet rule card", 1


def card_data(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The card as data, from the document of a rule."""
    about = rule["about"]
    return {
        "format": FORMAT,
        "version": VERSION,
        "rule": rule["digest"],
        "guesses": rule["guesses"],
        "groups": rule["groups"],
        "draws": _draws(rule["ties"], rule["ignore"]),
        "statement": about.get("statement"),
        **{
            name: about.get(name)
            for name in ("asked", "data", "people", "tried", "curve", "model", "graph", "made", "versions")
        },
    }


def _draws(ties: Mapping[str, Any], ignore: Mapping[str, Any]) -> bool:
    """Whether a coin decides for anybody: not under a constant rule, which ignores everybody towards one guess."""
    if ignore["probability"] == 1.0:
        return bool(max(ignore["towards"]) < 1.0)
    return bool(ties["points"] or ties["second"] or ignore["probability"] > 0.0)


def card_page(rule: Mapping[str, Any]) -> str:
    """The card as a page."""
    told = card_data(rule)
    asked = told["asked"] or {}
    hidden, guessed = (" and ".join(map(str, asked.get(name) or ())) for name in ("hide", "guess"))
    what = f"the guess of {guessed} may reveal so much about {hidden}" if hidden and guessed else "what the guess may reveal"
    body = "".join(
        f'<section><h2 id="{name}">{escape(heading)}</h2>{inside}</section>'
        for name, heading, inside in (
            ("results", "What it does to people", _people(told)),
            ("curve", "Errors against the budget", _curve(told)),
            ("model", "What is certain in the model", _model(told)),
            ("made", "What it was made of", _made(told)),
        )
        if inside
    )
    return document(
        mark=MARK,
        brand="discreet",
        title="Card of a private rule",
        heading="Card of a private rule",
        lead=f'<p class="lead">A rule under a budget: {escape(what)}.</p>'
        f"{sentences([told['statement'] or 'nothing is promised'])}"
        f'<dl class="cards">{"".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in _cards(told))}</dl>',
        body=f"<main>{body}</main>",
        footer="<p>Nothing is loaded from anywhere. The same facts stand in card.json, and signed in rule.json. “Certified” "
        "is about the model, “holds for people” about the population that these people were drawn from.</p>",
    )


def _number(value: float | None, digits: int = 3) -> str:
    return wording.number(value, digits) if value is not None else "∞"


def _limits(limits: Mapping[str, float | None]) -> tuple[str, str, str]:
    """Estimate and limits, which are rounded outward."""
    return _number(limits["estimate"]), _rounded(limits["low"], ROUND_FLOOR), _rounded(limits["high"], ROUND_CEILING)


def _rounded(value: float | None, how: str, digits: int = 3) -> str:
    exact = None if value is None else Context(prec=digits, rounding=how).create_decimal(repr(value))
    return _number(None if exact is None else float(exact), digits)


@dataclass(frozen=True)
class _Budget:
    """What was asked for about all sensitive columns together or, by its name, about one of several.

    about, unit   words behind a number; empty where there is nothing to say
    """

    name: str | None
    amount: float | None
    measure: str
    unit: str

    @property
    def about(self) -> str:
        return "" if self.name is None else f" about {self.name}"

    def of(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of a record that is about it."""
        return record if self.name is None else dict(record["secrets"][self.name])


def _budgets(told: Mapping[str, Any]) -> list[_Budget]:
    asked = told["asked"] or {}
    amount, measure, unit = asked.get("budget"), asked.get("measure"), asked.get("unit")
    if not isinstance(amount, Mapping) or not isinstance(measure, Mapping) or not isinstance(unit, Mapping):
        return [_Budget(None, amount, str(measure), f" {unit}" if unit else "")]
    return [_Budget(name, one, measure[name], f" {unit[name]}" if unit[name] else "") for name, one in amount.items()]


def _cards(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The few numbers at the top."""
    people, budgets = told["people"], _budgets(told)
    found = []
    if (told["asked"] or {}).get("budget") is not None:
        found += [(f"budget of {each.measure}{each.about}", f"{_number(each.amount)}{each.unit}") for each in budgets]
    if people:
        sure = f"{100 * people['confidence']:g} %"
        found += [
            (
                f"leaks at most{each.about}, {sure}",
                f"{_rounded(each.of(people)['leakage_at_most'], ROUND_CEILING)}{each.unit}",
            )
            for each in budgets
        ]
        found += [
            ("errors", f"{100 * people['error']['estimate']:.1f} %"),
            (f"one guess changes odds by at most, {sure}", f"{_rounded(people['odds']['high'], ROUND_CEILING)} ×"),
            ("people looked at", f"{people['people']:,}"),
        ]
    return found


def _people(told: Mapping[str, Any]) -> str:
    people = told["people"]
    if not people:
        return '<p class="aside">Nobody was kept apart, so nothing is known about people. Evaluate the rule on new ones.</p>'
    sure = f"{100 * people['confidence']:g} %"
    rates = [
        (str(row["group"]), str(guess), *_limits(limits))
        for row in people["rates"]
        for guess, limits in row["guesses"].items()
    ]
    shares = [(str(row["group"]), *_limits(row["share"])) for row in people["rates"]]
    leaks = [(name, *_limits(limits)) for name, limits in people["leakages"].items()]
    secrets = people.get("secrets") or {}
    leaks += [(f"{each['measure']} about {name}", *_limits(each["leakage"])) for name, each in secrets.items()]
    apart = "the errors, and what is said about one column" if secrets else "the errors"
    numbers = ("estimate", "at least", "at most")
    drawn = "Some guesses are drawn; their coins are sticky." if told["draws"] else "No guess is drawn."
    return (
        f'<p class="aside">{people["people"]:,} people who had no part in the making of the classifiers. The limits hold '
        f"with {sure}, all of them together but {apart}, for the population that these people come from. {drawn}</p>"
        f"<h3>How often each group gets each guess</h3>{table('Rates', ('group', 'guess', *numbers), rates)}"
        f"<h3>How large the groups are</h3>{table('Groups', ('group', *numbers), shares)}"
        f"<h3>Leakage by every measure</h3>{table('Leakage', ('measure', *numbers), leaks)}"
    )


def _curve(told: Mapping[str, Any]) -> str:
    tried, budgets = told["tried"] or [], _budgets(told)
    if len(tried) < 2:
        return _model_curve(told, budgets)
    axis, x = _budget_axis(budgets, tried)
    error, low, high = (tuple(row["error"][name] for row in tried) for name in ("estimate", "low", "high"))
    model = tuple(row["model_error"] for row in tried)
    sure = f"{100 * told['people']['confidence']:g} %"
    figure = Figure(
        name="curve",
        title="Errors of the rules that were tried",
        subtitle=f"each designed for another budget; the band holds for all of them together, {sure}",
        x_label=axis,
        y_label="error",
        series=(
            Series("calibration people", x, error, "both", 0, low, high),
            Series("the model", x, model, "line", 1),
        ),
        description=f"Errors fall from {_number(error[0])} to {_number(error[-1])} as the budget grows.",
        log_x=True,
    )
    lines = [
        (
            _number(budgets[0].of(row)["design_budget"]),
            *(
                cell
                for each in budgets
                for cell in (
                    _number(each.of(row)["model_leakage"]),
                    _number(each.of(row)["leakage"]),
                    _rounded(each.of(row)["leakage_at_most"], ROUND_CEILING),
                )
            ),
            _number(row["error"]["estimate"]),
            "taken" if row["taken"] else "kept the budget" if row["passed"] else "not shown to keep it",
        )
        for row in tried
    ]
    leaks = (
        head
        for each in budgets
        for head in (f"leaks{each.about} in the model", f"leaks{each.about} for people", f"at most, {sure}")
    )
    heads = (f"design budget{budgets[0].about}", *leaks, "errors", "")
    caption = "Rules were tried from the smallest budget on; the last that was shown to keep the budget is taken."
    return f'<p class="aside">{caption}</p><figure>{svg(figure)}</figure>{table("Rules that were tried", heads, lines)}'


def _budget_axis(budgets: Sequence[_Budget], rows: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[float, ...]]:
    """The label of the axis of budgets, and the budget on it of each row."""
    if budgets[0].name:
        return "budgets of the design ÷ budgets asked for", tuple(row["share"] for row in rows)
    label = f"budget of the design,{budgets[0].unit or ' in the unit of the measure'}"
    return label, tuple(row["design_budget"] for row in rows)


def _model_curve(told: Mapping[str, Any], budgets: Sequence[_Budget]) -> str:
    """What rules for other budgets would do in the model, where nobody was kept apart to look at them."""
    rows = told["curve"] or []
    if len(rows) < 2:
        return ""
    axis, x = _budget_axis(budgets, rows)
    error, lower = (tuple(row[name] for row in rows) for name in ("model_error", "lower_bound"))
    whole = sum(row["status"] == "certified" for row in rows)
    sure = "certified for this model" if whole == len(rows) else f"{whole} of {len(rows)} certified for this model"
    figure = Figure(
        name="curve",
        title="Errors of rules for other budgets",
        subtitle=f"{sure}; nothing is promised for people",
        x_label=axis,
        y_label="error in the model",
        series=(Series("reached", x, error, "both", 0), Series("no rule errs less", x, lower, "line", 1)),
        description=f"Errors fall from {_number(error[0])} to {_number(error[-1])} as the budget grows.",
        log_x=True,
    )
    lines = [
        (
            _number(budgets[0].of(row)["design_budget"]),
            *(_number(each.of(row)["model_leakage"]) for each in budgets),
            _number(row["model_error"], 6),
            _rounded(row["lower_bound"], ROUND_FLOOR, 6),
            row["status"],
        )
        for row in rows
    ]
    leaks = (f"leaks{each.about}" for each in budgets)
    heads = (f"design budget{budgets[0].about}", *leaks, "errors", "no rule errs less than", "for this model")
    return f"<figure>{svg(figure)}</figure>{table('Rules for other budgets', heads, lines)}"


def _model(told: Mapping[str, Any]) -> str:
    model = told["model"]
    if not model:
        return '<p class="aside">The rule always makes the same guess. It leaks nothing, in any model.</p>'
    facts = {
        "status": f"{model['status']} for this model",
        "errors": _number(model["error_probability"], 6),
        "no rule errs less than": _rounded(model["lower_bound"], ROUND_FLOOR, 6),
    }
    for each in _budgets(told):
        one = each.of(model)
        facts |= {
            f"leaks{each.about}": f"{_number(one['leakage'], 4)}{each.unit}, "
            f"proven at most {_rounded(one['leakage_ceiling'], ROUND_CEILING, 6)}{each.unit}",
            f"budget of the design{each.about}": f"{_number(one['budget'], 4)}{each.unit} of {one['measure']}",
        }
    facts["outcomes"] = f"{model['outcomes']:,}"
    return f'<p class="aside">The model is what the classifiers say about the people they were fitted on.</p>{_facts(facts)}'


def _made(told: Mapping[str, Any]) -> str:
    asked, data = told["asked"] or {}, told["data"] or {}
    facts: dict[str, str] = {}
    for name, value in {**asked, **data, "made": told["made"], "graph": told["graph"], "rule": told["rule"]}.items():
        if value not in (None, [], ""):
            facts[name] = _listed(value)
    facts["versions"] = ", ".join(f"{name} {version}" for name, version in (told["versions"] or {}).items())
    return _facts(facts)


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {each}" for name, each in value.items() if each is not None)
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _facts(facts: Mapping[str, str]) -> str:
    lines = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(words)}</dd></div>" for name, words in facts.items())
    return f'<dl class="facts">{lines}</dl>'
