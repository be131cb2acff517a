"""Reading labels from codes: cross-fitting and calibration."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix, vstack
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from regressions import dense, ridge_path
from sdgs import SDGSClassifier, decompose, group_lasso, metrics
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.estimators._sdgs_model import scalings_of
from sdgs.readout._calibration import Features, calibrate, cross_fitted
from sdgs.readout._decision import Decision
from sdgs.readout._features import DecompositionOptions, PipelineParameters, fit_features
from sdgs.selection._cross_fit import CandidateEvaluator


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_features_are_float64_whatever_the_samples_are(form):
    """Fewer samples than features of float32, one of them large: squares of them have no digits to spare."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 100)).astype(np.float32), rng.random((60, 3)) < 0.4
    X[:, 0] = 1000 + 300 * X[:, 0]
    X[rng.random(X.shape) < 0.2] = 0
    model = SDGSClassifier(2, scaling=None, penalty=0.01, random_state=0).fit(form(X), Y)
    member = model._members[0]
    (parts,) = member.view.blocks(form(X), None)
    assert all(part.dtype == np.float64 for part in parts)
    width = member.ridge.coef.shape[1]
    Z = dense(parts)[:, :width]
    theirs = Ridge(alpha=0.01).fit(Z, Y)
    np.testing.assert_allclose(member.ridge.scores(parts), theirs.predict(Z), atol=1e-6)


def test_cross_fitted_scores_are_of_samples_that_were_left_out():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((30, 6)), (rng.random((30, 2)) < 0.5).astype(float)
    folds = list(KFold(3, shuffle=True, random_state=0).split(Y))

    def features(i):
        train, test = folds[i]
        return Features([[(1 + i) * Z[train]]], [[(1 + i) * Z[test[:3]]], [(1 + i) * Z[test[3:]]]], (4, 6))

    scores = cross_fitted(features, Y, folds, (1.0, 10.0), 2)
    for of_width, width in zip(scores, (4, 6), strict=True):
        for score, penalty in zip(of_width, (1.0, 10.0), strict=True):
            for i, (train, test) in enumerate(folds):
                used = (1 + i) * Z[:, :width]
                model = Ridge(alpha=penalty).fit(used[train], Y[train])
                np.testing.assert_allclose(score[test], model.predict(used[test]), atol=1e-10)


def test_cross_fitting_where_nothing_can_be_learnt():
    Y = np.zeros((3, 2))
    Y[0, 0] = 1  # left out, nothing is left
    folds = list(KFold(3).split(Y))
    nothing = [[[[np.zeros((len(part), 1))]] for part in fold] for fold in folds]
    scores = cross_fitted(lambda i: Features(*nothing[i], (1,)), Y, folds, (1.0,), 1)
    assert np.isfinite(scores[0][0]).all()
    np.testing.assert_array_equal(cross_fitted(lambda _: None, Y[:1], [], (1.0,), 1)[0][0], Y[:1])


def test_calibration_finds_the_probabilities():
    rng = np.random.default_rng(0)
    scores = rng.normal(0.3, 0.3, (4000, 5))
    truth = expit(6 * scores - 3)
    Y = rng.random(truth.shape) < truth
    found = expit(calibrate(scores, Y).log_odds(scores))
    assert np.abs(found - truth).max() < 0.05


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), k=st.integers(1, 5), share=st.sampled_from([0.0, 0.2, 1.0]))
def test_calibration_keeps_the_order_and_is_finite(seed, n, k, share):
    rng = np.random.default_rng(seed)
    scores, Y = rng.standard_normal((n, k)), rng.random((n, k)) < share
    result = calibrate(scores, Y)
    assert (result.slope >= 0).all()
    assert np.isfinite(result.log_odds(scores)).all()
    if not result.slope.any():  # then the frequencies, by Laplace's rule
        np.testing.assert_allclose(expit(result.offset), (Y.sum(axis=0) + 1) / (n + 2))


def test_scores_that_say_the_opposite_are_not_believed():
    Y = np.arange(90)[:, None] < 30
    for shift in (0.0, -5.0, 100.0):
        p = expit(calibrate(np.where(Y, 0.3, 0.36) + shift, Y).log_odds(np.array([[0.3 + shift]])))
        assert p == pytest.approx(31 / 92)


def test_noise_gets_the_frequencies():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((90, 60)), (rng.random((90, 3)) < [0.1, 0.3, 0.5]).astype(int)
    p = SDGSClassifier(10, random_state=0).fit(X, Y).predict_proba(rng.standard_normal((500, 60)))
    np.testing.assert_allclose(p.mean(axis=0), Y.mean(axis=0), atol=0.12)
    assert p.std(axis=0).max() < 0.2


def test_no_fold_sees_the_samples_that_it_is_tested_on(monkeypatch):
    learnt, coded = [], []

    def spy_on_decompose(X, *args, **options):
        learnt.append(X)
        return decompose(X, *args, **options)

    def spy_on_group_lasso(X, components, *args, **options):
        coded.append((X, components))
        return group_lasso(X, components, *args, **options)

    monkeypatch.setattr("sdgs.readout._features.decompose", spy_on_decompose)
    monkeypatch.setattr("sdgs.readout._features.group_lasso", spy_on_group_lasso)
    data = make_label_subspaces(60, 12, 3, n_components=2, noise=0.2, random_state=0)
    SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    assert [len(X) for X in learnt] == [40, 40, 40, 60]
    # Each decomposition codes its own samples and then the others, with its own subspaces.
    for mine, X, others in zip(coded[:6:2], learnt[:3], coded[1:6:2], strict=True):
        assert np.array_equal(mine[0], X)
        assert mine[1] is others[1]
        assert len(np.unique(np.vstack([mine[0], others[0]]), axis=0)) == 60


def test_what_set_params_cannot_change_after_the_fit(digits, model):
    test = digits[1]
    before = model.predict_proba(test.X[:20])
    changed = pickle.loads(pickle.dumps(model)).set_params(alpha=0.5, scaling=None, huber=0.01, gamma=1.0, decision=2)
    np.testing.assert_array_equal(changed.predict_proba(test.X[:20]), before)


def test_a_dense_model_takes_sparse_samples():
    data = make_label_subspaces(100, 12, 3, n_components=2, noise=0.2, random_state=0)
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    assert model.scaler_ is not None
    np.testing.assert_allclose(model.predict_proba(csr_array(data.X)), model.predict_proba(data.X))
    np.testing.assert_allclose(model.contributions(csr_array(data.X[:2])), model.contributions(data.X[:2]))


def test_one_warning_however_many_folds():
    data = make_label_subspaces(100, 12, 3, n_components=2, noise=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        SDGSClassifier(2, max_iter=1, tol=0.0, random_state=0).fit(data.X, data.Y)
    assert len(caught) == 1


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(1500, max_labels=2, subset="train", random_state=0),
        make_composite_digits(1000, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="module")
def model(digits):
    return SDGSClassifier(random_state=0).fit(digits[0].X, digits[0].Y)


def test_probabilities_are_calibrated(digits, model):
    test = digits[1]
    p = model.predict_proba(test.X)
    assert p.shape == test.Y.shape
    np.testing.assert_allclose(p, expit(model.decision_function(test.X)))
    bins = np.digitize(p.ravel(), np.linspace(0, 1, 11)[1:-1])
    truth = test.Y.ravel()
    error = sum(abs(truth[bins == b].mean() - p.ravel()[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    assert error < 0.03


def test_it_predicts_better_than_the_papers_way(digits, model):
    train, test = digits
    paper = SDGSClassifier(6, alpha=0.25, readout="norm", threshold=0.26, random_state=0).fit(train.X, train.Y)
    assert metrics.f1(test.Y, model.predict(test.X)) > metrics.f1(test.Y, paper.predict(test.X)) + 0.02


def test_norms_are_read_where_signs_say_nothing():
    """Planted coefficients are as often negative as positive: only their size tells the labels."""
    data = make_label_subspaces(600, 60, 8, n_components=3, random_state=0)
    assert SDGSClassifier(3, random_state=0).fit(data.X, data.Y).read_from_ == ("sample", "code", "norms")


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_what_is_read_does_not_depend_on_the_axes_of_a_subspace(digits, gamma):
    train, test = digits
    X, Y = train.X[:400], csr_array(train.Y[:400])
    training = DecompositionOptions(1e-4, "brp", 100, 1e-3, 50, 0, None)
    view = fit_features(X, Y, PipelineParameters(None, 4, 0.1, gamma=gamma), training)
    components = view.decomposition.components
    turns = np.linalg.qr(np.random.default_rng(0).standard_normal((len(components), 4, 4)))[0]
    turned = tuple(turn @ C for turn, C in zip(turns, components, strict=True))
    other = replace(view, decomposition=replace(view.decomposition, components=turned))
    found = []
    for each in (view, other):
        ridge = next(ridge_path(each.blocks(X, None), Y, [0.1], each.widths[-1:], kernels=each.kernels))
        found.append(ridge.scores(next(each.blocks(test.X, None))))
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)  # codes are known to a duality gap of 1e-6


def test_one_class_a_sample(digits):
    train = digits[0]
    single = train.Y.sum(axis=1) == 1
    X, y = train.X[single], train.Y[single].argmax(axis=1)
    model = SDGSClassifier(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.85
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_probabilities_need_the_ridge(digits):
    train = digits[0]
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(train.X[:100], train.Y[:100])
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = model.predict_proba
    with pytest.raises(NotFittedError, match="Fit it again"):
        model.set_params(readout="ridge").predict(train.X[:2])


def test_a_given_penalty_is_used(digits):
    train = digits[0]
    model = SDGSClassifier(2, penalty=2.5, random_state=0).fit(train.X[:200], train.Y[:200])
    assert model.penalty_ == 2.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"readout": "svm"}, "readout must be one of"),
        ({"penalty": 0.0}, "penalty must be"),
        ({"penalty": "large"}, "penalty must be"),
        ({"decision": "recall"}, "decision must be one of"),
        ({"decision": 0}, "decision must be an integer >= 1"),
        ({"decision": 1.5}, "decision must be a probability"),
        ({"decision": [0.5, 0.5]}, "one for each of the 10 labels"),
        ({"metric": "recall"}, "metric must be one of"),
        ({"at_least_one": "always"}, "at_least_one must be one of"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"gamma": 1.0, "readout": "norm"}, 'gamma needs readout="ridge"'),
        ({"n_landmarks": 0}, "n_landmarks must be"),
        ({"cv": 1}, "cv must be"),
        ({"huber": -1.0}, "huber must be"),
        ({"huber": "much"}, "huber must be"),
        ({"huber": "auto", "readout": "norm"}, 'huber="auto" needs readout="ridge"'),
    ],
)
def test_bad_parameters(digits, options, message):
    with pytest.raises(ValueError, match=message):
        SDGSClassifier(**options).fit(digits[0].X, digits[0].Y)


@pytest.fixture
def words():
    """Sparse counts with frequent and rare words."""
    rng = np.random.default_rng(0)
    Y = rng.random((500, 4)) < 0.4
    rates = 0.03 + 0.5 * (rng.random((4, 120)) < 0.1)
    X = rng.poisson(np.minimum(Y @ rates, 1) * np.linspace(1, 0.1, 120)).astype(float)
    return csr_array(X), Y.astype(int)


@pytest.mark.parametrize("form", ["sparse", "dense", "kernel"])
def test_labels_are_read_from_the_columns_that_say_most(words, form, monkeypatch):
    X, Y = words
    gamma = 1.0 if form == "kernel" else None
    if form != "sparse":
        X = X.toarray()
    options = {"scaling": "rows", "gamma": gamma, "n_landmarks": 30, "random_state": 0}
    whole = SDGSClassifier(**options).fit(X, Y)
    monkeypatch.setattr("sdgs.readout._features.WIDEST", 60)
    monkeypatch.setattr("sdgs.readout._features._LOOKED_AT", 249)
    monkeypatch.setattr("sdgs.readout._features._TOGETHER", 300)
    model = SDGSClassifier(**options).fit(X, Y)
    view, scaled = model._members[0].view, model._members[0].scaling(X)[0]
    full, Z = (dense(*one.blocks(scaled, None)) for one in (whole._members[0].view, view))
    assert Z.shape == (500, 60)
    explained = np.zeros(full.shape[1])
    seen, labels = full[::3], Y[::3]
    for j, column in enumerate((seen - seen.mean(axis=0)).T):
        ridge = Ridge(alpha=1.0, fit_intercept=False).fit(column[:, None], labels - labels.mean(axis=0))
        explained[j] = np.square(ridge.coef_).sum() * (column @ column + 1)
    kernel = 30 if gamma else 0  # which stays whole
    explained[:kernel] = np.inf
    np.testing.assert_array_equal(view.columns, np.sort(np.argsort(-explained)[:60]))
    np.testing.assert_allclose(Z, full[:, view.columns])
    assert view.widths[0] >= kernel
    *_, without, with_norms = view.widths
    assert with_norms == 60
    np.testing.assert_array_equal(view.columns[without:] >= full.shape[1] - 4, True)
    np.testing.assert_array_equal(view.columns[:without] < full.shape[1] - 4, True)
    assert metrics.f1(Y, model.predict(X)) > 0.9 * metrics.f1(Y, whole.predict(X))


@pytest.mark.parametrize("limit", ["MOST_ROWS", "_SCORE_BYTES"])
def test_many_samples_are_cross_fitted_on_some(limit, monkeypatch):
    rng = np.random.default_rng(0)
    Y = rng.random((1200, 3)) < 0.5
    X = Y @ rng.standard_normal((3, 6)) + 0.1 * rng.standard_normal((1200, 6))
    monkeypatch.setattr(
        f"sdgs.selection._cross_fit.{limit}", 1000
    )  # of which every label needs 144 bytes a sample; but 1000 may be
    tried = []

    class Watched(SDGSClassifier):
        def _cross_fit(self, *args, **options):
            tried.append(super()._cross_fit(*args, **options))
            return tried[-1]

    model = Watched(random_state=0).fit(X, Y)
    (cross_fit,) = tried
    assert cross_fit.rows.size == 1000
    assert (np.diff(cross_fit.rows) > 0).all()
    assert model.decomposition_.shape[0] == 1200
    assert metrics.f1(Y, model.predict(X)) > 0.9


@pytest.mark.parametrize(
    ("widest", "n_landmarks", "beside"), [(60, 30, 30), (60, 50, 15), (60, 70, 15), (600, 500, 140)]
)
def test_beside_a_large_kernel_a_quarter_as_many_columns_are_read(words, widest, n_landmarks, beside, monkeypatch):
    """Or all of them: there are 140 words, codes and norms."""
    X, Y = words
    monkeypatch.setattr("sdgs.readout._features.WIDEST", widest)
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, n_landmarks, 0, None)
    view = fit_features(X.toarray(), csr_array(Y), PipelineParameters("rows", 4, 0.1, gamma=1.0), training)
    (parts,) = view.blocks(X.toarray(), None)
    assert dense(parts).shape[1] == view.widths[-1] == n_landmarks + beside
    assert view.widths[0] == n_landmarks


def test_scalings_are_looked_at_by_the_folds_that_are_used(words, monkeypatch):
    X, Y = words
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)
    options = {"penalties": (1.0,), "n_folds": 3, "decision": Decision()}
    monkeypatch.setattr("sdgs.selection._cross_fit._LEFT_OUT", 100)
    seen = []
    monkeypatch.setattr(
        "sdgs.selection._cross_fit._value", lambda scores, truth, _: seen.append((scores, truth)) or 0.0
    )
    CandidateEvaluator(X, csr_array(Y), scalings_of(X), training, **options).best_scaling(
        ("rows", "idf"), for_subspaces=False
    )
    left_out = np.sort(next(KFold(3, shuffle=True, random_state=0).split(Y))[1])
    assert [scores.shape for scores, _ in seen] == [(167, 4)] * 2
    for _, truth in seen:
        np.testing.assert_array_equal(truth, Y[left_out])


def test_of_many_samples_not_all_folds_are_left_out(monkeypatch):
    """As many as it takes: the others are learnt from only, and what is chosen and calibrated is by those alone."""
    rng = np.random.default_rng(0)
    Y = rng.random((90, 3)) < 0.5
    X = Y @ rng.standard_normal((3, 6)) + rng.standard_normal((90, 6))
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)
    options = {"penalties": (1.0, 10.0), "n_folds": 3, "decision": Decision()}

    def tried():
        return CandidateEvaluator(X, csr_array(Y), scalings_of(X), training, **options)(
            PipelineParameters("rows", 2, 0.1)
        )

    whole = tried()
    np.testing.assert_array_equal(whole.rows, np.arange(90))
    monkeypatch.setattr("sdgs.selection._cross_fit._LEFT_OUT", 31)
    (_, first), (_, second), _ = KFold(3, shuffle=True, random_state=0).split(Y)
    left_out = np.sort(np.concatenate([first, second]))
    trial = tried()
    np.testing.assert_array_equal(trial.rows, left_out)
    assert (trial.penalty, trial.read_from) == (whole.penalty, whole.read_from)
    np.testing.assert_allclose(trial.scores, whole.scores[left_out])
    model = SDGSClassifier(2, penalty=trial.penalty, scaling="rows", random_state=0).fit(X, Y)
    assert model.read_from_ == trial.read_from
    expected = calibrate(trial.scores, Y[left_out])
    np.testing.assert_allclose(model._calibration.slope, expected.slope)


@pytest.mark.parametrize("readout", ["ridge", "norm"])
def test_blocks_of_rows_change_nothing(words, readout, monkeypatch):
    X, Y = words
    big = vstack([X] * 5, format="csr")
    model = SDGSClassifier(readout=readout, random_state=0).fit(X, csr_array(Y))
    expected, scores = model.predict(big).toarray(), model.decision_function(big)
    for part in ("readout._features", "estimators._base", "_utils._row_norms"):
        name = "_BLOCK_ENTRIES" if part == "_utils._row_norms" else "_BLOCK_BYTES"
        monkeypatch.setattr(f"sdgs.{part}.{name}", 1)
    assert model._members[0].view.block_rows(X) == 1024
    np.testing.assert_array_equal(model.predict(big).toarray(), expected)
    np.testing.assert_allclose(model.decision_function(big), scores, atol=1e-9)
    again = SDGSClassifier(readout=readout, random_state=0).fit(X, csr_array(Y))
    np.testing.assert_allclose(again.decision_function(big), scores, atol=1e-9)


def test_every_kind_of_sparse_matrix_is_one(monkeypatch):
    """A csr_matrix, whose star is the matrix product; entries in no order; entries stored in two parts."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((120, 60)) < 0.2, rng.random((120, 60)), 0)
    Y = rng.random((120, 3)) < 0.4
    rows, columns = dense.nonzero()
    order = rng.permutation(2 * rows.size)
    halves = np.tile(dense[rows, columns] / 2, 2)[order]
    places = (np.tile(rows, 2)[order], np.tile(columns, 2)[order])
    by_row = np.argsort(places[0], kind="stable")
    counts = np.bincount(places[0], minlength=120)
    twice = csr_array((halves[by_row], places[1][by_row], np.concatenate([[0], np.cumsum(counts)])), shape=dense.shape)
    given = twice.data.copy(), twice.indices.copy()
    monkeypatch.setattr("sdgs.readout._features.WIDEST", 40)
    monkeypatch.setattr("sdgs.selection._cross_fit._QUICK", 40)
    models = [SDGSClassifier(huber=0.5, random_state=0).fit(X, Y) for X in (csr_array(dense), csr_matrix(dense), twice)]
    expected = models[0].predict_proba(csr_array(dense))
    for model, X in zip(models, (csr_array(dense), csr_matrix(dense), twice), strict=True):
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
        assert model.transform(X).shape == dense.shape
    np.testing.assert_array_equal(twice.data, given[0])
    np.testing.assert_array_equal(twice.indices, given[1])
    components = models[0].components_
    plain, doubled = (group_lasso(X, components, 0.1).codes.toarray() for X in (dense, twice))
    np.testing.assert_allclose(doubled, plain, atol=1e-12)


def test_no_subspace_is_the_whole_space():
    """Or labels could not be told apart, and rounding would choose whose code a sample has."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = 0.3 * rng.standard_normal((200, 2)) + np.array([[0, 2], [2, -1], [-2, -1]])[y]
    model = SDGSClassifier(huber=0.1, random_state=0).fit(X, y)
    assert [len(C) for C in model.components_] == [1, 1, 1]
    np.testing.assert_allclose(model.predict_proba(X.astype(np.float32)), model.predict_proba(X), atol=1e-3)
    assert (model.predict(X) == y).mean() > 0.95
