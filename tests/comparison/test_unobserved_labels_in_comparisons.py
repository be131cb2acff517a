"""Comparisons on labels of which some are unobserved."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sdgs
from comparison_results import Constant
from sdgs import metrics
from sdgs.comparison import default_methods
from sdgs.comparison._splits import make_splits
from sdgs.datasets import mask_labels


@pytest.fixture(scope="module")
def masked(small):
    X, Y = small
    mask = np.random.default_rng(0).random(Y.shape) < 0.2
    return X, mask_labels(Y, mask), mask


def test_methods_get_unobserved_labels_and_are_measured_without_them(masked, tmp_path):
    X, Y, mask = masked
    sdgs_only = {"model": sdgs.SDGSClassifier(random_state=0)}
    result = sdgs.compare(X, Y, methods=sdgs_only, cv=3, random_state=0, folder=tmp_path)
    splits = make_splits(csr_array(np.where(mask, 0, Y)), n_splits=3, n_repeats=1, random_state=0)
    method, predictions = result.methods[0], []
    for i, (train, test) in enumerate(splits):
        predictions.append(sdgs.SDGSClassifier(random_state=0).fit(X[train], Y[train]).predict(X[test]))
        for name, value in metrics.evaluate(Y[test], predictions[-1]).items():
            assert method.measures[name][i] == value
    tests = np.concatenate([test for _, test in splits])
    by_label = metrics.evaluate_labels(Y[tests], np.vstack(predictions))
    np.testing.assert_array_equal(method.label_f1, by_label["f1"])
    np.testing.assert_array_equal(result.label_counts, (Y == 1).sum(axis=0))
    assert result.notes == (
        f"{mask.sum()} labels ({100 * mask.mean():.1f} %) are unobserved: no measure counts them as true or as false.",
    )
    stored = mask_labels(csr_array(np.nan_to_num(Y)), mask)
    again = sdgs.compare(X, stored, methods=sdgs_only, cv=3, random_state=0)
    np.testing.assert_array_equal(again.methods[0].measures["f1"], method.measures["f1"])
    from_records = sdgs.compare(X, Y, methods=sdgs_only, cv=3, random_state=0, folder=tmp_path)
    np.testing.assert_array_equal(from_records.methods[0].label_f1, method.label_f1)


def test_methods_that_take_no_unobserved_labels(masked):
    X, Y, _ = masked
    given = {"constant": Constant(), "neighbours": sdgs.methods.MLkNN(), "ours": sdgs.SDGSClassifier()}
    with pytest.raises(ValueError, match="which these methods do not take: constant, neighbours"):
        sdgs.compare(X, Y, methods=given)
    with pytest.raises(ValueError, match="which mlknn cannot be fitted to"):
        sdgs.compare(X, Y, methods=["mlknn"])
    result = sdgs.compare(X, Y, methods=["mlknn", "sdgs"], cv=2, random_state=0)
    assert [method.name for method in result.methods] == ["sdgs"]
    assert result.left_out == {"MLkNN": "it takes no unobserved labels."}
    assert "sdgs" in default_methods(X, Y)
    assert "mlknn" not in default_methods(X, Y)
