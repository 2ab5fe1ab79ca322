"""Backends that cannot run here: pyproject.toml leaves out their library under this Python by a
marker, or they need a GPU.
"""

from itertools import chain

from checkout import PROJECT
from packaging.requirements import Requirement

from discreet.backends.declared import UNTESTED
from discreet.backends.registry import capabilities

_REQUIREMENTS = [Requirement(each) for each in chain(*PROJECT["optional-dependencies"].values())]
_LIBRARIES = {
    each.name for each in _REQUIREMENTS if each.marker is not None and not each.marker.evaluate()
}

LEFT_OUT = frozenset(
    name for name, able in capabilities().items() if _LIBRARIES & set(able.libraries)
).union(UNTESTED)
"""Their names."""
