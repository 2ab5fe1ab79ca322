"""What the commands about tables of people share."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.problems.checks import brief, nearest
from discreet.problems.errors import FileError


def check_column(path: str, columns: Iterable[str], name: str) -> None:
    """Raise FileError unless the table has the column."""
    have = [*columns]
    if name not in have:
        known = ", ".join(have[:20]) + (", …" if len(have) > 20 else "")
        raise FileError(f"{path} has no column {brief(name)}{nearest(name, have)}; it has {known}")
