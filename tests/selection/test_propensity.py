"""The estimated propensity."""

import numpy as np
import pytest

from sdgs.selection._propensity import given_log_loss


@pytest.mark.parametrize("unobserved", [0.0, 0.3])
@pytest.mark.parametrize("propensity", [0.3, 1.0])
def test_weights_are_repetitions(propensity, unobserved):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 3))
    Y = np.where(scores + rng.normal(size=(200, 3)) > 0.5, rng.random((200, 3)) < 0.6, 0).astype(float)
    Y[rng.random(Y.shape) < unobserved] = np.nan
    weight = rng.integers(1, 4, 200)
    repeated = np.repeat(np.arange(200), weight)
    by_weight = given_log_loss(scores, Y, propensity, weight.astype(float))
    assert by_weight == pytest.approx(given_log_loss(scores[repeated], Y[repeated], propensity), rel=1e-6)
    assert by_weight != pytest.approx(given_log_loss(scores, Y, propensity), rel=1e-3)
