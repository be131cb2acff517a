"""Scores of samples by one pipeline: scaling, then kernel, sample, code and norms of the code, then a regression."""

import warnings
from functools import cached_property
from typing import Any

import numpy as np

from sdgs.deployment.predictor._row_group_lasso import code_complete_rows
from sdgs.deployment.predictor._row_huber_lasso import code_by_huber_loss
from sdgs.deployment.predictor._sample_blocks import BLOCK_ENTRIES, Floats, dense_blocks, has_missing, take_rows, times
from sdgs.deployment.predictor._scaled_rows import scale_samples


class Codebook:
    """The subspaces of the labels, stacked, and what coding derives from them at first use."""

    def __init__(self, C: Floats, groups: Any, pinv: Floats | None) -> None:
        self.C, self.groups, self.pinv = C, groups, pinv
        self.starts = np.unique(groups)  # the bounds of the groups that are not empty

    @cached_property
    def gram(self) -> Floats:
        """The products of its rows."""
        return np.asarray(self.C @ self.C.T)

    def sums(self, values: Floats) -> Floats:
        """The sums (n, k) of the columns of each label."""
        total = np.zeros((len(values), len(self.groups) - 1))
        has_columns = np.diff(self.groups) > 0
        if has_columns.any():
            total[:, has_columns] = np.add.reduceat(values, self.groups[:-1][has_columns], axis=1)
        return total


class Pipeline:
    """A fitted pipeline, from its description."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content, self.scaling, self.kernel = content, content["scaling"], content["kernel"]
        self.alpha, self.huber, self.regression = content["alpha"], content["huber"], content["regression"]
        self.codebook = Codebook(content["components"], content["groups"], content["pinv"])

    def scores(self, X: Any) -> Floats:
        """Scores (n, k) of checked samples, or without a regression the l1 norms of the codes of labels."""
        parts, n_unsolved = [np.zeros((0, len(self.codebook.groups) - 1))], 0
        step = self.content["block_rows"][0 if isinstance(X, np.ndarray) else 1]
        for start in range(0, X.shape[0], step):
            block = take_rows(X, start, start + step)
            missing = has_missing(block)  # one solver codes all samples of a block
            for dense in dense_blocks(block):
                score, unsolved = self._score_rows(dense, missing=missing)
                parts.append(score)
                n_unsolved += unsolved
        if n_unsolved:
            warnings.warn(f"The codes of {n_unsolved} samples did not converge.", RuntimeWarning, stacklevel=4)
        return np.concatenate(parts)

    def _score_rows(self, X: Floats, *, missing: bool) -> tuple[Floats, int]:
        X, norms = scale_samples(self.scaling, X)
        cleans, codes, n_unsolved = missing or self.huber is not None, None, 0
        if cleans:
            codes, X, n_unsolved = code_by_huber_loss(self.codebook, X, self.alpha, self.huber)
        elif self.regression is None or "code" in self.regression["blocks"]:
            codes, n_unsolved = code_complete_rows(self.codebook, X, self.alpha)
        if self.regression is None:
            assert codes is not None
            return self.codebook.sums(np.abs(codes)), n_unsolved
        total = self.regression["intercept"] + np.zeros((len(X), 1))
        for name, block in self.regression["blocks"].items():
            if name == "kernel":
                Z = kernel_with_landmarks(self.kernel, X, norms)
            elif name == "sample":
                Z = X
            else:
                assert codes is not None
                Z = codes if name == "code" else np.sqrt(self.codebook.sums(codes**2))
            Z = Z if block["columns"] is None else Z[:, block["columns"]]
            total = total + times(Z, block["coef"])
        return total, n_unsolved


def kernel_with_landmarks(kernel: dict[str, Any], X: Floats, norms: Floats) -> Floats:
    """exp(-gamma d) for the Manhattan distances d between cleaned samples and landmarks."""
    if kernel["weights"] is not None:
        largest = float(np.finfo(np.float64).max)
        with np.errstate(over="ignore"):
            X = clip_all(X * clip_all(norms, largest)[:, None], largest)
            X = clip_all(X * kernel["weights"], largest**0.5)
    landmarks, indptr = kernel["landmarks"], kernel["indptr"]
    distances = np.empty((len(X), kernel["n_landmarks"]))
    if indptr is None:
        buffer = np.empty((max(min(BLOCK_ENTRIES // X.shape[1], len(landmarks)), 1), X.shape[1]))
        for start in range(0, len(landmarks), len(buffer)):
            some = landmarks[start : start + len(buffer)]
            for row, x in enumerate(X):
                part = np.subtract(some, x, out=buffer[: len(some)])
                distances[row, start : start + len(some)] = np.abs(part, out=part).sum(axis=1)
    else:
        indices, is_stored = kernel["indices"], indptr[1:] > indptr[:-1]
        for row, x in enumerate(X):
            distances[row] = np.abs(x).sum()
            values = x[indices]
            changes = np.abs(values - landmarks) - np.abs(values)
            distances[row, is_stored] += np.add.reduceat(changes, indptr[:-1][is_stored])
        np.maximum(distances, 0, out=distances)
    return np.asarray(np.exp(-kernel["gamma"] * distances))


def clip_all(X: Floats, bound: float) -> Floats:
    """Entries clipped to [-bound, bound]; NaN, which a norm that overflowed gives, becomes the bound."""
    return np.where(np.isnan(X), bound, np.clip(X, -bound, bound))
