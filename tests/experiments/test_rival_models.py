"""Models of the comparison beyond the paper; those of optional packages skip where these are not installed."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from sdgs import metrics
from sdgs.datasets import make_composite_digits
from sdgs.experiments import Protocol
from sdgs.experiments._extended_comparison import TITLES, installed_methods
from sdgs.experiments._rival_models import (
    OPTIONAL_PACKAGES,
    Boomer,
    CatBoost,
    ExtraTrees,
    LightGBM,
    LowRankScores,
    Powersets,
    is_installed,
)
from sdgs.methods import LabelPowerset
from sdgs.readout._calibration import shrunk_log_odds

MODELS = {
    "lp": lambda: Powersets(1.0, 0),
    "rakel": lambda: Powersets(1.0, 0, labelset_size=3),
    "low_rank": lambda: LowRankScores(0),
    "trees": lambda: ExtraTrees(0),
    "lightgbm": lambda: LightGBM(0),
    "catboost": lambda: CatBoost(0),
    "boomer": lambda: Boomer(0),
}


@pytest.fixture(scope="module")
def data():
    train = make_composite_digits(250, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(100, max_labels=2, subset="test", random_state=1)
    return train.X / 16, train.Y, test.X / 16, test.Y


@pytest.fixture(params=MODELS)
def model(request):
    if not is_installed(request.param):
        pytest.skip(f"{TITLES[request.param]} is not installed: the extra rivals")
    return MODELS[request.param]()


@pytest.mark.slow
def test_scores_predict_the_labels_of_new_samples(model, data):
    X, Y, X_test, Y_test = data
    scores = model.fit(X, Y).decision_function(X_test)
    assert scores.shape == Y_test.shape
    assert np.isfinite(scores).all()
    best = max(metrics.f1(Y_test, (scores > t).astype(int)) for t in np.quantile(scores, (0.7, 0.8, 0.85, 0.9)))
    assert best > 0.5


@pytest.mark.slow
def test_sparse_samples_and_constant_labels(model, data):
    X, Y = data[0][:120], data[1][:120, :3].copy()
    X[X < 0.3] = 0
    Y[:, 1], Y[:, 2] = 0, 1
    scores = model.fit(csr_array(X), Y).decision_function(csr_array(X))
    assert np.isfinite(scores).all()
    assert (scores[:, 1] < scores[:, 2]).all()


@pytest.mark.skipif(not is_installed("boomer"), reason="BOOMER is not installed: the extra rivals")
def test_rules_are_learnt_among_many_constant_features(data):
    X, Y, X_test, Y_test = data
    X, X_test = (np.hstack([np.zeros((len(part), 2000)), part]) for part in (X, X_test))
    scores = Boomer(0).fit(X, Y).decision_function(X_test)
    assert metrics.f1(Y_test, (scores > np.quantile(scores, 0.85)).astype(int)) > 0.5


def test_scores_of_powersets_are_log_odds_of_their_marginals(data):
    X, Y, X_test, _ = data
    P = LabelPowerset(LogisticRegression(C=2.0, max_iter=1000)).fit(X, Y).predict_proba(X_test)
    scores = Powersets(2.0, 0).fit(X, Y).decision_function(X_test)
    np.testing.assert_allclose(scores, shrunk_log_odds(P, 2 / 252), rtol=1e-6)


def test_methods_that_are_not_installed_are_left_out():
    assert set(TITLES) - set(installed_methods()) == {name for name in OPTIONAL_PACKAGES if not is_installed(name)}
    assert Protocol().beyond_methods == installed_methods()
    for name in OPTIONAL_PACKAGES:
        if not is_installed(name):
            with pytest.raises(ValueError, match="pip install 'sdgs\\[rivals\\]'"):
                Protocol(beyond_methods=(name,))
    with pytest.raises(ValueError, match="method"):
        Protocol(beyond_methods=("nothing",))
