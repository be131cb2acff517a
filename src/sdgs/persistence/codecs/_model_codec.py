"""A fitted model as JSON and arrays, and back. docs/model-format.md says what each means.

Reading trusts nothing: every field is checked, and every array against all others, before there is a model. Writing
goes through the same checks, so that what is written can be read.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs._utils._version import __version__
from sdgs.persistence._container import BROKEN, ArraysOf, ModelFileError, read, write
from sdgs.persistence.codecs._json_values import (
    decoded,
    decoded_columns,
    dtype_name,
    dtype_of,
    encoded,
    encoded_columns,
)
from sdgs.persistence.codecs._pipeline_codec import describe_member, fields_of, flag, restored_member
from sdgs.readout._calibration import Calibration
from sdgs.readout._decision import METRICS, Decision
from sdgs.readout._features import FEATURE_BLOCKS

FORMAT = "sdgs-model"
VERSION = 5
_CLASSES = ("SDGSClassifier", "SDGSClassifierCV")
_NOT_STORED = ("checkpoint",)  # where to write is no business of a file
_MOST_THREADS = 1024  # that a file may ask for


def save_model(model: Any, path: Path, names: dict[str, Any]) -> None:
    """Write a fitted model, and the names of its ``features`` and ``labels`` if they are not None."""
    kind = type(model)
    if kind.__name__ not in _CLASSES or not kind.__module__.startswith("sdgs."):
        raise ModelFileError(f"a model file holds {' or '.join(_CLASSES)}; this is a {kind.__qualname__}.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist. Create it first.")
    document, arrays = _described(model)
    given = {what: list(one) for what, one in names.items() if one is not None}
    if given:
        document["names"] = given
    try:
        _restored(kind, document, ArraysOf(arrays))
    except BROKEN as error:
        raise ModelFileError(f"the model cannot be stored in a model file: {error}") from error
    write(path, FORMAT, VERSION, __version__, document, arrays)


def load_model(path: Path, kinds: Sequence[Any]) -> Any:
    """Read a model of one of the classes ``kinds``."""
    content = read(path, FORMAT, range(1, VERSION + 1))
    try:
        by_name = {kind.__name__: kind for kind in kinds}
        kind = by_name[check_choice(content.document["class"], "class", tuple(by_name))]
        document = content.document
        for version in range(content.version, VERSION):
            document = _UPDATES[version](document)
        return _restored(kind, document, ArraysOf(content.arrays))
    except BROKEN as error:
        raise ModelFileError(
            f"{path}, written by sdgs {content.written_by[:40]!r}, does not hold a model that sdgs can use: "
            f"{str(error) or type(error).__name__}"
        ) from None


def _members_with(document: Any, fields: Callable[[Any], dict[str, Any]], without: Sequence[str] = ()) -> Any:
    """A document whose members have fields that they had not in an older version, and others no longer."""
    members = []
    for member in document["members"]:
        new = fields(member)
        if any(name in member for name in new):
            raise ValueError(f"its version has no {', '.join(new)} yet.")
        members.append({name: value for name, value in member.items() if name not in without} | new)
    return document | {"members": members}


def _plain(gamma: Any) -> float | None:
    """A setting's, which may be of numpy, or none."""
    gamma = decoded(gamma)
    return None if gamma is None else float(gamma)


def _with_kernels_by_name(document: Any) -> Any:
    """Version 3 had kernels of one kind, and norms that were read or not."""

    def kernel(member: Any) -> dict[str, Any]:
        gamma = member["landmarks_gamma"]
        if (gamma is None) != (member["landmarks_seed"] is None):
            raise ValueError("landmarks_seed and landmarks_gamma are of a kernel.")
        return {"kernel": None if gamma is None else {"name": "rbf", "gamma": gamma}, "reads_kernel_first": False}

    document = _members_with(document, kernel, ("landmarks_seed", "landmarks_gamma"))
    readout, search = document["readout"], decoded(document["search"])
    if readout is not None:
        read_from = _read_from(document["members"][0]["kernel"], flag(readout["uses_norms"]))
        readout = {name: value for name, value in readout.items() if name != "uses_norms"}
        readout["read_from"] = encoded(read_from, "read_from_")
    if search is not None:
        results = search["results"]
        used = zip(results["params"], results.pop("uses_norms"), strict=True)
        results["read_from"] = [_read_from(params["gamma"], flag(norms)) for params, norms in used]
    return document | {"readout": readout, "search": encoded(search, "cv_results_")}


def _with_mapped_kernels(document: Any) -> Any:
    """Version 4 had kernels that were mapped."""
    members = []
    for member in document["members"]:
        kernel = member["kernel"]
        if kernel is not None and "mapped" in kernel:
            raise ValueError("its version has no mapped yet.")
        members.append(member | {"kernel": None if kernel is None else kernel | {"mapped": True}})
    return document | {"members": members}


def _read_from(kernel: Any, uses_norms: bool) -> tuple[str, ...]:
    """What a model of version 3 or before reads, with a kernel or without (None)."""
    parts = FEATURE_BLOCKS[kernel is None :]
    return parts if uses_norms else parts[:-1]


# What a document of a version would say in the next one.
_UPDATES: Mapping[int, Callable[[Any], Any]] = {
    1: lambda document: _members_with(document, lambda _: {"norm": "l1"}),
    2: lambda document: _members_with(document, lambda member: {"landmarks_gamma": _plain(member["setting"]["gamma"])}),
    3: _with_kernels_by_name,
    4: _with_mapped_kernels,
}


def _described(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays: dict[str, NDArray[Any]] = {}
    names = getattr(model, "feature_names_in_", None)
    document = {
        "class": type(model).__name__,
        "parameters": _described_parameters(model),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "features": {
            "number": int(model.n_features_in_),
            "names": None if names is None else [encoded(str(name), "a feature's name") for name in names],
        },
        "target": _described_target(model),
        "members": [describe_member(member, f"member{i}.", arrays) for i, member in enumerate(model._members)],
        "readout": None,
        "search": None,
    }
    if model._members[0].ridge is not None:
        decision = model._decision
        document["readout"] = {
            "penalty": encoded(model.penalty_, "penalty_"),
            "read_from": encoded(model.read_from_, "read_from_"),
            "metric": decision.metric,
            "at_least_one": bool(decision.at_least_one),
            "top": decision.top,
        }
        arrays["calibration.slope"], arrays["calibration.offset"] = model._calibration.slope, model._calibration.offset
        if decision.thresholds is not None:
            arrays["thresholds"] = decision.thresholds
    if hasattr(model, "cv_results_"):
        document["search"] = encoded({"results": model.cv_results_, "best_score": model.best_score_}, "cv_results_")
    return document, arrays


def _restored(kind: Any, document: Any, arrays: ArraysOf) -> Any:
    given = None
    if isinstance(document, dict) and "names" in document:  # older files have none
        given, document = document["names"], {name: value for name, value in document.items() if name != "names"}
    _, parameters, output, features, target, members, readout, search = fields_of(
        document, "class", "parameters", "output", "features", "target", "members", "readout", "search"
    )
    model = _with_parameters(kind, parameters)
    if output is not None:
        model.set_output(transform=check_choice(output, "output", ("default", "pandas", "polars")))
    p, names = fields_of(features, "number", "names")
    model.n_features_in_ = p = check_int(p, "the number of features", minimum=1)
    if names is not None:
        if not isinstance(names, list) or len(names) != p or not all(isinstance(name, str) for name in names):
            raise ValueError(f"it has not {p} names of features.")
        model.feature_names_in_ = np.array(names, dtype=object)
    k = math.prod(arrays.shape("member0.ranks"))
    _restore_target(model, target, k)
    if given is not None:
        _restore_names(model, given, {"features": p, "labels": k})
    if not isinstance(members, list) or not members:
        raise ValueError("it has no members.")
    model._members = [
        restored_member(content, f"member{i}.", arrays, p, k, reads_by_ridge=readout is not None)
        for i, content in enumerate(members)
    ]
    if readout is not None:
        _restore_readout(model, readout, k, arrays)
    elif len(members) > 1 or model.readout != "norm":
        raise ValueError('without a ridge regression it must have one member, and readout="norm".')
    model._set_attributes()
    if (search is not None) != (kind.__name__ == "SDGSClassifierCV"):
        raise ValueError("the results of a search belong to SDGSClassifierCV.")
    if search is not None:
        results, score = fields_of(decoded(search), "results", "best_score")
        if not isinstance(results, dict) or not all(isinstance(column, list) for column in results.values()):
            raise ValueError("the results of its search are not lists.")
        if not isinstance(score, float):
            raise ValueError("the best score of its search is no number.")
        setting = model._members[0].view.setting
        model.cv_results_, model.best_score_, model.best_params_ = results, score, setting.parameters()
        model.gamma_, model.n_components_, model.alpha_ = setting.gamma, setting.n_components, setting.alpha
    arrays.finish()
    return model


def _restore_names(model: Any, content: Any, sizes: dict[str, int]) -> None:
    """Names that came with arrays which have none."""
    if not isinstance(content, dict) or not content or not set(content) <= set(sizes):
        raise ValueError(f"it has names of something else than {' and '.join(sizes)}.")
    for what, names in content.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"names of {what} must be strings.")
        if len(names) != sizes[what] or len(set(names)) < len(names):
            raise ValueError(f"it has {sizes[what]} {what}, and not as many different names for them.")
        setattr(model, f"{what[:-1]}_names_", tuple(names))


def _described_parameters(model: Any) -> dict[str, Any]:
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_STORED}
    if isinstance(parameters["random_state"], np.random.RandomState):
        warnings.warn(
            "random_state is a RandomState, which a model file does not hold: the loaded model has None in its place. "
            "Predictions do not depend on it.",
            stacklevel=4,
        )
        parameters["random_state"] = None
    return {name: encoded(value, f"the parameter {name}") for name, value in parameters.items()}


def _with_parameters(kind: Any, content: Any) -> Any:
    """A model that is yet to be fitted. Parameters that an older version did not have take their defaults."""
    if not isinstance(content, dict):
        raise ValueError("it has no parameters.")
    unknown = set(content) - (set(kind._get_param_names()) - set(_NOT_STORED))
    if unknown:
        raise ValueError(f"this version of {kind.__name__} has no parameter {min(unknown)!r}.")
    parameters = {name: decoded(value) for name, value in content.items()}
    model = kind(**parameters)
    model._check_parameters()
    if model.n_jobs is not None and model.n_jobs > _MOST_THREADS:
        raise ValueError(f"n_jobs is {model.n_jobs}. A model file may ask for {_MOST_THREADS} threads at most.")
    return model


def _described_target(model: Any) -> dict[str, Any]:
    if model._one_class_a_sample:
        return {"form": "classes", "classes": encoded(model.classes_, "classes_")}
    dtype = dtype_name(model._label_dtype, "y")
    if model._label_columns is not None:
        return {"form": "frame", "dtype": dtype, **encoded_columns(model._label_columns)}
    return {"form": "matrix", "dtype": dtype, "sparse": model._sparse_labels}


def _restore_target(model: Any, content: Any, k: int) -> None:
    """How ``k`` labels are given back."""
    form = check_choice(content["form"], "form", ("classes", "frame", "matrix"))
    model._one_class_a_sample = form == "classes"
    model._sparse_labels, model._label_columns = False, None
    if form == "classes":
        model.classes_ = decoded(fields_of(content, "form", "classes")[1])
        if not isinstance(model.classes_, np.ndarray) or model.classes_.ndim != 1:
            raise ValueError("its classes are no list.")
    elif form == "matrix":
        _, dtype, sparse = fields_of(content, "form", "dtype", "sparse")
        model._label_dtype, model._sparse_labels = dtype_of(dtype), flag(sparse)
        model.classes_ = np.arange(k)
    else:
        _, dtype, *_ = fields_of(content, "form", "dtype", "names", "names_dtype", "names_name", "dtypes")
        model._label_dtype, model._label_columns = dtype_of(dtype), decoded_columns(content)
        model.classes_ = np.empty(len(model._label_columns), dtype=object)
        model.classes_[:] = list(model._label_columns.index)
    if len(model.classes_) != k:
        raise ValueError(f"it has {k} labels and {len(model.classes_)} names for them.")


def _restore_readout(model: Any, content: Any, k: int, arrays: ArraysOf) -> None:
    """How the scores of the members become probabilities and labels."""
    penalty, read_from, metric, at_least_one, top = fields_of(
        content, "penalty", "read_from", "metric", "at_least_one", "top"
    )
    first = model._members[0]
    parts = first.view.parts
    model.penalty_, model.read_from_ = decoded(penalty), decoded(read_from)
    if model.read_from_ not in [parts[:depth] for depth in range(1, len(parts) + 1)]:
        raise ValueError(f"read_from should be the first of {', '.join(parts)}.")
    if first.view.width(model.read_from_) != first.ridge.coef.shape[1]:
        raise ValueError("read_from is not what ridge.coef has columns for.")
    check_number(model.penalty_, "penalty_", positive=True)
    slope, offset = (arrays.take(f"calibration.{name}", "f", k) for name in ("slope", "offset"))
    model._calibration = Calibration(slope, offset)
    thresholds = None
    if arrays.has("thresholds"):
        thresholds = arrays.take("thresholds", "f", *((k,) if arrays.shape("thresholds") else ()))
    if top is not None:
        check_int(top, "top", minimum=1)
    model._decision = Decision(check_choice(metric, "metric", METRICS), flag(at_least_one), thresholds, top)
