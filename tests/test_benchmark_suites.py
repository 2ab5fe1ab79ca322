"""Tests of the asv suites themselves: they run, skip with a reason, and fail loudly; no time is asserted."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import discreet as ds

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def load(name: str) -> Any:
    """A module of the benchmarks folder, which is no package of the project."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SUITES = ("SingleSensorBins", "ManySensors", "PerfectPrivacyBins")


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_measures_the_smallest_size_of_tilt(suite: str) -> None:
    grid = getattr(load("bench_solve"), suite)()
    backends, sizes = grid.params
    assert set(backends) == set(ds.backends.backend_names())
    grid.setup("tilt", sizes[0])
    grid.time_solve("tilt", sizes[0])
    assert grid.track_gap_over_target("tilt", sizes[0]) == 1.0
    assert 1.0 <= grid.track_leakage_over_budget("tilt", sizes[0]) < 1.0 + 1e-6


def test_what_a_backend_does_not_serve_is_skipped_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    grid = load("bench_solve").SingleSensorBins()
    with pytest.raises(NotImplementedError, match="highs does not serve a positive finite budget"):
        grid.setup("highs", 4)
    assert "skipped: highs" in capsys.readouterr().err
    with pytest.raises(NotImplementedError, match="slsqp is not tried above"):
        grid.setup("slsqp", 10_000)


def test_an_absent_backend_is_skipped_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = SimpleNamespace(state="absent", reason="install it", versions={})
    monkeypatch.setattr(ds.backends, "availability", lambda name: absent)
    with pytest.raises(NotImplementedError, match="install it"):
        load("bench_solve").SingleSensorBins().setup("tilt", 4)


def test_a_backend_that_stops_without_an_answer_is_a_failure_and_no_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("bench_solve")
    grid = module.SingleSensorBins()
    grid.setup("tilt", 4)
    failed = SimpleNamespace(certificate=None, status=ds.Status.FAILED, message="it broke")
    monkeypatch.setattr(module.ds, "solve", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="tilt: failed: it broke"):
        grid.track_gap_over_target("tilt", 4)


def test_the_reach_names_only_backends_that_exist() -> None:
    assert set(load("bench_solve").REACH) <= set(ds.backends.backend_names())


def test_the_configuration_points_at_the_project() -> None:
    pytest.importorskip("asv", reason="the extra `bench` is not installed")
    settings = json.loads((FOLDER / "asv.conf.json").read_text(encoding="utf-8"))
    assert (FOLDER / settings["repo"] / "pyproject.toml").exists()
    assert settings["project"] == "discreet"
    assert "constraints.txt" in settings["install_command"][0]
