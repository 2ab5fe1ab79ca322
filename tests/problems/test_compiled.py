"""Compilation: threads share its result, and it needs no writable folder."""

import itertools
import os
import threading
import time

import numpy as np
import pytest
from checkout import python

from discreet.numerics.compiled import compile_seconds, flat, jit, once, prefetch


def test_threads_share_one_result():
    calls = []

    @once
    def build(k):
        calls.append(k)
        time.sleep(0.05)
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(build(3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [3]
    assert len(set(map(id, found))) == 1
    assert build(4) is not build(3)


def test_compilation_works_where_the_cache_cannot_be_written(monkeypatch):
    caching = pytest.importorskip("numba.core.caching")

    def refuse(self):
        raise OSError("read-only file system")

    for locator in caching.CacheImpl._locator_classes:
        monkeypatch.setattr(locator, "ensure_cache_path", refuse, raising=False)

    @jit
    def double(x):
        return 2 * x

    assert double(21) == 42


def test_the_seconds_of_compiling_are_counted(monkeypatch):
    numba = pytest.importorskip("numba")
    readings = itertools.count()
    monkeypatch.setattr("numba.core.event.timer", lambda: float(next(readings)))
    jit(lambda x: x)  # from now on compilations are timed
    before = compile_seconds()
    assert numba.njit(lambda x: 2.0 * x + 1.0)(1.0) == 3.0  # nothing on disk
    assert compile_seconds() >= before + 1.0


def test_inlined_functions_work_in_their_callers():
    pytest.importorskip("numba")

    def add(total, x):
        return total + x

    added = jit(add, inline=True)

    @jit
    def sum_of(values):
        total = 0.0
        for value in values:
            total = added(total, value)
        return total

    assert sum_of(np.arange(5.0)) == 10.0


def test_prefetching_any_address_is_harmless():
    pytest.importorskip("numba")
    ask = prefetch()

    @jit
    def last(values):
        for k in range(-1000, 1_000_000, 1000):
            ask(values, k)
        return values[values.size - 1]

    for values in (np.arange(7.0), flat(np.arange(8.0).reshape(2, 4))[0]):
        assert last(values) == values[-1]


_MODULE = """
from discreet.numerics.compiled import jit, prefetch
import numpy as np

def kernel(size):
    ask = prefetch()

    def thrice(x):
        return 3.0 * x

    inner = jit(thrice, reorder=True)

    def run(values):
        ask(values, 0)
        total = 0.0
        for k in range(size):
            total += inner(values[k])
        return total

    return jit(run)

for size in (2, 3):
    run = kernel(size)
    assert run(np.ones(3)) == 3.0 * size
    print(sum(run.stats.cache_hits.values()), sum(run.stats.cache_misses.values()))
"""


@pytest.mark.gate
def test_machine_code_is_found_again_in_another_process(tmp_path):
    """Functions that call others too, and each of the versions made for different values.

    The first process compiles the module's source, the second reads its bytecode. Under these seeds
    sets differ in order.
    """
    pytest.importorskip("numba")
    source = tmp_path / "kernels.py"
    source.write_text(_MODULE)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    runs = []
    for seed in "78":
        seeded = environment | {"PYTHONHASHSEED": seed}
        runs.append(python("-c", "import kernels", cwd=tmp_path, env=seeded).split())
    assert runs == [["0", "1"] * 2, ["1", "0"] * 2]
