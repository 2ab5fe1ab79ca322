"""A report on disk: the page, the two pictures and the numbers, written atomically and over nothing that is not ours."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.problems.errors import FileError
from discreet.reports.compare import Comparison
from discreet.reports.outputs import replace_file
from discreet.reports.page import MARK, page
from discreet.reports.plots import bracket_charts, leakage_charts, sheet

__all__ = ["check_directory", "write_report"]

_NAMES = ("index.html", "leakage.svg", "brackets.svg", "comparison.json")

_LOOK_BYTES = 2048  # the mark stands within these


def write_report(comparison: Comparison, directory: str | Path) -> tuple[Path, ...]:
    """Write index.html, leakage.svg, brackets.svg and comparison.json into a directory, made if need be.

    Raises FileError, and changes nothing, when one of these names is taken by a file that `discreet compare` did not make,
    or when the directory cannot be written.
    """
    folder = Path(directory)
    check_directory(folder)
    contents = {
        "index.html": page(comparison),
        "leakage.svg": _marked(sheet(leakage_charts(comparison), "Claimed against true leakage")),
        "brackets.svg": _marked(sheet(bracket_charts(comparison), "Certified brackets around the optimum")),
        "comparison.json": json.dumps({"note": MARK} | comparison.to_dict(), indent=1, allow_nan=False) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(replace_file(folder / name, text) for name, text in contents.items())
    except OSError as error:
        raise FileError(
            f"the report cannot be written to {folder}: {error.strerror or error}; choose another --out"
        ) from error


def check_directory(directory: str | Path) -> None:
    """Raise FileError if `write_report` would refuse this directory: worth asking before minutes of work."""
    folder = Path(directory)
    if "\0" in str(folder):
        raise FileError(f"{str(folder)!r} holds a null character, which no path can; choose another --out")
    try:
        if folder.exists() and not folder.is_dir():
            raise FileError(f"{folder} is a file and a report needs a directory; choose another --out")
        for name in _NAMES:
            _refuse_foreign(folder / name)
    except OSError as error:
        raise FileError(f"{str(folder)!r} cannot be used for a report: {error}; choose another --out") from error


def _marked(svg: str) -> str:
    return f"<!-- {MARK} -->\n{svg}\n"


def _refuse_foreign(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        return
    ours = False
    if path.is_file() and not path.is_symlink():
        with path.open("rb") as stream:
            ours = MARK.encode() in stream.read(_LOOK_BYTES)
    if not ours:
        raise FileError(f"{path} was not made by discreet compare and is left alone; choose another directory with --out")
