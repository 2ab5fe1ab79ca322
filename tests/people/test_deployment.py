"""A rule in production: the graph says what the classifier says, coins tell nothing new, a folder
is enough.
"""

import json
import subprocess
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from numpy.random import default_rng
from refusals import raises_file_error, raises_input_error
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import discreet as ds
from discreet.people import graph
from discreet.people.design import diluted_rule
from discreet.people.folder import Column, feeds
from discreet.people.places import Lottery
from discreet.reports.card import card_data, card_page


def table(count, seed=0):
    """Numbers, times, texts, mixtures and missing values; the sex depends on the age, and so does
    the truth.
    """
    rng = default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "hours per week": rng.gamma(4.0, 9.0, count),
            "job": rng.choice(["clerk", "cook", "nurse", None], count),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, count), "D"),
            "children": pd.array(rng.integers(0, 5, count), dtype="Int64"),
            "own": rng.random(count) < 0.5,
            "mixed": rng.choice(np.array([1, "x", 2.5, None], dtype=object), count),
            "town": pd.Categorical(rng.choice(["u", "v", "w"], count)),
        }
    )
    frame.loc[::7, "hours per week"] = np.nan
    old = (frame["age"].to_numpy() - 49) / 12
    sex = np.where(rng.random(count) < 1 / (1 + np.exp(-old)), "m", "f")
    truth = np.where(
        rng.random(count) < 1 / (1 + np.exp(-old - 2.0 * (frame["job"] == "clerk"))), "yes", "no"
    )
    return frame, truth, sex


class Rough(HistGradientBoostingClassifier):
    """Not the class that is converted tree by tree."""


@pytest.fixture(scope="module")
def fitted():
    frame, truth, sex = table(800)
    private = ds.PrivateClassifier(budget=0.05, calibration=0.4, random_state=0)
    return private.fit(frame, truth, sensitive_features=sex), frame


@pytest.fixture(scope="module")
def folder(fitted, tmp_path_factory):
    place = tmp_path_factory.mktemp("deployed") / "rule"
    fitted[0].save(
        place,
        fitted[1],
        facts={"asked": {"hide": ["sex"], "guess": ["paid <b>"]}, "data": {"file": "p.csv"}},
    )
    return place


# -- the graph
# --------------------------------------------------------------------------------------------------


def asked(made, frame):
    session = onnxruntime.InferenceSession(made)
    said = session.run(["probabilities", "guess"], feeds(frame, Column.of(frame)))
    return said[0], said[1]


def test_the_graph_guesses_as_the_classifier_does_for_people_of_every_kind(fitted):
    """Also for missing values and categories that were never seen."""
    private, frame = fitted
    new = table(500, seed=1)[0]
    new.loc[:20, "job"] = "astronaut"
    probabilities, guess = asked(private.to_onnx(frame), new)
    expected = private.predict_proba(new)
    assert np.abs(probabilities - expected).max() < 1e-12
    sure = expected.max(axis=1) == 1.0
    assert (guess == np.where(sure, expected.argmax(axis=1), -1)).all()


CLASSIFIERS = {
    "boosting": (HistGradientBoostingClassifier(max_iter=5), None),
    "categories": (HistGradientBoostingClassifier(max_iter=5, categorical_features=[0]), None),
    "logistic": (LogisticRegression(), LogisticRegression()),
    "forests": (RandomForestClassifier(5, max_depth=3), RandomForestClassifier(5, max_depth=3)),
    "bayes": (GaussianNB(), LogisticRegression()),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("budget", [0.0, 0.01])
def test_any_classifier_that_skl2onnx_knows_has_a_graph(name, budget):
    """Three guesses, three groups, an array; rules that draw, too."""
    rng = default_rng(0)
    seen = rng.integers(0, 4, size=(240, 3)).astype(float)
    truth, group = (rng.integers(0, 2, 240) + (seen[:, k] > 2) for k in (0, 1))
    first, second = CLASSIFIERS[name]
    second = HistGradientBoostingClassifier(max_iter=4) if second is None else second
    private = ds.PrivateClassifier(first, second, budget=budget, calibration=0, random_state=0)
    private.fit(seen, truth, sensitive_features=group)
    probabilities, guess = asked(private.to_onnx(seen), seen)
    assert np.abs(probabilities - private.predict_proba(seen)).max() < 1e-9
    assert ((guess == -1) == (probabilities.max(axis=1) < 1.0)).all()


def test_a_second_tilt_and_a_rule_that_ignores_are_in_the_graph(fitted, monkeypatch):
    private, frame = fitted
    document = dict(private.rule_.document)
    document["tilt"] = [[0.0, 0.0], [0.0, 0.0]]
    document["loss"] = [[0.5, 0.5], [0.5, 0.5]]
    second = {"tilt": [[1.0, 0.0], [0.0, 1.0]], "band": 1e-6}
    document["ties"] = {"within": 1e-9, "points": [], "second": second}
    document["ignore"] = {"probability": 0.1, "towards": [0.0, 1.0]}
    monkeypatch.setattr(private, "rule_", ds.Rule.sealed(document, private.key_))
    probabilities, guess = asked(private.to_onnx(frame), frame)
    assert np.abs(probabilities - private.predict_proba(frame)).max() < 1e-12
    assert (guess == -1).all()
    assert probabilities.min() < 0.3 < 0.6 < probabilities.max()


def test_a_classifier_without_a_graph_or_with_a_wrong_one_is_refused(fitted, monkeypatch):
    frame, truth, sex = table(120)
    numbers = frame[["age"]].astype(float)
    private = ds.PrivateClassifier(
        Rough(max_iter=2), LogisticRegression(), budget=0.1, calibration=0, random_state=0
    )
    with pytest.raises(ds.InputError, match=r"Rough .*ONNX"):
        private.fit(numbers, truth, sensitive_features=sex).to_onnx(numbers)
    mixed = ds.PrivateClassifier(
        RandomForestClassifier(2), budget=0.1, calibration=0, random_state=0
    )
    with pytest.raises(ds.InputError, match="ONNX"):
        mixed.fit(numbers, truth, sensitive_features=sex).to_onnx(numbers)
    taken = numbers.rename(columns={"age": "guess"})
    with raises_input_error("'guess'"):
        private.fit(taken, truth, sensitive_features=sex).to_onnx(taken)
    monkeypatch.setattr(graph, "LEAST", 0.3)
    with raises_input_error(r"of y .*of 800"):
        fitted[0].to_onnx(fitted[1])


# -- the folder
# --------------------------------------------------------------------------------------------------


def test_predicting_imports_neither_scikit_learn_nor_pandas(folder):
    script = (
        "import sys, numpy as np, discreet as ds\n"
        f"rule = ds.DeployedRule.load({str(folder)!r})\n"
        "people = {each.name: np.array(['u', None], dtype=object) if each.kind == 'texts' else "
        "np.array([1.0, np.nan])"
        " for each in rule.columns}\n"
        "assert len(rule.predict(people, ids=[1, 2])) == 2\n"
        "print(sorted({'sklearn', 'pandas', 'scipy', 'onnx'} & set(sys.modules)))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_deployed_rule_tosses_the_coins_that_the_classifier_tosses(
    kind, fitted, tmp_path, monkeypatch
):
    """For texts, missing values, times, floats, negative zeros, unseen categories, and whatever
    library holds the table.
    """
    private, frame = fitted
    new = table(400, seed=2)[0]
    new.loc[:20, "job"] = "astronaut"
    if kind == "array":
        rng = default_rng(0)
        frame = rng.choice(np.array([0.0, 0.1, 2.5, np.nan]), size=(300, 3))
        new = rng.choice(np.array([0.0, -0.0, 0.1, 1e300, np.nan]), size=(400, 3))
        group = rng.integers(0, 2, 300)
        truth = np.where(group ^ (rng.random(300) < 0.1), "yes", "no")
        boosting = HistGradientBoostingClassifier(max_iter=3)
        private = ds.PrivateClassifier(
            boosting, boosting, budget=0.05, calibration=0, random_state=0
        )
        private.fit(frame, truth, sensitive_features=group)
    document = dict(private.rule_.document)
    document["ignore"] = {"probability": 1.0, "towards": [0.5, 0.5]}  # everybody draws
    document["coins"] = "records"
    monkeypatch.setattr(private, "rule_", ds.Rule.sealed(document, private.key_))
    private.save(tmp_path / "rule", frame)
    deployed = ds.DeployedRule.load(tmp_path / "rule")
    said = private.predict(new)
    assert 120 < (said == "yes").sum() < 280
    assert (deployed.predict(new) == said).all()
    assert (private.predict(new[::-1]) == said[::-1]).all()
    if kind == "frame":
        as_objects = {
            name: column.to_numpy(dtype=object) for name, column in new.items() if name != "since"
        }
        assert (deployed.predict({**as_objects, "since": new["since"].to_numpy()}) == said).all()
        assert (private.predict(new.astype({"age": "Int64", "job": "category"})) == said).all()
    else:
        assert (deployed.predict(np.asfortranarray(new + 0.0)) == said).all()
        with raises_input_error(r"\[people, 3\]"):
            deployed.predict({"a": new[:, 0], "b": new[:, 1], "c": new[:, 2]})


@pytest.mark.parametrize(
    "complaint, change",
    {
        "not the one": lambda place: (place / "model.onnx").write_bytes(b"other"),
        "model.onnx": lambda place: (place / "model.onnx").unlink(),
        "not a rule for people": lambda place: (place / "rule.json").write_text("{}"),
        "checksum": lambda place: (place / "rule.json").write_text(
            (place / "rule.json").read_text().replace("0.05", "0.5")
        ),
    }.items(),
)
def test_a_folder_that_was_changed_is_refused(folder, tmp_path, change, complaint):
    for name in ("rule.json", "model.onnx"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    change(tmp_path)
    with raises_file_error(complaint):
        ds.DeployedRule.load(tmp_path, f"{folder}.key")


def test_people_that_the_rule_cannot_read_are_refused_in_a_sentence(folder, tmp_path):
    deployed = ds.DeployedRule.load(folder)
    frame = table(5)[0]
    for people, complaint in (
        (frame.drop(columns="job"), "no column 'job'"),
        (frame.assign(age="old"), "column 'age' held numbers"),
        (np.ones((5, 8)), "columns by name"),
    ):
        with raises_input_error(complaint):
            deployed.predict(people, ids=np.arange(5))
    with raises_file_error("nowhere"):
        ds.DeployedRule.load(tmp_path / "nowhere")
    assert deployed.predict(frame.iloc[:0], ids=[]).shape == (0,)


def test_the_key_is_a_file_of_its_own_that_only_its_owner_reads(folder, fitted, tmp_path):
    private, frame = fitted
    key = folder.with_name("rule.key")
    assert key.read_text() == f"{private.key_}\n"
    assert key.stat().st_mode & 0o777 == 0o600
    place = tmp_path / "rule"
    other = tmp_path / "rule.key"
    other.write_text("0" * 32)
    with raises_file_error(r"rule\.key may hold the key of another rule.*--force"):
        private.save(place, frame)
    assert not place.exists()
    assert other.read_text() == "0" * 32
    private.save(place, frame, overwrite=True)
    assert other.read_text() == key.read_text()
    assert other.stat().st_mode & 0o777 == 0o600
    private.save(place, frame)  # the same key
    (tmp_path / "today").symlink_to(place)
    assert ds.DeployedRule.load(tmp_path / "today").rule.key == private.key_


def test_a_lottery_needs_ids(fitted, tmp_path, monkeypatch):
    """Near-duplicates of one record have independent coins, whose mean is what a lottery hides."""
    private, frame = fitted
    near = frame.iloc[np.zeros(40, dtype=int)].copy()
    near["hours per week"] = 36.0 + 1e-9 * np.arange(40)
    kept = private.rule_
    undiluted = int(kept.predict_proba(*private._probabilities(near))[0].argmax())
    lottery = Lottery(0.4, np.eye(2)[1 - undiluted])
    monkeypatch.setattr(private, "rule_", diluted_rule(kept, lottery))
    private.save(tmp_path / "rule", frame)
    deployed = ds.DeployedRule.load(tmp_path / "rule")
    assert len({*deployed.predict_proba(near)[:, 0]}) == 1
    for ask in (deployed.predict, deployed.decide):
        with raises_input_error(r"near-duplicates.*give ids="):
            ask(near)
    with pytest.warns(UserWarning, match=r"near-duplicates.*give ids="):
        guesses = private.predict(near)
    assert len({*guesses}) == 2
    assert (guesses == private.classes_[undiluted]).sum() > 20  # of 40: averaged out
    assert len({*deployed.predict(near, ids=["Ada"] * 40)}) == 1
    ids = np.arange(800)
    assert (private.predict(frame, ids) == deployed.predict(frame, ids)).all()


def test_without_a_key_a_rule_that_draws_is_refused(folder, fitted, tmp_path):
    for name in ("rule.json", "model.onnx"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.warns(UserWarning, match=r"signature of .* was not checked"):
        deployed = ds.DeployedRule.load(tmp_path)
    frame = table(40, seed=3)[0]
    with raises_input_error(r"draws guesses .*set DISCREET_KEY"):
        deployed.predict(frame, ids=np.arange(40))
    assert deployed.predict(frame, fresh=default_rng(0)).size == 40
    assert (deployed.predict_proba(frame) == fitted[0].predict_proba(frame)).all()


# -- the card
# --------------------------------------------------------------------------------------------------


def test_the_card_holds_what_the_rule_holds_and_loads_nothing(folder, fitted):
    document = json.loads((folder / "rule.json").read_text())
    card = json.loads((folder / "card.json").read_text())
    rule = ds.Rule(document)
    assert card == card_data(rule)
    for path in folder.iterdir():
        assert fitted[0].key_.encode() not in path.read_bytes(), path
    assert card["statement"] == fitted[0].statement_
    assert card["data"]["people"] == 800
    assert card["data"]["digest"].startswith("sha256:")
    assert card["tried"][-1]["design_budget"] > 0
    # One of twenty limits each.
    for row, step in zip(card["tried"], fitted[0].promise_.tried, strict=True):
        assert (
            row["error"]["low"]
            < step.people.error.low
            < row["error"]["estimate"]
            == step.people.error.estimate
        )
        assert row["error"]["high"] > step.people.error.high
    page = (folder / "card.html").read_text()
    assert page == card_page(rule)
    assert "paid &lt;b&gt;" in page
    assert "paid <b>" not in page
    for word in ("src=", "http://", "@import", "url("):
        assert word not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_card_without_people_apart_shows_the_curve_of_the_model(tmp_path):
    frame, truth, sex = table(400)
    numbers = frame[["age", "hours per week"]].fillna(30.0)
    boosting = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=7)
    private = ds.PrivateClassifier(boosting, boosting, budget=0.01, calibration=0, random_state=0)
    private.fit(numbers, truth, sensitive_features=sex).save(tmp_path / "rule", numbers)
    card = json.loads((tmp_path / "rule" / "card.json").read_text())
    rows = card["curve"]
    assert [row["design_budget"] for row in rows] == pytest.approx(
        (private.model_.bayes_leakage * np.geomspace(0.01, 1.0, len(rows))).tolist()
    )
    for row in rows:
        assert row["model_leakage"] <= row["design_budget"]
        assert row["lower_bound"] <= row["model_error"]
    assert [row["model_error"] for row in rows] == sorted(
        (row["model_error"] for row in rows), reverse=True
    )
    page = (tmp_path / "rule" / "card.html").read_text()
    assert "certified for this model; nothing is promised for people" in page
    assert "holds for people, 95" not in page


def test_the_digest_of_the_people_is_that_of_their_cells(fitted):
    frame, truth, sex = table(60)
    settings = {"budget": 0.1, "calibration": 0, "random_state": 0}
    digests = {
        ds.PrivateClassifier(**settings).fit(each, truth, sensitive_features=sex).data_["digest"]
        for each in (frame[["age", "job"]], frame[["age", "job"]].astype({"age": float}))
    }
    assert len(digests) == 1
    other = (
        ds.PrivateClassifier(**settings)
        .fit(frame[["age", "job"]], truth, sensitive_features=sex[::-1])
        .data_["digest"]
    )
    assert other not in digests
