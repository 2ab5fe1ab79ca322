"""`auto` returns the Bayes rule when the budget is slack, asks in its stated order otherwise, and
never hides a refusal.
"""

from dataclasses import dataclass, field

import numpy as np
from fake_backends import Bayes

import discreet as ds
from discreet.backends import Answer, Kind, Raw, load_backend, run
from discreet.backends.auto import Auto
from discreet.errors import BackendError

PREFERENCE = tuple(
    name for name in Auto.preference if Kind.ARRAYS in load_backend(name).capabilities.kinds
)
PROBLEM = ds.problems.paper_single(budget=0.01)
BEST = ds.solve(PROBLEM, "tilt")


@dataclass
class Stub(Bayes):
    """A backend that answers with a blend of the optimum and the best constant, claims what it is
    told, or refuses.
    """

    name: str
    asked: list[str] = field(kw_only=True)
    claim: str = "optimal"
    share: float = 0.0
    refusal: str = ""

    def lower(self, problem, options):
        self.asked.append(self.name)
        if self.refusal:
            raise BackendError(self.refusal)
        return problem

    def solve(self, lowered, options):
        return Raw(self.claim, lowered, 7)

    def lift(self, raw):
        best = np.asarray(BEST.estimator)
        constant = np.zeros_like(best)
        constant[0] = 1.0
        return Answer(
            (1.0 - self.share) * best + self.share * constant, BEST.tilt, BEST.multipliers
        )


def contest(monkeypatch, **stubs):
    """Replace the backends that `auto` asks; those not named refuse. Returns the list of who was
    asked, as it grows.
    """
    asked = []
    own = {
        name: Stub(
            name, asked=asked, **stubs.get(name.replace("-", "_"), {"refusal": f"{name} is out"})
        )
        for name in PREFERENCE
    }
    for module in ("registry", "run"):
        target = f"discreet.backends.{module}.load_backend"
        monkeypatch.setattr(target, lambda name: own[name] if name in own else load_backend(name))
    return asked


def test_the_first_that_calls_its_answer_optimal_is_taken(monkeypatch):
    asked = contest(monkeypatch, tilt={}, conic={})
    solution = ds.solve(PROBLEM, "auto")
    assert asked == ["tilt"]
    assert solution.status is ds.Status.CERTIFIED
    assert solution.claimed == "tilt: optimal"
    assert solution.iterations == 7


def test_backends_that_refuse_are_passed_over_in_the_stated_order(monkeypatch):
    asked = contest(monkeypatch, conic={})
    assert ds.solve(PROBLEM, "auto").claimed == "conic: optimal"
    assert asked == list(PREFERENCE[: PREFERENCE.index("conic") + 1])


def test_answers_that_are_not_called_optimal_are_compared_by_the_judge(monkeypatch):
    asked = contest(
        monkeypatch,
        tilt={"claim": "stalled", "share": 0.5},
        blahut_arimoto={"claim": "stalled", "share": 0.01},
        conic={"claim": "optimal", "share": 0.2},
    )
    solution = ds.solve(PROBLEM, "auto")
    assert asked == list(PREFERENCE)
    assert solution.claimed == "blahut-arimoto: stalled"
    assert solution.status is ds.Status.INACCURATE


def test_when_no_backend_can_every_reason_is_given(monkeypatch):
    contest(monkeypatch)
    solution = ds.solve(PROBLEM, "auto")
    assert solution.status is ds.Status.FAILED
    assert all(f"{name} is out" in solution.message for name in PREFERENCE)


def test_an_attempt_is_judged_once_and_again_only_with_better_duals(monkeypatch):
    asked = []
    real = run.judge.certify

    def counted(problem, answer, *rest, **named):
        asked.append(answer)
        return real(problem, answer, *rest, **named)

    monkeypatch.setattr(run.judge, "certify", counted)
    contest(monkeypatch, tilt={"share": 0.5}, conic={})
    assert ds.solve(PROBLEM).claimed == "conic: optimal"
    poor, *again, good = asked
    assert again
    assert all(each is poor for each in again)
    assert good is not poor
