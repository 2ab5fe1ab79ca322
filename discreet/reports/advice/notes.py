"""Sentences that say plainly where advice is thin: nothing safe, beyond what was measured, or too little time."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.reports.advice.evidence import Cell
from discreet.reports.advice.features import NAMES, Features
from discreet.reports.advice.prospects import Prospect, telling_kind

__all__ = ["notes"]


def notes(
    chosen: Prospect | None, features: Features, gap: float, seconds: float | None, cells: Sequence[Cell]
) -> tuple[str, ...]:
    """The sentences on a choice; `cells` are all that were considered, shipped and local."""
    if chosen is None:
        return ("nothing that was measured under this kind of budget can run here; auto tries what there is",)
    found = []
    if not chosen.safe:
        found.append(
            f"no backend is safe by what was measured; {chosen.option.label} is the surest, at least "
            f"{chosen.certainty:.0%}: look at the certificate before you use its answer"
        )
    mine = [cell for cell in cells if (cell.option.backend, cell.option.settings_json) == _key(chosen)]
    kind = telling_kind(cells, features)
    mine = [cell for cell in mine if cell.features.kind == kind]
    if kind != features.kind:
        found.append("no slack budget was measured: the evidence is of budgets that bind, which take longer")
    found += _beyond(features, mine)
    if all(cell.option.gap > gap for cell in mine):
        found.append(
            f"it was never asked for a gap as tight as {gap:g}: what it reached when asked for less is the evidence"
        )
    if seconds is not None and chosen.high > seconds:
        verb = "is predicted to take" if chosen.seconds > seconds else "may take"
        found.append(f"it {verb} longer than {seconds:g} s: up to {chosen.high:.3g} s with probability 95%")
    return tuple(found)


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
            told.append(f"extrapolated: {name} {10.0**value:.3g}, where the {word} measured was {10.0**edge:.3g}")
    return told
