"""What a model keeps for updates as JSON and arrays, and back: its samples, or sums over them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.persistence._container import CheckedArrays
from sdgs.persistence.codecs._json_values import check_bool, check_fields
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._sample_sums import KeptSamples, SampleSums, ScoredSamples, SizeWeights

Arrays = dict[str, NDArray[Any]]

_MOMENTS = ("gram", "cross", "Z_mean", "Y_mean")
_SUMS_FIELDS = ("weight", "samples", "weighs_columns", "size_weights", "scored", "compared")


def encode_kept(kept: KeptSamples | SampleSums, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """The fields of the document; arrays are added to ``arrays`` under names with this prefix."""
    if isinstance(kept, KeptSamples):
        if issparse(kept.X):
            arrays[f"{prefix}X.data"] = kept.X.data
            _encode_structure(kept.X, f"{prefix}X.", arrays)
        else:
            arrays[f"{prefix}X.dense"] = kept.X
        _encode_structure(kept.labels, f"{prefix}labels.", arrays)
        if kept.labels.dtype != bool:
            arrays[f"{prefix}labels.data"] = kept.labels.data
        _encode_weight(kept.sample_weight, prefix, arrays)
        return {"form": "samples"}
    for name in _MOMENTS:
        arrays[f"{prefix}{name}"] = getattr(kept, name)
    arrays[f"{prefix}scores"] = kept.scored.scores
    arrays[f"{prefix}penalty_gains"] = kept.penalty_gains
    _encode_structure(kept.scored.labels, f"{prefix}labels.", arrays)
    _encode_weight(kept.scored.sample_weight, prefix, arrays)
    sizes = kept.size_weights
    return {
        "form": "sums",
        "weight": kept.weight,
        "samples": kept.n_samples,
        "weighs_columns": kept.weighs_columns,
        "size_weights": None if sizes is None else [sizes.mean_size, sizes.mean_weight],
        "scored": kept.scored.n_scored,
        "compared": kept.n_compared,
    }


def decode_kept(content: Any, pipeline: FittedPipeline, prefix: str, arrays: CheckedArrays) -> KeptSamples | SampleSums:
    """The opposite of :func:`encode_kept`, for a model of this pipeline."""
    form = content.get("form") if isinstance(content, dict) else None
    if check_choice(form, "the form of what is kept", ("samples", "sums")) == "samples":
        check_fields(content, "form")
        return _decode_samples(pipeline, prefix, arrays)
    _, weight, n_samples, weighs_columns, sizes, n_scored, n_compared = check_fields(content, "form", *_SUMS_FIELDS)
    assert pipeline.ridge is not None
    k, d = pipeline.ridge.coef.shape
    gram = arrays.take(f"{prefix}gram", "f", d * (d + 1) // 2)
    cross, Z_mean = arrays.take(f"{prefix}cross", "f", d, k), arrays.take(f"{prefix}Z_mean", "f", d)
    Y_mean, gains = arrays.take(f"{prefix}Y_mean", "f", k), arrays.take(f"{prefix}penalty_gains", "f", 2)
    if any(array.dtype != np.float64 for array in (gram, cross, Z_mean, Y_mean, gains)):
        raise ValueError(f"{prefix}gram and the other sums must be float64.")
    if Y_mean.min() < 0 or Y_mean.max() > 1:
        raise ValueError(f"{prefix}Y_mean must be between 0 and 1.")
    labels = _decode_labels(f"{prefix}labels.", arrays, k)
    scores = arrays.take(f"{prefix}scores", "f", labels.shape[0], k)
    if scores.dtype != np.float32:
        raise ValueError(f"{prefix}scores must be float32.")
    return SampleSums(
        gram=gram,
        cross=cross,
        Z_mean=Z_mean,
        Y_mean=Y_mean,
        weight=check_number(weight, "the sum of the sample weights", positive=True),
        n_samples=check_int(n_samples, "the number of samples", minimum=1),
        weighs_columns=check_bool(weighs_columns),
        size_weights=None if sizes is None else _decode_size_weights(sizes),
        scored=ScoredSamples(
            scores,
            labels,
            check_int(n_scored, "the number of scored samples", minimum=labels.shape[0]),
            _decode_weight(prefix, arrays, labels.shape[0]),
        ),
        penalty_gains=gains,
        n_compared=check_int(n_compared, "the number of compared samples", minimum=0),
    )


def _decode_size_weights(content: Any) -> SizeWeights:
    if not isinstance(content, list) or len(content) != 2:
        raise ValueError("its size_weights must be two numbers.")
    return SizeWeights(*(check_number(value, "a number of size_weights", positive=True) for value in content))


def _decode_samples(pipeline: FittedPipeline, prefix: str, arrays: CheckedArrays) -> KeptSamples:
    """The samples that the pipeline was fitted to."""
    n, p, k = pipeline.features.decomposition.shape
    X: Any
    if arrays.has(f"{prefix}X.dense"):
        values = X = arrays.take(f"{prefix}X.dense", "f", n, p, finite=False)
    else:
        values = arrays.take(f"{prefix}X.data", "f", None, finite=False)
        X = csr_array((values, *_decode_structure(f"{prefix}X.", arrays, p, values.size)), shape=(n, p))
    if np.isinf(values).any():  # NaN is a missing entry
        raise ValueError(f"{prefix}X has entries that are not finite.")
    labels = _decode_labels(f"{prefix}labels.", arrays, k)
    if labels.shape[0] != n:
        raise ValueError(f"it keeps the labels of {labels.shape[0]} samples, and was fitted to {n}.")
    if arrays.has(f"{prefix}labels.data"):
        labels.data = arrays.take(f"{prefix}labels.data", "f", labels.nnz, finite=False)
        if labels.dtype != np.float64 or not (np.isnan(labels.data) | (labels.data == 1)).all():
            raise ValueError(f"{prefix}labels.data must be 1 and NaN, in float64.")
    return KeptSamples(X, labels, _decode_weight(prefix, arrays, n))


def _encode_weight(sample_weight: Any, prefix: str, arrays: Arrays) -> None:
    if sample_weight is not None:
        arrays[f"{prefix}sample_weight"] = sample_weight


def _decode_weight(prefix: str, arrays: CheckedArrays, n: int) -> Any:
    name = f"{prefix}sample_weight"
    if not arrays.has(name):
        return None
    weight = arrays.take(name, "f", n)
    if weight.dtype != np.float64 or weight.min() < 0 or weight.max() <= 0:
        raise ValueError(f"{name} must be float64 and not negative, with a positive entry.")
    return weight


def _encode_structure(matrix: csr_array, prefix: str, arrays: Arrays) -> None:
    for name in ("indices", "indptr"):
        arrays[f"{prefix}{name}"] = getattr(matrix, name)


def _decode_structure(prefix: str, arrays: CheckedArrays, p: int, size: int | None = None) -> tuple[Any, Any]:
    """``indices`` and ``indptr`` of a CSR matrix with sorted and different indices in each row."""
    indices = arrays.indices(f"{prefix}indices", p, size)
    indptr = arrays.indices(f"{prefix}indptr", indices.size + 1)
    if indptr.size < 2 or indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
        raise ValueError(f"{prefix}indptr is not valid.")
    first = np.zeros(indices.size + 1, dtype=bool)
    first[indptr] = True
    if not (first[1:-1] | (np.diff(indices) > 0)).all():
        raise ValueError(f"{prefix}indices must be ascending in each row.")
    return indices, indptr


def _decode_labels(prefix: str, arrays: CheckedArrays, k: int) -> csr_array:
    indices, indptr = _decode_structure(prefix, arrays, k)
    return csr_array((np.ones(indices.size, dtype=bool), indices, indptr), shape=(indptr.size - 1, k))
