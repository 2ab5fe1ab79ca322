"""The exact limit of the difference of two rates: never below the truth too often, and hardly
longer than the normal approximation.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet.people.differences import difference_limit, largest_difference


@pytest.mark.parametrize("people, level", [((9, 9), 0.05), ((5, 14), 0.2), ((11, 3), 0.1)])
def test_the_limit_lies_below_no_difference_with_more_than_its_level(people, level):
    """By the exact chance of every table, for rates on a grid."""
    people = np.array(people, dtype=float)
    first, second = (np.arange(each + 1.0) for each in people)
    limits = np.array(
        [[difference_limit(np.array([a, b]), people, level) for b in second] for a in first]
    )
    for w in np.linspace(0.0, 1.0, 21):
        for v in np.linspace(0.0, w, 11):
            masses = np.outer(binom.pmf(first, people[0], w), binom.pmf(second, people[1], v))
            assert masses[limits < w - v].sum() <= level * (1.0 + 1e-9)


def test_the_limit_grows_with_the_first_count_and_falls_with_the_second():
    people = np.array([40.0, 25.0])
    limits = np.array(
        [
            [difference_limit(np.array([a, b]), people, 0.05, -1.0) for b in range(0, 26, 5)]
            for a in range(0, 41, 8)
        ]
    )
    assert (np.diff(limits, axis=0) > 0.0).all()
    assert (np.diff(limits, axis=1) < 0.0).all()


@pytest.mark.parametrize(
    "people, rates, longer",
    [((500, 500), (0.21, 0.13), 1.06), ((2000, 2000), (0.21, 0.13), 1.04),
     ((2000, 900), (0.05, 0.03), 1.06), ((30_000, 20_000), (0.5, 0.5), 1.04)],
)  # fmt: skip
def test_the_limit_is_hardly_longer_than_the_normal_approximation(people, rates, longer):
    people = np.array(people, dtype=float)
    hits = np.round(people * rates)
    shown = hits / people
    width = norm.isf(0.05) * np.sqrt((shown * (1.0 - shown) / people).sum())
    limit = difference_limit(hits, people, 0.05)
    assert width < limit - (shown[0] - shown[1]) < longer * width


def test_nothing_is_known_about_a_group_that_no_one_has():
    people = np.array([[0.0, 30.0], [30.0, 30.0]])
    assert largest_difference(np.zeros((2, 2)), people, 0.05) == 1.0
