"""What is expected of every measured option on an instance, and their order.

For every option with measurements of the same kind of budget: how sure it is to be certified (`safety`) and how long it will
take (`times`). Of the safe ones the fastest comes first; one within a tenth of it whose certainty is higher goes before it.
Without a safe one the surest comes first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.backends.contract import Options
from discreet.reports.advice.evidence import Cell, Option
from discreet.reports.advice.features import Features
from discreet.reports.advice.safety import SAFE, certainty
from discreet.reports.advice.times import TimeModel

__all__ = ["Prospect", "plain", "prospects", "rank", "telling_kind"]

_TIE = 1.1
_CLEARLY = 0.1  # surer
_UNSCATHED = 0.25  # weighted failures that are no more than a far echo
_SHOWN = 5  # measured rows given as evidence


@dataclass(frozen=True)
class Prospect:
    """What is expected of one option: seconds to lower, solve and lift (the judge's come on top), and how sure it is.

    option           backend, settings and the gap to ask it for
    certainty        lower 5% bound of its chance to be certified here
    successes, failures   measured entries that speak for and against, weighted by nearness
    seconds, low, high    predicted, with a 90% interval
    evidence         the nearest measured rows; the failures first where it is not safe
    refusal          why it is out of the question; empty when it is not
    """

    option: Option
    certainty: float
    successes: float
    failures: float
    seconds: float
    low: float
    high: float
    evidence: tuple[Mapping[str, Any], ...] = ()
    refusal: str = ""

    @property
    def safe(self) -> bool:
        """Whether it may be advised without a warning."""
        return not self.refusal and self.certainty >= SAFE

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings; None where there is no prediction."""
        return {
            "backend": self.option.backend,
            "settings": self.option.settings,
            "gap_to_ask": self.option.gap,
            "certainty": self.certainty,
            "successes": self.successes,
            "failures": self.failures,
            "predicted_seconds": plain(self.seconds),
            "low_seconds": plain(self.low),
            "high_seconds": plain(self.high),
            "evidence": [dict(each) for each in self.evidence],
        }


def prospects(cells: Sequence[Cell], features: Features, gap: float) -> list[Prospect]:
    """What is expected of every measured option on an instance that has to be certified to `gap`.

    Options asked for a looser gap are left out, unless every one of a backend is: then its tightest is asked for `gap`.
    """
    found: dict[Option, list[Cell]] = defaultdict(list)
    kind = telling_kind(cells, features)
    for cell in cells:
        if cell.features.kind == kind:
            found[cell.option].append(cell)
    tight = {(option.backend, option.settings_json): option.gap for option in sorted(found, key=lambda each: -each.gap)}
    chosen = []
    for option, mine in found.items():
        if option.gap <= gap:
            chosen.append(_prospect(option, mine, features, gap))
        elif option.gap == tight[option.backend, option.settings_json]:
            chosen.append(_prospect(replace(option, gap=gap), mine, features, gap))
    return _one_a_label(chosen, gap)


def telling_kind(cells: Iterable[Cell], features: Features) -> str:
    """The kind of budget whose cells speak for an instance: its own; binding ones for a slack one that nobody measured."""
    slack_unmeasured = features.kind == "slack" and not any(cell.features.kind == "slack" for cell in cells)
    return "constrained" if slack_unmeasured else features.kind


def _one_a_label(found: Sequence[Prospect], gap: float) -> list[Prospect]:
    """Of each backend with settings the option whose gap is nearest to the usual one, unless another is clearly surer.

    Where a solver breaks the budget it is at loose tolerances, on problems unlike those measured before: asking for less
    than usual has to be justified by more than a few successes.
    """
    usual = min(gap, Options().gap)
    best: dict[str, Prospect] = {}
    for each in sorted(found, key=lambda each: (abs(math.log10(each.option.gap / usual)), each.option.gap)):
        now = best.get(each.option.label)
        if now is None or each.certainty > now.certainty + _CLEARLY:
            best[each.option.label] = each
    return list(best.values())


def _prospect(option: Option, cells: Sequence[Cell], features: Features, gap: float) -> Prospect:
    sure = certainty(cells, features, gap)
    time = TimeModel(cells).predict(features)
    telling = sure.nearest if sure.bound >= SAFE else (*sure.failed, *(p for p in sure.nearest if p not in sure.failed))
    evidence = tuple(_told(distance, cell, gap) for distance, cell in telling[:_SHOWN])
    return Prospect(option, sure.bound, sure.successes, sure.failures, time.seconds, time.low, time.high, evidence)


def _told(distance: float, cell: Cell, gap: float) -> dict[str, Any]:
    return {
        "instance": cell.instance,
        "outcomes": cell.features.outcomes,
        "outcome": cell.outcome,
        "suffices": cell.succeeds(gap),
        "seconds": cell.seconds,
        "relative_gap": plain(cell.gap),
        "distance": round(distance, 3),
        "repeats": len(cell.samples),
        "local": cell.local,
    }


def rank(considered: Iterable[Prospect]) -> list[Prospect]:
    """Best first: safe ones by time (within a tenth of the fastest by certainty), then the others by certainty.

    Among the others, which there are where little was measured, those that never failed nearby go before those that did.
    """
    usable = [each for each in considered if not each.refusal and math.isfinite(each.seconds)]
    safe = sorted((each for each in usable if each.safe), key=lambda each: each.seconds)
    if safe:
        close = [each for each in safe if each.seconds <= _TIE * safe[0].seconds]
        best = max(close, key=lambda each: (round(each.certainty, 3), -each.seconds))
        safe = [best, *(each for each in safe if each is not best)]
    unsafe = sorted(
        (each for each in usable if not each.safe),
        key=lambda each: (each.failures > _UNSCATHED, -round(each.certainty, 1), each.seconds),
    )
    return [*safe, *unsafe]


def plain(value: float) -> float | None:
    """The number, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None
