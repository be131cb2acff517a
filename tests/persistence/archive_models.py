"""Write one small model file per kind of model, with the predictions that it must make in all later versions.

``python tests/persistence/archive_models.py`` writes them to ``tests/persistence/models``, once per format version.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

import sdgs
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces
from sdgs.methods import MDDM, ClassifierChains, LabelPowerset, MLkNN, SparseLowRankCV
from sdgs.persistence.codecs._model_codec import VERSION

ARCHIVE = Path(__file__).parent / "models"
N_PREDICTED = 10  # samples with expected predictions


def fit_models():
    """(name, model, training samples) of each kind of model."""
    data = make_label_subspaces(40, 6, 3, n_components=2, noise=0.1, random_state=0)
    features, labels = [f"f{j}" for j in range(6)], ["amber", "blue", "cyan"]
    rng = np.random.default_rng(0)
    words = csr_array(rng.poisson(0.3 + np.repeat(data.Y, 4, axis=1)).astype(float))
    frame = pd.DataFrame(data.X, columns=features)
    one_class = np.array([labels[rng.choice(np.flatnonzero(y))] for y in data.Y])

    ridge = SDGSClassifier(2, scaling="idf", decision="thresholds", random_state=0)
    yield "ridge", ridge.fit(words, csr_array(data.Y.astype(np.int16))), words
    kernel = SDGSClassifier(2, gamma=1.0, n_landmarks=10, huber=0.2, random_state=0)
    yield "kernel", kernel.fit(frame, data.Y), frame
    search = SDGSClassifierCV(n_components=(1, 2), gammas=(None, 1.0), n_landmarks=8, budget=5, cv=2, random_state=0)
    yield "search", search.fit(frame, pd.DataFrame(data.Y.astype(np.int8), columns=labels)), frame
    norm = SDGSClassifier(2, readout="norm", random_state=0)
    yield "norm", norm.fit(data.X.astype(np.float32), one_class), data.X.astype(np.float32)
    texts = [" ".join(np.array(labels)[y == 1]) + f" number {i} of {i % 7}0" for i, y in enumerate(data.Y)]
    table = pd.DataFrame(
        {
            "text": texts,
            "plan": [("free", "pro")[i % 2] for i in range(40)],
            "amount": [str(i % 9) for i in range(40)],
            "day": [f"2025-01-{1 + i % 28:02}" for i in range(40)],
        }
    )
    table_model = SDGSClassifier(2, gamma=None, cv=2, random_state=0)
    yield "table", table_model.fit(table, data.Y), table


def fit_estimators():
    """(name, model, training samples) of other estimators, with learners of scikit-learn."""
    data = make_label_subspaces(40, 6, 3, n_components=2, noise=0.1, random_state=0)
    features, labels = [f"f{j}" for j in range(6)], ["amber", "blue", "cyan"]
    X, words = pd.DataFrame(data.X, columns=features), np.abs(data.X)
    Y = pd.DataFrame(data.Y.astype(np.int8), columns=labels)
    options = {"cv": 2, "random_state": 0}

    chains = ClassifierChains(LogisticRegression(C=10.0), n_chains=2, decision="f1", random_state=0)
    yield "chains", chains.fit(X, Y), X
    yield "neighbours", make_pipeline(StandardScaler(), MDDM(2), MLkNN(3)).fit(X, Y), X
    yield "search-of-path", SparseLowRankCV(gammas=(0.1, 0.03), taus=(0.5,), **options).fit(data.X, data.Y), data.X
    forest = DecisionClassifier(RandomForestClassifier(3, max_depth=3, random_state=0), **options)
    yield "forest", forest.fit(data.X.astype(np.float32), data.Y), data.X.astype(np.float32)
    several = [("bayes", MultinomialNB()), ("sdgs", SDGSClassifier(1, gamma=None, cv=2)), ("linear", LinearSVC())]
    yield "average", AveragingClassifier(several, **options).fit(words, data.Y), words
    one_class = np.array(labels)[np.arange(40) % 3]
    powerset = LabelPowerset(make_pipeline(SimpleImputer(), MinMaxScaler(), GaussianNB()))
    yield "powerset", powerset.fit(data.X, one_class), data.X


def to_array(values):
    """A matrix or a DataFrame as a dense array, of strings if it has text."""
    array = values.toarray() if issparse(values) else np.asarray(values)
    return array.astype(str) if array.dtype == object else array


def all_models():
    """Of both kinds."""
    return [*fit_models(), *fit_estimators()]


def archive(folder=ARCHIVE):
    """Write the files of the current format version that are not there yet. Existing ones are never replaced."""
    missing = [each for each in all_models() if not (folder / f"v{VERSION}-{each[0]}.sdgs").exists()]
    if not missing:
        raise FileExistsError(f"{folder} has all files of format version {VERSION}, which are never rewritten.")
    for name, model, X in missing:
        X = X[:N_PREDICTED]
        sdgs.save(model, folder / f"v{VERSION}-{name}.sdgs")
        np.savez_compressed(
            folder / f"v{VERSION}-{name}-expected.npz",
            X=to_array(X),
            labels=to_array(model.predict(X)),
            scores=model.decision_function(X),
        )


if __name__ == "__main__":
    archive()
