"""The Seldonian engine, which promises a difference of rates for unseen people: a logistic
regression whose guesses are drawn, searched on three fifths of the people and tested on the others.

    pip install --no-deps seldonian-engine && pip install autograd cma graphviz tqdm

Without `--no-deps` pip asks for matplotlib 3.5.1, which has no wheel for Python 3.11.

Source: P. S. Thomas et al., Preventing Undesirable Behavior of Intelligent Machines, Science 366
(2019) 999–1004; seldonian-engine 0.8.11.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np

__all__ = ["fit", "is_installed"]

_TESTED = 0.4  # of the people: as many as discreet keeps apart
_LEVEL = 0.05
_SEARCH = {
    "lambda_init": 0.5,
    "alpha_theta": 0.005,
    "alpha_lamb": 0.005,
    "beta_velocity": 0.9,
    "beta_rmsprop": 0.95,
    "use_batches": False,
    "num_iters": 1000,
    "gradient_library": "autograd",
    "hyper_search": None,
    "verbose": False,
}
"""The engine's own settings, with five times as many iterations."""


def is_installed() -> bool:
    """Return whether the engine can be imported."""
    return find_spec("seldonian") is not None


def fit(
    features: np.ndarray, truth: np.ndarray, group: np.ndarray, tolerance: float, seed: int
) -> Callable[[np.ndarray], np.ndarray] | None:
    """What gives the probabilities of two guesses for features [people, columns]; None where the
    engine has no solution.
    """
    from seldonian.dataset import SupervisedDataSet, SupervisedMetaData
    from seldonian.models import objectives
    from seldonian.models.models import BinaryLogisticRegressionModel
    from seldonian.parse_tree.parse_tree import make_parse_trees_from_constraints
    from seldonian.seldonian_algorithm import SeldonianAlgorithm
    from seldonian.spec import SupervisedSpec

    mean = features.mean(axis=0)
    spread = np.maximum(features.std(axis=0), 1e-9)
    order = np.random.default_rng(seed).permutation(len(truth))  # the engine takes the last ones
    columns = [f"z{k}" for k in range(features.shape[1])]
    groups = [f"g{j}" for j in range(int(group.max()) + 1)]
    data = SupervisedDataSet(
        features=((features - mean) / spread)[order],
        labels=truth[order],
        sensitive_attrs=np.eye(len(groups))[group[order]],
        num_datapoints=len(truth),
        meta=SupervisedMetaData(
            sub_regime="classification",
            all_col_names=[*columns, *groups, "y"],
            feature_col_names=columns,
            label_col_names=["y"],
            sensitive_col_names=groups,
        ),
    )
    pairs = list(combinations(groups, 2))
    trees = make_parse_trees_from_constraints(
        [f"abs((PR | [{a}]) - (PR | [{b}])) <= {tolerance}" for a, b in pairs],
        [_LEVEL / len(pairs)] * len(pairs),
        regime="supervised_learning",
        sub_regime="classification",
        columns=groups,
    )
    model = BinaryLogisticRegressionModel()
    spec = SupervisedSpec(
        dataset=data,
        model=model,
        parse_trees=trees,
        sub_regime="classification",
        frac_data_in_safety=_TESTED,
        primary_objective=objectives.binary_logistic_loss,
        initial_solution_fn=lambda model, X, y: model.fit(X, y),
        optimization_hyperparams=dict(_SEARCH),
    )
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        passed, found = SeldonianAlgorithm(spec).run()
    if not passed:
        return None

    def treat(people: np.ndarray) -> np.ndarray:
        second: Any = model.predict(found, (people - mean) / spread)
        return np.column_stack([1.0 - second, second])

    return treat
