"""The judge: what is true of an answer, computed from the problem's own numbers and nothing else.

`certify` takes any answer and any duals, also garbage, repairs both and returns the feasible pair with a certificate: an
error probability that is reached, a bound that cannot be beaten, the true leakage, and the residuals of the optimality
conditions. It imports no backend, keeps nothing between calls, and no backend calls it. Law: lower ≤ upper, whatever it is
given.

`conclusion` holds the one path from sums to the verdict; `cases` and `densities` say how the sums come about.
"""

from __future__ import annotations

from discreet.problems.judge.verdict import certify

__all__ = ["certify"]
