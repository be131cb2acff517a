"""Angles between the subspaces of labels, and the tree of labels that they give."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from sdgs import SDGSClassifier, decompose, label_angles
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._label_angles import shared_fractions


def test_angles_are_those_of_scipy(subspaces):
    components = [*subspaces(4, 3, 9), *subspaces(2, 2, 9, seed=1), np.zeros((0, 9))]
    angles = label_angles(components)
    for i in range(6):
        for j in range(6):
            cosines = np.cos(subspace_angles(components[i].T, components[j].T))
            np.testing.assert_allclose(angles.cosines(i, j), np.sort(cosines)[::-1], atol=1e-10)
            assert angles.shared[i, j] == pytest.approx(np.sum(cosines**2) / len(components[i]))
            smaller = min(len(components[i]), len(components[j]))
            assert angles.overlap[i, j] == pytest.approx(np.sum(cosines**2) / smaller)
    assert not angles.shared[6].any()
    assert not angles.shared[:, 6].any()
    assert sorted(angles.order()) == list(range(7))


def test_labels_with_similar_subspaces_are_neighbours_in_the_tree(subspaces):
    a, b, c = subspaces(3, 2, 30)
    near = np.linalg.qr((a + 0.05 * b).T)[0].T
    angles = label_angles([a, b, c, near], label_names=list("abcd"))
    tree = angles.tree()
    assert set(tree[0, :2]) == {0, 3}
    order = angles.order().tolist()
    assert abs(order.index(0) - order.index(3)) == 1
    assert label_angles([a]).order().tolist() == [0]
    with pytest.raises(ValueError, match="at least two labels"):
        label_angles([a]).tree()


def test_angles_of_a_model_and_of_a_decomposition():
    data = make_label_subspaces(60, 10, 3, n_components=2, random_state=0)
    model = SDGSClassifier(2, cv=2, random_state=0).fit(data.X, data.Y)
    np.testing.assert_array_equal(label_angles(model).label_names, model.classes_)
    np.testing.assert_allclose(np.diag(label_angles(model).shared), 1)
    angles = label_angles(decompose(data.X, data.Y, n_components=2, random_state=0))
    assert angles.shared.shape == (3, 3)


def test_shared_fractions_do_not_depend_on_the_block_size(subspaces):
    components = [*subspaces(3, 2, 30), np.zeros((0, 30)), *subspaces(1, 4, 30, seed=5)]
    one_label_at_a_time = shared_fractions(components, block_bytes=1)
    np.testing.assert_allclose(one_label_at_a_time, shared_fractions(components), atol=1e-12)
