"""ML-kNN: label probabilities from the labels of the nearest neighbours, by Bayes' rule."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from sdgs._utils._validation import check_distances, check_int, check_n_jobs, check_number
from sdgs.estimators._base import ProbabilisticClassifier
from sdgs.persistence.codecs._stored_fields import ArrayField, EstimatorField, Fields, SamplesField


class MLkNN(ProbabilisticClassifier):
    r"""Multi-label k nearest neighbours (Zhang and Zhou, 2007).

    Let c be the number of a sample's K nearest neighbours that have a label. The label's posterior probability is

    .. math:: P(y = 1 \mid c) = \frac{P(y = 1) \, P(c \mid y = 1)}
              {P(y = 1) \, P(c \mid y = 1) + P(y = 0) \, P(c \mid y = 0)}

    where y = 1 means that the sample has the label. Prior and likelihoods are smoothed frequencies in the training
    samples, and a training sample is not its own neighbour. The label is predicted if the posterior is above one half.

    Parameters
    ----------
    n_neighbors : int, default=10
        K; the SDGS paper uses 30. At most the number of training samples minus 1.
    smoothing : float, default=1.0
        Added to every count; 1 is Laplace's rule.
    n_jobs : int or None, default=None
        For the search for neighbours.

    Notes
    -----
    Distances are Euclidean, between samples that are not scaled. Scale them first, because published figures depend on
    it. For rows of unit norm neighbours are ordered as by the cosine.

    Attributes
    ----------
    prior_ : ndarray of shape (k,)
    likelihood_ : ndarray of shape (2, k, K + 1)
        P(c | label absent) and P(c | label present).
    classes_ : ndarray of shape (k,)
    """

    _stored_attributes: ClassVar[Fields] = {
        "_neighbours": EstimatorField(("NearestNeighbors",)),
        "_labels": SamplesField((None, "k")),
        "prior_": ArrayField("f", ("k",), low=0, high=1),
        "likelihood_": ArrayField("f", (2, "k", "counts"), low=0, high=1, positive=True),
    }

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
        check_distances(X, "distances")
        K = min(self.n_neighbors, n - 1)
        self._labels = labels.tocsr().astype(np.int64)
        self._neighbours = NearestNeighbors(n_neighbors=K, n_jobs=self.n_jobs).fit(X)
        # Without an argument scikit-learn excludes each sample from its own neighbours, by index and not by distance.
        count = self._count_labels(self._neighbours.kneighbors_graph())
        present = labels.toarray().astype(np.int64)
        flat_index = (present * k + np.arange(k)) * (K + 1) + count
        counts = np.bincount(flat_index.ravel(), minlength=2 * k * (K + 1)).reshape(2, k, K + 1)
        self.prior_ = (self.smoothing + present.sum(axis=0)) / (2 * self.smoothing + n)
        self.likelihood_ = (self.smoothing + counts) / (self.smoothing * (K + 1) + counts.sum(axis=2, keepdims=True))

    def _finish_loading(self) -> None:
        search, labels = self._neighbours, self._labels
        defaults = NearestNeighbors(n_neighbors=self.likelihood_.shape[2] - 1, n_jobs=search.n_jobs)
        if search.get_params() != defaults.get_params() or search.n_features_in_ != self.n_features_in_:
            raise ValueError("the search for neighbours of an MLkNN in it is not the one that MLkNN makes.")
        if labels.dtype != np.int64 or labels.shape[0] != search.n_samples_fit_ or not (labels.data == 1).all():
            raise ValueError("the labels of an MLkNN in it are not 0 and 1 for each sample.")
        if not labels.has_canonical_format:
            raise ValueError("the labels of an MLkNN in it are not sorted.")

    def _count_labels(self, graph: Any) -> NDArray[np.int64]:
        """How many of each sample's neighbours have each label, (n, k)."""
        return np.asarray((graph.astype(np.int64) @ self._labels).toarray())

    def _marginals(self, X: Any) -> NDArray[Any]:
        """The posterior probability of each label."""
        check_distances(X, "distances")
        count = self._count_labels(self._neighbours.kneighbors_graph(X))
        labels = np.arange(count.shape[1])
        absent = (1 - self.prior_) * self.likelihood_[0, labels, count]
        present = self.prior_ * self.likelihood_[1, labels, count]
        return np.asarray(present / (present + absent))
