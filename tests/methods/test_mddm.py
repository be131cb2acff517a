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


def exponential(A, B):
    return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))


KERNELS = {
    "linear": lambda Y: Y @ Y.T,
    "cosine": lambda Y: (Y @ Y.T) / np.sqrt(np.maximum(np.outer(Y.sum(axis=1), Y.sum(axis=1)), 1)),
    "rbf": lambda Y: np.exp(-(Y[:, None] != Y[None]).sum(axis=2) / Y.shape[1]),
    exponential: lambda Y: exponential(Y, Y),
}


@pytest.mark.parametrize("shape", [(60, 8), (12, 30)])
@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "cosine", "rbf", "callable"])
@pytest.mark.parametrize("projection", ["uncorrelated", "orthonormal"])
def test_label_kernels_and_orthonormal_directions(shape, kernel, projection):
    rng = np.random.default_rng(0)
    n, p = shape
    X, Y = rng.standard_normal((n, p)) + 3.0, rng.integers(0, 2, size=(n, 4))
    model = MDDM(5, regularization=0.2, projection=projection, label_kernel=kernel).fit(X, Y)
    H = np.eye(n) - 1 / n
    A = X.T @ H @ KERNELS[kernel](Y) @ H @ X
    B = 0.8 * X.T @ H @ X + 0.2 * np.eye(p) if projection == "uncorrelated" else np.eye(p)
    values = eigh(A, B, eigvals_only=True)[::-1]
    d = 4 if kernel in ("linear", "cosine") else 5
    np.testing.assert_allclose(model.dependence_, values[:d], rtol=1e-7)
    P = model.components_.T
    np.testing.assert_allclose(P.T @ B @ P, np.eye(d), atol=1e-7)
    np.testing.assert_allclose(P.T @ A @ P, np.diag(values[:d]), atol=1e-6 * values[0])


def test_a_callable_label_kernel_may_be_a_named_one(digits):
    train, _ = digits
    named = MDDM(3).fit(train.X, train.Y)
    called = MDDM(3, label_kernel=lambda A, B: A @ B.T).fit(train.X, train.Y)
    signs = np.sign((named.components_ * called.components_).sum(axis=1))
    np.testing.assert_allclose(called.components_ * signs[:, None], named.components_, atol=1e-9)


@pytest.mark.parametrize("kernel", [lambda A, _: A, lambda A, B: np.nan * (A @ B.T)], ids=["shape", "nan"])
def test_label_kernels_of_another_shape_or_without_values_are_rejected(digits, kernel):
    train, _ = digits
    with pytest.raises(ValueError, match="label_kernel must return a finite matrix"):
        MDDM(label_kernel=kernel).fit(train.X, train.Y)


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
    with pytest.raises(ValueError, match="projection must be one of"):
        MDDM(projection="other").fit(train.X, train.Y)
    with pytest.raises(ValueError, match="label_kernel must be one of"):
        MDDM(label_kernel="other").fit(train.X, train.Y)


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
