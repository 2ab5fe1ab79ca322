"""The campaign against the certificates: problems are pure in (seed, index), false statements are
named, runs go on.
"""

import csv
import json
import shutil
import signal
from dataclasses import replace

import pytest
from checkout import ROOT, text_of

import discreet as ds

pytestmark = pytest.mark.gate


KINDS = (
    "edge",
    "small",
    "sparse",
    "dirichlet",
    "catalog",
    "weighted",
    "large",
    "blocks",
    "measures",
    "secrets",
)
KINDS += ("gains", "underflow", "given", "rare", "rare-secrets", "rare-blocks", "chains")


@pytest.mark.parametrize("kind", KINDS)
def test_a_problem_follows_from_seed_and_index(load, kind):
    drawn = load("campaigns.instances").drawn
    (words, problem) = drawn(kind, 1, 3)
    again = drawn(kind, 1, 3)
    other = drawn(kind, 1, 4)
    assert words == again[0] != other[0]
    if kind not in ("gains", "given"):  # which are in arrays or in blocks
        assert isinstance(problem, ds.BlockProblem) == kind.endswith("blocks")
    if not isinstance(problem, (ds.BlockProblem, ds.CausalProblem)):
        assert problem.p_xz.tobytes() == again[1].p_xz.tobytes()
        assert problem.terms == again[1].terms
    assert set(load("campaigns.instances").KINDS) == set(KINDS)


@pytest.mark.parametrize(
    "budget, change, said",
    [
        (0.01, {}, []),
        (0.0, {}, []),
        (0.01, {"upper": -1e-17}, ["the upper bound is", "the upper bound is"]),
        (0.01, {"lower": 1e-12}, ["the lower bound is"]),
        (0.0, {"lower": 1e-12}, ["the lower bound is"]),
        (0.0, {"upper": -1e-12}, ["the upper bound is"]),
        (0.0, {"private_within": 1e-30}, ["a guess changes a probability by"]),
    ],
)
def test_what_is_false_is_said(load, budget, change, said):
    """By whatever little; changes of bounds are added to what is proven of them."""
    solution = ds.solve(ds.problems.paper_single(bins=16, budget=budget), "tilt")
    found = ds.verify(solution.problem, solution)
    proven = {"upper": found.lower_bound, "lower": found.error[1], "private_within": 0.0}
    changed = {name: proven[name] + value for name, value in change.items()}
    false = replace(
        solution,
        verdict=replace(
            solution.verdict, certificate=replace(solution.verdict.certificate, **changed)
        ),
    )
    able, faults, unconfirmed = load("campaigns.batches").checked(false, 1e-9)
    assert able
    assert not unconfirmed
    assert len(faults) == len(said)
    assert all(words in fault for words, fault in zip(said, faults, strict=True))


def test_an_estimator_that_leaks_is_false(load):
    problem = ds.problems.paper_single(bins=16, budget=0.01)
    solution = ds.solve(problem, "tilt")
    leaking = replace(solution, verdict=replace(solution.verdict, answer=problem.bayes_estimator))
    _, faults, _ = load("campaigns.batches").checked(leaking, 1e-9)
    assert ["leaks" in fault for fault in faults] == [True]


def test_a_backend_that_serves_no_positive_budget_is_asked_for_none(load):
    batches = load("campaigns.batches")
    rows = batches.done(batches.Batch("highs", "edge", 0, 4), batches.Asked(time_limit=20.0))
    assert rows
    assert {row.budget for row in rows} == {0.0}
    assert not any(row.false for row in rows)


def test_rules_of_blocks_are_checked_too(load):
    batches = load("campaigns.batches")
    rows = batches.done(batches.Batch("tilt", "blocks", 0, 3), batches.Asked(time_limit=60.0))
    assert [row.checked and not row.false for row in rows] == [True] * 3


def test_guesses_that_follow_one_another_are_checked_too(load):
    batches = load("campaigns.batches")
    batch = batches.Batch("sequence-form", "chains", 0, 6)
    rows = batches.done(batch, batches.Asked(time_limit=60.0))
    assert [row.checked and not row.false for row in rows] == [True] * 6
    assert [row.problem for row in rows] == [f"guesses_over_time.drawn(1, {k})" for k in range(6)]
    problem = ds.problems.person_at_home(2, budget=0.1)
    solution = ds.solve(problem)
    upper = 0.5 * solution.certificate.lower
    certificate = replace(solution.certificate, lower=0.4 * upper, upper=upper)
    false = replace(solution, verdict=replace(solution.verdict, certificate=certificate))
    assert "above the upper bound" in batches.checked(false, 1e-9)[1][0]


def test_given_answers_whose_products_underflow_are_checked(load):
    """Estimators, rules, causal rules and ceilings; a certificate that calls a leak private is said
    to be false.
    """
    batches = load("campaigns.batches")
    underflow = load("campaigns.underflow")
    rows = batches.done(batches.Batch("tilt", "given", 0, 8), batches.Asked())
    assert [row.checked and not row.false for row in rows] == [True] * 8
    problem = ds.Problem([[0.5, 1e-200], [0.5, 0.0]], [[0.1, 0.0], [0.2, 0.0]], 0.0)
    case = underflow.Given(
        problem, ds.OutcomeRule([[0.0, 0.0]] * 2, [1], [[1.0], [1e-200]], 0.5, [1.0, 0.0])
    )
    solution = ds.certify(case.problem, case.answer)
    assert underflow.faults(case, solution) == []
    false = replace(solution.verdict.certificate, own_private_within=1e-25)
    (said,) = underflow.faults(
        case, replace(solution, verdict=replace(solution.verdict, certificate=false))
    )
    assert "a guess changes a probability by 1.0" in said


def test_rows_of_a_backend_outlast_changes_of_others(load, monkeypatch, tmp_path):
    """They are kept by the code that they come from; other backends and the command line are no
    part of it.
    """
    main = load("campaigns.main")
    names = ("tilt", "blahut-arimoto", "highs", "ipopt")
    for folder in ("discreet", "benchmarks"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__", "results"),
        )
    monkeypatch.setattr(main, "_ROOT", tmp_path)

    def changed_by(path):
        before = {name: main._code(name) for name in names}
        with (tmp_path / path).open("a") as stream:
            stream.write("\n# changed\n")
        return {name for name in names if main._code(name) != before[name]}

    assert changed_by("discreet/backends/tilt/newton.py") == {"tilt"}
    assert changed_by("discreet/backends/peers/ipopt.py") == {"ipopt"}
    assert changed_by("discreet/cli/app.py") == set()
    for path in (
        "discreet/judge/privacy.py",
        "discreet/backends/run.py",
        "discreet/verification/measures.py",
    ):
        assert changed_by(path) == set(names)
    assert changed_by("benchmarks/campaigns/instances.py") == set(names)


@pytest.fixture
def run(load, monkeypatch, capsys):
    """The command line in this process: exit code, output, complaints. Its batches have processes
    of their own.
    """
    for library in ("OPENBLAS", "OMP", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "1")  # the command sets them, too
    before = signal.getsignal(signal.SIGTERM)
    yield lambda line: (load("campaigns.main").main(line.split()), *capsys.readouterr())
    signal.signal(signal.SIGTERM, before)


def test_a_campaign_goes_on_where_it_was(run, tmp_path):
    command = (
        "--tilt 12 --backends tilt --kinds edge,blocks --jobs 1 --time-limit 60 "
        f"--scratch {tmp_path / 'rows'} --out {tmp_path / 'found'}"
    )
    status, said, complaints = run(command)
    assert status == 0, complaints
    assert "4 problems solved, 4 certificates checked, 0 false" in said
    page = text_of(tmp_path / "found.md")
    assert "**4 problems, 4 certificates checked by exact arithmetic, 0 false.**" in page
    assert "not done yet" not in page
    assert "| `tilt` | 60 |" in page
    assert str(ROOT) not in page
    lines = {
        line["kind"]: line for line in csv.DictReader(text_of(tmp_path / "found.csv").splitlines())
    }
    assert lines["edge"]["problems"] == "4"
    (stored,) = (tmp_path / "rows").rglob("tilt-edge-*.json")
    record = json.loads(text_of(stored))
    record["rows"][0]["false"] = ["a sentence"]
    stored.write_text(json.dumps(record))
    assert run(f"{command} --minutes 0")[0] == 1
    assert "a sentence" in text_of(tmp_path / "found.md")
    stored.unlink()
    assert run(f"{command} --minutes 0")[0] == 0
    assert "1 batches that were asked for are not done yet" in text_of(tmp_path / "found.md")
