"""``assume="missing"`` where it has no meaning."""

import pytest

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces

DATA = make_label_subspaces(80, 10, 4, n_components=2, noise=0.1, random_state=0)


@pytest.mark.parametrize(
    "model", [SDGSClassifier(2), SDGSClassifierCV(budget=1)], ids=lambda model: type(model).__name__
)
def test_one_class_per_sample_is_refused(model):
    with pytest.raises(ValueError, match='assume="missing" needs a label matrix or lists of labels'):
        model.set_params(assume="missing").fit(DATA.X, DATA.Y.argmax(axis=1))
