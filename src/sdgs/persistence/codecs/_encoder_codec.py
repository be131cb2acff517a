"""The encoder of tables as JSON and arrays, and back: what it does with each column, and its vocabularies."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.persistence._container import CheckedArrays, ModelFileError
from sdgs.persistence.codecs._json_values import check_bool, check_fields, is_name
from sdgs.preprocessing import EncodedColumn, TableEncoder
from sdgs.preprocessing._category_columns import CategoryColumn, ListColumn
from sdgs.preprocessing._column_kinds import KINDS
from sdgs.preprocessing._date_parsing import DATE_FORMATS
from sdgs.preprocessing._fit_columns import ColumnEncoder
from sdgs.preprocessing._number_columns import DATE_PARTS, DateColumn, NumberColumn, NumberScaling
from sdgs.preprocessing._table_encoding import TableEncoding
from sdgs.preprocessing._text_columns import ANALYZERS, EmbeddedColumn, TermCounts, TextColumn

Arrays = dict[str, NDArray[Any]]

_PARAMETERS = ("kinds", "text", "max_categories", "sparse_output")
_FIRST_MOMENT, _LAST_MOMENT = (
    int(np.datetime64(year, "us").astype(np.int64)) for year in ("0001-01-01", "9999-12-31T23:59:59.999999")
)


def encode_encoder_parameters(encoder: TableEncoder) -> dict[str, Any]:
    """The parameters of an encoder as JSON; a file cannot hold functions."""
    parameters = encoder.get_params(deep=False)
    kinds = None if parameters["kinds"] is None else dict(parameters["kinds"])
    if callable(parameters["text"]) or any(callable(kind) for kind in (kinds or {}).values()):
        raise _function_error("a column of text")
    max_categories, is_sparse = parameters["max_categories"], parameters["sparse_output"]
    return {
        "kinds": kinds,
        "text": parameters["text"],
        "max_categories": int(max_categories),
        "sparse_output": is_sparse if isinstance(is_sparse, str) else bool(is_sparse),
    }


def _function_error(what: str) -> ModelFileError:
    return ModelFileError(
        f"{what} is encoded by a function, which a model file cannot hold. Apply the function to the table before the "
        "model, or keep the model in memory."
    )


def decode_encoder_parameters(content: Any) -> TableEncoder:
    """The opposite of :func:`encode_encoder_parameters`: an encoder that is not fitted."""
    kinds, text, max_categories, is_sparse = check_fields(content, *_PARAMETERS)
    if kinds is not None and not (isinstance(kinds, dict) and all(map(is_name, kinds))):
        raise ValueError("the kinds of its columns are not an object with names.")
    for kind in (kinds or {}).values():
        check_choice(kind, "the kind of a column", KINDS)
    if not isinstance(text, str):
        raise ValueError("it does not say how text is encoded.")
    encoder = TableEncoder(kinds, text=text, max_categories=max_categories, sparse_output=is_sparse)
    encoder._options()
    return encoder


def encode_encoder(encoder: TableEncoder, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """A fitted encoder as JSON; its vocabularies are added to ``arrays`` under names with this prefix."""
    encoding = encoder._encoding
    return {
        "parameters": encode_encoder_parameters(encoder),
        "named": hasattr(encoder, "feature_names_in_"),
        "sparse": encoding.is_sparse,
        "columns": [
            {
                "name": record.name,
                "kind": record.kind,
                "reason": record.reason,
                "note": record.note,
                "encoder": _encode_column(encoding.encoders.get(record.name), f"{prefix}encoder{i}.", arrays),
            }
            for i, record in enumerate(encoding.records)
        ],
    }


def decode_encoder(content: Any, prefix: str, arrays: CheckedArrays) -> TableEncoder:
    """The opposite of :func:`encode_encoder`."""
    parameters, is_named, is_sparse, columns = check_fields(content, "parameters", "named", "sparse", "columns")
    encoder = decode_encoder_parameters(parameters)
    if not isinstance(columns, list) or not columns:
        raise ValueError("its encoder has no columns.")
    records: list[EncodedColumn] = []
    encoders: dict[str, ColumnEncoder] = {}
    for i, column in enumerate(columns):
        name, kind, reason, note, fitted = check_fields(column, "name", "kind", "reason", "note", "encoder")
        if not all(map(is_name, (name, reason, note))):
            raise ValueError("its encoder has a column whose name or description is not a string.")
        check_choice(kind, "the kind of a column", KINDS)
        n_features = 0
        if kind != "drop":
            encoders[name] = _DECODERS[kind](name, fitted, f"{prefix}encoder{i}.", arrays, check_bool(is_sparse))
            n_features = len(encoders[name].names)
        elif fitted is not None:
            raise ValueError(f"the column {name!r} is dropped, and has an encoder.")
        records.append(EncodedColumn(name, kind, reason, n_features, note))
    names = [record.name for record in records]
    if len(set(names)) < len(names) or not encoders:
        raise ValueError("its encoder has two columns of one name, or none that is used.")
    encoder.n_features_in_ = len(names)
    if check_bool(is_named):
        encoder.feature_names_in_ = np.array(names, dtype=object)
    encoder._encoding = TableEncoding(tuple(records), encoders, check_bool(is_sparse))
    return encoder


def _encode_column(encoder: ColumnEncoder | None, prefix: str, arrays: Arrays) -> Any:
    if isinstance(encoder, NumberColumn):
        return {"levels": _as_list(encoder.levels), "scaling": _encode_scaling(encoder.scaling)}
    if isinstance(encoder, DateColumn):
        return {
            "form": encoder.form,
            "origin": int(encoder.origin.astype("datetime64[us]").astype(np.int64)),
            "parts": list(encoder.parts),
            "scaling": _encode_scaling(encoder.scaling),
        }
    if isinstance(encoder, CategoryColumn):
        return {"values": list(encoder.values), "rare": encoder.has_rare, "missing": encoder.has_missing}
    if isinstance(encoder, ListColumn):
        return {"values": list(encoder.values)}
    if isinstance(encoder, TextColumn):
        for part in encoder.parts:
            arrays[f"{prefix}{part.analyzer}"] = _encode_terms(part.terms, encoder.name)
        return {"analyzers": [part.analyzer for part in encoder.parts]}
    if isinstance(encoder, EmbeddedColumn):
        raise _function_error(f"the column {encoder.name!r}")
    return None


def _as_list(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _encode_scaling(scaling: NumberScaling) -> dict[str, Any]:
    return {
        "mean": scaling.mean.tolist(),
        "scale": scaling.scale.tolist(),
        "had_missing": scaling.had_missing.tolist(),
    }


def _encode_terms(terms: tuple[str, ...], name: str) -> NDArray[np.uint8]:
    """The terms, none of which has a line break, as lines of UTF-8."""
    try:
        return np.frombuffer("\n".join(terms).encode(), dtype=np.uint8)
    except UnicodeEncodeError:
        raise ModelFileError(
            f"column {name!r} has words with surrogates, which are no characters. Remove them from the text."
        ) from None


def _decode_number(name: str, content: Any, _prefix: str, _arrays: CheckedArrays, fills: bool) -> NumberColumn:
    levels, scaling = check_fields(content, "levels", "scaling")
    if levels is not None:
        _check_strings(levels, "the ordered categories")
    return NumberColumn(name, _decode_scaling(scaling, 1, fills), None if levels is None else tuple(levels))


def _decode_date(name: str, content: Any, _prefix: str, _arrays: CheckedArrays, fills: bool) -> DateColumn:
    form, origin, parts, scaling = check_fields(content, "form", "origin", "parts", "scaling")
    if form is not None:
        check_choice(form, "the form of dates", tuple(DATE_FORMATS))
    if not _FIRST_MOMENT <= check_int(origin, "the origin of dates", minimum=_FIRST_MOMENT) <= _LAST_MOMENT:
        raise ValueError("the origin of dates is not in the years 1 to 9999.")
    if not isinstance(parts, list) or not parts or [part for part in DATE_PARTS if part in parts] != parts:
        raise ValueError(f"the parts of dates must be some of {', '.join(DATE_PARTS)}, in this order.")
    moment = np.datetime64(origin, "us")
    return DateColumn(name, form, moment, tuple(parts), _decode_scaling(scaling, len(parts), fills))


def _decode_scaling(content: Any, size: int, fills: bool) -> NumberScaling:
    mean, scale, had_missing = check_fields(content, "mean", "scale", "had_missing")
    for values in (mean, scale, had_missing):
        if not isinstance(values, list) or len(values) != size:
            raise ValueError(f"the scaling of a column must have {size} numbers.")
    if not all(isinstance(value, float) for value in mean):
        raise ValueError("the mean of a column is not a number.")
    for value in scale:
        check_number(value, "the scale of a column", positive=True)
    flags = np.array([check_bool(value) for value in had_missing])
    return NumberScaling(np.array(mean, dtype=np.float64), np.array(scale, dtype=np.float64), flags, fills)


def _decode_category(name: str, content: Any, _prefix: str, _arrays: CheckedArrays, _fills: bool) -> CategoryColumn:
    values, has_rare, has_missing = check_fields(content, "values", "rare", "missing")
    _check_strings(values, "the categories", ascending=True)
    column = CategoryColumn(name, tuple(values), check_bool(has_rare), check_bool(has_missing))
    if not column.names:
        raise ValueError(f"the column {name!r} has no categories.")
    return column


def _decode_list(name: str, content: Any, _prefix: str, _arrays: CheckedArrays, _fills: bool) -> ListColumn:
    (values,) = check_fields(content, "values")
    _check_strings(values, "the values of lists", ascending=True)
    if not values:
        raise ValueError(f"the column {name!r} has no values.")
    return ListColumn(name, tuple(values))


def _decode_text(name: str, content: Any, prefix: str, arrays: CheckedArrays, _fills: bool) -> TextColumn:
    (analyzers,) = check_fields(content, "analyzers")
    if not isinstance(analyzers, list) or not analyzers or [a for a in ANALYZERS if a in analyzers] != analyzers:
        raise ValueError(f"the analyzers of a text must be some of {', '.join(ANALYZERS)}, in this order.")
    return TextColumn(
        name, tuple(TermCounts(analyzer, _decode_terms(f"{prefix}{analyzer}", arrays)) for analyzer in analyzers)
    )


def _decode_terms(array_name: str, arrays: CheckedArrays) -> tuple[str, ...]:
    try:
        terms = arrays.take(array_name, "u", None).tobytes().decode().split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{array_name} is not UTF-8.") from None
    _check_strings(terms, array_name, ascending=True)
    if not terms[0]:
        raise ValueError(f"{array_name} has an empty word.")
    return tuple(terms)


def _check_strings(values: Any, what: str, *, ascending: bool = False) -> None:
    """Check a list of different strings; ``ascending``: in the order of Python."""
    if not isinstance(values, list) or not all(map(is_name, values)) or len(set(values)) < len(values):
        raise ValueError(f"{what} must be different strings.")
    if ascending and sorted(values) != values:
        raise ValueError(f"{what} are not sorted.")


_DECODERS: dict[str, Callable[[str, Any, str, CheckedArrays, bool], ColumnEncoder]] = {
    "number": _decode_number,
    "boolean": _decode_category,
    "category": _decode_category,
    "date": _decode_date,
    "list": _decode_list,
    "text": _decode_text,
}
