"""The statistics of solver comparison, one file a question; all are pure functions of measurements.

trials             repeats taken together: what every comparison counts
claims             what a backend's word claims, and how often it was true
profiles           performance and data profiles, work–precision
aggregates         shifted geometric means with intervals and penalties; the noise floor
scaling            exponents of time and memory against size; crossovers
agreement_matrix   pairs of certified brackets
failures           reasons, grouped

The functions `trials` and `agreement_matrix` are taken from the modules of that name, which a package cannot hide.
"""

from __future__ import annotations

from discreet.reports.statistics.aggregates import (
    PENALTIES,
    SHIFT_PERCENTILE,
    Mean,
    fitting_shift,
    means,
    noise_floor,
    shifted_geometric_mean,
)
from discreet.reports.statistics.agreement_matrix import AgreementMatrix
from discreet.reports.statistics.claims import (
    WORDS,
    Claim,
    ClaimRecord,
    Leak,
    claim_of,
    claim_records,
    claimed_leaks,
    unknown_words,
)
from discreet.reports.statistics.failures import Failure, failure_groups, reason_of
from discreet.reports.statistics.profiles import (
    Profile,
    WorkPoint,
    common_tasks,
    data_profiles,
    performance_profiles,
    work_precision,
)
from discreet.reports.statistics.scaling import (
    SIZES,
    Crossover,
    Scaling,
    Series,
    crossovers,
    fit_exponent,
    scalings,
    series_by_size,
)
from discreet.reports.statistics.trials import NOT_TRIED, Task, Trial, by_task, contestants

__all__ = [
    "NOT_TRIED",
    "PENALTIES",
    "SHIFT_PERCENTILE",
    "SIZES",
    "WORDS",
    "AgreementMatrix",
    "Claim",
    "ClaimRecord",
    "Crossover",
    "Failure",
    "Leak",
    "Mean",
    "Profile",
    "Scaling",
    "Series",
    "Task",
    "Trial",
    "WorkPoint",
    "by_task",
    "claim_of",
    "claim_records",
    "claimed_leaks",
    "common_tasks",
    "contestants",
    "crossovers",
    "data_profiles",
    "failure_groups",
    "fit_exponent",
    "fitting_shift",
    "means",
    "noise_floor",
    "performance_profiles",
    "reason_of",
    "scalings",
    "series_by_size",
    "shifted_geometric_mean",
    "unknown_words",
    "work_precision",
]
