import warnings

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from certificates import count_violations, group_lasso_certificate, group_lasso_violations, random_problem
from reference import certificate, group_lasso_by_proximal_gradient, objective
from sdgs import group_lasso
from sdgs.coding import group_norms
from sdgs.coding._coding_problem import CodingProblem, Dictionary
from sdgs.coding._group_lasso import code_samples, stack_components
from sdgs.coding.compiled import _squared_loss
from sdgs.coding.compiled._host_coder import code_on_host
from sdgs.coding.compiled._squared_loss import solve_by_gram


def code_without_gram(X, components, alpha, tol=1e-6, max_iter=2000):
    """:func:`group_lasso` for a dictionary whose Gram matrix would be too large."""
    groups = np.cumsum([0, *(len(C) for C in components)])
    dictionary = Dictionary(np.vstack(components).astype(X.dtype), groups)
    problem = CodingProblem(dictionary, alpha, None, False, tol, max_iter)
    return code_on_host(X, problem, max_gram_size=0)


def alpha_max(x, components):
    return max(np.linalg.norm(C @ x) for C in components if len(C))


@pytest.mark.slow
@pytest.mark.parametrize(("k", "r", "p"), [(4, 3, 40), (8, 3, 30), (12, 2, 15), (5, 1, 20)])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_agrees_with_a_slow_reference(subspaces, k, r, p, share):
    components = subspaces(k, r, p)
    X = np.random.default_rng(1).standard_normal((4, p))
    for x in X:
        alpha = share * alpha_max(x, components)
        result = group_lasso([x], components, alpha, tol=1e-9)
        slow = group_lasso_by_proximal_gradient(x, components, alpha)
        value = objective(x, components, result.codes.toarray()[0], alpha)
        assert value == pytest.approx(objective(x, components, slow, alpha), rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_skglm(subspaces):
    from skglm import GroupLasso

    components = subspaces(6, 3, 25)
    C = np.vstack(components)
    X = np.random.default_rng(2).standard_normal((5, 25))
    for x in X:
        alpha = 0.3 * alpha_max(x, components)
        # The objective of skglm is ||y - X w||^2 / (2 n_samples) + alpha * penalty; its samples are our features.
        theirs = GroupLasso(groups=3, alpha=alpha / x.size, fit_intercept=False, tol=1e-12, max_iter=200).fit(C.T, x)
        ours = group_lasso([x], components, alpha).codes.toarray()[0]
        assert objective(x, components, ours, alpha) == pytest.approx(
            objective(x, components, theirs.coef_, alpha), rel=1e-6
        )


def test_groups_of_one_row_give_the_lasso(subspaces):
    components = subspaces(20, 1, 12)
    C = np.vstack(components)
    for x in np.random.default_rng(3).standard_normal((5, 12)):
        lasso = Lasso(alpha=0.2 / x.size, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(C.T, x)
        ours = group_lasso([x], components, 0.2, tol=1e-10).codes.toarray()[0]
        np.testing.assert_allclose(ours, lasso.coef_, atol=1e-4)
        assert np.count_nonzero(ours) < 20


def test_orthogonal_groups_have_a_closed_form():
    axes = np.eye(6)
    X = np.array([[3.0, 4.0, 0.5, 0.0, 1.0, 0.0]])
    codes = group_lasso(X, [axes[:2], axes[2:3], axes[3:]], 0.7).codes.toarray()
    expected = [(1 - 0.7 / 5) * 3, (1 - 0.7 / 5) * 4, 0, 0, 0.3, 0]
    np.testing.assert_allclose(codes[0], expected, atol=1e-12)


@st.composite
def problems(draw):
    p = draw(st.integers(1, 12))
    sizes = draw(st.lists(st.integers(0, min(p, 4)), min_size=1, max_size=9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    components = [np.linalg.qr(rng.standard_normal((p, r)))[0].T for r in sizes]
    if draw(st.booleans()):  # the same subspace twice, in another basis
        twin = components[rng.integers(len(components))]
        components.append(np.linalg.qr(rng.standard_normal((len(twin), len(twin))))[0] @ twin)
    if draw(st.booleans()):  # nearly the same subspace
        twin = components[0]
        components.append(np.linalg.qr((twin + 1e-4 * rng.standard_normal(twin.shape)).T)[0].T)
    X = rng.standard_normal((5, p))
    X[4] = 0
    if draw(st.booleans()):
        X[0] = X[0] @ np.vstack(components).T @ np.vstack(components)  # exactly in the span
    return X, components


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(
    problem=problems(),
    share=st.sampled_from([1e-3, 0.02, 0.1, 0.3, 0.7, 0.99]),
    exponent=st.sampled_from([-150, -20, 0, 20, 150]),
    code=st.sampled_from([group_lasso, code_without_gram]),
)
def test_every_row_is_certified(problem, share, exponent, code):
    X, components = problem
    if not any(len(C) and np.any(X @ C.T) for C in components):
        return
    alpha = share * max(alpha_max(x, components) for x in X if any(len(C) for C in components))
    scale = 10.0**exponent
    result = code(X * scale, components, alpha * scale)
    codes = result.codes.toarray() / scale
    assert result.converged.all()
    for x, b, gap in zip(X, codes, result.gap, strict=True):
        recomputed, excess, slack = certificate(x, components, b, alpha)
        assert gap <= 1e-6
        assert recomputed <= 1e-6 + 1e-9
        # The objective is strongly convex in the error, so a gap g bounds how far off that can be: sqrt(g) ||x||.
        assert excess <= 1.001e-3 * np.linalg.norm(x)
        assert slack <= 1.001e-6 * (0.5 * x @ x) + 1e-12


@pytest.mark.parametrize("seed", [7, 11, 23])
def test_many_groups_that_nearly_share_a_space(seed):
    # The Newton step is then so inaccurate that only the careful one descends.
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((8, 10))
    sizes = rng.integers(6, 9, size=12)
    bases = [rng.standard_normal((r, 8)) @ shared + 0.01 * rng.standard_normal((r, 10)) for r in sizes]
    X = rng.standard_normal((20, 8)) @ shared
    result = group_lasso(X / np.linalg.norm(X, axis=1, keepdims=True), [np.linalg.qr(B.T)[0].T for B in bases], 0.12)
    assert result.converged.all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_first_of_two_equal_subspaces_gets_the_code(subspaces, dtype):
    """For all samples, although rounding differs between them."""
    rng = np.random.default_rng(0)
    first, other = subspaces(2, 3, 30)
    twin = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ first
    X = rng.standard_normal((200, 3)) @ first + 0.1 * rng.standard_normal((200, 30))
    norms = group_lasso(X.astype(dtype), [first, twin, other], 0.2, tol=1e-5).l1_norms()
    assert (norms[:, 0] > 0).sum() > 150
    assert norms[:, 1].max() < 1e-3 * norms[:, 0].max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_codes_without_the_gram_matrix(subspaces, monkeypatch, dtype, form):
    """With more groups than fit into the first working set of a row."""
    components = [C.astype(dtype) for C in subspaces(60, 2, 40)]
    X = np.random.default_rng(4).standard_normal((30, 40)).astype(dtype)
    expected = group_lasso(form(X), components, 0.5, tol=1e-6)
    gram_sizes = []
    monkeypatch.setattr(
        _squared_loss, "solve_by_gram", lambda c, G, *args: gram_sizes.append(len(G)) or solve_by_gram(c, G, *args)
    )
    result = code_without_gram(form(X), components, 0.5, tol=1e-6)
    assert result.converged.all()
    assert max(gram_sizes) < 120
    assert result.codes.dtype == dtype
    assert (np.diff(result.codes.indptr) > 32).any()
    for x, b, b_expected in zip(X, result.codes.toarray(), expected.codes.toarray(), strict=True):
        assert objective(x, components, b, 0.5) == pytest.approx(objective(x, components, b_expected, 0.5), rel=1e-5)


def test_too_few_iterations_without_the_gram_matrix(subspaces):
    X = np.random.default_rng(4).standard_normal((5, 20))
    result = code_without_gram(X, subspaces(40, 2, 20), 0.01, tol=1e-10, max_iter=3)
    assert not result.converged.any()
    assert (result.n_iter <= 4).all()


def test_tiny_alpha(subspaces):
    components = subspaces(3, 2, 20)
    X = np.random.default_rng(0).standard_normal((4, 20))
    expected = group_lasso(X, components, 0).codes.toarray()
    for alpha in (1e-12, 1e-17, 1e-300):
        result = group_lasso(X, components, alpha)
        assert result.converged.all()
        np.testing.assert_allclose(result.codes.toarray(), expected, atol=1e-2)


@pytest.mark.slow
def test_any_joblib_backend_gives_the_same(subspaces):
    components = subspaces(4, 2, 10)
    X = np.random.default_rng(0).standard_normal((3000, 10))
    expected = group_lasso(X, components, 0.3).codes.toarray()
    for backend in ("threading", "loky", "multiprocessing"):
        with joblib.parallel_config(backend, n_jobs=2):
            np.testing.assert_allclose(group_lasso(X, components, 0.3).codes.toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("excess", [1.0, 1.0 + 1e-12, 2.0, 1e300])
def test_from_alpha_max_on_the_code_is_exactly_zero(subspaces, excess):
    components = subspaces(5, 2, 10)
    x = np.random.default_rng(0).standard_normal(10)
    result = group_lasso([x], components, alpha_max(x, components) * excess * (1 + 1e-15))
    assert result.codes.nnz == 0
    assert result.gap[0] == 0
    assert group_lasso([x], components, alpha_max(x, components) * 0.99).codes.nnz > 0


def test_scaling_sample_and_alpha_scales_the_code(subspaces):
    components = subspaces(5, 2, 10)
    X = np.random.default_rng(0).standard_normal((6, 10))
    expected = group_lasso(X, components, 0.5, tol=1e-12).codes.toarray()
    for scale in (1e-150, 1e-9, 3.0, 1e9, 1e150):
        codes = group_lasso(X * scale, components, 0.5 * scale, tol=1e-12).codes.toarray()
        np.testing.assert_allclose(codes / scale, expected, atol=1e-6)


def test_alpha_zero_is_least_squares(subspaces):
    components = subspaces(3, 2, 20)
    X = np.random.default_rng(0).standard_normal((4, 20))
    result = group_lasso(X, components, 0)
    expected = np.linalg.lstsq(np.vstack(components).T, X.T, rcond=None)[0].T
    np.testing.assert_allclose(result.codes.toarray(), expected, atol=1e-10)
    assert result.converged.all()
    wide = group_lasso(X, subspaces(20, 2, 20), 0)  # more directions than features
    np.testing.assert_allclose(wide.codes.toarray() @ np.vstack(subspaces(20, 2, 20)), X, atol=1e-10)


def test_equal_subspaces_and_empty_groups(subspaces):
    components = subspaces(4, 3, 12)
    X = np.random.default_rng(0).standard_normal((10, 12))
    plain = group_lasso(X, components, 0.4)
    none = np.zeros((0, 12))
    padded = group_lasso(X, [none, *components[:2], none, none, *components[2:], none], 0.4)
    np.testing.assert_array_equal(padded.codes.toarray(), plain.codes.toarray())
    np.testing.assert_array_equal(padded.groups, [0, 0, 3, 6, 6, 6, 9, 12, 12])
    np.testing.assert_array_equal(padded.l1_norms()[:, [1, 2, 5, 6]], plain.l1_norms())
    assert not padded.l1_norms()[:, [0, 3, 4, 7]].any()
    twins = group_lasso(X, [*components, components[0]], 0.4)
    for x, one, two in zip(X, plain.codes.toarray(), twins.codes.toarray(), strict=True):
        assert objective(x, [*components, components[0]], two, 0.4) == pytest.approx(
            objective(x, components, one, 0.4), rel=1e-5
        )
    only_empty = group_lasso(X, [none, none], 0.4)
    assert only_empty.codes.shape == (10, 0)
    assert only_empty.converged.all()
    assert only_empty.l1_norms().shape == (10, 2)


def test_a_working_set_larger_than_the_first_workspace(subspaces):
    components = subspaces(300, 2, 400)
    x = sum(C[0] for C in components)
    result = group_lasso([x, -x], components, 0.01)
    assert result.converged.all()
    assert np.count_nonzero(result.l1_norms()[0]) > 128
    np.testing.assert_allclose(result.codes.toarray()[0], -result.codes.toarray()[1], atol=1e-3)


def test_rows_do_not_depend_on_their_neighbours_or_on_threads(subspaces):
    components = subspaces(10, 2, 15)
    X = np.random.default_rng(0).standard_normal((2500, 15))
    one = group_lasso(X, components, 0.3, n_jobs=1)
    two = group_lasso(X, components, 0.3, n_jobs=2)
    np.testing.assert_allclose(one.codes.toarray(), two.codes.toarray(), atol=1e-12)
    for row in (0, 1023, 1024, 2499):
        alone = group_lasso(X[[row]], components, 0.3)
        np.testing.assert_allclose(alone.codes.toarray()[0], one.codes.toarray()[row], atol=1e-9)


@pytest.mark.parametrize("convert", [csr_array, csr_matrix, csc_array, np.asfortranarray, lambda X: X.tolist()])
def test_the_form_of_the_input_does_not_matter(subspaces, convert):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 15)) * (rng.uniform(size=(30, 15)) < 0.4)
    components = subspaces(6, 2, 15)
    expected = group_lasso(X, components, 0.3).codes.toarray()
    np.testing.assert_allclose(group_lasso(convert(X), components, 0.3).codes.toarray(), expected, atol=1e-10)


def test_float32_stays_float32(subspaces):
    components = subspaces(10, 2, 15)
    X = np.random.default_rng(0).standard_normal((50, 15))
    result = group_lasso(X.astype(np.float32), components, 0.3, tol=1e-5)
    assert result.codes.dtype == np.float32
    for x, b in zip(X, result.codes.toarray().astype(float), strict=True):
        assert certificate(x, components, b, 0.3)[0] <= 2e-5


def test_too_few_iterations_are_reported(subspaces):
    components = subspaces(30, 3, 20)
    X = np.random.default_rng(0).standard_normal((5, 20))
    with pytest.warns(ConvergenceWarning, match="5 of 5 rows did not reach"):
        result = group_lasso(X, components, 0.01, tol=1e-12, max_iter=1)
    assert not result.converged.any()
    assert (result.n_iter == 1).all()
    for x, b, gap in zip(X, result.codes.toarray(), result.gap, strict=True):
        assert gap == pytest.approx(certificate(x, components, b, 0.01)[0], rel=1e-3)


def test_norms_per_label(subspaces):
    components = [*subspaces(3, 2, 9), np.zeros((0, 9)), *subspaces(1, 4, 9, seed=5)]
    X = np.random.default_rng(0).standard_normal((20, 9))
    result = group_lasso(X, components, 0.2)
    codes = result.codes.toarray()
    for i in range(5):
        start, stop = result.groups[i], result.groups[i + 1]
        np.testing.assert_allclose(result.l1_norms()[:, i], np.abs(codes[:, start:stop]).sum(axis=1))
        np.testing.assert_allclose(group_norms(result).toarray()[:, i], np.linalg.norm(codes[:, start:stop], axis=1))


def test_euclidean_norms_of_large_and_small_float32_numbers(subspaces):
    components = subspaces(3, 2, 9)
    X = np.random.default_rng(0).standard_normal((20, 9)).astype(np.float32)
    expected = group_norms(group_lasso(X, components, 0.1, tol=1e-5)).toarray()
    for scale in (2.0**100, 2.0**-100):  # squares of float32 would be infinite, and zero
        result = group_lasso(X * np.float32(scale), components, 0.1 * scale, tol=1e-5)
        np.testing.assert_allclose(group_norms(result).toarray() / scale, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("huber", [None, 10.0])
def test_a_label_just_above_alpha_beside_one_just_below_is_selected(huber):
    x = np.array([0.5 * (1 - 1e-6), 0.5 * (1 + 5e-6), 0.3])
    result = group_lasso([x], list(np.eye(3)[:, None]), 0.5, huber=huber, tol=1e-13)
    assert result.converged[0]
    np.testing.assert_allclose(result.codes.toarray(), [[0, 2.5e-6, 0]], rtol=1e-6)


@pytest.mark.parametrize("angle", [1e-10, 1e-9, 3e-9, 1e-8, 3e-8, 1e-6])
@pytest.mark.parametrize("alpha", [1e-12, 1e-11, 1e-10, 1e-9])
@pytest.mark.parametrize("code", [group_lasso, code_without_gram])
def test_subspaces_that_all_but_coincide_do_not_diverge(angle, alpha, code):
    """Rounding then exceeds alpha: the code is finite, no worse than the zero code, and its gap is what it says."""
    X, components = np.array([[0.6, 0.8], [0.8, -0.6]]), [[[1.0, 0.0]], [[np.cos(angle), np.sin(angle)]]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = code(X, components, alpha)
    assert group_lasso_violations(result, X, components, alpha) == []
    assert result.gap.max() <= 1


def test_a_gap_that_is_not_finite_counts_as_not_converged():
    problem = CodingProblem(Dictionary(np.eye(2), np.array([0, 2])), 0.1, None, False, 1e-6, 10)
    result = problem.to_group_codes(None, np.array([np.nan, np.inf, 0.0]), None, None)
    np.testing.assert_array_equal(result.converged, [False, False, True])


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("code", [group_lasso, code_without_gram])
def test_the_gap_is_that_of_the_code_after_rounding(alpha, form, code):
    """Nearly equal subspaces have large codes that cancel, which float32 cannot hold."""
    rng = np.random.default_rng(0)
    first = np.linalg.qr(rng.standard_normal((8, 2)))[0].T
    near = np.linalg.qr((first + 1e-3 * rng.standard_normal(first.shape)).T)[0].T
    components = [C.astype(np.float32) for C in (first, near)]
    X = rng.standard_normal((6, 8)).astype(np.float32)
    X[3:] *= np.float32(1e-38)  # subnormal numbers have fewer digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = code(form(X), components, alpha)
    assert group_lasso_violations(result, X, components, alpha) == []


def test_codes_of_subnormal_rows_are_certified_after_rounding(subspaces):
    X, components = np.random.default_rng(0).standard_normal((4, 10)) * 1e-318, subspaces(5, 2, 10)
    with pytest.warns(ConvergenceWarning):
        result = group_lasso(X, components, 1e-319, tol=1e-9)
    for x, b, gap in zip(X, result.codes.toarray(), result.gap, strict=True):
        assert group_lasso_certificate(x, components, b, 1e-319).gap <= 2 * gap  # norms are rounded, too


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 3e38), (np.float64, 1e308)])
def test_a_code_that_overflows_is_rejected(dtype, size):
    twins = [np.linalg.qr(np.ones((4, 1)) + shift * np.eye(4)[:, :1])[0].T for shift in (0, 1e-2)]
    with pytest.raises(ValueError, match="code overflows"):
        group_lasso(size * np.eye(4, dtype=dtype)[:1], twins, 0)


def test_no_component_at_all_and_alpha_zero():
    result = group_lasso([[1.0, 2.0], [0.0, 0.0]], [np.zeros((0, 2))], 0)
    assert result.codes.shape == (2, 0)
    assert result.converged.all()


@pytest.mark.slow
def test_random_problems_are_certified():
    # python tests/certificates.py 100000 for many more
    count, messages = count_violations(random_problem, 400)
    assert messages == []
    assert count["fine"] == 400


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mu", [None, 0.2])
@pytest.mark.parametrize("n", [1, 20, 2500])
def test_dense_codes_are_those_of_the_public_function(subspaces, dtype, mu, n):
    """Also in several blocks of rows, and with a dictionary that is used twice."""
    components = [*subspaces(3, 2, 9), np.zeros((0, 9)), *subspaces(1, 4, 9, seed=5)]
    X = np.random.default_rng(0).standard_normal((n, 9)).astype(dtype)
    dictionary = stack_components(components, dtype)
    for alpha in (0.2, 0.4):
        expected = group_lasso(X, components, alpha, huber=mu, tol=1e-5)
        result = code_samples(X, CodingProblem(dictionary, alpha, mu, mu is not None, 1e-5), None, dense=True)
        np.testing.assert_array_equal(result.codes, expected.codes.toarray())
        np.testing.assert_array_equal(result.gap, expected.gap)
        np.testing.assert_allclose(result.l1_norms(), expected.l1_norms(), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(group_norms(result), group_norms(expected).toarray(), rtol=1e-6, atol=1e-12)
        assert result.l1_norms().dtype == dtype
        assert (result.residual is None) == (mu is None)
