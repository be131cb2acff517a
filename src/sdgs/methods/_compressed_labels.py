"""Multi-label prediction by compressed sensing."""

import math
import numbers
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._unobserved_labels import label_frequencies
from sdgs._utils._validation import check_choice, check_int, check_number, check_seed
from sdgs.methods._centred_svd import centred_svd, ridge_coordinates
from sdgs.methods._centring import column_means, scale_rows
from sdgs.methods._linear_method import LinearMethod
from sdgs.methods._sparse_recovery import DECODERS
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields, ValueField

SENSINGS = ("hadamard", "gaussian")
_EXTRA_SPARSITY = 2  # labels that are decoded beyond the mean number per sample
_MEASUREMENTS_PER_BIT = 2  # "auto" takes this number times s log2 k measurements: the theory has a multiple of s log k


class CompressedLabels(LinearMethod):
    r"""Multi-label prediction via compressed sensing (Hsu, Kakade, Langford and Zhang, 2009).

    The k labels are compressed to m random measurements, z = A y, each of which one ridge regression predicts. From
    the predictions h(x) of a sample a sparse vector of labels is decoded:

    .. math:: \min_y \; \|h(x) - A y\|_2 \quad \text{s.t.} \quad \|y\|_0 \le s

    A label is predicted if its entry is above ``threshold``. Use it for many labels, of which each sample has few: only
    m regressions are stored. :class:`PLST` and :class:`ReducedRankRidge` compress labels by learned
    projections, which need fewer measurements.

    Parameters
    ----------
    n_measurements : int, float or "auto", default="auto"
        m: a number, or a share of the labels. ``"auto"`` is 2 s log2 k, at most k.
    sensing : {"hadamard", "gaussian"}, default="hadamard"
        Random rows of a Hadamard matrix, or normal random numbers.
    decoder : {"omp", "cosamp", "correlation"}, default="omp"
        Orthogonal matching pursuit, compressive sampling matching pursuit, or the largest entries of :math:`A^T h(x)`,
        the fastest.
    sparsity : int or "auto", default="auto"
        s, the largest number of non-zero entries. ``"auto"`` is the mean number of labels per sample, rounded, plus 2.
    alpha : float, default=1.0
        Ridge penalty, positive. Scale the samples first.
    threshold : float, default=0.5
    random_state : int, RandomState instance or None, default=None
        For A.

    Attributes
    ----------
    sensing_matrix_ : ndarray of shape (m, k)
        A, with columns whose norm is 1, or 1 on average for ``"gaussian"``. Those of labels that all or no training
        samples have are zero.
    sparsity_ : int
    coef_ : ndarray of shape (m, p)
        Measurements are predicted by ``X @ coef_.T + intercept_``.
    intercept_ : ndarray of shape (m,)
    classes_ : ndarray of shape (k,)

    Notes
    -----
    Scores are zero for labels that are not decoded, so that rankings beyond the first s labels are ties.

    A fit costs a singular value decomposition of X; for sparse X an eigendecomposition of :math:`X X^T` or
    :math:`X^T X`, whichever is smaller.

    References
    ----------
    D. Hsu, S. M. Kakade, J. Langford and T. Zhang: Multi-label prediction via compressed sensing. NIPS 2009.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import CompressedLabels
    >>> train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    >>> model = CompressedLabels(8, random_state=0).fit(train.X / 16, train.Y)
    >>> model.coef_.shape, model.sparsity_
    ((8, 64), 4)
    """

    _stored_attributes: ClassVar[Fields] = {
        "coef_": ArrayField("f", ("m", "p")),
        "intercept_": ArrayField("f", ("m",)),
        "sensing_matrix_": ArrayField("f", ("m", "k")),
        "sparsity_": ValueField((numbers.Integral,), low=1, high=2**31),
        "_fixed_scores": ArrayField("f", ("k",), low=0, high=1, nan=True),
    }

    def __init__(
        self,
        n_measurements: int | float | str = "auto",
        *,
        sensing: str = "hadamard",
        decoder: str = "omp",
        sparsity: int | str = "auto",
        alpha: float = 1.0,
        threshold: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.n_measurements = n_measurements
        self.sensing = sensing
        self.decoder = decoder
        self.sparsity = sparsity
        self.alpha = alpha
        self.threshold = threshold
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._resolve_n_measurements(1, 1)
        check_choice(self.sensing, "sensing", SENSINGS)
        check_choice(self.decoder, "decoder", tuple(DECODERS))
        if self.sparsity != "auto":
            check_int(self.sparsity, "sparsity", minimum=1)
        check_number(self.alpha, "alpha", positive=True)

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        n, k = labels.shape
        cardinality = labels.nnz / n if sample_weight is None else float(label_frequencies(labels, sample_weight).sum())
        self.sparsity_ = round(cardinality) + _EXTRA_SPARSITY if self.sparsity == "auto" else int(self.sparsity)
        m = self._resolve_n_measurements(self.sparsity_, k)
        n_positive = np.diff(labels.indptr)
        is_constant = (n_positive == 0) | (n_positive == n)
        A = sensing_matrix(m, k, self.sensing, check_seed(self.random_state))
        A[:, is_constant] = 0.0  # they are not decoded
        Z = np.asarray(labels @ A.T)
        Z_mean = Z.mean(axis=0) if sample_weight is None else column_means(Z, sample_weight)
        decomposition = centred_svd(X, sample_weight)
        targets = decomposition.left_product(scale_rows(Z - Z_mean, sample_weight))
        M = ridge_coordinates(decomposition.singular_values, targets, float(self.alpha))
        self._set_linear(decomposition.right_product(M), decomposition.mean, Z_mean)
        self.sensing_matrix_, self._fixed_scores = A, np.where(is_constant, n_positive > 0, np.nan)

    @blas_on_one_thread()
    def _scores(self, X: Any) -> NDArray[Any]:
        decoded = DECODERS[self.decoder](super()._scores(X), self.sensing_matrix_, self.sparsity_)
        return np.where(np.isnan(self._fixed_scores), decoded, self._fixed_scores)

    def _resolve_n_measurements(self, sparsity: int, k: int) -> int:
        m: Any = self.n_measurements
        if isinstance(m, str) and m == "auto":
            return min(max(math.ceil(_MEASUREMENTS_PER_BIT * sparsity * math.log2(k)), 1), k)
        if isinstance(m, numbers.Integral):
            return check_int(m, "n_measurements", minimum=1)
        return max(1, round(check_number(m, "n_measurements", positive=True) * k))


def sensing_matrix(m: int, k: int, kind: str, seed: int) -> NDArray[np.float64]:
    """A random (m, k) matrix that nearly keeps the norms of sparse vectors.

    The rows are orthogonal to each other for Hadamard, and the columns too if m is the order of the matrix, the
    smallest power of 2 that is at least k and m.
    """
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        return np.asarray(rng.standard_normal((m, k)) / math.sqrt(m))
    order = 1 << (max(m, k) - 1).bit_length()
    rows = rng.permutation(order)[:m]
    return np.asarray(hadamard(order, dtype=np.float64)[rows, :k] / math.sqrt(m))
