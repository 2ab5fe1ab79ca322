"""The judge for problems that come in blocks: what `certify` proves of a matrix, proven of a rule in one pass.

The same mathematics as `judge`, from the same pieces (`dual`, `primal`, `information`), arranged so that each outcome is
seen once and forgotten:

- The law of (X, Ŷ) is linear in the estimator, and of a rule it is a sum of p(x_j, z_l) over the outcomes of each label,
  kept in twice the working precision, plus what the few ties change. Blending towards a guess that ignores the outcome is
  done on those m·n numbers; no second pass is needed.
- The lower side needs Σ_l min_i of tilted losses under feasible duals, which is Σ_l of those of the rule's own labels less
  what these waste; the waste is bounded outcome by outcome, with its rounding (`label_doubt`).
- The totals π_j are those of the blocks themselves, found in the same pass. What the problem says they are only serves to
  make the duals feasible beforehand; the difference is made good afterwards.

A last outcome "rest", into which a source put a tail (`BlockProblem.tail`), counts fully for the upper side. For the lower
side it stands for outcomes that were not seen: of them only that losses are ≥ 0 and that their mass is the rest's is used,
so that Σ min_i ≥ −Σ_j max_i(−t_ij)⁺ rest_j. The bound then holds for the problem before truncation.

Source: docs/theory.md (the certificate; truncation).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.blocks import BlockProblem, Chunk, in_order
from discreet.problems.checks import TOTAL_TOLERANCE
from discreet.problems.errors import InputError
from discreet.problems.judge.bound import price, proven
from discreet.problems.judge.certificate import Certificate, KKTResiduals
from discreet.problems.judge.repair import blind_ends
from discreet.problems.measures.law import LEAK_FREE, OutputLaw, faint_lift, law_of, phi_residual
from discreet.problems.measures.leak_free import least_share
from discreet.problems.measures.mutual_information import feasible_duals, support_ceiling
from discreet.problems.numerics.compiled import compiled_available
from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum
from discreet.problems.numerics.label_strips import compiled_strips
from discreet.problems.numerics.label_sums import Tally, compiled_tally, tally
from discreet.problems.numerics.tilted_losses import in_order_losses
from discreet.problems.rule import Rule

__all__ = ["BlockVerdict", "certify_blocks"]

_UNIT = 2.0**-53
_SMALLEST = 5e-324
_SUM_ROUNDING = 2.0**-85  # relative, of sums over the blocks of any problem that can be visited
_AIMS = 8
_LOADED_FROM = 1 << 18  # outcomes from which loading numba pays
_COMPILED_FROM = 1 << 14  # outcomes from which a compiled kernel pays, once it exists


@dataclass(frozen=True, eq=False)
class BlockVerdict:
    """The repaired pair, feasible both, and the certificate they carry."""

    rule: Rule
    tilt: Array
    multiplier: float
    certificate: Certificate


def certify_blocks(
    problem: BlockProblem,
    rule: Rule,
    multiplier: float,
    *,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
    compiled: bool | None = None,
) -> BlockVerdict:
    """Judge a rule, whose tilt t [m, n] with the multiplier μ are also the duals (sign conventions of docs/theory.md).

    The rule is repaired by the least blend towards the best guess that ignores the outcome. threads: 0 = all cores; results
    do not depend on it. progress: called with (outcomes seen, N). compiled: whether to use numba, by default where it is
    installed and pays. Law: the certificate is that of `certify` for the dense estimator, up to rounding, wherever that
    judge too repairs by such a blend.

    Raises InputError for wrong shapes, and for blocks that are not what the problem says: entries that are negative or not
    numbers, another number of outcomes, totals that differ by more than 1e-9.
    """
    if rule.tilt.shape != (problem.m, problem.n):
        raise InputError(f"the rule's tilt has shape {list(rule.tilt.shape)} but the problem needs {[problem.m, problem.n]}")
    if rule.ties.size and rule.ties[-1] >= problem.N:
        raise InputError(f"outcome {rule.ties[-1]} is listed as a tie, but the problem has {problem.N} outcomes")
    feasible = feasible_duals(rule.tilt, multiplier, problem.p_x, problem.budget)
    if feasible is None or not feasible[0].any():
        feasible = np.zeros_like(rule.tilt), math.inf if problem.constraint.perfect else 0.0
    worth = _COMPILED_FROM if compiled_strips.ready() else _LOADED_FROM
    fast = compiled_available() and problem.N >= worth if compiled is None else compiled
    found = _pass(problem, rule, feasible[0], threads, fast, progress)
    return _Judgement(problem, rule, *feasible, found).verdict()


@dataclass(frozen=True, eq=False)
class _Found:
    """What a pass found in one chunk or in all: sums under the labels; p_xz and loss at the ties and at the last outcome.

    crowds: sums of p_xz and loss over each crowd of the rule, pairs [n, m·m] and [m, m·m] (None without a band)
    """

    sums: Tally
    at_ties: tuple[Array, Array]
    last: tuple[Array, Array]
    crowds: tuple[DoubleDouble, DoubleDouble] | None = None


def _pass(
    problem: BlockProblem, rule: Rule, tilt: Array, threads: int, fast: bool, progress: Callable[[int, int], None] | None
) -> _Found:
    count = compiled_tally if fast else tally

    def work(chunk: Chunk) -> tuple[Chunk, _Found]:
        a, loss = chunk.read()
        here = rule.ties[rule.ties_in(chunk.start, chunk.count)] - chunk.start
        sums = count(a, loss, rule.tilt, tilt)
        crowds = _crowds(rule, a, loss, here) if rule.band > 0.0 else None
        return chunk, _Found(sums, (a[:, here], loss[:, here]), (a[:, -1].copy(), loss[:, -1].copy()), crowds)

    found: _Found | None = None
    seen = 0
    for chunk, part in in_order(problem.blocks.chunks(), threads, work):
        if not part.sums.smallest >= 0.0:
            raise InputError(
                f"outcomes {chunk.start} … {chunk.start + chunk.count - 1} hold an entry {part.sums.smallest!r}; "
                "every p_xz and loss must be a number ≥ 0"
            )
        found = part if found is None else _together(found, part)
        seen += chunk.count
        if progress is not None:
            progress(seen, problem.N)
    if found is None or seen != problem.N:
        raise InputError(f"the blocks hold {seen} outcomes but the problem says {problem.N}; give one problem one source")
    return found


def _together(first: _Found, second: _Found) -> _Found:
    mass, loss = first.at_ties
    if second.at_ties[0].size:
        mass = np.concatenate([mass, second.at_ties[0]], axis=1)
        loss = np.concatenate([loss, second.at_ties[1]], axis=1)
    crowds = second.crowds
    if first.crowds is not None and crowds is not None:
        crowds = dd_add(first.crowds[0], crowds[0]), dd_add(first.crowds[1], crowds[1])
    return _Found(first.sums.plus(second.sums), (mass, loss), second.last, crowds)


def _crowds(rule: Rule, p_xz: Array, loss: Array, ties: NDArray[np.int64]) -> tuple[DoubleDouble, DoubleDouble]:
    """Sums over the outcomes of each crowd that are no ties."""
    within, row = rule.crowd(p_xz, loss)
    kept = ~np.isin(within, ties)
    within, row = within[kept], row[kept]
    sums = []
    for values in (p_xz, loss):
        high, low = np.zeros((values.shape[0], rule.m**2)), np.zeros((values.shape[0], rule.m**2))
        for crowd in np.unique(row):
            high[:, crowd], low[:, crowd] = dd_sum(values[:, within[row == crowd]])
        sums.append((high, low))
    return sums[0], sums[1]


def _drawn(rule: Rule, found: _Found) -> tuple[tuple[Array, Array, Array], NDArray[np.intp]]:
    """All that draws its guess, ties and then crowds as one outcome each: (p_xz, loss, columns); rows of the crowds."""
    mass, loss = found.at_ties
    if found.crowds is None:
        return (mass, loss, rule.columns), np.zeros(0, dtype=np.intp)
    rows = np.flatnonzero(found.crowds[0][0].sum(axis=0) > 0.0)
    crowd_mass, crowd_loss = (pair[0][:, rows] for pair in found.crowds)
    together = (
        np.concatenate([mass, crowd_mass], axis=1),
        np.concatenate([loss, crowd_loss], axis=1),
        np.concatenate([rule.columns, rule.crowds[rows].T], axis=1),
    )
    return together, rows


class _Judgement:
    """From the sums of one pass to the verdict."""

    def __init__(self, problem: BlockProblem, rule: Rule, tilt: Array, multiplier: float, found: _Found) -> None:
        self.problem, self.rule, self.tilt, self.multiplier, self.found = problem, rule, tilt, multiplier, found
        self.drawn, self.crowd_rows = _drawn(rule, found)
        self.marginal = _column_sums(found.sums.joint)
        self.total = float(self.marginal[0].sum())
        gap = float(np.abs(self.marginal[0] - problem.p_x).max())
        if not (abs(self.total - 1.0) <= TOTAL_TOLERANCE and gap <= TOTAL_TOLERANCE):
            raise InputError(
                f"the blocks sum to {self.total!r} and their p_x is up to {gap:g} from the problem's; give the totals found"
            )
        self.errors = np.asarray(found.sums.errors[0] / self.total)
        if not np.allclose(self.errors, problem.guess_losses, rtol=TOTAL_TOLERANCE, atol=0.0):
            raise InputError(
                f"the blocks' losses of constant guesses are {self.errors.tolist()} and the problem says "
                f"{np.asarray(problem.guess_losses).tolist()}; give the totals found"
            )
        self.slack = 0.0  # relative uncertainty of the law, as columns of ties and crowds may not sum to one exactly
        self.blended_slack = 0.0  # the same once they are blended, which rounds them
        self.base_law, self.base_error = self.unblended()

    def verdict(self) -> BlockVerdict:
        own_law, own_error = self.value(self.rule)
        repaired, share = self.repaired(own_law, own_error)
        law, error = self.value(repaired)
        upper = self.rounded_up(repaired, error)
        shift = self.shift()
        bound = self.bound(law, shift)
        certificate = Certificate(
            lower=max(0.0, bound) if bound <= upper else 0.0,
            upper=upper,
            leakage=law.leakage(),
            phi_residual=phi_residual(law),
            budget=self.problem.budget,
            blend=share,
            own_error=own_error,
            own_leakage=own_law.leakage(),
            own_phi_residual=phi_residual(own_law),
            kkt=self.kkt(repaired, law, shift),
        )
        return BlockVerdict(repaired, self.tilt - shift if shift else self.tilt, self.multiplier, certificate)

    # -- the upper side --------------------------------------------------------------------------------------------------

    def unblended(self) -> tuple[OutputLaw, float]:
        """Law and error probability of the rule when no outcome is ignored, totals other than one divided out."""
        sums, rule, (tie_mass, losses, drawn_columns) = self.found.sums, self.rule, self.drawn
        lift = faint_lift(self.marginal[0])
        joint = np.ldexp(sums.joint[0], lift), np.ldexp(sums.joint[1], lift)
        loss = sums.loss
        if drawn_columns.size:
            mass = np.ldexp(tie_mass, lift[:, None])
            plain = -np.eye(rule.m)[:, self.drawn_labels()]
            for columns in (plain, drawn_columns):
                joint = dd_add(joint, dd_dot(columns[:, None, :], mass[None, :, :]))
                loss = dd_add(loss, _total(dd_dot(columns, losses)))
            drawn = np.where(np.isin(drawn_columns, (0.0, 1.0)), 0.0, drawn_columns) @ mass.T
            rounding = 2.0 * _UNIT if rule.band > 0.0 else 0.0  # the sums over a crowd are rounded once
            self.slack = _column_error(drawn_columns) * _largest_share(drawn, joint[0]) + rounding
            self.blended_slack = (rule.m + 1) * _UNIT * _largest_share(drawn, joint[0]) + rounding
        law = self.normalised(law_of(joint, self.marginal, lift))
        return law, max(0.0, float(loss[0] + loss[1])) / self.total

    def drawn_labels(self) -> NDArray[np.intp]:
        """The label under which the pass counted each tie and each crowd."""
        mass, losses, _ = self.drawn
        labels = self.rule.labels(mass, losses)
        ties = self.rule.ties.size
        labels[ties:] = self.crowd_rows // self.rule.m
        return np.asarray(labels)

    def value(self, rule: Rule) -> tuple[OutputLaw, float]:
        """Law and error probability of the rule blended further."""
        if rule.share == 0.0:
            return self.base_law, self.base_error
        blind = OutputLaw(rule.towards, np.zeros_like(self.base_law.deviation), self.base_law.p_x)
        error = float(self.errors @ rule.towards)
        if rule.share == 1.0:
            return blind, error
        return self.base_law.blend(blind, rule.share), (1.0 - rule.share) * self.base_error + rule.share * error

    def normalised(self, law: OutputLaw) -> OutputLaw:
        """A law formed from masses whose total is not one, for a total of one; its ratios stay as they are."""
        if self.total == 1.0:
            return law
        return OutputLaw(law.mass / self.total, law.deviation / self.total / self.total, law.p_x / self.total)

    def repaired(self, law: OutputLaw, error: float) -> tuple[Rule, float]:
        """The rule, and the least share of a guess that ignores the outcome with which it is feasible, proven."""
        if self.keeps_budget(law, self.slack):
            return self.rule, 0.0
        hopeless = self.problem.constraint.perfect or self.errors.min() <= error
        ends = [] if hopeless else blind_ends(self.errors, law)
        target = self.problem.budget
        for _ in range(_AIMS):
            shares = [(least_share(law, end.law, target, self.blended_slack + _SUM_ROUNDING), end) for end in ends]
            costs = [(share * (end.error - error), share, end) for share, end in shares if share is not None]
            if not costs:
                break
            _, share, end = min(costs, key=lambda entry: entry[0])
            blended = self.rule.blended(share, end.estimator[:, 0])
            reached = self.value(blended)[0]
            if self.keeps_budget(reached, self.blended_slack):
                return blended, share
            target -= 2.0 * (reached.leakage_ceiling(self.blended_slack + _SUM_ROUNDING) - self.problem.budget)
        constant = np.eye(self.rule.m)[int(np.argmin(self.errors))]  # leaks exactly nothing
        return self.rule.blended(1.0, constant), 1.0

    def keeps_budget(self, law: OutputLaw, slack: float) -> bool:
        if self.problem.constraint.perfect:
            return phi_residual(law) <= LEAK_FREE
        return self.problem.constraint.oblivious or law.leakage_ceiling(slack + _SUM_ROUNDING) <= self.problem.budget

    def rounded_up(self, repaired: Rule, error: float) -> float:
        upper = error * (1.0 + (repaired.m + 16) * _UNIT)
        _, losses, columns = self.drawn
        if repaired.band > 0.0:
            upper *= 1.0 + 4.0 * _UNIT  # the sums over a crowd are rounded once
        if upper < 1e-290 and (repaired.share > 0.0 or ((columns > 0.0) & (losses > 0.0)).any()):
            upper += _SMALLEST * repaired.m * (columns.shape[1] + 2)  # products may have vanished
        return upper

    # -- the lower side --------------------------------------------------------------------------------------------------

    def shift(self) -> float:
        """By how much all tilts must still be lowered, since the totals of the blocks are not those that were stated."""
        p_x = self.marginal[0] / self.total
        if np.array_equal(p_x, self.problem.p_x) or self.problem.constraint.oblivious or not self.tilt.any():
            return 0.0
        possible = p_x > 0.0
        over = float(support_ceiling(self.tilt[:, possible], p_x[possible], self.multiplier).max())
        if over <= 0.0:
            return 0.0
        return over + 2.0 * _UNIT * (float(np.abs(self.tilt).max()) + over) + 8.0 * _SMALLEST

    def bound(self, law: OutputLaw, shift: float) -> float:
        """What the duals prove, rounded downward."""
        problem, sums, size = self.problem, self.found.sums, float(np.abs(self.tilt).max())
        cost = price(self.multiplier, problem.budget) * (self.total + 4.0 * _UNIT)
        doubt = sums.doubt if size > 0.0 or sums.wasted > 0.0 else 0.0
        bound = proven(sums.loss, sums.joint, self.tilt, cost, doubt + self.unseen(), _SUM_ROUNDING)
        if shift:
            bound -= (shift + 4.0 * _UNIT * (size + shift)) * self.total * (1.0 + 8.0 * _UNIT)
        if not math.isfinite(bound):
            return -math.inf
        bound = bound / self.total - 4.0 * _UNIT * abs(bound)
        if problem.constraint.perfect:  # hold for everything as private as what is returned, not for Φ P = 0 alone
            with np.errstate(over="ignore"):
                lost = float((np.abs(self.tilt) * (np.abs(law.deviation) + _SMALLEST)).sum()) * (1.0 + 2.0**-30)
            bound -= lost
        return bound

    def unseen(self) -> float:
        """How much better than the last outcome the outcomes that it stands for can be, at most; 0 where nothing was cut."""
        if self.problem.tail == 0.0:
            return 0.0
        mass, loss = self.found.last
        reached = float(in_order_losses(mass[:, None], loss[:, None], self.tilt).min())
        possible = float(np.maximum(-self.tilt, 0.0).max(axis=0) @ mass)
        return max(0.0, reached + possible) * (1.0 + 2.0**-30) + (abs(reached) + possible) * 2.0**-40

    # -- residuals -------------------------------------------------------------------------------------------------------

    def kkt(self, repaired: Rule, law: OutputLaw, shift: float) -> KKTResiduals:
        """The three parts of the gap, and the worst entry (of a blended rule: an upper bound of it)."""
        found, tilt = self.found, self.tilt - shift
        wasted, worst = found.sums.wasted, found.sums.astray
        mass_at, loss_at, columns = self.drawn
        if columns.size:
            losses = in_order_losses(mass_at, loss_at, self.tilt)
            rest = losses - losses.min(axis=0)
            by_label = rest[self.drawn_labels(), np.arange(columns.shape[1])]
            at_ties, mass = columns * rest, mass_at.sum(axis=0)
            wasted = max(0.0, wasted - float(by_label.sum())) + float(at_ties.sum())
            with np.errstate(over="ignore"):
                share = np.divide(at_ties.max(axis=0), mass, out=np.zeros_like(mass), where=mass > 0.0)
            worst = max(worst, float(share.max()))
        if repaired.share:
            least = float(found.sums.loss[0] + (tilt * found.sums.joint[0]).sum()) - found.sums.wasted
            blind = repaired.towards * np.maximum(0.0, self.errors + tilt @ self.marginal[0] - least)
            wasted = (1.0 - repaired.share) * wasted + repaired.share * float(blind.sum())
            drawn = repaired.towards > 0.0  # the others may be infinitely bad
            ignored = float((repaired.towards[drawn] * found.sums.worst[drawn]).max())
            worst = max((1.0 - repaired.share) * worst if repaired.share < 1.0 else 0.0, repaired.share * ignored)
        leakage = law.leakage()
        tilted = float((tilt * (law.mass[:, None] * law.p_x + law.deviation)).sum())
        priced = not (self.problem.constraint.perfect or self.problem.constraint.oblivious)
        return KKTResiduals(
            complementarity=wasted,
            alignment=max(0.0, (self.multiplier * leakage if priced else 0.0) - tilted),
            slackness=max(0.0, self.multiplier * (self.problem.budget - leakage)) if priced else 0.0,
            worst_entry=worst,
        )


def _column_sums(joint: DoubleDouble) -> DoubleDouble:
    """Σ_i of pairs [m, n]."""
    total: DoubleDouble = (np.zeros(joint[0].shape[1]), np.zeros(joint[0].shape[1]))
    for high, low in zip(*joint, strict=True):
        total = dd_add(total, (high, low))
    return total


def _total(pairs: DoubleDouble) -> DoubleDouble:
    total: DoubleDouble = (np.zeros(()), np.zeros(()))
    for high, low in zip(*pairs, strict=True):
        total = dd_add(total, (high, low))
    return total


def _column_error(columns: Array) -> float:
    """How far columns [m, K] are from summing to one, at most; 0 for those that do exactly."""
    return max(abs(math.fsum([*column, -1.0])) for column in columns.T.tolist()) * (1.0 + 2.0**-40)


def _largest_share(part: Array, whole: Array) -> float:
    """max part / whole, at most one."""
    return float(np.minimum(1.0, np.divide(part, whole, out=np.ones_like(part), where=whole > 0.0)).max())
