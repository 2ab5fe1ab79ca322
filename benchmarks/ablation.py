"""Ablation of the native solver on published instances: each piece is removed in turn, and the same work is done again.

    .venv/bin/python benchmarks/ablation.py

It prints counts, and times in the last part only:

- the interior point alone, without crossover: iterations, and instances that do not reach 1e-9 within a hundred of them;
- the crossover: from how many iterates of the interior point it reaches the optimum, how many iterates come before the first
  of these, for how many instances it never does, and from how many tilts alone it finds the vertex;
- both together: crossovers called, and iterations;
- the rounds: instances certified at 1e-9, rules of a tilt and a few ties, passes and iterations;
- their work: outcomes times iterations of the interior point, outcomes of all passes, and those looked at one by one;
- 52 problems of 20,000 to 131,072 outcomes: how many are certified, and stated as a tilt with a few ties, with tie classes,
  or with a column for every outcome that does not follow the tilt;
- how far inside the budget a vertex aims: problems certified at 1e-9, and the mean gap;
- what a point of a curve costs, in milliseconds of processor time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import discreet as ds
from discreet.backends import equations
from discreet.backends.precision import Precision
from discreet.backends.solution import Status
from discreet.backends.tilt import backend, cells, interior_point, newton, passes, rounds, statement, vertex
from discreet.backends.tilt import crossover as crossing
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import Model, model_of
from discreet.backends.tilt.newton import Newton
from discreet.backends.tilt.passes import scan
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.vertex import Vertex
from discreet.problems import BlockProblem, Problem, catalog, lattice_problem, reduce
from discreet.problems.catalog.paper import paper_edges
from discreet.problems.numerics.label_strips import strip_sums
from discreet.problems.sensors import linear_conditional, paper_p_xy
from discreet.problems.streams.sample import sample

_GAP = 2e-10  # a vertex of this relative width ends the iteration
_INSTANCES = [
    *(f"paper-single:bins={bins},{budget}" for bins in (37, 1100) for budget in ("fraction=0.5", "budget=0")),
    *(f"paper-single:bins=256,{budget}" for budget in ("budget=1e-10", "budget=1e-6", "budget=1e-3", "fraction=0.9")),
    *(f"paper-multi:sensors={sensors},fraction=0.5" for sensors in (1, 2, 4, 7, 12, 20)),
    *(f"paper-multi:sensors={sensors},budget=0" for sensors in (2, 7, 20)),
    *(f"dirichlet:n={k},m={k},{budget}" for k in (2, 3, 4, 6) for budget in ("fraction=0.5", "fraction=0.1", "budget=0")),
    *(f"mixture:n={k},m={k},{budget}" for k in (2, 4) for budget in ("fraction=0.5", "budget=0")),
    *(f"dirichlet:n={n},m={m},N=300,fraction=0.5,seed={seed}" for n, m in ((2, 5), (5, 2), (3, 4)) for seed in (1, 2, 3)),
    *(f"{name}:fraction=0.5" for name in ("multi-mixed", "smart-meter", "anes96", "building", "road", "fair")),
    *(f"{name}:fraction=0.5" for name in ("zero-mass", "near-deterministic", "duplicated", "x-equals-y")),
]


def instance(text: str) -> Problem:
    """The catalog's problem of a text "name:parameter=value,…"."""
    name, _, rest = text.partition(":")
    given = (part.split("=") for part in rest.split(","))
    return catalog.build(name, **{key: float(value) if set(value) & set(".e") else int(value) for key, value in given})


def iterates(problem: Problem) -> list[Point]:
    """Every iterate at which the interior point asks for a vertex, if it never gets one."""
    seen: list[Point] = []
    with replaced(interior_point, "_worth_a_try", lambda *_: True):
        solve_interior(model_of(problem, Precision.of(problem, 1e-9)), gap=1e-10, max_iterations=100, shortcut=seen.append)
    return seen


def near_tilts(problem: Problem) -> Iterator[tuple[Problem, Any, float]]:
    """The optimal duals with relative errors between 1e-6 and 0.5."""
    best, rng = ds.solve(problem, "tilt"), np.random.default_rng(4)
    assert best.tilt is not None
    multiplier = math.inf if best.multiplier is None else best.multiplier
    for size in np.geomspace(1e-6, 0.5, 30):
        yield problem, best.tilt * (1.0 + size * rng.normal(size=best.tilt.shape)), (1.0 + size) * multiplier


def crossover_row(name: str, paths: list[tuple[Problem, list[Point]]], tilts: list[tuple[Problem, Any, float]]) -> None:
    """Print the results of the crossover from all iterates and tilts."""
    ended = first = never = 0
    for problem, path in paths:
        found = [crossing.crossover(problem, at.tilt, at.multiplier, Precision.of(problem, 1e-9), at.columns) for at in path]
        good = [place for place, vertex in enumerate(found) if vertex is not None and vertex[1] <= _GAP]
        ended, first, never = ended + len(good), first + (good[0] if good else len(path)), never + (not good)
    alone = [crossing.crossover(problem, tilt, price, Precision.of(problem, 1e-9)) for problem, tilt, price in tilts]
    count = sum(vertex is not None and vertex[1] <= _GAP for vertex in alone)
    print(f"{name:34s} {ended:5d} {first:5d} {never:5d} {count:5d} of {len(tilts)}", flush=True)


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute within the context."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class _Unlike(crossing._ActiveSet):
    """Active sets of which one piece is taken."""

    without = ""

    def cut(self, tilt: Any, multiplier: float) -> Any:
        announced = super().cut(tilt, multiplier)
        if self.without == "a law that the tilt implies":
            return np.zeros_like(announced)
        if self.without == "more than one tie from a tilt":
            self.ties = dict(list(self.ties.items())[:1])
        return announced

    def hesitate(self, columns: Any) -> Any:
        return None if self.without == "ties of the interior point" else super().hesitate(columns)

    def relabel(self, *given: Any) -> bool:
        if self.without == "ties of what changes twice":
            self._changed[:] = False
        return super().relabel(*given)

    def leave(self, vertex: Any, columns: Any) -> None:
        super().leave(vertex, columns)
        if self.without == "going on where nothing is solved" and columns.min() >= 0.0:
            self.ties.clear()

    def _enter(self, direction: Any, missing: float) -> None:
        if self.without != "entering of other ties":
            super()._enter(direction, missing)


def clipped_start(vertex: Vertex, deviation: Any, near: Any = Vertex.near) -> Any:
    """Shares outside [0, 1] at the start are moved inside, so no tie is dropped before the system is solved."""
    found = near(vertex, deviation)
    return None if found is None else np.clip(found, 0.0, None) / np.clip(found, 0.0, None).sum(axis=0)


def multiplied(factor: float, start: Any = interior_point._start) -> Any:
    """The start of the interior point with its multiplier and tilt times a factor."""

    def other(model: Model) -> Any:
        at = start(model)
        tilt = factor * at.tilt
        return replace(at, tilt=tilt, multiplier=factor * at.multiplier, slack=interior_point._slack(model, tilt))

    return other


def cubed(model: Model, at: Any, step: Any, length: float, later: Any = interior_point._later_product) -> float:
    """Products after a step of which the square is the cube of their share of all."""
    total = interior_point._total_product(model, at) + (0.0 if model.perfect else at.unused * at.multiplier)
    return float(total * (max(0.0, later(model, at, step, length)) / total) ** 1.5)


def interior_row(name: str, models: list[Model]) -> None:
    """Print one ablation."""
    endings = [solve_interior(model, gap=1e-9, max_iterations=100)[1] for model in models]
    iterations, missed = sum(ending.iterations for ending in endings), sum(not ending.optimal for ending in endings)
    print(f"{name:40} {iterations:10} {missed:10} of {len(endings)}", flush=True)


def interior_rows() -> None:
    """Print the ablations of the interior point: small problems, tiny budgets, many guesses with masses over ten decades."""
    shapes = ("n=2,m=10", "n=2,m=30", "n=5,m=5", "n=10,m=10")
    tiny = [f"{name}:fraction={share}" for name in ("x-equals-y", "road", "zero-mass") for share in (1e-3, 1e-6, 1e-9)]
    tiny += [f"dirichlet:n=2,m=2,N=45,seed={seed},fraction=0.001" for seed in range(20)]
    tiny += [f"dirichlet:n={k},m={k},N={k},seed={seed},fraction=1e-6" for k in (3, 5, 6) for seed in range(10)]
    tiny += [f"dirichlet:n={k},m={k},N={k},seed={seed},fraction=1e-6" for k in (3, 5, 6) for seed in range(10)]
    texts = (
        _INSTANCES
        + tiny
        + [f"weighted-mixture:{shape},N=3000,{budget}" for shape in shapes for budget in ("fraction=0.3", "budget=0")]
    )
    texts += [f"weighted-mixture:n=2,m=50,N=20000,{budget}" for budget in ("fraction=0.3", "budget=0")]
    problems = [reduce(instance(text)).problem for text in texts]
    models = [model_of(problem, Precision.of(problem, 1e-9)) for problem in problems]
    print(f"{'the interior point':40} {'iterations':>10} {'not ended':>10}")
    interior_row("as it is", models)
    for name, owner, attribute, value in (
        ("no outcome may be left behind", interior_point, "_ALLOWED", 1e-200),
        ("masses of guesses are not anticipated", Newton, "anticipate", lambda newton, step, length: None),
        ("steps of nine tenths to the end", interior_point, "_TO_BOUNDARY", (0.9, 0.9)),
        ("the multiplier may fall to a hundredth", interior_point, "_CHEAPER", 1.0),
        ("the multiplier falls to half at most", interior_point, "_CHEAPER", 0.5),
        ("the multiplier may fall to a hundredth", interior_point, "_CHEAPER", 1.0),
        ("the multiplier falls to half at most", interior_point, "_CHEAPER", 0.5),
        ("no floor of the products", Precision, "own_gap", 0.0),
        ("a first slack of a hundredth", interior_point, "_FIRST_SLACK", 0.01),
        ("half of the budget used first", interior_point, "_FIRST_USED", 0.5),
        ("a hundredth of the error is allowed", interior_point, "_ALLOWED", 0.01),
        ("ten times the error is allowed", interior_point, "_ALLOWED", 1.0),
        ("masses are anticipated to a tenth only", newton, "_SMALLEST_GROWTH", 0.1),
        ("a first multiplier three times as large", interior_point, "_start", multiplied(3.0)),
        ("a first multiplier a third as large", interior_point, "_start", multiplied(1.0 / 3.0)),
        ("no refinement of the linear system", Newton, "_refined", lambda newton, right: newton._inverse @ right),
        ("half the patience", interior_point, "_PATIENCE", 7),
        ("products fall as the cube (Mehrotra)", interior_point, "_later_product", cubed),
    ):
        with replaced(owner, attribute, value):
            interior_row(name, models)
    interior_row(
        "the same barrier for rare outcomes", [replace(each, barrier=np.ones_like(each.barrier)) for each in models]
    )


def crossover_rows() -> None:
    """Print the ablations of the crossover."""
    problems = [reduce(instance(text)).problem for text in _INSTANCES]
    paths = [(problem, iterates(problem)) for problem in problems]
    single = ds.problems.paper_single(bins=300)
    tilts = [
        case for share in (1e-3, 0.05, 0.4, 0.8) for case in near_tilts(single.with_budget(share * single.bayes_leakage))
    ]
    for text in ("n=3,m=3", "n=4,m=4", "n=2,m=5,N=300", "n=5,m=2,N=300"):
        for budget in ("fraction=0.1", "budget=0"):
            tilts += near_tilts(instance(f"dirichlet:{text},{budget}"))
    print(f"\n{'the crossover without':34s} ended first never from a tilt alone")
    crossover_row("(nothing)", paths, tilts)
    for piece in (
        "a law that the tilt implies",
        "more than one tie from a tilt",
        "ties of the interior point",
        "ties of what changes twice",
        "going on where nothing is solved",
        "entering of other ties",
    ):
        with replaced(_Unlike, "without", piece), replaced(crossing, "_ActiveSet", _Unlike):
            crossover_row(piece, paths, tilts)
    with replaced(Vertex, "near", clipped_start):
        crossover_row("leaving before a system is solved", paths, tilts)
    for pivots in (2, 4, 16):
        with replaced(crossing, "_PIVOTS", pivots):
            crossover_row(f"({pivots} pivots instead of 8)", paths, tilts)
    for steps in (6, 24):
        with replaced(vertex, "_STEPS", steps):
            crossover_row(f"({steps} steps for a vertex, not 12)", paths, tilts)


def tries_row(name: str, problems: list[Problem]) -> None:
    """Print one ablation: crossovers called and iterations until all problems are solved."""
    called, plain = 0, rounds.crossover

    def counted(*given: Any) -> Any:
        nonlocal called
        called += 1
        return plain(*given)

    with replaced(rounds, "crossover", counted):
        iterations = sum(ds.solve(problem, "tilt", gap=1e-9).iterations or 0 for problem in problems)
    print(f"{name:40} {called:10} {iterations:10}", flush=True)


def tries_rows() -> None:
    """Print the ablations of the moments at which the iteration asks for a vertex."""
    problems = [instance(text) for text in _INSTANCES]
    print(f"\n{'crossovers on the way':40} {'called':>10} {'iterations':>10}")
    tries_row("as it is", problems)
    plain = interior_point._worth_a_try
    for name, when in (
        ("at every iterate", lambda *_: True),
        ("only at the end", lambda *_: False),
        ("not from the start", lambda *given: given[1] > 0 and plain(*given)),
        ("from the start of all", lambda *given: given[1] == 0 or plain(*given)),
    ):
        with replaced(interior_point, "_worth_a_try", when):
            tries_row(name, problems)


def lattice(sensors: int, bins: int, sigma: float) -> BlockProblem:
    """The count lattice of the paper's sensors at half of the Bayes rule's leakage."""
    conditional = linear_conditional(0.4, 0.6, sigma, paper_edges(bins))
    free = lattice_problem(conditional, paper_p_xy(), sensors, budget=math.inf, tail=0.0)
    return free.with_budget(0.5 * ds.solve(free, "tilt").leakage)


@contextmanager
def shells(bits: int) -> Iterator[None]:
    """Have 2^bits shells to an octave, in the NumPy passes."""
    with ExitStack() as stack:
        for owner in (cells, passes, rounds, statement):
            stack.enter_context(replaced(owner, "SHELLS", 44 << bits))
        stack.enter_context(replaced(cells, "_BOTTOM", (1023 - 42) << bits))
        stack.enter_context(replaced(cells, "_SHIFT", 52 - bits))
        yield


def rounds_row(name: str, problems: list[Problem | BlockProblem]) -> None:
    """Print one ablation."""
    found = [ds.solve(problem, "tilt", gap=1e-9) for problem in problems]
    certified = sum(solution.status is Status.CERTIFIED for solution in found)
    short = sum(solution.rule.band == 0.0 and solution.rule.ties.size <= solution.rule.m**2 for solution in found)
    passes, iterations = (sum(getattr(solution, what) or 0 for solution in found) for what in ("passes", "iterations"))
    print(f"{name:40} {certified:3} of {len(found)} {short:8} {passes:8} {iterations:8}", flush=True)


def rounds_rows() -> None:
    """Print the ablations of the rounds."""
    sizes = ("n=2,m=3", "n=3,m=3", "n=4,m=4")
    problems: list[Problem | BlockProblem] = [
        *(lattice(*size) for size in ((20, 4, 1.0), (50, 4, 1.0), (100, 4, 1.0), (12, 8, 1.0), (10, 8, 0.1), (36, 4, 0.1))),
        *(catalog.build("paper-single", bins=100_000, fraction=fraction) for fraction in (0.0, 0.01, 0.3)),
        *(instance(f"mixture:{size},N=60000,seed=1,fraction={share}") for size in sizes for share in (0.0, 0.01, 0.3)),
    ]
    print(f"\n{'rounds':40} {'certified':>9} {'vertices':>8} {'passes':>8} {'iterations':>8}")
    rounds_row("as it is", problems)
    first = rounds.first_retained
    for name, attribute, value in (
        ("retains twice as many, not eight times", "_MORE", 2),
        ("more after a round that is not tenfold", "_PROGRESS", 0.1),
        ("more only after a round without progress", "_PROGRESS", 0.9),
        ("first a quarter as many retained", "first_retained", lambda *sizes: first(*sizes) // 4),
        ("first four times as many retained", "first_retained", lambda *sizes: first(*sizes) * 4),
    ):
        with replaced(rounds, attribute, value):
            rounds_row(name, problems)
    margin = rounds.wanted_margin
    for share, words in ((0.5, "half"), (2.0, "twice")):

        def scaled(columns: Any, counts: Any, tilt: Any, wanted: float, *reach: Any, share: float = share) -> float:
            return margin(columns, counts, tilt, share * wanted, *reach)

        with replaced(rounds, "wanted_margin", scaled):
            rounds_row(f"margins of {words} as many outcomes", problems)
    with replaced(rounds._Rounds, "_crossed", lambda *_: None):
        rounds_row("no vertex before the first iteration", problems)
    with replaced(rounds._Rounds, "_vertex", lambda _, proof, best: best):
        rounds_row("no look for a vertex where bounds have met", problems)
    with replaced(rounds._Rounds, "_carried", lambda *_: -math.inf):
        rounds_row("no bound without a pass", problems)
    with replaced(rounds, "sample", lambda *given, **threads: sample(given[0], given[1], given[2], 50, **threads)):
        rounds_row("a first tilt from 50 outcomes", problems)
    for bits, words in ((0, "one shell"), (3, "eight shells")):
        with shells(bits):
            rounds_row(f"{words} to an octave, not two", problems)
    generated: list[Problem | BlockProblem] = [lattice(30, 8, sigma) for sigma in (1.0, 0.1)]
    rounds_row("outcomes generated at every pass", generated)
    with replaced(rounds, "stored", lambda blocks: True):
        rounds_row("retains no more of them than of arrays", generated)


def work_row(name: str, problems: list[Problem]) -> None:
    """Print one ablation, in millions of outcomes."""
    iterated = passed = single = 0

    def interior(model: Model, **how: Any) -> Any:
        nonlocal iterated
        found = solve_interior(model, **how)
        iterated += model.outcomes * found[1].iterations
        return found

    def scanned(blocks: Any, *given: Any, **how: Any) -> Any:
        nonlocal passed
        passed += blocks.N
        return scan(blocks, *given, **how)

    def summed(*given: Any, **how: Any) -> Any:
        nonlocal single
        found = strip_sums(*given, **how)
        single += found.unclear.size
        return found

    with (
        replaced(rounds, "solve_interior", interior),
        replaced(rounds, "scan", scanned),
        replaced(cells, "strip_sums", summed),
    ):
        for problem in problems:
            ds.solve(problem, "tilt", gap=1e-9, settings={"kernels": "compiled", "threads": 1})
    print(f"{name:40} {iterated / 1e6:14.2f} {passed / 1e6:10.2f} {single / 1e6:12.2f}", flush=True)


def work_rows() -> None:
    """Print when rounds pay, and what screening saves: problems near the size from which rounds are taken, and larger."""
    near = [
        instance(f"dirichlet:n={n},m={m},N={times * rounds.first_retained(n, m)},seed=1,{budget}")
        for n, m in ((2, 2), (3, 3), (4, 4), (2, 6))
        for times in (8, 32)
        for budget in ("fraction=0.5", "budget=0")
    ]
    print(f"\n{'work, in millions of outcomes':40} {'interior point':>14} {'in passes':>10} {'one by one':>12}")
    work_row("as it is", near)
    for times in (4, 64):
        with replaced(backend, "_ROUNDS_FROM", times):
            work_row(f"rounds from {times} times the retained, not 16", near)
    large = [instance(f"mixture:n={k},m={k},N=500000,seed=1,fraction=0.3") for k in (2, 3)]
    large += [instance(f"paper-single:bins=1000000,{budget}") for budget in ("fraction=0.3", "budget=0")]
    work_row("half a million outcomes and more", large)
    for factor in (8.0, 512.0, math.inf):
        with replaced(rounds, "_SCREENED", factor):
            work_row(f"screened from {factor:g} times the margin", large)
    with replaced(rounds, "_SAMPLED", 1e-9):
        work_row("a sample tells margins of any few", large)
    thirty = [instance("paper-single:bins=30000000,budget=0.01")]
    work_row("thirty million outcomes", thirty)
    with replaced(rounds, "saving_passes", lambda blocks: 0):
        work_row("no more retained because there are many", thirty)


def statement_row(name: str, problems: list[BlockProblem]) -> None:
    """Print one ablation."""
    found = [ds.solve(problem, "tilt", gap=1e-9) for problem in problems]
    certified = sum(solution.status is Status.CERTIFIED for solution in found)
    rules = [(solution.rule, solution.problem.n * solution.problem.m) for solution in found]
    classes = sum(rule.band > 0.0 for rule, _ in rules)
    short = sum(rule.band == 0.0 and rule.ties.size <= most for rule, most in rules)
    print(f"{name:44} {certified:3} of {len(found)} {short:9} {classes:12} {len(found) - short - classes:8}", flush=True)


def statement_rows() -> None:
    """Print how large problems are answered."""
    sizes = ("n=2,m=2,N=20000", "n=3,m=3,N=30000", "n=2,m=6,N=40000", "n=5,m=2,N=30000", "n=4,m=4,N=60000")
    budgets = ("fraction=0.5", "fraction=0.05", "budget=0", "budget=1e-20")
    models = [f"{name}:{size},seed=1" for name in ("dirichlet", "weighted-mixture") for size in sizes]
    texts = [
        *(f"{model},{budget}" for model in models for budget in budgets),
        *(f"paper-multi:sensors={sensors},{budget}" for sensors in (15, 17) for budget in ("fraction=0.5", "budget=0")),
        *(f"paper-multi:sensors={sensors},fraction=0.01" for sensors in (15, 17)),
        *(f"paper-single:bins={bins},{budget}" for bins in (20_000, 100_000) for budget in ("fraction=0.5", "budget=0")),
        *(f"paper-single:bins={bins},budget=1e-6" for bins in (20_000, 100_000)),
    ]
    problems = [BlockProblem.of(instance(text)) for text in texts]
    print(f"\n{'large problems':44} {'certified':>9} {'vertices':>9} {'tie classes':>12} {'columns':>8}")
    statement_row("as it is", problems)
    for piece in ("entering of other ties", "more than one tie from a tilt", "ties of the interior point"):
        with replaced(_Unlike, "without", piece), replaced(crossing, "_ActiveSet", _Unlike):
            statement_row(f"without {piece}", problems)
    with replaced(rounds._Rounds, "_vertex", lambda _, proof, best: best):
        statement_row("no look for a vertex where bounds have met", problems)
    with replaced(statement, "_in_classes", lambda *_: None):
        statement_row("no tie classes", problems)
    with replaced(statement, "MOST_RETAINED", 0):
        statement_row("no columns for every outcome", problems)


def inside_row(name: str, problems: list[BlockProblem]) -> None:
    """Print one ablation."""
    gaps = [ds.solve(problem, "tilt", gap=1e-9).relative_gap for problem in problems]
    print(f"{name:44} {sum(gap <= 1e-9 for gap in gaps):3} of {len(gaps)} {sum(gaps) / len(gaps):11.2e}", flush=True)


def inside_rows() -> None:
    """Print what a vertex gains by its distance to the budget, on lattices whose error probability is near 1e-5."""
    half = [lattice(sensors, 4, 0.1) for sensors in (34, 35, 36, 37)]
    problems = [each.with_budget(2.0 * share * each.budget) for each in half for share in (0.3, 0.4, 0.5, 0.6, 0.7)]
    print(f"\n{'a vertex aims inside the budget by':44} {'certified':>9} {'mean gap':>11}")
    inside_row("4 ρ, as it is", problems)
    plain = Precision.of
    for count in (2.0, 3.0, 5.0, 8.0):

        def aimed(problem: Any, gap: float, count: float = count) -> Precision:
            made = plain(problem, gap)
            return replace(made, vertex=min(0.5, 2.0**-44 + count * made.rounding))

        with replaced(Precision, "of", staticmethod(aimed)):
            inside_row(f"{count:g} ρ", problems)


def curve_rows(turns: int = 30) -> None:
    """Print what a point of a curve costs without what is special about one share, and about many answers to one problem."""

    def by_values(matrix: Any, right: Any) -> Any:
        return np.linalg.lstsq(matrix, right, rcond=Precision.rank)[0]

    def as_any(matrix: Any, border: Any, right: Any, last: float) -> Any:
        whole = np.block([[matrix, border[:, None]], [border[None], np.zeros((1, 1))]])
        return equations.equilibrated(whole, np.append(right, last))

    vectors = [(vertex, "least_norm", by_values), (equations, "least_norm", by_values)]
    pieces: dict[str, list[tuple[Any, str, Any]]] = {
        "as it is": [],
        "vectors by singular values": vectors,
        "and one share as any number of them": [*vectors, (vertex, "bordered", as_any)],
        "rows are split for every answer": [(Problem, "rows", None)],
        "a ratio test that looks at all at first": [(crossing, "math", SimpleNamespace(isqrt=lambda _: 1, inf=math.inf))],
    }
    problem, least = instance("paper-single:bins=10000").with_budget(0.01), dict.fromkeys(pieces, math.inf)
    for _ in range(turns):  # in turn, as a machine has faster and slower minutes
        for name, changes in pieces.items():
            with ExitStack() as stack:
                for change in changes:
                    stack.enter_context(replaced(*change))
                started = time.process_time()
                ds.frontier(problem, points=50)
                least[name] = min(least[name], time.process_time() - started)
    print(f"\n{'a curve of 50 points, N = 10,000':44} {'ms a point':>10}")
    for name, seconds in least.items():
        print(f"{name:44} {seconds * 20:10.3f}", flush=True)


if __name__ == "__main__":
    interior_rows()
    crossover_rows()
    tries_rows()
    rounds_rows()
    work_rows()
    statement_rows()
    inside_rows()
    curve_rows()
