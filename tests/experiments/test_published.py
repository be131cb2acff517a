"""The published figures, and bounds on them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs import metrics
from sdgs.experiments import Protocol
from sdgs.experiments._published import RESULTS, SETS, published, violated_bounds


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 10**6), digits=st.sampled_from([0, 1]), n=st.integers(1, 6), k=st.integers(1, 5))
def test_predictions_never_violate_a_bound(seed, digits, n, k):
    rng = np.random.default_rng(seed)
    Y, Z = rng.random((2, n, k)) < rng.random((2, 1, 1))
    scores = metrics.evaluate(Y.astype(int), Z.astype(int))
    assert violated_bounds({name: f"{100 * value:.{digits}f}" for name, value in scores.items()}) == []


def test_published_rows_that_violate_bounds():
    violations = {key: violated_bounds(published(*key)) for key in RESULTS}
    assert "2A/(1+A), at most 67.1" in violations["genbase", "mlknn"][0]
    assert "at least 39.0" in violations["emotions", "sdgs"][0]
    assert violations["yahoo-arts", "sdgs"] == violations["mediamill", "sdgs"] == []
    assert all(violations[name, "mddm"] for name in SETS)
    row = {"hamming_loss": "5", "precision": "20", "recall": "30", "f1": "20", "accuracy": "25"}
    assert len(violated_bounds(row)) == 2  # accuracy above precision, F1 below accuracy
    assert "mean of precision and recall" in violated_bounds({**row, "precision": "26", "f1": "31"})[-1]


def test_every_data_set_has_published_rows():
    assert {dataset for dataset, _ in RESULTS} == set(SETS) == set(Protocol().datasets)
    assert len(RESULTS) == 44
