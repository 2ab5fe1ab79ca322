"""The judge: what is true of an answer, computed from the problem's own arrays and nothing else.

`certify` takes any estimator and any duals, also garbage, repairs both (`primal`, `dual`) and returns the feasible pair
with a certificate: an error probability that is reached, a bound that cannot be beaten, the true leakage, and the KKT
residuals of the paper's Lemma 3. It imports no backend. Law: lower ≤ upper, whatever it is given.

The gap splits exactly into the three KKT residuals, each ≥ 0 and in units of error probability:

    upper − lower = Σ_il P_il r_il  +  Σ_i (μ g(u_i) − t_i·u_i)  +  μ (ε − leakage)
                    complementarity    alignment                    slackness

with r_il = L_il + a_l·t_i − min_k (L_kl + a_l·t_k); alignment is zero exactly when t_ij = μ log(p(x_j given ŷ_i)/π_j).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.problems.errors import InputError
from discreet.problems.judge.bound import lower_bound, tilted_losses
from discreet.problems.judge.repair import Repaired, repair
from discreet.problems.measures.law import LEAK_FREE, OutputLaw, phi_residual
from discreet.problems.measures.mutual_information import feasible_duals, tilts_from_ratio
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import Sums, normalise
from discreet.problems.problem import Problem

__all__ = ["Certificate", "KKTResiduals", "Verdict", "certify"]

_UNIT = 2.0**-53
_SMALLEST = 5e-324
_GOOD_ENOUGH = 1e-9  # relative gap under which duals that came with the answer are not tried against derived ones


@dataclass(frozen=True)
class KKTResiduals:
    """The three parts of the gap, in units of error probability, and the worst single entry.

    complementarity  Σ_il P_il r_il: probability spent on guesses that are not best
    alignment        Σ_i μ g(u_i) − t_i·u_i: tilts that are not μ log ratio
    slackness        μ (ε − leakage): budget left unused at a positive price
    worst_entry      max_il P_il r_il / w_l: the loss of the worst outcome, given that outcome
    """

    complementarity: float
    alignment: float
    slackness: float
    worst_entry: float

    def to_dict(self) -> dict[str, float]:
        """Plain numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class Certificate:
    """What is proven. `lower` is rounded downward and `upper` upward.

    lower, upper       bracket of the optimal error probability; `upper` is reached by the repaired estimator
    leakage            of the repaired estimator, nats; ≤ budget
    phi_residual       ‖Φ P‖∞ of the repaired estimator
    budget             ε, nats
    blend              share of a leak-free estimator that the repair mixed in (0 = none needed)
    own_error, own_leakage, own_phi_residual
                       the same of the answer as given, after clipping and normalising columns only
    kkt                the gap's three parts
    """

    lower: float
    upper: float
    leakage: float
    phi_residual: float
    budget: float
    blend: float
    own_error: float
    own_leakage: float
    own_phi_residual: float
    kkt: KKTResiduals

    @property
    def gap(self) -> float:
        """upper − lower ≥ 0."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """(upper − lower) / upper; 0 when both are 0."""
        return 0.0 if self.gap == 0.0 else self.gap / self.upper

    @property
    def own_leakage_ratio(self) -> float:
        """Leakage of the answer as given ÷ budget; 0 without constraint, inf if anything leaks at budget 0."""
        if self.budget > 0.0:
            return self.own_leakage / self.budget
        return math.inf if self.own_phi_residual > LEAK_FREE else 0.0


@dataclass(frozen=True)
class Verdict:
    """The repaired pair, feasible both, and the certificate they carry."""

    estimator: Array
    tilt: Array
    multiplier: float
    certificate: Certificate


def certify(
    problem: Problem,
    estimator: Array,
    tilt: Array | None = None,
    multiplier: float | None = None,
    *,
    anchors: Iterable[Array] = (),
    again: bool = False,
) -> Verdict:
    """Judge an estimator [m, N] with optional duals (tilt [m, n], multiplier μ; sign conventions of docs/theory.md).

    Without duals they are derived from the estimator. `anchors` are estimators believed to leak nothing; each is
    verified before the repair may blend towards it. again: the same objects, unchanged, are about to be judged once more;
    that call gets this verdict. Raises InputError only for wrong shapes.
    """
    anchors = tuple(anchors)
    asked = (problem, estimator, tilt, multiplier, *anchors)
    known = _pending.take(asked)
    if known is None:
        known = _judged(problem, estimator, tilt, multiplier, anchors)
    if again:
        _pending.keep(asked, known)
    return known


class _Pending:
    """One verdict in each thread, kept until it is asked for or another question comes."""

    def __init__(self) -> None:
        self._local = threading.local()

    def keep(self, asked: tuple[Any, ...], verdict: Verdict) -> None:
        self._local.held = asked, verdict

    def take(self, asked: tuple[Any, ...]) -> Verdict | None:
        held: tuple[tuple[Any, ...], Verdict] | None = getattr(self._local, "held", None)
        self._local.held = None
        if held is None or len(held[0]) != len(asked):
            return None
        return held[1] if all(one is other for one, other in zip(held[0], asked, strict=True)) else None


_pending = _Pending()


def _judged(
    problem: Problem, estimator: Array, tilt: Array | None, multiplier: float | None, anchors: Iterable[Array]
) -> Verdict:
    _check_shape("estimator", estimator, (problem.m, problem.N))
    if tilt is not None:
        _check_shape("tilt", tilt, (problem.m, problem.n))
    own = normalise(_numbers("estimator", estimator))
    sums = problem.sums(own)
    own_law = problem.law_from(sums)
    repaired = repair(problem, own, own_law, anchors, sums)
    upper = _not_below(problem, repaired)
    given = None if tilt is None else _numbers("tilt", tilt)
    duals = _best_duals(problem, own_law, repaired.law, given, multiplier, upper, sums)
    kept = repaired.estimator is own
    certificate = Certificate(
        lower=_consistent(duals.bound, upper),
        upper=upper,
        leakage=repaired.law.leakage(),
        phi_residual=phi_residual(repaired.law),
        budget=problem.budget,
        blend=repaired.share,
        own_error=repaired.error if kept else sums.error,
        own_leakage=own_law.leakage(),
        own_phi_residual=phi_residual(own_law),
        kkt=_kkt(problem, repaired.estimator, repaired.law, duals),
    )
    return Verdict(repaired.estimator, duals.tilt, duals.multiplier, certificate)


@dataclass(frozen=True)
class _Duals:
    """Feasible duals, their tilted losses [m, N] and the bound they prove."""

    tilt: Array
    multiplier: float
    losses: Array
    bound: float


def _not_below(problem: Problem, repaired: Repaired) -> float:
    """The error probability rounded upward; non-negative terms and columns an ulp from one err relatively only."""
    upper = repaired.error * (1.0 + (problem.m + 8) * _UNIT)
    if upper < 1e-290 and ((problem.loss > 0.0) & (repaired.estimator > 0.0)).any():
        upper += _SMALLEST * problem.m * problem.N  # products may have vanished
    return float(upper)


def _consistent(bound: float, upper: float) -> float:
    """The lower side of the bracket. A bound above what is reached would disprove the proof: then nothing is claimed."""
    return max(0.0, bound) if bound <= upper else 0.0


def _best_duals(
    problem: Problem,
    own: OutputLaw,
    reached: OutputLaw,
    tilt: Array | None,
    multiplier: float | None,
    upper: float,
    sums: Sums,
) -> _Duals:
    """The feasible duals with the best bound: those given, those derived from the estimator, or none (t = 0, μ = 0)."""
    perfect = problem.constraint.perfect
    nothing = np.zeros((problem.m, problem.n))
    best = _Duals(nothing, math.inf if perfect else 0.0, problem.loss, problem.bayes_error * (1.0 - 4.0 * _UNIT))
    if tilt is not None and (multiplier is not None or perfect):
        repaired = feasible_duals(tilt, math.inf if multiplier is None else float(multiplier), problem.p_x, problem.budget)
        best = max(best, _duals(problem, *repaired, reached, sums), key=_bound) if repaired else best
    if perfect or problem.constraint.oblivious or upper - best.bound <= _GOOD_ENOUGH * upper:
        return best
    derived = feasible_duals(
        *tilts_from_ratio(own.ratio_minus_one(), problem.p_xz, problem.loss, problem.budget), problem.p_x, problem.budget
    )
    return max(best, _duals(problem, *derived, reached, sums), key=_bound) if derived else best


def _duals(problem: Problem, tilt: Array, multiplier: float, reached: OutputLaw, sums: Sums) -> _Duals:
    losses = tilted_losses(problem, tilt)
    bound = lower_bound(problem, tilt, multiplier, losses, sums)
    if problem.constraint.perfect:  # hold for everything as private as what is returned, not for Φ P = 0 alone
        with np.errstate(over="ignore"):
            bound -= float((np.abs(tilt) * (np.abs(reached.deviation) + _SMALLEST)).sum()) * (1.0 + 2.0**-30)
    return _Duals(tilt, multiplier, losses, bound)


def _bound(duals: _Duals) -> float:
    return duals.bound


def _kkt(problem: Problem, estimator: Array, law: OutputLaw, duals: _Duals) -> KKTResiduals:
    wasted = estimator * (duals.losses - duals.losses.min(axis=0))
    with np.errstate(over="ignore"):  # a loss may be any multiple of the mass of its outcome
        share = np.divide(wasted.max(axis=0), problem.p_z, out=np.zeros(problem.N), where=problem.p_z > 0)
    leakage = law.leakage()
    tilted = float((duals.tilt * (law.mass[:, None] * law.p_x + law.deviation)).sum())
    priced = not (problem.constraint.perfect or problem.constraint.oblivious)
    return KKTResiduals(
        complementarity=float(wasted.sum()),
        alignment=max(0.0, (duals.multiplier * leakage if priced else 0.0) - tilted),
        slackness=max(0.0, duals.multiplier * (problem.budget - leakage)) if priced else 0.0,
        worst_entry=float(share.max()),
    )


def _numbers(what: str, values: Array) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its type is {array.dtype}")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the {what} does not hold real numbers ({error}); give an array of them") from None


def _check_shape(what: str, array: Array, shape: tuple[int, int]) -> None:
    if np.shape(array) != shape:
        raise InputError(f"the {what} has shape {list(np.shape(array))} but the problem needs {list(shape)}")
