"""Training and prediction on Dask arrays. Imported only when there is one; needs the extra ``sdgs[dask]``."""

from sdgs.distributed._prediction import lazily
from sdgs.distributed._rows import Rows, WorkerLostError
from sdgs.distributed._samples import Samples, checked_samples
from sdgs.distributed._training import check_solver, decomposed, gathered_labels

__all__ = [
    "Rows",
    "Samples",
    "WorkerLostError",
    "check_solver",
    "checked_samples",
    "decomposed",
    "gathered_labels",
    "lazily",
]
