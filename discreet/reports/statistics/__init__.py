"""The statistics of solver comparison, one file a question; all are pure functions of measurements.

trials       repeats taken together: what every comparison counts
claims       what a backend's word claims, how often it was true, and why attempts failed
profiles     performance and data profiles, work–precision
aggregates   shifted geometric means with intervals and penalties; the noise floor
scaling      sweeps over a size, exponents, crossovers
agreement    pairs of certified brackets
numbers      every number of a report, as plain values

They are specified here. The page of `discreet report` computes them again in its scripts for whatever its filters leave,
with the constants of `numbers.specification`, and a test holds the two to the same results.
"""
