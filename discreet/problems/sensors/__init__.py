"""Sensor models: from the law of a measurement to the joint tensor p(x, y, z).

    single_sensor      one sensor, the bin of its measurement (`bins`)
    iid_sensors        M identical sensors, the counts per bin (`several`, `counts`)
    mixed_sensors      M sensors that may all differ, their pooled counts
    grouped_sensors    counts by groups of like sensors, which keeps what pooled counts lose
    index_sensors      every report of every sensor, for few sensors

A sensor is its law Pr(it reports bin k given x_j, y_i), any at all; `binned_law` makes one from distributions and bin edges.
Given (x, y) the sensors are independent; X and Y may depend on one another and take any number of values. A model that would
need more memory than `max_bytes` is refused with its count and what to do instead. `paper` holds the paper's parameters.

Source of the models: E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, "Privacy-aware Minimum Error Probability
Estimation: An Entropy Constrained Approach".
"""

from __future__ import annotations

from discreet.problems.sensors.bins import NormalDensity, binned_law, check_edges, even_edges, interval_masses, single_sensor
from discreet.problems.sensors.counts import count_vectors
from discreet.problems.sensors.inputs import DEFAULT_MAX_BYTES
from discreet.problems.sensors.paper import (
    PAPER_EDGES,
    PAPER_SIGMA,
    PAPER_WEIGHT_X,
    PAPER_WEIGHT_Y,
    linear_conditional,
    paper_conditional,
    paper_p_xy,
)
from discreet.problems.sensors.several import (
    grouped_count_vectors,
    grouped_sensors,
    iid_sensors,
    index_sensors,
    index_vectors,
    mixed_sensors,
)

__all__ = [
    "DEFAULT_MAX_BYTES",
    "PAPER_EDGES",
    "PAPER_SIGMA",
    "PAPER_WEIGHT_X",
    "PAPER_WEIGHT_Y",
    "NormalDensity",
    "binned_law",
    "check_edges",
    "count_vectors",
    "even_edges",
    "grouped_count_vectors",
    "grouped_sensors",
    "iid_sensors",
    "index_sensors",
    "index_vectors",
    "interval_masses",
    "linear_conditional",
    "mixed_sensors",
    "paper_conditional",
    "paper_p_xy",
    "single_sensor",
]
