"""The exponential-cone program: it states leakage and error probability; tolerances reach the
solver, duals are prices.
"""

import importlib.util
import math

import pytest

from discreet import Options, Status, solve
from discreet.backends.conic import Conic
from discreet.errors import Absent, Interrupted
from discreet.problems import catalog

SOLVERS = [name for name in ("clarabel", "scs", "ecos") if importlib.util.find_spec(name)]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "budget", [{"budget": 0.0}, {"budget": 0.001}, {"budget": 0.01}, {"budget": math.inf}], ids=str
)
def test_every_solver_ends_on_the_smallest_paper_instance(solver, budget):
    solution = solve(
        catalog.build("paper-single", bins=4, **budget), "conic", settings={"solver": solver}
    )
    assert solution.relative_gap <= 1e-7, solution
    assert solution.claimed == "optimal"


@pytest.mark.parametrize(
    "given_, expected",
    [({"gap": 1e-6}, 1e-7), ({"gap": 1e-15}, 1e-12), ({"tolerance": "1e-5"}, 1e-5)],
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_tolerance_reaches_the_solver(solver, given_, expected, monkeypatch):
    seen = spy(solver, monkeypatch)
    gap = given_.get("gap", 1e-9)
    chosen = {"solver": solver} | {k: v for k, v in given_.items() if k != "gap"}
    solve(
        catalog.build("paper-single", bins=4, budget=0.01),
        "conic",
        gap=gap,
        max_iterations=40,
        settings=chosen,
    )
    tolerances = {
        "clarabel": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        "scs": ("eps_abs", "eps_rel"),
        "ecos": ("abstol", "reltol", "feastol"),
    }[solver]
    assert [seen[name] for name in tolerances] == pytest.approx([expected] * len(tolerances))
    assert seen["max_iter" if solver == "clarabel" else "max_iters"] == 40


def spy(solver, monkeypatch):
    """What the solver's own entry point is given, filled in when it is called."""
    seen = {}
    if solver == "clarabel":
        import clarabel

        original = clarabel.DefaultSolver

        def construct(*arguments):
            chosen = arguments[-1]
            names = ("tol_gap_abs", "tol_gap_rel", "tol_feas", "max_iter", "time_limit")
            seen.update({name: getattr(chosen, name) for name in names})
            return original(*arguments)

        monkeypatch.setattr(clarabel, "DefaultSolver", construct)
        return seen
    module = importlib.import_module(solver)
    run = module.solve

    def call(*arguments, **keywords):
        seen.update(keywords)
        return run(*arguments, **keywords)

    monkeypatch.setattr(module, "solve", call)
    return seen


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "ecos"])
def test_the_time_limit_interrupts(solver):
    problem = catalog.build("paper-single", bins=2000, budget=1e-4)
    options = Options(gap=1e-12, time_limit=2e-3, settings={"solver": solver})
    backend = Conic()
    with pytest.raises(Interrupted, match=r"time limit of 0\.002 s"):
        backend.solve(backend.lower(problem, options), options)


def test_an_inaccurate_end_is_reported_without_a_warning():
    """Warnings are errors here: a leak of cvxpy's "Solution may be inaccurate" would fail this
    test.
    """
    solution = solve(catalog.build("paper-multi", sensors=14, fraction=0.5), "conic")
    assert solution.claimed == "optimal_inaccurate"
    assert solution.status in {Status.INACCURATE, Status.VIOLATED_PRIVACY}


def test_a_solver_cvxpy_does_not_find_is_absent(monkeypatch):
    import cvxpy

    monkeypatch.setattr(cvxpy, "installed_solvers", lambda: ["SCS"])
    with pytest.raises(Absent, match="finds no solver mosek"):
        Conic().lower(catalog.build("paper-single"), Options(settings={"solver": "mosek"}))
    assert (
        solve(catalog.build("paper-single"), "conic", settings={"solver": "mosek"}).status
        is Status.ABSENT
    )
