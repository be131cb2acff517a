"""What labels are read from: cleaned samples, their kernel with landmarks if there is one, codes and norms of codes.

Plain functions on arrays; X (n, p) is dense or CSR, and may have missing entries.
"""

import numbers
from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host, take, to_device_of, to_host
from sdgs._utils._unobserved_labels import expected_labels, known_positives
from sdgs._utils._validation import has_missing
from sdgs.coding import GroupCodes, cleaned_samples, group_norms
from sdgs.coding._coding_problem import CodingProblem, Dictionary
from sdgs.coding._group_lasso import code_samples, stack_components
from sdgs.coding.compiled._host_coder import to_csr
from sdgs.decomposition import Decomposition, decompose
from sdgs.readout._landmark_kernel import LandmarkKernel, fit_landmark_kernel, landmark_number
from sdgs.readout._parameters import DecompositionOptions, PipelineParameters
from sdgs.readout._relevance import most_relevant_columns
from sdgs.readout._samples import Samples
from sdgs.selection._defaults import (
    CODE_TOL,
    CODE_TOL_FLOAT32,
    MAX_READOUT_COLUMNS,
    MAX_RELEVANCE_SAMPLES,
    MIN_SHARE_BESIDE_KERNEL,
)

Array = NDArray[np.floating[Any]]

FEATURE_BLOCKS = ("kernel", "sample", "code", "norms")  # that labels are read from, in this order

_BLOCK_BYTES = 1 << 28  # of dense features that are computed at a time
_DEVICE_BLOCK_BYTES = 1 << 31  # the same on a device, which is efficient for many rows at a time
_MIN_BLOCK_ROWS = 1024
_MAX_DENSE_CODES = 1 << 16  # entries of codes up to which a dense array is faster than the conversions to CSR and back
_MAX_KEPT_SIZE = 4096  # rows of a dictionary that is kept between calls: its Gram matrix takes 128 MiB
_SPARSE_FACTOR = 8  # a block is stored sparse if it has at least so many times as many entries as non-zeros


@dataclass(frozen=True, eq=False)
class ReadoutFeatures:
    """The features that labels are read from, computed from scaled samples.

    A kernel is computed from cleaned samples: a corrupted entry would corrupt it, and with a missing one it does not
    exist. So the code, which is linear in the sample, cleans first.

    Attributes
    ----------
    parameters : PipelineParameters
    decomposition : Decomposition
        With the subspaces that samples are coded over.
    kernel : LandmarkKernel or None
    n_features, n_labels : int
        p and k.
    columns : ndarray or None
        The columns of all feature blocks side by side that labels are read from; None for all.
    """

    parameters: PipelineParameters
    decomposition: Decomposition
    kernel: LandmarkKernel | None
    n_features: int
    n_labels: int
    columns: NDArray[np.intp] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields: what is computed from them at first use is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def encode(
        self, X: Any, n_jobs: int | None, *, alpha: float | None = None, missing: bool | None = None
    ) -> GroupCodes:
        """The codes of scaled samples over the subspaces of the labels; of few samples they are dense.

        ``alpha`` replaces that of the parameters. ``missing``: whether X has missing entries, if that is known.
        """
        is_float64 = X.dtype == namespace(X).float64
        dictionary = self.dictionary(np.float64 if is_float64 else np.float32)
        alpha = float(self.parameters.alpha if alpha is None else alpha)
        mu = None if self.parameters.huber is None else float(self.parameters.huber)
        missing = has_missing(X) if missing is None else missing
        if alpha == 0 and (missing or mu is not None):
            raise ValueError("alpha must be positive for samples with missing entries (NaN) and with huber, got 0.")
        tol = CODE_TOL if is_float64 else CODE_TOL_FLOAT32
        problem = CodingProblem(dictionary, alpha, mu, mu is not None or missing, tol)
        dense = X.shape[0] * len(dictionary.C) <= _MAX_DENSE_CODES
        return code_samples(X, problem, n_jobs, dense=dense)

    def dictionary(self, dtype: Any) -> Dictionary:
        """The subspaces as coding takes them. They are not checked: decompose or the reader of a file did that."""
        if dtype in self._dictionaries:
            return self._dictionaries[dtype]
        dictionary = stack_components([to_host(C) for C in self.decomposition.components], dtype)
        if len(dictionary.C) <= _MAX_KEPT_SIZE:
            self._dictionaries[dtype] = dictionary
        return dictionary

    @cached_property
    def _dictionaries(self) -> dict[Any, Dictionary]:
        """Those that were used so far, for the precision of the samples."""
        return {}

    def clean(self, X: Any, n_jobs: int | None) -> Any:
        """Scaled samples with corrupted entries corrected and missing ones filled in."""
        missing = has_missing(X)
        if not missing and self.parameters.huber is None:
            return X
        return cleaned_samples(X, self.encode(X, n_jobs, missing=missing), self.decomposition.components)

    def transform_blocks(
        self,
        X: Any,
        n_jobs: int | None,
        norms: Any = None,
        width: int | None = None,
        codes: GroupCodes | None = None,
        *,
        max_bytes: int | None = None,
    ) -> Iterator[list[Any]]:
        """The features of scaled samples, for blocks of rows: matrices side by side.

        The kernel needs ``norms``, those of the samples before scaling (None: 1). Only as many feature blocks are
        computed as the first ``width`` columns need (None: all). ``codes`` are those of the samples if they are known.
        """
        step = self.rows_per_block(X, max_bytes)
        if X.shape[0] <= step:
            yield store_compactly(take_columns(self._transform(X, n_jobs, norms, width, codes), self.columns))
            return
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            some_norms = None if norms is None else norms[rows]
            some_codes = None if codes is None else codes.take(rows)
            blocks = self._transform(X[rows, :], n_jobs, some_norms, width, some_codes)
            yield store_compactly(take_columns(blocks, self.columns))

    def rows_per_block(self, X: Any, max_bytes: int | None = None) -> int:
        """Samples whose features are computed at a time."""
        width = self._full_width
        if issparse(X) and self.columns is not None:
            width = self.columns.size
        max_bytes = max_bytes or (_BLOCK_BYTES if on_host(X) else _DEVICE_BLOCK_BYTES)
        return max(max_bytes // (8 * width), _MIN_BLOCK_ROWS)

    @property
    def block_names(self) -> tuple[str, ...]:
        """The feature blocks, in order."""
        return feature_block_names(self.parameters)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of columns up to the end of each feature block."""
        ends = np.cumsum(self._block_widths)
        return tuple((ends if self.columns is None else np.searchsorted(self.columns, ends)).tolist())

    def column_slice(self, block: str) -> slice:
        """The columns of a feature block."""
        ends, index = (0, *self.widths), self.block_names.index(block)
        return slice(ends[index], ends[index + 1])

    def column_positions(self, block: str, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """The positions of columns of a feature block, given by their indices before selection; -1 if not selected."""
        columns = indices + sum(self._block_widths[: self.block_names.index(block)])
        if self.columns is None:
            return columns
        positions = np.searchsorted(self.columns, columns)
        is_selected = self.columns[np.minimum(positions, self.columns.size - 1)] == columns
        return np.where(is_selected, positions, -1)

    def width_of(self, read_from: Sequence[str]) -> int:
        """The number of columns of these feature blocks, the leading ones."""
        return self.widths[len(read_from) - 1]

    @cached_property
    def _full_width(self) -> int:
        """The number of columns before selection."""
        return sum(self._block_widths)

    @cached_property
    def _block_widths(self) -> list[int]:
        """The columns of each feature block, before selection."""
        kernel = [] if self.kernel is None else [self.kernel.n_landmarks]
        return [*kernel, self.n_features, sum(C.shape[0] for C in self.decomposition.components), self.n_labels]

    def _transform(
        self,
        X: Any,
        n_jobs: int | None,
        norms: Any = None,
        width: int | None = None,
        known_codes: GroupCodes | None = None,
    ) -> list[Any]:
        """Kernel, cleaned sample, code, and the norm of the code of each label, as far as ``width`` columns need them.

        The signs of a code matter where a label always shifts a sample in the same direction, as words do; its norms
        matter where it does not. Where they are not needed they add noise, so that the last blocks may be left out.
        Norms are Euclidean because those do not depend on the basis of a subspace, which rounding decides if singular
        values nearly coincide.
        """
        kernel_end, sample_end, code_end, norms_end = self.widths[0], *self.widths[-3:]
        width = norms_end if width is None else width
        codes = []
        if width <= sample_end and known_codes is None:
            cleaned = self.clean(X, n_jobs)
        else:
            missing = has_missing(X)
            result = self.encode(X, n_jobs, missing=missing) if known_codes is None else known_codes
            cleaned = X
            if missing or result.residual is not None:
                cleaned = cleaned_samples(X, result, self.decomposition.components)
            codes = [result.codes] if width <= code_end else [result.codes, group_norms(result)]
            codes = [_sparse_if_cheaper(block) for block in codes]
        if self.kernel is None:
            return [cleaned, *codes]
        kernel = self.kernel.transform(cleaned, norms, n_jobs)
        return [kernel] if width <= kernel_end else [kernel, cleaned, *codes]

    def select_columns(
        self, samples: Samples, labels: Any, n_jobs: int | None, max_columns: int = MAX_READOUT_COLUMNS
    ) -> "ReadoutFeatures":
        """The same with the ``max_columns`` most relevant columns; those of the kernel always stay."""
        if self._full_width <= max_columns:
            return self
        n_landmarks = 0 if self.kernel is None else self.kernel.n_landmarks
        rows = slice(None, None, -(-samples.shape[0] // MAX_RELEVANCE_SAMPLES))
        some = samples.take(rows)
        blocks = self._transform(some.X, n_jobs, some.norms)
        n_selected = max(max_columns - n_landmarks, int(MIN_SHARE_BESIDE_KERNEL * max_columns))
        expected = expected_labels(labels[rows], some.sample_weight)
        columns = most_relevant_columns(blocks[self.kernel is not None :], expected, n_selected, some.sample_weight)
        if columns is None:
            return self
        return replace(self, columns=np.concatenate([np.arange(n_landmarks), n_landmarks + columns]))

    def with_rows(self, rows: NDArray[np.intp], n: int) -> "ReadoutFeatures":
        """The same, if its training samples were ``rows`` of n."""
        kernel = None if self.kernel is None else replace(self.kernel, rows=rows[self.kernel.rows])
        return replace(self, kernel=kernel, decomposition=self.decomposition.with_rows(rows, n))

    def without_samples(self) -> "ReadoutFeatures":
        """The same without the decomposition of the training samples, which no feature depends on."""
        return replace(self, decomposition=self.decomposition.without_rows())

    def for_prediction(self) -> "ReadoutFeatures":
        """The same on the host, and without what only training needs."""
        kernel = None if self.kernel is None else replace(self.kernel, landmark_gram=None)
        decomposition = self.decomposition
        if not on_host(decomposition.residual):
            decomposition = decomposition.on_host()
        parameters = replace(self.parameters, landmark_draw=0)
        return replace(self, parameters=parameters, kernel=kernel, decomposition=decomposition)


def fit_features(
    samples: Samples,
    labels: Any,
    parameters: PipelineParameters,
    options: DecompositionOptions,
    *,
    cache: MutableMapping[Hashable, Any] | None = None,
    max_columns: int = MAX_READOUT_COLUMNS,
) -> ReadoutFeatures:
    """Fit the features to scaled samples and their labels (CSR).

    ``cache`` holds the decompositions and kernels of other parameters that were fitted to the same samples, and gets
    new ones added.
    """
    cache = {} if cache is None else cache

    def cached(key: Hashable, fit: Callable[[], Any]) -> Any:
        if key not in cache:
            cache[key] = fit()
        return cache[key]

    ranks = parameters.n_components
    decomposition = cached((parameters.scaling, ranks), lambda: decompose_samples(samples, labels, parameters, options))
    features = ReadoutFeatures(parameters, decomposition, None, samples.shape[1], labels.shape[1])
    if parameters.gamma is not None:
        cleaned_by = None
        if needs_cleaning(samples.X, parameters):
            cleaned_by = (ranks, parameters.alpha, parameters.huber)
        fit_kernel = partial(_fit_kernel, features, samples, options)
        if parameters.landmark_draw:  # not cached: no other parameters have these landmarks, and their Gram is large
            kernel = fit_kernel()
        else:
            kernel = cached((parameters.scaling, parameters.gamma, cleaned_by), fit_kernel)
        features = replace(features, kernel=kernel)
    return features.select_columns(samples, labels, options.n_jobs, max_columns)


def _fit_kernel(features: ReadoutFeatures, samples: Samples, options: DecompositionOptions) -> LandmarkKernel:
    X, parameters = samples.X, features.parameters
    assert parameters.gamma is not None
    return fit_landmark_kernel(
        X,
        samples.norms,
        float(parameters.gamma),
        landmark_number(options.n_landmarks, X.shape[0]),
        (options.seed + parameters.landmark_draw) % 2**32,
        ~np.isnan(to_host(X)) if has_missing(X) and not issparse(X) else None,
        lambda X: features.clean(X, options.n_jobs),
        options.n_jobs,
        sample_weight=samples.sample_weight,
    )


def decompose_samples(
    samples: Samples, labels: Any, parameters: PipelineParameters, options: DecompositionOptions
) -> Decomposition:
    """The decomposition of scaled samples."""
    return decompose(
        samples.X,
        known_positives(labels),
        sample_weight=samples.sample_weight,
        n_components=_proper_ranks(parameters.n_components, samples.shape[1]),
        residual_size=options.residual_size,
        solver=options.solver,  # type: ignore[arg-type]  # checked by decompose
        max_iter=options.max_iter,
        tol=options.tol,
        random_state=options.seed,
        n_jobs=options.n_jobs,
        checkpoint=options.checkpoint,
    )


def _proper_ranks(ranks: Any, n_features: int) -> Any:
    """Ranks below the number of features: labels whose subspace is the whole space cannot be distinguished."""
    maximum = max(n_features - 1, 1)
    if isinstance(ranks, tuple):
        return tuple(_proper_ranks(rank, n_features) for rank in ranks)
    return min(ranks, maximum) if isinstance(ranks, numbers.Integral) else ranks  # decompose rejects others


def feature_block_names(parameters: PipelineParameters) -> tuple[str, ...]:
    """The feature blocks that parameters give; "kernel" only with ``gamma``."""
    return FEATURE_BLOCKS if parameters.gamma is not None else FEATURE_BLOCKS[1:]


def needs_cleaning(X: Any, parameters: PipelineParameters) -> bool:
    """Whether entries may be corrupted (with ``huber``) or missing."""
    return parameters.huber is not None or has_missing(X)


def take_columns(blocks: Sequence[Any], columns: NDArray[np.intp] | None) -> Sequence[Any]:
    """These columns of matrices side by side; None for all. The last matrices may be left out."""
    if columns is None:
        return blocks
    bounds = np.cumsum([0, *(block.shape[1] for block in blocks)])
    cuts = np.searchsorted(columns, bounds)
    return [
        block[:, columns[first:last] - start]
        if on_host(block)
        else take(block, to_device_of(columns[first:last] - start, block), axis=1)
        for block, start, first, last in zip(blocks, bounds[:-1], cuts[:-1], cuts[1:], strict=True)
    ]


def store_compactly(blocks: Sequence[Any]) -> list[Any]:
    """Blocks in float64, each CSR if products of its rows are much cheaper then; on a device one dense matrix."""
    if not on_host(blocks[0]):
        xp = namespace(blocks[0])
        return [xp.concat([xp.astype(block, xp.float64) for block in blocks], axis=1)]
    return [_sparse_or_dense(block) for block in blocks]


def _sparse_if_cheaper(codes: Any) -> Any:
    """Dense codes as CSR if they have few non-zeros."""
    if isinstance(codes, np.ndarray) and _SPARSE_FACTOR * np.count_nonzero(codes != 0) < codes.size:
        return to_csr(codes)
    return codes


def _sparse_or_dense(block: Any) -> Any:
    n_stored = block.nnz if issparse(block) else block.size
    if _SPARSE_FACTOR * n_stored < block.shape[0] * block.shape[1]:
        return csr_array(block, dtype=np.float64)
    return (block.toarray() if issparse(block) else block).astype(np.float64, copy=False)
