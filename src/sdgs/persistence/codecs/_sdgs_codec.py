"""What SDGSClassifier and SDGSClassifierCV have fitted, as JSON and arrays, and back."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.persistence._container import CheckedArrays
from sdgs.persistence.codecs._encoder_codec import decode_encoder, encode_encoder
from sdgs.persistence.codecs._json_values import check_bool, check_fields, decode, encode
from sdgs.persistence.codecs._kept_codec import decode_kept, encode_kept
from sdgs.persistence.codecs._pipeline_codec import decode_pipeline, encode_pipeline
from sdgs.preprocessing import TableEncoder
from sdgs.readout._calibration import Calibration
from sdgs.readout._decision import TARGET_METRICS, Decision
from sdgs.readout._label_set_correction import LabelSetCorrection
from sdgs.readout._out_of_fold import OutOfFold
from sdgs.readout._sample_sums import SampleSums

SDGS_CLASSES = ("SDGSClassifier", "SDGSClassifierCV")
SDGS_FIELDS = ("pipelines", "readout", "search")
SDGS_OPTIONAL_FIELDS = ("encoder", "kept")


def encode_sdgs(model: Any, prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The fields of the document that are particular to these; arrays get names with this prefix."""
    document: dict[str, Any] = {
        "pipelines": [
            encode_pipeline(pipeline, f"{prefix}pipeline{i}.", arrays) for i, pipeline in enumerate(model._pipelines)
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
        arrays[f"{prefix}calibration.slope"] = model._calibration.slope
        arrays[f"{prefix}calibration.offset"] = model._calibration.offset
        for name in ("thresholds", "label_weight"):
            if getattr(decision, name) is not None:
                arrays[f"{prefix}{name}"] = getattr(decision, name)
        if decision.label_sets is not None:
            arrays[f"{prefix}label_sets.sets"] = decision.label_sets.sets.view(np.uint8)
            arrays[f"{prefix}label_sets.log_ratios"] = decision.label_sets.log_ratios
        if model._out_of_fold is not None:
            arrays[f"{prefix}out_of_fold.probabilities"] = model._out_of_fold.probabilities
            arrays[f"{prefix}out_of_fold.rows"] = model._out_of_fold.rows.astype(np.int64, copy=False)
            if model._out_of_fold.unobserved.size:
                unobserved = model._out_of_fold.unobserved
                arrays[f"{prefix}out_of_fold.unobserved"] = unobserved.astype(np.int64, copy=False)
    if model.propensity_ is not None:
        arrays[f"{prefix}propensity"] = model.propensity_
    if type(model).__name__ == "SDGSClassifierCV":
        document["search"] = encode({"results": model.cv_results_, "best_score": model.best_score_}, "cv_results_")
    if model.encoder_ is not None:
        document["encoder"] = encode_encoder(model.encoder_, prefix, arrays)
    kept = getattr(model, "_kept", None)
    if kept is not None:
        document["kept"] = encode_kept(kept, f"{prefix}kept.", arrays)
    return document


def n_stored_labels(prefix: str, arrays: CheckedArrays) -> int:
    """The number of labels of the model whose arrays have this prefix."""
    return math.prod(arrays.shape(f"{prefix}pipeline0.ranks"))


def decode_sdgs(model: Any, content: dict[str, Any], prefix: str, arrays: CheckedArrays, k: int) -> None:
    """The opposite of :func:`encode_sdgs`, for a model of ``k`` labels that has its parameters."""
    pipelines, readout, search = (content[name] for name in SDGS_FIELDS)
    model.encoder_ = _decode_encoder(model, content["encoder"], prefix, arrays) if "encoder" in content else None
    p = model.n_features_in_ if model.encoder_ is None else len(model.encoder_.get_feature_names_out())
    if not isinstance(pipelines, list) or not pipelines:
        raise ValueError("it has no pipelines.")
    model._pipelines = [
        decode_pipeline(content, f"{prefix}pipeline{i}.", arrays, p, k, has_ridge=readout is not None)
        for i, content in enumerate(pipelines)
    ]
    model.propensity_ = _decode_propensity(k, prefix, arrays)
    model._out_of_fold = None
    if type(model).__name__ == "SDGSClassifier":
        model._kept = None
    if "kept" in content and readout is None:
        raise ValueError('with readout="norm" it keeps nothing for updates.')
    if readout is not None:
        _decode_readout(model, readout, k, prefix, arrays)
        if "kept" in content:
            _decode_kept(model, content["kept"], prefix, arrays)
        n = model._pipelines[0].features.decomposition.shape[0]
        # An update by sums leaves none.
        if arrays.has(f"{prefix}out_of_fold.rows") or not isinstance(getattr(model, "_kept", None), SampleSums):
            model._out_of_fold = _decode_out_of_fold(n, k, prefix, arrays)
    elif len(pipelines) > 1 or model.readout != "norm":
        raise ValueError('without a ridge regression it must have one pipeline, and readout="norm".')
    model._set_attributes(model._pipelines[0])
    if (search is not None) != (type(model).__name__ == "SDGSClassifierCV"):
        raise ValueError("only SDGSClassifierCV has the results of a search.")
    if search is not None:
        _decode_search(model, search)


def _decode_propensity(k: int, prefix: str, arrays: CheckedArrays) -> NDArray[np.float64] | None:
    if not arrays.has(f"{prefix}propensity"):
        return None
    propensity = arrays.take(f"{prefix}propensity", "f", k)
    if propensity.min() <= 0 or propensity.max() > 1:
        raise ValueError("propensity has entries that are no probabilities.")
    return propensity


def _decode_encoder(model: Any, content: Any, prefix: str, arrays: CheckedArrays) -> TableEncoder:
    """The encoder of tables, whose columns must be those of the model."""
    encoder = decode_encoder(content, prefix, arrays)
    names, own_names = (list(getattr(one, "feature_names_in_", ())) for one in (encoder, model))
    if encoder.n_features_in_ != model.n_features_in_ or names != own_names:
        raise ValueError("its encoder has other columns than the model.")
    return encoder


def _decode_kept(model: Any, content: Any, prefix: str, arrays: CheckedArrays) -> None:
    if type(model).__name__ != "SDGSClassifier" or len(model._pipelines) > 1:
        raise ValueError("only an SDGSClassifier with one pipeline keeps something for updates.")
    model._kept = decode_kept(content, model._pipelines[0], f"{prefix}kept.", arrays)


def _decode_search(model: Any, content: Any) -> None:
    results, score = check_fields(decode(content), "results", "best_score")
    if not isinstance(results, dict) or not all(isinstance(column, list) for column in results.values()):
        raise ValueError("the results of its search are not lists.")
    if not isinstance(score, float):
        raise ValueError("the best score of its search is not a number.")
    parameters = model._pipelines[0].features.parameters
    model.cv_results_, model.best_score_, model.best_params_ = results, score, parameters.as_dict()
    model.n_components_, model.alpha_ = parameters.n_components, parameters.alpha


def _decode_readout(model: Any, content: Any, k: int, prefix: str, arrays: CheckedArrays) -> None:
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
    slope, offset = (arrays.take(f"{prefix}calibration.{name}", "f", k) for name in ("slope", "offset"))
    model._calibration = Calibration(slope, offset)
    thresholds = None
    name = f"{prefix}thresholds"
    if arrays.has(name):
        thresholds = arrays.take(name, "f", *((k,) if arrays.shape(name) else ()))
    if top is not None:
        check_int(top, "top", minimum=1)
    metric = check_choice(metric, "metric", TARGET_METRICS)
    label_weight = label_sets = None
    if arrays.has(f"{prefix}label_weight"):
        label_weight = arrays.take(f"{prefix}label_weight", "f", k)
        if (label_weight <= 0).any():
            raise ValueError("label_weight has entries that are not positive.")
    if arrays.has(f"{prefix}label_sets.sets"):
        sets = arrays.take(f"{prefix}label_sets.sets", "u", None, k)
        if sets.max(initial=0) > 1:
            raise ValueError("label_sets.sets has entries that are neither 0 nor 1.")
        label_sets = LabelSetCorrection(sets.astype(bool), arrays.take(f"{prefix}label_sets.log_ratios", "f", None))
    model._decision = Decision(metric, check_bool(at_least_one), thresholds, top, label_weight, label_sets)


def _decode_out_of_fold(n: int, k: int, prefix: str, arrays: CheckedArrays) -> OutOfFold:
    """The out-of-fold probabilities of some of ``n`` training samples."""
    rows = arrays.indices(f"{prefix}out_of_fold.rows", n)
    if rows.size == 0 or (np.diff(rows) <= 0).any():
        raise ValueError("out_of_fold.rows must be ascending, and at least one.")
    P = arrays.take(f"{prefix}out_of_fold.probabilities", "f", rows.size, k)
    if P.dtype != np.float32 or P.min() < 0 or P.max() > 1:
        raise ValueError("out_of_fold.probabilities must be float32, between 0 and 1.")
    name, unobserved = f"{prefix}out_of_fold.unobserved", np.empty(0, dtype=np.intp)
    if arrays.has(name):
        unobserved = arrays.indices(name, P.size).astype(np.intp, copy=False)
        if unobserved.size == 0 or (np.diff(unobserved) <= 0).any():
            raise ValueError("out_of_fold.unobserved must be ascending, and at least one.")
    return OutOfFold(P, rows.astype(np.intp, copy=False), unobserved)
