"""Invalid input: an error that names the argument and says what to do, before anything is computed."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array

from sdgs import SDGSClassifier, decompose, group_lasso, metrics
from sdgs.datasets import make_composite_digits, make_label_subspaces

X = np.random.default_rng(0).standard_normal((6, 4))
Y = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1], [1, 1]])
BASIS = [np.eye(4)[:2], np.eye(4)[2:]]
HUGE = 10**400  # beyond float64


def with_first_entry(value):
    copy = X.copy()
    copy[0, 0] = value
    return copy


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": with_first_entry(np.inf)}, "X contains infinity"),
        ({"X": [[HUGE] * 4, *X.tolist()[1:]]}, "X has an integer that is too large for float64"),
        ({"X": np.full(X.shape, HUGE, dtype=object)}, "X has an integer that is too large for float64"),
        ({"Y": Y.astype(object) * HUGE}, "Y must hold only 0 and 1"),
        ({"max_iter": HUGE}, r"max_iter must be an integer >= 1 and < 2\*\*63, got 1000"),
        ({"tol": HUGE}, "tol must be a finite number >= 0, got 1000"),
        ({"X": X[0]}, "Expected 2D array"),
        ({"X": X[:0], "Y": Y[:0]}, "Found array with 0 sample"),
        ({"X": X[:, :0]}, r"Found array with 0 feature"),
        ({"X": [["a", "b"]]}, "could not convert string"),
        ({"Y": Y[:4]}, "X and Y must have the same number of rows, got 6 and 4"),
        ({"Y": Y[:, 0]}, "Y must be a 2-D matrix with one column per label"),
        ({"Y": Y[:, :0]}, "Y has no labels"),
        ({"Y": 2 * Y}, "Y must hold only 0 and 1"),
        ({"Y": Y - 0.5}, "Y must hold only 0 and 1"),
        ({"Y": np.where(Y, np.nan, 0)}, "Y has no positive entry"),
        ({"Y": np.where(Y, "yes", "no")}, "Y must hold only 0 and 1, as numbers or booleans; its dtype is <U3"),
        ({"Y": Y.astype(str)}, "Y must hold only 0 and 1, as numbers or booleans; its dtype is <U"),
        ({"Y": Y.astype(str).astype(object)}, "Y must hold only 0 and 1"),
        ({"Y": Y.astype(bytes)}, "Y must hold only 0 and 1"),
        ({"Y": Y.astype(complex)}, "Y must hold only 0 and 1"),
        ({"Y": coo_array(([1, 1], ([0, 0], [0, 0])), shape=(6, 2))}, "Y must hold only 0 and 1"),
        ({"Y": 0 * Y}, "Y has no positive entry"),
        ({"X": np.ma.masked_greater(X, 0)}, "X is a masked array with masked entries"),
        ({"Y": np.ma.masked_array(Y, Y == 1)}, "Y is a masked array with masked entries"),
        ({"Y": pd.DataFrame(Y, columns=["a", "a"])}, "Y has columns with the same name"),
        ({"n_components": 0}, "n_components must be an integer >= 1, got 0"),
        ({"n_components": 2.0}, "n_components must be an integer >= 1, got 2.0"),
        ({"n_components": True}, "n_components must be an integer >= 1, got True"),
        ({"n_components": "all"}, "n_components must be an integer >= 1, got 'all'"),
        ({"n_components": [1, 2, 3]}, "one for each of the 2 labels; got 3"),
        ({"n_components": [1, -1]}, "n_components must be an integer >= 1, got -1"),
        ({"residual_size": -1}, "residual_size must be an int >= 0"),
        ({"residual_size": 1.5}, r"or a float in \[0, 1\]"),
        ({"residual_size": np.nan}, "residual_size must be"),
        ({"residual_size": "few"}, "residual_size must be"),
        ({"residual_size": True}, "residual_size must be"),
        ({"solver": "SVD"}, "solver must be one of 'brp', 'svd', 'brp-fresh'; got 'SVD'"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1, got 0"),
        ({"tol": -1e-3}, "tol must be a finite number >= 0"),
        ({"tol": np.nan}, "tol must be a finite number >= 0"),
        ({"random_state": "seed"}, "random_state must be None, an integer in .* got 'seed'"),
        ({"random_state": -1}, "random_state must be None, an integer in .* got -1"),
    ],
)
def test_decompose_and_fit_reject(arguments, message):
    with pytest.raises(ValueError, match=message):
        decompose(**{"X": X, "Y": Y, **arguments})
    if arguments.keys() == {"Y"} and np.ndim(arguments["Y"]) == 1:
        return  # the classifier takes one class per sample
    given = {"X": X, "Y": Y, **arguments}
    parameters = {name: value for name, value in given.items() if name not in ("X", "Y")}
    if "same number of rows" in message:
        message = "inconsistent numbers of samples"  # scikit-learn's own words
    message = re.sub(r"\bY\b", "y", message).replace(", 'brp-fresh'", "")
    with pytest.raises(ValueError, match=message):
        SDGSClassifier(**parameters).fit(given["X"], given["Y"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -0.1}, "alpha must be a finite number >= 0, got -0.1"),
        ({"alpha": None}, "alpha must be a finite number >= 0, got None"),
        ({"alpha": HUGE}, "alpha must be a finite number >= 0, got 1000"),
        ({"cv": HUGE}, r"cv must be an integer >= 2 and < 2\*\*63, got 1000"),
        ({"n_jobs": -HUGE}, "n_jobs must be None or an integer other than 0 .* of at most 32 bits, got -1000"),
        ({"threshold": 0}, "threshold must be a finite number > 0, got 0"),
        ({"threshold": "auto"}, "threshold must be a finite number > 0, got 'auto'"),
        ({"scaling": "rank"}, "scaling must be one of 'auto', 'rows', 'columns', 'idf', None; got 'rank'"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
        ({"n_jobs": 1.5}, "n_jobs must be None or an integer other than 0 .* got 1.5"),
        ({"n_jobs": "all"}, "n_jobs must be None or an integer other than 0 .* got 'all'"),
    ],
)
def test_the_classifier_rejects_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SDGSClassifier(**parameters).fit(X, Y)
    model = SDGSClassifier(1, random_state=0).fit(X, Y).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_the_classifier_rejects_input():
    with pytest.raises(ValueError, match="requires y to be passed"):
        SDGSClassifier().fit(X, None)
    with pytest.raises(ValueError, match="y contains NaN or None: labels are missing in 1 of 6 rows"):
        SDGSClassifier().fit(X, ["a", None, "a", "b", "a", "b"])
    with pytest.raises(ValueError, match="y has classes of different types"):
        SDGSClassifier().fit(X, np.array(["a", 1, "a", "b", "a", "b"], dtype=object))
    with pytest.raises(ValueError, match="y has columns with the same name"):
        SDGSClassifier().fit(X, pd.DataFrame(Y, columns=["a", "a"]))
    model = SDGSClassifier(1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but SDGSClassifier is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict(with_first_entry(np.inf))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": with_first_entry(np.inf)}, "X contains infinity"),
        ({"X": X[:0]}, "Found array with 0 sample"),
        ({"X": X.astype(np.float32), "tol": 1e-9}, "tol must be at least 1e-06 for float32"),
        ({"X": X * 0 + 1.7e308}, "norm overflows. Scale X and alpha down"),
        ({"X": [[HUGE] * 4]}, "X has an integer that is too large for float64"),
        ({"components": [[[HUGE] * 4]]}, r"components\[0\] has an integer that is too large for float64"),
        ({"components": []}, "components is empty"),
        ({"components": None}, "components is empty"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
        ({"components": [np.eye(3)]}, r"components\[0\] must have shape \(r, 4\), one column per feature of X"),
        ({"components": [BASIS[0], np.ones(4)]}, r"components\[1\] must have shape"),
        ({"components": [BASIS[0], 2 * BASIS[1]]}, r"components\[1\] must have orthonormal rows"),
        ({"components": [BASIS[0] * np.nan]}, r"components\[0\] must have orthonormal rows"),
        ({"alpha": -1.0}, "alpha must be a finite number >= 0, got -1.0"),
        ({"alpha": np.inf}, "alpha must be a finite number >= 0"),
        ({"alpha": "small"}, "alpha must be a finite number >= 0, got 'small'"),
        ({"tol": 0}, "tol must be a finite number > 0"),
        ({"max_iter": 1.5}, "max_iter must be an integer >= 1, got 1.5"),
    ],
)
def test_group_lasso_rejects(arguments, message):
    with pytest.raises(ValueError, match=message):
        group_lasso(**{"X": X, "components": BASIS, "alpha": 0.1, **arguments})


@pytest.mark.parametrize(
    ("Y_true", "Y_pred", "message"),
    [
        (Y, Y[:3], r"same shape, got \(6, 2\) and \(3, 2\)"),
        (Y, 2 * Y, "Y_pred must hold only 0 and 1"),
        (Y[:, 0], Y, "Y_true must be a 2-D matrix"),
        (Y[:0], Y[:0], "no samples"),
        (pd.DataFrame(Y, columns=["a", "b"]), pd.DataFrame(Y[:, ::-1], columns=["b", "a"]), "have different columns"),
    ],
)
def test_metrics_reject(Y_true, Y_pred, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(Y_true, Y_pred)


def test_metrics_reject_values_for_empty_label_sets():
    with pytest.raises(ValueError, match=r"both_empty must be 0, 1 or numpy.nan, got 0.5"):
        metrics.f1(Y, Y, both_empty=0.5)
    with pytest.raises(ValueError, match=r"zero_division must be 0, 1 or numpy.nan, got 1000"):
        metrics.precision(Y, Y, zero_division=HUGE)
    with pytest.raises(ValueError, match=r"zero_division must be 0, 1 or numpy.nan, got 'warn'"):
        metrics.precision(Y, Y, zero_division="warn")


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_composite_digits, {"n_samples": 0}, "n_samples must be an integer >= 1"),
        (make_composite_digits, {"max_labels": 11}, "max_labels must be at most 10"),
        (make_composite_digits, {"spikes": 2}, r"spikes must be a share of the entries in \[0, 1\], got 2"),
        (make_composite_digits, {"subset": "some"}, "subset must be one of 'all', 'train', 'test'"),
        (make_label_subspaces, {"n_components": 101}, r"n_components \(101\) must be at most n_features \(100\)"),
        (make_label_subspaces, {"labels_per_sample": 11}, r"labels_per_sample \(11\) at most n_labels \(10\)"),
        (make_label_subspaces, {"noise": -1}, "noise must be a finite number >= 0"),
    ],
)
def test_synthetic_datasets_reject(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)
