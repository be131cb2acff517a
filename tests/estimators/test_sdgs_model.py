"""What both classifiers share: cleaned samples, and the parameters that are checked."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from corruption import with_missing_entries, with_spikes
from helpers import in_small_blocks
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose, group_lasso, load
from sdgs.datasets import make_label_subspaces


def test_probabilities_are_a_data_frame_if_the_target_was():
    data = make_label_subspaces(80, 8, 3, n_components=1, noise=0.3, random_state=0)
    options = {"gamma": None, "penalty": 1.0, "random_state": 0}
    columns = pd.MultiIndex.from_product([["label"], ["red", "green", "blue"]], names=["kind", "colour"])
    expected = SDGSClassifier(1, **options).fit(data.X, data.Y).predict_proba(data.X)
    assert type(expected) is np.ndarray
    model = SDGSClassifier(1, **options).fit(data.X, pd.DataFrame(data.Y, columns=columns))
    P = model.predict_proba(data.X)
    pd.testing.assert_frame_equal(P, pd.DataFrame(expected, columns=columns))
    assert type(model.decision_function(data.X)) is np.ndarray
    X = pd.DataFrame(data.X.astype(np.float32), index=np.arange(80) + 7)
    with pytest.warns(UserWarning, match="feature names"):
        P = model.predict_proba(X.rename(columns=str))
    assert list(P.index) == list(X.index)
    assert (P.dtypes == np.float32).all()
    classes = SDGSClassifier(1, **options).fit(data.X, pd.Series(np.where(data.Y[:, 0], "red", "blue")))
    assert type(classes.predict_proba(data.X)) is np.ndarray


@pytest.mark.parametrize("scoring", ["roc_auc", "roc_auc_ovr", "average_precision"])
def test_scorers_of_scikit_learn_take_probabilities_with_names(scoring):
    data = make_label_subspaces(80, 8, 3, n_components=1, noise=0.5, random_state=0)
    model = SDGSClassifier(1, gamma=None, penalty=1.0, random_state=0)
    named = pd.DataFrame(data.Y, columns=["red", "green", "blue"])
    expected, scores = (cross_val_score(model, data.X, Y, scoring=scoring, cv=2) for Y in (data.Y, named))
    np.testing.assert_array_equal(scores, expected)


def test_cross_val_predict_takes_probabilities_with_names():
    data = make_label_subspaces(80, 8, 3, n_components=1, noise=0.5, random_state=0)
    model = SDGSClassifier(1, gamma=None, penalty=1.0, random_state=0)
    named = pd.DataFrame(data.Y, columns=["red", "green", "blue"])
    expected, P = (cross_val_predict(model, data.X, Y, method="predict_proba", cv=2) for Y in (data.Y, named))
    np.testing.assert_array_equal(P, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_and_dense_samples_give_equal_models(dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 15)) < 0.4, rng.standard_normal((80, 15)), 0).astype(dtype)
    X = with_missing_entries(X, 0.1)
    X[3] = np.nan
    X[4] = 0.0
    Y = rng.random((80, 3)) < 0.4
    dense = SDGSClassifier(2, huber=0.1, scaling="rows", random_state=0).fit(X, Y)
    sparse = SDGSClassifier(2, huber=0.1, scaling="rows", random_state=0).fit(csr_array(X), Y)
    tolerance = 1e-6 if dtype == np.float64 else 1e-2
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=tolerance)
    np.testing.assert_allclose(sparse.transform(csr_array(X)).toarray(), dense.transform(X), atol=tolerance)
    assert dense.transform(X).dtype == sparse.transform(csr_array(X)).dtype == dtype


@pytest.mark.slow
def test_transform_cleans_samples(more_digits):
    train, test = more_digits
    model = SDGSClassifier(huber=0.05, alpha=0.1, random_state=0).fit(train.X, train.Y)
    spiked, incomplete = with_spikes(test.X, 0.05), with_missing_entries(test.X, 0.2)
    assert np.linalg.norm(model.transform(spiked) - test.X) < 0.6 * np.linalg.norm(spiked - test.X)
    model = SDGSClassifier(alpha=0.1, random_state=0).fit(train.X, train.Y)
    filled = model.transform(incomplete)
    missing = np.isnan(incomplete)
    np.testing.assert_allclose(filled[~missing], test.X[~missing], rtol=1e-9)
    mean = np.broadcast_to(train.X.mean(axis=0), test.X.shape)
    assert np.linalg.norm((filled - test.X)[missing]) < 0.8 * np.linalg.norm((mean - test.X)[missing])
    # Complete samples without huber are returned as they are.
    np.testing.assert_array_equal(model.transform(test.X), test.X)


def test_transform_keeps_column_names_and_works_in_a_pipeline(more_digits):
    train, _ = more_digits
    frame = pd.DataFrame(train.X[:200], columns=[f"pixel{j}" for j in range(64)])
    frame.iloc[0, 0] = np.nan
    model = SDGSClassifier(2, random_state=0).set_output(transform="pandas").fit(frame, train.Y[:200])
    cleaned = model.transform(frame)
    assert list(cleaned.columns) == list(frame.columns)
    assert not cleaned.isna().any().any()
    pipeline = make_pipeline(SDGSClassifier(2, random_state=0), Ridge())
    assert pipeline.fit(frame, train.Y[:200]).predict(frame).shape == (200, 10)


@pytest.mark.parametrize("estimator", [SDGSClassifier(solver="brp-fresh"), SDGSClassifierCV(solver="brp-fresh")])
def test_algorithm_1_as_printed_is_an_option_of_decompose_alone(estimator):
    data = make_label_subspaces(30, 6, 2, n_components=1, random_state=0)
    with pytest.raises(ValueError, match=r"solver must be one of 'brp', 'svd'; got 'brp-fresh'\."):
        estimator.fit(data.X, data.Y)
    assert len(decompose(data.X, data.Y, n_components=1, solver="brp-fresh", tol=0.1, random_state=0).components) == 2


@pytest.mark.parametrize("readout", ["ridge", "norm"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_many_samples_are_predicted_by_blocks(digits, readout, form):
    train, test = digits
    model = SDGSClassifier(2, readout=readout, random_state=0).fit(train.X[:300], form(train.Y[:300]))
    X, blockwise = form(np.tile(test.X, (5, 1))), in_small_blocks(model)  # 2500 samples
    np.testing.assert_allclose(blockwise.decision_function(X), model.decision_function(X), atol=1e-9)
    actual, expected = blockwise.predict(X), model.predict(X)
    assert issparse(actual) == (form is csr_array)
    np.testing.assert_array_equal(*(Y.toarray() if issparse(Y) else Y for Y in (actual, expected)))
    assert [block.shape[0] for block in blockwise._row_blocks(X)] == [1024, 1024, 452]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "contributions", "explain"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(("scaling", "options"), [(None, {}), ("columns", {}), ("columns", {"huber": 0.5})])
def test_samples_that_overflow_in_the_model_are_rejected(method, form, scaling, options):
    data = make_label_subspaces(60, 8, 3, n_components=1, noise=0.1, random_state=0)
    options = {"gamma": None, "penalty": 0.01} | options
    model = SDGSClassifier(1, scaling=scaling, **options, random_state=0).fit(data.X * 0.1, data.Y)
    X = data.X[:5] / np.abs(data.X[:5]).max()
    getattr(model, method)(form(X))
    with pytest.raises(
        ValueError, match=r"X has (entries that are too large for this model|rows whose norm overflows)"
    ):
        getattr(model, method)(form(X * 1.7e308))


@pytest.mark.parametrize("options", [{}, {"readout": "norm"}], ids=str)
def test_rows_of_unit_norm_are_predicted_at_any_scale(options):
    data = make_label_subspaces(60, 8, 3, n_components=1, noise=0.1, random_state=0)
    model = SDGSClassifier(1, scaling="rows", **options, random_state=0).fit(data.X, data.Y)
    X = data.X[:5] / np.abs(data.X[:5]).max()
    for scale in (2.0**1023, 2.0**-900):
        np.testing.assert_allclose(model.decision_function(X * scale), model.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"huber": 0.1}, {"gamma": 1.0}, {"readout": "norm"}])
def test_what_is_prepared_at_the_first_prediction_is_no_state(options, tmp_path):
    """A model is the same before and after it, and so are its copies."""
    data = make_label_subspaces(120, 15, 3, n_components=2, random_state=0)
    model = SDGSClassifier(2, scaling="rows", random_state=0, **options).fit(data.X, data.Y)
    before, keys = pickle.dumps(model), set(vars(model))
    expected = model.decision_function(data.X)
    assert pickle.dumps(model) == before
    assert set(vars(model)) == keys
    model.save(tmp_path / "model.sdgs")
    others = [pickle.loads(before), copy.copy(model), copy.deepcopy(model), load(tmp_path / "model.sdgs")]
    for other in (*others, clone(model).fit(data.X, data.Y)):
        np.testing.assert_array_equal(other.decision_function(data.X), expected)
    with pytest.raises(ValueError, match="alpha must be"):
        model.set_params(alpha=-1).predict(data.X[:1])
    model.set_params(alpha=0.1)
    np.testing.assert_array_equal(model.decision_function(data.X), expected)
    half = model.fit(data.X[:60], data.Y[:60])
    again = clone(model).fit(data.X[:60], data.Y[:60])
    np.testing.assert_array_equal(half.decision_function(data.X), again.decision_function(data.X))


def test_with_the_norm_readout_alpha_and_threshold_may_change_after_a_prediction():
    data = make_label_subspaces(120, 15, 3, n_components=2, random_state=0)
    model = SDGSClassifier(2, readout="norm", scaling="rows", random_state=0).fit(data.X, data.Y)
    model.predict(data.X)
    unit = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    for alpha in (0.3, 0.05):
        model.set_params(alpha=alpha, threshold=2 * alpha)
        norms = group_lasso(unit, model.components_, alpha, tol=1e-4).l1_norms()
        np.testing.assert_allclose(model.decision_function(data.X), norms, atol=1e-3)
        np.testing.assert_array_equal(model.predict(data.X), model.decision_function(data.X) >= 2 * alpha)
