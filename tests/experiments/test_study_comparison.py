"""The record of a published study's methods."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sdgs import metrics
from sdgs.datasets import load_mulan
from sdgs.experiments._case_records import read_rows
from sdgs.experiments._study_comparison import (
    COLUMNS,
    FIXED_SETTINGS,
    METHODS,
    case_of,
    cases,
    main,
    make_method,
    random_split,
)
from sdgs.methods import ClassifierChains


def test_what_is_measured():
    assert len(cases()) == len(set(cases()))
    variants = {(name, variant) for name, variant, split, method in cases() if (split, method) == ("1", "LP")}
    assert len(variants) == 12
    assert {case[:3] for case in cases(["corel5k"])} == {("corel5k", "default", "files")}
    assert {method for _, _, _, method in cases(["corel5k"])} == set(METHODS)
    assert len(cases(["scene"], ["0"])) == 2 * len(METHODS) + 5
    row = {"dataset": "Corel5k", "variant": "default", "split": "files", "method": "LP"}
    assert case_of(row) == ("corel5k", "default", "files", "LP")


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_splits_are_random_partitions(kind):
    X, Y = np.arange(1, 21.0)[:, None], np.arange(1, 21)[:, None]
    parts = random_split(kind(X), Y, (3, 10), seed=1)
    X_train, X_test = (part if kind is np.asarray else part.toarray() for part in parts[::2])
    assert X_test.shape == (6, 1)
    assert sorted(np.concatenate([X_train, X_test]).ravel()) == list(range(1, 21))
    np.testing.assert_array_equal(X_train, parts[1])
    np.testing.assert_array_equal(X_test, parts[3])
    assert (random_split(kind(X), Y, (3, 10), seed=2)[3] != parts[3]).any()


@pytest.mark.slow
def test_the_record_is_completed(tmp_path, write_mulan):
    write_mulan(tmp_path, "scene")
    path = tmp_path / "record.csv"
    arguments = [str(path), "--data-home", str(tmp_path), "--datasets", "scene", "--splits", "0"]
    main(arguments)
    rows = read_rows(path)
    machines = [variant for method, variant in FIXED_SETTINGS if method == "BR"]
    assert [row["variant"] for row in rows] == ["default"] * 8 + ["study"] * 8 + machines
    assert [row["method"] for row in rows] == [*METHODS, *METHODS] + ["BR"] * 5
    assert tuple(rows[0]) == COLUMNS
    chain_row = rows[METHODS.index("CC")]
    train, test = (
        load_mulan(tmp_path / "scene" / f"scene-{s}.arff", tmp_path / "scene" / "scene.xml") for s in ("train", "test")
    )
    order = np.random.default_rng(0).permutation(90)
    X, Y = np.vstack([train.X, test.X])[order], np.vstack([train.Y, test.Y])[order]
    X_train, Y_train, X_test, Y_test = X[35:], Y[35:], X[:35], Y[:35]  # 90 * 960 // 2407 test samples
    scaler = StandardScaler().fit(X_train)
    chain = ClassifierChains(LogisticRegression(max_iter=2000)).fit(scaler.transform(X_train), Y_train)
    predicted = chain.predict(scaler.transform(X_test))
    assert float(chain_row["f1"]) == pytest.approx(metrics.f1(Y_test, predicted), abs=1e-4)
    assert float(chain_row["subset_accuracy"]) == pytest.approx(np.mean((predicted == Y_test).all(axis=1)), abs=1e-4)
    complete = path.read_text()
    path.write_text("".join(complete.splitlines(keepends=True)[:-2]))  # without the last two
    main(arguments)
    assert [row["method"] for row in read_rows(path)] == [row["method"] for row in rows]


def test_methods_with_scores_predict_as_many_labels_as_samples_have():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(300, 4)) > 1.5).astype(int)
    for name in ("BR", "RAkEL"):
        assert make_method(name, sparse=False).fit(X, Y).predict(X).mean() == pytest.approx(Y.mean(), rel=0.15)
