"""A fitted estimator as JSON and arrays, and back: of this package, or one of scikit-learn's in ``LEARNERS``.

An estimator of this package declares its fitted attributes in ``_stored_attributes``, which its base classes may do
too, and checks in ``_finish_loading()`` what they must satisfy together. For classes of scikit-learn ``LEARNERS`` has
the same. To read one, its parameters go to ``__init__``, and fields that have been checked become its attributes;
neither ``__setstate__`` of an estimator nor anything that a file names is called.
"""

import importlib
import inspect
import math
import numbers
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from sdgs._utils._last_step import number_of_features
from sdgs._utils._validation import check_choice
from sdgs.persistence._container import CheckedArrays, ModelFileError
from sdgs.persistence.codecs._encoder_codec import (
    decode_encoder,
    decode_encoder_parameters,
    encode_encoder,
    encode_encoder_parameters,
)
from sdgs.persistence.codecs._json_values import check_fields, decode, encode
from sdgs.persistence.codecs._learner_table import INNER, LEARNERS
from sdgs.persistence.codecs._sdgs_codec import (
    SDGS_CLASSES,
    SDGS_FIELDS,
    SDGS_OPTIONAL_FIELDS,
    decode_sdgs,
    encode_sdgs,
    n_stored_labels,
)
from sdgs.persistence.codecs._stored_fields import Field, Output, Source
from sdgs.persistence.codecs._target_codec import (
    check_claim,
    decode_features,
    decode_target,
    encode_features,
    encode_target,
)
from sdgs.preprocessing import TableEncoder

_NOT_STORED = ("checkpoint", "memory")  # a file does not decide where a program writes
_MAX_THREADS = 1024  # that a file may ask for


def is_of_this_package(estimator: Any) -> bool:
    """Whether it is of a class of this package that can be stored, and not of one derived from it elsewhere."""
    kind = type(estimator)
    declares = hasattr(kind, "_stored_attributes") or kind.__name__ in SDGS_CLASSES
    return declares and kind.__module__.startswith("sdgs.")


def stored_attributes(kind: Any) -> dict[str, Field]:
    """The fields of a class, and of its base classes before it."""
    if kind.__name__ in LEARNERS and not kind.__module__.startswith("sdgs."):
        return dict(LEARNERS[kind.__name__].attributes)
    declared: dict[str, Field] = {}
    for base in reversed(kind.__mro__):
        declared |= vars(base).get("_stored_attributes", {})
    return declared


def _learner_class(name: str) -> Any:
    """A class of ``LEARNERS``."""
    return getattr(importlib.import_module(LEARNERS[name].module), name)


def unstorable_steps(pipeline: Pipeline) -> list[str]:
    """The names of the steps, also of pipelines inside, whose class a file cannot hold."""
    names = []
    for name, step in pipeline.steps:
        if type(step) is Pipeline:
            names += unstorable_steps(step)
        elif not (step is None or isinstance(step, str) or is_of_this_package(step) or _is_known(step)):
            names.append(name)
    return names


def _is_known(step: Any) -> bool:
    if type(step) is not TableEncoder:
        return _is_learner(type(step))
    try:
        encode_encoder_parameters(step)
    except ModelFileError:  # it has a function
        return False
    return True


def _is_learner(kind: Any) -> bool:
    return kind.__name__ in LEARNERS and kind is _learner_class(kind.__name__)


class Encoder:
    """Writes one model: ``arrays`` are all arrays so far, and ``classes`` those of this package, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.classes: dict[str, Any] = {}

    def encode(self, estimator: Any, prefix: str = "") -> dict[str, Any]:
        """A fitted estimator; its arrays get names with this prefix."""
        if type(estimator) is TableEncoder:
            return {
                "class": "TableEncoder",
                "output": _output_of(estimator),
                "encoder": encode_encoder(estimator, prefix, self.arrays),
            }
        name = self._check_class(estimator, "it")
        document = {
            "class": name,
            "parameters": self.encode_parameters(estimator, fitted=True),
            "output": _output_of(estimator),
            "features": encode_features(_n_features(estimator), _feature_names(estimator)),
        }
        if name in self.classes:
            document["target"] = encode_target(estimator)
            if name in SDGS_CLASSES:
                return document | encode_sdgs(estimator, prefix, self.arrays)
            document["labels"] = len(estimator.classes_)
        output = Output(self.arrays, self.encode, name)
        document["attributes"] = {
            attribute: one.encode(getattr(estimator, attribute), f"{prefix}{attribute}", output)
            for attribute, one in stored_attributes(type(estimator)).items()
            if hasattr(estimator, attribute)
        }
        return document

    def encode_parameters(self, estimator: Any, *, fitted: bool = False) -> dict[str, Any]:
        """Its parameters; of estimators of scikit-learn those that differ from their defaults.

        The steps of a ``fitted`` pipeline are not among them, because they are its attributes.
        """
        name = self._check_class(estimator, "it")
        left_out = (*_NOT_STORED, *(("steps",) if fitted and name == "Pipeline" else ()))
        parameters = {key: value for key, value in estimator.get_params(deep=False).items() if key not in left_out}
        if isinstance(parameters.get("random_state"), np.random.RandomState):
            warnings.warn(
                "random_state is a RandomState, which a model file cannot hold: the loaded model has None in its "
                "place. Predictions do not depend on it.",
                stacklevel=4,
            )
            parameters["random_state"] = None
        whose = "" if name in SDGS_CLASSES else f" of {name}"
        encoded = {
            key: encode(value, f"the parameter {key}{whose}", self._encode_other) for key, value in parameters.items()
        }
        if name in self.classes:
            return encoded
        kind: Any = type(estimator)
        defaults = _default_parameters(kind)
        return {key: value for key, value in encoded.items() if key not in defaults or value != defaults[key]}

    def _encode_other(self, value: Any, what: str) -> Any:
        if isinstance(value, float) and math.isnan(value) and what == "the parameter missing_values of SimpleImputer":
            return {"float": "nan"}
        if type(value) is TableEncoder:
            return {"encoder": encode_encoder_parameters(value)}
        if hasattr(value, "get_params") and not isinstance(value, type):
            return {"estimator": {"class": self._check_class(value, what), "parameters": self.encode_parameters(value)}}
        if callable(getattr(value, "split", None)) and not isinstance(value, type):
            raise ModelFileError(
                f"{what} cannot be stored in a model file: it is a splitter, {type(value).__name__}. Pass its splits "
                "as a list, such as list(splitter.split(X, y)), or a number of folds."
            )
        if callable(value):
            raise ModelFileError(
                f"{what} cannot be stored in a model file: it is {value!r}, and a model file holds no code. Use one of "
                "its named values; or write the model with joblib, and load such files only from people whom you trust."
            )
        return None

    def _check_class(self, estimator: Any, what: str) -> str:
        kind = type(estimator)
        if is_of_this_package(estimator):
            self.classes[kind.__name__] = kind
            return str(kind.__name__)
        if _is_learner(kind):
            return str(kind.__name__)
        where = "" if what == "it" else f", {what}"
        public = ", ".join(sorted(set(LEARNERS) - set(INNER)))
        raise ModelFileError(
            f"a model file cannot hold a {kind.__qualname__}{where}. It can hold estimators of sdgs and, of "
            f"scikit-learn, {public}. Use one of these; or write the model with joblib, and load such files only "
            "from people whom you trust, because they can run code."
        )


class Decoder:
    """Reads one model from its arrays; ``classes`` are those of this package that it may have, by name."""

    def __init__(self, arrays: CheckedArrays, classes: Mapping[str, Any]) -> None:
        self._classes = classes
        self._source = Source(arrays, self.decode)

    def decode(self, document: Any, prefix: str = "") -> Any:
        """The opposite of :meth:`Encoder.encode`."""
        if isinstance(document, dict) and document.get("class") == "TableEncoder":
            _, output, content = check_fields(document, "class", "output", "encoder")
            encoder = decode_encoder(content, prefix, self._source.arrays)
            _set_output(encoder, output)
            return encoder
        kind = self._class_of(document)
        own = kind.__name__ in self._classes
        parts = SDGS_FIELDS if kind.__name__ in SDGS_CLASSES else ("labels", "attributes") if own else ("attributes",)
        if kind.__name__ in SDGS_CLASSES:
            parts = (*parts, *(name for name in SDGS_OPTIONAL_FIELDS if name in document))
        check_fields(document, "class", "parameters", "output", "features", *(("target",) if own else ()), *parts)
        estimator = self.decode_parameters(kind, document["parameters"])
        _set_output(estimator, document["output"])
        arrays, sizes = self._source.arrays, {}
        sizes["p"], names = decode_features(document["features"], arrays.n_bytes)
        if own:
            _set_features(estimator, sizes["p"], names)
            k = n_stored_labels(prefix, arrays) if kind.__name__ in SDGS_CLASSES else document["labels"]
            sizes["k"] = self._decode_target(estimator, document["target"], k)
        if kind.__name__ in SDGS_CLASSES:
            decode_sdgs(estimator, document, prefix, arrays, sizes["k"])
            return estimator
        source = Source(arrays, self.decode, sizes, self._source.class_bytes)
        self._decode_attributes(estimator, document["attributes"], prefix, source)
        if own:
            estimator._finish_loading()
        else:
            LEARNERS[kind.__name__].finish(estimator, source.sizes)
            _set_features(estimator, sizes["p"], names)
        return estimator

    def decode_parameters(self, kind: Any, content: Any) -> Any:
        """An estimator that is not fitted. Parameters that the file does not have take their defaults."""
        if not isinstance(content, dict):
            raise ValueError("it has no parameters.")
        unknown = set(content) - (set(kind._get_param_names()) - set(_NOT_STORED))
        if unknown:
            raise ValueError(f"this version of {kind.__name__} has no parameter {min(unknown)!r}.")
        parameters = {name: decode(value, self._decode_other) for name, value in content.items()}
        n_jobs = parameters.get("n_jobs")
        if isinstance(n_jobs, numbers.Integral) and int(n_jobs) > _MAX_THREADS:
            raise ValueError(f"n_jobs is {n_jobs}. A model file may ask for at most {_MAX_THREADS} threads.")
        if kind is Pipeline:
            parameters.setdefault("steps", [])  # those of a fitted pipeline are attributes
        estimator = kind(**parameters)
        if kind.__name__ in self._classes:
            estimator._check_parameters()
        else:
            estimator._validate_params()
            LEARNERS[kind.__name__].check_parameters(estimator)
        return estimator

    def _decode_other(self, value: dict[str, Any]) -> Any:
        if value == {"float": "nan"}:
            return math.nan
        if set(value) == {"encoder"}:
            return decode_encoder_parameters(value["encoder"])
        (content,) = check_fields(value, "estimator")
        kind = self._class_of(content)
        check_fields(content, "class", "parameters")
        return self.decode_parameters(kind, content["parameters"])

    def _class_of(self, document: Any) -> Any:
        if not isinstance(document, dict) or not isinstance(document.get("class"), str):
            raise ValueError("it has an estimator without a class.")
        name = document["class"]
        if name in self._classes:
            return self._classes[name]
        if name not in LEARNERS:
            raise ValueError(f"it has an estimator of the unknown class {name!r}.")
        return _learner_class(name)

    def _decode_target(self, estimator: Any, content: Any, k: Any) -> int:
        if type(k) is not int or k < 1:
            raise ValueError("its number of labels is not a positive integer.")
        check_claim(k, "labels", self._source.arrays.n_bytes)
        decode_target(estimator, content, k, self._source.class_bytes)
        return k

    def _decode_attributes(self, estimator: Any, content: Any, prefix: str, source: Source) -> None:
        fields = stored_attributes(type(estimator))
        if not isinstance(content, dict) or not set(content) <= set(fields):
            raise ValueError(f"a {type(estimator).__name__} has other attributes than those in it.")
        required = getattr(LEARNERS.get(type(estimator).__name__), "optional", ())
        missing = set(fields) - set(content) - set(required)
        if missing:
            raise ValueError(f"a {type(estimator).__name__} in it has no {min(missing)}.")
        for name, one in fields.items():
            if name in content:
                setattr(estimator, name, one.decode(content[name], f"{prefix}{name}", source))


@cache
def _default_parameters(kind: Any) -> dict[str, Any]:
    """The encoded defaults of the parameters that have one which a file can hold."""
    defaults = {}
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        with suppress(ModelFileError):
            defaults[name] = encode(parameter.default, name)
    return defaults


def _output_of(estimator: Any) -> Any:
    """The argument of ``set_output``, or None."""
    return getattr(estimator, "_sklearn_output_config", {}).get("transform")


def _set_output(estimator: Any, content: Any) -> None:
    if content is not None:
        estimator.set_output(transform=check_choice(content, "output", ("default", "pandas", "polars")))


def _n_features(estimator: Any) -> int:
    number = number_of_features(estimator)
    if number is None:
        raise ModelFileError(
            f"the model cannot be stored in a model file: its {type(estimator).__name__} was fitted to samples that "
            "are not rows of numbers. Fit it to a matrix or a DataFrame of numbers."
        )
    return number


def _feature_names(estimator: Any) -> Any:
    return None if type(estimator) is Pipeline else getattr(estimator, "feature_names_in_", None)


def _set_features(estimator: Any, p: int, names: Any) -> None:
    if type(estimator) is Pipeline:
        if names is not None or number_of_features(estimator) != p:
            raise ValueError("a Pipeline in it has other features than its first step.")
        return
    estimator.n_features_in_ = p
    if names is not None:
        estimator.feature_names_in_ = names
