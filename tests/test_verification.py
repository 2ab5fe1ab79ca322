"""`verify` against fractions and logarithms of 120 digits, on files of any maker, on false claims
and on inputs that are not files.
"""

import io
import json
import math
import struct
import tracemalloc
import zipfile
import zlib
from fractions import Fraction
from itertools import product
from math import inf, nan
from types import SimpleNamespace

import exactly
import mpmath
import numpy as np
import pytest
import strategies as make
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from random_laws import assert_same_arrays, random_columns, random_joint
from strategies import seeds

import discreet as ds
from discreet import BlockProblem, OutcomeRule, Problem, verification, verify
from discreet.files import write_blocks
from discreet.problems import blocks_from, paper_single
from discreet.verification import Verification

# -- the reference
# --------------------------------------------------------------------------------------------------


def exact_model(p_xz, loss):
    """The problem with its masses divided by their total, in fractions."""
    masses = exactly.fractions(p_xz)
    losses = exactly.fractions(loss)
    return SimpleNamespace(p_xz=masses / masses.sum(), loss=losses / masses.sum())


def bound(model, tilt, multiplier, budget):
    price = inf if budget == 0.0 else 0.0 if math.isinf(budget) else multiplier
    unit = price if 0.0 < price < inf else 1.0
    shifts = [unit * exactly.support(model, row[None], price) for row in tilt]
    tilted = model.loss + exactly.fractions(tilt) @ model.p_xz
    value = sum(
        min(
            exactly.real(own) - shift * exactly.real(mass)
            for own, shift in zip(losses, shifts, strict=True)
        )
        for losses, mass in zip(tilted.T, model.p_xz.sum(axis=0), strict=True)
    )
    return value - (unit * mpmath.mpf(budget) if 0.0 < price < inf else 0)


def close(interval, value):
    """Return whether an interval contains a fraction, with no double in between."""
    low, high = interval
    return Fraction(low) <= value <= Fraction(high) <= Fraction(math.nextafter(low, inf))


duals = st.tuples(st.integers(0, 1000), st.sampled_from([0.0, 1e-3, 0.1, 1.0, 30.0]))


@st.composite
def cases(draw):
    """A problem, an estimator, a tilt and a multiplier."""
    problem = draw(make.problems())
    estimator = draw(make.estimators((problem.m, problem.N)))
    seed, multiplier = draw(duals)
    tilt = default_rng(seed).normal(size=(problem.m, problem.n)) * multiplier
    return problem, estimator, tilt, multiplier


# -- exactness
# --------------------------------------------------------------------------------------------------


@given(cases())
def test_every_number_is_that_of_fractions(case):
    problem, estimator, tilt, multiplier = case
    found = verify(problem, {"estimator": estimator, "tilt": tilt, "multiplier": multiplier})
    model = exact_model(problem.p_xz, problem.loss)
    guess = exactly.completed(estimator)
    leakage = exactly.leakage(model, guess)
    deviation = exactly.distance(model, guess)
    assert close(found.error, exactly.error_probability(model, guess))
    assert close(found.deviation, deviation)
    assert found.leakage[0] <= leakage * (1 + mpmath.mpf(10) ** -60) + mpmath.mpf(10) ** -110
    assert leakage <= found.leakage[1] * (1 + mpmath.mpf(10) ** -60) + mpmath.mpf(10) ** -110
    assert (found.leakage == (0.0, 0.0)) == (deviation == 0)
    if leakage > 1e-90:
        assert found.leakage[1] <= found.leakage[0] * (1 + 1e-15)
    assert found.budget_kept == (deviation == 0 or leakage <= problem.budget)
    true = bound(model, tilt, multiplier, problem.budget)
    scale = 1 + abs(tilt).max() + multiplier + problem.loss.sum()
    assert max(0, true - 1e-14 * scale) <= found.lower_bound <= max(0, true + 1e-100)
    # no estimator that keeps the budget errs less than the bound
    assert found.bracket[0] == found.lower_bound <= found.bracket[1]
    if found.budget_kept:
        assert found.lower_bound <= found.error[1] == found.bracket[1]


@given(make.joints(), st.integers(0, 1000), st.sampled_from([1.0, 1.0 + 3e-10, 1.0 - 3e-10]))
def test_a_joint_tensor_means_the_doubles_that_are_solved(joint, seed, total):
    """The sums over X and Y are added from the left, and a total that is not one is divided out, as
    `Problem` does.
    """
    joint = joint * total
    n, m, outcomes = joint.shape
    estimator = random_columns(seed, m, outcomes)
    a = np.zeros((n, outcomes))
    q = np.zeros((m, outcomes))
    loss = np.zeros((m, outcomes))
    for j, i, k in product(range(n), range(m), range(outcomes)):
        a[j, k] += joint[j, i, k]
        q[i, k] += joint[j, i, k]
    for i, h in product(range(m), range(m)):
        loss[i] += q[h] * (h != i)
    nearest = float(sum(map(Fraction, a.ravel().tolist())))
    if abs(nearest - 1.0) > 2.0**-50:
        a = a / nearest
        loss = loss / nearest
    problem = Problem.from_joint(joint, 1.0)
    assert_same_arrays(problem, SimpleNamespace(p_xz=a, loss=loss))
    found = verify({"joint": joint, "budget": 1.0}, estimator)
    assert found == verify(problem, estimator)
    error = exactly.error_probability(exact_model(a, loss), exactly.completed(estimator))
    assert close(found.error, error)


@pytest.mark.parametrize("scale", [2.0**-1074, 2.0**-1000, 2.0**-300, 2.0**-53])
def test_masses_of_any_size_are_summed_to_the_last_bit(scale):
    """Mantissas of ones only, of every size: what is independent is so exactly, until the last bit
    of one mass changes.
    """
    n = 5
    outcomes = 320
    sizes = default_rng(0).integers(-60, 0, outcomes) - 10
    p_xz = np.broadcast_to(math.nextafter(1.0, 0.0) * 2.0**sizes, (n, outcomes)).copy()
    p_xz[:, 9] = scale * 3.0
    p_xz[:, 0] += (1.0 - p_xz.sum()) / n
    estimator = random_columns(1, 40, outcomes)
    problem = {"p_xz": p_xz, "loss": np.zeros((40, outcomes)), "budget": 0.0}
    assert verify(problem, estimator).leakage == (0.0, 0.0)
    p_xz[3, 9] += scale
    told = verify(problem, estimator)
    assert not told.budget_kept
    assert 0.0 < told.deviation[1] < 1e4 * scale


def test_a_bound_that_lies_in_the_last_bits_of_its_terms_is_exact():
    """Losses are as large as what the tilts take off, but for a few units in the last place, which
    rounding would hide.
    """
    rng = default_rng(0)
    masses = random_joint(rng, 3, 500)
    p_xz = Problem(masses, np.zeros((2, 500)), inf).p_xz
    tilt = np.array([[-0.3, -0.7, -0.9], [-0.3, -0.8, -0.6]])
    loss = -(tilt + 0.3) @ p_xz
    loss += rng.integers(4, 9, loss.shape) * np.spacing(loss)
    guess = np.eye(2)[:, [0] * 500]
    found = verify(
        {"p_xz": p_xz, "loss": loss, "budget": inf}, {"estimator": guess, "tilt": tilt}
    ).lower_bound
    true = bound(exact_model(p_xz, loss), tilt, 0.0, inf)
    assert 0.0 < true * (1 - mpmath.mpf(10) ** -14) <= found <= true < 1e-15


def test_the_bound_of_an_enormous_multiplier_loses_nothing():
    """A private value of mass 5e-83 under a budget of 5e-91 nats: a shift of size 1 is the
    logarithm of 1 + 5e-85.
    """
    rare = 5e-83
    p_xz = np.array([[rare, 0.0], [0.5, 0.5]])
    loss = np.array([[0.0, 0.3], [0.2, 0.1]])
    multiplier = 1e2 / rare
    tilt = np.array([[1e-3 * multiplier, -1e-3 * rare * multiplier], [0.0, 0.0]])
    found = verify(
        {"p_xz": p_xz, "loss": loss, "budget": rare * 1e-8},
        {"estimator": np.eye(2), "tilt": tilt, "multiplier": multiplier},
    )
    true = bound(exact_model(p_xz, loss), tilt, multiplier, rare * 1e-8)
    assert 0.05 < true
    assert true * (1 - mpmath.mpf(10) ** -14) <= found.lower_bound <= true


# -- perfect privacy
# --------------------------------------------------------------------------------------------------


def test_integers_make_an_estimator_exactly_private():
    """y_0 is guessed with probabilities (p, q, 0): (3p + 5q)/16 = (p + 10q)/16 given either x, so p
    = 1/3 needs q = 2/15.
    """
    p_xz = np.array([[3.0, 5.0, 8.0], [1.0, 10.0, 5.0]]) / 32.0
    loss = np.array([[0.0, 0.25, 0.25], [0.125, 0.1875, 0.1875]])
    estimator = np.array([[1 / 3, 2 / 15, 0.0], [2 / 3, 13 / 15, 1.0]])
    rough = verify({"p_xz": p_xz, "loss": loss, "budget": 0.0}, estimator)
    assert rough.budget_kept is False
    assert 0.0 < rough.leakage[1] < 1e-30
    columns = json.dumps({"0": ["1", "2"], "1": ["0x2", "13"]})
    exact = verify(
        {"p_xz": p_xz, "loss": loss, "budget": 0.0},
        {"estimator": estimator, "exact_columns": columns},
    )
    assert exact.budget_kept is True
    assert exact.leakage == exact.deviation == (0.0, 0.0)
    error = Fraction(2, 3) / 8 + Fraction(2, 15) / 4 + Fraction(13, 15) * 3 / 16 + Fraction(3, 16)
    assert close(exact.error, error)


# -- false claims
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved():
    problem = paper_single(bins=32, budget=0.005)
    return problem, ds.solve(problem, "tilt")


def test_the_error_that_a_file_states_is_not_believed(tmp_path, solved):
    problem, solution = solved
    ds.save_problem(tmp_path / "problem.npz", problem)
    lie = solution.to_dict() | {"error_probability": 0.01, "upper_bound": 0.01, "lower_bound": 0.01}
    ds.save_solution(
        tmp_path / "solution.npz",
        solution.estimator,
        solution.tilt,
        solution.multiplier or 0.0,
        lie,
    )
    found = verify(tmp_path / "problem.npz", str(tmp_path / "solution.npz"))
    assert found == verify(problem, solution)
    assert found.error[0] > 0.07


# -- rules and blocks
# --------------------------------------------------------------------------------------------------


@given(make.problems(), seeds)
def test_a_rule_is_verified_as_the_matrix_that_it_makes(problem, seed):
    rng = default_rng(seed)
    m = problem.m
    n = problem.n
    tilt = rng.normal(size=(m, n)) * rng.choice([0.0, 1e-9, 0.1, 1.0])
    ties = rng.choice(problem.N, size=int(rng.integers(0, problem.N + 1)), replace=False)
    columns = rng.multinomial(8, np.ones(m) / m, size=ties.size).T / 8
    classes = rng.multinomial(4, np.ones(m) / m, size=m * m) / 4
    band = float(rng.choice([0.0, 0.1, 10.0])) if m > 1 else 0.0
    share = float(rng.choice([0.0, 0.25]))
    towards = rng.multinomial(16, np.ones(m) / m) / 16
    rule = OutcomeRule(tilt, ties, columns, share, towards, band, classes if band else None)
    blocks = BlockProblem.of(problem)
    members = {
        "tilt": tilt,
        "rule_tilt": tilt,
        "ties": ties,
        "columns": columns,
        "share": share,
        "towards": towards,
        "band": band,
    }
    members |= {"tie_classes": classes, "multiplier": 0.3}
    found = verify(problem, members)
    with np.errstate(over="ignore"):  # margins of outcomes of mass 5e-324
        estimator = rule.dense(blocks.blocks)
    assert found == verify(problem, {"estimator": estimator, "tilt": tilt, "multiplier": 0.3})
    assert verify(blocks, members) == found


def test_blocks_are_verified_like_arrays(tmp_path):
    problem = paper_single(bins=1000, budget=0.01)
    streamed = ds.problems.block_problem(
        blocks_from(
            lambda: (
                (problem.p_xz[:, k : k + 300], problem.loss[:, k : k + 300])
                for k in range(0, 1000, 300)
            ),
            2,
            2,
        ),
        budget=0.01,
    )
    solution = ds.solve(streamed, "tilt")
    found = verify(streamed, solution)
    assert found.budget_kept
    assert found.bracket[1] / found.bracket[0] < 1 + 1e-9
    write_blocks(tmp_path / "blocks.npz", streamed.blocks, budget=0.01)
    solution.save(str(tmp_path / "rule.npz"))
    assert verify(tmp_path / "blocks.npz", tmp_path / "rule.npz") == found
    assert verify(problem, solution.estimator) == verify(
        tmp_path / "blocks.npz", np.asarray(solution.estimator)
    )


# -- files
# --------------------------------------------------------------------------------------------------


def test_files_of_other_programs_are_read(tmp_path):
    rng = default_rng(5)
    joint = random_joint(rng, 2, 3, 700)
    estimator = random_columns(rng, 3, 700)
    expected = verify({"joint": joint, "budget": 0.1}, estimator)
    for save in (np.savez, np.savez_compressed):
        for one, other in (
            (joint, estimator),
            (np.asfortranarray(joint), np.asfortranarray(estimator)),
            (joint.astype(">f8"),) * 2,
        ):
            save(tmp_path / "problem.npz", joint=one, budget=0.1)
            save(tmp_path / "solution.npz", estimator=estimator if other is one else other)
            assert verify(tmp_path / "problem.npz", tmp_path / "solution.npz") == expected
    labels = np.eye(3, dtype=np.int8)[:, estimator.argmax(axis=0)]
    np.savez(tmp_path / "solution.npz", estimator=labels, comment="made elsewhere")
    assert verify(tmp_path / "problem.npz", tmp_path / "solution.npz") == verify(
        {"joint": joint, "budget": 0.1}, labels.astype(float)
    )


HALF = np.full((2, 3), 0.5)
GOOD = {"p_xz": HALF / 3, "loss": HALF / 3, "budget": 0.1}


@pytest.mark.parametrize(
    "problem, words",
    [
        (GOOD | {"budget": nan}, "budget"),
        (GOOD | {"budget": [0.1, 1e-9]}, "size 1"),
        ({"p_xz": HALF / 3, "loss": HALF / 3}, "budget"),
        (GOOD | {"loss": np.ones((2, 4))}, "shapes"),
        (GOOD | {"p_xz": 0.4 * HALF}, "sum to 1.2"),
        (GOOD | {"p_xz": np.array([[1.2, -0.2, 0], [0, 0, 0]])}, "entry"),
        (GOOD | {"p_xz": HALF / 3 + 0j}, "doubles"),
        (None, "cannot be read"),
        (ds.problems.paper_continuous(budget=0.1), "ContinuousProblem"),
        ("missing.npz", "missing.npz"),
        (__file__, "zip"),
    ],
)
def test_a_problem_that_cannot_be_checked_is_refused(problem, words):
    with pytest.raises(ValueError, match=words):
        verify(problem, HALF)


RULE = {"rule_tilt": np.ones((2, 2))}


@pytest.mark.parametrize(
    "answer, words",
    [
        (5, "cannot be read"),
        (np.full((2, 4), 0.5), "estimator"),
        (0.8 * HALF, "column 0"),
        (np.array([[0.5, 1.5, 0.5], [0.5, -0.5, 0.5]]), "column 1"),
        ({"multiplier": 1.0}, "needs an estimator"),
        ({"tilt": np.ones((2, 2)), "multiplier": -1.0}, "≥ 0"),
        ({"tilt": np.ones((2, 2)), "multiplier": nan}, "multiplier"),
        ({"estimator": HALF, "tilt": np.full((2, 2), inf)}, "tilt"),
        ({"rule_tilt": np.ones((2, 4))}, "tilt"),
        (RULE | {"share": 2.0}, "share"),
        (RULE | {"ties": [0, 0], "columns": HALF[:, :2]}, "once"),
        (RULE | {"ties": [3], "columns": HALF[:, :1]}, "ties"),
        (RULE | {"ties": [0], "columns": np.array([["1/2"], ["1/2"]])}, "columns"),
        (RULE | {"exact_columns": '{"0": ["4", "-1"]}'}, "integers"),
        (RULE | {"exact_columns": '{"0": ["one", "0"]}'}, "one"),
        (RULE | {"exact_columns": '{"0": ["0", "0"]}'}, "Fraction"),
        (RULE | {"exact_columns": "[0]"}, "for some outcomes"),
        (RULE | {"exact_columns": '{"1": ["1", "0"], "01": ["0", "1"]}'}, "for some outcomes"),
        (RULE | {"exact_columns": "{"}, "Expecting"),
    ],
)
def test_an_answer_that_cannot_be_checked_is_refused(answer, words):
    with pytest.raises(ValueError, match=words):
        verify(GOOD, answer)


def test_a_solution_without_an_answer_is_refused():
    problem = paper_single(bins=4, budget=0.01)
    failed = ds.solve(problem, "highs")
    assert failed.estimator is None
    with pytest.raises(ValueError, match="highs"):
        verify(problem, failed)


def test_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "bad.npz", estimator=np.array([[1], [None]], dtype=object))
    with pytest.raises(ValueError, match=r"estimator\.npy "):
        verify(GOOD, tmp_path / "bad.npz")


def altered(content, seed):
    rng = default_rng(seed)
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed[: int(rng.integers(1, len(changed)))] if seed % 5 == 0 else changed)


def test_altered_files_are_refused_or_judged_by_what_they_hold(tmp_path):
    problem = paper_single(bins=4, budget=0.01)
    solution = ds.solve(problem, "tilt")
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(
            stream, estimator=solution.estimator, tilt=solution.tilt, multiplier=solution.multiplier
        )
        for seed in range(300):
            (tmp_path / "altered.npz").write_bytes(altered(stream.getvalue(), seed))
            try:
                found = verify(problem, tmp_path / "altered.npz")
            except ValueError:
                continue
            assert isinstance(found, Verification)


def stored(folder):
    """The bytes of a file of an estimator, which is in the folder."""
    np.savez(folder / "estimator.npz", estimator=HALF)
    return bytearray((folder / "estimator.npz").read_bytes())


def test_a_changed_bit_of_an_array_is_refused(tmp_path):
    content = stored(tmp_path)
    content[content.index(np.full(2, 0.5).tobytes())] ^= 1
    (tmp_path / "estimator.npz").write_bytes(content)
    with pytest.raises(ValueError, match="Bad CRC-32"):
        verify(GOOD, tmp_path / "estimator.npz")


def test_an_array_that_ends_before_its_shape_does_is_refused(tmp_path):
    """A directory that lists fewer bytes than the shape needs, with their checksum. Python 3.12.6
    reads what follows.
    """
    content = stored(tmp_path)
    with zipfile.ZipFile(tmp_path / "estimator.npz") as archive:
        held = archive.read("estimator.npy")
    entry = content.index(b"PK\1\2")
    content[entry + 16 : entry + 24] = struct.pack("<II", zlib.crc32(held[:-8]), len(held) - 8)
    (tmp_path / "estimator.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"estimator\.npy ends"):
        verify(GOOD, tmp_path / "estimator.npz")


def test_an_array_of_many_rows_is_read_once_for_its_checksum_and_once_a_pass(tmp_path, monkeypatch):
    joint = default_rng(0).random((10, 10, 500))
    np.savez(tmp_path / "problem.npz", joint=joint / joint.sum(), budget=0.1)
    counted = []
    read = zipfile.ZipExtFile.read

    def counting(stream, size=-1):
        found = read(stream, size)
        counted.append(len(found))
        return found

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counting)
    verify(tmp_path / "problem.npz", np.full((10, 500), 0.1))
    assert sum(counted) <= joint.nbytes + 1000


def test_two_members_of_one_name_are_refused(tmp_path):
    stream = io.BytesIO()
    np.save(stream, HALF)
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("estimator.npy", stream.getvalue())
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("estimator.npy", stream.getvalue())
    with pytest.raises(ValueError, match=r"twice\.npz"):
        verify(GOOD, tmp_path / "twice.npz")


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', (",
        b"{'descr': 5}",
        b"x" * 90,
        b"{'descr': '<U99999999', 'shape': (1,), 'fortran_order': True}",
    ],
)
def test_a_header_that_is_none_is_refused_in_a_line(tmp_path, header):
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr(
            "estimator.npy", b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
        )
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the words are numpy's)
        verify(GOOD, tmp_path / "bad.npz")
    assert len(str(caught.value)) <= 400
    assert "\n" not in str(caught.value)


def test_a_flood_of_members_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        for k in range(101):
            archive.writestr(f"x{k}.npy", b"")
    with pytest.raises(ValueError, match="100"):
        verify(GOOD, tmp_path / "many.npz")


def test_masked_elements_are_refused():
    masked = np.ma.masked_array(HALF, mask=True)
    with pytest.raises(ValueError, match="masked"):
        verify(GOOD, {"estimator": masked})


def test_a_header_that_promises_too_much_costs_nothing(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "vast.npz", "w") as archive,
        archive.open("estimator.npy", "w") as stream,
    ):
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 3)}
        np.lib.format.write_array_header_1_0(stream, header)
    with pytest.raises(ValueError, match=r"vast\.npz: estimator\.npy .*\[1000000000, 3\]"):
        verify(GOOD, tmp_path / "vast.npz")


# -- size
# --------------------------------------------------------------------------------------------------


def peak(path):
    """Most bytes that Python held while verifying."""
    tracemalloc.start()
    try:
        verify(path / "problem.npz", path / "solution.npz")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_outcomes(tmp_path):
    used = []
    for outcomes in (1 << 17, 1 << 18):
        rng = default_rng(0)
        p_xz = rng.random((2, outcomes))
        p_xz /= p_xz.sum()
        np.savez(tmp_path / "problem.npz", p_xz=p_xz, loss=p_xz[::-1], budget=0.1)
        np.savez(tmp_path / "solution.npz", estimator=np.eye(2)[:, rng.integers(0, 2, outcomes)])
        used.append(peak(tmp_path))
    assert used[1] < 1.2 * used[0]


def test_many_outcomes_take_few_operations(monkeypatch):
    """Numbers are cut once a part and pass, once more where losses are equal: 31 parts of 8,192
    outcomes, two passes.
    """
    counted = []
    pieces = verification.exact.pieces
    monkeypatch.setattr(
        verification.exact, "pieces", lambda *cut: counted.append(np.size(cut[0])) or pieces(*cut)
    )
    outcomes = 250_000
    p_xz = np.full((2, outcomes), 0.5 / outcomes)
    labels = np.eye(2)[:, np.arange(outcomes) % 2]
    found = verify({"p_xz": p_xz, "loss": p_xz, "budget": 0.0}, labels)
    assert found.leakage == (0.0, 0.0)
    assert len(counted) <= 4 * 31
    assert sum(counted) <= 12 * outcomes + 20 * 31


# -- what it trusts
# --------------------------------------------------------------------------------------------------


def test_without_python_flint_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(verification.exact, "arb", None)
    with pytest.raises(ImportError, match=r"pip install 'discreet\[verify\]'"):
        verify(GOOD, HALF)


@pytest.mark.parametrize("which", ["problem", "solution"])
def test_files_of_another_version_are_refused(which):
    members = {"problem": GOOD, "solution": {"estimator": HALF}}
    assert verify(*members.values()).budget_kept
    members[which] = members[which] | {"version": np.array(2)}
    with pytest.raises(ValueError, match="version"):
        verify(*members.values())
