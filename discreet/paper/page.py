"""A study as one self-contained HTML page: no network, no script; light and dark follow the reader's system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from discreet.paper.pictures import figures
from discreet.paper.study import Study
from discreet.reports import wording
from discreet.reports.figure_svg import FIGURE_STYLE, svg
from discreet.reports.figures import Figure
from discreet.reports.page_style import PAGE_STYLE

__all__ = ["page"]

_STYLE = """
.verdict{margin-bottom:1.6rem}
.plate{background:var(--paper);border:1px solid var(--line);border-radius:.6rem;padding:1.2rem;margin:0 0 1.4rem}
.plate figure svg{max-width:44rem;margin:0 auto}.plate h2{margin:0 0 .3rem}.plate p{max-width:46rem;margin:.3rem 0 .9rem}
.plate td,.plate thead th{text-align:right}.plate tbody th{text-align:left}
dl.settings{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem}dl.settings dd{margin:0}
"""


def page(study: Study, beside: Sequence[str]) -> str:
    """The whole document; `beside` are the names of the files next to it, which it links to."""
    told = (_inference_words(study), _guess_words(study), _utility_words(study), _curve_words(study), _shape_words(study))
    bodies = (_sensor_table(study), _guess_table(study), "", "", _curve_table(study))
    plates = zip(figures(study), told, bodies, strict=True)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>discreet: the paper's numerical section</title>
<style>{PAGE_STYLE}{FIGURE_STYLE}{_STYLE}</style>
</head>
<body>
<a class="skip" href="#figures">Skip to the figures</a>
<header>
<p class="brand">discreet reproduce</p>
<h1>The paper's numerical section</h1>
<p class="lead">X and Y are independent, Pr(X = 1) = 0.3, Pr(Y = 1) = 0.5. M sensors each measure 0.6 Y + 0.4 X plus Gaussian
noise of variance 0.01, independently, and report a bin. Y is to be estimated, X is private. Every optimum below is certified
by a judge that shares nothing with the solver.</p>
{_verdict(study)}
</header>
<main id="figures">
{"".join(_plate(figure, words, body, beside) for figure, words, body in plates)}
{_settings(study)}
</main>
<footer><p>After E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, “Privacy-aware Minimum Error Probability Estimation:
An Entropy Constrained Approach”. Took {wording.seconds(study.seconds)} s. Numbers as CSV: {_links(beside, ".csv")}.</p>
</footer>
</body>
</html>
"""


def _verdict(study: Study) -> str:
    first, last = study.sensors[0], study.sensors[-1]
    certified = (
        "Every optimum is certified to a relative gap of 10⁻⁹." if study.certified else "Not every optimum is certified."
    )
    sentences = [
        f"Somebody who sees every sensor's own estimate infers X with error probability "
        f"{wording.number(last.local_x_error, 3)} at {_sensors(last.sensors)}; from a perfectly private guess it stays at "
        f"{float(study.p_x.min()):.2g}.",
        f"Under perfect privacy Y is estimated with error probability {wording.number(first.private_y_error, 3)} from "
        f"{_sensors(first.sensors)} and {wording.number(last.private_y_error, 3)} from {_sensors(last.sensors)}; the best "
        f"fusion of the local estimates, which hides nothing, reaches {wording.number(first.local_y_error, 3)} and "
        f"{wording.number(last.local_y_error, 3)}.",
        certified,
    ]
    return f'<ul class="verdict">{"".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)}</ul>'


def _plate(figure: Figure, words: str, body: str, beside: Sequence[str]) -> str:
    files = _links([name for name in beside if name.startswith(f"{figure.name}.")], "")
    return f"""<article class="plate" aria-labelledby="{figure.name}">
<h2 id="{figure.name}">{escape(figure.title)}</h2>
<p>{escape(words)}</p>
<figure>{svg(figure, titled=False)}</figure>
<p class="facts">{escape(figure.description)} Files: {files}.</p>
{body}
</article>"""


def _links(names: Iterable[str], ending: str) -> str:
    return ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in names if name.endswith(ending))


def _sensors(count: int) -> str:
    return "one sensor" if count == 1 else f"{count} sensors"


# -- the words ---------------------------------------------------------------------------------------------------------


def _inference_words(study: Study) -> str:
    return (
        "In the oblivious scheme every sensor sends its own maximum a posteriori estimate of Y. No single one says much "
        "about X, but together their counts do. The curve is exact: it sums over all counts. Fano's inequality, from what "
        "remains unknown of X, bounds it from below."
    )


def _guess_words(study: Study) -> str:
    return (
        f"The estimator that keeps X perfectly private and errs least about Y, at {_sensors(study.settings.guess_sensors)}: "
        "whatever it says, the law of X stays what it was. Bars are relative frequencies in simulated guesses with exact "
        "(Clopper–Pearson) intervals, marks the exact values."
    )


def _utility_words(study: Study) -> str:
    better = [row.sensors for row in study.sensors if row.private_y_error < row.local_y_error]
    if not better:
        compared = "Here the best fusion of the local estimates, which hides nothing, errs less at every M."
    elif len(better) == len(study.sensors):
        compared = "It errs less than the best fusion of the local estimates, which hides nothing, at every M."
    else:
        compared = f"It errs less than the best fusion of the local estimates, which hides nothing, at M = {_runs(better)}."
    floor = "The Bayes rule from all measurements is the floor."
    return f"The perfectly private estimator sees all measurements. {compared} {floor}"


def _runs(numbers: Sequence[int]) -> str:
    """1, 3–5, 9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _curve_words(study: Study) -> str:
    return (
        "Between perfect privacy and the Bayes rule lies a whole curve, which the paper does not show. It is convex, so "
        "chords between solved budgets bound it from above and tangents from below, at every budget. Leakage is scaled by "
        "I_MAP, which falls fast with M: a good estimate says little about X here, as X and Y are independent."
    )


def _shape_words(study: Study) -> str:
    return (
        "Divided by the error probability of the Bayes rule the curves show what privacy costs. They are steep near zero, "
        "where leakage is quadratic in what is gained: the first part of the budget buys the most."
    )


# -- the tables --------------------------------------------------------------------------------------------------------


def _sensor_table(study: Study) -> str:
    headings = ("sensors", "X from local estimates", "Fano", "Y from local estimates", "Y, perfect privacy", "Y, Bayes rule")
    rows = [
        (
            str(row.sensors),
            _figures_of(row.local_x_error),
            _figures_of(row.local_x_fano),
            _figures_of(row.local_y_error),
            wording.bracket(row.private_y_lower, row.private_y_error),
            _figures_of(row.bayes_y_error),
        )
        for row in study.sensors
    ]
    return _folded("Error probabilities for every number of sensors", _table(headings, rows))


def _guess_table(study: Study) -> str:
    headings = ("", "exact", "simulated", "interval", "count")
    rows = [
        (
            f"Pr(X = {row.x} given Ŷ = {row.guess})",
            f"{row.exact:.6f}",
            f"{row.simulated:.4f}",
            f"[{row.low:.4f}, {row.high:.4f}]",
            f"{row.hits:,} of {row.draws:,}",
        )
        for row in study.guesses
    ]
    return _table(headings, rows)


def _curve_table(study: Study) -> str:
    headings = (
        "sensors",
        "I_MAP, nats",
        "perfect privacy",
        "a tenth of I_MAP",
        "half of I_MAP",
        "Bayes rule",
        "points",
        "width",
    )
    rows = []
    for count, curve in study.curves:
        between = [f"{float(curve.upper(share * curve.bayes_leakage_nats)):.4g}" for share in (0.1, 0.5)]
        rows.append(
            (
                str(count),
                wording.number(curve.bayes_leakage_nats, 4),
                f"{curve.rows[0].upper:.4g}",
                *between,
                f"{curve.bayes_error_probability:.4g}",
                str(len(curve.rows)),
                f"{100 * curve.width:.2g} %",
            )
        )
    return _folded("Landmarks of the curves", _table(headings, rows))


def _figures_of(value: float) -> str:
    return wording.number(value, 6)


def _folded(words: str, table: str) -> str:
    return f"<details><summary>{escape(words)}</summary>{table}</details>"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(words)}</th>' for words in headings)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(headings[0] or headings[1])}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _settings(study: Study) -> str:
    chosen = study.settings
    entries = (
        ("bin edges", ", ".join(f"{edge:g}" for edge in chosen.edges) + " (the paper does not state its own)"),
        ("sensors", f"1 to {chosen.sensors}; {chosen.guess_sensors} in the simulation"),
        ("simulated guesses", f"{chosen.samples:,}, seed {chosen.seed}"),
        ("confidence of intervals", f"{100 * chosen.confidence:g} %, each by itself"),
        ("width of the curves' brackets", f"at most {100 * chosen.curve_width:g} % of their height"),
    )
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries)
    return (
        f'<section aria-labelledby="chosen"><h2 id="chosen">What was chosen</h2><dl class="settings">{listed}</dl></section>'
    )
