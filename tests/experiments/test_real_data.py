"""The paper's own data, where they are present (see conftest); skipped, with the reason, where they are not."""

import numpy as np
import pytest
from scipy.sparse import issparse

from sdgs import SDGSClassifier, decompose, group_lasso, metrics
from sdgs.datasets import REGISTRY, load, load_meka, load_mulan
from sdgs.experiments import Protocol, run
from sdgs.experiments._result_tables import Records, result_rows


def read(home, name, split):
    """One part of one of the paper's data sets: X and Y, dense."""
    path = home / name / f"{name}-{split}.arff"
    data = load_mulan(path if path.exists() else path.with_name(f"{path.name}.gz"), home / name / f"{name}.xml")
    return (data.X.toarray() if issparse(data.X) else data.X), data.Y


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


@pytest.fixture(scope="session")
def faithful(data_home, tmp_path_factory):
    """F1 in percent of SDGS as published on ten of the sets, by data set and rule of choice."""
    folder = tmp_path_factory.mktemp("faithful")
    datasets = tuple(name for name in REGISTRY if name != "mediamill")
    run(Protocol(datasets=datasets, methods=("sdgs",)), folder, data_home=data_home)
    rows = result_rows(Records.read(folder))
    return {(row.dataset, row.source): row.values["f1"] for row in rows if row.method == "sdgs"}


# Parameters are chosen on the training samples alone, from four groups within the paper's ranges. What a prototype
# found possible is more than the paper prints, so the floor is the higher of the two.
POSSIBLE = {"genbase": 93, "medical": 60, "enron": 46, "slashdot": 36, "yahoo-arts": 31}


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "mediamill"])
def test_sdgs_as_published_reaches_its_f1(faithful, name):
    printed = faithful[name, "published"]
    for rule in ("paper", "cv"):
        assert faithful[name, rule] >= printed - 1
    assert max(faithful[name, "paper"], faithful[name, "cv"]) >= POSSIBLE.get(name, 0)


def test_and_the_published_figure_itself_on_most(faithful):
    for rule in ("paper", "cv"):
        names = [name for name, source in faithful if source == rule]
        assert sum(faithful[name, rule] >= faithful[name, "published"] for name in names) >= 8


# F1 of one linear SVM a label, with C and one threshold for all labels chosen by cross-validation, idf-weighted words
# and a label for every sample: as good as binary relevance gets.
TUNED_BINARY_RELEVANCE = {
    "emotions": 65.9,
    "medical": 79.2,
    "yahoo-arts": 47.0,
    "yahoo-education": 48.1,
    "yahoo-recreation": 48.7,
    "yahoo-science": 45.3,
    "genbase": 99.1,
    "slashdot": 59.7,
    "enron": 60.7,
}


def test_the_defaults_are_not_behind_tuned_binary_relevance(data_home):
    f1 = {}
    for name in TUNED_BINARY_RELEVANCE:
        train, test = (load(name, split, data_home=data_home) for split in ("train", "test"))
        model = SDGSClassifier(random_state=0).fit(train.X, train.Y)
        f1[name] = 100 * metrics.f1(test.Y, model.predict(test.X))
    assert np.mean(list(f1.values())) > np.mean(list(TUNED_BINARY_RELEVANCE.values()))


@pytest.mark.parametrize("standardise", [False, True])
def test_every_row_of_mediamill_is_certified(data_home, standardise):
    X, Y = read(data_home, "mediamill", "train")
    X_test, _ = read(data_home, "mediamill", "test")
    if standardise:
        mean, std = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / std, (X_test - mean) / std
    components = decompose(unit(X), Y, n_components=3, tol=1e-3, random_state=0).components
    result = group_lasso(unit(X_test), components, 0.2)
    assert result.converged.all()
    assert result.gap.max() <= 1e-6


# Samples of both parts together, features, labels and cardinality, as the paper's table prints them. Two of its figures
# are not those of the files: Genbase's 1186 features count an id, and Emotions' 1108 labels of 593 samples are 1.868.
PUBLISHED = {
    "corel5k": (4500, 500, 499, 374, 3.522),
    "mediamill": (30993, 12914, 120, 101, 4.376),
    "enron": (1123, 579, 1001, 53, 3.378),
    "genbase": (463, 199, 1185, 27, 1.252),
    "medical": (333, 645, 1449, 45, 1.245),
    "emotions": (391, 202, 72, 6, 1.868),
    "slashdot": (2338, 1444, 1079, 22, 1.181),
    "yahoo-arts": (2000, 3000, 462, 26, 1.636),
    "yahoo-education": (2000, 3000, 550, 33, 1.461),
    "yahoo-recreation": (2000, 3000, 606, 22, 1.423),
    "yahoo-science": (2000, 3000, 743, 40, 1.451),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_readers_find_what_the_paper_describes(data_home, name):
    (X, Y), (X_test, Y_test) = read(data_home, name, "train"), read(data_home, name, "test")
    cardinality = (Y.sum() + Y_test.sum()) / (len(Y) + len(Y_test))
    assert (len(X), len(X_test), X.shape[1], Y.shape[1], round(float(cardinality), 3)) == PUBLISHED[name]
    assert X_test.shape[1] == X.shape[1]


def test_mekas_own_files(data_home):
    music = load_meka(data_home / "meka-format" / "Music.arff")
    assert music.X.shape == (592, 71)
    assert music.label_names[0] == "amazed-suprised"
    assert 1 < music.statistics().cardinality < 3
    assert load_meka(data_home / "meka-format" / "Music_missing_classes.arff").Y is None
