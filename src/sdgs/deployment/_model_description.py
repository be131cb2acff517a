"""What a predictor has to know of a fitted model: a dict of numbers, names and arrays, from which all formats are made.

:mod:`sdgs.deployment.predictor` computes predictions from it.
"""

import math
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sdgs._utils._last_step import stored_feature_names
from sdgs._utils._version import __version__
from sdgs.estimators._sdgs_model import SDGSModel
from sdgs.methods._binary_relevance import BinaryRelevance
from sdgs.methods._linear_method import LinearMethod
from sdgs.readout._landmark_kernel import LandmarkKernel
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._ridge import Ridge
from sdgs.readout._scaling import Scaling

Description = dict[str, Any]

ENCODES_TABLES = (
    "The model encodes a table with text, categories or dates, which an exported file cannot do. Predict with the "
    "library: docs/serving.md. Or fit a model to model.encoder_.transform(X), export that one, and encode samples "
    "before you pass them on."
)

_DECISION_FIELDS = ("metric", "at_least_one", "thresholds", "top", "label_weight", "label_sets")
_MAX_CODED_ROWS = 8192  # rows of a dictionary; for more the library codes by another algorithm
_MAX_ROWS = 1 << 62


def describe_model(model: Any) -> Description:
    """The description of a fitted model; a ValueError says why there is none."""
    if isinstance(model, Pipeline):
        raise ValueError(
            "A pipeline cannot be exported, because its steps are objects of scikit-learn. Export its last step, "
            "model.steps[-1][1], and transform samples by the other steps, model[:-1], before you pass them on."
        )
    is_sdgs, is_linear = isinstance(model, SDGSModel), _is_linear(model)
    if not is_sdgs and not is_linear:
        raise ValueError(
            f"{type(model).__name__} cannot be exported: only SDGSClassifier, SDGSClassifierCV, BinaryRelevance and "
            "methods with one linear score per label can. Save it, and predict with the library: docs/serving.md."
        )
    check_is_fitted(model)
    model._check_parameters()
    reads_norms = is_sdgs and model.readout == "norm"
    return {
        "version": __version__,
        "model": type(model).__name__,
        "n_features": int(model.n_features_in_),
        "takes_missing": is_sdgs,
        "labels": _label_names(model),
        "features": _feature_names(model),
        "one_per_sample": bool(model._is_multiclass),
        "pipelines": _describe_pipelines(model) if is_sdgs else [],
        "linear": None if is_sdgs else {"coef": model.coef_.T.astype(np.float64), "intercept": model.intercept_},
        "calibration": {"slope": model._calibration.slope, "offset": model._calibration.offset}
        if is_sdgs and not reads_norms
        else None,
        "decision": describe_decision(model),
    }


def describe_decision(model: Any) -> Description:
    """How labels are decided from scores: the only place that knows."""
    plain: Description = {"rule": "", "threshold": None, "top": None, "at_least_one": False}
    plain |= {"label_weight": None, "label_sets": None}
    if isinstance(model, BinaryRelevance):
        return plain | {"rule": "score above", "threshold": 0.0}
    if isinstance(model, LinearMethod):
        return plain | {"rule": "score above", "threshold": float(model.threshold)}
    if model.readout == "norm":
        return plain | {"rule": "score at least", "threshold": float(model.threshold)}
    values = {field.name: getattr(model._decision, field.name) for field in fields(model._decision)}
    unknown = [name for name, value in values.items() if name not in _DECISION_FIELDS and value is not None]
    if unknown:
        raise ValueError(f"A decision with {unknown[0]} cannot be exported.")
    metric, thresholds, label_sets = values["metric"], values["thresholds"], values.get("label_sets")
    plain["at_least_one"], plain["label_weight"] = bool(values["at_least_one"]), values.get("label_weight")
    if label_sets is not None:
        plain["label_sets"] = {"sets": label_sets.sets.astype(np.float64), "log_ratios": label_sets.log_ratios}
    if values["top"] is not None:
        return plain | {"rule": "top", "top": int(values["top"])}
    if thresholds is not None:
        return plain | {"rule": "threshold", "threshold": np.asarray(thresholds, dtype=np.float64)}
    if metric in ("hamming_loss", "subset_accuracy"):
        return plain | {"rule": "threshold", "threshold": 0.5}
    if metric in ("f1", "accuracy"):
        return plain | {"rule": "expected f1"}
    raise ValueError(f"A decision for metric={metric!r} without thresholds cannot be exported.")


def _is_linear(model: Any) -> bool:
    """Whether the class takes scores and decision as they are from one of the two that a description knows."""
    return any(
        isinstance(model, base) and type(model)._scores is base._scores and type(model)._decide is base._decide
        for base in (BinaryRelevance, LinearMethod)
    )


def _label_names(model: Any) -> list[Any]:
    names = None if model._is_multiclass else getattr(model, "label_names_", None)
    return [_plain_name(name) for name in (model.classes_ if names is None else names)]


def _feature_names(model: Any) -> list[Any] | None:
    names = stored_feature_names(model)
    return None if names is None else [_plain_name(name) for name in names]


def _plain_name(name: Any) -> str | int | float | bool:
    value = name.item() if isinstance(name, np.generic) else name
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"The name {name!r} of a label or feature is neither a string nor a number. Rename it.")


def _describe_pipelines(model: Any) -> list[Description]:
    if model.encoder_ is not None:
        raise ValueError(ENCODES_TABLES)
    reads_norms = model.readout == "norm"
    if not reads_norms and model._pipelines[0].ridge is None:
        raise ValueError('This model was fitted with readout="norm". Fit it again to use readout="ridge".')
    alpha = model.alpha if reads_norms else None  # of the paper's read-out; it may have changed since the fit
    return [_describe_pipeline(pipeline, alpha) for pipeline in model._pipelines]


def _describe_pipeline(pipeline: FittedPipeline, alpha: float | None) -> Description:
    features = pipeline.features
    regression = None if alpha is not None or pipeline.ridge is None else _describe_regression(pipeline, pipeline.ridge)
    alpha = float(features.parameters.alpha if alpha is None else alpha)
    huber = None if features.parameters.huber is None else float(features.parameters.huber)
    dictionary = features.dictionary(np.float64)
    has_codes = regression is None or "code" in regression["blocks"]
    if has_codes and huber is None and len(dictionary.C) > _MAX_CODED_ROWS:
        raise ValueError(
            f"The subspaces of all labels together have {len(dictionary.C)} dimensions; up to {_MAX_CODED_ROWS} can be "
            "exported. Fit a model with a smaller n_components, or predict with the library: docs/serving.md."
        )
    sparse, dense = _rows_per_block(pipeline)
    return {
        "scaling": _describe_scaling(pipeline.scaling),
        "alpha": alpha,
        "huber": huber,
        "components": dictionary.C,
        "groups": dictionary.groups,
        "pinv": dictionary.pinv if has_codes and alpha == 0 else None,
        "kernel": None if features.kernel is None else _describe_kernel(features.kernel),
        "regression": regression,
        "block_rows": [dense, sparse],
    }


def _rows_per_block(pipeline: FittedPipeline) -> tuple[int, int]:
    """Rows of sparse and of dense samples that the library codes by one solver, which depends on missing entries."""
    from scipy.sparse import csr_array

    p = pipeline.features.n_features
    sizes = (pipeline.features.rows_per_block(X) for X in (csr_array((1, p)), np.zeros((1, p))))
    sparse, dense = (min(int(size), _MAX_ROWS) for size in sizes)
    return sparse, dense


def _describe_scaling(scaling: Scaling) -> Description:
    scaler = scaling.scaler
    is_standard, is_idf = isinstance(scaler, StandardScaler), isinstance(scaler, TfidfTransformer)
    if scaler is not None and not is_standard and not is_idf:
        raise ValueError(f"The scaler {type(scaler).__name__} cannot be exported.")
    return {
        "mean": scaler.mean_.astype(np.float64) if is_standard else None,
        "scale": scaler.scale_.astype(np.float64) if is_standard else None,
        "weight": scaler.idf_.astype(np.float64) if is_idf else None,
        "to_unit_rows": bool(scaling.to_unit_rows),
    }


def _describe_kernel(kernel: LandmarkKernel) -> Description:
    """Landmarks are dense, or the three arrays of CSR."""
    landmarks, is_sparse = kernel.landmarks, issparse(kernel.landmarks)
    return {
        "gamma": float(kernel.gamma),
        "weights": None if kernel.weights is None else kernel.weights.astype(np.float64),
        "n_landmarks": int(landmarks.shape[0]),
        "landmarks": np.asarray(landmarks.data if is_sparse else landmarks, dtype=np.float64),
        "indices": landmarks.indices.astype(np.int64) if is_sparse else None,
        "indptr": landmarks.indptr.astype(np.int64) if is_sparse else None,
    }


def _describe_regression(pipeline: FittedPipeline, ridge: Ridge) -> Description:
    """The intercept, and of each feature block that is read the columns (None: all) and their coefficients."""
    features, coef = pipeline.features, ridge.coef.T.astype(np.float64)
    ends, blocks = (0, *features.widths), {}
    first_column = np.cumsum([0, *features._block_widths])
    for name, (start, stop), offset in zip(features.block_names, pairwise(ends), first_column[:-1], strict=True):
        if start < len(coef):
            columns: NDArray[np.intp] | None = None
            if features.columns is not None:
                columns = (features.columns[start:stop] - offset).astype(np.int64)
            blocks[name] = {"columns": columns, "coef": np.ascontiguousarray(coef[start:stop])}
    return {"intercept": ridge.intercept.astype(np.float64), "blocks": blocks}
