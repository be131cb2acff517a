import pytest

from sdgs.datasets import make_label_subspaces


@pytest.fixture(scope="session")
def small():
    """Samples and their labels."""
    data = make_label_subspaces(60, 8, 4, n_components=2, noise=0.2, random_state=0)
    return data.X, data.Y.astype(int)
