"""Cross-fitting."""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from sdgs.readout._ridge import RidgeDesign, prepare_ridge
from sdgs.selection._cross_fit import FoldFit, cross_fit_scores, draw_rows, make_folds, n_cv_samples, n_folds_used


def test_scores_are_of_models_that_were_not_fitted_to_the_sample():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((30, 6)), (rng.random((30, 2)) < 0.5).astype(float)
    folds = make_folds(30, 3, seed=0)

    def fit_fold(train, test, i):
        regression = prepare_ridge([[(1 + i) * Z[train]]], Y[train], RidgeDesign((4, 6)))
        return FoldFit(regression, [[(1 + i) * Z[test[:3]]], [(1 + i) * Z[test[3:]]]], (4, 6))

    scores = cross_fit_scores(fit_fold, Y, folds, (1.0, 10.0), 2)
    for width_scores, width in zip(scores, (4, 6), strict=True):
        for score, penalty in zip(width_scores, (1.0, 10.0), strict=True):
            for i, (train, test) in enumerate(folds.pairs):
                features = (1 + i) * Z[:, :width]
                expected = Ridge(alpha=penalty).fit(features[train], Y[train]).predict(features[test])
                np.testing.assert_allclose(score[test], expected, atol=1e-10)


def test_without_a_label_to_learn_from_scores_are_frequencies():
    Y = np.zeros((3, 2))
    Y[0, 0] = 1  # the fold that leaves it out has none

    def fit_fold(train, test, _):
        regression = prepare_ridge([[np.zeros((len(train), 1))]], Y[train], RidgeDesign((1,)))
        return FoldFit(regression, [[np.zeros((len(test), 1))]], (1,))

    scores = cross_fit_scores(fit_fold, Y, make_folds(3, 3, seed=0), (1.0,), 1)
    np.testing.assert_allclose(scores[0][0], [[1 / 3, 0], [1 / 2, 0], [1 / 2, 0]])
    single = make_folds(1, 3, seed=0)
    np.testing.assert_array_equal(cross_fit_scores(fit_fold, Y[:1], single, (1.0,), 1)[0][0], Y[:1])


def test_folds_are_left_out_until_enough_samples_are_predicted():
    pairs = list(KFold(3, shuffle=True, random_state=0).split(np.empty((90, 1))))
    for enough, n_folds in ((30, 1), (31, 2), (61, 3), (1000, 3)):
        folds = make_folds(90, 3, seed=0, enough=enough)
        assert len(folds.pairs) == n_folds == n_folds_used(90, 3, enough=enough)
        np.testing.assert_array_equal(folds.test_rows, np.sort(np.concatenate([test for _, test in pairs[:n_folds]])))
    assert n_folds_used(29_999, 3) == 2
    assert n_folds_used(30_000, 3) == 1


def test_how_many_samples_are_used():
    assert n_cv_samples(1200, 3, 9) == 1200
    assert n_cv_samples(10**6, 3, 9) == 50_000
    assert n_cv_samples(10**6, 3, 9, maximum=3000) == 3000
    assert n_cv_samples(10**6, 1000, 9) == (1 << 31) // (8 * 4 * 9 * 1000)  # 2 GiB of scores
    assert n_cv_samples(10**6, 10**6, 9) == 1000
    rows = draw_rows(1200, 1000, seed=0)
    assert rows.size == 1000
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(draw_rows(20, 30, seed=0), np.arange(20))
