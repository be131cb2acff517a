"""Missing and corrupted entries, in training and in prediction."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from reference import decompose_by_definition
from sdgs import SDGSClassifier, decompose, metrics
from sdgs._utils._row_norms import unit_rows
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.decomposition.backends._dense_alternation import DenseAlternation


def with_gaps(X, share, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def with_spikes(X, share, seed=0):
    rng = np.random.default_rng(seed)
    spikes = rng.random(X.shape) < share
    return X + np.where(spikes, rng.choice([-1, 1], X.shape) * 3 * X.std() * rng.uniform(1, 2, X.shape), 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_training_agrees_with_the_definition(share):
    data = make_label_subspaces(60, 12, 4, n_components=2, noise=0.3, random_state=0)
    X = with_gaps(data.X, share)
    L, S, objective = decompose_by_definition(X, data.Y, 2, 10, 6)
    ours = decompose(X, data.Y, n_components=2, residual_size=10, solver="svd", max_iter=6, tol=0)
    np.testing.assert_allclose(ours.objective, objective, rtol=1e-8)
    for i in range(4):
        np.testing.assert_allclose(ours.low_rank(i), L[i], atol=1e-6)
    np.testing.assert_allclose(ours.residual.toarray(), np.where(np.isnan(X), 0, S), atol=1e-6)


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    p=st.integers(1, 8),
    k=st.integers(1, 4),
    r=st.integers(1, 4),
    K=st.integers(0, 8),
    share=st.sampled_from([0.1, 0.5, 1.0]),
    solver=st.sampled_from(["svd", "brp"]),
)
def test_the_error_never_rises(seed, n, p, k, r, K, share, solver):
    rng = np.random.default_rng(seed)
    X, Y = with_gaps(rng.standard_normal((n, p)), share, seed), rng.random((n, k)) < 0.5
    rows = tuple(np.flatnonzero(column) for column in Y.T)
    state = DenseAlternation(X, rows, np.full(k, r), K, solver, 0)
    state.sweep()
    before = state.error()
    for _ in range(4):
        for step in [*(lambda i=i: state.label_step(i) for i in range(k)), state.residual_step]:
            step()
            after = state.error()
            assert after <= before * (1 + 1e-9) + 1e-12
            before = after
        state.sweeps += 1
        assert not state.R[np.isnan(X)].any()


def test_what_is_missing_is_filled_in():
    """On planted subspaces a fifth of the entries is not needed: the rest say what they were."""
    data = make_label_subspaces(1500, 60, 8, n_components=2, random_state=0)
    X = with_gaps(data.X, 0.2)
    result = decompose(X, data.Y, n_components=2, residual_size=0, tol=1e-6, max_iter=300, random_state=0)
    gaps = np.isnan(X)
    error = np.linalg.norm((result.reconstruct() - data.X)[gaps]) / np.linalg.norm(data.X[gaps])
    assert error < 0.05


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_and_dense_agree(dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 15)) < 0.4, rng.standard_normal((80, 15)), 0).astype(dtype)
    X = with_gaps(X, 0.1)
    X[3] = np.nan
    X[4] = 0.0
    Y = rng.random((80, 3)) < 0.4
    for values, kept in zip(unit_rows(X), unit_rows(csr_array(X)), strict=True):
        np.testing.assert_allclose(kept.toarray() if hasattr(kept, "toarray") else kept, values, rtol=1e-6)
    dense = SDGSClassifier(2, huber=0.1, scaling="rows", random_state=0).fit(X, Y)
    sparse = SDGSClassifier(2, huber=0.1, scaling="rows", random_state=0).fit(csr_array(X), Y)
    tolerance = 1e-6 if dtype == np.float64 else 1e-2
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=tolerance)
    np.testing.assert_allclose(sparse.transform(csr_array(X)).toarray(), dense.transform(X), atol=tolerance)
    assert dense.transform(X).dtype == sparse.transform(csr_array(X)).dtype == dtype


def test_norms_account_for_what_is_missing():
    X = np.array([[3.0, np.nan, 4.0, np.nan], [np.nan] * 4, [0.0, 0.0, 0.0, np.nan]])
    unit, norms = unit_rows(X)
    np.testing.assert_allclose(norms, [5 * np.sqrt(2), 0, 0])
    np.testing.assert_allclose(unit[0], [3 / norms[0], np.nan, 4 / norms[0], np.nan])
    assert np.isnan(unit[1]).all()


@pytest.fixture(scope="module")
def digits():
    train = make_composite_digits(2000, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(500, max_labels=2, subset="test", random_state=1)
    return train, test


def f1_of(train_X, test_X, digits, **options):
    train, test = digits
    options = {"readout": "norm", "n_components": 6, "alpha": 0.2, "threshold": 0.26, "random_state": 0, **options}
    model = SDGSClassifier(**options).fit(train_X, train.Y)
    return 100 * metrics.f1(test.Y, model.predict(test_X))


def test_missing_entries_cost_little(digits):
    train, test = digits
    clean = f1_of(train.X, test.X, digits)
    dirty = f1_of(with_gaps(train.X, 0.2), with_gaps(test.X, 0.2, 1), digits)
    zeros = f1_of(np.nan_to_num(with_gaps(train.X, 0.2)), np.nan_to_num(with_gaps(test.X, 0.2, 1)), digits)
    assert dirty > clean - 6
    assert dirty > zeros + 4
    ridge = {"readout": "ridge"}
    assert f1_of(with_gaps(train.X, 0.2), with_gaps(test.X, 0.2, 1), digits, **ridge) > dirty + 1


def test_corrupted_entries_cost_less_with_huber(digits):
    train, test = digits
    X, X_test = with_spikes(train.X, 0.05), with_spikes(test.X, 0.05, 1)
    plain = f1_of(X, X_test, digits)
    robust = f1_of(X, X_test, digits, huber=0.05, alpha=0.1)
    assert robust > plain + 10
    plain = f1_of(X, X_test, digits, readout="ridge", alpha=0.1)
    robust = f1_of(X, X_test, digits, readout="ridge", huber=0.05, alpha=0.1)
    assert robust > plain + 10


def test_huber_is_found_where_it_helps(digits):
    train, test = digits
    spiked, spiked_test = with_spikes(train.X, 0.05), with_spikes(test.X, 0.05, 1)
    found = SDGSClassifier(huber="auto", scaling="rows", random_state=0).fit(spiked, train.Y)
    assert found.huber_ is not None
    best = f1_of(
        spiked, spiked_test, digits, readout="ridge", n_components=4, alpha=0.1, scaling="rows", huber=found.huber_
    )
    assert 100 * metrics.f1(test.Y, found.predict(spiked_test)) == pytest.approx(best)
    # On clean data it costs next to nothing.
    clean = SDGSClassifier(huber="auto", random_state=0).fit(train.X, train.Y)
    without = f1_of(train.X, test.X, digits, readout="ridge", n_components=4, alpha=0.1)
    assert 100 * metrics.f1(test.Y, clean.predict(test.X)) > without - 1.5
    assert SDGSClassifier(2, huber="auto", random_state=0).fit(csr_array(train.X[:99]), train.Y[:99]).huber_ is None


def test_transform_cleans(digits):
    train, test = digits
    model = SDGSClassifier(huber=0.05, alpha=0.1, random_state=0).fit(train.X, train.Y)
    spiked, gappy = with_spikes(test.X, 0.05), with_gaps(test.X, 0.2)
    before = np.linalg.norm(spiked - test.X)
    assert np.linalg.norm(model.transform(spiked) - test.X) < 0.6 * before
    model = SDGSClassifier(alpha=0.1, random_state=0).fit(train.X, train.Y)
    filled = model.transform(gappy)
    seen = ~np.isnan(gappy)
    np.testing.assert_allclose(filled[seen], test.X[seen], rtol=1e-9)
    mean = np.broadcast_to(train.X.mean(axis=0), test.X.shape)
    assert np.linalg.norm((filled - test.X)[~seen]) < 0.8 * np.linalg.norm((mean - test.X)[~seen])
    # With nothing to clean it changes nothing.
    np.testing.assert_array_equal(model.transform(test.X), test.X)


def test_transform_keeps_names_and_stands_in_a_pipeline(digits):
    train, _ = digits
    frame = pd.DataFrame(train.X[:200], columns=[f"pixel{j}" for j in range(64)])
    frame.iloc[0, 0] = np.nan
    model = SDGSClassifier(2, random_state=0).set_output(transform="pandas").fit(frame, train.Y[:200])
    out = model.transform(frame)
    assert list(out.columns) == list(frame.columns)
    assert not out.isna().any().any()
    pipeline = make_pipeline(SDGSClassifier(2, random_state=0), Ridge())
    assert pipeline.fit(frame, train.Y[:200]).predict(frame).shape == (200, 10)


def test_contributions_of_a_sample_with_gaps(digits):
    train, test = digits
    model = SDGSClassifier(alpha=0.1, random_state=0).fit(train.X, train.Y)
    X = with_gaps(test.X[:5], 0.3)
    parts = model.contributions(X, test.Y[:5])
    assert np.isfinite(parts).all()
    seen = ~np.isnan(X)
    rest = np.linalg.norm((X - parts.sum(axis=1))[seen])
    assert rest < 0.6 * np.linalg.norm(X[seen])


def test_everything_missing_is_no_error():
    Y = np.eye(3, dtype=int)[[0, 1, 2, 0, 1, 2]]
    X = np.random.default_rng(0).standard_normal((6, 4))
    X[0] = np.nan
    X[:, 1] = np.nan
    nothing = np.full((2, 4), np.nan)
    assert SDGSClassifier(2, readout="norm", random_state=0).fit(X, Y).predict(nothing).sum() == 0
    assert np.isfinite(SDGSClassifier(2, random_state=0).fit(X, Y).predict_proba(nothing)).all()
    with pytest.warns(ConvergenceWarning):
        decompose(np.where(X > 0, X, np.nan), Y, max_iter=1, tol=0, random_state=0)
