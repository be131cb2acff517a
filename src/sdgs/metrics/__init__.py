"""Metrics of multi-label predictions: label sets, rankings and probabilities.

The paper's five are averaged over samples.
With Y_i the true and Z_i the predicted label set of sample i, and k the number of labels::

    Hamming loss  |Y_i xor Z_i| / k
    precision     |Y_i & Z_i| / |Z_i|
    recall        |Y_i & Z_i| / |Y_i|
    F1            2 |Y_i & Z_i| / (|Y_i| + |Z_i|)
    accuracy      |Y_i & Z_i| / |Y_i | Z_i|

The paper does not define 0/0. Here, for all four ratios: if *both* sets are empty, the prediction is right and the
sample counts as ``both_empty`` (default 1). If only one set is empty, a precision or recall of 0/0 counts as
``zero_division`` (default 0). Either may be ``numpy.nan``, which leaves such samples out of the average.

Further metrics of label sets:

- ``subset_accuracy``: the share of samples whose labels are all right;
- ``micro_f1``: F1 of all assignments together; ``macro_f1``, ``weighted_f1``: the mean of F1 over labels, with equal
  weights or with the number of samples. A label that no sample has and that is never predicted counts as
  ``zero_division``.

Metrics of scores, by which the labels of each sample are ranked: ``ranking_loss``, ``one_error``, ``coverage``,
``label_ranking_average_precision``, ``precision_at_k``, ``ndcg_at_k``, ``propensity_scored_precision_at_k``. Metrics of
probabilities: ``brier_score``, ``log_loss``, ``expected_calibration_error``. Their functions say how samples without
labels and equal scores count. Where scikit-learn has a metric, the values are the same.

Metrics of label sets also take a list of labels per sample, for both arguments: they are compared by name, and the
labels are those that occur in either.

An unobserved label, NaN in ``Y_true`` (NA in a DataFrame, a stored NaN in a sparse matrix), counts neither as true nor
as false. Metrics of samples are those of the sample's observed labels: its sets without the others, its ranks among
them. Samples without any observed label are left out. Metrics of labels are those of the samples of which the label is
observed; labels that are never observed are left out. The Hamming loss, the Brier score, the log loss and the
calibration error are those of all observed entries together.

All functions take ``sample_weight``; an integer weight is the same as so many equal samples.

``METRICS`` are the five, and ``ALL_METRICS`` are all, by name. :func:`evaluate`, the command line, the report page and
the displays read them.
"""

from sdgs.metrics._bootstrap import Interval, bootstrap_intervals
from sdgs.metrics._multilabel import ALL_METRICS, METRICS, evaluate, evaluate_labels
from sdgs.metrics._probability_metrics import brier_score, expected_calibration_error, log_loss
from sdgs.metrics._ranking_metrics import (
    coverage,
    label_ranking_average_precision,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensities,
    propensity_scored_precision_at_k,
    ranking_loss,
)
from sdgs.metrics._set_metrics import (
    accuracy,
    f1,
    hamming_loss,
    macro_f1,
    micro_f1,
    precision,
    recall,
    subset_accuracy,
    weighted_f1,
)

__all__ = [
    "ALL_METRICS",
    "METRICS",
    "Interval",
    "accuracy",
    "bootstrap_intervals",
    "brier_score",
    "coverage",
    "evaluate",
    "evaluate_labels",
    "expected_calibration_error",
    "f1",
    "hamming_loss",
    "label_ranking_average_precision",
    "log_loss",
    "macro_f1",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "ranking_loss",
    "recall",
    "subset_accuracy",
    "weighted_f1",
]
