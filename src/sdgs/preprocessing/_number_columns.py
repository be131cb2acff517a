"""Numbers, ordered categories and dates as numbers of comparable size."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdgs.preprocessing._date_parsing import parse_dates
from sdgs.preprocessing._input_table import InputColumn, as_numbers, as_strings

Array = NDArray[Any]
DATE_PARTS = ("days", "year", "month", "weekday", "hour")  # days since the first one in training
_MAX_SCALED = 1e100  # whose square is finite


@dataclass(frozen=True, eq=False)
class NumberScaling:
    """Columns minus their means, in units of their standard deviations, as scikit-learn's ``StandardScaler``.

    Attributes
    ----------
    mean, scale : ndarray of shape (q,)
    had_missing : ndarray of shape (q,)
        Which columns had missing entries in training.
    fills_missing : bool
        Whether a missing entry becomes 0, the mean, and columns that had some get an indicator each; else it is NaN.
    """

    mean: Array
    scale: Array
    had_missing: NDArray[np.bool_]
    fills_missing: bool = False

    @classmethod
    def fit(cls, values: Array) -> Self:
        """The scaling of columns (n, q), each of which has an entry that is not NaN."""
        largest = np.maximum(np.nanmax(np.abs(values), axis=0), np.finfo(np.float64).tiny)
        relative = values / largest  # whose squares do not overflow
        scale = np.nanstd(relative, axis=0) * largest
        had_missing = np.asarray(np.isnan(values).any(axis=0))
        return cls(np.nanmean(relative, axis=0) * largest, np.where(scale > 0, scale, 1.0), had_missing)

    def transform(self, values: Array) -> Array:
        """The scaled columns, and indicators of missing entries if they are filled."""
        with np.errstate(over="ignore"):
            z = (values - self.mean) / self.scale
        z = np.clip(z, -_MAX_SCALED, _MAX_SCALED)
        if not self.fills_missing:
            return np.asarray(z)
        is_missing = np.isnan(z)
        return np.hstack([np.where(is_missing, 0.0, z), is_missing[:, self.had_missing].astype(np.float64)])

    def names(self, names: tuple[str, ...], of_missing: str) -> tuple[str, ...]:
        """Names of the scaled columns, given those of the columns."""
        indicators = [f"{of_missing}: missing"] if len(names) == 1 else [f"{name} missing" for name in names]
        chosen = [name for name, is_there in zip(indicators, self.had_missing, strict=True) if is_there]
        return (*names, *chosen) if self.fills_missing else names


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers, or of ordered categories, ``levels``, as their positions."""

    name: str
    scaling: NumberScaling
    levels: tuple[str, ...] | None = None

    @classmethod
    def fit(cls, column: InputColumn, levels: tuple[str, ...] | None = None) -> tuple[Self, Array]:
        """The encoder, and the encoded column."""
        values = _level_numbers(column, levels)
        encoder = cls(column.name, NumberScaling.fit(values), levels)
        return encoder, encoder.scaling.transform(values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.scaling.names((self.name,), self.name)

    def filling_missing(self) -> Self:
        """The same, with missing entries filled."""
        return replace(self, scaling=replace(self.scaling, fills_missing=True))

    def transform(self, column: InputColumn) -> Array:
        """The encoded column, (n, 1 or 2)."""
        return self.scaling.transform(_level_numbers(column, self.levels))


def _level_numbers(column: InputColumn, levels: tuple[str, ...] | None) -> Array:
    if levels is None:
        return as_numbers(column)[:, None]
    position = {level: float(i) for i, level in enumerate(levels)}
    return np.array([position.get(text, np.nan) for text in as_strings(column)])[:, None]  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class DateColumn:
    """A column of dates, as those of ``DATE_PARTS`` that vary; ``form`` is the form of dates that are text."""

    name: str
    form: str | None
    origin: np.datetime64
    parts: tuple[str, ...]
    scaling: NumberScaling

    @classmethod
    def fit(cls, column: InputColumn, form: str | None) -> tuple[Self, Array]:
        """The encoder, and the encoded column."""
        dates = as_dates(column, form)
        origin = dates[~np.isnat(dates)].min()
        values = _date_parts(dates, origin, DATE_PARTS)
        varies = np.nanmin(values, axis=0) < np.nanmax(values, axis=0)
        parts = tuple(part for part, is_used in zip(DATE_PARTS, varies, strict=True) if is_used)
        encoder = cls(column.name, form, origin, parts, NumberScaling.fit(values[:, varies]))
        return encoder, encoder.scaling.transform(values[:, varies])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        names = self.scaling.names(tuple(f"{self.name}: {part}" for part in self.parts), self.name)
        return names

    def filling_missing(self) -> Self:
        """The same, with missing entries filled."""
        return replace(self, scaling=replace(self.scaling, fills_missing=True))

    def transform(self, column: InputColumn) -> Array:
        """The encoded column, (n, number of parts or more)."""
        return self.scaling.transform(_date_parts(as_dates(column, self.form), self.origin, self.parts))


def as_dates(column: InputColumn, form: str | None) -> Array:
    """The entries as datetime64[us]; NaT where they are missing or no date."""
    if column.form == "dates":
        return column.values
    if column.form == "strings" and form is not None:
        return parse_dates(column.values, form)
    if column.missing.all():
        return np.full(column.values.size, np.datetime64("NaT", "us"))
    raise ValueError(f"column {column.name!r} has {column.form}, where dates are needed. Convert it first.")


def _date_parts(dates: Array, origin: np.datetime64, parts: tuple[str, ...]) -> Array:
    """Parts of dates as columns; NaN where the date is missing."""
    is_missing = np.isnat(dates)
    known = np.where(is_missing, origin, dates)
    days, months = known.astype("datetime64[D]"), known.astype("datetime64[M]")
    values = {
        "days": (known - origin) / np.timedelta64(1, "D"),
        "year": months.astype("datetime64[Y]").astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "weekday": (days.astype(np.int64) + 3) % 7 + 1,  # Monday is 1
        "hour": (known - days).astype("timedelta64[h]").astype(np.int64),
    }
    columns = np.column_stack([np.asarray(values[part], dtype=np.float64) for part in parts])
    columns[is_missing] = np.nan
    return columns
