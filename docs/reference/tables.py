"""Writes the tables of backends.md and peers.md from what the backends declare: `python
docs/reference/tables.py`.

Only the rows are written; the words around them stay. A test compares the pages with what this
would write.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.backends.contract import ACCURACY, Accuracy, Capabilities, Reach, Regime
from discreet.backends.registry import load_backend, own_backends
from discreet.reports.wording import measures

HERE = Path(__file__).resolve().parent
BUDGETS = {Regime.PERFECT: "0", Regime.CONSTRAINED: "positive", Regime.OBLIVIOUS: "inf"}
TUNING = "| setting | value | solver's default | why |"


def described(name: str, able: Capabilities) -> list[str]:
    """The row of a backend."""
    budgets = ", ".join(word for regime, word in BUDGETS.items() if regime in able.regimes) or "–"
    largest = f"{able.largest_outcomes:,}" if able.largest_outcomes else "–"
    extra = f"`{able.extra}`" if able.extra else "–"
    duals = "yes" if able.gives_duals else "no"
    served = measures(able)
    return [
        f"`{name}`",
        able.method,
        able.method_class,
        budgets,
        served,
        duals,
        largest,
        extra,
        able.citation,
    ]


def classed(name: str, accuracy: Accuracy) -> list[str]:
    """The row of a class of methods: gaps, then excesses over the budget; – where nothing is
    promised.
    """
    return [
        name,
        accuracy.words,
        *(f"{each:g}" if each < math.inf else "–" for each in (*accuracy.gap, *accuracy.excess)),
    ]


def reached(name: str, reach: Reach) -> list[str]:
    """The row of a size beyond which a backend is not tried."""
    settings = ", ".join(f"{key}={value}" for key, value in reach.settings.items())
    where = "curves" if reach.curves else settings or "–"
    sizes = ((reach.outcomes, "outcomes"), (reach.unknowns, "unknowns m N"))
    above = ", ".join(f"{size:,} {what}" for size, what in sizes if size < math.inf)
    return [f"`{name}`", where, above, reach.reason]


def doubted(name: str, able: Capabilities) -> list[list[str]]:
    """The rows of kinds of problem on which a backend is unreliable."""
    return [[f"`{name}`", kind, why] for kind, why in able.unreliable.items()]


def tuned(backend: Any) -> list[list[str]]:
    """The rows of what a peer is given."""
    return [
        [f"`{each.name}`", str(each.value), str(each.default), each.why]
        for each in getattr(backend, "tuning", ())
    ]


def with_rows(text: str, head: str, rows: Iterable[list[str]]) -> str:
    """The text with the rows under the (first) table that begins with `head`."""
    found = re.search(rf"^{re.escape(head)}.*\n\|[-|]+\|\n((?:\|.*\n)*)", text, flags=re.MULTILINE)
    if found is None:
        raise ValueError(f"no table begins with {head!r}")
    return (
        text[: found.start(1)]
        + "".join(f"| {' | '.join(row)} |\n" for row in rows)
        + text[found.end(1) :]
    )


def backends(text: str) -> str:
    """The page of the backends."""
    able = {name: load_backend(name).capabilities for name in own_backends()}
    for head, peer in (("| backend | method |", False), ("| peer | method |", True)):
        text = with_rows(
            text, head, (described(name, each) for name, each in able.items() if each.peer is peer)
        )
    text = with_rows(text, "| class |", (classed(name, each) for name, each in ACCURACY.items()))
    text = with_rows(
        text,
        "| backend | kind of problem |",
        (row for name, each in able.items() for row in doubted(name, each)),
    )
    reach = (reached(name, beyond) for name, each in able.items() for beyond in each.reach)
    text = with_rows(text, "| backend | only for |", reach)
    settings = (
        [f"`{name}`", f"`{key}`", words]
        for name, each in able.items()
        for key, words in each.settings.items()
    )
    return with_rows(text, "| backend | setting |", settings)


def peers(text: str) -> str:
    """The page of the peers; one that has no section yet gets one at the end."""
    for name in (name for name in own_backends() if load_backend(name).capabilities.peer):
        if f"\n## {name}\n" not in text:
            table = f"\n{TUNING}\n|---|---|---|---|\n" if tuned(load_backend(name)) else ""
            text += f"\n## {name}\n\n{load_backend(name).capabilities.method}.\n{table}"
        start = text.index(f"\n## {name}\n")
        if tuned(load_backend(name)):
            text = text[:start] + with_rows(text[start:], TUNING, tuned(load_backend(name)))
    return text


PAGES = {"backends.md": backends, "peers.md": peers}

if __name__ == "__main__":
    for page, write in PAGES.items():
        path = HERE / page
        path.write_text(write(path.read_text(encoding="utf-8")), encoding="utf-8")
