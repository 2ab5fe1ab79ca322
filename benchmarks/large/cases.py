"""The work, row by row, and what each row has to reach.

A case runs in a process of its own and returns rows. Cases named `…/reference` are other solvers on
the same problem; their seconds are added to the rows of the case before the slash.

Problems: the paper's single sensor with N bins; the same counted over M sensors; M sensors of more
noise (σ = 1), whose counts are generated and never stored; posteriors of a Gaussian mixture sample.
Where nothing else is said the budget is half of what the Bayes rule leaks.
"""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from large.measure import cores, read_seconds, timed
from large.table import Row, Target

import discreet as ds
from discreet.files import map_problem
from discreet.problems import grouped_problem, lattice_problem
from discreet.problems.sensors import PAPER_SIGMA, linear_conditional, paper_p_xy

__all__ = ["CASES", "Case", "Setting"]

_GAP = 1e-9
_TAIL = 1e-15
_PEER_LIMIT = 900.0
_LIMIT = 40.0  # seconds; twice the longest target of the rows with many guesses
_WIDE = 1.0  # σ of the sensors whose counts are many
_FILE_CHUNK = 1 << 20
_SPARE_DISK = 2 << 30  # bytes to leave free


@dataclass(frozen=True)
class Setting:
    """What a run was asked for: small sizes, and where large files may go (None: the system's
    temporary folder).
    """

    quick: bool = False
    scratch: Path | None = None


@dataclass(frozen=True)
class Case:
    """Work in a process of its own. numba: whether it may be imported there. slow: a reference that
    takes minutes.
    """

    name: str
    run: Callable[[Setting], list[Row]]
    target: Target | None = None
    numba: bool = True
    slow: bool = False


# -- solving and what is read off
# ------------------------------------------------------------------------------------------


def _solved(
    problem: Any,
    work: str,
    backend: str = "tilt",
    *,
    gap: float = _GAP,
    repeats: int = 5,
    limit: float | None = None,
    **settings: Any,
) -> Row:
    """`ds.solve`, judge included, on a problem that is in memory. limit: seconds after which the
    best so far is returned.
    """
    solve = partial(
        ds.solve, problem, backend, gap=gap, time_limit=limit, settings=settings or None
    )
    solution, spent = timed(solve, repeats)
    row = Row("", work, problem.N, float(problem.N), status=solution.status.value, **spent)
    row.iterations = solution.iterations
    return row if solution.certificate is None else _judged(row, solution.certificate)


def _streamed(problem: Any, work: str, *, repeats: int = 5) -> tuple[Row, int]:
    """`ds.solve`, judge included, and the passes over the outcomes that both made."""
    solution, spent = timed(partial(ds.solve, problem, gap=_GAP), repeats)
    row = Row("", work, problem.N, float(problem.N), status=solution.status.value, **spent)
    row.note = f"{solution.passes} passes and the judge's; {solution.rule.ties.size} ties"
    return _judged(row, solution.certificate), solution.passes + 1


def _with_matrix(problem: Any) -> Any:
    """`ds.solve`, and its estimator [m, N], which is made when it is asked for."""
    solution = ds.solve(problem, gap=_GAP)
    if solution.estimator is None:
        raise RuntimeError(f"no estimator: {solution.message}")
    return solution


def _judged(row: Row, certificate: Any, *, own: bool = False) -> Row:
    """The numbers of a certificate; own: of the answer as the backend gave it."""
    row.gap = certificate.relative_gap
    row.error_probability = certificate.upper
    leakage = certificate.leakage
    residual = certificate.phi_residual
    if own:
        leakage = certificate.own_leakage
        residual = certificate.own_phi_residual
        row.error_probability = certificate.own_error
    if 0.0 < certificate.budget < math.inf:
        row.leakage_share = leakage / certificate.budget
    if certificate.budget == 0.0:
        row.phi_residual = residual
    return row


def _peer(problem: Any, backend: str, work: str, repeats: int = 1, **settings: Any) -> Row:
    """Another solver: the seconds of its own steps, without the judge's; accuracy of its own
    answer.
    """
    solve = partial(
        ds.solve, problem, backend, gap=_GAP, time_limit=_PEER_LIMIT, settings=settings or None
    )
    times: list[float] = []
    for _ in range(repeats):
        solution = solve()
        times.append(_own_seconds(solution))
    row = Row(
        "", work, problem.N, float(problem.N), repeats=len(times), status=solution.status.value
    )
    row.seconds = float(np.median(times))
    row.note = f"it says {solution.claimed}" if solution.claimed else solution.message
    return row if solution.certificate is None else _judged(row, solution.certificate, own=True)


def _own_seconds(solution: Any) -> float:
    times = solution.timings
    return float(times.lower_seconds + times.solve_seconds + times.lift_seconds)


# -- one sensor
# --------------------------------------------------------------------------------------------------


def _paper_single(setting: Setting, kernels: str) -> list[Row]:
    """With the kernels loaded, as in a process that has solved a few dozen of these; or before, in
    NumPy.
    """
    problem = ds.problems.paper_single(bins=_size(setting, 100_000, 20_000), budget=0.01)
    words = (
        "paper-single, ε = 0.01"
        if kernels == "compiled"
        else "the same before kernels are loaded (NumPy)"
    )
    return [_solved(problem, words, repeats=15, kernels=kernels)]


def _paper_single_conic(setting: Setting) -> list[Row]:
    problem = ds.problems.paper_single(bins=_size(setting, 100_000, 20_000), budget=0.01)
    return [_peer(problem, "conic", "the same by Clarabel")]


def _in_memory(setting: Setting, *, dense: bool) -> list[Row]:
    problem = ds.problems.paper_single(bins=_size(setting, 10_000_000, 200_000), budget=0.01)
    if dense:
        solution, spent = timed(lambda: _with_matrix(problem), 3)
        words = "the same, and the answer as a matrix"
        row = Row("", words, problem.N, float(problem.N), status=solution.status.value, **spent)
        row = _judged(row, solution.certificate)
    else:
        row, passes = _streamed(
            problem, "paper-single, ε = 0.01, arrays in memory, default settings"
        )
        row.note = f"{row.note}; {passes} reads at least"
    row.reference, row.reference_seconds = read_seconds([problem.p_xz, problem.loss])
    return [row]


def _perfect(setting: Setting) -> list[Row]:
    problem = ds.problems.paper_single(bins=_size(setting, 100_000, 20_000), budget=0.0)
    return [_solved(problem, "perfect privacy, paper-single")]


def _perfect_highs(setting: Setting) -> list[Row]:
    problem = ds.problems.paper_single(bins=_size(setting, 100_000, 20_000), budget=0.0)
    return [_peer(problem, "highs", "the same by HiGHS")]


def _mapped(setting: Setting) -> list[Row]:
    """The same sensor in a file that is larger than what may stay in memory."""
    outcomes = _size(setting, 200_000_000, 2_000_000)
    work = "paper-single, ε = 0.01, mapped from a file"
    if setting.scratch is not None:
        setting.scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="discreet-large-", dir=setting.scratch))
    try:
        needed = 32 * outcomes + _SPARE_DISK
        free = shutil.disk_usage(folder).free
        if free < needed:
            return [
                Row(
                    "",
                    work,
                    outcomes,
                    float(outcomes),
                    note=f"needs {needed:,} free bytes of disk, has {free:,}",
                )
            ]
        _write_single(folder, outcomes)
        started = time.perf_counter()
        problem = map_problem(folder / "p_xz.npy", 0.01, loss=folder / "loss.npy")
        opened = time.perf_counter() - started
        row, passes = _streamed(problem, work, repeats=2)
        arrays: Any = problem.blocks  # the mapped arrays themselves
        how, once = read_seconds([arrays.p_xz, arrays.loss], repeats=2)
        row.reference = f"{passes} × {how} of the file ({once:.3g} s each)"
        row.reference_seconds = passes * once
        row.note = (
            f"{row.note}; files of {32 * outcomes / 1e9:.2g} GB; opening and checking them "
            f"took {opened:.3g} s more"
        )
        return [row]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_single(folder: Path, outcomes: int) -> None:
    """Files p_xz.npy [2, N] and loss.npy [2, N] of the sensor with N bins, written chunk by chunk.

    Bin masses are density × width with the second-order term, relative error under 1e-12 for such
    narrow bins.
    """
    paths = [folder / "p_xz.npy", folder / "loss.npy"]
    p_xz, loss = (
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(2, outcomes))
        for path in paths
    )
    for start in range(0, outcomes, _FILE_CHUNK):
        stop = min(start + _FILE_CHUNK, outcomes)
        joint = _narrow_bins(start, stop, outcomes)
        p_xz[:, start:stop] = joint.sum(axis=1)
        loss[:, start:stop] = joint.sum(axis=0)[::-1]  # 0/1 loss of two guesses: the other's mass
    p_xz.flush()
    loss.flush()


def _narrow_bins(start: int, stop: int, outcomes: int) -> Any:
    """p(x, y, bin) [2, 2, ·] of bins start … stop − 1 of −∞, linspace(−0.5, 1.5, N − 1), ∞."""
    width = 2.0 / (outcomes - 2)
    centres = -0.5 + width * (np.arange(start, stop) - 0.5)
    means = 0.4 * np.arange(2)[:, None, None] + 0.6 * np.arange(2)[None, :, None]
    x = (centres - means) / PAPER_SIGMA
    h = width / PAPER_SIGMA
    masses = (
        np.exp(-0.5 * x**2) * (h / math.sqrt(2.0 * math.pi)) * (1.0 + (x**2 - 1.0) * (h**2 / 24.0))
    )
    for place, edge, side in ((0, -0.5, 1.0), (outcomes - 1, 1.5, -1.0)):
        if start <= place < stop:
            outer = side * (edge - means[:, :, 0]) / (PAPER_SIGMA * math.sqrt(2.0))
            masses[:, :, place - start] = 0.5 * np.vectorize(math.erfc)(-outer)
    return paper_p_xy()[:, :, None] * masses


# -- mixtures
# --------------------------------------------------------------------------------------------------


def _mixture(setting: Setting, size: int) -> list[Row]:
    outcomes = _size(setting, 200_000, 30_000)
    problem = ds.problems.mixture(n=size, m=size, N=outcomes, d=4, seed=0, fraction=0.5)
    return [_solved(problem, f"mixture, n = m = {size}, d = 4, seed 0", repeats=3)]


def _many_guesses(setting: Setting, n: int, m: int, outcomes: int, fraction: float) -> list[Row]:
    problem = ds.problems.weighted_mixture(
        n=n, m=m, N=_size(setting, outcomes, 1_000), fraction=fraction
    )
    words = "perfect privacy" if fraction == 0.0 else f"{fraction:g} of the Bayes leakage"
    return [
        _solved(
            problem,
            f"{n} private values, {m} guesses, masses over ten decades, {words}",
            repeats=1,
            limit=_LIMIT,
        )
    ]


# -- the second opinion
# --------------------------------------------------------------------------------------------------


def _verify(setting: Setting, size: int, outcomes: int, joint: bool = False) -> list[Row]:
    """`ds.verify` on files, which another process writes: the peak memory is that of reading and
    checking.

    joint: the problem's file holds p(x, y, z) instead of p(x, z) and loss.
    """
    outcomes = _size(setting, outcomes, outcomes // 50)
    with tempfile.TemporaryDirectory(prefix="discreet-large-", dir=setting.scratch) as folder:
        problem = Path(folder) / "problem.npz"
        solution = Path(folder) / "solution.npz"
        writer = get_context("spawn").Process(
            target=_write_solved, args=(problem, solution, size, outcomes, joint)
        )
        writer.start()
        writer.join()
        found, spent = timed(partial(ds.verify, problem, solution), 3)
    words = (
        f"discreet.verify on files{', of p(x, y, z)' * joint}, n = m = {size}; mixture, d = "
        "4, seed 0"
    )
    row = Row(
        "",
        words,
        outcomes,
        float(outcomes),
        status="" if found.budget_kept else "violated-privacy",
        **spent,
    )
    row.error_probability = found.error[1]
    row.gap = (found.bracket[1] - found.bracket[0]) / found.bracket[1]
    row.leakage_share = found.leakage[1] / found.budget
    return [row]


def _write_solved(problem: Path, solution: Path, size: int, outcomes: int, joint: bool) -> None:
    model = ds.problems.mixture(n=size, m=size, N=outcomes, d=4, seed=0, fraction=0.5)
    # With X and Y independent given Z; sums of it that are rounded differ from the exact ones.
    if joint:
        cells = model.p_xz[:, None] * (1.0 - model.loss / model.p_z)
        np.savez(problem, joint=cells, budget=model.budget * (1.0 + 1e-12))
        model = ds.Problem.from_joint(cells, model.budget)
    else:
        ds.save_problem(problem, model)
    ds.solve(model, "tilt", gap=_GAP).save(solution)


# -- many sensors
# --------------------------------------------------------------------------------------------------


def _lattice(sensors: int, bins: int, sigma: float, budget: float, tail: float) -> Any:
    edges = ds.problems.catalog.paper.paper_edges(bins)
    return lattice_problem(
        linear_conditional(0.4, 0.6, sigma, edges), paper_p_xy(), sensors, budget=budget, tail=tail
    )


def _half(sensors: int, bins: int, sigma: float) -> float:
    """Half of what the Bayes rule leaks: it is what solving without a constraint gives."""
    return 0.5 * float(ds.solve(_lattice(sensors, bins, sigma, math.inf, _TAIL)).leakage)


def _sensors(
    setting: Setting, sensors: int, bins: int, sigma: float, tail: float, small: int
) -> list[Row]:
    """End to end: the lattice planned, generated in every pass, solved, judged."""
    sensors = _size(setting, sensors, small)
    budget = _half(sensors, bins, sigma)
    _warm_up(bins)
    started = time.perf_counter()
    problem = _lattice(sensors, bins, sigma, budget, tail)
    row, _ = _streamed(
        problem, f"{sensors} sensors of {bins} bins, σ = {sigma:g}, end to end", repeats=0
    )
    row.seconds = time.perf_counter() - started
    row.first_seconds = None
    row.repeats = 1
    every = math.comb(sensors + bins - 1, bins - 1)
    cut = f"tail {tail:g}: {problem.N:,} generated" if tail else "every one generated"
    row.work = f"{row.work}; {every:,} count vectors, {cut}"
    row.size = float(sensors)
    row.outcomes = every
    row.note = f"{row.note}; ε = {budget:.4g} nats"
    return [row]


def _groups(setting: Setting, sensors: int, small: int) -> list[Row]:
    """End to end: two groups of sensors, of which one responds strongly to X; every vector of
    counts made in every pass.
    """
    sensors = _size(setting, sensors, small)
    edges = ds.problems.catalog.paper.paper_edges(4)
    laws = [linear_conditional(weight, 0.6, _WIDE, edges) for weight in (0.1, 0.7)]

    budget = 8.4e-4  # half of what the Bayes rule of 50 sensors each leaks
    _warm_up(4)
    started = time.perf_counter()
    made = grouped_problem([np.tile(law, (sensors, 1, 1, 1)) for law in laws], paper_p_xy(), budget)
    row, _ = _streamed(
        made, f"two groups of {sensors} sensors of 4 bins, σ = {_WIDE:g}, end to end", repeats=0
    )
    row.seconds = time.perf_counter() - started
    row.first_seconds = None
    row.repeats = 1
    row.work = f"{row.work}; every vector of counts generated"
    row.size = float(sensors)
    row.outcomes = made.N
    row.note = f"{row.note}; ε = {budget:.4g} nats"
    return [row]


def _warm_up(bins: int) -> None:
    """Compile what count lattices need, on one that is just large enough for all of it: see
    `compiled_pays`.
    """
    sensors = next(M for M in range(1, 1000) if math.comb(M + bins - 1, bins - 1) >= 2_000_000)
    ds.solve(_lattice(sensors, bins, _WIDE, 1e-3, 0.0))


def _paper_multi(setting: Setting, sensors: int) -> list[Row]:
    sensors = _size(setting, sensors, sensors // 2)
    problem = ds.problems.paper_multi(sensors=sensors, fraction=0.5)
    return [_solved(problem, f"paper-multi, M = {sensors}", repeats=3)]


def _paper_multi_conic(setting: Setting, sensors: int) -> list[Row]:
    problem = ds.problems.paper_multi(sensors=_size(setting, sensors, sensors // 2), fraction=0.5)
    return [
        _peer(problem, "conic", "the same by Clarabel"),
        _peer(
            problem,
            "conic",
            "the same by Clarabel, written with the joint law of X and Ŷ",
            form="joint",
        ),
    ]


# -- a curve, and small problems
# -------------------------------------------------------------------------------------------


def _curve(setting: Setting) -> list[Row]:
    problem = ds.problems.paper_single(bins=_size(setting, 10_000, 1_000), budget=0.01)
    points = _size(setting, 50, 12)
    solves = list[float]()
    curves = list[float]()
    for _ in range(15):  # in turn, as a machine has faster and slower minutes
        solves.append(timed(partial(ds.solve, problem, "tilt", gap=_GAP), 3)[1]["seconds"])
        curve, spent = timed(partial(ds.frontier, problem, points=points, gap=_GAP), 1)
        curves.append(spent["seconds"])
    spent |= {"seconds": statistics.median(curves), "repeats": len(curves)}
    row = Row(
        "",
        f"curve of {len(curve.rows)} points, paper-single",
        problem.N,
        float(problem.N),
        **spent,
    )
    row.reference = "one solve at ε = 0.01"
    row.reference_seconds = statistics.median(solves)
    row.status = "certified" if curve.certified else "not every point is certified"
    row.gap = max((point.upper - point.lower) / point.upper for point in curve.rows)
    row.note = f"widest bracket anywhere {curve.width:.1e} of the curve's height"
    return [row]


def _small(_: Setting) -> list[Row]:
    rows = []
    for bins in (4, 16, 64, 256):
        problem = ds.problems.paper_single(bins=bins, budget=0.01)
        rows.append(_solved(problem, "warm ds.solve(problem), judge included", "auto", repeats=101))
    return rows


def _small_conic(_: Setting) -> list[Row]:
    rows = []
    for bins in (4, 16, 64, 256):
        problem = ds.problems.paper_single(bins=bins, budget=0.01)
        rows.append(_peer(problem, "conic", "the same by Clarabel", repeats=9))
    return rows


# -- what each part brings
# -------------------------------------------------------------------------------------------------


def _ablation(
    setting: Setting, words: str, *, aggregate: bool, threads: int, kernels: str = "compiled"
) -> list[Row]:
    if not aggregate:
        _without_aggregation()
    rows = []
    for outcomes in (20_000, 100_000) if setting.quick else (100_000, 1_000_000):
        problem = ds.problems.paper_single(bins=outcomes, budget=0.01)
        rows.append(_solved(problem, words, repeats=3, threads=threads, kernels=kernels))
    return rows


def _without_aggregation() -> None:
    """Switch off what has no public switch: outside this ablation there is no reason to."""
    from discreet.backends import attempts
    from discreet.backends.tilt import backend

    for module, name in ((backend, "ROUNDS_FROM"), (attempts, "_IN_BLOCKS_FROM")):
        if not hasattr(module, name):
            raise RuntimeError(f"{module.__name__} no longer has {name}; mend this ablation")
        setattr(module, name, 1 << 40)


# -- what it costs
# --------------------------------------------------------------------------------------------------


def _cost_outcomes(setting: Setting) -> list[Row]:
    sizes = [10**k for k in range(3, 6 if setting.quick else 8)]
    rows = []
    for outcomes in sizes:
        problem = ds.BlockProblem.of(ds.problems.paper_single(bins=outcomes, budget=0.01))
        rows.append(
            _streamed(problem, "paper-single, ε = 0.01", repeats=7 if outcomes < 10**6 else 3)[0]
        )
    return rows


def _cost_entries(setting: Setting) -> list[Row]:
    rows = []
    for size in (2, 3, 4, 6) if setting.quick else (2, 3, 4, 6, 8, 10, 12):
        problem = ds.problems.mixture(
            n=size, m=size, N=_size(setting, 50_000, 5_000), d=4, seed=0, fraction=0.5
        )
        row = _solved(problem, f"mixture, n = m = {size}, d = 4, seed 0", repeats=3)
        row.size = float(size * size)
        rows.append(row)
    return rows


def _cost_sensors(setting: Setting) -> list[Row]:
    rows: list[Row] = []
    for sensors in (10, 20, 40) if setting.quick else (10, 20, 50, 100, 200, 500, 1000):
        rows += _sensors(Setting(), sensors, 4, _WIDE, _TAIL, sensors)
    return rows


def _size(setting: Setting, full: int, quick: int) -> int:
    return quick if setting.quick else full


def _cases() -> Iterable[Case]:
    single = Target("≥ 200× faster than Clarabel, gap ≤ 1e-9", faster=200, gap=1e-9)
    yield Case("paper-single-100k", partial(_paper_single, kernels="compiled"), single)
    yield Case("paper-single-100k-numpy", partial(_paper_single, kernels="numpy"), numba=False)
    yield Case("paper-single-100k/reference", _paper_single_conic, slow=True)
    read = Target("≤ 12 parallel reads, gap ≤ 1e-9", multiple=12, gap=1e-9)
    yield Case("paper-single-10m", partial(_in_memory, dense=False), read)
    yield Case("paper-single-10m-matrix", partial(_in_memory, dense=True))
    yield Case(
        "paper-single-200m-mapped",
        _mapped,
        Target(
            "≤ 2× as many plain reads of the file, < 1 GiB without the page cache",
            multiple=2,
            gap=1e-9,
            private=1024,
        ),
    )
    yield Case(
        "perfect-100k",
        _perfect,
        Target(
            "≥ 1000× faster than HiGHS, ‖ΦP‖∞ ≤ 1e-14", faster=1000, gap=1e-9, phi_residual=1e-14
        ),
    )
    yield Case("perfect-100k/reference", _perfect_highs, slow=True)
    yield Case(
        "mixture-6", partial(_mixture, size=6), Target("≤ 2 s, gap ≤ 1e-9", seconds=2, gap=1e-9)
    )
    yield Case(
        "mixture-10", partial(_mixture, size=10), Target("≤ 10 s, gap ≤ 1e-8", seconds=10, gap=1e-8)
    )
    guesses = (
        (2, 50, 20_000, 5, 60),
        (2, 50, 100_000, 20, None),
        (16, 16, 20_000, 6, None),
        (30, 10, 20_000, 6, None),
    )
    for n, m, outcomes, seconds, iterations in guesses:
        for fraction in (0.3, 0.0):
            run = partial(_many_guesses, n=n, m=m, outcomes=outcomes, fraction=fraction)
            name = f"guesses-{n}x{m}-{outcomes // 1000}k" + "-perfect" * (fraction == 0.0)
            most = (
                f"≤ {seconds} s"
                if iterations is None
                else f"≤ {seconds} s, ≤ {iterations} iterations"
            )
            yield Case(
                name,
                run,
                Target(f"{most}, gap ≤ 1e-9", seconds=seconds, iterations=iterations, gap=1e-9),
            )
    check = Target("≤ 10 s, ≤ 200 MiB, gap ≤ 1e-9", seconds=10, peak=200, gap=1e-9)
    for size, outcomes in ((2, 1_000_000), (10, 100_000), (10, 1_000_000)):
        yield Case(
            f"verify-{size}x{size}-{outcomes // 1000}k",
            partial(_verify, size=size, outcomes=outcomes),
            check,
        )
    yield Case(
        "verify-10x10-1000k-joint", partial(_verify, size=10, outcomes=1_000_000, joint=True), check
    )
    many = Target("≤ 90 s, ≤ 1 GiB, gap ≤ 1e-8", seconds=90, peak=1024, gap=1e-8)
    wide = partial(_sensors, sensors=1000, bins=4, sigma=_WIDE)
    yield Case("sensors-1000", partial(wide, tail=_TAIL, small=100), many)
    yield Case("sensors-1000-untruncated", partial(wide, tail=0.0, small=100), many)
    yield Case(
        "groups-50",
        partial(_groups, sensors=50, small=12),
        Target("≤ 1 GiB, gap ≤ 1e-8", peak=1024, gap=1e-8),
    )
    eight = partial(_sensors, sensors=30, bins=8, small=10)
    for name, sigma in (("sensors-30-8-bins", _WIDE), ("sensors-30-8-bins-precise", PAPER_SIGMA)):
        yield Case(
            name, partial(eight, sigma=sigma, tail=0.0), Target("≤ 10 s", seconds=10, gap=1e-8)
        )
    for sensors, gap in ((20, 1e-6), (30, 1e-6), (40, 1e-3)):
        target = Target(f"leakage ≤ budget, gap ≤ {gap:g}", gap=gap)
        yield Case(f"paper-multi-{sensors}", partial(_paper_multi, sensors=sensors), target)
        yield Case(f"paper-multi-{sensors}/reference", partial(_paper_multi_conic, sensors=sensors))
    yield Case(
        "curve", _curve, Target("≤ 9 × one solve, every point certified", multiple=9, gap=1e-9)
    )
    yield Case("small", _small, Target("≤ 3 ms, judge included", seconds=0.003, gap=1e-9))
    yield Case("small/reference", _small_conic)
    every = cores()
    plain = partial(_ablation, threads=1)
    yield Case(
        "ablation-interior",
        partial(plain, words="interior point alone", aggregate=False, kernels="numpy"),
        numba=False,
    )
    yield Case(
        "ablation-aggregated",
        partial(plain, words="+ aggregation, NumPy", aggregate=True, kernels="numpy"),
        numba=False,
    )
    yield Case("ablation-compiled", partial(plain, words="+ compiled kernels", aggregate=True))
    yield Case(
        "ablation-threads",
        partial(_ablation, words=f"+ threads ({every})", aggregate=True, threads=every),
    )
    yield Case("cost-outcomes", _cost_outcomes)
    yield Case("cost-entries", _cost_entries)
    yield Case("cost-sensors", _cost_sensors)


CASES: Sequence[Case] = tuple(_cases())
