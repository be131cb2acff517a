"""Methods and results for tests of comparisons."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sdgs.comparison import Comparison, MethodResult
from sdgs.metrics import ALL_METRICS


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts that every sample has the labels that at least ``share`` of the training samples have."""

    def __init__(self, share=0.5, fails_with=None, warns=False):
        self.share, self.fails_with, self.warns = share, fails_with, warns

    def fit(self, X, y):
        if self.warns:
            warnings.warn("these data are <b>odd</b>", UserWarning, stacklevel=2)
        if self.fails_with is not None and np.asarray(X)[0, 0] == self.fails_with:
            raise ValueError("the first sample is\nnot <i>liked</i>")
        self.labels_ = np.asarray(y).mean(axis=0) >= self.share
        return self

    def predict(self, X):
        return np.tile(self.labels_.astype(int), (len(X), 1))


def make_result(name, values, *, failures=None, seconds=1.0, title=None, warnings=None, n_labels=3):
    """The result of a method whose measures are all the same."""
    values = np.asarray(values, dtype=float)
    return MethodResult(
        name=name,
        title=title or name.upper(),
        estimator=Constant(),
        parameters={"class": "Constant", "share": "0.5"},
        measures=dict.fromkeys(ALL_METRICS, values),
        fit_seconds=np.full(values.size, seconds),
        predict_seconds=np.full(values.size, seconds / 10),
        label_f1=np.r_[np.linspace(0.2, 0.8, n_labels - 1), np.nan],
        warnings=warnings or {},
        failures=failures or {},
    )


def make_comparison(results, *, metric="f1", left_out=None, label_names=("a", "b", "c")):
    """A comparison with these results, which are already sorted."""
    return Comparison(
        methods=tuple(results),
        metric=metric,
        left_out=left_out or {},
        notes=("Values are standardised.",),
        n_samples=100,
        n_features=5,
        n_labels=len(label_names),
        label_names=tuple(label_names),
        label_counts=np.arange(len(label_names))[::-1],
        n_splits=results[0].fit_seconds.size,
        n_repeats=1,
        random_state=0,
        test_share=0.25,
        versions={"sdgs": "1"},
    )
