"""What scikit-learn asks of a classifier that is made of two others: the tables that it takes,
metadata that it routes to both, and tags.

scikit-learn is an extra, `people`. This file can be imported without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import InputError, how_to_install
from discreet.numerics.double_double import Array
from discreet.people.tables import in_columns
from discreet.problems.frames import is_missing

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
                "PrivateClassifier needs scikit-learn, which is not installed; "
                f"{how_to_install('people')}"
            )


class TwoClassifiers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with an `estimator` and a `private_estimator`, either of which may be None."""

    estimator: Any
    private_estimator: Any

    def get_metadata_routing(self) -> Any:
        """What `fit` asks for itself, and what it passes on to both classifiers."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self).add_self_request(self)
        for name, each in self._classifiers():
            router.add(
                **{name: each}, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

    def _classifiers(self) -> list[tuple[str, Any]]:
        return [("estimator", self.estimator), ("private_estimator", self.private_estimator)]

    def _weighted_classifiers(self, sample_weight: Any) -> tuple[bool, bool]:
        """Whether each classifier is given the weights: with metadata routing as it requests, else
        always.
        """
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        if sample_weight is None or not get_config()["enable_metadata_routing"]:
            return True, True
        routed = process_routing(self, "fit", sample_weight=sample_weight)
        asked = ((each, routed[name].fit) for name, each in self._classifiers())
        first, second = (
            given is None or "sample_weight" in parameters for given, parameters in asked
        )
        return first, second

    def _people(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
        """The table, the truths and the weights of the people to fit on. Raises InputError."""
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight, column_or_1d

        for name, each in self._classifiers():
            if each is not None and not hasattr(each, "predict_proba"):
                fault = f"{name} is a {type(each).__name__}, which has no predict_proba"
                raise InputError(
                    f"{fault}; give a classifier that has, such as it in a CalibratedClassifierCV"
                )
        table = self._table(X, y, reset=True)
        truth = column_or_1d(y, warn=True)
        people = len(truth)
        if truth.dtype.kind == "O" and (
            nobody := int(sum(is_missing(each) for each in truth.tolist()))
        ):
            raise InputError(f"y is missing for {nobody} of {people} people; leave them out")
        check_classification_targets(truth)
        if table.shape[0] != people:
            raise InputError(
                f"X has {table.shape[0]} people and y {people}; give one entry for each"
            )
        if sample_weight is None:
            return table, truth, None
        weight = np.asarray(_check_sample_weight(sample_weight, table), dtype=np.float64)
        if not weight.any():
            raise InputError(
                "every sample_weight is zero; give some people a weight, no one can "
                "be fitted otherwise"
            )
        return table, truth, weight

    def _table(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """The table as the classifiers take it: a data frame as one of pandas, anything else as
        numbers [people, columns].
        """
        from sklearn.utils.validation import validate_data

        columns = in_columns(X)
        if columns is not X:
            import pandas

            X = pandas.DataFrame(columns)
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

    def _fitted_table(self, X: Any) -> Any:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "rule_")
        return self._table(X, reset=False)

    def __sklearn_tags__(self) -> Any:
        """As the classifiers': missing values are welcome where both take them."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        given = [each for _, each in self._classifiers() if each is not None]
        tags.input_tags.allow_nan = all(get_tags(each).input_tags.allow_nan for each in given)
        return tags
