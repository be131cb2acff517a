"""Lists of labels as a target: a label matrix from them, and predictions in the same form."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs._utils._validation import is_data_frame

CONTAINERS = ("list", "tuple", "array", "series", "frame")
ROWS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_SETS = (set, frozenset)
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
_MAX_SHOWN = 5  # names in a warning


@dataclass(frozen=True)
class LabelListForm:
    """The form of a target with a list of labels per sample.

    Attributes
    ----------
    container : {"list", "tuple", "array", "series", "frame"}
        What holds the samples: an array of objects, a pandas Series, or a DataFrame with one column.
    row : {"list", "tuple", "set", "frozenset"}
        What holds the labels of a sample.
    name : str, int or None
        The name of the Series or of the column.
    """

    container: str
    row: str
    name: Any = None

    def restore(self, labels: csr_array, classes: NDArray[Any], index: Any) -> Any:
        """A label matrix in this form; ``index`` is that of a Series or a DataFrame."""
        make, names = ROWS[self.row], classes.tolist()
        bounds, columns = labels.indptr.tolist(), labels.indices.tolist()
        rows = [make(names[j] for j in columns[start:end]) for start, end in zip(bounds[:-1], bounds[1:], strict=True)]
        if self.container == "list":
            return rows
        if self.container == "tuple":
            return tuple(rows)
        if self.container == "array":
            return object_array(rows)
        import pandas as pd

        series = pd.Series(object_array(rows), index=index, name=self.name)
        return pd.DataFrame({self.name: series}) if self.container == "frame" else series


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """A 1-D array of objects, which may be lists of equal length."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def has_label_lists(y: Any) -> bool:
    """Whether a target has a list of labels for each sample.

    A list of lists of numbers with equal lengths is a matrix, as in NumPy. In a Series or a 1-D array of objects, lists
    are always lists of labels, and strings are classes.
    """
    items = _items(y)
    if items is None:
        return False
    rows = [item for item in items if isinstance(item, _COLLECTIONS)]
    if not isinstance(y, list | tuple):
        return bool(rows)
    if any(isinstance(row, _SETS) for row in rows):
        return True
    if len({len(row) for row in rows if _is_flat(row)}) > 1:
        return True
    return any(_has_strings(row) for row in rows) and not _is_binary(rows)


def label_list_form(y: Any) -> LabelListForm:
    """The form of a target for which :func:`has_label_lists` holds."""
    items = _items(y)
    assert items is not None
    kinds = {type(item) for item in items}
    row = next((name for name, kind in ROWS.items() if kinds == {kind}), "list")
    if is_data_frame(y):
        return LabelListForm("frame", row, y.columns.tolist()[0])
    if hasattr(y, "iloc"):
        return LabelListForm("series", row, y.name)
    container = "array" if isinstance(y, np.ndarray) else "tuple" if isinstance(y, tuple) else "list"
    return LabelListForm(container, row)


def binarize_label_lists(y: Any, name: str, classes: Any = None) -> tuple[csr_array, NDArray[Any]]:
    """Lists of labels as a boolean CSR matrix, and the names of its columns: ``classes``, or else all, sorted."""
    rows = _checked_rows(y, name)
    if classes is None:
        _reject_binary(_items(y) or (), name)
        classes = _sorted_names({label for row in rows for label in row}, name)
    column_of = {label: j for j, label in enumerate(classes.tolist())}
    columns, ends = list[int](), [0]
    for i, row in enumerate(rows):
        unknown = [label for label in row if label not in column_of]
        if unknown:
            raise ValueError(
                f"{name} has the label {unknown[0]!r} in row {i}, which is not one of the {len(column_of)} labels that "
                "the model was fitted to. Check the spelling, or leave it out."
            )
        columns += sorted(column_of[label] for label in row)
        ends.append(len(columns))
    data = np.ones(len(columns), dtype=bool)
    return csr_array((data, np.array(columns, dtype=np.intp), ends), shape=(len(rows), len(column_of))), classes


def more_label_names(y: Any, name: str, known: NDArray[Any]) -> NDArray[Any]:
    """The known names of labels, and after them those that occur only in lists of labels, sorted."""
    if _items(y) is None:
        raise ValueError(f"{name} must have a list of labels for each sample, as that of fit had.")
    new = {label for row in _checked_rows(y, name) for label in row}.difference(known.tolist())
    if not new:
        return known
    _sorted_names(new.union(known.tolist()), name)  # raises an error if they are not all of one type
    return np.concatenate([known, _sorted_names(new, name)])


def as_label_matrix(y: Any, classes: Any, name: str = "y") -> Any:
    """Lists of labels as a matrix whose columns are ``classes``; any other target as it is."""
    return binarize_label_lists(y, name, classes)[0] if has_label_lists(y) else y


def align_label_lists(Y_true: Any, Y_pred: Any, classes: Any = ()) -> tuple[Any, Any]:
    """Two targets as matrices with the same columns if they are lists of labels; others as they are.

    The columns are the sorted names of all labels that occur in either, and of ``classes``. With ``classes`` they are
    known to be lists, even if all are empty.
    """
    if np.size(classes) == 0 and not (has_label_lists(Y_true) or has_label_lists(Y_pred)):
        return Y_true, Y_pred
    for y, name, other in ((Y_true, "Y_true", "Y_pred"), (Y_pred, "Y_pred", "Y_true")):
        rows = [item for item in _items(y) or () if isinstance(item, _COLLECTIONS)]
        if not rows or (_is_binary(rows) and not has_label_lists(y)):
            raise ValueError(
                f"{other} has a list of labels for each sample, and {name} has not. Pass both in the same form."
            )
    labels = _checked_rows(Y_true, "Y_true") + _checked_rows(Y_pred, "Y_pred")
    if np.size(classes) == 0:
        _reject_binary([*(_items(Y_true) or ()), *(_items(Y_pred) or ())], "Y_true")
    names = {label for row in labels for label in row}
    columns = _sorted_names(names.union(np.asarray(classes).tolist()), "Y_true or Y_pred")
    return binarize_label_lists(Y_true, "Y_true", columns)[0], binarize_label_lists(Y_pred, "Y_pred", columns)[0]


def warn_of_similar_names(classes: NDArray[Any], name: str) -> None:
    """Warn of names that differ only in case or spaces, and of spaces around a name. Nothing is changed."""
    variants = defaultdict(list)
    for label in classes.tolist():
        if isinstance(label, str):
            variants[" ".join(label.split()).casefold()].append(label)
    similar = [labels for labels in variants.values() if len(labels) > 1 or labels[0] != labels[0].strip()]
    if similar:
        shown = ", ".join(" / ".join(map(repr, labels)) for labels in similar[:_MAX_SHOWN])
        more = f" and {len(similar) - _MAX_SHOWN} more" if len(similar) > _MAX_SHOWN else ""
        warnings.warn(
            f"{name} has names of labels with spaces around them, or that differ only in case or spaces: "
            f"{shown}{more}. Each is a label of its own. If they mean the same label, make them equal before fit, for "
            "example by label.strip().lower().",
            UserWarning,
            stacklevel=2,
        )


def _items(y: Any) -> Sequence[Any] | None:
    """What a target holds for each sample, where that may be a list; None for other targets."""
    if isinstance(y, list | tuple):
        return y
    if is_data_frame(y) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    is_array = isinstance(y, np.ndarray) or (hasattr(y, "iloc") and not is_data_frame(y))
    if not is_array or y.ndim != 1 or y.dtype.kind != "O":
        return None
    items: list[Any] = np.asarray(y, dtype=object).tolist()
    return items


def _is_flat(row: Any) -> bool:
    return not isinstance(row, np.ndarray) or row.ndim == 1


def _has_strings(row: Any) -> bool:
    if isinstance(row, np.ndarray) and row.dtype.kind not in "OU":
        return False
    return any(isinstance(label, str) for label in row)


def _is_binary(rows: Sequence[Any]) -> bool:
    """Whether lists, not sets, hold only 0 and 1, as numbers or text: probably the rows of a label matrix."""
    if any(isinstance(row, _SETS) for row in rows):
        return False
    items = [item for row in rows for item in row]
    return bool(items) and all(isinstance(item, str | int | np.integer) and item in (0, 1, "0", "1") for item in items)


def _checked_rows(y: Any, name: str) -> list[list[Any]]:
    """The labels of each sample, each once, as Python's strings and integers."""
    items = _items(y)
    assert items is not None
    rows = list[list[Any]]()
    for i, item in enumerate(items):
        if not isinstance(item, _COLLECTIONS) or not _is_flat(item):
            raise ValueError(
                f"{name} has {item!r} in row {i}, and lists of labels in other rows. Each row must be a list, tuple or "
                "set of labels; an empty one is a sample without labels."
            )
        labels = item.tolist() if isinstance(item, np.ndarray) else item
        rows.append(list(dict.fromkeys(_checked_label(label, name, i) for label in labels)))
    return rows


def _reject_binary(rows: Sequence[Any], name: str) -> None:
    if _is_binary(rows):
        raise ValueError(
            f"{name} has lists that hold only 0 and 1. If they are rows of a label matrix, make them one, with rows of "
            f"equal length: numpy.array(list({name})). If 0 and 1 are names of labels, pass sets."
        )


def _checked_label(label: Any, name: str, row: int) -> Any:
    if isinstance(label, str):
        return str(label)
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and -(2**63) <= label < 2**63:
        return int(label)
    raise ValueError(
        f"{name} has the label {label!r} in row {row}. Labels in lists must be strings, or integers of 64 bits: "
        "convert it, for example by str."
    )


def _sorted_names(names: set[Any], what: str) -> NDArray[Any]:
    """Integers as int64, strings as objects, as ``MultiLabelBinarizer`` has them."""
    if not names:
        raise ValueError(f"{what} has lists of labels that are all empty: at least one sample needs a label.")
    kinds = {type(label) for label in names}
    if len(kinds) > 1:
        raise ValueError(f"{what} has labels that are strings and others that are integers. Make them all strings.")
    return np.array(sorted(names), dtype=np.int64) if kinds == {int} else object_array(sorted(names))
