"""The ranking: tasks solved, claims that are wrong, and seconds relative to the best, by class."""

import math

import pytest
from measured import measurement

from discreet import Status
from discreet.reports.statistics.ranking import ranking
from discreet.reports.statistics.trials import trials


def row(backend, size, seconds, status=Status.CERTIFIED, **fields):
    return measurement(
        **{
            "problem": f"p:{size}",
            "problem_hash": f"h{size}",
            "backend": backend,
            "status": status,
            "solve_seconds": seconds,
            "budget_nats": 0.1,
            "claimed": "optimal",
        }
        | fields
    )


ROWS = [
    row("fast", 1, 1.0),
    row("fast", 2, 1.0),
    row("fast", 3, 1.0, budget_nats=0.0),
    row("slow", 1, 2.0),
    row("slow", 2, 8.0),
    row("slow", 3, 1.0, Status.INACCURATE, budget_nats=0.0),
    row("other", 4, 3.0, measure="parity-difference"),
    row("other", 5, 3.0, Status.FAILED, claimed="", budget_nats=math.inf),
    row("other", 1, 3.0, Status.UNSUPPORTED, claimed=""),
]


def test_solved_tasks_wrong_claims_and_seconds_over_the_best_are_counted_by_class():
    first, second, third = ranking(trials(ROWS))
    assert (first.contestant, first.solved, first.tasks, first.wrong) == ("fast", 3, 3, 0)
    assert first.seconds_over_best == pytest.approx(1.0)
    assert (second.contestant, second.solved, second.tasks, second.wrong) == ("slow", 2, 3, 1)
    assert second.seconds_over_best == pytest.approx(4.0)
    assert dict(second.classes) == {
        "perfect": "0 of 1",
        "information": "2 of 2",
        "measures": None,
        "oblivious": None,
    }
    assert (third.contestant, third.solved, third.tasks, third.wrong) == ("other", 1, 2, 0)
    assert third.classes["measures"] == "1 of 1"
    assert third.classes["oblivious"] == "0 of 1"


def test_repeats_are_one_task_and_one_failure_fails_it():
    again = row("fast", 1, 1.0, Status.INACCURATE, repeat=1)
    (found,) = ranking(trials([row("fast", 1, 1.0), again]))
    assert (found.tasks, found.solved, found.wrong) == (1, 0, 1)
    assert math.isinf(found.seconds_over_best)
