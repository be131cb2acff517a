"""What the commands need to know of a model: the names of its columns, and its predictions for a file."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sdgs
from sdgs.cli._show import give_up


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A model and the names that its columns have in files."""

    model: Any
    features: tuple[str, ...]
    labels: tuple[str, ...]

    def blocks(self, path: Path, kind: str | None, *, with_labels: bool = False) -> Generator[Any]:
        """The samples of a file."""
        from sdgs.datasets import read_blocks

        return read_blocks(path, features=self.features, labels=self.labels, with_labels=with_labels, format=kind)

    def predicted(self, X: Any) -> NDArray[np.bool_]:
        """Which labels samples get, (n, k)."""
        Y = self.model.predict(X)
        if np.ndim(Y) == 1:  # one class a sample
            return np.asarray(Y[:, None] == self.model.classes_)
        return np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y).astype(bool)

    def scores(self, X: Any) -> NDArray[Any]:
        """Probabilities, or the evidence for labels where the model has no probabilities, (n, k)."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(X))
        scores = np.asarray(self.model.decision_function(X))
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def load(path: Path, n_jobs: int) -> NamedModel:
    """A model from its file. Columns that have no names go by their numbers, from 0."""
    try:
        model = sdgs.load(path).set_params(n_jobs=n_jobs)
    except sdgs.ModelFileError as error:
        order = "" if path.suffix == ".sdgs" else " The model comes first, then the data."
        give_up(f"{error}{order}")
    features = getattr(model, "feature_names_", getattr(model, "feature_names_in_", range(model.n_features_in_)))
    labels = getattr(model, "label_names_", model.classes_)
    return NamedModel(model, tuple(map(str, features)), tuple(map(str, labels)))
