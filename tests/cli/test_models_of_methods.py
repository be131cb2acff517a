"""Commands with model files of other estimators than SDGS, and of pipelines."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sdgs
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, metrics
from sdgs.datasets import read
from sdgs.methods import MDDM, BinaryRelevance, HierarchicalRelevance, MLkNN, RAkEL, SparseLowRankCV

MODELS = [
    BinaryRelevance(),
    make_pipeline(StandardScaler(), MDDM(3), MLkNN(5)),
    RAkEL(random_state=0),
    HierarchicalRelevance(hierarchy={2: 0}),
    SparseLowRankCV(gammas=0.1, taus=(0.5, 1.0), cv=2, random_state=0),
    DecisionClassifier(LogisticRegression(), cv=2, random_state=0),
    AveragingClassifier([LogisticRegression(), BinaryRelevance()], cv=2, random_state=0),
]


@pytest.fixture(scope="module")
def train(songs):
    return read(songs / "train.csv", labels=["is_*"])


def fit_and_save(model, data, path):
    model.fit(data.X, data.Y)
    sdgs.save(model, path, feature_names=data.feature_names, label_names=data.label_names)
    return model


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_predict_evaluate_and_info_take_every_model(model, run, songs, train, expected, tmp_path):
    test, path = expected[0], tmp_path / "model.sdgs"
    predicted = fit_and_save(model, train, path).predict(test.X)
    predicted = np.asarray(predicted.toarray() if hasattr(predicted, "toarray") else predicted)
    rows = list(csv.reader(run("predict", path, songs / "test.parquet").stdout.splitlines()))[1:]
    names = np.array(train.label_names)
    assert [row[1] for row in rows] == [";".join(names[row == 1]) for row in predicted]
    assert len(run("predict", path, songs / "test.csv", "--scores").stdout.splitlines()) == 51
    result = json.loads(run("evaluate", path, songs / "test.csv", "--json").stdout)
    assert result["measures"]["f1"] == pytest.approx(metrics.f1(test.Y, predicted))
    content = json.loads(run("info", path, "--json").stdout)
    assert content["class"] == type(model).__name__
    assert content["feature_names"] == [f"f{j}" for j in range(6)]
    assert "6 features, 3 labels" in run("info", path).stdout


def test_columns_of_a_model_that_was_fitted_to_a_data_frame_are_found_by_name(run, songs, train, tmp_path):
    X = pd.DataFrame(train.X, columns=list(train.feature_names))
    Y = pd.DataFrame(train.Y, columns=list(train.label_names))
    sdgs.save(DecisionClassifier(LogisticRegression(), cv=2, random_state=0).fit(X, Y), tmp_path / "model.sdgs")
    result = run("predict", "model.sdgs", songs / "test.parquet")  # its columns have another order
    assert len(result.stdout.splitlines()) == 51
    assert "feature names" not in result.stderr


def test_info_shows_what_a_search_chose(run, train, tmp_path):
    model = fit_and_save(MODELS[4], train, tmp_path / "model.sdgs")
    assert json.loads(run("info", "model.sdgs", "--json").stdout)["chosen"] == model.best_params_
    assert "Selected by cross-validation: gamma=0.1, tau=" in run("info", "model.sdgs").stdout


@pytest.mark.parametrize("command", ["explain", "report"])
def test_explanations_need_sdgs(command, run, songs, train, tmp_path):
    fit_and_save(BinaryRelevance(), train, tmp_path / "model.sdgs")
    result = run(command, "model.sdgs", songs / "test.csv", *(["-o", "page.html"] if command == "report" else []))
    assert result.exit_code == 1
    assert "needs a model file of SDGSClassifier or SDGSClassifierCV; model.sdgs holds BinaryRelevance, which" in (
        " ".join(result.stderr.split())
    )


def test_a_model_that_predicts_no_labels_is_an_error(run, songs, train, tmp_path):
    fit_and_save(MDDM(), train, tmp_path / "model.sdgs")
    result = run("predict", "model.sdgs", songs / "test.csv")
    assert result.exit_code == 1
    assert "model.sdgs holds MDDM, which predicts no labels" in " ".join(result.stderr.split())


def test_a_pipeline_that_ends_with_sdgs_is_explained(run, songs, train, tmp_path):
    pipeline = make_pipeline(StandardScaler(), SDGSClassifier(2, gamma=None, penalty=1.0, random_state=0))
    fit_and_save(pipeline, train, tmp_path / "model.sdgs")
    content = json.loads(run("explain", "model.sdgs", songs / "test.csv", "--json").stdout)
    assert len(content) == 1
    assert "f0" in json.dumps(content)
    result = run("report", "model.sdgs", songs / "test.csv", "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert "is_calm" in (tmp_path / "page.html").read_text()
