"""A fitted model as JSON and arrays, and back. docs/model-format.md specifies both.

Reading trusts nothing: every field is checked, and every array against all others, before there is a model. Writing
goes through the same checks, so that what is written can be read.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline

from sdgs._utils._last_step import last_step, number_of_features
from sdgs._utils._version import __version__
from sdgs.datasets.readers._column_format import ColumnFormat
from sdgs.persistence._container import (
    CONTENT_ERRORS,
    CheckedArrays,
    ModelFileError,
    check_header_size,
    read,
    reason_of,
    write,
)
from sdgs.persistence.codecs._estimator_codec import Decoder, Encoder, is_of_this_package
from sdgs.persistence.codecs._json_values import check_fields, is_name
from sdgs.persistence.codecs._sdgs_codec import SDGS_CLASSES
from sdgs.preprocessing._table_encoder import encoder_of

FORMAT = "sdgs-model"
VERSION = 1
_OPTIONAL_FIELDS = ("names", "sklearn", "column_formats")


def save_model(
    model: Any, path: Path, names: dict[str, Any], column_formats: Mapping[str, ColumnFormat] | None = None
) -> None:
    """Write a fitted model, and the names of its ``features`` and ``labels`` and formats where they are not None."""
    encoder = Encoder()
    _check_class(model)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist. Create it first.")
    document = encoder.encode(model)
    if type(model).__name__ not in SDGS_CLASSES:
        document["sklearn"] = sklearn.__version__
    given_names = {what: list(values) for what, values in names.items() if values is not None}
    if given_names:
        document["names"] = given_names
    if column_formats is not None:
        document["column_formats"] = {name: asdict(format_) for name, format_ in column_formats.items()}
    try:
        _decode_model(document, CheckedArrays(encoder.arrays), encoder.classes)
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"the model cannot be stored in a model file: {error}") from error
    write(path, FORMAT, VERSION, __version__, document, encoder.arrays)


def check_storable(model: Any, names: Mapping[str, Sequence[str]]) -> None:
    """Raise the errors of :func:`save_model` that are known before the model is fitted: about parameters and names."""
    _check_class(model)
    try:
        encoder = Encoder()
        content = encoder.encode_parameters(model)
        Decoder(CheckedArrays({}), encoder.classes).decode_parameters(type(model), content)
        for what, values in names.items():
            _check_given_names(what, list(values))
        check_header_size(len(json.dumps(json.dumps({what: list(values) for what, values in names.items()}))))
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"the model could not be stored in a model file: {error}") from None


def _check_class(model: Any) -> None:
    last = last_step(model)
    if (type(model) is not Pipeline and last is not model) or not is_of_this_package(last):
        what = type(last).__qualname__ if last is model else f"a Pipeline that ends with a {type(last).__qualname__}"
        raise ModelFileError(
            f"a model file holds an estimator of sdgs, or a Pipeline that ends with one; this is a {what}."
        )


def load_model(path: Path, classes: Sequence[Any]) -> Any:
    """Read a model of one of these classes, or a pipeline whose last step is one."""
    content = read(path, FORMAT, (VERSION,))
    try:
        by_name = {kind.__name__: kind for kind in classes}
        return _decode_model(content.document, CheckedArrays(content.arrays), by_name)
    except CONTENT_ERRORS as error:
        written = content.document.get("sklearn") if isinstance(content.document, dict) else None
        versions = f" and scikit-learn {written[:40]!r}" if isinstance(written, str) else ""
        raise ModelFileError(
            f"{path}, written by sdgs {content.written_by[:40]!r}{versions}, does not hold a model that sdgs can use: "
            f"{reason_of(error)}"
        ) from None


def _decode_model(document: Any, arrays: CheckedArrays, classes: dict[str, Any]) -> Any:
    if not isinstance(document, dict):
        raise ValueError("its document is not an object.")
    given_names, written_by = document.get("names"), document.get("sklearn")
    if ("names" in document and given_names is None) or ("sklearn" in document and not isinstance(written_by, str)):
        raise ValueError("its names, or its version of scikit-learn, are damaged.")
    decoder = Decoder(arrays, classes)
    model = decoder.decode({key: value for key, value in document.items() if key not in _OPTIONAL_FIELDS})
    _check_class(model)
    if given_names is not None:
        _decode_given_names(model, given_names)
    if "column_formats" in document:
        model.column_formats_ = _decode_column_formats(document["column_formats"], model)
    arrays.check_all_taken()
    return model


def _decode_column_formats(content: Any, model: Any) -> dict[str, ColumnFormat]:
    """How the columns of tables are read."""
    if not isinstance(content, dict) or not content or not all(map(is_name, content)):
        raise ValueError("the formats of its columns have no names.")
    fields = ("kind", "decimal", "others_missing")
    formats = {name: ColumnFormat(*check_fields(values, *fields)) for name, values in content.items()}
    encoder = encoder_of(model)
    used = [] if encoder is None else [column.name for column in encoder.columns_ if column.kind != "drop"]
    if not set(used) <= set(formats) or (encoder is None and len(formats) != number_of_features(model)):
        raise ValueError("it does not have the format of each of its columns.")
    return formats


def _decode_given_names(model: Any, content: Any) -> None:
    """Names that were given to ``save`` because the arrays had none: those of features belong to a pipeline itself."""
    last = last_step(model)
    owners = {"features": model, "labels": last}
    sizes = {"features": number_of_features(model), "labels": len(last.classes_)}
    if not isinstance(content, dict) or not content or not set(content) <= set(sizes):
        raise ValueError(f"it has names of something else than {' and '.join(sizes)}.")
    for what, names in content.items():
        _check_given_names(what, names)
        if len(names) != sizes[what]:
            raise ValueError(f"it must have {sizes[what]} names of {what}, and has {len(names)}.")
        setattr(owners[what], f"{what[:-1]}_names_", tuple(names))


def _check_given_names(what: str, names: Any) -> None:
    if not isinstance(names, list) or not all(map(is_name, names)):
        raise ValueError(f"the names of {what} must be strings, without surrogates.")
    if len(set(names)) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise ValueError(f"two {what} are named {repeated!r}. Rename one, because columns are found by name.")
