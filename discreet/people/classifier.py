"""A classifier in the manner of scikit-learn whose guesses keep a budget of leakage, for the people
it will meet.

It fits two calibrated classifiers, of y and of the sensitive features, designs rules on
cross-fitted probabilities (`discreet.people.design`), and takes the one whose leakage on people
apart is shown to keep the budget (`discreet.people.promise`). The sensitive features are needed to
fit, never to predict.

scikit-learn is an extra, `people`. This file can be imported without it.

Source: docs/theory.md, sections 7 and 23.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from discreet.checks import loss_table, positive
from discreet.errors import InputError
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.people.deployed import Rule
from discreet.people.design import (
    Labels,
    RuleDesign,
    about_people,
    constant_rule,
    designed,
    people_problem,
)
from discreet.people.evaluation import Evaluation, evaluate
from discreet.people.folder import Column, feeds, record_ids
from discreet.people.frontier import PeopleFrontier, frontier_of
from discreet.people.labels import coded, column, columns_of, groups, people_digest
from discreet.people.probabilities import Calibrated, SideBySide, calibrated, is_missing, taken
from discreet.people.promise import LADDER, Limit, Promise, amounts, named, promised
from discreet.problems.adversary.inference import check_confidence
from discreet.problems.constraint import LeakageBudget
from discreet.problems.frames import Codes
from discreet.problems.problem import shares_of_bayes
from discreet.problems.samples import each_secret
from discreet.problems.stacking import measure_asked

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
except ImportError:  # then the class says what to install when it is used

    class ClassifierMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Stands for scikit-learn's."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            """InputError: nothing can be fitted."""
            raise InputError(
                "PrivateClassifier needs scikit-learn, which is not installed; pip "
                "install 'discreet[people]'"
            )


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    limit_, data_      the budget (of each column by name, if each has one), also where a fraction
                       was given; digest and number of the people
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
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight, column_or_1d

        for name, each in self._classifiers():
            if each is not None and not hasattr(each, "predict_proba"):
                told = f"{name} is a {type(each).__name__}, which has no predict_proba"
                raise InputError(
                    f"{told}; give a classifier that has, such as it in a CalibratedClassifierCV"
                )
        table = self._table(X, y, reset=True)
        truth = column_or_1d(y, warn=True)
        if truth.dtype.kind == "O" and (
            nobody := int(sum(is_missing(each) for each in truth.tolist()))
        ):
            raise InputError(f"y is missing for {nobody} of {len(truth)} people; leave them out")
        check_classification_targets(truth)
        self.classes_, truths = np.unique(truth, return_inverse=True)
        people = len(truths)
        if table.shape[0] != people:
            raise InputError(
                f"X has {table.shape[0]} people and y {people}; give one entry for each"
            )
        weight = (
            None
            if sample_weight is None
            else np.asarray(_check_sample_weight(sample_weight, table), dtype=np.float64)
        )
        if weight is not None and not weight.any():
            raise InputError(
                "every sample_weight is zero; give some people a weight, no one can "
                "be fitted otherwise"
            )
        self.groups_, members = self._groups(sensitive_features, people)
        secrets = self._secrets(sensitive_features, people)
        measures, asked = self._asked(sensitive_features, secrets)
        self.secrets_: dict[Any, tuple[Any, ...]] = {
            name: labels for name, (labels, _) in secrets.items()
        }
        rng = np.random.Generator(
            np.random.PCG64(check_random_state(self.random_state).randint(2**31, size=4))
        )
        self.key_ = (os.urandom(16) if self.random_state is None else rng.bytes(16)).hex()
        unbound = not isinstance(asked, list) and all(
            each.oblivious for each in named(asked).values()
        )
        promises = len(self.groups_) > 1 and not unbound
        self.columns_ = Column.of(table)
        apart = self._apart(people, rng) if promises else np.zeros(people, dtype=bool)
        inside = np.flatnonzero(~apart)
        mine = None if weight is None else weight[inside]
        seen = taken(table, inside)
        first, second = self._weighed(sample_weight)
        self.watch(0, 2 + len(LADDER), "fitting the classifier of what is guessed")
        self.estimator_, p_y = calibrated(
            self.estimator, seen, truths[inside], self.classes_.size, mine, rng, weighed=first
        )
        parts = list[Calibrated]()
        p_x = dict[Any, Array]()
        hiding = secrets or {None: (self.groups_, members)}
        for (name, (labels, codes)), measure in zip(hiding.items(), measures, strict=True):
            given = self.classes_.size if measure.conditional else 1
            hidden = codes if given == 1 else truths * len(labels) + codes
            many = given * len(labels)
            self.watch(
                1,
                2 + len(LADDER),
                (f"fitting the classifier of {'what is hidden' if name is None else name}"),
            )
            one, p = calibrated(
                self.private_estimator, seen, hidden[inside], many, mine, rng, weighed=second
            )
            parts.append(one)
            p_x[name] = p.reshape(len(p), given, -1) if measure.conditional else p
        self.private_estimator_ = SideBySide(tuple(parts)) if secrets else parts[0]
        losses = loss_table(self.loss_matrix, self.classes_.size)
        if losses.shape[1] != self.classes_.size:
            raise InputError(
                f"loss_matrix has {losses.shape[1]} columns and y {self.classes_.size} classes; "
                "give a square one"
            )
        self.model_ = people_problem(
            p_y, p_x if secrets else p_x[None], losses, mine, measures if secrets else measures[0]
        )
        if isinstance(asked, list):
            asked = self._limits(secrets, measures, shares_of_bayes(self.model_, asked))
        self.limit_ = asked
        self.data_ = {
            "digest": people_digest(table, self.classes_[truths], members),
            "people": people,
            "calibration people": int(apart.sum()),
        }

        def shown(who: Any) -> Any:
            hidden = {
                name: _objects(labels)[codes[who]] for name, (labels, codes) in secrets.items()
            }
            return hidden or _objects(self.groups_)[members[who]]

        self._decide(asked, taken(table, np.flatnonzero(apart)), truth[apart], shown(apart))
        if promises and not apart.any():
            self.statement_ += self._deployed(seen, truth, shown(inside))
        return self

    def _deployed(self, table: Any, truth: Any, shown: Any) -> str:
        """What the rule leaks among the fitted people with the deployed classifiers, which the
        certificate is not about.

        The model has cross-fitted probabilities. Where there are few distinct records, the deployed
        classifiers give others, at which no tie is listed.
        """
        found = self._looking(table, truth, shown)(self.rule_, self.confidence)
        parts = found.under(amounts(self.limit_))
        leaked = " and ".join(f"{each.leakage.estimate:.4g}{about}" for about, each, _ in parts)
        broken = ", more than the budget" if found.breaks(amounts(self.limit_)) else ""
        return (
            f"; with the probabilities that the deployed classifiers give these {found.people:,} "
            "people, the guess leaks "
            f"{leaked}{broken}"
        )

    def _decide(self, limit: Limit, table: Any, truth: Any, shown: Any) -> None:
        """Take a rule: the one that is shown to keep the budget or, without people to show it on,
        that of the budget.
        """
        done = count(2)

        def design(share: float) -> RuleDesign:
            step = share if self.secrets_ else share * limit.amount  # type: ignore[union-attr]
            told = f"{step:.3g} of the budgets" if self.secrets_ else f"{step:.3g}"
            self.watch(next(done), 2 + len(LADDER), f"designing a rule for {told}")
            return self.design_of(step)

        self.promise_: Promise | None = None
        self.design_: RuleDesign | None = None
        self.evaluation_: Evaluation | None = None
        if not len(truth):
            self.design_ = design(1.0)
            self.rule_ = self.design_.rule
            self.statement_ = self.design_.statement
            return
        look = self._looking(table, truth, shown)
        self.promise_ = promised(limit, design, lambda rule: look(rule, self.confidence))
        if self.promise_.taken is not None:
            self.design_ = self.promise_.taken.design
            self.evaluation_ = self.promise_.taken.people
            rule = self.design_.rule
        else:
            rule = constant_rule(
                int(self.model_.constant_errors.argmin()), self._labels(), self.key_
            )
            self.evaluation_ = look(rule, self.confidence)
        self.statement_ = self.promise_.statement
        self.rule_ = about_people(
            rule, {"people": {"statement": self.statement_, **self.evaluation_.to_dict()}}
        )

    def _labels(self) -> Labels:
        """What guesses and the columns of the private classifier are called: groups, or pairs of
        truth and group.

        Of several sensitive columns with a budget each, the name of the column stands before its
        group.
        """
        classes: list[Any] = self.classes_.tolist()
        hidden = list[Any]()
        for (name, labels), term in zip(
            (self.secrets_ or {None: self.groups_}).items(), self.model_.terms, strict=True
        ):
            own = (
                [(truth, group) for truth in classes for group in labels]
                if term.measure.conditional
                else labels
            )
            hidden += (
                own
                if name is None
                else [(name, *(one if term.measure.conditional else (one,))) for one in own]
            )
        return Labels.of(
            classes, hidden, None, loss_table(self.loss_matrix, len(classes)), len(hidden)
        )

    def design_of(self, step: float) -> RuleDesign:
        """The rule for another budget, optimal in the model.

        step: a budget or, where each sensitive column has one, a factor of those asked for.
        """
        asked = [each.amount for each in named(self.limit_).values()] if self.secrets_ else [1.0]
        amounts = [step * amount if amount else 0.0 for amount in asked]
        under = self.model_.with_budget(amounts if len(amounts) > 1 else amounts[0])
        told = self._labels()
        given = (told.guesses, told.groups, None, told.losses)
        return designed(under, *given, key=self.key_, secrets=tuple(self.secrets_))

    def _looking(self, table: Any, truth: Any, shown: Any) -> Callable[[Rule, float], Evaluation]:
        """What looks at a rule's guesses about people of these truths and groups (or columns), with
        a confidence.
        """
        p_y, p_x = self._probabilities(table)
        ids = self._ids(table)
        classes = list[Any](self.classes_.tolist())
        by_name = dict(
            zip(self.secrets_, (term.measure for term in self.model_.terms), strict=False)
        )
        asked: dict[str, Any] = {
            "measure": by_name or self.model_.measure,
            "group_labels": self.secrets_ or self.groups_,
        }

        def look(rule: Rule, confidence: float) -> Evaluation:
            sure = rule.possible_guesses if len(rule.possible_guesses) == 1 else classes
            guesses = _objects(classes)[rule.decide(p_y, p_x, ids)]
            return evaluate(
                guesses,
                None,
                truth,
                sensitive_features=shown,
                confidence=confidence,
                labels=sure,
                **asked,
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
        shown = self._known(sensitive_features)
        people = len(next(iter(shown.values()))) if isinstance(shown, Mapping) else len(shown)
        if not len(truth) == people == table.shape[0]:
            raise InputError(
                f"X has {table.shape[0]} people, y {len(truth)} and "
                f"sensitive_features {people}; give as many"
            )
        sure = check_confidence(self.confidence if confidence is None else confidence)
        look = self._looking(table, truth, shown)
        return frontier_of(self.model_, self.limit_, budgets, points, sure, self.design_of, look)

    def _known(self, sensitive_features: Any) -> Any:
        """The groups of other people, or the values of each sensitive column by name; InputError
        for one that is new.
        """

        def known(values: Any, what: str, labels: tuple[Any, ...]) -> Any:
            found, codes = coded(values, what, labels)
            if len(found) > len(labels):
                raise InputError(
                    f"there is a group {found[-1]!r} that nobody had when the classifier was "
                    "fitted; leave it out"
                )
            return _objects(labels)[codes]

        if not self.secrets_:
            return known(groups(sensitive_features), "sensitive_features", self.groups_)
        parts = self._named(sensitive_features)
        if lacking := [name for name in self.secrets_ if name not in parts]:
            raise InputError(
                f"sensitive_features has no column {lacking[0]!r}, which has a budget; give it too"
            )
        return {
            name: known(parts[name], f"sensitive_features {name!r}", labels)
            for name, labels in self.secrets_.items()
        }

    # -- what was given
    # ----------------------------------------------------------------------------------------------

    def _table(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """The table as the classifiers take it: a data frame as it is, anything else as numbers
        [people, columns].
        """
        from sklearn.utils.validation import validate_data

        if reset and y is None:
            validate_data(self, X, y, reset=True)  # says that y is missing
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            if not X.shape[0] or not X.shape[1]:
                raise InputError(
                    f"X has shape {list(X.shape)}: Found array with 0 sample(s) or 0 "
                    "feature(s); give people"
                )
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        missing = self.__sklearn_tags__().input_tags.allow_nan
        return validate_data(
            self, X, reset=reset, ensure_all_finite="allow-nan" if missing else True
        )

    def _secrets(
        self, sensitive_features: Any, people: int
    ) -> dict[Any, tuple[tuple[Any, ...], Codes]]:
        """Labels and codes of each sensitive column by name, where each has a budget; else none.
        Raises InputError.
        """
        if sensitive_features is None or not self._by_column:
            return {}
        parts = self._named(sensitive_features)
        found = {
            name: _people(part, f"sensitive_features {name!r}", people)
            for name, part in parts.items()
        }
        if alone := [name for name, (labels, _) in found.items() if len(labels) < 2]:
            raise InputError(
                f"sensitive_features {alone[0]!r} is the same for everybody, so no guess can tell "
                "it; leave it out"
            )
        return found

    def _named(self, sensitive_features: Any) -> dict[Any, Any]:
        """The sensitive columns by name; InputError where there is one without a name."""
        parts = columns_of(sensitive_features)
        if not parts and getattr(sensitive_features, "name", None) is not None:
            parts = [(sensitive_features.name, column(sensitive_features, "sensitive_features"))]
        if not parts:
            told = "sensitive_features is one column without a name, and there is a budget by name"
            raise InputError(f"{told}; give a data frame or a mapping, or a number for a budget")
        return dict(parts)

    @property
    def _by_column(self) -> bool:
        """Whether each sensitive column has a budget of its own."""
        return any(
            isinstance(given, Mapping) for given in (self.budget, self.fraction, self.measure)
        )

    def _limits(
        self, secrets: Mapping[Any, Any], measures: Sequence[Measure], budgets: Sequence[Any]
    ) -> Limit:
        each = zip(budgets, measures, strict=True)
        made = [
            one if isinstance(one, LeakageBudget) else LeakageBudget(one, measure)
            for one, measure in each
        ]
        return dict(zip(secrets, made, strict=True)) if secrets else made[0]

    def _asked(
        self, sensitive_features: Any, secrets: Mapping[Any, Any]
    ) -> tuple[list[Measure], Limit | list[float]]:
        """The measure of each budget, and the budgets asked for or, as a list, shares of what the
        plain classifier leaks.
        """
        check_confidence(self.confidence)
        if sensitive_features is None:
            if self.fraction is not None or not (self.budget is None or self.budget == np.inf):
                raise InputError(
                    "there is a budget and no sensitive_features; say whom it "
                    "protects, or leave both out"
                )
            chosen = measure_of(
                "mutual-information" if isinstance(self.measure, Mapping) else self.measure
            )
            return [chosen], LeakageBudget(np.inf, chosen)
        names = [str(name) for name in secrets] or [""]
        budgets = each_secret(self.budget, names, "budget", every=True)
        told = each_secret(self.measure, names, "measure", every=False)
        measures = [
            measure_asked(*each) or MUTUAL_INFORMATION for each in zip(budgets, told, strict=True)
        ]
        if (self.budget is None) == (self.fraction is None):
            raise InputError(
                "give one of budget= and fraction= (of what the plain classifier leaks)"
            )
        if self.budget is None:
            shares = each_secret(self.fraction, names, "fraction", every=True)
            return measures, [positive(share, "fraction", zero=True, most=1.0) for share in shares]
        return measures, self._limits(secrets, measures, budgets)

    def _groups(self, sensitive_features: Any, people: int) -> tuple[tuple[Any, ...], Any]:
        if sensitive_features is None:
            return (None,), np.zeros(people, dtype=np.intp)
        joined = groups(sensitive_features)
        return (
            coded(joined, "sensitive_features")
            if self._by_column
            else _people(joined, "sensitive_features", people)
        )

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

    def _weighed(self, sample_weight: Any) -> tuple[bool, bool]:
        """Whether each classifier is given the weights: with metadata routing as it requests, else
        always.
        """
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        if sample_weight is None or not get_config()["enable_metadata_routing"]:
            return True, True
        routed = process_routing(self, "fit", sample_weight=sample_weight)
        asked = ((each, routed[name].fit) for name, each in self._classifiers())
        first, second = (given is None or "sample_weight" in found for given, found in asked)
        return first, second

    def _classifiers(self) -> list[tuple[str, Any]]:
        return [("estimator", self.estimator), ("private_estimator", self.private_estimator)]

    def get_metadata_routing(self) -> Any:
        """What `fit` asks for itself, and what it passes on to both classifiers."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self).add_self_request(self)
        for name, each in self._classifiers():
            router.add(
                **{name: each}, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

    # -- guesses
    # ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, ids: Any = None) -> Any:
        """The guesses. ids: an integer or a text for each person, that decides its coins; by
        default the row of X does.
        """
        table = self._fitted_table(X)
        columns = self.rule_.predict_proba(*self._probabilities(table))
        if ids is None:
            ids = np.zeros(len(columns), dtype=np.int64)
            if (drawn := np.flatnonzero(columns.max(axis=1) < 1.0)).size:
                ids[drawn] = self._ids(taken(table, drawn))
        return self.classes_[self.rule_.draw(columns, ids)]

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

    def _fitted_table(self, X: Any) -> Any:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "rule_")
        return self._table(X, reset=False)

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

    def __sklearn_tags__(self) -> Any:
        """As the classifiers': missing values are welcome where both take them."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        given = [each for each in (self.estimator, self.private_estimator) if each is not None]
        tags.input_tags.allow_nan = all(get_tags(each).input_tags.allow_nan for each in given)
        return tags


def _people(values: Any, what: str, people: int) -> tuple[tuple[Any, ...], Codes]:
    """Labels and the code of each person; InputError where there are as many as in a
    measurement.
    """
    found, codes = coded(values, what)
    if len(codes) != people:
        raise InputError(f"{what} has {len(codes)} entries for {people} people; give one for each")
    if len(found) > 10 and 2 * len(found) > people:
        told = (
            f"{what} has {len(found):,} different values for {people:,} people, as a "
            "measurement has"
        )
        raise InputError(f"{told}; cut it into ranges, and give those")
    return found, codes


def _objects(labels: Sequence[Any]) -> Any:
    """Labels as an array that may be indexed: tuples stay one label."""
    return np.array([*labels, None], dtype=object)[:-1]
