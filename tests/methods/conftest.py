import numpy as np
import pytest

from sdgs.datasets import make_composite_digits


@pytest.fixture(scope="module")
def digits():
    """Training and test samples: sums of one or two handwritten digits."""
    return (
        make_composite_digits(600, max_labels=2, subset="train", random_state=0),
        make_composite_digits(200, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture
def small():
    """Samples, labels, the last of which no sample has, and test samples."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), (rng.uniform(size=(60, 4)) < 0.4).astype(int)
    Y[:, 3] = 0
    return X, Y, rng.standard_normal((25, 5))
