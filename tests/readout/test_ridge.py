"""Ridge regressions, and what columns and labels have penalties of their own for."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import KFold

from regressions import ridge_path
from sdgs import SDGSClassifier
from sdgs.estimators._sdgs_model import scalings_of
from sdgs.persistence._checkpoint import _VERSION as VERSION
from sdgs.persistence._container import read, write
from sdgs.readout._calibration import worth_of_samples
from sdgs.readout._decision import Decision
from sdgs.readout._features import DecompositionOptions, PipelineParameters, fit_features
from sdgs.readout._ridge import label_penalty_weights, penalty_weights, regression
from sdgs.readout._scaling import mostly_zero
from sdgs.selection._cross_fit import CandidateEvaluator


@pytest.mark.parametrize("shape", [(50, 8), (8, 50), (20, 20)])
def test_ridge_agrees_with_scikit_learn(shape):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal(shape) + 1, (rng.random((shape[0], 3)) < 0.4).astype(float)
    new = rng.standard_normal((5, shape[1]))
    penalties = [1e-3, 1.0, 100.0]
    for penalty, model in zip(penalties, ridge_path([[Z]], Y, penalties, [shape[1]]), strict=True):
        theirs = Ridge(alpha=penalty).fit(Z, Y)
        np.testing.assert_allclose(model.scores([new]), theirs.predict(new), rtol=1e-6, atol=1e-8)


def test_ridge_of_features_that_depend_on_each_other():
    Z = np.ones((10, 4))
    Z[:, 0] = np.arange(10)
    Z[:, 1] = Z[:, 0]
    Y = (np.arange(10) > 4).astype(float)[:, None]
    (model,) = ridge_path([[Z]], Y, [0.1], [4])
    assert np.isfinite(model.coef).all()
    assert ((model.scores([Z]) > 0.5) == Y).all()


@pytest.mark.parametrize("n", [60, 8])
def test_ridge_of_leading_columns(n):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((n, 12)) + 1, (rng.random((n, 3)) < 0.4).astype(float)
    models = ridge_path([[Z]], Y, [0.1, 10.0], [9, 12])
    for model, (width, penalty) in zip(models, [(9, 0.1), (12, 0.1), (9, 10.0), (12, 10.0)], strict=True):
        theirs = Ridge(alpha=penalty).fit(Z[:, :width], Y)
        np.testing.assert_allclose(model.scores([Z]), theirs.predict(Z[:, :width]), rtol=1e-6, atol=1e-8)


def test_ridge_where_the_penalty_is_lost_in_rounding():
    rng = np.random.default_rng(0)
    Z = 1e9 * rng.standard_normal((40, 3)) @ rng.standard_normal((3, 10))
    Y = (Z[:, :1] > 0).astype(float)
    for model, width in zip(ridge_path([[Z]], Y, [1e-2], [5, 10]), (5, 10), strict=True):
        least = np.linalg.lstsq(Z[:, :width] - Z[:, :width].mean(axis=0), Y - Y.mean(), rcond=1e-9)[0]
        expected = (Z[:, :width] - Z[:, :width].mean(axis=0)) @ least + Y.mean()
        np.testing.assert_allclose(model.scores([Z]), expected, atol=1e-4)


THREE_ROWS = slice(0, 3), slice(3, 4), slice(4, None)


@pytest.mark.parametrize("n", [90, 8])
@pytest.mark.parametrize(
    "forms", ["dense", "sparse", "sparse first", "dense first", "sparse on the right", "sparse in between"]
)
@pytest.mark.parametrize("labels", [np.asarray, csr_array])
def test_ridge_by_blocks_of_rows_in_any_form(n, forms, labels):
    rng = np.random.default_rng(0)
    Z = np.where(rng.random((n, 12)) < 0.5, rng.standard_normal((n, 12)) + 1, 0)
    Y = (rng.random((n, 3)) < 0.4).astype(float)
    sparse = {
        "dense": set(),
        "sparse": set(range(9)),
        "sparse first": {0, 1, 2},
        "dense first": {3, 4, 5, 6, 7, 8},
        "sparse on the right": {1, 2, 4, 5, 7, 8},
        "sparse in between": {1, 3, 4, 7},
    }[forms]
    parts = [Z[rows, columns] for rows in THREE_ROWS for columns in (slice(0, 5), slice(5, 9), slice(9, 12))]
    parts = [csr_array(part) if i in sparse else part for i, part in enumerate(parts)]
    blocks = [parts[:3], parts[3:6], parts[6:]]
    for model, width in zip(ridge_path(iter(blocks), labels(Y), [0.1], [9, 12]), (9, 12), strict=True):
        theirs = Ridge(alpha=0.1).fit(Z[:, :width], Y)
        for form in ([Z], [csr_array(Z)], [Z[:, :4], csr_array(Z[:, 4:])], [csr_array(Z[:, :10]), Z[:, 10:]]):
            np.testing.assert_allclose(model.scores(form), theirs.predict(Z[:, :width]), rtol=1e-6, atol=1e-8)


def lenient_by_hand(Z, Y):
    """Column by column, label by label."""
    Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    told = [sum((z @ y / (z @ z + 1)) ** 2 / (y @ y + 1) for y in Y.T) for z in Z.T]
    root = np.maximum(np.array(told) / max(told), 1e-12) ** 0.25
    known = np.array([z @ z / (z @ z + 1) for z in Z.T])
    return root / np.average(root, weights=known)


@pytest.mark.parametrize("n", [60, 8])
def test_weighed_columns_have_penalties_of_their_own(n):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((n, 12)) + 1, (rng.random((n, 3)) < 0.4).astype(float)
    Z[:, 5] = Y[:, 0]
    models = ridge_path([[Z[:3]], [Z[3:]]], Y, [0.1, 10.0], [9, 12], slice(4, 9))
    lenient = np.ones(12)
    lenient[4:9] = lenient_by_hand(Z[:, 4:9], Y)
    assert lenient.argmax() == 5
    assert lenient[5] > 1.2
    for model, (width, penalty) in zip(models, [(9, 0.1), (12, 0.1), (9, 10.0), (12, 10.0)], strict=True):
        weighted = Z[:, :width] * np.sqrt(lenient[:width])
        theirs = Ridge(alpha=penalty).fit(weighted, Y)
        np.testing.assert_allclose(model.scores([Z]), theirs.predict(weighted), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("of_labels", [0, 1e-200, 1e300, np.inf])
@pytest.mark.parametrize("energy", [0, 1e-300, 1e308, np.inf])
def test_columns_are_weighed_alike_where_there_is_nothing_to_go_by(of_labels, energy):
    lenient = penalty_weights(np.array([energy, energy, 1.0]), np.full((3, 2), of_labels), np.array([0.5, 0.0]), 10)
    assert np.isfinite(lenient).all()
    assert (lenient > 0).all()
    if of_labels in (0, np.inf):
        np.testing.assert_array_equal(lenient, 1)


@pytest.fixture
def few_words():
    """Samples of which few entries are not zero, two columns of them about the labels; and the labels."""
    rng = np.random.default_rng(0)
    Y = rng.random((150, 2)) < 0.4
    X = (rng.random((150, 40)) < 0.1).astype(float)
    X[:, :2] = Y * (rng.random((150, 2)) < 0.3)
    X[:, 2] = 1  # no sample is empty
    return X, Y


def weighed_by_hand(X, Y, new, penalty):
    root = np.sqrt(lenient_by_hand(X, Y))
    return Ridge(alpha=penalty).fit(X * root, Y).predict(new * root)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_words_are_weighed_by_what_they_say_of_labels(few_words, form, monkeypatch):
    """However they are stored; where most entries are not zero nothing is."""
    monkeypatch.setattr("sdgs.selection._cross_fit._PARTIALITIES", ())
    X, Y = few_words
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = SDGSClassifier(2, scaling="rows", penalty=3.0, metric="hamming_loss", random_state=0).fit(form(X), Y)
    (member,) = model._members
    assert model.read_from_ == ("sample",)
    np.testing.assert_allclose(member.scores(form(X), None), weighed_by_hand(unit, Y, unit, 3.0), atol=1e-9)
    assert not mostly_zero(form(X + 1))
    plain = SDGSClassifier(2, scaling=None, penalty=3.0, random_state=0).fit(form(X + 1), Y)
    assert plain.read_from_ == ("sample",)
    np.testing.assert_allclose(plain._members[0].scores(X + 1, None), Ridge(alpha=3.0).fit(X, Y).predict(X), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_words_are_weighed_where_choices_are_made(few_words, form, monkeypatch):
    """By each fold's own training samples; in the quick look at scalings as well."""
    monkeypatch.setattr("sdgs.selection._cross_fit._PARTIALITIES", ())
    X, Y = few_words
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)
    options = {"penalties": (3.0,), "n_folds": 3, "decision": Decision("hamming_loss")}
    cross_fit = CandidateEvaluator(form(X), csr_array(Y), scalings_of(form(X)), training, **options)
    expected = np.zeros(Y.shape)
    for train, test in KFold(3, shuffle=True, random_state=0).split(Y):
        expected[test] = weighed_by_hand(unit[train], Y[train], unit[test], 3.0)
    trial = cross_fit(PipelineParameters("rows", 2, 0.1), parts=("sample",))
    assert trial.read_from == ("sample",)
    np.testing.assert_allclose(trial.scores, expected, atol=1e-9)
    looked_at = []
    monkeypatch.setattr("sdgs.selection._cross_fit._value", lambda scores, *_: looked_at.append(scores) or 0.0)
    cross_fit.best_scaling(("rows", "idf"), for_subspaces=True)
    np.testing.assert_allclose(looked_at[0], expected, atol=1e-9)


def test_weighed_columns_where_the_penalty_is_lost_in_rounding():
    """Of twins each gets its share by its leniency."""
    rng = np.random.default_rng(0)
    Z = 1e9 * rng.standard_normal((40, 3))
    Z = np.hstack([Z, Z, 1e9 * rng.standard_normal((40, 1))])
    Y = (Z[:, :2] > 0).astype(float)
    lenient = lenient_by_hand(Z[:, 3:], Y)
    (model,) = ridge_path([[Z]], Y, [1e-2], [7], slice(3, 7))
    np.testing.assert_allclose(model.coef[:, 3:6], model.coef[:, :3] * lenient[:3], rtol=1e-3)
    assert np.ptp(lenient[:3]) > 0.1


@pytest.mark.parametrize("n", [60, 8])
def test_kernels_with_landmarks_are_kernel_ridge_regression(n):
    """By Nystroem's map, made by hand, whether there are more rows or more columns; columns are weighed beside it."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, 5)), (rng.random((n, 3)) < 0.4).astype(float)
    points = rng.standard_normal((6, 5))
    K, kernels = laplacian_kernel(X, points), laplacian_kernel(points)
    lenient = lenient_by_hand(X, Y)
    features = np.hstack([K @ np.linalg.inv(np.linalg.cholesky(kernels)).T, X * np.sqrt(lenient)])
    Z = [np.hstack([K, X])[rows] for rows in THREE_ROWS]
    models = ridge_path([[block] for block in Z], Y, [0.1, 10.0], [6, 11], slice(6, 11), kernels)
    for model, (width, penalty) in zip(models, [(6, 0.1), (11, 0.1), (6, 10.0), (11, 10.0)], strict=True):
        theirs = Ridge(alpha=penalty).fit(features[:, :width], Y)
        found = model.scores([np.hstack([K, X])])
        np.testing.assert_allclose(found, theirs.predict(features[:, :width]), rtol=1e-6, atol=1e-8)


def test_kernels_where_the_penalty_is_lost_in_rounding():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((4, 2))
    kernels = laplacian_kernel(points)
    Z = 1e9 * rng.standard_normal((40, 3))
    Z = np.hstack([np.repeat(Z[:, :2], 2, axis=1), Z[:, :1]])
    Y = (Z[:, ::2] > 0).astype(float)
    (model,) = ridge_path([[Z]], Y, [1e-2], [5], kernels=kernels)
    whitened = np.hstack([Z[:, :4] @ np.linalg.inv(np.linalg.cholesky(kernels)).T, Z[:, 4:]])
    centred = whitened - whitened.mean(axis=0)
    least = centred @ np.linalg.lstsq(centred, Y - Y.mean(axis=0), rcond=1e-9)[0] + Y.mean(axis=0)
    np.testing.assert_allclose(model.scores([Z]), least, atol=1e-4)
    assert np.abs(model.coef).max() < 1e-8


def test_scores_of_no_columns_are_the_intercept():
    Z, Y = np.zeros((5, 3)), np.eye(5)[:, :2]
    for model, parts in zip(ridge_path([[Z]], Y, [1.0], [0, 3]), ([Z[:, :0], Z], [csr_array(Z)]), strict=True):
        np.testing.assert_allclose(model.scores(parts), np.full((5, 2), 0.2))


def test_ridge_by_blocks_keeps_the_digits_of_columns_far_from_zero():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((200, 4)) + 1e6, (rng.random((200, 2)) < 0.4).astype(float)
    (model,) = ridge_path([[Z[:70]], [Z[70:]]], Y, [1.0], [4])
    np.testing.assert_allclose(model.coef, Ridge(alpha=1.0).fit(Z - Z.mean(axis=0), Y).coef_, rtol=1e-6)


def partial_by_hand(Z, Y, partiality):
    """Column by column, for every label by itself."""
    Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    told = np.array([[(z @ y / (z @ z + 1)) ** 2 / (y @ y + 1) for y in Y.T] for z in Z.T])
    told = np.array([row + sum(row) / len(row) / 10 for row in told])
    known = np.array([z @ z / (z @ z + 1) for z in Z.T])
    root = np.maximum(told / told.max(axis=0), 1e-12) ** partiality
    return root / np.average(root, axis=0, weights=known)


@pytest.mark.parametrize("partiality", [0.25, 0.5])
@pytest.mark.parametrize("n", [120, 60])
@pytest.mark.parametrize("with_kernels", [False, True])
def test_labels_have_penalties_of_their_own(own_words, n, partiality, with_kernels, monkeypatch):
    """Each as by a regression of its own, whether there are more rows or more columns; in any number of pieces."""
    X, Y = own_words
    X, Y = X[:n], Y[:n]
    rng = np.random.default_rng(0)
    kernels, leading = None, rng.standard_normal((n, 5))
    turned = leading
    if with_kernels:
        points = rng.standard_normal((5, 3))
        kernels, leading = laplacian_kernel(points), laplacian_kernel(rng.standard_normal((n, 3)), points)
        turned = leading @ np.linalg.inv(np.linalg.cholesky(kernels)).T
    Z, width = np.hstack([leading, X, rng.standard_normal((n, 4))]), 95
    learnt = regression([[Z[:40]], [Z[40:]]], Y, [width, 99], slice(5, 95), kernels)
    lenient = partial_by_hand(X, Y, partiality)
    exact = np.zeros(Y.shape)
    for label in range(Y.shape[1]):
        features = np.hstack([turned, X * np.sqrt(lenient[:, label])])
        exact[:, label] = Ridge(alpha=2.0).fit(features, Y[:, label]).predict(features)
    few = learnt.ridge(2.0, width, partiality).scores([Z])
    monkeypatch.setattr("sdgs.readout._ridge._TOGETHER", 2 * width + 1)
    np.testing.assert_allclose(learnt.ridge(2.0, width, partiality).scores([Z]), few, atol=1e-12)
    monkeypatch.setattr("sdgs.readout._ridge._STEPS", 200)
    np.testing.assert_allclose(learnt.ridge(2.0, width, partiality).scores([Z]), exact, atol=1e-8)
    shared = learnt.ridge(2.0, width, 0.0).scores([Z])
    assert np.abs(few - exact).max() < 0.1 * np.abs(shared - exact).max()


def test_what_columns_say_of_each_label():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((50, 8)) + 1, (rng.random((50, 3)) < 0.4).astype(float)
    Z[:, 2] += 3 * Y[:, 1]
    centred = Z - Z.mean(axis=0)
    found = label_penalty_weights(np.square(centred).sum(axis=0), centred.T @ Y, Y.mean(axis=0), 50, 0.25)
    np.testing.assert_allclose(found, partial_by_hand(Z, Y, 0.25))
    assert found[:, 1].argmax() == 2


@pytest.mark.parametrize("of_labels", [0, 1e-200, 1e300, np.inf])
@pytest.mark.parametrize("energy", [0, 1e-300, 1e308, np.inf])
def test_labels_are_not_partial_where_there_is_nothing_to_go_by(of_labels, energy):
    told = np.array([energy, energy, 1.0]), np.full((3, 2), of_labels), np.array([0.5, 0.0]), 10
    found = label_penalty_weights(*told, 0.5)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    if of_labels in (0, np.inf):
        np.testing.assert_array_equal(found, 1)


@pytest.mark.parametrize("n", [40, 6])
def test_partial_regressions_where_the_penalty_is_lost_in_rounding(n):
    rng = np.random.default_rng(0)
    Z = 1e9 * rng.standard_normal((n, 3)) @ rng.standard_normal((3, 10))
    Y = (Z[:, :2] > 0).astype(float)
    learnt = regression([[Z]], Y, [10], slice(0, 10))
    (shared,) = learnt.ridges(1e-2, [10])
    for model in learnt.partial(1e-2, 10, [0.25, 0.5]):
        np.testing.assert_array_equal(model.coef, shared.coef)


def worth_of(Y):
    return worth_of_samples(csr_array(Y), "f1")


def of_own_words(X, Y, form=csr_array, checkpoint=None, penalties=(1.0, 3.0)):
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None, checkpoint)
    options = {"penalties": penalties, "n_folds": 3, "decision": Decision()}
    return CandidateEvaluator(form(X), csr_array(Y), scalings_of(form(X)), training, **options)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_labels_are_partial_where_that_helps(own_words, form):
    """Chosen on samples that were left out, and learnt from the others alone; then from all."""
    X, Y = own_words
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cross_fit = of_own_words(X, Y, form)
    trial = cross_fit(PipelineParameters("rows", 2, 0.1), parts=("sample",))
    assert trial.partiality > 0
    expected = np.zeros(Y.shape)
    for train, test in KFold(3, shuffle=True, random_state=0).split(Y):
        learnt = regression([[unit[train]]], Y[train], [90], slice(0, 90), worth=worth_of(Y[train]))
        expected[test] = learnt.ridge(trial.penalty, 90, trial.partiality).scores([unit[test]])
    np.testing.assert_allclose(trial.scores, expected, atol=1e-9)
    model = SDGSClassifier(2, scaling="rows", random_state=0).fit(form(X), Y)
    (member,) = model._members
    assert model.read_from_ == ("sample",)
    whole = regression([[unit]], Y, [90], slice(0, 90), worth=worth_of(Y))
    found = [np.abs(whole.ridge(model.penalty_, 90, q).coef - member.ridge.coef).max() for q in (0, 0.25, 0.5)]
    assert np.argmin(found) > 0
    assert min(found) < 1e-9


def test_labels_are_not_partial_where_it_does_not_help(own_words, monkeypatch):
    """Nor where labels are read from kernels alone, nor where columns are not weighed, nor with many labels."""
    X, Y = own_words
    tried = []

    def watched(_, scores, penalties, *__):
        tried.append(penalties)
        return [[0 * one, 0 * one] for one in scores]

    monkeypatch.setattr("sdgs.selection._cross_fit.cross_fitted_partially", watched)
    setting = PipelineParameters("rows", 2, 0.1)
    trial = of_own_words(X, Y, penalties=(0.3, 1.0, 3.0, 10.0, 30.0))(setting)
    assert trial.partiality == 0
    assert tried == [[trial.penalty, {0.3: 1.0, 1.0: 3.0, 3.0: 10.0, 10.0: 30.0}[trial.penalty]]]
    assert of_own_words(X, Y, penalties=(trial.penalty,))(setting).partiality == 0
    assert tried[1:] == [[trial.penalty]]  # there is no larger one
    of_own_words(X, Y)(replace(setting, gamma=1.0), parts=("kernel",))
    of_own_words(X + 1, Y)(setting)
    of_own_words(X, np.tile(Y, 4))(setting)  # 24 labels of 90 words
    assert len(tried) == 2


def test_folds_that_do_not_fit_are_learnt_again(own_words, monkeypatch):
    X, Y = own_words
    setting, learnt = PipelineParameters("rows", 2, 0.1), []
    monkeypatch.setattr(
        "sdgs.selection._cross_fit.fit_features",
        lambda *args, **options: learnt.append(1) or fit_features(*args, **options),
    )
    first = of_own_words(X, Y)(setting)
    assert first.partiality > 0
    assert len(learnt) == 3
    for room, times in ((10, 6), (200_000, 5)):  # one takes more than half of the latter
        monkeypatch.setattr("sdgs.readout._calibration._KEPT_BYTES", room)
        learnt.clear()
        again = of_own_words(X, Y)(setting)
        assert len(learnt) == times
        assert (again.penalty, again.partiality) == (first.penalty, first.partiality)
        np.testing.assert_array_equal(again.scores, first.scores)


def test_a_trial_that_was_kept_is_as_partial(own_words, tmp_path):
    X, Y = own_words
    setting = PipelineParameters("rows", 2, 0.1)
    first = of_own_words(X, Y, checkpoint=tmp_path)(setting, parts=("sample",))
    assert first.partiality > 0
    kept = of_own_words(X, Y, checkpoint=tmp_path)(setting, parts=("sample",))
    assert (kept.penalty, kept.partiality, kept.value) == (first.penalty, first.partiality, first.value)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("n", [60, 8])
def test_rows_count_by_their_worth(n, form):
    """As scikit-learn's samples do by their weights, whether there are more rows or more columns."""
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((n, 12)) + 1, (rng.random((n, 3)) < 0.4).astype(float)
    worth = rng.uniform(0.2, 3, n)
    worth /= worth.mean()
    blocks = [[Z[rows, :5], form(Z[rows, 5:])] for rows in THREE_ROWS]
    learnt = regression(blocks, form(Y), [9, 12], worth=worth)
    for model, width in zip(learnt.ridges(0.5, [9, 12]), (9, 12), strict=True):
        theirs = Ridge(alpha=0.5).fit(Z[:, :width], Y, sample_weight=worth)
        np.testing.assert_allclose(model.scores([Z]), theirs.predict(Z[:, :width]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [120, 60])
def test_what_columns_say_is_what_rows_of_worth_say(own_words, n):
    """A row that is worth two is as two rows."""
    X, Y = own_words[0][:n], own_words[1][:n]
    times = np.random.default_rng(0).integers(1, 4, n)
    worth = times / times.mean()
    once = regression([[X]], Y, [90], slice(0, 90), worth=worth)
    often = regression([[np.repeat(X, times, axis=0)]], np.repeat(Y, times, axis=0), [90], slice(0, 90))
    scale = times.mean()
    lenient = [penalty_weights(*learnt._told) for learnt in (once, often)]
    told = once._told[0] * scale, once._told[1] * scale, once._told[2], once._told[3] * scale
    np.testing.assert_allclose(penalty_weights(*told), lenient[1])
    assert np.abs(lenient[0] - lenient[1]).max() > 1e-3  # there are more of them


def test_samples_with_many_labels_count_less():
    Y = csr_array([[1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    found = worth_of_samples(Y, "f1")
    np.testing.assert_allclose(found, np.array([3 / 8, 3 / 14, 3 / 8]) / np.mean([3 / 8, 3 / 14, 3 / 8]))
    np.testing.assert_array_equal(worth_of_samples(Y, "accuracy"), found)
    assert worth_of_samples(Y, "hamming_loss") is None
    assert worth_of_samples(csr_array(np.eye(3)), "f1") is None
    assert worth_of_samples(csr_array((3, 2)), "f1") is None


@pytest.mark.parametrize("metric", ["f1", "hamming_loss"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_words_of_samples_with_many_labels_count_less(few_words, form, metric, monkeypatch):
    """In cross-validation and in the end; by the samples that are learnt from."""
    monkeypatch.setattr("sdgs.selection._cross_fit._PARTIALITIES", ())
    X, Y = few_words
    Y = np.hstack([Y, Y[:, :1] & Y[:, 1:]])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)

    def by_hand(X, Y):
        return regression([[X]], Y, [40], slice(0, 40), worth=worth_of_samples(csr_array(Y), metric)).ridge(3.0, 40, 0)

    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)
    options = {"penalties": (3.0,), "n_folds": 3, "decision": Decision(metric)}
    trial = CandidateEvaluator(form(X), csr_array(Y), scalings_of(form(X)), training, **options)(
        PipelineParameters("rows", 2, 0.1), parts=("sample",)
    )
    expected = np.zeros(Y.shape)
    for train, test in KFold(3, shuffle=True, random_state=0).split(Y):
        expected[test] = by_hand(unit[train], Y[train]).scores([unit[test]])
    np.testing.assert_allclose(trial.scores, expected, atol=1e-9)
    model = SDGSClassifier(2, scaling="rows", penalty=3.0, metric=metric, random_state=0).fit(form(X), Y)
    assert model.read_from_ == ("sample",)
    np.testing.assert_allclose(model._members[0].ridge.coef, by_hand(unit, Y).coef, atol=1e-9)


def test_a_forged_trial_is_not_partial_where_it_cannot_be(own_words, tmp_path):
    X, Y = own_words
    setting = PipelineParameters("rows", 2, 0.1, gamma=1.0)
    first = of_own_words(X, Y, checkpoint=tmp_path)(setting, parts=("kernel",))
    (path,) = (path for path in tmp_path.iterdir() if b'"choice"' in path.read_bytes())
    content = read(path, "sdgs-checkpoint", (VERSION,))
    forged = {**content.arrays, "worth": np.array([first.value, 0.25])}
    write(path, "sdgs-checkpoint", VERSION, "0", content.document, forged)
    with pytest.warns(UserWarning, match="of no use"):
        again = of_own_words(X, Y, checkpoint=tmp_path)(setting, parts=("kernel",))
    assert again.partiality == 0
