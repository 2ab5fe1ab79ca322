"""Arithmetic that the judge and the solvers rely on: double-double sums, outward rounding, compiled kernels."""

from __future__ import annotations

__all__: list[str] = []
