"""What a user of the installed package writes, for their own type checker: `.ci/run` has mypy and
pyright read it.

`assert_type` fails where a checker sees another type than the one named, `Any` included.
"""

from typing import assert_type

import numpy as np

import discreet as ds

problem = ds.problems.paper_single(bins=16, budget=0.01)
assert_type(problem, ds.Problem)
solution = ds.solve(problem, backend="tilt")
assert_type(solution, ds.Solution)
assert_type(solution.error_probability, float)
assert_type(solution.certificate, ds.Certificate | None)
assert_type(ds.frontier(problem), ds.Frontier)
assert_type(ds.certify(problem, np.full((2, 16), 0.5)), ds.Solution)
own = ds.Problem(
    p_xz=np.full((2, 3), 1 / 6), loss=np.full((2, 3), 1 / 6), budget=0.1, measure="chi-square"
)
assert_type(own.with_budget(0.2), ds.Problem)
assert_type(ds.PrivateClassifier(budget=0.01), ds.PrivateClassifier)
