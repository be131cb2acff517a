"""Contributions of labels to samples. Explanations themselves are tested in tests/explanation."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from corruption import with_missing_entries
from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces


def test_contributions_and_residual_sum_to_the_sample(digits, model):
    test = digits[1]
    parts = model.contributions(test.X[:20])
    predicted = model.predict(test.X[:20])
    assert parts.shape == (20, 10, 64)
    assert not parts[predicted == 0].any()
    residual = test.X[:20] - parts.sum(axis=1)
    for i in range(20):  # least squares: the residual is orthogonal to the subspaces of the predicted labels
        for label in np.flatnonzero(predicted[i]):
            np.testing.assert_allclose(model.components_[label] @ residual[i], 0, atol=1e-8)
    # Given the true labels, the contributions are close to the images that were added.
    parts = model.contributions(test.X[:50], test.Y[:50])
    error = np.linalg.norm(parts - test.parts[:50]) / np.linalg.norm(test.parts[:50])
    assert error < 0.45
    np.testing.assert_allclose(model.contributions(csr_array(test.X[:3])), model.contributions(test.X[:3]), atol=1e-8)
    with pytest.raises(ValueError, match="labels must have one column for each of the 10 labels, got 3"):
        model.contributions(test.X[:1], [[1, 0, 0]])


def test_contributions_of_samples_with_missing_entries(more_digits):
    train, test = more_digits
    model = SDGSClassifier(alpha=0.1, random_state=0).fit(train.X, train.Y)
    X = with_missing_entries(test.X[:5], 0.3)
    parts = model.contributions(X, test.Y[:5])
    assert np.isfinite(parts).all()
    observed = ~np.isnan(X)
    residual = (X - parts.sum(axis=1))[observed]
    assert np.linalg.norm(residual) < 0.6 * np.linalg.norm(X[observed])


def test_contributions_and_cleaned_samples_are_in_the_units_of_word_counts():
    data = make_label_subspaces(300, 20, 4, n_components=2, random_state=0)
    X = csr_array(np.where(np.abs(data.X) > 0.5, np.abs(data.X), 0))
    model = SDGSClassifier(2, scaling="idf", huber=0.05, random_state=0).fit(X, data.Y)
    contributions, cleaned = model.contributions(X[:5], np.ones((5, 4))), model.transform(X).toarray()
    residual = (cleaned[:5] - contributions.sum(axis=1)) * model.scaler_.idf_
    for C in model.components_:  # weighted, the residual is orthogonal to all subspaces
        np.testing.assert_allclose(C @ residual.T, 0, atol=1e-8)
    scaled, _ = model._pipelines[0].scaling.transform(X)
    uncorrupted = model._pipelines[0].features.encode(scaled, None).residual.toarray() == 0
    np.testing.assert_allclose(cleaned[uncorrupted], X.toarray()[uncorrupted], atol=1e-9)
    assert not np.allclose(cleaned, X.toarray())
