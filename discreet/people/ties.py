"""Ties of a design: who draws a guess, and what decides if a large part of the people ties.

An optimal estimator is a tilted Bayes rule except at ties. Usually only a few people tie, and the
rule lists them. But the tilt may cancel the loss of a whole group: under equalized odds, the group
that is easier to predict has an operating point inside the region that it could reach, so it has no
price of its own. Then every treatment V of the tied people with the same sums b_i = Σ_l V_il a_l is
optimal. The one with the largest entropy is used, because it also applies to people who were not in
the table: with a *second tilt* t' the guess is drawn from those that tie, with probabilities

    V_il = exp(−Σ_j t'_ij p(x_j given z_l)) / Σ over the k that tie there of exp(−Σ_j t'_kj p(x_j
    given z_l)).

t' minimises the convex function Σ_l p(z_l) log Σ_k exp(−Σ_j t'_kj p(x_j given z_l)) + Σ_i t'_i·b_i,
whose gradient is the error of the sums. Newton's method finds it for any number of guesses and any
sets of guesses that tie. No such t' exists if the sums determine the treatment, which does not
happen for a part of the people that is large enough to matter. Then the ties are listed, up to the
length of the list.

A list is public, so it contains probabilities rounded to six digits instead of those of a person.
Everyone within the rounding of a listed point gets its column, in the judged rule as in the
deployed one.

Source: docs/theory.md, section 23; I. Csiszár, I-Divergence Geometry of Probability Distributions
and Minimization Problems, Annals of Probability 3 (1975) 146–158.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.measures.law import faint_lift
from discreet.measures.measure import Scope
from discreet.measures.registry import LINEAR
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import one_hot
from discreet.numerics.tilted_losses import in_order_losses, least_two
from discreet.people.deployed import listed
from discreet.problems.constraint import Term
from discreet.problems.laws import Law, laws_of
from discreet.problems.outcome_rules import OutcomeRule
from discreet.problems.problem import Problem

ROUNDING = 1e-9
"""Largest difference between the probabilities of one person in two processes."""

_DIGITS = 6  # digits of the probabilities in a list

WITHIN = 0.5 * 10.0**-_DIGITS + ROUNDING
"""Largest distance from a listed point at which a person gets its column."""

NEAR = 1e-6
"""Guesses whose scores differ by more do not tie."""

_MOST_TIES = 256
"""Largest number of distinct ties in a list; an optimal vertex randomises for at most (m − 1)(n −
1).
"""

_MISSED = 1e-13
"""Largest error of the sums of a second tilt, relative to the mass of all people."""

_RANK = 1e-12  # relative to the largest change by a tilt: anything smaller counts as no change
_FEW = 4096  # number of people with whom Newton's method starts
_STEPS = 100
# Relative to the budget: the largest change of the leakage by the traces of an answer.
_NEAR_BUDGET = 1e-3


@dataclass(frozen=True)
class SecondTilt:
    """The rule for people with several guesses whose scores are within `band` of the smallest, as
    described above; tilt [m, n].
    """

    tilt: Array
    band: float = NEAR

    def to_dict(self) -> dict[str, Any]:
        """Return the member of a rule file."""
        return {"band": self.band, "tilt": self.tilt.tolist()}


@dataclass(frozen=True)
class Tied:
    """A design as a rule for the people of its table, with a column for every tie; the points of
    the ties in a list [K, m + n]; and the second tilt that treats them, if any.
    """

    rule: OutcomeRule
    points: Array
    second: SecondTilt | None = None


def with_ties(problem: Problem, estimator: Array, tilt: Array, *, second: bool = True) -> Tied:
    """Return an estimator [m, N] as a rule: its ties, with the same column for everyone who cannot
    be told apart there.

    second: whether a second tilt may treat them if they are many.
    """
    nobody = Tied(OutcomeRule(tilt), np.zeros((0, problem.m + problem.n)))
    if problem.m == 1:
        return nobody
    losses = in_order_losses(problem.p_xz, problem.loss, tilt)
    best, least, _, runner = least_two(losses)
    mass = problem.p_z
    margin = np.divide(runner - least, mass, out=np.full_like(mass, np.inf), where=mass > 0.0)
    drawn = estimator[best, np.arange(problem.N)] < 1.0
    ties = np.flatnonzero((margin <= ROUNDING) | (drawn & (margin <= NEAR)))
    if not ties.size:
        return nobody
    if second and _are_many(problem, ties):
        second_tilt = _second(problem, estimator, best, losses - least <= NEAR * mass)
        if second_tilt is not None:
            tied, made, treatment = second_tilt
            return Tied(OutcomeRule(tilt, tied, made), points_of(problem, tied), treatment)
    points, kinds = _kinds(problem, ties)
    weights = np.bincount(kinds, weights=mass[ties])
    points = points[np.sort(np.argsort(-weights, kind="stable")[:_MOST_TIES])]
    places = listed(_losses_and_posteriors(problem, np.arange(problem.N)), points.T, WITHIN)
    members = np.flatnonzero(places >= 0)
    places, kinds = np.unique(places[members], return_inverse=True)
    columns = _mean_columns(estimator.take(members, axis=1) * mass[members], kinds)
    columns = _adjust_columns(
        problem, columns, members, kinds, _sums_of_sure(problem, best, members)
    )
    rule = OutcomeRule(tilt, members, columns.take(kinds, axis=1))
    return Tied(rule, points[places].take(kinds, axis=0))


def _losses_and_posteriors(problem: Problem, people: NDArray[np.intp]) -> Array:
    """Return the expected loss of each guess, followed by p(x_j given z), for people [m + n,
    people].
    """
    both = np.vstack([problem.loss.take(people, axis=1), problem.p_xz.take(people, axis=1)])
    mass = problem.p_z[people]
    return np.divide(both, mass, out=np.full_like(both, np.inf), where=mass > 0.0)


def points_of(problem: Problem, ties: NDArray[Any]) -> Array:
    """Return the points of these people in a list [K, m + n]."""
    return np.asarray(np.round(_losses_and_posteriors(problem, ties), _DIGITS).T)


def _are_many(problem: Problem, ties: NDArray[np.intp]) -> bool:
    """Return True if more kinds of people tie than a vertex randomises for; usually a part of the
    ties suffices to decide.
    """
    most = 2 * (problem.m - 1) * problem.n
    some = ties[:: max(1, ties.size // (8 * most))]
    return any(len(_kinds(problem, each)[0]) > most for each in (some, ties))


def _kinds(problem: Problem, ties: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
    """Return the points of ties [K, m + n], in the order of their numbers, and the point of each
    tie.
    """
    points, kinds = np.unique(points_of(problem, ties), axis=0, return_inverse=True)
    return points, kinds.reshape(-1)


def _mean_columns(columns: Array, kinds: NDArray[np.intp]) -> Array:
    """Return the mean column [m, K] of the people of each kind, from columns times mass."""
    means = np.maximum([np.bincount(kinds, weights=row) for row in columns], 0.0)
    return np.asarray(means / means.sum(axis=0))


def _sums_of_sure(problem: Problem, best: NDArray[Any], tied: NDArray[np.intp]) -> Array:
    """Return the sums of p(x, z) over the people who do not tie, by their best guess [n, m]."""
    labels = one_hot(best, problem.m)
    labels[:, tied] = 0.0
    return np.asarray(problem.p_xz @ labels.T)


def _adjust_columns(
    problem: Problem, columns: Array, tied: NDArray[Any], kinds: NDArray[Any], of_sure: Array
) -> Array:
    """Return columns of listed ties [m, K] with which the rule is exactly private, if that is
    required, and uses its budgets, as far as a small change suffices.

    kinds: the column of each tied person; of_sure: the sums of all others [n, m]. The answer of an
    interior point has a trace of every guess everywhere, and a rule has none except at its ties.
    """
    mass = np.asarray(np.bincount(kinds, weights=problem.p_z[tied]), dtype=np.float64)
    seen = np.array([np.bincount(kinds, weights=row) for row in problem.p_xz[:, tied]]) / mass
    with np.errstate(divide="ignore"):
        people = _Treatment(seen, mass, columns > 0.0, -np.log(columns))
    start = np.zeros((problem.m, problem.n))
    tilt = _adjust_tilt(problem, people, start, np.eye(problem.n), of_sure)
    return columns if tilt is start else people.drawn(tilt)


def _adjust_tilt(
    problem: Problem, people: _Treatment, tilt: Array, basis: Array, of_sure: Array
) -> Array:
    """Return a nearby tilt [m, r] with which the rule is exactly private, if that is required, and
    uses its budgets; the same tilt if it does already, or if there is none.
    """
    tilt = _private_tilt(problem, people, tilt, basis, of_sure)
    return _at_budget(problem, people, tilt, basis, of_sure)


def _second(
    problem: Problem, estimator: Array, best: NDArray[Any], least: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], Array, SecondTilt] | None:
    """Return the tied people, their columns [m, K], and the second tilt; None if there is none.

    best: the first best guess of everyone [N]; least: True for the best guesses of a person [m, N].
    """
    tied = np.flatnonzero(least.sum(axis=0) > 1)
    among = least.take(tied, axis=1)
    mass = problem.p_z[tied]
    seen = problem.p_xz.take(tied, axis=1) / mass
    values, vectors = np.linalg.eigh((seen * mass) @ seen.T)
    # the differences that can be resolved among the tied people
    basis = vectors[:, values > 1e-12 * values[-1]]
    chosen = np.where(among, estimator.take(tied, axis=1), 0.0)
    chosen /= chosen.sum(axis=0)
    of_sure = _sums_of_sure(problem, best, tied)
    start = np.zeros((problem.m, basis.shape[1]))
    step = max(1, tied.size // _FEW)
    if step > 1:  # a part of the people determines where to start
        some = slice(None, None, step)
        few = _Treatment(basis.T @ seen[:, some], mass[some], among[:, some])
        start = few.with_sums(start, chosen[:, some] @ few.weighed.T)[0]
    everybody = _Treatment(basis.T @ seen, mass, among)
    tilt, missed = everybody.with_sums(start, (estimator @ problem.p_xz.T - of_sure.T) @ basis)
    if missed > _MISSED:
        return None
    tilt = _adjust_tilt(problem, everybody, tilt, basis, of_sure)
    second = SecondTilt(tilt @ basis.T)
    return tied, _draw_treatment(second.tilt @ seen, among), second


def _draw_treatment(scores: Array, among: NDArray[np.bool_]) -> Array:
    """Return V [m, K] for second scores [m, K]."""
    scores = np.where(among, scores, np.inf)
    powers = np.exp(scores.min(axis=0) - scores)
    return np.asarray(powers / powers.sum(axis=0))


@dataclass(frozen=True)
class _Treatment:
    """Treatments of tied people by second tilts [m, r].

    seen    the features of each [r, K]
    mass    [K]
    among   the guesses that tie there [m, K]
    base    scores [m, K] in addition to those of the tilt
    """

    seen: Array
    mass: Array
    among: NDArray[np.bool_]
    base: Array | float = 0.0

    @cached_property
    def weighed(self) -> Array:
        """Return a_l of each [r, K]."""
        return self.seen * self.mass

    def drawn(self, tilt: Array) -> Array:
        """Return V [m, K]."""
        return _draw_treatment(tilt @ self.seen + self.base, self.among)

    def sums(self, tilt: Array) -> tuple[Array, Array]:
        """Return Σ_l V_il a_l [m, r], and its decrease per unit of tilt [m r, m r]: the Hessian of
        the function of the tilt.
        """
        drawn = self.drawn(tilt)
        m, r = tilt.shape
        curve = np.zeros((m, r, m, r))
        for i in range(m):
            for k in range(i + 1):
                both = drawn[i] * ((1.0 if i == k else 0.0) - drawn[k])
                curve[i, :, k, :] = (self.weighed * both) @ self.seen.T
                curve[k, :, i, :] = curve[i, :, k, :].T
        return drawn @ self.weighed.T, curve.reshape(m * r, m * r)

    def value(self, tilt: Array, wanted: Array) -> float:
        """Return the value of the convex function that is minimal at the wanted sums."""
        scores = np.where(self.among, tilt @ self.seen + self.base, np.inf)
        lowest = scores.min(axis=0)
        return float(
            self.mass @ (np.log(np.exp(lowest - scores).sum(axis=0)) - lowest)
            + (tilt * wanted).sum()
        )

    def with_sums(self, tilt: Array, wanted: Array) -> tuple[Array, float]:
        """Return the tilt with the wanted sums [m, r], by damped Newton steps, and its largest
        error.

        Directions that no treatment changes, such as the sum of a guess that ties with no other, do
        not count as errors. A step that halves the error is accepted, since near the end the
        function changes by less than its rounding.
        """
        sums, curve = self.sums(tilt)
        values, vectors = np.linalg.eigh(curve)
        # by treatments, which are the same directions at every tilt
        moved = vectors[:, values > _RANK * values[-1]]
        missing, missed = self._missing(sums, wanted, moved)
        for _ in range(_STEPS):
            if missed <= 1e-3 * _MISSED:
                break
            move = np.linalg.lstsq(curve, -missing, rcond=_RANK)[0]
            step = np.asarray(move, dtype=np.float64).reshape(tilt.shape)
            last = missed
            following = self.sums(tilt + step)
            missing, missed = self._missing(following[0], wanted, moved)
            if not missed < 0.5 * last:
                if last <= _MISSED:
                    return tilt, last
                length = self._length(tilt, step, wanted, float(move @ curve @ move))
                if length == 0.0:
                    return tilt, last
                if length < 1.0:
                    step = length * step
                    following = self.sums(tilt + step)
                    missing, missed = self._missing(following[0], wanted, moved)
            tilt = tilt + step
            curve = following[1]
        return tilt, missed

    @staticmethod
    def _missing(sums: Array, wanted: Array, moved: Array) -> tuple[Array, float]:
        """Return wanted − sums in the directions in which treatments move them [m r], and its
        largest entry.
        """
        missing = moved @ (moved.T @ (wanted - sums).reshape(-1))
        return missing, float(np.abs(missing).max())

    def _length(self, tilt: Array, step: Array, wanted: Array, expected: float) -> float:
        """Return the share of a step by which the function falls as much as its slope predicts; 0
        if it does not.
        """
        now = self.value(tilt, wanted)
        length = 1.0
        while self.value(tilt + length * step, wanted) > now - 1e-4 * length * expected + 1e-15:
            length *= 0.5
            if length <= 1e-6:
                return 0.0
        return length


def _at_budget(
    problem: Problem, people: _Treatment, tilt: Array, basis: Array, of_sure: Array
) -> Array:
    """Return a nearby tilt [m, r] with which the rule uses the budgets of smooth measures that it
    nearly uses; the same tilt if it does already, or if there is none.

    of_sure: the sums of all others [n, m], who have one guess each. The answer of an interior point
    has a trace of other guesses there. Without the traces the leakage changes by as much, which
    ties make up for: tilted by a share s_c of the slope v_c of each leakage at their sums, they
    leak less by Σ_d s_d v_c·C v_d, with the curvature C of the function of their tilt.
    """
    terms = problem.terms
    for term in terms:
        if not term.priced or term.measure.scope is not Scope.TOTAL or term.measure.name in LINEAR:
            return tilt
    kept = 1.0 - Precision.of(problem, 0.0).summed
    most = np.array([term.measure.level(term.budget.amount * kept) for term in terms])
    lift = faint_lift(problem.p_x)
    farthest = np.inf
    nearby = tilt
    for _ in range(_STEPS):
        sums, curve = people.sums(nearby)
        joint = np.ldexp((of_sure + basis @ sums.T).T, lift)
        law = laws_of((joint, np.zeros_like(joint)), problem.marginal, lift, terms)
        over = law.levels / most - 1.0
        binding = np.flatnonzero(over >= -_NEAR_BUDGET)
        last = farthest
        farthest = np.abs(over[binding]).max(initial=0.0)
        if not binding.size or farthest > _NEAR_BUDGET or farthest >= 0.5 * last:
            break
        if (over[binding] <= 0.0).all() and farthest <= Precision.searched:
            return nearby
        slopes = np.array([_slope(law, terms, number, basis) for number in binding.tolist()])
        rows = slopes.reshape(binding.size, -1)
        excess = (over[binding] + 0.5 * Precision.searched) * most[binding]
        falls = rows @ curve @ rows.T
        if not np.isfinite(falls).all():
            break
        shares = np.linalg.lstsq(falls, excess, rcond=None)[0]
        nearby = nearby + np.tensordot(shares, slopes, axes=1)
    return tilt


def _slope(law: Law, terms: tuple[Term, ...], number: int, basis: Array) -> Array:
    """Return the slope [m, r] of the leakage by one constraint in the sums of treated people."""
    term = terms[number]
    groups = law.constraints[number]
    slopes = [term.measure.slope(group.ratio_minus_one(), group.p_x) for group in groups]
    return np.asarray(np.concatenate(slopes, axis=1) @ basis[term.rows])


def _private_tilt(
    problem: Problem, people: _Treatment, tilt: Array, basis: Array, of_sure: Array
) -> Array:
    """Return a nearby tilt [m, r] with which the rule is exactly private, if that is required.

    of_sure: the sums of all others [n, m], who have one guess each. An answer may have a trace of
    other guesses there.
    """
    away = []
    for group in (group for term in problem.terms if term.budget.perfect for group in term.groups):
        prior = problem.p_x[group]
        rows = np.zeros((prior.size, problem.n))
        rows[:, group] = np.eye(prior.size) - np.outer(
            prior / (prior.sum() or 1.0), np.ones(prior.size)
        )
        away.append(rows)
    if not away:
        return tilt
    equations = np.concatenate(away)
    (m, r) = tilt.shape
    left = np.inf
    nearby = tilt
    for _ in range(_STEPS):
        sums, curve = people.sums(nearby)
        missing = (equations @ (of_sure + basis @ sums.T)).T
        last = left
        left = float(np.abs(missing).max())
        if left >= 0.5 * last:
            break
        tilt = nearby
        falls = np.kron(np.eye(m), equations @ basis) @ curve
        nearby = nearby + np.linalg.lstsq(falls, missing.reshape(-1), rcond=_RANK)[0].reshape(m, r)
    return tilt
