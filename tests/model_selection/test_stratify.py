"""Iterative stratification compared with a slow version, and the quality of folds on real labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from sdgs.model_selection import MultilabelStratifiedKFold, fold_quality
from sdgs.model_selection._stratification_kernel import assign_folds, exchange_units


def assign_slowly(Y, sizes, room, n_spare, draws):
    """Iterative stratification with full folds, as in the published pseudocode; of equal labels the first."""
    n, n_folds = len(Y), len(room)
    wanted = np.outer(Y.sum(axis=0), np.full(n_folds, 1 / n_folds))
    room, folds = np.array(room), np.full(n, -1)

    def place(row, lack):
        nonlocal n_spare
        empty = sorted(set(range(n_folds)) - set(folds))
        among = empty if empty and (folds < 0).sum() <= len(empty) else range(n_folds)
        fits = [f for f in among if room[f] >= sizes[row] - (n_spare > 0)]
        fits = fits or [f for f in among if room[f] == max(room[f] for f in among)]
        best = max((lack[f], room[f]) for f in fits)
        tied = [f for f in fits if (lack[f], room[f]) == best]
        fold = tied[int(draws[row] * len(tied))]
        n_spare -= room[fold] >= 0 and room[fold] - sizes[row] == -1
        room[fold] -= sizes[row]
        wanted[:, fold] -= Y[row]
        folds[row] = fold

    while True:
        left = (Y[folds < 0] > 0).sum(axis=0)
        if not left.any():
            break
        label = np.argmin(np.where(left > 0, left, n + 1))
        for row in np.flatnonzero((folds < 0) & (Y[:, label] > 0)):
            place(row, wanted[label])
    for row in np.flatnonzero(folds < 0):
        place(row, np.zeros(n_folds))
    return folds, wanted


def kernel_arguments(Y):
    rows, columns = csr_array(Y), csr_array(Y).tocsc()
    of_units = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64)
    return of_units, (columns.indptr.astype(np.int64), columns.indices.astype(np.int64))


@settings(deadline=None)
@given(data=st.data())
def test_assignment_agrees_with_the_slow_version(data):
    n, k, n_folds = data.draw(st.tuples(st.integers(1, 30), st.integers(1, 6), st.integers(2, 5)))
    sizes = data.draw(arrays(np.int64, n, elements=st.integers(1, 3) if data.draw(st.booleans()) else st.just(1)))
    Y = np.minimum(data.draw(arrays(np.int64, (n, k), elements=st.sampled_from([0, 0, 1, 3]))), sizes[:, None])
    draws = data.draw(arrays(np.float64, n, elements=st.floats(0, 1, exclude_max=True)))
    size, n_spare = divmod(int(sizes.sum()), n_folds)
    of_units, of_labels = kernel_arguments(Y)
    folds, wanted = np.full(n, -1), np.outer(Y.sum(axis=0), np.full(n_folds, 1 / n_folds))
    room = np.full(n_folds, size)
    assign_folds(*of_units, *of_labels, sizes, wanted, room, n_spare, draws, folds)
    expected_folds, expected_wanted = assign_slowly(Y, sizes, np.full(n_folds, size), n_spare, draws)
    assert np.array_equal(folds, expected_folds)
    np.testing.assert_allclose(wanted, expected_wanted, atol=1e-12)


@settings(deadline=None)
@given(data=st.data())
def test_exchanges_lower_the_objective(data):
    n, k, n_folds = data.draw(st.tuples(st.integers(2, 30), st.integers(1, 6), st.integers(2, 4)))
    Y = data.draw(arrays(np.int64, (n, k), elements=st.integers(0, 2)))
    sizes = data.draw(arrays(np.int64, n, elements=st.integers(1, data.draw(st.integers(1, 2)))))
    folds = data.draw(arrays(np.int64, n, elements=st.integers(0, n_folds - 1)))
    weights = data.draw(arrays(np.float64, k, elements=st.floats(0.1, 1)))
    partners = data.draw(arrays(np.int64, n, elements=st.integers(0, n - 1)))

    def lacking(counts, of):
        return np.stack([counts.sum(axis=0) // n_folds - counts[of == f].sum(axis=0) for f in range(n_folds)], axis=-1)

    def objective(of):
        return (weights[:, None] * lacking(Y, of) ** 2).sum() + 0.7 * (lacking(sizes, of) ** 2).sum()

    before, wanted, room = folds.copy(), lacking(Y, folds).astype(float), lacking(sizes, folds)
    count = exchange_units(*kernel_arguments(Y)[0], sizes, weights, 0.7, partners, wanted, room, folds)
    np.testing.assert_allclose(wanted, lacking(Y, folds), atol=1e-9)
    assert np.array_equal(room, lacking(sizes, folds))
    assert (objective(folds) < objective(before)) == (count > 0)
    assert (count > 0) == (not np.array_equal(before, folds))
    if sizes.max() == 1:
        assert np.array_equal(np.bincount(folds, minlength=n_folds), np.bincount(before, minlength=n_folds))


def test_fold_quality_agrees_with_its_definitions():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 5)) < [0.5, 0.3, 0.1, 0.05, 0.0]).astype(int)
    folds = rng.integers(3, size=60)
    differences, lacks = [], np.zeros((3, 5), dtype=bool)
    for j in range(4):
        odds = Y[:, j].sum() / (1 - Y[:, j]).sum()
        for f in range(3):
            own = Y[folds == f, j]
            differences.append(abs(own.sum() / (1 - own).sum() - odds))
            lacks[f, j] = not own.any()
    quality = fold_quality(csr_array(Y), [np.flatnonzero(folds == f) for f in range(3)])
    assert quality.label_distribution == pytest.approx(np.mean(differences))
    assert quality.fold_size == pytest.approx(np.abs(np.bincount(folds) - 20).mean())
    assert (quality.folds_lacking_labels, quality.labels_lacking_in_folds) == (lacks.any(1).sum(), lacks.any(0).sum())
    with pytest.raises(ValueError, match="at least one fold"):
        fold_quality(Y, [])


def test_folds_of_many_samples_are_as_equal_as_possible():
    rng = np.random.default_rng(0)
    Y = csr_array(rng.random((20_000, 30)) < 0.3 / np.arange(1, 31))
    splits = MultilabelStratifiedKFold(5, random_state=0).split(Y, Y)
    counts = np.array([Y[test].sum(axis=0) for _, test in splits])
    assert (counts.max(axis=0) - counts.min(axis=0)).max() <= 1
