"""Evidence for the advice: one `Observation` of an option on an instance, and the features of an
instance.

An *option* is what a user can choose: a backend, its settings, and the relative gap to ask it for.
A cell succeeds at a gap if every repeat kept the budget and was certified to that gap or a tighter
one. Asking for a tighter gap than needed is an option of its own: some solvers exceed the budget at
loose tolerances and keep it at tight ones.

An instance is described by the few numbers that decide which options certify it and how long they
take, in decades (log10): the number N of distinct outcomes (proportional ones are merged before a
backend sees them), n·m (the dual has n·m + 1 unknowns), the budget relative to the Bayes leakage
and in nats (tiny budgets break conic solvers), and the ratio of the Bayes error to the error of the
best constant guess. The kind of budget is not a number: instances are compared only within one
kind, which is perfect privacy, a constraint that binds, or a slack one. They are also compared only
within one measure of leakage, except that perfect privacy is the same problem under all measures
that vanish only for independence.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.backends.registry import capabilities
from discreet.backends.solution import Status
from discreet.lazy import cached_property
from discreet.measures.mutual_information import MutualInformation
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce
from discreet.reports.measurements import Configuration, Measurement, Stakes, group_by
from discreet.reports.statistics.trials import comparable, control_of

FEATURES = (
    "outcomes",
    "n·m",
    "budget ÷ Bayes leakage",
    "budget in nats",
    "Bayes error ÷ constant error",
)
"""What the entries of `Features.decades` are."""


@dataclass(frozen=True)
class Features:
    """The features of an instance that the advice uses; `kind` is perfect, constrained or slack."""

    kind: str
    outcomes: int
    products: int
    budget_share: float
    budget_nats: float
    error_share: float

    @classmethod
    def of_problem(cls, problem: Problem) -> Features:
        """Return the features of a problem."""
        return cls._of(
            Stakes.of(problem),
            reduce(problem).problem.N,
            problem.n * problem.m,
            problem.bayes_error,
            problem.constant_error,
        )

    @classmethod
    def of_measurement(cls, row: Measurement) -> Features:
        """Return the features of the instance that a row measured."""
        return cls._of(
            Stakes.of_row(row),
            row.distinct_outcomes or row.outcomes,
            row.private_values * row.guesses,
            row.bayes_error,
            row.constant_error,
        )

    @classmethod
    def _of(
        cls, stakes: Stakes, outcomes: int, products: int, error: float, constant: float
    ) -> Features:
        budget = stakes.budget
        leakage = stakes.bayes_leakage
        # Where a Bayes rule leaks 1e-26 nats, ‖ΦP‖ is about 1e-13, which counts as no leak: it
        # keeps any budget.
        slack = budget >= leakage or leakage <= 1e-26
        error_share = error / constant if constant > 0.0 else 1.0
        if slack:
            return cls("slack", outcomes, products, 1.0, 1.0, error_share)
        if budget == 0.0 and stakes.separates:
            return cls("perfect", outcomes, products, 1.0, 1.0, error_share)
        return cls("constrained", outcomes, products, budget / leakage, budget, error_share)

    @cached_property
    def decades(self) -> Array:
        """Return the numbers [5] in decades, in the order of `FEATURES`; tiny budgets and errors
        are clipped.
        """
        values = (
            self.outcomes,
            self.products,
            self.budget_share,
            self.budget_nats,
            self.error_share,
        )
        least = (1.0, 1.0, 1e-6, 1e-14, 1e-8)
        return np.array(
            [
                math.log10(min(1e12, max(low, value)))
                for low, value in zip(least, values, strict=True)
            ]
        )

    def distances(self, others: Array) -> Array:
        """Return the distance of each row of `others` [K, 5], in decades, from this instance. 0
        means equal features; up to 1, measurements carry over well.
        """
        apart = np.array([0.75, 0.5, 1.5, 2.0, 2.0])  # decades that count as a distance of 1
        return np.asarray(np.sqrt((((others - self.decades) / apart) ** 2).sum(axis=1)))


@dataclass(frozen=True)
class Option:
    """A backend with its settings, asked for a relative gap. The settings are JSON text so that
    options can be compared.
    """

    backend: str
    settings_json: str
    gap: float

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings as a dictionary from name to value."""
        values: dict[str, Any] = json.loads(self.settings_json)
        return values

    @property
    def configuration(self) -> Configuration:
        """Return the backend with its settings."""
        return Configuration(self.backend, self.settings)

    @property
    def label(self) -> str:
        """Return the backend and its settings as typed on the command line, such as conic or
        conic:solver=scs.
        """
        return self.configuration.label

    @property
    def is_peer(self) -> bool:
        """Return whether the option serves only for comparison and is advised only on request.

        HiGHS's first-order method counts as such a peer, since its leakage depends on the residuals
        at which it stops.
        """
        able = capabilities().get(self.backend)
        return (able is not None and able.peer) or (
            self.backend == "highs" and self.settings.get("method") == "pdlp"
        )


@dataclass(frozen=True, eq=False)
class Observation:
    """The result of an option on an instance.

    instance   problem and budget as typed
    identity   the hash of the instance's arrays and budget
    measure    measure of leakage, as typed
    secrets    number of constraints
    group      unit that is held out together in a test of the advice: the catalog entry, or the
               file
    seconds    median over the repeats whose times are comparable; inf if there are none
    samples    the timings in seconds of all repeats
    gap        the widest certified relative gap of the repeats; inf if one had no answer or
               exceeded the budget
    outcome    the status of the worst repeat
    local      whether the user measured it; False for observations shipped with the package
    """

    option: Option
    instance: str
    identity: str
    group: str
    features: Features
    seconds: float
    samples: tuple[float, ...]
    gap: float
    outcome: Status
    measure: str
    secrets: int
    local: bool = False

    @property
    def timed(self) -> bool:
        """Return whether the seconds measure completed work, and not a time limit or a crash."""
        return math.isfinite(self.seconds) and self.outcome in (
            Status.CERTIFIED,
            Status.INACCURATE,
            Status.VIOLATED_PRIVACY,
        )

    def is_about(self, problem: Problem) -> bool:
        """Return whether the observation has the problem's measure and number of constraints.

        At perfect privacy any measure matches. A problem without a constraint matches observations
        of one constraint on mutual information.
        """
        stakes = Stakes.of(problem)
        if problem.oblivious:
            return (self.measure, self.secrets) == (MutualInformation.name, 1)
        alike = self.measure == stakes.measure or (
            problem.perfect and self.features.kind == "perfect"
        )
        return alike and self.secrets == stakes.secrets

    def succeeds(self, gap: float) -> bool:
        """Return whether the budget was kept and the gap was certified."""
        return self.gap <= gap


def observations_of(rows: Iterable[Measurement], *, local: bool = False) -> list[Observation]:
    """Group rows by option and instance. Rows of `auto`, of backends that were absent or did not
    serve the instance, and of environments with other releases are left out.
    """
    rows = list(rows)
    control = control_of(rows)
    tried = (
        row
        for row in rows
        if row.backend != "auto"
        and row.status not in (Status.ABSENT, Status.UNSUPPORTED)
        and not row.environment
    )

    def option(row: Measurement) -> Option:
        return Option(
            row.backend,
            json.dumps({**row.profile_settings, **row.settings}, sort_keys=True),
            row.gap_target,
        )

    groups = group_by(tried, lambda row: (option(row), row.problem_hash))
    return [_cell(chosen, repeats, local, control) for (chosen, _), repeats in groups.items()]


def join_observations(
    shipped: Iterable[Observation], local: Iterable[Observation], factor: float
) -> list[Observation]:
    """Join shipped and local observations: multiply the shipped seconds by `factor`, the relative
    slowness of this machine, and replace shipped cells by local ones of the same cell.
    """
    known = {
        (cell.option, cell.identity): replace(cell, seconds=cell.seconds * factor)
        for cell in shipped
    }
    for cell in local:
        key = cell.option, cell.identity
        # A cell that ran concurrently with others has no comparable time; its answer still counts.
        untimed = math.isinf(cell.seconds) and key in known
        known[key] = replace(cell, seconds=known[key].seconds) if untimed else cell
    return list(known.values())


def _cell(option: Option, rows: list[Measurement], local: bool, control: float) -> Observation:
    first = rows[0]
    timed = [row for row in rows if comparable(row, control)]
    worst = max(rows, key=lambda row: (row.violated, not row.answered, row.relative_gap))
    return Observation(
        option=option,
        instance=first.instance,
        identity=first.problem_hash,
        group=first.problem_hash if first.entry == "file" else first.entry,
        features=Features.of_measurement(first),
        seconds=statistics.median(row.seconds for row in timed) if timed else math.inf,
        samples=tuple(
            each for row in rows for each in (row.samples[1:] or row.samples or (row.seconds,))
        ),
        gap=max(
            row.relative_gap if row.answered and not row.violated else math.inf for row in rows
        ),
        outcome=worst.status,
        measure=first.measure,
        secrets=first.secrets,
        local=local,
    )
