"""What labels are read from: scaled samples cleaned, mapped if asked for, and coded over subspaces of the labels.

Plain functions on arrays; X (n, p) is dense or CSR, and complete or not.
"""

import numbers
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from sdgs._arrays import like, namespace, on_host, take, to_host
from sdgs._rows import narrow_indices
from sdgs._validation import has_missing
from sdgs.coding import GroupCodes, Norm, cleaned_samples, group_lasso, group_norms
from sdgs.decomposition import Decomposition, decompose

Array = NDArray[np.floating[Any]]
Components = tuple[Array, ...]

NORM: Norm = "l2"
# Columns that labels are read from, at most: a ridge regression takes time by the cube of their number, 0.7 s for this.
WIDEST = 4096
_LOOKED_AT = 8192  # samples that say which they are, at most
_TOGETHER = 1 << 23  # numbers: labels times columns that are looked at in one go
_PENALTY = 1.0  # for samples of unit norm
_BLOCK_BYTES = 1 << 28  # of what is read from, dense
_DEVICE_BYTES = 1 << 31  # the same on a device, where many rows at once are what it is for
_LANDMARKS = 300, 2000  # of a kernel, at least and at most, where nobody says how many
_SPARSE_PAYS = 8  # times as many columns as stored entries


@dataclass(frozen=True)
class Setting:
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
class Training:
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
class View:
    """Samples as a setting sees them: cleaned, and coded over subspaces that were learnt from the training samples.

    With ``chart`` labels are read from the images of cleaned samples under that map as well. A kernel of corrupted
    entries would be corrupted itself, and one of missing entries does not exist: so the linear code cleans first.
    """

    setting: Setting
    decomposition: Decomposition
    chart: Nystroem | None
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

    def blocks(self, X: Any, n_jobs: int | None) -> Iterator[list[Any]]:
        """The features of scaled samples, for some rows after the other: matrices that are side by side."""
        step = self.block_rows(X)
        for start in range(0, X.shape[0], step):
            part = X[start : min(start + step, X.shape[0]), :]
            yield side_by_side(chosen(self._parts(part, n_jobs), self.columns))

    def block_rows(self, X: Any) -> int:
        """Samples whose features are made in one go."""
        sparse_and_narrow = issparse(X) and self.columns is not None
        width = self.columns.size if sparse_and_narrow else sum(self._sizes)  # type: ignore[union-attr]
        return max((_BLOCK_BYTES if on_host(X) else _DEVICE_BYTES) // (8 * width), 1024)

    @property
    def widths(self) -> tuple[int, int]:
        """How many of the features to read without and with the last ones, the norms."""
        first = sum(self._sizes[:-1])
        if self.columns is None:
            return first, first + self.n_labels
        return int(np.searchsorted(self.columns, first)), self.columns.size

    @property
    def _sizes(self) -> list[int]:
        """Columns of each of the parts."""
        image = [] if self.chart is None else [self.chart.components_.shape[0]]
        components = self.image_components or self.decomposition.components
        return [self.n_features, *image, sum(C.shape[0] for C in components), self.n_labels]

    def _parts(self, X: Any, n_jobs: int | None) -> list[Any]:
        """The sample, cleaned; its image under the map, if there is one; its code; and last the norms of the code.

        The signs of the code say much where a label always pushes a sample the same way, as words do, and its norms
        where a label has no such direction. Where they are not needed norms only harm, so they can be left out. They
        are Euclidean, so that nothing that is read depends on which axes stand for a subspace: where its singular
        values are all but equal, those are a matter of rounding.
        """
        if self.chart is not None and self.image_components is not None:
            cleaned = self.cleaned(X, n_jobs)
            image = [_image(self.chart, cleaned)]
            result = _codes(image[0], self.image_components, self.setting.alpha, None, n_jobs)
        else:
            result = self.codes(X, n_jobs)
            cleaned = cleaned_samples(X, result, self.decomposition.components)
            image = [] if self.chart is None else [_image(self.chart, cleaned)]
        return [cleaned, *image, result.codes, group_norms(result, self.norm)]

    def without_rows(self) -> "View":
        """The same without what it knows of the training samples, which nothing that is read from it depends on."""
        return replace(self, decomposition=self.decomposition.without_rows())

    def narrowed(self, X: Any, labels: Any, n_jobs: int | None) -> "View":
        """The same for reading from no more than ``WIDEST`` features: those that say most in samples X."""
        if sum(self._sizes) <= WIDEST:
            return self
        some = slice(None, None, -(-X.shape[0] // _LOOKED_AT))
        return replace(self, columns=telling_columns(self._parts(X[some, :], n_jobs), labels[some], WIDEST))

    def on_host(self) -> "View":
        """The same, wherever it was learnt."""
        if on_host(self.decomposition.residual):
            return self
        return replace(self, decomposition=self.decomposition.on_host())


def telling_columns(parts: Sequence[Any], labels: Any, most: int) -> NDArray[np.intp] | None:
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
                together = to_host(like(together.toarray(), part) @ xp.astype(part, xp.float64))
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
    bounds = np.cumsum([0, *(part.shape[1] for part in parts)])
    cuts = np.searchsorted(columns, bounds)
    return [
        part[:, columns[first:last] - start]
        if on_host(part)
        else take(part, like(columns[first:last] - start, part), axis=1)
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


def learn_view(
    X: Any,
    labels: Any,
    setting: Setting,
    training: Training,
    *,
    known: MutableMapping[Hashable, Any] | None = None,
) -> View:
    """The view of a setting, learnt from scaled samples and their labels.

    ``known`` holds what settings that were learnt from the same samples have in common, and is added to.
    """
    known = {} if known is None else known

    def once(key: Hashable, make: Any) -> Any:
        if key not in known:
            known[key] = make()
        return known[key]

    ranks = setting.n_components
    decomposition = once((setting.scaling, ranks), lambda: decomposed(X, labels, setting, training))
    view = View(setting, decomposition, None, X.shape[1], labels.shape[1], NORM)
    if setting.gamma is not None:
        cleaned_by = (ranks, setting.alpha, setting.huber) if is_dirty(X, setting) else None

        def learn_chart() -> Nystroem:
            return _learn_chart(view.cleaned(X, training.n_jobs), setting, training)

        # No other setting has landmarks of its own draw, and a map is large.
        chart = learn_chart() if setting.draw else once((setting.scaling, setting.gamma, cleaned_by), learn_chart)
        view = replace(view, chart=chart)
    return view.narrowed(X, labels, training.n_jobs)


def _learn_chart(X: Any, setting: Setting, training: Training) -> Nystroem:
    """The map of a kernel of cleaned samples, which goes by how far they are from each other."""
    X = narrow_indices(X) if issparse(X) else to_host(X)
    assert setting.gamma is not None
    seed = (training.seed + setting.draw) % 2**32
    gamma = relative_gamma(float(setting.gamma), X)
    return Nystroem(gamma=gamma, n_components=landmarks(training.n_landmarks, X.shape[0]), random_state=seed).fit(X)


def landmarks(asked_for: int | str, n: int) -> int:
    """How many of n samples a kernel is computed with; by itself more where there are more to learn from."""
    few, many = _LANDMARKS
    return min(n, min(max(n // 4, few), many) if isinstance(asked_for, str) else int(asked_for))


def relative_gamma(gamma: float, X: Any) -> float:
    """``gamma`` over the variance of samples on this machine, all columns together: half their mean square distance.

    As it is where that is rounding, or so small that distances are.
    """
    if issparse(X):
        means, variances = mean_variance_axis(X, axis=0)
    else:
        means, variances = X.mean(axis=0, dtype=np.float64), np.zeros(X.shape[1])
        for rows in gen_batches(X.shape[0], max(_BLOCK_BYTES // (8 * X.shape[1]), 1)):
            variances += np.square(X[rows] - means).sum(axis=0) / X.shape[0]
    variance, square = (float(np.sum(values, dtype=np.float64)) for values in (variances, np.square(means)))
    precision = np.finfo(X.dtype)
    if variance > precision.eps * square and gamma < variance * precision.max**0.5:
        return gamma / variance
    return gamma


def decomposed(X: Any, labels: Any, setting: Setting, training: Training) -> Decomposition:
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


def is_dirty(X: Any, setting: Setting) -> bool:
    """Whether there is anything to clean."""
    return setting.huber is not None or has_missing(X)


def _image(chart: Nystroem, X: Any) -> Any:
    if not on_host(X):
        xp = namespace(X)
        # Square distances as differences of squares need all the digits that there are: so from the middle.
        middle = chart.components_.mean(axis=0, dtype=np.float64)
        points, middle, turn = (
            xp.astype(like(A, X), X.dtype) for A in (chart.components_ - middle, middle, chart.normalization_.T)
        )
        X = X - middle
        squares = xp.sum(X * X, axis=1)[:, None] + xp.sum(points * points, axis=1)[None, :]
        distances = squares - 2 * X @ xp.matrix_transpose(points)
        return xp.exp(-float(chart.gamma) * xp.maximum(distances, xp.zeros_like(distances))) @ turn
    image = chart.transform(narrow_indices(X) if issparse(X) else X)
    return np.ascontiguousarray(image.astype(X.dtype))


def _codes(X: Any, components: Components, alpha: float, huber: float | None, n_jobs: int | None) -> GroupCodes:
    tol = 1e-6 if X.dtype == namespace(X).float64 else 1e-5
    return group_lasso(X, components, alpha, huber=huber, tol=tol, n_jobs=n_jobs)
