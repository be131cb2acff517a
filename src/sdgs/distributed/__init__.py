"""Training and prediction on Dask arrays. Imported when the first one comes in; needs the extra ``sdgs[dask]``.

Implements :class:`sdgs._utils._array_backends.ArrayBackend`.
"""

from sdgs.distributed._dask_samples import check_samples
from sdgs.distributed._distributed_decompose import check_decomposable, decompose
from sdgs.distributed._lost_workers import WorkerLostError
from sdgs.distributed._map_method import map_method

__all__ = ["WorkerLostError", "check_decomposable", "check_samples", "decompose", "map_method"]
