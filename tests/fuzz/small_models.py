"""Small fitted models of every kind, and their files."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import sdgs
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, SDGSClassifierCV
from sdgs.methods import (
    HOMER,
    MDDM,
    BinaryRelevance,
    ClassifierChains,
    CompressedLabels,
    CurdsAndWheyCV,
    HierarchicalRelevance,
    LabelPowerset,
    MLkNN,
    RAkEL,
    StackedRelevance,
)

ARCHIVE = Path(__file__).parents[1] / "persistence" / "models"
_SDGS_KINDS = ("kernel", "norm", "ridge", "search")
N_FEATURES, LABELS = 5, ("x", "y", "z")
FEATURES = tuple(f"f{j}" for j in range(N_FEATURES))


def samples():
    """X (24, 5) and Y (24, 3)."""
    rng = np.random.default_rng(0)
    return np.abs(rng.standard_normal((24, N_FEATURES))), rng.random((24, len(LABELS))) < 0.5


def table():
    """The same samples as a table with a column of every kind."""
    X, _ = samples()
    words = ("late", "parcel", "refund", "login")
    return {
        "number": X[:, 0],
        "text": [" ".join(words[: 1 + i % 4]) + f" {i}" for i in range(24)],
        "category": ["mail" if x > 0.5 else None for x in X[:, 1]],
        "date": np.datetime64("2025-01-01", "us") + (X[:, 2] * 1e6).astype("timedelta64[s]"),
        "list": [["a", "b"][: i % 3] for i in range(24)],
        "identifier": [f"T-{i}" for i in range(24)],
    }


@cache
def fitted_models():
    """One model of each kind."""
    X, Y = samples()
    frames = pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y.astype(int), columns=LABELS)
    search = SDGSClassifierCV(n_components=(1, 2), gammas=(None, 1.0), n_landmarks=4, budget=6, cv=2, random_state=0)
    thresholds = SDGSClassifier(2, gamma=1.0, n_landmarks=4, cv=2, decision="thresholds", random_state=0)
    robust = SDGSClassifier(2, scaling="columns", huber=0.5, cv=2, residual_size=4, random_state=0)
    return (
        SDGSClassifier(2, readout="norm", random_state=0).fit(X, np.array(["a", "b", "c"])[Y.argmax(axis=1)]),
        thresholds.fit(csr_array(X), Y),
        robust.fit(*frames),
        search.fit(X, Y),
        SDGSClassifier(2, gamma=None, cv=2, random_state=0).fit(table(), Y),
        SDGSClassifier(1, gamma=None, cv=2, keep_samples=100, random_state=0).fit(
            X, np.where(X[:, :3] > 2, np.nan, Y), sample_weight=1 + X[:, 0]
        ),
        SDGSClassifier(1, gamma=1.0, n_landmarks=4, cv=2, keep_samples=0, random_state=0).fit(csr_array(X), Y),
    )


@cache
def fitted_estimators():
    """Methods with learners of every kind that a file can hold, and pipelines."""
    X, Y = samples()
    classes, seeds = np.array(["a", "b", "c"])[Y.argmax(axis=1)], {"cv": 2, "random_state": 0}
    linear = make_pipeline(SimpleImputer(), "passthrough", StandardScaler(), RidgeClassifier())
    several = [("trees", ExtraTreesClassifier(3)), ("sdgs", SDGSClassifier(1, gamma=1.0, n_landmarks=4, cv=2))]
    return (
        BinaryRelevance().fit(X, Y),
        make_pipeline(MinMaxScaler(), MDDM(2), MLkNN(3)).fit(X, Y),
        LabelPowerset(KNeighborsClassifier(3)).fit(csr_array(X), Y),
        RAkEL(GaussianNB(), labelset_size=2, average="marginals", random_state=0).fit(X, Y),
        ClassifierChains(n_chains=2, decision="f1", random_state=0).fit(X, Y),
        ClassifierChains(DecisionTreeClassifier(max_depth=2), random_state=0).fit(X, classes),
        HOMER(BernoulliNB(), branching_factor=2, random_state=0).fit(X, Y),
        HierarchicalRelevance(linear, hierarchy={1: 0}).fit(X, Y),
        StackedRelevance(OneVsRestClassifier(LinearSVC()), final_estimator=MultinomialNB(), **seeds).fit(X, Y),
        CurdsAndWheyCV(alphas=(1.0, 10.0), **seeds).fit(X, pd.DataFrame(Y.astype(int), columns=LABELS)),
        CompressedLabels(random_state=0).fit(X, Y),
        DecisionClassifier(RandomForestClassifier(3), decision="thresholds", **seeds).fit(X, Y),
        DecisionClassifier(MultiOutputClassifier(SGDClassifier(loss="log_loss")), **seeds).fit(X, Y),
        AveragingClassifier(several, **seeds).fit(X, Y),
        AveragingClassifier([MLkNN(3), DecisionTreeClassifier(max_depth=2)], **seeds).fit(X, classes),
    )


@cache
def estimator_contents():
    """The files of these estimators, and of those that earlier versions wrote."""
    with TemporaryDirectory() as folder:
        path, contents = Path(folder) / "model.sdgs", []
        for estimator in fitted_estimators():
            sdgs.save(estimator, path)
            contents.append(path.read_bytes())
    return (*contents, *_archived(sdgs=False))


@cache
def model_contents():
    """The files of these models, and of those that earlier versions wrote."""
    with TemporaryDirectory() as folder:
        path, contents = Path(folder) / "model.sdgs", []
        for model in fitted_models():
            model.save(path)
            contents.append(path.read_bytes())
    return (*contents, *_archived(sdgs=True))


def _archived(*, sdgs):
    """The files that earlier versions wrote: of SDGS, or of other estimators."""
    paths = sorted(ARCHIVE.glob("v*.sdgs"))
    return [path.read_bytes() for path in paths if (path.stem.partition("-")[2] in _SDGS_KINDS) == sdgs]
