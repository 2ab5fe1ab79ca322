"""One batch: several problems of one kind, solved by one backend, judged, and every certificate
checked exactly.

The backend works in processes of its own with a time limit; the judge and the second opinion work
here. A certificate is

*false* if what `discreet.verification` proves by exact arithmetic contradicts what it states, by
whatever little:
    - the dual bound lies above `upper`, or an estimator that keeps the budget errs less than
      `lower`;
    - at a positive budget the estimator leaks more than the budget, or errs more than `upper`;
    - at budget 0 and a stated δ > 0, the estimator errs more than `upper`, or a guess changes the
      probability of a private value by a larger share than δ, or by an adversary's gain it leaks
      more than δ;

*unconfirmed* if it is not false, and `second_opinion.contradictions` has something to say: its file
proves less than it states.

Every certificate is checked, also those of answers that are not certified within the gap, or were
repaired.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import guesses_over_time
from campaigns import underflow
from campaigns.instances import drawn

from discreet.backends import run
from discreet.backends.attempts import Attempt
from discreet.backends.contract import Kind, Options, Regime
from discreet.backends.isolated import attempt_all
from discreet.backends.registry import capabilities
from discreet.backends.run import certify
from discreet.backends.solution import Solution
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.causal.model import CausalProblem
from discreet.problems.problem import Problem
from discreet.reports.second_opinion import contradictions
from discreet.verification import Verification, verify

__all__ = ["Asked", "Batch", "Row", "checked", "done", "gap_of"]

_GIVEN_UP = "given up"
# Error probability: double precision does not resolve gaps of 1e-9 of smaller ones.
_NEGLIGIBLE = 2e-6


@dataclass(frozen=True)
class Asked:
    """What every attempt is asked for: a seed for the problems, the gap, and seconds."""

    seed: int = 1
    gap: float = 1e-9
    time_limit: float = 5.0

    @property
    def name(self) -> str:
        """Part of the name of a file."""
        return f"seed-{self.seed}-limit-{self.time_limit:g}"


@dataclass(frozen=True)
class Batch:
    """Problems first … first + count − 1 of a kind, for one backend."""

    backend: str
    kind: str
    first: int
    count: int

    @property
    def name(self) -> str:
        """Part of the name of its file."""
        return f"{self.backend}-{self.kind}-{self.first:07d}-{self.count}"


@dataclass(frozen=True)
class Row:
    """The result of one problem.

    problem       words that build it again; of the kind `given` with its answer
    budget        the largest of several
    gap           (upper − lower) / (upper + 2e-6), inf without a certificate
    seconds       of the backend's own steps; `judge_seconds` and `verify_seconds` are separate
    false         what is proven to contradict the certificate; `unconfirmed`, what its file does
                  not prove
    """

    backend: str
    kind: str
    index: int
    problem: str
    n: int
    m: int
    outcomes: int
    budget: float
    status: str
    message: str
    gap: float
    iterations: int | None
    seconds: float
    judge_seconds: float
    verify_seconds: float
    checked: bool
    false: tuple[str, ...]
    unconfirmed: tuple[str, ...]


def done(batch: Batch, asked: Asked) -> list[Row]:
    """A row for every problem of the batch that the backend serves. Where it serves no positive
    budget, 0 is asked for.
    """
    if batch.kind == "given":
        return [
            _judged(batch, index, asked) for index in range(batch.first, batch.first + batch.count)
        ]
    able = capabilities()[batch.backend]
    problems: list[tuple[int, str, Any]] = []
    for index in range(batch.first, batch.first + batch.count):
        words, problem = drawn(batch.kind, asked.seed, index)
        plain = problem.measures == (MUTUAL_INFORMATION,)
        if plain and Regime.of(problem) not in able.regimes:
            words = f"{words} at budget 0"
            problem = problem.with_budget(0.0)
        if not able.refusal(problem):
            problems.append((index, words, problem))
    tried = _attempts(batch.backend, [problem for _, _, problem in problems], asked)
    return [
        _row(
            batch,
            index,
            words,
            run.conclude(problem, one, Options(asked.gap, asked.time_limit)),
            asked.gap,
        )
        for (index, words, problem), one in zip(problems, tried, strict=True)
    ]


def _attempts(backend: str, problems: list[Any], asked: Asked) -> list[Attempt]:
    """Arrays in processes of the backend; all else, which cannot be sent, here with the arrays of
    its batch.
    """
    options = Options(asked.gap, asked.time_limit)
    if any(each.kind is not Kind.ARRAYS for each in problems):
        return [run.attempt(problem, backend, options) for problem in problems]
    tried: list[Attempt] = []
    while len(tried) < len(problems):
        found = attempt_all(backend, problems[len(tried) :], options, math.inf)
        tried += [one for one in found if not one.message.startswith(_GIVEN_UP)] or found
    return tried


def _judged(batch: Batch, index: int, asked: Asked) -> Row:
    """The row of an answer that is given; of a causal rule `underflow.faults` says all that is
    checked.
    """
    words, case = underflow.given(asked.seed, index)
    solution = certify(case.problem, case.answer, case.tilt, case.multiplier)
    row = _row(batch, index, words, solution, asked.gap)
    causal = isinstance(case.problem, CausalProblem)
    unconfirmed = () if causal else row.unconfirmed
    return replace(
        row,
        checked=True,
        false=(*row.false, *underflow.faults(case, solution)),
        unconfirmed=unconfirmed,
    )


def gap_of(solution: Solution) -> float:
    """The certified gap relative to the error probability, or to 2e-6 where that is less."""
    judged = solution.certificate
    return math.inf if judged is None else judged.gap / (judged.upper + _NEGLIGIBLE)


def _row(batch: Batch, index: int, words: str, solution: Solution, gap: float) -> Row:
    started = time.perf_counter()
    able, false, unconfirmed = checked(solution, gap)
    spent = time.perf_counter() - started
    problem = solution.problem
    times = solution.timings
    return Row(
        batch.backend,
        batch.kind,
        index,
        words,
        problem.n,
        problem.m,
        int(getattr(problem, "N", 0)),
        max(term.budget.amount for term in problem.terms),
        solution.status.value,
        solution.message if solution.certificate is None else "",
        gap_of(solution),
        solution.iterations,
        times.lower_seconds + times.solve_seconds + times.lift_seconds,
        times.certify_seconds,
        spent,
        able,
        tuple(false),
        tuple(unconfirmed),
    )


def checked(solution: Solution, gap: float) -> tuple[bool, list[str], list[str]]:
    """Whether there was a certificate to check, what is false in it, and what its file does not
    prove.
    """
    if solution.certificate is None:
        return False, [], []
    if isinstance(solution.problem, CausalProblem):
        return True, guesses_over_time.falsehoods(solution), []
    try:
        found = verify(solution.problem, solution)
    except ValueError as error:
        return False, [], [f"it cannot be verified: {error}"]
    false = _false(solution, found)
    return True, false, [] if false else contradictions(solution, found, gap)


def _false(solution: Solution, found: Verification) -> list[str]:
    judged = solution.certificate
    assert judged is not None  # the second opinion is about it
    terms = solution.problem.terms
    exactly = not 0.0 < judged.private_within < math.inf
    ceilings = [each.leakage_ceiling for each in judged.terms]
    perfect = any(term.budget.perfect for term in terms)
    relaxed = [
        term.priced and term.budget.amount == 0.0 and each.leakage[1] <= ceiling <= PRIVATE_LIMIT
        for each, term, ceiling in zip(found.terms, terms, ceilings, strict=True)
    ]
    said: list[str] = []
    if exactly and (found.budget_kept or not any(relaxed)) and found.lower_bound > judged.upper:
        said.append(
            f"no estimator errs less than {found.lower_bound!r}, and the upper bound is "
            f"{judged.upper!r}"
        )
    if found.budget_kept and found.error[1] < judged.lower:
        said.append(
            f"an estimator errs with {found.error[1]!r}, and the lower bound is {judged.lower!r}"
        )
    if perfect and not exactly and isinstance(solution.problem, Problem):
        stated = solution.members()  # without integers: what was judged
        stated.pop("exact_columns", None)
        found = verify(solution.problem, stated)
        private = [
            each for each, term in zip(found.terms, terms, strict=True) if term.budget.perfect
        ]
        if (changed := max(each.deviation[0] for each in private)) > judged.private_within:
            said.append(
                f"a guess changes a probability by {changed!r}, more than {judged.private_within!r}"
            )
    if not (perfect and exactly) and found.error[0] > judged.upper:
        said.append(
            f"the estimator errs with {found.error[0]!r}, and the upper bound is {judged.upper!r}"
        )
    for each, term, within in zip(found.terms, terms, relaxed, strict=True):
        if not (term.budget.perfect or within) and each.budget_kept is False:
            said.append(
                f"the estimator leaks {each.leakage[0]!r} of {each.budget!r} ({each.measure})"
            )
    return said
