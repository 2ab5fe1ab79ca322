"""Watch a rule in production: count records of (sensitive value, guess), and raise an alarm once
they show that the guess leaks more than was promised.

One may look after every record, forever: the probability of a false alarm at any time is at most α
in total (`discreet.people.anytime`). With C promises, each has α/C. The records must be of people
who are drawn independently from one population, and the rule must stay the same. The cost of a
record does not grow with their number, since only counts are kept.

Source: docs/theory.md, section 23; G. Shafer et al., Test Martingales, Bayes Factors and p-Values,
Statistical Science 26 (2011), arXiv:0912.4269.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.checks import brief, positive
from discreet.errors import FileError, InputError
from discreet.measures.measure import Measure
from discreet.measures.region import Region
from discreet.numerics.double_double import Array
from discreet.people.anytime import anytime_region
from discreet.people.evaluation import Limits
from discreet.people.extremes import leakage_of, limits_of, lowest_of
from discreet.people.labels import TOGETHER, about, by_name, column, columns_of, known_codes
from discreet.people.labels import groups as joined_groups
from discreet.people.published import FEWEST
from discreet.people.secrets import PromiseTerms, promise_of, within
from discreet.problems.constraint import LeakageBudget
from discreet.problems.frames import Codes
from discreet.showing.data import plain
from discreet.storage.texts import read_text
from discreet.storage.writing import PathLike, check_output, marked, replacing, shown_path

FORMAT = "discreet monitor"
VERSION = 1

_LARGEST = 1 << 26  # largest file, in bytes


@dataclass(eq=False)
class Watched:
    """One promise that is watched.

    name     name of the sensitive column; empty for all together
    groups   labels of the groups that the promise is about
    truths   labels of the truths if the measure is conditional; otherwise [None]
    stated   the table with which the promise was shown [guesses, truths · groups]; None if unknown
    counts   number of records of each truth and group with each guess, in the same order
    alarm    number of records after which the alarm was raised; None without one
    """

    name: str
    budget: LeakageBudget
    groups: tuple[Any, ...]
    truths: tuple[Any, ...]
    stated: Array | None
    counts: Array
    alarm: int | None = None

    @classmethod
    def of(cls, name: Any, terms: PromiseTerms) -> Watched:
        """Return the promise about a sensitive column, without records. Raises InputError."""
        budget = terms.budgets[name]
        groups = terms.groups.get(name, ())
        truths = tuple(terms.truths) if budget.measure.conditional else (None,)
        if not groups or not truths:
            lacking = "truths" if groups else f"groups{about(name)}"
            raise InputError(f"{budget} is watched with labels of {lacking}; give them")
        budget.measure.on(np.arange(len(groups)), len(groups))
        counts = np.zeros((len(terms.guesses), len(truths) * len(groups)))
        stated = np.array(terms.shown.get(name, ()), dtype=np.float64)
        if stated.shape != counts.shape:
            return cls(str(name), budget, groups, truths, None, counts)
        stated = np.where(np.isnan(stated), 0.5 * FEWEST, stated)  # counts that a file withholds
        return cls(str(name), budget, groups, truths, stated, counts)

    @property
    def measure(self) -> Measure:
        """The measure of leakage."""
        return self.budget.measure

    def region(self, level: float) -> Region:
        """Return the region that contains the law at all times, except with this probability."""
        return anytime_region(self.counts, self.stated, level, len(self.truths))

    def report(self, level: float, seen: int) -> dict[str, Any]:
        """Return what the records show about the leakage, with limits that hold at all times
        together.

        seen: number of all records, also of people whom the promise is not about
        """
        region = self.region(level)
        low, high = limits_of(self.measure, region)
        estimate = leakage_of(self.measure, region.rates, region.shares, region.given)
        low = min(low, estimate)
        raised = "no alarm" if self.alarm is None else f"alarm after {self.alarm:,} records"
        records = int(self.counts.sum())
        statement = (
            f"{raised}: by {records:,}, the guess leaks at least {low:.4g} and at most "
            f"{high:.4g}{about(self.name)}; promised is {self.budget}"
        )
        if left_out := seen - records:
            others = "groups or truths" if self.measure.conditional else "groups"
            statement += (
                f"; {left_out:,} records were left out, since the promise is not about their "
                f"{others}"
            )
        return {
            "statement": statement,
            "name": self.name,
            "measure": str(self.measure),
            "budget": self.budget.amount,
            "leakage": plain(Limits(estimate, low, high)),
            "records": records,
            "left_out": left_out,
            "alarm": self.alarm,
        }

    def places(self, values: Any, truth: Any) -> Codes:
        """Return the columns of `counts` that records belong to; −1 for groups that the promise is
        not about.
        """
        group = known_codes(values, "sensitive_features", self.groups)
        if not self.measure.conditional:
            return group
        known = known_codes(column(truth, "truth"), "truth", self.truths)
        _check_length(known, "truth", len(group))
        return np.where((group < 0) | (known < 0), -1, known * len(self.groups) + group)

    @property
    def promise(self) -> dict[str, Any]:
        """Return the parts that do not depend on records, for JSON."""
        return {
            "name": self.name,
            "measure": str(self.measure),
            "budget": self.budget.amount,
            "groups": self.groups,
            "truths": self.truths,
            "stated": None if self.stated is None else self.stated.tolist(),
        }


class Monitor:
    """Counts the records of a rule in production, and raises an alarm once it leaks more than was
    promised.

    rule      a `DeployedRule`, `Rule` or fitted `PrivateClassifier`, whose promise is watched; or a
              budget, or a mapping with one for each sensitive column
    guesses   labels of the guesses, if budgets are given
    groups    labels of the groups that the promise is about, if budgets are given; a mapping for
              several sensitive columns
    truths    labels of the truths, if budgets of a conditional measure are given
    alpha     largest probability of a false alarm at any time

    For a rule with a lottery, the records hold the guesses after the lottery. Raises InputError.
    """

    def __init__(
        self,
        rule: Any,
        *,
        guesses: Sequence[Any] | None = None,
        groups: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None,
        truths: Sequence[Any] | None = None,
        alpha: float = 0.05,
    ) -> None:
        self.alpha = positive(alpha, "alpha", most=0.5)
        self.records = 0
        terms = promise_of(rule)
        if not terms.budgets:
            if guesses is None or groups is None:
                raise InputError("budgets are watched with guesses= and groups=; give both")
            budgets = {
                name: each if isinstance(each, LeakageBudget) else LeakageBudget(each)
                for name, each in by_name(rule).items()
            }
            labels = {name: tuple(each) for name, each in by_name(groups).items()}
            terms = PromiseTerms(budgets, labels, guesses, truths or ())
        self.guesses = tuple(terms.guesses)
        self._covered = {str(name): terms.groups.get(name, ()) for name in terms.budgets}
        self.watched = tuple(
            Watched.of(name, terms) for name, each in terms.budgets.items() if not each.oblivious
        )
        if not self.watched:
            raise InputError("the rule has no budget, so there is no promise to watch")

    def update(self, sensitive_features: Any, guesses: Any, truth: Any = None) -> bool:
        """Count any number of records, and return whether there is an alarm.

        sensitive_features   as `evaluate` accepts them; records of groups that the promise is not
                             about are ignored
        guesses              the guesses of the rule, after its lottery
        truth                required under a conditional measure

        Raises InputError before anything is counted.
        """
        made = known_codes(column(guesses, "guesses"), "guesses", self.guesses)
        if (made < 0).any():
            place = int((made < 0).argmax())
            raise InputError(
                f"guess {place} is {brief(column(guesses, 'guesses')[place])}, which the rule "
                f"cannot make; it guesses {', '.join(map(repr, self.guesses))}"
            )
        parts = {str(name): values for name, values in columns_of(sensitive_features)}
        inside = within(sensitive_features, self._covered)
        more = []
        for each in self.watched:
            if each.name != TOGETHER and each.name not in parts:
                raise InputError(
                    f"sensitive_features has no column {each.name!r}, which has a budget"
                )
            values = parts[each.name] if each.name else joined_groups(sensitive_features)
            places = each.places(values, truth)
            _check_length(places, "sensitive_features", len(made))
            counted = inside & (places >= 0)
            cells = made[counted] * each.counts.shape[1] + places[counted]
            sums = np.bincount(cells, minlength=each.counts.size)
            more.append(sums.reshape(each.counts.shape))
        self.records += len(made)
        for each, counts in zip(self.watched, more, strict=True):
            each.counts += counts
            if each.alarm is None and lowest_of(each.measure, each.region(self.level)) > (
                each.budget.amount
            ):
                each.alarm = self.records
        return self.alarm

    @property
    def alarm(self) -> bool:
        """True if an alarm was raised at any time."""
        return any(each.alarm is not None for each in self.watched)

    @property
    def level(self) -> float:
        """The probability of a false alarm about one promise."""
        return self.alpha / len(self.watched)

    def report(self) -> dict[str, Any]:
        """Return what is known so far, as plain values: whether there was an alarm, and the
        leakage, with limits that hold at all times together with probability 1 − alpha.
        """
        promises = [each.report(self.level, self.records) for each in self.watched]
        return {
            "statement": ". ".join(each["statement"] for each in promises),
            "alarm": self.alarm,
            "alpha": self.alpha,
            "records": self.records,
            "promises": promises,
        }

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write the counts as JSON, whole or not at all. It replaces another monitor, and any file
        with `overwrite`. Raises FileError.
        """
        check_output(path, marked(FORMAT), overwrite=overwrite)
        state = {
            **self._promises,
            "records": self.records,
            "counts": [each.counts.tolist() for each in self.watched],
            "alarms": [each.alarm for each in self.watched],
        }
        with replacing(path, overwrite=True) as stream:
            stream.write((json.dumps(state, default=str) + "\n").encode())

    def resume(self, path: PathLike) -> None:
        """Continue from a file written by `save`. Raises FileError for any other file, or one about
        another promise.
        """
        try:
            state = json.loads(read_text(path, _LARGEST))
            counts = [np.array(each, dtype=np.float64) for each in state["counts"]]
            alarms = [None if each is None else int(each) for each in state["alarms"]]
            records = int(state["records"])
            same = {name: state[name] for name in self._promises} == _as_json(self._promises)
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            why = f"{type(error).__name__}: {error}"
            raise FileError(
                f"{shown_path(path)} holds no monitor ({brief(why)}); give a file that was saved"
            ) from None
        if not same:
            raise FileError(
                f"{shown_path(path)} is about another rule, promise or alpha; give its own file, "
                "or another place"
            )
        fits = [
            each.shape == own.counts.shape and each.min() >= 0.0 and each.sum() <= records
            for each, own in zip(counts, self.watched, strict=False)
        ]
        if not all(fits) or not len(counts) == len(alarms) == len(self.watched):
            raise FileError(f"{shown_path(path)} has counts that do not fit its promise")
        self.records = records
        for own, each, alarm in zip(self.watched, counts, alarms, strict=True):
            own.counts = each
            own.alarm = alarm

    @property
    def _promises(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "alpha": self.alpha,
            "guesses": self.guesses,
            "promises": [each.promise for each in self.watched],
        }


def _check_length(codes: Codes, what: str, records: int) -> None:
    if len(codes) != records:
        raise InputError(f"there are {len(codes)} entries of {what} for {records} records")


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
