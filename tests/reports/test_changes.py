"""What `discreet diff` calls a change: facts of accuracy, and times beyond the noise only."""

import math
from dataclasses import replace

import numpy as np
import pytest
from command import done, recorded, refused, run
from measured import answer

from discreet import Status
from discreet.reports.difference import bencher_metrics
from discreet.reports.measurements import write_csv
from discreet.reports.statistics.changes import changes_between
from discreet.reports.statistics.trials import trials

CONTROL = 1e-3


def study(seed, *, noise=0.05, control=CONTROL, tasks=20, backends=("tilt", "conic")):
    """Rows of a study of seven timings each, with lognormal noise of runs and of processes."""
    rng = np.random.default_rng(seed)
    rows = []
    for backend in backends:
        for task in range(tasks):
            process = 0.01 * (task + 1) * math.exp(noise / 3.0 * rng.standard_normal())
            samples = process * np.exp(noise * rng.standard_normal(7))
            rows.append(
                answer(
                    backend,
                    task + 2,
                    float(np.median(samples[1:])),
                    cell=f"{backend} {task}",
                    samples=tuple(samples.tolist()),
                    control_seconds=(control, control),
                )
            )
    return rows


def kinds(found):
    return {(each.kind, each.contestant, each.instance) for each in found.changes}


def times(row, factor):
    return replace(
        row,
        solve_seconds=row.solve_seconds * factor,
        samples=tuple(each * factor for each in row.samples),
    )


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.4])
def test_two_runs_of_the_same_code_show_no_change(noise):
    pairs = [(study(2 * k, noise=noise), study(2 * k + 1, noise=noise)) for k in range(20)]
    changed = sum(bool(changes_between(*pair).changes) for pair in pairs)
    assert changed <= 1


def test_the_same_study_twice_shows_no_change():
    rows = study(1)
    found = changes_between(rows, rows)
    assert found.changes == ()
    assert len(found.pairs) == 40
    assert all(pair.timed for pair in found.pairs)


def test_a_configuration_that_became_slower_or_faster_is_found():
    after = [times(row, 1.5 if row.backend == "tilt" else 0.6) for row in study(2)]
    found = changes_between(study(1), after)
    assert kinds(found) == {("worse", "tilt", ""), ("better", "conic", "")}
    assert "1.5 times as long, in the median of 20 tasks" in found.of("worse")[0].what


def test_a_single_task_that_became_much_slower_is_found():
    after = study(2)
    after[3] = times(after[3], 5.0)
    assert kinds(changes_between(study(1), after)) == {("worse", "tilt", after[3].instance)}


def test_times_of_a_machine_that_was_slower_are_not_compared():
    after = [times(row, 1.5) for row in study(2, control=1.5 * CONTROL)]
    found = changes_between(study(1), after)
    assert found.changes == ()
    assert not any(pair.timed for pair in found.pairs)


def test_without_repeats_no_time_is_compared():
    once = [replace(row, samples=row.samples[:1]) for row in study(1)]
    found = changes_between(once, [times(row, 9.0) for row in once])
    assert math.isnan(found.noise)
    assert found.changes == ()


WRONG = {"status": Status.VIOLATED_PRIVACY, "claimed": "optimal"}


@pytest.mark.parametrize(
    "was, now, kind",
    [
        ({}, WRONG, "wrong"),
        (WRONG, {}, "better"),
        (WRONG, WRONG, None),
        (WRONG, {"status": Status.INACCURATE, "claimed": "inaccurate"}, "better"),
        ({}, {"status": Status.INACCURATE, "claimed": "inaccurate"}, "worse"),
        ({}, {"contradictions": 1}, "wrong"),
        ({}, {"status": Status.TIMED_OUT, "claimed": ""}, "worse"),
        # a time limit that nearly passed before may pass by chance
        ({"solve_seconds": 6.0}, {"status": Status.TIMED_OUT, "claimed": ""}, None),
        ({}, {"status": Status.ABSENT, "claimed": ""}, None),  # not tried
    ],
)
def test_what_is_certified_and_claimed_is_compared_task_by_task(was, now, kind):
    before, after = study(1), study(2)
    before[0] = replace(before[0], **was)
    after[0] = replace(after[0], **now)
    expected = set() if kind is None else {(kind, "tilt", before[0].instance)}
    assert kinds(changes_between(before, after)) == expected


def test_trials_of_one_study_alone_are_counted():
    found = changes_between(study(1, tasks=3), study(2, tasks=5, backends=("tilt",)))
    assert (len(found.pairs), found.only_before, found.only_after) == (3, 3, 2)


def test_metrics_are_those_of_bencher():
    rows = study(1, tasks=2)
    rows[0] = replace(rows[0], **WRONG)
    found = bencher_metrics(rows)
    assert all(
        set(metric) <= {"value", "lower_value", "upper_value"}
        and all(isinstance(each, float) for each in metric.values())
        for measures in found.values()
        for metric in measures.values()
    )
    assert trials(rows)[1].wrong
    wrong = found["tilt on paper-single:bins=2 fraction=0.5 to 1e-09"]
    assert (wrong["wrong-claim"], wrong["certified"]) == ({"value": 1.0}, {"value": 0.0})
    latency = found["tilt on paper-single:bins=3 fraction=0.5 to 1e-09"]["latency"]
    assert latency["lower_value"] <= latency["value"] <= latency["upper_value"]
    assert latency["value"] == pytest.approx(1e9 * rows[1].solve_seconds)


def test_the_command_writes_markdown_json_and_metrics(tmp_path):
    before, after = tmp_path / "before.csv", tmp_path / "after.csv.gz"
    rows = study(1)
    write_csv(rows, before)
    done(f"diff {before} {before}")
    assert "**No change beyond the noise.**" in run(f"diff {before} {before}").stdout
    write_csv([replace(rows[0], **WRONG), *rows[1:]], after)
    shown = done(f"diff {before} {after}", code=1)
    assert "**1 wrong, 0 worse, 0 better.**" in shown.stdout
    line = "| tilt | paper-single:bins=2 fraction=0.5 | 10⁻⁹ | claims 'optimal': certified → "
    assert line in shown.stdout
    record = recorded(f"diff {before} {after} --json", code=1)
    assert [each["contestant"] for each in record["wrong"]] == ["tilt"]
    assert (record["worse"], record["better"], record["pairs"]) == ([], [], 40)
    assert len(recorded(f"diff {before} {after} --format bmf", code=1)) == 40
    assert "give markdown or bmf" in refused(f"diff {before} {after} --format xml")
