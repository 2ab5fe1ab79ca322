"""Tests of the asv suites themselves: they run, skip with a reason, and report failures; no time is
asserted.
"""

import importlib
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import command
import pytest
from checkout import BENCHMARKS, ROOT
from judging import restated

import discreet as ds
from discreet.backends.contract import Reach
from discreet.backends.tilt import rounds
from discreet.problems import BlockProblem, catalog
from discreet.reports.study.cells import cells_of
from discreet.reports.study.plan import parse_study

pytestmark = pytest.mark.gate

KINDS = ("dirichlet", "weighted", "sparse", "catalog", "edge")
QUESTIONS = ("bins", "sensors", "alphabets", "budget", "perfect", "measures", "frontier")
STUDY = """
name = "small"
[profiles.default]
gap = 1e-9
[[backends]]
name = "{backend}"
{settings}
[[instances]]
problem = "paper-single"
budgets = ["{budget}"]
parameters = {{ bins = [4, 64] }}
"""


@pytest.fixture
def load(monkeypatch):
    """Import a module of the benchmarks folder as asv does: with the folder as a package."""
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.mark.parametrize(
    "share, change, words",
    [
        (0.0, {}, []),
        (0.3, {}, []),
        (0.0, {"lower": 1.0 + 1e-7}, ["the lower bound is"]),
        (0.3, {"lower": 1.0 + 1e-7}, ["the lower bound is"]),
        (
            0.0,
            {"upper": 1.0 - 1e-7},
            ["the rule errs with probability", "the lower bound is above"],
        ),
        (
            0.3,
            {"upper": 1.0 - 1e-7},
            ["the rule errs with probability", "the lower bound is above"],
        ),
        (0.3, {"leakage_ceiling": 1.0 - 1e-7}, ["the rule leaks"]),
        (0.3, {"lower": 1.0 - 1e-7}, ["it is called certified"]),
    ],
)
def test_a_false_certificate_of_guesses_over_time_is_told(load, share, change, words):
    """Each number of a true certificate is multiplied by a factor that makes it false."""
    problem = ds.problems.person_at_home(3, fraction=share)
    solution = ds.solve(problem)
    judged = solution.verdict.certificate
    alter = restated if "leakage_ceiling" in change else replace
    changed = alter(
        judged, **{name: getattr(judged, name) * factor for name, factor in change.items()}
    )
    told = load("guesses_over_time").falsehoods(
        replace(solution, verdict=replace(solution.verdict, certificate=changed))
    )
    assert all(any(said.startswith(start) for said in told) for start in words)
    assert bool(told) == bool(words)


def classes(module):
    """The suites of a module, by the last word of their names."""
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and not name.startswith("_")
    }
    return {
        word: value
        for name, value in found.items()
        for word in ("Steps", "Answers", "Lowering", "Judging", "Memory")
        if name.endswith(word)
    }


def test_every_suite_file_has_a_test_here():
    files = {path.stem.removeprefix("bench_") for path in BENCHMARKS.glob("bench_*.py")}
    assert files == {*QUESTIONS, "start"}


def test_every_file_can_be_imported_at_a_commit_without_reports(load, monkeypatch):
    """asv imports all files before it measures anything, also at early commits, which had only the
    solvers.
    """
    for name in [name for name in sys.modules if name.startswith("discreet.reports")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "discreet.reports", None)
    names = [path.stem for path in BENCHMARKS.glob("*.py")]
    assert {load(name).__name__ for name in names} == {f"benchmarks.{name}" for name in names}
    assert sys.modules["discreet.reports"] is None


@pytest.mark.parametrize("question", QUESTIONS[:-1])
def test_a_suite_runs_at_its_smallest_size(question, load, tmp_path):
    for word, suite in classes(load(f"bench_{question}")).items():
        grid = suite()
        sizes = grid.params[1]
        assert len(set(map(str, sizes))) == len(sizes) >= (1 if word == "Memory" else 3)
        cell = ("tilt", sizes[0]) if word != "Answers" else (str(tmp_path), "tilt", sizes[0])
        grid.setup(*cell)
        for name in [name for name in dir(grid) if name.split("_")[0] in ("time", "peakmem")]:
            getattr(grid, name)(*cell)
        if word == "Answers":
            assert grid.track_gap_over_target(*cell) == 1.0
            assert 1.0 <= grid.track_leakage_over_budget(*cell) < 1.0 + 1e-6


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_suite_asks_exactly_the_backends_that_it_tries_on_some_instance(question, load):
    """Otherwise asv prints a row that is n/a for every instance."""
    refusal = load("reach").refusal
    curve = question == "frontier"
    for word, suite in classes(load(f"bench_{question}")).items():
        backends, sizes = suite.params
        problems = [suite().problem(size) for size in sizes]
        tried = [
            name
            for name in load("grid").BACKENDS
            if not all(refusal(name, problem, curve=curve) for problem in problems)
        ]
        assert backends == (["tilt"] if word == "Judging" else tried), suite.__name__


def test_a_curve_without_an_answer_is_a_failure_that_is_computed_once(load, tmp_path, monkeypatch):
    module = load("bench_frontier")
    curves = []

    def interrupted(*_, **given):
        curves.append(given["backend"])
        return SimpleNamespace(rows=[SimpleNamespace(status=ds.Status.TIMED_OUT, budget=0.5)])

    monkeypatch.setattr(module.ds, "frontier", interrupted)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="tilt: timed-out"):
            module.FrontierAnswers().setup(str(tmp_path), "tilt", 4)
    assert curves == ["tilt"]


def test_the_frontier_is_as_narrow_as_asked(load, tmp_path, monkeypatch):
    module = load("bench_frontier")
    suite = module.Frontier()
    suite.setup("tilt", 4)
    suite.time_curve("tilt", 4)
    with pytest.raises(NotImplementedError, match="highs "):
        suite.setup("highs", 4)
    monkeypatch.chdir(tmp_path)
    answers = module.FrontierAnswers()
    cell = (answers.setup_cache(), "tilt", 4)
    answers.setup(*cell)
    assert answers.track_width_over_target(*cell) == answers.track_gap_over_target(*cell) == 1.0
    assert answers.track_points(*cell) > 2
    assert answers.track_points_over_budget(*cell) == 0
    monkeypatch.setattr(module.ds, "frontier", None)  # the second time it is read
    module.FrontierAnswers().setup(*cell)


def test_the_start_is_measured_in_a_fresh_interpreter(load, monkeypatch):
    module = load("bench_start")
    module.Start().time_import()
    asked = []
    monkeypatch.setattr(module, "_run", lambda *words: asked.extend(words))
    module.Start().time_solve_four_bins()
    assert asked[:2] == ["-m", "discreet"]
    assert command.run(*asked[2:]).exit_code == 0
    if sys.platform == "linux":
        memory = module.StartMemory()
        assert 5e6 < memory.track_numpy() < memory.track_import() < 2e9


def test_settings_and_curves_have_a_reach_of_their_own(load, monkeypatch):
    slow = (Reach("slow", 32, settings={"solver": "scs"}), Reach("long", 8, curves=True))
    able = replace(ds.backends.load_backend("conic").capabilities, reach=slow)
    monkeypatch.setattr(type(ds.backends.load_backend("conic")), "capabilities", able)
    problem = ds.problems.paper_single(bins=64, budget=0.01)
    assert load("reach").refusal("conic", problem) == ""
    assert (
        load("reach").refusal("conic", problem, curve=True)
        == "conic is not tried above 8 outcomes: long"
    )
    for settings, reason in (
        ("", ""),
        ('settings = { solver = "scs" }', "conic:solver=scs is not tried above 32 outcomes: slow"),
    ):
        text = STUDY.format(backend="conic", settings=settings, budget="budget=0.01")
        assert {
            cell.instance.problem.N: cell.skipped for cell in cells_of(parse_study(text, "a")).cells
        } == {
            4: "",
            64: reason,
        }


def test_the_declared_reach_names_a_size_and_existing_settings():
    for name, able in ds.backends.capabilities().items():
        for reach in able.reach:
            assert min(reach.outcomes, reach.unknowns) < float("inf"), name
            assert set(reach.settings) <= set(able.settings), name
            assert reach.outcomes == float("inf") or reach.outcomes <= able.largest_outcomes, name


def test_random_problems_are_counted(load, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["random_problems.py", "--count", "2"])
    load("random_problems").main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-len(KINDS) :]]
    assert [row[:3] for row in rows] == [
        [kind, str(2 * (9 if kind == "catalog" else 1)), "0"] for kind in KINDS
    ]


def test_edge_problems_follow_from_their_seed_and_reach_the_edge(load):
    edge_problem = load("random_problems").edge_problem
    problems = [edge_problem(seed) for seed in range(100)]
    assert (problems[7].p_xz == edge_problem(7).p_xz).all()
    assert all(max(p.n, p.m) <= 6 and p.N <= 60 for p in problems)
    assert min(p.p_x[p.p_x > 0.0].min() for p in problems) < 1e-100
    assert sum(p.budget == 0.0 for p in problems) >= 5
    shares = [p.budget / p.bayes_leakage for p in problems if p.budget > 0.0]
    assert min(shares) < 1e-11
    assert max(shares) > 0.1


_SMALL = {"n": 2, "m": 3, "sensors": 3}  # at most, in the small version of the ablation
_FEW = 30
_MANY = 8_500  # outcomes: instead of fewer than 5,000, and of more; the latter are solved in rounds


def smaller(name, build=catalog.build, **parameters):
    """A catalog problem of the same name and budget with few values, few guesses and
    few outcomes.
    """
    for size, most in _SMALL.items():
        if size in parameters:
            parameters[size] = min(parameters[size], most)
    for size in parameters.keys() & {"N", "bins"}:
        parameters[size] = _FEW if parameters[size] < 5_000 else _MANY
    return build(name, **parameters)


def test_every_table_of_the_ablation_runs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    tables = [
        importlib.import_module(f"ablations.{name}") for name in ("small", "large", "curve", "edge")
    ]
    small, large, _, edge = tables
    monkeypatch.setattr(catalog, "build", smaller)
    monkeypatch.setattr(ds.problems, "dirichlet", partial(smaller, "dirichlet"))
    monkeypatch.setattr(
        large, "lattice", lambda *_: BlockProblem.of(smaller("mixture", N=_MANY, fraction=0.5))
    )
    monkeypatch.setattr(rounds, "_DRAWN_FROM", _MANY)
    monkeypatch.setattr(edge, "_HARD", edge._HARD[:2])
    monkeypatch.setattr(small, "INSTANCES", small.INSTANCES[::8])
    rows = []

    def shortened(row, name, *given):
        rows.append(name)
        row(name, *([each[0], each[-1]] if isinstance(each, list) else each for each in given))

    for module in tables:
        for name in [name for name in vars(module) if name.endswith("_row")]:
            monkeypatch.setattr(module, name, partial(shortened, getattr(module, name)))
    few = {"curve_rows": {"turns": 1}, "edge_rows": {"count": 0}}
    for module in tables:
        for name in module.__all__:
            getattr(module, name)(**few.get(name, {}))
    assert rows.count("as it is") == 6
    assert len(set(rows)) > 100
    printed = capsys.readouterr().out
    assert [name for name in rows if f"\n{name} " not in printed] == []
    few_iterations, more_iterations = (
        int(printed.split(f"\n{name} ")[1].split()[1])
        for name in ("from the start of all", "not from the start")
    )
    assert few_iterations < more_iterations
