"""Outcomes that come in blocks: arrays, mapped files, count vectors generated on the fly."""

from __future__ import annotations

__all__: list[str] = []
