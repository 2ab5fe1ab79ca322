"""Every backend on the same problems, each attempt in its own process, every number the judge's.

A *case* is a problem with a title; a *contestant* is a backend with settings. `run_comparison` takes both and returns a
`Comparison`: one row per case and contestant, what is known of each case, and who agrees with whom (`agreement`). A crash,
a refusal or a timeout is a row like any other.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from discreet.backends.contract import Regime
from discreet.backends.isolated import solve_isolated
from discreet.backends.registry import backend_names, capabilities, peers
from discreet.backends.solution import PERFECT_PRIVACY_TOLERANCE, PRIVACY_TOLERANCE, Solution, Status
from discreet.problems.errors import InputError
from discreet.problems.problem import Problem
from discreet.reports.agreement import Agreement, agreements

__all__ = ["Case", "CaseFacts", "Comparison", "Contestant", "Row", "Watch", "default_contestants", "run_comparison"]

Watch = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Case:
    """A problem to compare on, and the title it goes by; titles are unique in a comparison."""

    title: str
    problem: Problem


@dataclass(frozen=True)
class Contestant:
    """A backend with settings, and the label it goes by (the backend's name when there are no settings)."""

    backend: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """As typed on the command line: conic, or conic:solver=scs."""
        pairs = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.backend}:{pairs}" if pairs else self.backend


@dataclass(frozen=True)
class Row:
    """One contestant on one case. Undefined numbers are inf (or −inf for the lower bound), so that comparisons fail safe.

    error_probability, lower_bound   the certified bracket; the first is reached by the repaired estimator
    own_error_probability            of the contestant's own answer, before any repair
    own_leakage_nats                 what that answer really leaks
    own_phi_residual                 ‖Φ P‖∞ of that answer, the measure of a leak at perfect privacy
    claimed                          the contestant's word for how it went; shown, never scored
    """

    case: str
    contestant: str
    backend: str
    status: Status
    message: str
    claimed: str | None
    error_probability: float
    lower_bound: float
    relative_gap: float
    own_error_probability: float
    own_leakage_nats: float
    own_phi_residual: float
    budget_nats: float
    iterations: int | None
    lower_seconds: float
    solve_seconds: float
    lift_seconds: float
    certify_seconds: float
    versions: Mapping[str, str]

    @classmethod
    def of(cls, case: Case, contestant: Contestant, solution: Solution) -> Row:
        """The row of a solution."""
        judged, timings = solution.certificate, solution.timings
        return cls(
            case=case.title,
            contestant=contestant.label,
            backend=contestant.backend,
            status=solution.status,
            message=solution.message,
            claimed=solution.claimed,
            error_probability=solution.error_probability,
            lower_bound=judged.lower if judged else -math.inf,
            relative_gap=solution.relative_gap,
            own_error_probability=judged.own_error if judged else math.inf,
            own_leakage_nats=judged.own_leakage if judged else math.inf,
            own_phi_residual=judged.own_phi_residual if judged else math.inf,
            budget_nats=case.problem.budget,
            iterations=solution.iterations,
            lower_seconds=timings.lower_seconds,
            solve_seconds=timings.solve_seconds,
            lift_seconds=timings.lift_seconds,
            certify_seconds=timings.certify_seconds,
            versions=solution.versions,
        )

    @property
    def answered(self) -> bool:
        """Whether there is a certified bracket."""
        return math.isfinite(self.error_probability)

    @property
    def leakage_ratio(self) -> float:
        """Leakage of the contestant's own answer ÷ budget; nan at budget 0 (see `own_phi_residual`), 0 without one."""
        if not self.answered:
            return math.inf
        return self.own_leakage_nats / self.budget_nats if self.budget_nats > 0.0 else math.nan

    @property
    def excess(self) -> float:
        """How far the own answer is over the budget: leakage ÷ budget − 1 (negative: inside), or ‖Φ P‖∞ at budget 0."""
        return self.own_phi_residual if self.budget_nats == 0.0 else self.leakage_ratio - 1.0

    @property
    def tolerance(self) -> float:
        """The excess above which the status is violated-privacy."""
        return PERFECT_PRIVACY_TOLERANCE if self.budget_nats == 0.0 else PRIVACY_TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name; None for what is not finite."""
        plain = {name: _plain(value) for name, value in asdict(self).items()}
        return plain | {"status": self.status.value, "own_leakage_over_budget": _plain(self.leakage_ratio)}


@dataclass(frozen=True)
class CaseFacts:
    """What is known of a case: its sizes, its landmarks and the best bracket that any contestant proved.

    bayes_error_probability, bayes_leakage_nats   the plain Bayes rule: no estimator errs less
    constant_error_probability                    the best constant guess, which leaks nothing
    lower_bound, upper_bound                      best proven bracket of the optimum (0 and the constant's without answers)
    """

    title: str
    private_values: int
    guesses: int
    outcomes: int
    budget_nats: float
    entropy_x_nats: float
    bayes_error_probability: float
    bayes_leakage_nats: float
    constant_error_probability: float
    lower_bound: float
    upper_bound: float

    @classmethod
    def of(cls, case: Case, rows: Iterable[Row]) -> CaseFacts:
        """The facts of a case, given its rows."""
        answered = [row for row in rows if row.case == case.title and row.answered]
        problem = case.problem
        return cls(
            title=case.title,
            private_values=problem.n,
            guesses=problem.m,
            outcomes=problem.N,
            budget_nats=problem.budget,
            entropy_x_nats=problem.entropy_x,
            bayes_error_probability=problem.bayes_error,
            bayes_leakage_nats=problem.bayes_leakage,
            constant_error_probability=problem.constant_error,
            lower_bound=max((row.lower_bound for row in answered), default=0.0),
            upper_bound=min((row.error_probability for row in answered), default=problem.constant_error),
        )

    @property
    def optimum(self) -> float:
        """Middle of the best bracket."""
        return 0.5 * (self.lower_bound + self.upper_bound)

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name; None for what is not finite."""
        return {name: _plain(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Comparison:
    """The whole result. `seconds` is the wall-clock time of everything, `gap` the relative gap asked for."""

    cases: tuple[CaseFacts, ...]
    rows: tuple[Row, ...]
    agreements: tuple[Agreement, ...]
    gap: float
    time_limit_seconds: float | None
    seconds: float
    environment: Mapping[str, str]

    @property
    def contestants(self) -> tuple[str, ...]:
        """Labels in the order of their first row."""
        return tuple(dict.fromkeys(row.contestant for row in self.rows))

    @property
    def disagreements(self) -> tuple[Agreement, ...]:
        """Pairs whose certified brackets exclude one another: at least one proof is wrong."""
        return tuple(pair for pair in self.agreements if not pair.agree)

    @property
    def uncertified_cases(self) -> tuple[str, ...]:
        """Cases that no contestant solved to the asked gap."""
        solved = {row.case for row in self.rows if row.status is Status.CERTIFIED}
        return tuple(case.title for case in self.cases if case.title not in solved)

    def rows_of(self, case: str) -> tuple[Row, ...]:
        """The rows of one case."""
        return tuple(row for row in self.rows if row.case == case)

    def to_dict(self) -> dict[str, Any]:
        """The record for machines: plain numbers and strings, units in the names, None where undefined."""
        return {
            "made_by": "discreet compare",
            "gap": self.gap,
            "time_limit_seconds": self.time_limit_seconds,
            "seconds": self.seconds,
            "environment": dict(self.environment),
            "disagreements": len(self.disagreements),
            "uncertified_cases": list(self.uncertified_cases),
            "cases": [case.to_dict() for case in self.cases],
            "rows": [row.to_dict() for row in self.rows],
            "agreements": [pair.to_dict() for pair in self.agreements],
        }


def default_contestants() -> tuple[Contestant, ...]:
    """Every registered backend but `auto`, which only picks one of the others, and the peers, which must be named."""
    left_out = {"auto", *peers()}
    return tuple(Contestant(name) for name in backend_names() if name not in left_out)


def run_comparison(
    cases: Sequence[Case],
    contestants: Sequence[Contestant] | None = None,
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Run every contestant on every case, one after the other, each in its own process.

    contestants   None: every registered backend but `auto` and the peers, on the cases whose kind of budget it says it
                  serves. Those given by name run on every case, and say so when they do not serve it.
    time_limit    seconds per attempt, then the process is killed
    watch         called with (attempts done, attempts in all, what is running now)

    Raises InputError for no cases, cases of the same title, an unknown backend or a bad setting.
    """
    started = time.perf_counter()
    plan = _plan(cases, contestants)
    rows = []
    for done, (case, contestant) in enumerate(plan):
        if watch is not None:
            watch(done, len(plan), f"{contestant.label} on {case.title}")
        solution = solve_isolated(
            case.problem, contestant.backend, gap=gap, time_limit=time_limit, settings=contestant.settings
        )
        rows.append(Row.of(case, contestant, solution))
    if watch is not None:
        watch(len(plan), len(plan), "done")
    return Comparison(
        cases=tuple(CaseFacts.of(case, rows) for case in cases),
        rows=tuple(rows),
        agreements=agreements(rows),
        gap=gap,
        time_limit_seconds=time_limit,
        seconds=time.perf_counter() - started,
        environment=_environment(rows),
    )


def _plan(cases: Sequence[Case], contestants: Sequence[Contestant] | None) -> list[tuple[Case, Contestant]]:
    if not cases:
        raise InputError("there is nothing to compare on; give at least one problem")
    titles = [case.title for case in cases]
    _refuse_repetition("problem", titles)
    if contestants is not None:
        _refuse_repetition("backend", [contestant.label for contestant in contestants])
        unknown = next((c.backend for c in contestants if c.backend not in backend_names()), None)
        if unknown is not None:
            raise InputError(f"there is no backend {unknown!r}; choose from: {', '.join(backend_names())}")
        if not contestants:
            raise InputError("there is no backend to compare; give at least one")
        return [(case, contestant) for case in cases for contestant in contestants]
    able = capabilities()
    return [
        (case, contestant)
        for case in cases
        for contestant in default_contestants()
        if contestant.backend not in able or Regime.of(case.problem) in able[contestant.backend].regimes
    ]


def _refuse_repetition(what: str, names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the {what} {twice!r} is given twice; give it once")


def _environment(rows: Iterable[Row]) -> dict[str, str]:
    """What the numbers depend on: Python, the machine's kind, and every library any contestant named."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for row in rows:
        found.update(row.versions)
    return found


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
