"""Arithmetic that the judge and the solvers rely on: double-double sums, outward rounding, sums over outcomes."""

from __future__ import annotations
