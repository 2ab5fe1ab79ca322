"""The commands `frontier` and `audit`: what they print and write, their exit codes, and one
sentence for every mistake.
"""

import csv
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from command import done, recorded, refused, run

import discreet as ds
from discreet.reports.outputs import MANIFEST

# -- frontier
# --------------------------------------------------------------------------------------------------


def test_frontier_prints_a_line_for_every_point():
    result = done("frontier paper-single --points 5")
    assert result.stdout.count("certified") == 5
    assert "5 points" in result.stderr
    assert "∞" in result.stdout


def test_frontier_json_is_json_and_nothing_else():
    record = recorded("frontier paper-single:bins=16 --width 0.05 --json")
    assert record["reached"] is True
    assert record["width"] <= 0.05
    assert record["points"][0]["budget_nats"] == 0.0


def test_a_file_needs_no_budget(tmp_path):
    problem = ds.problems.paper_single()
    np.savez(tmp_path / "model.npz", p_xz=problem.p_xz, loss=problem.loss)
    record = recorded(f"frontier {tmp_path / 'model.npz'} --points 3 --json")
    assert len(record["points"]) == 3
    assert "holds no budget" in refused(f"solve {tmp_path / 'model.npz'}")


def test_frontier_writes_what_it_is_asked_for(tmp_path):
    table = tmp_path / "points.csv"
    picture = tmp_path / "curve.svg"
    folder = tmp_path / "all"
    arguments = f"frontier paper-single --points 4 --csv {table} --svg {picture} --out {folder}"
    done(arguments)
    assert len(list(csv.DictReader(table.read_text().splitlines()))) == 4
    ET.fromstring(picture.read_text())
    assert {"frontier.svg", "frontier.csv", "frontier.json", MANIFEST} <= {
        path.name for path in folder.iterdir()
    }
    done(arguments)  # over its own files
    (folder / "frontier.csv").write_text("mine")
    assert "left alone" in refused(arguments)


def test_frontier_exits_with_1_when_the_width_is_not_reached():
    result = done("frontier paper-single --points 3 --width 0.001", code=1)
    assert "was asked for" in result.stderr


@pytest.mark.parametrize(
    "arguments, words",
    {
        "paper-single --points 1": "points is 1",
        "paper-single --width -1": "width is -1",
        "paper-single --csv missing/curve.csv --points 2": "cannot be written",
    }.items(),
)
def test_frontier_refuses_in_one_sentence(arguments, words):
    assert words in refused(f"frontier {arguments}")


# -- audit
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def answer(tmp_path):
    path = tmp_path / "answer.npz"
    ds.solve(ds.problems.paper_single(budget=0.005), "tilt").save(str(path))
    return str(path)


def test_audit_judges_a_good_estimator(answer):
    result = done(f"audit paper-single {answer} --leakage 0.005")
    for words in ("certified: the estimator keeps the budget", "infers X", "Fano's bound", "leaks"):
        assert words in result.stdout
    record = recorded(f"audit paper-single {answer} --leakage 0.005 --json")
    assert record["status"] == "certified"
    assert record["leakage_nats"] == pytest.approx(0.005, rel=1e-9)
    assert record["inference"]["x_error"] == pytest.approx(0.3, rel=1e-9)
    assert record["inference"]["xy_error"] is None
    assert [leak["measure"] for leak in record["leaks"]][::9] == [
        "mutual-information",
        "pointwise-information",
    ]
    assert record["leaks"][0]["leakage"] == record["leakage_nats"] <= record["leaks"][0]["ceiling"]
    assert record["odds"]["after"] > record["odds"]["before"]


def test_audit_finds_a_leak_whatever_the_file_says(answer):
    record = recorded(f"audit paper-single {answer} --leakage 0.001 --json", code=1)
    assert record["status"] == "violated-privacy"
    assert record["leakage_nats"] == pytest.approx(0.005, rel=1e-9)
    assert record["lower_bound"] <= record["upper_bound"]


def test_audit_never_mixes_numbers_of_the_estimator_given_and_of_its_repair(answer):
    asked = f"audit paper-single {answer} --leakage {0.005 / (1.0 + 9e-7)!r}"
    for extra in ("", " --budget-only"):
        done(asked + extra, code=1)
    assert "its repair" in run(asked).stdout
    record = recorded(f"{asked} --json", code=1)
    assert (record["status"], record["budget_kept"], record["kkt"]) == (
        "violated-privacy",
        False,
        None,
    )
    assert record["leakage_nats"] > record["budget_nats"] >= record["repair"]["leakage_nats"]
    assert (
        record["error_probability"] < record["lower_bound"] <= record["repair"]["error_probability"]
    )
    kept = recorded(f"audit paper-single {answer} --leakage 0.005 --json")
    assert kept["lower_bound"] <= kept["error_probability"] == kept["upper_bound"]
    assert (kept["budget_kept"], kept["repair"]) == (True, None)
    assert sum(kept["kkt"][part] for part in ("complementarity", "alignment", "slackness")) < 1e-9


def test_audit_of_an_estimator_that_is_not_the_best(answer):
    result = done(f"audit paper-single {answer} --leakage 0.009", code=1)
    assert "inaccurate" in result.stdout
    done(f"audit paper-single {answer} --leakage 0.009 --budget-only")


def test_audit_refuses_in_one_sentence(answer, tmp_path):
    assert "shape" in refused(f"audit paper-single:bins=8 {answer} --perfect")
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    assert "bad.npz" in refused(f"audit paper-single {tmp_path / 'bad.npz'}")
