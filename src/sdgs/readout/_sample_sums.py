"""What a fitted model keeps for updates: its samples, or sums over them, whose size does not depend on their number.

The ridge regression needs of the samples only their :class:`~sdgs.readout._moments.Moments`, which are additive as long
as the features stay the same functions of a sample. Calibration and decision are fitted to a random sample, of bounded
size, of scores from regressions that had not learnt the scored rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array, vstack

from sdgs.readout._moments import Moments
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._relevance import f1_sample_weight
from sdgs.readout._ridge import Ridge
from sdgs.selection._defaults import ENOUGH_TEST_SAMPLES, MAX_CALIBRATION_SCORES, MIN_CV_SAMPLES

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class KeptSamples:
    """All samples learnt so far, before scaling, with their labels and weights.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, p)
    labels : csr_array of shape (n, k)
        May have unobserved entries: see :mod:`sdgs._utils._unobserved_labels`.
    sample_weight : ndarray of shape (n,) or None
        None for 1.
    """

    X: Any
    labels: csr_array
    sample_weight: NDArray[np.float64] | None = None

    @property
    def n_samples(self) -> int:
        """The number of samples learnt so far."""
        return int(self.labels.shape[0])


@dataclass(frozen=True, eq=False)
class SizeWeights:
    """Weights of samples by the number of their labels: those of :func:`f1_sample_weight` in the fit, for any samples.

    Attributes
    ----------
    mean_size : float
        The mean number of labels, at least 1 each, in the fit.
    mean_weight : float
        The mean of 1 / (number of labels + mean_size) in the fit.
    """

    mean_size: float
    mean_weight: float

    def weights(self, labels: Any) -> Array:
        """The weights of samples with these labels."""
        return np.asarray(1 / (_label_numbers(labels) + self.mean_size) / self.mean_weight)


def fit_size_weights(labels: Any, metric: str, sample_weight: NDArray[np.float64] | None = None) -> SizeWeights | None:
    """The weights of :func:`f1_sample_weight` for these samples and later ones; None if all weigh the same."""
    if f1_sample_weight(labels, metric, sample_weight) is None:
        return None
    sizes = _label_numbers(labels)
    mean = float(np.average(sizes, weights=sample_weight))
    return SizeWeights(mean, float(np.average(1 / (sizes + mean), weights=sample_weight)))


@dataclass(frozen=True, eq=False)
class ScoredSamples:
    """A random sample, of bounded size, of all scored rows.

    Attributes
    ----------
    scores : ndarray of shape (s, k)
    labels : csr_array of shape (s, k)
    n_scored : int
        The number of rows that it was drawn from.
    sample_weight : ndarray of shape (s,) or None
        None for 1.
    """

    scores: NDArray[np.float32]
    labels: csr_array
    n_scored: int
    sample_weight: NDArray[np.float64] | None = None

    def add(
        self, scores: Array, labels: csr_array, sample_weight: NDArray[np.float64] | None = None
    ) -> "ScoredSamples":
        """With more rows; about each of all rows so far stays with the same probability."""
        maximum = max_scored_samples(scores.shape[1])
        n, n_old, n_new = self.n_scored + len(scores), len(self.scores), len(scores)
        all_scores = np.vstack([self.scores, scores.astype(np.float32)])
        all_labels = csr_array(vstack([self.labels, labels], format="csr"))
        all_weights = join_weights(self.sample_weight, n_old, sample_weight, n_new)
        if n_old + n_new > maximum:
            # The old rows stand for n_scored rows: of a random sample of all rows about so many are old ones.
            rng = np.random.default_rng(n)
            drawn = int(rng.hypergeometric(self.n_scored, n_new, maximum))
            drawn = min(max(drawn, maximum - n_new), n_old)
            old, new = rng.choice(n_old, drawn, replace=False), rng.choice(n_new, maximum - drawn, replace=False)
            rows = np.sort(np.concatenate([old, n_old + new]))
            all_scores, all_labels = all_scores[rows], all_labels[rows]
            all_weights = None if all_weights is None else all_weights[rows]
        return ScoredSamples(all_scores, all_labels, n, all_weights)


def join_weights(
    first: NDArray[np.float64] | None, n_first: int, second: NDArray[np.float64] | None, n_second: int
) -> NDArray[np.float64] | None:
    """The weights of two sets of samples together; None for 1."""
    if first is None and second is None:
        return None
    return np.concatenate(
        [np.ones(n) if weight is None else weight for weight, n in ((first, n_first), (second, n_second))]
    )


def max_scored_samples(k: int) -> int:
    """How many scored rows with k labels are kept: as many as a calibration uses."""
    return min(ENOUGH_TEST_SAMPLES, max(MAX_CALIBRATION_SCORES // k, MIN_CV_SAMPLES))


@dataclass(frozen=True, eq=False)
class SampleSums:
    """What later fits need of all samples learnt so far.

    Attributes
    ----------
    gram : ndarray of shape (d (d + 1) / 2,)
        The upper triangle of the Gram matrix of the moments, column by column.
    cross, Z_mean, Y_mean, weight
        The other moments.
    n_samples : int
    weighs_columns : bool
        Whether columns of samples are penalised by their relevance.
    size_weights : SizeWeights or None
    scored : ScoredSamples
    penalty_gains : ndarray of shape (2,)
        The sums, over the ``n_compared`` rows scored since the penalty was changed, of what the next lower and the next
        higher penalty gain in the metric.
    n_compared : int
    """

    gram: Array
    cross: Array
    Z_mean: Array
    Y_mean: Array
    weight: float
    n_samples: int
    weighs_columns: bool
    size_weights: SizeWeights | None
    scored: ScoredSamples
    penalty_gains: Array
    n_compared: int

    @property
    def moments(self) -> Moments:
        """The moments, with a full Gram matrix."""
        return Moments(_unpacked(self.gram, len(self.Z_mean)), self.cross, self.Z_mean, self.Y_mean, self.weight)

    def with_moments(self, moments: Moments) -> "SampleSums":
        """The same with other moments."""
        m = moments
        return replace(
            self, gram=packed(m.gram), cross=m.cross, Z_mean=m.Z_mean, Y_mean=m.Y_mean, weight=float(m.weight)
        )


def add_labels(sums: SampleSums, pipeline: FittedPipeline, n_new: int) -> tuple[SampleSums, FittedPipeline]:
    """The same with more labels, which no sample learnt so far has.

    They have no subspace, because codes over more subspaces would be other features: they are read from those of the
    known labels.
    """
    if n_new == 0:
        return sums, pipeline
    features, ridge, scored = pipeline.features, pipeline.ridge, sums.scored
    assert ridge is not None
    decomposition, k, p = features.decomposition, features.n_labels + n_new, features.n_features
    dtype, nothing = decomposition.components[0].dtype, np.zeros(0, dtype=np.intp)
    decomposition = replace(
        decomposition,
        components=(*decomposition.components, *[np.zeros((0, p), dtype=dtype)] * n_new),
        coefficients=(*decomposition.coefficients, *[np.zeros((0, 0), dtype=dtype)] * n_new),
        rows=(*decomposition.rows, *[nothing] * n_new),
    )
    # The norms of the codes of new labels, which are zero, are not read.
    columns = np.arange(features.widths[-1]) if features.columns is None else features.columns
    features = replace(features, decomposition=decomposition, n_labels=k, columns=columns)
    coef = np.vstack([ridge.coef, np.zeros((n_new, ridge.coef.shape[1]))])
    labels = csr_array((scored.labels.data, scored.labels.indices, scored.labels.indptr), (len(scored.scores), k))
    sums = replace(
        sums,
        cross=np.hstack([sums.cross, np.zeros((len(sums.cross), n_new))]),
        Y_mean=np.append(sums.Y_mean, np.zeros(n_new)),
        scored=replace(scored, scores=np.pad(scored.scores, ((0, 0), (0, n_new))), labels=labels),
    )
    return sums, replace(pipeline, features=features, ridge=Ridge(coef, np.append(ridge.intercept, np.zeros(n_new))))


def _label_numbers(labels: Any) -> Array:
    """The number of labels of each sample, at least 1."""
    return np.maximum(np.asarray(labels.sum(axis=1), dtype=np.float64).reshape(-1), 1)


def packed(A: Array) -> Array:
    """The upper triangle of a symmetric matrix."""
    triangle, _ = lapack.dtrttp(A, uplo="U")
    return np.asarray(triangle)


def _unpacked(triangle: Array, d: int) -> Array:
    """The symmetric matrix with this upper triangle."""
    A, _ = lapack.dtpttr(d, triangle, uplo="U")
    return np.asarray(np.triu(A) + np.triu(A, 1).T)
