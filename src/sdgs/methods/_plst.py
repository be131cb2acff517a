"""Principal label space transformation: regressions of a learned projection of the labels."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sdgs._utils._validation import check_number
from sdgs.methods._centred_svd import centred_svd, ridge_coordinates
from sdgs.methods._centring import centred_labels
from sdgs.methods._linear_method import LinearMethod
from sdgs.methods._path_search import check_n_components
from sdgs.methods._reduced_rank_ridge import reduced_rank_ridges
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields

Array = NDArray[np.float64]


class PLST(LinearMethod):
    r"""Principal label space transformation (Tai and Lin, 2012), and its conditional form CPLST (Chen and Lin, 2012).

    Regresses r projections of the labels, Z = Y R with orthonormal R. From the predictions h(x) of a sample its labels
    are decoded linearly, with the means m of the labels:

    .. math:: f(x) = m + R \, h(x)

    R has the leading eigenvectors of :math:`Y^T Y` (Y centred), the principal components of the labels. With
    ``conditional`` it has those of :math:`Y^T H Y`, with the hat matrix H of ridge regression: of directions with the
    same variance those are preferred which the features predict. This is :class:`ReducedRankRidge`. A label
    is predicted if its score is above ``threshold``. Scale the samples first.

    Parameters
    ----------
    n_components : int or float, default=0.75
        r: a number, or a share of the labels. With as many as labels it is ridge regression.
    alpha : float, default=0.1
        Ridge penalty, positive.
    conditional : bool, default=False
    threshold : float, default=0.5

    Attributes
    ----------
    label_components_ : ndarray of shape (r, k)
        R, transposed: the projections of the labels, the most important first.
    coef_ : ndarray of shape (k, p)
        Scores are ``X @ coef_.T + intercept_``.
    intercept_ : ndarray of shape (k,)
    classes_ : ndarray of shape (k,)

    Notes
    -----
    The cost is that of a singular value decomposition of X; for sparse X of an eigendecomposition of :math:`X X^T`
    or :math:`X^T X`, whichever is smaller.

    References
    ----------
    F. Tai and H.-T. Lin: Multilabel classification with principal label space transformation. Neural Computation 24(9),
    2012. Y.-N. Chen and H.-T. Lin: Feature-aware label space dimension reduction for multi-label classification. NIPS
    2012.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import PLST
    >>> train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    >>> PLST(6).fit(train.X / 16, train.Y).label_components_.shape
    (6, 10)
    """

    _stored_attributes: ClassVar[Fields] = {"label_components_": ArrayField("f", ("r", "k"))}

    def __init__(
        self,
        n_components: int | float = 0.75,
        *,
        alpha: float = 0.1,
        conditional: bool = False,
        threshold: float = 0.5,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.conditional = conditional
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_components(self.n_components, 1)
        check_number(self.alpha, "alpha", positive=True)
        if not isinstance(self.conditional, bool | np.bool_):
            raise ValueError(f"conditional must be True or False, got {self.conditional!r}.")

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        rank = check_n_components(self.n_components, labels.shape[1])
        decomposition = centred_svd(X, sample_weight)
        Y, Y_mean = centred_labels(labels, sample_weight)
        s, targets = decomposition.singular_values, decomposition.left_product(Y)
        if self.conditional:
            M, R = next(reduced_rank_ridges(s, targets, self.alpha, [rank]))
        else:
            R = eigh(Y.T @ Y)[1][:, ::-1][:, :rank]
            M = ridge_coordinates(s, targets, self.alpha) @ R
        self._set_linear(decomposition.right_product(M @ R.T), decomposition.mean, Y_mean)
        self.label_components_ = np.ascontiguousarray(R.T)
