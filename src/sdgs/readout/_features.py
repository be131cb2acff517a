"""What labels are read from: scaled samples cleaned, their kernels if asked for, and codes over subspaces of labels.

Plain functions on arrays; X (n, p) is dense or CSR, and complete or not.
"""

import numbers
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host, take, to_device_of, to_host
from sdgs._utils._validation import has_missing
from sdgs.coding import GroupCodes, cleaned_samples, group_lasso, group_norms
from sdgs.decomposition import Decomposition, decompose
from sdgs.readout._landmark_kernel import LandmarkKernel, fit_landmark_kernel, landmarks

Array = NDArray[np.floating[Any]]
Components = tuple[Array, ...]

FEATURE_BLOCKS = ("kernel", "sample", "code", "norms")  # that labels are read from
Norm = Literal["l1", "l2"]
NORM: Norm = "l2"
# Columns that labels are read from, at most, but for large kernels: a ridge regression takes time by the cube of their
# number, 0.7 s for this.
WIDEST = 4096
_LOOKED_AT = 8192  # samples that say which they are, at most
_TOGETHER = 1 << 23  # numbers: labels times columns that are looked at in one go
_PENALTY = 1.0  # for samples of unit norm
_BLOCK_BYTES = 1 << 28  # of what is read from, dense
_DEVICE_BYTES = 1 << 31  # the same on a device, where many rows at once are what it is for
_SPARSE_PAYS = 8  # times as many columns as stored entries


@dataclass(frozen=True)
class PipelineParameters:
    """Parameters that decide what labels are read from. Those of :class:`sdgs.SDGSClassifier`, by the same names."""

    scaling: str | None
    n_components: int | tuple[int, ...]
    alpha: float
    huber: float | None = None
    gamma: float | None = None
    draw: int = 0  # which landmarks: models that are averaged have different ones

    def parameters(self) -> dict[str, Any]:
        """Those that have the names of parameters."""
        return {name: value for name, value in asdict(self).items() if name != "draw"}


@dataclass(frozen=True)
class DecompositionOptions:
    """How subspaces are learnt, whatever the setting."""

    residual_size: int | float
    solver: str
    max_iter: int
    tol: float
    n_landmarks: int | str
    seed: int
    n_jobs: int | None
    checkpoint: Path | None = None


@dataclass(frozen=True, eq=False)
class ReadoutFeatures:
    """Samples as a setting sees them: cleaned, and coded over subspaces that were learnt from the training samples.

    With ``chart`` labels are read from kernels of cleaned samples with landmarks first of all. A kernel of corrupted
    entries would be corrupted itself, and one of missing entries does not exist: so the linear code cleans first.

    Samples come with the ``norms`` that they had before they were scaled (None: one), which a kernel asks about.
    """

    setting: PipelineParameters
    decomposition: Decomposition
    chart: LandmarkKernel | None
    n_features: int
    n_labels: int
    norm: Norm  # of the labels' parts of a code; "l1" only in old models
    columns: NDArray[np.intp] | None = None  # of the features those that labels are read from; None for all
    image_components: Components | None = None  # only in old models: with them codes are of images

    def codes(self, X: Any, n_jobs: int | None) -> GroupCodes:
        """Of scaled samples, over the subspaces of the labels."""
        return _codes(X, self.decomposition.components, self.setting.alpha, self.setting.huber, n_jobs)

    def cleaned(self, X: Any, n_jobs: int | None) -> Any:
        """Scaled samples with corrupted entries corrected and missing ones filled in."""
        if not is_dirty(X, self.setting):
            return X
        return cleaned_samples(X, self.codes(X, n_jobs), self.decomposition.components)

    def blocks(self, X: Any, n_jobs: int | None, norms: Any = None, width: int | None = None) -> Iterator[list[Any]]:
        """The features of scaled samples, for some rows after the other: matrices that are side by side.

        All of them, or as many parts as ``width`` leading features need.
        """
        step = self.block_rows(X)
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            parts = self._parts(X[rows, :], n_jobs, None if norms is None else norms[rows], width)
            yield side_by_side(chosen(parts, self.columns))

    def block_rows(self, X: Any) -> int:
        """Samples whose features are made in one go."""
        sparse_and_narrow = issparse(X) and self.columns is not None
        width = self.columns.size if sparse_and_narrow else sum(self._sizes)  # type: ignore[union-attr]
        return max((_BLOCK_BYTES if on_host(X) else _DEVICE_BYTES) // (8 * width), 1024)

    @property
    def parts(self) -> tuple[str, ...]:
        """What labels can be read from, the surest first."""
        return parts_of(self.setting)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many of the features there are up to each of the parts."""
        ends = np.cumsum(self._sizes)
        return tuple((ends if self.columns is None else np.searchsorted(self.columns, ends)).tolist())

    def place(self, part: str) -> slice:
        """Which of the features this part has."""
        ends, number = (0, *self.widths), self.parts.index(part)
        return slice(ends[number], ends[number + 1])

    def width(self, read_from: Sequence[str]) -> int:
        """How many of the features these parts have, the leading ones."""
        return self.widths[len(read_from) - 1]

    @property
    def _sizes(self) -> list[int]:
        """Columns of each of the parts."""
        image = [] if self.chart is None else [self.chart.size]
        components = self.image_components or self.decomposition.components
        return [*image, self.n_features, sum(C.shape[0] for C in components), self.n_labels]

    def _parts(self, X: Any, n_jobs: int | None, norms: Any = None, width: int | None = None) -> list[Any]:
        """The sample's kernels with landmarks, if there are any; the sample, cleaned; its code; the code's norms.

        The signs of the code say much where a label always pushes a sample the same way, as words do, and its norms
        where a label has no such direction. Where they are not needed they only harm, so the last of these can be left
        out. Norms are Euclidean, so that nothing that is read depends on which axes stand for a subspace: where its
        singular values are all but equal, those are a matter of rounding.
        """
        before_code = self.widths[-3]
        if self.image_components is not None:
            assert self.chart is not None
            cleaned = self.cleaned(X, n_jobs)
            image = self.chart.image(cleaned, norms, n_jobs)
            result = _codes(image, self.image_components, self.setting.alpha, None, n_jobs)
            return [image, cleaned, result.codes, group_norms(result) if self.norm == "l2" else result.l1_norms()]
        if width is not None and self.chart is not None and width <= self.widths[0]:
            return [self.chart.image(self.cleaned(X, n_jobs), norms, n_jobs)]
        if width is not None and width <= before_code:
            cleaned = self.cleaned(X, n_jobs)
            code = []
        else:
            result = self.codes(X, n_jobs)
            cleaned = cleaned_samples(X, result, self.decomposition.components)
            code = [result.codes, group_norms(result) if self.norm == "l2" else result.l1_norms()]
        return [*([] if self.chart is None else [self.chart.image(cleaned, norms, n_jobs)]), cleaned, *code]

    def without_rows(self) -> "ReadoutFeatures":
        """The same without what it knows of the training samples, which nothing that is read from it depends on."""
        return replace(self, decomposition=self.decomposition.without_rows())

    def narrowed(self, X: Any, labels: Any, n_jobs: int | None, norms: Any = None) -> "ReadoutFeatures":
        """The same for reading from ``WIDEST`` features at most: those that say most in samples X.

        A kernel's belong together, and stay; beside a large one there are a quarter as many.
        """
        if sum(self._sizes) <= WIDEST:
            return self
        image = 0 if self.chart is None else self.chart.size
        some = slice(None, None, -(-X.shape[0] // _LOOKED_AT))
        parts = self._parts(X[some, :], n_jobs, None if norms is None else norms[some])
        columns = most_relevant_columns(parts[self.chart is not None :], labels[some], max(WIDEST - image, WIDEST // 4))
        if columns is None:
            return self
        return replace(self, columns=np.concatenate([np.arange(image), image + columns]))

    @property
    def kernels(self) -> Array | None:
        """Of the landmarks with each other, until it is finished."""
        return None if self.chart is None else self.chart.kernels

    def finished(self) -> "ReadoutFeatures":
        """The same for prediction: on the host wherever it was learnt, and without what only training asks for."""
        chart = None if self.chart is None else replace(self.chart, kernels=None)
        decomposition = self.decomposition
        if not on_host(decomposition.residual):
            decomposition = decomposition.on_host()
        return replace(self, chart=chart, decomposition=decomposition)


def parts_of(setting: PipelineParameters) -> tuple[str, ...]:
    """What labels can be read from with a setting, the surest first."""
    return FEATURE_BLOCKS if setting.gamma is not None else FEATURE_BLOCKS[1:]


def most_relevant_columns(parts: Sequence[Any], labels: Any, most: int) -> NDArray[np.intp] | None:
    """Of matrices side by side the ``most`` columns that say most of the labels (CSR), in order; None if that is all.

    Each for itself: by what a ridge regression of the labels on that column alone explains, (z^T y)^2 / (z^T z +
    penalty) summed over the labels, with z and y centred. By energy alone far more columns are needed.
    """
    if sum(part.shape[1] for part in parts) <= most:
        return None
    n = labels.shape[0]
    frequency = np.asarray(labels.mean(axis=0), dtype=np.float64).reshape(-1)
    explained = []
    for part in parts:
        xp = namespace(part)
        columns, squares = (part.sum(axis=0), (part * part).sum(axis=0)) if on_host(part) else _column_sums(part)
        mean = np.asarray(columns, dtype=np.float64).reshape(-1) / n
        energy = np.asarray(squares, dtype=np.float64).reshape(-1) - n * mean**2
        total = np.zeros(mean.size)
        step = max(1, _TOGETHER // mean.size)
        for start in range(0, labels.shape[1], step):
            mine = slice(start, start + step)
            together: Any = labels[:, mine].T.astype(np.float64)
            if on_host(part):
                together = together @ part
                together = together.toarray() if issparse(together) else together
            else:
                together = to_host(to_device_of(together.toarray(), part) @ xp.astype(part, xp.float64))
            together -= n * np.outer(frequency[mine], mean)
            total += np.einsum("ij,ij->j", together, together)
        explained.append(total / (np.maximum(energy, 0) + _PENALTY))
    return np.sort(np.argsort(-np.concatenate(explained), kind="stable")[:most])


def _column_sums(part: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of an array of another library, and of its squares."""
    xp = namespace(part)
    part = xp.astype(part, xp.float64)
    return to_host(xp.sum(part, axis=0)), to_host(xp.sum(part * part, axis=0))


def chosen(parts: Sequence[Any], columns: NDArray[np.intp] | None) -> Sequence[Any]:
    """Of matrices side by side, these columns."""
    if columns is None:
        return parts
    bounds = np.cumsum([0, *(part.shape[1] for part in parts)])  # the last parts may not be there
    cuts = np.searchsorted(columns, bounds)
    return [
        part[:, columns[first:last] - start]
        if on_host(part)
        else take(part, to_device_of(columns[first:last] - start, part), axis=1)
        for part, start, first, last in zip(parts, bounds[:-1], cuts[:-1], cuts[1:], strict=True)
    ]


def side_by_side(parts: Sequence[Any]) -> list[Any]:
    """Each sparse where products of its rows are then much cheaper; on a device one dense matrix."""
    if not on_host(parts[0]):
        xp = namespace(parts[0])
        return [xp.concat([xp.astype(part, xp.float64) for part in parts], axis=1)]
    return [_as_it_pays(part) for part in parts]


def _as_it_pays(part: Any) -> Any:
    """CSR or dense, in float64."""
    stored = part.nnz if issparse(part) else part.size
    if _SPARSE_PAYS * stored < part.shape[0] * part.shape[1]:
        return csr_array(part, dtype=np.float64)
    return (part.toarray() if issparse(part) else part).astype(np.float64, copy=False)


def fit_features(
    X: Any,
    labels: Any,
    setting: PipelineParameters,
    training: DecompositionOptions,
    *,
    norms: Any = None,
    known: MutableMapping[Hashable, Any] | None = None,
) -> ReadoutFeatures:
    """The view of a setting, learnt from scaled samples, the norms that they had before, and their labels.

    ``known`` holds what settings that were learnt from the same samples have in common, and is added to.
    """
    known = {} if known is None else known

    def once(key: Hashable, make: Any) -> Any:
        if key not in known:
            known[key] = make()
        return known[key]

    ranks = setting.n_components
    decomposition = once((setting.scaling, ranks), lambda: decomposed(X, labels, setting, training))
    view = ReadoutFeatures(setting, decomposition, None, X.shape[1], labels.shape[1], NORM)
    if setting.gamma is not None:
        cleaned_by = (ranks, setting.alpha, setting.huber) if is_dirty(X, setting) else None

        def learnt() -> LandmarkKernel:
            gamma, seed = float(setting.gamma), (training.seed + setting.draw) % 2**32  # type: ignore[arg-type]
            number = landmarks(training.n_landmarks, X.shape[0], sparse=issparse(X))
            observed = ~np.isnan(to_host(X)) if has_missing(X) and not issparse(X) else None
            return fit_landmark_kernel(
                X, norms, gamma, number, seed, observed, lambda X: view.cleaned(X, training.n_jobs)
            )

        # No other setting has landmarks of its own draw, and their kernels are large.
        chart = learnt() if setting.draw else once((setting.scaling, setting.gamma, cleaned_by), learnt)
        view = replace(view, chart=chart)
    return view.narrowed(X, labels, training.n_jobs, norms)


def decomposed(X: Any, labels: Any, setting: PipelineParameters, training: DecompositionOptions) -> Decomposition:
    """Scaled samples taken apart."""
    return decompose(
        X,
        labels,
        n_components=_proper(setting.n_components, X.shape[1]),
        residual_size=training.residual_size,
        solver=training.solver,  # type: ignore[arg-type]  # checked by decompose
        max_iter=training.max_iter,
        tol=training.tol,
        random_state=training.seed,
        n_jobs=training.n_jobs,
        checkpoint=training.checkpoint,
    )


def _proper(ranks: Any, n_features: int) -> Any:
    """Ranks that leave something outside of a label's subspace: if all have the whole space they are the same."""
    most = max(n_features - 1, 1)
    if isinstance(ranks, tuple):
        return tuple(_proper(rank, n_features) for rank in ranks)
    return min(ranks, most) if isinstance(ranks, numbers.Integral) else ranks  # others are told off by decompose


def is_dirty(X: Any, setting: PipelineParameters) -> bool:
    """Whether there is anything to clean."""
    return setting.huber is not None or has_missing(X)


def _codes(X: Any, components: Components, alpha: float, huber: float | None, n_jobs: int | None) -> GroupCodes:
    tol = 1e-6 if X.dtype == namespace(X).float64 else 1e-5
    return group_lasso(X, components, alpha, huber=huber, tol=tol, n_jobs=n_jobs)
