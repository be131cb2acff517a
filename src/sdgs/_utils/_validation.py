"""Validation of arguments of public functions and estimators. Errors name the argument and say what to do."""

import math
import numbers
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.utils import check_array, check_random_state

from sdgs._utils._array_api import detach, is_dispatched, namespace, on_host, to_host

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_features(X: Any, *, name: str = "X", missing: bool = False) -> Any:
    """``X`` as a finite 2-D float32 or float64 array, or CSR if it was sparse; with ``missing`` NaN is allowed.

    An array of another library stays one if array API dispatch is enabled: see :mod:`sdgs._utils._array_api`.
    """
    if is_plain_array(X, missing=missing):
        return np.ascontiguousarray(X)
    reject_masked(X, name)
    with reject_huge_integers(name):
        X = check_array(
            detach(X) if is_dispatched(X) else X,
            accept_sparse="csr",
            dtype=float_dtypes(X),
            order="C",
            ensure_all_finite="allow-nan" if missing else True,
            input_name=name,
        )
    return canonical_csr(X)


def is_plain_array(X: Any, *, missing: bool = False) -> bool:
    """Whether X is a valid array that scikit-learn would not change, but for its order; with ``missing`` NaN is valid.

    Its validation of small arrays takes longer than what follows. Where this is False it decides, and explains.
    """
    if type(X) is not np.ndarray or X.dtype not in _FLOATS or X.ndim != 2 or X.size == 0:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(X.sum()) or (missing and not np.isinf(X).any())


@contextmanager
def reject_huge_integers(name: str) -> Iterator[None]:
    """Turn the error of a conversion to floats into one that names the array: Python's integers have no limit."""
    try:
        yield
    except OverflowError:
        raise ValueError(
            f"{name} has an integer that is too large for float64, whose largest number is 1.8e308. Scale it, or use "
            "its logarithm."
        ) from None


def float_dtypes(X: Any) -> tuple[Any, Any]:
    """The types that are computed with, as the library of ``X`` names them."""
    xp = namespace(X) if is_dispatched(X) else np
    return xp.float64, xp.float32


def canonical_csr(X: Any) -> Any:
    """Sparse X as a csr_array with sorted entries, each stored once; X itself if it is one, or is dense.

    A csr_matrix is converted because its ``*`` is the matrix product. The argument is not changed.
    """
    if not issparse(X):
        return X
    X = csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def has_missing(X: Any) -> bool:
    """Whether any entry is NaN."""
    if not on_host(X):
        xp = namespace(X)
        return bool(xp.any(xp.isnan(X)))
    values = X.data if issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):  # the sum is a fast check: it is NaN if any entry is
        return bool(np.isnan(values.sum()) and np.isnan(values).any())


def reject_masked(array: Any, name: str) -> None:
    """Reject a masked array with masked entries: NumPy would return the values behind the mask."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(
            f"{name} is a masked array with masked entries, whose values would be used. Replace them first: "
            f"{name}.filled(value), with NaN for missing features where the estimator takes them."
        )


def is_data_frame(array: Any) -> bool:
    """Whether it is a pandas DataFrame."""
    return hasattr(array, "columns") and hasattr(array, "iloc")


def unwrap_labels(Y: Any, name: str) -> Any:
    """The array of a target that is a DataFrame or of another library; sparse targets as they are."""
    reject_masked(Y, name)
    if is_data_frame(Y):
        if not Y.columns.is_unique:
            raise ValueError(f"{name} has columns with the same name. Rename them: each column is a label.")
        _warn_of_blank_names(Y, name)
        return Y.to_numpy()
    if issparse(Y):
        return Y
    return to_host(Y) if is_dispatched(Y) else np.asarray(Y)


def _warn_of_blank_names(Y: Any, name: str) -> None:
    blank = [column for column in Y.columns if isinstance(column, str) and not column.strip()]
    if blank:
        warnings.warn(
            f"{name} has a column with the blank name {blank[0]!r}, which would be learned as a label. It probably "
            'has the samples without labels: str.get_dummies makes such a column from "" for some types of strings. If '
            f"so, leave it out: {name}.drop(columns={blank[0]!r}).",
            UserWarning,
            stacklevel=4,
        )


def check_labels(
    Y: Any, *, n_samples: int | None = None, name: str = "Y", some_positive: bool = True, if_missing: str = ""
) -> csc_array:
    """``Y`` as a boolean (n, k) CSC matrix with sorted indices; rejects anything but a 2-D matrix of 0 and 1.

    ``if_missing`` is added to the error about missing labels.
    """
    if issparse(Y):
        Y = Y.tocsc(copy=True)
        Y.sum_duplicates()  # an entry that is stored twice is the sum of both
    else:
        Y = unwrap_labels(Y, name)
    if Y.ndim != 2:
        raise ValueError(f"{name} must be a 2-D matrix with one column per label, got {Y.ndim} dimension(s).")
    if Y.shape[1] == 0:
        raise ValueError(f"{name} has no labels: its shape is {Y.shape}. Pass at least one column.")
    if n_samples is not None and Y.shape[0] != n_samples:
        raise ValueError(f"X and {name} must have the same number of rows, got {n_samples} and {Y.shape[0]}.")
    positive = _is_one(Y.data if issparse(Y) else Y)
    if positive is None:
        reject_missing_labels(Y, name, if_missing)
        kind = f"; its dtype is {Y.dtype}" if Y.dtype.kind not in "biuf" else ""
        raise ValueError(f"{name} must hold only 0 and 1, as numbers or booleans{kind}. Convert it first.")
    if issparse(Y):
        indicator = csc_array((positive, Y.indices, Y.indptr), shape=Y.shape)
        indicator.eliminate_zeros()
    else:
        indicator = csc_array(positive)
    indicator.sort_indices()
    if some_positive and indicator.nnz == 0:
        raise ValueError(
            f"{name} has no positive entry, so there is nothing to learn: at least one sample needs a label."
        )
    return indicator


def _is_one(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which of ``values`` are 1; None if there are others than 0 and 1."""
    if values.dtype.kind == "O" and not any(isinstance(value, str | bytes) for value in values.ravel()):
        with suppress(TypeError, ValueError, OverflowError):  # reported by the caller
            values = values.astype(np.float64)
    if values.dtype.kind in "biuf":
        positive = values == 1
        if bool(np.all(positive | (values == 0))):
            return np.asarray(positive)
    return None


def reject_missing_labels(Y: Any, name: str, advice: str = "") -> None:
    """Reject NaN, None and pandas.NA in a target, which is an array or CSC, and name the rows."""
    values = Y.data if issparse(Y) else Y
    if values.dtype.kind not in "fO":
        return
    missing = np.isnan(values) if values.dtype.kind == "f" else np.frompyfunc(is_missing, 1, 1)(values).astype(bool)
    if not missing.any():
        return
    rows = np.unique(Y.indices[missing] if issparse(Y) else np.nonzero(missing)[0])
    listed = ", ".join(map(str, rows[:5])) + (", ..." if rows.size > 5 else "")
    raise ValueError(
        f"{name} contains NaN or None: labels are missing in {rows.size} of {Y.shape[0]} rows (counted from 0: "
        f"{listed}). Leave out rows whose labels are not known: X[known] and {name}[known] with known = "
        f"pandas.DataFrame({name}).notna().all(axis=1).to_numpy().{advice}"
    )


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def check_ranks(n_components: Any, n_labels: int) -> NDArray[np.intp]:
    """One rank for all labels, or one per label, as an array of ``n_labels`` integers."""
    if np.ndim(n_components) > 0 and isinstance(n_components, Sequence | np.ndarray):
        ranks = list(n_components)
        if len(ranks) != n_labels:
            raise ValueError(
                f"n_components must be one integer, or one for each of the {n_labels} labels; got {len(ranks)}."
            )
    else:
        ranks = [n_components] * n_labels
    return np.asarray([check_int(rank, "n_components", minimum=1) for rank in ranks], dtype=np.intp)


def check_residual_size(residual_size: Any, n_entries: int) -> int:
    """K: an int counts entries, a float is a share of all entries."""
    if _is_real(residual_size):
        if isinstance(residual_size, numbers.Integral):
            if int(residual_size) >= 0:
                return min(int(residual_size), n_entries)
        elif 0 <= residual_size <= 1:
            return round(float(residual_size) * n_entries)
    raise ValueError(
        "residual_size must be an int >= 0 (a number of entries) or a float in [0, 1] (a share of all entries), "
        f"got {residual_size!r}."
    )


def check_residual_weight(residual_size: Any, weight: NDArray[np.float64], unit: float, p: int) -> float:
    """K, as a multiple of ``unit``, for samples with weights w = ``weight * unit``: the sum of w over the entries."""
    check_residual_size(residual_size, 1)
    if isinstance(residual_size, numbers.Integral):
        return float(min(int(residual_size), 1 << 63) / unit)
    share = float(residual_size) * float(weight.sum()) * p
    # A number of entries if weights are numbers of repetitions. Other weights may be small: K is not rounded.
    is_number = unit < 2**53 and bool(np.all(weight * unit == np.rint(weight * unit)))
    return float(np.rint(share * unit) / unit) if is_number else share


def check_names(names: Any, name: str, size: int, default: Any) -> NDArray[Any]:
    """``names``, or else ``default``, or else x0, x1, ..., as an array of ``size`` objects."""
    if names is None:
        names = [f"x{j}" for j in range(size)] if default is None else default
    array = np.empty(len(names), dtype=object)  # names may be tuples
    array[:] = list(names)
    if array.size != size:
        raise ValueError(f"{name} must have {size} names, got {array.size}.")
    return array


def check_int(value: Any, name: str, *, minimum: int) -> int:
    """``value`` as an int of at least ``minimum`` and of 64 bits; rejects floats and booleans."""
    if _is_real(value) and isinstance(value, numbers.Integral) and minimum <= int(value) < 1 << 63:
        return int(value)
    limit = " and < 2**63" if isinstance(value, numbers.Integral) and int(value) >= 1 << 63 else ""
    raise ValueError(f"{name} must be an integer >= {minimum}{limit}, got {value!r}.")


def check_number(value: Any, name: str, *, positive: bool = False) -> float:
    """``value`` as a finite float that is not negative, and with ``positive`` not zero either."""
    try:
        number = float(value) if _is_real(value) else math.nan
    except OverflowError:  # an integer beyond float64
        number = math.inf
    if math.isfinite(number) and (number > 0 or (number == 0 and not positive)):
        return number
    raise ValueError(f"{name} must be a finite number {'> 0' if positive else '>= 0'}, got {value!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Reject anything but None and an integer other than 0."""
    is_int = _is_real(n_jobs) and isinstance(n_jobs, numbers.Integral)
    if n_jobs is not None and not (is_int and 0 < abs(int(n_jobs)) < 1 << 31):
        raise ValueError(
            f"n_jobs must be None or an integer other than 0 (-1 for all cores) of at most 32 bits, got {n_jobs!r}."
        )


def check_seed(random_state: Any) -> int:
    """A seed that is drawn from None, an int or a RandomState."""
    try:
        if isinstance(random_state, numbers.Integral):
            return _seed_drawn_from(int(random_state))
        return _draw_seed(check_random_state(random_state))
    except ValueError:
        raise ValueError(
            f"random_state must be None, an integer in [0, 2**32) or a RandomState, got {random_state!r}."
        ) from None


@lru_cache(maxsize=1024)
def _seed_drawn_from(random_state: int) -> int:
    """The seed for an integer. Stored because to initialise the generator takes a tenth of a millisecond."""
    return _draw_seed(check_random_state(random_state))


def _draw_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(np.iinfo(np.int32).max))


def check_checkpoint(checkpoint: Any, random_state: Any) -> Path | None:
    """The folder of checkpoints, or None."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | Path) or not str(checkpoint) or Path(checkpoint).is_file():
        raise ValueError(f"checkpoint must be None or the path of a folder, got {checkpoint!r}.")
    if random_state is None:
        raise ValueError(
            "checkpoint needs a random_state, because without one every call is different. Pass an integer."
        )
    return Path(checkpoint)


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """``value`` if it is one of ``choices``."""
    if any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        return value
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def sum_of_squares(X: Any) -> float:
    """The sum of the squares of all entries, in float64; inf if it overflows."""
    with np.errstate(over="ignore"):
        return float(np.square(X.data if issparse(X) else X, dtype=np.float64).sum())


def check_distances(X: Any, purpose: str) -> None:
    """Raise an error if squared distances between rows of X may overflow."""
    if not sum_of_squares(X) <= np.finfo(np.float64).max / 16:
        raise ValueError(
            f"X has entries that are too large for {purpose}: the sum of their squares overflows. Scale X first, for "
            "example by sklearn.preprocessing.MaxAbsScaler."
        )
