"""``metric``, ``decision``, ``at_least_one`` and ``label_weight``, which all estimators that decide have."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._unobserved_labels import has_unobserved, known_positives
from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.readout._decision import DECISION_RULES, TARGET_METRICS
from sdgs.selection._defaults import BALANCED_WEIGHT_POWER


def check_decision_parameters(estimator: Any) -> None:
    """Reject invalid values, as far as they can be recognised without the labels."""
    check_choice(estimator.metric, "metric", TARGET_METRICS)
    check_choice(estimator.at_least_one, "at_least_one", ("auto", True, False))
    _check_label_weight(estimator.label_weight)
    decision = estimator.decision
    if isinstance(decision, str):
        check_choice(decision, "decision", DECISION_RULES)
    elif isinstance(decision, numbers.Integral):
        check_int(decision, "decision", minimum=1)
    else:
        for threshold in np.ravel(decision):
            if check_number(threshold, "decision") > 1:
                raise ValueError(f"decision must be a probability where it is a threshold, got {threshold!r}.")


def check_thresholds(decision: Any, n_labels: int) -> None:
    """Reject thresholds that are not one for all labels or one per label."""
    if not isinstance(decision, str) and np.shape(decision) not in ((), (n_labels,)):
        raise ValueError(f"decision must be one threshold, or one for each of the {n_labels} labels.")


def _check_label_weight(label_weight: Any) -> None:
    if label_weight is None:
        return
    if isinstance(label_weight, str):
        check_choice(label_weight, "label_weight", (None, "balanced"))
        return
    if np.ndim(label_weight) != 1:
        raise ValueError(
            f'label_weight must be None, "balanced" or a sequence of one positive number per label, got '
            f"{label_weight!r}."
        )
    for weight in label_weight:
        check_number(weight, "label_weight", positive=True)


def resolve_label_weight(label_weight: Any, labels: Any, sample_weight: Any = None) -> NDArray[np.float64] | None:
    """Given weights, or those of labels with these frequencies.

    ``labels`` is a sparse matrix (n, k), in which NaN is a label that is not observed. A label with one of n + 2
    samples more than it has, as if each had been seen once with and once without it, has the frequency f; its weight is
    (mean f / f) ** ``BALANCED_WEIGHT_POWER``.
    """
    n, k = labels.shape
    if label_weight is None:
        return None
    if not isinstance(label_weight, str):
        if np.shape(label_weight) != (k,):
            raise ValueError(
                f"label_weight must have one number for each of the {k} labels, got {np.size(label_weight)}."
            )
        return np.asarray(label_weight, dtype=np.float64)
    entries = labels.tocoo()
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    unobserved = np.isnan(entries.data.astype(np.float64))
    n_true = np.bincount(entries.col, weight[entries.row] * (~unobserved & (entries.data != 0)), k)
    n_observed = weight.sum() - np.bincount(entries.col, weight[entries.row] * unobserved, k)
    frequencies = (n_true + 1) / (n_observed + 2)
    return np.asarray((frequencies.mean() / frequencies) ** BALANCED_WEIGHT_POWER)


def resolve_at_least_one(at_least_one: Any, metric: str, labels: Any, *, assume: str = "negative") -> bool:
    """Whether each sample gets a label; with "auto" if each training sample has one, except for the Hamming loss.

    If labels that are not given may be missing, no sample is known to have none.
    """
    if at_least_one != "auto":
        return bool(at_least_one)
    return metric != "hamming_loss" and (assume == "missing" or all_may_have_labels(labels))


def all_may_have_labels(labels: Any) -> bool:
    """Whether each sample has a label, or may have one that is unobserved.

    A sample with a single label and a share m of its labels unobserved is without a known label with probability m. So
    if more samples are without one than the sum of these shares, and twice its standard deviation, some have no label.
    """
    labels = labels.tocsr()
    lacking = known_positives(labels).sum(axis=1) == 0
    if not has_unobserved(labels):
        return not lacking.any()
    unobserved = np.add.reduceat(np.append(np.isnan(labels.data), 0.0), labels.indptr[:-1]) * (
        np.diff(labels.indptr) > 0
    )
    share = unobserved / labels.shape[1]
    return bool(lacking.sum() <= share.sum() + 2 * np.sqrt((share * (1 - share)).sum()))
