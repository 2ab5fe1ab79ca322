"""The figures of a study, and its numbers as CSV."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.paper.study import PaperStudy
from discreet.reports.curve import curve_grid
from discreet.showing import numerals
from discreet.showing.data import plain
from discreet.showing.figures import Figure, Series

FIGURES = (
    "inference-of-x",
    "x-given-guess",
    "cost-of-perfect-privacy",
    "privacy-utility-curves",
    "privacy-utility-shapes",
)
"""Names of the figures in the order of the page."""


def figures(study: PaperStudy) -> tuple[Figure, ...]:
    """In the order of the page: inference of X, law of X given the guess, cost of privacy, whole
    curves, their shapes.
    """
    return _inference(study), _guesses(study), _utility(study), _curves(study), _shapes(study)


def tables(study: PaperStudy) -> dict[str, list[dict[str, Any]]]:
    """Records of plain values by name: sensors, guesses, curves."""
    curves = [
        {
            "sensors": count,
            "fraction_of_bayes_leakage": row.budget / curve.bayes_leakage,
            "budget_nats": row.budget,
            **{
                name: plain(getattr(row, name))
                for name in ("lower", "upper", "multiplier", "status")
            },
        }
        for count, curve in study.curves
        for row in curve.rows
    ]
    return {"sensors": plain(study.sensors), "guesses": plain(study.guesses), "curves": curves}


def _inference(study: PaperStudy) -> Figure:
    rows = study.sensors
    last = study.sensors[-1]
    blind = float(study.p_x.min())
    counts = tuple(float(row.sensors) for row in rows)
    return Figure(
        name="inference-of-x",
        title="The oblivious scheme reveals X",
        subtitle="error probability of the best inference of X from every sensor's own estimate "
        "of Y",
        x_label="sensors M",
        y_label="error probability of inferring X",
        log_y=True,
        series=(
            Series(
                "from the local estimates",
                counts,
                tuple(row.local_x_error for row in rows),
                "both",
                1,
            ),
            Series(
                "Fano's bound (sharp)", counts, tuple(row.local_x_fano for row in rows), "line", 2
            ),
            Series(
                "from nothing, or from a perfectly private guess",
                counts,
                (blind,) * len(rows),
                "line",
                5,
            ),
        ),
        description=f"From {numerals.number(rows[0].local_x_error, 3)} with one sensor to "
        f"{numerals.number(last.local_x_error, 3)} "
        f"with {last.sensors}; from nothing it is {blind:.2g}.",
    )


def _guesses(study: PaperStudy) -> Figure:
    rows = study.guesses
    settings = study.settings
    places = tuple(float(k) for k in range(len(rows)))
    lows = tuple(row.low for row in rows)
    highs = tuple(row.high for row in rows)
    hints = tuple(
        f"{row.hits} of {row.draws}: {row.simulated:.4f}, [{row.low:.4f}, {row.high:.4f}]"
        for row in rows
    )
    inside = sum(row.low <= row.exact <= row.high for row in rows)
    return Figure(
        name="x-given-guess",
        title="A perfectly private guess reveals nothing about X",
        subtitle=f"{settings.guess_sensors} sensors, {settings.samples:,} simulated guesses, "
        f"{100 * settings.confidence:g} % confidence intervals",
        x_label="value of X given the guess",
        y_label="conditional probability",
        categories=tuple(f"X={row.x} | Ŷ={row.guess}" for row in rows),
        y_range=(0.0, 1.0),
        series=(
            Series(
                "simulated",
                places,
                tuple(row.simulated for row in rows),
                "points",
                0,
                lows,
                highs,
                hints,
            ),
            Series(
                "exact",
                tuple(place + 0.2 for place in places),
                tuple(row.exact for row in rows),
                "points",
                1,
            ),
        ),
        description=f"{inside} of {len(rows)} intervals cover the exact value, which is the prior "
        "of X for either guess.",
    )


def _utility(study: PaperStudy) -> Figure:
    rows = study.sensors
    last = study.sensors[-1]
    counts = tuple(float(row.sensors) for row in rows)
    private = tuple(row.private_y_error for row in rows)
    return Figure(
        name="cost-of-perfect-privacy",
        title="What perfect privacy costs",
        subtitle="error probability of the best estimate of Y",
        x_label="sensors M",
        y_label="error probability of Y",
        log_y=True,
        series=(
            Series("perfect privacy, from all measurements", counts, private, "both", 0),
            Series(
                "oblivious fusion of local estimates",
                counts,
                tuple(row.local_y_error for row in rows),
                "both",
                1,
            ),
            Series(
                "Bayes rule from all measurements",
                counts,
                tuple(row.bayes_y_error for row in rows),
                "line",
                5,
            ),
        ),
        description=f"With {last.sensors} sensors perfect privacy errs "
        f"{numerals.number(last.private_y_error, 3)}, the "
        f"oblivious fusion {numerals.number(last.local_y_error, 3)}.",
    )


def _curves(study: PaperStudy) -> Figure:
    return Figure(
        name="privacy-utility-curves",
        title="The whole privacy–utility curve",
        subtitle="certified: the optimum lies within the line's width at every budget",
        x_label="leakage budget, as a share of what the Bayes rule leaks (I_MAP)",
        y_label="error probability of Y",
        log_y=True,
        series=_lines(study, relative=False),
        description="; ".join(
            f"M = {count}: from {numerals.number(curve.rows[0].upper, 3)} at perfect privacy to "
            f"{numerals.number(curve.bayes_error_probability, 3)} at "
            f"{numerals.number(curve.bayes_leakage, 3)} nats"
            for count, curve in study.curves
        )
        + ".",
    )


def _shapes(study: PaperStudy) -> Figure:
    return Figure(
        name="privacy-utility-shapes",
        title="The same curves, relative to the Bayes rule",
        subtitle="how many times more often than the Bayes rule the best private estimator errs",
        x_label="leakage budget, as a share of what the Bayes rule leaks (I_MAP)",
        y_label="error probability ÷ that of the Bayes rule",
        series=_lines(study, relative=True),
        description="At perfect privacy: "
        + "; ".join(
            f"M = {count}, {curve.rows[0].upper / curve.bayes_error_probability:.3g} times"
            for count, curve in study.curves
        )
        + ".",
    )


def _lines(study: PaperStudy, *, relative: bool) -> tuple[Series, ...]:
    """Every curve over budgets relative to I_MAP, with the band between its envelopes."""
    drawn = []
    for k, (count, curve) in enumerate(study.curves):
        grid = curve_grid(curve)
        unit = curve.bayes_error_probability if relative else 1.0
        values = (
            grid / curve.envelope.horizon,
            np.maximum(curve.lower(grid), 0.0) / unit,
            curve.upper(grid) / unit,
        )
        x, low, high = (tuple(each.tolist()) for each in values)
        drawn.append(Series(f"M = {count}", x, high, "line", k, low, high))
    return tuple(drawn)
