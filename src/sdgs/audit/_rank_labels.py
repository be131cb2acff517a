"""Given labels ranked by how improbable they are, and an estimate of how many are wrong."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_int, check_labels, check_names
from sdgs.audit._suspicious_labels import SuspiciousLabels
from sdgs.selection._defaults import LEAST_PROBABLE_SHARE, LIKELY_MISSING


def rank_suspicious_labels(
    Y: Any,
    probabilities: Any,
    *,
    n_pairs: int | str | None = "auto",
    one_label: bool = False,
    label_names: Any = None,
    sample_names: Any = None,
) -> SuspiciousLabels:
    r"""Rank pairs of a sample and a label by how probable it is that what is given for them is a mistake.

    A pair is suspicious if the label is given but improbable, so that it may be *wrong*, or is not given but probable,
    so that it may be *missing*. The score of a pair is the probability of the opposite of what is given: 1 - p of a
    label that is given, and p of one that is not. (1 minus the score is the self-confidence of confident learning.)

    Parameters
    ----------
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1
        The given labels; NaN where a label is unobserved. Such a pair has nothing that could be a mistake, and is not
        returned.
    probabilities : array-like of shape (n, k)
        The probability of each label, from a model that was not fitted to the sample, by any method. Best calibrated.
    n_pairs : int, "auto" or None, default="auto"
        How many pairs to return, the highest scores first. ``"auto"``: as many given labels as are probably wrong (see
        Notes), and the labels that are not given and have a probability of at least 0.8. None: all pairs.
    one_label : bool, default=False
        Whether each sample has exactly one label, as for a 1-D target. Then the pairs are those of the given labels,
        and the most probable label of the sample is suggested in its place.
    label_names : array-like of shape (k,), optional
        Default: the columns of ``Y`` if it is a DataFrame, else column numbers.
    sample_names : array-like of shape (n,), optional
        Default: the index of ``Y`` if it is a DataFrame, else row numbers.

    Returns
    -------
    SuspiciousLabels

    Notes
    -----
    No method can tell a mistake from a sample that the model does not understand, so the number of wrong labels is an
    estimate from above. It assumes that mistakes hit all samples alike: of the quarter of the samples for which a label
    is least probable, hardly any should have it. With r the share that has it all the same, a label that n - c samples
    do not have is wrong in about r (n - c) of the c samples that have it; n counts the samples of which the label is
    observed. There is no such estimate for missing labels, because a label that a sample should have is seldom certain.

    Examples
    --------
    >>> from sdgs.audit import rank_suspicious_labels
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> P = [[0.9, 0.2], [0.1, 0.9], [0.2, 0.8], [0.1, 0.9]]
    >>> suspicious = rank_suspicious_labels(Y, P, n_pairs=2, label_names=["calm", "sad"])
    >>> print(suspicious.text().partition("\n")[2])
    sample 1: calm is given, p = 0.10
    sample 1: sad is not given, p = 0.90
    """
    P = np.asarray(probabilities, dtype=np.float64)
    if P.ndim != 2:
        raise ValueError(f"probabilities must be a matrix with one column per label, got {P.ndim} dimension(s).")
    labels, unobserved = split_unobserved(Y)
    given = np.asarray(check_labels(labels, n_samples=len(P), some_positive=False).toarray(), dtype=bool)
    if given.shape != P.shape:
        raise ValueError(f"Y and probabilities must have the same shape, got {given.shape} and {P.shape}.")
    if not ((P >= 0) & (P <= 1)).all():  # also False for NaN
        raise ValueError("probabilities must be between 0 and 1.")
    if one_label and not (given.sum(axis=1) == 1).all():
        raise ValueError("with one_label every sample must have exactly one label.")
    if n_pairs is not None and n_pairs != "auto":
        n_pairs = check_int(n_pairs, "n_pairs", minimum=0)
    n, k = P.shape
    names = getattr(Y, "columns", None) if label_names is None else label_names
    index = getattr(Y, "index", None) if sample_names is None and hasattr(Y, "iloc") else sample_names
    return _rank_labels(
        given,
        P,
        None if unobserved is None else ~unobserved.toarray(),
        n_pairs,
        one_label=one_label,
        label_names=check_names(names, "label_names", k, range(k)),
        sample_names=check_names(index, "sample_names", n, range(n)),
    )


def _rank_labels(
    given: NDArray[np.bool_],
    P: NDArray[np.float64],
    observed: NDArray[np.bool_] | None,
    n_pairs: Any,
    *,
    one_label: bool,
    label_names: NDArray[Any],
    sample_names: NDArray[Any],
) -> SuspiciousLabels:
    """:func:`rank_suspicious_labels` without validation."""
    n, k = P.shape
    scores = np.where(given, 1 - P, P).ravel()
    if one_label:
        candidates = np.flatnonzero(given)
    else:
        candidates = np.arange(n * k) if observed is None else np.flatnonzero(observed)
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    n_wrong = estimate_wrong_labels(given, P, observed)
    likely_missing = ~given & (P >= LIKELY_MISSING) & (not one_label)
    if observed is not None:
        likely_missing &= observed
    if n_pairs == "auto":
        is_given = given.ravel()[order]
        order = order[(is_given & (np.cumsum(is_given) <= n_wrong)) | likely_missing.ravel()[order]]
    else:
        order = order[:n_pairs]
    rows, labels = np.divmod(order, max(k, 1))
    return SuspiciousLabels(
        rows=rows,
        labels=labels,
        given=given[rows, labels],
        probability=P[rows, labels],
        suggested=P[rows].argmax(axis=1) if one_label else None,
        n_samples=n,
        n_given=int(given.sum()),
        n_wrong=n_wrong,
        n_missing=int(likely_missing.sum()),
        label_names=label_names,
        sample_names=sample_names[rows],
    )


def estimate_wrong_labels(
    given: NDArray[np.bool_], P: NDArray[np.float64], observed: NDArray[np.bool_] | None = None
) -> int:
    """How many given labels are probably wrong: see the notes of :func:`rank_suspicious_labels`."""
    counts, total = given.sum(axis=0), 0.0
    for label in np.flatnonzero(counts):
        rows = slice(None) if observed is None else observed[:, label]
        p, is_given = P[rows, label], given[rows, label]
        n_least = max(int(LEAST_PROBABLE_SHARE * p.size), 1)
        rate = is_given[p <= np.partition(p, n_least - 1)[n_least - 1]].mean()
        total += min(rate * (p.size - counts[label]), counts[label])
    return round(total)
