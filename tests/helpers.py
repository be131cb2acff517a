"""What tests of several folders share."""

import inspect
import sys
import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csc_array
from sklearn.exceptions import ConvergenceWarning

from sdgs import decompose
from sdgs._utils._array_api import to_host
from sdgs.decomposition._problem import Problem
from sdgs.readout._features import ReadoutFeatures

FAST_LIBRARIES = ("torch", "cupy", "cuda")
# For tests that would take long with array-api-strict. The fixture `elsewhere` is in conftest.py.
fast_libraries = pytest.mark.parametrize("elsewhere", FAST_LIBRARIES, indirect=True)


def decompose_as_given(X, Y, **options):
    """:func:`decompose` that never converts sparse samples to dense, and does not warn."""
    with patch.object(Problem, "is_solved_dense", return_value=False), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return decompose(X, Y, **options)


def decomposition_problem(shape, Y, n_components, K, solver="brp", *, max_iter=100, tol=1e-4, n_jobs=None):
    """The problem that an alternation solves, with seed 0."""
    labels = csc_array(Y) != 0
    ranks = np.minimum(np.broadcast_to(n_components, labels.shape[1]), np.diff(labels.indptr)).clip(max=shape[1])
    return Problem(shape, labels, ranks, K, solver, 0, max_iter, tol, n_jobs, None)


class SmallBlocks(ReadoutFeatures):
    """Features that are computed for 1024 rows at a time."""

    def rows_per_block(self, X, max_bytes=None):
        return super().rows_per_block(X, max_bytes or 1)


def in_small_blocks(model):
    """A copy of a fitted model that predicts 1024 rows at a time."""
    blockwise = copy(model)
    blockwise._pipelines = [
        replace(pipeline, features=SmallBlocks(**vars(pipeline.features))) for pipeline in model._pipelines
    ]
    blockwise._row_blocks = partial(model._row_blocks, max_bytes=1)
    return blockwise


def assert_same_subspaces(expected, actual, max_angle=1e-6):
    assert len(expected) == len(actual)
    for C, D in zip(expected, map(to_host, actual), strict=True):
        assert C.shape == D.shape
        assert len(C) == 0 or subspace_angles(C.T, D.T).max() < max_angle


class _Interrupter:
    """Raises an exception at the ``point``-th call of a Python function of this package.

    Not in generators, because Python ignores exceptions while it deletes one.
    """

    def __init__(self, point, exception):
        self.n_calls, self.point, self.exception = 0, point, exception

    def __call__(self, frame, event, argument):  # noqa: ARG002
        code = frame.f_code
        if event == "call" and "/sdgs/" in code.co_filename and not code.co_flags & inspect.CO_GENERATOR:
            self.n_calls += 1
            if self.n_calls == self.point:
                raise self.exception


def interrupted(work, point=None, exception=None):
    """Do ``work()``, which is interrupted at the ``point``-th call of a function of this package, if one is given.

    Returns the number of calls.
    """
    interrupter = _Interrupter(point, exception)
    sys.setprofile(interrupter)
    try:
        work()
    finally:
        sys.setprofile(None)
    return interrupter.n_calls
