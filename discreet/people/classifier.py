"""A classifier in the manner of scikit-learn whose guesses keep a budget of leakage, for the people it will meet.

It fits two calibrated classifiers, of y and of the sensitive features, designs rules on cross-fitted probabilities
(`discreet.people.design`), and takes the one whose leakage on people apart is shown to keep the budget
(`discreet.people.promise`). The sensitive features are needed to fit, never to predict.

scikit-learn is an extra, `people`. This file can be imported without it.

Source: docs/theory.md, sections 7 and 23.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from discreet.people.deployed import Rule, coins
from discreet.people.design import Labels, RuleDesign, about_people, constant_rule, designed, people_problem
from discreet.people.digests import data_digest
from discreet.people.evaluation import Evaluation, evaluate
from discreet.people.frontier import PeopleFrontier, frontier_of
from discreet.people.labels import coded, column, groups
from discreet.people.probabilities import Calibrated, calibrated, is_missing, taken
from discreet.people.promise import LADDER, Promise, promised
from discreet.problems.checks import loss_table, positive
from discreet.problems.constraint import LeakageBudget
from discreet.problems.errors import InputError
from discreet.problems.inference.adversary import check_confidence
from discreet.problems.measures.registry import measure_of
from discreet.problems.numerics.double_double import Array

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
except ImportError:  # then the class says what to install when it is used

    class ClassifierMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Stands for scikit-learn's."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            """InputError: nothing can be fitted."""
            raise InputError("PrivateClassifier needs scikit-learn, which is not installed; pip install 'discreet[people]'")


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Guesses y from X while the guess leaks at most a budget about the sensitive features.

    estimator          classifier of y with `predict_proba`; gradient boosting by default
    private_estimator  classifier of the sensitive features from X, under a conditional measure of the truth with them;
                       gradient boosting by default
    budget             of leakage, in the unit of the measure
    fraction           the same as a share of what the plain classifier leaks; give one of both
    measure            of leakage, by name or as an object of `discreet.measures`; "conditional-mutual-information" is what
                       the guess says to who knows y, and a budget of it bounds how far equalized odds are missed
    confidence         of the promise about people
    calibration        share of the people who are kept apart for the promise; 0 for none, then only the model is certain
    loss_matrix        loss of guess i when the truth is k, in the order of `classes_`; 0/1 by default
    random_state       seed of splits, classifiers and the key of coins; None for a secret key

    Without sensitive features and without a budget it is the plain classifier. After `fit`:

    classes_, groups_  labels of the guesses and of the groups
    rule_              the `Rule`, to save and to deploy beside `estimator_` and `private_estimator_`
    design_            the rule with its certificate for the model; None for a constant rule
    model_             the problem whose outcomes are the fitted people, without a budget
    promise_           the rules that were tried on the calibration people; None without them
    evaluation_        what the rule did to them, with errors counted; None without them
    limit_, data_      the budget, also where a fraction was given; digest and number of the people
    statement_         one sentence that says for what, or for whom, the budget holds
    """

    @staticmethod
    def watch(done: int, total: int | None, what: str) -> None:
        """Called with (steps done, steps in all, what happens now) while it is fitted; replace it to show progress."""

    @staticmethod
    def step(name: str, rng: np.random.Generator, seen: Any, compute: Callable[[], Any]) -> Any:
        """Called to fit each of both classifiers; replace it to keep them, as `discreet.people.unfinished` does."""
        return compute()

    def __init__(
        self,
        estimator: Any = None,
        private_estimator: Any = None,
        budget: float | None = None,
        fraction: float | None = None,
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

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> PrivateClassifier:  # noqa: N803
        """Fit the classifiers, design the rule, and look at it on the people who were kept apart.

        sensitive_features: the group of each person, one column or several; needed wherever there is a budget.
        sample_weight: how many people each stands for when fitting. The promise is about people like the calibration people,
        each of whom counts once. Raises InputError, and what scikit-learn raises for tables that it does not take.
        """
        from sklearn.utils import check_random_state
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight, column_or_1d

        for name, each in self._classifiers():
            if each is not None and not hasattr(each, "predict_proba"):
                told = f"{name} is a {type(each).__name__}, which has no predict_proba"
                raise InputError(f"{told}; give a classifier that has, such as it in a CalibratedClassifierCV")
        table = self._table(X, y, reset=True)
        truth = column_or_1d(y, warn=True)
        if truth.dtype.kind == "O" and (nobody := int(sum(is_missing(each) for each in truth.tolist()))):
            raise InputError(f"y is missing for {nobody} of {len(truth)} people; leave them out")
        check_classification_targets(truth)
        self.classes_, truths = np.unique(truth, return_inverse=True)
        people = len(truths)
        if table.shape[0] != people:
            raise InputError(f"X has {table.shape[0]} people and y {people}; give one entry for each")
        weight = None if sample_weight is None else np.asarray(_check_sample_weight(sample_weight, table), dtype=np.float64)
        if weight is not None and not weight.any():
            raise InputError("every sample_weight is zero; give some people a weight, no one can be fitted otherwise")
        limit = self._limit(sensitive_features)
        self.groups_, members = self._groups(sensitive_features, people)
        rng = np.random.Generator(np.random.PCG64(check_random_state(self.random_state).randint(2**31, size=4)))
        self.key_ = (os.urandom(16) if self.random_state is None else rng.bytes(16)).hex()
        promises = len(self.groups_) > 1 and (limit is None or not limit.oblivious)
        apart = self._apart(people, rng) if promises else np.zeros(people, dtype=bool)
        inside = np.flatnonzero(~apart)
        mine = None if weight is None else weight[inside]
        seen = taken(table, inside)
        first, second = self._weighed(sample_weight)
        self.watch(0, 2 + len(LADDER), "fitting the classifier of what is guessed")
        self.estimator_, p_y = self.step(
            "guessed",
            rng,
            seen,
            lambda: calibrated(self.estimator, seen, truths[inside], self.classes_.size, mine, rng, weighed=first),
        )
        given = self.classes_.size if measure_of(self.measure).conditional else 1
        hidden = members if given == 1 else truths * len(self.groups_) + members
        self.watch(1, 2 + len(LADDER), "fitting the classifier of what is hidden")
        many = given * len(self.groups_)
        self.private_estimator_, p_x = self.step(
            "hidden",
            rng,
            seen,
            lambda: calibrated(self.private_estimator, seen, hidden[inside], many, mine, rng, weighed=second),
        )
        if given > 1:
            p_x = p_x.reshape(len(p_x), given, -1)
        losses = loss_table(self.loss_matrix, self.classes_.size)
        if losses.shape[1] != self.classes_.size:
            raise InputError(
                f"loss_matrix has {losses.shape[1]} columns and y {self.classes_.size} classes; give a square one"
            )
        self.model_ = people_problem(p_y, p_x, losses, mine, self.measure)
        if limit is None:
            limit = LeakageBudget(float(self.fraction or 0.0) * self.model_.bayes_leakage, self.model_.measure)
        self.limit_ = limit
        self.data_ = {
            "digest": data_digest(table, self.classes_[truths], members),
            "people": people,
            "calibration people": int(apart.sum()),
        }
        self._decide(limit, taken(table, np.flatnonzero(apart)), truth[apart], members[apart])
        return self

    def _decide(self, limit: LeakageBudget, table: Any, truth: Any, members: Any) -> None:
        """Take a rule: the one that is shown to keep the budget or, without people to show it on, that of the budget."""
        done = count(2)

        def design(amount: float) -> RuleDesign:
            self.watch(next(done), 2 + len(LADDER), f"designing a rule for {amount:.3g}")
            return self._design(amount)

        self.promise_: Promise | None = None
        self.design_: RuleDesign | None = None
        self.evaluation_: Evaluation | None = None
        if not len(truth):
            self.design_ = design(limit.amount)
            self.rule_ = self.design_.rule
            self.statement_ = self.design_.statement
            return
        look = self._looking(table, truth, members)
        self.promise_ = promised(limit, design, lambda rule: look(rule, self.confidence))
        if self.promise_.taken is not None:
            self.design_, self.evaluation_ = self.promise_.taken.design, self.promise_.taken.people
            rule = self.design_.rule
        else:
            rule = constant_rule(int(self.model_.constant_errors.argmin()), self._labels(), self.key_)
            self.evaluation_ = look(rule, self.confidence)
        self.statement_ = self.promise_.statement
        self.rule_ = about_people(rule, {"people": {"statement": self.statement_, **self.evaluation_.to_dict()}})

    def _labels(self) -> Labels:
        """What guesses and the columns of the private classifier are called: groups, or pairs of truth and group."""
        classes: list[Any] = self.classes_.tolist()
        hidden: list[Any] = list(self.groups_)
        if self.model_.measure.conditional:
            hidden = [(truth, group) for truth in classes for group in self.groups_]
        return Labels.of(classes, hidden, None, loss_table(self.loss_matrix, len(classes)), len(hidden))

    def _design(self, amount: float) -> RuleDesign:
        """The rule of a budget, optimal in the model."""
        under, named = self.model_.with_budget(amount), self._labels()
        return designed(under, named.guesses, named.groups, None, named.losses, key=self.key_)

    def _looking(self, table: Any, truth: Any, members: Any) -> Callable[[Rule, float], Evaluation]:
        """What looks at a rule's guesses about people of these truths and codes of groups, with a confidence."""
        p_y, p_x = self._probabilities(table)
        ids, shown = self._ids(table), _objects(self.groups_)[members]
        classes: list[Any] = self.classes_.tolist()

        def look(rule: Rule, confidence: float) -> Evaluation:
            sure = rule.possible_guesses if len(rule.possible_guesses) == 1 else classes
            asked: dict[str, Any] = {"labels": sure, "group_labels": self.groups_, "measure": self.model_.measure}
            guesses = _objects(classes)[rule.decide(p_y, p_x, ids)]
            return evaluate(guesses, None, truth, sensitive_features=shown, confidence=confidence, **asked)

        return look

    def frontier(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        sensitive_features: Any,
        budgets: Any = None,
        points: int = 12,
        confidence: float | None = None,
    ) -> PeopleFrontier:
        """The trade of errors for leakage among people who had no part in fitting, with a band that holds everywhere.

        budgets: for which rules are designed; by default `points` of them, up to what the plain classifier leaks.
        confidence: of the whole band; by default that of the promise. Raises InputError.
        """
        table = self._fitted_table(X)
        if len(self.groups_) < 2:
            raise InputError("the classifier was fitted without groups to protect; fit it with sensitive_features")
        found, members = coded(groups(sensitive_features), "sensitive_features", self.groups_)
        if len(found) > len(self.groups_):
            raise InputError(f"there is a group {found[-1]!r} that nobody had when the classifier was fitted; leave it out")
        truth = column(y, "y")
        if not len(truth) == len(members) == table.shape[0]:
            raise InputError(
                f"X has {table.shape[0]} people, y {len(truth)} and sensitive_features {len(members)}; give as many"
            )
        sure = check_confidence(self.confidence if confidence is None else confidence)
        return frontier_of(self.model_, budgets, points, sure, self._design, self._looking(table, truth, members))

    # -- what was given --------------------------------------------------------------------------------------------------

    def _table(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:  # noqa: N803
        """The table as the classifiers take it: a data frame as it is, anything else as numbers [people, columns]."""
        from sklearn.utils.validation import validate_data

        if reset and y is None:
            validate_data(self, X, y, reset=True)  # says that y is missing
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            if not X.shape[0] or not X.shape[1]:
                raise InputError(f"X has shape {list(X.shape)}: Found array with 0 sample(s) or 0 feature(s); give people")
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        missing = self.__sklearn_tags__().input_tags.allow_nan
        return validate_data(self, X, reset=reset, ensure_all_finite="allow-nan" if missing else True)

    def _limit(self, sensitive_features: Any) -> LeakageBudget | None:
        """The budget asked for; None if it is a fraction."""
        chosen = measure_of(self.measure)
        check_confidence(self.confidence)
        if sensitive_features is None:
            if self.fraction is not None or not (self.budget is None or self.budget == np.inf):
                raise InputError("there is a budget and no sensitive_features; say whom it protects, or leave both out")
            return LeakageBudget(np.inf, chosen)
        if (self.budget is None) == (self.fraction is None):
            raise InputError("give one of budget= and fraction= (of what the plain classifier leaks)")
        if self.budget is None:
            positive(self.fraction, "fraction", zero=True, most=1.0)
            return None
        return LeakageBudget(self.budget, chosen)

    def _groups(self, sensitive_features: Any, people: int) -> tuple[tuple[Any, ...], Any]:
        if sensitive_features is None:
            return (None,), np.zeros(people, dtype=np.intp)
        found, members = coded(groups(sensitive_features), "sensitive_features")
        if len(members) != people:
            raise InputError(f"sensitive_features has {len(members)} entries for {people} people; give one for each")
        if len(found) > 10 and 2 * len(found) > people:
            told = f"sensitive_features has {len(found):,} different values for {people:,} people, as a measurement has"
            raise InputError(f"{told}; cut it into ranges, and give those")
        return found, members

    def _apart(self, people: int, rng: np.random.Generator) -> Any:
        """Who is kept apart for the promise: anybody alike."""
        share = positive(self.calibration, "calibration", zero=True, most=0.9) if self.calibration else 0.0
        apart = np.zeros(people, dtype=bool)
        apart[rng.permutation(people)[: min(int(share * people), people - 2)]] = True
        return apart

    def _weighed(self, sample_weight: Any) -> tuple[bool, bool]:
        """Whether each classifier is given the weights: with metadata routing as it requests, else always."""
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
            router.add(**{name: each}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    # -- guesses ---------------------------------------------------------------------------------------------------------

    def predict(self, X: Any, ids: Any = None) -> Any:  # noqa: N803
        """The guesses. ids: an integer or a text for each person, that decides its coins; by default the row of X does."""
        table = self._fitted_table(X)
        p_y, p_x = self._probabilities(table)
        return self.classes_[self.rule_.decide(p_y, p_x, self._ids(table) if ids is None else ids)]

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probabilities with which each guess is made: ones and zeros but for those that are drawn.

        These are no probabilities of the truth, which would say more about X than the guess does.
        """
        table = self._fitted_table(X)
        return self.rule_.predict_proba(*self._probabilities(table))

    def to_onnx(self, examples: Any) -> bytes:
        """All of it as one ONNX graph, which gives the probabilities of guesses, and the guess where no coin is tossed.

        examples: rows of what it was fitted on, on which the graph is checked. See `discreet.people.graph`.
        """
        from discreet.people.graph import to_onnx

        return to_onnx(self, self._fitted_table(examples))

    def save(self, folder: Any, examples: Any, *, facts: Any = None, overwrite: bool = False) -> Rule:
        """Write the rule, the graph and the card into a folder, from which `DeployedRule` predicts without scikit-learn.

        examples: rows of what it was fitted on; facts: of the data, for the card. See `discreet.people.saving`.
        """
        from discreet.people.saving import save

        return save(self, folder, self._fitted_table(examples), facts=facts, overwrite=overwrite)

    def _probabilities(self, table: Any) -> tuple[Array, Array]:
        models: tuple[Calibrated, Calibrated] = (self.estimator_, self.private_estimator_)
        return models[0].probabilities(table), models[1].probabilities(table)

    def _fitted_table(self, X: Any) -> Any:  # noqa: N803
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "rule_")
        return self._table(X, reset=False)

    def _ids(self, table: Any) -> Any:
        """A number for each row of the table, alike for alike rows; None where rows cannot be hashed."""
        if hasattr(table, "iloc"):
            import pandas

            try:
                return pandas.util.hash_pandas_object(table, index=False).to_numpy().astype(np.int64)
            except TypeError:
                return None
        words = np.ascontiguousarray(table, dtype=np.float64) + 0.0
        return (coins(words, self.key_) * 2.0**53).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        """As the classifiers': missing values are welcome where both take them."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        given = [each for each in (self.estimator, self.private_estimator) if each is not None]
        tags.input_tags.allow_nan = all(get_tags(each).input_tags.allow_nan for each in given)
        return tags


def _objects(labels: Sequence[Any]) -> Any:
    """Labels as an array that may be indexed: tuples stay one label."""
    return np.array([*labels, None], dtype=object)[:-1]
