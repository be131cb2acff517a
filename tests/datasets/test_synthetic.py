import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits

from sdgs.datasets import make_composite_digits, make_label_subspaces


def test_composite_digits_are_the_sum_of_their_parts():
    data = make_composite_digits(300, max_labels=3, spikes=0.05, random_state=0)
    np.testing.assert_array_equal(data.X, data.parts.sum(axis=1) + data.spikes)
    np.testing.assert_array_equal(data.Y, data.parts.any(axis=2))
    assert set(data.Y.sum(axis=1)) == {1, 2, 3}
    assert np.mean(data.spikes != 0) == pytest.approx(0.05, abs=0.01)
    assert set(np.unique(data.spikes)) == {-16.0, 0.0, 16.0}
    images, digits = load_digits(return_X_y=True)
    for i in range(20):
        for digit in np.flatnonzero(data.Y[i]):
            assert (images[digits == digit] == data.parts[i, digit]).all(axis=1).any()


def test_train_and_test_digits_have_no_image_in_common():
    seen = []
    for subset in ("train", "test"):
        data = make_composite_digits(2000, max_labels=1, subset=subset, random_state=0)
        seen.append({image.tobytes() for image in data.X})
    assert not seen[0] & seen[1]


def test_same_seed_same_data():
    first, second, other = (make_composite_digits(50, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.array_equal(first.X, other.X)
    first, second, other = (make_label_subspaces(50, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.array_equal(first.X, other.X)


def test_label_subspaces_are_as_planted():
    data = make_label_subspaces(400, 30, 5, n_components=2, labels_per_sample=2, spikes=0.01, random_state=0)
    assert (data.Y.sum(axis=1) == 2).all()
    total = data.residual.toarray()
    for i in range(5):
        np.testing.assert_allclose(data.components[i] @ data.components[i].T, np.eye(2), atol=1e-12)
        total[data.Y[:, i] == 1] += data.coefficients[i] @ data.components[i]
    np.testing.assert_allclose(data.X, total, atol=1e-12)
    assert data.residual.nnz == pytest.approx(120, abs=40)
    assert subspace_angles(data.components[0].T, data.components[1].T).min() > 0.1
    noisy = make_label_subspaces(400, 30, 5, n_components=2, noise=0.5, random_state=0)
    clean = make_label_subspaces(400, 30, 5, n_components=2, noise=0.0, random_state=0)
    assert np.std(noisy.X - clean.X) == pytest.approx(0.5 * np.sqrt(np.mean(clean.X**2)), rel=0.05)


def test_no_labels_per_sample_gives_the_residual_alone():
    data = make_label_subspaces(20, 10, 3, labels_per_sample=0, random_state=0)
    assert not data.Y.any()
    assert not data.X.any()
