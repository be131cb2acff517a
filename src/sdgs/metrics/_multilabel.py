"""The registry of metrics, and functions that compute several of them."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.metrics import _probability_metrics as probability
from sdgs.metrics import _ranking_metrics as ranking
from sdgs.metrics import _set_metrics as sets
from sdgs.metrics._metric_inputs import SampleSums, check_pair, check_probabilities, check_sample_weight


@dataclass(frozen=True)
class Metric:
    """An entry of ``METRICS``.

    Attributes
    ----------
    title : str
        The name shown in tables and figures.
    function : callable
        Takes ``Y_true``, ``Y_pred`` or scores, and ``options``, and returns a float.
    sums : callable
        The metric as a function of sums over samples; takes checked arrays and ``options``.
    options : tuple of str
        Which of ``both_empty``, ``zero_division`` and ``propensities`` the function takes.
    greater_is_better : bool
    uses : str
        What the metric compares with the true labels: "labels", "scores" or "probabilities".
    """

    title: str
    function: Callable[..., float]
    sums: Callable[..., SampleSums]
    options: tuple[str, ...] = ()
    greater_is_better: bool = True
    uses: str = "labels"


def _of_scores(title: str, function: Callable[..., float], sums: Callable[..., SampleSums], greater: bool) -> Metric:
    return Metric(title, function, sums, greater_is_better=greater, uses="scores")


def _of_probabilities(title: str, function: Callable[..., float], sums: Callable[..., SampleSums]) -> Metric:
    return Metric(title, function, sums, greater_is_better=False, uses="probabilities")


def _at_k(
    title: str, function: Callable[..., float], sums: Callable[..., SampleSums], *options: str
) -> Callable[[int], Metric]:
    """A metric of the first k labels, as a function of k."""
    return lambda k: Metric(f"{title}@{k}", partial(function, k=k), partial(sums, k=k), options, uses="scores")


METRICS: Mapping[str, Metric] = {
    "hamming_loss": Metric("Hamming loss", sets.hamming_loss, sets.hamming_sums, greater_is_better=False),
    "precision": Metric("Precision", sets.precision, sets.precision_sums, ("both_empty", "zero_division")),
    "recall": Metric("Recall", sets.recall, sets.recall_sums, ("both_empty", "zero_division")),
    "f1": Metric("F1", sets.f1, sets.f1_sums, ("both_empty",)),
    "accuracy": Metric("Accuracy", sets.accuracy, sets.accuracy_sums, ("both_empty",)),
}
# Metrics of the first k labels, by the name before the @
_METRICS_AT_K = {
    "precision": _at_k("Precision", ranking.precision_at_k, ranking.precision_at_sums),
    "ndcg": _at_k("nDCG", ranking.ndcg_at_k, ranking.ndcg_at_sums),
    "psp": _at_k(
        "Propensity-scored precision",
        ranking.propensity_scored_precision_at_k,
        ranking.propensity_precision_sums,
        "propensities",
    ),
}
_LISTED_K = (1, 3, 5)  # as in comparisons of methods for many labels
ALL_METRICS: Mapping[str, Metric] = {
    **METRICS,
    "subset_accuracy": Metric("Subset accuracy", sets.subset_accuracy, sets.subset_accuracy_sums),
    "micro_f1": Metric("Micro F1", sets.micro_f1, sets.micro_f1_sums, ("zero_division",)),
    "macro_f1": Metric("Macro F1", sets.macro_f1, sets.macro_f1_sums, ("zero_division",)),
    "weighted_f1": Metric("Weighted F1", sets.weighted_f1, sets.weighted_f1_sums, ("zero_division",)),
    "ranking_loss": _of_scores("Ranking loss", ranking.ranking_loss, ranking.ranking_loss_sums, False),
    "one_error": _of_scores("One-error", ranking.one_error, ranking.one_error_sums, False),
    "coverage": _of_scores("Coverage, from 0", ranking.coverage, partial(ranking.coverage_sums, count_from=0), False),
    "coverage_error": _of_scores(
        "Coverage, from 1",
        partial(ranking.coverage, count_from=1),
        partial(ranking.coverage_sums, count_from=1),
        False,
    ),
    "label_ranking_average_precision": _of_scores(
        "Label-ranking average precision",
        ranking.label_ranking_average_precision,
        ranking.average_precision_sums,
        True,
    ),
    **{f"{name}@{k}": metric(k) for name, metric in _METRICS_AT_K.items() for k in _LISTED_K},
    "brier_score": _of_probabilities("Brier score", probability.brier_score, probability.brier_sums),
    "log_loss": _of_probabilities("Log loss", probability.log_loss, probability.log_loss_sums),
    "expected_calibration_error": _of_probabilities(
        "Expected calibration error", probability.expected_calibration_error, probability.calibration_sums
    ),
}


def find_metric(name: str) -> Metric:
    """The metric of a name: an entry of ``ALL_METRICS``, or ``precision@K``, ``ndcg@K`` or ``psp@K`` for any K."""
    known = {**ALL_METRICS, **METRICS}
    if name in known:
        return known[name]
    at_k = re.fullmatch(r"(\w+)@([1-9]\d*)", name) if isinstance(name, str) else None
    if at_k and at_k[1] in _METRICS_AT_K:
        return _METRICS_AT_K[at_k[1]](int(at_k[2]))
    raise ValueError(
        f"There is no metric {name!r}. Choose from {', '.join(ALL_METRICS)}; after @ stands the number of labels, for "
        "example precision@10."
    )


def evaluate(
    Y_true: Any,
    Y_pred: Any,
    scores: Any = None,
    *,
    measures: str | Iterable[str] = (),
    both_empty: float = 1.0,
    zero_division: float = 0.0,
    propensities: Any = None,
    sample_weight: Any = None,
) -> dict[str, float]:
    """The paper's five metrics, in its order, and further ones by name.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n, k)
        True and predicted labels, 0 or 1. NaN in ``Y_true`` is an unobserved label, which counts neither as true nor
        as false; samples without any observed label are left out.
    scores : array-like of shape (n, k), optional
        Probabilities or other scores, for metrics that use them.
    measures : iterable of str or "all", default=()
        Names from ``ALL_METRICS`` in addition to the five. "all" are those that can be computed: without ``scores``
        the metrics of labels, and with scores outside [0, 1] not those of probabilities.
    both_empty, zero_division : {0, 1, numpy.nan}, default=1 and 0
        What 0/0 counts as: in metrics of samples if both label sets are empty, and otherwise.
    propensities : array-like of shape (k,), optional
        What :func:`propensities` returns for the training labels; for ``psp@k``.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from sdgs.metrics import evaluate
    >>> evaluate([[1, 1, 0, 0]], [[1, 0, 1, 0]])["f1"]
    0.5
    >>> evaluate([[1, 1, 0, 0]], [[1, 0, 1, 0]], [[0.9, 0.4, 0.6, 0.1]], measures=["ranking_loss"])["ranking_loss"]
    0.25
    """
    options = {"both_empty": both_empty, "zero_division": zero_division, "propensities": propensities}
    sums = metric_sums(Y_true, Y_pred, scores, measures, options)
    weights = check_sample_weight(sample_weight, sums["f1"].terms.shape[0])
    return {name: of_metric.value(weights) for name, of_metric in sums.items()}


def metric_sums(
    Y_true: Any, Y_pred: Any, scores: Any, measures: str | Iterable[str], options: Mapping[str, Any]
) -> dict[str, SampleSums]:
    """The five metrics and ``measures`` as functions of sums over samples."""
    inputs: dict[str, tuple[Any, ...]] = {"labels": check_pair(Y_true, Y_pred)}
    names = {name: find_metric(name) for name in (*METRICS, *_asked(measures, scores, inputs["labels"][0].shape[1]))}
    used = {metric.uses for metric in names.values()}
    if scores is None and used != {"labels"}:
        without = [name for name, metric in names.items() if metric.uses != "labels"]
        raise ValueError(f"{', '.join(without)}: pass scores, such as predict_proba(X), to compute this.")
    if "scores" in used:
        inputs["scores"] = (ranking.check_ranking(Y_true, scores, name="scores"),)
    if "probabilities" in used:
        inputs["probabilities"] = check_probabilities(Y_true, scores)
    return {
        name: metric.sums(*inputs[metric.uses], **{option: options[option] for option in metric.options})
        for name, metric in names.items()
    }


def _asked(measures: str | Iterable[str], scores: Any, n_labels: int) -> list[str]:
    """The names of ``measures``; of "all" those that can be computed."""
    if not isinstance(measures, str):
        return list(measures)
    if measures != "all":
        raise ValueError(f"measures must be a list of names or 'all', got {measures!r}.")
    possible = {"labels"} if scores is None else {"labels", "scores"}
    if scores is not None and np.min(np.asarray(scores)) >= 0 and np.max(np.asarray(scores)) <= 1:
        possible.add("probabilities")
    return [
        name
        for name, metric in ALL_METRICS.items()
        if metric.uses in possible and int(name.partition("@")[2] or 1) <= n_labels
    ]


def evaluate_labels(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> dict[str, NDArray[Any]]:
    """Metrics per label: number of samples with the label, number predicted, precision, recall and F1.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n, k)
        True and predicted labels, 0 or 1. Of each label the samples count of which it is observed, not NaN in
        ``Y_true``.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples; the numbers are then sums of weights.

    Returns
    -------
    dict of ndarrays of shape (k,)
        ``samples``, ``predicted``, ``precision``, ``recall`` and ``f1``. Undefined ratios are NaN: the precision of a
        label that is never predicted, the recall of a label without samples, and F1 if both apply.

    Examples
    --------
    >>> from sdgs.metrics import evaluate_labels
    >>> evaluate_labels([[1, 1], [1, 0]], [[1, 0], [0, 0]])["recall"]
    array([0.5, 0. ])
    """
    true, pred, _ = check_pair(Y_true, Y_pred)
    counted = (true.multiply(pred), true, pred)
    if sample_weight is None:
        both, samples, predicted = (labels.sum(axis=0) for labels in counted)
    else:
        weights = check_sample_weight(sample_weight, true.shape[0])
        both, samples, predicted = (labels.T @ weights for labels in counted)
    with np.errstate(invalid="ignore"):
        return {
            "samples": samples,
            "predicted": predicted,
            "precision": both / predicted,
            "recall": both / samples,
            "f1": 2 * both / (samples + predicted),
        }
