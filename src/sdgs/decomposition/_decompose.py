"""The training stage: X = one low-rank component per label + a sparse residual + error."""

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from sdgs._utils._array_api import on_host, take_rows
from sdgs._utils._array_backends import backend_of
from sdgs._utils._sample_weight import check_sample_weight
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._unobserved_labels import check_observed_labels, known_positives
from sdgs._utils._validation import (
    check_checkpoint,
    check_choice,
    check_features,
    check_int,
    check_n_jobs,
    check_number,
    check_ranks,
    check_residual_size,
    check_residual_weight,
    check_seed,
)
from sdgs.decomposition._decomposition_result import Decomposition
from sdgs.decomposition._minimise import minimise
from sdgs.decomposition._problem import Problem
from sdgs.decomposition._solvers import SOLVERS, Solver
from sdgs.decomposition._weighted_samples import select_weighted_samples
from sdgs.decomposition.backends._array_api_alternation import ArrayApiAlternation
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.decomposition.backends._sparse_alternation import SparseAlternation
from sdgs.persistence._checkpoint import fingerprint


def decompose(
    X: Any,
    Y: Any,
    *,
    n_components: int | Sequence[int] = 4,
    residual_size: int | float = 1e-4,
    solver: Solver = "brp",
    max_iter: int = 100,
    tol: float = 1e-4,
    random_state: Any = None,
    n_jobs: int | None = None,
    checkpoint: str | Path | None = None,
    sample_weight: Any = None,
) -> Decomposition:
    r"""Structured decomposition of labelled data.

    Solves, by alternating over the labels and the residual,

    .. math:: \min \; \|X - \sum_{i=1}^k L^i - S\|_F^2 \quad \text{s.t.} \quad
              \mathrm{rank}(L^i) \le r^i, \; L^i = 0 \text{ outside } \Omega_i, \; \mathrm{card}(S) \le K

    where :math:`\Omega_i` are the rows that carry label i. The problem is not convex: this finds a stationary point,
    starting as in the paper from each sample divided equally among its labels.

    Parameters
    ----------
    X : array-like, sparse or Dask array of shape (n, p)
        Samples, used as they are: ``SDGSClassifier`` scales rows to unit norm, this function does not. NaN marks a
        missing entry; the objective is taken over the observed entries.

        *Memory*: dense ``X`` needs one more dense (n, p) matrix, the error. Sparse ``X`` needs memory proportional to
        its stored entries, the coefficients and the components, unless a dense copy is small (at most 32 MiB, or at
        most four times the components): then it is converted because that is faster.

        *Other arrays*: arrays of other libraries, such as torch on a GPU, are decomposed on their own device under
        ``sklearn.config_context(array_api_dispatch=True)`` (docs/devices.md). Dask arrays are decomposed by the workers
        of the current client, which may have less memory than the data (docs/large-data.md).
    Y : array-like or sparse of shape (n, k)
        Labels, 0 or 1. NaN is an unobserved label: the sample is not among those of the label. Samples without a label
        belong to no component: only S and the error can represent them. Labels without a sample get an empty component.
    n_components : int or sequence of k ints, default=4
        r, the rank of a label's component; reduced to the rank that the label's rows support.
    residual_size : int or float, default=1e-4
        K, the number of non-zero entries of S: an int is a count, a float a fraction of n * p.
    solver : {"brp", "svd", "brp-fresh"}, default="brp"
        How the subspace of a label is updated.

        - ``"brp"``: bilateral random projections that start from the subspace of the last sweep, which is one step of
          a subspace iteration. The first sweep takes two steps from an oversampled Gaussian matrix. The error never
          rises.
        - ``"svd"``: the exact minimiser (equation 5).
        - ``"brp-fresh"``: Algorithm 1 as printed, from a new Gaussian matrix in every step. The error may rise, so only
          the first stopping rule below applies. It serves to reproduce the paper; the estimators do not offer it.
    max_iter : int, default=100
        Maximum number of sweeps over all labels.
    tol : float, default=1e-4
        Stop when the error is at most ``tol * ||X||_F^2`` (the paper's rule), or when a sweep lowers it by at most
        ``tol`` times its value. With weights both are weighted.
    random_state : int, RandomState instance or None, default=None
        Determines the random projections. Not used by ``"svd"``.
    n_jobs : int or None, default=None
        Number of threads, which share the rows of a label, or labels without common rows. None means as many as BLAS
        may use, usually one per core, or the number of a ``joblib.parallel_config`` context. They are always threads of
        this machine, whatever backend the context sets. The result does not depend on it, not even in the last digit.
    checkpoint : str, Path or None, default=None
        A folder, created if needed, in which the state is stored between sweeps. If the process is killed, the same
        call continues from there to the same result, to the last digit; a finished result is read at once. The file
        is named after data and arguments, so that calls may share a folder, and a call with other data or arguments
        starts from the beginning. Files are not deleted. A state is as large as dense ``X``, or as the components and
        coefficients if ``X`` is sparse, and writing takes at most about a tenth of the time. Needs a ``random_state``.
    sample_weight : array-like of shape (n,), optional
        Weights w of the samples, at least 0: the objective is :math:`\sum_i w_i` times the squared error of sample i,
        and an entry of S in sample i takes w_i of K. A weight of 2 has the effect of the same sample twice, and a
        weight of 0 that of leaving the sample out: it gets no coefficients and no residual. With a float
        ``residual_size`` K is a fraction of sum(w) * p. The last entry of S is there if at least half of its weight
        is within K. Default: 1.

    Returns
    -------
    Decomposition
        Components, coefficients, residual and the certificate: the objective after each sweep, ``n_iter``,
        ``converged``. A ``ConvergenceWarning`` is issued if it did not converge.

    Examples
    --------
    >>> from sdgs import decompose
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(n_samples=300, n_features=40, n_labels=5, n_components=2, random_state=0)
    >>> result = decompose(data.X, data.Y, n_components=2, random_state=0)
    >>> bool(result.objective[-1] < 1e-3 * (data.X**2).sum())
    True
    """
    backend = backend_of(X)
    if backend is None:
        X = check_features(X, missing=True)
    else:
        X, Y = backend.check_decomposable(X, Y)
    labels, weighted = known_positives(check_observed_labels(Y, n_samples=X.shape[0])), None
    weight = check_sample_weight(sample_weight, X.shape[0])
    if weight is None:
        K: float = check_residual_size(residual_size, X.shape[0] * X.shape[1])
    else:
        weighted = select_weighted_samples(labels, weight)
        labels, weight = weighted.labels, weighted.weight
        K = check_residual_weight(residual_size, weight, weighted.unit, X.shape[1])
        if weight.size < X.shape[0]:
            X = take_rows(X, weighted.rows) if backend is None else X.take(weighted.rows)
    ranks = np.minimum(check_ranks(n_components, labels.shape[1]), np.diff(labels.indptr))
    check_n_jobs(n_jobs)
    problem = Problem(
        shape=X.shape,
        labels=labels,
        ranks=np.minimum(ranks, X.shape[1]),
        K=K,
        solver=check_choice(solver, "solver", SOLVERS),
        max_iter=check_int(max_iter, "max_iter", minimum=1),
        tol=check_number(tol, "tol"),
        seed=check_seed(random_state),
        n_jobs=n_jobs,
        checkpoint_folder=check_checkpoint(checkpoint, random_state),
        sample_weight=weight,
    )
    result = _decompose_here(X, problem) if backend is None else backend.decompose(X, problem)
    if weighted is not None:
        result = weighted.complete(result)
    if not result.converged:
        warnings.warn(
            f"decompose stopped after max_iter={max_iter} sweeps before the error converged to tol={tol}. "
            "Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result


def _decompose_here(X: Any, problem: Problem) -> Decomposition:
    """The decomposition of an array that no backend computes with."""
    if issparse(X) and problem.is_solved_dense(X.dtype):
        X = X.toarray()
    kind = SparseAlternation if issparse(X) else DenseAlternation if on_host(X) else ArrayApiAlternation
    with blas_on_one_thread():
        return minimise(kind(X, problem), problem.open_checkpoint(partial(fingerprint, X)))
