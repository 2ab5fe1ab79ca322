"""Comparison of all backends on the same problems. Each attempt runs in its own process, and every
number is the judge's.

A *case* is a problem with a title; a *solver configuration* is a backend with settings.
`run_comparison` takes both and returns a `Comparison`: one `Measurement` for each case and
configuration, as in a study, and the agreement between configurations. A crash, a refusal or a
timeout is a row like any other.
"""

from __future__ import annotations

import json
import math
import platform
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.backends.contract import Kind
from discreet.backends.registry import backend_names, capabilities, peers, refuse_unknown_names
from discreet.backends.solution import Status
from discreet.checks import at_most, refuse_repeated
from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.problems.problem import Problem
from discreet.problems.provenance import version_of
from discreet.reports import wording
from discreet.reports.html.interactive import report_page
from discreet.reports.measurements import Configuration, Measurement, landmarks
from discreet.reports.outputs import Watch, write_folder
from discreet.reports.pictures import (
    gap_figure,
    leakage_figure,
    perfect_figure,
    precision_figure,
    tones,
)
from discreet.reports.statistics.agreement import Agreement, agreements
from discreet.reports.statistics.ranking import Rank, ranking
from discreet.reports.statistics.trials import trials
from discreet.reports.study.cells import Cell, Instance, serves
from discreet.reports.study.plan import AccuracyProfile, AttemptLimits
from discreet.reports.study.runner import measure
from discreet.reports.tables import case_tables
from discreet.showing import numerals
from discreet.showing.data import chosen, plain
from discreet.showing.figures import Figure, svg_files
from discreet.showing.notebook import card, frame
from discreet.showing.values import BAD, GOOD, UNSURE, Sentences, Toned

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("index.html", "leakage.svg", "perfect.svg", "brackets.svg", "comparison.json")
"""Every file that a comparison may write, except the manifest."""


@dataclass(frozen=True)
class Case:
    """A problem to compare on, with its title; titles are unique in a comparison."""

    title: str
    problem: Problem


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of a comparison. `seconds` is its wall-clock time, `gap` the relative gap that was
    requested.
    """

    cases: tuple[Case, ...]
    rows: tuple[Measurement, ...]
    gap: float
    time_limit_seconds: float | None
    seconds: float
    environment: Mapping[str, str]

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the solver configurations in the order of their first row."""
        return tuple(dict.fromkeys(row.label for row in self.rows))

    @cached_property
    def agreements(self) -> tuple[Agreement, ...]:
        """Return every pair of certified brackets of the same problem."""
        return agreements(self.rows)

    @property
    def disagreements(self) -> tuple[Agreement, ...]:
        """Return the pairs with disjoint certified brackets, for which at least one proof is
        wrong.
        """
        return tuple(pair for pair in self.agreements if not pair.agree)

    @property
    def uncertified_cases(self) -> tuple[str, ...]:
        """Return the cases that no configuration solved to the requested gap."""
        solved = {row.instance for row in self.rows if row.status is Status.CERTIFIED}
        return tuple(case.title for case in self.cases if case.title not in solved)

    def rows_of(self, case: Case) -> tuple[Measurement, ...]:
        """Return the rows of one case."""
        return tuple(row for row in self.rows if row.instance == case.title)

    def bracket(self, case: Case) -> tuple[float, float]:
        """Return the narrowest bracket of the optimum that the configurations certified together; 0
        and the constant guess's error if there is none.

        At budget 0 the bracket holds for the estimators private within the δ of one row. A lower
        bound also holds for smaller δ, an upper bound for larger δ.
        """
        answered = [row for row in self.rows_of(case) if row.answered]
        brackets = [
            (
                max(
                    other.lower for other in answered if other.private_within >= row.private_within
                ),
                min(
                    other.upper for other in answered if other.private_within <= row.private_within
                ),
            )
            for row in answered
        ]
        return min(
            brackets, key=lambda ends: ends[1] - ends[0], default=(0.0, case.problem.constant_error)
        )

    def verdict(self) -> list[str]:
        """Return sentences on which claims were true or false and which configurations agree."""
        rows = self.rows
        counts = Counter(row.status.value for row in rows)
        answers = sum(row.answered for row in rows)
        sentences = [
            f"{counts['certified']} of {len(rows)} attempts are certified: within the budget and "
            "within a relative "
            f"{numerals.scientific(self.gap)} of the optimum, proven."
        ]
        broken = counts["violated-privacy"]
        if broken:
            worst = max(
                (row for row in rows if row.status.value == "violated-privacy"),
                key=lambda row: (row.budget_nats > 0.0, row.own_leakage_nats - row.budget_nats),
            )
            sentences.append(
                f"{_count(broken, 'answer')} of {answers} leaked more than the budget; the worst "
                f"is {worst.label} on "
                f"{worst.instance}, which called itself {worst.claimed!r} "
                f"({wording.excess(worst)}{wording.beyond(worst)})."
            )
        else:
            sentences.append(
                f"All {answers} answers kept their budget{_tolerance(rows)}."
                if answers
                else "No backend answered."
            )
        sentences.append(wording.agreement(len(self.agreements), len(self.disagreements)))
        sentences += [
            f"On {pair.case} those of {pair.first} and {pair.second} do."
            for pair in self.disagreements[:1]
        ]
        for value, words in (
            ("failed", "failed"),
            ("timed-out", "ran out of time"),
            ("absent", "could not load what they need"),
        ):
            who = dict.fromkeys(row.label for row in rows if row.status.value == value)
            if who:
                sentences.append(f"{_count(counts[value], 'attempt')} {words}: {', '.join(who)}.")
        if self.uncertified_cases:
            sentences.append(f"No answer is certified on {'; '.join(self.uncertified_cases)}.")
        return [*sentences, self.advice()]

    def advice(self) -> str:
        """Return a sentence that names the first configuration of the ranking, and another that is
        certified on as many problems.
        """
        all_trials = trials(self.rows)
        ranks = [rank for rank in ranking(all_trials) if rank.solved]
        if not ranks:
            return "Use none of them: no answer is certified."
        first, *others = ranks

        def spent(rank: Rank) -> str:
            own = (each for each in all_trials if each.label == rank.contestant and each.success)
            return numerals.span(sum(each.seconds for each in own))

        asked = len(self.cases)
        where = f"{first.solved} of {asked} problems"
        if first.solved == asked:
            where = f"all {asked} problems" if asked > 1 else "the problem"
        together = " together" if first.solved > 1 else ""
        also = ""
        if others and others[0].solved == first.solved:
            also = f"; so was {others[0].contestant}, in {spent(others[0])}"
        return f"Use {first.contestant}: certified on {where}, in {spent(first)}{together}{also}."

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for each attempt: case, configuration, status, claim and
        numbers as in `to_dict`.
        """
        return frame([_record(row) for row in self.rows]).drop(columns="versions")

    def plot(self) -> Figure:
        """Plot the seconds against the certified gap of every answer that kept its budget."""
        return precision_figure(self.rows, tones(trials(self.rows)))

    def _repr_html_(self) -> str:
        badge = Toned("certified", GOOD)
        if self.uncertified_cases:
            badge = Toned("not all certified", UNSURE)
        if self.disagreements:
            badge = Toned("brackets do not overlap", BAD)
        return card(
            "Comparison", self._sizes, Sentences(self.verdict()), *case_tables(self), badge=badge
        )

    @property
    def _sizes(self) -> str:
        return f"{_count(len(self.cases), 'problem')}, {_count(len(self.labels), 'backend')}"

    def __repr__(self) -> str:
        certified = sum(row.certified for row in self.rows)
        return (
            f"Comparison({self._sizes}, {certified} of {_count(len(self.rows), 'attempt')} "
            "certified)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain numbers and strings, with units in the names and None
        where undefined.
        """
        return {
            "made_by": "discreet compare",
            "version": version_of("discreet"),
            "gap": self.gap,
            "time_limit_seconds": self.time_limit_seconds,
            "seconds": self.seconds,
            "environment": dict(self.environment),
            "disagreements": len(self.disagreements),
            "uncertified_cases": list(self.uncertified_cases),
            "cases": [
                {
                    "title": case.title,
                    **plain(landmarks(case.problem)),
                    "lower_bound": lower,
                    "upper_bound": upper,
                }
                for case in self.cases
                for lower, upper in [plain(self.bracket(case))]
            ],
            "rows": [plain(_record(row)) for row in self.rows],
            "agreements": plain(self.agreements),
        }


def _tolerance(rows: Iterable[Measurement]) -> str:
    """State the δ within which the answers at budget 0 are private; the text is empty if they are
    exactly private.
    """
    within = max(
        (row.own_private_within for row in rows if row.answered and row.budget_nats == 0.0),
        default=0.0,
    )
    return (
        f", the budget 0 within {numerals.scientific(float(at_most(within, 1)), 0)}"
        if 0.0 < within < math.inf
        else ""
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _record(row: Measurement) -> dict[str, Any]:
    """Return a row under the names of the comparison's record."""
    same = (
        "backend",
        "message",
        "relative_gap",
        "leakage_ceiling_nats",
        "own_leakage_nats",
        "own_phi_residual",
        "own_private_within",
        "budget_nats",
        "iterations",
        "lower_seconds",
        "solve_seconds",
        "lift_seconds",
        "certify_seconds",
        "versions",
    )
    return {
        "case": row.instance,
        "contestant": row.label,
        "status": row.status.value,
        "claimed": row.claimed or None,
        "error_probability": row.upper,
        "lower_bound": row.lower,
        "own_error_probability": row.own_error,
        "own_leakage_over_budget": row.own_leakage_nats / row.budget_nats
        if row.budget_nats > 0.0
        else math.nan,
        **chosen(row, same),
    }


def default_configurations() -> tuple[Configuration, ...]:
    """Return every registered backend except `auto`, which only picks one of the others, and the
    peers, which must be named.
    """
    return tuple(
        Configuration(name) for name in backend_names(Kind.ARRAYS) if name not in {"auto", *peers()}
    )


def run_comparison(
    cases: Sequence[Case],
    configurations: Sequence[Configuration] | None = None,
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Run every solver configuration on every case, one after the other, each in its own process.

    configurations   None means every registered backend except `auto` and the peers, each on the
                     cases whose kind of budget it serves. Configurations given by name run on every
                     case, and their rows say so when they do not serve it
    time_limit       seconds per attempt, after which the process is killed
    watch            called with (attempts done, attempts in all, what is running now)

    Raises InputError for no cases, cases of the same title, an unknown backend or a bad setting.
    """
    started = time.perf_counter()
    plan = _plan(cases, configurations)
    limits = AttemptLimits(math.inf if time_limit is None else time_limit, math.inf, None)
    rows = []
    for done, (case, configuration) in enumerate(plan):
        if watch is not None:
            watch(done, len(plan), f"{configuration.label} on {case.title}")
        instance = Instance(case.title, "file", "file", {}, "", case.problem)
        cell = Cell(
            "compare", instance, configuration, AccuracyProfile("compare", gap), 0, limits, ""
        )
        rows.append(measure(cell, repeat_seconds=0.0))
    if watch is not None:
        watch(len(plan), len(plan), "done")
    environment = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
    for row in rows:
        environment.update(row.versions)
    return Comparison(
        tuple(cases), tuple(rows), gap, time_limit, time.perf_counter() - started, environment
    )


def _plan(
    cases: Sequence[Case], configurations: Sequence[Configuration] | None
) -> list[tuple[Case, Configuration]]:
    if not cases:
        raise InputError("there is nothing to compare on; give at least one problem")
    refuse_repeated([case.title for case in cases], "problem")
    if configurations is not None:
        refuse_repeated([each.label for each in configurations], "backend")
        refuse_unknown_names(each.backend for each in configurations)
        if not configurations:
            raise InputError("there is no backend to compare; give at least one")
        return [(case, configuration) for case in cases for configuration in configurations]
    able = capabilities()
    return [
        (case, configuration)
        for case in cases
        for configuration in default_configurations()
        if serves(configuration, case.problem, able)
    ]


def write_comparison(
    comparison: Comparison, folder: str | Path, *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write the page, the pictures and the record into a folder, which is created if necessary; see
    `write_folder`.

    A picture is written only if it has answers to show, and if any of them breaks its budget or
    reveals anything beyond rounding.
    """
    figures = [
        leakage_figure(comparison.rows),
        perfect_figure(comparison.rows),
        gap_figure(comparison.rows),
    ]
    contents = {
        "index.html": report_page(
            comparison.rows,
            source="a comparison that asked for a relative gap of "
            f"{numerals.scientific(comparison.gap)}",
            verdict=comparison.verdict(),
        ),
        **svg_files(figures),
        "comparison.json": json.dumps(comparison.to_dict(), indent=1, allow_nan=False) + "\n",
    }
    return write_folder(folder, contents, {"command": "discreet compare"}, overwrite=overwrite)
