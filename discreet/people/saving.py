"""Write a fitted `PrivateClassifier` as a folder that another process can run: the rule, the graph
and the card.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import FileError
from discreet.people.deployed import Rule, write_key
from discreet.people.design import each_secret_of, with_facts
from discreet.people.folder import CARD, CARD_DATA, GRAPH, NAMES, RULE, graph_digest, key_path
from discreet.people.frontier import steps_of
from discreet.people.graph import to_onnx
from discreet.people.labels import unnamed
from discreet.people.promise import LADDER, PeoplePoint, amounts
from discreet.people.published import published_leakage, two_digits
from discreet.problems.provenance import date_now, version_of
from discreet.reports.card import card_data, card_page
from discreet.reports.outputs import check_folder, write_folder
from discreet.showing.data import plain
from discreet.storage.writing import PathLike, refusals, shown_path

_EXAMPLES = 10_000  # rows with which the graph is checked
_CURVE = 8  # rules of the curve of a model


def save(
    private: Any,
    folder: str | Path,
    examples: Any,
    *,
    facts: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Rule:
    """Write the folder of a fitted `PrivateClassifier`, with FOLDER.key next to it; return its
    rule, with all facts about it.

    examples   rows it was fitted on, the first 10,000 of which check the graph
    facts      facts about the data in addition to its digest: `data` and `asked`

    Raises InputError for a classifier that has no graph, FileError if the place is taken by files
    that were not written here or by another key.
    """
    check_folder(folder, NAMES, overwrite=overwrite)
    place = check_key_place(folder, private.key_, overwrite)
    rows = (
        examples.iloc[:_EXAMPLES] if hasattr(examples, "iloc") else np.asarray(examples)[:_EXAMPLES]
    )
    graph = to_onnx(private, rows)
    given_facts = facts or {}
    exact_leasts = {} if private.promise_ is None else private.promise_.leasts
    leasts = {name: two_digits(least) for name, least in exact_leasts.items()}
    versions = {
        name: version_of(name) for name in ("discreet", "numpy", "scikit-learn", "onnx", "skl2onnx")
    }
    about = {
        "constant": private.constant_,
        "statement": private.statement_,
        "least": unnamed(leasts) if leasts else None,
        "asked": {**private.rule_.document["about"]["asked"], **given_facts.get("asked", {})},
        "data": {**private.data_, **given_facts.get("data", {})},
        "tried": _trial_records(private.promise_),
        "curve": _curve(private) if private.promise_ is None else [],
        "graph": graph_digest(graph),
        "made": date_now(),
        "versions": {**private.rule_.document["about"].get("versions", {}), **versions},
    }
    rule = with_facts(private.rule_, plain(about))
    contents: dict[str, str | bytes] = {
        RULE: rule.text,
        GRAPH: graph,
        CARD: card_page(rule),
        CARD_DATA: json.dumps(card_data(rule), indent=1, ensure_ascii=False, allow_nan=False)
        + "\n",
    }
    write_folder(folder, contents, {"command": "discreet fit"}, overwrite=overwrite)
    with refusals(place):
        write_key(place, private.key_, overwrite=True)
    return rule


def check_key_place(folder: PathLike, key: str | None, overwrite: bool) -> Path:
    """Return the path for the key of a rule in this folder. FileError if a file exists that does
    not contain this key, unless it may be replaced.
    """
    place = key_path(folder)
    if overwrite or not os.path.lexists(place):
        return place
    if not place.is_file() or place.read_text(errors="replace").strip() != key:
        raise FileError(
            f"{shown_path(place)} may hold the key of another rule, whose coins are lost without "
            "it; choose another folder, or replace it with --force (in Python overwrite=True)"
        )
    return place


def _trial_records(promise: Any) -> list[dict[str, Any]]:
    """Return the rules that were tried on the calibration people, with limits of errors that hold
    for all of them together.
    """
    if promise is None:
        return []
    # whatever the number that was tried before one did not pass
    each = 1.0 - (1.0 - promise.confidence) / len(LADDER)
    taken = promise.taken
    share, lottery = (None, 0.0) if taken is None else (taken.share, taken.lottery.share)
    return [
        {
            "share": step.share,
            "model_error": step.design.solution.error_probability,
            "error": vars(replace(step.people, confidence=each).error),
            **_leaks(step),
            "passed": step.people.holds(amounts(promise.budgets)),
            "taken": step.share == share,
            "lottery": lottery if step.share == share else 0.0,
        }
        for step in promise.tried
    ]


def _leaks(step: PeoplePoint) -> dict[str, Any]:
    """Return the leakage of a rule among people, together with its leakage in the model."""
    return each_secret_of(
        {
            name: record | published_leakage(step.people, name)
            for name, record in step.design.in_model.items()
        }
    )


def _curve(private: Any) -> list[dict[str, Any]]:
    """Return the results of rules for other budgets in the model, for a card without people set
    aside.
    """
    shares = steps_of(private.model_, private.budgets_, _CURVE)
    designs = [(share, private.design_of(share)) for share in shares.tolist()]
    return [
        {
            "share": share,
            "status": made.solution.status.value,
            "model_error": made.solution.error_probability,
            "lower_bound": made.solution.certificate.lower,
            **each_secret_of(made.in_model),
        }
        for share, made in designs
    ]
