"""Results checked against the definitions of their problems, in plain NumPy. No code is shared with the solvers.

``group_lasso_violations`` and ``decomposition_violations`` return what is wrong with a result, as text: it is worse
than it says, or breaks a constraint. ``random_problem`` and ``random_decomposition`` make hard problems.
``python tests/certificates.py 2000 [SEED]`` solves and checks that many of each.
"""

import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from sdgs import decompose, group_lasso
from sdgs._utils._array_api import to_host

EXACT = np.longdouble  # has more digits than float64 where the processor offers it
MIN_RELATIVE_ALPHA = 1e-11  # of group_lasso without NaN: a smaller alpha is raised to this times the norm of a row
ROUNDING = 1e-12  # of a relative gap that is computed in float64


def dense(A):
    """A as a dense NumPy array, from any library or device."""
    return A.toarray() if issparse(A) else np.asarray(to_host(A))


# --- Group lasso ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certificate:
    """What a code is worth, in units in which the largest entry of its sample is 1."""

    primal: float
    dual: float
    primal_at_zero: float
    gap: float  # relative, as GroupCodes defines it
    kkt: float  # largest distance of b_g from its own proximal step; sqrt(2 (primal - minimum)) is at least that


def group_lasso_certificate(x, components, b, alpha, huber=None, min_relative_alpha=0.0) -> Certificate:
    """Certificate of the code ``b`` of a sample ``x``, in which NaN is a missing entry."""
    x, b, C = (np.asarray(A, dtype=EXACT) for A in (x, b, np.vstack(components)))
    bounds = np.cumsum([0, *(len(part) for part in components)])
    slices = [slice(*pair) for pair in zip(bounds[:-1], bounds[1:], strict=True) if pair[1] > pair[0]]
    observed = ~np.isnan(x)
    x = np.where(observed, x, 0)
    scale = np.abs(x).max(initial=0)
    if scale == 0:
        return Certificate(0.0, 0.0, 0.0, 0.0 if not b.any() else np.inf, 0.0 if not b.any() else np.inf)
    x, b, alpha = x / scale, b / scale, EXACT(alpha) / scale
    alpha = max(alpha, min_relative_alpha * np.sqrt(x @ x))
    m = np.where(observed, np.inf if huber is None else EXACT(huber) / scale, 0)

    fit = b @ C
    unit = np.sqrt(np.square(np.clip(x, -m, m)).sum())
    # Of an entry that neither the code nor mu reaches only the sign counts. Clipping it changes P by a constant.
    limit, reach = 1e3 * unit, np.abs(fit).max() + m[np.isfinite(m)].max(initial=0)
    while limit <= reach:
        limit = 1e3 * limit
    x = np.clip(x, -limit, limit) if huber is not None else x
    error = x - fit
    theta = np.clip(error, -m, m)
    q = C @ theta
    norms = [np.sqrt(b[g] @ b[g]) for g in slices]
    primal = theta @ (error - theta / 2) + alpha * sum(norms)
    worst = max((np.sqrt(q[g] @ q[g]) for g in slices), default=EXACT(0))
    t = alpha / worst if worst > alpha else EXACT(1)
    if np.isinf(m).all() and theta @ theta > 0:  # the dual has no other bounds: the best multiple of theta
        largest = alpha / worst if worst > 0 else np.inf
        t = min(max((x @ theta) / (theta @ theta), 0), largest)
    dual = t * (x @ theta) - t * t * (theta @ theta) / 2
    kkt = max((_proximal_step(b[g], q[g], alpha) for g in slices), default=0)
    at_zero = np.square(np.clip(x, -m, m)).sum() / 2
    gap = max(primal - dual, 0) / at_zero
    clipped = np.clip(x, -m, m)
    primal_at_zero = clipped @ (x - clipped / 2)
    return Certificate(float(primal), float(dual), float(primal_at_zero), float(gap), float(kkt / np.sqrt(at_zero)))


def _proximal_step(b, q, alpha):
    """How far b_g moves in a proximal gradient step of length 1, which is the largest curvature."""
    z = b + q
    size = np.sqrt(z @ z)
    step = (1 - alpha / size if size > alpha else EXACT(0)) * z - b
    return np.sqrt(step @ step)


def least_squares_gap(x, components, b, dtype):
    """The relative gap for alpha = 0: the energy of the error in the row space of C. Zero directions are left out."""
    C = np.vstack(components).astype(np.float64)
    scale = np.abs(x).max(initial=0)
    if scale == 0 or len(C) == 0:
        return 0.0 if not np.any(b) else np.inf
    x, b = x.astype(np.float64) / scale, b.astype(np.float64) / scale
    _, s, Vt = np.linalg.svd(C, full_matrices=False)
    V = Vt[s > max(C.shape) * np.finfo(dtype).eps * s[0]]
    return float(np.square(V @ (x - b @ C)).sum() / (x @ x))


def group_lasso_violations(result, X, components, alpha, huber=None, tol=1e-6) -> list[str]:
    """What is wrong with the :class:`sdgs.GroupCodes` of X."""
    X, codes, gap, converged = (dense(A) for A in (X, result.codes, result.gap, result.converged))
    dtype = X.dtype
    components = [np.asarray(C, dtype=dtype).reshape(-1, X.shape[1]) for C in components]
    if codes.dtype != dtype or codes.shape != (len(X), sum(map(len, components))):
        return [f"codes have dtype {codes.dtype} and shape {codes.shape}"]
    if not np.isfinite(codes).all() or not np.isfinite(gap).all() or (gap < 0).any():
        return ["a code is not finite, or a gap is negative or not finite"]
    found = []
    if not np.array_equal(converged, gap <= tol):
        found.append("converged is not gap <= tol")
    S = None if result.residual is None else dense(result.residual)
    if (S is None) != (huber is None):
        found.append("there is a residual without huber, or none with it")
    min_relative_alpha = MIN_RELATIVE_ALPHA if huber is None and not np.isnan(X).any() else 0.0
    for i, (x, b) in enumerate(zip(X, codes, strict=True)):
        if alpha == 0:
            true_gap, certificate = least_squares_gap(x, components, b, dtype), None
        else:
            certificate = group_lasso_certificate(x, components, b, alpha, huber, min_relative_alpha)
            true_gap = certificate.gap
        if true_gap > gap[i] * (1 + 1e-6) + ROUNDING:
            found.append(f"row {i}: its gap is {true_gap:.3g}, it says {gap[i]:.3g}")
        if certificate is not None:
            # The groups are orthonormal only up to rounding.
            if certificate.kkt > 1.001 * np.sqrt(2 * gap[i] + ROUNDING) + 10 * np.finfo(dtype).eps:
                found.append(f"row {i}: violates the KKT conditions by {certificate.kkt:.3g}, gap {gap[i]:.3g}")
            if certificate.primal > certificate.primal_at_zero * (1 + 1e-6) + ROUNDING:
                found.append(f"row {i}: worse than the zero code")
        if S is not None:
            found += [f"row {i}: {message}" for message in _residual_violations(x, components, b, S[i], huber)]
    return found


def _residual_violations(x, components, b, s, huber):
    """S must be what is left of the error when it is clipped to mu, up to rounding."""
    missing = np.isnan(x)
    if s[missing].any():
        yield "the residual of a missing entry is not zero"
    eps = np.finfo(x.dtype).eps
    error = np.where(missing, 0, x).astype(EXACT) - b.astype(EXACT) @ np.vstack(components).astype(EXACT)
    expected = np.where(missing, 0, error - np.clip(error, -huber, huber))
    slack = 4 * eps * np.abs(expected) + 1e-13 * (np.nanmax(np.abs(x), initial=0) + np.abs(b).sum())
    if (np.abs(s - expected) > slack + np.finfo(x.dtype).tiny).any():
        yield f"the residual is off by {np.abs(s - expected).max():.3g}"


@dataclass(frozen=True)
class GroupLassoProblem:
    """Arguments of :func:`sdgs.group_lasso`."""

    X: Any
    components: list
    alpha: float
    huber: float | None
    tol: float

    def solve(self, convert=lambda X: X):
        """The result; a row that has not converged must give a warning, and only that."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = group_lasso(convert(self.X), self.components, self.alpha, huber=self.huber, tol=self.tol)
        assert {warning.category for warning in caught} <= {ConvergenceWarning}, [str(w.message) for w in caught]
        assert bool(caught) != bool(dense(result.converged).all())
        return result

    def violations(self, convert=lambda X: X):
        """What is wrong with the result."""
        X = dense(self.X)
        return group_lasso_violations(self.solve(convert), X, self.components, self.alpha, self.huber, self.tol)


def random_subspaces(rng, p):
    """Orthonormal bases: random ones, empty ones, some that coincide, nearly coincide or are nested."""
    components = [_basis(rng.standard_normal((rng.integers(0, min(p, 4) + 1), p))) for _ in range(rng.integers(1, 8))]
    for _ in range(rng.integers(0, 3)):
        twin = components[rng.integers(len(components))]
        kind = rng.choice(["same", "rotated", "near", "nested"])
        if kind == "rotated":
            twin = _basis(rng.standard_normal((len(twin), len(twin)))) @ twin
        elif kind == "near":
            twin = _basis(twin + 10.0 ** rng.uniform(-12, -1) * rng.standard_normal(twin.shape))
        elif kind == "nested":
            twin = twin[: rng.integers(0, len(twin) + 1)]
        components.insert(rng.integers(len(components) + 1), twin)
    return components


def _basis(rows):
    return np.linalg.qr(rows.T)[0].T


def random_problem(rng) -> GroupLassoProblem:
    """A hard group lasso: any scale and precision, subspaces that coincide, tiny and huge alpha, outliers, NaN."""
    p, n = int(rng.integers(1, 13)), int(rng.integers(1, 6))
    components = random_subspaces(rng, p)
    C = np.vstack(components)
    X = rng.standard_normal((n, p))
    for row in X:
        kind = rng.choice(["noise", "in the span", "zero", "few entries", "one large entry", "tiny beside large"])
        if kind == "in the span" and len(C):
            row[:] = rng.standard_normal(len(C)) @ C
        elif kind == "zero":
            row[:] = 0
        elif kind == "few entries":
            row[rng.random(p) < 0.7] = 0
        elif kind == "one large entry":
            row[rng.integers(p)] = 10.0 ** rng.uniform(1, 9)
        elif kind == "tiny beside large":
            row *= 10.0 ** rng.uniform(-12, 3, size=p)
    dtype = rng.choice([np.float64, np.float32])
    complete = rng.random() < 0.6
    huber = float(10.0 ** rng.uniform(-3, 1)) if rng.random() < 0.4 else None
    if not complete:
        X[rng.random(X.shape) < rng.choice([0.1, 0.5])] = np.nan
    largest = 20 if dtype == np.float32 else 140
    scale = 10.0 ** rng.choice([0, 0, 0, -largest, -9, 9, largest])
    correlations = np.nan_to_num(X) @ C.T if len(C) else np.ones((1, 1))
    alpha = 10.0 ** rng.uniform(-12, 0.5) * max(float(np.abs(correlations).max()), 1e-3)
    if complete and huber is None and rng.random() < 0.1:
        alpha = 0.0
    tol = 10.0 ** rng.uniform(-6, -3) if dtype == np.float32 else 10.0 ** rng.uniform(-10, -3)
    X = (X * scale).astype(dtype)
    form = csr_array if rng.random() < 0.3 else np.asarray
    return GroupLassoProblem(form(X), components, alpha * scale, None if huber is None else huber * scale, tol)


# --- Decomposition ----------------------------------------------------------------------------------------------------


def decomposition_violations(result, X, Y, n_components, residual_size, solver="brp", tol=1e-4) -> list[str]:
    """What is wrong with the :class:`sdgs.Decomposition` of X; ``residual_size`` is a number of entries."""
    X, Y, S = dense(X), np.asarray(dense(Y)) != 0, dense(result.residual)
    p = X.shape[1]
    eps, scale = np.finfo(X.dtype).eps, np.nanmax(np.abs(X), initial=0) or 1.0
    observed = ~np.isnan(X)
    ranks = np.broadcast_to(n_components, Y.shape[1])
    found = []
    total = np.where(observed, X, 0).astype(EXACT) / scale
    energy = float(np.square(total).sum())
    error = total.copy()
    for i, (C, U) in enumerate(zip(map(dense, result.components), map(dense, result.coefficients), strict=True)):
        omega = np.flatnonzero(Y[:, i])
        if not np.array_equal(result.rows[i], omega) or U.shape != (omega.size, len(C)) or C.shape[1:] != (p,):
            return [f"label {i} has the wrong rows or shapes"]
        if len(C) > min(ranks[i], omega.size, p):
            found.append(f"label {i} has rank {len(C)}")
        if not (np.isfinite(C).all() and np.isfinite(U).all()):
            return [f"label {i} is not finite"]
        if np.abs(C.astype(EXACT) @ C.T.astype(EXACT) - np.eye(len(C))).max(initial=0) > 100 * eps:
            found.append(f"label {i} has a basis that is not orthonormal")
        error[omega] -= (U.astype(EXACT) / scale) @ C.astype(EXACT)
    error = np.where(observed, error, 0)
    support = S != 0
    if support.sum() > residual_size or (support & ~observed).any():
        found.append(f"the residual has {support.sum()} entries, or some where X is missing")
    left = error - S.astype(EXACT) / scale
    # Rounding accumulates in the error matrix over the sweeps.
    slack = 50 * eps * (1 + result.n_iter) * np.sqrt(energy) + 1e-300
    outside = np.abs(np.where(support, 0, left)).max(initial=0)
    if residual_size and outside > np.abs(np.where(support, error, np.inf)).min(initial=np.inf) + slack:
        found.append("an entry outside the residual has a larger error than one inside")
    objective = np.asarray(result.objective, dtype=EXACT) / EXACT(scale) ** 2
    if len(objective) != result.n_iter or not np.isfinite(objective).all():
        return [*found, "the objective is not finite, or has another length than n_iter"]
    recomputed = np.sqrt(np.square(left).sum())
    if abs(recomputed - np.sqrt(objective[-1])) > slack:
        found.append(f"the error is {recomputed:.6g}, it says {float(np.sqrt(objective[-1])):.6g}")
    if solver != "brp-fresh" and (np.diff(np.sqrt(objective)) > slack).any():
        found.append(f"the objective rises: {np.diff(objective).max():.3g}")
    reached = objective[-1] <= tol * energy * (1 + 1e-5)
    stalled = result.n_iter > 1 and objective[-2] - objective[-1] <= tol * objective[-2] * (1 + 1e-5)
    if result.converged and not reached and (solver == "brp-fresh" or not stalled):
        found.append("it says that it has converged")
    return found


@dataclass(frozen=True)
class DecompositionProblem:
    """Arguments of :func:`sdgs.decompose`."""

    X: Any
    Y: Any
    n_components: Any
    residual_size: int
    solver: str
    tol: float
    max_iter: int

    def violations(self, convert=lambda X: X):
        """What is wrong with the result; it must warn if and only if it has not converged."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = {name: getattr(self, name) for name in ("n_components", "residual_size", "solver", "tol")}
            result = decompose(convert(self.X), self.Y, **options, max_iter=self.max_iter, random_state=0)
        assert {warning.category for warning in caught} <= {ConvergenceWarning}, [str(w.message) for w in caught]
        assert bool(caught) != result.converged
        return decomposition_violations(result, self.X, self.Y, **options)


def random_decomposition(rng) -> DecompositionProblem:
    """A hard decomposition: any scale and precision, empty labels, rows without labels, large offsets, NaN."""
    n, p, k = (int(rng.integers(1, high)) for high in (25, 12, 6))
    Y = rng.random((n, k)) < rng.choice([0.1, 0.4, 0.9])
    Y[rng.integers(n), rng.integers(k)] = True
    X = rng.standard_normal((n, p))
    if rng.random() < 0.3:
        X = (rng.standard_normal((n, 2)) * 10.0 ** rng.uniform(-6, 0, size=2)) @ rng.standard_normal((2, p))
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.6] = 0
    if rng.random() < 0.2:
        X += 10.0 ** rng.uniform(0, 6)
    if rng.random() < 0.2:
        X.flat[rng.integers(X.size)] = 10.0 ** rng.uniform(2, 8)
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.2] = np.nan
    dtype = rng.choice([np.float64, np.float32])
    largest = 20 if dtype == np.float32 else 140
    X = (X * 10.0 ** rng.choice([0, 0, -largest, -9, 9, largest])).astype(dtype)
    ranks = rng.integers(1, 6, size=k) if rng.random() < 0.5 else int(rng.integers(1, 6))
    return DecompositionProblem(
        X=csr_array(X) if rng.random() < 0.3 else X,
        Y=Y.astype(int),
        n_components=ranks,
        residual_size=int(rng.integers(0, n * p + 1)) if rng.random() < 0.7 else 0,
        solver=str(rng.choice(["brp", "svd", "brp-fresh"])),
        tol=float(10.0 ** rng.uniform(-8, -1)),
        max_iter=int(rng.choice([1, 5, 100])),
    )


def count_violations(make_problem, cases, seed=0):
    """How many problems there were, and what was wrong with which."""
    count, found = Counter(), []
    for case in range(cases):
        problem = make_problem(np.random.default_rng((seed, case)))
        try:
            violations = problem.violations()
        except BaseException as error:
            error.add_note(f"case {case} with seed {seed}")
            raise
        count["violated" if violations else "fine"] += 1
        found += [f"case {case}: {message}" for message in violations]
    return count, found


if __name__ == "__main__":
    arguments = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for make in (random_problem, random_decomposition):
        total, messages = count_violations(make, *arguments)
        sys.stdout.write("\n".join([f"{make.__name__}: {dict(total)}", *messages[:40], ""]))
