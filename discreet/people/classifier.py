"""A classifier in the manner of scikit-learn whose guesses keep a budget of leakage, for the people
it will meet.

It fits two calibrated classifiers, of y and of the sensitive features, designs rules on
cross-fitted probabilities (`discreet.people.design`), and takes the one whose leakage on people
apart is shown to keep the budget (`discreet.people.promise`). The sensitive features are needed to
fit, never to predict.

Source: docs/theory.md, sections 7 and 23.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from discreet.checks import loss_table, positive
from discreet.errors import InputError
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.people.deployed import LOTTERY, Rule
from discreet.people.design import (
    Labels,
    RuleDesign,
    about_people,
    constant_rule,
    design_people,
    group_labels,
    people_problem,
)
from discreet.people.estimator import TwoClassifiers
from discreet.people.evaluation import Evaluation, evaluate
from discreet.people.folder import Column, feeds, record_ids
from discreet.people.frontier import PeopleFrontier, frontier_of, units_of
from discreet.people.labels import (
    TOGETHER,
    about,
    by_name,
    column,
    encode_labels,
    groups,
    objects,
    people_digest,
    unnamed,
)
from discreet.people.probabilities import Calibrated, SideBySide, calibrate, take_rows
from discreet.people.promise import LADDER, Budgets, Promise, amounts, try_ladder
from discreet.people.published import published
from discreet.people.secrets import Asked, asked_about, known_values, secrets_of
from discreet.problems.adversary.inference import check_confidence
from discreet.problems.constraint import LeakageBudget


class PrivateClassifier(TwoClassifiers):
    """Guesses y from X while the guess leaks at most a budget about the sensitive features.

    estimator          classifier of y with `predict_proba`; gradient boosting by default
    private_estimator  classifier of the sensitive features from X, under a conditional measure of
                       the truth with them; gradient boosting by default
    budget             of leakage, in the unit of the measure: a number about all sensitive columns
                       together, or a mapping that has one for each by name
    fraction           the same as a share of what the plain classifier leaks; give one of both
    measure            of leakage, by name or as an object of `discreet.measures`;
                       "conditional-mutual-information" is what the guess says to who knows y, and a
                       budget of it bounds how far equalized odds are missed; a number or a name in
                       one of the three beside a mapping in another is that of every column
    confidence         of the promise about people
    calibration        share of the people who are kept apart for the promise; 0 for none. Then the
                       certificate is about the cross-fitted probabilities of the model, and
                       `statement_` says what the rule leaks with those of the deployed classifiers;
                       with few distinct records the two may differ by much
    loss_matrix        loss of guess i when the truth is k, in the order of `classes_`; 0/1 by
                       default
    random_state       seed of splits, classifiers and the key of coins; None for a secret key

    Without sensitive features and without a budget it is the plain classifier. After `fit`:

    classes_, groups_  labels of the guesses and of the groups
    rule_              the `Rule`, to save and to deploy beside `estimator_` and
                       `private_estimator_`
    design_            the rule with its certificate for the model; None for a constant rule
    model_             the problem whose outcomes are the fitted people, without a budget
    promise_           the rules that were tried on the calibration people; None without them
    evaluation_        what the rule did to them, with errors counted; None without them
    limit_, secrets_   the budget (of each column by name, if each has one), also where a fraction
                       was given; labels of each column that has a budget
    data_              digest and number of the people
    statement_         one sentence that says for what, or for whom, the budget holds
    """

    @staticmethod
    def watch(done: int, total: int | None, what: str) -> None:
        """Called with (steps done, steps in all, what happens now) while it is fitted; replace it
        to show progress.
        """

    def __init__(
        self,
        estimator: Any = None,
        private_estimator: Any = None,
        budget: float | LeakageBudget | Mapping[Any, float | LeakageBudget] | None = None,
        fraction: float | Mapping[Any, float] | None = None,
        measure: Any = "mutual-information",
        confidence: float = 0.95,
        calibration: float = 0.25,
        loss_matrix: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.private_estimator = private_estimator
        self.budget = budget
        self.fraction = fraction
        self.measure = measure
        self.confidence = confidence
        self.calibration = calibration
        self.loss_matrix = loss_matrix
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> PrivateClassifier:
        """Fit the classifiers, design the rule, and look at it on the people who were kept apart.

        sensitive_features: the group of each person, one column or several; needed wherever there
        is a budget. sample_weight: how many people each stands for when fitting. The promise is
        about people like the calibration people, each of whom counts once. Raises InputError, and
        what scikit-learn raises for tables that it does not take.
        """
        from sklearn.utils import check_random_state

        table, truth, weight = self._people(X, y, sample_weight)
        self.classes_, truths = np.unique(truth, return_inverse=True)
        people = len(truths)
        stated = map(by_name, (self.budget, self.fraction, self.measure))
        by_column = any(TOGETHER not in each for each in stated)
        secrets = secrets_of(sensitive_features, people, by_column=by_column)
        self.groups_, members = secrets.get(TOGETHER) or encode_labels(
            groups(sensitive_features), "sensitive_features"
        )
        asked = self._read_request(sensitive_features, secrets)
        self.hidden_: dict[Any, tuple[Any, ...]] = {
            name: labels for name, (labels, _) in secrets.items()
        }
        rng = np.random.Generator(
            np.random.PCG64(check_random_state(self.random_state).randint(2**31, size=4))
        )
        self.key_ = (os.urandom(16) if self.random_state is None else rng.bytes(16)).hex()
        promises = len(self.groups_) > 1 and asked.bound
        self.columns_ = Column.of(table)
        apart = self._apart(people, rng) if promises else np.zeros(people, dtype=bool)
        inside = np.flatnonzero(~apart)
        mine = None if weight is None else weight[inside]
        seen = take_rows(table, inside)
        first, second = self._weighted_classifiers(sample_weight)
        self._tell(0, "fitting the classifier of what is guessed")
        self.estimator_, p_y = calibrate(
            self.estimator, seen, truths[inside], self.classes_.size, mine, rng, weighed=first
        )
        parts = list[Calibrated]()
        p_x = dict[Any, Array]()
        for (name, (labels, codes)), measure in zip(secrets.items(), asked.measures, strict=True):
            given = self.classes_.size if measure.conditional else 1
            hidden = codes if given == 1 else truths * len(labels) + codes
            many = given * len(labels)
            self._tell(1, f"fitting the classifier of what is hidden{about(name)}")
            one, p = calibrate(
                self.private_estimator, seen, hidden[inside], many, mine, rng, weighed=second
            )
            parts.append(one)
            p_x[name] = p.reshape(len(p), given, -1) if measure.conditional else p
        self.private_estimator_ = SideBySide(tuple(parts))
        losses = loss_table(self.loss_matrix, self.classes_.size)
        if losses.shape[1] != self.classes_.size:
            raise InputError(
                f"loss_matrix has {losses.shape[1]} columns and y {self.classes_.size} classes; "
                "give a square one"
            )
        self.model_ = people_problem(p_y, p_x, losses, mine, asked.measures)
        self.budgets_: Budgets = dict(zip(secrets, asked.budgets_in(self.model_), strict=True))
        self.data_ = {
            "digest": people_digest(table, self.classes_[truths], members),
            "people": people,
            "calibration people": int(apart.sum()),
        }

        def shown(who: Any) -> dict[Any, Any]:
            return {name: objects(labels)[codes[who]] for name, (labels, codes) in secrets.items()}

        crossed = (p_y, np.hstack([each.reshape(len(each), -1) for each in p_x.values()]))
        foresee = self._foreseeing(*crossed, truth[inside], shown(inside), int(apart.sum()))
        self._decide(take_rows(table, np.flatnonzero(apart)), truth[apart], shown(apart), foresee)
        if promises and not apart.any():
            self.statement_ += self._describe_deployed(seen, truth, shown(inside))
        return self

    @property
    def limit_(self) -> LeakageBudget | Budgets:
        """The budget, or that of each column by name."""
        return unnamed(self.budgets_)

    @property
    def secrets_(self) -> dict[Any, tuple[Any, ...]]:
        """Labels of each column that has a budget; empty if all together have one."""
        return {name: labels for name, labels in self.hidden_.items() if name != TOGETHER}

    def _read_request(self, sensitive_features: Any, secrets: Any) -> Asked:
        check_confidence(self.confidence)
        if sensitive_features is not None:
            sizes = {name: len(labels) for name, (labels, _) in secrets.items()}
            return asked_about(sizes, self.budget, self.fraction, self.measure)
        if self.fraction is not None or not (self.budget is None or self.budget == np.inf):
            raise InputError(
                "there is a budget and no sensitive_features; say whom it "
                "protects, or leave both out"
            )
        measure = measure_of(by_name(self.measure).get(TOGETHER, "mutual-information"))
        return Asked([measure], [LeakageBudget(np.inf, measure)])

    def _tell(self, done: int, what: str) -> None:
        self.watch(done, 2 + len(LADDER), what)

    def _describe_deployed(self, table: Any, truth: Any, shown: Any) -> str:
        """What the rule leaks among the fitted people with the deployed classifiers, which the
        certificate is not about.

        The model has cross-fitted probabilities. Where there are few distinct records, the deployed
        classifiers give others, at which no tie is listed.
        """
        found = self._looking(table, truth, shown)(self.rule_, self.confidence)
        budgets = amounts(self.budgets_)
        parts = found.under(budgets)
        leaked = " and ".join(f"{each.leakage.estimate:.4g}{about}" for about, each, _ in parts)
        broken = ", more than the budget" if found.breaks(budgets) else ""
        return (
            f"; with the probabilities that the deployed classifiers give these {found.people:,} "
            "people, the guess leaks "
            f"{leaked}{broken}"
        )

    def _decide(
        self,
        table: Any,
        truth: Any,
        shown: Mapping[Any, Any],
        foresee: Callable[[RuleDesign], Evaluation],
    ) -> None:
        """Take a rule: the one that is shown to keep the budget or, without people to show it on,
        that of the budget.
        """
        done = count(2)

        def design(share: float) -> RuleDesign:
            self._tell(next(done), f"designing a rule for {share:.3g} of the budget")
            return self._design([share * amount for amount in amounts(self.budgets_).values()])

        self.promise_: Promise | None = None
        self.design_: RuleDesign | None = None
        self.evaluation_: Evaluation | None = None
        if not len(truth):
            self.design_ = design(1.0)
            self.rule_ = self.design_.rule
            self.statement_ = self.design_.statement
            return
        look = self._looking(table, truth, shown)
        self.promise_ = try_ladder(
            self.budgets_, design, lambda rule: look(rule, self.confidence), foresee
        )
        if self.promise_.taken is not None:
            self.design_ = self.promise_.taken.design
            self.evaluation_ = self.promise_.taken.people
            rule = self.promise_.taken.rule
        else:
            rule = constant_rule(
                int(self.model_.constant_errors.argmin()), self._labels(), self.key_
            )
            self.evaluation_ = look(rule, self.confidence)
        self.statement_ = self.promise_.statement
        self.rule_ = about_people(
            rule, {"people": {"statement": self.statement_, **published(self.evaluation_)}}
        )

    def _labels(self) -> Labels:
        """What guesses and the columns of the private classifier are called."""
        classes: list[Any] = self.classes_.tolist()
        hidden = [
            label
            for (name, labels), term in zip(self.hidden_.items(), self.model_.terms, strict=True)
            for label in group_labels(name, labels, classes if term.measure.conditional else ())
        ]
        losses = loss_table(self.loss_matrix, len(classes))
        return Labels.of(classes, hidden, None, losses, len(hidden))

    def design_of(self, step: float) -> RuleDesign:
        """The rule for another budget, optimal in the model.

        step: a budget or, where each sensitive column has one, a factor of those asked for.
        """
        return self._design([step * unit if unit else 0.0 for unit in units_of(self.budgets_)])

    def _design(self, budgets: list[float]) -> RuleDesign:
        under = self.model_.with_budget(budgets)
        return design_people(under, self._labels(), key=self.key_, secrets=tuple(self.hidden_))

    def _foreseeing(
        self, p_y: Array, p_x: Array, truth: Any, shown: Mapping[Any, Any], people: int
    ) -> Callable[[RuleDesign], Evaluation]:
        """What makes of a design the evaluation that so many people like the fitted ones, with
        cross-fitted probabilities, are expected to have.
        """
        measures = {name: each.measure for name, each in self.budgets_.items()}

        def foresee(made: RuleDesign) -> Evaluation:
            found = evaluate(
                made.rule.predict_proba(p_y, p_x),
                None,
                truth,
                sensitive_features=unnamed(shown),
                measure=measures,
                confidence=self.confidence,
                labels=self.classes_.tolist(),
                group_labels=self.hidden_,
            )
            return found.scaled(people)

        return foresee

    def _looking(
        self, table: Any, truth: Any, shown: Mapping[Any, Any]
    ) -> Callable[[Rule, float], Evaluation]:
        """What looks at a rule's guesses about people of these truths and sensitive features, with
        a confidence.
        """
        p_y, p_x = self._probabilities(table)
        ids = self._ids(table)
        classes = list[Any](self.classes_.tolist())
        measures = {name: each.measure for name, each in self.budgets_.items()}

        def look(rule: Rule, confidence: float) -> Evaluation:
            sure = rule.possible_guesses if len(rule.possible_guesses) == 1 else classes
            guesses = objects(classes)[rule.decide(p_y, p_x, ids)]
            return evaluate(
                guesses,
                None,
                truth,
                sensitive_features=unnamed(shown),
                measure=measures,
                confidence=confidence,
                labels=sure,
                group_labels=self.hidden_,
            )

        return look

    def frontier(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        budgets: Any = None,
        points: int = 12,
        confidence: float | None = None,
    ) -> PeopleFrontier:
        """The trade of errors for leakage among people who had no part in fitting, with a band that
        holds everywhere.

        budgets: for which rules are designed; by default `points` of them, up to what the plain
        classifier leaks. Where each sensitive column has a budget, factors of all of them.
        confidence: of the whole band; by default that of the promise. Raises InputError.
        """
        table = self._fitted_table(X)
        if len(self.groups_) < 2:
            raise InputError(
                "the classifier was fitted without groups to protect; fit it with "
                "sensitive_features"
            )
        truth = column(y, "y")
        shown = known_values(sensitive_features, self.hidden_)
        people = len(next(iter(shown.values())))
        if not len(truth) == people == table.shape[0]:
            raise InputError(
                f"X has {table.shape[0]} people, y {len(truth)} and "
                f"sensitive_features {people}; give as many"
            )
        sure = check_confidence(self.confidence if confidence is None else confidence)
        look = self._looking(table, truth, shown)
        return frontier_of(self.model_, self.budgets_, budgets, points, sure, self.design_of, look)

    def _apart(self, people: int, rng: np.random.Generator) -> Any:
        """Who is kept apart for the promise: anybody alike."""
        share = (
            positive(self.calibration, "calibration", zero=True, most=0.9)
            if self.calibration
            else 0.0
        )
        apart = np.zeros(people, dtype=bool)
        apart[rng.permutation(people)[: min(int(share * people), people - 2)]] = True
        return apart

    # -- guesses
    # ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, ids: Any = None) -> Any:
        """The guesses. ids: an integer or a text for each person, that decides its coins; by
        default the row of X does, which draws a UserWarning from a rule with a lottery.
        """
        table = self._fitted_table(X)
        columns = self.rule_.predict_proba(*self._probabilities(table))
        if ids is None:
            if self.has_lottery:
                warnings.warn(f"{LOTTERY}; give ids=", stacklevel=2)
            ids = np.zeros(len(columns), dtype=np.int64)
            if (drawn := np.flatnonzero(columns.max(axis=1) < 1.0)).size:
                ids[drawn] = self._ids(take_rows(table, drawn))
        return self.classes_[self.rule_.draw(columns, ids)]

    @property
    def has_lottery(self) -> bool:
        """Whether its guesses need ids, as a lottery hides a guess."""
        return self.rule_.has_lottery

    def predict_proba(self, X: Any) -> Any:
        """The probabilities with which each guess is made: ones and zeros but for those that are
        drawn.

        These are no probabilities of the truth, which would say more about X than the guess does.
        """
        table = self._fitted_table(X)
        return self.rule_.predict_proba(*self._probabilities(table))

    def to_onnx(self, examples: Any) -> bytes:
        """All of it as one ONNX graph, which gives the probabilities of guesses, and the guess
        where no coin is tossed.

        examples: rows of what it was fitted on, on which the graph is checked. See
        `discreet.people.graph`.
        """
        from discreet.people.graph import to_onnx

        return to_onnx(self, self._fitted_table(examples))

    def save(
        self, folder: Any, examples: Any, *, facts: Any = None, overwrite: bool = False
    ) -> Rule:
        """Write the rule, the graph and the card into a folder, from which `DeployedRule` predicts
        without scikit-learn.

        examples: rows of what it was fitted on; facts: of the data, for the card. See
        `discreet.people.saving`.
        """
        from discreet.people.saving import save

        return save(self, folder, self._fitted_table(examples), facts=facts, overwrite=overwrite)

    def _probabilities(self, table: Any) -> tuple[Array, Array]:
        return self.estimator_.probabilities(table), self.private_estimator_.probabilities(table)

    def _ids(self, table: Any) -> Any:
        """A number for each row of the table, alike for alike rows, by which a deployed rule tosses
        its coin too.
        """
        try:
            return record_ids(feeds(table, self.columns_), self.key_)
        except (
            InputError
        ):  # its own classifiers read what no graph does, such as texts among numbers
            return record_ids(
                feeds(table, tuple(replace(each, kind="texts") for each in self.columns_)),
                self.key_,
            )
