"""The methods that are compared. Each takes what is known of the fitted people and says how it
treats any others.

plain                  the guess of least expected loss, without a constraint
discreet               `ds.design_rule`: its convex program, solved by `tilt` and judged as the rule
                       that is saved
program                the linear program of LinearPost, written out with one variable for each
                       person and guess, by HiGHS
published              the same as its authors publish it: perturbed, stated in cvxpy, with HiGHS in
                       the place of Gurobi
thresholds             fairlearn's ThresholdOptimizer: two groups' thresholds on one score; X is
                       needed to predict
reduction              fairlearn's ExponentiatedGradient: a mixture of classifiers fitted to
                       reweighted people

Sources: R. Xian, H. Zhao, A Unified Post-Processing Framework for Group Fairness in Classification,
arXiv:2405.04025; M. Hardt, E. Price, N. Srebro, Equality of Opportunity in Supervised Learning,
NIPS 2016; A. Agarwal et al., A Reductions Approach to Fair Classification, ICML 2018,
arXiv:1803.02453.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, kron, vstack
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import discreet as ds

__all__ = ["METHODS", "Method", "Seen", "conditional", "model"]

_LIMIT_SECONDS = 300.0
_CVXPY_SECONDS = 60.0
_REPEATS = 3
_PERTURBATION = 1e-4  # LinearPost's own default


@dataclass(frozen=True)
class Seen:
    """Some people as a method sees them.

    joint      p(y_k, x_j given what is seen) [people, truths, groups]
    features   [people, columns]; truth, group: codes [people]
    estimator  that was fitted to get the probabilities, not fitted, for methods that fit it
               themselves
    """

    joint: np.ndarray
    features: np.ndarray
    truth: np.ndarray
    group: np.ndarray
    estimator: Any

    @cached_property
    def p_y(self) -> np.ndarray:
        """p(y_k given what is seen) [people, truths]."""
        return self.joint.sum(axis=2)

    @cached_property
    def p_x(self) -> np.ndarray:
        """p(x_j given what is seen) [people, groups]."""
        return self.joint.sum(axis=1)

    def rows(self, constraint: str) -> np.ndarray:
        """What a constraint is about [people, rows]: groups, or pairs of truth and group."""
        return self.joint.reshape(len(self.joint), -1) if conditional(constraint) else self.p_x


Treatment = Callable[[Seen], np.ndarray]
"""The probabilities of the guesses [people, guesses]."""


@dataclass(frozen=True)
class Method:
    """fit(people, constraint, tolerance) → processor seconds of the fastest try, and the treatment.

    aware   whether X is needed to predict; None where both can be
    binary  whether it serves two guesses only
    """

    name: str
    fit: Callable[[Seen, str, float], tuple[float, Treatment]]
    aware: bool | None = None
    binary: bool = False


def conditional(constraint: str) -> bool:
    """Return whether groups are compared only among people with the same truth."""
    return constraint == "equalized odds"


def model(people: Seen, constraint: str, budget: float) -> ds.Problem:
    """The fitted law as a problem: every person is an outcome of the same mass."""
    mass = 1.0 / len(people.joint)
    loss = mass * (1.0 - people.p_y).T
    if conditional(constraint):
        joint = mass * np.moveaxis(people.joint, 0, 2)
        given = ds.Constraint(joint, budget, "conditional-mutual-information")
        return ds.Problem(loss=loss, constraints=[given])
    return ds.Problem(mass * people.p_x.T, loss, budget, measure="parity-difference")


def _timed(work: Callable[[], Any], repeats: int = _REPEATS) -> tuple[float, Any]:
    best = np.inf
    found = None
    for _ in range(repeats):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def _plain(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    guesses = people.p_y.shape[1]
    return 0.0, lambda others: np.eye(guesses)[others.p_y.argmax(axis=1)]


def _discreet(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    about = people.p_x
    measure = "parity-difference"
    if conditional(constraint):
        about = people.joint
        measure = "conditional-mutual-information"

    def design() -> Any:
        return ds.design_rule(people.p_y, about, tolerance, measure=measure)

    seconds, found = _timed(design)
    return seconds, lambda others: found.rule.predict_proba(others.p_y, others.rows(constraint))


def _program(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    """Rates of every guess in every group within tolerance/2 of a common one, which
    is a variable.
    """

    def solve() -> Any:
        number, guesses = people.p_y.shape
        rows = people.rows(constraint)
        groups = people.joint.shape[2]
        kinds = rows.shape[1] // groups
        shares = csr_array((rows / rows.sum(axis=0)).T)
        rates = kron(identity(guesses), shares)  # guess by guess; the variables too
        common = csr_array(kron(identity(guesses * kinds), np.ones((groups, 1))))
        half = np.full(rates.shape[0], 0.5 * tolerance)
        above = hstack([rates, -common])
        below = hstack([-rates, common])
        one = hstack(
            [kron(np.ones((1, guesses)), identity(number)), csr_array((number, guesses * kinds))]
        )
        cost = np.append((1.0 - people.p_y).T.ravel() / number, np.zeros(guesses * kinds))
        found = linprog(
            cost,
            csr_array(vstack([above, below])),
            np.append(half, half),
            csr_array(one),
            np.ones(number),
            bounds=(0.0, None),
            method="highs",
            options={"time_limit": _LIMIT_SECONDS},
        )
        if found.x is None:
            raise RuntimeError(f"HiGHS says: {found.message}")
        upper, lower = np.split(found.ineqlin.marginals, 2)
        tilt = ((lower - upper).reshape(guesses, -1) / rows.sum(axis=0)) * number
        columns = np.clip(found.x[: number * guesses].reshape(guesses, number).T, 0.0, None)
        return tilt, columns / columns.sum(axis=1, keepdims=True)

    seconds, (tilt, own) = _timed(solve)

    def treat(others: Seen) -> np.ndarray:
        if others is people:
            return own
        scores = 1.0 - others.p_y + others.rows(constraint) @ tilt.T
        return np.eye(len(tilt))[scores.argmin(axis=1)]

    return seconds, treat


def _published(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    """Each guess and event has a rate that is common to the groups; a dual value for each group
    tilts the risk.
    """
    import cvxpy as cp

    def perturbed(seen: Seen, largest: float) -> np.ndarray:
        rng = np.random.default_rng(0)
        return (
            1.0
            - seen.p_y
            + largest * rng.uniform(-_PERTURBATION, _PERTURBATION, size=seen.p_y.shape)
        )

    def events(seen: Seen) -> list[np.ndarray]:
        return (
            [seen.joint[:, y] for y in range(seen.joint.shape[1])]
            if conditional(constraint)
            else [seen.p_x]
        )

    largest = float((1.0 - people.p_y).max(axis=1).mean())
    means = [each.mean(axis=0) for each in events(people)]

    def solve() -> Any:
        risk = perturbed(people, largest)
        (number, guesses) = people.p_y.shape
        share = [each / mean for each, mean in zip(events(people), means, strict=True)]
        chosen = cp.Variable((number, guesses), nonneg=True)
        common = cp.Variable(guesses * len(share), nonneg=True)
        limits: list[Any] = [cp.sum(chosen, axis=1) == 1]
        for place, (guess, each) in enumerate(
            (guess, each) for guess in range(guesses) for each in share
        ):
            rate = (
                cp.sum(cp.multiply(each, chosen[:, guess][:, None]), axis=0)
                - number * common[place]
            )
            limits += [-tolerance * number / 2 <= rate, rate <= tolerance * number / 2]
        program = cp.Problem(cp.Minimize(cp.sum(cp.multiply(chosen, risk))), limits)
        program.solve(solver=cp.HIGHS, time_limit=_CVXPY_SECONDS)
        if program.status != cp.OPTIMAL:
            raise RuntimeError(f"HiGHS says {program.status} after {_CVXPY_SECONDS:g} s")
        prices = np.array(
            [
                low.dual_value - high.dual_value
                for low, high in zip(limits[1::2], limits[2::2], strict=True)
            ]
        )
        return prices.reshape(guesses, len(share), -1), chosen.value

    seconds, (prices, own) = _timed(solve, 1)

    def treat(others: Seen) -> np.ndarray:
        if others is people:
            return _probabilities(own)
        share = np.stack(
            [each / mean for each, mean in zip(events(others), means, strict=True)], axis=1
        )
        return np.eye(len(prices))[
            (perturbed(others, largest) - np.einsum("leg,keg->lk", share, prices)).argmin(axis=1)
        ]

    return seconds, treat


class _Scores(ClassifierMixin, BaseEstimator):
    """Stands for a fitted classifier: its table is the probability of the second label."""

    def fit(self, X: Any, y: Any) -> _Scores:
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        scores = np.asarray(X)[:, 0]
        return np.column_stack([1.0 - scores, scores])


def _thresholds(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    from fairlearn.postprocessing import ThresholdOptimizer

    scores = _Scores().fit(None, None)
    kind = "equalized_odds" if conditional(constraint) else "demographic_parity"

    def fit() -> Any:
        optimizer = ThresholdOptimizer(
            estimator=scores,
            constraints=kind,
            prefit=True,
            predict_method="predict_proba",
            tol=tolerance or None,
        )
        return optimizer.fit(people.p_y[:, 1:], people.truth, sensitive_features=people.group)

    seconds, found = _timed(fit)
    return seconds, lambda others: _probabilities(
        found._pmf_predict(others.p_y[:, 1:], sensitive_features=others.group)
    )


def _reduction(people: Seen, constraint: str, tolerance: float) -> tuple[float, Treatment]:
    from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient

    kind = EqualizedOdds if conditional(constraint) else DemographicParity
    name = "sample_weight"
    if hasattr(people.estimator, "steps"):
        name = f"{people.estimator.steps[-1][0]}__sample_weight"
    reduction = ExponentiatedGradient(
        clone(people.estimator), kind(difference_bound=tolerance or 0.001), sample_weight_name=name
    )

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
    Method("LinearPost through cvxpy", _published),
    Method("ThresholdOptimizer", _thresholds, aware=True, binary=True),
    Method("ExponentiatedGradient", _reduction, aware=False, binary=True),
)
