"""A model with the names of its columns, and its predictions for the samples of a file."""

import inspect
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sdgs
from sdgs.cli._console import count, exit_with_error, format_percent, note, print_sentences

_MAX_CELL_LENGTH = 300  # of text in the name of a sample
_MAX_DATE_LENGTH = 50  # in a note
_SCALINGS = {
    "rows": "samples scaled to unit norm",
    "columns": "features standardised, then samples scaled to unit norm",
    "idf": "rare features weighted more, then samples scaled to unit norm",
    None: "values unchanged",
}


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """Some samples of a file with an observed label: their rows in the file, and cells of columns to keep."""

    X: Any
    Y: Any  # CSR; a stored NaN where a label is unobserved
    rows: NDArray[np.intp]
    kept: dict[str, list[str]]
    position: int  # bytes of the file read so far


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A model and the names of its features and labels in files."""

    model: Any
    features: tuple[str, ...]
    labels: tuple[str, ...]
    formats: dict[str, Any] | None = None  # of the columns of tables, if they are not plain numbers
    encoder: Any = None  # of these columns

    def blocks(self, path: Path, format_: str | None, **options: Any) -> Generator[Any]:
        """The samples of a file, block by block; those of tables are encoded, and texts that are no dates noted."""
        from sdgs.datasets import read_blocks, read_table_blocks
        from sdgs.datasets.readers._formats import TABLE_FORMATS, detect_format

        is_table = self.encoder is not None or detect_format(path, format_) in TABLE_FORMATS
        if self.formats is None or not is_table:
            yield from read_blocks(path, features=self.features, labels=self.labels, format=format_, **options)
            return
        unused = getattr(self.encoder, "feature_names_in_", ())
        others = _OtherDates(self.encoder)
        for block in read_table_blocks(
            path, formats=self.formats, labels=self.labels, ignored=unused, format=format_, **options
        ):
            others.add(block.X.columns)
            yield replace(block, X=self.matrix(block.X.columns))
        others.note(path)

    def matrix(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Columns of a table as the matrix that the model takes."""
        return np.column_stack(list(columns.values())) if self.encoder is None else self.encoder.transform(columns)

    def labelled_blocks(
        self,
        path: Path,
        format_: str | None,
        label_column: str | None,
        keep: Sequence[str] = (),
        invalid: str = "error",
    ) -> Iterator[tuple[Any, Any, list[str], int]]:
        """The samples of a file with an observed label: X, Y (CSR), their names, and the bytes read so far.

        Y has a stored NaN where a label is unobserved. A name is the number of the sample, from 1, and the cells of the
        columns to ``keep``. At the end notes say how many samples were left out, and how many labels are unobserved.
        """
        for block in self.labelled_cells(path, format_, label_column, keep, invalid):
            cells = block.kept.values()
            names = [_sample_name(row, [column[i] for column in cells]) for i, row in enumerate(block.rows.tolist())]
            yield block.X, block.Y, names, block.position

    def labelled_cells(
        self,
        path: Path,
        format_: str | None,
        label_column: str | None,
        keep: Sequence[str] = (),
        invalid: str = "error",
    ) -> Iterator[LabelledBlock]:
        """The same with the cells of the columns to ``keep``."""
        from scipy.sparse import csr_array, issparse

        from sdgs.datasets._statistics import labelled_samples

        n = n_labelled = n_unobserved = n_entries = 0
        for block in self.blocks(
            path, format_, with_labels=True, label_column=label_column, keep=keep, invalid=invalid
        ):
            n_rows = block.X.shape[0]
            labelled = np.arange(n_rows) if issparse(block.Y) else np.flatnonzero(labelled_samples(block.Y))
            if labelled.size:
                Y = csr_array(block.Y[labelled])
                missing = int(np.isnan(Y.data).sum())
                n_unobserved, n_entries = n_unobserved + missing, n_entries + labelled.size * Y.shape[1]
                kept = {name: [cells[i] for i in labelled.tolist()] for name, cells in block.kept.items()}
                Y = Y if missing else Y.astype(np.int8)
                yield LabelledBlock(block.X[labelled], Y, n + labelled, kept, block.position)
            n, n_labelled = n + n_rows, n_labelled + labelled.size
        if n_labelled == 0:
            exit_with_error(f"{path}: no sample has labels to compare with.")
        if n_labelled < n:
            note(f"{path}: samples left out because of missing labels: {n - n_labelled}.")
        if n_unobserved:
            share = format_percent(n_unobserved / n_entries)
            note(
                f"{path}: {n_unobserved:,} labels ({share} %) are unobserved, and count neither as right nor as wrong."
            )

    def predict_labels(self, X: Any) -> NDArray[np.bool_]:
        """Label matrix, (n, k)."""
        from sdgs._utils._label_collections import as_label_matrix

        with _named_columns():
            Y = as_label_matrix(self.model.predict(X), self.model.classes_)
        if np.ndim(Y) == 1:  # one class per sample
            return np.asarray(Y[:, None] == self.model.classes_)
        return np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y).astype(bool)

    def predict_scores(self, X: Any) -> NDArray[Any]:
        """Probabilities, or the decision function of a model without probabilities, (n, k)."""
        with _named_columns():
            if hasattr(self.model, "predict_proba"):
                return np.asarray(self.model.predict_proba(X))
            scores = np.asarray(self.model.decision_function(X))
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


class _OtherDates:
    """Texts in columns of dates that are no dates in the form of training, so that they become missing values."""

    def __init__(self, encoder: Any) -> None:
        from sdgs.preprocessing._number_columns import DateColumn

        encoders = {} if encoder is None else encoder._encoding.encoders
        self._forms = {
            name: column.form
            for name, column in encoders.items()
            if isinstance(column, DateColumn) and column.form is not None
        }
        self._counts = dict.fromkeys(self._forms, 0)
        self._examples: dict[str, str] = {}

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Count them in a block of rows."""
        from sdgs.preprocessing._date_parsing import parse_date

        for name, form in self._forms.items():
            counts = Counter(cell for cell in columns[name].tolist() if isinstance(cell, str))
            others = {text: n for text, n in counts.items() if np.isnat(parse_date(text, form))}
            if others:
                self._counts[name] += sum(others.values())
                self._examples.setdefault(name, next(iter(others)))

    def note(self, path: Path) -> None:
        """One note per column."""
        for name, example in self._examples.items():
            note(
                f"{path}: {count(self._counts[name], 'cell')} of the column {name!r} could not be read as a date, for "
                f"example {example[:_MAX_DATE_LENGTH]!r}, and became missing values. In training dates were written as "
                f"{self._forms[name]}."
            )


@contextmanager
def _named_columns() -> Iterator[None]:
    """Silence the warning that arrays have no names: the columns of a file were found by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        yield


def _sample_name(row: int, cells: list[str]) -> str:
    """The number of a sample, from 1, and the start of each cell."""
    shown = (" ".join(cell.split()) for cell in cells)
    shortened = (cell if len(cell) <= _MAX_CELL_LENGTH else f"{cell[:_MAX_CELL_LENGTH]}..." for cell in shown)
    return " · ".join([str(row + 1), *shortened])


def stack_rows(blocks: Sequence[Any]) -> Any:
    """All rows of dense or sparse blocks."""
    from scipy.sparse import csr_array, issparse, vstack

    return csr_array(vstack(blocks, format="csr")) if issparse(blocks[0]) else np.vstack(blocks).view(type(blocks[0]))


def load_model(path: Path, n_jobs: int) -> NamedModel:
    """A model from its file. Columns without names are named by their indices."""
    from sdgs._utils._last_step import known_label_names, last_step, number_of_features, stored_feature_names
    from sdgs.preprocessing._table_encoder import encoder_of

    try:
        model = sdgs.load(path)
    except sdgs.ModelFileError as error:
        hint = "" if path.suffix == ".sdgs" else " The model comes first, then the data."
        exit_with_error(f"{error}{hint}")
    last = last_step(model)
    if not hasattr(last, "predict"):
        exit_with_error(f"{path} holds {type(last).__name__}, which predicts no labels.")
    if "n_jobs" in last.get_params(deep=False):
        last.set_params(n_jobs=n_jobs)
    labels = tuple(map(str, known_label_names(model)))
    encoder = encoder_of(model)
    formats = _column_formats(model, encoder)
    model = _without_encoder(model, encoder)
    features = stored_feature_names(model)  # of the samples, not of what a pipeline makes of them
    features = range(number_of_features(model) or 0) if features is None else features
    return NamedModel(model, tuple(map(str, features)), labels, formats, encoder)


def _without_encoder(model: Any, encoder: Any) -> Any:
    """The steps of a pipeline after the encoder, which know the names of what it makes; another model itself."""
    from sklearn.pipeline import Pipeline

    if encoder is None or not isinstance(model, Pipeline):
        return model
    steps = model.steps[1:]
    rest = Pipeline(steps) if len(steps) > 1 else steps[0][1]
    rest.feature_names_ = tuple(encoder.get_feature_names_out())
    return rest


def _column_formats(model: Any, encoder: Any) -> dict[str, Any] | None:
    """How the columns of tables are read; by the kinds of the encoder if the model was not trained on a file."""
    if getattr(model, "column_formats_", None) is not None or encoder is None:
        return getattr(model, "column_formats_", None)
    from sdgs.datasets import ColumnFormat

    kinds = {"number": "number", "list": "list"}
    columns = [column for column in encoder.columns_ if column.kind != "drop"]
    return {column.name: ColumnFormat(kinds.get(column.kind, "text")) for column in columns}


def load_sdgs_model(path: Path, n_jobs: int, purpose: str) -> NamedModel:
    """A model from its file, if it is one of SDGS or a pipeline that ends with one."""
    from sdgs._utils._last_step import last_step
    from sdgs.estimators._sdgs_model import SDGSModel

    named = load_model(path, n_jobs)
    last = last_step(named.model)
    if not isinstance(last, SDGSModel):
        exit_with_error(
            f"{purpose} needs a model file of SDGSClassifier or SDGSClassifierCV; {path} holds {type(last).__name__}, "
            "which sdgs predict and sdgs evaluate take."
        )
    return named


def names_for_explanations(named: NamedModel) -> dict[str, Any]:
    """Names of what the last step reads, and of the labels."""
    from sdgs._utils._last_step import known_feature_names, last_step

    names = None if last_step(named.model) is named.model else known_feature_names(named.model)
    return {"feature_names": named.features if names is None else tuple(names), "label_names": named.labels}


def fitted_parameters(model: Any) -> dict[str, Any]:
    """The values that a fitted model uses, whether given, estimated or selected."""
    from sdgs._utils._last_step import last_step

    model = last_step(model)
    if not hasattr(model, "decomposition_"):
        return dict(getattr(model, "best_params_", {}))
    names = ("scaling", "huber", "gamma", "n_components", "alpha", "penalty", "read_from")
    return {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}


def print_fitted_parameters(model: Any) -> None:
    """Print them in one line."""
    from sdgs._utils._last_step import last_step

    used = fitted_parameters(model)
    values = [f"{name}={value}" for name, value in used.items() if name not in ("scaling", "read_from")]
    if "scaling" in used:
        values[:0] = [f"scaling {describe_scaling(used['scaling'])}"]
    origin = "Selected by cross-validation" if hasattr(last_step(model), "best_params_") else "Parameters used"
    if values:
        print_sentences(f"{origin}: {', '.join(values)}")


def changed_parameters(model: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults, without the number of threads."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}
    values = model.get_params(deep=False).items()
    return {name: value for name, value in values if name != "n_jobs" and repr(value) != repr(defaults[name])}


def describe_scaling(scaling: str | None) -> str:
    """The name of a scaling, and what it does."""
    return f'"{scaling}" ({_SCALINGS[scaling]})'
