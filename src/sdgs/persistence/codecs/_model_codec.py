"""A fitted model as JSON and arrays, and back. docs/model-format.md specifies both.

Reading trusts nothing: every field is checked, and every array against all others, before there is a model. Writing
goes through the same checks, so that what is written can be read.
"""

import json
import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int, check_number
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
from sdgs.persistence.codecs._encoder_codec import (
    decode_encoder,
    decode_encoder_parameters,
    encode_encoder,
    encode_encoder_parameters,
)
from sdgs.persistence.codecs._json_values import (
    check_bool,
    check_fields,
    decode,
    decode_classes,
    decode_columns,
    decode_dtype,
    encode,
    encode_columns,
    encode_dtype,
    is_name,
)
from sdgs.persistence.codecs._pipeline_codec import decode_pipeline, encode_pipeline
from sdgs.preprocessing import TableEncoder
from sdgs.readout._calibration import Calibration
from sdgs.readout._decision import TARGET_METRICS, Decision
from sdgs.readout._out_of_fold import OutOfFold

FORMAT = "sdgs-model"
VERSION = 1
_CLASSES = ("SDGSClassifier", "SDGSClassifierCV")
_OPTIONAL_FIELDS = ("names", "encoder", "column_formats")
_NOT_STORED = ("checkpoint",)  # a file does not decide where a program writes
_MAX_THREADS = 1024  # that a file may ask for
_MAX_FEATURES_WITHOUT_ARRAYS = 1 << 20  # if all subspaces are empty, no array has a column per feature


def save_model(
    model: Any, path: Path, names: dict[str, Any], column_formats: Mapping[str, ColumnFormat] | None = None
) -> None:
    """Write a fitted model, and the names of its ``features`` and ``labels`` and formats where they are not None."""
    kind = _check_class(model)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist. Create it first.")
    document, arrays = _encode_model(model)
    given_names = {what: list(values) for what, values in names.items() if values is not None}
    if given_names:
        document["names"] = given_names
    if column_formats is not None:
        document["column_formats"] = {name: asdict(format_) for name, format_ in column_formats.items()}
    try:
        _decode_model(kind, document, CheckedArrays(arrays))
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"the model cannot be stored in a model file: {error}") from error
    write(path, FORMAT, VERSION, __version__, document, arrays)


def check_storable(model: Any, names: Mapping[str, Sequence[str]]) -> None:
    """Raise the errors of :func:`save_model` that are known before the model is fitted: about parameters and names."""
    kind = _check_class(model)
    try:
        _decode_parameters(kind, _encode_parameters(model))
        for what, values in names.items():
            _check_given_names(what, list(values))
        check_header_size(len(json.dumps(json.dumps({what: list(values) for what, values in names.items()}))))
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"the model could not be stored in a model file: {error}") from None


def _check_class(model: Any) -> Any:
    kind = type(model)
    if kind.__name__ not in _CLASSES or not kind.__module__.startswith("sdgs."):
        raise ModelFileError(f"a model file holds {' or '.join(_CLASSES)}; this is a {kind.__qualname__}.")
    return kind


def load_model(path: Path, classes: Sequence[Any]) -> Any:
    """Read a model of one of these classes."""
    content = read(path, FORMAT, (VERSION,))
    try:
        by_name = {kind.__name__: kind for kind in classes}
        kind = by_name[check_choice(content.document["class"], "class", tuple(by_name))]
        return _decode_model(kind, content.document, CheckedArrays(content.arrays))
    except CONTENT_ERRORS as error:
        raise ModelFileError(
            f"{path}, written by sdgs {content.written_by[:40]!r}, does not hold a model that sdgs can use: "
            f"{reason_of(error)}"
        ) from None


def _encode_model(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays: dict[str, NDArray[Any]] = {}
    encoder = model.encoder_
    names = None if encoder is not None else getattr(model, "feature_names_in_", None)
    document = {
        "class": type(model).__name__,
        "parameters": _encode_parameters(model),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "features": {
            "number": int(model.n_features_in_) if encoder is None else len(encoder.get_feature_names_out()),
            "names": None if names is None else [encode(str(name), "a feature name") for name in names],
        },
        "target": _encode_target(model),
        "pipelines": [
            encode_pipeline(pipeline, f"pipeline{i}.", arrays) for i, pipeline in enumerate(model._pipelines)
        ],
        "readout": None,
        "search": None,
    }
    if model._pipelines[0].ridge is not None:
        decision = model._decision
        document["readout"] = {
            "penalty": encode(model.penalty_, "penalty_"),
            "read_from": encode(model.read_from_, "read_from_"),
            "metric": decision.metric,
            "at_least_one": bool(decision.at_least_one),
            "top": decision.top,
        }
        arrays["calibration.slope"], arrays["calibration.offset"] = model._calibration.slope, model._calibration.offset
        if decision.thresholds is not None:
            arrays["thresholds"] = decision.thresholds
        arrays["out_of_fold.probabilities"] = model._out_of_fold.probabilities
        arrays["out_of_fold.rows"] = model._out_of_fold.rows.astype(np.int64, copy=False)
    if type(model).__name__ == "SDGSClassifierCV":
        document["search"] = encode({"results": model.cv_results_, "best_score": model.best_score_}, "cv_results_")
    if encoder is not None:
        document["encoder"] = encode_encoder(encoder, arrays)
    return document, arrays


def _decode_model(kind: Any, document: Any, arrays: CheckedArrays) -> Any:
    given_names = encoder = formats = None
    if isinstance(document, dict):
        given_names, encoder, formats = (document.get(name) for name in _OPTIONAL_FIELDS)
        document = {name: value for name, value in document.items() if name not in _OPTIONAL_FIELDS}
    _, parameters, output, features, target, pipelines, readout, search = check_fields(
        document, "class", "parameters", "output", "features", "target", "pipelines", "readout", "search"
    )
    model = _decode_parameters(kind, parameters)
    if output is not None:
        model.set_output(transform=check_choice(output, "output", ("default", "pandas", "polars")))
    p = _decode_features(model, features, arrays.n_bytes)
    _decode_encoder(model, encoder, p, arrays)
    if formats is not None:
        model.column_formats_ = _decode_column_formats(formats)
        used = [] if model.encoder_ is None else [c.name for c in model.encoder_.columns_ if c.kind != "drop"]
        if not set(used) <= set(model.column_formats_) or (not used and len(model.column_formats_) != p):
            raise ValueError("it does not have the format of each of its columns.")
    k = math.prod(arrays.shape("pipeline0.ranks"))
    _decode_target(model, target, k)
    if given_names is not None:
        _decode_given_names(model, given_names, {"features": p, "labels": k})
    if not isinstance(pipelines, list) or not pipelines:
        raise ValueError("it has no pipelines.")
    model._pipelines = [
        decode_pipeline(content, f"pipeline{i}.", arrays, p, k, has_ridge=readout is not None)
        for i, content in enumerate(pipelines)
    ]
    model._out_of_fold = None
    if readout is not None:
        _decode_readout(model, readout, k, arrays)
        n = model._pipelines[0].features.decomposition.shape[0]
        model._out_of_fold = _decode_out_of_fold(n, k, arrays)
    elif len(pipelines) > 1 or model.readout != "norm":
        raise ValueError('without a ridge regression it must have one pipeline, and readout="norm".')
    model._set_attributes(model._pipelines[0])
    if (search is not None) != (kind.__name__ == "SDGSClassifierCV"):
        raise ValueError("only SDGSClassifierCV has the results of a search.")
    if search is not None:
        _decode_search(model, search)
    arrays.check_all_taken()
    return model


def _decode_features(model: Any, content: Any, n_bytes: int) -> int:
    """The number of features. A file whose arrays have ``n_bytes`` may not claim many more."""
    number, names = check_fields(content, "number", "names")
    model.n_features_in_ = p = check_int(number, "the number of features", minimum=1)
    if names is None and p > max(n_bytes, _MAX_FEATURES_WITHOUT_ARRAYS):
        raise ValueError(f"it claims {p} features, but its arrays have only {n_bytes} bytes.")
    if names is not None:
        if not isinstance(names, list) or len(names) != p or not all(map(is_name, names)):
            raise ValueError(f"it does not have {p} feature names.")
        model.feature_names_in_ = np.array(names, dtype=object)
    return p


def _decode_encoder(model: Any, content: Any, p: int, arrays: CheckedArrays) -> None:
    """The encoder of tables, if there is one, which makes the ``p`` features."""
    model.encoder_ = None
    if content is None:
        return
    model.encoder_ = encoder = decode_encoder(content, arrays)
    if len(encoder.get_feature_names_out()) != p or hasattr(model, "feature_names_in_"):
        raise ValueError(f"its encoder does not make {p} features, or these have other names.")
    model.n_features_in_ = encoder.n_features_in_
    if hasattr(encoder, "feature_names_in_"):
        model.feature_names_in_ = encoder.feature_names_in_


def _decode_column_formats(content: Any) -> dict[str, ColumnFormat]:
    """How the columns of tables are read."""
    if not isinstance(content, dict) or not content or not all(map(is_name, content)):
        raise ValueError("the formats of its columns have no names.")
    fields = ("kind", "decimal", "others_missing")
    return {name: ColumnFormat(*check_fields(values, *fields)) for name, values in content.items()}


def _decode_search(model: Any, content: Any) -> None:
    results, score = check_fields(decode(content), "results", "best_score")
    if not isinstance(results, dict) or not all(isinstance(column, list) for column in results.values()):
        raise ValueError("the results of its search are not lists.")
    if not isinstance(score, float):
        raise ValueError("the best score of its search is not a number.")
    parameters = model._pipelines[0].features.parameters
    model.cv_results_, model.best_score_, model.best_params_ = results, score, parameters.as_dict()
    model.n_components_, model.alpha_ = parameters.n_components, parameters.alpha


def _decode_given_names(model: Any, content: Any, sizes: dict[str, int]) -> None:
    """Names that were given to ``save`` because the arrays had none."""
    if not isinstance(content, dict) or not content or not set(content) <= set(sizes):
        raise ValueError(f"it has names of something else than {' and '.join(sizes)}.")
    for what, names in content.items():
        _check_given_names(what, names)
        if len(names) != sizes[what]:
            raise ValueError(f"it must have {sizes[what]} names of {what}, and has {len(names)}.")
        setattr(model, f"{what[:-1]}_names_", tuple(names))


def _check_given_names(what: str, names: Any) -> None:
    if not isinstance(names, list) or not all(map(is_name, names)):
        raise ValueError(f"the names of {what} must be strings, without surrogates.")
    if len(set(names)) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise ValueError(f"two {what} are named {repeated!r}. Rename one, because columns are found by name.")


def _encode_parameters(model: Any) -> dict[str, Any]:
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_STORED}
    if isinstance(parameters["random_state"], np.random.RandomState):
        warnings.warn(
            "random_state is a RandomState, which a model file cannot hold: the loaded model has None in its place. "
            "Predictions do not depend on it.",
            stacklevel=4,
        )
        parameters["random_state"] = None
    if isinstance(parameters["encode"], TableEncoder):
        encoder = {"encoder": encode_encoder_parameters(parameters.pop("encode"))}
        return {
            **{name: encode(value, f"the parameter {name}") for name, value in parameters.items()},
            "encode": encoder,
        }
    return {name: encode(value, f"the parameter {name}") for name, value in parameters.items()}


def _decode_parameters(kind: Any, content: Any) -> Any:
    """A model that is not fitted. Parameters that the file does not have take their defaults."""
    if not isinstance(content, dict):
        raise ValueError("it has no parameters.")
    unknown = set(content) - (set(kind._get_param_names()) - set(_NOT_STORED))
    if unknown:
        raise ValueError(f"this version of {kind.__name__} has no parameter {min(unknown)!r}.")
    model = kind(**{name: _decode_parameter(value) for name, value in content.items()})
    model._check_parameters()
    if model.n_jobs is not None and model.n_jobs > _MAX_THREADS:
        raise ValueError(f"n_jobs is {model.n_jobs}. A model file may ask for at most {_MAX_THREADS} threads.")
    return model


def _decode_parameter(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"encoder"}:
        return decode_encoder_parameters(value["encoder"])
    return decode(value)


def _encode_target(model: Any) -> dict[str, Any]:
    if model._is_multiclass:
        return {"form": "classes", "classes": encode(model.classes_, "classes_")}
    dtype = encode_dtype(model._label_dtype, "y")
    if model._label_columns is not None:
        return {"form": "frame", "dtype": dtype, **encode_columns(model._label_columns)}
    return {"form": "matrix", "dtype": dtype, "sparse": model._sparse_labels}


def _decode_target(model: Any, content: Any, k: int) -> None:
    """The form in which ``k`` labels are returned."""
    form = check_choice(content["form"], "form", ("classes", "frame", "matrix"))
    model._is_multiclass = form == "classes"
    model._sparse_labels, model._label_columns = False, None
    if form == "classes":
        model.classes_ = decode_classes(check_fields(content, "form", "classes")[1])
    elif form == "matrix":
        _, dtype, sparse = check_fields(content, "form", "dtype", "sparse")
        model._label_dtype, model._sparse_labels = decode_dtype(dtype), check_bool(sparse)
        model.classes_ = np.arange(k)
    else:
        _, dtype, *_ = check_fields(content, "form", "dtype", "names", "names_dtype", "names_name", "dtypes")
        model._label_dtype, model._label_columns = decode_dtype(dtype), decode_columns(content)
        model.classes_ = np.empty(len(model._label_columns), dtype=object)
        model.classes_[:] = list(model._label_columns.index)
    if len(model.classes_) != k:
        raise ValueError(f"it has {k} labels and {len(model.classes_)} label names.")


def _decode_readout(model: Any, content: Any, k: int, arrays: CheckedArrays) -> None:
    """Calibration and decision."""
    penalty, read_from, metric, at_least_one, top = check_fields(
        content, "penalty", "read_from", "metric", "at_least_one", "top"
    )
    best = model._pipelines[0]
    blocks = best.features.block_names
    model.penalty_, model.read_from_ = decode(penalty), decode(read_from)
    if model.read_from_ not in [blocks[:n] for n in range(1, len(blocks) + 1)]:
        raise ValueError(f"read_from must be the first of {', '.join(blocks)}.")
    if best.features.width_of(model.read_from_) != best.ridge.coef.shape[1]:
        raise ValueError("read_from and ridge.coef have different numbers of columns.")
    check_number(model.penalty_, "penalty_", positive=True)
    slope, offset = (arrays.take(f"calibration.{name}", "f", k) for name in ("slope", "offset"))
    model._calibration = Calibration(slope, offset)
    thresholds = None
    if arrays.has("thresholds"):
        thresholds = arrays.take("thresholds", "f", *((k,) if arrays.shape("thresholds") else ()))
    if top is not None:
        check_int(top, "top", minimum=1)
    metric = check_choice(metric, "metric", TARGET_METRICS)
    model._decision = Decision(metric, check_bool(at_least_one), thresholds, top)


def _decode_out_of_fold(n: int, k: int, arrays: CheckedArrays) -> OutOfFold:
    """The out-of-fold probabilities of some of ``n`` training samples."""
    rows = arrays.indices("out_of_fold.rows", n)
    if rows.size == 0 or (np.diff(rows) <= 0).any():
        raise ValueError("out_of_fold.rows must be ascending, and at least one.")
    P = arrays.take("out_of_fold.probabilities", "f", rows.size, k)
    if P.dtype != np.float32 or P.min() < 0 or P.max() > 1:
        raise ValueError("out_of_fold.probabilities must be float32, between 0 and 1.")
    return OutOfFold(P, rows.astype(np.intp, copy=False))
