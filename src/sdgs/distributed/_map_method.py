"""Prediction on Dask arrays, block by block, when it is computed. Needs no client."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from dask import delayed
from scipy.sparse import csr_array, issparse

from sdgs._utils._label_collections import object_array


def map_method(model: Any, method: str, X: Any) -> Any:
    """The Dask array of what a method of ``model`` returns for each block of rows."""
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D Dask array of samples, got {X.ndim} dimension(s).")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    example = np.zeros((1, X.shape[1]), dtype=X.dtype)
    empty = _as_array(getattr(model, method)(csr_array(example) if issparse(X._meta) else example))[:0]
    chunks = (X.chunks[0],) if empty.ndim == 1 else (X.chunks[0], (empty.shape[1],))
    return X.map_blocks(
        _apply_method,
        delayed(_without_samples(model)),  # once in the graph, not once per block
        method,
        empty,
        dtype=empty.dtype,
        chunks=chunks,
        drop_axis=1 if empty.ndim == 1 else None,
        meta=empty if empty.ndim == 1 else empty[:, :0],
    )


def _apply_method(block: Any, model: Any, method: str, empty: Any) -> Any:
    return _as_array(getattr(model, method)(block)) if block.shape[0] else empty


def _as_array(result: Any) -> Any:
    """Labels of a DataFrame as an array, in the order of ``classes_``; lists of labels as an array of objects."""
    if isinstance(result, list | tuple):
        return object_array(result)
    return result.to_numpy() if hasattr(result, "iloc") else result


def _without_samples(model: Any) -> Any:
    """The model without what it keeps of its training samples, which is far larger than the rest."""
    light = copy(model)
    light._out_of_fold = None
    light._kept = None
    light._pipelines = [
        replace(pipeline, features=pipeline.features.without_samples()) for pipeline in model._pipelines
    ]
    light._set_attributes(light._pipelines[0])
    return light
