"""A study on disk: figures as SVG and, with matplotlib, PNG; numbers as CSV; one HTML page; a manifest."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from discreet.paper.page import page
from discreet.paper.pictures import figures, tables
from discreet.paper.study import Study
from discreet.problems.errors import Absent
from discreet.reports.figure_png import png, require_matplotlib
from discreet.reports.figure_svg import standalone
from discreet.reports.outputs import check_folder, write_folder

__all__ = ["NAMES", "check_target", "write_study"]

_FIGURES = (
    "inference-of-x",
    "x-given-guess",
    "cost-of-perfect-privacy",
    "privacy-utility-curves",
    "privacy-utility-shapes",
)

NAMES = (
    "index.html",
    *(f"{name}.{kind}" for name in _FIGURES for kind in ("svg", "png")),
    "sensors.csv",
    "guesses.csv",
    "curves.csv",
)
"""Every file that a study writes, beside the manifest."""


def check_target(folder: str | Path) -> None:
    """Raise FileError if `write_study` would refuse this folder."""
    check_folder(folder, NAMES)


def write_study(study: Study, folder: str | Path) -> tuple[tuple[Path, ...], str]:
    """Write everything; return the paths, and one sentence on what is missing ("" if nothing is).

    Raises FileError, and changes nothing, where a file would be replaced that was not made here or has been changed since.
    """
    drawn = figures(study)
    contents: dict[str, str | bytes] = {f"{figure.name}.svg": standalone(figure) for figure in drawn}
    missing = ""
    try:
        require_matplotlib()
        contents |= {f"{figure.name}.png": png(figure) for figure in drawn}
    except Absent as absent:
        missing = str(absent)
    contents.update(tables(study))
    everything: dict[str, str | bytes] = {"index.html": page(study, sorted(contents)), **contents}
    return write_folder(folder, everything, {"command": "discreet reproduce", "settings": asdict(study.settings)}), missing
