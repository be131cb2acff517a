import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs.datasets import Dataset
from sdgs.datasets._statistics import dataset_statistics, find_row_number_columns

NAN = np.nan
X = np.array([[1.0, NAN], [0, 0], [3, 5], [4, 0]])
Y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=np.int8)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_statistics(form):
    statistics = Dataset(form(X), Y, ("x", "y"), ("a", "b", "c")).statistics()
    assert (statistics.n_samples, statistics.n_features, statistics.n_labels) == (4, 2, 3)
    assert (statistics.cardinality, statistics.density, statistics.distinct_label_sets) == (1.5, 0.5, 2)
    assert statistics.label_counts == {"a": 4, "b": 2, "c": 0}
    assert statistics.imbalance == {"a": 1, "b": 2, "c": np.inf}
    assert statistics.label_set_sizes == [0, 2, 2]
    assert (statistics.nonzero_share, statistics.missing_share) == (5 / 8, 1 / 8)
    assert statistics.n_incomplete_samples == 0


def test_stored_zeros_are_zeros():
    stored = csr_array((np.array([0.0, 2.0]), (np.array([0, 1]), np.array([0, 1]))), shape=(4, 2))
    assert dataset_statistics(stored, Y, "abc").nonzero_share == 1 / 8


def test_unobserved_labels_are_not_counted():
    missing = np.where(np.eye(4, 3) == 1, NAN, Y)
    statistics = Dataset(X, missing, ("x", "y"), ("a", "b", "c")).statistics()
    assert (statistics.n_incomplete_samples, statistics.n_unlabelled_samples, statistics.n_unobserved_labels) == (
        3,
        0,
        3,
    )
    assert statistics.label_counts == {"a": 3, "b": 2, "c": 0}
    assert statistics.observed_counts == {"a": 3, "b": 3, "c": 3}
    assert statistics.cardinality == pytest.approx(3 / 3 + 2 / 3)
    assert statistics.density == 5 / 9
    assert statistics.label_set_sizes == [0, 3, 1]
    assert statistics.distinct_label_sets == 3


def test_samples_without_observed_labels_are_left_out():
    missing = np.where(np.arange(4)[:, None] == 1, NAN, Y)
    statistics = dataset_statistics(X, missing, ("a", "b", "c"))
    without = dataset_statistics(X[[0, 2, 3]], Y[[0, 2, 3]], ("a", "b", "c"))
    assert (statistics.n_incomplete_samples, statistics.n_unlabelled_samples, statistics.n_unobserved_labels) == (
        1,
        1,
        3,
    )
    for name in ("cardinality", "density", "distinct_label_sets", "label_counts", "label_set_sizes"):
        assert getattr(statistics, name) == getattr(without, name)
    with pytest.raises(ValueError, match="data set 'music' has no labels"):
        Dataset(X, None, ("x", "y"), ("a", "b", "c"), "music").statistics()


def test_without_labels():
    statistics = dataset_statistics(X, None, ("a", "b"))
    assert (statistics.n_incomplete_samples, statistics.cardinality, statistics.distinct_label_sets) == (4, 0, 0)
    assert dataset_statistics(X, None, ()).n_incomplete_samples == 0


def test_features_that_number_the_samples():
    counter, other = np.arange(10.0) + 5, np.arange(10.0) ** 2
    assert find_row_number_columns(np.column_stack([other, counter])).tolist() == [1]
    assert not find_row_number_columns(csr_array(np.column_stack([other, counter]))).size
    assert not find_row_number_columns(np.arange(9.0)[:, None]).size
