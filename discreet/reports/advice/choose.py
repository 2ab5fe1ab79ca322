"""The advice itself: among the options that are safe here, the one that is predicted to be fastest.

For every option with measurements of the same kind of budget: how sure it is to be certified (`safety`) and how long it will
take (`times`). Options that cannot run here, do not serve the problem, are peers (backends that are there to be compared
with) or are not safe are set aside with the reason. Of the safe ones the fastest is advised; one within a tenth of it
whose certainty is higher goes first. Without a safe one the surest is named, and the advice says that it is not safe.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from discreet.backends.contract import Options, refuse_unserved
from discreet.backends.isolated import probe
from discreet.backends.registry import backend_names, capabilities, load_backend
from discreet.problems.errors import InputError, Unsupported
from discreet.problems.problem import Problem
from discreet.reports.advice.evidence import Cell, Option, cells_of, joined
from discreet.reports.advice.features import NAMES, Features
from discreet.reports.advice.safety import SAFE, certainty
from discreet.reports.advice.times import TimeModel
from discreet.reports.measurements import Measurement, reference_measurements

__all__ = ["Advice", "Prospect", "advise", "machine_factor", "prospects", "rank"]

_TIE = 1.1
_CLEARLY = 0.1  # surer
_SHOWN = 5  # measured rows given as evidence
_FEWEST = 3  # local rows from which a machine's speed is told


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
            "predicted_seconds": _plain(self.seconds),
            "low_seconds": _plain(self.low),
            "high_seconds": _plain(self.high),
            "evidence": [dict(each) for each in self.evidence],
        }


@dataclass(frozen=True)
class Advice:
    """Which backend for a problem, and why.

    chosen        what to use; None only when nothing that was measured can run here
    runner_up     the next best backend, or None
    not_chosen    label -> why, for every other backend or setting
    notes         where the evidence is thin, or the time asked for is short
    """

    problem: str
    features: Features
    gap: float
    seconds: float | None
    chosen: Prospect | None
    runner_up: Prospect | None
    not_chosen: Mapping[str, str]
    notes: tuple[str, ...]
    measured_rows: int
    local_rows: int
    machine_factor: float

    @property
    def backend(self) -> str:
        """Name of the advised backend, for `solve`; auto when there is nothing to advise."""
        return self.chosen.option.backend if self.chosen else "auto"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the advised backend, for `solve`."""
        return self.chosen.option.settings if self.chosen else {}

    @property
    def gap_to_ask(self) -> float:
        """Gap to pass to `solve`: some backends keep the budget only when asked for more than is needed."""
        return self.chosen.option.gap if self.chosen else self.gap

    @property
    def safe(self) -> bool:
        """Whether measurements support the choice; False: solve, and look at the certificate."""
        return self.chosen is not None and self.chosen.safe

    def to_dict(self) -> dict[str, Any]:
        """The record for machines: plain numbers and strings, units in the names, None where undefined."""
        return {
            "problem": self.problem,
            "kind": self.features.kind,
            "outcomes": self.features.outcomes,
            "budget_nats": _plain(self.features.budget_nats),
            "gap": self.gap,
            "seconds": self.seconds,
            "safe": self.safe,
            "chosen": self.chosen.to_dict() if self.chosen else None,
            "runner_up": self.runner_up.to_dict() if self.runner_up else None,
            "not_chosen": dict(self.not_chosen),
            "notes": list(self.notes),
            "measured_rows": self.measured_rows,
            "local_rows": self.local_rows,
            "machine_factor": self.machine_factor,
        }


def advise(
    problem: Problem,
    gap: float = 1e-9,
    seconds: float | None = None,
    *,
    results: Iterable[Measurement] = (),
    peers: bool = False,
    reference: Sequence[Measurement] | None = None,
) -> Advice:
    """Which backend to use for a problem in production, from what was measured on problems like it. Solves nothing.

    gap        relative certified gap that is needed
    seconds    how long one solve may take; where the prediction is longer, the notes say so
    results    rows measured on this machine (`read_results`): they count like shipped ones, replace those of the same
               cell, and tell how fast this machine is
    peers      also consider backends that are there to be compared with
    reference  rows to use instead of those shipped with the package

    Raises InputError for a gap outside (0, 1) or a time that is not positive.
    """
    Options(gap=gap, time_limit=seconds)  # refuses what is out of range
    own = list(results)
    shipped = _reference_cells() if reference is None else tuple(cells_of(reference))
    local = cells_of(own, local=True)
    factor = machine_factor(shipped, local)
    features = Features.of_problem(problem)
    considered = prospects(joined(shipped, local, factor), features, gap)
    judged = [_refused(each, problem, peers) for each in considered]
    ranked = _runnable(rank(judged))
    chosen = ranked[0] if ranked else None
    others = [each for each in ranked[1:] if chosen and each.option.label != chosen.option.label]
    runner_up = next((each for each in others if each.safe), None)
    return Advice(
        problem=problem.name,
        features=features,
        gap=gap,
        seconds=seconds,
        chosen=chosen,
        runner_up=runner_up,
        not_chosen=_reasons(chosen, runner_up, [*ranked, *(each for each in judged if each.refusal)], problem, peers),
        notes=_notes(chosen, features, gap, seconds, [*shipped, *local]),
        measured_rows=sum(len(cell.samples) for cell in shipped),
        local_rows=len(own),
        machine_factor=factor,
    )


@cache
def _reference_cells() -> tuple[Cell, ...]:
    return tuple(cells_of(reference_measurements()))


def machine_factor(shipped: Sequence[Cell], local: Sequence[Cell]) -> float:
    """How many times longer local rows took than the shipped ones predict: the median; 1 with fewer than three of them."""
    models: dict[tuple[Option, str], TimeModel] = {}
    by_key: dict[tuple[Option, str], list[Cell]] = defaultdict(list)
    same = {(cell.option, cell.identity): cell.seconds for cell in shipped}
    for cell in shipped:
        by_key[cell.option, cell.features.kind].append(cell)
    ratios = []
    for cell in (each for each in local if each.timed and each.seconds > 0.0):
        key = cell.option, cell.features.kind
        if key in by_key:
            model = models.setdefault(key, TimeModel(by_key[key]))
            expected = same.get((cell.option, cell.identity)) or model.predict(cell.features).seconds
            ratios.append(cell.seconds / expected)
    ratios = sorted(each for each in ratios if math.isfinite(each) and each > 0.0)
    return ratios[len(ratios) // 2] if len(ratios) >= _FEWEST else 1.0


def prospects(cells: Sequence[Cell], features: Features, gap: float) -> list[Prospect]:
    """What is expected of every measured option on an instance that has to be certified to `gap`.

    Options asked for a looser gap are left out, unless every one of a backend is: then its tightest is asked for `gap`.
    """
    found: dict[Option, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.features.kind == features.kind:
            found[cell.option].append(cell)
    tight = {(option.backend, option.settings_json): option.gap for option in sorted(found, key=lambda each: -each.gap)}
    chosen = []
    for option, mine in found.items():
        if option.gap <= gap:
            chosen.append(_prospect(option, mine, features, gap))
        elif option.gap == tight[option.backend, option.settings_json]:
            chosen.append(_prospect(replace(option, gap=gap), mine, features, gap))
    return _one_a_label(chosen, gap)


def _one_a_label(found: Sequence[Prospect], gap: float) -> list[Prospect]:
    """Of each backend with settings the option whose gap is nearest to the usual one, unless another is clearly surer.

    Where a solver breaks the budget it is at loose tolerances, on problems unlike those measured before: asking for less than
    usual has to be justified by more than a few successes.
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
    evidence = tuple(_told(distance, cell) for distance, cell in telling[:_SHOWN])
    return Prospect(option, sure.bound, sure.successes, sure.failures, time.seconds, time.low, time.high, evidence)


def _told(distance: float, cell: Cell) -> dict[str, Any]:
    return {
        "instance": cell.instance,
        "outcomes": cell.features.outcomes,
        "outcome": cell.outcome,
        "seconds": cell.seconds,
        "relative_gap": _plain(cell.gap),
        "distance": round(distance, 3),
        "repeats": len(cell.samples),
        "local": cell.local,
    }


def rank(considered: Iterable[Prospect]) -> list[Prospect]:
    """Best first: safe ones by time (within a tenth of the fastest by certainty), then the others by certainty."""
    usable = [each for each in considered if not each.refusal and math.isfinite(each.seconds)]
    safe = sorted((each for each in usable if each.safe), key=lambda each: each.seconds)
    if safe:
        close = [each for each in safe if each.seconds <= _TIE * safe[0].seconds]
        best = max(close, key=lambda each: (round(each.certainty, 3), -each.seconds))
        safe = [best, *(each for each in safe if each is not best)]
    unsafe = sorted((each for each in usable if not each.safe), key=lambda each: (-round(each.certainty, 1), each.seconds))
    return [*safe, *unsafe]


# -- what cannot be advised ----------------------------------------------------------------------------------------------


def _refused(prospect: Prospect, problem: Problem, peers: bool) -> Prospect:
    """The same prospect with the reason why it is out of the question here, if it is."""
    name = prospect.option.backend
    if name not in backend_names():
        return replace(prospect, refusal="measured, but no backend of this name is registered here")
    if name not in capabilities():
        return replace(prospect, refusal="it is registered but cannot be loaded; see discreet doctor")
    backend = load_backend(name)
    if getattr(backend.capabilities, "peer", False) and not peers:
        return replace(prospect, refusal="a peer, there to be compared with; --peers considers it")
    try:
        refuse_unserved(backend, problem, Options(settings=prospect.option.settings), {})
    except Unsupported as error:
        return replace(prospect, refusal=str(error).partition(";")[0])
    except InputError as error:
        return replace(prospect, refusal=str(error))
    return prospect


def _runnable(ranked: Sequence[Prospect], probe_one: Callable[[str], str] | None = None) -> list[Prospect]:
    """Without those whose libraries are missing or broken; only backends that may be named are tried, as that takes time."""
    ask = probe_one or _trouble
    return [each for each in ranked if not ask(each.option.backend)]


@cache
def _trouble(name: str) -> str:
    """Why a backend cannot run here, found in a process of its own where it has libraries; empty when it can."""
    return probe(name).availability.reason if load_backend(name).capabilities.libraries else ""


def _reasons(
    chosen: Prospect | None, runner_up: Prospect | None, considered: Sequence[Prospect], problem: Problem, peers: bool
) -> dict[str, str]:
    """Why every other label was not chosen; a label measured at several gaps speaks through its best one."""
    named = {each.option.label for each in (chosen, runner_up) if each}
    reasons: dict[str, str] = {}
    for each in considered:
        if each.option.label not in named and each.option.label not in reasons:
            reasons[each.option.label] = each.refusal or _why_not(each, chosen)
    seen = {label.partition(":")[0] for label in (*reasons, *named)}
    for name in backend_names():
        if name not in seen and name != "auto":
            probed = _refused(Prospect(Option(name, "{}", 0.5), 0.0, 0.0, 0.0, *[math.inf] * 3), problem, peers)
            reasons[name] = probed.refusal or _trouble(name) or "never measured under this kind of budget"
    return reasons


def _why_not(prospect: Prospect, chosen: Prospect | None) -> str:
    if not prospect.safe:
        bad = next((each for each in prospect.evidence if each["outcome"] != "certified"), None)
        told = f"; on {bad['instance']} it was {bad['outcome']}" if bad else ""
        return f"not safe: only at least {prospect.certainty:.0%} sure to be certified here{told}"
    factor = prospect.seconds / chosen.seconds if chosen else math.inf
    return f"safe, but predicted {factor:.2g} times slower"


# -- where the evidence is thin ------------------------------------------------------------------------------------------


def _notes(
    chosen: Prospect | None, features: Features, gap: float, seconds: float | None, cells: Sequence[Cell]
) -> tuple[str, ...]:
    if chosen is None:
        return ("nothing that was measured under this kind of budget can run here; auto tries what there is",)
    notes = []
    if not chosen.safe:
        notes.append(
            f"no backend is safe by what was measured; {chosen.option.label} is the surest, at least {chosen.certainty:.0%}: "
            "look at the certificate before you use its answer"
        )
    mine = [cell for cell in cells if (cell.option.backend, cell.option.settings_json) == _key(chosen)]
    mine = [cell for cell in mine if cell.features.kind == features.kind]
    notes += _beyond(features, mine)
    if all(cell.option.gap > gap for cell in mine):
        notes.append(
            f"it was never asked for a gap as tight as {gap:g}: what it reached when asked for less is the evidence"
        )
    if seconds is not None and chosen.high > seconds:
        verb = "is predicted to take" if chosen.seconds > seconds else "may take"
        notes.append(f"it {verb} longer than {seconds:g} s: up to {chosen.high:.3g} s with probability 95%")
    return tuple(notes)


def _key(prospect: Prospect) -> tuple[str, str]:
    return prospect.option.backend, prospect.option.settings_json


def _beyond(features: Features, cells: Sequence[Cell]) -> list[str]:
    """A sentence for every feature outside what was measured."""
    told = []
    for k, name in enumerate(NAMES):
        values = [float(cell.features.decades[k]) for cell in cells]
        value = float(features.decades[k])
        edge = max(values) if value > max(values) + 0.05 else min(values) if value < min(values) - 0.05 else None
        if edge is not None:
            word = "most" if value > edge else "least"
            told.append(f"extrapolated: {name} is {10.0**value:.3g} and the {word} measured is {10.0**edge:.3g}")
    return told


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
