"""Measures by name, with their parameters: `measure_of("sibson:alpha=2")`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.checks import brief, nearest
from discreet.errors import InputError
from discreet.measures.chi_square import ChiSquare
from discreet.measures.conditional import (
    ConditionalMutualInformation,
    EqualizedOddsDifference,
)
from discreet.measures.each_guess import (
    LocalDifferentialPrivacy,
    MaxLift,
    ParityDifference,
    PointwiseInformation,
)
from discreet.measures.g_leakage import GLeakage, MinEntropyLeakage
from discreet.measures.maximal_leakage import MaximalLeakage
from discreet.measures.measure import Cone, Measure
from discreet.measures.mutual_information import MutualInformation
from discreet.measures.sibson import Sibson
from discreet.measures.total_variation import TotalVariation

MEASURES: Mapping[str, type[Measure]] = {
    family.name: family
    for family in (
        MutualInformation,
        ChiSquare,
        TotalVariation,
        Sibson,
        MaximalLeakage,
        MinEntropyLeakage,
        GLeakage,
        ParityDifference,
        MaxLift,
        LocalDifferentialPrivacy,
        PointwiseInformation,
    )
}
"""Families of unconditional measures by name."""

CONDITIONAL: Mapping[str, type[Measure]] = {
    ConditionalMutualInformation.name: ConditionalMutualInformation
}
"""Families of conditional measures by name; they need rows in groups."""

OF_PEOPLE: Mapping[str, type[Measure]] = {EqualizedOddsDifference.name: EqualizedOddsDifference}
"""Those of which people are promised, while rules are designed by another measure."""

OTHERS = frozenset(MEASURES) - {MutualInformation.name}
"""Names of all unconditional measures except mutual information."""

LINEAR = frozenset(name for name, family in MEASURES.items() if family.pieces is not Measure.pieces)
"""Names of measures that are sums of maxima of linear functions, which make the problem a linear
program.
"""


def linear_or_of(*cones: Cone) -> frozenset[str]:
    """Return the names of the measures that are linear or use one of these cones, without mutual
    information, for a solver that supports the cones.
    """
    families = (*MEASURES.values(), *CONDITIONAL.values())
    return LINEAR | {family.name for family in families if family.cone in cones} - {
        MutualInformation.name
    }


def measure_of(given: str | Measure) -> Measure:
    """Return the measure, or the one that a text describes: a family name, then optionally a colon
    and its parameters as key=value in JSON.

    `measure_of(str(measure)) == measure` for every measure. Raise InputError for anything else.
    """
    if isinstance(given, Measure):
        return given
    if not isinstance(given, str):
        raise InputError(
            f"the measure is {brief(given)}; give the name of one, or an object of "
            "discreet.measures"
        )
    name, _, rest = given.partition(":")
    known = {**MEASURES, **CONDITIONAL, **OF_PEOPLE}
    if name not in known:
        hint = nearest(name, known)
        raise InputError(
            f"there is no measure {brief(name)}{hint}; choose one of: {', '.join(known)}"
        )
    key, _, value = rest.partition("=")
    try:
        parameters: dict[str, Any] = {key: json.loads(value)} if rest else {}
        return known[name](**parameters)
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError):
        fields = ", ".join(getattr(known[name], "__dataclass_fields__", ()))
        wanted = (
            f"write {name}:{fields}=… with a number or a list of lists"
            if fields
            else f"{name} takes none"
        )
        raise InputError(
            f"the parameters of the measure {brief(given)} cannot be used; {wanted}"
        ) from None
