"""Where the interior point does not converge: entropic proximal sweeps, then the vertex.

An optimum that gives some guesses with a probability of the order of the budget itself (X = Y at tiny budgets, say) is hard
to approach from the inside, since the posterior of such a guess is the ratio of two vanishing numbers. The proximal sweeps
of the backend `blahut-arimoto` keep logarithms of probabilities instead and reach it, in more iterations.

Source: docs/theory.md (the entropic iteration and its acceleration).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from discreet.backends.blahut_arimoto import BlahutArimoto
from discreet.backends.contract import Options
from discreet.backends.tilt.finish import shortcut
from discreet.backends.tilt.interior_point import Outcome
from discreet.problems.problem import Problem

__all__ = ["rescued"]

_REACH = 200_000  # outcomes beyond which the sweeps would take longer than anybody waits


def rescued(problem: Problem, outcome: Outcome, gap: float, deadline: float | None) -> Outcome:
    """The outcome if it is optimal or time is up; otherwise that of the sweeps, if those reach the relative gap."""
    left = None if deadline is None else deadline - time.perf_counter()
    if outcome.ended in ("optimal", "time limit") or problem.N > _REACH or (left is not None and left <= 0.0):
        return outcome
    options = Options(gap=gap, time_limit=left)
    sweeps = BlahutArimoto()
    raw = sweeps.solve(sweeps.lower(problem, options), options)
    iterations = outcome.iterations + (raw.iterations or 0)
    answer = sweeps.lift(raw)
    if raw.claimed != "optimal" or answer.tilt is None:
        return replace(outcome, iterations=iterations)
    multiplier = math.inf if answer.multiplier is None else answer.multiplier
    found = Outcome(np.asarray(answer.estimator), answer.tilt, multiplier, iterations, "optimal")
    return shortcut(problem, gap)(found) or found
