"""Which options are there to be compared with, and not to be advised unless asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.backends.registry import capabilities

__all__ = ["is_peer"]

_SETTINGS = (("highs", "method", "pdlp"),)  # a first-order method: its leaks are what it leaves of its residuals


def is_peer(backend: str, settings: Mapping[str, Any]) -> bool:
    """Whether a backend says so of itself (Capabilities.peer, which those of others may lack), or its settings do."""
    told = bool(getattr(capabilities().get(backend), "peer", False))
    return told or any(backend == name and settings.get(key) == value for name, key, value in _SETTINGS)
