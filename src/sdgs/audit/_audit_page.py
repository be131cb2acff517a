"""The page about suspicious labels, rendered into one file that loads nothing."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import to_host
from sdgs._utils._templates import template
from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_features, check_int, check_labels, check_names
from sdgs._utils._version import __version__
from sdgs.audit._differing_duplicates import DifferingDuplicates
from sdgs.audit._sample_descriptions import CellDescriptions, SampleDescriptions
from sdgs.audit._suspicious_labels import SuspiciousLabels
from sdgs.persistence._atomic_write import write_atomically

_MAX_VALUES = 8  # of a sample
Descriptions = SampleDescriptions | CellDescriptions
_PROBABLE = "not given but probable"


def write_audit_page(
    suspicious: SuspiciousLabels,
    duplicates: DifferingDuplicates,
    X: Any,
    Y: Any,
    path: str | Path,
    *,
    feature_names: Any = None,
    title: str = "Suspicious labels",
    max_shown: int = 200,
    cells: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """Write a page that shows suspicious labels and differing duplicates beside the samples.

    The page is a single file that works offline and has no script. Needs the extra ``report``: Jinja2.

    Parameters
    ----------
    suspicious : SuspiciousLabels
    duplicates : DifferingDuplicates
    X : array-like, sparse or DataFrame of shape (n, p)
        The samples whose row numbers both have.
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1
        Their given labels; NaN where a label is unobserved.
    path : str or Path
        File to write, such as ``labels.html``.
    feature_names : array-like of shape (p,), optional
        Default: the columns of ``X`` if it is a DataFrame, else ``x0``, ``x1`` and so on.
    title : str
    max_shown : int, default=200
        Maximum number of rows of each table; the page says how many there are.
    cells : dict from names to sequences of str of length n, optional
        Columns of the table that the samples come from, such as their texts, to show in place of their main values.

    Returns
    -------
    Path
        The file.
    """
    max_shown = check_int(max_shown, "max_shown", minimum=0)
    columns = getattr(X, "columns", None) if feature_names is None else feature_names
    X = check_features(X, missing=True)
    X = X if issparse(X) else to_host(X)
    given = check_labels(split_unobserved(Y)[0], n_samples=X.shape[0], some_positive=False).tocsr()
    if given.shape[1] != suspicious.label_names.size:
        raise ValueError(f"Y must have one column for each of the {suspicious.label_names.size} labels.")
    if any(len(column) != X.shape[0] for column in (cells or {}).values()):
        raise ValueError(f"cells must have {X.shape[0]} entries in each column, one per sample.")
    names = check_names(columns, "feature_names", X.shape[1], None)
    descriptions = CellDescriptions(cells) if cells else SampleDescriptions(X, names)
    content = {
        "title": title,
        "version": __version__,
        "summary": suspicious.summary(),
        "wrong": _pairs(suspicious.wrong, given, descriptions, max_shown),
        "n_wrong": len(suspicious.wrong),
        "missing": _pairs(suspicious.missing, given, descriptions, max_shown),
        "n_missing": len(suspicious.missing),
        "one_label": suspicious.suggested is not None,
        "duplicates": _duplicates(duplicates, descriptions, max_shown),
        "n_duplicates": len(duplicates),
        "duplicate_summary": duplicates.summary(),
        "facts": _facts(suspicious, duplicates),
        "no_values": "all are 0" if descriptions.are_words else "none",
        "has_cells": bool(cells),
        "by_label": _by_label(suspicious, given),
    }
    write_atomically(Path(path), _render(content))
    return Path(path)


def _render(content: dict[str, Any]) -> str:
    page = template("sdgs.audit", "audit.html")
    from markupsafe import Markup  # a dependency of Jinja2

    style = (files("sdgs.audit") / "templates" / "audit.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    # The browser applies only this style and runs nothing, even if names of labels contain HTML.
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    return str(page.render(content=content, policy=policy, style=Markup(style)))


def _facts(suspicious: SuspiciousLabels, duplicates: DifferingDuplicates) -> list[tuple[str, str]]:
    facts = [
        ("samples checked", suspicious.n_samples),
        ("labels given", suspicious.n_given),
        ("wrong, at most about", suspicious.n_wrong),
        (_PROBABLE, suspicious.n_missing),
        ("differing duplicates", len(duplicates)),
    ]
    return [(name, f"{value:,}") for name, value in facts if name != _PROBABLE or suspicious.suggested is None]


def _pairs(
    pairs: SuspiciousLabels, given: csr_array, descriptions: Descriptions, max_shown: int
) -> list[dict[str, Any]]:
    rows = []
    for i in range(min(len(pairs), max_shown)):
        row, label = int(pairs.rows[i]), int(pairs.labels[i])
        rows.append(
            {
                "sample": str(pairs.sample_names[i]),
                "label": str(pairs.label_names[label]),
                "probability": float(pairs.probability[i]),
                "others": [str(pairs.label_names[j]) for j in _columns(given, row) if j != label],
                "suggested": None if pairs.suggested is None else str(pairs.label_names[pairs.suggested[i]]),
                "values": descriptions.main_values(row, _MAX_VALUES),
            }
        )
    return rows


def _duplicates(duplicates: DifferingDuplicates, descriptions: Descriptions, max_shown: int) -> list[dict[str, Any]]:
    return [
        {
            "samples": [str(name) for name in duplicates.sample_names[i]],
            "equal": bool(duplicates.distance[i] == 0),
            "distance": float(duplicates.distance[i]),
            "first": [str(name) for name in duplicates.only_first(i)],
            "second": [str(name) for name in duplicates.only_second(i)],
            "both": [str(name) for name in duplicates.shared(i)],
            "values": descriptions.main_values(int(duplicates.rows[i, 0]), _MAX_VALUES),
        }
        for i in range(min(len(duplicates), max_shown))
    ]


def _by_label(suspicious: SuspiciousLabels, given: csr_array) -> list[dict[str, Any]]:
    """The labels with suspicious pairs, and how many, the largest number first."""
    k = suspicious.label_names.size
    counts = np.bincount(given.indices, minlength=k)
    wrong, missing = (np.bincount(pairs.labels, minlength=k) for pairs in (suspicious.wrong, suspicious.missing))
    order = np.argsort(-(wrong + missing), kind="stable")
    return [
        {
            "label": str(suspicious.label_names[j]),
            "given": int(counts[j]),
            "wrong": int(wrong[j]),
            "missing": int(missing[j]),
        }
        for j in order
        if wrong[j] + missing[j]
    ]


def _columns(labels: csr_array, row: int) -> NDArray[np.intp]:
    return np.asarray(labels.indices[labels.indptr[row] : labels.indptr[row + 1]])
