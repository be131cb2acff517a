"""Every estimator, with every learner of scikit-learn that a file can hold, is equal after a round trip."""

import numpy as np
import pandas as pd
import pytest
from model_file_helpers import assert_same
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import sdgs
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, methods
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
from sdgs.model_files._load import STORABLE_CLASSES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LABELS = ["a", "b", "c", "d"]
ESTIMATORS = [
    BinaryRelevance(random_state=0),
    MLkNN(3),
    make_pipeline(MDDM(2), MLkNN(3)),
    LabelPowerset(decision="f1"),
    LabelPowerset(decision="marginals", prune=1),
    RAkEL(labelset_size=2, average="marginals", random_state=0),
    RAkEL(LinearSVC(), disjoint=True, random_state=0),
    ClassifierChains(random_state=0),
    ClassifierChains(n_chains=2, decision="f1", inference="monte_carlo", random_state=0),
    ClassifierChains(LinearSVC(), decision="mode", order=[3, 1, 2, 0]),
    HOMER(branching_factor=2, random_state=0),
    HierarchicalRelevance(hierarchy=[-1, 0, 0, 1]),
    StackedRelevance(cv=2, random_state=0),
    StackedRelevance(final_estimator=BernoulliNB(), passthrough=True, max_labels=0.5, cv=2, random_state=0),
    CurdsAndWhey(alpha=1.0),
    CurdsAndWheyCV(alphas=(1.0, 10.0), cv=2, random_state=0),
    SparseLowRank(),
    SparseLowRankCV(gammas=(0.1, 0.03), taus=(0.5,), cv=2, random_state=0),
    SharedSubspace(),
    SharedSubspaceCV(n_components=2, alphas=1.0, betas=(0.01, 0.1), cv=2, random_state=0),
    ReducedRankRidge(),
    ReducedRankRidgeCV(alphas=(1.0, 10.0), cv=2, random_state=0),
    CompressedLabels(random_state=0),
    PLST(conditional=True),
    DecisionClassifier(LogisticRegression(), random_state=0),
    DecisionClassifier(SDGSClassifier(1, cv=2), decision="thresholds", cv=2, random_state=0),
    DecisionClassifier(BinaryRelevance(), decision="threshold", cv=2, random_state=0),
    AveragingClassifier([LogisticRegression(), ExtraTreesClassifier(3)], cv=2, random_state=0),
    AveragingClassifier([("knn", MLkNN(3)), ("ridge", RidgeClassifier())], weights=(1, 3), cv=2, random_state=0),
]
NAMES = [f"{type(each).__name__}-{i}" for i, each in enumerate(ESTIMATORS)]

LEARNERS = [
    LogisticRegression(C=10.0),
    LogisticRegression(fit_intercept=False, class_weight={0: 1.0, 1: 2.0}),
    LinearSVC(),
    LinearSVC(fit_intercept=False),
    RidgeClassifier(),
    RidgeClassifier(solver="lsqr", fit_intercept=False),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", average=True, random_state=0),
    Perceptron(random_state=0),
    GaussianNB(),
    MultinomialNB(),
    BernoulliNB(),
    ComplementNB(norm=True),
    KNeighborsClassifier(3),
    KNeighborsClassifier(3, weights="distance", metric="cosine"),
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=4, ccp_alpha=0.01, class_weight="balanced"),
    ExtraTreeClassifier(random_state=0),
    ExtraTreesClassifier(4, random_state=0),
    RandomForestClassifier(4, max_depth=3, random_state=0),
    OneVsRestClassifier(LogisticRegression()),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MaxAbsScaler(), Normalizer(), LinearSVC()),
    make_pipeline(MinMaxScaler(clip=True), MultinomialNB()),
    make_pipeline(SimpleImputer(), "passthrough", TfidfTransformer(), LogisticRegression()),
]
LEARNER_NAMES = [
    f"{type(each).__name__ if not isinstance(each, Pipeline) else each.steps[-2][0]}-{i}"
    for i, each in enumerate(LEARNERS)
]


@pytest.fixture(scope="module")
def data():
    """Samples without negative entries, and labels, of which one is constant."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((40, 6)))
    Y = (X[:, :4] + 0.5 * rng.standard_normal((40, 4)) > 0.8).astype(int)
    Y[:, 1] |= Y[:, 3]
    return X, Y


def forms(X, Y):
    """The same samples and labels in all forms; with constant labels; and one class per sample."""
    constant = Y.copy()
    constant[:, 0], constant[:, 2] = 1, 0
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    return {
        "dense": (X, Y),
        "float32": (X.astype(np.float32), Y.astype(bool)),
        "sparse": (csr_array(np.where(X > 0.5, X, 0)), csr_array(Y.astype(np.int8))),
        "frame": (frame, pd.DataFrame(Y, columns=LABELS)),
        "classes": (X, np.array(LABELS)[np.arange(len(X)) % 4]),
        "constant": (X, constant),
    }


def save_and_load(model, folder, **names):
    sdgs.save(model, folder / "model.sdgs", **names)
    return sdgs.load(folder / "model.sdgs")


def check_equal(model, loaded, X):
    X = X.copy()  # scikit-learn computes otherwise if samples are the training samples themselves
    assert type(model) is type(loaded)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        assert hasattr(model, method) == hasattr(loaded, method)
        if hasattr(model, method):
            assert_same(getattr(model, method)(X), getattr(loaded, method)(X))
    assert repr(model) == repr(loaded)


@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "frame", "classes", "constant"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_every_estimator_comes_back(estimator, form, data, tmp_path):
    X, y = forms(*data)[form]
    model = clone(estimator).fit(X, y)
    loaded = save_and_load(model, tmp_path)
    check_equal(model, loaded, X)
    assert_same(model, loaded)
    check_equal(model, save_and_load(loaded, tmp_path), X)


def test_every_class_is_tested():
    tested = {type(each) for each in ESTIMATORS} | {MDDM, sdgs.SDGSClassifier, sdgs.SDGSClassifierCV}
    assert set(STORABLE_CLASSES) <= tested
    assert {getattr(methods, name) for name in methods.__all__} <= set(STORABLE_CLASSES)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("learner", LEARNERS, ids=LEARNER_NAMES)
def test_every_learner_comes_back(learner, form, data, tmp_path):
    X, Y = forms(*data)[form]
    first = learner[0] if isinstance(learner, Pipeline) else learner
    if form == "sparse" and isinstance(first, GaussianNB | StandardScaler | MinMaxScaler):
        X = X.toarray()
    for method in (
        HierarchicalRelevance(learner),
        LabelPowerset(learner),
        DecisionClassifier(learner, cv=2, random_state=0),
    ):
        model = clone(method).fit(X, Y)
        loaded = save_and_load(model, tmp_path)
        check_equal(model, loaded, X)
        assert_same(model, loaded)
