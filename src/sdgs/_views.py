"""What labels are read from: samples scaled, cleaned, mapped if asked for, and coded over subspaces of the labels.

Plain functions on arrays; X (n, p) is dense or CSR, and complete or not.
"""

import warnings
from collections.abc import Hashable, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

from sdgs._rows import narrow_indices, unit_rows
from sdgs._validation import has_missing
from sdgs.coding import GroupCodes, cleaned_samples, group_lasso
from sdgs.decomposition import Decomposition, decompose

Array = NDArray[np.floating[Any]]
Components = tuple[Array, ...]
SCALINGS = ("rows", "columns", "idf", None)

_OFTEN = 0.2  # a larger share of negative entries is no accident


@dataclass(frozen=True)
class Setting:
    """Parameters that decide what labels are read from. Those of :class:`sdgs.SDGSClassifier`, by the same names."""

    scaling: str | None
    n_components: int | tuple[int, ...]
    alpha: float
    huber: float | None = None
    gamma: float | None = None


@dataclass(frozen=True)
class Training:
    """How subspaces are learnt, whatever the setting."""

    residual_size: int | float
    solver: str
    max_iter: int
    tol: float
    n_landmarks: int
    seed: int
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class Scaling:
    """Samples made comparable: columns weighted by ``scaler``, if there is one, then rows of unit norm, if asked."""

    scaler: Any
    to_unit_rows: bool

    def columns(self, X: Any) -> Any:
        """The samples with their columns weighted."""
        if isinstance(self.scaler, StandardScaler):
            return self.scaler.transform(X.toarray() if issparse(X) else X)  # training was dense
        if isinstance(self.scaler, TfidfTransformer):
            idf = self.scaler.idf_.astype(X.dtype)  # its own transform takes no NaN
            return csr_array((X.data * idf[X.indices], X.indices, X.indptr), shape=X.shape) if issparse(X) else X * idf
        return X

    def __call__(self, X: Any) -> tuple[Any, Array]:
        """The samples as the method sees them, and the norms that they had before."""
        X = self.columns(X)
        return unit_rows(X) if self.to_unit_rows else (X, np.ones(X.shape[0], dtype=X.dtype))


def learn_scaling(X: Any, how: str | None) -> Scaling:
    """``how`` is one of ``SCALINGS``; see :class:`sdgs.SDGSClassifier`."""
    scaler = None
    if how == "columns":
        if issparse(X):
            raise ValueError('scaling="columns" would fill sparse X with non-zeros. Pass it dense, or use "rows".')
        scaler = _standardiser(X)
    elif how == "idf":
        if has_missing(X):
            raise ValueError('scaling="idf" counts the samples that have a word, so X must be complete. Use "rows".')
        if issparse(X):
            X = narrow_indices(X).copy()
            X.sum_duplicates()
            X.eliminate_zeros()  # a word that is stored as absent is absent
        scaler = TfidfTransformer(norm=None).fit(X)
    return Scaling(scaler, how is not None)


def possible_scalings(X: Any) -> tuple[str, ...]:
    """What may suit ``X``, the likeliest first.

    Counts and images have no negative entries but corrupted ones, and mean sums: centring would take that from them.
    Measurements in different units must be made comparable first, and some of those are often negative. Rare words say
    more than frequent ones, except where they do not.
    """
    if issparse(X):
        return ("rows",) if has_missing(X) else ("idf", "rows")
    observed = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    if ((X < 0).sum(axis=0) / observed).max() > _OFTEN:
        return ("columns",)
    with np.errstate(over="ignore", invalid="ignore"):
        varies = bool(np.isfinite(np.nanvar(np.nan_to_num(X), axis=0)).all())  # or it cannot be standardised
    return ("rows", "columns") if varies else ("rows",)


def _standardiser(X: Array) -> StandardScaler:
    """Of what was observed of each column; a column of which nothing was is left alone."""
    with np.errstate(all="ignore"):
        scaler = StandardScaler().fit(X)
    unknown = np.isnan(X).all(axis=0)
    scaler.mean_[unknown], scaler.scale_[unknown] = 0.0, 1.0
    if not np.isfinite(scaler.scale_).all():
        raise ValueError("X has columns whose variance overflows. Scale them down.")
    return scaler


@dataclass(frozen=True, eq=False)
class View:
    """Samples as a setting sees them: cleaned, and coded over subspaces that were learnt from the training samples.

    With ``kernel`` (a map, and the subspaces of the labels among mapped samples) the images of cleaned samples under
    the map are coded, and labels are read from the images as well. A kernel of corrupted entries would be
    corrupted itself, and one of missing entries does not exist: so the linear code cleans first.
    """

    setting: Setting
    decomposition: Decomposition | None  # of the samples themselves; None if complete samples are all it will see
    kernel: tuple[Nystroem, Components] | None
    n_labels: int

    def codes(self, X: Any, n_jobs: int | None) -> GroupCodes:
        """Of scaled samples, over the subspaces of the labels among the samples themselves."""
        assert self.decomposition is not None
        return _codes(X, self.decomposition.components, self.setting, n_jobs, robust=True)

    def cleaned(self, X: Any, n_jobs: int | None) -> Any:
        """Scaled samples with corrupted entries corrected and missing ones filled in."""
        if not is_dirty(X, self.setting):
            return X
        assert self.decomposition is not None
        return cleaned_samples(X, self.codes(X, n_jobs), self.decomposition.components)

    def features(self, X: Any, n_jobs: int | None) -> tuple[Array, tuple[int, int]]:
        """Of scaled samples, dense, and how many of the columns to read without and with the last ones.

        Those are: the sample, cleaned; its image under the map, if there is one; its code; and last the norms of the
        code. The signs of the code say much where a label always pushes a sample the same way, as words do, and its
        norms where a label has no such direction. Where they are not needed norms only harm, so they can be left out.
        """
        if self.kernel is None:
            result = self.codes(X, n_jobs)
            assert self.decomposition is not None
            cleaned = cleaned_samples(X, result, self.decomposition.components)
            images = []
        else:
            cleaned = self.cleaned(X, n_jobs)
            images = [_image(self.kernel[0], cleaned)]
            result = _codes(images[0], self.kernel[1], self.setting, n_jobs, robust=False)
        sample = cleaned.toarray() if issparse(cleaned) else cleaned
        Z = np.hstack([sample, *images, result.codes.toarray(), result.l1_norms()]).astype(np.float64)
        return Z, (Z.shape[1] - self.n_labels, Z.shape[1])


def learn_view(
    X: Any,
    labels: Any,
    setting: Setting,
    training: Training,
    *,
    for_dirty: bool,
    known: MutableMapping[Hashable, Any] | None = None,
) -> View:
    """The view of a setting, learnt from scaled samples and their labels.

    ``for_dirty``: whether it must be able to clean samples. ``known`` holds what settings that were learnt from the
    same samples have in common, and is added to.
    """
    known = {} if known is None else known

    def once(key: Hashable, make: Any) -> Any:
        if key not in known:
            known[key] = make()
        return known[key]

    def taken_apart(X: Any) -> Decomposition:
        return decompose(
            X,
            labels,
            n_components=setting.n_components,
            residual_size=training.residual_size,
            solver=training.solver,  # type: ignore[arg-type]  # checked by decompose
            max_iter=training.max_iter,
            tol=training.tol,
            random_state=training.seed,
            n_jobs=training.n_jobs,
        )

    dirty = is_dirty(X, setting)
    decomposition = None
    if setting.gamma is None or dirty or for_dirty:
        decomposition = once((setting.scaling, setting.n_components), lambda: taken_apart(X))
    view = View(setting, decomposition, None, labels.shape[1])
    if setting.gamma is None:
        return view

    def mapped() -> tuple[Nystroem, Components]:
        cleaned = view.cleaned(X, training.n_jobs)
        n_landmarks = min(training.n_landmarks, X.shape[0])
        chart = Nystroem(gamma=setting.gamma, n_components=n_landmarks, random_state=training.seed)
        chart.fit(narrow_indices(cleaned) if issparse(cleaned) else cleaned)
        with warnings.catch_warnings():  # that the images are not taken apart to the end is of no interest to anybody
            warnings.simplefilter("ignore", ConvergenceWarning)
            return chart, taken_apart(_image(chart, cleaned)).components

    cleaned_by = (setting.alpha, setting.huber) if dirty else None
    kernel = once((setting.scaling, setting.n_components, setting.gamma, cleaned_by), mapped)
    return View(setting, decomposition, kernel, labels.shape[1])


def is_dirty(X: Any, setting: Setting) -> bool:
    """Whether there is anything to clean."""
    return setting.huber is not None or has_missing(X)


def _image(chart: Nystroem, X: Any) -> Array:
    image = chart.transform(narrow_indices(X) if issparse(X) else X)
    return np.ascontiguousarray(image.astype(X.dtype))


def _codes(X: Any, components: Components, setting: Setting, n_jobs: int | None, *, robust: bool) -> GroupCodes:
    tol = 1e-6 if X.dtype == np.float64 else 1e-5
    huber = setting.huber if robust else None
    return group_lasso(X, components, setting.alpha, huber=huber, tol=tol, n_jobs=n_jobs)
