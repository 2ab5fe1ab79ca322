"""Problems and solutions as files."""

from __future__ import annotations

__all__: list[str] = []
