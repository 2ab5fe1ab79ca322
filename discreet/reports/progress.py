"""A bar for long work, in a terminal or a notebook, by rich."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress() -> Iterator[Callable[[int, int | None, str], None]]:
    """A bar on standard error or in the notebook while the block runs: yields the function that
    `watch=` wants.

        with ds.progress() as watch:
            curve = ds.frontier(problem, watch=watch)

    It is given how much is done, of how much (None: not known), and what runs now. The bar goes
    when the block ends.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # What runs now is cut where the terminal ends, and no number.
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    words = TextColumn("{task.description}", markup=False, table_column=rest)
    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), words)
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=what
        )
