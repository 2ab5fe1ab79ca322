"""The causal problem: guesses over time, each made from the measurements so far, whose joint
leakage is at most a budget.

    minimise Σ p(z^T) q(ŷ^T ‖ z^T) loss   over causal kernels   with   I(X; Ŷ_1 … Ŷ_T) ≤ ε,

where q(ŷ^T ‖ z^T) = Π_t q_t(ŷ_t given ŷ_1 … ŷ_{t−1}, z_1 … z_t) and no measurement depends on a
guess (no feedback). X may be a whole trajectory. Without the order of time it is an ordinary
`Problem` whose outcomes are sequences of measurements.

Source: docs/theory.md, section 24; the authors of the paper, its reference 1, posed the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from discreet.checks import (
    TOTAL_TOLERANCE,
    as_numbers,
    brief,
    check_total,
    freeze,
    loss_table,
    mass_array,
    positive,
    whole,
)
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.numerics.double_double import Array, DoubleDouble, dd_add, exact_product
from discreet.numerics.rounding import UNIT
from discreet.problems.causal.rule import CausalRule
from discreet.problems.causal.tree import Tree
from discreet.problems.constraint import Constrained, LeakageBudget, Term
from discreet.problems.outcomes import Kind
from discreet.problems.problem import Problem

_LARGEST = 1 << 24
"""Largest number of entries of an array over all sequences in `from_chain`."""

_VANISHED = 1e-300
"""Upper bound of the error of `exact_product` for products below 1e-290, which are not exact."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CausalProblem(Constrained):
    """A privacy-aware estimation problem over T steps of time. Immutable.

    tree         the numbers of guesses and measurements at every step
    noncausal    the problem without the order of time: a `Problem` whose estimators see all
                 measurements before they guess, so that its optimum is a lower bound
    """

    kind: ClassVar[Literal[Kind.STEPS]] = Kind.STEPS

    tree: Tree
    noncausal: Problem

    def __init__(
        self,
        p_xz: Any,
        loss: Any,
        budget: float | LeakageBudget | None = None,
        *,
        equivocation: float | None = None,
        name: str = "",
    ) -> None:
        """Validate the input and freeze.

        p_xz     private joint p(x_j, z_1 … z_T) [n, N_1, …, N_T]; X is whatever must stay hidden,
                 such as a trajectory
        loss     loss mass E[loss; z_1 … z_T] of each sequence of guesses [m_1, …, m_T, N_1, …,
                 N_T], ≥ 0
        budget   leakage budget ε in nats (0 perfect privacy, inf none), or `equivocation` H0 in
                 nats

        Raises InputError in one sentence for anything that is not a probability model, as `Problem`
        does.
        """
        joint = as_numbers(p_xz, "p_xz", "[n, N_1, …, N_T]")
        steps = joint.ndim - 1
        if steps < 1:
            raise InputError(
                f"p_xz has shape {list(joint.shape)}; give an axis for X and one for "
                "each measurement"
            )
        losses = as_numbers(loss, "loss", "[m_1, …, m_T, N_1, …, N_T]")
        if losses.ndim != 2 * steps or losses.shape[steps:] != joint.shape[1:]:
            raise InputError(
                f"p_xz has shape {list(joint.shape)} and loss {list(losses.shape)}; give a loss "
                "of shape [m_1, …, m_T, N_1, "
                f"…, N_T] with the {steps} axes of measurements of p_xz"
            )
        tree = Tree(losses.shape[:steps], joint.shape[1:])
        flat = joint.reshape(len(joint), -1), losses.reshape(-1, tree.sizes(steps)[1])
        self._fill(tree, Problem(*flat, budget, equivocation=equivocation, name=name))

    def _fill(self, tree: Tree, noncausal: Problem) -> None:
        freeze(self, tree=tree, noncausal=noncausal)
        self.refuse_other_measures("guesses over time are")

    @classmethod
    def from_chain(
        cls,
        initial: Any,
        transition: Any,
        observation: Any,
        budget: float | LeakageBudget | None = None,
        *,
        steps: int,
        private: Any,
        public: Any,
        equivocation: float | None = None,
        loss_matrix: Any = None,
        name: str = "",
    ) -> CausalProblem:
        """Return the problem of a Markov chain that is measured at every step.

        initial       law of the first state [S]
        transition    Pr(next state given state) [S, S], rows sum to one
        observation   Pr(measurement given state) [S, N], rows sum to one
        steps         T
        private       for each state the index of its private value X_t [S]; the whole trajectory
                      X_1 … X_T is private
        public        for each state the index of its public value Y_t [S], which is guessed at
                      every step
        loss_matrix   loss of guessing i when the truth is k [m, guesses]; default: 0/1 loss

        The loss is the mean over the steps: under 0/1 loss, the expected share of wrong guesses.
        Raises InputError.
        """
        whole(steps, "steps", 1, 24)
        first = mass_array(initial, "initial", 1, "[S]")
        first = first / check_total(first, "initial")
        count = first.size
        move = _rows(transition, "transition", count)
        seen = _rows(observation, "observation", count)
        if move.shape[1] != count:
            raise InputError(
                f"transition has shape {list(move.shape)}; give one row and one column for each "
                f"of {count} states"
            )
        hidden = _labels(private, "private", count)
        guessed = _labels(public, "public", count)
        n = int(hidden.max()) + 1
        outcomes = seen.shape[1]
        matrix = loss_table(loss_matrix, int(guessed.max()) + 1)
        m = matrix.shape[1]
        if max(count * (n * outcomes) ** steps, (m * outcomes) ** steps) > _LARGEST:
            raise InputError(
                f"{steps} steps have {(n * outcomes) ** steps:,} sequences of private values and "
                "measurements and "
                f"{(m * outcomes) ** steps:,} of guesses and measurements; give fewer steps"
            )
        joint = _trajectories(first, move, seen, hidden, n, steps)
        truths = np.eye(int(guessed.max()) + 1)[guessed]
        losses = np.zeros((m,) * steps + (outcomes**steps,))
        for step, masses in enumerate(_smooth(first, move, seen, steps)):
            each = matrix.T @ (truths.T @ masses) / steps  # [m, N^T]
            losses += each.reshape((1,) * step + (m,) + (1,) * (steps - step - 1) + (-1,))
        shape = (outcomes,) * steps
        return cls(
            joint.reshape(-1, *shape),
            losses.reshape((m,) * steps + shape),
            budget,
            equivocation=equivocation,
            name=name,
        )

    def with_budget(
        self,
        budget: Any = None,
        *,
        equivocation: float | None = None,
        measure: str | Measure | None = None,
    ) -> Self:
        """Return the same model under another budget."""
        other = type(self).__new__(type(self))
        other._fill(
            self.tree,
            self.noncausal.with_budget(budget, equivocation=equivocation, measure=measure),
        )
        return other

    def alone(self, step: int, budget: float) -> Problem:
        """Return the ordinary problem of the guess at one step, 1 to T, from the measurements up to
        then, about the same X.

        All other guesses are fixed to their first values, which adds a constant to the loss if the
        losses of steps add up. Raises InputError.
        """
        whole(step, "step", 1, self.steps)
        count = self.tree.guesses[step - 1]
        width = self.tree.sizes(step)[1]
        loss = self.noncausal.loss.reshape(*self.tree.guesses, -1)
        chosen = loss[(0,) * (step - 1) + (slice(None),) + (0,) * (self.steps - step)]
        seen = self.noncausal.p_xz.reshape(self.n, width, -1).sum(axis=2)
        return Problem(
            seen, chosen.reshape(count, width, -1).sum(axis=2), budget, name=f"step {step} alone"
        )

    @property
    def steps(self) -> int:
        """The number of steps T."""
        return self.tree.steps

    @property
    def name(self) -> str:
        """A title, without effect on results."""
        return self.noncausal.name

    @property
    def terms(self) -> tuple[Term, ...]:
        """The only constraint, as a tuple."""
        return self.noncausal.terms

    @property
    def m(self) -> int:
        """The number of sequences of guesses."""
        return self.noncausal.m

    @property
    def N(self) -> int:  # noqa: N802 (the symbol of the theory)
        """The number of sequences of measurements."""
        return self.noncausal.N

    @property
    def p_x(self) -> Array:
        """The prior π_j = p(x_j) [n]."""
        return self.noncausal.p_x

    @property
    def _prior(self) -> Sequence[Array]:
        return self.noncausal.marginal

    @property
    def constant_errors(self) -> Array:
        """Error probabilities of the constant sequences of guesses [m_1 ⋯ m_T]."""
        return self.noncausal.constant_errors

    def least(
        self, tilt: Array, multipliers: Array, error: float, numbers: tuple[float, ...] | None
    ) -> tuple[float, ...]:
        """Return the least expected tilted loss by backward induction: minima over each guess, sums
        over each measurement.

        The tilted losses are added in double-double, from products that are exact except for
        underflow.
        """
        model = self.noncausal
        costs: DoubleDouble = (model.loss, np.zeros_like(model.loss))
        for j in np.flatnonzero(tilt.any(axis=0)):
            costs = dd_add(costs, exact_product(tilt[:, j : j + 1], model.p_xz[j]))
        size = model.loss + np.abs(tilt) @ model.p_xz
        return self.tree.least_bound(
            costs, 8.0 * (model.n + 1) * UNIT**2 * size + (model.n + 1) * _VANISHED
        )

    @cached_property
    def bayes_rule(self) -> CausalRule:
        """The causal rule of least loss without privacy; ties go to the first guess."""
        return CausalRule(self.tree, self.tree.best_kernels(self.noncausal.loss))

    @cached_property
    def bayes_error(self) -> float:
        """The error probability of `bayes_rule`, a lower bound for every causal rule."""
        return self.tree.least(self.noncausal.loss)

    @cached_property
    def bayes_leakage(self) -> float:
        """The leakage of `bayes_rule` in nats; larger budgets are slack."""
        return self.leakage(self.bayes_rule)

    def leakage(self, rule: CausalRule) -> float:
        """Return I(X; Ŷ_1 … Ŷ_T) of a rule in nats."""
        return self.noncausal.leakage(rule.dense())

    def error_probability(self, rule: CausalRule) -> float:
        """Return the expected loss of a rule."""
        return self.noncausal.error_probability(rule.dense())

    @property
    def _sizes(self) -> str:
        return (
            f"{self.steps} steps, n={self.n}, guesses={self.tree.guesses}, "
            f"measurements={self.tree.measurements}"
        )


def _rows(values: Any, what: str, states: int) -> Array:
    """Return conditional laws [S, ·] after checking them."""
    matrix = mass_array(values, what, 2, "[S, ·]")
    if len(matrix) != states:
        raise InputError(
            f"{what} has {len(matrix)} rows and initial has {states} states; give one "
            "row for each state"
        )
    off = np.abs(matrix.sum(axis=1) - 1.0)
    if not off.max() <= TOTAL_TOLERANCE:
        raise InputError(
            f"row {int(off.argmax())} of {what} does not sum to 1; divide it by its sum"
        )
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _labels(values: Any, what: str, states: int) -> Any:
    """Return indices [S] of values after checking that each index up to the largest occurs."""
    labels = as_numbers(values, what, "[S]")
    if labels.shape != (states,) or not np.array_equal(
        np.unique(labels), np.arange(np.unique(labels).size)
    ):
        raise InputError(
            f"{what} is {brief(values)}; give an index for each of {states} states, "
            "and leave out no index"
        )
    return labels.astype(np.intp)


def _trajectories(first: Array, move: Array, seen: Array, hidden: Any, n: int, steps: int) -> Array:
    """Return p(x_1 … x_T, z_1 … z_T) [n^T, N^T], by the forward pass of hidden Markov models."""
    emitted = np.eye(n)[hidden][:, :, None] * seen[:, None, :]  # [S, n, N]
    reached = first[:, None, None] * emitted
    for _ in range(1, steps):
        before = np.einsum("sxz,sr->rxz", reached, move)
        reached = np.einsum("rxz,rab->rxazb", before, emitted).reshape(
            len(first), -1, before.shape[2] * seen.shape[1]
        )
    return np.asarray(reached.sum(axis=0))


def _smooth(first: Array, move: Array, seen: Array, steps: int) -> list[Array]:
    """Return p(state at step t, z_1 … z_T) [S, N^T] for every step, by the forward and backward
    passes.
    """
    forward = [first[:, None] * seen]
    for _ in range(1, steps):
        forward.append(np.einsum("rz,ra->rza", move.T @ forward[-1], seen).reshape(len(first), -1))
    backward = [np.ones((len(first), 1))]
    for _ in range(1, steps):
        backward.append(move @ np.einsum("ra,rz->raz", seen, backward[-1]).reshape(len(first), -1))
    pairs = zip(forward, backward[::-1], strict=True)
    return [
        np.einsum("sz,sa->sza", before, after).reshape(len(first), -1) for before, after in pairs
    ]


READING_HIGH = ((0.05, 0.85), (0.3, 0.95))
"""Pr(the meter reads high given X, Y): home empty or occupied, heat pump off or on; assumed."""


def person_at_home(
    steps: int = 4,
    budget: float | None = None,
    *,
    fraction: float | None = None,
    leaving: float = 0.05,
    returning: float = 0.1,
    heating_home: float = 0.5,
    heating_away: float = 0.25,
) -> CausalProblem:
    """Return the problem of a meter in a home that reads high or low at every step, from which one
    guesses at every step whether the heat pump runs.

    X_t is whether somebody is home: a Markov chain in its stationary law, with these probabilities
    of leaving and returning at a step. Y_t is whether the heat pump runs, drawn at every step with
    the probability `heating_home` or `heating_away`. All numbers are assumed. budget in nats, or
    `fraction` of the leakage of the causal Bayes rule. Raises InputError.
    """
    if (budget is None) == (fraction is None):
        raise InputError(
            "give one of budget= (nats) and fraction= (of what the causal Bayes rule leaks)"
        )
    for what, chance in (("leaving", leaving), ("returning", returning)):
        positive(chance, what, most=1.0)
    away = leaving / (leaving + returning)
    stay = np.array([[1.0 - returning, returning], [leaving, 1.0 - leaving]])
    runs = np.array([[1.0 - heating_away, heating_away], [1.0 - heating_home, heating_home]])
    initial = (np.array([away, 1.0 - away])[:, None] * runs).ravel()
    transition = np.repeat((stay[:, :, None] * runs).reshape(2, 4), 2, axis=0)
    high = np.ravel(READING_HIGH)
    problem = CausalProblem.from_chain(
        initial,
        transition,
        np.stack([1.0 - high, high], axis=1),
        math.inf,
        steps=steps,
        private=[0, 0, 1, 1],
        public=[0, 1, 0, 1],
        name="person at home",
    )
    return problem.with_budget(
        budget
        if fraction is None
        else positive(fraction, "fraction", zero=True) * problem.bayes_leakage
    )
