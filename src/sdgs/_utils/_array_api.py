"""Arrays of other libraries, such as those on a GPU: to the host and back, and functions that the standard lacks.

scikit-learn passes them on under ``config_context(array_api_dispatch=True)``, and converts them to NumPy arrays
otherwise. So the validated X decides where to compute, and everything else follows the arrays it gets.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

import array_api_compat.numpy
import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_cupy_array, is_torch_array
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn import get_config

_NUMPY_TYPES = (np.ndarray, np.generic)


def namespace(X: Any) -> Any:
    """The functions for arrays such as ``X``, as the array API standard names them."""
    if on_host(X):
        return array_api_compat.numpy
    return array_namespace(X)


def on_host(X: Any) -> bool:
    """Whether ``X`` is an array of NumPy or SciPy."""
    return isinstance(X, _NUMPY_TYPES) or issparse(X)


def is_dispatched(X: Any) -> bool:
    """Whether ``X`` is an array of another library, and the user has enabled array API dispatch."""
    if on_host(X) or not get_config()["array_api_dispatch"]:
        return False
    try:
        array_namespace(X)
    except TypeError:  # a list, a DataFrame
        return False
    return True


def detach(X: Any) -> Any:
    """``X`` without torch's gradients, for which every step of training would be stored."""
    return X.detach() if is_torch_array(X) else X


def to_host(X: Any) -> NDArray[Any]:
    """``X`` as a NumPy array."""
    if on_host(X):
        return X  # type: ignore[no-any-return]
    if is_torch_array(X):
        return np.asarray(X.detach().cpu().numpy())
    if is_cupy_array(X):
        return X.get()  # type: ignore[no-any-return]
    try:
        return np.asarray(X)
    except (RuntimeError, TypeError, ValueError):
        return np.from_dlpack(X, device="cpu")


def to_device_of(array: Any, X: Any) -> Any:
    """``array``, of NumPy or already on the device of ``X``, as an array of the library and on the device of ``X``."""
    if on_host(X) or not on_host(array):
        return array
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return namespace(X).asarray(native, device=device(X))


def take(X: Any, indices: Any, axis: int = 0) -> Any:
    """Entries or rows of an array at some indices, none of which is negative.

    array-api-compat checks for negative indices, which takes torch longer than the selection itself.
    """
    if isinstance(X, np.ndarray):
        return X.take(indices, axis=axis)
    if is_torch_array(X):
        return X.index_select(axis, indices)
    return namespace(X).take(X, indices, axis=axis)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of ``X``."""
    return take(X, to_device_of(rows, X)) if is_array_api_obj(X) and not on_host(X) else X[rows]


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return special.expit(x) if on_host(x) else 0.5 * (1 + namespace(x).tanh(0.5 * x))


def solve_triangular(L: Any, B: Any, *, transposed: bool = False) -> Any:
    """L^-1 B for a lower triangular matrix with zeros above the diagonal; ``transposed``: L^-T B."""
    xp = namespace(L)
    factor = xp.matrix_transpose(L) if transposed else L
    if is_torch_array(L):
        import torch

        return torch.linalg.solve_triangular(factor, B, upper=transposed)
    return xp.linalg.solve(factor, B)


def put(X: Any, indices: Any, values: Any) -> Any:
    """``X`` (n,) or (n, m) with new values at some indices of the first axis; in place if the library allows it.

    An index that occurs twice must have the same value both times.
    """
    if isinstance(X, np.ndarray):
        X[indices] = values
        return X
    if is_torch_array(X):
        return X.index_copy_(0, indices, values)
    if _is_writable(X):
        X[indices] = values
        return X
    changed = to_host(X).copy()
    changed[to_host(indices)] = to_host(values)
    return to_device_of(changed, X)


def copy_into(target: Any, values: Any) -> Any:
    """``values``, in the memory of ``target`` if the library allows it."""
    if _is_writable(target):
        target[...] = values
        return target
    return values


def _is_writable(X: Any) -> bool:
    return on_host(X) or is_torch_array(X) or is_cupy_array(X)


class CudaGraphRunner:
    """Repeats the same work on the same memory; with torch on a CUDA device all of it is launched at once.

    A launch from Python takes longer than a small product. The second call records the work as a CUDA graph, because
    during the first one libraries load what they need, which cannot be recorded.
    """

    def __init__(self, X: Any) -> None:
        self._device = X.device if is_torch_array(X) and X.is_cuda else None
        self._was_called = False
        self._graph: Any = None

    def __call__(self, work: Callable[[], None]) -> None:
        """Do ``work``, which is not referenced afterwards."""
        if self._device is not None and self._was_called and self._graph is None:
            self._graph = _record_graph(work, self._device)
            if self._graph is None:
                self._device = None
        if self._graph is not None:
            self._graph.replay()
        else:
            work()
        self._was_called = True


_RECORDING = Lock()  # torch records one graph at a time


def _record_graph(work: Callable[[], None], device: Any) -> Any:
    """A CUDA graph of the work, or None if it cannot be recorded; nothing is computed yet."""
    import torch

    cuda: Any = torch.cuda
    graph = cuda.CUDAGraph()
    # The stream is one of the arrays' device, because torch's default is of the device that was current at its first
    # recording. The outer context is needed because torch does not leave the stream of a recording that failed.
    with _RECORDING, cuda.stream(cuda.current_stream(device)):
        try:
            with cuda.graph(graph, stream=cuda.Stream(device), capture_error_mode="thread_local"):
                work()
        except RuntimeError:
            return None
    return graph
