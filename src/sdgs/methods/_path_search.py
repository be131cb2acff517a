"""Parameters of linear methods found by cross-validation; on each fold one path serves all settings."""

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from sdgs._utils._unobserved_labels import has_unobserved
from sdgs._utils._validation import check_choice, check_int, check_n_jobs, check_number, check_seed
from sdgs.methods._linear_method import LinearMethod
from sdgs.persistence.codecs._stored_fields import NUMBER, Fields, ValueField
from sdgs.readout._decision import TARGET_METRICS, Decision, metric_value
from sdgs.selection._defaults import ENOUGH_TEST_SAMPLES
from sdgs.selection._folds import check_cv, folds_of

# From training samples, their labels and weights, and test samples to the scores of the latter, for one setting after
# the other.
ScorePath = Callable[[Any, Any, Any, Any], Iterator[NDArray[np.float64]]]
METRICS = (*TARGET_METRICS, "squared_error")


class PathSearch(LinearMethod):
    """Base of methods whose parameters are chosen from a grid."""

    _stored_attributes: ClassVar[Fields] = {
        "cv_results_": ValueField((dict,)),
        "best_params_": ValueField((dict,)),
        "best_score_": NUMBER,
    }
    metric: str
    cv: Any
    random_state: Any
    n_jobs: int | None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.metric, "metric", METRICS)
        check_cv(self.cv)
        check_n_jobs(self.n_jobs)

    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        self._splits = self._splits_of(self.cv, labels, sample_weight)
        try:
            super()._fit(X, labels, sample_weight)
        finally:
            del self._splits

    def _choose(
        self, X: Any, labels: Any, sample_weight: Any, settings: Sequence[Mapping[str, Any]], path: ScorePath
    ) -> Any:
        """The setting with the best mean over the folds, the first of equal ones; sets what is known about all."""
        folds = folds_of(self._splits, np.arange(X.shape[0]), check_seed(self.random_state), enough=ENOUGH_TEST_SAMPLES)
        labels = labels.tocsr()

        def evaluate(train: NDArray[np.intp], test: NDArray[np.intp]) -> list[float]:
            of_train, of_test = (None if sample_weight is None else sample_weight[rows] for rows in (train, test))
            Y = labels[test].toarray()
            return [self._value(Y, scores, of_test) for scores in path(X[train], labels[train], of_train, X[test])]

        values = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(evaluate)(*pair) for pair in folds.pairs)
        means = np.mean(values, axis=0) if values else np.zeros(len(settings))
        best = int(np.argmax(means))
        self.cv_results_ = {"params": [dict(setting) for setting in settings], "score": means}
        self.best_params_, self.best_score_ = dict(settings[best]), float(means[best])
        return settings[best]

    def _value(self, Y: NDArray[Any], scores: NDArray[np.float64], sample_weight: Any) -> float:
        if self.metric == "squared_error":
            return -_mean_squared_error(Y, scores, sample_weight)
        labels = Decision(top=1).decide(scores) if self._is_multiclass else self._decide(scores)
        return metric_value(self.metric, Y, labels, sample_weight)


def _mean_squared_error(Y: NDArray[Any], scores: NDArray[np.float64], sample_weight: Any) -> float:
    """Over the observed labels."""
    if sample_weight is None and not has_unobserved(Y):
        return float(np.mean((scores - Y) ** 2))
    weight = np.where(np.isnan(Y), 0.0, 1.0 if sample_weight is None else sample_weight[:, None])
    total = weight.sum()
    return float((weight * (scores - np.where(np.isnan(Y), 0.0, Y)) ** 2).sum() / total) if total > 0 else 0.0


def check_grid(values: Any, name: str, *, positive: bool = True, maximum: float = np.inf) -> list[float]:
    """A number or several, at least one, as floats."""
    grid = [check_number(value, name, positive=positive) for value in np.atleast_1d(np.asarray(values, dtype=object))]
    if not grid or max(grid) > maximum:
        limit = "" if maximum == np.inf else f" of at most {maximum:g}"
        raise ValueError(f"{name} must be a number or a sequence of numbers{limit}, got {values!r}.")
    return grid


def check_n_components(n_components: Any, k: int) -> int:
    """A number of directions, or a share of the k labels; at most k."""
    if isinstance(n_components, numbers.Integral):
        return min(check_int(n_components, "n_components", minimum=1), k)
    share = check_number(n_components, "n_components", positive=True)
    if share > 1:
        raise ValueError(f"n_components must be an integer or a share in (0, 1], got {n_components!r}.")
    return max(1, round(share * k))


def check_ranks_to_try(n_components: Any, k: int) -> list[int]:
    """One or several of these, as different numbers in ascending order."""
    values = np.atleast_1d(np.asarray(n_components, dtype=object))
    if not values.size:
        raise ValueError(f"n_components must be a number or a sequence of numbers, got {n_components!r}.")
    return sorted({check_n_components(value, k) for value in values})
