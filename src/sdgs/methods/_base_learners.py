"""Base learners: the classifiers of scikit-learn to which the problem transformations reduce multi-label problems.

A label that is constant in training, or has no training samples, gets a constant probability, without a fit.
Probabilities of a base learner without ``predict_proba`` come from its ``decision_function``: by the logistic function,
so that they are above one half where class 1 is predicted, and by softmax for more than two classes. They are not
calibrated.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from sdgs._utils._last_step import last_step, number_of_features
from sdgs._utils._row_norms import narrow_indices
from sdgs._utils._sample_weight import drop_zero_weights
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._unobserved_labels import observed_samples
from sdgs._utils._validation import check_n_jobs, check_seed
from sdgs.estimators._base import ProbabilisticClassifier, WeightedClassifier
from sdgs.persistence.codecs._stored_fields import INTEGER, EstimatorField, OptionalField, RecordField
from sdgs.selection._defaults import LOGISTIC_REGRESSION_ITERATIONS

Array = NDArray[np.floating[Any]]
MAX_SEED = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False)
class FittedLearner:
    """A classifier of the classes 0, ..., n_classes - 1; without an estimator it always gives ``only_class``."""

    n_classes: int
    estimator: Any = None
    only_class: int = 0

    def probabilities(self, X: Any) -> Array:
        """The probability of each class, (n, n_classes)."""
        if self.estimator is None:
            P = np.zeros((X.shape[0], self.n_classes))
            P[:, self.only_class] = 1.0
            return P
        if hasattr(self.estimator, "predict_proba"):
            return np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        scores = np.asarray(self.estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if scores.shape[1] != self.n_classes:
            raise ValueError(
                f"decision_function of {type(self.estimator).__name__} has {scores.shape[1]} columns for "
                f"{self.n_classes} classes. Use an estimator with predict_proba or with one score per class."
            )
        return np.asarray(softmax(scores, axis=1))

    def positive(self, X: Any) -> Array:
        """The probability of class 1, (n,)."""
        return self.probabilities(X)[:, 1]


LEARNER_FIELD = RecordField(
    FittedLearner, {"n_classes": INTEGER, "estimator": OptionalField(EstimatorField()), "only_class": INTEGER}
)


def check_learner(learner: FittedLearner, n_features: int, n_classes: int = 2) -> None:
    """Raise an error if a learner from a file is not one of so many features and classes."""
    if learner.n_classes != n_classes or learner.only_class >= n_classes:
        raise ValueError(f"a base learner in it is not one of {n_classes} classes.")
    if learner.estimator is None:
        return
    if number_of_features(learner.estimator) != n_features:
        raise ValueError(f"a base learner in it is not one of {n_features} features.")
    check_base_learner(learner.estimator, "a base learner in it")
    classes = getattr(last_step(learner.estimator), "classes_", None)
    if classes is None or not np.array_equal(classes, np.arange(n_classes)):
        raise ValueError(f"a base learner in it has other classes than 0 to {n_classes - 1}.")


def fit_learner(
    estimator: Any,
    X: Any,
    codes: NDArray[Any],
    n_classes: int = 2,
    seed: int | None = None,
    sample_weight: Any = None,
) -> FittedLearner:
    """Fit a clone of ``estimator``, by default logistic regression, to the classes ``codes`` (n,).

    Samples of which the class is unobserved (NaN) are left out.
    """
    X, codes, sample_weight = observed_samples(X, codes, sample_weight)
    if codes.size == 0 or (codes == codes[0]).all():
        return FittedLearner(n_classes, None, int(codes[0]) if codes.size else 0)
    learner = LogisticRegression(max_iter=LOGISTIC_REGRESSION_ITERATIONS) if estimator is None else clone(estimator)
    if seed is not None:
        names = [name for name in learner.get_params() if name.rpartition("__")[2] == "random_state"]
        learner.set_params(**dict.fromkeys(names, seed))
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return FittedLearner(n_classes, learner.fit(X, codes.astype(np.int64), **weights))


def in_threads(n_jobs: int | None, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The results of ``function`` for several arguments, in their order."""
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(*each) for each in arguments))


def positive_probabilities(learners: list[FittedLearner], X: Any, n_jobs: int | None) -> Array:
    """The probability of class 1 by each learner, (n, number of learners)."""
    return np.column_stack(in_threads(n_jobs, FittedLearner.positive, ((learner, X) for learner in learners)))


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """These rows of X, in increasing order: X itself if they are all, because that takes no copy."""
    return X if rows.size == X.shape[0] and (rows == np.arange(rows.size)).all() else X[rows]


class ProblemTransformation(ProbabilisticClassifier, WeightedClassifier):
    """A method with base learners: a subclass has the parameters named here, and the methods that raise an error."""

    estimator: Any
    random_state: Any
    n_jobs: int | None = None  # not a parameter of all of them

    def _base_learners(self) -> dict[str, Any]:
        """The parameters that are base learners."""
        return {"estimator": self.estimator}

    def _check_parameters(self) -> None:
        for name, estimator in self._base_learners().items():
            check_base_learner(estimator, name)
        check_n_jobs(self.n_jobs)

    @blas_on_one_thread()
    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        if sample_weight is not None:
            for name, estimator in self._base_learners().items():
                _check_takes_weights(estimator, name)
        X, labels, sample_weight = drop_zero_weights(_narrow(X), labels, sample_weight)
        self._fit_learners(X, labels, sample_weight, np.random.default_rng(check_seed(self.random_state)))

    @blas_on_one_thread()
    def _scores(self, X: Any) -> Array:
        return super()._scores(_narrow(X))

    @blas_on_one_thread()
    def _label_sets(self, X: Any) -> NDArray[np.bool_]:
        return self._best_sets(_narrow(X))

    def _draw_seeds(self, rng: np.random.Generator, number: int) -> list[int | None]:
        """Seeds for base learners, which keep their own ``random_state`` if this method has none."""
        return [None] * number if self.random_state is None else list(map(int, rng.integers(MAX_SEED, size=number)))

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        """No weight is 0."""
        raise NotImplementedError

    def _marginals(self, X: Any) -> Array:
        raise NotImplementedError

    def _best_sets(self, X: Any) -> NDArray[np.bool_]:
        """The decision, boolean (n, k)."""
        return self._decide(self._marginals(X))


def _narrow(X: Any) -> Any:
    return narrow_indices(X) if issparse(X) else X


def check_base_learner(estimator: Any, name: str) -> None:
    """Reject what is neither None nor a classifier that gives probabilities or scores."""
    has_scores = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
    if estimator is not None and (isinstance(estimator, type) or not (hasattr(estimator, "fit") and has_scores)):
        raise ValueError(
            f"{name} must be None or a scikit-learn classifier with predict_proba or decision_function, "
            f"got {estimator!r}."
        )


def _check_takes_weights(estimator: Any, name: str) -> None:
    if estimator is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight is passed to the base learner, but fit of {name}={estimator!r} does not take it. Use one "
            "that does, such as LogisticRegression or LinearSVC, or leave sample_weight out. Put the other steps of a "
            "pipeline before the method."
        )
