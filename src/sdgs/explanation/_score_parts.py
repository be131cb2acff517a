r"""Split the scores of a pipeline into what each feature, each label's component and each landmark adds.

A score is linear in what it is read from: the cleaned, scaled sample z, its code b, the norms of b per label, and the
kernel with landmarks. The norm of the code of label i is u_i^T b_i with u_i = b_i / ||b_i||, so that the part of the
component of label i is v_i^T b_i, with v_i the weights of b_i plus the weight of the norm times u_i.

The code is linear in z too, as long as the groups of b stay as long as they are. With A the coordinates of the groups
that are not zero, an optimal code solves

.. math:: b_A = (C_A C_A^T + \alpha D)^{-1} C_A z, \qquad D = \operatorname{diag}(1 / \|b_i\|)

So what the components add is split over features as well: (v^T (C_A C_A^T + alpha D)^-1) C_A z. Because the code has a
duality gap, the weights in brackets get the smallest change for which the parts sum to v^T b.

Sums are over observed entries. A missing entry of z is filled with that of b C, so that what its weight adds is a part
of the components: no reason is ever a value that the sample does not have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs._utils._validation import has_missing
from sdgs.coding import cleaned_samples
from sdgs.coding._coding_problem import Dictionary
from sdgs.readout._pipeline import FittedPipeline

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ReadSample:
    """One sample as a pipeline reads it.

    Attributes
    ----------
    features : ndarray of shape (q,)
        The features that are observed and not zero, ascending.
    values : ndarray of shape (q,)
        Their cleaned and scaled values.
    missing : ndarray of shape (t,)
        The missing features.
    coordinates : ndarray of shape (a,)
        The coordinates of the code in the groups that are not zero, ascending.
    code : ndarray of shape (a,)
        Their values.
    cleaned : ndarray or csr_array of shape (1, p)
        The cleaned and scaled sample, with missing entries filled.
    norm : ndarray of shape (1,)
        The norm of the sample before it was scaled to unit norm.
    """

    features: Integers
    values: Floats
    missing: Integers
    coordinates: Integers
    code: Floats
    cleaned: Any
    norm: Any


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """What is added to the scores of m labels by the intercept, by each feature, component and landmark.

    ``intercept + features + components + landmarks`` and ``intercept + features + through_components + landmarks``,
    each summed over columns, are the scores.

    Attributes
    ----------
    intercept : ndarray of shape (m,)
    columns : ndarray of shape (q,)
        The features with parts.
    features, through_components : ndarray of shape (m, q)
        What each of these features adds directly, and through the code.
    components : ndarray of shape (m, k)
        What the component of each label adds.
    landmarks : ndarray of shape (m, l)
        What each landmark of the kernel adds; l is 0 without a kernel.
    similarities : ndarray of shape (l,)
        The kernel between the sample and each landmark.
    """

    intercept: Floats
    columns: Integers
    features: Floats
    through_components: Floats
    components: Floats
    landmarks: Floats
    similarities: Floats


def read_samples(pipeline: FittedPipeline, X: Any, n_jobs: int | None) -> Iterator[ReadSample]:
    """The samples X (n, p) as the pipeline reads them."""
    for scaled, norms in pipeline.scaled_blocks(X):
        features = pipeline.features
        missing = has_missing(scaled)
        label_of = features.dictionary(_precision(scaled)).label_of
        result = features.encode(scaled, n_jobs, missing=missing)
        cleaned = scaled
        if missing or result.residual is not None:
            cleaned = cleaned_samples(scaled, result, features.decomposition.components)
        for row in range(scaled.shape[0]):
            yield _read_sample(row, scaled, cleaned, norms, result.codes, label_of)


def _precision(samples: Any) -> type[np.floating[Any]]:
    """The precision of the dictionary that codes these samples."""
    return np.float64 if samples.dtype == np.float64 else np.float32


def _read_sample(row: int, scaled: Any, cleaned: Any, norms: Any, codes: Any, label_of: Integers) -> ReadSample:
    """One row; ``label_of`` has the label of each coordinate of the codes."""
    columns, values = _stored_row(cleaned, row)
    missing = np.empty(0, dtype=np.intp)
    observed_columns, observed = _stored_row(scaled, row)
    is_missing = np.isnan(observed)
    if is_missing.any():
        missing = observed_columns[is_missing]
        is_observed = ~np.isin(columns, missing)
        columns, values = columns[is_observed], values[is_observed]
    not_zero = values != 0
    stored, code = _stored_row(codes, row)
    active = np.unique(label_of[stored[code != 0]])
    coordinates = np.flatnonzero(np.isin(label_of, active))
    dense = np.zeros(label_of.size)
    dense[stored] = code
    return ReadSample(
        columns[not_zero], values[not_zero], missing, coordinates, dense[coordinates], cleaned[[row]], norms[[row]]
    )


def _stored_row(matrix: Any, row: int) -> tuple[Integers, Floats]:
    """The stored columns of a row, ascending, and their values in float64; all columns of a dense matrix."""
    if not issparse(matrix):
        return np.arange(matrix.shape[1]), matrix[row].astype(np.float64)
    stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
    columns, values = matrix.indices[stored].astype(np.intp), matrix.data[stored].astype(np.float64)
    if (np.diff(columns) <= 0).any():
        columns, positions = np.unique(columns, return_inverse=True)
        values = np.bincount(positions, weights=values, minlength=columns.size)
    return columns, values


def split_scores(pipeline: FittedPipeline, sample: ReadSample, labels: Integers) -> ScoreParts:
    """The parts of the scores of these labels."""
    features, ridge = pipeline.features, pipeline.ridge
    assert ridge is not None
    dictionary = features.dictionary(_precision(sample.cleaned))
    v = _component_weights(pipeline, sample, labels, dictionary)
    components = sum_by_group(v * sample.code, dictionary.label_of[sample.coordinates], features.n_labels)
    similarities = np.empty(0)
    landmark_weights = np.empty((labels.size, 0))
    if features.kernel is not None:
        similarities = features.kernel.transform(sample.cleaned, sample.norm)[0].astype(np.float64, copy=False)
        landmark_weights = _weights(pipeline, labels, "kernel", np.arange(similarities.size))
    return ScoreParts(
        np.asarray(ridge.intercept, dtype=np.float64)[labels],
        sample.features,
        _weights(pipeline, labels, "sample", sample.features) * sample.values,
        _through_components(v, sample, dictionary, alpha=features.parameters.alpha),
        components,
        landmark_weights * similarities,
        similarities,
    )


def _weights(pipeline: FittedPipeline, labels: Integers, block: str, indices: Integers) -> Floats:
    """The ridge coefficients (m, q) of some labels for columns of a feature block; 0 where labels are not read."""
    assert pipeline.ridge is not None
    coef = pipeline.ridge.coef
    positions = pipeline.features.column_positions(block, indices)
    is_read = (positions >= 0) & (positions < coef.shape[1])
    weights = np.zeros((labels.size, indices.size))
    weights[:, is_read] = coef[np.ix_(labels, positions[is_read])]
    return weights


def _component_weights(
    pipeline: FittedPipeline, sample: ReadSample, labels: Integers, dictionary: Dictionary
) -> Floats:
    """The weights v (m, a) of the code, of its norms as a linear function of it, and of the entries it fills."""
    coordinates, b = sample.coordinates, sample.code
    v = _weights(pipeline, labels, "code", coordinates)
    active, group = np.unique(dictionary.label_of[coordinates], return_inverse=True)
    v += _weights(pipeline, labels, "norms", active)[:, group] * (b / _group_norms(b, group)[group])
    if sample.missing.size:
        filled = dictionary.C_float64[np.ix_(coordinates, sample.missing)]
        v += _weights(pipeline, labels, "sample", sample.missing) @ filled.T
    return v


def _through_components(v: Floats, sample: ReadSample, dictionary: Dictionary, alpha: float) -> Floats:
    """What each feature adds through the code, (m, q)."""
    if not v.any():  # nothing is read from the code, or it is empty
        return np.zeros((len(v), sample.features.size))
    if alpha == 0:  # least squares, computed as coding does it
        inverse = dictionary.pinv[np.ix_(sample.features, sample.coordinates)]
        return np.asarray(v @ inverse.T * sample.values)
    C, b = dictionary.C_float64[sample.coordinates], sample.code
    if sample.missing.size:
        observed = np.delete(C, sample.missing, axis=1)
        gram = observed @ observed.T
    else:
        gram = dictionary.gram_of(sample.coordinates)
    C = C[:, sample.features]
    _, group = np.unique(dictionary.label_of[sample.coordinates], return_inverse=True)
    # (gram + alpha D)^-1 = s (s gram s + alpha I)^-1 s with s the square roots of the norms, which may be tiny.
    s = np.sqrt(_group_norms(b, group)[group])
    weights = s * _solve(s[:, None] * gram * s + alpha * np.eye(b.size), (s * v).T).T
    correlations = C @ sample.values
    size = np.abs(correlations).max() or 1.0
    direction = correlations / size
    weights += np.outer(v @ (b / size) - weights @ direction, direction) / (direction @ direction or 1.0)
    return np.asarray(weights @ C * sample.values)


def _solve(matrix: Floats, right_side: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(matrix, right_side))
    except np.linalg.LinAlgError:  # alpha is lost in rounding, and subspaces share directions
        return np.asarray(np.linalg.lstsq(matrix, right_side)[0])


def _group_norms(b: Floats, group: Integers) -> Floats:
    """The norm of each group of coordinates."""
    largest = np.zeros(group.max(initial=-1) + 1)
    np.maximum.at(largest, group, np.abs(b))
    return np.asarray(largest * np.sqrt(np.bincount(group, weights=np.square(b / largest[group]))))


def sum_by_group(values: Floats, group: Integers, n_groups: int) -> Floats:
    """The sums (m, n_groups) of the columns (m, a) of each group."""
    return np.array([np.bincount(group, weights=row, minlength=n_groups) for row in values]).reshape(
        len(values), n_groups
    )


def mean_parts(parts: Sequence[ScoreParts]) -> ScoreParts:
    """The parts of the mean of the scores of several pipelines; their landmarks are side by side."""
    n = len(parts)
    columns = parts[0].columns if n == 1 else np.unique(np.concatenate([part.columns for part in parts]))
    features = np.zeros((len(parts[0].intercept), columns.size))
    through = np.zeros_like(features)
    for part in parts:
        positions = np.searchsorted(columns, part.columns)
        features[:, positions] += part.features / n
        through[:, positions] += part.through_components / n
    return ScoreParts(
        np.mean([part.intercept for part in parts], axis=0),
        columns,
        features,
        through,
        np.mean([part.components for part in parts], axis=0),
        np.concatenate([part.landmarks for part in parts], axis=1) / n,
        np.concatenate([part.similarities for part in parts]),
    )
