"""Newton's method for the calibration of scores, compiled."""

import math

import numpy as np

from sdgs._utils._numba import jit_cached

_MAX_STEPS = 200
_MIN_LENGTH = 1e-9  # of a step that was halved
_MIN_PIVOT = 1e-14  # relative; below it a direction changes nothing


@jit_cached
def minimise_log_loss(U, Y, log_odds, n_free, penalty, max_change, theta, weights=None):
    """Minimise the log loss of labels Y (k, n), given U (k, n), plus theta^T penalty theta / 2.

    ``weights`` (k, n), if given, are those of the entries.

    The log-odds of label j are (theta_0 + theta_3 l_j) u + theta_1 + theta_2 l_j, with l = ``log_odds`` (k,). ``theta``
    (4,) holds the start, and is overwritten by the minimiser; if ``n_free`` is 3 its last entry stays. The method ends
    with a step that changes no log-odds by more than ``max_change``; the error is then about its square. Returns
    whether it has ended.

    The loss of a label is a function of two numbers, its slope and its offset. So each pass over the samples collects,
    per label, the sums of r, r u, w, w u and w u^2, with r = p - y and w = p (1 - p); gradient and Hessian follow. A
    step is halved while the derivative along it at its end is positive and larger than half of that at its start. (If
    it is still negative the step was not too long: the loss is convex.)
    """
    k, n = U.shape
    sums = np.empty((5, k))
    gradient, hessian, step, trial = np.empty(4), np.empty((4, 4)), np.zeros(4), np.empty(4)
    largest_u, largest_l = 0.0, 0.0
    for j in range(k):
        largest_l = max(largest_l, abs(log_odds[j]))
        for i in range(n):
            largest_u = max(largest_u, abs(U[j, i]))
    derivative, length = math.inf, 1.0
    for _ in range(_MAX_STEPS):
        for a in range(4):
            trial[a] = theta[a] + length * step[a]
        for j in range(k):
            slope = trial[0] + trial[3] * log_odds[j]
            offset = trial[1] + trial[2] * log_odds[j]
            sum_r = sum_ru = sum_w = sum_wu = sum_wuu = 0.0
            for i in range(n):
                u = U[j, i]
                z = slope * u + offset
                small = math.exp(-abs(z))
                likely = 1.0 / (1.0 + small)
                w = small * likely * likely
                r = (likely if z > 0.0 else small * likely) - Y[j, i]
                if weights is not None:
                    w *= weights[j, i]
                    r *= weights[j, i]
                sum_r += r
                sum_ru += r * u
                sum_w += w
                sum_wu += w * u
                sum_wuu += w * u * u
            sums[0, j], sums[1, j], sums[2, j], sums[3, j], sums[4, j] = sum_r, sum_ru, sum_w, sum_wu, sum_wuu
        # The slope of label j is theta . (1, 0, 0, l), its offset theta . (0, 1, l, 0).
        new_derivative = 0.0
        for a in range(4):
            a_is_slope = 1 if a == 0 or a == 3 else 0
            gradient[a] = 0.0
            for b in range(4):
                hessian[a, b] = penalty[a, b]
                gradient[a] += penalty[a, b] * trial[b]
            for j in range(k):
                factor = 1.0 if a < 2 else log_odds[j]
                gradient[a] += factor * sums[a_is_slope, j]
                for b in range(4):
                    b_is_slope = 1 if b == 0 or b == 3 else 0
                    hessian[a, b] += factor * (1.0 if b < 2 else log_odds[j]) * sums[2 + a_is_slope + b_is_slope, j]
            new_derivative += gradient[a] * step[a]
        if new_derivative > 0.5 * abs(derivative):
            length *= 0.5
            if length < _MIN_LENGTH:
                return False
            continue
        for a in range(4):
            theta[a] = trial[a]
        _solve_positive(hessian, gradient, n_free, step)
        derivative, length = 0.0, 1.0
        for a in range(4):
            derivative += gradient[a] * step[a]
        change = abs(step[1]) + abs(step[0]) * largest_u + (abs(step[2]) + abs(step[3]) * largest_u) * largest_l
        if change <= max_change or derivative == 0.0:
            for a in range(4):
                theta[a] += step[a]
            return True
    return False


@jit_cached
def _solve_positive(A, right, n, out):
    """Out = -A^-1 right in the leading n coordinates, by elimination; without directions in which A is zero."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, A[i, i])
        out[i] = -right[i]
    for i in range(n, 4):
        out[i] = 0.0
    for i in range(n):
        if A[i, i] > _MIN_PIVOT * largest:
            for j in range(i + 1, n):
                factor = A[j, i] / A[i, i]
                for t in range(i, n):
                    A[j, t] -= factor * A[i, t]
                out[j] -= factor * out[i]
    for i in range(n - 1, -1, -1):
        if A[i, i] > _MIN_PIVOT * largest:
            for t in range(i + 1, n):
                out[i] -= A[i, t] * out[t]
            out[i] /= A[i, i]
        else:
            out[i] = 0.0
