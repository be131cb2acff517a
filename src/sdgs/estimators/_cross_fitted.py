"""What DecisionClassifier and AveragingClassifier share: other classifiers, cross-fitted, and a decision on labels."""

import numbers
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params, process_routing
from sklearn.utils.validation import _check_method_params, check_is_fitted, validate_data

from sdgs._utils._sample_weight import rows_with_weight
from sdgs._utils._validation import check_n_jobs, check_seed, reject_masked
from sdgs.estimators._base import WeightedClassifier, atomic_fit
from sdgs.estimators._cross_fitted_fields import AVERAGE_FIELD, DECISION_FIELD, SCORER_FIELD, check_scorer
from sdgs.estimators._deciding import DecidingMixin
from sdgs.estimators._decision_parameters import (
    check_decision_parameters,
    check_thresholds,
    resolve_at_least_one,
    resolve_label_weight,
)
from sdgs.estimators._label_scores import (
    LabelScorer,
    Learner,
    Scores,
    Target,
    cross_fit,
    takes_unobserved_labels,
    takes_weights,
)
from sdgs.estimators._text_in_samples import name_text_columns
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields, ListField
from sdgs.readout._calibrated_average import CalibratedAverage
from sdgs.readout._calibration import label_probabilities
from sdgs.readout._decision import make_decision
from sdgs.selection._defaults import ENOUGH_TEST_SAMPLES
from sdgs.selection._folds import check_cv, check_test_labels, folds_of


class CrossFittedClassifier(DecidingMixin, WeightedClassifier):
    """Base class.

    A subclass has the parameters named here, ``_named_estimators()`` and ``_fit_average(scores, Y, sample_weight)``.
    """

    _public_module = "sdgs"

    _stored_attributes: ClassVar[Fields] = {
        "_scorers": ListField(SCORER_FIELD, "scorers"),
        "_average": AVERAGE_FIELD,
        "_decision": DECISION_FIELD,
        "out_of_fold_rows_": ArrayField("i", ("rows",), low=0, ascending=True),
        "out_of_fold_probabilities_": ArrayField("f", ("rows", "k"), low=0, high=1),
    }

    metric: str
    decision: Any
    at_least_one: Any
    label_weight: Any
    cv: Any
    random_state: Any
    n_jobs: int | None
    _metadata: dict[str, dict[str, Any]]
    _scorers: list[LabelScorer]
    _average: CalibratedAverage

    def _named_estimators(self) -> list[tuple[str, Any]]:
        raise NotImplementedError

    def _fit_average(
        self,
        scores: list[Scores],
        Y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        *,
        at_least_one: bool,
    ) -> CalibratedAverage:
        raise NotImplementedError

    def _shrinks(self) -> bool:
        """Whether probabilities of the classifiers are shrunk: see :class:`Learner`."""
        return True

    def _with_seed(self, estimator: Any, seed: int) -> Any:
        """A clone with ``random_state`` set where it and what it holds have none, if this estimator has one."""
        estimator = clone(estimator)
        if self.random_state is not None:
            names = [name for name, value in estimator.get_params().items() if value is None]
            estimator.set_params(
                **{name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
            )
        return estimator

    @atomic_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to samples and their labels.

        Parameters
        ----------
        X : whatever the given classifiers take
            n samples, which are selected by row and otherwise passed on as they are: also DataFrames with categories,
            or texts for a pipeline.
        y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,)
            A label matrix, or one class per sample. A dense matrix with one column is taken for the latter, as
            everywhere in scikit-learn; a DataFrame or a sparse matrix with one column is a label matrix. NaN in a label
            matrix is an unobserved label.
        sample_weight : array-like of shape (n,), optional
            Not negative; a sample of weight 2 counts as two equal ones, and one of weight 0 is left out. The weights
            count in calibration, average and decision, and are passed to the classifiers whose ``fit`` takes them; with
            scikit-learn's metadata routing to those that request them.
        **params : dict
            For ``fit`` of the given classifiers; with scikit-learn's metadata routing.

        Returns
        -------
        self
            If the fit fails or is interrupted, the estimator stays as it was.
        """
        _raise_for_params(params, self, "fit")
        self._metadata = self._route(sample_weight, params)
        try:
            self._validate_and_fit(X, y, sample_weight)
        finally:
            del self._metadata
        return self

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The arguments of ``fit`` of each of the given classifiers."""
        names = [name for name, _ in self._named_estimators()]
        if sample_weight is None or get_config()["enable_metadata_routing"]:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **weights, **params)
            return {name: dict(routed[name].fit) for name in names}
        weighted = {name: takes_weights(estimator) for name, estimator in self._named_estimators()}
        if not all(weighted.values()):
            warnings.warn(
                f"sample_weight is not passed to {', '.join(name for name in names if not weighted[name])}, because "
                "fit does not take it; for pipelines and searches enable scikit-learn's metadata routing. The weights "
                "count in the calibration and the decision all the same.",
                UserWarning,
                stacklevel=4,
            )
        return {name: {"sample_weight": sample_weight} if weighted[name] else {} for name in names}

    @property
    def _accepts_unobserved_labels(self) -> bool:  # type: ignore[override]
        return all(takes_unobserved_labels(estimator) for _, estimator in self._named_estimators())

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """The given classifiers validate the samples."""
        reject_masked(X, "X")
        (X,) = indexable(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        check_thresholds(self.decision, labels.shape[1])
        label_weight = resolve_label_weight(self.label_weight, labels, sample_weight)
        drawn = check_seed(self.random_state)
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else drawn  # as SDGSClassifier
        splits, rows = self._splits_of(self.cv, labels, sample_weight), rows_with_weight(sample_weight)
        target = Target(labels.tocsr(), self.classes_ if self._is_multiclass else None, sample_weight)
        learners = [
            Learner(
                self._with_seed(estimator, int(seed)),
                _check_method_params(X, self._metadata[name], indices=rows),
                self._shrinks(),
            )
            for name, estimator in self._named_estimators()
        ]
        if rows is not None:
            X, target = _safe_indexing(X, rows), target.take(rows)
        n = target.labels.shape[0]
        folds = folds_of(splits, np.arange(n), int(seed), enough=ENOUGH_TEST_SAMPLES)
        held_out = target.take(folds.test_rows)
        Y, weight = held_out.labels.toarray().astype(np.float64), held_out.sample_weight
        check_test_labels(Y)
        with name_text_columns(X):
            self._scorers, scores = cross_fit(learners, X, target, folds, self.n_jobs)
        at_least_one = resolve_at_least_one(self.at_least_one, self.metric, target.labels)
        self._average = self._fit_average(scores, Y, weight, at_least_one=at_least_one)
        log_odds = self._average.log_odds(scores)
        self.out_of_fold_rows_ = folds.test_rows if rows is None else rows[folds.test_rows]
        self.out_of_fold_probabilities_ = self._probabilities(log_odds).astype(np.float32)
        self._decision = make_decision(
            self.decision,
            self.metric,
            expit(log_odds),
            Y,
            at_least_one=at_least_one,
            one_per_sample=self._is_multiclass,
            label_weight=label_weight,
            sample_weight=weight,
        )
        self._set_attributes()

    def _finish_loading(self) -> None:
        sizes = len(self._average.calibrations), self._average.weights.size
        if not self._scorers or sizes != (len(self._scorers), len(self._scorers)):
            raise ValueError(f"a {type(self).__name__} in it has different numbers of classifiers and weights.")
        if len(self._named_estimators()) != len(self._scorers):
            raise ValueError(
                f"a {type(self).__name__} in it was fitted to other classifiers than it has as parameters."
            )
        for scorer in self._scorers:
            check_scorer(scorer, self.n_features_in_)
        self._set_attributes()

    def _set_attributes(self) -> None:
        """Set what follows from the classifiers and their weights."""
        raise NotImplementedError

    def _check_before_prediction(self, X: Any) -> Scores:
        """The log-odds of samples: the other methods need no more of them, and X may be anything."""
        check_is_fitted(self)
        self._check_parameters()
        reject_masked(X, "X")
        return self._average.log_odds([scorer.scores(X) for scorer in self._scorers])

    def _scores(self, log_odds: Scores) -> Scores:
        return log_odds

    def _probabilities(self, log_odds: Scores) -> Scores:
        return np.asarray(label_probabilities(log_odds, one_per_sample=self._is_multiclass))

    def predict_proba(self, X: Any) -> Any:
        """The probability of each label.

        Returns
        -------
        ndarray or DataFrame of shape (n, k)
            For a label matrix independent probabilities, one per label: a DataFrame with the columns of ``y`` (and the
            index of ``X`` if it is a DataFrame) if ``y`` was a DataFrame. For a 1-D target they sum to 1 in each row.
        """
        return self._with_names_of_target(self._probabilities(self._check_before_prediction(X)), X)

    def _check_parameters(self) -> None:
        check_decision_parameters(self)
        check_cv(self.cv)
        check_n_jobs(self.n_jobs)
        for name, estimator in self._named_estimators():
            if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
                raise ValueError(f"{name} must be a classifier with the interface of scikit-learn, got {estimator!r}.")

    def get_metadata_routing(self) -> MetadataRouter:
        """Which arguments of ``fit`` go to which of the given classifiers: see scikit-learn's metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, estimator in self._named_estimators():
            router.add(**{name: estimator}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = [get_tags(estimator).input_tags for _, estimator in self._named_estimators()]
        tags.input_tags.sparse = all(of_one.sparse for of_one in inputs)
        tags.input_tags.allow_nan = all(of_one.allow_nan for of_one in inputs)
        return tags
