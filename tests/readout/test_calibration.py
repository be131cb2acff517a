"""Calibration of scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sdgs.readout._calibration import fit_calibration, fit_calibrations


def test_it_recovers_the_probabilities():
    rng = np.random.default_rng(0)
    scores = rng.normal(0.3, 0.3, (4000, 5))
    truth = expit(6 * scores - 3)
    Y = rng.random(truth.shape) < truth
    estimate = expit(fit_calibration(scores, Y).log_odds(scores))
    assert np.abs(estimate - truth).max() < 0.05


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), k=st.integers(1, 5), share=st.sampled_from([0.0, 0.2, 1.0]))
def test_it_keeps_the_order_and_is_finite(seed, n, k, share):
    rng = np.random.default_rng(seed)
    scores, Y = rng.standard_normal((n, k)), rng.random((n, k)) < share
    result = fit_calibration(scores, Y)
    assert (result.slope >= 0).all()
    assert np.isfinite(result.log_odds(scores)).all()
    if not result.slope.any():  # then the frequencies, by Laplace's rule
        np.testing.assert_allclose(expit(result.offset), (Y.sum(axis=0) + 1) / (n + 2))


def calibration_by_scikit_learn(scores, Y):
    """The probabilities of a logistic regression on scores s, log-odds l of labels, and s * l."""
    n = len(Y)
    frequency = (Y.sum(axis=0) + 1) / (n + 2)
    log_odds = np.broadcast_to(np.log(frequency / (1 - frequency)), Y.shape)
    columns = np.column_stack([scores.ravel(), log_odds.ravel(), (scores * log_odds).ravel()])
    for n_columns in (3, 2):  # without s * l if the slope of a label is negative
        regression = LogisticRegression(C=1e3, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        regression.fit(columns[:, :n_columns], Y.ravel())
        slope = regression.coef_[0, 0] + (regression.coef_[0, 2] * log_odds[0] if n_columns == 3 else 0)
        if np.all(slope > 0):
            return regression.predict_proba(columns[:, :n_columns])[:, 1].reshape(Y.shape)
    return np.broadcast_to(frequency, Y.shape)


def draw_scores(seed, kind):
    """Scores and labels of random shapes and difficulties, with labels that are frequent and rare."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 300)), int(rng.integers(1, 8))
    scores = rng.normal(rng.uniform(0, 0.6), rng.uniform(0.1, 0.6), (n, k))
    if kind == "separable":
        return scores, scores > np.median(scores)
    if kind == "unrelated":
        return scores, rng.random((n, k)) < rng.uniform(0.1, 0.6, k)
    Y = rng.random((n, k)) < expit(rng.uniform(2, 9) * scores - rng.uniform(1, 5, k))
    shift, scale = {"usual": (0.0, 1.0), "shifted": (-3.0, 1.0), "scaled": (0.0, 20.0), "small": (0.5, 0.05)}[kind]
    return shift + scale * scores, Y


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("kind", ["usual", "shifted", "scaled", "small", "separable", "unrelated"])
@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_logistic_regression_of_scikit_learn(kind, seed):
    scores, Y = draw_scores(seed, kind)
    expected = calibration_by_scikit_learn(scores, Y)
    np.testing.assert_allclose(fit_calibration(scores, Y).probabilities(scores), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["usual", "shifted", "separable", "unrelated"])
@pytest.mark.parametrize("seed", range(4))
def test_calibrations_that_start_at_others_are_those_of_their_own(kind, seed):
    scores, Y = draw_scores(seed, kind)
    noise = np.random.default_rng(seed).normal(0, scores.std(), scores.shape)
    candidates = [scores, scores + 0.2 * noise, noise, -scores, 3 - 2 * noise, scores + 1]
    for candidate, calibration in zip(candidates, fit_calibrations(candidates, Y), strict=True):
        alone = fit_calibration(candidate, Y).probabilities(candidate)
        np.testing.assert_allclose(calibration.probabilities(candidate), alone, atol=1e-6)


def test_scores_that_decrease_with_the_label_are_ignored():
    Y = np.arange(90)[:, None] < 30
    for shift in (0.0, -5.0, 100.0):
        p = expit(fit_calibration(np.where(Y, 0.3, 0.36) + shift, Y).log_odds(np.array([[0.3 + shift]])))
        assert p == pytest.approx(31 / 92)


def test_many_scores_are_thinned_out_evenly():
    rng = np.random.default_rng(0)
    scores = rng.normal(0.3, 0.3, (4000, 5))
    Y = rng.random(scores.shape) < expit(6 * scores - 3)
    thinned = fit_calibration(scores, Y, max_scores=2000)
    changed = scores.copy()
    changed[np.arange(4000) % 10 > 0] = 0.0  # rows that are not looked at
    np.testing.assert_array_equal(fit_calibration(changed, Y, max_scores=2000).slope, thinned.slope)
    assert not np.allclose(fit_calibration(changed, Y).slope, thinned.slope)
