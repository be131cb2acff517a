"""Nodes that are accepted are a tree, whatever a file says; forgeries of whole files are in test_learner_table.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import NODE_DTYPE

from sdgs.persistence._container import CheckedArrays
from sdgs.persistence.codecs._stored_fields import Output, Source
from sdgs.persistence.codecs._tree_fields import _check_nodes, _depth, decode_trees, encode_trees


@given(st.data())
def test_accepted_nodes_are_a_tree(data):
    n = data.draw(st.integers(1, 7))
    child = st.integers(-1, n)
    nodes = np.zeros(n, dtype=NODE_DTYPE)
    nodes["left_child"] = data.draw(st.lists(child, min_size=n, max_size=n))
    nodes["right_child"] = data.draw(st.lists(child, min_size=n, max_size=n))
    nodes["feature"] = np.where(nodes["left_child"] == -1, -2, data.draw(st.integers(-1, 3)))
    try:
        _check_nodes(nodes, 3, "it")
    except ValueError:
        return
    depths, queue = {}, [(0, 0)]
    while queue:
        node, depth = queue.pop()
        assert node not in depths
        depths[node] = depth
        if nodes["left_child"][node] >= 0:
            assert 0 <= nodes["feature"][node] < 3
            queue += [(nodes["left_child"][node], depth + 1), (nodes["right_child"][node], depth + 1)]
    assert len(depths) == n
    assert _depth(nodes) == max(depths.values())


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(random_state=0), DecisionTreeClassifier(max_leaf_nodes=5), ExtraTreesClassifier(3)],
    ids=repr,
)
@pytest.mark.parametrize("several", [False, True])
def test_trees_of_scikit_learn_come_back(estimator, several):
    """Also with missing entries, for which thresholds may be infinite, and several outputs of different classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)).astype(np.float32)
    X[::3, 0] = np.nan
    y = np.column_stack([np.isnan(X[:, 0]), rng.integers(3, size=60)]) if several else rng.integers(4, size=60)
    estimator.fit(X, y)
    trees = [one.tree_ for one in getattr(estimator, "estimators_", [estimator])]
    output = Output({}, None)
    encode_trees(trees, "it", output)
    source = Source(CheckedArrays(output.arrays), None, {"p": 4, "classes": [2, 3] if several else [4]})
    for before, after in zip(trees, decode_trees("it", source), strict=True):
        assert before.max_depth == after.max_depth
        np.testing.assert_array_equal(before.apply(X), after.apply(X))
        np.testing.assert_array_equal(before.predict(X), after.predict(X))
        np.testing.assert_array_equal(before.decision_path(X).toarray(), after.decision_path(X).toarray())
    source.arrays.check_all_taken()
