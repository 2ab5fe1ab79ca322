"""A solution: an estimator with the judge's certificate, and a status derived only from that
certificate.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.contract import AnyProblem
from discreet.errors import FileError, InputError
from discreet.lazy import cached_property
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.problems.certificate import Certificate, TermLeakage, Verdict
from discreet.problems.constraint import are_numbered
from discreet.problems.outcome_rules import OutcomeRule, as_rule
from discreet.problems.outcome_view import outcome_figure, row_names
from discreet.problems.problem import Problem
from discreet.problems.provenance import date_now
from discreet.showing.data import plain
from discreet.showing.figures import Figure
from discreet.showing.notebook import card, frame
from discreet.showing.values import BAD, GOOD, PLAIN, UNSURE, Facts, Toned

if TYPE_CHECKING:
    import pandas as pd

    from discreet.problems.causal.rule import CausalRule
    from discreet.problems.continuous.rule import IntervalRule
    from discreet.problems.leaks import Leak, Odds

PRIVACY_TOLERANCE = 1e-6
"""Relative excess over a positive budget up to which a backend's answer, which is repaired before
it is returned, does not get the status `violated-privacy`. An answer judged as given, by `certify`
and `audit`, has no such tolerance."""

GAIN_TOLERANCE = 1e-12
"""The same tolerance in nats (absolute) at budget 0 for the gain of an adversary; it equals the
judge's limit for perfect privacy."""


class Status(Enum):
    """The result of an attempt, with a sentence for the user. Only the first three come with an
    estimator.

    "The estimator" is the one returned. After `certify` and `audit`, the first two apply only to an
    estimator that was returned as given.
    """

    CERTIFIED = (
        "certified",
        "the estimator keeps the budget and lies within the asked gap of the optimum, proven",
    )
    INACCURATE = (
        "inaccurate",
        "the estimator keeps the budget, but the proven bracket is wider than the asked gap",
    )
    VIOLATED_PRIVACY = (
        "violated-privacy",
        "the answer as given is not proven to keep the budget; the estimator returned is its "
        "repair",
    )
    FAILED = "failed", "the backend stopped without an answer"
    TIMED_OUT = "timed-out", "the backend was stopped at the time limit"
    UNSUPPORTED = "unsupported", "the backend does not serve this problem"
    ABSENT = "absent", "the backend's library is not installed"

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Status:
        """Return a member whose value is its name in files and messages."""
        member = object.__new__(cls)
        member._value_ = word
        member.meaning = meaning
        return member

    @property
    def tone(self) -> str:
        """The tone in which the status is shown; see `showing.values`."""
        return _TONES.get(self, BAD)


_TONES = {
    Status.CERTIFIED: GOOD,
    Status.INACCURATE: UNSURE,
    Status.UNSUPPORTED: PLAIN,
    Status.ABSENT: PLAIN,
}


@dataclass(frozen=True)
class Timings:
    """Wall-clock seconds of the four steps; certification is done by the judge, not the backend.

    compile_seconds: the part spent on compilation (once per installation, if compiled code can be
    cached).
    """

    lower_seconds: float = 0.0
    solve_seconds: float = 0.0
    lift_seconds: float = 0.0
    certify_seconds: float = 0.0
    compile_seconds: float = 0.0

    @property
    def backend_seconds(self) -> float:
        """The seconds of the backend's own steps: lower, solve and lift."""
        return self.lower_seconds + self.solve_seconds + self.lift_seconds


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of solving, with its problem. Every number comes from the judge; `claimed`, the
    backend's claim, is never used.

    Error probability, leakage and gap belong to the estimator returned, which satisfies the budget.
    Only numbers named `own_…` belong to the answer as given, which may leak more. If
    `certificate.own_budget_kept`, both are the same.

    verdict              of the judge: the answer repaired to satisfy the budget, duals,
                         certificate; None without an answer
    iterations           of the solver; None if the backend does not count them
    passes               over the outcomes; None if the backend does not count them
    own_leaks, own_odds  after `audit`: the leakage of the answer as given by every measure, and its
                         largest change of odds
    """

    problem: AnyProblem
    backend: str
    status: Status
    message: str
    claimed: str | None
    verdict: Verdict[Any] | None
    iterations: int | None
    passes: int | None
    timings: Timings
    versions: Mapping[str, str]
    own_leaks: tuple[Leak, ...] = ()
    own_odds: Odds | None = None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of the answer, or None."""
        return None if self.verdict is None else self.verdict.certificate

    @property
    def tilt(self) -> Array | None:
        """A dual feasible tilt [m, n]; None without an answer."""
        return None if self.verdict is None else self.verdict.tilt

    @property
    def multipliers(self) -> Array | None:
        """The multipliers μ ≥ 0 of the tilt [C], inf for perfect privacy; None without an
        answer.
        """
        return None if self.verdict is None else self.verdict.multipliers

    @property
    def multiplier(self) -> float | None:
        """The multiplier μ of the only constraint; None without an answer, InputError if there are
        several.
        """
        return None if self.verdict is None else self.verdict.multiplier

    @cached_property
    def rule(self) -> OutcomeRule | IntervalRule | CausalRule | None:
        """The answer as a rule: for measurements if the problem has densities, for every step if it
        has guesses over time.

        None without an answer. Cached.
        """
        if self.verdict is None:
            return None
        judged = as_rule(self.verdict.answer)
        return judged.stated(self.problem, self.verdict.tilt)  # type: ignore[return-value]

    @cached_property
    def estimator(self) -> Array | None:
        """The answer as a matrix [m, N]; None without an answer. Computed at the first access and
        cached.

        Raises InputError for a continuous measurement, and for more than 2 GiB (`rule.dense` can
        write it to a file).
        """
        if self.verdict is None:
            return None
        return as_rule(self.verdict.answer).matrix(self.problem)

    @property
    def error_probability(self) -> float:
        """The error probability of the estimator returned (inf without one)."""
        return math.inf if self.certificate is None else self.certificate.upper

    @property
    def leakage(self) -> float:
        """The leakage of the estimator returned under the only constraint, in the unit of its
        measure.

        inf without an estimator; InputError if there are several constraints.
        """
        return math.inf if self.certificate is None else self.certificate.leakage

    @property
    def equivocation(self) -> float:
        """H(X given Ŷ) of the estimator returned in nats: −inf without one, NaN if leakage is not
        mutual information.
        """
        informed = self.problem.measures == (MUTUAL_INFORMATION,)
        return self.problem.entropy_x - self.leakage if informed else math.nan

    @property
    def relative_gap(self) -> float:
        """The certified (upper − lower) / upper (inf without a certificate)."""
        return math.inf if self.certificate is None else self.certificate.relative_gap

    @property
    def _leaks(self) -> str:
        """The leakage and budget of every constraint, for `repr`."""
        terms = self.problem.terms
        leaked = [math.inf] * len(terms)
        if self.certificate is not None:
            leaked = [each.leakage for each in self.certificate.terms]
        pairs = zip(leaked, terms, strict=True)
        return f"leakage {' and '.join(f'{each:.6g} of {term.budget}' for each, term in pairs)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the solution as plain numbers and strings for JSON: units in the names, None if
        undefined.

        Names end with `_nats` if that is the unit of the measure; a measure other than mutual
        information is named. With several constraints, `constraints` has a record for each.
        """
        judged = self.certificate
        leaks, own_leaks = self._leakage_records()
        return {
            "status": self.status.value,
            "backend": self.backend,
            "message": self.message,
            "claimed": self.claimed,
            "problem": self.problem.name,
            "private_values": self.problem.n,
            "guesses": self.problem.m,
            "outcomes": getattr(self.problem, "N", None),
            "error_probability": number(self.error_probability),
            "lower_bound": number(judged.lower) if judged else None,
            "upper_bound": number(judged.upper) if judged else None,
            "relative_gap": number(self.relative_gap),
            **leaks,
            "equivocation_nats": number(self.equivocation),
            "own_budget_kept": judged.own_budget_kept if judged else None,
            "own_error_probability": number(judged.own_error) if judged else None,
            **own_leaks,
            "own_phi_residual": number(judged.own_phi_residual) if judged else None,
            "own_private_within": number(judged.own_private_within) if judged else None,
            "phi_residual": number(judged.phi_residual) if judged else None,
            "private_within": number(judged.private_within) if judged else None,
            "blend": number(judged.blend) if judged else None,
            "kkt": {name: number(value) for name, value in judged.kkt.to_dict().items()}
            if judged
            else None,
            "multiplier": self._multipliers_record(),
            **self._audit_record(),
            "iterations": self.iterations,
            **asdict(self.timings),
            "versions": dict(self.versions),
        }

    def _leakage_records(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return leakages and budgets for the record: of the estimator returned, and of the answer
        as given.
        """
        judged = self.certificate
        terms = self.problem.terms
        if are_numbered(terms):
            records: list[dict[str, Any]] = [
                {"measure": str(each.measure), "budget": each.budget.amount} for each in terms
            ]
            if judged is not None:
                records = [each.to_dict() for each in judged.terms]
            units = [each.measure.unit for each in terms]
            in_units = [
                {"unit": unit, **plain(one)} for unit, one in zip(units, records, strict=True)
            ]
            return {"constraints": in_units}, {}
        measure = self.problem.measure
        leakage, ceiling, budget = (
            f"{what}{measure.suffix}" for what in ("leakage", "leakage_ceiling", "budget")
        )
        named = {} if measure == MUTUAL_INFORMATION else {"measure": str(measure)}
        return {
            leakage: number(self.leakage),
            ceiling: number(judged.leakage_ceiling) if judged else None,
            budget: number(self.problem.budget),
            **named,
        }, {
            f"own_{leakage}": number(judged.own_leakage) if judged else None,
            f"own_{ceiling}": number(judged.own_leakage_ceiling) if judged else None,
        }

    def _multipliers_record(self) -> float | list[float | None] | None:
        """Return the multiplier of the only constraint for the record, or a list for several."""
        if self.multipliers is None:
            return None
        multipliers = [number(each) for each in self.multipliers.tolist()]
        return multipliers if are_numbered(multipliers) else multipliers[0]

    def _audit_record(self) -> dict[str, Any]:
        """Return the additional entries of the record after `audit`."""
        if not self.own_leaks:
            return {}

        return {"own_leaks": plain(self.own_leaks), "own_odds": plain(self.own_odds)}

    @property
    def _file_content(self) -> tuple[Array | OutcomeRule, Array, Array, dict[int, list[int]]]:
        """The content of a file: the rule of a problem in blocks, otherwise the estimator; duals;
        columns of integers at budget 0.

        A rule that ignores the outcome with some probability is stored as it was judged, since its
        matrix is rounded. Raises FileError without an answer.
        """
        from discreet.problems.exact_privacy import exact_columns
        from discreet.problems.private_rows import PrivateRows

        judged = self.verdict
        if judged is None:
            raise FileError(f"there is no estimator to save: {self.status.value} ({self.message})")
        problem: Any = self.problem
        rule = as_rule(judged.answer)
        if rule.unfiled:
            raise FileError(rule.unfiled)
        if not problem.streamed and rule.share == 0.0:
            rule = as_rule(rule.matrix(problem))
        private = PrivateRows.of(problem.terms, problem.p_x)
        exact = exact_columns(problem.blocks, rule, judged.moved, private)
        return rule.answer, judged.tilt, judged.multipliers, exact

    def members(self) -> dict[str, Any]:
        """Return the arrays that `save` writes, by name: the estimator, or a rule (for blocks, or
        with a share); and the duals.

        At budget 0 some columns are also included as integers, with which the estimator has perfect
        privacy exactly (`exact_columns`).
        """
        from discreet.files.records import solution_members

        return solution_members(*self._file_content)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool | None = None) -> None:
        """Write `members()`, `to_dict()`, the date and the report of samples as one `.npz`,
        atomically; raises FileError.

        overwrite: True replaces any file, False none, and None only a solution.
        """
        from discreet.files.records import save_solution

        estimator, tilt, multipliers, exact = self._file_content
        report = self.problem.samples
        record = self.to_dict() | {"date": date_now()}
        save_solution(
            path,
            estimator,
            tilt,
            multipliers,
            record,
            exact=exact,
            samples=report,
            overwrite=overwrite,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per outcome: its probability, and the probability of
        each guess. InputError without a matrix.
        """
        problem, estimator = self._arrays_to_draw()
        guesses = dict(zip(row_names(problem)[1], estimator, strict=True))
        return frame({"probability": np.asarray(problem.p_z), **guesses})

    def plot(self) -> Figure:
        """Return a figure of the outcomes by their guess, as in `Problem.plot`; for two guesses and
        values, with the line between them.
        """
        problem, estimator = self._arrays_to_draw()
        border = None
        if problem.m == 2 and len(problem.p_xz) == 2 and self.tilt is not None:
            border = self.tilt[1] - self.tilt[0]
        return outcome_figure(
            problem, estimator, f"{problem.name or 'Problem'}: {self.backend}", border
        )

    def _arrays_to_draw(self) -> tuple[Problem, Array]:
        """Return the problem and its estimator, both as arrays."""
        problem = self.problem.in_arrays("a picture of every outcome")
        if self.estimator is None:
            raise InputError(f"there is no answer to show: {self.message}")
        return problem, self.estimator

    def _repr_html_(self) -> str:
        judged = self.certificate
        claimed = f"{self.backend}, which claimed {self.claimed or 'nothing'}"
        facts = [
            (
                "backend",
                claimed if self.claimed is not None else self.backend or "none: a given estimator",
            )
        ]
        if judged is not None:
            facts += [
                ("error probability", f"{self.error_probability:.12g}"),
                (
                    "no estimator errs less than",
                    f"{judged.lower:.12g} (relative gap {judged.relative_gap:.1e})",
                ),
                ("leakage", self._leaks.removeprefix("leakage ")),
            ]
        spent = self.timings.backend_seconds
        judged_in = self.timings.certify_seconds
        facts.append(("seconds", f"{spent:.3g}, and {judged_in:.3g} to certify"))
        badge = Toned(self.status.value, self.status.tone)
        return card(
            "Solution", self.problem.name, Facts("", facts), f"{self.message}.", badge=badge
        )

    def __repr__(self) -> str:
        who = f"{self.backend}: " if self.backend else ""
        if self.certificate is None:
            return f"Solution({who}{self.status.value}: {self.message})"
        return (
            f"Solution({who}{self.status.value}, error probability {self.error_probability:.12g}, "
            f"gap {self.relative_gap:.1e}, {self._leaks})"
        )


def number(value: float | None) -> float | None:
    """Return a value for JSON: None if it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def derive_status(certificate: Certificate, gap: float, as_given: bool = False) -> Status:
    """Return the status of an answer, from the certificate and the requested relative gap.

    as_given: the answer is judged as given, so it violates privacy unless it is proven to satisfy
    the budget. For perfect privacy this applies to every answer.
    """
    if as_given:
        violated = not certificate.own_budget_kept
    else:
        violated = any(map(_exceeds, certificate.terms))
    if violated:
        return Status.VIOLATED_PRIVACY
    return Status.CERTIFIED if certificate.relative_gap <= gap else Status.INACCURATE


def _exceeds(term: TermLeakage) -> bool:
    """Return True if the answer as given exceeded a budget by more than the tolerance for
    backends.
    """
    if term.perfect:
        return not term.own_budget_kept
    return term.own_leakage > (
        term.budget * (1.0 + PRIVACY_TOLERANCE) if term.budget > 0.0 else GAIN_TOLERANCE
    )
