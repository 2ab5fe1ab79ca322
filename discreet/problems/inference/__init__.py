"""What can be inferred from a guess: the adversary's side of an estimator."""

from __future__ import annotations

__all__: list[str] = []
