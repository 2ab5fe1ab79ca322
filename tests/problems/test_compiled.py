"""Compilation: shared by threads, and possible where nothing may be written."""

from __future__ import annotations

import threading
import time

import pytest

from discreet.problems.compiled import compile_seconds, jit, once


def test_threads_share_one_result() -> None:
    calls: list[int] = []

    @once
    def build(k: int) -> object:
        calls.append(k)
        time.sleep(0.05)
        return object()

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(build(3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [3]
    assert len(set(map(id, found))) == 1
    assert build(4) is not build(3)


def test_a_read_only_place_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    caching = pytest.importorskip("numba.core.caching")

    def refuse(self: object) -> None:
        raise OSError("read-only file system")

    for locator in caching.CacheImpl._locator_classes:
        monkeypatch.setattr(locator, "ensure_cache_path", refuse, raising=False)

    @jit
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    assert double(21) == 42


def test_what_compiling_takes_is_counted() -> None:
    numba = pytest.importorskip("numba")
    jit(lambda x: x)  # from now on it is heard
    before = compile_seconds()
    started = time.perf_counter()
    assert numba.njit(lambda x: 2.0 * x + 1.0)(1.0) == 3.0  # nothing on disk
    assert 0.0 < compile_seconds() - before <= time.perf_counter() - started
