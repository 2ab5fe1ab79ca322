"""The search of a hunt: a backend solves many candidates, its claims are compared with the truth,
and finds are shrunk.

A claim is *wrong* by the larger of two numbers, both of the backend's own answer before any repair:
the relative excess over the budget (under perfect privacy, the largest violation of an equation,
which is a probability), and the relative excess of the error probability over the certified
optimum, or over a thousandth of the best constant guess's error if that is larger. A candidate is a
find if this number exceeds `MARGIN` times the gap that the backend was asked for. This criterion is
stricter than the judge's, which also objects to rare guesses that reveal something.

The search runs in a process of its own, which reports before every attempt. If a solver crashes or
does not return, the process is replaced and the next batch begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.backends import run
from discreet.backends.contract import Capabilities, Options
from discreet.backends.process import GRACE_SECONDS, STARTUP_SECONDS, Child
from discreet.backends.registry import capabilities, refuse_unknown_names
from discreet.backends.solution import Solution, Status
from discreet.measures.measure import Measure
from discreet.measures.registry import CONDITIONAL, measure_of
from discreet.problems.certificate import Certificate
from discreet.problems.problem import Problem
from discreet.reports.crosscheck.instances import select
from discreet.reports.hunt.candidates import Candidate, drawn, mutated, simpler
from discreet.reports.measurements import Configuration
from discreet.reports.outputs import Watch
from discreet.reports.statistics.claims import claims_success
from discreet.showing.data import chosen, plain

MARGIN = 10.0
"""A claim counts as wrong beyond this multiple of the gap, one digit more than was requested."""

SMALLEST_ERROR = 1e-3
"""Relative to the error of the best constant guess: the excess of an error is never relative to
less than this.
"""

_BATCH = 48  # random candidates of a batch, and the same number of mutated ones
_SHRUNK = 2  # finds of a batch that are shrunk, the simplest first
_TRUTH_SECONDS = 2.0  # seconds for certifying the optimum


@dataclass(frozen=True, eq=False)
class Find:
    """A candidate on which the backend's claim is wrong.

    solution   the backend's answer, judged
    reference  a certified answer
    excess     relative excess of the leakage over the budget
    loss       relative excess of the error probability over the certified upper bound
    """

    candidate: Candidate
    solution: Solution
    reference: Solution
    excess: float
    loss: float

    @property
    def problem(self) -> Problem:
        """The problem of the candidate."""
        return self.solution.problem.in_arrays("a find")

    @property
    def wrong_by(self) -> float:
        """The larger of excess and loss."""
        return max(self.excess, self.loss)

    @property
    def record(self) -> dict[str, Any]:
        """Plain values: what was claimed, of which problem, and by how much it is wrong."""
        problem = self.problem
        return {
            "claimed": self.solution.claimed,
            "measure": str(self.candidate.measure),
            "private_values": problem.n,
            "guesses": problem.m,
            "outcomes": problem.N,
            "excess": plain(self.excess),
            "loss": plain(self.loss),
        }


@dataclass(frozen=True)
class Quarry:
    """The target of a hunt: a solver configuration, its options, and the seed of the candidates."""

    configuration: Configuration
    options: Options
    seed: int = 0


COUNTS = ("seconds", "tried", "claims", "wrong", "ended", "batch")
"""The numbers of a `Progress`."""


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a hunt has come.

    tried, claims, wrong   problems, claims of success, and wrong claims, not counting those of
                           shrinking
    ended                  number of times that the process ended: a crash, or an attempt that did
                           not return
    batch                  number of the next batch
    best                   the simplest candidate with a wrong claim
    """

    seconds: float = 0.0
    tried: int = 0
    claims: int = 0
    wrong: int = 0
    ended: int = 0
    batch: int = 0
    best: Candidate | None = None

    @property
    def counts(self) -> dict[str, Any]:
        """Return the counts by name."""
        return chosen(self, COUNTS)


def hunt(
    quarry: Quarry, seconds: float, start: Progress | None = None, watch: Watch | None = None
) -> Iterator[Progress]:
    """Search for this number of seconds, continuing from where an earlier hunt stopped; yield the
    progress after every batch.
    """
    refuse_unknown_names([quarry.configuration.backend])
    known = start or Progress()
    before = known.seconds
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        with Child("discreet.reports.hunt.search:serve", (quarry, known), 1) as child:
            while (spent := time.monotonic() - begun) < seconds:
                try:
                    message = child.receive(min(STARTUP_SECONDS, seconds - spent + GRACE_SECONDS))
                except (EOFError, TimeoutError):
                    if time.monotonic() - begun < seconds:
                        known = replace(known, batch=known.batch + 1, ended=known.ended + 1)
                    break
                if isinstance(message, Progress):
                    known = replace(message, seconds=before + time.monotonic() - begun)
                    yield known
                if watch is not None:
                    watch(int(min(spent, seconds)), int(seconds), _words(known))
    yield replace(known, seconds=before + time.monotonic() - begun)


def serve(send: Callable[[Any], None], quarry: Quarry, known: Progress) -> None:
    """Search without end; send None before every attempt, and the progress after every batch."""
    search = _Hunt(send, quarry, known)
    while True:
        search.batch()
        send(search.known)


def _words(known: Progress) -> str:
    smallest = "" if known.best is None else f", simplest of {known.best.size[0]} numbers"
    return f"{known.tried} problems, {known.claims} claims, {known.wrong} wrong{smallest}"


class _Hunt:
    """A search in this process."""

    def __init__(self, send: Callable[[Any], None], quarry: Quarry, known: Progress) -> None:
        self.known = known
        self._send = send
        self._quarry = quarry
        self._able = capabilities()[quarry.configuration.backend]
        self._failures = [known.best] if known.best is not None else []

    def batch(self) -> None:
        """Try the next batch, and shrink its simplest finds."""
        known = self.known
        rng = np.random.default_rng([self._quarry.seed, known.batch])
        finds = list[Candidate]()
        for candidate in _draw_batch(self._able, self._failures, known.batch % 4 == 3, rng):
            problem = self._problem_served(candidate)
            if problem is not None:
                claim = self._claim(problem)
                wrong = self._is_wrong(candidate, claim)
                finds += [candidate] if wrong else []
                known = replace(
                    known,
                    tried=known.tried + 1,
                    claims=known.claims + (claim is not None),
                    wrong=known.wrong + wrong,
                )
        self.known = replace(known, batch=known.batch + 1)
        for find in sorted(finds, key=lambda each: each.size)[:_SHRUNK]:
            self._take(self._shrunk(find))

    def _take(self, candidate: Candidate) -> None:
        best = self.known.best
        if best is None or candidate.size < best.size:
            self.known = replace(self.known, best=candidate)
        self._failures = [*self._failures[-15:], candidate]

    def _problem_served(self, candidate: Candidate) -> Problem | None:
        """Return the problem of a candidate; None without one that the backend serves."""
        problem = candidate.problem()
        return None if problem is None or self._able.refusal(problem) else problem

    def _claim(self, problem: Problem) -> Solution | None:
        """Return the backend's answer, judged; None unless the backend claims success."""
        self._send(None)
        quarry = self._quarry
        attempt = run.attempt(problem, quarry.configuration.backend, quarry.options)
        if attempt.answer is None or not claims_success(attempt.claimed or ""):
            return None
        return run.conclude(problem, attempt, quarry.options)

    def _is_wrong(self, candidate: Candidate, claim: Solution | None) -> bool:
        return claim is not None and find_in(candidate, claim, self._quarry) is not None

    def _shrunk(self, candidate: Candidate) -> Candidate:
        """Return the simplest candidate reached by removing parts while the claim stays wrong."""
        for smaller in simpler(candidate):
            problem = self._problem_served(smaller) if smaller.size < candidate.size else None
            if problem is not None and self._is_wrong(smaller, self._claim(problem)):
                return self._shrunk(smaller)
        return candidate


def find_in(candidate: Candidate, solution: Solution, quarry: Quarry) -> Find | None:
    """Return the find if a claim of success is wrong; None if it is right, or if the truth is not
    certified.
    """
    if solution.status is Status.CERTIFIED:
        return None
    problem = candidate.problem()
    assert problem is not None  # it was solved
    other = "blahut-arimoto" if quarry.configuration.backend == "tilt" else "tilt"
    reference = run.solve(problem, other, gap=quarry.options.gap, time_limit=_TRUTH_SECONDS)
    judged = solution.certificate
    truth = reference.certificate
    scale = SMALLEST_ERROR * problem.constant_error
    if (
        reference.status is not Status.CERTIFIED
        or judged is None
        or truth is None
        or scale == 0.0  # every guess is right
    ):
        return None
    loss = (judged.own_error - truth.upper) / max(truth.upper, scale)
    find = Find(candidate, solution, reference, _excess(judged), loss)
    return find if find.wrong_by > MARGIN * quarry.options.gap else None


def _draw_batch(
    able: Capabilities,
    failures: Sequence[Candidate],
    with_catalog: bool,
    rng: np.random.Generator,
) -> Iterable[Candidate]:
    """Return the candidates of a batch: small random ones; the same number of mutated ones, of
    earlier finds if there are any; and problems of the catalog, if requested.
    """
    others = able.measures.difference(CONDITIONAL, {"g-leakage", "sibson"})  # without parameters
    measures = list[Measure](map(measure_of, ("mutual-information", *sorted(others))))
    small = [drawn(measures[int(rng.integers(len(measures)))], rng) for _ in range(_BATCH)]
    parents = failures or small
    changed = [mutated(parents[int(rng.integers(len(parents)))], rng) for _ in range(_BATCH)]
    known = select(int(rng.integers(2**31)), _BATCH).instances if with_catalog else ()
    return [
        *small,
        *changed,
        *(Candidate.of(each.problem) for each in known if _is_plain(each.problem)),
    ]


def _is_plain(problem: Problem) -> bool:
    """Return True if the problem has one constraint with one prior."""
    return len(problem.terms) == 1 and len(problem.terms[0].groups) == 1


def _excess(judged: Certificate) -> float:
    """Return the relative excess of the unrepaired answer over the budget."""
    term = judged.only
    if term.budget > 0.0:
        return term.own_leakage_ratio - 1.0
    return judged.own_phi_residual if term.perfect else term.own_leakage
