"""Design a rule for people: from the probabilities of calibrated classifiers to m·n numbers that
any process can apply.

Each person is an outcome z of the model p(x, z) = weight · p(x given z), with the loss masses Σ_k
loss_ki weight · p(y_k given z). The optimal estimator is a tilted Bayes rule (docs/theory.md,
section 7), which depends only on these probabilities: it applies to people who were not in the
table, and does not need their group.

If several sensitive columns have a budget each, every column has a classifier with its own p(x
given z). They are the constraints of one problem, and the rule reads their probabilities side by
side.

At a tie the guess follows the column of the answer: the rule lists the probabilities of these few
people, and treats everyone who shares them in the same way. Then the judge examines the deployed
rule. Its verdict is about this model ("certified for this model"), never about other people;
for them see `discreet.people.evaluation`.

Source: docs/theory.md, sections 7 and 23.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.backends.attempts import matrix
from discreet.backends.contract import Answer, Options
from discreet.backends.run import attempt, certify, conclude, solve
from discreet.backends.solution import Solution, Status, number
from discreet.checks import as_numbers, check_columns, loss_table, mass_array
from discreet.errors import InputError
from discreet.measures.measure import Measure, Scope
from discreet.numerics.double_double import Array
from discreet.people.deployed import FORMAT, Rule, is_key
from discreet.people.evaluation import Evaluation
from discreet.people.labels import TOGETHER, about, by_name
from discreet.people.places import Lottery
from discreet.people.secrets import asked_about
from discreet.people.ties import WITHIN, SecondTilt, Tied, with_ties
from discreet.problems.constraint import Constraint, LeakageBudget
from discreet.problems.frames import plain
from discreet.problems.outcome_rules import OutcomeRule
from discreet.problems.problem import Problem
from discreet.problems.samples import each_secret

# margin with which a second tilt keeps budgets that it would exceed by rounding
_BLENDS = (1e-10, 1e-9, 1e-8, 1e-7)


@dataclass(frozen=True, eq=False)
class RuleDesign:
    """A rule for people, with what is certain about it in the model that it was designed for.

    rule       to save, load and apply
    solution   the judge's verdict on that rule: status, bracket, leakage, all for this model
    secrets    names of the sensitive columns that have a budget; an empty name means all together
    """

    rule: Rule
    solution: Solution
    secrets: tuple[Any, ...] = (TOGETHER,)

    @property
    def budgets(self) -> dict[Any, float]:
        """The budgets that it was designed for, by the name of the column."""
        amounts = [term.budget.amount for term in self.solution.problem.terms]
        return dict(zip(self.secrets, amounts, strict=True))

    @property
    def leakages(self) -> dict[Any, float]:
        """The leakages in the model, by the name of the column."""
        judged = self.solution.certificate
        assert judged is not None  # a design has an answer
        leaked = [term.leakage for term in judged.terms]
        return dict(zip(self.secrets, leaked, strict=True))

    @cached_property
    def tables(self) -> dict[Any, Array]:
        """p(given value, guess, group) in the model, about each sensitive column [given, m, n]."""
        problem = self.problem
        made = matrix(problem, self.solution.estimator)
        return {
            name: np.stack([made @ problem.p_xz[group].T for group in term.groups])
            for name, term in zip(self.secrets, problem.terms, strict=True)
        }

    @cached_property
    def towards(self) -> Array:
        """The law of the guesses of a lottery, which ignores the person [m].

        It is the best constant guess in the model. Such a guess does not dilute what a rare guess
        reveals, so for a measure of each guess it is the law of the rule's own guesses.
        """
        problem = self.solution.problem
        if any(term.measure.scope is Scope.POSTERIOR for term in problem.terms):
            own = next(iter(self.tables.values())).sum(axis=(0, 2))
            return np.asarray(own / own.sum())
        return np.asarray(np.eye(problem.m)[problem.constant_errors.argmin()])

    def foresee(
        self,
        people: int,
        confidence: float,
        measures: Iterable[Measure],
        *,
        asymptotic: bool = False,
    ) -> Evaluation:
        """Return the expected evaluation of this number of people if the model is right, by the
        measures of a promise.
        """
        problem = self.solution.problem
        each = {
            name: Evaluation(
                confidence,
                measure,
                tuple(range(problem.m)),
                tuple(range(table.shape[2])),
                tuple(range(len(table))),
                np.round(table * (people / table.sum())),
                np.zeros((len(table), problem.m)),
                counted=True,
                asymptotic=asymptotic,
            )
            for (name, table), measure in zip(self.tables.items(), measures, strict=True)
        }
        return replace(next(iter(each.values())), secrets=each)

    @property
    def problem(self) -> Problem:
        """Return the model with the budgets that the rule was designed for."""
        problem = self.solution.problem
        assert isinstance(problem, Problem)
        return problem

    @property
    def is_plain(self) -> bool:
        """True if the rule has the least error in the model without a budget."""
        return self.solution.error_probability <= self.problem.bayes_error * (1.0 + 1e-9)

    @property
    def constant_error(self) -> float:
        """The error probability of the best constant guess in the model."""
        return float(self.solution.problem.constant_errors.min())

    def diluted_error(self, lottery: Lottery) -> float:
        """Return the error probability in the model with a lottery."""
        drawn = float(self.solution.problem.constant_errors @ lottery.towards)
        return (1.0 - lottery.share) * self.solution.error_probability + lottery.share * drawn

    @property
    def in_model(self) -> dict[Any, dict[str, float]]:
        """Return the budgets and leakages in the model, as files store them, by the name of the
        column.
        """
        leaked = self.leakages
        return {
            name: {"design_budget": b, "model_leakage": leaked[name]}
            for name, b in self.budgets.items()
        }

    @property
    def statement(self) -> str:
        """One sentence about the model."""
        solution = self.solution
        judged = self.solution.certificate
        assert judged is not None
        parts = zip(self.leakages.items(), solution.problem.terms, strict=True)
        leaks = (f"{leaked:.4g} of {term.budget}{about(name)}" for (name, leaked), term in parts)
        return (
            f"{solution.status.value} for this model: leaks {' and '.join(leaks)}, errs "
            f"{solution.error_probability:.6g}, and no rule errs less than {judged.lower:.6g}"
        )

    def __repr__(self) -> str:
        return f"RuleDesign({self.statement})"


def each_secret_of(records: Mapping[Any, Mapping[str, Any]]) -> dict[str, Any]:
    """Return records by the name of the column as files store them: under `secrets`, or the record
    itself if it is about all columns together.
    """
    return dict(
        records.get(TOGETHER) or {"secrets": {str(name): records[name] for name in records}}
    )


def design_rule(
    p_y: Any,
    p_x: Any,
    budget: float | LeakageBudget | Mapping[Any, float | LeakageBudget] | None = None,
    *,
    fraction: float | Mapping[Any, float] | None = None,
    measure: str | Measure | Mapping[Any, str | Measure] | None = None,
    guesses: Sequence[Any] | None = None,
    groups: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None,
    truths: Sequence[Any] | None = None,
    loss_matrix: Any = None,
    sample_weight: Any = None,
    key: str | None = None,
    gap: float = 1e-9,
) -> RuleDesign:
    """Return the rule of least error that leaks at most a budget about the group, for people whose
    probabilities are given.

    p_y              p(y_k given z) of each person, by a calibrated classifier [people, truths]
    p_x              p(x_j given z) [people, groups]; under a conditional measure p(given value, x_j
                     given z) [people, given, groups], with the truth as given value for equalized
                     odds. For several sensitive columns a mapping from their names; then budget,
                     fraction, measure and groups may be mappings too
    budget           budget of leakage in the unit of the measure; or a fraction of the leakage of
                     the plain Bayes rule in this model
    guesses, groups, truths   labels; 0, 1, … by default. If there are as many truths as guesses,
                              they share their labels
    loss_matrix      loss of guess i when the truth is k [truths, guesses]; 0/1 by default
    sample_weight    number of people that each represents
    key              32 hexadecimal digits that determine the coins; by default new ones from the
                     system's generator

    Raises InputError, also for a budget that no backend serves.
    """
    p_x = by_name(p_x)
    shapes = {
        name: as_numbers(given, f"p_x{about(name)}", "[people, groups]").shape
        for name, given in p_x.items()
    }
    sizes = {name: math.prod(shape[-1:]) for name, shape in shapes.items()}
    asked = asked_about(sizes, budget, fraction, measure)
    problem = people_problem(p_y, p_x, loss_matrix, sample_weight, asked.measures)
    under = problem.with_budget(asked.budgets_in(problem))
    each = each_secret(groups, [str(name) for name in p_x], "groups", every=True)
    hidden = [
        label
        for name, given, term in zip(p_x, each, problem.terms, strict=True)
        for label in group_labels(name, range(sum(term.sizes)) if given is None else given)
    ]
    losses = loss_table(
        loss_matrix, problem.m if loss_matrix is None else len(np.asarray(loss_matrix))
    )
    labels = Labels.of(guesses, hidden, truths, losses, problem.n)
    return design_people(under, labels, key=key, gap=gap, secrets=tuple(p_x))


def design_people(
    problem: Problem,
    labels: Labels,
    *,
    key: str | None,
    gap: float = 1e-9,
    secrets: tuple[Any, ...] = (TOGETHER,),
) -> RuleDesign:
    """Return the design for a problem whose outcomes are people, as made by `people_problem`.

    secrets: the names of its constraints.
    """
    tied, judged = _solve(problem, gap)
    rule = judged.rule
    assert isinstance(rule, OutcomeRule)
    second = tied.second
    same = np.array_equal(rule.ties, tied.rule.ties) and np.allclose(
        rule.columns, tied.rule.columns, rtol=0.0, atol=1e-12
    )
    if second is not None and same:  # it applies to everyone who ties
        rule = OutcomeRule(rule.tilt, share=rule.share, towards=rule.towards)
        points = tied.points[:0]
    else:  # without a second tilt, or if the repair does not follow it
        second = None
        points = tied.points
    made = people_rule(rule, points, labels, key, _about(judged, secrets), second)
    return RuleDesign(made, judged, secrets)


def _solve(problem: Problem, gap: float) -> tuple[Tied, Solution]:
    """Return the rule of least error with the judge's verdict. An answer of `tilt` is judged once,
    as the rule that it defines.
    """
    options = Options(gap)
    first = attempt(problem, "tilt", options)
    made = None if first.answer is None else _deployable(problem, first.answer, gap)
    if made is not None and (
        made[1].status is Status.CERTIFIED
        or conclude(problem, first, options).status is Status.CERTIFIED
    ):
        return made
    made = None
    solution = solve(problem, gap=gap)
    if solution.estimator is not None:
        answer = Answer(solution.estimator, solution.tilt, solution.multipliers)
        made = _deployable(problem, answer, gap)
    if made is None:
        raise InputError(
            f"the rule cannot be designed: {solution.status.value}, {solution.message}; choose "
            "another budget or measure"
        )
    return made


def _deployable(problem: Problem, answer: Answer, gap: float) -> tuple[Tied, Solution] | None:
    """Return an answer as a rule for people, judged as such; if it leaks too much, the repair with
    the smallest error.
    """
    repaired: list[tuple[Tied, Solution]] = []
    if answer.tilt is None:
        return None
    for second in (True, False):
        tied = with_ties(problem, matrix(problem, answer.estimator), answer.tilt, second=second)
        judged = certify(problem, tied.rule, answer.tilt, answer.multipliers, gap=gap)
        for share in _BLENDS if tied.second is not None else ():
            # a repair of the judge may not follow the second tilt
            if judged.status is Status.VIOLATED_PRIVACY:
                rule = tied.rule
                towards = matrix(problem, answer.estimator) @ problem.p_z
                blended = OutcomeRule(
                    rule.tilt, rule.ties, rule.columns, share, towards / towards.sum()
                )
                judged = certify(problem, blended, answer.tilt, answer.multipliers, gap=gap)
        if judged.status is not Status.VIOLATED_PRIVACY:
            return tied, judged
        # ties were left out, or rounding: the repair is a rule too
        repaired.append(
            (tied, certify(problem, judged.rule, judged.tilt, judged.multipliers, gap=gap))
        )
        if tied.second is None:
            break
    return min(repaired, key=lambda each: each[1].error_probability)


@dataclass(frozen=True)
class Labels:
    """The labels of the rows and columns of a rule, and its losses [truths, guesses]."""

    guesses: list[Any]
    groups: list[Any]
    truths: list[Any]
    losses: Array

    @classmethod
    def of(
        cls,
        guesses: Sequence[Any] | None,
        groups: Sequence[Any] | None,
        truths: Sequence[Any] | None,
        losses: Array,
        n: int,
    ) -> Labels:
        """Return labels, by default numbers; if there are as many truths as guesses, they share
        their labels.
        """
        made = _labels(guesses, losses.shape[1])
        alike = made if losses.shape[0] == losses.shape[1] else None
        return cls(
            made,
            _labels(groups, n),
            _labels(alike if truths is None else truths, losses.shape[0]),
            losses,
        )


def people_rule(
    rule: OutcomeRule,
    points: Array,
    labels: Labels,
    key: str | None,
    about: dict[str, Any],
    second: SecondTilt | None = None,
) -> Rule:
    """Return a rule with ties at these points [K, guesses + groups] as a rule for people.

    If several people tie at one point, or a second tilt randomises for many, each of them needs a
    coin of their own.
    """
    ties = [
        {"point": p, "column": c}
        for p, c in zip(points.tolist(), rule.columns.T.tolist(), strict=True)
    ]
    distinct = {repr(tie["point"]): tie for tie in ties}
    document: dict[str, Any] = {
        "format": FORMAT,
        "guesses": labels.guesses,
        "groups": labels.groups,
        "truths": labels.truths,
        "loss": labels.losses.tolist(),
        "tilt": rule.tilt.tolist(),
        "ties": {
            "within": WITHIN,
            "points": list(distinct.values()),
            "second": second and second.to_dict(),
        },
        "ignore": {"probability": rule.share, "towards": rule.towards.tolist()},
        "coins": "ids" if second or len(distinct) < len(ties) else "records",
        "about": about,
    }
    return Rule.sealed(document, check_key(key))


def with_facts(rule: Rule, facts: Mapping[str, Any]) -> Rule:
    """Return the rule with further facts about it in its file."""
    about = {**rule.document["about"], **facts}
    return Rule.sealed({**rule.document, "about": about}, check_key(rule.key))


def constant_rule(guess: int, labels: Labels, key: str | None) -> Rule:
    """Return the rule that always makes this guess, and so leaks nothing."""
    m = len(labels.guesses)
    n = len(labels.groups)
    rule = OutcomeRule(np.zeros((m, n)), share=1.0, towards=np.eye(m)[guess])
    return people_rule(rule, np.zeros((0, m + n)), labels, key, {})


def diluted_rule(rule: Rule, lottery: Lottery) -> Rule:
    """Return the rule with a lottery."""
    if lottery.share == 0.0:
        return rule
    kept = (1.0 - lottery.share) * rule.share
    towards = kept * rule.towards + lottery.share * lottery.towards
    share = kept + lottery.share
    ignore = {"probability": share, "towards": (towards / share).tolist()}
    document = {**rule.document, "ignore": ignore, "coins": "ids"}
    return Rule.sealed(document, check_key(rule.key))


def check_key(key: str | None) -> str:
    """Return 32 hexadecimal digits: the given ones, or new ones."""
    if key is None:
        return secrets.token_hex(16)
    if not is_key(key):
        raise InputError(
            "the key is not 32 hexadecimal digits in lower case; leave it out for a new one"
        )
    return key


def people_problem(
    p_y: Any,
    p_x: Mapping[Any, Any],
    loss_matrix: Any,
    sample_weight: Any,
    measures: Sequence[Measure],
) -> Problem:
    """Return the problem whose outcomes are people with these probabilities, without a constraint.

    p_x: an array for each sensitive column by name; measures: one for each.
    """
    by_truth = probabilities(p_y, "p_y")
    people = len(by_truth)
    weight = np.full(people, 1.0)
    if sample_weight is not None:
        weight = mass_array(sample_weight, "sample_weight", 1, "[people]")
        if len(weight) != people or not weight.any():
            raise InputError(
                f"sample_weight has {len(weight)} entries, not all 0, for {people} "
                "people; give one for each"
            )
    weight = weight / weight.sum()
    private = []
    for (name, given), chosen in zip(p_x.items(), measures, strict=True):
        what = f"p_x{about(name)}"
        by_group = probabilities(
            given, what, "[people, given, groups]" if chosen.conditional else "[people, groups]"
        )
        if len(by_group) != people:
            raise InputError(
                f"p_y has {people} people and {what} {len(by_group)}; give a row for "
                "each person in both"
            )
        private.append(Constraint(np.moveaxis(by_group, 0, -1) * weight, np.inf, chosen.design))
    loss = loss_table(loss_matrix, by_truth.shape[1]).T @ by_truth.T * weight
    return Problem(loss=loss, constraints=private)


def group_labels(name: Any, labels: Iterable[Any], truths: Sequence[Any] = ()) -> list[Any]:
    """Return the labels of the columns of a private classifier: groups or, given the truth, pairs
    of truth and group, preceded by the name of the sensitive column if it has one.
    """
    first = () if name == TOGETHER else (name,)
    pairs = [(*first, truth, label) for truth in truths for label in labels]
    return pairs or [(*first, label) if first else label for label in labels]


def probabilities(values: Any, what: str, shape: str = "[people, labels]") -> Array:
    """Return probabilities that sum to one for each person; InputError for anything else."""
    array = mass_array(values, what, shape.count(",") + 1, shape)
    # sums over few labels take several times as long
    columns = np.ascontiguousarray(array.reshape(len(array), -1).T)
    check_columns(columns, f"{what}, transposed")
    return np.moveaxis((columns / columns.sum(axis=0)).reshape(*array.shape[1:], len(array)), -1, 0)


def _labels(given: Sequence[Any] | None, count: int) -> list[Any]:
    """Return labels as files store them, by default numbers."""
    labels = list(range(count)) if given is None else list(given)
    if len(labels) != count:
        raise InputError(f"there are {len(labels)} labels for {count} columns; give one for each")
    return list(map(plain, labels))


def _about(solution: Solution, secrets: tuple[Any, ...]) -> dict[str, Any]:
    facts = solution.to_dict()
    judged = solution.certificate
    assert judged is not None
    parts = zip(secrets, judged.terms, solution.problem.terms, strict=True)
    each = {
        secret: {
            "leakage": number(leaked.leakage),
            "leakage_ceiling": number(leaked.leakage_ceiling),
            "budget": number(term.budget.amount),
            "measure": str(term.measure),
            "unit": term.measure.unit or None,
        }
        for secret, leaked, term in parts
    }
    names = ("status", "error_probability", "lower_bound", "relative_gap", "outcomes")
    model = {name: facts[name] for name in names}
    return {"model": model | each_secret_of(each), "versions": facts["versions"]}
