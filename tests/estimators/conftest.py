import pytest

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits


@pytest.fixture(scope="session")
def digits():
    """Training and test samples: sums of one or two handwritten digits."""
    return (
        make_composite_digits(1500, max_labels=2, subset="train", random_state=0),
        make_composite_digits(500, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="session")
def more_digits():
    """The same with more training samples."""
    return (
        make_composite_digits(2000, max_labels=2, subset="train", random_state=0),
        make_composite_digits(500, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="session")
def model(digits):
    """SDGSClassifier with its defaults, fitted to the digits."""
    return SDGSClassifier(random_state=0).fit(digits[0].X, digits[0].Y)
