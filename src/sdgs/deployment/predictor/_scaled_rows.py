"""Scaling of samples: columns weighted, then rows of unit norm."""

from typing import Any

import numpy as np

from sdgs.deployment.predictor._sample_blocks import Floats


def scale_samples(scaling: dict[str, Any], X: Floats) -> tuple[Floats, Floats]:
    """Scaled samples, and the norm of each row before it was divided by it."""
    with np.errstate(over="ignore"):
        if scaling["mean"] is not None:
            X = (X - scaling["mean"]) / scaling["scale"]
        elif scaling["weight"] is not None:
            X = X * scaling["weight"]
    if np.isinf(X).any():
        raise ValueError("X has entries that are too large for this model: they overflow when its columns are scaled.")
    return unit_rows(X) if scaling["to_unit_rows"] else (X, np.ones(len(X)))


def unit_rows(X: Floats) -> tuple[Floats, Floats]:
    """Rows of unit norm, and the norms: with m of p entries observed sqrt(p / m) times that of the observed ones."""
    missing = np.isnan(X)
    largest = np.abs(X).max(axis=1, initial=0, where=~missing)
    unit = X / nonzero(largest)[:, None]
    values = np.where(missing, 0, unit)
    n_observed = np.maximum(X.shape[1] - missing.sum(axis=1), 1)
    norms = np.sqrt(np.einsum("ij,ij->i", values, values) * (X.shape[1] / n_observed))
    with np.errstate(over="ignore"):
        return unit / nonzero(norms)[:, None], largest * norms


def nonzero(divisors: Floats) -> Floats:
    """Divisors with 1 for 0."""
    return np.where(divisors > 0, divisors, 1.0)
