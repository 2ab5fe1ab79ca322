"""The oblivious scheme that the paper compares with: every sensor sends its own estimate, and the
untrusted user sees all of them.

A local estimate is the maximum a posteriori guess of Y from the measurement of one sensor. For
sensors of the same law only the counts of the estimates matter, so the inferences are computed
exactly, unless there are very many sensors or very many kinds of them. Then they are simulated,
with a seed: error probabilities have exact (Clopper–Pearson) confidence intervals, and the
equivocation is the mean entropy of X's posterior with Hoeffding's interval.

Source: docs/theory.md, reference 1, numerical section; W. Hoeffding, J. Amer. Statist. Assoc. 58
(1963) 13–30.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import check_prior, whole
from discreet.errors import InputError
from discreet.measures.mutual_information import phi_divergence
from discreet.numerics.double_double import Array
from discreet.problems.adversary.inference import (
    Inference,
    check_confidence,
    confidence_interval,
    error_of_best,
    summarise,
)
from discreet.problems.constraint import entropy
from discreet.problems.sensors.inputs import check_law
from discreet.problems.sensors.several import grouped_sensors

LARGEST_EXACT = 1_000_000
"""Most combinations of counts of local estimates that `local_inference` enumerates; if there are
more, it simulates.
"""


def local_law(p_z_given_xy: Any, p_xy: Any) -> Array:
    """Return Pr(the local estimate of a sensor is y_k given x_j, y_i) [n, m, m] for its maximum a
    posteriori guess of Y; ties go to the first.

    p_z_given_xy   Pr(the sensor reports bin z given x_j, y_i) [n, m, bins]
    p_xy           p(x_j, y_i) [n, m]
    """
    prior = check_prior(p_xy)
    law = check_law(p_z_given_xy, prior, "p_z_given_xy", sensors=False)
    guess = np.argmax((prior[:, :, None] * law).sum(axis=0), axis=0)
    return np.stack([law[:, :, guess == k].sum(axis=2) for k in range(prior.shape[1])], axis=2)


def local_inference(
    laws: Any,
    p_xy: Any,
    sensors: int | None = None,
    *,
    samples: int = 100_000,
    seed: int = 0,
    confidence: float = 0.95,
    exactly: bool | None = None,
) -> Inference:
    """Return what the untrusted user can infer from the local estimates of all sensors.

    laws        one [n, m, bins] for `sensors` sensors of the same law, or a sequence of such
                arrays, one per sensor; sensors measure independently given (x, y)
    p_xy        p(x_j, y_i) [n, m]
    exactly     True: enumerate, however many combinations there are; False: simulate; None:
                enumerate up to `LARGEST_EXACT` combinations of counts, otherwise simulate `samples`
                times with `seed`

    Raises InputError for arrays that are not probabilities, or no sensors.
    """
    prior = check_prior(p_xy)
    groups = _groups(laws, prior, sensors)
    combinations = math.prod(
        math.comb(count + prior.shape[1] - 1, prior.shape[1] - 1) for _, count in groups
    )
    if exactly or (exactly is None and combinations <= LARGEST_EXACT):
        return _enumerate_counts(groups, prior)
    rng = np.random.default_rng(whole(seed, "seed", 0))
    return _simulate(groups, prior, whole(samples, "samples", 1), rng, check_confidence(confidence))


def _enumerate_counts(groups: list[tuple[Array, int]], prior: Array) -> Inference:
    """Compute the inference from all combinations of counts, over all groups of identical
    sensors.
    """
    seen = grouped_sensors([np.tile(law, (count, 1, 1, 1)) for law, count in groups], prior)
    x_seen = seen.sum(axis=1)
    p_x = x_seen.sum(axis=1)
    p_seen = x_seen.sum(axis=0)
    independent = p_x[:, None] * p_seen
    beyond = np.divide(
        x_seen - independent, independent, out=np.zeros_like(x_seen), where=independent > 0
    )
    leakage = float((independent * phi_divergence(beyond)).sum())
    x_error, y_error, xy_error = map(
        error_of_best, (x_seen, seen.sum(axis=0), seen.reshape(prior.size, -1))
    )
    return summarise(x_error, p_x, y_error, xy_error, leakage)


def _groups(laws: Any, prior: Array, sensors: int | None) -> list[tuple[Array, int]]:
    """Return the distinct laws of local estimates [n, m, m], each with its number of sensors."""
    if sensors is not None:
        return [
            (
                local_law(check_law(laws, prior, "laws", sensors=False), prior),
                whole(sensors, "sensors", 1),
            )
        ]
    if not isinstance(laws, Sequence) and getattr(laws, "ndim", 0) != 4:
        raise InputError(
            "laws is one array and sensors is not given; say how many sensors have this law, or "
            "give a sequence"
        )
    groups: dict[bytes, tuple[Array, int]] = {}
    for k, law in enumerate(laws):
        local = local_law(check_law(law, prior, f"laws[{k}]", sensors=False), prior)
        groups[local.tobytes()] = (local, groups.get(local.tobytes(), (local, 0))[1] + 1)
    if not groups:
        raise InputError("laws is empty; give at least one law [n, m, bins]")
    return list(groups.values())


def _simulate(
    groups: list[tuple[Array, int]],
    prior: Array,
    samples: int,
    rng: np.random.Generator,
    confidence: float,
) -> Inference:
    """Draw (x, y) and the estimates, make the best inferences, and count their errors."""
    wrong = np.zeros(3, dtype=np.int64)
    uncertainty = 0.0
    at_once = 1 << 14
    for start in range(0, samples, at_once):
        counted, entropies = _batch(groups, prior, min(at_once, samples - start), rng)
        wrong += counted
        uncertainty += entropies
    p_x = prior.sum(axis=1)
    largest = entropy(p_x)
    n = int((p_x > 0).sum())
    leakage = max(0.0, largest - uncertainty / samples)
    # Hoeffding's inequality
    reach = math.log(n) * math.sqrt(math.log(2.0 / (1.0 - confidence)) / (2.0 * samples))
    smallest = max(0.0, leakage - reach)
    most = min(largest, leakage + reach)
    rates = [confidence_interval(int(count), samples, confidence) for count in wrong]
    errors = [float(count) / samples for count in wrong]
    return replace(
        summarise(errors[0], p_x, errors[1], errors[2], leakage),
        samples=samples,
        confidence=confidence,
        intervals={
            **dict(zip(("x_error", "y_error", "xy_error"), rates, strict=True)),
            "equivocation_nats": (largest - most, largest - smallest),
            "leakage_nats": (smallest, most),
        },
    )


def _batch(
    groups: list[tuple[Array, int]], prior: Array, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], float]:
    """Return the numbers of errors of the best inferences of X, Y and (X, Y) in `size` draws, and
    the sum of the entropies of X's posterior.
    """
    from scipy.special import xlogy

    n, m = prior.shape
    truth = rng.choice(prior.size, size, p=prior.ravel())
    log = np.tile(xlogy(1.0, prior.ravel()), (size, 1))
    for law, count in groups:
        flat = law.reshape(prior.size, -1)
        counts = rng.multinomial(count, flat[truth])
        log += xlogy(counts[:, None, :], flat).sum(axis=2)
    posterior = np.exp(log - log.max(axis=1, keepdims=True))
    posterior = (posterior / posterior.sum(axis=1, keepdims=True)).reshape(size, n, m)
    of_x = posterior.sum(axis=2)
    of_y = posterior.sum(axis=1)
    guesses = (of_x.argmax(axis=1), of_y.argmax(axis=1), posterior.reshape(size, -1).argmax(axis=1))
    wrong = [
        int((guess != true).sum())
        for guess, true in zip(guesses, (truth // m, truth % m, truth), strict=True)
    ]
    return np.array(wrong, dtype=np.int64), float(-xlogy(of_x, of_x).sum())
