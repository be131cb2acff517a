"""Scores split into parts: exact for every kind of model, and what they say they are."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from corruption import with_missing_entries
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.coding import cleaned_samples
from sdgs.coding._group_codes import group_norms
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition import decompose
from sdgs.explanation._score_parts import read_samples, split_scores
from sdgs.readout._features import FEATURE_BLOCKS, ReadoutFeatures
from sdgs.readout._parameters import PipelineParameters, RidgeChoice
from sdgs.readout._pipeline import FittedPipeline, fit_pipeline
from sdgs.readout._ridge import Ridge
from sdgs.readout._samples import ArraySamples
from sdgs.readout._scaling import Scaling

DATA = make_label_subspaces(150, 12, 4, n_components=2, noise=0.05, random_state=0)

# Parameters of pipelines by kind. They read labels from all feature blocks, whatever cross-validation would choose.
PIPELINES = {
    "rows": {"scaling": "rows"},
    "unscaled": {"scaling": None},
    "columns": {"scaling": "columns"},
    "idf": {"scaling": "idf"},
    "huber": {"scaling": "rows", "huber": 0.05},
    "columns, huber, missing": {"scaling": "columns", "huber": 0.1},
    "missing": {"scaling": "rows"},
    "kernel": {"scaling": "rows", "gamma": 1.0},
    "kernel, missing": {"scaling": "columns", "gamma": 1.0},
    "least squares": {"scaling": "rows", "alpha": 0.0},
    "almost least squares": {"scaling": "rows", "alpha": 1e-3},
    "sparse": {"scaling": "idf"},
    "sparse, missing": {"scaling": "rows", "huber": 0.05},
    "sparse, kernel": {"scaling": "rows", "gamma": 1.0},
}


def samples_of(kind):
    X = np.abs(DATA.X) if "idf" in kind or "sparse" in kind else DATA.X + (3.0 if "columns" in kind else 0.0)
    X = with_missing_entries(X, 0.1) if "missing" in kind else X
    return csr_array(np.where(X < 0.4, 0, X)) if "sparse" in kind else X


@cache
def fitted_pipeline(kind, dtype="float64"):
    X = samples_of(kind).astype(dtype)
    model = SDGSClassifier(2, cv=2, random_state=0)
    samples, labels = ArraySamples(X), csr_array(DATA.Y)
    model._is_multiclass = False
    context = model._context(samples, labels)
    parameters = PipelineParameters(**{"scaling": None, "n_components": 2, "alpha": 0.1, **PIPELINES[kind]})
    blocks = FEATURE_BLOCKS if parameters.gamma else FEATURE_BLOCKS[1:]
    return fit_pipeline(samples, labels, parameters, context, RidgeChoice(1.0, blocks)), X


def assert_exact(total, scores, parts, rtol=1e-9):
    size = sum(np.abs(part).sum(axis=1) for part in (parts.features, parts.components, parts.landmarks))
    np.testing.assert_allclose(total, scores, rtol=rtol, atol=rtol * size.max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", PIPELINES)
def test_both_splits_sum_to_the_scores(kind, dtype):
    pipeline, X = fitted_pipeline(kind, dtype)
    X, labels = X[:40], np.array([0, 1, 3])
    scores = pipeline.scores(X, 1)[:, labels]
    rtol = 1e-9 if dtype == "float64" else 1e-6  # filled entries are rounded to float32 in the model
    n_active = 0
    for sample, score in zip(read_samples(pipeline, X, 1), scores, strict=True):
        parts = split_scores(pipeline, sample, labels)
        rest = parts.intercept + parts.features.sum(axis=1) + parts.landmarks.sum(axis=1)
        assert_exact(rest + parts.components.sum(axis=1), score, parts, rtol)
        assert_exact(rest + parts.through_components.sum(axis=1), score, parts, rtol)
        n_active += parts.components.any()
    assert n_active > 5  # otherwise the second split says nothing


@pytest.mark.filterwarnings("ignore:group_lasso")  # the splits hold for codes as they are
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 1e-3, 0.03, 0.3, 1.0]),
    huber=st.sampled_from([None, 0.02, 0.3]),
    share_missing=st.sampled_from([0.0, 0.2, 0.6]),
    scale=st.sampled_from([1e-150, 1e-6, 1.0, 1e6, 1e100]),
    unit_rows=st.booleans(),
    read=st.integers(1, 3),
)
def test_splits_of_random_pipelines_are_exact(seed, alpha, huber, share_missing, scale, unit_rows, read):
    assume(alpha > 0 or (huber is None and share_missing == 0))
    assume(unit_rows or scale < 1e3)  # alpha and huber would be lost in rounding
    rng = np.random.default_rng(seed)
    k, p = int(rng.integers(1, 5)), int(rng.integers(2, 15))
    X = rng.standard_normal((30, p)) * 3.0
    Y = rng.random((30, k)) < 0.5
    Y[0] = True
    parameters = PipelineParameters(None, 1, alpha, huber, None)
    features = ReadoutFeatures(parameters, decompose(X, Y, n_components=1, tol=1.0, random_state=0), None, p, k)
    ridge = Ridge(rng.standard_normal((k, features.widths[read - 1])), rng.standard_normal(k))
    pipeline = FittedPipeline(Scaling(None, unit_rows), features, ridge)
    new = with_missing_entries(rng.standard_normal((5, p)) * scale, share_missing, seed=seed)
    scores = pipeline.scores(new, 1)
    for sample, score in zip(read_samples(pipeline, new, 1), scores, strict=True):
        parts = split_scores(pipeline, sample, np.arange(k))
        rest = parts.intercept + parts.features.sum(axis=1)
        assert_exact(rest + parts.components.sum(axis=1), score, parts)
        assert_exact(rest + parts.through_components.sum(axis=1), score, parts)


@pytest.mark.parametrize("kind", ["rows", "huber", "missing", "columns, huber, missing", "sparse, missing"])
def test_a_components_part_is_what_the_score_loses_without_its_code(kind):
    pipeline, X = fitted_pipeline(kind)
    X, k = X[:10], 4
    scaled, _ = pipeline.scaling.transform(X)
    components = pipeline.features.decomposition.components
    codes = pipeline.features.encode(scaled, 1)

    def scores(codes):
        blocks = [cleaned_samples(scaled, codes, components), codes.codes, group_norms(codes)]
        return pipeline.ridge.scores([block.toarray() if issparse(block) else block for block in blocks])

    expected = scores(codes)
    for i in range(k):
        without = codes.codes.toarray() if issparse(codes.codes) else codes.codes.copy()
        without[:, codes.groups[i] : codes.groups[i + 1]] = 0
        lost = expected - scores(replace(codes, codes=without))
        for row, sample in enumerate(read_samples(pipeline, X, 1)):
            parts = split_scores(pipeline, sample, np.arange(k))
            np.testing.assert_allclose(parts.components[:, i], lost[row], atol=1e-12)


def test_a_landmarks_part_is_what_the_score_loses_without_it():
    pipeline, X = fitted_pipeline("kernel")
    X, scores = X[:5], pipeline.scores(X[:5], 1)
    for row, sample in enumerate(read_samples(pipeline, X, 1)):
        parts = split_scores(pipeline, sample, np.arange(4))
        for landmark in np.argsort(-np.abs(parts.landmarks[0]))[:3]:
            coef = pipeline.ridge.coef.copy()
            coef[:, landmark] = 0
            without = replace(pipeline, ridge=Ridge(coef, pipeline.ridge.intercept)).scores(X[[row]], 1)
            np.testing.assert_allclose(parts.landmarks[:, landmark], scores[row] - without[0], atol=1e-12)


def test_through_one_subspace_features_add_what_the_shrunk_projection_has_of_them():
    rng = np.random.default_rng(0)
    C, alpha = np.linalg.qr(rng.standard_normal((6, 2)))[0].T, 0.2
    x = rng.standard_normal(6) + C[0] - 2 * C[1]
    decomposition = decompose(rng.standard_normal((3, 6)), np.ones((3, 1)), n_components=2, random_state=0)
    features = ReadoutFeatures(PipelineParameters(None, 2, alpha), replace(decomposition, components=(C,)), None, 6, 1)
    w = rng.standard_normal(3)  # of the code and of its norm
    pipeline = FittedPipeline(
        Scaling(None, to_unit_rows=False), features, Ridge(np.concatenate([np.zeros(6), w])[None], np.zeros(1))
    )
    (sample,) = read_samples(pipeline, x[None], 1)
    parts = split_scores(pipeline, sample, np.array([0]))
    direction = C @ x / np.linalg.norm(C @ x)
    shrinkage = 1 - alpha / np.linalg.norm(C @ x)  # the group lasso of one orthonormal group
    expected = (w[:2] + w[2] * direction) @ C * x * shrinkage
    np.testing.assert_allclose(parts.through_components[0], expected, atol=1e-5)  # the code has a gap of 1e-6


def test_missing_entries_and_zeros_have_no_part():
    for kind in ("missing", "sparse, missing", "columns, huber, missing"):
        pipeline, X = fitted_pipeline(kind)
        for row, sample in enumerate(read_samples(pipeline, X[:10], 1)):
            x = X[[row]].toarray()[0] if issparse(X) else X[row]
            parts = split_scores(pipeline, sample, np.arange(4))
            assert not np.isnan(x[parts.columns]).any()
            assert not (issparse(X) and pipeline.features.parameters.huber is None and (x[parts.columns] == 0).any())


def test_selected_columns_have_the_parts_of_all_columns():
    pipeline, X = fitted_pipeline("rows")
    columns = np.sort(np.random.default_rng(0).permutation(pipeline.ridge.coef.shape[1])[:15])
    coef = np.zeros_like(pipeline.ridge.coef)
    coef[:, columns] = pipeline.ridge.coef[:, columns]
    full = replace(pipeline, ridge=replace(pipeline.ridge, coef=coef))
    selected = replace(
        pipeline,
        features=replace(pipeline.features, columns=columns),
        ridge=replace(pipeline.ridge, coef=np.ascontiguousarray(coef[:, columns])),
    )
    for pair in zip(read_samples(full, X[:5], 1), read_samples(selected, X[:5], 1), strict=True):
        expected, actual = (
            split_scores(pipeline, sample, np.arange(4))
            for pipeline, sample in zip((full, selected), pair, strict=True)
        )
        np.testing.assert_allclose(actual.features, expected.features, atol=1e-14)
        np.testing.assert_allclose(actual.through_components, expected.through_components, atol=1e-14)
        np.testing.assert_allclose(actual.components, expected.components, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["matrix", "classes"])
def test_averaged_pipelines_are_split_exactly(target):
    y = DATA.Y if target == "matrix" else np.arange(150) % 4
    search = SDGSClassifierCV(gammas=(None, 1.0), n_landmarks=30, budget=12, cv=2, random_state=0).fit(DATA.X, y)
    search._pipelines = [fitted_pipeline(kind)[0] for kind in ("rows", "kernel", "kernel", "unscaled")]
    log_odds = search._scores(DATA.X[:20])
    for sample, expected in zip(search.explain_prediction(DATA.X[:20], "all"), log_odds, strict=True):
        parts = sample.parts()
        rest = parts.base + parts.features.sum(axis=1) + parts.neighbours.sum(axis=1)
        for split in (parts.components, parts.features_through_components):
            np.testing.assert_allclose(rest + split.sum(axis=1), expected, rtol=1e-9, atol=1e-9)
        # Both kernels have the same landmarks, so that each training sample has one part.
        assert parts.neighbours.shape[1] == np.unique(search._pipelines[1].features.kernel.rows).size


def test_parts_of_different_landmarks_belong_to_their_training_samples():
    kernel = fitted_pipeline("kernel")[0]

    def with_landmarks(chosen):
        """The pipeline with some of its landmarks alone."""
        features, n = kernel.features, kernel.features.kernel.n_landmarks
        coef = np.concatenate([kernel.ridge.coef[:, :n][:, chosen], kernel.ridge.coef[:, n:]], axis=1)
        some = replace(features.kernel, landmarks=features.kernel.landmarks[chosen], rows=features.kernel.rows[chosen])
        return replace(kernel, features=replace(features, kernel=some), ridge=replace(kernel.ridge, coef=coef))

    model = SDGSClassifier(2, gamma=1.0, cv=2, random_state=0).fit(DATA.X, DATA.Y)
    later, earlier = with_landmarks(np.arange(5, 9)), with_landmarks(np.arange(4))  # disjoint, and not in order
    model._pipelines = [later, earlier]
    for sample in model.explain_prediction(DATA.X[:5], "all"):
        read = sample._read
        expected = {
            int(row): model._calibration.slope / 2 * split_scores(pipeline, one, np.arange(4)).landmarks[:, i]
            for pipeline, one in zip((later, earlier), read, strict=True)
            for i, row in enumerate(pipeline.features.kernel.rows)
        }
        assert list(sample.terms.training_samples) == sorted(expected)
        for row, parts in zip(sample.terms.training_samples, sample.neighbours.T, strict=True):
            np.testing.assert_allclose(parts, expected[int(row)], rtol=1e-12)
