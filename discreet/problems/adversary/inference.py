"""The untrusted user: the best inferences from the output of an estimator.

The reader of Ŷ knows the model and the estimator, hence the joint law of (X, Y, Ŷ). The best
inference of a variable is its likeliest value given the guess; its error probability is the mass of
all other values,

    Σ_s Σ_{v ≠ best(s)} p(v, s),      summed from these small terms, never as 1 − ….

Source: docs/theory.md, section 20; C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404–413; for
Fano's inequality T. M. Cover, J. A. Thomas, *Elements of Information Theory*, §2.10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import (
    check_columns,
    check_total,
    mass_array,
    positive,
    real_numbers,
    whole,
)
from discreet.errors import InputError
from discreet.measures.law import output_law
from discreet.numerics.double_double import Array
from discreet.problems.constraint import Constrained, entropy
from discreet.problems.problem import Problem
from discreet.problems.roots import bisect


@dataclass(frozen=True)
class Inference:
    """The results of the best inferences: error probabilities (None if the model does not determine
    them) and information.

    x_error            error probability of the best inference of X from the guess
    x_error_blind      error probability of the best inference of X without the guess: 1 − max_j π_j
    y_error            error probability of the best inference of Y (for a `Problem`: its least
                       expected loss)
    xy_error           error probability of the best inference of the pair (X, Y)
    leakage_nats       mutual information of X and the guess
    equivocation_nats  H(X given the guess)
    fano_plain         the paper's bound: x_error ≥ (H − 1)/log2 n, H the equivocation in *bits*;
                       vacuous for n = 2
    fano_sharp         the e with H₂(e) + e log(n − 1) = H, of which the plain form is a weaker
                       consequence; x_error ≥ e
    samples            0 if every number is exact; otherwise the number of simulated draws
    intervals          name -> (low, high), for a simulation: each interval holds with probability
                       `confidence`
    """

    x_error: float
    x_error_blind: float
    y_error: float | None
    xy_error: float | None
    leakage_nats: float
    equivocation_nats: float
    fano_plain: float
    fano_sharp: float
    samples: int = 0
    confidence: float = 1.0
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """True if the numbers are computed, not simulated."""
        return self.samples == 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return asdict(self) | {
            "exact": self.exact,
            "intervals": {k: list(v) for k, v in self.intervals.items()},
        }


def inference(model: Problem | Any, estimator: Any) -> Inference:
    """Return what can be inferred from the guess of an estimator [m, N], exactly.

    model: a joint tensor p(x, y, z) [n, m', N], or a `Problem`, which contains only the loss masses
    of Y. Then `y_error` is the least expected loss if every guess may be relabelled (for 0/1 loss,
    the error probability of the best inference of Y), and `xy_error` is None.

    The estimator is used as given, so the result is not a certificate. Raises InputError unless it
    is column-stochastic of the right shape.
    """
    joint = None
    if isinstance(model, Constrained):
        model = model.in_arrays("inference")
        if len(model.groups) > 1:
            raise InputError(
                "inference is about one secret; give the problem of one of them, or a joint tensor"
            )
        p_xz = model.p_xz
    else:
        joint = _joint(model)
        p_xz = joint.sum(axis=1)
    guesses = _estimator(estimator, p_xz.shape[1])
    law = output_law(p_xz, guesses)
    x_seen = guesses @ p_xz.T
    if joint is not None:
        seen = joint @ guesses.T  # [n, m', guesses]
        y_error = error_of_best(seen.sum(axis=0))
        xy_error = error_of_best(seen.reshape(-1, seen.shape[2]))
    else:
        if guesses.shape[0] != model.m:
            raise InputError(
                f"the estimator has {guesses.shape[0]} guesses and the problem {model.m}; give "
                "one row per guess"
            )
        y_error = float((model.loss @ guesses.T).min(axis=0).sum())
        xy_error = None
    return summarise(error_of_best(x_seen.T), law.p_x, y_error, xy_error, law.leakage())


def confidence_interval(hits: int, samples: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper–Pearson interval of a probability, from `hits` of `samples`; its coverage
    is at least `confidence`.
    """
    from scipy.special import betaincinv

    samples = whole(samples, "samples", 1, 1e15)
    hits = whole(hits, "hits", 0, 1e15)
    if hits > samples:
        raise InputError(f"there are {hits} hits in {samples} samples; give at most as many")
    tail = 0.5 * (1.0 - check_confidence(confidence))
    low = 0.0 if hits == 0 else float(betaincinv(hits, samples - hits + 1, tail))
    high = 1.0 if hits == samples else float(betaincinv(hits + 1, samples - hits, 1.0 - tail))
    return low, high


def check_confidence(confidence: float) -> float:
    """Return a confidence strictly between 0 and 1; otherwise raise InputError."""
    level = positive(confidence, "confidence")
    if level >= 1.0:
        raise InputError(f"confidence is {confidence}; give a probability below 1, such as 0.95")
    return level


def error_of_best(masses: Array) -> float:
    """Return the sum of all entries of p(v, s) [v, S] except the largest of each column."""
    return float(np.sort(masses, axis=0)[:-1].sum())


def summarise(
    x_error: float, p_x: Array, y_error: float, xy_error: float | None, leakage: float
) -> Inference:
    """Return the record of the errors of the three inferences and the leakage in nats, for a prior
    of X [n].
    """
    equivocation = max(0.0, entropy(p_x) - leakage)
    return Inference(
        x_error=x_error,
        x_error_blind=float(np.sort(p_x)[:-1].sum()),
        y_error=y_error,
        xy_error=xy_error,
        leakage_nats=leakage,
        equivocation_nats=equivocation,
        fano_plain=fano_bound(equivocation, int((p_x > 0).sum())),
        fano_sharp=fano_bound(equivocation, int((p_x > 0).sum()), sharp=True),
    )


def fano_bound(equivocation_nats: float, n: int, *, sharp: bool = False) -> float:
    """Return a lower bound of the error probability of any inference of X (n values) from Ŷ, given
    H(X given Ŷ) in nats.

    The plain form is the paper's: (H − 1) / log2 n with H in *bits*, since the 1 in it is one bit;
    it is vacuous for n = 2. `sharp=True` solves H₂(e) + e·log(n − 1) = H for e, of which the plain
    form is a weaker consequence. The result is ≥ 0.
    """
    equivocation_nats = float(real_numbers("equivocation", equivocation_nats, ()))
    n = whole(n, "n", 0, 1e15)
    if n <= 1:
        return 0.0
    bits = equivocation_nats / math.log(2.0)
    plain = max(0.0, (bits - 1.0) / math.log2(n))
    if not sharp:
        return plain
    return max(plain, _invert_fano(equivocation_nats, n))


def _invert_fano(equivocation_nats: float, n: int) -> float:
    def below(e: Array) -> NDArray[np.bool_]:
        return np.asarray(
            -xlogy(e, e) - xlogy(1.0 - e, 1.0 - e) + e * math.log(n - 1) < equivocation_nats
        )

    from scipy.special import xlogy

    largest = 1.0 - 1.0 / n  # the left side increases up to this point, where it is log n
    if equivocation_nats >= math.log(n) * (1.0 - 1e-15):
        return largest
    return float(bisect(below, 0.0, largest)[0])


def _joint(values: Any) -> Array:
    joint = mass_array(values, "joint", 3, "[n, m, N]")
    return np.asarray(joint / check_total(joint, "joint"))


def _estimator(values: Any, outcomes: int) -> Array:
    estimator = mass_array(values, "estimator", 2, "[m, N]")
    if estimator.shape[1] != outcomes:
        raise InputError(
            f"the estimator has {estimator.shape[1]} columns and the model {outcomes} outcomes; "
            f"give [m, {outcomes}]"
        )
    check_columns(estimator, "the estimator")
    return estimator
