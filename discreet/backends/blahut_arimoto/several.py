"""The proximal sweeps for several secrets, and for mutual information given another variable: tilts
of all groups add up.

Rows of p_xz come in groups g with a prior π^g of their own: all rows of a secret, or those of one
given value. With the share ω^g_l of the mass of outcome l that belongs to g (1 for a secret), f^g_l
= a^g_l/w_l − ω^g_l π^g and s_i^g = Σ_l w_l ω^g_l P_il, the dual of a sweep is that of `proximal`
with one multiplier for each constraint c:

    c_il(t, μ) = c_il + Σ_g (f^g_l·t_i^g − ω^g_l cost(t_i^g, μ_c)),
    D(t, μ) = −(1/η) Σ_l w_l log Σ_i P_il e^{−η c_il} − Σ_c μ_c ε_c.

Its gradient is dev_i^g − s_i^g (q_i^g − π^g) by t_i^g, and Σ_i s_i^g KL(q_i^g ‖ π^g) − ε_c by μ_c,
summed over the groups of c. A constraint takes part only in sweeps that would break it otherwise:
one whose price falls quickly is left out, and comes back if the sweep without it breaks it.

Source: as `proximal`; the multipliers are those of the optimality conditions in docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.blahut_arimoto.outcomes import Bracket, TiltedLaw, tilted_law
from discreet.backends.blahut_arimoto.proximal import Pace, damped, solve_scaled
from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.problems.measures.law import OutputLaw, distance_from_private, law_of
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

_IDLE = 0.05
"""A budget whose price falls below this share of what it was in one sweep may have none; the sweep
is tried without it.
"""


def duals_of(tilt: Array, multiplier: Any) -> Duals:
    """A tilt [m, n] with one multiplier for each constraint [C]."""
    return Duals(tilt, multiplier)


@dataclass(frozen=True)
class Group:
    """Rows with a prior of their own, of constraint `term`: feature f [k, N], share ω [N], prior π
    [k]; `rows` of a tilt.
    """

    term: int
    rows: slice
    feature: Array
    share: Array
    prior: Array


@dataclass(frozen=True)
class Secrets:
    """A problem without zero-mass outcomes, per unit of mass, as `Outcomes` has it for one secret.

    cost, mass      c_il [m, N], w_l [N]
    groups          of all constraints with a finite budget
    budget, target  ε of each constraint, and what is aimed at; [C], inf where there is none
    size            how many rows there are
    """

    cost: Array
    mass: Array
    groups: tuple[Group, ...]
    budget: Array
    target: Array
    size: int

    @classmethod
    def of(cls, problem: Problem, gap: float) -> Secrets:
        """The arrays of a problem; features come from double-double differences."""
        mass = problem.p_z
        groups = list[Group]()
        budget = np.array([term.budget.amount for term in problem.terms])
        undercut = np.array(
            [Precision.at(problem, number, gap).undercut for number in range(len(problem.terms))]
        )
        for number, term in enumerate(problem.terms):
            for rows in term.groups if not term.budget.oblivious else ():
                joint = problem.p_xz[rows]
                (high, low) = problem.marginal
                law = law_of(
                    (joint.T, np.zeros_like(joint.T)),
                    (high[rows], low[rows]),
                    np.zeros(len(joint), dtype=np.int32),
                )
                total = high[rows].sum()
                groups.append(
                    Group(
                        number,
                        rows,
                        law.deviation.T / total / mass,
                        law.mass / mass,
                        high[rows] / total,
                    )
                )
        return cls(
            problem.loss / mass, mass, tuple(groups), budget, budget * (1.0 - undercut), problem.n
        )

    @property
    def perfect(self) -> bool:
        """Whether every constraint is perfect privacy, or none."""
        return bool(((self.budget == 0.0) | np.isinf(self.budget)).all())

    @property
    def spread(self) -> float:
        """Mean difference between the worst and the best guess: the unit of costs."""
        return float(self.mass @ (self.cost.max(axis=0) - self.cost.min(axis=0)))

    def only(self, terms: Sequence[int]) -> Secrets:
        """With these constraints alone."""
        kept = np.isin(np.arange(self.budget.size), list(terms))
        groups = tuple(group for group in self.groups if kept[group.term])
        return Secrets(
            self.cost,
            self.mass,
            groups,
            np.where(kept, self.budget, math.inf),
            self.target,
            self.size,
        )

    def masked(self, tilt: Array, multiplier: Array, terms: Set[int]) -> Duals:
        """The duals of these constraints, without those of the others."""
        kept = np.isin(np.arange(self.budget.size), list(terms))
        own = np.zeros_like(tilt)
        for group in (group for group in self.groups if kept[group.term]):
            own[:, group.rows] = tilt[:, group.rows]
        return duals_of(own, np.where(kept, multiplier, 0.0))

    def constant(self) -> Array:
        """The best constant guess [m, N]."""
        estimator = np.zeros(self.cost.shape)
        estimator[int(np.argmin(self.cost @ self.mass))] = 1.0
        return estimator

    def laws(self, estimator: Array) -> list[OutputLaw]:
        """The law of every group under an estimator [m, N]."""
        weighted = estimator * self.mass
        return [
            OutputLaw(weighted @ group.share, weighted @ group.feature.T, group.prior)
            for group in self.groups
        ]

    def leakages(self, laws: Sequence[OutputLaw]) -> Array:
        """Of each constraint [C]; of one without groups 0."""
        found = np.zeros(self.budget.size)
        for group, law in zip(self.groups, laws, strict=True):
            found[group.term] += law.leakage()
        return found

    def error(self, estimator: Array) -> float:
        """⟨L, P⟩."""
        return float((self.cost * estimator * self.mass).sum())

    def tilted(self, duals: Duals) -> list[TiltedLaw]:
        """What the tilt of every group stands for; nothing is tilted without a finite positive
        multiplier.
        """
        found = list[TiltedLaw]()
        price = np.asarray(duals.multiplier)
        for group in self.groups:
            own = duals.tilt[:, group.rows]
            zero = np.zeros_like(own)
            priced = 0.0 < price[group.term] < math.inf
            nothing = TiltedLaw(zero, zero, zero[:, 0], zero[:, 0])
            found.append(
                tilted_law(own, float(price[group.term]), group.prior) if priced else nothing
            )
        return found

    def tilted_costs(self, tilt: Array, laws: Sequence[TiltedLaw]) -> Array:
        """c_il(t, μ) [m, N]."""
        return self.cost + self.tilting(tilt, [law.cost for law in laws])

    def tilting(self, tilt: Array, costs: Sequence[Array]) -> Array:
        """Σ_g f^g_l·t_i^g − ω^g_l cost_i^g [m, N]."""
        found = np.zeros(self.cost.shape)
        for group, cost in zip(self.groups, costs, strict=True):
            found += tilt[:, group.rows] @ group.feature - np.outer(cost, group.share)
        return found

    def lower(self, tilt: Array, multiplier: Array) -> float:
        """The error probability that no feasible estimator beats."""
        priced = (multiplier > 0.0) & np.isfinite(multiplier)
        smallest = self.tilted_costs(tilt, self.tilted(duals_of(tilt, multiplier))).min(axis=0)
        return float(self.mass @ smallest) - float(multiplier[priced] @ self.budget[priced])

    def upper(self, estimator: Array, leak_free: Array) -> tuple[float, Array]:
        """Error probability of the estimator, blended with a leak-free one if it leaks too much,
        and the blend.

        Leakage is convex, so the share 1 − ε/leakage suffices. An estimator that is to leak nothing
        and does has inf.
        """
        laws = self.laws(estimator)
        for group, law in zip(self.groups, laws, strict=True):
            if self.budget[group.term] == 0.0 and distance_from_private(law) > Precision.private:
                return math.inf, estimator
        leakages = self.leakages(laws)
        over = (leakages > self.budget) & (self.budget > 0.0)
        if over.any():
            share = 1.0 - float((self.target[over] / leakages[over]).min())
            estimator = (1.0 - share) * estimator + share * leak_free
        return self.error(estimator), estimator


def sweeps(secrets: Secrets, bracket: Bracket, *, growing: bool = True) -> str:
    """Exact proximal sweeps from the uniform guess, of growing or constant step η. Returns why it
    stopped.
    """
    pace = Pace(1.0 / secrets.spread, growing)
    log_estimator = np.full(secrets.cost.shape, -math.log(len(secrets.cost)))
    positive = (secrets.budget > 0.0) & np.isfinite(secrets.budget)
    first = np.where(
        positive, 0.3 * secrets.spread / np.sqrt(2.0 * np.where(positive, secrets.budget, 1.0)), 0.0
    )
    active = set(map(int, np.flatnonzero(secrets.budget == 0.0)))
    dropped = set[int]()
    kept = set[int]()
    tilt = np.zeros((len(secrets.cost), secrets.size))
    multiplier = np.where(secrets.budget == 0.0, math.inf, first)
    while not (verdict := bracket.verdict()):
        if (bracket.stalled >= 6 and growing) or pace.ended(secrets.spread):
            return "stopped: no further progress"
        sweep = Sweep(
            secrets.only(sorted(active)),
            log_estimator,
            secrets.masked(tilt, multiplier, active),
            pace.eta,
        )
        solved = sweep.run(bracket, active - kept)
        if sweep.idle:
            active -= sweep.idle
            dropped |= sweep.idle
            continue
        point = sweep.point
        bracket.offer(point.estimator, duals_of(point.tilt, point.multiplier))
        leakages = secrets.leakages(secrets.laws(point.estimator))
        broken = [
            int(c)
            for c in np.flatnonzero(positive & (leakages > secrets.budget))
            if c not in active
        ]
        if broken or pace.eta * secrets.spread <= 1.0:  # steps so short need not narrow the bracket
            bracket.stalled = 0
        if broken:  # one at a time, as it may keep the others, too
            worst = max(broken, key=lambda c: leakages[c] / secrets.target[c])
            active.add(worst)
            kept |= {worst} & dropped
            continue
        for group in (group for group in secrets.groups if group.term in active):
            tilt[:, group.rows] = point.tilt[:, group.rows]
            multiplier[group.term] = point.multiplier[group.term]
        if solved:
            log_estimator = point.log_estimator
            kept = set()
            dropped = set()
            pace.faster()
        else:
            pace.slower()
    return verdict


@dataclass(frozen=True)
class _Point:
    """The dual of a sweep at a point: duals and what they stand for, P⁺ and its laws, value and
    gradient.
    """

    change: Array
    price_change: Array
    tilt: Array
    multiplier: Array
    laws: list[TiltedLaw]
    log_estimator: Array
    estimator: Array
    mass: Array  # s_i^g [m, groups]
    value: float
    gradient: Array
    price_gradient: Array


class Sweep:
    """One exact sweep from log P [m, N] with step η, under all constraints given."""

    def __init__(self, secrets: Secrets, log_estimator: Array, duals: Duals, eta: float) -> None:
        self._secrets = secrets
        self._eta = eta
        self._start = duals
        self._start_laws = secrets.tilted(duals)
        costs = secrets.tilted_costs(duals.tilt, self._start_laws)
        self._base = log_estimator - eta * (costs - costs.min(axis=0))
        self._scale = float(secrets.mass @ np.abs(costs).max(axis=0))
        self._priced = np.flatnonzero((secrets.budget > 0.0) & np.isfinite(secrets.budget))
        self._rows = np.concatenate(
            [np.arange(g.rows.start, g.rows.stop) for g in secrets.groups] or [np.zeros(0, np.intp)]
        )
        self.point = self._at(np.zeros_like(duals.tilt), np.zeros(secrets.budget.size))
        self.idle = set[int]()

    def run(self, bracket: Bracket, droppable: Set[int]) -> bool:
        """Newton steps until the sweep is solved; False if it was not, or once `idle` budgets may
        have no price.
        """
        start = np.asarray(self._start.multiplier)
        for _ in range(40):
            gain = self._step() if self._rows.size else 0.0
            bracket.passes += 1
            self.idle = {c for c in droppable if self.point.multiplier[c] < _IDLE * start[c]}
            if self.idle:
                return False
            if gain <= 0.5 * Precision.searched**2 * self._secrets.spread:
                return self._is_solved()
            if bracket.verdict():
                return False
        return False

    def _is_solved(self) -> bool:
        """Whether budgets are met, or not used up at next to no price, and perfect
        privacy holds.
        """
        point = self.point
        secrets = self._secrets
        private = [group.rows for group in secrets.groups if secrets.budget[group.term] == 0.0]
        if any(np.abs(point.gradient[:, rows]).max() > Precision.leak_free for rows in private):
            return False
        off = point.price_gradient[self._priced]
        budget = secrets.budget[self._priced]
        spare = (off < 0.0) & (
            point.multiplier[self._priced] * budget <= Precision.searched * secrets.spread
        )
        return bool((spare | (np.abs(off) <= Precision.off_budget * budget)).all())

    def _step(self) -> float:
        """One damped Newton step; the gain that it predicted, 0 when no step improves."""
        self.point, gain = damped(
            self._at, self.point, *self._direction(), Precision.contradicted * self._scale
        )
        return gain

    def _at(self, change: Array, price_change: Array) -> _Point:
        secrets = self._secrets
        eta = self._eta
        change = change.copy()
        for group in secrets.groups:
            change[:, group.rows] -= (change[:, group.rows] @ group.prior)[:, None]
        tilt = self._start.tilt + change
        multiplier = np.asarray(self._start.multiplier) + price_change
        laws = secrets.tilted(duals_of(tilt, multiplier))
        rise = [law.cost - start.cost for law, start in zip(laws, self._start_laws, strict=True)]
        exponent = self._base - eta * secrets.tilting(change, rise)
        largest = exponent.max(axis=0)
        weights = np.exp(exponent - largest)
        total = weights.sum(axis=0)
        log_total = largest + np.log(total)
        estimator = weights / total
        gradient = np.zeros_like(tilt)
        price_gradient = np.zeros(secrets.budget.size)
        masses = list[Array]()
        for group, law, output in zip(secrets.groups, laws, secrets.laws(estimator), strict=True):
            gradient[:, group.rows] = output.deviation - output.mass[:, None] * law.excess
            price_gradient[group.term] += output.mass @ law.divergence
            masses.append(output.mass)
        price_gradient[self._priced] -= secrets.target[self._priced]
        value = -float(secrets.mass @ log_total) / eta - float(
            price_change[self._priced] @ secrets.target[self._priced]
        )
        mass = np.array(masses).reshape(-1, len(tilt)).T
        return _Point(
            change,
            price_change,
            tilt,
            multiplier,
            laws,
            exponent - log_total,
            estimator,
            mass,
            value,
            gradient,
            price_gradient,
        )

    def _direction(self) -> tuple[Array, Array, float]:
        """The Newton direction (dt [m, n], dμ [C]) and its slope gᵀ H⁻¹ g.

        Coordinates: t_i − t_r for every guess but the likeliest, r; the tilt common to all guesses;
        the multipliers.
        """
        point = self.point
        rows = self._rows
        priced = self._priced
        m = len(point.tilt)
        width = rows.size
        reference = int(np.argmax(point.estimator @ self._secrets.mass))
        others = [i for i in range(m) if i != reference]
        common = np.concatenate(
            [-mass @ law.excess for mass, law in zip(point.mass.T, point.laws, strict=True)]
        )
        gradient = np.concatenate(
            [point.gradient[others][:, rows].ravel(), common, point.price_gradient[priced]]
        )
        matrix = self._curvature(others, reference)
        solution = solve_scaled(matrix, gradient)
        count = m * width
        multiplier = point.multiplier[priced]
        held = np.zeros(priced.size, dtype=bool)
        for _ in priced:  # the best among those that keep every μ between 0.3 and 3 times its value
            price = np.clip(solution[count:], -0.7 * multiplier, 2.0 * multiplier)
            if (price == solution[count:]).all():
                break
            held |= price != solution[count:]
            free = np.concatenate([np.ones(count, dtype=bool), ~held])
            solution[count:] = price
            solution[free] = solve_scaled(
                matrix[np.ix_(free, free)],
                gradient[free] - matrix[np.ix_(free, ~free)] @ price[held],
            )
        direction = np.zeros_like(point.tilt)
        prices = np.zeros(self._secrets.budget.size)
        direction[:, rows] = solution[count - width : count]
        for k, i in enumerate(others):
            direction[i, rows] += solution[k * width : (k + 1) * width]
        prices[priced] = solution[count:]
        return direction, prices, float(gradient @ solution)

    def _curvature(self, others: list[int], reference: int) -> Array:
        """−Hessian of D in the coordinates of `_direction`."""
        point = self.point
        secrets = self._secrets
        priced = self._priced
        m = len(point.tilt)
        width = self._rows.size
        groups = secrets.groups
        feature = np.vstack([g.feature for g in groups])
        excess = np.concatenate([law.excess for law in point.laws], axis=1)
        share = np.vstack([np.broadcast_to(g.share, g.feature.shape) for g in groups])
        kappa = np.zeros((m, priced.size, secrets.mass.size))  # of c_il by μ
        for group, law in zip(groups, point.laws, strict=True):
            kappa[:, priced == group.term] += np.multiply.outer(law.divergence, group.share)[
                :, None
            ]
        size = m * width + priced.size
        matrix = np.zeros((size, size))
        tail = np.arange((m - 1) * width, size)
        for i in range(m):
            for k in range(i + 1, m):
                slopes = list[Array]()
                places = list[NDArray[np.intp]]()
                for guess, sign in ((i, 1.0), (k, -1.0)):
                    if guess != reference:
                        slopes.append(sign * (feature - excess[guess][:, None] * share))
                        start = others.index(guess) * width
                        places.append(np.arange(start, start + width))
                slopes += [-(excess[i] - excess[k])[:, None] * share, kappa[i] - kappa[k]]
                difference = np.vstack(slopes)
                at = np.concatenate([*places, tail])
                weight = secrets.mass * point.estimator[i] * point.estimator[k]
                matrix[np.ix_(at, at)] += self._eta * (difference * weight) @ difference.T
        self._add_costs(matrix, others)
        return matrix

    def _add_costs(self, matrix: Array, others: list[int]) -> None:
        """s_i^g times the Hessian of cost(t_i^g, μ), and curvature for constants in groups of
        tilts: they change nothing.
        """
        point = self.point
        secrets = self._secrets
        m = len(self.point.tilt)
        width = self._rows.size
        first = 0
        for number, (group, law) in enumerate(zip(secrets.groups, point.laws, strict=True)):
            n = group.prior.size
            where = np.flatnonzero(self._priced == group.term)
            common = np.arange((m - 1) * width + first, (m - 1) * width + first + n)
            for i in range(m) if where.size else ():
                posterior = group.prior + law.excess[i]
                ray = np.vstack([np.eye(n), -law.log_ratio[i]])
                block = ray @ (np.diag(posterior) - np.outer(posterior, posterior)) @ ray.T
                block *= point.mass[i, number] / point.multiplier[group.term]
                sets = (
                    [common]
                    if i not in others
                    else [common, np.arange(n) + others.index(i) * width + first]
                )
                price = m * width + where
                matrix[np.ix_(price, price)] += block[n, n]
                for one in sets:
                    matrix[np.ix_(one, price)] += block[:n, n:]
                    matrix[np.ix_(price, one)] += block[n:, :n]
                    for two in sets:
                        matrix[np.ix_(one, two)] += block[:n, :n]
            for start in range(first, m * width, width):
                own = np.arange(start, start + n)
                matrix[np.ix_(own, own)] += matrix[own, own].mean() / n
            first += n
