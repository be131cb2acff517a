import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers import decomposition_problem
from sdgs.decomposition._label_rows import label_cooccurrence, levels


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), k=st.integers(1, 8), share=st.sampled_from([0.1, 0.4]))
def test_labels_of_a_level_share_no_row_and_follow_the_earlier_labels_of_their_rows(seed, n, k, share):
    Y = np.random.default_rng(seed).random((n, k)) < share
    groups = levels(label_cooccurrence(decomposition_problem((n, 1), Y, 1, 0).rows, n))
    assert sorted(i for level in groups for i in level) == list(range(k))
    level_of = {i: number for number, level in enumerate(groups) for i in level}
    for i in range(k):
        for j in range(i):
            if (Y[:, i] & Y[:, j]).any():
                assert level_of[j] < level_of[i]
