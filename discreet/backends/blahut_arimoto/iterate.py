"""The two loops: plain sweeps, and exact proximal sweeps whose step grows as far as Newton's method follows.

Both keep the best certified bracket seen so far (`Bracket`), stop when it is as tight as asked, and return its pair also
when a limit ends the run early. One pass is one sweep over the outcomes: a plain sweep, or one Newton step.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from discreet.backends.blahut_arimoto.outcomes import Outcomes
from discreet.backends.blahut_arimoto.proximal import Duals, ProximalSweep
from discreet.backends.blahut_arimoto.sweep import constrained_sweep, log_normalise, uniform_start
from discreet.problems.numerics.double_double import Array

__all__ = ["SOLVED", "STALLED", "Bracket", "Limits", "plain_sweeps", "proximal_sweeps"]

_CHECK_SHARE = 0.05  # plain sweeps between two checks of the bracket, as a share of those done
_NEWTON_STEPS = 30  # in one proximal sweep; more means that its step η was too long
_SOLVED_GAIN = 1e-22  # predicted gain, in units of the costs' spread, at which a proximal sweep counts as solved
_PRICE_RESIDUAL = 1e-3  # |leakage − ε|/ε above which it does not
_GROWTH, _LEAST_GROWTH, _MOST_GROWTH = 4.0, 1.2, 10.0
_EASY_STEPS = 9  # Newton steps up to which the growth of η may itself grow
_FIRST_SWEEPS = 3  # plain sweeps that supply the first tilt
_LONGEST_STEP = 1e18  # η · (spread of costs) at which no digit is left to gain
_STALLED_SWEEPS = 6  # without a better bracket: rounding is reached

SOLVED = "optimal"
STALLED = "stopped: no further progress"


@dataclass(frozen=True)
class Limits:
    """When to stop: relative gap aimed at, most passes, and seconds on the clock of time.perf_counter."""

    gap: float
    most_passes: int
    deadline: float

    def reached(self, passes: int) -> str:
        """Which limit has been reached, in words; empty for none."""
        if passes >= self.most_passes:
            return "iteration limit"
        return "time limit" if time.perf_counter() >= self.deadline else ""


class Bracket:
    """The best feasible estimator [m, N] and the best duals seen so far. It starts from a constant guess and no tilt."""

    def __init__(self, outcomes: Outcomes, limits: Limits) -> None:
        self._outcomes, self.limits = outcomes, limits
        self.estimator = self.leak_free = outcomes.constant()
        no_tilt = np.zeros((len(outcomes.cost), outcomes.prior.size))
        self.duals = Duals(no_tilt, math.inf if outcomes.perfect else 0.0)
        self.upper = outcomes.error(self.estimator)
        self.lower = float(outcomes.mass @ outcomes.cost.min(axis=0))
        self.stalled = 0
        self.passes = 0

    def offer(self, estimator: Array, duals: Duals | None) -> None:
        """Keep what improves either side."""
        before = self.upper - self.lower
        upper, feasible = self._outcomes.upper(estimator, self.leak_free)
        if upper < self.upper:
            self.upper, self.estimator = upper, feasible
        if duals is not None and duals.multiplier > 0.0:
            lower = self._outcomes.lower(duals.tilt, duals.multiplier)
            if lower > self.lower:
                self.lower, self.duals = lower, duals
        self.stalled = 0 if self.upper - self.lower < 0.9 * before else self.stalled + 1

    def verdict(self) -> str:
        """Why to stop, in words; empty to go on."""
        if self.upper - self.lower <= self.limits.gap * abs(self.upper):
            return SOLVED
        return self.limits.reached(self.passes)


def plain_sweeps(outcomes: Outcomes, bracket: Bracket) -> str:
    """Constrained Blahut–Arimoto sweeps from the uniform guess, at a positive finite budget. Returns why it stopped."""
    log_estimator, multiplier = uniform_start(outcomes), _first_multiplier(outcomes)
    next_check = 1
    while not (verdict := bracket.verdict()):
        log_estimator, found = constrained_sweep(outcomes, log_estimator, multiplier)
        multiplier = found or multiplier
        bracket.passes += 1
        if bracket.passes >= next_check:
            bracket.offer(np.exp(log_estimator), _own_duals(outcomes, log_estimator, multiplier))
            next_check = bracket.passes + 1 + int(_CHECK_SHARE * bracket.passes)
    if verdict != SOLVED:  # the last sweeps may not have been checked
        bracket.offer(np.exp(log_estimator), _own_duals(outcomes, log_estimator, multiplier))
    return verdict


def proximal_sweeps(outcomes: Outcomes, bracket: Bracket, *, growing: bool = True) -> str:
    """Exact proximal sweeps from the uniform guess, of growing or constant step η. Returns why it stopped."""
    pace = _Pace(1.0 / outcomes.spread, growing)
    log_estimator = uniform_start(outcomes)
    duals = Duals(bracket.duals.tilt, math.inf) if outcomes.perfect else None
    while not (verdict := bracket.verdict()):
        if (bracket.stalled >= _STALLED_SWEEPS and growing) or pace.ended(outcomes.spread):
            return _rescue(outcomes, bracket, log_estimator)
        free = None if outcomes.perfect else _free_sweep(outcomes, log_estimator, pace.eta)
        bracket.passes += 1
        if free is not None:
            log_estimator = free
            bracket.offer(np.exp(free), None)
            bracket.stalled = 0
            pace.faster(0)
            continue
        if duals is None:
            duals = _first_duals(outcomes, log_estimator)
        sweep = ProximalSweep(outcomes, log_estimator, duals, pace.eta)
        steps = _newton(outcomes, sweep, bracket)
        bracket.offer(sweep.point.estimator, sweep.point.duals)
        duals = sweep.point.duals  # also of a sweep given up: they are nearer than those it started from
        if steps:
            log_estimator = sweep.point.log_estimator
            pace.faster(steps)
        else:
            pace.slower()
    return verdict


def _rescue(outcomes: Outcomes, bracket: Bracket, log_estimator: Array) -> str:
    """When rounding ends the sweeps: the perfect-privacy optimum, to blend with and for its tilt.

    It is far better than a constant guess, and nearly optimal itself at the tiny budgets at which rounding bites.
    """
    if outcomes.perfect:
        return STALLED
    private = replace(outcomes, budget=0.0, target=0.0)
    inner = Bracket(private, replace(bracket.limits, most_passes=bracket.limits.most_passes - bracket.passes))
    proximal_sweeps(private, inner)
    bracket.passes += inner.passes
    bracket.leak_free = inner.estimator
    bracket.offer(inner.estimator, _priced(outcomes, inner))
    for candidate in (np.exp(log_estimator), bracket.estimator):
        bracket.offer(candidate, None)
    return bracket.verdict() or STALLED


def _priced(outcomes: Outcomes, private: Bracket) -> Duals | None:
    """The perfect-privacy tilt at the multiplier where it proves most.

    It costs Σ_i s_i Var_π(t_i)/(2 μ) + μ ε to second order; a tilt common to all guesses may be taken off first.
    """
    mass = private.estimator @ outcomes.mass
    tilt = private.duals.tilt - mass @ private.duals.tilt
    tilt = tilt - (tilt @ outcomes.prior)[:, None]
    variance = float(mass @ (tilt**2 @ outcomes.prior))
    return Duals(tilt, math.sqrt(0.5 * variance / outcomes.budget)) if variance > 0.0 else None


class _Pace:
    """The step η: it grows by a factor that itself grows while sweeps are easy, and backs off when one fails."""

    def __init__(self, eta: float, growing: bool) -> None:
        self.eta = eta
        self._solved: float | None = None
        self._growth = _GROWTH
        self._growing = growing

    def faster(self, steps: int) -> None:
        """After a sweep that took this many Newton steps (0: none were needed)."""
        self._solved = self.eta
        if not self._growing:
            return
        if steps > _EASY_STEPS:
            self._growth = max(2.0, 0.5 * self._growth)
        elif steps:
            self._growth = min(_MOST_GROWTH, 2.0 * self._growth)
        self.eta *= self._growth

    def slower(self) -> None:
        """After a sweep that Newton's method did not solve: nearer to the last that it did."""
        if self._solved is None:
            self.eta /= _GROWTH
            return
        self._growth = max(_LEAST_GROWTH, math.sqrt(self._growth))
        self.eta = self._solved * self._growth if self._growing else self.eta / 2.0

    def ended(self, spread: float) -> bool:
        """Whether η has left the range in which it means anything."""
        return not 1.0 / _LONGEST_STEP < self.eta * spread < _LONGEST_STEP


def _newton(outcomes: Outcomes, sweep: ProximalSweep, bracket: Bracket) -> int:
    """Newton steps until the sweep is solved; their number, or 0 if it was not."""
    for steps in range(1, _NEWTON_STEPS + 1):
        gain = sweep.step()
        bracket.passes += 1
        if gain <= _SOLVED_GAIN * outcomes.spread:
            solved = outcomes.perfect or sweep.residual[1] <= _PRICE_RESIDUAL * outcomes.budget
            return steps if solved else 0
        if bracket.verdict():
            return 0
    return 0


def _free_sweep(outcomes: Outcomes, log_estimator: Array, eta: float) -> Array | None:
    """log P⁺ of the sweep without a constraint when it keeps the budget; else None."""
    free = log_normalise(log_estimator - eta * outcomes.cost)
    return free if outcomes.law(np.exp(free)).leakage() <= outcomes.target else None


def _first_duals(outcomes: Outcomes, log_estimator: Array) -> Duals:
    """The tilt that a few plain sweeps point to."""
    multiplier = _first_multiplier(outcomes)
    for _ in range(_FIRST_SWEEPS):
        log_estimator, found = constrained_sweep(outcomes, log_estimator, multiplier)
        multiplier = found or multiplier
    return _own_duals(outcomes, log_estimator, multiplier)


def _own_duals(outcomes: Outcomes, log_estimator: Array, multiplier: float) -> Duals:
    """The duals of a fixed point: t_ij = μ log(p(x_j given ŷ_i)/π_j)."""
    return Duals(multiplier * outcomes.log_ratios(np.exp(log_estimator)), multiplier)


def _first_multiplier(outcomes: Outcomes) -> float:
    """The right size of μ: near independence leakage is half a squared length, so μ falls like 1/√(2ε)."""
    return 0.3 * outcomes.spread / math.sqrt(2.0 * outcomes.budget)
