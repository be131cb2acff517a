"""What all methods have in common."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs import metrics
from sdgs.methods import MDDM, BinaryRelevance, MLkNN

INEXACT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the solver stops at tol=1e-4; with 1e-9 the check passes"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [BinaryRelevance(), BinaryRelevance(tol=1e-9, max_iter=100_000), MLkNN(), MDDM()],
    expected_failed_checks=lambda estimator: {} if getattr(estimator, "tol", 0) < 1e-4 else INEXACT,
)
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_labels_that_all_or_no_samples_have(small):
    X, Y, X_test = small
    Y[:, 0] = 1
    for model in (BinaryRelevance(), MLkNN(5)):
        predicted = model.fit(X, Y).predict(X_test)
        assert predicted[:, 0].all()
        assert not predicted[:, 3].any()


def test_labels_have_the_names_of_the_target(digits):
    train, test = digits
    names = [f"digit {i}" for i in range(10)]
    scale = 1 / 16
    for model in (BinaryRelevance(), MLkNN(), make_pipeline(MDDM(), MLkNN())):
        model.fit(train.X * scale, pd.DataFrame(train.Y, columns=names))
        predicted = model.predict(test.X * scale)
        assert list(predicted.columns) == names
        assert metrics.f1(test.Y, predicted) > 0.6


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BinaryRelevance(C=0), "C must be a finite number > 0"),
        (BinaryRelevance(n_jobs=0), "n_jobs must be"),
        (MLkNN(0), "n_neighbors must be an integer >= 1"),
        (MLkNN(smoothing=0), "smoothing must be a finite number > 0"),
        (MDDM(regularization=0), "regularization must be a finite number > 0"),
    ],
)
def test_bad_parameters_are_rejected(small, estimator, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize("scale", [1e160, 1e305])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("estimator", [BinaryRelevance(), MLkNN(3), MDDM(2)], ids=repr)
def test_features_whose_squares_overflow_are_rejected(small, estimator, convert, scale):
    X, Y, _ = small
    with pytest.raises(ValueError, match=r"X has entries that are too large .* Scale X first"):
        estimator.fit(convert(X * scale), Y)


def test_samples_without_distances_are_rejected(small):
    X, Y, X_test = small
    model = MLkNN(3).fit(X, Y)
    with pytest.raises(ValueError, match="X has entries that are too large for distances"):
        model.predict(X_test * 1e160)
