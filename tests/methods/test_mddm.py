"""MDDM."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array

from sdgs.methods import MDDM


@pytest.mark.parametrize("shape", [(60, 8), (12, 30), (20, 20)])
@pytest.mark.parametrize("mu", [0.12, 0.5, 1.0])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_agrees_with_a_generalised_eigensolver(shape, mu, convert):
    rng = np.random.default_rng(0)
    n, p = shape
    X = rng.standard_normal((n, p)) + 3.0
    Y = rng.integers(0, 2, size=(n, 4))
    model = MDDM(4, regularization=mu).fit(convert(X), Y)
    H = np.eye(n) - 1 / n
    A = X.T @ H @ Y @ Y.T @ H @ X
    B = (1 - mu) * X.T @ H @ X + mu * np.eye(p)
    values, vectors = eigh(A, B)
    np.testing.assert_allclose(model.dependence_, values[::-1][:4], rtol=1e-7)
    for direction, expected in zip(model.components_, vectors.T[::-1], strict=False):
        np.testing.assert_allclose(direction * np.sign(direction @ expected), expected, atol=1e-6)
    np.testing.assert_allclose(model.components_ @ B @ model.components_.T, np.eye(4), atol=1e-7)
    np.testing.assert_allclose(model.transform(convert(X)), H @ X @ model.components_.T, atol=1e-7)


def test_there_are_no_more_directions_than_labels(digits):
    train, _ = digits
    assert MDDM().fit(train.X, train.Y).components_.shape == (10, 64)  # not 13: ten labels
    assert MDDM(0.05).fit(train.X, train.Y).components_.shape == (3, 64)


def test_columns_of_a_data_frame_are_named(digits):
    train, _ = digits
    framed = MDDM(2).set_output(transform="pandas").fit(pd.DataFrame(train.X).add_prefix("x"), train.Y)
    assert list(framed.transform(pd.DataFrame(train.X).add_prefix("x")).columns) == ["mddm0", "mddm1"]


def test_bad_parameters_are_rejected(digits):
    train, _ = digits
    for n_components, message in [(0, "n_components"), (1.5, "share in"), ("all", "n_components")]:
        with pytest.raises(ValueError, match=message):
            MDDM(n_components).fit(train.X, train.Y)
    with pytest.raises(ValueError, match=r"regularization must be in \(0, 1\]"):
        MDDM(regularization=2).fit(train.X, train.Y)


@pytest.mark.parametrize("shape", [(60, 8), (12, 30)])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize(("offset", "dtype", "atol"), [(1e7, np.float64, 1e-6), (2000, np.float32, 1e-3)])
def test_offset_features_give_the_same_directions(shape, convert, offset, dtype, atol):
    rng = np.random.default_rng(0)
    X, Y = rng.integers(-8, 9, shape).astype(dtype) / 4, rng.integers(0, 2, (shape[0], 4))  # exact after the offset
    plain, shifted = (MDDM(3).fit(convert(samples), Y) for samples in (X, X + dtype(offset)))
    np.testing.assert_allclose(shifted.dependence_, plain.dependence_, rtol=1e-6)
    signs = np.sign((shifted.components_ * plain.components_).sum(axis=1))
    np.testing.assert_allclose(shifted.components_ * signs[:, None], plain.components_, atol=atol)
    np.testing.assert_allclose(
        shifted.transform(convert(X + dtype(offset))) * signs, plain.transform(convert(X)), atol=atol
    )
