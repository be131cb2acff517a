"""The training stage: X = one low-rank component a label + a sparse residual + error."""

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sdgs._utils._array_api import on_host
from sdgs._utils._validation import (
    check_checkpoint,
    check_choice,
    check_features,
    check_int,
    check_labels,
    check_n_jobs,
    check_number,
    check_ranks,
    check_residual_size,
    check_seed,
    is_dask_array,
)
from sdgs.decomposition._alternation import Alternation, Solver
from sdgs.decomposition._decomposition_result import Decomposition
from sdgs.decomposition.backends._array_api_alternation import ArrayAlternation
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.decomposition.backends._sparse_alternation import SparseAlternation
from sdgs.persistence._checkpoint import Checkpoint

_SMALL = 32 << 20  # bytes of a dense matrix that costs nobody anything

SOLVERS: tuple[Solver, ...] = ("brp", "svd", "brp-fresh")


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
) -> Decomposition:
    r"""Structured decomposition of labelled data.

    Solves, by alternating over the labels and the residual,

    .. math:: \min \; \|X - \sum_{i=1}^k L^i - S\|_F^2 \quad \text{s.t.} \quad
              \mathrm{rank}(L^i) \le r^i, \; L^i = 0 \text{ outside } \Omega_i, \; \mathrm{card}(S) \le K

    where :math:`\Omega_i` are the rows that carry label i. The problem is not convex: this finds a stationary point,
    from the paper's start (each sample shared out equally among its labels).

    Parameters
    ----------
    X : array-like, sparse or Dask array of shape (n, p)
        Samples. NaN is an entry that was not observed: only the others count. Used as they are: ``SDGSClassifier``
        brings rows to unit norm, this function does not. Training holds one dense (n, p) matrix, the error; for sparse
        ``X`` none, unless it is small (32 MiB, or four times the components): it takes memory by the stored entries,
        the coefficients and the components. Arrays of other libraries, such as torch's on a GPU, are taken apart where
        they are under ``sklearn.config_context(array_api_dispatch=True)`` (docs/devices.md). A Dask array is taken
        apart by the workers of the current client, which may have less memory than that (docs/large-data.md).
    Y : array-like or sparse of shape (n, k)
        Labels, 0 or 1. Samples without a label belong to no component: only S and the error can hold them. Labels
        without a sample get an empty component.
    n_components : int or sequence of k ints, default=4
        r, the rank of a label's component; cut to what the label's rows support.
    residual_size : int or float, default=1e-4
        K, the number of non-zero entries of S: an int counts them, a float is a share of n * p.
    solver : {"brp", "svd", "brp-fresh"}, default="brp"
        How a label's subspace is updated. ``"svd"``: exactly (equation 5). ``"brp"``: bilateral random projections
        started from the subspace of the last sweep, one step of a subspace iteration (in the first sweep two steps,
        from a Gaussian start with columns to spare); the error never rises. ``"brp-fresh"``: from a fresh Gaussian
        matrix every time, as Algorithm 1 is printed; the error may rise, and it stops only by ``tol`` on the error
        itself. Kept for comparison.
    max_iter : int, default=100
        Most sweeps over all labels.
    tol : float, default=1e-4
        Stop when the error is at most ``tol * ||X||_F^2`` (the paper's rule), or, but for ``"brp-fresh"``, when a
        sweep lowered it by at most ``tol`` times itself.
    random_state : int, RandomState instance or None, default=None
        Draws the random projections. Unused by ``"svd"``.
    n_jobs : int or None, default=None
        Threads that share the rows of a label, or labels that have no row in common. None means 1 unless in a
        ``joblib.parallel_config`` context. They are of this machine, whatever backend that has. Changes nothing in the
        result, not even the last digit.
    checkpoint : str, Path or None, default=None
        A folder, made if it is not there, to keep the state between sweeps in. Killed at any point, the same call goes
        on from there to the same result, to the last digit; when it is done it is at hand at once. Its file is named
        after data and arguments, so others may share the folder, and a call with anything else begins at the beginning.
        The files stay: delete the folder when you have what you wanted. A state takes as much room as a dense ``X``, or
        as the components and coefficients if ``X`` is sparse, and is written as often as takes a tenth of the time.
        Needs a ``random_state``.

    Returns
    -------
    Decomposition
        Components, coefficients, residual and the certificate: the objective after each sweep, ``n_iter``,
        ``converged``. A ``ConvergenceWarning`` is issued when it did not converge.

    Examples
    --------
    >>> from sdgs import decompose
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(n_samples=300, n_features=40, n_labels=5, n_components=2, random_state=0)
    >>> result = decompose(data.X, data.Y, n_components=2, random_state=0)
    >>> bool(result.objective[-1] < 1e-3 * (data.X**2).sum())
    True
    """
    on_workers = is_dask_array(X)
    if on_workers:
        from sdgs.distributed import Rows, check_solver, decomposed, gathered_labels

        X, Y = Rows(X), gathered_labels(Y)
        check_solver(solver)
    else:
        X = check_features(X, missing=True)
    n, p = X.shape
    labels = check_labels(Y, n_samples=n)
    ranks = check_ranks(n_components, labels.shape[1])
    K = check_residual_size(residual_size, n * p)
    check_choice(solver, "solver", SOLVERS)
    max_iter = check_int(max_iter, "max_iter", minimum=1)
    tol = check_number(tol, "tol")
    seed = check_seed(random_state)
    check_n_jobs(n_jobs)
    folder = check_checkpoint(checkpoint, random_state)

    rows = tuple(np.asarray(o, dtype=np.intp) for o in np.split(labels.indices, labels.indptr[1:-1]))
    elsewhere = not (on_workers or on_host(X))  # on a device, say
    dense = elsewhere or _may_be_dense(X, int(np.minimum(ranks, np.diff(labels.indptr)).sum()))
    if issparse(X) and dense:
        X = X.toarray()
    kept = None
    if folder is not None:
        kept = Checkpoint(folder, "decompose", X, X.shape, labels, labels.shape, ranks, K, solver, max_iter, tol, seed)
    # The threads of BLAS gain nothing on products this thin, lose much when something else runs, and change the last
    # digits: the result is to depend on nothing but the arguments.
    with threadpool_limits(None if elsewhere else 1, user_api="blas"):

        def run(state: Any) -> Decomposition:
            return _decompose(state, max_iter, tol, kept)

        if on_workers:
            result = decomposed(X, labels, ranks, K, solver, seed, dense=dense, run=run)
        elif elsewhere:
            result = run(ArrayAlternation(X, rows, ranks, K, solver, seed))
        else:
            kind = SparseAlternation if issparse(X) else DenseAlternation
            result = run(kind(X, rows, ranks, K, solver, seed, n_jobs))
    if not result.converged:
        warnings.warn(
            f"decompose stopped after max_iter={max_iter} sweeps before the error settled to tol={tol}. "
            "Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result


def _may_be_dense(X: Any, n_components: int) -> bool:
    """Whether sparse X is small; or the components, which are dense, take as much memory or nearly.

    Then it is taken apart as a dense one, which is three to ten times faster on the paper's text data sets; and with
    thousands of labels products with the components would be all that counts. Others are never made dense.
    """
    n, p = X.shape
    return bool(n * p * X.dtype.itemsize <= _SMALL or n <= 4 * n_components)


def _decompose(state: Any, max_iter: int, tol: float, checkpoint: Checkpoint | None = None) -> Decomposition:
    objective = [] if checkpoint is None else _gone_on(state, checkpoint)
    converged = _settled(objective, state, tol)
    while not converged and len(objective) < max_iter:
        state.sweep()
        objective.append(state.error())
        converged = _settled(objective, state, tol)
        if checkpoint is not None:
            if converged or len(objective) == max_iter:
                checkpoint.store({**state.state(), "objective": np.asarray(objective)})
            elif checkpoint.due():
                checkpoint.store({**state.state(), **state.working_state(), "objective": np.asarray(objective)})

    with np.errstate(over="ignore"):  # squares of the largest numbers are inf
        objective_of_X = np.asarray(objective) * np.float64(state.scale) ** 2
    pairs = state.supported()
    return Decomposition(
        components=tuple(C for _, C in pairs),
        coefficients=tuple(U * state.scale for U, _ in pairs),
        rows=state.rows,
        residual=state.residual(),
        objective=objective_of_X,
        n_iter=len(objective),
        converged=converged,
    )


def _settled(objective: Sequence[float], state: Alternation | ArrayAlternation, tol: float) -> bool:
    """Whether the error is small, or the last sweep lowered it by little."""
    if not objective:
        return False
    settled = objective[-1] <= tol * state.total
    if len(objective) > 1 and state.solver != "brp-fresh":
        settled |= objective[-2] - objective[-1] <= tol * objective[-2]
    return settled


def _gone_on(state: Alternation | ArrayAlternation, checkpoint: Checkpoint) -> list[float]:
    """The objective so far, with ``state`` as it was then; empty if there is nothing to go on from."""
    kept = checkpoint.load()
    if kept is None:
        return []
    objective = kept.pop("objective", np.empty(0))
    if objective.ndim != 1 or not _fits(kept, state):
        checkpoint.distrust("it does not fit the data.")
        return []
    state.restore(kept, objective.size)
    return [float(error) for error in objective]


def _fits(kept: Mapping[str, NDArray[Any]], state: Alternation | ArrayAlternation) -> bool:
    """Whether arrays are what those of a state can be; all sizes are given, but for those of S."""
    fresh = {**state.state(), **state.working_state()}
    return (
        {"U", "C", "places", "values"} <= kept.keys() <= fresh.keys()
        and all(array.dtype == fresh[name].dtype and array.ndim == fresh[name].ndim for name, array in kept.items())
        and all(array.shape == fresh[name].shape for name, array in kept.items() if name not in ("places", "values"))
        and kept["places"].size == kept["values"].size <= state.K
        and bool((np.diff(kept["places"], prepend=-1, append=math.prod(state.shape)) > 0).all())
    )
