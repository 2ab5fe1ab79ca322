"""Writes the figure with a slider of the first page: `python docs/figures/budget.py`; it takes two
seconds.

    budgets.js   the certified optimum of the paper's sensor at `STEPS` + 1 budgets, in numbers and
                 in words, and drawings that `slider.js` moves; data in a script, so that the page
                 also works from a file
    budget.svg   the same drawing at three of the budgets, for readers without scripts

Budgets are even in √ε, since near 0 the error probability falls like √ε (docs/theory.md, section
6): every step moves the figure about equally. A test solves some budgets again, and compares all
that is shown with the certificates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from discreet.problems.catalog.paper import paper_edges
from discreet.problems.sensors.bins import NormalDensity
from discreet.problems.sensors.paper_sensor import (
    PAPER_SIGMA,
    PAPER_WEIGHT_X,
    PAPER_WEIGHT_Y,
    paper_p_xy,
)
from discreet.showing import numerals
from discreet.showing.figures import Figure, Series
from discreet.showing.plane import (
    COLOURS,
    DARK,
    DASHES,
    LIGHT,
    WIDTH,
    Shape,
    Words,
    draw_figure,
)
from discreet.showing.svg import FIGURE_STYLE, LOOK_STYLE, picture

HERE = Path(__file__).resolve().parent
BINS = 64
STEPS = 80
START = 40
STILL = (0, 40, STEPS)
"""Steps that the still picture shows."""
BELIEF = 3
"""Tone of what is believed about X; tones 0 and 1 are those of Y and its guess."""

State = dict[str, Any]
Pieces = list[Shape | Words]

# -- the style of the page
# --------------------------------------------------------------------------------------------------


def _colours(ground: int, tones: Sequence[str], within: str = "") -> str:
    names = "".join(f"--{name}:{pair[ground]};" for name, pair in COLOURS.items())
    toned = "".join(f"{within}.fig .t{k}{{--tone:{tone}}}" for k, tone in enumerate(tones))
    return f"{within}.fig{{{names}}}{toned}"


_SLATE = "[data-md-color-scheme=slate] "
_ELSEWHERE = "body:not([data-md-color-scheme]) "
SITE_STYLE = (
    f"{LOOK_STYLE}{_colours(0, LIGHT)}\n{_colours(1, DARK, _SLATE)}\n"
    f"@media (prefers-color-scheme:dark){{{_colours(1, DARK, _ELSEWHERE)}}}\n"
)
"""How pieces are painted: the colours follow the scheme of a page made by mkdocs-material, and
elsewhere that of the system.
"""

# -- the optima
# --------------------------------------------------------------------------------------------------


@cache
def sensor() -> ds.Problem:
    """The problem of the paper's sensor, at budget 0."""
    return ds.problems.paper_single(bins=BINS, budget=0.0)


def state(step: int) -> State:
    """The certified optimum at the budget (step/STEPS)² of what the Bayes rule leaks; RuntimeError
    if it is not certified.

    error, leakage   proven upper ends; no rule errs less than `lower`
    posteriors       p(X = 1 given guess i) [2]
    guess            probability of guess 1 in every bin [BINS]
    """
    problem = sensor().with_budget(sensor().bayes_leakage * (step / STEPS) ** 2)
    found = ds.solve(problem, "tilt")
    if found.status.value != "certified":
        raise RuntimeError(
            f"step {step} of {STEPS} is {found.status.value}; the page shows certified answers only"
        )
    ratios = problem.output_law(found.estimator).ratio_minus_one()[:, 1]
    certificate = found.certificate
    numbers = {
        "budget": problem.budget,
        "error": certificate.upper,
        "lower": certificate.lower,
        "leakage": 0.0 if certificate.private_within == 0.0 else certificate.leakage_ceiling,
        "posteriors": [float(each) for each in problem.p_x[1] * (1.0 + ratios)],
        "guess": [int(each) if each in (0.0, 1.0) else float(each) for each in found.estimator[1]],
    }
    return {"step": step, **numbers, "words": words(numbers), "labels": labels(numbers["guess"])}


def words(shown: State) -> dict[str, Any]:
    """What the page says of a state: every number on it is written here."""
    budget = shown["budget"]
    most = sensor().bayes_leakage
    share = f"{numerals.number(100.0 * budget / most, 3)} % of what the best guess reveals about X"
    nats = f"{numerals.number(budget, 3)} nats"
    error = f"{100.0 * shown['error']:.2f} %"
    beliefs = [f"{each:.3f}" for each in shown["posteriors"]]
    regions = [run for run in runs(shown["guess"]) if run[2] == 1]
    rule = "Guess 1 " + " and ".join(_between(*run[:2]) for run in regions)
    drawn_at = [run for run in runs(shown["guess"]) if run[2] not in (0, 1)]
    ties = "".join(
        (f"; {_between(*run[:2])} draw, and guess 1 with probability {run[2]:.2f}")
        for run in drawn_at
    )
    return {
        "nats": nats,
        "budget": f"{nats}, {share}"
        if budget > 0.0
        else (f"{nats}: the guess reveals nothing about X"),
        "error": error,
        "bracket": numerals.bracket(shown["lower"], shown["error"]),
        "leakage": f"{numerals.number(shown['leakage'], 3)} nats",
        "beliefs": beliefs,
        "summary": f"{rule}{ties}; otherwise guess 0. {error} of these guesses are wrong, and no "
        "rule that reveals as little is wrong less often. A reader who sees guess 0 believes that "
        f"X = 1 with probability {beliefs[0]}, one who sees guess 1 with {beliefs[1]}; before, it "
        f"is {sensor().p_x[1]:.3f}.",
    }


def _between(low: float, high: float) -> str:
    """A range of measurements in words."""
    ends = f"from {low:.2f} to {high:.2f}" if np.isfinite(high) else f"above {low:.2f}"
    return ends if np.isfinite(low) else f"below {high:.2f}"


def runs(guess: Sequence[float]) -> list[tuple[float, float, float]]:
    """Neighbouring bins of one decision: from, to, probability of guess 1."""
    edges = paper_edges(BINS)
    at = 0
    found = []
    for decision, bins in groupby(guess):
        size = len(list(bins))
        found.append((float(edges[at]), float(edges[at + size]), decision))
        at += size
    return found


# -- the drawings
# --------------------------------------------------------------------------------------------------

LEFT = 12.0
RIGHT = WIDTH - 12.0
CEILING = 20.0
FLOOR = 154.0
STRIP = 20.0
LOW = -0.5
HIGH = 1.5
DENSEST = 1.5
NAMED = {(0, 0): (0.0, 1.5), (1, 0): (0.28, 1.1), (0, 1): (0.6, 1.5), (1, 1): (1.34, 0.3)}
"""Where the words for a pair (x, y) stand: the middle of the line, and its height as a density."""


def x_of(z: float) -> float:
    """Place of a measurement; those beyond the ends are at the ends."""
    return LEFT + (RIGHT - LEFT) * (min(max(z, LOW), HIGH) - LOW) / (HIGH - LOW)


def y_of(density: float) -> float:
    """Return the y coordinate at which a density is drawn."""
    return FLOOR - (FLOOR - CEILING) * density / DENSEST


def box(look: str, left: float, top: float, right: float, bottom: float, tone: int = 0) -> Shape:
    """Return a rectangle with the given corners."""
    return Shape(look, ((left, top), (right, top), (right, bottom), (left, bottom)), tone)


def bars(share: Sequence[Sequence[float]]) -> Iterator[Shape]:
    """Every bin as a bar as high as its density, with its part of the strip below; the guesses
    share each [2, BINS].

    The bars of guess 1 stand on the floor and come first, those of guess 0 hang from the top.
    """
    inner = np.linspace(LOW, HIGH, BINS - 1)
    heights = sensor().p_z[1:-1] / np.diff(inner)
    ends = [*zip(inner[:-1], inner[1:], heights, strict=True)]
    for guess in (1, 0):
        for k, (low, high, height) in enumerate(ends, 1):
            part = share[guess][k]
            (left, right) = (x_of(low), x_of(high))
            for top, bottom, look in (
                (y_of(height), FLOOR, "band"),
                (FLOOR + 3.0, FLOOR + 3.0 + STRIP, "mark"),
            ):
                cut = bottom - part * (bottom - top) if guess else top + part * (bottom - top)
                if part > 0.0:
                    yield box(
                        look,
                        left,
                        *((cut, right, bottom) if guess else (top, right, cut)),
                        tone=guess,
                    )


def densities() -> Iterator[Shape | Words]:
    """p(x, y) times the density of Z given x and y: a line for each pair, in the colour of Y,
    dashed where X = 1.
    """
    z = np.linspace(LOW, HIGH, 201)
    for x in (0, 1):
        for y in (0, 1):
            mean = PAPER_WEIGHT_X * x + PAPER_WEIGHT_Y * y
            height = paper_p_xy()[x, y] * NormalDensity(mean, PAPER_SIGMA).pdf(z)
            places = tuple(
                (x_of(at), y_of(value)) for at, value in zip(z, height, strict=True) if value > 1e-3
            )
            yield Shape("line", places, y, DASHES[1] if x else "")
            at, above = NAMED[x, y]
            yield Words("soft", (x_of(at), y_of(above) - 6.0), f"Y = {y}, X = {x}", "middle")


def scale() -> Iterator[Shape | Words]:
    """The axis of the measurement."""
    bottom = FLOOR + 3.0 + STRIP
    for z in (-0.5, 0.0, 0.5, 1.0, 1.5):
        anchor = {-0.5: "start", 1.5: "end"}.get(z, "middle")
        yield Words("tick", (x_of(z), bottom + 15.0), f"{z:g}".replace("-", "−"), anchor)
    yield Words(
        "soft",
        (0.5 * (LEFT + RIGHT), bottom + 31.0),
        ("measurement Z = 0.6 Y + 0.4 X + noise, in 64 bins"),
        "middle",
    )


def labels(guess: Sequence[float]) -> list[list[Any]]:
    """The words of the strip and of bins that draw: look, x, y, anchor, text."""
    found: list[list[Any]] = []
    for low, high, decision in runs(guess):
        left = x_of(low)
        right = x_of(high)
        if decision in (0, 1) and right - left > 60.0:
            found.append(
                ["inside", 0.5 * (left + right), FLOOR + 17.0, "middle", f"guess {decision}"]
            )
        elif decision not in (0, 1):
            lines = ("draws guess 1", f"with {decision:.2f}", "↓")
            found += [
                ["words", 0.5 * (left + right), 50.0 + 16.0 * k, "middle", line]
                for k, line in enumerate(lines)
            ]
    return [[look, round(x, 1), y, *rest] for look, x, y, *rest in found]


def plot(guess: Sequence[float] | None) -> Pieces:
    """The densities over the bars of a rule; without one all bars are whole, for a
    script to cut.
    """
    share = np.ones((2, BINS)) if guess is None else np.stack([1.0 - np.array(guess), guess])
    told = (
        []
        if guess is None
        else [Words(look, (x, y), text, anchor) for look, x, y, anchor, text in labels(guess)]
    )
    return [*bars(share.tolist()), *densities(), *told]


def beliefs(posteriors: Sequence[float], told: Sequence[str]) -> Pieces:
    """Bars of p(X = 1 given the guess), against the prior."""
    left = 124.0
    right = WIDTH - 62.0
    prior = float(sensor().p_x[1])
    at = left + prior * (right - left)
    found: Pieces = [Words("soft", (at, 12.0), f"before: {prior:.3f}", "middle")]
    for k, (value, text) in enumerate(zip(posteriors, told, strict=True)):
        top = 22.0 + 32.0 * k
        found += [
            Words("soft", (12.0, top + 16.0), f"after guess {k}"),
            box("hollow", left, top, right, top + 22.0, tone=5),
            box("mark", left, top, left + value * (right - left), top + 22.0, tone=BELIEF),
            Words("words", (right + 8.0, top + 16.0), text),
        ]
    return [*found, Shape("whisker", ((at, 17.0), (at, 82.0)))]


def curve(states: Sequence[State]) -> Figure:
    """The certified optimum against the budget, with a mark for every step."""
    budgets, errors = (tuple(each[name] for each in states) for name in ("budget", "error"))
    return Figure(
        name="curve",
        title="What privacy costs",
        subtitle="",
        x_label="leakage budget, nats",
        y_label="error probability",
        series=(Series("", budgets, errors), Series("", budgets, errors, "points")),
        description="The error probability falls as the budget grows: steeply at first, then less.",
    )


def still(states: Sequence[State]) -> str:
    """The plot at the steps of `STILL`, one under the other, as the text of an SVG file."""
    pieces = Pieces()
    height = 0.0
    for shown in (states[step] for step in STILL):
        said = shown["words"]
        after = "".join(f", {belief} after guess {k}" for k, belief in enumerate(said["beliefs"]))
        heading = [
            Words(
                "title",
                (LEFT, 20.0),
                (f"Budget {said['nats']}: {said['error']} of the guesses are wrong"),
            ),
            Words(
                "soft", (LEFT, 38.0), (f"probability of X = 1: {sensor().p_x[1]:.3f} before{after}")
            ),
        ]
        pieces += [_moved(piece, height) for piece in heading]
        pieces += [_moved(piece, height + 40.0) for piece in plot(shown["guess"])]
        height += 40.0 + FLOOR + STRIP + 18.0
    pieces += [_moved(piece, height - FLOOR - STRIP - 18.0) for piece in scale()]
    return picture(pieces, height + 20.0, ALT, style=FIGURE_STYLE) + "\n"


ALT = (
    "The best rule for the paper's sensor at three budgets. When the guess may reveal nothing "
    "about X, measurements far to the right are guessed 0 against the evidence, and in one bin the "
    "guess is drawn; with more budget that region moves away and fewer guesses are wrong."
)


def _moved(piece: Shape | Words, down: float) -> Shape | Words:
    if isinstance(piece, Words):
        return replace(piece, place=(piece.place[0], piece.place[1] + down))
    return replace(piece, places=tuple((x, y + down) for x, y in piece.places))


# -- the files
# --------------------------------------------------------------------------------------------------


def drawings(states: Sequence[State]) -> dict[str, str]:
    """What `slider.js` puts on the page and moves: bars and beliefs whole, every step of the curve
    marked.
    """
    height, pieces = draw_figure(curve(states), titled=False)
    return {
        "plot": picture(
            [*plot(None), *scale()], FLOOR + STRIP + 38.0, ("Which guess for which measurement")
        ),
        "beliefs": picture(
            beliefs((1.0, 1.0), ("", "")),
            90.0,
            ("Probability of X = 1 after each guess, against the prior"),
        ),
        "curve": picture(pieces, height, f"{curve(states).title}. {curve(states).description}"),
    }


def script(states: Sequence[State]) -> str:
    """Return the text of `budgets.js`, which contains all states."""
    data = {"start": START, "style": SITE_STYLE, "drawings": drawings(states), "states": states}
    return (
        "/* Written by budget.py. */\nconst BUDGETS = "
        f"{json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"
    )


def main() -> None:
    """Write `budgets.js` and `budget.svg` into this folder."""
    states = [state(step) for step in range(STEPS + 1)]
    for name, text in (("budgets.js", script(states)), ("budget.svg", still(states))):
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
