"""Weights of models, and the average of their log-odds."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from sdgs.readout._calibrated_average import best_weights, fit_average, weights_with_best_metric
from sdgs.readout._calibration import Calibration, calibrate_varying, shrunk_log_odds
from sdgs.readout._decision import Decision, metric_value

F1 = Decision("f1")


def draw(seed=0, n=2000, k=3, noise=(0.5, 1.0)):
    """Labels, and the log-odds of models that know the truth up to a noise of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-1, 2, (n, k))
    return rng.random((n, k)) < expit(truth), [truth + s * rng.standard_normal((n, k)) for s in noise]


def test_weights_are_those_of_a_logistic_regression_without_intercept():
    Y, log_odds = draw()
    reference = LogisticRegression(C=1e3, fit_intercept=False, tol=1e-10)
    coef = reference.fit(np.column_stack([values.ravel() for values in log_odds]), Y.ravel()).coef_[0]
    assert (coef > 0).all()
    np.testing.assert_allclose(best_weights(log_odds, Y), coef / coef.sum(), atol=1e-3)


def test_the_better_model_has_the_greater_weight():
    Y, log_odds = draw(noise=(0.5, 2.0))
    assert best_weights(log_odds, Y)[0] > 0.8


def test_a_model_that_is_wrong_has_no_weight():
    Y, (good, other) = draw()
    np.testing.assert_allclose(best_weights([good, -other], Y), [1, 0], atol=1e-6)
    np.testing.assert_array_equal(best_weights([-good, -good, -good], Y), [1 / 3] * 3)


def test_equal_models_have_equal_weights():
    Y, (good, other) = draw()
    weights = best_weights([good, other, good], Y)
    assert weights[0] == pytest.approx(weights[2], abs=1e-6)
    assert weights.sum() == pytest.approx(1)


def test_separable_labels_have_finite_weights():
    Y = np.eye(4) > 0
    signs = np.where(Y, 1.0, -1.0)
    np.testing.assert_allclose(best_weights([signs, signs], Y), [0.5, 0.5], atol=1e-6)
    # Without a penalty there is no minimiser. With it w - 1/2 is proportional to the scales of the two models.
    scales = np.array([0.01, 0.03])
    t = brentq(lambda t: t - 1e3 * 16 * expit(-scales @ (0.5 + t * scales)), 0, 1e5)
    w = 0.5 + t * scales
    np.testing.assert_allclose(best_weights([s * signs for s in scales], Y), w / w.sum(), atol=1e-4)


def test_the_average_is_calibrated_at_any_scale_of_its_models():
    Y, (first, second) = draw(n=4000)
    average = fit_average([first, second], Y, F1)
    P = expit(average.log_odds([first, second]))
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = np.abs(P - low - 0.1) <= 0.1
        assert Y[inside].mean() == pytest.approx(P[inside].mean(), abs=0.04)
    scaled = [100 * first - 3, 0.01 * second + 5]
    np.testing.assert_allclose(expit(fit_average(scaled, Y, F1).log_odds(scaled)), P, atol=0.01)


def test_the_average_of_models_that_know_different_things_is_scaled_up():
    """Each knows one of two independent terms of the log-odds, whose sum is right and whose average is half of it."""
    rng = np.random.default_rng(0)
    terms = [rng.normal(0, 2, (4000, 2)) for _ in range(2)]
    Y = rng.random((4000, 2)) < expit(sum(terms))
    average = fit_average(terms, Y, F1)
    np.testing.assert_allclose(average.weights, [0.5, 0.5], atol=0.05)
    np.testing.assert_allclose(average.log_odds(terms), sum(terms), atol=0.5, rtol=0.1)


@pytest.mark.parametrize("metric", ["f1", "accuracy", "hamming_loss"])
def test_weights_with_the_best_metric(metric):
    Y, log_odds = draw(n=300, noise=(1.0, 1.5, 4.0))
    decision, start = Decision(metric), np.full(3, 1 / 3)

    def value(weights):
        average = sum(w * values for w, values in zip(weights, log_odds, strict=True))
        P = expit(calibrate_varying(average, Y).log_odds(average))
        return metric_value(metric, Y, decision.decide(P))

    best = weights_with_best_metric(log_odds, Y, decision, start)
    assert best.sum() == pytest.approx(1)
    lines = [start + t * (np.eye(3)[m] - start) for m in range(3) for t in (0, 0.2, 0.4, 0.6, 0.8, 1)]
    assert value(best) == max(map(value, lines)) > value(start)
    calibrated = [calibrate_varying(values, Y).log_odds(values) for values in log_odds]
    loss = best_weights(calibrated, Y)
    expected = (loss + weights_with_best_metric(calibrated, Y, decision, loss)) / 2
    np.testing.assert_array_equal(fit_average(log_odds, Y, decision).weights, expected)


def test_weights_stay_where_no_other_ones_are_better():
    Y, (good, _) = draw(n=300)
    start = np.array([0.7, 0.3])
    np.testing.assert_array_equal(weights_with_best_metric([good, good], Y, F1, start), start)


def test_given_weights():
    Y, (first, second) = draw()
    average = fit_average([first, second], Y, F1, np.array([1.0, 0.0]))
    other = fit_average([first, -second], Y, F1, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(average.log_odds([first, second]), other.log_odds([first, -second]))


@pytest.mark.parametrize("fit", [True, False])
def test_constant_labels_have_the_log_odds_of_their_frequency(fit):
    Y, (scores, _) = draw(n=50)
    Y = np.column_stack([Y, np.zeros(50, bool), np.ones(50, bool)])
    scores = np.column_stack([scores, np.full((50, 2), 1e5)])
    calibration = calibrate_varying(scores, Y, fit=fit)
    np.testing.assert_allclose(expit(calibration.log_odds(scores)[:, 3:]), [[1 / 52, 51 / 52]] * 50)
    if not fit:
        np.testing.assert_array_equal(calibration.log_odds(scores)[:, :3], scores[:, :3])
    assert isinstance(calibration, Calibration)


def test_shrunk_log_odds_are_finite_and_in_order():
    P = np.array([0.0, 1e-12, 1e-9, 0.1, 0.5, 0.9, 1.0])
    for n in (1, 10, 100_000):
        shrunk = shrunk_log_odds(P, 2 / (n + 2))
        assert (np.diff(shrunk) > 0).all()
        assert expit(shrunk[0]) == pytest.approx(1 / (n + 2))
        assert shrunk[4] == 0
        np.testing.assert_allclose(shrunk, -shrunk_log_odds(1 - P, 2 / (n + 2)), atol=1e-9)
    np.testing.assert_allclose(shrunk_log_odds(P[3:6], 1e-12), logit(P[3:6]), atol=1e-9)


def test_weights_are_numbers_of_copies_and_unobserved_labels_are_left_out():
    Y, log_odds = draw(n=300)
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, 300).astype(float)
    copies = np.repeat(np.arange(300), weight.astype(int))
    Y = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    average = fit_average(log_odds, Y, F1, sample_weight=weight)
    expected = fit_average([values[copies] for values in log_odds], Y[copies], F1)
    np.testing.assert_allclose(average.weights, expected.weights, atol=1e-6)
    np.testing.assert_allclose(average.log_odds(log_odds), expected.log_odds(log_odds), atol=1e-5)
    known = ~np.isnan(Y[:, 0])
    of_known = best_weights([values[known][:, :1] for values in log_odds], Y[known][:, :1])
    np.testing.assert_allclose(best_weights([values[:, :1] for values in log_odds], Y[:, :1]), of_known, atol=1e-7)
