"""Confidence intervals of metrics by the bootstrap."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgs._utils._validation import check_int, check_seed
from sdgs.metrics._metric_inputs import check_sample_weight
from sdgs.metrics._multilabel import metric_sums

_MAX_WEIGHTS = 1 << 22  # of several resamples at once; budget


@dataclass(frozen=True)
class Interval:
    """The value of a metric, and a confidence interval.

    Attributes
    ----------
    value, low, high : float
    """

    value: float
    low: float
    high: float


def bootstrap_intervals(
    Y_true: Any,
    Y_pred: Any,
    scores: Any = None,
    *,
    measures: str | Iterable[str] = (),
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    both_empty: float = 1.0,
    zero_division: float = 0.0,
    propensities: Any = None,
    sample_weight: Any = None,
) -> dict[str, Interval]:
    """The metrics of :func:`evaluate`, each with a confidence interval from resampled samples.

    Samples are drawn with replacement, as many as there are. The interval holds the middle of the values of all
    resamples (the percentile method). It describes how the metric would vary with other samples for evaluation, and not
    with other samples for training. All metrics see the same resamples.

    Parameters
    ----------
    Y_true, Y_pred, scores, measures, both_empty, zero_division, propensities, sample_weight
        As in :func:`evaluate`.
    confidence : float, default=0.95
        The share of the resamples within the interval, between 0 and 1.
    n_resamples : int, default=1000
        The number of resamples.
    random_state : int, RandomState instance or None, default=None
        The seed.

    Returns
    -------
    dict of str to Interval

    Examples
    --------
    >>> from sdgs.metrics import bootstrap_intervals
    >>> Y_true, Y_pred = [[1, 0], [0, 1]] * 50, [[1, 0], [0, 1], [1, 0], [1, 1]] * 25
    >>> interval = bootstrap_intervals(Y_true, Y_pred, random_state=0)["f1"]
    >>> interval.low < interval.value < interval.high
    True
    """
    n_resamples = check_int(n_resamples, "n_resamples", minimum=1)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    options = {"both_empty": both_empty, "zero_division": zero_division, "propensities": propensities}
    sums = metric_sums(Y_true, Y_pred, scores, measures, options)
    n = sums["f1"].terms.shape[0]
    sample_weights = None if sample_weight is None else check_sample_weight(sample_weight, n)
    rng = np.random.default_rng(check_seed(random_state))
    values: dict[str, list[Any]] = {name: [] for name in sums}
    size = max(1, _MAX_WEIGHTS // n)
    for start in range(0, n_resamples, size):
        counts = [
            np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(start, min(start + size, n_resamples))
        ]
        weights = np.array(counts, dtype=np.float64)
        if sample_weights is not None:
            weights *= sample_weights
        for name, of_metric in sums.items():
            values[name].append(of_metric.values(weights))
    intervals = {}
    for name, of_metric in sums.items():
        resampled = np.concatenate(values[name])
        defined = resampled[~np.isnan(resampled)]
        tails = ((1 - confidence) / 2, (1 + confidence) / 2)
        low, high = np.quantile(defined, tails) if defined.size else (np.nan, np.nan)
        intervals[name] = Interval(of_metric.value(sample_weights), float(low), float(high))
    return intervals
