"""Blocks of outcomes: passes over them and their order, systematic samples, files mapped to memory,
files written, and refusals of invalid problems.
"""

import math
import os
import threading
import time
import zipfile
from functools import cache, partial
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest
from block_cases import together
from checkout import python
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_columns, random_joint, random_problem
from refusals import raises_file_error, raises_input_error
from strategies import problems, seeds

import discreet as ds
from discreet import BlockProblem, InputError, Problem, load_problem, save_problem
from discreet.files import map_problem, write_blocks
from discreet.problems import ArrayBlocks, block_problem, blocks_from
from discreet.problems.folds import FAN, fold
from discreet.problems.outcomes import Chunk, chunk_size, in_order
from discreet.problems.streams import sources
from discreet.problems.streams.sample import sample

problem_of = cache(partial(random_problem, outcomes=500, m=3, name="an example"))


def assert_same(found, expected):
    a, loss = together(found.blocks)
    assert_allclose(a, expected.p_xz, rtol=4e-16)
    assert_allclose(loss, expected.loss, rtol=4e-16)
    assert_allclose(found.p_x, expected.p_x, rtol=4e-16)
    assert_allclose(found.constant_errors, expected.constant_errors, rtol=1e-14)
    assert (found.n, found.m, found.N) == (expected.n, expected.m, expected.N)


# -- passing over
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_order(threads):
    def slow(k):
        time.sleep(0.002 * (k % 3))
        return k

    assert list(in_order(range(50), threads, slow)) == list(range(50))


def test_items_are_not_taken_far_ahead():
    taken = []

    def items():
        for k in range(1000):
            taken.append(k)
            yield k

    for done, _ in enumerate(in_order(items(), 2, lambda k: k)):
        assert len(taken) <= done + 8


def test_an_exception_ends_the_pass_and_its_threads():
    def work(k):
        if k == 5:
            raise InputError("five")
        return k

    before = threading.active_count()
    with raises_input_error("five"):
        list(in_order(range(10**6), 2, work))
    assert threading.active_count() == before


# -- totals
# --------------------------------------------------------------------------------------------------


@given(problems(), st.integers(1, 4))
def test_totals_are_those_of_the_problem(problem, size):
    found = block_problem(ArrayBlocks(problem.p_xz, problem.loss, size), problem.budget, threads=1)
    assert_same(found, problem)
    assert found.budget == problem.budget


def test_the_losses_of_a_problem_in_memory_are_added_up_once_for_all_budgets():
    problem = problem_of()
    one = BlockProblem.of(problem).constant_errors
    assert BlockProblem.of(problem.with_budget(0.5 * problem.budget)).constant_errors is one
    assert_allclose(one, problem.constant_errors, rtol=1e-14)


@pytest.fixture
def size(request, monkeypatch):
    """Outcomes in a chunk, which NumPy or compiled kernels check."""
    number, compiled = request.param
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr(sources, "compiled_pays", lambda outcomes: compiled)
    return number


SIZES = pytest.mark.parametrize("size", [(50, False), (1000, False), (50, True)], indirect=True)


@SIZES
def test_the_totals_do_not_depend_on_threads(size):
    expected = problem_of()
    one, two = (
        block_problem(ArrayBlocks(expected.p_xz, expected.loss, size), 0.01, threads=threads)
        for threads in (1, 2)
    )
    assert_same(one, expected)
    assert_array_equal(one.p_x, two.p_x)
    assert_array_equal(one.constant_errors, two.constant_errors)


@pytest.mark.parametrize(
    "what, value, words",
    [
        ("p_xz", nan, r"p_xz\[1, 123\] is nan, which is not finite"),
        ("p_xz", inf, r"p_xz\[1, 123\] is inf, which is not finite"),
        ("p_xz", -0.2, r"p_xz\[1, 123\] is -0.2, which is negative"),
        ("p_xz", 2.0, r"p_xz(\[1, 123\] is 2, above 1| sums to 2\.9)"),
        ("p_xz", 0.5, r"p_xz sums to 1\.4"),
        ("loss", nan, r"loss\[1, 123\] is nan, which is not finite"),
        ("loss", -1e-300, r"loss\[1, 123\] is -1e-300, which is negative"),
        ("loss", 1e101, r"above 1e\+100"),
    ],
)
@SIZES
def test_entries_that_are_not_masses_are_named(size, what, value, words):
    problem = problem_of()
    arrays = {"p_xz": problem.p_xz.copy(), "loss": problem.loss.copy()}
    arrays[what][1, 123] = value
    for build in (
        lambda: Problem(*arrays.values(), 0.01),
        lambda: block_problem(ArrayBlocks(*arrays.values(), size), 0.01),
    ):
        with raises_input_error(words):
            build()


@SIZES
def test_a_loss_without_probability_is_named(size):
    joint = random_joint(0, 2, 3, 500)
    joint[0] += joint[1]
    joint[1] = 0.0  # a private value without probability is accepted
    joint[:, :, 123] = 0.0
    problem = Problem.from_joint(joint / joint.sum(), 0.01)
    assert_same(block_problem(ArrayBlocks(problem.p_xz, problem.loss, size), 0.01), problem)
    loss = problem.loss.copy()
    loss[2, 123] = 1e-9
    with raises_input_error("outcome 123 "):
        block_problem(ArrayBlocks(problem.p_xz, loss, size), 0.01)


def test_chunks_of_another_shape_are_refused():
    problem = problem_of()
    chunks = ArrayBlocks(problem.p_xz, problem.loss, 100).chunks
    with raises_input_error(r"loss .*outcome 0 .*\[3, 100\].*\[2, 100\]"):
        block_problem(SimpleNamespace(n=2, m=2, N=500, chunks=chunks), 0.01)


def test_chunks_out_of_order_are_refused():
    problem = problem_of()

    class Reversed(ArrayBlocks):
        def chunks(self):
            yield from reversed(list(super().chunks()))

    blocks = Reversed(problem.p_xz, problem.loss, 100)
    for visit in (lambda: block_problem(blocks, 0.01), lambda: fold(blocks, own_start, nested)):
        with raises_input_error(r"outcome 400 .*0"):
            visit()


# -- iterators
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", [None, 500])
def test_any_restartable_iterator_is_a_source(stated):
    problem = problem_of()
    started = []

    def factory():
        started.append(1)
        for lo, hi in ((0, 3), (3, 3), (3, 400), (400, 500)):
            yield problem.p_xz[:, lo:hi], problem.loss[:, lo:hi]

    blocks = blocks_from(factory, 2, 3, stated)
    assert blocks.N == 500
    assert_same(block_problem(blocks, 0.01, threads=2), problem)
    assert len(started) == (2 if stated is None else 1) + 1


def test_large_items_are_split_into_chunks():
    a = np.full((1, 200_000), 1 / 200_000)
    blocks = blocks_from(lambda: iter([(a, np.zeros((1, 200_000)))]), 1, 1)
    assert [chunk.count for chunk in blocks.chunks()] == [65536, 65536, 65536, 3392]


@pytest.mark.parametrize(
    "items, words",
    [
        ([(np.ones((2, 3)), np.ones((2, 4)))], "the same B"),
        ([(np.ones((3, 3)), np.ones((2, 3)))], "the same B"),
        ([(np.ones(3), np.ones(3))], "the same B"),
        ([5], "not a pair"),
        ([("a", "b")], "not a pair"),
        ([], "N is 0"),
    ],
)
def test_iterators_of_other_items_are_refused(items, words):
    with raises_input_error(words):
        blocks_from(lambda: iter(items), 2, 2)


def test_an_iterator_that_changes_is_noticed():
    problem = problem_of()
    blocks = blocks_from(lambda: iter([(problem.p_xz, problem.loss)]), 2, 3, 501)
    with raises_input_error(r"500 .*501"):
        block_problem(blocks, 0.01)


# -- files
# --------------------------------------------------------------------------------------------------


def test_an_archive_is_mapped_in_place(tmp_path):
    problem = problem_of()
    path = tmp_path / "p.npz"
    save_problem(path, problem)
    found = map_problem(path)
    assert_same(found, problem)
    assert found.budget == problem.budget
    assert found.name == "an example"
    assert map_problem(path, 0.5).budget == 0.5
    assert map_problem(path, equivocation=0.3).budget == pytest.approx(problem.entropy_x - 0.3)


def test_a_joint_is_summed_as_it_is_read(tmp_path):
    joint = random_joint(0, 2, 3, 500)
    matrix = np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 0.5]])
    np.savez(tmp_path / "joint.npz", joint=joint)
    np.save(tmp_path / "joint.npy", joint)
    for name in ("joint.npz", "joint.npy"):
        assert_same(map_problem(tmp_path / name, 0.1), Problem.from_joint(joint, 0.1))
        found = map_problem(tmp_path / name, 0.1, loss_matrix=matrix)
        assert_same(found, Problem.from_joint(joint, 0.1, loss_matrix=matrix))


@pytest.mark.parametrize(
    "convert",
    [np.asfortranarray, lambda array: array.astype(">f8"), lambda array: array.astype("f4")],
)
def test_other_orders_and_types_are_converted(tmp_path, convert):
    problem = problem_of(seed=3)
    a = convert(problem.p_xz)
    loss = convert(problem.loss)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "loss.npy", loss)
    np.savez(tmp_path / "both.npz", p_xz=a, loss=loss)
    expected = a.astype(np.float64)
    total = expected.sum()
    for found in (
        map_problem(tmp_path / "a.npy", 0.1, loss=tmp_path / "loss.npy"),
        map_problem(tmp_path / "both.npz", 0.1),
    ):
        assert_allclose(together(found.blocks)[0], expected / total, rtol=1e-9)
        for part in next(found.blocks.chunks()).read():
            assert part.dtype == np.float64


@given(problem=problems())
def test_a_written_problem_is_read_back(problem, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "p.npz"
    write_blocks(
        path, ArrayBlocks(problem.p_xz, problem.loss, 2), budget=problem.budget, name="written"
    )
    mapped = map_problem(path)
    loaded = load_problem(path)
    for a, loss in (together(mapped.blocks), (loaded.p_xz, loaded.loss)):
        assert_array_equal(a, problem.p_xz)
        assert_array_equal(loss, problem.loss)
    assert mapped.budget == loaded.budget == problem.budget
    assert mapped.name == loaded.name == "written"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_writing_is_all_or_nothing(tmp_path):
    problem = problem_of()
    path = tmp_path / "p.npz"

    def breaking():
        yield problem.p_xz[:, :100], problem.loss[:, :100]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_blocks(path, blocks_from(breaking, 2, 3, 500))
    assert list(tmp_path.iterdir()) == []
    write_blocks(path, BlockProblem.of(problem).blocks)
    before = path.read_bytes()
    with raises_file_error(r"p.npz .*overwrite=True"):
        write_blocks(path, BlockProblem.of(problem).blocks)
    with pytest.raises(KeyboardInterrupt):
        write_blocks(path, blocks_from(breaking, 2, 3, 500), overwrite=True)
    assert path.read_bytes() == before
    with raises_file_error("unprintable"):
        write_blocks(path, BlockProblem.of(problem).blocks, name="\x07", overwrite=True)


def _write(path, **members):
    np.savez(path, **members)
    return path


def test_what_cannot_be_mapped_is_refused_in_one_sentence(tmp_path):
    """Both readers refuse what `test_files.py` has."""
    problem = problem_of()
    a = problem.p_xz
    loss = problem.loss
    path = tmp_path / "x.npz"

    def refused(words, where, **options):
        with raises_file_error(words) as caught:
            map_problem(where, 0.1, **options)
        assert str(caught.value).startswith(str(where))

    (tmp_path / "text.npy").write_text("hello, this is no array")
    refused("NPY format", tmp_path / "text.npy")
    refused("same N", _write(path, p_xz=a, loss=loss[:, :-1]))
    np.savez_compressed(path, p_xz=a, loss=loss)
    refused("compressed and cannot be mapped", path)
    np.save(tmp_path / "a.npy", a)
    refused("joint has shape", tmp_path / "a.npy")
    refused("leave it out", _write(path, p_xz=a, loss=loss), loss=tmp_path / "a.npy")
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-8])
    refused("damaged", tmp_path / "short.npy")
    for bad in (nan, -0.1):
        with raises_input_error("budget"):
            map_problem(_write(path, p_xz=a, loss=loss), bad)
    with raises_input_error(r"x.npz .*loss_matrix"):
        map_problem(path, 0.1, loss_matrix=np.eye(3))
    with raises_input_error(r"loss_matrix .*2 .*3"):
        map_problem(_write(path, joint=random_joint(0, 2, 3, 500)), 0.1, loss_matrix=np.eye(2))


# -- memory
# --------------------------------------------------------------------------------------------------

_MEASURE = """
import sys
import numpy as np
from discreet.problems.outcomes import ArrayBlocks
from discreet.judge import certify
from discreet.problems.outcome_rules import OutcomeRule
from discreet.files.mapped import map_problem, write_blocks
from discreet.problems.streams.sources import blocks_from

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

N = 1_500_000
def parts():
    rng = np.random.default_rng(0)
    for _ in range(30):
        joint = rng.random((2, 2, N // 30)) / (0.5 * 4 * N)
        yield joint.sum(axis=1), joint.sum(axis=0)[::-1].copy()

def scaled():
    for a, loss in parts():
        yield a / total, loss / total

total = sum(a.sum() for a, _ in parts())
write_blocks(sys.argv[1], blocks_from(scaled, 2, 2, N))
certify(map_problem(sys.argv[1], 0.01), OutcomeRule(np.zeros((2, 2))), None, 0.0)
before = anonymous()
problem = map_problem(sys.argv[1], 0.01)
rule = certify(problem, OutcomeRule([[0.1, -0.1], [-0.1, 0.1]]), None, 0.2).answer
rule.dense(problem.blocks, sys.argv[2])
print(problem.N, anonymous() - before)
"""


@pytest.mark.gate
@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"),
    reason="the system does not tell anonymous from mapped memory",
)
def test_a_mapped_problem_takes_no_memory_of_its_own(tmp_path):
    estimator = tmp_path / "estimator.npy"
    printed = python("-c", _MEASURE, str(tmp_path / "p.npz"), str(estimator))
    outcomes, grown = map(int, printed.split())
    assert outcomes == 1_500_000
    assert grown < 10_000  # KiB; the file has 48 MB
    assert np.load(estimator, mmap_mode="r").shape == (2, 1_500_000)


def test_what_takes_arrays_takes_outcomes_in_blocks(tmp_path):
    problem = problem_of(outcomes=12)
    blocks = BlockProblem.of(problem)
    points = [ds.frontier(each, points=4).rows for each in (problem, blocks)]
    assert [row.upper for row in points[0]] == [row.upper for row in points[1]]
    advice = ds.advise(blocks)
    assert advice.features == ds.advise(problem).features
    assert advice.backend == "tilt"
    assert (
        advice.not_chosen["blahut-arimoto"]
        == "backend blahut-arimoto does not serve outcomes in blocks"
    )
    assert ds.inference(blocks, problem.bayes_estimator) == ds.inference(
        problem, problem.bayes_estimator
    )
    programs = [
        ds.export(each, tmp_path / f"{number}.cbf").read_bytes()
        for number, each in enumerate((problem, blocks))
    ]
    assert programs[0].replace(b"an example", b"") == programs[1].replace(b"an example", b"")
    variables = problem.bayes_estimator.ravel()
    assert_array_equal(ds.lift(blocks, variables), ds.lift(problem, variables))
    save_problem(tmp_path / "blocks.npz", blocks)
    assert_array_equal(load_problem(tmp_path / "blocks.npz").p_xz, problem.p_xz)


class Counted:
    """N outcomes in chunks of one, without contents."""

    n = m = 1

    def __init__(self, outcomes):
        self.N = outcomes

    def chunks(self):
        for start in range(self.N):
            yield Chunk(start, 1, lambda start=start: (np.full((1, 1), float(start)),) * 2)


def nested(parts):
    """A merge that shows the order of all merges."""
    return tuple(parts)


def own_start(chunk):
    return chunk.start


def test_siblings_are_merged_at_once_and_once():
    assert fold(Counted(1), own_start, nested) == (0,)
    assert fold(Counted(FAN), own_start, nested, threads=2) == tuple(range(FAN))
    assert fold(Counted(FAN + 2), own_start, nested) == (tuple(range(FAN)), (FAN, FAN + 1))


def test_only_chunks_that_something_is_given_for_are_visited():
    visited = fold(
        Counted(50), lambda chunk, more: (chunk.start, more), nested, given={3: "a", 40: "b"}
    )
    assert visited == ((3, "a"), (40, "b"))


def test_there_are_never_more_than_some_hundred_thousand_chunks():
    for outcomes in (1, 1 << 22, (1 << 22) - 1, 1 << 35, (1 << 35) + 1, 10**12, 1 << 45):
        size = chunk_size(outcomes)
        assert -(-outcomes // size) <= 1 << 17
        assert size & (size - 1) == 0
    assert (chunk_size(1 << 21), chunk_size(1 << 22), chunk_size(1 << 35)) == (
        1 << 16,
        1 << 18,
        1 << 18,
    )


SHAPES = [(1, 3), (3, 1), (2, 3), (5, 4)]


def weighed(blocks):
    """Masses and least losses of strips of 128 outcomes, chunk by chunk."""
    found = {}
    for chunk in blocks.chunks():
        p_xz, loss = chunk.read()
        starts = np.arange(0, chunk.count, 128)
        each = np.stack([p_xz.sum(axis=0), loss.min(axis=0)])
        found[chunk.start] = np.add.reduceat(each, starts, axis=1)
    return found


@given(
    st.sampled_from(SHAPES),
    st.integers(1, 900),
    seeds,
    st.booleans(),
    st.integers(1, 400),
)
def test_draws_are_systematic(shape, count, seed, by_error, size):
    n, m = shape
    rng = default_rng(seed)
    joint = random_joint(rng, n, m, count, spread=0.5)
    p_xz = joint.sum(axis=1)
    loss = by_error * (joint.sum(axis=(0, 1)) - joint.sum(axis=0))
    doubt = float(loss.min(axis=0).sum()) or math.inf
    blocks = ArrayBlocks(p_xz, loss, size)
    drawn, counts = sample(blocks, weighed(blocks), 128, 100, threads=1)
    weights = p_xz.sum(axis=0) + loss.min(axis=0) / doubt
    found = drawn[:n].sum(axis=0) + drawn[n:].min(axis=0) / doubt
    assert found.sum() == pytest.approx(weights.sum(), rel=1e-12)
    # Evenly spaced in cumulative weight over all outcomes: each is drawn as often as it holds such
    # a place.
    step = weights.sum() / 100
    times = np.histogram((np.arange(100) + 0.5) * step, np.append(0.0, np.cumsum(weights)))[0]
    # a place at the edge of an outcome may go either way
    assert abs(counts.size - int((times > 0).sum())) <= 2
    expected = np.sort(times[times > 0] * step / weights[times > 0])
    if counts.size == expected.size and not by_error:
        assert np.median(np.abs(np.sort(counts) / expected - 1.0)) <= 1e-9


def test_a_draw_for_every_outcome_is_the_problem_itself():
    count = 256
    rng = default_rng(0)
    split = random_columns(rng, 3, count) / count
    p_xz = np.concatenate([split[:2], split[2:] + (1 / count - split.sum(axis=0))])
    loss = rng.random((2, count)) * [[0.0], [1.0 / count]]  # without an error to weigh by
    for size in (32, 256):
        blocks = ArrayBlocks(p_xz, loss, size)
        drawn, counts = sample(blocks, weighed(blocks), 128, count, threads=1)
        assert_allclose(drawn, np.concatenate([p_xz, loss]), rtol=1e-12)
        assert_allclose(counts, 1.0, rtol=1e-12)


def test_only_the_strips_that_are_drawn_from_are_read():
    p_xz = np.full((2, 4096), 1e-12)
    loss = np.zeros((2, 4096))
    p_xz[:, 3000:3100] = 0.005
    blocks = ArrayBlocks(p_xz, loss, 512)
    first = weighed(blocks)
    read = []

    class Watched(ArrayBlocks):
        def chunks(self):
            for chunk in blocks.chunks():
                yield Chunk(
                    chunk.start,
                    chunk.count,
                    lambda chunk=chunk: (read.append(chunk.start), chunk.read())[1],
                )

    drawn, _ = sample(Watched(p_xz, loss, 512), first, 128, 50, threads=1)
    assert read == [2560, 3072]
    assert_allclose(drawn[:2].sum(), p_xz.sum(), rtol=1e-12)
