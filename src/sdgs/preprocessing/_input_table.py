"""A table in any of the forms that users have, as named columns of five forms."""

import datetime
import decimal
import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

Array = NDArray[Any]
FORMS = ("numbers", "booleans", "dates", "strings", "lists")
_DATE_DTYPE = np.dtype("datetime64[us]")
_NUMBERS = (numbers.Real, decimal.Decimal)
_READABLE = (str, *_NUMBERS, datetime.date, np.datetime64, np.bool_)  # cells that have a text
_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which is not imported for them


@dataclass(frozen=True, eq=False)
class InputColumn:
    """A column in one of ``FORMS``.

    Attributes
    ----------
    name : str
    form : str
        ``"numbers"`` and ``"booleans"`` are float64 with NaN where an entry is missing, ``"dates"`` datetime64[us] with
        NaT; ``"strings"`` and ``"lists"`` (tuples of strings) are objects with None.
    values : ndarray of shape (n,)
    categories : tuple of str or None
        The categories of a categorical column, in their order.
    is_ordered : bool
        Whether that order has a meaning.
    """

    name: str
    form: str
    values: Array
    categories: tuple[str, ...] | None = None
    is_ordered: bool = False

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which entries are missing."""
        if self.form in ("strings", "lists"):
            return np.fromiter((value is None for value in self.values), dtype=bool, count=self.values.size)
        return np.asarray(np.isnat(self.values) if self.form == "dates" else np.isnan(self.values))


@dataclass(frozen=True, eq=False)
class InputTable:
    """Columns of one length; ``is_named`` if they have names of their own, which are strings."""

    columns: tuple[InputColumn, ...]
    n_rows: int
    is_named: bool


def is_table(X: Any) -> bool:
    """Whether it is a pandas or Polars DataFrame, an Arrow table or a mapping of columns."""
    return isinstance(X, Mapping) or hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def read_table(X: Any, names: Collection[str] | None = None) -> InputTable:
    """Any table or 2-D array; raises ValueError or TypeError for anything else.

    With ``names`` only these columns of a table with named columns, which must be there.
    """
    if not is_table(X):
        return _from_array(X)
    own_names, raw_columns = _names_and_columns(X)
    is_named = all(isinstance(name, str) for name in own_names)
    texts = [str(name) for name in own_names]
    if len(set(texts)) < len(texts):
        repeated = next(name for name in texts if texts.count(name) > 1)
        raise ValueError(f"the table has two columns with the name {repeated!r}. Rename one of them.")
    pairs = list(zip(texts, raw_columns, strict=True))
    if names is not None and is_named:
        missing = [name for name in names if name not in set(texts)]
        if missing:
            listed = ", ".join(map(repr, missing[:5])) + (" and others" if len(missing) > 5 else "")
            raise ValueError(f"the table has no column {listed}, which was there in fit.")
        pairs = [(name, raw) for name, raw in pairs if name in names]
    columns = tuple(read_column(name, raw) for name, raw in pairs)
    if not columns:
        raise ValueError(f"Found array with 0 feature(s) (shape=({_length(X)}, 0)) while a minimum of 1 is required.")
    n_rows = columns[0].values.size
    if any(column.values.size != n_rows for column in columns):
        sizes = ", ".join(f"{column.name!r} has {column.values.size}" for column in columns[:5])
        raise ValueError(f"the columns must have the same number of entries: {sizes}.")
    if n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape=(0, {len(columns)})) while a minimum of 1 is required.")
    return InputTable(columns, n_rows, is_named)


def _length(X: Any) -> int:
    return 0 if isinstance(X, Mapping) else len(X)


def _names_and_columns(X: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(X, Mapping):
        return list(X), list(X.values())
    if hasattr(X, "column_names"):  # Arrow
        return list(X.column_names), [X.column(i) for i in range(len(X.column_names))]
    names = list(X.columns)
    if hasattr(X, "iloc"):
        return names, [X.iloc[:, i] for i in range(len(names))]
    return names, list(X.get_columns()) if hasattr(X, "get_columns") else [X[name] for name in names]


def _from_array(X: Any) -> InputTable:
    reject_texts(X)
    X = check_array(X, dtype=None, ensure_all_finite=False)
    columns = tuple(read_column(f"x{j}", X[:, j]) for j in range(X.shape[1]))
    return InputTable(columns, int(X.shape[0]), is_named=False)


def reject_texts(X: Any) -> None:
    """Raise an error for a list or another 1-D array of strings."""
    is_one_dimensional = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
    if is_one_dimensional and len(X) and all(isinstance(value, str) for value in X):
        raise ValueError(
            "Expected 2D array, got 1D array of strings instead. Texts are a column of a table, which has a name: "
            'pandas.DataFrame({"text": texts}).'
        )


def columns_to_encode(X: Any) -> tuple[str, ...]:
    """The columns of a table that are neither numbers nor booleans; of a mapping all columns."""
    names, raw_columns = _names_and_columns(X)
    if isinstance(X, Mapping):
        return tuple(map(str, names))
    pairs = zip(map(str, names), raw_columns, strict=True)
    return tuple(name for name, raw in pairs if not _is_numeric(name, raw))


def _is_numeric(name: str, raw: Any) -> bool:
    if getattr(getattr(raw, "dtype", None), "kind", "O") in "biuf":
        return True
    is_categorical = hasattr(raw, "cat") and hasattr(raw, "iloc")
    return not is_categorical and read_column(name, raw).form in ("numbers", "booleans")


def read_column(name: str, raw: Any) -> InputColumn:
    """One column from a Series, an Arrow array or anything 1-D."""
    if hasattr(raw, "cat") and hasattr(raw, "iloc"):
        return _from_categorical(name, raw)
    if hasattr(raw, "to_pylist"):  # Arrow
        return _from_objects(name, raw.to_pylist())
    if hasattr(raw, "get_chunks") and hasattr(raw, "to_list"):  # Polars
        dtype = raw.dtype
        return _from_numpy(name, raw.to_numpy()) if dtype.is_float() else _from_objects(name, raw.to_list())
    if hasattr(raw, "iloc"):
        return _from_series(name, raw)
    if isinstance(raw, str) or not isinstance(raw, np.ndarray | Iterable):
        raise ValueError(f"column {name!r} must be 1-D, got {raw!r:.50}.")
    return _from_numpy(name, raw if isinstance(raw, np.ndarray) else as_objects(raw))


def as_objects(cells: Any) -> Array:
    """A 1-D array of objects, which may be sequences."""
    cells = list(cells)
    array = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        array[i] = cell
    return array


def _from_categorical(name: str, series: Any) -> InputColumn:
    categories = series.cat.categories
    texts = np.array([*(_category_text(value) for value in categories.tolist()), None], dtype=object)
    if len(set(texts)) < texts.size:
        raise ValueError(f"column {name!r} has two categories with the same text. Rename one of them.")
    values = texts[np.asarray(series.cat.codes, dtype=np.intp)]  # the code of a missing entry is -1
    return InputColumn(name, "strings", values, tuple(texts[:-1]), bool(series.cat.ordered))


def _category_text(value: Any) -> str:
    """A category as text, also of types that cells cannot have: the intervals of ``pandas.cut``, for example."""
    return _as_text(value) if isinstance(value, _READABLE) else str(value)


def _from_series(name: str, series: Any) -> InputColumn:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcSm":
        return _from_numpy(name, series.to_numpy())
    kind = getattr(dtype, "kind", "O")
    if kind == "M" and hasattr(dtype, "tz"):
        return _from_numpy(name, series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if kind == "M" and isinstance(dtype, np.dtype):
        return _from_numpy(name, series.to_numpy())
    is_missing = np.asarray(series.isna())
    if kind in "biuf" and not isinstance(dtype, np.dtype):  # pandas' own numbers, which have missing entries
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return InputColumn(name, "booleans" if kind == "b" else "numbers", values)
    cells = series.to_numpy(dtype=object)
    if is_missing.any():
        cells = np.where(is_missing, None, cells)
    return _from_numpy(name, cells)


def _from_numpy(name: str, values: Array) -> InputColumn:
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be 1-D, got {values.ndim} dimensions.")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"column {name!r} is a masked array with masked entries. Fill them with None or NaN first.")
    kind = values.dtype.kind
    if kind in "iuf":
        return InputColumn(name, "numbers", values.astype(np.float64))
    if kind == "b":
        return InputColumn(name, "booleans", values.astype(np.float64))
    if kind == "M":
        return InputColumn(name, "dates", _checked_dates(name, values))
    if kind == "m":
        seconds = np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s"))
        return InputColumn(name, "numbers", seconds)
    if kind in "UTO":
        return _from_objects(name, values.tolist())
    raise ValueError(f"column {name!r} has dtype {values.dtype}, complex or bytes, which cannot be encoded.")


def _checked_dates(name: str, values: Array) -> Array:
    """In microseconds, which overflow silently where a date is too far from 1970."""
    dates = values.astype(_DATE_DTYPE)
    is_known = ~np.isnat(values)
    years = dates[is_known].astype("datetime64[Y]")
    if is_known.any() and (
        np.isnat(dates[is_known]).any()
        or years.min() < np.datetime64("0001")
        or years.max() > np.datetime64("9999")
        or (values.astype("datetime64[Y]")[is_known] != years).any()
    ):
        raise ValueError(f"column {name!r} has dates outside of the years 1 to 9999.")
    return dates


def _from_objects(name: str, cells: list[Any]) -> InputColumn:
    """A column of objects, all alike, or else strings, numbers, booleans and dates, which are text then."""
    types = set(map(type, cells))
    if not types <= {str, type(None)}:
        cells = [None if _is_missing(cell) else cell for cell in cells]
        types = set(map(type, cells))
    types -= {type(None)}
    if types == {str}:
        return InputColumn(name, "strings", as_objects(cells))
    if not types:
        return InputColumn(name, "numbers", np.full(len(cells), np.nan))
    if all(issubclass(of_cell, bool | np.bool_) for of_cell in types):
        return InputColumn(name, "booleans", _as_floats(name, cells))
    if all(issubclass(of_cell, _NUMBERS) and not issubclass(of_cell, bool) for of_cell in types):
        return InputColumn(name, "numbers", _as_floats(name, cells))
    if all(issubclass(of_cell, datetime.date | np.datetime64) for of_cell in types):
        return InputColumn(name, "dates", _as_dates(name, cells))
    if all(issubclass(of_cell, datetime.timedelta) for of_cell in types):
        seconds = [None if cell is None else cell.total_seconds() for cell in cells]
        return InputColumn(name, "numbers", _as_floats(name, seconds))
    if all(issubclass(of_cell, list | tuple | set | frozenset | np.ndarray) for of_cell in types):
        return InputColumn(name, "lists", as_objects(_as_lists(name, cells)))
    for of_cell in types:
        if not issubclass(of_cell, _READABLE):
            raise ValueError(
                f"column {name!r} has an entry of type {of_cell.__name__}, which is not encoded: argument must be "
                "a string or a real number, a date, or a list of strings."
            )
    return InputColumn(name, "strings", as_objects(None if cell is None else _as_text(cell) for cell in cells))


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    if isinstance(cell, float | np.floating | decimal.Decimal):
        return bool(cell != cell)
    return isinstance(cell, np.datetime64) and bool(np.isnat(cell))


def _as_floats(name: str, cells: Sequence[Any]) -> Array:
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except OverflowError:
        raise ValueError(f"column {name!r} has an integer that is too large for float64. Scale it.") from None


def _as_dates(name: str, cells: list[Any]) -> Array:
    values = np.empty(len(cells), dtype=_DATE_DTYPE)
    for i, cell in enumerate(cells):
        if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
            cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
        values[i] = np.datetime64("NaT") if cell is None else np.datetime64(cell, "us")
    return _checked_dates(name, values)


def _as_lists(name: str, cells: list[Any]) -> Iterator[tuple[str, ...] | None]:
    for cell in cells:
        if cell is None:
            yield None
            continue
        items = cell.ravel().tolist() if isinstance(cell, np.ndarray) else list(cell)
        if not all(isinstance(item, str | numbers.Real) for item in items):
            raise ValueError(f"column {name!r} has lists of something else than strings. Make them strings.")
        yield tuple(sorted({_as_text(item) for item in items}))


def _as_text(value: Any) -> str:
    """A cell as text, the same for all types in which a table may have it: 3 and 3.0 are "3"."""
    if isinstance(value, str | bool | np.bool_):
        return str(value)
    if isinstance(value, datetime.date | np.datetime64):
        return str(_as_dates("", [value]).tolist()[0])
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"a column has an integer that is too large for float64: {str(value)[:20]}...") from None
    return str(int(number)) if number.is_integer() else str(number)


def as_strings(column: InputColumn) -> list[str | None]:
    """The entries as text; None where they are missing."""
    if column.form == "strings":
        return list(column.values)
    if column.form == "lists":
        raise _wrong_form(column, "text or categories")
    present: Any = column.values.tolist()
    if column.form == "booleans":
        present = [bool(value) for value in present]
    return [None if is_missing else _as_text(value) for value, is_missing in zip(present, column.missing, strict=True)]


def as_numbers(column: InputColumn) -> Array:
    """The entries as float64; NaN where they are missing or no number."""
    if column.form in ("numbers", "booleans"):
        if np.isinf(column.values).any():
            raise ValueError(f"column {column.name!r} contains infinity. Replace it, by NaN where it is missing.")
        return column.values
    if column.form == "strings":
        return np.array([_number(text) for text in column.values])
    if column.missing.all():
        return np.full(column.values.size, np.nan)
    raise _wrong_form(column, "numbers")


def as_lists(column: InputColumn) -> list[tuple[str, ...] | None]:
    """The entries as lists of strings; None where they are missing."""
    if column.form == "lists":
        return list(column.values)
    if column.missing.all():
        return [None] * column.values.size
    raise _wrong_form(column, "lists of strings")


def _wrong_form(column: InputColumn, wanted: str) -> ValueError:
    return ValueError(f"column {column.name!r} has {column.form}, where {wanted} are needed. Convert it first.")


def _number(text: str | None) -> float:
    """A finite number, else NaN."""
    try:
        number = float(text) if text is not None and text.isascii() and "_" not in text else np.nan
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan
