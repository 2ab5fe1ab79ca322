"""Agreement with libqif in rational numbers: leakages of channels, and optima, on 100 instances
where the estimator sees X.

All data are multiples of 2⁻¹⁰, so that libqif computes with the very numbers that a `Problem`
stores.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from command import python
from exactly import fractions

import discreet as ds
from discreet.measures import GLeakage, measure_of
from discreet.numerics.double_double import Array

with np.printoptions():  # it changes how everybody's arrays of objects are printed
    qif: Any = pytest.importorskip("qif", exc_type=ImportError)
COUNT = 100
ALIKE = 1e-12


@dataclass(frozen=True)
class Instance:
    """A prior [n], a loss [n, m], a gain [actions, n], a channel [n, m], and B."""

    prior: Array
    loss: Array
    gain: Array
    channel: Array
    room: Fraction

    @classmethod
    def drawn(cls, seed):
        rng = np.random.default_rng(seed)
        n = rng.integers(2, 6)
        m = rng.integers(2, 5)
        actions = rng.integers(2, 5)
        gain = rng.integers(0, 9, (actions, n)) + np.eye(actions, n, dtype=int)
        gain[0] += 1  # every value is worth something
        channel = np.array([dyadic(rng, m, 0) for _ in range(n)])
        return cls(
            dyadic(rng, n, 1),
            rng.integers(0, 9, (n, m)) / 8.0,
            gain / 8.0,
            channel,
            Fraction(int(rng.integers(1, 9)), 16),
        )

    def problem(self, measure):
        """The estimator sees X itself."""
        return ds.Problem(
            np.diag(self.prior), self.prior * self.loss.T, math.log1p(self.room), measure=measure
        )

    @property
    def measures(self):
        """Return the measures whose optimum libqif finds."""
        return measure_of("min-entropy-leakage"), measure_of("maximal-leakage"), GLeakage(self.gain)

    def gains(self, measure):
        """Gains of which the measure is the leakage, as rational numbers [actions, n]."""
        if isinstance(measure, GLeakage):
            return fractions(self.gain)
        if measure.name == "maximal-leakage":
            return fractions(np.diag(1 / fractions(self.prior)))
        return fractions(np.eye(self.prior.size))


def dyadic(rng, size, least):
    """Probabilities that are multiples of 2⁻¹⁰, of at least `least` of them."""
    return (
        rng.multinomial(1024 - least * size, rng.dirichlet(np.ones(size))) / 1024.0 + least / 1024.0
    )


@pytest.mark.parametrize("part", range(10))
def test_optima_are_those_of_libqif(part):
    """Its exact optimum lies in the certified bracket, whose ends are as near; so do the answers of
    the backend `qif`.
    """
    for seed in range(part, COUNT, 10):
        case = Instance.drawn(seed)
        measure = case.measures[seed % 3]
        prior = fractions(case.prior)
        loss = fractions(case.loss)
        gains = case.gains(measure)
        (n, m) = case.loss.shape
        most = qif.measure.g_vuln.prior(gains, prior) * (1 + case.room)
        best = qif.mechanism.g_vuln.min_loss_given_max_vuln(
            prior,
            m,
            len(gains),
            most,
            lambda w, x, gains=gains: gains[w, x],
            lambda x, y, loss=loss: loss[x, y],
        )
        assert qif.measure.g_vuln.posterior(gains, prior, best) <= most
        optimum = float(sum(prior[x] * best[x, y] * loss[x, y] for x in range(n) for y in range(m)))
        problem = case.problem(measure)
        proven = ds.solve(problem, "highs", gap=1e-11).certificate
        assert proven.lower == pytest.approx(optimum, rel=ALIKE, abs=ALIKE)
        assert proven.upper == pytest.approx(optimum, rel=ALIKE, abs=ALIKE)
        own = ds.solve(problem, "qif")
        assert own.error_probability == pytest.approx(optimum, rel=ALIKE, abs=ALIKE)
        assert own.status in {ds.Status.CERTIFIED, ds.Status.INACCURATE}


def test_solving_with_libqif_leaves_the_printing_of_arrays_alone():
    """The library sets a format for objects when it is imported: without quotes."""
    code = (
        "import sys, numpy as np, discreet as ds\n"
        "ds.solve(ds.problems.release(measure='min-entropy-leakage', budget=0.1), 'qif')\n"
        "print('qif' in sys.modules, repr(np.array(['a'], dtype=object)))"
    )
    assert python(code) == "True array(['a'], dtype=object)\n"
