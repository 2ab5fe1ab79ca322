"""One Newton step of the interior point, with all N outcomes eliminated.

The central path is P_il z_il = τ ω_l / w_l (z the slack of guess i at outcome l, per unit of its
mass; ω the barrier weights of the model), and for multipliers and the slacks of their constraints a
constant times τ. Eliminating dP, dz and dλ outcome by outcome leaves dU = reduced − M dt, with ψ =
P/z and M_ii' = Σ_l w_l F_l F_l' (ψ_il δ_ii' − ψ_il ψ_i'l / Σ_k ψ_kl), and a small system in what is
left (`systems`).

Gradients are linear in small relative changes only. As g is homogeneous, they may be linearised
about any multiple of u_i, and the predictor announces which (`anticipate`).

Source: docs/theory.md, section 13; the elimination is that of S. Mehrotra, SIAM J. Optim. 2 (1992)
for linear programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.backends.tilt.model import Model
from discreet.backends.tilt.relation import Inner, JointLaw
from discreet.backends.tilt.systems import Iterate, system_of
from discreet.lazy import cached_property
from discreet.numerics.double_double import Array

_SMALLEST_GROWTH = 0.01  # of a guess's mass, as no step goes nearer to the boundary


@dataclass(frozen=True, eq=False)
class Step:
    """A change of the iterate; absolute unless told otherwise.

    estimator, slack   relative: dP/P and dz/z [K, m, W]
    falls              the largest relative fall of a probability, and of a slack, of each outcome
                       [2, K, W]
    """

    estimator: Array
    slack: Array
    falls: Array
    inner: Inner
    multiplier: Array
    unused: Array


@dataclass(frozen=True, eq=False)
class Targets:
    """Products: of P z barrier × a number, of the chart's multipliers and slacks [m, p'], and ε₀ μ
    [q].
    """

    outcomes: float
    inner: Array
    budgets: Array

    @cached_property
    def total(self) -> float:
        """The barrier of all outcomes is 1, for each guess."""
        return self.outcomes * len(self.inner) + float(self.inner.sum() + self.budgets.sum())

    @cached_property
    def nothing(self) -> Targets:
        """Products of 0."""
        return self.times(0.0)

    def times(self, factor: float) -> Targets:
        """All of them by a factor."""
        return Targets(factor * self.outcomes, factor * self.inner, factor * self.budgets)

    def corrected(self, predictor: Step | None) -> tuple[Array, Array]:
        """Those of the chart and the budgets, less their second-order corrections by
        a predictor.
        """
        if predictor is None:
            return self.inner, self.budgets
        budgets = self.budgets - predictor.unused * predictor.multiplier
        return self.inner - predictor.inner.products, budgets


class Newton:
    """The linearised optimality conditions at one iterate, factorised once and solved for several
    right-hand sides.
    """

    def __init__(self, model: Model, at: Iterate, law: JointLaw) -> None:
        self._model = model
        self._at = at
        self._law = law
        self._per_slack = 1.0 / at.slack
        self._curvature = at.estimator * self._per_slack
        self._curvature_sum = np.add.reduce(self._curvature, axis=1)
        self._per_product = self._per_slack / at.estimator
        self._system, order = system_of(model, at, law)
        self._others = order[:-1]
        self._outcomes = self._schur()
        self._system.linearise(self._outcomes)

    def anticipate(self, step: Step, length: float) -> None:
        """Linearise gradients about the masses that a step so long gives the guesses, if one of
        them loses half or more.
        """
        gained = np.matmul(self._at.estimator * step.estimator, self._model.mass[:, :, None]).sum(
            axis=0
        )[:, 0]
        growth = 1.0 + length * gained / self._law.mass
        if growth.min() < 0.5:
            self._system.linearise(
                self._outcomes, np.clip(growth, _SMALLEST_GROWTH, 1.0 / _SMALLEST_GROWTH)
            )

    def direction(self, target: Targets, predictor: Step | None = None) -> Step:
        """The step towards products of that size; a predictor gives second-order corrections of
        them.
        """
        at = self._at
        curvature = self._curvature
        curvature_sum = self._curvature_sum
        product = 0.0 if predictor is None else predictor.estimator * predictor.slack
        aim = target.outcomes * self._model.barrier[:, None] * self._per_product - (1.0 + product)
        estimator = np.empty_like(at.slack)
        slack = np.empty_like(at.slack)
        missing = np.empty_like(curvature_sum)
        falls = np.empty((2, *curvature_sum.shape))
        reduced = np.zeros(at.tilt.shape)
        for b, weighted in enumerate(self._model.weighted):
            wanted = np.multiply(at.estimator[b], aim[b], out=estimator[b])
            missing[b] = -np.add.reduce(wanted, axis=0)
            wanted += curvature[b] * (missing[b] / curvature_sum[b])
            reduced += wanted @ weighted.T
        tilt, inner, multiplier, unused = self._system.solve(reduced, *target.corrected(predictor))
        for b, features in enumerate(self._model.features):
            change = np.matmul(tilt, features, out=slack[b])
            change -= (np.einsum("il,il->l", curvature[b], change) + missing[b]) / curvature_sum[b]
            change *= self._per_slack[b]
            np.subtract(aim[b], change, out=estimator[b])
            np.minimum.reduce(estimator[b], out=falls[0, b])
            np.minimum.reduce(change, out=falls[1, b])
        return Step(estimator, slack, np.negative(falls, out=falls), inner, multiplier, unused)

    def _schur(self) -> Array:
        """M over all guesses but the reference, [(m − 1)·rows, (m − 1)·rows].

        Off the diagonal blocks it is −G G' with G_i = F·ψ_i sqrt(w / Σ_k ψ_k), one symmetric
        product. On them ψ_i − ψ_i²/Σ ψ would cancel, so they are formed from ψ_i (Σ_{k≠i} ψ_k)/Σ ψ.
        """
        rows = self._at.tilt.shape[1] - self._model.perfect
        count = self._others.size
        total = np.zeros((count * rows, count * rows))
        guesses = np.arange(count)
        diagonal = np.zeros((count, rows, rows))
        features = self._system.features()
        shares = self._model.mass / self._curvature_sum
        but_own = (1.0 - np.eye(count + 1))[self._others]
        for chosen, curvature, share in zip(features, self._curvature, shares, strict=True):
            own = curvature[self._others]
            if count > 1:
                flat = ((own * np.sqrt(share))[:, None, :] * chosen).reshape(
                    count * rows, chosen.shape[-1]
                )
                total -= flat @ flat.T
            weights = own * (but_own @ curvature) * share
            diagonal += np.matmul(weights[:, None, :] * chosen, np.swapaxes(chosen, -1, -2))
        total.reshape(count, rows, count, rows)[guesses, :, guesses] = diagonal
        return total
