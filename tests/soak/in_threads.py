"""Predictions and fits in several threads: the same answers as in one, bit for bit, and nothing grows."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces
from sdgs.methods import MDDM, BinaryRelevance, MLkNN
from soak.usage import no_growth

_N_ROWS = 20  # different rows that are predicted
_WARM_UP_SHARE = 0.2  # of the work, before the first measurement


def _problem():
    data = make_label_subspaces(80, 12, 4, n_components=2, noise=0.2, random_state=0)
    sparse = csr_array(np.where(np.abs(data.X) > 0.1, data.X, 0))
    return data.X, sparse, data.Y


def _estimators():
    """Estimators of every kind, each with whether it gets sparse samples."""
    kernel = SDGSClassifier(2, gamma=1.0, n_landmarks=8, cv=2, random_state=0)
    search = SDGSClassifierCV(n_components=(1, 2), gammas=(None,), budget=4, cv=2, random_state=0)
    return {
        "norm": (SDGSClassifier(2, readout="norm", random_state=0), False),
        "ridge": (SDGSClassifier(2, cv=2, random_state=0, n_jobs=2), False),
        "sparse": (SDGSClassifier(2, cv=2, random_state=0), True),
        "robust": (SDGSClassifier(2, huber=0.5, scaling="columns", cv=2, random_state=0), False),
        "kernel": (kernel, False),
        "search": (search, False),
        "binary relevance": (BinaryRelevance(), False),
        "ML-kNN": (MLkNN(), False),
        "MDDM": (MDDM(2), False),
    }


def _answers(model, X):
    """The bytes of everything that a model answers."""
    methods = ("predict", "predict_proba", "decision_function", "transform", "contributions")
    answers = [getattr(model, method)(X) for method in methods if hasattr(model, method)]
    return b"".join(
        (answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)).tobytes() for answer in answers
    )


def _run(tasks, work, n_threads):
    """Run ``work(task)`` for each, in threads; False for a wrong answer."""
    with ThreadPoolExecutor(n_threads) as threads:
        results = list(threads.map(work, tasks))
    assert all(results), f"{results.count(False)} of {len(results)} answers differ from those of a single thread"


def _run_with_warm_up(n_tasks, work, n_threads, report):
    first = max(int(n_tasks * _WARM_UP_SHARE), 1)
    _run(range(first), work, n_threads)
    with no_growth(report):
        _run(range(first, n_tasks), work, n_threads)


def _show_nothing(*_, **__):
    pass


@contextmanager
def _no_warnings():
    """Around all threads, because filters of warnings belong to the process; scikit-learn's threads exchange them."""
    with warnings.catch_warnings(), patch("warnings.showwarning", _show_nothing):
        warnings.simplefilter("ignore")
        yield


@_no_warnings()
def soak_predictions(n_predictions, n_threads, report):
    """Single rows, predicted by models that all threads share."""
    X, sparse, Y = _problem()
    cases = []
    for estimator, is_sparse in _estimators().values():
        samples = sparse if is_sparse else X
        model = clone(estimator).fit(samples, Y)
        rows = [samples[[i]] for i in range(_N_ROWS)]
        cases += [(model, row, _answers(model, row)) for row in rows]

    def predict(i):
        model, row, expected = cases[i % len(cases)]
        return _answers(model, row) == expected

    _run_with_warm_up(n_predictions, predict, n_threads, report)


@_no_warnings()
def soak_fits(n_fits, n_threads, report):
    """Fits of estimators of every kind at the same time."""
    X, sparse, Y = _problem()
    cases = []
    for estimator, is_sparse in _estimators().values():
        samples = sparse if is_sparse else X
        cases.append((estimator, samples, _answers(clone(estimator).fit(samples, Y), samples)))

    def fit(i):
        estimator, samples, expected = cases[i % len(cases)]
        return _answers(clone(estimator).fit(samples, Y), samples) == expected

    _run_with_warm_up(n_fits, fit, n_threads, report)
