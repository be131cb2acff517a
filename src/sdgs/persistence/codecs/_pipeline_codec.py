"""The members of a model as JSON and arrays, and back: scaler, decomposition, kernel and ridge regression of each."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from sdgs._utils._validation import check_choice, check_number, check_ranks
from sdgs.decomposition import Decomposition
from sdgs.persistence._container import ArraysOf
from sdgs.persistence.codecs._json_values import decoded, encoded
from sdgs.readout._features import PipelineParameters, ReadoutFeatures
from sdgs.readout._landmark_kernel import LandmarkKernel
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._ridge import Ridge
from sdgs.readout._scaling import SCALINGS, Scaling

Array = NDArray[Any]
Arrays = dict[str, Array]

_ROUNDING = 5e-5  # of products of orthonormal rows; group_lasso allows twice as much
_LARGEST = 1e7  # entry of the map of a kernel: landmarks that are the same have 1e4 at most


def fields_of(content: Any, *names: str) -> list[Any]:
    """The values of an object with exactly these fields."""
    if not isinstance(content, dict) or set(content) != set(names):
        raise ValueError(f"its JSON should have {', '.join(names)} at one place and has something else.")
    return [content[name] for name in names]


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"its JSON has {value!r} in place of true or false.")
    return value


def describe_member(member: FittedPipeline, at: str, arrays: Arrays) -> dict[str, Any]:
    """As JSON; its arrays are added to ``arrays``, by names that begin with ``at``."""
    view, scaler = member.view, member.scaling.scaler
    _describe_decomposition(view.decomposition, at, arrays)
    scaled_by = None
    if isinstance(scaler, StandardScaler):
        scaled_by = "standard"
        for name in ("mean_", "scale_", "var_", "n_samples_seen_"):
            arrays[f"{at}scaler.{name}"] = np.asarray(getattr(scaler, name))
    elif scaler is not None:
        scaled_by = "idf"
        arrays[f"{at}scaler.idf_"] = scaler.idf_
    if view.image_components is not None:
        _describe_components(view.image_components, f"{at}kernel.", arrays)
    if view.columns is not None:
        arrays[f"{at}columns"] = _whole(view.columns)
    if member.ridge is not None:
        arrays[f"{at}ridge.coef"], arrays[f"{at}ridge.intercept"] = member.ridge.coef, member.ridge.intercept
    return {
        "setting": {name: encoded(value, name) for name, value in view.setting.parameters().items()},
        "scaler": scaled_by,
        "unit_rows": member.scaling.to_unit_rows,
        "converged": bool(view.decomposition.converged),
        "kernel": None if view.chart is None else _describe_chart(view.chart, at, arrays),
        "reads_kernel_first": True,
        "norm": view.norm,
    }


def restored_member(content: Any, at: str, arrays: ArraysOf, p: int, k: int, *, reads_by_ridge: bool) -> FittedPipeline:
    """The opposite, for ``p`` features and ``k`` labels."""
    setting_content, scaled_by, unit_rows, converged, kernel, kernel_first, norm = fields_of(
        content, "setting", "scaler", "unit_rows", "converged", "kernel", "reads_kernel_first", "norm"
    )
    setting = _setting(setting_content, k)
    kernel_first = flag(kernel_first)
    scaler = _scaler(check_choice(scaled_by, "scaler", ("standard", "idf", None)), at, arrays, p)
    decomposition = _decomposition(at, arrays, p, k, converged=flag(converged))
    if setting.gamma is None and kernel is not None:
        raise ValueError("it has a kernel without a gamma.")
    chart = None if setting.gamma is None else _chart(kernel, at, arrays, p)
    view = ReadoutFeatures(setting, decomposition, chart, p, k, check_choice(norm, "norm", ("l1", "l2")))
    if chart is not None and arrays.has(f"{at}kernel.components"):  # of version 2 or before
        view = replace(view, image_components=_components(f"{at}kernel.", arrays, chart.size, k))
    if arrays.has(f"{at}columns"):
        columns = arrays.indices(f"{at}columns", sum(view._sizes))
        if columns.size == 0 or (np.diff(columns) <= 0).any():
            raise ValueError(f"{at}columns are not in order.")
        view = replace(view, columns=columns.astype(np.intp, copy=False))
    ridge = None
    if reads_by_ridge:
        coef, intercept = arrays.take(f"{at}ridge.coef", "f", k, None), arrays.take(f"{at}ridge.intercept", "f", k)
        if coef.shape[1] not in (view.widths if kernel_first else view.widths[-2:]):
            raise ValueError(f"{at}ridge.coef has {coef.shape[1]} columns, of which the member has {view.widths}.")
        ridge = Ridge(coef, intercept)
    if chart is not None and not kernel_first:
        view, ridge = _with_kernel_first(view, ridge, chart.size)
    return FittedPipeline(Scaling(scaler, flag(unit_rows)), view, ridge)


def _with_kernel_first(view: ReadoutFeatures, ridge: Ridge | None, m: int) -> tuple[ReadoutFeatures, Ridge | None]:
    """An old member, which has the sample before the ``m`` columns of the kernel."""
    place = np.arange(sum(view._sizes))
    place[: view.n_features + m] = np.r_[m : view.n_features + m, :m]
    if view.columns is not None:
        place = place[view.columns]
        view = replace(view, columns=np.sort(place))
    if ridge is not None:
        ridge = replace(ridge, coef=ridge.coef[:, np.argsort(place[: ridge.coef.shape[1]])])
    return view, ridge


def _setting(content: Any, k: int) -> PipelineParameters:
    names = ("scaling", "n_components", "alpha", "huber", "gamma")
    values = [decoded(value) for value in fields_of(content, *names)]
    setting = PipelineParameters(**dict(zip(names, values, strict=True)))
    check_choice(setting.scaling, "scaling", SCALINGS)
    check_ranks(setting.n_components, k)
    check_number(setting.alpha, "alpha", positive=setting.huber is not None)
    for value, name in ((setting.huber, "huber"), (setting.gamma, "gamma")):
        if value is not None:
            check_number(value, name, positive=True)
    return setting


def _scaler(kind: str | None, at: str, arrays: ArraysOf, p: int) -> Any:
    if kind is None:
        return None
    if kind == "idf":
        scaler = TfidfTransformer(norm=None)
        scaler.idf_ = weights = arrays.take(f"{at}scaler.idf_", "f", p)
    else:
        scaler = StandardScaler()
        scaler.mean_ = arrays.take(f"{at}scaler.mean_", "f", p)
        scaler.scale_ = weights = arrays.take(f"{at}scaler.scale_", "f", p)
        scaler.var_ = arrays.take(f"{at}scaler.var_", "f", p, finite=False)  # of columns that nothing is known of, NaN
        name = f"{at}scaler.n_samples_seen_"
        scaler.n_samples_seen_ = arrays.take(name, "fi", *((p,) if arrays.shape(name) else ()))[()]
    if not (weights > 0).all():
        raise ValueError(f"{at}scaler has weights that are not above zero.")
    scaler.n_features_in_ = p
    return scaler


def _describe_decomposition(result: Decomposition, at: str, arrays: Arrays) -> None:
    _describe_components(result.components, at, arrays)
    arrays[f"{at}sizes"] = np.array([rows.size for rows in result.rows], dtype=np.int64)
    arrays[f"{at}rows"] = _whole(np.concatenate(result.rows))
    # By columns, as they are in memory.
    arrays[f"{at}coefficients"] = np.concatenate([U.T.reshape(-1) for U in result.coefficients])
    _describe_sparse(result.residual, f"{at}residual.", arrays)
    arrays[f"{at}objective"] = result.objective


def _decomposition(at: str, arrays: ArraysOf, p: int, k: int, *, converged: bool) -> Decomposition:
    components = _components(at, arrays, p, k)
    residual = _sparse(f"{at}residual.", arrays, p)
    n = residual.shape[0]
    ends = np.cumsum(arrays.indices(f"{at}sizes", n + 1, k))
    rows = np.split(arrays.indices(f"{at}rows", n, ends[-1]).astype(np.intp, copy=False), ends[:-1])
    if any((np.diff(mine) <= 0).any() for mine in rows):
        raise ValueError(f"{at}rows are not in order.")
    lengths = [mine.size * len(C) for mine, C in zip(rows, components, strict=True)]
    flat = arrays.take(f"{at}coefficients", "f", sum(lengths))
    parts = np.split(flat, np.cumsum(lengths)[:-1])
    objective = arrays.take(f"{at}objective", "f", None, finite=False)  # squares may overflow
    if objective.size == 0 or any(array.dtype != components[0].dtype for array in (flat, residual.data)):
        raise ValueError(f"{at}objective is empty, or the parts of the decomposition differ in precision.")
    return Decomposition(
        components=components,
        coefficients=tuple(
            part.reshape(len(C), mine.size).T for part, C, mine in zip(parts, components, rows, strict=True)
        ),
        rows=tuple(rows),
        residual=residual,
        objective=objective,
        n_iter=objective.size,
        converged=converged,
    )


def _describe_components(components: tuple[Array, ...], at: str, arrays: Arrays) -> None:
    arrays[f"{at}ranks"] = np.array([len(C) for C in components], dtype=np.int64)
    arrays[f"{at}components"] = np.vstack(components)


def _components(at: str, arrays: ArraysOf, p: int, k: int) -> tuple[Array, ...]:
    """Of each label; with orthonormal rows."""
    ends = np.cumsum(arrays.indices(f"{at}ranks", p + 1, k))
    stacked = arrays.take(f"{at}components", "f", int(ends[-1]), p)
    components = tuple(np.split(stacked, ends[:-1]))
    for C in components:
        if np.abs(C).max(initial=0) > 2 or np.abs(C @ C.T - np.eye(len(C))).max(initial=0) > _ROUNDING:
            raise ValueError(f"{at}components have rows that are not orthonormal.")
    return components


def _describe_chart(chart: LandmarkKernel, at: str, arrays: Arrays) -> dict[str, Any]:
    if issparse(chart.landmarks):
        _describe_sparse(chart.landmarks, f"{at}landmarks.", arrays)
    else:
        arrays[f"{at}landmarks.dense"] = chart.landmarks
    if chart.turn is not None:
        arrays[f"{at}landmarks.map"] = chart.turn if chart.kernel == "laplacian" else np.ascontiguousarray(chart.turn.T)
    if chart.weights is not None:
        arrays[f"{at}landmarks.weights"] = chart.weights
    return {"name": chart.kernel, "gamma": float(chart.gamma), "mapped": chart.turn is not None}


def _chart(content: Any, at: str, arrays: ArraysOf, p: int) -> LandmarkKernel:
    name, gamma, mapped = fields_of(content, "name", "gamma", "mapped")
    kernel: Any = check_choice(name, "the kernel's name", ("laplacian", "rbf"))
    if arrays.has(f"{at}landmarks.dense"):
        landmarks = arrays.take(f"{at}landmarks.dense", "f", None, p)
    else:
        landmarks = _sparse(f"{at}landmarks.", arrays, p)
    m = landmarks.shape[0]
    if m == 0:
        raise ValueError(f"{at}landmarks are none.")
    turn = None
    if flag(mapped):  # of version 4 or before
        turn = arrays.take(f"{at}landmarks.map", "f", m, m)
        if np.abs(turn).max() > _LARGEST:
            raise ValueError(f"{at}landmarks.map is too large.")
        turn = turn if kernel == "laplacian" else turn.T
    if arrays.has(f"{at}landmarks.rows"):  # of version 3 or before, where they came from
        arrays.take(f"{at}landmarks.rows", "i", m)
    weights = None
    if arrays.has(f"{at}landmarks.weights"):
        weights = arrays.take(f"{at}landmarks.weights", "f", p)
        if (weights < 0).any() or issparse(landmarks):
            raise ValueError(f"{at}landmarks.weights are below zero, or of sparse landmarks.")
    return LandmarkKernel(
        kernel, check_number(gamma, "the kernel's gamma", positive=True), weights, landmarks, turn=turn
    )


def _describe_sparse(matrix: csr_array, at: str, arrays: Arrays) -> None:
    for name in ("data", "indices", "indptr"):
        arrays[f"{at}{name}"] = getattr(matrix, name)


def _sparse(at: str, arrays: ArraysOf, p: int) -> csr_array:
    data = arrays.take(f"{at}data", "f", None)
    indices = arrays.indices(f"{at}indices", p, data.size)
    indptr = arrays.indices(f"{at}indptr", data.size + 1)
    if indptr.size < 2 or indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        raise ValueError(f"{at}indptr is not in order.")
    return csr_array((data, indices, indptr), shape=(indptr.size - 1, p))


def _whole(array: Array) -> Array:
    """Numbers of rows or columns, as wide on every machine."""
    return array.astype(np.int64, copy=False)
