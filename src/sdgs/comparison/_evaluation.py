"""Fit one method to the training samples of one split, predict the others, and measure it."""

import warnings
from collections.abc import Mapping
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sdgs import metrics
from sdgs._utils._text import one_line
from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_labels
from sdgs.comparison._compared_data import ComparedData, take_rows
from sdgs.comparison._splits import Split
from sdgs.estimators._classifier import warm_up
from sdgs.estimators._label_scores import as_columns
from sdgs.preprocessing._table_encoder import encoder_of

_MAX_MESSAGE = 500  # characters of a warning or an error that are kept
Record = dict[str, Any]


def evaluate_split(data: ComparedData, estimator: Any, split: Split) -> Record:
    """The record of one method on one split, which can be stored as JSON.

    It has the ``measures`` of ``sdgs.metrics.ALL_METRICS`` on the test samples that can be computed,
    ``fit_seconds``, ``predict_seconds``, ``warnings``, and per label how many test samples have it, are predicted to
    have it, and both. If the method fails, the record has only ``error`` and ``warnings``.
    """
    train, test = split
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            if _is_compiled(estimator):
                _compile_once(_gets_sparse(data.X, estimator))
                caught.clear()
            record = _measure(data, clone(estimator), train, test)
        except Exception as error:
            record = {"error": _message(error)}
    record["warnings"] = sorted({_message(warning.message) for warning in caught if _is_shown(warning)})
    return record


def _measure(data: ComparedData, model: Any, train: Any, test: Any) -> Record:
    X, X_test = take_rows(data.X, train), take_rows(data.X, test)
    y = data.target(train)
    start = perf_counter()
    model.fit(X, y)
    fitted = perf_counter()
    predicted = model.predict(X_test)
    end = perf_counter()
    true = data.labels[test]
    found = check_labels(predicted, n_samples=test.size, name="the prediction", some_positive=False)
    if found.shape != true.shape:
        raise ValueError(f"the prediction has {found.shape[1]} columns for {true.shape[1]} labels.")
    known, unobserved = split_unobserved(true)
    known_found = found if unobserved is None else found > found.multiply(unobserved)
    counts: Mapping[str, Any] = {"both": known.multiply(known_found), "samples": known, "predicted": known_found}
    scores = _scores(model, X_test, true.shape[1])
    propensities = metrics.propensities(data.labels[train])
    return {
        "measures": metrics.evaluate(true, found, scores, measures="all", propensities=propensities),
        "fit_seconds": fitted - start,
        "predict_seconds": end - fitted,
        "labels": {
            name: np.asarray(matrix.sum(axis=0)).ravel().astype(int).tolist() for name, matrix in counts.items()
        },
    }


def _scores(model: Any, X: Any, n_labels: int) -> Any:
    """Probabilities of labels, or other scores; None, with a warning, if the method has none that can be used."""
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)
    if method is None:
        return None
    try:
        scores = as_columns(getattr(model, method)(X), n_labels)
        if np.isfinite(scores).all():
            return scores
        problem = "they are not finite"
    except (ValueError, TypeError, IndexError) as error:
        problem = one_line(error)
    warnings.warn(f"measures of scores are missing, because {method} cannot be used: {problem}", stacklevel=2)
    return None


def _gets_sparse(X: Any, estimator: Any) -> bool:
    """Whether the samples are sparse, or become so in the first step of a pipeline."""
    encoder = encoder_of(estimator)
    return bool(issparse(X)) if encoder is None else encoder.sparse_output is True


def _is_compiled(estimator: Any) -> bool:
    """Whether it is an estimator of this package, or has one as a parameter."""
    parts = [estimator, *estimator.get_params().values()]
    return any(type(part).__module__.startswith("sdgs.") for part in parts)


@cache
def _compile_once(sparse: bool) -> None:
    """Compile and load outside the measured time, because both happen only once per process."""
    rng = np.random.default_rng(0)
    X = rng.random((24, 6))
    warm_up(csr_array(X) if sparse else X, robust=False)


def _is_shown(warning: warnings.WarningMessage) -> bool:
    """Warnings about the data or the method, and none about the use of a library."""
    return issubclass(warning.category, UserWarning | RuntimeWarning | ConvergenceWarning)


def _message(problem: Any) -> str:
    name = "" if isinstance(problem, Warning) else f"{type(problem).__name__}: "
    text = one_line(problem)
    return name + (text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]} ...")
