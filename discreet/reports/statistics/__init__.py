"""The statistics of solver comparison, one file a question; all are pure functions of measurements.

trials             repeats taken together: what every comparison counts
claims             what a backend's word claims, and how often it was true
profiles           performance and data profiles, work–precision
aggregates         shifted geometric means with intervals and penalties; the noise floor
scaling            exponents of time and memory against size; crossovers
agreement_matrix   pairs of certified brackets
failures           reasons, grouped
"""

from __future__ import annotations
