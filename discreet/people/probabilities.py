"""Calibrated probabilities of labels: any classifier of scikit-learn, with cross-fitted
calibration.

A third of the people at a time gets probabilities from a copy of the classifier that was fitted on
the others. On all of them a calibration p → softmax(a log p + b) is fitted, which has one slope and
an offset for each label. The classifier that is used afterwards is fitted on everybody and
calibrated by the same numbers. People whose record occurs often get their probabilities from it
too, as none of them has much say in it.

By default the classifier is scikit-learn's histogram gradient boosting. The columns of a data frame
are read as a deployed rule reads them (`discreet.people.folder`): numbers pass, and an
`OrdinalEncoder` takes texts, of which the rarest share a code and unseen ones count as missing.

Source: J. Platt, Probabilistic Outputs for Support Vector Machines, in *Advances in Large Margin
Classifiers* (1999); C. Guo et al., On Calibration of Modern Neural Networks, ICML 2017,
arXiv:1706.04599.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.people.folder import numbers_of, read_cells
from discreet.people.rows import Rows, take_rows
from discreet.problems.frames import Codes

FOLDS = 3
_ENOUGH = 50  # people of each label, of whom a tenth say when to stop
LEAST = 1e-12  # probability that a label has at least
_MOST_CATEGORIES = 254  # that gradient boosting of scikit-learn takes, besides missing


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A fitted classifier with its calibration.

    model         None where all people have the same label
    known         the codes of the labels that the model knows, in its order
    slope, offset of the calibration; offset [labels]
    """

    model: Any
    known: Codes
    slope: float
    offset: Array

    def probabilities(self, table: Any) -> Array:
        """p(label given features) of each row [people, labels]."""
        if self.model is None:
            return np.tile(np.exp(self.offset), (table.shape[0], 1))
        raw = _raw(self.model, table, self.known, self.offset.size)
        return _softmax(self.slope * np.log(raw) + self.offset)


@dataclass(frozen=True, eq=False)
class SideBySide:
    """A calibrated classifier for each of several sensitive columns; their labels one after
    another.
    """

    parts: tuple[Calibrated, ...]

    def probabilities(self, table: Any) -> Array:
        """p(label given features) of each row, of every column [people, labels of all]: those of
        each add up to one.
        """
        return np.hstack([each.probabilities(table) for each in self.parts])


def calibrate(
    estimator: Any,
    people: Rows,
    codes: Codes,
    labels: int,
    rng: np.random.Generator,
    *,
    weighed: bool = True,
) -> tuple[Calibrated, Array]:
    """A classifier of these codes, calibrated, and probabilities of these people [people, labels]:
    cross-fitted or, of frequent records, its own.

    estimator: one with `fit` and `predict_proba`, which is copied; None for the default. weighed:
    whether the classifier is given the weights, as the calibration is.
    """
    table = people.table
    weight = people.weight
    known = np.unique(codes)
    if known.size == 1:
        offset = np.where(np.arange(labels) == known[0], 0.0, -np.inf)
        return Calibrated(None, known, 1.0, offset), np.tile(np.exp(offset), (codes.size, 1))
    raw = np.empty((codes.size, labels))
    own = weight if weighed else None
    for inside, outside in _folds(codes, people.person, rng):
        seen = np.unique(codes[inside])
        if seen.size == 1:
            raw[outside] = np.clip(np.arange(labels) == seen[0], LEAST, 1.0)
            continue
        part = _fit(
            estimator,
            take_rows(table, inside),
            codes[inside],
            None if own is None else own[inside],
            rng,
        )
        raw[outside] = _raw(part, take_rows(table, outside), seen, labels)
    slope, offset = _calibration(
        np.log(raw), codes, known, np.ones(codes.size) if weight is None else weight
    )
    model = _fit(estimator, table, codes, own, rng)
    if (frequent := people.frequent).size:
        raw[frequent] = _raw(model, take_rows(table, frequent), known, labels)
    return Calibrated(model, known, slope, offset), _softmax(slope * np.log(raw) + offset)


def _folds(
    codes: Codes, person: Codes | None, rng: np.random.Generator
) -> Iterator[tuple[Codes, Codes]]:
    """(fitted, held out) rows of each fold; labels are spread evenly, and all rows of a person are
    in one fold.
    """
    first = np.arange(codes.size)
    if person is not None:  # the label of somebody's first row stands for all
        _, first, person = np.unique(person, return_index=True, return_inverse=True)
    order = rng.permutation(first.size)
    order = order[np.argsort(codes[first[order]], kind="stable")]
    fold = np.empty(first.size, dtype=np.intp)
    fold[order] = np.arange(first.size) % FOLDS
    if person is not None:
        fold = fold[person]
    for k in range(FOLDS):
        if (fold == k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _fit(
    estimator: Any, table: Any, codes: Codes, weight: Array | None, rng: np.random.Generator
) -> Any:
    from sklearn.base import clone

    seed = int(rng.integers(2**31))
    if estimator is None:
        model = classifier_of(
            table, bool(np.bincount(codes)[np.unique(codes)].min() >= _ENOUGH), seed
        )
    else:
        model = clone(estimator)
        _seed_model(model, seed)
    return model.fit(table, codes, **_weights(model, weight))


def _boosting(categories: list[bool] | None, enough: bool, seed: int) -> Any:
    """Small steps of small trees, stopped early where there are enough people of each label to tell
    when.
    """
    from sklearn import get_config
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_leaf_nodes=15,
        max_iter=300 if enough else 50,
        early_stopping=enough,
        categorical_features=categories,
        random_state=seed,
    )
    return (
        model.set_fit_request(sample_weight=True)
        if get_config()["enable_metadata_routing"]
        else model
    )


def _seed_model(model: Any, seed: int) -> None:
    """Give a seed to whatever in the model has none."""
    unset = {
        name: seed
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    model.set_params(**unset)


def _weights(model: Any, weight: Array | None) -> dict[str, Any]:
    """The arguments of `fit` that hold the weights: named as routing does, or by the last step of a
    pipeline.
    """
    from sklearn import get_config
    from sklearn.utils.validation import has_fit_parameter

    if weight is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        return {"sample_weight": weight}
    steps = getattr(model, "steps", None)
    last, name = (
        (steps[-1][1], f"{steps[-1][0]}__sample_weight") if steps else (model, "sample_weight")
    )
    if not has_fit_parameter(last, "sample_weight") and not _takes_anything(last):
        raise InputError(
            f"{type(last).__name__} takes no sample_weight; leave it out, or take another estimator"
        )
    return {name: weight}


def _takes_anything(model: Any) -> bool:
    """Whether `fit` passes on what it does not know, as searches do."""
    return any(each.kind is each.VAR_KEYWORD for each in signature(model.fit).parameters.values())


def _raw(model: Any, table: Any, known: Codes, labels: int) -> Array:
    """What the model says, in columns of all labels, none of probability 0."""
    probabilities = np.full((table.shape[0], labels), LEAST)
    try:
        said = np.asarray(model.predict_proba(table), dtype=np.float64)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            f"these people have other columns than those fitted on: {error}; give columns alike"
        ) from error
    probabilities[:, known] = np.maximum(said, LEAST)
    return probabilities


def _calibration(logs: Array, codes: Codes, known: Codes, weight: Array) -> tuple[float, Array]:
    """The slope and the offsets of greatest likelihood, with a pull towards 1 and 0 that ten people
    outweigh.
    """
    from scipy.optimize import minimize

    picked = logs[:, known]
    truth = np.searchsorted(known, codes)
    everyone = np.arange(codes.size)
    k = known.size
    weight = weight / weight.mean()

    def loss(numbers: Array) -> tuple[float, Array]:
        p = _softmax(numbers[0] * picked + numbers[1:])
        pull = numbers - np.append(1.0, np.zeros(k))
        value = -float(weight @ np.log(np.maximum(p[everyone, truth], 1e-300))) + 0.5 * float(
            pull @ pull
        )
        p[everyone, truth] -= 1.0
        p *= weight[:, None]
        return value, np.append((p * picked).sum(), p.sum(axis=0)) + pull

    start = np.append(1.0, np.zeros(k))
    run: Any = minimize
    solution = run(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(0.05, 20.0)] + [(-20.0, 20.0)] * k
    ).x
    offset = np.full(logs.shape[1], 0.0)
    offset[known] = solution[1:]
    return float(solution[0]), offset


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


# -- tables
# --------------------------------------------------------------------------------------------------


def classifier_of(table: Any, enough: bool, seed: int) -> Any:
    """The default classifier of a table: gradient boosting, after the encoders that the columns of
    a data frame need.
    """
    if not hasattr(table, "iloc"):
        return _boosting(None, enough, seed)
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    missing = float("nan")
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=missing,
        encoded_missing_value=missing,
        max_categories=_MOST_CATEGORIES,
    )
    tools = {
        "numbers": FunctionTransformer(read_cells, kw_args={"kind": "numbers"}),
        "texts": make_pipeline(FunctionTransformer(read_cells, kw_args={"kind": "texts"}), encoder),
    }
    kinds = ["texts" if numbers_of(part) is None else "numbers" for _, part in table.items()]
    places = {kind: [k for k, each in enumerate(kinds) if each == kind] for kind in tools}
    used = [(tool, places[kind]) for kind, tool in tools.items() if places[kind]]
    of_texts = [kind == "texts" for kind in sorted(kinds)]
    return make_pipeline(make_column_transformer(*used), _boosting(of_texts, enough, seed))
