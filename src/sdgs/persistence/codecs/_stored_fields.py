"""Fields of a fitted estimator: what an attribute holds, how a file stores it, and what must be true of it.

A class that can be stored declares its fitted attributes as fields, by name; :mod:`._estimator_codec` reads the
declaration. A field writes a value as JSON and arrays, and reads it back after it has checked both. Sizes that arrays
have in common are named: the first array with a size sets it, and the others must have the same. ``"p"``
is the number of features, and ``"k"`` in classes of this package the number of labels.
"""

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._validation import check_choice
from sdgs.persistence._container import CheckedArrays, ModelFileError
from sdgs.persistence.codecs._json_values import (
    MAX_CLASS_BYTES,
    check_bool,
    check_fields,
    decode,
    decode_classes,
    encode,
)

Arrays = dict[str, NDArray[Any]]

_STORED_AS = {"b": "|u1", "u": "<i8", "i": "<i8"}  # the container has no other dtypes of these kinds
_DTYPES = {
    "f": ("float64", "float32"),
    "i": ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"),
    "b": ("bool",),
}


@dataclass
class Output:
    """Where fields write: the arrays of a file, and how estimators inside of others are written."""

    arrays: Arrays
    encode_estimator: Callable[[Any, str], Any]
    what: str = "the model"  # the estimator that is written, for errors


@dataclass
class Source:
    """Where fields read: the arrays of a file, the sizes known so far, and how estimators inside of others are read."""

    arrays: CheckedArrays
    decode_estimator: Callable[[Any, str], Any]
    sizes: dict[str, Any] = field(default_factory=dict)
    class_bytes: list[int] = field(default_factory=lambda: [MAX_CLASS_BYTES])  # left for all arrays of classes together

    def inside(self) -> "Source":
        """For parts: they see the sizes of the whole, and have sizes of their own."""
        return Source(self.arrays, self.decode_estimator, dict(self.sizes), self.class_bytes)

    def size(self, name: int | str | None) -> Any:
        """A size that is known, or None."""
        return self.sizes.get(name) if isinstance(name, str) else name

    def bind(self, names: Sequence[int | str | None], shape: Sequence[int], what: str) -> None:
        """Set the sizes of these names, or check those that are set."""
        if len(names) != len(shape):
            raise ValueError(f"{what} has shape {tuple(shape)}.")
        for name, size in zip(names, shape, strict=True):
            known = self.sizes.setdefault(name, size) if isinstance(name, str) else name
            if known is not None and known != size:
                raise ValueError(f"{what} has shape {tuple(shape)}.")


class Field(Protocol):
    """What an attribute holds."""

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """``value`` as JSON, its arrays under names that begin with ``name``."""

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The opposite."""


Fields = Mapping[str, Field]


@dataclass(frozen=True)
class ArrayField:
    """An array of floats ("f"), integers ("i"), either ("fi") or booleans ("b") with at most three dimensions.

    Entries are at least ``low`` and at most ``high``, or less than the size ``below``.
    """

    kind: str
    shape: tuple[int | str | None, ...]
    low: float | None = None
    high: float | None = None
    below: str | None = None
    positive: bool = False
    nan: bool = False
    ascending: bool = False

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """The dtype in memory; the array itself goes to the arrays."""
        array = np.asarray(value)
        if array.ndim != len(self.shape) or str(array.dtype) not in self._dtypes():
            raise ModelFileError(
                f"{name} of {output.what} has dtype {array.dtype} and shape {array.shape}, which a model file does not "
                "hold."
            )
        stored = array.reshape(-1, array.shape[-1]) if array.ndim == 3 else array
        if array.dtype.str not in ("<f8", "<f4", "<i8", "<i4", "|u1"):
            stored = stored.astype(_STORED_AS.get(array.dtype.kind, array.dtype.newbyteorder("=").str))
        output.arrays[name] = stored
        return str(array.dtype)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The array after all checks."""
        dtype = np.dtype(check_choice(content, f"the dtype of {name}", self._dtypes()))
        kind = "f" if dtype.kind == "f" else "iu"
        stored = source.arrays.take(name, kind, *[None] * min(len(self.shape), 2), finite=not self.nan)
        array = self._unfolded(stored, name, source)
        source.bind(self.shape, array.shape, name)
        below = source.size(self.below)
        high = below - 1 if below is not None else 1 if dtype.kind == "b" else self.high
        low = 0 if (below is not None and self.low is None) or dtype.kind == "b" else self.low
        values = array[~np.isnan(array)] if self.nan else array
        if values.size and ((low is not None and values.min() < low) or (high is not None and values.max() > high)):
            raise ValueError(f"{name} is out of range.")
        if self.positive and not (values > 0).all():
            raise ValueError(f"{name} has entries that are not positive.")
        if self.ascending and (np.diff(array) <= 0).any():
            raise ValueError(f"{name} must be ascending.")
        converted = array.astype(dtype, copy=False)
        if converted.dtype != array.dtype and dtype.kind != "b" and not np.array_equal(converted, array):
            raise ValueError(f"{name} has entries that {dtype} does not hold.")
        return converted

    def _dtypes(self) -> tuple[str, ...]:
        return tuple(name for kind in self.kind for name in _DTYPES[kind])

    def _unfolded(self, stored: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
        if len(self.shape) < 3:
            return stored
        first, second = (source.size(size) for size in self.shape[:2])
        if stored.shape[0] != first * second:
            raise ValueError(f"{name} has shape {stored.shape}.")
        return stored.reshape(first, second, stored.shape[1])


@dataclass(frozen=True)
class EitherField:
    """One of two forms of array, distinguished by the number of dimensions: (r,) or (), for example."""

    fields: tuple[ArrayField, ...]

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As the form with as many dimensions."""
        ndim = np.ndim(value)
        return next((one for one in self.fields if len(one.shape) == ndim), self.fields[0]).encode(value, name, output)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """As the form with as many dimensions."""
        ndim = len(source.arrays.shape(name))
        one = next((one for one in self.fields if len(one.shape) == ndim), self.fields[0])
        return one.decode(content, name, source)


@dataclass(frozen=True)
class NumberOrField:
    """A number, or an array."""

    array: ArrayField

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As JSON, or as the array."""
        return NUMBER.encode(value, name, output) if np.isscalar(value) else self.array.encode(value, name, output)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """Either after all checks."""
        form: Field = self.array if isinstance(content, str) else NUMBER
        return form.decode(content, name, source)


@dataclass(frozen=True)
class SamplesField:
    """A dense array of floats, or one in CSR format, with finite entries."""

    shape: tuple[str | None, str]

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """The format, and the dtype of dense arrays."""
        if not issparse(value):
            return {"dense": ArrayField("f", self.shape).encode(value, name, output)}
        value = csr_array(value)
        for part in ("data", "indices", "indptr"):
            output.arrays[f"{name}.{part}"] = getattr(value, part)
        return {"sparse": str(value.dtype)}

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The array after all checks."""
        if isinstance(content, dict) and set(content) == {"dense"}:
            return ArrayField("f", self.shape).decode(content["dense"], name, source)
        (dtype,) = check_fields(content, "sparse")
        matrix = take_csr(f"{name}.", source.arrays, source.sizes[self.shape[1]], kind="fi")
        if str(matrix.dtype) != dtype:
            raise ValueError(f"{name} has another dtype than its document says.")
        source.bind(self.shape, matrix.shape, name)
        return matrix


def take_csr(prefix: str, arrays: CheckedArrays, p: int, kind: str = "f") -> csr_array:
    """A CSR matrix with ``p`` columns, after checks of its three arrays."""
    data = arrays.take(f"{prefix}data", kind, None)
    indices = arrays.indices(f"{prefix}indices", p, data.size)
    indptr = arrays.indices(f"{prefix}indptr", data.size + 1)
    if indptr.size < 2 or indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        raise ValueError(f"{prefix}indptr is not valid.")
    return csr_array((data, indices, indptr), shape=(indptr.size - 1, p))


@dataclass(frozen=True)
class ValueField:
    """A value as parameters are, of one of these types; numbers are finite and between ``low`` and ``high``."""

    types: tuple[type, ...]
    low: float | None = None
    high: float | None = None

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As JSON."""
        return encode(value, f"{name} of {output.what}")

    def decode(self, content: Any, name: str, source: Source) -> Any:  # noqa: ARG002
        """The value after all checks."""
        value = decode(content)
        if not isinstance(value, self.types) or (isinstance(value, bool) and bool not in self.types):
            raise ValueError(f"{name} has a value of another type.")
        if isinstance(value, numbers.Real):
            number = float(value)
            if not np.isfinite(number):
                raise ValueError(f"{name} is not finite.")
            if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
                raise ValueError(f"{name} is out of range.")
        return value


INTEGER = ValueField((numbers.Integral,), low=0, high=2**62)
NUMBER = ValueField((numbers.Real,))


@dataclass(frozen=True)
class FlagField:
    """True or false."""

    def encode(self, value: Any, name: str, output: Output) -> bool:  # noqa: ARG002
        """As JSON."""
        return bool(value)

    def decode(self, content: Any, name: str, source: Source) -> bool:  # noqa: ARG002
        """The value."""
        return check_bool(content)


@dataclass(frozen=True)
class ChoiceField:
    """One of some strings."""

    choices: tuple[str, ...]

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As JSON."""
        return encode(value, f"{name} of {output.what}")

    def decode(self, content: Any, name: str, source: Source) -> Any:  # noqa: ARG002
        """The value."""
        return check_choice(content, name, self.choices)


@dataclass(frozen=True)
class OptionalField:
    """A field, or None."""

    field: Field

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As the field, or null."""
        return None if value is None else self.field.encode(value, name, output)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """As the field, or None."""
        return None if content is None else self.field.decode(content, name, source)


@dataclass(frozen=True)
class ClassesField:
    """The different classes of a classifier, ``size`` of them; or with ``several`` a list of such, one per output."""

    size: str = "c"
    several: bool = False

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As JSON."""
        what = f"{name} of {output.what}"
        return [encode(one, what) for one in value] if isinstance(value, list) else encode(value, what)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """One array, or a list of them; ``sizes`` gets the number of classes of each output as ``classes``."""
        if isinstance(content, list):
            if not self.several or not content:
                raise ValueError(f"{name} must be one array of classes.")
            classes = [_take_classes(one, name, source) for one in content]
            source.sizes["classes"] = [one.size for one in classes]
            return classes
        one = _take_classes(content, name, source)
        source.bind((self.size,), one.shape, name)
        source.sizes["classes"] = [one.size]
        return one


def _take_classes(content: Any, name: str, source: Source) -> NDArray[Any]:
    classes = decode_classes(content, source.class_bytes)
    if classes.size == 0 or len(set(classes.tolist())) < classes.size:
        raise ValueError(f"{name} has no classes, or one of them twice.")
    return np.asarray(classes)


@dataclass(frozen=True)
class ListField:
    """A list, or with ``type`` a tuple, of ``length`` values of a field."""

    field: Field
    length: int | str | None = None
    type: Callable[[Any], Any] = list

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As a list."""
        return [self.field.encode(item, f"{name}.{i}", output) for i, item in enumerate(value)]

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The values."""
        if not isinstance(content, list):
            raise ValueError(f"{name} is not a list.")
        source.bind((self.length,), (len(content),), name)
        return self.type(self.field.decode(item, f"{name}.{i}", source.inside()) for i, item in enumerate(content))


@dataclass(frozen=True)
class RecordField:
    """An object that is made of its fields alone, such as a dataclass; those in ``optional`` are left out if None."""

    kind: Callable[..., Any]
    fields: Mapping[str, Field]
    optional: Mapping[str, Field] = field(default_factory=dict)

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As an object."""
        present = {key: one for key, one in self.optional.items() if getattr(value, key) is not None}
        return {
            key: one.encode(getattr(value, key), f"{name}.{key}", output)
            for key, one in {**self.fields, **present}.items()
        }

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The object."""
        has = content if isinstance(content, dict) else {}
        fields = {**self.fields, **{key: one for key, one in self.optional.items() if key in has}}
        values = check_fields(content, *fields)
        return self.kind(
            **{
                key: one.decode(value, f"{name}.{key}", source)
                for (key, one), value in zip(fields.items(), values, strict=True)
            }
        )


@dataclass(frozen=True)
class EstimatorField:
    """A fitted estimator, of one of the classes ``only`` if they are given; None if that is allowed."""

    only: tuple[str, ...] | None = None

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """As an object."""
        return output.encode_estimator(value, f"{name}.")

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The estimator."""
        if self.only is not None:
            check_choice(content["class"], f"the class of {name}", self.only)
        return source.decode_estimator(content, f"{name}.")
