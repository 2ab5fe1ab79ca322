"""The statistics of solver comparison, one file for each question; all are pure functions of
measurements.

trials       repeats taken together: what every comparison counts; which times may be compared
ranking      which solver to use: tasks solved, wrong claims and seconds, by class of problem
claims       what a backend's word claims, how often it was true, and why attempts failed
profiles     performance and data profiles
aggregates   shifted geometric means with intervals and penalties; the noise floor
changes      what became wrong, worse or better between two studies, beyond the noise
scaling      sweeps over a size, exponents, crossovers
agreement    pairs of certified brackets
numbers      every number of a report, as plain values; work and precision

They are computed nowhere else: the page of `discreet report` holds the sections of every choice of
its filters.
"""
