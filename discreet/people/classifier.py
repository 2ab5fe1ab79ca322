"""A classifier in the style of scikit-learn whose guesses keep a budget of leakage for people who
were not in the table.

It fits two calibrated classifiers, of y and of the sensitive features, designs rules on
cross-fitted probabilities (`discreet.people.design`), and takes the one that is shown to keep the
budget on people set aside (`discreet.people.promise`). The sensitive features are needed for
fitting, never for prediction.

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

from discreet.checks import brief, loss_table, positive, whole
from discreet.errors import InputError, InputWarning
from discreet.measures.measure import Measure
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.people.counting import evaluate
from discreet.people.deployed import NEEDS_IDS, Rule
from discreet.people.design import (
    Labels,
    RuleDesign,
    constant_rule,
    design_people,
    group_labels,
    people_problem,
    with_facts,
)
from discreet.people.estimator import TwoClassifiers
from discreet.people.evaluation import Evaluation, list_leakages
from discreet.people.folder import Column, feeds, record_ids
from discreet.people.frontier import PeopleFrontier, frontier_of, steps_of, units_of
from discreet.people.labels import (
    RARE,
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
from discreet.people.planning import Prospects, prospects_of
from discreet.people.probabilities import FOLDS, Calibrated, SideBySide, calibrate
from discreet.people.promise import (
    LADDER,
    Budgets,
    Promise,
    amounts,
    cautious_confidence,
    try_ladder,
)
from discreet.people.published import published
from discreet.people.rows import Rows, persons_of, take_rows, warnings_about
from discreet.people.secrets import (
    Asked,
    Secrets,
    among,
    asked_about,
    codes_of,
    join_rare,
    name_groups,
    secrets_of,
    warnings_about_secrets,
)
from discreet.people.tables import guesses_like
from discreet.problems.adversary.inference import check_confidence
from discreet.problems.constraint import LeakageBudget
from discreet.problems.frames import Codes
from discreet.showing.data import plain

_LISTED = 6  # largest number of groups that a statement lists


def _list_in_words(labels: tuple[Any, ...]) -> str:
    """Return labels as a list in words."""
    if len(labels) > _LISTED:
        return f"({len(labels)} of them)"
    texts = ("/".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in labels)
    return ", ".join(texts)


class PrivateClassifier(TwoClassifiers):
    """Guess y from X while the guess leaks at most a budget about the sensitive features.

    estimator          classifier of y with `predict_proba`; gradient boosting by default
    private_estimator  classifier of the sensitive features from X (under a conditional measure, of
                       the truth combined with them); gradient boosting by default
    budget             budget of leakage in the unit of the measure: a number about all sensitive
                       columns together, or a mapping with one for each column
    fraction           the budget as a share of the leakage of the plain classifier; give one of the
                       two
    measure            measure of leakage, by name or as an object of `discreet.measures`.
                       "conditional-mutual-information" is the leakage to someone who knows y;
                       "equalized-odds-difference" is the violation of equalized odds, for which
                       rules are designed by conditional information. If one of the three is a
                       mapping, a number or name in another applies to every column
    groups             the groups that the promise is about: a list, or a mapping with one for each
                       sensitive column; people of other groups are left out. By default all groups
                       that occur; a group that does not occur is not protected
    rare_groups        "merge" combines all groups with fewer than `rare_below` people to fit on,
                       "exclude" leaves their people out. By default every group counts, and a group
                       of few people weakens every promise
    confidence         confidence of the promise about people
    promise            "exact", or "asymptotic", which is smaller but needs many people; only mutual
                       information has an asymptotic limit
    calibration        share of the people set aside for the promise; 0 for none. Without them the
                       certificate is about the probabilities of the model (cross-fitted, except for
                       frequent records), and `statement_` states the leakage with the probabilities
                       of the deployed classifiers
    loss_matrix        loss of guess i when the truth is k, in the order of `classes_`; 0/1 by
                       default
    random_state       seed of splits, classifiers and the key of coins; None for a secret key

    Without sensitive features and without a budget it is the plain classifier. After `fit`:

    classes_, groups_  labels of the guesses and of the groups
    rule_              the `Rule`, to save and to deploy together with `estimator_` and
                       `private_estimator_`
    design_            the rule with its certificate for the model; None for a constant rule
    model_             the problem whose outcomes are the fitted people, without a budget
    promise_           the rules that were tried on the calibration people; None without them
    evaluation_        the effect of the rule on them, with errors counted; None without them
    limit_, secrets_   the budget (by column if each has one), also if a fraction was given; labels
                       of each column that has a budget
    data_              digest and number of the people
    statement_         one sentence that states for what, or for whom, the budget holds
    constant_          True if only a constant guess is shown to keep the budget
    """

    @staticmethod
    def watch(done: int, total: int | None, what: str) -> None:
        """Called with (steps done, total steps, current step) during fitting; replace it to show
        progress.
        """

    def __init__(
        self,
        estimator: Any = None,
        private_estimator: Any = None,
        budget: float | LeakageBudget | Mapping[Any, float | LeakageBudget] | None = None,
        fraction: float | Mapping[Any, float] | None = None,
        measure: Any = "mutual-information",
        groups: Any = None,
        rare_groups: str | None = None,
        rare_below: int = 100,
        confidence: float = 0.95,
        promise: str = "exact",
        calibration: float = 0.5,
        loss_matrix: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.private_estimator = private_estimator
        self.budget = budget
        self.fraction = fraction
        self.measure = measure
        self.groups = groups
        self.rare_groups = rare_groups
        self.rare_below = rare_below
        self.confidence = confidence
        self.promise = promise
        self.calibration = calibration
        self.loss_matrix = loss_matrix
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        person: Any = None,
    ) -> PrivateClassifier:
        """Fit the classifiers, design the rule, and evaluate it on the people who were set aside.

        sensitive_features: the group of each person, one column or several; required if there is a
        budget. sample_weight: the number of people that each represents in fitting. The promise is
        about people like the calibration people, each of whom counts once. person: identifies the
        person of each row, if a person may have several rows. Raises InputError, and the errors of
        scikit-learn for tables that it does not accept; warns of columns that a table of people
        should not have.
        """
        from sklearn.utils import check_random_state

        table, truth, weight = self._people(X, y, sample_weight)
        self.classes_, truths = np.unique(truth, return_inverse=True)
        people = len(truths)
        options = map(by_name, (self.budget, self.fraction, self.measure))
        by_column = any(TOGETHER not in each for each in options)
        secrets = secrets_of(sensitive_features, people, by_column=by_column)
        together = secrets.get(TOGETHER) or encode_labels(
            groups(sensitive_features), "sensitive_features"
        )
        asked = self._read_request(sensitive_features, secrets)
        rng = np.random.Generator(
            np.random.PCG64(check_random_state(self.random_state).randint(2**31, size=4))
        )
        self.key_ = (os.urandom(16) if self.random_state is None else rng.bytes(16)).hex()
        self.columns_ = Column.of(table)
        self.data_: dict[str, Any] = {
            "digest": people_digest(table, self.classes_[truths], together[1]),
            "people": people,
        }
        rows = Rows(table, truths, {}, weight, persons_of(person, people), self._ids(table))
        bound = asked.bound and len(together[0]) > 1
        if bound:
            if self.classes_.size < 2:
                raise InputError(
                    "y is the same for everybody, so there is nothing to guess; give another"
                )
            for warning in warnings_about_secrets(truths, secrets) + warnings_about(rows):
                warnings.warn(warning, InputWarning, stacklevel=2)
        inside, apart, secrets = self._split(rows, name_groups(secrets, self.groups), rng, bound)
        self.hidden_: dict[Any, tuple[Any, ...]] = {
            name: labels for name, (labels, _) in secrets.items()
        }
        self.groups_ = self.hidden_.get(TOGETHER, together[0])
        self.data_["calibration people"] = len(apart)
        self.rule_: Rule
        self.statement_: str
        self._fit_classifiers(inside, asked, self._weighted_classifiers(sample_weight), rng)
        self._decide(apart)
        if bound:
            if not len(apart):
                self.statement_ += self._describe_deployed(inside)
            self.statement_ += self._describe_people(people, inside, apart)
        facts: dict[str, Any] = {"asked": plain(self._request())}
        if self.evaluation_ is not None:
            facts["people"] = {"statement": self.statement_, **published(self.evaluation_)}
        self.rule_ = with_facts(self.rule_, facts)
        return self

    def _split(
        self, rows: Rows, secrets: Secrets, rng: np.random.Generator, bound: bool
    ) -> tuple[Rows, Rows, Secrets]:
        """Return the people to fit on, those set aside for the promise, and the groups that it is
        about.
        """
        share = positive(self.calibration, "calibration", zero=True, most=0.9)
        share = share if bound else 0.0
        chosen = among(secrets)
        inside, apart = (chosen[part] for part in rows.take(chosen).split(share, rng))
        if inside.size < FOLDS and bound:
            raise InputError(
                f"there are {chosen.size} people; give at least {FOLDS} to fit on, whom "
                "cross-fitting needs"
            )
        if share and not apart.size:
            raise InputError(
                f"there are {chosen.size} people, of whom calibration={share:g} keeps no one apart "
                "to show the promise on; give more people, or calibration=0 for a rule without a "
                "promise"
            )
        if bound and self.rare_groups is not None:
            secrets = join_rare(secrets, inside, self.rare_groups, self.rare_below)
        kept = among(secrets)
        rows = replace(rows, hidden={name: codes for name, (_, codes) in secrets.items()})
        fitted, shown = (rows.take(part[np.isin(part, kept)]) for part in (inside, apart))
        return fitted, shown, secrets

    def _fit_classifiers(
        self, rows: Rows, asked: Asked, weighted: tuple[bool, bool], rng: np.random.Generator
    ) -> None:
        """Fit both classifiers, and build the model from their probabilities."""
        self._tell(0, "fitting the classifier of what is guessed")
        self.estimator_, p_y = calibrate(
            self.estimator, rows, rows.truths, self.classes_.size, rng, weighed=weighted[0]
        )
        parts = list[Calibrated]()
        p_x = dict[Any, Array]()
        for (name, codes), measure in zip(rows.hidden.items(), asked.measures, strict=True):
            labels = len(self.hidden_[name])
            given = self.classes_.size if measure.conditional else 1
            hidden = codes if given == 1 else rows.truths * labels + codes
            self._tell(1, f"fitting the classifier of what is hidden{about(name)}")
            one, p = calibrate(
                self.private_estimator, rows, hidden, given * labels, rng, weighed=weighted[1]
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
        self.model_ = people_problem(p_y, p_x, losses, rows.weight, asked.measures)
        self.budgets_: Budgets = dict(zip(p_x, asked.budgets_in(self.model_), strict=True))

    @property
    def limit_(self) -> LeakageBudget | Budgets:
        """The budget, or that of each column by name."""
        return unnamed(self.budgets_)

    @property
    def secrets_(self) -> dict[Any, tuple[Any, ...]]:
        """The labels of each column that has a budget; empty if there is one budget for all
        together.
        """
        return {name: labels for name, labels in self.hidden_.items() if name != TOGETHER}

    def _read_request(self, sensitive_features: Any, secrets: Any) -> Asked:
        check_confidence(self.confidence)
        if self.promise not in ("exact", "asymptotic"):
            raise InputError(f'promise is {brief(self.promise)}; give "exact" or "asymptotic"')
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

    def _request(self) -> dict[str, Any]:
        """Return the requested budgets and measures; if each sensitive column has a budget,
        mappings from their names.
        """
        budgets = {str(name): each for name, each in self.budgets_.items()}
        return {
            "budget": unnamed({name: each.amount for name, each in budgets.items()}),
            "fraction": unnamed(by_name(self.fraction)),
            "measure": unnamed({name: str(each.measure) for name, each in budgets.items()}),
            "unit": unnamed({name: each.measure.unit or None for name, each in budgets.items()}),
            "confidence": self.confidence,
        }

    def _tell(self, done: int, what: str) -> None:
        self.watch(done, 2 + len(LADDER), what)

    def _describe_deployed(self, rows: Rows) -> str:
        """Return the leakage among the fitted people with the deployed classifiers, which the
        certificate does not cover.

        The model uses cross-fitted probabilities of all people whose record is not frequent.
        """
        evaluation = self._looking(rows)(self.rule_, self.confidence)
        budgets = amounts(self.budgets_)
        leaked = list_leakages(evaluation.under(budgets), lambda each: each.leakage.estimate)
        broken = ", more than the budget" if evaluation.breaks(budgets) else ""
        return (
            f"; with the probabilities that the deployed classifiers give these "
            f"{evaluation.people:,} people, the guess leaks {leaked}{broken}"
        )

    def _describe_people(self, people: int, *parts: Rows) -> str:
        """Return whom a statement is about, and whom it leaves out."""
        named = "of the groups" if self.groups is not None else "of the groups seen,"
        clauses = [
            f"about people {named} "
            + " and ".join(
                _list_in_words(labels) + (name != TOGETHER) * f" of {name}"
                for name, labels in self.hidden_.items()
            )
        ]
        if any(RARE in labels for labels in self.hidden_.values()):
            clauses.append(f"groups of fewer than {self.rare_below} fitted people are one")
        rows = parts[0]
        if rows.person is None and (left := people - sum(map(len, parts))):
            clauses.append(f"{left:,} people of other groups were left out")
        if rows.person is not None:
            clauses.append("one row of each person counts")
        if rows.weight is not None:
            clauses.append("weights touch the fit and the design, and the promise counts people")
        return "; " + "; ".join(clauses)

    def _decide(self, apart: Rows) -> None:
        """Take the rule that is shown to keep the budget or, without people to show it on, the rule
        designed for the budget.
        """
        done = count(2)

        def design(share: float) -> RuleDesign:
            self._tell(next(done), f"designing a rule for {share:.3g} of the budget")
            return self._design(
                [each.measure.design_budget(share * each.amount) for each in self.budgets_.values()]
            )

        self.promise_: Promise | None = None
        self.design_: RuleDesign | None = None
        self.evaluation_: Evaluation | None = None
        self.constant_ = False
        if not len(apart):
            self.design_ = design(1.0)
            self.rule_ = self.design_.rule
            self.statement_ = self.design_.statement
            return
        look = self._looking(apart)
        self.promise_ = try_ladder(
            self.budgets_,
            design,
            lambda rule: look(rule, self.confidence),
            lambda made: made.foresee(
                len(apart),
                cautious_confidence(self.confidence),
                self._measures.values(),
                asymptotic=self._asymptotic,
            ),
        )
        taken = self.promise_.taken
        self.constant_ = taken is None
        if taken is not None:
            self.design_ = taken.design
            self.evaluation_ = taken.people
            self.rule_ = taken.rule
        else:
            guess = int(self.model_.constant_errors.argmin())
            self.rule_ = constant_rule(guess, self._labels(), self.key_)
            self.evaluation_ = look(self.rule_, self.confidence)
        self.statement_ = self.promise_.statement

    def _labels(self) -> Labels:
        """Return the labels of the guesses and of the columns of the private classifier."""
        classes: list[Any] = self.classes_.tolist()
        hidden = [
            label
            for (name, labels), term in zip(self.hidden_.items(), self.model_.terms, strict=True)
            for label in group_labels(name, labels, classes if term.measure.conditional else ())
        ]
        losses = loss_table(self.loss_matrix, len(classes))
        return Labels.of(classes, hidden, None, losses, len(hidden))

    def design_of(self, step: float) -> RuleDesign:
        """Return the optimal rule in the model for another budget.

        step: a budget or, if each sensitive column has one, a factor of the requested budgets.
        """
        units = zip(self._measures.values(), units_of(self.budgets_), strict=True)
        return self._design(
            [measure.design_budget(step * unit) if unit else 0.0 for measure, unit in units]
        )

    def _design(self, budgets: list[float]) -> RuleDesign:
        under = self.model_.with_budget(budgets)
        return design_people(under, self._labels(), key=self.key_, secrets=tuple(self.hidden_))

    def _looking(self, rows: Rows, labels: Any = None) -> Callable[[Rule, float], Evaluation]:
        """Return a function that evaluates a rule's guesses about these people, with a confidence.

        labels: of the codes of truths, if there are truths other than classes
        """
        p_y, p_x = self._probabilities(rows.table)
        classes = list[Any](self.classes_.tolist())
        shown = {name: objects(self.hidden_[name])[codes] for name, codes in rows.hidden.items()}

        def look(rule: Rule, confidence: float) -> Evaluation:
            sure = rule.possible_guesses if len(rule.possible_guesses) == 1 else classes
            coins = np.arange(len(rows)) if rule.needs_ids else rows.records
            return evaluate(
                objects(classes)[rule.decide(p_y, p_x, coins)],
                None,
                (self.classes_ if labels is None else labels)[rows.truths],
                sensitive_features=unnamed(shown),
                measure=self._measures,
                confidence=confidence,
                labels=sure,
                group_labels=self.hidden_,
                asymptotic=self._asymptotic,
            )

        return look

    def prospects(self, points: int = 12) -> Prospects:
        """Return the errors to expect over the budgets that could be promised with the share
        `calibration` set aside, before a budget is chosen.

        It uses only the model, ideally after a fit without a budget. Since no calibration person is
        used, a budget chosen with it may be promised to the same people. If each sensitive column
        has a budget, the curve is over factors of all of them. Raises InputError.
        """
        self._check_protected()
        steps = steps_of(self.model_, self.budgets_, whole(points, "points", 2, 1000))
        people = int(self.calibration * self.data_["people"])
        units = units_of(self.budgets_)
        return prospects_of(
            self._measures,
            units,
            steps,
            self.design_of,
            people,
            self.confidence,
            asymptotic=self._asymptotic,
        )

    @property
    def _measures(self) -> dict[Any, Measure]:
        return {name: each.measure for name, each in self.budgets_.items()}

    @property
    def _asymptotic(self) -> bool:
        return bool(self.promise == "asymptotic")

    def _check_protected(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "rule_")
        if len(self.groups_) < 2:
            raise InputError(
                "the classifier was fitted without groups to protect; fit it with "
                "sensitive_features"
            )

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
        """Return the trade-off between error and leakage among people who were not used for
        fitting, with a band that holds everywhere.

        budgets: for which rules are designed; by default `points` of them, up to the leakage of the
        plain classifier. If each sensitive column has a budget, factors of all of them. confidence:
        of the whole band; by default that of the promise. Raises InputError.
        """
        table = self._fitted_table(X)
        self._check_protected()
        labels, truths = encode_labels(column(y, "y"), "y", self.classes_.tolist())
        hidden = codes_of(sensitive_features, self.hidden_)
        people = len(next(iter(hidden.values())))
        if not len(truths) == people == table.shape[0]:
            raise InputError(
                f"X has {table.shape[0]} people, y {len(truths)} and "
                f"sensitive_features {people}; give as many"
            )
        sure = check_confidence(self.confidence if confidence is None else confidence)
        rows = Rows(table, truths, hidden, records=self._ids(table))
        look = self._looking(rows, objects(labels))
        return frontier_of(self.model_, self.budgets_, budgets, points, sure, self.design_of, look)

    # -- guesses
    # ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, ids: Any = None) -> Any:
        """Return the guesses as an array, or as a column of X's library if X is a data frame of
        another library than pandas.

        ids: an integer or a text for each person, which determines the coins. By default the row of
        X does; a rule with a lottery then draws a UserWarning.
        """
        table = self._fitted_table(X)
        columns = self.rule_.predict_proba(*self._probabilities(table))
        if ids is None and self.needs_ids:
            warnings.warn(f"{NEEDS_IDS}; give ids=", stacklevel=2)

        def record(drawn: Codes) -> Any:
            return self._ids(take_rows(table, drawn))

        return guesses_like(X, self.classes_[self.rule_.draw(columns, ids, None, record)])

    @property
    def needs_ids(self) -> bool:
        """True if its guesses need ids, because a lottery hides a guess."""
        return self.rule_.needs_ids

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of each guess: zeros and ones, except for guesses that are
        randomised.

        These are not probabilities of the truth, which would reveal more about X than the guess
        does.
        """
        table = self._fitted_table(X)
        return self.rule_.predict_proba(*self._probabilities(table))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected share of right guesses, averaged over coins."""
        columns = self.predict_proba(X)
        labels, truths = encode_labels(column(y, "y"), "y", self.classes_.tolist())
        known = np.pad(columns, ((0, 0), (0, len(labels) - columns.shape[1])))
        if len(truths) != len(known):
            raise InputError(f"X has {len(known)} people and y {len(truths)}; give as many")
        right = known[np.arange(len(known)), truths]
        return float(np.average(right, weights=sample_weight))

    def to_onnx(self, examples: Any) -> bytes:
        """Return a single ONNX graph with the probabilities of guesses, and with the guess if no
        coin is tossed.

        examples: rows it was fitted on, with which the graph is checked. See
        `discreet.people.graph`.
        """
        from discreet.people.graph import to_onnx

        return to_onnx(self, self._fitted_table(examples))

    def save(
        self, folder: Any, examples: Any, *, facts: Any = None, overwrite: bool = False
    ) -> Rule:
        """Write the rule, the graph and the card into a folder, from which `DeployedRule` predicts
        without scikit-learn.

        examples: rows it was fitted on; facts: about the data, for the card. See
        `discreet.people.saving`.
        """
        from discreet.people.saving import save

        return save(self, folder, self._fitted_table(examples), facts=facts, overwrite=overwrite)

    def _probabilities(self, table: Any) -> tuple[Array, Array]:
        return self.estimator_.probabilities(table), self.private_estimator_.probabilities(table)

    def _ids(self, table: Any) -> Any:
        """Return a number for each row of the table, equal for equal rows, from which a deployed
        rule derives the same coin.
        """
        try:
            return record_ids(feeds(table, self.columns_), self.key_)
        except (
            InputError
        ):  # its own classifiers accept input that no graph does, such as text among numbers
            return record_ids(
                feeds(table, tuple(replace(each, kind="texts") for each in self.columns_)),
                self.key_,
            )
