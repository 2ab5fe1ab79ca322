"""Whatever a backend does to its process, the caller gets a Solution, in time, and no process stays
behind.
"""

import json
import math
import os
import signal
import subprocess
import sys

import fake_backends
import numpy as np
import pytest
from checkout import python
from command import environment
from gated import gated
from random_laws import random_joint
from refusals import raises_input_error
from solving import of_secrets
from waiting import is_alive, within

from discreet import BlockProblem, Options, Problem, Status, solve
from discreet.backends import backend_names, probe, solve_isolated
from discreet.backends.isolated import attempt_isolated
from discreet.backends.run import conclude
from discreet.problems import paper_continuous, paper_single, person_at_home

posix = pytest.mark.skipif(os.name != "posix", reason="process groups and signals are POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory limits and /proc are Linux")


@pytest.fixture(scope="module")
def attempted(model):
    """The answer of `fake-bayes`, made once for several tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_BACKENDS", fake_backends.TRIAL)
        return attempt_isolated(model, "fake-bayes", Options())


@pytest.fixture(autouse=True)
def trial(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", fake_backends.TRIAL)
    # This process hangs and never stops by itself.
    monkeypatch.setattr("discreet.backends.isolated.GRACE_SECONDS", 0.1)


@pytest.fixture(scope="module")
def model():
    return Problem.from_joint(random_joint(5, 2, 2, 6, spread=0.5), budget=math.inf, name="random")


def test_every_step_is_timed(model, ticking):
    taken = solve(model, "fake-bayes").timings
    assert taken.lower_seconds == taken.solve_seconds == 1.0
    assert taken.lift_seconds == taken.certify_seconds == 1.0


def test_a_good_answer_is_the_same_as_in_this_process(model, attempted):
    apart = conclude(model, attempted, Options())
    here = solve(model, "fake-bayes")
    assert apart.status is here.status is Status.CERTIFIED
    assert apart.problem is model
    assert np.array_equal(apart.estimator, here.estimator)
    assert apart.certificate == here.certificate
    assert apart.claimed == "optimal"
    assert apart.iterations == 1
    assert dict(apart.versions) == dict(here.versions)


def test_a_claim_is_not_believed(model):
    solution = solve_isolated(model.with_budget(model.bayes_leakage / 10), "fake-bayes")
    assert solution.status is Status.VIOLATED_PRIVACY
    assert solution.claimed == "optimal"
    assert solution.leakage <= solution.problem.budget


@pytest.mark.parametrize(
    "backend, said",
    [
        ("fake-crashes", "ended with exit code 3 while solving; it wrote last: about to give up"),
        pytest.param("fake-segfaults", "ended by signal SIGSEGV while solving", marks=posix),
        ("fake-wrong-shape", "the backend's estimator has shape [3, 3] where [2, 6] is due"),
    ],
)
def test_a_process_that_dies_or_answers_wrongly_gives_a_failed_solution_with_the_reason(
    model, backend, said
):
    assert_failed(solve_isolated(model, backend, time_limit=30), said)


def assert_failed(solution, said):
    assert solution.status is Status.FAILED
    assert said in solution.message
    assert solution.estimator is None
    assert solution.error_probability == math.inf
    json.dumps(solution.to_dict(), allow_nan=False)


def test_what_is_not_a_number_is_never_certified(model):
    solution = solve_isolated(model.with_budget(0.0), "fake-not-a-number")
    assert solution.status in (Status.INACCURATE, Status.VIOLATED_PRIVACY, Status.FAILED)
    assert (
        solution.certificate is None
        or 0.0 <= solution.certificate.lower <= solution.certificate.upper
    )


def test_output_of_the_backend_does_not_disturb_the_exchange(model):
    assert solve_isolated(model, "fake-noisy", time_limit=30).status is Status.CERTIFIED


@posix
def test_the_time_limit_kills_the_whole_group(model, tmp_path, monkeypatch, ticking):
    monkeypatch.setenv("FAKE_CHILD", str(tmp_path / "child"))
    tried = attempt_isolated(model, "fake-hangs", Options(time_limit=0.5))
    solution = conclude(model, tried, Options())
    assert solution.status is Status.TIMED_OUT
    assert "time limit of 0.5 s" in solution.message
    assert solution.timings.solve_seconds == 1.0
    for number in (tmp_path / "child").read_text().split():
        assert within(5, lambda number=number: not is_alive(int(number)))
    assert sys.platform != "linux" or (tried.peak_bytes or 0) > 1e7


@linux
def test_a_memory_limit_is_kept(model):
    solution = solve_isolated(model, "fake-hungry", memory_limit=100_000_000, time_limit=60)
    assert solution.status is Status.FAILED
    assert "Memory" in solution.message
    assert solve_isolated(model, "fake-bayes", memory_limit=100_000_000).status is Status.CERTIFIED


def test_threads_are_limited_on_request(model):
    assert solve_isolated(model, "fake-threads", threads=1).claimed == "1"


@pytest.mark.parametrize(
    "backend, asked, said",
    [
        ("nobody", {}, "'nobody'"),
        ("fake-bayes", {"settings": {"handle": 1}}, r"'handle'.*knob"),
        ("fake-refuses", {}, "'knob' is 'x'"),
        ("fake-bayes", {"settings": {"knob": object()}}, "'knob'"),
        ("fake-bayes", {"threads": 0}, "threads is 0"),
        ("fake-bayes", {"memory_limit": -1}, "memory limit is -1"),
    ],
)
def test_bad_input_raises_in_the_caller(model, backend, asked, said):
    with raises_input_error(said):
        solve_isolated(model, backend, **asked)


def test_probing_survives_an_import_that_ends_the_process(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", f"{fake_backends.TRIAL},{fake_backends.LETHAL}")
    lethal = probe("fake-lethal")
    assert lethal.state == "broken"
    assert "exit code 9" in lethal.reason
    assert lethal.capabilities is None
    good = probe("fake-bayes")
    assert good.state == "available"
    assert "numpy" in good.versions
    assert good.capabilities == fake_backends.Bayes().capabilities


def test_a_malformed_trial_variable_is_one_sentence(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", "fake-bayes")
    with raises_input_error(r"DISCREET_BACKENDS .*'fake-bayes'"):
        backend_names()


_CALLER = """
import math, sys
from discreet.backends.isolated import solve_isolated
from discreet.problems.problem import Problem
try:
    solve_isolated(Problem([[0.5, 0.5]], [[0.1, 0.2]], math.inf), "fake-hangs")
except KeyboardInterrupt:
    sys.exit(130)
"""


@posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_worker_ends_with_its_caller(tmp_path, how):
    note = tmp_path / "child"
    caller = subprocess.Popen(
        [sys.executable, "-c", _CALLER], env=environment(FAKE_CHILD=str(note))
    )
    try:
        assert within(30, lambda: note.exists() and len(note.read_text().split()) == 2)
        caller.send_signal(how)
        assert caller.wait(timeout=20) == (130 if how is signal.SIGINT else -signal.SIGKILL)
    finally:
        caller.kill()
    worker, child = map(int, note.read_text().split())
    try:
        assert within(10, lambda: not is_alive(worker) and not is_alive(child))
    finally:
        if is_alive(child):
            os.kill(child, signal.SIGKILL)


def test_the_traceback_of_a_backend_that_raises_arrives(model, attempted):
    """And nothing is repeated for its timings."""
    tried = attempt_isolated(model, "fake-raises", Options(), repeat_seconds=5.0)
    assert_failed(conclude(model, tried, Options()), "ZeroDivisionError: the pivot is zero")
    assert tried.answer is None
    assert tried.traceback.startswith("Traceback")
    assert "fake_backends.py" in tried.traceback
    assert tried.traceback.rstrip().endswith("ZeroDivisionError: the pivot is zero")
    assert attempted.traceback == ""


@linux
def test_memory_beyond_the_imports_is_measured(model, attempted):
    hungry = attempt_isolated(model, "fake-hungry", Options())
    assert attempted.solve_bytes < 50e6 < attempted.peak_bytes + 50e6
    assert 140e6 < hungry.solve_bytes < 240e6
    assert hungry.peak_bytes > hungry.solve_bytes


def test_short_attempts_are_repeated_for_their_timings_and_answered_with_the_first(
    model, attempted
):
    often = attempt_isolated(model, "fake-bayes", Options(), repeat_seconds=5.0)
    assert len(attempted.samples) == 1
    assert len(often.samples) == 7
    total = often.timings.lower_seconds + often.timings.solve_seconds + often.timings.lift_seconds
    assert total == sorted(often.samples[1:])[2]
    assert np.array_equal(attempted.answer.estimator, often.answer.estimator)


IMPORTS = """
import sys
from discreet import Options, problems
from discreet.backends.registry import load_backend, require_libraries

backend = load_backend(sys.argv[1])
require_libraries(backend)
problem = problems.paper_single(bins=4, fraction=0.5)
backend.lower(problem, Options())
lowered = backend.lower(problem, Options())
loaded = {*sys.modules}
backend.solve(lowered, Options())
print(*(name for name in sys.modules if name not in loaded and name.count(".") <= 1))
"""


@pytest.mark.parametrize("backend", gated(["slsqp", "trust-constr", "conic", "clarabel", "ipopt"]))
def test_seconds_of_solving_include_no_import(backend):
    """The process lowers a problem before it is ready."""
    assert python("-c", IMPORTS, backend).split() == []


@pytest.mark.parametrize(
    "problem",
    [
        BlockProblem.of(paper_single(budget=0.005)),
        paper_continuous(0.01),
        person_at_home(steps=2, budget=0.01),
        of_secrets(
            random_joint(0, 2, 2, 2, 6), (0, 0.001), (2, 0.01, "conditional-mutual-information")
        ),
    ],
    ids=["blocks", "densities", "steps", "two constraints"],
)
def test_every_kind_of_problem_is_solved_in_a_process_of_its_own(problem):
    apart = solve_isolated(problem)
    assert apart.status is Status.CERTIFIED
    here = solve(problem)
    assert apart.error_probability == here.error_probability
    assert len(apart.certificate.terms) == len(here.certificate.terms)
