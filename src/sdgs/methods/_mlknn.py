"""ML-kNN: the labels of a sample's nearest neighbours, weighed by Bayes' rule."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from sdgs._utils._validation import check_int, check_n_jobs, check_number
from sdgs.estimators._base import MultiLabelClassifier


class MLkNN(MultiLabelClassifier):
    r"""Multi-label k nearest neighbours (Zhang and Zhou, 2007).

    Let c be the number of a sample's K nearest neighbours that carry a label. The label's posterior probability is

    .. math:: P(H \mid c) = \frac{P(H) P(c \mid H)}{P(H) P(c \mid H) + P(\bar H) P(c \mid \bar H)}

    with the prior and the likelihoods counted on the training data and smoothed. A training sample is not among its own
    neighbours. The label is predicted where the posterior is above one half.

    Parameters
    ----------
    n_neighbors : int, default=10
        K; the SDGS paper uses 30. Cut to one less than the number of training samples.
    smoothing : float, default=1.0
        Added to every count; 1 is Laplace's rule.
    n_jobs : int or None, default=None
        For the search of neighbours.

    Notes
    -----
    Distances are Euclidean, between the samples as they are given: scale them first, for published figures depend on
    it. (For rows of unit norm the order of neighbours is that of the cosine.)

    Attributes
    ----------
    prior_ : ndarray of shape (k,)
    likelihood_ : ndarray of shape (2, k, K + 1)
        P(c | label absent) and P(c | label present).
    classes_ : ndarray of shape (k,)
    """

    def __init__(self, n_neighbors: int = 10, *, smoothing: float = 1.0, n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_int(self.n_neighbors, "n_neighbors", minimum=1)
        check_number(self.smoothing, "smoothing", positive=True)
        check_n_jobs(self.n_jobs)

    def _fit(self, X: Any, labels: Any) -> None:
        n, k = labels.shape
        if n < 2:
            raise ValueError(f"MLkNN needs at least 2 samples to have neighbours; got n_samples = {n}.")
        K = min(self.n_neighbors, n - 1)
        self._labels = labels.tocsr().astype(np.int64)
        self._neighbours = NearestNeighbors(n_neighbors=K, n_jobs=self.n_jobs).fit(X)
        # Without an argument scikit-learn leaves each sample out of its own neighbours, by its place, not its distance.
        count = self._count(self._neighbours.kneighbors_graph())
        present = labels.toarray().astype(np.int64)
        place = (present * k + np.arange(k)) * (K + 1) + count
        counts = np.bincount(place.ravel(), minlength=2 * k * (K + 1)).reshape(2, k, K + 1)
        self.prior_ = (self.smoothing + present.sum(axis=0)) / (2 * self.smoothing + n)
        self.likelihood_ = (self.smoothing + counts) / (self.smoothing * (K + 1) + counts.sum(axis=2, keepdims=True))

    def _count(self, graph: Any) -> NDArray[np.int64]:
        """How many of each sample's neighbours carry each label, (n, k)."""
        return np.asarray((graph.astype(np.int64) @ self._labels).toarray())

    def _scores(self, X: Any) -> NDArray[Any]:
        """The posterior probability of each label."""
        count = self._count(self._neighbours.kneighbors_graph(X))
        labels = np.arange(count.shape[1])
        absent = (1 - self.prior_) * self.likelihood_[0, labels, count]
        present = self.prior_ * self.likelihood_[1, labels, count]
        return np.asarray(present / (present + absent))

    def _decide(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(scores > 0.5)
