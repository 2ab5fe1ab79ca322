"""The measurements of problems in Dask: blocks that add up, a model of its own runs, a page that
hides no difference.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet.showing.markdown import markdown

pytestmark = pytest.mark.gate


@pytest.fixture
def machines(load):
    """The script, which does not belong to the package."""
    return load("many_machines")


def test_blocks_are_slices_of_the_same_sensor(machines):
    whole = machines.sensor(0, 5000, 5000)
    parts = [machines.sensor(lo, hi, 5000) for lo, hi in ((0, 1234), (1234, 5000))]
    for k in (0, 1):
        assert_array_equal(np.concatenate([part[k] for part in parts], axis=1), whole[k])
        assert whole[k].min() >= 0.0
    assert whole[0].sum() == pytest.approx(1.0, abs=1e-9)


def test_the_page_says_where_answers_differ(machines):
    empty = {parts: machines.Empty(0.1, 0.01 * parts, 0.01 * parts) for parts in (1, 4)}

    def run(parts, answer):
        return machines.Run(
            1000, parts, [2.0], [(0.1, 0.5, 0.4)], [0.01], 5, 9000.0, (answer,), 1e-13
        )

    local = machines.Run(1000, 0, [1.0], [(1.5,)], [], 5, 0.0, ("0x1p-1",), 1e-13)
    model = machines.Model.of(empty, run(1, "0x1p-1"))

    def page(other):
        runs = [run(1, "0x1p-1"), run(2, other)]
        return markdown([machines.page(local, runs, [run(1, "")], empty, model)])

    assert "All answers are equal," in page("0x1p-1")
    assert "are NOT equal" in page("0x1p-2")
