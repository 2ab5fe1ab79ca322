"""The privacy–utility curve: the smallest error probability at every leakage budget, with a bracket
everywhere.

`frontier` solves a few budgets; between them convexity bounds the curve (`problems.envelope`). It
starts with both ends, perfect privacy and I_MAP (the leakage of the Bayes rule, beyond which a
larger budget does not lower the error), and with the problem's own budget. Every further point is
placed where the bracket is widest, until a given width or number of points is reached.

Near ε = 0 the curve falls like √ε under smooth measures. Tangents are loose there, and the points
approach 0 in a fixed ratio. Under linear measures the curve consists of segments between kinks; the
next points are placed where tangents cross.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.solution import Solution, Status
from discreet.backends.sweep import Sweep
from discreet.checks import positive, whole
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import Term, arrays_of
from discreet.problems.envelope import Bound, Envelope, Scale, envelope_of
from discreet.problems.problem import Problem
from discreet.reports.outputs import Watch
from discreet.showing import numerals
from discreet.showing.data import plain, records_csv
from discreet.showing.figures import Figure, Series
from discreet.showing.notebook import card, frame
from discreet.showing.values import GOOD, UNSURE, Facts, Toned
from discreet.storage.writing import marked

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_WIDTH = 0.01
LARGEST_POINTS = 1000

# The budget next to 0 is divided by this: for √ε that quarters the bracket there.
_TOWARDS_ZERO = 16.0
_FROM_THE_END = 1e-3  # of an interval: no nearer to its ends, where a point would say little new
_NARROWEST = 1e-9  # intervals narrower than this share of their budgets are not cut


@dataclass(frozen=True)
class FrontierPoint:
    """One solved budget. Undefined numbers are inf (−inf for `lower` and `equivocation_nats`), so
    that comparisons with them err on the safe side.

    budget             ε in the measure's unit; with several secrets, the common factor of all
                       budgets, which is 1 for the budgets as stated
    lower, upper       certified bracket of the smallest error probability at ε; `upper` is attained
    leakage            leakage of the estimator that attains it, in the measure's unit; undefined
                       for several secrets
    equivocation_nats  H(X given Ŷ) of that estimator, if the leakage is mutual information
    multiplier         μ: the tangent's slope in the measure's level is −μ (inf at perfect privacy)
    seconds            seconds of solving and judging
    status             status of the attempt
    private_within     at budget 0, the δ such that the bracket holds for the estimators private
                       within δ (0: exactly private); inf elsewhere
    """

    budget: float
    lower: float
    upper: float
    leakage: float
    equivocation_nats: float
    multiplier: float
    seconds: float
    status: Status
    private_within: float = math.inf

    @classmethod
    def of(cls, solution: Solution, seconds: float, scale: Scale, at: float) -> FrontierPoint:
        """Return the point of a solution at the place `at` of the scale."""
        equivocation = solution.equivocation
        multipliers = solution.multipliers
        judged = solution.certificate
        lower = -math.inf
        leakage = math.inf
        private_within = math.inf
        if judged is not None:
            lower = judged.lower
            leakage = scale.place([term.leakage for term in judged.terms])
            private_within = judged.private_within
        return cls(
            at,
            lower,
            solution.error_probability,
            leakage,
            -math.inf if math.isnan(equivocation) else equivocation,
            math.inf if multipliers is None else scale.price(multipliers),
            seconds,
            solution.status,
            private_within,
        )


def _column(name: str, suffix: str) -> str:
    """Return the name of a point's number in files; budget and leakage end with their unit."""
    return name + suffix if name in ("budget", "leakage", "bayes_leakage") else name


_NAMES = tuple(each.name for each in fields(FrontierPoint))

IS_CURVE = marked(*(",".join(_column(name, suffix) for name in _NAMES) for suffix in ("_nats", "")))
"""Recognises the file of a curve's points."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """The curve of one model: solved points, and envelopes that hold at every budget, including
    those between the points.

    terms              the constraints of the problem: the measure of each, and its own budget
    rows               the solved points by increasing budget, the first at 0 and the last at I_MAP
    envelope           the bounds that they prove; `upper` and `lower` evaluate it
    bayes_leakage      I_MAP in the measure's unit; with several secrets, the factor from which on
                       no constraint binds
    entropy_x_nats     H(X); undefined, inf, unless there is one secret with one prior
    bayes_error_probability     error of the Bayes rule
    constant_error_probability  error of the best constant guess
    asked_width        requested width as a share of the curve's height, or None if only a number of
                       points was requested
    gap                relative certified gap requested at every point
    seconds            seconds of the whole computation
    """

    problem: str
    backend: str
    terms: tuple[Term, ...]
    rows: tuple[FrontierPoint, ...]
    envelope: Envelope
    entropy_x_nats: float
    bayes_leakage: float
    bayes_error_probability: float
    constant_error_probability: float
    asked_width: float | None
    gap: float
    seconds: float

    def upper(self, budgets: Any) -> Array:
        """Return an error probability that can be attained at each budget (≥ 0, in the unit of the
        points); it is nonincreasing.
        """
        return self.envelope.upper(budgets)

    def lower(self, budgets: Any) -> Array:
        """Return a lower bound on the error probability at each budget (≥ 0, in the unit of the
        points); it is nonincreasing.
        """
        return self.envelope.lower(budgets)

    @property
    def width(self) -> float:
        """Return the width of the widest bracket anywhere, as a share of the curve's height; 0 if
        it is within the gap requested of a point.

        (A flat curve has no height, and no bracket is narrower than rounding. Budgets below the
        leakage of the answer at budget 0 are ignored.)
        """
        widest = float(self.envelope.candidates()[1][0])
        return (
            0.0
            if widest <= self.gap * float(self.envelope.upper(self.envelope.start))
            else widest / self.envelope.height
        )

    @property
    def reached(self) -> bool:
        """Return whether the bracket is as narrow as requested (True if only a number of points was
        requested).
        """
        return self.asked_width is None or self.width <= self.asked_width

    @property
    def certified(self) -> bool:
        """Return whether every point is certified to the requested gap. The envelopes hold in any
        case.
        """
        return all(row.status is Status.CERTIFIED for row in self.rows)

    @property
    def measure(self) -> str:
        """Return the measure of the budgets, or with several secrets the budgets that are
        scaled.
        """
        return self.envelope.scale.title

    @property
    def unit(self) -> str:
        """Return the unit of the budgets; it is empty for plain numbers, such as factors."""
        return self.envelope.scale.unit

    @property
    def axis(self) -> str:
        """Return the description of the budgets for axes and titles."""
        return self.envelope.scale.label

    @property
    def _suffix(self) -> str:
        return f"_{self.unit}" if self.unit else ""

    @property
    def is_other(self) -> bool:
        """Return whether the curve is for anything but mutual information, so that records name
        it.
        """
        return self.measure != str(MUTUAL_INFORMATION)

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain numbers and strings, with units in the names and None where
        undefined.

        The record names a measure other than mutual information, and the budgets that a curve of
        several secrets scales.
        """
        own = (each.name for each in fields(self) if each.name not in ("terms", "rows", "envelope"))
        return {
            **{_column(name, self._suffix): plain(getattr(self, name)) for name in own},
            **self._name_columns,
            "width": self.width,
            "reached": self.reached,
            "certified": self.certified,
            "points": plain(self._records()),
        }

    def to_csv(self) -> str:
        """Return the points as CSV, one line each; columns are as in `FrontierPoint`, and values
        that are not finite are empty.

        The names of budget and leakage end with their unit. A measure other than mutual information
        is the last column. The points determine both envelopes: chords between (level, upper), and
        tangents of slope −multiplier through (level, lower), where the level is the budget ε, or
        e^{cε} − 1 under a measure that is a logarithm.
        """
        return records_csv([{**record, **self._name_columns} for record in self._records()])

    def to_frame(self) -> pd.DataFrame:
        """Return the solved points as a data frame, one row each, with columns as in `to_csv`."""
        return frame(self._records())

    @property
    def _name_columns(self) -> dict[str, str]:
        """Return a column with the measure, if records name it."""
        return {"measure": self.measure} if self.is_other else {}

    def _records(self) -> list[dict[str, Any]]:
        values = [
            {name: getattr(row, name) for name in _NAMES} | {"status": row.status.value}
            for row in self.rows
        ]
        return [
            {_column(name, self._suffix): value for name, value in row.items()} for row in values
        ]

    def plot(self) -> Figure:
        """Plot the curve between its envelopes, the solved points, and the error of the Bayes
        rule.
        """
        unit = f" {self.unit}".rstrip()
        envelope = self.envelope
        horizon = f"{numerals.number(envelope.horizon, 4)}{unit}"
        grid = curve_grid(self)
        bayes_error = self.bayes_error_probability
        upper = envelope.upper(grid)
        lower = envelope.lower(grid)
        solved = _solved_budgets(self)
        x = tuple(grid.tolist())
        high = tuple(upper.tolist())
        at = envelope.upper(solved)
        hints = tuple(
            f"budget {numerals.number(float(budget), 4)}{unit}: error probability "
            f"{numerals.bracket(float(low), float(high))}"
            for budget, low, high in zip(solved, envelope.lower(solved), at, strict=True)
        )
        perfect = numerals.number(float(at[0] if solved.size else upper[0]), 4)
        free = numerals.number(float(upper[-1]), 4)
        points = (tuple(solved.tolist()), tuple(at.tolist()))
        return Figure(
            name="frontier",
            title=f"Privacy and utility: {self.problem or 'problem'}",
            subtitle=f"{len(self.rows)} points; certified within "
            f"{numerals.number(100 * self.width, 2)} % of its height",
            x_label=self.axis,
            y_label="error probability",
            series=(
                Series("between the envelopes", x, high, "line", 0, tuple(lower.tolist()), high),
                Series("solved", *points, "points", 0, hints=hints),
                Series(
                    "the Bayes rule, no privacy",
                    (0.0, envelope.horizon),
                    (bayes_error, bayes_error),
                    "line",
                    5,
                ),
            ),
            description=f"The best error probability falls from {perfect} at budget 0 to {free} at "
            f"{horizon}; {self.axis}.",
        )

    def _repr_html_(self) -> str:
        error = numerals.bracket(float(self.lower(0.0)), float(self.upper(0.0)))
        bayes = numerals.number(self.bayes_error_probability, 6)
        facts = [
            (
                "budgets",
                f"{self.axis}, 0 to {numerals.number(self.bayes_leakage, 6)}, where more "
                "buys nothing",
            ),
            ("error probability", f"{error} at budget 0, {bayes} of the Bayes rule"),
            (
                "solved",
                f"{len(self.rows)} points by {self.backend} in {numerals.seconds(self.seconds)} s",
            ),
            ("widest bracket", f"{numerals.number(100 * self.width, 2)} % of the curve's height"),
        ]
        badge = (
            Toned("certified", GOOD) if self.certified and self.reached else Toned("open", UNSURE)
        )
        return card("Curve", self.problem, Facts("", facts), self.plot(), badge=badge)

    def __repr__(self) -> str:
        return (
            f"Frontier({self.problem!r}, {len(self.rows)} points, width {self.width:.2g} of "
            "the height)"
        )


def frontier(
    problem: Problem | BlockProblem,
    *,
    points: int | None = None,
    width: float | None = None,
    backend: str = "tilt",
    gap: float = 1e-9,
    time_limit: float | None = None,
    settings: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Frontier:
    """Compute the privacy–utility curve of a model; the problem's own budget is only one of its
    points.

    With several secrets, all budgets are multiplied by a common factor, and the curve is over that
    factor. Under a measure that is a logarithm the factor multiplies e^{cε} − 1, in which the curve
    is convex.

    points      most budgets to solve, ≥ 2; default 1000
    width       stop when the bracket is nowhere wider than this share of the curve's height (its
                fall from perfect privacy to I_MAP); default 0.01, or none when `points` is given
    backend     backend that solves every point, in this process; `gap`, `time_limit` and `settings`
                are those of `solve`, per point
    watch       called with (points done, most points, what happens now)

    A point that fails widens the envelopes, which remain valid. Raises InputError for values out of
    range, an unknown backend or setting, and for measures that bound each guess by its posterior,
    which have no convex curve.
    """
    started = time.perf_counter()
    problem = arrays_of("frontier", problem)
    scale = Scale.of(problem)
    most = LARGEST_POINTS if points is None else whole(points, "points", 2)
    target = DEFAULT_WIDTH if width is None and points is None else width
    wanted = None if target is None else positive(target, "width")
    search = _CurveSearch(
        problem,
        scale,
        gap,
        Sweep(problem, backend, gap=gap, time_limit=time_limit, settings=settings),
    )
    waiting = [0.0]
    while waiting:
        budget = waiting.pop(0)
        if watch is not None:
            watch(len(search.points), most, f"at {budget:.4g} {scale.unit}".rstrip())
        search.add(budget)
        if len(search.points) == most:
            break
        waiting = waiting or search.next(wanted)
    envelope = search.envelope()
    return Frontier(
        problem=problem.name,
        backend=backend,
        terms=problem.terms,
        rows=tuple(search.points[budget] for budget in sorted(search.points)),
        envelope=envelope,
        entropy_x_nats=problem.entropy_x if len(problem.groups) == 1 else math.inf,
        bayes_leakage=scale.horizon,
        bayes_error_probability=problem.bayes_error,
        constant_error_probability=problem.constant_error,
        asked_width=wanted,
        gap=gap,
        seconds=time.perf_counter() - started,
    )


class _CurveSearch:
    """The points solved so far, the envelope that they prove, and the choice of the next points."""

    def __init__(self, problem: Problem, scale: Scale, gap: float, sweep: Sweep) -> None:
        self._problem = problem
        self._scale = scale
        self._gap = gap
        self._sweep = sweep
        self._bounds: list[Bound] = []
        self.points: dict[float, FrontierPoint] = {}

    def add(self, budget: float) -> None:
        """Solve one more budget and add it to the points."""
        solution, seconds = self._sweep.solve(budget)
        self.points[budget] = FrontierPoint.of(solution, seconds, self._scale, budget)
        if solution.certificate is not None and solution.multipliers is not None:
            self._bounds.append(
                self._scale.bound(solution.certificate, solution.multipliers, budget)
            )

    def envelope(self) -> Envelope:
        """Return the envelope that the points prove."""
        return envelope_of(self._problem, self._bounds)

    def next(self, wanted: float | None) -> list[float]:
        """Return the budgets that narrow the bracket most, widest interval first; none if the
        bracket is narrow enough or cannot be narrowed.

        Each interval at least a quarter as wide as the widest gets one budget. A cut in the middle
        leaves about a quarter of the width.
        """
        envelope = self.envelope()
        ends = [
            end
            for end in (envelope.horizon, self._scale.own)
            if end <= envelope.horizon and end not in self.points
        ]
        if ends:
            return [float(ends[0])]
        least = max(
            self._gap * float(envelope.upper(envelope.start)),
            wanted * envelope.height if wanted else 0.0,
        )
        places = dict[float, float]()
        points = sorted(self.points)
        for budget, width in zip(*(each.tolist() for each in envelope.candidates()), strict=True):
            if width <= least:
                break
            cut = max(1, bisect_left(points, budget))
            left = points[cut - 1]
            right = points[min(cut, len(points) - 1)]
            place = None if left in places else self._place(left, right, budget, width)
            if place is not None:
                places[left] = place
                least = max(least, 0.25 * width)
        return list(places.values())

    def _place(self, left: float, right: float, budget: float, width: float) -> float | None:
        """Return where to cut the interval of points around a budget; None if another point would
        not narrow it.
        """
        if right - left <= _NARROWEST * right or budget == right < self._scale.horizon:
            return None
        if width <= 2.0 * max(
            self.points[end].upper - self.points[end].lower for end in (left, right)
        ):
            return None  # no other point will narrow the bracket at the ends
        if left == 0.0 and budget <= right / _TOWARDS_ZERO:
            return right / _TOWARDS_ZERO
        margin = _FROM_THE_END * (right - left)
        return min(max(budget, left + margin), right - margin)


def curve_grid(curve: Frontier) -> Array:
    """Return budgets from the curve's start to I_MAP, dense where the curve is steep; vertices and
    solved budgets are among them.
    """
    even = curve.envelope.horizon * np.linspace(0.0, 1.0, 160) ** 2
    inner = np.unique(
        np.concatenate(
            [even, curve.envelope.scale.at(curve.envelope.vertices[:, 0]), _solved_budgets(curve)]
        )
    )
    return inner[inner >= curve.envelope.start]


def _solved_budgets(curve: Frontier) -> Array:
    solved = [row.budget for row in curve.rows if row.budget <= curve.envelope.horizon]
    return np.asarray(np.maximum(solved, curve.envelope.start))
