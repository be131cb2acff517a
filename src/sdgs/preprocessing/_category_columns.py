"""Categories as one column each, and lists of strings likewise."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from sdgs.preprocessing._input_table import InputColumn, as_lists, as_strings


def frequent_values(counts: Counter[str], min_count: int, max_values: int) -> tuple[str, ...]:
    """The most frequent values, sorted; of equally frequent ones the first."""
    ranked = sorted((value for value in counts if counts[value] >= min_count), key=lambda v: (-counts[v], v))
    return tuple(sorted(ranked[:max_values]))


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A column of categories: one column for each of ``values``, and one for all others if there were any.

    A missing entry has a column of its own if there was one in training. Where there is no such column, other values
    and missing entries are zero in all columns.
    """

    name: str
    values: tuple[str, ...]
    has_rare: bool
    has_missing: bool

    @classmethod
    def fit(cls, column: InputColumn, min_count: int, max_categories: int) -> tuple[Self, Any]:
        """The encoder, and the encoded column."""
        cells = as_strings(column)
        counts = Counter(cells)
        n_missing = counts.pop(None, 0)
        present: Counter[str] = counts  # type: ignore[assignment]
        values = frequent_values(present, min_count, max_categories)
        encoder = cls(column.name, values, len(values) < len(present), n_missing > 0)
        return encoder, encoder._encode(cells)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        names = [f"{self.name} = {value}" for value in self.values]
        names += [f"{self.name}: rare"] if self.has_rare else []
        return (*names, f"{self.name}: missing") if self.has_missing else tuple(names)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: j for j, value in enumerate(self.values)}

    def transform(self, column: InputColumn) -> Any:
        """The encoded column, CSR. Where training had False and True, 0 and 1 are the same."""
        is_numeric = column.form == "numbers" and set(self.values) == {"False", "True"}
        if is_numeric and np.isin(column.values[~column.missing], (0, 1)).all():
            column = replace(column, form="booleans")
        return self._encode(as_strings(column))

    def _encode(self, cells: Sequence[str | None]) -> Any:
        n_values = len(self.values)
        rare = n_values if self.has_rare else -1
        missing = n_values + self.has_rare if self.has_missing else -1
        get = self._positions.get
        columns = np.array([missing if cell is None else get(cell, rare) for cell in cells], dtype=np.int64)
        is_set = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(is_set)])
        ones = np.ones(int(indptr[-1]))
        return csr_array((ones, columns[is_set], indptr), shape=(len(cells), len(self.names)))


@dataclass(frozen=True, eq=False)
class ListColumn:
    """A column of lists of strings: one column for each of ``values``, 1 in rows whose list has it."""

    name: str
    values: tuple[str, ...]

    @classmethod
    def fit(cls, column: InputColumn, min_count: int, max_values: int) -> tuple[Self, Any]:
        """The encoder, and the encoded column."""
        cells = as_lists(column)
        counts = Counter(item for cell in cells for item in cell or ())
        encoder = cls(column.name, frequent_values(counts, min_count, max_values))
        return encoder, encoder._encode(cells)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.name}: {value}" for value in self.values)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: j for j, value in enumerate(self.values)}

    def transform(self, column: InputColumn) -> Any:
        """The encoded column, CSR."""
        return self._encode(as_lists(column))

    def _encode(self, cells: Iterable[tuple[str, ...] | None]) -> Any:
        rows = [sorted(self._positions[item] for item in cell or () if item in self._positions) for cell in cells]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        indices = np.array([j for row in rows for j in row], dtype=np.int64)
        return csr_array((np.ones(indices.size), indices, indptr), shape=(len(rows), len(self.values)))
