"""Binary relevance."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from sdgs.methods import BinaryRelevance


def test_equals_one_vs_rest_classifier(small):
    X, Y, X_test = small
    model = BinaryRelevance(C=0.5, random_state=0).fit(X, Y)
    expected = OneVsRestClassifier(LinearSVC(C=0.5, random_state=0)).fit(X, Y[:, :3])
    np.testing.assert_allclose(model.decision_function(X_test)[:, :3], expected.decision_function(X_test), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X_test)[:, :3], expected.predict(X_test))


def test_sparse_samples_may_have_64_bit_indices(small):
    X, Y, X_test = small
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = BinaryRelevance(random_state=0).fit(csr_array(X), Y).decision_function(X_test)
    actual = BinaryRelevance(random_state=0).fit(wide, Y).decision_function(X_test)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("scale", [1e60, 1e160, 1e300])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_features_for_which_the_solver_would_not_end_are_rejected(small, scale, convert):
    X, Y, _ = small
    with pytest.raises(ValueError, match="Scale X first"):
        BinaryRelevance().fit(convert(X * scale), Y)


def test_large_features_are_accepted(small):
    X, Y, _ = small
    assert np.isfinite(BinaryRelevance(random_state=0).fit(X * 1e40, Y).coef_).all()
