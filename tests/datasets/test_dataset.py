"""What a data set prints."""

import numpy as np
from scipy.sparse import csr_array

from sdgs.datasets import Dataset


def test_a_data_set_prints_few_lines():
    X = np.array([[1.0, np.nan], [0, 0], [3, 5], [4, 0]])
    Y = np.array([[1, 0], [1, 1], [1, np.nan], [0, 0]])
    data = Dataset(X, Y, ("x", "y"), ("a", "b"), "songs.csv", (("id", "no number"),))
    assert repr(data) == "<Dataset 'songs.csv': 4 samples, 2 features (dense), 2 labels>"
    assert str(data).splitlines() == [
        "songs.csv: 4 samples, 2 features (dense), 2 labels",
        "features: 'x', 'y'",
        "labels, with their samples: 'a' (3), 'b' (1)",
        "missing: 12.5 % of the values, 12.5 % of the labels, in 1 samples",
        "not features: 'id'",
    ]


def test_without_labels_or_with_many():
    assert "labels: none" in str(Dataset(np.zeros((2, 1)), None, ("x",), ()))
    assert "labels: all are missing" in str(Dataset(np.zeros((2, 1)), None, ("x",), ("a",)))
    data = Dataset(csr_array(np.eye(8)), np.eye(8, dtype=np.int8), tuple("abcdefgh"), tuple("ijklmnop"))
    assert "and 2 more" in str(data)
    assert "(sparse)" in repr(data)
