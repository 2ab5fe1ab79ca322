"""Starting next to a known tilt: centred and feasible, fewer iterations, and harmless where the tilt misleads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.backends.tilt.interior_point import (
    _central,
    _cold,
    _least_slack,
    _misalignment,
    _next_to,
    solve_interior,
)
from discreet.backends.tilt.model import law_of, model_of
from discreet.backends.tilt.point import Ending, Point
from discreet.problems import Problem, catalog


def solved(problem: Problem, near: tuple[np.ndarray, float] | None = None) -> tuple[Point, Ending]:
    return solve_interior(model_of(problem), gap=1e-10, max_iterations=100, near=near)


@given(st.integers(1, 6), st.integers(0, 9999), st.floats(-8.0, 8.0))
@settings(max_examples=50)
def test_the_least_slack_makes_probabilities_sum_to_one(m: int, seed: int, decades: float) -> None:
    excess = 10.0**decades * np.random.default_rng(seed).random((m, 40))
    excess -= excess.min(axis=0)
    total = (1.0 / (_least_slack(excess[None]) + excess)).sum(axis=0)
    assert (np.abs(total - 1.0) < 1e-2).all()
    assert (total > 1.0 - 1e-15).all()  # approached from the left: the reduced losses stay positive


@pytest.mark.parametrize(("m", "fraction"), [(4, 0.0), (3, 0.01), (4, 0.5)])
@pytest.mark.parametrize("warm", [False, True])
def test_starts_are_inside_and_centred(m: int, fraction: float, warm: bool) -> None:
    problem = catalog.build("mixture", n=3, m=m, N=300, seed=1, fraction=fraction)
    model = model_of(problem)
    found, _ = solved(problem)
    at = _next_to(model, found.tilt, found.multiplier) if warm else _cold(model)
    assert at is not None
    assert at.estimator.min() > 0.0
    assert at.slack.min() > 0.0
    np.testing.assert_allclose(at.estimator.sum(axis=1), 1.0, rtol=1e-14)
    best = (model.losses + at.tilt @ model.features - at.slack)[0]  # feasible: the same for every guess
    np.testing.assert_allclose(best, np.tile(best[0], (m, 1)), rtol=1e-14 * at.slack.max(), atol=1e-14)
    products = at.estimator * at.slack / model.barrier[:, None]
    assert products.max() <= (1.02 if warm or fraction == 0.0 else 10.0) * products.min()


@pytest.mark.parametrize("fraction", [1e-9, 0.01, 0.5])
def test_a_cold_start_keeps_the_budget(fraction: float) -> None:
    problem = catalog.build("mixture", n=3, m=4, N=300, seed=1, fraction=fraction)
    model = model_of(problem)
    assert law_of(model, _cold(model).estimator).leakage <= problem.budget


@pytest.mark.parametrize("family", ["paper-single", "mixture"])
@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.3])
def test_a_good_tilt_saves_iterations(family: str, fraction: float) -> None:
    sizes = {"bins": 1000} if family == "paper-single" else {"n": 3, "m": 3, "N": 1000, "seed": 0}
    problem = catalog.build(family, fraction=fraction, **sizes)
    cold, ending = solved(problem)
    noise = np.random.default_rng(0).standard_normal(cold.tilt.shape)
    warm, sooner = solved(problem, (cold.tilt + 1e-6 * np.abs(cold.tilt).max() * noise, cold.multiplier))
    assert sooner.optimal
    assert ending.optimal
    assert sooner.iterations <= ending.iterations - 3
    judged = ds.certify(problem, warm.columns, warm.tilt, None if math.isinf(warm.multiplier) else warm.multiplier)
    assert judged.certificate.relative_gap <= 1e-9


@given(st.integers(0, 9999), st.floats(-6.0, 2.0), st.sampled_from([0.0, 1e-3, 0.5]))
@settings(max_examples=30)
def test_a_misleading_tilt_changes_nothing_but_the_iterations(seed: int, decades: float, fraction: float) -> None:
    problem = catalog.build("mixture", n=3, m=3, N=60, seed=2, fraction=fraction)
    rng = np.random.default_rng(seed)
    near = (
        10.0**decades * rng.standard_normal((3, 3)),
        math.inf if fraction == 0.0 else float(10.0 ** rng.uniform(-3.0, 3.0)),
    )
    (cold, _), (warm, ending) = solved(problem), solved(problem, near)
    assert ending.optimal
    errors = [float((problem.loss * found.columns).sum()) for found in (cold, warm)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-9)


def test_useless_tilts_are_not_started_from() -> None:
    problem = ds.problems.paper_single(budget=0.01)
    model = model_of(problem)
    tilt = solved(problem)[0].tilt
    for useless in (np.full_like(tilt, np.nan), np.full_like(tilt, np.inf), -tilt):
        assert _next_to(model, useless, 1.0) is None
    for multiplier in (0.0, math.inf):
        assert _next_to(model, tilt, multiplier) is None


def test_a_start_is_better_aligned_than_the_same_tilt_at_other_products() -> None:
    problem = catalog.build("mixture", n=3, m=3, N=1000, seed=0, fraction=0.3)
    model = model_of(problem)
    found, _ = solved(problem)
    at = _next_to(model, found.tilt, found.multiplier)
    assert at is not None
    off = _misalignment(model, at)
    for product in 10.0 ** -np.arange(1.0, 8.0):
        other = _central(model, at.tilt, found.multiplier, product)
        assert off <= 3.0 * _misalignment(model, other)
