"""How things show themselves in a notebook: a card of HTML, a picture by matplotlib, a table of pandas.

A card loads nothing and escapes all that it is given. It takes the ink of the page around it, so it suits dark pages too.
matplotlib and pandas are extras, imported when a picture or a table is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from discreet.problems.problem import Problem

COLOURS = {"good": "#1a7f4b", "unsure": "#8f6400", "bad": "#b3261e", "plain": "#5b6470"}
"""Grounds of white words, which stand out on light and on dark pages; colours of marks in pictures."""

INKS = ("#0063a6", "#b64a00", "#00785a", "#a33a7a", "#6b5b00", "#4b5563")
"""Colours that colour-blind people can tell apart, by M. Okabe and K. Ito (2008), darkened."""

_MOST_POINTS = 20_000  # of a picture; the likeliest outcomes are drawn
_LINE = "color-mix(in srgb, currentColor 22%, transparent)"
_STYLE = f"""
.discreet-card{{border:1px solid {_LINE};border-radius:8px;padding:.7em 1em;max-width:46em;font-size:.92em;line-height:1.45;
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;margin:.3em 0}}
.discreet-card .top{{display:flex;gap:.7em;align-items:baseline;flex-wrap:wrap;margin:0 0 .45em}}
.discreet-card .kind{{opacity:.72}}
.discreet-card .badge{{color:#fff;border-radius:99px;padding:.05em .7em;font-size:.9em}}
.discreet-card dl{{display:grid;grid-template-columns:max-content 1fr;gap:.12em 1.1em;margin:0}}
.discreet-card dt{{opacity:.72;font-weight:normal;margin:0}}
.discreet-card dd{{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}}
.discreet-card .wide{{overflow-x:auto;margin:.6em 0 0}}
.discreet-card table{{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0}}
.discreet-card tr{{background:none}}
.discreet-card th,.discreet-card td{{text-align:left;padding:.12em 1.2em .12em 0;border:0;border-top:1px solid {_LINE};
white-space:nowrap;background:none;color:inherit}}
.discreet-card thead th{{border-top:0;font-weight:normal;opacity:.72}}
.discreet-card p{{margin:.5em 0 0}}
.discreet-card svg{{max-width:100%;height:auto;border-radius:6px}}
"""


def card(
    kind: str,
    title: str,
    facts: Iterable[tuple[str, str]],
    *,
    badge: str = "",
    tone: str = "plain",
    words: Sequence[str] = (),
    more: str = "",
) -> str:
    """A card: what it is, title, a badge with a tone of `COLOURS`, facts by name, sentences, and `more`, which is HTML."""
    top = f'<span class="kind">{escape(kind)}</span><b>{escape(title)}</b>' if title else f"<b>{escape(kind)}</b>"
    top += f'<span class="badge" style="background:{COLOURS[tone]}">{escape(badge)}</span>' if badge else ""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(told)}</dd>" for name, told in facts)
    told = "".join(f"<p>{escape(each[:1].upper() + each[1:])}</p>" for each in words)
    wide = f'<div class="wide">{more}</div>' if more else ""
    return (
        f'<div class="discreet-card"><style>{_STYLE}</style><div class="top">{top}</div><dl>{lines}</dl>{told}{wide}</div>'
    )


def html_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table for a card."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """A table of columns by name. Raises InputError without pandas."""
    made: pd.DataFrame = _library("pandas", "to_frame", "data").DataFrame(dict(columns))
    return made


def axes(ax: Axes | None) -> Axes:
    """The axes given, or new ones in a figure of their own. Raises InputError without matplotlib."""
    pyplot = _library("matplotlib.pyplot", "plot", "plots")
    if ax is not None:
        return ax
    made: Axes = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
    return made


def finish(ax: Axes, title: str, x_label: str, y_label: str, *, legend: bool = False) -> Axes:
    """Titles, and a frame of two sides."""
    ax.set_title(unread(title), loc="left", fontsize=11, fontweight="bold")
    ax.set_xlabel(unread(x_label))
    ax.set_ylabel(unread(y_label))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.7)
    ax.set_axisbelow(True)
    if legend:
        ax.legend(frameon=False, fontsize=9)
    return ax


def unread(words: object) -> str:
    """Words for a picture, of which matplotlib reads nothing as mathematics."""
    return str(words).replace("$", r"\$")


def _library(name: str, method: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        raise InputError(f"{method} needs {library}, which does not import; pip install 'discreet[{extra}]'") from None


def row_names(problem: Problem) -> tuple[list[str], list[str]]:
    """Names of the rows of p_xz and of the guesses: those of the table of people, where there is one."""
    rows, guesses = [f"x={j}" for j in range(len(problem.p_xz))], [f"guess {i}" for i in range(problem.m)]
    if (report := problem.samples) is None:
        return rows, guesses
    named = [f"{secret}={value}" for secret in report.hide for value in report.private_labels[secret]]
    told = [f"{report.guess}={value}" for value in report.guesses]
    return named if len(named) == len(rows) else rows, told if len(told) == len(guesses) else guesses


def outcome_columns(problem: Problem) -> dict[str, Array]:
    """What a problem says of each outcome: its probability, the posterior of each row of p_xz, the loss of each guess."""
    p_z, (rows, guesses) = np.asarray(problem.p_z), row_names(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        posteriors, losses = (np.where(p_z > 0.0, each / p_z, np.nan) for each in (problem.p_xz, problem.loss))
    return {
        "probability": p_z,
        **dict(zip(rows, posteriors, strict=True)),
        **{f"loss of {guess}": row for guess, row in zip(guesses, losses, strict=True)},
    }


def outcome_plane(ax: Axes, problem: Problem, estimator: Array, title: str) -> Axes:
    """The outcomes in the plane in which two guesses about two private values are told apart by a line; returns the axes.

    Across: the posterior of the last private value. Up: what guess 0 loses more than the last one. The area of a mark is the
    outcome's probability; its colour the guess, pale where it is drawn by lot. Of more values, a shadow of their space.
    """
    p_z = np.asarray(problem.p_z)
    shown = np.sort(np.argsort(p_z)[::-1][:_MOST_POINTS])
    shown = shown[p_z[shown] > 0.0]
    p_z, a, loss = p_z[shown], problem.p_xz[problem.terms[0].rows][-1, shown], problem.loss[:, shown]
    rows, guesses = row_names(problem)
    likeliest, sure = estimator[:, shown].argmax(axis=0), estimator[:, shown].max(axis=0)
    for i in range(problem.m):
        own = likeliest == i
        if own.any():
            ax.scatter(
                (a / p_z)[own],
                ((loss[0] - loss[-1]) / p_z)[own],
                s=8.0 + 220.0 * p_z[own] / p_z.max(),
                c=INKS[i % len(INKS)],
                alpha=np.clip(0.25 + 0.6 * (2.0 * sure[own] - 1.0), 0.2, 0.85),
                linewidths=0,
                label=unread(guesses[i]),
            )
    across = f"p({rows[problem.terms[0].rows.stop - 1]} given the outcome)"
    return finish(ax, title, across, f"loss of {guesses[0]} − loss of {guesses[-1]}", legend=problem.m <= 2 * len(INKS))
