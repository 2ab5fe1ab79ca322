"""Rules for people: optimal in their model, the same wherever they run, with coins that say nothing
new when asked again.
"""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from refusals import raises_input_error
from weight import tokens_of

import discreet as ds
from discreet.people import deployed, design
from discreet.people.deployed import Rule, _canonical, _checksum, _seal, find_key
from discreet.people.design import Labels, people_rule
from discreet.people.places import Lottery

KEY = bytes(range(16)).hex()
HALF = np.full((1, 2), 0.5)


def people(count, m=2, n=2, seed=0):
    """p(y given z) and p(x given z) of people whose Y and X depend on common features."""
    rng = default_rng(seed)
    features = rng.normal(size=(count, 3))

    def softmax(scores):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return softmax(features @ rng.normal(size=(3, m))), softmax(features @ rng.normal(size=(3, n)))


def table_of(p_y, p_x, budget, measure="mutual-information"):
    people_ = len(p_y)
    return ds.Problem(
        p_x.T / people_, (p_y @ (1 - np.eye(p_y.shape[1]))).T / people_, budget, measure=measure
    )


# -- design
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.0, 1e-9, 0.002, np.inf])
@pytest.mark.parametrize("m, n", [(2, 2), (3, 4)])
def test_the_rule_errs_and_leaks_as_the_best_estimator_does(m, n, budget):
    p_y, p_x = people(300, m, n)
    design = ds.design_rule(p_y, p_x, budget, key=KEY)
    assert design.solution.status is ds.Status.CERTIFIED
    assert design.statement.startswith("certified for this model: ")
    problem = table_of(p_y, p_x, budget)
    estimator = design.rule.predict_proba(p_y, p_x).T
    assert problem.error_probability(estimator) == pytest.approx(
        ds.solve(problem).error_probability, rel=2e-9
    )
    assert problem.leakage(estimator) <= budget * (1 + 1e-9) + 1e-25
    assert len(design.rule.columns) <= (m - 1) * (n - 1)


def test_people_who_cannot_be_told_apart_are_treated_alike():
    """With a dozen kinds of people many share a tie, where some kinds are drawn and
    others are not.
    """
    p_y, p_x = (np.round(each * 4) / 4 for each in people(2000))
    for budget in (0.0, 0.001):
        design = ds.design_rule(p_y, p_x, budget, key=KEY)
        assert design.solution.status is ds.Status.CERTIFIED
        columns = design.rule.predict_proba(p_y, p_x)
        for kind in np.unique(np.hstack([p_y, p_x]), axis=0):
            alike = columns[(np.hstack([p_y, p_x]) == kind).all(axis=1)]
            assert (alike == alike[0]).all()


def test_other_measures_weights_losses_and_fractions():
    p_y, p_x = people(120)
    weight = default_rng(1).integers(1, 4, 120)
    weighted = ds.design_rule(p_y, p_x, 0.002, sample_weight=weight, key=KEY)
    repeated = ds.design_rule(
        np.repeat(p_y, weight, axis=0), np.repeat(p_x, weight, axis=0), 0.002, key=KEY
    )
    assert weighted.solution.error_probability == pytest.approx(
        repeated.solution.error_probability, rel=1e-8
    )
    parity = ds.design_rule(p_y, p_x, 0.05, measure="parity-difference", key=KEY)
    rates = parity.rule.predict_proba(p_y, p_x).T @ p_x / p_x.sum(axis=0)
    assert abs(rates[0, 0] - rates[0, 1]) <= 0.05 * (1 + 1e-9)
    half = ds.design_rule(p_y, p_x, fraction=0.5, key=KEY)
    assert half.solution.leakage == pytest.approx(
        0.5 * table_of(p_y, p_x, 1.0).bayes_leakage, rel=1e-6
    )
    costly = ds.design_rule(
        p_y,
        p_x,
        0.002,
        loss_matrix=[[0.0, 9.0, 1.0], [9.0, 0.0, 1.0]],
        guesses=["a", "b", "ask"],
        key=KEY,
    )
    assert costly.rule.truths == (0, 1)
    assert (costly.rule.predict(p_y, p_x) == "ask").mean() > 0.5


@pytest.mark.parametrize(
    "complaint, changed",
    {
        "300 .*p_x 5": {"p_x": np.ones((5, 2)) / 2},
        "sums to 2.0": {"p_y": np.ones((300, 2))},
        r"p_y has shape \[2\]": {"p_y": [0.5, 0.5]},
        "budget= .*fraction=": {"budget": None},
        "1 .* 2": {"guesses": ["a"]},
        "32 hexadecimal digits": {"key": "secret"},
        "3 .*X has 2": {"measure": "g-leakage:gain=[[1,0,1],[0,1,0]]"},
    }.items(),
)
def test_what_cannot_be_designed_is_refused_in_a_sentence(changed, complaint):
    p_y, p_x = people(300)
    given = {"p_y": p_y, "p_x": p_x, "budget": 0.01, **changed}
    with raises_input_error(complaint):
        ds.design_rule(given.pop("p_y"), given.pop("p_x"), given.pop("budget"), **given)


# -- files
# --------------------------------------------------------------------------------------------------


def designed(budget=0.002, **labels):
    p_y, p_x = people(300)
    return ds.design_rule(p_y, p_x, budget, key=KEY, **labels).rule, p_y, p_x


def test_a_rule_is_the_same_after_it_was_saved(tmp_path):
    rule, p_y, p_x = designed(guesses=["no", "yes"], groups=[("f", None), ("m", True)])
    rule.save(tmp_path / "rule.json")
    loaded = ds.Rule.load(tmp_path / "rule.json")
    assert loaded.document == rule.document
    assert loaded.groups == (("f", None), ("m", True))
    assert (loaded.predict(p_y, p_x) == rule.predict(p_y, p_x)).all()
    assert set(loaded.predict(p_y, p_x)) == {"no", "yes"}
    assert loaded.document["about"]["model"]["status"] == "certified"
    with pytest.raises(FileExistsError):
        rule.save(tmp_path / "rule.json")
    rule.save(tmp_path / "rule.json", overwrite=True)


def test_a_file_that_was_changed_or_is_something_else_is_refused(tmp_path):
    rule, _, _ = designed()
    path = tmp_path / "rule.json"

    def said(document):
        path.write_text(
            document if isinstance(document, str) else json.dumps(document), encoding="utf-8"
        )
        with pytest.raises(ValueError, match=r"; |: ") as found:
            Rule.load(path)
        return str(found.value)

    changed = json.loads(json.dumps(rule.document))
    changed["tilt"][0][0] += 1e-9
    assert "its checksum does not fit" in said(changed)
    assert "has version 3" in said({**rule.document, "version": 3})
    assert "not a rule for people" in said({"format": "something"})
    assert "not a rule for people" in said("{")
    assert "not a rule for people" in said("[]")
    torn = {key: value for key, value in rule.document.items() if key != "tilt"}
    assert "KeyError: 'tilt'" in said(_seal(torn, KEY))
    skewed = {**rule.document, "tilt": [[0.0], [0.0]]}
    assert "do not fit its labels" in said(_seal(skewed, KEY))
    with pytest.raises(ValueError, match="FileNotFoundError"):
        Rule.load(tmp_path / "nothing.json")


def changed_by_somebody(document):
    """An edited document with a checksum that fits, which anyone can compute."""
    return {**document, "checksum": _checksum(_canonical(document))}


def digits_changed(value):
    """Copies of a value, each with another digit of its JSON changed."""
    text = json.dumps(value)
    for k, digit in enumerate(text):
        other = f"{text[:k]}{(int(digit) + 1) % 10}{text[k + 1 :]}" if digit.isdigit() else ""
        try:
            if other and json.loads(other) != value:
                yield json.loads(other)
        except json.JSONDecodeError:  # a number that begins with 0
            continue


@pytest.mark.parametrize("place", ["tilt", "about", "ignore", "ties", "key_fingerprint"])
def test_whoever_lacks_the_key_can_change_no_digit(place):
    rule = design.diluted_rule(designed()[0], Lottery(0.25, np.array([0.0, 1.0])))
    document = {**rule.document, "about": {"statement": "leaks at most 0.05, 95 %"}}
    document = json.loads(Rule.sealed(document, KEY).text)
    copies = [
        changed_by_somebody({**document, place: each}) for each in digits_changed(document[place])
    ]
    assert len(copies) >= 5
    for each in copies:
        assert Rule(each).key is None  # not checked without the key
        with pytest.raises(ValueError, match=r"(signature|fingerprint) does not fit"):
            Rule(each, KEY)


def version_1(rule):
    """The document of a rule as files of version 1 hold it."""
    document = {**rule.document, "version": 1, "key": rule.key}
    for name in ("checksum", "signature", "key_fingerprint"):
        del document[name]
    return {**document, "digest": _checksum(_canonical(document))}


def test_files_of_version_1_hold_their_key_and_toss_the_same_coins(tmp_path):
    rule = drawing()
    path = tmp_path / "rule.json"
    path.write_text(json.dumps(version_1(rule)))
    assert not (tmp_path / "rule.json.key").exists()
    old = Rule.load(path)
    assert old.document == rule.document
    half = np.full((100, 2), 0.5)
    ids = np.arange(100)
    assert (old.predict(half, half, ids=ids) == rule.predict(half, half, ids=ids)).all()
    assert Rule.load(path, KEY).key == KEY
    with pytest.raises(ValueError, match="the key is not that of the rule"):  # edited, and made old
        Rule.load(path, "f" * 32)


def test_a_key_is_found_where_it_is_given(tmp_path, monkeypatch):
    rule = drawing()
    path = tmp_path / "rule.json"
    rule.save(path)
    beside = tmp_path / "rule.json.key"
    assert KEY not in path.read_text()
    assert beside.stat().st_mode & 0o777 == 0o600
    assert Rule.load(path).key == KEY
    elsewhere = beside.rename(tmp_path / "key")
    assert Rule.load(path, KEY).key == Rule.load(path, elsewhere).key == KEY
    for held in (KEY, str(elsewhere)):
        monkeypatch.setenv("DISCREET_KEY", held)
        assert Rule.load(path).key == KEY
    with pytest.raises(ValueError, match="the key is not that of the rule"):
        Rule.load(path, "f" * 32)
    for held in (KEY[1:], str(tmp_path / "nothing"), str(path)):
        with pytest.raises(ValueError, match="key= or DISCREET_KEY holds no key") as told:
            Rule.load(path, held)
        assert held not in str(told.value)
    monkeypatch.delenv("DISCREET_KEY")
    beside.write_text("none")
    with pytest.raises(ValueError, match=r"rule\.json\.key holds no key"):
        Rule.load(path)
    with pytest.raises(FileExistsError):
        rule.save(tmp_path / "rule.json")
    assert find_key(None, tmp_path / "nothing") is None


def test_without_a_key_only_a_rule_that_draws_nothing_guesses(tmp_path):
    path = tmp_path / "rule.json"
    half = np.full((3, 2), 0.5)
    for rule, probability in ((drawing(1.0), 1.0), (drawing(), 0.3)):
        rule.save(path, overwrite=True)
        (tmp_path / "rule.json.key").unlink()
        with pytest.warns(UserWarning, match="was not checked"):
            loaded = Rule.load(path)
        assert loaded.predict_proba(half, half)[:, 1] == pytest.approx(probability)
        if not rule.draws:
            assert loaded.predict(half, half).tolist() == ["yes"] * 3
            continue
        with pytest.raises(ValueError, match=r"draws guesses .* key is not known; give key="):
            loaded.predict(half, half)
        assert loaded.predict(half, half, fresh=default_rng(0)).size == 3


def test_one_file_predicts_with_numpy_alone(tmp_path):
    source = Path(deployed.__file__)
    heads = {
        (node.names[0].name if isinstance(node, ast.Import) else str(node.module)).split(".")[0]
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert heads - sys.stdlib_module_names == {"numpy"}
    assert tokens_of(source) <= 3100
    rule, p_y, p_x = designed()
    rule.save(tmp_path / "rule.json")
    np.savez(tmp_path / "people.npz", p_y=p_y, p_x=p_x)
    shutil.copy(source, tmp_path / "guess.py")
    code = (
        "import sys; sys.path.insert(0, '.')\nimport guess, numpy\n"
        "z = numpy.load('people.npz'); print(*guess.Rule.load('rule.json').predict(z['p_y'], "
        "z['p_x']))\n"
        "assert not {'discreet', 'scipy', 'sklearn', 'pandas'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(guess) for guess in rule.predict(p_y, p_x).tolist()]


def test_listed_ties_are_found_however_many_share_their_first_number():
    rng = default_rng(0)
    p_y = rng.choice([0.2, 0.4, 0.6, 0.8], 60)[:, None] * [1.0, -1.0] + [0.0, 1.0]
    p_x = rng.dirichlet([1.0, 1.0], 60)
    points = np.hstack([1.0 - p_y, p_x])
    columns = rng.dirichlet([1.0, 1.0], 60)
    labels = Labels.of(None, None, None, 1 - np.eye(2), 2)
    document = people_rule(
        ds.OutcomeRule(np.zeros((2, 2))), np.zeros((0, 4)), labels, KEY, {}
    ).document
    ties = [
        {"point": p, "column": c} for p, c in zip(points.tolist(), columns.tolist(), strict=True)
    ]
    document = {**document, "ties": {**document["ties"], "points": ties}}
    rule = Rule.sealed(document, KEY)
    within = rule.within
    who = rng.integers(0, 60, 20_000)  # of whom some are as near as a tie reaches, some just beyond
    shift = rng.choice([0.0, 0.9, -0.9, 1.5, -1.5], who.size) * within
    found = rule.predict_proba(p_y[who], p_x[who] + shift[:, None] * [1.0, -1.0])
    near = np.abs(shift) < within
    np.testing.assert_array_equal(found[near], columns[who[near]])
    assert np.isin(found[~near], [0.0, 1.0]).all()


# -- coins
# --------------------------------------------------------------------------------------------------


def hashes_of(messages):
    """SipHash-1-3 of J.-P. Aumasson and D. J. Bernstein (2012) under a key of zeros: what Python
    hashes bytes by when PYTHONHASHSEED is 0.
    """
    assert sys.hash_info.algorithm == "siphash13"
    done = subprocess.run(
        [sys.executable, "-c", f"print(*map(hash, {messages!r}))"],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) % 2**64 for word in done.stdout.split()]


def test_words_of_a_coin_are_those_of_the_documentation():
    messages = {
        7: (7).to_bytes(8, "little"),
        -7: (-7).to_bytes(8, "little", signed=True),
        "Zoë": "Zoë".encode().ljust(40, b"\0"),
        "z" * 40: b"z" * 40,
        "z" * 41: hashlib.blake2b(b"z" * 41, digest_size=16).digest().ljust(40, b"\0"),
        "z\0": hashlib.blake2b(b"z\0", digest_size=16).digest().ljust(40, b"\0"),
        None: np.full(4, 0.5).tobytes(),
    }
    for who, word in zip(messages, hashes_of([*messages.values()]), strict=True):
        # the rule says "yes" with probability p exactly where the coin is at least 1 - p
        edge = (word >> 11) * 2.0**-53
        for probability, guess in ((1.0 - edge - 1e-9, "no"), (1.0 - edge + 1e-9, "yes")):
            rule = drawing(probability, key="00" * 16)
            found = rule.predict(HALF, HALF, ids=None if who is None else [who])
            assert found.tolist() == [guess], who
    # a text that UTF-8 has no bytes for is a text all the same
    assert drawing().predict(HALF, HALF, ids=["\ud800"]).size == 1


def drawing(probability=0.3, key=KEY):
    """A rule that guesses "yes" with this probability for everyone."""
    labels = Labels.of(["no", "yes"], None, None, 1 - np.eye(2), 2)
    rule = ds.OutcomeRule(np.zeros((2, 2)), share=1.0, towards=[1 - probability, probability])
    return people_rule(rule, np.zeros((0, 4)), labels, key, {})


def test_coins_of_different_people_are_fair_and_independent_of_order():
    rule = drawing()
    count = 20000
    half = np.full((count, 2), 0.5)
    for ids in (np.arange(count), np.array([f"person {k}" for k in range(count)])):
        guesses = rule.predict(half, half, ids=ids)
        assert abs((guesses == "yes").mean() - 0.3) < 0.015
        order = default_rng(1).permutation(count)
        assert (rule.predict(half, half, ids=ids[order]) == guesses[order]).all()
    agree = drawing(key="ff" * 16).predict(half, half, ids=ids) == guesses
    assert abs(agree.mean() - (0.3**2 + 0.7**2)) < 0.015


def test_one_person_is_guessed_as_in_a_crowd():
    rule, p_y, p_x = designed()
    together = rule.predict(p_y, p_x)
    assert [rule.predict(p_y[k : k + 1], p_x[k : k + 1])[0] for k in range(50)] == together[
        :50
    ].tolist()


@pytest.mark.parametrize(
    "p_y, p_x, ids, complaint",
    [
        (HALF, np.ones((2, 2)), None, r"p_y .*\[1, 2\] .*\[2, 2\]"),
        (np.ones((1, 3)), HALF, None, r"p_y has shape \[1, 3\]"),
        (HALF, HALF * np.nan, None, "p_x has shape .* not finite"),
        (HALF, HALF, [1, 2], "of 1 people"),
    ],
)
def test_what_cannot_be_guessed_is_refused_in_a_sentence(p_y, p_x, ids, complaint):
    with pytest.raises(ValueError, match=complaint):
        drawing().predict(p_y, p_x, ids=ids)
