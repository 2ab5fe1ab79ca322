"""What the page carries: the rows as columns of compact JSON, the tones of the backends, and results of asv.

A column of words is a list of the different words and, for every row, which of them it is; a number that is undefined or
infinite is null. No folder and no name of the machine gets in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from discreet.backends.solution import Status
from discreet.reports.asv_results import AsvRecord
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import plain
from discreet.reports.pictures import tones
from discreet.reports.statistics.claims import claims_success, reason_of
from discreet.reports.statistics.numbers import machine_words, specification
from discreet.reports.statistics.scaling import SIZES
from discreet.reports.statistics.trials import trials
from discreet.reports.study.machine import without_folders

_WORDS: dict[str, Callable[[Measurement], str]] = {
    **{
        name: attrgetter(name)
        for name in ("label", "family", "entry", "instance", "profile", "regime", "claimed", "started", "commit")
    },
    "hash": lambda row: row.problem_hash,
    "budget": lambda row: row.budget_word,
    "status": lambda row: row.status.value,
    "claim": lambda row: "solved" if claims_success(row.claimed) else "",
    "message": lambda row: "" if row.certified else row.message,
    "reason": lambda row: "" if row.certified else reason_of(row),
    "machine": machine_words,
    "versions": lambda row: "\n".join(f"{name} {version}" for name, version in sorted(row.versions.items())),
}
_NUMBERS: dict[str, Callable[[Measurement], float | int | None]] = {
    **{
        name: attrgetter(name)
        for name in ("outcomes", "private_values", "guesses", "lower", "upper", "seconds", "repeat", "threads")
    },
    "gap": lambda row: row.gap_target,
    "sensors": SIZES["sensors"],
    "achieved": lambda row: row.relative_gap,
    "leak": lambda row: row.leakage_over_budget,
    "violated": lambda row: int(row.violated),
    "limit": lambda row: row.time_limit_seconds,
}


def cleaned(rows: Sequence[Measurement]) -> list[Measurement]:
    """The rows without folders of a machine, in the order of their trials, which does not depend on the order given."""
    return [row for trial in trials(map(without_folders, rows)) for row in trial.rows]


def page_data(rows: Sequence[Measurement], asv: Sequence[AsvRecord] = (), source: str = "") -> dict[str, Any]:
    """Everything the scripts read. `rows` are `cleaned`; `source` says in words where they come from."""
    found = trials(rows)
    known = tones(found)
    others = sorted({row.label for row in rows} - set(known))  # installed nowhere, serving nothing here
    return {
        "source": source,
        "rows": len(rows),
        "words": {name: _column([value(row) for row in rows]) for name, value in _WORDS.items()},
        "numbers": {name: [plain(value(row)) for row in rows] for name, value in _NUMBERS.items()},
        "timings": [list(row.timings) for row in rows],
        "tones": known | {name: len(known) + k for k, name in enumerate(others)},
        "statuses": {status.value: status.meaning for status in Status},
        "specification": specification(),
        "asv": [_asv(record) for record in asv],
    }


def _column(values: Sequence[str]) -> dict[str, Any]:
    words = sorted(set(values))
    place = {word: k for k, word in enumerate(words)}
    return {"words": words, "at": [place[value] for value in values]}


def _asv(record: AsvRecord) -> list[Any]:
    place = ", ".join(f"{name}={value}" for name, value in record.parameters)
    numbers = plain((record.value, record.low, record.high))
    return [record.benchmark, place, record.commit[:8], record.date, record.machine, record.outcome, *numbers, record.unit]
