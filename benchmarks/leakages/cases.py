"""The timed cases: each is run in a process of its own and returns rows. Only public names of
discreet are used.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from large.table import Row, Target

import discreet as ds

__all__ = ["CASES", "CURVES", "MEASURES", "TARGETS"]

MEASURES = (
    "chi-square",
    "total-variation",
    "sibson:alpha=2",
    "maximal-leakage",
    "min-entropy-leakage",
    "parity-difference",
    "max-lift",
    "local-differential-privacy",
    "pointwise-information",
)
"""Those without a parameter that depends on n, and Sibson's of order 2."""

CURVES = tuple(
    measure
    for measure in MEASURES
    if measure not in ("max-lift", "local-differential-privacy", "pointwise-information")
)
"""The measures that have a convex curve."""

GAP = 1e-9
_LONG = 6.0  # seconds from which a solve is not repeated


def sizes(quick: bool) -> list[Row]:
    """`tilt` under every measure and under mutual information, in turn: the faster of two turns of
    each counts.
    """
    outcomes = 2_000 if quick else 200_000
    rows = []
    ds.solve(ds.problems.mixture(N=2_000, fraction=0.5), "tilt")  # compiles
    for values in (2, 3) if quick else (2, 3, 4, 5, 6):
        size: dict[str, Any] = {"n": values, "m": values, "N": outcomes, "fraction": 0.5}
        model = ds.problems.mixture(**size)
        stakes = ds.measures.GLeakage(
            np.vstack([np.eye(values), np.full((1, values), 1.2 / values)])
        )
        asked = [model, *(_half(model, measure) for measure in (*MEASURES, stakes))]
        asked.append(ds.problems.mixture(**size, measure="conditional-mutual-information"))
        found = [_row(f"sizes-{_name(problem)}", problem, "tilt", limit=30.0) for problem in asked]
        for row, problem in zip(found, asked, strict=True):
            row.size = float(values)
            if row.seconds is not None and row.seconds < _LONG:
                again = _row(row.case, problem, "tilt", limit=30.0)
                row.seconds = min(row.seconds, again.seconds or np.inf)
                row.repeats = 2
        for row in found[1:]:
            row.reference = "mutual information"
            row.reference_seconds = found[0].seconds
        rows += found
    return rows


def _name(problem: ds.Problem) -> str:
    """Its measure in a word or two."""
    return (
        "g-leakage" if isinstance(problem.measure, ds.measures.GLeakage) else str(problem.measure)
    )


def parity(quick: bool) -> list[Row]:
    """Approximate demographic parity of people in two groups; the reference is one linear program
    through cvxpy.
    """
    people = 2_000 if quick else 100_000
    problem = ds.problems.mixture(N=people, budget=0.02, measure="parity-difference")
    # Compiles.
    _row("", ds.problems.mixture(N=1_000, budget=0.02, measure="parity-difference"), "tilt")
    rows = [_best("parity", problem, "tilt", repeats=7)]
    _through_cvxpy(ds.problems.mixture(N=100, budget=0.02, measure="parity-difference"))  # imports
    started = time.perf_counter()
    estimator = _through_cvxpy(problem)
    seconds = time.perf_counter() - started
    judged = ds.certify(problem, estimator)
    for row in rows:
        row.work = f"{people:,} people, {row.work}"
        row.reference = "HiGHS through cvxpy"
        row.reference_seconds = seconds
    other = Row(
        "parity", "HiGHS through cvxpy", people, seconds=seconds, status=judged.status.value
    )
    other.error_probability = judged.error_probability
    other.leakage_share = judged.certificate.own_leakage / 0.02
    other.note = "without duals from the solver, its gap is unknown"
    return [*rows, other]


def _through_cvxpy(problem: ds.Problem) -> np.ndarray:
    """The estimator [m, N] that HiGHS finds, written as a reader of cvxpy's tutorial would."""
    import cvxpy as cp

    estimator = cp.Variable((problem.m, problem.N), nonneg=True)
    given = problem.p_xz / problem.p_x[:, None]
    rates = estimator @ given.T  # [m, n]
    limits = [cp.sum(estimator, axis=0) == 1]
    limits += [
        rates[:, j] - rates[:, k] <= problem.budget
        for j in range(problem.n)
        for k in range(problem.n)
        if j != k
    ]
    cp.Problem(cp.Minimize(cp.sum(cp.multiply(problem.loss, estimator))), limits).solve(
        solver="HIGHS"
    )
    return np.asarray(estimator.value)


def streamed(quick: bool) -> list[Row]:
    """Parity of people whose posteriors are in a file, which is read a part at a time."""
    people = 20_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        p_xz = Path(folder) / "p_xz.npy"
        loss = Path(folder) / "loss.npy"
        _save_people(people, p_xz, loss)
        limit = ds.problems.LeakageBudget(0.02, ds.measures.measure_of("parity-difference"))
        problem = ds.files.map_problem(p_xz, limit, loss=loss)
        return [
            _best(
                "streamed",
                problem,
                "tilt",
                work=f"{people:,} people in mapped files, tilt",
                repeats=2,
            )
        ]


def _save_people(people: int, p_xz: Path, loss: Path) -> None:
    """Write both arrays of a mixture; they are not in memory afterwards."""
    model = ds.problems.mixture(N=people, budget=np.inf)
    np.save(p_xz, model.p_xz)
    np.save(loss, model.loss)


def conditional(quick: bool) -> list[Row]:
    """Information about X given Y, which equalized odds make 0, of people with two groups and two
    labels.
    """
    people = 2_000 if quick else 200_000
    asked: dict[str, Any] = {"fraction": 0.5, "measure": "conditional-mutual-information"}
    _row("", ds.problems.mixture(N=1_000, **asked), "tilt")  # compiles
    problem = ds.problems.mixture(N=people, **asked)
    return [
        _best(
            "conditional",
            problem,
            backend,
            work=f"{people:,} people, information given Y, {backend}",
        )
        for backend in ("tilt",)
    ]


def curves(quick: bool) -> list[Row]:
    """A curve of fifty budgets under every measure that has one, against the same budgets solved
    one by one.

    Few outcomes of a random joint with n = m = 3, and many of a mixture with n = m = 2. Processor
    time, curves and single solves in turn, of two turns the faster of each.
    """
    rows = []
    points = 6 if quick else 50
    stakes = ds.measures.GLeakage([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    few, many = (60, 2_000) if quick else (200, 50_000)
    for measure in ("mutual-information", *CURVES, stakes, "conditional-mutual-information"):
        asked: dict[str, Any] = {"fraction": 0.5, "measure": str(measure)}
        asked_of_both = [ds.problems.dirichlet(n=3, m=3, N=few, **asked)]
        if measure is not stakes:  # it is about three values
            asked_of_both.append(ds.problems.mixture(N=many, **asked))
        rows += [_curve(_name(problem), problem, points) for problem in asked_of_both]
    return rows


def _curve(measure: str, problem: ds.Problem, points: int) -> Row:
    """A curve and its budgets one by one."""
    row = Row(
        f"curves-{measure}",
        "",
        problem.N,
        reference="one by one",
        seconds=np.inf,
        reference_seconds=np.inf,
    )
    ds.frontier(problem, points=3)  # loads and compiles
    for _ in range(2):
        started = time.process_time()
        curve = ds.frontier(problem, points=points)
        between = time.process_time()
        for point in curve.rows:
            ds.solve(problem.with_budget(point.budget), "tilt")
        ended = time.process_time()
        row.seconds = min(row.seconds, between - started)
        row.reference_seconds = min(row.reference_seconds, ended - between)
    row.repeats = 2
    row.status = "certified" if curve.certified else "inaccurate"
    row.gap = max((point.upper - point.lower) / point.upper for point in curve.rows)
    row.size = float(len(curve.rows))
    row.work = f"{problem.N:,} outcomes, n = m = {problem.m}, {len(curve.rows)} budgets, tilt"
    row.note = f"within {100 * curve.width:.2g} %"
    return row


def secrets(quick: bool) -> list[Row]:
    """A census with two secrets, then three, each by a measure and budget of its own."""
    rows = []
    limits = [
        ds.problems.LeakageBudget(budget, ds.measures.measure_of(measure))
        for budget, measure in (
            (0.002, "mutual-information"),
            (0.02, "parity-difference"),
            (0.05, "maximal-leakage"),
        )
    ]
    for count in (2, 3):
        model = ds.problems.census(
            secrets=count, educations=3 if quick else 20, occupations=4 if quick else 20
        )
        problem = model.with_budget(limits[:count])
        for backend in ("tilt", "conic"):
            _row("", problem, backend)  # compiles
            rows.append(
                _best(
                    "secrets",
                    problem,
                    backend,
                    work=f"census of {problem.N:,} cells, {count} secrets, {backend}",
                )
            )
    return rows


# -- one solve
# --------------------------------------------------------------------------------------------------


def _row(case: str, problem: Any, backend: str, work: str = "", limit: float = 60.0) -> Row:
    """One solve with its judgement, which is part of the seconds."""
    row = Row(case, work or backend, problem.N)
    started = time.perf_counter()
    found = ds.solve(problem, backend, gap=GAP, time_limit=limit)
    seconds = time.perf_counter() - started
    row.status = found.status.value
    row.note = "" if found.certificate else found.message
    if found.certificate is not None:
        row.seconds = seconds
        row.repeats = 1
        row.gap = found.relative_gap
        row.error_probability = found.error_probability
        leaks = found.certificate.terms
        budgets = (term.budget.amount for term in problem.terms)
        shares = [
            each.leakage / budget
            for each, budget in zip(leaks, budgets, strict=True)
            if budget > 0.0
        ]
        row.leakage_share = max(shares, default=None)
    return row


def _best(case: str, problem: Any, backend: str, work: str = "", repeats: int = 3) -> Row:
    """The fastest of some solves."""
    turns = [_row(case, problem, backend, work)]
    while len(turns) < repeats and turns[-1].seconds is not None:
        turns.append(_row(case, problem, backend, work))
    best = min(turns, key=lambda row: row.seconds if row.seconds is not None else np.inf)
    best.repeats = len(turns)
    return best


def _half(model: ds.Problem, measure: Any) -> ds.Problem:
    """Return the model with half of the Bayes rule's leakage by a measure as its budget."""
    free = model.with_budget(np.inf, measure=measure)
    return free.with_budget(0.5 * free.bayes_leakage)


CASES: Mapping[str, Callable[[bool], list[Row]]] = {
    "sizes": sizes,
    "parity": parity,
    "streamed": streamed,
    "conditional": conditional,
    "secrets": secrets,
    "curves": curves,
}

TARGETS: Mapping[str, Target] = {
    "sizes": Target("≤ 5 × mutual information, gap ≤ 1e-9", multiple=5.0, gap=GAP),
    "parity": Target("≥ 50 × HiGHS through cvxpy, gap ≤ 1e-9", faster=50.0, gap=GAP),
    "streamed": Target("certified, gap ≤ 1e-9", gap=GAP),
    "conditional": Target("≤ 0.3 s, gap ≤ 1e-9", seconds=0.3, gap=GAP),
    "secrets": Target("certified, gap ≤ 1e-9", gap=GAP),
}
"""By the beginning of a case's name; those of `tilt` only."""
