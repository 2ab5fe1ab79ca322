"""The judge: what is proven about an answer, computed only from the numbers of the problem.

`certify` accepts any answer and any duals, however poor, and repairs both. It imports no backend,
no backend calls it, and it has no state. Law: lower ≤ upper for any input.
"""

from __future__ import annotations

from discreet.judge.cases import certify, leaks

__all__ = ["certify", "leaks"]
