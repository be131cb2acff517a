"""The label sets with the best expected F1, compiled."""

from sdgs._utils._numba import jit_cached


@jit_cached
def write_best_expected_f1(P, allow_empty, labels):
    """Write to ``labels`` (n, k) what :func:`sdgs.readout._decision.best_expected_f1` describes, row by row."""
    n, k = P.shape
    for i in range(n):
        total, nothing, most_probable = 0.0, 1.0, 0
        for j in range(k):
            total += P[i, j]
            nothing *= 1.0 - P[i, j]
            if P[i, j] > P[i, most_probable]:
                most_probable = j
        best = 2.0 * P[i, most_probable] / (1.0 + total)
        while True:
            size, expected = 0, 0.0
            for j in range(k):
                if P[i, j] > 0.5 * best:
                    size += 1
                    expected += P[i, j]
            f1 = 2.0 * expected / max(size + total, 1.0)
            if not f1 > best:
                break
            best = f1
        is_empty = allow_empty and nothing > best
        for j in range(k):
            labels[i, j] = P[i, j] > 0.5 * best and not is_empty
        if size == 0 and not is_empty:  # all probabilities underflow
            labels[i, most_probable] = True
