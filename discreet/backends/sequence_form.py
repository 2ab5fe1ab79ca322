"""Backend `sequence-form`: guesses over time, by an interior point whose Newton systems follow the
tree of histories.

Method: in the weights r of the sequence form the program is convex: minimise ⟨L, r⟩ over the causal
r ≥ 0 with Σ_i g(A r_i) ≤ ε, one row r_i [N_1 ⋯ N_T] for each sequence of guesses. A primal–dual
interior point with a predictor follows r s = τ w, μ (ε − leakage) = τ. Its Newton system has a
dense block for each sequence of guesses, coupled by the equations of causality; unknowns are
ordered from the last step to the first, so a sparse factorisation has little fill-in, and two steps
of refinement restore the digits that it loses. The tilts μ log(q_ij/π_j) of every iterate prove a
bound by one backward pass. A slack budget is answered by the causal Bayes rule.

At budget 0 the program is linear. Often a constant sequence of guesses is optimal, and least
squares find the tilts that prove it; otherwise the linear program is solved. The same
method is used for budgets that rounding cannot distinguish from 0, and if the interior point does
not converge.

Source: docs/theory.md, section 24; S. Mehrotra, SIAM J. Optim. 2 (1992).

Limitations: no other measures, no several constraints, and no large trees: the blocks have m_1 ⋯
m_T (N_1 ⋯ N_T)² entries.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.continuation import price_of_perfect
from discreet.backends.contract import Answer, Capabilities, Kind, Options, Raw, Regime, Unlifted
from discreet.backends.parts import PriorGroup, PrivacyRows, whitened_rows
from discreet.backends.precision import Precision
from discreet.backends.slack import SLACK
from discreet.errors import Unsupported
from discreet.measures.law import distance_from_private
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.problems.causal.model import CausalProblem
from discreet.problems.causal.rule import CausalRule
from discreet.problems.causal.tree import Tree
from discreet.problems.duals import no_multipliers

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

_LARGEST = 1 << 20
"""Largest number of entries in the blocks of a Newton system: several seconds per step."""

_STEPS = 150
"""Largest number of interior-point steps: nearly deterministic chains take up to 130, most 20."""

_CLEAR = 1e-8
"""Singular value of Φ above which a combination of private values keeps half of its digits."""


class SequenceForm(Unlifted):
    """Guesses over time; see the docstring of the module."""

    name = "sequence-form"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=0,
        gives_duals=True,
        method=(
            "primal–dual interior point over the weights of the sequence form; a linear "
            "program at budget 0"
        ),
        citation="discreet, docs/theory.md, Guesses over time",
        kinds=frozenset({Kind.STEPS}),
        method_class="structured",
    )

    def lower(self, problem: CausalProblem, options: Options) -> CausalProblem:
        """Return the problem itself; Unsupported if its tree is too large."""
        count, width = problem.tree.sizes(problem.steps)
        if count * width**2 > _LARGEST:
            raise Unsupported(
                f"{count} sequences of guesses and {width} of measurements make blocks of "
                f"{count * width**2:,} entries, and "
                f"sequence-form takes {_LARGEST:,}; give fewer steps"
            )
        return problem

    def solve(self, lowered: CausalProblem, options: Options) -> Raw[Answer]:
        """Return the Bayes rule under a slack budget, the solution of the linear program at budget
        0, otherwise the result of the interior point.
        """
        problem = lowered
        none = np.zeros((lowered.m, lowered.n))
        prices = no_multipliers(problem.terms)
        if problem.oblivious or problem.bayes_leakage <= problem.budget:
            return Raw(SLACK, Answer(problem.bayes_rule, none, prices))
        if problem.constant_error <= problem.bayes_error:
            return Raw("optimal: a constant guess", Answer(_constant(problem), none, prices))
        if problem.perfect:
            rule, tilt, claimed, rounds = _perfect(problem, Precision.of(problem, options.gap))
            return Raw(claimed, Answer(rule, tilt, prices), rounds)
        return _InteriorPoint(problem, options).run()


@dataclass(frozen=True)
class _Unknowns:
    """The positions of unknowns in the Newton system: those of the last step first, so that
    elimination has little fill-in.

    weights   of the weights r_t of every step                        [M_t, K_t]
    rows, columns, signs   of the entries of the causality equations, Σ over ŷ_t of r_t − r_{t−1} =
                           0
    size      of the system, in which the multipliers of these equations are unknowns too
    """

    weights: tuple[NDArray[np.intp], ...]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    signs: Array
    size: int

    @classmethod
    def of(cls, tree: Tree) -> _Unknowns:
        """Return the layout of a tree, subtree by subtree."""
        weights = [np.zeros(tree.sizes(step), dtype=np.intp) for step in range(tree.steps + 1)]
        prices = [
            np.zeros((tree.sizes(s)[0], tree.sizes(s + 1)[1]), dtype=np.intp)
            for s in range(tree.steps)
        ]
        size = 0

        def place(step: int, node: int) -> None:
            nonlocal size
            width = tree.sizes(step + 1)[1]
            for child in range(node * tree.guesses[step], (node + 1) * tree.guesses[step]):
                if step + 1 < tree.steps:
                    place(step + 1, child)
                weights[step + 1][child] = np.arange(size, size + width)
                size += width
            prices[step][node] = np.arange(size, size + width)
            size += width

        place(0, 0)
        rows = []
        columns = []
        signs = []
        for step in range(1, tree.steps + 1):
            equations = prices[step - 1]
            rows.append(np.repeat(equations, tree.guesses[step - 1], axis=0).ravel())
            columns.append(weights[step].ravel())
            signs.append(np.ones(weights[step].size))
            if step > 1:
                rows.append(equations.ravel())
                columns.append(
                    np.repeat(weights[step - 1], tree.measurements[step - 1], axis=1).ravel()
                )
                signs.append(-np.ones(equations.size))
        return cls(
            tuple(weights[1:]),
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(signs),
            size,
        )


class _CausalSystem:
    """The factorised Newton system [[K, −Eᵀ], [E, 0]] with blocks K_i [M, K, K]; E expresses
    causality.
    """

    def __init__(self, layout: _Unknowns, blocks: Array) -> None:
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        place = layout.weights[-1]
        scale = np.ones(layout.size)
        scale[place] = 1.0 / np.sqrt(np.einsum("ikk->ik", blocks))
        down = np.broadcast_to(place[:, :, None], blocks.shape).ravel()
        across = np.broadcast_to(place[:, None, :], blocks.shape).ravel()
        values = np.concatenate([blocks.ravel(), layout.signs, -layout.signs])
        rows = np.concatenate([down, layout.rows, layout.columns])
        columns = np.concatenate([across, layout.columns, layout.rows])
        values *= scale[rows] * scale[columns]
        self._matrix = csc_array((values, (rows, columns)), shape=(layout.size, layout.size))
        self._factors: SuperLU = splu(
            self._matrix,
            permc_spec="NATURAL",
            diag_pivot_thresh=0.01,
            options={"SymmetricMode": True},
        )
        self._scale = scale
        self._place = place
        self._size = layout.size

    def solve(self, right: Array) -> Array:
        """Return the change of r [M, K, ·] for right sides of the stationarity equations [M, K, ·];
        those of causality are 0.
        """
        sides = np.zeros((self._size, right.shape[2]))
        sides[self._place] = right
        sides *= self._scale[:, None]
        solution = self._factors.solve(sides)
        for _ in range(2):
            solution += self._factors.solve(sides - self._matrix @ solution)
        return np.asarray((solution * self._scale[:, None])[self._place])


@dataclass(frozen=True, eq=False)
class _CausalPoint:
    """An iterate: weights r [M, K], their prices s, multiplier μ, unused budget, tilt [M, n]; and
    derived quantities.

    The tilt is updated by its linear model, so that it also fits the prices of rare guesses, whose
    posteriors contain little information.

    law        u_i = A r_i [M, n]
    relative   q_ij/π_j − 1 [M, n], from deviations, which do not cancel under small budgets
    ratio      log(q_ij/π_j) [M, n]
    """

    model: _CausalModel
    weights: Array
    prices: Array
    multiplier: float
    unused: float
    tilt: Array

    @cached_property
    def law(self) -> Array:
        return np.asarray(self.weights @ self.model.p_xz.T)

    @cached_property
    def relative(self) -> Array:
        expected = self.law.sum(axis=1, keepdims=True) * self.model.p_x
        return np.asarray(self.weights @ self.model.deviations.T / expected)

    @cached_property
    def ratio(self) -> Array:
        return np.asarray(np.log1p(self.relative))

    @cached_property
    def leakage(self) -> float:
        return float(
            self.law.sum(axis=1) @ MUTUAL_INFORMATION.excess(self.relative, self.model.p_x)
        )

    @property
    def error(self) -> float:
        return float((self.model.loss * self.weights).sum())

    @property
    def complementarity(self) -> float:
        return float((self.weights * self.prices).sum()) + self.multiplier * self.unused


@dataclass(frozen=True, eq=False)
class _CausalModel:
    """The data of the program, without private values of probability 0: A, A − π wᵀ, L, π, the
    target ε, and the weights of the barrier.
    """

    tree: Tree
    p_xz: Array
    deviations: Array
    loss: Array
    p_x: Array
    budget: float
    barrier: Array

    @classmethod
    def of(cls, problem: CausalProblem, precision: Precision) -> _CausalModel:
        joint = problem.noncausal
        possible = joint.p_x > 0.0
        share = min(
            0.5, precision.undercut + 4.0 * (problem.m + 8 * problem.steps) * precision.rounding
        )
        barrier = np.maximum(joint.p_z, 1e-6 / problem.N)  # a lower limit of the weights
        p_xz = joint.p_xz[possible]
        aim = problem.budget * (1.0 - share)
        return cls(
            problem.tree,
            p_xz,
            joint.deviations[possible],
            joint.loss,
            joint.p_x[possible],
            aim,
            barrier,
        )

    def proof(self, tilt: Array, price: float) -> tuple[float, Array]:
        """Return the lower bound that a tilt [m, n] proves by a backward pass, and the tilt lowered
        until it is feasible.

        If the tilt is small compared with the price, as under tiny budgets, it is lowered by a mean
        of its exponentials minus one.
        """
        largest = tilt.max(axis=1, keepdims=True)
        exponents = (tilt - largest) / price
        log_means = np.where(
            exponents.min(axis=1) > -1.0,
            np.log1p(np.expm1(np.maximum(exponents, -1.0)) @ self.p_x),
            np.log(np.exp(exponents) @ self.p_x),
        )
        lowered = tilt - largest - price * log_means[:, None]
        return self.tree.least(self.loss + lowered @ self.p_xz) - price * self.budget, lowered


class _InteriorPoint:
    """The iteration, with the best certified bracket so far."""

    def __init__(self, problem: CausalProblem, options: Options) -> None:
        self._problem = problem
        self._options = options
        self._precision = Precision.of(problem, options.gap)
        self._model = _CausalModel.of(problem, self._precision)
        self._layout = _Unknowns.of(problem.tree)
        self._lower = -np.inf
        self._upper = np.inf
        self._best: _CausalPoint | None = None
        self._proof: tuple[Array, float] | None = None

    def run(self) -> Raw[Answer]:
        """Iterate until the bracket is narrow enough or stops narrowing; in the latter case, the
        solution at budget 0 is also considered.
        """
        deadline = self._options.deadline()
        waiting = 0
        rounds = 0
        most = 0 if self._precision.unresolved else self._options.max_iterations or _STEPS
        point = self._start()
        while rounds < most and (rounds == 0 or time.perf_counter() < deadline):
            if self._narrow or waiting > 15:
                break
            before = self._upper - self._lower
            complementarity = point.complementarity
            try:
                with np.errstate(all="ignore"):
                    point = self._step(point)
                    self._offer(point)
            except (
                FloatingPointError,
                RuntimeError,
                np.linalg.LinAlgError,
            ):  # SuperLU raises RuntimeError
                break  # the iterate has no correct digits left
            rounds += 1
            narrowed = self._upper - self._lower < Precision.stalled * before or not np.isfinite(
                before
            )
            falling = (
                point.complementarity < 0.5 * complementarity
                and point.complementarity > 1e-3 * self._aim
            )
            waiting = 0 if narrowed or falling else waiting + 1
            if self._options.progress is not None:
                self._options.progress(f"step {rounds}", self._lower, self._upper)
        if self._narrow:
            assert self._best is not None
            return Raw("optimal", self._answer(self._rule(self._best)), rounds)
        private, tilt, _, _ = _perfect(self._problem, self._precision)
        self._offer_perfect(tilt)
        law = self._problem.noncausal.output_law(private.dense())
        if law.leakage_ceiling() > self._problem.budget:  # what rounding leaves
            private = _constant(self._problem)
        rules = [private] if self._best is None else [private, self._rule(self._best)]
        best = min(rules, key=self._problem.error_probability)
        return Raw(f"stopped after {rounds} steps", self._answer(best), rounds)

    def _rule(self, point: _CausalPoint) -> CausalRule:
        tree = self._problem.tree
        return CausalRule(tree, tree.kernels(point.weights))

    def _answer(self, rule: CausalRule) -> Answer:
        """Return the rule with the duals of the best bound."""
        if self._proof is None:
            return Answer(rule)
        tilt = np.zeros((self._problem.m, self._problem.n))
        tilt[:, self._problem.p_x > 0.0], multiplier = self._proof
        return Answer(rule, tilt, np.array([multiplier]))

    @property
    def _aim(self) -> float:
        return self._precision.bracket * self._problem.constant_error

    @property
    def _narrow(self) -> bool:
        return (
            self._best is not None
            and abs(self._upper - self._lower) <= self._precision.bracket * self._upper
        )

    def _start(self) -> _CausalPoint:
        model = self._model
        size = float(model.loss.sum(axis=1).min())
        weights = np.full(model.loss.shape, 1.0 / len(model.loss))
        prices = np.broadcast_to(0.5 * size * model.barrier, weights.shape)
        tilt = np.zeros((len(weights), len(model.p_x)))
        return _CausalPoint(model, weights, prices, 0.3 * size / model.budget, model.budget, tilt)

    def _offer_perfect(self, tilt: Array) -> None:
        """Keep a tilt [m, n] of budget 0, with the multiplier of least cost, if its bound is
        better.
        """
        multiplier = price_of_perfect(tilt, self._problem.p_x, self._problem.terms[0])
        if multiplier > 0.0:
            self._offer_tilt(tilt[:, self._problem.p_x > 0.0], multiplier)

    def _offer_tilt(self, tilt: Array, multiplier: float) -> None:
        """Keep a tilt [m, n], made feasible, if it proves the best bound."""
        lower, lowered = self._model.proof(tilt, multiplier)
        if lower > self._lower:
            self._lower = lower
            self._proof = (lowered, multiplier)

    def _offer(self, point: _CausalPoint) -> None:
        """Keep the best bound of the tilt of its posteriors, and of that tilt with rows of the best
        one so far for guesses that are rarely made; near the optimum also of its own tilt.

        The weights are kept if they leak at most half of what the target leaves of the budget.
        """
        before = point.tilt if self._proof is None else self._proof[0]
        of_posteriors = point.multiplier * point.ratio
        rare = point.law.sum(axis=1)[:, None] < Precision.unseen
        self._offer_tilt(of_posteriors, point.multiplier)
        self._offer_tilt(np.where(rare, before, of_posteriors), point.multiplier)
        if point.complementarity <= self._aim < self._upper - self._lower:
            self._offer_tilt(point.tilt, point.multiplier)
        most = 0.5 * (self._model.budget + self._problem.budget)
        if point.leakage <= most and point.error < self._upper:
            self._upper = point.error
            self._best = point

    def _step(self, point: _CausalPoint) -> _CausalPoint:
        """Make one predictor and corrector step; the weights are made causal again to the last
        digit.
        """
        model = self._model
        r = point.weights
        s = point.prices
        slope = point.ratio @ model.p_xz  # the slope of the leakage
        system = _CausalSystem(self._layout, self._blocks(point))
        gain = model.loss + point.multiplier * slope

        def direction(target: Array, last: float) -> tuple[Array, Array, float, float]:
            sides = np.stack([target / r - gain, -slope], axis=2)
            along = system.solve(sides)
            moved = (slope * along[:, :, 0]).sum(), (slope * along[:, :, 1]).sum()
            missing = model.budget - point.leakage - last / point.multiplier - moved[0]
            price = missing / (moved[1] - point.unused / point.multiplier)
            change = along[:, :, 0] + price * along[:, :, 1]
            slack = (last - point.unused * (point.multiplier + price)) / point.multiplier
            return change, (target - r * s - s * change) / r, float(price), float(slack)

        def length(change: tuple[Array, Array, float, float]) -> float:
            pairs = zip((r, s, point.multiplier, point.unused), change, strict=True)
            worst = max(float(np.max(-np.asarray(d) / x)) for x, d in pairs)
            return 1.0 / worst if worst > 1.0 else 1.0

        mean = point.complementarity / (len(r) * model.barrier.sum() + 1.0)
        affine = direction(np.zeros_like(r), 0.0)
        reach = length(affine)
        left = float(((r + reach * affine[0]) * (s + reach * affine[1])).sum())
        left += (point.multiplier + reach * affine[2]) * (point.unused + reach * affine[3])
        tau = mean * max(min(1.0, left / point.complementarity) ** 3, 1e-4)
        target = np.broadcast_to(tau * model.barrier, r.shape)
        if reach > 0.2:
            target = target - np.clip(affine[0] * affine[1], -5.0 * target, 0.9 * target)
        change = direction(target, tau)
        reach = min(1.0, 0.99 * length(change))
        tree = model.tree
        weights = tree.weights(tree.kernels(r + reach * change[0]))[-1]
        moved = change[0] @ model.p_xz.T
        linear = moved / point.law - moved.sum(axis=1, keepdims=True) / point.law.sum(
            axis=1, keepdims=True
        )
        tilt = (point.multiplier + change[2]) * point.ratio + point.multiplier * linear
        following = _CausalPoint(
            model,
            weights,
            s + reach * change[1],
            point.multiplier + reach * change[2],
            point.unused + reach * change[3],
            point.tilt + reach * (tilt - point.tilt),
        )
        if not (
            np.isfinite(following.complementarity)
            and weights.min() > 0.0
            and np.isfinite(following.ratio).all()
        ):
            raise FloatingPointError
        return following

    def _blocks(self, point: _CausalPoint) -> Array:
        """Return K_i = diag(s/r) + μ Aᵀ (diag(1/u_i) − 1 1ᵀ/Σ u_i) A for every sequence of guesses
        [M, K, K].
        """
        joint = self._model.p_xz
        price = point.multiplier
        total = joint.sum(axis=0)
        blocks: Array = np.matmul(joint.T[None] * (price / point.law)[:, None, :], joint)
        blocks -= (price / point.law.sum(axis=1))[:, None, None] * np.outer(total, total)
        diagonal = np.einsum("ikk->ik", blocks)
        diagonal += point.prices / point.weights
        return blocks


def _constant(problem: CausalProblem) -> CausalRule:
    """The best of the rules that always make the same guesses."""
    return CausalRule.constant(problem.tree, int(problem.constant_errors.argmin()))


def _perfect(problem: CausalProblem, precision: Precision) -> tuple[CausalRule, Array, str, int]:
    """Return the rule and the tilt [m, n] at budget 0, whatever the budget of the problem, with a
    claim and the number of programs.

    Sequences of guesses must be independent of X, which makes the program linear. Combinations of
    private values that depend very little on the measurements have few correct digits. The program
    without them is a relaxation, so its tilt may give a better bound; the best tilt and the best
    rule without leakage are returned.
    """
    constant = _constant(problem)
    all_private = _private_rows(problem, 0.0)
    bound, tilt = _flatten_tilt(problem, all_private)
    if bound >= problem.constant_error * (1.0 - precision.bracket):
        return constant, tilt, "optimal: a constant guess", 0
    layout = _Unknowns.of(problem.tree)
    clear = _private_rows(problem, _CLEAR)
    privates = [all_private]
    if 0 < len(clear.features) < len(all_private.features):
        privates.append(clear)
    solved = [_solve_program(problem, layout, private) for private in privates]
    vertices = [vertex for vertex in solved if vertex is not None]
    proofs = [(bound, tilt), *((own, dual) for own, dual, _ in vertices)]
    _, tilt = max(proofs, key=itemgetter(0))
    rules = [constant]
    rules += [rule for _, _, rule in vertices if _leaks_nothing(problem, rule)]
    claimed = "optimal" if vertices else "HiGHS found no point: a constant guess"
    return min(rules, key=problem.error_probability), tilt, claimed, len(vertices)


def _flatten_tilt(problem: CausalProblem, private: PrivacyRows) -> tuple[float, Array]:
    """Return a bound and its tilt [m, n]: the tilt of least norm that makes the losses of each
    sequence of guesses as nearly proportional to the law of the measurements as the rows of
    `private` permit.

    If they are proportional, the bound is the error probability of the best constant guess.
    """
    model = problem.noncausal
    missing = problem.constant_errors[:, None] * model.p_z - model.loss
    tilt = missing @ private.features.T @ private.combination
    return problem.tree.least(model.loss + tilt @ model.deviations), tilt


def _leaks_nothing(problem: CausalProblem, rule: CausalRule) -> bool:
    return distance_from_private(problem.noncausal.output_law(rule.dense())) <= Precision.private


def _solve_program(
    problem: CausalProblem, layout: _Unknowns, private: PrivacyRows
) -> tuple[float, Array, CausalRule] | None:
    """Return the bound proved by the tilt of the linear program, the tilt [m, n], and the rule;
    None if HiGHS finds no point.
    """
    tree = problem.tree
    model = problem.noncausal
    unit = problem.constant_error
    rows = private.features * model.p_z
    matrix, sums, place, scale = _equations(layout, tree, rows, model.p_z)
    cost = np.zeros(matrix.shape[1])
    cost[place] = model.loss / unit * scale[place]
    sizes = abs(matrix).max(axis=1).toarray().ravel()
    solution = _linear(cost, (matrix.T / sizes).T.tocsr(), sums / sizes)
    if solution is None:
        return None
    weights, multipliers = solution
    priced = len(place) - 1, len(rows)
    prices = unit * (multipliers / sizes)[matrix.shape[0] - math.prod(priced) :]
    rule = CausalRule(tree, tree.kernels((scale * weights)[place]))
    tilt = private.tilt(prices.reshape(priced), problem.m)
    return tree.least(model.loss + tilt @ model.deviations), tilt, rule


def _linear(cost: Array, matrix: Any, sums: Array) -> tuple[Array, Array] | None:
    """Return x ≥ 0 that minimises cost·x with matrix x = sums, and the multipliers of the
    equations, by HiGHS; None if it finds no point.

    Its presolve, and the tighter tolerance, may report dependent equations as infeasible.
    """
    from scipy.optimize import linprog

    run: Any = linprog  # its type stubs reject a plain dictionary of options
    for tolerance in (1e-10, 1e-7):
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "presolve": False,
        }
        solution = run(cost, A_eq=matrix, b_eq=sums, method="highs", options=options)
        if solution.x is not None and solution.status == 0:
            return np.maximum(solution.x, 0.0), solution.eqlin.marginals
    return None


def _private_rows(problem: CausalProblem, least: float) -> PrivacyRows:
    """Return perfect privacy as few equations: those whose singular value of Φ is above `least` and
    above rounding.

    A constant guess leaks nothing, so each row should sum to 0; its rounding error is distributed
    over the row.
    """
    model = problem.noncausal
    group = PriorGroup.of(model, slice(0, model.n))
    rows = whitened_rows(group, model.p_z, max(least, model.phi_rank.threshold))
    sums = rows.features @ model.p_z / model.p_z.sum()
    return replace(rows, features=rows.features - sums[:, None])


def _equations(
    layout: _Unknowns, tree: Tree, private: Array, masses: Array
) -> tuple[Any, Array, NDArray[np.intp], Array]:
    """Return the matrix of causality and private·r_i = 0, the right side, the columns [M_T, K_T] of
    the last weights, and scales.

    The equations of the last sequence of guesses follow from the others. The unknowns are
    weights divided by these scales, the inverse roots of the probabilities of the measurements, so
    that HiGHS distinguishes the entries of rare histories from 0.
    """
    from scipy.sparse import csr_array, vstack

    prices, rows = np.unique(layout.rows, return_inverse=True)
    unknowns, columns = np.unique(layout.columns, return_inverse=True)
    scale = np.ones(unknowns.size)
    for step, each in enumerate(layout.weights, 1):
        seen = masses.reshape(tree.sizes(step)[1], -1).sum(axis=1)
        scale[np.searchsorted(unknowns, each)] = 1.0 / np.sqrt(
            np.maximum(seen, Precision.lightest / masses.size)
        )
    causal = csr_array(
        (layout.signs * scale[columns], (rows, columns)), shape=(prices.size, unknowns.size)
    )
    place = np.searchsorted(unknowns, layout.weights[-1])
    count = len(place) - 1
    rank = len(private)
    across = np.broadcast_to(place[:-1, None, :], (count, rank, place.shape[1]))
    down = np.broadcast_to(np.arange(count * rank).reshape(count, rank, 1), across.shape)
    values = private * scale[across]
    secret = csr_array(
        (values.ravel(), (down.ravel(), across.ravel())), shape=(count * rank, unknowns.size)
    )
    sums = np.zeros(prices.size + count * rank)
    # The equations of the first step have the right side one.
    sums[: prices.size] = np.bincount(rows, layout.signs < 0.0) == 0
    return csr_array(vstack([causal, secret])), sums, place, scale
