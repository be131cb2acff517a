"""How much the subspaces of labels have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_names

Array = NDArray[np.floating[Any]]

_BLOCK_BYTES = 1 << 26  # of products between subspaces in one go
_FEW = 500  # labels whose tree is turned so that neighbours are alike, which takes time by the cube of their number


@dataclass(frozen=True, eq=False)
class LabelAngles:
    """What the subspaces of labels have in common, by their principal angles.

    Attributes
    ----------
    shared : ndarray of shape (k, k)
        ``shared[i, j]`` is the share of label i's subspace that lies in that of label j: the squared cosines of the
        principal angles between the two, summed and divided by the rank of i. 1 where i is inside j, 0 where they are
        orthogonal, and 0 for a label without a subspace.
    components : tuple of k ndarrays of shape (r_i, p)
    label_names : ndarray of shape (k,)
    """

    shared: NDArray[np.float64]
    components: tuple[Array, ...]
    label_names: NDArray[Any]

    @property
    def overlap(self) -> NDArray[np.float64]:
        """The same, symmetric: divided by the smaller of both ranks. 1 where one subspace holds the other."""
        return np.maximum(self.shared, self.shared.T)

    def cosines(self, i: int, j: int) -> NDArray[np.float64]:
        """Of the principal angles between the subspaces of labels i and j, the largest first."""
        products = np.asarray(self.components[i] @ self.components[j].T, dtype=np.float64)
        return np.clip(np.linalg.svd(products, compute_uv=False), 0.0, 1.0)

    def tree(self) -> NDArray[np.float64]:
        """Labels joined by average linkage on ``1 - overlap``, as :func:`scipy.cluster.hierarchy.linkage` gives it."""
        return tree_of(self.overlap)

    def order(self) -> NDArray[np.intp]:
        """Labels so that those with much in common are near each other: the leaves of the tree."""
        return leaves_of(self.overlap)


def tree_of(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Labels joined by average linkage on ``1 - similarity`` (k, k), symmetric."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(similarity) < 2:
        raise ValueError("A tree needs at least two labels.")
    apart = squareform(1 - similarity, checks=False)
    return np.asarray(linkage(apart, "average", optimal_ordering=len(similarity) <= _FEW))


def leaves_of(similarity: NDArray[np.float64]) -> NDArray[np.intp]:
    """The leaves of that tree in their order; there may be only one."""
    from scipy.cluster.hierarchy import leaves_list

    return np.asarray(leaves_list(tree_of(similarity)) if len(similarity) > 1 else [0], dtype=np.intp)


def label_angles(model: Any, *, label_names: Any = None) -> LabelAngles:
    """How much of each label's subspace others share.

    Parameters
    ----------
    model : fitted SDGSClassifier or SDGSClassifierCV, Decomposition, or sequence of ndarrays of shape (r_i, p)
        Subspaces, each with orthonormal rows. They are compared where the model looks at samples: columns weighted.
    label_names : array-like of shape (k,), optional
        Default: ``classes_`` of a model, else numbers.

    Returns
    -------
    LabelAngles

    Examples
    --------
    >>> import numpy as np
    >>> from sdgs import label_angles
    >>> axes = np.eye(3)
    >>> label_angles([axes[:1], axes[:2], axes[2:]]).shared
    array([[1. , 1. , 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    components = getattr(model, "components_", getattr(model, "components", model))
    components = tuple(np.asarray(C) for C in components)
    names = check_names(label_names, "label_names", len(components), getattr(model, "classes_", range(len(components))))
    return LabelAngles(_shared(components), components, names)


def _shared(components: Sequence[Array]) -> NDArray[np.float64]:
    ranks = np.array([len(C) for C in components])
    C, bounds = np.vstack(components), np.concatenate([[0], np.cumsum(ranks)])
    shared = np.zeros((ranks.size, ranks.size))
    step = max(_BLOCK_BYTES // (8 * max(len(C), 1) * int(ranks.max(initial=1))), 1)
    for first in range(0, ranks.size, step):
        last = min(first + step, ranks.size)
        squares = np.square(C[bounds[first] : bounds[last]] @ C.T, dtype=np.float64)
        # Sums by label as differences of running sums: np.add.reduceat is wrong for empty subspaces.
        rows = _by_label(squares, bounds[first : last + 1] - bounds[first])
        shared[first:last] = _by_label(rows.T, bounds).T
    return np.asarray(np.clip(shared / np.maximum(ranks, 1)[:, None], 0.0, 1.0))


def _by_label(A: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Rows of ``A`` summed between bounds."""
    totals = np.vstack([np.zeros((1, A.shape[1])), np.cumsum(A, axis=0)])
    return np.asarray(totals[bounds[1:]] - totals[bounds[:-1]])
