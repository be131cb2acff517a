"""From features to the probabilities of labels: a ridge regression for all labels at once, and its calibration.

Plain functions on arrays. Z (n, d) holds what the labels are read from, Y (n, k) the labels. Z comes as matrices that
are side by side, each dense or CSR, in float64: the codes among them are mostly zero, and so are most of the products.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky, eigh, lapack, solve_triangular
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression

from sdgs._arrays import expit, like, namespace, on_host, put, to_host

Array = NDArray[np.floating[Any]]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

_ENOUGH = 500_000  # scores to fit four numbers to
_LEAST_TOLD = 1e-12  # of labels by a column, relative to the most: one that says nothing is held down, but not to zero


@dataclass(frozen=True, eq=False)
class Features:
    """Of training rows and of others, both in blocks; the rest is for :func:`ridge_path`."""

    training: Iterable[Sequence[Any]]
    others: Iterable[Sequence[Any]]
    widths: Sequence[int]
    weighed: slice | None = None
    kernels: Array | None = None


@dataclass(frozen=True, eq=False)
class Ridge:
    """Scores Z @ coef.T + intercept, of the leading columns of Z that ``coef`` has."""

    coef: Array
    intercept: Array

    def scores(self, Z: Sequence[Any]) -> Any:
        """One column a label; near 1 where the label is likely, near 0 where not."""
        total, start = like(self.intercept, Z[0]), 0
        for part in Z:
            W = self.coef[:, start : start + part.shape[1]].T
            total = total + part[:, : len(W)] @ like(W, part)
            start += part.shape[1]
        return total


def ridge_path(
    blocks: Iterable[Sequence[Any]],
    Y: Any,
    penalties: Sequence[float],
    widths: Sequence[int],
    weighed: slice | None = None,
    kernels: Array | None = None,
) -> Iterator[Ridge]:
    r"""Multi-output ridge regressions, with intercept: for every penalty, for every number of leading columns.

    .. math:: \min_{W, w} \; \|Y - Z W^T - 1 w^T\|_F^2 + \lambda \operatorname{tr} W P W^T

    With Z and Y centred, W^T = (Z^T Z + lambda P)^-1 Z^T Y, or P^-1 Z^T (Z P^-1 Z^T + lambda)^-1 Y where that is
    smaller. One Cholesky factor of the former serves all widths, for that of a leading block is a leading block; and
    six of them still take less time than one eigendecomposition, which would serve all penalties. Z comes in blocks of
    rows, and is never in memory as a whole unless it has fewer rows than columns.

    P is the identity, but 1 / :func:`leniency` on the diagonal for ``weighed`` columns. And if the leading columns of
    Z are kernels with landmarks, P is there ``kernels``, those of the landmarks with each other: that is kernel ridge
    regression for functions that the landmarks span. No width is less than these.
    """
    blocks = iter(blocks)
    first = next(blocks)
    blocks = chain([first], blocks)
    # Factors of Z Z^T are as large as Z has rows, and each width needs its own.
    if len(widths) * Y.shape[0] ** 3 >= max(widths) ** 3 or not on_host(first[0]):
        yield from ridges(_moments(blocks, Y), penalties, widths, weighed, kernels)
    else:
        Z = np.vstack([np.hstack([_dense(part) for part in block]) for block in blocks])
        Z_mean, Y_mean = Z.mean(axis=0), _mean(Y)
        Z -= Z_mean
        centred = _dense(Y) - Y_mean
        root = np.ones(Z.shape[1])
        if weighed is not None:
            mine = Z[:, weighed]
            root[weighed] = np.sqrt(leniency(np.einsum("ij,ij->j", mine, mine), mine.T @ centred, Y_mean, len(Z)))
            mine *= root[weighed]
        m = 0 if kernels is None else len(kernels)
        factor = None if kernels is None else cholesky(kernels, lower=True, check_finite=False)
        if factor is not None:
            Z[:, :m] = solve_triangular(factor, Z[:, :m].T, lower=True, check_finite=False).T
        products_of = [Z[:, :width] @ Z[:, :width].T for width in widths]
        identity = _Form(np.ones(len(Z)))
        for penalty in penalties:
            for width, products in zip(widths, products_of, strict=True):
                (dual,) = _solved(products, penalty, identity, centred, [len(Z)])
                W = root[:width, None] * (Z[:, :width].T @ dual)
                if factor is not None:
                    W[:m] = solve_triangular(factor, W[:m], lower=True, trans="T", check_finite=False)
                yield Ridge(np.ascontiguousarray(W.T), Y_mean - W.T @ Z_mean[:width])


@dataclass(frozen=True, eq=False)
class Moments:
    """Z^T Z and Z^T Y of centred Z and Y, the means of both, and the number of rows."""

    products: Any
    right: Any
    Z_mean: Array
    Y_mean: Array
    count: int


def ridges(
    moments: Moments,
    penalties: Sequence[float],
    widths: Sequence[int],
    weighed: slice | None = None,
    kernels: Array | None = None,
) -> Iterator[Ridge]:
    """For every penalty, for every number of leading columns; see :func:`ridge_path`."""
    strict = np.ones(moments.right.shape[0])
    if kernels is not None:
        strict[: len(kernels)] = 0
    if weighed is not None:
        energy = to_host(namespace(moments.products).linalg.diagonal(moments.products))[weighed]
        strict[weighed] = 1 / leniency(energy, to_host(moments.right)[weighed], moments.Y_mean, moments.count)
    form = _Form(strict, kernels)
    for penalty in penalties:
        for W in _solved(moments.products, penalty, form, moments.right, widths):
            yield Ridge(np.ascontiguousarray(W.T), moments.Y_mean - W.T @ moments.Z_mean[: len(W)])


def leniency(energy: Array, right: Array, Y_mean: Array, n: int) -> NDArray[np.float64]:
    r"""How much less a column's coefficients are held down than others', for what it says of the labels by itself.

    With columns z and labels y centred, b = z^T y / (z^T z + 1) is what a ridge regression of y on z alone gives a
    column of samples of unit norm. The fourth root of the sum of b^2 / (y^T y + 1) over the labels is its
    leniency, up to a factor that makes the mean 1, where a column counts by z^T z / (z^T z + 1). So a word that is as
    common as another but tells labels apart is listened to more. With a square root instead words are read worse.

    ``energy`` is z^T z of each column, ``right`` z^T y of each and each label; of n samples.
    """
    energy, spread = np.maximum(energy, 0), np.maximum(n * Y_mean * (1 - Y_mean), 0)
    with np.errstate(all="ignore"):
        told = np.square(right / (energy + 1)[:, None]) @ (1 / (spread + 1))
        root = np.maximum(told / told.max(initial=0), _LEAST_TOLD) ** 0.25
        known = energy / (energy + 1)
        lenient = root * (known.sum() / (known @ root))
    # Nothing may be told by any, or numbers be too large to say.
    return lenient if np.isfinite(lenient).all() else np.ones(len(energy))


class Sums:
    """Of Z, of its squares and of its products with Y, about a point near the mean; some rows after the other.

    Sums are where Z is.
    """

    def __init__(self, Z: Sequence[Any], n_labels: int) -> None:
        xp = namespace(Z[0])
        zeros = partial(xp.zeros, dtype=xp.float64, device=None if on_host(Z[0]) else device(Z[0]))
        widths = [part.shape[1] for part in Z]
        # Sums of squares about zero would lose the digits of columns with a large mean. Sparse ones have a small
        # one, and must stay sparse.
        self._shift = [zeros(part.shape[1]) if issparse(part) else xp.mean(part, axis=0) for part in Z]
        self._products = [[zeros((width, other)) for other in widths[: i + 1]] for i, width in enumerate(widths)]
        self._right = [zeros((width, n_labels)) for width in widths]
        self._total = [zeros(width) for width in widths]
        self.count = 0

    def add(self, Z: Sequence[Any], Y: Any) -> None:
        """Some more rows."""
        if not on_host(Z[0]):
            Y = like(_dense(Y).astype(np.float64), Z[0])
        about = [self._about(part, shift) for part, shift in zip(Z, self._shift, strict=True)]
        for i, part in enumerate(about):
            for j, other in enumerate(about[: i + 1]):
                self._products[i][j] += _products(part, other)
            self._right[i] += _dense(Y.T @ part).T
            self._total[i] += (
                np.asarray(part.sum(axis=0)).reshape(-1) if issparse(part) else namespace(part).sum(part, axis=0)
            )
        self.count += Z[0].shape[0]

    def _about(self, part: Any, shift: Any) -> Any:
        """Less the point near the mean."""
        return part if issparse(part) and not shift.any() else _dense(part) - shift

    def moments(self, Y_mean: Array) -> Moments:
        """Given the mean of the labels of those rows."""
        xp = namespace(self._total[0])
        total, shift, right = (xp.concat(parts) for parts in (self._total, self._shift, self._right))
        mean = total / self.count
        products = _symmetric(self._products) - total[:, None] * mean[None, :]
        right = right - total[:, None] * like(Y_mean, mean)[None, :]
        return Moments(products, right, to_host(mean + shift), Y_mean, self.count)


def _moments(blocks: Iterable[Sequence[Any]], Y: Any) -> Moments:
    sums: Sums | None = None
    for Z in blocks:
        sums = Sums(Z, Y.shape[1]) if sums is None else sums
        sums.add(Z, Y[sums.count : sums.count + Z[0].shape[0]])
    assert sums is not None
    return sums.moments(_mean(Y))


def merged(parts: Sequence[Moments]) -> Moments:
    """The moments of all rows together, from those of parts of them."""
    count = sum(part.count for part in parts)
    Z_mean, Y_mean = (
        np.sum([getattr(part, name) * (part.count / count) for part in parts], axis=0) for name in ("Z_mean", "Y_mean")
    )
    products, right = np.zeros_like(parts[0].products), np.zeros_like(parts[0].right)
    for part in parts:
        away = part.Z_mean - Z_mean
        products += part.products + part.count * np.outer(away, away)
        right += part.right + part.count * np.outer(away, part.Y_mean - Y_mean)
    return Moments(products, right, Z_mean, Y_mean, count)


def _products(A: Any, B: Any) -> Any:
    """A^T B, dense."""
    if issparse(A) and issparse(B):
        from sdgs._readout_kernel import add_products

        products = np.zeros((A.shape[1], B.shape[1]))
        add_products(A.indptr, A.indices, A.data, B.indptr, B.indices, B.data, products)
        return products
    return (B.T @ A).T if issparse(B) else A.T @ B


def _symmetric(blocks: Sequence[Sequence[Any]]) -> Any:
    """The matrix of which these are the blocks on the diagonal and to the left of it."""
    if len(blocks) == 1:
        return blocks[0][0]
    return np.block(
        [[blocks[i][j] if j <= i else blocks[j][i].T for j in range(len(blocks))] for i in range(len(blocks))]
    )


def _dense(A: Any) -> Any:
    return A.toarray() if issparse(A) else A


def _mean(Y: Any) -> Array:
    return np.asarray(Y.mean(axis=0), dtype=np.float64).reshape(-1)


@dataclass(frozen=True, eq=False)
class _Form:
    """P: ``strict`` on the diagonal, and ``kernels`` added in the first rows and columns."""

    strict: NDArray[np.float64]
    kernels: Array | None = None

    def added_to(self, A: Any, times: float) -> Any:
        """A + times * P, where A is."""
        if on_host(A):
            A = A.copy()
            A.flat[:: len(A) + 1] += times * self.strict
        else:
            xp = namespace(A)
            A = A + times * like(self.strict, A)[:, None] * xp.eye(A.shape[0], dtype=A.dtype, device=device(A))
        if self.kernels is not None:
            m = len(self.kernels)
            A[:m, :m] += times * like(self.kernels, A)
        return A


def _solved(A: Any, penalty: float, form: _Form, right: Any, widths: Sequence[int]) -> list[Array]:
    """The solutions of (A + penalty * P) W = right for leading blocks of A and P, on the host."""
    if not on_host(A):
        solve = namespace(A).linalg.solve
        try:
            shifted = form.added_to(A, penalty)
            found = [to_host(solve(shifted[:width, :width], right[:width, :])) for width in widths]
        except (LinAlgError, RuntimeError):
            found = [np.full(1, np.nan)]
        if all(np.isfinite(W).all() for W in found):
            return found
        A, right = to_host(A), to_host(right)
    L, failed = lapack.dpotrf(form.added_to(A, penalty).T, lower=1, overwrite_a=1, clean=0)
    if failed:  # the penalty is lost in the rounding of A
        return _solved_where_known(A, penalty, form, right, widths)
    # The first rows of L^-1 right are a leading block's own; and zeros below them stay zeros under L^-T.
    half, k = blas.dtrsm(1.0, L, right, lower=1), right.shape[1]
    leading = np.zeros((len(A), len(widths) * k), order="F")
    for i, width in enumerate(widths):
        leading[:width, i * k : (i + 1) * k] = half[:width]
    leading = blas.dtrsm(1.0, L, leading, lower=1, trans_a=1, overwrite_b=1)
    return [leading[:width, i * k : (i + 1) * k] for i, width in enumerate(widths)]


def _solved_where_known(A: Array, penalty: float, form: _Form, right: Array, widths: Sequence[int]) -> list[Array]:
    """The same for directions that are more than rounding; the others get nothing."""
    P = form.added_to(np.zeros_like(A), 1.0)
    found = []
    for width in widths:
        s, V = eigh(A[:width, :width], P[:width, :width], check_finite=False)
        known = s > width * np.finfo(s.dtype).eps * s.max(initial=0)
        found.append(V[:, known] @ ((V[:, known].T @ right[:width]) / (s[known] + penalty)[:, None]))
    return found


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds slope * score + offset, with a slope and an offset for each label."""

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]

    def log_odds(self, scores: Any) -> Any:
        """Of each label, from its score."""
        return scores * like(self.slope, scores) + like(self.offset, scores)

    def probabilities(self, scores: Any) -> Any:
        """Of each label, from its score."""
        return expit(self.log_odds(scores))


def cross_fitted(
    features: Callable[[int], Features],
    Y: Array,
    folds: Iterable[Fold],
    penalties: Sequence[float],
    n_widths: int,
) -> list[list[Any]]:
    """The scores of each sample, from a model that was not learnt from it: for every width, for every penalty.

    ``features(i)`` are those of the training and of the test rows of fold i, learnt from the training rows alone. What
    features that were learnt from all rows say of those same rows is too good, and a penalty or a threshold chosen on
    it is wrong by far.
    """
    # Where nothing can be learnt (no label in all but one fold) the frequencies are all there is.
    scores: list[list[Any]] = [[np.full(Y.shape, Y.mean(axis=0)) for _ in penalties] for _ in range(n_widths)]
    for i, (train, test) in enumerate(folds):
        if not Y[train].any():
            continue
        Z, blocks = features(i), None
        path = ridge_path(Z.training, Y[train], penalties, Z.widths, Z.weighed, Z.kernels)
        for number, model in enumerate(path):
            blocks = list(Z.others) if blocks is None else blocks  # after the training samples are dealt with
            parts = [model.scores(block) for block in blocks]
            found, mine, place = namespace(parts[0]).concat(parts), scores[number % n_widths], number // n_widths
            mine[place] = put(like(mine[place], found), like(test, found), found)
    return scores


def calibrate(scores: Any, Y: NDArray[Any], enough: int = _ENOUGH) -> Calibration:
    """Fit the probabilities of all labels together, from scores of samples that the scores were not learnt from.

    Few labels have the samples for a calibration of their own, and one for all is wrong for the rare ones. So slope and
    offset are linear in the log-odds of a label's frequency: four numbers in all. Where that would turn a label's order
    around, one slope for all; and where scores say nothing, as those of noise do, the frequencies alone. About
    ``enough`` of the scores are used.
    """
    n, k = scores.shape
    frequency = (Y.sum(axis=0) + 1) / (n + 2)  # Laplace's rule: no log-odds are infinite
    odds = np.log(frequency / (1 - frequency))
    some = every_so_often(n, k, enough)
    scores = to_host(scores[some, :])
    n = len(scores)
    target = np.asarray(Y[some], dtype=bool).ravel()
    if not target.all() and target.any():
        columns = np.column_stack([scores.ravel(), np.tile(odds, n), (scores * odds).ravel()])
        for used in (3, 2):
            # Next to no regularisation: some, or separable labels would have no solution.
            model = LogisticRegression(C=1e3, solver="newton-cholesky").fit(columns[:, :used], target)
            a, b, c = (*model.coef_[0], 0.0)[:3]
            slope = a + c * odds
            if (slope > 0).all():
                return Calibration(slope, model.intercept_[0] + b * odds)
    return Calibration(np.zeros(k), odds)


def every_so_often(n: int, k: int, enough: int) -> slice:
    """Rows that have about ``enough`` of n x k scores."""
    return slice(None, None, max(1, n * k // enough))
