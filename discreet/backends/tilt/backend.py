"""The `tilt` backend: the structured interior point behind the contract of a backend.

It serves every budget. Problems of few outcomes are solved whole and answered by a matrix. Many outcomes, in arrays or
blocks, are solved in rounds and answered by a rule; they need not be in memory. Where the Bayes rule already keeps the
budget (always when X has one value or there is one guess) that rule is optimal and returned as it is, with no tilt.

Another budget of a model whose neighbours are solved is a continuation. Along the curve the log ratios t/μ and the price
μ √ε are smooth in √ε: as ε → 0 the ratios fall like √ε and the price tends to a limit; it falls to 0 towards the budget that
the Bayes rule keeps. So interpolating the nearest solved budgets gives duals that decide all but a few outcomes rightly.
At a kink, where the number of ties changes, the prediction is worse, and rounds from there make up for it.

A budget that cannot be told from nothing in double precision is solved as perfect privacy. What rounding still leaks under
that answer may exceed such a budget; then the answer is blended with the best constant guess until it does not.

Source: discreet, docs/theory.md, sections 13, 14 and 18.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Kind, Known, Options, Raw, Regime, Unlifted
from discreet.backends.precision import Precision
from discreet.backends.settings import choice, number
from discreet.backends.slack import bayes_answer
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.rounds import Limits, constant_share, first_retained, solve_in_rounds, solve_whole, within_budget
from discreet.backends.tilt.statement import rule_of
from discreet.problems.blocks import BlockProblem
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

_KERNELS = {"auto": None, "numpy": False, "compiled": True}
_ROUNDS_FROM = 16  # times the outcomes that a first round retains
_NEIGHBOURS = 4  # solved budgets that a prediction interpolates
_THREADS_FROM = 1 << 20  # outcomes from which a pass takes longer than sharing it out


class Tilt(Unlifted):
    """Structured primal–dual interior point; no 1/ε anywhere, so tiny budgets are as easy as large ones."""

    name = "tilt"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000_000,
        gives_duals=True,
        method="structured primal–dual interior point, on aggregates when there are many outcomes",
        citation="discreet, docs/theory.md; predictor–corrector: S. Mehrotra, SIAM J. Optim. 2 (1992) 575–601",
        kinds=frozenset({Kind.ARRAYS, Kind.BLOCKS}),
        method_class="structured",
        settings={
            "threads": "cores for the passes over many outcomes (default: all, from a million outcomes)",
            "kernels": "numpy, compiled (numba), or auto: compiled where that pays (default)",
        },
    )

    def lower(self, problem: Problem | BlockProblem, options: Options) -> Problem | BlockProblem:
        """Arrays of few outcomes as they are; all else in blocks."""
        many = problem.N >= _ROUNDS_FROM * first_retained(problem.n, problem.m, 0)
        return BlockProblem.of(problem) if isinstance(problem, Problem) and many else problem

    def solve(self, lowered: Problem | BlockProblem, options: Options) -> Raw[Answer]:
        """Iterate to a share of the asked gap, or as far as double precision goes."""
        limits = _limits(lowered, options)
        if isinstance(lowered, Problem):
            return _whole(lowered, options, limits)
        return _in_blocks(lowered, options, limits)

    def continued(self, problem: Problem, options: Options, known: Sequence[Known]) -> Raw[Answer] | None:
        """The solution next to other budgets of the same model; None where it has to be solved afresh.

        Where X has two values the vertex next to predicted duals is most often the solution; else the rounds start there.
        """
        precision, starts = Precision.of(problem, options.gap), []
        if precision.unresolved:
            return None
        for near in _predicted(problem, known):
            starts.append(near)
            vertex = crossover(problem, near.tilt, near.multiplier, precision) if problem.n == 2 else None
            if vertex is not None and vertex[1] <= precision.bracket:
                point = vertex[0]
                return Raw("optimal (continued)", _answer(point.columns, point.tilt, point.multiplier, problem), 0)
        if not starts or _only_ends(known):  # then the interior point is as quick from nothing
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a prediction may be far off
            raw = _in_blocks(BlockProblem.of(problem), options, _limits(problem, options), starts)
        return replace(raw, claimed="optimal (continued)") if raw.claimed == "optimal" else None


def _limits(problem: Problem | BlockProblem, options: Options) -> Limits:
    threads = number(options, Tilt.name, "threads", int, 0) or (1 if problem.N < _THREADS_FROM else 0)
    wanted = choice(options, Tilt.name, "kernels", _KERNELS, "auto")
    deadline = None if options.time_limit is None else time.perf_counter() + options.time_limit
    return Limits(options.max_iterations or 100, deadline, threads, _KERNELS[wanted], options.progress)


# -- few outcomes --------------------------------------------------------------------------------------------------------


def _whole(problem: Problem, options: Options, limits: Limits) -> Raw[Answer]:
    """A matrix; outcomes and private values need positive probability."""
    precision = Precision.of(problem, options.gap)
    solved = problem.with_budget(0.0) if precision.unresolved else problem
    if bayes_answer(problem, precision) or (solved is not problem and bayes_answer(solved, precision)):
        point, claimed, iterations = Point.bayes(problem), "optimal: the Bayes rule keeps the budget", 0
    else:
        point, ending = solve_whole(solved, precision, precision.bracket, limits)
        claimed, iterations = ending.reason, ending.iterations
    stopped = precision.unresolved or not claimed.startswith("optimal")  # what it has may still leak too much
    columns = within_budget(problem, point.columns) if stopped else point.columns
    return Raw(claimed, _answer(columns, point.tilt, point.multiplier, problem), iterations)


# -- many outcomes -------------------------------------------------------------------------------------------------------


def _in_blocks(problem: BlockProblem, options: Options, limits: Limits, starts: Sequence[Point] = ()) -> Raw[Answer]:
    """A rule; starts: duals that may be nearly optimal."""
    precision = Precision.of(problem, options.gap)
    solved = problem.with_budget(0.0) if precision.unresolved else problem
    ended = solve_in_rounds(solved, precision, limits, starts)
    rule = rule_of(solved, ended, precision, limits)
    if precision.unresolved:
        columns = ended.found.source.scan.columns
        small = Problem(columns[: problem.n], columns[problem.n :], problem.constraint)
        rule = rule.blended(*constant_share(small, ended.found.point.columns))
    tilt, multiplier = ended.duals
    return Raw(ended.ending.reason, _answer(rule, tilt, multiplier, problem), ended.ending.iterations, ended.passes)


# -- another budget ------------------------------------------------------------------------------------------------------


def _predicted(problem: Problem, known: Sequence[Known]) -> Iterator[Point]:
    """Duals at the problem's budget, likeliest first; none where what is known says too little. They have no columns.

    First from the nearest budgets on both sides; then, should there be a kink between these, from one side alone. Where only
    perfect privacy is known, from its tilt, which falls to nothing towards a slack budget.
    """
    place, perfect = math.sqrt(problem.budget), [at.tilt for at in known if at.multiplier == math.inf and at.tilt.any()]
    if perfect and _only_ends(known):
        left = 1.0 - place / min((math.sqrt(at.budget) for at in known if at.multiplier == 0.0), default=math.inf)
        yield Point(np.zeros((problem.m, 0)), left * perfect[0], left * _price(perfect[0], problem))
    nearest = sorted({at.budget: at for at in known}.values(), key=lambda at: abs(math.sqrt(at.budget) - place))
    larger = [at for at in nearest if at.budget > problem.budget]
    if larger and larger[0].multiplier > 0.0:  # a slack budget tells about the budgets next to it only
        nearest = [at for at in nearest if at.multiplier > 0.0]
    for sides in ((True, False), (True,), (False,)):
        points = [at for at in nearest if (at.budget > problem.budget) in sides]
        priced = [at for at in points if at.multiplier < math.inf][:_NEIGHBOURS]
        tilted = [at for at in points if at.multiplier > 0.0][:_NEIGHBOURS]
        price = _interpolated(priced, [at.multiplier * math.sqrt(at.budget) for at in priced], place)
        log_ratio = _interpolated(tilted, [at.tilt / at.multiplier for at in tilted], place)
        if price > 0.0 and np.any(log_ratio):
            yield Point(np.zeros((problem.m, 0)), price / place * log_ratio, price / place)


def _only_ends(known: Sequence[Known]) -> bool:
    """Whether only perfect privacy and slack budgets are solved."""
    return all(at.multiplier in (0.0, math.inf) for at in known)


def _interpolated(points: Sequence[Known], values: Sequence[Any], place: float) -> Any:
    """By the polynomial in √ε through the values at solved budgets, all distinct; 0 where there are none."""
    roots = [math.sqrt(at.budget) for at in points]
    weights = [
        math.prod((place - other) / (root - other) for k, other in enumerate(roots) if k != own)
        for own, root in enumerate(roots)
    ]
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


# -- budgets below rounding ----------------------------------------------------------------------------------------------


def _answer(estimator: Array | Rule, tilt: Array, multiplier: float, problem: Problem | BlockProblem) -> Answer:
    """The answer; where perfect privacy was solved for a tiny budget, with the μ that then costs least."""
    if not math.isinf(multiplier):
        return Answer(estimator, tilt, multiplier)
    return Answer(estimator, tilt, _price(tilt, problem) if problem.budget > 0.0 else None)


def _price(tilt: Array, problem: Problem | BlockProblem) -> float:
    """The μ that costs least with the tilt t of perfect privacy: to second order μ ε + max_i Σ_j π_j t_ij² / (2 μ)."""
    return math.sqrt(float((tilt**2 @ problem.p_x).max()) / (2.0 * problem.budget))
