"""The numbers of the paper's numerical section, and of the whole curve, which the paper does not
show.

M of the paper's sensors (`problems/sensors/paper_sensor`) report a bin each. Four questions:

    inference   how well X can be inferred from the oblivious scheme (every sensor sends its own
                estimate of Y)
    guess       the law of X given Ŷ under the best perfectly private estimator, simulated and exact
    utility     the cost of perfect privacy: its error probability of Y against the best fusion of
                the local estimates
    curves      the best error probability at every leakage budget, for several M

The paper leaves bin edges and sample sizes open; they are `Settings`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Options
from discreet.backends.run import solve
from discreet.backends.solution import Solution, Status
from discreet.checks import positive, whole
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.problems.adversary.inference import check_confidence, confidence_interval
from discreet.problems.adversary.local_estimates import local_inference
from discreet.problems.problem import Problem
from discreet.problems.sensors.bins import check_edges
from discreet.problems.sensors.counts import count_vectors, lattice_size
from discreet.problems.sensors.paper_sensor import paper_conditional, paper_p_xy
from discreet.problems.sensors.several import iid_sensors
from discreet.reports.curve import Frontier, frontier
from discreet.reports.outputs import Watch

LARGEST_LATTICE = 1_000_000
"""Largest number of count vectors of one model here."""


@dataclass(frozen=True)
class Settings:
    """The parameters that the paper leaves open, with our choices.

    sensors         largest number of sensors M; every M from 1 on is computed
    samples         draws of the simulation
    seed            of the simulation
    edges           inner bin edges; the midpoints of the four means of Z
    guess_sensors   M of the simulation, 10 in the paper
    curve_sensors   the M whose whole curves are computed
    curve_width     of the bracket around each curve, as a share of its height
    confidence      of every interval
    """

    sensors: int = 30
    samples: int = 10_000
    seed: int = 0
    edges: tuple[float, ...] = (0.2, 0.5, 0.8)
    guess_sensors: int = 10
    curve_sensors: tuple[int, ...] = (1, 2, 5, 10, 20)
    curve_width: float = 0.003
    confidence: float = 0.95

    def __post_init__(self) -> None:
        whole(self.sensors, "sensors", 1)
        whole(self.samples, "samples", 1, 1e7)
        whole(self.seed, "seed", 0)
        whole(self.guess_sensors, "guess_sensors", 1)
        for count in self.curve_sensors:
            whole(count, "curve_sensors", 1)
        check_confidence(self.confidence)
        positive(self.curve_width, "curve_width")
        most = self.most
        bins = self.all_edges.size - 1
        size = lattice_size(most, bins)
        if size > LARGEST_LATTICE:
            raise InputError(
                f"{most} sensors with {bins} bins have {size:,} count vectors and the limit here "
                f"is {LARGEST_LATTICE:,}; "
                "take fewer sensors or edges"
            )

    @property
    def most(self) -> int:
        """The largest M anywhere."""
        return max(self.sensors, self.guess_sensors, *self.curve_sensors)

    @property
    def all_edges(self) -> Array:
        """The edges with −∞ and ∞; raises InputError unless they increase."""
        if any(not math.isfinite(edge) for edge in self.edges):
            raise InputError(f"edges is {self.edges}; give finite inner edges, −∞ and ∞ are added")
        return check_edges([-math.inf, *self.edges, math.inf])

    @property
    def steps(self) -> int:
        """How many steps a study takes, for a progress bar."""
        return self.sensors + 1 + len(self.curve_sensors)


@dataclass(frozen=True)
class SensorRow:
    """One M: what the oblivious scheme reveals and reaches, and what perfect privacy reaches.

    local_x_error, local_x_equivocation_nats, local_x_fano
                      best inference of X from the local estimates; H(X given them); the sharp Fano
                      bound on that error
    local_xy_error    the same for X and Y together
    local_y_error     of the best fusion of the local estimates
    bayes_y_error     of the Bayes rule from all measurements, no privacy
    private_y_error, private_y_lower
                      certified bracket of the best perfectly private estimator of Y from all
                      measurements
    """

    sensors: int
    local_x_error: float
    local_x_equivocation_nats: float
    local_x_fano: float
    local_xy_error: float
    local_y_error: float
    bayes_y_error: float
    private_y_error: float
    private_y_lower: float
    status: Status


@dataclass(frozen=True)
class GuessRow:
    """Pr(X = x given Ŷ = guess) under the perfectly private estimator: exact, and seen in `draws`
    simulated guesses.
    """

    guess: int
    x: int
    exact: float
    simulated: float
    low: float
    high: float
    hits: int
    draws: int


@dataclass(frozen=True, eq=False)
class PaperStudy:
    """Everything computed. `p_x` [2] is the law of X that perfect privacy preserves."""

    settings: Settings
    sensors: tuple[SensorRow, ...]
    guesses: tuple[GuessRow, ...]
    curves: tuple[tuple[int, Frontier], ...]
    p_x: Array
    seconds: float

    @property
    def certified(self) -> bool:
        """Whether every optimum is certified and every bracket of a curve as narrow as asked."""
        solved = all(row.status is Status.CERTIFIED for row in self.sensors)
        return solved and all(curve.certified and curve.reached for _, curve in self.curves)


def run_study(settings: Settings, watch: Watch | None = None) -> PaperStudy:
    """Compute it. `watch` is called with (steps done, steps, what happens now)."""
    started = time.perf_counter()
    tell = watch or (lambda done, total, what: None)
    rows = []
    for count in range(1, settings.sensors + 1):
        tell(count - 1, settings.steps, f"perfect privacy and local estimates, {count} sensors")
        rows.append(_sensor_row(settings, count))
    tell(settings.sensors, settings.steps, "simulating guesses")
    guesses = _guess_rows(settings)
    curves = []
    for k, count in enumerate(settings.curve_sensors):
        tell(settings.sensors + 1 + k, settings.steps, f"the whole curve, {count} sensors")
        curves.append((count, frontier(_problem(settings, count), width=settings.curve_width)))
    tell(settings.steps, settings.steps, "done")
    return PaperStudy(
        settings,
        tuple(rows),
        guesses,
        tuple(curves),
        paper_p_xy().sum(axis=1),
        time.perf_counter() - started,
    )


def _problem(settings: Settings, count: int) -> Problem:
    joint = iid_sensors(paper_conditional(settings.all_edges), paper_p_xy(), count)
    return Problem.from_joint(joint, 0.0, name=f"{count} sensor{'s' if count > 1 else ''}")


def _private(problem: Problem) -> Solution:
    solution = solve(problem, "tilt", gap=Options().gap)
    if solution.estimator is None or solution.certificate is None:
        raise InputError(
            f"{problem.name}: there is no perfectly private estimator to show: {solution.message}"
        )
    return solution


def _sensor_row(settings: Settings, count: int) -> SensorRow:
    local = local_inference(
        paper_conditional(settings.all_edges), paper_p_xy(), count, exactly=True
    )
    assert local.xy_error is not None  # of sensors both are known
    assert local.y_error is not None
    problem = _problem(settings, count)
    solution = _private(problem)
    return SensorRow(
        sensors=count,
        local_x_error=local.x_error,
        local_x_equivocation_nats=local.equivocation_nats,
        local_x_fano=local.fano_sharp,
        local_xy_error=local.xy_error,
        local_y_error=local.y_error,
        bayes_y_error=problem.bayes_error,
        private_y_error=solution.error_probability,
        private_y_lower=solution.certificate.lower if solution.certificate else -math.inf,
        status=solution.status,
    )


def _guess_rows(settings: Settings) -> tuple[GuessRow, ...]:
    """Draw (x, y), the sensors' bins and the guess; count x for each guess."""
    problem = _problem(settings, settings.guess_sensors)
    estimator = np.asarray(_private(problem).estimator)
    rng = np.random.default_rng(settings.seed)
    x, outcomes = _draw(settings, rng)
    chances = np.cumsum(estimator, axis=0)[:-1, outcomes]
    guesses = (rng.random(settings.samples) >= chances).sum(axis=0)
    law = problem.output_law(estimator)
    exact = problem.p_x * (1.0 + law.ratio_minus_one())
    rows = []
    for guess in range(problem.m):
        draws = int((guesses == guess).sum())
        for value in range(problem.n):
            hits = int(((guesses == guess) & (x == value)).sum())
            low, high = (
                confidence_interval(hits, draws, settings.confidence) if draws else (0.0, 1.0)
            )
            seen = hits / draws if draws else math.nan
            rows.append(
                GuessRow(guess, value, float(exact[guess, value]), seen, low, high, hits, draws)
            )
    return tuple(rows)


def _draw(settings: Settings, rng: np.random.Generator) -> tuple[Any, Any]:
    """Samples of x and of the outcome's index in the order of `count_vectors`."""
    law = paper_conditional(settings.all_edges)
    prior = paper_p_xy()
    truth = rng.choice(prior.size, settings.samples, p=prior.ravel())
    counts = rng.multinomial(settings.guess_sensors, law.reshape(prior.size, -1)[truth])
    order = count_vectors(settings.guess_sensors, law.shape[2]).astype(np.int64)
    # Lexicographic: larger index, larger key.
    weights = (settings.guess_sensors + 1) ** np.arange(law.shape[2])[::-1]
    return truth // prior.shape[1], np.searchsorted(order @ weights, counts @ weights)
