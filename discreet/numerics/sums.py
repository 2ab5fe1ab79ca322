"""Sums over outcomes under an estimator, and its excess over the minimum of the tilted loss under
feasible duals.

Outcomes with a certain guess are summed by label, in double-double. The few whose guess is drawn
are multiplied by their columns. Both are done block by block in NumPy. For a rule on many outcomes,
compiled code sums by label the *clear* ones, whose label is the best guess whatever the rounding;
NumPy examines the rest.

Source: docs/theory.md, sections 8 (rounding) and 18 (clear).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import (
    BLOCK,
    Array,
    DoubleDouble,
    Split,
    dd_add,
    dd_sum,
    exact_product,
)
from discreet.numerics.estimators import Decisions, column_error
from discreet.numerics.label_strips import StripSums, strip_sums
from discreet.numerics.rounding import LEAST_EXACT, SMALLEST, SUM_ROUNDING, UNIT
from discreet.numerics.tilted_losses import (
    dd_label_doubt,
    in_order_losses,
    label_doubt,
    least_two,
    never_in_doubt,
)

# Relative rounding error of terms ≥ 0 and their pairwise sum: a few units, and one per doubling.
_PAIRWISE = 2.0**-44
# Largest rounding bound, relative to the loss of an outcome, that does not call for double-double.
_SURE = 2.0**-40


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over outcomes under an estimator P; dd stands for double-double.

    joint          u_ij = Σ_l P_il a_jl, times 2^lift_j                                dd [m, n]
    loss           Σ_il P_il L_il                                                      dd []
    random         the part of joint from drawn guesses, as a plain sum                [m, n]
    column_error   upper bound of |Σ_i P_il − 1| / max_i P_il
    missed         upper bound of the change of the loss by products that underflow: 4 SMALLEST for
                   each, twice the loss of the four products that `exact_product` adds up
    lost           upper bound of the change of each entry of joint by such products [m, n], or 0
    wasted         upper bound of Σ_il P_il F_il − Σ_l min_i F_il
    worst          max_il P_il r_il / w_l
    outcomes       number of outcomes
    """

    joint: DoubleDouble
    loss: DoubleDouble
    random: Array
    column_error: float
    missed: float
    lost: Array | float
    wasted: float
    worst: float
    outcomes: int

    def plus(self, other: Sums) -> Sums:
        """Return the sums over the outcomes of both."""
        return Sums(
            dd_add(self.joint, other.joint),
            dd_add(self.loss, other.loss),
            self.random + other.random,
            max(self.column_error, other.column_error),
            self.missed + other.missed,
            self.lost + other.lost,
            (self.wasted + other.wasted) * (1.0 + 4.0 * UNIT),
            max(self.worst, other.worst),
            self.outcomes + other.outcomes,
        )

    @property
    def doubt(self) -> float:
        """Return an upper bound of the relative error of `joint` and `loss`."""
        return sum_doubt(self.outcomes, self.random.size)

    def drawn_share(self) -> float:
        """Return the largest share of an entry of joint that comes from drawn guesses, rounded up.

        `random` is a plain sum over outcomes with an error of u for each; the products within a
        block may be added in any order.
        """
        high = self.joint[0]
        largest = float(
            np.divide(self.random, high, out=np.zeros_like(high), where=high > 0.0).max()
        )
        return min(1.0, largest * (1.0 + (self.outcomes + BLOCK) * UNIT))

    def least(self, tilt: Array, lift: NDArray[np.int32]) -> tuple[float, ...]:
        """Return numbers whose exact sum is at most Σ_l min_i F_il under the duals [m, n] of the
        sums, whose entries must be below 1e201 in size.
        """
        high = np.ldexp(self.joint[0], -lift)
        low = np.ldexp(self.joint[1], -lift)
        size = float(np.abs(tilt * high).sum() + self.loss[0])
        # Underflow in joint and in products.
        vanished = (8.0 + 2.0 * self.outcomes) * SMALLEST * float(np.abs(tilt).sum() + tilt.size)
        lost = (self.wasted + self.missed + vanished) * (1.0 + 4.0 * UNIT)
        # These products are exact up to 2^-90 |t| u and underflow.
        entries = (each.ravel().tolist() for each in (tilt, high, low))
        parts = [
            part
            for t, u, rest in zip(*entries, strict=True)
            for part in (*exact_product(t, u), t * rest)
        ]
        return (*parts, float(self.loss[0]), float(self.loss[1]), -lost, -2.0 * self.doubt * size)


def sum_doubt(outcomes: int, entries: int) -> float:
    """Return an upper bound of the relative error of double-double sums of numbers ≥ 0 over
    outcomes, if m·n `entries` are summed at once.

    The error of one block, or of one compiled pass, is at most `SUM_ROUNDING`. Adding two
    double-doubles of one sign has a relative error of 3u² < 2⁻¹⁰⁴. There is at most one such
    addition for every chunk, hence for every outcome, and one for every 2¹³ products.
    """
    return SUM_ROUNDING + outcomes * (1.0 + entries * 2.0**-13) * 2.0**-104


def block_sums(
    decided: Decisions,
    p_xz: Array,
    loss: Array,
    tilt: Array,
    lift: NDArray[np.int32],
    rows: Split | None = None,
) -> Sums:
    """Return the sums over at most `BLOCK` outcomes p_xz [n, ·], loss [m, ·] under a feasible tilt.

    lift    exponents that keep products of rare private values from underflow (`faint_lift`) [n]
    rows    the lifted rows of p_xz, split, if already known
    """
    places = decided.places
    columns = decided.columns
    losses = in_order_losses(p_xz, loss, tilt)
    chosen = decided.chosen(losses)
    examined = (
        (losses - chosen <= never_in_doubt(p_xz, tilt, chosen)) & (decided.certain == 0.0)
    ).any(axis=0)
    examined[places] = True
    lost = 0.0
    worst = 0.0
    random = np.zeros(tilt.shape)
    error = 0.0
    missed = 0.0
    vanished: Array | float = 0.0
    candidates = np.flatnonzero(examined)
    if candidates.size:
        shares = decided.certain.take(candidates, axis=1)
        shares[:, candidates.searchsorted(places)] = columns
        lost, worst = _excess_loss(
            p_xz.take(candidates, axis=1),
            loss.take(candidates, axis=1),
            losses.take(candidates, axis=1),
            tilt,
            shares,
        )
    if places.size:
        p_drawn = p_xz.take(places, axis=1)
        error = column_error(columns)
        if error:
            high, low = dd_sum(columns.T)
            smallest_loss = losses.take(places, axis=1).min(axis=0)
            excess = (high - 1.0) + low
            sizes = np.abs(smallest_loss) + np.abs(tilt).max(axis=0) @ p_drawn
            rounding = 2.0 * (len(p_xz) + places.size + 8) * UNIT * float(np.abs(excess) @ sizes)
            lost = max(0.0, lost + float(excess @ smallest_loss) + rounding)
        lifted = lifted_rows(p_drawn, lift)
        random = columns @ lifted.T
        vanished = _lost(columns, lifted)
        missed = (
            4.0
            * SMALLEST
            * float(np.count_nonzero(np.logical_and(columns, loss.take(places, axis=1))))
        )
    return Sums(
        decided.sums_of(Split.of(lifted_rows(p_xz, lift)) if rows is None else rows),
        decided.expected(loss),
        random,
        error,
        missed,
        vanished,
        lost * (1.0 + 4.0 * UNIT),
        worst,
        p_xz.shape[1],
    )


def _lost(columns: Array, masses: Array) -> Array | float:
    """Return an upper bound of the change of columns [m, K] @ masses [n, K] transposed by products
    that underflow; 0 if there are none.

    If the product of the least positive entries is below `LEAST_EXACT`, every product of positive
    entries counts.
    """
    smallest_product = columns.min(where=columns > 0.0, initial=1.0) * masses.min(
        where=masses > 0.0, initial=1.0
    )
    if smallest_product >= LEAST_EXACT:
        return 0.0
    return np.asarray(4.0 * SMALLEST * ((columns > 0.0).astype(np.float64) @ (masses > 0.0).T))


def lifted_rows(p_xz: Array, lift: NDArray[np.int32]) -> Array:
    """Return p_xz [n, ·] times 2^lift_j [n]."""
    return np.ldexp(p_xz, lift[:, None]) if lift.any() else p_xz


def _excess_loss(
    p_xz: Array, loss: Array, losses: Array, tilt: Array, columns: Array
) -> tuple[float, float]:
    """Return Σ_il P_il (F_il − min_k F_kl), rounded up, and max_il P_il r_il / w_l, for outcomes
    [·, K] with columns P [m, K].

    If rounding may exceed 2⁻⁴⁰ of the loss of an outcome, its tilted losses are recomputed in
    double-double.
    """
    _, smallest, _, second = least_two(losses)
    rival = np.where(losses == smallest, second, smallest)
    doubt = label_doubt(p_xz, tilt, losses, rival)
    rounding = (columns * (doubt - np.maximum(losses - rival, 0.0))).sum(axis=0)
    unsure = np.flatnonzero(rounding > _SURE * (columns * loss).sum(axis=0))
    if unsure.size:
        finer = dd_label_doubt(p_xz.take(unsure, axis=1), loss.take(unsure, axis=1), tilt)
        doubt[:, unsure] = np.minimum(doubt[:, unsure], finer)
    wasted = float((columns * doubt).ravel().sum()) * (1.0 + _PAIRWISE) + SMALLEST * doubt.size
    mass = p_xz.sum(axis=0)
    worst = (columns * (losses - smallest)).max(axis=0)
    with np.errstate(over="ignore"):
        return wasted, float((worst / np.where(mass > 0.0, mass, np.inf)).max(initial=0.0))


def clear_strips(
    p_xz: Array, loss: Array, decide: Array, tilt: Array, band: float = 0.0
) -> StripSums:
    """Return the sums of the clear outcomes by label, for a rule with tilt `decide` [m, n] and a
    feasible `tilt` [m, n]. This needs numba.

    band: width of the tie classes of the rule; outcomes within it, and outcomes of mass 0, are not
    clear.
    """
    n = p_xz.shape[0]
    apart = float(np.abs(tilt - decide).max())
    gamma = (n + 4) * UNIT
    per_mass = 8.0 * gamma * float(np.abs(decide).max()) + 4.0 * apart * (1.0 + 8.0 * UNIT)
    per_mass += 2.0 * band  # the factor 2 covers the rounding of margins
    return strip_sums(p_xz, loss, decide, per_mass, 4.0 * gamma, 8.0 * n * SMALLEST)


def sums_of_strips(clear: StripSums, lift: NDArray[np.int32]) -> Sums:
    """Return the sums over clear outcomes."""
    high, low = clear.sums
    n = lift.size
    # A guess only costs its own loss.
    loss = dd_sum(np.concatenate([np.diagonal(high[:, n:]), np.diagonal(low[:, n:])]))
    joint = np.ldexp(high[:, :n], lift), np.ldexp(low[:, :n], lift)
    random = np.zeros((len(high), n))
    return Sums(joint, loss, random, 0.0, 0.0, 0.0, 0.0, 0.0, int(clear.counts.sum()))


def totals(p_xz: Array, loss: Array, clear: StripSums | None = None) -> DoubleDouble:
    """Return Σ_l (a_l, L_l) [n + m] over outcomes p_xz [n, ·], loss [m, ·] and the clear outcomes,
    if any.
    """
    masses = dd_sum(p_xz)
    losses = dd_sum(loss)
    rest = np.concatenate([masses[0], losses[0]]), np.concatenate([masses[1], losses[1]])
    if clear is None:
        return rest
    return dd_add(rest, dd_add(dd_sum(clear.sums[0].T), dd_sum(clear.sums[1].T)))
