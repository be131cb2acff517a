import pytest

from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces


def save(folder, **parameters):
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    SDGSClassifier(2, random_state=0, **parameters).fit(data.X, data.Y).save(folder / "model.sdgs")
    return folder / "model.sdgs"


@pytest.fixture(scope="session")
def ridge_file(tmp_path_factory):
    """A model of 60 standardised samples, 8 features and 3 labels."""
    return save(tmp_path_factory.mktemp("ridge"))


@pytest.fixture(scope="session")
def kernel_file(tmp_path_factory):
    """The same with a kernel, which weights the features of dense samples."""
    return save(tmp_path_factory.mktemp("kernel"), gamma=1.0, n_landmarks=10)
