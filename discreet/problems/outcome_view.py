"""Views of the outcomes of a problem in arrays: columns of a table, and points in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.numerics.double_double import Array
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card
from discreet.showing.values import Facts

if TYPE_CHECKING:
    from discreet.problems.problem import Problem

_MOST_POINTS = 4_000
"""Most marks in a figure; only the most likely outcomes are drawn."""

_SURE = 0.999
"""If the likeliest guess at an outcome is less likely than this, the guess counts as random."""


def row_names(problem: Problem) -> tuple[list[str], list[str]]:
    """Return names of the rows of p_xz and of the guesses: from the table of people, if there is
    one.
    """
    rows = [f"x={j}" for j in range(len(problem.p_xz))]
    guesses = [f"guess {i}" for i in range(problem.m)]
    if (report := problem.samples) is None:
        return rows, guesses
    values = [
        f"{secret}={value}" for secret in report.hide for value in report.private_labels[secret]
    ]
    if len(values) == len(rows):
        rows = values
    if len(report.guesses) == len(guesses):
        guesses = [f"{report.guess}={value}" for value in report.guesses]
    return rows, guesses


def outcome_columns(problem: Problem) -> dict[str, Array]:
    """Return the columns of a table of outcomes: probability, posterior of each row of p_xz, loss
    of each guess.
    """
    p_z = np.asarray(problem.p_z)
    rows, guesses = row_names(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        posteriors, losses = (
            np.where(p_z > 0.0, each / p_z, np.nan) for each in (problem.p_xz, problem.loss)
        )
    return {
        "probability": p_z,
        **dict(zip(rows, posteriors, strict=True)),
        **{f"loss of {guess}": row for guess, row in zip(guesses, losses, strict=True)},
    }


def outcome_figure(
    problem: Problem, estimator: Array, title: str, border: Array | None = None
) -> Figure:
    """Return a figure of the outcomes in the plane in which a line separates two guesses about two
    private values.

    The x axis is the posterior of the last private value; the y axis is the loss of guess 0 minus
    the loss of the last guess. The area of a mark is the probability of the outcome, its tone the
    guess; a hollow mark has a random guess. With more values or guesses, the figure is a
    projection.

    border   excess loss of guess 0 at posterior 0 and at posterior 1 [2]: the ends of the line
    """
    p_z = np.asarray(problem.p_z)
    shown = np.sort(np.argsort(p_z)[::-1][:_MOST_POINTS])
    shown = shown[p_z[shown] > 0.0]
    rows, guesses = row_names(problem)
    across = problem.p_xz[problem.terms[0].rows][-1, shown] / p_z[shown]
    up = (problem.loss[0, shown] - problem.loss[-1, shown]) / p_z[shown]
    radii = 1.2 + 6.0 * np.sqrt(p_z[shown] / p_z.max())
    likeliest = estimator[:, shown].argmax(axis=0)
    drawn = estimator[:, shown].max(axis=0) < _SURE
    series = []
    for i, guess in enumerate(guesses):
        for hollow in (False, True):
            own = (likeliest == i) & (drawn == hollow)
            if own.any():
                label = f"{guess}, drawn by lot" if hollow else guess
                x, y, sizes = (tuple(each[own].tolist()) for each in (across, up, radii))
                series.append(Series(label, x, y, "points", i, hollow=hollow, sizes=sizes))
    if border is not None:
        x = (float(across.min()), float(across.max()))
        y = tuple(float(border[0] + (border[1] - border[0]) * each) for each in x)
        series.append(Series("the rule", x, y, "line", 5))
    return Figure(
        "outcomes",
        title,
        "the area of a mark is the probability of the outcome",
        f"p({rows[problem.terms[0].rows.stop - 1]} given the outcome)",
        f"loss of {guesses[0]} − loss of {guesses[-1]}",
        tuple(series),
        f"{len(shown)} outcomes by the guess that each gets.",
    )


def problem_card(problem: Problem) -> str:
    """Return the view of a problem in a notebook, as HTML."""
    pairs = zip(problem.bayes_leakages, problem.terms, strict=True)
    leaks = " and ".join(f"{leaked:.6g} {term.measure.unit}".rstrip() for leaked, term in pairs)
    facts = [
        ("private values", f"{problem.n}"),
        ("guesses", f"{problem.m}"),
        ("outcomes", f"{problem.N:,}"),
        ("budget", ", ".join(str(term.budget) for term in problem.terms)),
        ("Bayes rule", f"errs {problem.bayes_error:.6g} and leaks {leaks}"),
        ("constant guess", f"errs {problem.constant_error:.6g}"),
    ]
    if problem.samples is not None:
        facts.append(("made from", repr(problem.samples)))
    return card("Problem", problem.name, Facts("", facts))
