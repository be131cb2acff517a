"""Features that labels are read from."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from regressions import dense, options, ridge_path
from sdgs import SDGSClassifier, group_lasso
from sdgs.coding import cleaned_samples, group_norms
from sdgs.datasets import make_composite_digits
from sdgs.readout._features import fit_features
from sdgs.readout._parameters import PipelineParameters
from sdgs.readout._samples import ArraySamples
from sdgs.selection._defaults import CODE_TOL, CODE_TOL_FLOAT32


def scaled(X):
    return ArraySamples(X, np.ones(X.shape[0], dtype=X.dtype))


@pytest.fixture
def words():
    """Counts of frequent and of rare words."""
    rng = np.random.default_rng(0)
    Y = rng.random((500, 4)) < 0.4
    rates = 0.03 + 0.5 * (rng.random((4, 120)) < 0.1)
    X = rng.poisson(np.minimum(Y @ rates, 1) * np.linspace(1, 0.1, 120)).astype(float)
    return csr_array(X), csr_array(Y)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_features_are_float64_whatever_the_samples_are(form):
    """Fewer samples than features in float32, one of them large: its squares would lose digits."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 100)).astype(np.float32), rng.random((60, 3)) < 0.4
    X[:, 0] = 1000 + 300 * X[:, 0]
    X[rng.random(X.shape) < 0.2] = 0
    model = SDGSClassifier(2, scaling=None, penalty=0.01, random_state=0).fit(form(X), Y)
    pipeline = model._pipelines[0]
    (blocks,) = pipeline.features.transform_blocks(form(X), None)
    assert all(block.dtype == np.float64 for block in blocks)
    Z = dense(blocks)[:, : pipeline.ridge.coef.shape[1]]
    expected = Ridge(alpha=0.01).fit(Z, Y).predict(Z)
    np.testing.assert_allclose(pipeline.ridge.scores(blocks), expected, atol=1e-6)


@pytest.mark.parametrize("form", ["sparse", "dense", "kernel"])
def test_the_most_relevant_columns_are_selected(words, form):
    """All columns of a kernel stay; the order of the blocks does too."""
    X, Y = words
    X = X if form == "sparse" else X.toarray()
    parameters = PipelineParameters(None, 4, 0.1, gamma=1.0 if form == "kernel" else None)
    whole = fit_features(scaled(X), Y, parameters, options(30))
    features = fit_features(scaled(X), Y, parameters, options(30), max_columns=60)
    full, Z = (dense(*one.transform_blocks(X, None)) for one in (whole, features))
    n_landmarks = 30 if form == "kernel" else 0
    centred, labels = full - full.mean(axis=0), Y.toarray() - Y.toarray().mean(axis=0)
    explained = np.square(centred.T @ labels).sum(axis=1) / (np.square(centred).sum(axis=0) + 1)
    explained[:n_landmarks] = np.inf
    np.testing.assert_array_equal(features.columns, np.sort(np.argsort(-explained)[:60]))
    assert Z.shape == (500, 60)
    np.testing.assert_allclose(Z, full[:, features.columns])
    assert features.widths[0] >= n_landmarks
    *_, without_norms, with_norms = features.widths
    assert with_norms == 60
    np.testing.assert_array_equal(features.columns[without_norms:] >= full.shape[1] - 4, True)
    np.testing.assert_array_equal(features.columns[:without_norms] < full.shape[1] - 4, True)
    assert features.column_slice("sample") == slice(n_landmarks, features.widths[n_landmarks > 0])


@pytest.mark.parametrize(
    ("max_columns", "n_landmarks", "n_others"), [(60, 30, 30), (60, 50, 15), (60, 70, 15), (600, 500, 140)]
)
def test_a_quarter_of_the_columns_is_reserved_beside_a_large_kernel(words, max_columns, n_landmarks, n_others):
    """Or all of them: there are 140 words, codes and norms."""
    X, Y = words[0].toarray(), words[1]
    parameters = PipelineParameters("rows", 4, 0.1, gamma=1.0)
    features = fit_features(scaled(X), Y, parameters, options(n_landmarks), max_columns=max_columns)
    (blocks,) = features.transform_blocks(X, None)
    assert dense(blocks).shape[1] == features.widths[-1] == n_landmarks + n_others
    assert features.widths[0] == n_landmarks


def test_only_the_blocks_that_are_read_are_computed(words):
    X, Y = words[0].toarray(), words[1]
    features = fit_features(scaled(X), Y, PipelineParameters(None, 1, 0.1, gamma=1.0), options(20))
    for width, n_blocks in ((20, 1), (140, 2), (144, 3), (148, 4), (None, 4)):
        assert len(next(features.transform_blocks(X, None, width=width))) == n_blocks
    assert features.block_names == ("kernel", "sample", "code", "norms")
    assert features.kernel.landmark_gram.shape == (20, 20)
    assert features.for_prediction().kernel.landmark_gram is None


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_scores_do_not_depend_on_the_basis_of_a_subspace(gamma):
    train = make_composite_digits(400, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(100, max_labels=2, subset="test", random_state=1)
    X, Y = train.X, csr_array(train.Y)
    features = fit_features(scaled(X), Y, PipelineParameters(None, 4, 0.1, gamma=gamma), options(50, tol=1e-3))
    components = features.decomposition.components
    rotations = np.linalg.qr(np.random.default_rng(0).standard_normal((len(components), 4, 4)))[0]
    rotated = tuple(rotation @ C for rotation, C in zip(rotations, components, strict=True))
    other = replace(features, decomposition=replace(features.decomposition, components=rotated))
    scores = []
    for one in (features, other):
        gram = None if one.kernel is None else one.kernel.landmark_gram
        ridge = next(ridge_path(one.transform_blocks(X, None), Y, [0.1], one.widths[-1:], landmark_gram=gram))
        scores.append(ridge.scores(next(one.transform_blocks(test.X, None))))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)  # codes are known up to a duality gap of 1e-6


def test_blocks_of_rows_change_nothing(words):
    X, Y = words
    features = fit_features(scaled(X), Y, PipelineParameters("rows", 2, 0.1), options())
    big = csr_array(np.tile(X.toarray(), (5, 1)))
    assert features.rows_per_block(big, max_bytes=1) == 1024
    (whole,) = features.transform_blocks(big, None)
    by_blocks = [dense(blocks) for blocks in features.transform_blocks(big, None, max_bytes=1)]
    assert [len(block) for block in by_blocks] == [1024, 1024, 452]
    np.testing.assert_allclose(np.vstack(by_blocks), dense(whole), atol=1e-9)


def test_no_subspace_is_the_whole_space(words):
    X, Y = words[0].toarray()[:, :3], words[1]
    for ranks, expected in ((7, [2, 2, 2, 2]), ((1, 2, 3, 9), [1, 2, 2, 2])):
        features = fit_features(scaled(X), Y, PipelineParameters("rows", ranks, 0.1), options())
        assert [len(C) for C in features.decomposition.components] == expected


def test_what_parameters_have_in_common_is_fitted_once(words):
    X, Y = words[0].toarray(), words[1]
    cache = {}
    first = PipelineParameters("rows", 2, 0.1, gamma=1.0)
    variants = [replace(first, **change) for change in ({}, {"alpha": 0.2}, {"landmark_draw": 1})]
    features = [fit_features(scaled(X), Y, one, options(20), cache=cache) for one in variants]
    assert features[0].decomposition is features[1].decomposition is features[2].decomposition
    assert features[0].kernel is features[1].kernel
    assert not np.array_equal(features[0].kernel.landmarks, features[2].kernel.landmarks)
    fit_features(scaled(X), Y, replace(first, huber=0.1), options(20), cache=cache)
    assert len(cache) == 3  # one decomposition, and the kernel of cleaned samples differs


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 8, 500])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_codes_are_those_of_the_public_function(words, form, n, dtype):
    """However many samples there are; with missing entries, and with another alpha than that of the fit."""
    X, Y = form(words[0].toarray().astype(dtype)), words[1]
    features = fit_features(scaled(X), Y, PipelineParameters(None, 40, 0.1), options())
    X = X[:n].copy()
    tol = CODE_TOL if dtype == np.float64 else CODE_TOL_FLOAT32
    for alpha in (None, 0.3):
        expected = group_lasso(X, features.decomposition.components, alpha or 0.1, tol=tol).codes.toarray()
        np.testing.assert_array_equal(dense([features.encode(X, None, alpha=alpha).codes]), expected)
    (X.data if form is csr_array else X)[:1] = np.nan
    with pytest.raises(ValueError, match="alpha must be positive"):
        features.encode(X, None, alpha=0)
    expected = group_lasso(X, features.decomposition.components, 0.1, tol=tol)
    np.testing.assert_array_equal(dense([features.encode(X, None).codes]), expected.codes.toarray())
    blocks = next(features.transform_blocks(X, None))
    cleaned = cleaned_samples(X, expected, features.decomposition.components)
    np.testing.assert_allclose(dense(blocks), dense([cleaned, expected.codes, group_norms(expected)]), rtol=1e-6)


def test_what_is_prepared_at_first_use_is_not_pickled(words):
    X, Y = words[0].toarray(), words[1]
    features = fit_features(scaled(X), Y, PipelineParameters(None, 4, 0.1), options())
    fresh = pickle.dumps(replace(features))
    expected = dense(next(features.transform_blocks(X[:9], None)))
    assert pickle.dumps(features) == fresh
    for other in (pickle.loads(fresh), copy.deepcopy(features), replace(features), features.for_prediction()):
        np.testing.assert_array_equal(dense(next(other.transform_blocks(X[:9], None))), expected)
