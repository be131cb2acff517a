"""What every method promises about its input, its output and its random numbers. `check_estimator` runs beside each."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import sdgs.methods
from sdgs import load
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


def is_weighted(method):
    return has_fit_parameter(method, "sample_weight")


def splits_of_groups(groups):
    """One fold per group, which has its copies of samples together."""
    return list(LeaveOneGroupOut().split(groups, groups=groups))


WITH_WEIGHTS = [
    *(method for method in ALL if is_weighted(method) and name_of(method) != "ClassifierChains"),
    ClassifierChains(order=[2, 0, 3, 1]),
    CompressedLabels(sensing="gaussian", decoder="cosamp"),
    LabelPowerset(prune=2),
    MDDM(2, regularization=0.5, label_kernel="rbf"),
    StackedRelevance(cv=3, max_labels=0.5, passthrough=True),
]


@pytest.mark.parametrize("as_X", [np.asarray, csr_array])
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("method", WITH_WEIGHTS, ids=repr)
def test_weights_are_numbers_of_copies(problem, method, as_X, shape):
    """A weight of 2 is the sample twice, and a weight of 0 no sample, in folds too."""
    X, Y, X_test = problem
    if shape == "wide":
        X, Y, X_test = (np.tile(array[:20], (1, 4 if array is not Y else 1)) for array in (X, Y, X_test))
        X = X * np.random.default_rng(0).uniform(0.5, 1.5, X.shape)  # as sparse as before
    rng = np.random.default_rng(0)
    X[:, ::2] *= rng.random(X[:, ::2].shape) < 0.4  # columns that are mostly zero are not centred
    weight, groups = rng.integers(0, 4, len(X)), rng.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    model, expected = seeded(method), seeded(method)
    if "cv" in method.get_params():
        model.set_params(cv=splits_of_groups(groups))
        expected.set_params(cv=splits_of_groups(groups[copies]))
    model.fit(as_X(X), Y, weight)
    expected.fit(as_X(X[copies]), Y[copies])
    if isinstance(method, MDDM):  # directions have no sign
        Z, expected_Z = model.transform(as_X(X_test)), expected.transform(as_X(X_test))
        np.testing.assert_allclose(Z @ Z.T, expected_Z @ expected_Z.T, atol=1e-7)
        return
    scores, expected_scores = (each.decision_function(as_X(X_test)) for each in (model, expected))
    np.testing.assert_allclose(scores, expected_scores, atol=2e-6 if shape == "wide" else 1e-7)


@every_method
def test_sample_weight_is_an_argument_or_there_is_none(problem, method):
    X, Y, _ = problem
    if not is_weighted(method):
        with pytest.raises((TypeError, ValueError), match="sample_weight"):
            seeded(method).fit(X, Y, sample_weight=np.ones(len(X)))
        return
    for weight in (np.ones(3), -np.ones(len(X)), np.zeros(len(X)), np.full(len(X), np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            seeded(method).fit(X, Y, sample_weight=weight)
    scores = seeded(method).fit(X, Y, sample_weight=np.ones(len(X))).decision_function(X)
    np.testing.assert_allclose(scores, seeded(method).fit(X, Y).decision_function(X), atol=1e-6)


TAKE_UNOBSERVED_LABELS = {
    "BinaryRelevance", "HierarchicalRelevance", "SparseLowRank", "SparseLowRankCV", "StackedRelevance",
}  # fmt: skip


@every_method
def test_unobserved_labels_are_taken_or_rejected(problem, method):
    """In all forms of a target."""
    X, Y, X_test = problem
    Y = Y.astype(float)
    Y[[3, 40], 1] = np.nan
    sparse = csr_array(np.nan_to_num(Y, nan=2.0))
    sparse.data[sparse.data == 2] = np.nan
    frame = pd.DataFrame(Y, columns=list("abcd")).astype("Int64")
    takes = name_of(method) in TAKE_UNOBSERVED_LABELS
    assert getattr(get_tags(seeded(method)).target_tags, "allow_nan", False) == takes
    if not takes:
        for y in (Y, sparse, frame):
            with pytest.raises(ValueError, match=r"2 of 70 rows \(counted from 0: 3, 40\).*SparseLowRank"):
                seeded(method).fit(X, y)
        return
    expected = seeded(method).fit(X, Y).decision_function(X_test)
    for y in (sparse, frame):
        model = seeded(method).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X_test), expected)
        assert isinstance(model.predict(X_test), type(y))


@pytest.mark.parametrize("method", [m for m in ALL if name_of(m) in TAKE_UNOBSERVED_LABELS], ids=name_of)
def test_weights_are_numbers_of_copies_where_labels_are_unobserved(problem, method):
    X, Y, X_test = problem
    rng = np.random.default_rng(0)
    Y = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    Y[:, 2] = np.nan  # a label that is never observed
    weight, groups = rng.integers(0, 4, len(X)), rng.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    cv = "cv" in method.get_params()
    model, expected = (seeded(method, **({"cv": splits_of_groups(g)} if cv else {})) for g in (groups, groups[copies]))
    scores = model.fit(X, Y, weight).decision_function(X_test)
    np.testing.assert_allclose(scores, expected.fit(X[copies], Y[copies]).decision_function(X_test), atol=1e-7)
    assert not model.predict(X_test)[:, 2].any()


@every_method
def test_models_of_weighted_samples_and_unobserved_labels_return_from_files(problem, method, tmp_path):
    X, Y, X_test = problem
    if not is_weighted(method):
        pytest.skip("takes no weights")
    Y = Y.astype(float)
    if name_of(method) in TAKE_UNOBSERVED_LABELS:
        Y[[3, 40], 1] = np.nan
    model = seeded(method).fit(X, Y, np.arange(len(X)) % 4)
    model.save(tmp_path / "model.sdgs")
    loaded = load(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(loaded.decision_function(X_test), model.decision_function(X_test))
    if name_of(method) == "StackedRelevance":
        np.testing.assert_array_equal(loaded.out_of_fold_probabilities_, model.out_of_fold_probabilities_)
        np.testing.assert_array_equal(np.isnan(loaded.out_of_fold_probabilities_[:, 0]), np.arange(len(X)) % 4 == 0)


def test_samples_of_a_chain_may_lose_a_label(problem):
    X, Y, X_test = problem
    model = ClassifierChains(n_chains=12, random_state=0).fit(X, Y)
    lost = [chain[list(order).index(3)] is None for chain, order in zip(model.estimators_, model.order_, strict=True)]
    assert 0 < sum(lost) < 12
    assert (model.predict_proba(X_test)[:, 3] < 1 - sum(lost) / 12).all()
    only_lost = ClassifierChains(n_chains=2, max_samples=0.05, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(only_lost.predict(X_test)[:, 3], 0)
