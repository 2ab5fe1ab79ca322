"""One Newton step of the interior point, with all N outcomes eliminated.

The central path is P_il z_il = τ ω_l / w_l (z the slack of guess i at outcome l, per unit of its mass; ω the barrier weights
of the model) and, for the budget, c μ = κ τ (c = ε − Σ g(u_i), its slack). Eliminating dP, dz and dλ outcome by outcome
leaves, with D = P/z and M_ii' = Σ_l w_l F_l F_l' (D_il δ_ii' − D_il D_i'l / Σ_k D_kl), this symmetric system in (dt, ρ, dμ):

    [ M + H/μ    E      −γ/μ            ]      H_i = frame' diag(u_i) frame      (inverse of g's Hessian off its null vector)
    [ E'         0      −g_i            ]      E_i = (s_i, d_i)                  (that null vector: g is homogeneous)
    [ −γ'/μ      −g_i'  Σ u v²/μ + c/μ  ]      γ_i = frame' (u_i ∘ v_i)

There is no 1/ε in it. Shifting all t_i together does not change M, so the rows of the guess with the largest mass are
replaced by the sum of all rows, where M drops out exactly: what determines the common shift is small, and would otherwise
drown in M's rounding.

A guess that the optimum never gives has a mass that falls with τ, by up to a hundred times a step, while log ratios are
linear in relative changes only. As g is homogeneous, they may be linearised about any multiple of u_i: that which the
predictor announces costs no accuracy (`anticipate`).

At perfect privacy (μ = ∞) only the blocks of M for the directions remain, without that guess.

Source: docs/theory.md, section 13; the elimination is that of S. Mehrotra, SIAM J. Optim. 2 (1992) for linear programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.backends.tilt.model import Law, Model
from discreet.problems.numerics.double_double import Array

_SMALLEST_GROWTH = 0.01  # of a guess's mass, as no step goes nearer to the boundary


@dataclass(frozen=True, eq=False)
class Iterate:
    """Strictly inside: estimator P > 0 [K, m, W], slack z > 0 [K, m, W], tilt [m, k], multiplier μ, unused budget c."""

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
        self._curvature_sum = self._curvature.sum(axis=1)
        self._per_product = self._per_slack / at.estimator
        guesses = np.arange(at.tilt.shape[0])
        self._others = guesses[guesses != law.mass.argmax()]
        self._order = np.append(self._others, law.mass.argmax())  # the reference last
        self._place = self._order.argsort()
        if model.perfect:
            self._factorise(self._schur(model.features[:, 1:]))
        else:
            self._inverse_hessians = _inverse_hessians(model, law)
            self._tilted = _tilted(model, law)
            self._tilt_residual = at.tilt - at.multiplier * law.gradient
            self._budget_residual = law.leakage + at.unused - model.budget
            self._squares = (law.joint * law.log_ratio**2).sum(axis=1)
            self._outcomes = self._schur(model.features)
            self._linearise()

    def anticipate(self, step: Step, length: float) -> None:
        """Linearise each log ratio about the mass that a step so long gives its guess, where some mass will halve or more.

        At perfect privacy there are no log ratios.
        """
        if self._model.perfect:
            return
        gained = np.matmul(self._at.estimator * step.estimator, self._model.mass[:, :, None]).sum(axis=0)[:, 0]
        growth = 1.0 + length * gained / self._law.mass
        if growth.min() < 0.5:
            growth = np.clip(growth, _SMALLEST_GROWTH, 1.0 / _SMALLEST_GROWTH)
            self._inverse_hessians *= growth[:, None, None]
            self._tilted *= growth[:, None]
            self._squares *= growth
            self._linearise()

    def _linearise(self) -> None:
        self._fixed_right = self._constant_right()
        self._factorise(self._constrained_matrix())

    def _factorise(self, matrix: Array) -> None:
        self._matrix = matrix
        try:
            self._inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:  # singular to working precision: the caller sees a step that is not finite
            self._inverse = np.full_like(matrix, np.nan)

    def _refined(self, right: Array) -> Array:
        """The solution of the last system, refined once."""
        found = self._inverse @ right
        return np.asarray(found + self._inverse @ (right - self._matrix @ found))

    def direction(self, target: float, product: Array | float = 0.0, budget_product: float = 0.0) -> Step:
        """The step towards P z = target × barrier (and c μ = κ target).

        The products are second-order corrections: of P z relative to it, and of c μ.
        """
        at, curvature, curvature_sum = self._at, self._curvature, self._curvature_sum
        aim = target * self._model.barrier[:, None] * self._per_product
        aim -= 1.0 + product
        estimator, slack = np.empty_like(at.slack), np.empty_like(at.slack)
        missing, falls = np.empty_like(curvature_sum), np.empty((2, *curvature_sum.shape))
        reduced = np.zeros(at.tilt.shape)
        for b, weighted in enumerate(self._model.weighted):
            wanted = np.multiply(at.estimator[b], aim[b], out=estimator[b])
            missing[b] = -wanted.sum(axis=0)
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
        model, at, law = self._model, self._at, self._law
        if model.perfect:
            tilt = np.zeros_like(at.tilt)
            right = (reduced + law.coordinates)[self._others, 1:]
            tilt[self._others, 1:] = self._refined(right.ravel()).reshape(right.shape)
            return tilt, 0.0, 0.0
        m, k = at.tilt.shape
        right = self._fixed_right.copy()
        right[: (m - 1) * k] += reduced[self._others].ravel()
        right[-1] += budget_target / at.multiplier
        found = self._refined(right)
        ordered = found[: m * k].reshape(m, k)
        ordered[:-1] += ordered[-1]
        multiplier = float(found[-1])
        return ordered[self._place], multiplier, (budget_target - at.unused * multiplier) / at.multiplier - at.unused

    def _constant_right(self) -> Array:
        """The right-hand side of the system, less what depends on the products aimed at."""
        at, law = self._at, self._law
        m, k = at.tilt.shape
        pulled = np.matmul(self._inverse_hessians, self._tilt_residual[:, :, None])[:, :, 0] / at.multiplier
        right = np.empty(m * k + m + 1)
        rows = right[: m * k].reshape(m, k)
        rows[:-1] = -pulled[self._others]
        rows[-1] = -pulled.sum(axis=0)
        right[m * k : m * k + m] = -(law.coordinates * self._tilt_residual).sum(axis=1)[self._order]
        leaning = float((self._tilted * self._tilt_residual).sum()) / at.multiplier
        right[-1] = self._budget_residual - at.unused + leaning
        return right

    def _schur(self, features: Array) -> Array:
        """M over the guesses but the reference, [(m − 1)·rows, (m − 1)·rows].

        Off the diagonal blocks it is −G G' with G_i = F·D_i sqrt(w / Σ_k D_k), one symmetric product; the diagonal
        blocks, where D_i − D_i²/Σ D would cancel, are formed from D_i (Σ_{k≠i} D_k)/Σ D.
        """
        rows, count = features.shape[1], self._others.size
        total = np.zeros((count * rows, count * rows))
        diagonal = np.zeros((count, rows, rows))
        shares = self._model.mass / self._curvature_sum
        for chosen, curvature, share in zip(features, self._curvature, shares, strict=True):
            own = curvature[self._others]
            if count > 1:
                spread = (own * np.sqrt(share))[:, None, :] * chosen
                flat = spread.reshape(count * rows, -1)
                total -= flat @ flat.T
            weights = own * (_sums_of_others(curvature)[self._others] * share)
            diagonal += np.matmul(weights[:, None, :] * chosen, chosen.T)
        for p in range(count):
            total[p * rows : (p + 1) * rows, p * rows : (p + 1) * rows] = diagonal[p]
        return total

    def _constrained_matrix(self) -> Array:
        at, law = self._at, self._law
        m, k = at.tilt.shape
        matrix = np.zeros((m * k + m + 1, m * k + m + 1))
        common, inner = slice((m - 1) * k, m * k), slice(0, (m - 1) * k)
        matrix[inner, inner] = self._outcomes
        inverse = self._inverse_hessians / at.multiplier
        for p, i in enumerate(self._others.tolist()):
            row = slice(p * k, (p + 1) * k)
            matrix[row, row] += inverse[i]
            matrix[row, common] = matrix[common, row] = inverse[i]
            matrix[row, m * k + p] = matrix[m * k + p, row] = law.coordinates[i]
            matrix[row, -1] = matrix[-1, row] = -self._tilted[i] / at.multiplier
        order = self._order
        matrix[common, common] = inverse.sum(axis=0)
        matrix[common, m * k : m * k + m] = law.coordinates[order].T
        matrix[m * k : m * k + m, common] = law.coordinates[order]
        matrix[common, -1] = matrix[-1, common] = -self._tilted.sum(axis=0) / at.multiplier
        matrix[m * k : m * k + m, -1] = matrix[-1, m * k : m * k + m] = -law.leakages[order]
        matrix[-1, -1] = (float(self._squares.sum()) + at.unused) / at.multiplier
        return matrix


def _inverse_hessians(model: Model, law: Law) -> Array:
    """frame' diag(u_i) frame [m, k, k], from mass and deviation so that nothing cancels."""
    m, k = law.coordinates.shape
    found = np.empty((m, k, k))
    found[:, 0, :] = found[:, :, 0] = law.coordinates
    basis = model.basis
    bent = np.matmul(basis.T[None], law.deviation[:, :, None] * basis[None])
    found[:, 1:, 1:] = bent + law.mass[:, None, None] * np.eye(k - 1)
    return found


def _tilted(model: Model, law: Law) -> Array:
    """frame' (u_i ∘ v_i) [m, k]; its first coordinate is g(u_i)."""
    found = (law.joint * law.log_ratio) @ model.frame
    found[:, 0] = law.leakages
    return np.asarray(found)


def _sums_of_others(values: Array) -> Array:
    """Σ_{k≠i} of positive values [m, N] for every i; subtracted from the whole only where that cancels nothing."""
    place = (values.argmax(axis=0), np.arange(values.shape[1]))
    rest = values.copy()
    rest[place] = 0.0
    others = values.sum(axis=0) - values
    others[place] = rest.sum(axis=0)
    return np.asarray(others)
