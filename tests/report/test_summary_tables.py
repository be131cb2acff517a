"""Small tables of the page: what the model uses, micro and macro F1, and calibration."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces
from sdgs.report import model_content
from sdgs.report._summary_tables import calibration_table, chosen_parameters, f1_over_labels


def test_f1_over_labels_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    true, *predictions = rng.random((3, 50, 4)) < 0.3
    values = f1_over_labels(true, predictions)
    for i, predicted in enumerate(predictions):
        assert values["Micro F1"][i] == pytest.approx(f1_score(true, predicted, average="micro"))
        assert values["Macro F1"][i] == pytest.approx(f1_score(true, predicted, average="macro"))
    none = np.zeros((3, 2), dtype=bool)
    assert f1_over_labels(none, [none]) == {"Micro F1": [None], "Macro F1": [None]}


def test_calibration():
    probabilities = np.array([[0.05, 0.95], [0.01, 1.0], [0.55, 0.05]])
    true = np.array([[False, True], [True, True], [False, False]])
    assert calibration_table(true, probabilities) == [
        [0, 10, 3, pytest.approx(0.11 / 3), pytest.approx(1 / 3)],
        [50, 60, 1, 0.55, 0.0],
        [90, 100, 2, pytest.approx(0.975), 1.0],
    ]


def test_chosen_parameters_are_those_of_the_model():
    data = make_label_subspaces(200, 20, 4, n_components=2, noise=0.5, random_state=0)
    model = SDGSClassifier(n_components=2, gamma=None, penalty=3.0, random_state=0).fit(data.X, data.Y)
    chosen = chosen_parameters(model)
    assert chosen["scaling"] == model.scaling_
    assert chosen["ridge penalty"] == "3.0"
    assert chosen["kernel (gamma)"] == "none"
    assert chosen["labels are read from"] == ", ".join(model.read_from_)
    content = model_content(model, data.X, data.Y, max_explained=0)
    assert content["model"]["chosen"] == chosen
    assert sum(row[2] for row in content["calibration"]) == data.Y.size
    search = SDGSClassifierCV(budget=1, n_components=2, random_state=0).fit(data.X, data.Y)
    assert chosen_parameters(search)["dimension of subspaces"] == "2"
    norm = SDGSClassifier(n_components=2, readout="norm", random_state=0).fit(data.X, data.Y)
    assert "ridge penalty" not in chosen_parameters(norm)
    assert model_content(norm, data.X, data.Y, max_explained=0)["calibration"] is None
