"""`discreet monitor`: exit codes, the file of what was counted, and refusals."""

import numpy as np
import pytest
from command import done, people_columns, recorded, refused, run, write_table
from numpy.random import default_rng
from sklearn.linear_model import LogisticRegression

import discreet as ds


@pytest.fixture(scope="module")
def rule(tmp_path_factory):
    """A folder with a rule that hides sex, a group of which some do not say it."""
    people = people_columns(1_000)
    age = people["age"][:, None]
    model = LogisticRegression()
    private = ds.PrivateClassifier(model, model, budget=0.05, random_state=0)
    private.fit(age, people["income"], sensitive_features=people["sex"])
    folder = tmp_path_factory.mktemp("watched") / "rule"
    private.save(folder, age, facts={"asked": {"hide": ["sex"], "guess": ["income"]}})
    return folder


def records(path, rates, people, decided="guess"):
    """Records of even groups, of whom these shares get the guess "high"."""
    rng = default_rng(people)
    place = rng.integers(0, 2, people)
    guess = np.where(rng.random(people) < np.array(rates)[place], "high", "low")
    return write_table(path, sex=np.array(["f", "m"])[place], **{decided: guess})


def test_an_alarm_is_an_exit_code_that_a_state_keeps(rule, tmp_path):
    state = tmp_path / "watch.json"
    good = records(tmp_path / "good.csv", (0.5, 0.5), 500)
    bad = records(tmp_path / "bad.csv", (0.1, 0.9), 4_000)
    line = f"--state {state} --json"
    assert recorded(f"monitor {rule} {good} {line}")["records"] == 500
    found = recorded(f"monitor {rule} {bad} {line}", code=1)
    assert (found["records"], found["promises"][0]["alarm"], found["alarm"]) == (4_500, 4_500, True)
    done(f"monitor {rule} {good} {line}", code=1)
    watch = ds.Monitor(ds.DeployedRule.load(rule))
    watch.resume(state)
    assert watch.records == 5_000


def test_without_a_state_each_file_stands_alone(rule, tmp_path):
    bad = records(tmp_path / "bad.csv", (0.1, 0.9), 400, decided="decided")
    words = done(f"monitor {rule} {bad} --guesses decided", code=1)
    for name in ("mutual-information", "400", "alarm after 400 records"):
        assert name in words.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["bad.csv"]


def test_what_cannot_be_watched_is_refused_and_no_state_is_written(rule, tmp_path):
    state = tmp_path / "watch.json"
    good = records(tmp_path / "good.csv", (0.5, 0.5), 50)
    line = f"--state {state}"
    assert "no column 'guess'" in refused(
        f"monitor {rule} {records(tmp_path / 'x.csv', (0, 1), 5, decided='made')} {line}"
    )
    other = tmp_path / "other.csv"
    other.write_text("sex,guess\nf,perhaps\n")
    assert "'perhaps'" in refused(f"monitor {rule} {other} {line}")
    assert "alpha is 2.0" in refused(f"monitor {rule} {good} --alpha 2 {line}")
    assert not state.exists()
    state.write_text("{}")
    assert "holds no monitor" in refused(f"monitor {rule} {good} {line}")
    assert state.read_text() == "{}"
    run(f"monitor {rule} {good} --state {tmp_path / 'own.json'}")
    assert "another rule" in refused(
        f"monitor {rule} {good} --state {tmp_path / 'own.json'} --alpha 0.01"
    )
