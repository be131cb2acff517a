"""Cross-fitting."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from sdgs.readout._decision import Decision
from sdgs.readout._ridge import RidgeDesign, prepare_ridge
from sdgs.selection._cross_fit import (
    CrossFit,
    Scorer,
    best_penalty,
    draw_rows,
    middle_penalty,
    n_cv_samples,
)
from sdgs.selection._folds import make_folds, n_folds_used


def test_scores_are_of_models_that_were_not_fitted_to_the_sample():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((30, 6)), (rng.random((30, 2)) < 0.5).astype(float)
    folds = make_folds(30, 3, seed=0)

    def fit_fold(train, test, i):
        regression = prepare_ridge([[(1 + i) * Z[train]]], Y[train], RidgeDesign((4, 6)))
        return regression.path([[(1 + i) * Z[test[:3]]], [(1 + i) * Z[test[3:]]]], (4, 6))

    cross_fit = CrossFit(fit_fold, Y, folds, 2)
    for penalty in (1.0, 10.0):
        for score, width in zip(cross_fit.scores(penalty), (4, 6), strict=True):
            for i, (train, test) in enumerate(folds.pairs):
                features = (1 + i) * Z[:, :width]
                expected = Ridge(alpha=penalty).fit(features[train], Y[train]).predict(features[test])
                np.testing.assert_allclose(score[test], expected, atol=1e-10)


def test_without_a_label_to_learn_from_scores_are_frequencies():
    Y = np.zeros((3, 2))
    Y[0, 0] = 1  # the fold that leaves it out has none

    def fit_fold(train, test, _):
        regression = prepare_ridge([[np.zeros((len(train), 1))]], Y[train], RidgeDesign((1,)))
        return regression.path([[np.zeros((len(test), 1))]], (1,))

    (scores,) = CrossFit(fit_fold, Y, make_folds(3, 3, seed=0), 1).scores(1.0)
    np.testing.assert_allclose(scores, [[1 / 3, 0], [1 / 2, 0], [1 / 2, 0]])
    (scores,) = CrossFit(fit_fold, Y[:1], make_folds(1, 3, seed=0), 1).scores(1.0)
    np.testing.assert_array_equal(scores, Y[:1])


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize("best", range(5))
def test_the_search_for_a_penalty_ends_at_the_maximum_and_evaluates_no_more_than_it_must(start, best):
    penalties, evaluated = (0.1, 0.3, 1.0, 3.0, 10.0), []

    class Curve:
        """Scores of two widths: the second is better."""

        def scores(self, penalty):
            evaluated.append(penalties.index(penalty))
            value = -abs(evaluated[-1] - best)
            return [np.full((1, 1), value - 0.5), np.full((1, 1), value)]

    class Identity(Scorer):
        def quick_values(self, candidates, _):
            return [float(scores[0, 0]) for scores in candidates]

    point = best_penalty(Curve(), penalties, start, Identity(np.zeros((1, 1)), Decision()), {})
    assert (point.penalty, point.width, point.value) == (best, 1, 0.0)
    assert len(evaluated) == len(set(evaluated)) <= abs(best - start) + 3


def test_the_search_for_a_penalty_starts_near_one():
    assert middle_penalty((0.01, 0.3, 2.0, 50.0)) == 2
    assert middle_penalty((7.0,)) == 0


def test_folds_are_left_out_until_enough_samples_are_predicted():
    pairs = list(KFold(3, shuffle=True, random_state=0).split(np.empty((90, 1))))
    for enough, n_folds in ((30, 1), (31, 2), (61, 3), (1000, 3)):
        folds = make_folds(90, 3, seed=0, enough=enough)
        assert len(folds.pairs) == n_folds == n_folds_used(90, 3, enough=enough)
        np.testing.assert_array_equal(folds.test_rows, np.sort(np.concatenate([test for _, test in pairs[:n_folds]])))
    assert n_folds_used(29_999, 3) == 2
    assert n_folds_used(30_000, 3) == 1


def test_how_many_samples_are_used():
    assert n_cv_samples(1200, 3) == 1200
    assert n_cv_samples(10**6, 3) == 50_000
    assert n_cv_samples(10**6, 3, maximum=3000) == 3000
    assert n_cv_samples(10**6, 1000) == 7500
    assert n_cv_samples(10**6, 10**6) == 1000
    rows = draw_rows(1200, 1000, seed=0)
    assert rows.size == 1000
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(draw_rows(20, 30, seed=0), np.arange(20))
