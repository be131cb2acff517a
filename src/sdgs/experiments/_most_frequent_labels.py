"""A constant prediction, as a lower bound for methods that use the features."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from sdgs.estimators._base import atomic_fit


class MostFrequentLabels(ClassifierMixin, BaseEstimator):
    """Always predict the m most frequent labels, with the m that maximises F1 on the training samples.

    Attributes
    ----------
    labels_ : ndarray of ints
        The m labels, most frequent first.
    """

    @atomic_fit
    def fit(self, X: Any, y: NDArray[Any]) -> Self:  # noqa: ARG002
        """Choose the labels."""
        order = np.argsort(-y.sum(axis=0), kind="stable")
        self.n_labels_ = y.shape[1]
        n_right = np.cumsum(y[:, order], axis=1, dtype=np.int64)  # column m - 1: among the m most frequent labels
        sizes = n_right[:, -1:] + np.arange(1, y.shape[1] + 1)
        self.labels_ = order[: int(np.argmax((2 * n_right / sizes).mean(axis=0))) + 1]
        return self

    def predict(self, X: Any) -> NDArray[np.int8]:
        """The same labels for every sample."""
        labels = np.zeros((X.shape[0], self.n_labels_), dtype=np.int8)
        labels[:, self.labels_] = 1
        return labels
