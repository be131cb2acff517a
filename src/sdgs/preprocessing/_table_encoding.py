"""The encoding of a table: an encoder for each column that is used."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from sdgs._utils._row_norms import narrow_indices
from sdgs.preprocessing._column_kinds import KindChoice, choose_kind
from sdgs.preprocessing._encoded_column import EncodedColumn
from sdgs.preprocessing._fit_columns import ColumnEncoder, Embedding, fit_column, note_on
from sdgs.preprocessing._input_table import InputColumn, InputTable
from sdgs.preprocessing._number_columns import DateColumn, NumberColumn
from sdgs.selection._defaults import MAX_SPARSE_DENSITY


class EncodedArray(np.ndarray):
    """A dense encoded table, or some rows of it: the mark by which a model with an encoder does not encode it again."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array)[()]  # results of calculations are plain arrays and numbers


@dataclass(frozen=True)
class ColumnOptions:
    """Parameters of :class:`sdgs.preprocessing.TableEncoder`; None stands for "auto"."""

    text: tuple[str, ...] | Embedding | None
    max_categories: int
    is_sparse: bool | None


@dataclass(frozen=True, eq=False)
class TableEncoding:
    """What was done with each column (``records``), and the encoders of those that are used, by name."""

    records: tuple[EncodedColumn, ...]
    encoders: Mapping[str, ColumnEncoder]
    is_sparse: bool

    @property
    def used_names(self) -> tuple[str, ...]:
        """The columns that are used."""
        return tuple(self.encoders)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features; where two would be the same, the later ones are numbered."""
        names = [name for encoder in self.encoders.values() for name in encoder.names]
        if len(set(names)) == len(names):
            return tuple(names)
        taken, counts = set(names), Counter[str]()
        unique = []
        for name in names:
            counts[name] += 1
            numbered = name
            while counts[name] > 1 and numbered in taken:
                numbered = f"{name} ({counts[name]})"
                counts[name] += numbered in taken
            taken.add(numbered)
            unique.append(numbered)
        return tuple(unique)

    def renamed(self, table: InputTable) -> InputTable:
        """A table with as many columns as that of the fit, with its names."""
        pairs = zip(self.records, table.columns, strict=True)
        return replace(table, columns=tuple(replace(column, name=record.name) for record, column in pairs))

    def transform(self, table: InputTable) -> Any:
        """The encoded table, CSR or dense."""
        by_name = {column.name: column for column in table.columns}
        return self.join([encoder.transform(by_name[name]) for name, encoder in self.encoders.items()])

    def join(self, blocks: list[Any]) -> Any:
        """The encoded columns as one matrix."""
        if not self.is_sparse:
            columns = [block.toarray() if issparse(block) else block for block in blocks]
            return np.hstack(columns).view(EncodedArray)
        # Trees and support vector machines of scikit-learn take no other indices.
        return narrow_indices(csr_array(hstack([csr_array(block) for block in blocks], format="csr")))


def fit_encoding(table: InputTable, kinds: Mapping[str, Any], options: ColumnOptions) -> tuple[TableEncoding, Any]:
    """The encoding of a table, and the encoded table.

    ``kinds`` has the kinds of some columns, or functions that turn texts into vectors.
    """
    records, encoders, blocks = [], {}, []
    for column in table.columns:
        choice, text = _choice_of(column, kinds, options)
        fitted = fit_column(column, choice, text, options.max_categories)
        note, is_left_out = choice.advice.note, isinstance(fitted, str)
        if choice.advice.is_warning or (note and is_left_out):
            _warn_of_text(column.name, choice, "left out" if is_left_out else f"encoded as {choice.kind}")
        if isinstance(fitted, str):
            records.append(EncodedColumn(column.name, "drop", fitted, 0, note))
            continue
        encoders[column.name], block = fitted
        blocks.append(block)
        note = "; ".join(filter(None, [note_on(column, fitted[0]), note]))
        records.append(EncodedColumn(column.name, choice.kind, choice.reason, 0, note))
    if not encoders:
        reasons = "; ".join(f"{record.name!r} is left out: {record.reason}" for record in records[:5])
        raise ValueError(
            f"no column of X can be used, n_samples = {table.n_rows}: {reasons}. Choose a kind for one by kinds."
        )
    is_sparse = _density(blocks) < MAX_SPARSE_DENSITY if options.is_sparse is None else options.is_sparse
    if is_sparse:
        columns = [column for column in table.columns if column.name in encoders]
        for i, (column, encoder) in enumerate(zip(columns, encoders.values(), strict=True)):
            if isinstance(encoder, NumberColumn | DateColumn):
                encoders[column.name] = encoder.filling_missing()
                blocks[i] = encoders[column.name].transform(column)
    sizes = {name: len(encoder.names) for name, encoder in encoders.items()}
    counted = tuple(replace(record, n_features=sizes.get(record.name, 0)) for record in records)
    encoding = TableEncoding(counted, encoders, is_sparse)
    return encoding, encoding.join(blocks)


def _warn_of_text(name: str, choice: KindChoice, what: str) -> None:
    warnings.warn(
        f"column {name!r} is {what}: {choice.advice.note}. With kinds={{{name!r}: {choice.kind!r}}} it stays as it is, "
        "without this warning.",
        UserWarning,
        stacklevel=5,
    )


def _choice_of(
    column: InputColumn, kinds: Mapping[str, Any], options: ColumnOptions
) -> tuple[KindChoice, tuple[str, ...] | Callable[[list[str]], Any] | None]:
    """The kind of a column, and how its text is encoded."""
    if column.name not in kinds:
        return choose_kind(column, options.max_categories), options.text
    kind = kinds[column.name]
    if callable(kind):
        return KindChoice("text", "chosen by the user"), kind
    return KindChoice(kind, "chosen by the user"), options.text


def _density(blocks: list[Any]) -> float:
    """The share of entries that are not zero; numbers, whose zero is arbitrary, count as such."""
    n_entries = sum(block.shape[0] * block.shape[1] for block in blocks)
    return float(sum(block.nnz if issparse(block) else block.size for block in blocks) / n_entries)
