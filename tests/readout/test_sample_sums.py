"""What a model keeps for updates."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs.readout._relevance import f1_sample_weight
from sdgs.readout._sample_sums import SampleSums as Sums
from sdgs.readout._sample_sums import ScoredSamples, fit_size_weights, max_scored_samples, packed
from sdgs.selection._defaults import ENOUGH_TEST_SAMPLES


def scored_by_number(first, n, k=600):
    """Scores that say which row they are, and labels that do too."""
    numbers = np.arange(first, first + n)
    return np.repeat(numbers[:, None], k, axis=1).astype(float), csr_array(np.eye(k, dtype=bool)[numbers % k])


def test_scored_samples_stay_a_random_sample_of_all_rows():
    k, maximum = 600, max_scored_samples(600)
    assert maximum == 1000
    assert max_scored_samples(1) == ENOUGH_TEST_SAMPLES
    scored = ScoredSamples(*[np.zeros((0, k), np.float32), csr_array((0, k), dtype=bool)], 0)
    for start in range(0, 10_000, 500):
        scored = scored.add(*scored_by_number(start, 500), None if start < 5000 else np.full(500, 2.0))
        assert len(scored.scores) == min(start + 500, maximum)
    rows = scored.scores[:, 0].astype(int)
    assert scored.n_scored == 10_000
    assert len(np.unique(rows)) == maximum
    np.testing.assert_array_equal(scored.labels.indices, rows % k)
    np.testing.assert_array_equal(scored.sample_weight, np.where(rows < 5000, 1.0, 2.0))
    assert abs(np.mean(rows) - 5000) < 3 * 10_000 / np.sqrt(12 * maximum)  # three standard errors
    assert abs((rows < 2500).mean() - 0.25) < 3 * np.sqrt(0.25 * 0.75 / maximum)


def test_one_large_batch_after_many_samples_fills_what_few_scored_rows_leave():
    scored = ScoredSamples(scored_by_number(0, 10)[0].astype(np.float32), scored_by_number(0, 10)[1], 100_000)
    scored = scored.add(*scored_by_number(10, 5000))
    assert len(scored.scores) == 1000
    assert (scored.scores[:, 0] < 10).sum() == 10


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.5, 2, 200)])
def test_weights_by_the_number_of_labels_are_those_of_the_fit(sample_weight):
    labels = csr_array(np.random.default_rng(0).random((200, 9)) < 0.3)
    weights = fit_size_weights(labels, "f1", sample_weight)
    expected = f1_sample_weight(labels, "f1", sample_weight)
    np.testing.assert_allclose(weights.weights(labels), expected)
    np.testing.assert_allclose(weights.weights(labels[:1]), expected[:1])
    assert fit_size_weights(labels, "hamming_loss") is None
    assert fit_size_weights(csr_array(np.eye(3, dtype=bool)), "f1") is None


def test_the_packed_gram_matrix_is_unpacked_to_the_last_digit():
    A = np.random.default_rng(0).standard_normal((7, 7))
    A = A + A.T
    triangle = packed(A)
    assert triangle.shape == (28,)
    nothing = ScoredSamples(np.zeros((0, 1), np.float32), csr_array((0, 1), dtype=bool), 0)
    zeros = np.zeros(7)
    sums = Sums(triangle, np.zeros((7, 1)), zeros, np.zeros(1), 3.0, 3, False, None, nothing, np.zeros(2), 0)
    np.testing.assert_array_equal(sums.moments.gram, A)
