"""Problems on which measures differ: release of the private variable itself, a binary chain, and a
census with up to three secrets.

The census is a stated model, not a table: every number in it is assumed, with a plausible size.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from discreet.numerics.double_double import Array
from discreet.problems.catalog.registry import Number, Whole, check_size, register
from discreet.problems.constraint import Constraint
from discreet.problems.problem import Problem


@register("adversarial")
def release(
    n: Annotated[int, Whole("values of X = Y = Z")] = 4,
    skew: Annotated[
        float,
        Number("p(x_j) is proportional to (j + 1)^−skew: 0 is uniform", zero=True, most=20.0),
    ] = 0.5,
) -> Array:
    """X = Y = Z: the private variable is observed and guessed, so every correct guess reveals it.

    Under local differential privacy the best estimator is randomised response; under maximal
    leakage with a small budget it discloses only the likeliest values. The Bayes rule excludes
    values of X, so its leakage under local differential privacy is infinite: give a budget and not
    a fraction.
    """
    check_size("release", {"n³": n**3})
    prior = np.arange(1.0, n + 1.0) ** -skew
    joint = np.zeros((n, n, n))
    joint[np.arange(n), np.arange(n), np.arange(n)] = np.asarray(prior / prior.sum())
    return joint


@register("sensors")
def binary_channel(
    prior: Annotated[float, Number("Pr(X = 1)", zero=True, most=1.0)] = 0.4,
    flip_0: Annotated[float, Number("Pr(Y = 1 given X = 0)", zero=True, most=1.0)] = 0.2,
    flip_1: Annotated[float, Number("Pr(Y = 0 given X = 1)", zero=True, most=1.0)] = 0.1,
    noise: Annotated[float, Number("Pr(Z ≠ Y)", zero=True, most=1.0)] = 0.05,
) -> Array:
    """A chain of binary variables: Y is X through an asymmetric channel, Z is Y through a symmetric
    one.
    """
    p_x = np.array([1.0 - prior, prior])
    y_given_x = np.array([[1.0 - flip_0, flip_0], [flip_1, 1.0 - flip_1]])
    z_given_y = np.array([[1.0 - noise, noise], [noise, 1.0 - noise]])
    return np.asarray(p_x[:, None, None] * y_given_x[:, :, None] * z_given_y)


@register("survey")
def census(
    ages: Annotated[int, Whole("age groups")] = 4,
    educations: Annotated[int, Whole("levels of education")] = 5,
    occupations: Annotated[int, Whole("classes of occupation, by pay")] = 6,
    bias: Annotated[
        float,
        Number("how much men's occupation, hours and income exceed women's", zero=True, most=10.0),
    ] = 1.0,
    secrets: Annotated[int, Whole("1: sex; 2: age group too; 3: and both together", 1, 3)] = 1,
) -> Problem | Array:
    """X: sex; Y: income above a threshold; Z: education, occupation and hours; a stated model.

    A lender guesses who earns much, from answers that also reveal sex and age. Each secret has a
    constraint of its own.

    Sexes and age groups are equally frequent and independent. Younger people have more education,
    on levels 0, 1, …; occupation increases with education and, by `bias`, for men; hours
    (part-time, full-time, more) increase with `bias` for men and peak in the middle ages. Each is a
    discretised normal variable. Pr(income is high) is logistic in all of them, and that of men is
    raised by 0.4 `bias` at equal answers. The outcome is (education · occupations + occupation) · 3
    + hours.
    """
    joint = census_joint(ages, educations, occupations, bias)
    if secrets == 1:
        return np.asarray(joint.sum(axis=1))
    by_label = joint.sum(axis=(0, 1))
    joints = (
        joint.sum(axis=(1, 2)),
        joint.sum(axis=(0, 2)),
        joint.sum(axis=2).reshape(2 * ages, -1),
    )
    return Problem(
        loss=by_label[::-1], constraints=[Constraint(p_xz, np.inf) for p_xz in joints[:secrets]]
    )


def census_joint(ages: int, educations: int, occupations: int, bias: float) -> Array:
    """Return p(sex, age group, income, outcome) [2, ages, 2, educations · occupations · 3] of
    `census`; sex 1 is a man.
    """
    check_size(
        "census",
        {
            "ages": ages,
            "educations": educations,
            "occupations": occupations,
            "sexes, incomes, hours": 12,
        },
    )
    sex = np.arange(2.0)[:, None, None, None, None]
    age = _even(ages)[:, None, None, None]
    education = _even(educations)[:, None, None]
    occupation = _even(occupations)[:, None]
    hours = np.arange(3.0) - 1.0
    joint = (
        _normal(education - 0.65 + 0.3 * age, 0.35, -3)
        * _normal(occupation - 0.15 - 0.6 * education - 0.12 * bias * sex, 0.25, -2)
        * _normal(hours + 0.3 - 0.35 * bias * sex - 0.8 * age * (1.0 - age), 0.6, -1)
    )
    score = -3.2 + 1.8 * education + 2.2 * occupation + 0.9 * hours + 0.8 * age + 0.4 * bias * sex
    high = 1.0 / (1.0 + np.exp(-score))
    masses = np.stack([joint * (1.0 - high), joint * high], axis=2) / (2.0 * ages)
    return np.asarray(masses.reshape(2, ages, 2, -1))


def _even(count: int) -> Array:
    """Return `count` evenly spaced numbers from 0 to 1; ½ if count is 1."""
    return np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])


def _normal(deviation: Array, spread: float, axis: int) -> Array:
    """Return exp(−½ (deviation/spread)²), scaled to sum to one along an axis."""
    weight = np.exp(-0.5 * (deviation / spread) ** 2)
    return np.asarray(weight / weight.sum(axis=axis, keepdims=True))
