"""One Newton step of the interior point, with all N outcomes eliminated.

The central path is P_il z_il = τ ω_l / w_l (z the slack of guess i at outcome l, per unit of its mass; ω the barrier weights
of the model) and, for the budget, ε₀ μ = κ τ (ε₀ = ε − Σ g(u_i), its slack). Eliminating dP, dz and dλ outcome by outcome
leaves, with ψ = P/z and M_ii' = Σ_l w_l F_l F_l' (ψ_il δ_ii' − ψ_il ψ_i'l / Σ_k ψ_kl), this symmetric system in (dt, ρ, dμ):

    [ M + H/μ    V      −γ/μ            ]      H_i = frame' diag(u_i) frame      (inverse of g's Hessian off its null vector)
    [ V'         0      −g_i            ]      V_i = (s_i, d_i)                  (that null vector: g is homogeneous)
    [ −γ'/μ      −g_i'  Σ u v²/μ + ε₀/μ ]      γ_i = frame' (u_i ∘ v_i)

There is no 1/ε in it. Shifting all t_i together does not change M. What determines this common shift is so small that it
would drown in M's rounding. So the rows of a reference, the guess with the largest least u_ij/π_j, are replaced by the sum
of all rows, where M drops out exactly. For guesses that all but exclude a private value, so would small entries of M. The
rows of all others then have coordinates in which these stay small: 1 and e_j − q_ij 1, q_i the posterior (`_FAR`).

Log ratios are linear in small relative changes only. As g is homogeneous, they may be linearised about any multiple of
u_i, and the predictor announces which (`anticipate`).

At perfect privacy (μ = ∞) only the blocks of M for the directions remain, without that guess.

Source: docs/theory.md, section 13; the elimination is that of S. Mehrotra, SIAM J. Optim. 2 (1992) for linear programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from discreet.backends.tilt.model import Law, Model
from discreet.problems.numerics.double_double import Array

_FAR = -5.0  # a log ratio below it makes coordinates about posteriors
_SMALLEST_GROWTH = 0.01  # of a guess's mass, as no step goes nearer to the boundary


@dataclass(frozen=True, eq=False)
class Iterate:
    """Strictly inside: estimator P > 0 [K, m, W], slack z > 0 [K, m, W], tilt [m, k], multiplier μ, unused budget ε₀."""

    estimator: Array
    slack: Array
    tilt: Array
    multiplier: float
    unused: float


@dataclass(frozen=True, eq=False)
class Step:
    """A change of the iterate.

    estimator, slack          relative: dP/P and dz/z                                          [K, m, W]
    falls                     the largest relative fall of a probability, and of a slack, of each outcome   [2, K, W]
    tilt, multiplier, unused  absolute                                                         [m, k], number, number
    """

    estimator: Array
    slack: Array
    falls: Array
    tilt: Array
    multiplier: float
    unused: float


class Newton:
    """The linearised optimality conditions at one iterate, factorised once and solved for several right-hand sides."""

    def __init__(self, model: Model, at: Iterate, law: Law, kappa: float) -> None:
        self._model, self._at, self._law, self._kappa = model, at, law, kappa
        self._per_slack = 1.0 / at.slack
        self._curvature = at.estimator * self._per_slack
        self._curvature_sum = np.add.reduce(self._curvature, axis=1)
        self._per_product = self._per_slack / at.estimator
        guesses, reference = np.arange(law.mass.size), _reference(model, law)
        self._others = guesses[guesses != reference]
        self._order = np.append(self._others, reference)
        if model.perfect:
            self._factorise(self._schur(iter(model.features[:, 1:])), np.ones(1))
        else:
            frame, ratios = model.frame, law.joint * law.log_ratio
            bent = np.matmul(frame.T, law.deviation[:, :, None] * frame)
            self._inverse_hessians = bent + law.mass[:, None, None] * np.eye(frame.shape[1])  # so that nothing cancels
            self._tilted = ratios @ frame
            self._tilted[:, 0] = law.leakages
            self._squares = np.add.reduce(ratios * law.log_ratio, axis=1)
            m, n = law.joint.shape
            features, self._coordinates = iter(model.features), np.eye(m * n + m + 1)
            if law.log_ratio.min() < _FAR:
                own = np.tile((frame * model.p_x[:, None]).T, (m, 1, 1))  # e_j in the coordinates of the model [m, n, n]
                own[:, 0] = -law.deviation / law.mass[:, None]  # e_j − q_ij 1
                own[guesses, :, law.joint.argmax(axis=1)] = np.eye(n)[0]  # 1, in place of the commonest j
                self._coordinates = block_diag(*own[self._others], np.eye(n + m + 1))
                features = (np.matmul(own[self._others].transpose(0, 2, 1), block) for block in model.features)
            self._outcomes = self._schur(features)
            self._linearise()

    def anticipate(self, step: Step, length: float) -> None:
        """Linearise log ratios about the masses that a step so long gives the guesses, if one of them loses half or more."""
        gained = np.matmul(self._at.estimator * step.estimator, self._model.mass[:, :, None]).sum(axis=0)[:, 0]
        growth = 1.0 + length * gained / self._law.mass
        if growth.min() < 0.5:
            growth = np.clip(growth, _SMALLEST_GROWTH, 1.0 / _SMALLEST_GROWTH)
            self._inverse_hessians *= growth[:, None, None]
            self._tilted *= growth[:, None]
            self._squares *= growth
            self._linearise()

    def _linearise(self) -> None:
        """The matrix, and the part of the right-hand side that does not depend on the products aimed at."""
        at, law = self._at, self._law
        residual = (at.tilt - at.multiplier * law.gradient)[self._order]
        residual[:-1] -= residual[-1]
        matrix = self._log_ratios_matrix()
        self._fixed_right = -residual.ravel() @ matrix[: residual.size]
        self._fixed_right[-1] += law.leakage - self._model.budget
        matrix, inner = self._coordinates.T @ matrix @ self._coordinates, len(self._outcomes)
        matrix[:inner, :inner] += self._outcomes
        self._factorise(matrix, 1.0 / np.sqrt(np.maximum.reduce(np.abs(matrix), axis=1)))

    def _factorise(self, matrix: Array, scale: Array) -> None:
        """Invert a matrix whose rows and columns are scaled meanwhile, so that pivots do not depend on units or masses."""
        self._matrix = matrix
        try:
            self._inverse = np.linalg.inv(matrix * scale[:, None] * scale) * scale[:, None] * scale
        except np.linalg.LinAlgError:  # singular to working precision: the caller sees a step that is not finite
            self._inverse = np.full_like(matrix, np.nan)

    def _refined(self, right: Array, times: int = 1) -> Array:
        """The solution of the last system, refined so many times."""
        found = self._inverse @ right
        for _ in range(times):
            found += self._inverse @ (right - self._matrix @ found)
        return np.asarray(found)

    def direction(self, target: float, product: Array | float = 0.0, budget_product: float = 0.0) -> Step:
        """The step towards P z = target × barrier (and ε₀ μ = κ target).

        The products are second-order corrections: of P z relative to it, and of ε₀ μ.
        """
        at, curvature, curvature_sum = self._at, self._curvature, self._curvature_sum
        aim = target * self._model.barrier[:, None] * self._per_product - (1.0 + product)
        estimator, slack = np.empty_like(at.slack), np.empty_like(at.slack)
        missing, falls = np.empty_like(curvature_sum), np.empty((2, *curvature_sum.shape))
        reduced = np.zeros(at.tilt.shape)
        for b, weighted in enumerate(self._model.weighted):
            wanted = np.multiply(at.estimator[b], aim[b], out=estimator[b])
            missing[b] = -np.add.reduce(wanted, axis=0)
            wanted += curvature[b] * (missing[b] / curvature_sum[b])
            reduced += wanted @ weighted.T
        tilt, multiplier, unused = self._solve(reduced, self._kappa * target - budget_product)
        for b, features in enumerate(self._model.features):
            change = np.matmul(tilt, features, out=slack[b])
            change -= (np.einsum("il,il->l", curvature[b], change) + missing[b]) / curvature_sum[b]
            change *= self._per_slack[b]
            np.subtract(aim[b], change, out=estimator[b])
            np.minimum.reduce(estimator[b], out=falls[0, b])
            np.minimum.reduce(change, out=falls[1, b])
        return Step(estimator, slack, np.negative(falls, out=falls), tilt, multiplier, unused)

    def _solve(self, reduced: Array, budget_target: float) -> tuple[Array, float, float]:
        at, others, tilt = self._at, self._others, np.zeros_like(reduced)
        if self._model.perfect:
            right = (reduced + self._law.coordinates)[others, 1:]
            tilt[others, 1:] = self._refined(right.ravel()).reshape(right.shape)
            return tilt, 0.0, 0.0
        right = self._fixed_right.copy()
        right[: len(self._outcomes)] += reduced[others].ravel()
        right[-1] += budget_target / at.multiplier
        found = self._coordinates @ self._refined(right @ self._coordinates, times=2)
        tilt[self._order] = found[: tilt.size].reshape(tilt.shape)
        tilt[others] += tilt[self._order[-1]]
        multiplier = float(found[-1])
        return tilt, multiplier, (budget_target - at.unused * multiplier) / at.multiplier - at.unused

    def _schur(self, features: Iterator[Array]) -> Array:
        """M over all guesses but the reference, [(m − 1)·rows, (m − 1)·rows].

        Off the diagonal blocks it is −G G' with G_i = F·ψ_i sqrt(w / Σ_k ψ_k), one symmetric product. On them
        ψ_i − ψ_i²/Σ ψ would cancel, so they are formed from ψ_i (Σ_{k≠i} ψ_k)/Σ ψ.
        """
        rows, count = self._at.tilt.shape[1] - self._model.perfect, self._others.size
        total, guesses = np.zeros((count * rows, count * rows)), np.arange(count)
        diagonal = np.zeros((count, rows, rows))
        shares, but_own = self._model.mass / self._curvature_sum, (1.0 - np.eye(count + 1))[self._others]
        for chosen, curvature, share in zip(features, self._curvature, shares, strict=True):
            own = curvature[self._others]
            if count > 1:
                flat = ((own * np.sqrt(share))[:, None, :] * chosen).reshape(count * rows, chosen.shape[-1])
                total -= flat @ flat.T
            weights = own * (but_own @ curvature) * share
            diagonal += np.matmul(weights[:, None, :] * chosen, np.swapaxes(chosen, -1, -2))
        total.reshape(count, rows, count, rows)[guesses, :, guesses] = diagonal
        return total

    def _log_ratios_matrix(self) -> Array:
        """The matrix of the system without M; guesses are in order, and the reference's rows are the sums of all."""
        at, law, order = self._at, self._law, self._order
        m, k = at.tilt.shape
        size, every = m * k, np.arange(m)
        hessians, tilted = self._inverse_hessians[order] / at.multiplier, self._tilted[order] / at.multiplier
        hessians[-1], tilted[-1] = hessians.sum(axis=0), tilted.sum(axis=0)
        matrix = np.zeros((size + m + 1, size + m + 1))
        rows = matrix[:size].reshape(m, k, -1)
        tilts = rows[:, :, :size].reshape(m, k, m, k)
        tilts[every, :, every] = tilts[:, :, -1] = hessians
        tilts[-1] = hessians.transpose(1, 0, 2)
        rows[every, :, size + every] = law.coordinates[order]
        rows[-1, :, size:-1] = law.coordinates[order].T
        rows[:, :, -1] = -tilted
        matrix[size:-1, -1] = -law.leakages[order]
        matrix[size:, :size] = matrix[:size, size:].T
        matrix[-1, size:-1] = matrix[size:-1, -1]
        matrix[-1, -1] = (self._squares.sum() + at.unused) / at.multiplier
        return matrix


def _reference(model: Model, law: Law) -> int:
    """The guess that excludes no private value, even nearly; at perfect privacy none does."""
    return int((law.mass if model.perfect else (law.joint / model.p_x).min(axis=1)).argmax())
