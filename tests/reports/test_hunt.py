"""The hunt finds a wrong claim, shrinks it while it stays wrong, and writes what reproduces it."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from command import recorded, refused, run
from gated import gated
from numpy.random import default_rng
from refusals import raises_file_error

import discreet as ds
from discreet.backends.exchange.files import export_lines
from discreet.measures import measure_of
from discreet.problems import paper_single
from discreet.reports import Configuration
from discreet.reports.hunt import findings, search
from discreet.reports.hunt.candidates import Candidate, drawn, mutated
from discreet.reports.hunt.scripts import _FORMULAS, reproduced, script
from discreet.reports.hunt.search import Find, Progress, Quarry, find_in

MI = measure_of("mutual-information")
CANDIDATE = Candidate.of(paper_single(bins=6, budget=0.001))


def quarry(backend, gap=1e-4, **settings):
    configuration = Configuration(backend, settings)
    return Quarry(configuration, ds.Options(gap, 5.0, settings=settings))


@pytest.fixture
def liar(monkeypatch):
    """A backend that calls the Bayes rule optimal, whatever it leaks."""
    monkeypatch.setenv("DISCREET_BACKENDS", "fake-bayes=fake_backends:Bayes")
    return quarry("fake-bayes")


def test_a_candidate_is_its_problem():
    problem = paper_single(bins=6, budget=0.001)
    again = CANDIDATE.problem()
    assert np.allclose(again.p_xz, problem.p_xz, rtol=1e-15)
    assert np.allclose(again.loss, problem.loss, rtol=1e-15)
    assert again.budget == problem.budget
    assert CANDIDATE.outcomes([]).problem() is None


@pytest.mark.parametrize("seed", range(20))
def test_candidates_follow_from_their_seed_and_proposals_are_problems(seed):
    one, other = (drawn(MI, default_rng(seed)) for _ in range(2))
    assert np.array_equal(one.weights, other.weights)
    assert one.problem() is not None
    changed = mutated(one, default_rng(seed))
    assert changed.weights.shape[0] == one.weights.shape[0]


@pytest.mark.gate
def test_a_search_shrinks_a_wrong_claim_while_it_stays_wrong(liar):
    pulses = []
    one = search._Hunt(pulses.append, liar, Progress())
    one.batch()
    known = one.known
    assert known.batch == 1
    assert 0 < known.wrong <= known.claims <= known.tried <= 96
    assert pulses.count(None) >= known.tried
    best = known.best
    assert best.size[0] <= 13  # two private values, two guesses, three outcomes at most
    find = findings.examine(liar, best)
    assert find.wrong_by > search.MARGIN * liar.options.gap


def test_a_true_claim_and_a_slack_budget_are_no_finds():
    solution = ds.solve(CANDIDATE.problem(), "tilt", gap=1e-4)
    assert find_in(CANDIDATE, solution, quarry("slsqp")) is None
    slack = replace(CANDIDATE, amount=math.inf)
    assert find_in(slack, ds.solve(slack.problem(), "tilt"), quarry("slsqp")) is None


def test_a_hunt_goes_on_after_a_process_that_ended(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", "fake-crashes=fake_backends:Crashes")
    monkeypatch.setattr(search, "STARTUP_SECONDS", 60.0)
    ended = 0
    known = Progress(seconds=5.0, batch=3)
    steps = search.hunt(quarry("fake-crashes"), 60.0, known, lambda *_: None)

    class Child:
        """A process that ends twice, then reports one batch."""

        def __init__(self, function, request, threads):
            self.quarry, self.known = request

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def receive(self, seconds):
            nonlocal ended
            ended += 1
            if ended <= 2:
                raise EOFError
            return replace(self.known, batch=self.known.batch + 1)

    monkeypatch.setattr(search, "Child", Child)
    known = next(steps)
    assert (known.ended, known.batch) == (2, 6)
    assert known.seconds >= 5.0


def found(backend, candidate, gap=1e-4, **settings):
    """A find of a candidate, as if the backend's answer were the Bayes rule."""
    problem = candidate.problem()
    solution = ds.certify(problem, problem.bayes_estimator)
    reference = ds.solve(problem, "tilt")
    solution = replace(solution, claimed="optimal")
    return Find(candidate, solution, reference, 1.0, 0.0), quarry(backend, gap, **settings)


@pytest.mark.parametrize(
    "backend, settings, budget",
    gated(
        [
            ("highs", {}, 0.0),
            ("glop", {}, 0.0),
            ("pdlp", {}, 0.0),
            ("clarabel", {}, 0.001),
            ("moreau", {}, 0.001),
            ("pounce", {}, 0.001),
            ("conic", {}, 0.001),
            ("conic", {"solver": "scs"}, 0.001),
            ("conic", {"solver": "ecos"}, 0.001),
        ]
    ),
    ids=str,
)
def test_a_script_solves_the_same_program_without_discreet(backend, settings, budget, tmp_path):
    from discreet.backends.registry import availability

    if availability(backend).state != "available":
        pytest.skip(f"{backend} is not installed")
    if settings.get("solver") == "ecos":
        pytest.importorskip("ecos")
    find, asked = found(backend, replace(CANDIDATE, amount=budget), gap=1e-6, **settings)
    text = script(find, asked.configuration, asked.options, "title")
    assert "import discreet" not in text
    path = tmp_path / "reproduce.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert abs(reproduced(done.stdout)) < 1e-4, done.stdout  # these solvers are right about it


@pytest.mark.parametrize("name", _FORMULAS)
def test_formulas_of_scripts_are_the_measures(name):
    problem = paper_single(bins=6, fraction=0.5, measure=name)
    estimator = 0.7 * problem.bayes_estimator + 0.3 / problem.m
    u = estimator @ problem.p_xz.T
    names = {"u": u, "s": u.sum(axis=1, keepdims=True), "p": u.sum(axis=0), "np": np}
    assert float(eval(_FORMULAS[name], names)) == pytest.approx(
        problem.leakage(estimator), rel=1e-9
    )


def test_a_find_is_written_with_its_instance_bracket_and_report(liar, tmp_path):
    known = Progress(60.0, 100, 90, 3, 0, 2, CANDIDATE)
    find = findings.examine(liar, CANDIDATE)
    written = findings.write(tmp_path, liar, known, find)
    assert {path.name for path in written} == {
        *("hunt.json", "report.md", "instance.cbf", "instance.json")
    }
    problem = CANDIDATE.problem()
    lines = export_lines(problem, "cbf", find.reference.certificate)
    assert (tmp_path / "instance.cbf").read_text().splitlines() == list(lines)
    report = (tmp_path / "report.md").read_text()
    assert report.startswith("# fake-bayes claims 'optimal' and is wrong by ")
    assert "In 60 s discreet tried 100 problems" in report
    assert "There is no script by the solver's own interface." in report
    again = findings.resume(tmp_path, liar)
    assert again.counts == known.counts
    assert np.array_equal(again.best.weights, CANDIDATE.weights)
    for other in (quarry("fake-bayes", 1e-6), quarry("tilt")):
        with raises_file_error("choose another --out"):
            findings.resume(tmp_path, other)


def test_the_command_hunts_resumes_and_says_what_it_found(liar, tmp_path, monkeypatch):
    def batches(asked, seconds, start, watch):
        yield replace(start, tried=start.tried + 10, batch=1, best=CANDIDATE)

    monkeypatch.setattr(search, "hunt", batches)
    line = f"hunt fake-bayes --out {tmp_path / 'out'}"
    assert "relative excess over the budget" in run(line).stdout
    record = recorded(f"{line} --json")
    assert record["tried"] == 20
    assert record["find"]["outcomes"] == 6
    assert "give one backend" in refused(f"{line} --time 0")
    assert "choose another --out" in refused(f"{line} --gap 1e-6")
    assert "nobody" in refused(f"hunt nobody --out {tmp_path / 'other'}")
