"""The untrusted user who infers X and Y: errors against brute force, laws of information, coverage
of intervals.
"""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from random_laws import random_joint
from refusals import raises_input_error
from strategies import estimators, joints

import discreet as ds
from discreet.problems import confidence_interval, inference, local_inference
from discreet.problems.sensors import paper_conditional, paper_p_xy


@st.composite
def drawn_guess(draw):
    joint = draw(joints())
    return joint, draw(estimators((draw(st.integers(1, 3)), joint.shape[2])))


@given(drawn_guess())
def test_laws_of_inference(drawn):
    joint, estimator = drawn
    found = inference(joint, estimator)
    check(found, np.einsum("xyz,gz->xyg", joint, estimator), 1e-12)
    errors_and_information_are_in_order(joint, found)
    problems_give_the_inference_of_their_joint_but_not_of_both_values(joint, estimator)


def errors_and_information_are_in_order(joint, found):
    n = int((joint.sum(axis=(1, 2)) > 0).sum())
    assert found.exact
    assert 0.0 <= found.x_error <= found.x_error_blind + 1e-12
    assert found.xy_error >= max(found.x_error, found.y_error) - 1e-12
    assert found.x_error >= found.fano_sharp - 1e-9
    assert found.fano_sharp >= found.fano_plain
    assert 0.0 <= found.equivocation_nats <= math.log(n) + 1e-12


def problems_give_the_inference_of_their_joint_but_not_of_both_values(joint, estimator):
    m = joint.shape[1]
    estimator = np.resize(estimator, (m, joint.shape[2]))
    estimator = (
        estimator / estimator.sum(axis=0)
        if (estimator.sum(axis=0) > 0).all()
        else np.full(estimator.shape, 1 / m)
    )
    whole = inference(joint, estimator)
    part = inference(ds.Problem.from_joint(joint, 0.0), estimator)
    assert part.x_error == pytest.approx(whole.x_error, rel=1e-9, abs=1e-13)
    assert part.y_error == pytest.approx(whole.y_error, rel=1e-9, abs=1e-13)
    assert part.leakage_nats == pytest.approx(whole.leakage_nats, rel=1e-6, abs=1e-13)
    assert part.xy_error is None


def test_the_record_holds_plain_numbers_only():
    found = local_inference(paper_conditional(), paper_p_xy(), 3, exactly=False, samples=200)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["samples"] == 200
    assert record["exact"] is False
    assert record["intervals"]["x_error"] == list(found.intervals["x_error"])


@pytest.mark.parametrize(
    "words, estimator",
    {
        "3 .*4": np.full((2, 3), 0.5),
        "column 0 of the estimator sums to 0.8": np.full((2, 4), 0.4),
        "3 .* 2": np.full((3, 4), 1 / 3),
        "negative": np.full((2, 4), -0.5),
        "not an array": "text",
    }.items(),
)
def test_invalid_estimators_are_refused(estimator, words):
    with raises_input_error(words):
        inference(ds.problems.paper_single(), estimator)


# -- local estimates
# --------------------------------------------------------------------------------------------------


def brute_force(laws, prior):
    """p(x, y, all local estimates) [n, m, m^M], one outcome for every vector of estimates."""
    n, m = prior.shape
    seen = prior.reshape(n, m, 1)
    for law in laws:
        local = np.zeros((n, m, m))
        for z in range(law.shape[2]):
            guess = int(np.argmax((prior * law[:, :, z]).sum(axis=0)))
            local[:, :, guess] += law[:, :, z]
        seen = (seen[:, :, :, None] * local[:, :, None, :]).reshape(n, m, -1)
    return seen


def check(found, seen, rounding=1e-10):
    """Errors are those of the likeliest values given what is seen; seen: p(x, y, s) [n, m, S]."""
    of_x = seen.sum(axis=1)
    for error, masses in (
        (found.x_error, of_x),
        (found.y_error, seen.sum(axis=0)),
        (found.xy_error, seen.reshape(-1, seen.shape[2])),
    ):
        wrong = np.sort(masses, axis=0)[:-1].sum()
        assert error == pytest.approx(wrong, rel=rounding, abs=1e-4 * rounding)
    of_x = of_x[:, of_x.sum(axis=0) > 0]  # some vectors of estimates never occur
    posterior = of_x / of_x.sum(axis=0)
    entropies = -np.where(
        posterior > 0, posterior * np.log(np.where(posterior > 0, posterior, 1.0)), 0.0
    ).sum(axis=0)
    assert found.equivocation_nats == pytest.approx(
        entropies @ of_x.sum(axis=0), rel=1e-9, abs=1e-13
    )


@pytest.mark.parametrize("sensors", range(1, 7))
def test_identical_sensors_agree_with_brute_force(sensors):
    law = paper_conditional()
    prior = paper_p_xy()
    check(local_inference(law, prior, sensors), brute_force([law] * sensors, prior))


@given(
    st.integers(0, 1000),
    st.integers(2, 3),
    st.integers(2, 3),
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
)
def test_heterogeneous_sensors_agree_with_brute_force(seed, n, m, kinds):
    rng = default_rng(seed)
    prior = random_joint(rng, n, m)
    kind = [rng.dirichlet(np.ones(bins), size=(n, m)) for bins in (2, 4, 5)]
    laws = [kind[k] for k in kinds]
    check(local_inference(laws, prior), brute_force(laws, prior))


def test_a_simulation_is_reproducible_and_its_intervals_cover():
    law = paper_conditional()
    prior = paper_p_xy()
    exact = local_inference(law, prior, 8)
    covered = dict.fromkeys(
        ("x_error", "y_error", "xy_error", "equivocation_nats", "leakage_nats"), 0
    )
    for seed in range(40):
        found = local_inference(
            law, prior, 8, exactly=False, samples=1000, seed=seed, confidence=0.95
        )
        assert found.samples == 1000
        for name in covered:
            low, high = found.intervals[name]
            covered[name] += low <= getattr(exact, name) <= high
            assert low <= getattr(found, name) <= high
    # 38 expected; fewer than 34 of 40 has a probability under 1 in 100
    assert min(covered.values()) >= 34
    first, again = (
        local_inference(law, prior, 8, exactly=False, samples=100, seed=3) for _ in range(2)
    )
    assert first == again


def test_a_model_with_too_many_estimate_vectors_is_simulated():
    rng = default_rng(1)
    laws = [rng.dirichlet(np.ones(3), size=(2, 2)) for _ in range(25)]  # 2^25 vectors of estimates
    found = local_inference(laws, paper_p_xy(), samples=500)
    assert not found.exact
    assert found.samples == 500
    assert found.intervals["x_error"][0] <= found.x_error <= found.x_error_blind + 0.1


def test_a_sensor_that_excludes_values_is_simulated_too():
    law = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]  # reports y itself
    found = local_inference(law, paper_p_xy(), 3, exactly=False, samples=400)
    assert found.y_error == 0.0
    assert found.x_error == pytest.approx(0.3, abs=0.1)
    assert found.equivocation_nats == pytest.approx(0.6108643, rel=1e-6)


@pytest.mark.parametrize(
    "laws, sensors, options, words",
    [
        (paper_conditional(), None, {}, "sensors is not given"),
        ([], None, {}, "laws is empty"),
        (2.0 * paper_conditional(), 3, {}, "sums to 2"),
        (np.full((3, 2, 2), 0.5), 3, {}, "with the same n and m"),
        ([paper_conditional(), np.full((2, 2, 2), -1.0)], None, {}, r"laws\[1\]"),
        (paper_conditional(), 3, {"exactly": False, "samples": 0}, "samples is 0"),
        (paper_conditional(), 3, {"exactly": False, "confidence": 1.0}, "confidence is 1.0"),
    ],
)
def test_bad_sensors_are_refused(laws, sensors, options, words):
    with raises_input_error(words):
        local_inference(laws, paper_p_xy(), sensors, **options)


# -- intervals
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("probability", [0.0, 0.003, 0.3, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_clopper_pearson_covers_with_at_least_its_confidence(probability, confidence):
    samples = 60
    hits = np.arange(samples + 1)
    log_choose = np.array(
        [math.lgamma(61) - math.lgamma(k + 1) - math.lgamma(61 - k) for k in hits]
    )
    masses = np.exp(log_choose) * probability**hits * (1.0 - probability) ** (samples - hits)
    ends = [confidence_interval(int(k), samples, confidence) for k in hits]
    covered = sum(
        mass for mass, (low, high) in zip(masses, ends, strict=True) if low <= probability <= high
    )
    assert covered >= confidence - 1e-9


def test_an_interval_agrees_with_the_literature():
    low, high = confidence_interval(10, 100)
    assert (low, high) == pytest.approx((0.04900469, 0.17622260), rel=1e-6)
    assert confidence_interval(0, 10)[0] == 0.0
    assert confidence_interval(10, 10)[1] == 1.0
    with raises_input_error(r"3 .*2 "):
        confidence_interval(3, 2)


def test_several_batches_of_samples_add_up():
    found = local_inference(
        paper_conditional(), paper_p_xy(), 4, exactly=False, samples=40_000, seed=5
    )
    exact = local_inference(paper_conditional(), paper_p_xy(), 4)
    assert found.x_error == pytest.approx(exact.x_error, abs=0.01)
    assert found.equivocation_nats == pytest.approx(exact.equivocation_nats, abs=0.01)
