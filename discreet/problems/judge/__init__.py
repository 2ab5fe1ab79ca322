"""The judge: what is true of an answer, computed from the problem's own numbers and nothing else."""

from __future__ import annotations

__all__: list[str] = []
