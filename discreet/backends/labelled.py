"""The law of (X, Ŷ) where nearly all outcomes have a label, with a few of them apart: what a vertex is solved from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.problems.measures.law import OutputLaw, faint_lift, law_of
from discreet.problems.numerics.double_double import Array, DoubleDouble
from discreet.problems.numerics.estimators import labelled_sums


def labelled_law(
    p_xz: Array, labels: NDArray[np.intp], count: int, marginal: DoubleDouble, apart: NDArray[np.intp]
) -> OutputLaw:
    """The law of (X, label) for outcomes [N] that each have one of `count` labels; marginal as in `output_law`.

    The outcomes apart [K] count for no label; the last K rows are the laws of (X, that outcome).
    """
    lift = faint_lift(marginal[0])
    lifted = np.ldexp(p_xz, lift[:, None]) if lift.any() else p_xz
    parts = labels.copy()
    parts[apart] = count
    high, low = labelled_sums(parts, count, lifted)
    single = lifted[:, apart].T
    return law_of((np.concatenate([high, single]), np.concatenate([low, np.zeros_like(single)])), marginal, lift)
