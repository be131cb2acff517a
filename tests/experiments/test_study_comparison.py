"""The record of a published study's methods."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sdgs import metrics
from sdgs.datasets import load_mulan
from sdgs.experiments._case_records import read_rows
from sdgs.experiments._study_comparison import COLUMNS, DATASETS, METHODS, case_of, cases, main, make_method
from sdgs.methods import ClassifierChains


def test_what_is_measured():
    assert len(cases()) == len(DATASETS) * len(METHODS) == 64
    assert cases(["scene"]) == [("scene", method) for method in METHODS]
    assert case_of({"dataset": "Corel5k", "method": "LP"}) == ("corel5k", "LP")


@pytest.mark.slow
def test_the_record_is_completed(tmp_path, write_mulan):
    write_mulan(tmp_path, "scene")
    path = tmp_path / "record.csv"
    arguments = [str(path), "--data-home", str(tmp_path), "--datasets", "scene"]
    main(arguments)
    rows = {row["method"]: row for row in read_rows(path)}
    assert tuple(rows) == METHODS
    assert tuple(rows["BR"]) == COLUMNS
    train, test = (
        load_mulan(tmp_path / "scene" / f"scene-{s}.arff", tmp_path / "scene" / "scene.xml") for s in ("train", "test")
    )
    scaler = StandardScaler().fit(train.X)
    chain = ClassifierChains(LogisticRegression(max_iter=2000)).fit(scaler.transform(train.X), train.Y)
    predicted = chain.predict(scaler.transform(test.X))
    assert float(rows["CC"]["f1"]) == pytest.approx(metrics.f1(test.Y, predicted), abs=1e-4)
    assert float(rows["CC"]["subset_accuracy"]) == pytest.approx(np.mean((predicted == test.Y).all(axis=1)), abs=1e-4)
    complete = path.read_text()
    path.write_text("".join(complete.splitlines(keepends=True)[:-2]))  # without the last two
    main(arguments)
    assert [row["method"] for row in read_rows(path)] == list(METHODS)


def test_methods_with_scores_predict_as_many_labels_as_samples_have():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(300, 4)) > 1.5).astype(int)
    for name in ("BR", "RAkEL"):
        assert make_method(name, sparse=False).fit(X, Y).predict(X).mean() == pytest.approx(Y.mean(), rel=0.15)
