"""Problems whose outcomes are never all in memory: solved in passes, answered by a rule, judged in one more pass.

The solver is `tilt` on aggregates (the only backend that streams); the estimator comes back as a `Rule`, that is the tilt
and the few ties, and the judge is `discreet.problems.judge`. As everywhere, the status follows from its certificate alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.backends.contract import Options
from discreet.backends.solution import Status, derive_status
from discreet.backends.tilt.backend import _in_blocks, _limits
from discreet.problems.blocks import BlockProblem
from discreet.problems.judge import Certificate, certify
from discreet.problems.numerics.compiled import compile_seconds
from discreet.problems.rule import Rule

__all__ = ["BlockSolution", "solve_blocks"]


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
    options = Options(gap=gap, time_limit=time_limit, settings={"threads": threads} if threads else {}, progress=progress)
    started, compiled = time.perf_counter(), compile_seconds()
    raw = _in_blocks(problem, options, _limits(problem, options))
    solved = time.perf_counter()
    answer = raw.value
    assert isinstance(answer.estimator, Rule)
    verdict = certify(problem, answer.estimator, answer.tilt, answer.multiplier, threads=threads)
    return BlockSolution(
        problem,
        derive_status(verdict.certificate, options.gap),
        raw.claimed,
        verdict.answer,
        verdict.multiplier,
        verdict.certificate,
        raw.iterations or 0,
        raw.passes or 0,
        solved - started,
        time.perf_counter() - solved,
        compile_seconds() - compiled,
    )
