"""How much the subspaces of labels overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._last_step import label_names_of, last_step

Array = NDArray[np.floating[Any]]

_BLOCK_BYTES = 1 << 26  # of products between subspaces that are computed at a time
_MAX_ORDERED_LABELS = 500  # optimal ordering of the leaves takes time cubic in their number


@dataclass(frozen=True, eq=False)
class LabelAngles:
    """How much the subspaces of labels overlap, by their principal angles.

    Attributes
    ----------
    shared : ndarray of shape (k, k)
        ``shared[i, j]`` is the fraction of label i's subspace that lies in that of label j: the sum of the squared
        cosines of the principal angles between the two, divided by the rank of i. It is 1 if i is contained in j, 0 if
        they are orthogonal, and 0 for a label without a subspace.
    components : tuple of k ndarrays of shape (r_i, p)
    label_names : ndarray of shape (k,)
    """

    shared: NDArray[np.float64]
    components: tuple[Array, ...]
    label_names: NDArray[Any]

    @property
    def overlap(self) -> NDArray[np.float64]:
        """Symmetric: divided by the smaller of both ranks. 1 if one subspace contains the other."""
        return np.maximum(self.shared, self.shared.T)

    def cosines(self, i: int, j: int) -> NDArray[np.float64]:
        """Cosines of the principal angles between the subspaces of labels i and j, the largest first."""
        products = np.asarray(self.components[i] @ self.components[j].T, dtype=np.float64)
        return np.clip(np.linalg.svd(products, compute_uv=False), 0.0, 1.0)

    def tree(self) -> NDArray[np.float64]:
        """Average linkage of the labels on ``1 - overlap``, as returned by :func:`scipy.cluster.hierarchy.linkage`."""
        return tree_of(self.overlap)

    def order(self) -> NDArray[np.intp]:
        """The labels ordered so that similar ones are near each other: the leaves of the tree."""
        return leaves_of(self.overlap)


def tree_of(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average linkage of the labels on ``1 - similarity``, a symmetric (k, k) matrix."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(similarity) < 2:
        raise ValueError("A tree needs at least two labels.")
    distances = squareform(1 - similarity, checks=False)
    return np.asarray(linkage(distances, "average", optimal_ordering=len(similarity) <= _MAX_ORDERED_LABELS))


def leaves_of(similarity: NDArray[np.float64]) -> NDArray[np.intp]:
    """The leaves of that tree from left to right; a single label needs no tree."""
    from scipy.cluster.hierarchy import leaves_list

    return np.asarray(leaves_list(tree_of(similarity)) if len(similarity) > 1 else [0], dtype=np.intp)


def label_angles(model: Any, *, label_names: Any = None) -> LabelAngles:
    """How much of each label's subspace is shared with other labels.

    Parameters
    ----------
    model : fitted SDGSClassifier or SDGSClassifierCV, Pipeline, Decomposition, or sequence of ndarrays (r_i, p)
        Subspaces, each with orthonormal rows. Those of a model are compared in its scaled feature space. Of a pipeline
        the last step is used.
    label_names : array-like of shape (k,), optional
        Default: the names that a model knows, otherwise 0, 1, ...

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
    source = last_step(model)
    components = getattr(source, "components_", getattr(source, "components", source))
    components = tuple(np.asarray(C) for C in components)
    names = label_names_of(source, label_names, len(components))
    return LabelAngles(shared_fractions(components), components, names)


def shared_fractions(components: Sequence[Array], *, block_bytes: int = _BLOCK_BYTES) -> NDArray[np.float64]:
    """(k, k): the fraction of each label's subspace that lies in that of each other."""
    ranks = np.array([len(C) for C in components])
    C, bounds = np.vstack(components), np.concatenate([[0], np.cumsum(ranks)])
    shared = np.zeros((ranks.size, ranks.size))
    step = max(block_bytes // (8 * max(len(C), 1) * int(ranks.max(initial=1))), 1)
    for first in range(0, ranks.size, step):
        last = min(first + step, ranks.size)
        squares = np.square(C[bounds[first] : bounds[last]] @ C.T, dtype=np.float64)
        # Sums per label as differences of cumulative sums: np.add.reduceat is wrong for empty subspaces.
        rows = _sum_per_label(squares, bounds[first : last + 1] - bounds[first])
        shared[first:last] = _sum_per_label(rows.T, bounds).T
    return np.asarray(np.clip(shared / np.maximum(ranks, 1)[:, None], 0.0, 1.0))


def _sum_per_label(A: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums of the rows of ``A`` between bounds."""
    totals = np.vstack([np.zeros((1, A.shape[1])), np.cumsum(A, axis=0)])
    return np.asarray(totals[bounds[1:]] - totals[bounds[:-1]])
