"""Two survey tables of real answers that ship with statsmodels (extra "data"; nothing is
downloaded).

The table is the whole population of the model: p(x, y, z) is the smoothed frequency of the
respondents' answers; see `discreet.problems.samples` for the effect of binning and smoothing.

Sources: American National Election Study 1996, as in statsmodels.datasets.anes96 (944 respondents);
R. C. Fair, "A Theory of Extramarital Affairs", J. Political Economy 86 (1978), as in
statsmodels.datasets.fair (6366 respondents).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import as_list, brief
from discreet.errors import InputError, how_to_install
from discreet.problems.binning import DEFAULT_SMOOTHING
from discreet.problems.catalog.registry import Means, Number, Whole, register
from discreet.problems.problem import Problem
from discreet.problems.samples import FewRecordsWarning

_X = Annotated[str, Means("private column")]
_Y = Annotated[str, Means("public column")]
_Z = Annotated[tuple[str, ...], Means("columns the estimator sees")]
_Classes = Annotated[int, Whole("quantile classes of the public column")]
_Bins = Annotated[
    int | tuple[int, ...],
    Means("quantile bins of the columns of z: one number for all, or one per column"),
]
_Smoothing = Annotated[
    float, Number("pseudo-records per cell, spread as p(x, y) of the whole sample", zero=True)
]
_Least = Annotated[int, Whole("cells with fewer respondents are gathered into one outcome", 0)]


@register("survey", extra="data")
def anes96(
    x: _X = "vote",
    y: _Y = "income",
    z: _Z = ("age", "TVnews", "educ", "selfLR"),
    y_classes: _Classes = 3,
    bins: _Bins = (4, 3, 3, 3),
    smoothing: _Smoothing = DEFAULT_SMOOTHING,
    min_count: _Least = 0,
) -> Problem:
    """944 voters of 1996: X: the vote; Y: income class; Z: age, TV news, education, self-placement.

    Guess the income class of a voter from a short questionnaire without revealing whether the vote
    went to Clinton or Dole. The self-placement is from left to right.

    Columns: popul, TVnews, selfLR, ClinLR, DoleLR, PID, age, educ, income, vote, logpopul. A
    private column with more than ten values is refused; y is cut into `y_classes` quantile classes.
    """
    table = _table("anes96")
    table["logpopul"] = np.log(table["popul"] + 0.1)
    return _survey(
        "anes96", table, x, y, z, y_classes, bins, smoothing=smoothing, min_count=min_count
    )


@register("survey", extra="data")
def fair(
    x: _X = "any_affair",
    y: _Y = "rate_marriage",
    z: _Z = ("age", "yrs_married", "children", "religious", "educ"),
    y_classes: _Classes = 2,
    bins: _Bins = (4,),
    smoothing: _Smoothing = DEFAULT_SMOOTHING,
    min_count: _Least = 0,
) -> Problem:
    """6366 married women: X: any affair; Y: rating of the marriage; Z: facts about the woman.

    Guess how a woman rates her marriage from age, years married, children, religion and education,
    without revealing whether she had an affair.

    By default the rating is in two classes: very good (5, the answer of 42%) and less. Columns:
    rate_marriage, age, yrs_married, children, religious, educ, occupation, occupation_husb,
    affairs, and any_affair (affairs > 0, 32% of the respondents). A private column with more than
    ten values is refused.
    """
    table = _table("fair")
    table["any_affair"] = (table["affairs"] > 0).astype(np.float64)
    return _survey(
        "fair", table, x, y, z, y_classes, bins, smoothing=smoothing, min_count=min_count
    )


def _survey(
    owner: str,
    table: dict[str, NDArray[Any]],
    x: str,
    y: str,
    z: Sequence[str],
    y_classes: int,
    bins: Any,
    **counted: Any,
) -> Problem:
    z = as_list(z, "z", "names of columns")
    for column in (x, y, *z):
        if not isinstance(column, str) or column not in table:
            raise InputError(
                f"{owner} has no column {brief(column)}; its columns are: {', '.join(table)}"
            )
    private = np.unique(table[x]).size
    if private > 10:
        raise InputError(
            f"the column {x} of {owner} has {private} values; give a private column "
            "with at most ten"
        )
    counts = [bins] * len(z) if isinstance(bins, int) else as_list(bins, "bins", "whole numbers")
    counts = counts * len(z) if len(counts) == 1 else counts
    if len(counts) != len(z):
        raise InputError(
            f"bins has {len(counts)} entries and z has {len(z)} columns; give one entry per column"
        )
    hidden, guessed = (f"{word} {column}" for word, column in (("hidden", x), ("guessed", y)))
    people = {
        **{column: table[column] for column in z},
        hidden: _labels(table[x]),
        guessed: _classes(table[y], y_classes),
    }
    with warnings.catch_warnings():
        # The respondents are all people of this model.
        warnings.simplefilter("ignore", FewRecordsWarning)
        return Problem.from_frame(
            people,
            hide=hidden,
            guess=guessed,
            budget=math.inf,
            use=z,
            bins=dict(zip(z, counts, strict=True)),
            seed=0,
            **counted,
        )


def _classes(values: NDArray[Any], classes: int) -> NDArray[Any]:
    """Return quantile classes, each named by its largest value; equal quantiles merge."""
    classes = min(classes, values.size)
    cuts = np.unique(
        np.quantile(values, np.arange(1, classes + 1) / classes, method="inverted_cdf")
    )
    return _labels(cuts[np.searchsorted(cuts, values, side="left")])


def _labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers unchanged, and the ranks of other numbers, since fractions are not
    labels.
    """
    return (
        values
        if (values == np.floor(values)).all()
        else np.unique(values, return_inverse=True)[1].reshape(-1)
    )


def _table(name: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a file in statsmodels without importing it, which would import
    pandas.
    """
    package = find_spec("statsmodels")
    if package is None or package.origin is None:
        raise InputError(f"the catalog's {name} needs statsmodels; {how_to_install('data')}")
    file = Path(package.origin).parent / "datasets" / name / f"{name}.csv"
    header, *rows = file.read_text(encoding="utf-8").splitlines()
    mark = "," if "," in header else None
    columns = np.array([row.split(mark) for row in rows], dtype=np.float64).T.copy()
    return {
        word.strip("'\""): column for word, column in zip(header.split(mark), columns, strict=True)
    }
