"""Hierarchical binary relevance."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from sdgs.datasets import read_label_hierarchy
from sdgs.methods import HierarchicalRelevance
from sdgs.methods._hierarchical_relevance import parents_of

NAMES = ["cat", "animal", "plant", "oak"]
PARENTS = [1, -1, -1, 2]


@pytest.mark.parametrize(
    "hierarchy",
    [
        PARENTS,
        tuple(PARENTS),
        np.array(PARENTS),
        {"cat": "animal", "oak": "plant"},
        {"oak": "plant", "plant": None, "cat": "animal", "animal": None},
        {"animal": {"cat": {}}, "plant": {"oak": None}},
    ],
    ids=repr,
)
def test_forms_of_a_hierarchy(hierarchy):
    np.testing.assert_array_equal(parents_of(hierarchy, NAMES), PARENTS)


def test_labels_without_names_are_indices():
    np.testing.assert_array_equal(parents_of({0: 1, 3: 2}, list(range(4))), PARENTS)
    np.testing.assert_array_equal(parents_of({1: {0: {}}, 2: {3: {}}}, list(range(4))), PARENTS)
    np.testing.assert_array_equal(parents_of({1: {0: {3: {}}}}, list(range(4))), [1, -1, -1, 0])


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        ("animal", "hierarchy must be None, a dict or the parents"),
        (3, "hierarchy must be None, a dict or the parents"),
        ([1, -1, -1], "one parent for each of the 4 labels, got 3"),
        ([1, -1, -1, 4], "the index of each label's parent, or -1 for none; got 4 for label 3"),
        ([1, -1, -1, "plant"], "got 'plant' for label 3"),
        ([1, 0, -1, 2], "hierarchy has a cycle: label 'cat' is below itself"),
        ({"cat": "animal", "animal": "cat"}, "hierarchy has a cycle"),
        (
            {"cat": "animals"},
            "hierarchy has 'animals', which is not a label. Labels are 'cat', 'animal', 'plant', 'oak'",
        ),
        ({"animal": {"dog": {}}}, "hierarchy has 'dog', which is not a label"),
        ({"animal": {"cat": {}}, "plant": {"cat": {}}}, "hierarchy has label 'cat' more than once"),
        ({"animal": {"cat": {}}, "plant": "oak"}, "'plant' has 'oak' below it. Give a dict"),
    ],
    ids=repr,
)
def test_bad_hierarchies_are_rejected(hierarchy, message):
    X = np.arange(12.0).reshape(6, 2)
    Y = pd.DataFrame(np.eye(6, 4, dtype=int), columns=NAMES)
    with pytest.raises(ValueError, match=message):
        HierarchicalRelevance(hierarchy=hierarchy).fit(X, Y)


def test_a_flat_hierarchy_is_binary_relevance(small):
    X, Y, X_test = small
    expected = OneVsRestClassifier(LogisticRegression()).fit(X, Y[:, :3])
    for hierarchy in (None, [-1] * 4):
        model = HierarchicalRelevance(hierarchy=hierarchy).fit(X, Y)
        np.testing.assert_allclose(model.predict_proba(X_test)[:, :3], expected.predict_proba(X_test), atol=1e-6)
        np.testing.assert_array_equal(model.predict(X_test)[:, :3], expected.predict(X_test))


def test_predictions_are_closed_upward():
    rng = np.random.default_rng(0)
    parents = np.array([-1, 0, 0, 1, 1, 3, -1, 6, 6, 8])
    X = rng.standard_normal((300, 6))
    Y = (X @ rng.standard_normal((6, 10)) + 0.3 * rng.standard_normal((300, 10)) > 0.5).astype(int)  # not closed
    model = HierarchicalRelevance(hierarchy=parents).fit(X[:200], Y[:200])
    predicted, P = model.predict(X[200:]), model.predict_proba(X[200:])
    below = parents >= 0
    assert predicted[:, 5].any()
    assert (predicted[:, below] <= predicted[:, parents[below]]).all()
    assert (P[:, below] <= P[:, parents[below]]).all()
    np.testing.assert_array_equal(model.parents_, parents)


def test_hierarchy_of_mulan(tmp_path):
    (tmp_path / "pets.xml").write_text(
        '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="animal"><label name="cat"/></label></labels>'
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    Y = (X > 0).astype(int)
    model = HierarchicalRelevance(hierarchy=read_label_hierarchy(tmp_path / "pets.xml")).fit(X, Y)
    np.testing.assert_array_equal(model.parents_, [-1, 0])
