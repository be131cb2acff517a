"""Every estimator, with every learner of scikit-learn that a file can hold, is equal after a round trip."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from model_file_helpers import assert_same, forge
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
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
from sdgs import AveragingClassifier, DecisionClassifier, ModelFileError, SDGSClassifier, methods
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
from sdgs.persistence._container import read
from sdgs.persistence.codecs._model_codec import FORMAT, VERSION

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
    assert {getattr(methods, name) for name in methods.__all__ if name != "close_upwards"} <= set(STORABLE_CLASSES)


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


class MyRAkEL(RAkEL):
    pass


class MyRegression(LogisticRegression):
    pass


def kernel(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            lambda: LabelPowerset(GradientBoostingClassifier(n_estimators=2)),
            "cannot hold a GradientBoostingClassifier, the parameter estimator of LabelPowerset. .*LinearSVC, .*joblib",
        ),
        (
            lambda: DecisionClassifier(MyRegression(), cv=2),
            "cannot hold a MyRegression, the parameter estimator of Dec",
        ),
        (lambda: MyRAkEL(random_state=0), "this is a MyRAkEL"),
        (lambda: MDDM(label_kernel=kernel), "label_kernel of MDDM cannot be stored .* holds no code. Use one of its"),
        (
            lambda: HierarchicalRelevance(KNeighborsClassifier(3, weights=np.sign)),
            "weights of KNeighborsClassifier cannot be stored .* holds no code",
        ),
        (lambda: HierarchicalRelevance(KNeighborsClassifier(3, metric="canberra")), "metric of a KNeighborsClassifier"),
        (
            lambda: HierarchicalRelevance(make_pipeline(SimpleImputer(add_indicator=True), GaussianNB())),
            "add_indicator",
        ),
        (lambda: LabelPowerset(LogisticRegression(n_jobs=2000)), "at most 1024 threads"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name(estimator, message, data, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of scikit-learn, about n_jobs
        model = estimator().fit(*data)
    with pytest.raises(ModelFileError, match=message):
        sdgs.save(model, tmp_path / "model.sdgs")
    assert not list(tmp_path.iterdir())


def test_only_estimators_of_the_package_can_be_saved(data, tmp_path):
    X, Y = data
    with pytest.raises(ValueError, match=r"estimator must be one of sdgs, or a Pipeline .*; got LogisticRegression"):
        sdgs.save(LogisticRegression().fit(X, Y[:, 0]), tmp_path / "model.sdgs")
    with pytest.raises(NotFittedError):
        sdgs.save(RAkEL(), tmp_path / "model.sdgs")


def test_files_of_other_learners_alone_are_rejected(data, tmp_path):
    sdgs.save(make_pipeline(StandardScaler(), BinaryRelevance()).fit(*data), tmp_path / "model.sdgs")

    def change(document, _):
        document["attributes"]["steps"][1][1] = "passthrough"

    with pytest.raises(ModelFileError, match=r"unexpected array|ends with a str"):
        sdgs.load(forge(tmp_path / "model.sdgs", tmp_path, change))


def test_a_random_state_is_left_out_with_a_warning(data, tmp_path):
    model = HierarchicalRelevance(SGDClassifier(random_state=np.random.RandomState(0))).fit(*data)
    with pytest.warns(UserWarning, match="random_state is a RandomState"):
        sdgs.save(model, tmp_path / "model.sdgs")
    loaded = sdgs.load(tmp_path / "model.sdgs")
    assert loaded.estimator.random_state is None
    np.testing.assert_array_equal(model.predict_proba(data[0]), loaded.predict_proba(data[0]))


def test_parameters_that_are_estimators_are_not_fitted_and_can_be_fitted_again(data, tmp_path):
    X, Y = data
    model = RAkEL(make_pipeline(MaxAbsScaler(), LogisticRegression(C=7.0)), random_state=0).fit(X, Y)
    loaded = save_and_load(model, tmp_path)
    assert loaded.estimator[-1].C == 7.0
    assert not hasattr(loaded.estimator[-1], "coef_")
    check_equal(model, clone(loaded).fit(X, Y), X)


@pytest.mark.parametrize(
    "estimator", [MLkNN(3), RAkEL(random_state=0), DecisionClassifier(GaussianNB(), cv=2), MDDM(2)], ids=repr
)
def test_names_that_are_given_come_back(estimator, data, tmp_path):
    names = {"feature_names": [f"f{j}" for j in range(6)], "label_names": LABELS}
    model = clone(estimator).fit(*data)
    for saved in (model, save_and_load(model, tmp_path, **names)):
        loaded = save_and_load(saved, tmp_path, **(names if saved is model else {}))
        assert loaded.feature_names_ == tuple(names["feature_names"])
        assert loaded.label_names_ == tuple(LABELS)
    with pytest.raises(ModelFileError, match="must have 4 names of labels, and has 3"):
        sdgs.save(model, tmp_path / "model.sdgs", label_names=LABELS[:3])


def test_missing_entries_of_a_pipeline_are_imputed_as_before(data, tmp_path):
    X, Y = data[0].copy(), data[1]
    X[::5, 2] = np.nan
    for imputer in (SimpleImputer(strategy="median"), SimpleImputer(strategy="constant", fill_value=3.0)):
        model = make_pipeline(imputer, BinaryRelevance(random_state=0)).fit(X, Y)
        check_equal(model, save_and_load(model, tmp_path), X)


def test_a_pipeline_may_hold_pipelines_and_keeps_its_output(data, tmp_path):
    frame = pd.DataFrame(data[0], columns=[f"f{j}" for j in range(6)])
    inner = make_pipeline(StandardScaler(), None, MDDM(2))
    model = make_pipeline(inner, MLkNN(3)).set_output(transform="pandas").fit(frame, data[1])
    loaded = save_and_load(model, tmp_path)
    check_equal(model, loaded, frame)
    pd.testing.assert_frame_equal(model[:-1].transform(frame), loaded[:-1].transform(frame))


def test_the_file_names_the_version_of_scikit_learn(data, tmp_path):
    path = tmp_path / "model.sdgs"
    sdgs.save(LabelPowerset(LogisticRegression(C=3.0)).fit(*data), path)
    content = read(path, FORMAT, (VERSION,))
    assert content.document["sklearn"] == sklearn.__version__
    assert content.document["attributes"]["_powerset"]["learner"]["estimator"]["parameters"] == {"C": 3.0}


def change_top(**fields):
    return lambda document, _: document.update(fields)


FORGERIES = {
    "labels that are not there": (change_top(labels=5), "label"),
    "a huge number of labels": (change_top(labels=1 << 40), "claims 1099511627776 labels"),
    "no number of labels": (change_top(labels=None), "not a positive integer"),
    "a huge number of features": (change_top(features={"number": 1 << 40, "names": None}), "claims 1099511627776 feat"),
    "attributes that are a list": (change_top(attributes=[]), "other attributes"),
    "a version that is no text": (change_top(sklearn=1), "version of scikit-learn"),
    "parameters of another class": (change_top(parameters={"C": 1.0}), "no parameter 'C'"),
    "an estimator that is no estimator": (
        lambda document, _: document["parameters"].update(estimator={"estimator": {"class": "LogisticRegression"}}),
        "must have the fields class, parameters",
    ),
    "an unknown type of value": (
        lambda document, _: document["parameters"].update(estimator={"pickle": "gASV"}),
        "must have the fields estimator",
    ),
    "labels in no order": (lambda _, arrays: arrays["labelsets_.0"].__setitem__(0, 3), "out of range|ascending"),
    "label sets that leave labels out": (
        lambda _, arrays: arrays.update({f"labelsets_.{i}": np.array([0, 1]) for i in range(6)}),
        "do not cover all labels",
    ),
    "label sets of other sizes": (
        lambda _, arrays: arrays.update({"_powersets.0.sets": arrays["_powersets.0.sets"][:, 1:]}),
        "not sets of 2 labels",
    ),
    "label sets of 2": (lambda _, arrays: arrays["_powersets.0.sets"].__setitem__((0, 0), 2), "out of range"),
    "a learner of other classes": (
        lambda document, _: document["attributes"]["_powersets"][0]["learner"].update(n_classes=9),
        "not one of . classes",
    ),
    "an unexpected array": (lambda _, arrays: arrays.update(more=np.ones(1)), "unexpected array 'more'"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_unusable_estimators_are_rejected(name, data, tmp_path):
    sdgs.save(RAkEL(labelset_size=2, random_state=0).fit(*data), tmp_path / "model.sdgs")
    change, message = FORGERIES[name]
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(forge(tmp_path / "model.sdgs", tmp_path, change))


METHOD_FORGERIES = {
    "a cycle of parents": (
        HierarchicalRelevance(hierarchy=[-1, 0, 0, 1]),
        lambda _, arrays: arrays["_tree.parents"].__setitem__(0, 3),
        "has a cycle",
    ),
    "a parent that is not there": (
        HOMER(branching_factor=2, random_state=0),
        lambda _, arrays: arrays["_tree.parents"].__setitem__(0, 99),
        "not one of",
    ),
    "a chain that repeats a label": (
        ClassifierChains(random_state=0),
        lambda _, arrays: arrays["_chains.0.order"].__setitem__(0, 1),
        "not a permutation",
    ),
    "no chain": (ClassifierChains(), lambda document, _: document["attributes"].update(_chains=[]), "has no chain"),
    "a link of other features": (
        ClassifierChains(random_state=0),
        lambda document, _: document["attributes"]["_chains"][0]["links"].reverse(),
        "is not one of 6 features|coef_ has shape|missing",
    ),
    "inputs that are not there": (
        StackedRelevance(cv=2, random_state=0),
        lambda _, arrays: arrays["inputs_.0"].__setitem__(0, 4),
        "inputs_.0 is out of range",
    ),
    "fewer inputs": (
        StackedRelevance(cv=2, random_state=0),
        lambda _, arrays: arrays.update({"inputs_.0": arrays["inputs_.0"][1:]}),
        "not one of 3 features",
    ),
    "labels of neighbours that are 2": (
        MLkNN(3),
        lambda _, arrays: arrays["_labels.data"].__setitem__(0, 2),
        "not 0 and 1 for each sample",
    ),
    "another search for neighbours": (
        MLkNN(3),
        lambda document, _: document["attributes"]["_neighbours"]["parameters"].update(n_neighbors=2),
        "not the one that MLkNN makes",
    ),
    "a class in the place of the search": (
        MLkNN(3),
        lambda document, _: document["attributes"]["_neighbours"].update({"class": "LogisticRegression"}),
        "the class of _neighbours must be one of 'NearestNeighbors'",
    ),
    "likelihoods of other labels": (
        MLkNN(3),
        lambda _, arrays: arrays.update(likelihood_=arrays["likelihood_"][2:]),
        "likelihood_ has shape",
    ),
    "measurements of other labels": (
        CompressedLabels(random_state=0),
        lambda _, arrays: arrays.update(sensing_matrix_=arrays["sensing_matrix_"][:, 1:]),
        "sensing_matrix_ has shape",
    ),
    "more labelled samples than there are": (
        DecisionClassifier(GaussianNB(), cv=2),
        lambda document, _: document["attributes"]["_scorers"][0].update(n=1),
        "more samples than there are",
    ),
    "a classifier too much": (
        AveragingClassifier([GaussianNB()], cv=2),
        lambda document, _: document["parameters"].update(estimators=2 * document["parameters"]["estimators"]),
        "other classifiers than it has as parameters",
    ),
    "a weight too much": (
        AveragingClassifier([GaussianNB()], cv=2),
        lambda _, arrays: arrays.update({"_average.weights": np.ones(2)}),
        "different numbers of classifiers and weights",
    ),
    "a decision for another metric": (
        DecisionClassifier(GaussianNB(), cv=2),
        lambda document, _: document["attributes"]["_decision"].update(metric="cube"),
        "metric must be one of",
    ),
}


@pytest.mark.parametrize("name", METHOD_FORGERIES)
def test_unusable_methods_are_rejected(name, data, tmp_path):
    estimator, change, message = METHOD_FORGERIES[name]
    sdgs.save(clone(estimator).fit(*data), tmp_path / "model.sdgs")
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(forge(tmp_path / "model.sdgs", tmp_path, change))
