"""Compilation with numba, the optional extra `fast`: one compilation for all threads, cached on
disk if possible.

Machine code is cached next to the source or, if that folder is read-only, in the user's cache
folder. If neither is writable, each process compiles again. Compilation time is measured so that it
can be reported separately from solving.
"""

from __future__ import annotations

import marshal
import sys
import threading
import uuid
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from discreet.numerics.double_double import Array

_lock = threading.RLock()


def compiled_available() -> bool:
    """Return True if numba can be imported."""
    return find_spec("numba") is not None


def once(build: Callable[..., Any]) -> Any:
    """`functools.cache` under a lock: threads that call at the same time share one result (and one
    compilation).
    """
    kept = cache(build)

    @wraps(build)
    def locked(*arguments: Any) -> Any:
        with _lock:
            return kept(*arguments)

    locked.asked = lambda: kept.cache_info().currsize > 0  # type: ignore[attr-defined]
    return locked


def compile_seconds() -> float:
    """Return the seconds this process has spent compiling so far, without loading code from
    disk.
    """
    if not _compile_listener.asked():
        return 0.0
    listener = _compile_listener()
    return float(listener.duration) if listener.done else 0.0


@once
def _compile_listener() -> Any:
    """Return a listener to numba's compilation events; one thread compiles at a time."""
    from numba.core import event

    listener = event.TimingListener()
    event.register("numba:compile", listener)
    return listener


def jit(function: Callable[..., Any], *, reorder: bool = False, inline: bool = False) -> Any:
    """Compile a function that releases the interpreter lock.

    Arithmetic is performed as written, without reordering or fusing; with `reorder`, sums may be
    added in any order, which allows vectorised code. With `inline`, the function becomes part of
    every compiled function that calls it.
    """
    import numba

    _compile_listener()
    options = {
        "nogil": True,
        "fastmath": {"reassoc": reorder, "nsz": reorder},
        "inline": "always" if inline else "never",
    }
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder for its cache
        compiled = numba.njit(**options)(function)
    return _make_cacheable(compiled, function)


def _make_cacheable(compiled: Any, function: Callable[..., Any]) -> Any:
    """Give a compiled function a name and a code object that are the same in every process.

    numba finds the machine code of a function on disk by the pickled functions that it calls. By
    default it gives these random names. Their code pickles differently once it was read from a
    file, as does numba's own method that restores them, which is also pickled. A file name that the
    code and the module both contain pickles as one text or two (Python 3.13). Options that are sets
    differ in every process.
    """
    from numba.core import serialize

    for each in (function, serialize._CustomPickled._rebuild.__func__):
        place = sys.intern(each.__code__.co_filename)
        each.__code__ = marshal.loads(marshal.dumps(each.__code__.replace(co_filename=place)))
        if each.__globals__.get("__file__") == place:
            each.__globals__["__file__"] = place
    held = (
        str(getattr(cell.cell_contents, "_uuid", cell.cell_contents))
        for cell in function.__closure__ or ()
    )
    name = " ".join(
        [function.__module__, function.__qualname__, function.__code__.co_code.hex(), *held]
    )
    # This method is not documented by numba; without it, numba compiles more often.
    if hasattr(compiled, "_set_uuid"):
        compiled._set_uuid(str(uuid.uuid5(uuid.NAMESPACE_URL, name)))
    return compiled


@once
def prefetch() -> Any:
    """Return a compiled prefetch (array, position) of memory that will be read soon; positions
    beyond the end are harmless.
    """
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def hint(_: Any, array: Any, position: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.IntType(32)
            byte = ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            place = builder.gep(
                context.make_array(array)(context, builder, arguments[0]).data, [arguments[1]]
            )
            for_reading, keep_near, as_data = (ir.Constant(number, value) for value in (0, 3, 1))
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            builder.call(function, [builder.bitcast(place, byte), for_reading, keep_near, as_data])
            return context.get_dummy_value()

        return types.void(array, position), generate

    return _make_cacheable(intrinsic(hint), hint)


def flat(array: Array) -> tuple[Array, int]:
    """Return the memory of the rows of an array as one read-only vector, and the distance between
    the starts of its rows.

    Arrays of any shape, their slices and mapped files then have one type, for which a kernel is
    compiled once.
    """
    if (
        array.dtype != np.float64
        or not array.flags.aligned
        or array.strides[1] != 8
        or array.strides[0] % 8
    ):
        array = np.ascontiguousarray(array, dtype=np.float64)
    rows, count = array.shape
    step = array.strides[0] // 8 if rows > 1 else count
    if step < count:  # overlapping or reversed rows
        array = np.array(array)
        step = count
    return as_strided(array, ((rows - 1) * step + count,), (8,), writeable=False), step
