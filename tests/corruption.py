"""Samples with missing or corrupted entries."""

import numpy as np


def with_missing_entries(X, share, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def with_spikes(X, share, seed=0):
    rng = np.random.default_rng(seed)
    spikes = rng.random(X.shape) < share
    return X + np.where(spikes, rng.choice([-1, 1], X.shape) * 3 * X.std() * rng.uniform(1, 2, X.shape), 0)
