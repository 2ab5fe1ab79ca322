"""Problems and answers whose numbers are as small as doubles are: products of a mass and a
probability underflow.

Masses, losses and probabilities of a guess span up to 300 decades, losses go up to 1e90, and an
order of Sibson's information may be 100. Half of the problems ask for perfect privacy. Budgets of
the others are drawn, or are what the given answer leaks exactly, or the double below it, so that a
ceiling that is too low by its last digit is found.

Answers are given, not solved: an estimator, a rule for outcomes, or a causal rule for a Markov
chain or for any law of measurements over time. Exact arithmetic decides what is false in a
certificate. A causal rule is stated to `discreet.verification` as columns of integers, which are its
exact products of kernels.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import discreet as ds
from discreet.measures import GLeakage
from discreet.measures.registry import MEASURES
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import normalise
from discreet.problems import BlockProblem, Problem
from discreet.problems.causal.model import CausalProblem
from discreet.problems.causal.rule import CausalRule
from discreet.problems.certificate import Certificate
from discreet.problems.constraint import Constraint
from discreet.problems.outcome_rules import OutcomeRule
from discreet.verification import Verification, verify

__all__ = ["Given", "faults", "given", "problem_of"]

_DECADES = (0.0, 12.0, 150.0, 300.0)
_MUTUAL = "mutual-information"


@dataclass(frozen=True, eq=False)
class Given:
    """A problem and an answer to judge; duals as `ds.certify` takes them."""

    problem: Problem | BlockProblem | CausalProblem
    answer: Array | OutcomeRule | CausalRule
    tilt: Array | None = None
    multiplier: Any = None


def problem_of(seed: int, index: int) -> tuple[str, Problem]:
    """A problem of arrays to solve; no guess loses more than one at an outcome, given
    that outcome.
    """
    rng = np.random.default_rng([seed, index, 0])
    free = _problem(rng)
    losses = free.p_z * _spread(rng, free.loss.shape) * float(rng.choice([1.0, 1e-290]))
    free = Problem.of_rows(free.p_xz, losses, free.terms)
    return f"problem_of({seed}, {index})", _budgeted(rng, free, None)


def given(seed: int, index: int) -> tuple[str, Given]:
    """A problem and an answer: in turn an estimator, a rule, a causal rule, and a guess whose
    ceiling is aimed at.
    """
    rng = np.random.default_rng([seed, index, 1])
    words = f"given({seed}, {index})"
    if index % 4 == 2:
        return words, _causal(rng)
    if index % 4 == 3:
        return words, _aimed(rng)
    problem = _problem(rng)
    estimator = _drawn(rng, (problem.m, problem.N), 0)
    rule = _rule(rng, problem, estimator)
    answer = estimator if index % 4 == 0 else rule
    problem = _budgeted(rng, problem, answer)
    tilt, multiplier = _duals(rng, problem)
    asked = BlockProblem.of(problem) if answer is rule and rng.random() < 0.5 else problem
    return words, Given(asked, answer, tilt, multiplier)


def faults(case: Given, solution: ds.Solution) -> list[str]:
    """A sentence for what is false about the answer as given, and about the causal
    rule returned.
    """
    judged = solution.certificate
    problem = case.problem
    assert judged is not None
    assert solution.verdict is not None
    own = _about_own(judged, problem, _verified(problem, case.answer))
    if not isinstance(problem, CausalProblem):
        return own
    found = _verified(problem, solution.verdict.answer)
    said = [*own]
    if found.error[0] > judged.upper:
        said.append(
            f"the rule errs with {found.error[0]!r}, and the upper bound is {judged.upper!r}"
        )
    if found.budget_kept and found.error[1] < judged.lower:
        said.append(
            f"the rule errs with {found.error[1]!r}, and the lower bound is {judged.lower!r}"
        )
    if problem.budget > 0.0 and found.budget_kept is False:
        said.append(f"the rule leaks {found.leakage[0]!r} of {found.budget!r}")
    if problem.budget == 0.0 and found.deviation[0] > judged.private_within:
        said.append(
            f"a guess changes a probability by {found.deviation[0]!r}, over "
            f"{judged.private_within!r}"
        )
    return said


def _about_own(judged: Certificate, problem: Any, found: Verification) -> list[str]:
    """Return what is false about the answer as it was given."""
    said = list[str]()
    within = judged.own_private_within
    each = found.terms
    stated = judged.terms
    for number, (term, own, proven) in enumerate(zip(problem.terms, stated, each, strict=True)):
        if proven.leakage[0] > own.own_leakage_ceiling:
            said.append(
                f"constraint {number}: it leaks {proven.leakage[0]!r}, over "
                f"{own.own_leakage_ceiling!r}"
            )
        if own.own_budget_kept and not term.budget.perfect and proven.budget_kept is False:
            said.append(f"constraint {number}: it leaks {proven.leakage[0]!r} of {proven.budget!r}")
        if term.budget.perfect and 0.0 < within < proven.deviation[0]:
            said.append(
                f"constraint {number}: a guess changes a probability by "
                f"{proven.deviation[0]!r}, over {within!r}"
            )
    return said


def _verified(problem: Any, answer: Any) -> Verification:
    if isinstance(answer, CausalRule):
        columns = {
            str(k): [str(value) for value in column] for k, column in enumerate(_products(answer))
        }
        members = {
            "rule_tilt": np.zeros((problem.m, problem.n)),
            "exact_columns": np.array(json.dumps(columns)),
        }
        return verify(problem.noncausal, members)
    if isinstance(answer, OutcomeRule):
        from discreet.files.records import solution_members

        return verify(
            problem,
            solution_members(answer, np.zeros((problem.m, problem.n)), _no_price(problem), {}),
        )
    return verify(problem, answer)


def _no_price(problem: Any) -> Any:
    return np.zeros(len(problem.terms))


def _products(rule: CausalRule) -> list[list[int]]:
    """For each sequence of measurements integers in proportion to the exact products of kernels
    over their totals.
    """
    weights = np.array([[Fraction(1)]], dtype=object)
    for step, kernel in enumerate(rule.kernels, 1):
        exact = np.array(
            [Fraction(value) for value in kernel.ravel().tolist()], dtype=object
        ).reshape(kernel.shape)
        exact = exact / exact.sum(axis=1, keepdims=True)
        before = np.repeat(weights, rule.tree.measurements[step - 1], axis=1)
        weights = (before[:, None, :] * exact).reshape(rule.tree.sizes(step))
    columns = []
    for column in weights.T:
        unit = math.lcm(*(value.denominator for value in column))
        columns.append([int(value * unit) for value in column])
    return columns


# -- what is drawn
# --------------------------------------------------------------------------------------------------


def _spread(
    rng: np.random.Generator, shape: tuple[int, ...], decades: float | None = None
) -> Array:
    """Numbers in (0, 1] times powers of ten, in some rows, columns or entries; some are 0."""
    found = rng.random(shape) + 1e-3
    for axes in [(), *[(axis,) for axis in range(len(shape))]]:
        if rng.random() < 0.5:
            span = float(rng.choice(_DECADES)) if decades is None else decades
            own = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
            found = found * np.where(
                rng.random(own) < 0.5, 10.0 ** -rng.uniform(0.0, span, own), 1.0
            )
    if rng.random() < 0.5:
        found = found * (rng.random(shape) < 0.7)
    return np.asarray(found)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], axis: int) -> Array:
    """Probabilities of guesses along an axis: of any size, or the same at all outcomes but for
    faint ones.
    """
    if rng.random() < 0.4:
        found = _spread(rng, shape)
    else:
        same = np.eye(shape[axis])[0] if rng.random() < 0.5 else rng.random(shape[axis])
        apart = 10.0 ** -rng.uniform(10.0, 300.0, shape) * (rng.random(shape) < 0.3)
        found = (
            np.moveaxis(np.broadcast_to(same, np.moveaxis(apart, axis, -1).shape), -1, axis) + apart
        )
    columns = np.moveaxis(found, axis, 0)
    return np.moveaxis(normalise(columns.reshape(len(columns), -1)).reshape(columns.shape), 0, axis)


def _aimed(rng: np.random.Generator) -> Given:
    """A certain guess, by any measure, and by orders of Sibson's information whose powers have
    large exponents.

    If π r^α is small at the largest ratio r, the leakage is about as small, and it errs by as many
    units of itself as the exponent (α − 1) log r.
    """
    n = int(rng.integers(2, 4))
    aimed = rng.random() < 0.8
    masses = 10.0 ** -rng.uniform(0.0, rng.choice(_DECADES), (n, n))
    if aimed:
        masses[1:] *= 10.0 ** -rng.uniform(0.0, 290.0)
        masses[0, 1:] = 10.0 ** -rng.uniform(0.0, 16.0)
    masses[0, 0] = 1.0
    masses = np.maximum(masses, 1e-300)
    p_xz = masses / masses.sum()
    measure = _measure(rng, n)
    if aimed:
        p_x = p_xz.sum(axis=1)
        ratios = p_xz / p_xz.sum(axis=0) / p_x[:, None]
        value = np.unravel_index(np.argmax(ratios), ratios.shape)[0]
        order = (-math.log(p_x[value]) - rng.uniform(-5.0, 60.0)) / math.log(
            float(ratios.max()) + 1.0
        )
        measure = f"sibson:alpha={min(100.0, max(1.01, order))!r}"
    free = Problem(p_xz, (1.0 - np.eye(n)) * p_xz.sum(axis=0), math.inf, measure=measure)
    estimator = np.eye(n) if rng.random() < 0.9 else _drawn(rng, (n, n), 0)
    return Given(_budgeted(rng, free, estimator), estimator)


def _masses(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A law; at least one entry is of ordinary size."""
    found = _spread(rng, shape)
    found[(0,) * len(shape)] = 0.5
    return np.asarray(found / found.sum())


def _losses(rng: np.random.Generator, shape: tuple[int, ...], possible: Array) -> Array:
    """Loss masses, none where an outcome has no probability."""
    scale = float(rng.choice([1.0, 1.0, 1e-290, 1e90]))
    return np.asarray(scale * _spread(rng, shape) * possible)


def _problem(rng: np.random.Generator) -> Problem:
    """One secret, two secrets, or a secret given another variable, without a constraint."""
    n, other, m = (int(size) for size in rng.integers(2, 4, size=3))
    outcomes = int(rng.integers(1, 9))
    joint = _masses(rng, (n, other, outcomes))
    p_xz = joint.sum(axis=1)
    loss = _losses(rng, (m, outcomes), p_xz.sum(axis=0) > 0.0)
    kind = rng.random()
    if kind < 0.7:
        return Problem(p_xz, loss, math.inf, measure=_measure(rng, n))
    if kind < 0.85:
        return Problem(joint, loss, math.inf, measure="conditional-mutual-information")
    second = joint.sum(axis=0)
    each = [
        Constraint(p_xz, math.inf, _measure(rng, n)),
        Constraint(second, math.inf, _measure(rng, other)),
    ]
    return Problem(loss=loss, constraints=each)


def _measure(rng: np.random.Generator, n: int) -> str:
    name = str(rng.choice([_MUTUAL, *MEASURES, "sibson", "sibson"]))
    if name == "sibson":
        return f"sibson:alpha={1.01 * 99.0 ** float(rng.random())!r}"
    return (
        str(GLeakage(rng.integers(1, 9, (int(rng.integers(2, 4)), n))))
        if name == "g-leakage"
        else name
    )


def _budgeted(rng: np.random.Generator, free: Any, answer: Any) -> Any:
    """The problem with perfect privacy, with a drawn budget, or with one at the edge of what the
    answer leaks.
    """
    budgets = []
    edge = None if answer is None else _verified(free, answer)
    for number in range(len(free.terms)):
        budget = (
            0.0
            if rng.random() < 0.5
            else float(10.0 ** -rng.uniform(0.0, rng.choice([3.0, 30.0, 300.0])))
        )
        if edge is not None and budget > 0.0 and rng.random() < 0.7:
            low = (edge.terms or (edge,))[number].leakage[0]
            if 0.0 < low < math.inf:
                budget = float(rng.choice([low, math.nextafter(low, 0.0), low * (1.0 + 1e-9)]))
        budgets.append(budget)
    return free.with_budget(budgets if len(budgets) > 1 else budgets[0])


def _rule(rng: np.random.Generator, problem: Problem, estimator: Array) -> OutcomeRule:
    """A rule that draws at some outcomes as the estimator does, with or without a share and tie
    classes.
    """
    tilt = (
        np.zeros((problem.m, problem.n))
        if rng.random() < 0.5
        else rng.normal(size=(problem.m, problem.n))
    )
    ties = np.flatnonzero(rng.random(problem.N) < 0.7)
    share = float(rng.choice([0.0, 0.0, 0.5, 1e-300, 1.0 - 2.0**-53, rng.random()]))
    towards = normalise(_spread(rng, (problem.m, 1)))[:, 0]
    if rng.random() < 0.3:
        towards = np.eye(problem.m)[int(rng.integers(problem.m))]
    band = float(rng.choice([0.0, 0.0, 0.1]))
    classes = normalise(_spread(rng, (problem.m, problem.m**2))).T if band else None
    return OutcomeRule(tilt, ties, estimator[:, ties], share, towards, band, classes)


def _duals(rng: np.random.Generator, problem: Any) -> tuple[Array | None, Any]:
    if rng.random() < 0.5:
        return None, None
    tilt = rng.normal(size=(problem.m, problem.n)) * 10.0 ** -rng.uniform(0.0, 20.0)
    price = 10.0 ** rng.uniform(-5.0, 5.0, len(problem.terms))
    return tilt, price if len(problem.terms) > 1 else float(price[0])


def _causal(rng: np.random.Generator) -> Given:
    """Two or three steps of a chain, or two of any law."""
    if rng.random() < 0.3:
        steps = int(rng.integers(2, 4))
        states = 2
        first, move, seen = (normalise(_spread(rng, (2, k))).T for k in (1, states, 2))
        chain = (first[0], move, seen)
        free = CausalProblem.from_chain(
            *chain, math.inf, steps=steps, private=[0, 1], public=[0, 1]
        )
    else:
        n, *sizes = (int(size) for size in rng.integers(2, 4, size=5))
        measured = tuple(sizes[:2])
        guessed = tuple(sizes[2:])
        p_xz = _masses(rng, (n, *measured))
        free = CausalProblem(
            p_xz, _losses(rng, (*guessed, *measured), p_xz.sum(axis=0) > 0.0), math.inf
        )
    shapes = [free.tree.kernel_shape(step) for step in range(1, free.steps + 1)]
    rule = CausalRule(free.tree, [_drawn(rng, shape, 1) for shape in shapes])
    problem = _budgeted(rng, free, rule)
    return Given(problem, rule, *_duals(rng, problem))
