"""Trees of binary targets."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sdgs.methods._target_tree import close_upward, fit_tree, top_down

PARENTS = np.array([3, -1, 0, 1, 1, -1])  # 1 above 3 and 4, 3 above 0, 0 above 2


@pytest.fixture
def tree_problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    Y = X @ rng.standard_normal((4, 6)) + rng.standard_normal((200, 6)) > 0.8
    return X, close_upward(Y, PARENTS)


def test_parents_come_first():
    order = top_down(PARENTS)
    assert sorted(order) == list(range(6))
    assert all(order.index(parent) < order.index(target) for target, parent in enumerate(PARENTS) if parent >= 0)


@pytest.mark.parametrize("parents", [[0], [-1, 2, 1], [1, 2, 3, 1]])
def test_cycles_are_found(parents):
    with pytest.raises(ValueError, match=r"^[0-3]$"):
        top_down(np.array(parents))


def test_closing_upward():
    Y = np.eye(6, dtype=bool)
    closed = close_upward(Y, PARENTS)
    ancestors = [{0, 3, 1}, {1}, {2, 0, 3, 1}, {3, 1}, {4, 1}, {5}]
    assert [set(np.flatnonzero(labels)) for labels in closed] == ancestors
    np.testing.assert_array_equal(Y, np.eye(6))


def test_agrees_with_the_definition(tree_problem):
    X, Y = tree_problem
    tree = fit_tree(None, X, Y, PARENTS, [None] * 6, None)
    P, labels = np.ones(Y.shape), np.ones(Y.shape, dtype=bool)
    for target in range(6):
        node = target
        while node >= 0:
            parent = PARENTS[node]
            rows = Y[:, parent] if parent >= 0 else np.ones(len(X), dtype=bool)
            p = LogisticRegression().fit(X[rows], Y[rows, node]).predict_proba(X)[:, 1]
            P[:, target] *= p
            labels[:, target] &= p > 0.5
            node = parent
    np.testing.assert_allclose(tree.probabilities(X, None), P, rtol=1e-6)
    np.testing.assert_array_equal(tree.labels(X, None), labels)
    np.testing.assert_array_equal(tree.labels(X, 2), labels)


def test_targets_without_samples_are_never_predicted(tree_problem):
    X, Y = tree_problem
    Y[:, [3, 0, 2]] = False
    tree = fit_tree(None, X, Y, PARENTS, [None] * 6, None)
    assert [learner.estimator is None for learner in tree.learners] == [True, False, True, True, False, False]
    assert not tree.labels(X, None)[:, [3, 0, 2]].any()
    assert not tree.probabilities(X, None)[:, [3, 0, 2]].any()
