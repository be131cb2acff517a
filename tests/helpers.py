"""What tests of several folders share."""

from copy import copy
from dataclasses import replace
from functools import partial
from inspect import signature

import pytest
from scipy.linalg import subspace_angles

from sdgs import decompose
from sdgs._utils._array_api import to_host
from sdgs.decomposition._decompose import decompose_arguments
from sdgs.decomposition._problem import Arguments
from sdgs.readout._features import ReadoutFeatures

FAST_LIBRARIES = ("torch", "cupy", "cuda")
# For tests that would take long with array-api-strict. The fixture `elsewhere` is in conftest.py.
fast_libraries = pytest.mark.parametrize("elsewhere", FAST_LIBRARIES, indirect=True)


def arguments_of_decompose(**options):
    """The arguments of :func:`decompose`, with its defaults."""
    defaults = {name: p.default for name, p in signature(decompose).parameters.items() if p.kind is p.KEYWORD_ONLY}
    return Arguments(**(defaults | options))


def decompose_as_given(X, Y, **options):
    """:func:`decompose` that never converts sparse samples to dense, and does not warn."""
    return decompose_arguments(X, Y, arguments_of_decompose(**options, densify=False))


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
