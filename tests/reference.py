"""Slow, literal versions of what the library computes cleverly. They share no code with it."""

import numpy as np


def decompose_by_definition(X, Y, r, K, sweeps, weight=None):
    """Equation 5 with every L^i as a full matrix. Returns the list of L^i, S and the objective after each sweep.

    NaN is an entry that was not observed: S is free there, and does not count towards K. With a weight for each row the
    error is weighted, and an entry takes the weight of its row of K.
    """
    weight = np.ones(len(X)) if weight is None else weight
    root = np.sqrt(weight)[:, None]
    k = Y.shape[1]
    missing = np.isnan(X)
    X = np.where(missing, 0.0, X)
    card = np.maximum(Y.sum(axis=1, keepdims=True), 1)
    L = [np.where(Y[:, [i]] > 0, X / card, 0.0) for i in range(k)]
    S = np.zeros_like(X)
    objective = []
    for _ in range(sweeps):
        for i in range(k):
            rows = np.flatnonzero(Y[:, i])
            if rows.size == 0:
                continue
            target = (X - sum(L[j] for j in range(k) if j != i) - S)[rows]
            U, s, Vt = np.linalg.svd(root[rows] * target, full_matrices=False)
            L[i] = np.zeros_like(X)
            L[i][rows] = (U[:, :r] * s[:r]) @ Vt[:r] / root[rows]
        E, last = X - sum(L), (S != 0) & ~missing
        candidates = [_within_budget(np.where(missing, 0.0, E), weight, K), last]
        errors = [np.sum(weight[:, None] * np.where(chosen | missing, 0, E) ** 2) for chosen in candidates]
        best = int(errors[1] < errors[0])
        S = np.where(missing | candidates[best], E, 0.0)
        objective.append(errors[best])
    return L, S, np.array(objective)


def _within_budget(E, weight, K):
    """Where the largest entries are, until K is used up; the last one counts if at least half of it fits."""
    chosen, used = np.zeros(E.shape, dtype=bool), 0.0
    for place in np.argsort(-np.abs(E), axis=None, kind="stable"):
        cost = weight[place // E.shape[1]]
        if used + cost / 2 > K or E.flat[place] == 0:
            break
        chosen.flat[place] = True
        used += cost
    return chosen


def objective(x, components, b, alpha):
    """1/2 ||x - b C||^2 + alpha sum ||b_g|| by the definition, in the space of the features."""
    error, penalty, start = np.array(x, dtype=float), 0.0, 0
    for C in components:
        part = b[start : start + len(C)]
        error = error - part @ C
        penalty += np.linalg.norm(part)
        start += len(C)
    return 0.5 * error @ error + alpha * penalty


def certificate(x, components, b, alpha):
    """How far b is from optimal, from the error x - b C itself: (relative duality gap, excess, slack).

    Optimal means ||q_g|| <= alpha for every group (excess 0) and alpha ||b_g|| = q_g . b_g (slack 0), with
    q_g = C_g error. The slack is taken at the dual point, a multiple of the error that is feasible.
    """
    error, start = np.array(x, dtype=float), 0
    parts = []
    for C in components:
        parts.append(b[start : start + len(C)])
        error = error - parts[-1] @ C
        start += len(C)
    correlations = [C @ error for C in components]
    worst = max(np.linalg.norm(q) for q in correlations)
    # Any multiple of the error that keeps every correlation within alpha is feasible for the dual: take the best one.
    best = (x @ error) / (error @ error) if error.any() else 1.0
    scale = np.clip(best, -alpha / worst, alpha / worst) if worst > 0 else best
    dual = scale * (x @ error) - 0.5 * scale**2 * (error @ error)
    gap = objective(x, components, b, alpha) - dual
    slack = max(alpha * np.linalg.norm(part) - scale * q @ part for q, part in zip(correlations, parts, strict=True))
    return gap / (0.5 * x @ x) if x.any() else 0.0, max(worst - alpha, 0.0), slack


def huber_objective(x, components, b, alpha, mu):
    """min over s of 1/2 ||x - b C - s||^2 + alpha sum ||b_g|| + mu ||s||_1, over the entries of x that are not NaN."""
    seen = ~np.isnan(x)
    error = np.where(seen, x, 0.0)
    penalty, start = 0.0, 0
    for C in components:
        part = b[start : start + len(C)]
        error = error - part @ C
        penalty += np.linalg.norm(part)
        start += len(C)
    s = np.sign(error) * np.maximum(np.abs(error) - mu, 0)
    return np.sum(np.where(seen, 0.5 * (error - s) ** 2 + mu * np.abs(s), 0.0)) + alpha * penalty


def group_lasso_by_proximal_gradient(x, components, alpha, mu=np.inf, iterations=20_000):
    """Accelerated proximal gradient with restarts; good to many digits on small, well-conditioned problems."""
    C = np.vstack(components)
    lipschitz = np.linalg.norm(C, 2) ** 2
    bounds = np.cumsum([0, *(len(part) for part in components)])
    seen, filled = ~np.isnan(x), np.nan_to_num(x)
    b = z = np.zeros(len(C))
    t = 1.0
    for _ in range(iterations):
        step = z + np.where(seen, np.clip(filled - z @ C, -mu, mu), 0.0) @ C.T / lipschitz
        new = np.zeros_like(b)
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
            size = np.linalg.norm(step[start:stop])
            if size > alpha / lipschitz:
                new[start:stop] = (1 - alpha / lipschitz / size) * step[start:stop]
        if (z - new) @ (new - b) > 0:
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        z = new + (t - 1) / t_new * (new - b)
        b, t = new, t_new
    return b


def huber_certificate(x, components, b, alpha, mu):
    """Duality gap over half the squared norm of the clipped row, from the definitions of primal and dual."""
    seen = ~np.isnan(x)
    bound = np.where(seen, mu, 0.0)
    filled = np.nan_to_num(x)
    error = filled - b @ np.vstack(components)
    theta = np.clip(error, -bound, bound)
    worst = max(np.linalg.norm(C @ theta) for C in components if len(C))
    theta = theta * min(1.0, alpha / worst) if worst > 0 else theta
    gap = huber_objective(x, components, b, alpha, mu) - (filled @ theta - 0.5 * theta @ theta)
    return gap / (0.5 * np.sum(np.clip(filled, -bound, bound) ** 2))
