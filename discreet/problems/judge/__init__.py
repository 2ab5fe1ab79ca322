"""The judge: what is true of an answer, computed from the problem's own numbers and nothing else.

`certify` takes any answer and any duals, even garbage. It repairs both and returns the feasible pair with a certificate: an
error probability that is reached, a bound that cannot be beaten, the true leakage, and the residuals of the optimality
conditions. It imports no backend, no backend calls it, and it keeps nothing between calls. Law: lower ≤ upper for any input.

`conclusion` holds the one path from sums to the verdict; `cases` and `densities` compute the sums.
"""

from __future__ import annotations

from discreet.problems.judge.verdict import certify

__all__ = ["certify"]
