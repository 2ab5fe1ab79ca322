"""Accuracy of `tilt` under every measure: random problems, solved, judged, and checked exactly; a
line for each measure.

2 … 5 private values, 2 … 5 guesses, 20 … 2,000 outcomes; p(x, y) and p(z given x, y) are drawn from
Dirichlet distributions, without zeros. Budgets go from half of what the Bayes rule leaks (of one
nat where that has no bound) down to 1e-4 of it. A problem follows from its measure, a seed and its
number. Several secrets, of 2 or 3 values each, have a measure each, drawn at random; of all but the
first three in ten must not leak at all. Rare values, zeros and integer masses are drawn by `rare`.
The module `batches` defines *false*.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from campaigns.batches import checked
from campaigns.rare import rare_blocks, rare_secrets, rare_value
from large.machine import described

import discreet as ds
from discreet.measures import GLeakage
from discreet.measures.registry import CONDITIONAL, LINEAR, MEASURES
from discreet.reports.outputs import write_pages
from discreet.reports.wording import limitations_section
from discreet.showing.values import Facts, Section, Table

__all__ = ["Line", "drawn", "main"]

_ROOT = Path(__file__).resolve().parents[2]
SECRETS = {"two secrets": 2, "three secrets": 3}
RARE = {
    "rare values": rare_value,
    "rare secrets": rare_secrets,
    "rare secrets in blocks": rare_blocks,
}
_ORDERS = (1.2, 2.0, 5.0)  # of Sibson's information


@dataclass(frozen=True)
class Line:
    """What became of the problems of one measure; gaps are relative to the error probability.

    within_1e_9, within_1e_12   how many certified gaps are
    repaired                    answers that the judge had to blend to keep the budget
    """

    measure: str
    problems: int
    within_1e_9: int
    within_1e_12: int
    repaired: int
    checked: int
    false: int
    median_gap: float
    worst_gap: float
    worst: int
    median_ms: float
    slowest_ms: float


def drawn(measure: str, seed: int, index: int) -> ds.Problem | ds.BlockProblem:
    """Problem number `index` of a family of measures, of `SECRETS` with measures at random, or of
    `RARE`.
    """
    if measure in RARE:
        return RARE[measure](seed, index)[1]
    rng = np.random.default_rng([seed, index])
    secrets = SECRETS.get(measure, 1)
    *n, m = (int(size) for size in rng.integers(2, 6 if secrets == 1 else 4, secrets + 1))
    outcomes = round(20.0 * 100.0 ** rng.random())
    given_y = rng.dirichlet(np.full(outcomes, rng.choice([0.3, 1.0])), (*n, m))
    joint = given_y * rng.dirichlet(np.ones(math.prod(n) * m)).reshape(*n, m, 1)
    if secrets == 1:
        return _under_budget(
            ds.Problem.from_joint(joint, math.inf, measure=_text(measure, n[0], rng)), rng
        )
    loss = (1.0 - np.eye(m)) @ joint.sum(axis=tuple(range(secrets)))
    constraints = []
    for k in range(secrets):
        rows = joint.sum(axis=tuple(axis for axis in range(secrets + 1) if axis != k))
        name = str(rng.choice(list(MEASURES)))
        one = _under_budget(ds.Problem(rows, loss, math.inf, measure=_text(name, n[k], rng)), rng)
        constraints.append(
            ds.Constraint(rows, 0.0 if k and rng.random() < 0.3 else one.budget, one.measure)
        )
    return ds.Problem(loss=loss, constraints=constraints)


def _text(measure: str, n: int, rng: np.random.Generator) -> str:
    order = float(rng.choice(_ORDERS))
    gain = np.concatenate([np.eye(n), np.zeros((int(rng.integers(0, 3)), n))])
    gain += 0.3 * rng.random(gain.shape)
    return {"sibson": f"sibson:alpha={order!r}", "g-leakage": str(GLeakage(gain))}.get(
        measure, measure
    )


def _under_budget(free: ds.Problem, rng: np.random.Generator) -> ds.Problem:
    leaked = free.bayes_leakage
    return free.with_budget(
        0.5 * 5000.0 ** -rng.random() * (leaked if math.isfinite(leaked) else 1.0)
    )


def asked_of(measure: str, seed: int, indices: Sequence[int]) -> Line:
    """Solve, judge and check; linear measures to 1e-12, all others to 1e-9."""
    gap = 1e-12 if measure in LINEAR else 1e-9
    gaps = list[float]()
    seconds = list[float]()
    repaired = 0
    read = 0
    false = 0
    for index in indices:
        problem = drawn(measure, seed, index)
        started = time.process_time()
        solution = ds.solve(problem, "tilt", gap=gap)
        seconds.append(time.process_time() - started)
        judged = solution.certificate
        gaps.append(math.inf if judged is None else judged.relative_gap)
        repaired += judged is not None and judged.blend > 0.0
        able, said, unread = checked(solution, gap)
        read = read + able
        false = false + bool(said)
        for sentence in [*said, *unread]:
            print(f"{measure} {index}: {sentence}", file=sys.stderr)
    worst = int(np.argmax(gaps))
    return Line(
        measure,
        len(gaps),
        sum(each <= 1e-9 for each in gaps),
        sum(each <= 1e-12 for each in gaps),
        repaired,
        read,
        false,
        statistics.median(gaps),
        gaps[worst],
        indices[worst],
        1e3 * statistics.median(seconds),
        1e3 * max(seconds),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a certificate is false."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="problems in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--measures",
        type=lambda text: text.split(","),
        default=[*MEASURES, *CONDITIONAL, *SECRETS, *RARE],
    )
    parser.add_argument(
        "--out", default=str(_ROOT / "reports" / "measures"), help="the report, without its ending"
    )
    asked = parser.parse_args(arguments)
    lines = []
    each = -(-asked.count // len(asked.measures))
    for measure in asked.measures:
        lines.append(asked_of(measure, asked.seed, range(each)))
        print(lines[-1], flush=True)
        write_pages(Path(asked.out), _page(lines, asked.seed), [asdict(line) for line in lines])
    return 1 if any(line.false for line in lines) else 0


def _page(lines: Sequence[Line], seed: int) -> Section:
    total = sum(line.problems for line in lines)
    read = sum(line.checked for line in lines)
    false = sum(line.false for line in lines)
    command = f"python benchmarks/measures.py --count {total} --seed {seed}"
    heads = (
        "measure",
        "problems",
        "gap ≤ 1e-9",
        "gap ≤ 1e-12",
        "median gap",
        "worst",
        "repaired",
        "checked",
        "**false**",
        "median ms",
        "slowest",
    )
    rows = [
        (
            line.measure,
            f"{line.problems:,}",
            f"{line.within_1e_9:,}",
            f"{line.within_1e_12:,}",
            f"{line.median_gap:.0e}",
            f"{line.worst_gap:.0e}",
            f"{line.repaired:,}",
            f"{line.checked:,}",
            f"{line.false:,}",
            f"{line.median_ms:.0f}",
            f"{line.slowest_ms:.0f}",
        )
        for line in lines
    ]
    text = f"""Written on {time.strftime("%Y-%m-%d", time.gmtime())} by `{command}`:
`tilt` on problems of 2 to 5 private values, 2 to 5 guesses and 20 to 2,000 outcomes, with budgets from half of what the
Bayes rule leaks (of one nat where that has no bound) down to 1e-4 of it. The requested gap is 1e-12 under linear
measures and 1e-9 under all others. Gaps are certified, and relative to the error probability. *Repaired* are answers
that the judge had to blend to keep the budget. Several secrets, of 2 or 3 values each, have a measure each, drawn at
random; all except the first are under perfect privacy with probability 0.3. The last three lines have private values
of probability 1e-6 to 1e-13, zeros and integer masses (`benchmarks/campaigns/rare.py`). Milliseconds are of the processor, with the
judge."""
    return Section(
        "Accuracy under every measure of leakage",
        [
            f"**{total:,} problems, {read:,} certificates checked by exact arithmetic, {false:,} "
            "false.**",
            text,
            Table("", heads, rows),
            Facts("machine", list(described().items())),
            limitations_section(_LIMITATIONS),
        ],
    )


_LIMITATIONS = (
    "The table counts the kinds of problem that it draws, and says nothing about others.",
    "Certificates are checked against the doubles of the problem, not against the data that they came from.",
)
