"""Label matrices in which samples have all labels above theirs."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sdgs._utils._validation import check_labels, is_data_frame
from sdgs.methods._hierarchical_relevance import parents_of
from sdgs.methods._target_tree import Parents, top_down


def close_upwards(Y: Any, hierarchy: Any) -> Any:
    """Give samples all labels that are above theirs in a hierarchy, for example after the decisions of any classifier.

    Parameters
    ----------
    Y : array-like, sparse or DataFrame of shape (n, k)
        Labels, 0 or 1.
    hierarchy : sequence of k int, dict or None
        As of :class:`HierarchicalRelevance`. Labels of a dict are the names of the columns of a DataFrame, otherwise
        the indices of the columns.

    Returns
    -------
    ndarray, csr_array or DataFrame of shape (n, k)
        In the form of ``Y``, with its dtypes.

    Examples
    --------
    >>> import pandas as pd
    >>> from sdgs.datasets import label_hierarchy_from_names
    >>> from sdgs.methods import close_upwards
    >>> Y = pd.DataFrame([[0, 1, 0], [0, 0, 1]], columns=["animal", "animal/cat", "plant"])
    >>> close_upwards(Y, label_hierarchy_from_names(Y.columns)).to_numpy()
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    labels = check_labels(Y, some_positive=False)
    names = list(Y.columns) if is_data_frame(Y) else list(range(labels.shape[1]))
    closed = csr_array(labels.astype(np.intp) @ _ancestors(parents_of(hierarchy, names)) > 0)
    if issparse(Y):
        return closed.astype(Y.dtype)
    if is_data_frame(Y):
        return type(Y)(closed.toarray(), index=Y.index, columns=Y.columns).astype(Y.dtypes)
    return closed.toarray().astype(np.asarray(Y).dtype)


def _ancestors(parents: Parents) -> csr_array:
    """Which labels a label implies, (k, k): itself and all above it."""
    paths: dict[int, list[int]] = {-1: []}
    for label in top_down(parents):
        paths[label] = [*paths[int(parents[label])], label]
    rows = [label for label, path in paths.items() for _ in path]
    columns = [above for path in paths.values() for above in path]
    return csr_array((np.ones(len(rows), dtype=np.intp), (rows, columns)), shape=(parents.size, parents.size))
