"""The judge: what is true of an answer, computed from the problem's own numbers and nothing else.

`certify` takes any answer and any duals, even garbage, and repairs both. It imports no backend, no
backend calls it, and it keeps nothing between calls. Law: lower ≤ upper for any input.
"""

from __future__ import annotations

from discreet.judge.verdict import certify, leaks

__all__ = ["certify", "leaks"]
