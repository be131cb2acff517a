"""Multi-label svmlight files."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from sdgs.datasets import DataFileError, load_svmlight, read
from sdgs.datasets.readers._open import BLOCK_BYTES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 1:1\n0 2:1 1:1\n", r"data\.svm, line 2: .*sorted"),
        ("0 1:1\n\n# x\n0 1:a\n", "line 4: "),
        ("0 99999999999:1\n", "line 1: "),
        ("0 1:inf\n", "infinite"),
        ("x 1:1\n", "line 1: "),
        ("-1 1:1\n", "whole numbers"),
        ("nan 1:1\n", "whole numbers"),
        ("99999999 1:1\n", "whole numbers"),
        ("", "no samples"),
        ("# only\n\n", "no samples"),
    ],
)
def test_broken_svmlight(write_file, content, message):
    with pytest.raises(DataFileError, match=message):
        read(write_file(content, "data.svm"))


def test_svmlight(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 6)) * (rng.uniform(size=(20, 6)) < 0.5)
    Y = rng.integers(0, 2, size=(20, 4))
    X[0, 5] = Y[0, 3] = 1
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, Y, str(path), multilabel=True)
    data = load_svmlight(path)
    np.testing.assert_allclose(data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y, Y)
    assert load_svmlight(path, n_labels=9, n_features=10).Y.shape == (20, 9)
    path.write_text("0,1.5 1:2\n")
    with pytest.raises(DataFileError, match="whole numbers"):
        load_svmlight(path)
    path.write_text("0,1 nonsense\n")
    with pytest.raises(DataFileError, match=r"data\.svm, line 1: cannot be read"):
        load_svmlight(path)


def test_a_file_of_several_blocks_is_one_data_set(write_file):
    n = 150_000
    lines = "".join(f"{i % 3} {1 + i % 7}:{i}.5 9:1\n" for i in range(n))
    assert len(lines) > BLOCK_BYTES
    data = read(write_file(lines, "data.svm"))
    assert data.feature_names == tuple(map(str, range(1, 10)))
    X = data.X.toarray()
    np.testing.assert_array_equal(X[np.arange(n), np.arange(n) % 7], np.arange(n) + 0.5)
    np.testing.assert_array_equal(X[:, 8], 1)
    assert np.count_nonzero(X) == 2 * n
    np.testing.assert_array_equal(data.Y, np.eye(3)[np.arange(n) % 3])
