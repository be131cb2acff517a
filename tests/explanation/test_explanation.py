"""The decomposition of samples: parts sum to the sample, shares to one, and corrupted entries are found."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdgs import Explanation, SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.explanation import Terms, explain_samples

# Parameters of the models by kind; "1-D" is a target with one class per sample.
MODELS = {
    "rows": {"scaling": "rows"},
    "unscaled": {"scaling": None},
    "columns": {"scaling": "columns"},
    "columns, huber": {"scaling": "columns", "huber": 0.1},
    "idf": {"scaling": "idf"},
    "idf, huber": {"scaling": "idf", "huber": 0.05},
    "huber": {"scaling": "rows", "huber": 0.05},
    "kernel": {"scaling": "rows", "gamma": 1.0, "n_landmarks": 30},
    "norm": {"scaling": "rows", "readout": "norm", "threshold": 0.01},
    "1-D": {"scaling": "rows"},
    "1-D, norm": {"scaling": "rows", "readout": "norm"},
}


@cache
def fitted(kind, dtype="float64"):
    """A model and its training samples."""
    data = make_label_subspaces(150, 12, 4, n_components=2, noise=0.05, random_state=0)
    X = (np.abs(data.X) if "idf" in kind else data.X + (3.0 if "columns" in kind else 0.0)).astype(dtype)
    y = data.Y.argmax(axis=1) if "1-D" in kind else data.Y
    return SDGSClassifier(2, cv=2, random_state=0, **MODELS[kind]).fit(X, y), X


@pytest.fixture(scope="module")
def digits():
    train = make_composite_digits(800, max_labels=2, spikes=0.03, subset="train", random_state=0)
    test = make_composite_digits(40, max_labels=2, spikes=0.03, subset="test", random_state=1)
    return SDGSClassifier(huber=0.05, random_state=0).fit(train.X, train.Y), test


@pytest.mark.slow
@given(
    kind=st.sampled_from(sorted(MODELS)),
    form=st.sampled_from(["dense", "sparse", "frame"]),
    dtype=st.sampled_from(["float64", "float32"]),
    missing=st.sampled_from([0.0, 0.2, 1.0]),
    spikes=st.booleans(),
    given_labels=st.booleans(),
    exponent=st.integers(-15, 15),
    seed=st.integers(0, 99),
)
@settings(max_examples=150, deadline=None)
def test_parts_sum_to_the_sample(kind, form, dtype, missing, spikes, given_labels, exponent, seed):
    model, X = fitted(kind, dtype)
    rng = np.random.default_rng(seed)
    X = X[rng.choice(len(X), 5, replace=False)].copy()
    X[rng.random(X.shape) < 0.3] = 0
    if spikes:
        X[rng.random(X.shape) < 0.1] *= 50
    if kind not in ("unscaled", "columns", "columns, huber"):  # these are not invariant to the scale of a sample
        X *= np.asarray(10.0**exponent, dtype=dtype)
    X[rng.random(X.shape) < missing] = np.nan
    labels = rng.integers(0, 2, (5, len(model.components_))) if given_labels else None
    data = {"dense": lambda: X, "sparse": lambda: csr_array(X), "frame": lambda: pd.DataFrame(X)}[form]()
    explanation = model.explain(data, labels)
    eps = {"float64": 1e-10, "float32": 4 * np.finfo(np.float32).eps}[dtype]
    assert len(explanation) == 5
    for row, sample in enumerate(explanation):
        parts = [sample.baseline, *sample.contributions, sample.residual]
        assert all(part.dtype == np.dtype(dtype) for part in parts)
        total = np.sum(parts, axis=0, dtype=np.float64)
        seen = ~np.isnan(X[row])
        largest = np.abs([sample.filled, sample.baseline]).max()
        assert (np.abs(total - sample.filled) <= eps * largest).all()
        np.testing.assert_array_equal(sample.filled[seen], X[row][seen])
        np.testing.assert_array_equal(sample.sample, X[row])
        np.testing.assert_array_equal(sample.missing, np.flatnonzero(~seen))
        assert not sample.residual[~seen].any()
        if labels is not None:
            np.testing.assert_array_equal(sample.labels, np.flatnonzero(labels[row]))
    np.testing.assert_array_equal(explanation.contributions(), model.contributions(data, labels))


@given(angle=st.floats(1e-16, 1.5), seed=st.integers(0, 99), scale=st.sampled_from([1e-200, 1e-5, 1.0, 1e150]))
@settings(max_examples=100, deadline=None)
def test_nearly_equal_subspaces_lose_no_precision(angle, seed, scale):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((8, 3)))[0].T
    twin = np.vstack([np.cos(angle) * Q[0] + np.sin(angle) * Q[1], Q[2]])
    terms = Terms(np.arange(2), np.arange(8), (Q[[0, 2]], twin), None, np.ones(8))
    X = rng.standard_normal((1, 8)) * scale
    (sample,) = explain_samples(X, np.ones((1, 2), bool), terms, probabilities=None, corruption=None, names=[0])
    total = sample.baseline + sample.contributions.sum(axis=0) + sample.residual
    assert np.linalg.norm((total - X[0]) / scale) <= 1e-10 * np.linalg.norm(X[0] / scale)
    rest = np.linalg.norm(sample.residual / scale) ** 2 / np.linalg.norm(X[0] / scale) ** 2
    assert sample.shares.sum() + rest == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_parts_are_least_squares_and_shares_sum_to_one(kind):
    model, X = fitted(kind)
    X = X[:20].copy()
    X[::2, 3] = np.nan
    explanation = model.explain(X, np.ones((20, len(model.components_))))
    shares = explanation.shares()
    for row, sample in enumerate(explanation):
        corruption = 0 if sample.corruption is None else sample.corruption
        seen = ~np.isnan(X[row])
        rest = np.where(seen, sample.residual - corruption, 0) / sample.terms.unit
        z = np.where(seen, X[row] - corruption - sample.baseline, 0) / sample.terms.unit
        for i in sample.labels:
            np.testing.assert_allclose(model.components_[i] @ rest, 0, atol=1e-8)
        assert sample.shares.sum() + (rest @ rest) / (z @ z) == pytest.approx(1, abs=1e-9)
        np.testing.assert_allclose(sample.evidence().sum(axis=1), sample.shares, atol=1e-12)
        np.testing.assert_allclose(shares[row, sample.labels], sample.shares)
        for b, C, part in zip(
            sample.coefficients, (model.components_[i] for i in sample.labels), sample.contributions, strict=True
        ):
            np.testing.assert_allclose(part / sample.terms.unit, b @ C, atol=1e-12)
    stacked = np.vstack(model.components_)
    np.testing.assert_allclose(
        explanation.coefficients().toarray() @ stacked * explanation.terms.unit,
        explanation.contributions().sum(axis=1),
        atol=1e-9,
    )


def test_shares_where_subspaces_overlap():
    axes = np.eye(4)
    terms = Terms(np.array(["a", "b", "c"]), np.arange(4), (axes[:2], axes[1:3], axes[3:]), None, np.ones(4))
    (sample,) = explain_samples(
        np.array([[1.0, 2.0, 3.0, 0.0]]),
        np.array([[True, True, True]]),
        terms,
        probabilities=None,
        corruption=None,
        names=["sample"],
    )
    # The second entry lies in both subspaces: each gets half of it, and it is unique to neither.
    np.testing.assert_allclose(sample.contributions, [[1, 1, 0, 0], [0, 1, 3, 0], [0, 0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(sample.shares, np.array([1 + 2, 9 + 2, 0]) / 14, atol=1e-12)
    np.testing.assert_allclose(sample.unique_shares, np.array([1, 9, 0]) / 14, atol=1e-12)
    assert sample.reasons(0).tolist() == [1, 0]
    assert sample.reasons(1, 1).tolist() == [2]
    assert sample.reasons(2).tolist() == []
    assert "c explains" not in sample.text()


def test_probabilities_and_labels_are_the_predicted_ones(digits):
    model, test = digits
    explanation = model.explain(test.X)
    p, predicted = model.predict_proba(test.X), model.predict(test.X)
    for row, sample in enumerate(explanation):
        np.testing.assert_array_equal(sample.labels, np.flatnonzero(predicted[row]))
        np.testing.assert_allclose(sample.probabilities, p[row, sample.labels])
    norm, X = fitted("norm")
    assert norm.explain(X[:2])[0].probabilities is None
    one, X = fitted("1-D")
    for sample, proba in zip(one.explain(X[:9]), one.predict_proba(X[:9]), strict=True):
        assert sample.labels.tolist() == [proba.argmax()]
        np.testing.assert_allclose(sample.probabilities, proba.max())


def test_corrupted_entries_are_found(digits):
    model, test = digits
    clean = make_composite_digits(40, max_labels=2, subset="test", random_state=1).X
    explanation = model.explain(test.X, test.Y)
    np.testing.assert_allclose(
        test.X - np.vstack([sample.corruption for sample in explanation]), model.transform(test.X), atol=1e-9
    )
    n_found = n_nearer = n_corrupted = 0
    for row, sample in enumerate(explanation):
        corrupted = np.flatnonzero(test.X[row] != clean[row])
        assert set(np.flatnonzero(sample.corruption)) == set(sample.corrupted)
        sizes = np.abs(sample.corruption[sample.corrupted])
        assert (np.diff(sizes) <= 0).all()
        n_found += sample.corrupted[0] in corrupted
        n_corrupted += corrupted.size
        n_nearer += (np.abs(sample.expected - clean[row]) < np.abs(test.X[row] - clean[row]))[corrupted].sum()
        first = sample.top_residuals(1)[0]
        assert first.corrupted
        assert first.value == test.X[row, first.feature]
        assert first.expected == pytest.approx(sample.expected[first.feature])
    assert n_found > 0.8 * len(test.X)
    assert n_nearer > 0.9 * n_corrupted
    plain, X = fitted("rows")
    sample = plain.explain(X[:1])[0]
    assert sample.corrupted is sample.corruption is None
    entries = sample.top_residuals(3)
    assert [entry.corrupted for entry in entries] == [None] * 3
    assert [entry.feature for entry in entries] == np.argsort(-np.abs(sample.residual))[:3].tolist()


def test_an_explanation_is_a_sequence():
    model, X = fitted("rows")
    explanation = model.explain(X[:8], feature_names=[f"word {j}" for j in range(12)], label_names=list("abcd"))
    assert explanation.shape == (8, 4, 12)
    assert isinstance(explanation[2:4], Explanation)
    assert [sample.name for sample in explanation[2:4]] == [2, 3]
    assert explanation[-1] is explanation.samples[7]
    np.testing.assert_array_equal(explanation.residual()[3], explanation[3].residual)
    assert explanation.text(3) == explanation[3].text()
    assert "word " in explanation.text(0)
    again = pickle.loads(pickle.dumps(explanation))
    np.testing.assert_array_equal(again.contributions(), explanation.contributions())
    with pytest.raises(ValueError, match="feature_names must have 12 names, got 1"):
        model.explain(X, feature_names=["a"])
    with pytest.raises(ValueError, match="labels must have one column for each of the 4 labels, got 3"):
        model.explain(X[:1], [[1, 0, 0]])


def test_the_explanation_keeps_a_copy_of_the_samples():
    model, X = fitted("rows")
    samples = X[:2].copy()
    explanation = model.explain(samples)
    before = explanation.residual()
    samples[:] = 0
    np.testing.assert_array_equal(explanation.residual(), before)


def test_the_best_model_of_a_search_explains(digits):
    train = make_composite_digits(200, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifierCV(budget=3, random_state=0).fit(train.X, train.Y)
    for sample, x in zip(model.explain(digits[1].X), digits[1].X, strict=True):
        np.testing.assert_allclose(sample.contributions.sum(axis=0) + sample.residual + sample.baseline, x, rtol=1e-10)
