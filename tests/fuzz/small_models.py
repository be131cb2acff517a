"""Small fitted models of every kind, and their files."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sdgs import SDGSClassifier, SDGSClassifierCV

ARCHIVE = Path(__file__).parents[1] / "persistence" / "models"
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
    )


@cache
def model_contents():
    """The files of these models, and of those that earlier versions wrote."""
    with TemporaryDirectory() as folder:
        path, contents = Path(folder) / "model.sdgs", []
        for model in fitted_models():
            model.save(path)
            contents.append(path.read_bytes())
    return (*contents, *(path.read_bytes() for path in sorted(ARCHIVE.glob("v*.sdgs"))))
