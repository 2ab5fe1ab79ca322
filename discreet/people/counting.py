"""Count what guesses do to people: guesses and truths of any kind in, an `Evaluation` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.checks import as_numbers, check_columns, loss_table
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.people.evaluation import Evaluation
from discreet.people.labels import (
    RARE,
    TOGETHER,
    by_name,
    column,
    columns_of,
    encode_groups,
    encode_labels,
)
from discreet.people.labels import groups as joined_groups
from discreet.people.secrets import promise_of, within
from discreet.problems.adversary.inference import check_confidence
from discreet.problems.frames import Codes
from discreet.problems.samples import each_secret

OTHER = "any other guess"
"""Label of all guesses that were not seen, used if a single guess was seen and the rule is not
known to be constant.
"""


def evaluate(
    rule_or_predictions: Any,
    X: Any = None,
    y: Any = None,
    *,
    sensitive_features: Any,
    measure: str | Measure | Mapping[Any, str | Measure] = "mutual-information",
    confidence: float = 0.95,
    labels: Sequence[Any] | None = None,
    group_labels: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None,
    groups: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None,
    loss_matrix: Any = None,
    soft: bool = False,
    asymptotic: bool = False,
    ids: Any = None,
) -> Evaluation:
    """Measure what a fixed rule does to people who were not used to make it.

    rule_or_predictions  anything with `predict`, which is called with X; or the guesses of these
                         people; or, for a rule that randomises, the probabilities of their guesses
                         [people, guesses]
    X                    the rule's input for each person (a tuple: several arguments); ignored if
                         predictions are given
    y                    the truth for each person
    sensitive_features   the group of each person. With several columns, groups are combinations of
                         values, and `secrets` has the evaluation of each column. A missing value is
                         a group of its own
    measure              measure of `leakage`, by name or as an object of `discreet.measures`; or a
                         mapping with one for each sensitive column, and mutual information for
                         their combinations
    labels               the guesses in the order of the columns of probabilities, or further
                         guesses that the rule may make. By default every value of y and every guess
                         that was seen; if a single guess was seen, all others count as one guess
                         that was not seen, `OTHER`
    group_labels         groups of the population, even if none of these people belongs to one; or a
                         mapping with the values of each sensitive column
    groups               the groups that the evaluation is about, as in `PrivateClassifier`; people
                         of other groups are left out and counted in `left_out`. By default those
                         that a rule with a promise (`DeployedRule`, `PrivateClassifier`) made it
                         about, and for anything else everybody counts
    loss_matrix          loss of guess i' when the truth is i, in the order of the guesses; 0/1 by
                         default
    asymptotic           base the upper limit (`at_most`, `holds`) on a likelihood ratio, which is
                         smaller but needs many people. Only mutual information has such a limit; if
                         a guess and a group rarely occur together, the exact limit is used
    ids                  an integer or a text for each person, which determines the coins of a rule
                         that takes ids
    soft                 call `predict_proba` of the rule for the probabilities of its guesses, as
                         defined by `Rule` and `PrivateClassifier`; no coin is tossed. Other
                         classifiers return probabilities of the truth instead

    A guess that was not seen has limits like any other. Only a rule that is known to be constant
    leaks exactly nothing: one with a single entry in `possible_guesses` or in `labels`. Raises
    InputError.
    """
    level = check_confidence(confidence)
    parts = columns_of(sensitive_features)
    names = [str(name) for name, _ in parts]
    measures = dict(by_name(measure))
    chosen = measure_of(measures.pop(TOGETHER, MUTUAL_INFORMATION))
    own_measures = each_secret(measures, names, "measure", every=False)
    covered = {} if groups is None else by_name(groups)
    promised = promise_of(rule_or_predictions)
    if groups is None and promised.bound:
        have = (TOGETHER, *names)
        covered = {name: each for name, each in promised.groups.items() if str(name) in have}
    labelled = {**by_name(group_labels), **covered}
    named = tuple(labelled.pop(TOGETHER, None) or ())
    own_labels = each_secret(labelled, names, "group_labels", every=False)
    truth = column(y, "y")
    known = tuple(
        getattr(rule_or_predictions, "possible_guesses", ()) if labels is None else labels
    )
    made, known = _guesses_of(rule_or_predictions, X, len(truth), known, soft=soft, ids=ids)
    known, weights, counted = _guesses(made, truth, known)
    joined = joined_groups(sensitive_features)
    for what, entries in (("the guesses", len(weights)), ("sensitive_features", len(joined))):
        if entries != len(truth):
            raise InputError(
                f"there are {entries} entries of {what} and {len(truth)} of y; give "
                "one for each person"
            )
    if not len(truth):
        raise InputError("there are no people; give at least one")
    inside = np.flatnonzero(within(sensitive_features, covered))
    if not inside.size:
        raise InputError(
            f"none of the {len(truth)} people is of a group that the promise is about; give people "
            "of these groups or, to ask about others, guesses in place of the rule"
        )
    truths, true_codes = encode_labels(truth[inside], "y", known)
    losses = _losses(loss_matrix, len(truths), len(known))

    def evaluation(labels: tuple[Any, ...], codes: Codes) -> Evaluation:
        tables = _tables(weights[inside], true_codes, len(truths), codes, len(labels))
        return Evaluation(
            level,
            chosen,
            known,
            labels,
            truths,
            tables,
            losses,
            counted,
            asymptotic=asymptotic,
            left_out=len(truth) - inside.size,
        )

    together = evaluation(*encode_groups(joined[inside], "sensitive_features", named))
    if len(together.groups) < 2:
        raise InputError(
            f"all {inside.size} people are of one group, of whom no guess can say more; give "
            "people of every group, or name "
            "the others with group_labels="
        )
    alone = {}
    for place, (name, part) in enumerate(parts):
        known_labels = own_labels[place] or _values(named, place, len(parts))
        what = f"sensitive_features {name!r}"
        own = evaluation(*encode_groups(part[inside], what, tuple(known_labels)))
        if len(own.groups) > 1:
            measured = _measure(own_measures[place], chosen, len(own.groups))
            alone[name] = replace(own, measure=measured)
    several = tuple(name for name, _ in parts) if len(parts) > 1 else ()
    return replace(together, secrets=alone, columns=several)


def _guesses_of(
    rule: Any, table: Any, people: int, known: tuple[Any, ...], *, soft: bool, ids: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Return the guesses of a rule, or their probabilities if `soft`, and the guesses that it may
    make; guesses are returned as they are.
    """
    asked = table if isinstance(table, tuple) else (table,)
    if soft:
        return _state_guesses(rule, asked, known)
    if not hasattr(rule, "predict"):
        return rule, known
    if ids is None and len(asked) == 1 and getattr(rule, "needs_ids", False):
        ids = np.arange(people)  # a separate coin for each person
    coins = {} if ids is None else {"ids": ids}
    return rule.predict(*asked, **coins), known


def _state_guesses(
    rule: Any, asked: tuple[Any, ...], known: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...]]:
    """Return the probabilities with which a rule makes its guesses, with their labels; a single
    certain guess is returned as a label.
    """
    made = getattr(rule, "guesses", getattr(rule, "classes_", None))
    if not hasattr(rule, "predict_proba") or made is None:
        raise InputError(
            "soft=True asks a rule for predict_proba, which this one lacks; give a "
            "rule, or leave soft= out"
        )
    labels = tuple(made.tolist() if hasattr(made, "tolist") else made)
    weights = np.asarray(rule.predict_proba(*asked))
    if len(known) == 1 < len(labels):
        place = labels.index(known[0])
        if (weights[:, place] == 1.0).all():
            return [known[0]] * len(weights), known
    return weights, labels


def _guesses(
    guesses: Any, truth: Any, known: tuple[Any, ...]
) -> tuple[tuple[Any, ...], Array, bool]:
    """Return the labels of the guesses, the probability of each [people, m], and whether they are
    certain.
    """
    if getattr(guesses, "ndim", 1) == 2 and np.shape(guesses)[1] > 1:
        weights = as_numbers(guesses, "the probabilities of the guesses", "[people, guesses]")
        names = known or encode_labels(truth, "y")[0]
        if len(names) != weights.shape[1]:
            raise InputError(
                f"the probabilities have {weights.shape[1]} columns and there are {len(names)} "
                "labels; "
                "give labels= in the order of the columns"
            )
        if not (weights >= 0.0).all():
            raise InputError(
                "a probability of a guess is negative or not a number; give numbers from 0 to 1"
            )
        check_columns(weights.T, "the probabilities of the guesses, transposed")
        return names, np.minimum(weights, 1.0), False
    made = column(guesses, "the guesses")
    names, codes = encode_labels(made, "the guesses", known or encode_labels(truth, "y")[0])
    if len(names) == 1 and not known:
        names = (*names, OTHER)
    return names, np.asarray(np.equal.outer(codes, np.arange(len(names))), dtype=np.float64), True


def _tables(weights: Array, truths: Codes, values: int, codes: Codes, n: int) -> Array:
    """Return the number of people of each truth and group who got each guess [truths, m, n], or
    sums of probabilities.
    """
    cell = truths * n + codes
    m = weights.shape[1]
    sums = np.array(
        [np.bincount(cell, weights=column, minlength=values * n) for column in weights.T]
    )
    people = np.bincount(cell, minlength=values * n)
    # rounding may have changed the last digit
    sums = np.where(np.abs(sums - np.round(sums)) < 1e-9, np.round(sums), sums)
    sums = sums * (people / np.where(people > 0, sums.sum(axis=0), 1.0))
    return np.asarray(sums.reshape(m, values, n).swapaxes(0, 1))


def _losses(loss_matrix: Any, values: int, m: int) -> Array:
    """Return the loss of guess i when the truth is k [truths, m]; the first truths are the
    guesses.
    """
    if loss_matrix is None:
        return 1.0 - np.eye(values, m)
    matrix = loss_table(loss_matrix, values)
    if matrix.shape[1] != m:
        raise InputError(
            f"loss_matrix has {matrix.shape[1]} columns and there are {m} guesses; "
            "give one for each guess"
        )
    return matrix


def _measure(own: Any, together: Measure, values: int) -> Measure:
    """Return the measure for one column: its own, that of the combinations, or mutual information
    if neither applies.
    """
    if own is not None:
        return measure_of(own).on(np.arange(values), values)
    try:
        return together.on(np.arange(values), values)
    except InputError:  # a gain about combinations does not define one about a column
        return MUTUAL_INFORMATION


def _values(labels: tuple[Any, ...], place: int, columns: int) -> tuple[Any, ...]:
    """Return the values of one column from the labels of groups, which are values of it or
    combinations.
    """
    if columns == 1:
        return labels
    return tuple(dict.fromkeys(each[place] for each in labels if each != RARE))
