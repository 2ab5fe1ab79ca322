"""A study as one self-contained HTML page, and on disk: the page, figures as SVG,
numbers as CSV.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from discreet.paper.drawings import FIGURES, figures, tables
from discreet.paper.study import PaperStudy
from discreet.reports.outputs import write_folder
from discreet.showing import numerals
from discreet.showing.data import records_csv
from discreet.showing.figures import pdf_writer, svg_files
from discreet.showing.page import document, html
from discreet.showing.values import Facts, Section, Sentences, Table

NAMES = (
    "index.html",
    *(f"{name}.svg" for name in FIGURES),
    "sensors.csv",
    "guesses.csv",
    "curves.csv",
)
"""Every file that a study writes, besides the manifest."""

_MODEL = """X and Y are independent, Pr(X = 1) = 0.3, Pr(Y = 1) = 0.5. M sensors each measure 0.6 Y + 0.4 X plus Gaussian
noise of variance 0.01, independently, and report a bin. Y is to be estimated, X is private. Every optimum below is certified
by a judge that checks all that it takes from the solver."""

_INFERENCE = """In the oblivious scheme every sensor sends its own maximum a posteriori estimate of Y. A single estimate
reveals little about X, but the counts of all of them reveal much. The curve is exact: it sums over all counts. Fano's
inequality bounds it from below by the equivocation of X."""

_GUESSES = """The best perfectly private estimator of Y at {}: either guess leaves the law of X as it was. The figure shows
relative frequencies in simulated guesses with exact (Clopper–Pearson) intervals, next to the exact values."""

_UTILITY = """The perfectly private estimator uses all measurements. At {} of the {} numbers of sensors it errs less than
the best fusion of the local estimates, which hides nothing. The Bayes rule from all measurements errs least."""

_CURVES = """Between perfect privacy and the Bayes rule lies a whole curve, which the paper does not show. It is convex, so
chords between solved budgets bound it from above and tangents from below, at every budget. Leakage is relative to
I_MAP, which falls fast with M: a good estimate reveals little about X here, as X and Y are independent."""

_SHAPES = """Divided by the error probability of the Bayes rule, the curves show what privacy costs. They are steep near
zero, where leakage is quadratic in the gain: the first part of the budget buys the most."""


def write_study(
    study: PaperStudy, folder: str | Path, *, pdf: bool = False, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write everything, the figures also as PDF if wanted; return the paths.

    Raises FileError, and changes nothing, where a file would be replaced that was not made here or
    has been changed since, unless it is to be overwritten.
    """
    contents: dict[str, str | bytes] = {
        "index.html": page(study),
        **svg_files(figures(study)),
        **{f"{name}.csv": records_csv(records) for name, records in tables(study).items()},
    }
    if pdf:
        draw = pdf_writer()
        contents |= {f"{each.name}.pdf": draw(each) for each in figures(study)}
    record = {"command": "discreet reproduce", "settings": asdict(study.settings)}
    return write_folder(folder, contents, record, overwrite=overwrite)


def page(study: PaperStudy) -> str:
    """The whole document, which links to the files next to it."""
    chosen = study.settings
    records = tables(study)
    inference, guesses, utility, curves, shapes = figures(study)
    better = sum(row.private_y_error < row.local_y_error for row in study.sensors)
    edges = ", ".join(f"{edge:g}" for edge in chosen.edges)
    settings = [
        ("bin edges", f"{edges} (the paper does not state its own)"),
        ("sensors", f"1 to {chosen.sensors}; {chosen.guess_sensors} in the simulation"),
        ("simulated guesses", f"{chosen.samples:,}, seed {chosen.seed}"),
        ("confidence of intervals", f"{100 * chosen.confidence:g} %, each by itself"),
        (
            "width of the curves' brackets",
            f"at most {100 * chosen.curve_width:g} % of their height",
        ),
    ]
    sections = [
        Section(
            "Inference of X",
            [
                _INFERENCE,
                inference,
                _fold_table("Error probabilities by sensors", records["sensors"]),
            ],
        ),
        Section(
            "The law of X given the guess",
            [
                _GUESSES.format(_sensors(chosen.guess_sensors)),
                guesses,
                _fold_table("X given the guess", records["guesses"]),
            ],
        ),
        Section("Cost of perfect privacy", [_UTILITY.format(better, len(study.sensors)), utility]),
        Section("Beyond the paper: every budget", [_CURVES, curves]),
        Section(
            "Beyond the paper: the shape of the curves",
            [_SHAPES, shapes, _fold_table("Every solved budget", records["curves"])],
        ),
        Section("Settings", [Facts("", settings)]),
    ]
    links = ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in NAMES[1:])
    return document(
        "discreet: the paper's numerical section",
        mark="made by discreet reproduce",
        brand="discreet reproduce",
        heading="The paper's numerical section",
        lead=html([_MODEL, _verdict(study)]),
        body=f'<main id="results">{html(sections)}</main>',
        footer=f"""<p>After E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, “Privacy-aware Minimum Error Probability
Estimation: An Entropy Constrained Approach”. Took {numerals.seconds(study.seconds)} s. Files: {links}.</p>""",
    )


def _verdict(study: PaperStudy) -> Sentences:
    first = study.sensors[0]
    last = study.sensors[-1]

    def errors(name: str) -> list[str]:
        return [numerals.number(getattr(row, name), 3) for row in (first, last)]

    private = errors("private_y_error")
    local = errors("local_y_error")
    most = _sensors(last.sensors)
    return Sentences(
        [
            "From every sensor's own estimate X is inferred with error probability "
            f"{errors('local_x_error')[1]} at {most}; "
            f"from a perfectly private guess it stays at {float(study.p_x.min()):.2g}.",
            f"Under perfect privacy Y is estimated with error probability {private[0]} from "
            f"{_sensors(first.sensors)} and "
            f"{private[1]} from {most}; the best fusion of the local estimates, which hides "
            f"nothing, reaches {local[0]} and "
            f"{local[1]}.",
            "Every optimum is certified to a relative gap of 10⁻⁹."
            if study.certified
            else "Not every optimum is certified.",
        ]
    )


def _sensors(count: int) -> str:
    return "one sensor" if count == 1 else f"{count} sensors"


def _fold_table(title: str, records: Sequence[dict[str, Any]]) -> Table:
    """A table that can be opened, with nine digits."""
    lines = [[_cell(value) for value in record.values()] for record in records]
    return Table(title, tuple(records[0]), lines, folded=True)


def _cell(value: Any) -> str:
    return numerals.number(value, 9) if isinstance(value, float) else str(value)
