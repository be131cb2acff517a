"""What tests of several folders share."""

from inspect import signature

import pytest
from scipy.linalg import subspace_angles

from sdgs import decompose
from sdgs._utils._array_api import to_host
from sdgs.decomposition._decompose import decompose_arguments
from sdgs.decomposition._problem import Arguments

FAST_LIBRARIES = ("torch", "cupy", "cuda")
# For tests that would take long with array-api-strict. The fixture `elsewhere` is in conftest.py.
fast_libraries = pytest.mark.parametrize("elsewhere", FAST_LIBRARIES, indirect=True)


def decompose_as_given(X, Y, **options):
    """:func:`decompose` that never converts sparse samples to dense, and does not warn."""
    defaults = {name: p.default for name, p in signature(decompose).parameters.items() if p.kind is p.KEYWORD_ONLY}
    return decompose_arguments(X, Y, Arguments(**(defaults | options), densify=False))


def assert_same_subspaces(expected, actual, max_angle=1e-6):
    assert len(expected) == len(actual)
    for C, D in zip(expected, map(to_host, actual), strict=True):
        assert C.shape == D.shape
        assert len(C) == 0 or subspace_angles(C.T, D.T).max() < max_angle
