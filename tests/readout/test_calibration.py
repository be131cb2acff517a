"""Calibration of scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from sdgs.readout._calibration import fit_calibration


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
