"""What files say about the people of an evaluation: nothing from which the count of a cell of the
table of group and guess that holds fewer than five of them could be computed.

A leakage with two digits tells such a count where its group is small, so none is stated: the
promise says what it is at most. The group has no rates, and its few people are counted in its
largest cell. So that a subtraction does not give them away, all other counts, rates and shares are
rounded to twenty people, limits outward.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np

from discreet.people.evaluation import Evaluation
from discreet.people.places import Lottery

FEWEST = 5
_STEP = 20.0  # people
_WITHHELD = {"estimate": None, "low": 0.0, "high": 1.0}


def published(evaluation: Evaluation, rounded: bool = False) -> dict[str, Any]:
    """`Evaluation.to_dict()` for a file.

    rounded: whether numbers are rounded even if no cell of its own table holds few people.
    """
    record = evaluation.to_dict()
    few = _rare_cells(evaluation)
    if few.any():
        record |= {"leakage": None, "leakage_at_most": None, "odds": None, "leakages": {}}
    elif not rounded:
        return record
    kept = np.where(few, 0.0, evaluation.table)
    hidden = np.where(few, evaluation.table, 0.0).sum(axis=0)
    kept[kept.argmax(axis=0), np.arange(hidden.size)] += hidden
    table = (_STEP * np.round(kept / _STEP)).astype(object)
    table[few] = None
    record["table"] = table.tolist()
    sizes = evaluation.table.sum(axis=0)
    for row, size, small in zip(record["rates"], sizes.tolist(), few.any(axis=0), strict=True):
        row["share"] = _in_steps(row["share"], evaluation.people, size < FEWEST)
        del row["impact_ratios"]  # from which rates follow
        row["guesses"] = {
            guess: _WITHHELD if small else _in_steps(limits, size)
            for guess, limits in row["guesses"].items()
        }
    if evaluation.secrets:
        each = evaluation.secrets.items()
        record["secrets"] = {str(name): published(own, rounded=True) for name, own in each}
    return record


def published_leakage(evaluation: Evaluation, secret: Any) -> dict[str, float | None]:
    """The leakage about a sensitive column, and its upper limit, for a file."""
    own = evaluation.each[secret]
    if _rare_cells(own).any():
        return {"leakage": None, "leakage_at_most": None}
    return {"leakage": own.leakage.estimate, "leakage_at_most": own.at_most}


def published_lottery(evaluation: Evaluation, lottery: Lottery) -> Lottery:
    """Return the lottery that dilutes a rule. Its share is in the rule's file and determines the
    limit of the leakage, so if few people are concerned it has only two digits.
    """
    tables = [evaluation, *evaluation.secrets.values()]
    if not any(_rare_cells(each).any() for each in tables):
        return lottery
    return Lottery(1.0 - two_digits(1.0 - lottery.share, ROUND_FLOOR), lottery.towards)


def two_digits(value: float, rounding: str = ROUND_CEILING) -> float:
    """The value with two digits."""
    return float(Context(prec=2, rounding=rounding).create_decimal(repr(value)))


def _rare_cells(evaluation: Evaluation) -> Any:
    """Which cells [m, n] hold few people, without the lottery of a diluted rule."""
    return evaluation.by_truth.sum(axis=0) < FEWEST


def _in_steps(
    limits: dict[str, float], people: float, few: bool = False
) -> dict[str, float | None]:
    step = _STEP / max(people, 1.0)
    return {
        "estimate": None if few else min(1.0, step * round(limits["estimate"] / step)),
        "low": step * math.floor(limits["low"] / step),
        "high": min(1.0, step * math.ceil(limits["high"] / step)),
    }
