"""``metric``, ``decision`` and ``at_least_one``: parameters of all estimators that decide on probabilities."""

import numbers
from typing import Any

import numpy as np

from sdgs._utils._unobserved_labels import has_unobserved, known_positives
from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.readout._decision import DECISION_RULES, TARGET_METRICS


def check_decision_parameters(estimator: Any) -> None:
    """Reject invalid values, as far as they can be recognised without the labels."""
    check_choice(estimator.metric, "metric", TARGET_METRICS)
    check_choice(estimator.at_least_one, "at_least_one", ("auto", True, False))
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
