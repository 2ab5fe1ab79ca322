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
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from discreet.problems.accurate import Array
from discreet.problems.dual import lower_bound, repair_duals, tilted_losses, tilts_from_law
from discreet.problems.errors import InputError
from discreet.problems.information import OutputLaw
from discreet.problems.primal import normalise, phi_residual, repair
from discreet.problems.problem import Problem

__all__ = ["Certificate", "KKTResiduals", "Verdict", "certify"]

_UPWARD = 1.0 + 2.0**-50  # an error probability is a sum of non-negative terms: relative rounding only


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
        return math.inf if self.own_phi_residual > 1e-13 else 0.0


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
) -> Verdict:
    """Judge an estimator [m, N] with optional duals (tilt [m, n], multiplier μ; sign conventions of docs/theory.md).

    Without duals they are derived from the estimator. `anchors` are estimators believed to leak nothing; each is
    verified before the repair may blend towards it. Raises InputError only for wrong shapes.
    """
    _check_shape("estimator", estimator, (problem.m, problem.N))
    if tilt is not None:
        _check_shape("tilt", tilt, (problem.m, problem.n))
    own = normalise(np.asarray(estimator, dtype=np.float64))
    own_law = problem.output_law(own)
    repaired = repair(problem, own, own_law, anchors)
    duals = _best_duals(problem, own_law, tilt, multiplier)
    upper = problem.error_probability(repaired.estimator) * _UPWARD
    lower = min(upper, max(0.0, lower_bound(problem, *duals)))
    leakage = repaired.law.leakage()
    certificate = Certificate(
        lower=lower,
        upper=upper,
        leakage=leakage,
        phi_residual=phi_residual(repaired.law),
        budget=problem.budget,
        blend=repaired.share,
        own_error=problem.error_probability(own),
        own_leakage=own_law.leakage(),
        own_phi_residual=phi_residual(own_law),
        kkt=_kkt(problem, repaired.estimator, repaired.law, *duals),
    )
    return Verdict(repaired.estimator, *duals, certificate)


def _best_duals(problem: Problem, law: OutputLaw, tilt: Array | None, multiplier: float | None) -> tuple[Array, float]:
    """The feasible duals with the best bound among those given (or derived) and none at all (t = 0, μ = 0)."""
    perfect = problem.constraint.perfect
    if tilt is None or (multiplier is None and not perfect):
        tilt, multiplier = tilts_from_law(problem, law)
    given = repair_duals(problem, np.asarray(tilt, dtype=np.float64), math.inf if multiplier is None else multiplier)
    nothing = (np.zeros((problem.m, problem.n)), math.inf if perfect else 0.0)
    if given is None or lower_bound(problem, *given) < lower_bound(problem, *nothing):
        return nothing
    return given


def _kkt(problem: Problem, estimator: Array, law: OutputLaw, tilt: Array, multiplier: float) -> KKTResiduals:
    losses = tilted_losses(problem, tilt)
    wasted = estimator * (losses - losses.min(axis=0))
    share = np.divide(wasted.sum(axis=0), problem.p_z, out=np.zeros(problem.N), where=problem.p_z > 0)
    leakage = law.leakage()
    tilted = float((tilt * (law.mass[:, None] * law.p_x + law.deviation)).sum())
    priced = not (problem.constraint.perfect or problem.constraint.oblivious)
    return KKTResiduals(
        complementarity=float(wasted.sum()),
        alignment=max(0.0, (multiplier * leakage if priced else 0.0) - tilted),
        slackness=max(0.0, multiplier * (problem.budget - leakage)) if priced else 0.0,
        worst_entry=float(share.max()),
    )


def _check_shape(what: str, array: Array, shape: tuple[int, int]) -> None:
    if np.shape(array) != shape:
        raise InputError(f"the {what} has shape {list(np.shape(array))} but the problem needs {list(shape)}")
