"""`auto`: the Bayes rule when the budget is slack, otherwise the best backend there is.

Backends are asked in the order of the table below, each only if it is available and serves the problem. The first answer
that the judge certifies within the asked gap is taken; if there is none, the one with the narrowest bracket. Whatever a
backend raises, the next one is asked; the time limit is for all of them together. What was chosen is said in `claimed`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, refuse_unserved
from discreet.backends.registry import load_backend, require_libraries
from discreet.backends.slack import bayes_answer
from discreet.problems.errors import BackendError, InputError
from discreet.problems.judge import certify
from discreet.problems.problem import Problem

__all__ = ["PREFERENCE", "Auto"]

PREFERENCE = ("tilt", "blahut-arimoto", "conic", "highs", "slsqp")
"""Backends in the order in which `auto` asks them, none a peer: by certified accuracy, then speed, where published."""


@dataclass(frozen=True, eq=False)
class _Lowered:
    problem: Problem
    slack: Answer | None


@dataclass(frozen=True, eq=False)
class _Found:
    """An answer already lifted by the backend that gave it, and how wide the judge's bracket for it is."""

    answer: Answer
    claimed: str
    iterations: int | None
    relative_gap: float


class Auto:
    """Chooses for you; for any budget and size that some available backend serves."""

    name = "auto"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000_000,
        gives_duals=True,
        method="the Bayes rule when the budget is slack, otherwise the first of " + ", ".join(PREFERENCE) + " that succeeds",
        citation="discreet, docs/reference/backends.md",
        method_class="structured",
    )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """See whether the Bayes rule keeps the budget."""
        return _Lowered(problem, bayes_answer(problem))

    def solve(self, lowered: _Lowered, options: Options) -> Raw[Answer]:
        """Ask the backends in turn until one is certified within the gap; otherwise keep the narrowest bracket."""
        if lowered.slack is not None:
            return Raw("the Bayes rule keeps the budget", lowered.slack, 0)
        best: _Found | None = None
        refusals: list[str] = []
        started = time.perf_counter()
        for name in PREFERENCE:
            left = None if options.time_limit is None else options.time_limit - (time.perf_counter() - started)
            if left is not None and left <= 0.0:
                break
            try:
                found = _ask(name, lowered.problem, replace(options, time_limit=left, settings={}))
            except InputError:
                raise
            except Exception as error:  # a backend's library may raise anything; the next backend is asked
                refusals.append(f"{name}: {type(error).__name__}: {error}")
                continue
            if best is None or found.relative_gap < best.relative_gap:
                best = found
            if best.relative_gap <= options.gap:
                break
        if best is None:
            raise BackendError("no backend could solve this problem: " + "; ".join(refusals))
        return Raw(best.claimed, best.answer, best.iterations)

    def lift(self, raw: Raw[Answer]) -> Answer:
        """The chosen backend has lifted it."""
        return raw.value


def _ask(name: str, problem: Problem, options: Options) -> _Found:
    """One backend's answer, with the judge's relative gap."""
    backend = load_backend(name)
    refuse_unserved(name, backend.capabilities, problem, options, dict)
    require_libraries(backend)
    raw = backend.solve(backend.lower(problem, options), options)
    answer = backend.lift(raw)
    verdict = certify(
        problem,
        np.asarray(answer.estimator),
        answer.tilt,
        answer.multiplier,
        anchors=answer.anchors,
    )
    return _Found(answer, f"{name}: {raw.claimed}", raw.iterations, verdict.certificate.relative_gap)
