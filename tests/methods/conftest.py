import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import (
    coverage_error,
    f1_score,
    hamming_loss,
    jaccard_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
)
from sklearn.preprocessing import StandardScaler, normalize

from sdgs.datasets import load, make_composite_digits


@pytest.fixture(scope="module")
def digits():
    """Training and test samples: sums of one or two handwritten digits."""
    return (
        make_composite_digits(600, max_labels=2, subset="train", random_state=0),
        make_composite_digits(200, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture
def small():
    """Samples, labels, the last of which no sample has, and test samples."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), (rng.uniform(size=(60, 4)) < 0.4).astype(int)
    Y[:, 3] = 0
    return X, Y, rng.standard_normal((25, 5))


@pytest.fixture(scope="session")
def emotions(data_home):
    """Training and test samples, standardised, and their labels."""
    train, test = (load("emotions", split=split, data_home=data_home) for split in ("train", "test"))
    scaler = StandardScaler().fit(train.X)
    return scaler.transform(train.X), train.Y, scaler.transform(test.X), test.Y


@pytest.fixture(scope="session")
def medical(data_home):
    """Sparse training and test samples of unit norm, and their labels, some of which no training sample has."""
    train, test = (load("medical", split=split, data_home=data_home) for split in ("train", "test"))
    return normalize(csr_array(train.X)), train.Y, normalize(csr_array(test.X)), test.Y


@pytest.fixture(scope="session")
def measures():
    """A function from labels, predictions and perhaps scores to measures, in the order of the reference tables."""

    def measure(Y, predicted, scores=None):
        sample_options = {"average": "samples", "zero_division": 0}
        values = {
            "hamming": hamming_loss(Y, predicted),
            "subset": (predicted == Y).all(axis=1).mean(),
            "f1": f1_score(Y, predicted, **sample_options),
            "jaccard": jaccard_score(Y, predicted, **sample_options),
            "micro_f1": f1_score(Y, predicted, average="micro"),
            "macro_f1": f1_score(Y, predicted, average="macro", zero_division=0),
        }
        if scores is not None:
            some = Y.any(axis=1)
            values["ranking_loss"] = label_ranking_loss(Y[some], scores[some])
            values["average_precision"] = label_ranking_average_precision_score(Y[some], scores[some])
            values["one_error"] = 1 - Y[some][np.arange(some.sum()), scores[some].argmax(axis=1)].mean()
            values["coverage"] = coverage_error(Y[some], scores[some]) - 1
        return values

    return measure
