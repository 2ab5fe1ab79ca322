"""The solvers with their settings: each reads a file by itself and says what it found.

Tolerances are about the tightest that each takes: the instances are made to be hard at that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hard.cbf import modelled, read

__all__ = ["SOLVERS", "Found", "Solver"]


@dataclass(frozen=True)
class Found:
    """What a solver says: its status, whether that claims an optimum, objective and variables, if
    there are any.
    """

    status: str
    claims: bool
    objective: float | None = None
    variables: Any = None


@dataclass(frozen=True)
class Solver:
    """Which files it reads, cones that it lacks, its settings in words, and what runs it."""

    ending: str
    solve: Callable[[Path], Found]
    settings: str
    lacks: tuple[str, ...] = ()


def _highs(method: str) -> Callable[[Path], Found]:
    def solve(path: Path) -> Found:
        import highspy

        solver = highspy.Highs()
        for name in (
            "primal_feasibility",
            "dual_feasibility",
            "primal_residual",
            "dual_residual",
            "pdlp_optimality",
        ):
            solver.setOptionValue(f"{name}_tolerance", 1e-10)
        for name, value in {
            "ipm_optimality_tolerance": 1e-12,
            "small_matrix_value": 1e-12,
            "output_flag": False,
        }.items():
            solver.setOptionValue(name, value)
        solver.setOptionValue("solver", method)
        solver.setOptionValue("threads", 1)
        if solver.readModel(str(path)) == highspy.HighsStatus.kError:
            return Found("the file is refused", False)
        solver.run()
        status = solver.getModelStatus()
        answer = solver.getSolution()
        optimal = status == highspy.HighsModelStatus.kOptimal
        said = solver.modelStatusToString(status)
        if not answer.value_valid:
            return Found(said, optimal)
        return Found(said, optimal, solver.getObjectiveValue(), np.asarray(answer.col_value))

    return solve


def _clarabel(path: Path) -> Found:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 500
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    answer = clarabel.load_from_file(str(path), settings).solve()
    said = str(answer.status)
    return Found(said, said in ("Solved", "AlmostSolved"), answer.obj_val, np.asarray(answer.x))


def _through_cvxpy(name: str, options: Mapping[str, Any]) -> Callable[[Path], Found]:
    def solve(path: Path) -> Found:
        import cvxpy as cp

        variables, model = modelled(read(path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.solve(solver=name, **options)
            except cp.SolverError as error:
                return Found(str(error).partition(".")[0], False)
        claims = model.status in ("optimal", "optimal_inaccurate")
        return Found(
            model.status,
            claims,
            model.value if variables.value is not None else None,
            variables.value,
        )

    return solve


SOLVERS: Mapping[str, Solver] = {
    "HiGHS simplex": Solver(".mps", _highs("simplex"), "tolerances 1e-10"),
    "HiGHS IPX": Solver(
        ".mps", _highs("ipx"), "tolerances 1e-10, of the gap 1e-12, with crossover"
    ),
    "HiGHS PDLP": Solver(".mps", _highs("pdlp"), "tolerances 1e-10"),
    "Clarabel": Solver(".json", _clarabel, "tolerances 1e-12, at most 500 iterations"),
    "SCS": Solver(
        ".cbf",
        _through_cvxpy("SCS", {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000}),
        "tolerances 1e-9, at most 200,000 iterations",
    ),
    "ECOS": Solver(
        ".cbf",
        _through_cvxpy(
            "ECOS", {"abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10, "max_iters": 500}
        ),
        "tolerances 1e-10, at most 500 iterations",
        lacks=("POW",),
    ),
}
"""Every solver by its name in the tables."""
