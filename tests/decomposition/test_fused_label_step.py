"""The compiled label step agrees with NumPy, in Triton's interpreter and on a CUDA device."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.array_api


def make_labels(b, m, r, p, kind, seed=0):
    """R, rows with padding, U and C for labels that share no row."""
    rng = np.random.default_rng(seed)
    n = b * m + 3
    R = rng.standard_normal((n + 1, p)).astype(np.float32)
    rows = rng.permutation(n)[: b * m].reshape(b, m)
    for own in rows:
        R[own] += 3 * rng.standard_normal((m, r)) @ rng.standard_normal((r, p))
    if kind == "rank one":
        R[rows[0]] = np.outer(rng.standard_normal(m), rng.standard_normal(p))
    elif kind == "zero":
        R[rows[0]] = 0
    U = rng.standard_normal((b, m, r)).astype(np.float32)
    if kind != "full":
        U[0] = 0
    rows[-1, -1], R[n], U[-1, -1] = n, 0, 0
    C = np.linalg.qr(rng.standard_normal((b, p, r)))[0].transpose(0, 2, 1).astype(np.float32)
    return R, rows, U, np.ascontiguousarray(C)


def check(device):
    import torch

    from sdgs.decomposition.backends import _fused_label_step

    shapes = [(1, 30, 4, 50), (3, 7, 2, 20), (2, 40, 3, 1500), (1, 5, 1, 1), (2, 3, 3, 3), (1, 90, 8, 40)]
    cases = [(shape, "full") for shape in shapes] + [((2, 9, 4, 33), kind) for kind in ("rank one", "zero")]
    for shape, kind in cases:
        arrays = make_labels(*shape, kind)
        R, rows, U, C = (array.astype(np.float64) if array.dtype == np.float32 else array for array in arrays)
        N = R[rows] + U @ C
        Q = np.linalg.qr(N.transpose(0, 2, 1) @ (N @ C.transpose(0, 2, 1)))[0]
        on_device = [torch.asarray(array.copy(), device=device) for array in arrays]
        _fused_label_step.update_labels(*on_device)
        new_R, _, new_U, new_C = (array.cpu().numpy().astype(np.float64) for array in on_device)
        scale = max(np.abs(N).max(), 1)
        np.testing.assert_allclose(
            new_C @ new_C.transpose(0, 2, 1), np.eye(shape[2])[None].repeat(shape[0], 0), atol=2e-6
        )
        np.testing.assert_allclose(new_U, N @ new_C.transpose(0, 2, 1), atol=1e-5 * scale)
        np.testing.assert_allclose(new_R[rows] + new_U @ new_C, N, atol=2e-6 * scale)
        np.testing.assert_array_equal(np.delete(new_R, rows, axis=0), np.delete(R, rows, axis=0))
        determined = slice(kind != "full", None)  # other labels have directions that nothing determines
        projection = new_C @ Q
        np.testing.assert_allclose(np.linalg.svd(projection[determined])[1], 1, atol=1e-5)


def test_label_step_on_a_device():
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    check("cuda")


def test_label_step_in_the_interpreter():
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    code = "from test_fused_label_step import check; check('cpu')"
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
