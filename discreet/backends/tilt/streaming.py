"""Problems whose outcomes are never all in memory: solved in passes, answered by a rule, judged in one more pass.

The solver is `tilt` on aggregates (the only backend that streams); the estimator comes back as a `Rule`, that is the tilt
and the few ties, and the judge is `discreet.problems.judge`. As everywhere, the status follows from its certificate alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.contract import Options
from discreet.backends.solution import Status, derive_status
from discreet.backends.tilt.aggregation import solve_aggregated
from discreet.backends.tilt.statement import rules_of
from discreet.problems.blocks import BlockProblem, Blocks, Chunk
from discreet.problems.judge import Certificate, Verdict, certify
from discreet.problems.numerics.compiled import compile_seconds
from discreet.problems.numerics.double_double import Array
from discreet.problems.rule import Rule

__all__ = ["BlockSolution", "solve_blocks"]

_SHARE_OF_GAP = 0.3  # of the asked gap: what the rounds may leave, since stating a rule and judging it take their part


@dataclass(frozen=True, eq=False)
class BlockSolution:
    """What solving in blocks gave; every number is the judge's.

    rule         the estimator, feasible (repaired)
    multiplier   μ ≥ 0 (inf at perfect privacy)
    passes       over the outcomes, the judge's not counted
    seconds      of solving and of judging; of both together, what compiling for the first time took
    """

    problem: BlockProblem
    status: Status
    claimed: str
    rule: Rule
    multiplier: float
    certificate: Certificate
    iterations: int
    passes: int
    solve_seconds: float
    certify_seconds: float
    compile_seconds: float = 0.0

    @property
    def error_probability(self) -> float:
        """Error probability of `rule`."""
        return self.certificate.upper

    @property
    def leakage(self) -> float:
        """Leakage of `rule` in nats."""
        return self.certificate.leakage

    @property
    def relative_gap(self) -> float:
        """Certified (upper − lower) / upper."""
        return self.certificate.relative_gap

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for machines."""
        return {
            "status": self.status.value,
            "claimed": self.claimed,
            "problem": self.problem.name,
            "outcomes": self.problem.N,
            "error_probability": self.error_probability,
            "lower_bound": self.certificate.lower,
            "upper_bound": self.certificate.upper,
            "relative_gap": self.relative_gap,
            "leakage_nats": self.leakage,
            "budget_nats": self.problem.budget,
            "tail_mass": self.problem.tail,
            "ties": int(self.rule.ties.size),
            "iterations": self.iterations,
            "passes": self.passes,
            "solve_seconds": self.solve_seconds,
            "certify_seconds": self.certify_seconds,
            "compile_seconds": self.compile_seconds,
        }

    def __repr__(self) -> str:
        return (
            f"BlockSolution({self.status.value}, error probability {self.error_probability:.12g}, "
            f"gap {self.relative_gap:.1e}, leakage {self.leakage:.6g} of {self.problem.budget:g} nats, {self.passes} passes)"
        )


def solve_blocks(
    problem: BlockProblem,
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    threads: int = 0,
    progress: Callable[[str, float, float], None] | None = None,
) -> BlockSolution:
    """Solve a problem in blocks; peak memory is a few chunks and the cells, whatever N is.

    gap: relative certified gap aimed at. time_limit: seconds; the best so far is judged and returned when it passes, and
    likewise after Ctrl-C once a first round is done. threads: 0 = all cores. progress: called after every round with (what
    was done, lower bound, upper bound). Raises InputError for a gap or time limit that makes no sense.
    """
    options = Options(gap=gap, time_limit=time_limit)
    started, compiled = time.perf_counter(), compile_seconds()
    possible = np.flatnonzero(problem.p_x > 0.0)
    smaller = problem if possible.size == problem.n else _restricted(problem, possible)
    found = solve_aggregated(
        smaller,
        gap=_SHARE_OF_GAP * options.gap,
        deadline=None if time_limit is None else started + time_limit,
        threads=threads,
        report=progress,
        vertex=True,
    )
    solved = time.perf_counter()
    rules = (_extended(rule, possible, problem.n) for rule in rules_of(smaller, found, threads=threads))
    verdict = _best_verdict(problem, rules, found.multiplier, options.gap, threads)
    if derive_status(verdict.certificate, options.gap) is Status.VIOLATED_PRIVACY:  # by rounding: what the judge made of it
        verdict = certify(problem, verdict.answer, None, verdict.multiplier, threads=threads)
    return BlockSolution(
        problem,
        derive_status(verdict.certificate, options.gap),
        found.ended,
        verdict.answer,
        verdict.multiplier,
        verdict.certificate,
        found.iterations,
        found.passes,
        solved - started,
        time.perf_counter() - solved,
        compile_seconds() - compiled,
    )


def _best_verdict(
    problem: BlockProblem, rules: Iterable[Rule], multiplier: float, gap: float, threads: int
) -> Verdict[Rule]:
    """The judge's verdict on the first rule that it certifies, else on the one of least error that keeps the budget."""
    best: tuple[tuple[bool, float], Verdict[Rule]] | None = None
    for rule in rules:
        verdict = certify(problem, rule, None, multiplier, threads=threads)
        status = derive_status(verdict.certificate, gap)
        if status is Status.CERTIFIED:
            return verdict
        rank = status is Status.VIOLATED_PRIVACY, verdict.certificate.upper
        if best is None or rank < best[0]:
            best = rank, verdict
    assert best is not None
    return best[1]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The outcomes of a source with some of the private values only."""

    source: Blocks
    rows: NDArray[np.intp]

    @property
    def n(self) -> int:
        return int(self.rows.size)

    @property
    def m(self) -> int:
        return self.source.m

    @property
    def N(self) -> int:  # noqa: N802
        return self.source.N

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            yield Chunk(chunk.start, chunk.count, partial(self._read, chunk))

    def _read(self, chunk: Chunk) -> tuple[Array, Array]:
        p_xz, loss = chunk.read()
        return p_xz[self.rows], loss


def _restricted(problem: BlockProblem, possible: NDArray[np.intp]) -> BlockProblem:
    """The problem without the private values that have no probability."""
    return replace(problem, blocks=_Rows(problem.blocks, possible), p_x=problem.p_x[possible])


def _extended(rule: Rule, possible: NDArray[np.intp], n: int) -> Rule:
    """The rule of a restricted problem for the whole one: tilt 0 where the private value has no probability."""
    if possible.size == n:
        return rule
    tilt = np.zeros((rule.m, n))
    tilt[:, possible] = rule.tilt
    return Rule(tilt, rule.ties, rule.columns, rule.share, rule.towards, rule.band, rule.crowds)
