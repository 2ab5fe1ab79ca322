"""A progress bar for long computations, in a terminal or a notebook, by rich."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress() -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a progress bar on standard error or in the notebook while the block runs, and yield the
    function to pass as `watch=`.

        with ds.progress() as watch:
            curve = ds.frontier(problem, watch=watch)

    The function takes how much is done, of how much (None if unknown), and what is running now. The
    bar is removed when the block ends.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # Only the description is cut at the end of the terminal's line; the numbers never are.
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    words = TextColumn("{task.description}", markup=False, table_column=rest)
    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), words)
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=what
        )
