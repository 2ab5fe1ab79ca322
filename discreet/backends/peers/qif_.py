"""Backend `qif`: g-leakage and related measures in exact rational numbers, by the linear programs
of libqif.

Method: libqif finds the channel of least expected loss whose posterior g-vulnerability is at most a
given number. Its secret is the outcome Z itself, with prior w_l, loss L_il/w_l, and the gain of an
action about X if the outcome is z_l, Σ_j G_wj p(x_j given z_l); so Z may be X or any measurement of
it. Min-entropy leakage has G = 1 if the action is X, maximal leakage has 1/π_j there. Every number
of the problem is converted exactly to a rational. The vulnerability may be e^ε times that of the
prior, with e^ε − 1 as the double that other backends use.

Source: K. Chatzikokolakis, libqif, libqif.chatzi.org; M. S. Alvim et al., *The Science of
Quantitative Information Flow*, Springer 2020; information about X through Z: A. McIver et al.,
"Abstract channels and their robust information-leakage ordering", POST 2014.

Limitations: no other measures, no perfect privacy by itself, no several constraints. It returns no
duals; the loop derives them. Neither time nor iterations can be limited. Its wheels need a
processor with AVX2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Unlifted
from discreet.backends.peers.tuning import Tuning
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

_Number: TypeAlias = Callable[[int, int], Fraction]


@dataclass(frozen=True)
class RationalProgram:
    """min Σ w_l C_li loss(l, i) over channels C with Σ_i max_a Σ_l w_l C_li gain(a, l) ≤ most, all
    rational.

    prior    w_l [N], with sum 1
    guesses  number of guesses, m
    actions  number of actions
    """

    prior: list[Fraction]
    guesses: int
    actions: int
    most: Fraction
    gain: _Number
    loss: _Number

    @classmethod
    def of(cls, problem: Problem) -> RationalProgram:
        """Return the program of a problem without zero masses."""
        joint = _rational(problem.p_xz)
        costs = _rational(problem.loss)
        masses = [sum(column, Fraction()) for column in zip(*joint, strict=True)]
        total = sum(masses, Fraction())
        p_x = [sum(row, Fraction()) / total for row in joint]
        gains = _gains(problem, p_x)
        best = max(sum((g * p for g, p in zip(row, p_x, strict=True)), Fraction()) for row in gains)
        level = problem.measure.level(problem.budget)
        # The second number is an upper bound of any vulnerability.
        most = best * (1 + Fraction(min(level, float(problem.n) / float(min(p_x)))))
        about = [
            [
                sum((g * a for g, a in zip(row, column, strict=True)), Fraction())
                for column in zip(*joint, strict=True)
            ]
            for row in gains
        ]
        return cls(
            [mass / total for mass in masses],
            problem.m,
            len(gains),
            most,
            lambda action, outcome: about[action][outcome] / masses[outcome],
            lambda outcome, guess: costs[guess][outcome] / masses[outcome],
        )


class Qif(Unlifted):
    """libqif's linear programs in rational numbers; see the docstring of the module."""

    name = "qif"
    capabilities = Capabilities(
        regimes=frozenset(),
        largest_outcomes=500,
        gives_duals=False,
        method="linear program in exact rational numbers, by libqif",
        citation="M. S. Alvim et al., The Science of Quantitative Information Flow, Springer 2020",
        libraries=("qif",),
        extra="peers",
        peer=True,
        measures=frozenset({"g-leakage", "min-entropy-leakage", "maximal-leakage"}),
    )
    tuning: Tuning = ()

    def lower(self, problem: Problem, options: Options) -> RationalProgram:
        """Return the program in rational numbers, without any tolerance."""
        del options
        return RationalProgram.of(problem)

    def solve(self, lowered: RationalProgram, options: Options) -> Raw[Answer]:
        """Run libqif once until it is finished."""
        import qif

        prior = np.array(lowered.prior, dtype=object)
        construct: Any = qif.mechanism.g_vuln.min_loss_given_max_vuln
        channel = construct(
            prior, lowered.guesses, lowered.actions, lowered.most, lowered.gain, lowered.loss
        )
        return Raw("optimal", Answer(np.array(channel, dtype=np.float64).T))


def _gains(problem: Problem, p_x: list[Fraction]) -> list[list[Fraction]]:
    """Return the gains of actions about X [actions][n]."""
    measure: Any = problem.measure
    if measure.name != "maximal-leakage":
        return _rational(measure.gains(problem.n))
    size = range(problem.n)
    return [[1 / p_x[j] if j == action else Fraction() for j in size] for action in size]


def _rational(matrix: Array) -> list[list[Fraction]]:
    return [list(map(Fraction, row)) for row in matrix.tolist()]
