"""g-leakage: by what factor a guess increases the gain of an adversary who gains G_wj by the action
w if X = x_j. Min-entropy leakage, for an adversary who guesses X, is a special case.

It is the logarithm of (Σ_i max_w (G u_i)_w) / max_w (G π)_w. If rows are divided by that best prior
gain, which action w* reaches, g(u) = max_w ((G_w − G_w*)·u) ≥ 0, and the budget reads Σ_i g(u_i) ≤
e^ε − 1. Budget 0 does not imply perfect privacy: the adversary may learn facts that do not change
the best action. If several actions are best without a guess, each guess must keep their gains in
proportion; these are linear equations, as under perfect privacy (`best_actions`).

V is the convex hull of the rows G_w − G_w* with all vectors below it; the least κ is the value of a
small matrix game. Any weights of the rows prove an upper bound of κ, so a linear program may
propose them. For guesses of X itself, κ is a water level.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.checks import check_ceiling, mass_array
from discreet.errors import InputError
from discreet.measures.measure import Measure, ends
from discreet.measures.region import Region
from discreet.measures.water import water_level
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import LEAST_EXACT, SMALLEST, UNIT

_TIED = 2.0**-40
"""Relative tolerance within which prior gains count as equal at budget 0; the bound changes by at
most μ times this.
"""

_EVEN = 2.0**-46
"""Relative tolerance of the best prior gain: the first action within it counts as the best, so that
rounding does not change the reference action. B includes an allowance for it."""


class BestAction(Measure):
    """The gain of the best action, g(u) = max_w (R u)_w for `rows` R that include a zero row; B is
    e^ε − 1.
    """

    growth = 1.0
    separates = False

    @abstractmethod
    def gains(self, n: int) -> Array:
        """Return the gain of each action at each of n private values [actions, n]."""

    def rows(self, p_x: Array) -> Array:
        """Return the gains minus those of the best action without a guess, divided by its prior
        gain [actions, n].
        """
        gains = self.gains(p_x.size)
        prior = gains @ p_x
        return np.asarray((gains - gains[_first_best(prior)]) / prior.max())

    def best_actions(self, p_x: Array) -> NDArray[np.intp]:
        """Return the actions whose prior gains are the largest, up to rounding."""
        return np.flatnonzero(self.rows(p_x) @ p_x > -_TIED)

    def worth(self, region: Region) -> Array:
        """Return upper bounds, over the shares of the region, of the gain of each action per unit
        of rate beyond the best action of the table, relative to the prior gain [actions, n].
        """
        gain = self.gains(region.people.size)
        best = gain[(gain @ region.shares).argmax()]
        more = gain - best
        most = np.maximum(more * region.share_low, more * region.share_high)
        return np.asarray(most / (best @ region.share_low))

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return the worth of the best action."""
        return np.asarray(np.maximum(rates @ self.worth(region).T, 0.0).max(axis=1))

    def largest_level(self, region: Region) -> float:
        """Return the smaller of two bounds: that of maximal leakage, which holds for every gain,
        and the worth with each rate at its better end.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self.worth(region)[:, None, :]
            best = np.maximum(worth * region.low, worth * region.high).sum(axis=2).max(axis=0)
        return min(region.alphabet - 1.0, float(np.maximum(best, 0.0).sum()))

    def least_leakage(self, region: Region) -> float:
        """Return the log of a lower bound of the gain from the actions that are best in the
        table.
        """
        gain = self.gains(region.people.size)
        action = ((region.rates * region.shares) @ gain.T).argmax(axis=1)
        reached = max(float((gain[action] * region.low * region.share_low).sum()), 1e-300)
        return max(0.0, math.log(reached / float((gain @ region.share_high).max())))

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """Return the matrix `rows` as the only piece."""
        return (self.rows(p_x),)

    def excess(self, x: Array, p_x: Array) -> Array:
        """Return max_w R_w·(π (1 + x))."""
        rows = self.rows(p_x)
        x = ends(x, np.zeros_like(x), p_x)[1]
        return np.asarray(np.maximum(rows @ p_x + (x * p_x) @ rows.T, 0.0).max(axis=1))

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return an upper bound with each term at its larger end, plus rounding. An action that
        nowhere gains more than the best one is left out.
        """
        rows = self.rows(p_x)
        rows = rows[(rows > 0.0).any(axis=1) | ~rows.any(axis=1)]
        low, high = ends(x, reach, p_x)
        up = np.maximum(rows, 0.0) * p_x
        down = np.minimum(rows, 0.0) * p_x
        value = rows @ p_x + high @ up.T + low @ down.T
        size = np.abs(rows) @ p_x + np.abs(high) @ up.T - np.abs(low) @ down.T
        # Products with these entries may underflow.
        faint = (rows != 0.0) & (np.abs(rows) * p_x < LEAST_EXACT)
        size = size + SMALLEST / UNIT * (1.0 + np.abs(high) + np.abs(low)) @ faint.T
        return np.asarray(np.maximum(value + (2 * p_x.size + 16) * UNIT * size, 0.0).max(axis=1))

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return the row of the best action."""
        rows = self.rows(p_x)
        return np.asarray(rows[((1.0 + x) * p_x @ rows.T).argmax(axis=1)])


@final
@dataclass(frozen=True)
class GLeakage(BestAction):
    """The budget bounds the log of the factor by which the best expected gain grows; gain [actions,
    n] ≥ 0, up to a common factor.
    """

    gain: tuple[tuple[float, ...], ...]

    name = "g-leakage"
    citation = (
        "M. S. Alvim et al., Measuring Information Leakage Using Generalized Gain "
        "Functions, CSF 2012"
    )

    def __init__(self, gain: Any) -> None:
        """Raise InputError unless `gain` is a matrix of numbers ≥ 0 with a positive entry in each
        column.
        """
        matrix = mass_array(gain, "gain", 2, "[actions, n]")
        check_ceiling(matrix, "gain", 1e100, "state gains in a larger unit")
        if not matrix.any(axis=0).all():
            raise InputError(
                "no action gains anything at private value "
                f"{int((~matrix.any(axis=0)).argmax())}; give some gain"
            )
        object.__setattr__(self, "gain", tuple(map(tuple, matrix.tolist())))

    def __str__(self) -> str:
        return f"g-leakage:gain={json.dumps(self.gain)}"

    def on(self, values: NDArray[np.intp], n: int) -> Measure:
        """Return the measure with the columns of these values."""
        if len(self.gain[0]) != n:
            raise InputError(
                f"the gain has {len(self.gain[0])} columns and X has {n} values; "
                "give one column per value"
            )
        return self if values.size == n else GLeakage(np.array(self.gain)[:, values])

    def level(self, budget: float) -> float:
        """Return B, plus an allowance for another action whose prior gain equals that of w* up to
        rounding.
        """
        return _add_rounding(super().level(budget), len(self.gain[0]))

    def gains(self, n: int) -> Array:
        """Return the gain matrix as an array."""
        return np.array(self.gain)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return max_j (t_j − μ Σ_w λ_w (G_w − G_w*)_j), with weights λ from a linear program for
        each guess.
        """
        from scipy.optimize import linprog

        rows = self.rows(p_x)
        value = tilt.max(axis=1)
        size = np.abs(tilt).max(axis=1)
        # The weight of w* is one minus the other weights.
        others = np.flatnonzero(rows.any(axis=1))
        bounds = [(0.0, None)] * others.size + [(None, None)]
        options = dict.fromkeys(
            ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10
        )
        run: Any = linprog  # its type stubs reject a plain dictionary of options
        # In units of the tilt: minimise κ with t − Σ λ_w rows_w ≤ κ and Σ λ_w ≤ μ.
        for i in np.flatnonzero(size):
            most = min(multiplier / size[i], 1e30)
            t = tilt[i] / size[i]
            program = np.column_stack(
                [np.vstack([-rows[others].T, np.ones(others.size)]), [*[-1.0] * t.size, 0.0]]
            )
            solution = run(
                np.append(np.zeros(others.size), 1.0),
                program,
                np.append(-t, most),
                bounds=bounds,
                options=options,
            ).x
            if solution is None:
                continue
            for weights in (solution[:-1], _polish_weights(rows[others].T, t, most, solution)):
                own = size[i] * np.maximum(weights, 0.0)
                own *= min(
                    1.0,
                    (1.0 - 4.0 * (rows.size + 4) * UNIT) * multiplier / max(own.sum(), SMALLEST),
                )
                value[i] = min(value[i], float((tilt[i] - own @ rows[others]).max()))
            size[i] += (own @ np.abs(rows[others])).max()
        return value, (4.0 + len(rows)) * size


@final
@dataclass(frozen=True)
class MinEntropyLeakage(BestAction):
    """The budget bounds the log of the factor by which the probability of guessing X grows (Bayes
    vulnerability).
    """

    name = "min-entropy-leakage"
    citation = "G. Smith, On the Foundations of Quantitative Information Flow, FOSSACS 2009"

    def level(self, budget: float) -> float:
        """Return B, plus an allowance for another value whose prior equals that of j* up to
        rounding.
        """
        return _add_rounding(super().level(budget), 1)

    def gains(self, n: int) -> Array:
        """Return the identity matrix: a correct guess gains 1."""
        return np.eye(n)

    def worth(self, region: Region) -> Array:
        """Return each share over the largest one, minus the rate of the likeliest value; those
        rates sum to one over the guesses.
        """
        likeliest = np.eye(region.people.size)[region.shares.argmax()]
        return np.asarray(np.diag(_to_largest(region)) - likeliest)

    def largest_level(self, region: Region) -> float:
        """Return an upper bound of Σ_i max_j W_ij π_j/max π − 1."""
        best = (_to_largest(region) * region.high).max(axis=1).sum()
        return min(region.alphabet, float(best)) - 1.0

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return the water level of Σ_j (t_j + b_j μ/π* − κ)₊ = μ/π*, with the largest prior π* and
        b = e_j*.
        """
        total = np.full(len(tilt), multiplier / p_x.max())
        return water_level(tilt, np.ones(p_x.size), total, np.eye(p_x.size)[_first_best(p_x)])


def _to_largest(region: Region) -> Array:
    """Return upper bounds of each share divided by the largest share [n]."""
    best = int(region.shares.argmax())
    with np.errstate(divide="ignore"):
        ratio = np.minimum(region.share_high / region.share_low[best], 1.0)
    ratio[best] = 1.0
    return np.asarray(ratio)


@final
@dataclass(frozen=True)
class OtherActions(BestAction):
    """The gain of an adversary without the actions that are proven to gain nothing."""

    whole: BestAction
    proven: tuple[int, ...]

    name = "other-actions"
    citation = GLeakage.citation

    def __str__(self) -> str:
        return str(self.whole)

    def gains(self, n: int) -> Array:
        """Return the gains of all actions, including those proven to gain nothing."""
        return self.whole.gains(n)

    def rows(self, p_x: Array) -> Array:
        """Return a zero row and the rows of the remaining actions."""
        return np.vstack([np.zeros(p_x.size), np.delete(self.whole.rows(p_x), self.proven, axis=0)])

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return the support function of the whole measure."""
        return self.whole.support(tilt, p_x, multiplier, level)


def _polish_weights(columns: Array, t: Array, most: float, solution: Array) -> Array:
    """Solve the equations that are active at the solution of a linear program for weights that are
    accurate to the last digits.

    columns    coefficients [n, k] of the weights
    solution   weights [k] and κ from the linear program

    The program is solved within 1e-10, so a value within 1e-8 of a bound counts as active.
    """
    weights = solution[:-1]
    kappa = solution[-1]
    tolerance = 1e-8 * (1.0 + np.abs(solution).max())
    used = weights > tolerance
    tight = t - columns @ weights > kappa - tolerance
    system = np.column_stack([columns[tight][:, used], np.ones(np.count_nonzero(tight))])
    right = t[tight]
    if weights.sum() > most * (1.0 - 1e-8):
        system = np.vstack([system, np.append(np.ones(np.count_nonzero(used)), 0.0)])
        right = np.append(right, most)
    polished = np.zeros(weights.size)
    polished[used] = np.linalg.lstsq(system, right, rcond=None)[0][:-1]
    return polished


def _first_best(prior: Array) -> int:
    """Return the index of the first prior gain [actions] that is the largest up to rounding."""
    return int(np.argmax(prior >= prior.max() * (1.0 - _EVEN)))


def _add_rounding(level: float, terms: int) -> float:
    return level + (2.0 * _EVEN + 4.0 * (terms + 4) * UNIT) * (1.0 + level)
