"""Additions to an answer: a version within the budget, or one that leaks nothing, and duals. The
loop passes them to the judge.

- `private_versions` moves an estimator onto Φ P = 0, by a small change that its own randomisation
  permits.
- `within_budget` blends it with the best constant guess if that fails, and at positive budgets.
- `duals_along` derives duals from the slopes of the leakage at an estimator, with the multiplier of
  the best bound, and `multipliers_of` under any measure.

The judge trusts nothing here: it checks these estimators and duals like any others.

Source: docs/theory.md, sections 6, 8 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.backends.multipliers import multipliers_of
from discreet.backends.precision import Precision
from discreet.measures.law import OutputLaw, distance_from_private, output_law
from discreet.measures.measure import Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import column_error, normalise, summing_to_one
from discreet.numerics.rounding import LARGEST_TILT
from discreet.problems.blend import least_share
from discreet.problems.blocks import BlockProblem
from discreet.problems.laws import Law, scaled_law
from discreet.problems.outcomes import Kind
from discreet.problems.private_rows import PrivateRows
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce
from discreet.problems.roots import midpoints

if TYPE_CHECKING:
    from discreet.problems.causal.model import CausalProblem
    from discreet.problems.causal.rule import CausalRule
    from discreet.problems.continuous.model import ContinuousProblem
    from discreet.problems.continuous.rule import IntervalRule


def private_versions(problem: Any, answer: Any) -> list[Array]:
    """Return the answer moved onto Φ P = 0 if it is a matrix [m, N] and this is possible; otherwise
    an empty list.

    These are the equations of all constraints of perfect privacy, or of all constraints if there
    are none. If there are other budgets, a second version also satisfies these. If several actions
    of an adversary are best, the equations keep them equally good.
    """
    if problem.kind is not Kind.ARRAYS or np.ndim(answer) != 2:
        return []
    columns = normalise(np.asarray(answer, dtype=np.float64))
    required = PrivateRows.of(problem.terms, problem.p_x)
    private = required or replace(required, groups=problem.groups)
    deviations = np.concatenate([_deviation(problem, private, rows) for rows in private.groups])
    feature = np.divide(
        deviations, problem.p_z, out=np.zeros_like(deviations), where=problem.p_z > 0.0
    )
    moved = _remove_leakage(
        columns,
        problem.p_z,
        feature,
        lambda estimator: _private_laws(problem, private, estimator, problem.law(estimator)),
    )
    if moved is None:
        return []
    version = min((moved, summing_to_one(moved)), key=partial(_uncertain, problem))
    others = required and any(term.priced for term in problem.terms)
    return [version, _blended_within(problem, version)] if others else [version]


def _deviation(problem: Problem, private: PrivateRows, rows: slice) -> Array:
    """Return the deviation of a group of rows and the outcome from independence [k, N]."""
    if rows.stop <= problem.n:
        return problem.deviations[rows]
    joint = private.extend_rows(problem.p_xz)[rows]
    prior = private.extend_rows(problem.p_x)[rows]
    return np.asarray(joint - (prior / prior.sum())[:, None] * joint.sum(axis=0))


def _private_laws(
    problem: Problem, private: PrivateRows, columns: Array, law: Law
) -> tuple[OutputLaw, ...]:
    """Return the laws of all groups of private rows under an estimator [m, N] and its law."""
    laws = zip(problem.groups, law.groups, strict=True)
    private_laws = [own for rows, own in laws if rows in private.groups]
    for group in private.groups[len(private_laws) :]:
        own = output_law(private.extend_rows(problem.p_xz)[group], columns)
        private_laws.append(scaled_law(own, float(own.p_x.sum()), 1.0))
    return tuple(private_laws)


def amounts_to_keep(problem: Problem | BlockProblem) -> list[float]:
    """Return the admissible leakage under each constraint, in its unit.

    If budget 0 compares several best actions of an adversary, no estimator of doubles leaks exactly
    nothing. Then the judge proves that an estimator without leakage exists next to it, or states
    its leakage.
    """
    tied = PrivateRows.of(problem.terms, problem.p_x).tied
    amounts = enumerate(term.budget.amount for term in problem.terms)
    return [Precision.private if number in tied else amount for number, amount in amounts]


def _blended_within(problem: Problem, columns: Array) -> Array:
    """Return an estimator [m, N] blended until it satisfies all budgets except those of perfect
    privacy.
    """
    share, towards = constant_share(problem, columns)
    blend = normalise((1.0 - share) * columns + share * towards[:, None])
    versions = sorted((blend, summing_to_one(blend)), key=partial(_uncertain, problem))
    return next((version for version in versions if _keeps(problem, version)), versions[0])


def constant_share(problem: Problem, columns: Array) -> tuple[float, Array]:
    """Return the share of a guess [m] to blend in so that, including rounding, all leakages satisfy
    their budgets except those of perfect privacy, and the guess.

    The guess is independent of the outcome: the best constant one, or a draw from the law of Ŷ,
    whichever costs less.
    """
    columns = normalise(columns)
    law = problem.law(columns)
    amounts = zip(problem.terms, amounts_to_keep(problem), strict=True)
    budgets = [
        amount * (1.0 - Precision.searched) if term.priced else math.inf for term, amount in amounts
    ]
    slack = 2.0 * _uncertain(problem, columns, law) + (problem.m + 1) * Precision.entry
    error = problem.error_probability(columns)
    constant = np.eye(problem.m)[int(np.argmin(problem.constant_errors))]
    blends = [(problem.constant_error - error, 1.0, constant)]
    for towards in (constant, law.mass / law.mass.sum()):
        share = least_share(law, law.under_guess(towards), budgets, slack)
        if share is not None:
            rise = float(problem.constant_errors @ towards) - error
            blends.append((share * rise, share, towards))
    _, share, towards = min(blends, key=itemgetter(0))
    return share, towards


def _private_groups(problem: Problem, law: Law) -> tuple[OutputLaw, ...]:
    """Return the laws of the groups of rows that require perfect privacy."""
    each = zip(problem.terms, law.constraints, strict=True)
    return tuple([group for term, groups in each if term.budget.perfect for group in groups])


def _uncertain(problem: Problem, columns: Array, law: Law | None = None) -> float:
    """Return the relative change of entries of the law of an estimator [m, N] if the judge moves
    secrets to perfect privacy. Columns may not sum to one.
    """
    own = problem.law(columns) if law is None else law
    leaks = [distance_from_private(group) for group in _private_groups(problem, own)]
    return Precision.felt * (max(leaks) + 5.0 * column_error(columns)) if leaks else 0.0


def duals_for(problem: Any, answer: Any, seconds: float = math.inf) -> Iterator[tuple[Array, Any]]:
    """Yield (tilt [m, n], multiplier) derived from the law of an answer, the quickest first; none
    for rules on many outcomes, and at budget inf.

    The law of a rule for densities is computed on a fine partition. seconds: the time limit of a
    linear program; without time left, only closed forms are used.
    """
    if all(term.budget.oblivious for term in problem.terms):
        return
    if problem.kind is Kind.BLOCKS:
        if not problem.few:
            return
        problem, answer = problem.in_memory(), answer.dense(problem.blocks)
    elif problem.kind is not Kind.ARRAYS:
        if problem.budget == 0.0:
            return
        if problem.kind is Kind.STEPS:
            yield _over_time(problem, answer)
            return
        problem, answer = _on_fine_grid(problem, answer)
    elif np.ndim(answer) != 2:
        return
    reduced = reduce(problem, merge=False)
    columns = normalise(np.asarray(answer, dtype=np.float64))
    if reduced.group is not None:
        columns = columns[:, reduced.group >= 0]
    for tilt, multipliers in _duals_of(reduced.problem, columns, seconds):
        yield reduced.restore_tilt(tilt), multipliers


def _duals_of(problem: Problem, columns: Array, seconds: float) -> Iterator[tuple[Array, Any]]:
    """Yield duals derived from the law of an estimator [m, N]; all outcomes and private values have
    positive probability.

    With one multiplier these are its slopes, which are 0 for a guess that is never made, followed
    by the duals of the linear program, which are not.
    """
    law = problem.law(columns)
    first = problem.terms[0]
    if len(problem.terms) == 1 and first.priced and first.measure.scope is Scope.TOTAL:
        slopes = [first.measure.slope(group.ratio_minus_one(), group.p_x) for group in law.groups]
        yield duals_along(np.concatenate(slopes, axis=1), problem.p_xz, problem.loss, first.level)
    duals = multipliers_of(problem, law, seconds)
    if duals is not None:
        yield duals


def _over_time(problem: CausalProblem, rule: CausalRule) -> tuple[Array, float]:
    """Return duals of a causal rule: μ log ratio, with the μ whose backward pass gives the best
    bound.
    """
    model = problem.noncausal
    tree = problem.tree
    law = model.output_law(rule.dense())
    direction = MUTUAL_INFORMATION.slope(law.ratio_minus_one(), law.p_x)

    def least(losses: Array, slopes: Array) -> tuple[float, float]:
        best = tree.weights(tree.best_kernels(losses))[-1]
        return float((losses * best).sum()), float((slopes * best).sum())

    return duals_along(direction, model.p_xz, model.loss, problem.budget, least)


def _on_fine_grid(problem: ContinuousProblem, rule: IntervalRule) -> tuple[Problem, Array]:
    inner = np.unique(np.concatenate([problem.quantiles, problem.breakpoints]))
    for _ in range(3):
        inner = np.unique(np.concatenate([inner, midpoints(inner[:-1], inner[1:])]))
    edges = np.unique(np.concatenate([rule.edges, inner]))
    return problem.on(edges), rule.probabilities(edges[1:])


def within_budget(problem: Problem, columns: Array, gap: float = 0.0) -> Array:
    """Return an estimator [m, N] changed until it satisfies the budgets, including rounding, unless
    it already does.

    Perfect privacy is reached by the cheapest change that removes the leakage, if possible; other
    budgets by blending in a guess that is independent of the outcome. The best constant guess
    replaces the estimator if its error is at most the relative `gap` above it.
    """
    error = float(np.vdot(columns, problem.loss))
    constant = np.eye(problem.m)[:, [int(np.argmin(problem.constant_errors))]]
    if problem.constant_error <= error * (1.0 + gap):
        return np.repeat(constant, problem.N, axis=1)
    private = PrivateRows.of(problem.terms, problem.p_x)
    if not private:
        kept = _keeps_by_plain_sums(problem, columns) or _keeps(problem, normalise(columns))
        return columns if kept else _blended_within(problem, columns)
    columns = normalise(columns)
    law = problem.law(columns)
    kept = _keeps(problem, columns, law)
    laws = _private_laws(problem, private, columns, law)
    # If X is known, nothing can leak.
    frequent = all(
        law.p_x.size == 1 or law.mass[law.mass > 0.0].min() >= Precision.no_mass for law in laws
    )
    almost_private = kept and frequent
    if almost_private and _is_drawn_enough(columns, laws):
        return columns
    versions = private_versions(problem, columns)
    exact = [version for version in versions if _keeps(problem, version)]
    if exact:
        best = min(exact, key=problem.error_probability)
        if not almost_private or problem.error_probability(best) <= error * (1.0 + gap):
            return best
    if almost_private:  # private within a tolerance; exact privacy would cost more than the gap
        return columns
    return versions[-1] if versions else np.repeat(constant, problem.N, axis=1)


def _keeps_by_plain_sums(problem: Problem, columns: Array) -> bool:
    """Return True if an estimator satisfies all budgets according to plain sums, which are cheap
    but not proven.

    A budget below the rounding errors of plain sums is not satisfied according to them.
    """
    leakages = plain_law(problem, columns).leakages.tolist()
    return all(
        term.budget.oblivious
        or (0.0 < leakage <= term.budget.amount and Precision.resolves(term, problem.p_x))
        for term, leakage in zip(problem.terms, leakages, strict=True)
    )


def plain_law(problem: Problem, columns: Array) -> Law:
    """Return the law of (X, Ŷ) under an estimator [m, N], computed by plain sums."""
    constraints = []
    for term in problem.terms:
        groups = []
        for rows in term.groups:
            whole = len(term.groups) == 1
            weights = problem.p_z if whole else problem.p_xz[rows].sum(axis=0)
            prior = problem.p_x[rows] if whole else problem.p_x[rows] / problem.p_x[rows].sum()
            deviation = columns @ problem.deviations[rows].T
            groups.append(OutputLaw(columns @ weights, deviation, prior, measure=term.measure))
        constraints.append(tuple(groups))
    return Law(tuple(constraints))


def _keeps(problem: Problem, columns: Array, law: Law | None = None) -> bool:
    """Return True if a normalised estimator [m, N] satisfies all budgets, including rounding."""
    own = problem.law(columns) if law is None else law
    groups = _private_groups(problem, own)
    if not all(distance_from_private(group) <= Precision.private for group in groups):
        return False
    if not any(term.priced for term in problem.terms):
        return True
    ceilings = own.ceilings(_uncertain(problem, columns, own)).tolist()
    kept = zip(problem.terms, ceilings, amounts_to_keep(problem), strict=True)
    return all(ceiling <= amount for term, ceiling, amount in kept if term.priced)


def blend_to_target(estimator: Array, law: Law, towards: Array, end: Law, target: float) -> Array:
    """Return an estimator [m, N] of law `law`, blended with one of law `end` until it leaks at most
    `target`; `towards` itself if that is impossible.
    """
    share = least_share(law, end, target, 0.0)
    share = 1.0 if share is None else share
    return np.asarray((1.0 - share) * estimator + share * towards)


_LawsOf: TypeAlias = Callable[[Array], tuple[OutputLaw, ...]]
"""From an estimator to the laws of all groups of rows that must be private."""


def _remove_leakage(estimator: Array, p_z: Array, feature: Array, laws: _LawsOf) -> Array | None:
    """Move a column-stochastic estimator [m, N] onto Φ P = 0 within `Precision.private`; return
    None if it randomises too little for that. feature: f_l = a_l/w_l − π [·, N] of all rows that
    must be private.

    Newton steps P_il ← P_il (1 + y_i·f_l − Σ_k P_kl y_k·f_l): zero entries stay zero, columns stay
    stochastic, and y [m, ·] solves the normal equations. Guesses of negligible mass and, if that is
    not enough, rare ones are given up first. At a vertex that cannot move, or that has too few
    drawn guesses for an estimator with perfect privacy to exist nearby, a small share of a guess
    that is independent of the outcome is blended in first.
    """
    frequent = without_rare(estimator, p_z, Precision.unseen)
    ignoring = (frequent @ p_z)[:, None] / p_z.sum()
    starts = [without_rare(estimator, p_z, Precision.no_mass)]
    if frequent is not estimator:
        starts.append(frequent)
    for start in starts:
        own = _project(start, p_z, feature, laws)
        if own is not None and _is_drawn_enough(own, laws(own)):
            return own
    # The smallest share comes first, since it costs least.
    for share in (Precision.private, *(Precision.derived * 100.0**k for k in range(5))):
        start = normalise((1.0 - share) * frequent + share * ignoring)
        mixed = _project(start, p_z, feature, laws)
        if mixed is not None:
            return mixed
    return None


def without_rare(estimator: Array, p_z: Array, least: float) -> Array:
    """Return the estimator without guesses of smaller mass: their outcomes go to the likeliest
    other guess there.
    """
    rare = estimator @ p_z < least
    if not rare.any() or not estimator[rare].any():
        return estimator
    kept = np.where(rare[:, None], 0.0, estimator)
    others = np.where(rare[:, None], -1.0, estimator).argmax(axis=0)
    kept[others, np.arange(others.size)] += estimator[rare].sum(axis=0)
    return kept


def _project(estimator: Array, p_z: Array, feature: Array, laws: _LawsOf) -> Array | None:
    best = None
    residual = np.inf
    for _ in range(8):
        all_laws = laws(estimator)
        now = max(map(distance_from_private, all_laws))
        if now >= 0.5 * residual:
            break
        best = estimator
        residual = now
        deviation = np.concatenate([law.deviation for law in all_laws], axis=1)
        step = _projection_step(p_z, estimator, feature, deviation)
        if not np.isfinite(step).all() or step.min() < -0.5:
            break
        estimator = normalise(estimator * (1.0 + step))
    return best if residual <= Precision.private else None


def _is_drawn_enough(estimator: Array, laws: tuple[OutputLaw, ...]) -> bool:
    """Return True if at least as many probabilities can be moved as Φ P = 0 has equations, so that
    an estimator with perfect privacy exists nearby. Identical groups of rows contribute their
    equations once.
    """
    free = (np.count_nonzero(estimator > Precision.private, axis=0) - 1).sum()
    distinct = {law.deviation.tobytes(): law for law in laws}.values()
    sizes = [(np.count_nonzero(law.mass) - 1, np.count_nonzero(law.p_x) - 1) for law in distinct]
    return bool(free >= sum([guesses * values for guesses, values in sizes]))


def _projection_step(p_z: Array, estimator: Array, feature: Array, deviation: Array) -> Array:
    m, n = deviation.shape
    mass = estimator * p_z
    missing = -deviation
    # What all guesses add up to is rounding, which moves the likeliest guess least.
    missing[mass.sum(axis=1).argmax()] += deviation.sum(axis=0)
    others = (1.0 - np.eye(m)) @ estimator  # 1 − P would cancel
    system = np.zeros((m, n, m, n))
    for i in range(m):
        for k in range(i, m):
            weight = mass[i] * (others[i] if i == k else -estimator[k])
            block = (feature * weight) @ feature.T
            system[i, :, k, :] = block
            system[k, :, i, :] = block
    diagonal = np.sqrt(np.maximum(np.einsum("ijij->ij", system), 0.0))
    # Scaled so that rare guesses count equally.
    scale = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
    system = (system * scale[:, :, None, None] * scale).reshape(m * n, m * n)
    with np.errstate(over="ignore", invalid="ignore"):  # steps that are not finite are rejected
        y = scale * np.linalg.lstsq(system, (scale * missing).ravel(), rcond=Precision.rank)[
            0
        ].reshape(m, n)
        move = y @ feature
        return np.asarray(move - (estimator * move).sum(axis=0))


def _least_by_outcome(losses: Array, slopes: Array) -> tuple[float, float]:
    """Return Σ_l min_i of the losses, and its derivative along the slopes."""
    best = losses.min(axis=0)
    return float(best.sum()), float(np.where(losses == best, slopes, math.inf).min(axis=0).sum())


def duals_along(
    direction: Array,
    p_xz: Array,
    loss: Array,
    budget: float,
    least: Callable[[Array, Array], tuple[float, float]] = _least_by_outcome,
) -> tuple[Array, float]:
    """Return the tilt μ v [m, n] along a direction v [m, n], and the multiplier μ ≥ 0 with the
    greatest bound Σ_l min_i (L_il + μ v_i·a_l) − μ B. The duals are not yet feasible.

    p_xz [n, N], loss [m, N], 0 < budget B < ∞; least: another minimum, and its derivative. The
    bound is concave and piecewise linear in μ, and μ ≤ (best constant error − Bayes error)/ε.
    The next point is where the tangents at both ends of the bracket cross. Every third time it is
    the geometric mean of the ends, since the optimum may lie many powers of ten below that upper
    limit of μ.
    """
    slopes = direction @ p_xz

    def bound(multiplier: float) -> tuple[float, float]:
        value, slope = least(loss + multiplier * slopes, slopes)
        return value - multiplier * budget, slope - budget

    at_low = bound(0.0)
    low = 0.0
    high = min(LARGEST_TILT, max(0.0, float(loss.sum(axis=1).min()) - at_low[0]) / budget)
    at_high = bound(high)
    for step in range(60):
        if not at_low[1] > 0.0 > at_high[1]:
            break
        crossing = (at_high[0] - at_low[0] + at_low[1] * low - at_high[1] * high) / (
            at_low[1] - at_high[1]
        )
        ceiling = at_low[0] + at_low[1] * (crossing - low)
        if ceiling - max(at_low[0], at_high[0]) <= Precision.searched * abs(ceiling):
            break
        point = crossing if step % 3 else math.sqrt(max(low, 1e-10 * high) * high)
        if not low < point < high:
            break
        here = bound(point)
        if here[1] > 0.0:
            low = point
            at_low = here
        else:
            high = point
            at_high = here
    multiplier = low if at_low[0] >= at_high[0] else high
    return multiplier * direction, multiplier
