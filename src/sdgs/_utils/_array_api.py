"""Arrays of other libraries than NumPy, such as those on a GPU: to the host and back, and what the standard leaves out.

scikit-learn hands them on as they are under ``config_context(array_api_dispatch=True)``, and turns them into NumPy's
otherwise. So what comes through the door says where to compute: the rest follows the arrays it is given.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_cupy_array, is_torch_array
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn import get_config


def namespace(X: Any) -> Any:
    """The functions for arrays such as ``X``, as the array API standard names them."""
    if on_host(X):
        import array_api_compat.numpy as xp

        return xp
    return array_namespace(X)


def on_host(X: Any) -> bool:
    """Whether ``X`` is NumPy's or SciPy's."""
    return isinstance(X, np.ndarray | np.generic) or issparse(X)


def is_dispatched(X: Any) -> bool:
    """Whether ``X`` is an array of another library, and the user asked that it be computed with there."""
    if on_host(X) or not get_config()["array_api_dispatch"]:
        return False
    try:
        array_namespace(X)
    except TypeError:  # a list, a DataFrame
        return False
    return True


def detach(X: Any) -> Any:
    """``X`` itself, but for torch's gradients: every step of training would be kept for them."""
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
    """``array``, of NumPy or where ``X`` is, as one of the library and on the device of ``X``."""
    if on_host(X) or not on_host(array):
        return array
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return namespace(X).asarray(native, device=device(X))


def take(X: Any, places: Any, axis: int = 0) -> Any:
    """Entries or rows of an array at some places, none of which is negative.

    That is not assumed by array-api-compat: to look for negative ones takes torch longer than to take.
    """
    if is_torch_array(X):
        return X.index_select(axis, places)
    return namespace(X).take(X, places, axis=axis)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of ``X``."""
    return take(X, to_device_of(rows, X)) if is_array_api_obj(X) and not on_host(X) else X[rows]


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return special.expit(x) if on_host(x) else 0.5 * (1 + namespace(x).tanh(0.5 * x))


def put(flat: Any, places: Any, values: Any) -> Any:
    """``flat`` (size,) or (size, m) with new values at some places; in place where it can be.

    A place is named once, or always with the same value.
    """
    if is_torch_array(flat):
        return flat.index_copy_(0, places, values)
    if _in_place(flat):
        flat[places] = values
        return flat
    changed = to_host(flat).copy()
    changed[to_host(places)] = to_host(values)
    return to_device_of(changed, flat)


def copy_into(target: Any, values: Any) -> Any:
    """``values``, in the memory of ``target`` where that can be."""
    if _in_place(target):
        target[...] = values
        return target
    return values


def _in_place(X: Any) -> bool:
    return on_host(X) or is_torch_array(X) or is_cupy_array(X)


class CudaGraphRunner:
    """Does work that is the same every time, on the same memory: on a CUDA device of torch it is launched in one go.

    A launch from Python takes longer than a small product. The second time the work is recorded as a CUDA graph, for
    the first time libraries load what they need, which cannot be recorded.
    """

    def __init__(self, X: Any) -> None:
        self._device = X.device if is_torch_array(X) and X.is_cuda else None
        self._done_before = False
        self._graph: Any = None

    def __call__(self, work: Callable[[], None]) -> None:
        """Do ``work``, which is not kept."""
        if self._device is not None and self._done_before and self._graph is None:
            self._graph = _recorded(work, self._device)
            if self._graph is None:
                self._device = None
        if self._graph is not None:
            self._graph.replay()
        else:
            work()
        self._done_before = True


_RECORDING = Lock()  # torch records one at a time


def _recorded(work: Callable[[], None], device: Any) -> Any:
    """A CUDA graph, or None where a library does what cannot be recorded; nothing is computed yet."""
    import torch

    cuda: Any = torch.cuda
    graph = cuda.CUDAGraph()
    # A stream of the device of the arrays: torch's own is of that which was current when it recorded first. And the
    # context around it, for torch does not leave the stream of a record that failed.
    with _RECORDING, cuda.stream(cuda.current_stream(device)):
        try:
            with cuda.graph(graph, stream=cuda.Stream(device), capture_error_mode="thread_local"):
                work()
        except RuntimeError:
            return None
    return graph
