"""What all methods with base learners have in common."""

import pickle
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs.datasets import make_composite_digits
from sdgs.methods import (
    HOMER,
    ClassifierChains,
    HierarchicalRelevance,
    LabelPowerset,
    RAkEL,
    StackedRelevance,
)

METHODS = [
    LabelPowerset(),
    LabelPowerset(decision="marginals"),
    LabelPowerset(decision="f1", prune=1),
    ClassifierChains(),
    ClassifierChains(decision="mode", inference="beam", beam_width=3),
    ClassifierChains(n_chains=3, decision="marginals", max_samples=0.8, bootstrap=False),
    ClassifierChains(n_chains=3, decision="f1", inference="monte_carlo", n_draws=30),
    RAkEL(labelset_size=2),
    RAkEL(disjoint=True, average="marginals"),
    HOMER(branching_factor=2),
    HOMER(clustering="random"),
    HierarchicalRelevance(),
    StackedRelevance(cv=3),
    StackedRelevance(cv=3, max_labels=0.5, passthrough=True),
]
IN_FULL = [
    LabelPowerset(),
    ClassifierChains(),
    METHODS[6],
    RAkEL(),
    RAkEL(average="marginals"),
    HOMER(branching_factor=2),
    HierarchicalRelevance(),
    StackedRelevance(cv=3),
]


methods = pytest.mark.parametrize("method", METHODS, ids=repr)


def probabilities(model, X):
    """Shares of votes are not called probabilities."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)


@pytest.fixture
def problem():
    """Samples and labels that depend on them: one that no sample has, one that all have, two that are equal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6)) * (rng.random((80, 6)) < 0.7)
    Y = (X @ rng.standard_normal((6, 6)) + 0.5 * rng.standard_normal((80, 6)) > 0.4).astype(int)
    Y[:, 3], Y[:, 4], Y[:, 5] = 0, 1, Y[:, 0]
    return X[:60], Y[:60], X[60:]


DRAWN = {
    f"check_sample_weight_equivalence_on_{kind}_data": "several chains draw samples without regard to their weights"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    IN_FULL, expected_failed_checks=lambda estimator: DRAWN if getattr(estimator, "n_chains", 1) > 1 else {}
)
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@methods
def test_constant_and_equal_labels(problem, method):
    X, Y, X_test = problem
    model = clone(method).set_params(random_state=0).fit(X, Y)
    predicted, P = model.predict(X_test), probabilities(model, X_test)
    assert predicted.dtype == Y.dtype
    assert P.shape == predicted.shape
    assert ((P >= 0) & (P <= 1)).all()
    assert not P[:, 3].any()
    assert not predicted[:, 3].any()
    np.testing.assert_allclose(P[:, 4], 1, atol=1e-7)
    assert predicted[:, 4].all()
    np.testing.assert_array_equal(model.decision_function(X_test), P)
    agreement = (predicted == model.predict(X_test[::-1])[::-1]).mean()
    assert agreement == 1


@methods
def test_samples_without_labels(problem, method):
    X, Y, X_test = problem
    Y = np.where(np.arange(60)[:, None] % 3, Y[:, :3], 0)
    predicted = clone(method).set_params(random_state=0).fit(X, Y).predict(X_test)
    assert predicted.shape == (20, 3)


@methods
def test_sparse_samples_and_labels(problem, method):
    X, Y, X_test = problem
    dense = clone(method).set_params(random_state=0).fit(X, Y)
    sparse = clone(method).set_params(random_state=0).fit(csr_array(X), csr_array(Y))
    np.testing.assert_allclose(
        probabilities(sparse, csr_array(X_test)), probabilities(dense, X_test), rtol=1e-3, atol=1e-4
    )
    predicted = sparse.predict(csr_array(X_test))
    assert issparse(predicted)
    np.testing.assert_array_equal(predicted.toarray(), dense.predict(X_test))


class SparseOnly(ClassifierMixin, BaseEstimator):
    """A classifier that does not take dense samples."""

    def fit(self, X, y):
        assert issparse(X)
        assert X.indices.dtype == X.indptr.dtype == np.int32
        self.classes_ = np.unique(y)
        self.frequencies_ = np.bincount(y) / len(y)
        return self

    def predict_proba(self, X):
        assert issparse(X)
        return np.tile(self.frequencies_, (X.shape[0], 1))


@methods
def test_sparse_samples_stay_sparse(problem, method):
    X, Y, X_test = problem
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model = clone(method).set_params(estimator=SparseOnly())
    if isinstance(model, StackedRelevance):
        model.set_params(final_estimator=LogisticRegression())  # of the probabilities, which are dense
    predicted = model.fit(wide, Y).predict(csr_array(X_test))  # SparseOnly rejects dense samples
    assert predicted.shape == (X_test.shape[0], Y.shape[1])


@methods
def test_names_of_labels(problem, method):
    X, Y, X_test = problem
    names = list("abcdef")
    index = pd.Index(range(100, 120))
    model = (
        clone(method).set_params(random_state=0).fit(pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y, columns=names))
    )
    test = pd.DataFrame(X_test, index=index).add_prefix("x")
    tables = [model.predict(test), *([model.predict_proba(test)] if hasattr(model, "predict_proba") else [])]
    for table in tables:
        assert list(table.columns) == names
        assert table.index.equals(index)
    plain = clone(method).set_params(random_state=0).fit(X, Y)
    np.testing.assert_allclose(probabilities(model, test), probabilities(plain, X_test))
    np.testing.assert_array_equal(model.predict(test), plain.predict(X_test))


@pytest.mark.parametrize(
    "method",
    [each for each in METHODS if getattr(each, "n_chains", 1) == 1 and not isinstance(each, StackedRelevance)],
    ids=repr,
)
def test_one_label_is_a_binary_problem(problem, method):
    X, Y, X_test = problem
    y = Y[:, :1]
    model = clone(method).set_params(random_state=0).fit(X, csr_array(y))
    expected = LogisticRegression().fit(X, y.ravel()).predict_proba(X_test)[:, 1]
    P = probabilities(model, X_test)[:, 0]
    has_votes = getattr(method, "average", "") == "votes"
    np.testing.assert_allclose(P, expected > 0.5 if has_votes else expected, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X_test).toarray()[:, 0], expected > 0.5)


@methods
@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c", "d"]])
def test_one_class_per_sample(problem, method, classes):
    X, _, X_test = problem
    y = np.array(classes)[np.digitize(X[:, 0], np.linspace(-0.5, 0.5, len(classes) - 1))]
    model = clone(method).set_params(random_state=0).fit(X, y)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X_test)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X_test))
    assert model.score(X, y) > (0.7 if len(classes) == 2 else 0.45)


@methods
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(random_state=0),
        RidgeClassifier(),
        Perceptron(),
        KNeighborsClassifier(3),
        DummyClassifier(),
        make_pipeline(MaxAbsScaler(), LogisticRegression()),
    ],
    ids=repr,
)
def test_base_learners(problem, method, estimator):
    X, Y, X_test = problem
    before = repr(estimator.get_params())
    model = clone(method).set_params(estimator=estimator, random_state=0).fit(X, Y)
    P = probabilities(model, X_test)
    assert ((P >= 0) & (P <= 1)).all()
    assert model.predict(X_test)[:, 4].all()
    assert repr(estimator.get_params()) == before
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("method", [LabelPowerset(), ClassifierChains()], ids=repr)
def test_the_default_base_learner_converges_on_samples_that_are_not_scaled(method):
    """Features of about the same size, in which scikit-learn's 100 iterations are not enough."""
    digits = make_composite_digits(600, max_labels=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        clone(method).set_params(estimator=LogisticRegression()).fit(digits.X, digits.Y)
    clone(method).fit(digits.X, digits.Y)  # warnings are errors


@methods
def test_random_base_learners(problem, method):
    X, Y, X_test = problem
    forest = make_pipeline(MaxAbsScaler(), RandomForestClassifier(5, max_depth=3))

    def fit(**parameters):
        return probabilities(clone(method).set_params(estimator=forest, **parameters).fit(X, Y), X_test)

    first = fit(random_state=0)
    np.testing.assert_array_equal(first, fit(random_state=0))
    assert (first != fit(random_state=1)).any()
    if "n_jobs" in method.get_params():
        np.testing.assert_array_equal(first, fit(random_state=0, n_jobs=2))


def seeds_of(model):
    fitted = [model.estimator_] if isinstance(model, LabelPowerset) else model.estimators_
    if isinstance(model, ClassifierChains):
        fitted = chain.from_iterable(fitted)
    return [each.random_state for each in fitted if each is not None]


@methods
def test_base_learners_keep_their_own_random_state_without_one(problem, method):
    X, Y, _ = problem
    model = clone(method).set_params(estimator=RandomForestClassifier(2, max_depth=1, random_state=7)).fit(X, Y)
    assert set(seeds_of(model)) == {7}
    seeds = seeds_of(model.set_params(random_state=0).fit(X, Y))
    assert len(set(seeds)) == len(seeds)


@methods
def test_pickled_models_predict_the_same(problem, method):
    X, Y, X_test = problem
    model = clone(method).set_params(random_state=0).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(probabilities(copy, X_test), probabilities(model, X_test))


@methods
@pytest.mark.parametrize("estimator", [3, "svm", LogisticRegression, MaxAbsScaler()])
def test_bad_base_learners_are_rejected(problem, method, estimator):
    X, Y, _ = problem
    with pytest.raises(ValueError, match="estimator must be None or a scikit-learn classifier"):
        clone(method).set_params(estimator=estimator).fit(X, Y)


@methods
def test_a_failed_fit_leaves_the_model_as_it_was(problem, method):
    X, Y, X_test = problem
    model = clone(method).set_params(random_state=0).fit(X, Y)
    before = probabilities(model, X_test)
    with pytest.raises(ValueError, match="estimator must be"):
        model.set_params(estimator=0).fit(X, Y[:, :2])
    np.testing.assert_array_equal(probabilities(model.set_params(estimator=None), X_test), before)
