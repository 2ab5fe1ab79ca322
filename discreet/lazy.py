"""Properties that are computed once: `functools.cached_property` without its lock.

Python 3.11 takes a lock at the first access of every such property, 2 µs each, which is a thirtieth
of a small solve. Python 3.12 has removed it (gh-87634). Threads that access a property at the same
time may compute its value twice, with equal results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801 (as in functools)
    """A method without arguments whose value replaces it in the instance, also in frozen
    dataclasses.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _T: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = self._compute(instance)
        object.__setattr__(instance, self._name, value)  # found before this descriptor from now on
        return value
