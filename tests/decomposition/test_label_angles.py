import numpy as np

from sdgs.decomposition._label_angles import shared_fractions


def test_shared_fractions_do_not_depend_on_the_block_size(subspaces):
    components = [*subspaces(3, 2, 30), np.zeros((0, 30)), *subspaces(1, 4, 30, seed=5)]
    one_label_at_a_time = shared_fractions(components, block_bytes=1)
    np.testing.assert_allclose(one_label_at_a_time, shared_fractions(components), atol=1e-12)
