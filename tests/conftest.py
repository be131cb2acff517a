import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def data_home():
    """The folder with the paper's data, which is not part of the project: tests that need it skip without it."""
    home = Path(os.environ.get("SDGS_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not home.is_dir():
        pytest.skip("the paper's data are not here: set SDGS_DATA to a folder with NAME/NAME-train.arff and so on")
    return home


@pytest.fixture
def subspaces():
    """A function that makes k random orthonormal bases (r, p)."""

    def make(k, r, p, seed=0):
        rng = np.random.default_rng(seed)
        return [np.linalg.qr(rng.standard_normal((p, r)))[0].T for _ in range(k)]

    return make
