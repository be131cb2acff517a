"""Label matrices closed upwards, in the form in which they came."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array, issparse

from sdgs.datasets import label_hierarchy_from_names
from sdgs.methods import HierarchicalRelevance, close_upwards


@given(arrays(bool, (4, 6)), st.permutations(range(6)), st.data())
def test_a_sample_has_exactly_its_labels_and_those_above_them(Y, order, data):
    parents = np.full(6, -1)
    for place, label in enumerate(order):
        parents[label] = data.draw(st.sampled_from([-1, *order[:place]]))
    expected = np.zeros_like(Y)
    for i, label in np.argwhere(Y):
        while label >= 0:
            expected[i, label] = True
            label = parents[label]
    np.testing.assert_array_equal(close_upwards(Y, parents), expected)


def test_the_form_of_the_labels_is_kept():
    Y, parents, expected = np.array([[0, 1, 0], [0, 0, 1]], dtype=np.int8), [-1, 0, 1], [[1, 1, 0], [1, 1, 1]]
    closed = close_upwards(Y, parents)
    assert (closed.dtype, closed.tolist()) == (np.int8, expected)
    assert Y.sum() == 2  # the argument is not changed
    closed = close_upwards(csc_array(Y), {1: 0, 2: 1})
    assert (issparse(closed), closed.dtype, closed.toarray().tolist()) == (True, np.int8, expected)
    frame = pd.DataFrame(Y, columns=["a", "a/b", "a/b/c"], index=[7, 5]).astype({"a": bool})
    hierarchy = label_hierarchy_from_names(frame.columns)
    closed = close_upwards(frame, hierarchy)
    pd.testing.assert_frame_equal(
        closed, pd.DataFrame(expected, columns=frame.columns, index=[7, 5]).astype(frame.dtypes)
    )


def test_names_that_are_paths_are_a_hierarchy_of_the_method():
    X = np.array([[3.0, 2], [3, -2], [-3, 2], [-3, -2], [2, 2], [2, -2]])
    y = [["pet", "pet/cat"] if b > 0 else ["pet"] for _, b in X[:2]] + [[], []] + [["pet", "pet/cat"], ["pet"]]
    names = {name for labels in y for name in labels}
    model = HierarchicalRelevance(hierarchy=label_hierarchy_from_names(names)).fit(X, y)
    assert model.parents_.tolist() == [-1, 0]
    assert model.predict([[3.0, 3.0], [-3.0, -3.0]]) == [["pet", "pet/cat"], []]


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [([1, 0], "has a cycle"), ({"x": 0}, "which is not a label"), ([-1], "one parent for each")],
)
def test_errors(hierarchy, message):
    with pytest.raises(ValueError, match=message):
        close_upwards(np.eye(2), hierarchy)
