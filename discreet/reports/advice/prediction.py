"""Prediction for every measured option on an instance: its chance to be certified, its time,
and the order of the options.

*Certainty.* Every catalog entry that was measured counts once for its nearest success and once for
its nearest failure, each with a weight that decreases with its distance d, exp(−d²/2). Entries are
counted, not rows, because the rows of one entry share their difficulties. The bound is the 5 %
quantile of the Beta posterior with Jeffreys' prior, Beta(½ + successes, ½ + failures). The weight
is at least `AdvicePolicy.far`, so that an option that failed anywhere under this kind of budget
needs successes nearby. Only a failure by the time limit may weigh less, since it depends on the
size. Source: L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion,
Statist. Sci. 16 (2001) 101–133.

*Time.* A log-linear fit to all timed measurements of the option, corrected by the nearest ones:

    log t = b·(1, log N, (log N − 2.5)₊, (log N − 4)₊, log nm, log ε/I, log error share) + r

All logarithms are in decades. The hinges model a floor that turns into a slope: small problems cost
the same regardless of their size, and no problem costs less than the smallest one measured. b has a
weak normal prior (ridge). r is the weighted mean of the residuals of nearby instances, shrunk
towards 0 if there are none. The interval is a Student t prediction interval. Its variance is that
of the leave-one-out residuals (the residual ÷ (1 − its leverage)), corrected by other catalog
entries only, times 1 + the leverage of the instance. The fit cannot represent combinations of sizes
that were never measured together, so a second variance grows with the distance from the nearest
measurement in (log N, log nm, log N·nm, budget). Beyond `AdvicePolicy.reach` no time is predicted.
Source: A. Gelman et al., Bayesian Data Analysis, 3rd ed., §14.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.backends.contract import Options
from discreet.backends.solution import Status
from discreet.numerics.double_double import Array
from discreet.reports.advice.evidence import Features, Observation, Option
from discreet.reports.measurements import group_by
from discreet.showing.data import chosen, plain


@dataclass(frozen=True)
class AdvicePolicy:
    """The parameters of the advice, which are judgements. `benchmarks/advice_regret.py` tests them
    together.

    safe            certainty from which an option is advised without a warning: about six
                    successful entries nearby and no failure
    quantile        quantile of the posterior that is the certainty
    coverage        share of times that the prediction interval is meant to contain
    far             least weight of a cell, so that every instance of the same kind of budget counts
    clearly         advantage in certainty that an option needs to be asked for a gap other than the
                    default
    unscathed       weighted failures up to which an option counts as one that never failed nearby
    tie             ratio of times within which the option with the higher certainty is preferred
    prior_decades   spread of times assumed before any residual is known
    prior_count     number of residuals that this prior is worth
    spacing         distance in decades from the nearest measurement that the fit itself covers:
                    studies step by about three in N
    drift           standard deviation of the time, in decades, for every decade beyond: costs grow
                    as N⁰ … N²
    reach           decades beyond which no time is predicted: drift × coverage makes that a factor
                    of 40 either way
    """

    safe: float = 0.65
    quantile: float = 0.05
    coverage: float = 0.9
    far: float = 0.5
    clearly: float = 0.1
    unscathed: float = 0.25
    tie: float = 1.1
    prior_decades: float = 0.15
    prior_count: float = 3.0
    spacing: float = 0.6
    drift: float = 1.0
    reach: float = 1.0


POLICY = AdvicePolicy()


@dataclass(frozen=True, eq=False)
class Certainty:
    """The lower bound of an option's chance to be certified, with the evidence behind it.

    successes, failures   weighted counts of entries
    nearest               every cell with its distance, nearest first
    certified             number of entries with a success
    cases                 number of entries with a success, plus entries with a failure; failures by
                          the time limit count only nearby
    """

    bound: float = 0.0
    successes: float = 0.0
    failures: float = 0.0
    nearest: tuple[tuple[float, Observation], ...] = ()
    certified: int = 0
    cases: int = 0


def certainty(cells: Sequence[Observation], features: Features, gap: float) -> Certainty:
    """Return the certainty of one option from its cells of the same kind of budget; `gap` is the
    relative gap that has to be certified.
    """
    from scipy.special import betaincinv

    if not cells:
        return Certainty()
    distances = features.distances(np.array([cell.features.decades for cell in cells]))
    good: dict[str, float] = {}
    bad: dict[str, float] = {}
    for cell, closeness in zip(cells, np.exp(-0.5 * distances**2).tolist(), strict=True):
        votes = good if cell.succeeds(gap) else bad
        weight = closeness if cell.outcome is Status.TIMED_OUT else max(POLICY.far, closeness)
        votes[cell.group] = max(votes.get(cell.group, 0.0), weight)
    successes = sum(good.values())
    failures = sum(bad.values())
    bound = float(betaincinv(0.5 + successes, 0.5 + failures, POLICY.quantile))
    order = sorted(zip(distances.tolist(), cells, strict=True), key=lambda pair: pair[0])
    cases = len(good) + sum(weight >= POLICY.far for weight in bad.values())
    return Certainty(bound, successes, failures, tuple(order), len(good), cases)


class TimeModel:
    """The fit of the times of one option under one kind of budget. Multiplying all seconds by a
    factor multiplies every estimate by it.
    """

    def __init__(self, cells: Sequence[Observation]) -> None:
        self.cells = [cell for cell in cells if cell.timed]
        if not self.cells:
            return
        self._decades = np.array([cell.features.decades for cell in self.cells])
        self._floor = np.where(
            np.arange(self._decades.shape[1]) == 0, self._decades.min(axis=0), -np.inf
        )
        self._groups = np.array([cell.group for cell in self.cells])
        logs = np.log10([max(1e-6, cell.seconds) for cell in self.cells])
        rows = np.array([_regressors(each) for each in self._decades])
        self._level = float(np.median(logs))
        # Firmer where a difference in time needs more evidence.
        ridge = np.diag([0.01, 0.3, 0.3, 0.3, 2.0, 1.0, 3.0])
        self._inverse = np.linalg.inv(rows.T @ rows + ridge)
        self._slopes = self._inverse @ (rows.T @ (logs - self._level))
        self._residuals = logs - self._level - rows @ self._slopes
        leverages = np.einsum("ij,jk,ik->i", rows, self._inverse, rows)
        # A fit that only one case determines says little of its error there: no leverage counts as
        # more than ¾.
        own = self._residuals / np.maximum(1.0 - leverages, 0.25)
        others = (
            self._local_residual(cell.features, self._groups != cell.group) for cell in self.cells
        )
        errors = own - np.array([*others])
        prior = POLICY.prior_count * POLICY.prior_decades**2
        self._freedom = len(self.cells) + POLICY.prior_count
        self._scale = math.sqrt((float(errors @ errors) + prior) / self._freedom)

    def predict(self, features: Features) -> tuple[float, float, float]:
        """Return the seconds on an instance and the ends of their prediction interval; all are inf
        if nothing was measured.
        """
        if not self.cells:
            return math.inf, math.inf, math.inf
        from scipy.special import stdtrit

        row = _regressors(np.maximum(features.decades, self._floor))
        centre = (
            self._level
            + float(row @ self._slopes)
            + self._local_residual(features, np.ones(len(self.cells), dtype=bool))
        )
        spread = math.hypot(
            self._scale * math.sqrt(1.0 + float(row @ self._inverse @ row)),
            POLICY.drift * self.remoteness(features),
        )
        reach = float(stdtrit(self._freedom - 1.0, 0.5 + 0.5 * POLICY.coverage)) * spread
        low, middle, high = (
            10.0 ** min(300.0, value) for value in (centre - reach, centre, centre + reach)
        )
        return middle, low, high

    def remoteness(self, features: Features) -> float:
        """Return the distance in decades from the nearest measurement in (log N, log nm, log N·nm,
        budget), less the distance that the fit itself covers.
        """
        distances = _size_distances(np.maximum(features.decades, self._floor), self._decades)
        return max(0.0, float(distances.min()) - POLICY.spacing)

    def nearest(self, features: Features) -> Observation:
        """Return the measurement from which `remoteness` is computed."""
        return self.cells[int(_size_distances(features.decades, self._decades).argmin())]

    def _local_residual(self, features: Features, use: np.ndarray) -> float:
        weights = np.exp(-0.5 * features.distances(self._decades) ** 2) * use
        return float(weights @ self._residuals) / (float(weights.sum()) + 0.5)


def _regressors(decades: Array) -> Array:
    outcomes, products, share, _, error = decades
    hinges = [max(0.0, outcomes - knot) for knot in (2.5, 4.0)]
    return np.array([1.0, outcomes - 2.0, *hinges, products - 1.0, share, error])


def _size_distances(here: Array, there: Array) -> Array:
    """Return the distances in decades between the sizes of an instance [5] and those of others [K,
    5]; ten decades of a budget count as one.
    """
    apart = there - here
    size = np.column_stack(
        [apart[:, 0], apart[:, 1], apart[:, 0] + apart[:, 1], 0.1 * apart[:, 2], 0.1 * apart[:, 3]]
    )
    return np.asarray(np.sqrt((size**2).sum(axis=1)))


@dataclass(frozen=True)
class Prospect:
    """The prediction for one option: the seconds to lower, solve and lift, without those of the
    judge, and the certainty.

    option           backend, settings and the gap to ask it for
    sure             the lower 5% bound of its chance to be certified here, with the evidence
    seconds          predicted seconds, inf if nothing was measured
    low, high        ends of the 90% interval of `seconds`
    evidence         the nearest measured rows; failures come first if the option is not safe
    remote           the nearest measurement if it is too far for a prediction, else empty; if
                     given, `seconds` is an extrapolation that is used to order options but not
                     shown
    refusal          why the option is ruled out; empty if it is not
    """

    option: Option
    sure: Certainty
    seconds: float
    low: float
    high: float
    evidence: tuple[Mapping[str, Any], ...] = ()
    remote: str = ""
    refusal: str = ""

    @property
    def certainty(self) -> float:
        """Return the lower bound of its chance to be certified here."""
        return self.sure.bound

    @property
    def record(self) -> str:
        """State how many comparable cases the option certified, and the lower bound of its
        chance.
        """
        least = (
            f"at least {100.0 * self.certainty:.0f} % at {100.0 * (1.0 - POLICY.quantile):.0f} %"
        )
        return f"{self.sure.certified} of {self.sure.cases} comparable cases certified ({least})"

    @property
    def safe(self) -> bool:
        """Return whether the option may be advised without a warning."""
        return not self.refusal and not self.remote and self.certainty >= POLICY.safe

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, with None for the seconds that cannot be predicted."""
        counts = ("successes", "failures", "certified", "cases")
        return (
            chosen(self, ("certainty", "evidence"))
            | chosen(self.sure, counts)
            | {
                "backend": self.option.backend,
                "settings": self.option.settings,
                "gap_to_ask": self.option.gap,
                "predicted_seconds": None if self.remote else plain(self.seconds),
                "low_seconds": None if self.remote else plain(self.low),
                "high_seconds": None if self.remote else plain(self.high),
            }
        )


def prospects(cells: Sequence[Observation], features: Features, gap: float) -> list[Prospect]:
    """Return the prospect of every measured option on an instance that has to be certified to
    `gap`.

    Options asked for a looser gap are left out. If every option of a backend is looser, its
    tightest one is asked for `gap`.
    """
    kind = comparable_kind(cells, features)
    groups = group_by(
        (cell for cell in cells if cell.features.kind == kind), lambda cell: cell.option
    )
    tight = {
        (option.backend, option.settings_json): option.gap
        for option in sorted(groups, key=lambda each: -each.gap)
    }
    chosen = []
    for option, mine in groups.items():
        if option.gap <= gap:
            chosen.append(_prospect(option, mine, features, gap))
        elif option.gap == tight[option.backend, option.settings_json]:
            chosen.append(_prospect(replace(option, gap=gap), mine, features, gap))
    return _one_per_label(chosen, gap)


def comparable_kind(cells: Iterable[Observation], features: Features) -> str:
    """Return the kind of budget whose cells are evidence for an instance: its own kind, or
    "constrained" if the budget is slack and no slack instance was measured.
    """
    slack_unmeasured = features.kind == "slack" and not any(
        cell.features.kind == "slack" for cell in cells
    )
    return "constrained" if slack_unmeasured else features.kind


def _one_per_label(candidates: Sequence[Prospect], gap: float) -> list[Prospect]:
    """Keep one option of each backend with settings: the one whose gap is nearest to the default,
    unless the certainty of another is higher by more than `AdvicePolicy.clearly`.

    Solvers that exceed the budget do so at loose tolerances, on problems unlike those measured
    before. Asking for a looser gap than the default therefore needs more evidence than a few
    successes.
    """
    usual = min(gap, Options().gap)
    best: dict[str, Prospect] = {}
    for each in sorted(
        candidates, key=lambda each: (abs(math.log10(each.option.gap / usual)), each.option.gap)
    ):
        now = best.get(each.option.label)
        if now is None or each.certainty > now.certainty + POLICY.clearly:
            best[each.option.label] = each
    return list(best.values())


def _prospect(
    option: Option, cells: Sequence[Observation], features: Features, gap: float
) -> Prospect:
    sure = certainty(cells, features, gap)
    model = TimeModel(cells)
    failed_first = (
        sorted(sure.nearest, key=lambda pair: pair[1].succeeds(gap))
        if sure.bound < POLICY.safe
        else sure.nearest
    )
    evidence = tuple(_evidence_row(distance, cell, gap) for distance, cell in failed_first[:5])
    remote = ""
    if model.cells and model.remoteness(features) > POLICY.reach:
        nearest = model.nearest(features)
        size = f"N = {nearest.features.outcomes:,}, n·m = {nearest.features.products}"
        remote = f"{nearest.instance} ({size})"
    return Prospect(
        option,
        sure,
        *model.predict(features),
        evidence=evidence,
        remote=remote,
    )


def _evidence_row(distance: float, cell: Observation, gap: float) -> dict[str, Any]:
    return {
        "instance": cell.instance,
        "outcomes": cell.features.outcomes,
        "outcome": cell.outcome.value,
        "suffices": cell.succeeds(gap),
        "seconds": cell.seconds,
        "relative_gap": plain(cell.gap),
        "distance": round(distance, 3),
        "repeats": len(cell.samples),
        "local": cell.local,
    }


def rank(considered: Iterable[Prospect]) -> list[Prospect]:
    """Order prospects, the best first. Safe ones are ordered by time, except that the most certain
    of those within a tenth of the fastest comes first; the others follow.

    Among the others, which are common where little was measured, those that never failed nearby
    come before those that did, then the order is by certainty, and equally certain ones are ordered
    by the upper end of their predicted time, since a short time far from any measurement is weak
    evidence.
    """
    usable = [
        each
        for each in considered
        if not each.refusal and (math.isfinite(each.seconds) or each.remote)
    ]
    safe = sorted((each for each in usable if each.safe), key=lambda each: each.seconds)
    if safe:
        close = [each for each in safe if each.seconds <= POLICY.tie * safe[0].seconds]
        best = max(close, key=lambda each: (round(each.certainty, 3), -each.seconds))
        safe = [best, *(each for each in safe if each is not best)]
    unsafe = sorted(
        (each for each in usable if not each.safe),
        key=lambda each: (
            each.sure.failures > POLICY.unscathed,
            -round(each.certainty, 1),
            each.high,
        ),
    )
    return [*safe, *unsafe]
