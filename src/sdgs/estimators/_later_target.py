"""The target of ``update``: labels found by name, and new ones after those that the model knows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import column_or_1d

from sdgs._utils._array_api import is_dispatched, to_host
from sdgs._utils._label_collections import (
    binarize_label_lists,
    has_label_lists,
    more_label_names,
    object_array,
    warn_of_similar_names,
)
from sdgs._utils._unobserved_labels import check_observed_labels
from sdgs._utils._validation import check_labels, is_data_frame, reject_missing_labels


def later_labels(model: Any, y: Any) -> csr_array:
    """A target in the form of that of ``fit`` as a label matrix (CSR); the model gets the names of new labels."""
    k = len(model.classes_)
    if model._label_lists is not None:
        labels, model.classes_ = _from_lists(y, model.classes_)
    elif has_label_lists(y):
        raise ValueError("y has lists of labels, and the y of fit did not. Pass it in the form of that of fit.")
    elif model._is_multiclass:
        labels, model.classes_ = _from_classes(y, model.classes_)
    elif model._label_columns is not None:
        labels, model._label_columns = _from_frame(y, model._label_columns)
        model.classes_ = object_array(list(model._label_columns.index))
    else:
        labels = _from_matrix(y, k)
    if hasattr(model, "label_names_"):
        model.label_names_ = (*model.label_names_, *map(str, model.classes_[k:]))
    return csr_array(labels)


def add_label_names(model: Any, names: Sequence[str]) -> None:
    """Give a model the names of new labels, from a file, where all names are text."""
    if not names:
        return
    known = model.classes_
    values: list[Any] = list(names)
    if model._label_columns is not None:
        import pandas as pd

        more = pd.Series([model._label_columns.iloc[0]] * len(names), index=names)
        model._label_columns = pd.concat([model._label_columns, more]).rename_axis(model._label_columns.index.name)
    elif model._label_lists is None and not model._is_multiclass:
        values = list(range(len(known), len(known) + len(names)))
    elif model._is_multiclass or known.dtype.kind in "biuf":
        raise ValueError(f"new labels such as {names[0]!r} cannot be learnt from a file, because y was not texts.")
    if known.dtype.kind == "O":
        model.classes_ = np.concatenate([known, object_array(values)])
    else:
        model.classes_ = np.concatenate([known, np.asarray(values)])
    if hasattr(model, "label_names_"):
        model.label_names_ = (*model.label_names_, *names)


def _from_lists(y: Any, known: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    classes = more_label_names(y, "y", known)
    labels, _ = binarize_label_lists(y, "y", classes)
    if len(classes) > len(known):
        warn_of_similar_names(classes, "y")
    return check_labels(labels, name="y", some_positive=False), classes


def _from_classes(y: Any, known: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    y = column_or_1d(to_host(y) if is_dispatched(y) else y, warn=True)
    reject_missing_labels(y, "y")
    if (y.dtype.kind in "biuf") != (known.dtype.kind in "biuf"):
        raise ValueError(f"y has classes such as {y[0]!r}, and the y of fit had classes such as {known[0]!r}.")
    if len({isinstance(name, str) for name in (*known.tolist(), *y.tolist())}) > 1:
        raise ValueError("y has classes of other types than the y of fit. Make them all strings.")
    new = sorted(set(y.tolist()) - set(known.tolist()))
    classes = np.concatenate([known, np.asarray(new, dtype=y.dtype)]) if new else known
    positions = {name: j for j, name in enumerate(classes.tolist())}
    columns = np.array([positions[name] for name in y.tolist()], dtype=np.intp)
    shape = (len(y), len(classes))
    return csr_array((np.ones(len(y), dtype=bool), columns, np.arange(len(y) + 1)), shape=shape), classes


def _from_frame(y: Any, known: Any) -> tuple[Any, Any]:
    """``known`` are the dtypes of the known labels, by name, and so is the second result."""
    if not is_data_frame(y):
        raise ValueError("y must be a DataFrame with the names of the labels, as that of fit was.")
    missing = [name for name in known.index if name not in y.columns]
    if missing:
        raise ValueError(
            f"y has no column {missing[0]!r}, which is a label of the model. If no sample has it, add a column of "
            "zeros, or of NaN if it was not observed: y.reindex(columns=[*y.columns, ...], fill_value=0)."
        )
    import pandas as pd

    new = [name for name in y.columns if name not in known.index]
    columns = known if not new else pd.concat([known, y.dtypes[new]]).rename_axis(known.index.name)
    return check_observed_labels(y[list(columns.index)], name="y", some_positive=False), columns


def _from_matrix(y: Any, k: int) -> Any:
    labels = check_observed_labels(y, name="y", some_positive=False)
    if labels.shape[1] != k:
        raise ValueError(
            f"y has {labels.shape[1]} columns, and the model knows {k} labels. The columns of a matrix have no names, "
            "so they must be the known labels in their order. To learn new labels, fit the model to a DataFrame or to "
            "lists of labels."
        )
    return labels
