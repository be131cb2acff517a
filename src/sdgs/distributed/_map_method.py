"""Prediction on Dask arrays: a block at a time, when it is asked for. Needs no client."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from dask import delayed
from scipy.sparse import csr_array, issparse


def map_method(model: Any, method: str, X: Any) -> Any:
    """The Dask array of what ``model``'s method gives for each block of rows."""
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D Dask array of samples, got {X.ndim} dimension(s).")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    example = np.zeros((1, X.shape[1]), dtype=X.dtype)
    given = _as_array(getattr(model, method)(csr_array(example) if issparse(X._meta) else example))[:0]
    chunks = (X.chunks[0],) if given.ndim == 1 else (X.chunks[0], (given.shape[1],))
    return X.map_blocks(
        _of_block,
        delayed(_light(model)),  # once in the graph, not once a block
        method,
        given,
        dtype=given.dtype,
        chunks=chunks,
        drop_axis=1 if given.ndim == 1 else None,
        meta=given if given.ndim == 1 else given[:, :0],
    )


def _of_block(block: Any, model: Any, method: str, nothing: Any) -> Any:
    return _as_array(getattr(model, method)(block)) if block.shape[0] else nothing


def _as_array(given: Any) -> Any:
    """Labels of a DataFrame as an array, in the order of ``classes_``."""
    return given.to_numpy() if hasattr(given, "iloc") else given


def _light(model: Any) -> Any:
    """The model without its training samples, which are far larger than all else."""
    light = copy(model)
    light._members = [replace(member, view=member.view.without_rows()) for member in model._members]
    light._set_attributes()
    return light
