"""What every method promises about its input, its output and its random numbers. `check_estimator` runs beside each."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone, is_classifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import sdgs.methods
from sdgs.methods import (
    HOMER,
    MDDM,
    PLST,
    BinaryRelevance,
    ClassifierChains,
    CompressedLabels,
    CurdsAndWhey,
    CurdsAndWheyCV,
    HierarchicalRelevance,
    LabelPowerset,
    MLkNN,
    RAkEL,
    ReducedRankRidge,
    ReducedRankRidgeCV,
    SharedSubspace,
    SharedSubspaceCV,
    SparseLowRank,
    SparseLowRankCV,
    StackedRelevance,
)

ALL = [
    BinaryRelevance(tol=1e-8),
    ClassifierChains(n_chains=2),
    CompressedLabels(),
    CurdsAndWhey(alpha=1.0),
    CurdsAndWheyCV(cv=2),
    HOMER(branching_factor=2),
    HierarchicalRelevance(),
    LabelPowerset(),
    make_pipeline(MDDM(2), MLkNN(5)),
    MLkNN(5),
    PLST(),
    RAkEL(labelset_size=2),
    ReducedRankRidge(),
    ReducedRankRidgeCV(cv=2),
    SharedSubspace(),
    SharedSubspaceCV(cv=2),
    SparseLowRank(),
    SparseLowRankCV(cv=2, gammas=[0.1, 0.01], taus=[0.5]),
    StackedRelevance(cv=3),
]
# With base learners that reproduce their training samples
PERFECT = [
    LabelPowerset(decision="set"),
    LabelPowerset(decision="marginals"),
    LabelPowerset(decision="f1"),
    ClassifierChains(),
    ClassifierChains(decision="mode"),
    ClassifierChains(decision="f1", inference="beam"),
    ClassifierChains(decision="marginals", inference="monte_carlo", n_draws=5),
    RAkEL(labelset_size=2),
    RAkEL(disjoint=True, average="marginals"),
    HOMER(branching_factor=2),
    HierarchicalRelevance(),
]


def name_of(model):
    return type(model[-2] if hasattr(model, "steps") else model).__name__


every_method = pytest.mark.parametrize("method", ALL, ids=name_of)


def seeded(method, **parameters):
    """A clone with a seed for all of its steps that take one."""
    model = clone(method)
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**dict.fromkeys(names, 0)).set_params(**parameters)


@pytest.fixture
def problem():
    """Samples and labels that depend on them, one of which a single sample has; some samples have no label."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 8)) * (rng.random((90, 8)) < 0.6)
    Y = (X @ rng.standard_normal((8, 4)) + 0.3 * rng.standard_normal((90, 4)) > 1).astype(int)
    Y[:, 3] = 0
    Y[7, 3] = 1
    Y[::9] = 0
    return X[:70], Y[:70], X[70:]


def test_no_method_is_forgotten():
    assert {name_of(method) for method in ALL} == set(sdgs.methods.__all__) - {"close_upwards"}


@every_method
def test_sparse_input_gives_sparse_output_with_the_same_labels(problem, method):
    X, Y, X_test = problem
    expected = seeded(method).fit(X, Y)
    for convert in (csr_array, csr_matrix):
        model = seeded(method).fit(convert(X), convert(Y))
        predicted = model.predict(convert(X_test))
        assert issparse(predicted)
        np.testing.assert_array_equal(predicted.toarray(), expected.predict(X_test))
        dense_target = seeded(method).fit(convert(X), Y)
        np.testing.assert_array_equal(dense_target.predict(convert(X_test)), expected.predict(X_test))


@every_method
def test_data_frames_give_data_frames_with_the_names_of_the_labels(problem, method):
    X, Y, X_test = problem
    frame = pd.DataFrame(X_test, index=range(500, 520)).add_prefix("x")
    model = seeded(method).fit(pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y, columns=list("abcd")))
    predicted = model.predict(frame)
    assert list(predicted.columns) == list(model.classes_) == list("abcd")
    if not hasattr(method, "steps"):  # the transformer before the classifier returns arrays
        assert list(predicted.index) == list(frame.index)
    np.testing.assert_array_equal(predicted, seeded(method).fit(X, Y).predict(X_test))
    if hasattr(model, "predict_proba"):
        assert list(model.predict_proba(frame).columns) == list("abcd")


@every_method
@pytest.mark.parametrize("classes", [["no", "yes"], ["low", "medium", "top"]])
def test_one_class_per_sample(problem, method, classes):
    X, _, X_test = problem
    score = X @ np.arange(8)
    y = np.array(classes)[np.digitize(score, np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]))]
    model = seeded(method).fit(X, y)
    assert is_classifier(model)
    assert list(model.classes_) == classes
    predicted = model.predict(X_test)
    assert predicted.shape == (20,)
    assert set(predicted) <= set(classes)
    assert model.score(X, y) > 0.55


@every_method
def test_equal_seeds_give_equal_models_for_any_number_of_jobs(problem, method):
    X, Y, X_test = problem
    first = seeded(method).fit(X, Y).decision_function(X_test)
    np.testing.assert_array_equal(seeded(method).fit(X, Y).decision_function(X_test), first)
    jobs = {name: 2 for name in method.get_params() if name.rpartition("__")[2] == "n_jobs"}
    if jobs:
        with parallel_config(backend="threading"):  # processes take seconds to start
            np.testing.assert_array_equal(seeded(method, **jobs).fit(X, Y).decision_function(X_test), first)


@every_method
def test_fit_changes_no_input(problem, method):
    X, Y, _ = problem
    before = X.copy(), Y.copy()
    parameters = repr(seeded(method).get_params())
    model = seeded(method).fit(X, Y)
    model.predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])
    assert repr(model.get_params()) == parameters


@every_method
def test_more_features_than_samples(problem, method):
    X, Y, _ = problem
    rng = np.random.default_rng(0)
    X = np.hstack([X, 0.1 * rng.standard_normal((70, 100))])
    model = seeded(method).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == Y).mean() > 0.7


@pytest.mark.parametrize("method", PERFECT, ids=repr)
def test_perfect_base_learners_reproduce_the_training_labels(problem, method):
    """Samples without labels and a label of a single sample included."""
    X, Y, _ = problem
    X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)  # so that no two samples are equal
    model = seeded(method, estimator=KNeighborsClassifier(1)).fit(X, Y)
    assert not Y.any(axis=1).all()
    np.testing.assert_array_equal(model.predict(X), Y)


def test_samples_of_a_chain_may_lose_a_label(problem):
    X, Y, X_test = problem
    model = ClassifierChains(n_chains=12, random_state=0).fit(X, Y)
    lost = [chain[list(order).index(3)] is None for chain, order in zip(model.estimators_, model.order_, strict=True)]
    assert 0 < sum(lost) < 12
    assert (model.predict_proba(X_test)[:, 3] < 1 - sum(lost) / 12).all()
    only_lost = ClassifierChains(n_chains=2, max_samples=0.05, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(only_lost.predict(X_test)[:, 3], 0)
