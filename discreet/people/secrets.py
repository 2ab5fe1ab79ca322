"""What is hidden: each sensitive column that has a budget, or all of them together.

What users pass is turned into the plural form here: one budget or one for each column, a column or
a table of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.checks import positive
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import measure_of
from discreet.people.labels import TOGETHER, column, columns_of, encode_labels, groups, objects
from discreet.problems.constraint import LeakageBudget, constraint_of
from discreet.problems.frames import Codes
from discreet.problems.problem import Problem, shares_of_bayes
from discreet.problems.samples import each_secret

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
        """Whether there is any constraint."""
        return not self.budgets or not all(each.oblivious for each in self.budgets)

    def budgets_in(self, model: Problem) -> Sequence[LeakageBudget]:
        """The budgets, where the plain classifier is the Bayes rule of this model."""
        if self.budgets:
            return self.budgets
        amounts = shares_of_bayes(model, self.shares)
        return [LeakageBudget(*each) for each in zip(amounts, self.measures, strict=True)]


def asked_about(sizes: Mapping[Any, int], budget: Any, fraction: Any, measure: Any) -> Asked:
    """What is asked for about secrets with so many labels, one value for all or one for each by
    name. Raises InputError.

    The measure of a budget that names one is the default.
    """
    if (budget is None) == (fraction is None):
        raise InputError("give one of budget= and fraction= (of what the plain rule leaks)")
    names = [str(name) for name in sizes]
    told = [
        None if each == MUTUAL_INFORMATION.name else each
        for each in each_secret(measure, names, "measure", every=False)
    ]
    if budget is None:
        shares = each_secret(fraction, names, "fraction", every=True)
        measures = [MUTUAL_INFORMATION if each is None else measure_of(each) for each in told]
        checked = [positive(share, "fraction", zero=True, most=1.0) for share in shares]
        return Asked(measures, shares=checked)
    budgets = [
        constraint_of(one, None, [np.ones(size)], each)
        for one, each, size in zip(
            each_secret(budget, names, "budget", every=True), told, sizes.values(), strict=True
        )
    ]
    return Asked([each.measure for each in budgets], budgets)


def secrets_of(values: Any, people: int, *, by_column: bool) -> Secrets:
    """The secrets of sensitive features: each column, or the combinations of all; one group without
    sensitive features. Raises InputError.
    """
    if values is None:
        return {TOGETHER: ((None,), np.zeros(people, dtype=np.intp))}
    if not by_column:
        return {TOGETHER: _of_people(groups(values), "sensitive_features", people)}
    found = {
        name: _of_people(part, f"sensitive_features {name!r}", people)
        for name, part in _named(values).items()
    }
    if alone := [name for name, (labels, _) in found.items() if len(labels) < 2]:
        raise InputError(
            f"sensitive_features {alone[0]!r} is the same for everybody, so no guess can tell "
            "it; leave it out"
        )
    return found


def known_values(values: Any, secrets: Mapping[Any, Labels]) -> dict[Any, Any]:
    """The sensitive features of other people, whose labels must be known; InputError for one that
    is new.
    """
    if TOGETHER in secrets:
        return {TOGETHER: _known(groups(values), "sensitive_features", secrets[TOGETHER])}
    parts = _named(values)
    if lacking := [name for name in secrets if name not in parts]:
        raise InputError(
            f"sensitive_features has no column {lacking[0]!r}, which has a budget; give it too"
        )
    return {
        name: _known(parts[name], f"sensitive_features {name!r}", labels)
        for name, labels in secrets.items()
    }


def _known(values: Any, what: str, labels: Labels) -> Any:
    found, codes = encode_labels(values, what, labels)
    if len(found) > len(labels):
        raise InputError(
            f"there is a group {found[-1]!r} that nobody had when the classifier was fitted; leave "
            "it out"
        )
    return objects(labels)[codes]


def _named(values: Any) -> dict[Any, Any]:
    """The sensitive columns by name; InputError where there is one without a name."""
    parts = columns_of(values)
    if not parts and getattr(values, "name", None) is not None:
        parts = [(values.name, column(values, "sensitive_features"))]
    if not parts:
        told = "sensitive_features is one column without a name, and there is a budget by name"
        raise InputError(f"{told}; give a data frame or a mapping, or a number for a budget")
    return dict(parts)


def _of_people(values: Any, what: str, people: int) -> tuple[Labels, Codes]:
    """Labels and the code of each person; InputError where there are as many as in a
    measurement.
    """
    found, codes = encode_labels(values, what)
    if len(codes) != people:
        raise InputError(f"{what} has {len(codes)} entries for {people} people; give one for each")
    if len(found) > 10 and 2 * len(found) > people:
        told = (
            f"{what} has {len(found):,} different values for {people:,} people, as a "
            "measurement has"
        )
        raise InputError(f"{told}; cut it into ranges, and give those")
    return found, codes
