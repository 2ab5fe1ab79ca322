"""The loop around every backend: check, run (`attempts`), judge.

`attempt` runs one backend and turns every exception into a status; `conclude` passes the answer to
the judge. They are separate so that an attempt can run in a process of its own (`isolated`) while
the judge runs here. A `Policy` represents several backends: each attempt is judged once, and the
chosen Solution is returned.
"""

from __future__ import annotations

import math
import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from discreet import judge
from discreet.backends.attempts import Attempt, Clock, ask
from discreet.backends.contract import Answer, AnyProblem, Options, Policy
from discreet.backends.precision import Precision
from discreet.backends.registry import (
    capabilities_of,
    load_backend,
    refuse_unserved,
    require_libraries,
)
from discreet.backends.repairs import duals_for, private_versions
from discreet.backends.solution import Solution, Status, derive_status
from discreet.checks import as_list, at_most
from discreet.errors import Absent, BackendError, InputError, Interrupted, Unsupported
from discreet.numerics.double_double import Array
from discreet.problems.certificate import Certificate, Verdict
from discreet.problems.constraint import kind_of
from discreet.problems.reduction import Reduced

_STATUSES = {
    Unsupported: Status.UNSUPPORTED,
    Absent: Status.ABSENT,
    Interrupted: Status.TIMED_OUT,
}
"""The status of an attempt that ended by an error of these types; of others it is "failed"."""


def solve(
    problem: AnyProblem | str | os.PathLike[str],
    backend: str = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[str, float, float], None] | None = None,
) -> Solution:
    """Solve a problem with one backend, in this process, and certify the answer with the judge.

    problem      of any kind, or the path of a problem file
    gap          requested relative certified gap
    time_limit   seconds; enforced as far as the backend can (`isolated.solve_isolated` ends the
                 process)
    progress     called with (description, lower bound, upper bound) after every round by backends
                 that work in rounds, and for any backend at the end, with the certified bracket

    Raises InputError for an unknown backend or setting, and FileError for a file without a valid
    problem. Every other failure is a status of the Solution.
    """
    options = Options(
        gap, time_limit, max_iterations, {} if settings is None else settings, progress
    )
    model = open_problem(problem)
    tried, solution = _run(model, backend, options)
    return conclude(model, tried, options) if solution is None else solution


def certify(
    problem: AnyProblem | str | os.PathLike[str],
    answer: Any,
    tilt: Any = None,
    multiplier: ArrayLike | None = None,
    *,
    gap: float = 1e-9,
    anchors: Iterable[Array] = (),
) -> Solution:
    """Judge an answer, a matrix [m, N] or a rule; optional duals (tilt [m, n], multiplier ≥ 0, or
    one for each of several constraints) narrow the bracket.

    anchors: estimators that leak nothing, to blend towards. The status is `certified` if the answer
    as given is proven to satisfy the budget and to be within the gap of the optimum, and
    `violated-privacy` if it is not proven to satisfy the budget, however small the excess; then the
    Solution contains its repair. Raises InputError for wrong shapes.
    """
    model = open_problem(problem)
    towards = tuple(as_list(anchors, "anchors", "estimators [m, N]", empty=True))
    multipliers: Any = multiplier  # the judge checks it, as it does the tilt
    given = Attempt("", Answer(answer, tilt, multipliers, towards), None)
    return conclude(model, given, Options(gap), as_given=True)


def audit(
    problem: AnyProblem | str | os.PathLike[str],
    estimator: Any,
    tilt: Any = None,
    multiplier: ArrayLike | None = None,
    *,
    gap: float = 1e-9,
) -> Solution:
    """`certify` an estimator from anywhere: a matrix [m, N], a rule, a Solution, or the path of a
    solution file.

    The Solution also contains the leakage of the given estimator by every measure (`own_leaks`,
    `own_odds`). Nothing that a file claims about its own quality is used. Raises FileError for a
    file that cannot be read.
    """
    if isinstance(estimator, str | os.PathLike):
        from discreet.files.records import load_solution

        stored = load_solution(estimator)
        estimator = stored.estimator
        tilt = stored.tilt
        multiplier = stored.multipliers
    elif isinstance(estimator, Solution):
        if estimator.rule is None:
            raise InputError(
                f"the solution holds no answer: {estimator.status.value} ({estimator.message})"
            )
        estimator, tilt, multiplier = estimator.rule, estimator.tilt, estimator.multipliers
    model = open_problem(problem)
    solution = certify(model, estimator, tilt, multiplier, gap=gap)
    leaks, odds = judge.leaks(model, estimator)
    return replace(solution, own_leaks=leaks, own_odds=odds)


def open_problem(problem: AnyProblem | str | os.PathLike[str]) -> AnyProblem:
    """Return the problem itself, or the one in the file of that path; InputError for anything
    else.
    """
    if isinstance(problem, str | os.PathLike):
        from discreet.files.records import load_problem

        return load_problem(problem)
    kind_of(problem)
    return problem


def _by_policy(problem: AnyProblem, policy: Policy, options: Options) -> tuple[Attempt, Solution]:
    """Return the first certified answer in the order of the policy, otherwise the answer with the
    narrowest bracket; each is judged once.
    """
    started = time.perf_counter()
    tried: list[tuple[Attempt, Solution]] = []
    refused: list[str] = []
    for name in policy.preference:
        left = options.time_limit
        if left is not None:
            left -= time.perf_counter() - started
        if left is not None and left <= 0.0:
            if tried:
                break
            left = options.time_limit
        able = capabilities_of(name)
        if able is None or (refusal := able.refusal(problem)):
            refused.append(f"{name}: {refusal if able else 'cannot be loaded'}")
            continue
        own = replace(options, time_limit=left, settings={})
        one = attempt(problem, name, own)
        tried.append((one, conclude(problem, one, own)))
        if tried[-1][1].status is Status.CERTIFIED:
            break
    answered = [pair for pair in tried if pair[1].certificate is not None]
    if not answered:
        refusals = "; ".join([f"{one.backend}: {one.message}" for one, _ in tried] or refused)
        status = Status.FAILED if tried else Status.UNSUPPORTED
        failed = Attempt(
            policy.name, None, status, f"no backend could solve this problem: {refusals}"
        )
        return failed, conclude(problem, failed, options)
    one, solution = min(
        answered, key=lambda pair: (pair[1].status is not Status.CERTIFIED, pair[1].relative_gap)
    )
    claimed = f"{one.backend}: {one.claimed}"
    return replace(one, backend=policy.name, claimed=claimed), replace(
        solution, backend=policy.name, claimed=claimed
    )


def attempt(
    problem: AnyProblem, backend: str, options: Options, reduced: Reduced | None = None
) -> Attempt:
    """Run a backend on a problem; raises only InputError (unknown backend or setting) and
    KeyboardInterrupt.

    reduced: the reduction of the problem, if it is already known.
    """
    return _run(problem, backend, options, reduced)[0]


def _run(
    problem: AnyProblem, backend: str, options: Options, reduced: Reduced | None = None
) -> tuple[Attempt, Solution | None]:
    """Return an attempt, and its Solution if the backend is a policy, whose attempts are judged."""
    clock = Clock()
    trace = ""
    try:
        solver = load_backend(backend)
        refuse_unserved(backend, solver.capabilities, problem, options)
        if not isinstance(solver, Policy):
            require_libraries(solver)
            return ask(solver, problem, options, reduced, clock), None
    except InputError:
        raise
    except BackendError as error:
        statuses = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
        status = next(statuses, Status.FAILED)
        message = str(error)
    except Exception as error:  # a solver may raise anything; the user gets a status
        status = Status.FAILED
        message = f"{type(error).__name__}: {error}"
        trace = traceback.format_exc()
    else:
        return _by_policy(problem, solver, options)
    failed = Attempt(backend, None, status, message, timings=clock.timings(), traceback=trace)
    return failed, None


def conclude(
    problem: AnyProblem, tried: Attempt, options: Options, as_given: bool = False
) -> Solution:
    """Judge an attempt; the status follows from the certificate only, not from the claim of the
    backend.

    as_given: the answer is judged as given (`derive_status`).
    """
    status = tried.status or Status.FAILED
    message = tried.message
    timings = tried.timings
    verdict = None
    answer = tried.answer
    if answer is not None:
        started = time.perf_counter()
        seconds = math.inf
        if options.time_limit is not None:
            seconds = options.time_limit - timings.backend_seconds
        verdict = judge_answer(problem, answer, seconds)
        timings = replace(timings, certify_seconds=time.perf_counter() - started)
        if options.progress is not None:
            with suppress(KeyboardInterrupt):  # the work is already complete
                options.progress("judged", verdict.certificate.lower, verdict.certificate.upper)
        status = derive_status(verdict.certificate, options.gap, as_given)
        message = status.meaning + _tolerance(verdict.certificate)
    return Solution(
        problem,
        tried.backend,
        status,
        message,
        tried.claimed,
        verdict,
        tried.iterations,
        tried.passes,
        timings,
        tried.versions,
    )


def _tolerance(certificate: Certificate) -> str:
    """Return a text about the tolerance at budget 0 if perfect privacy is not proven exactly;
    otherwise an empty text.
    """
    within = certificate.private_within
    gained = max(
        [term.leakage_ceiling for term in certificate.terms if term.gain_is_bounded], default=0.0
    )
    if math.isinf(within) and gained > 0.0:
        return f"; here the budget 0 means a leakage of at most {at_most(gained, 2)}"
    if not 0.0 < within < math.inf:
        return ""
    meant = f"; here the budget 0 means private within {at_most(within, 2)}"
    return f"{meant}: no guess changes the probability of a private value by a larger share of it"


def judge_answer(problem: Any, answer: Answer, seconds: float = math.inf) -> Verdict[Any]:
    """Return the judge's verdict on an answer, which it checks against the problem.

    If the bracket is wide, the judge also gets the projection of the answer onto perfect privacy,
    and duals derived from it, for which a linear program may take the given seconds.
    """
    estimator = answer.estimator
    ends = answer.anchors
    judged: Verdict[Any] = judge.certify(
        problem, estimator, answer.tilt, answer.multipliers, anchors=ends
    )
    blended = judged.certificate.relative_gap > Precision.derived and judged.certificate.blend > 0.0
    if blended and (private := private_versions(problem, estimator)):
        ends = (*ends, *private)
        judged = judge.certify(problem, estimator, answer.tilt, answer.multipliers, anchors=ends)
    derived = duals_for(problem, estimator, seconds)
    while judged.certificate.relative_gap > Precision.derived:
        duals = next(derived, None)
        if duals is None:
            break
        other = judge.certify(problem, estimator, *duals, anchors=ends)
        judged = max(judged, other, key=lambda verdict: verdict.certificate.lower)
    return judged
