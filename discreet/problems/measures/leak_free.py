"""Estimators that leak nothing, and blends towards them: how an estimator is moved within a budget.

- `remove_leakage` moves an estimator, as little as its own randomisation allows, onto Φ P = 0.
- Leakage is convex along P_θ = (1 − θ) P + θ P⁰ and zero at θ = 1 where P⁰ leaks nothing, so the least θ that meets a
  budget is a scalar root (`least_share`), found on [m, n] numbers, since the law of (X, Ŷ) is linear in P.

Nothing here is taken on trust: who uses it computes the leakage of what comes out.

Source: docs/theory.md, section 9 (repair).
"""

from __future__ import annotations

import numpy as np

from discreet.problems.measures.law import LEAK_FREE, OutputLaw, output_law, phi_residual
from discreet.problems.numerics.double_double import Array, DoubleDouble
from discreet.problems.numerics.estimators import normalise
from discreet.problems.numerics.rounding import UNIT

__all__ = ["least_share", "remove_leakage"]


def remove_leakage(p_xz: Array, estimator: Array, marginal: DoubleDouble) -> tuple[Array, OutputLaw] | None:
    """Move a column-stochastic estimator [m, N] onto Φ P = 0; None when its own randomisation does not reach.

    p_xz [n, N], marginal Σ_l p_xz as in `output_law`. Returns the estimator and its law, ‖Φ P‖∞ ≤ `LEAK_FREE`.

    Newton steps P_il ← P_il (1 + y_i·f_l − Σ_k P_kl y_k·f_l), f_l = a_l/w_l − π: zero entries stay zero, columns stay
    stochastic, and y [m, n] solves the normal equations. Small shares of a guess that ignores the outcome are blended in
    when a vertex leaves no room to move.
    """
    p_z = p_xz.sum(axis=0)
    posterior = np.divide(p_xz, p_z, out=np.zeros_like(p_xz), where=p_z > 0)
    feature = np.where(p_z > 0, posterior - marginal[0][:, None], 0.0)
    ignoring = (estimator @ p_z)[:, None] / p_z.sum()
    for room in (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1):
        found = _project(p_xz, marginal, normalise((1.0 - room) * estimator + room * ignoring), feature)
        if found is not None:
            return found
    return None


def _project(p_xz: Array, marginal: DoubleDouble, estimator: Array, feature: Array) -> tuple[Array, OutputLaw] | None:
    best: tuple[Array, OutputLaw] | None = None
    residual = np.inf
    for _ in range(8):
        law = output_law(p_xz, estimator, marginal)
        now = phi_residual(law)
        if now >= 0.5 * residual:
            break
        best, residual = (estimator, law), now
        step = _projection_step(p_xz.sum(axis=0), estimator, feature, law.deviation)
        if not np.isfinite(step).all() or step.min() < -0.5:
            break
        estimator = normalise(estimator * (1.0 + step))
    return best if residual <= LEAK_FREE else None


def _projection_step(p_z: Array, estimator: Array, feature: Array, deviation: Array) -> Array:
    m, n = deviation.shape
    mass = estimator * p_z
    system = np.zeros((m, n, m, n))
    for i in range(m):
        for k in range(i, m):
            weight = -mass[i] * estimator[k] + (mass[i] if i == k else 0.0)
            block = (feature * weight) @ feature.T
            system[i, :, k, :] = block
            system[k, :, i, :] = block
    y = np.linalg.lstsq(system.reshape(m * n, m * n), -deviation.ravel(), rcond=1e-14)[0].reshape(m, n)
    with np.errstate(over="ignore", invalid="ignore"):  # hopeless steps are recognised by not being finite
        move = y @ feature
        return np.asarray(move - (estimator * move).sum(axis=0))


def least_share(start: OutputLaw, end: OutputLaw, target: float, slack: float) -> float | None:
    """Smallest θ with leakage((1 − θ)·start + θ·end) ≤ target, from the safe side; None if even θ = 1 leaks too much.

    Leakage is convex in θ: a tangent at the infeasible side stays infeasible, a chord lands on the feasible side, and
    the two close in on the root faster than either alone.
    """

    def excess(share: float) -> float:
        return start.blend(end, share).leakage_ceiling(slack) - target

    low, high, above, below, tolerance = 0.0, 1.0, excess(0.0), excess(1.0), 1e-13  # of the share, and of the budget
    if above <= 0.0:
        return 0.0
    if below > 0.0:
        return None
    for _ in range(100):
        if high - low <= tolerance * high or below >= -tolerance * target:
            break
        chord = low + (high - low) * above / (above - below)
        for share in (_tangent(start, end, low, above), chord, 0.5 * (low + high)):
            if not low < share < high:
                continue
            value = excess(share)
            if value <= 0.0:
                high, below = share, value
            else:
                low, above = share, value
    return high


def _tangent(start: OutputLaw, end: OutputLaw, share: float, excess: float) -> float:
    """Where the tangent of leakage − target at `share` meets zero."""
    here = start.blend(end, share)
    ratio = np.maximum(here.ratio_minus_one(), -1.0 + UNIT)  # where r = 0 the slope is infinite: nearly so will do
    change = (end.mass - start.mass)[:, None] * start.p_x + end.deviation - start.deviation
    slope = float((change * np.log1p(ratio)).sum())
    return share - excess / slope if slope < 0.0 else share
