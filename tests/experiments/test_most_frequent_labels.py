"""The constant prediction of the most frequent labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs import metrics
from sdgs.experiments._most_frequent_labels import MostFrequentLabels


@settings(deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_number_of_labels_maximises_f1(seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((12, 5)) < rng.random(5)).astype(int)
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    scores = []
    for m in range(1, 6):
        constant = np.zeros_like(Y)
        constant[:, order[:m]] = 1
        scores.append(metrics.f1(Y, constant))
    model = MostFrequentLabels().fit(Y, Y)
    assert metrics.f1(Y, model.predict(Y)) == pytest.approx(max(scores))
