"""What the page carries: the rows and results of asv as columns of compact JSON, and the statistics of every choice of its
filters. The scripts compute no statistic: they pick and draw.

A number that is undefined or infinite is null. No folder and no name of the machine gets in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, product
from operator import attrgetter
from typing import Any

from discreet.backends.solution import Status
from discreet.reports import wording
from discreet.reports.asv_results import AsvRecord
from discreet.reports.figures import LIGHT, look
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import plain
from discreet.reports.pictures import tones
from discreet.reports.statistics.aggregates import SHIFT_PERCENTILE
from discreet.reports.statistics.claims import weighed
from discreet.reports.statistics.numbers import report_numbers as report_numbers
from discreet.reports.statistics.scaling import SIZES, WIDEST
from discreet.reports.statistics.trials import NOT_TRIED, trials
from discreet.reports.study.machine import without_folders

CHOICES = ("family", "profile", "regime")
"""Of each of these the reader keeps one value or all: the statistics are those of what is kept."""

_ROW = (
    "label", "entry", "instance", "budget_word", "private_values", "guesses", "gap_target", "repeat", "status", "message",
    "claimed", "answered", "relative_gap", "leakage_over_budget", "violated", "seconds", *CHOICES,
)  # fmt: skip


def cleaned(rows: Sequence[Measurement]) -> list[Measurement]:
    """The rows without folders of a machine, in the order of their trials, which does not depend on the order given."""
    return [row for trial in trials(map(without_folders, rows)) for row in trial.rows]


def page_data(rows: Sequence[Measurement], asv: Sequence[AsvRecord] = (), source: str = "") -> dict[str, Any]:
    """Everything the scripts read. `rows` are `cleaned`; `source` says in words where they come from."""
    found = trials(rows)
    ends = accumulate(len(trial.rows) for trial in found)
    told = {"weighed": weighed, "bracket": lambda row: wording.bracket(row.lower, row.upper)}
    history = ("benchmark", "place", "commit", "date", "machine", "outcome", "value", "unit")
    firsts = ((end - len(trial.rows), trial) for end, trial in zip(ends, found, strict=True))
    return {
        "source": source,
        "rows": _columns(rows, _ROW, SIZES | told),
        "work": [[k, trial.achieved, trial.seconds] for k, trial in firsts if trial.kept],
        "choices": CHOICES,
        "views": _views(rows),
        "tones": tones(found),
        "looks": [look(tone) for tone in range(len(LIGHT) ** 2)],
        "statuses": {status.value: status.meaning for status in Status},
        "not_tried": sorted(status.value for status in NOT_TRIED),
        "shift_percentile": SHIFT_PERCENTILE,
        "widest": WIDEST,
        "asv": _columns(asv, history, {}),
    }


def _views(rows: Sequence[Measurement]) -> dict[str, Any]:
    """The statistics of every choice, by its words, a line each; "" keeps all. The columns and `work` hold the rest."""
    words = [sorted({getattr(row, name) for row in rows}) for name in CHOICES]
    views = {}
    for chosen in product(*(["", *each] if len(each) > 1 else [""] for each in words)):
        asked = [(name, word) for name, word in zip(CHOICES, chosen, strict=True) if word]
        numbers = report_numbers([row for row in rows if all(getattr(row, name) == word for name, word in asked)])
        views["\n".join(chosen)] = {n: value for n, value in numbers.items() if n not in ("leaks", "work_precision")}
    return views


def _columns(records: Sequence[Any], names: Iterable[str], others: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Records of one kind by column: its different values and, for every record, which of them it has."""
    columns: dict[str, Any] = {}
    for name in (*names, *others):
        values = [plain(others.get(name, attrgetter(name))(record)) for record in records]
        place = {different: k for k, different in enumerate(dict.fromkeys(values))}
        columns[name] = {"values": list(place), "at": [place[each] for each in values]}
    return {"length": len(records), "columns": columns}
