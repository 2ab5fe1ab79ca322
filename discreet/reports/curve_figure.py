"""The picture of a privacy–utility curve: both envelopes, the solved points, the Bayes rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.problems.envelope import Envelope
from discreet.problems.numerics.double_double import Array
from discreet.reports import wording
from discreet.reports.figures import Figure, Series

__all__ = ["curve_figure", "curve_grid", "floats"]

_STEPS = 160


def curve_figure(
    envelope: Envelope, budgets: Sequence[float], *, title: str, subtitle: str, bayes_error: float, name: str = "frontier"
) -> Figure:
    """The curve over budgets from 0 to I_MAP; `budgets` are the solved ones."""
    grid = curve_grid(envelope, budgets)
    upper, lower = envelope.upper(grid), envelope.lower(grid)
    solved = np.array([budget for budget in budgets if budget <= envelope.horizon])
    at = envelope.upper(solved)
    hints = tuple(
        f"budget {wording.number(float(budget), 4)} nats: error probability {wording.bracket(float(low), float(high))}"
        for budget, low, high in zip(solved, envelope.lower(solved), at, strict=True)
    )
    perfect, free = float(at[0]) if solved.size else float(upper[0]), float(upper[-1])
    return Figure(
        name=name,
        title=title,
        subtitle=subtitle,
        x_label="leakage budget ε, nats",
        y_label="error probability",
        series=(
            Series("between the envelopes", floats(grid), floats(upper), "line", 0, floats(lower), floats(upper)),
            Series("solved", floats(solved), floats(at), "points", 0, hints=hints),
            Series("the Bayes rule, no privacy", (0.0, envelope.horizon), (bayes_error, bayes_error), "level", 5),
        ),
        description=(
            f"The best error probability falls from {wording.number(perfect, 4)} at perfect privacy to "
            f"{wording.number(free, 4)} at {wording.number(envelope.horizon, 4)} nats, convex in between."
        ),
    )


def curve_grid(envelope: Envelope, budgets: Sequence[float]) -> Array:
    """Budgets from 0 to I_MAP, dense near 0 where the curve is steep, among them every vertex and the given ones."""
    even = envelope.horizon * np.linspace(0.0, 1.0, _STEPS) ** 2
    inside = [budget for budget in budgets if budget <= envelope.horizon]
    return np.unique(np.concatenate([even, envelope.vertices[:, 0], inside]))


def floats(values: Array) -> tuple[float, ...]:
    """An array as the plain numbers that a `Series` holds."""
    return tuple(float(value) for value in values)
