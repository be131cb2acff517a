"""Ridge regressions for all labels at once, from matrices that are side by side.

Plain functions on arrays. Z (n, d) holds what the labels are read from, Y (n, k) the labels. Z comes as matrices that
are side by side, each dense or CSR, in float64: the codes among them are mostly zero, and so are most of the products.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky, eigh, lapack, solve_triangular
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host

Array = NDArray[np.floating[Any]]

_LEAST_TOLD = 1e-12  # of labels by a column, relative to the most: one that says nothing is held down, but not to zero
_HEARSAY = 0.1  # what a column says of the average label, beside what it says of one
_STEPS = 4  # of conjugate gradients: what labels are predicted no longer changes after three
_TOGETHER = 1 << 23  # coefficients that take these steps in one go


@dataclass(frozen=True, eq=False)
class Ridge:
    """Scores Z @ coef.T + intercept, of the leading columns of Z that ``coef`` has."""

    coef: Array
    intercept: Array

    def scores(self, Z: Sequence[Any]) -> Any:
        """One column a label; near 1 where the label is likely, near 0 where not."""
        total, start = to_device_of(self.intercept, Z[0]), 0
        for part in Z:
            W = self.coef[:, start : start + part.shape[1]].T
            total = total + part[:, : len(W)] @ to_device_of(W, part)
            start += part.shape[1]
        return total


@dataclass(frozen=True, eq=False)
class Moments:
    """Z^T Z and Z^T Y of centred Z and Y, the means of both, and the number of rows; each counts by its worth."""

    products: Any
    right: Any
    Z_mean: Array
    Y_mean: Array
    count: float


def regression(
    blocks: Iterable[Sequence[Any]],
    Y: Any,
    widths: Sequence[int],
    weighed: slice | None = None,
    kernels: Array | None = None,
    worth: Array | None = None,
) -> "Regression":
    r"""All that multi-output ridge regressions, with intercept, need to know of Z and Y.

    .. math:: \min_{W, w} \; \|Y - Z W^T - 1 w^T\|_F^2 + \lambda \operatorname{tr} W P W^T

    With Z and Y centred, W^T = (Z^T Z + lambda P)^-1 Z^T Y, or P^-1 Z^T (Z P^-1 Z^T + lambda)^-1 Y where that is
    smaller. One Cholesky factor of the former serves all ``widths``, numbers of leading columns, for that of a leading
    block is a leading block; and six of them still take less time than one eigendecomposition, which would serve all
    penalties. Z comes in blocks of rows, and is never in memory as a whole unless it has fewer rows than columns.

    P is the identity, but 1 / :func:`leniency` on the diagonal for ``weighed`` columns. And if the leading columns of
    Z are kernels with landmarks, P is there ``kernels``, those of the landmarks with each other: that is kernel ridge
    regression for functions that the landmarks span. No width is less than these.

    Squared errors of a row count by its ``worth``, with a mean of 1 over the rows (None: all alike); so do means.

    With a ``partiality`` every label i has a P_i of its own, with 1 / :func:`partial_leniency` for those columns. Then
    there is no one factor for all labels. But the solution for P is near, and its factor a good preconditioner: a few
    steps of conjugate gradients from there, for all labels at once, take two triangular solves each.
    """
    blocks = iter(blocks)
    first = next(blocks)
    blocks = chain([first], blocks)
    # Factors of Z Z^T are as large as Z has rows, and each width needs its own.
    if len(widths) * Y.shape[0] ** 3 >= max(widths) ** 3 or not on_host(first[0]):
        return PrimalRidge(_moments(blocks, Y, worth), weighed, kernels)
    Z = np.vstack([np.hstack([_dense(part) for part in block]) for block in blocks])
    return DualRidge(Z, Y, weighed, kernels, worth)


class Regression(ABC):
    """What was learnt of Z and Y, ready for any penalty; see :func:`regression`."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """What it takes in memory."""

    @abstractmethod
    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        """For every number of leading columns."""

    @abstractmethod
    def partial(self, penalty: float, width: int, partialities: Sequence[float]) -> Iterator[Ridge]:
        """For every partiality, of a number of leading columns that has all that are weighed; there must be some."""

    def ridge(self, penalty: float, width: int, partiality: float) -> Ridge:
        """One of these; the former if ``partiality`` is 0."""
        found = self.partial(penalty, width, [partiality]) if partiality else self.ridges(penalty, [width])
        return next(found)


class PrimalRidge(Regression):
    """By Z^T Z."""

    def __init__(self, moments: Moments, weighed: slice | None = None, kernels: Array | None = None) -> None:
        self._moments, self._weighed = moments, weighed
        strict = np.ones(moments.right.shape[0])
        if kernels is not None:
            strict[: len(kernels)] = 0
        if weighed is not None:
            energy = to_host(namespace(moments.products).linalg.diagonal(moments.products))[weighed]
            self._told = energy, to_host(moments.right)[weighed], moments.Y_mean, moments.count
            strict[weighed] = 1 / penalty_weights(*self._told)
        self._form = _Form(strict, kernels)

    @property
    def nbytes(self) -> int:
        """Of the products; all else is small."""
        return 8 * int(math.prod(self._moments.products.shape))

    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        for W in _solved(self._moments.products, penalty, self._form, self._moments.right, widths):
            yield self._ridge(W)

    def partial(self, penalty: float, width: int, partialities: Sequence[float]) -> Iterator[Ridge]:
        inverse = _inverse(self._form.added_to(to_host(self._moments.products), penalty)[:width, :width])
        if inverse is None:  # the penalty is lost in rounding, whatever it is weighed by
            yield from [*self.ridges(penalty, [width])] * len(partialities)
            return
        shared, strict = inverse(to_host(self._moments.right)[:width]), self._form.strict[self._weighed, None]
        for partiality in partialities:
            excess = penalty * (1 / label_penalty_weights(*self._told, partiality) - strict)
            yield self._ridge(_partial(shared, inverse, excess, self._weighed))

    def _ridge(self, W: Array) -> Ridge:
        return Ridge(np.ascontiguousarray(W.T), self._moments.Y_mean - W.T @ self._moments.Z_mean[: len(W)])


class DualRidge(Regression):
    """By Z P^-1 Z^T; ``Z`` is overwritten."""

    def __init__(
        self,
        Z: Array,
        Y: Any,
        weighed: slice | None = None,
        kernels: Array | None = None,
        worth: Array | None = None,
    ) -> None:
        Y = _dense(Y)
        self._Z_mean, self._Y_mean = (np.average(A, axis=0, weights=worth) for A in (Z, Y))
        self._weighed = weighed
        Z -= self._Z_mean
        self._Y = Y - self._Y_mean
        if worth is not None:
            Z *= np.sqrt(worth)[:, None]
            self._Y *= np.sqrt(worth)[:, None]
        self._root = np.ones(Z.shape[1])
        if weighed is not None:
            mine = Z[:, weighed]
            self._told = np.einsum("ij,ij->j", mine, mine), mine.T @ self._Y, self._Y_mean, len(Z)
            self._root[weighed] = np.sqrt(penalty_weights(*self._told))
            mine *= self._root[weighed]
        self._factor = None if kernels is None else cholesky(kernels, lower=True, check_finite=False)
        if self._factor is not None:
            m = len(self._factor)
            Z[:, :m] = solve_triangular(self._factor, Z[:, :m].T, lower=True, check_finite=False).T
        self._Z = Z  # Z P^-1/2
        self._products: dict[int, Array] = {}

    @property
    def nbytes(self) -> int:
        """Of the rows and of their products."""
        return self._Z.nbytes + sum(products.nbytes for products in self._products.values())

    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        n = len(self._Z)
        for width in widths:
            (dual,) = _solved(self._products_of(width), penalty, _Form(np.ones(n)), self._Y, [n])
            yield self._ridge(self._Z[:, :width].T @ dual)

    def partial(self, penalty: float, width: int, partialities: Sequence[float]) -> Iterator[Ridge]:
        Z = self._Z[:, :width]
        solved = _inverse(_Form(np.ones(len(Z))).added_to(self._products_of(width), penalty))
        if solved is None:
            yield from [*self.ridges(penalty, [width])] * len(partialities)
            return
        shared, lenient = Z.T @ solved(self._Y), np.square(self._root[self._weighed, None])
        for partiality in partialities:
            excess = penalty * (lenient / label_penalty_weights(*self._told, partiality) - 1)
            W = _partial(shared, lambda R: (R - Z.T @ solved(Z @ R)) / penalty, excess, self._weighed)
            yield self._ridge(W)

    def _products_of(self, width: int) -> Array:
        if width not in self._products:
            Z = self._Z[:, :width]
            self._products[width] = Z @ Z.T
        return self._products[width]

    def _ridge(self, W: Array) -> Ridge:
        W = self._root[: len(W), None] * W
        if self._factor is not None:
            m = len(self._factor)
            W[:m] = solve_triangular(self._factor, W[:m], lower=True, trans="T", check_finite=False)
        return Ridge(np.ascontiguousarray(W.T), self._Y_mean - W.T @ self._Z_mean[: len(W)])


def _partial(shared: Array, inverse: Callable[[Array], Array], excess: Array, weighed: slice | None) -> Array:
    """Some steps towards the solutions w_i of (A + E_i) w_i = A v_i, from v, by conjugate gradients.

    E_i is diagonal, with column i of ``excess`` for the ``weighed`` ones. A is known by its ``inverse`` alone, which is
    the preconditioner: for the first direction d, A d is the residual, and then it follows the recursion of d.
    """
    W = np.array(shared, order="F")
    step = max(_TOGETHER // max(len(W), 1), 1)
    for start in range(0, W.shape[1], step):
        w, E = W[:, start : start + step], excess[:, start : start + step]
        r = np.zeros(w.shape, order="F")
        r[weighed] = -E * w[weighed]
        d, Ad, energy = np.zeros_like(r), np.zeros_like(r), np.zeros(w.shape[1])
        for _ in range(_STEPS):
            z = inverse(r)
            last, energy = energy, np.einsum("ij,ij->j", r, z)
            turn = np.divide(energy, last, out=np.zeros_like(energy), where=last > 0)
            d, Ad = z + turn * d, r + turn * Ad
            Ed = E * d[weighed]
            curvature = np.einsum("ij,ij->j", d, Ad) + np.einsum("ij,ij->j", d[weighed], Ed)
            length = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
            w += length * d
            r -= length * Ad
            r[weighed] -= length * Ed
    return W


def penalty_weights(energy: Array, right: Array, Y_mean: Array, n: float) -> NDArray[np.float64]:
    """How much less a column's coefficients are held down than others', for what it says of the labels by itself.

    With columns z and labels y centred, b = z^T y / (z^T z + 1) is what a ridge regression of y on z alone gives a
    column of samples of unit norm. The fourth root of the sum of b^2 / (y^T y + 1) over the labels is its
    leniency, up to a factor that makes the mean 1, where a column counts by z^T z / (z^T z + 1). So a word that is as
    common as another but tells labels apart is listened to more. With a square root instead words are read worse.

    ``energy`` is z^T z of each column, ``right`` z^T y of each and each label; of n samples.
    """
    energy = np.maximum(energy, 0)
    with np.errstate(all="ignore"):
        lenient = _lenient(_told(energy, right, Y_mean, n).sum(axis=1)[:, None], energy, 0.25)[:, 0]
    # Nothing may be told by any, or numbers be too large to say.
    return np.asarray(lenient if np.isfinite(lenient).all() else np.ones(len(energy)), dtype=np.float64)


def label_penalty_weights(
    energy: Array, right: Array, Y_mean: Array, n: float, partiality: float
) -> NDArray[np.float64]:
    """The same for every label by itself: of shape (columns, labels).

    By what a column says of that label, and a little by what it says of the others, to the power of ``partiality``.
    """
    energy = np.maximum(energy, 0)
    with np.errstate(all="ignore"):
        told = _told(energy, right, Y_mean, n)
        told += _HEARSAY * told.mean(axis=1, keepdims=True)
        lenient = _lenient(told, energy, partiality)
    return np.asarray(lenient if np.isfinite(lenient).all() else np.ones(right.shape), dtype=np.float64)


def _told(energy: Array, right: Array, Y_mean: Array, n: float) -> Array:
    """Of each label by each column."""
    spread = np.maximum(n * Y_mean * (1 - Y_mean), 0)
    return np.asarray(np.square(right / (energy + 1)[:, None]) / (spread + 1))


def _lenient(told: Array, energy: Array, power: float) -> Array:
    """Powers of what is told, with a mean of 1 for each label."""
    root = np.maximum(told / told.max(axis=0, initial=0), _LEAST_TOLD) ** power
    known = energy / (energy + 1)
    return np.asarray(root * (known.sum() / (known @ root)))


class MomentAccumulator:
    """Of Z, of its squares and of its products with Y, about a point near the mean; some rows after the other.

    Sums are where Z is. Each row counts by its worth.
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
        self._Y_total = np.zeros(n_labels)
        self._count = 0.0

    def add(self, Z: Sequence[Any], Y: Any, worth: Array | None = None) -> None:
        """Some more rows, each worth the same (None) or as much as this."""
        root = None if worth is None else np.sqrt(worth)
        Y = _times(Y, root)
        self._Y_total += _sum(Y, root)
        self._count += Z[0].shape[0] if worth is None else float(worth.sum())
        if not on_host(Z[0]):
            Y = to_device_of(_dense(Y).astype(np.float64), Z[0])
        about = [_times(self._about(part, shift), root) for part, shift in zip(Z, self._shift, strict=True)]
        for i, part in enumerate(about):
            for j, other in enumerate(about[: i + 1]):
                self._products[i][j] += _products(part, other)
            self._right[i] += _dense(Y.T @ part).T
            self._total[i] += _sum(part, root)

    def _about(self, part: Any, shift: Any) -> Any:
        """Less the point near the mean."""
        return part if issparse(part) and not shift.any() else _dense(part) - shift

    def moments(self) -> Moments:
        """Of the rows that there are so far."""
        xp = namespace(self._total[0])
        total, shift, right = (xp.concat(parts) for parts in (self._total, self._shift, self._right))
        mean, Y_mean = total / self._count, self._Y_total / self._count
        products = _symmetric(self._products) - total[:, None] * mean[None, :]
        right = right - total[:, None] * to_device_of(Y_mean, mean)[None, :]
        return Moments(products, right, to_host(mean + shift), Y_mean, self._count)


def _moments(blocks: Iterable[Sequence[Any]], Y: Any, worth: Array | None) -> Moments:
    sums: MomentAccumulator | None = None
    start = 0
    for Z in blocks:
        sums = MomentAccumulator(Z, Y.shape[1]) if sums is None else sums
        rows = slice(start, start + Z[0].shape[0])
        sums.add(Z, Y[rows], None if worth is None else worth[rows])
        start = rows.stop
    assert sums is not None
    return sums.moments()


def _times(A: Any, root: Array | None) -> Any:
    """Every row times a number."""
    if root is None:
        return A
    if issparse(A):
        A = A.tocsr()
        return csr_array((A.data * np.repeat(root, np.diff(A.indptr)), A.indices, A.indptr), shape=A.shape)
    return A * to_device_of(root, A)[:, None]


def _sum(A: Any, root: Array | None) -> Any:
    """Of the rows, each times a number."""
    if root is not None:
        return (root if on_host(A) else to_device_of(root, A)) @ A
    return np.asarray(A.sum(axis=0)).reshape(-1) if issparse(A) else namespace(A).sum(A, axis=0)


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
        from sdgs.readout._sparse_gram import add_products

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
            A = A + times * to_device_of(self.strict, A)[:, None] * xp.eye(A.shape[0], dtype=A.dtype, device=device(A))
        if self.kernels is not None:
            m = len(self.kernels)
            A[:m, :m] += times * to_device_of(self.kernels, A)
        return A


def _inverse(A: Array) -> Callable[[Array], Array] | None:
    """Of a symmetric matrix, as a function; None if it is not positive definite. ``A`` is overwritten."""
    L, failed = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    return lambda R: blas.dtrsm(1.0, L, blas.dtrsm(1.0, L, R, lower=1), lower=1, trans_a=1, overwrite_b=1)


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
