"""The methods that are compared. Each takes what is known of the fitted people and says how it treats any others.

plain                  the guess of least expected loss, without a constraint
discreet               the convex program of `ds.design_rule`, solved by `tilt` and judged
program                the linear program of LinearPost, written out with one variable for each person and guess, by HiGHS
thresholds             fairlearn's ThresholdOptimizer: two groups' thresholds on one score; X is needed to predict
reduction              fairlearn's ExponentiatedGradient: a mixture of classifiers fitted to reweighted people

Sources: R. Xian, H. Zhao, A Unified Post-Processing Framework for Group Fairness in Classification, arXiv:2405.04025; M.
Hardt, E. Price, N. Srebro, Equality of Opportunity in Supervised Learning, NIPS 2016; A. Agarwal et al., A Reductions
Approach to Fair Classification, ICML 2018, arXiv:1803.02453.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, kron, vstack
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import discreet as ds
from discreet.people.design import designed

__all__ = ["METHODS", "Method", "Seen", "conditional", "model"]

_LIMIT_SECONDS = 300.0
_REPEATS = 3


@dataclass(frozen=True)
class Seen:
    """Some people as a method sees them.

    joint      p(y_k, x_j given what is seen) [people, truths, groups]
    features   [people, columns]; truth, group: codes [people]
    estimator  that was fitted to get the probabilities, not fitted, for methods that fit it themselves
    """

    joint: np.ndarray
    features: np.ndarray
    truth: np.ndarray
    group: np.ndarray
    estimator: Any

    @property
    def p_y(self) -> np.ndarray:
        """p(y_k given what is seen) [people, truths]."""
        return self.joint.sum(axis=2)

    def rows(self, constraint: str) -> np.ndarray:
        """What a constraint is about [people, rows]: groups, or pairs of truth and group."""
        return self.joint.reshape(len(self.joint), -1) if conditional(constraint) else self.joint.sum(axis=1)


Treatment = Callable[[Seen], np.ndarray]
"""The probabilities of the guesses [people, guesses]."""


@dataclass(frozen=True)
class Method:
    """fit(people, constraint, tolerance) → processor seconds of the fastest try, and the treatment.

    aware   whether X is needed to predict; None where both can be
    binary  whether it serves two guesses only
    splits  of a large table on which it is tried; None for all
    """

    name: str
    fit: Callable[[Seen, str, float], tuple[float, Treatment]]
    aware: bool | None = None
    binary: bool = False
    splits: int | None = None


def conditional(constraint: str) -> bool:
    """Whether groups are compared among those of the same truth."""
    return constraint == "equalized odds"


def model(people: Seen, constraint: str, budget: float) -> ds.Problem:
    """The fitted law as a problem: every person is an outcome of the same mass."""
    mass = 1.0 / len(people.joint)
    loss = mass * (1.0 - people.p_y).T
    if conditional(constraint):
        joint = mass * np.moveaxis(people.joint, 0, 2)
        given = ds.Constraint(joint, budget, "conditional-mutual-information")
        return ds.Problem(loss=loss, constraints=[given])
    return ds.Problem(mass * people.joint.sum(axis=1).T, loss, budget, measure="parity-difference")


def _timed(work: Callable[[], Any], repeats: int = _REPEATS) -> tuple[float, Any]:
    best, found = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def _plain(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    guesses = people.p_y.shape[1]
    return 0.0, lambda others: np.eye(guesses)[others.p_y.argmax(axis=1)]


def _discreet(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    def design() -> Any:
        return designed(model(people, constraint, tolerance), None, None, None, None, key="0" * 32)

    seconds, found = _timed(design)
    return seconds, lambda others: found.rule.predict_proba(others.p_y, others.rows(constraint))


def _program(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    """Rates of every guess in every group within tolerance/2 of a common one, which is a variable."""

    def solve() -> Any:
        number, guesses = people.p_y.shape
        rows = people.rows(constraint)
        groups = people.joint.shape[2]
        kinds = rows.shape[1] // groups
        shares = csr_array((rows / rows.sum(axis=0)).T)
        rates = kron(identity(guesses), shares)  # guess by guess; the variables too
        common = csr_array(kron(identity(guesses * kinds), np.ones((groups, 1))))
        half = np.full(rates.shape[0], 0.5 * tolerance)
        above, below = hstack([rates, -common]), hstack([-rates, common])
        one = hstack([kron(np.ones((1, guesses)), identity(number)), csr_array((number, guesses * kinds))])
        cost = np.append((1.0 - people.p_y).T.ravel() / number, np.zeros(guesses * kinds))
        found = linprog(cost, csr_array(vstack([above, below])), np.append(half, half), csr_array(one), np.ones(number),
                        bounds=(0.0, None), method="highs", options={"time_limit": _LIMIT_SECONDS})  # fmt: skip
        if found.x is None:
            raise RuntimeError(f"HiGHS says: {found.message}")
        upper, lower = np.split(found.ineqlin.marginals, 2)
        tilt = ((lower - upper).reshape(guesses, -1) / rows.sum(axis=0)) * number
        columns = np.clip(found.x[: number * guesses].reshape(guesses, number).T, 0.0, None)
        return tilt, columns / columns.sum(axis=1, keepdims=True)

    seconds, (tilt, own) = _timed(solve, 1)

    def treat(others: Seen) -> np.ndarray:
        if others is people:
            return own
        scores = 1.0 - others.p_y + others.rows(constraint) @ tilt.T
        return np.eye(len(tilt))[scores.argmin(axis=1)]

    return seconds, treat


class _Scores(ClassifierMixin, BaseEstimator):
    """Stands for a fitted classifier: its table is the probability of the second label."""

    def fit(self, X: Any, y: Any) -> _Scores:  # noqa: N803
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        scores = np.asarray(X)[:, 0]
        return np.column_stack([1.0 - scores, scores])


def _thresholds(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    from fairlearn.postprocessing import ThresholdOptimizer

    scores = _Scores().fit(None, None)
    kind = "equalized_odds" if conditional(constraint) else "demographic_parity"

    def fit() -> Any:
        optimizer = ThresholdOptimizer(estimator=scores, constraints=kind, prefit=True, predict_method="predict_proba",
                                       tol=tolerance or None)  # fmt: skip
        return optimizer.fit(people.p_y[:, 1:], people.truth, sensitive_features=people.group)

    seconds, found = _timed(fit)
    return seconds, lambda others: _probabilities(found._pmf_predict(others.p_y[:, 1:], sensitive_features=others.group))


def _reduction(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient

    kind = EqualizedOdds if conditional(constraint) else DemographicParity
    name = "sample_weight"
    if hasattr(people.estimator, "steps"):
        name = f"{people.estimator.steps[-1][0]}__sample_weight"
    reduction = ExponentiatedGradient(clone(people.estimator), kind(difference_bound=tolerance or 0.001),
                                      sample_weight_name=name)  # fmt: skip

    def fit() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reduction.fit(people.features, people.truth, sensitive_features=people.group)

    seconds, found = _timed(fit, 1)
    return seconds, lambda others: _probabilities(found._pmf_predict(others.features))


def _probabilities(columns: Any) -> np.ndarray:
    """Without the negative zeros of a mixture whose weights are rounded."""
    found = np.clip(np.asarray(columns, dtype=np.float64), 0.0, None)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


METHODS = (
    Method("plain", _plain),
    Method("discreet", _discreet),
    Method("program of LinearPost", _program),
    Method("ThresholdOptimizer", _thresholds, aware=True, binary=True),
    Method("ExponentiatedGradient", _reduction, aware=False, binary=True, splits=1),
)
