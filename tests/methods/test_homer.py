"""HOMER."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from sdgs.methods import HOMER
from sdgs.methods._homer import assign_with_capacity, balanced_clusters, group_labels


@pytest.mark.parametrize("clustering", ["balanced", "random"])
@pytest.mark.parametrize("branching_factor", [4, 7])
def test_one_level_is_binary_relevance(small, branching_factor, clustering):
    X, Y, X_test = small
    model = HOMER(branching_factor=branching_factor, clustering=clustering).fit(X, Y)
    expected = OneVsRestClassifier(LogisticRegression()).fit(X, Y[:, :3])
    assert model.groups_ == []
    np.testing.assert_allclose(model.predict_proba(X_test)[:, :3], expected.predict_proba(X_test), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X_test)[:, :3], expected.predict(X_test))


@pytest.mark.parametrize("clustering", ["balanced", "random"])
@pytest.mark.parametrize("branching_factor", [2, 3, 5])
def test_a_perfect_learner_reproduces_the_labels(branching_factor, clustering):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((100, 4)), (rng.random((100, 17)) < 0.15).astype(int)
    base = KNeighborsClassifier(1)
    model = HOMER(base, branching_factor=branching_factor, clustering=clustering, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    np.testing.assert_array_equal(model.predict_proba(X), Y)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 20, 41])
@pytest.mark.parametrize("branching_factor", [2, 3, 6])
@pytest.mark.parametrize("max_iter", [0, 20])
def test_groups_are_a_balanced_tree(k, branching_factor, max_iter):
    rng = np.random.default_rng(0)
    Y = rng.random((50, k)) < 0.3
    Y[:, k // 2 :] = 0  # labels without samples, which have equal columns
    groups, parents = group_labels(Y, branching_factor, max_iter, rng)
    assert len(parents) == k + len(groups)
    assert len(groups) < k
    members = [*([label] for label in range(k)), *groups]
    for node in (-1, *range(k, len(parents))):
        children = np.flatnonzero(parents == node)
        inside = np.arange(k) if node == -1 else groups[node - k]
        assert len(children) <= branching_factor
        assert len(inside) > 1 or node == -1
        capacity = -(-len(inside) // branching_factor)
        assert all(len(members[child]) <= capacity for child in children)
        np.testing.assert_array_equal(np.sort(np.concatenate([members[child] for child in children])), inside)


def test_labels_of_the_same_samples_are_in_one_group():
    rng = np.random.default_rng(0)
    kinds = rng.permutation(np.repeat(np.arange(3), 4))
    Y = rng.integers(3, size=200)[:, None] == kinds
    Y &= rng.random(Y.shape) < 0.9
    # k-means from random starts: one of a few finds the three kinds
    found = [balanced_clusters(Y.T, 3, 20, np.random.default_rng(seed)) for seed in range(5)]
    expected = sorted(tuple(np.flatnonzero(kinds == kind)) for kind in range(3))
    assert any(sorted(map(tuple, clusters)) == expected for clusters in found)


@pytest.mark.parametrize(("n", "c", "capacity"), [(6, 3, 2), (7, 3, 3), (20, 4, 5), (5, 5, 1), (9, 2, 9)])
def test_assignment_with_capacity_is_stable(n, c, capacity):
    rng = np.random.default_rng(0)
    D = rng.random((n, c))
    assigned = assign_with_capacity(D, capacity)
    assert np.bincount(assigned).max() <= capacity
    for row in range(n):
        for column in range(c):
            if D[row, column] < D[row, assigned[row]]:  # it is full of rows that are nearer
                inside = assigned == column
                assert inside.sum() == capacity
                assert D[inside, column].max() < D[row, column]
    order = rng.permutation(n)
    np.testing.assert_array_equal(assign_with_capacity(D[order], capacity), assigned[order])
    best = linear_sum_assignment(np.repeat(D, capacity, axis=1))
    assert D[np.arange(n), assigned].sum() >= np.repeat(D, capacity, axis=1)[best].sum() - 1e-12


def test_random_state_decides_the_groups():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((80, 3)), rng.integers(0, 2, (80, 12))
    trees = [HOMER(random_state=seed).fit(X, Y) for seed in (0, 0, 1)]
    assert [list(group) for group in trees[0].groups_] == [list(group) for group in trees[1].groups_]
    assert [list(group) for group in trees[0].groups_] != [list(group) for group in trees[2].groups_]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"branching_factor": 1}, "branching_factor must be an integer >= 2"),
        ({"clustering": "em"}, "clustering must be one of"),
    ],
)
def test_bad_parameters_are_rejected(small, parameters, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        HOMER(**parameters).fit(X, Y)


@pytest.mark.slow
def test_reference_values_of_emotions(emotions, measures):
    X, Y, X_test, Y_test = emotions
    models = [HOMER(LogisticRegression(max_iter=2000), random_state=seed).fit(X, Y) for seed in range(5)]
    values = [list(measures(Y_test, model.predict(X_test)).values()) for model in models]
    expected = [0.2252, 0.2574, 0.6219, 0.5319, 0.6557, 0.6418]
    np.testing.assert_allclose(np.mean(values, axis=0), expected, atol=0.03)


@pytest.mark.slow
def test_reference_values_of_medical(medical, measures):
    X, Y, X_test, Y_test = medical
    models = [HOMER(LogisticRegression(C=10, max_iter=2000), random_state=seed).fit(X, Y) for seed in range(3)]
    values = [list(measures(Y_test, model.predict(X_test)).values()) for model in models]
    expected = [0.0132, 0.5845, 0.7022, 0.6729, 0.7395, 0.2597]
    np.testing.assert_allclose(np.mean(values, axis=0), expected, atol=0.03)


def test_weights_of_samples_in_clusters_are_numbers_of_copies():
    Y = np.random.default_rng(0).random((30, 9)) < 0.4
    weight = np.random.default_rng(1).integers(1, 6, 30)

    def groups(Y, weight=None):
        models = (HOMER(DummyClassifier(), random_state=seed) for seed in range(5))
        return [[group.tolist() for group in m.fit(np.zeros((len(Y), 1)), Y, weight).groups_] for m in models]

    assert groups(Y, weight) == groups(np.repeat(Y, weight, axis=0)) != groups(Y)
