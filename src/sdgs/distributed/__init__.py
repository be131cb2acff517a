"""Training and prediction on Dask arrays. Imported only when there is one; needs the extra ``sdgs[dask]``."""

from sdgs.distributed._dask_rows import Rows, WorkerLostError
from sdgs.distributed._dask_samples import Samples, checked_samples
from sdgs.distributed._distributed_decompose import check_solver, decompose, gathered_labels
from sdgs.distributed._map_method import map_method

__all__ = [
    "Rows",
    "Samples",
    "WorkerLostError",
    "check_solver",
    "checked_samples",
    "decompose",
    "gathered_labels",
    "map_method",
]
