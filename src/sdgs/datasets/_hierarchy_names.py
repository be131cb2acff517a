"""A hierarchy of labels from names such as ``animal/cat``."""

from collections.abc import Iterable


def label_hierarchy_from_names(names: Iterable[str], separator: str = "/") -> dict[str, str]:
    """Read a hierarchy from names of labels that are paths, such as ``animal/cat``.

    Parameters
    ----------
    names : iterable of str
        Names of labels: of columns, or ``classes_``.
    separator : str, default="/"

    Returns
    -------
    dict of str to str
        The parent of each label that has one: the label whose name is the longest part of its path. A path above it
        that is not a label itself is skipped. Labels that are not in it are at the top. It is a ``hierarchy`` of
        :class:`sdgs.methods.HierarchicalRelevance`.

    Examples
    --------
    >>> from sdgs.datasets import label_hierarchy_from_names
    >>> label_hierarchy_from_names(["animal", "animal/cat", "animal/bird/owl", "plant"])
    {'animal/cat': 'animal', 'animal/bird/owl': 'animal'}
    """
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator must be a text such as '/', got {separator!r}.")
    labels = list(names)
    for label in labels:
        if not isinstance(label, str):
            raise ValueError(f"names must be strings, got {label!r}.")
    known, parents = set(labels), dict[str, str]()
    for label in labels:
        path = label
        while separator in path:
            path = path.rpartition(separator)[0]
            if path in known:
                parents[label] = path
                break
    return parents
