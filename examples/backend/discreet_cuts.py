"""Kelley's cutting planes for privacy-aware estimation: a sequence of linear programs.

By docs/theory.md, leakage is the largest of the linear functions Σ_i v_i·u_i with
Σ_j π_j e^{v_ij} ≤ 1. The method keeps a few of them as cuts, solves the linear program, and adds
the one that the answer violates most.

Source: J. E. Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8 (1960).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.settings import number
from discreet.errors import BackendError


@dataclass
class LinearProgram:
    """What `lower` hands to `solve`: the arrays, and the cuts found so far (each [m, n])."""

    a: np.ndarray
    loss: np.ndarray
    budget: float
    cuts: list[np.ndarray] = field(default_factory=list)


class Cuts:
    """Outer approximation: its answers leak a little too much until the last cut is in."""

    name = "cuts"
    capabilities = Capabilities(
        regimes=frozenset({Regime.CONSTRAINED}),
        largest_outcomes=2_000,
        gives_duals=True,
        method="Kelley's cutting planes over linear programs",
        citation="J. E. Kelley, J. SIAM 8 (1960)",
        settings={"excess": "relative excess over the budget at which it stops (default 1e-7)"},
    )

    def lower(self, problem, options: Options) -> LinearProgram:
        return LinearProgram(problem.p_xz, problem.loss, problem.budget)

    def solve(self, lowered: LinearProgram, options: Options) -> Raw:
        (n, outcomes), m = lowered.a.shape, lowered.loss.shape[0]
        p_x = lowered.a.sum(axis=1)
        columns = np.tile(np.eye(outcomes), (1, m))
        allowed = number(options, self.name, "excess", float, 1e-7)
        for iteration in range(1, (options.max_iterations or 300) + 1):
            rows = [(cut @ lowered.a).ravel() / lowered.budget for cut in lowered.cuts]
            found = linprog(
                lowered.loss.ravel() / lowered.loss.max(),
                A_ub=np.array(rows) if rows else None,
                b_ub=np.ones(len(rows)) if rows else None,
                A_eq=columns,
                b_eq=np.ones(outcomes),
            )
            if not found.success:
                raise BackendError(
                    f"the linear program of iteration {iteration} was not solved: {found.message}"
                )
            estimator = np.maximum(found.x, 0.0).reshape(m, outcomes)
            law = estimator @ lowered.a.T + 1e-12 * p_x  # never a zero: its logarithm is a cut
            cut = np.log(law / law.sum(axis=1, keepdims=True) / p_x)
            excess = float((cut * law).sum()) / lowered.budget - 1.0
            if excess <= allowed:
                break
            lowered.cuts.append(cut)
        prices = (
            -np.asarray(found.ineqlin.marginals)[: len(rows)] * lowered.loss.max() / lowered.budget
        )
        tilt = np.zeros((m, n))
        for price, cut in zip(prices, lowered.cuts, strict=False):  # the last cut has no price yet
            tilt += price * cut
        word = "optimal" if excess <= allowed else "stopped at the iteration limit"
        return Raw(word, (estimator, tilt, float(prices.sum())), iteration)

    def lift(self, raw: Raw) -> Answer:
        estimator, tilt, multiplier = raw.value
        return Answer(estimator, tilt, np.array([multiplier]))  # one for each constraint
