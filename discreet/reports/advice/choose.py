"""Choice of a backend: among the options that are safe here, the one that is predicted to be
fastest.

Options that cannot run here, do not serve the problem, are peers (backends for comparison only) or
are not safe are set aside with the reason. If no option is safe, the most certain one is named, and
the advice states that it is not safe. Notes say where the evidence is weak: no option is safe, the
problem lies outside the measured range, or the requested time is too short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from discreet.backends.contract import Options
from discreet.backends.isolated import probe
from discreet.backends.registry import (
    backend_names,
    capabilities,
    load_backend,
    missing_library,
    refuse_unknown_names,
    refuse_unserved,
)
from discreet.checks import as_list
from discreet.errors import InputError, Unsupported
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import arrays_of
from discreet.problems.problem import Problem
from discreet.reports.advice.evidence import (
    FEATURES,
    Features,
    Observation,
    Option,
    join_observations,
    observations_of,
)
from discreet.reports.advice.prediction import (
    Certainty,
    Prospect,
    TimeModel,
    comparable_kind,
    prospects,
    rank,
)
from discreet.reports.measurements import (
    Measurement,
    Stakes,
    group_by,
    reference_measurements,
)
from discreet.showing.data import chosen, plain


@dataclass(frozen=True)
class Advice:
    """The advised backend for a problem, with the reasons.

    chosen        the prospect to use; None only if no option that was measured can run here
    runner_up     the next best backend, or None
    not_chosen    dictionary from every other backend or label to the reason why it was not chosen
    notes         sentences on weak evidence, or on a requested time that is too short
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
        """Return the name of the advised backend, for `solve`; auto if no backend can be
        advised.
        """
        return self.chosen.option.backend if self.chosen else "auto"

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings of the advised backend, for `solve`."""
        return self.chosen.option.settings if self.chosen else {}

    @property
    def gap_to_ask(self) -> float:
        """Return the gap to pass to `solve`. Some backends keep the budget only when asked for a
        tighter gap than is needed.
        """
        return self.chosen.option.gap if self.chosen else self.gap

    @property
    def safe(self) -> bool:
        """Return whether measurements support the choice. If False, check the certificate after
        solving.
        """
        return self.chosen is not None and self.chosen.safe

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain numbers and strings, with units in the names and None where
        undefined.
        """
        same = (
            "problem",
            "gap",
            "seconds",
            "safe",
            "not_chosen",
            "notes",
            "measured_rows",
            "local_rows",
            "machine_factor",
        )
        return chosen(self, same) | {
            "kind": self.features.kind,
            "outcomes": self.features.outcomes,
            "budget_nats": plain(self.features.budget_nats),
            "chosen": self.chosen.to_dict() if self.chosen else None,
            "runner_up": self.runner_up.to_dict() if self.runner_up else None,
        }


def advise(
    problem: Problem | BlockProblem,
    gap: float = 1e-9,
    seconds: float | None = None,
    *,
    results: Iterable[Measurement | str | Path] = (),
    peers: bool = False,
    among: Sequence[str] | None = None,
    reference: Sequence[Measurement] | None = None,
) -> Advice:
    """Advise a backend for a problem from measurements on similar problems, without solving
    anything.

    gap        relative certified gap that is needed
    seconds    how long one solve may take; if the prediction is longer, the notes say so
    results    measurements from this machine: rows, or paths of study folders and of .parquet, .csv
               and .csv.gz files. They count like shipped rows, replace those of the same cell, and
               determine how fast this machine is
    peers      also consider backends that are for comparison only
    among      consider only these: names of backends, peers too, or labels such as
               conic:solver=scs; None means all
    reference  rows to use instead of those shipped with the package

    Raises InputError for a gap outside (0, 1), a time that is not positive or an unknown backend,
    FileError for results that cannot be read.
    """
    Options(gap=gap, time_limit=seconds)  # refuses what is out of range
    arrays = arrays_of("advise", problem)
    asked = None if among is None else tuple(as_list(among, "among", "names of backends"))
    refuse_unknown_names(name.partition(":")[0] for name in asked or ())
    peers = peers or asked is not None
    own = _rows(results)
    observations = (
        _reference_observations() if reference is None else tuple(observations_of(reference))
    )
    every_local = observations_of(own, local=True)
    factor = machine_factor(observations, every_local)
    shipped, local = (
        [cell for cell in cells if cell.is_about(arrays)] for cells in (observations, every_local)
    )
    features = Features.of_problem(arrays)
    cells = join_observations(shipped, local, factor)
    considered = prospects(cells, features, gap) if cells else _by_capability(problem, gap)
    if asked is not None:
        considered = [each for each in considered if each.option.configuration.named_in(asked)]
    considered += _refuse_unmeasured(considered, gap, asked)
    judged = _importable(
        [
            replace(each, refusal=_refusal(each.option, problem, peers) or each.refusal)
            for each in considered
        ]
    )
    ranked = rank(judged)
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
        not_chosen=_reasons(
            chosen, runner_up, [*ranked, *(each for each in judged if each.refusal)]
        ),
        notes=_notes(chosen, features, gap, seconds, [*shipped, *local], Stakes.of(arrays), asked),
        measured_rows=sum(len(cell.samples) for cell in shipped),
        local_rows=len(own),
        machine_factor=factor,
    )


def _by_capability(problem: Problem | BlockProblem, gap: float) -> list[Prospect]:
    """Return every backend that serves the problem, in the order in which `auto` tries them, when
    no similar problem was measured.
    """
    served = [
        name
        for name, able in capabilities().items()
        if name != "auto" and able.serves_budget(problem)
    ]
    return [_unknown(name, gap, remote="nothing of its measure") for name in served]


def _refuse_unmeasured(
    considered: Sequence[Prospect], gap: float, among: Sequence[str] | None
) -> list[Prospect]:
    """Return the backends without a measurement, which are refused for that."""
    measured = {each.option.backend for each in considered}
    return [
        _unknown(name, gap, refusal="never measured under this kind of budget")
        for name in backend_names()
        if name not in measured and (name in among if among is not None else name != "auto")
    ]


def _unknown(name: str, gap: float, *, remote: str = "", refusal: str = "") -> Prospect:
    option = Option(name, "{}", gap)
    return Prospect(
        option, Certainty(), math.inf, math.inf, math.inf, remote=remote, refusal=refusal
    )


def _rows(results: Iterable[Measurement | str | Path]) -> list[Measurement]:
    given = (
        [results]
        if isinstance(results, str | Path)
        else as_list(results, "results", "rows and paths", empty=True)
    )
    paths = [each for each in given if not isinstance(each, Measurement)]
    rows = [each for each in given if isinstance(each, Measurement)]
    if paths:
        from discreet.reports.study.store import read_results

        rows += read_results(paths)
    return rows


@cache
def _reference_observations() -> tuple[Observation, ...]:
    return tuple(observations_of([*reference_measurements(), *reference_measurements("measures")]))


def machine_factor(shipped: Sequence[Observation], local: Sequence[Observation]) -> float:
    """Return the median ratio of local seconds to the shipped seconds of the same cell, or to those
    predicted from the shipped rows; 1 with fewer than three ratios.
    """
    same = {(cell.option, cell.identity): cell.seconds for cell in shipped}
    by_kind = group_by(shipped, _timed_alike)
    ratios = []
    for kind, own in group_by(local, _timed_alike).items():
        model = TimeModel(by_kind.get(kind, ()))
        for cell in own:
            if cell.timed and cell.seconds > 0.0:
                expected = same.get((cell.option, cell.identity)) or model.predict(cell.features)[0]
                ratios.append(cell.seconds / expected)
    ratios = sorted(each for each in ratios if math.isfinite(each) and each > 0.0)
    return ratios[len(ratios) // 2] if len(ratios) >= 3 else 1.0


def _timed_alike(cell: Observation) -> tuple[Option, str, str, int]:
    """Return what cells share whose times are fitted together."""
    return cell.option, cell.features.kind, cell.measure, cell.secrets


# -- what is ruled out, and why
# --------------------------------------------------------------------------------------------


def _refusal(option: Option, problem: Problem | BlockProblem, peers: bool) -> str:
    """Return why an option is ruled out for a problem; the text is empty if it is not."""
    name = option.backend
    if name not in backend_names():
        return "measured, but no backend of this name is registered here"
    if name not in capabilities():
        return "it is registered but cannot be loaded; see discreet doctor"
    if not peers and option.is_peer:
        return "a peer, for comparison only; --peers includes it"
    try:
        refuse_unserved(
            name, load_backend(name).capabilities, problem, Options(settings=option.settings)
        )
    except Unsupported as error:
        return str(error).partition(";")[0]
    except InputError as error:
        return str(error)
    return _absence(name)


def _importable(prospects: list[Prospect]) -> list[Prospect]:
    """Mark the prospects whose libraries are broken as refused, with the reason.

    An import is tried in a separate process, which takes about a second, so this is done only for
    the two best-ranked backends.
    """
    for _ in prospects:
        first = {each.option.backend for each in rank(prospects)[:2]}
        trouble = {name: _trouble(name) for name in first}
        if not any(trouble.values()):
            break
        prospects = [
            replace(p, refusal=trouble.get(p.option.backend, "") or p.refusal) for p in prospects
        ]
    return prospects


def _absence(name: str) -> str:
    """Return why a backend cannot run here, without importing anything; the text is empty if it
    can.
    """
    lack = missing_library(load_backend(name))
    return f"it {lack}" if lack else ""


@cache
def _trouble(name: str) -> str:
    """Return why a backend cannot run here, determined in a separate process if it has libraries;
    the text is empty if it can.
    """
    return probe(name).reason if load_backend(name).capabilities.libraries else ""


def _reasons(
    chosen: Prospect | None, runner_up: Prospect | None, considered: Sequence[Prospect]
) -> dict[str, str]:
    """Return why every other label was not chosen. A label measured at several gaps is represented
    by its best one.
    """
    named = {each.option.label for each in (chosen, runner_up) if each}
    reasons: dict[str, str] = {}
    for each in considered:
        if each.option.label not in named:
            reasons.setdefault(each.option.label, each.refusal or _why_not(each, chosen))
    return reasons


def _why_not(prospect: Prospect, chosen: Prospect | None) -> str:
    if not prospect.evidence:
        first = chosen.option.label if chosen else "others"
        return f"nothing was measured under such a constraint, and auto asks {first} first"
    if prospect.remote:
        return f"there is no measurement of it near this problem; the nearest is {prospect.remote}"
    if not prospect.safe:
        bad = next((each for each in prospect.evidence if not each["suffices"]), None)
        failing = (
            "its gap was too wide"
            if bad and bad["outcome"] == "certified"
            else f"it was {bad and bad['outcome']}"
        )
        failure = f"; on {bad['instance']} {failing}" if bad else ""
        return f"not safe: {prospect.record}{failure}"
    factor = prospect.seconds / chosen.seconds if chosen else math.inf
    return f"safe, but predicted {factor:.2g} times slower"


def _notes(
    chosen: Prospect | None,
    features: Features,
    gap: float,
    seconds: float | None,
    cells: Sequence[Observation],
    stakes: Stakes,
    among: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return the notes on a choice; `cells` are all observations considered, shipped and local."""
    if chosen is None and among is not None:
        return (
            f"of {', '.join(among)} nothing can be advised here; the reasons are below, and "
            "others may serve",
        )
    if not cells:
        asked = (
            stakes.measure
            if stakes.secrets == 1
            else f"{stakes.secrets} constraints on {stakes.measure}"
        )
        if chosen is None:
            return (
                f"nothing was measured under {asked}, and no backend that can run here serves that",
            )
        return (
            f"nothing was measured under {asked}: {chosen.option.label} is named because it "
            "serves that and auto asks it "
            "first of those that do; look at the certificate before you use its answer",
        )
    if chosen is None:
        return (
            "nothing that was measured under this kind of budget can run here; auto tries "
            "what there is",
        )
    notes = []
    if chosen.remote:
        notes.append(
            "there is no measurement near this problem, so no time is predicted; the nearest of "
            f"{chosen.option.label} is "
            f"{chosen.remote}: solve smaller problems of this kind first, or give results of "
            "your own"
        )
    if not chosen.safe:
        notes.append(
            f"no backend is safe by what was measured; {chosen.option.label} is the most certain, "
            f"{chosen.record}: look at "
            "the certificate before you use its answer"
        )
    kind = comparable_kind(cells, features)
    key = chosen.option.backend, chosen.option.settings_json
    mine = [
        c
        for c in cells
        if (c.option.backend, c.option.settings_json) == key and c.features.kind == kind
    ]
    if kind != features.kind:
        notes.append(
            "no slack budget was measured: the evidence is of budgets that bind, which take longer"
        )
    notes += _extrapolation_notes(features, mine)
    if all(cell.option.gap > gap for cell in mine):
        notes.append(
            f"it was never asked for a gap as tight as {gap:g}: what it reached when asked for "
            "less is the evidence"
        )
    if seconds is not None and not chosen.remote and chosen.high > seconds:
        verb = "is predicted to take" if chosen.seconds > seconds else "may take"
        notes.append(
            f"it {verb} longer than {seconds:g} s: up to {chosen.high:.3g} s with probability 95%"
        )
    return tuple(notes)


def _extrapolation_notes(features: Features, cells: Sequence[Observation]) -> list[str]:
    """Return a sentence for every feature that lies outside the measured range."""
    notes = []
    for k, name in enumerate(FEATURES):
        values = [float(cell.features.decades[k]) for cell in cells]
        value = float(features.decades[k])
        edge = min(max(value, min(values)), max(values))
        if abs(value - edge) > 0.05:
            word = "most" if value > edge else "least"
            notes.append(
                f"extrapolated: {name} {10.0**value:.3g}, where the {word} measured was "
                f"{10.0**edge:.3g}"
            )
    return notes
