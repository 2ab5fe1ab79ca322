"""Two doors in Python: the arguments of public functions, and the parameters of
catalog problems.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzzing.examples import answer, model
from fuzzing.garbage import quoted, spoiled

import discreet as ds
from discreet import backends, problems
from discreet.problems import catalog, sensors

__all__ = ["arrays", "parameters"]

Action = Callable[[], Any]


def _blocks(n: int, m: int, N: int, **given: Any) -> ds.BlockProblem:
    """A problem of blocks from an iterator."""
    return problems.block_problem(
        problems.blocks_from(lambda: [(model().p_xz, model().loss)], n, m, N), **given
    )


@functools.cache
def _calls() -> tuple[tuple[Callable[..., Any], dict[str, Any]], ...]:
    """Public functions with arguments that are right."""
    right = model()
    found = answer()
    joint = np.full((2, 2, 3), 1.0 / 12.0)
    budgets = {"budget": 0.01, "equivocation": None}
    masses = {"p_xz": right.p_xz, "loss": right.loss}
    duals = {"tilt": found.tilt, "multiplier": found.multipliers}
    table = {
        "x": [0, 1, 1, 0],
        "y": ["a", "b", "b", "a"],
        "z": [0.1, 0.2, 0.3, 0.1],
        "w": [1, 2, 3, 1],
    }
    records = {"table": table, "hide": "x", "guess": "y", "use": ["z"], "weights": "w", "seed": 0}
    law = sensors.paper_conditional([0.0, 1.0])
    prior = sensors.paper_p_xy()
    limits = {"gap": 1e-9, "time_limit": 5.0, "max_iterations": 50, "settings": {"threads": 1}}
    densities = [[sensors.NormalDensity(float(x + y), 0.5) for y in range(2)] for x in range(2)]
    binning = {
        "bins": 2,
        "edges": {"z": [0.15]},
        "missing": "drop",
        "smoothing": 0.5,
        "min_count": 1,
    }
    return (
        (ds.Problem, {**masses, **budgets, "name": "x"}),
        (
            ds.Problem.from_joint,
            {"joint": joint, **budgets, "loss_matrix": [[0.0, 1.0], [1.0, 0.0]], "name": "x"},
        ),
        (ds.Problem.from_frame, {**records, "budget": 0.01, "fraction": None, **binning}),
        (right.with_budget, {"budget": 0.01, "equivocation": None}),
        (
            ds.certify,
            {"problem": right, "answer": found.estimator, **duals, "gap": 1e-9, "anchors": ()},
        ),
        (ds.certify, {"problem": right, "answer": found.rule, **duals}),
        (ds.audit, {"problem": right, "estimator": found.estimator, **duals, "gap": 1e-9}),
        (ds.solve, {"problem": right, "backend": "tilt", **limits}),
        (ds.solve, {"problem": right, "backend": "auto", "gap": 1e-6}),
        (
            ds.frontier,
            {
                "problem": right,
                "points": 2,
                "width": 0.5,
                "backend": "tilt",
                "gap": 1e-6,
                "settings": {},
            },
        ),
        (ds.advise, {"problem": right, "gap": 1e-6, "seconds": 1.0, "results": (), "peers": False}),
        (
            ds.OutcomeRule,
            {
                "tilt": found.tilt,
                "ties": [1],
                "columns": [[0.5], [0.5]],
                "share": 0.1,
                "towards": [0.5, 0.5],
                "band": 0.0,
            },
        ),
        (ds.Options, {**limits}),
        (ds.inference, {"model": joint, "estimator": found.estimator[:, :3]}),
        (
            ds.local_inference,
            {
                "laws": law,
                "p_xy": prior,
                "sensors": 2,
                "samples": 100,
                "seed": 0,
                "confidence": 0.95,
            },
        ),
        (problems.local_law, {"p_z_given_xy": law, "p_xy": prior}),
        (problems.confidence_interval, {"hits": 1, "samples": 5, "confidence": 0.9}),
        (problems.fano_bound, {"equivocation_nats": 0.5, "n": 3, "sharp": True}),
        (problems.entropy, {"p": [0.5, 0.5]}),
        (
            ds.files.map_problem,
            {
                "path": "model.npz",
                "budget": 0.1,
                "equivocation": None,
                "loss": None,
                "loss_matrix": None,
            },
        ),
        (
            problems.lattice_problem,
            {
                "p_z_given_xy": law,
                "p_xy": prior,
                "sensors": 3,
                "budget": 0.01,
                "tail": 0.0,
                "threads": 1,
            },
        ),
        (
            ds.ContinuousProblem,
            {
                "distributions": densities,
                "p_xy": prior,
                "budget": 0.01,
                "loss_matrix": None,
                "name": "x",
            },
        ),
        (
            sensors.single_sensor,
            {"distributions": densities, "p_xy": prior, "edges": [-1.0, 0.0, 1.0]},
        ),
        (sensors.iid_sensors, {"p_z_given_xy": law, "p_xy": prior, "sensors": 2}),
        (sensors.mixed_sensors, {"p_z_given_xy": [law, law], "p_xy": prior}),
        (
            sensors.grouped_sensors,
            {"groups": [law[None], np.tile(law, (2, 1, 1, 1))], "p_xy": prior},
        ),
        (sensors.index_sensors, {"p_z_given_xy": [law, law], "p_xy": prior}),
        (sensors.index_vectors, {"bins": [2, 3]}),
        (sensors.grouped_count_vectors, {"sizes": (1, 2), "bins": (2, 3)}),
        (sensors.binned_law, {"distributions": densities, "edges": [-1.0, 0.0, 1.0]}),
        (
            sensors.linear_conditional,
            {"weight_x": 0.4, "weight_y": 0.6, "sigma": 0.1, "edges": [0.0, 1.0]},
        ),
        (sensors.NormalDensity, {"mean": 0.0, "sigma": 1.0}),
        (problems.paper_continuous, {"budget": 0.01, "equivocation": None}),
        (_blocks, {"n": 2, "m": 2, "N": 4, "budget": 0.01, "name": "x"}),
        (sensors.count_vectors, {"sensors": 3, "bins": 3}),
        (sensors.even_edges, {"bins": 4, "low": 0.0, "high": 1.0}),
        (ds.save_problem, {"path": "saved.npz", "problem": right, "overwrite": True}),
        (
            ds.save_solution,
            {
                "path": "kept.npz",
                "estimator": found.estimator,
                "tilt": found.tilt,
                "multipliers": found.multipliers,
                "metadata": {"x": 1},
                "overwrite": True,
            },
        ),
        (
            ds.load_problem,
            {"path": "model.npz", "budget": 0.1, "equivocation": None, "max_bytes": 1 << 20},
        ),
        (ds.load_solution, {"path": "answer.npz", "max_bytes": 1 << 20}),
        (
            ds.verify,
            {"problem": {**masses, "budget": 0.01}, "solution": found.members(), "budget": 0.02},
        ),
        (ds.verify, {"problem": right, "solution": found, "budget": None}),
        (backends.load_backend, {"name": "tilt"}),
    )


def arrays(r: random.Random) -> tuple[str, Action]:
    """A call of a public function with one or two arguments spoiled."""
    function, arguments = r.choice(_calls())
    given = dict(arguments)
    for key in r.sample(sorted(given), r.randint(1, min(2, len(given)))):
        given[key] = spoiled(r, given[key])
    changed = ", ".join(
        f"{key}={quoted(value)}" for key, value in given.items() if value is not arguments[key]
    )
    return f"{getattr(function, '__qualname__', function)}({changed})", lambda: function(**given)


def parameters(r: random.Random) -> tuple[str, Action]:
    """A catalog problem with some parameters spoiled."""
    entry = r.choice(catalog.entries())
    given: dict[str, Any] = {}
    for each in r.sample(entry.parameters, r.randint(0, min(3, len(entry.parameters)))):
        value = spoiled(r, each.default)
        given[each.name] = value if r.random() < 0.5 else quoted(value)
    for key in r.sample(("budget", "equivocation", "fraction"), r.choice((0, 0, 1, 2))):
        given[key] = spoiled(r, 0.1)
    return f"build({entry.name!r}, {quoted(given)})", lambda: catalog.build(entry.name, **given)
