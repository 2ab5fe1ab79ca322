"""Draws the set-ups: `python docs/figures/setups.py` writes the files of `DRAWINGS`.

They are made of the pieces of all figures, so they share their colours, light and dark. Purple is
the private variable, blue the public one and its guess, green what the project designs. A test
compares the files with what this would write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from discreet.problems.sensors.bins import NormalDensity
from discreet.problems.sensors.paper_sensor import (
    PAPER_SIGMA,
    PAPER_WEIGHT_X,
    PAPER_WEIGHT_Y,
    paper_p_xy,
)
from discreet.showing.plane import DASHES, WIDTH, Place, Shape, Words
from discreet.showing.svg import FIGURE_STYLE, picture

HERE = Path(__file__).resolve().parent
PUBLIC = 0
DESIGNED = 2
PRIVATE = 3
PLAIN = 5
"""Tones."""

Pieces = list[Shape | Words]
MIDDLE = 0.5 * WIDTH


def box(
    centre: Place, size: Place, title: str, lines: Sequence[str] = (), tone: int = PLAIN
) -> Pieces:
    """A box with a title and lines of words, centred."""
    (x, y) = centre
    (width, height) = size
    top = y - 8.0 * len(lines) + 5.0
    return [
        *(Shape(look, tuple(_round(x, y, width, height)), tone) for look in ("hollow", "band")),
        Words("title", (x, top), title, "middle"),
        *(
            Words("words", (x, top + 16.0 * (k + 1)), line, "middle")
            for k, line in enumerate(lines)
        ),
    ]


def _round(x: float, y: float, width: float, height: float, radius: float = 7.0) -> Iterator[Place]:
    """The corners of a rectangle with round corners."""
    for right, down, turn in ((1, -1, -90), (1, 1, 0), (-1, 1, 90), (-1, -1, 180)):
        at = x + right * (0.5 * width - radius), y + down * (0.5 * height - radius)
        for degrees in range(turn, turn + 91, 15):
            angle = np.radians(degrees)
            yield float(at[0] + radius * np.cos(angle)), float(at[1] + radius * np.sin(angle))


def arrow(*places: Place, tone: int = PLAIN, dash: str = "") -> Pieces:
    """A line through places with a tip at the last."""
    (x0, y0), (x, y) = places[-2:]
    along = np.array([x - x0, y - y0]) / np.hypot(x - x0, y - y0)
    across = np.array([-along[1], along[0]])
    tip = np.array([x, y])
    corners = (tip, tip - 9.0 * along + 4.5 * across, tip - 9.0 * along - 4.5 * across)
    end = tip - 6.0 * along
    line = (*places[:-1], (float(end[0]), float(end[1])))
    return [
        Shape("line", line, tone, dash),
        Shape("mark", tuple((float(a), float(b)) for a, b in corners), tone),
    ]


def said(x: float, y: float, *lines: str, anchor: str = "middle", look: str = "soft") -> Pieces:
    """Return lines of text, one below the other."""
    return [Words(look, (x, y + 15.0 * k), line, anchor) for k, line in enumerate(lines)]


def sources(y: float, private: str, public: str) -> Pieces:
    """Return the boxes of X and Y, next to each other."""
    size = (206.0, 58.0)
    return [
        *box((0.27 * WIDTH, y), size, "X, private", (private,), PRIVATE),
        *box((0.73 * WIDTH, y), size, "Y, to be guessed", (public,), PUBLIC),
    ]


def one_sensor() -> tuple[float, Pieces, str]:
    """The paper's sensor, its four densities, and the rule."""
    pieces = [
        *sources(42.0, "is someone home? 0.7, 0.3", "is it heated? 0.5, 0.5"),
        *arrow((0.27 * WIDTH, 71.0), (0.4 * WIDTH, 108.0), tone=PRIVATE),
        *arrow((0.73 * WIDTH, 71.0), (0.6 * WIDTH, 108.0), tone=PUBLIC),
        *said(0.31 * WIDTH, 98.0, "× 0.4", anchor="end"),
        *said(0.69 * WIDTH, 98.0, "× 0.6", anchor="start"),
        Shape("hollow", tuple(_round(MIDDLE, 178.0, 420.0, 138.0)), PLAIN),
        *said(MIDDLE, 130.0, "One sensor: Z = 0.6 Y + 0.4 X + noise", look="title"),
        *_bumps(70.0, 410.0, 222.0, 78.0),
        *said(MIDDLE, 239.0, "a number, or the bin it falls into"),
        *arrow((MIDDLE, 248.0), (MIDDLE, 282.0)),
        *said(MIDDLE + 10.0, 269.0, "Z: nobody else sees it", anchor="start"),
        *box(
            (MIDDLE, 314.0),
            (300.0, 62.0),
            "Rule: Pr(Ŷ = y given z)",
            ("errs least among all that keep the budget",),
            DESIGNED,
        ),
        *arrow((MIDDLE, 346.0), (MIDDLE, 380.0), tone=PUBLIC),
        *box(
            (MIDDLE, 410.0),
            (300.0, 58.0),
            "Ŷ, the guess",
            (("everybody reads it; I(X; Ŷ) ≤ ε"),),
            PUBLIC,
        ),
    ]
    words = (
        "X and Y make the measurement Z of one sensor; a rule turns Z into the guess of Y, which "
        "reveals at most ε about X."
    )
    return 448.0, pieces, words


def _bumps(left: float, right: float, floor: float, tall: float) -> Iterator[Shape | Words]:
    """p(x, y) times the densities of Z, as in the figure with the slider."""
    z = np.linspace(-0.4, 1.4, 145)
    yield Shape("axis", ((left, floor), (right, floor)))
    for x in (0, 1):
        for y in (0, 1):
            height = paper_p_xy()[x, y] * NormalDensity(
                PAPER_WEIGHT_X * x + PAPER_WEIGHT_Y * y, PAPER_SIGMA
            ).pdf(z)
            places = (
                (float(left + (right - left) * (at + 0.4) / 1.8), float(floor - tall * value / 1.4))
                for at, value in zip(z, height, strict=True)
                if value > 2e-3
            )
            yield Shape("line", tuple(places), y, DASHES[1] if x else "")


def many_sensors() -> tuple[float, Pieces, str]:
    """M sensors, whose reports meet in one rule."""
    pieces: Pieces = sources(42.0, "the same for all sensors", "the same for all sensors")
    for k, (x, name) in enumerate(((80.0, "Sensor 1"), (200.0, "Sensor 2"), (400.0, "Sensor M"))):
        pieces += arrow((0.27 * WIDTH, 71.0), (x - 12.0, 122.0), tone=PRIVATE)
        pieces += arrow((0.73 * WIDTH, 71.0), (x + 12.0, 122.0), tone=PUBLIC)
        pieces += box((x, 150.0), (100.0, 54.0), name, (f"reports Z{'₁₂ₘ'[k]}",))
        pieces += arrow((x, 178.0), (x, 232.0))
    pieces += [
        *said(300.0, 153.0, "· · ·", look="title"),
        *said(MIDDLE + 70.0, 199.0, "given X and Y, reports", "are independent"),
        *box(
            (MIDDLE, 262.0),
            (440.0, 60.0),
            "What the rule sees",
            ("all reports; of identical sensors, how many are in each bin",),
        ),
        *arrow((MIDDLE, 292.0), (MIDDLE, 322.0)),
        *box(
            (MIDDLE, 354.0),
            (300.0, 62.0),
            "One rule for all",
            (("errs least among all that keep the budget"),),
            DESIGNED,
        ),
        *arrow((MIDDLE, 386.0), (MIDDLE, 416.0), tone=PUBLIC),
        *box(
            (MIDDLE, 446.0),
            (300.0, 58.0),
            "Ŷ, one guess",
            (("everybody reads it; I(X; Ŷ) ≤ ε"),),
            PUBLIC,
        ),
    ]
    words = (
        "X and Y drive M sensors; their reports, or how many lie in each bin, go to one rule, "
        "which makes one public guess."
    )
    return 484.0, pieces, words


def several_secrets() -> tuple[float, Pieces, str]:
    """Several private variables, each with a measure and a budget of its own."""
    pieces: Pieces = []
    names = (
        ("X₁, private", "say: sex"),
        ("X₂, private", "say: age group"),
        ("Y, to be guessed", "say: income"),
    )
    for k, (x, (name, line)) in enumerate(zip((84.0, 240.0, 396.0), names, strict=True)):
        pieces += box((x, 42.0), (144.0, 58.0), name, (line,), PUBLIC if k == 2 else PRIVATE)
        pieces += arrow(
            (x, 71.0), (MIDDLE + 0.35 * (x - MIDDLE), 112.0), tone=PUBLIC if k == 2 else PRIVATE
        )
    pieces += [
        *box((MIDDLE, 140.0), (300.0, 54.0), "Z", ("what is known of a person",)),
        *arrow((MIDDLE, 168.0), (MIDDLE, 198.0)),
        *box(
            (MIDDLE, 230.0),
            (300.0, 62.0),
            "One rule",
            (("errs least among all that keep every budget"),),
            DESIGNED,
        ),
        *arrow((MIDDLE, 262.0), (MIDDLE, 292.0), tone=PUBLIC),
        *box((MIDDLE, 320.0), (300.0, 54.0), "Ŷ, the guess", ("everybody reads it",), PUBLIC),
        *arrow((0.4 * WIDTH, 348.0), (0.27 * WIDTH, 388.0), tone=PRIVATE, dash=DASHES[1]),
        *arrow((0.6 * WIDTH, 348.0), (0.73 * WIDTH, 388.0), tone=PRIVATE, dash=DASHES[1]),
        *box(
            (0.26 * WIDTH, 418.0),
            (216.0, 60.0),
            "about X₁",
            ("at most ε₁, by one measure",),
            PRIVATE,
        ),
        *box(
            (0.74 * WIDTH, 418.0),
            (216.0, 60.0),
            "about X₂",
            (("at most ε₂, by another measure"),),
            PRIVATE,
        ),
    ]
    words = (
        "Two private variables and Y shape Z; one rule makes one guess, which keeps a budget "
        "of its own for each secret."
    )
    return 456.0, pieces, words


def who_sees_what() -> tuple[float, Pieces, str]:
    """What stays inside, what passes to everybody, and what an adversary knows."""
    gate = 306.0
    pieces = [
        *sources(42.0, "not published", "not published"),
        *arrow((0.27 * WIDTH, 71.0), (0.27 * WIDTH, 110.0), tone=PRIVATE),
        *arrow((0.73 * WIDTH, 71.0), (0.4 * WIDTH, 110.0), tone=PUBLIC),
        *box((0.27 * WIDTH, 138.0), (206.0, 54.0), "Z, measured", ("only the rule sees it",)),
        *arrow((0.27 * WIDTH, 166.0), (0.27 * WIDTH, 218.0)),
        *box(
            (0.27 * WIDTH, 246.0),
            (206.0, 56.0),
            "Rule, with its coin",
            ("runs where Z is",),
            DESIGNED,
        ),
        *box(
            (0.77 * WIDTH, 196.0),
            (176.0, 92.0),
            "Designer",
            ("knows p(x, y, z), the loss", "and the budget; finds the", "rule, and proves it best"),
            DESIGNED,
        ),
        *arrow((0.77 * WIDTH - 88.0, 214.0), (0.27 * WIDTH + 104.0, 240.0), tone=DESIGNED),
        Shape("line", ((12.0, gate), (WIDTH - 12.0, gate)), 1, DASHES[1]),
        *said(WIDTH - 14.0, gate - 8.0, "inside", anchor="end"),
        *said(WIDTH - 14.0, gate + 17.0, "public", anchor="end"),
        *arrow((0.27 * WIDTH, 275.0), (0.27 * WIDTH, 336.0), tone=PUBLIC),
        *said(0.27 * WIDTH + 12.0, gate - 8.0, "only the guess passes", anchor="start"),
        *box((0.27 * WIDTH, 362.0), (206.0, 52.0), "Ŷ, the guess", ("everybody reads it",), PUBLIC),
        *arrow((0.27 * WIDTH, 389.0), (0.27 * WIDTH, 424.0), tone=PUBLIC),
        *arrow((0.27 * WIDTH + 104.0, 372.0), (0.75 * WIDTH, 424.0), tone=PRIVATE),
        *box(
            (0.27 * WIDTH, 474.0),
            (206.0, 98.0),
            "User",
            ("takes Ŷ for Y", "errs as seldom as the", "budget allows, proven"),
            PUBLIC,
        ),
        *box(
            (0.75 * WIDTH, 474.0),
            (206.0, 98.0),
            "Adversary",
            ("knows p(x, y, z), rule and Ŷ", "believes p(x given ŷ)", "learns at most ε about X"),
            PRIVATE,
        ),
    ]
    words = (
        "X and Y stay hidden. Only the rule sees Z; the designer, who knows the model, chose the "
        "rule. Only the guess passes to the public: to a user who takes it for Y, and to an "
        "adversary who knows the model and the rule and learns at most ε about X."
    )
    return 532.0, pieces, words


def people() -> tuple[float, Pieces, str]:
    """From a table of people to a rule in production."""
    gate = 322.0
    pieces = [
        *box(
            (MIDDLE, 42.0),
            (400.0, 58.0),
            "A table of people",
            (("features Z, what is to be guessed Y, sensitive X"),),
        ),
        *arrow((0.4 * WIDTH, 71.0), (0.27 * WIDTH, 106.0)),
        *arrow((0.6 * WIDTH, 71.0), (0.73 * WIDTH, 106.0)),
        *said(0.3 * WIDTH, 92.0, "most", anchor="end"),
        *said(0.7 * WIDTH, 92.0, "the others", anchor="start"),
        *box(
            (0.26 * WIDTH, 148.0),
            (212.0, 82.0),
            "Design",
            ("two classifiers, of X and of Y,", "and the best rule at each", "of many budgets"),
            DESIGNED,
        ),
        *box(
            (0.74 * WIDTH, 148.0),
            (212.0, 82.0),
            "Promise",
            (
                ("what each rule does to people"),
                "it has not seen; the last that",
                "keeps the budget is taken",
            ),
            DESIGNED,
        ),
        *arrow((0.26 * WIDTH + 106.0, 148.0), (0.74 * WIDTH - 106.0, 148.0), tone=DESIGNED),
        *arrow((0.74 * WIDTH, 189.0), (0.6 * WIDTH, 226.0), tone=DESIGNED),
        *box(
            (MIDDLE, 258.0),
            (300.0, 62.0),
            "Rule, in a folder",
            (("a few numbers, a key for its coins, a card"),),
            DESIGNED,
        ),
        Shape("line", ((12.0, gate), (WIDTH - 12.0, gate)), 1, DASHES[1]),
        *said(WIDTH - 14.0, gate - 8.0, "before", anchor="end"),
        *said(WIDTH - 14.0, gate + 17.0, "in production", anchor="end"),
        *box((0.2 * WIDTH, 372.0), (160.0, 56.0), "A new person", ("features Z, no X",)),
        *arrow((0.2 * WIDTH + 80.0, 372.0), (0.65 * WIDTH - 88.0, 372.0)),
        *arrow((0.65 * WIDTH, 289.0), (0.65 * WIDTH, 344.0), tone=DESIGNED),
        *box((0.65 * WIDTH, 372.0), (176.0, 56.0), "Rule", ("same record, same coin",), DESIGNED),
        *arrow((0.65 * WIDTH, 400.0), (0.65 * WIDTH, 430.0), tone=PUBLIC),
        *box(
            (0.65 * WIDTH, 458.0),
            (318.0, 54.0),
            "Ŷ, the guess",
            ("reveals at most ε about X, with stated confidence",),
            PUBLIC,
        ),
    ]
    words = (
        "Most people of a table serve to design rules, the others to test them. The chosen rule "
        "needs only the features, and its guess reveals at most the budget about X, with the "
        "stated confidence."
    )
    return 494.0, pieces, words


def over_time() -> tuple[float, Pieces, str]:
    """A guess after every reading, and one budget for all."""
    columns = (84.0, 240.0, 396.0)
    pieces: Pieces = []
    for t, x in enumerate(columns, 1):
        name = "₁₂₃"[t - 1]
        pieces += box((x, 40.0), (120.0, 54.0), f"X{name}, Y{name}", ("home? pump?",), PRIVATE)
        pieces += arrow((x, 67.0), (x, 96.0))
        pieces += box((x, 122.0), (120.0, 50.0), f"Z{name}", ("a reading",))
        pieces += arrow((x, 147.0), (x, 186.0))
        pieces += box((x, 216.0), (120.0, 58.0), f"Step {t}", ("sees all until now",), DESIGNED)
        pieces += arrow((x, 245.0), (x, 284.0), tone=PUBLIC)
        pieces += box((x, 310.0), (120.0, 50.0), f"Ŷ{name}", ("a guess",), PUBLIC)
        pieces += arrow((x, 335.0), (MIDDLE + 0.8 * (x - MIDDLE), 374.0), tone=PUBLIC)
    for before, after in pairwise(columns):
        pieces += arrow((before + 60.0, 40.0), (after - 60.0, 40.0), tone=PRIVATE)
        pieces += arrow((before + 60.0, 216.0), (after - 60.0, 216.0), tone=DESIGNED)
    pieces += box(
        (MIDDLE, 406.0),
        (420.0, 60.0),
        "A reader of all guesses",
        (("learns at most ε about X₁, X₂, X₃ together"),),
        PUBLIC,
    )
    words = (
        "At every step the rule sees the readings and guesses so far, but no later ones, and "
        "guesses once. A reader of all guesses learns at most one budget about the whole "
        "trajectory of X."
    )
    return 446.0, pieces, words


DRAWINGS = {
    "one-sensor.svg": one_sensor,
    "many-sensors.svg": many_sensors,
    "several-secrets.svg": several_secrets,
    "who-sees-what.svg": who_sees_what,
    "people.svg": people,
    "over-time.svg": over_time,
}


def files() -> Iterable[tuple[str, str]]:
    """Every file and its text."""
    for name, drawing in DRAWINGS.items():
        height, pieces, words = drawing()
        yield name, picture(pieces, height, words, style=FIGURE_STYLE) + "\n"


if __name__ == "__main__":
    for name, text in files():
        (HERE / name).write_text(text, encoding="utf-8")
