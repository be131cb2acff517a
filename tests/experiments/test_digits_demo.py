"""The demo: SDGS and binary relevance on sums of handwritten digits."""

import pytest

from sdgs.experiments._digits_demo import run_demo


@pytest.mark.slow
def test_paper_readout_is_no_worse_than_tuned_binary_relevance_on_composite_digits():
    # One parameter and one threshold each, chosen in the same way on the training data.
    defaults, paper, binary_relevance = results = run_demo(n_train=1500, n_test=1000, seed=3).methods
    assert [result.name for result in results] == ["SDGS", "SDGS as published", "binary relevance"]
    assert paper.scores["f1"] >= binary_relevance.scores["f1"]
    assert defaults.scores["f1"] >= paper.scores["f1"]
