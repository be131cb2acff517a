"""Texts that list labels, such as ``calm;sad``, as lists."""

from typing import Any

import numpy as np

from sdgs._utils._label_collections import object_array


def split_labels(texts: Any, separator: str) -> Any:
    """Split texts that list labels, such as ``"calm;sad"``, into lists of labels, the target of a classifier.

    Classifiers do not split texts themselves: as everywhere in scikit-learn, a 1-D target of strings has one class per
    sample, and ``"calm;sad"`` would be one of them. The separator is not guessed either, because a comma may be part of
    a name.

    Parameters
    ----------
    texts : list, tuple, 1-D array or pandas Series of str
    separator : str

    Returns
    -------
    list, ndarray of objects or Series
        Lists of labels, without spaces around the labels and without empty ones: a Series with the index and the name
        of ``texts`` if that is one, an array if it is one, else a list. An empty text is an empty list.

    Examples
    --------
    >>> from sdgs.datasets import split_labels
    >>> split_labels(["calm; sad", "", "happy"], separator=";")
    [['calm', 'sad'], [], ['happy']]
    """
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator must be a text such as ';', got {separator!r}.")
    if isinstance(texts, str) or np.ndim(texts) != 1:
        raise ValueError("texts must be a list, a 1-D array or a Series with one text per sample.")
    lists = [_split(text, separator, row) for row, text in enumerate(texts)]
    if hasattr(texts, "iloc"):
        return type(texts)(object_array(lists), index=texts.index, name=texts.name)
    return object_array(lists) if isinstance(texts, np.ndarray) else lists


def _split(text: Any, separator: str, row: int) -> list[str]:
    if not isinstance(text, str):
        raise ValueError(
            f"texts has {text!r} in row {row}. Leave out samples whose labels are not known; an empty text is a sample "
            "without labels."
        )
    return [label.strip() for label in text.split(separator) if label.strip()]
