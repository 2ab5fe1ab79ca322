"""The secrets: each sensitive column that has a budget, or all of them together.

Users may pass one budget or one for each column, and one column or a table. Here both are converted
to the form for several secrets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import brief, positive
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import measure_of
from discreet.people.labels import (
    RARE,
    TOGETHER,
    about,
    by_name,
    column,
    columns_of,
    encode_groups,
    encode_labels,
    groups,
    known_codes,
    objects,
)
from discreet.problems.constraint import LeakageBudget, measure_asked
from discreet.problems.frames import Codes
from discreet.problems.problem import Problem, shares_of_bayes
from discreet.problems.samples import each_secret

_CHANCE = 20  # people below whom two columns may say the same by chance

Labels = tuple[Any, ...]
Secrets = Mapping[Any, tuple[Labels, Codes]]
"""Labels and the code of each person, of each sensitive column by name."""


@dataclass(frozen=True)
class Asked:
    """The constraint on each secret: a budget, or a share of what the plain classifier leaks."""

    measures: Sequence[Measure]
    budgets: Sequence[LeakageBudget] = ()
    shares: Sequence[float] = ()

    @property
    def bound(self) -> bool:
        """True if there is any constraint."""
        return not self.budgets or not all(each.oblivious for each in self.budgets)

    def budgets_in(self, model: Problem) -> Sequence[LeakageBudget]:
        """The budgets, where the plain classifier is the Bayes rule of this model."""
        if self.budgets:
            return self.budgets
        amounts = shares_of_bayes(model, self.shares)
        return [LeakageBudget(*each) for each in zip(amounts, self.measures, strict=True)]


def asked_about(sizes: Mapping[Any, int], budget: Any, fraction: Any, measure: Any) -> Asked:
    """Return the constraints on secrets with the given numbers of labels. Each option is one value
    for all secrets, or one for each by name. Raises InputError.

    If a budget names a measure, that measure is the default.
    """
    if (budget is None) == (fraction is None):
        raise InputError("give one of budget= and fraction= (of what the plain rule leaks)")
    names = [str(name) for name in sizes]
    names_of_measures = [
        None if each == MUTUAL_INFORMATION.name else each
        for each in each_secret(measure, names, "measure", every=False)
    ]
    if budget is None:
        shares = each_secret(fraction, names, "fraction", every=True)
        measures = [
            MUTUAL_INFORMATION if each is None else measure_of(each) for each in names_of_measures
        ]
        if other := [each for each in measures if each.design is not each]:
            raise InputError(
                f"a fraction of what the plain rule leaks by {other[0]} is not known before people "
                "are looked at; give a budget"
            )
        checked = [positive(share, "fraction", zero=True, most=1.0) for share in shares]
        return Asked(measures, shares=checked)
    budgets = []
    each_budget = each_secret(budget, names, "budget", every=True)
    for one, each, size in zip(each_budget, names_of_measures, sizes.values(), strict=True):
        chosen = measure_asked(one, each) or MUTUAL_INFORMATION
        chosen.on(np.arange(size), size)
        budgets.append(one if isinstance(one, LeakageBudget) else LeakageBudget(one, chosen))
    return Asked([each.measure for each in budgets], budgets)


def secrets_of(values: Any, people: int, *, by_column: bool) -> Secrets:
    """The secrets of sensitive features: each column, or the combinations of all; one group without
    sensitive features. Raises InputError.
    """
    if values is None:
        return {TOGETHER: ((None,), np.zeros(people, dtype=np.intp))}
    if not by_column:
        return {TOGETHER: _of_people(groups(values), "sensitive_features", people)}
    secrets = {
        name: _of_people(part, f"sensitive_features {name!r}", people)
        for name, part in _columns_by_name(values).items()
    }
    if alone := [name for name, (labels, _) in secrets.items() if len(labels) < 2]:
        raise InputError(
            f"sensitive_features {alone[0]!r} is the same for everybody, so no guess can tell "
            "it; leave it out"
        )
    return secrets


def name_groups(secrets: Secrets, groups: Any) -> Secrets:
    """Return the secrets with these groups, given as one list or as one for each column by name. A
    group may be empty; people in no group have code −1. Raises InputError.
    """
    if not isinstance(groups, Mapping | None) and len(secrets) > 1:
        raise InputError("groups is one list; give a list for each sensitive column by its name")
    named = each_secret(groups, [str(name) for name in secrets], "groups", every=False)
    return {
        name: (labels, codes) if wanted is None else _among(labels, codes, tuple(wanted))
        for (name, (labels, codes)), wanted in zip(secrets.items(), named, strict=True)
    }


def _among(labels: Labels, codes: Codes, wanted: Labels) -> tuple[Labels, Codes]:
    if len(set(wanted)) < max(2, len(wanted)):
        raise InputError(f"groups is {list(wanted)}; name at least two different groups")
    return wanted, known_codes(objects(labels), "groups", wanted)[codes]


def warnings_about_secrets(truths: Codes, secrets: Secrets) -> list[str]:
    """Return warnings about secrets that a guess cannot hide."""
    warnings = []
    for name, (labels, codes) in secrets.items():
        pairs = np.unique(truths * len(labels) + codes).size
        if truths.size >= _CHANCE and pairs == len(labels) == truths.max() + 1:
            fault = f"sensitive_features{about(name)} and y are the same for everyone"
            warnings.append(f"{fault}; a guess cannot hide what it is about")
    return warnings


def among(secrets: Secrets) -> Codes:
    """Return the people who belong to groups that a promise is about."""
    return np.flatnonzero(np.all([codes >= 0 for _, codes in secrets.values()], axis=0))


def join_rare(secrets: Secrets, fitted: Codes, rare: str, least: int) -> Secrets:
    """The secrets whose groups of fewer than `least` fitted people are one group, `RARE`, or whose
    people have code −1.

    Which groups are rare does not depend on the people on whom a promise is shown.

    fitted: the people who are fitted on; rare: "merge" or "exclude". Raises InputError.
    """
    if rare not in ("merge", "exclude"):
        raise InputError(f'rare_groups is {brief(rare)}; give "merge" or "exclude"')
    joined = dict[Any, tuple[Labels, Codes]]()
    for name, (labels, codes) in secrets.items():
        times = np.bincount(codes[fitted], minlength=len(labels))
        kept = [code for code in range(len(labels)) if times[code] >= least]
        if len(kept) < 2:
            fault = f"{len(kept)} groups{about(name)} have {least} people or more"
            raise InputError(f"{fault}; give a smaller rare_below")
        if len(kept) == len(labels):
            joined[name] = labels, codes
            continue
        place = np.full(len(labels), len(kept) if rare == "merge" else -1)
        place[kept] = np.arange(len(kept))
        others = (RARE,) if rare == "merge" else ()
        joined[name] = (*(labels[code] for code in kept), *others), place[codes]
    return joined


@dataclass(frozen=True)
class PromiseTerms:
    """What a rule promises; nothing if there are no budgets.

    budgets          the budget about each sensitive column, by name
    groups           labels of the groups that each is about, by name
    guesses, truths  labels
    shown            the table [m, n] with which the promise about a column was shown, by name, if
                     it is known; a file does not state the counts of few people (NaN)
    """

    budgets: Mapping[Any, LeakageBudget] = field(default_factory=dict)
    groups: Mapping[Any, Labels] = field(default_factory=dict)
    guesses: Sequence[Any] = ()
    truths: Sequence[Any] = ()
    shown: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def bound(self) -> bool:
        """True if a budget is finite."""
        return not all(each.oblivious for each in self.budgets.values())


def promise_of(rule: Any) -> PromiseTerms:
    """Return the promise of a `DeployedRule`, a `Rule` or a fitted `PrivateClassifier`; nothing is
    promised by anything else.
    """
    rule = getattr(rule, "rule_", getattr(rule, "rule", rule))
    about = rule.document["about"] if hasattr(rule, "document") else {}
    asked = about.get("asked")
    if not asked:
        return PromiseTerms()
    measures = by_name(asked["measure"])
    budgets = {
        name: LeakageBudget(np.inf if amount is None else amount, measure_of(measures[name]))
        for name, amount in by_name(asked["budget"]).items()
    }
    people = about.get("people") or {}
    records = {TOGETHER: people, **people.get("secrets", {})}
    shown = {name: records[name]["table"] for name in budgets if records.get(name)}
    groups = _stated_groups(rule.groups, budgets)
    return PromiseTerms(budgets, groups, rule.guesses, rule.truths, shown)


def _stated_groups(labels: Labels, budgets: Mapping[Any, LeakageBudget]) -> dict[Any, Labels]:
    """Return the groups that each budget of a rule is about, from the names of its columns
    (`design.group_labels`).
    """
    groups_of: dict[Any, dict[Any, None]] = {name: {} for name in budgets}
    for label in labels:
        name = TOGETHER if TOGETHER in budgets else label[0]
        alone = name == TOGETHER and not budgets[name].measure.conditional
        group = label if alone else label[-1]
        groups_of[name][tuple(group) if isinstance(group, list) else group] = None
    return {name: tuple(each) for name, each in groups_of.items()}


def within(values: Any, about: Mapping[Any, Sequence[Any]]) -> NDArray[np.bool_]:
    """Return True for the people [people] whose groups are among these in every column that has
    any; columns that `values` lacks do not count.
    """
    joined = groups(values)
    parts = {TOGETHER: joined, **{str(name): part for name, part in columns_of(values)}}
    inside = np.ones(len(joined), dtype=bool)
    for name, labels in about.items():
        if str(name) in parts:
            inside &= known_codes(parts[str(name)], "sensitive_features", labels) >= 0
    return inside


def codes_of(values: Any, secrets: Mapping[Any, Labels]) -> dict[Any, Codes]:
    """The codes of the sensitive features of other people, whose labels must be known; InputError
    for one that is new.
    """
    if TOGETHER in secrets:
        return {TOGETHER: _known_codes_of(groups(values), "sensitive_features", secrets[TOGETHER])}
    parts = _columns_by_name(values)
    if lacking := [name for name in secrets if name not in parts]:
        raise InputError(
            f"sensitive_features has no column {lacking[0]!r}, which has a budget; give it too"
        )
    return {
        name: _known_codes_of(parts[name], f"sensitive_features {name!r}", labels)
        for name, labels in secrets.items()
    }


def _known_codes_of(values: Any, what: str, labels: Labels) -> Codes:
    all_labels, codes = encode_groups(values, what, labels)
    if len(all_labels) > len(labels):
        raise InputError(
            f"there is a group {all_labels[-1]!r} that was not among those when the classifier was "
            "fitted; leave it out"
        )
    return codes


def _columns_by_name(values: Any) -> dict[Any, Any]:
    """The sensitive columns by name; InputError where there is one without a name."""
    parts = columns_of(values)
    if not parts and getattr(values, "name", None) is not None:
        parts = [(values.name, column(values, "sensitive_features"))]
    if not parts:
        fault = "sensitive_features is one column without a name, and there is a budget by name"
        raise InputError(f"{fault}; give a data frame or a mapping, or a number for a budget")
    return dict(parts)


def _of_people(values: Any, what: str, people: int) -> tuple[Labels, Codes]:
    """Labels and the code of each person; InputError where there are as many as in a
    measurement.
    """
    labels, codes = encode_labels(values, what)
    if len(codes) != people:
        raise InputError(f"{what} has {len(codes)} entries for {people} people; give one for each")
    if len(labels) > 10 and 2 * len(labels) > people:
        fault = (
            f"{what} has {len(labels):,} different values for {people:,} people, as a "
            "measurement has"
        )
        raise InputError(f"{fault}; cut it into ranges, and give those")
    return labels, codes
