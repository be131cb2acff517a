"""Validation of arguments."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.utils import check_array

from sdgs._utils._validation import check_features, check_labels, check_seed, is_plain_array

ARRAYS = {
    "float64": np.ones((3, 2)),
    "float32": np.ones((3, 2), dtype=np.float32),
    "column-major": np.asfortranarray(np.arange(6.0).reshape(3, 2)),
    "every other column": np.arange(12.0).reshape(3, 4)[:, ::2],
    "read-only": np.broadcast_to(1.0, (3, 2)),
    "a sum that overflows": np.full((3, 2), 1.7e308),
    "missing": np.array([[1.0, np.nan]]),
    "only missing": np.full((2, 2), np.nan),
    "infinite": np.array([[1.0, np.inf]]),
    "infinite and missing": np.array([[np.nan, -np.inf]]),
    "infinities of both signs": np.array([[np.inf, -np.inf]]),
    "no rows": np.ones((0, 2)),
    "no columns": np.ones((3, 0)),
    "one dimension": np.ones(3),
    "integers": np.ones((3, 2), dtype=int),
    "half precision": np.ones((3, 2), dtype=np.float16),
    "other byte order": np.ones((3, 2), dtype=np.dtype(float).newbyteorder()),
    "matrix": np.ma.array(np.ones((3, 2)), mask=False),
    "list": [[1.0, 2.0]],
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # by scikit-learn
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("name", ARRAYS)
def test_features_are_those_of_scikit_learn(name, missing):
    """Which does not see plain arrays, and decides about all others."""
    X = ARRAYS[name]
    try:
        expected = check_array(
            X, dtype=(np.float64, np.float32), order="C", ensure_all_finite="allow-nan" if missing else True
        )
    except ValueError:
        assert not is_plain_array(X, missing=missing)
        with pytest.raises(ValueError):  # noqa: PT011  (of any kind)
            check_features(X, missing=missing)
        return
    result = check_features(X, missing=missing)
    np.testing.assert_array_equal(result, expected)
    assert (type(result), result.dtype, result.flags.c_contiguous) == (np.ndarray, expected.dtype, True)
    assert np.shares_memory(result, X) == np.shares_memory(expected, X)


def test_seeds_depend_on_the_state_alone():
    assert check_seed(3) == check_seed(np.int64(3)) == check_seed(np.random.RandomState(3)) != check_seed(4)
    generator = np.random.RandomState(3)
    assert check_seed(generator) != check_seed(generator)
    for bad in (-1, 2**32, "seed"):
        with pytest.raises(ValueError, match="random_state must be"):
            check_seed(bad)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
@pytest.mark.parametrize("convert", [np.array, pd.DataFrame, csr_array], ids=["array", "frame", "sparse"])
def test_missing_labels_are_named_by_their_rows(missing, convert):
    if missing is not np.nan and convert is csr_array:
        missing = np.nan  # sparse matrices have no objects
    rows = [[0, 1], [missing, 1], [1, 0], [1, missing]]
    with pytest.raises(ValueError, match=r"missing in 2 of 4 rows \(counted from 0: 1, 3\).*notna"):
        check_labels(convert(rows))
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        check_labels(convert([[0, 1], [2, 1]]))


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_label_without_a_name_is_warned_of(blank):
    Y = pd.DataFrame({blank: [1, 0], "login": [0, 1]})
    with pytest.warns(UserWarning, match="blank name.*samples without labels.*drop"):
        check_labels(Y, name="y")
