"""asv's files as records: skips and failures stay distinct, damage ends in a sentence."""

import json
import math

import pytest
from refusals import raises_file_error

from discreet.reports.asv_results import read_asv

GRID = [["'tilt'", "'conic'"], ["4", "16"]]
NAME = "bench_bins.Bins.time_solve"


def held(**changes):
    """A file as asv 0.6.6 writes it."""
    result = [1.0, math.nan, 3.0, None]
    columns = ["result", "params", "version", "started_at", "duration", "stats_q_25", "stats_q_75"]
    cells = [result, GRID, "v", 1, 2.0, [0.5, None, 2.5, None], [1.5, None, 3.5, None]]
    about = {
        "commit_hash": "c0ffee",
        "date": 1_700_000_000_000,
        "python": "/somewhere/python",
        "version": 2,
    }
    return (
        about
        | {"result_columns": columns, "results": {NAME: cells, "bench.track": [[7.0], []]}}
        | changes
    )


def written(folder, content):
    (folder / "box").mkdir()
    (folder / "box" / "machine.json").write_text("{}")
    (folder / "box" / "c0ffee-env.json").write_text(content)
    return folder


def test_values_lie_row_major_and_skips_are_not_failures(tmp_path):
    written(tmp_path, json.dumps(held()))
    about = {NAME: {"param_names": ["backend", "size"], "unit": "seconds"}, "version": 2}
    (tmp_path / "benchmarks.json").write_text(json.dumps(about))
    track, *points = read_asv(tmp_path)
    assert (track.parameters, track.value, track.unit) == ((), 7.0, "")
    found = {record.parameters: (record.outcome, record.value) for record in points}
    assert found[("backend", "tilt"), ("size", "4")] == ("measured", 1.0)
    assert found[("backend", "tilt"), ("size", "16")][0] == "skipped"
    assert found[("backend", "conic"), ("size", "4")] == ("measured", 3.0)
    assert found[("backend", "conic"), ("size", "16")][0] == "failed"
    assert all(
        record.date == "2023-11-14T22:13:20+00:00" and record.machine == "box" for record in points
    )
    assert "somewhere" not in repr(points)


def test_a_benchmark_that_failed_as_a_whole_failed_at_every_point(tmp_path):
    written(tmp_path, json.dumps(held(results={NAME: [None, GRID]})))
    assert [record.outcome for record in read_asv(tmp_path)] == ["failed"] * 4


@pytest.mark.parametrize(
    "content, words",
    [
        ("{", "cannot read"),
        ("[]", "no mapping"),
        (json.dumps(held(version=1)), "version 1"),
        (json.dumps({"version": 2}), "damaged"),
        (json.dumps(held(results={NAME: [[1.0], GRID]})), "1 .* 4"),
        (json.dumps(held(date="yesterday")), "damaged"),
    ],
)
def test_damage_is_named(tmp_path, content, words):
    with raises_file_error(words) as caught:
        read_asv(written(tmp_path, content))
    assert "c0ffee-env.json" in str(caught.value)


def test_a_folder_without_results_says_how_to_get_some(tmp_path):
    with raises_file_error("set-commit-hash"):
        read_asv(tmp_path)
    with raises_file_error("nowhere"):
        read_asv(tmp_path / "nowhere")
