"""Decompositions of arrays of other libraries agree with those of NumPy arrays."""

import numpy as np
import pytest
from sklearn import config_context

from helpers import assert_same_subspaces, decomposition_problem
from sdgs import decompose
from sdgs._utils._array_api import to_host
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._minimise import minimise
from sdgs.decomposition._solvers import SOLVERS
from sdgs.decomposition.backends._array_api_alternation import ArrayApiAlternation
from sdgs.decomposition.backends._dense_alternation import DenseAlternation

pytestmark = pytest.mark.array_api


@pytest.fixture
def labelled():
    """Samples with spikes, some without a label, and a label without samples."""
    data = make_label_subspaces(150, 20, 7, n_components=2, noise=0.05, random_state=0)
    X, Y = data.X.copy(), data.Y.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.02] += 3
    Y[:5], Y[:, 3] = 0, 0
    return X, Y


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_decompose_is_the_same(elsewhere, labelled, solver, missing):
    X, Y = labelled
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    options = {
        "n_components": [1, 2, 3, 2, 2, 2, 9],
        "residual_size": 0.01,
        "solver": solver,
        "max_iter": 6,
        "random_state": 0,
    }
    expected = decompose(X, Y, **options)
    actual = decompose(elsewhere(X), elsewhere(Y), **options)
    assert type(actual.components[0]) is type(actual.residual) is type(elsewhere(X))
    assert_same_subspaces(expected.components, actual.components)
    np.testing.assert_allclose(actual.objective, expected.objective, rtol=1e-9)
    np.testing.assert_allclose(to_host(actual.residual), expected.residual.toarray(), atol=1e-8)
    np.testing.assert_allclose(to_host(actual.reconstruct()), expected.reconstruct(), atol=1e-8)
    np.testing.assert_allclose(to_host(actual.low_rank(1)), expected.low_rank(1), atol=1e-8)
    sample, actual_sample = expected.sample(-3), actual.sample(-3)
    np.testing.assert_array_equal(sample.labels, actual_sample.labels)
    np.testing.assert_allclose(to_host(actual_sample.parts), sample.parts, atol=1e-8)
    np.testing.assert_allclose(to_host(actual_sample.residual), sample.residual, atol=1e-8)


@pytest.mark.parametrize("gathered_bytes", [1 << 30, 20 * 8 * 7])
def test_labels_without_common_rows_are_stacked(elsewhere, labelled, gathered_bytes):
    """In one batch, in several, and with rows that are gathered in parts."""

    class SmallBlocks(ArrayApiAlternation):
        scan_entries = 256

    SmallBlocks.gathered_bytes = gathered_bytes
    X, _ = labelled
    label = np.repeat(np.arange(9), [1, 2, 3, 14, 15, 15, 30, 34, 36])
    problem = decomposition_problem(X.shape, np.eye(9)[label], 2, 0)
    expected = minimise(DenseAlternation(X, problem))
    actual = minimise(SmallBlocks(elsewhere(X), problem))
    assert_same_subspaces(expected.components, actual.components)
    np.testing.assert_allclose(actual.objective, expected.objective, rtol=1e-9)
    np.testing.assert_allclose(to_host(actual.residual), expected.residual.toarray(), atol=1e-8)


def test_float32_stays_float32(elsewhere, labelled):
    X, Y = labelled
    single = elsewhere(X.astype(np.float32))
    result = decompose(single, Y, n_components=2, random_state=0)
    assert result.components[0].dtype == result.coefficients[0].dtype == result.residual.dtype == single.dtype
    assert_same_subspaces(decompose(X, Y, n_components=2, random_state=0).components, result.components, 1e-2)


def test_a_decomposition_resumes_from_a_checkpoint(elsewhere, labelled, tmp_path, monkeypatch):
    X, Y = labelled
    options = {"n_components": 2, "random_state": 0, "checkpoint": tmp_path}
    undisturbed = decompose(elsewhere(X), Y, n_components=2, random_state=0)
    assert undisturbed.n_iter > 3
    sweep, swept = ArrayApiAlternation.sweep, []

    def interrupted(state):
        swept.append(state.sweeps)
        if len(swept) == 3:
            raise KeyboardInterrupt
        sweep(state)

    monkeypatch.setattr(ArrayApiAlternation, "sweep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        decompose(elsewhere(X), Y, **options)
    resumed = decompose(elsewhere(X), Y, **options)
    assert swept[3] > 0
    number = len(swept)
    again = decompose(elsewhere(X), Y, **options)
    assert len(swept) == number  # read, not computed
    for results in zip(undisturbed.components, resumed.components, again.components, strict=True):
        np.testing.assert_allclose(to_host(results[0]), to_host(results[1]), atol=1e-10)  # up to rounding
        np.testing.assert_array_equal(to_host(results[1]), to_host(results[2]))
    np.testing.assert_allclose(resumed.objective, undisturbed.objective, rtol=1e-12)


@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("block_size", [1 << 29, 1 << 11])
def test_sweeps_use_the_same_memory(labelled, missing, block_size):
    """A recorded CUDA graph reads and writes the addresses of the recording, whatever the block size."""
    torch = pytest.importorskip("torch")

    class Blocks(ArrayApiAlternation):
        gathered_bytes = scan_entries = block_size

    X, Y = labelled
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    problem = decomposition_problem(X.shape, Y, 2, 20)
    dense = DenseAlternation(X, problem)
    with config_context(array_api_dispatch=True):
        state = Blocks(torch.asarray(X), problem)
        addresses = []
        for number in range(5):
            dense.sweep()
            state.sweep()
            if number == 3:
                arrays = {**state.state(), **state.working_state()}
                state.restore({name: array.copy() for name, array in arrays.items()}, state.sweeps)
            np.testing.assert_allclose(state.error(), dense.error())
            arrays = [state.R, *(array for batch in state.batches for array in (batch.rows, batch.U, batch.C))]
            addresses.append([array.data_ptr() for array in arrays])
    assert all(later == addresses[0] for later in addresses)


def test_the_largest_of_many_entries(elsewhere):
    """In blocks, with more candidates than are kept."""

    class SmallBlocks(ArrayApiAlternation):
        scan_entries = 256

    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 40)), rng.random((300, 3)) < 0.4
    problem = decomposition_problem(X.shape, Y, 2, 50, tol=0.1)
    expected = minimise(DenseAlternation(X, problem))
    actual = minimise(SmallBlocks(elsewhere(X), problem))
    assert expected.residual.nnz == 50
    np.testing.assert_allclose(to_host(actual.residual), expected.residual.toarray(), atol=1e-9)


def test_gradients_are_not_tracked(labelled):
    torch = pytest.importorskip("torch")
    X, Y = labelled
    with config_context(array_api_dispatch=True):
        tracked = torch.asarray(X).requires_grad_()
        assert not decompose(tracked, Y, n_components=2, tol=0.1, random_state=0).residual.requires_grad
