"""What is expected of every measured option on an instance: how sure it is to be certified, how
long it takes, their order.

*Certainty.* Every catalog entry that was measured counts once for its nearest success and once for
its nearest failure, each with a weight that falls with its distance, exp(−d²/2): entries, not rows,
because rows of one entry share their difficulties. The bound is the 5 % quantile of the Beta
posterior with Jeffreys' prior, Beta(½ + successes, ½ + failures). The weight is at least
`AdvicePolicy.far`: an option that failed anywhere under this kind of budget needs successes nearby.
Only running out of time may weigh less, since it says something about the size alone. Source: L. D.
Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion, Statist. Sci. 16
(2001) 101–133.

*Time.* A log-linear fit through everything that the option was timed on, corrected by its nearest
measurements:

    log t = b·(1, log N, (log N − 2.5)₊, (log N − 4)₊, log nm, log ε/I, log error share) + r,    all
                                                                                                 in
                                                                                                 decades

The hinges are a floor that turns into a slope: small problems cost the same whatever their size,
and none costs less than the smallest that was measured. b has a weak normal prior (ridge). r is the
weighted mean of the residuals of near instances, shrunk towards 0 when none is near. The interval
is a Student t prediction interval whose variance comes from residuals of fits without the case
itself (the residual ÷ (1 − its leverage)), corrected by other catalog entries only, times 1 + the
leverage of the instance. The fit knows nothing of sizes that were never measured together, so a
second variance grows with the way from the nearest measurement in (log N, log nm, log N·nm,
budget); further than `AdvicePolicy.reach` no time is predicted. Source: A. Gelman et al., Bayesian
Data Analysis, 3rd ed., §14.2.
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
    """The judgements that the advice rests on. `benchmarks/advice_regret.py` tests them together.

    safe            certainty from which an option is advised without a warning: about six near
                    entries, no failure
    quantile        of the posterior that is the certainty; coverage share of times meant to lie in
                    the interval
    far             least weight of a cell: any instance of the same kind of budget says something
    clearly         how much surer an option must be to be asked for an unusual gap
    unscathed       weighted failures up to which an option counts as one that never failed nearby
    tie             factor of time within which the surer option is preferred
    prior_decades   spread of times assumed before any residual is seen, worth `prior_count` of them
    spacing         decades from the nearest measurement that the fit itself answers for: studies
                    step by about three in N
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
    """successes and failures are weighted counts of entries; `nearest` are the cells that count,
    nearest first.

    cases   the nearest success and the nearest failure of every entry, but for times that ran out
            far away
    """

    bound: float
    successes: float
    failures: float
    nearest: tuple[tuple[float, Observation], ...]
    certified: int = 0
    cases: int = 0


def certainty(cells: Sequence[Observation], features: Features, gap: float) -> Certainty:
    """The bound for one option from its cells of the same kind of budget; `gap` is what has to be
    proven.
    """
    from scipy.special import betaincinv

    if not cells:
        return Certainty(0.0, 0.0, 0.0, ())
    distances = features.distances(np.array([cell.features.decades for cell in cells]))
    good: dict[str, float] = {}
    bad: dict[str, float] = {}
    for cell, near in zip(cells, np.exp(-0.5 * distances**2).tolist(), strict=True):
        votes = good if cell.succeeds(gap) else bad
        weight = near if cell.outcome is Status.TIMED_OUT else max(POLICY.far, near)
        votes[cell.group] = max(votes.get(cell.group, 0.0), weight)
    successes = sum(good.values())
    failures = sum(bad.values())
    bound = float(betaincinv(0.5 + successes, 0.5 + failures, POLICY.quantile))
    order = sorted(zip(distances.tolist(), cells, strict=True), key=lambda pair: pair[0])
    cases = len(good) + sum(weight >= POLICY.far for weight in bad.values())
    return Certainty(bound, successes, failures, tuple(order), len(good), cases)


class TimeModel:
    """The fit of one option under one kind of budget. Law: scaling all seconds by a factor scales
    every estimate by it.
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
        others = (self._near(cell.features, self._groups != cell.group) for cell in self.cells)
        errors = own - np.array([*others])
        prior = POLICY.prior_count * POLICY.prior_decades**2
        self._freedom = len(self.cells) + POLICY.prior_count
        self._scale = math.sqrt((float(errors @ errors) + prior) / self._freedom)

    def predict(self, features: Features) -> tuple[float, float, float]:
        """Seconds on an instance and the ends of their interval; all inf without a measurement."""
        if not self.cells:
            return math.inf, math.inf, math.inf
        from scipy.special import stdtrit

        row = _regressors(np.maximum(features.decades, self._floor))
        centre = (
            self._level
            + float(row @ self._slopes)
            + self._near(features, np.ones(len(self.cells), dtype=bool))
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
        """Decades from the nearest measurement in (log N, log nm, log N·nm, budget), beyond what
        the fit answers for.
        """
        distances = _size_distances(np.maximum(features.decades, self._floor), self._decades)
        return max(0.0, float(distances.min()) - POLICY.spacing)

    def nearest(self, features: Features) -> Observation:
        """The measurement from which `remoteness` counts."""
        return self.cells[int(_size_distances(features.decades, self._decades).argmin())]

    def _near(self, features: Features, use: np.ndarray) -> float:
        weights = np.exp(-0.5 * features.distances(self._decades) ** 2) * use
        return float(weights @ self._residuals) / (float(weights.sum()) + 0.5)


def _regressors(decades: Array) -> Array:
    outcomes, products, share, _, error = decades
    hinges = [max(0.0, outcomes - knot) for knot in (2.5, 4.0)]
    return np.array([1.0, outcomes - 2.0, *hinges, products - 1.0, share, error])


def _size_distances(here: Array, there: Array) -> Array:
    """Distances in decades between the sizes of an instance [5] and of others [K, 5]; ten of a
    budget count as one.
    """
    apart = there - here
    size = np.column_stack(
        [apart[:, 0], apart[:, 1], apart[:, 0] + apart[:, 1], 0.1 * apart[:, 2], 0.1 * apart[:, 3]]
    )
    return np.asarray(np.sqrt((size**2).sum(axis=1)))


@dataclass(frozen=True)
class Prospect:
    """What is expected of one option: seconds to lower, solve and lift (the judge's come on top),
    and how sure it is.

    option           backend, settings and the gap to ask it for
    certainty        lower 5% bound of its chance to be certified here
    successes, failures   measured entries for and against, weighted by nearness
    seconds, low, high    predicted, with a 90% interval
    evidence         the nearest measured rows; the failures first where it is not safe
    remote           the nearest measurement where it is too far for a prediction, else empty: then
                     the seconds are an extrapolation that orders options and is not shown; inf
                     where nothing was measured
    refusal          why it is ruled out; empty when it is not
    certified, cases measured entries behind the certainty, counted: certified ones, and all
    """

    option: Option
    certainty: float
    successes: float
    failures: float
    seconds: float
    low: float
    high: float
    evidence: tuple[Mapping[str, Any], ...] = ()
    remote: str = ""
    refusal: str = ""
    certified: int = 0
    cases: int = 0

    @property
    def record(self) -> str:
        """How many comparable cases it certified, and the chance that this leaves it at least, in
        words.
        """
        least = (
            f"at least {100.0 * self.certainty:.0f} % at {100.0 * (1.0 - POLICY.quantile):.0f} %"
        )
        return f"{self.certified} of {self.cases} comparable cases certified ({least})"

    @property
    def safe(self) -> bool:
        """Whether it may be advised without a warning."""
        return not self.refusal and not self.remote and self.certainty >= POLICY.safe

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings; None where there is no prediction."""
        numbers = ("certainty", "successes", "failures", "certified", "cases", "evidence")
        return chosen(self, numbers) | {
            "backend": self.option.backend,
            "settings": self.option.settings,
            "gap_to_ask": self.option.gap,
            "predicted_seconds": None if self.remote else plain(self.seconds),
            "low_seconds": None if self.remote else plain(self.low),
            "high_seconds": None if self.remote else plain(self.high),
        }


def prospects(cells: Sequence[Observation], features: Features, gap: float) -> list[Prospect]:
    """What is expected of every measured option on an instance that has to be certified to `gap`.

    Options asked for a looser gap are left out, unless every one of a backend is: then its tightest
    is asked for `gap`.
    """
    kind = comparable_kind(cells, features)
    found = group_by(
        (cell for cell in cells if cell.features.kind == kind), lambda cell: cell.option
    )
    tight = {
        (option.backend, option.settings_json): option.gap
        for option in sorted(found, key=lambda each: -each.gap)
    }
    chosen = []
    for option, mine in found.items():
        if option.gap <= gap:
            chosen.append(_prospect(option, mine, features, gap))
        elif option.gap == tight[option.backend, option.settings_json]:
            chosen.append(_prospect(replace(option, gap=gap), mine, features, gap))
    return _one_per_label(chosen, gap)


def comparable_kind(cells: Iterable[Observation], features: Features) -> str:
    """The kind of budget whose cells are evidence for an instance: its own; binding ones where no
    slack one was measured.
    """
    slack_unmeasured = features.kind == "slack" and not any(
        cell.features.kind == "slack" for cell in cells
    )
    return "constrained" if slack_unmeasured else features.kind


def _one_per_label(found: Sequence[Prospect], gap: float) -> list[Prospect]:
    """Of each backend with settings the option whose gap is nearest to the usual one, unless
    another is clearly surer.

    Where a solver breaks the budget it is at loose tolerances, on problems unlike those measured
    before: asking for less than usual has to be justified by more than a few successes.
    """
    usual = min(gap, Options().gap)
    best: dict[str, Prospect] = {}
    for each in sorted(
        found, key=lambda each: (abs(math.log10(each.option.gap / usual)), each.option.gap)
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
        near = model.nearest(features)
        remote = f"{near.instance} (N = {near.features.outcomes:,}, n·m = {near.features.products})"
    return Prospect(
        option,
        *(sure.bound, sure.successes, sure.failures),
        *model.predict(features),
        evidence=evidence,
        remote=remote,
        certified=sure.certified,
        cases=sure.cases,
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
    """Best first: safe ones by time (within a tenth of the fastest by certainty), then the others
    by certainty.

    Among the others, which there are where little was measured, those that never failed nearby go
    before those that did, and of equally certain ones that with the least upper end of its time: a
    short time far from any measurement says little.
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
        key=lambda each: (each.failures > POLICY.unscathed, -round(each.certainty, 1), each.high),
    )
    return [*safe, *unsafe]
