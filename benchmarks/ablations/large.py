"""Rows of large problems: the rounds, their work, the answers, and how far inside the budget a
vertex aims.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablations.pieces import Ablated, instance, lattice, replaced

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.solution import Status
from discreet.backends.tilt import backend, passes, rounds, statement
from discreet.backends.tilt import crossover as crossing
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import Model
from discreet.backends.tilt.passes import scan
from discreet.numerics.label_strips import strip_sums
from discreet.problems import BlockProblem, Problem, catalog
from discreet.problems.streams.sample import sample

__all__ = ["inside_rows", "rounds_rows", "statement_rows", "work_rows"]


@contextmanager
def shells(bits: int) -> Iterator[None]:
    """Have 2^bits shells to an octave, in the NumPy passes."""
    with ExitStack() as stack:
        for owner in (passes, rounds):
            stack.enter_context(replaced(owner, "SHELLS", passes.TIES + (44 << bits)))
        stack.enter_context(replaced(passes, "_BOTTOM", (1023 - 42) << bits))
        stack.enter_context(replaced(passes, "_SHIFT", 52 - bits))
        yield


def rounds_row(name: str, problems: list[Problem | BlockProblem]) -> None:
    """Print the table of this ablation."""
    found = [ds.solve(problem, "tilt", gap=1e-9) for problem in problems]
    certified = sum(solution.status is Status.CERTIFIED for solution in found)
    short = sum(
        solution.rule.band == 0.0 and solution.rule.ties.size <= solution.rule.m**2
        for solution in found
    )
    passes, iterations = (
        sum(getattr(solution, what) or 0 for solution in found) for what in ("passes", "iterations")
    )
    print(
        f"{name:40} {certified:3} of {len(found)} {short:8} {passes:8} {iterations:8}", flush=True
    )


def rounds_rows() -> None:
    """Print the ablations of the rounds."""
    sizes = ("n=2,m=3", "n=3,m=3", "n=4,m=4")
    problems: list[Problem | BlockProblem] = [
        *(
            lattice(*size)
            for size in (
                (20, 4, 1.0),
                (50, 4, 1.0),
                (100, 4, 1.0),
                (12, 8, 1.0),
                (10, 8, 0.1),
                (36, 4, 0.1),
            )
        ),
        *(
            catalog.build("paper-single", bins=100_000, fraction=fraction)
            for fraction in (0.0, 0.01, 0.3)
        ),
        *(
            instance(f"mixture:{size},N=60000,seed=1,fraction={share}")
            for size in sizes
            for share in (0.0, 0.01, 0.3)
        ),
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

        def scaled(
            columns: Any, counts: Any, tilt: Any, wanted: float, *reach: Any, share: float = share
        ) -> float:
            return margin(columns, counts, tilt, share * wanted, *reach)

        with replaced(rounds, "wanted_margin", scaled):
            rounds_row(f"margins of {words} as many outcomes", problems)
    with replaced(rounds._Rounds, "_cross", lambda *_: None):
        rounds_row("no vertex before the first iteration", problems)
    with replaced(rounds._Rounds, "_vertex", lambda _, proof, best: best):
        rounds_row("no look for a vertex where bounds have met", problems)
    with replaced(rounds._Rounds, "_carry_bound", lambda *_: -math.inf):
        rounds_row("no bound without a pass", problems)
    with replaced(rounds._Rounds, "_again", lambda _, proof: proof):
        rounds_row("no pass with more retained or unscreened", problems)
    with replaced(
        rounds,
        "sample",
        lambda *given, **threads: sample(given[0], given[1], given[2], 50, **threads),
    ):
        rounds_row("a first tilt from 50 outcomes", problems)
    other: list[Problem | BlockProblem] = [
        catalog.build("mixture", n=n, m=n, N=60_000, seed=1, fraction=0.3, measure=measure)
        for measure in ("conditional-mutual-information", "maximal-leakage", "parity-difference")
        for n in (3, 4)
    ]
    for words, asked in (("", problems), (", other measures", other)):
        if words:  # else it has its row
            rounds_row(f"as it is{words}", asked)
        with replaced(rounds._Rounds, "_nearer", lambda _, proof: proof):
            rounds_row(f"no draws about known labels{words}", asked)
        for name, attribute, value in (
            ("draws once", "_DRAWS", 1),
            ("draws until nothing moves", "_NEARER", 1.0),
            ("draws again from a hundred times", "_NEARER", 100.0),
            ("draws five times what is retained", "_DRAWN", 5),
        ):
            with replaced(rounds, attribute, value):
                rounds_row(f"{name}{words}", asked)
    for bits, words in ((0, "one shell"), (3, "eight shells")):
        with shells(bits):
            rounds_row(f"{words} to an octave, not two", problems)
    slack: list[Problem | BlockProblem] = [
        instance(f"mixture:{size},N=60000,seed={seed},fraction={share}")
        for size in (*sizes, "n=2,m=10")
        for seed in (1, 2)
        for share in (0.99, 0.999)
    ]
    rounds_row("budgets that hardly bind", slack)
    plain = Problem.with_budget
    with replaced(
        Problem,
        "with_budget",
        lambda problem, budget: (
            problem if 0.0 < budget < problem.budget else plain(problem, budget)
        ),
    ):
        rounds_row("a sample keeps the budget of all", slack)
    weighted: list[Problem | BlockProblem] = [
        BlockProblem.of(instance(f"weighted-mixture:{size},seed=1,{budget}"))
        for size in ("n=2,m=6,N=40000", "n=5,m=2,N=30000", "n=4,m=4,N=60000")
        for budget in ("fraction=0.5", "fraction=0.05", "budget=0")
    ]
    rounds_row("outcomes of very different masses", weighted)
    with replaced(rounds, "np", SimpleNamespace(**{**vars(np), "count_nonzero": lambda _: 0})):
        rounds_row("iterates again however many are drawn", weighted)
    generated: list[Problem | BlockProblem] = [lattice(30, 8, sigma) for sigma in (1.0, 0.1)]
    rounds_row("outcomes generated at every pass", generated)
    with replaced(rounds, "is_stored", lambda blocks: True):
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
        replaced(passes, "strip_sums", summed),
    ):
        for problem in problems:
            ds.solve(problem, "tilt", gap=1e-9, settings={"kernels": "compiled", "threads": 1})
    print(f"{name:40} {iterated / 1e6:14.2f} {passed / 1e6:10.2f} {single / 1e6:12.2f}", flush=True)


def work_rows() -> None:
    """Print when rounds pay, and what screening saves: problems near the size from which rounds are
    taken, and larger.
    """
    near = [
        instance(f"dirichlet:n={n},m={m},N={times * rounds.first_retained(n, m)},seed=1,{budget}")
        for n, m in ((2, 2), (3, 3), (4, 4), (2, 6))
        for times in (8, 32)
        for budget in ("fraction=0.5", "budget=0")
    ]
    print(
        f"\n{'work, in millions of outcomes':40} {'interior point':>14} {'in passes':>10} "
        f"{'one by one':>12}"
    )
    work_row("as it is", near)
    for times in (4, 64):
        with replaced(backend, "ROUNDS_FROM", times):
            work_row(f"rounds from {times} times the retained, not 16", near)
    large = [instance(f"mixture:n={k},m={k},N=500000,seed=1,fraction=0.3") for k in (2, 3)]
    large += [
        instance(f"paper-single:bins=1000000,{budget}") for budget in ("fraction=0.3", "budget=0")
    ]
    work_row("half a million outcomes and more", large)
    for factor in (8.0, 512.0, math.inf):
        with replaced(rounds, "SCREENED", factor):
            work_row(f"screened from {factor:g} times the margin", large)
    with replaced(rounds, "_SAMPLED", 1e-9):
        work_row("a sample tells margins of any few", large)
    thirty = [instance("paper-single:bins=30000000,budget=0.01")]
    work_row("thirty million outcomes", thirty)
    with replaced(rounds, "saving_passes", lambda blocks: 0):
        work_row("no more retained because there are many", thirty)


def statement_row(name: str, problems: list[BlockProblem]) -> None:
    """Print the table of this ablation."""
    found = [ds.solve(problem, "tilt", gap=1e-9) for problem in problems]
    certified = sum(solution.status is Status.CERTIFIED for solution in found)
    rules = [(solution.rule, solution.problem.n * solution.problem.m) for solution in found]
    classes = sum(rule.band > 0.0 for rule, _ in rules)
    short = sum(rule.band == 0.0 and rule.ties.size <= most for rule, most in rules)
    print(
        f"{name:44} {certified:3} of {len(found)} {short:9} {classes:12} "
        f"{len(found) - short - classes:8}",
        flush=True,
    )


def statement_rows() -> None:
    """Print how large problems are answered."""
    sizes = (
        "n=2,m=2,N=20000",
        "n=3,m=3,N=30000",
        "n=2,m=6,N=40000",
        "n=5,m=2,N=30000",
        "n=4,m=4,N=60000",
    )
    budgets = ("fraction=0.5", "fraction=0.05", "budget=0", "budget=1e-20")
    models = [
        f"{name}:{size},seed=1" for name in ("dirichlet", "weighted-mixture") for size in sizes
    ]
    texts = [
        *(f"{model},{budget}" for model in models for budget in budgets),
        *(
            f"paper-multi:sensors={sensors},{budget}"
            for sensors in (15, 17)
            for budget in ("fraction=0.5", "budget=0")
        ),
        *(f"paper-multi:sensors={sensors},fraction=0.01" for sensors in (15, 17)),
        *(
            f"paper-single:bins={bins},{budget}"
            for bins in (20_000, 100_000)
            for budget in ("fraction=0.5", "budget=0")
        ),
        *(f"paper-single:bins={bins},budget=1e-6" for bins in (20_000, 100_000)),
    ]
    problems = [BlockProblem.of(instance(text)) for text in texts]
    print(
        f"\n{'large problems':44} {'certified':>9} {'vertices':>9} {'tie classes':>12} "
        f"{'columns':>8}"
    )
    statement_row("as it is", problems)
    for piece in (
        "entering of other ties",
        "more than one tie from a tilt",
        "ties of the interior point",
    ):
        with replaced(Ablated, "without", piece), replaced(crossing, "_ActiveSet", Ablated):
            statement_row(f"without {piece}", problems)
    with replaced(rounds._Rounds, "_vertex", lambda _, proof, best: best):
        statement_row("no look for a vertex where bounds have met", problems)
    with replaced(statement, "_in_classes", lambda *_: None):
        statement_row("no tie classes", problems)
    with replaced(statement, "MOST_RETAINED", 0):
        statement_row("no columns for every outcome", problems)


def inside_row(name: str, problems: list[BlockProblem]) -> None:
    """Print the table of this ablation."""
    gaps = [ds.solve(problem, "tilt", gap=1e-9).relative_gap for problem in problems]
    print(
        f"{name:44} {sum(gap <= 1e-9 for gap in gaps):3} of {len(gaps)} "
        f"{sum(gaps) / len(gaps):11.2e}",
        flush=True,
    )


def inside_rows() -> None:
    """Print what a vertex gains by its distance to the budget, on lattices whose error probability
    is near 1e-5.
    """
    half = [lattice(sensors, 4, 0.1) for sensors in (34, 35, 36, 37)]
    problems = [
        each.with_budget(2.0 * share * each.budget)
        for each in half
        for share in (0.3, 0.4, 0.5, 0.6, 0.7)
    ]
    print(f"\n{'a vertex aims inside the budget by':44} {'certified':>9} {'mean gap':>11}")
    inside_row("4 ρ, as it is", problems)
    plain = Precision.of
    for count in (2.0, 3.0, 5.0, 8.0):

        def aimed(problem: Any, gap: float, count: float = count) -> Precision:
            made = plain(problem, gap)
            return replace(made, vertex=min(0.5, 2.0**-44 + count * made.rounding))

        with replaced(Precision, "of", staticmethod(aimed)):
            inside_row(f"{count:g} ρ", problems)
