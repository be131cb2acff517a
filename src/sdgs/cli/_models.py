"""What the commands need to know of a model: the names of its columns, and its predictions for a file."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

import sdgs
from sdgs.cli._show import give_up, note


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A model and the names that its columns have in files."""

    model: Any
    features: tuple[str, ...]
    labels: tuple[str, ...]

    def blocks(self, path: Path, kind: str | None, **options: Any) -> Generator[Any]:
        """The samples of a file."""
        from sdgs.datasets import read_blocks

        return read_blocks(path, features=self.features, labels=self.labels, format=kind, **options)

    def labelled(
        self, path: Path, kind: str | None, label_column: str | None
    ) -> Iterator[tuple[Any, Any, NDArray[np.intp], int]]:
        """Samples of a file whose labels are all known: X, labels (CSR), their numbers from 1, and how far it was read.

        Block by block. Those with missing labels are left out; says so at the end.
        """
        from scipy.sparse import csr_array, issparse

        n = kept = 0
        for block in self.blocks(path, kind, with_labels=True, label_column=label_column):
            rows = block.X.shape[0]
            known = np.arange(rows) if issparse(block.Y) else np.flatnonzero(~np.isnan(block.Y).any(axis=1))
            if known.size:
                yield block.X[known], csr_array(block.Y[known]).astype(np.int8), n + 1 + known, block.position
            n, kept = n + rows, kept + known.size
        if kept == 0:
            give_up(f"{path}: there are no samples with labels to compare with.")
        if kept < n:
            note(f"{path}: {n - kept} samples have missing labels and are left out.")

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


def chosen(model: Any) -> dict[str, Any]:
    """What a fitted model uses, wherever it came from."""
    names = ("scaling", "huber", "gamma", "n_components", "alpha", "penalty", "read_from")
    return {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}


def print_chosen(console: Any, model: Any) -> None:
    """The same in words."""
    used = chosen(model)
    rest = ", ".join(f"{name}={value}" for name, value in used.items() if name not in ("scaling", "read_from"))
    found = "Found by cross-validation" if hasattr(model, "best_params_") else "Used"
    console.print(f"{found}: scaling {escape(scaling_in_words(used['scaling']))}, {rest}", soft_wrap=True)


def scaling_in_words(scaling: str | None) -> str:
    """What a scaling does."""
    does = {
        "rows": "samples brought to the same length",
        "columns": "features standardised, then samples brought to the same length",
        "idf": "rare features weighted more, then samples brought to the same length",
        None: "values as they are",
    }
    return f'"{scaling}" ({does[scaling]})'
