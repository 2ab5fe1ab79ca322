"""Backends that cannot run under this Python, because pyproject.toml leaves out their library by a
marker.
"""

import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

from discreet.backends.registry import capabilities

__all__ = ["LEFT_OUT"]

_PROJECT = tomllib.loads(
    (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]
_REQUIREMENTS = [Requirement(each) for each in chain(*_PROJECT["optional-dependencies"].values())]
_LIBRARIES = {
    each.name for each in _REQUIREMENTS if each.marker is not None and not each.marker.evaluate()
}

LEFT_OUT = frozenset(
    name for name, able in capabilities().items() if _LIBRARIES & set(able.libraries)
)
"""Their names."""
