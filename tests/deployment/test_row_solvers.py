"""The solvers of exported files take the steps of the compiled ones: the codes agree far beyond their tolerance.

Not in degenerate problems, where rounding may decide whether a matrix is singular, and with it the next step: subspaces
that all but coincide at a tiny alpha. There both codes have the certificate, but only the objectives agree.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sdgs import group_lasso
from sdgs.deployment.predictor._decided_labels import best_expected_f1 as exported_best_expected_f1
from sdgs.deployment.predictor._pipeline_scores import Codebook
from sdgs.deployment.predictor._row_group_lasso import code_complete_rows
from sdgs.deployment.predictor._row_huber_lasso import code_by_huber_loss
from sdgs.readout._decision import best_expected_f1


def random_problem(seed, overlap):
    """Samples and subspaces of several ranks; they are the closer to each other, the larger ``overlap``."""
    rng = np.random.default_rng(seed)
    p, shared = int(rng.integers(6, 30)), rng.standard_normal(30)
    components = []
    for rank in rng.integers(0, 4, int(rng.integers(2, 12))):
        rows = rng.standard_normal((rank, p)) + overlap * shared[:p]
        components.append(np.linalg.qr(rows.T)[0].T)
    X = rng.standard_normal((3, p)) + sum(C.sum(axis=0) for C in components)
    return X, components, Codebook(np.vstack(components), np.cumsum([0, *map(len, components)]), None)


overlaps, alphas = st.sampled_from([0.0, 1.0, 10.0]), st.sampled_from([0.1, 1.0, 100.0])
seeds = st.integers(0, 500)


def relative_errors(actual, expected):
    return np.abs(actual - expected).max(axis=1, initial=0) / (np.abs(expected).max(axis=1, initial=0) + 1)


@settings(max_examples=30)
@given(seeds, overlaps, alphas)
def test_complete_rows(seed, overlap, alpha):
    X, components, codebook = random_problem(seed, overlap)
    result = group_lasso(X, components, alpha)
    codes, n_unsolved = code_complete_rows(codebook, X, alpha)
    assert relative_errors(codes, result.codes.toarray()).max() < 1e-9
    assert relative_errors(codebook.sums(np.abs(codes)), result.l1_norms()).max() < 1e-9
    assert n_unsolved == 0


@settings(max_examples=15)
@given(seeds, overlaps, alphas, st.sampled_from([None, 0.05, 1.0]))
@example(27, 10.0, 1.0, 1.0)  # the precision of a quadratic's solution is raised
@example(123, 0.0, 1.0, 1.0)  # a quadratic is damped
def test_missing_entries_and_residuals(seed, overlap, alpha, huber):
    X, components, codebook = random_problem(seed, overlap)
    X[0, 0] *= 100  # an outlier
    X[1, ::3] = X[2] = np.nan
    result = group_lasso(X, components, alpha, huber=huber)
    codes, cleaned, n_unsolved = code_by_huber_loss(codebook, X, alpha, huber)
    assert relative_errors(codes, result.codes.toarray()).max() < 1e-6
    expected = np.where(np.isnan(X), result.codes @ codebook.C, X)
    if huber is not None:
        expected = expected - result.residual.toarray()
    assert relative_errors(cleaned, expected).max() < 1e-6
    assert n_unsolved == 0


@settings(max_examples=15)
@given(seeds, st.sampled_from([10.0, 1000.0]), st.sampled_from([1e-6, 1e-3]))
def test_degenerate_problems_are_solved(seed, overlap, alpha):
    X, components, codebook = random_problem(seed, overlap)
    codes, n_unsolved = code_complete_rows(codebook, X, alpha)
    assert n_unsolved == 0
    objectives = [
        0.5 * np.square(X - b @ codebook.C).sum(axis=1) + alpha * np.sqrt(codebook.sums(b**2)).sum(axis=1)
        for b in (codes, group_lasso(X, components, alpha).codes.toarray())
    ]
    np.testing.assert_allclose(*objectives, rtol=0, atol=2e-6 * np.square(X).sum(axis=1).max())


def test_rows_that_do_not_converge_are_counted(monkeypatch):
    X, _, codebook = random_problem(0, 10.0)
    monkeypatch.setattr("sdgs.deployment.predictor._row_group_lasso.MAX_ITER", 1)
    monkeypatch.setattr("sdgs.deployment.predictor._row_huber_lasso.MAX_ITER", 1)
    assert code_complete_rows(codebook, X, 0.01)[1] == 3
    assert code_by_huber_loss(codebook, X, 0.01, 0.1)[2] == 3


@pytest.mark.parametrize("allow_empty", [False, True])
def test_best_expected_f1(allow_empty):
    rng = np.random.default_rng(0)
    for power in (0.1, 1, 5, 400, 5000):
        P = rng.random((50, 7)) ** power
        expected = best_expected_f1(P, allow_empty=allow_empty)
        np.testing.assert_array_equal(exported_best_expected_f1(P, allow_empty=allow_empty), expected)
