"""What methods have in common whose scores are linear in the features."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._sample_weight import drop_zero_weights
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._validation import check_distances, check_number
from sdgs.estimators._base import WeightedClassifier
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields


class LinearMethod(WeightedClassifier):
    """Regresses the labels, as 0 and 1, on the features. A label is predicted if its score is above a threshold.

    A subclass sets ``coef_`` (k, p) and ``intercept_`` (k,) in ``_fit_linear(X, labels, sample_weight)``. No weight is
    0.
    """

    _stored_attributes: ClassVar[Fields] = {"coef_": ArrayField("f", ("k", "p")), "intercept_": ArrayField("f", ("k",))}
    threshold: float
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _check_parameters(self) -> None:
        check_number(self.threshold, "threshold")

    @blas_on_one_thread()
    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        check_distances(X, "least squares")
        self._fit_linear(*drop_zero_weights(X, labels, sample_weight))

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        raise NotImplementedError

    def _set_linear(self, W: NDArray[Any], X_mean: NDArray[np.float64], Y_mean: NDArray[np.float64]) -> None:
        """From coefficients (p, k) of centred samples."""
        self.coef_ = np.ascontiguousarray(W.T)
        self.intercept_ = Y_mean - X_mean @ W

    def _scores(self, X: Any) -> NDArray[Any]:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _decide(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(scores > self.threshold)
