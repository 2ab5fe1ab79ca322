"""Advice for people: what to run, how long it takes, what speaks for it, and why nothing else was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.reports import wording
from discreet.reports.advice.choose import Advice
from discreet.reports.advice.prediction import Prospect

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["advice_tables", "span"]


def advice_tables(advice: Advice) -> list[Table]:
    """The advice, its evidence, and the others with the reason against each."""
    return [_choice(advice), *([_evidence(advice.chosen)] if advice.chosen else []), _others(advice)]


def span(seconds: float) -> str:
    """Seconds with two or three figures, down to microseconds."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 0.995:
            return f"{seconds * factor:.2g} {unit}" if seconds * factor < 99.5 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _choice(advice: Advice) -> Table:
    from rich.text import Text

    table = _table(f"Advice for {advice.problem or 'this problem'}", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    best, second = advice.chosen, advice.runner_up
    if best is not None:
        asked = "" if best.option.gap == advice.gap else f", asked for a gap of {best.option.gap:g}"
        style = "green" if advice.safe else "yellow"
        table.add_row("use", Text(f"{best.option.label}{asked}", style=style))
        table.add_row("time", Text(f"{_time(best)}"))
        table.add_row("certainty", Text(f"at least {best.certainty:.0%} to be certified within a gap of {advice.gap:g}"))
        if second is not None:
            table.add_row("runner-up", Text(f"{second.option.label}: {_time(second)}"))
    for note in advice.notes:
        table.add_row("note", Text(note, style="yellow"))
    local = f", {advice.local_rows} rows of your own" if advice.local_rows else ""
    speed = f"; this machine takes {advice.machine_factor:.2f} times as long" if advice.machine_factor != 1.0 else ""
    table.add_row("from", Text(f"{advice.measured_rows} measurements shipped with discreet{local}{speed}"))
    return table


def _evidence(prospect: Prospect) -> Table:
    from rich.text import Text

    table = _table(f"Nearest measurements of {prospect.option.label}")
    table.add_column("problem")
    table.add_column("outcomes", justify="right")
    table.add_column("came to")
    for heading in ("time", "gap", "distance"):
        table.add_column(heading, justify="right")
    for row in prospect.evidence:
        gap = row["relative_gap"]
        cells = (
            row["instance"] + (" (yours)" if row["local"] else ""),
            f"{row['outcomes']:,}",
            row["outcome"] if row["suffices"] or row["outcome"] != "certified" else "too wide a gap",
            span(row["seconds"]),
            wording.NOTHING if gap is None else wording.scientific(gap),
            f"{row['distance']:.1f}",
        )
        table.add_row(*map(Text, cells))
    return table


def _others(advice: Advice) -> Table:
    from rich.text import Text

    table = _table("Not chosen")
    table.add_column("backend", style="bold", no_wrap=True)
    table.add_column("why")
    for label, reason in advice.not_chosen.items():
        table.add_row(Text(label), Text(reason))
    return table


def _time(prospect: Prospect) -> str:
    if prospect.remote:
        return "not predicted: nothing like it was measured"
    between = f"nine times in ten between {span(prospect.low)} and {span(prospect.high)}"
    return f"about {span(prospect.seconds)}, {between}; the judge's time comes on top"


def _table(title: str, *, show_header: bool = True) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left", title_style="bold", show_header=show_header)
