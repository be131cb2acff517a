"""The pipelines of a model as JSON and arrays, and back: scaler, decomposition, kernel and ridge regression of each."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from sdgs._utils._validation import check_choice, check_number, check_ranks
from sdgs.decomposition import Decomposition
from sdgs.persistence._container import CheckedArrays
from sdgs.persistence.codecs._json_values import check_bool, check_fields, decode, encode
from sdgs.readout._features import ReadoutFeatures
from sdgs.readout._landmark_kernel import LandmarkKernel
from sdgs.readout._parameters import PipelineParameters
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._ridge import Ridge
from sdgs.readout._scaling import SCALINGS, Scaling

Array = NDArray[Any]
Arrays = dict[str, Array]

_ORTHONORMALITY_TOL = 5e-5  # of the rows of a subspace; group_lasso allows twice as much
_SCALER_NAMES = {StandardScaler: "standard", TfidfTransformer: "idf"}
_SCALER_ARRAYS = {"standard": ("mean_", "scale_", "var_", "n_samples_seen_"), "idf": ("idf_",), None: ()}
_PARAMETERS = ("scaling", "n_components", "alpha", "huber", "gamma")


def encode_pipeline(pipeline: FittedPipeline, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """The pipeline as JSON; its arrays are added to ``arrays`` under names with this prefix."""
    features, scaler = pipeline.features, pipeline.scaling.scaler
    _encode_decomposition(features.decomposition, prefix, arrays)
    scaler_name = None if scaler is None else _SCALER_NAMES[type(scaler)]
    for name in _SCALER_ARRAYS[scaler_name]:
        arrays[f"{prefix}scaler.{name}"] = np.asarray(getattr(scaler, name))
    if features.columns is not None:
        arrays[f"{prefix}columns"] = _as_int64(features.columns)
    if pipeline.ridge is not None:
        arrays[f"{prefix}ridge.coef"] = pipeline.ridge.coef
        arrays[f"{prefix}ridge.intercept"] = pipeline.ridge.intercept
    return {
        "parameters": {name: encode(value, name) for name, value in features.parameters.as_dict().items()},
        "scaler": scaler_name,
        "unit_rows": pipeline.scaling.to_unit_rows,
        "converged": bool(features.decomposition.converged),
        "kernel": None if features.kernel is None else _encode_kernel(features.kernel, prefix, arrays),
    }


def decode_pipeline(
    content: Any, prefix: str, arrays: CheckedArrays, p: int, k: int, *, has_ridge: bool
) -> FittedPipeline:
    """The opposite of :func:`encode_pipeline`, for ``p`` features and ``k`` labels."""
    encoded_parameters, scaler_name, unit_rows, converged, kernel = check_fields(
        content, "parameters", "scaler", "unit_rows", "converged", "kernel"
    )
    parameters = _decode_parameters(encoded_parameters, k)
    scaler = _decode_scaler(check_choice(scaler_name, "scaler", tuple(_SCALER_ARRAYS)), prefix, arrays, p)
    decomposition = _decode_decomposition(prefix, arrays, p, k, converged=check_bool(converged))
    if (parameters.gamma is None) != (kernel is None):
        raise ValueError("it must have a kernel if and only if it has a gamma.")
    if kernel is not None:
        kernel = _decode_kernel(kernel, prefix, arrays, p, decomposition.shape[0])
    features = ReadoutFeatures(parameters, decomposition, kernel, p, k)
    if arrays.has(f"{prefix}columns"):
        columns = arrays.indices(f"{prefix}columns", features.widths[-1])
        if columns.size == 0 or (np.diff(columns) <= 0).any():
            raise ValueError(f"{prefix}columns must be ascending.")
        features = replace(features, columns=columns.astype(np.intp, copy=False))
    ridge = None
    if has_ridge:
        coef = arrays.take(f"{prefix}ridge.coef", "f", k, None)
        if coef.shape[1] not in features.widths:
            raise ValueError(f"{prefix}ridge.coef has {coef.shape[1]} columns, which is none of {features.widths}.")
        ridge = Ridge(coef, arrays.take(f"{prefix}ridge.intercept", "f", k))
    return FittedPipeline(Scaling(scaler, check_bool(unit_rows)), features, ridge)


def _decode_parameters(content: Any, k: int) -> PipelineParameters:
    values = [decode(value) for value in check_fields(content, *_PARAMETERS)]
    parameters = PipelineParameters(**dict(zip(_PARAMETERS, values, strict=True)))
    check_choice(parameters.scaling, "scaling", SCALINGS)
    check_ranks(parameters.n_components, k)
    check_number(parameters.alpha, "alpha", positive=parameters.huber is not None)
    for value, name in ((parameters.huber, "huber"), (parameters.gamma, "gamma")):
        if value is not None:
            check_number(value, name, positive=True)
    return parameters


def _decode_scaler(name: str | None, prefix: str, arrays: CheckedArrays, p: int) -> Any:
    if name is None:
        return None
    if name == "idf":
        scaler = TfidfTransformer(norm=None)
        scaler.idf_ = weights = arrays.take(f"{prefix}scaler.idf_", "f", p)
    else:
        scaler = StandardScaler()
        scaler.mean_ = arrays.take(f"{prefix}scaler.mean_", "f", p)
        scaler.scale_ = weights = arrays.take(f"{prefix}scaler.scale_", "f", p)
        scaler.var_ = arrays.take(f"{prefix}scaler.var_", "f", p, finite=False)  # NaN for a column without entries
        count = f"{prefix}scaler.n_samples_seen_"
        scaler.n_samples_seen_ = arrays.take(count, "fi", *((p,) if arrays.shape(count) else ()))[()]
    if not (weights > 0).all():
        raise ValueError(f"{prefix}scaler has weights that are not positive.")
    scaler.n_features_in_ = p
    return scaler


def _encode_decomposition(result: Decomposition, prefix: str, arrays: Arrays) -> None:
    arrays[f"{prefix}ranks"] = np.array([len(C) for C in result.components], dtype=np.int64)
    arrays[f"{prefix}components"] = np.vstack(result.components)
    arrays[f"{prefix}sizes"] = np.array([rows.size for rows in result.rows], dtype=np.int64)
    arrays[f"{prefix}rows"] = _as_int64(np.concatenate(result.rows))
    # Column by column, as in memory.
    arrays[f"{prefix}coefficients"] = np.concatenate([U.T.reshape(-1) for U in result.coefficients])
    _encode_csr(result.residual, f"{prefix}residual.", arrays)
    arrays[f"{prefix}objective"] = result.objective


def _decode_decomposition(prefix: str, arrays: CheckedArrays, p: int, k: int, *, converged: bool) -> Decomposition:
    components = _decode_components(prefix, arrays, p, k)
    residual = _decode_csr(f"{prefix}residual.", arrays, p)
    n = residual.shape[0]
    ends = np.cumsum(arrays.indices(f"{prefix}sizes", n + 1, k))
    rows = np.split(arrays.indices(f"{prefix}rows", n, ends[-1]).astype(np.intp, copy=False), ends[:-1])
    if any((np.diff(omega) <= 0).any() for omega in rows):
        raise ValueError(f"{prefix}rows must be ascending.")
    lengths = [omega.size * len(C) for omega, C in zip(rows, components, strict=True)]
    flat = arrays.take(f"{prefix}coefficients", "f", sum(lengths))
    parts = np.split(flat, np.cumsum(lengths)[:-1])
    objective = arrays.take(f"{prefix}objective", "f", None, finite=False)  # squares may overflow
    if objective.size == 0 or any(array.dtype != components[0].dtype for array in (flat, residual.data)):
        raise ValueError(f"{prefix}objective is empty, or the parts of the decomposition differ in precision.")
    return Decomposition(
        components=components,
        coefficients=tuple(
            part.reshape(len(C), omega.size).T for part, C, omega in zip(parts, components, rows, strict=True)
        ),
        rows=tuple(rows),
        residual=residual,
        objective=objective,
        n_iter=objective.size,
        converged=converged,
    )


def _decode_components(prefix: str, arrays: CheckedArrays, p: int, k: int) -> tuple[Array, ...]:
    """The subspaces, with orthonormal rows."""
    ends = np.cumsum(arrays.indices(f"{prefix}ranks", p + 1, k))
    stacked = arrays.take(f"{prefix}components", "f", int(ends[-1]), p)
    components = tuple(np.split(stacked, ends[:-1]))
    for C in components:
        if np.abs(C).max(initial=0) > 2 or np.abs(C @ C.T - np.eye(len(C))).max(initial=0) > _ORTHONORMALITY_TOL:
            raise ValueError(f"{prefix}components have rows that are not orthonormal.")
    return components


def _encode_kernel(kernel: LandmarkKernel, prefix: str, arrays: Arrays) -> dict[str, Any]:
    if issparse(kernel.landmarks):
        _encode_csr(kernel.landmarks, f"{prefix}landmarks.", arrays)
    else:
        arrays[f"{prefix}landmarks.dense"] = kernel.landmarks
    if kernel.weights is not None:
        arrays[f"{prefix}landmarks.weights"] = kernel.weights
    arrays[f"{prefix}landmarks.rows"] = _as_int64(kernel.rows)
    return {"gamma": float(kernel.gamma)}


def _decode_kernel(content: Any, prefix: str, arrays: CheckedArrays, p: int, n: int) -> LandmarkKernel:
    """The kernel of a model of ``p`` features that was fitted to ``n`` samples."""
    (gamma,) = check_fields(content, "gamma")
    if arrays.has(f"{prefix}landmarks.dense"):
        landmarks = arrays.take(f"{prefix}landmarks.dense", "f", None, p)
    else:
        landmarks = _decode_csr(f"{prefix}landmarks.", arrays, p)
    if landmarks.shape[0] == 0:
        raise ValueError(f"{prefix}landmarks has no rows.")
    weights = None
    if arrays.has(f"{prefix}landmarks.weights"):
        weights = arrays.take(f"{prefix}landmarks.weights", "f", p)
        if (weights < 0).any() or issparse(landmarks):
            raise ValueError(f"{prefix}landmarks.weights are negative, or belong to sparse landmarks.")
    rows = arrays.indices(f"{prefix}landmarks.rows", n, landmarks.shape[0]).astype(np.intp, copy=False)
    if (np.diff(rows) <= 0).any():
        raise ValueError(f"{prefix}landmarks.rows must be ascending.")
    return LandmarkKernel(check_number(gamma, "the kernel's gamma", positive=True), weights, landmarks, rows)


def _encode_csr(matrix: csr_array, prefix: str, arrays: Arrays) -> None:
    for name in ("data", "indices", "indptr"):
        arrays[f"{prefix}{name}"] = getattr(matrix, name)


def _decode_csr(prefix: str, arrays: CheckedArrays, p: int) -> csr_array:
    data = arrays.take(f"{prefix}data", "f", None)
    indices = arrays.indices(f"{prefix}indices", p, data.size)
    indptr = arrays.indices(f"{prefix}indptr", data.size + 1)
    if indptr.size < 2 or indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        raise ValueError(f"{prefix}indptr is not valid.")
    return csr_array((data, indices, indptr), shape=(indptr.size - 1, p))


def _as_int64(indices: Array) -> Array:
    """Indices of the same width on every machine."""
    return indices.astype(np.int64, copy=False)
