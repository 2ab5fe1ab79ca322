"""What files say about the people of an evaluation: no cell of the table of group and guess that
holds fewer than five of them, nor numbers from which such a count follows by arithmetic.

These cells have no count and no estimate. So that a subtraction does not give them away, all other
counts, rates and shares are rounded to twenty people, and leakages to two digits; limits outward.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from typing import Any

import numpy as np

from discreet.people.evaluation import Evaluation

FEWEST = 5
_STEP = 20.0  # people: limits of any count below five are between the same multiples of it
_OUTWARD = {"estimate": ROUND_HALF_EVEN, "low": ROUND_FLOOR, "high": ROUND_CEILING}


def published(found: Evaluation, rounded: bool = False) -> dict[str, Any]:
    """`Evaluation.to_dict()` for a file.

    rounded: whether numbers are rounded even if no cell of its own table holds few people.
    """
    record = found.to_dict()
    if not (rounded or _has_few(found)):
        return record
    few = _counts(found) < FEWEST
    sizes = _counts(found).sum(axis=0).tolist()
    table = (_STEP * np.round(found.table / _STEP)).astype(object)
    table[few] = None
    record["table"] = table.tolist()
    for j, row in enumerate(record["rates"]):
        row["share"] = _in_steps(row["share"], found.people, sizes[j] < FEWEST)
        del row["impact_ratios"]  # from which rates follow
        cells = zip(row["guesses"].items(), few[:, j], strict=True)
        row["guesses"] = {
            guess: _in_steps(limits, sizes[j], is_few) for (guess, limits), is_few in cells
        }
    for limits in (record["leakage"], record["odds"], *record["leakages"].values()):
        limits |= {name: _two_digits(limits[name], way) for name, way in _OUTWARD.items()}
    record["leakage_at_most"] = _two_digits(record["leakage_at_most"], ROUND_CEILING)
    if found.secrets:
        each = found.secrets.items()
        record["secrets"] = {str(name): published(own, rounded=True) for name, own in each}
    return record


def published_leakage(found: Evaluation, secret: Any) -> dict[str, float | None]:
    """The leakage about a sensitive column, and its upper limit, for a file."""
    own = found.each[secret]
    numbers = {"leakage": own.leakage.estimate, "leakage_at_most": own.at_most}
    if not _has_few(found):
        return dict(numbers)
    return {name: _two_digits(value, ROUND_CEILING) for name, value in numbers.items()}


def _counts(found: Evaluation) -> Any:
    """How many people of each group got each guess, without the lottery of a diluted rule."""
    return found.table if found.before is None else found.before.table


def _has_few(found: Evaluation) -> bool:
    return bool((_counts(found) < FEWEST).any())


def _in_steps(limits: dict[str, float], people: float, few: bool) -> dict[str, float | None]:
    step = _STEP / max(people, 1.0)
    return {
        "estimate": None if few else min(1.0, step * round(limits["estimate"] / step)),
        "low": step * math.floor(limits["low"] / step),
        "high": min(1.0, step * math.ceil(limits["high"] / step)),
    }


def _two_digits(value: float | None, rounding: str) -> float | None:
    return value and float(Context(prec=2, rounding=rounding).create_decimal(repr(value)))
