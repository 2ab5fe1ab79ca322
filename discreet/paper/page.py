"""A study as one self-contained HTML page, and the study on disk: the page, figures as SVG and PNG, numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path

from discreet.paper.pictures import FIGURES, figures, tables
from discreet.paper.study import Study
from discreet.reports import wording
from discreet.reports.figure_png import drawn_files
from discreet.reports.figure_svg import svg
from discreet.reports.figures import Figure
from discreet.reports.html.page import document, folded, sentences, table
from discreet.reports.outputs import write_folder

NAMES = (
    "index.html",
    *(f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")),
    "sensors.csv",
    "guesses.csv",
    "curves.csv",
)
"""Every file that a study writes, beside the manifest."""


def write_study(study: Study, folder: str | Path, *, overwrite: bool = False) -> tuple[tuple[Path, ...], str]:
    """Write everything; return the paths, and one sentence on what is missing ("" if nothing is).

    Raises FileError, and changes nothing, where a file would be replaced that was not made here or has been changed since,
    unless it is to be overwritten.
    """
    contents, missing = drawn_files(figures(study))
    contents |= tables(study)
    everything: dict[str, str | bytes] = {"index.html": page(study, sorted(contents)), **contents}
    record = {"command": "discreet reproduce", "settings": asdict(study.settings)}
    return write_folder(folder, everything, record, overwrite=overwrite), missing


def page(study: Study, beside: Sequence[str]) -> str:
    """The whole document; `beside` are the names of the files next to it, which it links to."""
    texts, plates, chosen = tables(study), figures(study), study.settings
    body = files("discreet.paper").joinpath("page.html").read_text(encoding="utf-8")
    body = body.format(
        plates=plates,
        drawn=[_plate(figure, beside) for figure in plates],
        sensors=_numbers("Error probabilities for every number of sensors", texts["sensors.csv"]),
        guesses=_numbers("Law of X given the guess", texts["guesses.csv"]),
        curves=_numbers("Every solved budget", texts["curves.csv"]),
        guess_sensors=_sensors(chosen.guess_sensors),
        better=sum(row.private_y_error < row.local_y_error for row in study.sensors),
        counts=len(study.sensors),
        chosen=chosen,
        edges=", ".join(f"{edge:g}" for edge in chosen.edges),
        confidence=100 * chosen.confidence,
        width=100 * chosen.curve_width,
    )
    return document(
        mark="made by discreet reproduce",
        brand="discreet reproduce",
        title="discreet: the paper's numerical section",
        heading="The paper's numerical section",
        lead=f"""<p class="lead">X and Y are independent, Pr(X = 1) = 0.3, Pr(Y = 1) = 0.5. M sensors each measure
0.6 Y + 0.4 X plus Gaussian noise of variance 0.01, independently, and report a bin. Y is to be estimated, X is private.
Every optimum below is certified by a judge that checks all that it takes from the solver.</p>
{_verdict(study)}""",
        body=body,
        footer=f"""<p>After E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, “Privacy-aware Minimum Error Probability
Estimation: An Entropy Constrained Approach”. Took {wording.seconds(study.seconds)} s. Numbers as CSV:
{_links(beside, ".csv")}.</p>""",
    )


def _verdict(study: Study) -> str:
    first, last = study.sensors[0], study.sensors[-1]
    told = [
        f"From every sensor's own estimate X is inferred with error probability "
        f"{wording.number(last.local_x_error, 3)} at {_sensors(last.sensors)}; from a perfectly private guess it stays at "
        f"{float(study.p_x.min()):.2g}.",
        f"Under perfect privacy Y is estimated with error probability {wording.number(first.private_y_error, 3)} from "
        f"{_sensors(first.sensors)} and {wording.number(last.private_y_error, 3)} from {_sensors(last.sensors)}; the best "
        f"fusion of the local estimates, which hides nothing, reaches {wording.number(first.local_y_error, 3)} and "
        f"{wording.number(last.local_y_error, 3)}.",
        "Every optimum is certified to a relative gap of 10⁻⁹." if study.certified else "Not every optimum is certified.",
    ]
    return sentences(told)


def _plate(figure: Figure, beside: Sequence[str]) -> str:
    links = _links([name for name in beside if name.startswith(f"{figure.name}.")], "")
    return f"""<figure>{svg(figure, titled=False)}</figure>
<p class="aside">{escape(figure.description)} Files: {links}.</p>"""


def _links(names: Iterable[str], ending: str) -> str:
    return ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in names if name.endswith(ending))


def _sensors(count: int) -> str:
    return "one sensor" if count == 1 else f"{count} sensors"


def _numbers(words: str, text: str) -> str:
    """The rows of a CSV file in a table that can be opened, with nine digits."""
    heads, *lines = csv.reader(io.StringIO(text))
    return folded(words, table(words, heads, [[_short(cell) for cell in line] for line in lines]))


def _short(cell: str) -> str:
    try:
        return cell if cell.isdigit() else wording.number(float(cell), 9)
    except ValueError:
        return cell
